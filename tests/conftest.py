"""What several test files share."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import settings

from tests.forked import Answer, Forks

ROOT = Path(__file__).parent.parent

#: The laboratory's page, which is not built where npm or a compiler for WebAssembly is missing.
PAGE = ROOT / "python/forebay/laboratory/index.html"

#: Of what Windows does not have, signals, namespaces and `fork`, these are made.
collect_ignore = (
    [
        "test_captured.py",
        "test_cluster.py",
        "test_emulate.py",
        "test_interruption.py",
        "test_kernel_runs.py",
        "test_locks.py",
        "test_resumption.py",
        "test_resumption_laws.py",
    ]
    if sys.platform == "win32"
    else []
)

#: The files that take longest, the longest first: what is begun last is waited for by processes that have nothing left.
LONGEST = (
    "test_documentation.py",
    "test_coverage.py",
    "test_cluster.py",
    "test_lab_experiments.py",
    "test_surroundings.py",
    "test_comparison.py",
    "test_command_line.py",
    "test_bench.py",
    "test_quick.py",
    "test_reading.py",
    "test_observe.py",
    "test_optimum.py",
    "test_wheel.py",
    "test_lab.py",
    "test_extras.py",
    "test_lab_memory.py",
    "test_sweep.py",
    "test_search.py",
    "test_compatibility.py",
    "test_notebook.py",
)

# Tests that are started in the background ignore Ctrl-C, and so would every process that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples that failed are kept where everything is that is built.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / "target" / "hypothesis"))

# No test asserts how long something takes.
settings.register_profile("forebay", deadline=None)
settings.load_profile("forebay")

#: A link that answers in milliseconds: 2 Mb/s, one flow, half a minute.
SMALL = """\
title = "Small link"

[link]
rate   = "2Mbps"
buffer = "20p"

[[flows]]
name     = "bulk"
cca      = "newreno"
rtt      = "40ms"
packet   = "1000B"
processing = "0s"

[[flows]]
name     = "background"
packet   = "1000B"
workload = { poisson = { rate = "1Mbps" } }

[run]
warmup  = "5s"
measure = "30s"
seed    = 3
replications = 2

[goal]
utilization = ">= 85%"
queue_delay_p99 = "<= 150ms"
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, and leave the others in their order."""
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(LONGEST)))


@cache
def forks() -> Forks:
    """What forks for the tests of this process."""
    return Forks()


def forebay(*arguments: str | Path, cwd: Path | None = None, columns: int = 200, timeout_s: float = 300) -> Answer:
    """Run the installed command as a user would, in a process of its own."""
    environment = _environment(columns)
    if sys.platform == "linux" and forks().can(environment):
        return forks().call([str(each) for each in arguments], cwd or Path.cwd(), environment, timeout_s)
    return begun(*arguments, cwd=cwd, columns=columns, timeout_s=timeout_s)


def begun(*arguments: str | Path, cwd: Path | None = None, columns: int = 200, timeout_s: float = 300) -> Answer:
    """Run the installed command in a process that begins from nothing."""
    command = [sys.executable, "-m", "forebay.command_line", *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=timeout_s, cwd=cwd, env=_environment(columns)
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def _environment(columns: int) -> dict[str, str]:
    return {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"}


def steady(text: str) -> str:
    """What is printed, without what the machine decides."""
    # The line may be broken anywhere, as it has more digits on a slower machine.
    return re.sub(r",\s+[\d.]+\s+CPU\s+seconds(\s+in\s+[\d.]+\s+s)?", ", N CPU seconds", text)


def without_costs(found: object) -> object:
    """What does not depend on the machine."""
    if isinstance(found, dict):
        return {key: without_costs(each) for key, each in found.items() if key not in {"cost", "elapsed_s", "cpu_s"}}
    return [without_costs(each) for each in found] if isinstance(found, list) else found


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What interrupted searches of others have left is not gone on from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The small link as a file of its own."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def lacking(why: str) -> NoReturn:
    """Skip what a browser or its page is not there for; fail where they must be there, as in continuous integration."""
    if os.environ.get("FOREBAY_BROWSER") == "required":
        pytest.fail(why)
    pytest.skip(why)


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


def show(browser: Any, path: Path, width: int, *, scheme: str = "light", media: str = "") -> None:
    """Open a page on a screen of this width, by day ("light") or by night ("dark"), or as it is printed."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    browser.get(path.as_uri())
