"""`sweep`: a grid of scenarios, run over the cores and recorded, so that a killed sweep continues where it stopped.

All files are in one folder:

- `manifest.json`: the resolved scenario, the axes, replications, seed, version and build;
- `cells/NUMBER.jsonl`: finished (cell, replication)s, a line each (`forebay.sweeps.batches`);
- `failed.jsonl`: those that an engine refused, with the reasons; tried again on the next call;
- `rows.parquet`, `costs.parquet` and `summary.parquet`: written when the grid is complete, in the order of the grid
  (`forebay.sweeps.summaries`).

A job's key is a digest of the cell's resolved scenario, engine, seed, replication and of the build of forebay. A change
of any of them makes another job. A finished job is not run again, except with `fresh`. A damaged line is ignored.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay import _core
from forebay.algorithms.processes import run_batch
from forebay.engines import check_exclusive, real_time_engines, run_s
from forebay.errors import ForebayError, InputError, UnavailableError
from forebay.extras import need
from forebay.inputs import validation
from forebay.measurement.cluster import Cluster, connected
from forebay.results.notebook_repr import Displayable
from forebay.results.report import Report
from forebay.results.warning import Warning
from forebay.scenario import Progress, Scenario, threads
from forebay.storage import build, journal
from forebay.storage.files import write_atomically
from forebay.storage.locks import exclusive_in
from forebay.storage.safe_io import DamagedError
from forebay.storage.tables import ROWS, read_table
from forebay.sweeps.axes import Axis
from forebay.sweeps.batches import Batches, refusal
from forebay.sweeps.grid import STORED, Grid
from forebay.sweeps.jobs import Job, key_of, row_of
from forebay.sweeps.manifest import FILE, Manifest
from forebay.sweeps.remote import Parcel, lines_of, pack
from forebay.sweeps.summaries import write_tables
from forebay.text.formatting import clock_time, counted, size

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Sweep", "load", "sweep"]

#: Number of jobs that are given to the cores at once; it bounds the memory of very large grids.
BATCH = 512

#: Memory of each cell that a grid stores, and of each run and each flow group in a run's row while rows are tables, in
#: bytes. At most `STORED` cells and `ROWS` rows are there at once.
CELL, RUN, GROUP = 4e3, 8e3, 4e3
#: Memory of each run for the whole time, in bytes.
NUMBERED = 64

#: Files of a sweep's folder that are first written under another name.
LEFTOVERS = ("manifest.json", "failed.jsonl", "*.parquet", "cells/*.jsonl")


@dataclass(frozen=True, slots=True, repr=False)
class Sweep(Displayable):
    """The folder of a sweep after every job that can run has run.

    Attributes
    ----------
    folder : Path
        Folder of the results.
    computed, reused : int
        Jobs that this call ran, and jobs that the folder already had.
    failed : mapping
        Reason for each job that an engine refused.
    damaged : tuple of str
        Damaged files of cells; the runs that they lacked were made again.
    warnings : tuple of Warning
        Random states that the scenario declares and that the runs of some cells can hardly show, one warning for each
        state. Then the number of runs in which simultaneous events decide the losses, if there are any. The rows have
        the warnings of their runs and cells.
    """

    folder: Path
    computed: int
    reused: int
    failed: Mapping[str, str]
    damaged: tuple[str, ...] = ()
    warnings: tuple[Warning, ...] = ()

    def rows(self) -> pl.DataFrame:
        """One row per cell and replication."""
        return load(self.folder, "rows")

    def summary(self) -> pl.DataFrame:
        """One row per cell: mean, half width and count of every metric."""
        return load(self.folder, "summary")

    def xarray(self) -> Any:
        """Return the means as an `xarray.Dataset` over the axes (needs the extra `xarray`).

        Coordinates of quantities are rising numbers in base units (seconds, bits per second, bytes, packets, multiples
        of the bandwidth-delay product), with the unit as the attribute `units`. Other axes have their texts. Each
        metric has its half widths beside it as `NAME_half_width`.
        """
        from forebay.sweeps.datasets import dataset

        return dataset(self.summary())

    def __repr__(self) -> str:
        manifest = Manifest.read(self.folder)
        axes = " x ".join(f"{axis.key} ({len(axis.values)})" for axis in manifest.axes)
        of = f" of {manifest.title!r}" if manifest.title else ""
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"<Sweep{of} over {axes or 'nothing'} in {str(self.folder)!r}{failed}>"


def sweep(
    scenario: Scenario,
    over: Iterable[str | Axis],
    out: str | os.PathLike[str],
    *,
    engine: str = "packet",
    replications: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    scheduler: str | Cluster | None = None,
    progress: Progress | None = None,
    fresh: bool = False,
    tell: Callable[[str], object] | None = None,
    timeless: bool = False,
) -> Sweep:
    """Run a scenario over a grid, or continue a sweep.

    Parameters
    ----------
    scenario : Scenario
        Scenario from which every cell starts.
    over : iterable of str or Axis
        Axes such as "link.buffer=0.01BDP..2BDP:12"; see `forebay.sweeps.axes`.
    out : path-like
        Folder of the results; a folder of the same sweep is continued.
    engine : str
        Engine if no axis names it. Runs in real time are made one at a time. Those that the folder has are not
        repeated,
        although no two of them are equal.
    replications, seed : int, optional
        In place of the scenario's own.
    jobs : int, optional
        Threads; no number in the results depends on it. If all runs are in real time, 1.
    scheduler : str or Cluster, optional
        Address of a Dask scheduler whose workers run the jobs instead of this machine's threads (extra `cluster`);
        not with runs in real time.
    progress : callable, optional
        Called with the number of finished jobs and the number of all jobs.
    fresh : bool
        Whether to run everything, whatever the folder already has.
    tell : callable, optional
        Called with lines of text: damage in the folder, the duration of runs in real time, and before the first run the
        random states that the runs can hardly show, and after the last run the number of runs in which simultaneous
        events decide the losses.
    timeless : bool
        Whether to leave out runs in real time.

    Returns
    -------
    Sweep
        The folder, with the jobs that failed if an engine refused some.

    Raises
    ------
    InputError
        If an axis is wrong, if a cell is no valid scenario, or if the folder belongs to another sweep, cannot be
        written
        or is in use by another process.
    UnavailableError
        If this machine cannot run a requested engine; finished jobs of other engines stay.
    MissingPackageError
        If polars is not installed.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     grid = forebay.sweep(forebay.Scenario.load("@dsl-access"), ["link.buffer=20p,40p"], folder)
    ...     grid.computed  # Two buffers, four replications each.
    8
    """
    need("polars")
    folder = Path(out)
    axes = [axis if isinstance(axis, Axis) else Axis.parse(axis) for axis in over]
    count = scenario.core.replications if replications is None else replications
    count = validation.integer(count, (1, validation.MOST_REPLICATIONS), "replications")
    seed = scenario.core.seed if seed is None else validation.integer(seed, (0, validation.MOST_SEED), "seed")
    _afford(scenario, axes, count)
    manifest = Manifest(
        _core.__version__,
        scenario.resolved,
        scenario.core.sha256,
        tuple(axes),
        engine,
        count,
        seed,
        build.fingerprint(),
    )
    threads_here = threads(jobs)
    try:
        grid = Grid(scenario, axes, engine, count, seed, real_time_engines() if timeless else ())
        _check_exclusive(grid.engines, jobs, scheduler)
        with connected(scheduler) as cluster:
            for part in (folder, folder / "cells"):
                part.mkdir(parents=True, exist_ok=True)
            with exclusive_in(folder, "a sweep"), Batches(folder / "cells") as batches:
                _open(folder, manifest)
                work = Work(grid, batches, progress or (lambda _done, _of: None))
                tell = tell or (lambda _line: None)
                if not fresh:
                    work.find(tell)
                work.foretell(tell)
                warnings = grid.rare.warnings()
                for warning in warnings:
                    tell(warning)
                if cluster is None:
                    work.run(threads_here)
                else:
                    work.run_on(cluster)
                batches.close()
                _write_failed(folder, work.failed)
                events = write_tables(folder, grid, batches, work.lines).warnings()
                for warning in events:
                    tell(warning)
        return Sweep(folder, work.computed, work.reused, work.failed, tuple(work.damaged), (*warnings, *events))
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written: {error.strerror or error}") from None


def _check_exclusive(engines: Collection[str], jobs: int | None, scheduler: str | Cluster | None) -> None:
    """Refuse threads if they would have nothing to do, and a scheduler if an engine must not use it."""
    for name in engines:
        check_exclusive(name, jobs=jobs if len(engines) == 1 else None, scheduler=scheduler)


def _afford(scenario: Scenario, axes: Sequence[Axis], replications: int) -> None:
    """Refuse a grid whose rows take more memory than is allowed."""
    count = math.prod(len(axis.values) for axis in axes)
    runs = count * replications
    need = min(count, STORED) * CELL + min(runs, ROWS) * (RUN + GROUP * len(scenario.core.groups)) + runs * NUMBERED
    allowed = _core.allowed_memory()
    if need > allowed:
        found = f"found a grid of {counted(runs, 'run')}, whose rows may need {size(need)} of memory"
        raise InputError(f"{found}; allowed: {size(allowed)} ({_core.MORE_MEMORY})", "over")


def _open(folder: Path, manifest: Manifest) -> None:
    """Check that the folder belongs to the same sweep; clear half-written files. The caller holds the folder's lock."""
    for leftover in (path for pattern in LEFTOVERS for path in folder.glob(f"{pattern}.*.partial")):
        leftover.unlink(missing_ok=True)
    path = folder / FILE
    if os.path.lexists(path):
        try:
            found = Manifest.read(folder)
        except DamagedError as error:
            raise InputError(f"{path}: found {error.found}; allowed: {error.allowed}, or a new folder", "out") from None
        for name in (each.name for each in fields(Manifest)):
            if getattr(found, name) != getattr(manifest, name) and name != "replications":
                raise InputError(
                    f"{path}: found a sweep with another `{name}`; allowed: the same sweep, or a new folder", "out"
                )
        if next((folder / "cells").glob("*.json"), None) is not None:
            raise InputError(f"{folder}: found a sweep with a file for each cell; allowed: a new folder", "out")
        if found == manifest:
            return
    write_atomically(path, manifest.to_json())


