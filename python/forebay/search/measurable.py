"""Detects goals that no report can measure, or that demand more than all, before any run.

`goals` and `optimizing` ask it before a search begins.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.inputs.goals import Goal
from forebay.results.metric import Metric, find
from forebay.scenario import Scenario

__all__ = ["Measurable"]

#: Kinds of workloads whose transfers end.
TRANSFERS = frozenset({"finite", "closed_loop", "periodic", "open_loop", "incast", "all_to_all"})
#: Kinds that do not react to congestion.
UNRESPONSIVE = frozenset({"poisson", "cbr", "on_off"})

_WAITS = frozenset({f"queue_delay_{part}" for part in ("mean", "p05", "p50", "p95", "p99", "max")})

#: Metrics that need a key of the target link, and metrics that need a rate with phases.
OF_KEYS: Mapping[str, str] = {
    "medium_loss_rate": "loss",
    "policer_loss_rate": "policer",
    "pause_time": "pfc",
    "pause_frames": "pfc",
    "headroom_max": "pfc",
    "spread": "pfc",
}
#: Metrics that need `pfc` at any link.
PAUSED: Mapping[str, str] = {"paused_time": "pfc", "victims": "pfc"}
PHASES = frozenset({f"queue_delay_{part}_{phase}" for part in ("p50", "p99") for phase in ("slow", "fast")})
#: Metrics of the link, and of each group, for engines that do not report all there are.
ENGINES: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "fluid": (
        _WAITS
        | {"utilization", "loss_rate", "queue_mean", "goodput", "jain_index", "synchronization", "drain_time_max"}
        | PHASES,
        _WAITS | {"loss_rate", "goodput", "flow_goodput_p10", "flow_goodput_p50"},
    ),
}

#: Metrics that are at most 1 without being spoken of in percent.
AT_MOST_ONE = frozenset({"jain_index", "synchronization", "short_transfers"})


@dataclass(frozen=True, slots=True)
class Need:
    """The traffic that a metric needs, in words, and the kinds of workloads that offer it."""

    requirement: str
    kinds: Collection[str]

    def met_by(self, kinds: Iterable[str]) -> bool:
        """Whether one of these workloads will do."""
        return any(kind in self.kinds for kind in kinds)


_PERSISTENT = frozenset({"persistent"})
_RESPONSIVE = Need("flows that react to congestion", TRANSFERS | _PERSISTENT | {"app_limited"})
_LONG = Need("persistent flows", _PERSISTENT)
_ENDING = Need("transfers that end", TRANSFERS)
_ROUNDS = Need("an incast, `all_to_all` or `ring_all_reduce`", frozenset({"incast", "all_to_all", "ring_all_reduce"}))
_BULK = Need("persistent flows or transfers that end", TRANSFERS | _PERSISTENT)

#: The needs of metrics of a group, by the beginning of their names.
_OF_GROUPS = {
    "retransmissions": _RESPONSIVE,
    "timeouts": _RESPONSIVE,
    "long_flows": _RESPONSIVE,
    "window_mean": _RESPONSIVE,
    "completion_time": _ENDING,
    "slowdown": _ENDING,
    "short_transfers": _ENDING,
    "request_time": _ROUNDS,
    "flow_goodput": _BULK,
}
#: The needs of metrics of the link.
_OF_LINK = {
    "goodput": _RESPONSIVE,
    "long_flows": _RESPONSIVE,
    "jain_index": _LONG,
    "synchronization": _LONG,
    "congestion_events": _LONG,
    "losses_per_event": _LONG,
}


@dataclass(frozen=True, slots=True)
class Measurable:
    """The metrics that an engine may report of a scenario.

    Attributes
    ----------
    scenario : Scenario
        The scenario whose traffic is examined.
    engine : str
        One that may leave some metrics out.
    """

    scenario: Scenario
    engine: str

    def check(self, goals: Iterable[Goal], places: Mapping[str, str]) -> None:
        """Refuse goals that cannot be measured, and shares of more than all.

        Parameters
        ----------
        goals : iterable of Goal
            The goals of the scenario.
        places : mapping
            File, line and key of each goal from a file, by its name; the others come from options or arguments.

        Raises
        ------
        InputError
            For the first such goal: where it was written, what was found, what is allowed.
        """
        for goal in goals:
            place = places.get(goal.name)
            _check_threshold(goal, place)
            self._check_metric(goal, place)

    def metrics(self, group: str | None = None) -> list[str]:
        """Metrics as goals name them, in report order.

        Whether an engine reports them may depend on what happens: no loss, no losses per event.

        Parameters
        ----------
        group : str, optional
            The flow group; the link by default.
        """
        kinds = self._kinds()
        traffic = set(kinds.values()) if group is None else {kinds[group]}
        scope = "link" if group is None else "group"
        reported = ENGINES[self.engine][group is not None] if self.engine in ENGINES else None
        found = []
        for metric in _core.metrics():
            if metric.scope not in {scope, "both"} or (reported is not None and metric.goal_name not in reported):
                continue
            if self._lacks(metric.goal_name) is not None:
                continue
            need = _need(metric.goal_name, of_group=group is not None)
            if need is None or need.met_by(traffic):
                found.append(metric.goal_name)
        return found

    def _check_metric(self, goal: Goal, place: str | None) -> None:
        group, dot, name = goal.name.rpartition(".")
        kinds = self._kinds()
        metric = find(name)
        allowed = self.metrics(group if dot else None)
        if metric is None or metric.goal_name in allowed:
            return
        whose = f"group `{group}`" if dot else "the link"
        why = self._why(metric, kinds[group] if dot else None)
        text = f"found `{goal.name}`, which is not measured{why}; allowed for {whose}: {', '.join(allowed)}"
        raise _mistake(place, text)

    def _why(self, metric: Metric, kind: str | None) -> str:
        """The reason why a metric cannot be measured for a group with this workload, or for the link."""
        if kind is None and metric.scope == "group":
            return f": it is of a flow group, as in GROUP.{metric.goal_name}"
        if kind is not None and metric.scope == "link":
            return ": it is of the link; write it without the group"
        lacks = self._lacks(metric.goal_name)
        if lacks is not None and (self.engine not in ENGINES or metric.goal_name in ENGINES[self.engine][0]):
            return f": {lacks}"
        need = _need(metric.goal_name, of_group=kind is not None)
        if need is not None and (kind is None or kind not in need.kinds):
            here = "there are none" if kind is None else f"the group's workload is {kind}"
            return f": it needs {need.requirement}, and {here}"
        return f": the {self.engine} engine does not report it"

    def _lacks(self, goal_name: str) -> str | None:
        """The part that a metric needs and the target link lacks, in words."""
        core = self.scenario.core
        if goal_name in PHASES:
            return None if core.has_phases else "the link's rate does not change from one to another"
        if goal_name == "drain_time_max":
            return None if core.rate_falls else "the link's rate does not fall in the measured time"
        key = OF_KEYS.get(goal_name) or PAUSED.get(goal_name)
        if key is None:
            return None
        links: list[Mapping[str, Any]] = json.loads(core.canonical_json())["links"]
        if goal_name in PAUSED:
            return None if any(_has(link, key) for link in links) else f"no link has `{key}`"
        return None if any(link.get("target") and _has(link, key) for link in links) else f"the link has no `{key}`"

    def _kinds(self) -> dict[str, str]:
        """The kind of each group's workload."""
        groups: list[Mapping[str, Any]] = json.loads(self.scenario.core.canonical_json())["flows"]
        found = {}
        for group in groups:
            workload = group["workload"]
            found[str(group["name"])] = workload if isinstance(workload, str) else str(next(iter(workload)))
        return found


