"""The parts of an axis: its title with a unit, the place of each value, and the round values that are named.

Descriptions of charts hold axes, and `chart_figure` draws them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from forebay.results.metric import unit_of
from forebay.results.report import BufferSize
from forebay.text import formatting

__all__ = ["Axis", "axis_title", "buffer_axis", "decision_axis", "filled", "share_axis", "spans_decades", "tick_text"]

#: Room below a least value and above a largest one that a goal asks for, in units of the room that meets it.
BELOW, ABOVE = 2.0, 4.0
#: The least room that meets a goal, as a share of the threshold, and in points of a utilization.
LEAST, LEAST_POINTS = 0.02, 0.2
#: Titles of axes that differ from those of tables.
_TITLES = {"loss_rate": "loss rate"}


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis, linear or by decades.

    Attributes
    ----------
    title : str
        Title with the unit.
    low, high : float
        Values at the two ends; above 0 if `by_decades`.
    by_decades : bool
        Whether equal ratios take equal room.
    per_unit : float
        What one unit is in the second row of numbers; 0 if there is none.
    integral : bool
        Whether only whole numbers have a tick.
    """

    title: str
    low: float
    high: float
    by_decades: bool = False
    per_unit: float = 0.0
    integral: bool = False

    def __call__(self, value: float) -> float:
        """Place of a value between the ends, from 0 to 1; values beyond an end get the place of that end."""
        value = min(max(value, self.low), self.high)
        if self.by_decades:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def value(self, place: float) -> float:
        """The value at a place between the ends, from 0 to 1."""
        if self.by_decades:
            return self.low * math.exp(place * math.log(self.high / self.low))
        return self.low + place * (self.high - self.low)

    def ticks(self, most: int) -> list[float]:
        """Round values, at most about `most` of them."""
        if not self.by_decades:
            even = _even_ticks(self.low, self.high, most)
            return [tick for tick in even if tick == round(tick)] if self.integral else even
        found = _decade_ticks(self.low, self.high, most)
        # Within a decade, its powers of ten and their halves are too few.
        return found if len(found) > 1 else [tick for tick in _even_ticks(self.low, self.high, most) if tick > 0]

    def words(self, tick: float) -> tuple[str, ...]:
        """The number of a tick, and the number below it if there is a second row."""
        first = tick_text(tick)
        return (first, tick_text(float(f"{tick * self.per_unit:.2g}"))) if self.per_unit else (first,)


def filled(title: str, values: Iterable[float], *, by_decades: bool | None = None, per_unit: float = 0.0) -> Axis:
    """An axis that the values fill with a little room at both ends; by decades if they span decades, unless given."""
    shown = list(values)
    positive = [value for value in shown if value > 0]
    if positive and (spans_decades(shown) if by_decades is None else by_decades):
        low, high = min(positive), max(positive)
        room = (high / low) ** 0.03 if high > low else 2.0
        return Axis(title, low / room, high * room, by_decades=True, per_unit=per_unit)
    low, high = min(shown), max(shown)
    room = 0.03 * (high - low) if high > low else max(abs(high), 1.0) / 2
    return Axis(title, low - room, high + room, per_unit=per_unit)


def share_axis(title: str, lows: Iterable[float]) -> Axis:
    """An axis of percents that ends a little above 100 % and a little below the lowest value."""
    low = min(lows)
    return Axis(title, max(0.0, low - max(0.05 * (101.5 - low), 4.0)), 101.5)


