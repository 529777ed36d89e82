"""Flow records in lines of separated fields beneath a header: nfdump's csv, pmacct's, SiLK's, or any other.

A file is read in blocks of lines. Polars parses a block. If a row of it makes no record, the block is read again line
by line, so that the message can name the line.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.errors import InputError
from forebay.observation.flow_records.names import REQUIRED, fields_of, missing
from forebay.observation.line_reader import Lines, split_cells
from forebay.storage.safe_io import clean

if TYPE_CHECKING:
    import polars as pl

    from forebay.observation.flow_records.record_table import Reading

__all__ = ["Header", "header_of", "tables"]

SEPARATORS = ",|;\t"
#: Fields that every record has.
NEEDED = ("start_s", "end_s", "bytes")


@dataclass(frozen=True, slots=True)
class Header:
    """The line of names.

    Attributes
    ----------
    line : bytes
        As it stands, without its end.
    separator : str
        Between fields.
    names : tuple of str
        One a column, none twice.
    fields : dict
        Names of columns by field.
    """

    line: bytes
    separator: str
    names: tuple[str, ...]
    fields: dict[str, tuple[str, ...]]


def header_of(line: bytes) -> Header | None:
    """The header that a line is; None where its names say nothing of flow records."""
    text = line.decode("utf-8", errors="replace").lstrip("#").strip()
    found = None
    for separator in SEPARATORS:
        names = _distinct(split_cells(text, separator))
        fields = fields_of(names)
        if len(fields) >= 2 and (found is None or len(fields) > len(found.fields)):
            found = Header(line, separator, names, fields)
    return found


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, with a number behind those that have no other or none of their own."""
    found: list[str] = []
    for number, name in enumerate(names):
        name = name.strip()  # noqa: PLW2901
        found.append(name if name and name not in found else f"column {number}")
    return tuple(found)


def tables(lines: Iterator[Lines], where: str, reading: Reading) -> Iterator[pl.DataFrame]:
    """The records of a file, one table for each block.

    Parameters
    ----------
    lines : iterator of Lines
        Lines of the file.
    where : str
        The file, for errors.
    reading : Reading
        The reading of the run.

    Raises
    ------
    InputError
        If there is no header, a required field is not among its names, or a line makes no record.
    """
    header = None
    ended = False
    for block in lines:
        first, text = block.first, block.text
        if header is None:
            at, header = _find_header(text)
            first, text = first + text.count(b"\n", 0, at), text[at:]
            if not text:
                continue
            lacks = ["names that are known"] if header is None else missing(header.fields)
            if header is None or lacks:
                raise InputError(f"{where}, line {first}: found a header without {' and '.join(lacks)}; "
                                 f"allowed: names of {REQUIRED}")  # fmt: skip
        for line, part, begins in _parts(text, first, header.line):
            # The text that nfdump writes after the records ends them, until another file's header.
            ended = ended and not begins
            if ended:
                continue
            data = re.split(rb"(?m)^(?:Summary|No matched flows)", part, maxsplit=1)
            ended = len(data) > 1
            if data[0].strip():
                yield _table(Lines(line, data[0], block.cut and not ended), header, where, reading)


def _find_header(text: bytes) -> tuple[int, Header | None]:
    """Where the first line begins that says something, and the header that it is."""
    at = 0
    for raw in io.BytesIO(text):
        line = raw.strip()
        header = header_of(line) if line else None
        if header is not None or (line and not line.startswith(b"#")):
            return at, header
        at += len(raw)
    return at, None


def _parts(text: bytes, first: int, header: bytes) -> Iterator[tuple[int, bytes, bool]]:
    """The parts between headers: number of the first line, text, and whether a header was before it."""
    line, at, begins = first, 0, False
    for match in re.finditer(rb"(?m)^[ \t]*" + re.escape(header) + rb"[ \t\r]*(?:\n|\Z)", text):
        yield line, text[at : match.start()], begins
        line += text.count(b"\n", at, match.end())
        at, begins = match.end(), True
    yield line, text[at:], begins


def _table(block: Lines, header: Header, where: str, reading: Reading) -> pl.DataFrame:
    import polars as pl

    required = {name for names in header.fields.values() for name in names}
    try:
        raw = pl.read_csv(
            block.text,
            has_header=False,
            separator=header.separator,
            schema=dict.fromkeys(header.names, pl.String()),
            comment_prefix="#",
            truncate_ragged_lines=True,
            encoding="utf8-lossy",
        ).select(name for name in header.names if name in required)
        typed = reading.typed(raw, header.fields)
        if not any(typed[name].null_count() for name in NEEDED):
            return typed
    except pl.exceptions.PolarsError:
        pass  # the slow way finds the line
    return _slowly(block, header, where, reading)


def _slowly(block: Lines, header: Header, where: str, reading: Reading) -> pl.DataFrame:
    """As `_table`, by Python's reader and with the number of every line."""
    import polars as pl

    required = {name for names in header.fields.values() for name in names}
    rows, numbers = [], []
    text = block.text.decode("utf-8", errors="replace")
    for number, line in enumerate(text.split("\n"), start=block.first):
        if not line.strip() or line.startswith("#"):
            continue
        cells = split_cells(line.rstrip("\r"), header.separator)
        rows.append((cells + [""] * len(header.names))[: len(header.names)])
        numbers.append(number)
    columns = {
        name: pl.Series(name, [row[at] for row in rows], dtype=pl.String)
        for at, name in enumerate(header.names)
        if name in required
    }
    typed = reading.typed(pl.DataFrame(columns), header.fields)
    bad = typed.select(pl.any_horizontal(pl.col(name).is_null() for name in NEEDED)).to_series().arg_true().to_list()
    if block.cut and bad == [len(rows) - 1]:
        return typed.head(len(rows) - 1)  # the file ends in the middle of a line
    if bad:
        raise _mistake(rows[bad[0]], typed.row(bad[0], named=True), header, f"{where}, line {numbers[bad[0]]}")
    return typed


def _mistake(row: list[str], typed: dict[str, object], header: Header, place: str) -> InputError:
    """The error for a wrong line; its message shows no address."""
    for column, names, allowed in (
        ("bytes", ("bytes",), "a whole number, not negative"),
        ("start_s", ("start", "end", "duration"), "seconds, a date such as 2026-11-23 16:00:00.5, or a duration"),
        ("end_s", ("end", "duration", "start"), "seconds, a date such as 2026-11-23 16:00:00.5, or a duration"),
    ):
        if typed[column] is None:
            name = next(name for each in names for name in header.fields.get(each, ()))
            value = row[header.names.index(name)]
            return InputError(f"{place}: found {clean(value)} in the column {clean(name)}; allowed: {allowed}")
    raise AssertionError("a row without a mistake")
