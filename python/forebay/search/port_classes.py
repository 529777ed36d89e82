"""The classes of a port: their buffers, and which goals the buffer of each class decides.

`class_steps.py` sizes them one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from forebay.errors import InputError
from forebay.inputs.goals import Goal
from forebay.scenario import TARGET, Scenario

__all__ = ["PortClass", "PortClasses", "needs_larger_buffer", "port_classes"]

#: Metrics that a smaller buffer brings nearer to a goal.
OF_SMALL_BUFFERS = "queue"


@dataclass(frozen=True, slots=True)
class PortClass:
    """One buffer to size: its name, its key, and the groups that wait in it."""

    name: str
    key: str
    groups: tuple[str, ...]


def port_classes(scenario: Scenario) -> PortClasses:
    """The buffers of the target link's classes, in the order in which classes are served.

    Raises
    ------
    InputError
        If the target link has no classes.
    """
    link = next(link for link in scenario.resolved["links"] if link["target"])
    queue = link.get("queue")
    if not isinstance(queue, Mapping) or queue.get("kind") != "classes":
        kind = queue.get("kind") if isinstance(queue, Mapping) else queue
        text = f'found the queue `{kind}`; allowed: a target link with `queue = {{ kind = "classes", ... }}`'
        raise InputError(text, "classes")
    parts = list(queue["classes"])
    named = {group for part in parts for group in part.get("groups", ())}
    others = [name for name, *_ in scenario.core.groups if name not in named]
    groups = [[*part.get("groups", ()), *(others if part is parts[-1] else ())] for part in parts]
    own = [
        PortClass(part["name"], f"{TARGET.removesuffix('.buffer')}.queue.classes.{part['name']}.buffer", tuple(found))
        for part, found in zip(parts, groups, strict=True)
        if "buffer" in part
    ]
    shared = [(part["name"], found) for part, found in zip(parts, groups, strict=True) if "buffer" not in part]
    if shared:
        name = " + ".join(name for name, _ in shared)
        own.append(PortClass(name, TARGET, tuple(group for _, found in shared for group in found)))
    first = {part["name"] for part in parts if part.get("priority")}
    return PortClasses(scenario, tuple(sorted(own, key=lambda each: each.name not in first)))


@dataclass(frozen=True, slots=True)
class PortClasses:
    """The classes of the target link of a scenario.

    Attributes
    ----------
    scenario : Scenario
        With the goals that are asked of it.
    every : tuple of PortClass
        The classes in the order in which they are served.
    """

    scenario: Scenario
    every: tuple[PortClass, ...]

    @property
    def configured(self) -> dict[str, int]:
        """Packets of each configured buffer by its key, at least one."""
        sizes = {each.key: self.scenario.core.buffer_of(each.key)["packets"] for each in self.every}
        return {key: max(1, round(packets)) for key, packets in sizes.items()}

    def own(self, of: PortClass) -> list[Goal]:
        """The goals on groups that wait in a buffer."""
        return [goal for goal in self.scenario.goals if goal.name.rpartition(".")[0] in of.groups]

    @property
    def of_link(self) -> list[Goal]:
        """The goals on no group of a class."""
        named = {goal.key for each in self.every for goal in self.own(each)}
        return [goal for goal in self.scenario.goals if goal.key not in named]

    @property
    def filling(self) -> PortClass:
        """The class that decides the goals on the link.

        It has persistent flows, because these fill any room of the link. If several classes have them, it is one for
        which no other goal needs a large buffer, then the one with the largest configured buffer.
        """
        persistent = {group["name"] for group in self.scenario.resolved["flows"] if group["workload"] == "persistent"}

        def rank(of: PortClass) -> tuple[bool, bool, float]:
            free = not any(needs_larger_buffer(goal) for goal in self.own(of))
            return not persistent.isdisjoint(of.groups), free, self.scenario.core.buffer_of(of.key)["bytes"]

        return max(self.every, key=rank)

    def decided_by(self, of: PortClass) -> list[Goal]:
        """The goals that a class decides."""
        return [*self.own(of), *(self.of_link if of == self.filling else ())]

    def deciding(self, goal: Goal) -> PortClass:
        """The class that decides a goal."""
        return next(each for each in self.every if goal in self.decided_by(each))


def needs_larger_buffer(goal: Goal) -> bool:
    """Whether a larger buffer brings a goal nearer: any goal but an upper limit on the queue."""
    return goal.sense != "<=" or not goal.name.rpartition(".")[2].startswith(OF_SMALL_BUFFERS)
