"""Figures of Avrachenkov, Ayesta and Piunovskiy, 2005."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay import models
from forebay.papers import drawing
from forebay.papers.results import crossing
from forebay.views.chart import PALETTE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.papers.catalog import Figure
    from forebay.papers.results import Results
    from forebay.views.canvas import Picture

#: 100 Mb/s of 500-byte packets, 6 ms.
LINK: dict[str, Any] = {"capacity_pps": 25_000.0, "rtt_s": 0.006, "beta": 0.5}
BDP = 150.0


def _hybrid(quantity: str, flows: int = 5, **parameters: Any) -> NDArray[np.float64]:
    """A quantity of the model with flows that lose together."""
    return models.call("hybrid-fluid", quantity, **LINK, flows=flows, flows_cut=flows, **parameters)


def _regime(figure: Figure, share: float) -> Picture:
    full = float(_hybrid("full_buffer"))
    size = share * full
    period = float(_hybrid("period_s", buffer=size))
    phases = np.linspace(0, 1, 400, endpoint=False)
    rate = _hybrid("cycle_rate", buffer=size, phase=phases) / LINK["capacity_pps"]
    queue = _hybrid("cycle_queue", buffer=size, phase=phases)
    times = 1e3 * period * np.concatenate([phases, 1 + phases])
    picture, axes = drawing.grid(2, 1, 9.0, 5.4, sharex=True)
    top, bottom = axes[:, 0]
    for cycle in (0, 1):
        part = slice(400 * cycle, 400 * (cycle + 1))
        rates, queues = ("sending rate (published formula)", "queue (published formula)")
        top.plot(times[part], rate, color=PALETTE[0], linestyle="--", linewidth=1.6, label=rates)
        bottom.plot(times[part], queue, color=PALETTE[1], linewidth=1.6, label=queues)
        if share < 1:
            empty: dict[str, Any] = {"color": PALETTE[4], "alpha": 0.35, "linewidth": 0, "label": "link not busy"}
            bottom.fill_between(times[part], 0, size, where=queue <= 1e-9, **empty)
    top.axhline(1, color="#666666", linewidth=1, label="capacity")
    bottom.axhline(size, color="#666666", linestyle=":", linewidth=1.2, label="buffer")
    top.set_ylabel("sending rate\n(capacity = 1)")
    bottom.set_ylabel("queue (packets)")
    bottom.set_xlabel("time (ms)")
    bottom.set_ylim(0, 1.3 * size)
    bottom.annotate(f"buffer {size:.0f} packets = {share:g} B0", (0.02, 0.97), xycoords="axes fraction", va="top")
    drawing.legend_below(picture, [top, bottom], 3)
    drawing.title(picture, f"{figure.title} (5 flows, all cut)")
    return picture


def fig1(_results: Results, figure: Figure) -> Picture:
    """First regime."""
    return _regime(figure, 1.5)


def fig2(_results: Results, figure: Figure) -> Picture:
    """Second regime."""
    return _regime(figure, 1.0)


def fig3(_results: Results, figure: Figure) -> Picture:
    """Third regime."""
    return _regime(figure, 0.25)


def fig4(_results: Results, figure: Figure) -> Picture:
    """Pareto set of the model."""
    full = float(_hybrid("full_buffer"))
    shares = np.linspace(0, 1.6, 200)
    rates = _hybrid("mean_rate", buffer=shares * full) / LINK["capacity_pps"]
    queues = _hybrid("mean_queue", buffer=shares * full) / full
    picture, axes = drawing.grid(1, 1, 8.0, 5.2)
    axis = axes[0, 0]
    within = shares <= 1
    axis.plot(
        queues[within],
        rates[within],
        color=PALETTE[0],
        linewidth=2,
        label="Pareto set, buffers up to B0 (published formula)",
    )
    axis.plot(
        queues[~within],
        rates[~within],
        color=PALETTE[1],
        linewidth=2,
        linestyle="--",
        label="larger buffers (published formula)",
    )
    names = []
    for share in (0.1, 0.25, 0.5, 1.0, 1.5):
        x = float(_hybrid("mean_queue", buffer=share * full)) / full
        y = float(_hybrid("mean_rate", buffer=share * full)) / LINK["capacity_pps"]
        axis.plot([x], [y], "o", color="black", markersize=5)
        names.append((x, y, f"{share:g} B0"))
    axis.set_xlabel("mean queue (B0 = 1)")
    axis.set_ylabel("mean rate (capacity = 1)")
    drawing.legend_below(picture, axis, 2)
    drawing.title(picture, figure.title)
    drawing.label_points(axis, names, size=10)
    return picture


def _geometry(figure: Figure, times: Any, rates: Any, area: str) -> Picture:
    picture, axes = drawing.grid(1, 1, 8.0, 4.6)
    axis = axes[0, 0]
    times, rates = np.asarray(times, float), np.asarray(rates, float)
    axis.plot(times, rates, color=PALETTE[0], linewidth=2.2, label="sending rate (published argument)")
    axis.axhline(1, color="#444444", linestyle="--", linewidth=1.3, label="capacity")
    axis.fill_between(times, rates, 1, where=rates < 1, color=PALETTE[4], alpha=0.5, linewidth=0, label=area)
    axis.set_xlabel("time (round trips)")
    axis.set_ylabel("rate (capacity = 1)")
    axis.set_ylim(0, 1.5)
    drawing.legend_below(picture, axis, 3)
    drawing.title(picture, figure.title)
    return picture


def fig5(_results: Results, figure: Figure) -> Picture:
    """One flow that stops for a round trip."""
    return _geometry(figure, [0, 1, 1, 2, 2, 4], [1, 1, 0, 0, 1, 1], "buffer: capacity × round trip")


def fig6(_results: Results, figure: Figure) -> Picture:
    """A flow that climbs back: rates 2β/(1+β) to 2/(1+β) of the capacity."""
    decrease = LINK["beta"]
    low, high = 2 * decrease / (1 + decrease), 2 / (1 + decrease)
    period = (high - low) * BDP  # one flow gains one packet per round trip, in each round trip
    times = np.array([0, period, period, 2 * period])
    return _geometry(figure, np.interp(np.linspace(0, 3, 301), range(4), times), _saw(low, high), "buffer: B0")


def _saw(low: float, high: float) -> NDArray[np.float64]:
    rise = np.linspace(low, high, 101)
    found: NDArray[np.float64] = np.concatenate([rise[:-1], np.linspace(high, low, 100), rise])
    return found


def fig7(results: Results, figure: Figure) -> Picture:
    """Simulated Pareto sets."""
    picture, axes = drawing.grid(1, 1, 9.0, 5.6)
    axis = axes[0, 0]
    names: list[tuple[float, float, str]] = []
    for index, count in enumerate((5, 20)):
        queue = results.curve("pareto", "queue_mean_packets", count=count).mean(axis=1)
        rate = 100 * results.curve("pareto", "utilization", count=count)
        drawing.band(axis, queue, rate, index, f"forebay, {count} flows")
        drawing.at_places(axis, figure.claims, f"{count} flows", color=PALETTE[index])
        sizes = results.across("pareto", "buffer", count=count).reshape(-1)
        for size in (20, 60, 100, 140, 200):
            at = int(np.argmin(abs(sizes - size)))
            if sizes[at] == size or abs(sizes[at] - size) <= 10:
                names.append((float(queue[at]), float(rate[at].mean()), f"{sizes[at]:.0f}"))
        full = float(_hybrid("full_buffer", flows=count))
        shown = np.linspace(0, min(1.6 * full, 2.2 * BDP), 200)
        axis.plot(
            _hybrid("mean_queue", flows=count, buffer=shown),
            _hybrid("mean_rate", flows=count, buffer=shown) / 250,
            color=PALETTE[index],
            linestyle="--",
            linewidth=1.3,
            label=f"published model, {count} flows (formula)",
        )
    axis.set_xlim(-3, 150)
    axis.set_ylim(60, 101.5)
    axis.set_xlabel("mean queue (packets)")
    axis.set_ylabel("mean rate (Mb/s)")
    drawing.legend_below(picture, axis, 4)
    drawing.title(picture, f"{figure.title} (numbers: buffer in packets)")
    drawing.label_points(axis, names, size=9)
    return picture


def fig8(results: Results, figure: Figure) -> Picture:
    """Relative error of three rules."""
    counts = sorted({int(count) for count in results.across("count", "count").reshape(-1)})
    numbers = np.array(counts, dtype=float)
    rules = {
        "one bandwidth-delay product": np.full(numbers.shape, BDP),
        "BDP / √n": BDP / np.sqrt(numbers),
        "model, flows lose together": BDP**2 / (18 * numbers),
    }
    picture, axes = drawing.grid(2, 1, 9.0, 7.4, sharex=True, height_ratios=[3, 2])
    top, bottom = axes[:, 0]
    top.set_yscale("log")
    bottom.set_yscale("log")
    found = {
        n: crossing(results.across("count", "buffer", count=n), results.curve("count", "utilization", count=n), 0.999)
        for n in counts
    }
    simulated = np.array([found[n] for n in counts])
    reached = np.isfinite(simulated).all(axis=1)
    counts, simulated = list(np.array(counts)[reached]), simulated[reached]
    for index, (name, rule) in enumerate(rules.items()):
        sizes = rule[reached].reshape(-1, 1)
        drawing.band(top, counts, abs(sizes - simulated) / simulated, index, name)
        drawing.at_places(top, figure.claims, name, color=PALETTE[index])
        bottom.plot(counts, sizes.reshape(-1), color=PALETTE[index], linewidth=1.3)
    drawing.band(bottom, counts, simulated, 6, "simulated B0")
    top.set_ylim(0.01, 12)
    top.set_ylabel("relative error")
    bottom.set_ylabel("B0 (packets)")
    drawing.buffers(bottom, "number of flows")
    drawing.legend_below(picture, [top, bottom], 4)
    drawing.title(picture, figure.title)
    return picture
