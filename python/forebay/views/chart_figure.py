"""Draws the description of a chart as a Matplotlib figure, for a file, a notebook or a page.

All places follow from measured widths of texts, so that no text leaves the figure or meets another one. `chart_svg`
makes the figures of pages into SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import isfinite
from typing import Any

# Before anything of Matplotlib.
import forebay.views.backend  # noqa: F401

# isort: split
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.tri import Triangulation

from forebay.views import canvas
from forebay.views.chart import COLORS, PICTURE, Band, Chart, Curve, Field, Key, Look, Medium, Names, Panel, Row, Words
from forebay.views.scales import Axis

__all__ = ["draw", "left_width"]

#: Points between a text and what it belongs to, between two panels, and at least at the right of all panels.
GAP, BETWEEN, RIGHT = 5.0, 14.0, 12.0
#: Height of a usual panel of a picture, in points.
PANEL = 122.0
#: Height of a line of text over its size.
LINE = 1.32
#: Largest share of the width of a page that names of rows take, and their largest width in a picture, in points.
NAMES, NAME = 0.48, 137.0
_DASHES = {"solid": "-", "dashed": "--", "dotted": ":", "none": "none"}
#: Paper of their own for words that lie over other things.
_PAPER: dict[str, Any] = {"facecolor": COLORS["card"], "edgecolor": "none", "pad": 1.0, "alpha": 0.8}


def draw(chart: Chart, medium: Medium = PICTURE) -> canvas.Picture:
    """Draw a chart at the size of a medium."""
    sheet = _Sheet.of(chart, medium)
    settings = {} if medium is PICTURE else {"figure.dpi": 72}
    made = canvas.picture(medium.width / 72, sheet.height / 72, **settings)
    made.label = chart.label
    if chart.headline is not None:
        canvas.head(made, chart.headline)
    made.set_layout_engine("none")
    numbers = count()
    with canvas.style():
        for panel in [_Drawn(made, sheet, place) for place in sheet.places]:
            for order, series in enumerate(panel.place.panel.series):
                before = set(panel.axes.get_children())
                panel.draw(series, 2.0 + 0.01 * order)
                new = [artist for artist in panel.axes.get_children() if artist not in before]
                for artist in new if series.series else ():
                    mark = f"{series.series}-{next(numbers)}"
                    artist.set_gid(mark)
                    made.tips[mark] = getattr(series, "tips", ())
        canvas.legend(made, [_handle(key) for key in chart.legend], most=chart.columns, loc="lower center")
    return made


def left_width(chart: Chart, medium: Medium) -> float:
    """Room that a chart needs at the left of its panels, in points."""
    return _Sheet.of(chart, medium).left


# The layout ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """A panel with its place, in points: its distance from the upper edge, its height, and the tops of words above."""

    panel: Panel
    across: Axis
    has_axis: bool
    flag: tuple[float, float]
    note: float
    top: float
    height: float
    ticks: Sequence[float]


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The places of all panels of a chart, in points, and the largest width of the numbers of vertical axes."""

    medium: Medium
    left: float
    right: float
    height: float
    places: Sequence[_Place]
    numbers: float

    @property
    def panel_width(self) -> float:
        """Width of the panels."""
        return self.right - self.left

    @classmethod
    def of(cls, chart: Chart, medium: Medium) -> _Sheet:
        panels = [(panel, _height(panel, medium)) for panel in chart.panels]
        ticks = [_ticks_up(panel, height) for panel, height in panels]
        numbers = [_numbers(panel, marks, medium) for (panel, _), marks in zip(panels, ticks, strict=True)]
        needs = [_left_width(*panel, wide, medium) for panel, wide in zip(panels, numbers, strict=True)]
        left = max(medium.left, *needs)
        right = medium.width - max(_right(each.across or chart.across, left, medium) for each in chart.panels)
        # Half of a number at the upper end of an axis lies above the first panel.
        y = 0.8 * medium.text
        if chart.headline is not None:
            y += 72 * canvas.head_height(chart.headline, medium.width / 72)
        line, places = LINE * medium.small + 2, []
        for number, ((panel, height), marks) in enumerate(zip(panels, ticks, strict=True)):
            across = panel.across or chart.across
            shown = panel.across is not None or number == len(panels) - 1
            flag = _flag(panel, across, (left, right), medium)
            beside = right - 2 * GAP - 72 * canvas.width_of(panel.note, medium.small)
            note = line * bool(panel.note) * (2 if flag[1] > beside else 1)
            y += max(note, line * (panel.flag is not None)) + (BETWEEN if number else 0.0)
            places.append(_Place(panel, across, shown, flag, note, y, height, marks))
            rows = (3 if across.per_unit else 2) if shown else 0
            y += height + LINE * medium.text * rows + 2 * GAP * shown
        if chart.legend:
            texts = [key.text for key in chart.legend]
            columns = canvas.columns_of(texts, medium.width / 72, chart.columns)
            y += 72 * canvas.legend_height(len(texts), columns) - BETWEEN
        return cls(medium, left, right, y, places, max(numbers))


