"""The theory that the packet engine is compared with, and the tables of the checks."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from checks import findings, theory
from checks.findings import Finding
from checks.pages import page_of, renewed
from tests.support.paths import ROOT


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
    assert theory.theory_table([right]).splitlines()[2].startswith("| M/D/1, load 0.5: mean waiting time | Pollaczek")
    lines = theory.counts_table([right], [("ns-2.35", "3", "4"), ("ns-3.48", "0", "0")]).splitlines()
    assert "| theory | 1 | 1 | 100.0 % |" in lines
    assert "| ns-2.35 | 3 | 4 | 75.0 % |" in lines
    assert "| ns-3.48 | 0 | 0 | – |" in lines


def test_tables_of_other_programs_are_renewed_where_they_were_compared(tmp_path: Path) -> None:
    """The file of `make reference WRITE=FILE` counts as a comparison; without the file, the tables do not change."""
    every = [Finding("ns2", "A_fq", "a", "utilization", 0.9, 0.91, 0.01, 8, 0.02, agrees=True)]
    findings.write(tmp_path / "found.json", every, 8)
    assert theory.found_in(tmp_path / "found.json", 8, 1) == every
    assert theory.counts(every) == [("ns-2.35", "1", "1")]
    marks = [theory.THEORY, theory.COUNTS, theory.SHARES, theory.UNJUDGED]
    assert list(theory.blocks([], every)) == marks
    assert list(theory.blocks([], None)) == [theory.THEORY]
    page = tmp_path / "page.md"
    page.write_text("\n".join(f"{begin}\n\nold\n{end}" for begin, end in marks))
    full = renewed(page, theory.blocks([], every))[page]
    assert "| ns-2.35 | A_fq | 1 of 1 | 100 % | 1 of 1 |" in full
    assert "| ns-2.35 | 1 | 1 | 100.0 % |" in full
    assert full.count("old") == 0


def test_each_table_takes_its_place_on_its_page_of_the_manual() -> None:
    folder = ROOT / "docs" / "background" / "validation"
    pages = {page_of(folder, marks).name for marks in (theory.THEORY, theory.COUNTS, theory.SHARES, theory.UNJUDGED)}
    assert pages == {"tests.md", "index.md", "agreement.md"}


def test_a_page_without_marks_is_found_before_the_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nothing.md"
    assert theory.main(["--write", str(path)]) == 2
    path.write_text("no marks")
    assert theory.main(["--write", str(path)]) == 2
    assert "nothing.md: found no `<!-- theory: begin -->`" in capsys.readouterr().err
    assert theory.main(["--write", str(tmp_path)]) == 2
    assert "expected one page with `<!-- theory: begin -->`, found no page" in capsys.readouterr().err
    (tmp_path / "a.md").write_text(theory.THEORY[0])
    (tmp_path / "b.md").write_text(theory.THEORY[0])
    assert theory.main(["--write", str(tmp_path)]) == 2
    assert "found a.md, b.md" in capsys.readouterr().err
    assert theory.main(["--replications", "1"]) == 2
