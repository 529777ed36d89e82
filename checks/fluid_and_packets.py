"""Renew the two tables and the picture of docs/guides/compare.md: the fluid engine beside the packet engine.

Run it with the interpreter of the build: ``.venv/bin/python checks/fluid_and_packets.py``; it takes some minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from checks.pages import print_or_write
from forebay.comparison.assumptions import BURST, burst_packets
from forebay.comparison.comparison import FITTED, compare
from forebay.results.report import Estimate
from forebay.scenario import Scenario
from forebay.text.formatting import markdown_table
from forebay.views import plots
from forebay.views.comparison_picture import draw_comparison

DOCS = Path(__file__).parents[1] / "docs"
SCENARIOS = DOCS.parent / "scenarios"
SHARED = SCENARIOS / "fluid-and-packet"
PAGE = DOCS / "guides" / "compare.md"
#: Scenarios and buffers, in bandwidth-delay products, of the table about small buffers.
SMALL = ("aimd-four", "newreno-ten", "cubic-four", "cubic-background")
PARTS = (0.02, 0.05, 0.1, 0.2)
REPLICATIONS = 8
#: Heads of the tables.
FOLLOWED = (
    *("scenario", "buffer", "utilization: packets", "fluid (fitted)", "fluid", "loss: packets", "fluid (fitted)"),
    *("mean queue / buffer: packets", "fluid (fitted)"),
)
SMALL_HEAD = ("scenario", "buffer, packets", "longest flow's fair window", "unpaced", "paced", "fluid, fitted to paced")


def metrics(scenario: Scenario) -> Mapping[str, Mapping[str, Estimate]]:
    """The metrics of every engine at the scenario's own buffer."""
    answers = compare(scenario, replications=REPLICATIONS, points=0).answers
    return {answer.name: answer.metrics for answer in answers if answer.kind == "engine"}


def followed() -> Iterator[Sequence[str]]:
    """A row per shared scenario: utilization, loss and queue of the packets and of the fluid."""
    for file in sorted(SHARED.glob("*.toml")):
        scenario = Scenario.load(file)
        found = metrics(scenario)
        core = scenario.core
        packets = scenario.buffer.packets
        used = {name: f"{100 * found[name]['utilization'].mean:.2f} %" for name in ("packet", FITTED, "fluid")}
        lost = {name: f"{found[name]['loss_rate'].mean:.1e}" for name in ("packet", FITTED)}
        full = {name: f"{found[name]['queue_mean_packets'].mean / packets:.2f}" for name in ("packet", FITTED)}
        size = f"{packets:.0f} packets, {packets / (core.bdp_packets or 1.0):.2g} BDP"
        yield [f"`{file.stem}`", size, *used.values(), *lost.values(), *full.values()]


def small() -> Iterator[Sequence[str]]:
    """A row per small buffer: packets as TCP sends them, paced, and the fluid fitted to the paced ones."""
    for name in SMALL:
        file = SHARED / f"{name}.toml"
        long = [group["name"] for group in Scenario.load(file).resolved["flows"] if group["workload"] == "persistent"]
        pacing = [f"flows.{group}.pacing=true" for group in long]
        for part in PARTS:
            buffer = f"link.buffer={part}BDP"
            unchanged, paced = Scenario.load(file, [buffer]), Scenario.load(file, [buffer, *pacing])
            even = metrics(paced)
            bursty = unchanged.run(replications=REPLICATIONS).metrics
            used = (bursty, even["packet"], even[FITTED])
            window = (burst_packets(unchanged) or 0.0) / BURST
            shown = [f"{100 * each['utilization'].mean:.1f} %" for each in used]
            yield [f"`{name}`", f"{unchanged.buffer.packets:.0f}", f"{window:.0f}", *shown]


def printed(rows: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """The same rows, each printed as it comes."""
    for row in rows:
        print(*row, sep="  ", file=sys.stderr)
        yield row


def main() -> None:
    """Renew the page."""
    for name, head, rows in (("followed", FOLLOWED, followed()), ("small", SMALL_HEAD, small())):
        marks = (f"<!-- {name}: begin -->", f"<!-- {name}: end -->")
        print_or_write("\n".join([*markdown_table(head, printed(rows)), ""]), PAGE, marks)
    found = compare(Scenario.load(SCENARIOS / "elastic-access-link.toml"))
    plots.save(draw_comparison(found), DOCS / "images" / "comparison.png")


if __name__ == "__main__":
    main()
