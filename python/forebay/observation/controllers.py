"""Which family of congestion control a flow belongs to, from what it does at a loss.

Reno halves its window (RFC 5681), CUBIC keeps 0.7 of it (RFC 9438 section 4.6), Scalable 0.875 (Kelly 2003), and BBR
goes on (draft-cardwell-iccrg-bbr-congestion-control-00 section 4.2.4) and visits its least window every ten seconds.
What was on its way before and behind a loss is seen; the families' factors are compared with it. Nothing of this tells
variants of one family apart, and where neither fits the answer is "unknown".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from forebay.observation.streams import Stream, Windows

__all__ = ["FACTORS", "UNKNOWN", "Family", "back_offs", "family"]

#: What each family keeps of its window at a loss.
FACTORS: Mapping[str, float] = MappingProxyType({"newreno": 0.5, "cubic": 0.7, "scalable": 0.875, "bbr": 1.0})
UNKNOWN = "unknown"

#: From which probability on a family has a name.
_NAMED = 0.6
#: Smallest window at a loss whose fall is more than rounding, in segments.
_SMALLEST = 10.0
#: How well a factor is seen at a single loss.
_SCATTER = 0.12
#: What no measured factor is better than: windows grow while they are looked at.
_SYSTEMATIC = 0.035
#: Density of factors of families that are not in the list: anything from 0.2 to 1.2.
_OTHERS = 0.3
#: Least windows: BBR's are of 4 segments for 200 ms, every 10 s.
_LEAST_SEGMENTS, _LEAST_S, _EVERY_S = 6.0, 0.12, (8.0, 13.0)


@dataclass(frozen=True)
class Family:
    """What a flow's controller may be.

    Attributes
    ----------
    probabilities : mapping
        Of each family and of "unknown"; they sum to 1.
    factor : float
        Median of what was kept of the window; NaN where no loss told.
    losses : int
        Loss events that it rests on.
    """

    probabilities: Mapping[str, float]
    factor: float
    losses: int

    @property
    def name(self) -> str:
        """The likeliest, "unknown" where none is likely enough."""
        best = max(self.probabilities, key=lambda name: self.probabilities[name])
        return best if self.probabilities[best] >= _NAMED else UNKNOWN


def family(stream: Stream) -> Family:
    """The family of a stream's controller."""
    factors = back_offs(stream)
    if _visits_its_least(stream):
        return Family({**dict.fromkeys(FACTORS, 0.0), "bbr": 0.95, UNKNOWN: 0.05}, _median(factors), len(factors))
    if len(factors) < 2:
        return Family({**dict.fromkeys(FACTORS, 0.0), UNKNOWN: 1.0}, _median(factors), len(factors))
    middle = _median(factors)
    spread = max(_SCATTER, 1.4826 * float(np.median(np.abs(factors - middle))))
    error = math.hypot(1.2533 * spread / math.sqrt(len(factors)), _SYSTEMATIC)
    densities = {name: _normal(middle - factor, error) for name, factor in FACTORS.items()}
    densities[UNKNOWN] = _OTHERS
    total = sum(densities.values())
    return Family({name: value / total for name, value in densities.items()}, middle, len(factors))


def back_offs(stream: Stream) -> NDArray[np.float64]:
    """What was on its way behind each loss event as a share of what was before it.

    While a loss is repaired, what is on its way is not known: the acknowledgment number stands. So it is taken over
    the round trips before the loss shows and behind its repair, and brought back to the loss by its own growth.
    """
    windows = stream.windows
    if windows is None or not len(stream.losses_s) or not stream.segment_bytes:
        return np.empty(0)
    round_trips = _round_trips(windows)
    times, flight = windows.times_s, _held(windows, round_trips) / stream.segment_bytes
    found = []
    for index, loss in enumerate(stream.losses_s):
        at = int((loss - windows.start_s) / windows.width_s)
        if not 0 <= at < len(windows):
            continue
        rtt = round_trips[at]
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
            found.append(min(max(after / window, 0.0), 1.5))
    return np.array(found)


def _brought_back(times: NDArray[np.float64], flight: NDArray[np.float64], to: float) -> float:
    """The flight at `to`, along the line through what came later."""
    known = np.isfinite(flight)
    if known.sum() < 2:
        return math.nan
    slope, level = np.polyfit(times[known] - to, flight[known], 1)
    # A window that is repaired does not shrink: a falling line is noise.
    return float(level) if slope >= 0 else float(np.median(flight[known]))


def _held(windows: Windows, round_trips: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bytes between sender and receiver: what is on its way behind this place, and what its rate sends before it.

    Behind a queue the first alone is the path's own product of rate and round trip, however much waits in the queue.
    """
    known = np.isfinite(windows.before_s)
    if not known.any() or not np.isfinite(round_trips).any():
        return windows.flight_bytes
    places = np.arange(len(windows))
    before = np.interp(places, places[known], windows.before_s[known])
    each = max(1, round(float(np.nanmedian(round_trips)) / windows.width_s))
    rate = np.convolve(windows.bytes, np.ones(each) / each, mode="same") / windows.width_s
    return windows.flight_bytes + rate * before


def _round_trips(windows: Windows) -> NDArray[np.float64]:
    """The round trip at each window, queue included; carried on where one saw none."""
    sums = windows.longest_behind_s + np.nan_to_num(windows.before_s, nan=0.0)
    known = np.isfinite(sums) & (sums > 0)
    if not known.any():
        return np.full(len(windows), math.nan)
    places = np.arange(len(windows))
    return np.interp(places, places[known], sums[known])


def _visits_its_least(stream: Stream) -> bool:
    """Whether its flight falls to a few segments for a fifth of a second, ten seconds apart."""
    windows = stream.windows
    if windows is None or windows.width_s > _LEAST_S or not stream.segment_bytes:
        return False
    flight = windows.flight_bytes / stream.segment_bytes
    if not np.isfinite(flight).any() or np.nanmedian(flight) < 3 * _LEAST_SEGMENTS:
        return False
    least = np.isfinite(flight) & (flight > 0) & (flight <= _LEAST_SEGMENTS)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], least.astype(int), [0]])))
    visits = [
        windows.start_s + begin * windows.width_s
        for begin, end in zip(edges[::2], edges[1::2], strict=True)
        if (end - begin) * windows.width_s >= _LEAST_S
    ]
    gaps = np.diff(visits)
    return bool(len(gaps)) and bool(np.mean((gaps >= _EVERY_S[0]) & (gaps <= _EVERY_S[1])) >= 0.6)


def _median(values: NDArray[np.float64]) -> float:
    return float(np.median(values)) if len(values) else math.nan


def _normal(off: float, error: float) -> float:
    return math.exp(-0.5 * (off / error) ** 2) / (error * math.sqrt(2 * math.pi))
