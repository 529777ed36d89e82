"""The expectation of the atlas for a scenario: exact at its own links, interpolated between them, none beyond."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import pytest

from checks.atlas.cells import Cell
from forebay import Scenario
from forebay.atlas import prior as priors
from forebay.atlas.prior import Place, between, prior
from forebay.atlas.rows import Row, write
from forebay.inputs.goals import Goal
from forebay.search.buffer_variable import BufferVariable
from forebay.search.measurements import Means, Measurements
from forebay.search.plan import Plan
from forebay.search.planning import reach
from forebay.search.quick import QUICK_CONFIDENCE, QuickLook

RATES, ROUND_TRIPS, FLOWS, BACKGROUNDS, AIMS = (1e7, 1e8, 1e9), (0.01, 0.1), (1, 10, 100), (0.0, 0.5), (0.95, 0.99)
MIDDLE = Place(3e8, 0.03, 30, "cubic", 0.2, 0.98)

LINK = """
[link]
rate = "100Mbps"
buffer = "100p"

[[flows]]
name = "bulk"
count = 10
cca = "cubic"
rtt = { linspace = ["41ms", "61ms"] }

[[flows]]
name = "rest"
packet = "1500B"
workload = { poisson = { rate = "25Mbps" } }

[goal]
utilization = ">= 97%"
"""


def power_law(place: Place) -> tuple[float, float]:
    """A buffer that is linear in the logarithms, and its double."""
    unused = 1 - place.utilization
    low = 40 * (place.rate_bps / 1e7) ** 0.5 * (place.rtt_s / 0.01) ** 0.7 * place.flows**-0.3 * unused**-0.2
    return low * math.exp(-0.4 * place.background), 2 * low * math.exp(-0.4 * place.background)


def table() -> list[Row]:
    rows = []
    for rate, rtt, flows, background, aim in itertools.product(RATES, ROUND_TRIPS, FLOWS, BACKGROUNDS, AIMS):
        low, high = power_law(Place(rate, rtt, flows, "cubic", background, aim))
        ends = round(1000 * low), round(1000 * high)
        rows.append(Row(rate, rtt, 0.0, flows, "cubic", background, aim, ends[1], *ends, 0.9, 20, 1))
    return rows


@pytest.mark.parametrize(
    "place",
    [
        MIDDLE,
        Place(1e7, 0.01, 1, "cubic", 0.0, 0.95),
        Place(1e9, 0.1, 100, "cubic", 0.5, 0.99),
        replace(MIDDLE, rate_bps=1e8, flows=10),
        replace(MIDDLE, rtt_s=0.1, background=0.0),
    ],
)
def test_a_power_law_is_met_exactly(place: Place) -> None:
    found = between(place, table())
    assert found is not None
    assert [end / 1000 for end in found] == pytest.approx(power_law(place), rel=1e-4)


@pytest.mark.parametrize(
    "place",
    [
        replace(MIDDLE, rate_bps=0.9e7),
        replace(MIDDLE, rate_bps=1.1e9),
        replace(MIDDLE, rtt_s=0.009),
        replace(MIDDLE, rtt_s=0.11),
        replace(MIDDLE, flows=101),
        replace(MIDDLE, background=0.51),
        replace(MIDDLE, utilization=0.94),
        replace(MIDDLE, utilization=0.995),
        replace(MIDDLE, controller="newreno"),
    ],
    ids=str,
)
def test_outside_the_atlas_there_is_no_prior(place: Place) -> None:
    assert between(place, table()) is None


def test_a_link_without_a_buffer_has_no_prior() -> None:
    rows = [
        replace(row, low_packets=None, high_packets=None) if (row.rate_bps, row.flows) == (1e9, 100) else row
        for row in table()
    ]
    assert between(MIDDLE, rows) is None
    assert between(replace(MIDDLE, rate_bps=0.9e8), rows) is not None
    # On the plane of another link it does not matter.
    assert between(replace(MIDDLE, flows=10), rows) is not None
    assert between(MIDDLE, []) is None


def expected(monkeypatch: pytest.MonkeyPatch, *changes: tuple[str, str]) -> priors.Prior | None:
    monkeypatch.setattr(priors, "read", table)
    scenario = Scenario.parse(LINK).changed(*(("test", key, value) for key, value in changes))
    return prior(scenario, scenario.goals)


def test_a_scenario_is_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    found = expected(monkeypatch)
    assert found is not None
    assert found.place.coordinates() == pytest.approx(Place(1e8, 0.05, 10, "cubic", 0.25, 0.97).coordinates(), rel=0.01)
    assert (found.low, found.high) == pytest.approx([1000 * end for end in power_law(found.place)], rel=1e-3)
    assert str(found) == (
        f"the search began at {found.low} to {found.high} packets, where 10 flows reach 97 % according to the atlas"
    )


def test_links_are_compared_by_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    found = expected(monkeypatch, ("flows.bulk.packet", "3000B"), ("flows.rest.packet", "3000B"))
    assert found is not None
    assert found.place.rate_bps == pytest.approx(0.5e8)
    assert found.place.rtt_s == pytest.approx(0.05, rel=0.02)


@pytest.mark.parametrize(
    "change",
    [
        ("link.queue", "codel"),
        ("flows.bulk.cca", "scalable"),
        ("flows.bulk.workload", '{ finite = { size = "10MB" } }'),
        ("goal.utilization", ">= 100%"),
        ("flows.bulk.rtt", "5ms"),
        # Equal round trips, and very different ones.
        ("flows.bulk.rtt", "50ms"),
        ("flows.bulk.rtt", '{ linspace = ["20ms", "120ms"] }'),
    ],
    ids=str,
)
def test_other_scenarios_have_no_place(monkeypatch: pytest.MonkeyPatch, change: tuple[str, str]) -> None:
    assert expected(monkeypatch) is not None
    assert expected(monkeypatch, change) is None


def test_one_flow_has_one_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    found = expected(monkeypatch, ("flows.bulk.rtt", "50ms"), ("flows.bulk.count", "1"))
    assert found is not None
    assert "where one flow reaches 97 % according to the atlas" in str(found)


def test_goals_on_other_metrics_have_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priors, "read", table)
    scenario = Scenario.parse(LINK.replace('utilization = ">= 97%"', 'queue_delay_p99 = "<= 5ms"'))
    assert prior(scenario, scenario.goals) is None


def test_a_damaged_table_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "atlas.csv"
    write(table(), path)
    path.write_bytes(path.read_bytes()[:-50])
    monkeypatch.setattr(priors.read, "__defaults__", (path,))
    scenario = Scenario.parse(LINK)
    assert prior(scenario, scenario.goals) is None
    path.unlink()
    assert prior(scenario, scenario.goals) is None


@pytest.mark.parametrize(
    ("cell", "utilization"),
    [
        (Cell(30e6, 0.05, 20, "cubic", 0.2), 0.97),
        (Cell(50e6, 0.02, 50, "newreno", 0.0), 0.98),
        (Cell(60e6, 0.05, 150, "bbr3", 0.4), 0.97),
    ],
    ids=str,
)
def test_what_lies_between_links_is_found_by_simulation(cell: Cell, utilization: float) -> None:
    """With other draws and without looking there first."""
    found = prior(
        cell.scenario().changed(("test", "goal.utilization", f">= {utilization}")),
        [Goal("utilization", ">=", utilization)],
    )
    assert found is not None
    largest, ceiling = reach(cell.bdp)
    plan = Plan(smallest=1, largest=largest, ceiling=ceiling, confidence=QUICK_CONFIDENCE)
    measure = Measurements(BufferVariable(cell.scenario(seed=99)), Means("packet"))
    outcome = QuickLook(measure, [Goal("utilization", ">=", utilization)], plan).run()
    assert outcome.lower_end is not None
    low, high = outcome.lower_end
    assert found.low / 1.5 <= high
    assert low <= 1.5 * found.high
    assert found.high <= 3 * found.low
