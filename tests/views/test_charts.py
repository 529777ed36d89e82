"""Descriptions of charts, and how the one renderer draws them for files and for pages."""

from __future__ import annotations

import dataclasses
import itertools
import re
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
    trade_chart,
)
from forebay.views.rule_rows import COLORED, NEUTRAL, Dot, rule_panel
from forebay.views.scales import Axis, filled
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
    (mean,) = curves(panel, "mean")
    several = [point for point in answer.points if point.replications > 1]
    assert [x for x, _ in mean.points] == [point.buffer.number for point in several]
    assert all(curve.look.line == "none" for curve in curves(panel, "runs"))
    single = [point.buffer.number for point in answer.points if point.replications == 1]
    assert single
    assert [x for curve in curves(panel, "runs") if curve.tips for x, _ in curve.points] == single
    runs = sum(len(curve.points) for curve in curves(panel, "runs"))
    assert runs == sum(point.replications for point in answer.points)


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
    buffers = {"own": 5.0, "rule": 10.0, "norule": 2000.0, "also": 0.5}
    dots = [Dot(kind, buffer, kind, f"told {kind}") for kind, buffer in buffers.items()]
    (panel,), marks = rule_panel(dots, AXIS, COLORED)
    assert [(line.points[0][0], line.series) for line in marks] == [(10, "rule"), (5, "own")], (
        "what stands out lies on top"
    )
    assert not isinstance(panel.up, Axis)
    assert [row.name for row in panel.up] == list(buffers)
    words = [each.text for each in panel.series if isinstance(each, Words)]
    assert words == ["2,000 →", "← 0.5"], "beyond the axis"
    root = svg(Chart(AXIS, (panel,), "rules"), WIDE)
    assert len(tips(root)) == 4
    assert rule_panel([], AXIS, COLORED) == ([], [])


def test_each_rule_has_a_look_of_its_own() -> None:
    dots = [Dot(f"{number}", 10, "rule") for number in range(56)]
    looks = [each.look for each in rule_panel(dots, AXIS, COLORED)[0][0].series if isinstance(each, Curve)]
    assert len({(look.color, look.marker) for look in looks if look.marker}) == 56
    plain = [each.look for each in rule_panel(dots, AXIS, NEUTRAL)[0][0].series if isinstance(each, Curve)]
    assert len({look.color for look in plain if look.marker}) == 1


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
    drawn = [each.series for each in panel.series if isinstance(each, Curve)]
    assert drawn.index("front") > max(drawn.index(kind) for kind in ("rule", "norule"))
    assert drawn[-1] == "answer"


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
    for drawn, panel in zip(axes, panels, strict=True):
        (mean,) = curves(panel, "mean")
        (line,) = (each for each in drawn.lines if each.get_marker() == "o" and each.get_linestyle() == "-")
        assert [tuple(at) for at in line.get_xydata()] == mean.points
        root = svg(Chart(across(answer), (panel,), ""), WIDE)
        assert len([part for part in group(root, "mean") if part.get("class") == "pt"]) == len(mean.points)
