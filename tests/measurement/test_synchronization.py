"""The count law that the packet engine hands to the fluid engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay import Scenario
from forebay.errors import InputError
from forebay.measurement.synchronization import fit_synchronization, flows_hit, thin
from tests.support.commands import forebay

FOUR = """\
[link]
rate   = "20Mbps"
buffer = "30p"

[[flows]]
name     = "background"
count    = 2
packet   = "500B"
workload = { poisson = { rate = "2Mbps" } }

[[flows]]
name     = "bulk"
count    = 4
cca      = "newreno"
rtt      = { linspace = ["35ms", "50ms"] }
packet   = "1000B"

[run]
warmup  = "5s"
measure = "60s"
replications = 2
"""


def test_drops_within_a_round_trip_are_one_event() -> None:
    assert flows_hit([(0.0, 1), (0.05, 1), (0.12, 2), (0.3, 2)], 0.1) == [2, 1]
    assert flows_hit([], 0.1) == []
    assert flows_hit([(1.0, 7), (1.1, 8)], 0.1) == [1, 1]


def test_thinning_keeps_the_quantiles() -> None:
    assert thin([1, 2, 3], 3) == [1, 2, 3]
    assert thin(list(range(100)), 4) == [12, 37, 62, 87]


def test_the_fit_is_what_the_packet_engine_reports() -> None:
    scenario = Scenario.parse(FOUR)
    fit = fit_synchronization(scenario, replications=1)
    report = scenario.run("packet", replications=1)
    assert fit.flows == 4
    assert fit.fraction == pytest.approx(report.metrics["synchronization"].mean, abs=1e-12)
    assert set(fit.counts) <= {1, 2, 3, 4}
    options = fit.scenario.resolved["fluid"]
    assert options["law"] == "empirical"
    assert options["empirical"] == fit.counts
    # The fluid engine then draws from that law.
    drawn = fit.scenario.run("fluid", replications=20).metrics["synchronization"]
    assert drawn.half_width is not None
    assert abs(drawn.mean - fit.fraction) < 2 * drawn.half_width + 0.01
    assumed = scenario.run("fluid", replications=20).metrics["synchronization"]
    assert abs(drawn.mean - fit.fraction) < abs(assumed.mean - fit.fraction)


def test_without_events_or_flows_there_is_nothing_to_fit() -> None:
    with pytest.raises(InputError, match="no congestion event"):
        fit_synchronization(Scenario.parse(FOUR, overrides=["link.buffer=100000p", "run.measure=1s"]))
    background = FOUR[: FOUR.index('[[flows]]\nname     = "bulk"')] + FOUR[FOUR.index("[run]") :]
    with pytest.raises(InputError, match="no persistent flows"):
        fit_synchronization(Scenario.parse(background))


def test_the_command_fits_for_the_fluid_engine_only(tmp_path: Path) -> None:
    file = tmp_path / "four.toml"
    file.write_text(FOUR, encoding="utf-8")
    answer = forebay("run", file, "--engine", "fluid", "--fit-synchronization", "--json")
    assert answer.code == 0
    assert "congestion events of the packet engine" in answer.err
    assert "synchronization" in json.loads(answer.out)["metrics"]
    refused = forebay("run", file, "--fit-synchronization")
    assert refused.code == 2
    assert "with --engine fluid" in refused.err
