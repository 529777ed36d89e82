"""The curves of the page: the class beside built-in algorithms, over time, over the buffer and over the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forebay.contract.answer import Curves
from forebay.contract.control_checks import BUFFERS
from forebay.contract.trials import Trials, flows, goodput

__all__ = ["control_curves", "queue_curves"]

#: Rates of random loss, in percent.
LOSSES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 5.0)
#: Numbers of flows.
COUNTS = (1, 2, 4, 8, 16, 32)
#: Most points of a curve over time.
MOST_POINTS = 300

Points = tuple[tuple[float, float], ...]


def control_curves(trials: Trials) -> tuple[Curves, ...]:
    """Window over time, share over the buffer and goodput over random loss, beside CUBIC and New Reno."""
    each = {trials.subject.place: trials.subject.table, "CUBIC": "cubic", "New Reno": "newreno"}
    return (
        Curves("Window of one flow, buffer 1 BDP", "time in seconds", "window in packets", _windows(trials, each)),
        Curves(
            "Share of two flows beside two of New Reno",
            "buffer in BDP",
            "share of the goodput in %",
            {name: _shares(trials, table) for name, table in each.items()},
            by_decades=True,
        ),
        Curves(
            "Goodput of one flow with random loss, link 20 Mb/s",
            "random loss in %",
            "goodput in Mb/s",
            {name: _losses(trials, table) for name, table in each.items()},
            by_decades=True,
        ),
    )


def queue_curves(trials: Trials) -> tuple[Curves, ...]:
    """Queue over time, and delay and utilization over the number of flows, beside tail drop and CoDel."""
    each = {trials.subject.place: trials.subject.table, "tail drop": "droptail", "CoDel": "codel"}
    delays: dict[str, Points] = {}
    used: dict[str, Points] = {}
    for name, table in each.items():
        reports = {
            count: trials.run(flows("cubic", count), link={"buffer": "3BDP", "queue": table}, run={"measure": "30s"})
            for count in COUNTS
        }
        delays[name] = tuple((n, 1000 * each.metrics["queue_delay_mean_s"].mean) for n, each in reports.items())
        used[name] = tuple((n, 100 * each.metrics["utilization"].mean) for n, each in reports.items())
    return (
        Curves(
            "Queue of four CUBIC flows, buffer 3 BDP", "time in seconds", "packets that wait", _queues(trials, each)
        ),
        Curves(
            "Mean queueing delay of CUBIC flows", "number of flows", "delay in milliseconds", delays, by_decades=True
        ),
        Curves("Utilization with CUBIC flows", "number of flows", "utilization in %", used, by_decades=True),
    )


def _windows(trials: Trials, each: Mapping[str, Any]) -> dict[str, Points]:
    found = {}
    for name, table in each.items():
        traces = trials.run(flows(table), run={"warmup": "0s", "measure": "30s"}, every="100ms").core.traces()
        assert traces is not None, "the trace was requested"
        found[name] = _thinned(traces["flows"]["time_s"], traces["flows"]["cwnd_packets"])
    return found


def _queues(trials: Trials, each: Mapping[str, Any]) -> dict[str, Points]:
    found = {}
    for name, table in each.items():
        link, run = {"buffer": "3BDP", "queue": table}, {"warmup": "0s", "measure": "30s"}
        traces = trials.run(flows("cubic", 4), link=link, run=run, every="100ms").core.traces()
        assert traces is not None, "the trace was requested"
        found[name] = _thinned(traces["queue"]["time_s"], traces["queue"]["packets"])
    return found


def _shares(trials: Trials, table: Any) -> Points:
    found = []
    for buffer in BUFFERS:
        link = {"buffer": f"{buffer:g}BDP"}
        report = trials.run(flows(table, 2), flows("newreno", 2, "theirs"), link=link)
        both = goodput(report), goodput(report, "theirs")
        found.append((buffer, 100 * both[0] / max(sum(both), 1.0)))
    return tuple(found)


def _losses(trials: Trials, table: Any) -> Points:
    runs = ((percent, trials.run(flows(table), link={"loss": {"random": f"{percent}%"}})) for percent in LOSSES)
    return tuple((percent, goodput(report) / 1e6) for percent, report in runs)


def _thinned(across: Sequence[float], up: Sequence[float]) -> Points:
    step = max(1, len(across) // MOST_POINTS)
    return tuple((float(x), float(y)) for x, y in zip(across[::step], up[::step], strict=True))