def _height(panel: Panel, medium: Medium) -> float:
    if isinstance(panel.up, Axis):
        return (panel.height or PANEL) * medium.stretch
    return panel.height or medium.row * len(panel.up)


def _ticks_up(panel: Panel, height: float) -> list[float]:
    """Numbers of a vertical axis; by decades they are close, because a number for each decade alone is little."""
    if not isinstance(panel.up, Axis):
        return []
    line = (1.5 if panel.up.by_decades else 1.8) * 10 / 72
    return canvas.round_ticks(panel.up, panel.up.words, height / 72, "y", line=line)


def _numbers(panel: Panel, ticks: Sequence[float], medium: Medium) -> float:
    """Width of the numbers of a vertical axis."""
    words = [word for tick in ticks for word in panel.up.words(tick)] if isinstance(panel.up, Axis) else []
    return 72 * max((canvas.width_of(word, medium.text) for word in words), default=0.0)


def _title(up: Axis, height: float, medium: Medium) -> list[str]:
    """Lines of the title of a vertical axis; one on a page, which has the whole title above the chart."""
    return canvas.wrapped(up.title, height / 72, medium.text, most=3 if medium is PICTURE else 1)


def _name(panel: Panel, row: Row, medium: Medium) -> tuple[str, float]:
    """The name of a row as it has room, and its size."""
    room = NAME if medium is PICTURE else NAMES * medium.width
    size = medium.small if panel.height is None else medium.text
    return canvas.cut(row.name, room / 72, size, bold=row.bold), size


def _left_width(panel: Panel, height: float, numbers: float, medium: Medium) -> float:
    """Room for the title and the numbers of a vertical axis, or for the names of rows."""
    if isinstance(panel.up, Axis):
        return 3.5 * GAP + numbers + LINE * medium.text * len(_title(panel.up, height, medium))
    widths = (canvas.width_of(*_name(panel, row, medium), bold=row.bold) for row in panel.up)
    return 2 * GAP + 72 * max(widths, default=0.0)


def _right(across: Axis, left: float, medium: Medium) -> float:
    """Room at the right of the panels, where half of the last number of a horizontal axis may lie."""
    halves = [(across(tick), 36 * canvas.width_of(across.words(tick)[0], medium.text)) for tick in across.ticks(10)]
    return max(RIGHT, *(half + 2 - (1 - share) * (medium.width - left - half) for share, half in halves), 0.0)


def _flag(panel: Panel, across: Axis, ends: tuple[float, float], medium: Medium) -> tuple[float, float]:
    """The ends of a flag: centered above its place, or as near to that as the chart is wide; 0 if there is none."""
    if panel.flag is None:
        return 0.0, 0.0
    width = 72 * canvas.width_of(panel.flag.text, medium.small, bold=True)
    middle = ends[0] + across(panel.flag.at) * (ends[1] - ends[0])
    start = max(2.0, min(middle - width / 2, medium.width - 2 - width))
    return start, start + width


# Panels ----------------------------------------------------------------------------------------------------------


