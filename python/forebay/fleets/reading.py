"""Reads the files of ports with `observe`, several at the same time, and keeps each result in the store of an audit.

The key of a result is made of the content of the files, so that a changed file is read again.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from forebay import _core
from forebay.errors import ForebayError, InputError, Interrupted
from forebay.fleets.store import Store, key_of
from forebay.observation.line_reader import Progress as BytesRead
from forebay.observation.memory import limited_memory, resident
from forebay.observation.observing import observe
from forebay.observation.writing import scenario_text
from forebay.scenario import Progress, threads
from forebay.storage import build

__all__ = ["FileReader", "Request", "StepBegun"]

#: Called with the name of a step when it begins.
StepBegun = Callable[[str], object]

#: Bytes that are read at once for a digest, and seconds between two reports of progress.
CHUNK, LOOK_S = 2**20, 0.2
#: Text of a refusal by the system in `crates/capture/src/error.rs`, `CaptureError::Unreadable`.
UNREADABLE = ": cannot be read: "
#: The argument of `observe` that a refusal of a file with several ports names.
PORT = "port"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, order=True)
class Request:
    """Files to read.

    Attributes
    ----------
    names : tuple of str
        One file, or those of both sides of a queue.
    rate_bps : int
        Rate of the link in bits per second.
    port : str
        Name of the port, which is used if the files have several ports.
    """

    names: tuple[str, ...]
    rate_bps: int
    port: str


@dataclass(frozen=True, slots=True)
class _Content:
    """The digest of a file, and what the system says of it: its number, size and time."""

    digest: str
    state: tuple[int, ...]


class FileReader:
    """Reads files, those with equal content once for each rate.

    Parameters
    ----------
    store : Store
        Kept results.
    jobs : int, optional
        Files that are read at the same time; as many as there are cores by default.
    progress : callable, optional
        Called with the numbers of finished and of expected megabytes.
    begin : callable, optional
        Called with the name of each step.
    """

    def __init__(
        self, store: Store, *, jobs: int | None = None, progress: Progress | None = None, begin: StepBegun | None = None
    ) -> None:
        self._store, self._threads = store, threads(jobs)
        self._progress = progress or (lambda _done, _expected: None)
        self._begin = begin or (lambda _step: None)
        self._contents: dict[str, _Content | OSError] = {}
        #: Keys of the results that were asked for. They are no measurements.
        self.keys: set[str] = set()

    def find(self, request: Request) -> Mapping[str, Any] | None:
        """The result for a request; None if there is none.

        It has the text of a scenario as "scenario", or a reason as "refusal" or "fault" with the "argument" of
        `observe` that it is about. A fault is kept, and a refusal is not.
        """
        for each in _stages(request):
            found = self._at(each)
            if found is None or found.get("argument") != PORT:
                return found
        return found

    def read(self, requests: Iterable[Request]) -> None:
        """Read the files of those requests that have no result."""
        wanted = sorted(set(requests))
        self._check(sorted({name for request in wanted for name in request.names} - set(self._contents)))
        # A fault names its file, and may show that the port is needed. Each pass therefore finds what is still missing.
        while missing := self._missing(wanted):
            self._observe(missing)

    def _missing(self, wanted: Iterable[Request]) -> list[_Reading]:
        """The next readings, one for each content."""
        found: dict[str, _Reading] = {}
        for request in wanted:
            stages = _stages(request)
            while stages and (known := self._at(stages[0])) is not None and known.get("argument") == PORT:
                del stages[0]
            if stages and known is None:
                found.setdefault(self._keys(stages[0])[0], stages[0])
        return list(found.values())

    def _at(self, reading: _Reading) -> Mapping[str, Any] | None:
        """The result of a reading, if there is one."""
        broken = next((each for name in reading.names if isinstance(each := self._contents.get(name), OSError)), None)
        if broken is not None:
            return {"refusal": f"{broken.filename}: {broken.strerror or broken}"}
        if any(name not in self._contents for name in reading.names):
            return None
        keys = self._keys(reading)
        self.keys.update(keys)
        return next((found for key in keys if (found := self._store.get(key)) is not None), None)

    def _keys(self, reading: _Reading) -> tuple[str, str]:
        """The keys of a scenario and of a reason: a reason names its files, and a scenario does not."""
        contents = [each.digest for name in reading.names if isinstance(each := self._contents[name], _Content)]
        options = (contents, reading.rate_bps, reading.port, build.sources())
        return key_of("observe", "", *options), key_of("observe", "", *options, list(reading.names))

    def _check(self, names: Sequence[str]) -> None:
        """Compute the digests of files."""

        def record(number: int, found: _Content | OSError) -> None:
            self._contents[names[number]] = found

        tasks = [_Task(partial(_content, name), _size([name])) for name in names]
        self._together("checking files, MB", tasks, min(self._threads, len(tasks)), record)

    def _observe(self, readings: Sequence[_Reading]) -> None:
        """Read files on threads of this machine.

        The allowed memory is that of all readings together, because the memory of a process is one figure. A reading
        that is refused for lack of memory is repeated alone.
        """
        at_once, allowed, held = min(self._threads, len(readings)), _core.allowed_memory(), resident()
        large: list[int] = []

        def task(number: int, held: int | None) -> _Task[dict[str, Any]]:
            names = readings[number].names
            states = [each.state for name in names if isinstance(each := self._contents[name], _Content)]
            return _Task(partial(_observed, readings[number], states, _Room(allowed, held)), _size(names))

        def record(number: int, found: dict[str, Any]) -> None:
            reading = readings[number]
            self._store.add(self._keys(reading)["scenario" not in found], found)

        def record_or_put_off(number: int, found: dict[str, Any]) -> None:
            if at_once > 1 and _core.MORE_MEMORY in found.get("refusal", ""):
                large.append(number)
            else:
                record(number, found)

        step, numbers = "reading files, MB", range(len(readings))
        first = [task(number, held if at_once > 1 else None) for number in numbers]
        self._together(step, first, at_once, record_or_put_off)
        again = sorted(large)
        self._together(step, [task(number, None) for number in again], 1, lambda at, found: record(again[at], found))

    def _together(self, step: str, tasks: Sequence[_Task[T]], at_once: int, record: Callable[[int, T], object]) -> None:
        """Do tasks, a number of them at the same time, and record each result as soon as it is there."""
        if not tasks:
            return
        self._begin(step)
        expected, finished, stop = math.ceil(sum(task.bytes for task in tasks) / 1e6), 0, threading.Event()
        running: dict[Future[T], int] = {}
        shares: dict[int, float] = {}

        def run(number: int) -> T:
            def report(done: int, size: int | None) -> None:
                if stop.is_set():
                    raise Interrupted("interrupted")
                if size:
                    shares[number] = max(shares[number], min(1.0, done / size))

            return tasks[number].run(report)

        pool, numbers = ThreadPoolExecutor(at_once), iter(range(len(tasks)))
        try:
            while True:
                while len(running) < at_once and (number := next(numbers, None)) is not None:
                    shares[number] = 0.0
                    running[pool.submit(run, number)] = number
                partly = sum(shares[number] * tasks[number].bytes for number in running.values())
                self._progress(int((finished + partly) / 1e6), expected)
                if not running:
                    break
                done = wait(running, timeout=LOOK_S, return_when=FIRST_COMPLETED).done
                # Results first, because an error ends the step.
                for future in sorted(done, key=lambda each: each.exception() is not None):
                    number = running.pop(future)
                    record(number, future.result())
                    finished += tasks[number].bytes
        finally:
            # After an error, a thread ends when it next reports its progress.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One call of `observe`."""

    names: tuple[str, ...]
    rate_bps: int
    port: str | None


