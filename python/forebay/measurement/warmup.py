"""Is the warm-up long enough? MSER-5 on the queue and the utilization of one run, from its very start."""

from __future__ import annotations

from forebay import _core
from forebay.results.warning import Kind, Warning
from forebay.scenario import Scenario, run_jobs

__all__ = ["warmup_warnings"]

#: Samples of one run: enough for MSER-5's batches, few enough to cost nothing.
SAMPLES = 3000


def warmup_warnings(scenario: Scenario, engine: str = "packet", replication: int = 0) -> list[Warning]:
    """Check the scenario's warm-up on one traced replication.

    Parameters
    ----------
    scenario : Scenario
        Scenario with the warm-up to check.
    engine : str
        Engine that records traces.
    replication : int
        Replication whose random streams the run uses.

    Returns
    -------
    list of Warning
        Empty if MSER-5 would cut no more than the warm-up does, or if cutting there would change the mean of the
        utilization by less than 0.5 % and that of the queue by less than 5 %.
    """
    import numpy as np

    from forebay.results.statistics import mser5

    warmup, measured = scenario.core.duration_s
    every = max((warmup + measured) / SAMPLES, 1e-6)
    traced = scenario.changed(f"trace.every={every:.9g}s", 'trace.record=["queue", "utilization"]', "trace.from=0s")
    report = run_jobs([_core.Job(traced.core, engine, traced.core.seed, replication, traces=True)])[0]
    traces = report.traces()
    found = []
    for name, column, tolerance in (("queue", "packets", 0.05), ("utilization", "utilization", 0.005)):
        series = np.asarray(traces["queue"][column] if traces is not None else ())
        if len(series) < 40:
            continue
        rule = mser5(series)
        end = rule.cut * every
        retained, measured_part = series[rule.cut :].mean(), series[round(warmup / every) :].mean()
        if end <= warmup or abs(retained - measured_part) <= tolerance * abs(retained):
            continue
        if not rule.trusted:
            text = f"the {name} is not steady within half of the run (MSER-5). Measure longer"
            found.append(Warning(Kind.NOT_SETTLED, text, subject=name))
        elif end > warmup:
            text = f"the warm-up of {warmup:g} s is short: the {name} depends on its start until {end:.3g} s (MSER-5)"
            values = {"settled_s": end, "warmup_s": warmup}
            found.append(Warning(Kind.STILL_STARTING, text, subject=name, values=values))
    return found
