"""The evaluation of the runs of `make bench`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checks.bench import sweeping
from checks.bench.__main__ import main
from checks.bench.counting import count, totals
from checks.bench.packet import Timing, run
from forebay.errors import InputError
from forebay.scenario import Scenario
from forebay.search.recommendation import recommend

#: Tests that measure time; instructions can be counted beside other work.
timed = pytest.mark.real_time

SMALL = """
[link]
rate = "10Mbps"
buffer = "20p"
[[flows]]
name = "bulk"
count = 2
cca = "newreno"
rtt = "50ms"
packet = "1500B"
[run]
warmup = "5s"
measure = "25s"
seed = 1
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "S1.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def _run(cpu_s: float, yardstick_s: float) -> dict[str, Any]:
    return {
        "data_packets": 10_000_000,
        "events": 10_000_000,
        "cpu_s": cpu_s,
        "wall_s": cpu_s,
        "peak_rss_bytes": 1,
        "yardstick_s": yardstick_s,
        "results_sha256": "a",
    }


def test_a_line_gives_the_median_of_all_runs_beside_that_of_the_undisturbed_ones() -> None:
    slow = [_run(0.4, 0.06), _run(0.5, 0.07)]
    timing = Timing(Path("W1.toml"), [*slow, _run(0.2, 0.040), _run(0.25, 0.043)])
    assert timing.yardstick == 0.04
    line = timing.summary(0.04)
    assert line["million_packets_per_cpu_s"] == pytest.approx(32.5)
    assert (line["slowest"], line["fastest"]) == (20.0, 50.0)
    assert (line["undisturbed"], line["undisturbed_runs"], line["runs"]) == (45.0, 2, 4)
    # By run 25, 20, 50 and 40 million packets a second, in 60, 70, 40 and 43 ns an event: 1.5, 1.4, 2 and 1.72.
    assert line["packets_per_yardstick_event"] == pytest.approx(1.61)
    assert line["yardstick_million_events_per_cpu_s"] == pytest.approx(25.0)
    # A machine half as fast is as far in terms of its own yardstick.
    halved = [{**run, "cpu_s": 2 * run["cpu_s"], "yardstick_s": 2 * run["yardstick_s"]} for run in timing.runs]
    assert Timing(timing.path, halved).in_yardsticks() == pytest.approx(timing.in_yardsticks())
    # A yardstick that other scenarios' runs found faster: nothing here was undisturbed.
    assert timing.summary(0.03)["undisturbed"] is None


@timed
def test_a_run_in_a_process_of_its_own_is_the_same_every_time(small: Path) -> None:
    first, second = run(small), run(small, ["run.measure=25s"])
    assert first["results_sha256"] == second["results_sha256"]
    assert first["data_packets"] > 10_000
    assert run(small, ["run.measure=10s"])["data_packets"] < first["data_packets"]


def test_a_missing_program_is_one_line(small: Path) -> None:
    with pytest.raises(InputError, match="no-such-program: No such file"):
        run(small, under=["no-such-program"])


def test_totals_are_the_sums_by_name() -> None:
    text = "desc: I1 cache\ncmd: x\nevents: Ir D1mr DLmr\nfl=a\n1 2 3 4\nsummary: 20 3 1\n"
    assert totals(text) == {"Ir": 20, "D1mr": 3, "DLmr": 1}
    with pytest.raises(InputError, match="names no sums"):
        totals("events: Ir D1mr\n")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_counted_instructions_are_those_of_the_packets(small: Path) -> None:
    # Start-up takes 400 million, and some million more or less each time: the packets have to be many more.
    small.write_text(SMALL.replace("10Mbps", "400Mbps").replace("20p", "500p"), encoding="utf-8")
    counted = count(small)
    assert counted["packets"] > 150_000
    assert 200 < counted["instructions_per_packet"] < 800
    assert counted["bytes_from_memory_per_packet"] < 64


def test_unknown_names_are_refused_in_one_line(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(small.parent), "--only", "W9"]) == 2
    assert capsys.readouterr().err.splitlines() == ["bench: found `W9`; allowed: S1, F1, F2, F3, S, O"]


@timed
def test_what_a_sweep_does_beside_its_simulations(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    assert main([str(small.parent), "--only", "S", "--cells", "200"]) == 0
    here, there = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for line, parts in ((here, ["here_us"]), (there, ["collecting_us", "scheduling_us", "workers_us"])):
        assert (line["cells"], line["files"]) == (200, 1)
        assert 500 < line["bytes"] < 4000
        assert line["simulating_us"] > 0
        assert line["overhead_us"] == pytest.approx(sum(line[part] for part in parts), abs=0.3)
    assert min(there["collecting_us"], there["scheduling_us"], here["here_us"]) > 0
    assert 1 <= there["tasks"] <= 200


def test_the_memory_of_a_sweep_is_that_of_its_rows() -> None:
    line = sweeping.memory(40)
    assert (line["name"], line["rows"]) == ("S/memory", 40)
    assert min(line["peak_mb"], line["cpu_us"], line["elapsed_us"]) > 0


@timed
def test_what_answers_cost_is_their_packets_and_the_sum(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, rate in [("one", "1Mbps"), ("two", "2Mbps")]:
        text = SMALL.replace("10Mbps", rate) + '[goal]\nutilization = ">= 50%"\n'
        (small.parent / f"{name}.toml").write_text(text, encoding="utf-8")
    small.unlink()
    assert main([str(small.parent), "--scenarios", str(small.parent), "--only", "R"]) == 0
    *lines, total = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["name"] for line in lines] == ["R/one", "R/two"]
    for line in lines:
        answer = recommend(Scenario.load(small.parent / f"{line['name'][2:]}.toml"))
        assert line["million_packets"] == round(answer.cost.data_packets / 1e6, 2) > 0
        assert (line["replications"], line["buffer_packets"]) == (answer.cost.replications, answer.packets)
    assert total["million_packets"] == pytest.approx(sum(line["million_packets"] for line in lines), abs=0.01)
    assert (total["scenarios"], total["dearest"]) == (2, "R/two")
    assert main([str(small.parent), "--scenarios", str(small.parent), "--only", "R/one"]) == 0
    (only,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {**only, "cpu_s": 0} == {**lines[0], "cpu_s": 0}


@timed
def test_a_wrong_file_fails_by_name_and_the_others_go_on(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (small.parent / "S0.toml").write_text(SMALL.replace("newreno", "nothing"), encoding="utf-8")
    assert main([str(small.parent), "--only", "S0,S1", "--runs", "1"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "S0.toml" in lines[0]["error"]
    assert "nothing" in lines[0]["error"]
    assert lines[1]["name"] == "S1"
    assert lines[1]["million_packets_per_cpu_s"] > 0


def test_help_says_what_a_line_means() -> None:
    done = subprocess.run([sys.executable, "-m", "checks.bench", "--help"], capture_output=True, text=True, check=True)
    assert "slowest" in done.stdout
