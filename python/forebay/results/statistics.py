"""Honest intervals from few runs: every statistical statement that forebay makes is computed here.

Replications are independent by construction: each has its own random streams. The intervals of reports are Student's t.
A verdict on a goal uses the Bayesian bootstrap with one pessimistic observation, which stays valid for skewed data.
Inside one run successive observations are correlated; there batch means and MSER-5 apply.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np

from forebay import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Interval",
    "Warmup",
    "batch_means",
    "bootstrap_confidence",
    "confidence_that_share",
    "mean_interval",
    "mean_intervals",
    "most_confidence",
    "mser5",
    "normal_quantile",
    "replications_for",
    "replications_for_share",
    "runs_for_confidence",
    "share_at_least",
    "student_quantile",
]

Sense = Literal[">=", "<="]


@dataclass(frozen=True, slots=True)
class Interval:
    """A point estimate and the interval around it.

    Attributes
    ----------
    mean : float
        The point estimate.
    low, high : float
        Ends of the interval; infinite if the sample is too small for one.
    confidence : float
        Probability with which the method's intervals cover the truth.
    count : int
        Number of independent observations (replications or batches) behind the interval.
    """

    mean: float
    low: float
    high: float
    confidence: float
    count: int

    @property
    def half_width(self) -> float | None:
        """Half the interval's width, or None if one observation gives no interval."""
        width = (self.high - self.low) / 2
        return width if math.isfinite(width) else None

    def contains(self, value: float) -> bool:
        """Whether `value` lies in the closed interval."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Warmup:
    """The place where a series stops depending on its start, by MSER-5.

    Attributes
    ----------
    cut : int
        Observations to drop at the front.
    statistic : float
        The value that the rule minimizes: the squared standard error of the mean of the kept part.
    without_cut : float
        The same for the whole series.
    trusted : bool
        False if the cut falls at the end of the first half of the series. The series is then too short to separate its
        transient from its noise, and a longer run is needed (White, Cobb and Spratt 2000).
    """

    cut: int
    statistic: float
    without_cut: float
    trusted: bool


def _sample(values: ArrayLike, at_least: int = 1) -> NDArray[np.float64]:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1:
        msg = f"expected a one-dimensional sample, found {sample.ndim} dimensions"
        raise ValueError(msg)
    if sample.size < at_least:
        msg = f"expected at least {at_least} observations, found {sample.size}"
        raise ValueError(msg)
    if not np.all(np.isfinite(sample)):
        msg = "expected finite observations, found NaN or infinity"
        raise ValueError(msg)
    return sample


def _open_unit(name: str, value: float) -> float:
    if not 0.0 < value < 1.0:
        msg = f"{name} must lie strictly between 0 and 1, found {value}"
        raise ValueError(msg)
    return value


#: Searches ask again and again, of few levels.
@lru_cache(maxsize=1024)
def student_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t distribution.

    Parameters
    ----------
    probability : float
        Strictly between 0 and 1.
    degrees : int
        Degrees of freedom, at least 1.

    Returns
    -------
    float
        t with P(T <= t) = `probability`.
    """
    _open_unit("probability", probability)
    if degrees < 1:
        msg = f"degrees of freedom must be at least 1, found {degrees}"
        raise ValueError(msg)
    inside = abs(2 * probability - 1)
    return math.copysign(_core.two_sided_quantile(inside, degrees), probability - 0.5) if inside else 0.0


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal distribution, of a probability strictly between 0 and 1."""
    return NormalDist().inv_cdf(_open_unit("probability", probability))


def _standard_error(sample: NDArray[np.float64]) -> float:
    return float(np.std(sample, ddof=1)) / math.sqrt(sample.size)


def mean_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Two-sided Student-t interval for the mean of independent observations.

    Parameters
    ----------
    values : array_like
        One number per replication.
    confidence : float
        Coverage of the interval.

    Returns
    -------
    Interval
        With infinite ends for a single observation.
    """
    sample = _sample(values)
    _open_unit("confidence", confidence)
    mean = float(np.mean(sample))
    if sample.size == 1:
        return Interval(mean, -math.inf, math.inf, confidence, 1)
    half = student_quantile((1 + confidence) / 2, sample.size - 1) * _standard_error(sample)
    return Interval(mean, mean - half, mean + half, confidence, int(sample.size))


def mean_intervals(samples: NDArray[np.float64], confidence: float = 0.95) -> tuple[NDArray[np.float64], ...]:
    """Means and half widths of many samples of one size, a sample a row: as `mean_interval`, to the last bit.

    Half widths are NaN if a sample is a single observation.
    """
    _sample(samples.ravel())
    size = samples.shape[1]
    means = np.mean(samples, axis=1)
    if size == 1:
        return means, np.full_like(means, math.nan)
    errors = np.std(samples, ddof=1, axis=1) / math.sqrt(size)
    half = student_quantile((1 + confidence) / 2, size - 1) * errors
    return means, ((means + half) - (means - half)) / 2


