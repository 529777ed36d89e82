"""Buffers of questions: a number of bytes or of packets, as the port counts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DEFAULTS", "Size", "size_column"]

Unit = Literal["B", "p"]

#: Defaults of platforms without a configured buffer, each with its source.
DEFAULTS = {
    "ios-xe": "50 ms of 1,500-byte packets at the rate of the port, at least 64 packets (Cisco IOS XE QoS guide)",
    "linux": "1,000 packets (`txqueuelen` of ip-link(8)); fq_codel 10,240 packets (tc-fq_codel(8))",
}
#: Those of Linux by discipline: tc-codel(8), tc-pie(8) and tc-fq_codel(8). Others have no documented number of packets.
LINUX = {"droptail": "1000p", "codel": "1000p", "pie": "1000p", "fq_codel": "10240p"}
#: The default of IOS XE: time in seconds, and packets of 1,500 bytes.
IOS_XE_S, IOS_XE_PACKETS, PACKET = 0.05, 64, 1500


@dataclass(frozen=True, slots=True, order=True)
class Size:
    """A buffer.

    Attributes
    ----------
    number : int
        Number of units, at least 1.
    unit : {"B", "p"}
        Bytes or packets.
    """

    number: int
    unit: Unit

    @classmethod
    def parse(cls, text: str) -> Size:
        """Read a text such as "512p" or "9000000B", as `str` writes it."""
        return cls(int(text[:-1]), "p" if text.endswith("p") else "B")

    def times(self, factor: float) -> Size:
        """The size times a factor, rounded down, at least 1."""
        return Size(max(1, int(self.number * factor)), self.unit)

    def __str__(self) -> str:
        return f"{self.number}{self.unit}"


def size_column() -> pl.Expr:
    """The buffer of each port as the text of a `Size`; null where neither the port nor its platform has one.

    A text in packets stays a limit in packets, except on IOS XR, whose packets have 256 bytes. Every other buffer is a
    limit in bytes.
    """
    import polars as pl

    packets = pl.col("buffer").str.extract(r"(?i)^\s*(\d+)\s*(?:p|pkts?|packets?)\s*$", 1)
    stated = pl.col("buffer_bytes")
    platform = pl.col("platform").str.to_lowercase()
    of_time = (pl.col("rate_bps") * (IOS_XE_S / 8)).cast(pl.Int64)
    ios_xe = pl.max_horizontal(of_time, pl.lit(IOS_XE_PACKETS * PACKET))
    return (
        pl.when((packets.cast(pl.Int64, strict=False) > 0) & platform.ne_missing("ios-xr"))
        .then(packets + "p")
        .when(stated > 0)
        .then(stated.cast(pl.String) + "B")
        .when(stated.is_null() & pl.col("buffer").is_null() & platform.eq("ios-xe"))
        .then(ios_xe.cast(pl.String) + "B")
        .when(stated.is_null() & pl.col("buffer").is_null() & platform.eq("linux"))
        .then(pl.col("queue").fill_null("droptail").replace_strict(LINUX, default=None, return_dtype=pl.String))
        .otherwise(None)
    )
