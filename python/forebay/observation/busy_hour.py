"""Load over the day: the busy hour, the load of each hour, and drops with their time and load.

The busy hour is the hour of the input with the largest mean load (ITU-T E.600: busy hour). A scenario describes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from forebay.errors import InputError
from forebay.observation.estimate import IntervalEstimate
from forebay.observation.intervals import batch_ratio, independent_of, share_without_events, weighted_quantile
from forebay.observation.load import COLUMNS, Column
from forebay.observation.timestamps import parse_timestamp

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BUSY_HOUR", "BUSY_S", "WHOLE", "Day", "Hour", "Intervals", "LossAt", "Span", "Window", "day_of", "time_of"]

#: An hour, and the seconds of a day.
BUSY_S, DAY_S = 3600.0, 86400.0
#: Share of a window that intervals must cover to be compared with others.
COVERED = 0.75
#: Largest number of reported intervals with drops, those with most drops first.
MOST_LOSSES = 12
#: Shares of the intervals of the whole input whose load is reported.
SHARES = (0.5, 0.95, 0.99)
#: Bytes of a packet without jumbo frames, for what a count of drops is at most a share of.
LARGEST_PACKET = 1500.0
#: From when on a time is one of a calendar and no count from a beginning, in seconds since 1970.
CALENDAR = 1e8

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})$")
_LENGTH = re.compile(r"(\d+(?:\.\d+)?) ?(s|min|h|d)$")
_UNITS = {"s": 1.0, "min": 60.0, "h": BUSY_S, "d": DAY_S}
ALLOWED = (
    "a length such as 15min or 2h, `2026-11-23T20:00..2026-11-23T22:00`, times of each day such as 20:00..22:00 (UTC), "
    "or all"
)


@dataclass(frozen=True, slots=True)
class Window:
    """The part of the input that a scenario describes, as the user asks for it.

    Attributes
    ----------
    length_s : float or None
        The busiest part of this length, where neither times nor the whole are asked for.
    begin_s, end_s : float or None
        In seconds since 1970, or since midnight where it is of each day.
    is_daily : bool
    """

    length_s: float | None = BUSY_S
    begin_s: float | None = None
    end_s: float | None = None
    is_daily: bool = False

    def at_least(self, seconds: float) -> Window:
        """The same, where the busiest part of a length is meant as long as this at least."""
        if self.length_s is None or self.length_s >= seconds:
            return self
        return replace(self, length_s=seconds)

    @classmethod
    def parse(cls, text: str) -> Window:
        """Parse the value of `--window`.

        Raises
        ------
        InputError
            Where it is none.
        """
        words = text.strip()
        if words == "all":
            return cls(length_s=None)
        length = _LENGTH.match(words)
        if length is not None and float(length[1]) > 0:
            return cls(length_s=float(length[1]) * _UNITS[length[2]])
        begin, dots, end = words.partition("..")
        if dots:
            clocks = [_CLOCK.match(part.strip()) for part in (begin, end)]
            if clocks[0] is not None and clocks[1] is not None:
                first, last = (int(each[1]) * 3600.0 + int(each[2]) * 60.0 for each in clocks if each is not None)
                if first != last and max(first, last) <= DAY_S:
                    return cls(None, first, last, is_daily=True)
            times = [parse_timestamp(part) for part in (begin, end)]
            if times[0] is not None and times[1] is not None and times[0] < times[1]:
                return cls(None, times[0], times[1])
        raise InputError(f"found {text}; allowed: {ALLOWED}", "window")


#: All of the input, and the part that is described by default.
WHOLE, BUSY_HOUR = Window(length_s=None), Window()


@dataclass(frozen=True, slots=True)
class Intervals:
    """Poll intervals in order of time: beginnings, lengths in seconds, mean loads in bit/s.

    `drops` and `packets` are counts of each, or empty where they are not known.
    """

    starts_s: NDArray[np.float64]
    seconds: NDArray[np.float64]
    rates: NDArray[np.float64]
    drops: NDArray[np.float64]
    packets: NDArray[np.float64]

    @property
    def has_drops(self) -> bool:
        """Whether both drops and packets are known."""
        return self.drops.size == self.rates.size and self.rates.size > 0


@dataclass(frozen=True, slots=True)
class Span:
    """The part of the input that a scenario describes.

    Attributes
    ----------
    begin_s, end_s : float
        From the first interval in it to the last, in seconds of the input's clock.
    why : str
        Such as "the busiest hour of the input".
    """

    begin_s: float
    end_s: float
    why: str

    @property
    def sentence(self) -> str:
        """The sentence that names the part of the input which a scenario describes."""
        return f"the described part is {self.why}: {time_of(self.begin_s)} to {time_of(self.end_s)}"


def time_of(seconds: float) -> str:
    """A time of the input's clock: a date in UTC, or seconds where the clock is none of a calendar."""
    if seconds < CALENDAR:
        return f"{seconds:,.0f} s"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


