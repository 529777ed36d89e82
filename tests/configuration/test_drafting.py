"""`forebay new`: what it writes parses, runs and answers; what it cannot write it refuses in one line."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest

from forebay import InputError, Scenario, _core
from forebay.configuration.drafting import Wishes, draft
from forebay.configuration.jitter import jittered
from forebay.scenario import run_jobs
from forebay.search.independence import in_step
from tests.support.commands import forebay


@pytest.mark.parametrize(
    ("rate", "rtt", "traffic"),
    list(
        product(
            ("512kbps", "100Mbps", "400Gbps"),
            ("200us", "5ms..300ms"),
            (
                {"long": 1},
                {"long": 5000, "cca": "newreno", "web": 0.1},
                {"web": 0.9},
                {"background": 1.2},
                {"video": 30, "background": 0.05, "queue": "fq_codel"},
            ),
        )
    ),
)
def test_every_draft_is_a_scenario(rate: str, rtt: str, traffic: dict[str, object]) -> None:
    scenario = Scenario.parse(draft(Wishes(rate=rate, rtt=rtt, **traffic)))  # type: ignore[arg-type]
    assert scenario.goals
    warmup, measured = scenario.core.duration_s
    packets = (warmup + measured) * scenario.core.rate_bps / 8 / 1500
    assert packets < 7e7, "one run stays a matter of seconds"
    assert 0 < warmup < measured


def _losses(text: str, *changes: str) -> tuple[float, float]:
    """The loss in the first and in the last half of the measured time, over a few seeds."""
    warmup, measured = Scenario.parse(text).core.duration_s
    halves = []
    for start in (warmup, warmup + measured / 2):
        times = (f"run.warmup={start}s", f"run.measure={measured / 2}s")
        core = Scenario.parse(text, overrides=(*times, *changes)).core
        reports = run_jobs([_core.Job(core, "packet", seed, 0) for seed in range(4)])
        halves.append(sum(report.metrics["loss_rate"].mean for report in reports) / len(reports))
    return halves[0], halves[1]


@pytest.mark.parametrize("cca", ["cubic", "newreno"])
def test_a_fast_draft_measures_no_losses_of_the_slow_start(cca: str) -> None:
    """The test simulates a hundredth of 100 Gb/s and 3,000 flows, so that each flow has the same share."""
    text = draft(Wishes(rate="100Gbps", rtt="20ms..80ms", long=3000, web=0.2, cca=cca))
    smaller = ("link.rate=1Gbps", "flows.long.count=30")
    first, last = _losses(text, *smaller)
    assert first < 0.005
    assert abs(first - last) < 0.003
    early, _ = _losses(text.replace('warmup       = "2.9s"', 'warmup       = "800ms"'), *smaller)
    assert early > 2 * first, "a shorter warm-up would do"


def test_a_draft_that_cannot_wait_for_its_slow_start_begins_near_the_share() -> None:
    fast, faster = (draft(Wishes(rate=rate, rtt="20ms..80ms", long=3000)) for rate in ("100Gbps", "400Gbps"))
    assert "initial_ssthresh" not in fast
    assert 'initial_ssthresh = "556p"' in faster
    warmup, measured = Scenario.parse(faster).core.duration_s
    assert 4e11 * (warmup + measured) / 12000 < 7e7


def test_a_draft_of_bbr_waits_until_it_has_looked_for_its_round_trip() -> None:
    text = draft(Wishes(rate="1Gbps", rtt="20ms", long=10, cca="bbr"))
    assert Scenario.parse(text).core.duration_s[0] > 10


@pytest.mark.parametrize(
    ("traffic", "limit"),
    [({"long": 8}, 0.01), ({"web": 0.3}, 0.005), ({"long": 200}, 0.2), ({"long": 40}, 0.02)],
)
def test_a_draft_limits_loss_and_says_of_what(traffic: dict[str, object], limit: float) -> None:
    """1 % of all packets; more where windows of few packets cannot do with less."""
    text = draft(Wishes(rate="100Mbps", rtt="40ms", **traffic))  # type: ignore[arg-type]
    (found,) = (goal for goal in Scenario.parse(text).goals if goal.name == "loss_rate")
    assert (found.sense, found.threshold) == ("<=", pytest.approx(limit))
    (line,) = (line for line in text.splitlines() if line.startswith('"loss_rate"'))
    assert "packets" in line.partition("#")[2]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [["--long", "8"], ["--long", "2", "--web", "20%"]])
def test_the_loss_goal_of_a_draft_can_be_met(options: list[str], tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    assert forebay("new", path, "--rate", "50Mbps", "--rtt", "40ms", *options).code == 0
    answer = forebay("recommend", path, "--set", "run.measure=10s", "--json")
    assert '"loss_rate"' in answer.out
    assert answer.code == 0, answer.out[:400]


def test_a_draft_runs_and_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    options = ["--rate", "5Mbps", "--rtt", "20ms..40ms", "--long", "2", "--web", "10%", "--background", "0.1"]
    written = forebay("new", path, *options, "--goal", "utilization>=80%")
    assert written.code == 0, written.err
    assert f"forebay run {path}" in written.out
    text = path.read_text(encoding="utf-8")
    assert text.count("#") > 10
    scenario = Scenario.load(path)
    assert [group[0] for group in scenario.core.groups] == ["long", "web", "background"]
    assert scenario.core.background_load == pytest.approx(0.1)
    assert [(goal.name, goal.threshold) for goal in scenario.goals] == [("utilization", 0.8)]
    assert forebay("run", path, "--set", "run.measure=3s").code == 0
    answer = forebay("recommend", path, "--no-picture", "--set", "run.measure=10s")
    assert answer.code == 0, answer.out
    repeated = forebay("new", path, *options)
    assert (repeated.code, repeated.err.count("\n")) == (2, 1)
    assert "--force" in repeated.err
    assert forebay("new", path, *options, "--force").code == 0


@pytest.mark.parametrize("traffic", [{"long": 11, "cca": "bbr"}, {"long": 2, "web": 0.1}, {"web": 0.5}])
def test_flows_of_a_draft_do_not_move_in_step(traffic: dict[str, object]) -> None:
    """The scenario already has what `recommend --jitter` would add, of the same size."""
    scenario = Scenario.parse(draft(Wishes(rate="50Mbps", rtt="20ms", **traffic)))  # type: ignore[arg-type]
    for group in scenario.resolved["flows"]:
        assert group["rtt"] == {"value": "20ms", "jitter": {"uniform": ["0ps", "240us"]}}
    _, more = jittered(scenario)
    assert more.round_trips == ()
    assert "long" not in more.starts
    assert in_step(scenario.core, "packet", []) is None


def test_standard_output(tmp_path: Path) -> None:
    answer = forebay("new", "-", "--rate", "5Mbps", "--rtt", "20ms", "--video", "1", cwd=tmp_path)
    assert answer.code == 0
    assert Scenario.parse(answer.out).title == "5Mbps link: 1 video stream"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([], "found no --rate"),
        (["--rate", "5Mbps"], "found no --rtt"),
        (["--rate", "5Mbps", "--rtt", "1ms"], "found no traffic; allowed: at least one of --long"),
        (["--rate", "5", "--rtt", "1ms", "--long", "1"], "--rate: found `5`; allowed: "),
        (["--rate", "5Mbps", "--rtt", "x", "--long", "1"], "--rtt: found `x`; allowed: "),
        (["--rate", "5Mbps", "--rtt", "9ms..1ms", "--long", "1"], "--rtt: found `9ms..1ms`; allowed: the shorter"),
        (["--rate", "5Mbps", "--rtt", "1ms", "--long", "-3"], "--long: found -3; allowed: "),
        (["--rate", "5Mbps", "--rtt", "1ms", "--web", "300%"], "--web: found `300%`; allowed: "),
        (
            ["--rate", "5Mbps", "--rtt", "1ms", "--long", "1", "--cca", "reno2"],
            "--cca: unknown cca `reno2`; did you mean `newreno`? known: ",
        ),
        (["--rate", "5Mbps", "--rtt", "1ms", "--long", "1", "--queue", "lifo"], "--queue: unknown queue `lifo`; "),
        (["--rate", "5Mbps", "--rtt", "1ms", "--long", "1", "--goal", "fast"], "--goal: found `fast`; allowed: "),
        (["--rate", "5Mbps", "--rtt", "1ms", "--long", "1", "--title", "a\x1bb"], "--title: found"),
        (["--rate", "5Mbps", "--rtt", "1ms", "--long", "1", "--packet", "9X"], "--packet: found `9X`; allowed: "),
    ],
)
def test_what_cannot_be_written_is_one_line(options: list[str], complaint: str, tmp_path: Path) -> None:
    answer = forebay("new", tmp_path / "new.toml", *options)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert complaint in answer.err
    assert not (tmp_path / "new.toml").exists()


def test_errors_in_python_name_the_argument() -> None:
    with pytest.raises(InputError, match=r"^background: found 7 of the link's rate"):
        draft(Wishes(rate="1Gbps", rtt="10ms", background=7))


def test_questions_on_a_terminal(tmp_path: Path) -> None:
    """Answers typed on a terminal, one of them wrong, give a scenario."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "forebay", "new", str(tmp_path / "asked.toml")]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
    os.close(theirs)
    typed = ["10Mbit", "10Mbps", "30ms", "3", "newreno", "", "0%", "1"]
    shown = ""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                shown += os.read(ours, 4096).decode()
            except OSError:  # the other end is closed
                break
            if typed and shown.endswith("]: "):
                os.write(ours, f"{typed.pop(0)}\n".encode())
                shown += "\n"
        elif process.poll() is not None:
            break
    assert process.wait(timeout=10) == 0, shown
    os.close(ours)
    assert "found `10Mbit`; did you mean `10Mbps`? allowed:" in shown
    scenario = Scenario.load(tmp_path / "asked.toml")
    assert scenario.core.rate_bps == 10e6
    assert [(name, count) for name, count, _, _ in scenario.core.groups] == [("long", 3), ("web", 1), ("video", 1)]
