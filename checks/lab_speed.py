"""Speed of the laboratory in a browser: its frames during a simulation, its start, and its engine.

``python -m checks.lab_speed`` opens the built page in Chromium and prints two tables; ``--write
docs/background/performance.md`` writes them into the manual. Nothing is asserted. Measure on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Literal, get_args

from checks.lab_page import LaboratoryPage, opened
from checks.pages import print_or_write, selected
from forebay import _core
from forebay.errors import ForebayError, UnsupportedError

__all__ = [
    "CASES",
    "LOADS",
    "MARKS",
    "Beginning",
    "Case",
    "Frames",
    "Load",
    "Speed",
    "beginning",
    "changed",
    "frames",
    "main",
    "speed",
    "tables",
]

#: The checkout.
ROOT = Path(__file__).parents[1]
MARKS = ("<!-- laboratory: begin -->", "<!-- laboratory: end -->")


@dataclass(frozen=True)
class Case:
    """A scenario file, and changes with which it takes a second or so to simulate."""

    name: str
    path: str
    overrides: tuple[str, ...]


#: The campus uplink may not last longer in a page: its memory is bounded by the packets that its flows could send in
#: all that time.
CASES = (
    Case("W2", "benches/W2.toml", ("run.measure=350s",)),
    Case("W4", "benches/W4.toml", ("run.measure=95s",)),
    Case("campus-uplink", "scenarios/campus-uplink.toml", ("run.measure=60s", "run.replications=1")),
)
#: Restarts a run whenever it is over.
AGAIN = """void setInterval(() => {
    const button = document.querySelector('.transport button.main');
    if (button.textContent === 'Play again') button.click();
}, 20)"""
#: Duration of a frame from which on one of 60 frames per second was missed, in milliseconds.
MISSED_MS = 25.0


#: Other work of the machine while a run is played.
Load = Literal["nothing", "the trade-off"]
LOADS: tuple[Load, ...] = get_args(Load)

#: Script that runs a scenario to its end in a worker of the page's own source, as experiments and the trade-off do. It
#: uses the same worker each time. The answer is the duration in milliseconds, or the reason of a refusal.
WHOLE = """const [text, done] = arguments;
const kept = (id) => document.getElementById(id).textContent.trim();
// As lab/base85.mjs does it.
const decoded = (text) => {
    const bytes = new Uint8Array(Math.floor(text.length * 4 / 5));
    for (let at = 0, to = 0; at < text.length; at += 5, to += 4) {
        let value = 0;
        for (let digit = at; digit < at + 5; digit += 1) {
            const code = digit < text.length ? text.charCodeAt(digit) : 124;
            value = value * 85 + (code === 125 ? 60 : code) - 40;
        }
        for (let byte = 3; byte >= 0; byte -= 1) {
            if (to + byte < bytes.length) bytes[to + byte] = value % 256;
            value = Math.floor(value / 256);
        }
    }
    return bytes;
};
const begun = async () => {
    const packed = decoded(kept('engines'));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    const module = await WebAssembly.compile(await new Response(stream).arrayBuffer());
    const worker = new Worker(URL.createObjectURL(new Blob([kept('worker')], { type: 'text/javascript' })));
    worker.postMessage({ kind: 'load', module });
    return worker;
};
window.whole ??= begun();
window.whole.then((worker) => {
    const since = performance.now();
    worker.onmessage = ({ data }) => {
        if (data.kind === 'answer') done(performance.now() - since);
        else if (data.kind === 'no answer') done(data.refusal.message);
    };
    worker.postMessage({ kind: 'ask', ticket: 1, request: { do: 'whole', text } });
});"""


@dataclass(frozen=True)
class Frames:
    """The frames of the page's thread while a run continued in the background."""

    name: str
    load: Load
    per_second: float
    #: Share of frames after which at least one was missed.
    missed: float
    longest_ms: float
    #: Longest task of the page's thread above 50 ms; 0 if there was none.
    longest_task_ms: float
    million_packets_per_s: float


@dataclass(frozen=True)
class Beginning:
    """Times from the opening of the page, in milliseconds."""

    first_paint_ms: float
    first_packet_ms: float


@dataclass(frozen=True)
class Speed:
    """A run in the browser beside the same run natively, in turns."""

    name: str
    packets: int
    browser_s: tuple[float, ...]
    #: Times of a run that is played in the page at full speed, with its pictures, in seconds.
    played_s: tuple[float, ...]
    native_s: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The share of the native speed: the median of the rounds' ratios."""
        return median(native / browser for native, browser in zip(self.native_s, self.browser_s, strict=True))

    @property
    def ratio_played(self) -> float:
        """The same for the run that is played."""
        return median(native / played for native, played in zip(self.native_s, self.played_s, strict=True))


def frames(page: LaboratoryPage, case: Case, load: Load, seconds: float) -> Frames:
    """Count frames while a scenario is simulated at full speed."""
    page.open(case.name, changed(case))
    page.evaluate(AGAIN)
    page.choose("Speed", "fast")
    page.press("Play")
    # The trade-off begins a moment after the page.
    time.sleep(2.0)
    if load == "nothing":
        page.evaluate("probe.calm()")
        time.sleep(0.5)
    if refusal := page.evaluate("document.querySelector('.banner')?.textContent ?? ''"):
        raise UnsupportedError(f"{case.name}: {refusal}")
    begin = (
        "void (probe.frames = [], probe.longTasks = [], probe.workers[0].arrivals = 0, probe.since = performance.now())"
    )
    page.evaluate(begin)
    time.sleep(seconds)
    moments, tasks, elapsed = page.evaluate("[probe.frames, probe.longTasks, performance.now() - probe.since]")
    packets = page.evaluate("probe.workers[0].arrivals")
    between = [after - before for before, after in pairwise(moments)]
    return Frames(
        case.name,
        load,
        1000.0 * len(moments) / elapsed,
        sum(each > MISSED_MS for each in between) / max(1, len(between)),
        max(between, default=0.0),
        max((duration for _, duration in tasks), default=0.0),
        packets / elapsed / 1000.0,
    )


