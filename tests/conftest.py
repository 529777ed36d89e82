"""Fixtures of all tests, and the order in which test files run."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.support.browsers import lacking
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL
from tests.support.tiers import ALL, DEFAULT_EXAMPLES, second_tier

# As verbs set it: a process that a test starts has the same environment before and after a verb in this process.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

#: Tests that need signals, namespaces or `fork`, which Windows does not have.
collect_ignore = (
    [
        "checks/test_captured.py",
        "measurement/test_cluster.py",
        "measurement/test_emulate.py",
        "commands/test_interruption.py",
        "measurement/test_kernel_runs.py",
        "storage/test_locks.py",
        "search/test_resumption.py",
        "search/test_resumption_laws.py",
    ]
    if sys.platform == "win32"
    else []
)

#: The files that take longest, the longest first: what is begun last is waited for by processes that have nothing left.
LONGEST = (
    "test_verdicts.py",
    "test_lab_experiments.py",
    "test_browser.py",
    "test_pictures.py",
    "test_surroundings.py",
    "test_range_variable.py",
    "test_resumption.py",
    "test_class_sizing.py",
    "test_command_line.py",
    "test_check.py",
    "test_observe_records.py",
    "test_words.py",
    "test_strata.py",
    "test_cluster.py",
    "test_damage.py",
    "test_platforms.py",
    "test_documentation.py",
    "test_lab.py",
    "test_bundling.py",
    "test_quick.py",
)

# Tests that are started in the background ignore Ctrl-C, and so would every process that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Failed examples are stored in the folder of all build results.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / "target" / "hypothesis"))

# No test asserts how long something takes.
settings.register_profile("forebay", deadline=None, max_examples=DEFAULT_EXAMPLES)
settings.load_profile("forebay")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long tests to the second tier, begin with the files that take longest, and keep the order of the others."""
    if not ALL and not any("::" in argument for argument in config.args):
        later = second_tier(items)
        config.hook.pytest_deselected(items=later)
        left_out = set(later)
        items[:] = [item for item in items if item not in left_out]
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(LONGEST)))


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use an empty cache, so that no test resumes an interrupted search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The small link as a file of its own."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def started() -> Iterator[Any]:
    """A browser without a window, in its first tab."""
    chromium, driver = (shutil.which(name) for name in ("chromium", "chromedriver"))
    if chromium is None or driver is None:
        lacking("needs chromium and chromedriver on PATH (Debian: apt-get install chromium chromium-driver)")
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    running = webdriver.Chrome(options=options, service=Service(driver))
    yield running
    running.quit()


@pytest.fixture
def browser(started: Any) -> Iterator[Any]:
    """The browser in a tab of this test's own, with nothing in its log yet.

    A tab keeps 50 pages of its history, and of more it forgets first the ones that a script has left, so that whether
    one can go back would depend on the tests before; so would what a page says of workers that they have broken.
    """
    first = started.current_window_handle
    started.switch_to.new_window("tab")
    started.get_log("browser")
    yield started
    started.close()
    started.switch_to.window(first)
