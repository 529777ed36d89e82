"""The limit of each long flow: this link, its application, its receiver, or something elsewhere.

The method follows T-RAT (Zhang, Breslau, Paxson and Shenker, SIGCOMM 2002) and its successors, which evaluate a sender
round trip by round trip. If a flow loses packets at this queue or is marked by it, this link limits the flow. If the
receiver's window is full, or the flow has nothing in flight, this link does not limit it. If a flow sends at one rate
below the others' without a loss, its application or a slower link limits it: a capture cannot tell these two apart.
The same holds for a flow that keeps to a schedule although it loses packets beside others (see
`forebay.observation.schedules`). At a receiver no data is ever in flight, and an application loses no packets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from forebay.observation.congestion_signals import congestion_signals
from forebay.observation.estimate import IntervalEstimate
from forebay.observation.schedules import Schedule, find_schedule
from forebay.observation.streams import Place, Stream

__all__ = [
    "Limit",
    "count_limited",
    "doubtful_limits",
    "is_long",
    "limits",
    "limits_on_shared_link",
    "lost_here",
    "receiver_share",
]

#: Packets of a stream that is long enough to be limited by anything but its own size.
_LONG_PACKETS = 100
#: Share of the captured time that it lives for.
_LONG_SHARE = 0.25
#: From which share of time on a receiver or an application limits.
_MOST_OF_THE_TIME, _IDLE = 0.5, 0.25
#: Least ratio of the round trip to the receiver to that to the sender at which flights of a place show pauses.
_NEAR_RECEIVER = 0.25
#: Share of a receiver's window that is as good as all of it.
_FULL_WINDOW = 0.9
#: Losses that are cut out of a window: events of which it is known, and the share of it that is kept at most.
_CUTS, _CUT_TO = 2, 0.85
#: Round trips of a flow over its least one from which on its packets wait somewhere.
_WAITS = 1.1
#: Loss events or marks that tell of a link.
_EVENTS, _MARKS = 2, 10
#: Share of its losses at which the link was full, from which on they are the link's.
_AT_FULL = 0.5
#: A rate varies by less where it is set by something that no queue moves.
_CONSTANT = 0.08
#: The link does not limit a flow whose rate is below this share of the largest rate.
_BELOW = 0.8
#: Smaller flows are not asked whether they keep to a schedule: share of the bytes of all long flows.
_ASKED = 0.005
#: Least share of the largest rate at which rates count as equal, as a fair scheduler makes them; and the least share
#: of time on a schedule at which the link need not limit any flow.
_ALIKE, _SURELY = 0.9, 0.8
#: Least share of time in which a link must be full to limit a flow without a loss.
_FULL = 0.5
#: Round trips over which a rate is taken, and at least how long.
_ROUNDS, _AT_LEAST_S = 20, 0.5
#: Most instants at which flows are counted.
_MOST_POINTS = 100_000


class Limit(Enum):
    """The limit of a stream's rate."""

    LINK = "this link"
    RECEIVER = "its receiver"
    APPLICATION = "its application"
    ELSEWHERE = "its application or another link"
    UNKNOWN = "unknown"


def is_long(stream: Stream, capture_s: float) -> bool:
    """Whether a stream is long enough to ask what limits it."""
    return stream.responsive and stream.packets >= _LONG_PACKETS and stream.seconds >= _LONG_SHARE * capture_s


def limits(
    streams: Sequence[Stream], place: Place, full_share: float, full_s: NDArray[np.float64] | None = None
) -> list[Limit]:
    """Determine the limit of each of these long streams.

    Parameters
    ----------
    streams : sequence of Stream
        Long streams of one link and direction.
    place : Place
        Where they were captured.
    full_share : float
        Share of time in which the link was full.
    full_s : array of float or None
        Times at which it was full for some packets, in rising order; None if they are unknown.
    """
    largest = max((stream.mean_bps for stream in streams), default=0.0)
    return [_limit(stream, place, (full_share, full_s), largest) for stream in streams]


def _limit(stream: Stream, place: Place, full: tuple[float, NDArray[np.float64] | None], largest_bps: float) -> Limit:
    if receiver_share(stream) > _MOST_OF_THE_TIME:
        return Limit.RECEIVER
    if stream.idle_share > _IDLE:
        return Limit.APPLICATION if _shows_pauses(stream) else Limit.ELSEWHERE
    signals = lost_here(stream, place)
    # Drops that both sides show are this queue's, however short it is.
    if stream.front is None or 2 * stream.front.dropped < stream.filled:
        signals &= full[1] is None or _lost_at(stream, full[1]) >= _AT_FULL
    signals |= place is Place.BEHIND and stream.marked >= _MARKS
    below = stream.mean_bps < _BELOW * largest_bps
    constant = _is_constant(stream)
    if below and constant:
        # A flow behind a slower link keeps its rate, too, between the losses of this queue.
        doubtful = signals and _is_cut(stream) and not _is_on_schedule(stream)
        return Limit.UNKNOWN if doubtful else Limit.ELSEWHERE
    if signals or full[0] >= _FULL:
        return Limit.LINK
    return Limit.ELSEWHERE if constant else Limit.UNKNOWN


