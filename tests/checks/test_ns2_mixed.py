"""New Reno beside HSTCP over Poisson traffic: losses and shares as in ns-2.35, without a bias over all scenarios."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from typing import Any

import pytest

from checks.rows import Row, read_folder
from forebay import _core
from forebay.scenario import Scenario, run_jobs
from tests.support.paths import ROOT

FOLDER = ROOT / "tests" / "ns2" / "mixed"

#: Largest relative difference of the loss rate in one scenario, and of its mean over all: about three standard errors.
ONE, MEAN = 0.20, 0.05

#: The same for New Reno's share of what all flows carry, as a difference.
ONE_SHARE, MEAN_SHARE = 0.10, 0.025


def share(row: dict[str, Any]) -> float:
    """New Reno's share of what the flows of a row carry."""
    rates = row["result"]["flow_goodput_bps"]
    names = row["given"]["cc"].split(",")
    return float(sum(rate for rate, name in zip(rates, names, strict=True) if name == "newreno") / sum(rates))


@pytest.mark.long
def test_mixed_controllers_lose_and_share_as_in_ns2() -> None:
    given = [json.loads(line) for line in (FOLDER / "ns2.jsonl").read_text(encoding="utf-8").splitlines()]
    scenarios: dict[str, list[tuple[Row, dict[str, Any]]]] = defaultdict(list)
    for row, other in zip(read_folder(FOLDER, "ns2"), given, strict=True):
        assert isinstance(row, Row), row
        scenarios[row.label.rsplit(" seed=", 1)[0]].append((row, other))
    assert len(scenarios) == 17
    losses, shares = {}, {}
    for label, rows in scenarios.items():
        assert len(rows) == 4
        core = Scenario.of(rows[0][0].tables).core
        reports = list(run_jobs([_core.Job(core, "packet", 1, replication) for replication in range(2)], None))
        ours = statistics.fmean(report.metrics["loss_rate"].mean for report in reports)
        losses[label] = ours / statistics.fmean(other["result"]["loss_rate"] for _, other in rows) - 1.0
        carried = [{group.name: group.goodput_bps.mean for group in report.groups} for report in reports]
        part = statistics.fmean(each["newreno"] / (each["newreno"] + each["hstcp"]) for each in carried)
        shares[label] = part - statistics.fmean(share(other) for _, other in rows)
    assert all(abs(difference) < ONE for difference in losses.values()), losses
    assert abs(statistics.fmean(losses.values())) < MEAN, losses
    assert all(abs(difference) < ONE_SHARE for difference in shares.values()), shares
    assert abs(statistics.fmean(shares.values())) < MEAN_SHARE, shares
