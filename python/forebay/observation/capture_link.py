"""Link rate of a capture: the place where it was taken, and the rate of the link or a bound of it.

`captures` passes the chosen direction as `Seen`. `capture_flows` gets the answer as `CaptureLink`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from forebay.errors import InputError
from forebay.observation.capture_sides import Packets
from forebay.observation.estimate import IntervalEstimate, Unknown, given_rate, rounded_down
from forebay.observation.limits import is_long
from forebay.observation.link_rate import CEILING, FIND_RATE
from forebay.observation.load import LoadSeries
from forebay.observation.packet_timing import Bins
from forebay.observation.queues import Backlogs
from forebay.observation.rate_bound import least_carried_rate, sliding_sums
from forebay.observation.streams import Place, Stream
from forebay.text.formatting import bandwidth

__all__ = ["HOST_S", "CaptureLink", "Seen", "Transfers", "identify_link"]

#: How many times as many losses of one kind as of the other say where a capture was taken.
_MORE = 3.0
#: Round trips over the least one that tell of a queue.
_WAITING = 1.1
#: Share of time up to which a link is hardly ever full.
_HARDLY_FULL = 0.01
#: By how much a link may carry more than the rate that is given: layers below IP count otherwise.
_EXCEEDED = 1.02
#: Load of a moment below this share of a rate: no link was seen to be full at that rate.
_MOMENT_S, _MOMENT_PACKETS, _REACHED = 0.001, 100.0, 0.95
#: Receivers that always answer sooner are next to the place; how many times as long packets wait before it as behind.
_NEXT_S, _MUCH_MORE = 0.002, 10.0
#: If an answer takes less than this, in seconds, the capturing host sent it: no packet reaches another host so fast.
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
    """The evaluated direction of a capture, as the reader has assembled it.

    Attributes
    ----------
    place : Place or None
        The place where the capture was taken; None if it is not known.
    start_s, end_s : float
        Times of the first and the last packet.
    packets : Packets
        Packets of the direction over time, with the rate of the link that sent them back to back.
    streams : sequence of Stream
        Long streams and, as far as they are kept, short ones.
    transfers : Transfers
        Transfers of whole connections.
    unresponsive_bytes : float
        IP bytes that no receiver acknowledges.
    backlogs : Backlogs or None
        The backlogs of the queue; None unless both sides of the queue were captured.
    gathered : bool
        Whether segmentation offload had merged segments at the capture into packets that no link carries.
    largest_bytes : float
        Size of the largest packet.
    unordered : str
        If both sides were captured but their order is unknown: why; otherwise empty.
    """

    place: Place | None
    start_s: float
    end_s: float
    packets: Packets
    streams: Sequence[Stream]
    transfers: Transfers
    unresponsive_bytes: float
    backlogs: Backlogs | None
    gathered: bool = False
    largest_bytes: float = 1514.0
    unordered: str = ""

    @property
    def load(self) -> Bins:
        """Bytes and packets over time."""
        return self.packets.load

    @property
    def tick_s(self) -> float:
        """The least time that the clock of the capture tells apart, in seconds."""
        return self.packets.gaps.resolution_s

    @property
    def load_series(self) -> LoadSeries | None:
        """Bytes over time; None if the capture has less than two bins."""
        load = self.packets.load
        if len(load.bytes) < 2:
            return None
        return LoadSeries(load.bytes, load.width_s, "bytes by the millisecond", load.packet_bits / 8.0, self.tick_s)

    @property
    def seconds(self) -> float:
        """How long was captured."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class CaptureLink:
    """The link of a capture.

    Attributes
    ----------
    place : Place
        Where the capture was taken.
    is_place_known : bool
        Whether the capture identifies that place. If not, the place is assumed to be behind the queue.
    rate : IntervalEstimate or Unknown
        Rate of the link, in bits of IP packets per second.
    least_bps : float or None
        Lower bound of the rate that the link carried; None if the capture proves none.
    long : sequence of Stream
        Long streams, the largest first.
    """

    place: Place
    is_place_known: bool
    rate: IntervalEstimate | Unknown
    least_bps: float | None
    long: Sequence[Stream]

    @property
    def known_bps(self) -> float | None:
        """The rate, if it is known."""
        return self.rate.value if isinstance(self.rate, IntervalEstimate) else None


def identify_link(seen: Seen, rate_bps: float | None = None) -> CaptureLink:
    """Identify the place of a capture and the rate of its link.

    Parameters
    ----------
    seen : Seen
        The capture.
    rate_bps : float or None
        The link's rate, if the user gives it.

    Raises
    ------
    InputError
        If the link carried more than the given rate.
    """
    long = sorted(
        (stream for stream in seen.streams if is_long(stream, seen.seconds)), key=lambda stream: -stream.bytes
    )
    stated = seen.place or _place(long)
    place = stated or Place.BEHIND
    # Before a queue a burst proves nothing.
    bounding = Place.BEFORE if seen.unordered else place
    least = least_carried_rate(seen.load, seen.streams, bounding, seen.largest_bytes, seen.tick_s)
    if rate_bps is not None:
        _check_rate(rate_bps, least)
    rate = given_rate(rate_bps) if rate_bps is not None else _rate(seen, long, place)
    if isinstance(rate, Unknown):
        rate = replace(rate, at_least=least or 0.0)
    return CaptureLink(place, stated is not None, rate, least, long)


