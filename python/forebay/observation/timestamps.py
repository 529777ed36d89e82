"""Instants as texts of counters and sockets have them, in seconds since 1970."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

__all__ = ["MOST_SECONDS", "epoch_seconds", "parse_timestamp"]

#: The year 2400: whatever is later was no time.
MOST_SECONDS = 13.6e9

#: Formats that `date` prints in the C locale, and that spreadsheets and routers write.
_FORMATS = ("%a %b %d %H:%M:%S UTC %Y", "%a %b %d %H:%M:%S %Y", "%Y/%m/%d %H:%M:%S", "%d/%m/%Y %H:%M:%S",
            "%a %d %b %Y %I:%M:%S %p UTC", "%a, %d %b %Y %H:%M:%S GMT")  # fmt: skip


def parse_timestamp(text: str) -> float | None:
    """The time of a text in seconds since 1970, in UTC if it names no zone; None if it names no time."""
    text = text.strip().strip('"')
    if not text or len(text) > 64:
        return None
    try:
        return epoch_seconds(float(text))
    except ValueError:
        pass
    readers: tuple[Callable[[str], datetime], ...] = (
        datetime.fromisoformat,
        *(partial(_read, form) for form in _FORMATS),
    )
    for read in readers:
        try:
            found = read(text)
        except (ValueError, OverflowError):
            continue
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    return None


def _read(form: str, text: str) -> datetime:
    return datetime.strptime(text, form)


def epoch_seconds(number: float) -> float | None:
    """Seconds of a number of seconds, milliseconds, microseconds or nanoseconds since 1970, by its size."""
    if not math.isfinite(number) or number < 0:
        return None
    for least, unit in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)):
        if number >= least:
            number /= unit
            break
    return number if number < MOST_SECONDS else None
