"""Tables that show as much as the terminal has room for, and never cut a number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Group

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

__all__ = ["Fitting"]

#: Wider than any terminal: a table that is measured within narrower bounds claims to fit, and cuts.
_ANY_WIDTH = 100_000


class Fitting:
    """The first of several choices that fits, or the last.

    Parameters
    ----------
    choices : iterable of sequence of Table
        From the widest to the narrowest, each one or more tables below each other.
    """

    def __init__(self, choices: Iterable[Sequence[Table]]) -> None:
        self.choices = choices

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give the tables."""
        free = options.update(width=_ANY_WIDTH)
        chosen: Sequence[Table] = ()
        for chosen in self.choices:
            if all(console.measure(table, options=free).maximum <= options.max_width for table in chosen):
                break
        yield Group(*chosen)
