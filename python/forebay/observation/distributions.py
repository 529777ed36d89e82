"""Distributions as a scenario file writes them: probabilities, quantiles, mean, and the form in the file.

A distribution is about a positive amount in base units, seconds or bytes; how amounts are written is the caller's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Amount", "Cdf", "Choice", "Distribution", "Exponential", "Lognormal", "Mixture", "Pareto", "Weibull"]

#: Writes an amount in base units as a scenario does: "23.4ms".
Amount = Callable[[float], str]

Numbers = NDArray[np.float64]

#: Halvings, by ratio, that find a quantile of a mixture between those of its parts to the last bits.
_HALVINGS = 64


@dataclass(frozen=True, slots=True)
class Exponential:
    """P(X > x) = exp(-x / mean)."""

    mean: float

    def below(self, x: ArrayLike) -> Numbers:
        """P(X <= x)."""
        return _array(-np.expm1(-np.maximum(_array(x), 0.0) / self.mean))

    def above(self, x: ArrayLike) -> Numbers:
        """P(X > x)."""
        return _array(np.exp(-np.maximum(_array(x), 0.0) / self.mean))

    def quantile(self, p: ArrayLike) -> Numbers:
        """The x with P(X <= x) = p."""
        return _array(-self.mean * np.log1p(-_array(p)))

    @property
    def average(self) -> float:
        """Mean of X."""
        return self.mean

    def form(self, amount: Amount) -> dict[str, Any]:
        """As the scenario's keys have it."""
        return {"exponential": amount(self.mean)}


@dataclass(frozen=True, slots=True)
class Weibull:
    """P(X > x) = exp(-(x / scale)**shape)."""

    shape: float
    scale: float

    def below(self, x: ArrayLike) -> Numbers:
        """P(X <= x)."""
        return -np.expm1(-self._hazard(x))

    def above(self, x: ArrayLike) -> Numbers:
        """P(X > x)."""
        return np.exp(-self._hazard(x))

    def _hazard(self, x: ArrayLike) -> Numbers:
        return _array((np.maximum(_array(x), 0.0) / self.scale) ** self.shape)

    def quantile(self, p: ArrayLike) -> Numbers:
        """The x with P(X <= x) = p."""
        return _array(self.scale * (-np.log1p(-_array(p))) ** (1 / self.shape))

    @property
    def average(self) -> float:
        """Mean of X."""
        return self.scale * math.gamma(1 + 1 / self.shape)

    def form(self, amount: Amount) -> dict[str, Any]:
        """As the scenario's keys have it."""
        return {"weibull": {"shape": _rounded(self.shape), "scale": amount(self.scale)}}


@dataclass(frozen=True, slots=True)
class Lognormal:
    """ln X is normal about ln `median` with the standard deviation `sigma`."""

    median: float
    sigma: float

    def below(self, x: ArrayLike) -> Numbers:
        """P(X <= x)."""
        return self._normal(self._score(x))

    def above(self, x: ArrayLike) -> Numbers:
        """P(X > x)."""
        return self._normal(-self._score(x))

    def _score(self, x: ArrayLike) -> Numbers:
        with np.errstate(divide="ignore"):
            return _array(np.log(np.maximum(_array(x), 0.0) / self.median) / self.sigma)

    @staticmethod
    def _normal(z: Numbers) -> Numbers:
        from scipy.special import ndtr

        return _array(ndtr(z))

    def quantile(self, p: ArrayLike) -> Numbers:
        """The x with P(X <= x) = p."""
        from scipy.special import ndtri

        return self.median * np.exp(self.sigma * np.asarray(ndtri(_array(p)), float))

    @property
    def average(self) -> float:
        """Mean of X."""
        return self.median * math.exp(self.sigma**2 / 2)

    def form(self, amount: Amount) -> dict[str, Any]:
        """As the scenario's keys have it."""
        return {"lognormal": {"median": amount(self.median), "sigma": _rounded(self.sigma)}}


