"""Readings of the connections of a capture: ours, tcptrace's, tshark's, capinfos', and `ss -tin` of the sockets.

Each reading is by the sender's port and under the same names, so that readings can be compared. A program that does not
report a number leaves it out.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from checks.captured_programs import PORT
from forebay.observation.captures import read_captures

__all__ = ["PROGRAMS", "Readings", "controllers", "missing", "of_sockets", "ours", "ports"]

#: Numbers by the sender's port and by their names.
Readings = Mapping[int, Mapping[str, float]]

#: Magic numbers of pcap files, as they are read little-endian (draft-ietf-opsawg-pcap).
_PCAP = {0xA1B2C3D4, 0xA1B23C4D}
#: Bytes before the IP header, by link type: Ethernet and raw IP.
_BEFORE_IP = {1: 14, 101: 0}
_SYN, _ACK = 0x02, 0x10


def missing() -> list[str]:
    """Programs that read captures and are not installed here."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def ports(file: Path) -> list[int]:
    """Ports of the senders in the order in which their connections began."""
    found: dict[int, None] = {}
    with file.open("rb") as read:
        magic, _, _, _, _, _, link = struct.unpack("<IHHiIII", read.read(24))
        assert magic in _PCAP, f"{file}: no pcap file of this machine's"
        skip = _BEFORE_IP[link & 0xFFFF]
        while len(header := read.read(16)) == 16:
            packet = read.read(struct.unpack("<8xI4x", header)[0])[skip:]
            tcp = packet[(packet[0] & 15) * 4 :]
            source, target = struct.unpack(">HH", tcp[:4])
            if tcp[13] & (_SYN | _ACK) == _SYN and target == PORT:
                found[source] = None
    return list(found)


def ours(file: Path) -> Readings:
    """The numbers that `forebay observe` counts and measures."""
    captured = read_captures([file]).columns
    order = ports(file)
    directions = [each for interface in captured["interfaces"] for each in interface["directions"]]
    frames = float(sum(each["frame_bytes"] for each in directions))
    found: dict[int, dict[str, float]] = {
        0: {"packets of the file": float(captured["packets"]), "bytes of the file": frames}
    }
    for interface in captured["interfaces"]:
        for direction in interface["directions"]:
            for kind in ("long", "sample"):
                columns = direction["streams"][kind]
                for row in range(len(columns["connection"])):
                    found[order[int(columns["connection"][row])]] = _our_row(columns, row)
    return found


def _our_row(columns: Mapping[str, Any], row: int) -> dict[str, float]:
    def number(name: str) -> float:
        return float(columns[name][row])

    read = {
        "packets": number("packets"),
        "IP bytes": number("bytes"),
        "unique bytes": number("distinct"),
        "repeated packets": number("repeated_packets") + number("filled_packets"),
        "repeated bytes": number("repeated") + number("filled"),
        "seen before": number("repeated_packets"),
        "least round trip": number("least_behind_ns") * 1e-9,
        "least time of data": number("behind_least_ns") * 1e-9,
        "median round trip": number("behind_p50_ns") * 1e-9,
        "handshake": number("handshake_behind_ns") * 1e-9,
        "largest flight": number("largest_flight"),
        "segment": number("largest_payload"),
        "largest window": number("receive_window_most"),
        "duplicate ACKs": number("duplicate_acks"),
        "ACKs with SACK": number("selective_acks"),
        "seconds of data": (number("last_data_ns") - number("first_data_ns")) * 1e-9,
    }
    return {name: value for name, value in read.items() if np.isfinite(value)}


# Others ------------------------------------------------------------------------------------------------------------

_TCPTRACE = {
    "total packets": "packets",
    "unique bytes sent": "unique bytes",
    "rexmt data pkts": "repeated packets",
    "rexmt data bytes": "repeated bytes",
    "RTT min": "least round trip",
    "RTT avg": "mean round trip",
    "max segm size": "segment",
    "max owin": "largest flight",
    "data xmit time": "seconds of data",
    "RTT from 3WHS": "handshake",
}
_OF_ACKS = {"max win adv": "largest window", "sacks sent": "ACKs with SACK"}
_MILLISECONDS = {"RTT min", "RTT avg", "RTT from 3WHS"}
_PAIR = re.compile(r"^\s+([^:]+):\s+(-?[\d.]+).*?(?:\s{2,}\S[^:]*:\s+(-?[\d.]+).*)?$")


def _tcptrace(file: Path) -> Readings:
    found: dict[int, dict[str, float]] = {}
    port = 0
    for line in _output_of("tcptrace", "-n", "-l", "-r", "-W", str(file)).splitlines():
        if match := re.match(r"\s+host \w+:\s+[\d.]+:(\d+)$", line):
            port = port if int(match[1]) == PORT else int(match[1])
        elif match := _PAIR.match(line):
            name = match[1].strip()
            row = found.setdefault(port, {})
            if name in _TCPTRACE:
                row[_TCPTRACE[name]] = float(match[2]) * (1e-3 if name in _MILLISECONDS else 1.0)
            if name in _OF_ACKS and match[3] is not None:
                row[_OF_ACKS[name]] = float(match[3])
    return found


