"""Pictures of one report: the records of a traced run over time, or else the distributions of waits and goodputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from forebay.algorithms.code_files import with_names, without_code
from forebay.results.metric import unit_of
from forebay.scenario import Scenario
from forebay.storage.safe_io import DamagedError, content, document
from forebay.storage.tables import read_table
from forebay.text import formatting
from forebay.views.chart import Chart, Curve, Key, Look, Panel, Row, Series
from forebay.views.headline import Headline, headline
from forebay.views.pause_chart import pause_keys, pauses_panel
from forebay.views.rule_rows import COLORED
from forebay.views.scales import Axis, filled

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl
    from matplotlib.figure import Figure

    from forebay.results.report import Estimate, Report

__all__ = ["TABLES", "draw_report", "traces_chart", "traces_figure", "traces_of"]

#: Tables that `run --trace` may have written.
TABLES = ("flows", "queue", "packets", "transfers", "pauses")
ALLOWED = "a report of run --trace (run it again)"
PANELS = ("cwnd", "queue", "utilization", "packets", "transfers", "pauses")
#: Largest number of flows with drawn windows.
MOST_FLOWS = 14
#: Looks of the mean and of its interval.
MEAN, INTERVAL = Look("blue", marker="o", size=6.0), Look("blue", "solid", 1.4, "|", 7.0, edge=1.4)
#: Heights of a panel of a distribution, and of a row and of the room around all rows, in points.
DISTRIBUTION, ROW, ROWS = 165.0, 22.0, 30.0


def draw_report(report: Report) -> Figure:
    """Draw what was recorded over time; if nothing was, draw the distributions and the goodput of each group."""
    import polars as pl

    from forebay.views.chart_figure import draw

    traces = report.traces() or {}
    tables = {name: pl.DataFrame(columns) for name, columns in traces.items()}
    tables = {name: table for name, table in tables.items() if table.height}
    heading = headline(report.resolved, otherwise="Report", buffer=report.buffer)
    if tables:
        return traces_figure(tables, heading, _groups(report.resolved))
    return draw(_distributions(report, heading))


def traces_of(folder: Path) -> Figure:
    """Draw the tables that `run --trace` left in a folder."""
    paths = {name: folder / f"{name}.parquet" for name in TABLES}
    tables = {name: read_table(path, ALLOWED) for name, path in paths.items() if path.is_file()}
    path = folder / "scenario.json"
    resolved = None
    if path.is_file():
        tables_of = document(content(path, ALLOWED), str(path), ALLOWED)
        if not isinstance(tables_of, dict):
            raise DamagedError(str(path), "no scenario", ALLOWED)
        plain, names = without_code(tables_of)
        resolved = with_names(Scenario.of(plain, name=str(path)).resolved, names)
    return traces_figure(tables, headline(resolved, otherwise="Traces"), _groups(resolved))


def _groups(resolved: Mapping[str, Any] | None) -> Sequence[str]:
    return () if resolved is None else [str(group["name"]) for group in resolved["flows"]]


# Over time -------------------------------------------------------------------------------------------------------


def traces_figure(tables: Mapping[str, pl.DataFrame], heading: Headline, groups: Sequence[str] = ()) -> Figure:
    """Draw the tables of a traced run."""
    from forebay.views.chart_figure import draw

    return draw(traces_chart(tables, heading, groups))


def traces_chart(tables: Mapping[str, pl.DataFrame], heading: Headline, groups: Sequence[str] = ()) -> Chart:
    """Windows, queue, utilization, drops, completion times and pauses over time, a panel for each that was recorded.

    Parameters
    ----------
    tables : mapping
        Tables of a traced run, by name.
    heading : Headline
        Headline of the picture.
    groups : sequence of str
        Names of the flow groups, in their order.
    """
    drawn = _Flows(tables["flows"], groups) if "flows" in tables else None
    made = {
        "cwnd": None if drawn is None else drawn.panel(),
        "queue": _over_time(tables.get("queue"), "packets", 1, "waiting (packets)", "blue"),
        "utilization": _over_time(tables.get("queue"), "utilization", 100, "utilization (%)", "green"),
        "packets": _drops(tables.get("packets")),
        "transfers": _transfers(tables.get("transfers")),
        "pauses": pauses_panel(tables["pauses"], groups) if "pauses" in tables else None,
    }
    panels = [panel for name in PANELS if (panel := made[name]) is not None]
    keys = [] if drawn is None else drawn.keys()
    keys += [Key(text, look) for text, look in _TRANSFERS] if "transfers" in tables else []
    keys += [] if made["pauses"] is None else pause_keys(made["pauses"])
    times = [x for panel in panels for each in panel.series if isinstance(each, Curve) for x, _ in each.points]
    times = [time for time in times if isfinite(time)]
    across = filled("time (s)", times or [0.0, 1.0], by_decades=False)
    return Chart(across, panels, f"{heading.title}: records over time", heading, keys, columns=4)


class _Flows:
    """Windows of the first flows, a line for each transfer: no line leads through the time between two."""

    def __init__(self, table: pl.DataFrame, groups: Sequence[str]) -> None:
        import polars as pl

        # Tables of earlier versions know neither.
        columns = [pl.lit(0).alias(name) for name in ("group", "transfer") if name not in table.columns]
        self.table = table.with_columns(columns)
        self.groups = groups
        self.flows = self.table.select("group", "flow").unique().sort("group", "flow").rows()

    def _name(self, group: int, flow: int) -> str:
        if group >= len(self.groups):
            return f"flow {flow}"
        mine = [number for of, number in self.flows if of == group]
        return self.groups[group] if len(mine) == 1 else f"{self.groups[group]} {flow - min(mine) + 1}"

    def _look(self, index: int) -> Look:
        style = index // len(COLORED) % 2
        return Look(COLORED[index % len(COLORED)], "dashed" if style else "solid", 0.9)

    def keys(self) -> list[Key]:
        """Entries of the legend."""
        keys = [Key(self._name(*flow), self._look(index)) for index, flow in enumerate(self.flows[:MOST_FLOWS])]
        more = len(self.flows) - MOST_FLOWS
        return [*keys, Key(f"{more} more not shown")] if more > 0 else keys

    def panel(self) -> Panel:
        """The windows of the first flows."""
        import polars as pl

        curves: list[Series] = []
        for index, (group, flow) in enumerate(self.flows[:MOST_FLOWS]):
            mine = self.table.filter(pl.col("group") == group, pl.col("flow") == flow)
            for transfer in mine.partition_by("transfer", maintain_order=True):
                look = self._look(index)
                # A line through a single sample has no length, so that a dot marks it.
                look = replace(look, marker="o", size=1.2) if transfer.height == 1 else look
                curves.append(Curve(transfer.select("time_s", "cwnd_packets").rows(), look))
        return Panel(_from_zero("window (packets)", self.table["cwnd_packets"].to_list()), curves)


def _from_zero(title: str, values: Sequence[float]) -> Axis:
    return Axis(title, 0.0, 1.05 * max(values, default=0.0) or 1.0)


def _over_time(queue: pl.DataFrame | None, column: str, factor: float, title: str, color: str) -> Panel | None:
    """A column of the queue's records."""
    if queue is None:
        return None
    values = (factor * queue[column]).to_list()
    times: list[float] = queue["time_s"].to_list()
    return Panel(_from_zero(title, values), (Curve(list(zip(times, values, strict=True)), Look(color, "solid", 0.9)),))


