"""Pieces that several papers' drawings share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.views import plots
from forebay.views.plots import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from numpy.typing import ArrayLike, NDArray

    from forebay.papers.running import Recording

__all__ = ["MARKERS", "band", "buffers", "fraction_axis", "grid", "legend_below", "over_time", "steps", "title"]

MARKERS = "osD^vP*X"
#: Points of a drawn distribution.
MOST_STEPS = 1500


def grid(rows: int, columns: int, width: float = 9.0, height: float = 5.2, **options: Any) -> tuple[Picture, Any]:
    """A figure of rows x columns panels in the package's style."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    # Text stays text-sized when the picture is shown at half its size.
    mpl.rcParams.update({"font.size": 11, "axes.titlesize": 11, "legend.fontsize": 10, "svg.fonttype": "path"})
    picture, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False, layout="constrained", **options)
    for axis in axes.flat:
        axis.grid(visible=True, which="major", color="#d8d8d8", linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
    return picture, axes


def title(picture: Picture, text: str) -> None:
    """Title at the left, as in the package's other pictures."""
    picture.suptitle(text, fontsize=12, x=0.01, ha="left")


def legend_below(picture: Picture, axis: Axes, columns: int = 4) -> None:
    """One legend for all panels, below them."""
    handles, labels = axis.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    picture.legend(unique.values(), unique.keys(), loc="outside lower center", ncols=columns, frameon=False)


def band(axis: Axes, x: ArrayLike, numbers: ArrayLike, index: int, label: str, **options: Any) -> None:
    """Means over replications (the last axis) with their 95 % interval as a band."""
    from forebay.statistics import mean_interval

    places = np.asarray(x, float).reshape(-1)
    heights = np.asarray(numbers, float)
    color, marker = PALETTE[index % len(PALETTE)], MARKERS[index % len(MARKERS)]
    means = heights.mean(axis=1)
    if heights.shape[1] > 1:
        intervals = [mean_interval(row) for row in heights]
        low, high = np.array([each.low for each in intervals]), np.array([each.high for each in intervals])
        if axis.get_yscale() == "log":  # an interval that reaches zero ends below what is shown
            low = np.maximum(low, means / 100)
        axis.fill_between(places, low, high, color=color, alpha=0.18, linewidth=0)
    style: dict[str, Any] = {
        "color": color,
        "marker": marker,
        "markersize": 4.5,
        "linewidth": 1.5,
        "label": label,
    } | options
    axis.plot(places, means, **style)


def buffers(axis: Axes, label: str = "buffer (packets that may wait)") -> None:
    """A logarithmic axis of buffers with plain numbers."""
    axis.set_xscale("log")
    plots.plain_ticks(axis)
    axis.set_xlabel(label)


def fraction_axis(axis: Axes, whole: int) -> None:
    """An axis of fractions of a paper's full buffer."""
    axis.set_xscale("log")
    plots.plain_ticks(axis)
    number = f"{whole:,}".replace(",", "\u2009") if whole >= 10_000 else str(whole)
    axis.set_xlabel(f"buffer (fraction of {number} packets)")


def over_time(
    columns: Sequence[tuple[str, Recording]], names: Callable[[int], str], heading: str, seconds: float = 100.0
) -> Picture:
    """Utilization (top) and windows (bottom) against time, one column per recording."""
    import polars as pl

    picture, axes = grid(2, len(columns), 11.0, 5.8, sharex=True, sharey="row")
    for column, (text, recording) in enumerate(columns):
        begin = recording.core.duration_s[0]
        shown = pl.col("time_s").is_between(begin, begin + seconds)
        queue = recording.table("queue").filter(shown)
        top, bottom = axes[0, column], axes[1, column]
        top.plot(queue["time_s"] - begin, 100 * queue["utilization"], color=PALETTE[6], linewidth=0.5)
        mean = 100 * float(recording.table("queue").filter(pl.col("time_s") >= begin)["utilization"].to_numpy().mean())
        top.axhline(mean, color=PALETTE[1], linewidth=1.2)
        top.annotate(
            f"mean {mean:.0f} %",
            (0.98, 0.05),
            xycoords="axes fraction",
            ha="right",
            color=PALETTE[1],
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5},
        )
        top.set_title(text)
        flows = recording.table("flows").filter(shown)
        for index, flow in enumerate(flows["flow"].unique().sort().to_list()):
            mine = flows.filter(pl.col("flow") == flow)
            bottom.plot(
                mine["time_s"] - begin,
                mine["cwnd_packets"],
                color=PALETTE[index % len(PALETTE)],
                linewidth=1.1,
                label=names(int(flow)),
            )
        bottom.set_xlabel("time (s)")
    axes[0, 0].set_ylabel("utilization of one\nround trip (%)")
    axes[0, 0].set_ylim(30, 102)
    axes[1, 0].set_ylabel("congestion window\n(packets)")
    axes[1, 0].set_ylim(bottom=0)
    title(picture, heading)
    return picture


def steps(axis: Axes, values: ArrayLike, index: int, label: str, **options: Any) -> None:
    """Empirical distribution: share of the values up to each."""
    ordered: NDArray[np.float64] = np.sort(np.asarray(values, float))
    heights = np.arange(1, ordered.size + 1) / ordered.size
    if ordered.size > MOST_STEPS:  # finer than a pixel: only the file would grow
        at = np.unique(np.linspace(0, ordered.size - 1, MOST_STEPS).round().astype(int))
        ordered, heights = ordered[at], heights[at]
    style: dict[str, Any] = {"color": PALETTE[index % len(PALETTE)], "linewidth": 1.6, "label": label} | options
    axis.step(ordered, 100 * heights, where="post", **style)
