"""A router's configuration on the terminal: the lines to paste, then what differs from the simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from forebay.configuration.configuring import Configuration

__all__ = ["configuration_lines"]


def configuration_lines(found: Configuration) -> list[Text]:
    """The lines of one platform."""
    head = f"For {found.system} ({found.title}):" if found.title else f"For {found.system}:"
    return [
        Text(head, style="bold"),
        *(Text(f"  {line}", no_wrap=True, overflow="ignore") for line in found.lines),
        *(Text(f"  note: {note}") for note in found.notes),
        *(Text(f"  note: {quirk}", style="dim") for quirk in found.quirks),
        Text(f"  source: {found.source}", style="dim"),
    ]
