"""Goals: what is written is what is asked for, contradictions are found, and a report is read where the goal says."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.errors import ContradictionError, InputError
from forebay.inputs.goals import (
    Goal,
    check_bounds,
    distinct,
    metric_of_goal,
    metric_value,
    parts_of_key,
    split_goal,
)
from forebay.results.report import Report
from tests.support.tiers import examples

SENSES = (">=", "<=")

NAMES = ("utilization", "loss_rate", "queue_delay_p99", "background.loss_rate", "a.b.flow_goodput_p10")

thresholds = st.floats(allow_nan=False, allow_infinity=False)
goals = st.builds(Goal, st.sampled_from(NAMES), st.sampled_from(SENSES), thresholds)
few = st.builds(Goal, st.sampled_from(NAMES[:2]), st.sampled_from(SENSES), st.sampled_from([0.1, 0.2, 0.3]))


# A goal ----------------------------------------------------------------------------------------------------------


@given(goals, st.floats(-1e6, 1e6))
def test_a_margin_is_positive_on_the_good_side_and_nothing_at_the_threshold(goal: Goal, off: float) -> None:
    value = goal.threshold + off
    margin = goal.margin(value)
    assert (margin >= 0) == (value >= goal.threshold if goal.sense == ">=" else value <= goal.threshold)
    assert abs(margin) == abs(value - goal.threshold)
    assert goal.margin(goal.threshold) == 0


def test_the_name_is_the_key_of_a_goal_that_has_no_other() -> None:
    assert Goal("utilization", ">=", 0.9).key == "utilization"
    named_so = Goal("utilization", ">=", 0.9, key="utilization>=0.9")
    assert named_so.key == "utilization>=0.9"
    # Two that ask for the same are the same, whatever they are called.
    assert named_so == Goal("utilization", ">=", 0.9)
    assert named_so != Goal("utilization", "<=", 0.9)
    assert named_so.to_dict() == {"name": "utilization", "sense": ">=", "threshold": 0.9}


def test_a_goal_cannot_be_changed() -> None:
    for field in dataclasses.fields(Goal):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(Goal("utilization", ">=", 0.9), field.name, "x")


# As it is written ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sense", SENSES)
@pytest.mark.parametrize("space", ["", " ", "  \t"])
@pytest.mark.parametrize("threshold", ["0.99", "99%", "20ms", "-1", "1.5 Mbps"])
@pytest.mark.parametrize("name", NAMES)
def test_a_goal_is_a_metric_a_sense_and_a_threshold(name: str, threshold: str, space: str, sense: str) -> None:
    assert split_goal(f"{space}{name}{space}{sense}{space}{threshold}{space}") == (name, sense, threshold)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "utilization",
        "utilization 0.9",
        ">=0.9",
        "<=0.9",
        " >= 0.9",
        "utilization>=",
        "utilization<= ",
        "utilization=0.9",
        "utilization>0.9",
        "utilization<0.9",
        "utilization=>0.9",
        "utilization==0.9",
        "utilization>==0.9",
        "utilization>=>=0.9",
        "utilization>=0.9<=1",
        "0.1<=utilization>=0.9",
        '"utilization">=0.9',
        'utilization>="0.9"',
    ],
)
def test_what_lacks_a_part_or_has_one_twice_is_no_goal(text: str) -> None:
    with pytest.raises(InputError, match="allowed: METRIC>=VALUE or METRIC<=VALUE") as raised:
        split_goal(text)
    assert f"found `{text}`" in str(raised.value)
    assert raised.value.argument == "goals"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("utilization", "utilization"),
        ("utilisation", "utilization"),
        ("queue_delay_p99_s", "queue_delay_p99"),
        ("queue_mean_packets", "queue_mean"),
        ("web.queue_delay_p99_s", "web.queue_delay_p99"),
        ("a.b.goodput_bps", "a.b.goodput"),
        ("speed", "speed"),
        ("web.speed", "web.speed"),
    ],
)
def test_a_metric_goes_by_the_name_that_the_scenario_gives_it(written: str, name: str) -> None:
    for sense in SENSES:
        assert metric_of_goal(f"{written} {sense} 3") == name


# Several ---------------------------------------------------------------------------------------------------------


@given(st.lists(few, max_size=8))
def test_goals_have_distinct_keys_and_repeated_ones_are_merged(requested: list[Goal]) -> None:
    found = distinct(requested)
    assert found == list(dict.fromkeys(requested)), "each once, in the order asked"
    assert len({goal.key for goal in found}) == len(found)
    for goal in found:
        alone = [other.name for other in found].count(goal.name) == 1
        name, sense, bound = parts_of_key(goal.key)
        assert name == goal.name
        assert (sense, bound) == ((None, None) if alone else (goal.sense, goal.threshold))
    assert [goal.key for goal in distinct(found)] == [goal.key for goal in found]


@given(st.lists(goals, min_size=2, max_size=2, unique=True), st.sampled_from(NAMES))
def test_keys_carry_every_bound_to_the_last_bit(pair: list[Goal], name: str) -> None:
    both = distinct([dataclasses.replace(goal, name=name, key="") for goal in pair])
    for goal in both:
        if len(both) == 2:
            assert parts_of_key(goal.key) == (name, goal.sense, goal.threshold)


@pytest.mark.parametrize("key", ["utilization>=", "utilization>=high", "utilization>0.9", "p99", "x.5"])
def test_a_key_without_a_bound_is_a_name(key: str) -> None:
    assert parts_of_key(key) == (key, None, None)


@given(st.lists(few, max_size=6))
def test_bounds_contradict_each_other_where_no_value_is_within_all(requested: list[Goal]) -> None:
    values = [k / 20 for k in range(21)]
    possible = all(
        any(all(goal.margin(value) >= 0 for goal in requested if goal.name == name) for value in values)
        for name in NAMES[:2]
    )
    texts = [(goal, f"{goal.name}{goal.sense}{goal.threshold}") for goal in requested]
    if possible:
        check_bounds(texts)
        return
    with pytest.raises(ContradictionError, match="no value can meet both") as raised:
        check_bounds(texts)
    found = str(raised.value)
    name = next(
        name
        for name in dict.fromkeys(goal.name for goal in requested)
        if not any(all(goal.margin(value) >= 0 for goal in requested if goal.name == name) for value in values)
    )
    highest = max(goal.threshold for goal in requested if (goal.name, goal.sense) == (name, ">="))
    lowest = min(goal.threshold for goal in requested if (goal.name, goal.sense) == (name, "<="))
    assert f"found `{name}>={highest}` and `{name}<={lowest}`" in found
    assert raised.value.argument == "goals"


def test_one_value_is_enough_for_two_bounds() -> None:
    both = [Goal("utilization", ">=", 0.9), Goal("utilization", "<=", 0.9)]
    check_bounds((goal, "") for goal in both)
    check_bounds(())


# Values of a report ----- ----------------------------------------------------------------------------------------


def report(metrics: Mapping[str, float], **group: Any) -> Report:
    """A report on a link and two groups; `group` describes the second one."""
    groups = [
        {"name": "first", "metrics": {"loss_rate": {"mean": 0.11}}, "completion_time_s": {"p50": 0.12}},
        {"name": "web", "metrics": {"loss_rate": {"mean": 0.25}}} | group,
    ]
    found = {name: {"mean": value} for name, value in metrics.items()}
    return Report.of({"engine": "packet", "metrics": found, "groups": groups})


def test_a_goal_is_about_the_link_or_the_group_that_it_names() -> None:
    seen = report({"loss_rate": 0.5, "queue_delay_p99_s": 0.01})
    assert metric_value("loss_rate", seen) == 0.5
    assert metric_value("queue_delay_p99", seen) == metric_value("queue_delay_p99_s", seen) == 0.01
    assert metric_value("first.loss_rate", seen) == 0.11
    assert metric_value("web.loss_rate", seen) == 0.25


def test_quantiles_of_a_group_are_read_by_family_and_name() -> None:
    seen = report(
        {},
        completed=7,
        completion_time_s={"p50": 1.0, "p99": 4.0},
        flow_goodput_bps={"p10": 1e5, "p50": 2e5},
    )
    for name, value in (
        ("completion_time_p50", 1.0),
        ("completion_time_p99", 4.0),
        ("flow_goodput_p10", 1e5),
        ("flow_goodput_p50", 2e5),
    ):
        assert metric_value(f"web.{name}", seen) == value
    assert metric_value("first.completion_time_p50", seen) == 0.12


def test_transfers_of_which_none_ends_take_for_ever_but_not_infinitely_long() -> None:
    never = metric_value("web.completion_time_p99", report({}, completed=0))
    assert math.isfinite(never)
    assert never > 86_400.0, "longer than a day is never"
    assert metric_value("web.completion_time_p99", report({}, completed=0, completion_time_s={"p99": None})) == never
    # That is said of times until transfers end, and only where there were to be some and none did.
    assert metric_value("web.loss_rate", report({}, completed=0)) == 0.25
    for name, seen in (
        ("completion_time_p99", report({}, completed=3)),
        ("completion_time_p99", report({})),
        ("flow_goodput_p10", report({}, completed=0)),
    ):
        with pytest.raises(InputError, match=f"has no `web.{name}`: .*; the run reports: loss_rate"):
            metric_value(f"web.{name}", seen)


def test_a_missing_metric_is_reported_with_the_present_ones() -> None:
    seen = report({"utilization": 0.9, "loss_rate": 0.1})
    with pytest.raises(InputError, match="unknown group `mice`; known: first, web"):
        metric_value("mice.loss_rate", seen)
    with pytest.raises(InputError, match="unknown metric `speed`; known: utilization, loss_rate"):
        metric_value("speed", seen)
    with pytest.raises(InputError, match="unknown metric `speed`; known: loss_rate"):
        metric_value("web.speed", seen)
    with pytest.raises(InputError, match=r"has no `jain_index`: .*; the run reports: utilization, loss_rate"):
        metric_value("jain_index", seen)
    with pytest.raises(InputError, match=r"has no `utilization`: .*; the run reports: none"):
        metric_value("utilization", report({}))


@settings(max_examples=examples(50))
@given(st.lists(goals, min_size=1, max_size=5))
def test_goals_survive_a_json_round_trip(requested: list[Goal]) -> None:
    data = json.loads(json.dumps([goal.to_dict() for goal in requested]))
    assert [Goal(**each) for each in data] == requested
    for one, other in itertools.pairwise(requested):
        assert (one == other) == (hash(one) == hash(other)) or one.threshold == other.threshold == 0
