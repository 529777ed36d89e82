"""Figures of Dhamdhere and Dovrolis, 2006."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay import models
from forebay.papers import drawing
from forebay.papers.quantities import finished_transfers, per_flow, persistent_rates
from forebay.views.chart import PALETTE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.papers.catalog import Figure
    from forebay.papers.results import Results
    from forebay.papers.running import Recording
    from forebay.views.canvas import Picture

BUFFERS = (18, 500)
#: 50 Mb/s of 1500-byte packets, harmonic mean round trip 60 ms.
LINK: dict[str, Any] = {"flows": 200, "capacity_pps": 50e6 / 12000, "rtt_s": 0.06}


def fig1(results: Results, figure: Figure) -> Picture:
    """Loss against the buffer."""
    picture, axes = drawing.grid(1, 1, 9.0, 6.0)
    axis = axes[0, 0]
    axis.set_yscale("log")
    for index, (run, text) in enumerate(
        (("persistent", "persistent"), ("closed", "closed loop"), ("open", "open loop"))
    ):
        for shortest, label, options in (
            (1, f"{text}, timeouts from 1 s", {}),
            (200, f"{text}, from 0.2 s", {"alpha": 0.4, "linewidth": 1.0}),
        ):
            losses = 100 * results.curve(run, "loss_rate", min_rto=shortest)
            drawing.band(axis, results.across(run, "buffer", min_rto=shortest), losses, index, label, **options)
        aside = 1.06 ** (index - 1)
        drawing.at_places(axis, figure.claims, run, color=PALETTE[index], units=drawing.percent, aside=aside)
    sizes = np.geomspace(9, 500, 60)
    for text, style, color, found in (
        (
            "published equation (3)",
            ":",
            PALETTE[6],
            models.call("full-link-loss", "loss:printed", **LINK, buffer=sizes),
        ),
        ("equation (3), corrected", "--", PALETTE[6], models.call("full-link-loss", "loss", **LINK, buffer=sizes)),
        ("PFTK, timeouts of 1 s", "-.", PALETTE[6], _pftk(sizes, 1.0)),
        ("PFTK, timeouts of 0.2 s", "-.", "#999999", _pftk(sizes, 0.2)),
    ):
        axis.plot(sizes, 100 * found, color=color, linestyle=style, linewidth=1.4, label=text)
    axis.axvline(18, color="#888888", linewidth=1, zorder=1, label="BDP / √200, 18 packets")
    axis.set_ylim(0.5, 60)
    axis.set_ylabel("loss rate (%)")
    drawing.buffers(axis)
    drawing.legend_below(picture, axis, 3)
    drawing.title(picture, figure.title)
    return picture


def _pftk(sizes: NDArray[np.float64], timeout_s: float) -> NDArray[np.float64]:
    """Loss of the full link by the throughput formula with timeouts."""
    return models.call(
        "pftk", "loss_of_full_link:seconds", **LINK, buffer=sizes, timeout_s=timeout_s, packets_per_ack=1
    )


def _two_panels(figure: Figure, titles: tuple[str, str], label: str) -> tuple[Picture, Any]:
    picture, axes = drawing.grid(2, 1, 9.0, 7.0, sharex=True)
    for axis, text in zip(axes[:, 0], titles, strict=True):
        axis.set_title(text, loc="left")
        axis.set_ylabel("share of flows\nup to this (%)")
        axis.set_ylim(0, 101)
    axes[1, 0].set_xlabel(label)
    drawing.title(picture, figure.title)
    return picture, axes[:, 0]


def _pooled(recordings: list[Recording], group: str, column: str, least: float, most: float) -> NDArray[np.float64]:
    """One column of all replications' transfers of a size."""
    parts = []
    for recording in recordings:
        frame = finished_transfers(recording, group)
        chosen = frame.filter(frame["bytes"].is_between(least, most))
        parts.append(chosen[column].to_numpy())
    return np.concatenate(parts)


