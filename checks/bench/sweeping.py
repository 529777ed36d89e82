"""The overhead of a sweep beside its simulations: processor time for each cell, here and on a cluster of two workers.

The time of the same jobs by themselves is measured first and subtracted. The parts of a cluster are listed separately:
one process collects and one schedules, however many workers there are, and the workers share their overhead.

The peak memory is measured by another command, because the jobs that run by themselves need memory, too:

    python -m checks.bench.sweeping --rows 1000000
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.errors import ForebayError
from forebay.extras import how_to_get
from forebay.measurement.cluster import Cluster
from forebay.scenario import Scenario
from forebay.sweeps.axes import Axis
from forebay.sweeps.jobs import jobs_of
from forebay.sweeps.sweeping import Sweep, sweep

__all__ = ["CELLS", "memory", "overheads"]

#: Cells of the grid, and how many workers its cluster has.
CELLS, WORKERS = 20_000, 2

#: A link whose runs take some ten thousandths of a second.
LINK = Scenario.of(
    {
        "link": {"rate": "2Mbps", "buffer": "20p"},
        "flows": [{"name": "bulk", "rtt": "40ms", "count": 2}],
        "run": {"warmup": "100ms", "measure": "1s"},
    }
)


def memory(rows: int, engine: str = "closed_form") -> Mapping[str, Any]:
    """The peak memory of this process after a sweep of a number of rows, and its processor time for each row.

    Another sweep in the same process before it makes the figures wrong.
    """
    seeds = max(2, rows // 20)
    over = [f"run.seed=1..{seeds}:{seeds}lin", "link.buffer=1p..20p:20lin"]
    with tempfile.TemporaryDirectory() as folder:
        begun, elapsed = time.process_time(), time.perf_counter()
        found = sweep(LINK, over, Path(folder, "out"), engine=engine, replications=1, jobs=1)
        return {
            "name": "S/memory",
            "rows": found.computed,
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, 1),
            "cpu_us": round(1e6 * (time.process_time() - begun) / found.computed, 1),
            "elapsed_us": round(1e6 * (time.perf_counter() - elapsed) / found.computed, 1),
        }


def overheads(cells: int = CELLS) -> Iterator[Mapping[str, Any]]:
    """A line for this machine's threads, then one for a cluster.

    Raises
    ------
    ForebayError
        If no cluster is available.
    """
    seeds = max(2, cells // 20)
    axes = [Axis.parse(f"run.seed=1..{seeds}:{seeds}lin"), Axis.parse("link.buffer=1p..20p:20lin")]
    with tempfile.TemporaryDirectory() as folder:
        sweep(LINK, axes[1:], Path(folder, "warm"), replications=1)  # import everything that is imported only once
        alone = _simulation_s(axes)
        begun = time.process_time(), time.perf_counter()
        found = sweep(LINK, axes, Path(folder, "here"), replications=1, jobs=1)
        took, elapsed = time.process_time() - begun[0], time.perf_counter() - begun[1]
        yield _line("S/here", found, alone, {"here_us": took - alone}, elapsed)
        with _cluster(Path(folder)) as client, Cluster(client.scheduler.address) as cluster:
            sweep(LINK, axes[1:], Path(folder, "warm"), replications=1, scheduler=cluster, fresh=True)
            before, tasks, begin = _spent(client), cluster.tasks, time.perf_counter()
            found = sweep(LINK, axes, Path(folder, "there"), replications=1, scheduler=cluster)
            elapsed, after = time.perf_counter() - begin, _spent(client)
            spent = {part: after[part] - before[part] for part in before}
            spent["workers_us"] -= alone
            line = _line("S/cluster", found, alone, spent, elapsed)
            yield {**line, "workers": WORKERS, "tasks": cluster.tasks - tasks}


def _simulation_s(axes: list[Axis]) -> float:
    """Processor time of the runs by themselves, in seconds."""
    jobs = [_core.Job(job.scenario, job.engine, 1, job.replication) for job in jobs_of(LINK, axes, "packet", 1, 1)]
    begun = time.process_time()
    _core.run_batch(jobs, 1)
    return time.process_time() - begun


def _line(name: str, found: Sweep, alone: float, parts: Mapping[str, float], elapsed: float) -> dict[str, Any]:
    """The line of a sweep: microseconds for each cell, and its use of the disk."""
    if found.failed:
        raise ForebayError(next(iter(found.failed.values())))
    per_cell = 1e6 / found.computed
    written = [path.stat().st_size for path in (found.folder / "cells").iterdir()]
    return {
        "name": name,
        "cells": found.computed,
        "overhead_us": round(per_cell * sum(parts.values()), 1),
        **{part: round(per_cell * seconds, 1) for part, seconds in parts.items()},
        "simulating_us": round(per_cell * alone, 1),
        "elapsed_us": round(per_cell * elapsed, 1),
        "files": len(written),
        "bytes": round(sum(written) / found.computed),
    }


def _spent(client: Any) -> dict[str, float]:
    """Processor seconds so far of the process that collects, of the scheduler and of all workers."""
    return {
        "collecting_us": time.process_time(),
        "scheduling_us": client.run_on_scheduler(time.process_time),
        "workers_us": sum(client.run(time.process_time).values()),
    }


@contextmanager
def _cluster(folder: Path) -> Iterator[Any]:
    """A scheduler and its workers, a process each."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise ForebayError(f"found no dask; allowed: after `{how_to_get('cluster')}`") from None
    stated = ["--scheduler-file", str(folder / "scheduler.json")]
    more = ["--nthreads", "1", "--no-nanny", "--local-directory", str(folder)]
    commands = [["dask_scheduler", *stated, "--port", "0"], *[["dask_worker", *stated, *more]] * WORKERS]
    with ExitStack() as stack:
        for program, *options in commands:
            command = [sys.executable, "-m", f"distributed.cli.{program}", *options, "--no-dashboard"]
            process = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
            stack.callback(process.kill)
        client = stack.enter_context(distributed.Client(scheduler_file=stated[1], set_as_default=False))
        client.wait_for_workers(WORKERS, timeout=60)
        yield client


def main() -> None:
    """Print the line of one sweep's memory."""
    parser = argparse.ArgumentParser(description="Measure the peak memory of a sweep.")
    parser.add_argument("--rows", type=int, default=CELLS, help=f"rows of the sweep [default: {CELLS}]")
    parser.add_argument("--engine", default="closed_form", help="engine of the runs [default: closed_form]")
    options = parser.parse_args()
    print(json.dumps(memory(options.rows, options.engine)))


if __name__ == "__main__":
    main()
