"""The text of `recommend` for a map of two settings: where the goals hold at each value of the first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from forebay.text.formatting import counted
from forebay.views.heading import Paragraph
from forebay.views.wording import both, goal_phrase, rate_of_link

if TYPE_CHECKING:
    from rich.console import RenderableType

    from forebay.search.feasible import FeasibleMap, FeasibleRange

__all__ = ["map_text", "where_it_holds"]


def map_text(found: FeasibleMap) -> RenderableType:
    """The answer in two lines, then the interval of the second key for each value of the first."""
    core = found.scenario.core
    rate = rate_of_link(found.scenario)
    title = f": {found.scenario.title}" if found.scenario.title else ""
    parts: list[RenderableType] = [
        Text(f"{rate}, {core.queue}{title}", overflow="ellipsis", no_wrap=True),
        Paragraph(where_it_holds(found), "bold green" if found.feasible else "bold red"),
        Paragraph(f"The goals: {both([goal_phrase(goal) for goal in found.goals])}."),
    ]
    if found.feasible:
        parts += [Text(), _table(found)]
    return Group(*parts, *_warnings(found), Paragraph(_cost(found), "dim"))


def where_it_holds(found: FeasibleMap) -> str:
    """The numbers of measured places at which the goals are met, missed, and not clear."""
    unclear = found.count("unclear")
    sure = "no confidence: the scenario has assumed values"
    if found.confidence is not None:
        sure = f"{100 * found.confidence:g} % confidence each"
    return (
        f"All goals are met at {found.count('met')} of {counted(len(found.points), 'measured combination')}, and a "
        f"goal "
        f"is missed at {found.count('missed')}{f'; {unclear} are undecided' if unclear else ''} "
        f"({sure})."
    )


def _table(found: FeasibleMap) -> Table:
    first, second = (variable.key for variable in found.over)
    title = f"Values of {second} at which all goals are met"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in (first, "missed at", "met from", "to", "missed at"):
        table.add_column(escape(heading), justify="right", no_wrap=True)
    for interval in found.ranges:
        cells = _cells(interval)
        table.add_row(interval.at.words, *cells, style=None if interval.low is not None else "dim")
    return table


def _cells(interval: FeasibleRange) -> Iterator[str]:
    for end in (interval.below, interval.low, interval.high, interval.above):
        yield "–" if end is None else end.words


def _warnings(found: FeasibleMap) -> Iterator[RenderableType]:
    yield Text()
    if not found.complete:
        text = (
            f"the boundary is less exact than the grid, because the map reached its limit of {found.budget} "
            f"replications"
        )
        yield Paragraph(f"warning: {text}", "yellow")
    for warning in found.warnings:
        yield Paragraph(f"warning: {warning}", "yellow")


def _cost(found: FeasibleMap) -> str:
    cost = found.cost
    return (
        f"{counted(cost.replications, 'replication')} at {counted(cost.buffers, 'place')}, "
        f"{counted(cost.data_packets, 'data packet')}, {cost.cpu_s:.1f} CPU seconds in {cost.wall_s:.1f} s"
    )
