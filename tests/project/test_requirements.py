"""The packages that the project installs for its tests and releases: pinned with hashes, as pyproject.toml wants."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
#: The file of each purpose, and the extras that it has.
FILES = {"dev": ("dev", "all"), "docs": ("docs",), "mutants": ("mutants",), "wheel": ("wheel",), "fuzz": ("fuzz",),
         "audit": ("audit",)}  # fmt: skip
#: Trials of what strangers install: they have no pins.
STRANGERS = {"dist/forebay-*.tar.gz", "dist/forebay-*.whl", "/dist/forebay-*.whl", "pipx"}

#: A pin, and its hashes.
PIN = re.compile(r"([a-z0-9.-]+)==(\S+)(?: ; (.+?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)")


def pins(purpose: str) -> list[tuple[str, str, str]]:
    """Name, version and marker of each pin of a file, which has nothing else."""
    text = (ROOT / "requirements" / f"{purpose}.txt").read_text(encoding="utf-8")
    head, _, rest = text.partition("\n")
    assert head == "# Pinned with hashes from pyproject.toml. Made by: make lock"
    assert PIN.sub("", rest) == "", "a line that is no pin with hashes"
    return [(name, version, marker) for name, version, marker, _ in PIN.findall(rest)]


def wanted(extra: str) -> Iterator[Requirement]:
    """The requirements of an extra, through other extras too."""
    for text in EXTRAS[extra]:
        one = Requirement(text)
        if one.name == "forebay":
            for other in one.extras:
                yield from wanted(other)
        else:
            yield one


def test_every_file_has_a_purpose_and_every_purpose_a_file() -> None:
    assert {path.stem for path in (ROOT / "requirements").iterdir()} == set(FILES)


@pytest.mark.parametrize("purpose", FILES)
def test_pins_are_what_pyproject_wants(purpose: str) -> None:
    found: dict[str, list[str]] = {}
    for name, version, _ in pins(purpose):
        found.setdefault(name, []).append(version)
    requested = [
        *map(Requirement, PROJECT["dependencies"]),
        *(one for extra in FILES[purpose] for one in wanted(extra)),
    ]
    assert len(requested) > 5
    for one in requested:
        name = re.sub(r"[._-]+", "-", one.name).lower()
        assert name in found, f"`make lock`: requirements/{purpose}.txt lacks {name}"
        for version in found[name]:
            assert Version(version) in one.specifier, f"`make lock`: {name} {version} is not {one.specifier}"


def test_a_package_has_one_version_for_every_purpose() -> None:
    developed = {(name, marker): version for name, version, marker in pins("dev")}
    for purpose in FILES:
        for name, version, marker in pins(purpose):
            assert developed.get((name, marker), version) == version, (purpose, name)


def installs() -> Iterator[tuple[str, str]]:
    """Where the project installs packages of Python's, and the line."""
    scripts = [*ROOT.glob(".github/workflows/*.yml"), ROOT / "Makefile", *(ROOT / ".ci").iterdir()]
    scripts += ROOT.glob("crates/*/*.sh")
    for path in scripts:
        for line in path.read_text(encoding="utf-8").splitlines():
            if re.search(r"\b(pip|pipx|uv|uvx|tool)\"? (install|run|sync)\b", line) and "skip " not in line:
                yield str(Path(path).relative_to(ROOT)), line.strip()


def test_what_is_installed_is_checked_by_its_hash() -> None:
    found = list(installs())
    assert {where for where, _ in found} >= {"Makefile", ".github/workflows/test.yml"}
    for where, line in found:
        stranger = line.rstrip("'").split()[-1] in STRANGERS
        assert stranger or "--require-hashes" in line, f"{where}: {line}"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert makefile.count("requirements/") >= len(FILES)
