"""Answers that rest on unmeasured values: the answer lists these values and states no confidence.

The scenario's assumptions are such, and bounds that were taken for values. Runs say how sure an answer is of the
scenario. How well the scenario describes the link they do not say.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from forebay.results.warning import Kind, Warning
from forebay.search.named_buffer import AS_CONFIGURED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forebay.inputs.observed_bounds import Bound
    from forebay.search.answer import Recommendation

__all__ = [
    "is_unmeasured",
    "of_assumptions",
    "of_bounds",
    "resting_on",
    "without_configured",
]


def of_assumptions(assumed: Iterable[str]) -> tuple[Warning, ...]:
    """A warning of each assumption of a scenario."""
    return tuple(Warning(Kind.ASSUMED_ENTRY, f"the scenario assumes that {each}") for each in assumed)


def of_bounds(taken: Iterable[Bound]) -> tuple[Warning, ...]:
    """A warning of each bound that stands for a value."""
    return tuple(Warning(Kind.ASSUMED_BOUND, bound.sentence, subject=bound.key) for bound in taken)


def resting_on(answer: Recommendation, warnings: tuple[Warning, ...]) -> Recommendation:
    """The same answer with warnings of what was not measured, and without a confidence if there are any."""
    if not warnings:
        return answer
    return dataclasses.replace(
        answer,
        confidence=None,
        feasible_from=None,
        goals={key: dataclasses.replace(goal, confidence=None) for key, goal in answer.goals.items()},
        warnings=(*warnings, *answer.warnings),
    )


def is_unmeasured(warnings: Iterable[Warning]) -> bool:
    """Whether an answer with these warnings rests on what was not measured."""
    return any(each.kind in (Kind.ASSUMED_ENTRY, Kind.ASSUMED_BOUND) for each in warnings)


def without_configured(answer: Recommendation) -> Recommendation:
    """The same answer about a scenario that states no buffer: the size with which the search began is none of its."""
    return dataclasses.replace(answer, also=tuple(each for each in answer.also if each.name != AS_CONFIGURED))
