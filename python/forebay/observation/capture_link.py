"""The link of a capture: questions in order, each with the answers of the questions before it.

`observing` passes the columns of captures to it, and `joining` makes a finding of its answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from forebay.errors import InputError
from forebay.observation.controllers import Family, families, hidden
from forebay.observation.estimate import Estimate, Unknown, given_rate, rounded_down
from forebay.observation.intervals import batch_ratio
from forebay.observation.limits import Limit, beside_others, count_limited, doubtful_limits, is_long, limits, lost_here
from forebay.observation.link_rate import (
    CEILING,
    FIND_RATE,
    NOT_FULL,
    Bins,
    Gaps,
    busy_share,
    full_times,
    is_idle_at_times,
    link_rate,
    quiet,
)
from forebay.observation.queues import Backlogs, Queue, queue_limit
from forebay.observation.rate_bound import least_carried_rate, sliding_sums
from forebay.observation.round_trips import FLOOR, at_most, base_round_trip, round_trips_over_time
from forebay.observation.streams import Place, Stream
from forebay.text.formatting import bandwidth

__all__ = ["HOST_S", "LongFlow", "Observed", "Seen", "Transfers", "interpret"]

#: How many times as many losses of one kind as of the other say where a capture was taken.
_MORE = 3.0
#: Round trips over the least one that tell of a queue.
_WAITING = 1.1
#: How long before a handshake a link is looked at, and up to which share of its rate it is quiet.
_BEFORE_IT_S, _QUIET = 0.25, 0.5
#: Share of time up to which a link is hardly ever full.
_HARDLY_FULL = 0.01
#: By how much a link may carry more than the rate that is given: layers below IP count otherwise.
_EXCEEDED = 1.02
#: Load of a moment below this share of a rate: no link was seen to be full at that rate.
_MOMENT_S, _MOMENT_PACKETS, _REACHED = 0.001, 100.0, 0.95
#: Receivers that always answer sooner are next to the place; how many times as long packets wait before it as behind.
_NEXT_S, _MUCH_MORE = 0.002, 10.0
#: Who answers sooner is the host itself: no packet has been to another one and back.
HOST_S = 30e-6


@dataclass(frozen=True)
class Transfers:
    """Streams that began and ended within the capture: a sample of them, in order of their beginnings.

    `bytes` are distinct bytes of payload; `count` is how many there were in all.
    """

    bytes: NDArray[np.float64]
    starts_s: NDArray[np.float64]
    count: int


@dataclass(frozen=True)
class Seen:
    """The direction of a capture that is asked about, as the reader has told it together.

    Attributes
    ----------
    place : Place or None
        Where it was taken; None where nobody says.
    start_s, end_s : float
        First and last packet.
    load, gaps : Bins, Gaps
        Of its packets.
    streams : sequence of Stream
        Long ones and, as far as they are kept, short ones.
    transfers : Transfers
        Of whole connections.
    unresponsive_bytes : float
        IP bytes that nobody answers.
    backlogs : Backlogs or None
        Where both sides of the queue were captured.
    gathered : bool
        Whether segments were gathered where they were captured, into packets that no link carries.
    largest_bytes : float
        Of its packets.
    unordered : str
        Why nothing tells which side of the queue it is, where both sides were captured; empty elsewhere.
    """

    place: Place | None
    start_s: float
    end_s: float
    load: Bins
    gaps: Gaps
    streams: Sequence[Stream]
    transfers: Transfers
    unresponsive_bytes: float
    backlogs: Backlogs | None
    gathered: bool = False
    largest_bytes: float = 1514.0
    unordered: str = ""

    @property
    def seconds(self) -> float:
        """How long was captured."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class LongFlow:
    """A long flow, and what is known of it.

    `on_schedule` is the share of time in which it kept to one rate, where this link is taken to limit it although its
    application may; None where there is no such doubt. `doubt` is why something else may limit it; empty where its
    limit is certain. `lost` is whether it lost packets again and again.
    """

    stream: Stream
    limit: Limit
    base_round_trip: Estimate | Unknown
    round_trip_at_most: float | None
    family: Family
    on_schedule: float | None = None
    doubt: str = ""
    lost: bool = False


