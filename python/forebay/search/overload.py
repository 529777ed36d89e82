"""Goals on loss that no buffer meets in the long run, because more arrives than the link carries.

Unresponsive traffic of a mean rate A at a link of rate C loses at least the share 1 - C / A in the long run, because
the link delivers at most C. Traffic of other kinds adds to A. A run is finite: a large buffer takes the rest of A until
the run ends, so that a run may lose less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forebay import _core
from forebay.inputs.goals import Goal
from forebay.results.warning import Kind, Warning
from forebay.scenario import Scenario
from forebay.search.measurable import UNRESPONSIVE
from forebay.text.formatting import bandwidth, duration, exactly

__all__ = ["Overload"]

#: Keys of a link by which packets may be lost that the metric of loss does not count, or not in the buffer.
OTHER_LOSS = ("policer", "shaper", "medium", "loss")


class Overload:
    """The goals on loss that hold in a run at most.

    Parameters
    ----------
    scenario : Scenario
        Their scenario.

    Attributes
    ----------
    goals : tuple of Goal
        The goals that any buffer misses in the long run.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._load = _steady_load(scenario)
        names = {"loss_rate", *_only_group(scenario.resolved["flows"])}
        self.goals: tuple[Goal, ...] = tuple(
            goal
            for goal in scenario.goals
            if goal.sense == "<=" and goal.name in names and goal.threshold < self.least_loss
        )

    @property
    def least_loss(self) -> float:
        """The lost share of all packets in the long run, at least."""
        return max(0.0, 1 - 1 / self._load) if self._load > 0 else 0.0

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """The sentence that says so; none without such a goal."""
        if not self.goals:
            return ()
        rate = self._scenario.core.rate_bps
        measured = self._scenario.core.duration_s[1]
        offered, carried = (exactly(bandwidth(each)) for each in (self._load * rate, rate))
        text = (
            f"{offered} arrive at a link of {carried}. Over a long time at least {100 * self.least_loss:.3g} % is lost "
            f"with any buffer. A run of {exactly(duration(measured))} may lose less."
        )
        values = {"load": self._load, "least_loss": self.least_loss, "measured_s": measured}
        return (Warning(Kind.OVERLOADED, text, subject=self.goals[0].key, values=values),)


def _only_group(groups: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The loss of a group as a goal names it, if no other group sends packets."""
    return (f"{groups[0]['name']}.loss_rate",) if len(groups) == 1 else ()


def _steady_load(scenario: Scenario) -> float:
    """Mean unresponsive load in terms of the link's rate; 0 if it does not last, or if no bound on the loss follows."""
    tables = scenario.resolved
    links: Sequence[Mapping[str, Any]] = tables["links"]
    groups: Sequence[Mapping[str, Any]] = tables["flows"]
    sizes = [group["packet"] for group in groups]
    unequal = any(not isinstance(size, str) or size != sizes[0] for size in sizes)
    if len(links) > 1 or unequal or any(links[0].get(key) for key in OTHER_LOSS):
        return 0.0
    warmup = scenario.core.duration_s[0]
    constant = [group for group in groups if not UNRESPONSIVE.isdisjoint(group["workload"])]
    return scenario.core.background_load if all(_lasts(group, warmup) for group in constant) else 0.0


def _lasts(group: Mapping[str, Any], warmup: float) -> bool:
    """Whether a group sends from the warm-up to the end, with a number of flows that is not drawn."""
    start = group.get("start", "0s")
    begins = isinstance(start, str) and _core.parse_quantity(start, "time") <= warmup
    return begins and not group.get("stop") and isinstance(group["count"], int)
