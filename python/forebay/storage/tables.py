"""Tables on a disk: Parquet files with a seal, so that a cut or changed file is detected before it is read.

A Parquet file ends with its footer, the footer's length and a magic word, and all other places are counted from the
beginning. The seal lies right before the footer, where no reader looks: a word and the SHA-256 of all the rest.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from forebay.extras import need
from forebay.storage.files import replacing
from forebay.storage.safe_io import DamagedError, regular

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ROWS", "TableWriter", "read_table", "write_table"]

MAGIC = b"PAR1"
WORD = b"forebay sha256 "
SEAL = len(WORD) + 64
CHUNK = 2**20


#: Rows of a row group of a table that is written in parts.
ROWS = 16_384


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table with its seal; the file does not appear at once, see `forebay.storage.files.replacing`."""
    need("polars")
    with _refusals(path):
        table.write_parquet(path)
    _seal(path)


class TableWriter:
    """A table that is written in parts, because its rows need too much memory together.

    Each part is first a file of its own, because the columns are known only after the last part.

    Parameters
    ----------
    path : Path
        Path of the table; it does not appear at once, see `forebay.storage.files.replacing`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parts: list[Path] = []
        self._schemas: list[Mapping[str, pl.DataType]] = []
        #: Names of the columns, in the order of the first row that has each.
        self._names: dict[str, None] = {}

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, *_error: object) -> None:
        for part in self._parts:
            with suppress(OSError):
                part.unlink(missing_ok=True)

    def add(self, frame: pl.DataFrame) -> None:
        """Add rows; columns may be missing in some parts."""
        self._names |= dict.fromkeys(frame.columns)
        self._schemas.append(frame.schema)
        # This name is one of those that are cleared if the process dies.
        part = self._path.with_name(f"{self._path.name}.{len(self._parts):06d}.{os.getpid()}.partial")
        self._parts.append(part)
        _write_part(frame, part)

    def finish(self) -> None:
        """Write the table; nothing if it has no rows."""
        import polars as pl

        if not self._parts:
            return
        schemas = {tuple(each.items()): pl.DataFrame(schema=each) for each in self._schemas}
        kinds = pl.concat(schemas.values(), how="diagonal_relaxed").schema
        schema = pl.Schema({name: kinds[name] for name in self._names})
        for part, found in zip(self._parts, self._schemas, strict=True):
            if [*found.items()] != [*schema.items()]:
                frame = pl.read_parquet(part, glob=False)
                missing = [pl.lit(None, kind).alias(name) for name, kind in schema.items() if name not in found]
                _write_part(frame.with_columns(missing).select(schema.names()).cast(schema), part)
        with replacing(self._path) as partial:
            with _refusals(partial):
                pl.scan_parquet(self._parts, glob=False).sink_parquet(partial, row_group_size=ROWS, maintain_order=True)
            _seal(partial)


def _write_part(frame: pl.DataFrame, part: Path) -> None:
    with _refusals(part):
        frame.write_parquet(part, compression="lz4")


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """Raise the system's errors as such: Polars gives them in words only."""
    import polars as pl

    try:
        yield
    except pl.exceptions.PolarsError as error:
        refused = re.search(r"os error (\d+)", str(error))
        if refused is None:
            raise
        raise OSError(int(refused[1]), os.strerror(int(refused[1])), str(path)) from None


def _seal(path: Path) -> None:
    """Insert the seal of a Parquet file before its footer."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        at = _footer(file, size)
        assert at is not None, "a Parquet file"
        digest = _digest(file, (0, size))
        file.seek(at)
        footer = file.read()
        file.seek(at)
        file.write(WORD + digest.encode() + footer)


def read_table(path: Path, remedy: str, columns: Callable[[str], bool] | None = None) -> pl.DataFrame:
    """Read a table whose seal is right.

    Parameters
    ----------
    path : Path
        Path of a table that `write_table` or `TableWriter` wrote.
    remedy : str
        Way to get another one, for errors.
    columns : callable, optional
        Whether to read the column of a name; by default all are read.

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
        names = None if columns is None else [name for name in pl.read_parquet_schema(path) if columns(name)]
        return pl.read_parquet(path, columns=names, glob=False)
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
