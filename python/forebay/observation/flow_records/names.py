"""Names of flow record fields in exporters and collectors: nfdump, pmacct, GoFlow2, SiLK, NetFlow v9 and IPFIX.

Names are compared without case, spaces and punctuation. If a record has several columns for one field, the first one
with a value counts. A record's IPv6 addresses therefore stand in for missing IPv4 addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

__all__ = ["NAMES", "REQUIRED", "fields_of", "missing", "normalized"]

#: Fields in their order of preference. NetFlow v9: RFC 3954 section 8; IPFIX: IANA's registry "IPFIX Information
#: Elements"; nfdump: nfdump(1) and its `output_csv.c` and `output_json.c`; SiLK: rwcut(1).
NAMES: Mapping[str, tuple[str, ...]] = {
    "start": (
        *("ts", "firstseen", "tfirst", "first", "start", "starttime", "startms", "stime", "flowstart", "timestart"),
        *("timestampstart", "timeflowstartns", "timeflowstartms", "timeflowstart", "flowstartnanoseconds"),
        *("flowstartmicroseconds", "flowstartmilliseconds", "flowstartseconds", "firstswitched", "flowstartsysuptime"),
        *("begin", "timereceivedns", "timereceived", "timestamp", "time"),
    ),
    "end": (
        *("te", "lastseen", "tlast", "last", "end", "endtime", "endms", "etime", "lasttime", "flowend", "timeend"),
        *("timestampend", "timeflowendns", "timeflowendms", "timeflowend", "flowendnanoseconds"),
        *("flowendmicroseconds", "flowendmilliseconds", "flowendseconds", "lastswitched", "flowendsysuptime"),
        *("timereceivedns", "timereceived"),
    ),
    "duration": ("td", "duration", "dur", "durationms", "flowduration", "flowdurationmilliseconds",
                 "flowdurationmicroseconds"),
    "bytes": ("ibyt", "byt", "inbytes", "octetdeltacount", "octettotalcount", "bytes", "octets", "doctets",
              "inoctets", "totbytes"),
    "packets": ("ipkt", "pkt", "inpkts", "inpackets", "packetdeltacount", "packettotalcount", "packets", "pkts",
                "dpkts", "totpkts"),
    "protocol": ("pr", "proto", "protocol", "ipproto", "protocolidentifier", "prot", "pro"),
    "flags": ("flg", "flags", "flgs", "tcpflags", "tcpcontrolbits"),
    "source": ("sa", "srcaddr", "src4addr", "src6addr", "ipv4srcaddr", "ipv6srcaddr", "sourceipv4address",
               "sourceipv6address", "srcip", "ipsrc", "sip", "srcaddress", "sourceaddress", "sourceip", "source",
               "src"),
    "target": ("da", "dstaddr", "dst4addr", "dst6addr", "ipv4dstaddr", "ipv6dstaddr", "destinationipv4address",
               "destinationipv6address", "dstip", "ipdst", "dip", "dstaddress", "destinationaddress",
               "destinationip", "destination", "dst"),
    "source_port": ("sp", "srcport", "sport", "l4srcport", "sourcetransportport", "portsrc", "sourceport"),
    "target_port": ("dp", "dstport", "dport", "l4dstport", "destinationtransportport", "portdst", "destinationport"),
    "input": ("in", "input", "inputsnmp", "ingressinterface", "inif", "inputif", "ifacein", "inputinterface"),
    "output": ("out", "output", "outputsnmp", "egressinterface", "outif", "outputif", "ifaceout", "outputinterface"),
    "sampling": ("samplinginterval", "samplingpacketinterval", "samplingrate", "samplerate", "sampling"),
}  # fmt: skip


REQUIRED = "a start, an end or a duration, and bytes"


def normalized(name: str) -> str:
    """A name without case, spaces and punctuation, and without a unit in brackets."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"\(.*\)|\[.*\]", "", name).lower())


def fields_of(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Which of the given names say a field, by field, the preferred first."""
    known: dict[str, str] = {}
    for name in names:
        known.setdefault(normalized(name), name)
    found = {
        field: tuple(known[each] for each in spelled if each in known)
        for field, spelled in NAMES.items()
    }  # fmt: skip
    return {field: names for field, names in found.items() if names}


def missing(fields: Iterable[str]) -> list[str]:
    """The required fields of a record that are not among these fields."""
    there = set(fields)
    lacks = []
    if "bytes" not in there:
        lacks.append("bytes")
    if len(there & {"start", "end", "duration"}) < 2:
        lacks.append("two of start, end and duration")
    return lacks
