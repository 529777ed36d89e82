"""The rate of a link, from the packets that have left it.

Packets that wait leave back to back: the time between two is the size of one of them over the rate. Their gaps are
a spike in the histogram of size over gap, and nothing comes closer together than that. Gaps of a few ticks of the
clock tell nothing, and neither does a handful of gaps. Where stamps are too coarse, the load of a busy link has a
ceiling. An input with neither does not tell the rate: a link that was never busy does not show its rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forebay.observation.estimate import CONFIDENCE, Estimate, Unknown
from forebay.observation.streams import rates_over
from forebay.text.formatting import bandwidth

__all__ = [
    "CEILING",
    "FIND_RATE",
    "NOT_FULL",
    "Bins",
    "Gaps",
    "busy_share",
    "full_times",
    "is_idle_at_times",
    "link_rate",
    "quiet",
]

#: Where a rate comes from that the load shows, and no gap between packets.
CEILING = "the ceiling of the load"
#: Width of the bins in which rates are gathered: half a percent.
_STEP = 0.005
#: Of all that was sent, the least that is a spike, and the most that may be faster than the link.
_SPIKE, _FASTER = 0.03, 0.02
#: How many times the mass of bins near it a spike has.
_PROMINENCE = 5.0
#: Fewest gaps of a spike, and fewest ticks of the clock in each of them.
_FEWEST, _TICKS = 20, 10.0
#: Share of gaps without a length from which on the clock stands still between packets, and of the others the share
#: that is shorter than its step at most.
_STANDS_STILL, _SHORTER = 0.02, 0.05
#: What part of its rate trains of packets reach at a link that is busy.
_REACHED = 0.93
#: The ratio to a gap of one beat of a gap of two beats, and how near to a rate loads over packets are that have it.
_NEXT_BEAT, _ALIKE = 2.1, 0.04
#: Error of a gap's mean in ticks, however many there are: gaps of one length may all be rounded alike.
_ROUNDED = 0.1
#: Ticks of the clock in a window of load whose ceiling is looked for.
_TICKS_PER_WINDOW = 50.0
#: The coarsest unit of the stamps of a file, and the share of gaps that is all of them for a reason.
_WRITTEN_S, _ALL_ALIKE = 1.01e-6, 0.9
#: Gaps of more steps than one, and of so few that multiples of a step can be told; how far a multiple is off.
_ONE_STEP, _COUNTED, _OFF = 1.25, 20.0, 0.1
#: How to find a rate that an input does not tell.
FIND_RATE = "give it with --rate, or read the interface's ifHighSpeed or the shaper's configuration"
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
    tick_s : float
        The tick of the clock that stamps packets; 0 where it is too fine to matter.
    """

    before: NDArray[np.float64]
    behind: NDArray[np.float64]
    seconds: NDArray[np.float64]
    widths_s: NDArray[np.float64]
    counts: NDArray[np.float64]
    tick_s: float = 0.0

    @property
    def resolution_s(self) -> float:
        """The least time between two packets that the clock tells apart.

        That is its tick, or its step where it stands still between packets and then goes on by more.
        """
        total = float(self.counts.sum())
        moves = self.seconds > 0.0
        still = float(self.counts[~moves].sum())
        if total - still < _FEWEST or still < _STANDS_STILL * total:
            return self.tick_s
        order = np.argsort(self.seconds[moves])
        below = np.cumsum(self.counts[moves][order]) / float(self.counts[moves].sum())
        return max(self.tick_s, float(self.seconds[moves][order][np.searchsorted(below, _SHORTER)]))


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
    ceiling = _ceiling(load, gaps.resolution_s)
    if ceiling is not None:
        return ceiling
    because = "packets seldom left back to back, and the load never met a ceiling"
    if _is_coarse(gaps):
        because = _of_close_packets(gaps)
    return Unknown("link rate", because, FIND_RATE)


