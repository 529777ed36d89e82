"""Intervals from one run: batch means over what the run records on its way.

Successive samples of a run depend on each other; the means of long stretches of it hardly do. They are weaker than
replications, which cannot share a slow swing of the traffic, but need no second run.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from forebay import _core, statistics
from forebay.errors import InputError
from forebay.report import Report
from forebay.scenario import Scenario, run_jobs

__all__ = ["BATCHES", "run_in_batches"]

#: How many batches are usual, and samples in each.
BATCHES, SAMPLES = 20, 50

#: Correlation of neighbouring batches above which the interval is likely too narrow.
CORRELATED = 0.4

#: Metric of the report by column of the recorded queue.
RECORDED = {"utilization": "utilization", "queue_mean_packets": "packets"}


def run_in_batches(
    scenario: Scenario, engine: str = "packet", *, batches: int = BATCHES, seed: int | None = None
) -> Report:
    """Run one replication and give its utilisation and mean queue an interval.

    Parameters
    ----------
    scenario : Scenario
        What to run; its `[trace]` is replaced.
    engine : str
        One that records.
    batches : int
        5 to 1000.
    seed : int, optional
        Instead of the scenario's own.

    Returns
    -------
    Report
        Of one replication; `utilization` and `queue_mean_packets` (and the mean delay, in proportion) have half
        widths, `batches` says how many they rest on, and a warning says where neighbouring batches are correlated.

    Raises
    ------
    InputError
        Where the number of batches is out of range or the engine records nothing.
    """
    if not 5 <= batches <= 1000:
        raise InputError(f"--batches: found {batches}; allowed: 5 to 1000")
    warmup, measured = scenario.core.duration_s
    every = max(measured / (batches * SAMPLES), 1e-9)
    traced = scenario.changed(
        f"trace.every={every:.12g}s", 'trace.record=["queue", "utilization"]', f"trace.from={warmup:.12g}s"
    )
    seed = scenario.core.seed if seed is None else seed
    report = Report(run_jobs([_core.Job(traced.core, engine, seed, 0, traces=True)])[0])
    traces = report.traces()
    if traces is None or len(traces["queue"]["time_s"]) < 2 * batches:
        raise InputError(f"--batches: the {engine} engine records too little in {measured:g} s for {batches} batches")
    data: dict[str, Any] = json.loads(report.to_json())
    data["scenario_sha256"] = scenario.core.sha256
    data["batches"] = batches
    for metric, column in RECORDED.items():
        # The first sample is of the interval before the measured time.
        series = np.asarray(traces["queue"][column], dtype=float)[1:]
        _give_interval(data, metric, series, batches)
    _scale_delay(data)
    report.__dict__["data"] = data  # what a cached property keeps
    return report


def _give_interval(data: dict[str, Any], metric: str, series: np.ndarray, batches: int) -> None:
    """Put the half width of the batch means at the run's own mean, which no sampling has blurred."""
    if metric not in data["metrics"]:
        return
    interval = statistics.batch_means(series, batches)
    data["metrics"][metric]["half_width"] = interval.half_width
    size = len(series) // batches
    means = series[len(series) - size * batches :].reshape(batches, size).mean(axis=1)
    if np.ptp(means) > 0:
        correlation = float(np.corrcoef(means[:-1], means[1:])[0, 1])
        if correlation > CORRELATED:
            data["warnings"].append(
                f"{metric}: neighbouring batches are correlated ({correlation:.2f}): the interval is too narrow; "
                "measure for longer or use replications"
            )


def _scale_delay(data: dict[str, Any]) -> None:
    """The mean delay varies with the mean queue (Little): the same relative half width."""
    queue, delay = (data["metrics"].get(name) for name in ("queue_mean_packets", "queue_delay_mean_s"))
    if queue and delay and queue["mean"] > 0 and queue["half_width"] is not None:
        delay["half_width"] = queue["half_width"] / queue["mean"] * delay["mean"]
