"""Load and arrivals of an observation: intervals cover, random is told from bursty, memory is found where it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.signal import lfilter

from forebay.observation.arrivals import arrivals
from forebay.observation.distributions import Cdf, Exponential, Weibull
from forebay.observation.estimate import IntervalEstimate, Unknown, ratio
from forebay.observation.load import load_of
from forebay.observation.regime import regime_of
from tests.support.tiers import examples

COVERED = (0.85, 0.97)
RATE = IntervalEstimate(1e8, 1e8, 1e8, "bit/s", "given", 0)
NO_RATE = Unknown("the link's rate", "no busy period", "a capture of a busy hour")


def inside(shares: list[bool]) -> bool:
    return COVERED[0] <= float(np.mean(shares)) <= COVERED[1]


# Arrivals --------------------------------------------------------------------------------------------------------


def clusters(random: np.random.Generator, span: float, rate: float, many: int) -> NDArray[np.float64]:
    """Clusters: each point of a Poisson process has `many` arrivals within a tenth of a second."""
    roots = random.uniform(-1, span, random.poisson(rate * (span + 1) / many))
    return (roots[:, None] + random.uniform(0, 0.1, (roots.size, many))).ravel()


def test_the_rate_of_random_arrivals_is_covered() -> None:
    random = np.random.default_rng(1)
    for rate, span in ((3.0, 10.0), (50.0, 30.0)):
        hits = []
        for _ in range(400):
            times = random.uniform(0, span, random.poisson(rate * span))
            hits.append(arrivals(times, 0.0, span, "").rate.contains(rate))
        assert inside(hits), (rate, np.mean(hits))


@pytest.mark.long
def test_the_rate_of_bursts_is_covered_too() -> None:
    random = np.random.default_rng(2)
    hits = [arrivals(clusters(random, 20.0, 40.0, 8), 0.0, 20.0, "").rate.contains(40.0) for _ in range(100)]
    assert inside(hits), np.mean(hits)


def test_random_arrivals_are_distinguished_from_bursty_and_smooth_ones() -> None:
    random = np.random.default_rng(3)
    kinds = [arrivals(random.uniform(0, 30, 900), 0.0, 30.0, "").kind for _ in range(100)]
    assert kinds.count("poisson") >= 90
    bursts = arrivals(clusters(random, 60.0, 40.0, 8), 0.0, 60.0, "")
    assert bursts.kind == "bursty"
    assert "burstier" in bursts.why
    assert max(each.index.value for each in bursts.dispersion) == pytest.approx(8, rel=0.5)
    even = arrivals(np.arange(600) / 20 + random.uniform(0, 0.01, 600), 0.0, 30.0, "")
    assert even.kind == "smooth"
    slow = np.concatenate([random.uniform(0, 30, 300), random.uniform(30, 60, 900)])
    assert arrivals(slow, 0.0, 60.0, "").kind == "bursty", "a rate that changes is no Poisson process either"


def test_gaps_have_a_law_for_the_scenario() -> None:
    random = np.random.default_rng(4)
    poisson = arrivals(random.uniform(0, 60, 1200), 0.0, 60.0, "")
    assert isinstance(poisson.gap, Exponential)
    assert poisson.gap.mean == pytest.approx(1 / poisson.rate.value)
    gaps = Weibull(0.5, 0.02).quantile(random.random(3000))
    weibull = arrivals(np.cumsum(gaps), 0.0, float(gaps.sum()) + 0.01, "")
    assert isinstance(weibull.gap, Weibull)
    assert weibull.gap.shape == pytest.approx(0.5, rel=0.1)
    odd = np.cumsum(np.where(random.random(4000) < 0.9, 0.001, 1.0) * random.uniform(0.99, 1.01, 4000))
    other = arrivals(odd, 0.0, float(odd[-1]) + 0.01, "")
    assert isinstance(other.gap, Cdf)
    assert other.gap.average == pytest.approx(float(np.mean(np.diff(odd))), rel=0.06)


@pytest.mark.parametrize("count", [0, 1, 2, 5, 13])
def test_few_arrivals_say_little(count: int) -> None:
    found = arrivals(np.linspace(0.1, 9.9, count), 0.0, 10.0, "")
    assert found.rate.value == pytest.approx(count / 10)
    assert count == 0 or not found.rate.is_bounded
    assert found.kind == "unknown"
    assert (found.gap is None) == (count == 0)


def test_a_count_has_garwoods_interval() -> None:
    found = arrivals(np.linspace(0.1, 9.9, 20), 0.0, 10.0, "").rate
    assert (found.low, found.high) == pytest.approx((1.3255, 2.9062), abs=1e-4)
    assert not arrivals([], 0.0, 10.0, "").rate.is_bounded


@given(st.lists(st.floats(0, 9.999), max_size=300))
@settings(max_examples=examples(40))
def test_any_arrivals_are_described(times: list[float]) -> None:
    found = arrivals(times, 0.0, 10.0, "")
    assert found.rate.value == pytest.approx(len(times) / 10)
    assert found.gap is None or found.gap.average > 0


# Load ------------------------------------------------------------------------------------------------------------


def correlated(random: np.random.Generator, count: int, memory: float = 0.99) -> NDArray[np.float64]:
    """Bytes in bins about 5000, with a correlation over a hundred of them."""
    noise = random.normal(0, 1, count + 2000)
    series = lfilter([np.sqrt(1 - memory**2)], [1, -memory], noise)[2000:]
    return np.maximum(5000 + 1000 * series, 0)


def test_the_mean_load_is_covered() -> None:
    random = np.random.default_rng(5)
    hits = []
    for _ in range(300):
        mean = load_of(correlated(random, 20_000), 0.001, rate=NO_RATE, source="").mean
        hits.append(mean.contains(5000 * 8 / 0.001))
    assert inside(hits), np.mean(hits)


@pytest.mark.long
def test_quantiles_of_the_load_are_covered() -> None:
    from scipy import stats

    random = np.random.default_rng(6)
    hits: dict[float, list[bool]] = {}
    for _ in range(200):
        scale = load_of(correlated(random, 30_000), 0.001, rate=RATE, source="").scales[0]
        for each in scale.quantiles:
            truth = (5000 + 1000 * stats.norm.ppf(each.probability)) * 8000
            hits.setdefault(each.probability, []).append(each.estimate.contains(truth))
    assert set(hits) == {0.5, 0.95, 0.99}
    for probability, each in hits.items():
        assert 0.82 <= np.mean(each) <= 0.98, (probability, np.mean(each))


@pytest.mark.long
def test_independent_packets_have_a_dispersion_of_one_at_every_scale() -> None:
    random = np.random.default_rng(7)
    hits: dict[float, list[bool]] = {}
    values: dict[float, list[float]] = {}
    for _ in range(200):
        bins = 1000.0 * random.poisson(5, 16_384)
        for each in load_of(bins, 0.001, rate=RATE, source="", packet_bytes=1000.0).burstiness:
            hits.setdefault(each.scale_s, []).append(each.index.contains(1.0))
            values.setdefault(each.scale_s, []).append(each.index.value)
    assert len(hits) == 10
    assert [np.mean(each) for each in values.values()] == pytest.approx([1.0] * len(values), rel=0.05)
    assert all(0.82 <= np.mean(each) <= 0.97 for each in hits.values()), {k: np.mean(v) for k, v in hits.items()}


def test_scales_are_sums_of_bins() -> None:
    random = np.random.default_rng(8)
    bins = random.integers(0, 12_000, 700_000).astype(float)
    load = load_of(bins, 0.001, rate=RATE, source="")
    assert [scale.scale_s for scale in load.scales] == pytest.approx([0.001, 0.1, 1.0, 300.0])
    assert [scale.windows for scale in load.scales] == [700_000, 7000, 700, 2]
    assert load.omitted_scales == ()
    for scale in load.scales:
        sums = bins[: scale.windows * round(scale.scale_s * 1000)].reshape(scale.windows, -1).sum(axis=1)
        bps = sums * 8 / scale.scale_s
        assert scale.most == pytest.approx(float(bps.max()))
        for each in scale.quantiles:
            assert each.estimate.value == pytest.approx(float(np.quantile(bps, each.probability)))
        assert scale.columns[0].low <= scale.columns[0].mean <= scale.columns[0].high
        assert min(each.low for each in scale.columns) == pytest.approx(float(bps.min()))
        assert max(each.high for each in scale.columns) == pytest.approx(float(bps.max()))
        assert len(scale.columns) <= 120
    assert isinstance(load.utilization, IntervalEstimate)
    assert load.utilization.value == pytest.approx(float(bins.mean()) * 8000 / 1e8)


@pytest.mark.parametrize("bin_s", [0.001, 0.016384, 0.03])
def test_a_steady_load_is_the_same_at_every_scale(bin_s: float) -> None:
    load = load_of(np.full(50_000, 1e6 * bin_s), bin_s, rate=RATE, source="")
    for scale in load.scales:
        assert scale.most == pytest.approx(8e6)
        assert [each.estimate.value for each in scale.quantiles] == pytest.approx([8e6] * len(scale.quantiles))
    assert load.mean.value == pytest.approx(8e6)


def test_unidentifiable_quantities_are_listed() -> None:
    coarse = load_of(np.full(30, 1e6), 1.0, rate=RATE, source="")
    assert [scale.scale_s for scale in coarse.scales] == [1.0]
    assert [why.partition(":")[0] for why in coarse.omitted_scales] == ["1 ms, 100 ms", "5 min"]
    assert isinstance(coarse.full_share, Unknown)
    assert isinstance(coarse.hurst, Unknown)
    nobody = load_of(np.zeros(5000), 0.001, rate=NO_RATE, source="")
    assert nobody.mean.value == 0
    assert nobody.burstiness == ()
    assert isinstance(nobody.utilization, Unknown)
    with pytest.raises(ValueError, match="bins"):
        load_of([1.0], 0.001, rate=RATE, source="")
    with pytest.raises(ValueError, match="bytes"):
        load_of([1.0, -2.0], 0.001, rate=RATE, source="")


@given(st.lists(st.floats(0, 1e12), min_size=2, max_size=200), st.sampled_from([0.001, 0.016384, 1.0, 300.0]))
@settings(max_examples=examples(60))
def test_any_load_is_described(bins: list[float], bin_s: float) -> None:
    load = load_of(bins, bin_s, rate=RATE, source="")
    assert load.mean.value == pytest.approx(float(np.mean(bins)) * 8 / bin_s)
    text = sum(len(why.partition(":")[0].split(", ")) for why in load.omitted_scales)
    assert len(load.scales) + text == 4


def test_the_rates_error_is_part_of_the_utilizations() -> None:
    part, whole = IntervalEstimate(50, 47, 53, "", "", 90), IntervalEstimate(100, 96, 104, "", "", 90)
    found = ratio(part, whole, "")
    assert found.value == 0.5
    assert found.high - found.value == pytest.approx(0.5 * np.hypot(0.06, 0.04))
    assert ratio(part, RATE, "").high == pytest.approx(53 / 1e8)


# Memory ----------------------------------------------------------------------------------------------------------


def fractional_noise(random: np.random.Generator, count: int, hurst: float) -> NDArray[np.float64]:
    """Fractional Gaussian noise by circulant embedding (Davies and Harte 1987)."""
    lag = np.arange(count + 1, dtype=float)
    covariance = (np.abs(lag + 1) ** (2 * hurst) - 2 * lag ** (2 * hurst) + np.abs(lag - 1) ** (2 * hurst)) / 2
    spectrum = np.fft.fft(np.concatenate((covariance, covariance[-2:0:-1]))).real
    noise = random.normal(size=spectrum.size) + 1j * random.normal(size=spectrum.size)
    return np.fft.fft(np.sqrt(np.maximum(spectrum, 0) / spectrum.size) * noise).real[:count]


@pytest.mark.parametrize("seed", range(8))
def test_a_load_that_drifts_has_no_exponent(seed: int) -> None:
    random = np.random.default_rng(seed)
    walk = np.cumsum(random.normal(0, 30, 8192))
    found = load_of(np.maximum(1e4 + walk - walk.min(), 0), 0.01, rate=RATE, source="").hurst
    assert isinstance(found, Unknown) or found.high <= 1.0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("hurst", [0.5, 0.7, 0.85])
def test_memory_is_found_as_long_as_it_is(hurst: float) -> None:
    random = np.random.default_rng(round(100 * hurst))
    hits = []
    for _ in range(200):
        bins = np.maximum(1e4 + 1e3 * fractional_noise(random, 8192, hurst), 0)
        found = load_of(bins, 0.01, rate=RATE, source="").hurst
        if isinstance(found, IntervalEstimate):
            assert abs(found.value - hurst) < 0.25
            hits.append(found.contains(hurst))
    assert len(hits) > 180
    assert inside(hits), np.mean(hits)


# Regimes ---------------------------------------------------------------------------------------------------------


def bins_of(filled: float) -> NDArray[np.float64]:
    """A link of 100 Mb/s that is full for a share of the time."""
    full = 12_500.0
    return np.repeat(np.where(np.arange(300) < 300 * filled, full, 0.4 * full), 100)


def count(value: float, low: float, high: float) -> IntervalEstimate:
    return IntervalEstimate(value, low, high, "", "", 30)


UNKNOWN = Unknown("flows", "no flow was seen both ways", "both directions")


@pytest.mark.parametrize(
    ("filled", "limited", "unyielding", "name"),
    [
        (0.0, count(0, 0, 0), count(0.2, 0.1, 0.3), "transparent"),
        (0.05, count(0, 0, 0.4), UNKNOWN, "transparent"),
        (0.6, count(4, 3, 5), count(0.2, 0.1, 0.3), "elastic"),
        (0.6, count(0, 0, 0), count(0.2, 0.1, 0.3), "elastic"),
        (0.6, UNKNOWN, UNKNOWN, "elastic"),
        (1.0, count(0, 0, 0), count(1.3, 1.2, 1.4), "overload"),
        (1.0, count(4, 3, 5), count(1.1, 0.9, 1.4), "overload"),
    ],
)
def test_regimes_are_named_as_the_closed_forms_name_them(
    filled: float, limited: IntervalEstimate | Unknown, unyielding: IntervalEstimate | Unknown, name: str
) -> None:
    load = load_of(bins_of(filled), 0.001, rate=RATE, source="")
    found = regime_of(load, limited=limited, unyielding=unyielding)
    assert found.name == name
    assert found.reason
    assert any("windows of 100 ms" in each for each in found.evidence)


def test_without_a_rate_only_flows_tell_the_regime() -> None:
    load = load_of(bins_of(0.5), 0.001, rate=NO_RATE, source="")
    assert regime_of(load, limited=UNKNOWN, unyielding=UNKNOWN).name == "unknown"
    assert regime_of(load, limited=count(3, 2, 4), unyielding=UNKNOWN).name == "elastic"
    assert "that reaches zero" in regime_of(load, limited=count(1, 0, 4), unyielding=UNKNOWN).reason
