"""Intervals from one run, and the warning of phase effects."""

from __future__ import annotations

import json
import statistics as plain
from pathlib import Path

import pytest

from forebay import InputError, Scenario, _core
from forebay.measurement.batches import run_in_batches
from forebay.phase_effects import phase_effects
from forebay.scenario import run_jobs
from tests.support.commands import forebay
from tests.support.scenarios import SMALL

LONG = SMALL.replace('measure = "30s"', 'measure = "120s"').replace('rtt      = "40ms"', 'rtt = "43ms"')


def test_batch_means_agree_with_replications() -> None:
    """The half widths of single runs against the spread of forty: within a third on average, and covering."""
    scenario = Scenario.parse(LONG)
    reports = run_jobs([_core.Job(scenario.core, "packet", 3, replication) for replication in range(40)])
    for metric in ("utilization", "queue_mean_packets"):
        values = [report.metrics[metric].mean for report in reports]
        truth, spread = plain.fmean(values), plain.stdev(values)
        singles = [run_in_batches(scenario, seed=100 + seed).metrics[metric] for seed in range(20)]
        halves = [single.half_width or 0.0 for single in singles]
        # Student's t with 19 degrees of freedom: the half width is 2.09 standard errors.
        assert 0.67 < plain.fmean(halves) / (2.093 * spread) < 1.5
        covered = sum(abs(single.mean - truth) <= half for single, half in zip(singles, halves, strict=True))
        assert covered >= 16, f"{metric}: {covered} of 20"


def test_batches_change_no_mean_and_are_reported(small: Path) -> None:
    plainly = json.loads(forebay("run", small, "--replications", "1", "--json").out)
    batched = json.loads(forebay("run", small, "--batches", "10", "--json").out)
    assert batched["batches"] == 10
    assert batched["scenario_sha256"] == plainly["scenario_sha256"]
    for name, estimate in plainly["metrics"].items():
        assert batched["metrics"][name]["mean"] == estimate["mean"]
    with_intervals = {name for name, found in batched["metrics"].items() if found["half_width"] is not None}
    assert with_intervals == {"utilization", "queue_mean_packets", "queue_delay_mean_s"}
    assert "intervals from its 10 batches" in forebay("run", small, "--batches", "10").out


def test_wrong_numbers_of_batches(small: Path) -> None:
    for options in (["--batches", "4"], ["--batches", "10", "--replications", "2"]):
        answer = forebay("run", small, *options)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert "--batches: " in answer.err
    with pytest.raises(InputError, match="found 2000; allowed: a whole number from 5 to 1000"):
        run_in_batches(Scenario.parse(SMALL), batches=2000)


@pytest.mark.parametrize(
    ("change", "multiple"),
    [
        ((), 10),
        (("flows.bulk.rtt=43ms",), None),
        (("flows.bulk.rtt=44ms",), 11),
        (('flows.bulk.access.rate="10Mbps"',), None),
        (('flows.bulk.rtt={ value = "40ms", jitter = "1ms" }',), None),
        (("flows.bulk.packet=999B",), None),
        (('flows.bulk.workload={ finite = { size = "1MB" } }',), None),
    ],
)
def test_whole_packet_times_without_an_access_link_are_warned_of(change: tuple[str, ...], multiple: int | None) -> None:
    found = phase_effects(Scenario.parse(SMALL).changed(*change).core)
    assert len(found) == (multiple is not None)
    if multiple is not None:
        assert f"The round trip of group `bulk` is exactly {multiple} packet times" in found[0]


@pytest.mark.parametrize(
    ("change", "warned"),
    [
        (('flows.bulk.rtt={ linspace = ["40ms", "48ms"] }', "flows.bulk.count=3"), True),
        (('flows.bulk.rtt={ linspace = ["40.3ms", "48.3ms"] }', "flows.bulk.count=3"), True),
        (('flows.bulk.rtt=["41ms", "42ms", "45ms"]', "flows.bulk.count=3"), True),
        (('flows.bulk.rtt=["41ms", "42ms", "43ms"]', "flows.bulk.count=3"), False),
        (('flows.bulk.rtt={ linspace = ["40.13ms", "48.07ms"] }', "flows.bulk.count=3"), False),
        (('flows.bulk.rtt={ linspace = ["40ms", "48ms"], jitter = "4ms" }', "flows.bulk.count=3"), False),
        (('flows.bulk.rtt={ uniform = ["40ms", "48ms"] }', "flows.bulk.count=3"), False),
    ],
)
def test_listed_round_trips_whole_packet_times_apart_are_warned_of(change: tuple[str, ...], warned: bool) -> None:
    alone = SMALL.replace('workload = { poisson = { rate = "1Mbps" } }', 'rtt = "39ms"')
    found = phase_effects(Scenario.parse(alone).changed(*change).core)
    assert [("differ" in line, "packet times (4.00 ms)" in line) for line in found] == [(True, True)] * warned


def test_other_traffic_and_many_flows_break_ties() -> None:
    many = SMALL.replace('workload = { poisson = { rate = "1Mbps" } }', 'count = 20\nrtt = "39ms"')
    few = ('flows.bulk.rtt=["41ms", "45ms"]', "flows.bulk.count=2")
    assert not phase_effects(Scenario.parse(many).changed(*few).core)
    apart = ('flows.bulk.rtt={ linspace = ["40ms", "48ms"] }', "flows.bulk.count=3")
    assert not phase_effects(Scenario.parse(SMALL).changed(*apart).core)


def test_the_warning_reaches_reports(small: Path) -> None:
    warnings = json.loads(forebay("run", small, "--json").out)["warnings"]
    assert sum("phase effect" in warning for warning in warnings) == 1
    # A search says what a twin with hosts that vary gives.
    searched = json.loads(forebay("recommend", small, "--no-picture", "--json").out)
    assert searched["varied_hosts"]["runs"] > 0
    assert sum("varied_hosts" in warning or "varying hosts" in warning for warning in searched["warnings"]) == 1
    fluid = json.loads(forebay("run", small, "--engine", "fluid", "--json").out)
    assert not any("phase effect" in warning for warning in fluid["warnings"])
