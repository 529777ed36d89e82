"""The count of runs of a grid in which simultaneous events decide the losses.

`sweep` says it after the last run. Rows have the texts of warnings and no kinds, so that rows of an earlier call count
by their texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.results.warning import Kind, Warning
from forebay.text.formatting import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SimultaneousEvents"]

#: Part of the text of the engine's warning (`crates/simulation/src/report.rs`) that no other warning has.
PHRASE = "simultaneous events decide which flow loses"


@dataclass(slots=True)
class _Count:
    """Rows, and cells that have some of them."""

    rows: int = 0
    cells: int = 0
    last: int = -1

    def add(self, cells: pl.Series) -> None:
        """Count rows, given as their cells in the order of the grid."""
        if not len(cells):
            return
        self.rows += len(cells)
        self.cells += cells.n_unique() - (cells[0] == self.last)
        self.last = cells[-1]


class SimultaneousEvents:
    """The count over all rows, those of earlier calls included."""

    def __init__(self) -> None:
        self._all, self._concerned = _Count(), _Count()

    @property
    def runs(self) -> int:
        """Number of all rows."""
        return self._all.rows

    def add(self, frame: pl.DataFrame) -> None:
        """Count further rows of the table, in the order of the grid."""
        self._all.add(frame["cell"])
        self._concerned.add(frame.filter(frame["warnings"].str.contains(PHRASE, literal=True))["cell"])

    def warnings(self) -> tuple[Warning, ...]:
        """Warn once of all runs in which simultaneous events decide the losses; nothing if there are none."""
        concerned, of = self._concerned, self._all
        if not concerned.rows:
            return ()
        where = f"{concerned.cells} of {counted(of.cells, 'cell')}"
        text = (
            f"In {concerned.rows} of {counted(of.rows, 'run')} ({where}), {PHRASE} (a phase effect): set "
            '`processing = "packet"`, so that the hosts\' processing time varies.'
        )
        values = {"runs": concerned.rows, "of_runs": of.rows, "cells": concerned.cells, "of_cells": of.cells}
        return (Warning(Kind.SIMULTANEOUS_EVENTS, text, values=values),)
