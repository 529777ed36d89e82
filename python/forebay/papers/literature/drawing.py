"""Pictures of the literature: each published value with its tolerance, and forebay's value beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.papers import drawing
from forebay.views.chart import PALETTE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from forebay.papers.catalog import Figure
    from forebay.papers.claims import Verdict
    from forebay.papers.results import Results
    from forebay.views.canvas import Picture


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a curve: its text, and whether it is logarithmic."""

    text: str
    log: bool = False


def _over(results: Results, figure: Figure, x: Axis, y: Axis) -> Picture:
    """Curves of the claims that have a place on the x axis; the other claims have rows below."""
    verdicts = [results.judge(claim) for claim in figure.claims]
    picture, axes = drawing.grid(1, 1, 10.0, 4.7)
    shown = [each for each in verdicts if each.claim.at is not None]
    picture.compared = frozenset(each.claim.quantity for each in shown)
    _curves(axes[0, 0], shown, x, y)
    drawing.legend_below(picture, axes[0, 0], 3)
    drawing.title(picture, figure.title)
    return picture


def _rows(_results: Results, figure: Figure) -> Picture:
    """A picture of rows only."""
    from forebay.views import canvas

    picture = canvas.picture(10.0, 0.7)
    drawing.title(picture, figure.title)
    return picture


def _curves(axis: Axes, verdicts: Sequence[Verdict], x: Axis, y: Axis) -> None:
    """Published values as open marks with their precision, ours as points with their interval, a color for each."""
    for index, name in enumerate(dict.fromkeys(each.claim.series for each in verdicts)):
        color = PALETTE[index % len(PALETTE)]
        mine = [each for each in verdicts if each.claim.series == name]
        drawing.at_places(axis, [each.claim for each in mine], name, color=color)
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


def windows(results: Results, figure: Figure) -> Picture:
    """Mean windows over the loss rate."""
    return _over(results, figure, Axis("loss rate of packets", log=True), Axis("mean window (packets)", log=True))


def rates(results: Results, figure: Figure) -> Picture:
    """Sending rates over the loss rate, with timeouts."""
    return _over(results, figure, Axis("loss rate of packets", log=True), Axis("packets per round trip", log=True))


def growth(results: Results, figure: Figure) -> Picture:
    """Windows over round trips, and times of recovery."""
    return _over(results, figure, Axis("round trips"), Axis("window (packets)"))


def bbr_loss(results: Results, figure: Figure) -> Picture:
    """Goodput over random loss."""
    return _over(results, figure, Axis("loss rate of packets", log=True), Axis("goodput (share of the link)"))


def bbr_shares(results: Results, figure: Figure) -> Picture:
    """Shares of BBR over the buffer."""
    return _over(results, figure, Axis("buffer (bandwidth-delay products)", log=True), Axis("BBR's share"))


def dctcp(results: Results, figure: Figure) -> Picture:
    """The queue of DCTCP."""
    return _over(results, figure, Axis("flows", log=True), Axis("queue (packets)"))


def buffers(results: Results, figure: Figure) -> Picture:
    """Rules of buffer sizing."""
    return _rows(results, figure)


def queues(results: Results, figure: Figure) -> Picture:
    """Active queue management."""
    return _rows(results, figure)


def delays(results: Results, figure: Figure) -> Picture:
    """Controllers that listen to delay."""
    return _rows(results, figure)


def controllers(results: Results, figure: Figure) -> Picture:
    """LEDBAT, Copa, CDG and BBR version 3."""
    return _rows(results, figure)


def fairness(results: Results, figure: Figure) -> Picture:
    """Shares by round trips and hops."""
    return _rows(results, figure)


def wifi(results: Results, figure: Figure) -> Picture:
    """Throughput over the number of stations."""
    return _over(results, figure, Axis("stations"), Axis("throughput of all stations (Mb/s)"))
