"""The registry of inputs: one line each, in the order in which `recognition` asks them.

The most distinctive inputs are asked first, and general tables and objects last.
"""

from __future__ import annotations

from typing import Any

from forebay.observation.inputs.capture import CAPTURE
from forebay.observation.inputs.counter_tables import GNMI, QUERY, SCRAPES, TABLE, TELEGRAF, TELEMETRY
from forebay.observation.inputs.flow_tables import EXPORTS, NFCAPD, OBJECTS
from forebay.observation.inputs.flow_tables import TABLE as FLOW_TABLE
from forebay.observation.inputs.influx import LINES
from forebay.observation.inputs.input import Input
from forebay.observation.inputs.iproute import LINK, LINK_TEXT, QDISC, QDISC_TEXT
from forebay.observation.inputs.netbox import INTERFACES
from forebay.observation.inputs.rrdtool import BINARY as RRD
from forebay.observation.inputs.rrdtool import CACTI, FETCH, LIBRENMS, XPORT_JSON, XPORT_XML
from forebay.observation.inputs.sockets import SOCKETS
from forebay.observation.inputs.suricata import EVE
from forebay.observation.inputs.sysstat import BINARY as SYSSTAT
from forebay.observation.inputs.sysstat import SADF_CSV, SADF_JSON, SAR
from forebay.observation.inputs.unread import UNREAD
from forebay.observation.inputs.vnstat import VNSTAT
from forebay.observation.inputs.zeek import OBJECTS as ZEEK_OBJECTS
from forebay.observation.inputs.zeek import OTHER_LOG as ZEEK_OTHER
from forebay.observation.inputs.zeek import TABLE as ZEEK_TABLE

__all__ = ["INPUTS"]

INPUTS: tuple[Input[Any], ...] = (
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
