"""The rate of a link, from the packets that have left it.

Packets that wait leave back to back: the time between two is the size of one of them over the rate. Their gaps are
a spike in the histogram of size over gap, and nothing comes closer together than that. Where stamps are too coarse
for it, the load of a busy link has a ceiling. Who sees neither does not know the rate: a link that was never busy has
shown nobody what it can carry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forebay.observation.estimate import CONFIDENCE, Estimate, Unknown
from forebay.observation.streams import rates_over

__all__ = ["CEILING", "NOT_FULL", "Bins", "Gaps", "busy_share", "full_times", "is_idle_at_times", "link_rate", "quiet"]

#: Where a rate comes from that the load shows, and no gap between packets.
CEILING = "the ceiling of the load"
#: Width of the bins in which rates are gathered: half a percent.
_STEP = 0.005
#: Of all that was sent, the least that is a spike, and the most that may be faster than the link.
_SPIKE, _FASTER = 0.03, 0.02
#: How many times the mass of bins near it a spike has.
_PROMINENCE = 5.0
#: Packets in a window of load whose ceiling is looked for, and the share of windows that are to touch it.
_PACKETS_PER_WINDOW, _AT_CEILING = 100, 0.2
#: Packets that make a link full for a moment.
_PACKETS_AT_ONCE = 30
#: How near to the ceiling touches it, and from which load on a window counts as busy.
_NEAR, _BUSY = 0.02, 0.97
#: Share of time that a link is idle for whose queue empties.
_IDLE = 0.005
#: Packets in a stretch that may be quiet, and up to which load it is.
_STRETCH, _QUIET = 12.0, 0.5
#: Up to which load a stretch was not full: one packet may be at its edge, and one is missing.
NOT_FULL = 1.0 - 2.0 / _STRETCH


@dataclass(frozen=True)
class Gaps:
    """A histogram of the times between packets that followed one another.

    Attributes
    ----------
    before, behind : array of float
        Bytes of the packet before the gap and of the one behind it.
    seconds : array of float
        The gap; never below 0.
    widths_s : array of float
        How wide the bin is in whose middle the gap is told.
    counts : array of float
        How often it was seen.
    """

    before: NDArray[np.float64]
    behind: NDArray[np.float64]
    seconds: NDArray[np.float64]
    widths_s: NDArray[np.float64]
    counts: NDArray[np.float64]


@dataclass(frozen=True)
class Bins:
    """Bytes and packets in bins of equal width, from the first packet on."""

    width_s: float
    bytes: NDArray[np.float64]
    packets: NDArray[np.float64]

    @property
    def seconds(self) -> float:
        """The time that the bins cover."""
        return self.width_s * len(self.bytes)

    def over(self, seconds: float) -> NDArray[np.float64]:
        """Bits per second in windows of about this length, whole bins each; the rest of a last one is left out."""
        return rates_over(self.bytes, self.width_s, seconds)


def link_rate(gaps: Gaps, load: Bins) -> Estimate | Unknown:
    """The rate in bits of IP packets per second.

    Parameters
    ----------
    gaps : Gaps
        Of the direction that is the link's.
    load : Bins
        Of the same packets.
    """
    spikes = [spike for size in (gaps.before, gaps.behind) if (spike := _spike(size, gaps, load)) is not None]
    if spikes:
        return max(spikes, key=lambda spike: spike[0])[1]
    ceiling = _ceiling(load)
    if ceiling is not None:
        return ceiling
    return Unknown(
        "link rate",
        "packets seldom left back to back, and the load never met a ceiling",
        "give it by --rate: the port or the shaper states it",
    )


def busy_share(rate_bps: float, load: Bins) -> float:
    """Share of time in which the link was as good as full, over windows of a hundred packets of its rate."""
    loads = load.over(_window_s(rate_bps, load))
    return float(np.mean(loads >= _BUSY * rate_bps)) if len(loads) else 0.0


def full_times(rate_bps: float, load: Bins) -> NDArray[np.float64]:
    """When the link was full for some thirty packets, in seconds from the first bin on."""
    seconds = max(load.width_s, _window_s(rate_bps, load) * _PACKETS_AT_ONCE / _PACKETS_PER_WINDOW)
    loads = load.over(seconds)
    each = max(1, min(round(seconds / load.width_s), len(load.bytes))) * load.width_s
    return np.flatnonzero(loads >= _BUSY * rate_bps).astype(np.float64) * each + each / 2


def is_idle_at_times(mean_bps: float, rate_bps: float) -> bool:
    """Whether so much less was sent than could be that the queue must have emptied: rates are known to half of it."""
    return mean_bps < (1.0 - _IDLE) * rate_bps


def quiet(rate_bps: float, load: Bins, most: float = _QUIET) -> tuple[float, NDArray[np.bool_]]:
    """How long stretches of the load are, in seconds, and of each whether next to nothing waited in it.

    A stretch has a dozen packets of the rate. Where it is half empty, and so is the one before, what it held waited
    for less than a packet on average (M/D/1 at half load), and an older queue has drained. With `most` the share of
    the rate that leaves a stretch quiet is another one: below `NOT_FULL` a packet or two of it were missing, which
    a queue behind which something waited would have sent.
    """
    packets = float(load.packets.sum())
    mean_bits = float(load.bytes.sum()) * 8.0 / packets if packets else 12_000.0
    each = max(1, math.ceil(_STRETCH * mean_bits / rate_bps / load.width_s))
    count = -(-len(load.bytes) // each)
    padded = np.zeros(count * each)
    padded[: len(load.bytes)] = load.bytes
    half = padded.reshape(count, each).sum(axis=1) * 8.0 <= most * rate_bps * each * load.width_s
    half[1:] &= half[:-1].copy()
    return each * load.width_s, half


def _spike(size: NDArray[np.float64], gaps: Gaps, load: Bins) -> tuple[float, Estimate] | None:
    """The fastest rate at which many packets left, and the share of bytes that did."""
    weights = gaps.counts * size
    known = (size > 0) & (gaps.counts > 0)
    total = float(weights[known].sum())
    if total == 0.0:
        return None
    at_once = float(weights[known & (gaps.seconds <= 0.0)].sum())
    known &= gaps.seconds > 0.0
    rates = size[known] * 8.0 / gaps.seconds[known]
    if not len(rates):
        return None
    bins = np.floor(np.log(rates) / _STEP).astype(np.int64)
    first = int(bins.min())
    mass = np.bincount(bins - first, weights=weights[known]) / total
    # A spike may stand on the edge of two bins.
    pairs = mass + np.append(mass[1:], 0.0)
    faster = at_once / total + np.concatenate([np.cumsum(mass[::-1])[::-1], [0.0, 0.0]])
    for place in np.argsort(pairs)[::-1][:16]:
        if pairs[place] < _SPIKE:
            return None
        if faster[place + 2] > _FASTER or not _stands_out(pairs, int(place)):
            continue
        inside = (bins - first == place) | (bins - first == place + 1)
        errors = 0.5 * gaps.widths_s[known] / gaps.seconds[known]
        estimate = _of_spike(rates[inside], errors[inside], weights[known][inside], gaps.counts[known][inside])
        if _is_exceeded(estimate.value, load):
            continue
        return float(pairs[place]), estimate
    return None


def _stands_out(pairs: NDArray[np.float64], place: int) -> bool:
    around = [place + off for off in (-6, -5, -4, -3, 3, 4, 5, 6) if 0 <= place + off < len(pairs)]
    return not around or bool(pairs[place] > _PROMINENCE * np.median(pairs[around]))


def _of_spike(
    rates: NDArray[np.float64], errors: NDArray[np.float64], weights: NDArray[np.float64], counts: NDArray[np.float64]
) -> Estimate:
    """The mean of a spike, and the middle nine tenths of the bins that hold nine tenths of it.

    So many packets leave no scatter of a mean. What is left is that a gap is known to its bin of the histogram: where
    in it the truth is, nothing says.
    """
    value = float(np.average(rates, weights=weights))
    order = np.argsort(rates)
    shares = np.cumsum(weights[order]) / weights.sum()
    first, last = (order[np.searchsorted(shares, share)] for share in (0.05, 0.949999))
    low = min(float(rates[first] / (1.0 + errors[first])), value)
    high = max(float(rates[last] / (1.0 - min(errors[last], 0.5))), value)
    rest = (1.0 - CONFIDENCE) / 2.0 * (high - low)
    return Estimate(
        value,
        min(low + rest, value),
        max(high - rest, value),
        "bit/s",
        "packets that left back to back",
        round(float(counts.sum())),
    )


def _is_exceeded(rate_bps: float, load: Bins) -> bool:
    """Whether more has left in a window than this rate lets: then it is not the link's."""
    loads = load.over(_window_s(rate_bps, load))
    return bool(len(loads)) and float(loads.max()) > (1.0 + _NEAR) * rate_bps


