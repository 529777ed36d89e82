"""Audits: names and order change nothing, equal questions are measured once, and a killed audit continues."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forebay
from forebay import FleetAnswer, FleetExecution, InputError, _core
from forebay.fleets import auditing, measuring
from forebay.fleets.answer import Judgment
from forebay.fleets.buffer_size import Size
from forebay.fleets.measuring import QuickPrecision
from forebay.fleets.questions import Question, questions_of
from forebay.fleets.store import Store
from forebay.measurement.cluster import WorkerMemory
from forebay.storage import build
from forebay.storage.tables import read_table, write_table
from forebay.views.fleet_text import answer_lines
from tests.fleet.ports import inventory, profiles
from tests.support.commands import forebay as command
from tests.support.scenarios import PROFILE

#: Runs of some milliseconds, and goals that buffers of 5 to 40 packets meet.
BRIEF = PROFILE.replace('measure = "30s"', 'measure = "8s"').replace('warmup  = "5s"', 'warmup = "1s"')
#: Buffers in packets: too small, fine, and needlessly large.
PACKETS = (1, 2, 6, 9, 12, 24, 33, 48, 200, 400)
QUIET = FleetExecution(full=0)


def rows(count: int = 30) -> list[dict[str, Any]]:
    return [{"device": f"d{number}", "buffer": f"{PACKETS[number % len(PACKETS)]} packets"} for number in range(count)]


def audit(folder: Path, given: list[dict[str, Any]], execution: FleetExecution = QUIET, **options: Any) -> FleetAnswer:
    folder.mkdir(parents=True, exist_ok=True)
    answer = forebay.fleet(inventory(folder, given), profiles(folder, BRIEF), execution, **options)
    assert isinstance(answer, FleetAnswer)
    return answer


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> FleetAnswer:
    return audit(tmp_path_factory.mktemp("whole"), rows())


def test_there_are_verdicts_of_each_kind(whole: FleetAnswer) -> None:
    assert whole.ports.height == 30
    assert sum(whole.counts.values()) == 30
    assert min(whole.counts[verdict] for verdict in ("fine", "too small", "too large")) >= 3
    assert whole.exit_code() == 1


def test_neither_names_nor_the_order_of_ports_change_a_verdict(whole: FleetAnswer, tmp_path: Path) -> None:
    renamed = [{**row, "device": f"x-{row['device']}", "port": "e", "role": "any"} for row in reversed(rows())]
    found = audit(tmp_path, renamed)
    assert found.judgments == whole.judgments
    columns = ["verdict", "margin", "confidence", "needed_bytes", "runs", "reason"]
    straight = whole.ports.sort("device").select(columns)
    assert found.ports.sort("device").select(columns).equals(straight)


def test_verdicts_do_not_depend_on_the_other_ports(whole: FleetAnswer, tmp_path: Path) -> None:
    alone = audit(tmp_path, rows()[4:5])
    ((digest, judgment),) = alone.judgments.items()
    assert whole.judgments[digest] == judgment


def test_equal_points_are_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    actual = measuring.measured

    def counted(text: str, **options: Any) -> dict[str, Any]:
        asked[text] += 1
        return actual(text, **options)

    monkeypatch.setattr(measuring, "measured", counted)
    answer = audit(tmp_path, rows(200), out=tmp_path / "out")
    assert set(asked.values()) == {1}
    assert len(asked) == answer.measured
    again = audit(tmp_path, rows(200), out=tmp_path / "out")
    assert (set(asked.values()), again.measured, again.reused) == ({1}, 0, answer.measured)
    assert again.judgments == answer.judgments


def test_a_point_that_is_there_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(measuring, "measured", lambda text, **_options: asked.append(text) or {"refusal": "no"})
    (question,) = questions_of(inventory(tmp_path, rows(1)).ports, profiles(tmp_path, BRIEF)).questions.values()
    points = [question.with_size(Size(number, "p")) for number in (3, 3, 5)]
    means = measuring.Measuring(Store(None, print), measuring.QuickPrecision())
    means.measure(points)
    means.measure(points)
    assert len(asked) == 2


def test_half_of_one_port_is_the_buffer_of_another(tmp_path: Path) -> None:
    both = audit(tmp_path / "both", [{"buffer": "24 packets"}, {"buffer": "12 packets"}])
    parts = [audit(tmp_path / each, [{"buffer": f"{each} packets"}]) for each in ("24", "12")]
    assert both.measured < sum(part.measured for part in parts)


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_number_of_threads_changes_nothing(jobs: int, whole: FleetAnswer, tmp_path: Path) -> None:
    assert audit(tmp_path, rows(), FleetExecution(jobs=jobs, full=0)).judgments == whole.judgments


def started(folder: Path, out: str) -> subprocess.Popen[bytes]:
    arguments = ["fleet", "ports.csv", "--out", out, "--full", "1", "--jobs", "1"]
    return subprocess.Popen(
        [sys.executable, "-m", "forebay", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("kind", ["SIGKILL", "SIGINT"])
def test_a_killed_audit_continues_and_gives_the_same_bytes(kind: str, tmp_path: Path) -> None:
    inventory(tmp_path, rows())
    profiles(tmp_path, PROFILE.replace('"30s"', '"200s"'))
    assert started(tmp_path, "whole").wait(timeout=300) == 1
    process, kept = started(tmp_path, "killed"), tmp_path / "killed" / "measurements"
    for _ in range(3000):
        if sum(path.stat().st_size for path in kept.glob("*.jsonl")) > 1500:
            break
        time.sleep(0.01)
    process.send_signal(getattr(signal, kind))
    assert process.wait(timeout=60) == (130 if kind == "SIGINT" else -signal.SIGKILL)
    assert not (tmp_path / "killed" / "ports.parquet").exists()
    measured = b"".join(path.read_bytes() for path in kept.glob("*.jsonl")).count(b"\n")
    assert measured >= 1
    assert started(tmp_path, "killed").wait(timeout=300) == 1
    for name in ("ports.parquet", "summary.json", "rejected.csv", "index.html"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interruption_ends_a_run_that_is_under_way(tmp_path: Path) -> None:
    inventory(tmp_path, [{"buffer": "9 packets", "rate_bps": 10**11}])
    profiles(tmp_path, PROFILE.replace('"30s"', '"100000s"'))
    process, kept = started(tmp_path, "out"), tmp_path / "out" / "measurements"
    for _ in range(3000):
        if kept.is_dir():
            break
        time.sleep(0.01)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    try:
        assert process.wait(timeout=60) == 130
    finally:
        process.kill()


def test_measurements_of_another_build_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    first = audit(tmp_path, rows(), out=tmp_path / "out")
    monkeypatch.setattr(build, "fingerprint", lambda: "another")
    second = audit(tmp_path, rows(), FleetExecution(full=0, tell=told.append), out=tmp_path / "out")
    assert (second.reused, second.measured) == (0, first.measured)
    assert any("of another build of forebay are not used" in line for line in told)


def test_a_damaged_line_is_measured_again(tmp_path: Path) -> None:
    told: list[str] = []
    first = audit(tmp_path, rows(), out=tmp_path / "out")
    (path,) = (tmp_path / "out" / "measurements").glob("*.jsonl")
    raw = bytearray(path.read_bytes())
    raw[200] ^= 1
    path.write_bytes(raw)
    second = audit(tmp_path, rows(), FleetExecution(full=0, tell=told.append), out=tmp_path / "out")
    assert (second.measured, second.judgments == first.judgments) == (1, True)
    assert any("1 line of 1 cell" in line or "not as written" in line for line in told)


def test_a_port_that_was_refused_for_lack_of_memory_is_measured_later(tmp_path: Path) -> None:
    allowed = _core.allowed_memory()
    _core.allow_memory(1000)
    try:
        refused = audit(tmp_path, rows(3), FleetExecution(full=1), out=tmp_path / "out")
    finally:
        _core.allow_memory(allowed)
    assert refused.counts["not answerable"] == 3
    assert "memory" in refused.ports["reason"][0]
    assert audit(tmp_path, rows(3), out=tmp_path / "out").counts["not answerable"] == 0


@pytest.mark.parametrize("needed", [900, 3000])
def test_runs_at_the_same_time_share_the_memory(needed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    total, allowed, running, lock = 4000, _core.allowed_memory(), 0, threading.Lock()

    def using(_text: str, **_options: Any) -> dict[str, Any]:
        nonlocal running
        with lock:
            running += 1
            assert running * _core.allowed_memory() <= total
        time.sleep(0.01)
        with lock:
            running -= 1
        return {"runs": 1} if needed <= _core.allowed_memory() else {"refusal": f"no memory ({_core.MORE_MEMORY})"}

    monkeypatch.setattr(measuring, "measured", using)
    (question,) = questions_of(inventory(tmp_path, rows(1)).ports, profiles(tmp_path, BRIEF)).questions.values()
    points = [question.with_size(Size(number, "p")) for number in range(1, 12)]
    means = measuring.Measuring(Store(None, print), measuring.QuickPrecision(), jobs=4)
    _core.allow_memory(total)
    try:
        means.measure(points)
        assert _core.allowed_memory() == total
    finally:
        _core.allow_memory(allowed)
    found = [means.find(point) for point in points]
    assert [None if each is None else each.runs for each in found] == [1] * 11


def test_the_threads_of_a_worker_share_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed, seen = _core.allowed_memory(), []
    room = WorkerMemory(10_000, 4)
    monkeypatch.setattr(WorkerMemory, "here", staticmethod(lambda: room))
    monkeypatch.setattr(measuring, "measured", lambda *_parcel: seen.append(_core.allowed_memory()) or {})
    try:
        measuring.measured_parcel((("a",), 0.8, 4), 50_000)
        measuring.measured_parcel((("a",), 0.8, 4), 500)
    finally:
        _core.allow_memory(allowed)
    assert seen == [room.of_run, 500]
    assert 4 * room.of_run <= 10_000


def test_the_time_limit_leaves_ports_undecided_and_a_second_call_decides_them(tmp_path: Path) -> None:
    late = audit(tmp_path, rows(), FleetExecution(full=0, within=1e-6), out=tmp_path / "out")
    assert late.counts["undecided"] == 30
    assert late.exit_code() == 3
    assert audit(tmp_path, rows(), out=tmp_path / "out").counts["undecided"] < 30


def test_the_search_refines_the_ports_that_matter_most(whole: FleetAnswer, tmp_path: Path) -> None:
    found = audit(tmp_path, rows(), FleetExecution(full=1), out=tmp_path / "out")
    searched = {digest: each for digest, each in found.judgments.items() if each.stage == "search"}
    assert searched
    for digest, judgment in searched.items():
        before = whole.judgments[digest]
        assert judgment.needed_bytes is not None
        assert judgment.margin is not None
        if before.margin_high is not None and before.verdict == "too large":
            assert judgment.margin > 1


def test_a_box_with_more_memory_than_a_sufficient_buffer_would_do(tmp_path: Path) -> None:
    found = audit(tmp_path, rows(10), replace={f"box{size}": size for size in (1, 100_000, 10**13)})
    for row in found.ports.iter_rows(named=True):
        enough = row["buffer_bytes"] if row["verdict"] == "fine" else row["recommended_bytes"]
        assert (row["would_do_box10000000000000"] == "yes") is (enough is not None)
        assert row["would_do_box1"] != "yes"
        if enough is not None and enough <= 100_000:
            assert row["would_do_box100000"] == "yes"


def test_warnings_of_the_runs_name_the_buffer_and_the_loss(tmp_path: Path) -> None:
    found = audit(tmp_path, [{"buffer": "2 packets"}, {"buffer": "9 packets"}])
    (row,) = found.ports.filter(pl.col("port") == "eth0").rows(named=True)
    assert f"At 2.00 kB, {100 * row['loss']:.2g} % of the packets are lost." in row["notes"]
    assert "the configured buffer" not in row["notes"]


def test_a_buffer_with_few_congestion_events_has_four_times_the_runs(tmp_path: Path) -> None:
    profile = PROFILE.replace('measure = "30s"', 'measure = "4s"')
    found = forebay.fleet(inventory(tmp_path, [{"buffer": "200 packets"}]), profiles(tmp_path, profile), QUIET)
    (points,) = found.points.values()
    warned = [any("few congestion events" in note for note in point.notes) for point in points]
    assert {True, False} == set(warned)
    for point, is_warned in zip(points, warned, strict=True):
        assert (point.runs >= 4 * QuickPrecision().replications) is is_warned


def test_a_network_without_a_port_is_not_called_right(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("device,port,rate,buffer\nd,e,fast,1MB\n", encoding="utf-8")
    found = forebay.fleet(tmp_path / "bad.csv", profiles(tmp_path, BRIEF), QUIET)
    assert (found.rejected.height, found.exit_code()) == (1, 3)
    assert "can be judged" in answer_lines(found)[1]


def test_ports_without_an_answer_are_listed_with_a_reason(tmp_path: Path) -> None:
    given = [{"buffer": "9 packets"}, {"buffer": None}, {"buffer": "9 packets", "goals": "utilization>=many"}]
    found = audit(tmp_path, given)
    assert found.counts["not answerable"] == 2
    reasons = found.ports.filter(pl.col("verdict") == "not answerable")["reason"].to_list()
    assert all(reasons)
    assert found.ports["device"].to_list() == ["d"] * 3


def test_growth_gives_the_first_year_of_a_buffer_that_becomes_too_small(tmp_path: Path) -> None:
    text = PROFILE.replace('utilization = ">= 85%"', 'loss_rate = "<= 3%"').replace("150ms", "999s")
    known, ports = profiles(tmp_path, text), inventory(tmp_path, [{"buffer": "30 packets"}, {"buffer": "90 packets"}])
    found = forebay.fleet(ports, known, QUIET, growth="25%").ports
    years = found["too_small_in"].to_list()
    table = tmp_path / "years.csv"
    assert years[0] is not None
    table.write_text(f"year,factor\n2030,1.0\n2031,{1.25 ** years[0]!r}\n", encoding="utf-8")
    assert years == [year for year in years if year is None or 1 <= year <= 5]
    same = forebay.fleet(ports, known, QUIET, growth=str(table)).ports
    assert 2030 not in same["too_small_in"].to_list() or "too small" in same["verdict"].to_list()
    assert same["too_small_in"].to_list()[0] == 2031
    assert same["enough_until"].to_list()[0] == 2030
    assert same["needed_bytes_then"].to_list()[0] == found["needed_bytes_then"].to_list()[0] > 30_000


#: Verdicts on four ports today and in three years of growth.
YEARS = {
    "3p": ("too small", "too small", "too small", "too small"),
    "5p": ("fine", "fine", "undecided", "too small"),
    "7p": ("too large", "fine", "fine", "fine"),
    "9p": ("fine", "fine", "not answerable", "not answerable"),
}


@pytest.mark.parametrize("years_in_time", [1, 3])
def test_growth_tells_what_is_known_of_each_year(
    years_in_time: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, told = 0, list[str]()

    def staged(questions: dict[str, Question], *_means: object, **_options: object) -> tuple[dict[str, Judgment], bool]:
        nonlocal calls
        found = {each: YEARS[str(question.size)][calls] for each, question in questions.items()}
        calls += 1
        verdicts = {each: Judgment(verdict, needed_bytes=9e3) for each, verdict in found.items()}  # type: ignore[arg-type]
        return verdicts, calls <= years_in_time

    monkeypatch.setattr(auditing, "packet_stage", staged)
    ports = [{"buffer": f"{size[:-1]} packets"} for size in YEARS]
    found = audit(tmp_path, ports, FleetExecution(full=0, tell=told.append), growth="100%").ports
    columns = ("too_small_in", "enough_until", "needed_bytes_then")
    rows = [tuple(row) for row in found.select(columns).iter_rows()]
    if years_in_time == 1:
        assert rows == [(0, None, 9e3), (None, 1, None), (None, 1, None), (None, 1, None)]
        assert any("the time was over in year 1" in line for line in told)
    else:
        assert rows == [(0, None, 9e3), (3, 1, 9e3), (None, 3, None), (None, 1, None)]
        assert any("the time was over in year 3" in line for line in told)


def test_a_year_of_growth_is_not_today(tmp_path: Path) -> None:
    table = tmp_path / "years.csv"
    table.write_text("year,factor\n0,2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: found `0,2`; allowed: each year once, from 1 to 9999"):
        audit(tmp_path, rows(1), growth=str(table))


def test_a_network_without_a_verdict_is_not_called_right(tmp_path: Path) -> None:
    late = audit(tmp_path, rows(1), FleetExecution(full=0, within=1e-6))
    assert answer_lines(late)[1].startswith("No wrong buffer was found. 1 port undecided, d0 eth0: the time ended")
    fine = audit(tmp_path, rows(4)[3:])
    assert fine.counts["fine"] == 1
    assert answer_lines(fine)[1] == "No port has to be changed."


@pytest.mark.parametrize(
    ("text", "message"),
    [("-40%", "growth"), ("40", "at most 1000%"), ("much", "growth"), ("none.csv", "none.csv: cannot be read")],
)
def test_a_wrong_growth_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        audit(tmp_path, rows(3), growth=text)


def test_a_box_would_do_where_its_memory_is_enough(tmp_path: Path) -> None:
    found = audit(tmp_path, rows(10), replace={"big": 10_000_000, "little": 1000}).ports
    assert set(found["would_do_big"]) == {"yes"}
    assert set(found["would_do_little"]) == {"no"}


def test_the_example_of_a_question_is_its_first_port(whole: FleetAnswer) -> None:
    for digest in whole.questions:
        ports = whole.ports.filter(pl.col("question") == digest)
        assert whole.example(digest) == ports.sort("device", "port").row(0, named=True)


def test_the_exit_code_follows_fail_on(tmp_path: Path) -> None:
    inventory(tmp_path, [{"buffer": "400 packets"}])
    profiles(tmp_path, BRIEF)
    call = ("fleet", "ports.csv", "--out", "out", "--full", "0")
    assert command(*call, cwd=tmp_path).code == 1
    assert command(*call, "--fail-on", "too-small", cwd=tmp_path).code == 0
    inventory(tmp_path, [{"buffer": None}])
    assert command(*call, cwd=tmp_path).code == 3
    assert command("fleet", "none.csv", "--out", "out", cwd=tmp_path).code == 2


def test_the_help_gives_the_exit_codes_of_fail_on_and_of_against(tmp_path: Path) -> None:
    text = " ".join(command("fleet", "--help", cwd=tmp_path).out.partition("Exit codes:")[2].split())
    meaning = dict(re.findall(r"(?<!\S)(\d+) ([A-Z].*?)(?= \d+ [A-Z]|$)", text))
    assert set(meaning) == {"0", "1", "2", "3", "130"}
    profiles(tmp_path, BRIEF)
    small = {"buffer": "1 packets"}
    call = ("fleet", "ports.csv", "--out", "out", "--full", "0", "--fail-on")
    inventory(tmp_path, [small])
    assert command(*call, "too-small", cwd=tmp_path).code == 1
    assert meaning["1"].startswith("A port has a verdict of --fail-on")
    assert command(*call, "too-large", cwd=tmp_path).code == 0
    assert meaning["0"].startswith("No port has a verdict of --fail-on")
    inventory(tmp_path, [small, {**small, "rate_bps": "many"}])
    assert command(*call, "too-large", cwd=tmp_path).code == 3
    assert "or a row is rejected" in meaning["3"]
    assert command(*call, "too-small", "--against", "out", cwd=tmp_path).code == 0
    assert meaning["0"].endswith("With --against: no port newly has such a verdict.")
    inventory(tmp_path, [small, small])
    assert command(*call, "too-small", "--against", "out", cwd=tmp_path).code == 1
    assert meaning["1"].endswith("With --against: it newly has this verdict.")
    inventory(tmp_path, [small, small, {"buffer": None}])
    assert command(*call, "too-small", "--against", "out", cwd=tmp_path).code == 3
    assert meaning["3"].endswith("With --against: a port newly is undecided or has no answer.")


def test_the_first_three_lines_are_the_answer_in_eighty_columns(tmp_path: Path) -> None:
    inventory(tmp_path, rows())
    profiles(tmp_path, BRIEF)
    out = command("fleet", "ports.csv", "--out", "out", "--full", "0", cwd=tmp_path).out.splitlines()
    assert out[0].startswith("30 ports: ")
    assert out[1].startswith("Change first: ")
    assert out[2].startswith("Evidence: 10 questions, ")
    assert all(len(line) <= 80 for line in out[:3])
    table = read_table(tmp_path / "out" / "ports.parquet", "run it again")
    assert table.height == 30


def test_a_name_with_a_line_feed_is_one_line_on_the_terminal_and_loses_no_port(tmp_path: Path) -> None:
    given = [{"device": f"{name}\nChange first: none", "buffer": "1 packets"} for name in ("a\u2028", "b\u202e")]
    inventory(tmp_path, given)
    profiles(tmp_path, BRIEF)
    call = ("fleet", "ports.csv", "--out", "out", "--full", "0")
    first = command(*call, cwd=tmp_path).out
    inventory(tmp_path, [{**row, "buffer": "9 packets"} for row in given])
    second = command(*call, "--against", "out", cwd=tmp_path).out
    assert first.splitlines()[1].startswith(r"Change first: a\u2028\nChange first: none eth0")
    for out in (first, second):
        assert any(r"a\u2028\nChange first: none eth0" in line for line in out.splitlines()[3:])
        assert not [line for line in out.splitlines() if line.startswith("Change first: none")]
    assert r"b\u202e\nChange first: none eth1" in second
    assert read_table(tmp_path / "out" / "ports.parquet", "run it again").height == 2


@pytest.mark.parametrize(
    ("devices", "noted"),
    [
        ("abcd", None),
        ("ABwxyz", None),
        ("awxyz", "1 of the 4 ports"),
        ("wxyz", "0 of the 4 ports"),
        ("", "0 of the 4 ports"),
    ],
)
def test_an_audit_of_another_network_in_the_folder_is_noted(devices: str, noted: str | None, tmp_path: Path) -> None:
    given = [{"device": name, "port": "eth0", "buffer": "9 packets"} for name in "abcd"]
    first = audit(tmp_path, given, out=tmp_path / "out")
    assert first.measured
    heard: list[str] = []
    given = [{"device": name, "port": "eth0", "buffer": "9 packets"} for name in devices]
    given = given or [{"buffer": "9 packets", "rate_bps": "many"}]
    second = audit(tmp_path, given, FleetExecution(full=0, tell=heard.append), out=tmp_path / "out")
    kept = "its tables are replaced, and its measurements are kept"
    text = f"{tmp_path / 'out'}: {noted} of its earlier audit are in this inventory; {kept}"
    assert heard == ([] if noted is None else [text])
    assert second.measured == 0


def test_a_damaged_table_of_an_earlier_audit_is_replaced_without_a_note(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    heard: list[str] = []
    for content in (b"PAR1 no table", b"PAR1", b""):
        (tmp_path / "out" / "ports.parquet").write_bytes(content)
        audit(tmp_path, rows(1), FleetExecution(full=0, tell=heard.append), out=tmp_path / "out")
    write_table(pl.DataFrame({"device": ["a"]}), tmp_path / "out" / "ports.parquet")
    audit(tmp_path, rows(1), FleetExecution(full=0, tell=heard.append), out=tmp_path / "out")
    assert heard == []


def test_an_audit_without_a_port_replaces_the_table_of_an_earlier_one(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert audit(tmp_path, rows(1), out=out).ports.height == 1
    found = audit(tmp_path, [{"buffer": "9 packets", "rate_bps": "many"}], out=out)
    assert (found.ports.height, found.rejected.height) == (0, 1)
    assert read_table(out / "ports.parquet", "run it again").height == 0


def test_the_function_names_an_inventory_that_is_missing() -> None:
    with pytest.raises(forebay.InputError, match=r"none\.csv.*no such file"):
        forebay.fleet("none.csv")


def test_a_judgment_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Judgment("fine").verdict = "too small"  # type: ignore[misc]


@pytest.mark.parametrize("confidence", [0.0, 0.5, 0.99999, 1.0])
def test_a_confidence_that_no_runs_reach_is_refused_before_anything_is_read(confidence: float) -> None:
    with pytest.raises(InputError, match="confidence"):
        forebay.fleet("nowhere.csv", execution=FleetExecution(confidence=confidence))
