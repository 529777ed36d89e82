"""Numbers that callers pass: a value that is no number or out of bounds is one `InputError` before anything runs."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any

from forebay.errors import InputError

__all__ = ["MOST_JOBS", "MOST_REPLICATIONS", "MOST_SEED", "integer", "real"]

#: Largest allowed seed, number of replications and number of threads.
MOST_SEED = 2**63 - 1
MOST_REPLICATIONS = 1_000_000
MOST_JOBS = 4096


def integer(value: Any, bounds: tuple[int, int], argument: str) -> int:
    """A whole number within closed bounds, be it Python's or NumPy's."""
    least, most = bounds
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        found = operator.index(value)
        if least <= found <= most:
            return found
    raise InputError(f"found {_abbreviated(value)}; allowed: a whole number from {least} to {most}", argument)


def real(value: Any, argument: str) -> float:
    """A finite number."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        try:
            found = float(value)
        except OverflowError:
            found = math.inf
        if math.isfinite(found):
            return found
    raise InputError(f"found {_abbreviated(value)}; allowed: a number", argument)


def _abbreviated(value: Any) -> str:
    """A value in few words; Python refuses to print an integer of thousands of digits."""
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except ValueError:
        return "an enormous number"
    return text if len(text) <= 60 else f"{text[:57]}..."
