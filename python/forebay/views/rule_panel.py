"""Rows above the first panel of a picture: the decision, then a row for each rule with a line through all panels.

Each rule has a color and a marker of its own. The configured buffer and rules that apply stand out; others are faded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forebay.views.scales import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forebay.views.decision import Measured, Span, State

__all__ = [
    "OWN",
    "PALETTE",
    "STATES",
    "PanelRow",
    "RuleLine",
    "SpanLine",
    "StateLine",
    "draw_rules",
    "height",
    "state_style",
    "style_of",
]

#: Okabe and Ito's colors, which are distinct with any color vision.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vP*X"
#: The configured buffer.
OWN = "#111111"
#: Color and marker of a measured buffer by whether it meets all goals.
STATES: dict[State, tuple[str, str]] = {
    "met": ("#007a59", "o"),
    "missed": ("#b84a00", "x"),
    "undecided": ("#767676", "s"),
}
#: Opacity of the marker of a rule that does not apply.
FADED = 0.55
#: Height of a row, and room below the last, in inches.
ROW, FOOT = 0.165, 0.3
#: Largest width of a name, in inches.
NAME = 1.9


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A row with one buffer, in packets.

    Attributes
    ----------
    name : str
        Name of the rule, or of the buffer.
    packets : float
        The buffer, in packets.
    applies : bool
        Whether the row stands out; a rule that does not apply is faded.
    answer : bool
        Whether it is the recommended buffer.
    own : bool
        Whether it is the configured buffer.
    """

    name: str
    packets: float
    applies: bool
    answer: bool = False
    own: bool = False


@dataclass(frozen=True, slots=True)
class SpanLine:
    """A row with a range of buffers."""

    name: str
    span: Span
    color: str


@dataclass(frozen=True, slots=True)
class StateLine:
    """A row with all measured buffers, each by whether it meets the goals."""

    name: str
    measured: Sequence[Measured]


PanelRow = RuleLine | SpanLine | StateLine


def height(rows: Sequence[PanelRow]) -> float:
    """Height of all rows, in inches."""
    return ROW * len(rows) + FOOT if rows else 0.0


