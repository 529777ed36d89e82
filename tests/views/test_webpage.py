"""The HTML report: one file that fetches nothing, in a real browser on a desk, on a telephone and on paper."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from forebay import Scenario, Warning, recommend
from forebay.results.report import Estimate
from forebay.results.warning import Kind
from forebay.search.answer_parts import FeasibleInterval, InfeasibleInterval, MetShare
from forebay.search.recommendation import Recommendation
from forebay.search.tradeoff import front
from forebay.text import formatting
from forebay.views import webpage
from forebay.views.opening import opening
from forebay.views.recommendation_text import Detail, recommendation_text
from forebay.views.scales import Axis
from forebay.views.traffic import law as in_words
from tests.support.browsers import show
from tests.support.commands import forebay
from tests.support.markup import outline
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL


@pytest.fixture(scope="module")
def feasible() -> Recommendation:
    return recommend(Scenario.parse(SMALL), also=["5p"], sensitivity=True)


@pytest.fixture(scope="module")
def conflict() -> Recommendation:
    return recommend(Scenario.parse(SMALL), ["utilization>=0.99", "queue_delay_p99<=20ms"])


def page_of(answer: Recommendation) -> str:
    return webpage.recommendation_page(answer, source=SMALL, command="forebay recommend small.toml")


def test_page_says_everything_and_fetches_nothing(feasible: Recommendation) -> None:
    page = page_of(feasible)
    found = outline(page)
    text = " ".join(found.words)
    assert found.addresses == ["data:,"]
    assert "url(" not in page
    assert "@import" not in page
    assert len(page) < 400_000
    assert f"{feasible.packets} packets" in text
    assert "confidence" in text
    assert "forebay recommend small.toml" in text
    assert 'title = "Small link"' in text
    assert feasible.scenario.core.sha256 in text
    for rule in feasible.rules:
        assert rule.name in text
    for phrase in (
        "utilization is at least 85 %",
        "p99 queueing delay is at most 150 ms",
        "Sensitivity: one input changed by 20 %",
    ):
        assert phrase in text
    assert "No two replications share random streams." in " ".join(page.split())


def test_a_trade_off_is_drawn_beside_the_buffers(feasible: Recommendation) -> None:
    trade = front(feasible, "utilization,queue_delay_p99")
    page = page_of(dataclasses.replace(feasible, pareto=trade))
    outline(page)
    assert "Pareto-optimal buffers" in page
    assert 'data-series="front"' in page
    drawing = page[page.index("utilization (%) against p99 delay (ms)") :]
    drawing = drawing[: drawing.index("</svg>")]
    assert ">p99 delay (ms)</text>" in drawing
    points = {point.buffer.packets for point in trade.points if point.on_front}
    through = re.search(r'<g class="s-front"><path d="([^"]*)"', drawing)
    assert through is not None
    across = [float(pair.split()[0]) for pair in re.split("[ML]", through[1])[1:]]
    assert len(across) == len(points)
    assert across == sorted(across)
    assert re.search(r's-answer">\s*<circle', drawing)
    assert 'data-series="front"' not in page_of(feasible)


def test_without_matplotlib_a_line_stands_in_the_place_of_the_charts(
    feasible: Recommendation, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = said(page_of(feasible))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = page_of(feasible)
    assert "<svg" not in page
    assert "<figure" not in page
    assert 'type="checkbox"' not in page
    assert "There are no charts: found no matplotlib, which draws pictures" in said(page)
    assert "pip install" in said(page)
    for table in ("Every measured buffer as a table", "Published sizing rules", "utilization is at least 85 %"):
        assert table in said(page), table
        assert table in whole, table


def test_page_of_a_conflict_names_both_sides(conflict: Recommendation) -> None:
    text = " ".join(outline(page_of(conflict)).words)
    assert "No buffer meets every goal." in text
    assert "Some goals need a larger buffer, others a smaller one." in text
    assert "The goal on utilization is met at every measured buffer from" in text
    assert "The goal on p99 delay is met at every measured buffer up to" in text
    assert "We recommend" not in text, "no configuration of a router"
    assert conflict.conflict is not None
    assert conflict.conflict.compromise is not None
    assert (
        f"The measured buffer that is closest to all goals is {conflict.conflict.compromise.packets:.0f} "
        f"packets" in text
    )
    for miss in conflict.conflict.nearest:
        if not miss.met:
            assert formatting.value(miss.goal.name, miss.shortfall).replace(" %", " points") in text
    assert "decides" not in text


def test_the_page_rounds_a_confidence_down(feasible: Recommendation) -> None:
    for probability, shown in (
        (0.9497, "94 % confidence"),
        (0.9697, "at least 95 % confidence"),
        (1.0, "at least 95 %"),
    ):
        page = page_of(dataclasses.replace(feasible, confidence=probability))
        assert shown in page
        assert "100 % confidence" not in page


def said(page: str) -> str:
    """The text of a page."""
    return " ".join(outline(page).words)


def sentences(answer: Recommendation) -> list[str]:
    """Every sentence of the opening, by itself."""
    found = opening(answer)
    texts = (found.answer, *map(str, found.warnings), *found.paragraphs, *found.surprises)
    return [sentence for text in texts for sentence in re.split(r"(?<=\.) (?=[A-Z])", text)]


def changed(answer: Recommendation) -> Iterator[Recommendation]:
    """The answer with each way to say it: low confidence, a quick look, a contradiction, no decision."""
    assert answer.buffer is not None
    small, large = answer.points[0].buffer, answer.points[-1].buffer
    yield answer
    for confidence in (0.2, 0.9, None):
        yield dataclasses.replace(answer, confidence=confidence, runs=6)
    yield dataclasses.replace(answer, feasible_from=None)
    yield dataclasses.replace(answer, warnings=(Warning(Kind.HIGH_LOSS, "9 packets lose 15 %."),))
    yield dataclasses.replace(answer, warnings=(Warning(Kind.QUICK, "a quick look"),))
    yield dataclasses.replace(
        answer, infeasible_intervals=(InfeasibleInterval(large, "utilization", Estimate(0.5, 0.01)),)
    )
    yield dataclasses.replace(
        answer, feasible_intervals=(FeasibleInterval(small, dataclasses.replace(small, packets=2.0)),)
    )
    yield dataclasses.replace(answer, fraction=MetShare(0.9, 19, 20, 0.8, 0.95))
    for verdict, ends in (("undecided", (small, large)), ("undecided", None), ("impossible", None)):
        late = Warning(Kind.TIME_OVER, "the time was over after 30 s")
        yield dataclasses.replace(answer, verdict=verdict, buffer=None, between=ends, warnings=(late,))


@pytest.mark.long
def test_terminal_page_notebook_and_picture_say_the_same(feasible: Recommendation, conflict: Recommendation) -> None:
    scenario = Scenario.parse(SMALL.replace("30s", "8s"))
    others = (
        recommend(scenario, quick=True, largest=True),
        recommend(scenario, ["queue_delay_p99<=60ms"], minimize="loss_rate"),
        recommend(scenario, ["loss_rate<=20%"], quick=True, over="flows.bulk.rtt=10ms..80ms"),
    )
    for answer in (*changed(feasible), conflict, *others):
        texts = sentences(answer)
        assert texts[0].startswith(("We recommend ", "No buffer ", "Undecided: "))
        console = Console(width=100, record=True, file=io.StringIO())
        console.print(recommendation_text(answer))
        written = [text.get_text() for text in answer.plot().texts]
        for shown in (console.export_text(), said(page_of(answer)), said(answer._repr_html_())):
            one_line = " ".join(shown.split())
            assert not [sentence for sentence in texts if sentence not in one_line]
        assert texts[0] in " ".join(written)


def test_four_figures_of_the_answer_stand_above_the_charts(feasible: Recommendation) -> None:
    top = said(page_of(feasible)).partition("Results by")[0]
    text = top[top.index(f"At {feasible.packets} packets, utilization is ") :].partition(".\n")[0]
    for metric in ("loss ", "p99 delay ", "goodput "):
        assert metric in text


def test_the_answer_comes_before_the_question(feasible: Recommendation, conflict: Recommendation) -> None:
    for answer in (feasible, conflict):
        page = page_of(answer)
        assert page.index(opening(answer).answer) < page.index("The question</h2>")


def test_contradictions_are_printed_with_the_answer(feasible: Recommendation) -> None:
    """Not "the smallest that meets every goal" where a measured buffer contradicts it."""
    assert feasible.monotone
    assert feasible.buffer is not None
    feasible = dataclasses.replace(feasible, feasible_from=None)
    small, large = feasible.points[0].buffer, feasible.points[-1].buffer
    gap = InfeasibleInterval(large, "utilization", Estimate(0.5, 0.01))
    interval = FeasibleInterval(small, dataclasses.replace(small, packets=2.0))
    for answer, text in (
        (
            dataclasses.replace(feasible, infeasible_intervals=(gap, gap)),
            f"miss a goal: utilization is 50.0 ± 1.0 % at {large.packets:.0f}",
        ),
        (
            dataclasses.replace(feasible, feasible_intervals=(interval,)),
            f"All goals are also met at {small.packets:.0f} packet, but not at 2 packets",
        ),
    ):
        assert not answer.monotone
        console = Console(width=300, record=True, file=io.StringIO())
        console.print(recommendation_text(answer, Detail.EVERYTHING))
        shown = console.export_text()
        assert "the smallest that meets every goal" not in shown
        assert text in page_of(answer)
        assert text in shown


def test_nothing_of_the_scenario_is_taken_for_markup(feasible: Recommendation) -> None:
    nasty = "</script><script>alert('x')</script>"
    scenario = Scenario.parse(SMALL.replace('"Small link"', json.dumps(nasty)))
    warning = Warning("note", f"{nasty} & \" '")
    answer = dataclasses.replace(feasible, scenario=scenario, warnings=(warning,))
    page = webpage.recommendation_page(answer, source=nasty, command=nasty)
    outline(page)
    assert page.count("<script>") == 1
    assert page.count("alert(&#39;x&#39;)") >= 4


def test_command_line_writes_the_page(small: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    answer = forebay("recommend", small, "--report", path, "--for", "ios-xr")
    assert answer.code == 0, answer.err
    assert f"wrote {path}" in answer.out
    text = " ".join(outline(path.read_text(encoding="utf-8")).words)
    assert f"forebay recommend {small} --report {path} --for ios-xr" in text
    assert "queue-limit" in text
    refused = forebay("recommend", small, "--report", Path("/dev/null/report.html"))
    assert refused.code == 2
    assert refused.err.count("\n") == 1


@pytest.mark.parametrize(
    ("law", "words"),
    [
        ("100ms", "100 ms"),
        ({"uniform": ["10ms", "20ms"]}, "10 ms to 20 ms"),
        ({"exponential": "3s"}, "3 s on average (exponential)"),
        ({"pareto": {"shape": 1.3, "minimum": "4kB", "maximum": "2MB"}}, "4 kB to 2 MB (Pareto, shape 1.3)"),
        ({"lognormal": {"median": "4kB", "sigma": 1.5}}, "around 4 kB (log-normal, σ 1.5)"),
        ({"mixture": [{"weight": 0.25, "value": "1kB"}, {"weight": 0.75, "value": "9kB"}]}, "25 %: 1 kB; 75 %: 9 kB"),
        ({"cdf": [["1kB", 0.1], ["9kB", 1.0]]}, "1 kB to 9 kB (measured distribution)"),
        ({"list": ["1ms", "2ms"], "jitter": {"uniform": ["0s", "1ms"]}}, "1 ms, 2 ms plus 0 ms to 1 ms"),
        ({"choice": ["1ms", "5ms"]}, "one of 1 ms, 5 ms"),
        ({"exponential": "79.013777923ms"}, "79 ms on average (exponential)"),
        ({"value": "2.5Mbps"}, "2.5 Mb/s"),
        (12, "12"),
    ],
)
def test_laws_in_words(law: Any, words: str) -> None:
    assert in_words(law) == words


def test_ticks_are_round_and_few() -> None:
    decades = Axis("", 1, 1250, by_decades=True)
    assert decades.ticks(11) == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    assert decades.ticks(5) == [1, 10, 100, 1000]
    assert Axis("", 40, 101).ticks(6) == [40, 60, 80, 100]
    assert Axis("", 0, 0.0173).ticks(6) == [0, 0.005, 0.01, 0.015]
    assert decades(1e9) == 1, "kept at the end"
    assert Axis("", 0, 3, integral=True).ticks(6) == [0, 1, 2, 3]


# In a browser ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["feasible", "conflict"])
def test_fits_every_screen_without_an_error(
    browser: Any, which: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "report.html"
    path.write_text(page_of(request.getfixturevalue(which)), encoding="utf-8")
    for width in (360, 641, 1600):
        show(browser, path, width)
        wide, room = browser.execute_script(
            "const page = document.documentElement; return [page.scrollWidth, page.clientWidth]"
        )
        assert wide <= room, f"scrolls sideways at {width} px"
        drawn = browser.execute_script(
            "return [...document.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().width > 0)"
            ".map(svg => [svg.getAttribute('class'), svg.getBoundingClientRect().width])"
        )
        assert {name for name, _ in drawn} == {"narrow" if width == 360 else "wide"}
        assert all(300 <= across <= width for _, across in drawn)
        assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []


def test_hovering_shows_values_and_switches_hide_series(browser: Any, feasible: Recommendation, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page_of(feasible), encoding="utf-8")
    show(browser, path, 1600)
    hover = """
        const svg = document.querySelectorAll('figure svg.wide')[2];
        const point = svg.querySelector('.s-mean .pt[data-buffer="%d"]').getBoundingClientRect();
        svg.dispatchEvent(new PointerEvent('pointermove', {clientX: point.x + 2, clientY: point.y + 9, bubbles: true}));
        return [document.getElementById('tip').hidden, document.getElementById('tip').textContent];
    """
    hidden, text = browser.execute_script(hover % (feasible.packets or 0))
    assert not hidden
    assert f"{feasible.packets} packets" in text
    assert "utilization" in text
    marked = browser.execute_script("return document.querySelectorAll('.pt.here').length")
    assert marked >= 3, "the same buffer is marked in every picture"
    hidden_after = """
        const input = document.querySelector('[data-series="band"]');
        input.click();
        return [...document.querySelectorAll('.s-band')].map(part => getComputedStyle(part).display);
    """
    assert set(browser.execute_script(hidden_after)) == {"none"}
    assert "none" not in browser.execute_script(hidden_after)
    assert browser.get_log("browser") == []


def test_every_axis_has_a_title_with_its_unit(browser: Any, feasible: Recommendation, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page_of(feasible), encoding="utf-8")
    show(browser, path, 1600)
    titles = browser.execute_script(
        "return [...document.querySelectorAll('svg')]"
        ".map(svg => [...svg.querySelectorAll('.title')].map(title => title.textContent))"
    )
    assert all("buffer (packets)" in (each[-1] if len(each) == 1 else each[0] + each[1]) for each in titles), (
        "horizontal axes"
    )
    vertical = {title for each in titles for title in each if not title.startswith("buffer")}
    assert vertical == {"utilization (%)", "loss rate (%)", "p99 delay (ms)"}


def test_prints_on_a4(browser: Any, feasible: Recommendation, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page_of(feasible), encoding="utf-8")
    show(browser, path, 1600)
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
    pdf = base64.b64decode(printed["data"])
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert 3 <= pages <= 8
    boxes = re.findall(rb"/MediaBox\s*\[\s*0\s+0\s+([\d.]+)\s+([\d.]+)\s*\]", pdf)
    assert len(boxes) >= 1
    for width, height in boxes:
        assert float(width) == pytest.approx(210 / 25.4 * 72, abs=1)
        assert float(height) == pytest.approx(297 / 25.4 * 72, abs=1)


#: Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def lab(red: float, green: float, blue: float) -> tuple[float, float, float]:
    """CIE L*a*b* (D65) of linear RGB."""
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    whole = (0.9505, 1.0, 1.089)
    x, y, z = (
        max(1e-6, sum(a * b for a, b in zip(row, (red, green, blue), strict=True))) / white
        for row, white in zip(rows, whole, strict=True)
    )
    fx, fy, fz = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("vision", VISION)
def test_lines_differ_in_any_color_vision(vision: str) -> None:
    style = (ROOT / "python" / "forebay" / "views" / "webpage.css").read_text(encoding="utf-8")
    seen = []
    for name in ("blue", "orange", "green"):
        match = re.search(rf"--{name}: #([0-9a-f]{{6}})", style)
        assert match is not None
        channels = [int(match[1][at : at + 2], 16) / 255 for at in (0, 2, 4)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        seen.append(lab(*(sum(a * b for a, b in zip(row, linear, strict=True)) for row in VISION[vision])))
    for index, one in enumerate(seen):
        for other in seen[index + 1 :]:
            # 10 is where side-by-side colors are plainly two; the lines also differ in width and dashes.
            assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 15
