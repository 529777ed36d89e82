"""Programs in place of a group's flows: the scenario that an emulation runs, and its report without what nobody sees.

The packets of programs are shared out by connection over the flows of one group, which themselves never send: they are
what a queue that is fair to flows tells apart, and have the group's path and round trips.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.report import Report
from forebay.scenario import Scenario
from forebay.warning import Kind

__all__ = ["ALL", "MOST_SECONDS", "StandIn", "of_link", "stand_in"]

#: Every group beside the one that programs stand in for.
ALL = "all"
#: Flows that connections are shared out over: of 30 connections at once 2 share a flow, more often than not.
SLOTS = 256
#: The longest emulation, and a time behind it.
MOST_SECONDS, NEVER = 30 * 86_400, "40d"
#: The name of the flows of programs where the group itself runs, too.
PROGRAMS = "programs"

#: What is a group's own whoever sends: its path, its round trips, and what a namespace has one setting for.
_KEPT = ("rtt", "packet", "path", "reverse", "access", "ecn", "slow_start_after_idle")
#: What links see of flows without asking their senders: metrics of a group begin so.
_SEEN = ("loss_rate", "mark_rate", "queue_delay_", "policer_loss_rate", "medium_loss_rate")
#: What only senders know.
_OF_SENDERS = ("goodput_bps", "congestion_events", "long_flows", "jain_index", "synchronization")


@dataclass(frozen=True, slots=True)
class StandIn:
    """A scenario with flows that stand for the connections of programs.

    Attributes
    ----------
    scenario : Scenario
        What runs: the links, the groups that run beside, and the flows that never send by themselves.
    group : str
        The group that programs stand in for.
    slots : str
        The name of the flows that stand for connections.
    number : int
        Which of the groups that run they are, from 0.
    path, reverse : tuple of str
        The links from sender to receiver, and those of the way back: none where that is a delay only.
    beside, idle : tuple of str
        Groups of the file that run beside, and those that do not.
    """

    scenario: Scenario
    group: str
    slots: str
    number: int
    path: tuple[str, ...]
    reverse: tuple[str, ...]
    beside: tuple[str, ...]
    idle: tuple[str, ...]


def stand_in(scenario: Scenario, group: str | None = None, beside: Collection[str] = ()) -> StandIn:
    """Put flows for the connections of programs in the place of a group.

    Parameters
    ----------
    scenario : Scenario
    group : str, optional
        A group whose flows answer to the network; without one the first whose path crosses the target link.
    beside : collection of str
        Groups that run beside as they stand in the file, or "all" for every other one; `group` itself may be named.

    Raises
    ------
    InputError
        Where there is no such group.
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
    # Of a controller that every kernel has, and that nobody uses.
    placed |= {"name": slots, "count": SLOTS, "cca": "newreno", "start": NEVER}
    tables["flows"] = [*(each for each in flows if each["name"] in running), placed]
    _aim(tables, placed)
    for link in tables["links"]:
        _in_classes(link["queue"], group, slots, running)
    tables["run"] |= {"warmup": "0s", "measure": f"{MOST_SECONDS}s", "replications": 1}
    if not running:
        # Nobody knows the windows of programs.
        tables["trace"]["record"] = [each for each in tables["trace"]["record"] if each != "cwnd"]
    # Goals may be of groups that do not run.
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
    """The group that programs stand in for."""
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
    """Let reports speak of a link that programs cross, where nobody else crosses the target."""
    crossed = {str(name) for each in tables["flows"] for name in _listed(each, "path")}
    links: list[dict[str, Any]] = tables["links"]
    if len(links) > 1 and not any(link["target"] and link["name"] in crossed for link in links):
        for link in links:
            link["target"] = link["name"] == placed["path"][0]


def _free(name: str, names: Collection[str]) -> str:
    """The name, or one like it that nobody has."""
    number, free = 1, name
    while free in names:
        number += 1
        free = f"{name}{number}"
    return free


def _repeated(law: Any) -> Any:
    """A law with as many values as there are flows, where it lists one for each."""
    return [law[number % len(law)] for number in range(SLOTS)] if isinstance(law, list) and law else law


def _in_classes(queue: dict[str, Any], group: str, slots: str, running: Collection[str]) -> None:
    """Let the classes of a link have the groups that are there; one without any takes no turn and is left out."""
    classes: list[dict[str, Any]] = queue.get("classes", [])
    for each in classes:
        named = [slots if name == group else name for name in each.get("groups", ())]
        again = [group] if group in running and slots in named else []
        groups = [name for name in [*named, *again] if name == slots or name in running]
        each.pop("groups", None)
        if groups:
            each["groups"] = groups
    if classes:
        queue["classes"] = [each for each in classes if "groups" in each or each is classes[-1]]


def of_link(report: Report, placed: StandIn) -> Report:
    """The report of an emulation without what only senders know: those of programs tell nobody."""
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
    """What links have seen of a group."""
    metrics = {name: found for name, found in group["metrics"].items() if name.startswith(_SEEN)}
    return {"name": group["name"], "flows": group["flows"], "metrics": metrics}
