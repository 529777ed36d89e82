"""The guided experiments of the laboratory: each to its end in a browser, with the numbers of the engines natively."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forebay.errors import UnsupportedError
from forebay.laboratory.page import laboratory_page
from forebay.scenario import Scenario
from tests.support import shelf
from tests.support.browsers import lacking, show
from tests.support.laboratory_page import button, rows, until
from tests.support.paths import ROOT
from tests.support.shelf import Shelf

#: Each experiment's id, in their order.
NAMES = [
    line.split('"')[1]
    for file in ("papers", "today", "lossless")
    for line in (ROOT / f"lab/src/experiments/{file}.ts").read_text(encoding="utf-8").splitlines()
    if line.startswith("    id: ")
]
#: Explanations hold at other random numbers, too.
SEEDS = (1, 2, 3, 4, 5)


@pytest.fixture(scope="module")
def experiments() -> Iterator[Shelf]:
    """The experiments of the page."""
    with shelf.opened() as it:
        assert sorted(it.all) == sorted(NAMES)
        yield it


def editor(browser: Any) -> str:
    """The text in the editor."""
    return str(browser.execute_script("return document.querySelector('.editor textarea').value"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_explained_is_no_luck(experiments: Shelf, name: str) -> None:
    stated = [experiments.told(name, experiments.natively(name, seed)) for seed in SEEDS]
    for seed, each in zip(SEEDS, stated, strict=True):
        assert each.claim, f"seed {seed}: {each.happened}"
    assert len({each.right for each in stated}) == 1
    assert stated[0].right != -1


# In a browser --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built page."""
    try:
        text = laboratory_page()
    except UnsupportedError as error:
        lacking(str(error))
    if "Experiments" not in text:
        lacking("the page that was built has no experiments: make lab")
    path = tmp_path_factory.mktemp("lab") / "lab.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Any, page: Path) -> Any:
    """The page with its shelf."""
    show(browser, page, 1280)
    button(browser, "Experiments").click()
    return browser


def press(found: Any, by_keys: bool) -> None:
    """Push a button."""
    from selenium.webdriver.common.keys import Keys

    if by_keys:
        found.send_keys(Keys.ENTER)
    else:
        found.click()


