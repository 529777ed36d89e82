"""Time the page of an audit in browsers: `python -m checks.fleet_page [--ports 10000] [--questions 2000] [--keep DIR]`.

The ports are those of the synthetic network. Their verdicts are drawn at random, without any run, because a page is as
large for these as for others. A row for each browser has the time until the table is there, and the longest of several
filters and orders, each until the browser has laid out the page.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

import forebay
from checks.programs import exit_code
from forebay.fleets.answer import VERDICTS, FleetAnswer, Judgment, PortVerdict
from forebay.fleets.auditing import FleetExecution
from forebay.fleets.synthetic import write_network
from forebay.views.fleet_page import fleet_page

__all__ = ["example", "main"]

#: Texts that a reader may look for: few ports, many ports, none, two words, and all ports again.
WORDS = ("access1", "ether", "no such port", "too small", "metro 0/0", "")
#: Shares of the verdicts in percent, in their order.
SHARES = (90, 3, 3, 2, 2)
#: Times a step in the page until its layout is done, in milliseconds.
TIMED = """const [step, value] = arguments;
const began = performance.now();
if (step === 'find') {
    const find = document.getElementById('find');
    find.value = value;
    find.dispatchEvent(new Event('input', {bubbles: true}));
} else document.querySelector(`#table th[data-name="${value}"] button`).click();
document.documentElement.getBoundingClientRect();
document.querySelector('#table tbody').getBoundingClientRect();
return performance.now() - began;"""


def example(ports: int, questions: int, folder: Path, seed: int = 1) -> FleetAnswer:
    """An audit of a synthetic network with drawn verdicts."""
    write_network(folder, ports, seed)
    draw = random.Random(seed)
    table = pl.read_csv(folder / "inventory.csv", infer_schema_length=0)
    amounts = [f"{draw.randrange(1, max(2, questions // 10)) * 7500}B" for _ in range(ports)]
    table.with_columns(pl.Series("buffer", amounts)).write_csv(folder / "inventory.csv")
    answer = forebay.fleet(folder / "inventory.csv", execution=FleetExecution(full=0, within=0.001))
    judgments = {digest: _judgment(draw) for digest in sorted(answer.questions)}
    rows = [{"question": digest, **judgment.to_row()} for digest, judgment in judgments.items()]
    drawn = pl.DataFrame(rows, infer_schema_length=None)
    kept = answer.ports.drop([name for name in drawn.columns if name != "question"])
    counts: dict[PortVerdict, int] = dict.fromkeys(VERDICTS, 0)
    for digest, judgment in judgments.items():
        counts[judgment.verdict] += answer.ports_of[digest]
    return dataclasses.replace(
        answer,
        ports=kept.join(drawn, on="question", how="left", maintain_order="left"),
        judgments=judgments,
        counts=counts,
        first=tuple(digest for digest, judgment in judgments.items() if judgment.verdict in ("too small", "too large")),
    )


def _judgment(draw: random.Random) -> Judgment:
    (verdict,) = draw.choices(VERDICTS, SHARES)
    if verdict in ("undecided", "not answerable"):
        return Judgment(verdict, "the runs do not show whether utilization is met", stage="packet runs", runs=4)
    side = {"too small": (0.05, 0.9), "fine": (1.0, 4.0), "too large": (4.0, 90.0)}[verdict]
    margin, needed = draw.uniform(*side), draw.uniform(1e4, 1e7)
    reason = "utilization needs a larger buffer" if verdict == "too small" else "every goal is met"
    found = Judgment(verdict, reason, margin, margin / 1.2, margin * 1.2, needed, stage="packet runs", runs=8)
    found = dataclasses.replace(found, confidence=0.8, delay_s=draw.uniform(1e-4, 0.5), loss=draw.uniform(1e-4, 0.1))
    if verdict == "fine":
        return found
    then_s, loss = draw.uniform(1e-4, 0.1), draw.uniform(1e-4, 0.01)
    return dataclasses.replace(found, recommended_bytes=needed, recommended_delay_s=then_s, recommended_loss=loss)


def _chromium() -> Any:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        return None
    options = Options()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=Service(driver))


def _firefox() -> Any:
    from selenium import webdriver
    from selenium.webdriver.firefox.options import Options
    from selenium.webdriver.firefox.service import Service

    program, driver = shutil.which("firefox-esr") or shutil.which("firefox"), shutil.which("geckodriver")
    if program is None or driver is None:
        return None
    options = Options()
    options.binary_location = program
    options.add_argument("-headless")
    return webdriver.Firefox(options=options, service=Service(driver))


#: Starts each browser, or gives None if it is not installed.
BROWSERS: Mapping[str, Callable[[], Any]] = {"chromium": _chromium, "firefox": _firefox}


def _times(browser: Any, page: Path) -> tuple[float, float, float]:
    """Milliseconds until the table is there, of the longest filter, and of the longest order."""
    browser.set_page_load_timeout(120)
    browser.get("about:blank")
    began = time.perf_counter()
    browser.get(page.as_uri())
    browser.execute_script("return document.querySelector('#table tbody tr').textContent")
    loaded = 1e3 * (time.perf_counter() - began)
    filters = [browser.execute_script(TIMED, "find", words) for words in WORDS]
    orders = [browser.execute_script(TIMED, "sort", name) for name in ("device", "port", "margin", "margin", "reason")]
    return loaded, max(filters), max(orders)


def main(arguments: list[str]) -> int:
    """Write the page and time it in each browser."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ports", type=int, default=10_000, help="number of ports")
    parser.add_argument("--questions", type=int, default=2000, help="about as many distinct questions")
    parser.add_argument("--keep", type=Path, help="folder for the page, which is kept")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if given.keep is None else given.keep
        answer = example(given.ports, given.questions, folder)
        began = time.perf_counter()
        text = fleet_page(answer, source="inventory.csv")
        written = time.perf_counter() - began
        page = folder / "index.html"
        page.write_text(text, encoding="utf-8")
        size = len(text.encode()) / 1e6
        print(f"{given.ports:,} ports, {len(answer.questions):,} questions: {size:.2f} MB in {written:.2f} s")
        for name, start in BROWSERS.items():
            browser = start()
            if browser is None:
                print(f"{name}: not installed")
                continue
            try:
                loaded, filtered, ordered = _times(browser, page)
            finally:
                browser.quit()
            print(f"{name}: open {loaded:,.0f} ms, filter at most {filtered:,.1f} ms, sort at most {ordered:,.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(exit_code("checks.fleet_page", lambda: main(sys.argv[1:]), "interrupted"))
