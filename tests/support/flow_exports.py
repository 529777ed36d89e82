"""Flows whose truth is known, and an exporter that writes records of them as routers do: for tests."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address

import numpy as np
from numpy.typing import NDArray

#: An instant of the exporter's clock, in seconds since 1970.
BEGIN = 1_790_000_000.0


@dataclass(frozen=True)
class Flow:
    """Packets of one flow: instants, and bytes of each."""

    source: str
    target: str
    source_port: int
    target_port: int
    times: NDArray[np.float64]
    packet: int
    protocol: int = 6

    @property
    def size(self) -> int:
        return self.packet * self.times.size


@dataclass(frozen=True)
class Record:
    """A flow record of an exporter."""

    start: float
    end: float
    bytes: int
    packets: int
    protocol: int
    flags: int
    source: str
    target: str
    source_port: int
    target_port: int
    input: int = 1
    output: int = 2


def flows(
    seed: int, seconds: float, short_per_s: float, long: int, packet: int = 1500, cluster: int = 10
) -> list[Flow]:
    """Short flows as a Poisson process with lognormal sizes, and long ones of minutes; packets come in clusters."""
    rng = np.random.default_rng(seed)
    made = []
    count = int(rng.poisson(short_per_s * seconds))
    starts = np.sort(rng.uniform(0, seconds, count))
    for at, start in enumerate(starts):
        packets = max(1, int(rng.lognormal(2.5, 1.2)))
        lasting = packets * rng.uniform(0.01, 0.1)
        times = start + np.sort(rng.uniform(0, lasting, packets))
        made.append(_flow(at, times, packet))
    for at in range(count, count + long):
        start, lasting = rng.uniform(-0.5 * seconds, seconds), rng.uniform(0.05, 0.5) * seconds
        packets = int(lasting * rng.uniform(1e6, 4e6) / 8 / (packet * cluster))
        times = np.sort(start + rng.uniform(0, lasting, packets))
        times = times[(times >= 0) & (times < seconds)]
        if times.size:
            made.append(_flow(at, times, packet * cluster))
    return made


def _flow(number: int, times: NDArray[np.float64], packet: int) -> Flow:
    source = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    return Flow(source, f"192.0.2.{number % 200 + 1}", 1024 + number % 60_000, 443, BEGIN + times, packet)


def exported(made: Iterable[Flow], active: float, inactive: float, scan: float = 1.0) -> list[Record]:
    """Records as an exporter with two timeouts writes them, in order of their ends.

    Its timer looks at its flows every `scan` seconds, so that a record is up to that much longer than the timeout.
    """
    records = []
    for flow in made:
        begin = 0
        times = flow.times
        pauses = np.flatnonzero(np.diff(times) >= inactive) + 1
        for stop in [*pauses.tolist(), times.size]:
            while begin < stop:
                end = begin + int(np.searchsorted(times[begin:stop], times[begin] + active + scan))
                packets = end - begin
                syn, fin = (2 if begin == 0 else 0), (1 if end == times.size else 0)
                records.append(
                    Record(
                        times[begin], times[end - 1], packets * flow.packet, packets, flow.protocol, 24 | syn | fin,
                        flow.source, flow.target, flow.source_port, flow.target_port,
                    )
                )  # fmt: skip
                begin = end
    return sorted(records, key=lambda each: each.end)


def sampled(made: Iterable[Flow], interval: int, seed: int) -> list[Flow]:
    """Flows of which each packet was observed with probability 1 / `interval`."""
    rng = np.random.default_rng(seed)
    thinned = []
    for flow in made:
        times = flow.times[rng.random(flow.times.size) < 1 / interval]
        if times.size:
            thinned.append(
                Flow(flow.source, flow.target, flow.source_port, flow.target_port, times, flow.packet, flow.protocol)
            )
    return thinned


# Formats -----------------------------------------------------------------------------------------------------------


def stamp(seconds: float, letter: str = " ") -> str:
    return datetime.fromtimestamp(round(seconds, 3), UTC).strftime(f"%Y-%m-%d{letter}%H:%M:%S.%f")[:-3]


def letters(flags: int) -> str:
    return "".join(letter if flags & bit else "." for letter, bit in zip("UAPRSF", (32, 16, 8, 4, 2, 1), strict=True))


def nfdump_old(records: Iterable[Record]) -> str:
    """nfdump 1.6, -o csv, with its summary."""
    lines = ["ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt,in,out,sas,das"]
    for r in records:
        protocol = {6: "TCP", 17: "UDP"}[r.protocol]
        lines.append(
            f"{stamp(r.start)},{stamp(r.end)},{r.end - r.start:.3f},{r.source},{r.target},{r.source_port},"
            f"{r.target_port},{protocol},{letters(r.flags)},0,0,{r.packets},{r.bytes},0,0,{r.input},{r.output},0,0"
        )
    return "\n".join([*lines, "Summary", "flows,bytes,packets,avg_bps,avg_pps,avg_bpp", "1,2,3,4,5,6"]) + "\n"


def nfdump_new(records: Iterable[Record]) -> str:
    """nfdump 1.7, -o csv."""
    lines = ["firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows"]
    lines += [
        f"{stamp(r.start)},{r.end - r.start:.3f},{r.protocol},{r.source},{r.source_port},{r.target},{r.target_port},"
        f"{r.packets},{r.bytes},1"
        for r in records
    ]
    return "\n".join(lines) + "\n"


def nfdump_fast(records: Iterable[Record]) -> str:
    """nfdump 1.7, -o csv-fast: milliseconds."""
    lines = ["cnt,af,firstSeen,lastSeen,proto,srcAddr,srcPort,dstAddr,dstPort,srcAS,dstAS,input,output,flags,srcTos,"
             "packets,bytes"]  # fmt: skip
    lines += [
        f"{at},2,{r.start * 1000:.0f},{r.end * 1000:.0f},{r.protocol},{r.source},{r.source_port},{r.target},"
        f"{r.target_port},0,0,{r.input},{r.output},0x{r.flags:x},0,{r.packets},{r.bytes}"
        for at, r in enumerate(records)
    ]
    return "\n".join(lines) + "\n"


def silk(records: Iterable[Record]) -> str:
    """SiLK's rwcut."""
    lines = ["            sIP|            dIP|sPort|dPort|pro|   packets|     bytes|   flags|                  sTime| "
             "duration|                  eTime|in|out|"]  # fmt: skip
    lines += [
        f"{r.source:>15}|{r.target:>15}|{r.source_port:>5}|{r.target_port:>5}|{r.protocol:>3}|{r.packets:>10}|"
        f"{r.bytes:>10}|{letters(r.flags).replace('.', ' '):>8}|{stamp(r.start, 'T').replace('-', '/')}|"
        f"{r.end - r.start:9.3f}|{stamp(r.end, 'T').replace('-', '/')}|{r.input}|{r.output}|"
        for r in records
    ]
    return "\n".join(lines) + "\n"


