"""Which of several answers is the best, and which of the others cannot be told from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from forebay.search.answer import Recommendation
from forebay.search.choice import Alternative, of_all
from forebay.search.setting import Value

__all__ = ["compared"]


def compared(
    choices: Sequence[Mapping[str, str]], answers: Sequence[Recommendation]
) -> tuple[int, tuple[Alternative, ...]]:
    """Which answer is the best, and all of them, the best first; without any the nearest miss is."""
    order = sorted(range(len(answers)), key=lambda index: _rank_of(answers[index]))
    best = answers[order[0]].buffer
    found = []
    for index in order:
        answer = answers[index]
        at = None if answer.buffer is None else answer.at(answer.buffer)
        found.append(
            Alternative(
                choices[index],
                answer.buffer,
                of_all(answer.confidence, len(answers)) if answer.feasible else None,
                answer.binding_goal,
                {} if at is None else at.metrics,
                index != order[0] and (best is None or _beyond(answer, best)),
                answer.cost.replications,
            )
        )
    return order[0], tuple(found)


def _rank_of(answer: Recommendation) -> tuple[bool, float]:
    """The answers first, by their places; then the others, by how far the worst goal is missed."""
    if answer.buffer is not None:
        return False, answer.buffer.place
    misses = (-goal.slack / (abs(goal.goal.threshold) or 1.0) for goal in answer.goals.values())
    return True, max(misses, default=math.inf)


def _beyond(answer: Recommendation, best: Value) -> bool:
    """Whether what meets the goals lies beyond the best answer."""
    if answer.buffer is None:
        return True
    ends = answer.feasible_from
    nearest = answer.buffer.place if ends is None else min(ends.low.place, ends.high.place)
    return nearest > best.place