_ANALYSIS = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order", "ack_rtt",
             "bytes_in_flight", "duplicate_ack", "initial_rtt")  # fmt: skip
_FIELDS = (
    *("tcp.srcport", "tcp.dstport", "ip.len", "tcp.len", "frame.time_epoch", "tcp.window_size"),
    *(f"tcp.analysis.{name}" for name in _ANALYSIS),
)


def _tshark(file: Path) -> Readings:
    """The readings of tshark, counted here from the fields of each packet."""
    requested = [word for field in _FIELDS for word in ("-e", field)]
    options = ["-o", "tcp.calculate_timestamps:TRUE", "-o", "tcp.relative_sequence_numbers:TRUE"]
    text = _output_of("tshark", "-n", "-r", str(file), *options, "-T", "fields", *requested)
    counted = ("repeated packets", "repeated bytes", "duplicate ACKs")
    sums: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float, dict.fromkeys(counted, 0.0)))
    times: dict[int, list[float]] = defaultdict(list)
    for line in text.splitlines():
        source, target, length, payload, stamp, window, *flags = line.split("\t")
        flag_of = dict(zip(_ANALYSIS, flags, strict=True))
        if target == str(PORT):
            row = sums[int(source)]
            row["packets"] += 1
            row["IP bytes"] += float(length)
            row["segment"] = max(row["segment"], float(payload))
            if flag_of["retransmission"] or flag_of["fast_retransmission"] or flag_of["out_of_order"]:
                row["repeated packets"] += 1
                row["repeated bytes"] += float(payload)
            if flag_of["bytes_in_flight"]:
                row["largest flight"] = max(row["largest flight"], float(flag_of["bytes_in_flight"]))
            if float(payload):
                row.setdefault("first", float(stamp))
                row["seconds of data"] = float(stamp) - row["first"]
        else:
            row = sums[int(target)]
            row["largest window"] = max(row["largest window"], float(window))
            row["duplicate ACKs"] += bool(flag_of["duplicate_ack"])
            if flag_of["ack_rtt"]:
                times[int(target)].append(float(flag_of["ack_rtt"]))
    for port, each in times.items():
        sums[port] |= {"least round trip": min(each), "median round trip": float(np.median(each))}
        # The first one is that of the SYN.
        sums[port]["handshake"] = each[0]
    for row in sums.values():
        row.pop("first", None)
    return {port: dict(row) for port, row in sums.items()}


_SOCKET = re.compile(r"^\S+\s+\d+\s+\d+\s+[\d.]+:(\d+)\s")
#: Pattern of each number of ss, its name here, and the divisor to the unit here.
_FACTS: Mapping[str, tuple[str, float]] = {
    r" bytes_acked:(\d+)": ("unique bytes", 1.0),
    r" retrans:\d+/(\d+)": ("repeated packets", 1.0),
    r" bytes_retrans:(\d+)": ("repeated bytes", 1.0),
    r" minrtt:([\d.]+)": ("least round trip", 1e3),
    r" mss:(\d+)": ("segment", 1.0),
    r" snd_wnd:(\d+)": ("largest window", 1.0),
}


def of_sockets(text: str) -> Readings:
    """The last numbers of `ss -tin` for each socket that existed until the end."""
    [*_, last] = re.split(r"^State .*$", text, flags=re.MULTILINE)
    found: dict[int, dict[str, float]] = {}
    port: int | None = None
    for line in last.splitlines():
        if match := _SOCKET.match(line):
            port = int(match[1])
        elif port is not None and " bytes_acked:" in line:
            row = {"repeated packets": 0.0, "repeated bytes": 0.0}
            for pattern, (name, parts) in _FACTS.items():
                if stated := re.search(pattern, line):
                    row[name] = float(stated[1]) / parts
            # The SYN counts as a byte (net/ipv4/tcp_input.c, tcp_snd_una_update).
            row["unique bytes"] -= 1
            found[port] = row
    return found


def controllers(text: str) -> Mapping[int, str]:
    """Controllers of the sockets, as the kernel names them."""
    found: dict[int, str] = {}
    port: int | None = None
    for line in text.splitlines():
        if match := _SOCKET.match(line):
            port = int(match[1])
        elif port is not None and line[:1].isspace():
            found[port] = line.split()[0]
    return found


def _output_of(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{command[0]}: {done.stderr.strip().rpartition(chr(10))[2]}")
    return done.stdout


def _capinfos(file: Path) -> Readings:
    """Sums over the file, which are of no port."""
    line = _output_of("capinfos", "-T", "-M", "-r", "-c", "-d", str(file)).strip().splitlines()[-1].split("\t")
    return {0: {"packets of the file": float(line[1]), "bytes of the file": float(line[2])}}


#: Other programs that read captures.
PROGRAMS: Mapping[str, Callable[[Path], Readings]] = {"tcptrace": _tcptrace, "tshark": _tshark, "capinfos": _capinfos}