def limits_on_shared_link(streams: Sequence[Stream], found: Sequence[Limit]) -> tuple[list[Limit], dict[int, float]]:
    """Determine the limits of long streams that share a link, with regard to those that keep to a schedule.

    Parameters
    ----------
    streams : sequence of Stream
        Long streams of one link and direction.
    found : sequence of Limit
        The limit of each stream, as its losses, its marks and the load of the link tell.

    Returns
    -------
    list of Limit
        The same limits, except that streams on a schedule are limited by something else.
    dict of int to float
        Share of time on a schedule, by the index of the stream, for streams that the link is assumed to limit and that
        may keep to a schedule.
    """
    limits = list(found)
    schedules = _schedules(streams, found)
    largest = max((stream.mean_bps for stream in streams), default=0.0)
    small = {place for place in schedules if streams[place].mean_bps < _BELOW * largest}
    followed = {place for place, each in schedules.items() if each.is_followed and (each.large or place in small)}
    alike = {place for place in followed if streams[place].mean_bps >= _ALIKE * largest}
    # A fair scheduler gives equal rates, as equal applications do.
    doubted = alike if len(alike) > 1 else set()
    followed -= doubted
    linked = {place for place, limit in enumerate(found) if limit is Limit.LINK}
    if followed and followed == linked:
        # A flow that overflows a queue is not on a schedule all the time.
        least = min(followed, key=lambda place: schedules[place].share)
        if schedules[least].share < _SURELY:
            followed.discard(least)
            doubted = doubted | {least}
    for place in followed:
        limits[place] = Limit.ELSEWHERE
    if len(linked - followed) > 1:
        doubted = doubted | {
            place for place, each in schedules.items() if place not in followed and each.may_be_followed
        }
    return limits, {place: schedules[place].share for place in sorted(doubted)}


def lost_here(stream: Stream, place: Place) -> bool:
    """Whether a stream lost packets again and again, as far as this place shows, at the queue."""
    return len(stream.losses_s) >= _EVENTS and stream.lost(place) >= _EVENTS


def doubtful_limits(
    streams: Sequence[Stream], found: Sequence[Limit], place: Place, *, rate_known: bool
) -> dict[int, str]:
    """Why the limit of a stream is not certain, by its place; small streams are not asked.

    Parameters
    ----------
    streams : sequence of Stream
        Long streams of one link and direction.
    found : sequence of Limit
        The limit of each stream.
    place : Place
        Where they were captured.
    rate_known : bool
        Whether the rate of the link is known, so that a link that is not full limits no stream.
    """
    least = _ASKED * sum(stream.bytes for stream in streams)
    doubts: dict[int, str] = {}
    for number, (stream, limit) in enumerate(zip(streams, found, strict=True)):
        if stream.bytes < least or limit not in (Limit.ELSEWHERE, Limit.UNKNOWN):
            continue
        if lost_here(stream, place):
            if limit is Limit.UNKNOWN or not _is_on_schedule(stream):
                doubts[number] = "it lost packets that this queue may have dropped"
        elif limit is Limit.UNKNOWN:
            doubts[number] = "its rate varies without a loss, so this link may limit it"
        elif not rate_known and _waits(stream):
            doubts[number] = "its packets wait in a queue, so this link may limit it"
    return doubts


def _is_cut(stream: Stream) -> bool:
    """Whether losses cut the window of a stream: an application that writes at one rate goes on as before."""
    ratios = [event.window_ratio for event in congestion_signals(stream).events]
    return len(ratios) >= _CUTS and float(np.median(ratios)) <= _CUT_TO


def _is_on_schedule(stream: Stream) -> bool:
    """Whether a stream makes up after a loss for what its application wrote meanwhile."""
    schedule = find_schedule(stream, _EVENTS)
    return schedule is not None and schedule.is_followed


def _waits(stream: Stream) -> bool:
    """Whether the round trips of a stream rise and fall, as far as they are known."""
    if stream.windows is None:
        return False
    times = stream.windows.downstream_rtt_s + np.nan_to_num(stream.windows.upstream_rtt_s)
    times = times[np.isfinite(times)]
    return len(times) > 0 and float(np.median(times)) > _WAITS * float(times.min())