def named(records: Iterable[Record], style: str) -> list[dict[str, object]]:
    """Records as objects, with the names of a collector."""
    made: list[dict[str, object]] = []
    for r in records:
        start, end = round(r.start * 1000), round(r.end * 1000)
        if style == "nfdump":
            made.append({
                "type": "FLOW", "sampled": 0, "t_first": stamp(r.start, "T"), "t_last": stamp(r.end, "T"),
                "proto": r.protocol, "src4_addr": r.source, "dst4_addr": r.target, "src_port": r.source_port,
                "dst_port": r.target_port, "tcp_flags": letters(r.flags), "in_packets": r.packets,
                "in_bytes": r.bytes, "input_snmp": r.input, "output_snmp": r.output,
            })  # fmt: skip
        elif style == "v9":
            made.append({
                "FIRST_SWITCHED": start - round(BEGIN * 1000) + 7_200_000,
                "LAST_SWITCHED": end - round(BEGIN * 1000) + 7_200_000, "IN_BYTES": r.bytes, "IN_PKTS": r.packets,
                "PROTOCOL": r.protocol, "TCP_FLAGS": r.flags, "IPV4_SRC_ADDR": r.source, "IPV4_DST_ADDR": r.target,
                "L4_SRC_PORT": r.source_port, "L4_DST_PORT": r.target_port, "INPUT_SNMP": r.input,
                "OUTPUT_SNMP": r.output,
            })  # fmt: skip
        elif style == "ipfix":
            made.append({
                "flowStartMilliseconds": start, "flowEndMilliseconds": end, "octetDeltaCount": r.bytes,
                "packetDeltaCount": r.packets, "protocolIdentifier": r.protocol, "tcpControlBits": r.flags,
                "sourceIPv4Address": r.source, "destinationIPv4Address": r.target, "sourceIPv6Address": "::",
                "sourceTransportPort": r.source_port, "destinationTransportPort": r.target_port,
                "ingressInterface": r.input, "egressInterface": r.output,
            })  # fmt: skip
        elif style == "goflow2":
            made.append({
                "type": "IPFIX", "time_received_ns": end * 10**6 + 10**9, "sampling_rate": 0, "bytes": r.bytes,
                "packets": r.packets, "time_flow_start_ns": start * 10**6, "time_flow_end_ns": end * 10**6,
                "proto": {6: "TCP", 17: "UDP"}[r.protocol], "src_addr": r.source, "dst_addr": r.target,
                "src_port": r.source_port, "dst_port": r.target_port, "in_if": r.input, "out_if": r.output,
                "tcp_flags": r.flags,
            })  # fmt: skip
        elif style == "pmacct":
            made.append({
                "event_type": "purge", "ip_src": r.source, "ip_dst": r.target, "port_src": r.source_port,
                "port_dst": r.target_port, "ip_proto": {6: "tcp", 17: "udp"}[r.protocol], "tcp_flags": str(r.flags),
                "timestamp_start": stamp(r.start) + "000", "timestamp_end": stamp(r.end) + "000",
                "iface_in": r.input, "iface_out": r.output, "packets": r.packets, "bytes": r.bytes,
            })  # fmt: skip
        else:
            raise AssertionError(style)
    return made


