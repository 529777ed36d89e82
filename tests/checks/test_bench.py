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
from checks.bench.languages import languages
from checks.bench.packet import Timing, run
from checks.bench.scaling import scaling
from checks.bench.tables import CAPTURES, COUNTED, TIMED, captures_table, counted_table, timed_table, write
from checks.pages import block
from forebay.errors import InputError
from forebay.scenario import Scenario
from forebay.search.recommendation import recommend
from tests.support.paths import ROOT

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


@timed
def test_an_algorithm_in_another_language_has_a_part_of_the_built_in_speed(small: Path) -> None:
    lines = {line["name"]: line for line in languages(small, rounds=2)}
    for name in ("newreno", "cubic"):
        built_in = lines[f"{name}, built in, S1"]
        assert built_in["part_of_built_in"] == 1.0
        for language in {"Python", "WebAssembly"} & {title.split(", ")[1] for title in lines}:
            line = lines[f"{name}, {language}, S1"]
            assert line["part_of_built_in"] > 0
            assert line["slowest"] <= line["million_packets_per_cpu_s"] <= line["fastest"]


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


# Two threads ---------------------------------------------------------------------------------------------------------


class Batches:
    """Batches on a clock of their own, in which each replication takes a time on one thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, each_s: float) -> None:
        self.now, self.each_s, self.calls = 0.0, each_s, list[tuple[int, int]]()
        monkeypatch.setattr("checks.bench.scaling.time.perf_counter", lambda: self.now)

    def __call__(self, _scenario: object, replications: int, threads: int) -> tuple[float, float]:
        self.calls.append((replications, threads))
        elapsed = self.each_s * replications / threads * (1.1 if threads == 2 else 1.0)
        self.now += elapsed
        return elapsed, elapsed * threads


def test_two_threads_take_turns_in_a_batch_of_the_requested_size(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = Batches(monkeypatch, 0.01)
    line = scaling(small, replications=8, rounds=3, batch=batch)
    assert batch.calls == [(1, 1), (8, 1), (8, 2), (8, 2), (8, 1), (8, 1), (8, 2)]
    assert line["times_as_fast"] == pytest.approx(2 / 1.1, abs=1e-3)
    assert line["times_as_fast_at_equal_speed"] == pytest.approx(2, abs=1e-3)
    assert (line["replications"], line["rounds"]) == (8, 3)
    assert capsys.readouterr().err.splitlines()[-1].startswith("threads: round 3 of 3, 8 replications: 1.82 times")


@pytest.mark.parametrize("each_s", [0.001, 0.1, 0.3, 1.0, 5.0, 40.0])
def test_two_threads_end_within_their_limit_and_a_round_at_most(
    small: Path, monkeypatch: pytest.MonkeyPatch, each_s: float
) -> None:
    batch = Batches(monkeypatch, each_s)
    line = scaling(small, limit_s=60.0, batch=batch)
    smallest_round_s = 2 * each_s * (1 + 1.1 / 2)
    assert batch.now <= max(60.0, each_s + smallest_round_s)
    assert line["replications"] % 2 == 0
    assert 1 <= line["rounds"] <= 7


# Tables of the manual ------------------------------------------------------------------------------------------------


def _timed_line(name: str, speed: float) -> dict[str, Any]:
    return {
        "name": name,
        "million_packets_per_cpu_s": speed,
        "slowest": 0.9 * speed,
        "fastest": 1.1 * speed,
        "packets_per_yardstick_event": 1.234,
        "events_per_packet": 2.0,
    }


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    found = {name: tmp_path / f"{name}.toml" for name in ("W1", "W2", "W10")}
    for name, path in found.items():
        path.write_text(f'title = "{name}: a link"\n', encoding="utf-8")
    return found


def test_a_table_has_new_rows_present_rows_and_the_command_of_a_missing_row(files: dict[str, Path]) -> None:
    before = timed_table([_timed_line("W1", 50.0), _timed_line("W2", 40.0)], files)
    lines = timed_table([_timed_line("W2", 10.0), {"name": "W1", "error": "died"}], files, before).splitlines()
    assert lines[2:] == [
        "| W1: a link | 50 (45-55) | 60 | 1.23 | 2.00 |",
        "| W2: a link | 10 (9-11) | 50 | 1.23 | 2.00 |",
        "| W10: a link | not measured yet: `make bench ONLY=W10 WRITE=docs/background` | | | |",
    ]
    assert timed_table([], files, "\n".join(lines)).splitlines() == lines
    del files["W1"]
    assert "W1:" not in timed_table([], files, before)


def test_tables_of_instructions_and_of_captures_keep_the_rows_that_were_not_measured(files: dict[str, Path]) -> None:
    counted = [{"name": name, "instructions_per_packet": 333.4} for name in files]
    before = counted_table(counted, files)
    assert "| W10: a link | 333 |" in before
    assert "| W2: a link | 500 |" in counted_table([{"name": "W2", "instructions_per_packet": 500.0}], files, before)
    line = {"name": "O", "cpu_s": 1.0, "million_packets_per_cpu_s": 2.0, "times_forebay_observe": 0.5}
    kept = captures_table([{**line, "capture": "a kernel's", "program": "tcptrace"}])
    both = captures_table([{**line, "capture": "the engine's", "program": "tcptrace"}], kept)
    assert [row.split("|")[1].strip() for row in both.splitlines()[2:]] == [
        "a kernel's: tcptrace",
        "the engine's: tcptrace",
    ]


def test_only_the_measured_tables_of_a_folder_are_written(files: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, marks in [("a", TIMED), ("b", COUNTED), ("c", CAPTURES)]:
        (folder / f"{name}.md").write_text(f"# A\n\n{marks[0]}\n\nnothing\n{marks[1]}\n", encoding="utf-8")
    write(folder, [_timed_line("W1", 50.0)], files)
    write(folder, [], files)
    assert "| W1: a link | 50 (45-55) |" in (folder / "a.md").read_text(encoding="utf-8")
    assert "nothing" in (folder / "b.md").read_text(encoding="utf-8")
    assert "nothing" in (folder / "c.md").read_text(encoding="utf-8")


def test_the_manual_has_the_tables_with_a_row_for_each_scenario_file() -> None:
    found = {path.stem: path for path in (ROOT / "benches").glob("*.toml")}
    folder = ROOT / "docs" / "background"
    for marks in (TIMED, COUNTED):
        rows = [line for line in block(folder, marks).splitlines() if line.startswith("| W")]
        titles = [row.split("|")[1].strip() for row in rows]
        assert sorted(title.partition(":")[0] for title in titles) == sorted(found)
        assert all(f'title = "{title}"' in found[title.partition(":")[0]].read_text("utf-8") for title in titles)
    assert "tcptrace" in block(folder, CAPTURES)


@pytest.mark.parametrize(("name", "shipped"), [("W9", "campus-uplink"), ("W10", "ixp-port"), ("W11", "backbone-100g")])
def test_a_benchmark_of_answers_has_the_traffic_of_its_scenario(name: str, shipped: str) -> None:
    bench, scenario = (
        dict(Scenario.load(ROOT / path).resolved) for path in (f"benches/{name}.toml", f"scenarios/{shipped}.toml")
    )
    assert bench["flows"] == scenario["flows"]
    for one, other in zip(bench["links"], scenario["links"], strict=True):
        assert {**one, "buffer": None} == {**other, "buffer": None}
