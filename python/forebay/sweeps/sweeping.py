"""`sweep`: a grid of scenarios, run over the cores, recorded so that a killed sweep goes on where it stopped.

Everything lives in one folder:

- `manifest.json`: the resolved scenario, the axes, replications, seed, version and build;
- `cells/KEY.json`: one finished (cell, replication), written under another name, synced, then renamed: it is there
  completely or not at all, and carries its key and a checksum (`forebay.sweeps.records`);
- `failed/KEY.json`: a cell that an engine refused, with the reason; tried again on the next call;
- `rows.parquet` and `summary.parquet`: one row per cell and replication, and one per cell with means and 95 % half
  widths; written when the grid is complete, in the order of the grid.

KEY is a digest of the cell's resolved scenario, engine, seed, replication and of the build of forebay: changing any of
them makes it another cell, and nothing is ever computed twice. A cell that is not as it was written is run again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay import _core, bounds, build
from forebay.display import Shown
from forebay.errors import ForebayError, InputError
from forebay.files import whole, write_whole
from forebay.formatting import counted, size
from forebay.locks import alone_in
from forebay.plain import plain
from forebay.report import Report
from forebay.scenario import Progress, Scenario, threads
from forebay.sweeps.axes import Axis, Cell, cells
from forebay.sweeps.manifest import FILE, Manifest
from forebay.sweeps.records import Row, identity, read_row, write_row
from forebay.tables import read_table, write_table
from forebay.untrusted import DamagedError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Sweep", "load", "sweep"]

#: Jobs that are handed to the cores at once: bounds the memory of very large grids.
BATCH = 512

#: Bytes that a sweep keeps of a cell, of each of its runs, and of each flow group in a run's row, all of them at once
#: when the tables are made.
CELL, RUN, GROUP = 4e3, 8e3, 4e3

#: What is written in a sweep's folder, under another name first.
LEFTOVERS = ("manifest.json", "*.parquet", "cells/*.json", "failed/*.json")


@dataclass(frozen=True, slots=True)
class Job:
    """One replication of one cell."""

    cell: Cell
    replication: int
    engine: str
    scenario: _core.Scenario
    key: str


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
        Files of cells that were not as they had been written, and were run again.
    """

    folder: Path
    computed: int
    reused: int
    failed: Mapping[str, str]
    damaged: tuple[str, ...] = ()

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
    scheduler: str | None = None,
    progress: Progress | None = None,
    fresh: bool = False,
    tell: Callable[[str], object] | None = None,
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
        Where no axis names it.
    replications, seed : int, optional
        Instead of the scenario's own.
    jobs : int, optional
        Threads; no number in the results depends on it.
    scheduler : str, optional
        Address of a Dask scheduler whose workers run the jobs instead of this machine's threads (extra `cluster`).
    progress : callable, optional
        Called with the jobs done and all of them.
    fresh : bool
        Whether everything is run, whatever the folder has already.
    tell : callable, optional
        Told in a line what is damaged in the folder.

    Returns
    -------
    Sweep
        With the jobs that failed, where an engine refused some.

    Raises
    ------
    InputError
        A wrong axis, a cell that is no valid scenario, a folder of another sweep, one that cannot be written or one in
        which another process sweeps.
    """
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
    work = Work(folder, list(jobs_of(scenario, axes, engine, count, seed)), seed, progress or (lambda _done, _of: None))
    where = scheduler or threads(jobs)
    try:
        for part in (folder, folder / "cells", folder / "failed"):
            part.mkdir(parents=True, exist_ok=True)
        with alone_in(folder, "a sweep"):
            _open(folder, manifest)
            if not fresh:
                work.find(tell or (lambda _line: None))
            work.run(where)
            _write_tables(folder, axes, work.rows())
        return work.result()
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written: {error.strerror or error}") from None


def _afford(scenario: Scenario, axes: Sequence[Axis], replications: int) -> None:
    """Refuse a grid whose rows take more memory than is allowed."""
    count = math.prod(len(axis.values) for axis in axes)
    runs = count * replications
    need = count * CELL + runs * (RUN + GROUP * len(scenario.core.groups))
    allowed = _core.allowed_memory()
    if need > allowed:
        found = f"found a grid of {counted(runs, 'run')}, whose rows may need {size(need)} of memory"
        raise InputError(f"{found}; allowed: {size(allowed)} ({_core.MORE_MEMORY})", "over")


def jobs_of(scenario: Scenario, axes: Sequence[Axis], engine: str, count: int, seed: int) -> Iterator[Job]:
    """Every replication of every cell, in the order of the grid; the scenario of each cell is read once."""
    engines = {engine.name: engine for engine in _core.engines()}
    for cell in cells(axes):
        core = scenario.core.with_overrides(cell.overrides) if cell.overrides else scenario.core
        chosen = cell.engine(engine)
        if chosen not in engines:
            argument = "engine" if chosen == engine else "over"
            raise InputError(_core.unknown("engine", chosen, list(engines)), argument)
        for replication in range(count if engines[chosen].replicates else 1):
            key = identity(core, chosen, seed, replication)
            yield Job(cell, replication, chosen, core, key)


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
        if found == manifest:
            return
    write_whole(path, manifest.to_json())


@dataclass(slots=True)
class Work:
    """The jobs of a grid and what is known of each: found in the folder, run now, or failed."""

    folder: Path
    jobs: Sequence[Job]
    seed: int
    progress: Progress
    known: dict[str, Row] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    computed: int = 0
    reused: int = 0
    done: int = 0

    def path(self, job: Job) -> Path:
        """The file of a job's row."""
        return self.folder / "cells" / f"{job.key}.json"

    def find(self, tell: Callable[[str], object]) -> None:
        """Take every row that the folder has, and name what only looks like one."""
        names = {path.name for path in (self.folder / "cells").iterdir()}
        for key, job in {job.key: job for job in self.jobs}.items():
            if f"{key}.json" not in names:
                continue
            try:
                self.known[key] = read_row(self.path(job), job)
            except DamagedError as error:
                tell(f"{error.where}: found {error.found}; runs this cell again")
                self.damaged.append(error.where)
                _clear(self.path(job))

    def run(self, where: int | str) -> None:
        """Run what is missing, on so many threads or on a cluster, and record each job as it finishes."""
        missing = list({job.key: job for job in self.jobs if job.key not in self.known}.values())
        self.reused = self.done = len(self.jobs) - len(missing)
        self.progress(self.done, len(self.jobs))
        if isinstance(where, str):
            from forebay.sweeps.cluster import run_on_cluster

            parcels = [(job.scenario.canonical_json(), job.engine, self.seed, job.replication) for job in missing]
            if parcels:
                run_on_cluster(where, parcels, lambda index, outcome: self._record(missing[index], outcome))
        else:
            for start in range(0, len(missing), BATCH):
                batch = missing[start : start + BATCH]

                def observe(index: int, outcome: _core.Report | Exception, batch: Sequence[Job] = batch) -> None:
                    self._record(batch[index], outcome if isinstance(outcome, Exception) else Report(outcome))

                jobs = [_core.Job(job.scenario, job.engine, self.seed, job.replication) for job in batch]
                _core.run_batch(jobs, where, observe)
        self.computed = len(missing) - len(self.failed)

    def _record(self, job: Job, outcome: Report | Exception) -> None:
        """Keep a job's row, or the reason why it has none."""
        self.done += 1
        refused = self.folder / "failed" / f"{job.key}.json"
        if isinstance(outcome, Exception):
            if not isinstance(outcome, ForebayError):
                raise outcome
            self.failed[_label(job)] = str(outcome)
            reason = {"job": _label(job), "why": str(outcome)}
            write_whole(refused, json.dumps(reason) + "\n")
            self.path(job).unlink(missing_ok=True)  # of an earlier run that is not believed now
        else:
            self.known[job.key] = _row(job, self.seed, outcome)
            write_row(self.path(job), self.known[job.key])
            with suppress(OSError):
                refused.unlink(missing_ok=True)
        self.progress(self.done, len(self.jobs))

    def rows(self) -> list[Row]:
        """Every row that there is, in the order of the grid."""
        return [placed(self.known[job.key], job) for job in self.jobs if job.key in self.known]

    def result(self) -> Sweep:
        """What is told of it."""
        return Sweep(self.folder, self.computed, self.reused, self.failed, tuple(self.damaged))


