"""Figures of Augé and Roberts, 2006."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.papers import drawing
from forebay.papers.claims import Region
from forebay.views.chart import PALETTE

if TYPE_CHECKING:
    from forebay.papers.catalog import Figure
    from forebay.papers.results import Results
    from forebay.views.canvas import Picture


def fig1(_results: Results, figure: Figure) -> Picture:
    """Flows as boxes above the sum of their rates; every number of this sketch is drawn at random, seed 1."""
    random = np.random.default_rng(1)
    picture, axes = drawing.grid(2, 3, 11.0, 5.0, sharex=True, sharey="row", height_ratios=[1, 1])
    # Mean rate and load in units of the capacity: the sum of the boxes' areas is the load.
    regimes = (
        ("transparent: small rates, load 0.6", 0.0, 0.6),
        ("elastic: a few large rates, load 0.7", 0.16, 0.7),
        ("overload: load 1.25", 0.0, 1.25),
    )
    for column, (text, large_load, load) in enumerate(regimes):
        top, bottom = axes[0, column], axes[1, column]
        flows = list(_flows(random, load - large_load, rate=0.01, length=6.0))
        large = list(_flows(random, large_load, rate=0.6, length=4.0)) if large_load else []
        times = np.linspace(0, 100, 1000)
        total = np.zeros_like(times)
        for kind, (begin, length, rate) in [*((0, each) for each in flows), *((1, each) for each in large)]:
            low = random.uniform(0, max(0.02, 1 - rate))
            color = PALETTE[1] if kind else PALETTE[0]
            box = _box(begin, low, length, rate, color, 0.55 if kind else 0.3)
            box.set_label("flow of a large rate" if kind else "flow of a small rate")
            top.add_patch(box)
            total += rate * ((times >= begin) & (times < begin + length))
        bottom.fill_between(times, total, color=PALETTE[5], linewidth=0, label="sum of the rates")
        bottom.plot(times, total, color=PALETTE[0], linewidth=0.8)
        bottom.axhline(1, color="#444444", linestyle="--", linewidth=1.3, label="capacity")
        top.set_title(text)
        top.set_xlim(0, 100)
        top.set_ylim(0, 1.02)
        top.set_yticks([])
        bottom.set_xlabel("time (arbitrary unit)")
    axes[0, 0].set_ylabel("flows (height: rate)")
    axes[1, 0].set_ylabel("sum of rates\n(capacity = 1)")
    drawing.legend_below(picture, [axes[0, 1], axes[1, 1]])
    drawing.title(picture, figure.title)
    return picture


def _flows(random: np.random.Generator, load: float, rate: float, length: float) -> Any:
    """Poisson arrivals over 120 time units from -20, exponential lengths."""
    count = random.poisson(load / (rate * length) * 120)
    for begin in random.uniform(-20, 100, count):
        yield begin, random.exponential(length), rate


def _box(begin: float, low: float, length: float, rate: float, color: str, alpha: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((begin, low), length, rate, facecolor=color, edgecolor=color, alpha=alpha, linewidth=0.4)


def _flow_names(flow: int) -> str:
    return f"window of flow {flow + 1}"


def fig3(results: Results, figure: Figure) -> Picture:
    """One New Reno flow at three buffers."""
    columns = [(f"{size} packets", results.recordings("reno-time", buffer=size)[0]) for size in (20, 100, 625)]
    return drawing.over_time(columns, lambda _flow: "window of the flow", figure.title, published=_means(figure))


def _means(figure: Figure) -> list[Region]:
    """The published mean utilization of each column; the first one is a share of what the background leaves."""
    share, whole, most = (claim.region for claim in (figure.claims[at] for at in (0, 2, 1)))
    assert share is not None
    assert whole is not None
    assert most is not None
    return [Region((1 + share.low) / 2, (1 + share.high) / 2, share.text), whole, most]


def fig4(results: Results, figure: Figure) -> Picture:
    """Packet arrivals around the first loss of the long flow."""
    import polars as pl

    recording = results.recordings("packets")[0]
    packets = recording.table("packets")
    lost = packets.filter(pl.col("dropped") & (pl.col("flow") == 0))
    if not lost.height:
        lost = packets.filter(pl.col("dropped"))
    at = float(lost["time_s"][0])
    around = packets.filter(pl.col("time_s").is_between(at - 0.06, at + 0.29))
    random = np.random.default_rng(4)
    picture, axes = drawing.grid(1, 1, 10.0, 5.0)
    axis = axes[0, 0]
    for index, (text, chosen, low) in enumerate(
        (("background", pl.col("flow") > 0, 0.02), ("long New Reno flow", pl.col("flow") == 0, 0.52))
    ):
        mine = around.filter(chosen & ~pl.col("dropped"))
        heights = random.uniform(low, low + 0.46, mine.height)
        axis.plot(1e3 * (mine["time_s"] - at), heights, ".", color=PALETTE[index], markersize=3, label=text)
        gone = around.filter(chosen & pl.col("dropped"))
        if gone.height:
            heights = random.uniform(low + 0.1, low + 0.36, gone.height)
            label = "lost packet" if index == 1 or not lost.height else None
            axis.plot(1e3 * (gone["time_s"] - at), heights, "s", color="black", markersize=8, label=label)
    axis.axhline(0.5, color="#888888", linewidth=0.8)
    axis.set_ylim(0, 1)
    axis.set_yticks([0.25, 0.75], ["background", "long flow"])
    axis.set_xlabel("time from the loss (ms)")
    axis.grid(visible=False, axis="y")
    drawing.legend_below(picture, axis, 3)
    drawing.title(picture, f"{figure.title}, 20 packets of buffer")
    return picture


def fig5(results: Results, figure: Figure) -> Picture:
    """One, two and four flows at 20 packets."""
    columns = [
        (f"{count} flow{'s' if count > 1 else ''}", results.recordings("count-time", count=count)[0])
        for count in (1, 2, 4)
    ]
    return drawing.over_time(columns, _flow_names, figure.title)


def _three(results: Results, figure: Figure, first: tuple[str, str], queue: str) -> Picture:
    columns = [
        (first[0], results.recordings(first[1])[0]),
        ("HighSpeed TCP and New Reno, 625 packets", results.recordings("mixed-time", queue=queue)[0]),
        ("four HighSpeed TCP flows, 625 packets", results.recordings("four-time", queue=queue)[0]),
    ]
    picture = drawing.over_time(columns, lambda _flow: "", figure.title)
    first_name = "New Reno" if "New Reno" in first[0] else "HighSpeed TCP"
    four = [f"flow {number}" for number in range(1, 5)]
    for axis, names in zip(picture.axes[3:], ([first_name], ["HighSpeed TCP", "New Reno"], four), strict=True):
        # Room above the lines: a legend must not hide them.
        axis.legend(axis.get_lines(), names, loc="upper right", ncols=2, framealpha=0.9)
    low, high = picture.axes[3].get_ylim()
    picture.axes[3].set_ylim(low, 1.34 * high)
    for axis in picture.axes[:3]:
        axis.set_title(axis.get_title(), fontsize=10)
    return picture


def fig6(results: Results, figure: Figure) -> Picture:
    """HighSpeed TCP under first in, first out."""
    return _three(results, figure, ("one HighSpeed TCP flow, 20 packets", "hstcp-time"), "droptail")


def fig7(results: Results, figure: Figure) -> Picture:
    """The same under fair queueing."""
    return _three(results, figure, ("one New Reno flow, 20 packets", "fair-time"), "drr")


def buffers(results: Results, figure: Figure) -> Picture:
    """Utilization against the buffer."""
    picture, axes = drawing.grid(1, 1, 9.0, 5.4)
    axis = axes[0, 0]
    for index, (run, text) in enumerate(
        (
            ("reno-curve", "New Reno"),
            ("impatient-curve", "New Reno, impatient"),
            ("sack-curve", "New Reno with SACK"),
            ("hstcp-curve", "HighSpeed TCP"),
            ("flows-curve", "New Reno over finite flows"),
        )
    ):
        drawing.band(axis, results.across(run, "buffer"), 100 * results.curve(run, "utilization"), index, text)
    axis.axhline(50, color="#666666", linestyle=":", linewidth=1.2, label="background alone")
    axis.set_ylabel("utilization (%)")
    axis.set_ylim(45, 101)
    drawing.buffers(axis)
    drawing.legend_below(picture, axis, 2)
    drawing.title(picture, figure.title)
    return picture
