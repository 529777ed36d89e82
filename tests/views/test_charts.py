"""Drawings of charts: what stands where, before any of it is SVG."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay import Scenario, recommend
from forebay.views import plots
from forebay.views.charts import (
    Chart,
    DecisionStrip,
    Dot,
    GoalLine,
    Horizontal,
    Meeting,
    MetricChart,
    Named,
    Point,
    RuleStrip,
    TradeChart,
)
from forebay.views.decision import Measured, Span
from forebay.views.recommendation_charts import metric_chart, shown_metrics, trade_chart
from forebay.views.scales import Axis
from forebay.views.shapes import Area, Curve, Disc, Drawing, Line, Marker, Region, Series, Shape, Size, Text
from tests.support.scenarios import SMALL

SIZE = Size("wide", 400, 200, left=50, right=10, top=10, bottom=40)

#: A curve that rises to the right.
POINTS = [Point(packets, 10 * index, 2.0, f"{packets} packets") for index, packets in enumerate((1, 10, 100, 1000))]


def drawn(chart: Chart, size: Size = SIZE) -> Drawing:
    return chart.drawing(size, "label")


def series(drawing: Drawing, name: str) -> list[Series]:
    return [each for each in drawing.series if each.name == name]


def only(kind: type[Shape], found: list[Series]) -> list[Shape]:
    return [shape for each in found for shape in each.shapes if isinstance(shape, kind)]


def places(shape: Shape) -> tuple[tuple[float, float], ...]:
    if isinstance(shape, Line):
        return (shape.start, shape.end)
    if isinstance(shape, Region):
        x, y = shape.corner
        return (shape.corner, (x + shape.width, y + shape.height))
    return shape.places if isinstance(shape, Area | Curve) else (shape.place,)


def test_a_curve_has_a_dot_for_each_buffer_and_a_band_around_it() -> None:
    drawing = drawn(MetricChart("loss (%)", POINTS))
    (curve,) = only(Curve, series(drawing, "mean"))
    dots = only(Marker, series(drawing, "mean"))
    assert curve.places == tuple(dot.place for dot in dots)
    assert [(dot.buffer, dot.tip) for dot in dots] == [(f"{p.buffer}", p.tip) for p in POINTS]
    across = [x for x, _ in curve.places]
    assert across == pytest.approx([50, 50 + 340 / 3, 50 + 680 / 3, 390]), "by decades, from edge to edge"
    heights = [y for _, y in curve.places]
    assert heights == sorted(heights, reverse=True), "up is more"
    (band,) = only(Area, series(drawing, "band"))
    upper, lower = band.places[:4], band.places[:3:-1]
    for mean, above, below in zip(heights[1:], upper[1:], lower[1:], strict=True):
        assert mean - above[1] == pytest.approx(below[1] - mean)
        assert above[1] < mean
    assert lower[0][1] == SIZE.lowest, "an interval that reaches below the axis ends there"


def test_single_runs_are_dots_without_a_line() -> None:
    points = [
        Point(1, 10.0, None, "one run", averaged=False),
        Point(10, 20.0, 30.0, "two runs", [18.0, 22.0], few=True),
        Point(100, 30.0, None, "one run", averaged=False),
        Point(1000, 40.0, 1.0, "three runs", [39.0, 40.0, 41.0]),
    ]
    chart = MetricChart("loss (%)", points)
    drawing = drawn(chart)
    runs, means = series(drawing, "runs"), series(drawing, "mean")
    assert not only(Curve, runs)
    assert [marker.buffer for marker in only(Marker, runs)] == ["1", "100"]
    assert len(only(Disc, runs)) == 5
    (curve,) = only(Curve, means)
    assert [marker.buffer for marker in only(Marker, means)] == ["10", "1000"]
    assert curve.places == tuple(marker.place for marker in only(Marker, means)), "no line leads through a single run"
    assert len(only(Area, series(drawing, "band"))) == 2, "an interval of two runs stands alone"
    assert chart.vertical(0, 1).high < 50 * 1.5, "an interval of two runs does not set the scale"


def test_single_runs_alone_have_no_mean() -> None:
    drawing = drawn(MetricChart("loss (%)", [Point(at, at, None, averaged=False) for at in (1, 10)]))
    assert {each.name for each in drawing.series} & {"mean", "band", "runs"} == {"runs"}


def test_the_decision_lies_along_the_axis() -> None:
    states = [
        Measured(1, "missed", True, "told"),
        Measured(10, "undecided", False, "told"),
        Measured(100, "met", True, "told"),
        Measured(1000, "met", False, "told"),
    ]
    span = Span(50, 100, "80 % interval", "50 to 100 packets")
    strip = DecisionStrip(states, [1, 1000], Named(100, "recommended: 100 packets"), [("likely", span)])
    assert strip.names == ["recommended", "80 % interval", "all goals met?"]
    size = strip.size(SIZE)
    drawing = drawn(strip, size)
    names = [each.name for each in drawing.series]
    assert {"answer", "likely", "missed few", "undecided", "met few", "met"} <= set(names)
    (bar,) = only(Region, series(drawing, "likely"))
    (line,) = only(Line, series(drawing, "answer"))
    assert bar.corner[0] + bar.width == pytest.approx(line.start[0])
    across = {each.name: only(Marker, [each])[0].place[0] for each in drawing.series if each.name in {"met few", "met"}}
    assert across == {"met few": pytest.approx(line.start[0]), "met": size.rightmost}
    assert len(only(Line, series(drawing, "missed few"))) == 2, "a cross"
    words = {text.words for text in only(Text, list(drawing.series))}
    assert {"100 packets", "50 to 100 packets"} <= words
    for text in only(Text, list(drawing.series)):
        assert 0 <= text.place[0] <= size.width


def test_a_strip_without_goals_has_the_answer_alone() -> None:
    strip = DecisionStrip([], [1, 1000], Named(100, "recommended: 100 packets"))
    assert strip.names == ["recommended"]
    assert DecisionStrip([], [1, 1000]).names == []


@pytest.mark.parametrize("at_least", [True, False])
def test_the_side_on_which_a_goal_is_missed_is_shaded(at_least: bool) -> None:
    goal = GoalLine(20.0, at_least, "goal")
    drawing = drawn(MetricChart("loss (%)", POINTS, [goal]))
    (region,) = only(Region, series(drawing, "goal"))
    (line,) = only(Line, series(drawing, "goal"))
    y = line.start[1]
    assert (line.start[0], line.end) == (SIZE.left, (SIZE.rightmost, y))
    top, bottom = region.corner[1], region.corner[1] + region.height
    assert (top, bottom) == pytest.approx((y, SIZE.lowest) if at_least else (SIZE.top, y))
    (name,) = only(Text, series(drawing, "goal"))
    # The curve begins far from 20 and ends near it, or the other way round.
    assert (name.anchor, name.place[0]) == ("start", SIZE.left + 4)
    near_first = drawn(MetricChart("loss (%)", POINTS, [GoalLine(2.0, at_least, "goal")]))
    (name,) = only(Text, series(near_first, "goal"))
    assert (name.anchor, name.place[0]) == ("end", SIZE.rightmost - 3)


def test_the_answer_is_named_where_there_is_room() -> None:
    for packets, side, low in ((1, "start", True), (1000, "end", False)):
        drawing = drawn(MetricChart("loss (%)", POINTS, answer=Named(packets, "answer")))
        (line,), (name,) = (only(kind, series(drawing, "answer")) for kind in (Line, Text))
        assert line.start[0] == line.end[0]
        assert name.anchor == side
        assert (name.place[0] - line.start[0]) * (1 if side == "start" else -1) > 0
        # At the other end of the height than the curve is there.
        assert (name.place[1] < 100) == low
    assert series(drawn(MetricChart("loss (%)", POINTS)), "answer") == []


def test_rules_are_marked_within_the_axis_only() -> None:
    marks = [(0.5, "rule"), (5, "own"), (10, "rule"), (10, "rule"), (100, "norule"), (2000, "norule")]
    drawing = drawn(MetricChart("loss (%)", POINTS, marks=marks))
    names = [each.name for each in drawing.series if each.name in {"own", "rule", "norule"}]
    assert names == ["norule", "rule", "own"], "what stands out lies on top"
    (line,) = only(Line, series(drawing, "rule"))
    assert line.start == pytest.approx((50 + 340 / 3, SIZE.top))
    assert line.end[1] == SIZE.lowest


def test_a_strip_has_a_row_for_each_rule() -> None:
    dots = [Dot("bdp", 10, "rule", "told"), Dot("a rather long name", 5000, "norule", "told"), Dot("5p", 5, "also", "")]
    strip = RuleStrip(dots, [1, 1000])
    size = strip.size(SIZE)
    assert size.lowest - size.top == 3 * strip.row
    assert size.left == 8 + 6.6 * len("a rather long name")
    drawing = drawn(strip, size)
    assert [each.name for each in drawing.series] == ["rule", "norule", "also"]
    heights = [shape.place[1] for shape in only(Marker, list(drawing.series))]
    assert heights == [size.top + strip.row * (row + 0.5) for row in range(3)]
    words = [text.words for text in only(Text, series(drawing, "norule"))]
    assert words == ["a rather long name", "5,000 →"], "beyond the axis"
    sizes = [marker.radius for marker in only(Marker, list(drawing.series))]
    assert sizes[0] == sizes[2] == 5
    assert sizes[1] < 1


def test_packets_have_their_time_below() -> None:
    with_time = drawn(MetricChart("loss (%)", POINTS, across=Horizontal(milliseconds_per_packet=0.12))).across
    assert [(tick.text, tick.below) for tick in with_time.ticks] == [
        ("1", "0.12"),
        ("10", "1.2"),
        ("100", "12"),
        ("1,000", "120"),
    ]
    assert with_time.below is not None
    without = drawn(MetricChart("loss (%)", POINTS)).across
    assert without.below is None
    assert {tick.below for tick in without.ticks} == {None}


def test_a_trade_off_puts_the_answer_on_top_and_the_names_above_all() -> None:
    kinds = ("answer", "front", "front", "mean", "rule", "norule", "front")
    points = [Meeting(10 * (at + 1), 10.0 * at, 50.0 + at * at, kind, "told") for at, kind in enumerate(kinds)]
    drawing = drawn(TradeChart("delay (ms)", "utilization (%)", points))
    assert [each.name for each in drawing.series] == ["mean", "front", "norule", "rule", "answer", "front"]
    (curve,) = only(Curve, list(drawing.series))
    assert [x for x, _ in curve.places] == sorted(x for x, _ in curve.places)
    assert len(curve.places) == 3
    names = [shape for shape in drawing.series[-1].shapes if isinstance(shape, Text)]
    assert [name.words for name in names] == ["20p", "30p", "70p"]
    assert [name.anchor for name in names] == ["start", "start", "end"], "no word leaves the picture"
    assert drawing.up is not None
    assert (drawing.up.title, drawing.across.title) == ("utilization (%)", "delay (ms)")


def test_names_of_a_front_keep_clear_of_each_other() -> None:
    # On 340 x 150 pixels: the second is too near to the first, the third far enough in height, the fourth in width.
    where = [(0.0, 0.0), (10.0, 1.0), (11.0, 20.0), (100.0, 21.0), (200.0, 100.0)]
    points = [Meeting(10 * (at + 1), 100 + x, 100 + y, "front", "told") for at, (x, y) in enumerate(where)]
    drawing = drawn(TradeChart("x", "y", points))
    names = [shape.words for shape in drawing.series[-1].shapes if isinstance(shape, Text)]
    assert names == ["10p", "30p", "40p", "50p"]


def test_everything_lies_within_the_plot() -> None:
    goals = [GoalLine(-5.0, True, "low"), GoalLine(500.0, False, "high")]
    answer = Named(100, "answer")
    meetings = [Meeting(p.buffer, p.mean, p.half_width, "front", p.tip) for p in POINTS]
    strip = RuleStrip([Dot("bdp", 9999, "rule", "told")], [1, 1000])
    for chart, size in (
        (MetricChart("loss (%)", POINTS, goals, [(10, "rule")], answer), SIZE),
        (MetricChart("loss (%)", POINTS, goals, answer=answer, limits=(0.0, 20.0)), SIZE),
        (MetricChart("loss (%)", [Point(5, 0.0, 0.0, "alone")]), SIZE),
        (TradeChart("x", "y", meetings), SIZE),
        (strip, strip.size(SIZE)),
    ):
        shapes = [shape for each in drawn(chart, size).series for shape in each.shapes if not isinstance(shape, Text)]
        assert any(places(shape) for shape in shapes), "something is drawn"
        for shape in shapes:
            for x, y in places(shape):
                assert size.left <= x <= size.rightmost, shape
                assert size.top - 1e-9 <= y <= size.lowest + 1e-9, shape


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [1.0, 100.0], [0.0, 1.0, 1000.0], [5.0], [0.0], [-3.0, -1.0]])
def test_an_axis_is_filled_with_room_at_both_ends(values: list[float]) -> None:
    axis = Axis.filled(values, 0, 100)
    shown = [value for value in values if value > 0] if axis.by_decades else values
    ends = axis(min(shown)), axis(max(shown))
    assert 0 < ends[0] <= ends[1] < 100
    assert ends[0] == pytest.approx(100 - ends[1]), "as much at the one as at the other"
    assert axis.by_decades == (len(values) > 1 and max(values) >= 100)
    if len(values) > 1:
        assert ends[1] - ends[0] > 75


def test_a_picture_and_a_report_show_the_same(tmp_path: Path) -> None:
    answer = recommend(Scenario.parse(SMALL), pareto="utilization,queue_delay_p99")
    charts = [metric_chart(answer, name) for name in shown_metrics(answer)]
    picture = plots.draw_recommendation(answer)
    for axis, chart in zip(picture.axes, charts, strict=True):
        assert axis.get_ylabel() == chart.title
        curve = next(line for line in axis.lines if line.get_marker() == "o")
        several = [point for point in chart.points if point.averaged]
        assert [tuple(at) for at in curve.get_xydata()] == [(point.buffer, point.mean) for point in several]
        (dots,) = (line for line in axis.lines if line.get_marker() == ".")
        assert dots.get_linestyle() == "None"
        single = {(point.buffer, point.mean) for point in chart.points if not point.averaged}
        assert single <= {tuple(at) for at in dots.get_xydata()}
        assert single
        goals = [
            line.get_ydata()[0]
            for line in axis.lines
            if line.get_linestyle() == "--" and line.get_color() == plots.GOAL
        ]
        assert goals == [goal.threshold for goal in chart.goals]
    assert [goal.threshold for chart in charts for goal in chart.goals] == [85, 150], "in percent and in milliseconds"
    plots.save(picture, tmp_path / "picture.png")
    trade = trade_chart(answer)
    traded = plots.draw_front(answer)
    (axis,) = traded.axes
    assert (axis.get_xlabel(), axis.get_ylabel()) == (trade.across, trade.up)
    through, dots = axis.lines[:2]
    best = sorted((point.x, point.y) for point in trade.points if point.kind == "front")
    assert [tuple(at) for at in through.get_xydata()] == best
    assert len(dots.get_xydata()) == len(answer.curve)
    rules = {line.get_xydata()[0][0] for line in axis.lines if line.get_marker() == "D"}
    assert rules == {point.x for point in trade.points if point.kind in {"rule", "norule"}}
    plots.save(traded, tmp_path / "front.png")