def beginning(page: LaboratoryPage) -> Beginning:
    """Open the page with its own scenario, and press Play immediately."""
    page.open_hastily()
    page.until("probe.firstPacket !== null")
    paint, packet = page.evaluate("[probe.firstPaint, probe.firstPacket]")
    return Beginning(float(paint), float(packet))


def speed(page: LaboratoryPage, case: Case, rounds: int) -> Speed:
    """Run a scenario in the browser, in the page as it is played, and natively, in turns."""
    text = changed(case)
    page.open(case.name, text)
    page.evaluate("probe.calm()")
    # The first run compiles the engines.
    _run_s(page, text)
    page.choose("Speed", "fast")
    in_browser, played, native = [], [], []
    packets = 0
    for _ in range(rounds):
        in_browser.append(_run_s(page, text))
        page.press("From the beginning")
        page.press("Play")
        page.until("probe.workers[0].endedAt !== null")
        played.append(float(page.evaluate("probe.workers[0].endedAt - probe.workers[0].playedAt")) / 1000.0)
        seconds, packets = _natively(text)
        native.append(seconds)
    return Speed(case.name, packets, tuple(in_browser), tuple(played), tuple(native))


def _run_s(page: LaboratoryPage, text: str) -> float:
    """Elapsed seconds of a run in a worker of the page."""
    answer = page.browser.execute_async_script(WHOLE, text)
    if isinstance(answer, str):
        raise UnsupportedError(answer)
    return float(answer) / 1000.0


def changed(case: Case) -> str:
    """The scenario's text with the changes in it: of keys that it has."""
    text = (ROOT / case.path).read_text(encoding="utf-8")
    for override in case.overrides:
        path, _, value = override.partition("=")
        key = path.rpartition(".")[2]
        written = value if value.isdigit() else f'"{value}"'
        text, count = re.subn(rf"(?m)^({key}\s*=\s*).*$", rf"\g<1>{written}", text)
        if count != 1:
            raise AssertionError(f"{case.path}: {key} stands there {count} times")
    return text


def _natively(text: str) -> tuple[float, int]:
    """Elapsed seconds of a run by this machine's engine, and its data packets at the target link."""
    scenario = _core.Scenario.parse(text, "toml", "scenario", [])
    started = time.perf_counter()
    outcome = _core.run_batch([_core.Job(scenario, "packet", scenario.seed, 0)], 1)[0]
    elapsed = time.perf_counter() - started
    if isinstance(outcome, BaseException):
        raise outcome
    return elapsed, int(json.loads(outcome.json())["cost"]["data_packets"])


def tables(begun: Sequence[Beginning], counted: Sequence[Frames], speeds: Sequence[Speed]) -> str:
    """The sentence and the tables of the manual."""
    paint, packet = (median(getattr(each, name) for each in begun) for name in ("first_paint_ms", "first_packet_ms"))
    lines = [
        f"The page paints first {paint:.0f} ms after it is opened from a file. If Play is pressed at once, it",
        f"shows the first simulated packet after {packet:.0f} ms. Both are medians of {len(begun)}.",
        "",
        "| scenario, as fast as it goes | beside it | frames per second | frames missed | longest frame | longest task "
        "| million packets per second |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {each.name} | {each.load} | {each.per_second:.1f} | {100 * each.missed:.1f} % | {each.longest_ms:.0f} ms "
        f"| {f'{each.longest_task_ms:.0f} ms' if each.longest_task_ms else 'below 50 ms'} "
        f"| {each.million_packets_per_s:.2f} |"
        for each in counted
    ]
    lines += [
        "",
        "| scenario | packets | natively, million per second | in the browser | of the native speed "
        "| played in the page, of the native speed |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {each.name} | {each.packets / 1e6:.1f} million | {each.packets / median(each.native_s) / 1e6:.1f} "
        f"| {each.packets / median(each.browser_s) / 1e6:.1f} | {each.ratio:.2f} | {each.ratio_played:.2f} |"
        for each in speeds
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and print or write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of each measurement")
    parser.add_argument("--seconds", type=float, default=5.0, help="for which frames are counted")
    parser.add_argument("--only", default="", help="names of scenarios, or parts of them, with commas between")
    parser.add_argument("--write", type=Path, help="the page of the manual")
    options = parser.parse_args()
    names = selected([case.name for case in CASES], options.only)
    cases = [case for case in CASES if case.name in names]
    try:
        with opened() as page:
            begun = [beginning(page) for _ in range(options.rounds)]
            counted = [frames(page, case, load, options.seconds) for case in cases for load in LOADS]
            speeds = [speed(page, case, options.rounds) for case in cases]
    except ForebayError as error:
        sys.exit(f"forebay: {error}")
    print_or_write(tables(begun, counted, speeds), options.write, MARKS)


if __name__ == "__main__":
    main()
