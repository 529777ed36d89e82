"""Renew the table of docs/background/fluid.md that compares the fluid and the packet engine over a grid of scenarios.

Run it with the interpreter of the build: ``.venv/bin/python checks/fluid_grid.py``; it takes a minute or two.
"""

from __future__ import annotations

import itertools
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checks.pages import print_or_write
from forebay.results.warning import Kind
from forebay.scenario import Scenario
from forebay.text.formatting import markdown_table

PAGE = Path(__file__).parents[1] / "docs" / "background" / "fluid.md"
RATES = ("10Mbps", "100Mbps")
FLOWS = (1, 2, 5, 20, 50, 100)
#: Equal, spread and widely spread round trips.
ROUND_TRIPS = ("50ms", ("5ms", "100ms"), ("20ms", "300ms"))
BUFFERS = (0.05, 0.2, 0.5, 1, 2)
CONTROLLERS = ("newreno", "cubic", "hstcp", "scalable")
#: Loss rates below which a ratio of two says nothing.
NO_LOSS = 1e-5
#: Text of each subject of a warning in the table, in its order.
SUBJECTS = {
    "rtt": "round trips differ 4-fold and more",
    "window": "fair window below 4 packets",
    "buffer": "buffer below half a window",
    "low_window": "Scalable below `low_window`",
}
HEAD = (
    *("warnings", "cells", "cells with losses", "loss ratio, fluid : packets: least", "median", "largest"),
    *("largest loss: fluid", "packets", "utilization, fluid − packets"),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """Results of both engines for one scenario."""

    warned: frozenset[str]
    fluid: Mapping[str, float]
    packet: Mapping[str, float]

    @property
    def ratio(self) -> float:
        """Loss rate of the fluid in units of the packets'."""
        floor = NO_LOSS / 10
        return (self.fluid["loss_rate"] + floor) / (self.packet["loss_rate"] + floor)


def scenarios(
    rates: Sequence[str] = RATES,
    flows: Sequence[int] = FLOWS,
    buffers: Sequence[float] = BUFFERS,
    controllers: Sequence[str] = CONTROLLERS,
) -> Iterator[Scenario]:
    """The scenarios of the grid."""
    for rate, count, rtt, buffer, cca in itertools.product(rates, flows, ROUND_TRIPS, buffers, controllers):
        if count == 1 and rtt != ROUND_TRIPS[0]:
            continue
        group = {
            "name": "flows",
            "count": count,
            "cca": cca,
            "rtt": rtt if isinstance(rtt, str) else {"linspace": list(rtt)},
            "packet": "1500B",
            "start": {"uniform": ["0s", "2s"]},
        }
        yield Scenario.of(
            {
                "link": {"rate": rate, "buffer": f"{buffer}BDP"},
                "flows": [group],
                "run": {"warmup": "30s", "measure": "60s", "seed": 1},
            }
        )


def measure(scenario: Scenario) -> Cell:
    """Run a scenario on both engines."""
    fluid, packet = (scenario.run(engine, replications=1) for engine in ("fluid", "packet"))
    warned = frozenset(warning.subject for warning in fluid.warnings if warning.kind == Kind.OUTSIDE_DOMAIN)
    means = [{name: estimate.mean for name, estimate in report.metrics.items()} for report in (fluid, packet)]
    return Cell(warned, *means)


def rows(cells: Sequence[Cell]) -> Iterator[Sequence[str]]:
    """A row per set of warnings."""
    groups: dict[tuple[str, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[tuple(name for name in SUBJECTS if name in cell.warned)].append(cell)
    for warned in sorted(groups, key=lambda names: (len(names), names)):
        members = groups[warned]
        losing = [cell for cell in members if max(cell.fluid["loss_rate"], cell.packet["loss_rate"]) > 10 * NO_LOSS]
        ratios = sorted(cell.ratio for cell in losing)
        apart = [100 * (cell.fluid["utilization"] - cell.packet["utilization"]) for cell in members]
        most = [100 * max(getattr(cell, engine)["loss_rate"] for cell in members) for engine in ("fluid", "packet")]
        yield [
            ", ".join(SUBJECTS[name] for name in warned) or "none",
            str(len(members)),
            str(len(losing)),
            *(f"{ratio:.2f}" for ratio in (ratios[0], statistics.median(ratios), ratios[-1])),
            *(f"{share:.1f} %" for share in most),
            f"{min(apart):+.1f} to {max(apart):+.1f} points",
        ]


def main() -> None:
    """Renew the page."""
    cells = []
    for number, scenario in enumerate(scenarios(), 1):
        cells.append(measure(scenario))
        if number % 40 == 0:
            print(number, "cells", file=sys.stderr)
    marks = ("<!-- grid: begin -->", "<!-- grid: end -->")
    print_or_write("\n".join([*markdown_table(HEAD, rows(cells)), ""]), PAGE, marks)


if __name__ == "__main__":
    main()
