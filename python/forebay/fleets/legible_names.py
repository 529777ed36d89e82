"""Names of ports as a terminal may show them: control characters are written as numbers, and no port is lost.

The tables of an audit keep the names as the inventory has them. The command shows this copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.fleets.columns import KEY
from forebay.sanitize import sanitize

if TYPE_CHECKING:
    import polars as pl

__all__ = ["with_legible_names"]


def with_legible_names(ports: pl.DataFrame) -> pl.DataFrame:
    """The ports with names of one line each, without control characters.

    Parameters
    ----------
    ports : DataFrame
        A table with the columns device, port and service_class.
    """
    import polars as pl

    return ports.with_columns(pl.col(name).replace(_legible(ports[name])) for name in KEY)


def _legible(names: pl.Series) -> dict[str, str]:
    """Each name that has to be changed, with its text."""
    # A name of printable ASCII characters stays as it is.
    others = names.drop_nulls().unique()
    others = others.filter(others.str.contains("[^ -~]"))
    return {name: shown for name in others if (shown := sanitize(name)) != name}
