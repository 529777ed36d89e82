"""Tests of the findings of finished searches, on searches whose every report and outcome is known."""

from __future__ import annotations

import dataclasses
import itertools
import json
import time
from collections.abc import Sequence
from typing import Any

import pytest

from forebay import InputError, Scenario, recommend
from forebay.configuration.jitter import Jitter, jittered
from forebay.inputs.goals import Goal
from forebay.results import statistics
from forebay.results.report import BufferSize, Report
from forebay.results.warning import Kind, Warning
from forebay.rules import Rule
from forebay.search import evidence_warnings, findings, variations
from forebay.search.answer import Recommendation
from forebay.search.buffer_variable import BufferVariable
from forebay.search.evidence import Evidence
from forebay.search.evidence_warnings import warnings
from forebay.search.goal_test import GoalTest, MeanTest, ShareTest
from forebay.search.measurements import Measurements
from forebay.search.plan import Outcome, Plan
from forebay.search.question import Question, named_numbers
from forebay.search.rare_states import lengthened
from forebay.search.words import Words
from tests.support.scenarios import SMALL
from tests.support.searches import DELAY, SCENARIO, UTILIZATION, bad, finished, four, good, report

# The answer ------------------------------------------------------------------------------------------------------


def test_the_answer_uses_its_fresh_replications_and_a_compromise_uses_all() -> None:
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
    test = MeanTest() if share is None else ShareTest(share)
    fresh = [report(0.85, 0.14), report(0.9, 0.16), report(0.8, 0.15), report(0.95, 0.19)]
    known = finished({9: four(good)}, Outcome(buffer=9, confirmation=fresh, binding=DELAY.key), test=test)
    judged = findings.judged_goals(known, share)
    assert list(judged) == [UTILIZATION.key, DELAY.key]
    for goal, values, held in ((UTILIZATION, (0.85, 0.9, 0.8, 0.95), 3), (DELAY, (0.14, 0.16, 0.15, 0.19), 2)):
        found = judged[goal.key]
        interval = statistics.mean_interval(values, 0.95)
        assert (found.measured.mean, found.measured.half_width) == pytest.approx((interval.mean, interval.half_width))
        assert (found.met_replications, found.replications) == ((None, None) if share is None else (held, 4))
        assert found.at_packets == 9
        assert found.margin == pytest.approx(goal.margin(interval.mean))
        assert found.met == (goal is UTILIZATION if share is None else held >= 4 * share)
        assert found.binding == (goal is DELAY)
        worst = known.search.worst_margins_near(9, fresh)
        assert found.confidence == test.confidences(fresh, SCENARIO.goals, worst)[goal.key]
        data = found.to_dict()
        assert data["threshold"] == goal.threshold
        assert "metric" not in data


def test_a_goal_that_is_just_met_is_met() -> None:
    fresh = [report(0.85, 0.15, loss=0.001 * number) for number in range(4)]
    judged = findings.judged_goals(finished({9: four(good)}, Outcome(buffer=9, confirmation=fresh)), None)
    assert all(goal.met for goal in judged.values())
    assert all(goal.margin == pytest.approx(0.0, abs=1e-12) for goal in judged.values())


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
    assert (held.required, held.met_replications, held.replications) == (0.6, 2, 4)
    assert held.confidence == 0.9
    assert held.at_least == statistics.share_at_least(2, 4, 0.9)


def test_buffers_are_printed_in_every_unit() -> None:
    def packets(size: BufferSize | None) -> float | None:
        return None if size is None else size.packets

    seen = {3: four(bad), 9: four(good), 20: four(bad), 40: four(good)}
    answered = finished(
        seen, Outcome(buffer=9, up_to=(9, 20), gaps=((20, UTILIZATION.key),), feasible_intervals=((5, 7), (4, 7)))
    )
    end = findings.upper_end(answered)
    assert end is not None
    assert (packets(end.buffer), packets(end.missed_at)) == (9, 20)
    assert end.buffer.bytes == 9 * 1000
    (gap,) = findings.gaps(answered)
    assert (packets(gap.buffer), gap.goal) == (20, UTILIZATION.key)
    assert gap.measured.mean == pytest.approx(0.70015)
    assert [(packets(each.buffer), packets(each.missed_at)) for each in findings.feasible_intervals(answered)] == [
        (4, 7),
        (5, 7),
    ]
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
    off = {miss.goal.key: (miss.shortfall, miss.met) for miss in found.nearest}
    assert off[UTILIZATION.key] == (pytest.approx(0.85 - 0.70015), False)
    assert off[DELAY.key] == (0.0, True)
    nothing = findings.conflict(finished({3: four(bad)}, dataclasses.replace(outcome, compromise=None)), judged)
    assert nothing.compromise is None


