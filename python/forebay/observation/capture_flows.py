"""Round trips and flows of a capture: base round trips, limits and controllers of long flows, and the queue's limit.

`capture_link` passes the place and the rate of the link. `capture_finding` makes a finding of the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from forebay.observation.capture_link import CaptureLink, Seen, Transfers
from forebay.observation.controllers import Family, families, hidden
from forebay.observation.estimate import IntervalEstimate, Unknown
from forebay.observation.intervals import batch_ratio
from forebay.observation.limits import Limit, count_limited, doubtful_limits, limits, limits_on_shared_link, lost_here
from forebay.observation.packet_timing import NOT_FULL, Bins, is_idle_at_times
from forebay.observation.queues import Queue, queue_limit
from forebay.observation.round_trips import FLOOR, at_most, base_round_trip
from forebay.observation.streams import Place, Stream

__all__ = ["LongFlow", "Observed", "observe_flows"]

#: How long before a handshake a link is looked at, and up to which share of its rate it is quiet.
_BEFORE_IT_S, _QUIET = 0.25, 0.5


@dataclass(frozen=True)
class LongFlow:
    """A long flow, and what is known of it.

    `on_schedule` is the share of time in which it kept to one rate, where this link is taken to limit it although its
    application may; None where there is no such doubt. `doubt` is why something else may limit it; empty where its
    limit is certain. `lost` is whether it lost packets again and again.
    """

    stream: Stream
    limit: Limit
    base_round_trip: IntervalEstimate | Unknown
    family: Family
    on_schedule: float | None = None
    doubt: str = ""
    lost: bool = False


@dataclass(frozen=True)
class Observed:
    """The interpretation of a capture of one link.

    Attributes
    ----------
    place : Place
        The place where the capture was taken.
    is_place_known : bool
        Whether the capture identifies that place. If not, the place is assumed to be behind the queue.
    rate : IntervalEstimate or Unknown
        Rate of the link, in bits of IP packets per second.
    load_bps : IntervalEstimate
        Bits per second that came by, with the scatter of its tenths.
    limited : IntervalEstimate
        How many flows the link limits at a time.
    long_flows : sequence of LongFlow
        The long flows, the largest first.
    queue : Queue
        The limit of the queue, and how it drops.
    transfers : Transfers
        The short flows.
    unresponsive_share : float
        Share of the bytes that no receiver acknowledges.
    """

    place: Place
    is_place_known: bool
    rate: IntervalEstimate | Unknown
    load_bps: IntervalEstimate
    limited: IntervalEstimate
    long_flows: Sequence[LongFlow]
    queue: Queue
    transfers: Transfers
    unresponsive_share: float


def observe_flows(seen: Seen, link: CaptureLink) -> Observed:
    """Describe the flows and the queue of a capture.

    Parameters
    ----------
    seen : Seen
        The capture.
    link : CaptureLink
        Its place and the rate of its link.
    """
    load, long, place, known = seen.load, link.long, link.place, link.known_bps
    mean = batch_ratio(load.bytes * 8.0, np.full(len(load.bytes), load.width_s), "bit/s", "bytes over time")
    full = load.busy_share(known) if known is not None else 0.0
    found = limits(long, place, full, load.full_times(known) if known is not None else None)
    found, doubted = limits_on_shared_link(long, found)
    doubt = doubtful_limits(long, found, place, rate_known=known is not None)
    idle = _Idle(place, known, load, mean.value)
    total = float(load.bytes.sum())
    return Observed(
        place,
        link.is_place_known,
        link.rate,
        mean,
        count_limited(long, found, (seen.start_s, seen.end_s)),
        [
            _long_flow(
                stream,
                limit,
                base_round_trip(
                    stream,
                    known,
                    # A flow that is limited elsewhere may have a queue there that never empties.
                    emptied=limit is not Limit.ELSEWHERE and idle.was_met(stream),
                    shaken_quietly=_was_quiet(stream, load, known or link.least_bps),
                    tick_s=seen.tick_s,
                ),
                _visible_family(kind, limit),
                (doubted.get(number), doubt.get(number, ""), lost_here(stream, place)),
            )
            for number, (stream, limit, kind) in enumerate(zip(long, found, families(long), strict=True))
        ],
        _queue(seen),
        seen.transfers,
        seen.unresponsive_bytes / total if total else 0.0,
    )


class _Idle:
    """The times at which a capture shows that the queue of a link was empty.

    A capture behind the queue shows an empty queue at the times when the link sent less than its rate. A capture
    before the queue cannot show it. If a capture behind the queue does not show the link's rate, the link was never
    busy.
    """

    def __init__(self, place: Place, rate_bps: float | None, load: Bins, mean_bps: float) -> None:
        self._always = place is Place.BEHIND and rate_bps is None
        self._stretches: tuple[float, NDArray[np.float64]] | None = None
        if place is Place.BEHIND and rate_bps is not None and is_idle_at_times(mean_bps, rate_bps):
            width, still = load.quiet_stretches(rate_bps, NOT_FULL)
            self._stretches = width, np.concatenate([[0.0], np.cumsum(still)])

    def was_met(self, stream: Stream) -> bool:
        """Whether the queue was empty when the stream's round trips were least."""
        if self._always:
            return True
        if self._stretches is None:
            return False
        if stream.windows is None:
            return True
        times = stream.windows.downstream_rtt_s + stream.windows.upstream_rtt_s
        least = times <= (1.0 + FLOOR) * np.nanmin(times) if np.isfinite(times).any() else np.zeros(len(times), bool)
        width, still = self._stretches
        first = np.clip((stream.windows.times_s[least] / width).astype(int), 0, len(still) - 1)
        last = np.clip(
            np.ceil((stream.windows.times_s[least] + stream.windows.width_s) / width).astype(int), first, len(still) - 1
        )
        return bool((still[last] > still[first]).any())


