"""Fields of the laboratory: sizes and goals in usual spellings, and the reason for a refused text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.laboratory_page import QUICK, Lab, button, fragment, until

#: Type a text into a field and leave the field.
TYPE = """const [selector, text] = arguments, input = document.querySelector(selector);
    input.value = text;
    for (const kind of ['input', 'change']) input.dispatchEvent(new Event(kind, {bubbles: true}))"""

#: The buffer and its unit, as the fields show them.
SHOWN = "return ['.number', 'select'].map((it) => document.querySelector('.buffer ' + it).value)"


def ready(browser: Any, page: Path) -> Lab:
    """The page, as soon as its fields can be changed."""
    lab = Lab(browser, page)
    until(lambda: browser.execute_script("return document.querySelector('fieldset.buffer').disabled === false"))
    return lab


def test_a_typed_buffer_is_the_buffer_of_the_scenario(browser: Any, page: Path) -> None:
    lab = ready(browser, page)
    for typed, size in (
        ("1,000", "1000p"),
        ("1.5 BDP", "1.5BDP"),
        ("1", "1BDP"),
        ("20ms", "20ms"),
        ("37 packets", "37p"),
    ):
        browser.execute_script(TYPE, ".buffer .number", typed)
        until(lambda it=size: f'buffer = "{it}"' in lab.written())
        parts = [size.rstrip("BDPpms"), size.lstrip("0123456789.")]
        until(lambda it=parts: browser.execute_script(SHOWN) == it)
    assert lab.text(".banner") == ""
    assert not lab.complaints()


def test_half_of_a_buffer_is_half_of_its_number(browser: Any, page: Path) -> None:
    lab = ready(browser, page)
    for typed, name, size in (
        ("15ms", "Halve", "7.5ms"),
        ("1BDP", "Double", "2BDP"),
        ("25p", "Double", "50p"),
    ):
        browser.execute_script(TYPE, ".buffer .number", typed)
        until(lambda it=typed: f'buffer = "{it}"' in lab.written())
        button(browser, name).click()
        until(lambda it=size: f'buffer = "{it}"' in lab.written())
    assert not lab.complaints()


def test_text_that_is_no_number_is_refused_until_a_number_follows(browser: Any, page: Path) -> None:
    lab = ready(browser, page)
    for selector, number in ((".buffer .number", "50"), (".goals .number", "95")):
        for typed in ("many", "-5"):
            browser.execute_script(TYPE, selector, typed)
            reason = f"found `{typed}`"
            until(lambda it=reason: lab.text(".banner").endswith(it))
            assert "expected a number" in lab.text(".banner")
        browser.execute_script(TYPE, selector, number)
        until(lambda: lab.text(".banner") == "")
    until(lambda: 'buffer = "50p"' in lab.written() and "95%" in lab.written())
    assert not lab.complaints()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_link_with_an_error_in_its_scenario_states_the_error(browser: Any, page: Path, width: int) -> None:
    broken = QUICK.replace('"10Mbps"', '"fast"')
    lab = Lab(browser, page, fragment(broken), width=width)
    assert until(lambda: lab.text(".banner")).startswith("scenario:3: link.rate: found `fast`")
    assert lab.text(".title") == "This scenario has an error, so there is no run"
    # Nothing can be played, and the buttons say so.
    until(lambda: all(not each.is_enabled() for each in lab.all(".transport button")))
    button(browser, "Show the text").click()
    until(lab.all(".editor textarea")[0].is_displayed)
    lab.type(QUICK)
    until(lambda: lab.text(".title") == "Two flows" and lab.text(".banner") == "")
    assert all(each.is_enabled() for each in lab.all(".transport button"))
    assert not lab.complaints()


def test_a_run_that_is_over_does_not_begin_again_with_an_error_in_its_text(browser: Any, page: Path) -> None:
    lab = ready(browser, page)
    lab.choose("Speed", "fast")
    lab.all("button.main")[0].click()
    until(lambda: lab.text("button.main") == "Play again")
    lab.type(QUICK.replace('"10Mbps"', '"fast"'))
    until(lambda: lab.text(".banner").startswith("scenario:3: link.rate"))
    assert not lab.all("button.main")[0].is_enabled()
    lab.type(QUICK)
    until(lab.all("button.main")[0].is_enabled)
    assert not lab.complaints()
