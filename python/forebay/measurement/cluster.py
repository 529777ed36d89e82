"""A Dask cluster: replications run on workers, which may join, leave or die, and give the same numbers as here.

Jobs are sent in tasks that take some seconds, so that a task's overhead of two milliseconds does not count. Three tasks
for each thread of a worker are in progress, so that little is lost if a worker dies. Its task is run again elsewhere.
After three more deaths (Dask's `allowed-failures`) its jobs run one by one with no other task in progress, so that one
poisoned job is found. Dask blames a death on all tasks that waited at the worker.

A run may need as much memory as `--memory` allows, and no more than its worker has for each of its threads. A worker
that is killed for its memory loses other runs, too, and so does each worker that tries the run again.
"""

from __future__ import annotations

import logging
import math
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import urlsplit

from forebay import _core
from forebay.algorithms.code_files import admit_all
from forebay.algorithms.processes import run_batch
from forebay.errors import ForebayError, InputError, Interrupted
from forebay.extras import how_to_get
from forebay.results.report import Report
from forebay.storage import build
from forebay.text.formatting import counted, size

__all__ = ["Answer", "Cluster", "Replication", "connected", "run_here"]

#: Outcome of one job of a worker: whether it succeeded, and its result or the reason of its failure.
Answer = tuple[bool, Any]

Packed = TypeVar("Packed")

#: Function of a worker: it gets jobs as they were sent, and the memory that each of their runs may need, in bytes.
Work = Callable[[Packed, int], Sequence[Answer]]

#: Schemes of a scheduler's address that this module can try first.
SCHEMES = ("tcp", "tls", "ws", "wss")
#: Longest wait for a connection, and for a scheduler's greeting, in seconds.
ANSWER_S, WELCOME_S = 2.0, 5.0

#: Part of a worker's memory that its runs may need together: Dask starts nothing more on a worker that uses more.
SHARE = 0.8

#: Target duration of a task, and least duration of tasks of very short jobs, in seconds. Largest number of jobs in a
#: task, and number of tasks in progress for each thread.
TASK_S, SHORT_S, MOST_JOBS, UNDER_WAY = 4.0, 0.05, 1000, 3
#: Number of single jobs that are sent before the duration of a job is known, and time that further ones then wait, in
#: seconds.
FIRST, SOON_S = 32, 1.0
#: Time between two queries of the number of threads, in seconds.
LOOK_S = 2.0


@dataclass(frozen=True, slots=True)
class WorkerMemory:
    """Memory of the worker that runs a task.

    Attributes
    ----------
    limit : int
        Memory that the worker may use, in bytes.
    threads : int
        Number of runs that share the memory.
    """

    limit: int
    threads: int

    @property
    def of_run(self) -> int:
        """Memory that one run may need, in bytes."""
        return max(1, int(SHARE * self.limit / self.threads))

    @staticmethod
    def here() -> WorkerMemory | None:
        """The room of this worker; None outside of a worker, and if it has no limit."""
        distributed: Any = import_module("distributed")
        try:
            worker = distributed.get_worker()
        except ValueError:
            return None
        limit = worker.memory_manager.memory_limit
        return WorkerMemory(int(limit), max(1, worker.state.nthreads)) if limit else None

    def __str__(self) -> str:
        return f"its worker has {size(self.limit)} for {counted(self.threads, 'thread')}"


def run_here(made: Callable[[int], Sequence[_core.Job]], memory: int) -> Iterator[_core.Report | ForebayError]:
    """On a worker: run jobs that `made` gives for a memory in bytes; refusals of engines are yielded, not raised."""
    room = WorkerMemory.here()
    allowed = memory if room is None else min(memory, room.of_run)
    for outcome in run_batch(made(allowed), 1):
        if not isinstance(outcome, Exception):
            yield outcome
        elif isinstance(outcome, ForebayError):
            why = str(outcome)
            # More of `--memory` does not help if the worker has no more.
            yield ForebayError(why.replace(_core.MORE_MEMORY, str(room)) if allowed < memory else why)
        else:
            raise outcome


@dataclass(frozen=True, slots=True)
class Replication:
    """A replication as it is sent.

    Attributes
    ----------
    scenario : str
        Scenario as canonical JSON.
    engine : str
    seed, number : int
    """

    scenario: str
    engine: str
    seed: int
    number: int

    def job(self, memory: int, *, traces: bool = False) -> _core.Job:
        """The job of the replication, with at most `memory` bytes."""
        admit_all(self.scenario)
        core = _core.Scenario.parse(self.scenario, "json", "scenario", [])
        return _core.Job(core, self.engine, self.seed, self.number, traces=traces, memory=memory)


