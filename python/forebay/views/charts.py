"""Charts of what was measured at each buffer: from values in their units to shapes in pixels, at any size.

Each series is a group of its own, so that a page can hide it; each measured point is a marker with its buffer and with
what to say of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from forebay.views.labels import Label, Spot, cut, placed, width
from forebay.views.scales import Axis, plain, spans_decades
from forebay.views.shapes import (
    Across,
    Area,
    Curve,
    Drawing,
    Line,
    Marker,
    Place,
    Region,
    Series,
    Shape,
    Size,
    Text,
    Tick,
    Up,
)

__all__ = [
    "Chart",
    "Dot",
    "GoalLine",
    "Horizontal",
    "Meeting",
    "MetricChart",
    "Named",
    "Phase",
    "Point",
    "RuleStrip",
    "TradeChart",
    "neighboring",
    "ticks_across",
    "upright",
]


#: Width of the interval of a point without neighbors.
BAR = 5.0


@dataclass(frozen=True, slots=True)
class Point:
    """One measured buffer: its mean and interval in the axis's unit, if there is one, and what hovering says."""

    buffer: float
    mean: float
    half_width: float | None
    tip: str = ""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its lower and its upper end."""
        return None if self.half_width is None else (self.mean - self.half_width, self.mean + self.half_width)


def neighboring(points: Iterable[Point]) -> list[list[Point]]:
    """Those with intervals, each list without one in between that has none."""
    return [list(group) for known, group in groupby(points, lambda p: p.half_width is not None) if known]


@dataclass(frozen=True, slots=True)
class GoalLine:
    """A threshold in the axis's unit; `at_least` says on which side the goal is met."""

    threshold: float
    at_least: bool
    text: str


@dataclass(frozen=True, slots=True)
class Phase:
    """What a metric is in one phase of a link: for each number its median and its 99th percentile there."""

    kind: str
    text: str
    places: Sequence[tuple[float, float, float]]


@dataclass(frozen=True, slots=True)
class Dot:
    """One rule in the strip: its buffer, the name of its series, and what hovering says."""

    name: str
    buffer: float
    kind: str
    tip: str


@dataclass(frozen=True, slots=True)
class Named:
    """A buffer that stands out, and what to call it."""

    buffer: float
    text: str


@dataclass(frozen=True, slots=True)
class Horizontal:
    """What is varied: the axis's title, milliseconds per packet for a second row of numbers, whether by decades."""

    title: str = "buffer (packets)"
    milliseconds_per_packet: float = 0.0
    by_decades: bool = True


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
    marks : sequence of (float, str)
        Buffers of rules, and the series that each belongs to: "rule", or "norule" where its assumptions fail.
    answer : Named or None
        The recommended buffer.
    across : Horizontal
        The axis of what is varied.
    limits : tuple of (float, float) or None
        Ends of the vertical axis; from the points by default.
    phases : sequence of Phase
        The metric in each phase of a link that has such.
    """

    title: str
    points: Sequence[Point]
    goals: Sequence[GoalLine] = ()
    marks: Sequence[tuple[float, str]] = ()
    answer: Named | None = None
    across: Horizontal = Horizontal()
    limits: tuple[float, float] | None = None
    phases: Sequence[Phase] = ()

    def drawing(self, size: Size, label: str) -> Drawing:
        """Draw it; `label` is what a screen reader says."""
        horizontal = _varied(size, [point.buffer for point in self.points], self.across)
        vertical = self.vertical(size.lowest, size.top)
        curve = [(horizontal(point.buffer), vertical(point.mean)) for point in self.points]
        labels = [] if self.answer is None else [self._answer_label(size, horizontal, vertical, self.answer)]
        labels += [self._goal_label(size, vertical, goal) for goal in self.goals]
        names = placed(labels, size, curve)
        of_answer, of_goals = (names[:1], names[1:]) if self.answer is not None else ([], names)
        series = (
            *(Series(phase.kind, (_between(phase, horizontal, vertical),)) for phase in self.phases),
            Series("goal", (*self._goals(size, vertical), *of_goals)),
            *_marks(size, horizontal, self.marks),
            *_answer(size, horizontal, self.answer, of_answer),
            *self._curve(horizontal, vertical),
        )
        across = _across(size, horizontal, self.across)
        return Drawing(size, label, across, upright(size, vertical, self.title), series)

    def _curve(self, horizontal: Axis, vertical: Axis) -> Iterable[Series]:
        where = [(horizontal(point.buffer), point) for point in self.points]
        means = tuple((x, vertical(p.mean)) for x, p in where)
        areas = [_area(group, horizontal, vertical) for group in neighboring(self.points)]
        if areas:
            yield Series("band", tuple(areas))
        dots = [_marker(place, 2.6, point) for place, point in zip(means, self.points, strict=True)]
        yield Series("mean", (Curve(means), *dots))

    def _answer_label(self, size: Size, horizontal: Axis, vertical: Axis, answer: Named) -> Label:
        """The answer's name beside its line: at the bottom, or at the top where the curve is low there."""
        near = min(self.points, key=lambda point: abs(horizontal(point.buffer) - horizontal(answer.buffer)))
        heights = [size.lowest - 7, size.top + 11, (size.top + size.lowest) / 2]
        if vertical(near.mean) > vertical.middle:
            heights = [heights[1], heights[0], heights[2]]
        x = horizontal(answer.buffer)
        sides = [Spot(x - 5, 0, "end"), Spot(x + 5, 0, "start")]
        # First on the side with more room.
        if x - horizontal.start <= horizontal.end - x:
            sides.reverse()
        sides += [Spot(size.rightmost - 3, 0, "end"), Spot(size.left + 4, 0, "start")]
        return Label(answer.text, tuple(Spot(side.x, y, side.anchor) for side in sides for y in heights), bold=True)

    def vertical(self, start: float, end: float) -> Axis:
        """The vertical axis between two places: every mean and every goal lies on it, clear of its upper end."""
        if self.limits is not None:
            return Axis(*self.limits, start, end, by_decades=False)
        shown = [p.mean for p in self.points] + [goal.threshold for goal in self.goals]
        shown += [high for phase in self.phases for _, _, high in phase.places]
        if spans_decades(shown):
            positive = [value for value in shown if value > 0]
            return Axis(min(positive) / 1.6, max(positive) * 1.6, start, end, by_decades=True)
        low = min(0.0, *shown)
        high = max([*shown, *(p.mean + (p.half_width or 0.0) for p in self.points)])
        return Axis(low, high + 0.08 * (high - low) if high > low else low + 1, start, end, by_decades=False)

    def _goals(self, size: Size, vertical: Axis) -> Iterable[Shape]:
        left, right = size.left, size.rightmost
        for goal in self.goals:
            y = vertical(goal.threshold)
            top, bottom = (y, vertical.start) if goal.at_least else (vertical.end, y)
            yield Region((left, top), right - left, max(0.0, bottom - top))
            yield Line((left, y), (right, y))

    def _goal_label(self, size: Size, vertical: Axis, goal: GoalLine) -> Label:
        """A goal's name at its line: first at the end from which the curve keeps away, above the line."""
        y = vertical(goal.threshold)
        first, last = (abs(vertical(point.mean) - y) for point in (self.points[0], self.points[-1]))
        ends = [Spot(size.left + 4, 0, "start"), Spot(size.rightmost - 3, 0, "end")]
        if first <= last:
            ends.reverse()
        heights = [y + step for far in range(6) for step in (-4 - 13 * far, 12 + 13 * far)]
        return Label(goal.text, tuple(Spot(end.x, height, end.anchor) for height in heights for end in ends))


