"""A buffer that the user named, and the configured one with its verdict: rows beside the answer of a search.

`findings` makes it; `answer` and `choice` hold it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from forebay.results.report import Estimate
from forebay.search.value import Quantity

__all__ = ["AS_CONFIGURED", "GoalVerdict", "NamedBuffer"]

#: The name of the scenario's own buffer among those that are measured besides.
AS_CONFIGURED = "as configured"
#: The verdict on one goal, or on all, at one buffer.
GoalVerdict = Literal["met", "missed", "undecided"]


@dataclass(frozen=True, slots=True)
class NamedBuffer:
    """A buffer that the user named, and its metrics.

    Attributes
    ----------
    name : str
        "as configured", or the text that the user gave.
    buffer : BufferSize or Value
        The buffer.
    measured : mapping
        Metrics of the link.
    verdict : str or None
        Verdict on the configured buffer, as `check` states it: "met", "missed" or "undecided". None for other buffers,
        and without goals.
    goals : mapping
        The verdict on each goal by its key.
    runs : int
        Number of observations that the verdict rests on.
    """

    name: str
    buffer: Quantity
    measured: Mapping[str, Estimate]
    verdict: GoalVerdict | None = None
    goals: Mapping[str, GoalVerdict] = field(default_factory=dict)
    runs: int = 0
