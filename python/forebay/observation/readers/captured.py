"""Captures, which `crates/capture` reads."""

from __future__ import annotations

from forebay.observation.readers.reader import Head, Kind, Reader, Yields

__all__ = ["CAPTURE", "MAGIC"]

#: Magic numbers of pcap (both byte orders, micro- and nanoseconds, and Kuznetzov's) and of pcapng.
MAGIC = frozenset(
    bytes.fromhex(magic)
    for magic in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "a1b2cd34", "34cdb2a1", "0a0d0d0a")
)


def _recognizes(head: Head) -> bool:
    return head.data[:4] in MAGIC


CAPTURE = Reader("a capture (pcap or pcapng)", _recognizes, Kind.CAPTURE, (Yields.PACKETS,))
