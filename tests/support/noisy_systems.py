"""Systems whose answer is known: some have one, some a sliver of one, and some none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from forebay.inputs.goals import Goal
from forebay.search.quick import QuickLook
from forebay.search.smallest import Search
from tests.support.noisy_links import EDGE, PLAN, delay, utilization

QUICK = replace(PLAN, confidence=0.8)


KINDS = [(Search, PLAN), (QuickLook, QUICK)]


UTILIZATION, DELAY = "utilization", "queue_delay_p99_s"


def peaked(place: float, height: float, width: float) -> Callable[[int], float]:
    """A bell over the logarithm of the buffer."""
    return lambda buffer: height * math.exp(-((math.log(buffer / place) / width) ** 2) / 2)


def at_most(packets: float) -> Goal:
    return Goal("queue_delay_p99", "<=", delay(1) * packets)


AT_LEAST = Goal(UTILIZATION, ">=", 0.9)


BOTH = {UTILIZATION: utilization, DELAY: delay}


#: Systems of which some have an answer, some a sliver of one, and some none. Peaks are next to a measured buffer.
SYSTEMS: Mapping[str, tuple[Mapping[str, Callable[[int], float]], Sequence[Goal]]] = {
    "peak above": ({UTILIZATION: peaked(60, 0.95, 1.0)}, [AT_LEAST]),
    "narrow peak above": ({UTILIZATION: peaked(60, 0.95, 0.5)}, [AT_LEAST]),
    "peak just above": ({UTILIZATION: peaked(60, 0.905, 1.0)}, [AT_LEAST]),
    "peak below": ({UTILIZATION: peaked(60, 0.87, 1.0)}, [AT_LEAST]),
    "sliver": (BOTH, [AT_LEAST, at_most(1.03 * EDGE)]),
    "narrow sliver": (BOTH, [AT_LEAST, at_most(1.01 * EDGE)]),
    "room": (BOTH, [AT_LEAST, at_most(1.6 * EDGE)]),
    "no room": (BOTH, [AT_LEAST, at_most(0.97 * EDGE)]),
    "conflict": (BOTH, [AT_LEAST, at_most(0.4 * EDGE)]),
    "never": ({UTILIZATION: lambda buffer: min(utilization(buffer), 0.88)}, [AT_LEAST]),
    "hardly": ({UTILIZATION: lambda buffer: min(utilization(buffer), 0.902)}, [AT_LEAST]),
}