def _ceiling(load: Bins) -> Estimate | None:
    """The rate that the load of many windows comes near to and none goes beyond."""
    packets = float(load.packets.sum())
    if packets < 10 * _PACKETS_PER_WINDOW:
        return None
    busiest = float(load.over(load.seconds / 20).max())
    if busiest == 0.0:
        return None
    loads = load.over(_window_s(busiest, load))
    # One window may hold a packet more than it should.
    most = float(np.quantile(loads, 0.999))
    near = loads[loads >= (1.0 - _NEAR) * most]
    if len(loads) < 20 or len(near) < _AT_CEILING * len(loads):
        return None
    value = float(np.median(near))
    # A window begins and ends within a packet.
    packet = 1.0 / _PACKETS_PER_WINDOW
    low, high = min(float(near.min()), value * (1.0 - packet)), max(float(loads.max()), value * (1.0 + packet))
    return Estimate(value, low, high, "bit/s", CEILING, len(near))


def _window_s(rate_bps: float, load: Bins) -> float:
    """How long a hundred packets take at a rate."""
    packets = float(load.packets.sum())
    mean_bits = float(load.bytes.sum()) * 8.0 / packets if packets else 12_000.0
    return max(load.width_s, _PACKETS_PER_WINDOW * mean_bits / rate_bps)
