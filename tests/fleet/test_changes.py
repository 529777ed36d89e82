"""Change sets: lines that `translate` reads back, and nothing that a name or a present line could add to them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from forebay import FleetAnswer
from forebay.configuration.configuring import translate
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.platforms.registry import PLATFORMS
from forebay.fleets.buffer_size import Size
from forebay.fleets.changes import MARKS, change_sets, write_changes
from forebay.fleets.inventory import read_inventory
from forebay.fleets.questions import Question
from tests.fleet.ports import inventory, profiles
from tests.support.commands import forebay as command
from tests.support.scenarios import PROFILE

RATE = 1_000_000_000
QUEUES: Mapping[str, Any] = {
    "droptail": "droptail",
    "eos-trident": {"kind": "dynamic_threshold", "alpha": 1},
    "shared": {"kind": "classes", "classes": [{"name": "a", "groups": ["a"]}, {"name": "rest"}]},
    "classes": {"kind": "classes", "classes": [{"name": "a", "buffer": "9kB", "groups": ["a"]}, {"name": "rest"}]},
}


#: Present lines of a port without which its new lines would be comments.
PRESENT = {"sros": 'service ies "1" interface "x" sap Ethernet7/7:1'}


def question(queue: str = "droptail", size: str = "1000000B") -> Question:
    tables = {
        "link": {"rate": "1Gbps", "buffer": "<buffer>", "queue": QUEUES[queue]},
        "flows": [{"name": name, "cca": "cubic", "rtt": "10ms"} for name in "ab"],
        "run": {"measure": "1s"},
        "goal": {"utilization": ">= 95%"},
    }
    return Question(json.dumps(tables), Size.parse(size))


#: Columns of numbers.
NUMBERS = ("recommended_bytes", "delay_ms", "recommended_delay_ms", "loss", "recommended_loss")


def answer(*rows: Mapping[str, Any], asked: Question | None = None) -> FleetAnswer:
    """An audit with these ports; each is too small, and 2,000,000 bytes are enough for it, unless it says more."""
    usual = {
        "device": "r1", "port": "xe-1/2/3", "service_class": None, "platform": "junos", "buffer": "1MB", "config": None,
        "verdict": "too small", "reason": "utilization needs a larger buffer", "question": "q",
        "recommended_bytes": 2e6, "delay_ms": 1.5, "recommended_delay_ms": 3.25,
        "loss": 0.02, "recommended_loss": 0.001,
    }  # fmt: skip
    kinds = {name: pl.Float64 if name in NUMBERS else pl.String for name in usual}
    ports = pl.DataFrame([{**usual, **row} for row in rows], schema=kinds)
    return FleetAnswer(ports, pl.DataFrame(), {"q": asked or question()}, {}, {}, (), None, 0, 0, 0, "0")


def text_of(*rows: Mapping[str, Any], asked: Question | None = None, platform: str = "own") -> str:
    (found,) = change_sets(answer(*rows, asked=asked), platform)
    return found.text


def lines_of(text: str, mark: str = "#") -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(mark)]


@pytest.mark.parametrize("size", ["1000000B", "700p"])
@pytest.mark.parametrize("enough", [64_123.0, 2e6])
@pytest.mark.parametrize("platform", PLATFORMS)
def test_lines_read_back_give_at_least_the_recommended_buffer_and_less_than_a_step_more(
    platform: str, enough: float, size: str
) -> None:
    asked = question(platform if platform in QUEUES else "droptail", size)
    text = text_of({"recommended_bytes": enough, "platform": platform}, asked=asked)
    if platform == "sonic":
        text = "\n".join(lines_of(text))
    found = translate(text, platform, Assumed(RATE, 1500)).bytes
    # A step is a packet or a microsecond, and the size in packets is rounded before.
    assert found is not None
    assert enough <= found <= enough + 1500 + RATE / 8e6


def test_each_platform_has_the_name_of_the_port_in_its_lines() -> None:
    for platform in PLATFORMS:
        asked = question(platform if platform in QUEUES else "droptail")
        text = text_of({"platform": platform, "port": "Ethernet7/7", "config": PRESENT.get(platform)}, asked=asked)
        lines = lines_of(text, MARKS.get(platform, "#"))
        assert any("Ethernet7/7" in line for line in lines), platform
        assert "0/0/0" not in "".join(lines), platform


SAP = '/configure service vprn "77" interface "to customer" sap {} egress qos sap-egress policy-name "OLD"'


@pytest.mark.parametrize(
    ("port", "config", "attached", "filled"),
    [
        ("1/1/2", None, 'ies "SERVICE" interface "INTERFACE" sap 1/1/2:TAG', "SERVICE, INTERFACE and TAG"),
        ("1/1/2:9", None, 'ies "SERVICE" interface "INTERFACE" sap 1/1/2:9', "SERVICE and INTERFACE"),
        ("1/1/2", SAP.format("1/1/3:7"), 'ies "SERVICE" interface "INTERFACE" sap 1/1/2:TAG', "SERVICE, INTERFACE"),
        (
            "1/1/2",
            SAP.format("1/1/2:7") + "\n" + SAP.format("1/1/2:8"),
            'ies "SERVICE" interface "INTERFACE" sap 1/1/2:TAG',
            "several services of the port: fill in SERVICE, INTERFACE and TAG",
        ),
        (
            "1/1/2",
            SAP.format("1/1/2:7").replace('"77"', '"7\x1b7"'),
            'ies "SERVICE" interface "INTERFACE" sap 1/1/2:TAG',
            "fill in SERVICE",
        ),
        ("1/1/2", SAP.format("1/1/2:7"), 'vprn "77" interface "to customer" sap 1/1/2:7', None),
        (
            "1/1/2:8",
            SAP.format("1/1/2:7") + "\n" + SAP.format("1/1/2:8"),
            'vprn "77" interface "to customer" sap',
            None,
        ),
        ("1/1/c2/1", 'service epipe "e1" sap 1/1/c2/1:100.5 {', 'epipe "e1" sap 1/1/c2/1:100.5', None),
    ],
)
@pytest.mark.parametrize("queue", ["droptail", "shared"])
def test_a_line_that_has_to_be_filled_in_is_a_comment(
    port: str, config: str | None, attached: str, filled: str | None, queue: str
) -> None:
    text = text_of({"platform": "sros", "port": port, "config": config}, asked=question(queue))
    attaching = [line for line in text.splitlines() if f"/configure service {attached}" in line and "OLD" not in line]
    assert len(attaching) == (1 if queue == "droptail" else 2)
    assert all(line.startswith("# ") == (filled is not None) for line in attaching)
    assert not [line for line in lines_of(text) if '"1"' in line or '"customer"' in line or "SERVICE" in line]
    assert (f"fill in {filled}" in text or str(filled) in text) == (filled is not None)
    assert "note: the present lines name" in text or filled is None
    assert translate(text, "sros", Assumed(RATE, 1500)).bytes is not None


def test_ports_that_are_fine_or_undecided_get_nothing() -> None:
    verdicts = ("fine", "undecided", "not answerable", "too large")
    found = change_sets(answer(*({"port": f"ge-0/0/{n}", "verdict": each} for n, each in enumerate(verdicts))))
    assert [[change.port for change in each.changes] for each in found] == [["ge-0/0/3"]]
    assert change_sets(answer({"verdict": "fine"})) == []


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"recommended_bytes": None}, "no size was shown to be enough"),
        ({"platform": None}, "the inventory names no platform"),
        ({"service_class": "voice"}, "set its limit in the policy of the port"),
        ({"platform": "eos-trident"}, "eos-trident has no droptail"),
        ({"recommended_bytes": 1e12}, "allowed"),
    ],
)
def test_a_port_without_lines_is_listed_with_the_reason(row: Mapping[str, Any], reason: str) -> None:
    text = text_of(row)
    mark = MARKS.get(row.get("platform", "junos") or "", "#")
    assert lines_of(text, mark) == []
    assert any(line.startswith(f"{mark} no lines: ") and reason in line for line in text.splitlines())


def test_classes_with_buffers_of_their_own_get_no_lines() -> None:
    assert "recommend --classes" in text_of({}, asked=question("classes"))


def test_for_writes_the_lines_of_another_platform() -> None:
    assert "queue-limit 2000000 bytes" in text_of({}, platform="ios-xe")
    assert "buffer-size temporal 16000" in text_of({})


HOSTILE = (
    "../../etc/passwd",
    "..",
    "",
    ".",
    "a/b",
    "a\\b",
    "con",
    "aux.r1",
    "x" * 300,
    "r\x00\n1",
    "ü",
    "R1 ",
    "-rf",
    "a:b",
)


def test_hostile_names_of_devices_stay_in_the_folder(tmp_path: Path) -> None:
    found = answer(*({"device": device} for device in HOSTILE))
    write_changes(change_sets(found), tmp_path / "changes")
    files = [path.name for path in (tmp_path / "changes").iterdir()]
    assert [path.name for path in tmp_path.iterdir()] == ["changes"]
    assert len({name.casefold() for name in files}) == len(files) == len(HOSTILE)
    assert all(name.endswith(".txt") and len(name) < 120 and name.isascii() and name[0] not in ".-" for name in files)
    assert not {"con.txt", "aux.r1.txt"} & set(files)


def test_names_that_differ_in_case_alone_are_one_device() -> None:
    (found,) = change_sets(answer({"device": "R1", "port": "a1"}, {"device": "r1", "port": "a2"}))
    assert (found.file, [change.port for change in found.changes]) == ("r1.txt", ["a1", "a2"])


def test_names_that_become_equal_have_two_files_whatever_their_order() -> None:
    pairs = [{"device": "a b"}, {"device": "a?b"}]
    straight, back = (
        {each.device: each.file for each in change_sets(answer(*rows))} for rows in (pairs, list(reversed(pairs)))
    )
    assert straight == back
    assert len(set(straight.values())) == 2


@pytest.mark.parametrize(("platform", "port", "has_lines"), [
    ("linux", "eth 0", False), ("junos", "xe 0", False), ("ios-xe", "GigabitEthernet 0/0/1", True),
    ("linux", "eth0", True),
])  # fmt: skip
def test_a_space_in_a_name_stays_where_the_platform_writes_one(platform: str, port: str, has_lines: bool) -> None:
    text = text_of({"platform": platform, "port": port})
    assert (f" {port}" in "\n".join(lines_of(text, "!" if platform == "ios-xe" else "#"))) is has_lines
    assert ("no lines: the name" in text) is not has_lines


def test_the_delay_and_the_loss_now_and_then_stand_beside_the_lines() -> None:
    text = text_of({})
    assert "# recommended: 2.00 MB (2,000,000 bytes)" in text
    assert "# delay (99th percentile): 1.50 ms now, 3.25 ms then" in text
    assert "# loss: 2.00 % now, 0.100 % then" in text
    unknown = text_of({"delay_ms": None, "recommended_loss": None})
    assert "now" not in unknown


@pytest.mark.parametrize("config", ["a\nb", "a\r\nb", "a\rb", "a\u2028b", "a\x0bb\x85c", "a\x1b[2Jb"])
def test_present_lines_are_comments_whatever_they_contain(config: str) -> None:
    text = text_of({"config": f"{config}\nset system root-authentication"})
    assert "\x1b" not in text
    assert all(line.startswith("set class-of-service ") for line in lines_of(text))
    assert "#   set system root-authentication" in text.splitlines()


def test_names_and_reasons_add_no_lines() -> None:
    row = {"device": "d\nset a", "port": "p\nset b", "reason": "r\nset c", "buffer": "1MB\nset d"}
    text = text_of(row)
    assert all(line.startswith("set class-of-service ") for line in lines_of(text))
    assert not lines_of(text)
    assert "no lines: the name of the port has characters" in text


@pytest.mark.parametrize("port", ["eth0; reboot", "$(reboot)", "-x", "a b c", "`id`", "p" * 200])
def test_a_port_whose_name_a_shell_would_act_on_is_not_in_a_line(port: str) -> None:
    text = text_of({"platform": "linux", "port": port})
    assert not lines_of(text)
    assert "no lines: the name of the port has characters" in text


SHAPERS = {"ios-xe": "shape average", "ios-xr": "shape average", "junos": "shaping-rate", "eos": "shape rate",
           "nx-os": "speed 1000", "sros": "rate pir", "sonic": "forebay_"}  # fmt: skip


@pytest.mark.parametrize("platform", SHAPERS)
def test_a_port_gets_a_shaper_only_if_it_has_one(platform: str) -> None:
    port, shaped = ({"platform": platform, "config": each} for each in (None, "shape average 1000000000"))
    word = '"pir"' if platform == "sonic" else SHAPERS[platform]
    mark = MARKS.get(platform, "#")
    assert not any(word in line for line in lines_of(text_of(port), mark))
    assert any(word in line for line in lines_of(text_of(shaped), mark))


def test_the_scheduler_that_classes_of_sros_name_is_in_their_lines() -> None:
    text = text_of({"platform": "sros"}, asked=question("shared"))
    policy = re.search('scheduler-policy policy-name ("[^"]+")', text)
    assert policy
    assert f'/configure qos scheduler-policy {policy[1]} tier 1 scheduler "LINK" rate pir 1000000' in lines_of(text)


def test_a_name_of_a_policy_belongs_to_one_content() -> None:
    def names(text: str) -> set[str]:
        return {line.split()[1] for line in text.splitlines() if line.startswith("policy-map")}

    one, two = ({"platform": "ios-xe", "recommended_bytes": each} for each in (2e6, 3e6))
    assert len(names(text_of(one, {**one, "port": "Gi0/1"}))) == 1
    assert names(text_of(one)) | names(text_of(two)) == names(text_of(one, {**two, "port": "Gi0/1"}))
    assert len(names(text_of(one, {**two, "port": "Gi0/1"}))) == 2


def test_the_ports_of_a_switch_are_in_one_object() -> None:
    rows = [{"platform": "sonic", "port": f"Ethernet{n}", "recommended_bytes": n * 1e6} for n in (4, 8)]
    tables = json.loads("\n".join(lines_of(text_of(*rows))))
    assert list(tables["BUFFER_QUEUE"]) == ["Ethernet4|0", "Ethernet8|0"]
    assert {each["static_th"] for each in tables["BUFFER_PROFILE"].values()} == {"4000000", "8000000"}


def test_an_inventory_of_change_sets_has_the_recommended_buffers(tmp_path: Path) -> None:
    rows = [
        {"device": device, "platform": "ios-xe", "port": f"GigabitEthernet0/0/{n}", "recommended_bytes": n * 1e6}
        for device in ("r1", "r2")
        for n in (1, 2)
    ]
    write_changes(change_sets(answer(*rows)), tmp_path / "changes")
    found = read_inventory(tmp_path / "changes")
    assert found.ports.select("device", "port", "buffer_bytes").rows() == [
        (row["device"], row["port"], row["recommended_bytes"]) for row in rows
    ]


def test_change_sets_of_an_earlier_audit_go_and_other_files_stay(tmp_path: Path) -> None:
    folder = tmp_path / "changes"
    write_changes(change_sets(answer({"device": "a"}, {"device": "b"})), folder)
    (folder / "mine.txt").write_text("mine")
    write_changes(change_sets(answer({"device": "b"})), folder)
    assert sorted(path.name for path in folder.iterdir()) == ["b.txt", "mine.txt"]
    (folder / "mine.txt").unlink()
    write_changes(change_sets(answer({"verdict": "fine"})), folder)
    assert not folder.exists()


def test_the_command_writes_the_lines_and_refuses_an_unknown_platform_first(tmp_path: Path) -> None:
    inventory(tmp_path, [{"buffer": "1 packets"}, {"port": "eth1", "buffer": "9 packets"}])
    profiles(tmp_path, PROFILE)
    options = ("fleet", "ports.csv", "--out", "audit", "--full", "0")
    refused = command(*options, "--for", "nothing", cwd=tmp_path)
    assert (refused.code, (tmp_path / "audit").exists()) == (2, False)
    assert "nothing" in refused.err
    made = command(*options, "--for", "linux", cwd=tmp_path)
    assert made.code == 1
    assert "audit/changes" in made.out
    text = (tmp_path / "audit" / "changes" / "d.txt").read_text()
    assert "dev eth0 root" in text
    assert "eth1" not in text


@pytest.mark.parametrize(
    ("platform", "names"),
    [("openwrt", r"config \w+ '(\w+)'"), ("routeros", r"add name=(\S+) kind")],
)
def test_equal_ports_of_a_device_share_no_section_and_no_type(platform: str, names: str) -> None:
    text = text_of({"port": "wan2", "platform": platform}, {"port": "wan6", "platform": platform})
    found = re.findall(names, text)
    assert found
    assert len(found) == len(set(found))
    assert text == text_of({"port": "wan2", "platform": platform}, {"port": "wan6", "platform": platform})
