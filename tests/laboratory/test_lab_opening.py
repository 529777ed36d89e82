"""The first seconds in the laboratory, and its screens: a phone, a hall and paper."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from forebay.errors import UnsupportedError
from forebay.laboratory.page import laboratory_page
from forebay.scenario import Scenario
from tests.support.browsers import lacking, show
from tests.support.laboratory_page import QUICK, Lab, button, fragment, until


@pytest.fixture(scope="module")
def own_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built page with its own scenario."""
    try:
        text = laboratory_page()
    except UnsupportedError as error:
        lacking(str(error))
    path = tmp_path_factory.mktemp("lab") / "lab.html"
    path.write_text(text, encoding="utf-8")
    return path


def number(lab: Lab) -> str:
    """The buffer in its number field."""
    return str(lab.browser.execute_script("return document.querySelector('.buffer .number').value"))


def in_packets(lab: Lab) -> int:
    """The buffer at the end of the queue."""
    script = "return document.querySelector('.queue-end').getAttribute('aria-valuenow')"
    return int(lab.browser.execute_script(script))


def test_the_page_opens_running_and_loses_a_packet_within_two_seconds(browser: Any, own_page: Path) -> None:
    lab = Lab(browser, own_page, motion="no-preference")
    assert "Drag the end of the queue" in lab.text(".opening")
    until(lambda: lab.figure("time") not in ("", "0 s"))
    begin = time.monotonic()
    until(lambda: lab.all(".signals button"), 10.0)
    # A busy machine gets some more time.
    assert time.monotonic() - begin < 4.0
    assert lab.text("button.main") == "Pause"
    assert not lab.complaints()


def test_with_reduced_motion_the_page_is_paused_and_says_so(browser: Any, own_page: Path) -> None:
    lab = Lab(browser, own_page, motion="reduce")
    until(lambda: "paused" in lab.text(".opening"))
    assert lab.figure("time") == "0 s"
    # A visitor who has played the run has paused it as well.
    for _ in range(2):
        lab.all("button.main")[0].click()
        time.sleep(0.5)
    assert (lab.text("button.main"), lab.figure("time") == "0 s") == ("Play", False)
    assert "paused" not in lab.text(".opening")