def _schedules(streams: Sequence[Stream], found: Sequence[Limit]) -> dict[int, Schedule]:
    """Schedules of the streams that the link is taken to limit; of a stream alone the link itself may be one."""
    if len(streams) < 2:
        return {}
    least = _ASKED * sum(stream.bytes for stream in streams)
    schedules = {}
    for place, (stream, limit) in enumerate(zip(streams, found, strict=True)):
        if limit is Limit.LINK and stream.bytes >= least:
            schedule = find_schedule(stream, _EVENTS)
            if schedule is not None:
                schedules[place] = schedule
    return schedules


def _shows_pauses(stream: Stream) -> bool:
    """Whether nothing on its way means that its sender had nothing to send.

    Beside a receiver everything is acknowledged at once; and who loses packets again and again meets a link.
    """
    if len(stream.losses_s) >= _EVENTS:
        return False
    return (
        stream.pauses > 0
        or stream.upstream_rtt_s is None
        or (stream.downstream_rtt_s or 0.0) >= _NEAR_RECEIVER * stream.upstream_rtt_s
    )


def receiver_share(stream: Stream) -> float:
    """Share of time in which the receiver's window is as good as full; 0 where it is not known.

    At the sender that is what was sent and not acknowledged. Further down the path, what the sender has sent and
    this place has not seen yet is in the window, too: as much as passes in the time from here to the sender and back.
    """
    windows = stream.windows
    if math.isnan(stream.window_limited) or windows is None or stream.upstream_rtt_s is None:
        return float(np.nan_to_num(stream.window_limited))
    each = max(1, round((stream.upstream_rtt_s + (stream.downstream_rtt_s or 0.0)) / windows.width_s))
    payload = windows.bytes * (stream.payload_bytes / max(stream.bytes, 1))
    rate = np.convolve(payload, np.ones(each) / each, mode="same") / windows.width_s
    before = np.where(np.isfinite(windows.upstream_rtt_s), windows.upstream_rtt_s, stream.upstream_rtt_s)
    held = windows.flight_bytes + rate * before
    known = np.isfinite(held) & np.isfinite(windows.receive_window_bytes)
    full = held[known] > _FULL_WINDOW * windows.receive_window_bytes[known]
    return max(stream.window_limited, float(full.mean()) if len(full) else 0.0)


def _lost_at(stream: Stream, full_s: NDArray[np.float64]) -> float:
    """Share of its loss events at which the link was full: a repair is seen a round trip behind the loss."""
    times = (stream.downstream_rtt_s or 0.0) + (stream.upstream_rtt_s or 0.0)
    if stream.windows is not None and np.isfinite(stream.windows.max_downstream_rtt_s).any():
        times = max(times, float(np.nanmedian(stream.windows.max_downstream_rtt_s)) + (stream.upstream_rtt_s or 0.0))
    first = np.searchsorted(full_s, stream.losses_s - 2.0 * times)
    last = np.searchsorted(full_s, stream.losses_s, side="right")
    return float(np.mean(last > first)) if len(first) else 0.0


def _is_constant(stream: Stream) -> bool:
    """Whether its rate varies by little over many round trips."""
    if stream.windows is None:
        return False
    times = stream.windows.downstream_rtt_s[np.isfinite(stream.windows.downstream_rtt_s)]
    round_s = float(np.median(times)) if len(times) else 0.0
    rates = stream.windows.rates_over(max(_ROUNDS * round_s, _AT_LEAST_S))
    # The first window is that of its slow start, a last one may be half.
    rates = rates[1:-1]
    if len(rates) < 4 or not rates.mean():
        return False
    return bool(rates.std() < _CONSTANT * rates.mean())


def count_limited(
    streams: Sequence[Stream], found: Sequence[Limit], capture: tuple[float, float], within_s: float = 1.0
) -> IntervalEstimate:
    """The number of streams that this link limits at a time: the mean over the capture, with quantiles over time.

    Streams of which nothing tells what limits them are in the upper end of the interval.
    """
    start, end = capture
    points = min(max(20, round((end - start) / within_s)), _MOST_POINTS)
    times = start + (end - start) * (np.arange(points) + 0.5) / points
    surely = np.zeros(len(times))
    perhaps = np.zeros(len(times))
    for stream, limit in zip(streams, found, strict=True):
        lives = (times >= stream.start_s) & (times <= stream.end_s)
        surely += lives & (limit is Limit.LINK)
        perhaps += lives & (limit is Limit.UNKNOWN)
    mean = float(surely.mean())
    low, high = (float(np.quantile(surely, share)) for share in (0.05, 0.95))
    high = max(high, float(np.quantile(surely + perhaps, 0.95)), mean)
    limited = sum(limit is Limit.LINK for limit in found)
    source = f"{limited} of {len(found)} long flows, over time"
    return IntervalEstimate(mean, min(low, mean), high, "", source, len(found))
