"""The scenarios that come with forebay: each teaches something, is answered in reasonable time, and runs."""

from __future__ import annotations

import itertools
import json
import math
import re
import statistics
from pathlib import Path

import pytest

from checks.traces import lte
from forebay import Scenario
from tests.support.commands import forebay
from tests.support.paths import ROOT

FILES = sorted((ROOT / "scenarios").glob("*.toml"))

#: Situations that the collection has to have, by file name.
SITUATIONS = (
    "dsl-access",
    "cable-access",
    "fiber-access",
    "campus-uplink",
    "backbone-10g",
    "backbone-100g",
    "backbone-400g",
    "datacenter-leaf",
    "ixp-port",
    "satellite",
    "cellular",
    "lab-dumbbell",
    "cubic-and-bbr",
    "open-loop-web",
    "video-and-bulk",
    "science-dmz",
    "leo",
    "rain-fade",
    "lte-downlink",
    "5g-downlink",
    "home-wifi",
    "docsis-upstream",
    "shaped-access",
    "policed-transit",
    "ai-fabric-400g",
    "storage-roce-100g",
    "leaf-incast-dctcp",
)


def test_every_situation_is_there() -> None:
    assert set(SITUATIONS) <= {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_says_what_it_teaches(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    top = " ".join(
        line.removeprefix("#").strip() for line in lines[: next(i for i, x in enumerate(lines) if x[:1] != "#")]
    )
    assert len(re.findall(r"[.!?](?:\s|$)", top)) >= 2, top
    scenario = Scenario.load(path)
    assert scenario.title
    assert scenario.goals
    assert scenario.core.replications >= 4


@pytest.mark.sampled(9)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_short_run_works(path: Path) -> None:
    """About a hundred thousand packets of it."""
    scenario = Scenario.load(path)
    seconds = 1e5 * scenario.core.packet_bytes * 8 / scenario.core.rate_bps
    # Some tens of round trips at least: on the fast and long links a hundred thousand packets are less.
    harmonic = (scenario.core.bdp_packets or 0) * scenario.core.packet_bytes * 8 / scenario.core.rate_bps
    seconds = max(seconds, 40 * harmonic)
    change = ["--set", f"run.warmup={seconds / 4:.6f}s", "--set", f"run.measure={seconds:.6f}s"]
    answer = forebay("run", path, "--replications", "1", "--json", *change)
    assert answer.code == 0, answer.err
    report = json.loads(answer.out)
    assert 0.05 < report["metrics"]["utilization"]["mean"] <= 1.0
    assert 0.0 <= report["metrics"]["loss_rate"]["mean"] < 0.3
    assert report["cost"]["data_packets"] > 1000
    names = [group["name"] for group in report["groups"]]
    assert names == [group[0] for group in scenario.core.groups]


def test_traces_are_those_of_their_models() -> None:
    """The recorded rates equal a new draw from their source, and have the properties that the source states."""
    text = (ROOT / "scenarios" / "lte.csv").read_text(encoding="utf-8")
    assert text == lte()
    rates = [float(line.split(",")[1]) / 12 for line in text.splitlines()[1:]]
    assert len(rates) == 1200
    assert min(rates) == 0
    assert max(rates) <= 1000
    # A Brownian motion of 200 packets/s per root second: away from its ends a tenth of a second moves it by 63.
    moves = [b - a for a, b in itertools.pairwise(rates) if 200 < a < 800]
    assert statistics.stdev(moves) == pytest.approx(200 / math.sqrt(10), rel=0.1)
    assert abs(statistics.fmean(moves)) < 3 * 63 / math.sqrt(len(moves))
