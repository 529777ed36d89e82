"""The theory that the packet engine is held against, and the table of checks."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from checks import findings, theory
from checks.findings import Finding


def test_md1k_agrees_with_what_is_known() -> None:
    # One place in all: the loss of M/D/1/1 is load / (1 + load), as that of any M/G/1/1.
    assert theory.md1k_loss(0.8, 1) == pytest.approx(0.8 / 1.8, rel=1e-12)
    # Two places, load 1: pi(0) = exp(-1) of departures, 1 - 1 / (exp(-1) + 1).
    assert theory.md1k_loss(1.0, 2) == pytest.approx(1.0 - 1.0 / (math.exp(-1.0) + 1.0), rel=1e-12)
    # Many places lose what is too much.
    assert theory.md1k_loss(1.25, 200) == pytest.approx(0.2, rel=1e-6)
    assert theory.md1k_loss(0.5, 40) < 1e-12


def test_mm1k_agrees_with_what_is_known() -> None:
    loss, waiting = theory.mm1k(1.0, 4)
    assert loss == pytest.approx(1.0 / 5.0)
    assert waiting == pytest.approx((1 + 2 + 3) / 5.0)


def test_the_sawtooth_is_three_quarters_without_a_buffer_and_full_with_a_bdp() -> None:
    assert theory.sawtooth(0.0) == 0.75
    assert theory.sawtooth(1.0) == 1.0
    assert theory.sawtooth(0.5) > theory.sawtooth(0.1)


def test_one_waiting_packet_carries_two_packets_a_round_trip() -> None:
    # 10 Mb/s, 10 ms: 1.2 ms for a packet, so 2.4 of 11.2 ms.
    assert theory.pair_per_round_trip(10e-3, 1.2e-3) == pytest.approx(2.4 / 11.2)
    checks = [check for check in theory.CHECKS if "exact hosts" in check.name]
    assert len(checks) == 3
    for check in checks:
        assert theory.run_check(check, 2, 1).passed


def test_names_are_unique_and_every_scenario_is_valid() -> None:
    names = [check.name for check in theory.CHECKS]
    assert len(set(names)) == len(names)
    for check in theory.CHECKS:
        theory.Scenario.of(check.tables)


def test_a_check_that_is_right_passes_and_one_that_is_wrong_fails() -> None:
    check = next(check for check in theory.CHECKS if check.name.startswith("M/D/1, load 0.5"))
    right = theory.run_check(check, 2, 1)
    assert right.passed
    wrong = theory.Check(check.name, check.source, check.tables, check.ours, lambda _: 2.0 * right.theory, 0.005)
    assert not theory.run_check(wrong, 2, 1).passed
    lines = theory.table([right], [("ns-2.35", "3", "4")]).splitlines()
    assert lines[2].startswith("| M/D/1, load 0.5: mean wait | Pollaczek")
    assert "| theory, as above | 1 | 1 |" in lines
    assert "| ns-2.35 | 3 | 4 |" in lines


def test_tables_of_other_programs_are_renewed_where_they_were_compared(tmp_path: Path) -> None:
    """The file of `make reference WRITE=FILE` counts as a comparison; without the file, the tables do not change."""
    every = [Finding("ns2", "A_fq", "a", "utilization", 0.9, 0.91, 0.01, 8, 0.02, agrees=True)]
    findings.write(tmp_path / "found.json", every, 8)
    assert theory.found_in(tmp_path / "found.json", 8, 1) == every
    assert theory.counts(every) == [("ns-2.35", "1", "1")]
    marks = [theory.MARKS, theory.SHARES, theory.UNJUDGED]
    empty = "\n".join(f"{begin}\n\nold\n{end}" for begin, end in marks)
    full = theory.renewed(empty, "new", every, "x")
    assert "| ns-2.35 | A_fq | 1 of 1 | 100 % | 1 of 1 |" in full
    assert full.count("old") == 0
    again = theory.renewed(full, "newer", None, "x")
    assert again == full.replace("new", "newer")


def test_what_cannot_be_done_is_said_before_the_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nothing.md"
    assert theory.main(["--write", str(path)]) == 2
    path.write_text("no marks")
    assert theory.main(["--write", str(path)]) == 2
    assert "nothing.md: found no `<!-- checks: begin -->`" in capsys.readouterr().err
    assert theory.main(["--replications", "1"]) == 2
