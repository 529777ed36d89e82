"""Intervals cover the truth as often as they claim, where the truth is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from forebay.results import statistics
from tests.support.tiers import examples

if TYPE_CHECKING:
    from numpy.typing import NDArray

REPETITIONS = 2000


def coverage_is_nominal(covered: int) -> bool:
    """Nominal 95 % may measure 92 to 98 %."""
    return 0.92 <= covered / REPETITIONS <= 0.98


def mm1k_replications(load: float, capacity: int, chains: int, steps: int) -> tuple[NDArray, NDArray]:
    """Mean number and blocked fraction of the uniformized M/M/1/K chain, one value per chain, from stationarity."""
    generator = np.random.default_rng(20261121)
    law = load ** np.arange(capacity + 1)
    law /= law.sum()
    state = generator.choice(capacity + 1, size=chains, p=law)
    arrival = load / (1 + load)
    total, blocked, arrived = np.zeros(chains), np.zeros(chains), np.zeros(chains)
    for _ in range(steps):
        up = generator.random(chains) < arrival
        full = up & (state == capacity)
        blocked += full
        arrived += up
        state = np.where(up, np.minimum(state + 1, capacity), np.maximum(state - 1, 0))
        total += state
    return total / steps, blocked / (arrival * steps)


@pytest.fixture(scope="module")
def mm1k() -> dict[str, tuple[float, NDArray]]:
    """Ten replications each for 2,000 repetitions of M/M/1/10 at load 0.8."""
    load, capacity, replications = 0.8, 10, 10
    queue, loss = mm1k_replications(load, capacity, REPETITIONS * replications, 1500)
    law = load ** np.arange(capacity + 1)
    law /= law.sum()
    return {
        "mean number": (float(law @ np.arange(capacity + 1)), queue.reshape(REPETITIONS, replications)),
        "loss": (float(law[-1]), loss.reshape(REPETITIONS, replications)),
    }


@pytest.mark.parametrize("quantity", ["mean number", "loss"])
def test_mean_interval_covers_mm1k(mm1k: dict[str, tuple[float, NDArray]], quantity: str) -> None:
    truth, samples = mm1k[quantity]
    covered = sum(statistics.mean_interval(sample).contains(truth) for sample in samples)
    assert coverage_is_nominal(covered), covered / REPETITIONS


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("quantity", ["mean number", "loss"])
def test_claims_at_the_truth_are_seldom_made(
    mm1k: dict[str, tuple[float, NDArray]], quantity: str, sign: float
) -> None:
    """A 95 % claim about the true mean is made in at most 5 % of the cases, whichever side is asked about."""
    truth, samples = mm1k[quantity]
    margins = sign * (samples - truth)
    claims = 0
    for sample, further in zip(margins, np.roll(margins, 1, axis=0), strict=True):
        claims += statistics.bootstrap_confidence(sample, float(np.min(further))) >= 0.95
    assert claims / REPETITIONS <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / REPETITIONS)
    assert claims > 0


def draws(shape: str, generator: np.random.Generator, size: tuple[int, int]) -> NDArray:
    """Margins with mean zero: a goal that is met exactly at its edge."""
    if shape == "normal":
        return generator.normal(size=size)
    if shape == "lognormal":
        return generator.lognormal(sigma=1.0, size=size) - math.exp(0.5)
    if shape == "lognormal down":
        return math.exp(0.5) - generator.lognormal(sigma=1.0, size=size)
    sign = -1.0 if shape == "exponential down" else 1.0
    return sign * (generator.exponential(size=size) - 1)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("count", [8, 16, 32])
@pytest.mark.parametrize("shape", ["normal", "exponential", "exponential down", "lognormal", "lognormal down"])
def test_claims_at_the_edge_are_wrong_as_seldom_as_stated(shape: str, count: int) -> None:
    """The pessimistic observation is the worst of 12 further ones."""
    generator = np.random.default_rng(20261125)
    margins, further = draws(shape, generator, (REPETITIONS, count)), draws(shape, generator, (REPETITIONS, 12))
    claims = sum(
        statistics.bootstrap_confidence(sample, worst) >= 0.95
        for sample, worst in zip(margins, further.min(axis=1), strict=True)
    )
    assert claims / REPETITIONS <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / REPETITIONS)


def test_claims_without_a_pessimistic_observation_are_wrong_too_often() -> None:
    """The limit of the method, so that the test above cannot pass by accident."""
    margins = draws("lognormal down", np.random.default_rng(7), (REPETITIONS, 8))
    claims = sum(statistics.bootstrap_confidence(sample, math.inf) >= 0.95 for sample in margins)
    assert claims / REPETITIONS > 0.08


def ar1(generator: np.random.Generator, rows: int, length: int, correlation: float) -> NDArray:
    noise = generator.normal(size=(rows, length))
    noise[:, 0] /= math.sqrt(1 - correlation**2)
    return lfilter([1.0], [1.0, -correlation], noise, axis=1)


def test_batch_means_cover_ar1() -> None:
    generator = np.random.default_rng(7)
    covered = 0
    for _ in range(20):
        for series in ar1(generator, REPETITIONS // 20, 4000, 0.8):
            covered += statistics.batch_means(series, 20).contains(0.0)
    assert coverage_is_nominal(covered), covered / REPETITIONS


def test_batch_means_of_too_short_batches_undercover() -> None:
    """The method's own limit, so that the test above cannot pass by accident."""
    generator = np.random.default_rng(7)
    covered = sum(statistics.batch_means(series, 50).contains(0.0) for series in ar1(generator, REPETITIONS, 200, 0.95))
    assert covered / REPETITIONS < 0.75


