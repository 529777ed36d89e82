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
    """A class: its name, the key of its buffer, its groups, and whether it is served before classes that take turns."""

    name: str
    key: str
    groups: tuple[str, ...]
    priority: bool = False


def port_classes(scenario: Scenario) -> PortClasses:
    """The classes of the target link, in the order in which they are served.

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
    every = [
        PortClass(
            part["name"],
            f"{TARGET.removesuffix('.buffer')}.queue.classes.{part['name']}.buffer" if "buffer" in part else TARGET,
            (*part.get("groups", ()), *(others if part is parts[-1] else ())),
            bool(part.get("priority")),
        )
        for part in parts
    ]
    return PortClasses(scenario, tuple(sorted(every, key=lambda each: not each.priority)))


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
    def by_buffer(self) -> PortClasses:
        """The same with the classes that share the link's buffer as one, which comes last."""
        found = [each for each in self.every if each.key != TARGET]
        shared = [each for each in self.every if each.key == TARGET]
        if len(shared) > 1:
            name = " + ".join(each.name for each in shared)
            shared = [PortClass(name, TARGET, tuple(group for each in shared for group in each.groups))]
        return PortClasses(self.scenario, tuple(sorted([*found, *shared], key=lambda each: not each.priority)))

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