# Rules -----------------------------------------------------------------------------------------------------------


def rule(packets: float | None) -> Rule:
    return Rule("some", packets, None, (), {}, ("a note",))


@pytest.mark.parametrize("test", [MeanTest(), ShareTest(0.9)])
def test_a_rule_is_judged_at_its_own_buffer(monkeypatch: pytest.MonkeyPatch, test: GoalTest) -> None:
    monkeypatch.setattr(Report, "over", classmethod(lambda _cls, reports: next(iter(reports))))
    seen = {1: four(bad), 9: four(good), 80: four(good), 18: [*four(good)[:3], report(0.84, 0.1)]}
    known = finished(seen, Outcome(buffer=9), test=test)
    none = findings.judged_rule(known, rule(None))
    assert (none.buffer, none.measured, none.rule_verdict.simulated) == (None, {}, False)
    assert none.notes == ("a note",)
    for requested, packets in ((0.0, 1), (0.4, 1), (8.6, 9), (18.0, 18), (80.0, 80)):
        found = findings.judged_rule(known, rule(requested))
        assert found.buffer is not None
        assert found.buffer.packets == packets
        assert found.notes == ("a note",)
        assert found.measured["utilization"] == seen[packets][0].metrics["utilization"]
        assert found.rule_verdict.simulated
        if packets == 1:
            assert found.rule_verdict.miss is not None
            assert found.rule_verdict.miss.goal == UTILIZATION.key
            assert found.rule_verdict.times is None
        elif packets == 18 and isinstance(test, ShareTest):
            assert found.rule_verdict.miss is not None
            assert found.rule_verdict.miss.goal == "fraction", "three of four draws are fewer than nine in ten"
            assert found.rule_verdict.times is None
        else:
            assert found.rule_verdict.miss is None
            assert found.rule_verdict.times == pytest.approx(packets / 9)
    beyond = findings.judged_rule(known, rule(81.0))
    assert beyond.buffer is not None
    assert beyond.buffer.packets == 81
    assert beyond.notes == ("a note", "not simulated: more than 80 packets")
    assert (beyond.measured, beyond.rule_verdict.simulated) == ({}, False)
    without = finished(seen, Outcome(compromise=9), test=test)
    assert findings.judged_rule(without, rule(9.0)).rule_verdict.times is None


# Warnings --------------------------------------------------------------------------------------------------------


def kinds(known: Evidence) -> list[Kind]:
    return [warning.kind for warning in warnings(known)]


def test_equal_replications_are_warned_of() -> None:
    for count, different, words in (
        (8, 1, "all 8 replications at 9 packets are identical"),
        (8, 4, "only 4 of the 8 replications at 9 packets differ. They are too few for a confidence"),
        (8, 5, "only 5 of the 8 replications at 9 packets differ. They count as 5 observations"),
    ):
        fresh = [good(number % different) for number in range(count)]
        (warning,) = warnings(finished({9: four(good)}, Outcome(buffer=9, confirmation=fresh)))
        assert warning.kind is Kind.IDENTICAL
        assert words in warning
        assert warning.values == {"replications": count, "different": different}
        assert warning.endswith("Use `--jitter`, which makes round trips and starts random")
    fresh = [good(number) for number in range(8)]
    assert warnings(finished({9: fresh}, Outcome(buffer=9, confirmation=fresh))) == ()
    assert warnings(finished({}, Outcome())) == ()
    once = finished({9: four(good)}, Outcome(buffer=9))
    once.measure.replicates = False
    (warning,) = warnings(once)
    assert warning.values == {"replications": 1, "different": 1}
    random = jittered(SCENARIO)[0]
    (warning,) = warnings(finished({9: [good()] * 8}, Outcome(compromise=9), scenario=random))
    assert warning.endswith("Make the traffic random, such as with a distribution for `start`, `rtt` or sizes")


