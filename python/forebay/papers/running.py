"""Run what figures need, once: sweeps by `forebay.sweeps.sweeping`, recordings over time beside them.

All finished results lie under `data/` of the output folder. Each run has a folder whose name ends in a digest of its
scenario, axes, engine and the build of forebay. A killed gallery continues where it stopped. A changed scenario gets
another folder, and a finished result is overwritten only if it is damaged.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forebay import _core
from forebay.engines import assumes_losses, simulates_hosts
from forebay.errors import ForebayError, InputError
from forebay.measurement.cluster import Answer, Cluster, Replication, run_here
from forebay.measurement.traces import write_traces
from forebay.papers.catalog import Run
from forebay.results.report import Report
from forebay.scenario import Scenario, threads
from forebay.storage import build
from forebay.storage.files import write_atomically
from forebay.storage.hashes import check_hashes, write_hashes
from forebay.storage.locks import exclusive_in
from forebay.storage.safe_io import DamagedError, content, document
from forebay.storage.tables import read_table
from forebay.sweeps.axes import Axis, cells
from forebay.sweeps.jobs import identity

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Recording", "cost", "folder_of", "perform", "recordings"]

#: Called with the finished and the total seconds of estimated work.
WorkDone = Callable[[float, float], object]

#: Called with a line about damage.
Tell = Callable[[str], object]

ALLOWED = "what reproduce wrote (the same command writes it again)"


@dataclass(frozen=True, slots=True)
class Recording:
    """One replication of one cell that is recorded over time."""

    settings: tuple[tuple[str, str], ...]
    replication: int
    core: _core.Scenario
    folder: Path

    def fault(self) -> str | None:
        """The reason why the recording cannot be used; None if it is complete and undamaged."""
        try:
            check_hashes(self.folder, self.folder.name)
        except DamagedError as error:
            return str(error)
        return None

    def table(self, name: str) -> pl.DataFrame:
        """One recorded table: "flows", "queue", "packets" or "transfers"."""
        path = self.folder / f"{name}.parquet"
        if not path.is_file():
            raise InputError(f"{path}: found no such table; allowed: what the scenario's [trace] records")
        return read_table(path, ALLOWED)

    def report(self) -> Report:
        """The report of the same run."""
        path = self.folder / "report.json"
        data = document(content(path, ALLOWED), str(path), ALLOWED)
        if not isinstance(data, dict):
            raise DamagedError(str(path), "no report", ALLOWED)
        return Report.of(data)


def scenario_of(run: Run) -> Scenario:
    """The scenario of a run with its settings."""
    return Scenario.load(run.scenario, run.settings)


def folder_of(out: Path, run: Run) -> Path:
    """The folder of a run's results."""
    scenario = scenario_of(run)
    known = [scenario.core.sha256, run.over, run.engine, run.keep, build.fingerprint()]
    digest = hashlib.sha256(json.dumps(known).encode()).hexdigest()[:12]
    # Papers that run the same scenario share it.
    return out / "data" / f"{run.scenario.stem}-{digest}"


def recordings(out: Path, run: Run) -> list[Recording]:
    """The recordings of a run, in the order of its axes."""
    scenario, folder = scenario_of(run), folder_of(out, run)
    found = []
    for cell in cells([Axis.parse(axis) for axis in run.over]):
        core = cell.of(scenario.core)
        for replication in range(run.replications):
            key = identity(core.sha256, run.engine, core.seed, replication)
            found.append(Recording(cell.settings, replication, core, folder / key))
    return found


# Costs -------------------------------------------------------------------------------------------------------------

#: Packets that one core simulates in a second, and flow-seconds that it integrates; `speed` measures the first.
PACKETS_PER_CORE_SECOND = 10e6
FLUID_FLOW_SECONDS_PER_CORE_SECOND = 5e6


def speed() -> float:
    """Packets per core second of this machine now, from a fifth of a second of work."""
    tables = {
        "link": {"rate": "50Mbps", "buffer": "100p"},
        "flows": [
            {"rtt": "100ms", "packet": "1000B"},
            {"packet": "1000B", "workload": {"poisson": {"rate": "25Mbps"}}},
        ],
        "run": {"warmup": "10s", "measure": "120s"},
    }
    core = Scenario.of(tables).core
    begun = time.perf_counter()
    packets = 0
    while time.perf_counter() - begun < 0.2:
        outcome = _core.run_batch([_core.Job(core, "packet", 1, 0)], 1)[0]
        if isinstance(outcome, Exception):
            raise outcome
        packets += 130 * 6250
    return packets / (time.perf_counter() - begun)


def cost(run: Run, packets_per_second: float = PACKETS_PER_CORE_SECOND) -> float:
    """Core seconds of a run, estimated from its packets or steps."""
    scenario = scenario_of(run)
    paths = [len(group.get("path", ())) for group in scenario.resolved["flows"]]
    links = math.fsum(paths) / len(paths)  # a packet costs once more at each
    total = 0.0
    for cell in cells([Axis.parse(axis) for axis in run.over]):
        core = cell.of(scenario.core)
        engine = cell.engine(run.engine)
        seconds = math.fsum(core.duration_s)
        if simulates_hosts(engine):
            packets = seconds * core.rate_bps / 8 / core.packet_bytes
            total += run.replications * links * packets / packets_per_second
        elif assumes_losses(engine):
            flows = sum(count for _, count, _, _ in core.groups)
            total += run.replications * seconds * flows / FLUID_FLOW_SECONDS_PER_CORE_SECOND
        else:
            total += 1e-3
    return total


# Running -----------------------------------------------------------------------------------------------------------


