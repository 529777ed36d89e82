"""Starts of transfers: their rate, whether they come at random, and a distribution of gaps for the scenario."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forebay.observation.distributions import Choice, Distribution, Exponential
from forebay.observation.empirical import reduce_sample
from forebay.observation.estimate import CONFIDENCE, IntervalEstimate
from forebay.observation.fitting import FEWEST, LEVEL, Fit, fit_exponential, fit_weibull, tested
from forebay.observation.sample import Sample
from forebay.observation.sizes import MOST_TESTED

__all__ = ["Arrivals", "Dispersion", "arrivals"]

#: Windows that the rate's interval rests on, and the fewest that tell a dispersion.
BATCHES, FEWEST_WINDOWS = 20, 12
#: The fewest arrivals for batches.
FEWEST_BATCHED = 5 * BATCHES
#: The most gaps that a distribution is made of.
MOST_GAPS = 200_000
#: Gaps below the resolution of any clock are alike.
FLOOR_S = 1e-6
_SEED = 20_060_303

Kind = Literal["poisson", "bursty", "smooth", "unknown"]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Variance over mean of the counts in windows of one length: 1 of a Poisson process at any length."""

    scale_s: float
    index: IntervalEstimate


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The arrival process of transfers.

    Attributes
    ----------
    rate : IntervalEstimate
        Arrivals per second.
    kind : {"poisson", "bursty", "smooth", "unknown"}
        The kind of process compared with a Poisson process; "unknown" if there are too few arrivals to tell.
    gap : Distribution or None
        Distribution of the seconds from one arrival to the next, for the scenario; None for fewer than two arrivals.
    why : str
        The evidence, in a sentence without its end.
    dispersion : tuple of Dispersion
        From short windows to long ones.
    gaps : Sample or None
        The data, in seconds.
    """

    rate: IntervalEstimate
    kind: Kind
    gap: Distribution | None
    why: str
    dispersion: tuple[Dispersion, ...]
    gaps: Sample | None


def arrivals(times: ArrayLike, begin: float, end: float, source: str) -> Arrivals:
    """Describe the starts that were seen in a span.

    Parameters
    ----------
    times : array_like
        In seconds, in any order; those outside of the span do not count.
    begin, end : float
        The span that was watched.
    source : str
        Where they come from, in a clause.

    Raises
    ------
    ValueError
        Where the span is empty.
    """
    if not (math.isfinite(begin) and math.isfinite(end) and begin < end):
        msg = f"expected a span, found {begin} to {end}"
        raise ValueError(msg)
    found = np.sort(np.asarray(times, float).ravel())
    found = found[(found >= begin) & (found < end)] - begin
    span = end - begin
    dispersion = tuple(_dispersion(found, span, source))
    rate = _rate(found, span, dispersion, source)
    gaps = np.maximum(np.diff(found), FLOOR_S)
    if gaps.size == 0:
        gap = Exponential(1 / rate.value) if rate.value > 0 else None
        return Arrivals(rate, "unknown", gap, "too few to tell how they come", dispersion, None)
    kind, fit, why = _classified(gaps, dispersion)
    sample = Sample.of(gaps[:MOST_GAPS])
    return Arrivals(rate, kind, _gap_distribution(kind, rate, fit, sample), why, dispersion, sample)


def _windows(found: Numbers, span: float, windows: int) -> Numbers:
    return np.histogram(found, bins=windows, range=(0.0, span))[0].astype(float)


def _rate(found: Numbers, span: float, dispersion: tuple[Dispersion, ...], source: str) -> IntervalEstimate:
    """The rate with an interval from batches if there are many, otherwise Poisson's with the observed dispersion."""
    from scipy.special import chdtri

    from forebay.results.statistics import mean_interval

    count = found.size
    if count >= FEWEST_BATCHED:
        inside = mean_interval(_windows(found, span, BATCHES), CONFIDENCE)
        scale = BATCHES / span
        return IntervalEstimate(count / span, max(0.0, inside.low * scale), inside.high * scale, "1/s", source, count)
    # Garwood's interval of a count, of as many independent arrivals as tell the same.
    over = max([1.0, *(each.index.value for each in dispersion[-1:])])
    rate = count / over
    tail = (1 - CONFIDENCE) / 2
    low = float(chdtri(2 * rate, 1 - tail)) / 2 if rate > 0 else 0.0
    high = float(chdtri(2 * rate + 2, tail)) / 2
    return IntervalEstimate(
        count / span, min(low * over, count) / span, max(high * over, count) / span, "1/s", source, count
    )


