"""The parts of a drawn chart: two axes, and series of shapes in the order in which they are drawn.

Coordinates are CSS pixels from the upper left corner. The template `chart.svg.j2` has one piece of SVG for each shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

__all__ = [
    "Across",
    "Area",
    "Curve",
    "Disc",
    "Drawing",
    "Line",
    "Marker",
    "Region",
    "Series",
    "Shape",
    "Size",
    "Tick",
    "Up",
]

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Size:
    """Room of a chart in CSS pixels at its natural size.

    Attributes
    ----------
    name : str
        Class of the SVG element; a style sheet shows the one that fits the screen.
    width, height : float
        Size of the whole picture.
    left, right, top, bottom : float
        Margins around the plotting area.
    """

    name: str
    width: float
    height: float
    left: float
    right: float = 12
    top: float = 14
    bottom: float = 52

    @property
    def rightmost(self) -> float:
        """Right edge of the plotting area."""
        return self.width - self.right

    @property
    def lowest(self) -> float:
        """Lower edge of the plotting area."""
        return self.height - self.bottom


@dataclass(frozen=True, slots=True)
class Tick:
    """A named place on an axis; `below` is a second number under the first."""

    at: float
    text: str
    below: str | None = None


@dataclass(frozen=True, slots=True)
class Across:
    """The horizontal axis; `below` is the title of the second row of numbers, if there is one."""

    title: str
    middle: float
    ticks: tuple[Tick, ...]
    below: str | None = None


@dataclass(frozen=True, slots=True)
class Up:
    """The vertical axis."""

    title: str
    middle: float
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A line from one place to another; `kind` is a class for the style sheet."""

    element: ClassVar[str] = "line"
    start: Place
    end: Place
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Region:
    """An upright rectangle from its upper left corner."""

    element: ClassVar[str] = "region"
    corner: Place
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through places."""

    element: ClassVar[str] = "curve"
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Area:
    """An area that places enclose."""

    element: ClassVar[str] = "area"
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """Words that start or end at a place, or have their middle there."""

    element: ClassVar[str] = "text"
    place: Place
    words: str
    anchor: Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Marker:
    """A measured buffer: a dot that shows `tip` on hovering; `buffer` links it to the same buffer in other charts."""

    element: ClassVar[str] = "marker"
    place: Place
    radius: float
    buffer: str
    tip: str


@dataclass(frozen=True, slots=True)
class Disc:
    """A small filled circle without a tip."""

    element: ClassVar[str] = "disc"
    place: Place
    radius: float


Shape = Line | Region | Curve | Area | Text | Marker | Disc


@dataclass(frozen=True, slots=True)
class Series:
    """Shapes that a page shows or hides together; its class is `s-` and the name. Further words are further classes."""

    name: str
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart at one size.

    Attributes
    ----------
    size : Size
    label : str
        Text for screen readers.
    across : Across
    up : Up or None
        None if the rows carry names.
    series : tuple of Series
        Series from the lowest to the topmost.
    """

    size: Size
    label: str
    across: Across
    up: Up | None
    series: tuple[Series, ...]
