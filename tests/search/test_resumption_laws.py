"""Tests of the replications that an interrupted search keeps: whole, bounded, its own, and removed with the answer."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
import zlib
from contextlib import suppress
from pathlib import Path

import pytest

from forebay import InputError, Scenario, _core, recommend
from forebay.errors import Interrupted
from forebay.results.report import Report
from forebay.scenario import run_jobs
from forebay.search import resumption
from forebay.search.buffer_variable import BufferVariable
from forebay.search.listener import Callbacks
from forebay.search.measurements import Means, Measurements
from forebay.search.resumption import Resumption, StoredReplications, cache_directory
from forebay.storage import journal
from tests.support.scenarios import SMALL


@pytest.fixture(scope="module")
def simulated() -> tuple[Scenario, Report]:
    link = Scenario.parse(SMALL).changed("run.measure=1s", "run.warmup=0s")
    return link, run_jobs([_core.Job(link.core.with_packets(7), "packet", 3, 5)])[0]


def opened(folder: Path, link: Scenario, engine: str = "packet", varied: str = "link.buffer") -> StoredReplications:
    return Resumption(folder).of(link.core, engine, varied)


def left(folder: Path, simulated: tuple[Scenario, Report], *pairs: tuple[int, int]) -> Path:
    stored = opened(folder, simulated[0])
    for pair in pairs or ((7, 5),):
        stored.add(pair, simulated[1])
    stored.close()
    return stored.path


def test_a_replication_is_found_by_its_buffer_and_its_number(
    tmp_path: Path, simulated: tuple[Scenario, Report]
) -> None:
    link, report = simulated
    left(tmp_path / "a" / "b", simulated, (7, 5), (8, 2))
    stored = opened(tmp_path / "a" / "b", link)
    digest = link.core.with_packets(7).sha256
    assert (stored.count, stored.damaged) == (2, 0)
    for pair in ((7, 5), (8, 2)):
        found = stored.take(pair, digest)
        assert found is not None
        assert found.to_json() == report.to_json()
    for pair in ((5, 7), (2, 8), (7, 7), (5, 5)):
        assert stored.take(pair, digest) is None
    assert stored.take((7, 5), link.core.sha256) is None, "of another buffer"
    stored.close()
    assert stored.path.read_bytes().count(b"\n") == 3, "one header, and a line for each"


def test_a_file_is_read_by_its_owner_alone_and_cut_off_after_the_last_whole_line(
    tmp_path: Path, simulated: tuple[Scenario, Report]
) -> None:
    path = left(tmp_path, simulated)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.name) == 32 + len(".jsonl")
    original = path.read_bytes()
    for more in (b"", b"half a line", b"00000000 {}"):
        path.write_bytes(original + more)
        stored = opened(tmp_path, simulated[0])
        assert (stored.count, stored.damaged) == (1, 0)
        assert path.read_bytes() == original
        stored.close()


def test_damage_is_counted_and_the_rest_is_used(tmp_path: Path, simulated: tuple[Scenario, Report]) -> None:
    path = left(tmp_path, simulated, (7, 5), (7, 6), (7, 7))
    header, *lines = path.read_bytes().splitlines(keepends=True)
    unknown = journal.line({"something": "else"})
    deep = journal.line({"buffer": 1, "replication": 1, "kept": 3})
    text = b"not json"
    wrong = b"%08x %s\n" % (zlib.crc32(text), text)
    for spoiled, count, damaged, statements in (
        ([header, *lines], 3, 0, ["resuming with 3 replications of an earlier command"]),
        ([header, lines[0]], 1, 0, ["resuming with 1 replication of an earlier command"]),
        (
            [header, lines[0], b"#" + lines[1][1:], lines[2]],
            2,
            1,
            ["ignored 1 line of", "resuming with 2 replications"],
        ),
        ([header, unknown, deep, wrong], 0, 3, ["ignored 3 lines of"]),
        ([lines[0], header], 0, 2, ["ignored 2 lines of"]),
        ([header], 0, 0, []),
        ([], 0, 0, []),
    ):
        path.write_bytes(b"".join(spoiled))
        messages: list[str] = []
        stored = Resumption(tmp_path, Callbacks(tell=messages.append)).of(simulated[0].core, "packet", "link.buffer")
        assert (stored.count, stored.damaged) == (count, damaged)
        assert len(messages) == len(statements)
        assert all(line.startswith(word) for line, word in zip(messages, statements, strict=True))
        stored.close()


@pytest.mark.parametrize(
    ("error", "stays"),
    [
        (None, False),
        (InputError("wrong"), False),
        (Interrupted("now"), True),
        (KeyboardInterrupt(), True),
        (OSError(), True),
    ],
)
def test_stored_runs_are_deleted_with_the_answer_and_survive_an_interruption(
    error: BaseException | None, stays: bool, tmp_path: Path, simulated: tuple[Scenario, Report]
) -> None:
    paths = []
    with suppress(InputError, Interrupted, KeyboardInterrupt, OSError), Resumption(tmp_path) as going:
        for varied in ("link.buffer", "links.other.buffer"):
            stored = going.of(simulated[0].core, "packet", varied)
            stored.add((7, 5), simulated[1])
            paths.append(stored.path)
        if error is not None:
            raise error
    assert [path.exists() for path in paths] == [stays] * 2
    assert len(set(paths)) == 2
    # No search holds the files any more.
    if stays:
        reopened = opened(tmp_path, simulated[0])
        assert reopened.count == 1
        reopened.remove()
        assert not paths[0].exists()
        reopened.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of files")
def test_a_file_that_another_search_has_is_left_alone(tmp_path: Path, simulated: tuple[Scenario, Report]) -> None:
    first = opened(tmp_path, simulated[0])
    first.add((7, 5), simulated[1])
    second = opened(tmp_path, simulated[0])
    assert second.count == 0
    second.add((7, 6), simulated[1])
    second.remove()
    assert first.path.exists()
    first.close()
    third = opened(tmp_path, simulated[0])
    assert third.count == 1
    third.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no symbolic links without rights")
def test_only_a_file_of_its_own_is_opened(tmp_path: Path, simulated: tuple[Scenario, Report]) -> None:
    path = left(tmp_path, simulated)
    mine = tmp_path / "precious.txt"
    mine.write_text("mine\nand mine", encoding="utf-8")
    path.unlink()
    path.symlink_to(mine)
    stored = opened(tmp_path, simulated[0])
    stored.add((7, 5), simulated[1])
    stored.close()
    assert mine.read_text(encoding="utf-8") == "mine\nand mine"
    path.unlink()
    os.mkfifo(path)
    stored = opened(tmp_path, simulated[0])
    assert stored.count == 0, "and nobody waits for what never comes"
    stored.close()
    path.unlink()
    path.mkdir()
    stored = opened(tmp_path, simulated[0])
    stored.add((7, 5), simulated[1])
    stored.remove()
    assert path.is_dir()


def test_a_disk_that_is_full_costs_nothing_but_the_resumption(
    tmp_path: Path, simulated: tuple[Scenario, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = opened(tmp_path, simulated[0])

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    stored.add((7, 5), simulated[1])
    stored.close()
    assert not stored.path.exists()


@pytest.mark.parametrize("lines", [1, 3, 5])
def test_one_search_keeps_up_to_its_bound(
    lines: int, tmp_path: Path, simulated: tuple[Scenario, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line that exceeds the bound is the last one; a file more than twice as large was not written by this."""
    path = left(tmp_path, simulated)
    header, line = map(len, path.read_bytes().splitlines(keepends=True))
    for bound, retained in ((header + lines * line, lines + 1), (header + lines * line - 1, lines)):
        path.unlink()
        monkeypatch.setattr(resumption, "MOST_BYTES_OF_ONE", bound)
        left(tmp_path, simulated, *((7, number) for number in range(9)))
        assert path.stat().st_size == header + retained * line
    size = path.stat().st_size
    original = path.read_bytes()
    for bound, read in ((size / 2, lines), (size / 2 - 1, 0)):
        monkeypatch.setattr(resumption, "MOST_BYTES_OF_ONE", bound)
        path.write_bytes(original)
        found = opened(tmp_path, simulated[0])
        assert found.count == read
        found.close()


