"""Samples with weights, or of which only a histogram was kept: their quantiles and the intervals of these.

The interval of a quantile is the bootstrap's in the limit of endless resampling, which for quantiles has a closed form:
how many of n draws fall below the quantile of probability p is binomial, so that Jeffreys's interval of p, taken
through the sample's own quantiles, is the interval (Efron, The Jackknife, the Bootstrap and Other Resampling Plans,
1982, section 10.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forebay.observation.estimate import CONFIDENCE, IntervalEstimate

__all__ = ["PROBABILITIES", "Quantile", "Sample"]

#: Probabilities whose quantiles are told.
PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
#: Observations that are expected beyond a quantile, on its rarer side, before it is told.
BEYOND = 5
#: From more values than this on, drawing with repetition is the same.
MOST_COUNTED = 1e8


@dataclass(frozen=True, slots=True)
class Quantile:
    """The value that a given share of the values does not exceed."""

    probability: float
    estimate: IntervalEstimate


@dataclass(frozen=True)
class Sample:
    """Positive values, each known exactly or within a bin.

    Attributes
    ----------
    low, high : array
        Ends of each value's bin, in rising order; equal where the value is exact.
    weights : array
        How many values of the population each stands for.
    count : float
        Equally weighted observations that tell as much (Kish's effective size).
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    weights: NDArray[np.float64]
    count: float

    @classmethod
    def of(cls, values: ArrayLike, weights: ArrayLike | None = None) -> Sample:
        """Exact values.

        Parameters
        ----------
        values : array_like
            At least one, all above 0 and finite.
        weights : array_like, optional
            Weight of each value, above 0; all equal by default.

        Raises
        ------
        ValueError
            Where a value or weight is none.
        """
        found = np.asarray(values, float).ravel()
        each = np.ones_like(found) if weights is None else np.asarray(weights, float).ravel()
        if found.size == 0 or found.shape != each.shape:
            msg = f"expected values with as many weights, found {found.size} and {each.size}"
            raise ValueError(msg)
        if not (np.all(np.isfinite(found)) and np.all(found > 0) and np.all(np.isfinite(each)) and np.all(each > 0)):
            msg = "expected finite values and weights above 0"
            raise ValueError(msg)
        order = np.argsort(found, kind="stable")
        found, each = found[order], each[order]
        return cls(found, found, each, float(each.sum() ** 2 / np.sum(each**2)))

    @cached_property
    def _knots(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Probabilities and values between which quantiles are linear.

        A single observation stands at the middle of its share (Hazen 1914). One that stands for many, as a value seen
        often or a bin, covers its share but for half an observation at each end.
        """
        total = float(self.weights.sum())
        unit = total / max(self.count, 1.0)
        after = np.cumsum(self.weights)
        half = np.minimum(self.weights, unit) / 2
        start, end = after - self.weights + half, after - half
        shares = np.column_stack((start, end)).ravel() / total
        # One observation of a bin is anywhere in it: its middle.
        many = self.weights > 1.5 * unit
        middle = np.sqrt(self.low * self.high)
        low, high = np.where(many, self.low, middle), np.where(many, self.high, middle)
        return shares, np.maximum.accumulate(np.column_stack((low, high)).ravel())

    def quantile(self, p: ArrayLike) -> NDArray[np.float64]:
        """Values that shares `p` of the population do not exceed."""
        shares, values = self._knots
        return np.asarray(np.interp(np.asarray(p, float), shares, values), dtype=np.float64)

    @property
    def mean(self) -> float:
        """Mean over the population."""
        return float(np.average((self.low + self.high) / 2, weights=self.weights))

    @property
    def deviation(self) -> float:
        """Standard deviation over the population."""
        return float(np.sqrt(np.average(((self.low + self.high) / 2 - self.mean) ** 2, weights=self.weights)))

    def quantiles(
        self, unit: str, source: str, probabilities: tuple[float, ...] = PROBABILITIES
    ) -> tuple[Quantile, ...]:
        """The quantiles that the sample is large enough for, with their intervals."""
        from scipy.special import betaincinv

        resolved = [
            p for p in probabilities if self.count * min(p, 1 - p) >= BEYOND or (p == 0.5 and self.count >= BEYOND)
        ]
        found = []
        for p in resolved:
            ends = betaincinv(
                self.count * p + 0.5, self.count * (1 - p) + 0.5, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
            )
            low, value, high = (float(each) for each in self.quantile([ends[0], p, ends[1]]))
            found.append(
                Quantile(p, IntervalEstimate(value, min(low, value), max(high, value), unit, source, round(self.count)))
            )
        return tuple(found)

    def drawn(self, most: int, random: np.random.Generator) -> NDArray[np.float64]:
        """At most `most` values for the test of a distribution: all of them, or a random choice without repetition.

        A value in a bin gets a random place within the bin, on a logarithmic scale.
        """
        counts = np.round(self.weights).astype(np.int64)
        if np.array_equal(counts, self.weights) and abs(self.count - counts.sum()) < 0.5 < MOST_COUNTED - self.count:
            size = min(most, int(counts.sum()))
            chosen = np.repeat(np.arange(counts.size), random.multivariate_hypergeometric(counts, size))
        else:
            size = min(most, max(1, round(self.count)))
            chosen = random.choice(counts.size, size=size, p=self.weights / self.weights.sum())
        low, high = self.low[chosen], self.high[chosen]
        return np.sort(low * (high / low) ** random.random(chosen.size))
