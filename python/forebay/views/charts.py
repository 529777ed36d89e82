"""Charts of the measured buffers: from values in their units to shapes in pixels, at any size.

Each series is a group of its own, so that a page can hide it. Each measured point is a marker with its buffer and with
the text that hovering shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from forebay.views.decision import Measured, Span
from forebay.views.labels import Label, Spot, cut, placed, width
from forebay.views.scales import Axis, plain, spans_decades
from forebay.views.shapes import (
    Across,
    Area,
    Curve,
    Disc,
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
    "DecisionStrip",
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
    "averaged",
    "neighboring",
    "ticks_across",
    "upright",
]


#: Series of lines at buffers, from the lowest to the topmost.
MARKED = ("norule", "rule", "own")
#: Width of the interval of a point without neighbors.
BAR = 5.0


@dataclass(frozen=True, slots=True)
class Point:
    """One measured buffer, in the axis's unit.

    Attributes
    ----------
    buffer : float
        The buffer.
    mean : float
        Mean over the runs.
    half_width : float or None
        Half width of its interval.
    tip : str
        Text shown on hovering.
    runs : sequence of float
        Single runs, if they are known.
    averaged : bool
        Whether the mean is over several runs, or exact, and not itself a single run.
    few : bool
        Whether the point has so few runs that its interval is drawn alone.
    """

    buffer: float
    mean: float
    half_width: float | None
    tip: str = ""
    runs: Sequence[float] = ()
    averaged: bool = True
    few: bool = False

    @property
    def interval(self) -> tuple[float, float] | None:
        """The lower and the upper end of the interval."""
        return None if self.half_width is None else (self.mean - self.half_width, self.mean + self.half_width)


def neighboring(points: Iterable[Point]) -> list[list[Point]]:
    """The points with intervals, split at points that have none; a point of few runs is a list of its own."""
    found: list[list[Point]] = []
    for known, group in groupby(points, lambda p: None if p.half_width is None else "few" if p.few else "several"):
        together = list(group)
        if known == "several":
            found.append(together)
        elif known == "few":
            found += [[point] for point in together]
    return found


def averaged(points: Iterable[Point]) -> list[Point]:
    """The points whose mean is more than a single run."""
    return [point for point in points if point.averaged]


@dataclass(frozen=True, slots=True)
class GoalLine:
    """A threshold in the axis's unit; the goal is met above it if `at_least`, else below it."""

    threshold: float
    at_least: bool
    text: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A metric in one phase of a link: at each number its median and its 99th percentile."""

    kind: str
    text: str
    places: Sequence[tuple[float, float, float]]


@dataclass(frozen=True, slots=True)
class Dot:
    """One rule in the strip: its buffer, the name of its series, and the text shown on hovering."""

    name: str
    buffer: float
    kind: str
    tip: str


@dataclass(frozen=True, slots=True)
class Named:
    """A highlighted buffer and its name."""

    buffer: float
    text: str


@dataclass(frozen=True, slots=True)
class Horizontal:
    """The varied quantity: axis title, milliseconds per packet for a second row of numbers, and whether by decades."""

    title: str = "buffer (packets)"
    milliseconds_per_packet: float = 0.0
    by_decades: bool = True


@dataclass(frozen=True, slots=True)
class MetricChart:
    """A metric against the buffer.

    Attributes
    ----------
    title : str
        Title of the vertical axis, with its unit.
    points : sequence of Point
        Measured points in rising order of the buffer, at least one.
    goals : sequence of GoalLine
        Thresholds on this metric.
    marks : sequence of (float, str)
        Buffers of rules and the configured one, each with its series: "own", "rule", or "norule" where the
        assumptions of a rule fail.
    answer : Named or None
        The recommended buffer.
    across : Horizontal
        The axis of what is varied.
    limits : tuple of (float, float) or None
        Ends of the vertical axis; from the points by default.
    phases : sequence of Phase
        The metric in each phase of a link that has phases.
    between : tuple of (float, float), or None
        The range in which a buffer may meet all goals, if that is undecided.
    """

    title: str
    points: Sequence[Point]
    goals: Sequence[GoalLine] = ()
    marks: Sequence[tuple[float, str]] = ()
    answer: Named | None = None
    across: Horizontal = Horizontal()
    limits: tuple[float, float] | None = None
    phases: Sequence[Phase] = ()
    between: tuple[float, float] | None = None

    def drawing(self, size: Size, label: str) -> Drawing:
        """Draw the chart; `label` is the text for screen readers."""
        buffers = [*(point.buffer for point in self.points), *(self.between or ())]
        horizontal = _varied(size, buffers, self.across)
        vertical = self.vertical(size.lowest, size.top)
        curve = [(horizontal(point.buffer), vertical(point.mean)) for point in self.points]
        labels = [] if self.answer is None else [self._answer_label(size, horizontal, vertical, self.answer)]
        labels += [self._goal_label(size, vertical, goal) for goal in self.goals]
        names = placed(labels, size, curve)
        of_answer, of_goals = (names[:1], names[1:]) if self.answer is not None else ([], names)
        series = (
            *_between_ends(size, horizontal, self.between),
            *(Series(phase.kind, (_between(phase, horizontal, vertical),)) for phase in self.phases),
            Series("goal", (*self._goals(size, vertical), *of_goals)),
            *_marks(size, horizontal, self.marks),
            *_answer(size, horizontal, self.answer, of_answer),
            *self._curve(horizontal, vertical),
        )
        across = _across(size, horizontal, self.across)
        return Drawing(size, label, across, upright(size, vertical, self.title), series)

    def _curve(self, horizontal: Axis, vertical: Axis) -> Iterable[Series]:
        """Bands, then single runs as dots, then the means with a line; no line leads through a single run."""

        def place(point: Point) -> Place:
            return horizontal(point.buffer), vertical(point.mean)

        several = averaged(self.points)
        areas = [_area(group, horizontal, vertical) for group in neighboring(several)]
        if areas:
            yield Series("band", tuple(areas))
        runs: list[Shape] = []
        for point in self.points:
            if point.averaged:
                runs += [Disc((horizontal(point.buffer), vertical(value)), 1.8) for value in point.runs]
            else:
                runs.append(_marker(place(point), 2.4, point))
        if runs:
            yield Series("runs", tuple(runs))
        lines = [Curve(tuple(map(place, several)))] if len(several) > 1 else []
        if several:
            yield Series("mean", (*lines, *(_marker(place(point), 3.2, point) for point in several)))

    def _answer_label(self, size: Size, horizontal: Axis, vertical: Axis, answer: Named) -> Label:
        """The answer's name beside its line: at the bottom, or at the top if the curve is low there."""
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
        shown += [value for point in self.points for value in point.runs]
        shown += [high for phase in self.phases for _, _, high in phase.places]
        if spans_decades(shown):
            positive = [value for value in shown if value > 0]
            return Axis(min(positive) / 1.6, max(positive) * 1.6, start, end, by_decades=True)
        low = min(0.0, *shown)
        most = max(shown)
        # An interval of two runs may be wider than everything else.
        upper = max(p.mean + (p.half_width or 0.0) for p in self.points)
        high = max(most, min(upper, most + 0.5 * (most - low)))
        return Axis(low, high + 0.08 * (high - low) if high > low else low + 1, start, end, by_decades=False)

    def _goals(self, size: Size, vertical: Axis) -> Iterable[Shape]:
        left, right = size.left, size.rightmost
        for goal in self.goals:
            y = vertical(goal.threshold)
            top, bottom = (y, vertical.start) if goal.at_least else (vertical.end, y)
            yield Region((left, top), right - left, max(0.0, bottom - top))
            yield Line((left, y), (right, y))

    def _goal_label(self, size: Size, vertical: Axis, goal: GoalLine) -> Label:
        """A goal's name at its line, first above it at the end that is farther from the curve."""
        y = vertical(goal.threshold)
        first, last = (abs(vertical(point.mean) - y) for point in (self.points[0], self.points[-1]))
        ends = [Spot(size.left + 4, 0, "start"), Spot(size.rightmost - 3, 0, "end")]
        if first <= last:
            ends.reverse()
        heights = [y + step for far in range(6) for step in (-4 - 13 * far, 12 + 13 * far)]
        return Label(goal.text, tuple(Spot(end.x, height, end.anchor) for height in heights for end in ends))


