"""The order of several answers: which is the best, which cannot be told from it, and which no other dominates.

Answers that meet more goals come first. Among those the margin on delay and loss decides, or the metric that was asked
to be lowest or highest; of a range the value itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from forebay.report import Estimate
from forebay.search.answer import CurvePoint, JudgedGoal, Recommendation, Value
from forebay.search.choice import Alternative, of_all
from forebay.search.ranged import Ranged

__all__ = ["compared"]

#: Metrics of every choice, and whether more of them is better.
_ALWAYS = {"utilization": True, "loss_rate": False, "queue_delay_p99_s": False, "goodput_bps": True}


@dataclass(frozen=True, slots=True)
class _Score:
    """The number by which answers of equally many met goals are ordered, lower first, and half of its interval."""

    value: float
    half: float


def compared(
    choices: Sequence[Mapping[str, str]], answers: Sequence[Recommendation], asked: float
) -> tuple[int, tuple[Alternative, ...]]:
    """Which answer is the best, and all of them, the best first; without any the nearest miss is.

    Parameters
    ----------
    choices : sequence of mapping
        What was chosen in each case, by key.
    answers : sequence of Recommendation
        The answer of each.

    Returns
    -------
    tuple of (int, tuple of Alternative)
        The number of the best one, and all in their order.
    """
    scores = [_score(answer) for answer in answers]
    order = sorted(range(len(answers)), key=lambda index: (*_failing(answers[index]), scores[index].value))
    best = order[0]
    front = _front([_directed(answer) for answer in answers])
    found = []
    for index in order:
        answer = answers[index]
        point = _point(answer)
        found.append(
            Alternative(
                choices[index],
                answer.buffer,
                of_all(answer.confidence, len(answers), asked) if answer.feasible else None,
                answer.binding_goal,
                {} if point is None else _metrics(answer, point),
                index != best
                and (
                    _failing(answer) != _failing(answers[best])
                    or abs(scores[index].value - scores[best].value) > scores[index].half + scores[best].half
                ),
                answer.cost.replications,
                met=sum(goal.met for goal in answer.goals.values()),
                of=len(answer.goals),
                on_front=index in front,
                nearest=None if answer.feasible or answer.conflict is None else answer.conflict.compromise,
            )
        )
    return best, tuple(found)


def _failing(answer: Recommendation) -> tuple[bool, int]:
    """Whether there is no answer, and how many goals the nearest miss fails."""
    return not answer.feasible, 0 if answer.feasible else sum(not goal.met for goal in answer.goals.values())


def _score(answer: Recommendation) -> _Score:
    """The number that orders answers which meet equally many goals."""
    if answer.optimum is not None:
        measured = answer.optimum.measured
        return _Score(measured.mean * (1 if answer.optimum.sense == "minimize" else -1), measured.half_width or 0.0)
    if answer.buffer is None:
        return max((_missed(goal) for goal in answer.goals.values()), key=lambda each: each.value, default=_NOTHING)
    if isinstance(answer.knob, Ranged):
        ends = answer.feasible_from
        nearest = answer.buffer.place if ends is None else min(ends.low.place, ends.high.place)
        return _Score(answer.buffer.place, max(0.0, answer.buffer.place - nearest))
    margins = [_missed(goal) for goal in answer.goals.values() if _is_delay_or_loss(goal.goal.name)]
    if margins:
        # The goal with the least margin is the one that a reader would worry about.
        return max(margins, key=lambda each: each.value)
    at = _point(answer)
    delay = None if at is None else at.metrics.get("queue_delay_p99_s")
    if delay is None:
        return _Score(answer.buffer.place, 0.0)
    return _Score(delay.mean, delay.half_width or 0.0)


#: The score of an answer without goals and without a metric.
_NOTHING = _Score(math.inf, 0.0)


def _missed(goal: JudgedGoal) -> _Score:
    """How far a goal is on the wrong side of its threshold, as a share of that; negative where it is met."""
    scale = abs(goal.goal.threshold) or 1.0
    return _Score(-goal.slack / scale, (goal.measured.half_width or 0.0) / scale)


def _is_delay_or_loss(name: str) -> bool:
    metric = name.rpartition(".")[2]
    return "delay" in metric or metric == "loss_rate"


def _place(answer: Recommendation) -> Value | None:
    """The answer; without one the nearest miss."""
    return answer.buffer if answer.conflict is None or answer.buffer is not None else answer.conflict.compromise


def _point(answer: Recommendation) -> CurvePoint | None:
    place = _place(answer)
    return None if place is None else answer.at(place)


def _metrics(answer: Recommendation, point: CurvePoint) -> Mapping[str, Estimate]:
    """The metrics of the link, then those of groups that goals are about."""
    return {**point.metrics, **dict(_of_groups(answer, point))}


def _of_groups(answer: Recommendation, point: CurvePoint) -> Iterator[tuple[str, Estimate]]:
    for goal in answer.goals.values():
        key = point.key(goal.goal.name)
        found = None if key is None else point.estimate(key)
        if key is not None and found is not None and "." in key:
            yield key, found


def _directed(answer: Recommendation) -> Mapping[str, float]:
    """The metrics that count for dominance, each so that more is better; nothing where nothing was measured."""
    point = _point(answer)
    if point is None:
        return {}
    senses = {point.key(goal.goal.name): goal.goal.sense == ">=" for goal in answer.goals.values()}
    found = {}
    for key, more in {**{key: sense for key, sense in senses.items() if key is not None}, **_ALWAYS}.items():
        measured = point.estimate(key)
        if measured is not None:
            found[key] = measured.mean if more else -measured.mean
    return found


def _front(measured: Sequence[Mapping[str, float]]) -> set[int]:
    """The numbers of those that no other dominates: is as good in every metric, and better in one."""

    def dominates(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
        shared = one.keys() & other.keys()
        return all(one[key] >= other[key] for key in shared) and any(one[key] > other[key] for key in shared)

    return {
        number
        for number, mine in enumerate(measured)
        if mine and not any(other and dominates(other, mine) for other in measured)
    }
