"""Ports with a file that `observe` reads: their traffic is what the file shows, or they have no answer and a reason."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import forebay
from forebay import FleetExecution
from forebay.fleets import reading
from forebay.fleets.inventory import read_inventory
from forebay.fleets.profiles import Profiles
from forebay.fleets.questions import Asked, questions_of
from tests.fleet.observed_ports import capture, ports
from tests.fleet.ports import profiles
from tests.support.scenarios import PROFILE

NONE = Profiles("profiles", {}, ())
COUNTERS = "time,port,out_octets\n" + "".join(
    f"{300 * poll},{port},{3_000_000 * poll * factor}\n"
    for poll in range(12)
    for port, factor in (("e1", 1), ("e2", 2))
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a capture that shows everything, one without round trips, and counters."""
    folder = tmp_path_factory.mktemp("files")
    for name, stack in (("whole", "linux"), ("bare", "rfc")):
        (folder / name).mkdir()
        capture(folder / name, stack=stack).rename(folder / f"{name}.pcapng")
    (folder / "counters.csv").write_text(COUNTERS)
    (folder / "damaged.pcapng").write_bytes((folder / "whole.pcapng").read_bytes()[:5000][::-1])
    return folder


def asked(folder: Path, *rows: Mapping[str, str], known: Profiles = NONE) -> Asked:
    return questions_of(ports(folder, *rows).ports, known)


def refusal(folder: Path, **row: str) -> str:
    found = asked(folder, row)
    assert not found.questions
    return str(found.ports["refusal"][0])


def tables(found: Asked) -> dict[str, Any]:
    (question,) = found.questions.values()
    answer = json.loads(question.text)
    assert isinstance(answer, dict)
    return answer


def test_the_traffic_is_that_of_the_file_and_the_link_that_of_the_inventory(files: Path) -> None:
    found = tables(asked(files, {"observe": "whole.pcapng", "rate": "11Mbps", "goals": "loss_rate<=1%"}))
    assert found["link"] == {"rate": "11000000bps", "buffer": "<buffer>", "queue": "droptail"}
    assert [flow["cca"] for flow in found["flows"]] == ["newreno"]
    assert sum(flow["count"] for flow in found["flows"]) == 2
    # The goals that `observe` drafts are not those of the user.
    assert found["goal"] == {"loss_rate": "<= 1%"}
    assert not {"observed", "assumed"} & set(found)


def test_a_port_with_a_capture_gets_a_verdict_without_a_folder_of_profiles(files: Path, tmp_path: Path) -> None:
    shutil.copy(files / "whole.pcapng", tmp_path / "one.pcapng")
    ports(tmp_path, {"observe": "one.pcapng", "buffer": "1 packets"}, {"observe": "one.pcapng"})
    answer = forebay.fleet(tmp_path / "ports.csv", execution=FleetExecution(full=0, jobs=1))
    assert answer.ports["verdict"].to_list() == ["too small", "fine"]


def test_without_a_goal_there_is_no_answer_and_a_rule_may_give_one(files: Path, tmp_path: Path) -> None:
    row = {"observe": "whole.pcapng", "goals": ""}
    assert "found no goal" in refusal(files, **row)
    found = tables(asked(files, row, known=profiles(tmp_path, PROFILE)))
    assert found["goal"] == tomllib.loads(PROFILE)["goal"]
    assert [flow["cca"] for flow in found["flows"]] == ["newreno"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bare.pcapng", "rtt is unknown"),
        ("counters.csv", "the file does not show that"),
        ("damaged.pcapng", "damaged.pcapng: found bytes"),
        ("ports.csv", "ports.csv"),
    ],
)
def test_what_the_file_does_not_show_is_the_reason(name: str, reason: str, files: Path) -> None:
    found = refusal(files, observe=name)
    assert found.startswith("observe: ")
    assert reason in found


def test_a_load_above_the_rate_of_the_port_is_a_contradiction(files: Path) -> None:
    found = refusal(files, observe="whole.pcapng", rate="2Mbps")
    assert found.startswith("observe: rate: found 2.00 Mb/s for a link that carried 9.99 Mb/s")


def test_a_missing_file_is_one_rejected_line_and_the_rest_is_answered(files: Path) -> None:
    found = ports(files, {"observe": "whole.pcapng"}, {"observe": "nothing.pcapng"}, {"profile": "a"})
    assert found.ports["port"].to_list() == ["e1", "e3"]
    (row,) = found.rejected.iter_rows()
    assert (Path(row[0]).name, row[1]) == ("ports.csv", 3)
    assert "r e2: observe: found no file" in row[2]
    assert "nothing.pcapng" in row[2]


def test_files_are_found_beside_the_table_that_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "network" / "site").mkdir(parents=True)
    (tmp_path / "network" / "site" / "a.csv").write_text(COUNTERS)
    ports(tmp_path / "network" / "site", {"observe": "a.csv"})
    monkeypatch.chdir(tmp_path)
    for whole in ("network", "network/site/ports.csv"):
        assert read_inventory(whole).ports["observe"].to_list() == [str(Path("network/site/a.csv"))]


def test_equal_files_are_read_once(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    actual = reading.observe

    def counted(paths: list[Path], **options: Any) -> Any:
        read.extend(path.name for path in paths)
        return actual(paths, **options)

    monkeypatch.setattr(reading, "observe", counted)
    shutil.copy(files / "whole.pcapng", files / "copy.pcapng")
    rows = [
        {"observe": name, "buffer": size} for name in ("whole.pcapng", "copy.pcapng") for size in ("9kB", "9kB", "8kB")
    ]
    found = asked(files, *rows)
    assert (len(read), len(found.questions), sum(found.counts.values())) == (1, 2, 6)


def test_a_port_is_found_by_its_name_in_a_file_of_several(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meant: list[str | None] = []
    actual = reading.observe

    def noted(paths: list[Path], **options: Any) -> Any:
        meant.append(options["port"])
        return actual(paths, **options)

    monkeypatch.setattr(reading, "observe", noted)
    rows = [{"observe": "counters.csv", "port": port} for port in ("e1", "e2", "e9")]
    found = asked(files, *rows).ports["refusal"].to_list()
    assert meant == [None, "e1", "e2", "e9"]
    assert "found `e9`" in found[2]


def test_both_sides_of_a_queue_are_two_files(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    monkeypatch.setattr(reading, "observe", lambda paths, **_options: read.extend(paths) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        asked(files, {"observe": "whole.pcapng; bare.pcapng"})
    assert [path.name for path in read] == ["whole.pcapng", "bare.pcapng"]


def test_a_named_profile_wins_over_a_file(files: Path, tmp_path: Path) -> None:
    found = asked(files, {"observe": "counters.csv", "profile": "small"}, known=profiles(tmp_path, PROFILE))
    assert found.ports["profile_used"].to_list() == ["small"]
    assert len(found.questions) == 1
