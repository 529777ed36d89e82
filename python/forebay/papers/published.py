"""Published values in the pictures of papers: marks at their places in a panel, and a row for each other value.

Only numbers that a paper states are drawn, with the precision that its claim allows. No curve is read off a printed
figure: where a paper prints a curve without numbers, a drawing shows the formula of the paper, or its bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from forebay.papers.claims import SIGNS
from forebay.views.chart import COLORS, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forebay.papers.claims import Claim, Region, Verdict
    from forebay.views.canvas import Picture

__all__ = ["add_rows", "at_places", "handles", "number_of"]

#: Color of published values in rows and legends.
COLOR = COLORS["soft"]
#: Colors of our values in rows, and their text in the legend, by verdict.
OURS = {
    "reproduced": (PALETTE[0], "forebay, reproduced"),
    "not_reproduced": (PALETTE[1], "forebay, not reproduced"),
    "not_checkable": (PALETTE[4], "forebay, not checkable"),
}
#: Markers of published values in panels, and their text in the legend.
MARKS = {
    "s": "published (bar: its precision)",
    "^": "published, at least",
    "v": "published, at most",
}
#: Ratios to the published value beyond which a point lies on the edge of the panel.
EDGES = (0.2, 5.0)
#: Inches of a line of text, of a bar with the room around it, of the axis below all rows and of the legend above them.
LINE, BAR, BELOW, ABOVE = 0.22, 0.4, 0.6, 0.34
#: Points of the text of a row.
LETTERS = 10.0


def number_of(region: Region) -> float:
    """The published number of a region: its middle, or its only end."""
    if math.isfinite(region.low) and math.isfinite(region.high):
        return (region.low + region.high) / 2
    return region.low if math.isfinite(region.low) else region.high


# In a panel ------------------------------------------------------------------------------------------------------


def at_places(
    axis: Axes,
    claims: Iterable[Claim],
    series: str,
    *,
    color: str = COLOR,
    units: Callable[[float], float] = float,
    across: bool = False,
    aside: float = 1.0,
) -> None:
    """Draw the published values of a series at their places, below curves.

    Parameters
    ----------
    axis : Axes
        The panel.
    claims : iterable of Claim
        The claims of the figure.
    series : str
        Name of the series; only its claims that have a place are drawn.
    color : str
        Color of our curve of the same series.
    units : callable
        From the unit of the claims to that of the axis.
    across : bool
        Whether the values lie along the horizontal axis, and the places along the vertical one.
    aside : float
        Factor of the places, near 1, so that marks of several series do not hide each other.
    """
    for claim in claims:
        if claim.at is None or claim.series != series or claim.region is None:
            continue
        number = units(number_of(claim.region))
        low, high = (units(end) if math.isfinite(end) else number for end in (claim.region.low, claim.region.high))
        bounded = math.isfinite(claim.region.low) and math.isfinite(claim.region.high)
        marker = "s" if bounded else "^" if math.isfinite(claim.region.low) else "v"
        style: dict[str, Any] = {"color": color, "marker": marker, "markersize": 10, "markerfacecolor": "none"}
        style |= {"linestyle": "none", "elinewidth": 4.0, "alpha": 0.6, "zorder": 1.9}
        place = (number, claim.at) if across else (aside * claim.at, number)
        style["xerr" if across else "yerr"] = [[number - low], [high - number]]
        drawn = axis.errorbar([place[0]], [place[1]], **style)
        drawn.lines[0].set_gid(f"published {marker}")


def handles(picture: Figure) -> list[Any]:
    """The legend's entries for the published values in the panels of a picture."""
    from matplotlib.lines import Line2D

    there = {line.get_gid() for axis in picture.axes for line in axis.lines}
    style: dict[str, Any] = {"color": COLOR, "linestyle": "none", "markersize": 9, "markerfacecolor": "none"}
    return [
        Line2D([], [], marker=mark, label=text, **style) for mark, text in MARKS.items() if f"published {mark}" in there
    ]


# In rows ---------------------------------------------------------------------------------------------------------


