"""One value of a key that a search varies, and the scale on which the search moves.

A search knows whole numbers above zero, of which it takes the ratios. A range gives each of them a value of the key: in
proportion where the range spans a decade, else by the logarithm, so that equal ratios are equal steps; and turned round
where the largest value is asked for, so that the smallest number stands for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from forebay.results.report import BufferSize

__all__ = ["Quantity", "Range", "Value", "unit_words"]

#: Ratio of the ends of a range from which on it is logarithmic.
DECADE = 10.0
#: Logarithm of the ratio of the numbers at the ends of a range that is not.
SPAN = 2.0
#: Numbers to begin at, so that from one to the next is a thousandth; no number is above the other.
FINE, MOST = 1000, 2**42
#: Powers of e from which on a number may be larger than a float holds.
LARGEST_POWER = 670.0

#: How units of scenario files are written in a sentence.
_SHOWN = {"p": "packets", "us": "µs", "bps": "b/s", "kbps": "kb/s", "Mbps": "Mb/s", "Gbps": "Gb/s", "Tbps": "Tb/s"}


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a key.

    Attributes
    ----------
    value : float
        In the base unit.
    unit : str
        "s", "bps", "bytes", "packets", "BDP", or none.
    text : str
        As `--set` takes it.
    number : float
        In the unit in which the range was asked for.
    place : float
        Where the search had it; not in the JSON.
    """

    value: float
    unit: str
    text: str
    number: float
    place: float

    @property
    def words(self) -> str:
        """As in a sentence: "42 packets", "5.2 ms"."""
        unit = unit_words(self.text.lstrip("0123456789.-"))
        return f"{self.number_text} {unit.removesuffix('s') if self.text == '1p' else unit}".strip()

    @property
    def number_text(self) -> str:
        """The number without its unit, which follows."""
        return f"{self.number:,.15g}"

    def to_dict(self) -> dict[str, float | str]:
        """As in the JSON."""
        return {"value": self.value, "unit": self.unit, "text": self.text}


#: The varied quantity of a search: a buffer, or another setting.
Quantity = BufferSize | Value


def unit_words(unit: str) -> str:
    """A unit of scenario files as in a sentence."""
    return _SHOWN.get(unit, unit)


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers of a search and the values that they stand for.

    Attributes
    ----------
    low, high : float
        Ends of the range, in the unit in which it was asked for.
    digits : int
        Significant digits of a value, of the range's width where it is not logarithmic.
    integral : bool
        Whether values are whole numbers.
    mirrored : bool
        Whether the smallest number stands for the largest value.
    """

    low: float
    high: float
    digits: int = 3
    integral: bool = False
    mirrored: bool = False

    @property
    def by_decades(self) -> bool:
        """Whether equal ratios are equal steps."""
        return self.low > 0 and self.high >= DECADE * self.low

    @property
    def first(self) -> int:
        """The smallest number."""
        if self.integral and self.by_decades and not self.mirrored:
            return int(self.low)
        steps = 2 * (self.high if self.by_decades else (self.high - self.low) / SPAN) if self.integral else 0.0
        return int(max(FINE, min(math.ceil(steps), MOST * math.exp(-self._span))))

    @property
    def last(self) -> int:
        """The largest one."""
        return round(self.first * math.exp(self._span))

    @property
    def _span(self) -> float:
        return math.log(self.high / self.low) if self.by_decades else SPAN

    def number(self, place: float) -> float:
        """The value that a number of the search stands for, at most at the ends of the range."""
        if not self.first < place < self.last:
            return self.low if (place <= self.first) != self.mirrored else self.high
        if self.integral and self.by_decades and not self.mirrored:
            return float(round(place))
        rounded = min(max(self._rounded(self._exact(place)), self.low), self.high)
        # A value that rounding brings next to an end is the end.
        return next((end for end in (self.low, self.high) if math.isclose(rounded, end)), rounded)

    def place(self, number: float) -> float:
        """The number of the search that stands for a value, whether or not in the range; the inverse of `number`.

        Infinite where the value lies so far outside that no float holds the number.
        """
        share = math.log(number / self.low) if self.by_decades else SPAN * (number - self.low) / (self.high - self.low)
        power = self._span - share if self.mirrored else share
        return self.first * math.exp(power) if power < LARGEST_POWER else math.inf

    def snapped(self, place: int) -> int:
        """The number that stands for a value among those which do."""
        return round(self.place(self.number(place)))

    def _exact(self, place: float) -> float:
        share = math.log(place / self.first) / self._span
        if self.mirrored:
            share = 1 - share
        if self.by_decades:
            return self.low * math.exp(share * self._span)
        return self.low + share * (self.high - self.low)

    def _rounded(self, number: float) -> float:
        if self.integral:
            return float(round(number))
        size = number if self.by_decades else self.high - self.low
        return round(number, self.digits - 1 - math.floor(math.log10(size)))
