"""Whether the laboratory's memory stays constant: runs, trade-offs and experiments in a browser, again and again.

``python -m checks.lab_memory --minutes 10`` prints a line for each stretch of it. Numbers are taken after
garbage collection; the browser's process holds the memory of the page and of all its workers. ``--write
docs/background/performance.md`` writes the smallest and the largest figures into the manual.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from checks.lab_page import LaboratoryPage, opened
from checks.pages import print_or_write
from forebay.errors import ForebayError
from forebay.text.formatting import markdown_table

__all__ = ["MARKS", "WARMING", "Sample", "begin", "main", "round_of_use", "sample", "stretches", "summary", "table"]

MARKS = ("<!-- lab-memory: begin -->", "<!-- lab-memory: end -->")

SCENARIO = """title = "{title}"
[link]
rate   = "{rate}Mbps"
buffer = "{buffer}p"
queue  = "{queue}"
[[flows]]
name  = "flows"
count = {count}
cca   = "cubic"
rtt   = "40ms"
[run]
warmup  = "5s"
measure = "{measure}s"
"""
QUEUES = ("droptail", "codel", "fq_codel")
EXPERIMENTS = ("Bufferbloat", "Incast", "Synchronized flows", "Losing together")
#: Expression for the page's title of the scenario in play.
TITLE = "document.querySelector('.title')?.textContent"
#: Expression: the run is at its beginning.
BEGINNING = """() => document.querySelector('.transport button.main').textContent === 'Play'
    && document.querySelector('.figures dd').textContent === '0\\u202fs'
    && !document.querySelector('.signals, p.outcome:not(.answer)')"""
#: Number of rounds until everything is made that is made once: engines compiled, charts drawn, experiments opened.
WARMING = 2
#: Number of looks at the memory; objects that were drawn a moment ago may not be garbage yet.
LOOKS = 3
#: Time for which a run is played before the next one replaces it, in seconds.
PLAYED_S = 0.7


@dataclass(frozen=True)
class Sample:
    """The memory and the objects of the page at a moment."""

    minutes: float
    heap_mb: float
    nodes: int
    listeners: int
    #: Number of live workers.
    workers: int
    #: Number of workers that were started so far.
    started: int
    #: Memory of the browser's process for the page, with all its workers, in MB; 0 if the system does not report it.
    process_mb: float


def begin(page: LaboratoryPage) -> None:
    """Open the page."""
    page.open("memory", _text(0))
    page.choose("Speed", "fast")
    # From now on each run that replaces another is played.
    page.press("Play")


def round_of_use(page: LaboratoryPage, number: int) -> None:
    """Play some scenarios, leave one experiment in the middle, and go through another to its end."""
    for turn in range(3):
        _play(page, 1 + 3 * number + turn)
        time.sleep(PLAYED_S)
    for finished, name in ((False, EXPERIMENTS[number % 4]), (True, EXPERIMENTS[(number + 1) % 4])):
        page.press("Experiments")
        page.press(name)
        page.evaluate("document.querySelector('.experiment input').click()")
        page.press("Run it")
        if finished:
            page.until("document.querySelector('.experiment .answer') !== null")
        page.press("All experiments")


def sample(page: LaboratoryPage, minutes: float) -> Sample:
    """Memory after garbage collection, with the same scenario each time: the least of a few looks."""
    if page.evaluate(TITLE) != _title(0):
        _play(page, 0)
    _stand_at_the_beginning(page)
    # Its panels grow while runs continue in the background, and its lines while engines answer.
    page.until("document.querySelector('.tradeoff progress').value === 1")
    page.until("probe.workers.every(({ asked, answered }) => asked === answered)")
    looks = []
    for _ in range(LOOKS):
        time.sleep(PLAYED_S)
        page.browser.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        looks.append(_look(page, minutes))
    page.choose("Speed", "fast")
    page.press("Play")
    least = {field.name: min(getattr(each, field.name) for each in looks) for field in fields(Sample)}
    return Sample(**least)


def _stand_at_the_beginning(page: LaboratoryPage) -> None:
    """Set the run to its beginning, because the list of losses and the closing lines come and go with a run."""
    # A run can be paused once it plays, and a fast one may be over by then.
    page.choose("Speed", "slow")
    page.press("From the beginning")
    page.press("Pause")
    page.press("From the beginning")
    page.until(f"({BEGINNING})()")


def _look(page: LaboratoryPage, minutes: float) -> Sample:
    browser = page.browser
    browser.execute_cdp_cmd("Performance.enable", {})
    values = {each["name"]: each["value"] for each in browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]}
    alive, started = page.evaluate("[probe.workers.length, probe.started]")
    return Sample(
        minutes,
        values["JSHeapUsedSize"] / 1e6,
        int(values["Nodes"]),
        int(values["JSEventListeners"]),
        int(alive),
        int(started),
        _process_mb(page),
    )


def stretches(page: LaboratoryPage, seconds: float, count: int, tell: Callable[[Sample], None]) -> list[Sample]:
    """Use the page for `seconds` seconds in `count` stretches, with a sample after each."""
    begin(page)
    for number in range(WARMING):
        round_of_use(page, number)
    number = WARMING
    since = time.monotonic()
    samples = [sample(page, 0.0)]
    tell(samples[0])
    for stretch in range(1, count + 1):
        while time.monotonic() < since + stretch * seconds / count:
            round_of_use(page, number)
            number += 1
        samples.append(sample(page, (time.monotonic() - since) / 60.0))
        tell(samples[-1])
    return samples


def _play(page: LaboratoryPage, number: int) -> None:
    """Play another scenario in place of the one before."""
    page.type(_text(number))
    page.until(f"{TITLE} === '{_title(number)}'")


def _title(number: int) -> str:
    """The title of a scenario in the page."""
    return f"Round {number}"


def _text(number: int) -> str:
    """A scenario unlike the one before."""
    return SCENARIO.format(
        title=_title(number),
        rate=20 + 10 * (number % 7),
        buffer=20 + 30 * (number % 5),
        queue=QUEUES[number % 3],
        count=1 + number % 9,
        measure=20 + number % 11,
    )


def _process_mb(page: LaboratoryPage) -> float:
    """Memory of the largest of the browser's processes for pages, without memory that it shares with others, in MB."""
    sizes = [0.0]
    for process in _below(page.browser.service.process.pid):
        try:
            command = Path(f"/proc/{process}/cmdline").read_bytes()
            lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            continue
        if b"--type=renderer" in command:
            sizes += [int(line.split()[1]) / 1e3 for line in lines if line.startswith("Pss:")]
    return max(sizes)


