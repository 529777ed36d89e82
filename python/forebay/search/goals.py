"""The requested goals of a scenario: they are read, checked, and added to its own.

`question` and the other verbs begin with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from forebay import _core
from forebay.errors import InputError
from forebay.inputs.goals import Goal, check_bounds, metric_of_goal, split_goal
from forebay.results.metric import find
from forebay.scenario import Scenario
from forebay.search.measurable import Measurable

__all__ = ["Goals", "with_goals"]


@dataclass(frozen=True, slots=True)
class Goals:
    """The goals of a call.

    Attributes
    ----------
    texts : tuple of str
        Such as "utilization>=0.99"; they replace the scenario's own on the same metrics and add to the others.
    needed : bool
        Whether there has to be a goal, here or in the scenario.
    """

    texts: tuple[str, ...] = ()
    needed: bool = True

    @classmethod
    def of(cls, texts: Iterable[str]) -> Goals:
        """The goals of a keyword."""
        return cls(tuple(texts))

    def added_to(self, scenario: Scenario, engine: str) -> Scenario:
        """Add the goals to a scenario, if the engine can measure all of them.

        Raises
        ------
        InputError
            Without goals, or with a goal on something that the engine does not report.
        ContradictionError
            With two goals on one metric that no value can meet both.
        """
        places = dict(zip((name for name, *_ in scenario.core.goals), scenario.core.goal_places, strict=True))
        names = {metric_of_goal(goal) for goal in self.texts}
        scenario = with_goals(scenario, self.texts)
        if self.needed and not scenario.goals:
            raise InputError("found none; allowed: at least one, here or in [goal], such as utilization>=0.99", "goals")
        of_file = {name: place for name, place in places.items() if name not in names}
        check_bounds(((goal, goal.key) for goal in scenario.goals), of_file)
        Measurable(scenario, engine).check(scenario.goals, of_file)
        return scenario


def with_goals(scenario: Scenario, goals: Iterable[str]) -> Scenario:
    """Add goals such as "utilization>=0.99" to a scenario, replacing its own on the same metrics.

    Several on one metric all count.

    Raises
    ------
    ContradictionError
        Where two of them cannot hold both.
    """
    requested = []
    for text in goals:
        change = _change(text)
        requested.append((_one(scenario.changed(change), metric_of_goal(text)), text, change))
    check_bounds((goal, text) for goal, text, _ in requested)
    # The core has one goal for each metric, of which the closed forms size: the one that asks for most.
    decisive: dict[str, tuple[Goal, _core.Change]] = {}
    for goal, _, change in requested:
        known = decisive.get(goal.name)
        if known is None or _rank(goal) > _rank(known[0]):
            decisive[goal.name] = goal, change
    if not decisive:
        return scenario
    changed = scenario.changed(*(change for _, change in decisive.values()))
    return changed.with_bounds([goal for goal, *_ in requested if goal != decisive[goal.name][0]])


def _change(goal: str) -> _core.Change:
    """A goal as a change of the scenario, whichever of its metric's names it has."""
    _, sense, threshold = split_goal(goal)
    return ("goals", f"goal.{metric_of_goal(goal)}", f"{sense} {threshold}")


def _one(scenario: Scenario, name: str) -> Goal:
    """The goal on one metric of a scenario that has one."""
    return next(goal for goal in scenario.goals if goal.name == name)


def _rank(goal: Goal) -> tuple[bool, float]:
    """The sort key of goals on one metric: the side that is better for it, then the strictness of the threshold."""
    metric = find(goal.name)
    better = metric is not None and (goal.sense == ">=") == metric.more_is_better
    return better, goal.threshold if goal.sense == ">=" else -goal.threshold
