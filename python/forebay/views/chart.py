"""A chart as plain data: panels with axes, series, marks and words, each in the units of its axes.

Modules of this package describe answers with it. `chart_figure` draws a chart for files, and `chart_svg` for pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf
from typing import Literal

from forebay.views.headline import Headline
from forebay.views.scales import Axis

__all__ = [
    "COLORS",
    "MARKERS",
    "PALETTE",
    "PICTURE",
    "Band",
    "Chart",
    "Curve",
    "Field",
    "Flag",
    "Key",
    "Look",
    "Medium",
    "Names",
    "Panel",
    "Point",
    "Row",
    "Series",
    "Tip",
    "Words",
    "interval_key",
    "intervals",
    "level",
    "mark",
    "series_names",
]

#: Okabe and Ito's colors, which are distinct with any color vision.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vP*X"
#: The named colors by day; pages have others by night, under the same names in `webpage.css`.
COLORS = {
    "ink": "#1c2430",
    "soft": "#566170",
    "card": "#ffffff",
    "grid": "#e5e8ec",
    "edge": "#8a93a0",
    "stem": "#c9cfd6",
    "blue": "#0072b2",
    "orange": "#d55e00",
    "green": "#009e73",
    "pink": "#a85387",
    "amber": "#e69f00",
    "sky": "#56b4e9",
    "good": "#006b4c",
    "bad": "#a03f00",
    "rule": "#333333",
    "other": "#6b7480",
    "here": "#000000",
}

Dash = Literal["solid", "dashed", "dotted", "none"]


@dataclass(frozen=True, slots=True)
class Tip:
    """The text that a page shows where a reader points, and a key that ties points of several charts together."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a series, with sizes in points: of its line, and of its markers with their edges.

    The color is a name of `COLORS` or hexadecimal, and the marker a code of Matplotlib.
    """

    color: str
    line: Dash = "none"
    width: float = 1.4
    marker: str = ""
    size: float = 4.0
    edge: float = 1.0
    hollow: bool = False
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Curve:
    """Points, joined by a line if the look has one. An infinite coordinate is the end of its axis.

    `series` is the name by which a page hides what is drawn.
    """

    points: Sequence[tuple[float, float]]
    look: Look
    tips: Sequence[Tip] = ()
    series: str = ""


@dataclass(frozen=True, slots=True)
class Band:
    """An area between two heights at each place, or a bar if there is one place: (across, low, high)."""

    points: Sequence[tuple[float, float, float]]
    color: str
    opacity: float = 0.2
    series: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """Words beside a range at a height: on the side with more room, inside if there is room only there, or above."""

    low: float
    high: float
    up: float
    text: str
    color: str
    bold: bool = False
    above: bool = False
    series: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """Names beside points, in the order of their importance; a name without room is left out: (across, up, text)."""

    points: Sequence[tuple[float, float, str]]
    color: str
    series: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """Areas between scattered places by a value at each, and a line where it is 0: (across, up, value).

    `neighbors` are the coordinates in which the places are triangulated. There is one more of `levels`, the borders of
    the areas, than of `colors`.
    """

    points: Sequence[tuple[float, float, float]]
    neighbors: Sequence[tuple[float, float]]
    levels: Sequence[float]
    colors: Sequence[str]
    series: str = ""


Series = Curve | Band | Words | Names | Field


def mark(at: float, look: Look, series: str = "") -> Curve:
    """A line at a place of the horizontal axis, over the whole height."""
    return Curve([(at, -inf), (at, inf)], look, series=series)


def level(at: float, look: Look, series: str = "") -> Curve:
    """A line at a height, from one end of the panel to the other."""
    return Curve([(-inf, at), (inf, at)], look, series=series)


@dataclass(frozen=True, slots=True)
class Row:
    """A named row of a panel without a vertical scale."""

    name: str
    color: str = "ink"
    bold: bool = False
    series: str = ""


@dataclass(frozen=True, slots=True)
class Flag:
    """A name above a place of the horizontal axis."""

    at: float
    text: str
    color: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel.

    Attributes
    ----------
    up : Axis, or sequence of Row
        The vertical axis, or rows from the topmost.
    series : sequence of Series
        From the lowest to the topmost.
    height : float or None
        Height of the plotting area of a picture, in points; that of its rows by default, or of a usual panel.
    note : str
        Words above the panel, at the right.
    flag : Flag or None
        A name above the panel.
    across : Axis or None
        A horizontal axis of its own; that of the chart by default.
    """

    up: Axis | Sequence[Row]
    series: Sequence[Series]
    height: float | None = None
    note: str = ""
    flag: Flag | None = None
    across: Axis | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend: a look, or an area in a color."""

    text: str
    look: Look | None = None
    area: str = ""
    opacity: float = 0.2


@dataclass(frozen=True, slots=True)
class Chart:
    """Stacked panels under a headline.

    Attributes
    ----------
    across : Axis
        The horizontal axis.
    panels : sequence of Panel
        From the topmost.
    label : str
        Text for readers who do not see the chart.
    headline : Headline or None
    legend : sequence of Key
    columns : int
        Largest number of columns of the legend.
    """

    across: Axis
    panels: Sequence[Panel]
    label: str
    headline: Headline | None = None
    legend: Sequence[Key] = ()
    columns: int = 3


@dataclass(frozen=True, slots=True)
class Medium:
    """The medium of a chart; lengths in points, which are the pixels of a page.

    Attributes
    ----------
    name : str
        Class of the SVG element; a style sheet shows the one that fits the screen.
    width : float
        Width of the whole chart.
    text, small : float
        Sizes of numbers and titles, and of names and notes.
    row : float
        Height of a row.
    stretch, ink : float
        Height of a panel, and sizes of markers and lines, over those of a picture.
    left : float
        Least room at the left.
    """

    name: str
    width: float
    text: float = 10.0
    small: float = 8.0
    row: float = 12.0
    stretch: float = 1.0
    ink: float = 1.0
    left: float = 0.0


#: A picture in a file or in a notebook.
PICTURE = Medium("picture", 619.0)


def series_names(panels: Iterable[Panel]) -> set[str]:
    """The names of the series in panels that are not empty."""
    series = [each for panel in panels for each in panel.series]
    return {each.series for each in series if isinstance(each, Words) or each.points}


# Points with intervals -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Point:
    """One measured place on the horizontal axis.

    Attributes
    ----------
    x, mean : float
        The place, and the mean over the runs.
    half_width : float or None
        Half width of its interval.
    few : bool
        Whether the point has so few runs that its interval is drawn alone.
    """

    x: float
    mean: float
    half_width: float | None
    few: bool = False


def intervals(points: Iterable[Point], color: str, series: str = "") -> list[Band]:
    """The intervals of neighbors as one band; the interval of a point of few runs or without neighbors is a bar."""
    found: list[list[Point]] = []
    for known, group in groupby(points, lambda p: None if p.half_width is None else "few" if p.few else "several"):
        together = list(group)
        if known == "several":
            found.append(together)
        elif known == "few":
            found += [[point] for point in together]
    return [Band([(p.x, *_ends(p)) for p in each], color, series=series) for each in found]


def interval_key(panels: Iterable[Panel]) -> list[Key]:
    """The legend's entry for the intervals of panels, gray if their colors differ; none if no interval is drawn."""
    colors = {each.color for panel in panels for each in panel.series if isinstance(each, Band)}
    if not colors:
        return []
    return [Key("95 % interval", area=colors.pop() if len(colors) == 1 else "other", opacity=0.25)]


def _ends(point: Point) -> tuple[float, float]:
    half = point.half_width or 0.0
    return point.mean - half, point.mean + half
