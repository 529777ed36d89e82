"""Sweeps on a Dask cluster: the same jobs, the same results, on workers that may join, leave or die.

Jobs travel in batches, so that the scheduler handles thousands of tasks and not millions; reports come back as text. A
worker that dies takes its batch with it: the batch is run again elsewhere, and after three more deaths job by job, so
that one poisoned job is found and the others are not given up.

A run may need as much memory as `--memory` says, and no more than its worker has for each of its threads: a worker that
is killed for its memory takes other runs with it, and so would each that tries again.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from forebay import _core, build
from forebay.errors import ForebayError, InputError
from forebay.formatting import counted, size
from forebay.report import Report

__all__ = ["run_on_cluster"]

#: A job as it travels: resolved scenario, engine, seed, replication.
Parcel = tuple[str, str, int, int]

#: Ways to speak with a scheduler that this module can try first.
SCHEMES = ("tcp", "tls", "ws", "wss")
#: How long to wait for somebody to listen.
ANSWER_S = 2.0

#: Part of a worker's memory that its runs may need together: Dask begins nothing more on a worker that uses more.
SHARE = 0.8

#: Times that a batch may lose its worker before its jobs are tried one by one.
DEATHS = 3


@dataclass(frozen=True, slots=True)
class Room:
    """Memory of the worker that a task is on.

    Attributes
    ----------
    limit : int
        Bytes that the worker may use.
    threads : int
        How many runs share them.
    """

    limit: int
    threads: int

    @property
    def of_run(self) -> int:
        """Bytes that one run may need."""
        return max(1, int(SHARE * self.limit / self.threads))

    @staticmethod
    def here() -> Room | None:
        """What there is; None outside of a worker, and where it has no limit."""
        distributed: Any = import_module("distributed")
        try:
            worker = distributed.get_worker()
        except ValueError:
            return None
        limit = worker.memory_manager.memory_limit
        return Room(int(limit), max(1, worker.state.nthreads)) if limit else None

    def __str__(self) -> str:
        return f"its worker has {size(self.limit)} for {counted(self.threads, 'thread')}"


def run_parcels(parcels: Sequence[Parcel], threads: int, memory: int) -> list[tuple[bool, str]]:
    """On a worker: run jobs of so many bytes at most; for each whether it succeeded, and its report or the reason."""
    room = Room.here()
    allowed = memory if room is None else min(memory, room.of_run)
    scenarios = {text: _core.Scenario.parse(text, "json", "cell", []) for text in {parcel[0] for parcel in parcels}}
    jobs = [
        _core.Job(scenarios[text], engine, seed, replication, memory=allowed)
        for text, engine, seed, replication in parcels
    ]
    found = []
    for outcome in _core.run_batch(jobs, threads):
        if isinstance(outcome, ForebayError):
            why = str(outcome)
            # More of `--memory` is of no use where the worker has no more.
            found.append((False, why.replace(_core.MORE_MEMORY, str(room)) if allowed < memory else why))
        elif isinstance(outcome, Exception):
            raise outcome
        else:
            found.append((True, outcome.json()))
    return found


def run_on_cluster(
    address: str,
    parcels: Sequence[Parcel],
    record: Callable[[int, Report | Exception], None],
    *,
    batch: int | None = None,
) -> None:
    """Run jobs on the cluster behind a Dask scheduler.

    Parameters
    ----------
    address : str
        Such as "tcp://10.0.0.1:8786".
    parcels : sequence of Parcel
        The jobs.
    record : callable
        Called with each job's index and its report, or the exception that stands for its failure.
    batch : int, optional
        Jobs in one task; by default twenty tasks for each worker, of 8 to 256 jobs: a task costs the scheduler about
        two milliseconds whatever is in it, and a worker that dies loses one.

    Raises
    ------
    InputError
        Where Dask is not installed, or nobody answers at the address.
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise InputError("found no dask; allowed: after pip install 'forebay[cluster]'", "scheduler") from None
    _check_address(address)
    try:
        client = distributed.Client(address, timeout="10s", set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(f"found nobody at `{address}` ({error}); allowed: a Dask scheduler", "scheduler") from None
    with client, client.as_current():
        workers = len(client.scheduler_info(n_workers=-1)["workers"])
        if workers:
            _check_versions(client)
        if batch is None:
            batch = max(8, min(256, len(parcels) // (20 * max(1, workers))))
        tasks: dict[Any, list[int]] = {}
        memory = _core.allowed_memory()

        def submit(indices: list[int]) -> Any:
            task = [parcels[index] for index in indices]
            future = client.submit(run_parcels, task, 1, memory, pure=False, retries=0)
            tasks[future] = indices
            return future

        first = [list(range(start, min(start + batch, len(parcels)))) for start in range(0, len(parcels), batch)]
        waiting = distributed.as_completed([submit(indices) for indices in first])
        for future in waiting:
            indices = tasks.pop(future)
            try:
                results = future.result()
            except distributed.KilledWorker:
                if len(indices) > 1:
                    for index in indices:
                        waiting.add(submit([index]))
                else:
                    record(indices[0], ForebayError(f"its worker died {DEATHS + 1} times"))
                continue
            for index, (good, text) in zip(indices, results, strict=True):
                record(index, Report.of(json.loads(text)) if good else ForebayError(text))


def _check_address(address: str) -> None:
    """Refuse what is no address, and one where nobody listens, before Dask tries for its half minute."""
    given = address if "://" in address else f"tcp://{address}"
    try:
        parts = urlsplit(given)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if host is None or port is None or parts.scheme not in SCHEMES:
        allowed = f"a Dask scheduler, as in tcp://10.0.0.1:8786 ({', '.join(SCHEMES)})"
        raise InputError(f"found `{address}`; allowed: {allowed}", "scheduler")
    try:
        socket.create_connection((host, port), timeout=ANSWER_S).close()
    except (OSError, UnicodeError) as error:
        raise InputError(f"found nobody at `{address}` ({error}); allowed: a Dask scheduler", "scheduler") from None


def _check_versions(client: Any) -> None:
    """Refuse workers of another build of forebay: their results may be other results."""
    builds = set(client.run(_build).values())
    if builds != {build.fingerprint()}:
        shown = ", ".join(sorted(builds))
        raise InputError(f"found workers with forebay {shown}; allowed: {build.fingerprint()}", "scheduler")


def _build() -> str:
    return build.fingerprint()
