"""An answer to a scenario that says what it assumes: the answer lists it and states no confidence."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from forebay.warning import Kind, Warning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forebay.search.answer import Recommendation

__all__ = ["with_assumptions"]


def with_assumptions(answer: Recommendation, assumed: Sequence[str]) -> Recommendation:
    """The same answer; where its scenario rests on assumptions, with a warning of each and without a confidence.

    Runs say how sure an answer is of the scenario. How well the scenario describes the link they do not say.
    """
    if not assumed:
        return answer
    said = tuple(Warning(Kind.ASSUMED_ENTRY, f"the scenario assumes that {each}") for each in assumed)
    return dataclasses.replace(
        answer,
        confidence=None,
        feasible_from=None,
        goals={key: dataclasses.replace(goal, confidence=None) for key, goal in answer.goals.items()},
        warnings=(*said, *answer.warnings),
    )
