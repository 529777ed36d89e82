"""Goals on loss that no buffer meets in the long run, because more arrives than the link carries.

Over a long time, unresponsive traffic of a mean rate A at a link of rate C loses at least the share 1 - C / A of its
bytes, because the link delivers at most C. Traffic of other kinds adds to A. A run is finite: a large buffer takes the
rest of A until the run ends, so that a run may lose less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forebay import _core
from forebay.configuration.port import FRAMING
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
        #: Mean unresponsive load in terms of the link's rate; 0 if it does not last, or if no bound follows from it.
        self._load = _steady_load(scenario)
        names = {"loss_rate", *_only_group(scenario.resolved["flows"])}
        self.goals: tuple[Goal, ...] = tuple(
            goal
            for goal in scenario.goals
            if goal.sense == "<=" and goal.name in names and goal.threshold < self.least_loss
        )

    @property
    def least_loss(self) -> float:
        """The lost share of all packets over a long time, at least."""
        if self._load <= 0:
            return 0.0
        tables = self._scenario.resolved
        # The fewest packets are lost if the largest are lost, and if all others are the smallest.
        sizes = [_core.parse_quantity(group["packet"], "bytes") for group in tables["flows"]]
        return max(0.0, 1 - 1 / self._framed) * min(sizes) / max(sizes)

    @property
    def _framed(self) -> float:
        """The load with the framing of the largest packets, which have the least."""
        tables = self._scenario.resolved
        largest = max(_core.parse_quantity(group["packet"], "bytes") for group in tables["flows"])
        return self._load * (1 + FRAMING[tables["links"][0]["rate_layer"]] / largest)

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """The sentence that says so; none without such a goal."""
        if not self.goals:
            return ()
        rate = self._scenario.core.rate_bps
        measured = self._scenario.core.duration_s[1]
        offered, carried = (exactly(bandwidth(each)) for each in (self._framed * rate, rate))
        text = (
            f"{offered} arrive at a link of {carried}. Over a long time at least {100 * self.least_loss:.3g} % is lost "
            f"with any buffer. A run of {exactly(duration(measured))} may lose less."
        )
        values = {"load": self._framed, "least_loss": self.least_loss, "measured_s": measured}
        return (Warning(Kind.OVERLOADED, text, subject=self.goals[0].key, values=values),)


def _only_group(groups: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The loss of a group as a goal names it, if no other group sends packets."""
    return (f"{groups[0]['name']}.loss_rate",) if len(groups) == 1 else ()


def _steady_load(scenario: Scenario) -> float:
    """Mean unresponsive load in terms of the link's rate, or 0."""
    links: Sequence[Mapping[str, Any]] = scenario.resolved["links"]
    groups: Sequence[Mapping[str, Any]] = scenario.resolved["flows"]
    sizes = [group["packet"] for group in groups]
    if len(links) > 1 or not isinstance(links[0]["rate"], str) or any(links[0].get(key) for key in OTHER_LOSS):
        return 0.0
    if any(not isinstance(size, str) for size in sizes):
        return 0.0
    warmup = scenario.core.duration_s[0]
    constant = [group for group in groups if not UNRESPONSIVE.isdisjoint(group["workload"])]
    least = {f"flows.{group['name']}.count={_least(group['count'])}" for group in constant if group["count"] != 1}
    if not all(_lasts(group, warmup) for group in constant):
        return 0.0
    return (scenario.changed(*sorted(least)) if least else scenario).core.background_load


def _least(count: Any) -> int:
    """The smallest number of flows of a group; 0 for a distribution that is not a list."""
    if isinstance(count, int):
        return count
    values = count.get("choice", ()) if isinstance(count, Mapping) else ()
    return min((value for value in values if isinstance(value, int)), default=0)


def _lasts(group: Mapping[str, Any], warmup: float) -> bool:
    """Whether a group has flows that send from the warm-up to the end."""
    start = group.get("start", "0s")
    begins = isinstance(start, str) and _core.parse_quantity(start, "time") <= warmup
    return begins and not group.get("stop") and _least(group["count"]) > 0
