"""A table larger than memory: its rows lie in buckets by a key, in private temporary files.

A small table never touches the disk. All rows of one key are in one bucket, so results per key are computed one bucket
at a time.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.errors import ForebayError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Store"]

#: Rows that are held before they go to files, and over how many buckets.
HELD = 2_000_000
BUCKETS = 16


class Store:
    """A growing table; its files are removed with it.

    Parameters
    ----------
    columns : dict
        Types of the table's columns by name.
    key : str
        The column whose equal values stay together; unsigned integers.
    """

    def __init__(self, columns: dict[str, pl.DataType], key: str) -> None:
        self._columns = columns
        self._key = key
        self._tables: list[pl.DataFrame] = []
        self._rows = 0
        self._folder: Path | None = None
        self._pieces = 0
        self.height = 0

    def add(self, table: pl.DataFrame) -> None:
        """Add rows.

        Raises
        ------
        ForebayError
            Where the disk takes no more.
        """
        if not table.height:
            return
        self._tables.append(table)
        self._rows += table.height
        self.height += table.height
        if self._rows >= HELD:
            self._spill()

    def _spill(self) -> None:
        import polars as pl

        try:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="forebay-"))
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            table = pl.concat(self._tables).with_columns(bucket=pl.col(self._key).fill_null(0) % BUCKETS)
            for (bucket,), rows in table.partition_by("bucket", as_dict=True, include_key=False).items():
                rows.write_parquet(self._folder / f"{bucket}-{self._pieces}.parquet", compression="lz4")
        except (OSError, pl.exceptions.PolarsError) as error:
            reason = " ".join(str(error).split())[:120]
            raise ForebayError(f"{tempfile.gettempdir()}: no room for what was read ({reason})") from None
        self._pieces += 1
        self._tables, self._rows = [], 0

    def buckets(self) -> Iterator[pl.DataFrame]:
        """All rows, those of one key in one table."""
        import polars as pl

        if self._folder is None:
            yield pl.concat(self._tables) if self._tables else pl.DataFrame(schema=self._columns)
            return
        if self._tables:
            self._spill()
        for bucket in range(BUCKETS):
            files = sorted(self._folder.glob(f"{bucket}-*.parquet"))
            if files:
                yield pl.read_parquet(files, glob=False)

    def lazy(self) -> pl.LazyFrame:
        """All rows in no order, read when they are asked for; the store has to be kept as long."""
        import polars as pl

        if self._folder is None:
            return (pl.concat(self._tables) if self._tables else pl.DataFrame(schema=self._columns)).lazy()
        if self._tables:
            self._spill()
        return pl.scan_parquet(sorted(self._folder.glob("*.parquet")), glob=False)