@dataclass(frozen=True, slots=True)
class RuleStrip:
    """What each rule asks for: a row each, on the same horizontal axis as the metrics.

    Attributes
    ----------
    dots : sequence of Dot
        In the order of the rows; `kind` is "rule", "norule" (its assumptions fail) or "also".
    buffers : sequence of float
        Range of the horizontal axis.
    answer, across
        As in `MetricChart`.
    """

    dots: Sequence[Dot]
    buffers: Sequence[float]
    answer: Named | None = None
    across: Horizontal = Horizontal()
    row: float = field(default=19.0)

    def size(self, width: Size) -> Size:
        """The room it needs at the width of another chart."""
        return Size(
            width.name,
            width.width,
            width.top + self.row * len(self.dots) + width.bottom,
            min(0.5 * width.width, max(width.left, 8 + 6.6 * max((len(dot.name) for dot in self.dots), default=0))),
            width.right,
            width.top,
            width.bottom,
        )

    def drawing(self, size: Size, label: str) -> Drawing:
        """Draw it; `label` is what a screen reader says."""
        horizontal = _varied(size, self.buffers, self.across)
        rows = [
            Series(dot.kind, tuple(self._row(size, horizontal, dot, size.top + self.row * (index + 0.5))))
            for index, dot in enumerate(self.dots)
        ]
        series = (*_answer(size, horizontal, self.answer, ()), *rows)
        return Drawing(size, label, _across(size, horizontal, self.across), None, series)

    def _row(self, size: Size, horizontal: Axis, dot: Dot, y: float) -> Iterable[Shape]:
        x = horizontal(dot.buffer)
        yield Line((size.left, y), (x, y), "stem")
        yield Text((size.left - 8, y + 4), cut(dot.name, size.left - 8), "end")
        if dot.buffer > horizontal.high * (1 + 1e-9):
            yield Text((x - 8, y + 4), f"{plain(dot.buffer)} →", "end")
            yield _marker((x, y), 0.1, dot)
        else:
            yield _marker((x, y), 5, dot)


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
    name: str = ""


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

    def drawing(self, size: Size, label: str) -> Drawing:
        """Draw it; `label` is what a screen reader says."""
        horizontal = Axis.filled([p.x for p in self.points], size.left, size.rightmost)
        vertical = Axis.filled([p.y for p in self.points], size.lowest, size.top)
        placed = [
            ((horizontal(point.x), vertical(point.y)), point)
            for point in sorted(self.points, key=lambda point: (point.x, point.y))
        ]
        series = []
        for kind in sorted({point.kind for point in self.points}, key=DRAWN.index):
            mine = [(place, point) for place, point in placed if point.kind == kind]
            dots = [_marker(place, 3.2 if kind == "front" else 4.2, point) for place, point in mine]
            through = [Curve(tuple(place for place, _ in mine))] if kind == "front" else []
            series.append(Series(kind, (*through, *dots)))
        front = [(place, point) for place, point in placed if point.kind == "front"]
        if front:
            # Above everything else.
            series.append(Series("front", tuple(_names(front, size))))
        across = Across(self.across, horizontal.middle, ticks_across(horizontal))
        return Drawing(size, label, across, upright(size, vertical, self.up), tuple(series))


