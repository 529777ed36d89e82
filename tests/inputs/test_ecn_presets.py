"""Published ECN settings by name, as values of a queue on the command line."""

from __future__ import annotations

import tomllib

import pytest

from forebay import Scenario, explain
from forebay.inputs.ecn_presets import ECN_PRESETS, with_presets
from forebay.sweeps.axes import Cell
from tests.support.lossless import PORT

#: Thresholds in bytes and the probability, from the files that each preset cites.
PUBLISHED = {
    "ecn-sonic": (1_048_576, 2_097_152, 0.05),
    "ecn-sonic-deep": (2_000_000, 10_000_000, 0.05),
    "ecn-onyx": (150_000, 1_500_000, 1.0),
    "ecn-alibaba-25g": (100_000, 400_000, 0.2),
    "ecn-alibaba-50g": (200_000, 800_000, 0.2),
    "ecn-alibaba-100g": (400_000, 1_600_000, 0.2),
    "ecn-alibaba-200g": (800_000, 3_200_000, 0.2),
    "ecn-alibaba-400g": (1_600_000, 6_400_000, 0.2),
}


def test_the_published_values_are_those_of_the_cited_files() -> None:
    assert set(ECN_PRESETS) == {*PUBLISHED, "ecn-off"}


@pytest.mark.parametrize("name", sorted(ECN_PRESETS))
def test_a_preset_replaces_the_queue_of_a_link(name: str) -> None:
    scenario = Scenario.parse(PORT, overrides=[f"link.queue={name}"])
    queue = next(link for link in scenario.resolved["links"] if link["target"])["queue"]
    assert Scenario.parse(PORT).changed(("over", "links.port.queue", name)).core.sha256 == scenario.core.sha256
    assert Cell(0, (("link.queue", name),)).of(Scenario.parse(PORT).core).sha256 == scenario.core.sha256
    table = tomllib.loads(f"queue = {ECN_PRESETS[name].table}")["queue"]
    assert table["kind"] == queue["kind"]
    if name == "ecn-off":
        assert queue == {"kind": "droptail"}
        return
    low, high, probability = PUBLISHED[name]
    same = f'{{ kind = "red", min = "{low}B", max = "{high}B", max_p = {probability}, weight = 1.0, gentle = false }}'
    spelled = Scenario.parse(PORT, overrides=[f"link.queue={same}", "link.queue.wait=false"])
    assert spelled.core.sha256 == scenario.core.sha256


def test_only_the_key_of_a_queue_takes_a_preset() -> None:
    changes = ["title=ecn-off", ("over", "link.buffer", "ecn-off"), ("over", "title=ecn-off"), "link.queue"]
    assert list(with_presets(changes)) == changes


def test_without_marks_a_lossless_port_pauses_longer_than_with_them() -> None:
    marked = Scenario.parse(PORT, overrides=["link.queue=ecn-onyx"]).run().metrics
    off = Scenario.parse(PORT, overrides=["link.queue=ecn-off"]).run().metrics
    assert marked["mark_rate"].mean > 0 == off["mark_rate"].mean
    assert off["pause_time_s"].mean > 2 * marked["pause_time_s"].mean


def test_explain_names_the_source_of_each_preset() -> None:
    assert {name: explain(name).source for name in ECN_PRESETS} == {
        name: preset.source for name, preset in ECN_PRESETS.items()
    }
