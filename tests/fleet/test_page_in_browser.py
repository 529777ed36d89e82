"""The page of an audit in a browser: it filters and sorts, each port has a view, and it works without a mouse."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest

from checks.fleet_page import example
from forebay import FleetAnswer
from forebay.fleets.measuring import MeasuredGoal, MeasuredPoint
from forebay.views.fleet_page import fleet_page
from tests.fleet.page import column, data_of
from tests.support.browsers import show
from tests.support.laboratory_page import until

#: Keys as WebDriver writes them (W3C WebDriver, section 17.4.2).
ENTER, ARROW_RIGHT = "\ue007", "\ue014"
#: Names that try to leave their place in a page or in its address.
HOSTILE = (
    "<script>window.wrong=1</script>",
    "a/b",
    "100%",
    "%41",
    "\"'><img src=x onerror=window.wrong=2>",
    "line\nbreak",
    "\u202etxt.exe",
    "\u05e9\u05dc\u05d5\u05dd",
    "x" * 10_000,
    "#port=other",
    "&amp;",
)


class Page:
    """A page of an audit as its reader sees it."""

    def __init__(
        self, browser: Any, path: Path, text: str, fragment: str = "", width: int = 1280, **screen: str
    ) -> None:
        path.write_text(text, encoding="utf-8")
        self.browser, self.data = browser, data_of(text)
        browser.get("about:blank")
        show(browser, path, width, **screen)
        if fragment:
            browser.get("about:blank")
            browser.get(f"{path.as_uri()}{fragment}")

    def script(self, text: str, *arguments: Any) -> Any:
        return self.browser.execute_script(text, *arguments)

    def element(self, selector: str) -> Any:
        return self.browser.find_element("css selector", selector)

    def find(self, words: str) -> None:
        field = self.element("#find")
        field.clear()
        field.send_keys(words)

    def choose(self, name: str, value: str) -> None:
        self.script(
            """const list = document.getElementById(arguments[0]);
            list.value = [...list.options].find((it) => it.text.startsWith(arguments[1])).value;
            list.dispatchEvent(new Event('change', {bubbles: true}))""",
            name,
            value,
        )

    @property
    def count(self) -> str:
        return str(self.script("return document.getElementById('count').textContent"))

    def cells(self, name: str) -> list[str]:
        """The texts of a column of the rows in view."""
        return list(
            self.script(
                """return [...document.querySelectorAll('#table tbody tr')].map((row) =>
                row.querySelector(`td[data-label="${arguments[0]}"]`).textContent)""",
                name,
            )
        )

    def head(self, name: str) -> Any:
        return self.element(f'#table th[data-name="{name}"] button')

    def view(self) -> str:
        return str(
            self.script("const port = document.getElementById('port'); return port.hidden ? '' : port.innerText")
        )


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> FleetAnswer:
    return example(400, 300, tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def text(answer: FleetAnswer) -> str:
    return fleet_page(answer, source="network.csv")


@pytest.fixture
def page(browser: Any, text: str, tmp_path: Path) -> Page:
    return Page(browser, tmp_path / "index.html", text)


def test_words_filter_the_table(page: Page, answer: FleetAnswer) -> None:
    assert page.count == "All 400 ports"
    assert len(page.cells("device")) == 50
    page.find("metro1 IOS-XE")
    wanted = answer.ports.filter(pl.col("device").str.contains("metro1") & (pl.col("platform") == "ios-xe"))
    assert page.count == f"{wanted.height} of 400 ports"
    assert 0 < wanted.height < 50
    assert sorted(page.cells("port")) == sorted(wanted["port"])
    page.find("no such port")
    assert (page.count, page.cells("device")) == ("0 of 400 ports", [])
    page.element("#reset").click()
    assert page.count == "All 400 ports"


def test_verdict_and_profile_filter_together_and_marks_of_other_ports_are_pale(page: Page, answer: FleetAnswer) -> None:
    page.choose("verdict", "fine")
    page.choose("profile", "core")
    wanted = answer.ports.filter((pl.col("verdict") == "fine") & (pl.col("profile_used") == "core"))
    assert page.count == f"{wanted.height} of 400 ports"
    assert set(page.cells("verdict")) == {"fine"}
    assert set(page.cells("profile")) == {"core"}
    pale = "return [document.querySelectorAll('.pt.off').length, document.querySelectorAll('.pt').length]"
    some, every = page.script(pale)
    assert 0 < some < every
    page.element("#reset").click()
    assert page.script(pale) == [0, every]


def test_columns_sort_both_ways_by_their_values_and_ports_without_one_come_last(
    page: Page, answer: FleetAnswer
) -> None:
    head = page.head("needed_bytes")
    state = "return arguments[0].parentElement.getAttribute('aria-sort')"
    assert page.script(state, head) == "none"
    expected = column(page.data, "needed_bytes")
    present = answer.ports["needed_bytes"].is_not_null()
    order = answer.ports.with_row_index().filter(present).sort("needed_bytes")["index"].to_list()
    for wanted, rows in (("ascending", order), ("descending", order[::-1])):
        head.click()
        assert page.script(state, head) == wanted
        assert page.cells("needed (about)") == [expected[row] for row in rows[:50]]
    while page.element("#after").is_enabled():
        page.script("document.getElementById('after').click()")
    assert page.cells("needed (about)")[-1] == ""
    assert [each.get_attribute("aria-sort") for each in page.browser.find_elements("css selector", "#table th")].count(
        "none"
    ) == len(page.browser.find_elements("css selector", "#table th")) - 1


def test_names_sort_by_their_numbers(page: Page) -> None:
    page.head("device").click()
    devices = list(dict.fromkeys(page.cells("device")))
    assert devices == [f"access{number}" for number in range(1, len(devices) + 1)]


def test_rows_are_turned_in_pages(page: Page) -> None:
    seen = list(zip(page.cells("device"), page.cells("port"), strict=True))
    assert not page.element("#before").is_enabled()
    for _ in range(7):
        page.script("document.getElementById('after').click()")
        seen += zip(page.cells("device"), page.cells("port"), strict=True)
    assert len(set(seen)) == 400
    assert page.script("return document.getElementById('range').textContent") == "351 to 400 of 400"
    assert not page.element("#after").is_enabled()


def test_the_table_works_with_the_keyboard_alone(page: Page) -> None:
    page.head("margin").send_keys(ENTER)
    assert page.head("margin").find_element("xpath", "..").get_attribute("aria-sort") == "ascending"
    link = page.element("#table tbody a")
    name = link.text
    link.send_keys(ENTER)
    until(lambda: name in page.view())
    assert page.script("return document.activeElement.tagName") == "H1"
    page.element("#port .back a").send_keys(ENTER)
    until(lambda: page.view() == "")
    assert page.script("return document.activeElement.textContent") == name


@pytest.mark.parametrize("by", ["click", "key"])
def test_a_mark_of_the_picture_lists_its_ports(by: str, page: Page) -> None:
    picture = page.element("svg.wide")
    if by == "key":
        picture.send_keys(ARROW_RIGHT)
    else:
        page.script(
            """const mark = document.querySelector('svg.wide .s-large .pt');
            const box = mark.getBoundingClientRect();
            const at = {bubbles: true, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2};
            mark.dispatchEvent(new PointerEvent('pointermove', at));
            mark.dispatchEvent(new MouseEvent('click', at))"""
        )
    tip = str(page.script("return document.getElementById('tip').textContent"))
    if by == "key":
        picture.send_keys(ENTER)
    verdict, _, rate = tip.partition("\n")[0].partition(", ")
    assert set(page.cells("verdict")) == {verdict}
    assert set(page.cells("rate")) == {rate}
    others = int(tip.partition(" and ")[2].split()[0]) if " and " in tip else 0
    assert page.count == f"{others + 1} of 400 ports"
    assert page.element("#only").text.startswith("Only the ports of a mark")


def test_the_number_of_a_verdict_lists_its_ports(page: Page, answer: FleetAnswer) -> None:
    page.script("document.querySelector('button[data-verdict=\"too small\"]').click()")
    assert page.count == f"{answer.counts['too small']} of 400 ports"
    assert set(page.cells("verdict")) == {"too small"}


def test_a_link_opens_the_view_of_a_port(browser: Any, text: str, answer: FleetAnswer, tmp_path: Path) -> None:
    row = answer.ports.filter(pl.col("verdict") == "too small").row(0, named=True)
    fragment = f"#port={quote(row['device'], safe='')}/{quote(row['port'], safe='')}"
    page = Page(browser, tmp_path / "index.html", text, fragment)
    view = page.view()
    assert view.startswith("All ports")
    for words in (
        f"{row['device']} {row['port']}",
        "too small",
        "recommended",
        "with the recommended buffer",
        row["reason"],
        row["platform"],
        "80 %",
        "8 runs",
    ):
        assert words in view, words
    assert "utilization is at least 95 %" in view
    assert browser.title.startswith(f"{row['device']} {row['port']}: ")
    assert '"rate"' in page.script("return document.querySelector('#port details pre').textContent")
    browser.execute_script("location.hash = ''")
    until(lambda: page.view() == "")
    assert page.count == "All 400 ports"
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("fragment", ["#port=none/such", "#port=%", "#port=", "#port=a/b/c/d"])
def test_a_link_to_no_port_says_so(fragment: str, browser: Any, text: str, tmp_path: Path) -> None:
    page = Page(browser, tmp_path / "index.html", text, fragment)
    assert "This port is not in the audit" in page.view()
    assert browser.get_log("browser") == []


def test_a_link_has_the_class_of_a_port_that_has_one(browser: Any, answer: FleetAnswer, tmp_path: Path) -> None:
    twice = pl.Series("port", ["e/0"] * 3 + answer.ports["port"].to_list()[3:])
    devices = pl.Series("device", ["x"] * 3 + answer.ports["device"].to_list()[3:])
    classes = pl.Series("service_class", [None, "voice", "bulk data", *[None] * (answer.ports.height - 3)])
    changed = dataclasses.replace(answer, ports=answer.ports.with_columns(devices, twice, classes))
    text = fleet_page(changed, source="network.csv")
    for name, heading in (("", "x e/0"), ("/voice", "x e/0 voice"), ("/bulk%20data", "x e/0 bulk data")):
        for port in ("e%2F0", "e/0"):
            page = Page(browser, tmp_path / "index.html", text, f"#port=x/{port}{name}")
            assert page.element("#port h1").text == heading
    page = Page(browser, tmp_path / "index.html", text, "#port=x/e%2F0/video")
    assert "This port is not in the audit" in page.view()
    page = Page(browser, tmp_path / "index.html", text)
    page.find("bulk x")
    assert page.element("#table tbody a").get_attribute("href").endswith("#port=x/e%2F0/bulk%20data")


def test_the_view_of_a_port_lists_equal_ports(browser: Any, text: str, answer: FleetAnswer, tmp_path: Path) -> None:
    digest = max(answer.ports_of, key=lambda each: answer.ports_of[each])
    row = answer.ports.filter(pl.col("question") == digest).row(0, named=True)
    page = Page(browser, tmp_path / "index.html", text, f"#port={row['device']}/{quote(row['port'], safe='')}")
    page.element("#port table button").click()
    until(lambda: page.view() == "")
    assert page.count == f"{answer.ports_of[digest]} of 400 ports"


def test_the_view_of_a_port_has_measured_buffers_and_the_text_of_the_search(
    browser: Any, answer: FleetAnswer, tmp_path: Path
) -> None:
    digest = next(each for each in answer.first if answer.judgments[each].verdict == "too small")
    question = answer.questions[digest]
    scenario = question.scenario()
    own = scenario.buffer.bytes
    goals = [MeasuredGoal(each.key, each.sense, each.threshold, 0.5, 0.1, "missed", 0.8) for each in scenario.goals]
    points = tuple(MeasuredPoint(tuple(goals), own * factor, 4, 0.01, 0.02) for factor in (1.0, 2.0))
    judgment = dataclasses.replace(answer.judgments[digest], text="We recommend  <b>two</b>\n  spaces")
    changed = dataclasses.replace(
        answer, points={question.link: points}, judgments={**answer.judgments, digest: judgment}
    )
    row = answer.example(digest)
    page = Page(
        browser,
        tmp_path / "index.html",
        fleet_page(changed, source="network.csv"),
        f"#port={row['device']}/{quote(row['port'], safe='')}",
    )
    assert page.script("return document.querySelectorAll('#port tr.own').length") == 1
    assert "(as configured)" in page.element("#port tr.own").text
    assert page.script("return document.querySelectorAll('#port tbody tr').length") == 2
    assert page.script("return [...document.querySelectorAll('#port pre')].at(-1).textContent") == judgment.text


def test_hostile_names_stay_names(browser: Any, answer: FleetAnswer, tmp_path: Path) -> None:
    names = [HOSTILE[row % len(HOSTILE)] for row in range(answer.ports.height)]
    others = [f"{name}{row}" for row, name in enumerate(reversed(names))]
    ports = answer.ports.with_columns(pl.Series("device", names), pl.Series("port", others))
    changed = dataclasses.replace(answer, ports=ports)
    page = Page(browser, tmp_path / "index.html", fleet_page(changed, source=HOSTILE[0]))
    for _ in range(5):
        devices, verdicts = page.cells("device"), page.cells("verdict")
        places = [number for number, name in enumerate(devices) if name][:12]
        for place in places:
            link = page.browser.find_elements("css selector", "#table tbody tr")[place].find_elements(
                "css selector", "a"
            )
            page.script("arguments[0].click()", link[0])
            view = until(page.view)
            assert verdicts[place] in view
            assert "not in the audit" not in view
            page.script("location.hash = ''")
            until(lambda: page.view() == "")
        page.script("document.getElementById('after').click()")
    assert page.script("return [window.wrong ?? 0, document.images.length]") == [0, 0]
    assert page.script("return document.querySelectorAll('script').length") == 3
    assert browser.get_log("browser") == []


@pytest.mark.parametrize(("width", "fragment"), [(1280, ""), (400, ""), (320, ""), (320, "#port=access1/ether1")])
def test_nothing_is_wider_than_the_screen(width: int, fragment: str, browser: Any, text: str, tmp_path: Path) -> None:
    page = Page(browser, tmp_path / "index.html", text, fragment, width=width)
    assert page.script("return document.documentElement.scrollWidth") <= width
    shown = "return [...document.querySelectorAll('svg')].filter((it) => it.checkVisibility()).length"
    assert page.script(shown) == (0 if fragment else 1)
    assert page.script("return performance.getEntriesByType('resource').length") == 0


def test_there_are_colors_for_the_night_and_no_controls_on_paper(browser: Any, text: str, tmp_path: Path) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    found = [
        Page(browser, tmp_path / "index.html", text, scheme=scheme).script(background) for scheme in ("light", "dark")
    ]
    assert found[0] != found[1]
    page = Page(browser, tmp_path / "index.html", text, width=690, media="print")
    assert page.script("return document.documentElement.scrollWidth") <= 690, "a page of A4 is as wide"
    hidden = "return [...document.querySelectorAll('.filters, .pager')].every((it) => !it.checkVisibility())"
    assert page.script(hidden)


def test_each_cell_and_control_has_a_name(page: Page) -> None:
    assert page.script("return [...document.querySelectorAll('input, select')].every((it) => it.labels.length === 1)")
    assert page.script("return [...document.querySelectorAll('button')].every((it) => it.textContent !== '')")
    assert page.script("return [...document.querySelectorAll('th')].every((it) => it.textContent !== '')")
    assert page.script("return document.querySelectorAll('main:not([hidden])').length") == 1
