"""The contract of every input of observe: a valid sample becomes a finding, and damage one line or a finding."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from forebay import InputError
from forebay.observation.inputs.input import File, Head, Options, RefusedInput
from forebay.observation.inputs.recognition import find_input
from forebay.observation.inputs.registry import INPUTS
from forebay.observation.observing import observe
from tests.support.flow_exports import Record, v5
from tests.support.input_forms import BEGIN, BYTES, FLOWS, FORMS, NETBOX, RATES, STARTS, TIMES, queried, table


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def small_capture() -> bytes:
    """Twenty packets of UDP between two documentation addresses (RFC 5737), a millisecond apart, in IP alone."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    packets = [
        struct.pack("<IIII", 1_700_000_000, 1000 * at, 28, 1000)
        + struct.pack(">BBHHHBBH4s4s", 0x45, 0, 1000, at, 0, 64, 17, 0, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
        + struct.pack(">HHHH", 9, 5004, 980, 0)
        for at in range(20)
    ]
    return head + b"".join(packets)


def small_exports() -> bytes:
    made = [Record(BEGIN + at, BEGIN + at + 1, 1500, 1, 6, 24, "192.0.2.1", "192.0.2.2", 1000 + at, 80)
            for at in range(20)]  # fmt: skip
    return b"".join(v5(made))


#: A valid sample of each input that is read.
SAMPLES: dict[str, Callable[[], str | bytes]] = {
    **{name: make for name, (make, _) in FORMS.items()},
    **FLOWS,
    "a capture (pcap or pcapng)": small_capture,
    "nfdump's nfcapd": lambda: b"\xa5\x0c\x01\x00" + bytes(300),
    "packets of NetFlow or IPFIX": small_exports,
    "`ss -tin`": lambda: (
        "ESTAB 0 0 192.0.2.1:443 192.0.2.2:5000\n\t cubic wscale:7,7 rto:204 rtt:30/2 mss:1448 cwnd:10 "
        "bytes_acked:9000000 busy:4000ms minrtt:25\n"
    ),
    "NetBox's interfaces": lambda: NETBOX.format(speed="10 Mbps"),
    "a range query of Prometheus": lambda: queried(RATES / 8, ifName="Gi0/1"),
    "flow records in JSON": lambda: "".join(
        json.dumps({"first": at, "last": at + 1, "src_ip": "a", "dst_ip": "b", "bytes": 3000}) + "\n" for at in STARTS
    ),
    "counters in JSON": lambda: "".join(
        json.dumps({"time": when, "port": "eth0", "tx_bytes": size}) + "\n"
        for when, size in zip(TIMES, BYTES, strict=True)
    ),
    "counters in a table": lambda: table(RATES),
}
#: Samples that end in an error, and its words: what the machine lacks, or what must stand beside the input.
REFUSED_SAMPLES = {"nfdump's nfcapd": "nfdump", "NetBox's interfaces": "speeds of interfaces and no counter"}
#: How files begin that are known and not read.
STARTS_OF_REFUSED: dict[str, str | bytes] = {
    "an RRD": b"RRD\x000003\0" + bytes(50),
    "sysstat's own file (sa01)": b"\xd5\x96" + bytes(300),
    "`tc qdisc` without -j": "qdisc fq_codel 0: dev eth0 root refcnt 2 limit 10240p\n",
    "`ip link` without -j": "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc fq state UP\n",
    "a log of Zeek that is no conn.log": "#separator \\x09\n#path\tdns\n",
    "a file of SiLK": b"\xde\xad\xbe\xef" + bytes(100),
    "a file of Argus": b"\x83\x10" + bytes(100),
    "a capture of snoop": b"snoop\0" + bytes(100),
    "a capture of Microsoft's Network Monitor": b"GMBU" + bytes(100),
    "Parquet": b"PAR1" + bytes(100),
    "a workbook or an archive (ZIP)": b"PK\x03\x04" + bytes(100),
    "bzip2": b"BZh" + bytes(100),
    "xz": b"\xfd7zXZ" + bytes(100),
    "SQLite": b"SQLite format 3" + bytes(100),
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "PDF": b"%PDF-1.7\n",
    "a web page": "<!DOCTYPE html><html>",
    "iperf3's JSON": '{"start": {"test_start": {"protocol": "TCP"}}}',
    "packets as tcpdump prints them": "12:00:00.000001 IP 192.0.2.1.80 > 192.0.2.2.5000: Flags [.], ack 1\n",
    "packets as tshark prints them": '[{"_source": {"layers": {}}}]',
    "a dump of an RRD": "<rrd><version>0003</version></rrd>",
    "`show interfaces` of a router": "GigabitEthernet0/1 is up, line protocol is up\n",
    "`ifconfig`": "eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500\n",
    "/proc/net/dev": "Inter-|   Receive                    |  Transmit\n",
    "`ethtool -S`": "NIC statistics:\n     rx_packets: 5\n",
    "one walk of SNMP": "IF-MIB::ifHCOutOctets.3 = Counter64: 123456\n",
    "sflowtool's lines": "FLOW,192.0.2.1,5,6\n",
    "flow logs of AWS": "version account-id interface-id srcaddr\n",
    "MRTG's log": "1790000600 123 456\n1790000600 1000 2000 1100 2100\n",
    "collectd's CSV": "epoch,rx,tx\n1790000000,5,6\n",
    "history of Zabbix": "itemid,clock,value\n1,1790000000,5\n",
    "gnmic's flat print": "interfaces/interface[name=eth0]/state/counters/out-octets: 5\n",
    "a ping": "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n",
    "`ss` without -i": "Netid State Recv-Q Send-Q Local Address:Port Peer Address:Port\ntcp ESTAB 0 0 a:1 b:2\n",
    "`netstat`": "Proto Recv-Q Send-Q Local Address           Foreign Address         State\n",
}


