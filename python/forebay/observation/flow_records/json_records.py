"""Flow records as JSON objects: nfdump's, GoFlow2's, pmacct's, and any with names of NetFlow v9 or IPFIX."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from forebay.errors import InputError
from forebay.observation.flow_records.names import NAMES, REQUIRED, fields_of, missing, normalized
from forebay.storage.safe_io import clean

if TYPE_CHECKING:
    import polars as pl

    from forebay.observation.flow_records.record_table import Reading

__all__ = ["tables"]

#: Records that become one table.
ROWS = 100_000

_KNOWN = frozenset(name for names in NAMES.values() for name in names)


def tables(found: Iterator[tuple[int, dict[str, Any]]], where: str, reading: Reading) -> Iterator[pl.DataFrame]:
    """The records of a file, in tables of a limited number of rows.

    Parameters
    ----------
    found : iterator
        Objects with the numbers of their lines.
    where : str
        The file, for errors.
    reading : Reading
        The reading of the run.

    Raises
    ------
    InputError
        If an object lacks a required field, or its value is not a number or a date.
    """
    values: dict[str, bool] = {}  # whether a name is one of a field, asked once
    rows: list[dict[str, str]] = []
    numbers: list[int] = []
    for number, each in found:
        row = _row(each, values)
        if not row and _is_metadata(each):
            continue
        rows.append(row)
        numbers.append(number)
        if len(rows) == ROWS:
            yield _table(rows, numbers, where, reading)
            rows, numbers = [], []
    if rows:
        yield _table(rows, numbers, where, reading)


def _row(found: Mapping[str, Any], flags: dict[str, bool]) -> dict[str, str]:
    """The fields of a record in an object, as texts; fields one level deeper, as Logstash writes them, are included."""
    row = {}
    for name, value in found.items():
        if isinstance(value, Mapping):
            row.update(_row({key: each for key, each in value.items() if not isinstance(each, Mapping)}, flags))
            continue
        known = flags.get(name)
        if known is None:
            if len(flags) > 10_000:  # hostile names that would exhaust the memory
                flags.clear()
            known = flags[name] = normalized(name) in _KNOWN
        if known and value is not None and not isinstance(value, list | bool):
            row[name] = value if isinstance(value, str) else _text(value)
    return row


def _text(value: float) -> str:
    try:
        return str(value)
    except ValueError:  # an integer of more digits than Python prints
        return "nan"


def _is_metadata(found: Mapping[str, Any]) -> bool:
    """Collectors write objects about themselves between the records: pmacct's purge events, samplers' options."""
    return "event_type" in found or "type" in found or not found


def _table(rows: list[dict[str, str]], numbers: list[int], where: str, reading: Reading) -> pl.DataFrame:
    import polars as pl

    names = list(dict.fromkeys(name for row in rows for name in row))
    fields = fields_of(names)
    if lacks := missing(fields):
        raise InputError(f"{where}, line {numbers[0]}: found a record without {' and '.join(lacks)}; "
                         f"allowed: names of {REQUIRED}")  # fmt: skip
    raw = pl.DataFrame({name: pl.Series(name, [row.get(name) for row in rows], dtype=pl.String) for name in names})
    typed = reading.typed(raw, fields)
    for column, requested in (
        ("bytes", ("bytes",)),
        ("start_s", ("start", "end", "duration")),
        ("end_s", ("end", "duration", "start")),
    ):
        if typed[column].null_count():
            at = int(typed[column].is_null().arg_max() or 0)
            present = [name for each in requested for name in fields.get(each, ()) if name in rows[at]]
            what = f"{clean(rows[at][present[0]])} as {clean(present[0])}" if present else f"no {requested[0]}"
            raise InputError(f"{where}, line {numbers[at]}: found {what}; allowed: records with {REQUIRED}")
    return typed
