"""Programs in place of a group's flows: the scenario that an emulation runs, and its report without unknown metrics.

The packets of programs are distributed by connection over the flows of one group, which never send by themselves. A
queue that is fair to flows separates packets by these flows. They have the group's path and round trips.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.results.report import Report
from forebay.results.warning import Kind
from forebay.scenario import Scenario

__all__ = ["ALL", "MOST_SECONDS", "StandIn", "of_link", "stand_in"]

#: Name for every group beside the one that programs replace.
ALL = "all"
#: Number of flows over which connections are distributed; among 30 connections, two probably share a flow.
SLOTS = 256
#: Longest emulation, in seconds, and a start time after its end.
MOST_SECONDS, NEVER = 30 * 86_400, "40d"
#: Name of the flows of programs if the group itself runs, too.
PROGRAMS = "programs"

#: Keys of a group that hold for any sender: its path, its round trips, and the settings that a namespace has once.
_KEPT = ("rtt", "packet", "path", "reverse", "access", "ecn", "slow_start_after_idle")
#: Prefixes of a group's metrics that links measure without its senders.
_SEEN = ("loss_rate", "mark_rate", "queue_delay_", "policer_loss_rate", "medium_loss_rate")
#: Metrics that only senders know.
_OF_SENDERS = ("goodput_bps", "congestion_events", "long_flows", "jain_index", "synchronization")


@dataclass(frozen=True, slots=True)
class StandIn:
    """A scenario in which some flows represent the connections of programs.

    Attributes
    ----------
    scenario : Scenario
        Running scenario: the links, the groups that run beside, and the flows that never send by themselves.
    group : str
        The group that the programs replace.
    slots : str
        The name of the flows that represent connections.
    number : int
        Index of these flows among the running groups, from 0.
    path, reverse : tuple of str
        Links from sender to receiver, and those of the reverse path: none if it is only a delay.
    concurrent_groups, idle : tuple of str
        Groups of the file that run beside, and those that do not.
    """

    scenario: Scenario
    group: str
    slots: str
    number: int
    path: tuple[str, ...]
    reverse: tuple[str, ...]
    concurrent_groups: tuple[str, ...]
    idle: tuple[str, ...]


def stand_in(scenario: Scenario, group: str | None = None, beside: Collection[str] = ()) -> StandIn:
    """Put flows for the connections of programs in the place of a group.

    Parameters
    ----------
    scenario : Scenario
    group : str, optional
        A group whose flows answer to the network; without one the first whose path crosses the target link.
    beside : collection of str
        Groups that run beside as they are in the file, or "all" for every other one; `group` itself may be named.

    Raises
    ------
    InputError
        If there is no such group.
    """
    tables: dict[str, Any] = json.loads(scenario.core.canonical_json())
    flows: list[dict[str, Any]] = tables["flows"]
    names = [str(each["name"]) for each in flows]
    chosen = flows[names.index(_chosen(scenario, tables, group))]
    group = str(chosen["name"])
    running = _running(names, group, beside)
    slots = group if group not in running else _free(PROGRAMS, names)
    placed = {key: chosen[key] for key in _KEPT if key in chosen}
    placed["rtt"] = _repeated(placed["rtt"])
    # Every kernel has this congestion control, and these flows never use it.
    placed |= {"name": slots, "count": SLOTS, "cca": "newreno", "start": NEVER}
    tables["flows"] = [*(each for each in flows if each["name"] in running), placed]
    _aim(tables, placed)
    for link in tables["links"]:
        _in_classes(link["queue"], group, slots, running)
    tables["run"] |= {"warmup": "0s", "measure": f"{MOST_SECONDS}s", "replications": 1}
    if not running:
        # The windows of programs are not known.
        tables["trace"]["record"] = [each for each in tables["trace"]["record"] if each != "cwnd"]
    # Goals may name groups that do not run.
    tables.pop("goal", None)
    return StandIn(
        Scenario.of(tables),
        group,
        slots,
        len(running),
        tuple(_listed(chosen, "path")) or (str(tables["links"][0]["name"]),),
        tuple(_listed(chosen, "reverse")),
        running,
        tuple(name for name in names if name not in running and name != group),
    )


def _listed(table: Mapping[str, Any], key: str) -> Sequence[str]:
    found: Sequence[str] = table.get(key, ())
    return found


def _chosen(scenario: Scenario, tables: Mapping[str, Any], group: str | None) -> str:
    """The group that the programs replace."""
    answering = [name for name, _, _, responsive in scenario.core.groups if responsive]
    if group is not None:
        if group in answering:
            return group
        if any(name == group for name, *_ in scenario.core.groups):
            raise InputError(
                f"found `{group}`, which sends whatever is lost; allowed: {_one_of(answering)}",
                "group",
            )
        raise InputError(_core.unknown("group", group, answering), "group")
    links = tables["links"]
    target = next(str(link["name"]) for link in links if link["target"] or len(links) == 1)
    for flows in tables["flows"]:
        if flows["name"] in answering and target in (_listed(flows, "path") or (target,)):
            return str(flows["name"])
    raise InputError(
        f"found no group of flows that answer to losses across the link `{target}`; allowed: {_one_of(answering)}",
        "group",
    )


def _one_of(names: Sequence[str]) -> str:
    return ", ".join(names) or "a scenario with such a group"


def _running(names: Sequence[str], group: str, beside: Collection[str]) -> tuple[str, ...]:
    """The groups that run beside, in the file's order."""
    for name in beside:
        if name != ALL and name not in names:
            raise InputError(_core.unknown("group", name, [*names, ALL]), "beside")
    others = ALL in beside and ALL not in names
    return tuple(name for name in names if name in beside or (others and name != group))