# Export packets ----------------------------------------------------------------------------------------------------

#: The exporter's uptime when it sends, in milliseconds, and how many seconds after a record's end that is.
UPTIME = 3_000_000
LATE = 5


def _uptime(instant: float, sent: float) -> int:
    return (UPTIME - round((sent - instant) * 1000)) & 0xFFFFFFFF


def v5(records: list[Record], sampling: int = 0) -> list[bytes]:
    packets = []
    for at in range(0, len(records), 30):
        some = records[at : at + 30]
        sent = round(max(r.end for r in some) + LATE)
        body = b"".join(
            struct.pack(
                ">4s4s4xHHIIIIHHxBBB8x", ip_address(r.source).packed, ip_address(r.target).packed, r.input, r.output,
                r.packets, r.bytes, _uptime(r.start, sent), _uptime(r.end, sent), r.source_port, r.target_port,
                r.flags, r.protocol, 0,
            )
            for r in some
        )  # fmt: skip
        packets.append(struct.pack(">HHIIIIBBH", 5, len(some), UPTIME, sent, 0, at, 0, 0, sampling) + body)
    return packets


def _sets(records: list[Record], fields: list[tuple[int, int]], sent: int, template: int, kind: int) -> bytes:
    """A template and its data."""
    values = {
        8: lambda r: ip_address(r.source).packed, 12: lambda r: ip_address(r.target).packed,
        7: lambda r: r.source_port, 11: lambda r: r.target_port, 4: lambda r: r.protocol, 6: lambda r: r.flags,
        1: lambda r: r.bytes, 2: lambda r: r.packets, 10: lambda r: r.input, 14: lambda r: r.output,
        22: lambda r: _uptime(r.start, sent), 21: lambda r: _uptime(r.end, sent),
        152: lambda r: round(r.start * 1000), 153: lambda r: round(r.end * 1000),
        154: lambda r: round((r.start + 2_208_988_800) * 2**32), 155: lambda r: round((r.end + 2_208_988_800) * 2**32),
    }  # fmt: skip
    described = b""
    for element, size in fields:
        described += struct.pack(">HH", element, size) + (b"\0\0\x7a\x69" if element & 0x8000 else b"")
    head = struct.pack(">HHHH", kind, 8 + len(described), template, len(fields)) + described
    body = b""
    for r in records:
        for element, size in fields:
            if element & 0x8000:
                body += b"\x03abc" if size == 0xFFFF else b"\0" * size
            else:
                value = values[element](r)
                body += value if isinstance(value, bytes) else value.to_bytes(size, "big")
    return head + struct.pack(">HH", template, 4 + len(body)) + body


