"""The least that a link of unknown rate carried: a bound that is true wherever the capture was taken.

Behind the queue all that is seen was carried. Before it a packet may still be lost, and what is not lost may wait: of
each stream the repetitions are taken off, and a window of time is longer by the longest wait.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from forebay.observation.packet_timing import Bins
from forebay.observation.streams import Place, Stream

__all__ = ["least_carried_rate", "sliding_sums"]

#: The shortest window, in seconds: hosts and media hold packets up for less, and hand them on together.
_SHORTEST_S = 1.0
#: The least time that a capture covers.
_LEAST_S = 0.1
#: Headers of a repeated packet as a share of its payload.
_HEADERS = 0.06
#: Round trips within which a loss is repaired, and how long that takes at least.
_REPAIR_ROUNDS, _REPAIR_S = 3.0, 0.3


def least_carried_rate(
    load: Bins, streams: Sequence[Stream], place: Place, largest_bytes: float, tick_s: float = 0.0
) -> float | None:
    """A lower bound of the rate that the link carried, in bit/s; None if the capture proves nothing.

    Parameters
    ----------
    load : Bins
        Load of the direction that is the link's.
    streams : sequence of Stream
        Streams of the same direction.
    place : Place
        The place of the capture.
    largest_bytes : float
        Size of its largest packet: one packet begins before a window and ends in it.
    tick_s : float
        Resolution of the clock.
    """
    if load.seconds < _LEAST_S:
        return None
    if place is Place.BEHIND:
        most = max(
            (
                _of_window(load.bytes, load.width_s, seconds, largest_bytes, tick_s)
                for seconds in _lengths(load.seconds)
            ),
            default=0.0,
        )
        return most * 8.0 or None
    return _acknowledged(streams, load.seconds, largest_bytes, tick_s) * 8.0 or None


def _lengths(seconds: float) -> list[float]:
    """Lengths of windows: from the shortest on, each twice the one before, and the whole."""
    lengths = []
    length = _SHORTEST_S
    while length < seconds:
        lengths.append(length)
        length *= 2.0
    return [*lengths, seconds]


def _of_window(bytes_: NDArray[np.float64], width_s: float, seconds: float, largest: float, tick_s: float) -> float:
    """Bytes a second in the busiest window of a length, at the rate at which what was held up is counted later."""
    sums = sliding_sums(bytes_, max(1, round(seconds / width_s)))
    if not len(sums):
        return 0.0
    bins = min(max(1, round(seconds / width_s)), len(bytes_))
    length = bins * width_s
    rate = float(sums.max()) / length
    if rate == 0.0:
        return 0.0
    # The time for which packets may have been held up in the window and just before it, so that they arrive together.
    at = int(sums.argmax())
    first = max(0, at - bins)
    held = _excess(bytes_[first : at + bins], rate * width_s) / rate
    return max(0.0, float(sums.max()) - largest) / (length + held + tick_s)


def sliding_sums(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Sums over `count` neighbors, at all places."""
    count = min(count, len(values))
    total = np.concatenate([[0.0], np.cumsum(values)])
    sums: NDArray[np.float64] = total[count:] - total[:-count]
    return sums


def _excess(bytes_: NDArray[np.float64], each: float) -> float:
    """The most by which any interval exceeds a fixed number of bytes in each bin (a leaky bucket's level)."""
    level = np.concatenate([[0.0], np.cumsum(bytes_ - each)])
    return max(0.0, float(np.max(level - np.minimum.accumulate(level))))


def _acknowledged(streams: Sequence[Stream], seconds: float, largest: float, tick_s: float) -> float:
    """Bytes a second that passed the queue behind this place, of streams whose acknowledgments were seen."""
    answered = [stream for stream in streams if stream.responsive and stream.downstream_samples > 0]
    if not answered:
        return 0.0
    # The streams that ended were delivered; the last flight of the others may be lost.
    whole = sum(float(each.distinct_bytes) for each in answered if each.ended)
    whole += sum(max(0.0, each.distinct_bytes - _last_flight(each)) for each in answered if not each.ended)
    wait = max((_longest_s(each) for each in answered), default=0.0)
    most = max(0.0, whole) / (seconds + wait + tick_s)
    watched = [each for each in answered if each.windows is not None and len(each.windows)]
    if not watched:
        return most
    width = max(each.windows.width_s for each in watched if each.windows is not None)
    bins = int(np.ceil((seconds + wait) / width)) + 1
    sent, repeated = np.zeros(bins), np.zeros(bins)
    for each in watched:
        assert each.windows is not None
        places = np.clip((each.windows.times_s / width).astype(int), 0, bins - 1)
        np.add.at(sent, places, each.windows.bytes)
        np.add.at(repeated, places, each.windows.repeated * (1.0 + _HEADERS))
    repair = int(np.ceil(max(_REPAIR_ROUNDS * wait, _REPAIR_S) / width))
    for length in _lengths(seconds):
        count = min(max(1, round(length / width)), bins)
        sums = sliding_sums(sent, count)
        # Losses of a window show as repetitions in it and shortly behind it; of the last windows they are not seen.
        later = sliding_sums(np.concatenate([repeated, np.zeros(repair)]), count + repair)[: len(sums)]
        known = max(0, len(sums) - repair)
        carried = sums[:known] - later[:known] - largest
        if len(carried):
            # Streams lie in windows of their own, which may begin one earlier.
            most = max(most, float(carried.max()) / ((count + 1) * width + wait + tick_s))
    return most


def _longest_s(stream: Stream) -> float:
    """The longest time to an acknowledgment that was seen."""
    if stream.windows is None or not np.isfinite(stream.windows.max_downstream_rtt_s).any():
        return stream.downstream_rtt_s or 0.0
    return float(np.nanmax(stream.windows.max_downstream_rtt_s))


def _last_flight(stream: Stream) -> float:
    """Bytes that may be in flight at the end."""
    if stream.windows is None or not np.isfinite(stream.windows.flight_bytes).any():
        return float(stream.distinct_bytes)
    return float(np.nanmax(stream.windows.flight_bytes))
