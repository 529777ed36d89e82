"""Records of connections with both directions in one: each becomes two, and one direction is that of the link.

Monitors such as Zeek and Suricata write a record for a connection. A link carries one of its directions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from forebay.observation.flow_records.record_table import Reading

__all__ = ["BACKWARD", "FORWARD", "Connection", "two_way"]

#: Numbers of the directions in the column `output`: from who begins a connection, or from local hosts, and back.
FORWARD, BACKWARD = 1, 2
#: Connections that become one table.
ROWS = 50_000


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection as a monitor has seen it; bytes and packets of both directions.

    Attributes
    ----------
    start_s, end_s : float
        In seconds since 1970.
    outward : bool or None
        Whether the forward direction leaves the monitored network; None where that is not known.
    """

    start_s: float
    end_s: float
    forward_bytes: float
    backward_bytes: float
    forward_packets: float
    backward_packets: float
    protocol: str
    flags: int
    source: str
    target: str
    source_port: int
    target_port: int
    outward: bool | None = None


def two_way(connections: Iterator[Connection], reading: Reading) -> Iterator[pl.DataFrame]:
    """Typed tables of records, two for a connection, with the direction in the column `output`."""
    rows: list[dict[str, object]] = []
    for each in connections:
        reading.two_way = True
        forward, backward = (BACKWARD, FORWARD) if each.outward is False else (FORWARD, BACKWARD)
        for direction, size, packets, ends in (
            (forward, each.forward_bytes, each.forward_packets, (each.source, each.target)),
            (backward, each.backward_bytes, each.backward_packets, (each.target, each.source)),
        ):
            if size > 0:
                rows.append(_row(each, direction, size, packets, ends))
        if len(rows) >= ROWS:
            yield _table(rows, reading)
            rows = []
    if rows:
        yield _table(rows, reading)


def _row(each: Connection, direction: int, size: float, packets: float, ends: tuple[str, str]) -> dict[str, object]:
    ports = (each.source_port, each.target_port)
    if ends[0] != each.source:
        ports = (ports[1], ports[0])
    return {
        "start_s": each.start_s, "end_s": max(each.start_s, each.end_s), "bytes": round(size),
        "packets": round(packets) or None, "protocol": each.protocol, "tcp_flags": each.flags,
        "source_port": ports[0] & 0xFFFF, "target_port": ports[1] & 0xFFFF, "input": None, "output": direction,
        "sampling": 1, "source": ends[0], "target": ends[1],
    }  # fmt: skip


def _table(rows: list[dict[str, object]], reading: Reading) -> pl.DataFrame:
    import polars as pl

    from forebay.observation.flow_records.record_table import PROTOCOLS

    for row in rows:
        name = str(row["protocol"]).lower()
        row["protocol"] = int(name) if name.isdecimal() and int(name) < 256 else PROTOCOLS.get(name)
    kinds = {
        "start_s": pl.Float64(), "end_s": pl.Float64(), "bytes": pl.Int64(), "packets": pl.Int64(),
        "protocol": pl.UInt8(), "tcp_flags": pl.UInt8(), "source_port": pl.UInt16(), "target_port": pl.UInt16(),
        "input": pl.UInt32(), "output": pl.UInt32(), "sampling": pl.UInt32(), "source": pl.String(),
        "target": pl.String(),
    }  # fmt: skip
    return reading.finished(pl.DataFrame(rows, schema=kinds))
