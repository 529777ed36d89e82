"""The laboratory's page in a browser, with a probe in it that counts the work of its thread and its workers.

For checks in a checkout: the browser is driven by selenium, which is no dependency of the package.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from forebay.errors import UnsupportedError
from forebay.laboratory.page import laboratory_page

__all__ = ["LaboratoryPage", "opened"]

#: Longest time of a script in the page, in seconds.
_PATIENCE_S = 100


class LaboratoryPage:
    """The laboratory in a browser."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.browser = browser
        self._folder = folder
        probe = files("checks").joinpath("lab_probe.js").read_text(encoding="utf-8")
        browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": probe})
        browser.set_script_timeout(_PATIENCE_S)

    def open(self, name: str, text: str) -> None:
        """Open a page of its own with a scenario, and wait until it can be played."""
        path = self._folder / "lab.html"
        path.write_text(laboratory_page(name, text), encoding="utf-8")
        self.browser.get("about:blank")
        self.browser.get(path.as_uri())
        self.until("document.querySelector('.figures dd')?.textContent === '0\\u202fs'")

    def open_hastily(self) -> None:
        """Open the page with its own scenario, and press Play as soon as a run can be played."""
        path = self._folder / "hasty.html"
        path.write_text(laboratory_page(), encoding="utf-8")
        self.browser.get("about:blank")
        hasty = self.browser.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument", {"source": "window.probe.isHasty = true"}
        )
        self.browser.get(path.as_uri())
        self.browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": hasty["identifier"]})

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""
        return self.browser.execute_script(f"return ({expression})")

    def until(self, condition: str) -> None:
        """Wait until an expression holds."""
        script = f"""const done = arguments[arguments.length - 1];
            const look = () => ({condition}) ? done(true) : setTimeout(look, 5);
            look();"""
        self.browser.execute_async_script(script)

    def choose(self, label: str, value: str) -> None:
        """Choose a value of one of the lists."""
        script = """const select = [...document.querySelectorAll('label')]
            .find((it) => it.textContent.startsWith(arguments[0])).querySelector('select');
            select.value = arguments[1]; select.dispatchEvent(new Event('change', {bubbles: true}))"""
        self.browser.execute_script(script, label, value)

    def press(self, text: str) -> None:
        """Push the first button whose text begins with `text`, as soon as it exists and can be pushed."""
        script = """const [text, done] = arguments;
            const look = () => {
                const found = [...document.querySelectorAll('button')]
                    .find((it) => it.textContent.startsWith(text) && !it.disabled);
                if (!found) return setTimeout(look, 5);
                found.click();
                done(true);
            };
            look();"""
        self.browser.execute_async_script(script, text)

    def type(self, text: str) -> None:
        """Another text of the scenario."""
        script = """const area = document.querySelector('.editor textarea'); area.value = arguments[0];
            area.dispatchEvent(new Event('input', {bubbles: true}))"""
        self.browser.execute_script(script, text)


@contextmanager
def opened() -> Iterator[LaboratoryPage]:
    """A browser without a window.

    Raises
    ------
    UnsupportedError
        If there is no browser, or if the page was not built.
    """
    chromium, driver = (shutil.which(name) for name in ("chromium", "chromedriver"))
    if chromium is None or driver is None:
        raise UnsupportedError("found no chromium and chromedriver (Debian: apt-get install chromium chromium-driver)")
    laboratory_page()
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        raise UnsupportedError("found no selenium, which drives the browser; `make setup` installs it") from None

    options = Options()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        with tempfile.TemporaryDirectory() as folder:
            metrics = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            # With reduced motion the page opens paused.
            still = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", still)
            yield LaboratoryPage(browser, Path(folder))
    finally:
        browser.quit()
