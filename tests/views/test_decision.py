"""The decision beside the curve: which measured buffers meet all goals, miss one, or leave it undecided."""

from __future__ import annotations

import dataclasses

import pytest

from forebay import Scenario, recommend
from forebay.inputs.goals import Goal
from forebay.results.report import Estimate
from forebay.search.answer import Recommendation
from forebay.search.answer_parts import CurvePoint, MetShare
from forebay.views import plots
from forebay.views.chart import series_names
from forebay.views.decision import is_exact, likely, may_meet, measured
from forebay.views.recommendation_charts import metric_panel, rule_dots
from tests.support.scenarios import SMALL

METRIC = "utilization"


@pytest.fixture(scope="module")
def answer() -> Recommendation:
    return recommend(Scenario.parse(SMALL), ["utilization>=0.85", "queue_delay_p99<=150ms"], also=["5p"])


def saying(answer: Recommendation, *runs: float, half: float | None = None) -> Recommendation:
    """An answer with one goal, utilization of at least 85 %, and one measured buffer, not the recommended one."""
    judged = {METRIC: dataclasses.replace(answer.goals[METRIC], goal=Goal(METRIC, ">=", 0.85))}
    mean = sum(runs) / len(runs)
    single = tuple({METRIC: run} for run in runs)
    assert answer.buffer is not None
    buffer = dataclasses.replace(answer.buffer, packets=answer.buffer.packets + 1)
    point = CurvePoint(buffer, len(runs), {METRIC: Estimate(mean, half)}, {}, single)
    return dataclasses.replace(answer, goals=judged, points=(point,))


@pytest.mark.parametrize(
    ("runs", "half", "state", "few"),
    [
        ((0.9,), None, "met", True),
        ((0.8,), None, "missed", True),
        ((0.86, 0.9), 0.25, "met", True),
        ((0.8, 0.84), 0.25, "missed", True),
        ((0.8, 0.95), 0.9, "undecided", True),
        ((0.9, 0.9, 0.92), 0.02, "met", False),
        ((0.7, 0.7, 0.72), 0.02, "missed", False),
        ((0.8, 0.86, 0.96), 0.2, "undecided", False),
    ],
)
def test_few_runs_are_judged_by_themselves_and_others_by_their_interval(
    answer: Recommendation, runs: tuple[float, ...], half: float | None, state: str, few: bool
) -> None:
    (found,) = measured(saying(answer, *runs, half=half))
    assert (found.state, found.few) == (state, few)


def test_the_verdict_of_the_search_overrules_the_interval(answer: Recommendation) -> None:
    uncertain = saying(answer, 0.8, 0.86, 0.96, half=0.2)
    (point,) = uncertain.points
    states = [
        measured(dataclasses.replace(uncertain, **change))[0].state
        for change in (
            {"buffer": point.buffer},
            {"buffer": None, "verdict": "impossible"},
            {"buffer": None, "verdict": "undecided"},
        )
    ]
    assert states == ["met", "missed", "undecided"]


@pytest.mark.parametrize(("required", "state"), [(0.5, "met"), (0.9, "missed")])
def test_a_share_of_the_draws_counts_the_draws(answer: Recommendation, required: float, state: str) -> None:
    share = MetShare(required, 2, 3, None, 0.95)
    changed = dataclasses.replace(saying(answer, 0.2, 0.9, 0.9, half=0.01), fraction=share)
    assert measured(changed)[0].state == state
    (point,) = changed.points
    unknown = dataclasses.replace(changed, points=(dataclasses.replace(point, runs=()),))
    assert measured(unknown)[0].state == "undecided"


def test_without_goals_nothing_is_judged(answer: Recommendation) -> None:
    assert measured(dataclasses.replace(answer, goals={})) == []


def test_a_range_is_named_where_the_search_knows_one(answer: Recommendation) -> None:
    assert may_meet(answer) is None
    ends = answer.points[0].buffer, answer.points[-1].buffer
    undecided = dataclasses.replace(answer, verdict="undecided", buffer=None, between=ends)
    span = may_meet(undecided)
    assert span is not None
    assert (span.low, span.high) == (ends[0].number, ends[1].number)
    assert likely(undecided) is None
    known = likely(answer)
    assert (known is None) == (answer.feasible_from is None)
    if known is not None:
        assert known.name == "80 % interval"


def test_the_configured_buffer_and_rules_that_apply_come_first(answer: Recommendation) -> None:
    kinds = [dot.kind for dot in rule_dots(answer)]
    assert kinds[:2] == ["own", "also"]
    assert kinds.index("norule") == len(kinds) - kinds.count("norule")
    buffers = [dot.buffer for dot in rule_dots(answer) if dot.kind == "norule"]
    assert buffers == sorted(buffers)


def test_an_exact_engine_has_a_line(answer: Recommendation) -> None:
    assert is_exact("closed_form")
    assert not is_exact("packet")
    exact = dataclasses.replace(answer, engine="closed_form")
    for found, series in ((exact, {"mean"}), (answer, {"mean", "runs"})):
        assert series_names([metric_panel(found, METRIC)]) & {"mean", "runs"} == series


def test_single_runs_are_not_in_the_json(answer: Recommendation) -> None:
    (point,) = saying(answer, 0.9, 0.8).points
    assert set(point.to_dict()) == {"buffer", "replications", "metrics", "groups"}
    assert point.values(METRIC) == [0.9, 0.8]


@pytest.mark.parametrize("verdict", ["impossible", "undecided"])
def test_an_answer_without_a_buffer_is_drawn(answer: Recommendation, verdict: str) -> None:
    ends = (answer.points[1].buffer, answer.points[2].buffer) if verdict == "undecided" else None
    figure = plots.draw_recommendation(dataclasses.replace(answer, verdict=verdict, buffer=None, between=ends))
    names = [text.get_text() for text in figure.axes[0].texts]
    assert ("undecided" in names) == (verdict == "undecided")
    assert not any(name.startswith("recommended") for name in names)
