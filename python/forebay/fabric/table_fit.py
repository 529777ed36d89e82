"""Fits a line to a device's table: headroom = intercept + slope × bytes on the cable in both directions.

A device without a published formula has only its table. `table_answer.py` uses the line for rates and cables that the
table lacks. The method is least squares. The largest error is that of the rows themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from forebay.fabric.lookup_table import LookupTable, TableRow
from forebay.fabric.pfc_timing import round_trip

__all__ = ["TableFit", "fit_of_rate", "fit_of_table", "step_of"]


@dataclass(frozen=True, slots=True)
class TableFit:
    """A line through rows of a table.

    Attributes
    ----------
    rate_mbps : int or None
        Rate of the rows in Mb/s; None for all rates together.
    intercept : float
        Headroom without a cable, in bytes.
    slope : float
        Headroom for each byte of the round trip in the cable.
    largest_error : float or None
        Largest distance of a row from the line, in bytes; None if two rows or fewer leave no error to see.
    largest_shortfall : float
        Largest distance of a row above the line, in bytes.
    rows : int
        Number of rows.
    """

    rate_mbps: int | None
    intercept: float
    slope: float
    largest_error: float | None
    largest_shortfall: float
    rows: int

    def at(self, round_trip_bytes: float) -> float:
        """The line at a number of bytes of the round trip."""
        return self.intercept + self.slope * round_trip_bytes


def fit_of_rate(table: LookupTable, rate_mbps: int) -> TableFit | None:
    """The line through the rows of a rate; None if they do not have two lengths of cable."""
    rows = table.at_rate(rate_mbps)
    return _fit(rows, rate_mbps) if len({row.cable_m for row in rows}) > 1 else None


def fit_of_table(table: LookupTable) -> TableFit:
    """The line through all rows. If they have one length of round trip, the slope is one byte for each byte."""
    return _fit(table.rows, None)


def _fit(rows: Sequence[TableRow], rate_mbps: int | None) -> TableFit:
    xs = [round_trip(row.rate_mbps, row.cable_m) for row in rows]
    ys = [float(row.xoff) for row in rows]
    mean_x, mean_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    spread = math.fsum((x - mean_x) ** 2 for x in xs)
    is_line = max(xs) - min(xs) > 1e-9 * max(xs)
    slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread if is_line else 1.0
    intercept = mean_y - slope * mean_x
    errors = [y - (intercept + slope * x) for x, y in zip(xs, ys, strict=True)]
    is_exact = len(rows) <= (2 if is_line else 1)
    largest = None if is_exact else max(map(abs, errors))
    return TableFit(rate_mbps, intercept, slope, largest, max(0.0, 0.0 if is_exact else max(errors)), len(rows))


def step_of(table: LookupTable) -> int:
    """The unit in which the device counts headroom: the greatest common divisor of its values, in bytes.

    If all rows have one xoff, the divisor includes the other columns, because one value says nothing about a unit.
    """
    found = {row.xoff for row in table.rows}
    if len(found) > 1:
        return math.gcd(*found) or 1
    others = chain.from_iterable((row.size, row.xon, row.xon_offset or 0) for row in table.rows)
    return math.gcd(*found, *others) or 1
