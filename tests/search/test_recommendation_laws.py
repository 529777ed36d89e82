"""On which terms a buffer counts as the answer, which goals decide, and what the curve and its trade-offs say."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay import InputError, Scenario, UnsupportedError
from forebay.results.report import BufferSize, Estimate
from forebay.search.answer_parts import CurvePoint
from forebay.search.buffer_variable import BufferVariable
from forebay.search.goal_test import MeanTest, ShareTest
from forebay.search.goals import with_goals
from forebay.search.listener import Callbacks
from forebay.search.measurements import Means, Measurements
from forebay.search.options import Precision
from forebay.search.planning import RequestedBuffers, plan_of
from forebay.search.tradeoff import front, metric_pair
from tests.support.scenarios import SMALL

SCENARIO = Scenario.parse(SMALL)


# The terms -------------------------------------------------------------------------------------------------------

PRECISION = Precision()


@pytest.mark.parametrize(
    ("term", "fine", "wrong"),
    [
        ("confidence", (0.5001, 0.95, 0.9999), (0.5, 1.0, 95.0, -0.5, math.nan)),
        ("resolution", (0.001, 0.05, 1.0), (0.0009, 0.0, 1.001, 5.0, -0.05, math.nan)),
        ("fraction", (0.05, 0.9, 0.999, None), (0.049, 0.0, 0.9991, 1.0, 90.0, math.nan)),
    ],
)
def test_terms_have_bounds(term: str, fine: Sequence[float], wrong: Sequence[float]) -> None:
    for value in fine:
        dataclasses.replace(PRECISION, **{term: value})
    for value in wrong:
        with pytest.raises(InputError, match="allowed: ") as raised:
            dataclasses.replace(PRECISION, **{term: value})
        assert raised.value.argument == term
        assert f"found {value:g}" in str(raised.value)


@pytest.mark.parametrize(("requested", "analyses"), [(None, (1, 2, 4, 8, 16)), (2, (2, 4, 8)), (9, (9, 18, 36))])
def test_analyses_double_up_to_four_times_the_requested_number(
    requested: int | None, analyses: tuple[int, ...]
) -> None:
    """The scenario's own number is that of a run."""
    for own in (2, 7):
        scenario = SCENARIO.changed(f"run.replications={own}")
        assert dataclasses.replace(PRECISION, replications=requested).analyses(scenario.core.replications) == analyses