def guess(browser: Any, name: str, by_keys: bool) -> None:
    """Choose an answer, or draw a curve: another one in each experiment."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    answers = browser.find_elements(By.CSS_SELECTOR, ".experiment input[type=radio]")
    if answers:
        answer = answers[NAMES.index(name) % len(answers)]
        if by_keys:
            answer.send_keys(Keys.SPACE)
        else:
            answer.click()
    elif by_keys:
        for at, slider in enumerate(browser.find_elements(By.CSS_SELECTOR, ".experiment input[type=range]")):
            slider.send_keys(*([Keys.ARROW_RIGHT] * (7 * at + 1)))
    else:
        drawing = browser.find_element(By.CSS_SELECTOR, ".draw")
        width, height = drawing.size["width"], drawing.size["height"]
        pen = ActionChains(browser, duration=50).move_to_element_with_offset(drawing, -0.4 * width, 0.4 * height)
        pen.click_and_hold().move_by_offset(0.4 * width, -0.5 * height).move_by_offset(0.4 * width, -0.25 * height)
        pen.release().perform()


def texts(browser: Any) -> list[str]:
    """The paragraphs of the answer."""
    script = "return [...document.querySelectorAll('.experiment .answer p')].map((it) => it.textContent)"
    return [str(each) for each in browser.execute_script(script)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_its_numbers_are_this_machines(opened: Any, experiments: Shelf, name: str) -> None:
    browser, by_keys = opened, NAMES.index(name) % 2 == 1
    experiment = experiments.all[name]
    press(button(browser, experiment["title"]), by_keys)
    until(lambda: browser.find_element("id", "experiment-title").text == experiment["title"])
    guess(browser, name, by_keys)
    script = """return [...document.querySelectorAll('.experiment input')]
        .map((it) => it.type === 'radio' ? it.checked : it.valueAsNumber / 100)"""
    guessed = browser.execute_script(script)
    press(button(browser, "Run it"), by_keys)
    reports = experiments.natively(name)
    text = experiments.told(name, reports)
    assert rows(browser) == experiments.table(name, reports)
    verdict, *rest = texts(browser)
    if text.right is None:
        assert len(set(guessed)) > 1
        figures = [shelf.figure(each, experiment["prediction"]["metric"]) for each in reports]
        away = sum(abs(one - other) for one, other in zip(guessed, figures, strict=True)) / len(figures)
        found = re.search(r"differs by (\d+) percentage points", verdict)
        assert found is not None, verdict
        assert abs(float(found[1]) - 100 * away) <= 0.51
        assert verdict.startswith("Close" if 100 * away < 5 else "Not quite")
    else:
        right = experiment["prediction"]["options"][text.right]["text"]
        assert guessed.count(True) == 1
        expected = experiment["prediction"]["options"][guessed.index(True)]["text"]
        assert verdict == (
            f"Right: “{right}”. {experiment['reason']}"
            if guessed[text.right]
            else f"Not quite. You expected “{expected}”, and the runs gave “{right}”. {experiment['reason']}"
        )
    # The guess and the result are in one picture.
    assert browser.find_elements("css selector", ".answer figure .result, .answer .tag.measured")
    paper = experiment["paper"]
    statements = [
        text.happened,
        experiment["meaning"],
        paper["result"],
        *([text.compared] if text.compared else []),
        paper["source"],
    ]
    assert rest[: len(statements)] == statements
    press(button(browser, "All experiments"), by_keys)


@pytest.mark.long
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
    assert browser.find_element(By.CSS_SELECTOR, ".experiment .answer .verdict").text.startswith("Right")

    show(browser, page, 360, scheme="dark")
    button(browser, "Experiments").send_keys(Keys.ENTER)
    button(browser, "Bufferbloat").send_keys(Keys.ENTER)
    until(lambda: browser.switch_to.active_element.text == "Bufferbloat")
    # The terms of the question come before the answers.
    for _ in range(6):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        focused = browser.switch_to.active_element
        if focused.get_attribute("type") == "radio":
            break
    assert focused.get_attribute("type") == "radio"
    focused.send_keys(Keys.SPACE)
    browser.switch_to.active_element.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Run it"
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert rows(browser) == by_clicks
    until(lambda: browser.switch_to.active_element.text == "What happened")
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def test_another_scenario_closes_the_experiment(opened: Any) -> None:
    browser = opened
    button(browser, "Bufferbloat").click()
    until(lambda: browser.find_element("id", "experiment-title").text == "Bufferbloat")
    choose = """const select = document.querySelector('.scenarios select');
        select.value = 'dsl-access'; select.dispatchEvent(new Event('change', {bubbles: true}))"""
    browser.execute_script(choose)
    until(lambda: browser.find_element("id", "experiment-title").text == "Guess, then see")
    until(lambda: "DSL" in browser.execute_script("return document.querySelector('.title').textContent"))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["small-buffer-loss", "fair-queueing"])
def test_no_number_of_the_answer_is_cut(browser: Any, page: Path, experiments: Shelf, name: str) -> None:
    show(browser, page, 1280)
    button(browser, experiments.all[name]["title"]).click()
    guess(browser, name, by_keys=False)
    button(browser, "Run it").click()
    assert len(rows(browser)) == len(browser.find_elements("css selector", ".numbers tbody tr"))
    cut = """const panel = document.querySelector('.tab-panels').getBoundingClientRect();
        return [...document.querySelectorAll('.numbers td, .numbers th')].filter((cell) => {
            const { left, right, width } = cell.getBoundingClientRect();
            return width > 0 && (left < panel.left || right > panel.right || cell.scrollWidth > cell.clientWidth);
        }).map((cell) => cell.textContent)"""
    for width in (390, 800, 1024, 1280, 1600, 1920):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        until(lambda: browser.execute_script(cut) == [])


#: Has the page note the workers that run experiments (those of the trade-off ask for one replication of many), and lets
#: a test have workers fail: the next ones throw at once where `isBroken` says so.
WATCH = """const Real = window.Worker;
window.workers = []; window.isBroken = false;
window.Worker = function (source) {
    const broken = () => URL.createObjectURL(new Blob(['throw new Error("broken")']));
    const worker = new Real(window.isBroken ? broken() : source);
    const note = { isOver: false };
    const terminate = worker.terminate.bind(worker);
    const post = worker.postMessage.bind(worker);
    worker.terminate = () => { note.isOver = true; terminate(); };
    worker.postMessage = (order) => {
        const isStudy = order.kind === 'ask' && order.request.do === 'whole' && !('replication' in order.request);
        if (isStudy && !window.workers.includes(note)) window.workers.push(note);
        post(order);
    };
    return worker;
};"""


def asked(browser: Any, page: Path, name: str) -> None:
    """An experiment with its guess made, and workers that are noted."""
    from selenium.webdriver.common.by import By

    show(browser, page, 1280)
    button(browser, "Experiments").click()
    button(browser, name).click()
    browser.find_element(By.CSS_SELECTOR, ".experiment input").click()
    browser.execute_script(WATCH)


def test_a_failed_run_is_reported_and_can_be_repeated(browser: Any, page: Path) -> None:
    asked(browser, page, "Incast")
    browser.execute_script("window.isBroken = true")
    button(browser, "Run it").click()
    repeated = button(browser, "Try again")
    status = "return document.querySelector('.experiment [role=status]').textContent"
    assert "the worker failed" in browser.execute_script(status)
    assert "broken" in browser.execute_script(status)
    assert browser.execute_script("return window.workers.every((it) => it.isOver)")
    browser.execute_script("window.isBroken = false")
    repeated.click()
    assert len(rows(browser)) == 3
    labels = "return [...document.querySelectorAll('button')].map((it) => it.textContent)"
    assert "Try again" not in browser.execute_script(labels)
    assert browser.execute_script("return window.workers.length") == 2


def test_leaving_the_page_ends_the_runs(browser: Any, page: Path) -> None:
    asked(browser, page, "BBR against CUBIC: a shallow")
    # In one turn: the first run has hardly begun.
    leave = """const named = (text) => [...document.querySelectorAll('.experiment button')]
            .find((it) => it.textContent === text);
        const done = arguments[0];
        named('Run it').click();
        const leave = () => {
            if (window.workers.length === 0) return setTimeout(leave, 1);
            const before = window.workers.map((it) => it.isOver);
            named('All experiments').click();
            setTimeout(() => done([before, window.workers.map((it) => it.isOver)]), 50);
        };
        leave();"""
    assert browser.execute_async_script(leave) == [[False], [True]]
    assert not browser.find_elements("css selector", ".experiment .answer")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["bufferbloat", "losing-together"])
def test_any_run_can_be_watched(browser: Any, page: Path, experiments: Shelf, name: str) -> None:
    experiment = experiments.all[name]
    asked(browser, page, experiment["title"])
    button(browser, "Run it").click()
    packets = """return [...document.querySelectorAll('.figures div')]
        .find((it) => it.querySelector('dt').textContent === 'packets').querySelector('dd').textContent"""
    written = set()
    for run in experiment["runs"]:
        chosen = next(
            it for it in browser.find_elements("css selector", ".which button") if it.text.strip() == run["name"]
        )
        chosen.click()
        until(lambda it=chosen: it.get_attribute("aria-pressed") == "true")
        assert len(browser.find_elements("css selector", ".which [aria-pressed=true]")) == 1
        until(lambda: browser.execute_script("return document.querySelector('button.main').textContent") == "Pause")
        until(lambda: browser.execute_script(packets) != "0")
        asked_for = Scenario.parse(experiment["scenario"], overrides=run["overrides"]).core.canonical_json()
        # The button is pressed a moment before the text is there.
        until(lambda it=asked_for: Scenario.parse(editor(browser)).core.canonical_json() == it)
        written.add(editor(browser))
    assert len(written) == len(experiment["runs"])


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


@pytest.mark.long
def test_the_shelf_and_a_result_are_accessible(browser: Any, page: Path) -> None:
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
