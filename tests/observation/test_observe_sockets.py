"""Sockets: what `ss` of several versions prints is understood, dumps are compared, what is not known is counted."""

# ruff: noqa: E501 - what ss prints

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay import InputError
from forebay.observation import sockets
from forebay.observation.estimate import IntervalEstimate, Unknown
from forebay.observation.finding import AppLimited, Persistent
from forebay.observation.inputs.sockets import sockets_finding
from forebay.observation.socket_dumps import Socket

HEADER = "State   Recv-Q   Send-Q     Local Address:Port      Peer Address:Port   Process\n"

#: iproute2 6.1 on Linux 6.1, `ss -tinem`.
NEW = (
    HEADER
    + """\
ESTAB   0        1448000    192.0.2.1:443           198.51.100.7:51234   timer:(on,204ms,0) uid:33 ino:1234 sk:1001 cgroup:/system.slice/web.service <->
\t skmem:(r0,rb131072,t0,tb2626560,f3072,w1445888,o0,bl0,d0) ts sack ecn cubic wscale:7,7 rto:236 rtt:35.123/1.5 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:120 ssthresh:80 bytes_sent:50000000 bytes_retrans:500000 bytes_acked:48000000 bytes_received:800 segs_out:34600 segs_in:17000 data_segs_out:34530 data_segs_in:4 send 39.6Mbps lastsnd:4 lastrcv:9000 lastack:4 pacing_rate 47.5Mbps delivery_rate 38.2Mbps delivered:34100 busy:10000ms rwnd_limited:120ms(1.2%) unacked:110 retrans:1/345 lost:2 sacked:12 dsack_dups:3 reordering:9 reord_seen:4 rcv_space:14600 rcv_ssthresh:64076 notsent:1288000 minrtt:20.25 snd_wnd:3145728
ESTAB   0        0          192.0.2.1:443           [2001:db8::7]:51235  uid:33 ino:1235 sk:1002 <->
\t skmem:(r0,rb131072,t0,tb87040,f0,w0,o0,bl0,d0) bbr wscale:8,7 rto:204 rtt:40.5/0.25 mss:1428 pmtu:1500 rcvmss:536 advmss:1448 cwnd:40 bytes_sent:9000000 bytes_acked:9000001 segs_out:6400 segs_in:3000 data_segs_out:6300 bbr:(bw:11.2Mbps,mrtt:40.1,pacing_gain:1,cwnd_gain:2) send 11.3Mbps lastsnd:80 pacing_rate 11.1Mbps delivery_rate 11.0Mbps delivered:6301 app_limited busy:6500ms sndbuf_limited:6000ms(92.3%) rcv_space:14480 rcv_ssthresh:64088 minrtt:40.1
ESTAB   0        300        192.0.2.1:443           198.51.100.9:51236   uid:33 ino:1236 sk:1003 <->
\t skmem:(r0,rb131072,t0,tb87040,f0,w0,o0,bl0,d0) sack cubic wscale:2,7 rto:300 rtt:90/10 mss:1400 cwnd:60 ssthresh:50 bytes_sent:2000000 bytes_acked:1990000 data_segs_out:1500 send 7.46Mbps delivery_rate 5Gbps busy:4000ms rwnd_limited:3600ms(90.0%) unacked:5 rcv_space:14600 minrtt:80.5 some_new:7 brand-new thing
LISTEN  0        128        0.0.0.0:443             0.0.0.0:*            ino:1 sk:4
\t skmem:(r0,rb131072,t0,tb16384,f0,w0,o0,bl0,d0) cubic cwnd:10
"""
)  # fmt: skip

#: iproute2 3.x on Linux 3.10: no bytes, no minrtt, rates without a word.
OLD = """\
State      Recv-Q Send-Q Local Address:Port               Peer Address:Port
ESTAB      0      0      192.0.2.1:22                 198.51.100.7:40000
\t cubic wscale:7,7 rto:236 rtt:35.25/17.5 ato:40 mss:1448 cwnd:10 ssthresh:7 send 3.3Mbps unacked:1 retrans:0/2 rcv_rtt:3 rcv_space:28960
"""


