"""The laboratory's lost packets in a browser: its story of a loss equals the recording of a native run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

from forebay.scenario import Scenario
from tests.support.laboratory_page import QUICK, Lab, built, until

#: A link with responsive flows and with unresponsive packets; both lose packets.
SHARED = (
    QUICK.replace('"Two flows"', '"With noise"')
    + """
[[flows]]
name     = "noise"
rtt      = "20ms"
workload = { cbr = { rate = "3Mbps" } }
"""
)
#: The recording of a native run of the same scenario.
RECORDED = """
[trace]
every  = "100us"
record = ["cwnd", "packets"]
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built page with a quick scenario."""
    return built(SHARED, tmp_path_factory.mktemp("lab"))


def played(browser: Any, page: Path, text: str = SHARED, width: int = 1280) -> Lab:
    """The laboratory with a run of this scenario behind it."""
    lab = Lab(browser, page, width=width)
    if text != SHARED:
        lab.type(text)
        until(lambda: lab.text(".title") == Scenario.parse(text).title)
    lab.choose("Speed", "fast")
    lab.all("button.main")[0].click()
    until(lab.outcome)
    return lab


#: Seconds between two samples, and as far as three digits of a time reach.
NEAR = 2e-4


def told(lab: Lab) -> dict[str, str]:
    """The story of the packet that was chosen, once it is there."""
    script = """return [...document.querySelectorAll('.story dl > div')]
        .map((row) => [...row.children].map((cell) => cell.textContent))"""
    rows: list[list[str]] = until(lambda: lab.browser.execute_script(script), 60.0)
    return {name: value.replace("\u202f", " ") for name, value in rows}


def chosen(lab: Lab, at: int) -> dict[str, str]:
    """The story of one of the packets that are listed, once it is there."""
    button = lab.all(".signals button")[at]
    button.click()
    until(lambda: button.get_attribute("aria-pressed") == "true")
    return told(lab)


def headline(lab: Lab) -> str:
    return lab.text(".story .headline").replace("\u202f", " ")


def seconds(text: str) -> float:
    """The first time in a text, as in `after 12.3 ms`."""
    found = re.search(r"([\d.]+) (s|ms|µs)\b", text)
    assert found is not None, text
    return float(found[1]) * {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[found[2]]


def number(text: str, before: str) -> float:
    """The number behind some words."""
    found = re.search(re.escape(before) + r" ([\d.]+)", text)
    assert found is not None, text
    return float(found[1])


class Native:
    """The recording of a native run of the scenario."""

    def __init__(self, text: str) -> None:
        tables = Scenario.parse(text + RECORDED).run(replications=1, traces=True).traces()
        assert tables is not None
        self.flows, self.packets = tables["flows"], tables["packets"]

    def drops(self, group: int) -> list[tuple[float, int, int]]:
        """When which flow of a group lost which packet."""
        at = self.packets["dropped"] & (self.packets["group"] == group)
        columns = (self.packets[name][at] for name in ("time_s", "flow", "packet"))
        return [(float(time), int(flow), int(packet)) for time, flow, packet in zip(*columns, strict=True)]

    def has(self, flow: int, time: float, window: float) -> None:
        """The window of a flow at a time, shown to four digits, equals a recorded one near that time."""
        own = (self.flows["flow"] == flow) & (np.abs(self.flows["time_s"] - time) < NEAR)
        windows = self.flows["cwnd_packets"][own]
        assert windows.size > 1
        assert windows.min() * (1 - 5e-4) <= window <= windows.max() * (1 + 5e-4), (windows, window)

    def lowest(self, flow: int, begin: float, end: float) -> float:
        own = (self.flows["flow"] == flow) & (self.flows["time_s"] > begin) & (self.flows["time_s"] < end)
        return float(self.flows["cwnd_packets"][own].min())

    def again(self, flow: int, packet: int, time: float) -> float | None:
        """When a packet came to the link once more, where it did."""
        own = (self.packets["flow"] == flow) & (self.packets["packet"] == packet) & (self.packets["time_s"] > time)
        return float(self.packets["time_s"][own][0]) if own.any() else None


@pytest.fixture(scope="module")
def native() -> Native:
    return Native(SHARED)


@pytest.mark.long
def test_the_story_of_a_drop_equals_that_of_a_native_run(browser: Any, page: Path, native: Native) -> None:
    lab = played(browser, page)
    known = native.drops(0)
    checked = set()
    for at in range(len(lab.all(".signals button"))):
        story = chosen(lab, at)
        found = re.fullmatch(r"Packet ([\d,]+) of flow (\d) of group “two” was lost at ([\d.]+) s", headline(lab))
        if found is None:
            continue
        flow, packet, shown = int(found[2]) - 1, int(found[1].replace(",", "")), float(found[3])
        [time] = [time for time, *which in known if which == [flow, packet] and abs(time - shown) < 1e-4]
        # The dropped packet found the buffer full.
        assert story["queue"].startswith("held 20 of 20 packets; drop-tail discards")
        native.has(flow, time, float(story["window"].split()[0]))
        repeated = native.again(flow, packet, time)
        if repeated is None:
            assert story["retransmitted"] == "not before the run ended"
            continue
        assert seconds(story["retransmitted"]) == pytest.approx(repeated - time, rel=6e-3)
        noticed = seconds(story["detected"])
        assert 0 < noticed <= repeated - time + 1e-4
        if story["acknowledged"] != "not before the run ended":
            assert seconds(story["acknowledged"]) >= (repeated - time) * (1 - 6e-3)
        if story["window change"].startswith("fell"):
            before, after = (number(story["window change"], word) for word in ("from", "to"))
            # A time in seconds is shown to hundredths, and nothing changes before a timer expires.
            native.has(flow, time + noticed - (0.01 if noticed > 0.1 else 0.0), before)
            assert after == pytest.approx(native.lowest(flow, time + noticed - 1e-3, repeated + 0.02), rel=2e-3)
            assert number(story["window change"], "×") == pytest.approx(after / before, abs=6e-3)
            checked.add("fell")
        checked.add("told")
    assert checked == {"fell", "told"}
    assert not lab.complaints()


@pytest.mark.long
def test_packets_of_nobody_are_said_to_slow_down_nobody(browser: Any, page: Path) -> None:
    # The list has the last losses only, so that the noise must lose often.
    text = SHARED.replace('"3Mbps"', '"6Mbps"').replace("With noise", "With much noise")
    lab, native = played(browser, page, text), Native(text)
    names = lab.browser.execute_script(
        "return [...document.querySelectorAll('.signals button')].map((it) => it.textContent)"
    )
    [at, *_] = [at for at, name in enumerate(names) if "noise" in name]
    story = chosen(lab, at)
    found = re.fullmatch(r"A packet of group “noise” was lost at ([\d.]+) s", headline(lab))
    assert found is not None, headline(lab)
    assert min(abs(time - float(found[1])) for time, *_ in native.drops(1)) < 1e-4
    assert "does not slow down" in story["effect"]
    assert set(story) == {"queue", "effect"}
    assert not lab.all(".story svg.window-chart")


@pytest.mark.long
def test_a_mark_is_explained_like_a_loss(browser: Any, page: Path) -> None:
    text = SHARED.replace('buffer = "20p"', 'buffer = "60p"\nqueue = "codel"')
    text = text.replace('cca   = "newreno"', 'cca = "newreno"\necn = true').replace("With noise", "With marks")
    lab = played(browser, page, text)
    names = lab.browser.execute_script(
        "return [...document.querySelectorAll('.signals button')].map((it) => it.textContent)"
    )
    for at in [at for at, name in enumerate(names) if "marked" in name]:
        story = chosen(lab, at)
        assert " was marked at " in headline(lab)
        assert "retransmitted" not in story
        if story.get("window change", "").startswith("fell"):
            break
    else:
        raise AssertionError("no mark lowered a window")
    assert "echoed the mark" in story["detected"]
    found = re.fullmatch(r"Packet [\d,]+ of flow (\d) of group “two” was marked at ([\d.]+) s", headline(lab))
    assert found is not None
    native, flow = Native(text), int(found[1]) - 1
    at_echo = float(found[2]) + seconds(story["detected"])
    native.has(flow, at_echo, number(story["window change"], "from"))
    native.has(flow, at_echo, number(story["window change"], "to"))
    assert not lab.complaints()


@pytest.mark.long
def test_the_list_is_used_by_keys(browser: Any, page: Path) -> None:
    lab = played(browser, page)
    first, *others = lab.all(".signals button")
    assert [each.get_attribute("tabindex") for each in others] == ["-1"] * len(others)
    lab.browser.execute_script("arguments[0].focus()", first)
    first.send_keys(Keys.ENTER)
    until(lambda: lab.text(".story .headline"))
    begin = headline(lab)
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    until(lambda: headline(lab) != begin)
    second = headline(lab)
    assert browser.switch_to.active_element.get_attribute("aria-pressed") == "true"
    browser.switch_to.active_element.send_keys(Keys.END)
    until(lambda: headline(lab) != second)
    browser.switch_to.active_element.send_keys(Keys.HOME)
    until(lambda: headline(lab) == begin)
    told(lab)
    assert len(lab.all('.signals [tabindex="0"]')) == 1
    lab.all(".story .close")[0].click()
    until(lambda: not lab.all(".story"))
    assert not lab.complaints()


def test_a_click_on_a_drop_chooses_it_and_the_story_goes_on_with_the_play(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    lab.type(QUICK)
    until(lambda: lab.text(".title") == "Two flows" and lab.figure("time"))
    lab.choose("Speed", "slow")
    play = lab.all("button.main")[0]
    play.click()
    until(lambda: lab.all(".signals button"), 60.0)
    play.click()
    stood = lab.stands()
    # A visitor finds the drop with the pointer, wherever it lies.
    found = browser.execute_script(
        """const canvas = document.querySelector('canvas');
        const box = canvas.getBoundingClientRect();
        for (let y = box.height / 2; y < box.height; y += 6) for (let x = 0; x < box.width / 3; x += 6) {
            const at = {clientX: box.left + x, clientY: box.top + y, bubbles: true};
            canvas.dispatchEvent(new PointerEvent('pointermove', at));
            if (canvas.style.cursor === 'pointer') {
                canvas.dispatchEvent(new MouseEvent('click', at));
                return true;
            }
        }
        return false"""
    )
    assert found
    early = told(lab)
    [pressed] = lab.all('.signals button[aria-pressed="true"]')
    assert headline(lab).split(" at ")[1] in pressed.text.replace("\u202f", " ")
    assert lab.figure("time") == stood
    # Later events appear as the run continues, or on request.
    assert early["acknowledged"] == "not yet"
    assert len(lab.all("svg.window-chart .sign")) == 1
    [more] = [each for each in lab.all(".story button") if "follows" in each.text]
    more.click()
    until(lambda: told(lab)["acknowledged"] != "not yet")
    whole = told(lab)
    lab.choose("Speed", "fast")
    play.click()
    until(lab.outcome)
    assert told(lab) == whole
    assert not lab.complaints()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_story_fits_its_screen_and_is_accessible(browser: Any, page: Path, width: int, scheme: str) -> None:
    lab = Lab(browser, page, width=width, scheme=scheme)
    lab.choose("Speed", "fast")
    lab.all("button.main")[0].click()
    until(lab.outcome)
    browser.execute_script("document.querySelector('.signals button').click()")
    told(lab)
    until(lambda: browser.execute_script("return document.documentElement.scrollWidth") <= width)
    from axe_playwright_python.base import AXE_FILE_PATH

    browser.execute_cdp_cmd("Runtime.evaluate", {"expression": Path(AXE_FILE_PATH).read_text(encoding="utf-8")})
    found = browser.execute_async_script("const done = arguments[0]; axe.run().then((it) => done(it.violations))")
    assert not [(each["id"], each["nodes"][0]["html"][:120]) for each in found]
