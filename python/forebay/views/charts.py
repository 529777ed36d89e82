"""Charts as SVG text: readable without a script, at two widths, with hooks for one that adds hovering and toggles.

Each series is a group of class `s-NAME`, so that a page can hide it; each measured point is a circle of class `pt` with
its buffer in `data-buffer` and what to say of it in `data-tip`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

__all__ = [
    "Axis",
    "Dot",
    "GoalLine",
    "Meeting",
    "MetricChart",
    "Point",
    "RuleStrip",
    "Size",
    "TradeChart",
    "plain",
    "spans_decades",
]


@dataclass(frozen=True, slots=True)
class Size:
    """Room of a chart in CSS pixels at its natural size.

    Attributes
    ----------
    name : str
        Class of the SVG element; a style sheet shows the one that fits the screen.
    width, height : float
        Of the whole picture.
    left, right, top, bottom : float
        Margins around the plotting area.
    """

    name: str
    width: float
    height: float
    left: float
    right: float = 12
    top: float = 14
    bottom: float = 52


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps values to pixels, linearly or by decades.

    Attributes
    ----------
    low, high : float
        Values at the two ends; above 0 where `by_decades`.
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

    def __call__(self, value: float) -> float:
        """Pixel of a value, kept at the ends."""
        value = min(max(value, self.low), self.high)
        if self.by_decades:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int) -> list[float]:
        """At most about so many round values."""
        return _decade_ticks(self.low, self.high, most) if self.by_decades else _even_ticks(self.low, self.high, most)


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
    """Whether the positive ones of the values want a logarithmic axis: they differ by more than thirty times."""
    positive = [value for value in values if value > 0]
    return bool(positive) and max(positive) / min(positive) > 30


def plain(number: float) -> str:
    """A tick's number, without powers of ten for as long as that is readable."""
    if number and not 1e-4 <= abs(number) < 1e7:
        return f"{number:.0e}".replace("e+0", "e").replace("e-0", "e-")
    return f"{number:,.10g}"


@dataclass(frozen=True, slots=True)
class Point:
    """One measured buffer: its mean and interval in the axis's unit, and what hovering says."""

    buffer: float
    mean: float
    half_width: float
    tip: str


@dataclass(frozen=True, slots=True)
class GoalLine:
    """A threshold in the axis's unit; `at_least` says on which side the goal is met."""

    threshold: float
    at_least: bool
    text: str


@dataclass(frozen=True, slots=True)
class Dot:
    """One rule in the strip: its buffer, whether it applies, and what hovering says."""

    name: str
    buffer: float
    kind: str
    tip: str