class Work:
    """The jobs of a grid and the state of each: found in the folder, run now, or failed.

    Attributes
    ----------
    lines : array
        The place of the stored row of each job; -1 without one. Only the first job of a key has a row.
    damaged : list of str
        Damaged files.
    failed : dict
        Reason for each job that an engine refused.
    computed, reused : int
        Jobs that were run, and jobs that had a row before.
    """

    def __init__(self, grid: Grid, batches: Batches, progress: Progress) -> None:
        import numpy as np

        self.grid, self.batches, self.progress = grid, batches, progress
        self.lines = np.full(len(grid), -1, np.int64)
        self.damaged: list[str] = []
        self.failed: dict[str, str] = {}
        self.computed = self.reused = self.done = 0

    def find(self, tell: Callable[[str], object]) -> None:
        """Accept every row that the folder has, and report damaged files."""

        def damaged(path: Path, found: str) -> None:
            tell(f"{path}: found {found}; runs what is missing again")
            self.damaged.append(str(path))

        self.batches.read(self.accept, damaged)

    def accept(self, entry: Mapping[str, Any], place: int) -> bool:
        """Record what a line reports of a job, if there is such a job; False if the line cannot be that job's."""
        number = self.grid.find(str(entry.get("key")))
        if number is None:  # of a replication that this sweep does not have
            return True
        if "refused" in entry:
            self.lines[number] = -1
            return True
        if not self.grid.accepts(entry):
            return False
        self.lines[number] = place
        return True

    def foretell(self, tell: Callable[[str], object]) -> None:
        """Report the duration of the missing runs in real time."""
        engines = real_time_engines() & self.grid.engines
        if not engines:
            return
        missing = [number for number in self._missing().tolist() if self.grid.run(number).engine in engines]
        if missing:
            runs = counted(len(missing), "run")
            seconds = clock_time(sum(run_s(self.grid.job(number).scenario) for number in missing))
            tell(
                f"{runs} of the {' and '.join(sorted(engines))} engine, one at a time in real time: {seconds} at least"
            )

    def run(self, threads: int) -> None:
        """Run the missing jobs on `threads` threads."""
        missing, seed = self._begin(), self.grid.seed
        for start in range(0, len(missing), BATCH):
            numbers = missing[start : start + BATCH].tolist()
            batch = [self.grid.job(number) for number in numbers]

            def observe(
                index: int,
                outcome: _core.Report | Exception,
                numbers: Sequence[int] = numbers,
                batch: Sequence[Job] = batch,
            ) -> None:
                if isinstance(outcome, Exception):
                    self._refuse(numbers[index], outcome)
                else:
                    self._store(numbers[index], journal.line(row_of(batch[index], seed, Report(outcome))))

            jobs = [_core.Job(job.scenario, job.engine, seed, job.replication) for job in batch]
            run_batch(jobs, threads, observe)

    def run_on(self, cluster: Cluster) -> None:
        """Run the missing jobs on a cluster; every cell is made there from the one scenario at which all start."""
        missing = self._begin()
        text = self.grid.scenario.core.portable_json()

        def packed(part: slice) -> Parcel:
            return pack(text, self.grid.seed, map(self.grid.run, missing[part].tolist()))

        def observe(index: int, found: bytes | ForebayError) -> None:
            number = int(missing[index])
            if isinstance(found, ForebayError):
                self._refuse(number, found)
                return
            row = journal.text(found)
            assert row is not None, "a worker of this build writes such lines"
            assert key_of(row) == self.grid.key(number), "a worker of this build makes the same cell"
            self._store(number, found)

        cluster.run(lines_of, len(missing), packed, observe)

    def _missing(self) -> NDArray[np.intp]:
        """The first job of each key that has no row."""
        import numpy as np

        return np.flatnonzero((self.lines < 0) & (self.grid.firsts == np.arange(len(self.grid))))

    def _begin(self) -> NDArray[np.intp]:
        """The jobs that have no row yet, each once."""
        missing = self._missing()
        self.reused = self.done = len(self.grid) - len(missing)
        self.progress(self.done, len(self.grid))
        return missing

    def _store(self, number: int, line: bytes) -> None:
        self.lines[number] = self.batches.add(line)
        self.computed += 1
        self._advance()

    def _refuse(self, number: int, why: Exception) -> None:
        # If this machine lacks something, all jobs of the engine lack it.
        if not isinstance(why, ForebayError) or isinstance(why, UnavailableError):
            raise why
        self.failed[str(self.grid.run(number))] = str(why)
        self.batches.add(refusal(self.grid.key(number), str(why)))
        self._advance()

    def _advance(self) -> None:
        self.done += 1
        self.progress(self.done, len(self.grid))


def _write_failed(folder: Path, failed: Mapping[str, str]) -> None:
    """Write which jobs were refused, and why; no file if none was."""
    path = folder / "failed.jsonl"
    if failed:
        write_atomically(path, "".join(json.dumps({"job": job, "why": why}) + "\n" for job, why in failed.items()))
    else:
        path.unlink(missing_ok=True)


def load(
    folder: str | os.PathLike[str], table: str = "rows", columns: Callable[[str], bool] | None = None
) -> pl.DataFrame:
    """Read a sweep's "rows", "costs" or "summary" as a polars data frame, with all columns or with those chosen."""
    path = Path(folder) / f"{table}.parquet"
    if not os.path.lexists(path):
        raise InputError(f"{path}: found no such table; allowed: a folder whose sweep has finished")
    return read_table(path, "a table as sweep wrote it (the same sweep writes it again)", columns)
