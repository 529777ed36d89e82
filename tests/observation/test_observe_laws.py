"""Laws of an observation: distribution, quantile and form agree; samples become few points or a law that passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from forebay import Scenario, _core
from forebay.observation import fitting
from forebay.observation.distributions import (
    Cdf,
    Choice,
    Distribution,
    Exponential,
    Lognormal,
    Mixture,
    Pareto,
    Weibull,
)
from forebay.observation.empirical import MOST_POINTS, TOLERANCE, reduce_sample
from forebay.observation.estimate import IntervalEstimate
from forebay.observation.numbers import digits_of, rate_text, size_text, time_text
from forebay.observation.sample import Sample
from forebay.observation.sizes import sizes

#: The share of intervals that hold the truth, where 90 % are promised.
COVERED = (0.85, 0.97)

HEAVY = Mixture(((0.8, Lognormal(8e3, 1.1)), (0.2, Pareto(1.4, 4e4))))
LAWS: dict[str, Distribution] = {
    "exponential": Exponential(2e4),
    "weibull": Weibull(0.6, 2e4),
    "lognormal": Lognormal(1e4, 1.5),
    "pareto": Pareto(1.3, 6e3),
    "pareto with an end": Pareto(1.3, 6e3, 5e6),
    "mixture": HEAVY,
    "cdf": Cdf(((1e3, 0.1), (2e3, 0.4), (2e3, 0.6), (9e4, 1.0))),
    "choice": Choice((1e3, 3e3, 3e3, 1e4)),
}
SHARES = np.array([0.003, 0.11, 0.25, 0.47, 0.62, 0.85, 0.99])


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_quantiles_invert_the_distribution(law: Distribution) -> None:
    values = law.quantile(SHARES)
    assert np.all(law.below(values * (1 + 1e-9)) >= SHARES - 1e-9)
    assert np.all(law.below(values * (1 - 1e-9)) <= SHARES + 1e-7)
    assert law.below(values) + law.above(values) == pytest.approx(np.ones(SHARES.size))
    assert np.all(np.diff(values) >= 0)


@pytest.mark.parametrize("name", sorted(set(LAWS) - {"pareto", "mixture"}))
def test_the_average_is_that_of_all_quantiles(name: str) -> None:
    law = LAWS[name]
    shares = (np.arange(400_000) + 0.5) / 400_000
    assert law.average == pytest.approx(float(np.mean(law.quantile(shares))), rel=4e-3)


def test_heavy_tails_have_the_means_that_integrals_have() -> None:
    assert Pareto(1.3, 6e3).average == pytest.approx(stats.pareto(1.3, scale=6e3).mean())
    assert Pareto(0.9, 6e3).average == np.inf
    assert Pareto(1.0, 6e3, 6e4).average == pytest.approx(Pareto(1.0 + 1e-7, 6e3, 6e4).average, rel=1e-5)
    assert HEAVY.average == pytest.approx(0.8 * 8e3 * np.exp(1.1**2 / 2) + 0.2 * 4e4 * 1.4 / 0.4)


@pytest.mark.parametrize(
    ("law", "known"),
    [
        (Exponential(2.0), stats.expon(scale=2.0)),
        (Weibull(0.6, 3.0), stats.weibull_min(0.6, scale=3.0)),
        (Lognormal(5.0, 1.5), stats.lognorm(1.5, scale=5.0)),
        (Pareto(1.3, 2.0), stats.pareto(1.3, scale=2.0)),
    ],
)
def test_laws_are_those_of_scipy(law: Distribution, known: stats.rv_continuous) -> None:
    x = np.geomspace(0.5, 500, 40)
    assert law.below(x) == pytest.approx(known.cdf(x), abs=1e-12)
    assert law.above(x) == pytest.approx(known.sf(x), rel=1e-9)
    assert law.quantile(SHARES) == pytest.approx(known.ppf(SHARES))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_scenarios_read_the_law_as_it_is(law: Distribution) -> None:
    form = law.form(size_text)
    workload = {"open_loop": {"interarrival": "10s", "size": form}}
    tables = {"link": {"rate": "1Gbps", "buffer": "100p"}, "flows": [{"rtt": "20ms", "workload": workload}]}
    read = Scenario.of(tables).resolved["flows"][0]["workload"]["open_loop"]["size"]
    ((kind, body),) = form.items()
    ((as_read, of_read),) = read.items()
    assert as_read == kind
    assert _numbers(of_read) == pytest.approx(_numbers(body), rel=1e-9)


def _numbers(form: Any) -> list[float]:
    """All numbers of a form in base units, in their order."""
    if isinstance(form, dict):
        return [number for key in sorted(form) for number in _numbers(form[key])]
    if isinstance(form, list):
        return [number for each in form for number in _numbers(each)]
    return [_core.parse_quantity(form, "bytes") if isinstance(form, str) else float(form)]


# Amounts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (rate_text(98.7e6), "98.7Mbps"),
        (rate_text(999_999_900.0), "1Gbps"),
        (rate_text(1e9, 7), "1Gbps"),
        (rate_text(123.0), "123bps"),
        (time_text(0.0234), "23.4ms"),
        (time_text(1.5e-7), "150ns"),
        (time_text(90.0), "90s"),
        (time_text(0.0), "0s"),
        (size_text(1500.0), "1.5kB"),
        (size_text(999.6), "1kB"),
        (size_text(40.4), "40B"),
        (size_text(1.23456e9), "1.235GB"),
    ],
)
def test_amounts_are_written_as_a_person_would(written: str, text: str) -> None:
    assert written == text


@given(
    st.floats(1e3, 1e13),
    st.floats(1e-7, 0.3),
    st.floats(1e-7, 0.3),
)
def test_what_is_written_lies_in_the_interval(value: float, below: float, above: float) -> None:
    estimate = IntervalEstimate(value, value * (1 - below), value * (1 + above), "bit/s", "", 100)
    text = rate_text(value, digits_of(estimate))
    read = Scenario.parse(f'[link]\nrate = "{text}"\nbuffer = "1p"\n[[flows]]\nrtt = "1ms"\n').core.rate_bps
    # To a bit a second, which is what rates are whole numbers of; seven digits are the most.
    assert estimate.low - 1 - 1e-6 * value <= read <= estimate.high + 1 + 1e-6 * value
    assert sum(map(str.isdigit, text)) <= 7 or "." not in text


def test_rounding_moves_a_number_by_a_tenth_of_its_interval_at_most() -> None:
    random = np.random.default_rng(13)
    for value, share in zip(10 ** random.uniform(3, 12, 500), 10 ** random.uniform(-5, -1.5, 500), strict=True):
        estimate = IntervalEstimate(value, value * (1 - share), value * (1 + 2 * share), "bit/s", "", 100)
        moved = abs(_core.parse_quantity(rate_text(value, digits_of(estimate)), "rate") - value)
        assert moved <= 0.1 * share * value * (1 + 1e-9) + 0.5, (value, share)


# Samples ---------------------------------------------------------------------------------------------------------


def covered(law: Distribution, count: int, times: int, weighted: bool = False) -> dict[float, float]:
    """How often the interval of each quantile holds the law's."""
    random = np.random.default_rng(count)
    hits: dict[float, list[bool]] = {}
    for _ in range(times):
        values = law.quantile(random.random(count))
        weights = None
        if weighted:
            # Large ones are kept more often, and stand for fewer.
            retained = random.random(count) < np.where(values > law.quantile(0.7), 0.9, 0.4)
            values = values[retained]
            weights = 1 / np.where(values > law.quantile(0.7), 0.9, 0.4)
        for found in Sample.of(values, weights).quantiles("byte", ""):
            hits.setdefault(found.probability, []).append(
                found.estimate.contains(float(law.quantile(found.probability)))
            )
    return {probability: float(np.mean(each)) for probability, each in hits.items() if len(each) > times / 2}


