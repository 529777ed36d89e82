"""The region of two settings in which all goals hold: a coarse grid, refined along the boundary within a budget.

Places lie on a lattice. A place's margins are judged with the noise of the places around it, and replications are added
where that is not clear; squares between whose corners the verdict changes, or is not clear, are cut in four.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from forebay.inputs.goals import Goal, distinct
from forebay.results import statistics
from forebay.results.report import Report
from forebay.search.goal_test import Verdict, mean_margin, relative_margins

__all__ = ["BUDGET", "CONFIDENCE", "STEPS", "Lattice", "Place", "Seen", "Survey"]

#: Steps of the lattice over each range, and of the first look.
STEPS, COARSE = 16, 4
#: Replications at a place: at first, and where it is not clear.
ANALYSES = (2, 4, 8)
#: Replications in all.
BUDGET = 400
#: One-sided confidence of a verdict over all interim analyses, and how many places around one tell its noise.
CONFIDENCE, AROUND = 0.95, 8

#: Steps along both axes.
Place = tuple[int, int]


class Lattice(Protocol):
    """The interface of an object that can run replications at places."""

    def __call__(self, pairs: Sequence[tuple[Place, int]]) -> list[Report]:
        """Return one report per (place, replication) pair, in the order asked."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The knowledge about a place.

    Attributes
    ----------
    verdict : Verdict
        Whether all goals are met.
    goal : Goal
        The one that is met least.
    margin : float
        Margin by which it is met, as a share of its threshold.
    error : float
        The standard error of that.
    """

    verdict: Verdict
    goal: Goal
    margin: float
    error: float


class Survey:
    """Finds the boundary.

    Parameters
    ----------
    measure : Lattice
        Runs replications.
    goals : sequence of Goal
        At least one.
    budget : int
        Replications at most; the first look is made in any case.
    expect : callable, optional
        Called with the largest possible number of replications.
    """

    def __init__(
        self,
        measure: Lattice,
        goals: Sequence[Goal],
        budget: int = BUDGET,
        expect: Callable[[int], object] | None = None,
    ) -> None:
        self.measure, self.goals, self.budget = measure, distinct(goals), budget
        self.expect = expect or (lambda _count: None)
        self.samples: dict[Place, list[Report]] = {}
        #: Whether the boundary is as fine as the lattice.
        self.complete = False

    @property
    def spent(self) -> int:
        """Replications so far."""
        return sum(map(len, self.samples.values()))

    def run(self) -> dict[Place, Seen]:
        """Look, and look closer, until the lattice is at its end or the budget is."""
        step = STEPS // COARSE
        corners = range(0, STEPS + 1, step)
        squares = list(itertools.product(corners[:-1], corners[:-1]))
        self._settle(itertools.product(corners, corners), always=True)
        while step > 1:
            mixed = [square for square in squares if self._mixed(square, step)]
            half = step // 2
            squares = [(x + dx, y + dy) for x, y in mixed for dx in (0, half) for dy in (0, half)]
            if not self._settle({corner for square in squares for corner in _corners(square, half)}):
                break
            step = half
        self.complete = step == 1
        return {place: self.seen(place) for place in sorted(self.samples)}

    def _settle(self, places: Iterable[Place], *, always: bool = False) -> bool:
        """Measure places, those that are not clear more often; False where the budget does not go so far."""
        requested = sorted(set(places))
        for count in ANALYSES:
            unclear = [at for at in requested if at not in self.samples or self.seen(at).verdict is Verdict.UNCLEAR]
            missing = [at for at in unclear for _ in range(len(self.samples.get(at, ())), count)]
            if self.spent + len(missing) > self.budget and not (always and count == ANALYSES[0]):
                return False
            self.expect(self.budget - self.spent)
            self._sample(missing)
        return True

    def _sample(self, places: Sequence[Place]) -> None:
        numbers: dict[Place, int] = {at: len(self.samples.get(at, ())) for at in places}
        pairs = []
        for at in places:
            pairs.append((at, numbers[at]))
            numbers[at] += 1
        for (at, _), report in zip(pairs, self.measure(pairs) if pairs else [], strict=True):
            self.samples.setdefault(at, []).append(report)

    def seen(self, place: Place) -> Seen:
        """Judge a place by its margins and the noise around it."""
        verdict, found = Verdict.MET, []
        for goal in self.goals:
            margin = mean_margin(goal, self.samples[place])
            variance, degrees = self._noise(place, goal)
            error = math.sqrt(variance / len(self.samples[place]))
            limit = statistics.student_quantile(1 - (1 - CONFIDENCE) / len(ANALYSES), degrees) * error if error else 0.0
            found.append(Seen(verdict, goal, margin, error))
            if margin < 0 and margin <= -limit:
                verdict = Verdict.MISSED
            elif margin < limit and verdict is Verdict.MET:
                verdict = Verdict.UNCLEAR
        worst = min(found, key=lambda each: each.margin / each.error if each.error else math.copysign(1e9, each.margin))
        return Seen(verdict, worst.goal, worst.margin, worst.error)

    def _noise(self, place: Place, goal: Goal) -> tuple[float, int]:
        """Variance of one replication's margin, pooled over the nearest places, and its degrees of freedom."""
        near = sorted(self.samples, key=lambda at: math.dist(at, place))[:AROUND]
        squares, degrees = 0.0, 0
        for at in near:
            margins = relative_margins(goal, self.samples[at])
            middle = math.fsum(margins) / len(margins)
            squares += math.fsum((margin - middle) ** 2 for margin in margins)
            degrees += len(margins) - 1
        return squares / degrees, degrees

    def _mixed(self, square: Place, step: int) -> bool:
        """Whether the verdict changes between the corners of a square, or is not clear at one."""
        verdicts = {self.seen(corner).verdict for corner in _corners(square, step)}
        return len(verdicts) > 1 or Verdict.UNCLEAR in verdicts


def _corners(square: Place, step: int) -> Iterator[Place]:
    x, y = square
    yield from ((x, y), (x + step, y), (x, y + step), (x + step, y + step))
