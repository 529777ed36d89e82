"""Shorter runs of a scenario: those of a quick look, and the one that any time is enough for.

`time_budget` and the estimates of the command line ask for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forebay import _core
from forebay.inputs.goals import parts_of_key
from forebay.scenario import Scenario

__all__ = ["LEAST_PART", "ShorterRuns"]

#: Packets of one run of a quick look where that measures for less than the scenario says, and the least part of what it
#: says that is measured. The warm-up stays: what it leaves out is not the link's behavior.
PACKETS = 1e6
LEAST_PART = 0.25
#: Packets of the one run that any time is enough for.
BRIEF_PACKETS = 1e5
#: Metrics that are about all of the measured time at once, and another number where that is shorter.
WHOLE = frozenset({"jain_index", "synchronization"})


@dataclass(frozen=True, slots=True)
class ShorterRuns:
    """A scenario with the parts that can be left out of its runs.

    Attributes
    ----------
    scenario : Scenario
        With its whole time.
    """

    scenario: Scenario

    @property
    def quick(self) -> Scenario:
        """The scenario with as much less of measured time as a quick look can do without."""
        scenario = self.scenario
        warmup, measured = scenario.core.duration_s
        if (
            any(parts_of_key(goal.key)[0].rpartition(".")[2] in WHOLE for goal in scenario.goals)
            or self._latest > warmup
        ):
            return scenario
        enough = max(LEAST_PART * measured, PACKETS / scenario.packets_per_second - warmup)
        return scenario if enough >= measured else scenario.changed(f"run.measure={enough:.9g}s")

    @property
    def briefest(self) -> Scenario:
        """The scenario with as little time as a few packets take, for figures where nothing else is known."""
        warmup, measured = self.scenario.core.duration_s
        share = min(1.0, BRIEF_PACKETS / (self.scenario.packets_per_second * (warmup + measured)))
        return self.scenario.changed(f"run.warmup={share * warmup:.9g}s", f"run.measure={share * measured:.9g}s")

    @property
    def _latest(self) -> float:
        """The latest time, in seconds, that says when a group begins or ends."""
        groups = self.scenario.resolved["flows"]
        return max((_last(group.get(key)) for group in groups for key in ("start", "stop")), default=0.0)


def _last(law: Any) -> float:
    """The largest time in a law."""
    if isinstance(law, str):
        return _core.parse_quantity(law, "time")
    parts = law.values() if isinstance(law, Mapping) else law if isinstance(law, Sequence) else ()
    return max(map(_last, parts), default=0.0)
