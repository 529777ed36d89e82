"""Other boxes: a table of memories per port, to ask whether a box would do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from forebay.errors import InputError
from forebay.fleets.small_tables import refusal, rows

__all__ = ["memories"]

KEY = "platform"
COLUMNS = ("platform", "bytes_per_port")
#: Largest memory of a port, in bytes.
MOST_BYTES = 10**15


def memories(text: str) -> Mapping[str, int]:
    """Read `platform=FILE.csv`: the bytes of memory per port of each platform.

    Raises
    ------
    InputError
        If the text or the file is something else: one line with file and line.
    """
    key, _, name = text.partition("=")
    if key.strip() != KEY or not name.strip():
        raise InputError(f"found `{text}`; allowed: platform=FILE.csv with the columns {','.join(COLUMNS)}", "replace")
    allowed = f"each platform once, with whole bytes from 1 to {MOST_BYTES:,}"
    found: dict[str, int] = {}
    for place, cells in rows(Path(name.strip()), COLUMNS):
        platform, number = (cells[column] for column in COLUMNS)
        # Python refuses to read very long numbers.
        is_size = number.isdecimal() and len(number) <= len(str(MOST_BYTES)) and 0 < int(number) <= MOST_BYTES
        if not is_size or not platform or platform in found:
            raise refusal(place, cells, allowed)
        found[platform] = int(number)
    return found