@dataclass(frozen=True, slots=True)
class _Room:
    """Bytes that may be taken, and those that do not count; None for what the process holds when a reading begins."""

    allowed: int
    held: int | None


@dataclass(frozen=True, slots=True)
class _Task(Generic[T]):
    """Work on files of a size in bytes."""

    run: Callable[[BytesRead], T]
    bytes: int


def _stages(request: Request) -> list[_Reading]:
    """The readings of a request: without a port, and with it for files that have several."""
    return [_Reading(request.names, request.rate_bps, port) for port in (None, request.port)]


def _state(name: str) -> tuple[int, ...]:
    found = Path(name).stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _size(names: Iterable[str]) -> int:
    """Bytes of files; 0 for those that are gone."""
    return sum(Path(name).stat().st_size if Path(name).is_file() else 0 for name in names)


def _content(name: str, report: BytesRead) -> _Content | OSError:
    """The digest of a file."""
    try:
        state, digest, done = _state(name), hashlib.sha256(), 0
        with Path(name).open("rb") as file:
            while piece := file.read(CHUNK):
                digest.update(piece)
                done += len(piece)
                report(done, state[1])
    except OSError as error:
        return error
    return _Content(digest.hexdigest(), state)


def _observed(reading: _Reading, states: Sequence[tuple[int, ...]], room: _Room, report: BytesRead) -> dict[str, Any]:
    """The result of a reading, as the store has it."""
    try:
        with limited_memory(room.allowed, room.held):
            finding = observe(
                [Path(name) for name in reading.names],
                rate_bps=float(reading.rate_bps),
                port=reading.port,
                memory=room.allowed,
                progress=report,
            )
            found: dict[str, Any] = {"scenario": scenario_text(finding)}
    except Interrupted:
        raise
    except ForebayError as error:
        text, argument = str(error), error.argument if isinstance(error, InputError) else None
        # Other classes are about this machine, such as a missing program.
        is_lasting = type(error) is InputError and _core.MORE_MEMORY not in text and UNREADABLE not in text
        found = {"fault" if is_lasting else "refusal": text, "argument": argument}
    try:
        changed = next((name for name, state in zip(reading.names, states, strict=True) if _state(name) != state), None)
    except OSError as error:
        changed = error.filename
    if changed is not None:
        return {"refusal": f"{changed}: it changed while it was read; allowed: a file that is complete"}
    return found
