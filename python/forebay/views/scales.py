"""The parts of an axis: its title with a unit, the pixel of each value, and the round values that are named."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from forebay.results.metric import unit_of
from forebay.text import formatting

__all__ = ["Axis", "axis_title", "plain", "spans_decades"]

#: Titles of axes that differ from those of tables.
_TITLES = {"loss_rate": "loss rate"}


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps values to pixels, linearly or by decades.

    Attributes
    ----------
    low, high : float
        Values at the two ends; above 0 if `by_decades`.
    start, end : float
        Pixels at the two ends.
    by_decades : bool
        Whether equal ratios take equal room.
    """

    low: float
    high: float
    start: float
    end: float
    by_decades: bool

    @classmethod
    def filled(cls, values: Sequence[float], start: float, end: float) -> Axis:
        """An axis that the values fill, by decades if they span decades."""
        if spans_decades(values):
            positive = [value for value in values if value > 0]
            return cls(min(positive) / 1.3, max(positive) * 1.3, start, end, by_decades=True)
        low, high = min(values), max(values)
        room = 0.08 * (high - low) if high > low else max(abs(high), 1.0)
        return cls(low - room, high + room, start, end, by_decades=False)

    def __call__(self, value: float) -> float:
        """Pixel of a value; values beyond an end get the pixel of that end."""
        value = min(max(value, self.low), self.high)
        if self.by_decades:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    @property
    def middle(self) -> float:
        """Pixel halfway between the ends."""
        return (self.start + self.end) / 2

    def ticks(self, most: int) -> list[float]:
        """Round values, at most about `most` of them."""
        if not self.by_decades:
            return _even_ticks(self.low, self.high, most)
        found = _decade_ticks(self.low, self.high, most)
        # Within a decade, its powers of ten and their halves are too few.
        return found if len(found) > 1 else [tick for tick in _even_ticks(self.low, self.high, most) if tick > 0]


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


def plain(number: float) -> str:
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
    return (f"{title} (packets)", 1.0) if counted_in == "packets" else (title, 1.0)
