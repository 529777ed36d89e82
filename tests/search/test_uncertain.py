"""Uncertain numbers of flows and round trips: drawn by every replication, answered for a share of the draws."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay import InputError, Scenario, _core, recommend
from forebay.scenario import run_jobs
from forebay.search.sensitivity import vary
from forebay.text.formatting import confidence
from tests.support.commands import forebay

TEXT = """\
title = "Nobody knows how many"

[link]
rate   = "10Mbps"
buffer = "0.5BDP"

[[flows]]
name   = "long"
count  = { poisson = 6 }
rtt    = { common = { uniform = ["20ms", "60ms"] } }
packet = "1000B"
start  = { uniform = ["0s", "1s"] }
access = { rate = "100Mbps" }

[run]
warmup  = "3s"
measure = "10s"

[goal]
utilization     = ">= 97%"
queue_delay_p99 = "<= 90ms"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "uncertain.toml"
    found.write_text(TEXT, encoding="utf-8")
    return found


def test_replications_draw_and_reports_speak_of_what_was_asked(path: Path) -> None:
    scenario = Scenario.load(path)
    assert scenario.core.uncertain
    assert not scenario.changed("flows.long.count=6", "flows.long.rtt=40ms").core.uncertain
    reports = []
    for jobs in (1, 2):
        report = json.loads(forebay("run", path, "--json", "--replications", "8", "--jobs", str(jobs)).out)
        del report["cost"]
        reports.append(report)
    assert reports[0] == reports[1]
    assert reports[0]["scenario_sha256"] == scenario.core.sha256
    assert reports[0]["groups"][0]["flows"] == 6
    assert reports[0]["buffer"]["bdp"] == pytest.approx(0.5, abs=1e-3)
    work = [_core.Job(scenario.core, "packet", 1, replication) for replication in range(8)]
    drawn = [len(report.groups[0].per_flow) for report in run_jobs(work)]
    assert len(set(drawn)) > 3, drawn
    assert 1 <= min(drawn) < 6 < max(drawn) <= 20


@pytest.mark.long
def test_a_share_of_the_draws(path: Path) -> None:
    average = recommend(Scenario.load(path))
    most = recommend(Scenario.load(path), fraction=0.9)
    assert average.packets is not None
    assert most.packets is not None
    assert most.packets >= average.packets
    share = most.data["fraction"]
    assert share["required"] == 0.9
    assert share["at_least"] >= 0.9
    assert share["met_replications"] / share["replications"] > 0.9
    assert most.data["confidence"] >= 0.95
    assert all(
        goal["replications"] == share["replications"] >= goal["met_replications"] >= share["met_replications"]
        for goal in most.data["goals"].values()
    )
    answer = forebay("recommend", path, "--fraction", "90%", "--no-picture", "--report", path.with_suffix(".html"))
    assert answer.code == 0, answer.err
    bound = confidence(share["at_least"])
    assert f"({most.packets} packets of 1000 B" in answer.out
    assert (
        f"{share['met_replications']} of {share['replications']} fresh replications meet all goals together. "
        "The true share is at least "
        f"{bound}" in answer.out
    )
    page = path.with_suffix(".html").read_text(encoding="utf-8")
    assert f"met in {share['met_replications']} of {share['replications']} runs" in page
    assert "In each replication, all buffers get the same random traffic." in page
    assert "6 on average (Poisson)" in page
    assert "20 ms to 60 ms, the same for all" in page


def test_uncertain_numbers_can_be_varied(path: Path) -> None:
    more = vary(Scenario.load(path), "flows", 1.5)
    assert more is not None
    assert more.resolved["flows"][0]["count"] == {"poisson": 9.0}
    ranged = vary(Scenario.parse(TEXT.replace("poisson = 6", "uniform = [4, 10]")), "flows", 1.5)
    assert ranged is not None
    assert ranged.resolved["flows"][0]["count"] == {"uniform": [6, 15]}
    longer = vary(Scenario.load(path), "rtt", 1.5)
    assert longer is not None
    assert longer.resolved["flows"][0]["rtt"] == {"common": {"uniform": ["30ms", "90ms"]}}


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        ("{ poisson = 6 }", "{ poisson = -1 }", "uncertain.toml:9: flows[0].count.poisson: found `-1`; allowed: "),
        (
            "{ poisson = 6 }",
            "{ uniform = [6] }",
            "uncertain.toml:9: flows[0].count.uniform: found a list of 1; allowed",
        ),
        ("{ poisson = 6 }", '"some"', "uncertain.toml:9: flows[0].count: found `some`; allowed: a whole number from 1"),
        ('{ common = { uniform = ["20ms", "60ms"] } }', '["20ms"]', "no list if the count is random"),
        ('{ uniform = ["20ms", "60ms"] }', '{ uniform = ["60ms", "20ms"] }', "the smaller first"),
    ],
)
def test_mistakes_are_one_line(path: Path, before: str, after: str, complaint: str) -> None:
    path.write_text(TEXT.replace(before, after), encoding="utf-8")
    answer = forebay("run", path)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert complaint in answer.err


def test_the_share_has_bounds(path: Path) -> None:
    for fraction in ("100%", "0", "nine"):
        answer = forebay("recommend", path, "--fraction", fraction)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert f"found {fraction}" in answer.err.replace("`", "").replace("found 1;", "found 100%;")
    with pytest.raises(InputError, match=r"fraction: found 1; allowed: 0\.05 to 0\.999"):
        recommend(Scenario.load(path), fraction=1.0)
