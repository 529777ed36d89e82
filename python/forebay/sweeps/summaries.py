"""The tables of a sweep: a row for each run, the costs of runs in a table of their own, and a row for each cell.

The results depend on nothing but the sweep. `rows.parquet` and `summary.parquet` are the same bytes whether threads or
workers ran it, in any order and after any number of interruptions. `costs.parquet` is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.storage.files import replacing
from forebay.storage.tables import write_table
from forebay.sweeps.axes import Axis
from forebay.sweeps.jobs import Row

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["summary", "write_tables"]

#: Columns that are not measurements.
_IDENTITY = ("key", "cell", "replication", "engine", "seed", "scenario_sha256", "warnings")


def write_tables(folder: Path, axes: Sequence[Axis], rows: Sequence[Row]) -> None:
    """Write all rows as Parquet tables."""
    import polars as pl

    if not rows:
        return
    frame = pl.DataFrame(rows, infer_schema_length=None)
    costs = [name for name in frame.columns if name.startswith("cost.")]
    found = frame.drop(costs)
    tables = {
        "rows": found,
        "costs": frame.select("key", "cell", "replication", *costs),
        "summary": summary(found, [f"axis.{axis.key}" for axis in axes]),
    }
    for name, table in tables.items():
        with replacing(folder / f"{name}.parquet") as partial:
            write_table(table, partial)


def summary(frame: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    """Mean, 95 % half width and count of every number, cell by cell; the rows of a cell follow each other."""
    import numpy as np
    import polars as pl

    numbers = [
        name
        for name, kind in frame.schema.items()
        if kind.is_numeric() and name not in _IDENTITY and not name.startswith(("axis.", "buffer."))
    ]
    fixed = [*axes, "engine", "scenario_sha256", *(name for name in frame.columns if name.startswith("buffer."))]
    _, first, place, runs = np.unique(frame["cell"], return_index=True, return_inverse=True, return_counts=True)
    columns = [frame.select("cell", *fixed)[first], pl.DataFrame({"replications": runs})]
    columns += [_moments(frame[name], place, len(first)) for name in numbers]
    return pl.concat(columns, how="horizontal")


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
