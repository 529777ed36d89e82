"""Where a line crosses zero, how surely, and how far observations lie from it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.inputs.goals import Goal
from forebay.results.report import Report
from forebay.search.bracketing import CERTAIN, MOST, Bracketing
from forebay.search.goal_test import Replications, Verdict, mean_margin, observations
from forebay.search.noisy_root import (
    DOUBT,
    MOST_DOUBT,
    Noise,
    Point,
    line_at,
    noisy_root,
    rises_between,
    scatter,
    zero_between,
)
from forebay.search.plan import Plan
from forebay.search.search_state import SearchState

NONE = Noise(0.0, 0)
slopes = st.floats(0.01, 100.0)
places = st.floats(-5.0, 5.0)


@given(
    slopes,
    places,
    st.lists(places, min_size=2, max_size=8, unique=True),
    st.floats(1.01 / MOST_DOUBT, 0.99 * MOST_DOUBT),
)
def test_a_line_without_noise_is_found_whatever_was_thought_of_its_slope(
    slope: float, zero: float, at: list[float], wrong: float
) -> None:
    if max(at) - min(at) < 0.01:
        return
    found = noisy_root([(x, slope * (x - zero)) for x in at], slope * wrong, NONE)
    assert found.at == pytest.approx(zero, abs=1e-6)
    assert found.spread == pytest.approx(0.0, abs=1e-6)
    assert found.error == pytest.approx(0.0, abs=1e-5)


@given(slopes, st.floats(-0.5, 0.5), places)
def test_one_observation_is_a_step_along_the_slope_from_afar(slope: float, margin: float, at: float) -> None:
    found = noisy_root([(at, margin)], slope, Noise((0.1 * slope) ** 2, 3))
    assert found.at == pytest.approx(at - margin / slope)
    assert found.spread == pytest.approx(0.1)
    # The slope is known to half of itself only: what lies far from the root says less of it.
    assert found.error == pytest.approx(math.hypot(0.1, DOUBT * margin / slope))


def test_the_stated_error_is_that_of_many_fits() -> None:
    """Over 2000 samples of six observations the root scatters as the fit says that it does."""
    draw = np.random.default_rng(5)
    slope, noise = 2.0, 0.1
    at = [-0.1, -0.1, 0.0, 0.0, 0.1, 0.1]
    found = [
        noisy_root([(x, slope * (x - 0.02) + noise * draw.normal()) for x in at], slope, Noise(noise**2, 4))
        for _ in range(2000)
    ]
    scattered = float(np.std([each.at for each in found]))
    assert np.mean([each.at for each in found]) == pytest.approx(0.02, abs=3 * scattered / math.sqrt(2000))
    assert np.sqrt(np.mean([each.error**2 for each in found])) == pytest.approx(scattered, rel=0.1)
    assert np.mean([each.spread for each in found]) == pytest.approx(noise / slope, rel=0.1)


def test_a_slope_seen_nearby_outweighs_the_one_from_afar_as_noise_lets_it() -> None:
    """Two observations on a line of slope 3 that is zero at a third; with slope 1 through their middle it is at 0."""
    points = [(0.0, -1.0), (1.0, 2.0)]
    found = [noisy_root(points, 1.0, Noise(variance, 50)).at for variance in (0.0, 0.05, 0.5, 1e6)]
    assert found[0] == pytest.approx(1 / 3)
    assert found == sorted(found, reverse=True)
    assert found[1] > 0.2 > found[2] > 0.01
    assert found[-1] == pytest.approx(0.0, abs=1e-4)


def test_noise_is_what_no_rising_or_falling_curve_explains() -> None:
    assert scatter([]) == scatter([(1.0, 2.0)]) == Noise(0.0, 0)
    # Values that only rise, or only fall, are their own curve, steps and bends included, and show no noise.
    for values in ((1.0, 2.0, 2.5, 9.0), (4.0, 3.0, -8.0)):
        assert scatter(list(enumerate(values))) == Noise(0.0, 0)
    # Two at one place differ by noise alone, on either side of a step, too.
    step = [(0.0, 0.8), (0.0, 0.82), (1.0, 0.95), (1.0, 0.97)]
    assert scatter(step) == Noise(pytest.approx((2 * 0.01**2 + 2 * 0.01**2) / 2), 2)
    # A neighbor that is out of order is pooled with those that it does not rise above.
    pooled = scatter([(0.0, 1.0), (1.0, 3.0), (2.0, 2.0), (3.0, 5.0)])
    assert pooled == Noise(pytest.approx(0.5), 1)
    assert scatter([(2.0, y) for y in (1.0, 2.0, 4.0)]) == Noise(pytest.approx(np.var([1.0, 2.0, 4.0], ddof=1)), 2)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), min_size=1, max_size=9), st.integers(-3, 3))
def test_noise_does_not_depend_on_order_sign_or_what_is_added(points: list[tuple[int, int]], more: int) -> None:
    found = scatter([(float(x), float(y)) for x, y in points])
    for other in (
        points[::-1],
        [(x, -y) for x, y in points],
        [(-x, y) for x, y in points],
        [(x, y + more) for x, y in points],
    ):
        repeated = scatter([(float(x), float(y)) for x, y in other])
        assert repeated.variance == pytest.approx(found.variance, abs=1e-9)
    assert found.degrees < len(points)
    assert found.degrees >= len(points) - len({x for x, _ in points})


def levels(points: Sequence[Point]) -> list[list[Point]]:
    """Neighbors, those at one place to begin with, pooled until their means rise, each mean computed again."""
    found: list[list[Point]] = []
    for _, group in itertools.groupby(sorted(points), key=lambda point: point[0]):
        found.append(list(group))
        while len(found) > 1 and height(found[-2]) >= height(found[-1]):
            last = found.pop()
            found[-1] += last
    return found


def height(level: Sequence[Point]) -> float:
    return math.fsum(y for _, y in level) / len(level)


def scattered(points: Sequence[Point]) -> Noise:
    """The result of `scatter` by its definition."""
    either = [levels(points), levels([(-x, y) for x, y in points])]
    squares = [[math.fsum((y - height(each)) ** 2 for _, y in each) for each in found] for found in either]
    left, count = min((math.fsum(each), len(each)) for each in squares)
    return Noise(left / (len(points) - count), len(points) - count) if len(points) > count else NONE


@given(st.lists(st.tuples(st.sampled_from([-0.5, 0.0, 0.1, 0.3, 0.7, 2.0]), places), max_size=30))
def test_levels_are_those_of_the_definition_to_the_last_bit(points: list[Point]) -> None:
    assert scatter(points) == scattered(points)
    rising = levels(points)
    below = list(itertools.takewhile(lambda level: height(level) < 0, rising))
    above = rising[len(below) :]
    assert rises_between(points) == (below[-1][-1][0] if below else None, above[0][0][0] if above else None)


@given(st.lists(st.tuples(st.integers(-5, 5), places), min_size=3, max_size=9), places)
def test_a_line_is_the_one_of_least_squares(points: list[tuple[float, float]], at: float) -> None:
    x, y = np.array(points, dtype=float).T
    if np.ptp(x) == 0:
        return
    (slope, level), covariance = np.polyfit(x, y, 1, cov="unscaled")
    value, error = line_at(points, at)
    assert value == pytest.approx(level + slope * at, rel=1e-6, abs=1e-6)
    left = float(np.sum((y - level - slope * x) ** 2)) / (len(points) - 2)
    assert error == pytest.approx(math.sqrt(left * (np.array([at, 1]) @ covariance @ np.array([at, 1]))), abs=1e-6)
    if x[0] != x[1]:
        assert line_at(points[:2], at)[1] == math.inf, "two places and nothing to tell the noise"


@pytest.mark.parametrize("away", [0.0, 1.5])
def test_the_interval_of_a_root_covers_it_at_the_stated_rate(away: float) -> None:
    """Each end of the interval is beyond the zero in 1 % of 2,000 noisy lines, inside the data and outside of it."""
    random = np.random.default_rng(7)
    missed = unbounded = 0
    for _ in range(2000):
        x = random.uniform(-1, 1, 9) + away
        points = list(zip(x, 2 * x + random.normal(0, 0.8, 9), strict=True))
        found = zero_between(points, 0.99)
        unbounded += found is None
        missed += found is not None and not found[0] <= 0 <= found[1]
    assert 0.02 - 3 * 0.0032 - unbounded / 2000 <= missed / 2000 <= 0.02 + 3 * 0.0032


def test_a_line_that_may_not_rise_is_zero_anywhere() -> None:
    assert zero_between([(0, -1), (1, 1)], 0.99) is None, "two observations tell no noise"
    assert zero_between([(0, 1), (1, 0), (2, -1)], 0.99) is None, "it falls"
    assert zero_between([(0, -1), (1, 1), (2, -1), (3, 1)], 0.99) is None, "nobody knows"
    assert zero_between([(1, -1), (1, 1), (1, 0)], 0.99) is None, "one place"
    low, high = zero_between([(0, -3), (1, -1), (2, 1), (3, 3)], 0.99) or (0, 0)
    assert low == pytest.approx(1.5)
    assert high == pytest.approx(1.5)


# Caching of computed values --------------------------------------------------------------------------------------

MARGINS = (Goal("utilization", ">=", 0.9), Goal("jain_index", "<=", 0.5))


class Draws:
    """Two metrics of each replication, each drawn, and at times the same again."""

    def __init__(self, seed: int) -> None:
        self.draw = np.random.default_rng(seed)

    def __call__(self, pairs: Sequence[tuple[int, int]]) -> list[Report]:
        values = self.draw.normal(0.9, 0.1, (len(pairs), 2)).round(2)
        return [
            Report.of(
                {
                    "engine": "test",
                    "metrics": {"utilization": {"mean": one}, "jain_index": {"mean": other}},
                    "groups": [],
                }
            )
            for one, other in values.tolist()
        ]


def fresh_state(search: SearchState) -> SearchState:
    """Another one that has seen the same, of which it has computed nothing."""
    other = SearchState(search.measure, search.goals, search.plan)
    other.samples = {at: Replications(reports) for at, reports in search.samples.items()}
    return other


buffers = st.lists(st.sampled_from([1, 40, 45, 50, 51, 60, 75, 300, 2000]), min_size=1, max_size=6)


@given(
    st.lists(st.tuples(st.sampled_from(["observe", "keep", "other", "instead"]), buffers), max_size=8), st.integers(0)
)
def test_cached_values_equal_recomputed_values(steps: list[tuple[str, list[int]]], seed: int) -> None:
    """However replications come: one by one, several at once, by another search on the same ones, or all again."""
    search = SearchState(Draws(seed), MARGINS, Plan(smallest=1, largest=1000, ceiling=8000))
    other = SearchState(search.measure, MARGINS, search.plan)
    for how, at in [("observe", [40, 60]), *steps]:
        other.samples = search.samples
        if how == "keep":
            search._keep(at[0], search.measure([(each, 0) for each in at]))
        elif how == "instead":
            search.samples = {each: Replications(search.measure([(each, 0)])) for each in at}
        else:
            (search if how == "observe" else other).observe(at)
        fresh = fresh_state(search)
        for goal, buffer in itertools.product(MARGINS, {*search.samples, 1, 47, 400}):
            assert search.noise(goal, buffer) == fresh.noise(goal, buffer)
            assert search._nearby(goal, buffer) == fresh._nearby(goal, buffer)
            if buffer in search.samples:
                assert search.together(buffer, [goal]) is fresh.together(buffer, [goal])
                assert search.misses(buffer, [goal]) == fresh.misses(buffer, [goal])
        assert search.compromise() == fresh.compromise()
        values: Mapping[int, list[Report]] = {place: list(reports) for place, reports in search.samples.items()}
        for goal in MARGINS:
            assert list(observations(search.samples, goal)) == list(observations(values, goal))
            for place, reports in values.items():
                assert mean_margin(goal, search.samples[place]) == mean_margin(goal, reports)


# Bracketing ----------------------------------------------------------------------------------------------------


class Seen:
    """The observations of a margin that rises or falls with the logarithm of the buffer."""

    def __init__(self, zero: float, slope: float, noise: float, ends: tuple[int, int], seed: int = 1) -> None:
        self.zero, self.slope, self.spread = zero, slope, noise
        self.draw = np.random.default_rng(seed)
        self.samples: dict[int, list[Report]] = {}
        self.batches: list[list[int]] = []
        self.observe(list(ends))

    def observe(self, buffers: list[int]) -> None:
        self.batches.append(list(buffers))
        for buffer in buffers:
            margin = self.slope * math.log(buffer / self.zero) + self.spread * self.draw.normal()
            report = Report.of({"engine": "test", "metrics": {"utilization": {"mean": 1 + margin}}, "groups": []})
            self.samples.setdefault(buffer, []).append(report)

    def together(self, buffer: int, goals: object) -> Verdict:
        del goals
        values = [report.metrics["utilization"].mean - 1 for report in self.samples[buffer]]
        margin, limit = sum(values) / len(values), 2 * self.spread / math.sqrt(len(values))
        return Verdict.MET if margin >= limit else Verdict.MISSED if margin <= -limit else Verdict.UNCLEAR

    def noise(self, goal: object, buffer: int) -> Noise:
        del goal, buffer
        return Noise(self.spread**2, 8)


GOAL = Goal("utilization", ">=", 1.0)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("zero", [9.5, 47.0, 150.0, 512.0, 3000.0])
def test_without_noise_the_edge_is_closed_in_on_by_few_pairs(zero: float, side: int) -> None:
    low, high = max(1, int(zero / 2.3)), math.ceil(zero * 1.7)
    missed, met = (low, high)[::side]
    seen = Seen(zero, 0.1 * side, 0.0, (low, high))
    threshold = Bracketing(seen, [GOAL], missed, met, 0.05).run()
    within = sorted((zero, threshold.buffer))
    assert side * (threshold.buffer - zero) >= 0, "on the side on which the goal is met"
    assert within[1] - within[0] <= max(1.0, 0.05 * zero)
    assert threshold.buffer == threshold.least
    assert side * (zero - threshold.missed) > 0
    assert sum(map(len, seen.batches[1:])) <= 2 + 6


@pytest.mark.parametrize("side", [1, -1])
def test_a_noisy_threshold_reaches_the_requested_confidence_or_the_budget(side: int) -> None:
    """The threshold lies within 3 of its errors; more caution is further away, none at all the nearest."""
    for seed in range(20):
        for noise in (0.003, 0.01):
            seen = Seen(100.0, 0.1 * side, noise, (40, 250), seed)
            missed, met = (40, 250)[::side]
            threshold = Bracketing(seen, [GOAL], missed, met, 0.05, caution=1.0).run()
            spent = sum(map(len, seen.batches[2:]))
            assert spent <= MOST + 2
            error = max(CERTAIN * math.log(1.05), 10 * noise / math.sqrt(max(4, spent)))
            away = side * math.log(threshold.least / 100)
            assert -3 * error <= away <= 3 * error + 2 * math.log(1.05) + 0.02
            assert side * threshold.buffer >= side * threshold.least
            # As far again as one observation scatters, but for a resolution that is coarser.
            assert side * math.log(threshold.buffer / threshold.least) <= max(0.05, 15 * noise)


def test_a_step_is_bisected() -> None:
    class Step(Seen):
        def observe(self, buffers: list[int]) -> None:
            self.batches.append(list(buffers))
            for buffer in buffers:
                value = 1.001 if buffer >= self.zero else 0.5
                report = Report.of({"engine": "test", "metrics": {"utilization": {"mean": value}}, "groups": []})
                self.samples.setdefault(buffer, []).append(report)

    for step in (101, 333, 777, 1599):
        seen = Step(step, 1.0, 0.0, (100, 1600))
        threshold = Bracketing(seen, [GOAL], 100, 1600, 0.01).run()
        assert step <= threshold.buffer <= step * 1.011 + 1
        assert len(seen.batches) <= 16


def test_the_goal_that_is_met_last_is_named() -> None:
    class Two(Seen):
        def observe(self, buffers: list[int]) -> None:
            self.batches.append(list(buffers))
            for buffer in buffers:
                metrics = {"utilization": 1 + 0.1 * math.log(buffer / 120), "jain_index": math.log(buffer / 80)}
                means = {name: {"mean": value} for name, value in metrics.items()}
                self.samples.setdefault(buffer, []).append(
                    Report.of({"engine": "test", "metrics": means, "groups": []})
                )

        def together(self, buffer: int, goals: object) -> Verdict:
            del goals
            return Verdict.MET if buffer >= 120 else Verdict.MISSED

    fair = Goal("jain_index", ">=", 0.0)
    for goals in ([GOAL, fair], [fair, GOAL]):
        threshold = Bracketing(Two(0, 0, 0, (60, 240)), goals, 60, 240, 0.05).run()
        assert threshold.goal == GOAL
        assert 120 <= threshold.buffer <= 126
