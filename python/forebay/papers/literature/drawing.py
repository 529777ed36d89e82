"""Pictures of the literature: each published value with its tolerance, and forebay's value beside it."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forebay.papers import drawing
from forebay.papers.claims import SIGNS
from forebay.views.rule_panel import PALETTE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from forebay.papers.catalog import Figure
    from forebay.papers.claims import Region, Verdict
    from forebay.papers.results import Results
    from forebay.views.canvas import Picture

#: Colors of the published values, and of ours by verdict.
PUBLISHED = "#555555"
OURS = {"reproduced": PALETTE[0], "not_reproduced": PALETTE[1], "not_checkable": PALETTE[4]}
#: Ratios to the published value beyond which a point lies on the edge of the panel.
EDGES = (0.2, 5.0)
#: Inches of a row, and letters of its two texts.
ROW, LETTERS = 0.66, 118


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a curve: its text, and whether it is logarithmic."""

    text: str
    log: bool = False


def _number(region: Region) -> float:
    """The published number of a region: its middle, or its only end."""
    if math.isfinite(region.low) and math.isfinite(region.high):
        return (region.low + region.high) / 2
    return region.low if math.isfinite(region.low) else region.high


def _both(results: Results, figure: Figure, x: Axis | None = None, y: Axis | None = None) -> Picture:
    """Curves of the claims that have a place on the x axis, and a row for each of the others."""
    verdicts = [results.judge(claim) for claim in figure.claims]
    placed = [each for each in verdicts if each.claim.at is not None]
    rows = [each for each in verdicts if each.claim.at is None]
    panels = [height for height, any_there in ((4.0, placed), (0.9 + ROW * len(rows), rows)) if any_there]
    picture, axes = drawing.grid(len(panels), 1, 10.0, 0.7 + sum(panels), height_ratios=panels)
    if placed and x is not None and y is not None:
        _curves(axes[0, 0], placed, x, y)
        drawing.legend_below(picture, axes[0, 0], 2)
    if rows:
        _rows(axes[-1, 0], rows)
    drawing.title(picture, figure.title)
    return picture


def _curves(axis: Axes, verdicts: Sequence[Verdict], x: Axis, y: Axis) -> None:
    """Published values as squares with their tolerance, ours as points with their interval, a color for each series."""
    for index, name in enumerate(dict.fromkeys(each.claim.series for each in verdicts)):
        color = PALETTE[index % len(PALETTE)]
        mine = [each for each in verdicts if each.claim.series == name]
        published = [(each.claim.at or 0.0, each.claim.region) for each in mine if each.claim.region is not None]
        numbers = [_number(region) for _, region in published]
        below = [max(0.0, number - region.low) for number, (_, region) in zip(numbers, published, strict=True)]
        above = [max(0.0, region.high - number) for number, (_, region) in zip(numbers, published, strict=True)]
        axis.errorbar(
            [at for at, _ in published],
            numbers,
            [[each if math.isfinite(each) else 0.0 for each in ends] for ends in (below, above)],
            color=color,
            marker="s",
            markersize=11,
            markerfacecolor="none",
            linestyle=":",
            elinewidth=4.0,
            alpha=0.55,
            label=f"{name}, published",
        )
        measured = [(each.claim.at or 0.0, each.measured) for each in mine if each.measured is not None]
        axis.errorbar(
            [at for at, _ in measured],
            [found.mean for _, found in measured],
            [found.half_width or 0.0 for _, found in measured],
            color=color,
            marker="o",
            markersize=5,
            linestyle="-",
            linewidth=1.3,
            capsize=3,
            label=f"{name}, forebay",
        )
    axis.set_xlabel(x.text)
    axis.set_ylabel(y.text)
    if x.log:
        axis.set_xscale("log")
    if y.log:
        axis.set_yscale("log")
    else:
        axis.set_ylim(bottom=0)


