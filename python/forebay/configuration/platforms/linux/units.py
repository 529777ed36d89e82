"""Sizes, rates and times as tc(8) reads them (iproute2, lib/utils.c and tc/tc_util.c): case does not matter.

Sizes count in powers of 1024 ("200kb" is 204,800 bytes), rates in powers of 1000 unless there is an i ("16mbit",
"16mibit"), times without a unit are microseconds, rates without a unit bits per second.
"""

from __future__ import annotations

import math
from fractions import Fraction

from forebay.configuration.port import Limit
from forebay.configuration.reading import Mistake, integer, suffixed

__all__ = [
    "HASHED",
    "HEADER",
    "LARGEST",
    "MICROSECOND",
    "count",
    "packets",
    "probability",
    "rate",
    "rate_word",
    "size",
    "time",
    "time_word",
]

MICROSECOND = Fraction(1, 10**6)
#: Bytes of an Ethernet header, which tc counts and IP does not.
HEADER = 14
#: Classes of flows of a hashed drr (tc-drr(8), as in its example).
HASHED = 1024

_SIZES = {
    "b": Fraction(1),
    **{unit: Fraction(2**10) for unit in ("k", "kb")},
    **{unit: Fraction(2**20) for unit in ("m", "mb")},
    **{unit: Fraction(2**30) for unit in ("g", "gb")},
    "kbit": Fraction(2**10, 8),
    "mbit": Fraction(2**20, 8),
    "gbit": Fraction(2**30, 8),
}
_RATES = {
    f"{prefix}{'i' if base == 1024 else ''}{unit}": Fraction(bits * base**power)
    for power, prefix in enumerate(("", "k", "m", "g", "t"))
    for base in (1000, 1024)
    for unit, bits in (("bit", 1), ("bps", 8))
    if prefix or base == 1000
}
_TIMES = {
    **{unit: Fraction(1) for unit in ("s", "sec", "secs")},
    **{unit: Fraction(1, 1000) for unit in ("ms", "msec", "msecs")},
    **dict.fromkeys(("us", "usec", "usecs"), MICROSECOND),
}
#: The largest number that tc hands to the kernel as a size, a count or a time in microseconds.
LARGEST = 2**32 - 1


def size(text: str) -> Limit:
    """Bytes: "96000", "64k" or "32Mb"."""
    found = suffixed(text, _SIZES, "a size such as 96000, 64k (of 1024) or 32Mb", Fraction(1))
    if not found <= LARGEST:
        raise Mistake(f"`{text}`", "a size below 4 GiB")
    return Limit(int(found), "bytes")


def packets(text: str) -> Limit:
    """Packets: "64", or "64p" as tc prints them."""
    bare = text[:-1] if text.endswith("p") else text
    return Limit(integer(bare, "a number of packets", most=LARGEST), "packets")


def count(text: str) -> float:
    """A whole number."""
    return float(integer(text, most=LARGEST))


def rate(text: str) -> int:
    """Bits per second: "16mbit", "2mbps" (bytes) or "400Gbit"; tc stores whole bytes per second."""
    found = suffixed(text, _RATES, "a rate such as 16mbit, 2mbps (bytes) or 400gbit", Fraction(1))
    return int(found // 8) * 8


def time(text: str) -> Fraction:
    """Seconds: "5ms", "100us", or microseconds without a unit."""
    return suffixed(text, _TIMES, "a time such as 5ms, 100us or 1s", MICROSECOND)


def probability(text: str) -> float:
    """A share of one: "0.02"."""
    found = float(suffixed(text, {}, "a probability from 0 to 1, as in 0.02", Fraction(1)))
    if not 0 <= found <= 1:
        raise Mistake(f"`{text}`", "a probability from 0 to 1, as in 0.02")
    return found


def rate_word(bits: int) -> str:
    """A rate as tc reads it: "16mbit"."""
    for power, unit in ((12, "tbit"), (9, "gbit"), (6, "mbit"), (3, "kbit")):
        if bits % 10 ** (power - 3) == 0 and bits >= 10**power:
            return f"{bits / 10**power:.3f}".rstrip("0").rstrip(".") + unit
    return f"{bits}bit"


def time_word(seconds: Fraction) -> str:
    """A time of whole microseconds as tc reads it: "5ms"."""
    microseconds = math.ceil(seconds / MICROSECOND)
    if microseconds % 10**6 == 0 and microseconds:
        return f"{microseconds // 10**6}s"
    return f"{microseconds // 1000}ms" if microseconds % 1000 == 0 else f"{microseconds}us"
