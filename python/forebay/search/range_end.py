"""The end of the range of buffers: whether larger ones could change a run, and the warning that nothing is known.

A buffer that was never full bounds nothing, so that larger ones give the same runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from forebay.results.report import Report
from forebay.results.warning import Kind, Warning
from forebay.search.plan import Plan

__all__ = ["end_of_range", "never_full"]

#: Part of a buffer's size below which the longest wait shows that it was never full.
LOW = 0.5


def never_full(reports: Sequence[Report], plan: Plan) -> bool:
    """Whether no run at a buffer has filled it: no packet was lost, or the longest wait was far below its size."""
    return all(map(_lost_nothing, reports)) or (plan.longest_wait_tells and all(map(_stays_low, reports)))


def _lost_nothing(report: Report) -> bool:
    """Whether neither the link nor a group has lost a packet; False if the report has no loss of the link."""
    of_link = report.metrics.get("loss_rate")
    losses = [of_link, *(group.metrics.get("loss_rate") for group in report.groups)]
    return of_link is not None and not any(loss is not None and loss.mean for loss in losses)


def _stays_low(report: Report) -> bool:
    longest = report.metrics.get("queue_delay_max_s")
    return longest is not None and longest.mean <= LOW * report.buffer.seconds


def end_of_range(plan: Plan) -> Warning:
    """The warning that buffers beyond the range may meet every goal."""
    text = (
        f"no {plan.words.noun} up to {plan.words.counted(plan.ceiling)} meets every goal, and no run can judge larger "
        "ones"
    )
    return Warning(Kind.RANGE_END, text, values={plan.words.key: plan.words.value(plan.ceiling)})
