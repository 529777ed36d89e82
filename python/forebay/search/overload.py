"""Goals on loss that no buffer meets over a long time, because more arrives than the link carries.

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
        The goals that any buffer misses over a long time.
    least_loss : float
        The lost share of all packets over a long time, at least.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._load, self.least_loss = _bounds(scenario)
        names = {"loss_rate", *_only_group(scenario.resolved["flows"])}
        self.goals: tuple[Goal, ...] = tuple(
            goal
            for goal in scenario.goals
            if goal.sense == "<=" and goal.name in names and goal.threshold < self.least_loss
        )

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


def _bounds(scenario: Scenario) -> tuple[float, float]:
    """Mean unresponsive load in terms of the link's rate, with framing, and the lost share of all packets, at least.

    Both are 0 if the load does not last, or if no bound follows from it.
    """
    links: Sequence[Mapping[str, Any]] = scenario.resolved["links"]
    groups: Sequence[Mapping[str, Any]] = scenario.resolved["flows"]
    if len(links) > 1 or not isinstance(links[0]["rate"], str) or any(links[0].get(key) for key in OTHER_LOSS):
        return 0.0, 0.0
    if any(not isinstance(group["packet"], str) for group in groups):
        return 0.0, 0.0
    warmup = scenario.core.duration_s[0]
    constant = [group for group in groups if not UNRESPONSIVE.isdisjoint(group["workload"])]
    if not constant or not all(_lasts(group, warmup) for group in constant):
        return 0.0, 0.0
    fewest = sorted(f"flows.{each['name']}.count={_least(each['count'])}" for each in constant if each["count"] != 1)
    load = (scenario.changed(*fewest) if fewest else scenario).core.background_load
    sizes = [_core.parse_quantity(group["packet"], "bytes") for group in groups]
    load *= 1 + FRAMING[links[0]["rate_layer"]] / max(sizes)
    # The fewest packets are lost if the largest are lost, and if all others are the smallest.
    return load, max(0.0, 1 - 1 / load) * min(sizes) / max(sizes) if load > 0 else 0.0


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
