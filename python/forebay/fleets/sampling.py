"""A random sample of verdicts of the first stage, checked by packet runs, and a bound on the error rate.

The sample is drawn without replacement from the questions, so that the bound is the exact one of the hypergeometric
distribution (Buonaccorsi, The American Statistician 41, 1987). The draw depends on the questions and not on their
order.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

__all__ = ["MOST_ERRORS", "SampleCheck", "drawn", "sample_size", "upper_bound"]

#: Largest error rate of the first stage, one-sided confidence of the bound, and errors for which a sample has room.
MOST_ERRORS, CONFIDENCE, ALLOWED = 0.05, 0.95, 1


@dataclass(frozen=True, slots=True)
class SampleCheck:
    """The check of the first stage.

    Attributes
    ----------
    decided : int
        Questions that the first stage decided.
    checked : int
        Questions of the sample that packet runs decided.
    wrong : int
        Questions of those with another verdict of the packet runs.
    upper : float
        Upper end of the error rate at a one-sided confidence of 95 %.
    withdrawn : bool
        Whether the upper end is above 5 %, so that packet runs decide all questions.
    """

    decided: int
    checked: int
    wrong: int
    upper: float
    withdrawn: bool

    @classmethod
    def of(cls, decided: int, checked: int, wrong: int) -> SampleCheck:
        """The check from its counts."""
        upper = upper_bound(decided, checked, wrong)
        return cls(decided, checked, wrong, upper, upper > MOST_ERRORS)

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON."""
        return asdict(self)


def drawn(digests: Iterable[str], count: int, seed: int) -> list[str]:
    """A random sample of questions: those whose hashes with a seed are the smallest."""
    return sorted(digests, key=lambda digest: hashlib.sha256(f"{seed}:{digest}".encode()).digest())[:count]


@lru_cache(maxsize=4096)
def upper_bound(decided: int, checked: int, wrong: int) -> float:
    """The largest error rate among `decided` verdicts that a sample does not refute."""
    if not checked:
        return 1.0
    low, high = wrong, decided - (checked - wrong)
    # The probability of so few errors falls with the number of all errors.
    while low < high:
        middle = (low + high + 1) // 2
        if _at_most(wrong, decided, middle, checked) > 1 - CONFIDENCE:
            low = middle
        else:
            high = middle - 1
    return low / decided


def sample_size(decided: int) -> int:
    """The smallest sample whose bound is at most 5 % with one error in it; all questions if none is."""

    def is_enough(size: int) -> bool:
        return upper_bound(decided, size, min(ALLOWED, size)) <= MOST_ERRORS

    # Samples are small, and the bound of a large one takes long.
    low, high = 0, min(1, decided)
    while high < decided and not is_enough(high):
        low, high = high + 1, min(2 * high, decided)
    while low < high:
        middle = (low + high) // 2
        if middle and is_enough(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _at_most(wrong: int, decided: int, errors: int, checked: int) -> float:
    """The probability of at most `wrong` errors in a sample, from a hypergeometric distribution."""
    ways = sum(
        math.comb(errors, found) * math.comb(decided - errors, checked - found)
        for found in range(min(wrong, errors, checked) + 1)
        if checked - found <= decided - errors
    )
    return ways / math.comb(decided, checked)
