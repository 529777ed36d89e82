"""Tables with a header, read row by row: separators, quotes, ragged rows, and the line where each row begins."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass

from forebay.fleets.files import FileFault, SourceFile
from forebay.fleets.importers.importer import Rejection

__all__ = ["MOST_COLUMNS", "Table", "header_of", "rows_of"]

#: Most columns of a table; an export of all fields of an interface has less than 200.
MOST_COLUMNS = 10_000
#: Rows that are held at once.
ROWS = 50_000
#: Separators in the order of preference.
SEPARATORS = (",", ";", "\t", "|")


@dataclass(frozen=True, slots=True)
class Table:
    """The header of a table.

    Attributes
    ----------
    names : tuple of str
        Names of the columns, as written.
    separator : str
        Character between the cells.
    """

    names: tuple[str, ...]
    separator: str


def header_of(text: str) -> Table | None:
    """The header at the beginning of a text; None if its first line is no header of several columns."""
    lines = [line for line in text.lstrip("\ufeff").split("\n", 50) if line.strip()]
    if not lines or lines[0].lstrip().startswith(("{", "[", "#", "!")):
        return None
    first = lines[0].strip("\r")
    separator = max(SEPARATORS, key=first.count)
    if not first.count(separator):
        return None
    try:
        names = next(csv.reader([first], delimiter=separator))
    except csv.Error:
        return None
    return Table(tuple(name.strip() for name in names), separator)


def rows_of(file: SourceFile, table: Table, wanted: list[int], rejected: list[Rejection]) -> Iterator[list[list[str]]]:
    """The wanted cells of every row in parts; the last cell of each row is its line.

    Rows with another number of cells than the header are rejected. Empty lines are passed over.

    Raises
    ------
    FileFault
        If the file or a row is too long.
    """
    if len(table.names) > MOST_COLUMNS:
        raise FileFault(f"found {len(table.names):,} columns; allowed: at most {MOST_COLUMNS:,}", 1)
    reader = csv.reader(file.lines(), delimiter=table.separator, strict=True)
    count, begin, is_header = len(table.names), 1, True
    part: list[list[str]] = []
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            rejected.append(Rejection(begin, _fault(str(error), begin, reader.line_num)))
            begin = reader.line_num + 1
            continue
        if cells is None:
            break
        line, begin = begin, reader.line_num + 1
        if not cells or (is_header and not any(map(str.strip, cells))):
            continue
        if is_header:
            is_header = False
            continue
        if len(cells) != count:
            if any(map(str.strip, cells)) and not _is_padded(cells, count):
                lines = f" in one row{_lines(line, reader.line_num)}" if reader.line_num > line else ""
                more = ", and quotes in pairs" if lines else ""
                text = f"found {len(cells)} cells{lines}; allowed: {count}, as in the header{more}"
                rejected.append(Rejection(line, text))
                continue
            cells = [*cells, *[""] * count][:count]
        if not any(map(str.strip, cells)):
            continue
        part.append([*(cells[place] for place in wanted), line])  # type: ignore[list-item]
        if len(part) == ROWS:
            yield part
            part = []
    if part:
        yield part


def _fault(error: str, begin: int, end: int) -> str:
    """The reason why the lines of a row are not read, by the error of Python's module csv."""
    limit, lines = csv.field_size_limit(), _lines(begin, end)
    if error.startswith("field larger than") and begin == end:
        return f"found a cell of more than {limit:,} characters; allowed: shorter cells"
    if error.startswith("field larger than"):
        found = f"found a cell of more than {limit:,} characters{lines}, which are not read"
        return f"{found}; allowed: shorter cells, and quotes in pairs"
    if error == "unexpected end of data":
        return f"found a quote without an end{lines}; allowed: quotes in pairs"
    return f"found a row that is no CSV{lines} ({error}); allowed: quotes in pairs"


def _lines(begin: int, end: int) -> str:
    """The lines of a row, if there are several."""
    return "" if end <= begin else f" from line {begin} to line {end} ({end - begin + 1:,} lines)"


def _is_padded(cells: list[str], count: int) -> bool:
    """Whether a row only has separators too many at its end."""
    return len(cells) > count and not any(map(str.strip, cells[count:]))
