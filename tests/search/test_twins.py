"""Answers of exact hosts say what hosts that vary would change, and state no confidence if that decides a goal."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from forebay import Scenario, check, compare, recommend, sweep
from forebay.errors import Interrupted
from forebay.inputs.goals import Goal
from forebay.measurement.twin import Twin, in_phase, twin_of, varied
from forebay.results.report import Report
from forebay.results.warning import Kind, Warning
from forebay.search.measurements import Measurements
from forebay.search.twins import VariedHosts, one_message
from forebay.sweeps.simultaneous_events import PHRASE
from tests.support.commands import forebay

#: Two flows of 20 ms and two of 100 ms, whose hosts are exact: phases decide which of them lose.
EXACT = """\
[link]
rate = "20Mbps"
buffer = "1BDP"
[[flows]]
name = "short"
count = 2
rtt = "20ms"
processing = "0s"
start = { uniform = ["0s", "2s"] }
[[flows]]
name = "long"
count = 2
rtt = "100ms"
processing = "0s"
start = { uniform = ["0s", "2s"] }
[run]
warmup = "5s"
measure = "20s"
replications = 4
[goal]
utilization = ">= 98%"
"""
#: Many flows with drawn round trips beside as much Poisson traffic.
MIXED = (
    'link.rate="50Mbps"',
    "flows.*.count=20",
    'flows.*.rtt={ uniform = ["20ms", "100ms"] }',
    "run.measure=10s",
)
BACKGROUND = '[[flows]]\nname = "web"\nrtt = "50ms"\nworkload = { poisson = { rate = "15Mbps" } }\n[run]'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "exact.toml"
    path.write_text(EXACT, encoding="utf-8")
    return path


def report(utilization: float, *, loss: float = 0.01, warned: bool = True) -> Report:
    metrics = {"utilization": {"mean": utilization}, "loss_rate": {"mean": loss}}
    found = Report.of({"engine": "packet", "metrics": metrics, "groups": [], "warnings": []})
    return found.warned([Warning("simultaneous_events", "in phase")] if warned else [])


def compared(exact: float, with_hosts: float, spread: float, goal: float = 0.5) -> Twin[str]:
    """A twin of four runs each, with these means of the utilization."""
    ours, theirs = (
        [report(mean + spread * sign * part, loss=0.01) for sign in (-1, 1) for part in (1, 2 + mean)]
        for mean in (exact, with_hosts)
    )
    found = twin_of(Scenario.parse(EXACT).core, "9 packets", ours, theirs, [Goal("utilization", ">=", goal)])
    assert found is not None
    return found


# Differences between twins -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exact", "with_hosts", "spread", "goal", "differs", "flips"),
    [
        (0.9, 0.6, 0.001, 0.5, True, False),
        (0.9, 0.6, 0.001, 0.8, True, True),
        (0.6, 0.9, 0.001, 0.8, True, True),
        # Within the combined interval.
        (0.9, 0.6, 0.2, 0.8, False, False),
        # Beyond noise and less than 2 %: it counts only if it decides a goal.
        (0.985, 0.975, 0.0001, 0.5, False, False),
        (0.985, 0.975, 0.0001, 0.98, True, True),
    ],
)
def test_a_difference_is_beyond_noise_and_worth_mentioning_or_decides_a_goal(
    exact: float, with_hosts: float, spread: float, goal: float, *, differs: bool, flips: bool
) -> None:
    found = compared(exact, with_hosts, spread, goal)
    assert found.metrics["utilization"].differs == differs
    assert ("utilization" in found.differing) == differs
    assert found.changed_verdicts == (("utilization",) if flips else ())
    warning = found.warning("9 packets")
    assert warning.urgent == differs
    assert (warning.kind is Kind.TWIN_DIFFERS) == differs
    assert warning.startswith("Simultaneous events decide this answer") == flips
    assert ("the same results within noise" in warning) != differs


def test_hosts_that_cannot_vary_have_no_twin() -> None:
    runs = [report(0.9 + 0.01 * number) for number in range(4)]
    assert twin_of(Scenario.parse(EXACT).core, "9 packets", runs, runs) is None
    assert twin_of(Scenario.parse(EXACT).core, "9 packets", runs, []) is None


def test_a_twin_varies_the_exact_groups_alone() -> None:
    scenario = Scenario.parse(EXACT).changed("flows.long.processing=200us")
    data = json.loads(varied(scenario.core).canonical_json())["flows"]
    assert [group.get("processing") for group in data] == [None, "200us"]


def test_messages_about_phases_become_one() -> None:
    about = [Warning(kind, kind) for kind in ("phase_effect", "simultaneous_events", "few_drops")]
    assert [each.kind for each in one_message(about, None, "")] == [Kind.PHASE_EFFECT, Kind.FEW_DROPS]
    assert [each.kind for each in one_message(about[1:], None, "")] == [Kind.SIMULTANEOUS_EVENTS, Kind.FEW_DROPS]
    for twin, kind in (
        (compared(0.9, 0.6, 0.001), Kind.TWIN_DIFFERS),
        (compared(0.9, 0.6, 0.2), Kind.SIMULTANEOUS_EVENTS),
    ):
        assert [each.kind for each in one_message(about, twin, "9 packets")] == [Kind.FEW_DROPS, kind]


# Recommend and check -----------------------------------------------------------------------------------------------


def test_an_answer_that_phases_decide_states_no_confidence(file: Path) -> None:
    answer = recommend(Scenario.load(file))
    assert answer.feasible
    assert answer.varied_hosts is not None
    assert answer.varied_hosts.changed_verdicts == ("utilization",)
    assert answer.varied_hosts.groups == ("short", "long")
    assert answer.varied_hosts.buffer == answer.buffer
    at = answer.varied_hosts.metrics["utilization"]
    assert at.exact.mean >= 0.98 > at.varied.mean
    assert answer.confidence is None
    assert answer.feasible_from is None
    assert answer.goals["utilization"].confidence is None
    assert {each.kind for each in answer.warnings} & {Kind.SIMULTANEOUS_EVENTS, Kind.PHASE_EFFECT} == set()
    printed = forebay("recommend", file, "--no-picture", "--fresh", columns=80).out
    _, second, third = printed.splitlines()[:3]
    assert second.startswith("We recommend ")
    assert third.startswith("warning: Simultaneous events decide this answer: with varying hosts,")
    assert "no confidence: simultaneous events" in printed
    assert printed.count("imultaneous events") == 2
    data = json.loads(answer.to_json())
    assert data["confidence"] is None
    assert list(data["varied_hosts"]) == ["buffer", "runs", "groups", "metrics"]
    assert set(data["varied_hosts"]["metrics"]) == {
        "utilization",
        "loss_rate",
        "queue_delay_p99_s",
        "short.goodput_bps",
        "long.goodput_bps",
    }
    assert data["varied_hosts"]["metrics"]["utilization"]["changed_verdicts"] == ["utilization"]


#: An action before the runs of a twin.
Before = Callable[[Measurements, Any], object]


def beside(monkeypatch: pytest.MonkeyPatch, before: Before = lambda _measure, _pairs: None) -> list[int]:
    """The numbers of runs of all twins from now on."""
    runs: list[int] = []
    run = Measurements.__call__

    def counted(self: Measurements, pairs: Any) -> list[Report]:
        if isinstance(self.variable, VariedHosts):
            runs.append(len(pairs))
            before(self, pairs)
        return run(self, pairs)

    monkeypatch.setattr(Measurements, "__call__", counted)
    return runs


@pytest.mark.parametrize(
    ("text", "changes"),
    [(EXACT, ("flows.*.processing=packet",)), (EXACT.replace("[run]", BACKGROUND), MIXED)],
    ids=["hosts vary by default", "exact hosts and random background"],
)
def test_without_the_warning_there_is_no_twin(
    text: str, changes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = beside(monkeypatch)
    answer = recommend(Scenario.parse(text).changed(*changes), ["utilization>=95%"])
    assert runs == []
    assert answer.varied_hosts is None
    assert answer.confidence is not None
    assert answer.cost.replications == sum(point.replications for point in answer.points)


def test_a_twin_has_the_runs_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = beside(monkeypatch)
    answer = recommend(Scenario.parse(EXACT), quick=True)
    assert answer.varied_hosts is not None
    assert runs == [answer.varied_hosts.runs]
    assert answer.cost.replications == sum(point.replications for point in answer.points) + answer.varied_hosts.runs


def test_an_interrupted_twin_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uninterrupted, scenario = recommend(Scenario.parse(EXACT)), Scenario.parse(EXACT)
    assert uninterrupted.varied_hosts is not None

    def interrupt(measure: Measurements, pairs: Any) -> None:
        measure._have(pairs[:2])
        raise Interrupted

    with monkeypatch.context() as patch:
        beside(patch, interrupt)
        with pytest.raises(Interrupted):
            recommend(scenario, resume=tmp_path)
    assert len(list(tmp_path.glob("*.jsonl"))) == 2
    repeated = recommend(scenario, resume=tmp_path)
    assert without_cost(repeated.to_dict()) == without_cost(uninterrupted.to_dict())
    assert repeated.cost.cached_runs == uninterrupted.cost.replications - uninterrupted.varied_hosts.runs + 2
    assert not list(tmp_path.glob("*.jsonl"))


def test_a_twin_for_which_there_is_no_time_is_left_to_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def over(_measure: Measurements, _pairs: Any) -> None:
        raise TimeoutError

    with monkeypatch.context() as patch:
        beside(patch, over)
        answer = recommend(Scenario.parse(EXACT), within=600, resume=tmp_path)
    assert answer.varied_hosts is None
    assert answer.confidence is not None
    assert Kind.SIMULTANEOUS_EVENTS in {each.kind for each in answer.warnings}
    assert list(tmp_path.glob("*.jsonl"))
    repeated = recommend(Scenario.parse(EXACT), within=600, resume=tmp_path)
    assert repeated.varied_hosts is not None
    assert not list(tmp_path.glob("*.jsonl"))


def without_cost(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "cost"}


def test_check_states_no_confidence_of_a_goal_that_phases_decide(file: Path) -> None:
    scenario = Scenario.load(file)
    found = check(scenario, goals=["short.goodput>=17Mbps"])
    (buffer,) = found.buffers
    assert buffer.varied_hosts is not None
    assert buffer.varied_hosts.changed_verdicts == ("short.goodput",)
    assert buffer.goals["short.goodput"].confidence is None
    assert buffer.goals["utilization"].confidence is not None
    assert [each.kind for each in found.warnings if each.urgent] == [Kind.TWIN_DIFFERS]
    assert found.to_dict()["buffers"][0]["varied_hosts"]["runs"] == buffer.runs
    printed = forebay("check", file, "--goal", "short.goodput>=17Mbps", "--fresh").out
    assert "warning: Simultaneous events decide this answer" in "\n".join(printed.splitlines()[:3])
    assert "A verdict has no confidence if simultaneous events decide it." in printed
    usual = check(scenario.changed("flows.*.processing=packet"))
    assert usual.buffers[0].varied_hosts is None
    assert "varied_hosts" not in usual.to_dict()["buffers"][0]


# Compare and sweep -------------------------------------------------------------------------------------------------


def test_compare_says_where_the_twin_differs(file: Path) -> None:
    found = compare(Scenario.load(file), points=0)
    answer = found.answer("packet")
    assert answer is not None
    assert answer.varied_hosts is not None
    assert "short.goodput_bps" in answer.varied_hosts.differing
    assert [each["name"] for each in found.to_dict()["answers"] if "varied_hosts" in each] == ["packet"]
    printed = forebay("compare", file, "--points", "0", "--no-picture").out
    assert "packet: Simultaneous events decide" in printed
    usual = compare(Scenario.load(file).changed("flows.*.processing=packet"), points=0)
    assert all(each.varied_hosts is None for each in usual.answers)


def test_a_sweep_counts_the_cells_of_simultaneous_events(file: Path, tmp_path: Path) -> None:
    axes = ["flows.*.processing=0s,packet", "link.buffer=0.5BDP,1BDP"]
    first = sweep(Scenario.load(file), axes[:1], tmp_path / "one", replications=1)
    assert in_phase([Scenario.load(file).run(replications=1)])
    found = sweep(Scenario.load(file), axes, tmp_path / "grid", replications=2)
    (warning,) = found.warnings
    concerned = found.rows().filter(found.rows()["warnings"].str.contains(PHRASE))
    assert warning.kind is Kind.SIMULTANEOUS_EVENTS
    assert warning.values == {"runs": concerned.height, "of_runs": 8, "cells": 2, "of_cells": 4}
    assert warning.startswith(f"In {concerned.height} of 8 runs (2 of 4 cells), simultaneous events decide")
    assert set(concerned["axis.flows.*.processing"]) == {"0s"}
    repeated = sweep(Scenario.load(file), axes, tmp_path / "grid", replications=2)
    assert (repeated.computed, repeated.warnings) == (0, found.warnings)
    assert first.warnings[0].values["of_cells"] == 2
    options: list[str | Path] = ["--over", axes[0], "--out", tmp_path / "one", "--replications", "1"]
    assert "In 1 of 2 runs (1 of 2 cells), simultaneous events" in forebay("sweep", file, *options).err
    usual = sweep(Scenario.load(file), ["flows.*.processing=packet"], tmp_path / "usual", replications=1)
    assert usual.warnings == ()
