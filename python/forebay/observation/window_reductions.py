"""The share of its window that a flow kept at each loss, from bytes in flight if the sender's own view is not known.

Without TCP timestamps a packet does not tell which acknowledgment released it. The window is then composed of the bytes
in flight behind the place of the capture and of the bytes that the flow's rate sends before it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from forebay.observation.streams import Stream, Windows

__all__ = ["reduced_shares", "regular_visits", "round_trips"]

#: Smallest window at a loss whose fall is more than rounding, in segments.
_SMALLEST = 10.0
#: BBR's least windows: of 4 segments for 200 ms, every 10 s.
_LEAST_SEGMENTS, _LEAST_S, _EVERY_S = 6.0, 0.12, (8.0, 13.0)


def reduced_shares(stream: Stream) -> NDArray[np.float64]:
    """The window before each loss event, in segments, and what was kept of it as a share: a row each.

    While a loss is repaired, what is on its way is not known: the acknowledgment number stands. So it is taken over
    the round trips before the loss shows and behind its repair, and brought back to the loss by its own growth.
    """
    windows = stream.windows
    if windows is None or not len(stream.losses_s) or not stream.segment_bytes:
        return np.empty((0, 2))
    trips = round_trips(windows)
    times, flight = windows.times_s, _bytes_in_flight(windows, trips) / stream.segment_bytes
    found = []
    for index, loss in enumerate(stream.losses_s):
        at = int((loss - windows.start_s) / windows.width_s)
        if not 0 <= at < len(windows):
            continue
        rtt = trips[at]
        if not rtt > 0 or windows.width_s > rtt:
            continue
        since = stream.losses_s[index - 1] if index else windows.start_s
        until = stream.losses_s[index + 1] if index + 1 < len(stream.losses_s) else times[-1]
        if loss - since < 6 * rtt or until - loss < 5 * rtt:
            continue
        before = flight[(times >= loss - 3.0 * rtt) & (times + windows.width_s <= loss - 1.0 * rtt)]
        behind = (times >= loss + 2.0 * rtt) & (times + windows.width_s <= min(loss + 6.0 * rtt, until - rtt))
        before = before[np.isfinite(before)]
        if not len(before) or behind.sum() < 2:
            continue
        after = _brought_back(times[behind], flight[behind], loss + rtt)
        window = float(before.max())
        if window >= _SMALLEST and math.isfinite(after):
            found.append((window, min(max(after / window, 0.0), 1.5)))
    return np.array(found).reshape(-1, 2)


def round_trips(windows: Windows) -> NDArray[np.float64]:
    """The round trip at each window, queue included; carried on where one saw none."""
    sums = windows.max_downstream_rtt_s + np.nan_to_num(windows.upstream_rtt_s, nan=0.0)
    known = np.isfinite(sums) & (sums > 0)
    if not known.any():
        return np.full(len(windows), math.nan)
    places = np.arange(len(windows))
    return np.interp(places, places[known], sums[known])


def regular_visits(stream: Stream) -> int:
    """The number of falls of the flight to a few segments for a fifth of a second; 0 if they are not 10 s apart."""
    windows = stream.windows
    if windows is None or windows.width_s > _LEAST_S or not stream.segment_bytes:
        return 0
    flight = windows.flight_bytes / stream.segment_bytes
    if not np.isfinite(flight).any() or np.nanmedian(flight) < 3 * _LEAST_SEGMENTS:
        return 0
    least = np.isfinite(flight) & (flight > 0) & (flight <= _LEAST_SEGMENTS)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], least.astype(int), [0]])))
    visits = [
        windows.start_s + begin * windows.width_s
        for begin, end in zip(edges[::2], edges[1::2], strict=True)
        if (end - begin) * windows.width_s >= _LEAST_S
    ]
    gaps = np.diff(visits)
    regular = len(gaps) > 0 and float(np.mean((gaps >= _EVERY_S[0]) & (gaps <= _EVERY_S[1]))) >= 0.6
    return len(visits) if regular else 0


def _brought_back(times: NDArray[np.float64], flight: NDArray[np.float64], to: float) -> float:
    """The flight at `to`, along the line through what came later."""
    known = np.isfinite(flight)
    if known.sum() < 2:
        return math.nan
    slope, level = np.polyfit(times[known] - to, flight[known], 1)
    # A window that is repaired does not shrink: a falling line is noise.
    return float(level) if slope >= 0 else float(np.median(flight[known]))


def _bytes_in_flight(windows: Windows, trips: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bytes between sender and receiver.

    Behind a queue what is on its way behind this place alone is the path's own product of rate and round trip,
    however much waits in the queue.
    """
    known = np.isfinite(windows.upstream_rtt_s)
    if not known.any() or not np.isfinite(trips).any():
        return windows.flight_bytes
    places = np.arange(len(windows))
    before = np.interp(places, places[known], windows.upstream_rtt_s[known])
    each = max(1, round(float(np.nanmedian(trips)) / windows.width_s))
    rate = np.convolve(windows.bytes, np.ones(each) / each, mode="same") / windows.width_s
    return windows.flight_bytes + rate * before
