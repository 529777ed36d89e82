"""The laboratory in Firefox, where it and its driver are: the page, some experiments, a link; nothing goes wrong.

Debian has firefox-esr; its driver is a program of crates.io (`cargo install geckodriver`).
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forebay.errors import UnsupportedError
from forebay.laboratory.page import laboratory_page
from forebay.scenario import Scenario
from tests.support import shelf
from tests.support.laboratory_page import QUICK, button, rows, until
from tests.support.shelf import Shelf

#: A choice and a drawn curve, the fluid engine, and packets by the million.
NAMES = ("elastic-buffer", "losing-together", "incast", "fair-queueing")

#: Notes what goes wrong; a page's own rules keep a script out of it, so that it comes with the driver.
NOTES = """window.wrong = [];
addEventListener('error', (event) => window.wrong.push(String(event.message)));
addEventListener('unhandledrejection', (event) => window.wrong.push(String(event.reason)));
addEventListener('securitypolicyviolation', (event) => window.wrong.push(event.violatedDirective));"""


@pytest.fixture(scope="module")
def firefox() -> Iterator[Any]:
    """Firefox without a window."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    driver = shutil.which("geckodriver")
    if program is None or driver is None:
        pytest.skip("needs Firefox and its driver on PATH (apt-get install firefox-esr; cargo install geckodriver)")
    from selenium import webdriver
    from selenium.webdriver.firefox.options import Options
    from selenium.webdriver.firefox.service import Service

    options = Options()
    options.binary_location = program
    options.add_argument("-headless")
    # With reduced motion the page opens paused.
    options.set_preference("ui.prefersReducedMotion", 1)
    running = webdriver.Firefox(options=options, service=Service(driver))
    running.set_script_timeout(60)
    running.set_window_size(1280, 900)
    yield running
    running.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built page with a quick scenario."""
    try:
        text = laboratory_page("quick", QUICK)
    except UnsupportedError as error:
        pytest.skip(str(error))
    path = tmp_path_factory.mktemp("lab") / "lab.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def experiments() -> Iterator[Shelf]:
    """The experiments of the page."""
    with shelf.opened() as it:
        yield it


@pytest.fixture
def opened(firefox: Any, page: Path) -> Iterator[Any]:
    """The page; it ends without a complaint."""
    firefox.get("about:blank")
    firefox.get(page.as_uri())
    firefox.execute_script(NOTES)
    until(lambda: written(firefox, ".title") == "Two flows")
    until(lambda: written(firefox, ".figures dd") == "0\u202fs")
    yield firefox
    assert firefox.execute_script("return window.wrong") == []


def written(firefox: Any, selector: str) -> str:
    return str(firefox.execute_script("return document.querySelector(arguments[0])?.textContent ?? ''", selector))


def test_a_run_is_played_to_its_end(opened: Any) -> None:
    script = """const select = [...document.querySelectorAll('label')]
        .find((it) => it.textContent.startsWith('Speed')).querySelector('select');
        select.value = 'fast'; select.dispatchEvent(new Event('change', {bubbles: true}))"""
    opened.execute_script(script)
    opened.find_element("css selector", "button.main").click()
    outcome = until(lambda: written(opened, ".outcome"))
    report = Scenario.parse(QUICK).run(replications=1)
    numbers = [float(number) for number in re.findall(r"[\d.]+(?=\u202f(?:%|ms))", outcome)]
    delay = float(report.metrics["queue_delay_p99_s"].mean)
    expected = [100 * float(report.metrics[name].mean) for name in ("utilization", "loss_rate")]
    assert numbers == [pytest.approx(value, rel=6e-3) for value in (*expected, 1000 * delay)]
    # Its queue and its windows were drawn.
    assert opened.execute_script("return document.querySelectorAll('.chart canvas').length") == 2


@pytest.mark.parametrize("name", NAMES)
def test_its_numbers_are_this_machines(opened: Any, experiments: Shelf, name: str) -> None:
    button(opened, "Experiments").click()
    button(opened, experiments.all[name]["title"]).click()
    guess = opened.find_element("css selector", ".experiment input")
    # Firefox pushes a slider by a click beside its middle.
    opened.execute_script(
        """const [it] = arguments; it.type === 'radio' ? it.click()
            : (it.value = 70, it.dispatchEvent(new Event('input', {bubbles: true})))""",
        guess,
    )
    button(opened, "Run it").click()
    assert rows(opened) == experiments.table(name, experiments.natively(name))
    button(opened, "All experiments").click()


def test_a_mistake_is_said_and_a_link_brings_its_scenario(opened: Any, page: Path) -> None:
    script = """const area = document.querySelector('.editor textarea'); area.value = arguments[0];
        area.dispatchEvent(new Event('input', {bubbles: true}))"""
    opened.execute_script(script, QUICK.replace('"10Mbps"', '"fast"'))
    assert until(lambda: written(opened, "#wrong")).startswith("scenario:3: link.rate")
    opened.execute_script(script, QUICK.replace("Two flows", "Shared"))
    until(lambda: written(opened, ".title") == "Shared")
    button(opened, "Copy link").click()
    fragment = until(lambda: opened.execute_script("return location.hash"))
    assert json.loads(opened.execute_script("return JSON.stringify(window.wrong)")) == []
    opened.get("about:blank")
    opened.get(page.as_uri() + fragment)
    opened.execute_script(NOTES)
    until(lambda: written(opened, ".title") == "Shared")
