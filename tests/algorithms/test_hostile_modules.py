"""WebAssembly modules that are damaged, greedy or wrong end in one line and exit code 2, and need consent."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks import rust_modules
from forebay import Scenario
from forebay.errors import CodeError, InputError
from tests.algorithms.hostile import assert_no_archive_runs, written
from tests.support.commands import forebay

NEW_RENO = Path(__file__).parents[2] / "examples" / "algorithms" / "newreno.rs"
#: The first line of `on_ack`.
BODY = "    let mut acked = x.amount;\n"
EMPTY = b"\0asm\x01\0\0\0"


def scenario(folder: Path, module: bytes, cca: str = '{ wasm = "mine.wasm" }') -> Path:
    """A scenario with a module beside it."""
    (folder / "mine.wasm").write_bytes(module)
    return written(folder, cca)


def refused(path: Path) -> str:
    """The one line of a command that ends with exit code 2."""
    done = forebay("run", path, "--allow-code")
    assert done.code == 2, done.err
    assert len(done.err.strip().splitlines()) == 1
    return done.err


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (b"", "found no WebAssembly module"),
        (b"hello", "found no WebAssembly module"),
        (b"(module)", "found no WebAssembly module"),
        (EMPTY[:6], "not valid"),
        (EMPTY, "found no export `memory`"),
        (EMPTY + bytes(2**20), "more than 1048576 bytes"),
    ],
)
def test_files_that_are_no_modules_are_refused(tmp_path: Path, module: bytes, words: str) -> None:
    text = refused(scenario(tmp_path, module))
    assert "mine.wasm" in text
    assert words in text


def test_a_file_of_a_gigabyte_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = scenario(tmp_path, EMPTY)
    with (tmp_path / "mine.wasm").open("r+b") as file:
        file.truncate(2**30)
    assert "more than 1048576 bytes" in refused(path)


@pytest.mark.parametrize(
    ("cca", "words"),
    [
        ('{ wasm = "mine.txt" }', "allowed: a file such as `mine.wasm`"),
        ('{ wasm = "other.wasm" }', "no such file"),
        ('{ wasm = "mine.wasm", python = "mine.py:Mine" }', "mine.py"),
        ('{ wasm = "mine.wasm", source = "%%%" }', "no Base64"),
        ('{ wasm = "mine.wasm", source = 3 }', "is no text"),
        ("{ wasm = 3 }", "mine.toml"),
    ],
)
def test_wrong_tables_are_refused(tmp_path: Path, cca: str, words: str) -> None:
    assert words in refused(scenario(tmp_path, EMPTY, cca))


def test_a_queue_is_no_module(tmp_path: Path) -> None:
    scenario(tmp_path, EMPTY)
    path = written(tmp_path, '"cubic"', '{ wasm = "mine.wasm" }')
    assert "modules are only controllers" in refused(path)


def test_nothing_runs_without_consent(tmp_path: Path) -> None:
    path = scenario(tmp_path, EMPTY)
    with pytest.raises(InputError, match="only with your consent"):
        Scenario.load(path)
    done = forebay("run", path)
    assert done.code == 2
    assert "--allow-code" in done.err


def test_the_help_of_the_consent_speaks_of_modules(tmp_path: Path) -> None:
    done = forebay("run", "--help", cwd=tmp_path)
    assert "Python classes and WebAssembly modules" in " ".join(done.out.split())


def test_the_laboratory_runs_no_module(tmp_path: Path) -> None:
    done = forebay("lab", scenario(tmp_path, EMPTY), "--no-open", "--out", tmp_path / "page.html")
    assert done.code == 2
    assert "the laboratory opens without code" in done.err


needs_rust = pytest.mark.skipif(not rust_modules.can_build(), reason="no Rust for wasm32-unknown-unknown")


def variant(folder: Path, name: str, line: str) -> bytes:
    """New Reno with another first line of `on_ack`."""
    text = NEW_RENO.read_text(encoding="utf-8")
    assert text.count(BODY) == 1
    source = folder / f"{name}.rs"
    source.write_text(text.replace(BODY, f"    {line}\n{BODY}"), encoding="utf-8")
    return rust_modules.built(source, folder / name).read_bytes()


@needs_rust
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("loop { x.now += 1.0; }", "needs more than 100000000 instructions"),
        ("core::arch::wasm32::memory_grow(0, 160_000);", "found a memory of"),
        ("core::arch::wasm32::unreachable();", "`unreachable`"),
        ("x.cwnd = f64::NAN; return;", "the window NaN"),
    ],
)
def test_code_that_fails_ends_with_the_time_and_the_window(tmp_path: Path, line: str, words: str) -> None:
    text = refused(scenario(tmp_path, variant(tmp_path, "broken", line)))
    assert words in text
    assert "in `on_ack` at" in text


@needs_rust
def test_a_changed_module_is_a_changed_scenario(tmp_path: Path) -> None:
    path = scenario(tmp_path, variant(tmp_path, "one", ""))
    before = Scenario.load(path, allow_code=True)
    assert Scenario.load(path, allow_code=True).core.sha256 == before.core.sha256
    scenario(tmp_path, variant(tmp_path, "two", "if x.cwnd > 9.0 { return; }"))
    after = Scenario.load(path, allow_code=True)
    assert after.core.sha256 != before.core.sha256
    # The bytes of the first are part of it.
    assert before.run().metrics != after.run().metrics


@needs_rust
def test_a_parameter_that_the_module_has_not_is_refused(tmp_path: Path) -> None:
    path = scenario(tmp_path, variant(tmp_path, "one", ""), '{ wasm = "mine.wasm", gain = 2 }')
    with pytest.raises(InputError, match="gain"):
        Scenario.load(path, allow_code=True)


@needs_rust
def test_an_archive_with_a_module_runs_nothing(tmp_path: Path) -> None:
    path = scenario(tmp_path, variant(tmp_path, "one", ""))
    assert_no_archive_runs(path, tmp_path)


def test_base64_of_a_damaged_module_is_a_code_error(tmp_path: Path) -> None:
    with pytest.raises(CodeError, match=r"mine\.wasm: found no export"):
        Scenario.load(scenario(tmp_path, EMPTY), allow_code=True)
