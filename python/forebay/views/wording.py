"""A recommendation's goals and buffers in words, for readers who do not know the field's short forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay import formatting

if TYPE_CHECKING:
    from forebay.goals import Goal
    from forebay.report import BufferSize

__all__ = ["goal_phrase", "metric_title", "packets", "sign", "sizes", "threshold"]


def metric_title(name: str) -> str:
    """Title of a metric or of "group.metric"."""
    return formatting.metric_title(name).replace(" delay", " queueing delay")


def threshold(name: str, number: float) -> str:
    """A threshold as it was asked for: 90 %, not 90.00 %."""
    return formatting.exactly(formatting.value(name, number))


def sign(sense: str) -> str:
    """The side of a threshold that is good."""
    return "≥" if sense == ">=" else "≤"


def goal_phrase(goal: Goal) -> str:
    """A goal as part of a sentence."""
    sense = "at least" if goal.sense == ">=" else "at most"
    group, dot, metric = goal.name.rpartition(".")
    what = f"{metric_title(metric)} of “{group}”" if dot else metric_title(metric)
    return f"{what} is {sense} {threshold(goal.name, goal.threshold)}"


def packets(buffer: BufferSize) -> str:
    """A buffer in packets, and how long so many take."""
    return f"{buffer.packets:,.0f} packets ({formatting.duration(buffer.seconds)})"


def sizes(buffer: BufferSize) -> str:
    """A buffer in every unit."""
    bdp = "" if buffer.bdp is None else f" = {buffer.bdp:.3g} BDP"
    return (
        f"{buffer.packets:,.0f} packets = {formatting.size(buffer.bytes)} = {formatting.duration(buffer.seconds)}{bdp}"
    )
