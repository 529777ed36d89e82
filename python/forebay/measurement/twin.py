"""A twin of a scenario with exact hosts: the same runs with hosts whose processing time varies.

Exact hosts keep the phase of a flow relative to the link's transmissions, and the phase decides which flow loses. Runs
with other phases show which metrics depend on that. `recommend`, `check` and `compare` run a twin if the engine warns
that losses repeat their phase (`Kind.SIMULTANEOUS_EVENTS`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from forebay import _core
from forebay.errors import InputError
from forebay.inputs.goals import Goal, metric_value
from forebay.phase_effects import exact
from forebay.results import statistics
from forebay.results.deprecated_names import DeprecatedName, with_deprecated_keys
from forebay.results.metric import NEVER_S, find
from forebay.results.report import Estimate, Report
from forebay.results.serialization import to_jsonable
from forebay.results.warning import Kind, Warning
from forebay.text import formatting

__all__ = ["Twin", "TwinMetric", "in_phase", "twin_of", "varied"]

#: Coverage of the intervals of a twin, and the relative difference below which no difference counts.
CONFIDENCE, WORTH_MENTIONING = 0.99, 0.02
#: Metrics that are compared whatever the goals are: those of the link, and those of each group.
OF_LINK, OF_GROUPS = ("utilization", "loss_rate", "queue_delay_p99_s"), ("goodput_bps",)
#: Number of metrics that are named without their values.
NAMED = 3
#: The warning of runs as part of a sentence.
PHRASE = "many losses occur at the same phase as the previous loss of the flow"

Place = TypeVar("Place")


@dataclass(frozen=True, slots=True)
class TwinMetric:
    """One metric with exact hosts and with hosts that vary.

    Attributes
    ----------
    exact, varied : Estimate
        Means with 99 % Student-t intervals over the runs; without an interval for one run.
    differs : bool
        Whether the difference is larger than its 99 % interval, and than 2 % of the larger value or enough to change
        the verdict on a goal.
    changed_verdicts : tuple of str
        Keys of the goals on this metric whose verdict differs beyond noise.
    """

    exact: Estimate
    varied: Estimate
    differs: bool
    changed_verdicts: tuple[str, ...] = ()

    flips = DeprecatedName("changed_verdicts")

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON."""
        data = {
            "exact": to_jsonable(self.exact),
            "varied": to_jsonable(self.varied),
            "differs": self.differs,
            **({"changed_verdicts": list(self.changed_verdicts)} if self.changed_verdicts else {}),
        }
        return with_deprecated_keys(TwinMetric, data)


@dataclass(frozen=True, slots=True)
class Twin(Generic[Place]):
    """The same runs with hosts that vary, at one buffer.

    Attributes
    ----------
    buffer : BufferSize or Value
        The buffer of the runs, or the value that was searched for.
    runs : int
        Runs of the twin, with the seeds of the runs with exact hosts.
    groups : tuple of str
        Groups whose hosts are exact in the scenario and vary in the twin.
    metrics : mapping
        Every compared metric by its name in the report; a group's as "group.NAME".
    """

    buffer: Place
    runs: int
    groups: tuple[str, ...]
    metrics: Mapping[str, TwinMetric]

    flipped = DeprecatedName("changed_verdicts")

    @property
    def differing(self) -> Mapping[str, TwinMetric]:
        """The metrics that differ beyond noise: first those that flip goals, then those that differ most."""
        found = [(name, metric) for name, metric in self.metrics.items() if metric.differs]
        return dict(
            sorted(found, key=lambda each: (not each[1].changed_verdicts, -_relative(each[1].exact, each[1].varied)))
        )

    @property
    def changed_verdicts(self) -> tuple[str, ...]:
        """Keys of the goals whose verdict differs beyond noise."""
        return tuple(key for metric in self.metrics.values() for key in metric.changed_verdicts)

    def warning(self, place: str) -> Warning:
        """The one message about simultaneous events in these runs.

        Parameters
        ----------
        place : str
            The buffer as part of a sentence, such as "41 packets".
        """
        values = {"runs": float(self.runs)}
        if not self.differing:
            text = f"At {place}, {PHRASE}. Runs with varying hosts (a twin) give the same results within noise."
            return Warning(Kind.SIMULTANEOUS_EVENTS, text, values=values)
        what = "this answer" if self.changed_verdicts else "some metrics of this answer"
        text = (
            f"Simultaneous events decide {what}: {_phrase(self, place)}. Real networks vary: set "
            '`processing = "packet"`.'
        )
        for name, metric in self.differing.items():
            values |= {f"{name}_exact": metric.exact.mean, f"{name}_varied": metric.varied.mean}
        return Warning(Kind.TWIN_DIFFERS, text, values=values)


def in_phase(reports: Iterable[Report]) -> bool:
    """Whether the engine warns of simultaneous events in one of some runs."""
    return any(warning.kind is Kind.SIMULTANEOUS_EVENTS for report in reports for warning in report.warnings)