@dataclass(frozen=True)
class Observed:
    """What a capture says of its link.

    Attributes
    ----------
    place : Place
        Where it was taken.
    is_place_known : bool
        Whether anything tells that place: else it is taken to be behind the queue.
    rate : Estimate or Unknown
        Of the link, in bits of IP packets per second.
    load_bps : Estimate
        Bits per second that came by, with the scatter of its tenths.
    full_share : float
        Share of time in which the link was full; 0 where its rate is not known.
    limited : Estimate
        How many flows the link limits at a time.
    long_flows : sequence of LongFlow
        In the order of their sizes, the largest first.
    queue : Queue
        Its limit, and how it drops.
    transfers : Transfers
        Short ones.
    unresponsive_share : float
        Of the bytes, what nobody answers.
    """

    place: Place
    is_place_known: bool
    rate: Estimate | Unknown
    load_bps: Estimate
    full_share: float
    limited: Estimate
    long_flows: Sequence[LongFlow]
    queue: Queue
    transfers: Transfers
    unresponsive_share: float


def interpret(seen: Seen, rate_bps: float | None = None) -> Observed:
    """Answer every question that this capture can answer.

    Parameters
    ----------
    seen : Seen
        The capture.
    rate_bps : float or None
        The link's rate, where somebody knows it.
    """
    load = seen.load
    mean = batch_ratio(load.bytes * 8.0, np.full(len(load.bytes), load.width_s), "bit/s", "bytes over time")
    long = sorted(
        (stream for stream in seen.streams if is_long(stream, seen.seconds)), key=lambda stream: -stream.bytes
    )
    told = seen.place or _place(long)
    place = told or Place.BEHIND
    # Before a queue a burst proves nothing.
    bounding = Place.BEFORE if seen.unordered else place
    least = least_carried_rate(load, seen.streams, bounding, seen.largest_bytes, seen.gaps.resolution_s)
    if rate_bps is not None:
        _check_rate(rate_bps, least)
    rate = given_rate(rate_bps) if rate_bps is not None else _rate(seen, long, place)
    if isinstance(rate, Unknown):
        rate = replace(rate, at_least=least or 0.0)
    known = rate.value if isinstance(rate, Estimate) else None
    full = busy_share(known, seen.load) if known is not None else 0.0
    found = limits(long, place, full, full_times(known, seen.load) if known is not None else None)
    found, doubted = beside_others(long, found)
    doubt = doubtful_limits(long, found, place, rate_known=known is not None)
    idle = _Idle(place, known, load, mean.value)
    total = float(seen.load.bytes.sum())
    return Observed(
        place,
        told is not None,
        rate,
        mean,
        full,
        count_limited(long, found, (seen.start_s, seen.end_s)),
        [
            _long_flow(
                stream,
                limit,
                base_round_trip(
                    stream,
                    known,
                    # Who is held up elsewhere may have a queue there that never empties.
                    emptied=limit is not Limit.ELSEWHERE and idle.was_met(stream),
                    shaken_quietly=_was_quiet(stream, load, known or least),
                    tick_s=seen.gaps.resolution_s,
                ),
                _shown(kind, limit),
                (doubted.get(number), doubt.get(number, ""), lost_here(stream, place)),
            )
            for number, (stream, limit, kind) in enumerate(zip(long, found, families(long), strict=True))
        ],
        _queue(seen),
        seen.transfers,
        seen.unresponsive_bytes / total if total else 0.0,
    )


def _check_rate(rate_bps: float, least_bps: float | None) -> None:
    """Refuse a rate that is below what the link carried."""
    if least_bps is not None and least_bps > _EXCEEDED * rate_bps:
        raise InputError(
            f"found {bandwidth(rate_bps)} for a link that carried {bandwidth(rounded_down(least_bps))} or more in the "
            "capture; allowed: the rate of the link that was captured, in bits of IP packets",
            "rate",
        )


