"""Growth: every kind of workload grows in what makes its traffic, and stays a valid scenario."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forebay.fleets.growth import Growth, grown
from forebay.scenario import Scenario

FLOWS = {"name": "a", "cca": "newreno", "rtt": "20ms"}
UNRESPONSIVE = {"name": "a"}


def resolved(group: dict[str, Any], factor: float | None = None) -> dict[str, Any]:
    """The group as the core reads it, after growth by a factor."""
    link = {"rate": "100Mbps", "buffer": "100p"}
    text = json.dumps({"link": link, "flows": [group], "goal": {"utilization": ">= 90%"}})
    core = Scenario.parse(text if factor is None else grown(text, factor), "json", name="grown").core
    (found,) = json.loads(core.canonical_json())["flows"]
    assert isinstance(found, dict)
    return found


def of(kind: str, **body: Any) -> dict[str, Any]:
    return {"workload": {kind: body}}


@pytest.mark.parametrize(
    ("group", "twice"),
    [
        (FLOWS, {**FLOWS, "count": 2}),
        ({**FLOWS, "count": 3}, {**FLOWS, "count": 6}),
        ({**FLOWS, "count": {"poisson": 10}}, {**FLOWS, "count": {"poisson": 20}}),
        ({**FLOWS, "count": {"uniform": [2, 9]}}, {**FLOWS, "count": {"uniform": [4, 18]}}),
        ({**FLOWS, **of("finite", size="1MB")}, {**FLOWS, "count": 2, **of("finite", size="1MB")}),
        (
            {**FLOWS, **of("closed_loop", users=4, think="1s", size="50kB")},
            {**FLOWS, **of("closed_loop", users=8, think="1s", size="50kB")},
        ),
        (
            {**FLOWS, "count": 4, **of("closed_loop", users=4, think="1s", size="50kB")},
            {**FLOWS, **of("closed_loop", users=8, think="1s", size="50kB")},
        ),
        (
            {**FLOWS, **of("closed_loop", users={"poisson": 7}, think="1s", size="50kB")},
            {**FLOWS, **of("closed_loop", users={"poisson": 14}, think="1s", size="50kB")},
        ),
        (
            {**FLOWS, **of("incast", servers=8, pause="10ms", size="50kB")},
            {**FLOWS, **of("incast", servers=16, pause="10ms", size="50kB")},
        ),
        (
            {**FLOWS, "count": 8, **of("incast", servers=8, pause="10ms", size="50kB")},
            {**FLOWS, **of("incast", servers=16, pause="10ms", size="50kB")},
        ),
        (
            {**FLOWS, **of("open_loop", interarrival={"exponential": "10ms"}, size="50kB")},
            {**FLOWS, **of("open_loop", interarrival={"exponential": "5ms"}, size="50kB")},
        ),
        (
            {**FLOWS, **of("open_loop", load=0.3, size="50kB")},
            {**FLOWS, **of("open_loop", load=0.6, size="50kB")},
        ),
        (
            {**FLOWS, **of("open_loop", rate="20Mbps", size="50kB")},
            {**FLOWS, **of("open_loop", rate="40Mbps", size="50kB")},
        ),
        (
            {**FLOWS, "count": 3, **of("periodic", every="2s", size="1MB")},
            {**FLOWS, "count": 3, **of("periodic", every="1s", size="1MB")},
        ),
        (
            {**FLOWS, **of("app_limited", rate="1Mbps")},
            {**FLOWS, **of("app_limited", rate="2Mbps")},
        ),
        ({**UNRESPONSIVE, **of("poisson", rate="10Mbps")}, {**UNRESPONSIVE, **of("poisson", rate="20Mbps")}),
        ({**UNRESPONSIVE, **of("cbr", rate="10Mbps")}, {**UNRESPONSIVE, **of("cbr", rate="20Mbps")}),
        (
            {**UNRESPONSIVE, **of("on_off", peak="10Mbps", on="1s", off="1s")},
            {**UNRESPONSIVE, **of("on_off", peak="20Mbps", on="1s", off="1s")},
        ),
        ({**UNRESPONSIVE, "workload": "voip"}, {**UNRESPONSIVE, "workload": "voip", "count": 2}),
    ],
)
def test_twice_the_traffic_is_a_valid_scenario_with_twice_of_what_makes_it(
    group: dict[str, Any], twice: dict[str, Any]
) -> None:
    assert resolved(group, 2) == resolved(twice)
    assert resolved(group, 1) == resolved(group)


def test_a_share_grows_each_year_by_the_year_before() -> None:
    assert Growth.parse("100%").years == ((1, 2.0), (2, 4.0), (3, 8.0), (4, 16.0), (5, 32.0))
