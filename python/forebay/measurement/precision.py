"""Sequential stopping: as many replications as a requested half width needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay import _core
from forebay.engines import check_exclusive
from forebay.errors import InputError, naming
from forebay.inputs.goals import metric_value
from forebay.inputs.validation import MOST_SEED, integer
from forebay.phase_effects import phase_warnings
from forebay.results.metric import unit_of
from forebay.results.report import Report
from forebay.results.warning import Kind, Warning
from forebay.scenario import Progress, Scenario, run_jobs

if TYPE_CHECKING:
    from typing import Literal

__all__ = ["Precision", "run_to_precision"]

#: Replications before the first check, and largest number of replications.
FIRST, MOST = 4, 1000

#: Dimension of a number with a unit, by the unit of the metric.
_DIMENSIONS: dict[str, Literal["time", "rate", "packets", "bytes"]] = {
    "s": "time",
    "bps": "rate",
    "packets": "packets",
    "bytes": "bytes",
}


@dataclass(frozen=True, slots=True)
class Precision:
    """A requested half width of one metric's 95 % interval.

    Attributes
    ----------
    metric : str
        Name as in goals: "utilization", "background.loss_rate".
    relative, absolute : float or None
        One of them: a fraction of the mean, or a number in the metric's unit.
    """

    metric: str
    relative: float | None
    absolute: float | None

    @classmethod
    def parse(cls, text: str) -> Precision:
        """Read "1%", "loss_rate=5%" or "queue_delay_p99=0.5ms"; the default metric is utilization."""
        metric, equals, required = text.strip().rpartition("=")
        try:
            metric = metric.strip() if equals else "utilization"
            relative = required.endswith("%")
            value = _core.parse_quantity(required, "share") if relative else _absolute(metric, required)
        except InputError:
            value = 0.0
        if not metric or not value > 0:
            raise InputError(f"found `{text}`; allowed: 1%, METRIC=5% or METRIC=0.5ms", "precision")
        return cls(metric, value, None) if relative else cls(metric, None, value)


def _absolute(metric: str, text: str) -> float:
    """A number in the metric's unit, or with a unit of its own."""
    split = _core.split_quantity(text)
    if split is not None and not split[1]:
        return split[0]
    dimension = _DIMENSIONS.get(unit_of(metric))
    return 0.0 if dimension is None else _core.parse_quantity(text, dimension)


def run_to_precision(
    scenario: Scenario,
    required: Iterable[Precision],
    engine: str = "packet",
    *,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    model: str | None = None,
) -> Report:
    """Run replications until every requested half width is reached.

    Parameters
    ----------
    scenario : Scenario
        Scenario to run; its own number of replications is the least.
    required : iterable of Precision
        At least one requested half width.
    engine, seed, jobs, progress, model
        As in `Scenario.run`.

    Returns
    -------
    Report
        Report with the number of replications; a warning names the half widths that 1,000 of them did not reach. The
        report has the warnings of `Scenario.run`, too.
    """
    from forebay.results.statistics import replications_for

    goals = tuple(required)
    check_exclusive(engine, jobs=jobs)
    seed = integer(scenario.core.seed if seed is None else seed, (0, MOST_SEED), "seed")
    reports: list[Report] = []
    needed = max(FIRST, scenario.core.replications)
    while len(reports) < needed:
        # The number at most doubles, because an early standard deviation may be far off.
        upto = min(needed, max(FIRST, scenario.core.replications, 2 * len(reports)))
        work = [_core.Job(scenario.core, engine, seed, number, model=model) for number in range(len(reports), upto)]
        before, expected = len(reports), needed

        def report_progress(done: int, _all: int, before: int = before, expected: int = expected) -> None:
            if progress is not None:
                progress(before + done, expected)

        reports += run_jobs(work, jobs, report_progress)
        counts = [
            replications_for(
                [_value(goal, report) for report in reports],
                absolute=goal.absolute,
                relative=goal.relative,
            )
            if _positive(goal, reports)
            else len(reports)
            for goal in goals
        ]
        needed = min(MOST, max(len(reports), *counts))
    missed = [warning for goal in goals if (warning := _missed(goal, reports)) is not None]
    found = phase_warnings(scenario.core, engine, len(reports))
    return Report.over(reports, scenario.resolved).warned([*missed, *found])


def _missed(goal: Precision, reports: Sequence[Report]) -> Warning | None:
    """The warning for an interval that is wider than requested; None for one that is not."""
    from forebay.results.statistics import mean_interval

    interval = mean_interval([_value(goal, report) for report in reports])
    allowed = goal.absolute if goal.absolute is not None else (goal.relative or 0.0) * abs(interval.mean)
    half_width = interval.half_width or 0.0
    if half_width <= allowed * (1 + 1e-9):
        return None
    text = (
        f"{goal.metric}: half width {interval.half_width:.3g} after {len(reports)} replications, "
        f"the required value is {allowed:.3g}"
    )
    values = {"half_width": half_width, "allowed": allowed, "replications": len(reports)}
    return Warning(Kind.IMPRECISE, text, subject=goal.metric, values=values)


def _positive(goal: Precision, reports: Sequence[Report]) -> bool:
    """Whether a relative goal has a mean to be relative to."""
    return goal.absolute is not None or any(_value(goal, report) != 0 for report in reports)


def _value(goal: Precision, report: Report) -> float:
    with naming("precision"):
        return metric_value(goal.metric, report)
