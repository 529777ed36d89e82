"""The plan of a search (its effort and accuracy), and its outcome.

`planning` makes the plan of a search; the searches fill the outcome.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from forebay.atlas.prior import Prior
from forebay.inputs.goals import Goal
from forebay.results import statistics
from forebay.results.report import Report
from forebay.results.warning import Warning
from forebay.search.goal_test import GoalTest, MeanTest
from forebay.search.words import Words

__all__ = ["LOWER_END", "Measure", "Outcome", "Plan", "without_gaps"]

Reports = Sequence[Report]

#: Bits of a replication's number that count, if the number also names the buffer; the upper half are fresh runs.
BITS = 20
UNSEEN = 1 << (BITS - 1)
#: Confidence with which the lower end of what will do lies between two buffers.
LOWER_END = 0.8


class Measure(Protocol):
    """The interface of an object that can run replications of the scenario at a buffer."""

    def __call__(self, pairs: Sequence[tuple[int, int]]) -> list[Report]:
        """Return one report per (buffer in packets, replication) pair, in the order asked."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a search: its effort and accuracy.

    Attributes
    ----------
    smallest, largest : int
        Range of the first look, in packets; the search goes on above it where the goals ask for more.
    ceiling : int
        Largest buffer that is ever tried.
    gap : float
        The first look leaves no larger factor between neighboring buffers, so that nothing hides between them.
    resolution : float
        The answer is the smallest buffer to within this fraction of itself (or one packet).
    analyses : tuple of int
        Replications at the first and each further analysis.
    confirmations : int
        Buffers that may be put to the fresh replications before the search gives up.
    confidence : float
        One-sided confidence that the whole procedure keeps.
    also : tuple of int
        Buffers to measure in any case, such as those of the rules.
    test : GoalTest
        When goals count as met.
    floor : int
        Smallest buffer that is ever tried.
    words : Words
        How the search speaks of what it tries.
    prior : Prior, optional
        Where a quick look looks first.
    met_up_to : mapping
        Goals that are derived to hold, each with the largest buffer up to which it does.
    least : int, optional
        Runs at the answer and near it without which no confidence is reached; those that carry `confidence` by default.
    most_fresh : int
        Fresh runs at one buffer at most, unless the confidence needs more.
    furthest : int, optional
        The range is extended up to this buffer while larger ones may meet every goal; None if nothing lies beyond it.
    shows_full : tuple of str
        Metrics that tell whether the buffer was full: "loss", and "wait" for the longest wait.
    never_full_from_start : callable, optional
        Whether runs at a buffer never fill it, the warm-up included.
    opposing : tuple of Goal
        Goals that a larger buffer never brings nearer.
    missed_later : tuple of Goal
        Goals that runs may meet although longer runs miss them.
    """

    smallest: int
    largest: int
    ceiling: int
    gap: float = 4.0
    resolution: float = 0.05
    analyses: tuple[int, ...] = (1, 2, 4, 8, 16)
    confirmations: int = 6
    confidence: float = 0.95
    also: tuple[int, ...] = ()
    test: GoalTest = field(default_factory=MeanTest)
    floor: int = 1
    words: Words = field(default_factory=Words)
    prior: Prior | None = None
    met_up_to: Mapping[Goal, int] = field(default_factory=dict)
    least: int | None = None
    most_fresh: int = 1024
    furthest: int | None = None
    shows_full: tuple[str, ...] = ()
    never_full_from_start: Callable[[int], bool] | None = None
    opposing: tuple[Goal, ...] = ()
    missed_later: tuple[Goal, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.smallest <= self.largest <= self.ceiling:
            msg = f"expected 1 <= smallest <= largest <= ceiling, found {self.smallest}, {self.largest}, {self.ceiling}"
            raise ValueError(msg)
        least = 1 if self.test.averages else 2
        if not self.analyses or list(self.analyses) != sorted(set(self.analyses)) or self.analyses[0] < least:
            msg = f"analyses must rise from at least {least} replications, found {self.analyses}"
            raise ValueError(msg)

    @property
    def least_runs(self) -> int:
        """Runs at the answer and near it without which no confidence is reached."""
        if not self.test.averages:
            return 0
        return statistics.runs_for_confidence(self.confidence) if self.least is None else self.least

    def number(self, buffer: int, count: int, *, fresh: bool) -> int:
        """The number of a replication, of which `count` came before at that buffer; fresh ones no search reaches.

        Where goals are about means, no two buffers share random streams: each replication is an observation of its
        own. Else replication r has the same streams at every buffer.
        """
        if self.test.averages:
            return (buffer << BITS) + fresh * UNSEEN + count
        return count + (max(self.analyses) if fresh else 0)

    def is_fresh(self, number: int) -> bool:
        """Whether a replication of this number is one that the search has not seen."""
        return bool(number & UNSEEN) if self.test.averages else number >= max(self.analyses)


@dataclass(slots=True)
class Outcome:
    """The outcome of a search.

    Attributes
    ----------
    buffer : int or None
        Smallest buffer that meets every goal, in packets; None if there is none.
    confidence : float or None
        One-sided confidence that all goals hold at `buffer` (0 if there is none); None if the fresh replications repeat
        each other and can carry none.
    confirmation : sequence of reports
        The fresh replications that `confidence` rests on.
    binding : str or None
        The key of the goal that keeps the buffer from being smaller (or, without an answer, the goal that fails).
    lower_end : tuple of (int, int), or None
        With an answer: the interval that contains the smallest sufficient buffer, with the confidence `LOWER_END`; None
        if the smallest possible buffer is sufficient.
    up_to : tuple of (int, int or None)
        With an answer: the largest buffer known to meet every goal without a gap, and the smallest above it that does
        not (None if all larger measured buffers do).
    needs_at_least : tuple of (keys of goals, buffer)
        The buffer that the goals which need a large buffer require together. It is None if no tried buffer is enough,
        and if the goals contradict each other so clearly that no threshold is looked for.
    needs_at_most : tuple of (keys of goals, buffer)
        The buffer that the goals which need a small buffer allow together. It is None if even the smallest is too
        large, if there are no such goals, and if no threshold is looked for.
    compromise : int or None
        Without an answer: the measured buffer whose worst relative miss is smallest.
    gaps : tuple of (int, str)
        With an answer: measured buffers above it that miss a goal which needs a large buffer, with the goal's key.
    feasible_intervals : tuple of (int, int)
        With an answer: measured buffers below it that meet every goal, each with a larger one, below the answer, that
        misses some.
    notes : list of Warning
        Notes for the reader: unclear decisions, refused confirmations.
    impossible : bool
        Without an answer: whether it is proven, at the confidence of the search, that no buffer meets every goal.
    between : tuple of (int, int), or None
        Without an answer and without that proof: the smallest and the largest buffer that may meet every goal.
    runs : int
        Number of observations that the confidence rests on.
    confidences : mapping
        With an answer, by the key of each goal: the confidence that it holds there. The smallest is `confidence`.
    excluded : mapping
        Where no buffer meets every goal, by the key of each goal: the intervals of buffers that the proof excludes by
        it.
    states_shown : bool
        Whether the runs show what may decide the goals. If not, no confidence is stated.
    """

    buffer: int | None = None
    confidence: float | None = 0.0
    confirmation: Reports = ()
    binding: str | None = None
    lower_end: tuple[int, int] | None = None
    up_to: tuple[int, int | None] = (0, None)
    needs_at_least: tuple[tuple[str, ...], int | None] = ((), None)
    needs_at_most: tuple[tuple[str, ...], int | None] = ((), None)
    compromise: int | None = None
    gaps: tuple[tuple[int, str], ...] = ()
    feasible_intervals: tuple[tuple[int, int], ...] = ()
    notes: list[Warning] = field(default_factory=list)
    impossible: bool = False
    between: tuple[int, int] | None = None
    runs: int = 0
    confidences: Mapping[str, float] = field(default_factory=dict)
    excluded: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    states_shown: bool = True

    def leave_undecided(self, largest: int | None) -> None:
        """Withdraw the answer, because something that the runs do not show may decide it.

        Parameters
        ----------
        largest : int or None
            The largest buffer that may meet every goal: the answer stays a lower bound. None if longer runs miss a goal
            at any buffer.
        """
        if largest is None:
            self.between, self.compromise = None, None
        elif self.buffer is not None:
            low = self.buffer if self.lower_end is None else self.lower_end[0]
            self.between, self.compromise = (low, largest), self.buffer
        elif self.impossible:
            self.between = 1, largest
        self.buffer, self.confidence, self.impossible = None, None, False
        self.states_shown = largest is None
        self.confidences, self.excluded = {}, {}


def without_gaps(buffers: Sequence[int], gap: float) -> list[int]:
    """The buffers in rising order, with as many in between as leave no larger factor than `gap`."""
    filled = set(buffers)
    for low, high in itertools.pairwise(buffers):
        pieces = math.ceil(math.log(high / low) / math.log(gap) - 1e-9)
        if pieces > 1:
            filled.update(statistics.log_spaced(low, high, pieces + 1))
    return sorted(filled)
