"""Packets, segments and capture files that tests write."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

PACKET = 1500


ORIGIN = 1_700_000_000 * 10**9


def segment(number: int, payload: int, *, answers: bool = False) -> bytes:
    """An IP packet of TCP from one host to the other, or a bare acknowledgment of all before it."""
    ports = (5201, 40000) if answers else (40000, 5201)
    sequence, acknowledgment = (1, number) if answers else (number, 1)
    tcp = struct.pack(">HHIIBBHHH", *ports, sequence, acknowledgment, 0x50, 0x10, 60000, 0, 0)
    ends = bytes([10, 0, 0, 2, 10, 0, 0, 1]) if answers else bytes([10, 0, 0, 1, 10, 0, 0, 2])
    name = number // PACKET & 0xFFFF
    return struct.pack(">BBHHHBBH", 0x45, 0, 40 + payload, name, 0, 64, 6, 0) + ends + tcp


def capture(path: Path, packets: Iterable[tuple[int, bytes, int]]) -> Path:
    """A file of time, headers and length on the wire."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 101))
        for time, headers, length in sorted(packets, key=lambda each: each[0]):
            file.write(struct.pack("<IIII", time // 10**9, time % 10**9, len(headers), length) + headers)
    return path


def udp(number: int, size: int) -> bytes:
    """A packet of UDP between two documentation addresses (RFC 5737) in IP alone."""
    return struct.pack(
        ">BBHHHBBH4s4sHHHH",
        *(0x45, 0, size, number & 0xFFFF, 0, 64, 17, 0, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])),
        *(9, 5004, size - 20, 0),
    )


def pcap(path: Path, packets: Iterable[tuple[float, int]], tick_s: float = 1e-6) -> Path:
    """A capture in microseconds of packets of UDP, each a time in seconds and a size."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for number, (time, size) in enumerate(packets):
            stamp = round(int(time / tick_s + 1e-6) * tick_s * 1e6)
            file.write(struct.pack("<IIII", *divmod(stamp, 1_000_000), 28, size) + udp(number, size))
    return path
