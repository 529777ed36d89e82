"""Rules in a picture: a row each above the first panel, with a color and marker of its own; a line through all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forebay.views.scales import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PALETTE", "RuleLine", "draw_rules", "height", "style_of"]

#: Okabe and Ito's colors, told apart with any color vision.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vP*X"
#: Inches from a row to the next, and below the last.
ROW, FOOT = 0.165, 0.3
#: Inches that a name takes at most.
NAME = 1.9


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A rule's buffer in packets; `answer` for the buffer that is recommended."""

    name: str
    packets: float
    applies: bool
    answer: bool = False


def height(rules: Sequence[RuleLine]) -> float:
    """Inches that the rows take."""
    return ROW * len(rules) + FOOT if rules else 0.0


def style_of(number: int) -> tuple[str, str]:
    """Color and marker of a rule by its number: no two of the first 56 are alike."""
    return PALETTE[number % len(PALETTE)], MARKERS[number // len(PALETTE) % len(MARKERS)]


def draw_rules(axes: Sequence[Axes], rules: Sequence[RuleLine], *, answer_color: str) -> None:
    """Draw the rows above the first of some panels, and a line for each rule through all; limits stand already."""
    if not rules:
        return
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    from forebay.views import canvas

    first = axes[0]
    made: Any = first.figure
    low, high = first.get_xlim()
    with canvas.style():
        upward = made.dpi_scale_trans + ScaledTranslation(0, 1, first.transAxes)  # type: ignore[arg-type]
        where = blended_transform_factory(first.transAxes, upward)
        panel = first.inset_axes((0, FOOT - 0.02, 1, ROW * len(rules)), transform=where, sharex=first)
    panel.set_ylim(len(rules) - 0.5, -0.5)
    panel.set_yticks(range(len(rules)), [canvas.cut(rule.name, NAME, canvas.SMALL) for rule in rules])
    panel.tick_params(axis="y", length=0, labelsize=canvas.SMALL)
    panel.tick_params(axis="x", length=0, labelbottom=False)
    panel.grid(visible=False, axis="y")
    panel.spines[["left", "bottom"]].set_visible(False)
    for row, (rule, label) in enumerate(zip(rules, panel.get_yticklabels(), strict=True)):
        color, marker = (answer_color, "o") if rule.answer else style_of(row)
        label.set_color(answer_color if rule.answer else "#222222" if rule.applies else "#6a6a6a")
        label.set_fontweight("bold" if rule.answer else "normal")
        if not low <= rule.packets <= high:
            _beyond(panel, row, rule, right=rule.packets > high)
            continue
        panel.hlines(row, low, rule.packets, color="#dddddd", linewidth=0.8, zorder=1)
        face = color if rule.applies else "white"
        panel.plot([rule.packets], [row], marker, color=color, markerfacecolor=face, markersize=5, zorder=3)
        for axis in axes:
            axis.axvline(
                rule.packets,
                color=color,
                linestyle="-" if rule.applies else ":",
                linewidth=2.2 if rule.answer else 0.9,
                alpha=0.85 if rule.answer else 0.55,
                zorder=1.5,
            )


def _beyond(panel: Axes, row: int, rule: RuleLine, *, right: bool) -> None:
    """A rule whose buffer is not on the axis: which way it lies, and how far."""
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