def _aim(tables: dict[str, Any], placed: Mapping[str, Any]) -> None:
    """Make a link that programs cross the target, if no flow crosses the present target."""
    crossed = {str(name) for each in tables["flows"] for name in _listed(each, "path")}
    links: list[dict[str, Any]] = tables["links"]
    if len(links) > 1 and not any(link["target"] and link["name"] in crossed for link in links):
        for link in links:
            link["target"] = link["name"] == placed["path"][0]


def _free(name: str, names: Collection[str]) -> str:
    """The name, or a similar one that is free."""
    number, free = 1, name
    while free in names:
        number += 1
        free = f"{name}{number}"
    return free


def _repeated(law: Any) -> Any:
    """A distribution with as many values as there are flows, if it lists one for each."""
    return [law[number % len(law)] for number in range(SLOTS)] if isinstance(law, list) and law else law


def _in_classes(queue: dict[str, Any], group: str, slots: str, running: Collection[str]) -> None:
    """Put the running groups into the classes of a link; a class without groups is left out unless it is the last."""
    classes: list[dict[str, Any]] = queue.get("classes", [])
    for each in classes:
        named = [slots if name == group else name for name in each.get("groups", ())]
        target_group = [group] if group in running and slots in named else []
        groups = [name for name in [*named, *target_group] if name == slots or name in running]
        each.pop("groups", None)
        if groups:
            each["groups"] = groups
    if classes:
        queue["classes"] = [each for each in classes if "groups" in each or each is classes[-1]]


def of_link(report: Report, placed: StandIn) -> Report:
    """The report of an emulation without the metrics that only senders know; programs do not report them."""
    metrics = {name: found for name, found in report.metrics.items() if name not in _OF_SENDERS}
    groups = [_seen(group) if group["name"] == placed.slots else group for group in report.to_dict()["groups"]]
    unsaid = (Kind.FEW_CONGESTION_EVENTS, Kind.NOT_STARTED)
    warnings = [
        each
        for each in report.warnings
        if each.kind not in unsaid and not (each.kind is Kind.HOST_STACK and each.subject == placed.slots)
    ]
    return report.saying(metrics, groups, warnings)


def _seen(group: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a group that links measure."""
    metrics = {name: found for name, found in group["metrics"].items() if name.startswith(_SEEN)}
    return {"name": group["name"], "flows": group["flows"], "metrics": metrics}
