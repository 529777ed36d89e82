"""A smaller link of the same kind: a k-th of the rate and a k-th of the flows.

Each flow keeps its share of the link, its round trip and its access link, so a run costs a k-th. A buffer does not
scale with it: a buffer that absorbs bursts of independent flows grows like a power of k below 1, and a buffer for flows
that lose in step grows like k (Appenzeller, Keslassy and McKeown, 2004, has both for TCP: BDP/sqrt(N) and BDP).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forebay.inputs.goals import parts_of_key
from forebay.scenario import Scenario
from forebay.search.sensitivity import listed, scaled_count, scaled_quantities, workload_kind

__all__ = ["LEAST_FLOWS", "ScaledLinks"]

#: Flows of a group on a smaller link at least: with fewer the traffic is of another kind.
LEAST_FLOWS = 12
#: Metrics that are the same on a link of another size, by their names without the group.
SCALE_FREE = ("utilization", "loss_rate", "queue_delay_")
#: Workloads whose flows are counted by `count`.
COUNTED = frozenset({"persistent", "finite", "periodic", "app_limited", "on_off", "voip"})
#: Workloads of which a group has one rate.
OF_A_RATE = frozenset({"poisson", "cbr"})
#: Keys of a link that a smaller link would have to have in another size.
NOT_SCALED = ("shaper", "policer", "medium", "memory")


@dataclass(frozen=True, slots=True)
class ScaledLinks:
    """The smaller links of one scenario.

    Attributes
    ----------
    scenario : Scenario
        The whole link.
    """

    scenario: Scenario

    @property
    def largest_factor(self) -> int:
        """The largest factor by which the scenario can be scaled down; 1 if it cannot."""
        tables = self.scenario.resolved
        links = tables["links"]
        simple = (
            len(links) == 1
            and not tables.get("memories")
            and isinstance(links[0]["rate"], str)
            and links[0]["queue"].get("kind") == "droptail"
            and not any(links[0].get(key) for key in NOT_SCALED)
            and all(_scale_free(goal.key) for goal in self.scenario.goals)
        )
        if not simple:
            return 1
        return max(1, min((_factor_of(group) for group in tables["flows"]), default=1))

    def by(self, factor: int) -> Scenario:
        """Return the scenario with a `factor`-th of the rate and of the flows.

        Parameters
        ----------
        factor : int
            At most `largest_factor`.
        """
        tables = self.scenario.resolved
        link, share = tables["links"][0], 1 / factor
        link["rate"] = scaled_quantities(link["rate"], share)
        packets = max(1, round(self.scenario.buffer.packets * share))
        for group in tables["flows"]:
            _scale(group, share)
        smaller = Scenario.of(tables, name=self.scenario.title or "scenario").core
        return self.scenario.with_core(smaller).with_packets(packets)


def _scale_free(key: str) -> bool:
    name = parts_of_key(key)[0].rpartition(".")[2]
    return name.startswith(SCALE_FREE)


def _factor_of(group: Mapping[str, Any]) -> int:
    """The largest factor of one group."""
    kind = workload_kind(group)
    if listed(group.get("rtt")) or listed(group.get("start")):
        return 1
    if kind == "open_loop" or kind in OF_A_RATE:
        return int(1e9)
    if kind in COUNTED:
        count: Any = group["count"]
    elif kind == "closed_loop":
        count = group["workload"][kind]["users"]
    else:
        # The servers of an incast answer together: with fewer of them it is another burst.
        return 1
    return int(count) // LEAST_FLOWS if isinstance(count, int | float) else 1


def _scale(group: dict[str, Any], share: float) -> None:
    """Scale one group in place."""
    kind = workload_kind(group)
    if kind == "open_loop":
        body = group["workload"][kind]
        body["interarrival"] = scaled_quantities(body["interarrival"], 1 / share)
    elif kind in OF_A_RATE:
        body = group["workload"][kind]
        body["rate"] = scaled_quantities(body["rate"], share)
        group["count"] = max(1, math.ceil(group["count"] * share))
    elif kind == "closed_loop":
        body = group["workload"][kind]
        body["users"] = scaled_count(body["users"], share)
    else:
        group["count"] = scaled_count(group["count"], share)
