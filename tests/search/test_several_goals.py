"""Several goals on one metric: all of them count, wherever they were asked for, and a contradiction is said at once."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from pathlib import Path

import pytest

from forebay.commands.program import main
from forebay.configuration.drafting import Wishes, draft
from forebay.configuration.jitter import jittered
from forebay.errors import ContradictionError, InputError
from forebay.inputs.goals import Goal, distinct, metric_of_goal, parts_of_key, split_goal
from forebay.results.report import Report
from forebay.scenario import Scenario
from forebay.search.goal_test import MeanTest, ShareTest
from forebay.search.goals import with_goals
from forebay.search.recommendation import recommend
from forebay.search.rule_verdict import worst_miss
from forebay.search.sensitivity import vary

LINK = """
[link]
rate = "10Mbps"
buffer = "50p"
[[flows]]
name = "bulk"
count = 6
rtt = { uniform = ["30ms", "60ms"] }
[[flows]]
name = "cross"
workload = { poisson = { rate = "1Mbps" } }
[run]
warmup = "1s"
measure = "3s"
[goal]
utilization = ">= 50%"
loss_rate = "<= 20%"
"""

#: Bounds that one value can meet, bound by bound, and pairs of which none can.
TOGETHER = [
    ("utilization>=70%", "utilization<=95%"),
    ("utilization<=0.95", "utilization>=0.7"),
    ("utilisation>=60%", "utilization>=0.7"),
    ("queue_delay_p99<=20ms", "queue_delay_p99>=1ms", "queue_delay_p99<=0.03s"),
    ("cross.loss_rate<=20%", "cross.loss_rate>=0.1%"),
    ("goodput>=1Mbps", "goodput<=9.9Mbps"),
]
APART = [
    ("utilization>=90%", "utilization<=70%"),
    ("utilization<=0.7", "utilization>=0.71"),
    ("utilisation<=0.7", "utilization>=90%"),
    ("queue_delay_p99<=20ms", "queue_delay_p99>=0.021s"),
    ("cross.loss_rate<=1%", "cross.loss_rate>=2%"),
    ("loss_rate<=1%", "utilization>=50%", "loss_rate<=3%", "loss_rate>=2%"),
]


def scenario() -> Scenario:
    return Scenario.parse(LINK)


def said(goal: Goal) -> tuple[str, str, float]:
    return goal.name, goal.sense, goal.threshold


@pytest.mark.parametrize("requested", TOGETHER)
def test_every_bound_is_a_goal_in_any_order(requested: tuple[str, ...]) -> None:
    required = {said(_only(text)) for text in requested}
    assert len(required) == len(requested)
    names = {name for name, *_ in required}
    retained = {said(goal) for goal in scenario().goals if goal.name not in names}
    for order in itertools.permutations(requested):
        found = with_goals(scenario(), [*order, order[0]]).goals
        assert {said(goal) for goal in found} == required | retained, (
            "those of the file on the same metrics are replaced"
        )
        assert len(found) == len({goal.key for goal in found}) == len(required | retained), "a key each, none twice"


def _only(text: str) -> Goal:
    """The goal that a text asks for."""
    before = {said(goal) for goal in scenario().goals}
    found = with_goals(scenario(), [text]).goals
    return next(goal for goal in found if said(goal) not in before)


@pytest.mark.parametrize("requested", TOGETHER)
def test_what_changes_the_scenario_keeps_its_goals(requested: tuple[str, ...]) -> None:
    before = with_goals(scenario(), requested)
    required = list(map(said, before.goals))
    varied = vary(before, "flows", 1.2)
    assert varied is not None
    fixed = before.changed("flows.bulk.rtt=40ms")
    jittering, jitter = jittered(fixed)
    assert jitter.anything
    for after in (before.with_packets(7), before.changed("link.buffer=9p"), varied, fixed, jittering):
        assert list(map(said, after.goals)) == required


def test_a_changed_goal_replaces_all_goals_on_its_metric() -> None:
    two = with_goals(scenario(), ["utilization>=0.7", "utilization<=0.9"])
    changed = two.changed("goal.utilization=>= 80%")
    assert [said(goal) for goal in changed.goals if goal.name == "utilization"] == [("utilization", ">=", 0.8)]


@pytest.mark.parametrize("requested", APART)
def test_a_contradiction_names_both_before_anything_runs(
    requested: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def never(*_: object) -> None:
        pytest.fail("something ran")

    monkeypatch.setattr("forebay._core.run_batch", never)
    with pytest.raises(ContradictionError) as found:
        recommend(scenario(), requested)
    for sense in (">=", "<="):
        assert any(f"`{text}`" in str(found.value) for text in requested if sense in text)
    path = tmp_path / "link.toml"
    path.write_text(LINK)
    options = [part for text in requested for part in ("--goal", text)]
    monkeypatch.setattr("sys.argv", ["forebay", "recommend", str(path), *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("forebay: --goal: found `")


def test_both_bounds_are_tested_and_reported() -> None:
    answer = recommend(scenario(), ["utilization>=70%", "utilization<=90%"], engine="packet")
    judged = [each for each in answer.goals.values() if each.goal.name == "utilization"]
    assert {each.goal.sense for each in judged} == {">=", "<="}
    assert answer.feasible
    for each in judged:
        assert each.met, "an answer meets every bound"
        assert 0.7 <= each.measured.mean <= 0.9
    data = json.loads(answer.to_json())
    assert {key for key, goal in data["goals"].items() if goal.get("metric") == "utilization"} == {
        "utilization>=0.7",
        "utilization<=0.9",
    }
    assert "loss_rate" in data["goals"], "a goal that is alone keeps its name"
    assert data["binding_goal"] in data["goals"]


def test_an_unmeetable_corridor_is_no_answer() -> None:
    """A corridor between two buffers' values: not a contradiction in itself, but no buffer is in it."""
    answer = recommend(scenario(), ["utilization>=99.99%", "utilization<=99.995%", "loss_rate<=0.001%"])
    assert not answer.feasible
    assert answer.conflict is not None
    assert {miss.goal.key for miss in answer.conflict.nearest} == set(answer.goals)
    assert len(answer.goals) == 3


