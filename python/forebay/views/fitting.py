"""Tables that show as much as the terminal has room for, and never cut a number.

`Fitting` takes the first of several tables that fits. `Wrapped` keeps every column: those that find no room go into a
further table below, beside the same first columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

__all__ = ["Column", "Fitting", "Grid", "Wrapped"]

#: Wider than any terminal: a table that is measured within narrower bounds claims to fit, and cuts.
_ANY_WIDTH = 100_000

#: Characters between two columns.
_GAP = 3


class Fitting:
    """The first of several choices that fits, or the last.

    Parameters
    ----------
    choices : iterable of sequence of Table
        Choices from the widest to the narrowest, each one or more tables below each other.
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


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, of one line or more, a cell for each row, and whether the cells are numbers."""

    heading: str
    cells: Sequence[str]
    number: bool = True

    @property
    def width(self) -> int:
        """Characters of the widest cell."""
        return max(cell_len(line) for text in (self.heading, *self.cells) for line in text.split("\n"))


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of columns.

    Attributes
    ----------
    keys : sequence of Column
        The columns that identify a row; every block repeats them.
    columns : sequence of Column
        The others.
    styles : sequence of str
        The style of each row.
    """

    keys: Sequence[Column]
    columns: Sequence[Column]
    styles: Sequence[str]

    def blocks(self, width: int) -> Iterator[list[Column]]:
        """The columns besides the keys, as many in each block as fit, in their order."""
        room = width - sum(key.width + _GAP for key in self.keys)
        block: list[Column] = []
        taken = 0
        for column in self.columns:
            if block and taken + column.width > room:
                yield block
                block, taken = [], 0
            block.append(column)
            taken += column.width + _GAP
        yield block

    def table(self, block: Sequence[Column], *, is_integer: bool) -> Table:
        """One block as a table; its words wrap if it is not `is_integer`."""
        found = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        shown = [*self.keys, *block]
        for column in shown:
            wraps = not is_integer and not column.number
            found.add_column(
                escape(column.heading),
                justify="right" if column.number else "left",
                no_wrap=not wraps,
                overflow="fold" if wraps else "ellipsis",
            )
        for row, style in enumerate(self.styles):
            found.add_row(*(escape(column.cells[row]) for column in shown), style=style or None)
        return found


class Wrapped:
    """The first of several grids that fits in one table, or else the last, split over several; no column is left out.

    Parameters
    ----------
    choices : iterable of Grid
        Grids from the widest to the narrowest.
    """

    def __init__(self, choices: Iterable[Grid]) -> None:
        self.choices = choices

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the tables."""
        width = options.max_width
        grid, blocks = None, []
        for grid in self.choices:
            blocks = list(grid.blocks(width))
            if len(blocks) == 1:
                break
        for number, block in enumerate(blocks if grid is not None else ()):
            if number:
                yield Text()
            assert grid is not None
            total = sum(column.width + _GAP for column in (*grid.keys, *block)) - _GAP
            yield grid.table(block, is_integer=total <= width)
