"""An answer for which bounds stood for values that are not known: it says so, and states no confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from forebay.warning import Kind, Warning

if TYPE_CHECKING:
    from forebay.observed_bounds import Bound
    from forebay.search.answer import Recommendation

__all__ = ["without_confidence"]


def without_confidence(answer: Recommendation, taken: Sequence[Bound]) -> Recommendation:
    """The same answer; where bounds were taken for values, with a warning of each and without a confidence.

    Parameters
    ----------
    answer : Recommendation
    taken : sequence of Bound
        Bounds that stand for values in its scenario.
    """
    if not taken:
        return answer
    said = tuple(Warning(Kind.ASSUMED_BOUND, bound.sentence, subject=bound.key) for bound in taken)
    return replace(answer, confidence=None, feasible_from=None, warnings=(*said, *answer.warnings))
