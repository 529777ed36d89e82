"""Transfers with drawn starts that seldom overlap may decide a goal; their overlap is a state of the search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forebay import Scenario, _core
from forebay.scenario import run_jobs
from forebay.search.checking import check
from forebay.search.overlaps import States
from forebay.search.strata import strata
from tests.support.paths import ROOT

#: Three downloads of half a second within a minute. Packets are lost only if two overlap, in one run of thirty.
DOWNLOADS = """
[link]
rate = "10Mbps"
buffer = "60p"
[[flows]]
name = "a"
count = 2
rtt = "40ms"
start = { uniform = ["0s", "60s"] }
workload = { finite = { size = "600kB" } }
receive_window = "60p"
[[flows]]
name = "b"
rtt = "40ms"
start = { uniform = ["0s", "60s"] }
workload = { finite = { size = "600kB" } }
receive_window = "60p"
[run]
warmup = "0s"
measure = "60s"
[goal]
loss_rate = "<= 0.04%"
"""
#: A burst that needs most of the link.
BURST = """
[[flows]]
name = "burst"
workload = { on_off = { peak = "8Mbps", on = "500ms", off = "1000s" } }
start = { uniform = ["0s", "60s"] }
[run]
"""


def overlapping(scenario: Scenario) -> float:
    """Share of the runs in which two transfers are active at the same time."""
    states = States(scenario.core)
    column = [state["key"] for state in states.listed].index("flows.*.start")
    return float(np.mean(states.values(1, range(4000))[:, column] > 0))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("buffer", "verdict"), [("60p", "missed"), ("80p", "met")])
def test_a_check_shows_overlaps_that_few_runs_have(buffer: str, verdict: str, seed: int) -> None:
    # 3,000 runs of another seed lose 0.067 % at 60 packets and 0.013 % at 80, within 0.014 %.
    report = check(Scenario.parse(DOWNLOADS).changed(f"link.buffer={buffer}", f"run.seed={seed}"), jobs=1)
    assert report.verdict == verdict


def test_runs_of_transfers_that_overlap_have_strata_of_their_own() -> None:
    scenario = Scenario.parse(DOWNLOADS)
    parts = strata(scenario.core)
    assert parts is not None
    assert parts.keys == ("flows.*.start",)
    losses = {}
    for stratum, weight in enumerate(parts.weights):
        members = [parts.members(place)[stratum] for place in range(6)]
        runs = run_jobs([_core.Job(scenario.core, "packet", scenario.core.seed, member) for member in members])
        losses[weight] = max(run.metrics["loss_rate"].mean for run in runs)
    assert losses.pop(max(losses)) == 0
    assert max(losses.values()) > 0.01


def test_an_overlap_is_as_frequent_as_the_drawn_starts_say() -> None:
    states = States(Scenario.parse(DOWNLOADS).core)
    assert [state["kind"] for state in states.listed] == ["overload", "overload"]
    share = np.mean(states.values(1, range(20_000)) > 0, axis=0)
    # A transfer takes 0.48 s at the link's rate and 6.3 round trips of slow start; at half the rate twice the former.
    lasting = [0.48 + 0.04 * 6.32, 0.96 + 0.04 * 6.32]
    assert share[0] == pytest.approx(3 * 2 * lasting[0] / 60, rel=0.08)
    assert share[1] == pytest.approx(3 * (lasting[1] / 60) ** 2, rel=0.35)


def test_a_burst_that_needs_much_of_the_link_counts_as_a_transfer() -> None:
    scenario = Scenario.parse(DOWNLOADS.replace("[run]", BURST))
    small = scenario.changed('flows.burst.workload={on_off={peak="1Mbps",on="500ms",off="1000s"}}')
    assert overlapping(scenario) > 1.5 * overlapping(small)


def test_known_starts_have_no_overlap_to_draw() -> None:
    known = DOWNLOADS.replace('{ uniform = ["0s", "60s"] }', '"1s"')
    assert States(Scenario.parse(known).core).listed == []
    assert strata(Scenario.parse(known).core) is None


@pytest.mark.parametrize(
    "change",
    [
        "flows.a.rtt={common={uniform=['10ms','90ms']}}",
        "flows.a.rtt={linspace=['10ms','90ms']}",
        "flows.a.rtt=['10ms','90ms']",
        "flows.a.workload={finite={size=['10kB','90kB']}}",
        "flows.a.workload={finite={size={pareto={shape=1.2,minimum='10kB',maximum='10MB'}}}}",
        "flows.a.workload={finite={size={pareto={shape=0.9,minimum='10kB'}}}}",
        "flows.a.rtt={pareto={shape=1.0,minimum='10ms'}}",
        "flows.a.access={rate='1Mbps'}",
        "flows.a.stop='30s'",
        "flows.a.count={choice=[1,3]}",
        "link.rate={steps=[['0s','10Mbps'],['30s','2Mbps']],repeat='60s'}",
        "link.queue=codel",
        "link.rate_layer=l2",
    ],
)
def test_overlaps_are_known_of_every_kind_of_transfer(change: str) -> None:
    states = States(Scenario.parse(DOWNLOADS).changed(change).core)
    assert states.listed[-1]["key"] == "flows.*.start"
    assert np.any(states.values(1, range(500))[:, -2:] > 0)


@pytest.mark.parametrize("file", sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda file: file.stem)
def test_bundled_scenarios_have_the_states_that_they_declare(file: Path) -> None:
    core = Scenario.load(file).core
    declared = [state for state in core.random_states() if state["sampled"]]
    assert States(core).listed[: len(declared)] == declared
