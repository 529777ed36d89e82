"""Rows that are rejected: a column `reason`, and the table of rejected rows that it becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["of_port", "short", "split"]


def short(name: str) -> pl.Expr:
    """A text of a row for a message."""
    import polars as pl

    text = pl.col(name)
    return pl.when(text.str.len_chars() > 60).then(text.str.slice(0, 57) + "...").otherwise(text)


def of_port(reason: pl.Expr) -> pl.Expr:
    """A reason with the names of the device and the port before it; null without a reason."""
    import polars as pl

    return pl.format("{} {}: {}", short("device"), short("port"), reason)


def split(frame: pl.DataFrame, reason: pl.Expr) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows without a reason, and the others as rejected rows."""
    import polars as pl

    frame = frame.with_columns(reason.alias("reason"))
    wrong = pl.col("reason").is_not_null()
    return frame.filter(~wrong).drop("reason"), frame.filter(wrong).select("file", "line", "reason")
