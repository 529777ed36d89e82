"""Rates of links that stand in a file beside the scenario: a table of times and rates, or a trace of Mahimahi's.

The engines read no files. What the file says is put in its place, as steps or opportunities, before the scenario is read;
so it is part of the resolved scenario, of its SHA-256 and of every bundle.
"""

from __future__ import annotations

import csv
import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.untrusted import content

__all__ = ["MOST_BYTES", "MOST_ROWS", "opportunities_of", "rates_of_files", "steps_of"]

#: Of a file, and how many times and rates it may have.
MOST_BYTES, MOST_ROWS = 16 << 20, 100_000

TRACE = "a millisecond in each line"
ALLOWED = 'a table of times and rates under a line such as "time_s,rate_Mbps"'
#: What may stand beside the name of a file, and what it is put in its place as.
KINDS = {"file": ("repeat", "steps"), "mahimahi": ("as", "opportunities")}
TIMES = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3}
RATES = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "mbps": 10**6, "gbps": 10**9}


def rates_of_files(text: str, kind: str, folder: Path | None, name: str) -> Iterator[_core.Change]:
    """Changes that put what files say in the place of each link's `rate = { file = ... }` or `{ mahimahi = ... }`.

    Parameters
    ----------
    text : str
        The scenario; what cannot be read is left to whoever reads it next.
    kind : {"toml", "json"}
    folder : Path or None
        Which names of files are relative to; None where the scenario is no file.
    name : str
        What the scenario is called in errors.

    Raises
    ------
    InputError
        Where there is no such file, or it is no such table.
    """
    if not any(kind in text for kind in KINDS):
        return
    try:
        tables = tomllib.loads(text) if kind == "toml" else json.loads(text)
    except (ValueError, RecursionError):
        return
    for key, rate in _rates(tables):
        for given in KINDS:
            if isinstance(rate, dict) and isinstance(rate.get(given), str):
                place = f"{name}:{_line(text, rate[given])}"
                yield place, f"{key}={_read(rate, given, f'{place}: {key}.{given}', folder)}"


def _read(rate: dict[str, Any], given: str, place: str, folder: Path | None) -> str:
    """What stands in the place of a rate of a file."""
    beside, instead = KINDS[given]
    if folder is None:
        raise InputError(f"{place}: found `{rate[given]}` in a scenario that is no file; allowed: `{instead}`")
    more = [field for field in rate if field not in {given, beside}]
    if more:
        raise InputError(f"{place}: found `{more[0]}` beside it; allowed: {beside}")
    path = folder / rate[given]
    read = opportunities_of(path, place) if given == "mahimahi" else steps_of(path, place)
    also = f", {beside} = {json.dumps(rate[beside])}" if beside in rate else ""
    return f"{{ {instead} = {json.dumps(read)}{also} }}"


def _rates(tables: Any) -> Iterator[tuple[str, Any]]:
    """The rate of each link, by its key."""
    if not isinstance(tables, Mapping):
        return
    link, links = tables.get("link"), tables.get("links")
    if isinstance(link, Mapping):
        yield "link.rate", link.get("rate")
    for number, each in enumerate(links if isinstance(links, list) else ()):
        if isinstance(each, Mapping):
            yield f"links.{number}.rate", each.get("rate")


def _line(text: str, found: str) -> int:
    """Where a file is first named."""
    return next((number for number, line in enumerate(text.splitlines(), 1) if found in line), 1)


def steps_of(path: Path, place: str) -> list[tuple[str, str]]:
    """The steps of a file: when, from its first row on, which rate begins.

    Parameters
    ----------
    path : Path
        Of a table with a time and a rate in each row, and their units in its head: "time_ms,rate_Mbps".
    place : str
        Where it is named, for errors.

    Raises
    ------
    InputError
        Where it is no such table; the line and what is wrong with it.
    """
    rows = _rows(_text(path, place, ALLOWED), f"{place}: {path.name}")
    head = next(rows, [])
    units = _units(head)
    if units is None:
        raise InputError(f"{place}: {path.name}:1: found `{','.join(head)[:60]}`; allowed: {ALLOWED}")
    found: list[tuple[int, int]] = []
    begin, last = 0, -1
    for number, row in enumerate(rows, 2):
        where = f"{place}: {path.name}:{number}"
        if not row:
            continue
        if len(found) >= MOST_ROWS:
            raise InputError(f"{where}: found more than {MOST_ROWS} changes of the rate; allowed: fewer")
        time, rate = _numbers(row, units, where)
        if not found:
            begin = time
        elif time - begin <= last:
            raise InputError(f"{where}: found `{row[0]}`; allowed: a time later than that of the row before")
        last = time - begin
        if not found or rate != found[-1][1]:
            found.append((last, rate))
    if not found:
        raise InputError(f"{place}: {path.name}: found no row; allowed: {ALLOWED}")
    if not any(rate for _, rate in found):
        raise InputError(f"{place}: {path.name}: found no rate above 0; allowed: at least one")
    return [(f"{time}ps", f"{rate}bps") for time, rate in found]


def opportunities_of(path: Path, place: str) -> str:
    """The milliseconds of a trace of Mahimahi's, one in each line; whether they are such, the engines say.

    Parameters
    ----------
    path : Path
    place : str
        Where it is named, for errors.

    Raises
    ------
    InputError
        Where it is no such trace; the line and what is wrong with it.
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


def _rows(text: str, where: str) -> Iterator[list[str]]:
    rows = csv.reader(text.splitlines())
    try:
        yield from rows
    except csv.Error as error:
        raise InputError(f"{where}:{rows.line_num}: found what is no row ({error}); allowed: {ALLOWED}") from None


def _units(head: list[str]) -> tuple[int, int] | None:
    """Picoseconds and bits per second of what the head's columns are counted in."""
    if len(head) != 2:
        return None
    (time, _, of_time), (rate, _, of_rate) = (name.strip().partition("_") for name in head)
    if (time.lower(), rate.lower()) != ("time", "rate") or of_time.lower() not in TIMES or of_rate not in RATES:
        return None
    return TIMES[of_time.lower()], RATES[of_rate]


def _numbers(row: list[str], units: tuple[int, int], where: str) -> tuple[int, int]:
    """Picoseconds and bits per second."""
    try:
        time, rate = (float(text) for text in row)
    except ValueError:
        time = rate = math.nan
    if not (0 <= time * units[0] < 1e18 and 0 <= rate * units[1] <= 1e14):
        found = ",".join(row)[:60]
        raise InputError(
            f"{where}: found `{found}`; allowed: a time from 0 and a rate from 0 to 100 Tb/s, in two columns"
        )
    return round(time * units[0]), round(rate * units[1])