def _of_close_packets(gaps: Gaps) -> str:
    """Why gaps of a few ticks tell no rate: they are those of a clock, of a link on the way, or of several.

    A clock that is too coarse for a distance rounds it now up and now down. Distances that are all alike, with no two
    packets at one instant, are as long as they look. Gaps of a clock's steps are multiples of one.
    """
    step, total = gaps.resolution_s, float(gaps.counts.sum())
    steps = gaps.seconds / step
    together = float(gaps.counts[gaps.seconds <= 0.0].sum()) / total
    close = (gaps.seconds > 0.0) & (steps < _TICKS + 0.5)
    counts = np.bincount(np.round(steps[close]).astype(int), weights=gaps.counts[close])
    usual = int(counts.argmax()) if len(counts) else 0
    # A file counts microseconds at the coarsest: what is counted in more is the clock's doing, or the packets'.
    if together < _STANDS_STILL and step > _WRITTEN_S and counts[usual] >= _ALL_ALIKE * counts.sum():
        size = float(np.average(gaps.before[close], weights=gaps.counts[close]))
        of = f"a link of {bandwidth(size * 8.0 / (usual * step))}" if size > 0 else "a link"
        return (
            f"packets came {_time(usual * step)} apart again and again and no closer: {of} on their way does that, "
            "this one or one before it, and so do senders that space packets"
        )
    many = (steps > _ONE_STEP) & (steps < _COUNTED)
    whole = many & (np.abs(steps - np.round(steps)) < _OFF)
    if together >= _STANDS_STILL and gaps.counts[whole].sum() < _ALL_ALIKE * gaps.counts[many].sum():
        return (
            f"{together:.0%} of the packets came together with the one before, and others {_time(step)} later or more: "
            "several links before this place do that, or a host that stamps packets together"
        )
    return f"the clock of the capture tells no times apart below {_time(step)}: too coarse for gaps"


def _is_coarse(gaps: Gaps) -> bool:
    """Whether many packets came within a few ticks of the clock."""
    total = float(gaps.counts.sum())
    return total > 0 and float(gaps.counts[gaps.seconds < _TICKS * gaps.resolution_s].sum()) > _FASTER * total


def _time(seconds: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e9:.3g} ns"


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
    tick = gaps.resolution_s
    told_apart = (gaps.seconds > 0.0) & (gaps.seconds >= _TICKS * tick * (1.0 - _STEP))
    at_once = float(weights[known & ~told_apart].sum())
    known &= told_apart
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
        if tick > _STEP * float(gaps.seconds[known][inside].min()):
            # A gap between two ticks is told as either of them.
            middle = float(np.average(gaps.seconds[known][inside], weights=weights[known][inside]))
            inside = np.abs(gaps.seconds[known] - middle) <= 1.5 * tick
            aside = np.abs(gaps.seconds[known] - middle) <= 6.5 * tick
            if float(weights[known][inside].sum()) < _PROMINENCE * float(weights[known][aside & ~inside].sum()) / 3.0:
                continue
        if gaps.counts[known][inside].sum() < _FEWEST:
            continue
        errors = 0.5 * gaps.widths_s[known] / gaps.seconds[known]
        spike = (rates[inside], errors[inside], weights[known][inside], gaps.counts[known][inside])
        estimate = _of_spike(*spike, tick=tick, seconds=gaps.seconds[known][inside])
        if _is_exceeded(estimate.value, load):
            continue
        beats = (rates <= estimate.high) & (rates > estimate.value / _NEXT_BEAT)
        over = gaps.seconds[known][beats] * gaps.counts[known][beats]
        if _is_beaten(estimate.value, float(np.sum(rates[beats] * over) / np.sum(over)), load):
            continue
        return float(pairs[place]), estimate
    return None


def _stands_out(pairs: NDArray[np.float64], place: int) -> bool:
    around = [place + off for off in (-6, -5, -4, -3, 3, 4, 5, 6) if 0 <= place + off < len(pairs)]
    return not around or bool(pairs[place] > _PROMINENCE * np.median(pairs[around]))