def _rows(axis: Axes, verdicts: Sequence[Verdict]) -> None:
    """Ours over the published value, a row for each claim, with both numbers in the text above it."""
    for row, verdict in enumerate(verdicts):
        region = verdict.claim.region
        said = f"published {region.text if region else '–'}, forebay {verdict.ours} {SIGNS[verdict.verdict]}"
        text = textwrap.shorten(verdict.claim.quantity, LETTERS - len(said), placeholder=" ...")
        above: dict[str, Any] = {"va": "center", "fontsize": 10, "transform": axis.get_yaxis_transform()}
        axis.text(0.01, row - 0.27, text, ha="left", **above)
        axis.text(0.99, row - 0.27, said, ha="right", **above)
        number = 0.0 if region is None else _number(region)
        if region is None or number == 0.0:
            continue
        low, high = sorted((region.low / number, region.high / number))
        low, high = max(low, EDGES[0]), min(high, EDGES[1])
        axis.barh(row + 0.15, high - low, 0.36, low, color=PUBLISHED, alpha=0.25)
        axis.plot([1.0, 1.0], [row - 0.03, row + 0.33], color=PUBLISHED, linewidth=2.0)
        if verdict.measured is None:
            continue
        ratio, half = verdict.measured.mean / number, (verdict.measured.half_width or 0.0) / abs(number)
        shown = min(max(ratio, EDGES[0]), EDGES[1])
        marker = "o" if shown == ratio else "<" if ratio < EDGES[0] else ">"
        color = OURS[verdict.verdict]
        axis.errorbar([shown], [row + 0.15], xerr=[half], color=color, marker=marker, markersize=7, capsize=3)
    axis.set_xscale("log")
    axis.set_xlim(0.9 * EDGES[0], 1.1 * EDGES[1])
    axis.set_ylim(len(verdicts) - 0.4, -0.6)
    axis.set_yticks([])
    axis.grid(visible=False, axis="y")
    axis.set_xlabel("forebay's value over the published one (band: what the source's precision allows)")


def windows(results: Results, figure: Figure) -> Picture:
    """Mean windows over the loss rate."""
    return _both(results, figure, Axis("loss rate of packets", log=True), Axis("mean window (packets)", log=True))


def rates(results: Results, figure: Figure) -> Picture:
    """Sending rates over the loss rate, with timeouts."""
    return _both(results, figure, Axis("loss rate of packets", log=True), Axis("packets per round trip", log=True))


def growth(results: Results, figure: Figure) -> Picture:
    """Windows over round trips, and times of recovery."""
    return _both(results, figure, Axis("round trips"), Axis("window (packets)"))


def bbr_loss(results: Results, figure: Figure) -> Picture:
    """Goodput over random loss."""
    return _both(results, figure, Axis("loss rate of packets", log=True), Axis("goodput (share of the link)"))


def bbr_shares(results: Results, figure: Figure) -> Picture:
    """Shares of BBR over the buffer."""
    return _both(results, figure, Axis("buffer (bandwidth-delay products)", log=True), Axis("BBR's share"))


def dctcp(results: Results, figure: Figure) -> Picture:
    """The queue of DCTCP."""
    return _both(results, figure, Axis("flows", log=True), Axis("queue (packets)"))


def buffers(results: Results, figure: Figure) -> Picture:
    """Rules of buffer sizing."""
    return _both(results, figure)


def queues(results: Results, figure: Figure) -> Picture:
    """Active queue management."""
    return _both(results, figure)


def delays(results: Results, figure: Figure) -> Picture:
    """Controllers that listen to delay."""
    return _both(results, figure)


def controllers(results: Results, figure: Figure) -> Picture:
    """LEDBAT, Copa, CDG and BBR version 3."""
    return _both(results, figure)


def fairness(results: Results, figure: Figure) -> Picture:
    """Shares by round trips and hops."""
    return _both(results, figure)


def wifi(results: Results, figure: Figure) -> Picture:
    """Throughput over the number of stations."""
    return _both(results, figure, Axis("stations"), Axis("throughput of all stations (Mb/s)"))
