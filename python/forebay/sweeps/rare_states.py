"""Warnings of the cells of a grid: declared random states that the runs of a cell can hardly show.

`sweep` prints them before the first run and adds them to the rows of each cell.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

from forebay.phase_effects import rare_states
from forebay.results.warning import Warning
from forebay.sweeps.axes import Cell
from forebay.sweeps.jobs import CellJobs

__all__ = ["RareStates"]


@dataclass(slots=True)
class _State:
    """The warnings of one random state.

    Attributes
    ----------
    cell, rarest : Cell, Warning
        First cell whose runs show the state least, and its warning.
    cells : int
        Number of cells with a warning of the state.
    alike : bool
        Whether the warnings of all these cells are the same text.
    """

    cell: Cell
    rarest: Warning
    cells: int = 1
    alike: bool = True

    def add(self, cell: Cell, warning: Warning) -> None:
        """Count the warning of another cell."""
        self.cells += 1
        self.alike = self.alike and warning == self.rarest
        if warning.values["shown"] < self.rarest.values["shown"]:
            self.cell, self.rarest = cell, warning

    def summarized(self, cells: int) -> Warning:
        """One warning for all cells of a grid of `cells` cells."""
        if self.cells == cells and self.alike:
            return self.rarest
        where = f"cell {self.cell.index} ({self.cell})"
        if self.cells == 1:
            return self.rarest.saying(f"{self.rarest} The warning concerns {where} alone.")
        concerned = f"The warning concerns {self.cells} of {cells} cells; its figures are of {where}."
        return self.rarest.saying(f"{self.rarest} {concerned}")


@dataclass(slots=True)
class RareStates:
    """Warnings of random states that all runs of a cell together can hardly show, for every cell of a grid."""

    _cells: int = 0
    _states: dict[str, _State] = field(default_factory=dict)
    #: Different texts of cells, and the place of each cell's text among them.
    _texts: dict[str, int] = field(default_factory=lambda: {"": 0})
    _of_cells: array[int] = field(default_factory=lambda: array("i"))

    def add(self, jobs: CellJobs) -> None:
        """Add the jobs of a cell. Cells are added in the order of the grid; a cell may be left out."""
        self._cells += 1
        warnings = rare_states(jobs.scenario, jobs.engine, jobs.replications)
        for warning in warnings:
            if (state := self._states.get(warning.subject)) is None:
                self._states[warning.subject] = _State(jobs.cell, warning)
            else:
                state.add(jobs.cell, warning)
        missing = jobs.cell.index + 1 - len(self._of_cells)
        self._of_cells.extend([0] * (missing - 1))
        self._of_cells.append(self._texts.setdefault("; ".join(warnings), len(self._texts)))

    def warnings(self) -> tuple[Warning, ...]:
        """Return one warning for each random state: that of the cell whose runs show the state least."""
        return tuple(state.summarized(self._cells) for state in self._states.values())

    def texts(self, cells: Iterable[int]) -> list[str] | None:
        """The warnings of some cells as texts, empty for a cell without one; None if no cell of the grid has one."""
        if len(self._texts) == 1:
            return None
        texts = list(self._texts)
        return [texts[self._of_cells[cell]] for cell in cells]
