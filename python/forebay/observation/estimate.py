"""What an observation says of one number: an estimate with its interval, or why the input cannot tell.

Every reader of the package answers with these two, so that whoever joins their answers need not know where a number is
from and nobody takes a guess for a measurement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "CONFIDENCE",
    "FEWEST_SAMPLES",
    "MOST_RATE",
    "NAMED",
    "Estimate",
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
class Estimate:
    """A number that the input tells, and how well.

    Attributes
    ----------
    value : float
        The point estimate.
    low, high : float
        Ends of its 90 % interval; infinite where the sample is too small to bound it. Fewer than `FEWEST_SAMPLES`
        independent samples bound nothing, whatever ends are given. Both are the value if it was counted.
    unit : str
        Of all three: ``bit/s``, ``s``, ``byte``, or empty for a share or a count.
    source : str
        Where it comes from, in one clause.
    samples : int
        Observations that it rests on.
    independent : float
        Independent observations that tell as much; all of them where nothing else is said.
    is_most : bool
        Whether the truth is known to be at most the value, and nothing tells how much below.
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
    def worth(self) -> float:
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
    what : str
        The quantity.
    because : str
        Why this input does not identify it.
    measure : str
        What to measure next to know it.
    at_least, at_most : float or None
        What the input proves of it: its bounds, in the unit that an estimate of it would have.
    """

    what: str
    because: str
    measure: str
    at_least: float | None = None
    at_most: float | None = None


def exactly(value: float, unit: str, source: str, samples: int) -> Estimate:
    """A number that was counted: it is what it is."""
    return Estimate(value, value, value, unit, source, samples)


def rounded_down(number: float, digits: int = 3) -> float:
    """A number above 0 to so many significant digits, so that what is at least the number is at least this one."""
    unit = 10.0 ** (math.floor(math.log10(number)) - digits + 1)
    return math.floor(number / unit * (1 + 1e-12)) * unit


def rounded_up(number: float, digits: int = 3) -> float:
    """A number above 0 to so many significant digits, so that what is at most the number is at most this one."""
    unit = 10.0 ** (math.floor(math.log10(number)) - digits + 1)
    return math.ceil(number / unit * (1 - 1e-12)) * unit


def given_rate(rate_bps: float) -> Estimate:
    """The rate of a link, in bit/s, that somebody has said."""
    return exactly(rate_bps, "bit/s", "given by --rate", 0)


def scaled(estimate: Estimate, factor: float, unit: str) -> Estimate:
    """The same estimate times a positive factor, in another unit."""
    assert factor > 0, f"a factor of units is positive: {factor}"
    ends = (estimate.value * factor, estimate.low * factor, estimate.high * factor)
    return Estimate(*ends, unit, estimate.source, estimate.samples, estimate.independent, estimate.is_most)


def ratio(part: Estimate, whole: Estimate, source: str) -> Estimate:
    """One estimate over another that is independent of it, both above 0: their relative errors add up in quadrature."""
    value, errors = part.value / whole.value, None
    if part.is_bounded and whole.is_bounded:
        errors = (_relative(part), _relative(whole)[::-1]) if value else ((0.0, 0.0),)
    return _in_quadrature(value, errors, "", source, part.samples, min(part.worth, whole.worth))


def product(first: Estimate, second: Estimate, factor: float, unit: str, source: str) -> Estimate:
    """Two independent estimates above 0, multiplied: their relative errors add up in quadrature."""
    value, errors = first.value * second.value * factor, None
    if first.is_bounded and second.is_bounded and value:
        errors = (_relative(first), _relative(second))
    samples, worth = min(first.samples, second.samples), min(first.worth, second.worth)
    return _in_quadrature(value, errors, unit, source, samples, worth)


def _relative(found: Estimate) -> tuple[float, float]:
    """How far the ends of an interval lie from its value, as parts of it."""
    return (found.value - found.low) / found.value, (found.high - found.value) / found.value


def _in_quadrature(
    value: float, errors: Iterable[tuple[float, float]] | None, unit: str, source: str, samples: int, worth: float
) -> Estimate:
    """A value with relative errors below and above; without any it has no interval."""
    if errors is None:
        return Estimate(value, -math.inf, math.inf, unit, source, samples, min(worth, samples))
    below, above = (math.hypot(*parts) for parts in zip(*errors, strict=True))
    ends = max(0.0, value * (1 - below)), value * (1 + above)
    return Estimate(value, *ends, unit, source, samples, worth if math.isfinite(worth) else samples)
