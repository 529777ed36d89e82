"""The charts of a page: each drawn for a wide and for a narrow screen, and the switches that hide their series.

A page shows them with the macro `figure` of `parts.html.j2`. Without Matplotlib a page has a line in their place.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.errors import MissingPackageError
from forebay.extras import need
from forebay.views.chart import Chart, Medium

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

__all__ = ["NARROW", "WIDE", "Figure", "Switch", "aligned", "figure", "missing"]

#: On a desk and on paper; on a telephone.
WIDE = Medium("wide", 760, 11, 11, row=20, stretch=1.45, ink=1.25)
NARROW = Medium("narrow", 340, 11, 11, row=20, stretch=1.3, ink=1.25)


@dataclass(frozen=True, slots=True)
class Switch:
    """Shows or hides a series in all charts."""

    series: str
    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """One chart, drawn for each width of screen; without drawings if nothing is installed that draws."""

    heading: str
    drawings: tuple[Element, ...]


def missing() -> str:
    """The line in the place of the charts where nothing is installed that draws them; else nothing."""
    try:
        need("matplotlib")
    except MissingPackageError as error:
        return f"There are no charts: {error}."
    return ""


def figure(heading: str, chart: Chart, left: float = 0.0) -> Figure:
    """Draw a chart under a heading, with at least as much room at the left of a wide one as is given."""
    if missing():
        return Figure(heading, ())
    from forebay.views.chart_svg import svg

    return Figure(heading, (svg(chart, dataclasses.replace(WIDE, left=left)), svg(chart, NARROW)))


def aligned(charts: Sequence[tuple[str, Chart]]) -> list[Figure]:
    """Draw charts under their headings with one left edge, so that on a wide screen one buffer lies on one line."""
    if missing():
        return []
    from forebay.views.chart_figure import left_width

    left = max((left_width(chart, WIDE) for _, chart in charts), default=0.0)
    return [figure(heading, chart, left) for heading, chart in charts]
