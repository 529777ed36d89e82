"""Metrics by their names: the unit and the better direction of each, as the core declares them."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import cache

from forebay._core import Metric, american, metrics

__all__ = ["NEVER_S", "Metric", "find", "key_among", "unit_of"]

#: Completion time of transfers if none ended, in seconds: a goal on it is missed, and a mean of it stays finite.
NEVER_S = 1e6


@cache
def _by_name() -> Mapping[str, Metric]:
    known = metrics()
    return {metric.goal_name: metric for metric in known} | {metric.name: metric for metric in known}


def find(name: str) -> Metric | None:
    """The metric of this name in a report or a goal, also after "group."; None for other names."""
    return _by_name().get(american(name.rpartition(".")[2]))


def unit_of(name: str) -> str:
    """The unit of a metric by its name; "number" for other names."""
    found = find(name)
    return "number" if found is None else found.unit


def key_among(name: str, keys: Container[str]) -> str | None:
    """The key of a report that matches a name with or without its unit, or None."""
    if name in keys:
        return name
    found = find(name)
    return found.name if found is not None and "." not in name and found.name in keys else None