def _check_threshold(goal: Goal, place: str | None) -> None:
    metric = find(goal.name)
    if metric is None or goal.threshold <= 1:
        return
    if metric.unit == "share":
        which, likely, allowed = (
            f", which is {100 * goal.threshold:g} %",
            f"{goal.threshold:g}%",
            "0 to 1, or 0% to 100%",
        )
    elif metric.goal_name in AT_MOST_ONE:
        which, likely, allowed = "", f"{goal.threshold / 100:g}", "0 to 1"
    else:
        return
    suggestion = f"did you mean `{goal.sense} {likely}`? " if goal.threshold <= 100 else ""
    raise _mistake(place, f"found `{goal.name} {goal.sense} {goal.threshold:g}`{which}; {suggestion}allowed: {allowed}")


def _mistake(place: str | None, text: str) -> InputError:
    """A mistake at a place of a file, or in what was asked for."""
    return InputError(text, "goals") if place is None else InputError(f"{place}: {text}")


def _has(link: Mapping[str, Any], key: str) -> bool:
    """Whether a link or a class of it has a key."""
    queue = link.get("queue")
    classes = queue.get("classes", ()) if isinstance(queue, Mapping) else ()
    return key in link or any(key in each for each in classes)


def _need(goal_name: str, *, of_group: bool) -> Need | None:
    if not of_group:
        return _OF_LINK.get(goal_name)
    return next((need for begin, need in _OF_GROUPS.items() if goal_name.startswith(begin)), None)
