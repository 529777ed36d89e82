"""The map of two settings: a lattice over their ranges, surveyed by simulation.

The function behind `forebay.feasible_map`; `survey` decides where to measure.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from forebay import _core
from forebay.engines import in_real_time, run_s
from forebay.errors import InputError
from forebay.results.report import Report
from forebay.results.warning import Kind, Warning
from forebay.scenario import Progress, Scenario, threads
from forebay.search import findings
from forebay.search.buffer_variable import BufferVariable
from forebay.search.feasible import FeasibleMap, MapPoint
from forebay.search.goals import Goals
from forebay.search.listener import Callbacks
from forebay.search.measurements import Means, Measurements
from forebay.search.options import Execution
from forebay.search.plan import BITS
from forebay.search.question import varied
from forebay.search.range_variable import RangeVariable
from forebay.search.survey import BUDGET, CONFIDENCE, STEPS, Place, Seen, Survey
from forebay.search.unmeasured import of_assumptions
from forebay.text.formatting import clock_time

__all__ = ["Plane", "feasible_map"]

#: How fine values of a lattice are told.
FINE = 0.05


@dataclass(frozen=True, slots=True)
class Plane:
    """Two keys that are varied at once; a place of the lattice is a number of its own.

    Attributes
    ----------
    first, second : RangeVariable
        The keys and their ranges.
    """

    first: RangeVariable
    second: RangeVariable

    @property
    def identity(self) -> str:
        """The identity of its numbers, different from that of others."""
        return f"{self.first.identity} {self.second.identity} {STEPS}"

    def numbered(self, place: Place) -> int:
        """The number of a place, above zero."""
        first, second = place
        return first * (STEPS + 1) + second + 1

    def snapped(self, number: int) -> int:
        """Every place is measured by itself."""
        return number

    @property
    def scenario(self) -> Scenario:
        """The scenario in which both keys are varied."""
        return self.first.scenario

    def apply(self, number: int) -> Scenario:
        """The scenario with both values."""
        first, second = divmod(number - 1, STEPS + 1)
        changed = dataclasses.replace(self.second, scenario=self.first.apply(lattice(self.first, first)))
        return changed.apply(lattice(self.second, second))


def lattice(variable: RangeVariable, step: int) -> int:
    """The number of the search at a step of the lattice."""
    first, last = variable.range.first, variable.range.last
    return round(first * math.exp(math.log(last / first) * step / STEPS))


def feasible_map(
    scenario: Scenario,
    goals: Iterable[str] = (),
    *,
    over: Sequence[str],
    engine: str = "packet",
    jobs: int | None = None,
    progress: Progress | None = None,
    resume: Path | None = None,
    tell: Callable[[str], object] | None = None,
) -> FeasibleMap:
    """Map where over two settings all goals hold, by simulation.

    Parameters
    ----------
    scenario, goals, engine, jobs, progress, resume, tell
        As of `recommend`; no engine in real time.
    over : sequence of str
        Two keys with their ranges, as in "link.rate=10Mbps..100Mbps", or buffers.

    Returns
    -------
    FeasibleMap
        Its `feasible` says whether the goals hold anywhere.

    Raises
    ------
    InputError
        Without goals, or where `over` is not two different keys that the scenario takes values of.

    Examples
    --------
    >>> scenario = forebay.Scenario.load("@dsl-access")
    >>> found = forebay.feasible_map(scenario, over=["link.rate=8Mbps..16Mbps", "link.buffer=10p..60p"])
    >>> [goal.name for goal in found.goals]
    ['utilization', 'queue_delay_p99', 'call.loss_rate']
    """
    started = time.perf_counter()
    threads(jobs)
    if in_real_time(engine):
        words = (
            f"found `{engine}`, which runs in real time: {BUDGET} runs take {clock_time(BUDGET * run_s(scenario.core))}"
        )
        raise InputError(f"{words}; allowed: an engine that simulates, or a sweep", "engine")
    if len(over) != 2:
        raise InputError(f"found {len(over)}; allowed: two keys, each with its range", "over")
    execution = Execution(engine, jobs, resume=resume, listener=Callbacks(progress, tell))
    target = BufferVariable(Goals.of(goals).added_to(scenario, engine))
    first, second = (_range(target, text) for text in over)
    if first.key == second.key:
        raise InputError(f"found `{first.key}` twice; allowed: each key once", "over")
    with execution.open() as means:
        found = _surveyed(Plane(first, second), means)
    found = dataclasses.replace(found, cost=dataclasses.replace(found.cost, wall_s=time.perf_counter() - started))
    return found.resting_on(of_assumptions(scenario.assumed))


def _range(target: BufferVariable, text: str) -> RangeVariable:
    """A range; of a buffer without one from a packet to the largest that is tried."""
    found = varied(target, text, largest="=" not in text, resolution=FINE)
    assert isinstance(found, RangeVariable), "a buffer's largest is sought over a range"
    return dataclasses.replace(found, range=dataclasses.replace(found.range, mirrored=False))


def _surveyed(plane: Plane, means: Means) -> FeasibleMap:
    """Survey a plane; both ends of both ranges are known to be valid, their corners are tried first."""
    measure = Measurements(plane, means)
    for number in (1, STEPS + 1, plane.numbered((STEPS, 0)), plane.numbered((STEPS, STEPS))):
        try:
            plane.apply(number)
        except InputError as error:
            raise InputError(f"at a corner of both ranges: {error.text}", "over") from None

    def measured(pairs: Sequence[tuple[Place, int]]) -> list[Report]:
        return measure([((number := plane.numbered(place)), (number << BITS) + count) for place, count in pairs])

    survey = Survey(measured, plane.scenario.goals, expect=measure.expect)
    seen = survey.run()
    return FeasibleMap(
        scenario=plane.scenario,
        over=(plane.first, plane.second),
        goals=tuple(survey.goals),
        points=_points(plane, survey, seen),
        confidence=CONFIDENCE,
        budget=BUDGET,
        complete=survey.complete,
        cost=findings.cost([measure], 0.0),
        warnings=tuple(_warnings(survey)),
        engine=measure.engine,
        version=_core.__version__,
    )


def _points(plane: Plane, survey: Survey, seen: dict[Place, Seen]) -> tuple[MapPoint, ...]:
    """Every pair of values once, though several places of the lattice may stand for it."""
    found: dict[tuple[str, str], MapPoint] = {}
    for place, judged in seen.items():
        first = plane.first.at(lattice(plane.first, place[0]))
        second = plane.second.at(lattice(plane.second, place[1]))
        reports = survey.samples[place]
        point = MapPoint(
            (first, second),
            judged.verdict.value,
            judged.goal.key,
            judged.margin,
            judged.error,
            len(reports),
            Report.over(reports).metrics,
        )
        known = found.get((first.text, second.text))
        if known is None or known.replications < point.replications:
            found[first.text, second.text] = point
    return tuple(sorted(found.values(), key=lambda point: tuple(setting.number for setting in point.settings)))


def _warnings(survey: Survey) -> list[Warning]:
    """The warnings of runs, each kind once with the number of places at which it came up."""
    alike: dict[tuple[Kind, str], tuple[Warning, set[Place]]] = {}
    for place, reports in sorted(survey.samples.items()):
        for warning in (warning for report in reports for warning in report.warnings):
            alike.setdefault((warning.kind, warning.subject), (warning, set()))[1].add(place)
    return [
        warning.saying(f"at {len(places)} of {len(survey.samples)} places: {warning}")
        for warning, places in alike.values()
    ]
