"""`check` judges goals at given buffers: its verdicts are true as often as it says; its exit code is the verdict."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forebay as package
from forebay import Scenario, check
from forebay.errors import InputError
from forebay.inputs.goals import Goal
from forebay.results import statistics
from forebay.results.report import Report
from forebay.results.warning import Kind
from forebay.search import checking
from forebay.search.check_report import together
from forebay.search.checked_buffers import checked_buffers
from forebay.search.independence import different, enough
from forebay.search.listener import Callbacks
from forebay.search.measurements import Measurements
from forebay.search.plan import Plan
from forebay.search.search_state import SearchState
from forebay.search.sequential_test import FIRST, SequentialTest, analyses_for
from tests.support.commands import forebay, without_costs
from tests.support.scenarios import SMALL

HIGH, LOW = Goal("utilization", ">=", 0.9), Goal("loss_rate", "<=", 0.01)
LEAST = statistics.runs_for_confidence(0.95)

Draw = Callable[[int, np.random.Generator], float]


class Link:
    """A link whose utilization and loss at a buffer are drawn by known laws."""

    def __init__(self, utilization: Draw, loss: Draw | None = None, seed: int = 1) -> None:
        self.utilization, self.loss, self.seed = utilization, loss, seed
        self.asked: list[tuple[int, int]] = []

    def __call__(self, pairs: Sequence[tuple[int, int]]) -> list[Report]:
        self.asked += pairs
        return [self.report(*pair) for pair in pairs]

    def report(self, buffer: int, number: int) -> Report:
        random = np.random.default_rng((self.seed, buffer, number))
        metrics = {"utilization": {"mean": self.utilization(buffer, random)}}
        metrics["loss_rate"] = {"mean": 0.0 if self.loss is None else self.loss(buffer, random)}
        return Report.of({"engine": "test", "metrics": metrics, "groups": []})


def independent(reports: Sequence[Report]) -> bool:
    return enough(different(reports), len(reports))


def sequential(
    link: Link,
    goals: Sequence[Goal] = (HIGH,),
    buffers: Sequence[int] = (100,),
    replications: int | None = None,
    derived: dict[int, set[Goal]] | None = None,
) -> SequentialTest:
    """A test that is over."""
    plan = Plan(min(buffers), max(buffers), max(buffers), least=LEAST)
    test = SequentialTest(SearchState(link, goals, plan), analyses_for(LEAST, replications), independent, derived or {})
    test.run(buffers)
    return test


def normal(mean: float, deviation: float = 0.01) -> Draw:
    return lambda _, random: mean + deviation * random.normal()


#: Noise with a mean of 0: what a run has less than the mean may be rare and large.
SKEWED: dict[str, Draw] = {
    "exponential": lambda _, random: 1 - random.exponential(),
    "lognormal": lambda _, random: math.exp(0.5) - random.lognormal(),
    "the other way round": lambda _, random: random.lognormal() - math.exp(0.5),
    "normal": lambda _, random: random.normal(),
}


# The test --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.6, 0.8, 0.95, 0.99])
def test_looks_spend_the_whole_error_once_and_the_first_can_decide(confidence: float) -> None:
    least = statistics.runs_for_confidence(confidence)
    analyses = analyses_for(least)
    assert math.isclose(sum(part for _, part in analyses), 1.0)
    numbers = [number for number, _ in analyses]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == max(FIRST, least)
    assert analyses_for(least, 2)[-1][0] >= least


def test_a_clear_goal_is_decided_at_the_first_look() -> None:
    for mean, verdict in ((0.95, "met"), (0.85, "missed")):
        link = Link(normal(mean))
        found = sequential(link).result(100, HIGH)
        assert found.verdict == verdict
        assert found.confidence is not None
        assert 0.95 <= found.confidence <= statistics.most_confidence(LEAST)
        assert (found.evidence.method, found.evidence.runs) == ("bootstrap", LEAST)
        assert len(link.asked) == len(set(link.asked)) == LEAST


def test_nothing_is_decided_with_fewer_runs_than_the_confidence_takes() -> None:
    """Eight runs that agree do not exclude a state that one run in nine has."""
    link = Link(normal(0.95, 0.001))
    seen = SearchState(link, [HIGH], Plan(100, 100, 100, least=LEAST))
    test = SequentialTest(seen, ((8, 0.25), (16, 0.25)), independent, {})
    test.run([100])
    assert test.result(100, HIGH).verdict == "undecided"
    assert len(link.asked) == 16
    assert sequential(link, replications=8).result(100, HIGH).evidence.runs == 32, "the first look from 19 on"


def test_an_undecided_goal_takes_every_look() -> None:
    undecided = 0
    for seed in range(40):
        link = Link(normal(HIGH.threshold), seed=seed)
        found = sequential(link).result(100, HIGH)
        undecided += found.verdict == "undecided"
        if found.verdict == "undecided":
            assert len(link.asked) == analyses_for(LEAST)[-1][0]
            assert found.confidence is not None
            assert found.confidence < 0.95
    assert undecided >= 34


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SKEWED)
def test_a_verdict_on_the_edge_is_seldom_false(name: str) -> None:
    """Just above the threshold a goal is met, just below it is missed: the other verdict comes in 5 % at most."""
    checks, noise = 220, SKEWED[name]
    for away, false in ((-1e-9, "met"), (1e-9, "missed")):

        def utilization(buffer: int, random: np.random.Generator, away: float = away) -> float:
            return HIGH.threshold + away + 0.01 * noise(buffer, random)

        found = [sequential(Link(utilization, seed=seed)).result(100, HIGH) for seed in range(checks)]
        assert all((each.confidence or 0.0) >= 0.95 for each in found if each.verdict != "undecided")
        wrong = sum(each.verdict == false for each in found)
        assert wrong / checks <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / checks), (name, false)


def test_goals_are_judged_together_and_each_by_itself() -> None:
    link = Link(normal(0.95), normal(0.02, 0.001))
    test = sequential(link, [HIGH, LOW])
    assert [test.result(100, goal).verdict for goal in (HIGH, LOW)] == ["met", "missed"]
    link = Link(normal(0.95), normal(0.01, 0.001))
    test = sequential(link, [HIGH, LOW])
    assert [test.result(100, goal).verdict for goal in (HIGH, LOW)] == ["met", "undecided"]
    assert len(link.asked) == analyses_for(LEAST)[-1][0], "one undecided goal is enough to go on"


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        (["met", "met"], "met"),
        (["met", "undecided"], "undecided"),
        (["undecided", "missed", "met"], "missed"),
        (["missed"], "missed"),
    ],
)
def test_missed_is_worse_than_undecided_and_that_than_met(verdicts: list[Any], worst: str) -> None:
    for order in itertools.permutations(verdicts):
        assert together(order) == worst


def test_only_buffers_with_an_undecided_goal_are_looked_at_again() -> None:
    link = Link(lambda buffer, random: {10: 0.8, 100: 0.9, 1000: 0.99}[buffer] + 0.01 * random.normal())
    test = sequential(link, buffers=(10, 100, 1000))
    assert [test.result(at, HIGH).verdict for at in (10, 100, 1000)] == ["missed", "undecided", "met"]
    runs = [sum(buffer == at for buffer, _ in link.asked) for at in (10, 100, 1000)]
    assert runs == [LEAST, analyses_for(LEAST)[-1][0], LEAST]


def test_a_bad_run_at_a_buffer_nearby_makes_another_less_sure() -> None:
    """A rare state that showed at a neighbor may come here. At a buffer far off it tells nothing."""

    def utilization(buffer: int, random: np.random.Generator) -> float:
        bad = buffer != 100 and random.random() < 0.1
        return 0.905 + 1e-3 * random.normal() - 0.3 * bad

    alone = sequential(Link(utilization)).result(100, HIGH)
    near = sequential(Link(utilization), buffers=(100, 120)).result(100, HIGH)
    far = sequential(Link(utilization), buffers=(100, 2000)).result(100, HIGH)
    assert (alone.verdict, near.verdict, far.verdict) == ("met", "undecided", "met")


@pytest.mark.parametrize("sign", [1, -1])
def test_further_runs_may_be_twice_as_bad_as_the_worst(sign: int) -> None:
    """Seventeen good runs and two bad ones: with the bad ones as the worst that may come it would be decided."""
    margins = [1 + 1e-3 * number for number in range(17)] + [-1.5, -1.49]
    assert statistics.bootstrap_confidence(margins, min(margins)) > 1 - 0.05 / 4
    of = iter(HIGH.threshold * (1 + 0.1 * sign * margin) for margin in margins)
    seen = SearchState(Link(lambda _, _random: next(of)), [HIGH], Plan(100, 100, 100, least=LEAST))
    test = SequentialTest(seen, analyses_for(LEAST)[:1], independent, {})
    test.run([100])
    found = test.result(100, HIGH)
    assert found.verdict == "undecided"
    assert found.confidence is not None
    assert 0.8 < found.confidence < 0.95, "the confidence of the side on which the mean is"


def test_identical_runs_are_taken_as_they_are_seen() -> None:
    for value, verdict in ((0.9, "met"), (0.8999, "missed")):
        link = Link(lambda _, _random, value=value: value)
        found = sequential(link).result(100, HIGH)
        assert (found.verdict, found.confidence, found.evidence.method) == (verdict, None, "none")
        assert len(link.asked) == FIRST, "more of them say no more"


def test_a_goal_that_holds_by_derivation_is_met_whatever_was_measured() -> None:
    link = Link(normal(0.5), normal(0.5, 0.1))
    test = sequential(link, [HIGH, LOW], derived={100: {LOW}})
    found = test.result(100, LOW)
    assert (found.verdict, found.confidence, found.evidence.method, found.evidence.runs) == ("met", None, "bound", 0)
    assert test.result(100, HIGH).verdict == "missed"
    link = Link(normal(0.5), normal(0.5, 0.1))
    assert sequential(link, [LOW], derived={100: {LOW}}).result(100, LOW).verdict == "met"
    assert len(link.asked) == FIRST, "nothing is left to decide"


def test_progress_says_how_many_verdicts_are_reached() -> None:
    messages: list[str] = []
    expected: list[int] = []
    seen = SearchState(Link(normal(0.95)), [HIGH, LOW], Plan(100, 100, 100, least=LEAST))
    test = SequentialTest(seen, analyses_for(LEAST), independent, {}, expected.append, Callbacks(known=messages.append))
    test.run([100])
    assert expected == [FIRST, LEAST - FIRST]
    assert messages[0] == "0 of 2 verdicts reached"


# Buffers ---------------------------------------------------------------------------------------------------------


def test_the_configured_buffer_is_simulated_exactly_as_it_is() -> None:
    """100 kB are no whole number of packets of 1500 bytes."""
    scenario = Scenario.parse(SMALL.replace('"20p"', '"100500B"').replace('"1000B"', '"1500B"'))
    found = checked_buffers(scenario, [])
    (place,) = found.at
    assert found.apply(place).core.sha256 == scenario.core.sha256
    assert found.sized(place).bytes == 100500
    report = check(scenario, replications=2)
    assert report.buffers[0].setting is None
    assert report.buffers[0].buffer == scenario.buffer


def test_buffers_are_read_in_every_unit_and_have_distinct_labels() -> None:
    scenario = Scenario.parse(SMALL)
    found = checked_buffers(scenario, ["20p", "20kB", "60ms", "1BDP", "link.buffer=20p", "20p"])
    settings = [each.setting for each in found.at.values()]
    assert settings == ["20p", "20kB", "60ms", "1BDP"], "a buffer that is asked for twice is checked once"
    assert [each.label for each in found.at.values()] == ["20 packets", "20 kB", "60 ms", "1 BDP"]
    assert len(set(found.at)) == 4, "each has a place of its own, though 20p and 20kB are the same size"


@pytest.mark.parametrize(
    ("setting", "part"),
    [("20x", "`20x`"), ("rate=3Mbps", "unknown buffer `rate`"), ("memories.chip.size=1MB", "known: link.buffer")],
)
def test_a_buffer_that_is_none_is_named(setting: str, part: str) -> None:
    with pytest.raises(InputError, match=part) as found:
        check(Scenario.parse(SMALL), [setting])
    assert found.value.argument == "buffers"


MEMORY = SMALL.replace("[link]", '[[memories]]\nname = "chip"\nsize = "40kB"\n\n[link]\nmemory = "chip"')


def test_memories_are_checked_by_their_key() -> None:
    scenario = Scenario.parse(MEMORY).changed("run.measure=5s")
    report = check(scenario, ["memories.chip.size=3kB", "memories.chip.size=40kB"], ["utilization>=85%"])
    assert [each.verdict for each in report.buffers] == ["missed", "met"]
    assert [each.buffer.bytes for each in report.buffers] == [3000, 40000]
    assert report.verdict == "missed"


# The verb --------------------------------------------------------------------------------------------------------


SHORT = ("--set", "run.measure=10s")


def edge() -> str:
    """A goal on the edge: what the utilization of the small link is on average."""
    report = check(Scenario.parse(SMALL).changed("run.measure=10s", "link.buffer=5p"), goals=["utilization>=50%"])
    return f"utilization>={report.buffers[0].metrics['utilization'].mean:.4f}"


def test_the_exit_code_is_the_verdict(small: Path) -> None:
    for goal, code in (("utilization>=80%", 0), ("utilization>=99%", 1), (edge(), 3)):
        answer = forebay("check", small, *SHORT, "--buffer", "5p", "--goal", goal)
        assert answer.code == code, answer.out + answer.err
        assert answer.err == ""


def test_of_several_buffers_the_worst_counts(small: Path) -> None:
    on_edge = edge()
    for buffers, goal, code in (
        (("5p", "20p"), "utilization>=80%", 0),
        (("5p", "20p"), on_edge, 3),
        (("2p", "5p", "20p"), on_edge, 1),
        (("20p", "2p"), "utilization>=80%", 1),
    ):
        requested = [part for buffer in buffers for part in ("--buffer", buffer)]
        answer = forebay("check", small, *SHORT, *requested, "--goal", goal, "--json")
        assert answer.code == code, (buffers, goal)
        data = json.loads(answer.out)
        assert data["verdict"] == {0: "met", 1: "missed", 3: "undecided"}[code]
        assert [each["setting"] for each in data["buffers"]] == list(buffers)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--goal", "speed>=1"], ["--goal", "speed"]),
        (["--goal", "utilization>=99"], ["--goal", "99%"]),
        (["--goal", "bulk.request_time_p99<=1s"], ["--goal", "an incast"]),
        (["--buffer", "10furlongs"], ["--buffer", "furlongs"]),
        (["--confidence", "40%"], ["--confidence", "0.4"]),
        (["--replications", "1"], ["--replications", "1"]),
        (["--engine", "magic"], ["magic"]),
        (["--engine", "fluid", "--goal", "bulk.timeouts<=3"], ["--goal", "timeouts", "fluid"]),
    ],
)
def test_a_wrong_option_gives_one_line_and_exit_code_2(small: Path, arguments: list[str], parts: list[str]) -> None:
    answer = forebay("check", small, *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert all(part in answer.err for part in parts), answer.err


def test_without_goals_there_is_nothing_to_judge(small: Path) -> None:
    small.write_text(SMALL.partition("[goal]")[0], encoding="utf-8")
    answer = forebay("check", small)
    assert answer.code == 2
    assert "--goal: found none" in answer.err


def test_contradictory_goals_are_named(small: Path) -> None:
    answer = forebay("check", small, "--goal", "utilization>=90%", "--goal", "utilization<=80%")
    assert answer.code == 1
    assert "no value can meet both" in answer.err


RARE = """
[link]
rate = "5Mbps"
buffer = "20p"
loss = { gilbert_elliott = { to_bad = "0.001%", to_good = "0.5%", bad = "30%" } }
[[flows]]
name = "bulk"
count = 3
rtt = { uniform = ["40ms", "80ms"] }
[run]
warmup = "3s"
measure = "10s"
[goal]
utilization = ">= 90%"
queue_delay_p99 = "<= 1s"
"""


def test_a_state_that_no_run_shows_leaves_goals_undecided(tmp_path: Path) -> None:
    """The loss of one run in ten seconds says nothing about a burst of losses every 240 s; a derived goal holds."""
    path = tmp_path / "rare.toml"
    path.write_text(RARE, encoding="utf-8")
    answer = forebay("check", path)
    assert answer.code == 3
    assert "every 240 s may decide the goals" in answer.out
    report = check(Scenario.load(path))
    assert {name: goal.verdict for name, goal in report.buffers[0].goals.items()} == {
        "utilization": "undecided",
        "queue_delay_p99": "met",
    }


def test_no_file_is_written(small: Path) -> None:
    assert forebay("check", small, *SHORT, cwd=small.parent).code == 0
    assert [path.name for path in small.parent.iterdir()] == ["small.toml"]


def test_the_json_has_the_shape_of_the_contract(small: Path) -> None:
    data = json.loads(forebay("check", small, *SHORT, "--goal", "bulk.loss_rate<=50%", "--json").out)
    assert list(data) == [
        "verdict", "confidence", "buffers", "cost", "warnings", "scenario_sha256", "engine", "version",
    ]  # fmt: skip
    assert (data["confidence"], data["engine"]) == (0.95, "packet")
    (found,) = data["buffers"]
    assert list(found) == ["buffer", "setting", "verdict", "runs", "goals", "metrics", "groups", "varied_hosts", "twin"]
    assert set(found["buffer"]) == {"packets", "bytes", "seconds", "bdp"}
    assert (found["setting"], found["runs"]) == (None, LEAST)
    assert list(found["goals"]) == ["utilization", "queue_delay_p99", "bulk.loss_rate"]
    for goal in found["goals"].values():
        assert list(goal) == ["sense", "threshold", "measured", "margin", "verdict", "confidence", "evidence"]
        assert set(goal["measured"]) == {"mean", "half_width", "confidence"}
        assert set(goal["evidence"]) == {"method", "runs"}
        sign = 1 if goal["sense"] == ">=" else -1
        assert goal["margin"] == pytest.approx(sign * (goal["measured"]["mean"] - goal["threshold"]))
    assert set(found["groups"]) == {"bulk", "background"}
    mean = found["goals"]["utilization"]["measured"]["mean"]
    assert found["metrics"]["utilization"]["mean"] == pytest.approx(mean, rel=1e-12)
    assert data["cost"]["replications"] == LEAST + found["varied_hosts"]["runs"]


def test_equal_checks_are_equal_bytes_at_any_number_of_threads(small: Path) -> None:
    requested = ("check", small, *SHORT, "--buffer", "5p", "--buffer", "20p", "--json")
    answers = [json.loads(forebay(*requested, "--jobs", jobs).out) for jobs in ("1", "2")]
    assert without_costs(answers[0]) == without_costs(answers[1])
    other = json.loads(forebay(*requested, "--set", "run.seed=4").out)
    assert other["buffers"] != answers[0]["buffers"]


def test_the_verdict_at_a_buffer_is_the_same_alone_and_configured() -> None:
    scenario = Scenario.parse(SMALL).changed("run.measure=10s")
    configured, requested = check(scenario).buffers[0], check(scenario, ["20p"]).buffers[0]
    assert configured.goals == requested.goals
    assert (configured.setting, requested.setting) == (None, "20p")


def test_runs_of_a_search_are_never_those_of_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that chose a buffer for its runs would be confirmed by them.

    It did not choose the configured buffer, which it judges by the runs of a check.
    """
    requested: dict[str, set[tuple[int, int]]] = {"check": set(), "recommend": set()}
    what = "check"
    run = Measurements.__call__

    def spy(self: Measurements, pairs: Sequence[tuple[int, int]]) -> list[Report]:
        requested[what].update(pairs)
        return run(self, pairs)

    monkeypatch.setattr(Measurements, "__call__", spy)
    scenario = Scenario.parse(SMALL).changed("run.measure=2s")
    check(scenario, ["5p", "20p"])
    what = "recommend"
    package.recommend(scenario)
    assert min(number for _, number in requested["check"]) >= checking.SERIES
    judged = {buffer for buffer, number in requested["recommend"] if number >= checking.SERIES}
    assert judged <= {20}
    assert {buffer for buffer, _ in requested["recommend"]} > judged


