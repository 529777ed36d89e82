"""Lengths of cables as texts: the arguments of users and the columns of tables give them to this parser."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from forebay._core import split_quantity
from forebay.errors import InputError
from forebay.sanitize import sanitize

__all__ = ["LENGTH_UNITS", "MOST_METERS", "length_text", "parse_length"]

#: Meters in each unit of length.
LENGTH_UNITS: Mapping[str, float] = MappingProxyType({"cm": 0.01, "m": 1.0, "km": 1000.0})
#: Longest accepted cable, in meters.
MOST_METERS = 1e6
#: Characters of a refused text that an error message shows.
_SHOWN = 40


def parse_length(text: str) -> float:
    """Read a length such as "300m", "40 m" or "0.5km", in meters.

    Raises
    ------
    InputError
        If the text has no unit, is negative, or is longer than 1,000 km.
    """
    found = split_quantity(text.strip())
    number, unit = found or (math.nan, "")
    meters = number * LENGTH_UNITS.get(unit, math.nan)
    if unit == "km":
        # A product of a decimal fraction and 1000 has a rounding error, so 0.3 km would not be 300 m.
        meters = round(meters, 9)
    if not 0 <= meters <= MOST_METERS:
        shown = sanitize(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}...")
        raise InputError(f"found `{shown}`; allowed: a length from 0m to 1000km, as in 300m or 0.5km")
    return meters


def length_text(meters: float) -> str:
    """A length for a reader, such as "300 m" or "2.5 m"."""
    return f"{meters:,.3f}".rstrip("0").rstrip(".") + " m"
