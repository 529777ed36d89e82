"""A process that runs the code of users: one request in each line of its input, one answer in each line of its output.

`processes` starts it. Each second it writes an empty line, so that its parent knows that it lives. It ends itself with
an answer if one call of the code takes too long.
"""

from __future__ import annotations

import base64
import io
import json
import os
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from forebay import _core
from forebay.algorithms.errors import FILES
from forebay.algorithms.loading import activate
from forebay.errors import CodeError, ForebayError

__all__ = ["main"]

#: Time between two signs of life, in seconds.
BEAT_S = 0.5
#: Memory of the process beside that of the runs, in bytes.
SPARE = 512 * 2**20


class _Answers:
    """The output of the process, which the main thread and the watchdog share."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._lock = out, threading.Lock()

    def write(self, answer: dict[str, Any] | None) -> None:
        text = b"" if answer is None else json.dumps(answer).encode()
        with self._lock:
            self._out.write(text + b"\n")
            self._out.flush()


def _watch(answers: _Answers, longest_s: float) -> None:
    """Write signs of life. End the process if a call of the code takes too long, or if the parent has ended."""
    while True:
        time.sleep(BEAT_S)
        loading = LOADING.get("since")
        since = _core.code_runs_s() if loading is None else time.monotonic() - loading
        if since > longest_s:
            text = f"{_place()}: one call of the code has run for {longest_s:.3g} s, and was ended"
            answers.write({"error": "CodeError", "text": text})
            os._exit(1)
        try:
            answers.write(None)
        except OSError:
            os._exit(0)  # The parent has ended, and reads no answer.


#: The time at which the present loading of a file began, if one is in progress.
LOADING: dict[str, float] = {}


def _place() -> str:
    """The line of the user's file in which a thread is."""
    for frame in sys._current_frames().values():
        found = [each for each in traceback.extract_stack(frame) if each.filename in FILES]
        if found:
            return f"{PurePath(found[-1].filename).name}:{found[-1].lineno}"
    return ", ".join(PurePath(file).name for file in FILES)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """Do what a request asks for."""
    for place, source, role in request["code"]:
        LOADING["since"] = time.monotonic()
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


def main() -> None:
    """Answer requests until the input ends."""
    requests, out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # The code may print: its text must not become an answer.
    os.dup2(2, 1)
    sys.stdin = io.StringIO()
    answers = _Answers(out)
    _limit(int(sys.argv[1]))
    threading.Thread(target=_watch, args=(answers, float(sys.argv[2])), daemon=True).start()
    for line in requests:
        try:
            answers.write(_answer(json.loads(line)))
        except ForebayError as error:
            answers.write({"error": type(error).__name__, "text": str(error)})
        except MemoryError:
            answers.write({"error": "CodeError", "text": f"{_place()}: MemoryError"})


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)
    except CodeError:
        os._exit(1)
