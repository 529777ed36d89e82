"""Reads the small CSV tables of an audit's options: growth by years, and memories of boxes."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from forebay.errors import InputError
from forebay.scenario import read

__all__ = ["refusal", "rows"]

#: Longest cell that an error repeats, in characters.
SHOWN = 60


def rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The place of each row, as in "FILE, line 2", and its cells by their columns.

    Raises
    ------
    InputError
        If the file cannot be read, has other columns or no row: one line with file and line.
    """
    allowed = f"a table with the columns {','.join(columns)}"
    reader = csv.DictReader(read(path).splitlines())
    empty = True
    try:
        if not set(columns) <= set(reader.fieldnames or ()):
            raise InputError(f"{path}: found other columns; allowed: {allowed}")
        for row in reader:
            empty = False
            yield f"{path}, line {reader.line_num}", {name: (row[name] or "").strip() for name in columns}
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.reader.line_num}: found what is no row ({error}); allowed: {allowed}"
        ) from None
    if empty:
        raise InputError(f"{path}: found no row; allowed: {allowed}")


def refusal(place: str, cells: Mapping[str, str], allowed: str) -> InputError:
    """The error of a row."""
    return InputError(f"{place}: found `{','.join(cell[:SHOWN] for cell in cells.values())}`; allowed: {allowed}")
