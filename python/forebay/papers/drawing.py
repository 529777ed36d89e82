"""Pieces that several papers' drawings share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.papers.published import add_rows, at_places, handles
from forebay.views.chart import COLORS, MARKERS, PALETTE
from forebay.views.headline import Headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from forebay.papers.claims import Region, Verdict
    from forebay.papers.running import Recording
    from forebay.views.canvas import Picture

__all__ = [
    "MARKERS",
    "at_places",
    "band",
    "buffers",
    "complete",
    "fraction_axis",
    "grid",
    "label_points",
    "legend_below",
    "over_time",
    "percent",
    "steps",
    "title",
]

#: Largest number of points of a drawn distribution.
MOST_STEPS = 1500

#: Legend of a published range of means.
PUBLISHED = "published mean, with its precision"
#: Mark of the bands of intervals, for the legend.
INTERVAL = "interval"


def grid(rows: int, columns: int, width: float = 9.0, height: float = 5.2, **options: Any) -> tuple[Picture, Any]:
    """A figure of rows x columns panels in the package's style."""
    from forebay.views import canvas

    # Text stays text-sized when the picture is shown at half its size.
    sizes = {"font.size": 11, "axes.titlesize": 11, "legend.fontsize": 10}
    picture = canvas.picture(width, height, **sizes)
    with canvas.style(**sizes):
        axes = picture.subplots(rows, columns, squeeze=False, **_of_grid(options))
    return picture, axes


def _of_grid(options: dict[str, Any]) -> dict[str, Any]:
    """The options of `subplots`, with those of its grid in a dictionary of their own."""
    ratios = {name: options.pop(name) for name in ("height_ratios", "width_ratios") if name in options}
    return options | {"gridspec_kw": ratios}


def title(picture: Picture, text: str) -> None:
    """Title at the left, as in the package's other pictures."""
    from forebay.views import canvas

    canvas.head(picture, Headline(text, ""))


def _finish(picture: Picture, link: str) -> None:
    """Put the link in a line under the title, and plain numbers on every axis."""
    from forebay.views import canvas

    _, heading = picture.heading
    canvas.head(picture, Headline(heading.title, link))
    for axis in picture.axes:
        canvas.format_axes([axis])


def complete(picture: Picture, link: str, verdicts: Sequence[Verdict]) -> None:
    """Add what all pictures have: the link, and a row for each claim that no panel compares."""
    _finish(picture, link)
    add_rows(picture, [each for each in verdicts if each.claim.quantity not in picture.compared])


def legend_below(picture: Picture, axes: Axes | Sequence[Axes], columns: int = 4) -> None:
    """One legend for all panels, below them, in at most `columns` columns: curves, intervals and published values."""
    from matplotlib.patches import Patch

    from forebay.views import canvas

    shown = [axes] if not isinstance(axes, Sequence) else axes
    named = [pair for axis in shown for pair in zip(*axis.get_legend_handles_labels(), strict=True)]
    unique = {label: handle for handle, label in named}
    entries = [_labeled(handle, label) for label, handle in unique.items()]
    if any(each.get_gid() == INTERVAL for axis in picture.axes for each in axis.collections):
        entries.append(Patch(color=COLORS["other"], alpha=0.25, label="95 % interval of the mean"))
    canvas.legend(picture, [*entries, *handles(picture)], size=10, most=columns)


def _labeled(handle: Any, label: str) -> Any:
    handle.set_label(label)
    return handle


def band(axis: Axes, x: ArrayLike, numbers: ArrayLike, index: int, label: str, **options: Any) -> None:
    """Means over replications (the last axis) with their 95 % interval as a band; no line leads through single runs."""
    from forebay.results.statistics import mean_interval

    places = np.asarray(x, float).reshape(-1)
    heights = np.asarray(numbers, float)
    color, marker = PALETTE[index % len(PALETTE)], MARKERS[index % len(MARKERS)]
    means = heights.mean(axis=1)
    if heights.shape[1] > 1:
        intervals = [mean_interval(row) for row in heights]
        low, high = np.array([each.low for each in intervals]), np.array([each.high for each in intervals])
        if axis.get_yscale() == "log":  # an interval that reaches zero ends below the axis
            low = np.maximum(low, means / 100)
        axis.fill_between(places, low, high, color=color, alpha=0.18, linewidth=0).set_gid(INTERVAL)
    style: dict[str, Any] = {
        "color": color,
        "marker": marker,
        "markersize": 4.5,
        "linewidth": 1.5,
        "label": label,
    } | options
    if heights.shape[1] == 1:
        style |= {"linestyle": "none", "marker": style["marker"] or "o"}
    axis.plot(places, means, **style)


