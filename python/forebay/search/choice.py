"""Keys that take one of some words, such as a controller or a discipline: each with an answer of its own.

`recommendation` makes one question of each case, and `ranking` orders their answers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forebay.algorithms.code_files import check_values
from forebay.errors import InputError
from forebay.results.deprecated_names import DeprecatedName
from forebay.results.report import Estimate
from forebay.scenario import Scenario
from forebay.search.named_buffer import NamedBuffer
from forebay.search.value import Quantity
from forebay.text.quantity import split_list

__all__ = ["Alternative", "Choice", "cases", "choice", "for_each", "of_all"]

#: Combinations that are answered at most.
MOST_CASES = 64


@dataclass(frozen=True, slots=True)
class Choice:
    """A key and the values among which is to be chosen, as they are written."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alternative:
    """The answer with one of the values, or one of each key's.

    Attributes
    ----------
    choice : mapping
        The chosen values, by key.
    recommendation : BufferSize, Value or None
        The answer; None where nothing meets every goal.
    confidence : float or None
        One-sided, that all goals hold there; None as in `Recommendation`.
    binding_goal : str or None
        The key of the goal that decides, or fails.
    measured : mapping
        Metrics of the link there, and those of groups that goals are about ("group.metric"); without an answer at the
        nearest miss.
    significantly_worse : bool
        Whether it is worse than the best by more than the intervals (95 %) of both.
    replications : int
        Cost of its search.
    goals_met, goals_total : int
        Number of goals that are met there, and number of all goals.
    on_front : bool
        Whether no other choice dominates it: is as good in utilization, loss, p99 delay, goodput and the metrics of the
        goals, and better in one of them.
    nearest : BufferSize, Value or None
        Without an answer: the buffer that comes nearest to meeting every goal.
    configured : NamedBuffer or None
        The configured buffer with this choice: metrics, those of groups that goals are about, and the verdict.
    """

    choice: Mapping[str, str]
    recommendation: Quantity | None
    confidence: float | None
    binding_goal: str | None
    measured: Mapping[str, Estimate]
    significantly_worse: bool
    replications: int
    goals_met: int = 0
    goals_total: int = 0
    on_front: bool = False
    nearest: Quantity | None = None
    configured: NamedBuffer | None = None

    apart = DeprecatedName("significantly_worse")
    met = DeprecatedName("goals_met")
    of = DeprecatedName("goals_total")


def choice(text: str) -> Choice | None:
    """Parse `KEY=A,B,C`; None if the text is not a list.

    Raises
    ------
    InputError
        Where a value is empty, or one is there twice.
    """
    key, equals, values = (part.strip() for part in text.partition("="))
    check_values(key, split_list(values), "over")
    parts = split_list(values) if equals and ".." not in values else []
    if len(parts) < 2:
        return None
    if any(not part for part in parts) or len(set(parts)) < len(parts):
        raise InputError(f"{key}: found `{values}`; allowed: different values, as in cubic,bbr", "over")
    return Choice(key, tuple(parts))


def cases(scenario: Scenario, choices: Sequence[Choice]) -> list[tuple[Mapping[str, str], Scenario]]:
    """Every combination of values with its scenario, all of which are valid.

    Raises
    ------
    InputError
        Where a key stands twice, a scenario does not take a value, or there are too many combinations.
    """
    keys = [each.key for each in choices]
    if len(set(keys)) < len(keys):
        raise InputError(f"found `{max(keys, key=keys.count)}` twice; allowed: each key once", "over")
    if math.prod(len(each.values) for each in choices) > MOST_CASES:
        raise InputError(f"found more than {MOST_CASES} combinations; allowed: at most {MOST_CASES}", "over")
    if not choices:
        return [({}, scenario)]
    found: list[tuple[Mapping[str, str], Scenario]] = []
    for values in itertools.product(*(each.values for each in choices)):
        chosen = dict(zip(keys, values, strict=True))
        found.append((chosen, scenario.changed(*(("over", key, value) for key, value in chosen.items()))))
    return found


def for_each(confidence: float, cases: int) -> float:
    """The confidence of each answer with which all together have the requested one (Bonferroni)."""
    return 1 - (1 - confidence) / cases


def of_all(confidence: float | None, cases: int, requested: float) -> float | None:
    """The confidence that remains where the best of several answers is picked.

    Each was confirmed at `for_each` of the confidence that was asked for, so that one remains at least, as far as the
    runs of the answer carry it.
    """
    return None if confidence is None else min(confidence, max(requested, 1 - (1 - confidence) * cases))
