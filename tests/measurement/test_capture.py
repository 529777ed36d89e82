"""`packets.pcapng`: what a reader of captures sees of a link, read back block by block."""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from forebay import Scenario
from forebay.measurement.traces import write_traces

#: Data of one group and acknowledgments of the other cross the target link, which is often full.
TWO_WAY = """
[[links]]
name = "down"
rate = "5Mbps"
buffer = "12p"
target = true
[[links]]
name = "up"
rate = "5Mbps"
buffer = "12p"
[[flows]]
name = "there"
count = 2
cca = "cubic"
stack = "linux"
rtt = "30ms"
packet = "1500B"
path = ["down"]
reverse = ["up"]
[[flows]]
name = "back"
count = 2
stack = "linux"
rtt = "40ms"
packet = "1500B"
path = ["up"]
reverse = ["down"]
[[flows]]
name = "noise"
packet = "500B"
path = ["down"]
workload = { poisson = { rate = "500kbps" } }
[run]
warmup = "0s"
measure = "4s"
[trace]
record = ["packets"]
"""


@dataclass(frozen=True)
class Segment:
    """A packet of a capture."""

    interface: int
    time: int
    length: int
    protocol: int
    source: tuple[bytes, int]
    target: tuple[bytes, int]
    sequence: int
    acknowledged: int
    flags: int
    payload: int
    comment: str
    inbound: bool | None
    identification: int
    window: int
    options: dict[int, bytes]


