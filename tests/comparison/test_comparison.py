"""`compare`: the fluid engine follows the packet engine within its stated bounds, and where it does not, why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay import Scenario
from forebay.comparison.agreement import agreement
from forebay.comparison.answers import Answer
from forebay.comparison.comparison import FITTED, buffers, compare
from forebay.results.report import Estimate
from tests.support.commands import forebay
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL

SHARED = sorted((ROOT / "scenarios" / "fluid-and-packet").glob("*.toml"))
#: Shorter than the files say: 400 Mb/s are 50,000 packets a second.
MEASURE = {"hstcp-four": "80s", "cubic-four": "80s", "htcp-four": "80s", "scalable-four": "80s"}


def test_ten_scenarios_are_shared() -> None:
    assert len(SHARED) == 10


@pytest.mark.sampled(2)
@pytest.mark.parametrize("file", SHARED, ids=lambda file: file.stem)
def test_the_fitted_fluid_stays_within_its_bounds(file: Path) -> None:
    scenario = Scenario.load(file, [f"run.measure={MEASURE.get(file.stem, '150s')}"])
    found = compare(scenario, replications=6, points=0)  # phases differ from one to the next
    rows = [row for row in found.agreement if row.engine == FITTED]
    assert [row.metric for row in rows] == ["utilization", "loss_rate", "queue_mean_packets"]
    for row in rows:
        assert row.expected, row.why
        assert row.agrees, row


def test_a_buffer_too_small_for_bursts_is_a_disagreement_that_pacing_removes() -> None:
    # The fluid's senders are paced. Unpaced ones lose most of the link where the buffer holds a fraction of a window.
    small = ["link.buffer=0.02BDP", "run.measure=120s"]
    found = compare(Scenario.load(SHARED[0].with_name("aimd-four.toml"), small), replications=2, points=0)
    row = next(row for row in found.agreement if row.engine == FITTED)
    assert not row.expected
    assert "fair window" in row.why
    assert row.difference is not None
    assert row.difference > 20
    gaps = [gap for gap in found.disagreements if gap.between == ("packet", FITTED)]
    assert any("arrive evenly" in each.assumption for gap in gaps for each in gap.assumptions)
    paced = Scenario.load(SHARED[0].with_name("aimd-four.toml"), [*small, "flows.aimd.pacing=true"])
    repeated = compare(paced, replications=2, points=0)
    gap = next(row for row in repeated.agreement if row.engine == FITTED).difference
    assert gap is not None
    assert abs(gap) < 5
    fluid = repeated.answer("fluid")
    assert fluid is not None
    assert next(each for each in fluid.assumptions if "arrive evenly" in each.assumption).holds == "yes"


def test_the_judgment_is_arithmetic() -> None:
    def answer(name: str, utilization: float, loss: float, queue: float) -> Answer:
        metrics = {"utilization": utilization, "loss_rate": loss, "queue_mean_packets": queue}
        return Answer(name, "engine", True, "", (), {key: Estimate(value) for key, value in metrics.items()})

    scenario = Scenario.parse(SMALL)  # a buffer of 20 packets
    rows = agreement(scenario, [answer("packet", 0.9, 1e-3, 10.0), answer("fluid", 0.93, 3e-4, 11.0)])
    assert [row.agrees for row in rows] == [False, True, True]
    assert [row.difference for row in rows] == pytest.approx([3.0, 1e-3 / 3e-4, 0.05])
    none = agreement(scenario, [answer("packet", 0.9, 0.0, 10.0), answer("fluid", 0.9, 1e-5, 10.0)])
    assert none[1].agrees is None
    assert agreement(scenario, [answer("fluid", 0.9, 0.0, 1.0)]) == []


def test_the_range_is_logarithmic_and_leaves_out_the_own_buffer() -> None:
    scenario = Scenario.parse(SMALL)  # 10 packets are a BDP; 20 wait
    found = buffers(scenario, 5)
    assert found == sorted(set(found))
    assert found[0] == 1
    assert all(abs(packets - 20) > 2 for packets in found)
    assert buffers(scenario, 0) == []


def test_the_command_leaves_a_picture_and_names_assumptions(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL, encoding="utf-8")
    answer = forebay("compare", file, "--points", "3", "--out", tmp_path)
    assert answer.code == 0, answer.err
    assert "Difference between the fluid and the packet engine" in answer.out
    assert "other traffic has a constant rate" in answer.out
    for suffix in (".png", ".svg", ".json"):
        assert (tmp_path / f"small-comparison{suffix}").stat().st_size > 1000
    data = json.loads((tmp_path / "small-comparison.json").read_text(encoding="utf-8"))
    assert len(data["curve"]) >= 3
    packets = [point["buffer"]["packets"] for point in data["curve"]]
    assert packets == sorted(packets)
    assert all({"packet", "fluid"} <= set(point["answers"]) for point in data["curve"])
    title = (tmp_path / "small-comparison.svg").read_text(encoding="utf-8")
    assert "<svg" in title


def test_what_the_fluid_cannot_run_is_listed_with_its_reason(tmp_path: Path) -> None:
    transfers = SMALL.replace('cca      = "newreno"', 'cca = "newreno"\nworkload = { finite = { size = "100kB" } }')
    file = tmp_path / "transfers.toml"
    file.write_text(transfers, encoding="utf-8")
    answer = forebay("compare", file, "--points", "2", "--out", tmp_path)
    assert answer.code == 0, answer.err
    assert "fluid does not apply" in answer.out
    assert "finite" in answer.out


def test_each_fluid_is_asked_about_its_own_background() -> None:
    found = compare(Scenario.parse(SMALL), replications=2, points=0)
    assumed = {answer.name: {each.assumption for each in answer.assumptions} for answer in found.answers}
    assert "other traffic has a constant rate" in assumed["fluid"]
    assert "other traffic has a constant rate" not in assumed[FITTED]
    assert "other traffic varies from round trip to round trip only" in assumed[FITTED]
