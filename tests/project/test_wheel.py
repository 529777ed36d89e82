"""The distributed files: a wheel that users install and run, and sources from which a wheel can be built.

The wheel is that of the engines which are built for these tests, or the one that FOREBAY_WHEEL names.
"""

from __future__ import annotations

import email
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

import pytest

from forebay import _core
from forebay.commands.version import REQUIRED
from forebay.inputs.bundled_scenarios import bundled_names
from tests.support.commands import forebay, without_costs
from tests.support.forked import Answer
from tests.support.paths import ROOT

pytestmark = pytest.mark.long

HERE = Path(sys.executable).parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
#: The options of the build whose engines these tests import.
BUILT = next(
    (
        options
        for folder, options in (("debug", ()), ("release", ("--release",)))
        for path in (TARGET / folder).glob("*_core.*")
        if filecmp.cmp(path, _core.__file__, shallow=False)
    ),
    None,
)
PAGE = ROOT / "python" / "forebay" / "laboratory" / "index.html"

#: Largest size of a wheel in bytes, so that it downloads quickly.
MOST_BYTES = 15_000_000
ASKED = ["recommend", "@lab-dumbbell", "--quick", "--fresh", "--json", "--goal", "utilization>=90%"]
SHORT = ["--set", "run.warmup=2s", "--set", "run.measure=5s"]


def tool(name: str) -> str:
    """A program of the environment that the tests run in."""
    found = shutil.which(name, path=str(HERE))
    if found is None:
        pytest.skip(f"no {name} beside this Python: pip install -r requirements/dev.txt")
    return found