def add_rows(picture: Picture, verdicts: Sequence[Verdict]) -> None:
    """Add a row for each measured claim below a finished picture: ours over the published value, and both numbers."""
    from forebay.views import canvas

    shown = [each for each in verdicts if each.measured is not None and each.claim.region is not None]
    if not shown:
        return
    inches = 0.96 * float(picture.get_figwidth())
    texts = [_texts(verdict, 0.98 * inches) for verdict in shown]
    heights = [LINE * len(lines) + (BAR if _has_ratio(each) else 0.1) for lines, each in zip(texts, shown, strict=True)]
    height = sum(heights)
    axis = canvas.add_foot(picture, height + BELOW + ABOVE, BELOW, ABOVE)
    top = 0.0
    for verdict, lines, each in zip(shown, texts, heights, strict=True):
        _write(axis, lines, top)
        _draw(axis, verdict, top + LINE * len(lines) + 0.5 * BAR - 0.06)
        top += each
    axis.set_xscale("log")
    axis.set_xlim(0.9 * EDGES[0], 1.1 * EDGES[1])
    axis.set_ylim(height, 0)
    axis.set_yticks([])
    axis.grid(visible=False, axis="y")
    axis.set_xlabel("forebay's value over the published one")
    _legend(axis, shown)
    canvas.format_axes([axis])


def _texts(verdict: Verdict, inches: float) -> list[tuple[str, str]]:
    """The lines of a row, each with its words at the left and at the right; nothing is cut."""
    from forebay.views import canvas

    region = verdict.claim.region
    assert region is not None
    words = f"published {region.text}, forebay {verdict.ours} {SIGNS[verdict.verdict]}"
    room = inches - canvas.width_of(words, LETTERS) - 0.2
    quantity = verdict.claim.quantity
    if canvas.width_of(quantity, LETTERS) <= room:
        return [(quantity, words)]
    lines = canvas.wrapped(quantity, inches, LETTERS, most=4)
    if canvas.width_of(lines[-1], LETTERS) <= room:
        return [*((line, "") for line in lines[:-1]), (lines[-1], words)]
    return [*((line, "") for line in lines), ("", words)]


def _write(axis: Axes, lines: Sequence[tuple[str, str]], top: float) -> None:
    """Write the lines of a row."""
    style: dict[str, Any] = {"va": "center", "fontsize": LETTERS, "color": COLORS["ink"]}
    style["transform"] = axis.get_yaxis_transform()
    for number, (left, right) in enumerate(lines):
        for x, text, side in ((0.01, left, "left"), (0.99, right, "right")):
            if text:
                axis.text(x, top + (number + 0.5) * LINE, text, ha=side, **style)


def _has_ratio(verdict: Verdict) -> bool:
    """Whether the published value is not 0, so that ours over it is known."""
    region = verdict.claim.region
    return region is not None and number_of(region) != 0.0


def _draw(axis: Axes, verdict: Verdict, y: float) -> None:
    """Draw the bar of a row: the published value with its precision, and ours."""
    region, measured = verdict.claim.region, verdict.measured
    assert region is not None
    assert measured is not None
    if not _has_ratio(verdict):
        return
    number = number_of(region)
    low, high = sorted((region.low / number, region.high / number))
    low, high = max(low, EDGES[0]), min(high, EDGES[1])
    axis.barh(y, high - low, 0.2, low, color=COLOR, alpha=0.25)
    axis.plot([1.0, 1.0], [y - 0.1, y + 0.1], color=COLOR, linewidth=2.0)
    ratio, half = measured.mean / number, (measured.half_width or 0.0) / abs(number)
    shown = min(max(ratio, EDGES[0]), EDGES[1])
    marker = "o" if shown == ratio else "<" if ratio < EDGES[0] else ">"
    color, _ = OURS[verdict.verdict]
    axis.errorbar([shown], [y], xerr=[half], color=color, marker=marker, markersize=7, capsize=3)


def _legend(axis: Axes, verdicts: Sequence[Verdict]) -> None:
    """A legend above the rows: the published value with its precision, and a color for each verdict."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    drawn = [each.verdict for each in verdicts if _has_ratio(each)]
    if not drawn:
        return
    entries: list[Any] = [Patch(color=COLOR, alpha=0.25, label="published (bar: its precision)")]
    entries += [
        Line2D([], [], color=color, marker="o", markersize=7, label=text)
        for verdict, (color, text) in OURS.items()
        if verdict in drawn
    ]
    axis.legend(
        handles=entries, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(entries), fontsize=9, frameon=False
    )