def _sizes(results: Results, figure: Figure, run: str, group: str, column: str) -> Picture:
    """Large and small transfers at both buffers."""
    throughput = column == "throughput"
    label = "throughput (bytes/s)" if throughput else "loss rate (%)"
    picture, axes = _two_panels(figure, ("transfers above 100 kB", "transfers up to 100 kB"), label)
    for axis, (least, most) in zip(axes, ((100_001, 1e18), (0, 100_000)), strict=True):
        for index, size in enumerate(BUFFERS):
            found = _pooled(results.recordings(run, buffer=size), group, column, least, most)
            drawing.steps(axis, found if throughput else 100 * found, index, f"{size} packets")
            # The published medians of large transfers lie along the curves, the shares without a loss at their start.
            if least > 0:
                units = float if throughput else drawing.percent
                series, color = f"{size} packets", PALETTE[index]
                drawing.at_places(axis, figure.claims, series, color=color, units=units, across=throughput)
    if throughput:
        axes[1].set_xscale("log")
        axes[1].set_xlim(1e3, 3e6)
    else:
        axes[1].set_xlim(-1.5, 45)
    drawing.legend_below(picture, axes[0], 3)
    return picture


def fig2(results: Results, figure: Figure) -> Picture:
    """Throughput of persistent flows and mice."""
    picture, axes = _two_panels(figure, ("persistent flows", "mice"), "throughput (bytes/s)")
    for index, size in enumerate(BUFFERS):
        found = results.recordings("persistent-transfers", buffer=size)
        rates = np.concatenate([persistent_rates(each, "persistent") for each in found])
        drawing.steps(axes[0], rates, index, f"{size} packets")
        drawing.steps(axes[1], _pooled(found, "mice", "throughput", 0, 1e18), index, f"{size} packets")
    axes[1].set_xscale("log")
    axes[1].set_xlim(3e2, 1e6)
    drawing.legend_below(picture, axes[0], 2)
    return picture


def fig3(results: Results, figure: Figure) -> Picture:
    """Loss of persistent flows and mice."""
    picture, axes = _two_panels(figure, ("persistent flows", "mice"), "loss rate (%)")
    for index, size in enumerate(BUFFERS):
        found = results.recordings("persistent-transfers", buffer=size)
        losses = [per_flow(each, "persistent", "loss_rate") for each in found]
        drawing.steps(axes[0], 100 * np.concatenate(losses), index, f"{size} packets")
        drawing.steps(axes[1], 100 * _pooled(found, "mice", "loss", 0, 1e18), index, f"{size} packets")
        drawing.at_places(axes[1], figure.claims, f"{size} packets", color=PALETTE[index], units=drawing.percent)
    axes[1].set_xlim(-1.5, 60)
    drawing.legend_below(picture, axes[0], 3)
    return picture


def fig4(results: Results, figure: Figure) -> Picture:
    """Throughput, closed loop."""
    return _sizes(results, figure, "closed-transfers", "users", "throughput")


def fig5(results: Results, figure: Figure) -> Picture:
    """Loss, closed loop."""
    return _sizes(results, figure, "closed-transfers", "users", "loss")


def fig6(results: Results, figure: Figure) -> Picture:
    """Throughput, open loop."""
    return _sizes(results, figure, "open-transfers", "transfers", "throughput")


def fig7(results: Results, figure: Figure) -> Picture:
    """Loss, open loop."""
    return _sizes(results, figure, "open-transfers", "transfers", "loss")


def links(_results: Results, figure: Figure) -> Picture:
    """Links that cannot be saturated."""
    loads = {
        "60 DSL users of 1 Mb/s\non 100 Mb/s": 60 / 100,
        "100 flows, windows of 32 KiB,\n100 ms, on 620 Mb/s": 100 * 32 * 1024 * 8 / 0.1 / 620e6,
    }
    picture, axes = drawing.grid(1, 1, 9.0, 3.2)
    axis = axes[0, 0]
    axis.barh(list(loads), [100 * load for load in loads.values()], color=PALETTE[0], height=0.5)
    for place, load in enumerate(loads.values()):
        axis.annotate(f"{100 * load:.0f} %", (100 * load + 1, place), va="center")
    axis.axvline(100, color=PALETTE[1], linestyle="--", linewidth=1.5)
    axis.set_xlim(0, 108)
    axis.set_xlabel("largest possible load (% of the capacity, dashed)")
    axis.grid(visible=False, axis="y")
    drawing.title(picture, figure.title)
    return picture
