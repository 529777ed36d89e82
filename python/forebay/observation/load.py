"""Load over time at several scales: its mean, its quantiles, how bursty it is, and whether it remembers.

Everything comes from one series, the bytes in each short bin; longer windows are sums of bins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forebay.observation.estimate import CONFIDENCE, FEWEST_SAMPLES, IntervalEstimate, Unknown, ratio
from forebay.observation.intervals import effective_samples_of_mean
from forebay.observation.sample import Quantile
from forebay.results.deprecated_names import DeprecatedName

__all__ = ["SCALES", "Burstiness", "Column", "Load", "LoadSeries", "Scale", "load_of"]

#: Lengths of windows that are told, in seconds.
SCALES = (0.001, 0.1, 1.0, 300.0)
#: Shares of windows whose load is told.
PROBABILITIES = (0.5, 0.95, 0.99)
#: Columns of a picture of the load.
COLUMNS = 120
#: Batches behind an interval, and the fewest windows that are cut into them.
BATCHES = 20
#: The fewest windows at the longest scale of burstiness.
FEWEST_WINDOWS = FEWEST_SAMPLES
#: Ticks of the clock in the shortest window whose load is told.
TICKS = 10.0
#: Load from which on a link is taken as filled, and over how long.
FILLED, FILLED_S = 0.95, 0.1
#: Details at the coarsest octave of the estimate of memory, and octaves that it needs.
FEWEST_DETAILS, FEWEST_OCTAVES = 8, 5
#: A range of scales is taken as scaling where its misfit is not improbable.
LEVEL = 0.05

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Column:
    """A stretch of time in a picture: the mean load in it, and of its windows the least and the most, in bit/s."""

    time_s: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Scale:
    """The load in windows of one length.

    Attributes
    ----------
    scale_s : float
        The length.
    windows : int
        Whole windows.
    quantiles : tuple of Quantile
        In bit/s.
    most : float
        The largest load of a window, in bit/s.
    columns : tuple of Column
        Over time.
    """

    scale_s: float
    windows: int
    quantiles: tuple[Quantile, ...]
    most: float
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Burstiness:
    """Index of dispersion: variance over mean of the load in windows of one length, in packets of the mean size.

    It is 1 at every length where packets come independently of each other.
    """

    scale_s: float
    index: IntervalEstimate


@dataclass(frozen=True, slots=True)
class Load:
    """The load that a link carried.

    Attributes
    ----------
    mean : IntervalEstimate
        Mean load, in bit/s.
    utilization : IntervalEstimate or Unknown
        The mean over the link's rate.
    full_share : IntervalEstimate or Unknown
        Share of windows of 100 ms in which the link was full.
    scales : tuple of Scale
        Time scales from the shortest to the longest that the input tells.
    burstiness : tuple of Burstiness
        Burstiness from short windows to long ones.
    hurst : IntervalEstimate or Unknown
        Hurst's exponent: 0.5 without memory, up to 1 where bursts have bursts at all scales.
    packet_bytes : float
        Unit of the index of dispersion: the mean size of a packet.
    omitted_scales : tuple of str
        Scales that the input does not tell, with the reason.
    """

    mean: IntervalEstimate
    utilization: IntervalEstimate | Unknown
    full_share: IntervalEstimate | Unknown
    scales: tuple[Scale, ...]
    burstiness: tuple[Burstiness, ...]
    hurst: IntervalEstimate | Unknown
    packet_bytes: float
    omitted_scales: tuple[str, ...] = ()

    filled = DeprecatedName("full_share")
    left_out = DeprecatedName("omitted_scales")


@dataclass(frozen=True)
class LoadSeries:
    """Bytes of IP packets over time, of which a load is made.

    Attributes
    ----------
    bytes : array of float
        In consecutive bins.
    bin_s : float
        Length of a bin in seconds.
    source : str
        The origin of the series, in a clause.
    packet_bytes : float
        Mean size of a packet.
    tick_s : float
        The least time that the clock of the input tells apart, in seconds.
    """

    bytes: Numbers
    bin_s: float
    source: str
    packet_bytes: float
    tick_s: float = 0.0


def load_of(
    bytes_in_bins: ArrayLike,
    bin_s: float,
    *,
    rate: IntervalEstimate | Unknown,
    source: str,
    packet_bytes: float = 1500.0,
    tick_s: float = 0.0,
) -> Load:
    """Describe a load.

    Parameters
    ----------
    bytes_in_bins : array_like
        Bytes of IP packets in consecutive bins, at least two.
    bin_s : float
        Length of a bin in seconds.
    rate : IntervalEstimate or Unknown
        Rate of the link, in bit/s.
    source : str
        The origin of the series, in a clause.
    packet_bytes : float
        Mean size of a packet.
    tick_s : float
        Resolution of the input's clock; windows of a few ticks are left out.

    Raises
    ------
    ValueError
        If there are fewer than two bins, or one is not an amount.
    """
    bins = np.asarray(bytes_in_bins, float).ravel()
    if bins.size < 2 or not bin_s > 0 or not packet_bytes > 0:
        msg = f"expected at least two bins of a length above 0, found {bins.size} of {bin_s} s"
        raise ValueError(msg)
    if not np.all(np.isfinite(bins)) or np.any(bins < 0):
        msg = "expected bytes from 0 on"
        raise ValueError(msg)
    bps = bins * (8 / bin_s)
    mean = _mean(bps, "bit/s", source)
    omitted = {scale: _reason_to_omit(bins, bin_s, scale, tick_s) for scale in SCALES}
    return Load(
        mean=mean,
        utilization=_utilization(mean, rate),
        full_share=_full_share(bins, bin_s, rate, source),
        scales=tuple(_scale(bins, bin_s, scale, source) for scale, why in omitted.items() if why is None),
        burstiness=tuple(_burstiness(bins, bin_s, packet_bytes, source)),
        hurst=_hurst(bins, bin_s, source),
        packet_bytes=packet_bytes,
        omitted_scales=_together(omitted),
    )


def _reason_to_omit(bins: Numbers, bin_s: float, scale: float, tick_s: float) -> str | None:
    """Why a scale is not told; None where it is."""
    from forebay.text.formatting import clock_time, duration

    if scale < bin_s * (1 - 1e-9):
        return f"the load is known for every {clock_time(bin_s)}"
    if scale < TICKS * tick_s * (1 - 1e-9):
        return f"the clock of the input has a resolution of {duration(tick_s)}"
    if bins.size * bin_s < 2 * scale * (1 - 1e-9):
        return f"the input lasts {clock_time(bins.size * bin_s)}"
    return None


def _together(omitted: Mapping[float, str | None]) -> tuple[str, ...]:
    """Scales that are left out for the same reason in one line each: "1 ms and 100 ms: the input lasts 0.1 s"."""
    from forebay.text.formatting import clock_time, duration, exactly

    found: dict[str, list[str]] = {}
    for scale, why in omitted.items():
        if why is not None:
            found.setdefault(why, []).append(exactly(duration(scale)) if scale < 60 else clock_time(scale))
    return tuple(f"{', '.join(scales)}: {why}" for why, scales in found.items())


def _summed(bins: Numbers, factor: int) -> Numbers:
    """Sums over whole windows of `factor` bins."""
    windows = bins.size // factor
    return np.asarray(bins[: windows * factor].reshape(windows, factor).sum(axis=1), dtype=np.float64)


def _mean(series: Numbers, unit: str, source: str) -> IntervalEstimate:
    from forebay.results.statistics import mean_interval

    value = float(np.mean(series))
    batches = np.array_split(series, min(BATCHES, series.size))
    inside = mean_interval([float(np.mean(batch)) for batch in batches], CONFIDENCE)
    half = inside.half_width
    if half is None or series.size < FEWEST_SAMPLES:
        return IntervalEstimate(value, -math.inf, math.inf, unit, source, int(series.size))
    worth = effective_samples_of_mean(series, BATCHES)
    if np.ptp(series) > 0 and not _is_share(series):
        # Where packets are few, most windows are empty and tell nothing of how much they vary.
        worth = min(worth, float(np.count_nonzero(series)))
    return IntervalEstimate(value, max(0.0, value - half), value + half, unit, source, int(series.size), worth)


def _is_share(series: Numbers) -> bool:
    """Whether a series says yes or no of each window."""
    return bool(np.all((series == 0) | (series == 1)))


def _utilization(mean: IntervalEstimate, rate: IntervalEstimate | Unknown) -> IntervalEstimate | Unknown:
    if isinstance(rate, Unknown):
        return Unknown("utilization", "the link's rate is not known", rate.measure)
    if mean.value == 0:
        return IntervalEstimate(0.0, 0.0, 0.0, "", mean.source, mean.samples)
    return ratio(mean, rate, f"{mean.source}, over the link's rate")


def _full_share(
    bins: Numbers, bin_s: float, rate: IntervalEstimate | Unknown, source: str
) -> IntervalEstimate | Unknown:
    """Share of windows in which the link was full."""
    what = "share of time in which the link is full"
    if isinstance(rate, Unknown):
        return Unknown(what, "the link's rate is not known", rate.measure)
    factor = max(1, round(FILLED_S / bin_s))
    windows = _summed(bins, factor) * 8 / (factor * bin_s)
    if windows.size < 2 or factor * bin_s > 2 * FILLED_S:
        return Unknown(
            what, "the input has no load in windows of 100 ms", "use a capture, or read counters every 100 ms"
        )
    found = _mean((windows >= FILLED * rate.value).astype(float), "", source)
    # Where all are alike the spread says nothing; 3 / n bounds what none of n has shown (Hanley and Lippman-Hand 1983).
    never = min(1.0, 3 / windows.size)
    if not found.is_bounded:
        return found
    low = 1 - never if found.value == 1 else found.low
    high = never if found.value == 0 else min(1.0, found.high)
    return IntervalEstimate(found.value, low, high, "", source, found.samples, found.independent)


def _scale(bins: Numbers, bin_s: float, scale: float, source: str) -> Scale:
    factor = max(1, round(scale / bin_s))
    length = factor * bin_s
    series = _summed(bins, factor) * (8 / length)
    return Scale(
        scale_s=length,
        windows=int(series.size),
        quantiles=tuple(_quantile(series, p, source) for p in PROBABILITIES if series.size * (1 - p) >= 1),
        most=float(np.max(series)),
        columns=_columns(series, length),
    )


def _quantile(series: Numbers, p: float, source: str) -> Quantile:
    """A quantile of a series that remembers.

    The share of windows below it has an interval by batches, which is read back through the series' own quantiles.
    """
    value = float(np.quantile(series, p))
    below = (series <= value).astype(float)
    inside = _mean(below, "", source)
    spread = min(0.5, max(inside.high - inside.value, 1 / series.size))
    low, high = (float(each) for each in np.quantile(series, np.clip([p - spread, p + spread], 0, 1)))
    ends = min(low, value), max(high, value)
    return Quantile(p, IntervalEstimate(value, *ends, "bit/s", source, int(series.size), inside.independent))


def _columns(series: Numbers, length: float) -> tuple[Column, ...]:
    """At most `COLUMNS` columns of about the same number of windows."""
    cuts = np.unique(np.linspace(0, series.size, min(COLUMNS, series.size) + 1).round().astype(int))
    starts = cuts[:-1]
    means = np.add.reduceat(series, starts) / np.diff(cuts)
    lows, highs = np.minimum.reduceat(series, starts), np.maximum.reduceat(series, starts)
    middles = (cuts[:-1] + cuts[1:]) / 2 * length
    return tuple(Column(*map(float, each)) for each in zip(middles, means, lows, highs, strict=True))


def _burstiness(bins: Numbers, bin_s: float, packet_bytes: float, source: str) -> list[Burstiness]:
    found: list[Burstiness] = []
    total = float(np.mean(bins))
    if total == 0:
        return found
    windows, factor = bins, 1
    while windows.size >= FEWEST_WINDOWS:
        index = _variance(windows, source, 1 / (total * factor * packet_bytes))
        if index is not None:
            found.append(Burstiness(factor * bin_s, index))
        windows, factor = _summed(windows, 2), factor * 2
    return found


def _variance(windows: Numbers, source: str, scale: float) -> IntervalEstimate | None:
    """Variance with an interval by leaving out one block of neighbors after the other (jackknife of its logarithm)."""
    from forebay.results.statistics import student_quantile

    blocks = np.array_split(windows, BATCHES if windows.size >= 2 * BATCHES else windows.size)
    count = np.array([block.size for block in blocks], float)
    # About the mean, so that squares keep their digits.
    middle = float(np.mean(windows))
    first = np.array([np.sum(block - middle) for block in blocks])
    second = np.array([np.sum((block - middle) ** 2) for block in blocks])
    rest = windows.size - count
    omitted = ((np.sum(second) - second) - (np.sum(first) - first) ** 2 / rest) / (rest - 1)
    variance = float(np.var(windows, ddof=1))
    if not (variance > 0 and np.all(omitted > 0)):
        return None
    logs = np.log(omitted)
    many = len(blocks)
    error = math.sqrt((many - 1) / many * float(np.sum((logs - np.mean(logs)) ** 2)))
    factor = math.exp(min(50.0, student_quantile((1 + CONFIDENCE) / 2, many - 1) * error))
    value = variance * scale
    worth = int(np.count_nonzero(windows))
    return IntervalEstimate(value, value / factor, value * factor, "packets", source, int(windows.size), worth)


def _hurst(bins: Numbers, bin_s: float, source: str) -> IntervalEstimate | Unknown:
    """Hurst's exponent from Haar wavelets: Abry and Veitch, Wavelet analysis of long-range-dependent traffic, 1998.

    The logarithm of the mean square of an octave's details is a line in the octave, of slope 2H - 1; the line begins at
    the first octave from which on the misfit is no more than chance.
    """
    from scipy.special import chdtrc

    from forebay.results.statistics import normal_quantile

    measure = "capture at least ten minutes with a steady load"
    octaves, heights, variances = _octaves(bins)
    if octaves.size < FEWEST_OCTAVES:
        return Unknown("Hurst exponent of the load", "the input spans too few time scales", measure)
    for first in range(octaves.size - FEWEST_OCTAVES + 1):
        x, y, v = octaves[first:], heights[first:], variances[first:]
        weight = 1 / v
        middle = float(np.sum(weight * x) / np.sum(weight))
        spread = float(np.sum(weight * (x - middle) ** 2))
        slope = float(np.sum(weight * (x - middle) * y) / spread)
        height = float(np.sum(weight * y) / np.sum(weight))
        misfit = float(np.sum(weight * (y - height - slope * (x - middle)) ** 2))
        if chdtrc(x.size - 2, misfit) > LEVEL:
            half = normal_quantile((1 + CONFIDENCE) / 2) / math.sqrt(spread) / 2
            value = (1 + slope) / 2
            if value - half >= 1 or value + half <= 0:
                # No load that stays the same in distribution has such an exponent.
                return Unknown("Hurst exponent of the load", "the load changed over the input as a whole", measure)
            begin, end = (bin_s * 2.0**octave for octave in (x[0], x[-1]))
            where = f"Haar wavelets over windows of {begin:.3g} to {end:.3g} s"
            value, low, high = (min(max(each, 0.0), 1.0) for each in (value, value - half, value + half))
            busy = int(np.count_nonzero(bins))
            return IntervalEstimate(value, low, high, "", f"{source}, {where}", int(bins.size), busy)
    return Unknown("Hurst exponent of the load", "its variance does not follow one power law over time scales", measure)


def _octaves(bins: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """For each octave of the series the unbiased logarithm of the mean square of its details, and its variance."""
    from scipy.special import digamma, zeta

    octaves, heights, variances = [], [], []
    sums, octave = bins, 1
    while sums.size >= 2 * FEWEST_DETAILS:
        even, odd = sums[: sums.size // 2 * 2 : 2], sums[1 : sums.size // 2 * 2 : 2]
        square = float(np.mean((even - odd) ** 2)) / 2
        # Windows without a packet have no details.
        count = int(np.count_nonzero((even > 0) | (odd > 0)))
        if count < FEWEST_DETAILS:
            break
        sums = (even + odd) / math.sqrt(2)
        if square > 0:
            bias = float(digamma(count / 2)) / math.log(2) - math.log2(count / 2)
            octaves.append(octave)
            heights.append(math.log2(square) - bias)
            variances.append(float(zeta(2, count / 2)) / math.log(2) ** 2)
        octave += 1
    return np.array(octaves, float), np.array(heights), np.array(variances)
