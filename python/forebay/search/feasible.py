"""The region of two settings in which all goals hold: the answer of `recommend` with two varied keys.

`surveying` makes the map; views and programs read it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from forebay.extras import need
from forebay.results.deprecated_names import DeprecatedName, with_deprecated_keys
from forebay.results.notebook_repr import Result
from forebay.results.report import Estimate
from forebay.results.serialization import to_jsonable
from forebay.results.warning import Warning
from forebay.search.answer_parts import SearchCost
from forebay.search.range_variable import RangeVariable
from forebay.search.value import Value

if TYPE_CHECKING:
    import polars as pl

    from forebay.inputs.goals import Goal
    from forebay.scenario import Scenario

__all__ = ["FeasibleMap", "FeasibleRange", "MapPoint"]


@dataclass(frozen=True, slots=True)
class MapPoint:
    """One measured pair of values.

    Attributes
    ----------
    settings : tuple of (Value, Value)
        The two values, in the order of the keys.
    verdict : str
        "met", "missed" or "unclear", each at the map's confidence.
    goal : str
        The key of the goal that is met least.
    margin, standard_error : float
        Margin by which it is met, as a share of its threshold, and the standard error of the margin.
    replications : int
        Number of replications that were measured there.
    metrics : mapping
        Metrics of the link.
    """

    settings: tuple[Value, Value]
    verdict: str
    goal: str
    margin: float
    standard_error: float
    replications: int
    metrics: Mapping[str, Estimate]

    error = DeprecatedName("standard_error")


@dataclass(frozen=True, slots=True)
class FeasibleRange:
    """The interval of the second key in which the goals hold, for one value of the first key.

    Attributes
    ----------
    at : Value
        The value of the first key.
    low, high : Value or None
        The ends of the longest run of measured values that meet all goals; None if no value does.
    below, above : Value or None
        The nearest values that miss a goal, below and above; None if no such value was measured.
    """

    at: Value
    low: Value | None
    high: Value | None
    below: Value | None
    above: Value | None


@dataclass(frozen=True, slots=True, repr=False)
class FeasibleMap(Result):
    """A map of two settings.

    Attributes
    ----------
    scenario : Scenario
        The scenario of the question, with its goals.
    over : tuple of (RangeVariable, RangeVariable)
        The keys and their ranges.
    goals : tuple of Goal
        The goals that have to hold.
    points : tuple of MapPoint
        Every measured pair, by the first value, then the second.
    confidence : float or None
        One-sided confidence of each verdict by itself; None if runs do not show all states of the scenario.
    budget : int
        The most replications; `complete` tells whether they were enough for the finest grid.
    complete : bool
        Whether the boundary is as fine as the grid goes.
    cost : SearchCost
        The only part that differs between equal maps.
    warnings : tuple of Warning
        The warnings for the reader.
    engine, version : str
        The engine that measured, and forebay's version.
    """

    scenario: Scenario
    over: tuple[RangeVariable, RangeVariable]
    goals: tuple[Goal, ...]
    points: tuple[MapPoint, ...]
    confidence: float | None
    budget: int
    complete: bool
    cost: SearchCost
    warnings: tuple[Warning, ...]
    engine: str
    version: str

    stretches = DeprecatedName("ranges")

    @property
    def feasible(self) -> bool:
        """Whether any pair meets every goal."""
        return any(point.verdict == "met" for point in self.points)

    def count(self, verdict: str) -> int:
        """The number of pairs with a given verdict."""
        return sum(point.verdict == verdict for point in self.points)

    @property
    def ranges(self) -> tuple[FeasibleRange, ...]:
        """The intervals in which the goals hold, by the first value."""
        rows = itertools.groupby(self.points, key=lambda point: point.settings[0])
        return tuple(_feasible_range(at, list(points)) for at, points in rows)

    @property
    def frame(self) -> pl.DataFrame:
        """Every measured pair as a row of a polars data frame: both values in base units, the verdict, the metrics."""
        need("polars")
        import polars as pl

        return pl.DataFrame(list(self._rows()), infer_schema_length=None)

    def _rows(self) -> Iterator[dict[str, Any]]:
        for point in self.points:
            values = {variable.key: setting.value for variable, setting in zip(self.over, point.settings, strict=True)}
            means = {name: estimate.mean for name, estimate in point.metrics.items()}
            stated = {
                "verdict": point.verdict,
                "goal": point.goal,
                "margin": point.margin,
                "error": point.standard_error,
            }
            yield {**values, **stated, "replications": point.replications, **means}

    def resting_on(self, warnings: tuple[Warning, ...]) -> FeasibleMap:
        """The same with warnings of what was not measured, and without a confidence if there are any."""
        if not warnings:
            return self
        return replace(self, confidence=None, warnings=(*warnings, *self.warnings))

    def to_dict(self) -> dict[str, Any]:
        """The map as plain dictionaries and lists, as in the JSON."""
        data: dict[str, Any] = to_jsonable(
            {
                "over": [variable.requested_name for variable in self.over],
                "goals": {goal.key: goal for goal in self.goals},
                "confidence": self.confidence,
                "points": self.points,
                "ranges": self.ranges,
                "budget": self.budget,
                "complete": self.complete,
                "cost": self.cost,
                "warnings": self.warnings,
                "scenario_sha256": self.scenario.core.sha256,
                "engine": self.engine,
                "version": self.version,
            }
        )
        return with_deprecated_keys(FeasibleMap, data)

    def __repr__(self) -> str:
        keys = " and ".join(variable.key for variable in self.over)
        return f"<FeasibleMap over {keys}: goals hold at {self.count('met')} of {len(self.points)} places>"


def _feasible_range(at: Value, points: Sequence[MapPoint]) -> FeasibleRange:
    """The longest run of those that meet the goals, and what misses beside it."""
    runs = [list(run) for met, run in itertools.groupby(points, lambda point: point.verdict == "met") if met]
    longest = max(runs, key=len, default=[])
    missed = [point.settings[1] for point in points if point.verdict == "missed"]
    if not longest:
        return FeasibleRange(at, None, None, None, None)
    low, high = longest[0].settings[1], longest[-1].settings[1]
    below = max((one for one in missed if one.number < low.number), key=lambda one: one.number, default=None)
    above = min((one for one in missed if one.number > high.number), key=lambda one: one.number, default=None)
    return FeasibleRange(at, low, high, below, above)
