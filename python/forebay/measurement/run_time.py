"""The approximate duration of one simulated run, from the packets that cross its link and the number of its flows."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.scenario import Scenario

__all__ = ["RunTime", "run_time"]

#: Approximate number of packets that the packet engine simulates in a second of one core with few flows. The second
#: number is that of flows at which it is half of that: their state no longer fits into the caches. Measured with 200
#: and 3,000 flows.
PACKETS_PER_S, HALVED_AT = 10e6, 300.0


@dataclass(frozen=True, slots=True)
class RunTime:
    """One run of the packet engine.

    Attributes
    ----------
    packets : float
        Packets that cross the target link if it is full.
    seconds : float
        Seconds of one core, about.
    """

    packets: float
    seconds: float


def run_time(scenario: Scenario) -> RunTime:
    """Return the packets and the duration of one run of a scenario in the packet engine."""
    packets = scenario.packets_per_second * sum(scenario.core.duration_s)
    flows = sum(count for _, count, *_ in scenario.core.groups)
    return RunTime(packets, packets / PACKETS_PER_S * (1 + flows / HALVED_AT))
