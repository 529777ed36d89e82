"""The comparison with other programs: rows become the right scenarios, and the rule of judgment is the README's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from checks.reference import Judge, Tally, finding
from checks.reference import compare as judge_file
from checks.rows import NS2_CONTROLLERS, Number, Row, read_folder
from forebay import Scenario
from tests.support.paths import ROOT

FOLDER = ROOT / "tests" / "reference"


def rows(kind: str) -> list[Row]:
    found = list(read_folder(FOLDER, kind))
    assert all(isinstance(row, Row) for row in found), "every row must be readable"
    return [row for row in found if isinstance(row, Row)]


def compare(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "checks.reference", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_every_row_is_read() -> None:
    assert [len(rows(kind)) for kind in ("ns2", "linux", "tofino", "ns3")] == [282, 60, 313, 175]


def test_an_ns2_row_becomes_its_scenario() -> None:
    row = next(row for row in rows("ns2") if row.label == "A_reno_fifo L=100 2xnewreno seed=1")
    tables = row.tables
    assert tables["link"] == {"rate": "50000000bps", "buffer": "99p"}
    group, background = tables["flows"]
    assert (group["cca"], group["recovery"], group["stack"]) == ("newreno", "newreno", "ns2")
    assert (group["count"], group["rtt"], group["packet"]) == (2, ["0.1s", "0.1s"], "1000B")
    assert group["start"] == {"list": ["0s", "0s"], "jitter": "1s"}
    assert group["access"] == {"rate": "100000000bps"}
    assert background["workload"] == {"poisson": {"rate": "25000000bps"}}
    assert tables["run"] == {"warmup": "60s", "measure": "240s", "seed": 1}


def test_ns2_s_scalable_of_linux_is_linux_s() -> None:
    """ns-2 compiles tcp_scalable.c of Linux 2.6: whole packets, 50 acknowledgments, no window that grows as Reno."""
    group = {**NS2_CONTROLLERS["linux:scalable"], "rtt": "40ms"}
    scenario = Scenario.of({"link": {"rate": "1Mbps", "buffer": "9p"}, "flows": [group]})
    assert scenario.resolved["flows"][0]["cca"]["variant"] == "linux"


def test_a_linux_row_becomes_its_scenario() -> None:
    row = next(row for row in rows("linux") if row.label == "unequal_rtt/cubic/b1 #1")
    (group,) = row.tables["flows"]
    assert (group["stack"], group["rtt"], group["count"]) == ("linux", ["20ms", "80ms"], 2)
    assert row.tables["link"]["buffer"] == "208p"


def test_a_row_of_the_switch_becomes_its_scenario() -> None:
    """Four flows leave one sender at 20 Gb/s; a packet that finds 66 waiting is still kept."""
    row = next(row for row in rows("tofino") if row.label == "cubic n=4 depth=7500")
    cards, port = row.tables["links"]
    assert (cards["rate"], port["rate"], port["buffer"]) == ("20000000000bps", "10000000000bps", "67p")
    (group,) = row.tables["flows"]
    assert group["cca"] == {"kind": "cubic", "variant": "linux_5_5"}
    assert (group["stack"], group["count"], group["packet"]) == ("linux", 4, "9000B")
    assert (group["rtt"], group["path"], group["start"]) == ("1.2ms", ["cards", "port"], {"uniform": ["0s", "1ms"]})
    # A run of a second, of which the middle third is measured.
    assert row.tables["run"] == {"warmup": "0.333333333333s", "measure": "0.333333333333s", "seed": 1}


def test_depths_of_the_switch_are_judged_in_packets_by_an_eighth_of_the_limit_or_eight() -> None:
    for row in rows("tofino"):
        limit = float(row.label.rpartition("=")[2]) * 80 / 9000
        assert [number.title for number in row.numbers] == ["depth_p05", "depth_p50", "depth_p95"]
        for number in row.numbers:
            assert number.base == pytest.approx(max(8.0, 0.12 * limit), abs=0.01)
            assert number.cap == 0.0, "runs that differ among themselves widen nothing"
            assert (number.unjudged is None) == (limit >= 31.0)
            # 7.2 us for a packet; an empty queue reads 2.
            assert number.offset + number.scale * 7.2e-6 == pytest.approx(3.0)


def of(row: Row) -> dict[str, Number]:
    return {number.name: number for number in row.numbers}


def test_the_kernels_rows_are_judged_as_all_others() -> None:
    """2 points, 15 and 10 %, with BBR and over small buffers too; shares within what theirs repeats within."""
    shares = 0
    for row in rows("linux"):
        numbers = of(row)
        assert (numbers["utilization"].base, numbers["utilization"].cap) == (0.02, 0.04)
        for name, part in (("loss_rate", 0.15), ("queue_delay_mean", 0.10)):
            assert numbers[name].base == pytest.approx(part * numbers[name].theirs)
        assert numbers["utilization"].unjudged is None
        assert numbers["queue_delay_mean"].unjudged is None
        for name, number in numbers.items():
            if name.startswith("share of"):
                shares += 1
                assert number.base == 0.01
                assert (number.unjudged is None) == ("bbr" in row.family)
    assert shares >= 8


def test_the_rule_for_ns2_is_the_written_one() -> None:
    """4 points in D and E only; the reasons not to judge are the written ones."""
    for row in rows("ns2"):
        numbers = of(row)
        assert numbers["utilization"].base == (0.04 if row.family[0] in "DE" else 0.02), row.label
        assert numbers["loss_rate"].base == pytest.approx(0.15 * numbers["loss_rate"].theirs)
        assert numbers["loss_rate"].cap == pytest.approx(0.40 * numbers["loss_rate"].theirs)
        assert numbers["queue_mean"].base == pytest.approx(0.10 * numbers["queue_mean"].theirs)
    every = {number.unjudged for kind in ("ns2", "linux", "tofino") for row in rows(kind) for number in row.numbers}
    assert every == {
        None,
        "ns-2 forwards nothing at L = 1",
        "hinges on the access link and the start",
        "a single short run",
        "fewer than 30 drops",
        "reno against cubic repeats as a trend only",
        "a limit of less than 31 packets",
    }


def test_rows_of_a_family_have_distinct_names() -> None:
    families = {kind: {row.family for row in rows(kind)} for kind in ("ns2", "linux", "tofino", "ns3")}
    assert {"A_fq", "H_htcp4", "E_long_cubic"} <= families["ns2"]
    assert families["linux"] == {"reno", "cubic", "bbr", "cubic+bbr", "reno+cubic"}
    assert families["tofino"] == {"reno", "cubic", "scalable", "bbr"}
    assert {"TcpCubic, 1 flow", "TcpNewReno, 4 flows, delayed acknowledgments", "PieQueueDisc"} <= families["ns3"]
    for kind in families:
        labels = [row.label for row in rows(kind)]
        assert len(set(labels)) == len(labels)


def test_what_is_known_of_the_noise_of_theirs_comes_with_the_row() -> None:
    """Counting drops is as uncertain as their root; the switch swings by ten packets, except with BBR."""
    row = next(row for row in rows("linux") if row.label == "single/reno/n1/b0.05 #1")
    assert of(row)["loss_rate"].noise == pytest.approx(9.3e-5 / 30**0.5)
    for row in rows("tofino"):
        assert {number.noise for number in row.numbers} == {0.0 if row.family == "bbr" else 10.0}


def test_rows_that_say_nothing_are_not_judged() -> None:
    reasons = {number.unjudged for row in rows("ns2") for number in row.numbers if number.unjudged}
    assert "ns-2 forwards nothing at L = 1" in reasons
    assert "hinges on the access link and the start" in reasons
    assert "a single short run" in reasons
    assert any(reason.endswith("drops") for reason in reasons)


def test_a_number_agrees_within_its_base_or_its_scatter_up_to_the_cap() -> None:
    row = Row("ns2", "A_fq", "a", {}, (), explanation="rounding")

    def agrees(theirs: float, values: list[float]) -> bool:
        return finding(row, Number("utilization", theirs, 0.02, 0.04), values).agrees

    alike, scattered, wild = [0.9] * 8, [0.888, 0.912] * 4, [0.8, 1.0] * 4
    assert agrees(0.919, alike)
    assert not agrees(0.921, alike)
    # s = 0.0128, of which 2.5 are 0.032.
    assert agrees(0.931, scattered)
    assert not agrees(0.933, scattered)
    assert agrees(0.939, wild)
    assert not agrees(0.941, wild)
    assert finding(row, Number("utilization", 0.5, 0.02, 0.04), wild).why == "explained: rounding"
    depth = Number("queue_delay_p50_s", 12.0, 8.0, 0.0, scale=1e6, offset=2.0)
    found = finding(row, depth, [7.2e-6, 16.8e-6] * 4)
    assert found.ours == pytest.approx(14.0)
    assert found.deviation == pytest.approx(5.13, abs=0.01)
    assert (found.runs, found.allowed, found.agrees) == (8, 8.0, True)
    assert finding(row, depth, "refused").why == "refused"


def test_rows_of_one_scenario_are_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (FOLDER / "tofino.jsonl").read_text(encoding="utf-8").splitlines()
    row = next(row for row in map(json.loads, lines) if row["label"] == "reno n=1 depth=4500")
    depths = {**row["depth_packets"], "p50": 13.0}
    both = [row, {**row, "label": "again", "depth_packets": depths}]
    (tmp_path / "tofino.jsonl").write_text("\n".join(map(json.dumps, both)), encoding="utf-8")
    judge = Judge(8, 1)
    judge_file(judge, tmp_path, "tofino", "again")
    p05, p50, p95 = judge.findings
    assert (p50.repeats, p50.mean) == (2, 11.0)
    assert p50.scatter == pytest.approx(8**0.5)
    assert (p05.scatter, p95.scatter) == (0.0, 0.0)
    assert capsys.readouterr().out.count("tofino again") == 3


def test_formulas_agree_with_the_oracle() -> None:
    done = compare(FOLDER, "--only", "oracle")
    assert done.returncode == 0, done.stdout[-2000:]
    assert done.stdout.splitlines()[-1] == "487 passed, 0 failed"


def test_a_wrong_number_fails(tmp_path: Path) -> None:
    """Another folder in the same format, with one formula's value off by a part in a million."""
    oracle = json.loads((FOLDER / "oracle.json").read_text(encoding="utf-8"))
    oracle["rows"] = oracle["rows"][:5]
    oracle["rows"][0]["value"] *= 1 + 1e-6
    (tmp_path / "oracle.json").write_text(json.dumps(oracle), encoding="utf-8")
    done = compare(tmp_path)
    assert done.stdout.splitlines()[-1] == "4 passed, 1 failed"
    assert done.returncode == 1


