"""Counters in tables: a row an instant and a column a counter, or a row a reading."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from forebay.errors import InputError
from forebay.observation.counter_files.names import index_of, quantity_of
from forebay.observation.counter_files.readings import Readings
from forebay.observation.line_reader import split_cells
from forebay.observation.timestamps import parse_timestamp
from forebay.storage.safe_io import clean

__all__ = ["number_of", "read_table"]

TIMES = ("time", "timestamp", "ts", "date", "datetime", "@timestamp", "_time", "when", "time (s)", "time_s", "seconds")
PORTS = ("interface", "interface_name", "ifname", "ifdescr", "device", "port", "if", "ifindex", "queue")
COUNTERS = ("name", "metric", "counter", "oid", "series", "field", "_field", "object")
VALUES = ("value", "_value", "val")
#: Most columns that a message names.
MOST_NAMED = 5
NOTHING = frozenset(("", "-", "null", "none", "n/a", "nosuchinstance", "undefined"))


@dataclass(frozen=True, slots=True)
class _Columns:
    names: list[str]
    time: int
    ports: list[int]
    counter: int | None
    value: int | None
    counters: list[int]


def read_table(text: str, where: str) -> Readings:
    """Read a table.

    Raises
    ------
    InputError
        Where its header has no time or no counter, or a cell is neither a number nor empty.
    """
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if first is None:
        raise InputError(f"{where}: found only white space; allowed: a header, then a row for each poll")
    columns, separator = _header(lines[first], f"{where}, line {first + 1}")
    readings = Readings()
    last = len(lines) - 1
    for at in range(first + 1, len(lines)):
        line = lines[at].strip("\r")
        if not line.strip() or line.startswith("#") or line == lines[first].strip("\r"):
            continue
        cells = split_cells(line, separator)
        try:
            _row(cells, columns, readings, f"{where}, line {at + 1}")
        except InputError:
            if at == last:  # it has no end: the file may have been cut there
                break
            raise
    return readings


def _header(line: str, place: str) -> tuple[_Columns, str]:
    unknown: list[str] = []
    for separator in ",;\t|":
        names = [each.strip() for each in split_cells(line.strip("\r\ufeff"), separator)]
        low = [each.lower() for each in names]
        time = next((low.index(each) for each in TIMES if each in low), None)
        if time is None:
            continue
        counters = [at for at, name in enumerate(names) if at != time and quantity_of(name) is not None]
        ports = [low.index(each) for each in PORTS if each in low and low.index(each) not in counters]
        counter = next((low.index(each) for each in COUNTERS if each in low), None)
        value = next((low.index(each) for each in VALUES if each in low), None)
        if counters or (counter is not None and value is not None):
            return _Columns(names, time, ports, counter, value, counters), separator
        unknown = unknown or [name for at, name in enumerate(names) if at != time and at not in ports]
    if unknown:
        raise InputError(f"{place}: found no column whose name tells a counter or a rate, but "
                         f"{', '.join(map(clean, unknown[:MOST_NAMED]))}; allowed: names such as `bytes`, `out bps`, "
                         "`drops`, ifHCOutOctets")  # fmt: skip
    raise InputError(f"{place}: found a header without a time and a counter; allowed: a column `time`, and such as "
                     "`bytes`, `packets`, `drops`, `watermark`, or ifHCOutOctets, out-octets")  # fmt: skip


def _row(cells: Sequence[str], columns: _Columns, readings: Readings, place: str) -> None:
    cells = [*cells, *[""] * (len(columns.names) - len(cells))]
    when = parse_timestamp(cells[columns.time])
    if when is None:
        raise InputError(f"{place}: found the time {clean(cells[columns.time])}; "
                         "allowed: seconds, or a date such as 2026-11-23 16:00:00")  # fmt: skip
    port = " ".join(cells[at].strip() for at in columns.ports)
    for at in columns.counters:
        there = f"{place}, column {at + 1}"
        value = number_of(cells[at], columns.names[at], there)
        if value is not None:
            readings.add(_port(port, columns.names[at]), columns.names[at], when, value, there)
    if not columns.counters and columns.counter is not None and columns.value is not None:
        name = cells[columns.counter].strip()
        there = f"{place}, column {columns.value + 1}"
        if quantity_of(name) is None:
            readings.ignored += 1
            return
        value = number_of(cells[columns.value], name, there)
        if value is not None:
            readings.add(_port(port, name), name, when, value, there)


def _port(port: str, name: str) -> str:
    """The port of a row, else the one that the counter's name says."""
    if port:
        return port
    _, _, labels = name.partition("{")
    for each in labels.rstrip("}").split(","):
        label, _, value = each.partition("=")
        if label.strip() in ("device", "ifName", "ifDescr", "interface"):
            return value.strip().strip('"')
    return index_of(name) or ""


def number_of(text: str, name: str, place: str) -> float | None:
    """A reading; None where there is none.

    Raises
    ------
    InputError
        Where it is no number.
    """
    text = text.strip().strip('"')
    if text.lower() in NOTHING:
        return None
    try:
        value = int(text) if text.isdigit() and len(text) < 21 else float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"{place}: found {clean(text)} for {clean(name)}; allowed: a number from 0 on, or nothing")
    return value
