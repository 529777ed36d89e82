"""The project around the code: one version everywhere, and a citation.

`test_workflows.py` is about what GitHub reads.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import LONGEST
from tests.support.paths import ROOT


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _version() -> str:
    return str(tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"])


def test_the_version_is_one() -> None:
    version = _version()
    citation = _read(ROOT / "CITATION.cff")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    lines = re.findall(r"^## (\S+)(?: \((\d{4}-\d\d-\d\d)\))?$", changelog, re.MULTILINE)
    released = [line for line in lines if line[0] != "Unreleased"]
    assert released[0][0] == version, "the newest release of CHANGELOG.md is Cargo.toml's version"
    assert (citation["version"], str(citation["date-released"])) == released[0]
    numbers = [tuple(map(int, number.split("."))) for number, _ in released]
    assert numbers == sorted(numbers, reverse=True)


def test_what_is_begun_with_is_there() -> None:
    assert [name for name in LONGEST if not list((ROOT / "tests").rglob(name))] == []
    assert len(set(LONGEST)) == len(LONGEST)


def test_the_lock_of_the_page_has_the_packages_of_all_platforms() -> None:
    """The lock has the optional packages of all platforms, because `npm ci` refuses a lock without them."""
    packages = json.loads((ROOT / "lab/package-lock.json").read_text(encoding="utf-8"))["packages"]
    required = {name for package in packages.values() for name in package.get("optionalDependencies", {})}
    assert len(required) > 30
    there = {place.rpartition("node_modules/")[2] for place in packages}
    assert sorted(required - there) == []


def test_a_citation_is_one() -> None:
    """The keys that version 1.2.0 of the format wants, and none that it does not know."""
    citation = _read(ROOT / "CITATION.cff")
    required = {"cff-version", "message", "title", "authors"}
    assert required <= set(citation) <= required | {
        "type", "version", "date-released", "license", "abstract", "keywords", "repository-code", "url", "doi",
    }  # fmt: skip
    assert all("name" in author or {"family-names", "given-names"} <= set(author) for author in citation["authors"])
