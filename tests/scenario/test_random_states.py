"""The random states of a scenario and their values as Python gets them; their laws are tested in Rust."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay import Scenario, _core
from forebay import phase_effects as cautions
from tests.support.paths import ROOT

FLOOD = """
[link]
rate = "10Mbps"
buffer = "50p"
[[flows]]
name = "steady"
rtt = "40ms"
count = { choice = [1, 1, 1, 30] }
[[flows]]
name = "burst"
workload = { on_off = { peak = "20Mbps", on = { exponential = "1s" }, off = { exponential = "300s" } } }
[[flows]]
name = "users"
rtt = "40ms"
workload = { closed_loop = { users = 2, think = { exponential = "500s" }, size = "1MB" } }
[run]
warmup = "5s"
measure = "20s"
"""


def scenario(text: str = FLOOD) -> _core.Scenario:
    return _core.Scenario.parse(text, "toml", "flood.toml", [])


def test_a_state_says_its_key_how_rare_it_is_and_whether_its_values_are_known() -> None:
    count, burst, users = scenario().random_states()
    assert count == {
        "key": "flows.steady.count",
        "kind": "count",
        "cycle_s": None,
        "duration_s": None,
        "share": 0.25,
        "sampled": True,
        "phrase": "The number of flows of group `steady`",
    }
    assert burst["key"] == "flows.burst.workload.on_off"
    assert burst["kind"] == "on_off"
    assert (burst["cycle_s"], burst["duration_s"]) == (301, 1)
    assert burst["share"] == pytest.approx(1 / 301, rel=1e-12)
    assert burst["phrase"] == "A burst of group `burst` every 301 s"
    assert (users["kind"], users["sampled"], users["cycle_s"]) == ("closed_loop", False, 250)


def test_values_are_those_of_the_sampled_states_in_the_order_of_the_replications() -> None:
    flood = scenario()
    numbers = [*range(1000), 2**63]
    values = flood.state_values(1, numbers)
    assert [len(row) for row in values] == [2] * len(numbers)
    assert {row[0] for row in values} == {1, 30}
    assert any(row[1] > 0 for row in values)
    # A few are not drawn in a thread of their own.
    assert flood.state_values(1, numbers[::-1][:3]) == values[::-1][:3]
    assert flood.state_values(2, numbers) != values
    assert flood.with_packets(400).state_values(1, numbers) == values
    assert flood.state_values(1, []) == []


def test_sources_that_exceed_the_rate_together_have_an_overload() -> None:
    group = """
[[flows]]
start = { uniform = ["0s", "20s"] }
workload = { on_off = { peak = "8Mbps", on = "1s", off = "100s" } }
"""
    text = f'[link]\nrate = "10Mbps"\nbuffer = "50p"{group}{group}[run]\nwarmup = "0s"\nmeasure = "30s"'
    core = scenario(text)
    *_, overload = core.random_states()
    assert overload == {
        "key": "link.rate",
        "kind": "overload",
        "cycle_s": 50.5,
        "duration_s": None,
        "share": None,
        "sampled": True,
        "phrase": "The overload of link `link`",
    }
    values = [row[-1] for row in core.state_values(1, range(1000))]
    # Two bursts of 1 s offer 6 Mb/s too much.
    assert 0 < max(values) <= 0.6
    assert min(values) == 0
    assert cautions.rare_states(core, "packet", 1) != []
    assert all(warning.subject != "link.rate" for warning in cautions.rare_states(core, "packet", 1))
    apart = scenario(text.replace("10Mbps", "16Mbps"))
    assert all(state["kind"] != "overload" for state in apart.random_states())


def test_a_number_that_is_no_replication_is_refused() -> None:
    for numbers in ([-1], [2**64]):
        with pytest.raises(OverflowError):
            scenario().state_values(1, numbers)


@pytest.mark.parametrize("file", sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda file: file.stem)
def test_every_bundled_scenario_has_values_for_its_states(file: Path) -> None:
    core = Scenario.load(file).core
    sampled = sum(state["sampled"] for state in core.random_states())
    for row in core.state_values(1, range(100)):
        assert len(row) == sampled
        assert all(value >= 0 for value in row)
