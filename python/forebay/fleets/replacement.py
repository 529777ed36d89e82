"""Other boxes: a table of memories per port, to ask whether a box would do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from forebay._core import parse_quantity
from forebay.errors import InputError
from forebay.fleets.small_tables import refusal, rows

__all__ = ["memories"]

KEY = "platform"
COLUMNS = ("platform", "bytes_per_port")
#: Largest memory of a port, in bytes.
MOST_BYTES = 2**44


def memories(text: str) -> Mapping[str, int]:
    """Read `platform=FILE.csv`: the bytes of memory per port of each platform. Cells are such as `12MB`.

    Raises
    ------
    InputError
        If the text or the file is something else: one line with file and line.
    """
    key, _, name = text.partition("=")
    if key.strip() != KEY or not name.strip():
        raise InputError(f"found `{text}`; allowed: platform=FILE.csv with the columns {','.join(COLUMNS)}", "replace")
    allowed = f"each platform once, with a size such as 12MB, 12MiB or 12000000, from 1 to {MOST_BYTES:,} bytes"
    found: dict[str, int] = {}
    for place, cells in rows(Path(name.strip()), COLUMNS):
        platform, text = (cells[column] for column in COLUMNS)
        number = _bytes(text)
        if number is None or not platform or platform in found:
            raise refusal(place, cells, allowed)
        found[platform] = number
    return found


def _bytes(text: str) -> int | None:
    """A size in whole bytes, where a number without a unit has bytes; None for another text."""
    try:
        number = parse_quantity(f"{text}B" if text.isascii() and text.isdecimal() else text, "bytes")
    except InputError:
        return None
    return round(number) if 1 <= number <= MOST_BYTES else None
