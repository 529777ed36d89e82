"""The heading of every answer: the title, and the link that it is about."""

from __future__ import annotations

import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.console import Group
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from forebay.views.changing import in_time
from forebay.views.wording import rate_of_link, sizes

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from forebay.scenario import Scenario

__all__ = ["Paragraph", "heading", "link_text", "wrapped"]


def link_text(scenario: Scenario) -> str:
    """The link: rate, queue and buffer."""
    core = scenario.core
    rate = rate_of_link(scenario)
    return f"{rate} link, {core.queue}, buffer {sizes(scenario.buffer)}"


def heading(scenario: Scenario, otherwise: str) -> RenderableType:
    """The title, or `otherwise` if the scenario has none, and the link."""
    lines = [link_text(scenario), *in_time(scenario.buffer, scenario)]
    return Group(Text(scenario.title or otherwise, style="bold"), *map(Paragraph, lines))


class Paragraph:
    """Text that is wrapped between words, never between a number and its unit.

    Parameters
    ----------
    text : str
        One line.
    style : str
        As rich has them.
    """

    def __init__(self, text: str, style: str = "") -> None:
        self.text = text
        self.style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give the lines."""
        style = console.get_style(self.style, default=Style.null())
        for line in wrapped(self.text, options.max_width):
            yield Segment(line, style)
            yield Segment.line()


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a paragraph of some width, those after the first indented by two more."""
    indent = " " * (len(text) - len(text.lstrip()))
    lines = textwrap.wrap(
        _bound(text.lstrip()), width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )
    return [line.replace(_BOUND, " ") for line in lines]


#: A space at which nothing is wrapped.
_BOUND = "\N{NO-BREAK SPACE}"


def _bound(text: str) -> str:
    """The text with every number bound to the word that follows it, and ± and = to what they introduce."""
    words = text.split(" ")
    bound = words[0]
    for before, word in pairwise(words):
        together = before.lstrip("(≥≤~")[:1].isdigit() and not before.endswith((",", ";", ":"))
        together = (together and word != "=") or before in {"±", "=", "≥", "≤"}
        bound += (_BOUND if together else " ") + word
    return bound
