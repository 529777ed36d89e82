"""Captures of packets: how one is recognized, and its finding.

`captures` reads them and finds direction and sides. `capture_link` identifies the link, `capture_flows` its flows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from forebay.errors import InputError
from forebay.observation.capture_finding import capture_finding
from forebay.observation.capture_flows import Observed, observe_flows
from forebay.observation.capture_link import CaptureLink, Seen, identify_link
from forebay.observation.capture_notes import capture_notes
from forebay.observation.captures import read_captures, seen_of
from forebay.observation.finding import Finding
from forebay.observation.inputs.input import File, Head, Input, InputReading, Kind, Options, Yields
from forebay.observation.load import Load

__all__ = ["CAPTURE", "MAGIC", "CaptureInput", "CaptureReading", "observe_captures"]

#: Magic numbers of pcap (both byte orders, micro- and nanoseconds, and Kuznetzov's) and of pcapng.
MAGIC = frozenset(
    bytes.fromhex(magic)
    for magic in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "a1b2cd34", "34cdb2a1", "0a0d0d0a")
)


@dataclass(frozen=True)
class CaptureReading(InputReading):
    """The described direction of captures, and its link."""

    seen: Seen
    link: CaptureLink
    notes: tuple[str, ...]


@dataclass(frozen=True)
class CaptureInput(Input[CaptureReading]):
    """Captures of one place, or of both sides of a queue."""

    kind: ClassVar[Kind] = Kind.CAPTURE

    def read(self, files: Sequence[File], options: Options) -> CaptureReading:
        """Read captures, choose direction and sides, and identify the link."""
        captures = read_captures([each.path for each in files], options.progress)
        seen = seen_of(captures)
        link = identify_link(seen, options.rate_bps)
        return CaptureReading(link.rate, seen.load_series, seen, link, capture_notes(captures))

    def finding(self, reading: CaptureReading, load: Load | None) -> Finding:
        """Make a finding of round trips, flows and load."""
        observed = observe_flows(reading.seen, reading.link)
        if load is None:
            raise InputError("found a capture of less than two milliseconds; allowed: one that lasts")
        return capture_finding(reading.seen, observed, load, reading.notes)


def _accepts(head: Head) -> bool:
    return head.data[:4] in MAGIC


CAPTURE = CaptureInput("a capture (pcap or pcapng)", _accepts, (Yields.PACKETS,))


def observe_captures(paths: Sequence[Path], rate_bps: float | None = None) -> Observed:
    """Read captures and describe their link, flows and queue, without a finding.

    Raises
    ------
    InputError
        If a file cannot be read, or has no packet.
    """
    reading = CAPTURE.read([File(path, CAPTURE) for path in paths], Options(rate_bps))
    return observe_flows(reading.seen, reading.link)
