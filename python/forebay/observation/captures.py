"""Direction and sides of captures: the interface that is the link's, and the order of two captures of one queue.

The capture engine reads the files. `capture_link` gets the chosen direction as `Seen`, in seconds from its start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from forebay import _core
from forebay.errors import InputError
from forebay.observation.capture_columns import NS, TCP, Fronts, backlogs_of, fronts_of, streams_of
from forebay.observation.capture_link import HOST_S, Seen, Transfers
from forebay.observation.capture_sides import UNORDERED, Packets, Side, in_order, packets_of, two_sides
from forebay.observation.clock_offset import clock_offset_ns
from forebay.observation.consistency import check_clock, check_holes
from forebay.observation.limits import is_long
from forebay.observation.line_reader import Progress
from forebay.observation.memory import check_memory
from forebay.observation.streams import Place, Stream

if TYPE_CHECKING:
    from forebay._core import Captured, CapturedInterface, Crossed

__all__ = ["GATHERED", "Captures", "read_captures", "seen_of"]

#: Share of the bytes in packets that no link carries, from which on segments were gathered before they were seen.
GATHERED = 0.01
#: Names of the engines' own interfaces.
_SIDES = {"arrivals": Place.BEFORE, "departures": Place.BEHIND}
#: The number of UDP (IANA, Protocol Numbers).
_UDP = 17


@dataclass(frozen=True)
class Captures:
    """Captures that were read together, with the direction that is the link's.

    Attributes
    ----------
    columns : Captured
        Everything that the capture engine found.
    chosen : CapturedInterface
        The interface that is described; the one behind the queue if both sides were captured.
    packets : Packets
        Packets of its busiest direction.
    gathered : float
        Share of the bytes in packets larger than any link's, of the interface where it is largest.
    is_unordered : bool
        Whether both sides of a queue were captured and nothing tells which is which.
    """

    columns: Captured
    chosen: CapturedInterface
    packets: Packets
    gathered: float
    is_unordered: bool


def read_captures(paths: Sequence[Path], progress: Progress | None = None) -> Captures:
    """Read captures together; two of them that saw the same packets are the sides of a queue.

    Two sides without an order are left without a queue.

    Raises
    ------
    InputError
        If a file cannot be read, or has no packet.
    """
    progress = _within_memory(paths, progress)
    found = _core.observe_captures(list(paths), progress=progress)
    sides = two_sides(found)
    order = None if sides is None else in_order(*sides, lambda: _crossed(paths, sides, progress))
    if order is not None:
        found = _both_sides(paths, order, progress)
    if found["between_ns"] is None or not any(each["directions"][0]["total"][0] for each in found["interfaces"]):
        raise InputError(f"{paths[0]}: found no IP packet; allowed: a capture of a link's traffic")
    check_holes(paths, found)
    chosen = _chosen(found, None if order is None else order[1].interface["number"])
    # Sides are read again unchanged, unless one clock was moved to the other.
    known = {} if any(found["ahead_ns"]) else {side.interface["number"]: side.packets for side in sides or ()}
    packets = known.get(chosen["number"]) or packets_of(chosen)
    check_clock(paths, chosen, packets.gaps)
    return Captures(found, chosen, packets, _gathered(found), is_unordered=sides is not None and order is None)


def _within_memory(paths: Sequence[Path], progress: Progress | None) -> Progress:
    """Progress that refuses captures that take more memory than is allowed."""

    def report_progress(done: int, size: int | None) -> None:
        check_memory(str(paths[0]), done)
        if progress is not None:
            progress(done, size)

    return report_progress


def _crossed(paths: Sequence[Path], sides: tuple[Side, Side], progress: Progress) -> Crossed:
    """The queue between two sides in the order in which they are given."""
    before, after = (side.interface["number"] for side in sides)
    queue = _core.observe_captures(list(paths), before=before, after=after, progress=progress)["queue"]
    assert queue is not None, "both sides are given"
    return queue


def _both_sides(paths: Sequence[Path], order: tuple[Side, Side], progress: Progress) -> Captured:
    """Captures of both sides of a queue, of which the one behind is brought up to it.

    What every packet takes at least from one to the other is the way between the two places, and what their clocks
    differ by: packets that are on it do not wait.
    """
    before, after = (side.interface["number"] for side in order)
    found = _core.observe_captures(list(paths), before=before, after=after, progress=progress)
    assert found["queue"] is not None, "both sides are given"
    least = found["queue"]["directions"][0]["offsets"]["wait_least_ns"]
    least = least[np.isfinite(least)]
    if not len(least) or _gathered(found) > GATHERED:
        return found
    hosts = _answered_by_hosts(found, before, "least_before_ns") and _answered_by_hosts(found, after, "least_behind_ns")
    behind, largest = order[1].packets, found["interfaces"][after]["directions"][0]["largest"]
    offset_ns = clock_offset_ns(int(least.min()), behind.rate, behind.load, largest, hosts=hosts)
    if not offset_ns:
        return found
    file = found["interfaces"][after]["file"]
    ahead = [offset_ns if place == file else 0 for place in range(len(paths))]
    return _core.observe_captures(list(paths), before=before, after=after, ahead_ns=ahead, progress=progress)


def _answered_by_hosts(captured: Captured, interface: int, column: str) -> bool:
    """Whether every answer at an interface comes from the host itself: no packet has been to another one and back."""
    columns = captured["interfaces"][interface]["directions"][0]["streams"]["long"]
    answers = columns[column][np.isfinite(columns[column])] * NS
    return bool(len(answers)) and float(answers.max()) < HOST_S


def seen_of(captures: Captures) -> Seen:
    """The busiest direction of a capture; behind the queue if both sides were seen."""
    captured, interface = captures.columns, captures.chosen
    direction = interface["directions"][0]
    between = direction["between_ns"]
    assert between is not None, "a direction with packets has a time"
    origin = between[0]
    queue, gathered = captured["queue"], captures.gathered > GATHERED
    fronts: Fronts = {}
    # Between captures that are apart is more than the queue, and gathered segments are in none.
    if queue is not None and not any(captured["ahead_ns"]) and not gathered:
        fronts = fronts_of(captured, interface)
    streams = direction["streams"]
    every = [*streams_of(streams["long"], origin, fronts), *streams_of(streams["sample"], origin, fronts)]
    loose = sum(stream.bytes for stream in every if not stream.responsive)
    # Only a sample of the short streams is kept; their total per protocol is known.
    known = sum(amount[1] for number, amount in direction["protocols"].items() if number not in (TCP, _UDP))
    return Seen(
        place=Place.BEHIND if queue is not None and not gathered else _SIDES.get(interface["name"] or ""),
        start_s=0.0,
        end_s=(between[1] - origin) * NS,
        packets=captures.packets,
        streams=every,
        transfers=_transfers(every, (between[1] - origin) * NS),
        unresponsive_bytes=float(loose + known),
        backlogs=None if queue is None else backlogs_of(queue["directions"][0]),
        gathered=gathered,
        largest_bytes=float(direction["largest"]),
        unordered=UNORDERED if captures.is_unordered else "",
    )


def _gathered(captured: Captured) -> float:
    """Share of the bytes that came in packets larger than any link's, of the interface where it is largest."""
    return max(_oversized(each) for each in captured["interfaces"])


