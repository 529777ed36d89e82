"""The output of `run`: the link and the groups as two short tables, or every metric of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table

from forebay.results.metric import key_among
from forebay.text import formatting
from forebay.text.formatting import counted
from forebay.views.fabric_ports import ports_table
from forebay.views.fitting import Fitting
from forebay.views.goodput import ALL_FLOWS, GOODPUT, MARK, has_other_flows, sent_bps
from forebay.views.heading import Paragraph, heading

if TYPE_CHECKING:
    from rich.console import RenderableType

    from forebay.results.report import Estimate, GroupReport, Report
    from forebay.scenario import Scenario

    Shown = Callable[[str, Estimate | None], str]

__all__ = ["groups_table", "metric_table", "report_view"]

#: The link's metrics that matter wherever they are reported, and those that matter where they are not zero.
LINK = (
    "utilization",
    "loss_rate",
    "policer_loss_rate",
    "medium_loss_rate",
    "mark_rate",
    "queue_delay_mean_s",
    "queue_delay_p99_s",
    "queue_delay_p99_fast_s",
    "queue_delay_p99_slow_s",
    "drain_time_max_s",
    "pause_time_s",
    "pause_frames",
    "headroom_max_bytes",
    "paused_time_s",
    "spread",
    "victims",
    "goodput_bps",
)
WHERE_ANY = ("policer_loss_rate", "medium_loss_rate", "mark_rate", "paused_time_s", "victims")
#: Titles of columns, where those of the metrics are wide.
COLUMNS = {
    "completion_time_p50_s": "completion\nmedian",
    "completion_time_p99_s": "completion\np99",
    "request_time_p99_s": "request\np99",
}
#: The groups' metrics in the order of their columns, the least important last: a narrow terminal lacks them first.
GROUPS = (
    "goodput_bps",
    "loss_rate",
    "completion_time_p99_s",
    "queue_delay_p99_s",
    "request_time_p99_s",
    "completion_time_p50_s",
    "queue_delay_mean_s",
)


def report_view(report: Report, scenario: Scenario, otherwise: str, *, verbose: bool = False) -> RenderableType:
    """One report under its title, or under `otherwise` where the scenario has none.

    Parameters
    ----------
    report, scenario
        The report, and the scenario that it measured.
    otherwise : str
        The title of a scenario without one.
    verbose : bool
        Whether to show every metric.
    """
    parts: list[RenderableType] = [heading(scenario, otherwise)]
    marks = {} if sent_bps(scenario, report.metrics) is None else {GOODPUT: MARK}
    if has_other_flows(scenario):
        marks = {GOODPUT: ALL_FLOWS}
    if verbose:
        parts += [metric_table("link", report.metrics, list(report.metrics), marks)]
        parts += [metric_table(_group_title(group), group.metrics, list(group.metrics)) for group in report.groups]
    else:
        parts += [
            metric_table("link", report.metrics, _mattering(report, scenario), marks),
            groups_table(report.groups),
        ]
        ports = ports_table(report, scenario)
        parts += [] if ports is None else [ports]
    parts += [Paragraph(line, "dim") for line in _cost_lines(report)]
    parts += [Paragraph(f"warning: {warning}", "yellow") for warning in report.warnings]
    return Group(*parts)


def _mattering(report: Report, scenario: Scenario) -> list[str]:
    """The link's metrics that matter, and those that goals are about."""
    zero = [name for name in WHERE_ANY if name in report.metrics and not report.metrics[name].mean]
    names = [name for name in LINK if name in report.metrics and name not in zero]
    requested = [key_among(goal.name, report.metrics) for goal in scenario.goals]
    return [*names, *(name for name in requested if name is not None and name not in names)]


def _group_title(group: GroupReport) -> str:
    return f"{group.name} ({counted(group.flows, 'flow')})"


def metric_table(
    title: str, metrics: Mapping[str, Estimate], names: Sequence[str], marks: Mapping[str, str] | None = None
) -> Table:
    """One metric a line; `marks` are words behind a value, by the name of the metric."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(escape(title), no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    for name in names:
        mark = (marks or {}).get(name)
        words = [formatting.estimate(name, metrics.get(name)), *([mark] if mark else [])]
        table.add_row(formatting.metric_title(name), " ".join(words))
    return table


def groups_table(groups: Sequence[GroupReport]) -> RenderableType:
    """A row for each group, with all columns and intervals or, where they do not fit, fewer; or a table for each."""
    names = [name for name in GROUPS if any(name in group.metrics for group in groups)]
    return Fitting(_choices(groups, names) if names else [])


def _choices(groups: Sequence[GroupReport], names: Sequence[str]) -> Iterator[Sequence[Table]]:
    """From everything with its intervals to the first columns without, then group by group."""
    for cut in range(min(3, len(names))):
        for shown in (formatting.estimate, _mean):
            yield [_table(groups, names[: len(names) - cut], shown)]
    yield [
        metric_table(_group_title(group), group.metrics, [name for name in names if name in group.metrics])
        for group in groups
    ]


def _table(groups: Sequence[GroupReport], names: Sequence[str], shown: Shown) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("group", no_wrap=True)
    table.add_column("flows", justify="right", no_wrap=True)
    for name in names:
        table.add_column(COLUMNS.get(name) or formatting.metric_title(name), justify="right", no_wrap=True)
    for group in groups:
        cells = [shown(name, group.metrics.get(name)) for name in names]
        table.add_row(escape(group.name), f"{group.flows:,}", *cells)
    return table


def _mean(name: str, found: Estimate | None) -> str:
    return "–" if found is None else formatting.value(name, found.mean)


def _cost_lines(report: Report) -> list[str]:
    cost = report.cost
    behind = (
        counted(report.replications, "replication")
        if report.batches is None
        else f"1 replication, with intervals from its {report.batches} batches"
    )
    lines = [f"{report.engine} engine, {behind}, seed {report.seed}"]
    if cost.data_packets or cost.events:
        lines.append(
            f"{counted(cost.data_packets, 'data packet')}, {counted(cost.events, 'event')}, "
            f"{cost.cpu_s:.2f} CPU seconds"
        )
    if cost.lateness is not None:
        lines.append(formatting.lateness(cost.lateness))
    return lines
