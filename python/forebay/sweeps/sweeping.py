"""`sweep`: a grid of scenarios, run over the cores, recorded so that a killed sweep goes on where it stopped.

Everything lives in one folder:

- `manifest.json`: the resolved scenario, the axes, replications, seed, version and build;
- `cells/NUMBER.jsonl`: finished (cell, replication)s, a line each (`forebay.sweeps.batches`);
- `failed.jsonl`: those that an engine refused, with the reasons; tried again on the next call;
- `rows.parquet`, `costs.parquet` and `summary.parquet`: written when the grid is complete, in the order of the grid
  (`forebay.sweeps.summaries`).

A job's key is a digest of the cell's resolved scenario, engine, seed, replication and of the build of forebay: changing
any of them makes it another cell, and nothing is ever computed twice. A line that is not as it was written is no cell.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay import _core, bounds, build, journal
from forebay.display import Shown
from forebay.errors import ForebayError, InputError, UnavailableError
from forebay.extras import need
from forebay.files import write_whole
from forebay.formatting import clock_time, counted, size
from forebay.locks import alone_in
from forebay.measurement.cluster import Cluster, connected
from forebay.real_time import check_alone, real_time_engines, run_s
from forebay.report import Report
from forebay.scenario import Progress, Scenario, threads
from forebay.sweeps.axes import Axis
from forebay.sweeps.batches import Batches, refusal
from forebay.sweeps.jobs import Job, Row, jobs_of, placed, row_of
from forebay.sweeps.manifest import FILE, Manifest
from forebay.sweeps.rare_states import summarized, warned, warnings_of_cells
from forebay.sweeps.remote import lines_of, pack
from forebay.sweeps.summaries import write_tables
from forebay.tables import read_table
from forebay.untrusted import DamagedError
from forebay.warning import Warning

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Sweep", "load", "sweep"]

#: Jobs that are handed to the cores at once: bounds the memory of very large grids.
BATCH = 512

#: Bytes that a sweep keeps of a cell, of each of its runs, and of each flow group in a run's row, all of them at once
#: when the tables are made.
CELL, RUN, GROUP = 4e3, 8e3, 4e3

#: What is written in a sweep's folder, under another name first.
LEFTOVERS = ("manifest.json", "failed.jsonl", "*.parquet", "cells/*.jsonl")


@dataclass(frozen=True, slots=True, repr=False)
class Sweep(Shown):
    """A sweep's folder once everything that can be computed is.

    Attributes
    ----------
    folder : Path
        Where it lives.
    computed, reused : int
        Jobs that this call ran, and jobs that were there already.
    failed : mapping
        Reason by job that no engine could answer.
    damaged : tuple of str
        Files of cells that were not as they had been written: what was wrong in them was run again.
    warnings : tuple of Warning
        Random states that the scenario declares and that the runs of some cells can hardly show, one warning for each
        state. The rows of each cell have the warnings of the cell.
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

        Coordinates of quantities are numbers in base units (seconds, bits per second, bytes, packets, multiples of the
        bandwidth-delay product), rising, with the unit as the attribute `units`; other axes keep their texts. Each
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
    """Run a scenario over a grid, or go on with it.

    Parameters
    ----------
    scenario : Scenario
        What every cell starts from.
    over : iterable of str or Axis
        Axes such as "link.buffer=0.01BDP..2BDP:12"; see `forebay.sweeps.axes`.
    out : path-like
        Folder of the results; a folder of the same sweep is continued.
    engine : str
        Where no axis names it. Runs in real time are made one at a time; those that the folder has are not repeated,
        though no two of them are equal.
    replications, seed : int, optional
        Instead of the scenario's own.
    jobs : int, optional
        Threads; no number in the results depends on it. Where all runs are in real time, 1.
    scheduler : str or Cluster, optional
        Address of a Dask scheduler whose workers run the jobs instead of this machine's threads (extra `cluster`);
        not with runs in real time.
    progress : callable, optional
        Called with the jobs done and all of them.
    fresh : bool
        Whether everything is run, whatever the folder has already.
    tell : callable, optional
        Told in a line what is damaged in the folder, how long runs in real time take, and before the first run which
        random states the runs can hardly show.
    timeless : bool
        Whether runs in real time are left out.

    Returns
    -------
    Sweep
        With the jobs that failed, where an engine refused some.

    Raises
    ------
    InputError
        A wrong axis, a cell that is no valid scenario, a folder of another sweep, one that cannot be written or one in
        which another process sweeps.
    UnavailableError
        Where this machine cannot run an engine that is asked for; what others have finished stays.
    MissingPackageError
        Without polars.
    """
    need("polars")
    folder = Path(out)
    axes = [axis if isinstance(axis, Axis) else Axis.parse(axis) for axis in over]
    count = scenario.core.replications if replications is None else replications
    count = bounds.whole(count, (1, bounds.MOST_REPLICATIONS), "replications")
    seed = scenario.core.seed if seed is None else bounds.whole(seed, (0, bounds.MOST_SEED), "seed")
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
        asked = list(jobs_of(scenario, axes, engine, count, seed))
        _check_alone({job.engine for job in asked}, jobs, scheduler)
        with connected(scheduler) as cluster:
            if timeless:
                real = real_time_engines()
                asked = [job for job in asked if job.engine not in real]
            for part in (folder, folder / "cells"):
                part.mkdir(parents=True, exist_ok=True)
            with alone_in(folder, "a sweep"), Batches(folder / "cells") as batches:
                _open(folder, manifest)
                work = Work(asked, seed, batches, progress or (lambda _done, _of: None))
                tell = tell or (lambda _line: None)
                if not fresh:
                    work.find(tell)
                work.foretell(tell)
                rare = warnings_of_cells(asked)
                warnings = summarized(rare, asked)
                for warning in warnings:
                    tell(warning)
                if cluster is None:
                    work.run(threads_here)
                else:
                    work.run_on(cluster, scenario.core)
                batches.close()
                _write_failed(folder, work.failed)
                write_tables(folder, axes, [warned(row, rare.get(row["cell"], ())) for row in work.rows()])
        return Sweep(folder, work.computed, work.reused, work.failed, tuple(work.damaged), warnings)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written: {error.strerror or error}") from None


