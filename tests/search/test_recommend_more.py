"""Sensitivity and trade-offs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay import InputError, Scenario, recommend
from forebay.search.sensitivity import vary
from forebay.search.tradeoff import front
from tests.support.commands import forebay
from tests.support.scenarios import SMALL


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario.parse(SMALL)


def test_vary_scales_one_property_and_leaves_the_rest(scenario: Scenario) -> None:
    slower = vary(scenario, "rtt", 1.2)
    assert slower is not None
    assert slower.resolved["flows"][0]["rtt"] == "48ms"
    assert slower.core.bdp_packets == pytest.approx(1.2 * (scenario.core.bdp_packets or 0))
    busier = vary(scenario, "load", 1.2)
    assert busier is not None
    assert busier.core.background_load == pytest.approx(1.2 * scenario.core.background_load)
    assert busier.core.bdp_packets == scenario.core.bdp_packets
    assert vary(scenario, "flows", 1.2) is None, "one flow cannot be 20 % more"
    ten = vary(scenario.changed("flows.bulk.count=10"), "flows", 1.2)
    assert ten is not None
    assert ten.core.persistent_flows == 12


@pytest.mark.parametrize(
    "law",
    ['{ uniform = ["10ms", "20ms"] }', '["10ms"]', '{ exponential = "10ms" }', '{ choice = ["10ms", "20ms"] }'],
)
def test_vary_scales_every_law(scenario: Scenario, law: str) -> None:
    before = scenario.changed(f"flows.bulk.start={law}")
    tables = before.resolved
    assert vary(before, "rtt", 2.0) is not None
    assert vary(before, "rtt", 2.0).resolved["flows"][0]["start"] == tables["flows"][0]["start"]  # type: ignore[union-attr]


def test_sensitivity_searches_each_variation(small: Path) -> None:
    change = ["--set", "flows.bulk.rtt=200ms", "--goal", "utilization>=0.9", "--goal", "queue_delay_p99<=1s"]
    answer = json.loads(forebay("recommend", small, *change, "--sensitivity", "--json", "--no-picture").out)
    found = answer["sensitivity"]
    assert [(entry["quantity"], entry["factor"]) for entry in found] == [
        ("rtt", 0.8),
        ("rtt", 1.2),
        ("load", 0.8),
        ("load", 1.2),
    ]
    packets = [entry["recommendation"]["packets"] for entry in found]
    assert packets[0] < packets[1], "the bandwidth-delay product is half as large again"
    assert packets[0] <= answer["recommendation"]["packets"] * 1.1


def test_front_keeps_what_nothing_beats(scenario: Scenario) -> None:
    answer = recommend(scenario)
    found = front(answer, "utilization, queue_delay_p99")
    retained = [point for point in found.points if point.on_front]
    assert retained
    values = [(point.measured["utilization"].mean, point.measured["queue_delay_p99_s"].mean) for point in retained]
    # Along the front more utilization always costs more delay.
    assert [delay for _, delay in sorted(values)] == sorted(delay for _, delay in values)
    for point in found.points:
        if not point.on_front:
            mine = (point.measured["utilization"].mean, point.measured["queue_delay_p99_s"].mean)
            assert any(better[0] >= mine[0] and better[1] <= mine[1] for better in values)
    with pytest.raises(InputError, match="two metrics"):
        front(answer, "utilization")
    with pytest.raises(InputError, match="unknown metric `speed`"):
        front(answer, "utilization,speed")
