"""Classes of traffic: the manual's example, what each group waits, and buffers by their keys."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from forebay import Scenario
from forebay.errors import InputError
from tests.support.commands import forebay
from tests.support.paths import ROOT

DELAYS = tuple(f"queue_delay_{part}_s" for part in ("mean", "p50", "p95", "p99", "max"))


@pytest.fixture(name="example")
def _example(tmp_path: Path) -> Path:
    """The scenario that the manual explains classes with."""
    page = (ROOT / "docs/reference/links.md").read_text(encoding="utf-8")
    section = page.split("\n## Classes\n", 1)[1]
    code = section[: section.index("\nA router's port")]
    path = tmp_path / "example.toml"
    path.write_text(textwrap.dedent(code), encoding="utf-8")
    return path


def _groups(path: Path, *options: str) -> dict[str, dict[str, float]]:
    answer = forebay("run", path, "--json", *options)
    assert answer.code == 0, answer.err
    report = json.loads(answer.out)
    return {
        group["name"]: {name: value["mean"] for name, value in group["metrics"].items()} for group in report["groups"]
    }


def test_the_manuals_example_does_what_the_manual_says(example: Path) -> None:
    groups = _groups(example)
    for group in groups.values():
        delays = [group[name] for name in DELAYS]
        assert delays[1] <= delays[2] <= delays[3] <= delays[4]
        assert 0 < delays[0] <= delays[4]
    # The calls wait for one packet of 1500 bytes at 20 Mb/s, and for one another.
    assert groups["calls"]["queue_delay_p99_s"] < 0.001
    assert groups["calls"]["loss_rate"] == 0
    # The class of the web has 50 ms of the link's rate, of which it is sure of three quarters.
    assert groups["web"]["queue_delay_max_s"] < 0.05 / 0.75 * 1.1
    assert groups["copies"]["queue_delay_mean_s"] > groups["web"]["queue_delay_mean_s"]


def test_priority_is_strict_classes(example: Path) -> None:
    strict = 'link.queue={ kind = "classes", classes = [{ name = "a", groups = ["calls"] }, { name = "b" }] }'
    assert _groups(example, "--set", strict) == _groups(example, "--set", "link.queue=priority")


def test_a_classs_buffer_is_set_and_sized_by_its_key(example: Path) -> None:
    scenario = Scenario.load(example)
    keys = scenario.core.buffer_keys
    assert keys == ["link.buffer", *(f"link.queue.classes.{name}.buffer" for name in ("voice", "web", "rest"))]
    voice = keys[1]
    # Packets of 200 bytes wait there.
    assert scenario.core.buffer_of(voice)["bytes"] == 4000
    changed = Scenario.load(example, [f"{voice}=7p"])
    assert changed.core.sha256 == scenario.core.with_buffer(voice, 7).sha256
    assert changed.core.buffer_of(voice)["packets"] == 7
    assert scenario.core.with_packets(9).sha256 == scenario.core.with_buffer("link.buffer", 9).sha256
    with pytest.raises(InputError, match="vioce"):
        scenario.core.with_buffer("link.queue.classes.vioce.buffer", 7)
    # A call loses where its class has no room, whatever the others have.
    losses = _groups(example, "--set", f"{voice}=0p")
    assert losses["calls"]["loss_rate"] > 0.1
    assert _groups(example, "--set", f"{voice}=200p")["calls"]["loss_rate"] == 0


@pytest.mark.parametrize(("most", "code"), [("1ms", 1), ("300ms", 0)])
def test_a_goal_on_a_groups_delay_decides(example: Path, most: str, code: int) -> None:
    """Two copies that keep their part of the link busy wait in their own queue, or do without."""
    goals = ("--goal", "utilization>=95%", "--goal", f"copies.queue_delay_mean<={most}")
    answer = forebay("recommend", example, "--json", "--no-picture", *goals, "--set", "run.measure=8s")
    assert answer.code == code, answer.err
    assert "copies.queue_delay_mean" in json.loads(answer.out)["goals"]


def test_what_cannot_be_is_refused_in_a_line(example: Path) -> None:
    for change, key in (
        ('link.queue.classes.voice.groups=["cals"]', "did you mean `calls`?"),
        ("link.queue.classes.vioce.buffer=4p", "did you mean `voice`?"),
        ("link.queue.schedule=fair", "link.queue.schedule"),
        ("link.queue=classes", "link.queue"),
    ):
        answer = forebay("run", example, "--set", change)
        assert answer.code == 2
        assert key in answer.err
        assert len(answer.err.strip().splitlines()) == 1, answer.err
    answer = forebay("run", example, "--engine", "fluid", "--set", "flows.web.workload=persistent")
    assert "queue `classes`" in answer.err
    assert forebay("explain", "link.queue.classes.weight").code == 0
