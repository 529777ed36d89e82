"""The comparison with other programs: rows become the right scenarios, and the rule of judgment is the README's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from forebay.checks.reference import Tally
from forebay.checks.rows import Row, read_folder
from tests.conftest import ROOT

FOLDER = ROOT / "tests" / "reference"


def rows(kind: str) -> list[Row]:
    found = list(read_folder(FOLDER, kind))
    assert all(isinstance(row, Row) for row in found), "every row must be readable"
    return [row for row in found if isinstance(row, Row)]


def compare(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "forebay.checks.reference", *map(str, arguments)]
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
    assert (group["cca"], group["stack"], group["count"], group["packet"]) == ("cubic", "linux", 4, "9000B")
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


def test_rows_that_say_nothing_are_not_judged() -> None:
    reasons = {number.unjudged for row in rows("ns2") for number in row.numbers if number.unjudged}
    assert "ns-2 forwards nothing at L = 1" in reasons
    assert "hinges on the access link and the start" in reasons
    assert "a single short run" in reasons
    assert any(reason.endswith("drops") for reason in reasons)


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
