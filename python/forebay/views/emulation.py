"""The text of `emulate`: the hosts and the links between them, then the state of the link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table

from forebay.text import formatting
from forebay.text.formatting import counted
from forebay.views.heading import Paragraph, link_text
from forebay.views.reports import groups_table
from forebay.views.traffic import law

if TYPE_CHECKING:
    from rich.console import RenderableType

    from forebay import _core
    from forebay.measurement.emulation import StandIn
    from forebay.measurement.programs import Side
    from forebay.results.report import Estimate, Report
    from forebay.scenario import Scenario

__all__ = ["beginning", "ending", "live_text", "strays_text"]

#: Metrics of links, in order.
LINK = (
    *("utilization", "loss_rate", "policer_loss_rate", "medium_loss_rate", "mark_rate"),
    *("queue_delay_mean_s", "queue_delay_p50_s", "queue_delay_p99_s", "queue_delay_max_s"),
)
#: Metrics that are shown only if they are not zero.
WHERE_ANY = ("policer_loss_rate", "medium_loss_rate")
#: Resolution of times, in seconds; a shorter time is shown as zero.
RESOLUTION_S = 1e-6
#: Largest number of links shown beside each other.
MOST_LINKS = 4


def beginning(placed: StandIn, side: Side, variables: Mapping[str, str], *, serve: bool) -> RenderableType:
    """The link, and the addresses of both sides.

    Parameters
    ----------
    placed : StandIn
        The running scenario.
    side : Side
        The side on which the command runs.
    variables : mapping
        Variables of the command's environment.
    serve : bool
        Whether there is no command.
    """
    own, peer = variables["FOREBAY_SELF"], variables["FOREBAY_PEER"]
    addresses = {side: own, side.other: peer}
    notes = {} if serve else {side: " (the command)", side.other: " ($FOREBAY_PEER)"}
    sender, receiver = (f"{each} {addresses[each]}{notes.get(each, '')}" for each in sorted(addresses, reverse=True))
    hops = [sender, *_links_of(placed, placed.path), receiver, *_links_of(placed, placed.reverse), "sender"]
    trip = _trip(placed.scenario.resolved["flows"][placed.number]["rtt"])
    lines = [
        link_text(placed.scenario),
        f"{' → '.join(hops)}; round-trip time {trip} without queueing",
        *_scenario_groups(placed),
    ]
    return Group(*map(Paragraph, lines))


def _links_of(placed: StandIn, names: tuple[str, ...]) -> tuple[str, ...]:
    """The links of a path, by name if the scenario has several."""
    return names if len(placed.scenario.resolved["links"]) > 1 else ("the link",) * len(names)


def _trip(rtt: object) -> str:
    """The round-trip times, also those of a distribution; a long list is cut."""
    if isinstance(rtt, list):
        delays = list(dict.fromkeys(rtt))
        return ", ".join(delays[:3]) + (", ..." if len(delays) > 3 else "")
    return law(rtt)


def _scenario_groups(placed: StandIn) -> list[str]:
    """The groups of the scenario that run beside the programs, and those that do not run."""
    silent = [*([] if placed.group in placed.concurrent_groups else [placed.group]), *placed.idle]
    sentences = (
        [f"flows of the scenario that also run: {_names(placed.concurrent_groups)}"] if placed.concurrent_groups else []
    )
    sentences += (
        [f"flows that do not run: {_names(tuple(silent))} (--with GROUP starts them)"]
        if placed.concurrent_groups and silent
        else []
    )
    return ["; ".join(sentences) or "no flows of the scenario run (--with GROUP starts them)"]


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:MOST_LINKS]) + (f" and {len(names) - MOST_LINKS} more" if len(names) > MOST_LINKS else "")


def live_text(live: _core.Live, scenario: Scenario) -> str:
    """The state of the link, in one line.

    Parameters
    ----------
    live : Live
        State of the emulation.
    scenario : Scenario
        The running scenario.
    """
    rate = "" if scenario.core.rate_changes else f"{formatting.bandwidth(live.utilization * scenario.core.rate_bps)}, "
    parts = [
        f"{live.time_s:.0f} s",
        f"{rate}{100 * live.utilization:.0f} % used",
        f"queue {counted(live.waiting, 'packet')}, {formatting.duration(live.delay_s)}",
        f"{live.dropped:,} of {live.arrived:,} lost",
    ]
    if live.marked:
        parts.append(f"{live.marked:,} marked")
    return "  ".join(parts)


def strays_text(strays: int) -> str:
    """The number of packets that were not carried, in words."""
    return f"{counted(strays, 'packet')} dropped, because they are incomplete or not IPv4"


def ending(report: Report, placed: StandIn) -> RenderableType:
    """The metrics of the link after the run."""
    parts: list[RenderableType] = [_links(report, placed)]
    beside = [group for group in report.groups if group.name in placed.concurrent_groups]
    if beside:
        parts.append(groups_table(beside))
    if report.cost.lateness is not None:
        parts.append(Paragraph(formatting.lateness(report.cost.lateness), "dim"))
    parts += [Paragraph(f"warning: {warning}", "yellow") for warning in report.warnings]
    return Group(*parts)


def _links(report: Report, placed: StandIn) -> Table:
    """A column for the target, and for each other link that programs have crossed."""
    columns = list(_columns(report, placed))
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True)
    for title, _ in columns:
        table.add_column(escape(title), justify="right", no_wrap=True)
    for name in LINK:
        found = [metrics.get(name) for _, metrics in columns]
        if all(each is None for each in found) or (name in WHERE_ANY and not any(each and each.mean for each in found)):
            continue
        table.add_row(formatting.metric_title(name), *("–" if each is None else _value(name, each) for each in found))
    return table


def _value(name: str, estimate: Estimate) -> str:
    # A shorter time is below the resolution of any machine's clock.
    return formatting.value(name, 0.0 if name.endswith("_s") and estimate.mean < RESOLUTION_S else estimate.mean)


def _columns(report: Report, placed: StandIn) -> Iterator[tuple[str, Mapping[str, Estimate]]]:
    links = placed.scenario.resolved["links"]
    target = next(str(link["name"]) for link in links if link["target"] or len(links) == 1)
    yield (f"link {target}" if len(links) > 1 else "link"), report.metrics
    crossed = {*placed.path, *placed.reverse} - {target}
    for link in [link for link in report.links if link.name in crossed][: MOST_LINKS - 1]:
        yield link.name, link.metrics
