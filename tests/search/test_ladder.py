"""Smaller links bracket the answer of a whole one, and single runs of the whole link narrow the range."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay import Scenario, recommend
from forebay.inputs.goals import Goal
from forebay.results.warning import Kind
from forebay.search.goal_test import Verdict
from forebay.search.ladder import NARROW, Guess, Ladder, Rung, ScaledLook, Scatter, extrapolated, factors
from forebay.search.plan import Plan
from forebay.search.scaling import LEAST_FLOWS, ScaledLinks
from tests.support.noisy_links import Link, delay, utilization

PLAN = Plan(smallest=1, largest=1000, ceiling=8000)
ENOUGH = Goal("utilization", ">=", 0.9)
SHORT = Goal("queue_delay_p99", "<=", 0.02)
#: The smallest sufficient buffer of `utilization`.
NEEDED = 110

LARGE = """
[link]
rate = "2Gbps"
buffer = "5ms"
[[flows]]
name = "long"
count = 120
cca = "newreno"
rtt = { uniform = ["10ms", "30ms"] }
start = { uniform = ["0s", "200ms"] }
access = { rate = "1Gbps" }
[[flows]]
name = "background"
workload = { poisson = { rate = "200Mbps" } }
[run]
warmup = "500ms"
measure = "500ms"
[goal]
utilization = ">= 95%"
"""


def rung(factor: int, at: float, error: float = 1.1) -> Rung:
    return Rung(factor, at / error, at, at * error, {"utilization": [Scatter(0.0, 5e-4, 5)]})


# Scaled scenarios ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [2, 5, 10])
def test_a_smaller_link_leaves_each_flow_its_share(factor: int) -> None:
    complete = Scenario.parse(LARGE)
    small = ScaledLinks(complete).by(factor)
    assert small.core.rate_bps == pytest.approx(complete.core.rate_bps / factor)
    counts = [{name: count for name, count, *_ in each.core.groups} for each in (complete, small)]
    assert counts[1]["long"] == counts[0]["long"] / factor
    assert small.core.background_load == pytest.approx(complete.core.background_load)
    retained = ("rtt", "access", "start", "cca", "packet")
    groups = [each.resolved["flows"][0] for each in (complete, small)]
    assert {key: groups[0][key] for key in retained} == {key: groups[1][key] for key in retained}
    assert small.core.duration_s == complete.core.duration_s
    assert small.goals == complete.goals
    assert small.buffer.seconds == pytest.approx(complete.buffer.seconds, rel=0.01)


@pytest.mark.parametrize(
    ("change", "largest"),
    [
        ("flows.long.count=120", 120 // LEAST_FLOWS),
        ("flows.long.count=20", 1),
        ('flows.long.rtt=["10ms", "20ms"]', 1),
        ("link.queue=fq_codel", 1),
        ("goal.goodput=>= 1Gbps", 1),
        ("goal.jain_index=>= 0.5", 1),
        ('link.rate={ steps = [["0s", "2Gbps"], ["1s", "1Gbps"]], repeat = "2s" }', 1),
    ],
)
def test_what_a_smaller_link_would_not_have_is_not_scaled(change: str, largest: int) -> None:
    changes = (change, "flows.long.count=2") if "rtt=[" in change else (change,)
    assert ScaledLinks(Scenario.parse(LARGE).changed(*changes)).largest_factor == largest


# Extrapolation -------------------------------------------------------------------------------------------------------


@given(
    power=st.floats(-0.5, 1.0),
    coarse=st.integers(8, 200),
    fine=st.integers(2, 7),
    needed=st.floats(500, 1e5),
    error=st.floats(1.02, 1.5),
)
def test_the_power_of_the_size_is_found(power: float, coarse: int, fine: int, needed: float, error: float) -> None:
    guess = extrapolated([rung(k, needed / k**power, error) for k in (coarse, fine)])
    assert guess is not None
    assert guess.low * (1 - 1e-9) <= needed <= guess.high * (1 + 1e-9)
    assert guess.least <= guess.low
    assert guess.high <= guess.most


@given(power=st.floats(-0.5, 1.0), factor=st.integers(2, 200), needed=st.floats(500, 1e5))
def test_one_smaller_link_brackets_every_power(power: float, factor: int, needed: float) -> None:
    guess = extrapolated([rung(factor, needed / factor**power)])
    assert guess is not None
    assert guess.low <= needed * (1 + 1e-9)
    assert needed <= guess.high * (1 + 1e-9)


def test_without_smaller_links_nothing_is_guessed() -> None:
    assert extrapolated([]) is None


@given(largest=st.integers(1, 1000), run_s=st.floats(0.1, 1e4), within=st.floats(1, 1e4))
def test_factors_are_allowed_and_the_smallest_link_comes_first(largest: int, run_s: float, within: float) -> None:
    found = factors(largest, run_s, within)
    assert all(2 <= factor <= largest for factor in found)
    assert found == sorted(found, reverse=True)


# The whole link ------------------------------------------------------------------------------------------------------


NEEDS_ROOM = frozenset({"utilization"})


def scatters(noise: float) -> dict[str, list[Scatter]]:
    thresholds = {"utilization": 0.9, "queue_delay_p99": 0.02}
    return {key: [Scatter(0.0, 5 * (noise / threshold) ** 2, 5)] for key, threshold in thresholds.items()}


@pytest.mark.parametrize("off", [1.0, 30.0, 1 / 30])
@pytest.mark.parametrize("noise", [0.0, 0.002, 0.01])
@pytest.mark.parametrize("at_once", [1, 2, 8])
def test_the_range_has_the_truth_wherever_the_guess_is(off: float, noise: float, at_once: int) -> None:
    inside = 0
    for seed in range(20):
        guess = Guess(off * NEEDED / 2, off * NEEDED, off * NEEDED * 2, 1, 8000, scatters(noise or 1e-6), NEEDS_ROOM)
        link = Link({"utilization": utilization}, noise, seed)
        ladder = Ladder(link, [ENOUGH], PLAN, guess=guess, at_once=at_once)
        ladder.narrow()
        low, high = ladder.undecided()
        inside += low <= NEEDED <= high
        assert high / low <= NARROW**2 * (1 + 100 * noise)
        assert sum(link.asked.values()) <= 24 * at_once
    assert inside >= 18


def test_two_goals_leave_what_both_allow() -> None:
    link = Link({"utilization": utilization, "queue_delay_p99": delay}, 0.0)
    ladder = Ladder(
        link, [ENOUGH, SHORT], PLAN, guess=Guess(50, 100, 200, 1, 8000, scatters(1e-6), NEEDS_ROOM), at_once=2
    )
    outcome = ladder.run()
    assert outcome.buffer is not None
    # 160 us for each packet.
    assert NEEDED <= outcome.buffer <= 125


def test_goals_that_exclude_each_other_are_no_answer() -> None:
    short = replace(SHORT, threshold=0.008)
    link = Link({"utilization": utilization, "queue_delay_p99": delay}, 1e-4)
    ladder = Ladder(
        link, [ENOUGH, short], PLAN, guess=Guess(50, 100, 200, 1, 8000, scatters(1e-4), NEEDS_ROOM), at_once=2
    )
    outcome = ladder.run()
    assert outcome.buffer is None
    assert outcome.between is not None


def test_without_runs_the_range_is_that_of_the_widest_assumption() -> None:
    ladder = Ladder(Link({}, 0.0), [ENOUGH], PLAN, guess=Guess(50, 100, 200, 20, 3000, {}))
    assert ladder.undecided() == (20, 3000)
    assert Ladder(Link({}, 0.0), [ENOUGH], PLAN).undecided() == (1, 8000)


def test_single_runs_that_are_not_clear_of_the_noise_exclude_nothing() -> None:
    wide = {"utilization": [Scatter(0.0, 1.25, 5)]}
    ladder = Ladder(
        Link({"utilization": utilization}, 0.0), [ENOUGH], PLAN, guess=Guess(50, 100, 200, 1, 8000, wide, NEEDS_ROOM)
    )
    ladder.observe([50, 200])
    assert {ladder.together(at, [ENOUGH]) for at in (50, 200)} == {Verdict.UNCLEAR}
    assert ladder.undecided() == (1, 8000)


@pytest.mark.parametrize("mean", [utilization, lambda _buffer: 0.99, lambda _buffer: 0.5])
def test_a_smaller_link_gives_an_edge_only_if_it_has_one(mean: Callable[[int], float]) -> None:
    look = ScaledLook(Link({"utilization": mean}, 0.002), [ENOUGH], replace(PLAN, confidence=0.8))
    assert look.rung(8) is None
    look.run()
    found = look.rung(8)
    if mean(1) > 0.9:
        assert found is not None
        assert found.low == found.at == found.high == 1
    elif mean(8000) < 0.9:
        assert found is None
    else:
        assert found is not None
        assert found.low <= NEEDED <= found.high * 1.1
        assert math.isclose(found.at, NEEDED, rel_tol=0.3)


# All of it -----------------------------------------------------------------------------------------------------------


def test_a_link_that_is_too_large_for_the_time_gets_a_range() -> None:
    answer = recommend(Scenario.parse(LARGE), within=1.0, jobs=1)
    assert answer.verdict in {"undecided", "met"}
    if answer.verdict == "undecided":
        assert answer.between is not None
        low, high = answer.between
        assert 1 <= low.packets <= high.packets
    assert [warning.kind for warning in answer.warnings].count(Kind.SCALED) <= 1
