"""The result of an observation for one number: an estimate with its interval, or why the input cannot tell it.

Every reader of the package returns these two types. Code that joins results need not know the input of a number, and a
guess is never presented as a measurement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from forebay.results.deprecated_names import DeprecatedName

__all__ = [
    "CONFIDENCE",
    "FEWEST_SAMPLES",
    "MOST_RATE",
    "NAMED",
    "IntervalEstimate",
    "Unknown",
    "exactly",
    "given_rate",
    "product",
    "ratio",
    "rounded_down",
    "rounded_up",
    "scaled",
]

#: Probability with which an estimate's interval covers the truth.
CONFIDENCE = 0.9
#: The fewest independent samples of which an interval is told.
FEWEST_SAMPLES = 20
#: Probability from which on a congestion controller is named: below it the prior may be all that speaks for it.
NAMED = 0.8
#: Largest rate of a link that may be given, in bit/s.
MOST_RATE = 1e15


@dataclass(frozen=True)
class IntervalEstimate:
    """A number that the input tells, with its uncertainty.

    Attributes
    ----------
    value : float
        The point estimate.
    low, high : float
        Ends of its 90 % interval; infinite where the sample is too small to bound it. Fewer than `FEWEST_SAMPLES`
        independent samples bound nothing, whatever ends are given. Both are the value if it was counted.
    unit : str
        Unit of all three: ``bit/s``, ``s``, ``byte``, or empty for a share or a count.
    source : str
        The origin of the number, in one clause.
    samples : int
        Observations that it rests on.
    independent : float
        Number of independent observations that tell as much; all samples by default.
    is_most : bool
        Whether the value is only an upper bound: the true number may be lower by an unknown amount.
    """

    value: float
    low: float
    high: float
    unit: str
    source: str
    samples: int
    independent: float = math.nan
    is_most: bool = False

    def __post_init__(self) -> None:
        assert math.isfinite(self.value), f"an estimate is a number: {self.value}"
        assert self.low <= self.value <= self.high, f"{self.low} <= {self.value} <= {self.high}"
        assert self.samples >= 0, f"observations are counted: {self.samples}"
        if math.isnan(self.independent):
            object.__setattr__(self, "independent", float(self.samples))
        if self.low < self.high and self.independent < FEWEST_SAMPLES:
            object.__setattr__(self, "low", -math.inf)
            object.__setattr__(self, "high", math.inf)

    @property
    def is_bounded(self) -> bool:
        """Whether it has an interval of two finite ends, or was counted."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def effective_samples(self) -> float:
        """Independent observations that tell as much as it does; infinitely many of what was counted."""
        return math.inf if self.low == self.high else self.independent

    def contains(self, value: float) -> bool:
        """Whether `value` lies in the closed interval."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Unknown:
    """A number that the input cannot tell.

    Attributes
    ----------
    quantity : str
        The quantity.
    because : str
        Why this input does not identify it.
    measure : str
        The measurement that identifies it.
    at_least, at_most : float or None
        Bounds that the input proves, in the unit that an estimate of the quantity would have.
    """

    quantity: str
    because: str
    measure: str
    at_least: float | None = None
    at_most: float | None = None

    what = DeprecatedName("quantity")


def exactly(value: float, unit: str, source: str, samples: int) -> IntervalEstimate:
    """A number that was counted: it is what it is."""
    return IntervalEstimate(value, value, value, unit, source, samples)


def rounded_down(number: float, digits: int = 3) -> float:
    """A number above 0, rounded down to some significant digits: a lower bound stays a lower bound."""
    unit = 10.0 ** (math.floor(math.log10(number)) - digits + 1)
    return math.floor(number / unit * (1 + 1e-12)) * unit


def rounded_up(number: float, digits: int = 3) -> float:
    """A number above 0, rounded up to some significant digits: an upper bound stays an upper bound."""
    unit = 10.0 ** (math.floor(math.log10(number)) - digits + 1)
    return math.ceil(number / unit * (1 - 1e-12)) * unit


def given_rate(rate_bps: float) -> IntervalEstimate:
    """The rate of a link that the user has given, in bit/s."""
    return exactly(rate_bps, "bit/s", "given by --rate", 0)


def scaled(estimate: IntervalEstimate, factor: float, unit: str) -> IntervalEstimate:
    """The same estimate times a positive factor, in another unit."""
    assert factor > 0, f"a factor of units is positive: {factor}"
    ends = (estimate.value * factor, estimate.low * factor, estimate.high * factor)
    return IntervalEstimate(*ends, unit, estimate.source, estimate.samples, estimate.independent, estimate.is_most)


def ratio(part: IntervalEstimate, whole: IntervalEstimate, source: str) -> IntervalEstimate:
    """One estimate over another that is independent of it, both above 0: their relative errors add up in quadrature."""
    value, errors = part.value / whole.value, None
    if part.is_bounded and whole.is_bounded:
        errors = (_relative(part), _relative(whole)[::-1]) if value else ((0.0, 0.0),)
    return _in_quadrature(value, errors, "", source, part.samples, min(part.effective_samples, whole.effective_samples))


def product(
    first: IntervalEstimate, second: IntervalEstimate, factor: float, unit: str, source: str
) -> IntervalEstimate:
    """Two independent estimates above 0, multiplied: their relative errors add up in quadrature."""
    value, errors = first.value * second.value * factor, None
    if first.is_bounded and second.is_bounded and value:
        errors = (_relative(first), _relative(second))
    samples, worth = min(first.samples, second.samples), min(first.effective_samples, second.effective_samples)
    return _in_quadrature(value, errors, unit, source, samples, worth)


def _relative(found: IntervalEstimate) -> tuple[float, float]:
    """How far the ends of an interval lie from its value, as parts of it."""
    return (found.value - found.low) / found.value, (found.high - found.value) / found.value


def _in_quadrature(
    value: float, errors: Iterable[tuple[float, float]] | None, unit: str, source: str, samples: int, worth: float
) -> IntervalEstimate:
    """A value with relative errors below and above; without any it has no interval."""
    if errors is None:
        return IntervalEstimate(value, -math.inf, math.inf, unit, source, samples, min(worth, samples))
    below, above = (math.hypot(*parts) for parts in zip(*errors, strict=True))
    ends = max(0.0, value * (1 - below)), value * (1 + above)
    return IntervalEstimate(value, *ends, unit, source, samples, worth if math.isfinite(worth) else samples)
