"""A scenario whose number of flows, round trips or background is off by a factor.

`variations` searches such scenarios; `scaling` scales a link by the same functions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from forebay._core import split_quantity
from forebay.scenario import Scenario

__all__ = ["VARIATIONS", "listed", "scaled_count", "scaled_quantities", "vary", "workload_kind"]

#: Quantities that may be off, in the order of the table.
VARIATIONS = ("flows", "rtt", "load")


def vary(scenario: Scenario, what: str, factor: float) -> Scenario | None:
    """Return the scenario with one property scaled, or None where it has nothing to scale.

    Parameters
    ----------
    scenario : Scenario
        The scenario to scale.
    what : {"flows", "rtt", "load"}
        "flows": the number of responsive flows and users, rounded; "rtt": every propagation round trip; "load": the
        rate of unresponsive groups and of open-loop arrivals.
    factor : float
        1.2 for 20 % more.

    Returns
    -------
    Scenario or None
        None also where rounding leaves everything as it was, and where flows are listed one by one.
    """
    tables: dict[str, Any] = json.loads(scenario.core.canonical_json())
    changed = [_SCALE[what](group, factor) for group in tables["flows"]]
    if not any(changed):
        return None
    return scenario.with_core(Scenario.of(tables, name=scenario.title or "scenario").core)


def _scale_flows(group: dict[str, Any], factor: float) -> bool:
    kind = workload_kind(group)
    counted = {"closed_loop": "users", "incast": "servers"}.get(kind)
    if counted is not None:
        body = group["workload"][kind]
        before, body[counted] = body[counted], scaled_count(body[counted], factor)
        if "count" in group:  # of an incast, whose servers are its flows
            group["count"] = body[counted]
        return bool(before != body[counted])
    if (
        kind not in {"persistent", "finite", "periodic", "app_limited"}
        or listed(group.get("rtt"))
        or listed(group.get("start"))
    ):
        return False
    before, group["count"] = group["count"], scaled_count(group["count"], factor)
    return bool(before != group["count"])


def scaled_count(count: Any, factor: float) -> Any:
    """Scale a number of flows or the law of one."""
    if isinstance(count, dict):
        ((kind, body),) = count.items()
        if kind == "poisson":
            return {kind: body * factor}
        return {kind: [max(1, round(number * factor)) for number in body]}
    return max(1, round(count * factor))


def _scale_rtt(group: dict[str, Any], factor: float) -> bool:
    if "rtt" not in group:
        return False
    group["rtt"] = scaled_quantities(group["rtt"], factor)
    return True


def _scale_load(group: dict[str, Any], factor: float) -> bool:
    kind = workload_kind(group)
    if kind in {"poisson", "cbr", "app_limited"}:
        body = group["workload"][kind]
        body["rate"] = scaled_quantities(body["rate"], factor)
    elif kind == "on_off":
        body = group["workload"][kind]
        body["peak"] = scaled_quantities(body["peak"], factor)
    elif kind == "open_loop":
        body = group["workload"][kind]
        body["interarrival"] = scaled_quantities(body["interarrival"], 1 / factor)
    elif kind == "periodic":
        body = group["workload"][kind]
        body["every"] = scaled_quantities(body["every"], 1 / factor)
    else:
        return False
    return True


_SCALE = {"flows": _scale_flows, "rtt": _scale_rtt, "load": _scale_load}


def workload_kind(group: Mapping[str, Any]) -> str:
    """Return the name of a group's workload."""
    workload = group["workload"]
    return workload if isinstance(workload, str) else str(next(iter(workload)))


def listed(law: Any) -> bool:
    """Whether a law names the flows one by one."""
    return isinstance(law, list) or (isinstance(law, dict) and "list" in law)


def scaled_quantities(law: Any, factor: float) -> Any:
    """Scale every quantity with a unit inside of a law; shapes, weights and probabilities have none."""
    if isinstance(law, str):
        split = split_quantity(law)
        return law if split is None or not split[1] else f"{split[0] * factor:.12g}{split[1]}"
    if isinstance(law, list):
        return [scaled_quantities(part, factor) for part in law]
    if isinstance(law, dict):
        return {key: scaled_quantities(part, factor) for key, part in law.items()}
    return law
