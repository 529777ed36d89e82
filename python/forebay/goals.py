"""Goals: what a buffer has to achieve, read from the scenario's resolved `goal` table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from forebay._core import unknown
from forebay.errors import InputError
from forebay.metric import find, key_among
from forebay.report import GroupReport, Report

__all__ = ["Goal", "metric_value", "split_goal"]

Sense = Literal[">=", "<="]

#: Completion time of transfers none of which ended: a goal on it is missed, and a mean of it stays finite.
NEVER_S = 1e6


@dataclass(frozen=True, slots=True)
class Goal:
    """One threshold on one metric.

    Attributes
    ----------
    name : str
        As written in the scenario: "utilization", "queue_delay_p99", "background.loss_rate".
    sense : {">=", "<="}
        Which side of the threshold is good.
    threshold : float
        In the metric's base unit: a fraction, seconds, bits per second, packets.
    """

    name: str
    sense: Sense
    threshold: float

    def margin(self, value: float) -> float:
        """By how much `value` is on the good side; negative where the goal is missed."""
        return value - self.threshold if self.sense == ">=" else self.threshold - value


def split_goal(text: str) -> tuple[str, Sense, str]:
    """Split "utilization>=0.99" into metric, sense and threshold.

    Raises
    ------
    InputError
        Where one of the three is missing.
    """
    for sense in (">=", "<="):
        name, found, threshold = (part.strip() for part in text.partition(sense))
        if found and name and threshold and not set('<>="') & set(name + threshold):
            return name, sense, threshold
    allowed = "METRIC>=VALUE or METRIC<=VALUE, as in utilization>=0.99"
    raise InputError(f"found `{text}`; allowed: {allowed}", "goals")


def metric_value(goal_name: str, report: Report) -> float:
    """Look up what one report says about the metric that a goal names.

    Parameters
    ----------
    goal_name : str
        A metric, or "group.metric".
    report : Report
        Of one replication or several.

    Returns
    -------
    float
        The mean of the metric.

    Raises
    ------
    InputError
        Where the report has no such group or metric; the message lists those it has.
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
        found = ", ".join(metrics) or "none"
        raise InputError(f"the {report.engine} engine does not report `{goal_name}` here; it reports: {found}")
    return float(metrics[key].mean)


def _quantile(metric: str, group: GroupReport) -> float | None:
    """A quantile over a group's transfers or flows, or None where the metric is none."""
    for family, quantiles in (
        ("completion_time_", group.completion_time_s),
        ("flow_goodput_", group.flow_goodput_bps),
    ):
        if metric.startswith(family):
            found = quantiles.get(metric.removeprefix(family))
            if found is not None:
                return float(found)
    return NEVER_S if metric.startswith("completion_time_") and group.completed == 0 else None