def test_the_end_of_the_queue_is_dragged_and_moved_by_keys(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    [end] = until(lambda: lab.all(".queue-end"))
    until(lambda: in_packets(lab) == 20)
    left = end.rect["x"]
    ActionChains(browser, duration=50).click_and_hold(end).move_by_offset(-120, 0).release().perform()
    until(lambda: in_packets(lab) > 20)
    until(lambda: f'buffer = "{in_packets(lab)}p"' in lab.written())
    assert end.rect["x"] < left - 100
    before = in_packets(lab)
    end.send_keys(Keys.PAGE_DOWN)
    until(lambda: in_packets(lab) == before - round(before / 2))
    end.send_keys(Keys.HOME)
    until(lambda: 'buffer = "1p"' in lab.written())
    end.send_keys(Keys.ARROW_UP)
    until(lambda: 'buffer = "2p"' in lab.written())
    assert not lab.complaints()


def test_the_buffer_is_typed_halved_and_set_in_other_units(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    until(lambda: number(lab) == "20")
    [field] = lab.all(".buffer .number")
    field.clear()
    field.send_keys("37" + Keys.ENTER)
    until(lambda: 'buffer = "37p"' in lab.written())
    button(browser, "Halve").click()
    until(lambda: 'buffer = "19p"' in lab.written() or 'buffer = "18p"' in lab.written())
    lab.choose("Unit of the buffer", "ms")
    button(browser, "Double").click()
    until(lambda: re.search(r'buffer = "[\d.]+ms"', lab.written()))
    assert Scenario.parse(lab.written()).buffer.packets == in_packets(lab)


def test_the_header_never_moves(browser: Any, page: Path) -> None:
    script = """return [...document.querySelectorAll('header > *, main > *')].map((it) => {
        const { left, top, width } = it.getBoundingClientRect();
        return [left, top, width];
    }).slice(0, -1)"""
    for width in (390, 1280):
        lab = Lab(browser, page, width=width)
        before = browser.execute_script(script)
        button(browser, "Copy link").click()
        until(lambda it=lab: "link" in it.text(".toast"))
        assert browser.execute_script(script) == before


def test_each_readout_has_its_span_and_no_utilization_stands_without(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    lab.all("button.main")[0].click()
    spans = "return [...document.querySelectorAll('.readouts .span')].map((it) => it.textContent)"
    until(lambda: lab.figure("time") not in ("", "0 s"))
    until(lambda: all("last" in each or each == "now" for each in browser.execute_script(spans)))
    assert len(browser.execute_script(spans)) == 4
    lab.choose("Speed", "fast")
    until(lab.outcome)
    assert {each.replace("\u202f", " ") for each in browser.execute_script(spans)} == {"1.00 s to 5.00 s"}
    assert "From 1.00 s to 5.00 s the utilization" in lab.outcome()


def test_terms_are_explained_on_focus_hover_and_tap(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    # A tab without a window has no focus otherwise.
    browser.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    [term] = [each for each in lab.all(".readouts .term") if each.text == "Goodput"]
    browser.execute_script("arguments[0].focus()", term)
    until(lambda: "payload" in lab.text("#tip"))
    term.send_keys(Keys.ESCAPE)
    until(lambda: not lab.text("#tip"))
    ActionChains(browser).move_to_element(term).perform()
    until(lambda: "payload" in lab.text("#tip"))
    lab.tab("Controls")
    # In a label, a tap explains the term and opens no list.
    [term] = [each for each in lab.all(".controls .term") if each.text == "Queue"]
    term.click()
    until(lambda: "discipline" in lab.text("#tip"))


def test_a_click_in_the_tradeoff_sets_the_buffer_and_repeats_no_runs(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    complete = "return document.querySelector('.tradeoff progress')?.value === 1"
    until(lambda: browser.execute_script(complete), 60.0)
    for index in (0, 3):
        before = in_packets(lab)
        script = """const at = document.querySelectorAll('.panels svg')[arguments[0]].querySelectorAll('.point circle');
            const box = at[2 + arguments[0]].getBoundingClientRect();
            at[0].closest('svg').dispatchEvent(new MouseEvent('click', {clientX: box.x + box.width / 2,
                clientY: box.y + box.height / 2, bubbles: true}));"""
        browser.execute_script(script, index)
        until(lambda it=before: in_packets(lab) != it)
        until(lambda: f'buffer = "{in_packets(lab)}p"' in lab.written())
        # All of them are known.
        assert browser.execute_script(complete)
    labels = [str(each.get_attribute("aria-label")) for each in lab.all(".panels svg")]
    assert "Utilization against the queueing delay" in labels[3]


def test_a_class_guesses_without_a_server(browser: Any, own_page: Path) -> None:
    show(browser, own_page, 1280)
    button(browser, "Bufferbloat").click()
    button(browser, "Copy a link for the class").click()
    address = until(lambda: browser.current_url if "#s=" in browser.current_url else None)
    browser.get("about:blank")
    browser.get(address)
    until(lambda: browser.find_elements("css selector", ".experiment .note"))
    codes = []
    for answer in (0, 2, 2):
        browser.find_elements("css selector", ".experiment input[type=radio]")[answer].click()
        codes.append(until(lambda: browser.find_element("css selector", ".code").text))
    assert codes[0] != codes[1] == codes[2]
    browser.execute_script("document.querySelector('.class').open = true")
    browser.find_element("css selector", ".class textarea").send_keys(", ".join(codes))
    status = until(lambda: browser.find_element("css selector", ".class [role=status]").text)
    assert status == "3 guesses"
    shown = "return [...document.querySelectorAll('.class .options li')].map((it) => it.textContent)"
    assert [each.split(" ")[1] for each in browser.execute_script(shown)] == ["1", "0", "2"]


def test_a_link_for_a_class_leaves_the_page_of_the_lecturer_as_it_is(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    own = QUICK.replace("Two flows", "The lecturer's own flows")
    lab.type(own)
    until(lambda: lab.text(".title") == "The lecturer's own flows")
    button(browser, "Bufferbloat").click()
    button(browser, "Copy a link for the class").click()
    address = until(lambda: browser.current_url if "#s=" in browser.current_url else None)
    time.sleep(0.5)
    assert (lab.written(), lab.text(".title")) == (own, "The lecturer's own flows")
    assert not lab.all(".experiment .note")
    # The address itself is that of the class.
    browser.get("about:blank")
    browser.get(address)
    until(lambda: lab.text(".title").startswith("A download and a call"))
    assert not lab.complaints()


def test_only_a_run_that_plays_is_marked_as_the_one_in_the_picture(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    button(browser, "Bufferbloat").click()
    lab.all(".experiment input[type=radio]")[0].click()
    button(browser, "Run it").click()
    pressed = "return [...document.querySelectorAll('.which [aria-pressed=true]')].map((it) => it.textContent)"
    until(lambda: browser.execute_script(pressed) == ["1000 packets"])
    button(browser, "50 packets").click()
    until(lambda: browser.execute_script(pressed) == ["50 packets"])
    button(browser, "Double").click()
    until(lambda: 'buffer = "100p"' in lab.written() and browser.execute_script(pressed) == [])
    assert not lab.complaints()


def test_the_error_of_a_link_is_over_with_another_scenario(browser: Any, page: Path) -> None:
    lab = Lab(browser, page, "s=broken")
    until(lambda: lab.text(".banner").startswith("the link is damaged"))
    script = """const list = document.querySelector('.scenarios select'); list.value = 'dsl-access';
        list.dispatchEvent(new Event('change', {bubbles: true}))"""
    browser.execute_script(script)
    until(lambda: lab.text(".banner") == "" and lab.text(".title") != "Two flows")
    assert not lab.complaints()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_the_picture_stays_in_view_above_the_controls(browser: Any, page: Path, scheme: str) -> None:
    lab = Lab(browser, page, width=390, scheme=scheme)
    lab.tab("Controls")
    boxes = """const [picture, side] = ['.link-picture', '.side']
        .map((it) => document.querySelector(it).getBoundingClientRect());
        return [picture.top >= 0, picture.bottom <= side.top, side.bottom <= innerHeight + 1, side.height > 300]"""
    until(lambda: browser.execute_script(boxes) == [True] * 4)
    # A second tap closes the sheet.
    lab.tab("Controls")
    until(lambda: browser.execute_script("return document.querySelector('.side').offsetHeight") < 80)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390


def test_a_presentation_has_large_letters_and_two_charts(browser: Any, page: Path) -> None:
    lab = Lab(browser, page, width=1920)
    lab.all("body")[0].send_keys("p")
    small = """return [...document.querySelectorAll('body *')].filter((it) =>
        it.checkVisibility() && [...it.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
        && !it.closest('.hidden, option') && parseFloat(getComputedStyle(it).fontSize) < 28)
        .map((it) => it.outerHTML)"""
    until(lambda: "hall" in str(browser.execute_script("return document.documentElement.className")))
    assert browser.execute_script(small) == []
    assert len([each for each in lab.all(".chart") if each.is_displayed()]) == 2
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 1920
    lab.all("body")[0].send_keys(Keys.ESCAPE)
    until(lambda: "hall" not in str(browser.execute_script("return document.documentElement.className")))


@pytest.mark.parametrize("width", [1024, 1280])
def test_a_presentation_fits_a_projector_with_few_pixels(browser: Any, page: Path, width: int) -> None:
    lab = Lab(browser, page, width=width)
    lab.choose("Speed", "fast")
    lab.all("button.main")[0].click()
    until(lab.outcome)
    lab.all("body")[0].send_keys("p")
    until(lambda: "hall" in str(browser.execute_script("return document.documentElement.className")))
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    beyond = """return [...document.querySelectorAll('.readouts *, header *')]
        .filter((it) => it.checkVisibility() && it.getBoundingClientRect().right > innerWidth)
        .map((it) => it.outerHTML)"""
    assert browser.execute_script(beyond) == []
    assert lab.all(".scenarios select")[0].size["width"] > 100


def test_paper_has_the_charts_and_no_buttons(browser: Any, page: Path) -> None:
    lab = Lab(browser, page, media="print", scheme="dark")
    assert not [each for each in lab.all("header, .transport, .tabs") if each.is_displayed()]
    assert lab.all(".chart")[0].is_displayed()
    colors = "return getComputedStyle(document.documentElement).getPropertyValue('--paper')"
    assert browser.execute_script(colors).strip() == "#ffffff"


def test_an_old_link_opens_its_scenario_and_the_shelf(browser: Any, own_page: Path) -> None:
    lab = Lab(browser, own_page, fragment(QUICK))
    until(lambda: lab.text(".title") == "Two flows")
    assert lab.text("#experiment-title") == "Guess, then see"
