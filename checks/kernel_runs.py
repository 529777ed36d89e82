"""Runs of the kernel engine for the checks: each lasts as long as its scenario, and is stored as soon as it is over.

A run is a process of its own, so that two can run at a time and none survives an interruption. A run that the engine
refuses because the machine was late is repeated up to twice. A journal stores the result of each attempt. An
interrupted command continues after the last run that ended.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.errors import ForebayError, InputError, UnavailableError, UntrustedError
from forebay.results.report import Report
from forebay.scenario import Scenario, run_jobs
from forebay.storage import journal
from forebay.storage.build import fingerprint
from forebay.storage.locks import exclusive_in

__all__ = ["ATTEMPTS", "KernelRuns", "Ran", "Refused", "RunRequest", "attempt", "duration_s", "lasting", "missing"]

#: Largest number of attempts of a run; the matrix of linux.jsonl also repeated a run twice.
ATTEMPTS = 3
#: Largest number of runs at a time; more would take processors from each other.
MOST_AT_ONCE = 2
#: Time between two checks of the processes, and time by which a run may outlast its scenario, in seconds.
LOOK_S, PATIENCE_S = 0.05, 90.0

FILE = "runs.journal"


@dataclass(frozen=True)
class RunRequest:
    """A requested run.

    Attributes
    ----------
    label : str
        Name of the run in the progress output.
    tables : mapping
        The scenario.
    number : int
        Index of the run among those of the same scenario: the replication, from 0.
    """

    label: str
    tables: Mapping[str, Any]
    number: int = 0

    @property
    def key(self) -> str:
        """The key of the run, equal for equal runs on this kernel by this build."""
        scenario = Scenario.of(self.tables)
        return f"{fingerprint()} {platform.release()} {scenario.core.sha256} {self.number}"


@dataclass(frozen=True)
class Ran:
    """A run that is believed; `attempt` counts from 1, `load` is the machine's of the minute before it."""

    report: Report
    attempt: int
    load: float


@dataclass(frozen=True)
class Refused:
    """Why there is no run: the engine refused the last attempt, or cannot run the scenario."""

    why: str
    attempts: int


def lasting(seconds: float) -> str:
    """A time as people plan with it: "1 h 42 min", "12 min", "40 s"."""
    if seconds < 100.0:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def duration_s(requested: RunRequest) -> float:
    """The duration of a run by its scenario, warm-up included, in seconds."""
    return sum(Scenario.of(requested.tables).core.duration_s)


@dataclass
class _Attempt:
    """A process that makes a run."""

    request: RunRequest
    number: int
    process: subprocess.Popen[bytes]
    folder: tempfile.TemporaryDirectory[str]
    load: float
    deadline: float


@dataclass
class KernelRuns:
    """Results of runs, by the requested run.

    Attributes
    ----------
    folder : Path
        Folder of the journal; it is made.
    at_once : int
        Number of runs at a time, 1 or 2.
    begin : callable
        Begins an attempt and returns its process, which writes to the given path; tests have their own.
    """

    folder: Path
    at_once: int = 1
    begin: Callable[[RunRequest, Path], subprocess.Popen[bytes]] = field(default_factory=lambda: _begin)
    _results: dict[str, Ran | Refused] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.at_once <= MOST_AT_ONCE:
            raise InputError(f"at once: found {self.at_once}; allowed: 1 to {MOST_AT_ONCE}")
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / FILE
        for _, entry in journal.entries(path.read_bytes() if path.exists() else b""):
            # A refused run is tried again, because the machine may be calmer now.
            if isinstance(entry, dict) and isinstance(entry.get("report"), dict):
                report = Report.of(entry["report"])
                self._results[entry["key"]] = Ran(report, int(entry["attempt"]), float(entry["load"]))

    def of(self, requested: RunRequest) -> Ran | Refused:
        """The result of a run after `fetch`."""
        return self._results[requested.key]

    def remaining(self, runs: Iterable[RunRequest]) -> list[RunRequest]:
        """The runs that are still to be made, each once."""
        return list({wanted_run.key: wanted_run for wanted_run in runs if wanted_run.key not in self._results}.values())

    def cost(self, required: Sequence[RunRequest]) -> str:
        """One line about the duration of the runs that are still to be made."""
        left = self.remaining(required)
        known = len({each_run.key for each_run in required}) - len(left)
        reused = f"; {known} are kept from before in {self.folder}" if known else ""
        if not left:
            return f"nothing to run{reused}"
        alone = sum(map(duration_s, left))
        pace = f", two at a time: {lasting(alone / 2)}" if self.at_once > 1 else ""
        runs = "1 run" if len(left) == 1 else f"{len(left)} runs"
        return f"{runs} in real time, {lasting(alone)} in all{pace}{reused}"

    def fetch(self, runs: Sequence[RunRequest], say: Callable[[str], None]) -> None:
        """Make the runs that are not known yet, up to `at_once` at a time, and store each.

        Raises
        ------
        UnavailableError
            If this machine cannot run any.
        """
        left = self.remaining(runs)
        if not left:
            return
        with exclusive_in(self.folder, "runs of the kernel engine"):
            self._work([(each_run, 1) for each_run in left], say)

    def _work(self, queue: list[tuple[RunRequest, int]], say: Callable[[str], None]) -> None:
        working: list[_Attempt] = []
        total, remaining = len(queue), sum(duration_s(wanted_run) for wanted_run, _ in queue)
        done = 0
        try:
            while queue or working:
                while queue and len(working) < self.at_once:
                    wanted_run, number = queue.pop(0)
                    working.append(self._started(wanted_run, number))
                time.sleep(LOOK_S)
                for each in [each for each in working if _over(each)]:
                    working.remove(each)
                    retry = self._ended(each, say)
                    if retry:
                        queue.append((each.request, each.number + 1))
                        continue
                    done += 1
                    remaining -= duration_s(each.request)
                    left = lasting(max(remaining, 0.0) / self.at_once)
                    say(f"{done} of {total}: {each.request.label}; {left} left")
        finally:
            for each in working:
                _stop(each)

    def _started(self, run: RunRequest, number: int) -> _Attempt:
        folder = tempfile.TemporaryDirectory(prefix="forebay-run-")
        load = os.getloadavg()[0]
        deadline = time.monotonic() + 1.1 * duration_s(run) + PATIENCE_S
        return _Attempt(run, number, self.begin(run, Path(folder.name)), folder, load, deadline)

    def _ended(self, attempt: _Attempt, say: Callable[[str], None]) -> bool:
        """Store the result of an attempt; return whether it is to be repeated."""
        result = _result_of(attempt)
        entry = {"key": attempt.request.key, "label": attempt.request.label, "attempt": attempt.number} | result
        entry["load"] = attempt.load
        if result.get("error") == "unavailable":
            raise UnavailableError(result["why"])
        with (self.folder / FILE).open("ab") as file:
            file.write(journal.line(entry))
            file.flush()
            os.fsync(file.fileno())
        if "report" in result:
            self._results[attempt.request.key] = Ran(Report.of(result["report"]), attempt.number, attempt.load)
            return False
        say(f"{attempt.request.label}: attempt {attempt.number}: {result['why']}")
        if result["error"] == "untrusted" and attempt.number < ATTEMPTS:
            return True
        self._results[attempt.request.key] = Refused(result["why"], attempt.number)
        return False