#: Nodes of the quadrature of `bootstrap_confidence`: nine digits if margins are of one size, four if not.
_NODES = 240


@lru_cache(maxsize=1)
def _nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Abscissas from 0 to infinity, and the weights of a Gauss-Legendre rule in t / (1 + t)."""
    # Newton's iteration from the asymptotic zeros. NumPy's eigenvalues of a matrix take 20 times as long.
    nodes = np.cos(math.pi * (np.arange(_NODES, 0, -1) - 0.25) / (_NODES + 0.5))
    for _ in range(6):
        before, value = np.ones(_NODES), nodes
        for degree in range(2, _NODES + 1):
            before, value = value, ((2 * degree - 1) * nodes * value - (degree - 1) * before) / degree
        slope = _NODES * (nodes * value - before) / (nodes * nodes - 1)
        nodes = nodes - value / slope
    weights = 2 / ((1 - nodes * nodes) * slope * slope)
    inside = (nodes + 1) / 2
    return inside / (1 - inside), weights / 2 / (1 - inside) ** 2


def bootstrap_confidence(margins: ArrayLike, pessimistic: float) -> float:
    """Confidence that a mean is at least zero, without an assumption about the distribution.

    The observations and one pessimistic observation get random weights, uniform on the simplex (Rubin, The Bayesian
    bootstrap, 1981). The result is the probability that the weighted mean is at least zero. With the lower end of the
    support as the pessimistic observation this is Gaffke's bound (Three test statistics for a nonparametric one-sided
    hypothesis on the mean of a nonnegative variable, 2005), which keeps its level for every bounded distribution that
    was tried (Learned-Miller and Thomas, A new confidence interval for the mean of a bounded random variable, 2020).
    Forebay uses the worst observed value if the mean is at least as good. The coverage study in
    `docs/background/validation/coverage.md` measures how often this bound is right.

    The weights are independent exponentials over their sum, so the probability is that of a weighted sum of
    exponentials, by the inversion of its characteristic function (Imhof, Computing the distribution of quadratic forms
    in normal variables, 1961).

    Parameters
    ----------
    margins : array_like
        Distance of each independent observation on the good side, in any unit.
    pessimistic : float
        A margin that further observations will hardly fall below; a better one than the worst margin counts as that.

    Returns
    -------
    float
        Confidence in [0, 1]; 1 if nothing, the pessimistic observation included, is below zero.
    """
    sample = _sample(margins)
    worst = min(pessimistic, float(np.min(sample)))
    if worst >= 0:
        return 1.0
    if float(np.max(sample)) <= 0:
        return 0.0
    every = np.append(sample, worst)
    scaled = every / float(np.max(np.abs(every)))
    scaled = scaled / math.sqrt(math.fsum(scaled * scaled))
    at, weights = _nodes()
    turned = np.outer(at, scaled)
    phase = np.sum(np.arctan(turned), axis=1)
    decay = np.exp(-0.5 * np.sum(np.log1p(turned * turned), axis=1))
    inverted = float(np.sum(weights * np.sin(phase) * decay / at))
    return min(max(0.5 + inverted / math.pi, 0.0), 1.0)


def most_confidence(runs: int) -> float:
    """The largest confidence that `runs` runs support, however well they agree: n / (n + 1).

    The chance that the next of n + 1 exchangeable runs is the worst of them is 1 / (n + 1). Therefore n runs cannot
    exclude a state that occurs that often.
    """
    return runs / (runs + 1)


def runs_for_confidence(confidence: float) -> int:
    """The fewest runs that support a confidence: the inverse of `most_confidence`."""
    return math.ceil(_open_unit("confidence", confidence) / (1 - confidence) * (1 - 1e-9))


def confidence_that_share(successes: int, count: int, share: float) -> tuple[float, float]:
    """One-sided confidences that a probability is at least a share, and that it is below it.

    Each is the largest confidence at which the exact one-sided binomial bound (Clopper and Pearson 1934) still clears
    the share. The two do not add up to 1: the same sample may support neither.

    Parameters
    ----------
    successes, count : int
        Numbers of successes and of independent trials.
    share : float
        The share, strictly between 0 and 1.
    """
    _open_unit("share", share)
    if not 0 <= successes <= count or count < 1:
        msg = f"expected 0 <= successes <= count and a positive count, found {successes} of {count}"
        raise ValueError(msg)
    at_least = 1 - _core.beta_distribution(share, successes, count - successes + 1) if successes else 0.0
    below = _core.beta_distribution(share, successes + 1, count - successes) if successes < count else 0.0
    return at_least, below


def share_at_least(successes: int, count: int, confidence: float = 0.95) -> float:
    """Exact one-sided lower bound of a probability (Clopper and Pearson 1934)."""
    _open_unit("confidence", confidence)
    return 0.0 if successes == 0 else _core.beta_quantile(1 - confidence, successes, count - successes + 1)


def replications_for_share(share: float, confidence: float) -> int:
    """The fewest trials that, all successful, support a share with this confidence."""
    return math.ceil(math.log(1 - _open_unit("confidence", confidence)) / math.log(_open_unit("share", share)))


def replications_for(
    values: ArrayLike,
    *,
    absolute: float | None = None,
    relative: float | None = None,
    confidence: float = 0.95,
) -> int:
    """Replications that a requested half width needs, by those at hand (sequential stopping).

    Parameters
    ----------
    values : array_like
        Replications so far, at least two.
    absolute : float, optional
        Requested half width in the metric's unit.
    relative : float, optional
        Requested half width as a fraction of the mean's magnitude. If both are given, the wider one counts.
    confidence : float
        Coverage of the interval.

    Returns
    -------
    int
        Total number of replications; at most the present number if the goal is met already. Never below the
        smallest number whose t quantile reaches the goal with the present standard deviation (Law and Kelton's
        sequential procedure, one look ahead).
    """
    sample = _sample(values, at_least=2)
    if absolute is None and relative is None:
        msg = "give `absolute`, `relative` or both"
        raise ValueError(msg)
    required = max(absolute or 0.0, (relative or 0.0) * abs(float(np.mean(sample))))
    deviation = float(np.std(sample, ddof=1))
    if deviation == 0.0:
        return int(sample.size)
    if required <= 0.0:
        msg = f"the half width must be positive, found {required}"
        raise ValueError(msg)
    normal = student_quantile((1 + confidence) / 2, 10**9)
    count = max(2, math.ceil((normal * deviation / required) ** 2))
    while student_quantile((1 + confidence) / 2, count - 1) * deviation / math.sqrt(count) > required:
        count += 1
    return count


def batch_means(series: ArrayLike, batches: int = 20, confidence: float = 0.95) -> Interval:
    """Interval for the mean of one correlated, stationary series, from non-overlapping batches.

    Parameters
    ----------
    series : array_like
        Equally spaced observations of one run after its warm-up.
    batches : int
        Number of batches, 2 to the length of the series; 10 to 30 is usual. Observations that do not fill a
        batch are dropped at the front, nearest to the warm-up.
    confidence : float
        Coverage, reached when a batch spans many correlation times.

    Returns
    -------
    Interval
        Student's t over the batch means.
    """
    sample = _sample(series, at_least=2)
    if not 2 <= batches <= sample.size:
        msg = f"batches must be 2 to {sample.size}, found {batches}"
        raise ValueError(msg)
    size = sample.size // batches
    means = sample[sample.size - size * batches :].reshape(batches, size).mean(axis=1)
    return mean_interval(means, confidence)


def mser5(series: ArrayLike) -> Warmup:
    """Warm-up of a series by MSER-5: the cut after which the kept part's standard error is smallest.

    Source: White, Cobb and Spratt, "A comparison of five steady-state truncation heuristics for simulation",
    Winter Simulation Conference 2000: batches of five, cuts up to half of the series.

    Parameters
    ----------
    series : array_like
        Equally spaced observations from the start of a run, at least 20.

    Returns
    -------
    Warmup
        The cut in observations, a multiple of five.
    """
    sample = _sample(series, at_least=20)
    batch = sample[: sample.size // 5 * 5].reshape(-1, 5).mean(axis=1)
    # Sums over the kept tails in one backward pass, about the overall mean to keep digits.
    centered = batch - batch.mean()
    tail_sum = np.cumsum(centered[::-1])[::-1]
    tail_square = np.cumsum((centered**2)[::-1])[::-1]
    retained = np.arange(batch.size, 0, -1, dtype=np.float64)
    spread = np.maximum(tail_square - tail_sum**2 / retained, 0.0)
    # Short tails look quiet by chance: the rule only looks at cuts up to half of the series.
    candidates = batch.size // 2 + 1
    statistic = spread[:candidates] / retained[:candidates] ** 2
    best = int(np.argmin(statistic))
    trusted = best < candidates - max(1, candidates // 10)
    return Warmup(cut=5 * best, statistic=float(statistic[best]), without_cut=float(statistic[0]), trusted=trusted)


def log_spaced(low: int, high: int, count: int) -> Sequence[int]:
    """Distinct integers from `low` to `high`, evenly spread on a logarithmic scale, ends included."""
    if low < 1 or high < low or count < 1:
        msg = f"expected 1 <= low <= high and a positive count, found {low}, {high}, {count}"
        raise ValueError(msg)
    if count == 1 or low == high:
        return sorted({low, high})
    step = math.log(high / low) / (count - 1)
    inner = (round(low * math.exp(step * index)) for index in range(1, count - 1))
    return sorted({low, high, *inner})
