"""Figures in one style, made without pyplot, with texts that do not overlap.

Headlines, names of rules, goals and legends lie outside of the panels. Other text is placed after it was measured, so
that no two texts meet and none leaves the figure. Texts are literal: a dollar sign begins no formula, control
characters are written as numbers, and a letter that the font lacks is a box.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

# Before anything of Matplotlib.
import forebay.views.backend  # noqa: F401

# isort: split
import matplotlib.style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.category import StrCategoryLocator
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from forebay.sanitize import legible, legible_lines
from forebay.views.headline import Headline
from forebay.views.scales import Axis as Scale
from forebay.views.scales import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.transforms import Bbox

__all__ = [
    "Picture",
    "add_foot",
    "cut",
    "figure",
    "head",
    "legend",
    "legend_height",
    "picture",
    "place",
    "plain_axes",
    "style",
    "title_axis",
    "width_of",
    "wrapped",
]

TITLE, ANSWER, LINK, SMALL = 11.0, 10.0, 8.5, 8.0
#: Points above the answer.
GAP = 6.0
#: Colors of a headline: titles and answers, the link, warnings.
INK, SOFT, WARNING = "#111111", "#555555", "#a03f00"
#: Margin around the content of a figure, in inches.
MARGIN = 0.1
#: Height of a line of text, in inches per point.
LINE = 1.3 / 72

_STYLE = {
    "text.parse_math": False,
    "svg.fonttype": "path",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#d8d8d8",
    "grid.linewidth": 0.6,
}


@contextmanager
def style(**more: Any) -> Iterator[None]:
    """Draw texts, ticks and lines in the package's style, whatever the reader's settings are."""
    with matplotlib.style.context(["default", {**_STYLE, **more}]):
        yield


@contextmanager
def _boxes() -> Iterator[None]:
    """Draw letters that the font lacks, or would join, without a warning for each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"(?s)Glyph .* missing from|Matplotlib currently does not support")
        yield


class Picture(Figure):
    """A figure in the package's style that a notebook shows by itself, with pyplot or without."""

    #: The text objects of the headline, and the headline that they show.
    heading: tuple[list[Text], Headline]
    #: Height below the panels that belongs to `add_foot`, in inches.
    foot: float = 0.0

    def draw(self, renderer: RendererBase) -> None:
        """Draw everything. Writing and measuring the figure both call this method."""
        for text in self.findobj(Text):
            text.set_text(legible_lines(text.get_text()))
        with _boxes():
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        data = io.BytesIO()
        self.savefig(data, format="png", dpi=110)
        return data.getvalue()


def picture(width: float, height: float, **settings: Any) -> Picture:
    """An empty figure; sizes in inches."""
    with style(**settings):
        made = Picture(figsize=(width, height))
    made.heading = [], Headline("", "")
    FigureCanvasAgg(made)
    return made


def figure(
    heading: Headline,
    width: float,
    panels: Sequence[float],
    *,
    above: float = 0.0,
    below: float = 0.0,
    together: bool = True,
) -> tuple[Picture, list[Axes]]:
    """Stacked panels under a headline.

    Parameters
    ----------
    heading : Headline
        Title and link.
    width : float
        Width of the figure, in inches.
    panels : sequence of float
        Height of each panel, in inches.
    above, below : float
        Room above the first panel and for legends, in inches.
    together : bool
        Whether the panels share their horizontal axis; else each panel has its own.
    """
    # Panels need little room between them, and each horizontal axis needs more.
    height = (
        _head_height(_lines(heading, width))
        + above
        + sum(panels)
        + 0.15 * len(panels)
        + 0.6 * (1 if together else len(panels))
        + below
    )
    made = picture(width, height)
    head(made, heading)
    with style():
        axes = made.subplots(
            len(panels), 1, sharex=together, squeeze=False, gridspec_kw={"height_ratios": list(panels)}
        )
    return made, list(axes[:, 0])


def head(made: Picture, heading: Headline) -> None:
    """Write a headline in the upper left corner, replace the present one, and fit the panels below it."""
    texts, _ = made.heading
    for text in texts:
        text.remove()
    width, height = (float(inches) for inches in made.get_size_inches())
    lines = _lines(heading, width)
    foot = made.foot / height
    made.set_layout_engine(ConstrainedLayoutEngine(rect=(0, foot, 1, 1 - _head_height(lines) / height - foot)))
    y, written = height - MARGIN, []
    with style():
        for line in lines:
            x_y = MARGIN / width, (y - line.gap / 72) / height
            weight = "bold" if line.bold else "normal"
            written.append(
                made.text(*x_y, line.text, fontsize=line.size, fontweight=weight, color=line.color, va="top")
            )
            y -= line.height
    made.heading = written, heading


