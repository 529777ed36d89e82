"""Remarks on captures: a sentence for each property that limits what they tell.

The input of captures adds them to its finding.
"""

from __future__ import annotations

import numpy as np

from forebay.observation.capture_columns import NS
from forebay.observation.captures import GATHERED, Captures
from forebay.observation.packet_timing import Bins
from forebay.text.formatting import clock_time

__all__ = ["capture_notes"]

#: A clock that goes back by less is one of several processors, which stamp packets at once.
_STEP_NS = 100_000
#: A time without a packet that is told, in seconds and as a share of the capture.
_SILENCE_S, _SILENT = 60.0, 0.02


def capture_notes(captures: Captures) -> tuple[str, ...]:
    """Remarks on defects of the captures, one sentence each."""
    captured = captures.columns
    notes, statements = captured["notes"], []

    def count(name: str) -> int:
        return notes[name] or 0

    frames = max(count("frames"), 1)
    for name, text in (
        ("not_ip", "frames have no IP packet and are not counted"),
        ("undecodable", "frames have contradictory headers"),
        ("cut_before_ip", "frames are truncated before their IP header; capture more bytes of each (tcpdump -s 128)"),
        ("cut_in_transport", "packets are truncated in their TCP header; capture more bytes of each (tcpdump -s 128)"),
        ("fragments", "packets are fragments, whose connection is unknown"),
        ("unknown_link", f"frames have an unsupported link layer (type {notes['unknown_link_type']})"),
        ("lost", "packets were lost by the capturing host, and look like losses of the link"),
    ):
        if count(name) > frames * 1e-4:
            statements.append(f"{count(name)} of {count('frames')} {text}")
    if count("largest_step_back_ns") >= _STEP_NS:
        times = count("steps_back")
        statements.append(
            f"the clock went back {'once' if times == 1 else f'{times} times'}, "
            f"by {count('largest_step_back_ns') * NS:.3g} s at most"
        )
    apart = max(captured["ahead_ns"], key=abs, default=0)
    if apart:
        statements.append(
            f"no packet took less than {apart * 1e-6:.3g} ms between the two captures. This is counted as path delay "
            "and clock offset, so a queue that never emptied is underestimated"
        )
    silence = _silence_s(captures.packets.load)
    if silence:
        statements.append(f"the capture has a gap of {clock_time(silence)}: results over time are about the rest")
    if count("ended_early"):
        statements.append("a file ends in the middle of a packet; the packets before it are used")
    if captures.gathered > GATHERED:
        largest = max(each["directions"][0]["largest"] for each in captured["interfaces"])
        statements.append(
            f"packets of up to {largest / 1000:.0f} kB have {captures.gathered:.0%} of the bytes: offload merged "
            "segments on the capturing host, so gaps and losses are less exact "
            "(turn it off: ethtool -K DEV tso off gso off gro off)"
        )
    if not captures.chosen["directions"][1]["total"][0]:
        statements.append("the capture has one direction only, so round trips, windows and flights are unknown")
    return tuple(statements)


def _silence_s(load: Bins) -> float:
    """The longest time without a packet, where that is much of the capture; 0 elsewhere."""
    busy = np.flatnonzero(load.packets)
    longest = float(np.diff(busy).max() - 1) * load.width_s if len(busy) > 1 else 0.0
    return longest if longest > max(_SILENCE_S, _SILENT * load.seconds) else 0.0
