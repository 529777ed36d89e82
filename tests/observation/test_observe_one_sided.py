"""Captures of one place: what they do not tell is no number, what contradicts itself is refused in one line."""

from __future__ import annotations

import gzip
import json
import struct
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from checks.observed_places import LINKS, Seen, places_table, restamped, seen
from forebay.errors import InputError
from forebay.inputs.observed_bounds import bounds_of
from forebay.observation.finding import ConstantRate, Finding, PoissonPackets
from forebay.observation.observing import observe
from forebay.observation.writing import scenario_text
from tests.support.commands import forebay
from tests.support.packets import pcap


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture before the queue of a full link of 20 Mb/s."""
    folder = tmp_path_factory.mktemp("before")
    seen("2 cubic, 20 Mb/s", "before", folder)
    return folder / "port.pcap"


def test_a_capture_before_the_queue_says_no_rate_and_recommend_names_the_key(before: Path, tmp_path: Path) -> None:
    out = tmp_path / "link.toml"
    done = forebay("observe", before, "--out", out)
    assert done.code == 0, done.err
    assert done.out.startswith("Link of unknown rate (at least ")
    tables = tomllib.loads(out.read_text())
    assert not {"rate", "buffer"} & set(tables["link"])
    assert "unknown rate" in tables["title"]
    for verb in (["recommend"], ["run"], ["check"]):
        refused = forebay(*verb, out)
        assert refused.code == 2
        assert len(refused.err.strip().splitlines()) == 1
        assert "link.rate" in refused.err
        assert "at least 1" in refused.err


def test_assumed_bounds_are_printed_first_and_without_confidence(before: Path, tmp_path: Path) -> None:
    out = tmp_path / "link.toml"
    assert forebay("observe", before, "--out", out).code == 0
    rest = ["--set", "run.measure=2s", "--set", "run.warmup=1s", "--within", "20s", "--fresh", "--no-picture"]
    for bound in bounds_of(out.read_text()):
        if bound.key.endswith("rtt") and bound.value is None:
            rest += ["--set", f"{bound.key}=25ms"]
    done = forebay("recommend", out, "--assume-lower-bounds", *rest)
    assert done.code in (0, 1, 3), done.err
    assert done.out.startswith("Assumed: link.rate = 1")
    assert "lower bound" in " ".join(done.out.split())[:200]
    assert "confidence)" not in done.out.replace("(no confidence", "")
    data = json.loads(forebay("recommend", out, "--assume-lower-bounds", "--json", *rest).out)
    assert data["confidence"] is None
    assert {goal["confidence"] for goal in data["goals"].values()} == {None}
    given = forebay("recommend", out, "--assume-lower-bounds", "--set", "link.rate=20Mbps", *rest)
    assert "link.rate =" not in given.out.partition("\n")[0]


@pytest.mark.parametrize("place", ["sender", "before", "behind", "receiver"])
@pytest.mark.parametrize("name", ["2 cubic, 20 Mb/s", "4 limited by applications, 50 Mb/s"])
def test_of_one_place_the_rate_is_right_or_its_bound_is_true(name: str, place: str, tmp_path: Path) -> None:
    found = seen(name, place, tmp_path)
    assert found.is_right
    assert found.stated is not None or found.at_least_bps is not None
    assert name in places_table([found]) or "| 1 |" in places_table([found])


def test_the_table_of_places_counts_what_is_false() -> None:
    wrong = Seen(next(iter(LINKS)), "before", 10e6, None, 11e6)
    assert "| before the queue | 1 | 0 | 0 | 1 | 0 | 110% to 110% | 0 |" in places_table([wrong])


def test_a_given_rate_below_what_was_carried_is_refused(tmp_path: Path) -> None:
    path = pcap(tmp_path / "fast.pcap", ((0.001 * number, 1500) for number in range(5000)))
    with pytest.raises(InputError, match=r"rate: found 4.00 Mb/s for a link that carried 11.9 Mb/s or more"):
        observe([path], rate_bps=4e6)
    assert observe([path], rate_bps=12e6).link.rate


def test_a_capture_with_holes_is_refused(before: Path, tmp_path: Path) -> None:
    data, at, retained = before.read_bytes(), 24, []
    draws = np.random.default_rng(3)
    while at < len(data):
        length = 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        if draws.random() > 0.1:
            retained.append(data[at : at + length])
        at += length
    path = tmp_path / "holes.pcap"
    path.write_bytes(data[:24] + b"".join(retained))
    with pytest.raises(InputError, match=r"holes.pcap: found a capture with holes: receivers acknowledge \d+.\d%"):
        observe([path])


def test_a_clock_coarser_than_the_gaps_is_refused(tmp_path: Path) -> None:
    path = pcap(tmp_path / "coarse.pcap", ((0.0007 * number, 900) for number in range(5000)), tick_s=0.01)
    with pytest.raises(InputError, match=r"coarse.pcap: found stamps that advance by 10.0 ms"):
        observe([path])


def workloads(finding: Finding) -> list[type]:
    return [type(group.workload) for group in finding.groups]


@pytest.mark.parametrize("shifted_s", [0.0, 0.015])
def test_traffic_of_constant_rate_is_cbr_though_a_queue_shifts_it(shifted_s: float, tmp_path: Path) -> None:
    draws = np.random.default_rng(5)
    times = np.sort(0.01 * np.arange(6000) + shifted_s * draws.random(6000))
    finding = observe([pcap(tmp_path / "calls.pcap", ((time, 200) for time in times))])
    assert workloads(finding) == [ConstantRate]
    random = np.cumsum(draws.exponential(0.01, 6000))
    finding = observe([pcap(tmp_path / "random.pcap", ((time, 200) for time in random))])
    assert workloads(finding) == [PoissonPackets]
    assert "exactly; traffic" not in scenario_text(finding)


def test_a_constant_rate_is_not_the_link_s(tmp_path: Path) -> None:
    finding = observe([pcap(tmp_path / "calls.pcap", ((0.001 * number, 1000) for number in range(20_000)))])
    text = scenario_text(finding)
    assert "rate" not in tomllib.loads(text)["link"]
    [rate] = [bound for bound in bounds_of(text) if bound.key == "link.rate"]
    assert rate.at_least in ("7.99Mbps", "7.98Mbps")


def test_time_without_packets_costs_nothing_and_is_reported(tmp_path: Path) -> None:
    year = 365 * 86_400.0
    path = pcap(tmp_path / "years.pcap", ((year * (number // 10) + 0.1 * number, 300) for number in range(200)))
    program = (
        "import sys; from pathlib import Path; from forebay.observation.observing import observe; "
        "print(*observe([Path(sys.argv[1])]).notes); "
        "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    text, kilobytes = done.stdout.splitlines()
    assert "the capture has a gap of" in text
    assert int(kilobytes) < 400_000


@pytest.mark.long
def test_a_gzip_bomb_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pcap.gz"
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(head)
        for _ in range(600):
            file.write(bytes(1 << 20))
    done = forebay("observe", path)
    assert done.code == 2
    assert len(done.err.strip().splitlines()) == 1
    assert "allowed: 400 times as many" in done.err


def test_stamps_of_a_host_are_whole_microseconds_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "again"
    folder.mkdir()
    seen("2 cubic, 20 Mb/s", "sender", folder)
    data, at, times = (folder / "host.pcap").read_bytes(), 24, []
    while at < len(data):
        seconds, rest, retained, _ = struct.unpack_from("<IIII", data, at)
        times.append(seconds * 1_000_000 + rest)
        at += 16 + retained
    assert times == sorted(times)
    assert len(times) > 1000
    restamped(folder / "packets.pcapng", folder / "whole.pcap", handed_over_ns=0)
    assert (folder / "whole.pcap").stat().st_size == (folder / "host.pcap").stat().st_size
