"""Distributions fitted to samples by likelihood, and whether a sample could be theirs: Anderson and Darling's test.

Parameters that were fitted make a distribution look better than it is, so the test's level comes from a parametric
bootstrap (Stute, Gonzalez Manteiga and Presedo Quindimil, Bootstrap based goodness-of-fit tests, 1993): samples are
drawn from the fitted distribution, fitted again, and compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forebay.observation.distributions import Distribution, Exponential, Lognormal, Mixture, Pareto, Weibull

__all__ = ["Fit", "first_that_passes", "fit_exponential", "fit_heavy", "fit_lognormal", "fit_weibull", "tested"]

Numbers = NDArray[np.float64]
#: Fits a distribution to a sorted sample; none where it has no such distribution.
Fitter = Callable[[Numbers], Distribution | None]

#: A distribution is offered from this probability of a worse sample on.
LEVEL = 0.05
#: The most samples that are drawn from a distribution, and the number of worse samples after which it passes (Besag
#: and Clifford, Sequential Monte Carlo p-values, 1991).
DRAWN, WORSE = 59, 6
#: Beyond this statistic no bootstrap is asked: even of a distribution known beforehand one sample in 10^5 is worse.
HOPELESS = 12.0
#: The fewest values that a distribution is fitted to.
FEWEST = 20

#: Where a Pareto tail may begin, as quantiles of the sample.
_BEGINNINGS = (0.5, 0.6, 0.7, 0.8, 0.87, 0.92, 0.95, 0.97)
#: Least share of a mixture's part; below it the part is none.
_LEAST_PART = 0.01
#: Rounds of expectation and maximization, and the gain of likelihood per value that ends them.
_ROUNDS, _GAIN = 40, 1e-6
#: Slopes that a tail may have, and beginnings that are tried near the best.
_SLOPES = (0.2, 20.0)
_FINER = 9


@dataclass(frozen=True, slots=True)
class Fit:
    """A distribution with its test.

    Attributes
    ----------
    distribution : Distribution
    statistic : float
        Anderson and Darling's A².
    probability : float
        Probability of a statistic at least as large if the distribution is true.
    count : int
        Number of values in the test.
    """

    distribution: Distribution
    statistic: float
    probability: float
    count: int

    @property
    def passes(self) -> bool:
        """Whether the sample could be the distribution's."""
        return self.probability > LEVEL


def first_that_passes(sample: Numbers, fitters: tuple[Fitter, ...], seed: int) -> tuple[Fit | None, tuple[Fit, ...]]:
    """The first distribution that passes, and all that were tested up to it."""
    found: list[Fit] = []
    for fitter in fitters:
        fit = tested(sample, fitter, seed)
        if fit is not None:
            found.append(fit)
            if fit.passes:
                return fit, tuple(found)
    return None, tuple(found)


def tested(sample: Numbers, fitter: Fitter, seed: int) -> Fit | None:
    """Fit a distribution to a sorted sample and test it; None if the sample is too small or has no fit."""
    distribution = fitter(sample) if sample.size >= FEWEST else None
    if distribution is None:
        return None
    statistic = anderson_darling(sample, distribution)
    if not statistic < HOPELESS:
        return Fit(distribution, statistic, 0.0, sample.size)
    random = np.random.default_rng(seed)
    worse = drawn = 0
    while drawn < DRAWN and worse < WORSE:
        other = np.sort(distribution.quantile(np.maximum(random.random(sample.size), 1e-12)))
        refitted = fitter(other)
        drawn += 1
        worse += refitted is None or anderson_darling(other, refitted) >= statistic
    probability = worse / drawn if worse == WORSE else (worse + 1) / (drawn + 1)
    return Fit(distribution, statistic, probability, sample.size)


def anderson_darling(sample: Numbers, distribution: Distribution) -> float:
    """A² of a sorted sample."""
    count = sample.size
    with np.errstate(divide="ignore"):
        below, above = np.log(distribution.below(sample)), np.log(distribution.above(sample))
    odd = 2 * np.arange(1, count + 1) - 1
    return float(-count - np.sum(odd * (below + above[::-1])) / count)


def fit_exponential(sample: Numbers) -> Exponential | None:
    """The exponential distribution of the sample's mean."""
    mean = float(np.mean(sample))
    return Exponential(mean) if mean > 0 else None


