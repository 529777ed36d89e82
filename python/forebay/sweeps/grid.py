"""The jobs of a sweep by number, in the order of the grid, without an object for each of them.

A sweep may have millions of jobs, and a job with its scenario takes some kilobytes. A grid checks every cell once, at
the beginning. It stores the keys of the jobs and the number of the first job of each cell, about 50 bytes for each job.
A job is made again when it is needed. Jobs of one key run once: the first of them represents the others.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forebay.scenario import Scenario
from forebay.sweeps.axes import Axis, Cell, cells
from forebay.sweeps.jobs import CellJobs, CellRun, Job, identity
from forebay.sweeps.rare_states import RareStates

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["STORED", "Grid"]

#: Number of cells whose scenarios a grid stores. The others are made twice: for the check, and for their runs.
STORED = 10_000


class Grid:
    """The jobs of a sweep.

    Parameters
    ----------
    scenario : Scenario
        Scenario from which every cell starts.
    axes : sequence of Axis
    engine : str
        Engine of the cells if no axis names it.
    replications, seed : int
        Number of replications of every cell, and their seed.
    without : collection of str
        Engines whose jobs are left out.

    Attributes
    ----------
    engines : set of str
        Engines of all cells, also of those that are left out.
    rare : RareStates
        Random states that the runs of the cells can hardly show.

    Raises
    ------
    InputError
        If a cell is no valid scenario, or if there is no such engine.
    """

    def __init__(
        self,
        scenario: Scenario,
        axes: Sequence[Axis],
        engine: str,
        replications: int,
        seed: int,
        without: Collection[str] = (),
    ) -> None:
        import numpy as np

        self.scenario, self.axes, self.engine, self.seed = scenario, axes, engine, seed
        self.engines: set[str] = set()
        self.rare = RareStates()
        #: The number of the first job of each cell.
        self._begins = array("q")
        self._stored: dict[int, CellJobs] = {}
        self._last: CellJobs | None = None
        self._replications = replications
        keys = bytearray()
        for cell in cells(axes):
            self._begins.append(len(keys) // 16)
            jobs = CellJobs.of(scenario, cell, engine, replications, seed)
            self.engines.add(jobs.engine)
            if jobs.engine in without:
                continue
            for replication in range(jobs.replications):
                keys += bytes.fromhex(jobs.key(replication))
            self.rare.add(jobs)
            if cell.index < STORED:
                self._stored[cell.index] = jobs
        #: The different keys in rising order, the first job of each, and the place of each job's key among them.
        self._keys, self._first, self._places = np.unique(
            np.frombuffer(bytes(keys), "S16"), return_index=True, return_inverse=True
        )
        self._strides = [math.prod(len(axis.values) for axis in axes[after:]) for after in range(1, len(axes) + 1)]

    def __len__(self) -> int:
        return len(self._places)

    @property
    def firsts(self) -> NDArray[np.intp]:
        """The number of the job that represents each job: the first one of the same key."""
        found: NDArray[np.intp] = self._first[self._places]
        return found

    @property
    def cells(self) -> NDArray[np.int64]:
        """The index of each job's cell."""
        import numpy as np

        begins = np.frombuffer(self._begins, np.int64)
        counts = np.diff(begins, append=len(self))
        return np.repeat(np.arange(len(begins)), counts)

    def settings(self, indices: NDArray[np.int64]) -> dict[str, list[str]]:
        """The values of cells along each axis, by the key of the axis."""
        found = {}
        for axis, stride in zip(self.axes, self._strides, strict=True):
            places = indices // stride % len(axis.values)
            found[axis.key] = [axis.values[place] for place in places.tolist()]
        return found

    def run(self, number: int) -> CellRun:
        """The cell, replication and engine of a job."""
        index = bisect_right(self._begins, number) - 1
        places = [index // stride % len(axis.values) for axis, stride in zip(self.axes, self._strides, strict=True)]
        settings = tuple((axis.key, axis.values[place]) for axis, place in zip(self.axes, places, strict=True))
        cell = Cell(index, settings)
        return CellRun(cell, number - self._begins[index], cell.engine(self.engine))

    def job(self, number: int) -> Job:
        """A job; its scenario is made again unless it is that of a stored cell, or of the last call."""
        index = bisect_right(self._begins, number) - 1
        jobs = self._stored.get(index)
        if jobs is None:
            if self._last is None or self._last.cell.index != index:
                cell = self.run(number).cell
                self._last = CellJobs.of(self.scenario, cell, self.engine, self._replications, self.seed)
            jobs = self._last
        return jobs.job(number - self._begins[index])

    def key(self, number: int) -> str:
        """The key of a job."""
        return bytes(self._keys[self._places[number]]).ljust(16, b"\0").hex()

    def find(self, key: str) -> int | None:
        """The first job of a key, given as text; None if there is none."""
        try:
            wanted = bytes.fromhex(key)
        except ValueError:
            return None
        # NumPy drops zeros at the end of bytes.
        at = int(self._keys.searchsorted(wanted))
        there = at < len(self._keys) and len(wanted) == 16 and self._keys[at] == wanted.rstrip(b"\0")
        return int(self._first[at]) if there else None

    def accepts(self, row: Mapping[str, Any]) -> bool:
        """Whether the other entries of a row belong to the job that its key names."""
        sha256, engine, replication = (row.get(name) for name in ("scenario_sha256", "engine", "replication"))
        key: object = row["key"]
        return type(replication) is int and identity(str(sha256), str(engine), self.seed, replication) == key
