"""Files of ports are read once, several at the same time, and what was found outlives an audit that ends early."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import forebay
from forebay import FleetAnswer, FleetExecution, InputError, _core
from forebay.errors import UnreadableError
from forebay.fleets import reading
from forebay.fleets.inventory import read_inventory
from forebay.fleets.profiles import Profiles
from forebay.fleets.reading import FileReader, Request
from forebay.fleets.store import Store
from forebay.observation import memory
from forebay.storage import build
from tests.fleet.observed_ports import capture, ports

RATE = 10_000_000
WRITTEN = ("ports.parquet", "summary.json", "rejected.csv", "forebay.prom")
#: Ports of a network with captures, with a file that shows no round trips, and with a damaged one under two names.
NETWORK = (
    {"observe": "one.pcapng", "buffer": "1 packets"},
    {"observe": "bare.pcapng"},
    {"observe": "damaged.pcapng"},
    {"observe": "two.pcapng"},
    {"observe": "copy.pcapng"},
)


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two captures that show everything, one without round trips, and two damaged copies."""
    folder = tmp_path_factory.mktemp("captures")
    for name, stack in (("one", "linux"), ("bare", "rfc")):
        (folder / name).mkdir()
        capture(folder / name, stack=stack).rename(folder / f"{name}.pcapng")
    whole = (folder / "one.pcapng").read_bytes()
    (folder / "two.pcapng").write_bytes(whole[: len(whole) // 2])
    for name in ("damaged", "copy"):
        (folder / f"{name}.pcapng").write_bytes(whole[:5000][::-1])
    return folder


def network(captures: Path, folder: Path, rows: Sequence[Mapping[str, str]] = NETWORK) -> Path:
    """A folder with the files and a table of ports."""
    folder.mkdir(exist_ok=True)
    for path in captures.glob("*.pcapng"):
        shutil.copy2(path, folder)
    ports(folder, *rows)
    return folder / "ports.csv"


def audit(table: Path, out: str = "out", **means: Any) -> FleetAnswer:
    execution = FleetExecution(full=0, **{"jobs": 1, **means})
    answer = forebay.fleet(table, execution=execution, out=table.parent / out)
    assert isinstance(answer, FleetAnswer)
    return answer


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that are read, in the order of reading."""
    names: list[str] = []
    actual = reading.observe

    def noted(paths: list[Path], **options: Any) -> Any:
        names.extend(path.name for path in paths)
        return actual(paths, **options)

    monkeypatch.setattr(reading, "observe", noted)
    return names


def observing(monkeypatch: pytest.MonkeyPatch, found: Callable[..., str]) -> list[str]:
    """Let a function make the scenario of each file; the names of the files that are read come back."""
    names: list[str] = []

    def observe(paths: list[Path], **options: Any) -> str:
        names.append(paths[0].name)
        return found(paths[0], **options)

    monkeypatch.setattr(reading, "observe", observe)
    monkeypatch.setattr(reading, "scenario_text", lambda text: text)
    return names


def requests(folder: Path, count: int) -> list[Request]:
    """Requests for different files."""
    for number in range(count):
        (folder / f"{number}.csv").write_bytes(f"{number}".encode() * 400_000)
    return [Request((str(folder / f"{number}.csv"),), RATE, "e1") for number in range(count)]


def results(folder: Path | None, wanted: Sequence[Request], **means: Any) -> list[Mapping[str, Any] | None]:
    """The results of a reader with a store in a folder."""
    with Store(folder, print) as store:
        files = FileReader(store, **means)
        files.read(wanted)
        return list(map(files.find, wanted))


def test_a_second_audit_reads_no_file_again(captures: Path, tmp_path: Path, read: list[str]) -> None:
    table = network(captures, tmp_path)
    first = audit(table)
    assert sorted(read) == ["bare.pcapng", "copy.pcapng", "damaged.pcapng", "one.pcapng", "two.pcapng"]
    written = {name: (tmp_path / "out" / name).read_bytes() for name in WRITTEN}
    again = audit(table)
    assert len(read) == 5
    assert {name: (tmp_path / "out" / name).read_bytes() for name in WRITTEN} == written
    # Files are no points.
    assert (again.measured, again.reused) == (0, first.measured)


def test_a_changed_file_is_read_again_and_a_renamed_one_is_not(captures: Path, tmp_path: Path, read: list[str]) -> None:
    table = network(captures, tmp_path)
    audit(table)
    read.clear()
    (tmp_path / "one.pcapng").rename(tmp_path / "three.pcapng")
    (tmp_path / "two.pcapng").write_bytes((captures / "two.pcapng").read_bytes()[:-90_000])
    renamed = [{**row, "observe": row["observe"].replace("one", "three")} for row in NETWORK]
    ports(tmp_path, *renamed)
    audit(table)
    assert read == ["two.pcapng"]


def test_another_rate_or_other_code_reads_a_file_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = observing(monkeypatch, lambda *_paths, **_options: "")
    (request,) = requests(tmp_path, 1)
    for rate in (RATE, 2 * RATE, RATE):
        results(tmp_path / "kept", [Request(request.names, rate, "e1")])
    assert len(read) == 2
    monkeypatch.setattr(build, "sources", lambda: "other")
    results(tmp_path / "kept", [request])
    assert len(read) == 3


def test_the_reason_of_a_file_names_that_file_and_not_its_copy(captures: Path, tmp_path: Path) -> None:
    table = network(captures, tmp_path)
    for _ in range(2):
        reasons = audit(table).ports["reason"].to_list()
        assert "damaged.pcapng: found bytes" in reasons[2]
        assert "copy.pcapng: found bytes" in reasons[4]


@pytest.mark.parametrize("jobs", [1, 3])
def test_neither_jobs_nor_the_order_of_ports_change_a_byte(jobs: int, captures: Path, tmp_path: Path) -> None:
    table = network(captures, tmp_path)
    audit(table, "first")
    audit(table, "second", jobs=jobs)
    for name in WRITTEN:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes(), name
    ports(tmp_path, *({**row, "port": f"e{number}"} for number, row in reversed(list(enumerate(NETWORK, 1)))))
    turned, straight = (audit(table, out, jobs=jobs).ports.drop("line") for out in ("third", "first"))
    assert turned.equals(straight)
    ports(tmp_path, *NETWORK)
    assert audit(table, "fourth").ports.drop("line").sort("port").equals(straight.sort("port"))


def test_several_files_are_read_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(3, timeout=10)
    observing(monkeypatch, lambda path, **_options: f"{together.wait()} {path.name}"[2:])
    found = results(None, requests(tmp_path, 6), jobs=3)
    assert found == [{"scenario": f"{number}.csv"} for number in range(6)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_files_that_were_read_before_an_interruption_are_kept(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = requests(tmp_path, 4)
    begun, stopped = threading.Event(), threading.Event()

    def interrupted(path: Path, progress: Callable[[int, int], object], **_options: Any) -> str:
        if path.name == "2.csv":
            assert jobs == 1 or begun.wait(10)
            raise KeyboardInterrupt
        if path.name == "3.csv":
            begun.set()
            for _ in range(500):
                try:
                    progress(1, 2)
                except forebay.Interrupted:
                    stopped.set()
                    raise
                time.sleep(0.01)
        return path.name

    observing(monkeypatch, interrupted)
    with pytest.raises(KeyboardInterrupt):
        results(tmp_path / "kept", wanted, jobs=jobs)
    # A reading that has begun ends, too.
    assert jobs == 1 or stopped.wait(10)
    read = observing(monkeypatch, lambda path, **_options: path.name)
    results(tmp_path / "kept", wanted, jobs=1)
    assert read == ["2.csv", "3.csv"]


@pytest.mark.parametrize(
    "error",
    [
        InputError(f"a.csv: reading it took too much ({_core.MORE_MEMORY})"),
        InputError("a.csv: cannot be read: Input/output error"),
        UnreadableError("a.csv: found zstd, which this Python cannot read"),
        forebay.ForebayError("/tmp: no room for what was read"),
    ],
)
def test_a_refusal_by_this_machine_is_not_kept(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_path: Path, **_options: Any) -> str:
        raise error

    wanted = requests(tmp_path, 1)
    observing(monkeypatch, refused)
    assert results(tmp_path / "kept", wanted) == [{"refusal": str(error), "argument": None}]
    read = observing(monkeypatch, lambda *_path, **_options: "there")
    assert results(tmp_path / "kept", wanted) == [{"scenario": "there"}]
    assert read == ["0.csv"]


def test_readings_at_the_same_time_share_the_memory_and_a_large_one_is_repeated_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed, lock, held = _core.allowed_memory(), threading.Lock(), 1000
    together = threading.Barrier(2, timeout=10)

    def change(amount: int) -> None:
        nonlocal held
        with lock:
            held += amount

    def using(path: Path, **_options: Any) -> str:
        change(3000)
        try:
            if read.count(path.name) == 1:
                together.wait()
            memory.check_memory(str(path))
        finally:
            change(-3000)
        return path.name

    for module in (reading, memory):
        monkeypatch.setattr(module, "resident", lambda: held)
    read = observing(monkeypatch, using)
    _core.allow_memory(4000)
    try:
        found = results(None, requests(tmp_path, 2), jobs=2)
    finally:
        _core.allow_memory(allowed)
    assert found == [{"scenario": f"{number}.csv"} for number in range(2)]
    assert sorted(map(read.count, ("0.csv", "1.csv"))) == [1, 2]


def test_a_file_that_changes_while_it_is_read_has_no_result_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def growing(path: Path, **_options: Any) -> str:
        with path.open("a") as file:
            file.write("more")
        return "half"

    (request,) = requests(tmp_path, 1)
    observing(monkeypatch, growing)
    (found,) = results(tmp_path / "kept", [request])
    assert found is not None
    assert "changed while it was read" in found["refusal"]
    assert not any(path.stat().st_size for path in (tmp_path / "kept").glob("*.jsonl"))


def test_progress_names_the_step_and_counts_megabytes_of_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []

    def slow(_path: Path, progress: Callable[[int, int], object], **_options: Any) -> str:
        for part in (1, 2, 1):
            progress(part * 100, 400)
            time.sleep(0.03)
        return ""

    monkeypatch.setattr(reading, "LOOK_S", 0.01)
    observing(monkeypatch, slow)
    wanted = requests(tmp_path, 5)
    results(None, wanted, jobs=1, progress=lambda done, expected: told.append((done, expected)), begin=told.append)
    steps = [place for place, each in enumerate(told) if isinstance(each, str)]
    assert [told[place] for place in steps] == ["checking files, MB", "reading files, MB"]
    parts = told[steps[0] + 1 : steps[1]], told[steps[1] + 1 :]
    for part in parts:
        assert {expected for _, expected in part} == {2}
        done = [done for done, _ in part]
        assert done == sorted(done)
        assert (done[0], done[-1]) == (0, 2)
    assert len(parts[1]) > 10


def test_the_bar_returns_to_measuring_and_a_network_without_files_has_one_step(captures: Path, tmp_path: Path) -> None:
    told: list[str] = []
    table = network(captures, tmp_path, NETWORK[:1])
    audit(table, begin=told.append)
    assert told == ["checking files, MB", "reading files, MB", "measuring"]
    told.clear()
    audit(table, begin=told.append)
    assert told == ["checking files, MB", "measuring"]


def test_a_file_that_cannot_be_opened_is_the_reason_of_its_port_alone(captures: Path, tmp_path: Path) -> None:
    table = network(captures, tmp_path)
    inventory = read_inventory(table)
    (tmp_path / "two.pcapng").unlink()
    answer = forebay.fleet(inventory, Profiles("", {}, ()), FleetExecution(full=0))
    assert answer.ports["verdict"][0] == "too small"
    assert answer.ports["reason"][3].startswith("observe: ")
    assert "two.pcapng: No such file" in answer.ports["reason"][3]


def test_results_that_are_there_at_an_error_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    actual = reading.wait

    def all_at_once(futures: Any, **_options: Any) -> Any:
        return actual(futures)

    def failing(path: Path, **_options: Any) -> str:
        if path.name == "0.csv":
            raise KeyboardInterrupt
        return path.name

    monkeypatch.setattr(reading, "wait", all_at_once)
    wanted = requests(tmp_path, 4)
    observing(monkeypatch, failing)
    with pytest.raises(KeyboardInterrupt):
        results(tmp_path / "kept", wanted, jobs=4)
    read = observing(monkeypatch, lambda path, **_options: path.name)
    results(tmp_path / "kept", wanted, jobs=1)
    assert read == ["0.csv"]


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
def test_the_bar_of_the_command_names_the_step(captures: Path, tmp_path: Path) -> None:
    table = network(captures, tmp_path, NETWORK[:1])
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "forebay", "fleet", table.name, "--out", "out", "--full", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        # Linux reports the end of a terminal as an error.
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 4096):
                shown += piece
    os.close(ours)
    assert process.returncode == 1
    places = [shown.find(step) for step in (b"checking files, MB", b"reading files, MB")]
    assert -1 < places[0] < places[1] < shown.rfind(b"measuring")