def test_small_samples_do_not_pretend() -> None:
    assert statistics.mean_interval([3.0]).half_width is None
    # One run and a pessimistic one as far on the other side are a fair coin.
    assert statistics.bootstrap_confidence([3.0], -3.0) == pytest.approx(0.5, abs=1e-9)
    # Four equal runs carry no more than 1 - (1/2)^4 against an equal pessimistic one.
    assert statistics.bootstrap_confidence([1.0] * 4, -1.0) == pytest.approx(1 - 2**-4, abs=1e-9)
    assert statistics.most_confidence(1) == 0.5


def test_t_interval_by_hand() -> None:
    """Sample 1, 2, 3, 4: mean 2.5, s^2 5/3, t(0.975, 3) = 3.18245 (printed tables)."""
    interval = statistics.mean_interval([1.0, 2.0, 3.0, 4.0])
    assert interval.mean == 2.5
    assert interval.half_width == pytest.approx(3.18245 * math.sqrt(5 / 3 / 4), rel=1e-5)


def test_mser5_finds_the_transient() -> None:
    generator = np.random.default_rng(19)
    for _ in range(50):
        series = ar1(generator, 1, 2000, 0.5)[0]
        series[:300] += 20.0 * np.exp(-np.arange(300) / 100.0)
        warmup = statistics.mser5(series)
        assert warmup.trusted
        assert 150 <= warmup.cut <= 700
        assert warmup.cut % 5 == 0


def test_mser5_cuts_little_from_a_stationary_series() -> None:
    generator = np.random.default_rng(23)
    cuts = [statistics.mser5(series).cut for series in ar1(generator, 200, 2000, 0.5)]
    assert np.median(cuts) <= 200


def test_mser5_distrusts_a_trend() -> None:
    series = np.linspace(0.0, 10.0, 400)
    assert not statistics.mser5(series).trusted


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20),
    st.floats(1e-3, 1e3),
)
@settings(max_examples=examples(200))
def test_replications_for_reaches_the_half_width(values: list[float], required: float) -> None:
    deviation = float(np.std(values, ddof=1))
    if deviation > 1e4 * required:
        return
    count = statistics.replications_for(values, absolute=required)
    if deviation == 0:
        assert count == len(values)
        return
    half = statistics.student_quantile(0.975, count - 1) * deviation / math.sqrt(count)
    assert half <= required * (1 + 1e-12)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 40))
def test_log_spaced_is_sorted_and_keeps_its_ends(one: int, other: int, count: int) -> None:
    low, high = sorted((one, other))
    points = list(statistics.log_spaced(low, high, count))
    assert points == sorted(set(points))
    assert {points[0], points[-1]} == {low, high}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: statistics.mean_interval([]), "at least 1 observations, found 0"),
        (lambda: statistics.mean_interval([math.nan, 1.0]), "found NaN or infinity"),
        (lambda: statistics.mean_interval([[1.0]]), "one-dimensional"),
        (lambda: statistics.mean_interval([1.0, 2.0], 1.0), "strictly between 0 and 1, found 1.0"),
        (lambda: statistics.batch_means([1.0, 2.0], 3), "batches must be 2 to 2, found 3"),
        (lambda: statistics.replications_for([1.0, 2.0]), "give `absolute`"),
        (lambda: statistics.bootstrap_confidence([], -1.0), "at least 1 observations, found 0"),
        (lambda: statistics.bootstrap_confidence([math.nan], -1.0), "found NaN or infinity"),
        (lambda: statistics.bootstrap_confidence([[1.0]], -1.0), "one-dimensional"),
    ],
)
def test_wrong_samples_are_named(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_binomial_bounds_are_exact() -> None:
    # 0.9^n: 28 successes without a failure support 90 % with 94.8 %, 29 with 95.3 %.
    assert statistics.confidence_that_share(28, 28, 0.9)[0] == pytest.approx(1 - 0.9**28)
    assert statistics.confidence_that_share(0, 5, 0.9) == pytest.approx((0.0, 1 - 0.1**5))
    assert statistics.replications_for_share(0.9, 0.95) == 29
    assert statistics.share_at_least(29, 29, 0.95) == pytest.approx(0.05 ** (1 / 29))
    assert statistics.share_at_least(0, 29, 0.95) == 0.0
    for successes in range(1, 30):
        bound = statistics.share_at_least(successes, 30, 0.95)
        assert statistics.confidence_that_share(successes, 30, bound)[0] == pytest.approx(0.95)
    with pytest.raises(ValueError, match="found 4 of 3"):
        statistics.confidence_that_share(4, 3, 0.9)


def test_binomial_bounds_cover() -> None:
    """At most 5 % of 2,000 samples of 40 trials at 0.9 may bound the probability above 0.9."""
    successes = np.random.default_rng(7).binomial(40, 0.9, size=2000)
    above = sum(statistics.share_at_least(int(count), 40, 0.95) > 0.9 for count in successes)
    assert above / 2000 <= 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5
