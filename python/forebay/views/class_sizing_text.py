"""The text that `recommend --classes` prints: the buffers in one sentence, then a row for each class and each goal.

The tables keep every column: those without room go into a further table below. The width is that of the terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from forebay.text import formatting
from forebay.text.formatting import counted
from forebay.views.configuration_text import configuration_lines
from forebay.views.fitting import Column, Grid, Wrapped
from forebay.views.heading import Paragraph
from forebay.views.sizing_text import goals_grid, link_text, split_warnings, sureness
from forebay.views.wording import count, goal_title, rate_of_link, search_cost

if TYPE_CHECKING:
    from rich.console import RenderableType

    from forebay.results.warning import Warning
    from forebay.search.class_answer import ClassSize, ClassSizing

__all__ = ["class_sizing_text", "decided_by", "link_line", "paragraphs", "sentence"]

STYLES = {"met": "bold green", "impossible": "bold red", "undecided": "bold yellow"}
#: Metrics of the link that are shown, whatever the goals are.
LINK_METRICS = (*formatting.USUAL, "goodput_bps")


def class_sizing_text(answer: ClassSizing, *, everything: bool = False) -> RenderableType:
    """The answer as text.

    Parameters
    ----------
    answer : ClassSizing
        The answer of `size_classes`.
    everything : bool
        Whether refused combinations are shown, too.

    Returns
    -------
    RenderableType
        Fits the console that it is printed on, from 60 columns.
    """
    core = answer.scenario.core
    title = f": {answer.scenario.title}" if answer.scenario.title else ""
    urgent, others = split_warnings(answer, everything=everything)
    parts: list[RenderableType] = [
        Text(f"{rate_of_link(answer.scenario)}, {core.queue}{title}", overflow="ellipsis", no_wrap=True),
        Paragraph(sentence(answer), STYLES[answer.verdict]),
        *(Paragraph(f"warning: {warning}", "bold yellow") for warning in urgent),
        *(Paragraph(line) for line in paragraphs(answer)),
        Text(),
        Wrapped([_classes(answer)]),
        Text(),
        Wrapped([goals_grid(answer)]),
        Text(),
        Paragraph(link_line(answer)),
    ]
    for configuration in answer.configurations:
        parts += [Text(), *configuration_lines(configuration, urgent)]
    return Group(*parts, *_warnings(others), Paragraph(search_cost(answer.cost), "dim"))


def sentence(answer: ClassSizing) -> str:
    """The answer in one sentence."""
    if answer.total is not None:
        total = answer.total
        return (
            f"We recommend {counted(len(answer.classes), 'class buffer')}, {count(total)} in total "
            f"({formatting.size(total.bytes)})."
        )
    if answer.verdict == "impossible":
        return "No combination of class buffers meets every goal."
    return "Undecided: the runs do not show whether class buffers can meet every goal."


def paragraphs(answer: ClassSizing) -> Iterator[str]:
    """The confidence that all goals hold together, or the reason why nothing is recommended."""
    if answer.total is None:
        yield answer.reason
        return
    yield sureness(answer, "the goal" if len(answer.goals) == 1 else "all goals")


def _classes(answer: ClassSizing) -> Grid:
    """A row for each class: the configured and the recommended buffer, and the goal that decides."""
    found = answer.classes
    head = "recommended" if answer.feasible else "closest"
    return Grid(
        [Column("class", [each.name for each in found], number=False)],
        [
            Column("configured", [count(each.configured) for each in found]),
            Column(head, [count(each.nearest) for each in found]),
            Column("size", [formatting.size(each.nearest.bytes) for each in found]),
            *([Column("decided by", [decided_by(each) for each in found], number=False)] if answer.feasible else []),
        ],
        ["" for _ in found],
    )


def decided_by(found: ClassSize) -> str:
    """The goal that prevents a smaller buffer."""
    if found.binding_goal is not None:
        return goal_title(found.binding_goal)
    return "no goal (not reduced)" if found.unchanged else "1 packet is enough"


def link_line(answer: ClassSizing) -> str:
    """Utilization, loss, p99 delay and goodput of the link."""
    return link_text(answer, LINK_METRICS)


def _warnings(found: list[Warning]) -> Iterator[RenderableType]:
    """The warnings below the tables."""
    if found:
        yield Text()
    for warning in found:
        yield Paragraph(f"warning: {warning}", "yellow")
