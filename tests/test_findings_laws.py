"""What a finished search means, told of searches whose every report and outcome is known."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import time
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay import InputError, Scenario, UnsupportedError, recommend, statistics
from forebay.configuration.jitter import Jitter, jittered
from forebay.goals import Goal
from forebay.report import BufferSize, Estimate, Report
from forebay.rules import Rule
from forebay.search import findings, recommendation
from forebay.search.answer import CurvePoint
from forebay.search.findings import Finished
from forebay.search.judging import AverageJudge, Judge, ShareJudge
from forebay.search.knob import TARGET_LINK
from forebay.search.measurements import Measurements
from forebay.search.recommendation import _looks_at_share, _plan, _Terms, with_goals
from forebay.search.smallest import Outcome, Plan, Search
from forebay.search.tradeoff import front, metric_pair
from forebay.warning import Kind, Warning
from tests.conftest import SMALL

SCENARIO = Scenario.parse(SMALL)
UTILIZATION, DELAY = SCENARIO.goals

PLAN = Plan(smallest=1, largest=50, ceiling=80)


def report(utilization: float, delay: float, *, loss: float = 0.0, warnings: Sequence[str] = ()) -> Report:
    metrics = {"utilization": utilization, "queue_delay_p99_s": delay, "loss_rate": loss}
    found = {name: {"mean": value} for name, value in metrics.items()}
    return Report.of({"engine": "test", "metrics": found, "groups": [], "warnings": list(warnings)})


def good(number: int = 0) -> Report:
    return report(0.9 + 1e-4 * number, 0.1 + 1e-4 * number)


def bad(number: int = 0) -> Report:
    return report(0.7 + 1e-4 * number, 0.1 + 1e-4 * number)


def finished(
    seen: Mapping[int, Sequence[Report]],
    outcome: Outcome,
    *,
    judge: Judge | None = None,
    fresh: Mapping[int, Sequence[Report]] | None = None,
    scenario: Scenario = SCENARIO,
    jitter: Jitter | None = None,
    engine: str = "test",
) -> Finished:
    """A search that saw these replications at each buffer, and fresh ones, and came to this outcome."""
    measure = Measurements(scenario, engine, None, None)
    search = Search(measure, scenario.goals, dataclasses.replace(PLAN, judge=judge or AverageJudge()))
    search.samples = {buffer: list(reports) for buffer, reports in seen.items()}
    measure.reports = {(buffer, n): each for buffer, reports in seen.items() for n, each in enumerate(reports)}
    for buffer, reports in (fresh or {}).items():
        measure.reports |= {(buffer, 16 + n): each for n, each in enumerate(reports)}
    return Finished(scenario, search, outcome, measure, jitter)


def four(make: Any) -> list[Report]:
    return [make(number) for number in range(4)]


# The answer ------------------------------------------------------------------------------------------------------


def test_the_answer_is_told_by_its_fresh_replications_and_a_compromise_by_all_it_has() -> None:
    fresh = [good(number) for number in range(10, 18)]
    answered = finished({3: four(bad), 9: four(good)}, Outcome(buffer=9, confirmation=fresh), fresh={9: fresh})
    assert answered.at_answer() == (9, fresh)
    refused = finished({3: four(bad), 9: four(good)}, Outcome(compromise=3), fresh={3: [bad(9)]})
    assert refused.at_answer() == (3, [*four(bad), bad(9)] and refused.measure.at(3))
    assert len(refused.at_answer()[1]) == 5
    neither = finished({3: four(bad), 9: four(good)}, Outcome())
    assert neither.at_answer()[0] == 3
    # An engine that answers once has its one answer for everything.
    once = finished({3: four(bad), 9: four(good)}, Outcome(buffer=9, confirmation=fresh))
    once.measure.replicates = False
    assert once.at_answer() == (9, once.measure.at(9))
    assert not once.confident
    once.measure.reports = {(9, 0): good()}
    assert once.seen(9) == [once.measure.reports[9, 0]]
    assert answered.seen(9) == answered.search.samples[9]


@pytest.mark.parametrize("share", [None, 0.5])
def test_goals_are_judged_one_by_one(share: float | None) -> None:
    judge = AverageJudge() if share is None else ShareJudge(share)
    fresh = [report(0.85, 0.14), report(0.9, 0.16), report(0.8, 0.15), report(0.95, 0.19)]
    known = finished({9: four(good)}, Outcome(buffer=9, confirmation=fresh, binding=DELAY.key), judge=judge)
    judged = findings.judged_goals(known, share)
    assert list(judged) == [UTILIZATION.key, DELAY.key]
    for goal, values, held in ((UTILIZATION, (0.85, 0.9, 0.8, 0.95), 3), (DELAY, (0.14, 0.16, 0.15, 0.19), 2)):
        found = judged[goal.key]
        interval = statistics.mean_interval(values, 0.95)
        assert (found.measured.mean, found.measured.half_width) == pytest.approx((interval.mean, interval.half_width))
        assert (found.held, found.of) == ((None, None) if share is None else (held, 4))
        assert found.at_packets == 9
        assert found.slack == pytest.approx(goal.margin(interval.mean))
        assert found.met == (goal is UTILIZATION if share is None else held >= 4 * share)
        assert found.binding == (goal is DELAY)
        assert found.confidence == judge.confidences(fresh, SCENARIO.goals)[goal.key]
        told = found.to_dict()
        assert told["threshold"] == goal.threshold
        assert "metric" not in told


def test_a_goal_that_is_just_met_is_met() -> None:
    fresh = [report(0.85, 0.15, loss=0.001 * number) for number in range(4)]
    judged = findings.judged_goals(finished({9: four(good)}, Outcome(buffer=9, confirmation=fresh)), None)
    assert all(goal.met for goal in judged.values())
    assert all(goal.slack == pytest.approx(0.0, abs=1e-12) for goal in judged.values())


def test_where_nothing_carries_a_confidence_no_goal_has_one() -> None:
    same = [good()] * 8
    known = finished({9: same}, Outcome(buffer=9, confirmation=same))
    assert not known.confident
    assert all(goal.confidence is None for goal in findings.judged_goals(known, None).values())
    assert findings.fraction(known, 0.9, 0.95).at_least is None
    half = [good(number // 2) for number in range(8)]
    assert not finished({9: half}, Outcome(buffer=9, confirmation=half)).confident, (
        "half of them are not more than half"
    )


def test_a_fraction_counts_the_draws_in_which_all_hold() -> None:
    fresh = [report(0.86, 0.14), report(0.84, 0.14), report(0.86, 0.16), report(0.87, 0.1)]
    held = findings.fraction(finished({9: fresh}, Outcome(buffer=9, confirmation=fresh)), 0.6, 0.9)
    assert (held.wanted, held.held, held.of, held.confidence) == (0.6, 2, 4, 0.9)
    assert held.at_least == statistics.share_at_least(2, 4, 0.9)


def test_buffers_are_told_in_every_unit() -> None:
    def packets(size: BufferSize | None) -> float | None:
        return None if size is None else size.packets

    seen = {3: four(bad), 9: four(good), 20: four(bad), 40: four(good)}
    answered = finished(seen, Outcome(buffer=9, up_to=(9, 20), gaps=((20, UTILIZATION.key),), islands=((5, 7), (4, 7))))
    end = findings.upper_end(answered)
    assert end is not None
    assert (packets(end.buffer), packets(end.missed_at)) == (9, 20)
    assert end.buffer.bytes == 9 * 1000
    (gap,) = findings.gaps(answered)
    assert (packets(gap.buffer), gap.goal) == (20, UTILIZATION.key)
    assert gap.measured.mean == pytest.approx(0.70015)
    assert [(packets(each.buffer), packets(each.missed_at)) for each in findings.islands(answered)] == [(4, 7), (5, 7)]
    open_end = findings.upper_end(finished(seen, Outcome(buffer=9, up_to=(40, None))))
    assert open_end is not None
    assert open_end.missed_at is None
    assert findings.upper_end(finished(seen, Outcome(compromise=9))) is None


@pytest.mark.parametrize(("least", "most"), [(9, 3), (None, 3), (9, None)])
def test_a_conflict_has_two_sides_and_a_nearest_buffer(least: int | None, most: int | None) -> None:
    outcome = Outcome(needs_at_least=((UTILIZATION.key,), least), needs_at_most=((DELAY.key,), most), compromise=3)
    known = finished({3: four(bad), 9: four(good), 20: four(good)}, outcome)
    judged = findings.judged_goals(known, None)
    found = findings.conflict(known, judged)
    for side, goal, buffer in ((found.needs_at_least, UTILIZATION, least), (found.needs_at_most, DELAY, most)):
        assert side.goals == (goal.key,)
        assert (None if side.buffer is None else side.buffer.packets) == buffer
    assert found.compromise is not None
    assert found.compromise.packets == 3
    assert found.largest_tried.packets == 20
    off = {miss.goal.key: (miss.off, miss.met) for miss in found.nearest}
    assert off[UTILIZATION.key] == (pytest.approx(0.85 - 0.70015), False)
    assert off[DELAY.key] == (0.0, True)
    nothing = findings.conflict(finished({3: four(bad)}, dataclasses.replace(outcome, compromise=None)), judged)
    assert nothing.compromise is None


# Rules -----------------------------------------------------------------------------------------------------------


def rule(packets: float | None) -> Rule:
    return Rule("some", packets, None, (), {}, ("a note",))


@pytest.mark.parametrize("judge", [AverageJudge(), ShareJudge(0.9)])
def test_a_rule_is_judged_at_its_own_buffer(monkeypatch: pytest.MonkeyPatch, judge: Judge) -> None:
    monkeypatch.setattr(Report, "over", classmethod(lambda _cls, reports: next(iter(reports))))
    seen = {1: four(bad), 9: four(good), 80: four(good), 18: [*four(good)[:3], report(0.84, 0.1)]}
    known = finished(seen, Outcome(buffer=9), judge=judge)
    none = findings.judged_rule(known, rule(None))
    assert (none.buffer, none.measured, none.judgment.simulated) == (None, {}, False)
    assert none.notes == ("a note",)
    for asked, packets in ((0.0, 1), (0.4, 1), (8.6, 9), (18.0, 18), (80.0, 80)):
        found = findings.judged_rule(known, rule(asked))
        assert found.buffer is not None
        assert found.buffer.packets == packets
        assert found.notes == ("a note",)
        assert found.measured["utilization"] == seen[packets][0].metrics["utilization"]
        assert found.judgment.simulated
        if packets == 1:
            assert found.judgment.miss is not None
            assert found.judgment.miss.goal == UTILIZATION.key
            assert found.judgment.times is None
        elif packets == 18 and isinstance(judge, ShareJudge):
            assert found.judgment.miss is not None
            assert found.judgment.miss.goal == "fraction", "three of four draws are fewer than nine in ten"
            assert found.judgment.times is None
        else:
            assert found.judgment.miss is None
            assert found.judgment.times == pytest.approx(packets / 9)
    beyond = findings.judged_rule(known, rule(81.0))
    assert beyond.buffer is not None
    assert beyond.buffer.packets == 81
    assert beyond.notes == ("a note", "not simulated: more than 80 packets")
    assert (beyond.measured, beyond.judgment.simulated) == ({}, False)
    without = finished(seen, Outcome(compromise=9), judge=judge)
    assert findings.judged_rule(without, rule(9.0)).judgment.times is None


# Warnings --------------------------------------------------------------------------------------------------------


def kinds(known: Finished) -> list[Kind]:
    return [warning.kind for warning in findings.warnings(known)]


def test_replications_that_repeat_each_other_are_told() -> None:
    for count, different, words in (
        (8, 1, "all 8 replications at 9 packets are identical to the last bit"),
        (8, 4, "of the 8 replications at 9 packets only 4 differ: they are too few to carry a confidence"),
        (8, 5, "of the 8 replications at 9 packets only 5 differ: they are so many observations"),
    ):
        fresh = [good(number % different) for number in range(count)]
        (warning,) = findings.warnings(finished({9: four(good)}, Outcome(buffer=9, confirmation=fresh)))
        assert warning.kind is Kind.IDENTICAL
        assert words in warning
        assert warning.values == {"replications": count, "different": different}
        assert warning.endswith("repeat with `--jitter`, which makes round trips and starts random")
    fresh = [good(number) for number in range(8)]
    assert findings.warnings(finished({9: fresh}, Outcome(buffer=9, confirmation=fresh))) == ()
    assert findings.warnings(finished({}, Outcome())) == ()
    once = finished({9: four(good)}, Outcome(buffer=9))
    once.measure.replicates = False
    (warning,) = findings.warnings(once)
    assert warning.values == {"replications": 1, "different": 1}
    random = jittered(SCENARIO)[0]
    (warning,) = findings.warnings(finished({9: [good()] * 8}, Outcome(compromise=9), scenario=random))
    assert warning.endswith("give the traffic something random, such as a law for `start`, `rtt` or sizes")


def test_flows_in_step_are_told_and_what_helps_is_told_once() -> None:
    text = SMALL.partition('[[flows]]\nname     = "background"')[0] + "[run]" + SMALL.partition("[run]")[2]
    step = Scenario.parse(text).changed("flows.bulk.count=3")
    cure = "; repeat with `--jitter`, which makes round trips and starts random"
    for fresh, kinds in (
        ([good()] * 8, [Kind.IDENTICAL, Kind.LOCK_STEP]),
        ([good(number) for number in range(8)], [Kind.LOCK_STEP]),
    ):
        known = finished({9: fresh}, Outcome(buffer=9, confirmation=fresh), scenario=step, engine="packet")
        assert not known.confident
        told = findings._of_evidence(known)
        assert [warning.kind for warning in told] == kinds
        assert [cure in warning for warning in told] == [False] * (len(kinds) - 1) + [True]
        assert (told[-1].subject, told[-1].values) == ("bulk", {"flows": 3})
        assert told[-1].startswith("3 flows move in step")
        assert told[-1].endswith(f"carries no confidence{cure}")
        assert told[0].startswith("all 8 replications at 9 packets are identical") or len(kinds) == 1
    apart = step.changed('flows.bulk.rtt={ uniform = ["20ms", "40ms"] }')
    fresh = [good(number) for number in range(8)]
    assert finished({9: fresh}, Outcome(buffer=9, confirmation=fresh), scenario=apart, engine="packet").confident


def test_where_the_curve_falls_again_is_told_once_for_each_goal() -> None:
    again = Warning(Kind.MISSED_AGAIN, "noted by the search")
    other = Warning(Kind.NO_MARGIN, "something else")
    seen = {9: four(good)}
    fresh = four(good)
    noted = finished(seen, Outcome(buffer=9, confirmation=fresh, notes=[again, other]))
    assert list(findings.warnings(noted)) == [again, other]
    outcome = Outcome(
        buffer=9,
        confirmation=fresh,
        notes=[again, other],
        gaps=((20, "a"), (21, "b"), (22, "a")),
        islands=((7, 8), (3, 4), (2, 4)),
    )
    kept, first, second, below = findings.warnings(finished(seen, outcome))
    assert kept is other
    assert (first.subject, first.values) == ("a", {"missed_at": 20})
    assert first == "`a` is missed again above the answer, at 20, 22 packets"
    assert (second.subject, second.values) == ("b", {"missed_at": 21})
    assert (below.kind, below.values) == (Kind.MET_BELOW, {"met_at": 7, "missed_at": 8})
    assert below == "2, 3, 7 packets would meet every goal, too, but 8 packets would not"


@pytest.mark.parametrize("count", [1, 2, 6, 7, 12])
def test_buffers_are_named_but_not_too_many_of_them(count: int) -> None:
    named = list(range(1, count + 1))
    text = findings._shown(named)
    assert text.endswith(" packet" if count == 1 else " packets")
    shown = [int(part) for part in text.partition(" packet")[0].replace(", ...", "").split(", ")]
    assert shown == named[: len(shown)]
    assert len(shown) == min(count, 6)
    assert ("..." in text) == (len(shown) < count)
    assert findings._shown([2]) == "2 packets"
    assert findings._shown([0]) == "0 packets"
    assert findings._names(["a"]) == "a"
    assert findings._names(["a", "b"]) == "a and b"
    assert findings._names(["a", "b", "c", "d"]) == "a, b, c and d"


def test_what_runs_warn_of_is_told_once_with_the_buffers() -> None:
    def warned(*subjects: str) -> Report:
        made = good()
        made.__dict__["warnings"] = tuple(Warning(Kind.FEW_DROPS, f"few at {s}", subject=s) for s in subjects)
        return made

    seen = {9: [warned("a"), warned("b", "a")], 4: [warned(), warned("a")], 12: [warned(), warned()]}
    found = findings._of_runs(finished(seen, Outcome(buffer=9)).measure)
    assert found == ["at 4, 9 packets: few at a", "at 9 packets: few at b"]
    assert [warning.subject for warning in found] == ["a", "b"]


def test_what_jitter_changed_is_told() -> None:
    nothing = Jitter(round_trips=(), starts=(), round_trip_s=0.001, start_s=0.5)
    both = Jitter(round_trips=("web", "bulk"), starts=("bulk",), round_trip_s=0.001, start_s=0.5)
    assert findings._of_jitter(None) == []
    assert "changed nothing" in findings._of_jitter(nothing)[0]
    for jitter, words, values in (
        (both, ("round trips of `web` and `bulk` and spread the starts of `bulk`",), {"round_trip_s", "start_s"}),
        (dataclasses.replace(both, starts=()), ("added up to 1.00 ms to",), {"round_trip_s"}),
        (dataclasses.replace(both, round_trips=()), ("spread the starts of `bulk` over 500 ms",), {"start_s"}),
    ):
        (warning,) = findings._of_jitter(jitter)
        assert set(warning.values) == values
        for word in words:
            assert word in warning


# The curve -------------------------------------------------------------------------------------------------------


def size(packets: float) -> BufferSize:
    return BufferSize(packets, 1000 * packets, 0.001 * packets, None)


def test_a_point_of_the_curve_knows_the_link_and_its_groups() -> None:
    point = CurvePoint(
        size(3),
        4,
        {"loss_rate": Estimate(0.1), "queue_delay_p99_s": Estimate(0.2)},
        {"web": {"loss_rate": Estimate(0.3)}},
    )
    assert point.key("loss_rate") == "loss_rate"
    assert point.key("queue_delay_p99") == "queue_delay_p99_s"
    assert point.key("web.loss_rate") == "web.loss_rate"
    assert point.key("web.queue_delay_p99") is None
    assert point.key("mice.loss_rate") is None
    assert point.key("speed") is None
    for key, value in (("loss_rate", 0.1), ("queue_delay_p99_s", 0.2), ("web.loss_rate", 0.3)):
        assert point.estimate(key) == Estimate(value)
    assert point.estimate("web.speed") is None
    assert point.estimate("mice.loss_rate") is None


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8),
    st.sampled_from(["utilization", "loss_rate"]),
)
def test_the_front_is_what_nothing_beats(drawn: list[tuple[int, int]], one: str) -> None:
    """More utilization is better, less loss and less delay are."""
    points = [
        CurvePoint(size(number), 4, {one: Estimate(first / 5), "queue_delay_p99_s": Estimate(second / 5)}, {})
        for number, (first, second) in enumerate(drawn)
    ]
    lame = CurvePoint(size(99), 4, {one: Estimate(0.5)}, {})
    found = front(SimpleNamespace(points=[*points, lame]), f"{one}, queue_delay_p99")  # type: ignore[arg-type]
    assert found.metrics == (one, "queue_delay_p99_s")
    assert len(found.points) == len(points), "without what was not measured in both"
    sign = 1 if one == "utilization" else -1
    for point, (first, second) in zip(found.points, drawn, strict=True):
        beaten = any(
            sign * other >= sign * first and late <= second and (other, late) != (first, second)
            for other, late in drawn
        )
        assert point.on_front is not beaten
        assert point.measured == {one: Estimate(first / 5), "queue_delay_p99_s": Estimate(second / 5)}


@pytest.mark.parametrize("text", ["", "utilization", "utilization,", "a,b,c", "a,a", " a , a"])
def test_a_pair_is_two_different_metrics(text: str) -> None:
    if text == "utilization,":
        assert metric_pair(text) == ("utilization", "")
        return
    with pytest.raises(InputError, match="allowed: two metrics") as raised:
        metric_pair(text)
    assert raised.value.argument == "pareto"
    assert metric_pair(" a, b ") == ("a", "b")


def test_a_metric_that_was_not_measured_has_no_front() -> None:
    answer = SimpleNamespace(points=[CurvePoint(size(1), 4, {"utilization": Estimate(0.5)}, {})])
    with pytest.raises(InputError, match="unknown metric `speed`; known: utilization"):
        front(answer, "utilization,speed")  # type: ignore[arg-type]


# The terms -------------------------------------------------------------------------------------------------------

TERMS = _Terms(confidence=0.95, resolution=0.05, replications=None, fraction=None)


@pytest.mark.parametrize(
    ("term", "fine", "wrong"),
    [
        ("confidence", (0.5001, 0.95, 0.9999), (0.5, 1.0, 95.0, -0.5, math.nan)),
        ("resolution", (0.001, 0.05, 1.0), (0.0009, 0.0, 1.001, 5.0, -0.05, math.nan)),
        ("replications", (2, 3, 1000, None), (1, 0, -2)),
        ("fraction", (0.05, 0.9, 0.999, None), (0.049, 0.0, 0.9991, 1.0, 90.0, math.nan)),
    ],
)
def test_terms_have_bounds(term: str, fine: Sequence[float], wrong: Sequence[float]) -> None:
    for value in fine:
        dataclasses.replace(TERMS, **{term: value}).check()
    for value in wrong:
        with pytest.raises(InputError, match="allowed: ") as raised:
            dataclasses.replace(TERMS, **{term: value}).check()
        assert raised.value.argument == term
        assert f"found {value:g}" in str(raised.value)


@pytest.mark.parametrize(("asked", "own", "first"), [(None, 2, 4), (None, 4, 4), (None, 7, 7), (2, 7, 2), (9, 2, 9)])
def test_looks_double_up_to_four_times_the_first(asked: int | None, own: int, first: int) -> None:
    scenario = SCENARIO.changed(f"run.replications={own}")
    looks = dataclasses.replace(TERMS, replications=asked).looks(scenario)
    assert looks == (first, 2 * first, 4 * first)


@pytest.mark.parametrize("first", [2, 4, 8, 50])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("fraction", [0.05, 0.5, 0.9, 0.99])
def test_looks_at_a_share_can_refuse_at_first_and_accept_from_the_second_on(
    first: int, confidence: float, fraction: float
) -> None:
    looks = _looks_at_share(first, confidence, fraction)
    assert list(looks) == sorted(set(looks))
    assert 3 <= len(looks) <= 4
    # Four looks, each at its quarter of the error: where all draws hold, so many are just enough.
    level = 1 - (1 - confidence) / 4
    enough = next(count for count in itertools.count(1) if 1 - fraction**count >= level)
    assert looks[0] == max(first, 8)
    assert looks[-1] == 4 * max(enough, first, 8)
    assert set(looks) == {looks[0], looks[-1] // 4, looks[-1] // 2, looks[-1]}
    assert (
        dataclasses.replace(TERMS, confidence=confidence, fraction=fraction, replications=first).looks(SCENARIO)
        == looks
    )


class Scale:
    """Stands for a knob of so many packets per bandwidth-delay product."""

    def __init__(self, packets: float) -> None:
        self.packets = packets

    def scale(self, _scenario: Scenario) -> float:
        return self.packets


@pytest.mark.parametrize("scale", [0.01, 0.5, 3.9, 4.0, 4.1, 100.2, 1e4])
def test_the_first_look_reaches_two_products_and_the_search_sixteen(scale: float) -> None:
    """Of a link with next to no product it is a few packets all the same, enough for a queue to be one."""
    plan = _plan(SCENARIO, Scale(scale), [1, 64, 65, 10**6], TERMS)  # type: ignore[arg-type]
    assert plan.smallest == 1
    assert plan.ceiling == max(64, math.ceil(16 * scale))
    assert plan.largest == max(8, math.ceil(2 * scale))
    assert plan.also == tuple(packets for packets in (1, 64, 65, 10**6) if packets <= plan.ceiling)
    assert (plan.confidence, plan.resolution, plan.looks) == (0.95, 0.05, (4, 8, 16))
    assert isinstance(plan.judge, AverageJudge)
    share = _plan(SCENARIO, Scale(scale), [], dataclasses.replace(TERMS, fraction=0.8)).judge  # type: ignore[arg-type]
    assert share == ShareJudge(0.8)


# Several goals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "decisive"),
    [
        (["utilization>=0.8", "utilization>=0.9"], ("utilization", ">=", 0.9)),
        (["utilization<=0.95", "utilization>=0.8"], ("utilization", ">=", 0.8)),
        (["utilization<=0.95", "utilization<=0.9"], ("utilization", "<=", 0.9)),
        (["loss_rate>=0.1%", "loss_rate<=3%"], ("loss_rate", "<=", 0.03)),
        (["loss_rate<=3%", "loss_rate<=2%"], ("loss_rate", "<=", 0.02)),
        (["loss_rate>=0.1%", "loss_rate>=0.2%"], ("loss_rate", ">=", 0.002)),
        (["queue_delay_p99<=9ms", "queue_delay_p99<=20ms", "queue_delay_p99>=1ms"], ("queue_delay_p99", "<=", 0.009)),
    ],
)
def test_formulas_size_for_the_goal_that_asks_for_most(asked: list[str], decisive: tuple[str, str, float]) -> None:
    for order in itertools.permutations(asked):
        found = with_goals(SCENARIO, order)
        (core,) = [goal for goal in found.core.goals if goal[0] == decisive[0]]
        assert core == (decisive[0], decisive[1], pytest.approx(decisive[2]))
        on_metric = [goal for goal in found.goals if goal.name == decisive[0]]
        assert len(on_metric) == len(asked), "and none is lost"
    assert with_goals(SCENARIO, []) is SCENARIO


# Everything together ---------------------------------------------------------------------------------------------


#: What the search for the answer below took by the clock.
ELAPSED: list[float] = []


@pytest.fixture(scope="module")
def answer() -> recommendation.Recommendation:
    started = time.perf_counter()
    found = recommend(SCENARIO, ["loss_rate<=20%"], also=["7p", " 9p "])
    ELAPSED.append(time.perf_counter() - started)
    return found


def test_unless_asked_otherwise_an_answer_is_of_95_per_cent_within_5(answer: recommendation.Recommendation) -> None:
    assert answer.confidence is not None
    assert answer.confidence >= 0.95
    assert answer.resolution == 0.05
    assert (answer.sensitivity, answer.jitter, answer.pareto, answer.fraction) == (None, None, None, None)
    assert answer.configurations == ()
    assert answer.knob == TARGET_LINK
    assert answer.feasible
    assert answer.packets == round(answer.buffer.packets)  # type: ignore[union-attr]
    assert answer.conflict is None
    assert answer.engine == "packet"
    assert (
        repr(answer)
        == f"<Recommendation for 'Small link': {answer.packets} packets = " + repr(answer).partition(" = ")[2]
    )
    decided = f", decided by {answer.binding_goal}>" if answer.binding_goal else ">"
    assert repr(answer).endswith(decided)


def test_a_conflict_has_the_confidence_that_was_asked_for() -> None:
    conflict = recommend(SCENARIO, ["utilization>=99.9%", "queue_delay_p99<=1ms"], engine="packet", replications=2)
    assert not conflict.feasible
    assert conflict.confidence == 0.95
    assert (conflict.buffer, conflict.packets) == (None, None)
    assert conflict.conflict is not None
    assert "no buffer meets utilization and queue_delay_p99" in repr(conflict)
    assert conflict.feasible_up_to is None
    assert conflict.to_dict()["conflict"]["needs_at_least"]["goals"] == ["utilization"]


def test_buffers_that_were_named_are_measured(answer: recommendation.Recommendation) -> None:
    assert [(each.name, each.buffer.packets) for each in answer.also] == [("as configured", 20), ("7p", 7), ("9p", 9)]
    measured = {point.buffer.packets: point for point in answer.points}
    assert list(measured) == sorted(measured)
    for each in answer.also:
        assert each.measured == measured[each.buffer.packets].metrics
        point = answer.at(each.buffer)
        assert point is measured[each.buffer.packets]
    assert answer.at(size(123456)) is None
    wanted = {max(1, round(rule.buffer.packets)) for rule in answer.rules if rule.buffer is not None}
    assert {packets for packets in wanted if packets <= max(measured)} <= set(measured)


def test_the_curve_is_a_row_for_each_point(answer: recommendation.Recommendation) -> None:
    curve = answer.curve
    assert curve["buffer_packets"].to_list() == [point.buffer.packets for point in answer.points]
    assert curve["replications"].to_list() == [point.replications for point in answer.points]
    assert curve["utilization"].to_list() == [point.metrics["utilization"].mean for point in answer.points]
    assert curve["bulk.goodput_bps"].to_list() == [point.groups["bulk"]["goodput_bps"].mean for point in answer.points]
    assert curve["utilization_half_width"].to_list() == [
        point.metrics["utilization"].half_width for point in answer.points
    ]


def test_the_cost_is_of_all_that_was_measured(answer: recommendation.Recommendation) -> None:
    cost = answer.cost
    assert cost.replications == sum(point.replications for point in answer.points)
    assert cost.buffers == len(answer.points)
    assert cost.resumed == 0
    assert cost.cpu_s > 0
    assert 0.5 * ELAPSED[-1] < cost.wall_s < ELAPSED[-1]
    assert cost.events > cost.data_packets > 0
    assert cost.peak_rss_bytes > 0


def test_the_json_has_what_was_asked_for_and_no_more(answer: recommendation.Recommendation) -> None:
    told = answer.to_dict()
    extras = {"sensitivity", "configuration", "configurations", "pareto", "jitter", "over"}
    assert not extras & set(told)
    assert told == answer.data == json.loads(answer.to_json())
    one = recommend(SCENARIO, platforms=["linux"], pareto="utilization,queue_delay_p99", engine="fluid", jitter=True)
    assert extras & set(one.to_dict()) == {"configuration", "pareto", "jitter"}
    two = recommend(SCENARIO, platforms=["linux", "ios-xr"], engine="fluid")
    told = two.to_dict()
    assert extras & set(told) == {"configuration", "configurations"}
    assert told["configuration"] == told["configurations"][0]
    assert len(told["configurations"]) == 2


def test_costs_are_added_up_but_for_memory() -> None:
    def costing(events: int, memory: int) -> Report:
        cost = {"data_packets": 10 * events, "events": events, "cpu_s": 0.5, "wall_s": 1.0, "peak_rss_bytes": memory}
        return Report.of({"engine": "test", "metrics": {}, "groups": [], "cost": cost})

    known = finished({3: [costing(1, 50), costing(2, 80)], 9: [costing(4, 60)]}, Outcome())
    known.measure.resumed = 2
    cost = findings.cost(known.measure, 7.0)
    assert (cost.replications, cost.resumed, cost.buffers) == (3, 2, 2)
    assert (cost.events, cost.data_packets, cost.cpu_s) == (7, 70, 1.5)
    assert (cost.wall_s, cost.peak_rss_bytes) == (7.0, 80), "memory is used again"


def test_whether_the_curve_falls_again_is_known(answer: recommendation.Recommendation) -> None:
    for gaps, islands in itertools.product(((), ("gap",)), ((), ("island",))):
        known = dataclasses.replace(answer, gaps=gaps, islands=islands)  # type: ignore[arg-type]
        assert known.monotone == (not gaps and not islands)


def test_goals_are_asked_for_somewhere() -> None:
    with pytest.raises(InputError, match="found none; allowed: at least one"):
        recommend(Scenario.parse(SMALL.partition("[goal]")[0]))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"pareto": "utilization"}, "two metrics"),
        ({"confidence": 2.0}, "above 0.5 and below 1"),
        ({"fraction": 1.0}, "0.05 to 0.999"),
        ({"goals": ["timeouts<=1"]}, "which is not measured"),
        ({"goals": ["utilization>=99"]}, "allowed: 0 to 1"),
        ({"over": "link.queue.classes.voice.buffer"}, "unknown buffer"),
        ({"platforms": ["abacus"]}, "abacus"),
    ],
)
def test_what_is_wrong_is_found_before_anything_runs(wrong: dict[str, Any], told: str) -> None:
    def never(*_: object) -> None:
        pytest.fail("something ran")

    with pytest.raises(InputError, match=told):
        recommend(SCENARIO, progress=never, **wrong)


def test_a_warm_up_that_is_too_short_is_told_of_packets() -> None:
    starting = SCENARIO.changed("flows.bulk.start=20s", "run.measure=60s")
    goals = ["utilization>=10%", "queue_delay_p99<=5s", "queue_mean>=1p"]
    kinds = {Kind.STILL_STARTING, Kind.NOT_SETTLED}
    assert kinds & {warning.kind for warning in recommend(starting, goals, replications=2).warnings}
    conflict = recommend(starting, ["utilization>=99.9%", "queue_delay_p99<=1ms"], replications=2)
    assert not conflict.feasible
    assert not kinds & {warning.kind for warning in conflict.warnings}, "without an answer there is none to check"


def test_buffers_have_at_least_one_packet() -> None:
    assert recommendation._sized([rule(0.2), rule(None), rule(8.6), rule(1.0)]) == [1, 9, 1]
    tiny = SCENARIO.changed("link.buffer=100B")
    assert recommendation._asked(tiny, TARGET_LINK, [" 3p "]) == {"as configured": 1, "3p": 3}
    assert recommendation._asked(SCENARIO, TARGET_LINK, []) == {"as configured": 20}


@pytest.mark.parametrize("around", [2, 3, 17, 60])
@pytest.mark.parametrize("found", ["answer", "compromise", "nothing"])
def test_variations_are_searched_for_around_the_answer(
    around: int, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[tuple[Plan, int]] = []

    class Looking:
        def __init__(self, runs: Measurements, goals: Sequence[Goal], plan: Plan, _expect: object) -> None:
            assert goals == SCENARIO.goals
            plans.append((plan, runs._before))
            runs.reports = {(1, number): good(number) for number in range(5)}

        def run(self) -> Outcome:
            return Outcome(buffer=len(plans) if len(plans) % 2 else None, binding="utilization")

    outcome = {"answer": Outcome(buffer=around), "compromise": Outcome(compromise=around)}.get(found, Outcome())
    if found == "nothing":
        around = 50
    known = finished({9: four(good)}, outcome)
    monkeypatch.setattr(recommendation, "Search", Looking)
    told = recommendation._sensitivity(dataclasses.replace(known, scenario=SCENARIO))
    assert [(each.what, each.factor) for each in told] == [("rtt", 0.8), ("rtt", 1.2), ("load", 0.8), ("load", 1.2)]
    for number, ((plan, before), each) in enumerate(zip(plans, told, strict=True)):
        assert plan.smallest == max(1, around // 4)
        assert plan.largest == min(80, 4 * around)
        assert plan.gap == 2.0
        assert plan.also == ()
        assert before == 4 + 5 * number, "progress goes on"
        assert each.replications == 5
        assert each.binding_goal == "utilization"
        assert (each.recommendation is None) == (number % 2 == 1)
        if each.recommendation is not None:
            assert each.recommendation.packets == number + 1


# What is measured ------------------------------------------------------------------------------------------------


def test_progress_is_of_all_searches_and_never_beyond_what_is_expected() -> None:
    told: list[tuple[int, int]] = []
    scenario = Scenario.parse(SMALL).changed("run.measure=1s", "run.warmup=0s")
    measure = Measurements(scenario, "packet", 1, lambda done, of: told.append((done, of)), before=100)
    measure.expect(10)
    assert told == [(100, 110)]
    measure([(3, 0), (3, 1), (4, 0)])
    assert told[-1] == (103, 110)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    unforeseen: list[tuple[int, int]] = []
    Measurements(scenario, "packet", 1, lambda done, of: unforeseen.append((done, of)))([(3, 0)])
    assert unforeseen
    assert all(done == of for done, of in unforeseen), "nothing is expected that nobody foresaw"
    measure.expect(1)
    assert told[-1] == (103, 104)
    measure([(5, 0), (5, 1), (5, 2)])
    assert told[-1] == (106, 106), "more than was expected is what there is"
    assert measure.buffers() == [3, 4, 5]
    assert measure.at(3) == [measure.reports[3, 0], measure.reports[3, 1]]
    assert measure([(3, 1), (3, 0), (3, 1)]) == [measure.at(3)[1], measure.at(3)[0], measure.at(3)[1]]
    assert len(measure.reports) == 6
    other = Measurements(scenario, "packet", 1, None)
    assert other([(3, 1)])[0].metrics == measure.at(3)[1].metrics, "a replication is the same whoever asks"
    assert other([(4, 1)])[0].metrics != other([(4, 0)])[0].metrics


def test_a_formula_answers_each_buffer_once() -> None:
    measure = Measurements(Scenario.parse(SMALL), "closed_form", 1, None)
    assert not measure.replicates
    try:
        found = measure([(3, 5), (3, 6), (4, 5)])
    except UnsupportedError:
        pytest.fail("a formula fits this scenario")
    assert found[0] is found[1]
    assert set(measure.reports) == {(3, 0), (4, 0)}
    assert Measurements(Scenario.parse(SMALL), "packet", 1, None).replicates
