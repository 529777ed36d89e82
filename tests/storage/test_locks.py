"""One process at a time works in a folder; a lock goes with its process, however that ends."""

from __future__ import annotations

import errno
import importlib.util
import os
import signal
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from forebay import InputError, Scenario, sweep
from forebay.papers.reproduction import reproduce
from forebay.storage import locks
from forebay.storage.locks import FILE, exclusive_in
from tests.support.commands import forebay
from tests.support.scenarios import SMALL

HOLD = """
import sys, time
from pathlib import Path
from typing import Any
from forebay.storage.locks import exclusive_in
with exclusive_in(Path(sys.argv[1]), "a sweep"):
    print("taken", flush=True)
    time.sleep(60)
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    """Another process that works in a folder."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "taken\n"
    return process


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_lock_goes_with_its_process(end: signal.Signals, tmp_path: Path) -> None:
    process = holder(tmp_path)
    with pytest.raises(InputError) as error, exclusive_in(tmp_path, "a sweep"):
        pass
    text = str(error.value)
    assert text.startswith(f"{tmp_path}: found a sweep (process {process.pid} on ")
    assert text.endswith(") at work in it; allowed: one at a time")
    process.send_signal(end)
    process.communicate(timeout=30)
    with exclusive_in(tmp_path, "a sweep"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_holds_within_a_process_and_for_one_folder_only(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with exclusive_in(tmp_path, "a sweep"), exclusive_in(tmp_path / "other", "a sweep"):
        with pytest.raises(InputError, match=f"process {os.getpid()}"), exclusive_in(tmp_path, "a gallery"):
            pass
        with pytest.raises(InputError, match="found a sweep"), exclusive_in(tmp_path, "a gallery"):
            pass
    with exclusive_in(tmp_path, "a gallery"):
        pass


def test_a_failure_gives_the_folder_back(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), exclusive_in(tmp_path, "a sweep"):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("left", [b"", b"\xff\x1b[31m" * 99, b"a sweep (process 1)"])
def test_what_a_kill_left_in_the_file_does_not_matter(left: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(left)
    with exclusive_in(tmp_path, "a sweep"):
        (tmp_path / FILE).write_bytes(left)  # who spoils the text does not spoil the lock
        with pytest.raises(InputError) as error, exclusive_in(tmp_path, "a sweep"):
            pass
        assert str(error.value).isprintable()


def test_many_at_once_are_one_after_the_other(tmp_path: Path) -> None:
    """Also where the one before takes the file away while the next opens it."""
    inside: list[int] = []
    done: list[int] = []

    def work(number: int) -> None:
        while done.count(number) < 10:
            try:
                with exclusive_in(tmp_path, "a sweep"):
                    inside.append(number)
                    assert inside == [number]
                    inside.remove(number)
                    done.append(number)
            except InputError:
                continue

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(done) == 80


def test_a_file_that_was_taken_away_meanwhile_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner may end between our open and our lock; a lock on a deleted file excludes no other process."""
    lock, calls = locks._lock, []

    def late(handle: int) -> None:
        if not calls:
            (tmp_path / FILE).unlink()
        calls.append(handle)
        lock(handle)

    monkeypatch.setattr(locks, "_lock", late)
    with exclusive_in(tmp_path, "a sweep"):
        assert len(calls) == 2
        with pytest.raises(InputError), exclusive_in(tmp_path, "a sweep"):
            pass


def test_a_sweep_waits_for_none_and_touches_nothing_of_another(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "cells").mkdir(parents=True)
    live = out / "cells" / "000001.jsonl.1.partial"
    live.write_text("{", encoding="utf-8")
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    process = holder(out)
    try:
        answer = forebay("sweep", tmp_path / "small.toml", "--over", "link.buffer=5p", "--out", out)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert f"process {process.pid}" in answer.err
        assert live.exists()
        assert not (out / "manifest.json").exists()
        gallery = tmp_path / "gallery"
        gallery.mkdir()
        with exclusive_in(gallery, "a gallery"), pytest.raises(InputError, match="found a gallery"):
            reproduce("auge/fig3", out=gallery, quick=True)
    finally:
        process.kill()
        process.communicate()
    sweep(Scenario.load(tmp_path / "small.toml"), ["link.buffer=5p"], out, replications=1)
    assert not live.exists()
    assert not (out / FILE).exists()


def on_windows(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module as Windows loads it, with its way of locking a byte of a file done by this system's."""
    fcntl = pytest.importorskip("fcntl")
    fake = types.ModuleType("msvcrt")
    fake.LK_NBLCK = 2  # type: ignore[attr-defined]

    def locking(handle: int, mode: int, count: int) -> None:
        assert (mode, count) == (2, 1)
        assert os.lseek(handle, 0, os.SEEK_CUR) == 0, "the byte that is locked is where the file stands"
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(errno.EACCES, "Permission denied") from None

    fake.locking = locking  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.delattr("os.pwrite")
    found = importlib.util.spec_from_file_location("locks_of_windows", locks.__file__)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_windows_locks_as_others_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    windows = on_windows(monkeypatch)
    with windows.exclusive_in(tmp_path, "a sweep"):
        text = (tmp_path / FILE).read_text()
        assert text.startswith(f" a sweep (process {os.getpid()} on "), "readable behind the byte that is locked"
        for _ in range(2):
            with (
                pytest.raises(InputError, match=rf"found a sweep \(process {os.getpid()} on .*\) at work in it"),
                windows.exclusive_in(tmp_path, "a gallery"),
            ):
                pass
        assert (tmp_path / FILE).read_text() == text
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyError), windows.exclusive_in(tmp_path, "a gallery"):
        raise KeyError
    (tmp_path / FILE).write_text("left by a kill")
    with windows.exclusive_in(tmp_path, "a sweep"):
        assert (tmp_path / FILE).read_text().startswith(" a sweep (process")
    assert list(tmp_path.iterdir()) == []
