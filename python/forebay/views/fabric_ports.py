"""The ports of a fabric in a report: the few that lose, pause or delay the most, because a fabric has hundreds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from forebay.text import formatting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forebay.results.report import Estimate, Report
    from forebay.scenario import Scenario

__all__ = ["MOST_PORTS", "ports_table"]

#: Ports in the table.
MOST_PORTS = 5
#: Columns by the metric; the first decides the order, and each next one among equals.
COLUMNS: Mapping[str, str] = {
    "loss_rate": "loss",
    "pause_time_s": "pauses\nothers",
    "queue_delay_p99_s": "queueing\np99",
    "utilization": "utilization",
}


def ports_table(report: Report, scenario: Scenario) -> Table | None:
    """The worst ports of switches: those with the most loss, then the most pauses, then the longest queueing delay.

    Returns
    -------
    Table or None
        None for a scenario without a fabric.
    """
    if "fabric" not in scenario.resolved:
        return None
    target = next(str(link["name"]) for link in scenario.resolved["links"] if link["target"])
    ports = [(target, report.metrics), *((link.name, link.metrics) for link in report.links)]
    ports = [port for port in ports if not port[0].startswith("host")]
    shown = [name for name in COLUMNS if any(_mean(metrics, name) for _, metrics in ports)]
    worst = sorted(ports, key=lambda port: [-_mean(port[1], name) for name in COLUMNS])[:MOST_PORTS]
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(f"worst of {len(ports)} ports", no_wrap=True)
    for name in shown:
        table.add_column(COLUMNS[name], justify="right", no_wrap=True)
    for port, metrics in worst:
        cells = [formatting.value(name, _mean(metrics, name)) if name in metrics else "–" for name in shown]
        table.add_row(escape(port), *cells)
    return table


def _mean(metrics: Mapping[str, Estimate], name: str) -> float:
    found = metrics.get(name)
    return 0.0 if found is None else found.mean
