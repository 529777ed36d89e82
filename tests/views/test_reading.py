"""The pages as readers meet them: by day and by night, at a desk and on a telephone, with eyes or a screen reader."""

from __future__ import annotations

import dataclasses
import itertools
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from forebay import Scenario, recommend
from forebay.papers.catalog import load
from forebay.papers.claims import Measured, judge
from forebay.papers.gallery import Drawn, Gallery
from forebay.papers.page import write_page
from forebay.search.answer import Recommendation
from forebay.search.tradeoff import front
from forebay.views.observation_page import observation_page
from forebay.views.webpage import recommendation_page
from tests.support.browsers import show
from tests.support.observations import made
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL

SCHEMES = ("light", "dark")
WIDTHS = (390, 1280)

#: Three goals about one metric, and names that leave little room.
CROWDED = SMALL.replace('"bulk"', '"downloads-of-the-northern-office"').replace(
    'queue_delay_p99 = "<= 150ms"',
    'queue_delay_p99 = "<= 150ms"\n"downloads-of-the-northern-office.goodput" = ">= 0.3Mbps"',
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every kind of page."""
    folder = tmp_path_factory.mktemp("pages")
    small = recommend(Scenario.parse(SMALL), also=["5p"], sensitivity=True, platforms=["linux"])
    small = dataclasses.replace(small, pareto=front(small, "utilization,queue_delay_p99"))
    crowded = recommend(Scenario.parse(CROWDED), also=["17p"])
    conflict = recommend(Scenario.parse(SMALL), ["utilization>=0.99", "queue_delay_p99<=20ms"])
    found = {}
    for name, answer in (("feasible", small), ("crowded", crowded), ("conflict", conflict)):
        found[name] = folder / f"{name}.html"
        found[name].write_text(_page(answer), encoding="utf-8")
    found["gallery"] = _gallery(folder)
    found["observation"] = folder / "observation.html"
    observed = observation_page(made(620), command="forebay observe port.pcapng", version="0.1.0")
    found["observation"].write_text(observed, encoding="utf-8")
    return found


def _page(answer: Recommendation) -> str:
    return recommendation_page(answer, source=SMALL, command="forebay recommend small.toml")


def _gallery(folder: Path) -> Path:
    """One figure of each verdict, with and without a picture."""
    paper = load("barman")
    drawn = []
    for number, figure in enumerate(paper.figures[:3]):
        verdicts = tuple(judge(claim, Measured((0.0, 1e9, 0.5)[number], 0.0)) for claim in figure.claims)
        picture = ROOT / "docs" / "images" / "papers" / "barman-fig3.png" if number < 2 else None
        drawn.append(Drawn(paper, figure, verdicts, picture, "" if picture else "no data", quick=number == 1))
    return write_page(Gallery(tuple(drawn), True, folder / "gallery.html"))


AXE = Path(next(iter(find_spec("axe_playwright_python").submodule_search_locations))) / "axe.min.js"  # type: ignore[union-attr,arg-type]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("scheme", "width"), list(itertools.product(SCHEMES, WIDTHS)))
@pytest.mark.parametrize("which", ["feasible", "crowded", "conflict", "gallery", "observation"])
def test_axe_finds_nothing(browser: Any, pages: dict[str, Path], which: str, scheme: str, width: int) -> None:
    show(browser, pages[which], width, scheme=scheme)
    # Folded parts are read, too.
    browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    assert len(found["passes"]) > 10, "it looked"
    violations = [
        f"{each['impact']}: {each['id']}: {each['help']}: {[node['html'][:120] for node in each['nodes'][:3]]}"
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
    ]
    assert violations == []
    wide, room = browser.execute_script(
        "const page = document.documentElement; return [page.scrollWidth, page.clientWidth]"
    )
    assert wide <= room
    paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", paper)[:3])) / 765
    assert brightness > 0.9 if scheme == "light" else brightness < 0.15


#: Boxes of all texts of each chart that is seen, and what holds them.
BOXES = """
const box = (part) => { const b = part.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
return [...document.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().width > 0).map(svg => [
  svg.getAttribute('aria-label'), box(svg),
  [...svg.querySelectorAll('text')].map(text => [text.textContent, box(text)])
]);
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("width", [360, 390, 1280])
@pytest.mark.parametrize("which", ["feasible", "crowded", "conflict", "observation"])
def test_no_words_of_a_chart_meet(browser: Any, pages: dict[str, Path], which: str, width: int) -> None:
    show(browser, pages[which], width)
    charts = browser.execute_script(BOXES)
    assert len(charts) >= 4
    for label, room, texts in charts:
        assert len(texts) > 5
        for words, box in texts:
            assert box[0] >= room[0] - 1, (label, words, "leaves on the left")
            assert box[2] <= room[2] + 1, (label, words, "leaves on the right")
            assert box[1] >= room[1] - 1, (label, words, "leaves above")
            assert box[3] <= room[3] + 1, (label, words, "leaves below")
        for (one, a), (other, b) in itertools.combinations(texts, 2):
            # A line's box has air above and below its letters.
            meets = a[0] + 1 < b[2] - 1 and b[0] + 1 < a[2] - 1 and a[1] + 3 < b[3] - 3 and b[1] + 3 < a[3] - 3
            assert not meets, (label, one, other)


@pytest.mark.parametrize("which", ["feasible", "gallery", "observation"])
def test_paper_is_white_by_night_as_well(browser: Any, pages: dict[str, Path], which: str) -> None:
    for scheme in SCHEMES:
        show(browser, pages[which], 1280, scheme=scheme, media="print")
        style = "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
        paper, ink = browser.execute_script(style)
        assert paper == "rgb(255, 255, 255)"
        assert sum(map(int, re.findall(r"\d+", ink)[:3])) < 150
    show(browser, pages[which], 1280)


@pytest.mark.parametrize("which", ["feasible", "conflict", "gallery"])
def test_the_link_stands_under_the_title(pages: dict[str, Path], which: str) -> None:
    text = pages[which].read_text(encoding="utf-8")
    if which == "gallery":
        assert "(coarse)" in text
        assert "(full)" in text
    else:
        assert re.search(r'</h1>\s*<p class="link">2 Mb/s · buffer limit in packets · droptail queue · ', text)


# Colors ----------------------------------------------------------------------------------------------------------


def palettes(sheet: str) -> dict[str, dict[str, str]]:
    """The named colors of a style sheet by day and by night."""
    style = (ROOT / "python" / "forebay" / "views" / sheet).read_text(encoding="utf-8")
    day, night = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    named = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", part)) for part in (day, night)]
    assert named[0].keys() == named[1].keys()
    return dict(zip(SCHEMES, named, strict=True))


def luminance(color: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio (WCAG 2.2)."""
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_contrast_is_enough(scheme: str) -> None:
    """AA: 4.5 for words, 3 for what is drawn."""
    colors = palettes("webpage.css")[scheme]
    for name in ("ink", "soft", "good", "bad", "link"):
        for paper in ("card", "page"):
            assert contrast(colors[name], colors[paper]) >= 4.5, (name, paper)
    assert contrast(colors["tip"], colors["tip-ink"]) >= 4.5
    for name in ("blue", "orange", "green", "pink", "rule", "other", "edge", "here"):
        assert contrast(colors[name], colors["card"]) >= 3, name
    colors = palettes("gallery.css")[scheme]
    for name in ("ink", "soft", "good", "bad", "open", "link"):
        assert contrast(colors[name], colors["page"]) >= 4.5, name


def test_colors_are_named() -> None:
    """A color outside the two palettes would be the same by day and by night."""
    for sheet in ("webpage.css", "gallery.css"):
        style = (ROOT / "python" / "forebay" / "views" / sheet).read_text(encoding="utf-8")
        rest = re.sub(r":root \{.*?\}", "", style, flags=re.DOTALL)
        assert re.findall(r"#[0-9a-f]{3,8}\b(?![\w-]*\s*\{)", rest.replace("#pictures", "").replace("#tip", "")) == []
        assert set(re.findall(r"var\(--([\w-]+)\)", style)) <= palettes(sheet)["light"].keys()
