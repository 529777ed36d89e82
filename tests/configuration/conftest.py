"""Fixtures of the tests of configurations."""

from __future__ import annotations

import pytest

from tests.support.traffic_control import tc_runs


@pytest.fixture
def tc() -> None:
    """Skips where there is no tc or no namespace for it."""
    if why := tc_runs():
        pytest.skip(why)
