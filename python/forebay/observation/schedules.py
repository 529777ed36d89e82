"""Detects senders that keep to a schedule whatever their queue does, as an application at a constant rate does.

Such a sender is behind its schedule at times, after a loss for which its window was too small. It then catches up. Its
sent bytes touch one straight line from below again and again. A flow that its congestion controller limits has no such
line: it never makes up for the bytes that it did not send during a loss. Siekkinen, Urvoy-Keller, Biersack and
Collange (Computer Networks 52, 2008) tell the limits of applications and of TCP apart by periods as well.

Packets behind the queue have waited in it. The time from an acknowledgment to the data that it released tells for how
long. After subtraction of this time the packets show the schedule of their sender.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from forebay.observation.streams import Stream, Windows

__all__ = ["STEADY", "Schedule", "find_schedule"]

#: Share of blocks of time that touch the line: of senders with a schedule from the first one on, of flows that may
#: have one from the second one on. Flows that share a FIFO queue had 0.18 or less in the packet engine, and with fair
#: queueing up to 0.24.
STEADY, _PERHAPS = 0.5, 0.2
#: Segments below the line that touch it: one that is sent at once with another, and one at the edge of a window.
_TOUCHING = 2.0
#: Length of a block, which is longer than the distance of two writes, and the fewest blocks.
_BLOCK_S, _BLOCKS = 0.25, 60
#: Share of the windows that is left out as slow start, and windows at the end that may be cut off.
_BEGINNING, _CUT = 0.1, 2
#: Share of windows that must have a time before this place, where waits are taken off.
_TIMED = 0.25
#: How many of the longest edges are tried.
_EDGES = 4
#: Segments of a window whose reductions are larger than what touches the line.
_SHOWN = 8.0
#: Ratio of long and short round trips from which on a constant window has no constant rate.
_VARIED = 1.1


@dataclass(frozen=True)
class Schedule:
    """The schedule of a stream: how well the stream keeps to one rate.

    Attributes
    ----------
    share : float
        Share of blocks of time in which it was on its schedule.
    rate_bps : float
        Payload of the schedule in bit/s.
    tested : bool
        Whether losses or round trips that varied would have moved a flow that a controller limits.
    large : bool
        Whether its window is so large that a reduction of it would show.
    """

    share: float
    rate_bps: float
    tested: bool
    large: bool

    @property
    def is_followed(self) -> bool:
        """Whether the sender keeps to it."""
        return self.tested and self.share >= STEADY

    @property
    def may_be_followed(self) -> bool:
        """Whether the sender may keep to it: often, or without anything that would have moved it."""
        return self.large and self.share >= _PERHAPS


def find_schedule(stream: Stream, fewest_losses: int) -> Schedule | None:
    """The schedule that a stream keeps to best; None where it is too short to tell."""
    windows = stream.windows
    if windows is None or len(windows) < _BLOCKS or not stream.bytes or not stream.segment_bytes:
        return None
    rows = slice(int(_BEGINNING * len(windows)), len(windows) - _CUT)
    sent = np.cumsum(windows.bytes * (stream.payload_bytes / stream.bytes) - windows.repeated)[rows]
    times = _sending_times(windows)[rows]
    each = max(1, min(round(_BLOCK_S / windows.width_s), len(times) // _BLOCKS))
    whole = len(times) // each * each
    if whole < _BLOCKS * each or sent[-1] <= sent[0]:
        return None
    share, rate = 0.0, 0.0
    for first, last in _edges(times, sent):
        slope = float((sent[last] - sent[first]) / (times[last] - times[first]))
        late = sent[:whole] - (sent[first] + slope * (times[:whole] - times[first]))
        on_time = late.reshape(-1, each).max(axis=1) >= -_TOUCHING * stream.segment_bytes
        share, rate = max((share, rate), (float(on_time.mean()), slope))
    short, long = _round_trips(windows)
    return Schedule(
        share,
        8.0 * rate,
        tested=len(stream.losses_s) >= fewest_losses or long > _VARIED * short,
        large=rate * short >= _SHOWN * stream.segment_bytes,
    )


def _sending_times(windows: Windows) -> NDArray[np.float64]:
    """When each window ended at the sender, up to a constant, in rising order."""
    ends = np.arange(1.0, len(windows) + 1.0) * windows.width_s
    known = np.isfinite(windows.upstream_rtt_s)
    if known.sum() < max(2.0, _TIMED * len(windows)):
        return ends
    waited = np.interp(ends, ends[known], windows.upstream_rtt_s[known])
    waited -= waited.min()
    beside = np.stack([np.append(waited[:1], waited[:-1]), waited, np.append(waited[1:], waited[-1:])])
    rising: NDArray[np.float64] = np.maximum.accumulate(ends - np.median(beside, axis=0))
    return rising


def _round_trips(windows: Windows) -> tuple[float, float]:
    """Short and long round trips, queues included, in seconds; nothing where they are not known."""
    trips = windows.upstream_rtt_s + windows.downstream_rtt_s
    trips = trips[np.isfinite(trips)]
    if len(trips) < _BLOCKS:
        return 0.0, 0.0
    short, long = np.quantile(trips, (0.1, 0.9))
    return float(short), float(long)


def _edges(times: NDArray[np.float64], sent: NDArray[np.float64]) -> list[tuple[int, int]]:
    """The longest edges of the least concave line above what was sent (Andrew, Inf. Process. Lett. 9, 1979)."""
    found: list[int] = []
    at, height = times.tolist(), sent.tolist()
    for place in range(len(at)):
        while len(found) > 1:
            first, middle = found[-2], found[-1]
            rise = (height[middle] - height[first]) * (at[place] - at[first])
            if rise > (height[place] - height[first]) * (at[middle] - at[first]):
                break
            found.pop()
        found.append(place)
    pairs = [(first, last) for first, last in pairwise(found) if at[last] > at[first]]
    return sorted(pairs, key=lambda pair: at[pair[0]] - at[pair[1]])[:_EDGES]
