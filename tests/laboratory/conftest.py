"""Fixtures of the tests of the laboratory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.lab_page import LaboratoryPage, opened
from forebay.errors import UnsupportedError
from tests.support.browsers import lacking
from tests.support.laboratory_page import QUICK, built


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built page with a quick scenario."""
    return built(QUICK, tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="module")
def probed_page() -> Iterator[LaboratoryPage]:
    """The page, with the probe in it."""
    try:
        with opened() as it:
            yield it
    except UnsupportedError as error:
        lacking(str(error))
