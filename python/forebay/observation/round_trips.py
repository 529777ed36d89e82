"""Base round trips: the time there and back without queueing delay.

A capture in the middle of a path sees two parts: from data to its acknowledgment, which is the way behind the place,
and from an acknowledgment to the data that it releases, which is the way before it. The least sum of both is the
round trip at an empty queue, if the queue ever was empty; one or two windows of time that stand alone below all others
are wrong stamps. The link's own time to send a packet is in what was measured where packets of data take longer than
those of a handshake, and is not in it at a shaper, which lets packets pass as they are. With a capture on either side
of the queue each part is taken where the queue is not in it: both clocks may differ, because no time is taken between
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forebay.observation.estimate import CONFIDENCE, IntervalEstimate, Unknown
from forebay.observation.packet_timing import Bins
from forebay.observation.streams import Stream

__all__ = ["FLOOR", "WAITED", "at_most", "base_round_trip", "handshakes"]

#: Fewest times of each part that are worth a minimum.
_FEWEST = 3
#: How near to the least a window's time touches the floor, and how often that is to be seen.
FLOOR, _TOUCHES = 0.01, 3
#: Windows that may be wrong, and the fewest of which some are left out.
_WRONG, _MANY = 2, 12
#: Share of the link's own time to send a packet by which data takes longer than a handshake where it has that time.
_LONGER = 0.25
#: Source of round trips of many handshakes that are upper bounds.
WAITED = "handshakes, which may have waited"
#: Source of a round trip that is an upper bound.
_SHAKEN = "its handshake, which may have waited"
#: Ticks of the clock that a round trip has at least.
_TICKS = 10.0
#: Stamps and delayed interrupts make the best minimum no better than this share of it.
_RESOLUTION = 0.005


def base_round_trip(
    stream: Stream, rate_bps: float | None, *, emptied: bool = True, shaken_quietly: bool = True, tick_s: float = 0.0
) -> IntervalEstimate | Unknown:
    """The round trip of a stream without waiting, in seconds.

    Parameters
    ----------
    stream : Stream
        The stream.
    rate_bps : float or None
        Rate of the link. A measured time may contain the link's time to send a packet; a base round trip does not.
    emptied : bool
        Whether the queue was empty at times; if not, even the least measured time contains waiting.
    shaken_quietly : bool
        Whether the link was quiet at the handshake; if not, the handshake has waited, too, if the queue never emptied.
    tick_s : float
        Resolution of the capture's clock.
    """
    apart = _both_sides(stream, rate_bps)
    if apart is not None:
        return _resolved(apart, tick_s)
    parts = stream.downstream_samples >= _FEWEST and stream.upstream_samples >= _FEWEST
    sums = np.sort(stream.round_trips_s)
    first = _first_right(sums)
    if parts and stream.downstream_rtt_s is not None and stream.upstream_rtt_s is not None:
        least = stream.downstream_rtt_s + stream.upstream_rtt_s
        if first is not None and first > 0:
            least = float(sums[first])
        samples = min(stream.downstream_samples, stream.upstream_samples)
        source = "least time from data to ACK and from ACK to data"
        own = _own_s(stream, rate_bps)
        # A handshake's packets take next to no time to send: what is the link's own is in data's times alone.
        if stream.of_data_s is not None and stream.handshake_s is not None:
            least = max(least, stream.of_data_s)
            if stream.handshake_s < least - _LONGER * own[2]:
                # It is no shorter than the base round trip, so that data's times have the link's own in them.
                own = (own[0], own[2], own[2])
            if stream.handshake_s < least - own[1]:
                least, own, source = stream.handshake_s, (0.0, 0.0, 0.0), _SHAKEN
                samples = 1
    elif stream.handshake_s is not None:
        least, samples, source = stream.handshake_s, 1, _SHAKEN
        own = (0.0, 0.0, 0.0)
    else:
        return _unknown(stream)
    value = max(least - own[1], 0.0)
    # A least time that was seen once is where the queue happened to be shortest.
    touched = first is not None if len(sums) else True
    if not (emptied and touched) and (stream.handshake_s is None or not shaken_quietly):
        return Unknown(
            "base round trip",
            f"a queue never emptied: {1e3 * (stream.downstream_rtt_s or 0.0):.3g} to {1e3 * value:.3g} ms",
            "capture both sides of the queue or at a quiet time, or measure it with ping",
            at_most=least,
        )
    rest = sums[first or 0 :]
    slack = _slack(rest) if len(rest) > 1 else 0.1 * value
    return _resolved(
        _Least(
            value,
            max(least - own[2] - max(slack, _RESOLUTION * value), 0.0),
            (least - own[0]) * (1.0 + _RESOLUTION),
            source,
            # Times within a window depend on each other.
            min(samples, max(len(sums), 1)),
        ),
        tick_s,
    )


def _first_right(ordered: NDArray[np.float64]) -> int | None:
    """The place of the least that is no wrong stamp: two others are as near to it as it takes to touch the floor.

    None where so few came near to it that the queue may just have been short.
    """
    places = 1 + (_WRONG if len(ordered) >= _MANY else 0)
    for place in range(min(places, len(ordered) - _TOUCHES + 1)):
        if ordered[place + _TOUCHES - 1] <= (1.0 + FLOOR) * ordered[place]:
            return place
    return None


@dataclass(frozen=True)
class _Least:
    """A least time with its ends, in seconds, before the clock is thought of."""

    value: float
    low: float
    high: float
    source: str
    samples: int


def _resolved(found: _Least, tick_s: float) -> IntervalEstimate | Unknown:
    """The same with the clock's tick in its interval; unknown where it is no more than some ticks."""
    if found.value < _TICKS * tick_s:
        return Unknown(
            "base round trip",
            f"the clock of the capture tells no times apart below {1e3 * tick_s:.3g} ms",
            "capture with finer stamps (tcpdump --time-stamp-precision=nano), or measure it with ping",
            at_most=found.high + 2.0 * tick_s,
        )
    ends = max(found.low - tick_s, 0.0), found.high + tick_s
    return IntervalEstimate(found.value, *ends, "s", found.source, found.samples, is_most=found.source == _SHAKEN)


