"""The registry of readers: one line each, in the order in which a beginning is shown to them.

What says most of itself is asked first; tables and objects of anybody's come last.
"""

from __future__ import annotations

from forebay.observation.readers.captured import CAPTURE
from forebay.observation.readers.counter_tables import GNMI, QUERY, SCRAPES, TABLE, TELEGRAF, TELEMETRY
from forebay.observation.readers.flow_tables import EXPORTS, NFCAPD, OBJECTS
from forebay.observation.readers.flow_tables import TABLE as FLOW_TABLE
from forebay.observation.readers.reader import Head, Reader
from forebay.observation.readers.socket_lists import SOCKETS

__all__ = ["READERS", "reader_of"]

READERS: tuple[Reader, ...] = (
    CAPTURE,
    NFCAPD,
    EXPORTS,
    SOCKETS,
    GNMI,
    TELEGRAF,
    QUERY,
    OBJECTS,
    FLOW_TABLE,
    SCRAPES,
    TELEMETRY,
    TABLE,
)


def reader_of(head: Head) -> Reader | None:
    """The reader that recognizes a beginning; None where there is none."""
    return next((each for each in READERS if each.recognizes(head)), None)