@pytest.mark.parametrize("name", ["lognormal", "pareto with an end"])
def test_intervals_of_quantiles_cover_the_truth(name: str) -> None:
    for count in (60, 700):
        found = covered(LAWS[name], count, 400)
        assert set(found) >= {0.25, 0.5, 0.75}
        for probability, share in found.items():
            assert COVERED[0] <= share <= COVERED[1], (count, probability)


def test_weights_are_heard() -> None:
    found = covered(LAWS["lognormal"], 900, 500, weighted=True)
    assert all(COVERED[0] <= share <= COVERED[1] + 0.02 for share in found.values()), found
    twice = Sample.of([1.0, 2.0, 3.0], [1.0, 1.0, 2.0])
    assert twice.mean == pytest.approx(9 / 4)
    assert twice.count == pytest.approx(16 / 6)


def test_few_values_claim_no_rare_quantiles() -> None:
    probabilities = [each.probability for each in Sample.of(np.arange(1.0, 13.0)).quantiles("s", "")]
    assert probabilities == [0.5]
    assert Sample.of([1.0, 2.0]).quantiles("s", "") == ()


@pytest.mark.parametrize("values", [[], [0.0, 1.0], [-1.0], [np.nan], [np.inf]])
def test_samples_refuse_what_is_no_size(values: list[float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Sample.of(values)


# Few points ------------------------------------------------------------------------------------------------------

REAL: dict[str, Callable[[np.random.Generator], NDArray[np.float64]]] = {
    "web": lambda random: np.ceil(HEAVY.quantile(random.random(5000))),
    "six decades": lambda random: np.ceil(10 ** random.uniform(2, 8, 5000)),
    "few": lambda random: np.ceil(random.lognormal(9, 2, 12)),
    "two kinds": lambda random: np.where(random.random(3000) < 0.4, 1460.0, np.ceil(random.normal(5e5, 5e4, 3000))),
    "all alike": lambda random: np.full(100, 4096.0) + 0 * random.random(100),
    "a pair": lambda random: np.repeat([300.0, 9e6], [70, 30]) + 0 * random.random(100),
}


@pytest.mark.parametrize("name", REAL)
def test_few_points_keep_every_quantile(name: str) -> None:
    sample = Sample.of(REAL[name](np.random.default_rng(5)))
    found = reduce_sample(sample, floor=0.5)
    points = np.array(found.distribution.points)
    assert 2 <= len(points) <= MOST_POINTS
    assert np.all(np.diff(points, axis=0) >= 0)
    assert points[-1, 1] == 1
    assert found.error <= TOLERANCE + 1e-9
    shares = np.linspace(0.01, 0.99, 197)
    shares = shares[np.minimum(shares, 1 - shares) * sample.count >= 5]
    required = sample.quantile(shares)
    # If the distribution has atoms, the jump between two of them may lie slightly beside its true place.
    near = np.minimum.reduce(
        [np.abs(found.distribution.quantile(shares + by) / required - 1) for by in (-0.004, 0, 0.004)]
    )
    assert np.max(near) <= TOLERANCE + 0.01
    assert found.distribution.average == pytest.approx(sample.mean, rel=0.06)


def test_what_needs_more_points_says_how_far_it_is_off() -> None:
    sample = Sample.of(10 ** np.random.default_rng(1).uniform(0, 9, 20_000))
    found = reduce_sample(sample, most=5)
    assert len(found.distribution.points) <= 5
    assert found.error > TOLERANCE
    shares = np.linspace(0.01, 0.99, 99)
    assert np.max(np.abs(found.distribution.quantile(shares) / sample.quantile(shares) - 1)) <= found.error * 1.2


# Fits ------------------------------------------------------------------------------------------------------------


def test_fits_find_the_parameters() -> None:
    random = np.random.default_rng(8)
    heavy = fitting.fit_heavy(np.sort(HEAVY.quantile(random.random(20_000))))
    assert heavy is not None
    (body, lognormal), (_, pareto) = heavy.parts
    assert isinstance(lognormal, Lognormal)
    assert isinstance(pareto, Pareto)
    assert heavy.quantile(SHARES) == pytest.approx(HEAVY.quantile(SHARES), rel=0.2)
    assert body == pytest.approx(0.8, abs=0.12)
    assert pareto.shape == pytest.approx(1.4, abs=0.25)
    weibull = fitting.fit_weibull(np.sort(Weibull(0.6, 3.0).quantile(random.random(20_000))))
    assert weibull is not None
    assert (weibull.shape, weibull.scale) == pytest.approx((0.6, 3.0), rel=0.03)
    known = stats.weibull_min.fit(Weibull(0.6, 3.0).quantile((np.arange(500) + 0.5) / 500), floc=0)
    repeated = fitting.fit_weibull(Weibull(0.6, 3.0).quantile((np.arange(500) + 0.5) / 500))
    assert repeated is not None
    assert (repeated.shape, repeated.scale) == pytest.approx((known[0], known[2]), rel=1e-3)


def test_the_anderson_darling_statistic_equals_scipys() -> None:
    sample = np.sort(np.random.default_rng(2).exponential(3.0, 200))
    law = fitting.fit_exponential(sample)
    assert law is not None
    known = stats.goodness_of_fit(
        stats.expon, sample, known_params={"loc": 0, "scale": law.mean}, statistic="ad", n_mc_samples=9
    )
    assert fitting.anderson_darling(sample, law) == pytest.approx(float(known.statistic))


@pytest.mark.parametrize(
    ("fitter", "law", "count"),
    [
        (fitting.fit_exponential, Exponential(2.0), 100),
        (fitting.fit_lognormal, Lognormal(2.0, 1.0), 100),
        (fitting.fit_weibull, Weibull(0.7, 1.0), 100),
    ],
)
def test_true_laws_are_refused_one_time_in_twenty(fitter: fitting.Fitter, law: Distribution, count: int) -> None:
    random = np.random.default_rng(4)
    times = 300
    refused = 0
    for number in range(times):
        fit = fitting.tested(np.sort(law.quantile(random.random(count))), fitter, number)
        assert fit is not None
        refused += not fit.passes
    assert 0.02 <= refused / times <= 0.09


@pytest.mark.parametrize(
    ("fitter", "law"),
    [
        (fitting.fit_exponential, Lognormal(2.0, 1.6)),
        (fitting.fit_exponential, Weibull(0.6, 1.0)),
        (fitting.fit_lognormal, HEAVY),
        (fitting.fit_lognormal, Exponential(1.0)),
        (fitting.fit_heavy, Mixture(((0.5, Weibull(8.0, 1e2)), (0.5, Weibull(8.0, 1e5))))),
    ],
)
def test_false_laws_are_refused(fitter: fitting.Fitter, law: Distribution) -> None:
    fit = fitting.tested(np.sort(law.quantile(np.random.default_rng(6).random(1500))), fitter, 1)
    assert fit is not None
    assert not fit.passes


def test_sizes_are_fitted_where_the_test_passes_and_empirical_elsewhere() -> None:
    random = np.random.default_rng(9)
    body = sizes(Sample.of(Lognormal(9e3, 1.4).quantile(random.random(1500))), "made")
    assert isinstance(body.distribution, Lognormal)
    assert body.distribution.sigma == pytest.approx(1.4, rel=0.1)
    heavy = sizes(Sample.of(HEAVY.quantile(random.random(4000))), "made")
    assert isinstance(heavy.distribution, Mixture)
    assert heavy.fitted is not None
    assert heavy.distribution.quantile([0.5, 0.9, 0.99]) == pytest.approx(HEAVY.quantile([0.5, 0.9, 0.99]), rel=0.2)
    odd = sizes(Sample.of(REAL["two kinds"](random)), "made")
    assert isinstance(odd.distribution, Cdf)
    assert odd.fitted is None
    assert "fail" in odd.why
    one = sizes(Sample.of([4711.0]), "made")
    assert isinstance(one.distribution, Choice)
    assert one.mean.high == np.inf
    assert {each.probability for each in heavy.quantiles} == {0.05, 0.25, 0.5, 0.75, 0.95, 0.99}


def test_nothing_beyond_the_largest_is_drawn() -> None:
    sample = Sample.of(HEAVY.quantile(np.random.default_rng(10).random(3000)))
    found = sizes(sample, "made")
    assert isinstance(found.distribution, Mixture)
    tails = [law for _, law in found.distribution.parts if isinstance(law, Pareto)]
    assert [law.maximum for law in tails] == [float(sample.high[-1])]


def test_the_same_input_gives_the_same_answer() -> None:
    sample = Sample.of(HEAVY.quantile(np.random.default_rng(12).random(5000)))
    assert sizes(sample, "made").distribution == sizes(sample, "made").distribution
