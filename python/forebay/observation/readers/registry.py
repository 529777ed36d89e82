"""The registry of readers: one line each, in the order in which a beginning is shown to them.

Readers of the most distinctive inputs are asked first, and readers of general tables and objects last.
"""

from __future__ import annotations

from forebay.observation.readers.captured import CAPTURE
from forebay.observation.readers.counter_tables import GNMI, QUERY, SCRAPES, TABLE, TELEGRAF, TELEMETRY
from forebay.observation.readers.flow_tables import EXPORTS, NFCAPD, OBJECTS
from forebay.observation.readers.flow_tables import TABLE as FLOW_TABLE
from forebay.observation.readers.influx import LINES
from forebay.observation.readers.iproute import LINK, LINK_TEXT, QDISC, QDISC_TEXT
from forebay.observation.readers.netbox import INTERFACES
from forebay.observation.readers.reader import Head, Reader
from forebay.observation.readers.rrdtool import BINARY as RRD
from forebay.observation.readers.rrdtool import CACTI, FETCH, LIBRENMS, XPORT_JSON, XPORT_XML
from forebay.observation.readers.socket_lists import SOCKETS
from forebay.observation.readers.suricata import EVE
from forebay.observation.readers.sysstat import BINARY as SYSSTAT
from forebay.observation.readers.sysstat import SADF_CSV, SADF_JSON, SAR
from forebay.observation.readers.unread import UNREAD
from forebay.observation.readers.vnstat import VNSTAT
from forebay.observation.readers.zeek import OBJECTS as ZEEK_OBJECTS
from forebay.observation.readers.zeek import OTHER_LOG as ZEEK_OTHER
from forebay.observation.readers.zeek import TABLE as ZEEK_TABLE

__all__ = ["READERS", "reader_of"]

READERS: tuple[Reader, ...] = (
    CAPTURE,
    NFCAPD,
    RRD,
    SYSSTAT,
    EXPORTS,
    SOCKETS,
    QDISC,
    LINK,
    SADF_JSON,
    SADF_CSV,
    SAR,
    XPORT_XML,
    XPORT_JSON,
    FETCH,
    LIBRENMS,
    CACTI,
    VNSTAT,
    LINES,
    INTERFACES,
    QDISC_TEXT,
    LINK_TEXT,
    *UNREAD,
    ZEEK_TABLE,
    ZEEK_OTHER,
    ZEEK_OBJECTS,
    EVE,
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
