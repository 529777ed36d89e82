"""Decides the size of a port that a device's table lacks: whether the size follows xoff, stays, or is unknown.

`table_answer.py` calls it. Three kinds of tables are published with SONiC (sonic-buildimage 086b03bd, device/):

1. The size includes xoff. On Mellanox without a shared headroom pool, it is xon + xoff (buffer_headroom_mellanox.lua).
2. The size does not include xoff. With a shared headroom pool it is xon (the same plugin). Tables of Broadcom devices
   have a constant minimum of the group.
3. A table of one xoff, or of several sizes beside xoff, does not show a relation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forebay.fabric.lookup_table import LookupTable, TableRow

__all__ = ["SizeEstimate", "size_of_port"]


@dataclass(frozen=True, slots=True)
class SizeEstimate:
    """The reserved memory of a port without a row.

    Attributes
    ----------
    size : int or None
        Bytes; None if the table does not show them.
    reason : str
        Relation to the rows, or the reason why the size is unknown.
    """

    size: int | None
    reason: str


def size_of_port(table: LookupTable, near: Sequence[TableRow], xon: int, xoff: int) -> SizeEstimate:
    """Estimate the size of a port.

    Parameters
    ----------
    table : LookupTable
        The table; all rows decide whether the size includes xoff.
    near : sequence of TableRow
        The rows of the rate, or of the rate beside it.
    xon, xoff : int
        Estimates for the port, in bytes.
    """
    includes = _includes_xoff(table)
    if includes is None:
        return _of_equal_rows(near, xon, xoff)
    if includes:
        return _with_xoff(near, xon, xoff)
    return _without_xoff(near, xon)


def _includes_xoff(table: LookupTable) -> bool | None:
    """Whether the size includes xoff; None if the rows do not show it."""
    rows = [row for row in table.rows if row.xoff > 0]
    if not rows:
        return None
    if all(row.size == row.xon for row in rows) or any(row.size < row.xoff for row in rows):
        return False
    if all(row.size == row.xon + row.xoff for row in rows):
        return True
    sizes, amounts = {row.size for row in rows}, {row.xoff for row in rows}
    if len(amounts) == 1:
        return None
    return len(sizes) > 1


def _with_xoff(near: Sequence[TableRow], xon: int, xoff: int) -> SizeEstimate:
    """The size grows with xoff; of several distances from xon + xoff, the largest reserves enough."""
    size = xon + xoff + max(row.size - row.xon - row.xoff for row in near)
    least = max(xon, xoff)
    if size < least:
        return SizeEstimate(None, f"the relation of the rows gives less than xon or xoff, {least:,} B")
    return SizeEstimate(size, "relation to xon and xoff as in the rows")


def _without_xoff(near: Sequence[TableRow], xon: int) -> SizeEstimate:
    if all(row.size == row.xon for row in near):
        return SizeEstimate(xon, "xon, as in the rows")
    sizes = {row.size for row in near}
    if len(sizes) == 1:
        return SizeEstimate(sizes.pop(), "size of the rows, which does not include xoff")
    return SizeEstimate(None, f"the rows of {_rate(near)} have {len(sizes)} sizes that do not follow xoff")


def _of_equal_rows(near: Sequence[TableRow], xon: int, xoff: int) -> SizeEstimate:
    """The size of a table that does not show a relation: that of a row with the same xon and xoff."""
    sizes = {row.size for row in near if (row.xon, row.xoff) == (xon, xoff)}
    if len(sizes) == 1:
        return SizeEstimate(sizes.pop(), "size of the rows with this xon and xoff")
    return SizeEstimate(None, "the table does not show whether the size includes xoff")


def _rate(near: Sequence[TableRow]) -> str:
    return f"{near[0].rate_mbps / 1000:g} Gb/s"
