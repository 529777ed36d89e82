"""What lies between two captures of one queue: the way from one place to the other, and what their clocks differ by.

Packets that are on that way do not wait. But of a queue that never emptied the least wait is waiting, too: only where
it must have been empty at times is what every packet took at least the way between.
"""

from __future__ import annotations

from forebay.observation.estimate import Estimate, Unknown
from forebay.observation.packet_timing import Bins, is_idle_at_times

__all__ = ["clock_offset_ns"]

#: What lies between two ports of a router, and no queue waits for longer than, in nanoseconds.
_NEXT_NS, _LONGEST_NS = 100_000, 1_000_000_000
#: Times that the link takes for a large packet, which two stamps of one queue may be apart.
_SENDINGS = 1.5


def clock_offset_ns(least_ns: int, rate: Estimate | Unknown, load: Bins, packet_bytes: float, *, hosts: bool) -> int:
    """By how much two captures are apart, in nanoseconds; 0 where they are next to each other, or nobody knows.

    Parameters
    ----------
    least_ns : int
        What a packet took at least from one capture to the other; negative where the clock behind is late.
    rate : Estimate or Unknown
        Of the link.
    load : Bins
        What left it.
    packet_bytes : float
        Its largest packets.
    hosts : bool
        Whether both captures were taken on the hosts themselves, which no queue stands between alone.
    """
    sending_ns = _SENDINGS * packet_bytes * 8e9 / rate.value if isinstance(rate, Estimate) else 0.0
    if abs(least_ns) <= max(_NEXT_NS, sending_ns):
        return 0
    if hosts or not 0 <= least_ns < _LONGEST_NS or isinstance(rate, Unknown):
        return least_ns
    mean = float(load.bytes.sum()) * 8.0 / load.seconds
    return least_ns if is_idle_at_times(mean, rate.value) else 0
