"""A sweep as an `xarray.Dataset`: numbers on its axes, so that it can be sliced, interpolated and plotted."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from forebay.extras import need
from forebay.text.quantity import scale_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["dataset"]

#: The axis of the buffer, and the columns of its resolved values with their units.
BUFFER = "axis.link.buffer"
RESOLVED = {"buffer.packets": "packets", "buffer.bytes": "bytes", "buffer.seconds": "s"}


def dataset(summary: pl.DataFrame) -> Any:
    """The means and half widths of a sweep's summary over its axes.

    Raises
    ------
    MissingPackageError
        Without pandas and xarray.
    """
    need("xarray", "pandas")
    pandas = import_module("pandas")
    axes = [name for name in summary.columns if name.startswith("axis.")]
    coordinates = {name: _coordinate(name, summary) for name in axes}
    columns: dict[str, Any] = {name.removeprefix("axis."): values for name, (values, _) in coordinates.items()}
    for name in summary.columns:
        if name.endswith(".mean"):
            columns[name.removesuffix(".mean")] = summary[name].to_list()
        elif name.endswith(".half_width"):
            columns[f"{name.removesuffix('.half_width')}_half_width"] = summary[name].to_list()
    names = [name.removeprefix("axis.") for name in axes]
    # Two ways to write one value make the same cell twice.
    table = pandas.DataFrame(columns).drop_duplicates(names).set_index(names)
    found = table.to_xarray().sortby(names)
    for name, (_, unit) in coordinates.items():
        if unit is not None:
            found[name.removeprefix("axis.")].attrs["units"] = unit or "1"
    return found


def _coordinate(name: str, summary: pl.DataFrame) -> tuple[list[Any], str | None]:
    """The values along an axis and their unit; texts have none."""
    written = summary[name].to_list()
    scale = scale_of(written)
    if scale is not None:
        return list(scale.numbers), scale.unit
    if name == BUFFER:
        # The values have units of several kinds: use the first column in which each value is one buffer.
        for column, unit in RESOLVED.items():
            if summary.select(name, column).unique().height == summary[name].n_unique():
                return summary[column].to_list(), unit
    return [str(value) for value in written], None