def _check_rate(rate_bps: float, least_bps: float | None) -> None:
    """Refuse a rate that is below what the link carried."""
    if least_bps is not None and least_bps > _EXCEEDED * rate_bps:
        raise InputError(
            f"found {bandwidth(rate_bps)} for a link that carried {bandwidth(rounded_down(least_bps))} or more in the "
            "capture; allowed: the rate of the link that was captured, in bits of IP packets",
            "rate",
        )


def _rate(seen: Seen, long: Sequence[Stream], place: Place) -> IntervalEstimate | Unknown:
    """The rate of the link, where what was seen is not the flows' own ceiling or the rate of a link before it."""
    found = Unknown("link rate", seen.unordered, FIND_RATE) if seen.unordered else seen.packets.rate
    if isinstance(found, Unknown):
        return found
    if found.source == CEILING and place is Place.BEFORE:
        because = f"at most {found.value / 1e6:.3g} Mb/s came to the queue, and the queue may have dropped a part"
        return Unknown("link rate", because, FIND_RATE)
    if found.source == CEILING:
        watched = [stream for stream in long if len(_times(stream)) > 1]
        if not any(map(_waits, watched)) and not any(len(stream.losses_s) for stream in long):
            because = (
                f"the load has a maximum of {found.value / 1e6:.3g} Mb/s without loss or queueing, so receivers or "
                "applications limit it"
            )
            return Unknown("link rate", because, FIND_RATE)
    elif place is Place.BEFORE and _lose_elsewhere(found.value, seen.load, long):
        because = (
            f"packets came back to back at {found.value / 1e6:.3g} Mb/s, but the load was near that rate for less than "
            f"{_HARDLY_FULL:.0%} of the time, and packets are lost later. It is the rate of a link before the queue"
        )
        return Unknown("link rate", because, FIND_RATE)
    elif not _is_after_queue(seen, long) and _most_at_once(seen.load, found.value) < _REACHED * found.value:
        because = (
            f"packets came back to back at {found.value / 1e6:.3g} Mb/s, but only a few. The reason may be a link "
            f"before "
            "this one, or pacing of the senders"
        )
        return Unknown("link rate", because, FIND_RATE)
    return found


def _lose_elsewhere(rate_bps: float, load: Bins, long: Sequence[Stream]) -> bool:
    """Whether flows lose packets though a link of this rate is hardly ever full: a slower one behind it drops them."""
    return any(len(stream.losses_s) for stream in long) and load.busy_share(rate_bps) < _HARDLY_FULL


def _is_after_queue(seen: Seen, long: Sequence[Stream]) -> bool:
    """Whether something tells that the queue is before this place: its name, or packets that are missing here."""
    if seen.place is not None:
        return seen.place is Place.BEHIND
    return any(stream.filled for stream in long) and _place(long) is Place.BEHIND


def _most_at_once(load: Bins, rate_bps: float) -> float:
    """The largest load of a moment in which many packets of a rate fit, in bit/s: more than a sender spaces alike."""
    bins = max(
        1, min(round(max(_MOMENT_S, _MOMENT_PACKETS * load.packet_bits / rate_bps) / load.width_s), len(load.bytes))
    )
    return float(sliding_sums(load.bytes, bins).max()) * 8.0 / (bins * load.width_s)


def _waits(stream: Stream) -> bool:
    """Whether a stream has met a queue: lost packets, or round trips that rose and fell."""
    times = _times(stream)
    return bool(len(stream.losses_s)) or float(np.median(times)) > _WAITING * float(times.min())


def _times(stream: Stream) -> NDArray[np.float64]:
    """Round trips over time, or what of them is known without timestamps."""
    whole = stream.round_trips_s
    if len(whole) or stream.windows is None:
        return whole
    return stream.windows.downstream_rtt_s[np.isfinite(stream.windows.downstream_rtt_s)]


def _waits_are_before(streams: Sequence[Stream]) -> bool:
    """Whether packets waited before this place, and next to nothing did behind it."""
    before = behind = longest = 0.0
    for stream in streams:
        windows = stream.windows
        if windows is None:
            return False
        if not np.isfinite(windows.upstream_rtt_s).any() or not np.isfinite(windows.max_downstream_rtt_s).any():
            return False
        longest = max(longest, float(np.nanmax(windows.max_downstream_rtt_s)))
        before = max(before, float(np.nanmax(windows.upstream_rtt_s) - np.nanmin(windows.upstream_rtt_s)))
        behind = max(behind, float(np.nanmax(windows.max_downstream_rtt_s) - np.nanmin(windows.downstream_rtt_s)))
    return longest < _NEXT_S and before > _MUCH_MORE * behind


def _place(streams: Sequence[Stream]) -> Place | None:
    """The place of a capture: a repair of a loss before it fills a gap; a repair of a loss behind it comes twice.

    Without a loss the place is known only on a sender's own host; otherwise it is None.
    """
    filled = sum(stream.filled for stream in streams)
    repeated = sum(stream.repeated for stream in streams)
    if repeated and not filled and _waits_are_before(streams):
        # The retransmitted packets were not lost: they arrived twice at receivers that are next to this place.
        return Place.BEHIND
    if repeated or filled:
        return Place.BEFORE if repeated > _MORE * max(filled, 1) else Place.BEHIND
    answers = [stream.upstream_rtt_s for stream in streams if stream.upstream_rtt_s is not None]
    # The senders of any queue are in front of it.
    return Place.BEFORE if answers and max(answers) < HOST_S else None
