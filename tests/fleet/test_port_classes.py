"""Ports with several classes: the profile says what each carries, and their buffers change by one factor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import forebay
from forebay import FleetExecution, InputError
from forebay.fleets import search_stage
from forebay.fleets.buffer_size import Size
from forebay.fleets.changes import change_sets
from forebay.fleets.inventory import read_inventory
from forebay.fleets.port_classes import sized, with_flows
from forebay.fleets.profiles import load_profiles
from forebay.fleets.questions import questions_of

#: A policy with three classes; the limit of the last one is open.
POLICY = """hostname r1
class-map match-any VOICE
 match dscp ef
class-map match-any VIDEO
 match dscp af41
policy-map WAN
 class VOICE
  priority percent 20
  queue-limit 64 packets
 class VIDEO
  bandwidth percent 30
  queue-limit 100 packets
 class class-default
  bandwidth percent 50
  queue-limit {limit} packets
interface FastEthernet0/0/0
 service-policy output WAN
"""
TRAFFIC = """[link]
[[flows]]
name = "calls"
count = 5
workload = "voip"
[[flows]]
name = "downloads"
count = 2
cca = "newreno"
rtt = "20ms"
[run]
warmup = "1s"
measure = "4s"
[goal]
utilization = ">= 90%"
"calls.queue_delay_p99" = "<= 20ms"
"""
CLASSES = '[classes]\ncalls = "VO*"\n'


def network(folder: Path, limit: int = 64, classes: str = CLASSES) -> Path:
    (folder / "profiles").mkdir(exist_ok=True)
    (folder / "profiles" / "office.toml").write_text(TRAFFIC + classes)
    (folder / "r1.cfg").write_text(POLICY.format(limit=limit))
    return folder


def queue(*classes: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "classes", "schedule": "dwrr", "classes": list(classes)}


def names(found: Any) -> list[tuple[str, list[str]]]:
    return [(entry["name"], entry.get("groups", [])) for entry in found["classes"]]


@pytest.mark.parametrize(("limit", "verdict"), [(64, "fine"), (1, "too small")])
def test_a_port_with_classes_gets_a_verdict_without_a_search(
    limit: int, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A search varies the buffer of the link alone, which limits no class.
    monkeypatch.delattr(search_stage, "recommend")
    folder = network(tmp_path, limit)
    answer = forebay.fleet(folder / "r1.cfg", folder / "profiles", FleetExecution(full=1))
    assert answer.ports.select("verdict", "stage").rows() == [(verdict, "packet runs")]
    changes = [change.refusal for each in change_sets(answer) for change in each.changes]
    assert all(text is not None and text.startswith("multiply the limit of each class by ") for text in changes)
    assert len(changes) == (verdict == "too small")


def test_a_profile_that_says_nothing_about_the_classes_has_no_answer_and_says_what_to_write(tmp_path: Path) -> None:
    folder = network(tmp_path, classes="")
    asked = questions_of(read_inventory(folder / "r1.cfg").ports, load_profiles(folder / "profiles"))
    refusal = asked.ports["refusal"][0]
    assert "office.toml: classes: the port has the classes VOICE, VIDEO, and the profile puts no flow" in refusal
    assert 'a table [classes] as in calls = ["EF*"]' in refusal


def test_the_buffers_of_all_classes_change_by_one_factor(tmp_path: Path) -> None:
    folder = network(tmp_path)
    asked = questions_of(read_inventory(folder / "r1.cfg").ports, load_profiles(folder / "profiles"))
    (question,) = asked.questions.values()

    def buffers(size: Size) -> list[str]:
        link = json.loads(question.at(size))["link"]
        return [link["buffer"], *(entry["buffer"] for entry in link["queue"]["classes"])]

    assert question.has_classes
    assert buffers(question.size) == ["228p", "64p", "64p"]
    assert buffers(question.size.times(0.5)) == ["114p", "32p", "32p"]
    assert buffers(Size(228 * 3000, "B")) == ["684000B", "128p", "128p"]
    assert buffers(Size(1, "p")) == ["1p", "1p", "1p"]


@pytest.mark.parametrize(
    ("buffer", "doubled"), [("10p", "20p"), ("1.5kB", "3000B"), ("3MB", "6000000B"), ("5ms", "10ms"), ("1KiB", "2048B")]
)
def test_each_unit_of_a_class_is_scaled(buffer: str, doubled: str) -> None:
    found = with_flows(queue({"name": "a", "buffer": buffer}, {"name": "rest"}), ["a"], {}, "1000B")
    assert json.loads(sized(json.dumps(found), Size(2000, "B")))["classes"][0]["buffer"] == doubled
    assert "buffer" not in found["classes"][1]


def test_classes_without_traffic_are_left_out_and_a_flow_is_in_the_first_of_its_classes() -> None:
    table = queue(
        {"name": "EF"}, {"name": "AF41", "groups": ["AF41"]}, {"name": "AF42"}, {"name": "rest", "groups": []}
    )
    found = with_flows(table, ["calls", "video", "web"], {"video": ["AF4*"], "calls": ["x", "ef"]}, "9p")
    assert names(found) == [("EF", ["calls"]), ("AF41", ["video"]), ("rest", [])]


def test_a_table_may_name_the_flows_itself() -> None:
    found = with_flows(queue({"name": "first", "groups": ["calls"]}, {"name": "rest"}), ["calls", "web"], {}, "9p")
    assert names(found) == [("first", ["calls"]), ("rest", [])]


def test_a_port_without_classes_is_as_before() -> None:
    table = {"kind": "red", "min": "20%", "max": "80%"}
    assert with_flows(table, ["calls"], {"calls": ["EF"]}, "9p") is table


@pytest.mark.parametrize("text", ['[classes]\nother = "EF"\n', "[classes]\ncalls = 3\n", "[classes]\ncalls = []\n"])
def test_a_wrong_table_of_classes_is_refused_with_its_key(text: str, tmp_path: Path) -> None:
    folder = network(tmp_path, classes=text)
    with pytest.raises(InputError, match=r"office.toml: classes"):
        load_profiles(folder / "profiles")