@dataclass(frozen=True, slots=True)
class Hour:
    """The load in one hour of the day (UTC) over all days: mean, least and most of its intervals, in bit/s."""

    hour: int
    mean: float
    low: float
    high: float
    drops: float


@dataclass(frozen=True, slots=True)
class LossAt:
    """An interval with drops.

    Attributes
    ----------
    time_s : float
        Its beginning.
    load_bps : float
    drops : float
    share : float or None
        Drops over drops and packets sent; None where packets are not counted.
    """

    time_s: float
    load_bps: float
    drops: float
    share: float | None


@dataclass(frozen=True, slots=True)
class Day:
    """Load over the day.

    Attributes
    ----------
    span : Span
        The part of the input that the scenario describes.
    described, mean : IntervalEstimate
        Load of the span and of the whole input, in bit/s.
    quantiles : tuple of IntervalEstimate
        Quantiles of the load of its intervals: median, 95 %, 99 %, and the largest.
    interval_s : float
        Usual length of an interval.
    columns : tuple of Column
        The load over the whole input; times from its beginning.
    hours : tuple of Hour
        The hours; empty if the input is shorter than a day or its clock is not a calendar's.
    losses : tuple of LossAt
        Intervals with drops, those with most of them first.
    lossy : int
        How many intervals have drops.
    loss, loss_of_all : IntervalEstimate or None
        Drops over drops and packets sent, in the span and in the whole input.
    loss_at_most : float or None
        The same in the whole input if packets are not counted: it assumes 1,500 bytes for each packet.
    """

    span: Span
    described: IntervalEstimate
    mean: IntervalEstimate
    quantiles: tuple[IntervalEstimate, ...]
    interval_s: float
    columns: tuple[Column, ...]
    hours: tuple[Hour, ...] = ()
    losses: tuple[LossAt, ...] = ()
    lossy: int = 0
    loss: IntervalEstimate | None = None
    loss_of_all: IntervalEstimate | None = None
    loss_at_most: float | None = None


def day_of(intervals: Intervals, window: Window, source: str) -> tuple[Day, NDArray[np.bool_]]:
    """Describe the load over time, and which intervals the scenario describes.

    Parameters
    ----------
    intervals : Intervals
        At least two.
    window : Window
        The part of the input to describe.
    source : str
        Where the load comes from, in a clause.

    Raises
    ------
    InputError
        Where no interval lies in the window.
    """
    chosen, why = _chosen(intervals, window)
    starts, seconds, rates = intervals.starts_s, intervals.seconds, intervals.rates
    at = np.flatnonzero(chosen)
    span = Span(float(starts[at[0]]), float(starts[at[-1]] + seconds[at[-1]]), why)
    worth = independent_of(rates)
    quantiles = tuple(
        weighted_quantile(rates, seconds, share, "bit/s", source, worth)
        for share in SHARES
        if rates.size * (1 - share) >= 1
    )
    most = float(rates.max())
    lossy = np.flatnonzero(intervals.drops > 0) if intervals.drops.size == rates.size else np.zeros(0, dtype=int)
    return (
        Day(
            span=span,
            described=batch_ratio((rates * seconds)[chosen], seconds[chosen], "bit/s", source),
            mean=batch_ratio(rates * seconds, seconds, "bit/s", source),
            quantiles=(
                *quantiles,
                IntervalEstimate(most, most, most, "bit/s", f"{source}, the largest", int(rates.size)),
            ),
            interval_s=float(np.median(seconds)),
            columns=_columns(intervals),
            hours=_hours(intervals),
            losses=_losses(intervals, lossy),
            lossy=int(lossy.size),
            loss=_loss(intervals, chosen),
            loss_of_all=_loss(intervals, np.ones(rates.size, dtype=bool)),
            loss_at_most=_at_most(intervals),
        ),
        chosen,
    )


def _chosen(intervals: Intervals, window: Window) -> tuple[NDArray[np.bool_], str]:
    """Mark the described intervals, and state the reason."""
    starts, ends = intervals.starts_s, intervals.starts_s + intervals.seconds
    everything = np.ones(starts.size, dtype=bool)
    if window.begin_s is not None and window.end_s is not None:
        if window.is_daily:
            clock = (starts + intervals.seconds / 2) % DAY_S
            inside = (clock >= window.begin_s) & (clock < window.end_s)
            if window.begin_s > window.end_s:
                inside = (clock >= window.begin_s) | (clock < window.end_s)
        else:
            middles = starts + intervals.seconds / 2
            inside = (middles >= window.begin_s) & (middles < window.end_s)
        if not inside.any():
            raise InputError("found no load in it; allowed: times that the input covers", "window")
        return inside, "given by --window"
    if window.length_s is None:
        return everything, "the whole input, as --window asks"
    if ends[-1] - starts[0] <= window.length_s * (1 + 1e-9):
        longest = "an hour" if window.length_s == BUSY_S else _length_text(window.length_s)
        return everything, f"the whole input, which is no longer than {longest}"
    inside = _busiest(starts, ends, intervals.rates, window.length_s)
    return inside, f"the busiest {_length_text(window.length_s)} of the input"


