"""Figures of Barman, Smaragdakis and Matta, 2004."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forebay.papers import drawing
from forebay.papers.results import fixed_point
from forebay.views.chart import PALETTE

if TYPE_CHECKING:
    from forebay.papers.catalog import Figure
    from forebay.papers.results import Results
    from forebay.views.canvas import Picture

FAST = {"capacity_pps": 125_000.0, "rtts": (0.1155, 0.1245)}
FASTER = {"capacity_pps": 312_500.0, "rtts": (0.038, 0.142)}


def _against_buffer(
    results: Results, figure: Figure, run: str, model: str, whole: int, link: dict[str, object]
) -> Picture:
    """Utilization (top) and loss (bottom): the fixed point and packets."""
    picture, axes = drawing.grid(2, 1, 9.0, 7.0, sharex=True, height_ratios=[3, 2])
    top, bottom = axes[:, 0]
    sizes = np.geomspace(0.005 * whole, whole, 40)
    for axis, quantity, scale in ((top, "utilization", 100.0), (bottom, "loss", 1.0)):
        found = [scale * fixed_point(model, quantity, round(size), **link) for size in sizes]  # type: ignore[arg-type]
        axis.plot(
            sizes / whole,
            found,
            color=PALETTE[0],
            linewidth=1.6,
            linestyle="--",
            label="published model, fixed point (formula)",
        )
    fractions = results.across(run, "buffer") / whole
    drawing.band(top, fractions, 100 * results.curve(run, "utilization"), 1, "forebay, packets")
    if "fluid-1g" in figure.runs:
        for index, synchronization in ((2, 0.3), (3, 1)):
            settings = {"minimum_synchronization": synchronization}
            drawing.band(
                top,
                results.across("fluid-1g", "buffer", **settings) / whole,
                100 * results.curve("fluid-1g", "utilization", **settings),
                index,
                f"forebay, fluid, synchronization from {synchronization:g}",
            )
    drawing.band(bottom, fractions, np.maximum(results.curve(run, "loss_rate"), 1e-8), 1, "forebay, packets")
    drawing.at_places(top, figure.claims, "utilization", color=PALETTE[1], units=drawing.percent)
    drawing.at_places(bottom, figure.claims, "loss", color=PALETTE[1])
    drawing.at_places(bottom, figure.claims, "log loss", color=PALETTE[1], units=lambda power: 10**power)
    top.set_ylabel("utilization (%)")
    top.set_ylim(top.get_ylim()[0], 102)
    top.axvline(0.1, color="#888888", linestyle=":", linewidth=1.2, label="a tenth of the full buffer")
    bottom.axvline(0.1, color="#888888", linestyle=":", linewidth=1.2)
    bottom.set_yscale("log")
    bottom.set_ylabel("loss rate")
    drawing.fraction_axis(bottom, whole)
    drawing.legend_below(picture, top, 3)
    drawing.title(picture, figure.title)
    return picture


def fig3(results: Results, figure: Figure) -> Picture:
    """1 Gb/s, drop-tail."""
    return _against_buffer(results, figure, "droptail-1g", "barman-droptail", 12500, FAST)


def fig4(results: Results, figure: Figure) -> Picture:
    """2.5 Gb/s, drop-tail."""
    return _against_buffer(results, figure, "droptail-2g5", "barman-droptail", 6250, FASTER)


def fig7(results: Results, figure: Figure) -> Picture:
    """1 Gb/s, RED."""
    return _against_buffer(results, figure, "red-1g", "barman-red", 12500, FAST)


def fig8(results: Results, figure: Figure) -> Picture:
    """2.5 Gb/s, RED."""
    return _against_buffer(results, figure, "red-2g5", "barman-red", 6250, FASTER)


def _two(results: Results, figure: Figure, run: str, buffer: int) -> Picture:
    import polars as pl

    recording = results.recordings(run)[0]
    begin = recording.core.duration_s[0]
    picture, axes = drawing.grid(2, 1, 9.0, 6.0, sharex=True)
    for flow, text in enumerate(("round trip 100 ms", "round trip 50 ms")):
        mine = recording.table("flows").filter(pl.col("flow") == flow)
        axes[0, 0].plot(mine["time_s"] - begin, mine["cwnd_packets"], color=PALETTE[flow], linewidth=1.4, label=text)
    queue = recording.table("queue")
    axes[1, 0].plot(queue["time_s"] - begin, queue["packets"], color=PALETTE[6], linewidth=0.7, label="queue")
    axes[1, 0].axhline(buffer, color="#666666", linestyle="--", linewidth=1.1, label="buffer")
    axes[0, 0].set_ylabel("congestion window\n(packets)")
    axes[1, 0].set_ylabel("queue (packets)")
    axes[1, 0].set_xlabel("time (s)")
    axes[0, 0].set_ylim(bottom=0)
    axes[1, 0].set_ylim(0, 1.05 * buffer)
    drawing.legend_below(picture, [axes[0, 0], axes[1, 0]], 4)
    drawing.title(picture, f"{figure.title}: {buffer} packets")
    return picture


def fig5(results: Results, figure: Figure) -> Picture:
    """Two flows, under-buffered."""
    return _two(results, figure, "under-time", 625)


def fig6(results: Results, figure: Figure) -> Picture:
    """Two flows, over-buffered."""
    return _two(results, figure, "over-time", 12500)
