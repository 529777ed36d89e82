"""Goals: what a buffer has to achieve, read from the scenario's resolved `goal` table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from forebay.errors import InputError

__all__ = ["Goal", "curve_estimate", "curve_key", "metric_value", "report_key"]

Sense = Literal[">=", "<="]

#: Goals name a metric without its unit; reports carry the unit in the key.
UNIT_SUFFIXES = ("", "_s", "_bps", "_packets")


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


def report_key(name: str, metrics: Mapping[str, Any]) -> str | None:
    """The key under which a report carries a metric that a goal names without its unit, or None."""
    for suffix in UNIT_SUFFIXES:
        if name + suffix in metrics:
            return name + suffix
    return None


def curve_key(name: str, point: Mapping[str, Any]) -> str | None:
    """The name with its unit that a point of a recommendation's curve has for a goal, or None.

    Parameters
    ----------
    name : str
        A metric or "group.metric", without its unit.
    point : mapping
        With `metrics` and, by group, `groups`.
    """
    group, dot, metric = name.rpartition(".")
    if not dot:
        return report_key(metric, point["metrics"])
    key = report_key(metric, point["groups"].get(group, {}))
    return None if key is None else f"{group}.{key}"


def curve_estimate(point: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """What a point of a recommendation's curve says under a key that `curve_key` gave, or None."""
    group, dot, metric = key.rpartition(".")
    metrics: Mapping[str, Any] = point["groups"].get(group, {}) if dot else point["metrics"]
    found: Mapping[str, Any] | None = metrics.get(metric)
    return found


def metric_value(goal_name: str, report: Mapping[str, Any]) -> float:
    """Look up what one report says about the metric that a goal names.

    Parameters
    ----------
    goal_name : str
        A metric, or "group.metric".
    report : mapping
        A report of design section 3.

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
    metrics: Mapping[str, Any] = report["metrics"]
    if dot:
        groups = {group["name"]: group for group in report["groups"]}
        if group_name not in groups:
            raise InputError(
                f"goal `{goal_name}`: no flow group is named `{group_name}`; groups: {', '.join(groups) or 'none'}"
            )
        group = groups[group_name]
        if metric.startswith("completion_time_") and group.get("completion_time_s"):
            times: Mapping[str, Any] = group["completion_time_s"]
            quantile = metric.removeprefix("completion_time_")
            if times.get(quantile) is not None:
                return float(times[quantile])
        if metric.startswith("completion_time_") and group.get("completed") == 0:
            return NEVER_S
        if metric.startswith("flow_goodput_"):
            rates: Mapping[str, Any] = group.get("flow_goodput_bps") or {}
            quantile = metric.removeprefix("flow_goodput_")
            if rates.get(quantile) is not None:
                return float(rates[quantile])
        metrics = group["metrics"]
    key = report_key(metric, metrics)
    if key is None:
        found = ", ".join(metrics) or "none"
        raise InputError(
            f"goal `{goal_name}`: the {report['engine']} engine does not report it here; it reports: {found}"
        )
    return float(metrics[key]["mean"])
