"""Runs are as long as the cycles that a scenario declares, or no verdict is given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay import Scenario, recommend
from forebay.results.warning import URGENT, Kind
from forebay.search.rare_states import MOST_PACKETS, MOST_TIMES, lengthened
from tests.support.commands import forebay
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL

#: A rate that falls once a minute, and runs of eight seconds.
FALLING = """
[link]
rate = { steps = [["0s", "10Mbps"], ["30s", "2Mbps"]], repeat = "60s" }
buffer = "50p"
[[flows]]
name = "bulk"
rtt = "40ms"
count = 2
[run]
warmup = "2s"
measure = "8s"
[goal]
utilization = ">= 80%"
"""
#: A medium that turns bad with the probability `to_bad` at each packet.
FADING = """
[link]
rate = "8Mbps"
buffer = "50p"
loss = {{ gilbert_elliott = {{ to_bad = {to_bad}, to_good = {to_good} }} }}
[[flows]]
name = "bulk"
rtt = "40ms"
[run]
warmup = "1s"
measure = "{measure}"
[goal]
utilization = ">= 10%"
"""


def fading(cycle_s: float, measure: str = "10s") -> Scenario:
    """A medium whose good and bad times together last for `cycle_s` at full rate, a fifth of it bad."""
    packets = cycle_s * 8e6 / 8 / 1500
    return Scenario.parse(FADING.format(to_bad=1 / (0.8 * packets), to_good=1 / (0.2 * packets), measure=measure))


#: A medium that loses one packet in 2,000, of 30 packets a second.
SELDOM = """
[link]
rate = "10Mbps"
buffer = "100p"
loss = { random = 0.0005 }
[[flows]]
name = "web"
rtt = "10ms"
workload = { periodic = { every = "200ms", size = "9kB" } }
[run]
warmup = "1s"
measure = "MEASURE"
[goal]
"web.completion_time_p99" = "<= 40ms"
"""


def test_a_random_loss_that_most_runs_do_not_have_is_a_rare_state() -> None:
    short = lengthened(Scenario.parse(SELDOM.replace("MEASURE", "4s")))
    assert not short.decided
    assert [warning.kind for warning in short.warnings] == [Kind.RARE_STATE]
    middle = lengthened(Scenario.parse(SELDOM.replace("MEASURE", "30s")))
    assert middle.decided
    assert middle.scenario.core.duration_s[1] > 150
    assert not lengthened(Scenario.parse(SELDOM.replace("MEASURE", "300s"))).warnings


def test_a_run_measures_a_whole_cycle_of_a_schedule() -> None:
    found = lengthened(Scenario.parse(FALLING))
    assert found.decided
    assert found.scenario.core.duration_s == (2.0, 60.0)
    (warning,) = found.warnings
    assert warning.kind is Kind.LENGTHENED
    assert not warning.urgent
    assert warning.values == {"measured_s": 60.0, "whole_s": 8.0}
    assert "A run therefore measures 60.0 s, not 8.00 s." in warning


def test_a_run_measures_three_cycles_of_a_random_process() -> None:
    scenario = fading(20.0)
    (state,) = scenario.core.random_states()
    assert not state["sampled"]
    assert state["cycle_s"] == pytest.approx(20.0, rel=0.02)
    found = lengthened(scenario)
    assert found.decided
    assert found.scenario.core.duration_s[1] == pytest.approx(3 * state["cycle_s"])


def test_the_longest_of_several_cycles_counts_and_all_are_named() -> None:
    bad = "loss = { gilbert_elliott = { to_bad = 0.0003, to_good = 0.0006 } }\n[[flows]]"
    scenario = Scenario.parse(FALLING.replace("[[flows]]", bad))
    states = scenario.core.random_states()
    assert len(states) == 2
    found = lengthened(scenario)
    required = [(1 if state["kind"] == "schedule" else 3) * (state["cycle_s"] or 0) for state in states]
    assert found.scenario.core.duration_s[1] == pytest.approx(max(required))
    (warning,) = found.warnings
    assert " and " in warning
    for state in states:
        assert state["phrase"][1:] in warning


def test_what_is_long_enough_stays_as_it_is() -> None:
    for scenario in (
        Scenario.parse(SMALL),
        Scenario.parse(FALLING).changed("run.measure=60s"),
        fading(3.0),
        Scenario.parse(FALLING).changed("link.rate=10Mbps"),
    ):
        found = lengthened(scenario)
        assert found.scenario is scenario
        assert found.warnings == ()
        assert found.decided


def test_states_with_strata_need_no_longer_runs() -> None:
    burst = "workload = { on_off = { peak = '20Mbps', on = { exponential = '1s' }, off = { exponential = '300s' } } }"
    scenario = Scenario.parse(f"{SMALL}\n[[flows]]\nname = 'burst'\n{burst}\n")
    assert any((state["cycle_s"] or 0) > 300 and state["sampled"] for state in scenario.core.random_states())
    assert lengthened(scenario).scenario is scenario


@pytest.mark.parametrize("name", ["elastic-access-link", "backbone-10g", "voice-and-data"])
def test_bundled_scenarios_without_a_long_cycle_are_unchanged(name: str) -> None:
    file = ROOT / "scenarios" / f"{name}.toml"
    scenario = Scenario.load(file)
    assert lengthened(scenario).scenario is scenario


def test_runs_grow_twentyfold_at_most() -> None:
    base = Scenario.parse(FALLING)
    just, beyond = (base.changed(f"run.measure={60 / times:.9g}s") for times in (MOST_TIMES - 0.01, MOST_TIMES + 0.01))
    assert lengthened(just).decided
    found = lengthened(beyond)
    assert not found.decided
    assert found.scenario is beyond
    (warning,) = found.warnings
    assert warning.kind is Kind.RARE_STATE
    assert warning.kind in URGENT
    assert warning.urgent
    assert warning.subject == "link.rate.steps"
    assert "does not show it" in warning


def test_runs_carry_so_many_packets_at_most() -> None:
    slow = Scenario.parse(FALLING)
    packets = slow.core.rate_bps / 8 / slow.core.packet_bytes * 62
    factor = MOST_PACKETS / packets
    for share, decided in ((0.99, True), (1.01, False)):
        rates = [f"{factor * share * mbps:.6g}Mbps" for mbps in (10, 2)]
        text = FALLING.replace('"10Mbps"', f'"{rates[0]}"').replace('"2Mbps"', f'"{rates[1]}"')
        assert lengthened(Scenario.parse(text)).decided is decided


def test_a_lengthened_run_is_reported_and_answers() -> None:
    answer = recommend(Scenario.parse(FALLING), quick=True)
    assert Kind.LENGTHENED in {warning.kind for warning in answer.warnings}
    assert Kind.RARE_STATE not in {warning.kind for warning in answer.warnings}


#: Too rare for any affordable run, and a goal that every run meets.
RARE = fading(4000.0, "5s")


@pytest.mark.parametrize("quick", [True, False])
def test_what_no_run_shows_leaves_the_answer_undecided(quick: bool) -> None:
    answer = recommend(RARE, quick=quick)
    assert answer.verdict == "undecided"
    assert answer.confidence is None
    assert answer.buffer is None
    assert not answer.feasible
    assert answer.between is not None
    assert answer.between[0].packets <= answer.between[1].packets
    (warning,) = (warning for warning in answer.warnings if warning.kind is Kind.RARE_STATE)
    assert warning.urgent


def test_what_no_run_shows_leaves_an_impossible_goal_undecided() -> None:
    answer = recommend(RARE, ["utilization>=99.99%", "queue_delay_p99<=1us"], quick=True)
    assert answer.verdict == "undecided"
    assert answer.confidence is None


def test_the_command_exits_with_3_and_tells_it_first(tmp_path: Path) -> None:
    file = tmp_path / "fading.toml"
    packets = 4000 * 8e6 / 8 / 1500
    text = FADING.format(to_bad=1 / (0.8 * packets), to_good=1 / (0.2 * packets), measure="5s")
    file.write_text(text, encoding="utf-8")
    found = forebay("recommend", file, "--quick")
    assert found.code == 3, found.err
    assert "may decide the goals" in " ".join(found.out.split())
    found = forebay("recommend", file, "--quick", "--json")
    assert found.code == 3, found.err
    data = json.loads(found.out)
    assert data["verdict"] == "undecided"
    assert data["confidence"] is None
