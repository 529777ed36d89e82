"""The laboratory's trade-off and controls in a browser: its numbers are the native engines'."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from selenium.webdriver.common.keys import Keys

from forebay.rules import rules
from forebay.scenario import Scenario
from tests.support.laboratory_page import QUICK, Lab, button, until
from tests.support.paths import ROOT

#: Metrics of the trade-off, and their scale there.
SHOWN = {
    "utilization": 100,
    "loss_rate": 100,
    "queue_delay_p99_s": 1000,
    "queue_delay_mean_s": 1000,
    "queue_delay_p05_s": 1000,
}
#: Replications of each buffer in the page.
REPLICATIONS = 3


def rows(lab: Lab, selector: str) -> list[list[str]]:
    script = """return [...document.querySelectorAll(arguments[0] + ' tbody tr')]
        .map((row) => [...row.children].map((cell) => cell.textContent))"""
    found: list[list[str]] = lab.browser.execute_script(script, selector)
    return found


def whole(lab: Lab) -> bool:
    return bool(lab.browser.execute_script("return document.querySelector('.tradeoff progress')?.value === 1"))


def close(shown: str, value: float) -> bool:
    """Whether three digits are those of a value."""
    return float(shown) == pytest.approx(value, rel=6e-3, abs=1e-9)


def test_the_three_engines_say_what_they_say_natively(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    until(lambda: whole(lab), 60)
    packets, fluid, closed = rows(lab, ".engines")
    assert packets[0] == "packet-level model, mean of 3 runs ± 95 % interval"
    scenario = Scenario.parse(QUICK)
    # As many replications as the page has, one by one.
    runs = scenario.run(replications=REPLICATIONS, jobs=1).metrics
    model = scenario.run(engine="fluid", replications=1).metrics
    for at, (name, scale) in enumerate(SHOWN.items(), 1):
        mean, _, half = packets[at].partition(" ± ")
        assert close(mean, scale * runs[name].mean), name
        half_width = runs[name].half_width
        assert half_width is not None
        if half:
            assert float(half) == pytest.approx(scale * half_width, rel=0.06, abs=1e-6), name
        else:
            assert half_width < 1.01e-3 * runs[name].mean, name
        assert close(fluid[at], scale * model[name].mean), name
    rule = re.search(r"\((.*?)[,)]", closed[0])
    assert rule is not None
    predicted = next(each.predicted for each in rules(scenario.core) if each.name == rule[1])
    assert close(closed[1], 100 * predicted["utilization"])
    assert not lab.complaints()


def test_each_rule_says_whether_it_applies_as_natively(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    until(lambda: rows(lab, ".rules"))
    native = {rule.name: rule for rule in rules(Scenario.parse(QUICK).core) if rule.packets is not None}
    shown = rows(lab, ".rules")
    assert {name for name, *_ in shown} == set(native)
    assert {applies for _, _, applies, _ in shown} == {"yes", "no"}
    for name, packets, applies, why in shown:
        rule = native[name]
        assert rule.packets is not None
        assert float(packets) == pytest.approx(rule.packets, abs=0.51)
        assert (applies == "yes", why) == (rule.applies, rule.why)
    # Those that apply come first.
    verdicts = [applies for _, _, applies, _ in shown]
    assert verdicts == sorted(verdicts, reverse=True)
    hollow = len(lab.all(".panels figure:first-child path.rule.fails"))
    assert 0 < hollow < len(lab.all(".panels figure:first-child path.rule"))


def test_the_answer_is_the_smallest_buffer_whose_interval_meets_the_goals(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    lab.type(QUICK + '[goal]\nutilization = ">= 80%"\nqueue_delay_p99 = "<= 40ms"\n')
    until(lambda: "smallest" in lab.text(".answer"), 60)
    found = re.search(r"(\d+) packets", lab.text(".answer"))
    assert found is not None
    labels = [str(each.get_attribute("aria-label")) for each in lab.all(".panels svg")]
    tried = [int(number) for number in re.findall(r"(\d+) packets:", labels[0])]
    meeting = []
    for packets in tried:
        scenario = Scenario.parse(QUICK).changed(f"link.buffer={packets}p")
        metrics = scenario.run(replications=REPLICATIONS).metrics
        low = metrics["utilization"].mean - (metrics["utilization"].half_width or 0)
        high = metrics["queue_delay_p99_s"].mean + (metrics["queue_delay_p99_s"].half_width or 0)
        if low >= 0.8 and high <= 0.04:
            meeting.append(packets)
    assert int(found[1]) == min(meeting)


def test_another_buffer_ends_the_look_at_a_chosen_one(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    until(lambda: rows(lab, ".engines"))
    # A pointer would look at another buffer.
    script = """const slider = document.querySelector('.look input');
        slider.value = 1; slider.dispatchEvent(new Event('input', {bubbles: true}))"""
    browser.execute_script(script)
    until(lambda: lab.text(".engines caption").startswith("At the chosen buffer"))
    lab.type(QUICK.replace('buffer = "', 'buffer = "1'))
    until(lambda: lab.text(".engines caption").startswith("At the current buffer, 1"))


def slider(lab: Lab, label: str) -> Any:
    script = """return [...document.querySelectorAll('label.steps')]
        .find((it) => it.textContent.startsWith(arguments[0])).querySelector('input')"""
    return lab.browser.execute_script(script, label)


@pytest.mark.long
def test_background_comes_and_goes_by_keys(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    lab.tab("Controls")
    slider(lab, "Load").send_keys(Keys.ARROW_RIGHT)
    until(lambda: "background" in lab.written())
    # The same slider goes on, without a click.
    for _ in range(3):
        browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    until(lambda: 'workload = { poisson = { rate = "1Mbps" } }' in lab.written())
    groups = Scenario.parse(lab.written()).resolved["flows"]
    assert [each["name"] for each in groups] == ["two", "background"]
    lab.type(lab.written().replace('name = "background"', 'name = "background"\npacket = "700B"'))
    until(lambda: slider(lab, "Load").get_attribute("aria-valuetext") == "10 % of the rate")
    slider(lab, "Load").send_keys(Keys.HOME)
    until(lambda: "background" not in lab.written())
    assert lab.written() == QUICK
    # The settings of the curve are still there.
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    until(lambda: "700B" in lab.written())
    assert not lab.complaints()


@pytest.mark.long
def test_jitter_is_drawn_for_each_flow_and_stays_in_proportion(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    lab.tab("Controls")
    for _ in range(4):
        slider(lab, "Jitter").send_keys(Keys.ARROW_RIGHT)
    until(lambda: '{ value = "20ms", jitter = { uniform = ["0s", "2ms"] } }' in lab.written())
    slider(lab, "Round trip").send_keys(Keys.ARROW_RIGHT)
    until(lambda: '{ value = "30ms", jitter = { uniform = ["0s", "3ms"] } }' in lab.written())
    Scenario.parse(lab.written())
    slider(lab, "Jitter").send_keys(Keys.HOME)
    until(lambda: 'rtt   = "30ms"' in lab.written())


def test_the_interval_of_the_page_is_students() -> None:
    # The numbers in lab/src/tradeoff.ts.
    text = (ROOT / "lab/src/tradeoff.ts").read_text()
    found = re.search(r"const STUDENT = \[(.*?)\]", text, re.DOTALL)
    assert found is not None
    written = [float(number) for number in found[1].split(",") if number.strip()]
    exact = stats.t.ppf(0.975, np.arange(1, len(written) + 1))
    assert written == pytest.approx(exact, rel=1e-5)


def test_a_buffer_of_bytes_is_simulated_as_one(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    # A buffer in milliseconds has room for more of the small packets than of the large ones.
    call = '[[flows]]\nname = "call"\npacket = "100B"\nworkload = { poisson = { rate = "2Mbps" } }\n[run]'
    text = QUICK.replace('"20p"', '"24ms"').replace("[run]", call).replace("Two flows", "Small packets")
    lab.type(text)
    until(lambda: lab.text(".title") == "Small packets")
    until(lambda: whole(lab), 90)
    delay = rows(lab, ".engines")[0][3].partition(" ± ")[0]
    runs = Scenario.parse(text).run(replications=REPLICATIONS, jobs=1).metrics
    assert close(delay, 1e3 * runs["queue_delay_p99_s"].mean)
    # The next buffer is set as it was simulated, so its run needs no other replications.
    script = """const look = document.querySelector('.look input'); look.value = 3;
        look.dispatchEvent(new Event('input', {bubbles: true}))"""
    browser.execute_script(script)
    chosen = until(lambda: re.search(r"^At the chosen buffer, (\d+) ", lab.text(".engines caption")))
    tested = rows(lab, ".engines")[0]
    button(browser, "Use this buffer").click()
    until(lambda: f'"{int(chosen[1]) * 1.5:g}kB"' in lab.written())
    until(lambda: lab.text(".engines caption").startswith("At the current buffer"))
    assert rows(lab, ".engines")[0] == tested
    assert not lab.complaints()


def test_a_buffer_without_room_is_not_called_the_buffer_of_one_packet(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    lab.type(QUICK.replace('"20p"', '"0p"').replace("Two flows", "No room"))
    until(lambda: lab.text(".title") == "No room")
    until(lambda: "the current one has no room, 1 packet" in lab.text(".engines caption"))
    assert not lab.complaints()