class _Drawn:
    """A panel with its axes, the words around it, and the series that are drawn in it."""

    def __init__(self, made: canvas.Picture, sheet: _Sheet, place: _Place) -> None:
        self.sheet, self.place, self.medium = sheet, place, sheet.medium
        bottom, width = sheet.height - place.top - place.height, sheet.medium.width
        box = sheet.left / width, bottom / sheet.height, sheet.panel_width / width, place.height / sheet.height
        self.axes = made.add_axes(box)
        edge, rows = COLORS["edge"], not isinstance(place.panel.up, Axis)
        self.axes.set_axisbelow(True)
        self.axes.grid(color=COLORS["grid"], linewidth=0.8)
        self.axes.spines[:].set_color(edge)
        self.axes.spines["left"].set_visible(not rows)
        self.axes.spines["bottom"].set_visible(place.has_axis or not rows)
        length = {"x": 3 * place.has_axis, "y": 3}
        for name, axis in (("x", self.axes.xaxis), ("y", self.axes.yaxis)):
            axis.set_tick_params(labelsize=self.medium.text, labelcolor=COLORS["ink"], color=edge, length=length[name])
            axis.set_gid("axis")
        self._across()
        self._up()
        self._above()
        self.axes.minorticks_off()

    def _scale(self, name: str, axis: Axis) -> None:
        if axis.by_decades:
            getattr(self.axes, f"set_{name}scale")("log", nonpositive="clip")
        getattr(self.axes, f"set_{name}lim")(axis.low, axis.high)

    def _across(self) -> None:
        """The horizontal axis: its title is as near to the middle of the panel as it fits into the figure."""
        across, room, text = self.place.across, self.sheet.panel_width, self.medium.text
        self._scale("x", across)
        ticks = canvas.round_ticks(across, across.words, room / 72, "x", text)
        self.axes.set_xticks(ticks, [across.words(tick)[0] if self.place.has_axis else "" for tick in ticks])
        if not self.place.has_axis:
            return
        down = -GAP - LINE * text
        if across.per_unit:
            for tick in ticks:
                place = across(tick) * room, down
                self._write(across.words(tick)[1], place, ("center", "top"), "soft", text - 1, gid="second")
            down -= LINE * text
        half = 36 * canvas.width_of(across.title, text)
        middle = max(half + 2, min(self.sheet.left + room / 2, self.medium.width - half - 2)) - self.sheet.left
        self._write(across.title, (middle, down), ("center", "top"), "ink", text, gid="title")

    def _up(self) -> None:
        """The vertical axis, or the names of the rows."""
        up, height, medium = self.place.panel.up, self.place.height, self.medium
        if isinstance(up, Axis):
            self._scale("y", up)
            self.axes.set_yticks(self.place.ticks, ["\n".join(up.words(tick)) for tick in self.place.ticks])
            turned: dict[str, Any] = {"rotation": 90, "rotation_mode": "anchor", "gid": "title"}
            aside, title = -2.5 * GAP - self.sheet.numbers, "\n".join(_title(up, height, medium))
            self._write(title, (aside, height / 2), ("center", "bottom"), "ink", medium.text, **turned)
            return
        self.axes.set_ylim(len(up) - 0.5, -0.5)
        self.axes.set_yticks([])
        for number, row in enumerate(up):
            name, size = _name(self.place.panel, row, medium)
            place = -GAP, height * (1 - (number + 0.5) / len(up))
            gid = f"{row.series}-row{number}" if row.series else None
            self._write(name, place, ("right", "center_baseline"), row.color, size, bold=row.bold, gid=gid)

    def _above(self) -> None:
        """The flag and the note."""
        panel, height, size = self.place.panel, self.place.height, self.medium.small
        if panel.flag is not None:
            middle = sum(self.place.flag) / 2 - self.sheet.left, height + 3
            flag: dict[str, Any] = {"bold": True, "gid": "answer-flag"}
            self._write(panel.flag.text, middle, ("center", "bottom"), panel.flag.color, size, **flag)
        if panel.note:
            note = canvas.cut(panel.note, (self.sheet.right - 2 * GAP) / 72, size)
            place = self.sheet.panel_width, height + self.place.note - LINE * size + 1
            self._write(note, place, ("right", "bottom"), "bad", size, gid="goal-note")

    def _write(
        self,
        text: str,
        at: tuple[float, float],
        align: tuple[str, str],
        color: str,
        size: float,
        *,
        bold: bool = False,
        **more: Any,
    ) -> None:
        """Write words at a place in points from the lower left corner of the panel."""
        more |= {"fontsize": size, "color": _color(color), "fontweight": "bold" if bold else "normal"}
        more |= {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
        self.axes.annotate(text, (0, 0), xytext=at, ha=align[0], va=align[1], **more)

    def draw(self, series: Curve | Band | Words | Names | Field, order: float) -> None:
        """Draw a series above those of a lower order."""
        match series:
            case Curve():
                self._curve(series, order)
            case Band():
                self._band(series, order)
            case Words():
                self._words(series)
            case Names():
                canvas.place(self.axes, series.points, size=self.medium.small, color=_color(series.color))
            case Field():
                self._field(series, order)

    def _at(self, x: float, y: float) -> tuple[float, float]:
        """A point with finite coordinates, and none below an axis by decades."""
        up = self.place.panel.up
        low, high = (up.low, up.high) if isinstance(up, Axis) else (-0.5, len(up) - 0.5)
        if isinstance(up, Axis) and up.by_decades:
            y = max(y, low)
        across = self.place.across
        x = x if isfinite(x) else across.low if x < 0 else across.high
        return x, y if isfinite(y) else low if y < 0 else high

    def _curve(self, curve: Curve, order: float) -> None:
        points = [self._at(*point) for point in curve.points]
        (left, right), (low, high) = sorted(self.axes.get_xlim()), sorted(self.axes.get_ylim())
        # A marker at the edge of a panel is seen as a whole.
        clipped = curve.look.line != "none" or any(not (left <= x <= right and low <= y <= high) for x, y in points)
        style = _style(curve.look, self.medium.ink)
        self.axes.plot(*(zip(*points, strict=True) if points else ([], [])), **style, zorder=order, clip_on=clipped)

    def _band(self, band: Band, order: float) -> None:
        upper = [self._at(x, high) for x, _, high in band.points]
        lower = [self._at(x, low) for x, low, _ in reversed(band.points)]
        color, around = _color(band.color), zip(*upper, *lower, strict=True)
        if len(upper) == 1:
            bar: dict[str, Any] = {"linewidth": 5, "solid_capstyle": "butt", "alpha": 1.5 * band.opacity}
            self.axes.plot(*around, color=color, zorder=order, **bar)
        else:
            self.axes.fill(*around, color=color, alpha=band.opacity, linewidth=0, zorder=order)

    def _words(self, words: Words) -> None:
        size, room = self.medium.small, self.sheet.panel_width
        low, high = (self.place.across(self._at(end, words.up)[0]) * room for end in (words.low, words.high))
        up = self.place.panel.up
        share = up(words.up) if isinstance(up, Axis) else 1 - (words.up + 0.5) / len(up)
        y, align = share * self.place.height, "center_baseline"
        before, after = low - 2 * GAP, room - high - 2 * GAP
        width = 72 * canvas.width_of(words.text, size, bold=words.bold)
        x, side, most = (high + 1.6 * GAP, "left", after) if after >= before else (low - 1.6 * GAP, "right", before)
        if words.above:
            fits = self.place.height - y > LINE * size + 3
            x, side, most, y, align = high - 3, "right", high, y + (3 if fits else -3), "bottom" if fits else "top"
        elif max(before, after) < width < high - low:
            x, side, most = (low + high) / 2, "center", width
        text = canvas.cut(words.text, most / 72, size, bold=words.bold)
        self._write(text, (x, y), (side, align), words.color, size, bold=words.bold, bbox=_PAPER, zorder=4)

    def _field(self, field: Field, order: float) -> None:
        x, y, values = (np.asarray(each) for each in zip(*field.points, strict=True))
        drawn: Any = Triangulation(x, y, Triangulation(*np.asarray(field.neighbors).T).triangles)
        colors = [_color(each) for each in field.colors]
        self.axes.tricontourf(drawn, values, levels=list(field.levels), colors=colors, alpha=0.16, zorder=order)
        if values.min() < 0 < values.max():
            self.axes.tricontour(drawn, values, levels=[0.0], colors=COLORS["ink"], linewidths=1.4, zorder=order)


# Looks -----------------------------------------------------------------------------------------------------------


def _color(name: str) -> str:
    return COLORS.get(name, name)


def _style(look: Look, ink: float = 1.0) -> dict[str, Any]:
    """The keyword arguments of Matplotlib for a look; `ink` scales lines and markers."""
    color = _color(look.color)
    return {
        "color": color,
        "linestyle": _DASHES[look.line],
        "linewidth": ink * look.width,
        "marker": look.marker or "none",
        "markersize": ink * look.size,
        "markerfacecolor": COLORS["card"] if look.hollow else color,
        "markeredgewidth": ink * look.edge,
        "alpha": None if look.opacity == 1.0 else look.opacity,
        "solid_capstyle": "butt",
    }


def _handle(key: Key) -> Line2D | Patch:
    """An entry of the legend: an area, a look, or words alone."""
    if key.area:
        return Patch(color=_color(key.area), alpha=key.opacity, label=key.text)
    return Line2D([], [], **(_style(key.look) if key.look is not None else {"linestyle": "none"}), label=key.text)