def reports(values: list[float]) -> list[Report]:
    metrics = ({"utilization": {"mean": value, "half_width": None, "confidence": 0.95}} for value in values)
    return [Report.of({"engine": "test", "metrics": each, "groups": []}) for each in metrics]


@pytest.mark.parametrize("order", [1, -1])
def test_judges_heed_goals_that_were_not_told_apart(order: int) -> None:
    """Goals without keys count, too: every judge looks at both bounds, in either order."""
    goals = [Goal("utilization", ">=", 0.7), Goal("utilization", "<=", 0.9)][::order]
    below, within, above = ([value + 0.001 * k for k in range(8)] for value in (0.5, 0.8, 0.95))
    for values, holds in ((below, False), (within, True), (above, False)):
        seen = reports(values)
        for test in (MeanTest(), ShareTest(0.5)):
            found = test.confidences(seen, goals)
            assert len(found) == 2
            assert (min(found.values()) > 0.85) == holds
        assert (worst_miss(seen, goals, None) is None) == holds


def test_keys_are_distinct_stable_and_read_back() -> None:
    goals = [
        Goal("a.loss_rate", "<=", 0.01),
        Goal("utilization", ">=", 0.7),
        Goal("utilization", "<=", 0.9),
        Goal("a.loss_rate", "<=", 1e-5),
        Goal("utilization", ">=", 0.7),
        Goal("queue_mean", "<=", 3),
    ]
    found = distinct(goals)
    assert len(found) == 5
    assert distinct(found) == found
    assert [goal.key for goal in distinct(found)] == [goal.key for goal in found]
    assert {goal.key for goal in distinct(reversed(goals))} == {goal.key for goal in found}
    for goal in found:
        name, sense, bound = parts_of_key(goal.key)
        assert name == goal.name
        assert (sense, bound) in {(goal.sense, goal.threshold), (None, None)}
    assert [goal.key for goal in distinct(found[-1:])] == ["queue_mean"]
    assert distinct([found[0]])[0].key == found[0].key, "a part of the goals keeps the keys of the whole"


def test_the_closed_forms_size_for_the_tightest_bound() -> None:
    for requested in (["utilization>=0.8", "utilization>=0.95"], ["utilization>=0.95", "utilization>=0.8"]):
        assert ("utilization", ">=", 0.95) in with_goals(scenario(), [*requested, "utilization<=0.97"]).core.goals
    both = with_goals(scenario(), ["loss_rate>=0.1%", "loss_rate<=3%", "loss_rate<=2%"])
    assert ("loss_rate", "<=", 0.02) in both.core.goals


