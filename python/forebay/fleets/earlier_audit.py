"""The earlier audit in the folder of a new one: a note if it is that of another network, whose tables it would lose.

`auditing` calls it before the first measurement.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.errors import ForebayError
from forebay.fleets.columns import KEY
from forebay.fleets.merging import with_full_names
from forebay.storage.tables import read_table
from forebay.text.formatting import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["note_another_network"]

#: Names by which a port is the same in two audits.
_KEY = ("_device", "_port", "service_class")


def note_another_network(folder: Path | None, ports: pl.DataFrame, tell: Callable[[str], object] | None) -> None:
    """Tell that tables of another network are replaced: fewer than half of their ports are in the inventory.

    Parameters
    ----------
    folder : Path or None
        The folder of the results.
    ports : DataFrame
        The ports of the new audit.
    tell : callable or None
        Called with the note.
    """
    if folder is None or tell is None or not (folder / "ports.parquet").is_file():
        return
    try:
        found = read_table(folder / "ports.parquet", "an audit", KEY.__contains__)
    except (ForebayError, OSError):
        return  # a damaged table
    if not set(KEY) <= set(found.columns):
        return
    earlier = with_full_names(found).select(_KEY)
    common = earlier.join(with_full_names(ports).select(_KEY), on=_KEY, how="semi", nulls_equal=True).height
    if 2 * common < earlier.height:
        text = f"{common:,} of the {counted(earlier.height, 'port')} of its earlier audit are in this inventory"
        tell(f"{folder}: {text}; its tables are replaced, and its measurements are kept")
