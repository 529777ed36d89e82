"""The charts of an observation: load over time, burstiness over time scales, a distribution beside its data.

`observation_page` and `observation_day` describe with them what was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from forebay.views.chart import Band, Chart, Curve, Look, Panel, Series, Tip, Words, level
from forebay.views.scales import Axis, filled

__all__ = ["Reading", "Reference", "span_chart"]

MEAN = Look("blue", "solid", 1.5, "o", 0.2, edge=0.0)
REFERENCE = Look("orange", "dashed", 1.5)


@dataclass(frozen=True, slots=True)
class Reading:
    """A measured place with the ends of its band, each in the unit of its axis, and the text shown on hovering."""

    x: float
    y: float
    low: float
    high: float
    tip: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A line through places beside the measurements, or a named height if there is one place."""

    text: str
    places: Sequence[tuple[float, float]]


def span_chart(
    across: str,
    up: str,
    readings: Sequence[Reading],
    reference: Reference | None = None,
    *,
    by_decades: tuple[bool, bool] = (False, False),
    ends: tuple[float, float] | None = None,
    dots: bool = True,
    key: str = "",
) -> Chart:
    """Measured places joined by a line, with a band around it, beside a reference.

    Parameters
    ----------
    across, up : str
        Titles of the axes, with their units.
    readings : sequence of Reading
        From left to right, at least two.
    reference : Reference, optional
    by_decades : (bool, bool)
        Whether equal ratios take equal room, across and up.
    ends : (float, float), optional
        Ends of the vertical axis; from the values by default.
    dots : bool
        Whether the places are marked.
    key : str
        Ties a place to the same one at another size of the chart.
    """
    vertical = _vertical(up, readings, reference, ends, by_decades=by_decades[1])
    band = Band([(each.x, each.low, each.high) for each in readings], "blue", series="band")
    tips = [Tip(f"{key}{number}", each.tip) for number, each in enumerate(readings)]
    mean = Curve([(each.x, each.y) for each in readings], replace(MEAN, size=5.0) if dots else MEAN, tips, "mean")
    series: list[Series] = [band, mean]
    # Above what it is compared with, so that it is seen where they agree.
    if reference is not None and len(reference.places) == 1:
        ((_, at),) = reference.places
        words = Words(-inf, inf, at, reference.text, "bad", above=True, series="law")
        series += [level(at, REFERENCE, "law"), words]
    elif reference is not None:
        series.append(Curve(reference.places, REFERENCE, series="law"))
    return Chart(
        _horizontal(across, readings, by_decades=by_decades[0]), (Panel(vertical, series),), f"{up} against {across}"
    )


def _horizontal(title: str, readings: Sequence[Reading], *, by_decades: bool) -> Axis:
    low, high = readings[0].x, readings[-1].x
    if high > low and not by_decades:
        return Axis(title, low, high)
    return filled(title, [low, high], by_decades=by_decades)


def _vertical(
    title: str,
    readings: Sequence[Reading],
    reference: Reference | None,
    ends: tuple[float, float] | None,
    *,
    by_decades: bool,
) -> Axis:
    if ends is not None:
        return Axis(title, *ends)
    shown = [value for each in readings for value in (each.low, each.y, each.high)]
    shown += [] if reference is None else [y for _, y in reference.places]
    if by_decades:
        positive = [value for value in shown if value > 0] or [1.0]
        return Axis(title, min(positive) / 1.5, max(positive) * 1.5, by_decades=True)
    # Above a height that is named there is room for its name.
    named = reference is not None and len(reference.places) == 1
    return Axis(title, 0.0, (1.2 if named else 1.08) * max(shown) or 1.0)
