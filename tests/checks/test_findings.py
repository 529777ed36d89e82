"""Shares, biases and differences of what the comparison with other programs found."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import findings, summary
from checks.findings import Finding, biases, changes, settled, shares


def found(number: str = "utilization", ours: float = 0.9, *, row: str = "a", **more: object) -> Finding:
    """A number of which theirs is 0.9."""
    known = Finding("ns2", "A_fq", row, number, 0.9, ours, deviation=0.01, runs=8, allowed=0.02, agrees=True)
    return replace(known, **more)  # type: ignore[arg-type]


def test_a_row_is_whole_where_all_its_judged_numbers_agree() -> None:
    (share,) = shares(
        [
            found(row="a"),
            found("loss_rate", row="a", agrees=False, unjudged="fewer than 30 drops"),
            found(row="b"),
            found("loss_rate", row="b", agrees=False),
            found(row="c", unjudged="a single short run"),
        ]
    )
    assert (share.agreed, share.numbers, share.agreed_rows, share.rows) == (2, 3, 1, 2)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.booleans(), st.booleans()), max_size=30))
def test_families_add_up_to_the_whole(drawn: list[tuple[str, str, bool, bool]]) -> None:
    every = [
        found(str(k), row=f"{family} {row}", family=family, agrees=agrees, unjudged=None if judged else "noise")
        for k, (family, row, agrees, judged) in enumerate(drawn)
    ]
    tally = findings.Tally.of(every)
    parts = shares(every)
    assert sum(part.agreed for part in parts) == tally.passed
    assert sum(part.numbers for part in parts) == tally.passed + tally.failed
    assert sum(part.rows for part in parts) == tally.rows_passed + tally.rows_failed
    assert tally.passed + tally.failed + tally.unjudged == len(every)
    assert all(part.agreed_rows <= part.rows and part.agreed <= part.numbers for part in parts)


def test_standard_errors_are_of_the_mean_of_ours_and_of_theirs() -> None:
    # s = 0.01 over 8 runs; theirs 0.9 and 0.92 in two rows, of which the mean is 0.91.
    each = found(ours=0.87, mean=0.91, scatter=0.02 / math.sqrt(2), repeats=2)
    assert each.errors_of_ours == pytest.approx(0.03 / (0.01 / math.sqrt(8)))
    assert each.errors_of_theirs == pytest.approx(0.04 / 0.01)
    assert found(ours=0.87).errors_of_theirs is None
    assert found(ours=0.87, deviation=0.0).errors_of_ours == math.inf
    assert found(ours=0.9, deviation=0.0).errors_of_ours == 0.0


def test_scatter_hides_no_bias() -> None:
    """Five rows all 25 % low where theirs repeats within 18 % are judged after all; rows to both sides are not."""
    noisy = "repeats within 18 %"

    def delays(*parts: float) -> list[Finding]:
        return [
            found("queue_delay_mean", 0.9 * part, row=str(k), agrees=False, unjudged=noisy, noise=0.18 * 0.9)
            for k, part in enumerate(parts)
        ]

    low = delays(0.72, 0.75, 0.78, 0.74, 0.76)
    (bias,) = biases(low)
    assert bias.bias == pytest.approx(-25.0)
    assert bias.noise == pytest.approx(18.0, abs=0.1)
    assert bias.hidden
    assert [each.judged for each in settled(low)] == [True] * 5
    tally = findings.Tally.of([*settled(low), found(row="judged")])
    assert (tally.passed, tally.failed, tally.unjudged, list(tally.after_all)) == (1, 0, 0, [False] * 5)
    assert any(line.startswith("0 of 5 judged after all") for line in tally.lines())
    around = delays(0.75, 1.25, 0.75, 1.24)
    assert not biases(around)[0].hidden
    assert settled(around) == around
    # A biased family takes no other with it, and no other number of its own.
    others = [replace(each, family="A_fq2", row=f"{each.row}'") for each in around]
    more = [replace(each, number="loss_rate") for each in around]
    assert [each.judged for each in settled([*low, *others, *more])] == [True] * 5 + [False] * 8


def test_what_is_next_to_nothing_does_not_decide_over_a_family() -> None:
    """A bias is a part of the mean of theirs: 2 drops instead of 0 and 100 instead of 100 are no 100 %."""
    none = replace(found("loss_rate", 2e-6, row="a", unjudged="few", deviation=0.0), theirs=0.0)
    many = replace(found("loss_rate", 1e-4, row="b", unjudged="few", deviation=0.0), theirs=1e-4)
    (bias,) = biases([none, many])
    assert bias.bias == pytest.approx(2.0)
    (alone,) = biases([none])
    assert alone.bias is None
    assert not alone.hidden


@pytest.mark.parametrize(
    ("number", "theirs", "ours", "bias", "unit"),
    [("utilization", 0.5, 0.52, 2.0, "points"), ("depth_p05", 20.0, 14.0, -6.0, "packets")],
)
def test_differences_have_the_units_of_the_rule(
    number: str, theirs: float, ours: float, bias: float, unit: str
) -> None:
    (stated,) = biases([replace(found(number, ours, unjudged="noise"), theirs=theirs)])
    assert stated.bias == pytest.approx(bias)
    assert stated.unit == unit


def test_two_builds_differ_in_what_both_have_judged() -> None:
    before = [found(row="a"), found(row="b", agrees=False), found(row="c"), found(row="d", unjudged="noise")]
    after = [found(row="a", agrees=False), found(row="b"), found(row="c"), found(row="d", agrees=False), found(row="e")]
    assert [(change.after.row, change.better) for change in changes(before, after)] == [("a", False), ("b", True)]
    text = "\n".join(summary.compared(before, after))
    assert "1 better, 1 worse" in text
    assert not changes(after, after)


def test_findings_are_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    every = [found(), found("loss_rate", unjudged="few", mean=0.8, scatter=0.1, repeats=3), found(ours=None, why="no")]
    path = tmp_path / "found.json"
    findings.write(path, every, 8)
    assert findings.read(path) == every
    findings.write(path, [], 8)
    assert findings.read(path) == []


def test_the_manuals_tables_have_every_family_and_what_is_not_judged() -> None:
    every = [
        found(row="a"),
        found("loss_rate", row="a", agrees=False),
        found(row="b", family="B_sync", unjudged="hinges on the start", ours=0.8, agrees=False),
        found(row="c", family="B_sync"),
        replace(found(row="d"), kind="ns3", family="TcpCubic, 1 flow"),
    ]
    table = summary.shares_table(every).splitlines()
    assert "| ns-2.35 | A_fq | 1 of 2 | 50 % | 0 of 1 |" in table
    # 10 points off where runs scatter by one: judged after all, and counted apart.
    assert "| ns-2.35 | B_sync, judged after all | 0 of 1 | 0 % | 0 of 1 |" in table
    assert "| ns-2.35 | B_sync | 1 of 1 | 100 % | 1 of 1 |" in table
    assert "| ns-2.35 | **all** | 2 of 3 | 66 % | 1 of 2 |" in table
    assert any(line.startswith("| ns-3.48 | TcpCubic, 1 flow | 1 of 1 | 100 %") for line in table)
    assert "| ns-2.35 | B_sync | utilization | 1 | -10 ± 1 points | (judged after all) hinges on the start |" in (
        summary.unjudged_table(every).splitlines()
    )
