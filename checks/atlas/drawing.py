"""The atlas's pictures: the smallest buffer over the number of flows, and the cells where each rule is right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from checks.atlas.judging import NEAR, RuleResult, Verdict
from forebay.atlas.rows import CONTROLLERS, PACKET_BITS, Row
from forebay.text.formatting import bandwidth, exactly
from forebay.views import canvas, plots
from forebay.views.headline import Headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RULES", "draw_buffers", "draw_rules", "write_pictures"]

#: Lines of one round trip, one for each rate.
ROUND_TRIP = 0.1
TITLES = {"newreno": "New Reno", "cubic": "CUBIC", "bbr": "BBR", "bbr3": "BBRv3"}
COLORS = ("#0b5fa5", "#d1495b", "#2e933c", "#8f5db7")
#: Rules of the picture.
RULES = ("bdp", "sqrt-n", "wischik-mckeown", "barman-droptail", "small-buffers", "flow-proportional")
MARKS = {Verdict.RIGHT: ("#2e933c", "s"), Verdict.SMALL: ("#d1495b", "v"), Verdict.LARGE: ("#0b5fa5", "^")}


def write_pictures(found: Sequence[Row], rules: Sequence[RuleResult], folder: Path) -> list[Path]:
    """Draw and write all of them."""
    written = plots.save_both(draw_buffers(found), folder / "atlas-buffers")
    return written + plots.save_both(draw_rules(rules), folder / "atlas-rules")


def draw_buffers(found: Sequence[Row], utilization: float = 0.99) -> canvas.Picture:
    """The smallest buffer in units of BDP/√N over N: a panel for each controller, a line for each rate.

    A rule of BDP/√N would be a level line at 1. The band is the interval of 80 % confidence.
    """
    from matplotlib.lines import Line2D

    made, panels = _panels(
        f"Smallest buffer for {100 * utilization:g} % utilization, in units of BDP/√N",
        f"drop-tail, {1000 * ROUND_TRIP:g} ms, no background; the rule BDP/√N is the dashed line",
    )
    rates = sorted({row.rate_bps for row in found})
    for panel, controller in zip(panels, CONTROLLERS, strict=True):
        for rate, color in zip(rates, COLORS, strict=False):
            line = sorted((row for row in found if _on(row, controller, rate, utilization)), key=lambda row: row.flows)
            flows = [row.flows for row in line]
            low, high = ([_scaled(row, end) for row in line] for end in ("low_packets", "high_packets"))
            middle = [math.sqrt(one * other) for one, other in zip(low, high, strict=True)]
            panel.fill_between(flows, low, high, color=color, alpha=0.2, linewidth=0)
            panel.plot(flows, middle, color=color, marker="o", markersize=3.5, linewidth=1.3)
        panel.axhline(1.0, color="#555555", linewidth=0.9, linestyle="--")
        panel.set_yscale("log")
        panel.set_title(TITLES[controller], fontsize=canvas.LINK, loc="left")
    for panel in panels[2:]:
        panel.set_xlabel("flows")
    handles = [
        Line2D([], [], color=color, marker="o", markersize=3.5, label=_link(rate))
        for rate, color in zip(rates, COLORS, strict=False)
    ]
    canvas.format_axes(panels)
    canvas.legend(made, handles)
    return made


def _link(rate: float) -> str:
    bdp = rate * ROUND_TRIP / PACKET_BITS
    return f"{exactly(bandwidth(rate))}: BDP {bdp:,.0f} packets"


def _on(row: Row, controller: str, rate: float, utilization: float) -> bool:
    """Whether a row with a buffer lies on a line."""
    link = (row.controller, row.rate_bps, row.rtt_s, row.background, row.utilization)
    return link == (controller, rate, ROUND_TRIP, 0.0, utilization) and row.buffer_packets is not None


def _scaled(row: Row, end: str) -> float:
    packets: int = getattr(row, end)
    return packets / (row.bdp_packets / math.sqrt(row.flows))


def draw_rules(found: Sequence[RuleResult]) -> canvas.Picture:
    """The links where each rule is within 20 % of the needed buffer: a panel for each, flows across, BDP upward."""
    from matplotlib.lines import Line2D

    made, panels = _panels(
        f"Where each rule is within {100 * NEAR:g} % of the smallest buffer for 99 % utilization",
        "New Reno and CUBIC (a little to the right), drop-tail, no background",
        count=len(RULES),
    )
    for panel, rule in zip(panels, RULES, strict=True):
        for each in found:
            row = each.row
            if each.rule != rule or row.background or row.utilization != 0.99 or row.controller not in CONTROLLERS[:2]:
                continue
            color, mark = MARKS[each.verdict]
            aside = 1.25 if row.controller == "cubic" else 0.8
            panel.plot(row.flows * aside, row.bdp_packets, mark, color=color, markersize=4.0)
        panel.set_yscale("log")
        panel.set_title(rule, fontsize=canvas.LINK, loc="left")
    for panel in panels[-2:]:
        panel.set_xlabel("flows")
    for panel in panels[::2]:
        panel.set_ylabel("BDP (packets)")
    handles = [
        Line2D([], [], color=color, marker=mark, linestyle="none", label=verdict.value)
        for verdict, (color, mark) in MARKS.items()
    ]
    canvas.format_axes(panels)
    canvas.legend(made, handles)
    return made


def _panels(title: str, subtitle: str, count: int = 4) -> tuple[canvas.Picture, list[Axes]]:
    """Panels in two columns with flows across."""
    rows = math.ceil(count / 2)
    with canvas.style():
        made = canvas.picture(8.0, 1.2 + 2.4 * rows)
        panels = list(made.subplots(rows, 2, sharex=True, sharey=True).flat)
        for panel in panels:
            panel.set_xscale("log")
    canvas.head(made, Headline(title, subtitle))
    return made, panels