@dataclass(frozen=True, slots=True)
class Pareto:
    """P(X > x) = (minimum / x)**shape; below `maximum`, where there is one, as if nothing were beyond it."""

    shape: float
    minimum: float
    maximum: float | None = None

    def below(self, x: ArrayLike) -> Numbers:
        """P(X <= x)."""
        return np.minimum(-np.expm1(-self.shape * self._log(x)) / self._share_below_maximum, 1.0)

    def above(self, x: ArrayLike) -> Numbers:
        """P(X > x)."""
        return np.maximum(
            (np.exp(-self.shape * self._log(x)) - 1 + self._share_below_maximum) / self._share_below_maximum, 0.0
        )

    def _log(self, x: ArrayLike) -> Numbers:
        return _array(np.log(np.maximum(_array(x), self.minimum) / self.minimum))

    @property
    def _share_below_maximum(self) -> float:
        """Share of the distribution without a maximum that lies below it."""
        return 1.0 if self.maximum is None else -math.expm1(-self.shape * math.log(self.maximum / self.minimum))

    def quantile(self, p: ArrayLike) -> Numbers:
        """The x with P(X <= x) = p."""
        return self.minimum * np.exp(-np.log1p(-_array(p) * self._share_below_maximum) / self.shape)

    @property
    def average(self) -> float:
        """Mean of X; infinite where the tail is too heavy for one."""
        a, low, high = self.shape, self.minimum, self.maximum
        if high is None:
            return a * low / (a - 1) if a > 1 else math.inf
        # low * integral of a r^-a from 1 to the ratio of the ends.
        spread = math.log(high / low)
        grown = spread if abs(a - 1) < 1e-9 else math.expm1((1 - a) * spread) / (1 - a)
        return a * low * grown / self._share_below_maximum

    def form(self, amount: Amount) -> dict[str, Any]:
        """As the scenario's keys have it."""
        ends = {"minimum": amount(self.minimum)}
        if self.maximum is not None:
            ends["maximum"] = amount(self.maximum)
        return {"pareto": {"shape": _rounded(self.shape), **ends}}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several values, each as likely."""

    values: tuple[float, ...]

    def below(self, x: ArrayLike) -> Numbers:
        """P(X <= x)."""
        return np.searchsorted(np.sort(self.values), _array(x), side="right") / len(self.values)

    def above(self, x: ArrayLike) -> Numbers:
        """P(X > x)."""
        return 1 - self.below(x)

    def quantile(self, p: ArrayLike) -> Numbers:
        """The least x with P(X <= x) >= p."""
        ranks = np.ceil(_array(p) * len(self.values) - 1e-9).astype(int) - 1
        return np.asarray(np.sort(self.values)[np.maximum(ranks, 0)], float)

    @property
    def average(self) -> float:
        """Mean of X."""
        return math.fsum(self.values) / len(self.values)

    def form(self, amount: Amount) -> dict[str, Any]:
        """As the scenario's keys have it."""
        return {"choice": [amount(value) for value in self.values]}


@dataclass(frozen=True, slots=True)
class Cdf:
    """Points (value, probability of at most this), both rising, the last at 1; linear in between.

    The first point may have a probability above 0: it is then the share of values that are equal to the first one.
    """

    points: tuple[tuple[float, float], ...]

    def below(self, x: ArrayLike) -> Numbers:
        """P(X <= x)."""
        values, shares = map(np.array, zip(*self.points, strict=True))
        found = np.interp(_array(x), values, shares)
        # If points share a value, the last one counts.
        last = np.searchsorted(values, _array(x), side="right") - 1
        at = values[np.maximum(last, 0)] == x
        return np.where(_array(x) < values[0], 0.0, np.where(at, shares[np.maximum(last, 0)], found))

    def above(self, x: ArrayLike) -> Numbers:
        """P(X > x)."""
        return 1 - self.below(x)

    def quantile(self, p: ArrayLike) -> Numbers:
        """The least x with P(X <= x) >= p."""
        values, shares = map(np.array, zip(*self.points, strict=True))
        p = _array(p)
        at = np.clip(np.searchsorted(shares, p, side="left"), 1, len(shares) - 1)
        low, high = shares[at - 1], shares[at]
        way = np.clip((p - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
        return np.where(high > low, values[at - 1] + (values[at] - values[at - 1]) * way, values[at])

    @property
    def average(self) -> float:
        """Mean of X."""
        values, shares = map(np.array, zip(*self.points, strict=True))
        pieces = (values[1:] + values[:-1]) / 2 * np.diff(shares)
        return float(np.sum(pieces) + values[0] * shares[0])

    def form(self, amount: Amount) -> dict[str, Any]:
        """As the scenario's keys have it."""
        return {"cdf": [[amount(value), _share(share)] for value, share in self.points]}


@dataclass(frozen=True, slots=True)
class Mixture:
    """One of several distributions, each with its probability; these sum to 1."""

    parts: tuple[tuple[float, Exponential | Weibull | Lognormal | Pareto], ...]

    def below(self, x: ArrayLike) -> Numbers:
        """P(X <= x)."""
        return _array(np.sum([weight * distribution.below(x) for weight, distribution in self.parts], axis=0))

    def above(self, x: ArrayLike) -> Numbers:
        """P(X > x)."""
        return _array(np.sum([weight * distribution.above(x) for weight, distribution in self.parts], axis=0))

    def quantile(self, p: ArrayLike) -> Numbers:
        """The x with P(X <= x) = p, strictly between 0 and 1: between those of the parts."""
        p = _array(p)
        ends = np.array([distribution.quantile(p) for _, distribution in self.parts])
        low, high = np.min(ends, axis=0), np.max(ends, axis=0)
        for _ in range(_HALVINGS):
            middle = np.sqrt(low * high)
            short = self.below(middle) < p
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return _array(high)

    @property
    def average(self) -> float:
        """Mean of X."""
        return math.fsum(weight * distribution.average for weight, distribution in self.parts)

    def form(self, amount: Amount) -> dict[str, Any]:
        """As the scenario's keys have it."""
        return {
            "mixture": [
                {"weight": _rounded(weight), **distribution.form(amount)} for weight, distribution in self.parts
            ]
        }


Distribution = Exponential | Weibull | Lognormal | Pareto | Choice | Cdf | Mixture


def _array(values: ArrayLike) -> Numbers:
    return np.asarray(values, dtype=np.float64)


def _rounded(number: float) -> float:
    """A shape, to the digits that any sample can tell."""
    return float(f"{number:.4g}")


def _share(number: float) -> float:
    return round(number, 6)
