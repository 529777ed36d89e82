"""Verdicts on the measured buffers: which of them meet all goals, miss one, or leave that undecided.

Pictures and pages draw it along the axis of the buffer, beside the answer and the interval of the true minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from forebay import _core
from forebay.text import formatting
from forebay.views import wording

if TYPE_CHECKING:
    from forebay.inputs.goals import Goal
    from forebay.search.answer import Recommendation
    from forebay.search.answer_parts import CurvePoint
    from forebay.search.value import Quantity

__all__ = ["ENOUGH", "Measured", "Span", "State", "is_exact", "likely", "may_meet", "measured"]

State = Literal["met", "missed", "undecided"]

#: Number of runs from which on the interval decides in place of the single runs.
ENOUGH = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """One measured buffer: whether it meets all goals, whether it has few runs, and the text shown on hovering."""

    buffer: float
    state: State
    few: bool
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of buffers: its ends, its name, and its ends in words."""

    low: float
    high: float
    name: str
    text: str


def is_exact(engine: str) -> bool:
    """Whether an engine gives one exact answer instead of runs that differ."""
    return not any(known.replicates for known in _core.engines() if known.name == engine)


def measured(answer: Recommendation) -> list[Measured]:
    """Every measured buffer, judged by the 95 % intervals of its metrics, or by its runs if they are few.

    The list is empty if the answer has no goals.
    """
    goals = [judged.goal for judged in answer.goals.values()]
    if not goals:
        return []
    exact = is_exact(answer.engine)
    found = []
    for point in answer.points:
        few = point.replications < ENOUGH and not exact
        runs = "" if exact else f"\n{formatting.counted(point.replications, 'run')}"
        lines = [f"\n{_goal_line(point, goal)}" for goal in goals]
        tip = f"{wording.sizes(point.buffer)}{''.join(lines)}{runs}"
        found.append(Measured(point.buffer.number, _state(answer, point, goals, few=few), few, tip))
    return found


def _state(answer: Recommendation, point: CurvePoint, goals: list[Goal], *, few: bool) -> State:
    """Whether one measured buffer meets all goals; the search's own verdict overrides the interval."""
    if answer.verdict == "met" and answer.buffer is not None and answer.buffer.number == point.buffer.number:
        return "met"
    if answer.buffer is None and answer.verdict != "undecided":
        return "missed"
    if answer.fraction is not None:
        return _share_state(point, goals, answer.fraction.required)
    if point.goals:
        verdicts = {found.verdict for found in point.goals.values()}
        return "missed" if "missed" in verdicts else "undecided" if "undecided" in verdicts else "met"
    states = {_goal_state(point, goal, few=few) for goal in goals}
    return "missed" if "missed" in states else "undecided" if "undecided" in states else "met"


def _goal_state(point: CurvePoint, goal: Goal, *, few: bool) -> State:
    """The side of the threshold on which the interval of the mean lies, or on which all of few runs lie."""
    key = point.key(goal.name)
    estimate = None if key is None else point.estimate(key)
    if key is None or estimate is None:
        return "undecided"
    if few:
        met = {goal.margin(value) >= 0 for value in (point.values(key) or [estimate.mean])}
        return "undecided" if len(met) > 1 else "met" if met == {True} else "missed"
    margin, half = goal.margin(estimate.mean), estimate.half_width or 0.0
    return "met" if margin >= half else "missed" if margin < -half else "undecided"


def _share_state(point: CurvePoint, goals: list[Goal], required: float) -> State:
    """Whether all goals hold at once in the requested share of the draws."""
    columns = [(goal, point.values(key)) for goal in goals if (key := point.key(goal.name)) is not None]
    if len(columns) < len(goals) or not all(values for _, values in columns):
        return "undecided"
    draws = zip(*([goal.margin(value) >= 0 for value in values] for goal, values in columns), strict=True)
    held = [all(draw) for draw in draws]
    return "met" if sum(held) >= required * len(held) else "missed"


def _goal_line(point: CurvePoint, goal: Goal) -> str:
    """One goal at one buffer in words."""
    key = point.key(goal.name)
    estimate = None if key is None else point.estimate(key)
    required = f"{wording.sign(goal.sense)} {wording.threshold(goal.name, goal.threshold)}"
    found = "not measured" if key is None or estimate is None else formatting.estimate(key, estimate)
    return f"{wording.metric_title(goal.name)} {found} (goal {required})"


def likely(answer: Recommendation) -> Span | None:
    """The interval of the true minimum, maximum or optimum; None if none is known."""
    if answer.buffer is None:
        return None
    if answer.optimum is not None:
        return _span(answer.optimum.low, answer.optimum.high, _interval(answer.optimum.confidence))
    if answer.feasible_from is not None:
        return _span(answer.feasible_from.low, answer.feasible_from.high, _interval(answer.feasible_from.confidence))
    return None


def _interval(confidence: float) -> str:
    return f"{100 * confidence:g} % interval"


def may_meet(answer: Recommendation) -> Span | None:
    """The range in which a buffer may meet all goals, if the search could not decide."""
    if answer.verdict != "undecided" or answer.between is None:
        return None
    return _span(*answer.between, "undecided")


def _span(low: Quantity, high: Quantity, name: str) -> Span:
    if low.number > high.number:
        low, high = high, low
    return Span(low.number, high.number, name, wording.interval_words(low, high))
