"""Rates, sizes and times of inventories as columns of numbers; a number without a unit is refused, never guessed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["bits_per_second", "buffer_bytes", "seconds", "share", "whole"]

_NUMBER = r"([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,2})?)"
#: Networks write 10G, 10GE, 10 Gb/s and 10Gbps; a capital B would be bytes and is refused.
_RATE = rf"^{_NUMBER} ?(?i:([kmgt]?))(?:(?-i:bps|b/s|bit/s|bits/s|bit|Bit/s|E)|)$"
_RATES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_BYTES = {"B": 1, "byte": 1, "bytes": 1, "Byte": 1, "Bytes": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9,
          "TB": 1e12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}  # fmt: skip
_TIMES = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "microsecond": 1e-6, "microseconds": 1e-6, "ms": 1e-3,
          "millisecond": 1e-3, "milliseconds": 1e-3, "s": 1.0, "second": 1.0, "seconds": 1.0}  # fmt: skip
_LONG = {**_TIMES, "min": 60.0, "minutes": 60.0, "h": 3600.0, "hours": 3600.0, "d": 86400.0, "days": 86400.0}
_PACKETS = ("p", "pkt", "pkts", "packet", "packets")
_SIZE = rf"^{_NUMBER} ?({'|'.join(map(re.escape, (*_BYTES, *_TIMES, *_PACKETS)))})$"


def _number(text: pl.Expr, pattern: str, group: int = 1) -> pl.Expr:
    import polars as pl

    return text.str.extract(pattern, group).cast(pl.Float64, strict=False)


def _factor(text: pl.Expr, pattern: str, factors: dict[str, float]) -> pl.Expr:
    import polars as pl

    return text.str.extract(pattern, 2).replace_strict(factors, default=None, return_dtype=pl.Float64)


def bits_per_second(text: pl.Expr) -> pl.Expr:
    """A rate in bits per second; null where the text has no unit or is no rate."""
    import polars as pl

    prefixes = {**_RATES, **{name.upper(): factor for name, factor in _RATES.items()}}
    found = _number(text, _RATE) * _factor(text, _RATE, prefixes)
    bare = text.str.contains(r"^[0-9.eE+-]*$")
    return pl.when(~bare).then(found)


def buffer_bytes(text: pl.Expr, rate: pl.Expr, packet: pl.Expr) -> pl.Expr:
    """A buffer in bytes: a size, packets of `packet` bytes, or a time at `rate`; null for any other text."""
    import polars as pl

    number, unit = _number(text, _SIZE), text.str.extract(_SIZE, 2)
    size = number * _factor(text, _SIZE, {name: float(factor) for name, factor in _BYTES.items()})
    time = number * _factor(text, _SIZE, _TIMES) * rate / 8
    return pl.when(unit.is_in(_PACKETS)).then(number * packet).otherwise(pl.coalesce(size, time))


def seconds(text: pl.Expr) -> pl.Expr:
    """A time in seconds; null without a unit."""
    pattern = rf"^{_NUMBER} ?({'|'.join(map(re.escape, _LONG))})$"
    return _number(text, pattern) * _factor(text, pattern, _LONG)


def share(text: pl.Expr) -> pl.Expr:
    """A share: 0.57 or 57%."""
    import polars as pl

    percent = rf"^{_NUMBER} ?%$"
    return pl.coalesce(_number(text, percent) / 100, _number(text, rf"^{_NUMBER}$"))


def whole(text: pl.Expr, unit: str = "") -> pl.Expr:
    """A whole number, with commas of thousands neither needed nor allowed; a unit may follow."""
    import polars as pl

    return text.str.extract(rf"^([0-9]{{1,18}})(?:\.0+)?{unit}$", 1).cast(pl.Int64, strict=False)
