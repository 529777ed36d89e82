"""The page and the terminal's text of an observation: the answer first, everything there, nothing taken for markup."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from forebay.observation.estimate import Unknown
from forebay.observation.finding import Finding
from forebay.views import observation_words
from forebay.views.chart import Band, Curve, Words
from forebay.views.chart_svg import svg
from forebay.views.observation_charts import Reading, Reference, span_chart
from forebay.views.observation_page import observation_page
from forebay.views.page_charts import WIDE
from forebay.views.scales import Axis
from tests.support.browsers import show
from tests.support.markup import HARMLESS, HOSTILE, VIEWS, outline
from tests.support.markup import Reading as Reader
from tests.support.observations import ADDRESS, ADDRESSES, made, saying, text_of


@pytest.fixture(scope="module")
def finding() -> Finding:
    return made(620)


def page_of(finding: Finding) -> str:
    return observation_page(finding, command="forebay observe port.pcapng", version="0.1.0")


# The terminal ----------------------------------------------------------------------------------------------------


def test_the_first_three_lines_are_the_answer(finding: Finding) -> None:
    link, limited, regime = observation_words.answer(finding)
    assert link == "98.7 Mb/s (98.4 to 99.0) link, droptail, buffer unknown"
    assert limited == (
        "The link limits 8 long flows (7 to 9) at a time, round trips 21.3 ms to 39.8 ms; "
        "other long flows: 3 limited by the application"
    )
    assert regime.startswith("Traffic regime elastic: 8 long flows fill the link; ")
    lines = text_of(finding, 200).splitlines()
    assert lines[:3] == [link, limited, regime]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_text_fits_the_terminal(finding: Finding, width: int) -> None:
    text = text_of(finding, width)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    for unknown in finding.unidentified:
        assert f"{unknown.quantity}: unknown, because {unknown.because}" in words
    for group in finding.groups:
        assert group.name.split()[0] in words
    assert "Segmentation offload" in words
    assert "5 min" in words


def test_columns_leave_before_names_are_wrapped(finding: Finding) -> None:
    narrow, wide = text_of(finding, 80), text_of(finding, 200)
    assert "long flows, 20 to 40 ms" in narrow
    assert "9.10 Mb/s (8.80 to 9.40)" in narrow
    assert "workload" not in narrow
    assert "workload" in wide
    assert "duration" in wide
    between = text_of(finding, 112)
    assert " loss " in between
    assert "duration" not in between


def test_unknown_quantities_are_marked_as_unknown(finding: Finding) -> None:
    unknown = Unknown("limited flows", "the input has no flows", "a capture")
    bare = dataclasses.replace(
        finding,
        link=dataclasses.replace(finding.link, rate=Unknown("the link's rate", "it was idle", "a busy hour")),
        limited_flows=unknown,
        groups=(),
        flows=(),
    )
    link, limited, _ = observation_words.answer(bare)
    assert link.startswith("Link of unknown rate (at least ")
    assert limited == "The number of long flows that the link limits is unknown, because the input has no flows"
    assert "because it was idle" in " ".join(text_of(bare).split())
    assert page_of(bare)


# The page --------------------------------------------------------------------------------------------------------


def test_the_page_says_everything_and_fetches_nothing(finding: Finding) -> None:
    page = page_of(finding)
    found = outline(page)
    text = " ".join(" ".join(found.words).split())
    assert found.addresses == ["data:,"]
    assert "url(" not in page
    assert len(page) < 900_000
    answer = [text.index(f"{line}.") for line in observation_words.answer(finding)]
    assert answer == sorted(answer)
    assert max(answer) < text.index("Flows and applications") < text.index("Load over time")
    for phrase in (
        "In windows of 1 ms",
        "In windows of 100 ms",
        "In windows of 1 s",
        "In windows of 5 min",
        "Burstiness over time scales",
        "Size of short transfers",
        "Round trip without queueing",
        "Traffic regime: elastic",
        "Unknown values",
        "forebay observe port.pcapng",
        'rate = "98.7Mbps"',
    ):
        assert phrase in re.sub(" +", " ", text), phrase
    for unknown in finding.unidentified:
        assert unknown.because[1:] in text
        assert unknown.measure[1:] in text
    for flow in finding.flows:
        assert flow.role in text


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_address_is_on_the_page(finding: Finding, address: str) -> None:
    page = observation_page(saying(finding, f"dump of {address}"), command=f"observe {address}.pcap", version="0.1.0")
    assert address not in page
    assert ADDRESS.search(" ".join(outline(page).words)) is None
    assert ADDRESS.search(text_of(saying(finding, f"dump of {address}"))) is None


def test_the_page_takes_no_text_for_markup(finding: Finding) -> None:
    hostile, harmless = (page_of(saying(finding, text)) for text in (HOSTILE, HARMLESS))
    found = Reader(hostile)
    assert found.elements == Reader(harmless).elements
    assert found.inside("script") == (VIEWS / "webpage.js").read_text(encoding="utf-8").strip()
    assert found.inside("style") == (VIEWS / "webpage.css").read_text(encoding="utf-8").strip()
    assert "<img" not in hostile
    assert sum(HOSTILE.partition("\u2028")[0] in text for _, text in found.texts) > 8


def test_the_page_fits_every_screen_without_an_error(browser: Any, finding: Finding, tmp_path: Path) -> None:
    path = tmp_path / "observation.html"
    path.write_text(page_of(finding), encoding="utf-8")
    for width in (360, 641, 1280):
        show(browser, path, width)
        wide, room = browser.execute_script(
            "const page = document.documentElement; return [page.scrollWidth, page.clientWidth]"
        )
        assert wide <= room, f"scrolls sideways at {width} px"
        drawn = browser.execute_script(
            "return [...document.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().width > 0)"
            ".map(svg => svg.getAttribute('class'))"
        )
        assert set(drawn) == {"narrow" if width == 360 else "wide"}
        assert len(drawn) == 7
    assert browser.get_log("browser") == []


def test_pointing_at_the_load_says_it(browser: Any, finding: Finding, tmp_path: Path) -> None:
    path = tmp_path / "observation.html"
    path.write_text(page_of(finding), encoding="utf-8")
    show(browser, path, 1280)
    hover = """
        const svg = document.querySelector('figure svg.wide');
        const point = svg.querySelectorAll('.s-mean .pt')[40].getBoundingClientRect();
        svg.dispatchEvent(new PointerEvent('pointermove', {clientX: point.x, clientY: point.y, bubbles: true}));
        return [document.getElementById('tip').hidden, document.getElementById('tip').textContent];
    """
    hidden, text = browser.execute_script(hover)
    assert not hidden
    assert re.search(r"at \d.* (s|min)", text)
    assert "windows of 1 ms: " in text


# Charts ----------------------------------------------------------------------------------------------------------


def test_a_chart_stands_where_its_values_are() -> None:
    readings = [Reading(0.0, 10, 5, 20, "first"), Reading(1.0, 30, 20, 40, "second"), Reading(4.0, 0, 0, 0, "third")]
    chart = span_chart("time (s)", "load (Mb/s)", readings, Reference("the rate", ((0.0, 50.0),)), key="k ")
    (panel,) = chart.panels
    band, mean, line, words = panel.series
    assert isinstance(band, Band)
    assert isinstance(mean, Curve)
    assert isinstance(line, Curve)
    assert isinstance(words, Words)
    assert list(band.points) == [(0.0, 5, 20), (1.0, 20, 40), (4.0, 0, 0)]
    assert list(mean.points) == [(0.0, 10), (1.0, 30), (4.0, 0)]
    assert [(tip.text, tip.key) for tip in mean.tips] == [("first", "k 0"), ("second", "k 1"), ("third", "k 2")]
    assert {y for _, y in line.points} == {words.up} == {50.0}
    assert (words.text, words.above) == ("the rate", True)
    assert (chart.across.low, chart.across.high) == (0.0, 4.0)
    assert isinstance(panel.up, Axis)
    assert panel.up.high == pytest.approx(1.2 * 50), "room for the name above its line"


def test_axes_by_decades_show_nothing_below_their_end() -> None:
    readings = [Reading(10.0**n, 10.0**n, 0.0, 10.0**n, "") for n in range(4)]
    chart = span_chart("s", "p", readings, by_decades=(True, True))
    (panel,) = chart.panels
    assert isinstance(panel.up, Axis)
    assert chart.across.by_decades
    assert panel.up.by_decades
    drawn = places(re.findall(r'<g class="s-band"><path d="([^"]*)"', ET.tostring(svg(chart, WIDE), "unicode"))[0])
    assert all(0 <= y <= WIDE.width for _, y in drawn)


def test_the_load_reaches_up_to_the_links_rate(finding: Finding) -> None:
    page = page_of(finding)
    figure = page[page.index("<figcaption>In windows of 1 ms") :]
    figure = figure[: figure.index("</svg>")]
    band, line = (re.search(rf'<g class="s-{name}"><path d="([^"]*)"', figure) for name in ("band", "law"))
    assert band is not None
    assert line is not None
    assert min(y for _, y in places(band[1])) == pytest.approx(places(line[1])[0][1], abs=2)


def places(drawn: str) -> list[tuple[float, ...]]:
    """The points of a path."""
    return [tuple(map(float, pair.split())) for pair in re.split("[MLZ]", drawn) if pair]


def test_laws_are_drawn_beside_their_data(finding: Finding) -> None:
    page = page_of(finding)
    figure = page[page.index("<figcaption>Size of short transfers") :]
    figure = figure[: figure.index("</svg>")]
    data, law = (places(re.findall(rf'<g class="s-{name}"><path d="([^"]*)"', figure)[0]) for name in ("mean", "law"))
    heights = dict(law)
    near = [abs(y - heights[min(heights, key=lambda at: abs(at - x))]) for x, y in data]
    assert max(near) < 0.12 * 184, "a law that passes lies on its data"
