"""`check` names the limit of a switch's port that drops packets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay import CheckReport, Scenario, check
from tests.support.commands import forebay
from tests.support.lossless import PORT

NAMES = ["queue", "port", "pool", "headroom"]
#: Changes after which one limit is far below the others.
BINDING = {
    "queue": ("link.memory_alpha=0.03125",),
    "port": ("link.buffer=300kB",),
    "pool": ("memories.chip.size=600kB", "link.memory_alpha=128"),
    "headroom": ("link.pfc.headroom=30kB",),
}


def judged(*changes: str) -> CheckReport:
    return check(Scenario.parse(PORT, overrides=changes), goals=["loss_rate<=0"])


@pytest.mark.parametrize("name", NAMES)
def test_the_limit_that_is_far_below_the_others_binds(name: str) -> None:
    report = judged(*BINDING[name])
    limits = report.buffers[0].limits
    assert report.verdict == "missed"
    assert [each.name for each in limits] == NAMES
    assert [each.name for each in limits if each.binds] == [name]
    binding = next(each for each in limits if each.binds)
    assert binding.loss_without < binding.loss_rate
    # Equal random streams: a limit that never acts leaves the loss exactly as it is.
    idle = [each for each in limits if each.name not in (name, "pool", "queue")]
    assert all(each.loss_without == each.loss_rate for each in idle)


def test_without_loss_no_limit_binds_and_no_run_is_repeated() -> None:
    report = judged()
    assert report.buffers[0].limits == ()
    assert "limits" not in report.buffers[0].to_dict()
    assert report.cost.replications == report.buffers[0].runs


def test_a_link_without_a_memory_and_without_pfc_has_no_limits() -> None:
    report = check(Scenario.load("@dsl-access"), ["5p"], ["loss_rate<=0"])
    assert report.verdict == "missed"
    assert report.buffers[0].limits == ()


def test_drops_of_the_discipline_bind_no_limit() -> None:
    text = PORT.replace('{ kind = "step", threshold = "400kB" }', '{ kind = "red", min = "1kB", max = "2kB" }')
    text = text.replace("ecn            = true\n", "").replace('cca            = "dctcp"\n', "")
    limits = check(Scenario.parse(text), goals=["loss_rate<=0"]).buffers[0].limits
    assert [each.name for each in limits if each.binds] == []
    assert len({each.loss_without for each in limits}) == 1


def test_check_says_which_of_two_pools_suffices_and_what_binds(tmp_path: Path) -> None:
    path = tmp_path / "port.toml"
    path.write_text(PORT, encoding="utf-8")
    command = ("check", path, "--fresh", "--goal", "loss_rate<=0")
    sizes = ("--buffer", "memories.chip.size=1MB", "--buffer", "memories.chip.size=9MB")
    done = forebay(*command, *sizes)
    assert done.code == 1
    assert done.out.startswith("1 of 2 memory sizes meets every goal: 9 MB.\n")
    assert "\n1 MB: The pool (1 MB) binds: without this limit the loss is 0 % instead of " in done.out
    assert "\n9 MB: No limit binds, because no packet is lost. Of the headroom, " in done.out
    alone = forebay(*command, "--set", "memories.chip.size=1MB", "--json")
    limits = json.loads(alone.out)["buffers"][0]["limits"]
    assert {each["name"]: each["binds"] for each in limits} == {
        "queue": False,
        "port": False,
        "pool": True,
        "headroom": False,
    }