def _below(process: int) -> list[int]:
    """A process and those that it and its children started; none if the system does not report them."""
    try:
        # Each thread has its own list.
        found = [each.read_text(encoding="ascii") for each in Path(f"/proc/{process}/task").glob("*/children")]
    except OSError:
        return []
    return [process, *(each for child in " ".join(found).split() for each in _below(int(child)))]


def table(sampled: Sample) -> str:
    """A line of the table."""
    return (
        f"| {sampled.minutes:.1f} | {sampled.heap_mb:.1f} | {sampled.process_mb:.0f} | {sampled.nodes} "
        f"| {sampled.listeners} | {sampled.workers} | {sampled.started} |"
    )


def summary(samples: Sequence[Sample]) -> str:
    """The table of the manual: the smallest and the largest figure of each quantity."""
    heaps, processes = ([getattr(each, name) for each in samples] for name in ("heap_mb", "process_mb"))
    rows = [
        ("duration", f"{samples[-1].minutes:.0f} minutes"),
        ("workers started", f"{samples[-1].started:,}"),
        ("live workers at the end", str(samples[-1].workers)),
        ("heap of the page", f"{min(heaps):.0f} to {max(heaps):.0f} MB"),
        ("process of the page, with the memory of all engines", f"{min(processes):.0f} to {max(processes):.0f} MB"),
    ]
    return "\n".join(markdown_table(("quantity", "figure"), rows))


def main() -> None:
    """Use the page for some minutes and print its memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="of use")
    parser.add_argument("--samples", type=int, default=10, help="over that time")
    parser.add_argument("--write", type=Path, help="the page of the manual")
    options = parser.parse_args()
    print("| minutes | heap of the page, MB | its process, MB | nodes | listeners | workers | started so far |")
    print("|---|---|---|---|---|---|---|")
    try:
        with opened() as page:
            seconds = 60.0 * options.minutes
            samples = stretches(page, seconds, options.samples, lambda it: print(table(it), flush=True))
        if options.write is not None:
            print_or_write(summary(samples), options.write, MARKS)
    except ForebayError as error:
        sys.exit(f"forebay: {error}")


if __name__ == "__main__":
    main()
