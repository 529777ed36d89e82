"""Exact amounts in the notation of scenarios, read without rounding and written so that they read as the same."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

__all__ = [
    "Dimension",
    "bits",
    "count_text",
    "exact",
    "rate_text",
    "scenario_rate",
    "scenario_size",
    "scenario_time",
    "time_text",
]

Dimension = Literal["time", "rate", "bytes", "packets", "share"]

_TIMES = {"ps": -12, "ns": -9, "us": -6, "ms": -3, "s": 0}
_LONG = {"min": 60, "h": 3600, "d": 86400}
_RATES = {"bps": 0, "kbps": 3, "Mbps": 6, "Gbps": 9, "Tbps": 12}
_SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BINARY = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

_UNITS: dict[str, tuple[Fraction, Dimension]] = {
    **{unit: (Fraction(10) ** power, "time") for unit, power in _TIMES.items()},
    **{unit: (Fraction(seconds), "time") for unit, seconds in _LONG.items()},
    **{unit: (Fraction(10) ** power, "rate") for unit, power in _RATES.items()},
    **{unit: (Fraction(size), "bytes") for unit, size in (_SIZES | _BINARY).items()},
    "p": (Fraction(1), "packets"),
    "%": (Fraction(1, 100), "share"),
}
_QUANTITY = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?) ?([A-Za-z%]+)")


def exact(text: str) -> tuple[Fraction, Dimension]:
    """An amount in base units (seconds, bits per second, bytes, packets, one) and its dimension.

    Raises
    ------
    ValueError
        If the text is not an amount.
    """
    match = _QUANTITY.fullmatch(text.strip())
    if match is None or match[2] not in _UNITS:
        raise ValueError(text)
    factor, dimension = _UNITS[match[2]]
    return Fraction(match[1]) * factor, dimension


def bits(text: str) -> int:
    """A rate in bits per second."""
    amount, dimension = exact(text)
    assert dimension == "rate", text
    return round(amount)


def scenario_rate(rate: int) -> str:
    """A rate as scenarios write it: "16Mbps"."""
    return _scaled(Fraction(rate), {unit: 10**power for unit, power in _RATES.items()})


def scenario_time(seconds: Fraction) -> str:
    """A time as scenarios write it, in picoseconds at the finest: "5ms"."""
    picoseconds = Fraction(round(seconds * 10**12))
    return _scaled(picoseconds, {unit: 10 ** (power + 12) for unit, power in _TIMES.items()})


def scenario_size(size: int) -> str:
    """Bytes as scenarios write them: "150kB"."""
    return _scaled(Fraction(size), _SIZES)


def _scaled(amount: Fraction, units: dict[str, int]) -> str:
    """An amount in the largest unit in which it needs no more than three decimals, or in the smallest."""
    for unit, factor in sorted(units.items(), key=lambda entry: -entry[1]):
        if amount >= factor and (amount / factor * 1000).denominator == 1:
            return f"{_decimal(amount / factor)}{unit}"
    unit = min(units, key=lambda name: units[name])
    return f"{_decimal(amount / units[unit])}{unit}"


def _decimal(amount: Fraction) -> str:
    if amount.denominator == 1:
        return str(amount.numerator)
    return f"{float(amount):.3f}".rstrip("0").rstrip(".")


def rate_text(rate: int) -> str:
    """A rate for a reader: "16 Mb/s"."""
    return re.sub(r"(?<=[0-9])(?=[A-Za-z])", " ", scenario_rate(rate)).replace("bps", "b/s")


def time_text(seconds: Fraction) -> str:
    """A time for a reader: "5 ms"."""
    return re.sub(r"(?<=[0-9])(?=[a-z])", " ", scenario_time(seconds)).replace(" us", " µs")


def count_text(amount: float, noun: str) -> str:
    """A number with its noun: "1 packet", "96,000 bytes"."""
    shown = f"{amount:,.6f}".rstrip("0").rstrip(".")
    return f"{shown} {noun}{'' if shown == '1' else 's'}"