def _drops(packets: pl.DataFrame | None) -> Panel | None:
    """The dropped packets, by flow."""
    import polars as pl

    if packets is None:
        return None
    dropped = packets.filter(pl.col("dropped"))
    flows = dropped["flow"].to_list() or [0]
    up = Axis("drops (flow)", min(flows) - 0.7, max(flows) + 0.7, integral=True)
    return Panel(up, (Curve(dropped.select("time_s", "flow").rows(), Look("orange", marker="o", size=1.2)),))


_TRANSFERS = (
    ("transfer without loss", Look("blue", marker="o", size=1.8)),
    ("transfer with losses", Look("orange", marker="x", size=3.0)),
)


def _transfers(transfers: pl.DataFrame | None) -> Panel | None:
    """Completion times of the transfers, by whether they lost packets."""
    import polars as pl

    if transfers is None:
        return None
    over = transfers.filter(pl.col("completed_s").is_finite())
    over = over.with_columns((pl.col("completed_s") - pl.col("begun_s")).alias("took_s"))
    curves = [
        Curve(over.filter(kind).select("begun_s", "took_s").rows(), look)
        for (_, look), kind in zip(_TRANSFERS, (pl.col("dropped") == 0, pl.col("dropped") > 0), strict=True)
    ]
    took: list[float] = over["took_s"].to_list()
    return Panel(filled("completion (s)", took or [0.0, 1.0], by_decades=bool(took)), curves)


# Without time ----------------------------------------------------------------------------------------------------


def _distributions(report: Report, heading: Headline) -> Chart:
    """Waits of the accepted packets, and goodput by group; the shares if neither is known."""
    waits = report.distributions.get("queue_delay_s")
    groups = [group for group in report.groups if "goodput_bps" in group.metrics]
    panels = [_waits(waits)] if waits else []
    if groups:
        rows = [(f"{group.name} ({group.flows})", 1e-6, group.metrics["goodput_bps"]) for group in groups]
        panels.append(_estimates("goodput of the group (Mb/s), 95 % interval", rows))
    if not panels:
        shares = [(name, found) for name, found in report.metrics.items() if unit_of(name) == "share"]
        rows = [(formatting.metric_title(name), 100.0, found) for name, found in shares]
        panels.append(_estimates(f"{report.engine} engine (%)", rows, most=101.0))
    across = panels[-1].across
    assert across is not None, "each panel has its own"
    return Chart(across, panels, f"{heading.title}: measurements of a run", heading)


def _waits(waits: Sequence[tuple[float, float, int]]) -> Panel:
    """The share of the packets that waited at most each time."""
    total = sum(count for _, _, count in waits)
    shares = [100 * sum(count for _, _, count in waits[: at + 1]) / total for at in range(len(waits))]
    times = [1e3 * waits[0][0], *(1e3 * high for _, high, _ in waits)]
    curve = Curve(list(zip(times, [0.0, *shares], strict=True)), Look("blue", "solid", 1.5))
    up = Axis("cumulative share of packets (%)", 0.0, 101.0)
    return Panel(up, (curve,), DISTRIBUTION, across=filled("queueing delay (ms)", times, by_decades=False))


def _estimates(title: str, rows: Sequence[tuple[str, float, Estimate]], most: float | None = None) -> Panel:
    """Means with their intervals, a row each: the name, the factor to the unit of the axis, and the estimate."""
    drawn: list[Series] = []
    for row, (_, factor, each) in enumerate(rows):
        mean, half = factor * each.mean, factor * (each.half_width or 0.0)
        drawn.append(Curve([(mean - half, row), (mean + half, row)], INTERVAL))
        drawn.append(Curve([(mean, row)], MEAN))
    high = max((factor * (each.mean + (each.half_width or 0.0)) for _, factor, each in rows), default=0.0)
    across = Axis(title, 0.0, most or 1.05 * high or 1.0)
    return Panel([Row(name) for name, _, _ in rows], drawn, ROW * len(rows) + ROWS, across=across)