def perform(
    runs: Iterable[Run],
    out: Path,
    *,
    jobs: int | None = None,
    cluster: Cluster | None = None,
    progress: WorkDone | None = None,
    say: Tell = lambda _line: None,
) -> dict[str, str]:
    """Run the missing parts of several runs.

    Parameters
    ----------
    runs : iterable of Run
    out : Path
        Folder of the gallery.
    jobs : int, optional
        Threads; no number depends on it.
    cluster : Cluster, optional
        Cluster whose workers run everything in place of this machine's threads.
    progress : callable, optional
        Called with the finished and the total work, in estimated core seconds.
    say : callable, optional
        Called with a line about damage that is run again.

    Returns
    -------
    dict
        Reason of each failed run, by "paper/run"; its claims are then not checkable.
    """
    work = list(runs)
    costs = [cost(run) for run in work]
    total, before = math.fsum(costs), 0.0
    failed: dict[str, str] = {}
    for run, share in zip(work, costs, strict=True):

        def report_progress(done: int, of: int, before: float = before, share: float = share) -> None:
            if progress is not None:
                progress(before + share * done / max(1, of), total)

        try:
            if run.keep == "metrics":
                _sweep(run, out, cluster or jobs, (report_progress, say), failed)
            else:
                _record(run, out, cluster or threads(jobs), (report_progress, say))
        except InputError:
            raise
        except ForebayError as error:
            if error.exit_code == 130:
                raise
            failed[f"{run.paper}/{run.name}"] = str(error)
        before += share
    return failed


#: Functions that report the numbers of finished and of all jobs, and that report damage.
Telling = tuple[Callable[[int, int], None], Tell]


def _sweep(run: Run, out: Path, where: Cluster | int | None, tell: Telling, failed: dict[str, str]) -> None:
    from forebay.sweeps.sweeping import sweep

    found = sweep(
        scenario_of(run),
        run.over,
        folder_of(out, run),
        engine=run.engine,
        replications=run.replications,
        jobs=None if isinstance(where, Cluster) else where,
        scheduler=where if isinstance(where, Cluster) else None,
        progress=tell[0],
        tell=tell[1],
    )
    if found.failed:
        job, why = next(iter(found.failed.items()))
        more = f" (and {len(found.failed) - 1} more)" if len(found.failed) > 1 else ""
        failed[f"{run.paper}/{run.name}"] = f"{job}: {why}{more}"


def _record(run: Run, out: Path, where: Cluster | int, tell: Telling) -> None:
    """Run what is not yet recorded, a few at a time: traces are large."""
    folder = folder_of(out, run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive_in(folder, "a recording"):
            for leftover in folder.glob("*.partial"):
                shutil.rmtree(leftover, ignore_errors=True)
            _record_missing(run, recordings(out, run), where, tell)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written: {error.strerror or error}") from None


def _record_missing(run: Run, requested: Sequence[Recording], where: Cluster | int, telling: Telling) -> None:
    """Make the recordings that are missing or damaged."""
    report_progress, say = telling
    missing = []
    for recording in requested:
        fault = recording.fault()
        if fault is None:
            continue
        missing.append(recording)
        if os.path.lexists(recording.folder):
            say(f"{fault}; records this run again")
            _remove(recording.folder)
    done = len(requested) - len(missing)
    report_progress(done, len(requested))

    def advance() -> None:
        nonlocal done
        done += 1
        report_progress(done, len(requested))

    if isinstance(where, Cluster):
        _record_on(where, run, missing, advance)
        return
    for batch in _batches(missing, 2 * where):

        def observe(index: int, outcome: _core.Report | Exception, batch: Sequence[Recording] = batch) -> None:
            if isinstance(outcome, Exception):
                raise outcome
            report = Report(outcome)
            _keep(batch[index], lambda folder: write_traces(report, folder, capture=False))
            advance()

        work = [_core.Job(each.core, run.engine, each.core.seed, each.replication, traces=True) for each in batch]
        _core.run_batch(work, where, observe)


def _record_on(cluster: Cluster, run: Run, missing: Sequence[Recording], advance: Callable[[], object]) -> None:
    """Make recordings on a cluster; their files are stored here."""
    requested = [
        Replication(each.core.canonical_json(), run.engine, each.core.seed, each.replication) for each in missing
    ]

    def record(number: int, found: Mapping[str, bytes] | ForebayError) -> None:
        if isinstance(found, ForebayError):
            raise found

        def write(folder: Path) -> None:
            folder.mkdir()
            for name, data in found.items():
                write_atomically(folder / name, data)

        _keep(missing[number], write)
        advance()

    cluster.run(_recorded, len(requested), lambda part: requested[part], record, most=1)


def _recorded(replications: Sequence[Replication], memory: int) -> list[Answer]:
    """On a worker: the files of each recording."""
    found: list[Answer] = []
    for outcome in run_here(lambda allowed: [each.job(allowed, traces=True) for each in replications], memory):
        if isinstance(outcome, ForebayError):
            found.append((False, str(outcome)))
            continue
        with tempfile.TemporaryDirectory() as folder:
            written = write_traces(Report(outcome), Path(folder), capture=False)
            found.append((True, {path.name: path.read_bytes() for path in written}))
    return found


def _batches(items: Sequence[Recording], size: int) -> Iterator[Sequence[Recording]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _keep(recording: Recording, write: Callable[[Path], object]) -> None:
    """Have one recording written under another name, then rename it; its files are synced when they are written."""
    partial = recording.folder.with_name(f"{recording.folder.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    write(partial)
    write_hashes(partial, recording.folder.name)
    try:
        partial.rename(recording.folder)
    except OSError as error:
        raise InputError(f"{error.filename or partial}: cannot be written: {error.strerror or error}") from None


def _remove(path: Path) -> None:
    """Remove a damaged recording, whatever has its name."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
