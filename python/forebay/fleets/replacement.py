"""Other boxes: a table of memories per port, to ask whether a box would do."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from forebay.errors import InputError
from forebay.scenario import read

__all__ = ["memories"]

KEY = "platform"
COLUMNS = ("platform", "bytes_per_port")


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
    path = Path(name.strip())
    rows = csv.DictReader(read(path).splitlines())
    if rows.fieldnames is None or not set(COLUMNS) <= set(rows.fieldnames):
        raise InputError(f"{path}: found other columns; allowed: {','.join(COLUMNS)}")
    found: dict[str, int] = {}
    for row in rows:
        text = row["bytes_per_port"] or ""
        if not text.strip().isdecimal() or not int(text) or not row["platform"] or row["platform"] in found:
            allowed = "each platform once, with whole bytes above 0"
            raise InputError(f"{path}, line {rows.line_num}: found `{row['platform']},{text}`; allowed: {allowed}")
        found[row["platform"]] = int(text)
    if not found:
        raise InputError(f"{path}: found no platform; allowed: {','.join(COLUMNS)}")
    return found
