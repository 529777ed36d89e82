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
from forebay.views.heading import Paragraph, wrapped
from forebay.views.sizing_text import goals_grid, link_text, split_warnings, sureness
from forebay.views.wording import goal_title, rate_of_link, search_cost

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from forebay.search.port_answer import PortSizing, SizedHeadroom, SizedValue

__all__ = ["decided_by", "link_line", "number_text", "port_sizing_lines", "port_sizing_text"]

#: Columns of a narrow terminal, and the lines there that the values take at most.
NARROW, LINES = 80, 2
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
        *(Paragraph(_headroom(name, found)) for name, found in answer.headrooms.items()),
        Paragraph(link_line(answer)),
    ]
    for configuration in answer.configurations:
        parts += [Text(), *configuration_lines(configuration, urgent)]
    if others:
        parts.append(Text())
    parts += [Paragraph(f"warning: {warning}", "yellow") for warning in others]
    return Group(*parts, Paragraph(search_cost(answer.cost), "dim"))


def port_sizing_lines(answer: PortSizing) -> Iterator[str]:
    """The answer in three lines; in more with several lossless classes, or with values that need two lines."""
    values = _values_text(answer)
    if answer.feasible:
        yield values if answer.has_classes else formatting.capitalized(values)
        number = len(answer.goals)
        yield sureness(answer, {1: "the goal", 2: "both goals"}.get(number, f"all {number} goals"))
    else:
        yield "Undecided: no combination of values is confirmed to meet every goal."
        yield f"The closest one: {values}"
        yield answer.reason
    for name, headroom in answer.headrooms.items():
        noun = f"{name} sender" if name else "sender"
        waste, senders = headroom.wasted_bytes, headroom.senders
        if senders is None:
            yield f"Rounding headroom up wastes {waste:,} B of each {noun}."
        else:
            each = f"{waste:,} B of each of {counted(senders, noun)}"
            yield f"Rounding headroom up wastes {each}, {formatting.size(senders * waste)} in all."


def _values_text(answer: PortSizing) -> str:
    """The values in a line of 80 columns, if need be without a K or alpha that stays; otherwise in two lines."""
    full = _of_classes(answer.values)
    sized = _of_classes([each for each in answer.values if not (each.unchanged and each.short_name in ("K", "alpha"))])
    changing = _of_classes([each for each in answer.values if not each.unchanged])
    choices = ((full, 1), (sized, 1), (full, LINES), (f"{changing} All other values stay as configured.", LINES))
    fitting = (text for text, lines in choices if len(wrapped(text, NARROW)) <= lines)
    return next(fitting, f"{len(answer.values)} values: see the table.")


def _of_classes(values: Sequence[SizedValue]) -> str:
    """Some values, those of each class after its name."""
    parts = []
    for name in dict.fromkeys(each.traffic_class for each in values):
        texts = ", ".join(f"{each.short_name} {_short(each)}" for each in values if each.traffic_class == name)
        parts.append(f"{name}: {texts}" if name else texts)
    return f"{'; '.join(parts)}."


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
    names = Column("value", [each.short_name for each in found], number=False)
    classes = Column("class", [each.traffic_class or "port" for each in found], number=False)
    return Grid(
        [classes, names] if answer.has_classes else [names],
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
    if value.short_name == "alpha":
        return f"{percent(value.nearest / (1 + value.nearest))} of pool"
    if value.memory_bytes is None:
        return "none" if value.short_name == "K" else "each sender"
    return formatting.size(value.memory_bytes)


def decided_by(value: SizedValue) -> str:
    """The reason for a value."""
    if value.binding_goal is not None:
        return goal_title(value.binding_goal)
    if value.short_name == "headroom":
        return "cable, response"
    return "no goal" if value.unchanged else "the smallest is enough"


def _headroom(name: str, found: SizedHeadroom) -> str:
    """The parts of the headroom of a lossless class, or of the port."""
    used = "" if found.used_bytes is None else f" The runs use {found.used_bytes:,.0f} B."
    of = f" of {name}" if name else ""
    return (
        f"Headroom of a sender{of}: {found.delay_bytes:,.0f} B during cable and response, {found.packet_bytes:,} B in "
        f"two packets, {found.exact_bytes:,.0f} B in all.{used}"
    )


def link_line(answer: PortSizing) -> str:
    """Utilization, loss, delay and pauses of the link."""
    return link_text(answer, LINK_METRICS)
