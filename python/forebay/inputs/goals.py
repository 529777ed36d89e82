"""Goals: what a buffer has to achieve, read from the scenario's resolved `goal` table."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from forebay._core import unknown
from forebay.errors import ContradictionError, InputError
from forebay.results.metric import NEVER_S, find, key_among
from forebay.results.report import GroupReport, Report

__all__ = ["Goal", "check_bounds", "distinct", "metric_of_goal", "metric_value", "parts_of_key", "split_goal"]

Sense = Literal[">=", "<="]

#: End of the key of a goal that shares its metric with others.
BOUND = re.compile(r"(>=|<=)(-?[0-9][0-9.e+-]*)$")

#: Metrics that are a share of the packets that arrived.
OF_ARRIVALS = frozenset({"loss_rate", "mark_rate"})


@dataclass(frozen=True, slots=True)
class Goal:
    """One threshold on one metric.

    Attributes
    ----------
    name : str
        Name as written in the scenario: "utilization", "queue_delay_p99", "background.loss_rate".
    sense : {">=", "<="}
        Side of the threshold on which the goal is met.
    threshold : float
        Threshold in the metric's base unit: a fraction, seconds, bits per second, packets.
    key : str
        Key in answers: the name, or "utilization>=0.7" if several goals are about one metric (`distinct`).
    """

    name: str
    sense: Sense
    threshold: float
    key: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.key:
            object.__setattr__(self, "key", self.name)

    def to_dict(self) -> dict[str, Any]:
        """The goal as it was requested, in the form of the JSON."""
        return {"name": self.name, "sense": self.sense, "threshold": self.threshold}

    def margin(self, value: float) -> float:
        """The distance of `value` to the threshold on the good side; negative if the goal is missed."""
        return value - self.threshold if self.sense == ">=" else self.threshold - value


def split_goal(text: str) -> tuple[str, Sense, str]:
    """Split "utilization>=0.99" into metric, sense and threshold.

    Raises
    ------
    InputError
        If one of the three is missing.
    """
    for sense in (">=", "<="):
        name, found, threshold = (part.strip() for part in text.partition(sense))
        if found and name and threshold and not set('<>="') & set(name + threshold):
            return name, sense, threshold
    allowed = "METRIC>=VALUE or METRIC<=VALUE, as in utilization>=0.99"
    raise InputError(f"found `{text}`; allowed: {allowed}", "goals")


def metric_of_goal(goal: str) -> str:
    """The metric or "group.metric" of a goal, by the name that the scenario gives it."""
    group, dot, metric = split_goal(goal)[0].rpartition(".")
    known = find(metric)
    return f"{group}{dot}{metric if known is None else known.goal_name}"


def distinct(goals: Iterable[Goal]) -> list[Goal]:
    """The goals without duplicates, each under a key of its own.

    A goal that is alone on its metric keeps its key, which is its name. The keys of others have side and threshold,
    too.
    """
    once = list(dict.fromkeys(goals))
    shared = Counter(goal.name for goal in once)
    return [
        goal
        if shared[goal.name] == 1
        else dataclasses.replace(goal, key=f"{goal.name}{goal.sense}{float(goal.threshold)!r}")
        for goal in once
    ]


def parts_of_key(key: str) -> tuple[str, Sense | None, float | None]:
    """The metric or "group.metric" of a goal's key, and its bound if the key has one."""
    bound = BOUND.search(key)
    if bound is None:
        return key, None, None
    return key[: bound.start()], ">=" if bound[1] == ">=" else "<=", float(bound[2])


def check_bounds(goals: Iterable[tuple[Goal, str]], places: Mapping[str, str] | None = None) -> None:
    """Refuse two bounds on one metric that no value can meet both.

    Parameters
    ----------
    goals : iterable of (Goal, str)
        Each goal with its text, as it was requested.
    places : mapping, optional
        File, line and key of goals that come from a file, by their names.

    Raises
    ------
    ContradictionError
        If there is such a metric; the text names the highest lower and the lowest upper bound of the first one.
    """
    by_name: dict[str, list[tuple[Goal, str]]] = {}
    for goal, text in goals:
        by_name.setdefault(goal.name, []).append((goal, text))
    for requested in by_name.values():
        lower = max((it for it in requested if it[0].sense == ">="), key=lambda it: it[0].threshold, default=None)
        upper = min((it for it in requested if it[0].sense == "<="), key=lambda it: it[0].threshold, default=None)
        if lower is not None and upper is not None and lower[0].threshold > upper[0].threshold:
            place = (places or {}).get(lower[0].name)
            text = f"found `{lower[1]}` and `{upper[1]}`: no value can meet both"
            raise ContradictionError(text, "goals") if place is None else ContradictionError(f"{place}: {text}")


def metric_value(goal_name: str, report: Report) -> float:
    """Look up the metric that a goal names in one report.

    Parameters
    ----------
    goal_name : str
        A metric, or "group.metric".
    report : Report
        Report of one replication or several.

    Returns
    -------
    float
        The mean of the metric.

    Raises
    ------
    InputError
        If the report has no such group or metric; the message lists those it has.
    """
    group_name, dot, metric = goal_name.rpartition(".")
    metrics = report.metrics
    if dot:
        group = next((group for group in report.groups if group.name == group_name), None)
        if group is None:
            raise InputError(unknown("group", group_name, [group.name for group in report.groups]))
        quantile = _quantile(metric, group)
        if quantile is not None:
            return quantile
        metrics = group.metrics
    key = key_among(metric, metrics)
    if key is None:
        if find(metric) is None:
            raise InputError(unknown("metric", metric, list(metrics)))
        raise InputError(_missing(goal_name, report.engine, list(metrics)))
    return float(metrics[key].mean)


def _missing(goal_name: str, engine: str, reported: Sequence[str]) -> str:
    """The error text for a metric that a run did not report, with the reason."""
    group, dot, metric = goal_name.rpartition(".")
    if metric == "drain_time_max":
        why = "the link's rate did not fall in the measured time of the run"
    elif metric in OF_ARRIVALS or metric.startswith("queue_delay_"):
        of = f" of group `{group}`" if dot else ""
        why = f"no packet{of} arrived in the measured time of the run"
    else:
        why = "nothing that it counts happened in the measured time of the run, or the engine does not report it"
    cure = "measure for longer (`run.measure`), or set a goal on another metric"
    found = ", ".join(reported) or "none"
    return f"a run of the {engine} engine has no `{goal_name}`: {why}; {cure}; the run reports: {found}"


def _quantile(metric: str, group: GroupReport) -> float | None:
    """A quantile over a group's transfers or flows; `NEVER_S` if no transfer ended, None for no such metric."""
    for family, quantiles in (
        ("completion_time_", group.completion_time_s),
        ("flow_goodput_", group.flow_goodput_bps),
    ):
        if metric.startswith(family):
            found = quantiles.get(metric.removeprefix(family))
            if found is not None:
                return float(found)
    return NEVER_S if metric.startswith("completion_time_") and group.completed == 0 else None
