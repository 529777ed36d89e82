"""`forebay new --algorithm`: each language has the same algorithm, and its files do what their README says."""

from __future__ import annotations

import base64
import json
import re
import shlex
import subprocess
import textwrap
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from checks import rust_modules
from forebay import Scenario
from forebay.algorithms.template import LANGUAGES, template_files
from forebay.errors import InputError
from forebay.storage.files import write_all
from tests.support import c_modules
from tests.support.commands import forebay
from tests.support.paths import ROOT

#: A name that no other test uses, because all modules of Rust are built in one folder.
NAME = "mine_of_template"
OFFSETS = ROOT / "crates" / "webassembly" / "src" / "exchange.rs"
INTERFACE = ROOT / "crates" / "webassembly" / "src" / "interface.rs"

RUN: dict[str, Any] = {"warmup": "1s", "measure": "6s", "replications": 2}
#: Slow start and large windows; timeouts and the smallest threshold.
TRAFFIC: tuple[tuple[dict[str, Any], int], ...] = (
    ({"rate": "20Mbps", "buffer": "30p", "loss": {"random": "0.1%"}}, 4),
    ({"rate": "5Mbps", "buffer": "5p", "loss": {"random": "3%"}}, 8),
)


def numbers(cca: dict[str, Any]) -> str:
    """Everything that the reports say but the names, the digests and the costs."""
    found = []
    for link, count in TRAFFIC:
        group = {"name": "flows", "count": count, "rtt": {"uniform": ["5ms", "40ms"]}, "cca": cca}
        scenario = Scenario.of({"link": link, "flows": [group], "run": RUN}, allow_code=True)
        plain = json.loads(scenario.run("packet").core.json())
        found.append({key: plain[key] for key in ("metrics", "groups", "warnings")})
    return json.dumps(found, sort_keys=True)


def written(folder: Path, language: str) -> Path:
    """The folder of a new algorithm."""
    done = forebay("new", "--algorithm", NAME, "--language", language, "--out", "made", cwd=folder)
    assert done.code == 0, done.err
    return folder / "made"


def build(folder: Path, language: str) -> Path:
    """Run the first command of the README, or skip the test if this machine has no compiler."""
    module = folder / LANGUAGES[language][0].replace("@NAME@", NAME)
    if language == "rust":
        if not rust_modules.can_build():
            pytest.skip("no Rust for wasm32-unknown-unknown")
        built = rust_modules.built_package(folder)
        module.parent.mkdir(parents=True)
        module.write_bytes(built.read_bytes())
    else:
        clang = c_modules.clang()
        if clang is None:
            pytest.skip("no clang for wasm32")
        program, *arguments = shlex.split(commands(folder)[0])
        assert program == "clang"
        done = subprocess.run([clang, *arguments, "-Wall", "-Wextra", "-Werror"], cwd=folder, check=False)
        assert done.returncode == 0
    return module


def commands(folder: Path) -> list[str]:
    """The commands of the README, each in one line."""
    text = (folder / "README.md").read_text(encoding="utf-8").replace("\\\n", "")
    return re.findall(r"^ {4}(\S.*)$", text, re.MULTILINE)


def taking(cca: dict[str, Any], beta: float) -> dict[str, Any]:
    return {**cca, "beta": beta}