def add_foot(made: Picture, inches: float, below: float) -> Axes:
    """Add a panel below all panels and legends, which keep their sizes.

    Parameters
    ----------
    made : Picture
        A finished figure without such a panel.
    inches : float
        Height of the panel with its labels.
    below : float
        Room for the labels of its horizontal axis, in inches.
    """
    width, before = (float(each) for each in made.get_size_inches())
    height = before + inches
    legends = 0.0
    if made.legends:
        # The layout makes no room for a legend that is anchored; drawing places it.
        made.canvas.draw()
        legends = max(each.get_window_extent().y1 / made.dpi for each in made.legends)
    made.set_size_inches(width, height)
    made.foot = inches + legends
    head(made, made.heading[1])
    if not made.axes:
        made.set_layout_engine("none")  # the other one warns if it has no panel
    for each in made.legends:
        each.set_bbox_to_anchor((0, inches / height, 1, before / height), transform=made.transFigure)
    side = 2 * MARGIN / width
    with style():
        return made.add_axes((side, below / height, 1 - 2 * side, (inches - below) / height))


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a headline; its size and the gap above it in points."""

    text: str
    size: float
    bold: bool
    color: str
    gap: float = 0.0

    @property
    def height(self) -> float:
        """Height of the line with its gap, in inches."""
        return self.gap / 72 + self.size * LINE


def _lines(heading: Headline, width: float) -> list[_Line]:
    """The lines of a headline: title, link, answer, warnings, details."""
    inches = width - 2 * MARGIN
    parts = [(heading.title, TITLE, True, INK, 3, 0.0), (heading.link, LINK, False, SOFT, 4, 0.0)]
    parts += [(heading.answer, ANSWER, True, INK, 3, GAP)] if heading.answer else []
    parts += [(warning, LINK, True, WARNING, 4, 0.0) for warning in heading.warnings]
    parts += [(detail, LINK, False, INK, 6, 0.0) for detail in heading.details]
    return [
        _Line(line, size, bold, color, 0.0 if number else gap)
        for text, size, bold, color, most, gap in parts
        for number, line in enumerate(wrapped(text, inches, size, bold=bold, most=most))
    ]


def _head_height(lines: Sequence[_Line]) -> float:
    return 2 * MARGIN + sum(line.height for line in lines) if lines else 0.0


# Texts -----------------------------------------------------------------------------------------------------------


#: Upper bound on the ratio of a text's drawn width to its measured width; drawn pixels are whole.
HINTED = 1.04


@cache
def width_of(text: str, points: float, *, bold: bool = False) -> float:
    """Largest width of a text, in inches."""
    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=points)
    with _boxes():
        width, _, _ = text_to_path.get_text_width_height_descent(legible(text), font, ismath=False)
    return HINTED * float(width) / 72


def cut(text: str, inches: float, points: float, *, bold: bool = False) -> str:
    """A text cut to a width in inches; an ellipsis replaces the rest."""
    text = " ".join(text.split())
    if width_of(text, points, bold=bold) <= inches:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if width_of(text[:middle].rstrip() + "…", points, bold=bold) <= inches:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + "…"


def wrapped(text: str, inches: float, points: float, *, bold: bool = False, most: int = 3) -> list[str]:
    """The lines of a text, none wider than `inches`, at most `most` of them."""
    lines: list[str] = []
    words = text.split()
    while words:
        if len(lines) == most - 1:
            return [*lines, cut(" ".join(words), inches, points, bold=bold)]
        count = 1
        while count < len(words) and width_of(" ".join(words[: count + 1]), points, bold=bold) <= inches:
            count += 1
        lines.append(cut(" ".join(words[:count]), inches, points, bold=bold))
        words = words[count:]
    return lines


def title_axis(axis: Axes, title: str, inches: float) -> None:
    """Name a vertical axis, in lines of at most `inches`."""
    size = 10.0
    axis.set_ylabel("\n".join(wrapped(title, inches, size, most=3)), fontsize=size)


def legend(made: Figure, handles: Sequence[Any], *, size: float = SMALL, most: int = 6) -> float:
    """Put a legend below all panels, in as many columns as fit but at most `most`; return its height in inches."""
    if not handles:
        return 0.0
    width = float(made.get_size_inches()[0]) - 2 * MARGIN
    room = 0.62  # room beside a label, in inches
    for handle in handles:
        # Matplotlib ignores a label that begins with an underscore.
        handle.set_label(cut(str(handle.get_label()).lstrip("_"), width - room, size))
    widest = max(width_of(str(handle.get_label()), size) for handle in handles)
    columns = max(1, min(len(handles), most, int(width / (widest + room))))
    with style():
        made.legend(handles=list(handles), loc="outside lower center", ncols=columns, fontsize=size, frameon=False)
    return legend_height(len(handles), columns, size)


def legend_height(entries: int, columns: int, size: float = SMALL) -> float:
    """Height of a legend, in inches."""
    return -(-entries // columns) * size * 1.55 / 72 + 0.2


# Ticks -----------------------------------------------------------------------------------------------------------


def plain_axes(axes: Sequence[Axes], second: Callable[[float], str] | None = None) -> None:
    """Write plain numbers on all axes after their limits are set: no powers of ten, no offsets, no overlaps.

    Axes whose ticks have names keep them.

    Parameters
    ----------
    axes : sequence of Axes
        Panels; those above the last share its horizontal axis.
    second : callable, optional
        Text below a number of the horizontal axis.
    """
    for axis in axes:
        _plain(axis.yaxis, _size(axis, "height"), None)
    made: Any = axes[0].figure
    made.align_ylabels()
    _plain(axes[-1].xaxis, _size(axes[-1], "width"), second)


def _size(axis: Axes, what: str) -> float:
    """The approximate size of a panel, in inches."""
    made: Any = axis.figure
    width, height = made.get_size_inches()
    place = axis.get_subplotspec()
    rows, columns = (1, 1) if place is None else place.get_gridspec().get_geometry()
    if what == "width":
        return max(0.8, (float(width) - 1.3) / columns)
    return max(0.8, (float(height) - 1.6) / rows)


class _PlainLocator(FixedLocator):
    """Round numbers that were chosen here, not by who drew the axis."""


def _plain(axis: Any, inches: float, second: Callable[[float], str] | None) -> None:
    def said(number: float) -> str:
        return plain(number) if second is None else f"{plain(number)}\n{second(number)}"

    locator = axis.get_major_locator()
    if isinstance(locator, FixedLocator | StrCategoryLocator) and not isinstance(locator, _PlainLocator):
        return
    axis.set_major_formatter(FuncFormatter(lambda number, _position: said(number)))
    axis.set_minor_locator(NullLocator())
    low, high = sorted(float(end) for end in axis.get_view_interval())
    by_decades = axis.get_scale() == "log"
    if not by_decades and second is None:
        return
    scale = Scale(low, high, 0, 1, by_decades=by_decades)
    ticks: list[float] = []
    for most in (10, 8, 6, 5, 4, 3, 2):
        ticks = scale.ticks(most)
        if axis.axis_name == "y":
            room = 2.2 * SMALL / 72 * len(ticks)
        else:
            room = sum(max(width_of(line, 10) for line in said(tick).split("\n")) + 0.12 for tick in ticks)
        if len(ticks) <= most and room <= inches and _apart(scale, ticks, said, inches, axis.axis_name):
            break
    axis.set_major_locator(_PlainLocator(ticks))


def _apart(scale: Scale, ticks: Sequence[float], said: Callable[[float], str], inches: float, name: str) -> bool:
    """Whether no number touches the next one."""
    if name == "y":
        return all(inches * abs(scale(b) - scale(a)) > 0.18 for a, b in pairwise(ticks))
    widths = [max(width_of(line, 10) for line in said(tick).split("\n")) for tick in ticks]
    return all(
        inches * (scale(ticks[at + 1]) - scale(ticks[at])) > 0.5 * (widths[at] + widths[at + 1]) + 0.08
        for at in range(len(ticks) - 1)
    )


# Names beside points ---------------------------------------------------------------------------------------------

#: Directions in which a name may lie from its point: across and up.
_AROUND = ((1, -1), (-1, 1), (1, 1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0))


def place(axis: Axes, names: Iterable[tuple[float, float, str]], *, size: float = SMALL, **options: Any) -> list[str]:
    """Write names beside points if they fit inside of the axes, clear of each other.

    Parameters
    ----------
    axis : Axes
        The axes; their limits and layout are final.
    names : iterable of (x, y, text)
        Names in the order of their importance; a name that does not fit is left out.

    Returns
    -------
    list of str
        The names that were written.
    """
    made: Any = axis.figure
    made.draw_without_rendering()
    renderer = made.canvas.get_renderer()
    inside = axis.get_window_extent(renderer)
    taken = [text.get_window_extent(renderer) for text in axis.texts]
    written = []
    for x, y, words in names:
        for across, up in _AROUND:
            with style():
                text = axis.annotate(
                    words,
                    (x, y),
                    xytext=(5 * across, 5 * up),
                    textcoords="offset points",
                    ha={1: "left", 0: "center", -1: "right"}[across],
                    va={1: "bottom", 0: "center", -1: "top"}[up],
                    fontsize=size,
                    **options,
                )
            box = text.get_window_extent(renderer)
            if _within(box, inside) and not any(box.padded(1).overlaps(other) for other in taken):
                taken.append(box)
                written.append(words)
                break
            text.remove()
    return written


def _within(box: Bbox, room: Bbox) -> bool:
    return bool(box.x0 >= room.x0 and box.x1 <= room.x1 and box.y0 >= room.y0 and box.y1 <= room.y1)
