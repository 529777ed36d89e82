"""The offset between two captures of one queue: the propagation delay between their places plus their clock offset.

The propagation delay is no waiting time. If the queue never emptied, however, the least delay contains waiting time.
The least delay is therefore the offset only if the queue must have been empty at times.
"""

from __future__ import annotations

from forebay.observation.estimate import IntervalEstimate, Unknown
from forebay.observation.packet_timing import Bins, is_idle_at_times

__all__ = ["clock_offset_ns"]

#: The largest delay between two ports of a router, and the longest wait in any queue, in nanoseconds.
_NEXT_NS, _LONGEST_NS = 100_000, 1_000_000_000
#: The difference that two stamps at one queue may have, in transmission times of a large packet.
_SENDINGS = 1.5


def clock_offset_ns(
    least_ns: int, rate: IntervalEstimate | Unknown, load: Bins, packet_bytes: float, *, hosts: bool
) -> int:
    """The offset between two captures, in nanoseconds; 0 if they are next to each other or the offset is unknown.

    Parameters
    ----------
    least_ns : int
        Least time of a packet from one capture to the other; negative if the clock behind the queue is late.
    rate : IntervalEstimate or Unknown
        Rate of the link.
    load : Bins
        Packets that left the link over time.
    packet_bytes : float
        Size of its largest packets.
    hosts : bool
        Whether both captures were taken on the hosts, which are separated by more than the queue.
    """
    sending_ns = _SENDINGS * packet_bytes * 8e9 / rate.value if isinstance(rate, IntervalEstimate) else 0.0
    if abs(least_ns) <= max(_NEXT_NS, sending_ns):
        return 0
    if hosts or not 0 <= least_ns < _LONGEST_NS or isinstance(rate, Unknown):
        return least_ns
    mean = float(load.bytes.sum()) * 8.0 / load.seconds
    return least_ns if is_idle_at_times(mean, rate.value) else 0
