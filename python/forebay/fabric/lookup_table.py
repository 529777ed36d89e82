"""Reads `pg_profile_lookup.ini`: the static table of a SONiC device, one profile for each rate and cable length.

The format is that of sonic-net/sonic-swss, cfgmgr/buffermgr.cpp, readPgProfileLookupFile(): columns between spaces, and
comments after `#`. `table_answer.py` uses the rows. A broken row becomes a line of text, and the others are used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from forebay.errors import InputError
from forebay.sanitize import sanitize
from forebay.storage.safe_io import content
from forebay.text.length import parse_length

__all__ = ["LookupTable", "TableRow", "parse_table", "read_table"]

#: Largest size of a file, in bytes, and largest number of its rows.
MOST_BYTES = 4 * 2**20
MOST_ROWS = 2_000
#: Largest rate in Mb/s, and largest number of bytes.
MOST_RATE = 10_000_000
MOST_AMOUNT = 2**40
#: Broken rows that are described one by one.
MOST_BROKEN = 100

#: Columns in the order that SONiC reads. The last one may be missing.
COLUMNS = ("speed", "cable", "size", "xon", "xoff", "threshold", "xon_offset")
_REQUIRED = COLUMNS[:-1]
_UNIT_APART = re.compile(r"(?<=[0-9])\s+(?=(?:cm|m|km)(?:\s|$))")
_ALLOWED = "speed, cable, size, xon, xoff, threshold and perhaps xon_offset, as in `100000 40m 58368 19456 38912 0`"


@dataclass(frozen=True, slots=True)
class TableRow:
    """The profile of one rate and cable length.

    Attributes
    ----------
    line : int
        Line of the file, from 1.
    rate_mbps : int
        Rate, in Mb/s.
    cable_m : float
        Length of the cable, in meters.
    size, xon, xoff : int
        Bytes.
    threshold : int
        Exponent of alpha: the group may use 2^threshold of the free shared memory.
    xon_offset : int or None
        Bytes below the threshold at which the peer may resume.
    """

    line: int
    rate_mbps: int
    cable_m: float
    size: int
    xon: int
    xoff: int
    threshold: int
    xon_offset: int | None = None


@dataclass(frozen=True, slots=True)
class LookupTable:
    """A device's static table.

    Attributes
    ----------
    name : str
        Name of the file.
    rows : tuple of TableRow
        Rows that can be used, at least one. Of two rows for one rate and cable length, SONiC uses the later.
    broken : tuple of str
        Rows that cannot be used, a line of text each.
    replaced : tuple of TableRow
        Rows that a later one replaces.
    """

    name: str
    rows: tuple[TableRow, ...]
    broken: tuple[str, ...] = ()
    replaced: tuple[TableRow, ...] = ()

    def row(self, rate_mbps: int, cable_m: float) -> TableRow | None:
        """The row of a rate and a cable length."""
        found = (row for row in self.rows if row.rate_mbps == rate_mbps and abs(row.cable_m - cable_m) < 1e-6)
        return next(found, None)

    def at_rate(self, rate_mbps: int) -> list[TableRow]:
        """The rows of a rate, the shortest cable first."""
        return sorted((row for row in self.rows if row.rate_mbps == rate_mbps), key=lambda row: row.cable_m)

    @property
    def rates(self) -> list[int]:
        """The rates in Mb/s, the lowest first."""
        return sorted({row.rate_mbps for row in self.rows})


def read_table(path: Path) -> LookupTable:
    """Read the file of a table.

    Raises
    ------
    InputError
        If the file cannot be read, is too large, is no text, or has no row that can be used.
    """
    raw = content(path, "a pg_profile_lookup.ini", MOST_BYTES)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: found a byte that is not UTF-8 at {error.start}; allowed: UTF-8 text") from None
    if "\0" in text:
        raise InputError(f"{path}: found a NUL character at {text.index(chr(0))}; allowed: lines of text")
    return parse_table(text, str(path))


def parse_table(text: str, name: str = "table") -> LookupTable:
    """Read the text of a table.

    Raises
    ------
    InputError
        If there are too many rows, or none that can be used.
    """
    rows: dict[tuple[int, float], TableRow] = {}
    replaced: list[TableRow] = []
    broken: list[str] = []
    columns: tuple[str, ...] = COLUMNS
    count = 0
    for number, line in _lines(text):
        if line.startswith("#"):
            columns = _heading(line) or columns
            continue
        count += 1
        if count > MOST_ROWS:
            raise InputError(f"{name}:{number}: found more than {MOST_ROWS} rows; allowed: at most {MOST_ROWS} rows")
        try:
            row = _row(number, line, columns)
        except InputError as error:
            broken.append(f"line {number}: {error.text}")
            continue
        key = (row.rate_mbps, row.cable_m)
        if key in rows:
            replaced.append(rows.pop(key))
        rows[key] = row
    if not rows:
        reason = f"; {broken[0]}" if broken else ""
        raise InputError(f"{name}: found no row that can be used{reason}; allowed: rows of {_ALLOWED}")
    if len(broken) > MOST_BROKEN:
        broken[MOST_BROKEN:] = [f"{len(broken) - MOST_BROKEN} more rows cannot be used"]
    return LookupTable(name, tuple(rows.values()), tuple(broken), tuple(replaced))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers; a line ends at LF, CR LF or CR."""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff")), start=1):
        if line.strip():
            yield number, line.strip()


def _heading(line: str) -> tuple[str, ...] | None:
    """The order of columns that a comment states, if it names all that are required."""
    words = tuple(line.lstrip("#").lower().split())
    return words if set(_REQUIRED) <= set(words) <= set(COLUMNS) and len(set(words)) == len(words) else None


def _row(number: int, line: str, columns: tuple[str, ...]) -> TableRow:
    """Read a row, or raise an error that says what is wrong with it."""
    words = _UNIT_APART.sub("", line.partition("#")[0]).split()
    if not len(_REQUIRED) <= len(words) <= len(COLUMNS):
        raise InputError(f"found {len(words)} columns; allowed: {_ALLOWED}")
    if len(words) > len(columns):
        columns = COLUMNS
    found: Mapping[str, str] = dict(zip(columns, words, strict=False))
    missing = [name for name in _REQUIRED if name not in found]
    if missing:
        raise InputError(f"found no {missing[0]}; allowed: {_ALLOWED}")
    rate = _whole(found, "speed", 1, MOST_RATE)
    try:
        cable = parse_length(found["cable"])
    except InputError as error:
        raise InputError(f"cable: {error.text}") from None
    size, xon, xoff = (_whole(found, name, 0, MOST_AMOUNT) for name in ("size", "xon", "xoff"))
    threshold = _whole(found, "threshold", -MOST_AMOUNT, MOST_AMOUNT)
    offset = _whole(found, "xon_offset", 0, MOST_AMOUNT) if "xon_offset" in found else None
    return TableRow(number, rate, cable, size, xon, xoff, threshold, offset)


def _whole(found: Mapping[str, str], name: str, least: int, most: int) -> int:
    """The whole number of a column, within closed bounds."""
    text = found[name]
    if re.fullmatch(r"[+-]?[0-9]{1,15}", text):
        number = int(text)
        if least <= number <= most:
            return number
    shown = sanitize(text if len(text) <= 40 else f"{text[:37]}...")
    raise InputError(f"{name}: found `{shown}`; allowed: a whole number from {least} to {most}")