@pytest.fixture(scope="module")
def in_python(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("python")
    assert forebay("new", "--algorithm", NAME, "--out", "mine.py", cwd=folder).code == 0
    source = (folder / "mine.py").read_text(encoding="utf-8")
    return {"python": "mine.py:MineOfTemplate", "source": source}


def test_the_default_is_new_reno(in_python: dict[str, Any]) -> None:
    assert numbers(in_python) == numbers({"kind": "newreno"})
    assert numbers(taking(in_python, 0.8)) != numbers(in_python)


@pytest.mark.parametrize("language", ["rust", "c"])
def test_modules_have_the_results_of_the_class_and_pass_conformance(
    language: str, in_python: dict[str, Any], tmp_path: Path
) -> None:
    folder = written(tmp_path, language)
    module = build(folder, language)
    assert module.stat().st_size < 4096
    scenario = Scenario.load(folder / f"{NAME}.toml", allow_code=True)
    mine = dict(scenario.resolved["flows"][0]["cca"])
    assert mine.pop("wasm") == module.relative_to(folder).as_posix()
    _, run, conformance = commands(folder)
    for command in (run, conformance):
        done = forebay(*shlex.split(command)[1:], cwd=folder)
        assert done.code == 0, done.err
    assert "fail" not in done.out
    table = {"wasm": "mine.wasm", "source": mine["source"]}
    for beta in (0.5, 0.8):
        assert numbers(taking(table, beta)) == numbers(taking(in_python, beta))


def test_the_commands_of_the_python_file_work(tmp_path: Path) -> None:
    assert forebay("new", "--algorithm", NAME, cwd=tmp_path).code == 0
    text = (tmp_path / f"{NAME}.py").read_text(encoding="utf-8")
    found = re.findall(r"^ {4}(forebay .*)$", text, re.MULTILINE)
    assert len(found) == 2
    for command, more in zip(found, (["--set", "run.measure=1s", "--replications", "1"], []), strict=True):
        done = forebay(*shlex.split(command)[1:], *more, cwd=tmp_path)
        assert done.code == 0, done.err


def offsets() -> dict[str, int]:
    """The offset of each field of the exchange, as the core writes it."""
    found = re.findall(r" pub const (\w+): usize = (\d+);", OFFSETS.read_text(encoding="utf-8"))
    assert len(found) > 25
    return {name.lower(): int(at) for name, at in found}


#: The structure of a field, by its name; other fields are those of every call.
PARTS = {
    "acked": "ack",
    **dict.fromkeys(("flight", "kind"), "event"),
    **dict.fromkeys(("idle", "idle_ps", "restart_window"), "idle"),
    "payload": "open",
    **dict.fromkeys(("rtt", "arrived", "lost", "marked", "acknowledged", "next", "prior_in_flight"), "sample"),
    **dict.fromkeys(("in_flight", "delivered", "losses", "delivery_rate", "state", "limited", "app_limited"), "sample"),
}


def test_the_c_header_has_the_offsets_of_the_core(tmp_path: Path) -> None:
    write_all({tmp_path / path: text for path, text in template_files(NAME, "c").items()})
    lines = [f'#include "{NAME}.c"', "#include <stddef.h>"]
    for name, at in offsets().items():
        field = f"{PARTS[name]}.{name}" if name in PARTS else name
        lines.append(f'_Static_assert(offsetof(ForebayExchange, {field}) == {at}, "{name}");')
    (tmp_path / "asserted.c").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = c_modules.checked(tmp_path / "asserted.c")
    if found is None:
        pytest.skip("no compiler of C")
    assert found == ""


def test_the_rust_interface_has_the_offsets_of_the_core(tmp_path: Path) -> None:
    if not rust_modules.can_build():
        pytest.skip("no Rust for wasm32-unknown-unknown")
    write_all({tmp_path / path: text for path, text in template_files("offsets_of_template", "rust").items()})
    lines = []
    for name, at in offsets().items():
        part = PARTS.get(name)
        field = f"offset_of!(Exchange, {name})"
        if part is not None:
            field = f"offset_of!(Exchange, call) + offset_of!({part.capitalize()}, {name})"
        lines.append(f"const _: () = assert!({field} == {at});")
    interface = tmp_path / "src" / "forebay.rs"
    text = interface.read_text(encoding="utf-8") + "use core::mem::offset_of;\n" + "\n".join(lines) + "\n"
    interface.write_text(text, encoding="utf-8")
    rust_modules.built_package(tmp_path)


def test_the_method_of_the_guide_can_be_added(tmp_path: Path) -> None:
    if not rust_modules.can_build():
        pytest.skip("no Rust for wasm32-unknown-unknown")
    guide = (ROOT / "docs" / "guides" / "modules.md").read_text(encoding="utf-8")
    method = guide[guide.index("    #[unsafe(no_mangle)]") : guide.index("In C, write the word")]
    write_all({tmp_path / path: text for path, text in template_files("guide_of_template", "rust").items()})
    with (tmp_path / "src" / "lib.rs").open("a", encoding="utf-8") as file:
        file.write(textwrap.dedent(method))
    source = base64.b64encode(rust_modules.built_package(tmp_path).read_bytes()).decode()
    assert numbers({"wasm": "mine.wasm", "source": source}) != numbers({"kind": "newreno"})


def test_both_interfaces_have_every_import_of_the_core() -> None:
    text = INTERFACE.read_text(encoding="utf-8")
    known = dict(re.findall(r'^    \("(\w+)", (\d)\),$', text, re.MULTILINE))
    assert len(known) == 12
    rust = template_files(NAME, "rust")[PurePosixPath("src/forebay.rs")]
    found = re.findall(r"pub safe fn (\w+)\((.*)\) -> f64;", rust)
    assert {name: str(arguments.count("f64")) for name, arguments in found} == known
    c = template_files(NAME, "c")[PurePosixPath("forebay.h")]
    declared = re.findall(r'^FOREBAY_IMPORT\("(\w+)"\) double forebay_(\w+)\((.*)\);$', c, re.MULTILINE)
    assert all(name == function for name, function, _ in declared)
    assert {name: str(arguments.count("double")) for name, _, arguments in declared} == known


@pytest.mark.parametrize(
    "name", ["", "My", "my-reno", "1st", "_x", "a" * 41, "for", "struct", "true", "core", "forebay", "naïve", "a b"]
)
def test_names_that_no_language_allows_are_refused(name: str, tmp_path: Path) -> None:
    done = forebay("new", "--algorithm", name, "--language", "c", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"forebay: --algorithm: found `{name}`")
    assert done.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--algorithm", "mine", "--language", "go"], "--language: found `go`; allowed: python, rust, c"),
        (["--algorithm", "mine", "--out", "mine.txt"], "--out: found `mine.txt`; allowed: a name that ends in .py"),
        (["--algorithm", "mine", "--rate", "1Mbps"], "--rate: cannot be combined with --algorithm"),
        (["mine.toml", "--algorithm", "mine"], "FILE: cannot be combined with --algorithm"),
        (["mine.toml", "--language", "c"], "--language: found no --algorithm"),
        (["mine.toml", "--out", "mine"], "--out: found no --algorithm"),
    ],
)
def test_options_that_contradict_each_other_are_refused(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = forebay("new", *arguments, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"forebay: {words}")
    assert not list(tmp_path.iterdir())


def test_files_that_exist_are_replaced_only_with_force(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.toml").write_text("old", encoding="utf-8")
    arguments = ("new", "--algorithm", "mine", "--language", "rust")
    refused = forebay(*arguments, cwd=tmp_path)
    assert refused.code == 2
    assert "mine.toml: found a file of this name; allowed: a new name, or --force" in refused.err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["mine.toml"]
    assert forebay(*arguments, "--force", cwd=tmp_path).code == 0
    assert (tmp_path / "mine" / "mine.toml").read_text(encoding="utf-8") != "old"


def test_all_files_are_written_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a").write_text("before", encoding="utf-8")
    files = {tmp_path / "old" / "a": "after", tmp_path / "new" / "deep" / "b": "b", tmp_path / "new" / "c": "c"}
    original = Path.write_bytes

    def failing(path: Path, data: bytes) -> int:
        if path.name.startswith("c."):
            raise OSError("the disk is full")
        return original(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", failing)
        with pytest.raises(OSError, match="full"):
            write_all(files)
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == ["old", "old/a"]
    assert (tmp_path / "old" / "a").read_text(encoding="utf-8") == "before"
    write_all(files)
    assert {path.read_text(encoding="utf-8") for path in files} == {"after", "b", "c"}


def test_an_unknown_language_has_no_template() -> None:
    with pytest.raises(InputError, match="allowed: python, rust, c"):
        template_files("mine", "go")
