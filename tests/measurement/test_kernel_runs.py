"""Runs in real time: stored after the first time, repeated if the machine was late, resumed after an interruption."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from checks.kernel_runs import ATTEMPTS, FILE, KernelRuns, Ran, Refused, RunRequest, duration_s, lasting
from forebay import InputError, UnavailableError
from forebay.results.report import Report
from forebay.scenario import Scenario
from forebay.storage import journal

#: The scenario of a run; the packet engine answers for the kernel.
TABLES: dict[str, Any] = {
    "link": {"rate": "10Mbps", "buffer": "20p"},
    "flows": [{"name": "one", "cca": "newreno", "stack": "linux", "rtt": "20ms", "workload": "persistent"}],
    "run": {"warmup": "1s", "measure": "2s"},
}
LATE = {"error": "untrusted", "why": "the machine was late"}


def asked(seed: int = 1, number: int = 0) -> RunRequest:
    return RunRequest(f"seed {seed}", {**TABLES, "run": {**TABLES["run"], "seed": seed}}, number)


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return Scenario.of(asked().tables).run().to_dict()


class Machine:
    """Answers each attempt with the next of what it was given, in processes that do nothing else."""

    def __init__(self, answers: Sequence[Mapping[str, Any] | None], lasts: float = 0.0) -> None:
        self.answers: Iterator[Mapping[str, Any] | None] = iter(answers)
        self.lasts = lasts
        self.processes: list[subprocess.Popen[bytes]] = []
        self.most = 0

    def begin(self, _: RunRequest, folder: Path) -> subprocess.Popen[bytes]:
        answer = next(self.answers)
        if answer is not None:
            (folder / "told.json").write_text(json.dumps(answer), encoding="utf-8")
        self.processes.append(subprocess.Popen(["sleep", str(self.lasts)]))
        self.most = max(self.most, sum(process.poll() is None for process in self.processes))
        return self.processes[-1]


def runs(
    folder: Path, answers: Sequence[Mapping[str, Any] | None], at_once: int = 1, lasts: float = 0.0
) -> tuple[KernelRuns, Machine]:
    machine = Machine(answers, lasts)
    return KernelRuns(folder, at_once, machine.begin), machine


def silent(_: str) -> None:
    pass


def raising(error: BaseException) -> Callable[[str], None]:
    def say(_: str) -> None:
        raise error

    return say


def test_a_run_is_made_once_and_kept(tmp_path: Path, report: dict[str, Any]) -> None:
    first, machine = runs(tmp_path, [{"report": report}] * 2)
    first.fetch([asked(1), asked(2), asked(1)], silent)
    assert len(machine.processes) == 2
    repeated, _ = runs(tmp_path, [])
    repeated.fetch([asked(1), asked(2)], silent)
    found = repeated.of(asked(2))
    assert isinstance(found, Ran)
    assert found.report.to_dict() == report
    assert repeated.remaining([asked(1), asked(1, number=1)]) == [asked(1, number=1)]


def test_a_late_machine_is_asked_again_up_to_twice(tmp_path: Path, report: dict[str, Any]) -> None:
    assert ATTEMPTS == 3
    lucky, _ = runs(tmp_path / "lucky", [LATE, {"report": report}])
    lucky.fetch([asked()], silent)
    found = lucky.of(asked())
    assert isinstance(found, Ran)
    assert found.attempt == 2
    messages: list[str] = []
    unlucky, machine = runs(tmp_path / "unlucky", [LATE] * 3)
    unlucky.fetch([asked()], messages.append)
    assert unlucky.of(asked()) == Refused("the machine was late", 3)
    assert len(machine.processes) == 3
    assert sum("the machine was late" in line for line in messages) == 3
    stored = [entry for _, entry in journal.entries((tmp_path / "unlucky" / FILE).read_bytes())]
    assert [entry["attempt"] for entry in stored] == [1, 2, 3]
    # On another day the machine may be calmer.
    later, _ = runs(tmp_path / "unlucky", [{"report": report}])
    later.fetch([asked()], silent)
    assert isinstance(later.of(asked()), Ran)


def test_what_the_engine_cannot_run_is_not_tried_again(tmp_path: Path, report: dict[str, Any]) -> None:
    found, machine = runs(tmp_path, [{"error": "refused", "why": "no such cca"}, {"report": report}])
    found.fetch([asked(1), asked(2)], silent)
    assert found.of(asked(1)) == Refused("no such cca", 1)
    assert isinstance(found.of(asked(2)), Ran)
    assert len(machine.processes) == 2


def test_a_machine_without_namespaces_ends_it_all(tmp_path: Path) -> None:
    found, machine = runs(tmp_path, [{"error": "unavailable", "why": "no TUN"}] * 2)
    with pytest.raises(UnavailableError, match="no TUN"):
        found.fetch([asked(1), asked(2)], silent)
    assert len(machine.processes) == 1
    assert not (tmp_path / FILE).exists()


def test_an_interruption_ends_what_runs_and_loses_nothing_that_was_over(tmp_path: Path, report: dict[str, Any]) -> None:
    first, machine = runs(tmp_path, [{"report": report}, {"report": report}], at_once=2)
    machine.lasts = 0.1
    begin = first.begin

    def slower(request: RunRequest, folder: Path) -> subprocess.Popen[bytes]:
        process = begin(request, folder)
        machine.lasts = 60.0
        return process

    first.begin = slower
    with pytest.raises(KeyboardInterrupt):
        first.fetch([asked(1), asked(2)], raising(KeyboardInterrupt()))
    assert all(process.poll() is not None for process in machine.processes), "nothing outlives it"
    second, machine = runs(tmp_path, [{"report": report}])
    second.fetch([asked(1), asked(2)], silent)
    assert len(machine.processes) == 1


def test_two_go_on_at_a_time_and_no_more(tmp_path: Path, report: dict[str, Any]) -> None:
    found, machine = runs(tmp_path / "two", [{"report": report}] * 3, at_once=2, lasts=0.3)
    found.fetch([asked(1), asked(2), asked(3)], silent)
    assert machine.most == 2
    alone, machine = runs(tmp_path / "one", [{"report": report}] * 2, lasts=0.2)
    alone.fetch([asked(1), asked(2)], silent)
    assert machine.most == 1
    with pytest.raises(InputError, match="found 3; allowed: 1 to 2"):
        runs(tmp_path, [], at_once=3)


def test_a_process_that_dies_or_never_ends_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    died, _ = runs(tmp_path / "died", [None])
    died.fetch([asked()], silent)
    assert died.of(asked()) == Refused("its process ended with 0", 1)
    monkeypatch.setattr("checks.kernel_runs.PATIENCE_S", -3.2)
    endless, machine = runs(tmp_path / "endless", [None] * 3, lasts=60.0)
    began = time.monotonic()
    endless.fetch([asked()], silent)
    assert endless.of(asked()) == Refused("it did not end in time", 3)
    assert time.monotonic() - began < 10.0
    assert all(process.poll() is not None for process in machine.processes)


def test_a_damaged_line_costs_its_run_only(tmp_path: Path, report: dict[str, Any]) -> None:
    first, _ = runs(tmp_path, [{"report": report}] * 2)
    first.fetch([asked(1), asked(2)], silent)
    path = tmp_path / FILE
    stored = path.read_bytes()
    path.write_bytes(stored[:20] + b"#" + stored[21:] + b"1234")
    repeated, _ = runs(tmp_path, [])
    assert repeated.remaining([asked(1), asked(2)]) == [asked(1)]


def test_the_remaining_runs_are_announced(tmp_path: Path, report: dict[str, Any]) -> None:
    assert duration_s(asked()) == 3.0
    found, _ = runs(tmp_path, [{"report": report}], at_once=2)
    assert found.cost([asked(1), asked(2)]) == "2 runs in real time, 6 s in all, two at a time: 3 s"
    found.fetch([asked(1)], silent)
    retained = f"; 1 are kept from before in {tmp_path}"
    assert found.cost([asked(1), asked(2)]) == f"1 run in real time, 3 s in all, two at a time: 2 s{retained}"
    assert found.cost([asked(1)]) == f"nothing to run{retained}"
    assert [lasting(seconds) for seconds in (20, 720, 6120)] == ["20 s", "12 min", "1 h 42 min"]


def test_the_same_run_has_the_same_key_and_others_have_others() -> None:
    assert asked().key == RunRequest("another label", asked().tables).key
    assert len({asked().key, asked(2).key, asked(number=1).key}) == 3


def test_the_process_of_a_run_says_why_there_is_none(tmp_path: Path) -> None:
    """Two packets of one flow need a controller that no kernel has."""
    tables = {**TABLES, "flows": [{**TABLES["flows"][0], "cca": "hstcp", "processing": "1ms"}]}
    required = {"tables": tables, "number": 0}
    (tmp_path / "wanted.json").write_text(json.dumps(required), encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "checks.kernel_runs", str(tmp_path)], check=False, timeout=60)
    assert done.returncode == 0
    data = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    assert data["error"] in {"refused", "unavailable"}
    assert data["why"].startswith("the kernel engine")


def test_a_kept_report_is_read_as_it_was(report: dict[str, Any]) -> None:
    assert Report.of(report).metrics.utilization.mean == report["metrics"]["utilization"]["mean"]
