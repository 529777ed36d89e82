"""The smallest buffers of the atlas's links, and the table that stores them.

The table is CSV below a line with its checksum: `recommend` reads it each time, also on machines without data frames.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from forebay.storage.files import write_atomically
from forebay.storage.safe_io import DamagedError, content

__all__ = ["CONTROLLERS", "PACKET_BITS", "TABLE", "Row", "read", "write"]

#: Size of every packet of the atlas, in bits; links with other packets are compared by packets.
PACKET_BITS = 12_000
CONTROLLERS = ("newreno", "cubic", "bbr", "bbr3")

#: The table that comes with forebay.
TABLE = Path(__file__).with_name("atlas.csv")

#: Beginning of the first line; the SHA-256 of all that follows the line comes next.
WORD = b"# forebay sha256 "
AGAIN = "make atlas"


@dataclass(frozen=True, slots=True)
class Row:
    """The smallest buffer of one link for one utilization.

    Attributes
    ----------
    rate_bps, rtt_s : float
        Rate of the link, in bits per second, and middle of its flows' round trips, in seconds.
    bdp_packets : float
        Their product, in packets.
    flows : int
        Number of persistent flows.
    controller : str
        Congestion control of all flows.
    background : float
        Share of the rate that unresponsive traffic offers.
    utilization : float
        Utilization that the buffer must reach.
    buffer_packets : int or None
        A buffer that reached it on fresh replications; None if none did, up to 16 bandwidth-delay products.
    low_packets, high_packets : int or None
        Ends of the interval of the smallest buffer (80 % confidence).
    confidence : float or None
        One-sided confidence from the fresh replications; None if they give none.
    replications : int
        Number of all replications.
    data_packets : int
        Number of simulated data packets.
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


#: Reader of each kind of column; an empty field is an unknown number.
READERS: Mapping[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "int | None": lambda text: int(text) if text else None,
    "float | None": lambda text: float(text) if text else None,
}


def read(path: Path = TABLE) -> list[Row]:
    """Read a table.

    Raises
    ------
    DamagedError
        If the file is no such table, or if it was changed.
    """
    seal, _, body = content(path, AGAIN).partition(b"\n")
    if seal != _seal(body):
        raise DamagedError(str(path), "a damaged table", AGAIN)
    head, *rows = csv.reader(io.StringIO(body.decode()))
    if head != [field.name for field in fields(Row)]:
        raise DamagedError(str(path), "a table with other columns", AGAIN)
    readers = [READERS[str(field.type)] for field in fields(Row)]
    return [Row(*(reader(text) for reader, text in zip(readers, row, strict=True))) for row in rows]


def write(found: Iterable[Row], path: Path) -> None:
    """Write the table, sorted so that equal rows make equal files."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(field.name for field in fields(Row))
    table.writerows(astuple(row) for row in sorted(found, key=_place))
    body = text.getvalue().encode()
    write_atomically(path, _seal(body) + b"\n" + body)
    print(f"wrote {path}")


def _place(row: Row) -> tuple[str, float, float, float, float, int]:
    return row.controller, row.background, row.utilization, row.bdp_packets, row.rate_bps, row.flows


def _seal(body: bytes) -> bytes:
    return WORD + hashlib.sha256(body).hexdigest().encode()
