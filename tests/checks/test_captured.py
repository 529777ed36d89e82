"""Programs' readings of captures of real kernels, and the comparison of them with each other."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

import pytest

from checks.bench.observing import repeated
from checks.captured import Compared, LinkFinding, capture, compared, link_findings, seen, tables
from checks.captured_cases import Case
from checks.captured_readings import PROGRAMS, controllers, of_sockets, ours, ports
from checks.observed_places import PLACES
from tests.support.packets import ORIGIN, PACKET, segment
from tests.support.packets import capture as written

pytestmark = pytest.mark.real_time

#: Two dumps of iproute2 6.1 on Linux 6.18; the first socket is gone in the second one.
SOCKETS = """\
2026-11-23T22:02:00,510973189+00:00
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      178104    198.18.0.1:47446   198.18.1.1:5201
\t cubic wscale:11,11 rto:252 rtt:49.254/4.756 mss:1448 bytes_sent:356208 bytes_acked:240369 minrtt:40.349 snd_wnd:1
ESTAB 0      178104    198.18.0.1:47448   198.18.1.1:5201
\t bbr wscale:11,11 rto:252 rtt:49.254/4.756 mss:1448 cwnd:80 bytes_sent:356208 bytes_acked:240369 minrtt:40.349
2026-11-23T22:02:12,874411359+00:00
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0         198.18.0.1:47448   198.18.1.1:5201
\t bbr wscale:11,11 rtt:80.222/0.233 mss:1448 bytes_sent:28783336 bytes_retrans:13032 bytes_acked:28770305 retrans:0/9 minrtt:40.349 snd_wnd:1673216
"""  # noqa: E501 - what ss prints


def transfer(folder: Path) -> Path:
    """Ten segments of which the fourth comes twice, from port 40000."""
    opening = bytearray(segment(0, 0))
    opening[33] = 0x02
    packets = [(ORIGIN, bytes(opening), 40)]
    for place, number in enumerate((0, 1, 2, 3, 4, 5, 3, 6, 7, 8, 9), 1):
        packets.append((ORIGIN + place * 1_000_000, segment(1 + number * 1460, 1460), PACKET))
    return written(folder / "transfer.pcap", packets)


def test_the_last_dump_counts_and_the_syn_does_not() -> None:
    assert of_sockets(SOCKETS) == {
        47448: {
            "unique bytes": 28_770_304, "repeated packets": 9, "repeated bytes": 13_032,
            "least round trip": pytest.approx(0.040349), "segment": 1448, "largest window": 1_673_216,
        }
    }  # fmt: skip
    assert controllers(SOCKETS) == {47446: "cubic", 47448: "bbr"}


def test_our_own_reading_is_by_port(tmp_path: Path) -> None:
    file = transfer(tmp_path)
    assert ports(file) == [40000]
    read = ours(file)
    assert read[0]["packets of the file"] == 12
    row = read[40000]
    assert (row["packets"], row["unique bytes"], row["repeated packets"]) == (12, 14_600, 1)
    assert (row["IP bytes"], row["segment"]) == (40 + 11 * PACKET, 1460)


@pytest.mark.parametrize("program", list(PROGRAMS))
def test_other_programs_count_the_same(program: str, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"no {program} is installed")
    file = transfer(tmp_path)
    here, there = ours(file), PROGRAMS[program](file)
    same = [(port, what) for port, row in there.items() for what in row if what in here[port]]
    assert len(same) >= 2
    for port, what in same:
        if "round trip" not in what and "flight" not in what and "window" not in what:
            assert there[port][what] == pytest.approx(here[port][what], rel=1e-3), what


def test_what_is_counted_is_equal_and_what_is_measured_nearly() -> None:
    def agrees(what: str, ours: float, theirs: float, program: str = "tshark") -> bool:
        return Compared("case", "sender", what, program, 1, ours, theirs).agrees

    assert agrees("packets", 7.0, 7.0)
    assert not agrees("packets", 1e6, 1e6 + 1)
    assert agrees("least round trip", 0.0400, 0.0401)
    assert not agrees("least round trip", 0.0400, 0.0410)
    # It prints tenths of milliseconds.
    assert agrees("least round trip", 4e-6, 0.0, "tcptrace")


def test_each_finding_is_right_unknown_or_off() -> None:
    rows = [
        LinkFinding("a", "sender", "link rate", 20e6, None),
        LinkFinding("a", "receiver", "link rate", 20e6, 20.1e6),
        LinkFinding("b", "receiver", "link rate", 20e6, 21e6),
        LinkFinding("b", "both", "buffer", 12_000.0, 13_500.0),
        LinkFinding("b", "both", "limit", "link", "its receiver"),
    ]
    assert [each.is_right for each in rows] == [True, True, False, True, False]
    text = tables([Compared("a", "sender", "packets", "tshark", 1, 5, 5)], rows)
    assert "| link rate | 2% | 0 of 0, 1 unknown | 1 of 2 |" in text
    assert "| b | both | limit | link | its receiver |" in text
    assert "| packets | nothing | 1 of 1 |" in text


def test_a_capture_is_repeated_under_other_ports(tmp_path: Path) -> None:
    file = repeated(transfer(tmp_path), tmp_path / "again.pcap", packets=40)
    assert ports(file) == [40000, 40001, 40002, 40003]
    read = ours(file)
    assert read[0]["packets of the file"] == 48
    assert {read[port]["unique bytes"] for port in ports(file)} == {14_600}
    stamps = []
    data = file.read_bytes()
    at = 24
    while at < len(data):
        seconds, nanoseconds, retained, _ = struct.unpack_from("<IIII", data, at)
        stamps.append(seconds * 10**9 + nanoseconds)
        at += 16 + retained
    assert stamps == sorted(stamps)


@pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/net/tun").exists() or shutil.which("tcpdump") is None,
    reason="needs root, /dev/net/tun and tcpdump",
)
def test_a_real_kernel_s_socket_is_observed_as_it_was(tmp_path: Path) -> None:
    case = Case(10e6, 0.02, 25_000.0, [{"controller": "cubic"}], ["link"], seconds=4.0)
    capture(case, tmp_path)
    pairs = compared("short", tmp_path)
    exact = {"packets", "IP bytes", "unique bytes", "repeated packets", "repeated bytes", "segment"}
    of_the_sender = [each for each in pairs if each.side == "sender" and each.quantity in exact]
    assert len(of_the_sender) >= 4
    assert all(each.agrees for each in of_the_sender), [each for each in of_the_sender if not each.agrees]
    statements = link_findings("short", case, tmp_path)
    assert {each.found for each in statements if each.quantity == "place"} == {"before the queue", "behind the queue"}
    wrong = [
        each
        for each in statements
        if each.quantity in {"limited flows", "limit", "base round trip"} and not each.is_right
    ]
    assert wrong == []
    places = seen("short", case, tmp_path)
    assert [each.place for each in places] == list(PLACES)
    assert all(each.is_right for each in places), places
    assert places[2].stated is not None, "behind the queue the rate is seen"
    assert places[1].stated is None, "before it is not"
