"""Sequential stopping: as many replications as a wanted half width needs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from forebay import _core
from forebay.errors import InputError
from forebay.goals import metric_value
from forebay.report import Report
from forebay.scenario import Progress, Scenario, run_jobs

__all__ = ["Precision", "run_to_precision"]

#: Replications of the first look, and the most that are ever run.
FIRST, MOST = 4, 1000

_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "p": 1.0, "bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9}
_WANTED = re.compile(r"^(?:(?P<metric>[^=]+)=)?(?P<value>[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(?P<unit>%|[A-Za-z]*)$")


@dataclass(frozen=True, slots=True)
class Precision:
    """A wanted half width of one metric's 95 % interval.

    Attributes
    ----------
    metric : str
        As in goals: "utilization", "background.loss_rate".
    relative, absolute : float or None
        One of them: a fraction of the mean, or in the metric's unit.
    """

    metric: str
    relative: float | None
    absolute: float | None

    @classmethod
    def parse(cls, text: str) -> Precision:
        """Read "1%", "loss_rate=5%" or "queue_delay_p99=0.5ms"; without a metric utilization is meant."""
        match = _WANTED.match(text.strip())
        unit = match["unit"] if match else ""
        if match is None or (unit != "%" and unit not in _UNITS) or not float(match["value"]) > 0:
            raise InputError(f"--precision: found `{text}`; allowed: 1%, METRIC=5% or METRIC=0.5ms")
        metric, value = (match["metric"] or "utilization").strip(), float(match["value"])
        return cls(metric, value / 100, None) if unit == "%" else cls(metric, None, value * _UNITS[unit])


def run_to_precision(
    scenario: Scenario,
    wanted: Iterable[Precision],
    engine: str = "packet",
    *,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    model: str | None = None,
) -> Report:
    """Run replications until every wanted half width is reached.

    Parameters
    ----------
    scenario : Scenario
        What to run; its own number of replications is the least.
    wanted : iterable of Precision
        At least one.
    engine, seed, jobs, progress, model
        As in `Scenario.run`.

    Returns
    -------
    Report
        Its replications say how many it took; a warning names what 1,000 of them did not reach.
    """
    from forebay.statistics import mean_interval, replications_for

    goals = tuple(wanted)
    seed = scenario.core.seed if seed is None else seed
    reports: list[_core.Report] = []
    data: list[dict[str, object]] = []
    needed = max(FIRST, scenario.core.replications)
    while len(reports) < needed:
        # At most doubling: an early standard deviation may be far off.
        upto = min(needed, max(FIRST, scenario.core.replications, 2 * len(reports)))
        work = [_core.Job(scenario.core, engine, seed, number, model=model) for number in range(len(reports), upto)]
        before, expected = len(reports), needed

        def tell(done: int, _all: int, before: int = before, expected: int = expected) -> None:
            if progress is not None:
                progress(before + done, expected)

        reports += run_jobs(work, jobs, tell)
        data += [json.loads(report.json()) for report in reports[len(data) :]]
        counts = [
            replications_for(
                [metric_value(goal.metric, report) for report in data],
                absolute=goal.absolute,
                relative=goal.relative,
            )
            if _positive(goal, data)
            else len(data)
            for goal in goals
        ]
        needed = min(MOST, max(len(reports), *counts))
    answer = Report(_core.aggregate(reports))
    for goal in goals:
        interval = mean_interval([metric_value(goal.metric, report) for report in data])
        allowed = goal.absolute if goal.absolute is not None else (goal.relative or 0.0) * abs(interval.mean)
        if (interval.half_width or 0.0) > allowed * (1 + 1e-9):
            answer.data["warnings"].append(
                f"{goal.metric}: half width {interval.half_width:.3g} after {len(reports)} replications, "
                f"{allowed:.3g} was asked for"
            )
    return answer


def _positive(goal: Precision, data: list[dict[str, object]]) -> bool:
    """Whether a relative goal has a mean to be relative to."""
    return goal.absolute is not None or any(metric_value(goal.metric, report) != 0 for report in data)
