"""When goals count as met, by how much they are missed, and what is worth as much as one observation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from forebay import Scenario
from forebay.inputs.goals import Goal
from forebay.results import statistics
from forebay.results.metric import NEVER_S, unit_of
from forebay.results.report import Report
from forebay.search.goal_test import MeanTest, ShareTest, Verdict
from forebay.search.independence import Step, different, enough, in_step, outcomes
from forebay.search.rule_verdict import Miss, RuleVerdict, worst_miss
from tests.support.tiers import examples

HIGH, LOW = Goal("utilization", ">=", 0.5), Goal("loss_rate", "<=", 0.1)


def test_a_few_runs_in_which_no_transfer_ended_are_no_evidence_of_a_miss() -> None:
    goal, test = Goal("completion_time_p50", "<=", 2.0), MeanTest()
    ended = [report({"completion_time_p50_s": 1 + 1e-6 * k}) for k in range(30)]
    never = [report({"completion_time_p50_s": NEVER_S}) for _ in range(10)]
    assert test.evidence_missed([*ended, *never], goal) == 0
    late = [report({"completion_time_p50_s": 3 + 1e-6 * k}) for k in range(30)]
    assert test.evidence_missed(late, goal) > 0.95
    assert (
        test.evidence_missed([*ended[:8], *[report({"completion_time_p50_s": NEVER_S + k}) for k in range(30)]], goal)
        > 0.95
    )


def report(metrics: Mapping[str, float]) -> Report:
    found = {name: {"mean": value} for name, value in metrics.items()}
    return Report.of({"engine": "test", "metrics": found, "groups": []})


def seen(utilization: Sequence[float], loss: Sequence[float] | None = None) -> list[Report]:
    """Replications by their utilization and loss; without a loss each has one of its own."""
    losses = [1e-6 * k for k in range(len(utilization))] if loss is None else loss
    pairs = zip(utilization, losses, strict=True)
    return [report({"utilization": one, "loss_rate": other}) for one, other in pairs]


figures = st.floats(0.3, 0.7).map(lambda x: round(x, 4))
samples = st.lists(st.tuples(figures, st.floats(0.0, 0.2).map(lambda x: round(x, 4))), min_size=2, max_size=12)


def split(drawn: list[tuple[float, float]]) -> list[Report]:
    return seen([one for one, _ in drawn], [other for _, other in drawn])


# On the average --------------------------------------------------------------------------------------------------


@settings(max_examples=examples(200))
@given(samples, st.sampled_from([0.6, 0.95, 0.98333]))
def test_all_have_to_clear_the_bound_and_one_is_enough_to_miss(drawn: list[tuple[float, float]], level: float) -> None:
    reports = split(drawn)
    independent = len(set(drawn))
    assume(2 * independent > len(drawn))
    test = MeanTest()
    p_values = list(test.evidence(reports, [HIGH, LOW]).values())
    missed = [test.evidence_missed(reports, goal) for goal in (HIGH, LOW)]
    most = statistics.most_confidence(independent)
    assert list(test.confidences(reports, [HIGH, LOW]).values()) == [min(most, p_value) for p_value in p_values]
    cleared = min(level, most)
    found = test.verdict(reports, [HIGH, LOW], level)
    if max(missed) >= cleared:
        assert found is Verdict.MISSED
    elif min(p_values) >= cleared:
        assert found is Verdict.MET
    else:
        assert found is Verdict.UNCLEAR
    for goal, met, miss in zip((HIGH, LOW), p_values, missed, strict=True):
        alone = test.verdict(reports, [goal], level)
        assert (alone is Verdict.MET) == (met >= cleared > miss)
        assert (alone is Verdict.MISSED) == (miss >= cleared)


def test_one_goal_that_is_clear_does_not_speak_for_another() -> None:
    clear, near, missed = [0.8, 0.81, 0.82, 0.83], [0.49, 0.52, 0.5, 0.51], [0.2, 0.21, 0.22, 0.23]
    other = Goal("loss_rate", ">=", 0.5)
    for losses, verdict in ((clear, Verdict.MET), (near, Verdict.UNCLEAR), (missed, Verdict.MISSED)):
        for goals in ([HIGH, other], [other, HIGH]):
            assert MeanTest().verdict(seen(clear, losses), goals, 0.95) is verdict


@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_equal_results_are_as_clear_as_so_many_can_be(count: int) -> None:
    """They differ in something else: n of them cannot exclude what occurs in one of n + 1."""
    reports = seen([0.6] * count)
    assert MeanTest().confidences(reports, [HIGH])[HIGH.key] == count / (count + 1)
    assert MeanTest().verdict(reports, [HIGH], 0.9999) is Verdict.MET
    assert MeanTest().verdict(reports, [Goal("utilization", ">=", 0.7)], 0.9999) is Verdict.MISSED
    assert MeanTest().verdict(reports, [Goal("utilization", ">=", 0.6)], 0.9999) is Verdict.MET, "just met is met"


@pytest.mark.parametrize("test", [MeanTest(), ShareTest(0.5)])
@pytest.mark.parametrize("copies", [2, 4, 9])
def test_what_repeats_itself_is_taken_as_it_is_seen(test: MeanTest | ShareTest, copies: int) -> None:
    reports = seen([0.6], [0.05]) * copies
    for goal, verdict in (
        (HIGH, Verdict.MET),
        (Goal("utilization", ">=", 0.6), Verdict.MET),
        (Goal("utilization", ">=", math.nextafter(0.6, 1)), Verdict.MISSED),
    ):
        assert test.verdict(reports, [goal], 0.99) is verdict


@given(samples, st.floats(0.01, 1.0), st.floats(0.01, 0.2))
def test_the_margin_is_of_the_goal_that_is_nearest_to_be_missed(
    drawn: list[tuple[float, float]], low: float, high: float
) -> None:
    goals = [Goal("utilization", ">=", low), Goal("loss_rate", "<=", high)]
    means = [math.fsum(each) / len(drawn) for each in zip(*drawn, strict=True)]
    expected = min((means[0] - low) / low, (high - means[1]) / high)
    assert MeanTest().margin(split(drawn), goals) == pytest.approx(expected, abs=1e-12)


def test_a_margin_of_a_threshold_at_or_below_zero_has_its_sign() -> None:
    for threshold in (0.0, -2.0):
        for value in (-3.0, -1.0, 0.0, 1.0):
            goal = Goal("utilization", ">=", threshold)
            found = MeanTest().margin(seen([value, value]), [goal])
            assert found == pytest.approx((value - threshold) / (abs(threshold) or 1.0))


def test_fresh_replications_are_looked_at_ever_later_however_many_the_search_took() -> None:
    """From the first look on the bootstrap can confirm; the last is no more than the most at any buffer."""
    for taken in (0, 2, 9, 100):
        analyses = MeanTest().confirmations(taken, 0.99, 32)
        counts = [count for count, _ in analyses]
        assert counts == sorted(set(counts))
        assert (counts[0], counts[-1]) == (8, 32)
        assert sum(part for _, part in analyses) == 1
        assert all(part > 0 for _, part in analyses)


# In a share ------------------------------------------------------------------------------------------------------


@settings(max_examples=examples(200))
@given(samples, st.sampled_from([0.3, 0.5, 0.9]), st.sampled_from([0.6, 0.9]))
def test_a_share_is_judged_by_the_draws_in_which_all_goals_hold(
    drawn: list[tuple[float, float]], share: float, level: float
) -> None:
    test, reports = ShareTest(share), split(drawn)
    holding = sum(one >= 0.5 and other <= 0.1 for one, other in drawn)
    assert test.draws_met(reports, [HIGH, LOW]) == holding
    assert test.margin(reports, [HIGH, LOW]) == pytest.approx(holding / len(drawn) - share)
    draws = set(drawn)
    assume(2 * len(draws) > len(drawn))
    among = sum(one >= 0.5 and other <= 0.1 for one, other in draws)
    at_least = 1 - stats.binomtest(among, len(draws), share, alternative="greater").pvalue
    below = 1 - stats.binomtest(among, len(draws), share, alternative="less").pvalue
    found = test.verdict(reports, [HIGH, LOW], level)
    assert (found is Verdict.MET) == (at_least >= level)
    assert (found is Verdict.MISSED) == (below >= level)
    confidences = test.confidences(reports, [HIGH, LOW])
    assert min(confidences.values()) == pytest.approx(at_least), "the least is that of all together"
    assert len(confidences) == 2
    alone = [sum(one >= 0.5 for one, _ in draws), sum(other <= 0.1 for _, other in draws)]
    better = 0 if alone[0] > alone[1] else 1
    expected = 1 - stats.binomtest(alone[better], len(draws), share, alternative="greater").pvalue
    assert list(confidences.values())[better] == pytest.approx(expected) or alone[0] == alone[1]


def test_a_goal_holds_where_it_is_just_met() -> None:
    reports = seen([0.5, 0.4999, 0.5001, 0.5], [0.1, 0.1, 0.1, 0.1001])
    assert ShareTest(0.5).draws_met(reports, [HIGH]) == 3
    assert ShareTest(0.5).draws_met(reports, [LOW]) == 3
    assert ShareTest(0.5).draws_met(reports, [HIGH, LOW]) == 2
    assert ShareTest(0.5).margin(reports, [HIGH, LOW]) == 0.0


@pytest.mark.parametrize("count", [5, 12, 40])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_level_that_is_just_reached_is_reached(count: int, share: float) -> None:
    for holding in range(count + 1):
        reports = seen([0.6] * holding + [0.4] * (count - holding))
        at_least, below = statistics.confidence_that_share(holding, count, share)
        for reached, verdict in ((at_least, Verdict.MET), (below, Verdict.MISSED)):
            if reached > 0.5:
                assert ShareTest(share).verdict(reports, [HIGH], reached) is verdict
                assert ShareTest(share).verdict(reports, [HIGH], math.nextafter(reached, 2)) is Verdict.UNCLEAR


@pytest.mark.parametrize(("share", "confidence"), [(0.5, 0.95), (0.9, 0.95), (0.9, 0.99), (0.99, 0.95)])
def test_fresh_draws_are_twice_as_many_as_would_do_if_all_held(share: float, confidence: float) -> None:
    would_do = next(count for count in itertools.count(1) if 1 - share**count >= confidence)
    test = ShareTest(share)
    assert test.confirmations(1, confidence, 32) == ((2 * would_do, 1.0),)
    assert test.confirmations(2 * would_do + 1, confidence, 32) == ((2 * would_do + 1, 1.0),)


# How many observations -------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 4), min_size=1, max_size=9))
def test_outcomes_are_told_apart_and_each_is_one_of_those_seen(drawn: list[int]) -> None:
    reports = seen([k / 10 for k in drawn], [0.0] * len(drawn))
    found = outcomes(reports)
    assert len(found) == different(reports) == len(set(drawn))
    assert all(any(one is other for other in reports) for one in found)
    assert enough(len(found), len(drawn)) == (len(found) > len(drawn) / 2)


LINK = """
[link]
rate = "20Mbps"
buffer = "20p"
queue = "red"
[[flows]]
name = "few"
count = 2
rtt = "20ms"
[[flows]]
name = "most"
count = 6
rtt = "30ms"
[[flows]]
name = "apart"
count = 2
rtt = { uniform = ["20ms", "40ms"] }
[[flows]]
name = "call"
workload = { cbr = { rate = "1Mbps" } }
"""


def test_steps_are_counted_over_all_groups_and_named_after_the_one_with_most() -> None:
    exact = Scenario.parse(LINK).changed(
        "link.queue=droptail", *(f"flows.{name}.processing=0s" for name in ("few", "most", "apart"))
    )
    core = exact.core
    assert in_step(core, "packet", []) == Step("most", 8)
    # Half of the flows are not more than half.
    half = exact.changed("flows.apart.count=8").core
    assert in_step(half, "packet", []) is None
    more = exact.changed("flows.apart.count=7").core
    assert in_step(more, "packet", []) == Step("most", 8)


@pytest.mark.parametrize("flows", [5, 10, 100])
def test_flows_lose_together_from_a_third_of_the_way_between_one_of_them_and_all(flows: int) -> None:
    core = (
        Scenario.parse(LINK).changed(f"flows.most.count={flows - 3}", "flows.apart.count=1", "flows.few.count=2").core
    )
    assert core.persistent_flows == flows
    for part, together in ((0.0, False), (0.32, False), (0.34, True), (1.0, True)):
        each = report({"synchronization": 1 / flows + part * (1 - 1 / flows)})
        assert (in_step(core, "packet", [each]) is not None) is together
    # It is about the mean of those replications that know, and fairness is another sign.
    one, other, silent = (report({"synchronization": x} if x is not None else {}) for x in (0.0, 1.0, None))
    assert in_step(core, "packet", [one, other, silent]) is not None
    assert in_step(core, "packet", [one, one, other]) is None
    assert in_step(core, "packet", [silent]) is None
    for index, same in ((1.0, True), (1 - 1e-10, True), (1 - 1e-8, False)):
        assert (in_step(core, "packet", [report({"jain_index": index, "synchronization": 0.0})]) is not None) is same


# Verdicts on rules -----------------------------------------------------------------------------------------------

GOALS = [Goal("utilization", ">=", 0.9), Goal("queue_delay_p99", "<=", 0.02), Goal("queue_mean", "<=", 40.0)]


@given(
    st.lists(
        st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 0.1), st.floats(0.0, 100.0)),
        min_size=1,
        max_size=4,
    )
)
def test_the_worst_miss_is_relative_to_the_threshold_and_told_in_its_unit(
    drawn: list[tuple[float, float, float]],
) -> None:
    reports = [
        report({"utilization": one, "queue_delay_p99_s": two, "queue_mean_packets": three}) for one, two, three in drawn
    ]
    means = [sum(each) / len(drawn) for each in zip(*drawn, strict=True)]
    off = [0.9 - means[0], means[1] - 0.02, means[2] - 40.0]
    parts = [off[0] / 0.9, off[1] / 0.02, off[2] / 40.0]
    worst = max(range(3), key=lambda k: parts[k])
    found = worst_miss(reports, GOALS, None)
    if parts[worst] <= 0:
        assert found is None
        return
    assert found is not None
    assert found.goal == GOALS[worst].key
    assert found.unit == ("points", "s", "%")[worst]
    assert found.by == pytest.approx((100 * off[0], off[1], 100 * parts[2])[worst])


def test_a_miss_of_nothing_is_in_per_cent_of_one() -> None:
    goal = Goal("queue_mean", "<=", 0.0)
    assert unit_of(goal.name) == "packets"
    assert worst_miss([report({"queue_mean_packets": 3.0})], [goal], None) == Miss("queue_mean", 300.0, "%")
    assert worst_miss([report({"queue_mean_packets": 0.0})], [goal], None) is None
    below = Goal("queue_mean", ">=", -2.0)
    assert worst_miss([report({"queue_mean_packets": -3.0})], [below], None) == Miss("queue_mean", 50.0, "%")


@pytest.mark.parametrize("holding", range(5))
def test_a_share_is_missed_by_so_many_points(holding: int) -> None:
    """Held on the average all the same: where it does not, that counts first."""
    reports = seen([0.9] * holding + [0.4999] * (4 - holding))
    found = worst_miss(reports, [HIGH], 0.5)
    if holding == 0:
        assert found is not None
        assert found.goal == HIGH.key
    elif holding < 2:
        assert found == Miss("fraction", pytest.approx(100 * (0.5 - holding / 4)), "points")
    else:
        assert found is None


@given(st.floats(0.001, 5000.0))
def test_a_miss_is_shown_with_two_digits_and_never_with_an_exponent(by: float) -> None:
    for unit, word in (("points", "point"), ("%", "%")):
        number, shown = Miss("x", by, unit).words.split(" ")  # type: ignore[arg-type]
        assert "e" not in number or by < 0.001
        assert abs(float(number) - by) <= max(0.0501 * 10 ** math.floor(math.log10(by)), 0.5 if by >= 9.95 else 0.0)
        assert shown.removesuffix("s") == word
        assert shown.endswith("s") == (unit == "points" and number != "1")
    assert Miss("x", 0.002, "s").words == "2.00 ms"


@given(st.floats(1.0, 5000.0))
def test_how_many_times_too_large_is_shown_with_two_digits(times: float) -> None:
    found = RuleVerdict(True, 1.0, simulated=True, times=times).measured_verdict
    if times < 1.05:
        assert found in {"meets every goal at the recommendation", "meets every goal at 1.1 x the recommendation"}
        return
    number = found.removeprefix("meets every goal at ").removesuffix(" x the recommendation")
    assert abs(float(number) - times) <= (0.5 if times >= 9.95 else 0.0501)
    assert ("." in number) == (times < 9.95)


@given(st.floats(0.01, 1.0))
def test_a_share_is_in_per_cent_and_never_all_unless_it_is(share: float) -> None:
    words = RuleVerdict(True, share).verdict
    if share == 1.0:
        assert words == "applies"
    elif words != "applies to over 99 %":
        assert abs(float(words.removeprefix("applies to ").removesuffix(" %")) - 100 * share) <= 0.5 + 1e-9
        assert "100" not in words
    else:
        assert share > 0.99
    assert RuleVerdict(False, share).verdict == RuleVerdict(False, share).words == "does not apply"


def test_what_was_not_simulated_is_not_spoken_of() -> None:
    assert RuleVerdict(True, 1.0).measured_verdict == ""
    assert RuleVerdict(True, 1.0, simulated=True).measured_verdict == "meets every goal"
    assert (
        RuleVerdict(True, 1.0, simulated=True, times=2.0).words
        == "applies, meets every goal at 2.0 x the recommendation"
    )
    off = RuleVerdict(True, 1.0, simulated=True, miss=Miss("x", 3.0, "points"), times=2.0)
    assert off.miss is not None
    assert off.measured_verdict == f"misses {off.miss.subject} by 3 points"
    data = off.to_dict()
    assert data["words"] == f"applies, {off.measured_verdict}"
    assert (data["applies"], data["share"], data["simulated"], data["times"]) == (True, 1.0, True, 2.0)