def _rate(seen: Seen, long: Sequence[Stream], place: Place) -> Estimate | Unknown:
    """The rate of the link, where what was seen is not the flows' own ceiling or the rate of a link before it."""
    found = Unknown("link rate", seen.unordered, FIND_RATE) if seen.unordered else link_rate(seen.gaps, seen.load)
    if isinstance(found, Unknown):
        return found
    if found.source == CEILING and place is Place.BEFORE:
        because = f"{found.value / 1e6:.3g} Mb/s and no more came to the queue, of which some may be lost in it"
        return Unknown("link rate", because, FIND_RATE)
    if found.source == CEILING:
        watched = [stream for stream in long if len(_times(stream)) > 1]
        if not any(map(_waits, watched)) and not any(len(stream.losses_s) for stream in long):
            because = (
                f"the load met a ceiling at {found.value / 1e6:.3g} Mb/s without a loss or a wait: receivers or "
                "applications hold it there"
            )
            return Unknown("link rate", because, FIND_RATE)
    elif place is Place.BEFORE and _lose_elsewhere(found.value, seen.load, long):
        because = (
            f"packets came back to back at {found.value / 1e6:.3g} Mb/s, but the load was near that rate for less than "
            f"{_HARDLY_FULL:.0%} of the time, and packets are lost later: it is the rate of a link before the queue"
        )
        return Unknown("link rate", because, FIND_RATE)
    elif not _is_surely_behind(seen, long) and _most_at_once(seen.load, found.value) < _REACHED * found.value:
        because = (
            f"packets came back to back at {found.value / 1e6:.3g} Mb/s, but never many: that may be a link before "
            "this one, or senders that space their packets"
        )
        return Unknown("link rate", because, FIND_RATE)
    return found


def _lose_elsewhere(rate_bps: float, load: Bins, long: Sequence[Stream]) -> bool:
    """Whether flows lose packets though a link of this rate is hardly ever full: a slower one behind it drops them."""
    return any(len(stream.losses_s) for stream in long) and busy_share(rate_bps, load) < _HARDLY_FULL


def _is_surely_behind(seen: Seen, long: Sequence[Stream]) -> bool:
    """Whether something tells that the queue is before this place: its name, or packets that are missing here."""
    if seen.place is not None:
        return seen.place is Place.BEHIND
    return any(stream.filled for stream in long) and _place(long) is Place.BEHIND


def _most_at_once(load: Bins, rate_bps: float) -> float:
    """The largest load of a moment in which many packets of a rate fit, in bit/s: more than a sender spaces alike."""
    packets = float(load.packets.sum())
    bits = float(load.bytes.sum()) * 8.0 / packets if packets else 12_000.0
    bins = max(1, min(round(max(_MOMENT_S, _MOMENT_PACKETS * bits / rate_bps) / load.width_s), len(load.bytes)))
    return float(sliding_sums(load.bytes, bins).max()) * 8.0 / (bins * load.width_s)


def _waits(stream: Stream) -> bool:
    """Whether a stream has met a queue: lost packets, or round trips that rose and fell."""
    times = _times(stream)
    return bool(len(stream.losses_s)) or float(np.median(times)) > _WAITING * float(times.min())


def _times(stream: Stream) -> NDArray[np.float64]:
    """Round trips over time, or what of them is known without timestamps."""
    whole = round_trips_over_time(stream)
    if len(whole) or stream.windows is None:
        return whole
    return stream.windows.behind_s[np.isfinite(stream.windows.behind_s)]


