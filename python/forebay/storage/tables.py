"""Tables on a disk: Parquet files with a seal, so that a cut or changed file is detected before it is read.

A Parquet file ends with its footer, the footer's length and a magic word, and all other places are counted from the
beginning. The seal lies right before the footer, where no reader looks: a word and the SHA-256 of all the rest.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from forebay.extras import need
from forebay.storage.safe_io import DamagedError, regular

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_table", "write_table"]

MAGIC = b"PAR1"
WORD = b"forebay sha256 "
SEAL = len(WORD) + 64
CHUNK = 2**20


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table with its seal; the file does not appear at once, see `forebay.storage.files.replacing`."""
    need("polars")
    import polars as pl

    try:
        table.write_parquet(path)
    except pl.exceptions.PolarsError as error:
        # Polars gives the system's error in words only.
        refused = re.search(r"os error (\d+)", str(error))
        if refused is None:
            raise
        raise OSError(int(refused[1]), os.strerror(int(refused[1])), str(path)) from None
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        at = _footer(file, size)
        assert at is not None, "a Parquet file"
        digest = _digest(file, (0, size))
        file.seek(at)
        footer = file.read()
        file.seek(at)
        file.write(WORD + digest.encode() + footer)


def read_table(path: Path, remedy: str) -> pl.DataFrame:
    """Read a table whose seal is right.

    Parameters
    ----------
    path : Path
        Path of a table that `write_table` wrote.
    remedy : str
        Way to get another one, for errors.

    Raises
    ------
    DamagedError
        If there is none, or if it is damaged.
    MissingPackageError
        If polars is not installed.
    """
    need("polars")
    import polars as pl

    with regular(path, remedy) as file:
        found = _fault(file)
    if found is not None:
        raise DamagedError(str(path), found, remedy)
    try:
        return pl.read_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError) as error:
        raise DamagedError(str(path), f"a table that cannot be read ({type(error).__name__})", remedy) from None


def _fault(file: BinaryIO) -> str | None:
    """The fault of a table; None if its seal is right."""
    size = file.seek(0, os.SEEK_END)
    if not size:
        return "an empty file"
    footer = _footer(file, size)
    if footer is None:
        return "a damaged table (it has no end of a Parquet file)"
    at = footer - SEAL
    file.seek(max(0, at))
    seal = file.read(SEAL)
    if at < 0 or not seal.startswith(WORD):
        return "a table without the checksum of forebay"
    if seal[len(WORD) :] != _digest(file, (0, at), (footer, size)).encode():
        return "a damaged table"
    return None


def _footer(file: BinaryIO, size: int) -> int | None:
    """The position at which the footer begins."""
    file.seek(max(0, size - 8))
    end = file.read(8)
    at = size - 8 - int.from_bytes(end[:4], "little")
    return at if len(end) == 8 and end[4:] == MAGIC and at > 0 else None


def _digest(file: BinaryIO, *parts: tuple[int, int]) -> str:
    """SHA-256 of parts of a file."""
    digest = hashlib.sha256()
    for begin, end in parts:
        file.seek(begin)
        left = end - begin
        while left > 0 and (piece := file.read(min(CHUNK, left))):
            digest.update(piece)
            left -= len(piece)
    return digest.hexdigest()
