"""An interrupted search goes on where it stopped, and answers what it would have answered."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from forebay import InputError, Recommendation, Scenario, _core, recommend
from forebay.results.report import Report
from forebay.scenario import run_jobs
from forebay.search import resumption
from forebay.search.buffer_variable import BufferVariable
from forebay.search.measurements import Means, Measurements
from forebay.search.resumption import Resumption, cache_directory
from tests.support.scenarios import SMALL

#: The small link for as long as it takes to be interrupted.
LONGER = SMALL.replace('measure = "30s"', 'measure = "600s"')


def start(path: Path, cache: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "forebay", "recommend", str(path), "--json", "--no-picture", *options]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def interrupted(path: Path, cache: Path, how: signal.Signals, after: int) -> tuple[int, str]:
    """Interrupt a search as soon as `after` replications are kept; return how many are kept, and the output."""
    process = start(path, cache)
    deadline = time.monotonic() + 60
    while kept(cache) < after and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(how)
    _, err = process.communicate(timeout=60)
    assert process.returncode in {130, -how}, err
    return kept(cache), err


def kept(cache: Path) -> int:
    """Replications in the one file of a cache."""
    files = list((cache / "forebay" / "recommend").glob("*.jsonl"))
    assert len(files) <= 1
    return max(0, files[0].read_bytes().count(b"\n") - 1) if files else 0


def without_cost(text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(text)
    del data["cost"]
    return data


@pytest.fixture(scope="module")
def longer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scenario") / "longer.toml"
    path.write_text(LONGER, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def whole(longer: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The answer of an uninterrupted search."""
    out, err = start(longer, tmp_path_factory.mktemp("cache")).communicate(timeout=120)
    assert err == ""
    return out


@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_search_goes_on_and_answers_the_same(
    how: signal.Signals, longer: Path, whole: str, tmp_path: Path
) -> None:
    done, statements = interrupted(longer, tmp_path, how, after=8)
    assert done >= 8
    if how is signal.SIGINT:
        assert statements == "forebay: interrupted; the same command continues from here\n"
    process = start(longer, tmp_path)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert err == f"forebay: resuming with {done} replications of an earlier command\n"
    assert without_cost(out) == without_cost(whole)
    assert out.partition('"cost"')[0] == whole.partition('"cost"')[0], "to the byte"
    cost, all_of_them = json.loads(out)["cost"], json.loads(whole)["cost"]
    assert cost["cached_runs"] == done
    assert all_of_them["cached_runs"] == 0
    assert cost["replications"] == all_of_them["replications"] > done
    assert kept(tmp_path) == 0, "the answer is there"
    assert list((tmp_path / "forebay" / "recommend").iterdir()) == []


def test_a_fresh_search_takes_and_leaves_nothing(longer: Path, whole: str, tmp_path: Path) -> None:
    done, _ = interrupted(longer, tmp_path, signal.SIGKILL, after=5)
    out, err = start(longer, tmp_path, "--fresh").communicate(timeout=120)
    assert err == ""
    assert json.loads(out)["cost"]["cached_runs"] == 0
    assert without_cost(out) == without_cost(whole)
    assert kept(tmp_path) == done


# Kept replications -------------------------------------------------------------------------------------------------


class Simulated(Exception):  # noqa: N818 - a signal of the tests
    """Something was simulated."""


def search(directory: Path, messages: list[str] | None = None, **options: Any) -> Recommendation:
    return recommend(
        Scenario.parse(SMALL), resume=directory, tell=(messages if messages is not None else []).append, **options
    )


def stopped(directory: Path, after: int, **options: Any) -> list[Path]:
    """Leave what a search leaves that is interrupted behind some replications."""

    def stop(done: int, _all: int) -> None:
        if done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(directory, progress=stop, jobs=1, **options)
    return list(directory.glob("*.jsonl"))


def test_every_replication_is_stored_when_it_ends(tmp_path: Path) -> None:
    (path,) = stopped(tmp_path, after=7)
    lines = path.read_bytes().splitlines()
    assert len(lines) == 1 + 7
    for line in lines:
        checksum, _, text = line.partition(b" ")
        assert int(checksum, 16) == zlib.crc32(text)