def test_files_go_after_a_month_and_the_oldest_where_all_together_are_a_gigabyte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/guides/recommend.md says; a single search keeps a quarter of that at most."""
    assert resumption.MOST_SECONDS == 30 * 24 * 3600
    assert resumption.MOST_BYTES == 1024**3
    assert 4 * resumption.MOST_BYTES_OF_ONE == resumption.MOST_BYTES
    now = 2_000_000_000.0
    monkeypatch.setattr(time, "time", lambda: now)

    def files(**ages: float) -> set[str]:
        for name, days in ages.items():
            path = tmp_path / f"{name}.jsonl"
            path.write_bytes(b"x" * 100)
            os.utime(path, (now - days * 86_400, now - days * 86_400))
        Resumption(tmp_path)
        left = {path.stem for path in tmp_path.iterdir()}
        for path in tmp_path.iterdir():
            path.unlink()
        return left

    assert files(today=0, month=30, more=30.001) == {"today", "month"}
    for bound, expected in ((300, {"a", "b", "c"}), (299, {"a", "b"}), (200, {"a", "b"}), (199, {"a"}), (99, set())):
        monkeypatch.setattr(resumption, "MOST_BYTES", bound)
        assert files(c=3, a=1, b=2) == expected
    assert files() == set()


def test_measurements_take_what_was_left_and_simulate_the_rest(
    tmp_path: Path, simulated: tuple[Scenario, Report]
) -> None:
    link = simulated[0]
    first = Measurements(BufferVariable(link), Means("packet", 1, Resumption(tmp_path)))
    pairs = [(3, 0), (3, 1), (4, 0)]
    seen = first(pairs)
    first._stored.close()  # type: ignore[union-attr]
    reread = Measurements(BufferVariable(link), Means("packet", 1, Resumption(tmp_path)))
    assert reread._stored is not None
    more = [(3, 1), (4, 0), (4, 1), (3, 0), (3, 0)]
    found = reread(more)
    assert reread.resumed == 3
    assert [each.to_json() for each in found[:2]] == [seen[1].to_json(), seen[2].to_json()]
    assert len(reread.reports) == 4
    reread(more)
    assert reread.resumed == 3, "each is taken once"
    assert first.resumed == 0
    reread._stored.close()


def test_the_cache_is_where_each_platform_keeps_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for platform, parts in (
        ("linux", (".cache", "forebay")),
        ("freebsd14", (".cache", "forebay")),
        ("darwin", ("Library", "Caches", "forebay")),
        ("win32", ("AppData", "Local", "forebay", "Cache")),
    ):
        monkeypatch.setattr(sys, "platform", platform)
        assert cache_directory() == tmp_path.joinpath(*parts)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_directory() == tmp_path / "local" / "forebay" / "Cache"
    for wrong in ("", "relative/one"):
        monkeypatch.setenv("XDG_CACHE_HOME", wrong)
        assert cache_directory() == tmp_path / "local" / "forebay" / "Cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "forebay"


def test_a_search_that_is_over_leaves_nothing(tmp_path: Path, simulated: tuple[Scenario, Report]) -> None:
    goals = ["utilization>=1%", "queue_delay_p99<=10s"]
    answer = recommend(simulated[0], goals, engine="packet", resume=tmp_path, replications=2)
    assert answer.feasible
    assert list(tmp_path.iterdir()) == []
