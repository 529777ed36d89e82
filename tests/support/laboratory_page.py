"""Drive the laboratory's page in a browser: build it, open it, press and read its controls."""

from __future__ import annotations

import base64
import json
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forebay.errors import UnsupportedError
from forebay.laboratory.page import laboratory_page
from tests.support.browsers import lacking, show

#: A link that a page simulates in a moment.
QUICK = """title = "Two flows"
[link]
rate   = "10Mbps"  # of the line
buffer = "20p"
[[flows]]
name  = "two"
count = 2
cca   = "newreno"
rtt   = "20ms"
[run]
warmup  = "1s"
measure = "4s"
"""


def built(scenario: str, folder: Path) -> Path:
    """The built page with a scenario, as a file."""
    try:
        text = laboratory_page("quick", scenario)
    except UnsupportedError as error:
        lacking(str(error))
    path = folder / "lab.html"
    path.write_text(text, encoding="utf-8")
    return path


def until(condition: Callable[[], Any], seconds: float = 20.0) -> Any:
    """The value of a condition, as soon as it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come to pass")


class Lab:
    """The laboratory as a visitor sees it."""

    def __init__(self, browser: Any, page: Path, fragment: str = "", width: int = 1280, **screen: str) -> None:
        self.browser = browser
        browser.get("about:blank")
        show(browser, page, width, **screen)
        if fragment:
            browser.get("about:blank")
            browser.get(f"{page.as_uri()}#{fragment}")
        until(lambda: self.text(".title") not in ("", "An untitled link"))

    def all(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements("css selector", selector))

    def text(self, selector: str) -> str:
        return str(
            self.browser.execute_script("return document.querySelector(arguments[0])?.textContent ?? ''", selector)
        )

    def figure(self, name: str) -> str:
        """A number beside the link."""
        script = """const found = [...document.querySelectorAll('.figures div')]
            .find((it) => it.querySelector('dt').textContent === arguments[0]);
            return found ? found.querySelector('dd').textContent : ''"""
        return str(self.browser.execute_script(script, name)).replace("\u202f", " ")

    def stands(self) -> str:
        """The time at which the run is paused; a running page has none."""

        def same() -> str:
            before = self.figure("time")
            time.sleep(0.3)
            return before if self.figure("time") == before else ""

        return str(until(same, 3.0))

    def choose(self, label: str, value: str) -> None:
        """A value of a list, as if it had been chosen."""
        script = """const select = [...document.querySelectorAll('label')]
            .find((it) => it.textContent.startsWith(arguments[0])).querySelector('select');
            select.value = arguments[1]; select.dispatchEvent(new Event('change', {bubbles: true}))"""
        self.browser.execute_script(script, label, value)

    def save(self, value: str) -> None:
        """Choose an entry of the menu for saving."""
        script = """[...document.querySelectorAll('.menu > button')]
            .find((it) => it.textContent.startsWith('Save')).click();
            const done = arguments[1];
            const look = () => {
                const entry = document.querySelector(`[role=menuitem][data-value="${arguments[0]}"]`);
                if (!entry) return setTimeout(look, 5);
                entry.click();
                done(true);
            };
            look();"""
        self.browser.execute_async_script(script, value)

    def tab(self, name: str) -> None:
        """Show a tab of the side: Experiments, Controls or Text."""
        button(self.browser, name).click()

    def type(self, text: str) -> None:
        """Another text in the editor."""
        script = """const area = document.querySelector('.editor textarea'); area.value = arguments[0];
            area.dispatchEvent(new Event('input', {bubbles: true}))"""
        self.browser.execute_script(script, text)

    def written(self) -> str:
        return str(self.browser.execute_script("return document.querySelector('.editor textarea').value"))

    def outcome(self) -> str:
        return self.text(".outcome").replace("\u202f", " ")

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]


def fragment(text: str) -> str:
    """The fragment of a link to a scenario, after the #."""
    packing = zlib.compressobj(wbits=-15)
    packed = packing.compress(json.dumps({"text": text}).encode()) + packing.flush()
    return "s=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def button(browser: Any, text: str) -> Any:
    """The first button in view whose text begins with this one, as soon as it is there."""
    # In one step, because a running page replaces buttons between two.
    script = """return [...document.querySelectorAll('button')]
        .find((it) => it.checkVisibility() && it.innerText.trim().startsWith(arguments[0]))"""
    return until(lambda: browser.execute_script(script, text))


def rows(browser: Any) -> list[list[str]]:
    """The table of what happened, once it is there."""
    from selenium.webdriver.common.by import By

    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".experiment .answer"))
    lines = browser.find_elements(By.CSS_SELECTOR, ".experiment tbody tr")
    return [[cell.text for cell in line.find_elements(By.CSS_SELECTOR, "th, td")] for line in lines]
