"""Warnings of the cells of a grid: declared random states that the runs of a cell can hardly show.

`sweep` prints them before the first run and adds them to the rows of each cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from forebay.phase_effects import rare_states
from forebay.results.warning import Warning
from forebay.sweeps.jobs import Job, Row

__all__ = ["summarized", "warned", "warnings_of_cells"]

#: Warnings of each cell that has some, by the index of the cell.
OfCells = Mapping[int, Sequence[Warning]]


def warnings_of_cells(jobs: Iterable[Job]) -> OfCells:
    """Warn of the random states of each cell that all runs of the cell together can hardly show.

    Parameters
    ----------
    jobs : iterable of Job
        All jobs of the grid, in the order of the grid. The runs of a cell follow each other.
    """
    found = {}
    for index, runs in groupby(jobs, key=lambda job: job.cell.index):
        first, *others = runs
        if warnings := rare_states(first.scenario, first.engine, 1 + len(others)):
            found[index] = warnings
    return found


def summarized(found: OfCells, jobs: Sequence[Job]) -> tuple[Warning, ...]:
    """Return one warning for each random state: that of the cell whose runs show the state least."""
    cells = {job.cell.index: job.cell for job in jobs}
    by_state: dict[str, list[tuple[int, Warning]]] = {}
    for index, warnings in found.items():
        for warning in warnings:
            by_state.setdefault(warning.subject, []).append((index, warning))
    stated = []
    for concerned in by_state.values():
        index, rarest = min(concerned, key=lambda each: each[1].values["shown"])
        if len(concerned) == len(cells) and len({str(warning) for _, warning in concerned}) == 1:
            stated.append(rarest)
            continue
        where = f"cell {index} ({cells[index]})"
        if len(concerned) == 1:
            text = f"{rarest} The warning concerns {where} alone."
        else:
            text = f"{rarest} The warning concerns {len(concerned)} of {len(cells)} cells; its figures are of {where}."
        stated.append(rarest.saying(text))
    return tuple(stated)


def warned(row: Row, warnings: Sequence[Warning]) -> Row:
    """Return the row of a run with the warnings of its cell after those of the run."""
    return {**row, "warnings": "; ".join(filter(None, [row["warnings"], *warnings]))} if warnings else row
