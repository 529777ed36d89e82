"""Descriptions of charts, and how the one renderer draws them for files and for pages."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable
from math import inf
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from forebay import Scenario, recommend
from forebay.results.report import Estimate
from forebay.search.answer import Recommendation
from forebay.views import plots
from forebay.views.chart import (
    COLORS,
    Band,
    Chart,
    Curve,
    Flag,
    Look,
    Panel,
    Point,
    Row,
    Series,
    Tip,
    Words,
    intervals,
    level,
    mark,
    series_names,
)
from forebay.views.chart_figure import draw
from forebay.views.chart_svg import svg
from forebay.views.page_charts import NARROW, WIDE
from forebay.views.recommendation_charts import (
    across,
    charted_metrics,
    decision_panel,
    metric_panel,
    recommendation_chart,
    rule_dots,
    rules_panel,
)
from forebay.views.rule_rows import Dot, rule_panel, state_look
from forebay.views.scales import Axis, decision_axis, filled
from forebay.views.tradeoff_charts import front_chart, trade_chart
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL

AXIS = Axis("buffer (packets)", 1, 1000, by_decades=True)
UP = Axis("loss (%)", 0, 40)
MEAN = Look("blue", "solid", 1.5, "o", 4)


@pytest.fixture(scope="module")
def answer() -> Recommendation:
    return recommend(Scenario.parse(SMALL), also=["5p"], pareto="utilization,queue_delay_p99")


def chart(*series: Series, flag: Flag | None = None, note: str = "") -> Chart:
    return Chart(AXIS, (Panel(UP, series, flag=flag, note=note),), "loss against the buffer")


def named(panel: Panel, name: str) -> list[Series]:
    return [each for each in panel.series if getattr(each, "series", "") == name]


def curves(panel: Panel, name: str) -> list[Curve]:
    return [each for each in named(panel, name) if isinstance(each, Curve)]


# On a page -------------------------------------------------------------------------------------------------------


def group(root: ET.Element, name: str) -> list[ET.Element]:
    """The drawn elements of a series."""
    return [part for found in root.iter("g") if found.get("class") == f"s-{name}" for part in found.iter()]


def tips(root: ET.Element) -> list[tuple[str | None, str | None]]:
    return [(part.get("data-buffer"), part.get("data-tip")) for part in root.iter() if part.get("class") == "pt"]


def test_each_point_has_a_marker_with_its_tip() -> None:
    points = [(1.0, 0.0), (10.0, 10.0), (100.0, 20.0), (1000.0, 30.0)]
    stated = [Tip(f"{x:g}", f"{x:g} packets\n{y:g} %") for x, y in points]
    root = svg(chart(Curve(points, MEAN, stated, "mean")), WIDE)
    assert tips(root) == [(tip.key, tip.text) for tip in stated]
    circles = [part for part in group(root, "mean") if part.tag == "circle"]
    assert [circle.findtext("title") for circle in circles] == [tip.text for tip in stated], "also without a script"
    places = [(float(each.get("cx", "")), float(each.get("cy", ""))) for each in circles]
    steps = [after[0] - before[0] for before, after in itertools.pairwise(places)]
    assert steps == pytest.approx([steps[0]] * 3, abs=0.2), "by decades"
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True), "up is more"
    (line,) = (part for part in group(root, "mean") if part.tag == "path")
    through = [tuple(map(float, pair.split())) for pair in re.split("[ML]", line.get("d", ""))[1:]]
    assert [value for pair in through for value in pair] == pytest.approx([v for pair in places for v in pair], abs=0.2)


def test_a_chart_has_a_name_and_readable_texts() -> None:
    root = svg(chart(mark(10, MEAN), flag=Flag(10, "recommended", "good"), note="goal ≤ 3 %"), WIDE)
    assert root.get("role") == "img"
    assert root.get("aria-label") == "loss against the buffer"
    words = [text.text for text in root.iter("text")]
    assert {"buffer (packets)", "loss (%)", "recommended", "goal ≤ 3 %", "1", "1,000", "40"} <= set(words)
    titles = [part.text for found in root.iter("g") if found.get("class") == "title" for part in found.iter("text")]
    assert sorted(filter(None, titles)) == ["buffer (packets)", "loss (%)"]


def test_colors_are_those_of_the_page_by_day_and_by_night() -> None:
    style = (ROOT / "python" / "forebay" / "views" / "webpage.css").read_text(encoding="utf-8")
    day, night = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    for name, color in COLORS.items():
        found = re.search(rf"--{name}: (#[0-9a-f]+)", day)
        assert found is not None, name
        assert color in (found[1], "#" + "".join(2 * digit for digit in found[1][1:])), name
        assert f"--{name}: #" in night, name
    root = svg(
        chart(
            Curve([(1, 1), (9, 9)], MEAN),
            Band([(1, 0, 2), (9, 8, 9)], "green"),
            Band([(2, -inf, inf), (3, -inf, inf)], "other"),
        ),
        WIDE,
    )
    styles = " ".join(part.get("style", "") for part in root.iter())
    assert {"var(--blue)", "var(--green)", "var(--other)", "var(--ink)", "var(--grid)"} <= set(
        re.findall(r"var\([^)]*\)", styles)
    )
    assert "#" not in styles


def test_a_page_is_the_same_at_each_writing(answer: Recommendation) -> None:
    described = recommendation_chart(answer)
    first, second = (ET.tostring(svg(described, WIDE)) for _ in range(2))
    assert first == second
    assert b" id=" not in first
    assert b"url(" not in first


def test_pictures_are_the_same_at_each_writing(answer: Recommendation, tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        paths = plots.save_both(answer.plot(), tmp_path / name)
        written.append([path.read_bytes() for path in paths])
    assert written[0] == written[1]
    text = written[0][1].decode()
    assert "<dc:date>" not in text
    assert "<title>" in text, "for readers who do not see it"


@pytest.mark.parametrize("medium", [WIDE, NARROW])
def test_everything_lies_within_the_plot(medium: object) -> None:
    """Also what is beyond an axis, and words that have no room."""
    assert medium in (WIDE, NARROW)
    wide = "a name that is longer than a telephone is wide, and then some more of it"
    series = (
        Curve([(0.01, -50), (10, 20), (9999, 90)], MEAN, series="mean"),
        Band([(0.01, -90, 90), (9999, -90, 90)], "blue", series="band"),
        level(90, MEAN, "goal"),
        Words(-inf, inf, 90, wide, "bad", above=True, series="goal"),
        Band([(-inf, -inf, inf), (inf, -inf, inf)], "other", series="between"),
    )
    root = svg(chart(*series, flag=Flag(990, wide, "good"), note=wide), WIDE if medium is WIDE else NARROW)
    width, height = (float(each) for each in root.get("viewBox", "").split()[2:])
    for name in ("mean", "band", "between", "goal"):
        for part in group(root, name):
            numbers = [float(each) for each in re.findall(r"-?\d+\.?\d*", part.get("d", ""))]
            assert all(-1 <= x <= width + 1 for x in numbers[::2])
            assert all(-1 <= y <= height + 1 for y in numbers[1::2])
    for text in root.iter("text"):
        assert 0 <= float(text.get("x", "")) <= width


def test_a_switch_hides_the_name_of_a_row_too() -> None:
    panel = Panel((Row("bdp", series="rule"), Row("other", series="norule")), ())
    root = svg(Chart(AXIS, (panel,), "rules"), WIDE)
    assert [part.text for part in group(root, "rule") if part.tag == "text"] == ["bdp"]
    assert [part.text for part in group(root, "norule") if part.tag == "text"] == ["other"]


def test_words_lie_where_there_is_room() -> None:
    """To the right of a range at the left, to the left of one at the right, inside of a range that fills the row."""
    for low, high, anchor in ((1, 10, "start"), (100, 1000, "end"), (1, 1000, "middle")):
        panel = Panel((Row("range"),), (Words(low, high, 0, "from here to there", "ink", series="likely"),))
        (text,) = (part for part in group(svg(Chart(AXIS, (panel,), "x"), NARROW), "likely") if part.tag == "text")
        assert text.get("text-anchor") == anchor


# Charts of a recommendation --------------------------------------------------------------------------------------


def test_no_line_leads_through_a_single_run(answer: Recommendation) -> None:
    panel = metric_panel(answer, "utilization")
    means = [x for curve in curves(panel, "mean") for x, _ in curve.points]
    several = [point for point in answer.points if point.replications > 1]
    assert means == [point.buffer.number for point in several]
    assert all(curve.look.line == "none" for curve in curves(panel, "runs"))
    single = [point.buffer.number for point in answer.points if point.replications == 1]
    assert single
    shown = [x for curve in curves(panel, "runs") if curve.tips for x, _ in curve.points]
    assert sorted(shown) == single
    runs = sum(len(curve.points) for curve in curves(panel, "runs"))
    assert runs == sum(point.replications for point in answer.points)


def with_runs(answer: Recommendation, runs: list[int]) -> Recommendation:
    """An answer with these replications of its first buffers; no others were measured."""
    some = answer.points[0].buffer
    points = [
        dataclasses.replace(
            max(answer.points, key=lambda point: point.replications),
            buffer=dataclasses.replace(some, packets=packets),
            replications=count,
        )
        for packets, count in zip((10, 20, 40, 1280), runs, strict=True)
    ]
    return dataclasses.replace(answer, points=tuple(points))


@pytest.mark.parametrize(
    ("runs", "joined"),
    [
        ([4, 4, 4, 4], [[10, 20, 40, 1280]]),
        ([4, 1, 4, 4], [[10], [40, 1280]]),
        ([4, 4, 1, 4], [[10, 20], [1280]]),
        ([1, 4, 1, 1], [[20]]),
    ],
)
def test_a_line_joins_neighbors_only(answer: Recommendation, runs: list[int], joined: list[list[int]]) -> None:
    """A line from 20 to 1,280 packets would contradict the single run at 40."""
    panel = metric_panel(with_runs(answer, runs), "utilization")
    assert [[x for x, _ in curve.points] for curve in curves(panel, "mean")] == joined


def test_a_goal_near_the_end_of_the_axis_has_room() -> None:
    """Values far from the goal do not flatten the decision."""
    for sense, at, percent in ((">=", 98.0, True), (">=", 90.0, True), (">=", 9.8, False), ("<=", 0.2, False)):
        values = [0.0, 3.0, 5.0] if sense == "<=" else [20.0, 60.0, 97.0, 99.0, 100.0] if percent else [5.0, 9.7, 9.9]
        up = decision_axis("y", values, [(sense, at)], percent=percent)
        room = up.high - at if sense == ">=" else at - up.low
        assert 0.15 < room / (up.high - up.low) < 0.6, (sense, at)
    up = decision_axis("y", [20.0, 99.0, 100.0], [(">=", 98.0)], [75.0], percent=True)
    assert up.low == 75.0, "the answer is seen, whatever it misses"
    assert decision_axis("y", [20.0, 99.0], [], percent=True).low == 20.0, "all values without a goal"
    assert decision_axis("y", [0.1, 50.0], [("<=", 1.0)]).by_decades


def test_what_lies_beyond_an_axis_is_an_arrow_with_its_value(answer: Recommendation) -> None:
    judged = answer.goals["utilization"]
    goal = dataclasses.replace(judged.goal, threshold=0.995)
    strict = dataclasses.replace(answer, goals={"utilization": dataclasses.replace(judged, goal=goal)})
    panel = metric_panel(strict, "utilization")
    assert isinstance(panel.up, Axis)
    assert answer.buffer is not None
    point = answer.at(answer.buffer)
    assert point is not None
    found = point.estimate("utilization")
    assert found is not None
    assert panel.up.low == pytest.approx(100 * found.mean), "the answer is seen, too"
    estimates = [(point.buffer.number, point.estimate("utilization")) for point in answer.points]
    below = [x for x, found in estimates if found is not None and 100 * found.mean < panel.up.low]
    arrows = [curve for curve in (*curves(panel, "runs"), *curves(panel, "mean")) if curve.look.marker == "v"]
    assert {x for curve in arrows for x, _ in curve.points} >= set(below) != set()
    assert all("utilization" in tip.text for curve in arrows for tip in curve.tips)
    assert all(len(curve.tips) == len(curve.points) for curve in arrows)
    root = svg(Chart(across(answer), (panel,), ""), WIDE)
    assert {tip.key for curve in arrows for tip in curve.tips} <= {key for key, _ in tips(root)}


def drawn(chart: Chart) -> list[Series]:
    """Series of the panels with a scale; rows have their names beside them."""
    return [each for panel in chart.panels if isinstance(panel.up, Axis) for each in panel.series]


@pytest.mark.parametrize("picture", [recommendation_chart, front_chart])
def test_a_legend_has_all_that_is_drawn_and_nothing_else(
    answer: Recommendation, picture: Callable[[Recommendation], Chart]
) -> None:
    described = picture(answer)
    looks = {(each.look.color, each.look.line) for each in drawn(described) if isinstance(each, Curve)}
    known = {(key.look.color, key.look.line) for key in described.legend if key.look is not None}
    assert looks <= known, "each color and line has an entry"
    areas = {each.color for each in drawn(described) if isinstance(each, Band)}
    assert areas == {key.area for key in described.legend if key.area}
    series = [each for panel in described.panels for each in panel.series]
    every = {(each.look.color, each.look.marker) for each in series if isinstance(each, Curve)}
    lines = {(each.look.color, each.look.line) for each in series if isinstance(each, Curve)}
    for key in described.legend:
        if key.look is not None:
            shown = (key.look.color, key.look.marker) in every or (key.look.color, key.look.line) in lines
            assert shown, f"{key.text} is not drawn"


def test_single_runs_alone_have_no_mean(answer: Recommendation) -> None:
    single = [dataclasses.replace(point, replications=1) for point in answer.points]
    panel = metric_panel(dataclasses.replace(answer, points=tuple(single)), "utilization")
    assert not series_names([panel]) & {"mean", "band"}
    assert "runs" in series_names([panel])


def test_an_interval_of_few_runs_stands_alone_and_sets_no_scale(answer: Recommendation) -> None:
    neighbors = [Point(1, 5, 1), Point(2, 5, 1), Point(3, 5, 9, few=True), Point(4, 5, None), Point(5, 5, 1)]
    assert [[x for x, _, _ in band.points] for band in intervals(neighbors, "blue")] == [[1, 2], [3], [5]]
    wide = [
        dataclasses.replace(point, metrics={**point.metrics, "loss_rate": Estimate(0.05, 0.9)})
        for point in answer.points
    ]
    up = metric_panel(dataclasses.replace(answer, points=tuple(wide)), "loss_rate").up
    assert isinstance(up, Axis)
    assert up.high < 20, "of an interval up to 95 %"


def test_the_side_on_which_a_goal_is_missed_is_shaded(answer: Recommendation) -> None:
    for key, at, missed in (("utilization", 85, "below"), ("queue_delay_p99_s", 150, "above")):
        panel = metric_panel(answer, key)
        shade, line = named(panel, "goal")
        assert isinstance(shade, Band)
        assert isinstance(line, Curve)
        assert [y for _, y in line.points] == pytest.approx([at, at]), "in percent and in milliseconds"
        assert {(low, high) for _, low, high in shade.points} == {(-inf, at) if missed == "below" else (at, inf)}
        assert panel.note.startswith("goal ")
        (axes,) = draw(Chart(AXIS, (panel,), "")).axes
        y = axes.transData.inverted().transform(axes.patches[0].get_extents())[:, 1]
        low, high = axes.get_ylim()
        assert list(y) == pytest.approx([low, at] if missed == "below" else [at, high])


def test_the_decision_lies_along_the_axis(answer: Recommendation) -> None:
    axis = across(answer)
    panel = decision_panel(answer)
    rows = [row.name for row in panel.up] if not isinstance(panel.up, Axis) else []
    assert rows[0] == "recommended"
    assert rows[-1] == "all goals met?"
    assert answer.buffer is not None
    line, dot = curves(panel, "answer")
    assert {x for x, _ in line.points} == {answer.buffer.number}
    assert dot.points == [(answer.buffer.number, 0)]
    places = [x for state in ("met", "missed", "undecided") for curve in curves(panel, state) for x, _ in curve.points]
    assert sorted(places) == [point.buffer.number for point in answer.points]
    assert all(axis.low < x < axis.high for x in places)
    without = decision_panel(dataclasses.replace(answer, goals={}))
    assert not isinstance(without.up, Axis)
    assert "all goals met?" not in [row.name for row in without.up]


def test_rules_have_a_row_each_and_a_line_within_the_axis_only() -> None:
    buffers = {"own": 5.0, "rule": 10.0, "also": 0.5}
    dots = [Dot(kind, buffer, kind, f"told {kind}") for kind, buffer in buffers.items()]
    dots += [Dot(f"other {at}", at, "norule", f"other {at}") for at in (0.1, 7.0, 700.0, 2000.0)]
    (panel,), marks = rule_panel(dots, AXIS)
    assert [(line.points[0][0], line.series) for line in marks] == [(10, "rule"), (5, "own")], (
        "what stands out lies on top, and rules that do not apply have no line"
    )
    assert not isinstance(panel.up, Axis)
    assert [row.name for row in panel.up] == [*buffers, "4 rules do not apply"]
    words = [each.text for each in panel.series if isinstance(each, Words)]
    assert words == ["← 0.5"], "beyond the axis"
    folded = [(x, curve.look.marker) for curve in curves(panel, "norule") for x, _ in curve.points]
    assert [marker for _, marker in sorted(folded)] == ["<", "o", "o", ">"]
    assert all(AXIS.low < x < AXIS.high for x, _ in folded)
    root = svg(Chart(AXIS, (panel,), "rules"), WIDE)
    assert len(tips(root)) == 7
    assert rule_panel([], AXIS) == ([], [])


def test_a_marker_of_a_rule_says_whether_its_buffer_meets_the_goals(answer: Recommendation) -> None:
    """The look is that of the row of measured buffers, whatever the rule."""
    dots = [dot for dot in rule_dots(answer) if dot.kind != "norule"]
    panel = rules_panel(answer, across(answer))
    assert not isinstance(panel.up, Axis)
    states = {point.buffer.number: point for point in answer.points}
    for row, dot in enumerate(dots):
        assert panel.up[row].name == dot.name
        assert dot.state is not None
        (marker,) = (c.look for c in curves(panel, dot.kind) if c.look.marker and c.points == [(dot.buffer, row)])
        assert marker == state_look(dot.state, few=dot.few)
        assert dot.buffer in states or dot.few, "an interpolated verdict is hollow"
    kinds = {(dot.state, dot.few): state_look(dot.state, few=dot.few) for dot in dots if dot.state is not None}
    assert len(set(kinds.values())) == len(kinds), "each verdict has a look of its own"


def test_packets_have_their_time_below(answer: Recommendation) -> None:
    axis = across(answer, below="ms")
    assert axis.title == "buffer (packets), below: ms at the link rate"
    assert axis.words(10) == ("10", "40"), "1000 bytes at 2 Mb/s take 4 ms"
    assert across(answer).title == "buffer (packets), below: BDP"


def test_a_trade_off_connects_the_front_and_puts_the_answer_on_top(answer: Recommendation) -> None:
    front = answer.pareto
    assert front is not None
    (panel,) = trade_chart(answer).panels
    (through,) = curves(panel, "front")
    assert through.look.line == "dashed"
    assert [x for x, _ in through.points] == sorted(x for x, _ in through.points)
    assert len(through.points) == sum(point.on_front for point in front.points)
    order = [each.series for each in panel.series if isinstance(each, Curve)]
    assert order.index("front") > max(order.index(kind) for kind in ("own", "rule", "norule"))
    assert order[-1] == "answer"


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [1.0, 100.0], [0.0, 1.0, 1000.0], [5.0], [0.0], [-3.0, -1.0]])
def test_an_axis_is_filled_with_room_at_both_ends(values: list[float]) -> None:
    axis = filled("x", values)
    shown = [value for value in values if value > 0] if axis.by_decades else values
    ends = axis(min(shown)), axis(max(shown))
    assert 0 < ends[0] <= ends[1] < 1
    assert ends[0] == pytest.approx(1 - ends[1]), "as much at the one as at the other"
    assert axis.by_decades == (len(values) > 1 and max(values) >= 100)
    if len(values) > 1:
        assert ends[1] - ends[0] > 0.75


def test_a_picture_and_a_page_show_the_same(answer: Recommendation) -> None:
    panels = [metric_panel(answer, name) for name in charted_metrics(answer)]
    axes = answer.plot().axes[-len(panels) :]
    several = [point.buffer.number for point in answer.points if point.replications > 1]
    for drawn_axes, panel in zip(axes, panels, strict=True):
        lines = [each for each in drawn_axes.lines if each.get_marker() == "o" and each.get_linestyle() == "-"]
        joined = [curve.points for curve in curves(panel, "mean") if curve.look.line != "none"]
        assert [[tuple(at) for at in line.get_xydata()] for line in lines] == joined
        root = svg(Chart(across(answer), (panel,), ""), WIDE)
        assert len([part for part in group(root, "mean") if part.get("class") == "pt"]) == len(several)