def _length_text(length_s: float) -> str:
    from forebay.text.formatting import clock_time

    return "hour" if length_s == BUSY_S else clock_time(length_s)


def _busiest(
    starts: NDArray[np.float64], ends: NDArray[np.float64], rates: NDArray[np.float64], length_s: float
) -> NDArray[np.bool_]:
    """The intervals of the part of a length with the largest mean load, of those with few gaps where there are any."""
    amounts, lasting = rates * (ends - starts), ends - starts
    summed, covered = (np.concatenate([[0.0], np.cumsum(each)]) for each in (amounts, lasting))
    # From each interval on as many as end within the length; one at least.
    last = np.searchsorted(ends, starts + length_s * (1 + 1e-9), side="right")
    first = np.arange(starts.size)
    last = np.maximum(last, first + 1)
    time = covered[last] - covered[first]
    means = (summed[last] - summed[first]) / time
    in_full = (time >= COVERED * length_s) & (starts[first] + COVERED * length_s <= ends[-1])
    best = int(np.argmax(np.where(in_full, means, -1.0))) if in_full.any() else int(np.argmax(means))
    inside: NDArray[np.bool_] = (first >= best) & (first < last[best])
    return inside


def _columns(intervals: Intervals) -> tuple[Column, ...]:
    """Columns of the same length, up to a maximum number; columns without an interval are left out."""
    starts, rates = intervals.starts_s - intervals.starts_s[0], intervals.rates
    length = float(starts[-1] + intervals.seconds[-1])
    number = np.minimum((starts / length * COLUMNS).astype(int), COLUMNS - 1)
    found = []
    for each in np.unique(number):
        inside = number == each
        seconds = intervals.seconds[inside]
        mean = float((rates[inside] * seconds).sum() / seconds.sum())
        found.append(
            Column(
                float(starts[inside][0] + seconds.sum() / 2),
                mean,
                float(min(rates[inside].min(), mean)),
                float(max(rates[inside].max(), mean)),
            )
        )
    return tuple(found)


def _hours(intervals: Intervals) -> tuple[Hour, ...]:
    starts, seconds = intervals.starts_s, intervals.seconds
    if starts[0] < CALENDAR or starts[-1] + seconds[-1] - starts[0] < DAY_S * 0.99 or np.median(seconds) > BUSY_S:
        return ()
    of_day = (((starts + seconds / 2) % DAY_S) // BUSY_S).astype(int)
    counted = intervals.drops if intervals.drops.size == starts.size else np.zeros(starts.size)
    found = []
    for hour in range(24):
        inside = of_day == hour
        if inside.any():
            rates = intervals.rates[inside]
            mean = float((rates * seconds[inside]).sum() / seconds[inside].sum())
            ends = float(min(rates.min(), mean)), float(max(rates.max(), mean))
            found.append(Hour(hour, mean, *ends, float(counted[inside].sum())))
    return tuple(found)


def _losses(intervals: Intervals, lossy: NDArray[np.intp]) -> tuple[LossAt, ...]:
    order = lossy[np.argsort(-intervals.drops[lossy], kind="stable")][:MOST_LOSSES]
    found = []
    for at in order:
        drops = float(intervals.drops[at])
        share = None
        if intervals.packets.size == intervals.rates.size:
            share = drops / (drops + float(intervals.packets[at]))
        found.append(LossAt(float(intervals.starts_s[at]), float(intervals.rates[at]), drops, share))
    return tuple(found)


def _at_most(intervals: Intervals) -> float | None:
    if intervals.drops.size != intervals.rates.size or intervals.packets.size == intervals.rates.size:
        return None
    drops = float(intervals.drops.sum())
    sent = float((intervals.rates * intervals.seconds).sum()) / 8 / LARGEST_PACKET
    return drops / (drops + sent) if drops + sent > 0 else None


def _loss(intervals: Intervals, chosen: NDArray[np.bool_]) -> IntervalEstimate | None:
    """Drops over drops and packets sent."""
    if not intervals.has_drops or intervals.packets.size != intervals.rates.size:
        return None
    drops, packets = intervals.drops[chosen], intervals.packets[chosen]
    offered = drops + packets
    if not offered.sum() > 0:
        return None
    source = "drops over drops and packets sent"
    if drops.any():
        found = batch_ratio(drops, offered, "", source)
        return replace(found, high=min(found.high, 1.0)) if found.is_bounded else found
    return share_without_events(float(offered.sum()), source)
