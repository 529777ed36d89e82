"""Export packets as they were stored: one behind the other, or as UDP in a pcap or pcapng file.

Only what a collector's port needs is read of a capture: Ethernet, raw IP and Linux's cooked frames, IPv4 and IPv6,
whole UDP datagrams. Everything else in it is passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from forebay.errors import InputError

__all__ = ["Bytes", "captured", "is_capture"]

#: Largest frame and block of a capture.
MOST_BYTES = 16 * 2**20

_PCAP = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}
_PCAPNG = b"\x0a\x0d\x0d\x0a"
#: Where IP begins by link type (tcpdump.org, link-layer header types): bytes in front of it; None for Ethernet.
_LINKS = {1: None, 12: 0, 14: 0, 101: 0, 228: 0, 229: 0, 113: 16, 276: 20, 0: 4, 108: 4}
_TAGS = (0x8100, 0x88A8, 0x9100)


class Bytes:
    """Bytes of a file, taken from its beginning on.

    Parameters
    ----------
    pieces : iterator of bytes
        Of the file, cut anywhere.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""
        self._at = 0
        self.offset = 0

    def take(self, count: int) -> bytes:
        """The next bytes; fewer where the file ends."""
        if len(self._rest) - self._at < count:
            parts, size = [self._rest[self._at :]], len(self._rest) - self._at
            while size < count and (piece := next(self._pieces, b"")):
                parts.append(piece)
                size += len(piece)
            self._rest, self._at = b"".join(parts), 0
        found = self._rest[self._at : self._at + count]
        self._at += len(found)
        self.offset += len(found)
        return found


def is_capture(start: bytes) -> bool:
    """Whether a file begins as pcap or pcapng."""
    return start[:4] in _PCAP or start[:4] == _PCAPNG


def captured(source: Bytes, where: str) -> Iterator[tuple[bytes, bytes]]:
    """Every whole UDP datagram of a capture: what tells its sender from others, and its payload.

    Raises
    ------
    InputError
        Where a length in the file cannot be.
    """
    start = source.take(4)
    frames = _of_pcapng(source, where) if start == _PCAPNG else _of_pcap(source, _PCAP[start], where)
    for link, frame in frames:
        packet = _network(link, frame)
        datagram = _udp(packet)
        if datagram is not None:
            yield datagram


def _of_pcap(source: Bytes, order: str, where: str) -> Iterator[tuple[int, bytes]]:
    header = source.take(20)
    if len(header) < 20:
        return
    link = struct.unpack(f"{order}I", header[16:])[0] & 0xFFFF
    while len(record := source.take(16)) == 16:
        size = struct.unpack(f"{order}I", record[8:12])[0]
        if size > MOST_BYTES:
            raise InputError(f"{where}, byte {source.offset - 8}: found a packet of {size} bytes; "
                             f"allowed: at most {MOST_BYTES}")  # fmt: skip
        yield link, source.take(size)


def _of_pcapng(source: Bytes, where: str) -> Iterator[tuple[int, bytes]]:
    """Enhanced and simple packet blocks (draft-ietf-opsawg-pcapng)."""
    kind, order, links = 0x0A0D0D0A, "<", list[int]()
    while True:
        size_text = source.take(4)
        if kind == 0x0A0D0D0A:  # its length is in the order that the word behind it says
            magic = source.take(4)
            if magic not in (b"\x4d\x3c\x2b\x1a", b"\x1a\x2b\x3c\x4d"):
                return
            order, links = ("<" if magic[0] == 0x4D else ">"), []
            body_left = 16
        else:
            body_left = 12
        if len(size_text) < 4:
            return
        size = struct.unpack(f"{order}I", size_text)[0]
        if size < body_left or size > MOST_BYTES:
            raise InputError(f"{where}, byte {source.offset - 4}: found a block of {size} bytes; "
                             f"allowed: {body_left} to {MOST_BYTES}")  # fmt: skip
        body = source.take(size - body_left)
        source.take(4)
        if kind == 1 and len(body) >= 2:
            links.append(struct.unpack(f"{order}H", body[:2])[0])
        elif kind == 6 and len(body) >= 20:
            interface, captured_bytes = struct.unpack(f"{order}I8xI", body[:16])
            if interface < len(links):
                yield links[interface], body[20 : 20 + captured_bytes]
        elif kind == 3 and links:
            yield links[0], body[4:]
        next_kind = source.take(4)
        if len(next_kind) < 4:
            return
        kind = 0x0A0D0D0A if next_kind == _PCAPNG else struct.unpack(f"{order}I", next_kind)[0]


def _network(link: int, frame: bytes) -> bytes:
    """The IP packet of a frame; nothing where it is another's."""
    if link not in _LINKS:
        return b""
    ahead = _LINKS[link]
    if ahead is not None:
        return frame[ahead:]
    at = 12
    while len(frame) >= at + 2:
        kind = int.from_bytes(frame[at : at + 2], "big")
        if kind not in _TAGS:
            return frame[at + 2 :] if kind in (0x0800, 0x86DD) else b""
        at += 4
    return b""


def _udp(packet: bytes) -> tuple[bytes, bytes] | None:
    """Sender and payload of a whole UDP datagram."""
    if len(packet) < 28:
        return None
    if packet[0] >> 4 == 4:
        ahead, sender = (packet[0] & 15) * 4, packet[12:16]
        if packet[9] != 17 or int.from_bytes(packet[6:8], "big") & 0x3FFF:  # a fragment
            return None
    elif packet[0] >> 4 == 6 and packet[6] == 17:
        ahead, sender = 40, packet[8:24]
    else:
        return None
    header = packet[ahead : ahead + 8]
    if ahead < 20 or len(header) < 8:
        return None
    size = int.from_bytes(header[4:6], "big")
    payload = packet[ahead + 8 : ahead + size]
    return (sender + header[:2], payload) if size > 8 and len(payload) == size - 8 else None
