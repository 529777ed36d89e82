"""Figures of Kumar, Azad and Park, 2010."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.papers import drawing
from forebay.papers.results import fixed_point
from forebay.views.chart import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forebay.papers.catalog import Figure
    from forebay.papers.results import Results
    from forebay.views.canvas import Picture

LEVELS = (0.3, 0.6, 1)
#: Full buffer of figure 6: the bandwidth-delay product of the mean round trip.
WHOLE = 141_667
NAMES = {"hstcp": "HighSpeed TCP", "cubic": "CUBIC", "aimd": "AIMD", "htcp": "H-TCP"}


def fig5(results: Results, figure: Figure) -> Picture:
    """Three models on 1 Gb/s."""
    whole = 12500
    picture, axes = drawing.grid(1, 1, 9.0, 5.6)
    axis = axes[0, 0]
    sizes = np.geomspace(0.009 * whole, whole, 40)
    found = [
        100 * fixed_point("barman-droptail", "utilization", round(size), 125_000.0, (0.1155, 0.1245)) for size in sizes
    ]
    axis.plot(
        sizes / whole,
        found,
        color=PALETTE[6],
        linestyle="--",
        linewidth=1.6,
        label="published model, M/M/1/K (formula)",
    )
    for index, level in enumerate(LEVELS):
        settings = {"minimum_synchronization": level}
        fractions = results.across("fluid-1g", "buffer", **settings) / whole
        curve = 100 * results.curve("fluid-1g", "utilization", **settings)
        drawing.band(axis, fractions, curve, index, f"forebay, fluid, X = {level:g}")
    fractions = results.across("packets-1g", "buffer") / whole
    drawing.band(axis, fractions, 100 * results.curve("packets-1g", "utilization"), 3, "forebay, packets")
    axis.set_ylabel("utilization (%)")
    axis.set_ylim(top=101)
    drawing.fraction_axis(axis, whole)
    drawing.legend_below(picture, axis, 3)
    drawing.title(picture, figure.title)
    return picture


def fig6(results: Results, figure: Figure) -> Picture:
    """Four controllers at three levels."""
    picture, axes = drawing.grid(2, 2, 10.0, 7.4, sharex=True, sharey=True)
    for axis, (cca, name) in zip(axes.flat, NAMES.items(), strict=True):
        for index, level in enumerate(LEVELS):
            settings = {"cca": cca, "minimum_synchronization": level}
            fractions = results.across("fluid-10g", "buffer", **settings) / WHOLE
            curve = 100 * results.curve("fluid-10g", "utilization", **settings)
            drawing.band(axis, fractions, curve, index, f"X = {level:g}")
        drawing.at_places(axis, figure.claims, cca, units=drawing.percent)
        axis.set_title(name)
    for axis in axes[:, 0]:
        axis.set_ylabel("utilization (%)")
    for axis in axes[1, :]:
        drawing.fraction_axis(axis, WHOLE)
    drawing.legend_below(picture, axes[0, 0], 4)
    drawing.title(picture, figure.title)
    return picture


#: The runs that simulate a controller packet by packet.
PACKETS = {"hstcp": "packets-10g", "cubic": "packets-10g", "aimd": "aimd-packets", "htcp": "htcp-packets"}
STAR: dict[str, Any] = {"marker": "*", "markersize": 15, "markeredgecolor": "black", "linestyle": "none"}


def packets(results: Results, figure: Figure) -> Picture:
    """Packets beside the fluid at the same synchronization, and over the buffer."""
    picture, axes = drawing.grid(1, 2, 11.0, 5.9)
    axis, sizes = axes[0]
    for index, (cca, name) in enumerate(NAMES.items()):
        places = 10 * results.across("fixed-10g", "minimum_synchronization", cca=cca)
        curve = 100 * results.curve("fixed-10g", "utilization", cca=cca)
        drawing.band(axis, places, curve, index, f"{name}, fluid", marker="")
        level: dict[str, Any] = {"cca": cca, "minimum_synchronization": 0.6}
        fractions = results.across("fluid-10g", "buffer", **level) / WHOLE
        curve = 100 * results.curve("fluid-10g", "utilization", **level)
        drawing.band(sizes, fractions, curve, index, f"{name}, fluid", marker="")
        if results.has(PACKETS[cca]):
            settings: dict[str, Any] = {"cca": cca} if PACKETS[cca] == "packets-10g" else {}
            _star(axis, results, PACKETS[cca], f"{name}, packets", color=PALETTE[index], buffer=7083, **settings)
            fractions = results.across(PACKETS[cca], "buffer", **settings) / WHOLE
            every = 100 * results.curve(PACKETS[cca], "utilization", **settings)
            sizes.plot(fractions, every.mean(axis=1), color=PALETTE[index], **STAR)
        drawing.at_places(sizes, figure.claims, cca, color=PALETTE[index], units=drawing.percent)
    if results.has("htcp-paced"):
        _star(axis, results, "htcp-paced", "H-TCP, packets, paced", color=PALETTE[3], face="white")
    axis.set_xlabel("flows of ten that lose in one congestion event")
    axis.set_ylabel("utilization (%)")
    axis.set_title("5 % buffer (bars of stars: range of runs)")
    axis.set_ylim(top=100.5)
    sizes.set_ylabel("utilization (%)")
    sizes.set_ylim(top=101)
    sizes.set_title("every buffer, fluid with X = 0.6")
    drawing.fraction_axis(sizes, WHOLE)
    drawing.legend_below(picture, axis, 5)
    drawing.title(picture, figure.title.replace(" (not in the paper)", ""))
    return picture


def _star(axis: Axes, results: Results, run: str, label: str, *, color: str, face: str = "", **settings: Any) -> None:
    """Draw the packet engine's results for one controller, with the range of runs."""
    style = STAR | {"color": color, "markerfacecolor": face or color}
    lost = 10 * results.value(run, "synchronization", **settings)
    used = 100 * results.value(run, "utilization", **settings)
    axis.errorbar(
        [lost.mean()],
        [used.mean()],
        xerr=[[lost.mean() - lost.min()], [lost.max() - lost.mean()]],
        yerr=[[used.mean() - used.min()], [used.max() - used.mean()]],
        capsize=3,
        label=label,
        **style,
    )