# The bound -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("queue", ["droptail", "codel", "red"])
@pytest.mark.parametrize("unit", ["p", "kB"])
def test_no_measurement_contradicts_a_derived_bound(queue: str, unit: str) -> None:
    scenario = Scenario.parse(SMALL.replace('rate   = "2Mbps"', f'rate   = "2Mbps"\nqueue  = "{queue}"'))
    scenario = scenario.changed("run.measure=5s")
    goals = ["queue_delay_p99<=80ms", "queue_delay_max<=80ms", "queue_delay_mean<=80ms"]
    report = check(scenario, [f"{size}{unit}" for size in (1, 5, 10, 18, 19, 22)], goals)
    derived = [goal for each in report.buffers for goal in each.goals.values() if goal.evidence.method == "bound"]
    assert len(derived) >= 12
    for goal in derived:
        assert (goal.verdict, goal.confidence) == ("met", None)
        assert goal.measured.mean <= goal.goal.threshold
    largest = report.buffers[-1]
    assert all(goal.evidence.method == "bootstrap" for goal in largest.goals.values()), "22 packets take 88 ms"
    if queue == "droptail":
        assert largest.goals["queue_delay_max"].verdict == "missed"


# Interruptions ---------------------------------------------------------------------------------------------------


def stopped(directory: Path, after: int, **options: Any) -> None:
    """Leave what a check leaves that is interrupted after some runs."""

    def stop(done: int, _all: int) -> None:
        if done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(Scenario.parse(SMALL), resume=directory, progress=stop, jobs=1, **options)


