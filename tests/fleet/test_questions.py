"""A question is a port without its names: equal ports share one, and a port without an answer has a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from forebay.errors import InputError
from forebay.fleets.questions import questions_of
from tests.fleet.ports import inventory, profiles
from tests.support.scenarios import PROFILE


def test_ports_that_differ_in_names_alone_share_a_question(tmp_path: Path) -> None:
    rows = [
        {"device": "a", "buffer_bytes": 9000, "role": "core"},
        {"device": "b", "buffer_bytes": 9000, "role": "metro"},
        {"device": "c", "buffer_bytes": 18000, "role": "core"},
    ]
    asked = questions_of(inventory(tmp_path, rows).ports, profiles(tmp_path))
    digests = asked.ports["question"].to_list()
    assert digests[0] == digests[1] != digests[2]
    assert sorted(asked.counts.values()) == [1, 2]
    assert len({question.link for question in asked.questions.values()}) == 1, "the buffer is no part of the scenario"


def test_the_identity_of_a_question_does_not_depend_on_the_order_of_ports(tmp_path: Path) -> None:
    rows = [{"device": f"d{number}", "buffer_bytes": 1000 * (1 + number % 7)} for number in range(40)]
    ports = inventory(tmp_path, rows).ports
    known = profiles(tmp_path)
    straight, reverse = questions_of(ports, known), questions_of(ports.reverse(), known)
    assert straight.counts == reverse.counts
    both = (asked.ports.sort("device")["question"].to_list() for asked in (straight, reverse))
    assert next(both) == next(both)


@pytest.mark.parametrize(
    ("row", "size"),
    [
        ({"buffer": "512 packets"}, "512p"),
        ({"buffer": "512 packets", "buffer_bytes": 768000}, "512p"),
        ({"buffer": "512 packets", "platform": "ios-xr"}, "131072B"),
        ({"buffer": "9MB", "buffer_bytes": 9_000_000}, "9000000B"),
        ({"platform": "linux", "buffer": None}, "1000p"),
        ({"platform": "ios-xe", "buffer": None}, "96000B"),
        ({"platform": "ios-xe", "rate_bps": 1_000_000_000, "buffer": None}, "6250000B"),
        ({"platform": "junos", "buffer": None}, None),
    ],
)
def test_the_buffer_is_the_stated_one_or_a_documented_default(
    row: dict[str, Any], size: str | None, tmp_path: Path
) -> None:
    asked = questions_of(inventory(tmp_path, [row]).ports, profiles(tmp_path))
    found = [str(question.size) for question in asked.questions.values()]
    assert found == ([] if size is None else [size])
    if size is None:
        assert "the port has no buffer" in asked.ports["refusal"].item()


@pytest.mark.parametrize("buffer", ["many cells", "0 packets"])
def test_a_buffer_without_a_size_is_a_rejected_row_and_no_default(buffer: str, tmp_path: Path) -> None:
    read = inventory(tmp_path, [{"buffer": buffer, "platform": "linux"}, {"buffer": "9 packets"}])
    assert read.ports["buffer"].to_list() == ["9 packets"]
    assert read.rejected["line"].to_list() == [2]
    assert "buffer: found" in read.rejected["reason"].item()


def test_a_port_without_a_value_that_its_profile_uses_has_a_reason(tmp_path: Path) -> None:
    text = PROFILE.replace('packet   = "1000B"', 'packet = "{mtu_bytes}B"')
    rows = [{"buffer_bytes": 9000, "mtu_bytes": 1500}, {"buffer_bytes": 9000, "mtu_bytes": None}]
    asked = questions_of(inventory(tmp_path, rows).ports, profiles(tmp_path, text))
    assert asked.ports["refusal"].to_list()[0] is None
    refusal = asked.ports["refusal"].to_list()[1]
    assert refusal.endswith(
        "small.toml: flows[0].packet: found `{mtu_bytes}`, and the port has no `mtu_bytes`; "
        "allowed: a value in that column"
    )


@pytest.mark.parametrize(
    ("old", "new", "row", "reason"),
    [
        ('cca      = "newreno"', 'cca = "{role}"', {"role": "core"}, "flows[0].cca: unknown cca `core`"),
        ("85%", "85%", {"goals": "utilization>=110%"}, "goal.utilization: found `>= 110%`; "),
    ],
)
def test_a_fault_of_one_port_is_its_reason_with_the_file_and_the_key(
    old: str, new: str, row: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    rows = [{"buffer_bytes": 9000, "role": "newreno", "goals": None}, {"buffer_bytes": 9000, "role": None, **row}]
    asked = questions_of(inventory(tmp_path, rows).ports, profiles(tmp_path, PROFILE.replace(old, new)))
    first, second = asked.ports["refusal"].to_list()
    assert first is None
    assert f"small.toml: {reason}" in second
    assert len(asked.questions) == 1
    assert second.endswith("; the goals of the port are `utilization>=110%`") == ("goals" in row)


def test_a_placeholder_without_values_in_the_whole_inventory_is_an_error(tmp_path: Path) -> None:
    known = profiles(tmp_path, PROFILE.replace('"bulk"', '"{role}"'))
    with pytest.raises(InputError, match=r"small\.toml: flows\[0\]\.name: found `{role}`, and no port .* has a `role`"):
        questions_of(inventory(tmp_path, [{"buffer_bytes": 9000}]).ports, known)
    others = [{"buffer_bytes": 9000, "profile": "other", "role": None}]
    assert not questions_of(inventory(tmp_path, others).ports, known).questions


def test_a_profile_without_a_goal_is_an_error_unless_a_port_has_one(tmp_path: Path) -> None:
    known = profiles(tmp_path, PROFILE.partition("[goal]")[0])
    with pytest.raises(InputError, match=r"small\.toml: goal: found no goal, and no port with this profile has one"):
        questions_of(inventory(tmp_path, [{"buffer_bytes": 9000}]).ports, known)
    rows = [{"buffer_bytes": 9000, "goals": goals} for goals in ("utilization>=50%", None)]
    first, second = questions_of(inventory(tmp_path, rows).ports, known).ports["refusal"]
    assert first is None
    assert "small.toml: goal: found no goal" in second


@pytest.mark.parametrize("queue", ["fq_codel", '"fq_codel"', "'fq_codel'"])
def test_a_named_discipline_of_an_inventory_is_that_of_its_question(queue: str, tmp_path: Path) -> None:
    read = inventory(tmp_path, [{"buffer_bytes": 9000, "queue": queue}])
    assert read.ports["queue"].to_list() == ["fq_codel"]
    (question,) = questions_of(read.ports, profiles(tmp_path)).questions.values()
    assert question.scenario().core.queue == "fq_codel"


def test_an_unknown_profile_is_named(tmp_path: Path) -> None:
    rows = [{"buffer_bytes": 9000, "profile": "smal"}]
    asked = questions_of(inventory(tmp_path, rows).ports, profiles(tmp_path))
    assert "unknown profile `smal`" in asked.ports["refusal"].item()
    assert asked.ports["question"].to_list() == [None]


def test_every_port_stays_in_its_place(tmp_path: Path) -> None:
    rows = [{"device": f"d{number}", "buffer_bytes": None if number % 3 else 9000} for number in range(12)]
    asked = questions_of(inventory(tmp_path, rows).ports, profiles(tmp_path))
    assert asked.ports["device"].to_list() == [row["device"] for row in rows]
    assert asked.ports.select(pl.col("question").is_null() == pl.col("refusal").is_not_null()).to_series().all()
