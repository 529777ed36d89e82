"""A process that runs the code of users: one request in each line of its input, one answer in each line of its output.

`processes` starts it. An answer has the number of its request. Each second the process writes an empty line, so that
its parent knows that it lives. It ends itself with an answer if one call of the code takes too long.
"""

from __future__ import annotations

import base64
import io
import os
import signal
import sys
import threading
import traceback
from contextlib import suppress

# The code may replace functions of these modules. The names of this module keep the originals.
from json import dumps, loads
from os import _exit, getpid
from pathlib import Path, PurePath
from time import monotonic, sleep
from typing import Any, BinaryIO

from forebay import _core
from forebay.algorithms.errors import FILES
from forebay.algorithms.errors import described as error_in_one_line
from forebay.algorithms.loading import activate
from forebay.errors import CodeError, ForebayError

__all__ = ["main", "start"]

#: Time between two signs of life, in seconds.
BEAT_S = 0.5
#: Memory of the process beside that of the runs, in bytes.
SPARE = 512 * 2**20
#: Smallest descriptor of the pipes. Code that writes to or closes the usual descriptors does not meet them.
DESCRIPTOR = 100


class _Answers:
    """The output of the process, which the main thread and the watchdog share."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._lock, self._pid = out, threading.Lock(), getpid()
        #: Number of the request in progress.
        self.number = 0

    def write(self, answer: dict[str, Any] | None) -> None:
        if getpid() != self._pid:
            self._refuse()
        text = b"" if answer is None else dumps({"number": self.number, **answer}).encode()
        with self._lock:
            self._out.write(text + b"\n")
            self._out.flush()

    def _refuse(self) -> None:
        """End a process that the code has forked. A thread of the other process may hold the lock."""
        refusal = {"number": self.number, "error": "CodeError", "text": _twice()}
        with suppress(OSError):
            os.write(self._out.fileno(), dumps(refusal).encode() + b"\n")
        _exit(1)


def _watch(answers: _Answers, longest_s: float) -> None:
    """Write signs of life. End the process if a call of the code takes too long, or if the parent has ended."""
    while True:
        sleep(BEAT_S)
        loading = LOADING.get("since")
        since = _core.code_runs_s() if loading is None else monotonic() - loading
        if since > longest_s:
            text = f"{_place()}: one call of the code has run for {longest_s:.3g} s, and was ended"
            answers.write({"error": "CodeError", "text": text})
            _exit(1)
        try:
            answers.write(None)
        except OSError:
            _leave()  # The parent has ended, and reads no answer.


#: The time at which the present loading of a file began, if one is in progress.
LOADING: dict[str, float] = {}
#: Lines at which the code has forked this process.
FORKS: list[str] = []


def _place() -> str:
    """The line of the user's file in which a thread is."""
    for frame in sys._current_frames().values():
        found = [each for each in traceback.extract_stack(frame) if each.filename in FILES]
        if found:
            return f"{PurePath(found[-1].filename).name}:{found[-1].lineno}"
    return ", ".join(PurePath(file).name for file in FILES)


def _twice() -> str:
    """The error of a code that forks."""
    place = FORKS[-1] if FORKS else _place()
    return f"{place}: the code has forked its process, so that its run is answered twice; allowed: one process"


def _has_children() -> bool:
    """Whether a process runs that this process has started."""
    if not hasattr(os, "WNOHANG"):  # Windows
        return False
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _leave() -> None:
    """End this process, and the processes that the code has started if `processes` has started this one."""
    if hasattr(os, "killpg") and os.getpgrp() == getpid() and _has_children():
        os.killpg(0, signal.SIGKILL)
    _exit(0)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """Do what a request asks for."""
    FILES.clear()
    for place, source, role in request["code"]:
        LOADING["since"] = monotonic()
        try:
            facts = activate(place, source, role)
        finally:
            LOADING.clear()
    if request["do"] == "describe":
        return {"facts": facts}
    scenario, engine, seed, replication, traces, model, memory = request["job"]
    core = _core.Scenario.parse(scenario, "json", "scenario", [])
    job = _core.Job(core, engine, seed, replication, traces=traces, model=model, memory=memory)
    outcome = _core.run_here(job)
    answer: dict[str, Any] = {"report": outcome.to_cached()}
    if traces and (tables := outcome.traces()) is not None:
        import numpy as np

        packed = io.BytesIO()
        columns = {f"{table}.{name}": column for table, found in tables.items() for name, column in found.items()}
        np.savez(packed, **columns)
        answer["traces"] = base64.b64encode(packed.getvalue()).decode()
    return answer


def _outcome(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request, or the error."""
    FORKS.clear()
    try:
        answer = _answer(request)
        children = _has_children()
        if FORKS and children:
            raise CodeError(_twice())
        return answer | {"children": children}
    except ForebayError as error:
        return {"error": type(error).__name__, "text": str(error)}
    except MemoryError:
        return {"error": "CodeError", "text": f"{_place()}: MemoryError"}
    except BaseException as error:
        # The code may have replaced any function.
        return {"error": "CodeError", "text": error_in_one_line(error)}


def _limit(memory: int) -> None:
    """Limit the memory of this process."""
    try:
        import resource
    except ImportError:  # Windows
        return
    with suppress(OSError, ValueError, IndexError):
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory + SPARE,) * 2)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _own(descriptor: int) -> int:
    """Another descriptor of a pipe, which programs that the code starts do not inherit."""
    try:
        import fcntl
    except ImportError:  # Windows
        return os.dup(descriptor)
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, DESCRIPTOR)
    except OSError:  # The limit of open files is lower.
        return os.dup(descriptor)


def main() -> None:
    """Answer requests until the input ends."""
    requests, out = os.fdopen(_own(0), "rb"), os.fdopen(_own(1), "wb")
    # The code may read and print: it must read no request, and its text must not become an answer.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdin = io.StringIO()
    answers = _Answers(out)
    _limit(int(sys.argv[1]))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lambda: FORKS.append(_place()))
    threading.Thread(target=_watch, args=(answers, float(sys.argv[2])), daemon=True).start()
    for line in requests:
        request = loads(line)
        answers.number = request["number"]
        answers.write(_outcome(request))


def start() -> None:
    """Run `main`, and end this process without a traceback if the parent or the code has broken its pipe."""
    try:
        main()
    except (OSError, KeyboardInterrupt):
        pass
    except BaseException as error:
        print(f"forebay: {error_in_one_line(error)}", file=sys.stderr)
        _exit(1)
    _leave()


if __name__ == "__main__":
    start()