def test_every_fact_is_read() -> None:
    found = sockets.read_sockets(NEW)
    assert found.dumps == 1
    assert found.sockets[0] == Socket(
        number=0, state="ESTAB", controller="cubic", rto_s=0.236, rtt_s=pytest.approx(0.035123), rtt_deviation_s=0.0015,
        minrtt_s=0.02025, lastsnd_s=0.004, mss=1448, rcv_space=14600, cwnd=120, ssthresh=80, unacked=110, retransmitting=1,
        retransmitted=345, lost=2, bytes_sent=50_000_000, bytes_acked=48_000_000, bytes_retrans=500_000,
        data_segs_out=34_530, delivery_bps=38.2e6, pacing_bps=47.5e6, busy_s=10, rwnd_limited_s=0.12,
    )  # fmt: skip
    second, third = found.sockets[1:]
    assert (second.controller, second.app_limited, second.sndbuf_limited_s) == ("bbr", True, 6)
    assert second.sndbuf_limited_share == pytest.approx(0.923, abs=1e-3)
    assert (third.delivery_bps, third.rwnd_limited_share) == (5e9, 0.9)
    assert found.ignored == {"some_new": 1, "brand-new": 1, "thing": 1}


def test_groups_are_of_controllers() -> None:
    found = sockets.read_sockets(NEW)
    assert found.controllers == ("cubic", "bbr")
    assert [each.controller for each in found.sockets] == ["cubic", "bbr", "cubic"]
    assert found.limits == ("congestion", "sender's buffer", "receiver")
    assert [each.minrtt_s for each in found.sockets] == pytest.approx([0.02025, 0.0401, 0.0805])
    assert [each.retransmission_rate for each in found.changes] == pytest.approx([500_000 / 50_000_000, 0, 0])
    assert found.changes[1].rate_bps == pytest.approx(9_000_001 * 8 / 6.5)
    assert {"flows of other hosts", "rates over time"} <= {each.quantity for each in found.unknown}


def test_old_versions_say_less() -> None:
    found = sockets.read_sockets(OLD)
    assert found.sockets[0].rtt_s == 0.03525
    assert found.sockets[0].retransmitted == 2
    assert found.controllers == ("cubic",)
    assert found.sockets[0].minrtt_s is None
    assert "base round trips" in {each.quantity for each in found.unknown}
    assert found.ignored == {}


def dump(when: str, acked: float, busy: float, repeated: float = 0, *, limited: str = "", port: int = 51000) -> str:
    return (
        f"{when}{HEADER}ESTAB 0 0 192.0.2.1:443 198.51.100.7:{port}\n\t cubic wscale:7,7 rto:236 rtt:35/1 mss:1448 cwnd:9 "
        f"bytes_sent:{acked + repeated:.0f} bytes_retrans:{repeated:.0f} bytes_acked:{acked:.0f} data_segs_out:{acked / 1448:.0f} "
        f"busy:{busy * 1000:.0f}ms {limited} minrtt:30\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2026-11-23 16:00:00\n", "2026-11-23 16:00:10\n"),
        ("2026-11-23T16:00:00.5+01:00\n", "2026-11-23T15:00:10.5Z\n"),
        ("Mon Nov 23 16:00:00 UTC 2026\n", "Mon Nov 23 16:00:10 UTC 2026\n"),
        ("1795449600.25\n", "1795449610.25\n"),
        ("# 1795449600\n", "# 1795449610\n"),
    ],
)
def test_what_happened_between_dumps(first: str, second: str) -> None:
    text = dump(first, 1e6, 5) + dump(second, 11e6, 12, 2e6)
    found = sockets.read_sockets(text)
    assert (found.dumps, len(found.sockets)) == (2, 1)
    change = found.changes[0]
    assert change.seconds == 10
    assert change.rate_bps == 8e6
    assert change.retransmission_rate == pytest.approx(2 / 12)
    assert found.limits == ("congestion",)
    assert "rates between dumps" not in {each.quantity for each in found.unknown}


