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
from typing import TYPE_CHECKING, Any, Literal

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

from forebay.sanitize import sanitize, sanitize_lines
from forebay.views.chart import COLORS
from forebay.views.headline import Headline
from forebay.views.scales import Axis as Scale
from forebay.views.scales import tick_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.transforms import Bbox

__all__ = [
    "Picture",
    "add_foot",
    "columns_of",
    "cut",
    "format_axes",
    "head",
    "head_height",
    "legend",
    "legend_height",
    "picture",
    "place",
    "round_ticks",
    "style",
    "width_of",
    "wrapped",
]

TITLE, ANSWER, LINK, SMALL = 11.0, 10.0, 8.5, 8.0
#: Points above the answer.
GAP = 6.0
#: Colors of a headline: titles and answers, the link, warnings.
INK, SOFT, WARNING = COLORS["ink"], COLORS["soft"], COLORS["bad"]
#: Margin around the content of a figure, in inches.
MARGIN = 0.1
#: Height of a line of text, in inches per point.
LINE = 1.3 / 72

_STYLE = {
    "text.parse_math": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "forebay",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.edgecolor": COLORS["edge"],
    "axes.grid": True,
    "axes.labelcolor": COLORS["ink"],
    "grid.color": COLORS["grid"],
    "grid.linewidth": 0.8,
    "text.color": COLORS["ink"],
    "xtick.color": COLORS["edge"],
    "xtick.labelcolor": COLORS["ink"],
    "ytick.color": COLORS["edge"],
    "ytick.labelcolor": COLORS["ink"],
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
    #: Claims of a paper whose published value lies beside ours in a panel, so that they need no row.
    compared: frozenset[str] = frozenset()
    #: Text for readers who do not see the figure.
    label: str = ""
    #: Tooltips of a page, by the mark of a series.
    tips: dict[str, Sequence[Any]]

    def draw(self, renderer: RendererBase) -> None:
        """Draw everything. Writing and measuring the figure both call this method."""
        for text in self.findobj(Text):
            text.set_text(sanitize_lines(text.get_text()))
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
    made.tips = {}
    FigureCanvasAgg(made)
    return made


def head(made: Picture, heading: Headline) -> None:
    """Write a headline in the upper left corner, replace the present one, and fit the panels below it."""
    texts, _ = made.heading
    for text in texts:
        text.remove()
    width, height = (float(inches) for inches in made.get_size_inches())
    lines = _lines(heading, width)
    foot = made.foot / height
    made.set_layout_engine(ConstrainedLayoutEngine(rect=(0, foot, 1, 1 - head_height(heading, width) / height - foot)))
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
    made.label = made.label or heading.title


def add_foot(made: Picture, inches: float, below: float, above: float = 0.0) -> Axes:
    """Add a panel below all panels and legends, which keep their sizes.

    Parameters
    ----------
    made : Picture
        A finished figure without such a panel.
    inches : float
        Height of the panel with its labels.
    below, above : float
        Room for the labels of its horizontal axis and for its own legend, in inches.
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
        return made.add_axes((side, below / height, 1 - 2 * side, (inches - below - above) / height))


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


def head_height(heading: Headline, width: float) -> float:
    """Height of a headline in a figure of a width, in inches."""
    lines = _lines(heading, width)
    return 2 * MARGIN + sum(line.height for line in lines) if lines else 0.0


# Texts -----------------------------------------------------------------------------------------------------------


#: Upper bound on the ratio of a text's drawn width to its measured width; drawn pixels are whole.
HINTED = 1.04


@cache
def width_of(text: str, points: float, *, bold: bool = False) -> float:
    """Largest width of a text, in inches."""
    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=points)
    with _boxes():
        width, _, _ = text_to_path.get_text_width_height_descent(sanitize(text), font, ismath=False)
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


#: Room beside a label of a legend, in inches.
_HANDLE = 0.62


def legend(
    made: Figure,
    handles: Sequence[Any],
    *,
    size: float = SMALL,
    most: int = 6,
    loc: Literal["outside lower center", "lower center"] = "outside lower center",
) -> float:
    """Put a legend below all panels, in as many columns as fit but at most `most`; return its height in inches."""
    if not handles:
        return 0.0
    width = float(made.get_size_inches()[0])
    for handle in handles:
        # Matplotlib ignores a label that begins with an underscore.
        label = str(handle.get_label()).lstrip("_")
        handle.set_label(cut(label, width - 2 * MARGIN - _HANDLE, size))
    columns = columns_of([str(handle.get_label()) for handle in handles], width, most, size)
    with style():
        made.legend(handles=list(handles), loc=loc, ncols=columns, fontsize=size, frameon=False)
    return legend_height(len(handles), columns, size)


def columns_of(labels: Sequence[str], width: float, most: int, size: float = SMALL) -> int:
    """Number of columns of a legend in a figure of a width in inches: as many as fit but at most `most`."""
    room = width - 2 * MARGIN
    widest = max(min(width_of(label, size), room - _HANDLE) for label in labels)
    return max(1, min(len(labels), most, int(room / (widest + _HANDLE))))


def legend_height(entries: int, columns: int, size: float = SMALL) -> float:
    """Height of a legend, in inches."""
    return -(-entries // columns) * size * 1.55 / 72 + 0.2


# Ticks -----------------------------------------------------------------------------------------------------------


def format_axes(axes: Sequence[Axes], second: Callable[[float], str] | None = None) -> None:
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
        _format_axis(axis.yaxis, _size(axis, "height"), None)
    made: Any = axes[0].figure
    made.align_ylabels()
    _format_axis(axes[-1].xaxis, _size(axes[-1], "width"), second)


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


def _format_axis(axis: Any, inches: float, second: Callable[[float], str] | None) -> None:
    def words(number: float) -> tuple[str, ...]:
        return (tick_text(number),) if second is None else (tick_text(number), second(number))

    locator = axis.get_major_locator()
    if isinstance(locator, FixedLocator | StrCategoryLocator) and not isinstance(locator, _PlainLocator):
        return
    axis.set_major_formatter(FuncFormatter(lambda number, _position: "\n".join(words(number))))
    axis.set_minor_locator(NullLocator())
    low, high = sorted(float(end) for end in axis.get_view_interval())
    by_decades = axis.get_scale() == "log"
    if not by_decades and second is None:
        return
    axis.set_major_locator(_PlainLocator(round_ticks(Scale("", low, high, by_decades), words, inches, axis.axis_name)))


def round_ticks(
    scale: Scale,
    words: Callable[[float], Sequence[str]],
    inches: float,
    name: Literal["x", "y"],
    size: float = 10.0,
    line: float = 2.2 * SMALL / 72,
) -> list[float]:
    """Round numbers on an axis of a length, as many as have room.

    Parameters
    ----------
    scale : Axis
        The axis.
    words : callable
        The lines of the text of a tick.
    inches : float
        Length of the axis, in inches.
    name : "x" or "y"
        Whether the texts lie beside or above each other.
    size : float
        Size of the texts, in points.
    line : float
        Room for each text above the other, in inches.
    """
    ticks: list[float] = []
    for most in (10, 8, 6, 5, 4, 3, 2):
        ticks = scale.ticks(most)
        room = [line if name == "y" else _width(words(tick), size) + 0.12 for tick in ticks]
        if len(ticks) <= most and sum(room) <= inches and _are_separate(scale, ticks, words, inches, name, size):
            break
    return ticks


def _width(lines: Sequence[str], size: float) -> float:
    return max(width_of(line, size) for line in lines)


def _are_separate(
    scale: Scale, ticks: Sequence[float], words: Callable[[float], Sequence[str]], inches: float, name: str, size: float
) -> bool:
    """Whether no number touches the next one."""
    gaps = [(inches * (scale(b) - scale(a)), a, b) for a, b in pairwise(ticks)]
    if name == "y":
        return all(gap > 0.18 for gap, _, _ in gaps)
    return all(gap > 0.5 * (_width(words(a), size) + _width(words(b), size)) + 0.08 for gap, a, b in gaps)


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
