"""Rows of ns-2 that the project makes: round trips off phase, and the judgment of rows on and off phase apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from checks.findings import Finding
from checks.ns2_rows import Run, off_phase, row_of, runs_of
from checks.phases import Seeds, by_phase, largest_allowed, on_phase, unsteady
from checks.rows import READERS, Row, read_folder
from checks.summary import phase_lines
from forebay.errors import InputError
from forebay.scenario import Scenario
from tests.support.paths import ROOT

SCENARIOS = ROOT / "tests" / "ns2" / "offphase" / "scenarios.toml"

#: 1500 bytes at 50 Mb/s.
PACKET_S = 240e-6


@pytest.mark.parametrize(("parts", "on"), [(208.0, True), (208.5, True), (208.25, False), (208.99, False)])
def test_whole_and_half_transmission_times_are_on_phase(parts: float, on: bool) -> None:
    assert on_phase(parts * PACKET_S, PACKET_S) == on


def test_off_phase_round_trips_are_near_and_apart() -> None:
    """Less than two transmission times away, neither whole nor half, and no two of twenty at one part."""
    rtts = [0.03 + 0.002 * index for index in range(20)]
    moved = off_phase(rtts, PACKET_S)
    assert all(abs(after - before) < 2 * PACKET_S for before, after in zip(rtts, moved, strict=True))
    parts = sorted((rtt / PACKET_S) % 0.5 for rtt in moved)
    assert parts[0] > 0.025
    assert parts[-1] < 0.475
    parts = sorted((rtt / PACKET_S) % 1.0 for rtt in moved)
    assert min(after - before for before, after in pairwise(parts)) > 0.01


def test_chosen_scenarios_are_off_phase_and_of_many_kinds() -> None:
    runs = list(runs_of(SCENARIOS))
    assert len({run.experiment for run in runs}) >= 30
    assert {run.given["seed"] for run in runs} == {1, 2, 3}
    for run in runs:
        row = _read(run)
        assert row.phase == "off", row.label
        Scenario.of(row.tables)


def _read(run: Run) -> Row:
    result = {"utilization": 1.0, "loss_rate": 0.1, "mean_queue_pkts": 3.0, "drops_pkts": 99, "mean_flow_pkts": 85.69}
    row = READERS["ns2"]({"experiment": run.experiment, "given": run.given, "result": result})
    assert isinstance(row, Row)
    return row


def test_flows_of_both_ways_share_two_links() -> None:
    run = next(run for run in runs_of(SCENARIOS) if run.experiment == "P_reverse_sack")
    tables = _read(run).tables
    forward, backward = tables["links"]
    assert (forward["name"], forward["target"], forward["buffer"]) == ("forward", True, backward["buffer"])
    ways = [(group["path"], group["reverse"], group["count"]) for group in tables["flows"]]
    assert ways == [(["forward"], ["backward"], 4), (["backward"], ["forward"], 3)]


def test_a_row_has_what_ns_printed() -> None:
    given = {"wire_bytes": 1500, "duration_s": 110, "warmup_s": 10, "cc": "sack,sack", "seed": 1}
    printed = (
        "cmd select_ca htcp\nutilization 0.91234567\nloss_rate 0.00123456\narrivals_pkts 900\ndrops_pkts 9\n"
        "mean_queue_pkts 7.12345\nack_ 1000 2000\nnrexmit_ 1 2\nevents 8\n"
    )
    row = row_of(Run("P_x", given), printed, "2.35")
    assert row["given"] == given
    assert row["result"] == {
        "utilization": 0.912346,
        "loss_rate": 0.0012346,
        "arrivals_pkts": 900,
        "drops_pkts": 9,
        "mean_queue_pkts": 7.123,
        "flow_timeouts": [1, 2],
        "congestion_events": 8,
        "flow_goodput_bps": [120000, 240000],
    }


def test_a_bad_controller_is_refused(tmp_path: Path) -> None:
    text = SCENARIOS.read_text(encoding="utf-8").replace('"4 newreno"', '"four newreno"', 1)
    bad = tmp_path / "scenarios.toml"
    bad.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="four newreno"):
        list(runs_of(bad))


STEADY = Finding(
    "ns2", "P", "P seed=1", "loss_rate", 0.01, ours=0.01, allowed=0.002, agrees=True, range=0.002, phase="off"
)


def test_a_row_is_exempt_if_its_seeds_differ_by_more_than_the_tolerance() -> None:
    def reasons(*findings: Finding) -> tuple[Seeds, ...]:
        return unsteady(findings[:1], largest_allowed(findings))

    assert reasons(STEADY) == ()
    wide = replace(STEADY, range=0.0021)
    assert reasons(wide) == (Seeds("loss_rate", 0.0021, 0.002),)
    assert reasons(replace(wide, range=None)) == ()
    other = replace(wide, row="P seed=2", allowed=0.0022)
    assert reasons(wide, other) == (), "the tolerance of any seed counts"
    assert reasons(wide, replace(other, mean=0.02)) != (), "unless that is another scenario"


def test_shares_are_counted_by_phase_without_exempt_rows() -> None:
    findings = [
        STEADY,
        replace(STEADY, number="utilization"),
        replace(STEADY, row="Q", agrees=False),
        replace(STEADY, row="Q", number="utilization"),
        replace(STEADY, row="R", range=0.1, agrees=False),
        replace(STEADY, row="R", number="utilization"),
        replace(STEADY, row="S", phase="on"),
        replace(STEADY, row="T", phase=""),
        replace(STEADY, row="U", unjudged="fewer than 30 drops"),
    ]
    on, off = by_phase(findings)
    assert (on.phase, on.agreed, on.numbers, on.agreed_rows, on.rows, on.exempt) == ("on", 1, 1, 1, 1, ())
    assert (off.phase, off.agreed, off.numbers, off.agreed_rows, off.rows) == ("off", 3, 4, 1, 2)
    assert [(label, agreed, numbers) for label, agreed, numbers, _ in off.exempt] == [("R", 1, 2)]
    text = "\n".join(phase_lines([on, off]))
    assert "off phase: 3 of 4 (75.0 %) numbers, 1 of 2 (50.0 %) whole rows" in text
    assert "R (1 of 2 agree): loss_rate by 0.1 of 0.002" in text


def test_the_project_s_own_rows_are_off_phase_and_the_reference_s_are_not() -> None:
    own = [row for row in read_folder(ROOT / "tests" / "ns2", "ns2") if isinstance(row, Row)]
    assert {row.phase for row in own} == {"off"}
    reference = [row for row in read_folder(ROOT / "tests" / "reference", "ns2") if isinstance(row, Row)]
    assert {row.family for row in reference if row.phase == "off"} == {"B_packet540"}