def options(data: bytes) -> dict[int, bytes]:
    found = {}
    while data:
        code, length = struct.unpack_from("<HH", data)
        if code == 0:
            break
        found[code] = data[4 : 4 + length]
        data = data[4 + (length + 3) // 4 * 4 :]
    return found


def tcp_options(data: bytes) -> dict[int, bytes]:
    found = {}
    while data:
        if data[0] == 1:
            data = data[1:]
            continue
        found[data[0]] = data[2 : data[1]]
        data = data[data[1] :]
    return found


def checksum(header: bytes) -> int:
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def segment(body: bytes) -> Segment:
    interface, high, low, captured, original = struct.unpack_from("<IIIII", body)
    data = body[20 : 20 + captured]
    assert data[0] == 0x45
    assert checksum(data[:20]) == 0xFFFF
    (length,) = struct.unpack_from(">H", data, 2)
    assert length == original
    protocol = data[9]
    ports = struct.unpack_from(">HH", data, 20)
    sequence = acknowledged = flags = payload = window = 0
    tcp: dict[int, bytes] = {}
    if protocol == 6:
        sequence, acknowledged = struct.unpack_from(">II", data, 24)
        flags = data[33]
        (window,) = struct.unpack_from(">H", data, 34)
        tcp = tcp_options(data[40:])
        payload = length - 20 - 4 * (data[32] >> 4)
        assert captured == 20 + 4 * (data[32] >> 4), "the headers, and nothing else"
    else:
        assert protocol == 17
        assert struct.unpack_from(">H", data, 24) == (length - 20,)
    stated = options(body[20 + (captured + 3) // 4 * 4 :])
    return Segment(
        interface,
        high << 32 | low,
        length,
        protocol,
        (data[12:16], ports[0]),
        (data[16:20], ports[1]),
        sequence,
        acknowledged,
        flags,
        payload,
        stated.get(1, b"").decode(),
        {0: None, 1: True, 2: False}[int.from_bytes(stated.get(2, b""), "little")],
        int.from_bytes(data[4:6]),
        window,
        tcp,
    )


def read(path: Path) -> tuple[list[str], list[Segment]]:
    """Names of the interfaces, and the packets in the order of the file."""
    data, names, packets = path.read_bytes(), [], []
    kinds = []
    while data:
        kind, length = struct.unpack_from("<II", data)
        assert length % 4 == 0
        assert struct.unpack_from("<I", data, length - 4) == (length,)
        body, data = data[8 : length - 4], data[length:]
        kinds.append(kind)
        if kind == 1:
            block_options = options(body[8:])
            assert struct.unpack_from("<H", body) == (101,), "raw IP"
            assert block_options[9] == b"\x09", "nanoseconds"
            names.append(block_options[2].decode())
        elif kind == 6:
            packets.append(segment(body))
    assert kinds[0] == 0x0A0D0D0A
    assert kinds.count(0x0A0D0D0A) == 1
    assert kinds == [kinds[0], *[1] * len(names), *[6] * len(packets)]
    return names, packets


def capture(tmp_path: Path, where: str = "") -> tuple[list[str], list[Segment], pl.DataFrame]:
    scenario = Scenario.parse(TWO_WAY + (f'capture = "{where}"\n' if where else ""))
    write_traces(scenario.run(traces=True, replications=1), tmp_path)
    return *read(tmp_path / "packets.pcapng"), pl.read_parquet(tmp_path / "packets.parquet")


@pytest.mark.parametrize(("where", "names"), [("", ["departures"]), ("arrivals", ["arrivals"])])
def test_one_interface_sees_each_packet_once(tmp_path: Path, where: str, names: list[str]) -> None:
    found, packets, table = capture(tmp_path, where)
    assert found == names
    assert {packet.interface for packet in packets} == {0}
    times = [packet.time for packet in packets]
    assert times == sorted(times)
    retained = table if where else table.filter(~pl.col("dropped"))
    assert len(packets) == retained.height
    assert table["dropped"].sum() > 10
    assert sum(packet.length for packet in packets) == retained["bytes"].sum()
    dropped = [packet for packet in packets if packet.comment]
    assert len(dropped) == (table["dropped"].sum() if where else 0)
    if not where:
        # Never faster than the link: each begins when the one before is gone.
        gone = [time + round(8e9 * packet.length / 5e6) for time, packet in zip(times, packets, strict=True)]
        assert all(begins >= ends - 2 for begins, ends in zip(times[1:], gone[:-1], strict=True))


def test_both_interfaces_are_the_two_in_one_file(tmp_path: Path) -> None:
    names, both, _ = capture(tmp_path / "both", "both")
    assert names == ["arrivals", "departures"]
    assert [packet.time for packet in both] == sorted(packet.time for packet in both)
    for number, where in enumerate(names):
        _, alone, _ = capture(tmp_path / where, where)
        assert [packet.time for packet in both if packet.interface == number] == [packet.time for packet in alone]


def test_connections_read_as_tcp_does(tmp_path: Path) -> None:
    """Sequence numbers of data follow the SYN without a hole but losses; acknowledgments only rise, the other way."""
    _, packets, table = capture(tmp_path)
    sent, acknowledged = defaultdict(list), defaultdict(list)
    for packet in packets:
        if packet.protocol == 17:
            continue
        (sent if packet.target[1] == 5001 else acknowledged)[packet.source, packet.target].append(packet)
    assert len(sent) == len(acknowledged) == 2
    assert not {(target, source) for source, target in sent} & set(acknowledged), "no connection both ways"
    for flow in sent.values():
        assert flow[0].flags == 2
        (first,) = {packet.sequence for packet in flow if packet.flags == 2}
        data = [packet for packet in flow if packet.flags != 2]
        assert {packet.payload for packet in data} == {1448}
        places = {(packet.sequence - first - 1) / 1448 for packet in data}
        assert all(place.is_integer() for place in places), "on the grid of full packets"
        # A loss in the last half second may remain without a repair.
        recent = [packet for packet in data if packet.time > data[-1].time - 500_000_000]
        known = min((packet.sequence - first - 1) / 1448 for packet in recent)
        assert known > 100
        assert set(range(int(known))) <= places, "every byte crosses in the end"
    for flow in acknowledged.values():
        assert flow[0].flags == 0x12
        assert all(packet.flags == 0x10 and packet.payload == 0 for packet in flow if packet.sequence == 1)
        numbers = [packet.acknowledged for packet in flow]
        assert numbers == sorted(numbers)
        assert (numbers[-1] - numbers[0]) % 1448 == 0
        assert numbers[-1] - numbers[0] > 100_000
    assert table.filter(pl.col("ack"))["group"].unique().to_list() == [1]


def timestamps(packet: Segment) -> tuple[int, int]:
    value, echo = struct.unpack(">II", packet.options[8])
    return value, echo


def test_both_directions_read_as_a_router_sees_them(tmp_path: Path) -> None:
    """The round trips in timestamps, and in data and acknowledgments, are the scenario's plus the queueing delay."""
    text = TWO_WAY.replace('reverse = ["up"]', 'reverse = ["up"]\nreceive_window = "200p"')
    scenario = Scenario.parse(text + 'acknowledgments = true\ncapture = "both"\n')
    report = scenario.run(traces=True, replications=1)
    write_traces(report, tmp_path)
    names, packets = read(tmp_path / "packets.pcapng")
    assert names == ["arrivals", "departures"]
    both = [packet for packet in packets if packet.protocol == 6 and packet.interface != 0]
    # A packet of the link leaves through its port, and a packet of the reverse path enters; on arrival it is the
    # reverse.
    outward = {
        (packet.interface, packet.source, packet.target, packet.identification): packet.inbound for packet in packets
    }
    assert set(outward.values()) == {True, False}
    for (port, *whose), inbound in outward.items():
        assert outward.get((1 - port, *whose), not inbound) is not inbound
    flows = defaultdict(list)
    for packet in both:
        there = packet.target[1] == 5001
        flows[packet.source if there else packet.target].append((there, packet))
    whole = [flow for flow in flows.values() if len({there for there, _ in flow}) == 2]
    assert len(whole) == 2, "of the others only acknowledgments cross the link"
    for flow in whole:
        (_, syn), (_, answer) = flow[:2]
        assert (syn.flags, answer.flags) == (2, 0x12)
        for packet in (syn, answer):
            assert packet.options[2] == (1460).to_bytes(2)
            assert packet.options[4] == b""
            assert packet.options[3] == b"\x03", "200 packets of 1448 bytes in 16 bits"
        check_connection([item for item in flow if item[1].flags == 0x10])
        for direction in (True, False):
            numbers = [packet.identification for there, packet in flow if there == direction]
            assert len(set(numbers)) == len(numbers)
    # A packet on both sides of the queue is the same packet.
    arrivals = {(p.source, p.target, p.identification): p for p in packets if p.interface == 0 and p.protocol == 6}
    for packet in packets:
        if packet.interface == 1 and packet.protocol == 6:
            before = arrivals[packet.source, packet.target, packet.identification]
            assert (before.sequence, before.options) == (packet.sequence, packet.options)
            assert before.time <= packet.time


def check_connection(flow: list[tuple[bool, Segment]]) -> None:
    """Check a connection of 30 ms whose data crosses the link; its sender is at the link."""
    sent: dict[int, int] = {}
    stamped: dict[int, int] = {}
    heard: list[int] = []
    round_trips: list[int] = []
    most = blocks = 0
    for there, packet in flow:
        value, echo = timestamps(packet)
        if there:
            end = packet.sequence + packet.payload
            sent[end] = packet.time
            stamped.setdefault(value, packet.time)
            most = max(most, end)
            if heard:
                assert echo <= max(heard)
            continue
        heard.append(value)
        assert packet.acknowledged <= most, "acknowledged is only what was seen"
        assert packet.window << 3 == 200 * 1448
        if echo in stamped:
            # From the link to the sender's clock: what of the round trip is not the queue's.
            round_trips.append(packet.time - stamped[echo])
        edges = packet.options.get(5, b"")
        for low, high in struct.iter_unpack(">II", edges):
            assert low < high <= most
            blocks += 1
    assert blocks > 10
    assert min(round_trips) >= 30_000_000
    assert min(round_trips) < 36_000_000
