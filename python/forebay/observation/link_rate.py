"""The rate of a link, from the packets that have left it.

Packets that wait leave back to back: the time between two is the size of one of them over the rate. Their gaps are
a spike in the histogram of size over gap, and nothing comes closer together than that. Gaps of a few ticks of the
clock tell nothing, and neither does a handful of gaps. Where stamps are too coarse, the load of a busy link has a
ceiling. An input with neither does not tell the rate: a link that was never busy does not show its rate.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from forebay.observation.estimate import CONFIDENCE, IntervalEstimate, Unknown
from forebay.observation.packet_timing import FEWEST_GAPS, PACKETS_AT_ONCE, PACKETS_PER_WINDOW, STANDS_STILL, Bins, Gaps
from forebay.text.formatting import bandwidth

__all__ = ["CEILING", "FIND_RATE", "link_rate"]

#: Where a rate comes from that the load shows, and no gap between packets.
CEILING = "the ceiling of the load"
#: Width of the bins in which rates are gathered: half a percent.
_STEP = 0.005
#: Shares of all that was sent: the least share that makes a spike, and the most that may be faster than the link.
_SPIKE, _FASTER = 0.03, 0.02
#: How many times the mass of bins near it a spike has.
_PROMINENCE = 5.0
#: Fewest ticks of the clock in each gap of a spike.
_TICKS = 10.0
#: The share of its rate that trains of packets reach at a busy link.
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
FIND_RATE = "give it with --rate, or read ifHighSpeed of the interface or the configuration of the shaper"
#: Share of windows of load that are to touch its ceiling.
_AT_CEILING = 0.2
#: How near to the ceiling touches it.
_NEAR = 0.02


def link_rate(gaps: Gaps, load: Bins) -> IntervalEstimate | Unknown:
    """The rate in bits of IP packets per second.

    Parameters
    ----------
    gaps : Gaps
        Gaps of the direction that is the link's.
    load : Bins
        The load of the same packets.
    """
    spikes = [spike for size in (gaps.before, gaps.after) if (spike := _spike(size, gaps, load)) is not None]
    if spikes:
        return max(spikes, key=lambda spike: spike[0])[1]
    ceiling = _ceiling(load, gaps.resolution_s)
    if ceiling is not None:
        return ceiling
    because = "packets rarely left back to back, and the load never reached a constant maximum"
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
    if together < STANDS_STILL and step > _WRITTEN_S and counts[usual] >= _ALL_ALIKE * counts.sum():
        size = float(np.average(gaps.before[close], weights=gaps.counts[close]))
        of = f"a link of {bandwidth(size * 8.0 / (usual * step))}" if size > 0 else "a link"
        return (
            f"the smallest gap between packets is {_time(usual * step)}. The reason may be {of}, this one or an "
            f"earlier "
            "one, or pacing of the senders"
        )
    many = (steps > _ONE_STEP) & (steps < _COUNTED)
    whole = many & (np.abs(steps - np.round(steps)) < _OFF)
    if together >= STANDS_STILL and gaps.counts[whole].sum() < _ALL_ALIKE * gaps.counts[many].sum():
        return (
            f"{together:.0%} of the packets have the timestamp of the packet before, and others {_time(step)} or more "
            f"later. "
            "The reason may be several earlier links, or a host that timestamps packets together"
        )
    return f"the clock of the capture has a resolution of {_time(step)}, which is too coarse for gaps"


def _is_coarse(gaps: Gaps) -> bool:
    """Whether many packets came within a few ticks of the clock."""
    total = float(gaps.counts.sum())
    return total > 0 and float(gaps.counts[gaps.seconds < _TICKS * gaps.resolution_s].sum()) > _FASTER * total


def _time(seconds: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e9:.3g} ns"


def _spike(size: NDArray[np.float64], gaps: Gaps, load: Bins) -> tuple[float, IntervalEstimate] | None:
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
        if faster[place + 2] > _FASTER or not _is_peak(pairs, int(place)):
            continue
        inside = (bins - first == place) | (bins - first == place + 1)
        if tick > _STEP * float(gaps.seconds[known][inside].min()):
            # A gap between two ticks is told as either of them.
            middle = float(np.average(gaps.seconds[known][inside], weights=weights[known][inside]))
            inside = np.abs(gaps.seconds[known] - middle) <= 1.5 * tick
            aside = np.abs(gaps.seconds[known] - middle) <= 6.5 * tick
            if float(weights[known][inside].sum()) < _PROMINENCE * float(weights[known][aside & ~inside].sum()) / 3.0:
                continue
        if gaps.counts[known][inside].sum() < FEWEST_GAPS:
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


def _is_peak(pairs: NDArray[np.float64], place: int) -> bool:
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
) -> IntervalEstimate:
    """The mean of a spike, and the middle nine tenths of the bins that hold nine tenths of it.

    The number of packets is so large that the mean has no scatter. Two errors remain. The histogram locates a gap only
    within a bin, and the clock rounds a gap to its ticks.
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
    return IntervalEstimate(
        value,
        max(low - resolved, 0.1 * value),
        high + resolved,
        "bit/s",
        "packets that left back to back",
        round(count),
    )


def _is_exceeded(rate_bps: float, load: Bins) -> bool:
    """Whether more has left in a window than this rate lets: then it is not the link's."""
    loads = load.over(load.window_s(rate_bps))
    return bool(len(loads)) and float(loads.max()) > (1.0 + _NEAR) * rate_bps


def _is_beaten(rate_bps: float, slower_bps: float, load: Bins) -> bool:
    """Whether packets of a slower rate were handed over at a beat of the host's.

    A gap is then one of two multiples of the beat, of which the shorter one looks like a link: no train of packets ever
    reaches its rate, and the busiest has the mean of both.
    """
    seconds = load.window_s(rate_bps) * PACKETS_AT_ONCE / PACKETS_PER_WINDOW
    # In a bin of many packets there are pauses, too.
    if seconds < load.width_s:
        return False
    loads = load.over(seconds)
    most = float(loads.max()) if len(loads) else 0.0
    return most < _REACHED * rate_bps and abs(most / slower_bps - 1.0) < _ALIKE


def _ceiling(load: Bins, tick_s: float = 0.0) -> IntervalEstimate | None:
    """The rate that the load of many windows comes near to and none goes beyond."""
    packets = float(load.packets.sum())
    if packets < 10 * PACKETS_PER_WINDOW:
        return None
    busiest = float(load.over(load.seconds / 20).max())
    if busiest == 0.0:
        return None
    window = max(load.window_s(busiest), _TICKS_PER_WINDOW * tick_s)
    loads = load.over(window)
    # One window may hold a packet more than it should.
    most = float(np.quantile(loads, 0.999))
    near = loads[loads >= (1.0 - _NEAR) * most]
    if len(loads) < FEWEST_GAPS or len(near) < max(_AT_CEILING * len(loads), FEWEST_GAPS):
        return None
    value = float(np.median(near))
    # A window begins and ends within a packet, and within a tick of the clock.
    packet = 1.0 / PACKETS_PER_WINDOW + tick_s / window
    low, high = min(float(near.min()), value * (1.0 - packet)), max(float(loads.max()), value * (1.0 + packet))
    return IntervalEstimate(value, low, high, "bit/s", CEILING, len(near))
