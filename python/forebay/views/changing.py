"""A link whose rate changes, in words: its buffer in time, and the drain time of its queue after the rate falls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.results.report import BufferSize
from forebay.scenario import TARGET
from forebay.text import formatting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forebay.scenario import Scenario
    from forebay.search.answer import Recommendation

__all__ = ["DRAIN", "in_time", "rate_changes"]

DRAIN = "drain_time_max_s"


def rate_changes(answer: Recommendation) -> Iterator[str]:
    """The recommended buffer at each rate of the link, and the drain time of its queue after the rate falls."""
    buffer = answer.buffer
    if buffer is None:
        return
    if isinstance(buffer, BufferSize) and answer.variable.key == TARGET:
        yield from in_time(buffer, answer.scenario)
    at = answer.at(buffer)
    drain = None if at is None else at.estimate(DRAIN)
    if drain is not None:
        yield f"When the rate falls, what waits takes up to {formatting.estimate(DRAIN, drain)} to drain."


def in_time(buffer: BufferSize, scenario: Scenario) -> Iterator[str]:
    """The duration of a buffer of the target link at the highest, average and lowest rate, if the rate changes."""
    if not scenario.core.has_phases:
        return
    low, high = scenario.core.rates_between_bps
    rates = {high: "", scenario.core.rate_bps: " on average", low: ""}
    each = [
        f"{formatting.duration(8 * buffer.bytes / rate)} at {formatting.exactly(formatting.bandwidth(rate))}{which}"
        for rate, which in rates.items()
    ]
    yield f"In time: {', '.join(each)}."