Chart = MetricChart | RuleStrip | TradeChart


def _names(points: Iterable[tuple[Place, Meeting]], size: Size) -> Iterable[Shape]:
    """The buffers of points, where there is room for the words."""
    last = (-1e9, -1e9)
    for (x, y), point in points:
        if abs(x - last[0]) < 38 and abs(y - last[1]) < 13:
            continue
        last = (x, y)
        words = f"{plain(point.buffer)}p"
        yield Text((x - 6, y + 13), words, "end") if x > size.rightmost - 40 else Text((x + 6, y + 13), words, "start")


def _varied(size: Size, buffers: Sequence[float], across: Horizontal) -> Axis:
    low, high = min(buffers), max(buffers)
    if high <= low:
        low, high = low / 2, high * 2
    return Axis(low, high, size.left, size.rightmost, by_decades=across.by_decades)


def _between(phase: Phase, horizontal: Axis, vertical: Axis) -> Area:
    """What lies between a phase's medians and its 99th percentiles."""
    upper = [(horizontal(at), vertical(high)) for at, _, high in phase.places]
    # Nothing is below an axis by decades.
    least = vertical.low if vertical.by_decades else -math.inf
    lower = [(horizontal(at), vertical(max(low, least))) for at, low, _ in reversed(phase.places)]
    return Area((*upper, *lower))


def _area(points: Sequence[Point], horizontal: Axis, vertical: Axis) -> Area:
    """The intervals of neighbors as one area, that of a point without neighbors as a bar."""
    ends = [(horizontal(point.buffer), point.interval) for point in points]
    known = [(x, *interval) for x, interval in ends if interval is not None]
    if len(known) == 1:
        (x, low, high), half = known[0], BAR / 2
        known = [(x - half, low, high), (x + half, low, high)]
    upper = [(x, vertical(high)) for x, _, high in known]
    lower = [(x, vertical(low)) for x, low, _ in reversed(known)]
    return Area((*upper, *lower))


def _marker(place: Place, radius: float, shown: Point | Dot | Meeting) -> Marker:
    return Marker(place, radius, f"{shown.buffer:g}", shown.tip)


def _across(size: Size, horizontal: Axis, across: Horizontal) -> Across:
    """The axis of what is varied: of buffers packets, below them the time that so many take."""
    per_packet = across.milliseconds_per_packet
    if per_packet <= 0:
        return Across(across.title, horizontal.middle, ticks_across(horizontal))
    below = "ms at the link rate"
    half = 0.5 * width(f"{across.title}, below: {below}")
    # Under the middle of the plot, or as near as it fits into the picture.
    middle = max(half, min(horizontal.middle, size.width - half))
    ticks = ticks_across(horizontal, lambda packets: plain(float(f"{packets * per_packet:.2g}")))
    return Across(across.title, middle, ticks, below)


def ticks_across(horizontal: Axis, below: Callable[[float], str] | None = None) -> tuple[Tick, ...]:
    """As many as have room, with a second row of numbers where one is asked for."""
    ticks = horizontal.ticks(max(4, round((horizontal.end - horizontal.start) / 62)))
    return tuple(Tick(horizontal(tick), plain(tick), None if below is None else below(tick)) for tick in ticks)


def upright(size: Size, vertical: Axis, title: str) -> Up:
    """The vertical axis with its title, as far as there is room for it."""
    # Turned, its length has the height of the plot and what it may reach below it.
    title = cut(title, 2 * min(vertical.middle, size.height - vertical.middle))
    return Up(title, vertical.middle, tuple(Tick(vertical(tick), plain(tick)) for tick in vertical.ticks(6)))


def _marks(size: Size, horizontal: Axis, marks: Iterable[tuple[float, str]]) -> Iterable[Series]:
    """Thin lines at the rules' buffers."""
    for buffer, series in sorted(set(marks), key=lambda mark: (mark[0], mark[1] == "rule")):
        if horizontal.low <= buffer <= horizontal.high:
            x = horizontal(buffer)
            yield Series(series, (Line((x, size.top), (x, size.lowest), "mark"),))


def _answer(size: Size, horizontal: Axis, answer: Named | None, names: Iterable[Text]) -> Iterable[Series]:
    """The line of the answer through the chart, with its name."""
    if answer is None:
        return
    x = horizontal(answer.buffer)
    yield Series("answer", (Line((x, size.top), (x, size.lowest)), *names))