def test_an_interrupted_check_goes_on_with_the_same_report(tmp_path: Path) -> None:
    uninterrupted = check(Scenario.parse(SMALL))
    stopped(tmp_path, after=12)
    messages: list[str] = []
    repeated = check(Scenario.parse(SMALL), resume=tmp_path, tell=messages.append)
    assert messages == ["resuming with 12 replications of an earlier command"]
    assert repeated.cost.cached_runs == 12
    assert without_costs(repeated.to_dict()) == without_costs(uninterrupted.to_dict())
    assert list(tmp_path.iterdir()) == [], "the report is there"


def test_other_buffers_take_what_they_can(tmp_path: Path) -> None:
    stopped(tmp_path, after=12, buffers=["5p"])
    repeated = check(Scenario.parse(SMALL), ["20p", "5p"], resume=tmp_path)
    assert repeated.cost.cached_runs == 12


def over_after(monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    """Let the time be over at a call for runs."""
    run, count = Measurements.__call__, itertools.count()

    def timed(self: Measurements, pairs: Sequence[tuple[int, int]]) -> list[Report]:
        if next(count) >= calls:
            raise TimeoutError
        return run(self, pairs)

    monkeypatch.setattr(Measurements, "__call__", timed)


def test_where_the_time_is_over_what_is_decided_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    goal = edge()
    over_after(monkeypatch, 2)
    scenario = Scenario.parse(SMALL).changed("run.measure=10s", "link.buffer=5p")
    report = check(scenario, goals=[goal, "loss_rate<=50%"], within=1000.0, resume=tmp_path)
    (found,) = report.buffers
    verdicts = {key: each.verdict for key, each in found.goals.items()}
    assert verdicts == {"utilization": "undecided", "queue_delay_p99": "met", "loss_rate": "met"}
    assert report.verdict == "undecided"
    assert found.runs == LEAST
    assert Kind.TIME_OVER in {warning.kind for warning in report.warnings}
    assert len(list(tmp_path.iterdir())) == 1, "the same call goes on from there"


def test_before_the_first_look_nothing_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    over_after(monkeypatch, 1)
    report = check(Scenario.parse(SMALL), goals=["utilization>=50%"], within=1000.0)
    assert report.buffers[0].goals["utilization"].verdict == "undecided"
    assert report.buffers[0].runs == FIRST
    monkeypatch.undo()
    over_after(monkeypatch, 0)
    with pytest.raises(InputError, match="in which no run ended") as found:
        check(Scenario.parse(SMALL), within=1000.0)
    assert found.value.argument == "within"


# Without a confidence --------------------------------------------------------------------------------------------


ALONE = SMALL.replace('workload = { poisson = { rate = "1Mbps" } }', 'workload = { cbr = { rate = "1Mbps" } }')


def test_where_nothing_is_random_the_value_decides_and_a_warning_says_so(small: Path) -> None:
    small.write_text(ALONE.replace('"1Mbps" } }', '"1Mbps" } }\nstart = "0s"'), encoding="utf-8")
    answer = forebay("check", small, "--json")
    data = json.loads(answer.out)
    (found,) = data["buffers"]
    assert found["runs"] == FIRST
    goal = found["goals"]["utilization"]
    assert (goal["verdict"], goal["confidence"], goal["measured"]["half_width"]) == ("met", None, None)
    assert goal["evidence"]["method"] == "none"
    assert any("are identical" in warning for warning in data["warnings"])
    assert answer.code == 0


def test_flows_in_step_carry_no_confidence_and_jitter_cures_them() -> None:
    together = ALONE.replace('name     = "bulk"', 'name     = "bulk"\ncount = 4')
    report = check(Scenario.parse(together))
    assert report.buffers[0].goals["utilization"].confidence is None
    assert Kind.LOCK_STEP in {warning.kind for warning in report.warnings}
    cured = check(Scenario.parse(together), jitter=True)
    assert cured.buffers[0].goals["utilization"].confidence is not None
    assert cured.to_dict()["jitter"]


def test_an_engine_without_replications_answers_once() -> None:
    report = check(Scenario.parse(SMALL), goals=["utilization>=50%"], engine="fluid")
    (found,) = report.buffers
    if found.runs == 1:
        assert found.goals["utilization"].confidence is None