def _clear(path: Path) -> None:
    """Make room for a file where something else has its name: what a directory holds is moved aside and kept."""
    if path.is_symlink() or not path.is_dir():
        return  # replaced as soon as there is a new one
    with suppress(OSError):
        path.rmdir()
        return
    number = next(number for number in range(1, 10**6) if not path.with_name(f"{path.name}.{number}").exists())
    path.rename(path.with_name(f"{path.name}.{number}"))


def _label(job: Job) -> str:
    settings = ", ".join(f"{key}={value}" for key, value in job.cell.settings)
    return f"cell {job.cell.index} ({settings or 'the scenario'}), replication {job.replication}, {job.engine}"


def _row(job: Job, seed: int, report: Report) -> Row:
    """One job's report as a flat row: identity, axes, buffer, metrics, cost, warnings."""
    row: dict[str, Any] = {"key": job.key, "cell": job.cell.index, "replication": job.replication}
    row |= {f"axis.{key}": value for key, value in job.cell.settings}
    row |= {"engine": job.engine, "seed": seed, "scenario_sha256": job.scenario.sha256}
    row |= {f"buffer.{unit}": value for unit, value in plain(report.buffer).items()}
    row |= {name: estimate.mean for name, estimate in report.metrics.items()}
    for group in report.groups:
        row |= {f"{group.name}.{name}": estimate.mean for name, estimate in group.metrics.items()}
        row |= {f"{group.name}.completion_time_{name}_s": value for name, value in group.completion_time_s.items()}
    row |= {f"cost.{name}": value for name, value in plain(report.cost).items()}
    row["warnings"] = "; ".join(report.warnings)
    return row


