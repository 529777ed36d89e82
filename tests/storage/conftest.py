"""Fixtures of the tests of storage: a small sweep."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from forebay import Scenario, sweep
from forebay.sweeps.bundling import bundle
from tests.support.damages import OVER, QUICK


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario.parse(QUICK)


@pytest.fixture(scope="module")
def swept(scenario: Scenario, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished sweep with its bundle beside it; not to be written to."""
    folder = tmp_path_factory.mktemp("swept")
    found = sweep(scenario, OVER, folder / "out", replications=1)
    bundle(found, folder / "b.zip", lambda _from, _to: [], QUICK)
    return folder


@pytest.fixture
def out(swept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(swept / "out", tmp_path / "out"))
