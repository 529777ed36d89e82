"""The tables of a sweep: a row for each run, the costs of runs in a table of their own, and a row for each cell.

The results depend on nothing but the sweep. `rows.parquet` and `summary.parquet` are the same bytes whether threads or
workers ran it, in any order and after any number of interruptions. `costs.parquet` is not.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.storage.tables import ROWS, TableWriter
from forebay.sweeps.batches import Batches
from forebay.sweeps.grid import Grid
from forebay.sweeps.simultaneous_events import SimultaneousEvents

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["summary", "write_tables"]

#: Columns that are not measurements.
_IDENTITY = ("key", "cell", "replication", "engine", "seed", "scenario_sha256", "warnings")


def write_tables(folder: Path, grid: Grid, batches: Batches, lines: NDArray[np.int64]) -> SimultaneousEvents:
    """Write the Parquet tables of all stored rows, some thousand rows at a time.

    Parameters
    ----------
    folder : Path
        Folder of the sweep.
    grid : Grid
    batches : Batches
        The stored rows.
    lines : array
        The place of the row of each job; below 0 without a row.

    Returns
    -------
    SimultaneousEvents
        The count of rows in which simultaneous events decide the losses.
    """
    events = SimultaneousEvents()
    with TableWriter(folder / "rows.parquet") as rows, TableWriter(folder / "costs.parquet") as costs:
        for frame in _frames(grid, batches, lines):
            events.add(frame)
            names = [name for name in frame.columns if name.startswith("cost.")]
            rows.add(frame.drop(names))
            costs.add(frame.select("key", "cell", "replication", *names))
        rows.finish()
        costs.finish()
    if events.runs:
        with TableWriter(folder / "summary.parquet") as cells:
            for frame in _summaries(folder / "rows.parquet", [f"axis.{axis.key}" for axis in grid.axes]):
                cells.add(frame)
            cells.finish()
    return events


def _frames(grid: Grid, batches: Batches, lines: NDArray[np.int64]) -> Iterator[pl.DataFrame]:
    """The stored rows in the order of the grid, each with the cell and the warnings of its own job."""
    import numpy as np
    import polars as pl

    lines = lines[grid.firsts]
    stored = np.flatnonzero(lines >= 0)
    of_jobs = grid.cells
    names: dict[str, None] = {}
    for begin in range(0, len(stored), ROWS):
        numbers = stored[begin : begin + ROWS]
        texts = list(batches.texts(lines[numbers].tolist()))
        frame = pl.read_ndjson(BytesIO(b"\n".join(texts)), infer_schema_length=None)
        _note_names(names, frame.columns, texts)
        cells = of_jobs[numbers]
        settings = [pl.Series(f"axis.{key}", values, pl.String) for key, values in grid.settings(cells).items()]
        frame = frame.with_columns(pl.Series("cell", cells), *settings)
        if (warnings := grid.rare.texts(cells.tolist())) is not None:
            of_runs = frame["warnings"].to_list()
            both = ["; ".join(filter(None, pair)) for pair in zip(of_runs, warnings, strict=True)]
            frame = frame.with_columns(pl.Series("warnings", both, pl.String))
        yield frame.select(name for name in names if name in frame.columns)


def _note_names(names: dict[str, None], columns: Sequence[str], texts: Iterable[bytes]) -> None:
    """Append new columns to `names` in the order of the rows that have them; Polars does not respect this order."""
    new = {*columns} - names.keys()
    for text in texts:
        if not new:
            return
        for name in json.loads(text):
            if name in new:
                names[name] = None
                new.discard(name)


def _summaries(path: Path, axes: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The summary of the table of rows, some thousand rows at a time and all rows of a cell together."""
    import numpy as np
    import polars as pl

    table = pl.scan_parquet(path, glob=False)
    schema = table.collect_schema()
    cells = table.select("cell").collect()["cell"]
    _, firsts = np.unique(cells, return_index=True)
    height = len(cells)
    numbers = _numbers(schema)
    begins = [0]
    for first, after in itertools.pairwise([*firsts.tolist(), height]):
        if after - begins[-1] > ROWS and first > begins[-1]:
            begins.append(first)
    fixed = [name for name in schema if name not in numbers]
    for begin, end in itertools.pairwise([*begins, height]):
        part = table.slice(begin, end - begin)
        # The columns of a cell of very many rows are read one after the other.
        at_once = max(1, len(numbers) * ROWS // (end - begin))
        groups = [numbers[at : at + at_once] for at in range(0, len(numbers), at_once)]
        first, *others = [summary(part.select(*fixed, *group).collect(), axes) for group in groups or [[]]]
        others = [other.select(name for name in other.columns if name not in first.columns) for other in others]
        yield pl.concat([first, *others], how="horizontal")


def summary(frame: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    """Mean, 95 % half width and count of every number, cell by cell; the rows of a cell follow each other."""
    import numpy as np
    import polars as pl

    numbers = _numbers(frame.schema)
    fixed = [*axes, "engine", "scenario_sha256", *(name for name in frame.columns if name.startswith("buffer."))]
    _, first, place, runs = np.unique(frame["cell"], return_index=True, return_inverse=True, return_counts=True)
    columns = [frame.select("cell", *fixed)[first], pl.DataFrame({"replications": runs})]
    columns += [_moments(frame[name], place, len(first)) for name in numbers]
    return pl.concat(columns, how="horizontal")


def _numbers(schema: Mapping[str, pl.DataType]) -> list[str]:
    """The columns of measurements."""
    return [
        name
        for name, kind in schema.items()
        if kind.is_numeric() and name not in _IDENTITY and not name.startswith(("axis.", "buffer."))
    ]


def _moments(column: pl.Series, place: NDArray[np.intp], cells: int) -> pl.DataFrame:
    """Mean and half width of a column in each of `cells` cells; None for too few numbers: one has no half width."""
    import numpy as np
    import polars as pl

    from forebay.results.statistics import mean_intervals

    there = column.is_not_null().to_numpy()
    values = column.drop_nulls().to_numpy().astype(np.float64)
    counts = np.bincount(place[there], minlength=cells)
    begins = np.cumsum(counts) - counts
    moments = np.full((2, cells), np.nan)
    for size in np.unique(counts[counts > 0]):
        where = np.flatnonzero(counts == size)
        moments[:, where] = mean_intervals(values[begins[where, None] + np.arange(size)])
    rows = [[None if math.isnan(each) else each for each in row] for row in moments.tolist()]
    return pl.DataFrame({f"{column.name}.mean": rows[0], f"{column.name}.half_width": rows[1]})
