"""Remarks on captures: a sentence for each property that limits what they tell.

The input of captures adds them to its finding.
"""

from __future__ import annotations

import numpy as np

from forebay.observation.capture_columns import NS
from forebay.observation.captures import GATHERED, Captures
from forebay.observation.packet_timing import Bins
from forebay.text.formatting import clock_time

__all__ = ["capture_remarks"]

#: A clock that goes back by less is one of several processors, which stamp packets at once.
_STEP_NS = 100_000
#: A time without a packet that is told, in seconds and as a share of the capture.
_SILENCE_S, _SILENT = 60.0, 0.02


def capture_remarks(captures: Captures) -> tuple[str, ...]:
    """Remarks on defects of the captures, one sentence each."""
    captured = captures.columns
    notes, said = captured["notes"], []

    def count(name: str) -> int:
        return notes[name] or 0

    frames = max(count("frames"), 1)
    for name, text in (
        ("not_ip", "frames carry no IP and are not counted"),
        ("undecodable", "frames have headers that contradict themselves"),
        ("cut_before_ip", "frames were cut off before their IP header: capture more bytes of each (tcpdump -s 128)"),
        ("cut_in_transport", "packets were cut off in their TCP header: capture more bytes of each (tcpdump -s 128)"),
        ("fragments", "packets are fragments, whose connection cannot be told"),
        ("unknown_link", f"frames are of a link layer that is not read (type {notes['unknown_link_type']})"),
        ("lost", "packets were lost by the capture itself: gaps of it look like losses"),
    ):
        if count(name) > frames * 1e-4:
            said.append(f"{count(name)} of {count('frames')} {text}")
    if count("largest_step_back_ns") >= _STEP_NS:
        times = count("steps_back")
        said.append(
            f"the clock went back {'once' if times == 1 else f'{times} times'}, "
            f"by {count('largest_step_back_ns') * NS:.3g} s at most"
        )
    apart = max(captured["ahead_ns"], key=abs, default=0)
    if apart:
        said.append(
            f"no packet took less than {apart * 1e-6:.3g} ms between the two captures: that is taken for the way and "
            "the clocks between them, so that a queue that never emptied is smaller here than it is"
        )
    silence = _silence_s(captures.packets.load)
    if silence:
        said.append(
            f"nothing was captured for {clock_time(silence)} in between: what is told over time holds for the rest"
        )
    if count("ended_early"):
        said.append("a file ends in the middle of a packet: what came before it is used")
    if captures.gathered > GATHERED:
        largest = max(each["directions"][0]["largest"] for each in captured["interfaces"])
        said.append(
            f"packets of up to {largest / 1000:.0f} kB carry {captures.gathered:.0%} of the bytes: segments "
            "were gathered where they were captured, which makes gaps and losses coarser "
            "(ethtool -K DEV tso off gso off gro off)"
        )
    if not captures.chosen["directions"][1]["total"][0]:
        said.append("one direction only: round trips, windows and flights are not known")
    return tuple(said)


def _silence_s(load: Bins) -> float:
    """The longest time without a packet, where that is much of the capture; 0 elsewhere."""
    busy = np.flatnonzero(load.packets)
    longest = float(np.diff(busy).max() - 1) * load.width_s if len(busy) > 1 else 0.0
    return longest if longest > max(_SILENCE_S, _SILENT * load.seconds) else 0.0