#: Columns that are not measurements.
_IDENTITY = ("key", "cell", "replication", "engine", "seed", "scenario_sha256", "warnings")


def _write_tables(folder: Path, axes: Sequence[Axis], rows: Sequence[Row]) -> None:
    """Put all rows into Parquet."""
    import polars as pl

    if not rows:
        return
    frame = pl.DataFrame(rows, infer_schema_length=None)
    for name, table in (("rows", frame), ("summary", _summary(frame, [f"axis.{axis.key}" for axis in axes]))):
        with whole(folder / f"{name}.parquet") as partial:
            write_table(table, partial)


def recorded(folder: Path, job: Job) -> Row | None:
    """The row of a job that the folder has, or None."""
    path = folder / "cells" / f"{job.key}.json"
    return placed(read_row(path, job), job) if path.exists() else None


def placed(row: Row, job: Job) -> Row:
    """A row at the job's own place in the grid: two cells may resolve to the same scenario."""
    return {**row, "cell": job.cell.index, **{f"axis.{key}": value for key, value in job.cell.settings}}


def _summary(frame: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    """Mean, 95 % half width and count of every number, cell by cell."""
    import polars as pl

    from forebay.statistics import mean_interval

    numbers = [
        name
        for name, kind in frame.schema.items()
        if kind.is_numeric() and name not in _IDENTITY and not name.startswith(("axis.", "buffer.", "cost."))
    ]
    fixed = [*axes, "engine", "scenario_sha256", *(name for name in frame.columns if name.startswith("buffer."))]
    summaries = []
    for part in frame.partition_by("cell", maintain_order=True):
        summary: dict[str, Any] = {"cell": part["cell"][0], **{name: part[name][0] for name in fixed}}
        summary["replications"] = part.height
        for name in numbers:
            values = part[name].drop_nulls().to_list()
            interval = mean_interval(values) if values else None
            summary[f"{name}.mean"] = None if interval is None else interval.mean
            summary[f"{name}.half_width"] = None if interval is None else interval.half_width
        summaries.append(summary)
    return pl.DataFrame(summaries, infer_schema_length=None)


def load(folder: str | os.PathLike[str], table: str = "rows") -> pl.DataFrame:
    """Read a sweep's "rows" or "summary" as a polars data frame."""
    path = Path(folder) / f"{table}.parquet"
    if not os.path.lexists(path):
        raise InputError(f"{path}: found no such table; allowed: a folder whose sweep has finished")
    return read_table(path, "a table as sweep wrote it (the same sweep writes it again)")
