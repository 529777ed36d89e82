"""Open pages in a browser, or skip a test where the machine has none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NoReturn

import pytest


def lacking(why: str) -> NoReturn:
    """Skip what a browser or its page is not there for; fail where they must be there, as in continuous integration."""
    if os.environ.get("FOREBAY_BROWSER") == "required":
        pytest.fail(why)
    pytest.skip(why)


def show(
    browser: Any, path: Path, width: int, *, scheme: str = "light", media: str = "", motion: str = "reduce"
) -> None:
    """Open a page on a screen of this width, by day ("light") or by night ("dark"), or as it is printed.

    A system that asks for reduced motion gets a laboratory that is paused.
    """
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": motion},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    browser.get(path.as_uri())
