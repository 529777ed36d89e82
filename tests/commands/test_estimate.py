"""About how long runs take: said in one line before them, where that is worth a line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from forebay import Scenario
from forebay.commands import estimate
from forebay.commands.estimate import Announced, Work, announce, announced_soon, one_run
from forebay.measurement.run_time import RunTime
from tests.support.commands import forebay
from tests.support.scenarios import SMALL


def test_a_run_has_the_packets_of_a_full_link() -> None:
    # 2 Mb/s for 35 s in packets of 1000 bytes.
    run = one_run(Scenario.parse(SMALL))
    assert run is not None
    assert run.packets == pytest.approx(2e6 * 35 / 8000)
    assert one_run(Scenario.parse(SMALL), "fluid") is None


def test_a_run_of_many_flows_takes_longer_than_its_packets_say() -> None:
    few, many = (one_run(Scenario.parse(SMALL, overrides=(f"flows.1.count={count}",))) for count in (1, 3000))
    assert few is not None
    assert many is not None
    assert few.packets == many.packets
    assert many.seconds > 5 * few.seconds


def test_cores_share_the_runs() -> None:
    work = Work(runs=6, each=RunTime(1e7, 1.0))
    assert [work.seconds(cores) for cores in (1, 2, 6, 64)] == [6, 3, 1, 1]
    assert Work(6, RunTime(1e7, 1.0), most_s=2).seconds(1) == 2
    assert Work(0, RunTime(1e7, 1.0)).seconds(2) == 0


@pytest.mark.parametrize(
    ("seconds", "message"),
    [(9, ""), (12, "about 10 s on 1 core"), (58, "about 60 s"), (170, "about 2.8 minutes"), (9000, "about 2.5 hours")],
)
def test_only_long_work_is_announced(seconds: float, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    announce(Work(1, RunTime(1e7 * seconds, seconds)), 1)
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == (1 if message else 0)
    assert message in output.err


def test_the_estimate_is_printed_once_and_progress_is_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[tuple[int, int]] = []
    progress = Announced(lambda done, of: calls.append((done, of)), lambda runs: Work(runs, RunTime(1e9, 100.0)), 1)
    assert capsys.readouterr().err == ""
    progress(5, 25)
    assert "about 20 runs of 1,000,000,000 packets" in capsys.readouterr().err
    progress(6, 25)
    assert capsys.readouterr().err == ""
    assert calls == [(5, 25), (6, 25)]
    Announced(None, lambda runs: Work(runs, RunTime(1.0, 1e-7)), 1)(0, 3)


def test_what_is_refused_at_once_is_not_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(estimate, "REFUSED_S", 0.01)
    with announced_soon(Work(1, RunTime(1e12, 1e5)), 1):
        time.sleep(0.2)
    assert "hours" in capsys.readouterr().err
    monkeypatch.setattr(estimate, "REFUSED_S", 60)
    with announced_soon(Work(1, RunTime(1e12, 1e5)), 1), announced_soon(None, 1):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "call",
    [["recommend", "--quick"], ["compare", "--points", "1"], ["sweep", "--over", "link.buffer=5p", "--out", "x"]],
)
def test_long_commands_say_about_how_long_they_take(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], call: list[str]
) -> None:
    from forebay.commands.program import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(estimate, "WORTH_SAYING", 0.0)
    verb, *options = call
    cli([verb, str(small), *options], standalone_mode=False)
    lines = [line for line in capsys.readouterr().err.splitlines() if "this takes about" in line]
    assert len(lines) == 1
    assert " runs of 8,800 packets" in lines[0]


def test_work_that_a_time_limit_ends_is_announced_by_the_limit_alone(capsys: pytest.CaptureFixture[str]) -> None:
    announce(Work(1000, RunTime(1e9, 100.0), most_s=30), 1)
    output = capsys.readouterr().err
    assert "about 30 s" in output
    assert "runs" not in output


def test_a_mistake_remains_one_line(small: Path) -> None:
    long = ["--set", "link.rate=100Gbps", "--set", "run.measure=1h"]
    for call in (["recommend", small, "--goal", "bulk.nothing>=3"], ["run", small, "--engine", "none"]):
        answer = forebay(*call, *long)
        assert answer.code == 2
        assert answer.err.count("\n") == 1, answer.err


def test_runs_that_are_done_say_how_long_the_others_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter([100.0, 108.0])
    monkeypatch.setattr(estimate.time, "monotonic", lambda: next(now))
    # Four runs in 8 s on one core, so 50 more take 100 s, whatever their packets say.
    progress = Announced(None, lambda runs: Work(runs, RunTime(1.0, 1e-9)), 1, measured=True)
    progress(4, 54)
    assert "about 100 s on 1 core" in capsys.readouterr().err
