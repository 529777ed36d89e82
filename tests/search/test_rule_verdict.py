"""Tests of the simulation's verdict on a rule, in figures and in words."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

import forebay
from forebay.inputs.goals import Goal
from forebay.results.report import Report
from forebay.rules import Assumption, Holds, Rule, rules
from forebay.scenario import Scenario
from forebay.search.interpolation import on_curve, share_between
from forebay.search.rule_verdict import Miss, RuleVerdict, worst_miss
from tests.support.paths import ROOT

SMALL = """
[link]
rate = "10Mbps"
buffer = "20p"
[[flows]]
name = "bulk"
count = 4
cca = "newreno"
rtt = { uniform = ["20ms", "60ms"] }
[run]
warmup = "2s"
measure = "5s"
[goal]
utilization = ">= 97%"
queue_delay_p99 = "<= 60ms"
"""


def _report(metrics: Mapping[str, float]) -> Report:
    values = {name: {"mean": value, "half_width": None, "confidence": 0.95} for name, value in metrics.items()}
    return Report.of({"engine": "packet", "metrics": values, "groups": []})


def _rule(*checks: tuple[Holds, float | None], refusal: str | None = None) -> Rule:
    assumptions = [Assumption(f"a{n}", holds, f"reason {n}", share) for n, (holds, share) in enumerate(checks)]
    return Rule("some", 10.0, refusal, tuple(assumptions), {}, ())


GOALS = [Goal("utilization", ">=", 0.98), Goal("queue_delay_p99", "<=", 0.020), Goal("goodput", ">=", 10e6)]


def test_the_goal_that_is_missed_worst_counts_in_its_own_unit() -> None:
    good = {"utilization": 0.99, "queue_delay_p99_s": 0.010, "goodput_bps": 11e6}
    assert worst_miss([_report(good)], GOALS, None) is None
    for change, expected, words in (
        ({"utilization": 0.68}, ("utilization", 30.0, "points"), "30 points"),
        ({"utilization": 0.97}, ("utilization", 1.0, "points"), "1 point"),
        ({"queue_delay_p99_s": 0.0221}, ("queue_delay_p99", 0.0021, "s"), "2.10 ms"),
        ({"goodput_bps": 8e6}, ("goodput", 20.0, "%"), "20 %"),
        # Relative to the thresholds 5 of 20 ms are more than 10 of 98 points.
        ({"utilization": 0.88, "queue_delay_p99_s": 0.025}, ("queue_delay_p99", 0.005, "s"), "5.00 ms"),
    ):
        miss = worst_miss([_report(good | change)], GOALS, None)
        assert miss is not None
        assert (miss.goal, miss.unit) == (expected[0], expected[2])
        assert miss.by == pytest.approx(expected[1])
        assert miss.words == words


def test_a_goal_is_about_the_mean_unless_a_share_of_the_draws_is_requested() -> None:
    reports = [_report({"utilization": value}) for value in (1.0, 1.0, 0.97, 0.97)]
    goals = [Goal("utilization", ">=", 0.98)]
    assert worst_miss(reports, goals, None) is None
    assert worst_miss(reports, goals, 0.5) is None
    assert worst_miss(reports, goals, 0.9) == Miss("fraction", pytest.approx(40.0), "points")


@pytest.mark.parametrize(
    ("judgment", "words"),
    [
        (RuleVerdict(True, 1.0, True, Miss("utilization", 30.0, "points")), "applies, misses utilization by 30 points"),
        (RuleVerdict(True, 1.0, True, None, 2.93), "applies, meets every goal at 2.9 x the recommendation"),
        (RuleVerdict(True, 1.0, True, None, 1.02), "applies, meets every goal at the recommendation"),
        (RuleVerdict(True, 1.0, True, None, 0.76), "applies, not confirmed, at 0.76 x the recommendation"),
        (RuleVerdict(True, 1.0, True, None, 31.6), "applies, meets every goal at 32 x the recommendation"),
        (
            RuleVerdict(True, 0.6, True, Miss("utilization", 0.31, "points")),
            "applies to 60 %, misses utilization by 0.31 points",
        ),
        (RuleVerdict(True, 0.999, False), "applies to over 99 %"),
        (RuleVerdict(True, 1.0), "applies"),
        (RuleVerdict(False, 0.5, True, Miss("utilization", 30.0, "points")), "does not apply"),
    ],
)
def test_the_words_are_short_and_true(judgment: RuleVerdict, words: str) -> None:
    assert judgment.words == words
    assert judgment.to_dict()["words"] == words


def test_a_rule_applies_to_the_share_that_it_fits() -> None:
    most = _rule(("yes", 1.0), ("partly", 0.6), ("unknown", None))
    assert (most.applies, most.share, most.why) == (True, 0.6, "reason 1; reason 2")
    half = _rule(("yes", None), ("no", 0.5))
    assert (half.applies, half.share, half.why) == (False, 0.5, "reason 1")
    both = _rule(("partly", 0.8), ("no", None))
    assert (both.applies, both.share, both.why) == (False, 0.8, "reason 1; reason 0")
    assert _rule(("yes", 1.0)).why == "all its assumptions hold"
    silent = _rule(("yes", 1.0), refusal="the delay allows no buffer")
    assert (silent.applies, silent.why) == (False, "the delay allows no buffer")


def _mixed(*groups: tuple[int, str]) -> Scenario:
    flows = "".join(
        f'[[flows]]\nname = "{cca}{n}"\ncount = {count}\ncca = "{cca}"\nrtt = {{ uniform = ["20ms", "60ms"] }}\n'
        for n, (count, cca) in enumerate(groups)
    )
    head, _, tail = SMALL.partition("[[flows]]")
    return Scenario.parse(head + flows + tail[tail.index("[run]") :])


def test_every_rule_tells_the_share_of_a_mix_in_its_reason() -> None:
    for rule in rules(_mixed((120, "newreno"), (80, "bbr")).core):
        for each in rule.assumptions:
            if each.share is not None and 0 < each.share < 1:
                assert each.share in (pytest.approx(0.6), pytest.approx(0.4))
                assert f"fits {100 * each.share:.0f} % of the long flows" in each.why
                assert each.why in rule.why
    named = {rule.name: rule for rule in rules(_mixed((120, "newreno"), (80, "bbr")).core)}
    assert named["sqrt-n"].applies
    assert named["sqrt-n"].share == pytest.approx(0.6)
    assert "newreno; the others use bbr" in named["sqrt-n"].why
    assert not named["bbr"].applies


def test_verdicts_do_not_depend_on_the_order_of_groups() -> None:
    verdicts = [
        [(rule.name, rule.applies, round(rule.share, 9), rule.packets) for rule in rules(_mixed(*groups).core)]
        for groups in (
            ((50, "newreno"), (50, "bbr")),
            ((50, "bbr"), (50, "newreno")),
            ((25, "bbr"), (50, "newreno"), (25, "bbr")),
        )
    ]
    assert verdicts[0] == verdicts[1] == verdicts[2]


def test_the_json_has_the_judgment_of_every_rule() -> None:
    answer = forebay.recommend(Scenario.parse(SMALL), resolution=0.5, replications=2)
    data = json.loads(answer.to_json())
    assert answer.packets is not None
    simulated = 0
    for rule, found in zip(answer.rules, data["rules"], strict=True):
        assert found["rule_verdict"]["words"] == rule.rule_verdict.words
        assert found["share"] == rule.share == rule.rule_verdict.share
        assert found["applies"] == rule.applies == rule.rule_verdict.applies
        if rule.buffer is None:
            assert not rule.rule_verdict.simulated
            continue
        # The verdict agrees with the curve at the rule's buffer, or between its neighbors.
        at = on_curve(answer.points, rule.buffer)
        assert rule.rule_verdict.simulated == (at is not None)
        assert rule.rule_verdict.interpolated == (answer.at(rule.buffer) is None and at is not None)
        assert rule.rule_verdict.interpolated == (rule.between is not None)
        if at is None:
            continue
        simulated += 1
        short = 0.97 - at.metrics["utilization"].mean
        late = at.metrics["queue_delay_p99_s"].mean - 0.060
        miss = rule.rule_verdict.miss
        assert (miss is None) == (short <= 0 and late <= 0)
        if miss is None:
            assert rule.rule_verdict.times == pytest.approx(rule.buffer.packets / answer.packets)
        else:
            assert miss.by == pytest.approx(100 * short if miss.goal == "utilization" else late)
    assert simulated > 5


def test_a_refusal_of_the_engine_names_the_model_and_reads_as_a_sentence() -> None:
    with pytest.raises(forebay.ForebayError, match=r"^mm1k does not apply: 4 long flows fill the link$"):
        Scenario.parse(SMALL).run(engine="closed_form", model="mm1k")


def test_every_shipped_scenario_has_reasons_for_an_engineer() -> None:
    shipped = sorted((ROOT / "scenarios").glob("*.toml"))
    assert len(shipped) > 10
    for path in shipped:
        for rule in rules(Scenario.load(path).core):
            for banned in ("found", "allowed", "not applicable", "x <", "_", "no solution"):
                assert banned not in rule.why, f"{path.stem}: {rule.name}: {rule.why}"


def test_between_two_buffers_a_curve_is_straight_on_a_logarithmic_scale() -> None:
    assert share_between(10, 1000, 100) == pytest.approx(0.5)
    assert [share_between(10, 1000, packets) for packets in (10, 1000)] == [0, 1]
