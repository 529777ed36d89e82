"""The goals that each value of a lossless port decides.

`port_steps` searches a value for these goals alone. A port that is lossless as a whole has one queue, so that xoff and
K decide all goals. With classes, `port_classes` says which class a goal belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forebay.inputs.goals import Goal
from forebay.search.measurable import OF_KEYS, PAUSED
from forebay.search.port_classes import PortClass, needs_larger_buffer
from forebay.search.port_values import PortValue, PortValues

__all__ = ["LOSS", "PortGoals", "lossless_goals"]

#: The metric on which a lossless queue has a goal by itself.
LOSS = "loss_rate"
#: Metrics of the link that lossless queues decide.
PAUSES = frozenset(name for name, key in {**OF_KEYS, **PAUSED}.items() if key == "pfc")


def lossless_goals(values: PortValues) -> tuple[str, ...]:
    """The goals that lossless queues have by themselves, unless the scenario has others on the same metrics."""
    stated = {goal.name for goal in values.scenario.goals}
    if values.classes is None:
        names = [LOSS]
    else:
        lossless = [each for each in values.classes.every if each.name in values.needs]
        names = [f"{group}.{LOSS}" for each in lossless for group in each.groups]
    return tuple(f"{name}<=0" for name in names if name not in stated)


@dataclass(frozen=True, slots=True)
class PortGoals:
    """The goals of a port, by the values that decide them.

    Attributes
    ----------
    values : PortValues
        The values, with the scenario and its goals.
    """

    values: PortValues

    @property
    def every(self) -> Sequence[Goal]:
        """All goals of the scenario."""
        return self.values.scenario.goals

    def of_loss(self, value: PortValue) -> Sequence[Goal]:
        """The goals on the loss of a lossless queue."""
        found = self.every if self.values.classes is None else self.values.classes.own(self._class(value))
        return [goal for goal in found if goal.name.rpartition(".")[2] == LOSS]

    def of(self, value: PortValue) -> Sequence[Goal]:
        """The goals that a value decides."""
        classes = self.values.classes
        if classes is None:
            # The pool and alpha change a run only by losses.
            strict = [goal for goal in self.every if goal.name == LOSS and goal.threshold == 0]
            return strict if strict and value.name in ("alpha", "pool") else self.every
        if not value.traffic_class:
            return self.every
        of = self._class(value)
        pauses = [goal for goal in classes.of_link if goal.name in PAUSES]
        others = [goal for goal in classes.of_link if goal.name not in PAUSES]
        return [
            *classes.own(of),
            *(pauses if self.values.is_lossless(value) else ()),
            *(others if of == classes.filling else ()),
        ]

    def larger_helps(self, goal: Goal) -> bool:
        """Whether larger values bring a goal nearer: not if a lossy class decides it, and it limits the queue."""
        return needs_larger_buffer(goal) or not self.lossy(goal)

    def lossy(self, goal: Goal) -> Sequence[PortValue]:
        """The limits of lossy classes that decide a goal."""
        if self.values.classes is None:
            return ()
        limits = self.values.named("buffer", "alpha")
        return [
            each
            for each in limits
            if each.traffic_class and not self.values.is_lossless(each) and goal in self.of(each)
        ]

    def _class(self, value: PortValue) -> PortClass:
        """The class of a value."""
        assert self.values.classes is not None, "a value of a class"
        return next(each for each in self.values.classes.every if each.name == value.traffic_class)
