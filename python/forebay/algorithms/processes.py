"""Processes that run the code of users, and batches of runs over them.

A process has a limit of memory and of the time of one call. If it ends, the run that it made fails in one line, and the
others continue. `run_batch` has the interface of `_core.run_batch`.
"""

from __future__ import annotations

import atexit
import base64
import io
import json
import os
import queue
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any

from forebay import _core, errors
from forebay.algorithms.loading import Role
from forebay.errors import CodeError

__all__ = ["LONGEST_CALL_S", "close_idle", "describe", "run_batch"]

#: Longest time of one call of a user's code, in seconds.
LONGEST_CALL_S = 10.0
#: Seconds without a sign of life after which a process is ended. One call of Python's own code may hold it that long.
SILENCE_S = 20.0
#: Seconds between two looks at the time and at signals.
LOOK_S = 0.05
#: Largest answer, in bytes.
MOST_BYTES = 2**30

Observe = Callable[[int, _core.Report | Exception], object]


class _Process:
    """One process, which answers one request at a time."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        limits = (str(_core.allowed_memory()), str(LONGEST_CALL_S))
        command = [sys.executable, "-m", "forebay.algorithms.worker", *limits]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )
        self._rest = b""

    def ask(self, request: Mapping[str, Any], stop: threading.Event) -> dict[str, Any]:
        """The answer to a request.

        Raises
        ------
        CodeError
            If the process ends or falls silent.
        """
        assert self._process.stdin is not None, "it has a pipe"
        names = ", ".join(dict.fromkeys(PurePath(place.rpartition(":")[0]).name for place, _, _ in request["code"]))
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            for line in iter(lambda: self._line(names, stop), b""):
                if line.strip():
                    return dict(json.loads(line))
        except OSError:
            pass
        raise CodeError(self._end(names))

    def _line(self, names: str, stop: threading.Event) -> bytes:
        """The next line; empty at the end of the output."""
        assert self._process.stdout is not None, "it has a pipe"
        heard = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if stop.is_set():
                    self.close()
                    raise errors.Interrupted("interrupted")
                if not selector.select(LOOK_S):
                    if time.monotonic() - heard > SILENCE_S:
                        self.close()
                        raise CodeError(f"{names}: the code has blocked its process for {SILENCE_S:.0f} s")
                    continue
                more = os.read(self._process.stdout.fileno(), 1 << 20)
                if not more:
                    return b""
                heard = time.monotonic()
                self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line + b"\n"

    def _end(self, names: str) -> str:
        """Why a process that answers no more has ended."""
        code = self._process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"{names}: the process of the code ended ({how}), perhaps for want of memory"

    @property
    def lives(self) -> bool:
        """Whether it can take another request."""
        return self._process.poll() is None

    def close(self) -> None:
        """End it."""
        with suppress(OSError):
            self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process.wait()


_IDLE: list[_Process] = []
_LOCK = threading.Lock()


def _taken() -> _Process:
    """A process that is idle, or a new one."""
    with _LOCK:
        while _IDLE:
            process = _IDLE.pop()
            if process.lives:
                return process
            process.close()
    return _Process()


def _give_back(process: _Process) -> None:
    with _LOCK:
        _IDLE.append(process)


@atexit.register
def close_idle() -> None:
    """End the processes that wait for requests."""
    while _IDLE:
        _IDLE.pop().close()


def _asked(request: Mapping[str, Any], stop: threading.Event) -> dict[str, Any]:
    """The answer of a process to a request; errors are raised here."""
    process = _taken()
    try:
        answer = process.ask(request, stop)
    except BaseException:
        process.close()
        raise
    if "error" not in answer:
        _give_back(process)
        return answer
    # The process may have state of a failed run.
    process.close()
    kind = getattr(errors, answer["error"], CodeError)
    raise kind(answer["text"])


def describe(place: str, source: str, role: Role) -> dict[str, Any]:
    """The title, parameters and capabilities of a class, from a process that loads it."""
    request = {"do": "describe", "code": [(place, source, role)]}
    facts = dict(_asked(request, threading.Event())["facts"])
    return facts | {"parameters": [tuple(each) for each in facts["parameters"]]}


def run_batch(
    jobs: Sequence[_core.Job], threads: int, observe: Observe | None = None, within: float | None = None
) -> list[_core.Report | Exception]:
    """Run jobs as `_core.run_batch` does, those with code of users in processes of their own."""
    with_code: list[int] = []
    others: list[int] = []
    for index, job in enumerate(jobs):
        (with_code if job.code() else others).append(index)
    if not with_code:
        return _core.run_batch(jobs, threads, observe, within)
    begun = time.monotonic()
    outcomes: dict[int, _core.Report | Exception] = {}
    if others:

        def noted(place: int, outcome: _core.Report | Exception) -> None:
            if observe is not None:
                observe(others[place], outcome)

        found = _core.run_batch([jobs[index] for index in others], threads, noted, within)
        outcomes.update(zip(others, found, strict=True))
    left = None if within is None else max(0.0, within - (time.monotonic() - begun))
    for index, outcome in _over_processes(jobs, with_code, threads, left):
        outcomes[index] = outcome
        if observe is not None:
            observe(index, outcome)
    return [outcomes[index] for index in range(len(jobs))]


def _over_processes(jobs: Sequence[_core.Job], numbers: Sequence[int], threads: int, within: float | None) -> Any:
    """Each job's number and outcome, in the order of finishing."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, _core.Report | Exception]] = queue.SimpleQueue()
    for number in numbers:
        waiting.put(number)
    stop, begun = threading.Event(), time.monotonic()

    def work() -> None:
        while not stop.is_set():
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((number, _report(_asked({"do": "run", **_request(jobs[number])}, stop))))
            except Exception as error:
                # The observer raises it, or counts a refusal.
                done.put((number, error))

    for _ in range(min(threads, len(numbers))):
        threading.Thread(target=work, daemon=True).start()
    try:
        for _ in numbers:
            while True:
                if within is not None and time.monotonic() - begun >= within:
                    raise TimeoutError("the time is over")
                try:
                    found = done.get(timeout=LOOK_S)
                    break
                except queue.Empty:
                    continue
            yield found
    finally:
        stop.set()


def _request(job: _core.Job) -> dict[str, Any]:
    return {"job": job.described(), "code": job.code()}


def _report(answer: Mapping[str, Any]) -> _core.Report:
    report = _core.Report.from_cached(answer["report"])
    assert report is not None, "a process of this build writes such reports"
    if "traces" not in answer:
        return report
    import numpy as np

    tables: dict[str, dict[str, Any]] = {}
    with np.load(io.BytesIO(base64.b64decode(answer["traces"])), allow_pickle=False) as columns:
        for name in columns.files:
            table, _, column = name.partition(".")
            tables.setdefault(table, {})[column] = columns[name]
    return report.with_traces(tables)
