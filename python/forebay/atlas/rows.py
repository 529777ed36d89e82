"""What the atlas says of each link, and the table that keeps it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from forebay.files import whole
from forebay.tables import read_table, write_table

__all__ = ["CONTROLLERS", "PACKET_BITS", "TABLE", "Row", "read", "write"]

#: Of all packets; links of others are compared by packets.
PACKET_BITS = 12_000
CONTROLLERS = ("newreno", "cubic", "bbr", "bbr3")

#: The table that comes with forebay.
TABLE = Path(__file__).with_name("atlas.parquet")


@dataclass(frozen=True, slots=True)
class Row:
    """The smallest buffer of one link for one utilization.

    Attributes
    ----------
    rate_bps, rtt_s : float
        Of the link, and the middle of its flows' round trips.
    bdp_packets : float
        Their product.
    flows : int
        How many persistent ones.
    controller : str
        Of all of them.
    background : float
        Share of the rate that unresponsive traffic offers.
    utilization : float
        That the buffer is for.
    buffer_packets : int or None
        One that reached it on fresh replications; None where none did, up to 16 bandwidth-delay products.
    low_packets, high_packets : int or None
        Between which the smallest lies (80 % confidence).
    confidence : float or None
        One-sided, of the fresh replications; None where they carry none.
    replications : int
        In all.
    data_packets : int
        Simulated.
    """

    rate_bps: float
    rtt_s: float
    bdp_packets: float
    flows: int
    controller: str
    background: float
    utilization: float
    buffer_packets: int | None
    low_packets: int | None
    high_packets: int | None
    confidence: float | None
    replications: int
    data_packets: int


def read(path: Path = TABLE) -> list[Row]:
    """Read a table.

    Raises
    ------
    DamagedError
        Where it is none, or another one than was written.
    """
    table = read_table(path, "make atlas")
    return [Row(**row) for row in table.select(field.name for field in fields(Row)).iter_rows(named=True)]


def write(found: Iterable[Row], path: Path) -> None:
    """Write the table, in the order of its columns."""
    import polars as pl

    table = pl.DataFrame([asdict(row) for row in found], infer_schema_length=None)
    ordered = table.sort("controller", "background", "utilization", "bdp_packets", "rate_bps", "flows")
    with whole(path) as partial:
        write_table(ordered, partial)
    print(f"wrote {path}")