@dataclass(frozen=True, slots=True)
class RuleStrip:
    """The buffer of each rule: a row each, on the same horizontal axis as the metrics.

    Attributes
    ----------
    dots : sequence of Dot
        Rules in the order of the rows; `kind` is "own" (the configured buffer), "rule", "norule" (its assumptions fail)
        or "also" (another requested buffer).
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
        """Draw the chart; `label` is the text for screen readers."""
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
class DecisionStrip:
    """The decision along the axis of the buffer: the answer, the interval of the true one, every measured buffer.

    Attributes
    ----------
    measured : sequence of Measured
        Measured buffers in rising order.
    buffers : sequence of float
        Range of the horizontal axis.
    answer : Named or None
        The recommended buffer, or the nearest miss.
    spans : sequence of (str, Span)
        Ranges of buffers, each with its series: "likely" or "between".
    across : Horizontal
        As in `MetricChart`.
    """

    measured: Sequence[Measured]
    buffers: Sequence[float]
    answer: Named | None = None
    spans: Sequence[tuple[str, Span]] = ()
    across: Horizontal = Horizontal()
    row: float = field(default=22.0)

    @property
    def names(self) -> list[str]:
        """The words before each row."""
        first = [] if self.answer is None else [self.answer.text.partition(": ")[0]]
        last = ["all goals met?"] if self.measured else []
        return [*first, *(span.name for _, span in self.spans), *last]

    def size(self, width: Size) -> Size:
        """The room it needs at the width of another chart."""
        longest = max((len(name) for name in self.names), default=0)
        # The name of the answer is bold.
        left = min(0.5 * width.width, max(width.left, 8 + 7.4 * longest))
        height = width.top + self.row * len(self.names) + width.bottom
        return Size(width.name, width.width, height, left, width.right, width.top, width.bottom)

    def drawing(self, size: Size, label: str) -> Drawing:
        """Draw the chart; `label` is the text for screen readers."""
        horizontal = _varied(size, self.buffers, self.across)
        heights = iter([size.top + self.row * (index + 0.5) for index in range(len(self.names))])
        rows: list[Series] = []
        if self.answer is not None:
            y = next(heights)
            _, _, words = self.answer.text.partition(": ")
            x = horizontal(self.answer.buffer)
            at = Marker((x, y), 6, f"{self.answer.buffer:g}", self.answer.text)
            name = self._name(size, self.names[0], y)
            rows.append(Series("answer", (name, at, _beside(size, (x, x), y, words))))
        for series, span in self.spans:
            y = next(heights)
            ends = horizontal(span.low), horizontal(span.high)
            # A range of one buffer is seen, too.
            start, end = (ends[0] - 2, ends[1] + 2) if ends[1] - ends[0] < 4 else ends
            bar = Region((max(size.left, start), y - 5), min(size.rightmost, end) - max(size.left, start), 10)
            rows.append(Series(series, (self._name(size, span.name, y), bar, _beside(size, ends, y, span.text))))
        if self.measured:
            y = next(heights)
            rows.append(Series("decision", (self._name(size, self.names[-1], y),)))
            # Verdicts of many runs are drawn above those of few runs.
            by_runs = sorted(self.measured, key=lambda each: not each.few)
            rows += [_state(horizontal(each.buffer), y, each) for each in by_runs]
        drawn = (*_answer(size, horizontal, self.answer, ()), *rows)
        return Drawing(size, label, _across(size, horizontal, self.across), None, drawn)

    def _name(self, size: Size, name: str, y: float) -> Text:
        return Text((size.left - 8, y + 4), cut(name, size.left - 8), "end")


def _beside(size: Size, ends: tuple[float, float], y: float, words: str) -> Text:
    """Words to the right of something, or to the left if that has more room; inside if neither side has room."""
    low, high = ends
    room = max(size.rightmost - high, low - size.left) - 10
    if width(words, bold=True) > room and width(words, bold=True) < high - low:
        return Text(((low + high) / 2, y + 4), words, "middle")
    if size.rightmost - high >= low - size.left:
        return Text((high + 10, y + 4), cut(words, size.rightmost - high - 10), "start")
    return Text((low - 10, y + 4), cut(words, low - 10 - size.left), "end")


def _state(x: float, y: float, found: Measured) -> Series:
    """A measured buffer: a disc if it does not miss a goal, a cross if it does; hollow or thin for few runs."""
    few = " few" if found.few else ""
    if found.state != "missed":
        return Series(f"{found.state}{few}", (_marker((x, y), 5, found),))
    arms = (Line((x - 4, y - 4), (x + 4, y + 4)), Line((x - 4, y + 4), (x + 4, y - 4)))
    return Series(f"missed{few}", (*arms, _marker((x, y), 0.1, found)))


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two metrics at one buffer, each in its axis's unit.

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
        """Draw the chart; `label` is the text for screen readers."""
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


Chart = MetricChart | RuleStrip | DecisionStrip | TradeChart


def _names(points: Iterable[tuple[Place, Meeting]], size: Size) -> Iterable[Shape]:
    """The buffers of points, if there is room for the words."""
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
    """The area between a phase's medians and its 99th percentiles."""
    upper = [(horizontal(at), vertical(high)) for at, _, high in phase.places]
    # An axis by decades shows nothing below its lower end.
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