def style_of(number: int) -> tuple[str, str]:
    """Color and marker of a rule by its number: no two of the first 56 are alike."""
    return PALETTE[number % len(PALETTE)], MARKERS[number // len(PALETTE) % len(MARKERS)]


def draw_rules(axes: Sequence[Axes], rows: Sequence[PanelRow], *, answer_color: str) -> None:
    """Draw the rows above the first panel, and a line for each rule through all panels; limits are already set."""
    if not rows:
        return
    from forebay.views import canvas

    panel = _panel(axes[0], rows)
    rules = 0
    for number, (row, label) in enumerate(zip(rows, panel.get_yticklabels(), strict=True)):
        with canvas.style():
            if isinstance(row, SpanLine):
                label.set_color(row.color)
                _draw_span(panel, number, row)
            elif isinstance(row, StateLine):
                _draw_states(panel, number, row.measured)
            else:
                color, marker = (answer_color, "D") if row.answer else (OWN, "D") if row.own else style_of(rules)
                rules += not (row.answer or row.own)
                label.set_color(answer_color if row.answer else "#111111" if row.applies else "#8a8a8a")
                label.set_fontweight("bold" if row.answer or row.own else "normal")
                _draw_rule(panel, number, row, (color, marker))
                if _inside(panel, row.packets):
                    _draw_through(axes, row, color)


def _panel(first: Axes, rows: Sequence[PanelRow]) -> Axes:
    """The empty rows above the first panel, with their names."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    from forebay.views import canvas

    made: Any = first.figure
    with canvas.style():
        upward = made.dpi_scale_trans + ScaledTranslation(0, 1, first.transAxes)  # type: ignore[arg-type]
        where = blended_transform_factory(first.transAxes, upward)
        panel = first.inset_axes((0, FOOT - 0.02, 1, ROW * len(rows)), transform=where, sharex=first)
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.set_yticks(range(len(rows)), [canvas.cut(row.name, NAME, canvas.SMALL) for row in rows])
    panel.tick_params(axis="y", length=0, labelsize=canvas.SMALL)
    panel.tick_params(axis="x", length=0, labelbottom=False)
    panel.grid(visible=False, axis="y")
    panel.spines[["left", "bottom"]].set_visible(False)
    return panel


def _inside(panel: Axes, packets: float) -> bool:
    low, high = panel.get_xlim()
    return low <= packets <= high


def _draw_rule(panel: Axes, number: int, row: RuleLine, look: tuple[str, str]) -> None:
    """A marker at the buffer of a row."""
    if not _inside(panel, row.packets):
        _beyond(panel, number, row, right=row.packets > panel.get_xlim()[1])
        return
    color, marker = look
    panel.hlines(number, panel.get_xlim()[0], row.packets, color="#dddddd", linewidth=0.8, zorder=1)
    face, alpha = (color, 1.0) if row.applies else ("white", FADED)
    size = 6 if row.answer or row.own else 5
    panel.plot(
        [row.packets], [number], marker, color=color, markerfacecolor=face, markersize=size, alpha=alpha, zorder=3
    )


def _draw_through(axes: Sequence[Axes], row: RuleLine, color: str) -> None:
    """A line through all panels: the answer above all, then the configured buffer and rules that apply."""
    style, width, alpha, order = ":", 0.8, 0.25, 1.2
    if row.answer:
        style, width, alpha, order = "-", 2.2, 0.85, 1.8
    elif row.own:
        style, width, alpha, order = "--", 1.4, 0.9, 1.7
    elif row.applies:
        style, width, alpha, order = "-", 1.1, 0.8, 1.6
    for axis in axes:
        axis.axvline(row.packets, color=color, linestyle=style, linewidth=width, alpha=alpha, zorder=order)


def _draw_span(panel: Axes, number: int, row: SpanLine) -> None:
    """A bar from one end to the other; a short one for a single buffer."""
    low, high = row.span.low, row.span.high
    panel.plot([low, high], [number, number], color=row.color, linewidth=5, alpha=0.75, solid_capstyle="butt", zorder=3)
    if low == high:
        panel.plot([low], [number], "|", color=row.color, markersize=7, markeredgewidth=2, zorder=3)
    from forebay.views import canvas

    before, after = (
        panel.transAxes.inverted().transform(panel.transData.transform((end, 0)))[0] for end in (low, high)
    )
    right = 1 - after >= before
    room = panel.get_window_extent().width / panel.figure.dpi
    words = canvas.width_of(row.span.text, canvas.SMALL) + 0.1
    if max(1 - after, before) * room < words < (after - before) * room:
        middle = panel.transData.inverted().transform(panel.transAxes.transform(((before + after) / 2, 0)))[0]
        words_on_bar = panel.text(
            middle, number, row.span.text, ha="center", va="center_baseline", fontsize=canvas.SMALL, color=row.color
        )
        words_on_bar.set(bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0}, zorder=4)
        return
    panel.annotate(
        row.span.text,
        (high if right else low, number),
        xytext=(6 if right else -6, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="center_baseline",
        fontsize=canvas.SMALL,
        color=row.color,
    )


def _draw_states(panel: Axes, number: int, measured: Sequence[Measured]) -> None:
    """A mark for each measured buffer."""
    low, high = panel.get_xlim()
    panel.hlines(number, low, high, color="#dddddd", linewidth=0.8, zorder=1)
    # Verdicts of many runs are drawn above those of few runs.
    for few, state in sorted({(each.few, each.state) for each in measured}, reverse=True):
        at = [each.buffer for each in measured if (each.state, each.few) == (state, few)]
        panel.plot(at, [number] * len(at), **state_style(state, few=few), zorder=3, clip_on=False)


def state_style(state: State, *, few: bool) -> dict[str, Any]:
    """The style of a measured buffer: hollow or thin if it has few runs."""
    color, marker = STATES[state]
    face = "white" if few else color
    edge = 0.9 if few else 1.8 if marker == "x" else 1.0
    return {
        "color": color,
        "marker": marker,
        "markersize": 5,
        "markerfacecolor": face,
        "markeredgewidth": edge,
        "linestyle": "none",
    }


def _beyond(panel: Axes, row: int, rule: RuleLine, *, right: bool) -> None:
    """A rule whose buffer is not on the axis: its direction and its number."""
    from forebay.views import canvas

    number = plain(float(f"{rule.packets:.3g}"))
    panel.annotate(
        f"{number} →" if right else f"← {number}",
        (1.0 if right else 0.0, row),
        xycoords=("axes fraction", "data"),
        xytext=(-2 if right else 2, 0),
        textcoords="offset points",
        ha="right" if right else "left",
        va="center",
        fontsize=canvas.SMALL - 1,
        color="#444444",
    )
