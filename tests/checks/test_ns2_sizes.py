"""ns-2.35's agents at other sizes than those of the reference rows: a rule that was fitted to those shows here."""

from __future__ import annotations

import statistics
from collections import defaultdict
from pathlib import Path

import pytest

from checks.rows import Row, read_folder
from forebay import _core
from forebay.scenario import Scenario, run_jobs
from tests.support.paths import ROOT

FOLDER = ROOT / "tests" / "ns2"

#: Tolerances, of utilization in points and of the others relative: the difference of ns-2's two seeds, and a margin.
WITHIN = {"utilization": 0.03, "queue_mean_packets": 0.25, "loss_rate": 0.40}


def families(folder: Path) -> dict[str, list[Row]]:
    """The rows of each scenario, whose seeds differ."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in read_folder(folder, "ns2"):
        assert isinstance(row, Row), row
        found[row.label.rsplit(" seed=", 1)[0]].append(row)
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("label", sorted(families(FOLDER)))
def test_agents_agree_at_other_sizes(label: str) -> None:
    rows = families(FOLDER)[label]
    assert len(rows) == 2
    core = Scenario.of(rows[0].tables).core
    reports = list(run_jobs([_core.Job(core, "packet", 1, replication) for replication in range(2)], None))
    for number, other in zip(rows[0].numbers, rows[1].numbers, strict=True):
        theirs = statistics.fmean([number.theirs, other.theirs])
        ours = statistics.fmean(report.metrics[number.metric].mean for report in reports)
        share = 1.0 if number.metric == "utilization" else theirs
        assert abs(ours - theirs) <= WITHIN[number.metric] * share, (
            f"{label} {number.metric}: {ours} ours, {theirs} theirs"
        )