def test_a_connection_is_watched_from_its_first_packet_on() -> None:
    """Ss names no bytes before there are any (captured with Linux 6.18 and iproute2 6.1)."""
    opening = (
        "2026-11-23T22:02:00,251000062+00:00\n"
        + HEADER
        + "SYN-SENT 0      1         198.18.0.1:47448   198.18.1.1:5201\n"
        "\t cubic rto:1000 mss:524 pmtu:1500 rcvmss:88 advmss:1460 cwnd:10 segs_out:1 app_limited unacked:1\n"
    )
    later = (
        "2026-11-23T22:02:10,251000062+00:00\n" + HEADER + "ESTAB 0      0         198.18.0.1:47448   198.18.1.1:5201\n"
        "\t cubic wscale:11,11 rto:284 rtt:80.222/0.233 mss:1448 cwnd:133 bytes_sent:20020000 bytes_retrans:20000"
        " bytes_acked:20000001 data_segs_out:13826 busy:9900ms retrans:0/14 minrtt:40.349\n"
    )
    found = sockets.read_sockets(opening + later)
    [change] = found.changes
    assert (change.acknowledged, change.seconds) == (20_000_001, 10)
    assert change.rate_bps == pytest.approx(16e6)
    assert change.retransmission_rate == pytest.approx(1e-3, rel=2e-3)
    assert found.limits == ("congestion",)


def test_dumps_without_dates_have_rates_while_busy() -> None:
    text = dump("", 1e6, 5) + dump("", 11e6, 9)
    for each in (text, text.replace(HEADER, "")):
        found = sockets.read_sockets(each)
        assert found.dumps == 2
        assert found.changes[0].seconds is None
        assert found.changes[0].rate_bps == 20e6
        assert "rates between dumps" in {each.quantity for each in found.unknown}


def test_what_limits_a_connection() -> None:
    def limit(busy: float, limited: str = "") -> str:
        text = dump("1795449600\n", 1e6, 5) + dump("1795449610\n", 11e6, 5 + busy, limited=limited)
        [limit] = sockets.read_sockets(text).limits
        return limit

    assert limit(10) == "congestion"
    assert limit(4) == "application"
    assert limit(10, "app_limited") == "application"
    assert limit(10, "rwnd_limited:5100ms(30%)") == "receiver"
    assert limit(10, "rwnd_limited:4900ms(30%)") == "congestion"
    assert limit(10, "sndbuf_limited:5100ms(30%)") == "sender's buffer"
    # A kernel before 4.10 does not say how long it was busy: that is no idleness.
    old = re.sub(r"busy:\S+", "", dump("1795449600\n", 1e6, 5) + dump("1795449610\n", 11e6, 15))
    assert sockets.read_sockets(old).limits == ("congestion",)


def test_connections_that_come_and_go() -> None:
    text = dump("1795449600\n", 1e6, 5) + dump("1795449610\n", 3e6, 2, port=51001)
    found = sockets.read_sockets(text)
    assert (found.dumps, len(found.sockets)) == (2, 2)
    assert [each.seconds for each in found.changes] == [None, None]
    assert [each.rate_bps for each in found.changes] == [1.6e6, 12e6]


@pytest.mark.parametrize("begin", ["", "tcp   ESTAB   "])
def test_other_columns(begin: str) -> None:
    """`ss state established` prints no states, `ss -in` the network first."""
    text = NEW.replace("ESTAB   ", begin).replace("LISTEN", "tcp LISTEN")
    text += "udp   UNCONN 0 0 192.0.2.1:53 0.0.0.0:*\n\t skmem:(r0)\n"
    found = sockets.read_sockets(text)
    assert found.sockets == sockets.read_sockets(NEW).sockets
    joined = re.sub(r"\n\t", " ", NEW)  # -O
    assert sockets.read_sockets(joined).sockets == found.sockets