def test_flows_in_step_are_warned_of_and_the_remedy_is_printed_once() -> None:
    text = SMALL.partition('[[flows]]\nname     = "background"')[0] + "[run]" + SMALL.partition("[run]")[2]
    step = Scenario.parse(text).changed("flows.bulk.count=3")
    cure = ". Use `--jitter`, which makes round trips and starts random"
    for fresh, kinds in (
        ([good()] * 8, [Kind.IDENTICAL, Kind.LOCK_STEP]),
        ([good(number) for number in range(8)], [Kind.LOCK_STEP]),
    ):
        known = finished({9: fresh}, Outcome(buffer=9, confirmation=fresh), scenario=step, engine="packet")
        assert not known.confident
        warnings_ = evidence_warnings._of_independence(known)
        assert [warning.kind for warning in warnings_] == kinds
        assert [cure in warning for warning in warnings_] == [False] * (len(kinds) - 1) + [True]
        assert (warnings_[-1].subject, warnings_[-1].values) == ("bulk", {"flows": 3})
        assert warnings_[-1].startswith("3 flows are synchronized")
        assert warnings_[-1].endswith(f"have no confidence{cure}")
        assert warnings_[0].startswith("all 8 replications at 9 packets are identical") or len(kinds) == 1
    apart = step.changed('flows.bulk.rtt={ uniform = ["20ms", "40ms"] }')
    fresh = [good(number) for number in range(8)]
    assert finished({9: fresh}, Outcome(buffer=9, confirmation=fresh), scenario=apart, engine="packet").confident


def test_a_falling_curve_is_warned_of_once_for_each_goal() -> None:
    repeated = Warning(Kind.MISSED_AGAIN, "noted by the search")
    other = Warning(Kind.NO_MARGIN, "something else")
    seen = {9: four(good)}
    fresh = four(good)
    noted = finished(seen, Outcome(buffer=9, confirmation=fresh, notes=[repeated, other]))
    assert list(warnings(noted)) == [repeated, other]
    outcome = Outcome(
        buffer=9,
        confirmation=fresh,
        notes=[repeated, other],
        gaps=((20, "a"), (21, "b"), (22, "a")),
        feasible_intervals=((7, 8), (3, 4), (2, 4)),
    )
    retained, first, second, below = warnings(finished(seen, outcome))
    assert retained is other
    assert (first.subject, first.values) == ("a", {"missed_at": 20})
    assert first == "`a` is also missed above the answer, at 20, 22 packets"
    assert (second.subject, second.values) == ("b", {"missed_at": 21})
    assert (below.kind, below.values) == (Kind.MET_BELOW, {"met_at": 7, "missed_at": 8})
    assert below == "2, 3, 7 packets would also meet every goal, but 8 packets would not"


@pytest.mark.parametrize("count", [1, 2, 6, 7, 12])
def test_buffers_are_named_but_not_too_many_of_them(count: int) -> None:
    named = list(range(1, count + 1))
    text = Words().in_words(*named)
    assert text.endswith(" packet" if count == 1 else " packets")
    shown = [int(part) for part in text.partition(" packet")[0].replace(", ...", "").split(", ")]
    assert shown == named[: len(shown)]
    assert len(shown) == min(count, 6)
    assert ("..." in text) == (len(shown) < count)
    assert Words().in_words(2) == "2 packets"
    assert Words().in_words(0) == "0 packets"
    assert evidence_warnings._names(["a"]) == "a"
    assert evidence_warnings._names(["a", "b"]) == "a and b"
    assert evidence_warnings._names(["a", "b", "c", "d"]) == "a, b, c and d"


def test_warnings_of_runs_are_merged_with_their_buffers() -> None:
    def warned(*subjects: str, kind: Kind = Kind.IMPRECISE) -> Report:
        made = good()
        made.__dict__["warnings"] = tuple(Warning(kind, f"few at {s}", subject=s) for s in subjects)
        return made

    seen = {9: [warned("a"), warned("b", "a")], 4: [warned(), warned("a")], 12: [warned(), warned()]}
    found = evidence_warnings._of_runs(finished(seen, Outcome(buffer=9)))
    assert found == ["at 4, 9 packets: few at a", "at 9 packets: few at b"]
    assert [warning.subject for warning in found] == ["a", "b"]
    one_cause = {at: [warned(name, kind=Kind.METRIC_LEFT_OUT)] for at, name in ((9, "a"), (5, "b"), (100, "c"))}
    (merged,) = evidence_warnings._of_runs(finished(one_cause, Outcome(buffer=9)))
    for part in ("at 5, 9 packets", "`a`", "`b`"):
        assert part in merged


