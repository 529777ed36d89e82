"""Pictures of one report: the records of a traced run over time, or else the distributions of waits and goodputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forebay.results.metric import unit_of
from forebay.scenario import Scenario
from forebay.storage.safe_io import DamagedError, content, document
from forebay.storage.tables import read_table
from forebay.text import formatting
from forebay.views.headline import Headline, headline
from forebay.views.rule_panel import PALETTE

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forebay.results.report import GroupReport, Report

__all__ = ["TABLES", "draw_report", "traces_figure", "traces_of"]

#: Tables that `run --trace` may have written.
TABLES = ("flows", "queue", "packets", "transfers")
ALLOWED = "what run --trace wrote (run it again)"
PANELS = ("cwnd", "queue", "utilization", "packets", "transfers")
#: Largest number of flows with drawn windows; height of a panel and width, in inches.
MOST_FLOWS = 14
PANEL, WIDTH = 1.7, 8.6
DASHES = ("-", "--")


def draw_report(report: Report) -> Figure:
    """Draw what was recorded over time; if nothing was, draw the distributions and the goodput of each group."""
    import polars as pl

    traces = report.traces() or {}
    tables = {name: pl.DataFrame(columns) for name, columns in traces.items()}
    tables = {name: table for name, table in tables.items() if table.height}
    heading = headline(report.resolved, otherwise="Report", buffer=report.buffer)
    if tables:
        return traces_figure(tables, heading, _groups(report.resolved))
    return _distributions(report, heading)


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
        resolved = Scenario.of(tables_of, name=str(path)).resolved
    return traces_figure(tables, headline(resolved, otherwise="Traces"), _groups(resolved))


def _groups(resolved: Mapping[str, Any] | None) -> Sequence[str]:
    return () if resolved is None else [str(group["name"]) for group in resolved["flows"]]


# Over time -------------------------------------------------------------------------------------------------------


def traces_figure(tables: Mapping[str, pl.DataFrame], heading: Headline, groups: Sequence[str] = ()) -> Figure:
    """Windows, queue, utilization, drops and completion times over time, a panel for each that was recorded.

    Parameters
    ----------
    tables : mapping
        Tables of a traced run, by name.
    heading : Headline
        Headline of the picture.
    groups : sequence of str
        Names of the flow groups, in their order.
    """
    from forebay.views import canvas

    panels = [panel for panel in PANELS if {"cwnd": "flows", "utilization": "queue"}.get(panel, panel) in tables]
    drawn = _Flows(tables["flows"], groups) if "flows" in tables else None
    handles = [] if drawn is None else drawn.handles()
    handles += _transfer_handles() if "transfers" in tables else []
    found, axes = canvas.figure(
        heading, WIDTH, [PANEL] * len(panels), below=canvas.legend_height(len(handles), 4) if handles else 0.0
    )
    with canvas.style():
        for axis, panel in zip(axes, panels, strict=True):
            if panel == "cwnd" and drawn is not None:
                drawn.draw(axis)
            else:
                _PANELS[panel](axis, tables)
        axes[-1].set_xlabel("time (s)")
    canvas.plain_axes(axes)
    canvas.legend(found, handles)
    return found


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

    def _style(self, index: int) -> dict[str, Any]:
        return {
            "color": PALETTE[index % len(PALETTE)],
            "linestyle": DASHES[index // len(PALETTE) % len(DASHES)],
            "linewidth": 0.9,
        }

    def handles(self) -> list[Any]:
        from matplotlib.lines import Line2D

        shown = self.flows[:MOST_FLOWS]
        handles: list[Any] = [
            Line2D([], [], label=self._name(*flow), **self._style(index)) for index, flow in enumerate(shown)
        ]
        more = len(self.flows) - len(shown)
        if more:
            handles.append(Line2D([], [], linestyle="none", label=f"{more} more not shown"))
        return handles

    def draw(self, axis: Axes) -> None:
        import polars as pl

        for index, (group, flow) in enumerate(self.flows[:MOST_FLOWS]):
            mine = self.table.filter(pl.col("group") == group, pl.col("flow") == flow)
            for transfer in mine.partition_by("transfer", maintain_order=True):
                # A line through a single sample has no length, so that a dot marks it.
                dot: dict[str, Any] = {"marker": ".", "markersize": 2} if transfer.height == 1 else {}
                axis.plot(transfer["time_s"], transfer["cwnd_packets"], **self._style(index), **dot)
        axis.set_ylabel("window (packets)")
        axis.set_ylim(bottom=0)


def _queue(axis: Axes, tables: Mapping[str, pl.DataFrame]) -> None:
    axis.plot(tables["queue"]["time_s"], tables["queue"]["packets"], color=PALETTE[0], linewidth=0.9)
    axis.set_ylabel("waiting (packets)")
    axis.set_ylim(bottom=0)


def _utilization(axis: Axes, tables: Mapping[str, pl.DataFrame]) -> None:
    axis.plot(tables["queue"]["time_s"], 100 * tables["queue"]["utilization"], color=PALETTE[2], linewidth=0.9)
    axis.set_ylabel("utilization (%)")
    axis.set_ylim(bottom=0)


def _packets(axis: Axes, tables: Mapping[str, pl.DataFrame]) -> None:
    import polars as pl
    from matplotlib.ticker import MaxNLocator

    dropped = tables["packets"].filter(pl.col("dropped"))
    axis.plot(dropped["time_s"], dropped["flow"], ".", color=PALETTE[1], markersize=2)
    axis.set_ylabel("drops (flow)")
    axis.yaxis.set_major_locator(MaxNLocator("auto", integer=True))
    if dropped.height:
        flows = dropped["flow"].to_list()
        axis.set_ylim(min(flows) - 0.7, max(flows) + 0.7)


def _transfers(axis: Axes, tables: Mapping[str, pl.DataFrame]) -> None:
    import polars as pl

    over = tables["transfers"].filter(pl.col("completed_s").is_finite())
    for (_, marker, color), kind in zip(_TRANSFERS, (pl.col("dropped") == 0, pl.col("dropped") > 0), strict=True):
        mine = over.filter(kind)
        axis.plot(mine["begun_s"], mine["completed_s"] - mine["begun_s"], marker, color=color, markersize=3)
    axis.set_ylabel("completion (s)")
    if over.height:
        axis.set_yscale("log")


_TRANSFERS = (("transfer without loss", ".", PALETTE[0]), ("transfer with losses", "x", PALETTE[1]))
_PANELS = {"queue": _queue, "utilization": _utilization, "packets": _packets, "transfers": _transfers}


def _transfer_handles() -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=color, marker=marker, markersize=5, linestyle="none", label=label)
        for label, marker, color in _TRANSFERS
    ]


# Without time ----------------------------------------------------------------------------------------------------


def _distributions(report: Report, heading: Headline) -> Figure:
    """Waits of the accepted packets, and goodput by group; the shares if neither is known."""
    from forebay.views import canvas

    waits = report.distributions.get("queue_delay_s")
    groups = [group for group in report.groups if "goodput_bps" in group.metrics]
    panels = [PANEL + 0.6] if waits else []
    panels += [0.6 + 0.3 * len(groups)] if groups else []
    if not panels:
        return _shares(report, heading)
    found, axes = canvas.figure(heading, WIDTH, panels, together=False)
    with canvas.style():
        if waits:
            axis = axes.pop(0)
            total = sum(count for _, _, count in waits)
            shares = [100 * sum(count for _, _, count in waits[: at + 1]) / total for at in range(len(waits))]
            axis.plot([1e3 * waits[0][0], *(1e3 * high for _, high, _ in waits)], [0.0, *shares], color=PALETTE[0])
            axis.set_ylabel("packets that waited\nat most this (%)")
            axis.set_ylim(0, 101)
            axis.set_xlabel("queueing delay (ms)")
            canvas.plain_axes([axis])
        if groups:
            _goodputs(axes[0], groups)
            canvas.plain_axes([axes[0]])
    return found


def _goodputs(axis: Axes, groups: Sequence[GroupReport]) -> None:
    """The group's goodput with its interval, a row each."""
    from forebay.views import canvas

    for row, group in enumerate(groups):
        estimate = group.metrics["goodput_bps"]
        axis.errorbar(
            [1e-6 * estimate.mean],
            [row],
            xerr=[1e-6 * (estimate.half_width or 0.0)],
            fmt="o",
            color=PALETTE[0],
            capsize=3,
        )
    axis.set_yticks(
        range(len(groups)), [canvas.cut(f"{group.name} ({group.flows})", 1.9, canvas.SMALL) for group in groups]
    )
    axis.set_ylim(len(groups) - 0.5, -0.5)
    axis.set_xlim(left=0)
    axis.set_xlabel("goodput of the group (Mb/s), 95 % interval")


def _shares(report: Report, heading: Headline) -> Figure:
    """Metrics that are shares, a row each: every engine and formula has them."""
    from forebay.views import canvas

    shares = [(name, found) for name, found in report.metrics.items() if unit_of(name) == "share"]
    found, (axis,) = canvas.figure(heading, WIDTH, [0.6 + 0.3 * len(shares)])
    with canvas.style():
        for row, (_, estimate) in enumerate(shares):
            half = 100 * (estimate.half_width or 0.0)
            axis.errorbar([100 * estimate.mean], [row], xerr=[half], fmt="o", color=PALETTE[0], capsize=3)
        axis.set_yticks(range(len(shares)), [formatting.metric_title(name) for name, _ in shares])
        axis.set_ylim(len(shares) - 0.5, -0.5)
        axis.set_xlim(0, 101)
        axis.set_xlabel(f"{report.engine} engine (%)")
    canvas.plain_axes([axis])
    return found