def in_file(bounds: tuple[str, ...]) -> str:
    """The scenario with these goals in its file, those on one metric as a list."""
    lists: dict[str, list[str]] = {}
    for text in bounds:
        _, sense, threshold = split_goal(text)
        lists.setdefault(metric_of_goal(text), []).append(f"{sense} {threshold}")
    return LINK.partition("[goal]")[0] + "[goal]\n" + "".join(f'"{name}" = {texts}\n' for name, texts in lists.items())


@pytest.mark.parametrize("requested", TOGETHER)
def test_a_file_asks_for_what_options_ask_for(requested: tuple[str, ...]) -> None:
    required = {said(_only(text)) for text in requested}
    for order in itertools.permutations(requested):
        read = Scenario.parse(in_file(order))
        assert {said(goal) for goal in read.goals} == required
        assert len({goal.key for goal in read.goals}) == len(required)
        reread = Scenario.parse(read.core.canonical_json(), "json")
        assert (reread.goals, reread.core.sha256) == (read.goals, read.core.sha256)
        for after in (
            read.with_packets(7),
            read.changed("link.buffer=9p"),
            jittered(read.changed("flows.0.rtt=40ms"))[0],
        ):
            assert list(map(said, after.goals)) == list(map(said, read.goals))
        # Goals of options replace all goals of the file for the metric.
        assert [said(goal) for goal in with_goals(read, requested[:1]).goals] == [said(_only(requested[0]))]
    both = recommend(Scenario.parse(in_file(requested)), replications=2)
    assert {said(goal.goal) for goal in both.goals.values()} == required


@pytest.mark.parametrize("requested", APART)
def test_a_contradiction_in_a_file_names_its_line(
    requested: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "link.toml"
    path.write_text(in_file(requested))
    monkeypatch.setattr("forebay._core.run_batch", lambda *_: pytest.fail("something ran"))
    monkeypatch.setattr("sys.argv", ["forebay", "recommend", str(path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert re.match(
        rf"forebay: {re.escape(str(path))}:1[67]: goal\.[a-z_.0-9]+: found `.*>=.*` and `.*<=.*`: no", lines[0]
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[]", "goal.utilization: found a list of 0; allowed: a bound, or a list"),
        ("['>= 1%', 5]", "goal.utilization.1.: found `5`; allowed: a bound on a share"),
        ("['>= 1%', ['<= 2%']]", "goal.utilization.1.: found a list of 1; allowed: a bound on a share"),
        ("['>= 1%', '= 9%']", "goal.utilization.1.: found `= 9%`; did you mean `>= 9%`"),
        ("['>= 1%', '<= 150%']", "goal.utilization: found `utilization <= 1.5`"),
        (str(["<= 9%"] * 17), "found a list of 17; allowed: a bound, or a list of 1 to 16 bounds"),
        ("{}", "goal.utilization: found a table"),
    ],
)
def test_lists_of_bounds_are_checked_as_bounds_are(value: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        recommend(Scenario.parse(LINK, overrides=[f"goal.utilization={value}"]))


def test_two_names_of_a_metric_are_two_goals_on_it() -> None:
    read = Scenario.parse(LINK, overrides=["goal.goodput=>= 1Mbps", "goal.goodput_bps=<= 9Mbps"])
    assert [said(goal)[1] for goal in read.goals if goal.name == "goodput"] == [">=", "<="]
    assert read.goals == Scenario.parse(read.core.canonical_json(), "json").goals


def test_a_draft_takes_several_bounds_and_no_contradiction() -> None:
    wishes = Wishes(rate="10Mbps", rtt="20ms", long=2, goals=("utilization>=0.7", "utilisation<=0.9"))
    assert [said(goal) for goal in Scenario.parse(draft(wishes)).goals] == [
        ("utilization", ">=", 0.7),
        ("utilization", "<=", 0.9),
    ]
    with pytest.raises(ContradictionError, match=r"found `utilization>=0\.7` and `utilization<=0\.6`"):
        draft(dataclasses.replace(wishes, goals=("utilization>=0.7", "utilisation<=0.6")))
