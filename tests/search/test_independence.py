"""No confidence without independent observations: identical replications, flows in step, jitter that cures both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from forebay import Report, Scenario, _core, recommend
from forebay.configuration.jitter import jittered, time_text
from forebay.results.warning import Kind
from forebay.search.independence import Step, different, in_step
from forebay.text.formatting import confidence
from tests.support.commands import forebay

TEXT = """\
[link]
rate   = "20Mbps"
buffer = "20p"

[[flows]]
name   = "bulk"
count  = 11
cca    = "newreno"
rtt    = "20ms"
processing = "0s"

[run]
warmup  = "2s"
measure = "5s"

[goal]
utilization = ">= 80%"
"""

POISSON = '[[flows]]\nname = "web"\nworkload = { poisson = { rate = "3Mbps" } }\n'
CBR = '[[flows]]\nname = "call"\nworkload = { cbr = { rate = "1Mbps" } }\n'

DOUBTS = {Kind.IDENTICAL, Kind.LOCK_STEP}


def scenario(*changes: str, more: str = "") -> Scenario:
    return Scenario.parse(TEXT + more).changed(*changes)


def kinds(answer: Any) -> set[Kind]:
    return {warning.kind for warning in answer.warnings}


# Found out and said ------------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("changes", "doubts"),
    [
        (["flows.bulk.cca=newreno"], DOUBTS),
        (["flows.bulk.cca=cubic", "flows.bulk.count=5"], DOUBTS),
        (["flows.bulk.cca=dctcp", "flows.bulk.access={ rate = '100Mbps' }"], DOUBTS),
        # BBR draws when its gain cycle begins: replications differ although flows begin as one.
        (["flows.bulk.cca=bbr"], {Kind.LOCK_STEP}),
        (["flows.bulk.count=1"], {Kind.IDENTICAL}),
        (["flows.bulk.count=3", 'flows.bulk.rtt=["20ms", "27ms", "35ms"]'], {Kind.IDENTICAL}),
    ],
)
def test_no_confidence_without_chance_and_jitter_brings_it(changes: list[str], doubts: set[Kind]) -> None:
    as_it_is = scenario(*changes)
    unchanged = recommend(as_it_is)
    assert unchanged.feasible
    assert unchanged.confidence is None
    assert kinds(unchanged) & DOUBTS >= doubts
    assert Kind.LOCK_STEP not in kinds(unchanged) - doubts
    assert all(goal.confidence is None for goal in unchanged.goals.values())
    assert next(each.kind for each in unchanged.warnings if not each.urgent) in DOUBTS
    assert sum("`--jitter`" in warning for warning in unchanged.warnings) == 1
    assert json.loads(unchanged.to_json())["confidence"] is None

    # Exact hosts keep their phases all the same: a twin would tell.
    as_it_is = as_it_is.changed("flows.bulk.processing=packet")
    cured = recommend(as_it_is, jitter=True)
    assert cured.feasible
    assert cured.confidence is not None
    assert cured.confidence >= 0.95
    assert not kinds(cured) & DOUBTS
    assert next(each.kind for each in cured.warnings if not each.urgent) is Kind.JITTERED
    assert cured.jitter is not None
    assert cured.jitter.round_trips == ("bulk",)
    data = cured.to_dict()
    simulated = jittered(as_it_is)[0].core.sha256
    assert data["scenario_sha256"] == simulated != as_it_is.core.sha256
    assert data["jitter"]["round_trip_s"] == pytest.approx(1500 * 8 / 20e6)
    assert "jitter" not in unchanged.to_dict()


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ([], POISSON),
        (['flows.bulk.start={ uniform = ["0s", "1s"] }'], ""),
        # At few packets one flow starves the other and has seven phases to begin in: that is too few.
        (
            [
                "flows.bulk.cca=bbr",
                "flows.bulk.count=2",
                'flows.bulk.rtt=["20ms", "27ms"]',
                "goal.utilization=>= 99.9%",
            ],
            "",
        ),
    ],
)
def test_where_chance_reaches_the_flows_there_is_confidence(changes: list[str], more: str) -> None:
    answer = recommend(scenario(*changes, more=more))
    assert not kinds(answer) & DOUBTS
    assert answer.confidence is not None
    assert answer.confidence >= 0.95
    assert answer.jitter is None


def test_a_conflict_of_identical_replications_has_no_confidence_either() -> None:
    answer = recommend(scenario(), ["utilization>=99.9%", "queue_delay_p99<=1ms"])
    assert not answer.feasible
    assert answer.confidence is None
    assert Kind.IDENTICAL in kinds(answer)
    assert recommend(scenario(more=POISSON), ["utilization>=99.9%", "queue_delay_p99<=1ms"]).confidence == 0.95


def test_a_share_of_identical_draws_has_no_bound() -> None:
    answer = recommend(scenario(), fraction=0.9)
    assert answer.fraction is not None
    assert answer.fraction.met_replications == answer.fraction.replications
    assert answer.fraction.at_least is None
    assert answer.confidence is None


def test_the_command_line_and_the_page_say_so(tmp_path: Path) -> None:
    path = tmp_path / "step.toml"
    path.write_text(TEXT, encoding="utf-8")
    page = tmp_path / "step.html"
    answer = forebay("recommend", path, "--no-picture", "--report", page)
    assert answer.code == 0, answer.err
    assert "no confidence: the replications are identical and the flows have identical timing" in " ".join(
        answer.out.split()
    )
    assert "confidence >" not in answer.out
    assert "Use `--jitter`" in answer.out
    text = page.read_text(encoding="utf-8")
    assert "no confidence: the replications are identical and the flows have identical timing" in " ".join(text.split())
    assert "% confidence" not in text
    varied = ("--set", "flows.bulk.processing=packet")
    cured = forebay("recommend", path, "--no-picture", "--report", page, "--jitter", *varied)
    assert "`--jitter` changed the scenario" in cured.out
    assert "confidence " in cured.out
    assert "no confidence" not in cured.out
    assert "no confidence" not in page.read_text(encoding="utf-8").lower()


# Flows in step -----------------------------------------------------------------------------------------------------


def reports(**metrics: float) -> Sequence[Report]:
    data = {"engine": "packet", "metrics": {name: {"mean": value} for name, value in metrics.items()}, "groups": []}
    return [Report.of(data)] * 4


@pytest.mark.parametrize(
    ("changes", "flows"),
    [
        ([], 11),
        (["flows.bulk.count=2"], 2),
        (["flows.bulk.count=1"], 0),
        (["flows.bulk.count={ poisson = 11 }"], 11),
        (["flows.bulk.count=2", 'flows.bulk.rtt=["20ms", "20ms"]'], 2),
        (["flows.bulk.count=2", 'flows.bulk.rtt=["20ms", "21ms"]'], 0),
        (["flows.bulk.count=3", 'flows.bulk.rtt=["20ms", "20ms", "21ms"]'], 2),
        (["flows.bulk.count=4", 'flows.bulk.rtt=["20ms", "20ms", "21ms", "22ms"]'], 0),
        (['flows.bulk.rtt={ linspace = ["20ms", "20ms"] }'], 11),
        (['flows.bulk.rtt={ linspace = ["20ms", "21ms"] }'], 0),
        (['flows.bulk.rtt={ linspace = ["20ms", "20ms"], jitter = "1ms" }'], 0),
        (['flows.bulk.rtt={ value = "20ms", jitter = "1ms" }'], 0),
        (['flows.bulk.rtt={ uniform = ["20ms", "21ms"] }'], 0),
        (['flows.bulk.rtt={ common = { uniform = ["20ms", "21ms"] } }'], 11),
        (['flows.bulk.start={ uniform = ["0s", "1s"] }'], 0),
        (['flows.bulk.start={ linspace = ["0s", "1s"] }'], 0),
        (["flows.bulk.start=3s", "flows.bulk.cca=bbr"], 11),
    ],
)
def test_flows_with_one_round_trip_and_one_start_move_in_step(changes: list[str], flows: int) -> None:
    core = scenario(*changes).core
    assert in_step(core, "packet", reports()) == (Step("bulk", flows) if flows else None)
    assert in_step(core, "fluid", reports()) is None
    assert in_step(scenario(*changes, more=POISSON).core, "packet", reports()) is None
    constant = scenario(*changes, more=CBR).core
    assert in_step(constant, "packet", reports()) == (Step("bulk", flows) if flows else None)


def test_a_medium_that_loses_packets_may_pull_flows_apart() -> None:
    core = scenario("link.loss.random=0.1%").core
    assert in_step(core, "packet", reports(synchronization=0.1, jain_index=0.8)) is None
    assert in_step(core, "packet", reports(synchronization=0.9, jain_index=0.8)) == Step("bulk", 11)


@pytest.mark.parametrize(
    ("metrics", "together"),
    [
        ({"synchronization": 0.95, "jain_index": 0.99}, True),
        ({"synchronization": 1 / 11, "jain_index": 0.99}, False),
        ({"synchronization": 0.38, "jain_index": 0.99}, False),
        ({"synchronization": 0.40, "jain_index": 0.99}, True),
        ({"jain_index": 0.9999}, False),
        ({"jain_index": 1 - 1e-12}, True),
        ({}, False),
    ],
)
def test_a_queue_that_drops_at_random_may_pull_flows_apart(metrics: dict[str, float], together: bool) -> None:
    found = in_step(scenario("link.queue=red").core, "packet", reports(**metrics))
    assert (found is not None) is together
    assert in_step(scenario().core, "packet", reports(**metrics)) is not None, "a FIFO does not"


# Jitter ------------------------------------------------------------------------------------------------------------


def test_jitter_is_a_packet_time_and_a_slow_start_long() -> None:
    found, jitter = jittered(scenario("link.rate=50Mbps"))
    assert jitter.round_trip_s == pytest.approx(240e-6)
    # 83 packets of bandwidth-delay product are seven doublings, and one round trip for the first packet.
    assert jitter.start_s == pytest.approx(8 * 20e-3)
    (group,) = found.resolved["flows"]
    assert group["rtt"] == {"value": "20ms", "jitter": {"uniform": ["0ps", "240us"]}}
    assert group["start"] == {"value": "0ps", "jitter": {"uniform": ["0ps", "160ms"]}}
    assert jittered(found)[1].anything is False, "once is enough"
    assert jittered(found)[0].core.sha256 == found.core.sha256


def test_jitter_stays_within_the_warm_up() -> None:
    _, jitter = jittered(scenario("run.warmup=200ms"))
    assert jitter.start_s == pytest.approx(0.05)
    _, jitter = jittered(scenario("run.warmup=0s"))
    assert jitter.start_s > 0.1


@pytest.mark.parametrize("law", ['["20ms", "30ms"]', '{ linspace = ["20ms", "30ms"] }'])
def test_jitter_is_added_to_every_law_that_draws_nothing(law: str) -> None:
    found, jitter = jittered(scenario("flows.bulk.count=2", f"flows.bulk.rtt={law}"))
    assert jitter.round_trips == ("bulk",)
    assert found.resolved["flows"][0]["rtt"]["jitter"] == {"uniform": ["0ps", "600us"]}


def test_jitter_leaves_alone_what_is_random_or_does_not_react() -> None:
    whole = scenario(
        'flows.bulk.rtt={ uniform = ["20ms", "30ms"] }', 'flows.bulk.start={ exponential = "1s" }', more=CBR
    )
    found, jitter = jittered(whole)
    assert (jitter.round_trips, jitter.starts) == ((), ())
    assert found.core.sha256 == whole.core.sha256
    answer = recommend(whole, jitter=True)
    assert "changed nothing" in next(warning for warning in answer.warnings if warning.kind is Kind.JITTERED)


def test_jitter_makes_replications_differ() -> None:
    found = [recommend_less(scenario(), jitter=jitter) for jitter in (False, True)]
    assert found == [1, 4]


def recommend_less(requested: Scenario, *, jitter: bool) -> int:
    """How many different outcomes four replications have."""
    from forebay import _core
    from forebay.scenario import run_jobs

    core = jittered(requested)[0].core if jitter else requested.core
    return different(run_jobs([_core.Job(core, "packet", 1, replication) for replication in range(4)]))


@pytest.mark.parametrize("seconds", [0.16, 240e-6, 1.5, 1e-9, 12.3456e-9, 59.97e-3])
def test_times_are_written_so_that_they_read_the_same(seconds: float) -> None:
    from forebay import _core

    assert _core.parse_quantity(time_text(seconds), "time") == pytest.approx(seconds, rel=1e-5)


# How a confidence is printed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (0.95, "95.0 %"),
        (0.9699999, "96.9 %"),
        (0.969, "96.9 %"),
        (0.57, "57.0 %"),
        (0.9989, "99.8 %"),
        (0.999, "99.9 %"),
        (0.9997, "> 99.9 %"),
        (1 - 1e-16, "> 99.9 %"),
        (1.0, "> 99.9 %"),
        (0.0, "< 0.1 %"),
    ],
)
def test_a_confidence_is_rounded_down_and_never_all(probability: float, text: str) -> None:
    assert confidence(probability) == text


def test_a_confidence_is_rounded_down_to_the_requested_digits() -> None:
    assert confidence(0.97499, 2) == "97.49 %"
    assert confidence(1.0, 2) == "> 99.99 %"
    assert confidence(1.0, 0) == "> 99 %"
    for thousandth in range(1, 1000):
        shown = float(confidence(thousandth / 1000).removesuffix(" %"))
        assert shown == pytest.approx(thousandth / 10, abs=1e-9), "what has one place is shown as it is"


FORMULAS = [engine.name for engine in _core.engines() if not engine.replicates]


@pytest.mark.parametrize("engine", FORMULAS)
@pytest.mark.parametrize(
    "changes",
    [
        [],
        ["flows.bulk.rtt={ uniform = ['10ms', '90ms'] }"],
        ["flows.bulk.count={ poisson = 6 }"],
        ["run.replications=30"],
        ["link.buffer=40kB"],
    ],
)
@pytest.mark.parametrize("goals", [["utilization>=90%"], ["utilization>=90%", "utilization<=91%"]])
@pytest.mark.parametrize("fraction", [None, 0.9])
def test_a_formula_carries_no_confidence(
    engine: str, changes: list[str], goals: list[str], fraction: float | None
) -> None:
    answer = recommend(scenario(*changes), goals, engine=engine, fraction=fraction, replications=20)
    assert answer.confidence is None
    assert all(goal.confidence is None and goal.measured.half_width is None for goal in answer.goals.values())
    assert answer.warnings[0].kind is Kind.IDENTICAL
    assert "Without replications there is no confidence" in answer.warnings[0]
    assert answer.cost.replications == answer.cost.buffers == len(answer.points), "each buffer once"
    assert all(point.replications == 1 for point in answer.points)
    assert answer.fraction is None or answer.fraction.at_least is None


def test_the_command_line_and_the_page_say_that_a_formula_is_none_of_a_sample(tmp_path: Path) -> None:
    path, page = tmp_path / "step.toml", tmp_path / "step.html"
    path.write_text(TEXT, encoding="utf-8")
    options = ("--engine", "closed_form", "--goal", "utilization>=90%", "--no-picture", "--report", page)
    answer = forebay("recommend", path, *options)
    assert answer.code == 0, answer.err
    assert "(no confidence: there are no replications)" in answer.out
    for text in (answer.out, page.read_text(encoding="utf-8")):
        assert "confidence >" not in text
        assert "% confidence" not in text
        assert "±" not in text


def test_there_are_formulas() -> None:
    assert "closed_form" in FORMULAS
