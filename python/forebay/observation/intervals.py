"""Intervals for what a reader counts: means, ratios and quantiles of series whose neighbors depend on each other.

Every interval has `CONFIDENCE`; where the sample is too small to bound a number its end is infinite, or the end of what
the number can be.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from forebay.observation.estimate import CONFIDENCE, FEWEST_SAMPLES, IntervalEstimate
from forebay.results.statistics import normal_quantile, student_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "batch_ratio",
    "effective_samples_of_mean",
    "independent_of",
    "quantile",
    "share_without_events",
    "weighted_quantile",
]

#: Batches of a correlated series; Schmeiser (1982) finds no gain from more than 10 to 30.
BATCHES = 10
#: Observations of a batch from which on its mean shows a memory.
_PER_BATCH = 10


def batch_ratio(above: NDArray[np.float64], below: NDArray[np.float64], unit: str, source: str) -> IntervalEstimate:
    """A ratio of two sums, such as bytes over seconds, with an interval from batches of neighbors.

    The delta method's variance of a ratio estimator (Cochran, "Sampling Techniques", 1977, equation 6.9) over batch
    totals, with Student's t.

    Parameters
    ----------
    above, below : ndarray
        Values in order of time; `above` is not negative, and the sum of `below` is positive.
    unit, source : str
        Of the estimate.
    """
    ratio = float(above.sum() / below.sum())
    count = int(above.size)
    batches = min(BATCHES, count)
    if count < FEWEST_SAMPLES:
        return IntervalEstimate(ratio, -math.inf, math.inf, unit, source, count)
    tops, bottoms = _totals(above, batches), _totals(below, batches)
    rest = tops - ratio * bottoms
    error = math.sqrt(float((rest**2).sum()) * batches / (batches - 1)) / float(below.sum())
    half = student_quantile((1 + CONFIDENCE) / 2, batches - 1) * error
    worth = min(effective_samples_of_mean(above - ratio * below, batches), float(np.count_nonzero(above)))
    return IntervalEstimate(ratio, max(0.0, ratio - half), ratio + half, unit, source, count, worth)


def effective_samples_of_mean(series: NDArray[np.float64], batches: int) -> float:
    """The number of independent observations that the mean of a series is worth, by its neighbors and by its batches.

    Parameters
    ----------
    series : ndarray
        In order of time.
    batches : int
        Into how many it is cut, where each has enough of it: their scatter shows a memory longer than one step.
    """
    worth = independent_of(series)
    if series.size >= _PER_BATCH * batches:
        sums = _totals(series - series.mean(), batches)
        scatter = float(sums.var(ddof=1)) * batches
        if scatter > 0:
            worth = min(worth, series.size * float(series.var()) * series.size / scatter)
    return worth


def _totals(series: NDArray[np.float64], batches: int) -> NDArray[np.float64]:
    edges = np.linspace(0, series.size, batches + 1).astype(int)[:-1]
    return np.add.reduceat(series, edges)


def share_without_events(trials: float, source: str) -> IntervalEstimate:
    """A probability of which no event was seen: zero, and at most what would have shown one in 95 of 100 cases.

    Trials count as independent, so that the bound is of a share spread evenly over them.
    """
    high = 1 - (1 - (1 + CONFIDENCE) / 2) ** (1 / trials) if trials > 0 else 1.0
    return IntervalEstimate(0.0, 0.0, high, "", source, int(trials))


def independent_of(series: NDArray[np.float64]) -> float:
    """The number of independent observations that a series is worth, by its correlation at lag one."""
    if series.size < 3:
        return float(series.size)
    centered = series - series.mean()
    power = float((centered**2).sum())
    if power == 0:
        return float(series.size)
    # Never more than there are: a negative correlation is no license.
    lag = min(max(float((centered[1:] * centered[:-1]).sum()) / power, 0.0), 0.999)
    return max(1.0, series.size * (1 - lag) / (1 + lag))


def quantile(
    sample: NDArray[np.float64], share: float, unit: str, source: str, independent: float | None = None
) -> IntervalEstimate:
    """A quantile with the distribution-free interval of order statistics (David and Nagaraja 2003, section 7.1).

    Parameters
    ----------
    sample : ndarray
        At least one observation, in any order.
    share : float
        Strictly between 0 and 1.
    unit, source : str
        Of the estimate.
    independent : float, optional
        The number of independent observations that the sample is worth; all by default.
    """
    return weighted_quantile(sample, np.ones_like(sample), share, unit, source, independent)


def weighted_quantile(
    sample: NDArray[np.float64],
    weights: NDArray[np.float64],
    share: float,
    unit: str,
    source: str,
    independent: float | None = None,
) -> IntervalEstimate:
    """As `quantile`, but each observation has a weight, such as a time or a number of packets."""
    order = np.argsort(sample, kind="stable")
    values = sample[order]
    upto = np.cumsum(weights[order])
    upto /= upto[-1]
    count = float(values.size) if independent is None else independent
    half = normal_quantile((1 + CONFIDENCE) / 2) * math.sqrt(share * (1 - share) / count)
    # Half an observation of continuity correction to each side.
    at = [share, share - half - 0.5 / count, share + half + 0.5 / count]
    found = [float(values[min(int(np.searchsorted(upto, each - 1e-12)), values.size - 1)]) for each in at]
    low = found[1] if at[1] > 0 else min(0.0, found[0])
    high = found[2] if at[2] < 1 else math.inf
    return IntervalEstimate(found[0], low, high, unit, source, int(values.size), count)
