"""Sizes of transfers: quantiles, and a distribution for the scenario, fitted if it passes a test, else empirical."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from forebay.observation.distributions import Choice, Distribution, Mixture, Pareto
from forebay.observation.empirical import Reduced, reduce_sample
from forebay.observation.estimate import CONFIDENCE, IntervalEstimate
from forebay.observation.fitting import FEWEST, LEVEL, Fit, first_that_passes, fit_exponential, fit_heavy, fit_lognormal
from forebay.observation.sample import Quantile, Sample

__all__ = ["MOST_TESTED", "Sizes", "sizes"]

#: The largest number of values that a distribution is tested with. No distribution of four parameters is that of a
#: million real transfers. One that a thousand of them cannot refute is close enough to size a buffer with.
MOST_TESTED = 1000
#: The fewest values that are reduced to a `cdf`; fewer are a `choice`.
FEWEST_POINTS = 5
#: Seed of what is drawn, so that the same input gives the same answer.
_SEED = 20_060_302

_NAMES = {"Exponential": "exponential", "Lognormal": "log-normal", "Mixture": "log-normal with a Pareto tail"}


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of transfers.

    Attributes
    ----------
    quantiles : tuple of Quantile
        Quantiles for which the sample is large enough, in bytes.
    mean : IntervalEstimate
        Mean size, in bytes.
    distribution : Cdf, Choice, or a fitted distribution
        The distribution for the scenario, in bytes.
    why : str
        The name of the distribution and the reason for it.
    reduced : Reduced or None
        The empirical distribution with few points and the error of its quantiles; None for a handful of values.
    fitted : Fit or None
        The distribution that passes the test, if one does.
    sample : Sample
        The data.
    """

    quantiles: tuple[Quantile, ...]
    mean: IntervalEstimate
    distribution: Distribution
    why: str
    reduced: Reduced | None
    fitted: Fit | None
    sample: Sample


def sizes(sample: Sample, source: str) -> Sizes:
    """Describe sizes.

    Parameters
    ----------
    sample : Sample
        In bytes.
    source : str
        Where they come from, in a clause.
    """
    quantiles = sample.quantiles("byte", source)
    empirical = reduce_sample(sample, floor=0.5) if sample.count >= FEWEST_POINTS else None
    fitters = (fit_exponential, fit_lognormal, fit_heavy)
    fitted, tried = first_that_passes(sample.drawn(MOST_TESTED, np.random.default_rng(_SEED)), fitters, _SEED)
    mean = mean_of(sample, "byte", source)
    if fitted is not None:
        why = (
            f"{_NAMES[type(fitted.distribution).__name__]}, which passes "
            f"Anderson and Darling's test with {fitted.count:,} of {sample.count:,.0f} (p = {fitted.probability:.2g})"
        )
        return Sizes(quantiles, mean, _bounded(fitted.distribution, sample), why, empirical, fitted, sample)
    if empirical is None:
        values = np.round(np.sqrt(sample.low * sample.high))
        return Sizes(quantiles, mean, Choice(tuple(map(float, values))), "the few that were seen", None, None, sample)
    return Sizes(
        quantiles, mean, empirical.distribution, _empirical(empirical, tried, sample.count), empirical, None, sample
    )


def mean_of(sample: Sample, unit: str, source: str) -> IntervalEstimate:
    """Mean of independent values with Student's interval; of heavy tails it is too narrow, as any is."""
    from forebay.results.statistics import student_quantile

    count, mean = sample.count, sample.mean
    if count < 2:
        return IntervalEstimate(mean, -math.inf, math.inf, unit, source, round(count))
    error = sample.deviation / math.sqrt(count - 1)
    half = student_quantile((1 + CONFIDENCE) / 2, max(1, round(count) - 1)) * error
    return IntervalEstimate(mean, max(0.0, mean - half), mean + half, unit, source, round(count))


def _empirical(empirical: Reduced, tried: tuple[Fit, ...], count: float) -> str:
    within = f"quantiles within {_percent(empirical.error)}"
    points = f"the distribution of {count:,.0f} in {len(empirical.distribution.points)} points, {within}"
    if not tried:
        return f"{points}; fewer than {FEWEST} are too few to test a law with"
    names = [_NAMES[type(fit.distribution).__name__] for fit in tried]
    text = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{points}; {text} fail Anderson and Darling's test (p < {LEVEL:g})"


def _percent(share: float) -> str:
    return f"{max(100 * share, 0.1):.2g} %"


def _bounded(distribution: Distribution, sample: Sample) -> Distribution:
    """The distribution without a tail beyond the observed values: a simulation gets no size that was not observed."""
    if not isinstance(distribution, Mixture):
        return distribution
    largest = float(sample.high[-1])
    parts = []
    for weight, part in distribution.parts:
        tail = isinstance(part, Pareto) and part.minimum < 0.99 * largest
        parts.append((weight, Pareto(part.shape, part.minimum, largest) if tail and isinstance(part, Pareto) else part))
    return Mixture(tuple(parts))