def test_every_input_has_a_sample() -> None:
    refused = {each.name for each in INPUTS if isinstance(each, RefusedInput)}
    assert set(STARTS_OF_REFUSED) == refused
    assert set(SAMPLES) == {each.name for each in INPUTS} - refused


@pytest.mark.parametrize("name", [*SAMPLES, *STARTS_OF_REFUSED])
def test_an_input_accepts_its_sample_and_makes_a_finding_of_it(name: str, tmp_path: Path) -> None:
    [one] = [each for each in INPUTS if each.name == name]
    made = SAMPLES[name]() if name in SAMPLES else STARTS_OF_REFUSED[name]
    path = written(tmp_path / "input", made)
    assert one.accepts(Head(path.read_bytes()[: 64 * 1024]))
    if isinstance(one, RefusedInput):
        with pytest.raises(InputError, match=re.escape(f"found {name}, which is not read; {one.instead}")):
            observe([path])
    elif name in REFUSED_SAMPLES:
        with pytest.raises(InputError, match=REFUSED_SAMPLES[name]):
            observe([path])
    else:
        assert find_input(path) is one
        assert observe([path]).input.kind


@pytest.mark.parametrize("name", [each.name for each in INPUTS])
def test_a_damaged_file_is_one_line_or_a_finding(name: str, tmp_path: Path) -> None:
    """An empty file, noise, and a truncated sample, given to an input whether or not the input accepts them."""
    [one] = [each for each in INPUTS if each.name == name]
    made = SAMPLES[name]() if name in SAMPLES else STARTS_OF_REFUSED[name]
    whole = made.encode() if isinstance(made, str) else made
    noise = np.random.default_rng(5).bytes(3000)
    for content in (b"", noise, whole[: len(whole) // 2], whole[:-1], whole[:40]):
        path = written(tmp_path / "input", content)
        assert one.accepts(Head(content)) in (True, False)
        message = ""
        try:
            assert one.finding(one.read([File(path, one)], Options()), None).input.kind
        except InputError as error:
            message = str(error)
        assert "\n" not in message