@pytest.mark.parametrize("first", [2, 4, 8, 50])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("fraction", [0.05, 0.5, 0.9, 0.99])
def test_analyses_of_a_share_can_refuse_at_first_and_accept_from_the_second_on(
    first: int, confidence: float, fraction: float
) -> None:
    analyses = Precision(confidence, fraction=fraction)._analyses_of_share(first, fraction)
    assert list(analyses) == sorted(set(analyses))
    assert 3 <= len(analyses) <= 4
    # Four analyses share the error equally. `enough` draws are just sufficient if the goals hold in all of them.
    level = 1 - (1 - confidence) / 4
    enough = next(count for count in itertools.count(1) if 1 - fraction**count >= level)
    assert analyses[0] == max(first, 8)
    assert analyses[-1] == 4 * max(enough, first, 8)
    assert set(analyses) == {analyses[0], analyses[-1] // 4, analyses[-1] // 2, analyses[-1]}
    assert (
        dataclasses.replace(PRECISION, confidence=confidence, fraction=fraction, replications=first).analyses(1)
        == analyses
    )


class Scale:
    """A stub of a variable with given packets per bandwidth-delay product and a given configured number."""

    is_target, scenario = True, SCENARIO

    def __init__(self, packets: float, configured: float = 1.0) -> None:
        self.scale, self.key = packets, "link.buffer"
        self.packets_per_second = 0.0
        self.place = (None, None)
        self.size = BufferSize(configured, 1500 * configured, 0.01, None)


@pytest.mark.parametrize("scale", [0.01, 0.5, 3.9, 4.0, 4.1, 100.2, 1e4])
def test_the_first_look_reaches_two_products_and_the_search_sixteen(scale: float) -> None:
    """For a link with a product near zero it still reaches a few packets, enough to form a queue."""
    plan = plan_of(Scale(scale), RequestedBuffers([1, 64]), PRECISION)  # type: ignore[arg-type]
    assert plan.smallest == 1
    assert plan.ceiling == max(64, math.ceil(16 * scale))
    assert plan.largest == max(8, math.ceil(2 * scale))
    assert plan.also == (1, 64)
    requested = plan_of(Scale(scale), RequestedBuffers([10**6]), PRECISION)  # type: ignore[arg-type]
    assert (requested.ceiling, requested.also) == (10**6, (10**6,)), "what the user wants to see is measured"
    assert (plan.confidence, plan.resolution, plan.analyses) == (0.95, 0.05, (1, 2, 4, 8, 16))
    assert isinstance(plan.test, MeanTest)
    share = plan_of(Scale(scale), RequestedBuffers(), Precision(fraction=0.8)).test  # type: ignore[arg-type]
    assert share == ShareTest(0.8)


def test_the_search_reaches_the_configured_buffer() -> None:
    plan = plan_of(Scale(10.0, configured=5000.0), RequestedBuffers([5000]), PRECISION)  # type: ignore[arg-type]
    assert (plan.largest, plan.ceiling, plan.also) == (20, 5000, (5000,))


def test_buffers_of_rules_are_measured_beyond_the_first_look_or_all() -> None:
    """Between the smallest and the largest of the first look they lie on the curve."""
    scale: Any = Scale(100.0)
    requested, rules = [7], [20, 150, 200, 201, 1600, 1601]
    assert plan_of(scale, RequestedBuffers(requested, rules), PRECISION).also == (7, 201, 1600)
    assert plan_of(scale, RequestedBuffers(requested, rules, all_rules=True), PRECISION).also == (
        7,
        20,
        150,
        200,
        201,
        1600,
    )


# Several goals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goals", "decisive"),
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
def test_formulas_size_for_the_most_demanding_goal(goals: list[str], decisive: tuple[str, str, float]) -> None:
    for order in itertools.permutations(goals):
        found = with_goals(SCENARIO, order)
        (core,) = [goal for goal in found.core.goals if goal[0] == decisive[0]]
        assert core == (decisive[0], decisive[1], pytest.approx(decisive[2]))
        on_metric = [goal for goal in found.goals if goal.name == decisive[0]]
        assert len(on_metric) == len(goals), "and none is lost"
    assert with_goals(SCENARIO, []) is SCENARIO


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


# Measured buffers ------------------------------------------------------------------------------------------------


def test_progress_is_of_all_searches_and_never_beyond_what_is_expected() -> None:
    calls: list[tuple[int, int]] = []
    scenario = Scenario.parse(SMALL).changed("run.measure=1s", "run.warmup=0s")
    measure = Measurements(
        BufferVariable(scenario),
        Means("packet", 1, listener=Callbacks(lambda done, of: calls.append((done, of)))),
        before=100,
    )
    measure.expect(10)
    assert calls == [(100, 110)]
    measure([(3, 0), (3, 1), (4, 0)])
    assert calls[-1] == (103, 110)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    unforeseen: list[tuple[int, int]] = []
    Measurements(
        BufferVariable(scenario), Means("packet", 1, listener=Callbacks(lambda done, of: unforeseen.append((done, of))))
    )([(3, 0)])
    assert unforeseen
    assert all(done == of for done, of in unforeseen), "nothing is expected that nobody foresaw"
    measure.expect(1)
    assert calls[-1] == (103, 104)
    measure([(5, 0), (5, 1), (5, 2)])
    assert calls[-1] == (106, 106), "more than was expected is what there is"
    assert measure.buffers() == [3, 4, 5]
    assert measure.at(3) == [measure.reports[3, 0], measure.reports[3, 1]]
    assert measure([(3, 1), (3, 0), (3, 1)]) == [measure.at(3)[1], measure.at(3)[0], measure.at(3)[1]]
    assert len(measure.reports) == 6
    other = Measurements(BufferVariable(scenario), Means("packet", 1))
    assert other([(3, 1)])[0].metrics == measure.at(3)[1].metrics, "a replication is the same whoever asks"
    assert other([(4, 1)])[0].metrics != other([(4, 0)])[0].metrics


def test_a_formula_answers_each_buffer_once() -> None:
    measure = Measurements(BufferVariable(Scenario.parse(SMALL)), Means("closed_form", 1))
    assert not measure.replicates
    try:
        found = measure([(3, 5), (3, 6), (4, 5)])
    except UnsupportedError:
        pytest.fail("a formula fits this scenario")
    assert found[0] is found[1]
    assert set(measure.reports) == {(3, 0), (4, 0)}
    assert Measurements(BufferVariable(Scenario.parse(SMALL)), Means("packet", 1)).replicates
