"""One controller's cycle from cut to cut, integrated from its published law: what tests hold whole runs against.

Written from the papers and RFCs alone, and knows nothing of forebay's own code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

#: Steps per round trip.
STEPS = 20


@dataclass(frozen=True)
class Law:
    """A controller: the window's growth in packets per second, and what a cut leaves.

    `growth(window, since, top, rtt)`: seconds since the cut, the window before it. `keep(top, pipe)`: the part kept.
    """

    growth: Callable[[float, float, float, float], float]
    keep: Callable[[float, float], float]


@dataclass(frozen=True)
class Cycle:
    """A steady cycle: its length, packets and means over time."""

    seconds: float
    packets: float
    window: float
    utilization: float
    queues: tuple[float, ...]

    def queue(self, share: float) -> float:
        """The queue that is not exceeded this share of the time."""
        ordered = sorted(self.queues)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def cycle(law: Law, top: float, rtt: float, pipe: float = math.inf) -> Cycle:
    """From the cut at `top` packets back to it, over a link that holds `pipe` packets in a round trip of `rtt`."""
    window = law.keep(top, pipe) * top
    seconds = packets = area = 0.0
    queues = []
    while window < top:
        queue = max(0.0, window - pipe)
        round_trip = rtt * (1.0 + queue / pipe)
        step = round_trip / STEPS
        packets += min(window, pipe) / rtt * step
        area += window * step
        # The queue is sampled once per step of unequal length: those of a long round trip count for more.
        queues.extend([queue] * max(1, round(STEPS * round_trip / rtt / 4)))
        growth = law.growth(window, seconds, top, round_trip)
        window += growth * step
        seconds += step
    full = pipe / rtt * seconds
    return Cycle(seconds, packets, area / seconds, packets / full if math.isfinite(pipe) else math.nan, tuple(queues))


def window_of(law: Law, rate: float, rtt: float) -> float:
    """The mean window of flows that are cut once in `1 / rate` packets, with equal cycles."""
    low, high = 2.0, 1e6
    for _ in range(60):
        middle = math.sqrt(low * high)
        found = cycle(law, middle, rtt)
        low, high = (middle, high) if found.packets * rate < 1.0 else (low, middle)
    return cycle(law, low, rtt).window


#: RFC 5681: a packet per round trip, and half.
RENO = Law(lambda _w, _t, _top, rtt: 1.0 / rtt, lambda _top, _pipe: 0.5)


def scalable(increase: float, decrease: float) -> Law:
    """Kelly 2003: a part of the window per round trip."""
    return Law(lambda w, _t, _top, rtt: increase * w / rtt, lambda _top, _pipe: 1.0 - decrease)


#: tcp_scalable.c up to Linux 5.6, where a receiver acknowledges every other packet: one more for 50 acknowledgments, or
#: for those of a whole window where that is smaller.
LINUX_SCALABLE = Law(lambda w, _t, _top, rtt: 0.5 * w / min(w, 50.0) / rtt, lambda _top, _pipe: 0.875)


def cubic(beta: float, c: float = 0.4) -> Law:
    """RFC 9438: sections 4.2 (the cubic) and 4.3 (no slower than Reno with this cut)."""

    def growth(_w: float, since: float, top: float, rtt: float) -> float:
        k = (top * (1.0 - beta) / c) ** (1.0 / 3.0)
        friendly = 3.0 * (1.0 - beta) / (1.0 + beta)
        reno = beta * top + friendly * since / rtt
        return friendly / rtt if reno > c * (since - k) ** 3 + top else 3.0 * c * (since - k) ** 2

    return Law(growth, lambda _top, _pipe: beta)


def hstcp(low_loss: float = 1e-3) -> Law:
    """RFC 3649 section 5: the response goes from (38, `low_loss`) to (83000, 1e-7), the cut from a half to a tenth."""
    span = math.log(83000.0 / 38.0)

    def place(window: float) -> float:
        return math.log(max(window, 38.0) / 38.0) / span

    def decrease(window: float) -> float:
        return 0.5 - 0.4 * place(window)

    def increase(window: float) -> float:
        if window <= 38.0:
            return 1.0
        loss = low_loss * (1e-7 / low_loss) ** place(window)
        return max(1.0, window**2 * loss * 2.0 * decrease(window) / (2.0 - decrease(window)))

    return Law(lambda w, _t, _top, rtt: increase(w) / rtt, lambda top, _pipe: 1.0 - decrease(top))


#: RFC 3649 appendix B, rows (w, a, b): windows up to w packets grow by a packets per round trip and lose the part b.
_HSTCP_TABLE = (
    (38, 1, 0.50),
    (118, 2, 0.44),
    (221, 3, 0.41),
    (347, 4, 0.38),
    (495, 5, 0.37),
    (663, 6, 0.35),
    (851, 7, 0.34),
)


def _hstcp_row(window: float) -> tuple[int, float]:
    """Its last row applies to all larger windows, which no test reaches."""
    return next(((row[1], row[2]) for row in _HSTCP_TABLE if window <= row[0]), _HSTCP_TABLE[-1][1:])


HSTCP_TABLE = Law(lambda w, _t, _top, rtt: _hstcp_row(w)[0] / rtt, lambda top, _pipe: 1.0 - _hstcp_row(top)[1])


def htcp(keep: float, share: float = 1.0) -> Law:
    """Leith and Shorten 2004: faster the longer ago the cut was, which leaves `keep` of the window.

    That is the shortest round trip by the longest, between 0.5 and 0.8. `share` divides the growth: 1, or what Linux
    makes of the round trip.
    """
    retained = min(max(keep, 0.5), 0.8)

    def growth(_w: float, since: float, _top: float, rtt: float) -> float:
        late = max(0.0, since - 1.0)
        return 2.0 * (1.0 - retained) * max(1.0, (1.0 + 10.0 * late + 0.25 * late * late) / share) / rtt

    return Law(growth, lambda _top, _pipe: retained)


def linux_share(rtt: float) -> float:
    """Divisor of the growth in Linux's H-TCP: the inverse of the round trip in whole eighths of 100 ms."""
    return min(max(math.floor(0.8 / rtt), 4), 80) / 8.0
