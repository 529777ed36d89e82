"""Which of several answers is the best, and which of the others cannot be told from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from forebay.search.answer import Recommendation
from forebay.search.choice import Alternative, of_all

__all__ = ["compared"]


def compared(
    choices: Sequence[Mapping[str, str]], answers: Sequence[Recommendation], asked: float
) -> tuple[int, tuple[Alternative, ...]]:
    """Which answer is the best, and all of them, the best first; without any the nearest miss is."""
    order = sorted(range(len(answers)), key=lambda index: _rank_of(answers[index]))
    found = []
    for index in order:
        answer = answers[index]
        at = None if answer.buffer is None else answer.at(answer.buffer)
        found.append(
            Alternative(
                choices[index],
                answer.buffer,
                of_all(answer.confidence, len(answers), asked) if answer.feasible else None,
                answer.binding_goal,
                {} if at is None else at.metrics,
                index != order[0] and _apart(answer, answers[order[0]]),
                answer.cost.replications,
            )
        )
    return order[0], tuple(found)


def _rank_of(answer: Recommendation) -> tuple[bool, float]:
    """The answers first, the best before the others; then the others, by how far the worst goal is missed."""
    if answer.optimum is not None:
        return False, answer.optimum.measured.mean * (1 if answer.optimum.sense == "minimize" else -1)
    if answer.buffer is not None:
        return False, answer.buffer.place
    misses = (-goal.slack / (abs(goal.goal.threshold) or 1.0) for goal in answer.goals.values())
    return True, max(misses, default=math.inf)


def _apart(answer: Recommendation, best: Recommendation) -> bool:
    """Whether all that may meet the goals lies beyond the best answer, or a metric's interval does."""
    if answer.buffer is None or best.buffer is None:
        return True
    if answer.optimum is not None and best.optimum is not None:
        one, other = answer.optimum.measured, best.optimum.measured
        return abs(one.mean - other.mean) > math.hypot(one.half_width or 0.0, other.half_width or 0.0)
    ends = answer.feasible_from
    nearest = answer.buffer.place if ends is None else min(ends.low.place, ends.high.place)
    return nearest > best.buffer.place
