"""Number fields of the laboratory: sizes and goals as people write them, and texts that are no number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.laboratory_page import Lab, until

#: Type a text into a field and leave the field.
TYPE = """const [selector, text] = arguments, input = document.querySelector(selector);
    input.value = text;
    for (const kind of ['input', 'change']) input.dispatchEvent(new Event(kind, {bubbles: true}))"""


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
        number, unit = size.rstrip("BDPpms"), size.lstrip("0123456789.")
        shown = "return ['.number', 'select'].map((it) => document.querySelector('.buffer ' + it).value)"
        until(lambda it=[number, unit]: browser.execute_script(shown) == it)
    assert lab.text(".banner") == ""
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
