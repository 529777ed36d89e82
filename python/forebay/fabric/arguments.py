"""Reads the arguments of `forebay.headroom`: texts with units become numbers in the units of the models.

Each function refuses a wrong value with an `InputError` that names its argument. `headroom.py` calls them.
"""

from __future__ import annotations

import math

from forebay._core import parse_quantity, split_quantity
from forebay.errors import InputError, naming
from forebay.inputs.validation import integer
from forebay.text.length import parse_length

__all__ = ["cable_of", "count_of", "kib_of", "megabits_of", "nanoseconds_of", "percent_of", "size_of"]

#: Smallest and largest rate, in Mb/s.
RATES = (100, 10_000_000)
_BINARY = {"B": 1, "kB": 1e3, "MB": 1e6, "KiB": 1024, "MiB": 1024**2}


def megabits_of(text: str) -> int:
    """A rate in Mb/s; SONiC and Linux count rates in whole Mb/s."""
    with naming("rate"):
        rate = parse_quantity(text, "rate")
    least, most = RATES
    if not least * 1e6 <= rate <= most * 1e6 or rate % 1e6:
        raise InputError(f"found `{text}`; allowed: 100Mbps to 10Tbps in whole Mb/s", "rate")
    return round(rate / 1e6)


def cable_of(text: str) -> float:
    """The length of a cable, in meters."""
    with naming("cable"):
        return parse_length(text)


def size_of(argument: str, text: str, least: int, most: int) -> int:
    """A whole number of bytes within closed bounds."""
    with naming(argument):
        found = parse_quantity(text, "bytes")
    if not least <= found <= most:
        raise InputError(f"found `{text}`; allowed: {least}B to {most}B", argument)
    return round(found)


def kib_of(argument: str, text: str) -> float:
    """A size that may have a fraction of a byte, in KiB: "0.8KiB" is 0.8."""
    number, unit = split_quantity(text.strip()) or (math.nan, "")
    bytes_ = number * _BINARY.get(unit, math.nan)
    if not 0 <= bytes_ <= 2**30:
        raise InputError(f"found `{text}`; allowed: a size from 0B to 1GiB, as in 3.8KiB", argument)
    return number if unit == "KiB" else bytes_ / 1024


def nanoseconds_of(argument: str, text: str) -> float:
    """A time in nanoseconds, up to one second."""
    with naming(argument):
        seconds = parse_quantity(text, "time")
    if seconds > 1:
        raise InputError(f"found `{text}`; allowed: 0ns to 1s", argument)
    return round(seconds * 1e9, 6)


def percent_of(argument: str, text: str) -> float:
    """A share in percent, from 0 to 100: "33.3%" is 33.3 exactly."""
    with naming(argument):
        share = parse_quantity(text, "share")
    if not 0 <= share <= 1:
        raise InputError(f"found `{text}`; allowed: 0% to 100%", argument)
    number, unit = split_quantity(text.strip()) or (100 * share, "%")
    return number if unit == "%" else round(100 * share, 9)


def count_of(argument: str, value: object, bounds: tuple[int, int]) -> int:
    """A whole number, also as text."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        return integer(int(value), bounds, argument)
    return integer(value, bounds, argument)