def _of_spike(
    rates: NDArray[np.float64],
    errors: NDArray[np.float64],
    weights: NDArray[np.float64],
    counts: NDArray[np.float64],
    *,
    tick: float,
    seconds: NDArray[np.float64],
) -> Estimate:
    """The mean of a spike, and the middle nine tenths of the bins that hold nine tenths of it.

    So many packets leave no scatter of a mean. What is left is that a gap is known to its bin of the histogram: where
    in it the truth is, nothing says; and that a gap is told in ticks of the clock.
    """
    count = float(counts.sum())
    # Rounded gaps are right on average, and their rates are not.
    value = float(np.sum(rates * seconds * counts) / np.sum(seconds * counts))
    resolved = value * (tick / float(np.average(seconds, weights=counts))) * max(2.0 / math.sqrt(count), _ROUNDED)
    if tick > _STEP * float(seconds.min()):
        low = high = value
    else:
        order = np.argsort(rates)
        shares = np.cumsum(weights[order]) / weights.sum()
        first, last = (order[np.searchsorted(shares, share)] for share in (0.05, 0.949999))
        low = min(float(rates[first] / (1.0 + errors[first])), value)
        high = max(float(rates[last] / (1.0 - min(errors[last], 0.5))), value)
        rest = (1.0 - CONFIDENCE) / 2.0 * (high - low)
        low, high = min(low + rest, value), max(high - rest, value)
    return Estimate(
        value,
        max(low - resolved, 0.1 * value),
        high + resolved,
        "bit/s",
        "packets that left back to back",
        round(count),
    )


def _is_exceeded(rate_bps: float, load: Bins) -> bool:
    """Whether more has left in a window than this rate lets: then it is not the link's."""
    loads = load.over(_window_s(rate_bps, load))
    return bool(len(loads)) and float(loads.max()) > (1.0 + _NEAR) * rate_bps


def _is_beaten(rate_bps: float, slower_bps: float, load: Bins) -> bool:
    """Whether packets of a slower rate were handed over at a beat of the host's.

    A gap is then one of two multiples of the beat, of which the shorter one looks like a link: no train of packets ever
    reaches its rate, and the busiest has the mean of both.
    """
    seconds = _window_s(rate_bps, load) * _PACKETS_AT_ONCE / _PACKETS_PER_WINDOW
    # In a bin of many packets there are pauses, too.
    if seconds < load.width_s:
        return False
    loads = load.over(seconds)
    most = float(loads.max()) if len(loads) else 0.0
    return most < _REACHED * rate_bps and abs(most / slower_bps - 1.0) < _ALIKE


def _ceiling(load: Bins, tick_s: float = 0.0) -> Estimate | None:
    """The rate that the load of many windows comes near to and none goes beyond."""
    packets = float(load.packets.sum())
    if packets < 10 * _PACKETS_PER_WINDOW:
        return None
    busiest = float(load.over(load.seconds / 20).max())
    if busiest == 0.0:
        return None
    window = max(_window_s(busiest, load), _TICKS_PER_WINDOW * tick_s)
    loads = load.over(window)
    # One window may hold a packet more than it should.
    most = float(np.quantile(loads, 0.999))
    near = loads[loads >= (1.0 - _NEAR) * most]
    if len(loads) < _FEWEST or len(near) < max(_AT_CEILING * len(loads), _FEWEST):
        return None
    value = float(np.median(near))
    # A window begins and ends within a packet, and within a tick of the clock.
    packet = 1.0 / _PACKETS_PER_WINDOW + tick_s / window
    low, high = min(float(near.min()), value * (1.0 - packet)), max(float(loads.max()), value * (1.0 + packet))
    return Estimate(value, low, high, "bit/s", CEILING, len(near))


def _window_s(rate_bps: float, load: Bins) -> float:
    """How long a hundred packets take at a rate."""
    packets = float(load.packets.sum())
    mean_bits = float(load.bytes.sum()) * 8.0 / packets if packets else 12_000.0
    return max(load.width_s, _PACKETS_PER_WINDOW * mean_bits / rate_bps)
