"""A router's configuration on the terminal: the lines to paste, then the differences from the simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from forebay.views.heading import Paragraph

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from forebay.configuration.configuring import Configuration

__all__ = ["configuration_lines"]


def configuration_lines(found: Configuration, urgent: Iterable[str] = ()) -> list[RenderableType]:
    """The lines of one platform, never cut or wrapped, and the notes on them.

    Parameters
    ----------
    found : Configuration
        The lines, the notes and the source.
    urgent : iterable of str
        Warnings that change the decision; they are printed directly above the lines.
    """
    head = f"For {found.system} ({found.title}):" if found.title else f"For {found.system}:"
    notes = Table.grid(padding=(0, 1))
    for note in found.notes:
        notes.add_row("note:", Text(note))
    for quirk in found.quirks if found.lines else ():
        notes.add_row("note:", Text(quirk), style="dim")
    notes.add_row("source:", Text(found.source), style="dim")
    return [
        Text(head, style="bold"),
        *(Paragraph(f"  warning: {warning}", "bold yellow") for warning in urgent if found.lines),
        *(Text(f"  {line}", no_wrap=True, overflow="ignore") for line in found.lines),
        Padding(notes, (0, 0, 0, 2)),
    ]
