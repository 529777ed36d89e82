"""The text that `recommend` prints for a lossless port: the answer in three lines, then the values and the goals.

The first three lines fit 80 columns. Warnings that change the decision follow the first sentence. The width of the
tables is that of the terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from forebay.text import formatting
from forebay.text.formatting import counted
from forebay.views.answer_sentences import percent
from forebay.views.configuration_text import configuration_lines
from forebay.views.fitting import Column, Grid, Wrapped
from forebay.views.heading import Paragraph
from forebay.views.sizing_text import goals_grid, link_text, split_warnings, sureness
from forebay.views.wording import goal_title, rate_of_link, search_cost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from forebay.search.port_answer import PortSizing, SizedValue

__all__ = ["decided_by", "link_line", "number_text", "port_sizing_lines", "port_sizing_text"]

STYLES = {"met": "bold green", "undecided": "bold yellow"}
#: Metrics of the link that are shown, whatever the goals are.
LINK_METRICS = (*formatting.USUAL, "pause_time_s", "headroom_max_bytes", "goodput_bps")


def port_sizing_text(answer: PortSizing, *, everything: bool = False) -> RenderableType:
    """The answer as text.

    Parameters
    ----------
    answer : PortSizing
        The answer of `size_port`.
    everything : bool
        Whether refused combinations are shown, too.
    """
    core = answer.scenario.core
    title = f": {answer.scenario.title}" if answer.scenario.title else ""
    urgent, others = split_warnings(answer, everything=everything)
    first, *more = port_sizing_lines(answer)
    parts: list[RenderableType] = [
        Paragraph(first, STYLES[answer.verdict]),
        *(Paragraph(f"warning: {warning}", "bold yellow") for warning in urgent),
        *(Paragraph(line) for line in more),
        Text(f"{rate_of_link(answer.scenario)}, {core.queue}{title}", overflow="ellipsis", no_wrap=True),
        Text(),
        Wrapped([_values(answer)]),
        Text(),
        Wrapped([goals_grid(answer)]),
        Text(),
        Paragraph(_headroom(answer)),
        Paragraph(link_line(answer)),
    ]
    for configuration in answer.configurations:
        parts += [Text(), *configuration_lines(configuration, urgent)]
    if others:
        parts.append(Text())
    parts += [Paragraph(f"warning: {warning}", "yellow") for warning in others]
    return Group(*parts, Paragraph(search_cost(answer.cost), "dim"))


def port_sizing_lines(answer: PortSizing) -> Iterator[str]:
    """The answer in three lines."""
    values = ", ".join(f"{each.name} {_short(each)}" for each in answer.values)
    if answer.feasible:
        yield formatting.capitalized(f"{values}.")
        number = len(answer.goals)
        yield sureness(answer, {1: "the goal", 2: "both goals"}.get(number, f"all {number} goals"))
    else:
        yield "Undecided: no combination of values is confirmed to meet every goal."
        yield f"The closest one: {values}."
        yield answer.reason
    waste, senders = answer.headroom.wasted_bytes, answer.headroom.senders
    if senders is None:
        yield f"Rounding headroom up wastes {waste:,} B of each sender."
    else:
        total = formatting.size(senders * waste)
        yield f"Rounding headroom up wastes {waste:,} B of each of {counted(senders, 'sender')}, {total} in all."


def _short(value: SizedValue) -> str:
    """A value in three digits."""
    if value.unit == "bytes":
        return formatting.size(value.nearest)
    return number_text(value, value.nearest)


def number_text(value: SizedValue, number: float) -> str:
    """A value exactly."""
    if value.unit == "bytes":
        return f"{number:,.0f} B"
    if value.unit == "packets":
        return counted(round(number), "packet")
    power = 1 / number
    return f"1/{power:.0f}" if number < 1 and power.is_integer() else f"{number:g}"


def _values(answer: PortSizing) -> Grid:
    """A row for each value: configured, recommended, its memory, and the goal that decides."""
    found = answer.values
    head = "recommended" if answer.feasible else "closest"
    return Grid(
        [Column("value", [each.name for each in found], number=False)],
        [
            Column("configured", [number_text(each, each.configured) for each in found]),
            Column(head, [number_text(each, each.nearest) for each in found]),
            Column("memory", [_memory(each) for each in found]),
            *([Column("decided by", [decided_by(each) for each in found], number=False)] if answer.feasible else []),
        ],
        ["" for _ in found],
    )


def _memory(value: SizedValue) -> str:
    """The memory that a value takes, for all senders together."""
    if value.name == "alpha":
        return f"{percent(value.nearest / (1 + value.nearest))} of pool"
    if value.memory_bytes is None:
        return "none" if value.name == "K" else "each sender"
    return formatting.size(value.memory_bytes)


def decided_by(value: SizedValue) -> str:
    """The reason for a value."""
    if value.binding_goal is not None:
        return goal_title(value.binding_goal)
    if value.name == "headroom":
        return "cable, response"
    return "no goal" if value.unchanged else "the smallest is enough"


def _headroom(answer: PortSizing) -> str:
    """The parts of the headroom."""
    found = answer.headroom
    used = "" if found.used_bytes is None else f" The runs use {found.used_bytes:,.0f} B."
    return (
        f"Headroom of a sender: {found.delay_bytes:,.0f} B during cable and response, {found.packet_bytes:,} B in two "
        f"packets, {found.exact_bytes:,.0f} B in all.{used}"
    )


def link_line(answer: PortSizing) -> str:
    """Utilization, loss, delay and pauses of the link."""
    return link_text(answer, LINK_METRICS)