def _visible_family(kind: Family, limit: Limit) -> Family:
    """The family of a controller, as far as what limits its flow lets it show."""
    if limit in (Limit.APPLICATION, Limit.RECEIVER):
        return hidden(kind, limit.value)
    # A sender that has nothing to cut goes on at a loss, as BBR does.
    return hidden(kind, limit.value) if limit is Limit.ELSEWHERE and kind.name == "bbr" else kind


def _long_flow(
    stream: Stream,
    limit: Limit,
    base: IntervalEstimate | Unknown,
    kind: Family,
    doubt: tuple[float | None, str, bool],
) -> LongFlow:
    most = at_most(stream)
    if isinstance(base, Unknown) and base.at_most is None and most is not None:
        base = replace(base, at_most=most)
    return LongFlow(stream, limit, base, kind, *doubt)


def _was_quiet(stream: Stream, load: Bins, rate_bps: float | None) -> bool:
    """Whether little came by just before a stream began, as far as that was seen: its handshake met no queue then."""
    if stream.handshake_s is None or rate_bps is None:
        return True
    first = max(0, int((stream.start_s - stream.handshake_s - _BEFORE_IT_S) / load.width_s))
    bytes_ = load.bytes[first : int(stream.start_s / load.width_s)]
    return not len(bytes_) or float(bytes_.mean()) * 8.0 / load.width_s <= _QUIET * rate_bps


def _queue(seen: Seen) -> Queue:
    if seen.unordered:
        measure = "capture both directions on both sides, or read the limit from the router's configuration"
        return Queue(Unknown("buffer", seen.unordered, measure), None, is_one_sided=True)
    if seen.backlogs is None:
        because = "one side of a queue shows neither its length nor its losses"
        measure = (
            "capture on both sides of the queue at the same time, or read the limit from the router's configuration"
        )
        return Queue(Unknown("buffer", because, measure), None, is_one_sided=True)
    if seen.gathered:
        because = "offload merged segments on one side of the queue, so packets of both sides do not match"
        measure = "turn offload off on the capturing host (ethtool -K DEV tso off gso off gro off)"
        return Queue(Unknown("buffer", because, measure), None)
    return queue_limit(seen.backlogs)