def _check_alone(engines: Collection[str], jobs: int | None, scheduler: str | Cluster | None) -> None:
    """Refuse threads where they would have nothing to do, and a scheduler where one engine must not be there."""
    for name in engines:
        check_alone(name, jobs=jobs if len(engines) == 1 else None, scheduler=scheduler)


def _afford(scenario: Scenario, axes: Sequence[Axis], replications: int) -> None:
    """Refuse a grid whose rows take more memory than is allowed."""
    count = math.prod(len(axis.values) for axis in axes)
    runs = count * replications
    need = count * CELL + runs * (RUN + GROUP * len(scenario.core.groups))
    allowed = _core.allowed_memory()
    if need > allowed:
        found = f"found a grid of {counted(runs, 'run')}, whose rows may need {size(need)} of memory"
        raise InputError(f"{found}; allowed: {size(allowed)} ({_core.MORE_MEMORY})", "over")


def _open(folder: Path, manifest: Manifest) -> None:
    """Check that the folder belongs to the same sweep; clear what a kill left half-written. Under the folder's lock."""
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
    write_whole(path, manifest.to_json())


@dataclass(slots=True)
class Work:
    """The jobs of a grid and what is known of each: found in the folder, run now, or failed."""

    jobs: Sequence[Job]
    seed: int
    batches: Batches
    progress: Progress
    known: dict[str, Row] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    computed: int = 0
    reused: int = 0
    done: int = 0

    def find(self, tell: Callable[[str], object]) -> None:
        """Take every row that the folder has, and name what only looks like one."""

        def damaged(path: Path, found: str) -> None:
            tell(f"{path}: found {found}; runs what is missing again")
            self.damaged.append(str(path))

        self.known = self.batches.rows({job.key: job for job in self.jobs}, damaged)

    def foretell(self, tell: Callable[[str], object]) -> None:
        """Say how long the runs in real time take that are missing."""
        engines = real_time_engines() & {job.engine for job in self.jobs}
        lengths = {job.key: run_s(job.scenario) for job in self.jobs if job.engine in engines}
        missing = [length for key, length in lengths.items() if key not in self.known]
        if missing:
            runs, seconds = counted(len(missing), "run"), clock_time(sum(missing))
            tell(
                f"{runs} of the {' and '.join(sorted(engines))} engine, one at a time in real time: {seconds} at least"
            )

    def run(self, threads: int) -> None:
        """Run what is missing on so many threads."""
        missing = self._begin()
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]

            def observe(index: int, outcome: _core.Report | Exception, batch: Sequence[Job] = batch) -> None:
                job = batch[index]
                if isinstance(outcome, Exception):
                    self._refuse(job, outcome)
                else:
                    row = row_of(job, self.seed, Report(outcome))
                    self._keep(job, row, journal.line(row))

            jobs = [_core.Job(job.scenario, job.engine, self.seed, job.replication) for job in batch]
            _core.run_batch(jobs, threads, observe)

    def run_on(self, cluster: Cluster, core: _core.Scenario) -> None:
        """Run what is missing on a cluster, every cell made there of the scenario that all of them start from."""
        missing = self._begin()
        text = core.canonical_json()

        def observe(index: int, found: bytes | ForebayError) -> None:
            job = missing[index]
            if isinstance(found, ForebayError):
                self._refuse(job, found)
                return
            ((_, row),) = journal.entries(found)
            assert job.is_of(row), "a worker of this build makes the same cell"
            self._keep(job, row, found)

        cluster.run(lines_of, len(missing), lambda part: pack(text, self.seed, missing[part]), observe)

    def _begin(self) -> list[Job]:
        """What is not yet known, each job once."""
        missing = list({job.key: job for job in self.jobs if job.key not in self.known}.values())
        self.reused = self.done = len(self.jobs) - len(missing)
        self.progress(self.done, len(self.jobs))
        return missing

    def _keep(self, job: Job, row: Row, line: bytes) -> None:
        self.known[job.key] = row
        self.batches.add(line)
        self.computed += 1
        self._advance()

    def _refuse(self, job: Job, why: Exception) -> None:
        # What this machine lacks, all jobs of the engine lack.
        if not isinstance(why, ForebayError) or isinstance(why, UnavailableError):
            raise why
        self.failed[str(job)] = str(why)
        self.batches.add(refusal(job, str(why)))
        self._advance()

    def _advance(self) -> None:
        self.done += 1
        self.progress(self.done, len(self.jobs))

    def rows(self) -> list[Row]:
        """Every row that there is, in the order of the grid."""
        return [placed(self.known[job.key], job) for job in self.jobs if job.key in self.known]


def _write_failed(folder: Path, failed: Mapping[str, str]) -> None:
    """Write which jobs were refused, and why; no file where none was."""
    path = folder / "failed.jsonl"
    if failed:
        write_whole(path, "".join(json.dumps({"job": job, "why": why}) + "\n" for job, why in failed.items()))
    else:
        path.unlink(missing_ok=True)


def load(folder: str | os.PathLike[str], table: str = "rows") -> pl.DataFrame:
    """Read a sweep's "rows", "costs" or "summary" as a polars data frame."""
    path = Path(folder) / f"{table}.parquet"
    if not os.path.lexists(path):
        raise InputError(f"{path}: found no such table; allowed: a folder whose sweep has finished")
    return read_table(path, "a table as sweep wrote it (the same sweep writes it again)")
