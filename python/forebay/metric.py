"""Metrics by their names: what each is counted in and which way is better, as the core declares it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import cache

from forebay._core import Metric, american, metrics

__all__ = ["NEVER_S", "Metric", "find", "key_among", "unit_of"]

#: Completion time of transfers none of which ended: a goal on it is missed, and a mean of it stays finite.
NEVER_S = 1e6


@cache
def _named() -> Mapping[str, Metric]:
    known = metrics()
    return {metric.goal_name: metric for metric in known} | {metric.name: metric for metric in known}


def find(name: str) -> Metric | None:
    """The metric that a report or a goal calls so, or calls "group.name"; None for other names."""
    return _named().get(american(name.rpartition(".")[2]))


def unit_of(name: str) -> str:
    """The unit of a metric by its name; "number" for other names."""
    found = find(name)
    return "number" if found is None else found.unit


def key_among(name: str, keys: Container[str]) -> str | None:
    """The one of a report's keys that is meant by a name with or without its unit, or None."""
    if name in keys:
        return name
    found = find(name)
    return found.name if found is not None and "." not in name and found.name in keys else None