@dataclass(frozen=True, slots=True)
class MetricChart:
    """A metric against the buffer.

    Attributes
    ----------
    title : str
        Of the vertical axis, with its unit.
    points : sequence of Point
        In rising order of the buffer, at least one.
    goals : sequence of GoalLine
        Thresholds on this metric.
    marks : sequence of (float, bool)
        Buffers of rules, and whether they apply.
    answer : tuple of (float, str) or None
        The recommended buffer and what to call it.
    milliseconds_per_packet : float
        For the second row of numbers below the horizontal axis.
    limits : tuple of (float, float) or None
        Ends of the vertical axis; from the points by default.
    """

    title: str
    points: Sequence[Point]
    goals: Sequence[GoalLine] = ()
    marks: Sequence[tuple[float, bool]] = ()
    answer: tuple[float, str] | None = None
    milliseconds_per_packet: float = 0.0
    limits: tuple[float, float] | None = None

    def svg(self, size: Size, label: str) -> str:
        """Draw it; `label` is what a screen reader says."""
        horizontal = _buffers(size, [point.buffer for point in self.points])
        vertical = self._vertical(size)
        parts = [
            *_frame(size, horizontal, self.milliseconds_per_packet),
            *_vertical_axis(size, vertical, self.title),
            *self._goals(size, vertical),
            *_marks(size, horizontal, self.marks),
            *_answer(size, horizontal, self.answer, self._name_height(size, vertical)),
        ]
        where = [(horizontal(point.buffer), point) for point in self.points]
        upper = " ".join(f"{x:.1f},{vertical(p.mean + p.half_width):.1f}" for x, p in where)
        lower = " ".join(f"{x:.1f},{vertical(p.mean - p.half_width):.1f}" for x, p in reversed(where))
        through = " ".join(f"{x:.1f},{vertical(p.mean):.1f}" for x, p in where)
        parts.append(f'<g class="s-band"><polygon points="{upper} {lower}"/></g>')
        parts.append(f'<g class="s-mean"><polyline points="{through}"/>')
        parts += [_circle(x, vertical(p.mean), 2.6, p.buffer, p.tip) for x, p in where]
        parts.append("</g>")
        return _document(size, label, parts)

    def _name_height(self, size: Size, vertical: Axis) -> float:
        """Where the answer's name does not hide the curve: at the bottom, or at the top where the curve is low."""
        bottom = size.height - size.bottom - 7
        if self.answer is None:
            return bottom
        answer = self.answer[0]
        near = min(self.points, key=lambda point: abs(math.log(point.buffer / answer)))
        return size.top + 11 if vertical(near.mean) > (vertical.start + vertical.end) / 2 else bottom

    def _vertical(self, size: Size) -> Axis:
        pixels = (size.height - size.bottom, size.top)
        if self.limits is not None:
            return Axis(*self.limits, *pixels, by_decades=False)
        shown = [p.mean for p in self.points] + [goal.threshold for goal in self.goals]
        if spans_decades(shown):
            positive = [value for value in shown if value > 0]
            return Axis(min(positive) / 1.6, max(positive) * 1.6, *pixels, by_decades=True)
        low = min(0.0, *shown)
        high = max([*shown, *(p.mean + p.half_width for p in self.points)])
        return Axis(low, high + 0.08 * (high - low) if high > low else low + 1, *pixels, by_decades=False)

    def _goals(self, size: Size, vertical: Axis) -> list[str]:
        parts = ['<g class="s-goal">']
        left, right = size.left, size.width - size.right
        for goal in self.goals:
            y = vertical(goal.threshold)
            # Named at the end from which the curve keeps away.
            first, last = (abs(vertical(point.mean) - y) for point in (self.points[0], self.points[-1]))
            at, anchor = (left + 4, "start") if first > last else (right - 3, "end")
            top, bottom = (y, vertical.start) if goal.at_least else (vertical.end, y)
            parts.append(
                f'<rect x="{left}" y="{top:.1f}" width="{right - left:.1f}" height="{max(0.0, bottom - top):.1f}"/>'
                f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
                f'<text x="{at:.1f}" y="{y - 4:.1f}" text-anchor="{anchor}">{escape(goal.text)}</text>'
            )
        return [*parts, "</g>"]


