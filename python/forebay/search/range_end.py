"""The end of the range of buffers: whether larger ones could change a run, and the warning that nothing is known.

A buffer that was never full bounds nothing, so that larger ones give the same runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from forebay.engines import in_real_time
from forebay.results.report import Report
from forebay.results.warning import Kind, Warning
from forebay.search.buffer_variable import BufferVariable
from forebay.search.measurements import Measurements
from forebay.search.plan import Plan
from forebay.search.range_variable import RangeVariable

__all__ = ["end_of_range", "never_full", "never_full_from_start"]

#: Part of a buffer's size below which the longest wait shows that it was never full.
LOW = 0.5
#: Runs that show whether the warm-up fills the buffer.
FROM_START = 2


def never_full(reports: Sequence[Report], plan: Plan) -> bool:
    """Whether the measured time of no run shows a full buffer: no loss, or a longest wait far below the buffer."""
    lost_nothing = "loss" in plan.shows_full and all(map(_lost_nothing, reports))
    return lost_nothing or ("wait" in plan.shows_full and all(map(_stays_low, reports)))


def _lost_nothing(report: Report) -> bool:
    """Whether neither the link nor a group has lost a packet, or nothing was sent."""
    of_link, used = (report.metrics.get(name) for name in ("loss_rate", "utilization"))
    if of_link is None:
        return used is not None and used.mean == 0
    losses = [of_link, *(group.metrics.get("loss_rate") for group in report.groups)]
    return not any(loss is not None and loss.mean for loss in losses)


def _stays_low(report: Report) -> bool:
    longest = report.metrics.get("queue_delay_max_s")
    return longest is not None and longest.mean <= LOW * report.buffer.seconds


def never_full_from_start(
    measure: Measurements, variable: BufferVariable | RangeVariable, packets: int, plan: Plan
) -> bool:
    """Whether runs without a warm-up, so that its losses are measured, too, never fill a buffer.

    Raises
    ------
    TimeoutError
        If the time limit of the search is over before.
    """
    warmup, measured = measure.scenario.core.duration_s
    if warmup == 0 or in_real_time(measure.engine):
        return True
    whole = measure.scenario.changed("run.warmup=0s", f"run.measure={warmup + measured:.9g}s")
    runs = measure.alongside(replace(variable, scenario=whole))
    return never_full(runs([(packets, number) for number in range(FROM_START)]), plan)


def end_of_range(plan: Plan) -> Warning:
    """The warning that buffers beyond the range may meet every goal."""
    end = plan.words.counted(plan.ceiling)
    text = f"no measured {plan.words.noun} up to {end} meets every goal, and no run can judge larger ones"
    return Warning(Kind.RANGE_END, text, values={plan.words.key: plan.words.value(plan.ceiling)})
