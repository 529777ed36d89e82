"""Cells as they are sent to the workers of a cluster, and the lines that come back.

Every worker makes its cells from the one scenario from which all of them start, and writes their rows, too. The process
that collects the rows only checks each line and appends it to a file. There is one such process, and its work for each
cell limits the size of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from forebay import _core
from forebay.algorithms.code_files import admit_all
from forebay.errors import ForebayError
from forebay.measurement.cluster import Answer, run_here
from forebay.results.report import Report
from forebay.storage import journal
from forebay.sweeps.axes import Cell
from forebay.sweeps.jobs import CellRun, Job, identity, row_of

__all__ = ["Parcel", "lines_of", "pack"]

#: A job as it is sent: index and settings of its cell, its engine and replication.
Flat = tuple[int, tuple[tuple[str, str], ...], str, int]


@dataclass(frozen=True, slots=True)
class Parcel:
    """Some jobs of a sweep.

    Attributes
    ----------
    scenario : str
        The scenario from which every cell starts, as canonical JSON.
    seed : int
    jobs : tuple of Flat
    """

    scenario: str
    seed: int
    jobs: tuple[Flat, ...]

    def unpacked(self) -> list[Job]:
        """The jobs as they were before packing."""
        start = _read(self.scenario)
        scenarios: dict[Cell, tuple[_core.Scenario, str]] = {}
        found = []
        for index, settings, engine, replication in self.jobs:
            cell = Cell(index, settings)
            if cell not in scenarios:
                core = cell.of(start)
                scenarios[cell] = core, core.sha256
            core, digest = scenarios[cell]
            found.append(Job(cell, replication, engine, core, digest, identity(digest, engine, self.seed, replication)))
        return found


@lru_cache(maxsize=4)
def _read(scenario: str) -> _core.Scenario:
    admit_all(scenario)
    return _core.Scenario.parse(scenario, "json", "cell", [])


def pack(scenario: str, seed: int, jobs: Iterable[CellRun]) -> Parcel:
    """Jobs of cells that start from a scenario, given as canonical JSON."""
    flat = ((job.cell.index, job.cell.settings, job.engine, job.replication) for job in jobs)
    return Parcel(scenario, seed, tuple(flat))


def lines_of(parcel: Parcel, memory: int) -> list[Answer]:
    """On a worker: the line of each job, or the reason why there is none."""
    jobs = parcel.unpacked()

    def jobs_within(allowed: int) -> list[_core.Job]:
        return [_core.Job(job.scenario, job.engine, parcel.seed, job.replication, memory=allowed) for job in jobs]

    outcomes = zip(jobs, run_here(jobs_within, memory), strict=True)
    return [
        (False, str(outcome))
        if isinstance(outcome, ForebayError)
        else (True, journal.line(row_of(job, parcel.seed, Report(outcome))))
        for job, outcome in outcomes
    ]
