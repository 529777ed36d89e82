"""Intervals from one run: batch means over the run's recorded series.

Successive samples of a run depend on each other; the means of long stretches of it hardly do. They are weaker than
replications, which cannot share a slow swing of the traffic, but need no second run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from forebay import _core
from forebay.errors import InputError
from forebay.inputs.validation import MOST_SEED, integer
from forebay.phase_effects import phase_warnings
from forebay.results import statistics
from forebay.results.report import Estimate, Report
from forebay.results.warning import Kind, Warning
from forebay.scenario import Scenario, run_jobs

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BATCHES", "run_in_batches"]

#: Default number of batches, and number of samples in each.
BATCHES, SAMPLES = 20, 50

#: Correlation of neighboring batches above which the interval is likely too narrow.
CORRELATED = 0.4

#: Metric of the report by column of the recorded queue.
RECORDED = {"utilization": "utilization", "queue_mean_packets": "packets"}


def run_in_batches(
    scenario: Scenario, engine: str = "packet", *, batches: int = BATCHES, seed: int | None = None
) -> Report:
    """Run one replication and give its utilization and mean queue an interval.

    Parameters
    ----------
    scenario : Scenario
        Scenario to run; its `[trace]` is replaced.
    engine : str
        Engine that records traces.
    batches : int
        Number of batches, 5 to 1000.
    seed : int, optional
        In place of the scenario's own.

    Returns
    -------
    Report
        Report of one replication. `utilization` and `queue_mean_packets` (and the mean delay, in proportion) have half
        widths, `batches` is the number of batches behind them, and a warning reports correlated neighboring batches.
        The
        report has the warnings of `Scenario.run`, too.

    Raises
    ------
    InputError
        If the number of batches is out of range, or if the engine records nothing.
    """
    batches = integer(batches, (5, 1000), "batches")
    warmup, measured = scenario.core.duration_s
    every = max(measured / (batches * SAMPLES), 1e-9)
    traced = scenario.changed(
        f"trace.every={every:.12g}s", 'trace.record=["queue", "utilization"]', f"trace.from={warmup:.12g}s"
    )
    seed = integer(scenario.core.seed if seed is None else seed, (0, MOST_SEED), "seed")
    (report,) = run_jobs([_core.Job(traced.core, engine, seed, 0, traces=True)])
    traces = report.traces()
    if traces is None or len(traces["queue"]["time_s"]) < 2 * batches:
        text = f"the {engine} engine records too little in {measured:g} s for {batches} batches"
        raise InputError(text, "batches")
    metrics = dict(report.metrics)
    warnings = []
    for metric, column in RECORDED.items():
        if metric in metrics:
            # The first sample is of the interval before the measured time.
            series = np.asarray(traces["queue"][column], dtype=float)[1:]
            # At the run's own mean, which no sampling has blurred.
            half_width = statistics.batch_means(series, batches).half_width
            metrics[metric] = dataclasses.replace(metrics[metric], half_width=half_width)
            warnings += _correlation(metric, series, batches)
    batched = report.in_batches(batches, scenario.resolved, scenario.core.sha256, _with_scaled_delay(metrics))
    return batched.warned([*warnings, *phase_warnings(scenario.core, engine, 1)])


def _correlation(metric: str, series: NDArray[np.float64], batches: int) -> list[Warning]:
    """A warning if the means of neighboring batches depend on each other."""
    size = len(series) // batches
    means = series[len(series) - size * batches :].reshape(batches, size).mean(axis=1)
    if np.ptp(means) == 0:
        return []
    correlation = float(np.corrcoef(means[:-1], means[1:])[0, 1])
    if correlation <= CORRELATED:
        return []
    text = (
        f"{metric}: neighboring batches are correlated ({correlation:.2f}): the interval is too narrow; "
        "measure for longer or use replications"
    )
    return [Warning(Kind.CORRELATED_BATCHES, text, subject=metric, values={"correlation": correlation})]


def _with_scaled_delay(metrics: Mapping[str, Estimate]) -> Mapping[str, Estimate]:
    """The mean delay varies with the mean queue (Little): the same relative half width."""
    queue, delay = metrics.get("queue_mean_packets"), metrics.get("queue_delay_mean_s")
    if queue is None or delay is None or queue.mean <= 0 or queue.half_width is None:
        return metrics
    half_width = queue.half_width / queue.mean * delay.mean
    return {**metrics, "queue_delay_mean_s": dataclasses.replace(delay, half_width=half_width)}
