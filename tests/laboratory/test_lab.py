"""`forebay lab`: the page as a file, and the laboratory in a browser, by clicks, keys and links."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from forebay.commands.lab import lab
from forebay.errors import InputError, UnsupportedError
from forebay.laboratory import page as laboratory
from forebay.laboratory.page import MARK, laboratory_page
from forebay.scenario import Scenario
from tests.support.browsers import lacking
from tests.support.commands import forebay
from tests.support.laboratory_page import QUICK, Lab, fragment, until
from tests.support.scenarios import SMALL


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page as the command finds it, without engines."""
    (tmp_path / "index.html").write_text(f"<html>{MARK}</html>")
    monkeypatch.setattr(laboratory, "files", lambda _name: tmp_path)
    return tmp_path


def given(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="scenario">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


@pytest.mark.usefixtures("template")
def test_a_page_holds_its_scenario_whatever_is_in_it() -> None:
    assert given(laboratory_page()) is None
    for text in (SMALL, 'title = "</script><script>alert(1)</script><!--"', "é\u2028\\u0000"):
        page = laboratory_page("a", text)
        assert given(page) == {"name": "a", "text": text}
        assert page.count("</script>") == 1


def test_a_page_that_was_not_built_is_named(template: Path) -> None:
    (template / "index.html").unlink()
    with pytest.raises(UnsupportedError, match="`make lab`"):
        laboratory_page()


def test_what_a_page_cannot_read_is_one_line(tmp_path: Path) -> None:
    json_file, broken, other = tmp_path / "a.json", tmp_path / "b.toml", tmp_path / "c.toml"
    json_file.write_text("{}")
    broken.write_text('[link]\nrate = "fast"\n')
    other.write_text(SMALL.replace('rate   = "2Mbps"', 'rate = { file = "rates.csv" }'))
    for path, statements in (
        (json_file, "a.json: found no link"),
        (broken, "b.toml:2: link.rate: found `fast`"),
        (other, "c.toml:4: link.rate.file: "),
        (tmp_path / "none.toml", "No such file"),
    ):
        answer = forebay("lab", path, "--no-open", "--out", tmp_path / "page.html")
        assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err
        assert statements in answer.err
    assert not (tmp_path / "page.html").exists()


@pytest.mark.usefixtures("template")
def test_a_page_does_not_replace_its_scenario(small: Path, tmp_path: Path) -> None:
    (tmp_path / "link.html").symlink_to(small)
    for out in (small, tmp_path / "link.html"):
        result = CliRunner().invoke(lab, [str(small), "--no-open", "--out", str(out)])
        assert isinstance(result.exception, InputError)
        assert "the scenario itself" in str(result.exception)
    assert small.read_text(encoding="utf-8") == SMALL


@pytest.mark.usefixtures("template")
def test_a_page_takes_json_and_what_a_scenario_names(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("time_s,rate_Mbps\n0,2\n1,0.5\n")
    (tmp_path / "trace").write_text("1\n5\n9\n")
    scenario = Scenario.parse(SMALL)
    written = {
        "whole.json": json.dumps(dict(scenario.resolved)),
        "rates.toml": SMALL.replace('rate   = "2Mbps"', 'rate   = { file = "rates.csv", repeat = "2s" } # falls'),
        "trace.toml": SMALL.replace('rate   = "2Mbps"', 'rate   = { mahimahi = "trace" }'),
        "delay.toml": SMALL.replace("buffer =", 'delay = { file = "delays.csv" }\nbuffer ='),
    }
    (tmp_path / "delays.csv").write_text("time_s,delay_ms\n0,2\n1,5\n")
    for name, text in written.items():
        (tmp_path / name).write_text(text)
        result = CliRunner().invoke(lab, [str(tmp_path / name), "--no-open", "--out", str(tmp_path / "page.html")])
        assert result.exit_code == 0, result
        held = given((tmp_path / "page.html").read_text())["text"]
        # Without a folder no file can be read.
        assert Scenario.parse(held).core.sha256 == Scenario.load(tmp_path / name).core.sha256, name
        if name == "rates.toml":
            before, after = (set(it.splitlines()) for it in (text, held))
            assert len(before - after) == 1
            assert '[link]\nrate   = { steps = [["0ps", "2000000bps"]' in held
            assert "# falls" in held


def test_a_scenario_says_in_toml_what_it_is(tmp_path: Path) -> None:
    unchanged = Scenario.parse(SMALL)
    assert unchanged.toml == SMALL
    (tmp_path / "rates.csv").write_text("time_s,rate_Mbps\n0,2\n1,0.5\n")
    (tmp_path / "a.toml").write_text(SMALL.replace('"2Mbps"', '{ file = "rates.csv" }'))
    for scenario in (
        unchanged,
        unchanged.changed("link.queue=codel"),
        unchanged.changed("link.buffer=2BDP").changed("flows.bulk.count=3"),
        unchanged.changed("flows.bulk.stack=linux").changed("flows.bulk.cca=bbr"),
        unchanged.with_packets(33),
        unchanged.changed("link.buffer=5kB").with_packets(33),
        unchanged.with_core(unchanged.core.with_packets(44)),
        Scenario.of(dict(unchanged.resolved)),
        Scenario.load(tmp_path / "a.toml").changed("run.seed=9"),
    ):
        assert Scenario.parse(scenario.toml).core.sha256 == scenario.core.sha256


def test_a_scenario_may_come_from_standard_input(tmp_path: Path) -> None:
    if not laboratory.is_built():
        lacking("the page was not built: make lab")
    command = [sys.executable, "-m", "forebay", "lab", "-", "--no-open", "--out", "page.html"]
    done = subprocess.run(command, input=QUICK, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert given((tmp_path / "page.html").read_text(encoding="utf-8"))["text"] == QUICK


# In a browser --------------------------------------------------------------------------------------------------------


def test_a_run_goes_to_its_end_and_says_what_the_engine_says(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    lab.choose("Speed", "fast")
    lab.all("button.main")[0].click()
    until(lab.outcome)
    report = Scenario.parse(QUICK).run(replications=1)
    shown = {name: float(report.metrics[name].mean) for name in ("utilization", "loss_rate", "queue_delay_p99_s")}
    numbers = [float(number) for number in re.findall(r"[\d.]+(?= (?:%|ms))", lab.outcome())]
    expected = [100 * shown["utilization"], 100 * shown["loss_rate"], 1000 * shown["queue_delay_p99_s"]]
    assert numbers == [pytest.approx(value, rel=6e-3) for value in expected]
    assert not lab.complaints()


def test_it_plays_steps_and_pauses_by_keys(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    until(lambda: lab.figure("time"))
    body = lab.all("body")[0]
    assert lab.figure("time") == "0 s"
    body.send_keys(".")
    until(lambda: lab.figure("time") != "0 s")
    stepped = lab.stands()
    body.send_keys(" ")
    until(lambda: lab.text("button.main") == "Pause")
    until(lambda: lab.figure("time") != stepped)
    body.send_keys(" ")
    until(lambda: lab.text("button.main") == "Play")
    assert lab.stands() != stepped
    body.send_keys("r")
    until(lambda: lab.figure("time") == "0 s")
    assert not lab.complaints()


def test_controls_change_the_text_and_the_text_the_controls(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    lab.choose("Congestion control", "cubic")
    until(lambda: 'cca   = "cubic"' in lab.written())
    lab.choose("Queue", "codel")
    until(lambda: 'queue = "codel"' in lab.written())
    assert "# of the line" in lab.written()
    lab.type(QUICK.replace('cca   = "newreno"', 'cca = "bbr"').replace('"20p"', '"50p"'))
    choice = "return [...document.querySelectorAll('select')].map((it) => it.value)"
    until(lambda: "bbr" in browser.execute_script(choice))
    number = "return document.querySelector('.buffer .number').value"
    until(lambda: browser.execute_script(number) == "50")
    assert not lab.complaints()


def test_of_a_slider_that_is_dragged_the_last_value_stays(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    until(lambda: lab.figure("time"))
    # Faster than anyone drags: all in one turn, and back once.
    drag = """const [name, ...places] = arguments;
        const input = [...document.querySelectorAll('label.steps')]
            .find((it) => it.textContent.startsWith(name)).querySelector('input');
        for (const place of places) {
            input.value = place;
            input.dispatchEvent(new Event('input', {bubbles: true}));
        }"""
    browser.execute_script(drag, "Rate", *range(4, 12), 7)
    browser.execute_script(drag, "Round trip", 2, 6)
    changed = QUICK.replace('"10Mbps"', '"200Mbps"').replace('"20ms"', '"50ms"')
    until(lambda: lab.written() == changed)
    assert lab.text(".steps output") == "200Mbps"
    time.sleep(0.5)
    assert lab.written() == changed
    assert not lab.complaints()


def test_controls_wait_until_the_text_is_right(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    waits = "return [...document.querySelectorAll('.controls fieldset')].map((it) => it.disabled)"
    until(lambda: not any(browser.execute_script(waits)))
    lab.type(QUICK.replace('"10Mbps"', '"fast"'))
    until(lambda: all(browser.execute_script(waits)))
    assert lab.text(".steps output") == "10Mbps"
    lab.type(QUICK.replace("rtt   =", "start = ['0s', '1s']\nrtt   ="))
    until(lambda: not any(browser.execute_script(waits)))
    # Two flows have two times to start: a third one does not fit.
    press = """const input = [...document.querySelectorAll('label.steps')]
        .find((it) => it.textContent.startsWith('Flows')).querySelector('input');
        input.value = 2; input.dispatchEvent(new Event('input', {bubbles: true})); return input"""
    slider = browser.execute_script(press)
    assert until(lambda: lab.text(".banner")).startswith("flows[0].start: ")
    until(lambda: slider.get_attribute("value") == "1")
    assert "count = 2" in lab.written()
    assert not any(browser.execute_script(waits))
    assert not lab.complaints()


def test_an_error_is_shown_at_its_line_until_corrected(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    lab.type(QUICK.replace('"10Mbps"', '"fast"'))
    message = until(lambda: lab.text("#wrong"))
    with pytest.raises(Exception, match=r"link\.rate") as native:
        Scenario.parse(QUICK.replace('"10Mbps"', '"fast"'), name="scenario")
    assert message == str(native.value)
    assert until(lambda: lab.text(".gutter .wrong")).strip() == "3"
    lab.type(QUICK)
    until(lambda: not lab.text("#wrong"))
    assert not lab.complaints()


@pytest.mark.long
def test_a_link_brings_its_scenario_and_a_hostile_one_does_nothing(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    lab.type(QUICK.replace("Two flows", "Shared"))
    until(lambda: lab.text(".title") == "Shared")
    [button] = [each for each in lab.all("header button") if each.text == "Copy link"]
    button.click()
    fragment = until(lambda: browser.execute_script("return location.hash.slice(1)"))
    shared = Lab(browser, page, fragment)
    until(lambda: shared.text(".title") == "Shared")
    for hostile in (fragment[:-5], "s=" + "A" * 300_000, "s=%3Cimg%20src=x%20onerror=alert(1)%3E", "x=1"):
        attacked = Lab(browser, page, hostile)
        assert until(lambda it=attacked: it.text(".banner")).startswith("the link")
        until(lambda it=attacked: it.text(".title") == "Two flows")
        assert not attacked.complaints()


def test_back_and_forward_go_from_scenario_to_scenario(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    fragments = [fragment(QUICK.replace("Two flows", name)) for name in ("One", "Other")]
    for name, each in zip(("One", "Other"), fragments, strict=True):
        browser.execute_script("location.hash = arguments[0]", each)
        until(lambda it=name: lab.text(".title") == it)
    for go, name in ((browser.back, "One"), (browser.back, "Two flows"), (browser.forward, "One")):
        go()
        until(lambda it=name: lab.text(".title") == it)
    browser.execute_script("location.hash = 's=broken'")
    until(lambda: lab.text(".banner").startswith("the link"))
    assert lab.text(".title") == "One"
    browser.back()
    until(lambda: not lab.text(".banner"))
    # Half of a character, which no text in UTF-8 has.
    browser.execute_script("location.hash = arguments[0]", fragment(QUICK.replace("Two flows", "Half") + "# \ud800"))
    until(lambda: lab.text(".title") == "Half")
    until(lambda: lab.written().endswith("# \ufffd"))
    assert not lab.complaints()


@pytest.mark.long
def test_absurd_scenarios_are_refused_or_bounded(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    for text in (
        QUICK.replace("count = 2", "count = 1000000"),
        QUICK.replace('"20p"', '"1000000000p"').replace('"10Mbps"', '"400Gbps"'),
        QUICK.replace('"4s"', '"100000000s"'),
        "x" * 1_000_000,
        "[[flows]]\n" * 20_000,
    ):
        lab.type(text)
        lab.all("button.main")[0].click()
        time.sleep(1.0)
        # The page answers whatever the engines do.
        assert browser.execute_script("return 1 + 1") == 2
    lab.type(QUICK)
    until(lambda: lab.text(".title") == "Two flows" and not lab.text("#wrong"))
    assert not lab.complaints()


def test_nothing_is_fetched_and_nothing_else_may_run(browser: Any, page: Path) -> None:
    lab = Lab(browser, page)
    until(lambda: lab.figure("time"))
    script = (
        "return performance.getEntriesByType('resource').map((it) => it.name).filter((it) => !it.startsWith('blob:'))"
    )
    assert browser.execute_script(script) == []
    policy = lab.all('meta[http-equiv="Content-Security-Policy"]')[0].get_attribute("content")
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "unsafe-eval'" not in policy.replace("wasm-unsafe-eval", "")
    browser.execute_script(
        "const it = document.createElement('script'); it.textContent = 'window.bad = 1'; document.body.append(it)"
    )
    assert browser.execute_script("return window.bad ?? 0") == 0
    assert page.stat().st_size < 1_700_000


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1280, 2560])
def test_a_page_fits_its_screen_and_is_accessible(browser: Any, page: Path, width: int, scheme: str) -> None:
    lab = Lab(browser, page, width=width, scheme=scheme)
    until(lambda: lab.figure("time"))
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    from axe_playwright_python.base import AXE_FILE_PATH

    browser.execute_cdp_cmd("Runtime.evaluate", {"expression": Path(AXE_FILE_PATH).read_text(encoding="utf-8")})
    found = browser.execute_async_script("const done = arguments[0]; axe.run().then((it) => done(it.violations))")
    assert not [(each["id"], each["nodes"][0]["html"][:120]) for each in found]
