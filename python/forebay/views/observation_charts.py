"""Charts of an observation: load over time, burstiness over time scales, laws beside data; from values to shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forebay.views.charts import ticks_across, upright
from forebay.views.scales import Axis
from forebay.views.shapes import Across, Area, Curve, Drawing, Line, Marker, Series, Shape, Size, Text

__all__ = ["Reading", "Reference", "SpanChart"]


@dataclass(frozen=True, slots=True)
class Reading:
    """A measured place with what is around it, each in its axis's unit, and what hovering says."""

    x: float
    y: float
    low: float
    high: float
    tip: str


@dataclass(frozen=True, slots=True)
class Reference:
    """What measurements are held against: a line through places, or a height all across where there is one place."""

    text: str
    places: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class SpanChart:
    """Measured places joined by a line, with a band around it, beside a reference.

    Attributes
    ----------
    across, up : str
        Titles of the axes, with their units.
    readings : sequence of Reading
        From left to right, at least two.
    reference : Reference or None
    by_decades : (bool, bool)
        Whether equal ratios take equal room, across and up.
    ends : (float, float) or None
        Of the vertical axis; from what is shown by default.
    dots : bool
        Whether the places are marked.
    key : str
        Ties a place to the same one at another size of the chart.
    """

    across: str
    up: str
    readings: Sequence[Reading]
    reference: Reference | None = None
    by_decades: tuple[bool, bool] = (False, False)
    ends: tuple[float, float] | None = None
    dots: bool = True
    key: str = ""

    def drawing(self, size: Size, label: str) -> Drawing:
        """Draw it; `label` is what a screen reader says."""
        horizontal, vertical = self._horizontal(size), self._vertical(size)
        places = tuple((horizontal(each.x), vertical(each.y)) for each in self.readings)
        radius = 2.6 if self.dots else 0.1
        dots = [
            Marker(place, radius, f"{self.key}{number}", each.tip)
            for number, (place, each) in enumerate(zip(places, self.readings, strict=True))
        ]
        series = [Series("band", (self._band(horizontal, vertical),)), Series("mean", (Curve(places), *dots))]
        if self.reference is not None:
            # Above what it is compared with, so that it is seen where they agree.
            series.append(Series("law", tuple(self._reference(size, horizontal, vertical, self.reference))))
        across = Across(self.across, horizontal.middle, ticks_across(horizontal))
        return Drawing(size, label, across, upright(size, vertical, self.up), tuple(series))

    def _horizontal(self, size: Size) -> Axis:
        low, high = self.readings[0].x, self.readings[-1].x
        if not high > low:
            low, high = low / 2, high * 2 or 1.0
        return Axis(low, high, size.left, size.rightmost, by_decades=self.by_decades[0])

    def _vertical(self, size: Size) -> Axis:
        if self.ends is not None:
            return Axis(*self.ends, size.lowest, size.top, by_decades=False)
        shown = [value for each in self.readings for value in (each.low, each.y, each.high)]
        if self.reference is not None:
            shown += [y for _, y in self.reference.places]
        if self.by_decades[1]:
            positive = [value for value in shown if value > 0] or [1.0]
            return Axis(min(positive) / 1.5, max(positive) * 1.5, size.lowest, size.top, by_decades=True)
        # Above a height that is named there is room for its name.
        named = self.reference is not None and len(self.reference.places) == 1
        return Axis(0.0, (1.2 if named else 1.08) * max(shown) or 1.0, size.lowest, size.top, by_decades=False)

    def _band(self, horizontal: Axis, vertical: Axis) -> Area:
        # Nothing is below an axis by decades.
        upper = [(horizontal(each.x), vertical(each.high)) for each in self.readings]
        lower = [(horizontal(each.x), vertical(max(each.low, vertical.low))) for each in reversed(self.readings)]
        return Area((*upper, *lower))

    def _reference(self, size: Size, horizontal: Axis, vertical: Axis, reference: Reference) -> list[Shape]:
        if len(reference.places) == 1:
            y = vertical(reference.places[0][1])
            # Below the line where there is no room above it.
            words = Text((size.rightmost - 3, y - 4 if y - 16 > size.top else y + 13), reference.text, "end")
            return [Line((size.left, y), (size.rightmost, y)), words]
        return [Curve(tuple((horizontal(x), vertical(y)) for x, y in reference.places))]
