"""The buffer, or other setting, at which a metric is lowest or highest, among those that meet the goals.

A few places over the range are measured, and each is left out once another is better for sure: by Welch's test of two
means (1947), at a part of the error probability that is small enough for all comparisons of all rounds together
(Bonferroni). The range then shrinks to the neighbors of what is left, and new places go between them; where it shrinks
no more, replications double. While the largest place may be the best, the range grows. In the end what is left cannot
be told apart from the best: the best lies between its neighbors, with the confidence that is stated, where the metric
has one optimum over the range. Where in between it lies is read off a parabola; fresh replications there have to
confirm the goals, and say what the metric is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from forebay.inputs.goals import Goal, metric_value
from forebay.results import statistics
from forebay.results.deprecated_names import DeprecatedName
from forebay.results.report import Estimate, Report
from forebay.search.listener import SILENT, Listener
from forebay.search.search_state import SearchState
from forebay.search.value import Quantity

__all__ = ["Best", "Optimizing", "Optimum"]

#: Rounds at most, places of each over the range, and replications at each: at first, and at most.
ROUNDS, PLACES = 10, 6
FIRST, MOST = 4, 16
#: The part by which a further step shortens a range on a logarithmic scale.
SHORTER = 0.75
#: Factor by which a range grows whose largest number may be the best.
FURTHER = 4
#: Fresh replications at the best, where no goals ask for theirs.
FRESH = 12


@dataclass(frozen=True, slots=True)
class Optimum:
    """The metric that has to be lowest or highest, at the answer.

    Attributes
    ----------
    metric : str
        As a goal names it.
    sense : {"minimize", "maximize"}
        Which of both.
    measured : Estimate
        On the fresh replications at the answer.
    low, high : BufferSize or Value
        Between them the best lies, of all that meet the goals, where the metric has one optimum there.
    confidence : float
        With which what lies outside was left out.
    indistinguishable : tuple of BufferSize or Value
        The measured ones that cannot be told apart from the best.
    """

    metric: str
    sense: Literal["minimize", "maximize"]
    measured: Estimate
    low: Quantity
    high: Quantity
    confidence: float
    indistinguishable: tuple[Quantity, ...]

    near = DeprecatedName("indistinguishable")


@dataclass(frozen=True, slots=True)
class Best:
    """The place at which a metric is best.

    Attributes
    ----------
    candidates : tuple of int
        Numbers to answer with, the best first.
    low, high : int
        Between them the best lies.
    indistinguishable : tuple of int
        The measured ones that cannot be told apart from it.
    """

    candidates: tuple[int, ...]
    low: int
    high: int
    indistinguishable: tuple[int, ...]


class Optimizing(SearchState):
    """Closes in on an optimum.

    Parameters
    ----------
    known : SearchState
        The search so far; the search for the optimum continues from its replications.
    objective : Goal
        The metric; its margin over zero is how good it is.
    goals : sequence of Goal
        Where one is missed on average nothing is sought.
    confidence : float
        With which the best is told apart from the others.
    listener : Listener
        Called with the ends of the interval that contains the best number, whenever they change.
    """

    def __init__(
        self,
        known: SearchState,
        objective: Goal,
        goals: Sequence[Goal],
        confidence: float,
        listener: Listener = SILENT,
    ) -> None:
        super().__init__(known.measure, [objective], known.plan, listener=listener)
        # Further replications at a place have numbers of their own.
        self.samples, self._taken = known.samples, known._taken
        self.objective, self.required = objective, list(goals)
        self._level = 1 - (1 - confidence) / (2 * ROUNDS * PLACES)

    def best(self, low: int, high: int, sure: int | None = None, limit: int | None = None) -> Best:
        """Look between two numbers, which are tried, too, and further up while the largest may be the best.

        Parameters
        ----------
        low, high : int
            The range of the first look.
        sure : int, optional
            A number at which the goals are known to be met.
        limit : int, optional
            The largest number of all; `high` by default.
        """
        replications, limit = FIRST, max(high, limit or high)
        grid = near = [low]
        for _ in range(ROUNDS):
            self._listener.on_range(f"best {self.plan.words.between(low, high)}")
            grid = sorted({low, high, *statistics.log_spaced(low, high, min(PLACES, high - low + 1))})
            self.sample(grid, FIRST)
            near = self._not_surely_worse([place for place in grid if place == sure or self._allowed(place)] or grid)
            # A place that is left out never comes back; the others are worth more replications.
            self.sample(near, replications)
            near = self._not_surely_worse([place for place in near if place == sure or self._allowed(place)] or near)
            below, above = self._around(grid, near)
            if near[-1] == high < limit:
                # The optimum may lie beyond the range.
                low, high = below, min(limit, FURTHER * high)
                continue
            if below == above or math.log(above / below) <= 2 * math.log1p(self.plan.resolution) or len(grid) < 3:
                low, high = below, above
                break
            if math.log(above / below) < SHORTER * math.log(high / low):
                low, high = below, above
            elif replications >= MOST:
                break
            else:
                replications *= 2
        below, above = self._around(grid, near)
        return Best(tuple(self._candidates(near)), below, above, tuple(near))

    def goodness(self, place: int) -> list[float]:
        """The goodness of each replication at a place."""
        return [self.objective.margin(metric_value(self.objective.name, report)) for report in self.samples[place]]

    def fresh(self, place: int) -> list[Report]:
        """Replications of a place that nothing was chosen by."""
        return self._measured([place] * FRESH, fresh=True)

    def _allowed(self, place: int) -> bool:
        return all(goal.margin(self.mean(place, goal)) >= 0 for goal in self.required)

    def _not_surely_worse(self, places: Sequence[int]) -> list[int]:
        """The places than which no place is surely better."""
        seen = {place: np.asarray(self.goodness(place)) for place in places}
        return [place for place in places if not any(self._better(other, seen[place]) for other in seen.values())]

    def _better(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Whether the mean of one sample lies above another's, by Welch's test."""
        apart = float(one.mean() - other.mean())
        parts = [float(sample.var(ddof=1)) / len(sample) for sample in (one, other)]
        error = math.fsum(parts)
        if apart <= 0 or error <= 0:
            return apart > 0
        rest = math.fsum(part**2 / (len(sample) - 1) for part, sample in zip(parts, (one, other), strict=True))
        degrees = max(1, math.floor(error**2 / rest))
        return apart > statistics.student_quantile(self._level, degrees) * math.sqrt(error)

    def _around(self, grid: Sequence[int], near: Sequence[int]) -> tuple[int, int]:
        """The neighbors of the outermost of what is near; the ends of the range themselves."""
        first, last = grid.index(near[0]), grid.index(near[-1])
        return grid[max(0, first - 1)], grid[min(len(grid) - 1, last + 1)]

    def _candidates(self, near: Sequence[int]) -> list[int]:
        """The vertex of a parabola through the near places, then the places in the order of their results."""
        ordered = sorted(near, key=lambda place: -float(np.mean(self.goodness(place))))
        points = [(math.log(place), value) for place in near for value in self.goodness(place)]
        vertex = _vertex(points) if len(near) > 2 else None
        if vertex is None:
            return ordered
        middle = round(math.exp(min(max(vertex, math.log(near[0])), math.log(near[-1]))))
        return list(dict.fromkeys([middle, *ordered]))


def _vertex(points: Sequence[tuple[float, float]]) -> float | None:
    """The place at which the parabola through points is highest; None if it has no highest point."""
    x, y = (np.asarray(each) for each in zip(*points, strict=True))
    middle = float(x.mean())
    bend, slope, _ = np.polyfit(x - middle, y, 2)
    return middle - float(slope / (2 * bend)) if bend < 0 else None