def test_a_stored_report_is_read_back_unchanged(tmp_path: Path) -> None:
    scenario = Scenario.parse(SMALL, overrides=["run.measure=1s"])  # too short: with warnings
    core = scenario.core.with_packets(7)
    (report,) = run_jobs([_core.Job(core, "packet", 3, 5)])
    kept_one = Resumption(tmp_path).of(scenario.core, "packet", "link.buffer")
    kept_one.add((7, 5), report)
    kept_one.close()
    with closing(Resumption(tmp_path).of(scenario.core, "packet", "link.buffer")) as found:
        repeated = found.take((7, 5), core.sha256)
        assert found.take((7, 6), core.sha256) is None
        assert found.take((7, 5), scenario.core.sha256) is None
    assert repeated is not None
    assert repeated.to_json() == report.to_json()
    assert [(it.kind, it.subject, it.values, it) for it in repeated.warnings] == [
        (it.kind, it.subject, it.values, it) for it in report.warnings
    ]
    assert report.warnings
    both = [run_jobs([_core.Job(core, "packet", 3, number)])[0] for number in (0, 1)]
    assert Report.over([repeated, *both]).to_json() == Report.over([report, *both]).to_json()


def test_other_terms_of_the_same_search_use_what_they_can(tmp_path: Path) -> None:
    stopped(tmp_path, after=12)
    answer = search(tmp_path, resolution=0.1, also=["9p"])
    assert 0 < answer.cost.cached_runs <= 12
    fresh = recommend(Scenario.parse(SMALL), resolution=0.1, also=["9p"])
    assert without_cost(answer.to_json()) == without_cost(fresh.to_json())


@pytest.mark.parametrize("change", ["run.seed=9", "link.buffer=21p", "flows.bulk.rtt=41ms"])
def test_another_scenario_is_another_search(change: str, tmp_path: Path) -> None:
    stopped(tmp_path, after=3)
    messages: list[str] = []
    other = Scenario.parse(SMALL).changed(change)
    assert recommend(other, resume=tmp_path, tell=messages.append).cost.cached_runs == 0
    assert messages == []
    assert len(list(tmp_path.glob("*.jsonl"))) == 1, "the other one is left alone"


def test_another_engine_is_another_search(tmp_path: Path) -> None:
    stopped(tmp_path, after=3)
    assert search(tmp_path, engine="fluid").cost.cached_runs == 0


def test_sensitivity_goes_on_too(tmp_path: Path) -> None:
    """The scenarios that are varied have files of their own."""
    needed = search(tmp_path / "first").cost.replications
    assert len(stopped(tmp_path / "late", after=needed + 5, sensitivity=True)) == 3
    messages: list[str] = []
    resumed = search(tmp_path / "late", messages, sensitivity=True)
    assert len(messages) == 3
    fresh = recommend(Scenario.parse(SMALL), sensitivity=True)
    assert without_cost(resumed.to_json()) == without_cost(fresh.to_json())
    assert list((tmp_path / "late").iterdir()) == []


# Unusable files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["middle", "end", "header", "everything", "foreign"])
def test_what_is_spoiled_is_simulated_again(part: str, tmp_path: Path) -> None:
    (path,) = stopped(tmp_path, after=9)
    lines = path.read_bytes().splitlines(keepends=True)
    spoiled, left, word = {
        "middle": ([*lines[:4], lines[4][:50] + b"#" + lines[4][51:], *lines[5:]], 8, "ignored 1 line"),
        "end": ([*lines[:-1], lines[-1][:100]], 8, None),
        "header": (lines[1:], 0, "ignored 9 lines"),
        "everything": ([b"\x00\xff\n" * 3], 0, "ignored 3 lines"),
        "foreign": ([b'{"some": "json"}\n'], 0, "ignored 1 line"),
    }[part]
    path.write_bytes(b"".join(spoiled))
    messages: list[str] = []
    answer = search(tmp_path, messages)
    assert answer.cost.cached_runs == left
    assert [line for line in messages if "ignored" in line] == (
        [f"{word} of {path} that cannot be read"] if word else []
    )
    assert without_cost(answer.to_json()) == without_cost(recommend(Scenario.parse(SMALL)).to_json())


def test_what_was_cut_off_is_not_glued_to_what_follows(tmp_path: Path) -> None:
    (path,) = stopped(tmp_path, after=9)
    path.write_bytes(path.read_bytes()[:-100])
    stopped(tmp_path, after=15)
    messages: list[str] = []
    assert search(tmp_path, messages).cost.cached_runs == 15
    assert messages == ["resuming with 15 replications of an earlier command"]