def test_addresses_are_not_stored() -> None:
    assert not re.search(r"\d+\.\d+\.\d+\.\d+|[0-9a-f]*::", repr(sockets.read_sockets(NEW + "10.0.0.1 10.0.0.2:7 x\n")))


@pytest.mark.parametrize("text", ["", "\n\n", HEADER, "hello", "Mon Nov 23 16:00:00 UTC 2026\n", HEADER * 3])
def test_nothing_is_one_line(text: str) -> None:
    with pytest.raises(InputError, match=r"dump\.txt: found no connection; allowed: the output of `ss -tin`"):
        sockets.read_sockets(text, "dump.txt")


@given(
    changes=st.lists(st.tuples(st.floats(0, 1), st.text(max_size=5)), max_size=6),
    start=st.one_of(st.none(), st.text(max_size=300)),
)
def test_garbage_is_one_line_or_an_answer(changes: list[tuple[float, str]], start: str | None) -> None:
    text = start if start is not None else NEW + dump("1795449600\n", 1e6, 5) + dump("1795449610\n", 3e6, 8)
    for share, patch in changes:
        at = int(share * len(text))
        text = text[:at] + patch + text[at + len(patch) :]
    try:
        found = sockets.read_sockets(text)
    except InputError as error:
        found = None
        message = str(error)
    if found is None:
        assert "\n" not in message
        return
    assert len(found.sockets) == len(found.changes) == len(found.limits)


def test_this_machine_s_sockets_are_understood() -> None:
    program = shutil.which("ss")
    if program is None:
        pytest.skip("no ss")
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        with closing(client), closing(accepted):
            for _ in range(20):
                client.sendall(b"x" * 10_000)
                left = 10_000
                while left:
                    left -= len(accepted.recv(left))
            address = f"sport = :{client.getsockname()[1]}"
            for options in ("-tin", "-tino", "-tinem"):
                done = subprocess.run([program, options, address], capture_output=True, text=True, check=True)
                if "\n" not in done.stdout.strip():
                    pytest.skip("ss sees no sockets here")
                found = sockets.read_sockets(done.stdout)
                assert len(found.sockets) == 1
                mine = found.sockets[0]
                controller = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
                assert mine.controller == controller
                assert mine.bytes_acked == pytest.approx(200_000, abs=10_001)
                assert mine.rtt_s is not None
                assert mine.minrtt_s is not None
                assert 0 < mine.minrtt_s < 0.1
                assert found.ignored == {}


def test_what_an_application_holds_back_is_not_always_sending() -> None:
    held = [dump("", 1e6, 1, limited="app_limited", port=port).replace(HEADER, "") for port in (1, 2)]
    idle = dump("", 1e6, 1, port=3).replace(HEADER, "").replace("minrtt", "lastsnd:9000 minrtt")
    free = [dump("", 9e6, 4, port=port).replace(HEADER, "") for port in range(4, 9)]
    found = sockets_finding(sockets.read_sockets(HEADER + "".join([*held, idle, *free])), Unknown("link rate", "", ""))
    kinds = {group.limited_by: (group.workload, group.count) for group in found.groups}
    workload, count = kinds["application"]
    assert isinstance(workload, AppLimited)
    # One dump tells how fast the connections were while they were busy, which is more than the mean.
    assert (workload.rate.is_bounded, workload.rate.value) == (False, 8e6)
    assert isinstance(count, IntervalEstimate)
    assert count.value == 3
    workload, count = kinds["unknown"]
    assert isinstance(workload, Persistent)
    assert isinstance(count, IntervalEstimate)
    assert count.value == 5
