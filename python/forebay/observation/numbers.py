"""Amounts as a person writes them into a scenario: "98.7Mbps", "23.4ms", "1.5kB", with the digits that are known."""

from __future__ import annotations

import math
from decimal import Decimal

from forebay.observation.estimate import IntervalEstimate

__all__ = ["DIGITS", "digits_of", "rate_text", "seconds_text", "size_text", "time_text"]

#: Significant digits where nothing says how many are known, and the most that are ever written.
DIGITS, MOST_DIGITS = 4, 7

_RATES = (("bps", 0), ("kbps", 3), ("Mbps", 6), ("Gbps", 9), ("Tbps", 12))
_TIMES = (("ps", -12), ("ns", -9), ("us", -6), ("ms", -3), ("s", 0))
_SIZES = (("B", 0), ("kB", 3), ("MB", 6), ("GB", 9), ("TB", 12))


def rate_text(bps: float, digits: int = DIGITS) -> str:
    """Bits per second."""
    return _written(bps, digits, _RATES)


def time_text(seconds: float, digits: int = DIGITS) -> str:
    """Seconds, from a picosecond on."""
    return _written(seconds, digits, _TIMES)


def size_text(size: float, digits: int = DIGITS) -> str:
    """Bytes, of which there are no parts."""
    return _written(size if size >= 1000 else round(size), digits, _SIZES)


def seconds_text(seconds: float) -> str:
    """A time of polls in seconds, with three digits and whole seconds: "300 s", "59.4 s"."""
    return f"{seconds:.0f} s" if seconds >= 1000 else f"{seconds:.3g} s"


def digits_of(estimate: IntervalEstimate) -> int:
    """Significant digits that an estimate deserves.

    Rounding moves it by a tenth of the shorter side of its interval at most, so that what is written lies in it.
    """
    value = abs(estimate.value)
    half = min(estimate.high - estimate.value, estimate.value - estimate.low)
    if value == 0 or not math.isfinite(half):
        return DIGITS
    if half <= 0:
        return MOST_DIGITS
    # Rounding to d digits moves a number by half a unit of its last digit.
    needed = math.floor(math.log10(value)) + 1 - math.floor(math.log10(half / 5))
    return max(2, min(MOST_DIGITS, needed))


def _written(number: float, digits: int, units: tuple[tuple[str, int], ...]) -> str:
    """The number rounded first, so that 999.96 Mb/s are 1 Gb/s, in the largest unit that leaves a whole one."""
    rounded = Decimal(f"{max(number, 0.0):.{digits - 1}e}")
    if rounded == 0:
        return f"0{units[0][0] if units is not _TIMES else 's'}"
    unit, power = next((each for each in reversed(units) if rounded >= Decimal(1).scaleb(each[1])), units[0])
    return f"{_decimal_text(rounded.scaleb(-power))}{unit}"


def _decimal_text(number: Decimal) -> str:
    """The number as text without an exponent and without trailing zeros."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
