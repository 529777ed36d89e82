"""Each broken module fails exactly the check that its fault belongs to, as a broken class does."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from checks import rust_modules
from forebay.algorithms.template import template_files
from forebay.contract.conforming import conformance
from forebay.contract.module_probe import probed_module, small_window
from forebay.storage.files import write_all

pytestmark = pytest.mark.skipif(not rust_modules.can_build(), reason="no Rust for wasm32-unknown-unknown")

ON_ACK = "    x.cwnd += acked / x.cwnd;\n"
ON_EVENT = "    x.reduce(state.beta * x.event().flight);\n"
ON_TIMEOUT = """
#[unsafe(no_mangle)]
extern "C" fn on_timeout(state: &mut State) {{
    let x = exchange();
    x.reduce(state.beta * x.event().flight);
    x.cwnd = {window};
}}
"""
#: Replacements of `ON_ACK` and `ON_EVENT`, and further functions, by the checks that fail.
FAULTS = {
    "window": (ON_ACK, ON_EVENT, ON_TIMEOUT.format(window="0.5")),
    "loss": (
        f"{ON_ACK}    x.cwnd = f64::min(x.cwnd, 25.0);\n",
        f"    if x.event().kind != forebay::LOSS {{ {ON_EVENT} }}\n",
        "",
    ),
    "ecn": (ON_ACK, f"    if x.event().kind != forebay::MARK {{ {ON_EVENT} }}\n", ""),
    "share_cubic share_newreno": (
        "    x.cwnd += 6.0 * acked / x.cwnd;\n",
        "    let kept = if x.event().kind == forebay::MARK { state.beta } else { 0.95 };\n"
        "    x.reduce(kept * x.event().flight);\n",
        "",
    ),
    "random_loss_1": ("    x.cwnd += 0.2 * acked / x.cwnd;\n", ON_EVENT, ""),
    "runs": (ON_ACK, "    state.beta = 1.0;\n    core::arch::wasm32::unreachable();\n", ""),
}


def module(folder: Path, on_ack: str = ON_ACK, on_event: str = ON_EVENT, more: str = "") -> Path:
    """The module of the template with other lines."""
    text = next(text for path, text in template_files("mine", "rust").items() if path.name == "lib.rs")
    assert text.count(ON_ACK) == text.count(ON_EVENT) == 1
    source = folder / "broken.rs"
    source.write_text(text.replace(ON_ACK, on_ack).replace(ON_EVENT, on_event) + more, encoding="utf-8")
    interface = next(text for path, text in template_files("mine", "rust").items() if path.name == "forebay.rs")
    write_all({folder / "package" / "src" / "forebay.rs": interface})
    return rust_modules.built(source, folder / "package")


@pytest.mark.parametrize("names", FAULTS)
def test_a_broken_module_fails_the_intended_check(tmp_path: Path, names: str) -> None:
    found = conformance(str(module(tmp_path, *FAULTS[names])), allow_code=True)
    assert [each.name for each in found.with_verdict("fail")] == names.split()


def test_a_window_below_one_packet_is_measured_and_one_packet_is_allowed(tmp_path: Path) -> None:
    for window, verdict, figure in (("0.25", "fail", "0.25 packets"), ("1.0", "pass", "1.00 packets")):
        more = ON_TIMEOUT.format(window=window)
        found = conformance(str(module(tmp_path, more=more)), allow_code=True)
        assert (found["window"].verdict, found["window"].figure) == (verdict, figure)
        assert found["runs"].verdict == "pass"


def test_the_probe_changes_nothing_but_the_module(tmp_path: Path) -> None:
    original = module(tmp_path).read_bytes()
    table = {"wasm": "mine.wasm", "source": base64.b64encode(original).decode(), "beta": 0.7}
    found = probed_module(table)
    assert found | {"source": ""} == table | {"source": ""}
    changed = base64.b64decode(found["source"])
    assert changed[:8] == original[:8]
    assert 0 < len(changed) - len(original) < 500


@pytest.mark.parametrize(
    ("error", "window"),
    [
        ("mine.wasm: `on_ack` left the window -1.25; allowed: ...", 0.25),
        ("mine.wasm: `on_ack` left the window -1; allowed: ...", 0.0),
        ("mine.wasm: `on_ack` left the window -3; allowed: ...", None),
        ("mine.wasm: `on_ack` left the window NaN; allowed: ...", None),
        ("mine.wasm: `on_ack` failed: unreachable", None),
    ],
)
def test_only_windows_of_the_probe_are_read(error: str, window: float | None) -> None:
    assert small_window(error) == window
