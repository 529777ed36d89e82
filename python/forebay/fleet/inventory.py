"""The table of ports, read from a plain CSV file with the columns of the fleet."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.errors import InputError
from forebay.extras import need

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Inventory", "read_inventory"]

TEXTS = (
    "device",
    "port",
    "platform",
    "buffer",
    "queue",
    "service_class",
    "role",
    "profile",
    "goals",
    "observe",
    "config",
)
INTEGERS = ("rate_bps", "buffer_bytes", "mtu_bytes", "drops", "packets")
REALS = ("utilization", "interval_s")


@dataclass(frozen=True, slots=True)
class Inventory:
    """The ports of a network, and the rows that were refused.

    Attributes
    ----------
    ports : polars.DataFrame
        One row per port.
    rejected : polars.DataFrame
        Columns `file`, `line` and `reason`.
    """

    ports: pl.DataFrame
    rejected: pl.DataFrame


def read_inventory(path: str | os.PathLike[str]) -> Inventory:
    """Read a CSV file with the columns of the table of ports; columns may be missing."""
    need("polars")
    import polars as pl

    file = Path(path)
    kinds: dict[str, type[pl.DataType]] = {
        **dict.fromkeys(TEXTS, pl.String),
        **dict.fromkeys(INTEGERS, pl.Int64),
        **dict.fromkeys(REALS, pl.Float64),
    }
    try:
        found = pl.read_csv(file, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from None
    missing = [name for name in ("device", "port", "rate_bps") if name not in found.columns]
    if missing:
        raise InputError(f"{file}: found no column `{missing[0]}`; allowed: {', '.join(kinds)}")
    columns = [
        (pl.col(name) if name in found.columns else pl.lit(None)).cast(kind, strict=False).alias(name)
        for name, kind in kinds.items()
    ]
    ports = found.select(columns).with_columns(pl.lit(str(file)).alias("file"), line=pl.int_range(2, pl.len() + 2))
    wrong = pl.col("device").is_null() | pl.col("port").is_null() | pl.col("rate_bps").is_null()
    rejected = ports.filter(wrong).select("file", "line", pl.lit("device, port or rate is missing").alias("reason"))
    return Inventory(ports.filter(~wrong), rejected)