ELEMENTS = [(8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (6, 1), (1, 4), (2, 4), (10, 2), (14, 2)]


def v9(records: list[Record]) -> list[bytes]:
    packets = []
    for at in range(0, len(records), 20):
        some = records[at : at + 20]
        sent = round(max(r.end for r in some) + LATE)
        body = _sets(some, [*ELEMENTS, (22, 4), (21, 4)], sent, 300, 0)
        packets.append(struct.pack(">HHIIII", 9, len(some) + 1, UPTIME, sent, at, 7) + body)
    return packets


def ipfix(records: list[Record], elements: tuple[int, int] = (152, 153)) -> list[bytes]:
    packets = []
    for at in range(0, len(records), 20):
        some = records[at : at + 20]
        sent = min(round(max(r.end for r in some) + LATE), 2**32 - 1)
        fields = [*ELEMENTS, (0x8001, 0xFFFF), (0x8002, 3), (elements[0], 8), (elements[1], 8)]
        body = _sets(some, fields, sent, 301, 2)
        packets.append(struct.pack(">HHIII", 10, 16 + len(body), sent, at, 7) + body)
    return packets


def sampler(interval: int, domain: int = 7) -> bytes:
    """An IPFIX packet whose options say how packets are sampled."""
    template = struct.pack(">HHHHH", 3, 22, 400, 3, 1) + struct.pack(">HHHHHH", 149, 4, 305, 4, 306, 4)
    data = struct.pack(">HHIII", 400, 16, domain, 1, interval - 1)
    return struct.pack(">HHIII", 10, 16 + len(template) + len(data), round(BEGIN), 0, domain) + template + data


# Every format ------------------------------------------------------------------------------------------------------


def lines(objects: list[dict[str, object]]) -> str:
    return "".join(json.dumps(each) + "\n" for each in objects)


def pretty(objects: list[dict[str, object]]) -> str:
    return "[\n" + ",\n".join(json.dumps(each, indent="\t") for each in objects) + "\n]\n"


FORMATS: dict[str, Callable[[list[Record]], str | bytes]] = {
    "nfdump 1.6 csv": nfdump_old,
    "nfdump 1.7 csv": nfdump_new,
    "nfdump csv-fast": nfdump_fast,
    "semicolons": lambda some: nfdump_old(some).replace(",", ";"),
    "SiLK": silk,
    "nfdump json": lambda some: pretty(named(some, "nfdump")),
    "nfdump ndjson": lambda some: lines(named(some, "nfdump")),
    "NetFlow v9 names": lambda some: lines(named(some, "v9")),
    "IPFIX names": lambda some: lines(named(some, "ipfix")),
    "Logstash": lambda some: lines([{"host": "x", "netflow": each} for each in named(some, "ipfix")]),
    "GoFlow2": lambda some: lines(named(some, "goflow2")),
    "pmacct": lambda some: lines([{"event_type": "purge_init", "writer_pid": 1}, *named(some, "pmacct")]),
    "v5 packets": lambda some: b"".join(v5(some)),
    "v9 packets": lambda some: b"".join(v9(some)),
    "ipfix packets": lambda some: b"".join(ipfix(some)),
    "ipfix packets, NTP's times": lambda some: b"".join(ipfix(some, (154, 155))),
}