def test_a_report_of_another_scenario_is_not_taken(tmp_path: Path) -> None:
    """A line may be whole and yet be wrong, as after a change of what a key means."""
    scenario = Scenario.parse(SMALL)
    (foreign,) = run_jobs([_core.Job(scenario.changed("flows.bulk.rtt=9ms").core.with_packets(1), "packet", 3, 0)])
    wrong = Resumption(tmp_path).of(scenario.core, "packet", "link.buffer")
    wrong.add((1, 0), foreign)
    wrong.close()
    messages: list[str] = []
    answer = search(tmp_path, messages)
    assert messages == ["resuming with 1 replication of an earlier command"]
    assert answer.cost.cached_runs == 0
    assert without_cost(answer.to_json()) == without_cost(recommend(scenario).to_json())


def test_a_question_that_is_wrong_leaves_nothing(tmp_path: Path) -> None:
    """A formula that is asked for what it does not say finds that out at the first buffer."""
    with pytest.raises(InputError):
        search(tmp_path, engine="closed_form")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of files")
def test_a_search_that_still_runs_is_not_gone_on_from(tmp_path: Path) -> None:
    """Two at once, as a user in two terminals: the second keeps off, and the first is not disturbed."""
    scenario = Scenario.parse(SMALL)
    core = scenario.core.with_packets(7)
    (report,) = run_jobs([_core.Job(core, "packet", 3, 5)])
    first = Resumption(tmp_path).of(scenario.core, "packet", "link.buffer")
    first.add((7, 5), report)
    messages: list[str] = []
    second = search(tmp_path, messages)
    assert (messages, second.cost.cached_runs) == ([], 0)
    first.add((7, 6), report)
    first.close()
    with closing(Resumption(tmp_path).of(scenario.core, "packet", "link.buffer")) as found:
        assert found.count == 2


def test_a_directory_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    nowhere = tmp_path / "file" / "below"
    nowhere.parent.write_text("", encoding="utf-8")
    assert search(nowhere).feasible


def test_nothing_is_stored_without_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise Simulated

    monkeypatch.setattr(resumption.StoredReplications, "__init__", refuse)
    assert recommend(Scenario.parse(SMALL)).feasible


def test_old_and_too_many_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumption, "MOST_BYTES", 250)
    for days, name in ((40, "old"), (3, "third"), (2, "second"), (1, "first")):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(b"x" * 100)
        changed = time.time() - days * 86_400
        os.utime(path, (changed, changed))
    (tmp_path / "other.txt").write_bytes(b"x" * 1000)
    Resumption(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first.jsonl", "other.txt", "second.jsonl"]


def test_one_search_keeps_so_much_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumption, "MOST_BYTES_OF_ONE", 9_000)
    (path,) = stopped(tmp_path, after=16)
    line = len(path.read_bytes().splitlines()[1])
    assert 9_000 < path.stat().st_size < 9_000 + 2 * line
    assert 0 < search(tmp_path).cost.cached_runs < 16


def test_the_cache_is_where_the_platform_keeps_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "forebay"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_directory() == tmp_path / ".cache" / "forebay"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_directory() == tmp_path / "Library" / "Caches" / "forebay"


def test_progress_counts_what_was_left(tmp_path: Path) -> None:
    stopped(tmp_path, after=9)
    calls: list[tuple[int, int]] = []
    search(tmp_path, progress=lambda done, of: calls.append((done, of)))
    assert calls[0][0] < 9 <= calls[-1][0], "what was left counts as done as soon as it is taken"
    assert all(done <= of for done, of in calls)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_measurements_never_measure_twice() -> None:
    measure = Measurements(BufferVariable(Scenario.parse(SMALL)), Means("fluid"))
    first = measure([(3, 0), (4, 0)])
    assert measure([(4, 0), (3, 0)]) == first[::-1]


def test_a_quick_look_leaves_the_runs_of_an_interrupted_search(tmp_path: Path) -> None:
    (path,) = stopped(tmp_path, after=7)
    before = path.read_bytes()
    messages: list[str] = []
    # The measured time is so short that a quick look has the same runs.
    assert search(tmp_path, messages, quick=True).cost.replications
    assert path.read_bytes().startswith(before)
    repeated = search(tmp_path)
    assert repeated.cost.cached_runs >= 7
    assert not list(tmp_path.glob("*.jsonl")), "the answer is there"
