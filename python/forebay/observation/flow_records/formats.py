"""Which of the formats of flow records a file has, by its first bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.errors import InputError
from forebay.observation.flow_records import delimited, described, exports, nfcapd
from forebay.observation.objects import objects
from forebay.observation.opening import blocks, lines_of, opened

if TYPE_CHECKING:
    import polars as pl

    from forebay.observation.flow_records.normal import Reading

__all__ = ["ALLOWED", "tables"]

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
    with opened(path, ALLOWED) as file:
        pieces = blocks(file, where)
        first = next(pieces, b"")
        if not nfcapd.is_nfcapd(first):
            for table in _tables(chain([first], pieces), first, where, reading, formats):
                reading.position = os.lseek(file.fileno(), 0, os.SEEK_CUR)
                yield table
            return
    formats.append("nfcapd")
    with nfcapd.printed(path) as text:
        yield from delimited.tables(lines_of(blocks(text, where), where), where, reading)


def _tables(
    pieces: Iterator[bytes], first: bytes, where: str, reading: Reading, formats: list[str]
) -> Iterator[pl.DataFrame]:
    text = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    if exports.is_exported(first):
        formats.append("export packets")
        yield from exports.tables(pieces, where, reading)
    elif text[:1] in (b"{", b"["):
        formats.append("json")
        yield from described.tables(objects(pieces, where), where, reading)
    elif b"\0" in first[:4096]:
        raise InputError(f"{where}: found a binary file of no known format; allowed: {ALLOWED}")
    else:
        formats.append("csv")
        yield from delimited.tables(lines_of(pieces, where), where, reading)
