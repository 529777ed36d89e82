"""Lines with checksums: the lines of a file that is appended to stay readable if a process dies while it writes.

A line is the CRC-32 of a JSON text, a space and the text. The last line counts if it ends with a newline.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from forebay.storage.safe_io import DamagedError, document

__all__ = ["complete", "entries", "line", "text"]


def line(entry: Mapping[str, Any]) -> bytes:
    """An entry as a line."""
    found = json.dumps(entry).encode()
    return b"%08x %s\n" % (zlib.crc32(found), found)


def complete(raw: bytes) -> bytes:
    """The lines that were written to their end."""
    return raw[: raw.rfind(b"\n") + 1]


def text(line: bytes) -> bytes | None:
    """The JSON text of a complete line; None if the line is damaged."""
    checksum, _, found = line[:-1].partition(b" ")
    return found if line.endswith(b"\n") and checksum == b"%08x" % zlib.crc32(found) else None


def entries(raw: bytes) -> Iterator[tuple[bytes, Any]]:
    """Each complete line with its entry; None for the entry of a damaged line."""
    for each in complete(raw).split(b"\n")[:-1]:
        written, entry = each + b"\n", None
        found = text(written)
        if found is not None:
            try:
                entry = document(found, "", "")
            except DamagedError:
                entry = None
        yield written, entry
