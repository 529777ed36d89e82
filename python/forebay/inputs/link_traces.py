"""Rates and delays of links from a file beside the scenario: a table over time, or a trace of Mahimahi's.

The engines read no files. The content of a file replaces its name, as steps or opportunities, before the scenario is
read. It is therefore part of the resolved scenario, of its SHA-256 and of every bundle.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.inputs.scenario_text import line_of, tables_of
from forebay.storage.safe_io import content

__all__ = ["MOST_BYTES", "MOST_ROWS", "changes_of_files", "opportunities_of", "steps_of"]

#: Largest size of a file, in bytes, and largest number of its times and rates.
MOST_BYTES, MOST_ROWS = 16 << 20, 100_000

TRACE = "a millisecond in each line"
TIMES = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3}
RATES = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "mbps": 10**6, "gbps": 10**9}

#: Keys that a file may give: the key that replaces the name of the file, and the keys that may lie beside that name.
KINDS: Mapping[str, Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "rate": {"file": ("steps", ("repeat",)), "mahimahi": ("opportunities", ("as",))},
    "delay": {"file": ("steps", ("repeat", "in_order"))},
}


@dataclass(frozen=True, slots=True)
class _Column:
    """The second column of a table: its units, the largest value in the smallest unit, and its words in errors."""

    units: Mapping[str, int]
    most: float
    unit: str
    allowed: str
    head: str


COLUMNS = {
    "rate": _Column(RATES, 1e14, "bps", "a rate from 0 to 100 Tb/s", "time_s,rate_Mbps"),
    "delay": _Column(TIMES, 1e15, "ps", "a delay from 0 to 1000 s", "time_s,delay_ms"),
}


def _allowed(field: str) -> str:
    return f'a table of times and {field}s under a line such as "{COLUMNS[field].head}"'


def changes_of_files(text: str, kind: str, folder: Path | None, name: str) -> Iterator[_core.Change]:
    """Changes that replace the names of files by their content, in each link's `rate` and `delay`.

    Parameters
    ----------
    text : str
        The scenario; a text that cannot be parsed is left to its next reader.
    kind : {"toml", "json"}
    folder : Path or None
        Folder to which names of files are relative; None if the scenario is no file.
    name : str
        Name of the scenario in errors.

    Raises
    ------
    InputError
        If there is no such file, or if it is no such table.
    """
    if not any(kind in text for kind in ("file", "mahimahi")):
        return
    for key, table in _link_columns(tables_of(text, kind)):
        for given in KINDS[key.rpartition(".")[2]]:
            if isinstance(table, dict) and isinstance(table.get(given), str):
                place = f"{name}:{line_of(text, table[given])}"
                yield place, f"{key}={_read(key, table, given, f'{place}: {key}.{given}', folder)}"


def _read(key: str, table: dict[str, Any], given: str, place: str, folder: Path | None) -> str:
    """The value that replaces the name of a file, for a rate or a delay."""
    field = key.rpartition(".")[2]
    instead, beside = KINDS[field][given]
    if folder is None:
        raise InputError(f"{place}: found `{table[given]}` in a scenario that is no file; allowed: `{instead}`")
    more = [other for other in table if other != given and other not in beside]
    if more:
        raise InputError(f"{place}: cannot be combined with `{more[0]}`; allowed with it: {' and '.join(beside)}")
    path = folder / table[given]
    read = opportunities_of(path, place) if given == "mahimahi" else steps_of(path, place, field)
    also = "".join(f", {other} = {json.dumps(table[other])}" for other in beside if other in table)
    return f"{{ {instead} = {json.dumps(read)}{also} }}"


def _link_columns(tables: Any) -> Iterator[tuple[str, Any]]:
    """The rate and the delay of each link, by their keys."""
    if not isinstance(tables, Mapping):
        return
    link, links = tables.get("link"), tables.get("links")
    each = [("link", link)] + [(f"links.{number}", link) for number, link in enumerate(_list(links))]
    for key, table in each:
        if isinstance(table, Mapping):
            yield from ((f"{key}.{field}", table.get(field)) for field in KINDS)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def steps_of(path: Path, place: str, field: str = "rate") -> list[tuple[str, str]]:
    """The steps of a file: times since its first row, each with the rate or delay that begins.

    Parameters
    ----------
    path : Path
        Path of a table with a time and a rate (or a delay) in each row, and their units in its head:
        "time_ms,rate_Mbps".
    place : str
        Place where the file is named, for errors.
    field : {"rate", "delay"}

    Raises
    ------
    InputError
        If it is no such table; the text gives the line and what is wrong with it.
    """
    column, allowed = COLUMNS[field], _allowed(field)
    rows = _rows(_text(path, place, allowed), f"{place}: {path.name}", allowed)
    head = next(rows, [])
    units = _units(head, field)
    if units is None:
        raise InputError(f"{place}: {path.name}:1: found `{','.join(head)[:60]}`; allowed: {allowed}")
    found: list[tuple[int, int]] = []
    begin, last = 0, -1
    for number, row in enumerate(rows, 2):
        where = f"{place}: {path.name}:{number}"
        if not row:
            continue
        if len(found) >= MOST_ROWS:
            raise InputError(f"{where}: found more than {MOST_ROWS} changes of the {field}; allowed: fewer")
        time, value = _numbers(row, units, column, where)
        if not found:
            begin = time
        elif time - begin <= last:
            raise InputError(f"{where}: found `{row[0]}`; allowed: a time later than that of the row before")
        last = time - begin
        if not found or value != found[-1][1]:
            found.append((last, value))
    if not found:
        raise InputError(f"{place}: {path.name}: found no row; allowed: {allowed}")
    if field == "rate" and not any(rate for _, rate in found):
        raise InputError(f"{place}: {path.name}: found no rate above 0; allowed: at least one")
    return [(f"{time}ps", f"{value}{column.unit}") for time, value in found]


def opportunities_of(path: Path, place: str) -> str:
    """The milliseconds of a trace of Mahimahi's, one in each line of the file; the engines check them further.

    Parameters
    ----------
    path : Path
    place : str
        Place where the file is named, for errors.

    Raises
    ------
    InputError
        If it is no such trace; the text gives the line and what is wrong with it.
    """
    lines = _text(path, place, TRACE).splitlines()
    before = 0
    for number, line in enumerate(lines, 1):
        where = f"{place}: {path.name}:{number}"
        # Milliseconds are digits of ASCII and no more, as a program in C++ reads them.
        if not (line.isascii() and line.isdigit() and int(line[:11]) < 1 << 32):
            raise InputError(f"{where}: found `{line[:60]}`; allowed: whole milliseconds, from 0 to {(1 << 32) - 1}")
        if int(line) < before:
            raise InputError(f"{where}: found `{line}`; allowed: {before} at least, that of the line before")
        before = int(line)
    if not lines:
        raise InputError(f"{place}: {path.name}: found no line; allowed: {TRACE}")
    if before == 0:
        raise InputError(f"{place}: {path.name}: found `0` as the last millisecond; allowed: one above 0")
    return " ".join(lines)


def _text(path: Path, place: str, allowed: str) -> str:
    try:
        return content(path, allowed, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{place}: {path.name}: found bytes that are no text; allowed: {allowed}") from None
    except (InputError, OSError, ValueError) as error:
        raise InputError(f"{place}: {error}") from None


def _rows(text: str, where: str, allowed: str) -> Iterator[list[str]]:
    rows = csv.reader(text.splitlines())
    try:
        yield from rows
    except csv.Error as error:
        raise InputError(f"{where}:{rows.line_num}: found what is no row ({error}); allowed: {allowed}") from None


def _units(head: list[str], field: str) -> tuple[int, int] | None:
    """The units of the head's columns: in picoseconds, and in bits per second or picoseconds."""
    if len(head) != 2:
        return None
    (time, _, of_time), (name, _, unit) = (title.strip().partition("_") for title in head)
    units = COLUMNS[field].units
    if field == "delay":
        unit = unit.lower()
    if (time.lower(), name.lower()) != ("time", field) or of_time.lower() not in TIMES or unit not in units:
        return None
    return TIMES[of_time.lower()], units[unit]


def _numbers(row: list[str], units: tuple[int, int], column: _Column, where: str) -> tuple[int, int]:
    """Picoseconds, and bits per second or picoseconds."""
    try:
        time, value = (float(text) for text in row)
    except ValueError:
        time = value = math.nan
    if not (0 <= time * units[0] < 1e18 and 0 <= value * units[1] <= column.most):
        found = ",".join(row)[:60]
        raise InputError(f"{where}: found `{found}`; allowed: a time from 0 and {column.allowed}, in two columns")
    return round(time * units[0]), round(value * units[1])