@dataclass(frozen=True, slots=True)
class RuleStrip:
    """What each rule asks for: a row each, on the same horizontal axis as the metrics.

    Attributes
    ----------
    dots : sequence of Dot
        In the order of the rows; `kind` is "rule", "norule" (its assumptions fail) or "also".
    buffers : sequence of float
        Range of the horizontal axis.
    answer, milliseconds_per_packet
        As in `MetricChart`.
    """

    dots: Sequence[Dot]
    buffers: Sequence[float]
    answer: tuple[float, str] | None = None
    milliseconds_per_packet: float = 0.0
    row: float = field(default=19.0)

    def size(self, width: Size) -> Size:
        """The room it needs at the width of another chart."""
        return Size(
            width.name,
            width.width,
            width.top + self.row * len(self.dots) + width.bottom,
            max(width.left, 8 + 6.6 * max((len(dot.name) for dot in self.dots), default=0)),
            width.right,
            width.top,
            width.bottom,
        )

    def svg(self, size: Size, label: str) -> str:
        """Draw it; `label` is what a screen reader says."""
        horizontal = _buffers(size, self.buffers)
        parts = [
            *_frame(size, horizontal, self.milliseconds_per_packet),
            *_answer(size, horizontal, self.answer, None),
        ]
        for index, dot in enumerate(self.dots):
            y = size.top + self.row * (index + 0.5)
            x = horizontal(dot.buffer)
            beyond = dot.buffer > horizontal.high * (1 + 1e-9)
            parts.append(
                f'<g class="s-{dot.kind}"><line class="stem" x1="{size.left}" x2="{x:.1f}" y1="{y}" y2="{y}"/>'
                f'<text x="{size.left - 8}" y="{y + 4}" text-anchor="end">{escape(dot.name)}</text>'
            )
            if beyond:
                parts.append(
                    f'<text x="{x - 8:.1f}" y="{y + 4}" text-anchor="end">{plain(dot.buffer)} →</text>'
                    + _circle(x, y, 0.1, dot.buffer, dot.tip)
                )
            else:
                parts.append(_circle(x, y, 5, dot.buffer, dot.tip))
            parts.append("</g>")
        return _document(size, label, parts)


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where two metrics meet at one buffer, each in its axis's unit.

    `kind`: "front" (no buffer is better in both), "mean" (another measured buffer), "answer", or a rule's as in `Dot`.
    """

    buffer: float
    x: float
    y: float
    kind: str
    tip: str


#: Kinds of meetings from the lowest to the topmost.
DRAWN = ("mean", "front", "norule", "rule", "answer")


@dataclass(frozen=True, slots=True)
class TradeChart:
    """One metric against another.

    Attributes
    ----------
    across, up : str
        Titles of the axes, with their units.
    points : sequence of Meeting
        At least one.
    """

    across: str
    up: str
    points: Sequence[Meeting]

    def svg(self, size: Size, label: str) -> str:
        """Draw it; `label` is what a screen reader says."""
        horizontal = _spread([p.x for p in self.points], size.left, size.width - size.right)
        vertical = _spread([p.y for p in self.points], size.height - size.bottom, size.top)
        parts = [
            *_horizontal_axis(size, horizontal, escape(self.across)),
            *_vertical_axis(size, vertical, self.up),
        ]
        ordered = sorted(self.points, key=lambda point: (point.x, point.y))
        through = " ".join(f"{horizontal(p.x):.1f},{vertical(p.y):.1f}" for p in ordered if p.kind == "front")
        named: list[str] = []
        for kind in sorted({point.kind for point in ordered}, key=DRAWN.index):
            parts.append(f'<g class="s-{kind}">')
            if kind == "front":
                parts.append(f'<polyline points="{through}"/>')
            mine = [(horizontal(p.x), vertical(p.y), p) for p in ordered if p.kind == kind]
            parts += [_circle(x, y, 3.2 if kind == "front" else 4.2, p.buffer, p.tip) for x, y, p in mine]
            if kind == "front":
                named = ['<g class="s-front">', *_named(mine, size), "</g>"]
            parts.append("</g>")
        return _document(size, label, [*parts, *named])


def _named(points: Iterable[tuple[float, float, Meeting]], size: Size) -> list[str]:
    """The buffers of points, where there is room for the words."""
    parts = []
    last = (-1e9, -1e9)
    for x, y, point in points:
        if abs(x - last[0]) < 38 and abs(y - last[1]) < 13:
            continue
        last = (x, y)
        before = x > size.width - size.right - 40
        parts.append(
            f'<text x="{x + (-6 if before else 6):.1f}" y="{y + 13:.1f}" '
            f'text-anchor="{"end" if before else "start"}">{plain(point.buffer)}p</text>'
        )
    return parts


def _spread(values: Sequence[float], start: float, end: float) -> Axis:
    """An axis that the values fill, by decades where they span decades."""
    if spans_decades(values):
        positive = [value for value in values if value > 0]
        return Axis(min(positive) / 1.3, max(positive) * 1.3, start, end, by_decades=True)
    low, high = min(values), max(values)
    room = 0.08 * (high - low) if high > low else max(abs(high), 1.0)
    return Axis(low - room, high + room, start, end, by_decades=False)


def _document(size: Size, label: str, parts: Iterable[str]) -> str:
    return (
        f'<svg class="{size.name}" viewBox="0 0 {size.width:g} {size.height:g}" role="img" tabindex="0" '
        f'aria-label="{escape(label)}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _buffers(size: Size, buffers: Sequence[float]) -> Axis:
    low, high = min(buffers), max(buffers)
    if high <= low:
        low, high = low / 2, high * 2
    return Axis(low, high, size.left, size.width - size.right, by_decades=True)


def _circle(x: float, y: float, radius: float, buffer: float, tip: str) -> str:
    return (
        f'<circle class="pt" cx="{x:.1f}" cy="{y:.1f}" r="{radius}" data-buffer="{buffer:g}" '
        f'data-tip="{escape(tip)}"><title>{escape(tip)}</title></circle>'
    )


def _frame(size: Size, horizontal: Axis, milliseconds_per_packet: float) -> list[str]:
    """Horizontal axis: packets, below them the time that so many take."""
    if milliseconds_per_packet <= 0:
        return _horizontal_axis(size, horizontal, "buffer (packets)")
    title = 'buffer (packets), <tspan class="second">below: ms at the link rate</tspan>'
    return _horizontal_axis(size, horizontal, title, lambda tick: _three(tick * milliseconds_per_packet))


def _horizontal_axis(
    size: Size, horizontal: Axis, title: str, below: Callable[[float], str] | None = None
) -> list[str]:
    """Ticks with grid lines upwards, a second row of numbers where one is asked for, the title (markup)."""
    bottom = size.height - size.bottom
    parts = ['<g class="axis">']
    for tick in horizontal.ticks(max(4, round((horizontal.end - horizontal.start) / 62))):
        x = horizontal(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{size.top}" y2="{bottom}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{plain(tick)}</text>')
        if below is not None:
            text = f'<text class="second" x="{x:.1f}" y="{bottom + 28}" text-anchor="middle">{below(tick)}</text>'
            parts.append(text)
    middle = (horizontal.start + horizontal.end) / 2
    parts.append(
        f'<line class="edge" x1="{size.left}" x2="{horizontal.end}" y1="{bottom}" y2="{bottom}"/>'
        f'<text class="title" x="{middle:.1f}" y="{size.height - 6}" text-anchor="middle">'
        f"{title}</text></g>"
    )
    return parts


def _three(number: float) -> str:
    return plain(float(f"{number:.2g}"))


def _vertical_axis(size: Size, vertical: Axis, title: str) -> list[str]:
    right = size.width - size.right
    parts = ['<g class="axis">']
    for tick in vertical.ticks(6):
        y = vertical(tick)
        parts.append(f'<line class="grid" x1="{size.left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{size.left - 5}" y="{y + 4:.1f}" text-anchor="end">{plain(tick)}</text>')
    middle = (vertical.start + vertical.end) / 2
    parts.append(
        f'<text class="title" x="12" y="{middle:.1f}" text-anchor="middle" '
        f'transform="rotate(-90 12 {middle:.1f})">{escape(title)}</text></g>'
    )
    return parts


def _marks(size: Size, horizontal: Axis, marks: Iterable[tuple[float, bool]]) -> list[str]:
    """Thin lines at the rules' buffers, those that apply solid."""
    parts = []
    for buffer, applies in sorted(set(marks)):
        if horizontal.low <= buffer <= horizontal.high:
            x = horizontal(buffer)
            parts.append(
                f'<g class="s-{"rule" if applies else "norule"}"><line class="mark" x1="{x:.1f}" x2="{x:.1f}" '
                f'y1="{size.top}" y2="{size.height - size.bottom}"/></g>'
            )
    return parts


def _answer(size: Size, horizontal: Axis, answer: tuple[float, str] | None, name_at: float | None) -> list[str]:
    """The line of the answer through the chart, with its name at a height where one is given."""
    if answer is None:
        return []
    x = horizontal(answer[0])
    name = ""
    if name_at is not None:
        # On the side with more room.
        before = x - horizontal.start > horizontal.end - x
        name = (
            f'<text x="{x + (-5 if before else 5):.1f}" y="{name_at:.1f}" '
            f'text-anchor="{"end" if before else "start"}">{escape(answer[1])}</text>'
        )
    return [
        f'<g class="s-answer"><line x1="{x:.1f}" x2="{x:.1f}" y1="{size.top}" y2="{size.height - size.bottom}"/>'
        f"{name}</g>"
    ]
