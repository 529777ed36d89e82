"""The order of several answers: which is the best, which cannot be told from it, and which no other dominates.

Answers that meet more goals come first. Among those the margin on delay and loss decides, or the metric that was asked
to be lowest or highest; of a range the value itself.

An undecided answer counts as one that meets every goal if the interval of each goal at its nearest buffer, at the
confidence that was asked for, is clear of the threshold. The same holds if its means meet every goal and dominate an
answer. Such an answer comes before a confirmed one only if their intervals do not overlap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from forebay.results.report import Estimate
from forebay.results.statistics import normal_quantile
from forebay.search.answer import Recommendation
from forebay.search.answer_parts import CurvePoint, JudgedGoal
from forebay.search.choice import Alternative, of_all
from forebay.search.named_buffer import NamedBuffer
from forebay.search.range_variable import RangeVariable
from forebay.search.value import Quantity

__all__ = ["compared"]

#: Confidence of the intervals of metrics.
INTERVALS = 0.95
#: Metrics of every choice, and whether more of them is better.
_ALWAYS = {"utilization": True, "loss_rate": False, "queue_delay_p99_s": False, "goodput_bps": True}


@dataclass(frozen=True, slots=True)
class _Score:
    """The number by which answers of equally many met goals are ordered, lower first, and half of its interval."""

    value: float
    half: float


def compared(
    choices: Sequence[Mapping[str, str]], answers: Sequence[Recommendation], confidence: float
) -> tuple[int, tuple[Alternative, ...]]:
    """The index of the best answer, and all answers, the best first; without any, the nearest miss is best.

    Parameters
    ----------
    choices : sequence of mapping
        The chosen values of each case, by key.
    answers : sequence of Recommendation
        The answer of each.

    Returns
    -------
    tuple of (int, tuple of Alternative)
        The number of the best one, and all in their order.
    """
    directed = [_directed(answer) for answer in answers]
    failing = [_failing(answer) for answer in answers]
    for index in _doubtful(answers, directed, confidence):
        failing[index] += 0.5
    scores = [_score(answer) for answer in answers]
    order = sorted(range(len(answers)), key=lambda index: (failing[index], scores[index].value))

    def is_clearly_worse(index: int, other: int) -> bool:
        """Whether one answer is worse than another one by more than the intervals of both."""
        if int(failing[index]) != int(failing[other]):
            return failing[index] > failing[other]
        return scores[index].value - scores[other].value > scores[index].half + scores[other].half

    # A confirmed answer is the best of those that cannot be told apart.
    equals = [index for index in order if failing[index] == failing[order[0]] and not is_clearly_worse(index, order[0])]
    best = next((index for index in equals if answers[index].feasible), order[0])
    order.remove(best)
    order.insert(0, best)
    front = _front(directed)
    found = []
    for index in order:
        answer = answers[index]
        point = _point(answer)
        found.append(
            Alternative(
                choices[index],
                answer.buffer,
                of_all(answer.confidence, len(answers), confidence) if answer.feasible else None,
                answer.binding_goal,
                {} if point is None else _metrics(answer, point),
                index != best and is_clearly_worse(index, best),
                answer.cost.replications,
                goals_met=sum(goal.met for goal in answer.goals.values()),
                goals_total=len(answer.goals),
                on_front=index in front,
                nearest=None if answer.feasible or answer.conflict is None else answer.conflict.compromise,
                configured=_configured(answer),
            )
        )
    return best, tuple(found)


def _configured(answer: Recommendation) -> NamedBuffer | None:
    """The configured buffer, with the metrics of the goals on groups."""
    own = answer.configured
    at = None if own is None else answer.at(own.buffer)
    return own if own is None or at is None else replace(own, measured=_metrics(answer, at))


def _failing(answer: Recommendation) -> float:
    """The number of goals that are not met, at the nearest miss if there is no answer."""
    if answer.feasible:
        return 0.0
    missed = sum(not goal.met for goal in answer.goals.values())
    # Where it is proven that no buffer meets every goal, the means of one buffer prove nothing else.
    return float(missed if answer.verdict == "undecided" and answer.goals else max(missed, 1))


def _doubtful(
    answers: Sequence[Recommendation], directed: Sequence[Mapping[str, float]], confidence: float
) -> Iterator[int]:
    """The numbers of undecided answers whose means meet every goal, but not clearly."""
    sure = [number for number, answer in enumerate(answers) if answer.feasible]
    for number, answer in enumerate(answers):
        if answer.feasible or _failing(answer):
            continue
        clear = all(_is_clear(goal, confidence) for goal in answer.goals.values())
        if not clear and not any(_dominates(directed[number], directed[other]) for other in sure):
            yield number


def _is_clear(goal: JudgedGoal, confidence: float) -> bool:
    """Whether a goal holds at the lower end of a one-sided interval at the requested confidence."""
    if goal.measured.half_width is None:
        return False
    part = normal_quantile(confidence) / normal_quantile((1 + INTERVALS) / 2)
    return goal.margin >= part * goal.measured.half_width


def _score(answer: Recommendation) -> _Score:
    """The number that orders answers which meet equally many goals."""
    if answer.optimum is not None:
        measured = answer.optimum.measured
        return _Score(measured.mean * (1 if answer.optimum.sense == "minimize" else -1), measured.half_width or 0.0)
    place = _place(answer)
    if place is None or _failing(answer):
        return max((_missed(goal) for goal in answer.goals.values()), key=lambda each: each.value, default=_NOTHING)
    if isinstance(answer.variable, RangeVariable):
        ends = answer.feasible_from
        nearest = place.place if ends is None else min(ends.low.place, ends.high.place)
        return _Score(place.place, max(0.0, place.place - nearest))
    margins = [_missed(goal) for goal in answer.goals.values() if _is_delay_or_loss(goal.goal.name)]
    if margins:
        # The goal with the least margin is the one that a reader would worry about.
        return max(margins, key=lambda each: each.value)
    at = _point(answer)
    delay = None if at is None else at.metrics.get("queue_delay_p99_s")
    if delay is None:
        return _Score(place.place, 0.0)
    return _Score(delay.mean, delay.half_width or 0.0)


#: The score of an answer without goals and without a metric.
_NOTHING = _Score(math.inf, 0.0)


def _missed(goal: JudgedGoal) -> _Score:
    """The distance of a goal on the wrong side of its threshold, as a share of it; negative if it is met."""
    scale = abs(goal.goal.threshold) or 1.0
    return _Score(-goal.margin / scale, (goal.measured.half_width or 0.0) / scale)


def _is_delay_or_loss(name: str) -> bool:
    metric = name.rpartition(".")[2]
    return "delay" in metric or metric == "loss_rate"


def _place(answer: Recommendation) -> Quantity | None:
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
    return {
        number
        for number, mine in enumerate(measured)
        if mine and not any(_dominates(other, mine) for other in measured)
    }


def _dominates(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Whether one answer is as good as another in every metric, and better in one."""
    shared = one.keys() & other.keys()
    return all(one[key] >= other[key] for key in shared) and any(one[key] > other[key] for key in shared)
