"""Processes that run the code of users, and batches of runs over them.

A process has a limit of memory and of the time of one call. If it ends or answers nonsense, the run that it made fails
in one line, and the others continue. `run_batch` has the interface of `_core.run_batch`.
"""

from __future__ import annotations

import atexit
import base64
import io
import json
import os
import queue
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any, NoReturn, TypeVar

from forebay import _core, errors
from forebay.algorithms.loading import Role, file_of
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
#: Errors that a process may answer with, by name.
ERRORS: Mapping[str, type[errors.ForebayError]] = {
    name: found
    for name in errors.__all__
    if isinstance(found := getattr(errors, name), type) and issubclass(found, errors.ForebayError)
}
#: First file of this very package.
PACKAGE = str(Path(errors.__file__).with_name("__init__.py"))
#: Start of a process: it loads this very package, and no other file of the current folder (`-P`).
START = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("forebay", sys.argv.pop(1))
package = sys.modules["forebay"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
from forebay.algorithms.worker import start
start()
"""

Observe = Callable[[int, _core.Report | Exception], object]
T = TypeVar("T")


class _Process:
    """One process, which answers one request at a time."""

    def __init__(self) -> None:
        limits = (str(_core.allowed_memory()), str(LONGEST_CALL_S))
        command = [sys.executable, "-P", "-c", START, PACKAGE, *limits]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment(), start_new_session=True
        )
        self._rest = bytearray()
        self._number, self._names = 0, ""
        # A fork of this process must not end what it has inherited.
        self._owner = os.getpid()

    def ask(self, request: Mapping[str, Any], stop: threading.Event) -> dict[str, Any]:
        """The answer to a request.

        Raises
        ------
        CodeError
            If the process ends, falls silent, or answers with anything but one JSON object with the request's number.
        """
        assert self._process.stdin is not None, "it has a pipe"
        self._names = _names(request)
        self._number += 1
        try:
            self._process.stdin.write(json.dumps({"number": self._number, **request}).encode() + b"\n")
            self._process.stdin.flush()
            for line in iter(lambda: self._line(stop), b""):
                if line.strip():
                    answer = self._checked(line)
                    if "error" not in answer and self.has_answered_again():
                        self._refuse_second()
                    return answer
        except OSError:
            pass
        raise CodeError(self._end())

    def _checked(self, line: bytes) -> dict[str, Any]:
        """The answer in a line; the code may have written to the pipe."""
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or type(answer.get("number")) is not int:
            raise CodeError(_no_answer(self._names))
        if answer["number"] != self._number:
            self._refuse_second()
        return answer

    def _refuse_second(self) -> NoReturn:
        raise CodeError(f"{self._names}: the process of the code has answered twice; allowed: code that does not fork")

    def _line(self, stop: threading.Event) -> bytes:
        """The next line; empty at the end of the output."""
        heard = time.monotonic()
        while (end := self._rest.find(b"\n")) < 0:
            if stop.is_set():
                self.close()
                raise errors.Interrupted("interrupted")
            more = self._read(LOOK_S)
            if more is None:
                if time.monotonic() - heard > SILENCE_S:
                    self.close()
                    raise CodeError(f"{self._names}: the code has blocked its process for {SILENCE_S:.0f} s")
                continue
            if not more:
                return b""
            heard = time.monotonic()
            if len(self._rest) > MOST_BYTES:
                raise CodeError(_no_answer(self._names))
        line = bytes(self._rest[: end + 1])
        del self._rest[: end + 1]
        return line

    def _read(self, wait_s: float) -> bytes | None:
        """Further bytes of the output; None if there are none within this time, empty at the end."""
        assert self._process.stdout is not None, "it has a pipe"
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(wait_s):
                return None
        more = os.read(self._process.stdout.fileno(), 1 << 20)
        self._rest += more
        return more

    def has_answered_again(self) -> bool:
        """Whether the pipe has more than the answers that were read and signs of life."""
        with suppress(OSError):
            while not self._rest.strip() and self._read(0.0):
                pass
        return bool(self._rest.strip())

    def _end(self) -> str:
        """Why a process that answers no more has ended."""
        text = f"{self._names}: the process of the code"
        try:
            code = self._process.wait(SILENCE_S)
        except subprocess.TimeoutExpired:
            return f"{text} closed its output"
        if code >= 0:
            return f"{text} ended (exit code {code})"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"{text} ended ({name})" + (", perhaps for want of memory" if name == "SIGKILL" else "")

    @property
    def lives(self) -> bool:
        """Whether it can take another request."""
        return self._owner == os.getpid() and self._process.poll() is None and not self.has_answered_again()

    def close(self) -> None:
        """End it, and the processes that the code has started."""
        if self._owner != os.getpid():
            return
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process.wait()
        # The number of the group may belong to others from here on.
        self._owner = 0


def _environment() -> dict[str, str]:
    """The variables of a process. An empty entry of `PYTHONPATH` would name the current folder."""
    found = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    if "PYTHONPATH" in found:
        found["PYTHONPATH"] = os.pathsep.join(filter(None, found["PYTHONPATH"].split(os.pathsep)))
    return found


def _names(request: Mapping[str, Any]) -> str:
    """The names of the files of a request."""
    return ", ".join(dict.fromkeys(PurePath(file_of(place)).name for place, _, _ in request["code"]))


def _no_answer(names: str) -> str:
    return (
        f"{names}: the process of the code wrote an answer of a wrong form; "
        "allowed: code that writes only to files that it opens"
    )


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


def _asked(request: Mapping[str, Any], stop: threading.Event, read: Callable[[Mapping[str, Any]], T]) -> T:
    """The answer of a process to a request, as `read` converts it; errors are raised here."""
    process = _taken()
    try:
        answer = process.ask(request, stop)
        if "error" in answer:
            kind, text = ERRORS.get(str(answer["error"])), answer.get("text")
            if kind is not None and isinstance(text, str):
                raise kind(text)
        try:
            found = read(answer)
        except Exception:
            raise CodeError(_no_answer(_names(request))) from None
    except BaseException:
        # The process may have state of a failed run.
        process.close()
        raise
    if answer.get("children"):
        process.close()
    else:
        _give_back(process)
    return found


def describe(place: str, source: str, role: Role) -> dict[str, Any]:
    """The title, parameters and capabilities of a class, from a process that loads it."""
    request = {"do": "describe", "code": [(place, source, role)]}
    return _asked(request, threading.Event(), lambda answer: _facts(answer, role))


def _facts(answer: Mapping[str, Any], role: Role) -> dict[str, Any]:
    """The facts about a class, whose types are those that the core takes."""
    facts = dict(answer["facts"])
    kinds: dict[str, type] = {"title": str, "parameters": list}
    if role == "controller":
        kinds |= {"scalable": bool, "samples": str, "own_recovery": bool, "own": list}
    if not all(isinstance(facts[name], kind) for name, kind in kinds.items()):
        raise TypeError("found a fact of another type")
    parameters = []
    for name, meaning, kind, default, least, most in facts["parameters"]:
        texts, numbers = (name, meaning, kind), (least, most)
        if not all(isinstance(each, str) for each in texts) or not isinstance(default, str | None):
            raise TypeError("found a parameter that has no text")
        if not all(isinstance(each, int | float | None) for each in numbers):
            raise TypeError("found a bound that is no number")
        parameters.append((name, meaning, kind, default, least, most))
    return facts | {"parameters": parameters}


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
                done.put((number, _asked({"do": "run", **_request(jobs[number])}, stop, _report)))
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
    if report is None:
        raise ValueError("found a text that is no report")
    if "traces" not in answer:
        return report
    import numpy as np

    tables: dict[str, dict[str, Any]] = {}
    with np.load(io.BytesIO(base64.b64decode(answer["traces"])), allow_pickle=False) as columns:
        for name in columns.files:
            table, _, column = name.partition(".")
            tables.setdefault(table, {})[column] = columns[name]
    return report.with_traces(tables)