def _own_s(stream: Stream, rate_bps: float | None) -> tuple[float, float, float]:
    """The link's own time to send a packet in what was measured: at least, probably, and at most, in seconds.

    It is in the time from data to its acknowledgment where that is longer than that of a handshake; what leaves a
    shaper is not slowed down. Without a handshake either may be true.
    """
    own = _sending_s(stream.packet_bytes, rate_bps)
    if stream.data_downstream_rtt_s is None or stream.handshake_downstream_rtt_s is None:
        return 0.0, 0.5 * own, own
    seen = min(max(stream.data_downstream_rtt_s - stream.handshake_downstream_rtt_s, 0.0), own)
    return 0.0, seen, own


def _both_sides(stream: Stream, rate_bps: float | None) -> _Least | None:
    """From both sides of the queue: the ways before and behind it, neither of which waits there.

    A router stamps a packet as it begins to send it, and what listens to the line when it has: the interval has both.
    """
    front = stream.front
    if front is None or front.upstream_rtt_s is None or stream.downstream_rtt_s is None:
        return None
    samples = min(stream.downstream_samples, front.upstream_samples)
    if samples < _FEWEST:
        return None
    behinds = (
        np.empty(0)
        if stream.windows is None
        else stream.windows.downstream_rtt_s[np.isfinite(stream.windows.downstream_rtt_s)]
    )
    ways, slack = 0.0, 0.0
    for each, alone in ((np.sort(behinds), stream.downstream_rtt_s), (np.sort(front.befores_s), front.upstream_rtt_s)):
        first = _first_right(each)
        ways += alone if first is None or first == 0 else float(each[first])
        slack += _slack(each[first or 0 :]) if len(each[first or 0 :]) > 1 else 0.05 * alone
    _, own, most_own = _own_s(stream, rate_bps)
    value = max(ways - own, 0.0)
    return _Least(
        value,
        max(ways - most_own - max(slack, _RESOLUTION * value), 0.0),
        ways * (1.0 + _RESOLUTION),
        "least time from ACK to data before the queue and from data to ACK behind it",
        samples,
    )


def at_most(stream: Stream) -> float | None:
    """An upper bound of the base round trip, in seconds: the least measured one, waiting included."""
    if stream.downstream_rtt_s is None or stream.upstream_rtt_s is None:
        return None
    value = stream.downstream_rtt_s + stream.upstream_rtt_s
    if stream.of_data_s is not None and stream.handshake_s is not None:
        value = min(stream.of_data_s, stream.handshake_s)
    return value


def handshakes(
    streams: Sequence[Stream], rate_bps: float | None, load: Bins, enough: int
) -> tuple[NDArray[np.float64], str]:
    """Round trips of handshakes in seconds, without waiting where there are enough of these, and what they are.

    From both sides of the queue each part is taken where the queue is not in it; of one side those are taken that
    fell into quiet times of the link, which know nothing of how long their own way is.
    """
    apart = [
        stream.handshake_downstream_rtt_s + stream.front.handshake_upstream_rtt_s
        for stream in streams
        if stream.front is not None
        and stream.front.handshake_upstream_rtt_s is not None
        and stream.handshake_downstream_rtt_s is not None
    ]
    if len(apart) >= enough:
        return np.array(apart), "handshakes, before and behind the queue"
    shaken = [(stream.start_s, stream.handshake_s) for stream in streams if stream.handshake_s is not None]
    starts, shakes = (np.array(each) for each in zip(*shaken, strict=True)) if shaken else (np.empty(0), np.empty(0))
    if rate_bps is not None:
        width, still = load.quiet_stretches(rate_bps)
        before = np.concatenate([[0], np.cumsum(still)])
        first = np.clip(((starts - shakes) / width).astype(int), 0, len(still))
        last = np.clip((starts / width).astype(int) + 1, first, len(still))
        unhindered = (before[last] - before[first] == last - first) & (last > first)
        if np.count_nonzero(unhindered) >= enough:
            return shakes[unhindered], "handshakes while the link was quiet"
    return shakes, WAITED


def _slack(ordered: NDArray[np.float64]) -> float:
    """The distance below the least of a sample at which its distribution may begin (Robson and Whitlock, 1964)."""
    return float(ordered[1] - ordered[0]) * CONFIDENCE / (1.0 - CONFIDENCE)


def _sending_s(packet_bytes: int, rate_bps: float | None) -> float:
    return packet_bytes * 8.0 / rate_bps if rate_bps else 0.0


def _unknown(stream: Stream) -> Unknown:
    if stream.downstream_samples < _FEWEST and stream.upstream_samples < _FEWEST:
        because = "only one direction of its connection was captured"
        measure = "capture both directions of the port"
    elif stream.upstream_samples < _FEWEST:
        because = "the way before this place shows only by TCP timestamps, and there were none"
        measure = "capture at the sender, or turn timestamps on (net.ipv4.tcp_timestamps)"
    else:
        because = "too few of its packets were answered"
        measure = "capture for longer"
    return Unknown("base round trip", because, measure)
