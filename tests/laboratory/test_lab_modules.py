"""WebAssembly modules of users in the laboratory's page: a file, a link, and code that fails."""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import Any

import pytest

from checks import rust_modules
from tests.support.laboratory_page import QUICK, Lab, button, fragment, until
from tests.support.paths import ROOT

EXAMPLE = ROOT / "examples" / "algorithms" / "newreno.rs"
BODY = "    x.cwnd += acked / x.cwnd;\n"


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """New Reno, and the same with a loop or a trap at each acknowledgment."""
    if not rust_modules.can_build():
        pytest.skip("no Rust for wasm32-unknown-unknown")
    folder = tmp_path_factory.mktemp("modules")
    text = EXAMPLE.read_text(encoding="utf-8")
    assert BODY in text
    found = {}
    for name, body in (
        ("newreno", BODY),
        ("endless", "    loop { x.now += acked; }\n"),
        ("trap", "    x.cwnd += acked;\n    core::arch::wasm32::unreachable()\n"),
    ):
        source = folder / f"{name}.rs"
        source.write_text(text.replace(BODY, body), encoding="utf-8")
        found[name] = folder / f"{name}.wasm"
        found[name].write_bytes(rust_modules.built(source, folder / name).read_bytes())
    return found


def linked(module: Path) -> str:
    """The quick scenario with a module instead of New Reno."""
    source = base64.b64encode(module.read_bytes()).decode()
    return QUICK.replace('"newreno"', f'{{ wasm = "{module.name}", source = "{source}" }}')


def opened(lab: Lab, module: Path) -> None:
    """Open a file at the congestion control of the group."""
    lab.tab("Controls")
    until(lambda: lab.browser.execute_script("return document.querySelector('.controls fieldset').disabled === false"))
    lab.browser.find_element("css selector", "input[type=file]").send_keys(str(module))


def banner(lab: Lab, text: str, seconds: float = 20.0) -> str:
    """The line above the picture, as soon as it has a text."""
    until(lambda: text in lab.text(".banner"), seconds)
    return lab.text(".banner")


def play(lab: Lab) -> None:
    """Start the run if it waits, as it does first in a browser that asks for less motion."""
    script = """const main = document.querySelector('button.main');
        if (main.textContent === 'Play' && !main.disabled) main.click();
        return main.textContent !== 'Play'"""
    until(lambda: lab.browser.execute_script(script))


def finished(lab: Lab) -> str:
    """The outcome of the run at full speed."""
    lab.choose("Speed", "fast")
    play(lab)
    return str(until(lab.outcome))


def test_a_module_of_a_file_runs_as_the_built_in_controller_does(
    browser: Any, page: Path, modules: dict[str, Path]
) -> None:
    expected = finished(Lab(browser, page))
    lab = Lab(browser, page)
    opened(lab, modules["newreno"])
    until(lambda: 'cca   = { wasm = "newreno.wasm", source = "AGFzbQ' in lab.written())
    until(lambda: "newreno.wasm" in lab.text(".controls"))
    assert finished(lab) == expected
    assert lab.text(".banner") == ""
    assert not lab.complaints()


def test_a_module_of_a_link_waits_for_consent(browser: Any, page: Path, modules: dict[str, Path]) -> None:
    text = linked(modules["newreno"])
    lab = Lab(browser, page, fragment(text))
    assert lab.text(".title") == "This scenario has not run yet"
    assert banner(lab, "newreno.wasm").startswith("The author of this scenario added code, `newreno.wasm`, which")
    time.sleep(0.5)
    assert lab.figure("time") in ("", "0 s")
    button(browser, "Run newreno.wasm").click()
    until(lambda: lab.text(".title") == "Two flows")
    assert lab.text(".banner") == ""
    assert finished(lab)
    # The same text needs no second consent, another content does.
    lab.type(text.replace("20p", "21p"))
    until(lambda: lab.text(".banner") == "" and "21" in str(lab.written()))
    lab.type(linked(modules["trap"]))
    banner(lab, "added code, `trap.wasm`,")
    assert not lab.complaints()


def test_an_endless_loop_is_ended_in_one_line(browser: Any, page: Path, modules: dict[str, Path]) -> None:
    lab = Lab(browser, page)
    opened(lab, modules["endless"])
    until(lambda: "endless.wasm" in lab.written())
    play(lab)
    line = banner(lab, "endless.wasm", 40)
    assert line == "endless.wasm: found no return from a call within 10 s; the page has ended it"
    # The page still answers.
    lab.type(QUICK.replace("20p", "33p"))
    until(lambda: lab.text(".banner") == "")
    assert finished(lab)
    assert not lab.complaints()


def test_a_trap_is_one_line_with_method_time_and_window(browser: Any, page: Path, modules: dict[str, Path]) -> None:
    lab = Lab(browser, page)
    opened(lab, modules["trap"])
    until(lambda: "trap.wasm" in lab.written())
    play(lab)
    line = banner(lab, "trap.wasm")
    assert line.startswith("trap.wasm: `on_ack` failed: unreachable (in `on_ack` at ")
    assert line.endswith(" packets)")
    assert not lab.complaints()


def test_a_file_that_is_no_module_changes_nothing(browser: Any, page: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "notes.wasm"
    wrong.write_text("hello", encoding="utf-8")
    lab = Lab(browser, page)
    before = lab.written()
    opened(lab, wrong)
    assert banner(lab, "notes.wasm") == ("notes.wasm: found no WebAssembly module; allowed: a binary `.wasm` file")
    large = tmp_path / "large.wasm"
    large.write_bytes(bytes(2**20 + 1))
    opened(lab, large)
    assert banner(lab, "large.wasm") == "large.wasm: found 1048577 bytes; allowed: at most 1048576"
    assert lab.written() == before
    assert not lab.complaints()
