"""Every interval, quantile and test against SciPy's own, an exact count or the definition written out."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from forebay.results import statistics
from forebay.results.statistics import Interval
from tests.support.tiers import examples

CONFIDENCES = (0.5, 0.8, 0.95, 0.999)

#: Samples without a structure, of every size that a search takes.
SAMPLES = [np.random.default_rng(size).normal(3.0, 2.0, size) for size in (2, 3, 4, 8, 30)]

samples = st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=2, max_size=12).filter(
    lambda values: max(values) - min(values) > 0.01
)


def test_the_quadrature_is_exact_for_polynomials() -> None:
    at, weights = statistics._nodes()
    inside = at / (1 + at)
    for degree in (0, 1, 2, 7, 100, 478, 479):
        found = math.fsum(weights * (1 - inside) ** 2 * inside**degree)
        assert found == pytest.approx(1 / (degree + 1), rel=1e-10)


# Student's t -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [1, 2, 3, 7, 30, 10**6])
def test_quantiles_are_those_of_students_law(degrees: int) -> None:
    for probability in (1e-6, 0.025, 0.3, 0.5, 0.9, 0.975, 0.99999):
        found = statistics.student_quantile(probability, degrees)
        assert found == pytest.approx(stats.t.ppf(probability, degrees), rel=1e-9, abs=1e-12)
        assert stats.t.cdf(found, degrees) == pytest.approx(probability, rel=1e-9)
    # With one degree of freedom it is Cauchy's, whose quantile is a tangent.
    assert statistics.student_quantile(0.75, 1) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.1, 1.1])
def test_no_quantile_at_or_beyond_the_ends(probability: float) -> None:
    with pytest.raises(ValueError, match="probability must lie strictly between 0 and 1"):
        statistics.student_quantile(probability, 3)


@pytest.mark.parametrize("degrees", [0, -1])
def test_no_quantile_without_a_degree_of_freedom(degrees: int) -> None:
    with pytest.raises(ValueError, match=f"at least 1, found {degrees}"):
        statistics.student_quantile(0.9, degrees)


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("sample", SAMPLES, ids=len)
def test_the_interval_is_that_of_a_t_test(sample: NDArray[np.float64], confidence: float) -> None:
    found = statistics.mean_interval(sample, confidence)
    expected = stats.ttest_1samp(sample, 0.0).confidence_interval(confidence)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9)
    assert found.mean == pytest.approx(float(np.mean(sample)))
    assert (found.confidence, found.count) == (confidence, len(sample))
    assert found.half_width == pytest.approx((expected.high - expected.low) / 2, rel=1e-9)


def test_an_interval_has_95_percent_confidence_by_default() -> None:
    assert statistics.mean_interval([1.0, 2.0, 4.0]) == statistics.mean_interval([1.0, 2.0, 4.0], 0.95)
    assert statistics.share_at_least(5, 9) == statistics.share_at_least(5, 9, 0.95)
    series = np.arange(60.0) ** 1.5
    assert statistics.batch_means(series) == statistics.batch_means(series, 20, 0.95)
    assert statistics.replications_for(series, absolute=3.0) == statistics.replications_for(
        series, absolute=3.0, confidence=0.95
    )


def test_one_observation_has_a_mean_and_no_interval() -> None:
    found = statistics.mean_interval([7.0], 0.9)
    assert found == Interval(7.0, -math.inf, math.inf, 0.9, 1)
    assert found.half_width is None
    assert found.contains(-1e300)


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("size", [1, 2, 3, 9, 500])
def test_intervals_of_many_samples_are_each_ones_to_the_last_bit(size: int, confidence: float) -> None:
    samples = np.random.default_rng(size).normal(3.0, 2.0, (40, size)) * np.logspace(-9, 9, 40)[:, None]
    means, half_widths = statistics.mean_intervals(samples, confidence)
    each = [statistics.mean_interval(sample, confidence) for sample in samples]
    assert means.tolist() == [interval.mean for interval in each]
    assert [None if math.isnan(half) else half for half in half_widths] == [interval.half_width for interval in each]
    with pytest.raises(ValueError, match="finite"):
        statistics.mean_intervals(np.array([[1.0, math.nan]]))


def test_an_interval_is_closed() -> None:
    interval = Interval(2.0, 1.0, 3.0, 0.95, 4)
    assert interval.half_width == 1.0
    assert [interval.contains(x) for x in (1.0, 2.0, 3.0)] == [True] * 3
    assert not interval.contains(math.nextafter(1.0, 0.0))
    assert not interval.contains(math.nextafter(3.0, 4.0))


def test_statements_cannot_be_changed_afterwards() -> None:
    for made in (Interval(2.0, 1.0, 3.0, 0.95, 4), statistics.mser5(np.zeros(20))):
        for field in dataclasses.fields(made):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(made, field.name, 0)


# One-sided claims ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 8, 19, 64])
@pytest.mark.parametrize("margin", [0.05, 0.3, 1.0, 50.0])
def test_equal_margins_have_a_closed_form(count: int, margin: float) -> None:
    """The weight of the pessimistic observation is Beta(1, n), so the confidence is 1 - (D / (m + D))^n."""
    for worst in (0.1, 1.0, 3.0):
        found = statistics.bootstrap_confidence([margin] * count, -worst)
        assert found == pytest.approx(1 - (worst / (margin + worst)) ** count, abs=1e-6 if count == 1 else 1e-8)


@pytest.mark.parametrize("count", [1, 3, 8, 30])
@pytest.mark.parametrize("shift", [-0.3, 0.0, 0.4])
def test_a_confidence_is_the_share_of_random_weights_with_a_good_mean(count: int, shift: float) -> None:
    generator = np.random.default_rng(count)
    margins, worst = generator.normal(shift, 1.0, count), -2.5
    every = np.append(margins, min(worst, float(margins.min())))
    tries = 200_000
    share = float(np.mean(generator.dirichlet(np.ones(count + 1), tries) @ every >= 0))
    error = math.sqrt(max(share * (1 - share), 1 / tries) / tries)
    assert abs(statistics.bootstrap_confidence(margins, worst) - share) <= 4 * error


@given(samples, st.floats(-1e3, 1e3), st.data())
@settings(max_examples=examples(200))
def test_a_better_observation_makes_no_goal_less_sure(values: list[float], worst: float, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(values) - 1))
    better = list(values)
    better[at] += data.draw(st.floats(0.0, 1e3))
    before = statistics.bootstrap_confidence(values, worst)
    assert statistics.bootstrap_confidence(better, worst) >= before - 1e-6
    assert statistics.bootstrap_confidence(values, worst + data.draw(st.floats(0.0, 1e3))) >= before - 1e-6
    # A better pessimistic observation than the worst margin counts as that margin.
    assert statistics.bootstrap_confidence(values, math.inf) == statistics.bootstrap_confidence(values, min(values))


def test_the_pessimistic_observation_matters_strictly() -> None:
    found = [statistics.bootstrap_confidence([0.5, 1.0, 1.5, 2.0], worst) for worst in (-9.0, -3.0, -1.0, -0.1, 0.0)]
    assert found == sorted(set(found))
    assert found[-1] == 1.0


@given(samples, st.integers(-40, 40))
@settings(max_examples=examples(100))
def test_a_confidence_does_not_depend_on_the_unit(values: list[float], power: int) -> None:
    unit = 2.0**power
    one = statistics.bootstrap_confidence(values, -1.0)
    assert statistics.bootstrap_confidence([unit * value for value in values], -unit) == pytest.approx(one, abs=1e-12)


@given(samples, st.randoms(use_true_random=False))
@settings(max_examples=examples(50))
def test_the_order_of_observations_says_nothing(values: list[float], chance: Random) -> None:
    shuffled = list(values)
    chance.shuffle(shuffled)
    one = statistics.bootstrap_confidence(values, -1.0)
    assert statistics.bootstrap_confidence(shuffled, -1.0) == pytest.approx(one, abs=1e-9)


def test_nothing_negative_is_certain_and_nothing_positive_is_excluded() -> None:
    assert statistics.bootstrap_confidence([1.0, 2.0], 0.0) == 1.0
    assert statistics.bootstrap_confidence([0.0, 0.0], math.inf) == 1.0
    assert statistics.bootstrap_confidence([-1.0, 0.0], math.inf) == 0.0
    assert statistics.bootstrap_confidence([0.0, 0.0], -1.0) == 0.0
    # The worst margin counts, however good the pessimistic observation is.
    assert 0.0 < statistics.bootstrap_confidence([-1.0, 2.0], 9.0) < 1.0


@given(samples, st.floats(-1e3, 1e3))
@settings(max_examples=examples(100))
def test_a_confidence_is_a_probability(values: list[float], worst: float) -> None:
    assert 0.0 <= statistics.bootstrap_confidence(values, worst) <= 1.0


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.975, 0.99, 0.999])
def test_the_fewest_runs_that_carry_a_confidence(confidence: float) -> None:
    runs = statistics.runs_for_confidence(confidence)
    assert statistics.most_confidence(runs) >= confidence - 1e-9
    assert runs == 1 or statistics.most_confidence(runs - 1) < confidence


def test_runs_carry_a_confidence_and_back() -> None:
    for runs in (*range(1, 200), 999):
        assert statistics.most_confidence(runs) == pytest.approx(1 - 1 / (runs + 1), abs=1e-15)
        assert statistics.runs_for_confidence(statistics.most_confidence(runs)) == runs
    assert statistics.runs_for_confidence(0.95) == 19
    assert statistics.runs_for_confidence(0.99) == 99
    assert statistics.most_confidence(0) == 0.0
    for confidence in (0.0, 1.0, -0.1, 1.5, math.nan):
        with pytest.raises(ValueError, match="confidence must lie strictly between 0 and 1"):
            statistics.runs_for_confidence(confidence)


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]], [1.0, math.inf], [math.nan, 1.0]])
def test_what_is_no_sample_is_refused_everywhere(values: list[float]) -> None:
    for function in (
        statistics.mean_interval,
        lambda sample: statistics.bootstrap_confidence(sample, -1.0),
        lambda sample: statistics.replications_for(sample, absolute=1.0),
        lambda sample: statistics.batch_means(sample, 2),
        statistics.mser5,
    ):
        with pytest.raises(ValueError, match=r"^expected"):
            function(values)


# Shares ----------------------------------------------------------------------------------------------------------

SHARES = (0.05, 0.5, 0.9, 0.999)


@pytest.mark.parametrize("share", SHARES)
def test_claims_on_shares_are_exact_binomial_tests(share: float) -> None:
    for count in (1, 2, 5, 12):
        for successes in range(count + 1):
            found = statistics.confidence_that_share(successes, count, share)
            expected = [
                1 - stats.binomtest(successes, count, share, alternative=side).pvalue for side in ("greater", "less")
            ]
            assert found == pytest.approx(expected, abs=1e-9)


def test_claims_on_shares_count_the_outcomes() -> None:
    """The claim counts, among all 2^5 outcomes of five coins, those with fewer successes and those with more."""
    for successes in range(6):
        fewer = sum(sum(coins) < successes for coins in itertools.product((0, 1), repeat=5))
        more = sum(sum(coins) > successes for coins in itertools.product((0, 1), repeat=5))
        found = statistics.confidence_that_share(successes, 5, 0.5)
        assert found == pytest.approx((float(Fraction(fewer, 32)), float(Fraction(more, 32))))


@pytest.mark.parametrize(("successes", "count"), [(-1, 5), (6, 5), (0, 0), (1, 0)])
def test_trials_have_to_be_some_and_successes_among_them(successes: int, count: int) -> None:
    with pytest.raises(ValueError, match=f"found {successes} of {count}"):
        statistics.confidence_that_share(successes, count, 0.9)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_is_neither_nothing_nor_all(share: float) -> None:
    with pytest.raises(ValueError, match="share must lie strictly between"):
        statistics.confidence_that_share(1, 2, share)
    with pytest.raises(ValueError, match="share must lie strictly between"):
        statistics.replications_for_share(share, 0.9)
    with pytest.raises(ValueError, match="confidence must lie strictly between"):
        statistics.replications_for_share(0.9, share)
    with pytest.raises(ValueError, match="confidence must lie strictly between"):
        statistics.share_at_least(1, 2, share)
    with pytest.raises(ValueError, match="confidence must lie strictly between"):
        statistics.mean_interval([1.0, 2.0], share)
    with pytest.raises(ValueError, match="confidence must lie strictly between"):
        statistics.mean_interval([1.0], share)


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_a_lower_bound_is_that_of_clopper_and_pearson(confidence: float) -> None:
    for count in (1, 2, 9, 40):
        bounds = [statistics.share_at_least(successes, count, confidence) for successes in range(count + 1)]
        for successes, bound in enumerate(bounds):
            test = stats.binomtest(successes, count, 0.5, alternative="greater")
            expected = test.proportion_ci(confidence, method="exact").low
            assert bound == pytest.approx(expected, abs=1e-9)
        assert bounds == sorted(set(bounds)), "more successes, a higher bound"
        assert bounds[0] == 0.0


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_the_fewest_trials_that_support_a_share(share: float, confidence: float) -> None:
    found = statistics.replications_for_share(share, confidence)
    assert found >= 1
    assert 1 - share**found >= confidence
    assert found == 1 or 1 - share ** (found - 1) < confidence


# Sequential stopping ---------------------------------------------------------------------------------------------


def half_width(values: list[float], count: int, confidence: float) -> float:
    deviation = float(np.std(values, ddof=1))
    return float(stats.t.ppf((1 + confidence) / 2, count - 1)) * deviation / math.sqrt(count)


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("part", [20.0, 2.0, 1.0, 0.3, 0.05, 0.015])
def test_so_many_replications_are_needed_and_no_fewer(part: float, confidence: float) -> None:
    values = [1.0, 2.0, 4.0, 7.0]
    required = part * float(np.std(values, ddof=1))
    found = statistics.replications_for(values, absolute=required, confidence=confidence)
    assert found >= 2
    assert half_width(values, found, confidence) <= required
    assert found == 2 or half_width(values, found - 1, confidence) > required


def test_the_wider_of_two_wishes_counts_and_a_relative_one_is_of_the_mean() -> None:
    values = [-11.0, -9.0, -10.5, -8.0]
    mean = abs(float(np.mean(values)))
    relative = statistics.replications_for(values, relative=0.04)
    assert relative == statistics.replications_for(values, absolute=0.04 * mean)
    coarse, fine = (statistics.replications_for(values, absolute=width) for width in (0.8, 0.2))
    assert coarse < relative < fine
    assert statistics.replications_for(values, relative=0.04, absolute=0.8) == coarse
    assert statistics.replications_for(values, relative=0.04, absolute=0.2) == relative


def test_what_does_not_vary_needs_no_more_and_no_width_cannot_be_had() -> None:
    assert statistics.replications_for([2.0, 2.0, 2.0], absolute=1e-9) == 3
    assert statistics.replications_for([0.0, 0.0], relative=0.1) == 2
    for wish in ({"absolute": 0.0}, {"absolute": -1.0}, {"relative": 0.1}):
        with pytest.raises(ValueError, match="must be positive, found"):
            statistics.replications_for([-1.0, 1.0], **wish)
    with pytest.raises(ValueError, match="give `absolute`, `relative` or both"):
        statistics.replications_for([1.0, 2.0])
    with pytest.raises(ValueError, match="at least 2 observations, found 1"):
        statistics.replications_for([1.0], absolute=1.0)


# One run ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "batches"), [(2, 2), (5, 2), (20, 20), (39, 20), (101, 10), (100, 10)])
def test_batches_are_equal_and_what_is_left_over_is_the_beginning(length: int, batches: int) -> None:
    series = np.random.default_rng(length).normal(size=length)
    size = length // batches
    retained = series[length - batches * size :]
    means = [float(np.mean(retained[k * size : (k + 1) * size])) for k in range(batches)]
    found = statistics.batch_means(series, batches, 0.9)
    expected = statistics.mean_interval(means, 0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.count == batches
    spoiled = series.copy()
    spoiled[: length - batches * size] = 1e9
    assert statistics.batch_means(spoiled, batches, 0.9) == found


@pytest.mark.parametrize("batches", [-1, 0, 1, 11])
def test_there_are_at_least_two_batches_and_no_empty_one(batches: int) -> None:
    with pytest.raises(ValueError, match=f"batches must be 2 to 10, found {batches}"):
        statistics.batch_means(np.arange(10.0), batches)


def mser5_as_published(series: NDArray[np.float64]) -> list[float]:
    """White, Cobb and Spratt's statistic of every cut up to the half, in batches of five."""
    means = [float(np.mean(series[5 * k : 5 * k + 5])) for k in range(len(series) // 5)]
    statistic = []
    for cut in range(len(means) // 2 + 1):
        retained = np.array(means[cut:])
        statistic.append(float(np.sum((retained - retained.mean()) ** 2)) / len(retained) ** 2)
    return statistic


@pytest.mark.parametrize("length", [20, 21, 24, 25, 29, 50, 103])
@pytest.mark.parametrize("seed", range(4))
def test_mser5_is_as_published(length: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    series = generator.normal(size=length) + 5 * np.exp(-np.arange(length) / (1 + 10 * generator.random()))
    expected = mser5_as_published(series)
    found = statistics.mser5(series)
    assert found.cut == 5 * int(np.argmin(expected))
    assert found.statistic == pytest.approx(min(expected), rel=1e-9)
    assert found.without_cut == pytest.approx(expected[0], rel=1e-9)


@pytest.mark.parametrize("batches", [4, 9, 18, 19, 20, 35, 40, 61])
def test_mser5_distrusts_the_last_tenth_of_the_cuts(batches: int) -> None:
    """A series that is 1 and then next to 0 for good, a little above and below it in turn, is cut where it falls."""
    cuts = batches // 2 + 1
    trusted = []
    for first in range(cuts):
        rest = [0.001 * (-1) ** k for k in range(batches - first)]
        found = statistics.mser5(np.repeat([1.0] * first + rest, 5))
        assert found.cut == 5 * first
        trusted.append(found.trusted)
    doubtful = max(1, cuts // 10)
    assert trusted == [True] * (cuts - doubtful) + [False] * doubtful


def test_mser5_keeps_its_digits_far_from_zero_and_is_never_negative() -> None:
    generator = np.random.default_rng(3)
    for _ in range(30):
        series = generator.normal(size=80)
        assert statistics.mser5(series + 1e7).cut == statistics.mser5(series).cut
        flat = statistics.mser5(np.full(60, generator.random()))
        assert 0.0 <= flat.statistic <= 1e-30
        assert flat.without_cut >= 0.0
    for _ in range(100):
        # A constant series after a jump has no spread, and rounding determines its sign.
        jump = np.full(25, generator.random())
        jump[:5] += generator.random()
        assert 0.0 <= statistics.mser5(jump).statistic <= 1e-16


def test_mser5_wants_four_batches() -> None:
    assert statistics.mser5(np.zeros(20)).cut == 0
    with pytest.raises(ValueError, match="at least 20 observations, found 19"):
        statistics.mser5(np.zeros(19))


# Where to look ---------------------------------------------------------------------------------------------------


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(2, 40))
def test_points_are_spread_evenly_on_a_logarithmic_scale(one: int, other: int, count: int) -> None:
    low, high = sorted((one, other))
    exact = [low * (high / low) ** (k / (count - 1)) for k in range(count)]
    found = list(statistics.log_spaced(low, high, count))
    assert found == sorted(set(found))
    assert all(any(abs(point - want) <= 0.5 + 1e-6 for want in exact) for point in found), "none elsewhere"
    assert all(any(abs(point - want) <= 0.5 + 1e-6 for point in found) for want in exact), "and none is missing"


def test_points_have_ends() -> None:
    assert list(statistics.log_spaced(1, 1, 1)) == [1]
    assert list(statistics.log_spaced(3, 3, 5)) == [3]
    assert list(statistics.log_spaced(2, 9, 1)) == [2, 9]
    assert list(statistics.log_spaced(2, 9, 2)) == [2, 9]
    for low, high, count in ((0, 5, 3), (5, 4, 3), (1, 5, 0)):
        with pytest.raises(ValueError, match=f"found {low}, {high}, {count}"):
            statistics.log_spaced(low, high, count)
