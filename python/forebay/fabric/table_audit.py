"""Audits a device's headroom table: what in it is implausible, and in which rows.

`forebay headroom --table` prints the findings. A reader of whole configurations may call `audit_table` as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from forebay.fabric.lookup_table import LookupTable, TableRow
from forebay.fabric.pfc_timing import LosslessPort, physical_minimum, round_trip
from forebay.fabric.table_fit import step_of
from forebay.text.length import length_text

__all__ = ["TableFinding", "audit_table"]

#: Largest and smallest `dynamic_th` of SONiC's YANG model (sonic-buffer-profile).
THRESHOLDS = (-8, 7)


@dataclass(frozen=True, slots=True)
class TableFinding:
    """Something implausible in a table.

    Attributes
    ----------
    kind : str
        "flat-cable", "flat-rate", "not-monotone-cable", "not-monotone-rate", "below-minimum", "threshold", "replaced".
    text : str
        A sentence for a reader.
    lines : tuple of int
        Lines of the file that it is about; empty for the whole table.
    is_too_small : bool
        Whether rows may lose frames because of it.
    """

    kind: str
    text: str
    lines: tuple[int, ...] = ()
    is_too_small: bool = False


def audit_table(table: LookupTable, mtu: int = 9100, lossless_mtu: int = 1024) -> tuple[TableFinding, ...]:
    """List what is implausible in a table.

    Parameters
    ----------
    table : LookupTable
        The table.
    mtu, lossless_mtu : int
        Largest frame of the port and of the lossless class, in bytes. Both are part of the physical minimum.

    Returns
    -------
    tuple of TableFinding
        Findings on the whole table first, then on rows.
    """
    step = step_of(table)
    by_cable = _groups(table, lambda row: row.rate_mbps, lambda row: row.cable_m)
    by_rate = _groups(table, lambda row: row.cable_m, lambda row: row.rate_mbps)
    return (
        *_flat(by_cable, "flat-cable", "length of cable", "rate", step),
        *_flat(by_rate, "flat-rate", "rate", "length of cable", step),
        *_falling(by_cable, "not-monotone-cable", "a longer cable"),
        *_falling(by_rate, "not-monotone-rate", "a higher rate"),
        *_below_minimum(table, mtu, lossless_mtu),
        *_thresholds(table),
        *_replaced(table),
    )


def _groups(
    table: LookupTable, key: Callable[[TableRow], float], order: Callable[[TableRow], float]
) -> list[list[TableRow]]:
    """The rows with one key, in rising order of another; only groups of at least two."""
    rows = sorted(table.rows, key=lambda row: (key(row), order(row)))
    groups = (list(each) for _, each in groupby(rows, key))
    return [group for group in groups if len(group) > 1]


def _flat(
    groups: Sequence[Sequence[TableRow]], kind: str, varied: str, fixed: str, step: int
) -> Iterator[TableFinding]:
    """Groups with one xoff, although the bytes on the cable differ by more than the unit of the device."""
    found = [group for group in groups if len({row.xoff for row in group}) == 1 and _spread(group) > step]
    if found and len(found) == len(groups):
        text = f"xoff is the same for every {varied}, at every {fixed}."
        yield TableFinding(kind, text)
        return
    for group in found:
        text = f"xoff is {group[0].xoff:,} B for every {varied} from {_place(group[0])} to {_place(group[-1])}."
        yield TableFinding(kind, text, tuple(row.line for row in group))


def _spread(group: Sequence[TableRow]) -> float:
    """The difference of the bytes on the cable between the last and the first row."""
    first, last = group[0], group[-1]
    return round_trip(last.rate_mbps, last.cable_m) - round_trip(first.rate_mbps, first.cable_m)


def _falling(groups: Sequence[Sequence[TableRow]], kind: str, change: str) -> Iterator[TableFinding]:
    for group in groups:
        for before, after in pairwise(group):
            if after.xoff < before.xoff:
                text = (
                    f"xoff falls from {before.xoff:,} to {after.xoff:,} B with {change} "
                    f"({_place(before)} to {_place(after)})."
                )
                yield TableFinding(kind, text, (before.line, after.line))


def _below_minimum(table: LookupTable, mtu: int, lossless_mtu: int) -> Iterator[TableFinding]:
    for row in table.rows:
        least = physical_minimum(LosslessPort(row.rate_mbps, row.cable_m, mtu, lossless_mtu))
        if row.xoff < least:
            text = (
                f"xoff of {_place(row)} is {row.xoff:,} B. The cable in both directions and frames of {mtu:,} and "
                f"{lossless_mtu:,} B need {least:,} B."
            )
            yield TableFinding("below-minimum", text, (row.line,), is_too_small=True)


def _thresholds(table: LookupTable) -> Iterator[TableFinding]:
    least, most = THRESHOLDS
    rows = [row for row in table.rows if not least <= row.threshold <= most]
    if rows:
        text = f"The threshold {rows[0].threshold} of {_place(rows[0])} is not between {least} and {most}."
        yield TableFinding("threshold", text, tuple(row.line for row in rows))


def _replaced(table: LookupTable) -> Iterator[TableFinding]:
    for row in table.replaced:
        yield TableFinding("replaced", f"A later row replaces {_place(row)}.", (row.line,))


def _place(row: TableRow) -> str:
    return f"{row.rate_mbps / 1000:g} Gb/s and {length_text(row.cable_m)}, line {row.line}"