def _dispersion(found: Numbers, span: float, source: str) -> list[Dispersion]:
    """At lengths from an arrival on average to a twelfth of the span, each twice the one before."""
    from scipy.special import chdtri

    dispersion: list[Dispersion] = []
    if found.size < FEWEST_WINDOWS:
        return dispersion
    windows = 1 << int(math.log2(max(found.size, FEWEST_WINDOWS)))
    while windows >= FEWEST_WINDOWS:
        counts = _windows(found, span, windows)
        index = float(np.var(counts, ddof=1) / np.mean(counts))
        # The scatter of a Poisson process: the ends are those of index times chi-square over its degrees of freedom.
        ends = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
        low, high = (index * (windows - 1) / float(chdtri(windows - 1, p)) for p in ends)
        dispersion.append(
            Dispersion(span / windows, IntervalEstimate(index, min(low, index), max(high, index), "", source, windows))
        )
        windows //= 2
    return dispersion


def _classified(gaps: Numbers, dispersion: tuple[Dispersion, ...]) -> tuple[Kind, Fit | None, str]:
    """Poisson where neither the counts at any length nor the gaps refute it."""
    from scipy.special import chdtrc

    random = np.random.default_rng(_SEED)
    sample = np.sort(gaps if gaps.size <= MOST_TESTED else random.choice(gaps, MOST_TESTED, replace=False))
    fit = tested(sample, fit_exponential, _SEED)
    if fit is None or not dispersion:
        return "unknown", fit, f"fewer than {FEWEST} are too few to tell how they come"
    # Half of the error goes to the gaps, half to the counts at all lengths together.
    level = LEVEL / 2 / len(dispersion)
    scores = []
    for each in dispersion:
        degrees = each.index.samples - 1
        above = float(chdtrc(degrees, each.index.value * degrees))
        scores.append((min(above, 1 - above) * 2, each))
    worst = max(scores, key=lambda score: abs(math.log(max(score[1].index.value, 1e-9))) if score[0] < level else -1.0)
    if worst[0] < level:
        index = worst[1].index.value
        kind: Kind = "bursty" if index > 1 else "smooth"
        how = "burstier" if index > 1 else "smoother"
        return kind, fit, f"{how} than Poisson: counts in {_seconds(worst[1].scale_s)} vary {index:.2g} times as much"
    if fit.probability <= LEVEL / 2:
        spread = float(np.std(gaps) / np.mean(gaps))
        kind = "bursty" if spread > 1 else "smooth"
        return kind, fit, f"no Poisson process: gaps are not exponential (coefficient of variation {spread:.2g})"
    scales = f"{_seconds(dispersion[0].scale_s)} to {_seconds(dispersion[-1].scale_s)}"
    gaps_are = f"gaps are exponential (p = {fit.probability:.2g})"
    return "poisson", fit, f"a Poisson process: counts in windows of {scales} vary as its do, and {gaps_are}"


def _seconds(seconds: float) -> str:
    from forebay.text.formatting import duration, exactly

    return exactly(duration(float(f"{seconds:.2g}")))


def _gap_distribution(kind: Kind, rate: IntervalEstimate, fit: Fit | None, sample: Sample) -> Distribution:
    """Exponential of the measured rate where nothing speaks against it, else Weibull if it passes, else empirical."""
    if kind in {"poisson", "unknown"} or fit is None:
        return Exponential(1 / rate.value)
    weibull = tested(sample.drawn(MOST_TESTED, np.random.default_rng(_SEED)), fit_weibull, _SEED)
    if weibull is not None and weibull.passes:
        return weibull.distribution
    if sample.count < 5:
        return Choice(tuple(map(float, sample.low)))
    return reduce_sample(sample, floor=FLOOR_S).distribution