def buffers(axis: Axes, label: str = "buffer (packets)") -> None:
    """A logarithmic axis of buffers with plain numbers."""
    axis.set_xscale("log")
    axis.set_xlabel(label)


def fraction_axis(axis: Axes, whole: int) -> None:
    """An axis of fractions of a paper's full buffer."""
    axis.set_xscale("log")
    number = f"{whole:,}".replace(",", "\u2009") if whole >= 10_000 else str(whole)
    axis.set_xlabel(f"buffer (fraction of {number} packets)")


#: Colors of a utilization over time, and of its mean.
USED, MEAN = COLORS["edge"], COLORS["ink"]


def over_time(
    columns: Sequence[tuple[str, Recording]],
    names: Callable[[int], str],
    heading: str,
    seconds: float = 100.0,
    published: Sequence[Region] = (),
) -> Picture:
    """Utilization (top) and windows (bottom) against time, one column per recording.

    Parameters
    ----------
    columns : sequence of (str, Recording)
        Title and recording of each column.
    names : callable
        Name of a flow by its number, for the legend; empty if it has none there.
    heading : str
        Title of the picture.
    seconds : float
        Drawn time.
    published : sequence of Region
        The published mean utilization of each column, if there are any.
    """
    import polars as pl

    picture, axes = grid(2, len(columns), 11.0, 5.8, sharex=True, sharey="row")
    for column, (text, recording) in enumerate(columns):
        begin = recording.core.duration_s[0]
        shown = pl.col("time_s").is_between(begin, begin + seconds)
        queue = recording.table("queue").filter(shown)
        top, bottom = axes[0, column], axes[1, column]
        if published:
            low, high = max(0.0, published[column].low), min(1.0, published[column].high)
            top.axhspan(100 * low, 100 * high, color=COLORS["amber"], alpha=0.3, linewidth=0, label=PUBLISHED)
        label = "utilization of one round trip"
        top.plot(queue["time_s"] - begin, 100 * queue["utilization"], color=USED, linewidth=0.5, label=label)
        mean = 100 * float(recording.table("queue").filter(pl.col("time_s") >= begin)["utilization"].to_numpy().mean())
        top.axhline(mean, color=MEAN, linewidth=1.4, label="its mean in this run")
        top.annotate(
            f"mean {mean:.0f} %",
            (0.98, 0.05),
            xycoords="axes fraction",
            ha="right",
            color=MEAN,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5},
        )
        top.set_title(text)
        flows = recording.table("flows").filter(shown)
        for index, flow in enumerate(flows["flow"].unique().sort().to_list()):
            mine = flows.filter(pl.col("flow") == flow)
            color = PALETTE[index % len(PALETTE)]
            bottom.plot(
                mine["time_s"] - begin, mine["cwnd_packets"], color=color, linewidth=1.1, label=names(int(flow))
            )
        bottom.set_xlabel("time (s)")
    axes[0, 0].set_ylabel("utilization of one\nround trip (%)")
    axes[0, 0].set_ylim(30, 102)
    axes[1, 0].set_ylabel("congestion window\n(packets)")
    axes[1, 0].set_ylim(bottom=0)
    title(picture, heading)
    legend_below(picture, list(picture.axes))
    return picture


def label_points(axis: Axes, names: Iterable[tuple[float, float, str]], **options: Any) -> None:
    """Write names beside points if they have room; the title and the limits are already set."""
    from forebay.views import canvas

    canvas.place(axis, names, **options)


def steps(axis: Axes, values: ArrayLike, index: int, label: str, **options: Any) -> None:
    """Empirical distribution: share of the values up to each."""
    ordered: NDArray[np.float64] = np.sort(np.asarray(values, float))
    heights = np.arange(1, ordered.size + 1) / ordered.size
    if ordered.size > MOST_STEPS:  # finer than a pixel: only the file would grow
        at = np.unique(np.linspace(0, ordered.size - 1, MOST_STEPS).round().astype(int))
        ordered, heights = ordered[at], heights[at]
    style: dict[str, Any] = {"color": PALETTE[index % len(PALETTE)], "linewidth": 1.6, "label": label} | options
    axis.step(ordered, 100 * heights, where="post", **style)


def percent(share: float) -> float:
    """A share in percent."""
    return 100 * share