def _between_ends(size: Size, horizontal: Axis, ends: tuple[float, float] | None) -> Iterable[Series]:
    """The range in which a buffer may meet all goals, over the whole height."""
    if ends is not None:
        low, high = map(horizontal, ends)
        yield Series("between", (Region((low, size.top), high - low, size.lowest - size.top),))


def _marker(place: Place, radius: float, shown: Point | Dot | Meeting | Measured) -> Marker:
    return Marker(place, radius, f"{shown.buffer:g}", shown.tip)


def _across(size: Size, horizontal: Axis, across: Horizontal) -> Across:
    """The axis of the varied quantity; for packets, a second row gives the time that they take."""
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
    """As many ticks as have room, with a second row of numbers on request."""
    ticks = horizontal.ticks(max(4, round((horizontal.end - horizontal.start) / 62)))
    return tuple(Tick(horizontal(tick), plain(tick), None if below is None else below(tick)) for tick in ticks)


def upright(size: Size, vertical: Axis, title: str) -> Up:
    """The vertical axis with its title, cut to the available room."""
    # The turned title is centered on the axis and may reach the nearer edge of the picture.
    title = cut(title, 2 * min(vertical.middle, size.height - vertical.middle))
    return Up(title, vertical.middle, tuple(Tick(vertical(tick), plain(tick)) for tick in vertical.ticks(6)))


def _marks(size: Size, horizontal: Axis, marks: Iterable[tuple[float, str]]) -> Iterable[Series]:
    """Thin lines at the buffers of rules and at the configured one, which lies on top."""
    for buffer, series in sorted(set(marks), key=lambda mark: (MARKED.index(mark[1]), mark[0])):
        if horizontal.low <= buffer <= horizontal.high:
            x = horizontal(buffer)
            yield Series(series, (Line((x, size.top), (x, size.lowest), "mark"),))


def _answer(size: Size, horizontal: Axis, answer: Named | None, names: Iterable[Text]) -> Iterable[Series]:
    """The line of the answer through the chart, with its name."""
    if answer is None:
        return
    x = horizontal(answer.buffer)
    yield Series("answer", (Line((x, size.top), (x, size.lowest)), *names))