def test_the_change_by_jitter_is_reported() -> None:
    nothing = Jitter(round_trips=(), starts=(), round_trip_s=0.001, start_s=0.5)
    both = Jitter(round_trips=("web", "bulk"), starts=("bulk",), round_trip_s=0.001, start_s=0.5)
    assert evidence_warnings._of_jitter(None) == []
    assert "changed nothing" in evidence_warnings._of_jitter(nothing)[0]
    for jitter, words, values in (
        (both, ("round trips of `web` and `bulk` and spread the starts of `bulk`",), {"round_trip_s", "start_s"}),
        (dataclasses.replace(both, starts=()), ("added up to 1.00 ms to",), {"round_trip_s"}),
        (dataclasses.replace(both, round_trips=()), ("spread the starts of `bulk` over 500 ms",), {"start_s"}),
    ):
        (warning,) = evidence_warnings._of_jitter(jitter)
        assert set(warning.values) == values
        for word in words:
            assert word in warning


def size(packets: float) -> BufferSize:
    return BufferSize(packets, 1000 * packets, 0.001 * packets, None)


# Everything together ---------------------------------------------------------------------------------------------


#: Wall-clock time of the search for the answer below.
ELAPSED: list[float] = []


@pytest.fixture(scope="module")
def answer() -> Recommendation:
    started = time.perf_counter()
    found = recommend(SCENARIO, ["loss_rate<=20%"], also=["7p", " 9p "])
    ELAPSED.append(time.perf_counter() - started)
    return found


def test_the_default_is_95_percent_confidence_within_5_percent(answer: Recommendation) -> None:
    assert answer.confidence is not None
    assert answer.confidence >= 0.95
    assert answer.resolution == 0.05
    assert (answer.sensitivity, answer.jitter, answer.pareto, answer.fraction) == (None, None, None, None)
    assert answer.configurations == ()
    assert answer.variable == BufferVariable(SCENARIO)
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


def test_a_conflict_is_proven_at_the_requested_confidence() -> None:
    conflict = recommend(SCENARIO, ["utilization>=99.9%", "queue_delay_p99<=1ms"], engine="packet", replications=2)
    assert not conflict.feasible
    assert (conflict.verdict, conflict.confidence) == ("impossible", 0.95)
    assert (conflict.buffer, conflict.packets) == (None, None)
    assert conflict.conflict is not None
    assert "no buffer meets utilization and queue_delay_p99" in repr(conflict)
    assert conflict.feasible_up_to is None
    assert conflict.to_dict()["conflict"]["needs_at_least"]["goals"] == ["utilization"]


def test_buffers_that_were_named_are_measured(answer: Recommendation) -> None:
    assert [(each.name, each.buffer.packets) for each in answer.also] == [("as configured", 20), ("7p", 7), ("9p", 9)]
    measured = {point.buffer.packets: point for point in answer.points}
    assert list(measured) == sorted(measured)
    for each in answer.also:
        assert each.measured == measured[each.buffer.packets].metrics
        point = answer.at(each.buffer)
        assert point is measured[each.buffer.packets]
    assert answer.at(size(123456)) is None
    for rule in (rule for rule in answer.rules if rule.buffer is not None):
        packets = rule.buffer.packets
        assert (rule.between is None) == (packets in measured or packets > max(measured))
        if rule.between is not None:
            low, high = (end.packets for end in rule.between)
            assert (low, high) == (max(p for p in measured if p < packets), min(p for p in measured if p > packets))
            ends = [measured[at].metrics["utilization"].mean for at in (low, high)]
            assert min(ends) <= rule.measured["utilization"].mean <= max(ends)
            assert rule.measured["utilization"].half_width is None
    assert any(rule.between is not None for rule in answer.rules)


def test_the_curve_is_a_row_for_each_point(answer: Recommendation) -> None:
    curve = answer.curve
    assert curve["buffer_packets"].to_list() == [point.buffer.packets for point in answer.points]
    assert curve["replications"].to_list() == [point.replications for point in answer.points]
    assert curve["utilization"].to_list() == [point.metrics["utilization"].mean for point in answer.points]
    assert curve["bulk.goodput_bps"].to_list() == [point.groups["bulk"]["goodput_bps"].mean for point in answer.points]
    assert curve["utilization_half_width"].to_list() == [
        point.metrics["utilization"].half_width for point in answer.points
    ]


def test_the_cost_is_of_all_that_was_measured(answer: Recommendation) -> None:
    cost = answer.cost
    assert answer.varied_hosts is not None
    assert cost.replications == sum(point.replications for point in answer.points) + answer.varied_hosts.runs
    assert cost.buffers == len(answer.points)
    assert cost.cached_runs == 0
    assert cost.cpu_s > 0
    assert 0.5 * ELAPSED[-1] < cost.wall_s < ELAPSED[-1]
    assert cost.events > cost.data_packets > 0
    assert cost.peak_rss_bytes > 0