def made(*command: str | Path, env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> str:
    """The output of a command that must succeed; a machine without a package index skips the test."""
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, cwd=cwd, env=dict(env or os.environ)
    )
    text = done.stdout + done.stderr
    offline = re.search(r"name resolution|NewConnectionError|dns error|Connection refused|timed out", text)
    if done.returncode and offline and "CI" not in os.environ:
        pytest.skip(f"no package index: {offline[0]}")
    assert done.returncode == 0, text[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that is made without compiling: from the built engines, or the one to be distributed."""
    if "FOREBAY_WHEEL" in os.environ:
        return Path(os.environ["FOREBAY_WHEEL"]).resolve()
    if shutil.which("cargo") is None or BUILT is None:
        pytest.skip(f"no engines in {TARGET}: make setup builds them there")
    folder = tmp_path_factory.mktemp("wheel")
    # With what `make` has built them with, or all of it would be compiled again.
    environment = {"PYO3_PYTHON": str(HERE / "python"), "CARGO_TERM_COLOR": "never", **os.environ}
    built = ("build", *BUILT, "--locked", "--quiet", "--auditwheel", "skip", "--out", folder)
    made(tool("maturin"), *built, env=environment)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of sources."""
    if shutil.which("cargo") is None:
        pytest.skip("no cargo on PATH")
    folder = tmp_path_factory.mktemp("sdist")
    made(tool("maturin"), "sdist", "--out", folder)
    (found,) = folder.glob("*.tar.gz")
    return found


def tracked(*paths: str) -> set[str]:
    """Files below some paths that Git knows, with what links lead to."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no checkout")
    listed = made("git", "ls-files", "-z", "--", *paths).split("\0")
    return {name for name in listed if name and (ROOT / name).is_file()}


# Contents ----- -------------------------------------------------------------------------------------------------------


def scenarios() -> set[str]:
    """The files of the scenarios, as the package has them."""
    files = [path for path in (ROOT / "scenarios").iterdir() if path.is_file()]
    return {f"forebay/scenarios/{path.name}" for path in files}


def test_a_wheel_has_all_of_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    inside = {name for name in names if name.startswith("forebay/")}
    expected = {name.removeprefix("python/") for name in tracked("python/forebay")} | scenarios()
    if PAGE.is_file():
        expected.add("forebay/laboratory/index.html")
    engines = {name for name in inside if re.fullmatch(r"forebay/_core(\.abi3)?\.(so|pyd)", name)}
    assert len(engines) == 1
    assert inside - engines == expected
    meta = {PurePosixPath(name).relative_to(PurePosixPath(name).parts[0]) for name in names - inside}
    assert {str(name) for name in meta} >= {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    assert {name.partition("/")[0] for name in names - inside} == {wheel.name.split("-cp")[0] + ".dist-info"}


def test_a_wheel_serves_every_python_and_is_small(wheel: Path) -> None:
    assert re.fullmatch(r"forebay-[\d.a-z]+-cp311-abi3-\w+\.whl", wheel.name)
    assert wheel.stat().st_size < MOST_BYTES


def test_a_wheel_requires_what_recommend_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    required = [each for each in metadata.get_all("Requires-Dist", []) if "extra ==" not in each]
    assert sorted(re.split(r"[^\w.-]", each)[0] for each in required) == sorted(REQUIRED)
    assert {"all", "cluster", "plots", "tables"} <= set(metadata.get_all("Provides-Extra", []))


def test_a_wheel_for_others_is_stripped_and_asks_for_an_old_c_library(wheel: Path, tmp_path: Path) -> None:
    if "manylinux" not in wheel.name:
        pytest.skip("a wheel for this machine alone: FOREBAY_WHEEL names one for others")
    glibc = re.search(r"manylinux_2_(\d+)_", wheel.name)
    assert glibc is not None
    assert int(glibc[1]) <= 28
    with zipfile.ZipFile(wheel) as archive:
        engines = Path(archive.extract("forebay/_core.abi3.so", tmp_path)).read_bytes()
    assert {int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", engines)} <= set(range(int(glibc[1]) + 1))
    assert b"\0.debug_info\0" not in engines, "a section of this name"


def test_the_sources_are_what_a_wheel_needs_and_nothing_else(sources: Path) -> None:
    with tarfile.open(sources) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
        assert all(member.isfile() or member.isdir() for member in archive.getmembers()), "no links"
    rust = {name for name in names if name.startswith("crates/")}
    python = names - rust - {"Cargo.toml", "Cargo.lock", "pyproject.toml", "PKG-INFO", "README.md", "LICENSE"}
    expected = tracked("python/forebay") | {f"python/{name}" for name in scenarios()}
    assert python == expected | ({str(PAGE.relative_to(ROOT))} if PAGE.is_file() else set())
    known = {name for name in tracked("crates") if name.split("/")[2] in {"src", "Cargo.toml"}}
    there = {name.split("/")[1] for name in rust}
    assert rust == {name for name in known if name.split("/")[1] in there}
    assert {"python", "scenario", "packet", "fluid", "kernel", "engines"} <= there
    assert "browser" not in there, "the page is built already"


def test_the_sources_are_complete_by_themselves(sources: Path, tmp_path: Path) -> None:
    with tarfile.open(sources) as archive:
        # Python has the filter from 3.11.4 on.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    metadata = made("cargo", "metadata", "--locked", "--offline", "--format-version", "1", "--no-deps", cwd=folder)
    packages = {package["name"] for package in json.loads(metadata)["packages"]}
    assert "forebay-python" in packages
    assert len(packages) == len(list(folder.glob("crates/*/Cargo.toml")))


# Installed -----------------------------------------------------------------------------------------------------------


def called(program: Path, arguments: Iterable[str], cwd: Path) -> Answer:
    """Call what was installed, with nothing else on PATH: no compiler, no shell."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CARGO", "RUST"))},
        "PATH": str(program.parent),
        "COLUMNS": "200",
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, check=False, timeout=300, cwd=cwd, env=environment
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def check(program: Path, wheel: Path, place: Path, how: str) -> None:
    """It says its version, answers as these tests' own does, and says how to get what it lacks."""
    done = called(program, ["--version"], place)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == f"forebay {wheel.name.split('-')[1]}"
    with zipfile.ZipFile(wheel) as archive:
        page = "forebay/laboratory/index.html" in archive.namelist()
    assert ("laboratory: built" in done.out.splitlines()) == page
    answer = called(program, [*ASKED, *SHORT, "--out", "made"], place)
    assert answer.code == 0, answer.err
    assert answer.err == f"forebay: no picture: found no matplotlib, which draws pictures; allowed: after `{how}`\n"
    own = forebay(*ASKED, *SHORT, "--no-picture", cwd=place)
    assert without_costs(json.loads(answer.out)) == without_costs(json.loads(own.out))
    assert [path.name for path in (place / "made").iterdir()] == ["lab-dumbbell-recommendation.json"]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program in an environment of its own."""
    folder = tmp_path_factory.mktemp("installed")
    made(sys.executable, "-m", "venv", folder)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    made(programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", wheel)
    return programs / HERE.joinpath("forebay").with_suffix(".exe" if os.name == "nt" else "").name


def test_a_stranger_with_python_alone_gets_an_answer(installed: Path, wheel: Path, tmp_path: Path) -> None:
    for compiler in ("cargo", "rustc", "cc"):
        assert shutil.which(compiler, path=str(installed.parent)) is None
    check(installed, wheel, tmp_path, 'pip install "forebay[plots]"')


def test_every_verb_answers_there(installed: Path, tmp_path: Path) -> None:
    listed = called(installed, ["new", "--list"], tmp_path).out.splitlines()
    assert [line.split()[0] for line in listed] == [f"@{name}" for name in bundled_names()]
    helped = called(installed, ["--help"], tmp_path)
    verbs = re.findall(r"^  ([a-z]+)  ", helped.out.partition("Examples:")[0], re.MULTILINE)
    assert len(verbs) >= 14
    for verb in verbs:
        answer = called(installed, [verb, "--help"], tmp_path)
        assert (answer.code, answer.err) == (0, ""), verb
    reads_a_file = called(installed, ["run", "@lte-downlink", "--replications", "1", *SHORT], tmp_path)
    assert (reads_a_file.code, reads_a_file.err) == (0, "")
    laboratory = called(installed, ["lab", "--no-open", "--out", "lab.html"], tmp_path)
    if PAGE.is_file():
        assert (laboratory.code, laboratory.err) == (0, "")
    else:
        assert "`make lab`" in laboratory.err


def test_pipx_installs_it(wheel: Path, tmp_path: Path) -> None:
    own = {**os.environ, "PIPX_HOME": str(tmp_path / "home"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    made(tool("pipx"), "install", "--python", sys.executable, wheel, env=own)
    check(next((tmp_path / "bin").glob("forebay*")), wheel, tmp_path, "pipx inject forebay matplotlib")


def test_uv_installs_it(wheel: Path, tmp_path: Path) -> None:
    own = {**os.environ, "UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    made(tool("uv"), "tool", "install", "--quiet", "--python", sys.executable, wheel, env=own)
    check(next((tmp_path / "bin").glob("forebay*")), wheel, tmp_path, "uv tool install --with matplotlib forebay")