def varied(scenario: _core.Scenario) -> _core.Scenario:
    """The scenario with hosts that vary by a packet time in place of exact ones."""
    return scenario.with_overrides([f"flows.{name}.processing=packet" for name in _exact_groups(scenario)])


def _exact_groups(scenario: _core.Scenario) -> tuple[str, ...]:
    groups: list[Mapping[str, Any]] = json.loads(scenario.canonical_json())["flows"]
    return tuple(group["name"] for group in groups if exact(group))


def twin_of(
    scenario: _core.Scenario,
    buffer: Place,
    ours: Sequence[Report],
    theirs: Sequence[Report],
    goals: Sequence[Goal] = (),
) -> Twin[Place] | None:
    """Compare runs with exact hosts with those of the twin.

    Parameters
    ----------
    scenario : forebay._core.Scenario
        The scenario with exact hosts.
    buffer : BufferSize or Value
        The buffer of all runs.
    ours, theirs : sequence of Report
        Runs of the scenario and of the twin, at least one of the twin.
    goals : sequence of Goal
        Goals whose verdicts are compared.

    Returns
    -------
    Twin or None
        None if a run of the twin repeats one of the scenario: then the hosts do not vary on this path, as in front of
        a medium that decides when packets leave.
    """
    if not theirs or {_figures(report) for report in ours} & {_figures(report) for report in theirs}:
        return None
    names = dict.fromkeys(
        [
            *(_key(goal.name) for goal in goals),
            *OF_LINK,
            *(f"{group.name}.{metric}" for group in ours[0].groups for metric in OF_GROUPS),
        ]
    )
    metrics = {}
    for name in names:
        values = [_values(name, reports) for reports in (ours, theirs)]
        if all(values):
            metrics[name] = _compared([goal for goal in goals if _key(goal.name) == name], *map(_estimate, values))
    return Twin(buffer, len(theirs), _exact_groups(scenario), metrics)


def _phrase(twin: Twin[Any], place: str) -> str:
    """The differing metrics as sentences without a stop, the first one with its values.

    Such as "with varying hosts, utilization at 9 packets is 97.1 ± 0.2 % instead of 98.6 ± 0.3 %. Loss also differs".
    """
    (name, metric), *others = twin.differing.items()
    ours, theirs = (formatting.estimate(name, each) for each in (metric.exact, metric.varied))
    first = f"with varying hosts, {_title(name)} at {place} is {theirs} instead of {ours}"
    if not others:
        return first
    titles = [_title(name) for name, _ in others[:NAMED]]
    if len(others) > NAMED:
        titles[-1:] = [f"{len(others) - NAMED + 1} other metrics"]
    listed = titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"
    return f"{first}. {formatting.capitalized(listed)} also {'differs' if len(others) == 1 else 'differ'}"


def _key(goal_name: str) -> str:
    """The name in the report of a metric that a goal names."""
    group, dot, metric = goal_name.rpartition(".")
    known = find(metric)
    return f"{group}{dot}{metric if known is None else known.name}"


def _title(name: str) -> str:
    group, _, metric = name.rpartition(".")
    title = formatting.metric_title(metric)
    return f"{title} of `{group}`" if group else title


def _figures(report: Report) -> tuple[float, ...]:
    """Every metric of the link and of the groups."""
    of_groups = (found.mean for group in report.groups for found in group.metrics.values())
    return (*(found.mean for found in report.metrics.values()), *of_groups)


def _values(name: str, reports: Sequence[Report]) -> list[float]:
    """A metric of each run; none if a run lacks it or has a transfer that never ends."""
    try:
        values = [metric_value(name, report) for report in reports]
    except InputError:
        return []
    return [] if NEVER_S in values else values


def _estimate(values: Sequence[float]) -> Estimate:
    interval = statistics.mean_interval(values, CONFIDENCE)
    return Estimate(interval.mean, interval.half_width, CONFIDENCE)


def _compared(goals: Iterable[Goal], ours: Estimate, theirs: Estimate) -> TwinMetric:
    """One metric of both, with the goals on it whose verdicts differ."""
    widths = (ours.half_width, theirs.half_width)
    noise = math.inf if None in widths else math.hypot(*(width or 0.0 for width in widths))
    certain = abs(theirs.mean - ours.mean) > noise
    if not certain:
        return TwinMetric(ours, theirs, differs=False)
    flips = tuple(goal.key for goal in goals if (goal.margin(ours.mean) >= 0) != (goal.margin(theirs.mean) >= 0))
    return TwinMetric(ours, theirs, bool(flips) or _relative(ours, theirs) > WORTH_MENTIONING, flips)


def _relative(ours: Estimate, theirs: Estimate) -> float:
    """The difference in parts of the larger value."""
    largest = max(abs(ours.mean), abs(theirs.mean))
    return abs(theirs.mean - ours.mean) / largest if largest else 0.0