def fit_lognormal(sample: Numbers) -> Lognormal | None:
    """The log-normal distribution of the greatest likelihood."""
    logs = np.log(sample)
    sigma = float(np.std(logs))
    return Lognormal(math.exp(float(np.mean(logs))), sigma) if sigma > 1e-6 else None


def fit_weibull(sample: Numbers) -> Weibull | None:
    """The Weibull distribution of the greatest likelihood."""
    from scipy.optimize import brentq

    if sample[0] <= 0 or sample[-1] <= sample[0] * (1 + 1e-9):
        return None
    scaled = sample / float(np.exp(np.mean(np.log(sample))))
    logs = np.log(scaled)

    def slope(shape: float) -> float:
        # Relative to the largest, so that no power overflows.
        powers = np.exp(shape * (logs - logs[-1]))
        return float(np.sum(powers * logs) / np.sum(powers) - 1 / shape)

    low, high = 0.1, 20.0
    if slope(low) > 0 or slope(high) < 0:
        return None
    shape = float(brentq(slope, low, high, xtol=1e-6))
    scale = float(np.mean(np.exp(shape * (logs - logs[-1])))) ** (1 / shape) * float(sample[-1])
    return Weibull(shape, scale)


def fit_heavy(sample: Numbers) -> Mixture | None:
    """A log-normal body with a Pareto tail, of the greatest likelihood over where the tail begins."""
    logs = np.log(sample)
    if np.std(logs) < 1e-6:
        return None
    begin = np.unique(np.quantile(logs, _BEGINNINGS))
    _, best = _likeliest(logs, begin)
    # Once more, finely between the neighbors of the best.
    near = np.linspace(begin[max(0, best - 1)], begin[min(begin.size - 1, best + 1)], _FINER)
    found, _ = _likeliest(logs, np.unique(near))
    weight, mean, sigma, slope, start = found
    if not _LEAST_PART <= weight <= 1 - _LEAST_PART:
        return None
    return Mixture(
        ((weight, Lognormal(math.exp(mean), sigma)), (1 - weight, Pareto(slope, math.exp(start)))),
    )


def _likeliest(logs: Numbers, starts: Numbers) -> tuple[tuple[float, ...], int]:
    """Weight, mean and deviation of the body, slope and beginning of the tail, and which of the beginnings it is.

    Expectation and maximization for all beginnings of the tail at once, a row each.
    """
    begin = starts[:, None]
    tail = logs[None, :] >= begin
    excess = np.where(tail, logs[None, :] - begin, 0.0)
    weight = np.clip(np.mean(~tail, axis=1, keepdims=True), 0.05, 0.95)
    mean = np.full_like(begin, np.median(logs))
    sigma = np.full_like(begin, np.std(logs))
    slope = np.sum(tail, axis=1, keepdims=True) / np.maximum(np.sum(excess, axis=1, keepdims=True), 1e-9)
    slope = np.clip(slope, *_SLOPES)
    last = likelihood = np.full(starts.size, -np.inf)
    for _ in range(_ROUNDS):
        score = (logs[None, :] - mean) / sigma
        body = weight * np.exp(-0.5 * score**2) / (sigma * math.sqrt(2 * math.pi))
        heavy = np.where(tail, (1 - weight) * slope * np.exp(-slope * excess), 0.0)
        both = np.maximum(body + heavy, 1e-300)
        likelihood = np.sum(np.log(both), axis=1)
        if np.all(likelihood - last < _GAIN * logs.size):
            break
        last = likelihood
        share = body / both
        of_body = np.maximum(np.sum(share, axis=1, keepdims=True), 1e-9)
        of_tail = np.maximum(np.sum(1 - share, axis=1, keepdims=True), 1e-9)
        weight = np.clip(of_body / logs.size, 1e-6, 1 - 1e-6)
        mean = np.sum(share * logs, axis=1, keepdims=True) / of_body
        sigma = np.maximum(np.sqrt(np.sum(share * (logs - mean) ** 2, axis=1, keepdims=True) / of_body), 0.01)
        slope = np.clip(of_tail / np.maximum(np.sum((1 - share) * excess, axis=1, keepdims=True), 1e-9), *_SLOPES)
    best = int(np.argmax(likelihood))
    return tuple(float(each[best, 0]) for each in (weight, mean, sigma, slope, begin)), best