def test_a_simulated_row_is_judged_by_the_rule(tmp_path: Path) -> None:
    """SACK over 625 packets, cut to one row and then to an impossible one."""
    lines = (FOLDER / "ns2.jsonl").read_text(encoding="utf-8").splitlines()
    row = next(
        row for row in map(json.loads, lines) if row["given"].get("cc") == "sack" and row["given"]["buffer_pkts"] == 625
    )
    path = tmp_path / "ns2.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    good = compare(tmp_path)
    assert "A_sensitivity L=625 1xsack" in good.stdout
    utilization = next(line for line in good.stdout.splitlines() if " utilization " in line)
    assert utilization.endswith("passed")
    row["result"]["utilization"] = 0.5
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    bad = next(line for line in compare(tmp_path).stdout.splitlines() if " utilization " in line)
    assert bad.endswith("failed")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["nowhere"], "nowhere"),
        ([str(FOLDER), "--only", "ns4"], "ns4"),
        ([str(FOLDER), "--replications", "3"], "8 or more"),
    ],
)
def test_wrong_calls_are_one_line(arguments: list[str], part: str) -> None:
    done = compare(*arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert part in done.stderr


@pytest.mark.parametrize(
    ("file", "text", "options"),
    [
        ("ns2.jsonl", "", []),
        ("linux.jsonl", "\n\n", []),
        ("oracle.json", '{"rows": []}', []),
        ("oracle.json", None, ["--match", "no row is called so"]),
    ],
)
def test_nothing_judged_is_nothing_passed(tmp_path: Path, file: str, text: str | None, options: list[str]) -> None:
    (tmp_path / file).write_text(
        FOLDER.joinpath(file).read_text(encoding="utf-8") if text is None else text, encoding="utf-8"
    )
    done = compare(tmp_path, *options)
    assert done.returncode == 1
    assert "0 passed, 0 failed" in done.stdout
    assert done.stderr.splitlines() == [f"reference: found no row to judge in {tmp_path}; allowed: one or more"]


def test_a_tally_counts_trends_and_tells_what_it_counted() -> None:
    tally = Tally(passed=5, failed=2, rows_passed=1, rows_failed=3, trends=[True, False, True], unjudged=4)
    assert (tally.agreed, tally.differed) == (7, 3)
    assert list(tally.lines()) == [
        "4 numbers printed and not judged",
        "trends (ns-3, not counted): 2 of 3 within the tolerance",
        "1 of 4 rows with something to judge passed whole",
        "5 passed, 2 failed",
    ]
    assert list(Tally(passed=1).lines()) == ["1 passed, 0 failed"]


@pytest.fixture(scope="module")
def one_row(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one row of the switch, a cheap one."""
    folder = tmp_path_factory.mktemp("reference")
    lines = (FOLDER / "tofino.jsonl").read_text(encoding="utf-8").splitlines()
    row = next(row for row in map(json.loads, lines) if row["label"] == "reno n=1 depth=4500")
    (folder / "tofino.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    return folder


def test_what_one_build_found_is_held_against_another(one_row: Path, tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    done = compare(one_row, "--write", before)
    assert done.stdout.splitlines()[-1] == "3 passed, 0 failed"
    assert max(map(len, done.stdout.partition("What agrees")[2].splitlines()[1:])) <= 80
    same = compare(one_row, "--against", before)
    assert "Against the other build: 0 better, 0 worse." in same.stdout
    other = json.loads(before.read_text(encoding="utf-8"))
    other["findings"][1] |= {"agrees": False, "ours": 90.0}
    before.write_text(json.dumps(other), encoding="utf-8")
    better = compare(one_row, "--against", before).stdout.splitlines()
    assert "Against the other build: 1 better, 0 worse." in better
    assert "better: tofino reno n=1 depth=4500" in better
    assert "tofino reno: 2 of 3, now 3 of 3" in better


def test_a_file_of_something_else_is_refused_before_anything_runs(one_row: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    for text in ("[]", "{}", "no JSON", '{"findings": [{"kind": "ns2"}]}'):
        wrong.write_text(text, encoding="utf-8")
        done = compare(one_row, "--against", wrong)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert "not what `make reference WRITE=FILE` writes" in done.stderr
    done = compare(one_row, "--write", tmp_path / "nowhere" / "found.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nowhere" in done.stderr
