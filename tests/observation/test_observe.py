"""`forebay observe` and the captures of scenarios whose truth is known."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from checks.observed import judge
from checks.observed_cases import CASES
from forebay.errors import InputError
from forebay.measurement.traces import write_traces
from forebay.observation.capture_flows import Observed
from forebay.observation.inputs.input import Kind
from forebay.observation.inputs.recognition import find_input
from forebay.scenario import Scenario
from tests.support.commands import forebay

#: Cases that run in a second or two, one of each kind.
CHOSEN = (
    "1 newreno, 10 Mb/s",
    "20 bbr, 100 Mb/s",
    "4 cubic, 0.25BDP, both sides",
    "8 cubic, codel, both sides",
    "web at 50%",
    "8 limited by applications, link half full",
    "6 limited by access, link not full",
    "4 cubic beside those limited by receivers",
    "8 cubic, codel that marks",
    "20 newreno, 10 Gb/s",
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CHOSEN)
def test_what_is_observed_is_what_was_simulated(name: str, tmp_path: Path) -> None:
    judged = judge(CASES[name], tmp_path)
    off = [each for each in judged.judgments if not each.holds]
    assert not off
    known = {each.quantity for each in judged.judgments if each.found is not None}
    assert {"link rate", "load"} <= known


def test_the_table_of_cases_has_enough_of_every_kind() -> None:
    assert len(CASES) >= 60
    rates = {str(case.tables.get("link", case.tables.get("links", [{}])[-1])["rate"]) for case in CASES.values()}
    assert {"10Mbps", "10Gbps"} <= rates
    assert {case.tables["trace"]["capture"] for case in CASES.values()} == {"departures", "arrivals", "both"}


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("observed")
    write_traces(Scenario.of(CASES["2 cubic + web"].tables).run(traces=True, replications=1), folder)
    return folder / "packets.pcapng"


def test_a_capture_becomes_a_scenario_a_page_and_json(capture: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "branch.toml", tmp_path / "branch.html"
    done = forebay("observe", capture, "--out", out, "--report", page)
    assert done.code == 0, done.err
    assert "50.0 Mb/s" in done.out.splitlines()[0]
    assert "2 long flows" in done.out.splitlines()[1]
    Scenario.load(out, ["link.buffer=100p"])
    assert "transfers" in {group["name"] for group in tomllib.loads(out.read_text())["flows"]}
    data = json.loads(forebay("observe", capture, "--json").out)
    assert data["link"]["rate"]["value"] == pytest.approx(50e6, rel=0.02)
    assert data["unidentified"]
    # No address leaves: the capture's are of 10/8 and of 192.0.2/24.
    for text in (out.read_text(), page.read_text(), done.out, json.dumps(data)):
        assert not re.search(r"(?<![\d.])(?:10\.\d+\.\d+\.\d+|192\.0\.2\.\d+)", text)


def test_both_sides_tell_the_buffer_and_the_scenario_has_it(tmp_path: Path) -> None:
    write_traces(Scenario.of(CASES["4 cubic, 0.25BDP, both sides"].tables).run(traces=True, replications=1), tmp_path)
    out = tmp_path / "link.toml"
    done = forebay("observe", tmp_path / "packets.pcapng", "--out", out)
    assert done.code == 0, done.err
    observed, true = Scenario.load(out), Scenario.of(CASES["4 cubic, 0.25BDP, both sides"].tables)
    found, expected = (each.run(replications=1).buffer.packets for each in (observed, true))
    assert found == pytest.approx(expected, rel=0.1)


def test_the_rate_may_be_given(capture: Path) -> None:
    data = json.loads(forebay("observe", capture, "--rate", "1Gbps", "--json").out)
    assert data["link"]["rate"] == {**data["link"]["rate"], "value": 1e9, "source": "given by --rate"}
    assert data["regime"]["name"] == "transparent" or data["limited"]["value"] <= 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "found nothing|found an empty file"),
        (b"\x00\x01\x02\x03" * 40, "found bytes that begin with 00010203"),
        (b"lorem ipsum\n", "found text"),
        (bytes.fromhex("d4c3b2a1") + b"\x02\x00", "found|ends|cut"),
        (b"\x1f\x8b\x08\x00garbage", "gzip|found"),
    ],
)
def test_what_is_no_input_is_one_line(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(content)
    done = forebay("observe", path)
    assert done.code == 2
    assert re.search(words, done.err), done.err
    assert len(done.err.strip().splitlines()) == 1
    assert "Traceback" not in done.err


def test_nothing_a_folder_and_two_kinds_are_refused(capture: Path, tmp_path: Path) -> None:
    counters = tmp_path / "counters.csv"
    counters.write_text("time,bytes\n0,0\n60,1000000\n120,3000000\n")
    for arguments, words in (
        ([], "allowed: files"),
        ([tmp_path], "directory"),
        ([capture, counters], "inputs of one kind"),
        ([tmp_path / "missing.pcap"], "missing.pcap"),
        ([capture, "--rate", "fast"], "--rate"),
    ):
        done = forebay("observe", *arguments)
        assert done.code == 2, arguments
        assert words in done.err
        assert len(done.err.strip().splitlines()) == 1


def test_inputs_are_recognized_by_their_first_bytes(capture: Path, tmp_path: Path) -> None:
    assert find_input(capture).kind is Kind.CAPTURE
    for content, kind in (
        ("ts,te,td,sa,da,sp,dp,pr,flg,ipkt,ibyt\n", Kind.RECORDS),
        ('{"src_ip": "a", "dst_ip": "b", "bytes": 3}\n', Kind.RECORDS),
        ("time,bytes,packets,drops\n0,0,0,0\n", Kind.COUNTERS),
        ('node_network_transmit_bytes_total{device="eth0"} 1 1600000000000\n', Kind.COUNTERS),
        ("ESTAB 0 0 a:1 b:2\n\t cubic wscale:7,7 rto:204 rtt:3.5/1.2 mss:1448 cwnd:10\n", Kind.SOCKETS),
    ):
        path = tmp_path / "input"
        path.write_text(content)
        assert find_input(path).kind is kind, content
    with pytest.raises(InputError):
        find_input(tmp_path)


def test_counters_and_sockets_are_findings_too(tmp_path: Path) -> None:
    counters = tmp_path / "counters.csv"
    rows = "".join(f"{60 * minute},{minute * 37_500_000},{minute * 25_000},{minute * 3}\n" for minute in range(30))
    counters.write_text(f"time,bytes,packets,drops\n{rows}")
    data = json.loads(forebay("observe", counters, "--rate", "10Mbps", "--json").out)
    assert data["load"]["mean"]["value"] == pytest.approx(5e6, rel=0.03)
    assert data["limited"]["unknown"]
    out = tmp_path / "counters.toml"
    assert forebay("observe", counters, "--rate", "10Mbps", "--out", out).code == 0
    Scenario.load(out, ["link.buffer=100p"])
    sockets = tmp_path / "dump.txt"
    sockets.write_text(
        "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n"
        "ESTAB 0 0 10.0.0.1:5201 10.0.0.2:40000\n"
        "\t cubic wscale:7,7 rto:230 rtt:29.1/1.2 mss:1448 cwnd:40 bytes_sent:9000000 bytes_acked:9000000 "
        "busy:4000ms minrtt:25.2\n"
    )
    both = forebay("observe", counters, "--ss", sockets)
    assert both.code == 2
    assert "found sockets and 1 other input; allowed: only sockets" in both.err
    data = json.loads(forebay("observe", "--ss", sockets, "--json").out)
    (group,) = data["groups"]
    assert group["round_trips"]["each"][0]["value"] == pytest.approx(0.0252)
    assert group["controller"] == {"cubic": 1.0}


def test_observed_is_typed() -> None:
    assert {"rate", "limited", "queue", "load_bps"} <= set(Observed.__dataclass_fields__)


COUNTED = """time,port,out_octets,out_packets
2026-01-01T00:00:00Z,eth0,0,0
2026-01-01T00:01:00Z,eth0,75000000,50000
2026-01-01T00:02:00Z,eth0,150000000,100000
2026-01-01T00:00:00Z,eth1,0,0
2026-01-01T00:01:00Z,eth1,7500000,5000
2026-01-01T00:02:00Z,eth1,15000000,10000
"""
RECORDED = """ts,te,sa,da,sp,dp,pr,ipkt,ibyt,out
2026-01-01 00:00:00,2026-01-01 00:05:10,10.0.0.1,10.0.0.2,1000,80,TCP,1000,1500000,3
2026-01-01 00:00:01,2026-01-01 00:05:12,10.0.0.1,10.0.0.3,1000,80,TCP,1000,1500000,4
2026-01-01 00:00:02,2026-01-01 00:05:30,10.0.0.5,10.0.0.3,1000,80,TCP,1000,1500000,4
"""


def test_one_port_of_several_is_meant(tmp_path: Path) -> None:
    counters, records = tmp_path / "counters.csv", tmp_path / "records.csv"
    counters.write_text(COUNTED)
    records.write_text(RECORDED)
    loads = {}
    for port in ("eth0", "eth1"):
        done = forebay("observe", counters, "--port", port, "--json")
        assert done.code == 0, done.err
        loads[port] = json.loads(done.out)["load"]["mean"]["value"]
    assert loads == {"eth0": pytest.approx(10e6), "eth1": pytest.approx(1e6)}
    for options, statements in (
        ((), "3 of 3 flows"),
        (("--port", "3"), "1 of 1 flows"),
        (("--port", "4"), "2 of 2 flows"),
        (("--sampling", "100"), "one packet in 100 was sampled"),
    ):
        done = forebay("observe", records, *options)
        assert done.code == 0, done.err
        assert statements in done.out
    for arguments, statements in (
        ((counters,), "--port: "),
        ((counters, "--port", "eth2"), "allowed: `eth0`, `eth1`"),
        ((counters, "--sampling", "10"), "--sampling: found 10 with counters"),
        ((records, "--port", "9"), "none of interface 9; allowed: 3, 4"),
        ((records, "--port", "eth0"), "allowed: the number of an output interface"),
    ):
        done = forebay("observe", *arguments)
        assert done.code == 2
        assert statements in done.err
        assert done.err.count("\n") == 1