def _complete_reports(replications: Sequence[Replication], memory: int) -> list[Answer]:
    """On a worker: the report of each replication, complete except for traces."""
    outcomes = run_here(lambda allowed: [each.job(allowed) for each in replications], memory)
    return [(False, str(found)) if isinstance(found, ForebayError) else (True, found.to_cached()) for found in outcomes]


class Cluster:
    """The workers of a Dask scheduler; a context that holds the connection.

    Parameters
    ----------
    address : str
        Address such as "tcp://10.0.0.1:8786".

    Raises
    ------
    InputError
        If Dask is not installed, if no scheduler answers at the address, or if workers have another build of forebay.
    """

    def __init__(self, address: str) -> None:
        try:
            self._distributed: Any = import_module("distributed")
        except ImportError:
            raise InputError(f"found no dask; allowed: after `{how_to_get('cluster')}`", "scheduler") from None
        _check_address(address)
        # The end of a scheduler is reported in one line in place of Dask's messages.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        self.address = address
        #: Tasks that have been sent, each a message there and one back.
        self.tasks = 0
        try:
            self._client = self._distributed.Client(address, timeout=WELCOME_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise _unreachable(address, error) from None
        self._check_builds()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_error: object) -> None:
        self._client.close()

    def threads(self) -> int:
        """The number of runs that the workers do at once."""
        with self._listening():
            return sum(self._client.nthreads().values())

    def run(
        self,
        work: Work[Packed],
        count: int,
        pack: Callable[[slice], Packed],
        record: Callable[[int, Any], object],
        *,
        most: int = MOST_JOBS,
        within: float | None = None,
    ) -> None:
        """Run jobs on the workers.

        Parameters
        ----------
        work : callable
            Function of a module that a worker calls.
        count : int
            Number of jobs.
        pack : callable
            Function that packs a slice of the jobs.
        record : callable
            Called with each job's number and its result, or with the ForebayError of its failure.
        most : int
            Largest number of jobs in one task.
        within : float, optional
            Time limit by wall clock, in seconds.

        Raises
        ------
        TimeoutError
            If the time limit has passed.
        """
        until = math.inf if within is None else time.monotonic() + within
        pace, begin = _Pace(self.threads, most), 0
        sent: dict[Any, slice] = {}
        #: Jobs whose workers died, and whether one of them runs alone.
        suspects: deque[int] = deque()
        alone = False
        waiting = self._distributed.as_completed(loop=self._client.loop)

        def submit(part: slice) -> None:
            packed, environment = pack(part), (_core.allowed_memory(), build.fingerprint())
            with self._listening():
                future = self._client.submit(_perform, work, packed, *environment, pure=False, retries=0)
                waiting.add(future)
            sent[future] = part
            self.tasks += 1

        while True:
            if suspects and not sent:
                alone, number = True, suspects.popleft()
                submit(slice(number, number + 1))
            while not (suspects or alone) and begin < count and len(sent) < pace.under_way():
                part = slice(begin, begin + pace.jobs(count - begin))
                submit(part)
                begin = part.stop
                if pace.unknown and len(sent) == FIRST and _by(time.monotonic() + SOON_S, waiting.has_ready):
                    break  # better than to send thousands of single jobs
            if not sent:
                return
            if within is not None and not _by(until, waiting.has_ready):
                raise TimeoutError
            future = next(waiting)
            part = sent.pop(future)
            numbers = range(part.start, part.stop)
            try:
                with self._listening():
                    seconds, answers = future.result()
            except self._distributed.KilledWorker as killed:
                if alone:
                    record(part.start, ForebayError(f"its worker died {killed.allowed_failures + 1} times"))
                else:
                    suspects.extend(numbers)
                alone = False
                continue
            alone = False
            pace.note(seconds, len(numbers))
            for number, (good, found) in zip(numbers, answers, strict=True):
                record(number, found if good else ForebayError(found))

    def reports(
        self,
        replications: Sequence[Replication],
        finished: Callable[[int, Report], object],
        within: float | None = None,
    ) -> list[Report]:
        """The reports of replications, in their order; `finished` is called with each as it arrives.

        Raises
        ------
        ForebayError
            As soon as one fails; the others are dropped.
        TimeoutError
            After `within` seconds, if not all have ended.
        """
        found: dict[int, Report] = {}

        def record(number: int, answer: str | ForebayError) -> None:
            if isinstance(answer, ForebayError):
                raise answer
            report = _core.Report.from_cached(answer)
            assert report is not None, "a worker of this build keeps reports as this one does"
            found[number] = Report(report)
            finished(number, found[number])

        self.run(_complete_reports, len(replications), lambda part: replications[part], record, within=within)
        return [found[number] for number in range(len(replications))]

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Report the end of the scheduler in one line."""
        try:
            yield
        except (OSError, CancelledError):
            raise Interrupted(f"interrupted: the Dask scheduler at `{self.address}` is gone") from None

    def _check_builds(self) -> None:
        """Refuse workers of another build of forebay, because their results may differ."""
        try:
            builds = self._client.run(_build).values()
        except Exception as error:  # any failure to import it there
            raise InputError(
                f"found workers without forebay ({error}); allowed: {build.fingerprint()}", "scheduler"
            ) from None
        for found in sorted(set(builds) - {build.fingerprint()}):
            raise _another_build(found, build.fingerprint())


@contextmanager
def connected(scheduler: str | Cluster | None) -> Iterator[Cluster | None]:
    """A connection to a scheduler while it is needed; None without a scheduler."""
    if scheduler is None or isinstance(scheduler, Cluster):
        yield scheduler
        return
    with Cluster(scheduler) as cluster:
        yield cluster


class _Pace:
    """The amount to send, from the known durations of jobs and the number of threads."""

    def __init__(self, threads: Callable[[], int], most: int) -> None:
        self._ask, self._most = threads, most
        self._seconds, self._jobs = 0.0, 0
        self._threads, self._looked = 0, -LOOK_S

    @property
    def unknown(self) -> bool:
        """Whether the duration of a job is not known yet."""
        return not self._jobs

    def note(self, seconds: float, jobs: int) -> None:
        """Record a finished task."""
        self._seconds += seconds
        self._jobs += jobs

    def under_way(self) -> int:
        """The number of tasks to have in progress."""
        if time.monotonic() - self._looked >= LOOK_S:
            self._threads = self._ask()
            self._looked = time.monotonic()
        return UNDER_WAY * max(1, self._threads)

    def jobs(self, left: int) -> int:
        """Jobs in the next task: fewer and fewer towards the end, so that all threads finish together."""
        if self.unknown:
            return 1
        each = max(self._seconds / self._jobs, 1e-6)
        share = max(left // max(1, self._threads), int(SHORT_S / each))
        return max(1, min(left, share, self._most, int(TASK_S / each)))


def _by(end: float, happens: Callable[[], bool]) -> bool:
    """Whether something happens by then."""
    while not happens() and time.monotonic() < end:
        time.sleep(0.01)
    return happens()


def _perform(work: Work[Packed], packed: Packed, memory: int, environment: str) -> tuple[float, Sequence[Answer]]:
    """On a worker: do a task, and return its duration in seconds with its answers."""
    if environment != build.fingerprint():  # a worker that joined later
        raise _another_build(build.fingerprint(), environment)
    begun = time.perf_counter()
    try:
        answers = work(packed, memory)
    except OSError as error:
        raise ForebayError(f"a worker failed: {error.strerror or error}") from None
    return time.perf_counter() - begun, answers


def _build() -> str:
    return build.fingerprint()


def _another_build(found: str, allowed: str) -> InputError:
    return InputError(f"found workers with forebay {found}; allowed: {allowed}", "scheduler")


def _check_address(address: str) -> None:
    """Refuse a wrong address, and one where no scheduler answers, before Dask tries for its half minute."""
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
        with socket.create_connection((host, port), timeout=ANSWER_S) as connection:
            # A scheduler greets each connection; Dask would wait for that forever.
            connection.settimeout(WELCOME_S)
            if parts.scheme == "tcp" and not connection.recv(1):
                raise ConnectionError("it hung up")
    except (OSError, UnicodeError) as error:
        raise _unreachable(address, error) from None


def _unreachable(address: str, why: Exception) -> InputError:
    return InputError(f"found no Dask scheduler at `{address}` ({why}); allowed: the address of one", "scheduler")