def test_the_json_has_the_requested_parts_only(answer: Recommendation) -> None:
    data = answer.to_dict()
    extras = {"sensitivity", "configuration", "configurations", "pareto", "jitter", "over"}
    assert not extras & set(data)
    assert data == answer.data == json.loads(answer.to_json())
    one = recommend(SCENARIO, platforms=["linux"], pareto="utilization,queue_delay_p99", engine="fluid", jitter=True)
    assert extras & set(one.to_dict()) == {"configuration", "pareto", "jitter"}
    two = recommend(SCENARIO, platforms=["linux", "ios-xr"], engine="fluid")
    data = two.to_dict()
    assert extras & set(data) == {"configuration", "configurations"}
    assert data["configuration"] == data["configurations"][0]
    assert len(data["configurations"]) == 2


def test_costs_are_added_up_but_for_memory() -> None:
    def costing(events: int, memory: int) -> Report:
        cost = {"data_packets": 10 * events, "events": events, "cpu_s": 0.5, "wall_s": 1.0, "peak_rss_bytes": memory}
        return Report.of({"engine": "test", "metrics": {}, "groups": [], "cost": cost})

    known = finished({3: [costing(1, 50), costing(2, 80)], 9: [costing(4, 60)]}, Outcome())
    known.measure.resumed = 2
    cost = findings.cost([known.measure], 7.0)
    assert (cost.replications, cost.cached_runs, cost.buffers) == (3, 2, 2)
    assert (cost.events, cost.data_packets, cost.cpu_s) == (7, 70, 1.5)
    assert (cost.wall_s, cost.peak_rss_bytes) == (7.0, 80), "memory is used again"


def test_whether_the_curve_falls_again_is_known(answer: Recommendation) -> None:
    for gaps, islands in itertools.product(((), ("gap",)), ((), ("island",))):
        known = dataclasses.replace(answer, infeasible_intervals=gaps, feasible_intervals=islands)  # type: ignore[arg-type]
        assert known.monotone == (not gaps and not islands)


def test_goals_are_asked_for_somewhere() -> None:
    with pytest.raises(InputError, match="found none; allowed: at least one"):
        recommend(Scenario.parse(SMALL.partition("[goal]")[0]))


@pytest.mark.parametrize(
    ("wrong", "message"),
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
def test_what_is_wrong_is_found_before_anything_runs(wrong: dict[str, Any], message: str) -> None:
    def never(*_: object) -> None:
        pytest.fail("something ran")

    with pytest.raises(InputError, match=message):
        recommend(SCENARIO, progress=never, **wrong)


def test_a_short_warm_up_is_warned_of_for_the_packet_engine() -> None:
    starting = SCENARIO.changed("flows.bulk.start=20s", "run.measure=60s")
    goals = ["utilization>=10%", "queue_delay_p99<=5s", "queue_mean>=1p"]
    kinds = {Kind.STILL_STARTING, Kind.NOT_SETTLED}
    assert kinds & {warning.kind for warning in recommend(starting, goals, replications=2).warnings}
    conflict = recommend(starting, ["utilization>=99.9%", "queue_delay_p99<=1ms"], replications=2)
    assert not conflict.feasible
    assert not kinds & {warning.kind for warning in conflict.warnings}, "without an answer there is none to check"


def test_buffers_have_at_least_one_packet() -> None:
    rules = [rule(0.2), rule(None), rule(8.6), rule(1.0)]
    requested = Question(BufferVariable(SCENARIO), {}, rules, (), None, lengthened(SCENARIO))
    assert requested.of_rules == [1, 9, 1]
    tiny = SCENARIO.changed("link.buffer=100B")
    assert named_numbers(BufferVariable(tiny), [" 3p "]) == {"as configured": 1, "3p": 3}
    assert named_numbers(BufferVariable(SCENARIO), []) == {"as configured": 20}


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
    monkeypatch.setattr(variations, "Search", Looking)
    varied = variations.variations(known)
    assert [(each.quantity, each.factor) for each in varied] == [
        ("rtt", 0.8),
        ("rtt", 1.2),
        ("load", 0.8),
        ("load", 1.2),
    ]
    for number, ((plan, before), each) in enumerate(zip(plans, varied, strict=True)):
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