def _oversized(interface: CapturedInterface) -> float:
    direction = interface["directions"][0]
    return direction["oversized"][1] / max(direction["total"][1], 1)


def _chosen(captured: Captured, behind: int | None) -> CapturedInterface:
    interfaces = captured["interfaces"]
    if captured["queue"] is not None:
        named = [each for each in interfaces if each["name"] == "departures"]
        if named:
            return named[0]
        used = [each for each in interfaces if each["directions"][0]["total"][0]]
        # Packets are what a link carries behind the queue, unless segments were gathered there.
        whole = min(map(_oversized, used)) + GATHERED
        return min(
            (each for each in used if _oversized(each) <= whole),
            key=lambda each: (each["number"] != behind, each["directions"][0]["total"][0]),
        )
    return max(interfaces, key=lambda each: each["directions"][0]["total"][1])


def _transfers(streams: Sequence[Stream], capture_s: float) -> Transfers:
    """Connections that came and went; a long one is a flow of its own, though it may have begun and ended here."""
    whole = [each for each in streams if each.responsive and each.began and each.ended]
    whole = [each for each in whole if not is_long(each, capture_s)]
    whole.sort(key=lambda each: each.start_s)
    return Transfers(
        np.array([float(each.distinct_bytes) for each in whole]),
        np.array([each.start_s for each in whole]),
        len(whole),
    )