class _Idle:
    """When the queue of a link was seen to be empty.

    Behind it that is where the link did not send all that it can. Before it nobody sees that; and a link whose rate
    does not show behind it was never busy.
    """

    def __init__(self, place: Place, rate_bps: float | None, load: Bins, mean_bps: float) -> None:
        self._always = place is Place.BEHIND and rate_bps is None
        self._stretches: tuple[float, NDArray[np.float64]] | None = None
        if place is Place.BEHIND and rate_bps is not None and is_idle_at_times(mean_bps, rate_bps):
            width, still = quiet(rate_bps, load, NOT_FULL)
            self._stretches = width, np.concatenate([[0.0], np.cumsum(still)])

    def was_met(self, stream: Stream) -> bool:
        """Whether the queue was empty when the stream's round trips were least."""
        if self._always:
            return True
        if self._stretches is None:
            return False
        if stream.windows is None:
            return True
        times = stream.windows.behind_s + stream.windows.before_s
        least = times <= (1.0 + FLOOR) * np.nanmin(times) if np.isfinite(times).any() else np.zeros(len(times), bool)
        width, still = self._stretches
        first = np.clip((stream.windows.times_s[least] / width).astype(int), 0, len(still) - 1)
        last = np.clip(
            np.ceil((stream.windows.times_s[least] + stream.windows.width_s) / width).astype(int), first, len(still) - 1
        )
        return bool((still[last] > still[first]).any())


def _shown(kind: Family, limit: Limit) -> Family:
    """The family of a controller, as far as what limits its flow lets it show."""
    if limit in (Limit.APPLICATION, Limit.RECEIVER):
        return hidden(kind, limit.value)
    # A sender that has nothing to cut goes on at a loss, as BBR does.
    return hidden(kind, limit.value) if limit is Limit.ELSEWHERE and kind.name == "bbr" else kind


def _long_flow(
    stream: Stream,
    limit: Limit,
    base: Estimate | Unknown,
    kind: Family,
    doubt: tuple[float | None, str, bool],
) -> LongFlow:
    most = at_most(stream)
    if isinstance(base, Unknown) and base.at_most is None and most is not None:
        base = replace(base, at_most=most)
    return LongFlow(stream, limit, base, most, kind, *doubt)


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
        because = "one side of a queue shows neither what waits nor what is lost in it"
        measure = "capture before and behind the queue at once, or read the limit from the router's configuration"
        return Queue(Unknown("buffer", because, measure), None, is_one_sided=True)
    if seen.gathered:
        because = "segments were gathered at one of its sides, so that the same packet is not found on both"
        measure = "turn it off where you capture (ethtool -K DEV tso off gso off gro off)"
        return Queue(Unknown("buffer", because, measure), None)
    return queue_limit(seen.backlogs)


def _waits_are_before(streams: Sequence[Stream]) -> bool:
    """Whether packets waited before this place, and next to nothing did behind it."""
    before = behind = longest = 0.0
    for stream in streams:
        windows = stream.windows
        if windows is None:
            return False
        if not np.isfinite(windows.before_s).any() or not np.isfinite(windows.longest_behind_s).any():
            return False
        longest = max(longest, float(np.nanmax(windows.longest_behind_s)))
        before = max(before, float(np.nanmax(windows.before_s) - np.nanmin(windows.before_s)))
        behind = max(behind, float(np.nanmax(windows.longest_behind_s) - np.nanmin(windows.behind_s)))
    return longest < _NEXT_S and before > _MUCH_MORE * behind


def _place(streams: Sequence[Stream]) -> Place | None:
    """Where a capture was taken: what is lost before it fills gaps, what is lost behind it comes twice.

    Without a loss it is known of a sender's own host only; None elsewhere.
    """
    filled = sum(stream.filled for stream in streams)
    repeated = sum(stream.repeated for stream in streams)
    if repeated and not filled and _waits_are_before(streams):
        # What was sent again was not lost: it came twice to receivers that are next to this place.
        return Place.BEHIND
    if repeated or filled:
        return Place.BEFORE if repeated > _MORE * max(filled, 1) else Place.BEHIND
    answers = [stream.before_s for stream in streams if stream.before_s is not None]
    # Whatever queue there is, its senders are in front of it.
    return Place.BEFORE if answers and max(answers) < HOST_S else None
