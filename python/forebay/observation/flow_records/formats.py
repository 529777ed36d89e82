"""Which of the formats of flow records a file has, by its first bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.errors import InputError
from forebay.observation.flow_records.exports import is_exported
from forebay.observation.line_reader import open_input, read_blocks
from forebay.observation.readers.flow_tables import EXPORTS, OBJECTS, TABLE
from forebay.observation.readers.reader import Head, Reader, Source
from forebay.observation.readers.registry import reader_of

if TYPE_CHECKING:
    import polars as pl

    from forebay.observation.flow_records.record_table import Reading

__all__ = ["ALLOWED", "tables"]

#: Bytes by which a file is recognized.
HEAD = 64 * 1024

ALLOWED = (
    "flow records: nfdump's csv or json, a table with a header, JSON lines, files of nfcapd, "
    "or export packets of NetFlow or IPFIX"
)


def tables(path: Path, reading: Reading, formats: list[str]) -> Iterator[pl.DataFrame]:
    """The records of a file, a table at a time.

    Parameters
    ----------
    path : Path
        Of the file, plain or compressed.
    reading : Reading
        Of the run.
    formats : list of str
        What the file turns out to be is put at its end.

    Raises
    ------
    InputError
        Where the file is none of them, or is damaged.
    """
    reading.fresh()
    where = str(path)
    with open_input(path, ALLOWED) as file:
        pieces = read_blocks(file, where)
        first = next(pieces, b"")
        reader = _reader(first, where)
        formats.append(reader.name)
        assert reader.records is not None, "only readers of flow records are chosen"
        for table in reader.records(Source(path, chain([first], pieces)), reading):
            reading.position = os.lseek(file.fileno(), 0, os.SEEK_CUR)
            yield table


def _reader(first: bytes, where: str) -> Reader:
    """Who reads flow records that begin so; a capture may hold export packets."""
    head = Head(first[:HEAD])
    if is_exported(first):
        return EXPORTS
    found = reader_of(head)
    if found is not None and found.records is not None:
        return found
    if head.is_json:
        return OBJECTS
    if b"\0" in first[:4096]:
        raise InputError(f"{where}: found a binary file of no known format; allowed: {ALLOWED}")
    return TABLE