def decision_axis(
    title: str,
    values: Sequence[float],
    goals: Sequence[tuple[str, float]],
    inside: Sequence[float] = (),
    *,
    percent: bool = False,
) -> Axis:
    """A vertical axis on which goals and the answer are seen, whatever else was measured.

    Values that differ by decades have an axis by decades, which shows all of them. A linear axis ends where values are
    far from each goal, so that at least a fifth of its height meets a goal.

    Parameters
    ----------
    title : str
        Title with the unit.
    values : sequence of float
        All values. Those far from a goal may lie beyond the axis.
    goals : sequence of (sense, threshold)
        The goals on the metric; the sense is ">=" or "<=".
    inside : sequence of float
        Values that the axis shows.
    percent : bool
        Whether the values are percents that cannot exceed 100 and often lie close to it, as a utilization.
    """
    thresholds = [at for _, at in goals]
    shown = [*values, *thresholds, *inside]
    if spans_decades(shown) and not percent:
        positive = [value for value in shown if value > 0]
        return Axis(title, min(positive) / 1.6, max(positive) * 1.6, by_decades=True)
    low, high = min(0.0, *shown), max(100.0 if percent else 0.0, *shown)
    if percent:
        low = max(0.0, math.floor(min(shown) / 10) * 10.0)
    lows, highs = [*thresholds, *inside], [*thresholds, *inside]
    for sense, at in goals:
        least = LEAST_POINTS if percent else LEAST * abs(at)
        if sense == ">=":
            lows.append(at - BELOW * max(high - at, least))
        else:
            highs.append(at + ABOVE * max(at - low, least))
    if any(sense == ">=" for sense, _ in goals):
        low = max(low, min(lows))
    if any(sense == "<=" for sense, _ in goals) and not percent:
        high = min(high, max(highs))
    room = high - low if high > low else 1.0
    return Axis(title, low, high + (0.04 if percent else 0.08) * room)


def buffer_axis(buffers: Sequence[float], last: BufferSize | None, *, below: str = "BDP") -> Axis:
    """An axis of buffers in packets.

    Parameters
    ----------
    buffers : sequence of float
        Values that it shows.
    last : BufferSize or None
        The buffer that gives the second row of numbers.
    below : "BDP" or "ms"
        The unit of that row; milliseconds if a link has no bandwidth-delay product.
    """
    if last is None:
        return filled("buffer (packets)", buffers, by_decades=True)
    unit, per_packet = "ms at the link rate", 1e3 * last.seconds / last.packets
    if below == "BDP" and last.bdp:
        unit, per_packet = "BDP", last.bdp / last.packets
    return filled(f"buffer (packets), below: {unit}", buffers, by_decades=True, per_unit=per_packet)


def _even_ticks(low: float, high: float, most: int) -> list[float]:
    step = 10 ** math.floor(math.log10((high - low) / max(1, most)))
    step = next(step * factor for factor in (1, 2, 5, 10, 20) if (high - low) / (step * factor) <= most)
    first = math.ceil(low / step - 1e-9)
    return [round(step * index, 12) for index in range(first, math.floor(high / step + 1e-9) + 1)]


def _decade_ticks(low: float, high: float, most: int) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    found: list[float] = []
    for factors in ((1, 2, 5), (1, 3), (1,)):
        ticks = [factor * 10.0**power for power in range(first, last + 1) for factor in factors]
        found = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(found) <= most:
            return found
    return found[:: math.ceil(len(found) / most)]


def spans_decades(values: Iterable[float]) -> bool:
    """Whether the positive values need a logarithmic axis: they differ by more than a factor of 30."""
    positive = [value for value in values if value > 0]
    return bool(positive) and max(positive) / min(positive) > 30


def tick_text(number: float) -> str:
    """A tick's number, without powers of ten."""
    if number and abs(number) < 1e-4:
        return f"{number:.12f}".rstrip("0").rstrip(".")
    return f"{number:,.10g}" if abs(number) < 1e10 else f"{number:,.0f}"


def axis_title(name: str, largest: float) -> tuple[str, float]:
    """Title with its unit for a metric's axis, and the factor from the metric's unit to the axis's."""
    group, dot, metric = name.rpartition(".")
    title = f"{group}: " if dot else ""
    title += _TITLES.get(metric, formatting.metric_title(metric))
    counted_in = unit_of(metric)
    if counted_in == "share":
        return f"{title} (%)", 100.0
    if counted_in == "s":
        return (f"{title} (ms)", 1e3) if largest < 10 else (f"{title} (s)", 1.0)
    if counted_in == "bps":
        return f"{title} (Mb/s)", 1e-6
    if counted_in == "bytes":
        return f"{title} (kB)", 1e-3
    return (f"{title} (packets)", 1.0) if counted_in == "packets" else (title, 1.0)
