"""Answers from a device's table: the row of a rate and a cable, or an estimate where the table has no such row.

An interpolation is no answer of the device. The estimate is the line of `table_fit.py`, raised by its largest shortfall
and rounded up to the unit of the device, and the text says what it extends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from forebay.fabric.headroom_sum import HeadroomSum, SumBuilder, Term
from forebay.fabric.lookup_table import LookupTable, TableRow
from forebay.fabric.pfc_timing import LosslessPort, physical_minimum, round_trip
from forebay.fabric.table_audit import TableFinding, audit_table
from forebay.fabric.table_fit import TableFit, fit_of_rate, fit_of_table, step_of
from forebay.fabric.table_size import size_of_port
from forebay.text.length import length_text

__all__ = ["TableAnswer", "table_headroom"]


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """The row or the line of a table for a port, with the findings on the table.

    Attributes
    ----------
    file : str
        Name of the file.
    row : TableRow or None
        The row of the rate and the cable; None if the table has none.
    fit : TableFit or None
        The line of the estimate; None if there is a row.
    fits : tuple of TableFit
        The line of each rate that has two lengths of cable, and last the line of all rows.
    step : int
        Unit of the values, in bytes.
    extrapolated : tuple of str
        What the estimate assumes; empty if there is a row.
    findings : tuple of TableFinding
        What is implausible in the table.
    broken : tuple of str
        Rows that cannot be used.
    size_unknown : str or None
        The reason why the size of the estimate is unknown; None if there is a size.
    """

    file: str
    row: TableRow | None
    fit: TableFit | None
    fits: tuple[TableFit, ...]
    step: int
    extrapolated: tuple[str, ...]
    findings: tuple[TableFinding, ...]
    broken: tuple[str, ...]
    size_unknown: str | None = None


def table_headroom(table: LookupTable, port: LosslessPort, step: int | None = None) -> tuple[HeadroomSum, TableAnswer]:
    """Answer for a port from a table.

    Parameters
    ----------
    table : LookupTable
        The table.
    port : LosslessPort
        Rate, cable and frames.
    step : int, optional
        Unit of the device in bytes; by default the greatest common divisor of the values of the table.
    """
    step = step or step_of(table)
    fits = [fit for rate in table.rates if (fit := fit_of_rate(table, rate)) is not None]
    overall = fit_of_table(table)
    row = table.row(port.rate_mbps, port.cable_m)
    fit = None if row else next((each for each in fits if each.rate_mbps == port.rate_mbps), overall)
    found, unknown = (_of_row(row, table.name), None) if row else _estimate(table, port, fit or overall, step)
    answer = TableAnswer(
        table.name,
        row,
        fit,
        (*fits, overall),
        step,
        () if fit is None else _extrapolated(table, port, fit),
        audit_table(table, port.mtu, port.lossless_mtu),
        table.broken,
        unknown,
    )
    return found, answer


def _of_row(row: TableRow, name: str) -> HeadroomSum:
    """The values of a row; the difference of its size is memory that is reserved elsewhere, such as in a pool."""
    builder, place = SumBuilder(), f"{name}:{row.line}"
    builder.add("xoff", [Term("row of the table", float(row.xoff), "column xoff", place)], row.xoff, "", place)
    builder.add("xon", [Term("row of the table", float(row.xon), "column xon", place)], row.xon, "", place)
    _close(builder, row.size - row.xoff - row.xon, "column size", place)
    return builder.result(row.xoff, row.xon, row.size)


def _close(builder: SumBuilder, rest: int, relation: str, place: str) -> None:
    """Add the difference between the size and the sum of xon and xoff."""
    if rest < 0:
        formula = f"{relation}; other memory holds {-rest:,} B of xon and xoff"
        builder.add("size", [Term("held outside of the reserved size", float(rest), formula, place)], rest, "", place)
    elif rest:
        builder.add("size", [Term("reserved beside xon and xoff", float(rest), relation, place)], rest, "", place)


def _estimate(table: LookupTable, port: LosslessPort, fit: TableFit, step: int) -> tuple[HeadroomSum, str | None]:
    """The estimate for a port, and the reason if its size is unknown."""
    builder = SumBuilder()
    terms, xoff = _estimated_xoff(table, port, fit, step)
    builder.add("xoff", terms, xoff, f"{step} B", table.name)
    near = _neighbors(table, port.rate_mbps)
    xon = max(row.xon for row in near)
    formula = f"largest xon at {near[0].rate_mbps / 1000:g} Gb/s"
    builder.add("xon", [Term("rows of the table", float(xon), formula, table.name)], xon, "", table.name)
    found = size_of_port(table, near, xon, xoff)
    if found.size is None:
        return builder.result(xoff, xon, None), found.reason
    _close(builder, found.size - xoff - xon, found.reason, table.name)
    return builder.result(xoff, xon, found.size), None


def _estimated_xoff(table: LookupTable, port: LosslessPort, fit: TableFit, step: int) -> tuple[list[Term], int]:
    """An xoff that is not below any row of a lower rate and a shorter cable, nor below the physical minimum."""
    cable = round_trip(port.rate_mbps, port.cable_m)
    terms = [
        Term("intercept of the fit", fit.intercept, f"{fit.rows} rows by least squares", table.name),
        Term("cable, both directions", fit.slope * cable, f"{fit.slope:.4g} × {cable:,.0f} B", table.name),
    ]
    if fit.largest_shortfall > 0:
        formula = "largest distance of a row above the line"
        terms.append(Term("error of the fit", fit.largest_shortfall, formula, table.name))
    total = sum(term.amount for term in terms)
    floor, reason = _floor(table, port)
    if floor > total:
        terms.append(Term("raise", floor - total, reason, table.name))
        total = float(floor)
    # The line is computed in floating point: a billionth of a byte above a multiple of the step is that multiple.
    return terms, math.ceil(total / step - 1e-9) * step


def _floor(table: LookupTable, port: LosslessPort) -> tuple[int, str]:
    """The least plausible headroom, and its reason."""
    smaller = [row for row in table.rows if row.rate_mbps <= port.rate_mbps and row.cable_m <= port.cable_m]
    largest = max(smaller, key=lambda row: row.xoff, default=None)
    least = physical_minimum(port)
    if largest is not None and largest.xoff >= least:
        return largest.xoff, f"xoff of line {largest.line}, a lower rate or a shorter cable"
    return least, "cable in both directions and two frames"


def _neighbors(table: LookupTable, rate_mbps: int) -> list[TableRow]:
    """The rows of the rate, or of the next higher rate, or of the highest."""
    rates = table.rates
    return table.at_rate(next((rate for rate in rates if rate >= rate_mbps), rates[-1]))


def _extrapolated(table: LookupTable, port: LosslessPort, fit: TableFit) -> tuple[str, ...]:
    """Sentences on how far the estimate for a port extends beyond the rows."""
    rate, found = f"{port.rate_mbps / 1000:g} Gb/s", []
    rows = table.at_rate(port.rate_mbps)
    if not rows:
        known = ", ".join(f"{each / 1000:g}" for each in table.rates)
        found.append(f"The table has no row for {rate} (it has {known} Gb/s).")
    else:
        known = ", ".join(length_text(row.cable_m).removesuffix(" m") for row in rows)
        found.append(f"At {rate} the table has no row for {length_text(port.cable_m)} (it has {known} m).")
    if fit.rate_mbps is None:
        found.append("The line is that of all rates together.")
    lengths = [row.cable_m for row in rows or table.rows]
    if not min(lengths) <= port.cable_m <= max(lengths):
        found.append(f"The cable is outside of the table's {length_text(min(lengths))} to {length_text(max(lengths))}.")
    if not table.rates[0] <= port.rate_mbps <= table.rates[-1]:
        found.append("The rate is outside of the table's rates.")
    if fit.largest_error is None:
        found.append(f"The line has {fit.rows} row{'s' if fit.rows > 1 else ''}, so its error is not known.")
    return tuple(found)
