"""Pictures: every text inside of its figure and clear of the others, plain numbers, and nothing of pyplot touched."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from forebay import Report, Scenario, compare, recommend, sweep
from forebay.comparison.answers import Comparison
from forebay.inputs.goals import Goal
from forebay.papers import drawing
from forebay.papers.catalog import load
from forebay.search.answer import Recommendation
from forebay.search.tradeoff import front
from forebay.sweeps.sweeping import Sweep
from forebay.views import canvas, plots
from forebay.views.chart import Chart, Curve, Look, Names, Panel
from forebay.views.chart_figure import draw
from forebay.views.comparison_picture import comparison_chart
from forebay.views.headline import Headline, common, headline
from forebay.views.recommendation_charts import charted_metrics, metric_panel
from forebay.views.report_picture import traces_figure
from forebay.views.scales import Axis, tick_text
from forebay.views.sweep_picture import sweep_chart
from forebay.views.tradeoff_charts import front_chart
from tests.support.commands import forebay
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL

LINE = Look("blue", "solid")
LONG = "a name that nobody would give to anything, and yet somebody did so, with $dollars$ and _underscores_ in it"


def texts(figure: Any) -> Iterator[tuple[str, Any]]:
    """Every text that is seen, with its box."""
    from matplotlib.text import Text

    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    axes = [axis for each in figure.axes for axis in (each, *each.child_axes)]
    hidden = set()
    for axis in (both for each in axes for both in (each.xaxis, each.yaxis)):
        shown = {id(tick) for tick in axis._update_ticks()}
        for tick in (*axis.majorTicks, *axis.minorTicks):
            hidden |= {id(tick.label1), id(tick.label2)} if id(tick) not in shown else set()
    for text in figure.findobj(Text):
        words = text.get_text()
        if words.strip() and text.get_visible() and id(text) not in hidden:
            box = text.get_window_extent(renderer)
            if box.width > 0 and box.height > 0:
                yield words, box


def check(figure: Any) -> list[str]:
    """Every text of a figure; none leaves it, and no two meet."""
    found = list(texts(figure))
    room = figure.bbox
    for words, box in found:
        assert box.x0 >= room.x0 - 1, f"{words!r} leaves on the left"
        assert box.x1 <= room.x1 + 1, f"{words!r} leaves on the right"
        assert box.y0 >= room.y0 - 1, f"{words!r} leaves below"
        assert box.y1 <= room.y1 + 1, f"{words!r} leaves above"
    for (one, box), (other, beside) in itertools.combinations(found, 2):
        # Boxes of lines of text have some air in them.
        assert not box.padded(-1).overlaps(beside.padded(-1)), f"{one!r} meets {other!r}"
    words = [words for words, _ in found]
    assert not [each for each in words if re.search(r"10\^|\\times|\d[eE][+-]?\d|mathdefault", each)], "powers of ten"
    return words


@pytest.fixture(scope="module")
def answer() -> Recommendation:
    found = recommend(Scenario.parse(SMALL), also=["5p"])
    return dataclasses.replace(found, pareto=front(found, "utilization,queue_delay_p99"))


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(Scenario.parse(SMALL), points=4)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    folder = tmp_path_factory.mktemp("sweep")
    return sweep(Scenario.parse(SMALL), ["link.buffer=2p..200p:5", "flows.bulk.cca=newreno,cubic"], folder)


def crowded(answer: Recommendation) -> Recommendation:
    """Fifteen rules at about the same buffer with long names, three goals on one metric, a title without end."""
    some = next(rule for rule in answer.rules if rule.buffer is not None)
    at = some.buffer
    assert at is not None
    rules = tuple(
        dataclasses.replace(
            some,
            name=f"{LONG} {number}",
            buffer=dataclasses.replace(at, packets=at.packets + 0.01 * number),
            applies=number % 3 > 0,
            measured=answer.points[0].metrics,
        )
        for number in range(15)
    )
    goal = answer.goals["utilization"]
    goals = dict.fromkeys(("utilization", *(f"bulk.{letter}" for letter in "abcdefgh")), goal)
    scenario = Scenario.parse(
        SMALL.replace('"Small link"', json.dumps(f"{LONG} {LONG} {LONG}")).replace("bulk", "b" * 40)
    )
    return dataclasses.replace(answer, rules=rules, scenario=scenario, goals=goals)


@pytest.mark.parametrize("draw", [plots.draw_recommendation, plots.draw_front])
@pytest.mark.parametrize("nasty", [False, True])
def test_recommendations(answer: Recommendation, draw: Callable[[Recommendation], Any], nasty: bool) -> None:
    shown = crowded(answer) if nasty else answer
    words = check(draw(shown))
    joined = "\n".join(words)
    named = [rule.name for rule in shown.rules if rule.buffer is not None and rule.applies]
    others = sum(rule.buffer is not None and not rule.applies for rule in shown.rules)
    if not nasty:
        assert all(name in joined for name in named)
    else:
        # Cut, but one for each.
        assert sum(each.startswith("a name that") for each in words) >= len(named) == 10
    assert f"{others} rule" in joined, "one row or one entry for all that do not apply"
    assert any(each.startswith("2 Mb/s · ") for each in words), "the link in a line"


def test_each_rule_of_a_trade_off_has_a_style_of_its_own(answer: Recommendation) -> None:
    for nasty in (False, True):
        shown = crowded(answer) if nasty else answer
        described = front_chart(shown)
        applying = [rule.name for rule in shown.rules if rule.applies and rule.buffer is not None]
        keys = [key for key in described.legend if any(key.text.startswith(f"{name}: ") for name in applying)]
        assert len({key.look for key in keys}) == len(keys) == len(applying)
        assert not nasty or len(keys) == 10


def test_every_mean_and_goal_is_seen(answer: Recommendation) -> None:
    """A curve that is flat and a goal far above it, above all."""
    judged = answer.goals["utilization"]
    most = max(point.groups["background"].goodput_bps.mean for point in answer.points)
    far = dataclasses.replace(judged, goal=Goal("background.goodput", "<=", 3 * most))
    for goals in (answer.goals, {**answer.goals, "background.goodput": far}):
        shown = dataclasses.replace(answer, goals=goals)
        panels = [metric_panel(shown, name) for name in charted_metrics(shown)]
        axes = plots.draw_recommendation(shown).axes[-len(panels) :]
        assert len(axes) == len(panels) >= len(goals)
        for axis, panel in zip(axes, panels, strict=True):
            low, high = axis.get_ylim()
            found = [each for each in panel.series if isinstance(each, Curve)]
            goal_lines = [y for curve in found if curve.series == "goal" for _, y in curve.points]
            assert all(low < value < high for value in goal_lines)
            assert bool(goal_lines) == bool(panel.note)
            seen = {x for curve in found for x, y in curve.points if curve.look.marker and low <= y <= high}
            arrows = {x for curve in found for x, _ in curve.points if curve.look.marker in ("v", "^")}
            assert seen | arrows == {point.buffer.number for point in shown.points}


def test_a_conflict_is_drawn() -> None:
    found = recommend(Scenario.parse(SMALL), ["utilization>=0.99", "queue_delay_p99<=20ms"])
    words = check(found.plot())
    assert "closest" in words
    assert not any("recommended" in each for each in words)


@pytest.mark.parametrize("measured", [1, 3])
def test_an_undecided_search_is_drawn(answer: Recommendation, measured: int) -> None:
    """Also after a single buffer, whose range goes far beyond it."""
    ends = answer.points[0].buffer, answer.points[-1].buffer
    found = dataclasses.replace(
        answer, verdict="undecided", buffer=None, between=ends, points=answer.points[:measured], warnings=()
    )
    words = check(found.plot())
    first, last = (f"{end.number:,.0f}" for end in ends)
    assert any(
        each.startswith(f"Undecided: a buffer between {first} and {last} packets may meet every goal.")
        for each in words
    )
    assert f"{first} to {last} packets" in words
    assert not any("recommended" in each for each in words)


@pytest.mark.parametrize("nasty", [False, True])
def test_comparisons(comparison: Comparison, nasty: bool) -> None:
    shown = comparison
    if nasty:
        rules = tuple(
            dataclasses.replace(comparison.rules[0], name=f"{LONG} {n}", packets=5 + 0.001 * n) for n in range(15)
        )
        answers = {f"{LONG} {n}": comparison.points[0].answers["packet"] for n in range(9)}
        points = tuple(dataclasses.replace(point, answers={**point.answers, **answers}) for point in comparison.points)
        shown = dataclasses.replace(comparison, rules=rules, points=points)
    check(shown.plot())


def test_a_legend_of_a_comparison_names_what_is_drawn(comparison: Comparison) -> None:
    """Engines with a single run have no line."""
    described = comparison_chart(comparison)
    texts = [key.text for key in described.legend]
    assert {"packet engine", "95 % interval", "as configured"} <= set(texts)
    shown = {each.look for panel in described.panels for each in panel.series if isinstance(each, Curve)}
    assert all(key.look in shown for key in described.legend[: texts.index("95 % interval")])
    single = compare(Scenario.parse(SMALL), points=2, replications=1)
    described = comparison_chart(single)
    packet = next(key for key in described.legend if key.text.startswith("packet engine"))
    assert packet.text == "packet engine, single runs"
    assert packet.look is not None
    assert packet.look.line == "none"


def test_a_sweep_names_its_measured_line(tmp_path: Path) -> None:
    """Also a single one; a line joins means and not single runs."""
    for runs, text, line in ((2, "packet engine, mean of 2 runs", "solid"), (1, "packet engine, single run", "none")):
        folder = tmp_path / str(runs)
        sweep(Scenario.parse(SMALL), ["link.buffer=2p..200p:3"], folder, replications=runs)
        described = sweep_chart(folder)
        first = described.legend[0]
        assert first.text == text
        assert first.look is not None
        assert first.look.line == line
        top = described.panels[0].up
        assert not isinstance(top, Axis)
        assert top[0].name == "as configured: 20"
        measured = [each.look for panel in described.panels[1:] for each in panel.series if isinstance(each, Curve)]
        assert first.look in measured
        assert ("95 % interval" in [key.text for key in described.legend]) == (runs > 1)


def test_sweeps(swept: Sweep) -> None:
    words = check(swept.plot())
    assert "flows.bulk.cca=cubic" in words


@pytest.mark.parametrize(
    ("axes", "title", "ticks"),
    [
        (["link.rate=900kbps,2Mbps,1Gbps"], "link.rate (Mb/s)", ["10", "100"]),
        (["flows.bulk.rtt=5ms,40ms"], "flows.bulk.rtt (ms)", ["5", "10", "20"]),
        (
            ["link.buffer=5p", *[f"flows.bulk.{key}" for key in ("count=1..36:6lin", "cca=newreno,cubic,bbr,hstcp")]],
            "",
            [],
        ),
    ],
)
def test_other_axes_of_sweeps(tmp_path: Path, axes: list[str], title: str, ticks: list[str]) -> None:
    scenario = Scenario.parse(
        SMALL.replace('measure = "30s"', 'measure = "1s"').replace('buffer = "20p"', 'buffer = "9p"')
    )
    words = check(sweep(scenario, axes, tmp_path, replications=1).plot())
    assert not title or title in words
    assert set(ticks) <= set(words)


def test_reports() -> None:
    scenario = Scenario.parse(SMALL)
    for report in (scenario.run(), scenario.run("fluid"), scenario.run("closed_form"), scenario.run(traces=True)):
        words = check(report.plot())
        assert any("buffer 20 packets" in each for each in words)
    crowd = SMALL.replace('name     = "bulk"', f'name = "{"w" * 40}"\ncount = 30')
    everything = '\n[trace]\nrecord = ["cwnd", "queue", "utilization", "packets", "transfers"]\n'
    for text in (crowd, crowd + everything):
        check(Scenario.parse(text).run(replications=1, traces="trace" in text).plot())
    read = Report.of(json.loads(scenario.run(replications=1).to_json()))
    assert "Report" in check(read.plot()), "without its scenario"


def test_a_flow_has_a_line_for_each_transfer() -> None:
    """No line leads through the time between two."""
    times = [0.0, 0.1, 0.2, 5.0, 5.1, 9.0]
    table = {"time_s": times, "flow": [3] * 6, "group": [0] * 6, "transfer": [0, 0, 0, 1, 1, 2]}
    windows = [1.0, 2.0, 3.0, 1.0, 2.0, 1.0]
    figure = traces_figure({"flows": pl.DataFrame({**table, "cwnd_packets": windows})}, Headline("", ""), ["web"])
    (axis,) = figure.axes
    assert [list(line.get_xdata()) for line in axis.lines] == [times[:3], times[3:5], times[5:]]
    assert len({line.get_color() for line in axis.lines}) == 1
    assert [text.get_text() for text in figure.legends[0].texts] == ["web"]


def test_transfers_of_a_run_are_lines_of_their_own(tmp_path: Path) -> None:
    workload = 'workload = { closed_loop = { users = 2, think = "2s", size = "30p" } }'
    text = SMALL.replace('packet   = "1000B"\n', f'packet = "1000B"\n{workload}\n', 1) + '\n[trace]\nevery = "20ms"\n'
    path = tmp_path / "users.toml"
    path.write_text(text, encoding="utf-8")
    done = forebay("run", path, "--replications", "1", "--trace", tmp_path / "out")
    assert done.code == 0, done.err
    table = pl.read_parquet(tmp_path / "out" / "flows.parquet")
    figure = Scenario.parse(text).run(replications=1, traces=True).plot()
    lines = figure.axes[0].lines
    assert len(lines) == table.select("flow", "transfer").unique().height > 10
    for line in lines:
        gaps = [later - earlier for earlier, later in itertools.pairwise(line.get_xdata())]
        assert max(gaps, default=0.0) < 0.021, "the two seconds of thinking are bridged"
    assert forebay("plot", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "traces.svg").is_file()


#: Figures of the papers that formulas alone draw.
MODELS = [("avrachenkov", f"fig{number}") for number in range(1, 7)] + [("auge", "fig1"), ("dhamdhere", "links")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("paper", "name"), MODELS)
def test_figures_of_papers(paper: str, name: str) -> None:
    figure = next(each for each in load(paper).figures if each.name == name)
    drawn = getattr(import_module(f"forebay.papers.{paper}.drawing"), name)(None, figure)
    link = headline(Scenario.load(ROOT / "scenarios" / "ixp-port.toml").resolved, otherwise="").link
    drawing.complete(drawn, link, [])
    words = check(drawn)
    assert any(each.startswith("10 Gb/s · ") for each in words)


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("home-wifi", "390 Mb/s of Wi-Fi"),
        ("docsis-upstream", "20 Mb/s of a cable modem"),
        ("shaped-access", "1 Gb/s shaped to 100 Mb/s (“down”, one of 2 links)"),
        ("policed-transit", "1 Gb/s policed to 200 Mb/s"),
    ],
)
def test_the_line_says_what_keeps_a_part_of_the_rate(name: str, rate: str) -> None:
    link = headline(Scenario.load(ROOT / "scenarios" / f"{name}.toml").resolved, otherwise="").link
    assert link.split(" · ")[0] == rate


def test_point_labels_without_space_are_omitted() -> None:
    names = Names([(0.5, 0.5, f"name {number}") for number in range(20)], "ink")
    panel = Panel(Axis("up", 0, 1), (Curve([(0, 0), (1, 1)], LINE), names))
    words = [each for each in check(draw(Chart(Axis("across", 0, 1), (panel,), ""))) if each.startswith("name")]
    assert 2 <= len(words) < 20
    assert words[0] == "name 0"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (100.0, "100"),
        (1e7, "10,000,000"),
        (0.1 + 0.2, "0.3"),
        (1e-6, "0.000001"),
        (-2500, "-2,500"),
        (1e12, "1,000,000,000,000"),
    ],
)
def test_numbers_are_plain(number: float, text: str) -> None:
    assert tick_text(number) == text


@pytest.mark.parametrize(
    "limits", [(12, 85), (0.0002, 0.9), (1, 2_000_000), (60, 62), (3, 3000), (100, 100_000), (1, 1_000_000)]
)
def test_logarithmic_axes_always_have_numbers(limits: tuple[float, float]) -> None:
    axis = Axis("both", *limits, by_decades=True)
    panel = Panel(axis, (Curve([(end, end) for end in limits], LINE),))
    figure = draw(Chart(axis, (panel, panel), "", Headline("title", "")))
    words = check(figure)
    for shown in (figure.axes[-1].xaxis, figure.axes[-1].yaxis):
        assert 2 <= len(shown.get_majorticklocs()) <= 10
    assert len(words) >= 5


def test_wrapped_lines_have_room() -> None:
    for text in (LONG, "x" * 300, "", "one two", "ein " * 80):
        lines = canvas.wrapped(text, 2.0, 9, most=3)
        assert len(lines) <= 3
        assert all(canvas.width_of(line, 9) <= 2.0 for line in lines)
        if all("…" not in line for line in lines):
            assert " ".join(lines) == " ".join(text.split())


def test_pyplot_is_left_alone() -> None:
    """A reader's own figures and style stay as they are, in a notebook above all."""
    code = f"""
import matplotlib.pyplot as plt
plt.style.use("dark_background")
before = dict(plt.rcParams)
from forebay import Scenario, recommend
answer = recommend(Scenario.parse({SMALL!r}), engine="fluid")
figure = answer.plot()
png = figure._repr_png_()
assert png.startswith(bytes([137]) + b"PNG")
assert dict(plt.rcParams) == before
assert plt.get_fignums() == []
assert figure.get_facecolor()[:3] == (1, 1, 1)
assert {{label.get_color() for label in figure.axes[-1].get_yticklabels()}} == {{"#1c2430"}}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    code = code.replace("import matplotlib.pyplot as plt\n", "").replace('plt.style.use("dark_background")\n', "")
    code = "\n".join(line for line in code.splitlines() if "plt." not in line)
    code += "\nimport sys; assert 'matplotlib.pyplot' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_figure_of_several_links_says_what_they_share() -> None:
    a, b = (
        "50 Mb/s · buffer limit in packets · droptail queue · 1 long",
        "50 Mb/s · buffer limit in bytes · droptail queue · 1 long",
    )
    assert common([a]) == a
    assert common([a, b]) == "50 Mb/s · droptail queue · 1 long"
    assert common([]) == ""
