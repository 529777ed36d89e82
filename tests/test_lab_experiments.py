"""The guided experiments of the laboratory: one by clicks and one by keys alone, with the engine's own numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forebay.errors import UnsupportedError
from forebay.laboratory.page import laboratory_page
from tests.conftest import show
from tests.test_lab import until


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built page."""
    try:
        text = laboratory_page()
    except UnsupportedError as error:
        pytest.skip(str(error))
    if "Experiments" not in text:
        pytest.skip("the page that was built has no experiments: make lab")
    path = tmp_path_factory.mktemp("lab") / "lab.html"
    path.write_text(text, encoding="utf-8")
    return path


def button(browser: Any, text: str) -> Any:
    from selenium.webdriver.common.by import By

    def found() -> Any:
        return next((it for it in browser.find_elements(By.TAG_NAME, "button") if it.text.startswith(text)), None)

    return until(found)


def rows(browser: Any) -> list[list[str]]:
    """The table of what happened, once it is there."""
    from selenium.webdriver.common.by import By

    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".answer"))
    lines = browser.find_elements(By.CSS_SELECTOR, ".experiment tbody tr")
    return [[cell.text for cell in line.find_elements(By.CSS_SELECTOR, "th, td")] for line in lines]


def test_clicks_and_keys_lead_to_the_same_numbers(browser: Any, page: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    show(browser, page, 1280)
    button(browser, "Experiments").click()
    button(browser, "Bufferbloat").click()
    assert not button(browser, "Run it").is_enabled()
    browser.find_elements(By.CSS_SELECTOR, ".experiment input[type=radio]")[2].click()
    button(browser, "Run it").click()
    by_clicks = rows(browser)
    assert len(by_clicks) == 3
    assert "right" in browser.find_element(By.CSS_SELECTOR, ".answer b").text

    show(browser, page, 360, scheme="dark")
    button(browser, "Experiments").send_keys(Keys.ENTER)
    button(browser, "Bufferbloat").send_keys(Keys.ENTER)
    until(lambda: browser.switch_to.active_element.text == "Bufferbloat")
    for _ in range(3):
        browser.switch_to.active_element.send_keys(Keys.TAB)
    focused = browser.switch_to.active_element
    assert focused.get_attribute("type") == "radio"
    focused.send_keys(Keys.SPACE)
    browser.switch_to.active_element.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Run it"
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert rows(browser) == by_clicks
    until(lambda: browser.switch_to.active_element.text == "What happened")
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def test_a_link_opens_the_experiment_that_it_names(browser: Any, page: Path) -> None:
    from selenium.webdriver.common.by import By

    show(browser, page, 1280)
    button(browser, "Experiments").click()
    button(browser, "Incast").click()
    button(browser, "Copy link").click()
    until(lambda: browser.execute_script("return location.hash"))
    address = browser.current_url
    browser.get("about:blank")
    browser.get(address)
    heading = until(lambda: browser.find_elements(By.ID, "experiment-title"))[0]
    assert heading.text == "Incast"
    assert not browser.find_elements(By.CSS_SELECTOR, ".wrong.banner")


def test_everybody_can_use_the_shelf_and_a_result(browser: Any, page: Path) -> None:
    from axe_playwright_python.base import AXE_SCRIPT
    from selenium.webdriver.common.by import By

    for width, scheme in ((360, "dark"), (1280, "light")):
        show(browser, page, width, scheme=scheme)
        button(browser, "Experiments").click()
        for name in ("", "Incast"):
            if name:
                button(browser, name).click()
                browser.find_element(By.CSS_SELECTOR, ".experiment input").click()
                button(browser, "Run it").click()
                rows(browser)
            browser.execute_script(AXE_SCRIPT)
            found = browser.execute_async_script("axe.run('.experiment').then(arguments[0])")
            assert [it["id"] for it in found["violations"] if it["impact"] in ("serious", "critical")] == []