def missing() -> str | None:
    """The requirement of the kernel engine that this machine lacks, in one line; None if it lacks nothing."""
    tables = {
        "link": {"rate": "1Mbps", "buffer": "10p"},
        "flows": [{"name": "one", "rtt": "10ms", "workload": "persistent", "stack": "linux"}],
        "run": {"warmup": "0s", "measure": "10ms"},
    }
    result = attempt(RunRequest("a look at the machine", tables))
    return result["why"] if result.get("error") == "unavailable" else None


# Processes ---------------------------------------------------------------------------------------------------------

_WANTED, _TOLD = "wanted.json", "told.json"


def _begin(requested: RunRequest, folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that makes the run and writes its result into the folder."""
    data = {"tables": dict(requested.tables), "number": requested.number}
    (folder / _WANTED).write_text(json.dumps(data), encoding="utf-8")
    command = [sys.executable, "-P", __file__, str(folder)]  # without the folder of this file on its path
    with (folder / "said").open("wb") as output:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)


def attempt(requested: RunRequest) -> Mapping[str, Any]:
    """Run it once here: its report in plain form, or the kind of error and why."""
    try:
        (report,) = run_jobs([_core.Job(Scenario.of(requested.tables).core, "kernel", 1, requested.number)], 1)
    except UntrustedError as error:
        return {"error": "untrusted", "why": str(error)}
    except UnavailableError as error:
        return {"error": "unavailable", "why": str(error)}
    except ForebayError as error:
        return {"error": "refused", "why": str(error)}
    return {"report": report.to_dict()}


def _over(each: _Attempt) -> bool:
    return each.process.poll() is not None or time.monotonic() > each.deadline


def _stop(each: _Attempt) -> None:
    """End a running process, and remove its folder."""
    if each.process.poll() is None:
        each.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            each.process.wait(10.0)
    if each.process.poll() is None:
        each.process.kill()
        each.process.wait()
    each.folder.cleanup()


def _result_of(each: _Attempt) -> dict[str, Any]:
    """The result of a process that is over; one that died or did not end in time counts as a refusal."""
    path = Path(each.folder.name)
    output = path / "said"
    try:
        if each.process.poll() is None:
            return {"error": "untrusted", "why": "it did not end in time"}
        try:
            data = json.loads((path / _TOLD).read_text(encoding="utf-8"))
            return dict(data)
        except (OSError, ValueError):
            last = (
                output.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
                if output.exists()
                else ""
            )
            return {"error": "refused", "why": last or f"its process ended with {each.process.returncode}"}
    finally:
        _stop(each)


def main(arguments: Sequence[str]) -> int:
    """Make the run that a folder describes, and write its result there."""
    (named,) = arguments
    folder = Path(named)
    data = json.loads((folder / _WANTED).read_text(encoding="utf-8"))
    result = attempt(RunRequest("", data["tables"], data["number"]))
    unfinished = folder / f"{_TOLD}.unfinished"
    unfinished.write_text(json.dumps(result), encoding="utf-8")
    unfinished.replace(folder / _TOLD)
    return 0


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):  # the parent process reports it
        sys.exit(main(sys.argv[1:]))
    sys.exit(130)
