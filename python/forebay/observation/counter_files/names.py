"""Names that pollers give a port's counters: SNMP's IF-MIB, OpenConfig, Prometheus exporters, and plain words.

Names are compared without case and punctuation, without a module in front ("IF-MIB::") and an index behind (".3").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

__all__ = ["Quantity", "index_of", "quantity_of"]

Kind = Literal["bytes", "packets", "drops", "queue", "watermark", "rate", "packet_rate", "drop_rate", "speed", "uptime"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """The quantity that a name stands for.

    Attributes
    ----------
    kind : str
        The kind of value. Bytes, packets and drops are counted; queue depth, watermark, rate and speed are read.
    leaving : bool
        Whether it concerns traffic that leaves through the port.
    bits : int or None
        Width of the counter if the name states it.
    part : bool
        Whether it is one summand of several: unicast, multicast and broadcast packets.
    unit : str
        Unit of a depth: "byte", "packet" or unknown.
    is_generic : bool
        Whether the name does not tell if the counter continues or restarts with each row.
    scale : float
        For rates and speeds: one of its unit, in bit/s.
    """

    kind: Kind
    leaving: bool = True
    bits: int | None = None
    part: bool = False
    unit: str = ""
    is_generic: bool = False
    scale: float = 1.0


def _by_name(quantity: Quantity, names: str) -> dict[str, Quantity]:
    return dict.fromkeys(names.split(), quantity)


#: RFC 2863 (IF-MIB: octets of 32 bits, HC ones of 64), openconfig-interfaces and openconfig-qos (counter64),
#: node_exporter's netdev collector and snmp_exporter, and words of tables.
_NAMES: Mapping[str, Quantity] = {
    **_by_name(
        Quantity("bytes", bits=64),
        "ifhcoutoctets outoctets transmitoctets nodenetworktransmitbytestotal nodenetworktransmitbytes",
    ),
    **_by_name(Quantity("bytes", bits=32), "ifoutoctets"),
    **_by_name(Quantity("bytes"), "txbytes bytestx bytesout outbytes txoctets transmitbytes bytessent ifoutbytes"),
    **_by_name(Quantity("bytes", is_generic=True), "bytes octets"),
    **_by_name(
        Quantity("bytes", leaving=False, bits=64),
        "ifhcinoctets inoctets nodenetworkreceivebytestotal receiveoctets nodenetworkreceivebytes",
    ),
    **_by_name(Quantity("bytes", leaving=False, bits=32), "ifinoctets"),
    **_by_name(Quantity("bytes", leaving=False), "rxbytes bytesrx bytesin inbytes rxoctets bytesreceived bytesrecv"),
    **_by_name(
        Quantity("packets", bits=64), "outpkts transmitpkts nodenetworktransmitpacketstotal nodenetworktransmitpackets"
    ),
    **_by_name(
        Quantity("packets", bits=64, part=True),
        "ifhcoutucastpkts ifhcoutmulticastpkts ifhcoutbroadcastpkts outunicastpkts outmulticastpkts outbroadcastpkts "
        "outunicastpackets outmulticastpackets outbroadcastpackets",
    ),
    **_by_name(Quantity("packets", bits=32, part=True), "ifoutucastpkts ifoutmulticastpkts ifoutbroadcastpkts"),
    **_by_name(Quantity("packets"), "txpackets packetstx packetsout outpackets txpkts transmitpackets packetssent"),
    **_by_name(Quantity("packets", is_generic=True), "packets pkts"),
    **_by_name(Quantity("packets", leaving=False, bits=64), "inpkts nodenetworkreceivepacketstotal receivepkts"),
    **_by_name(
        Quantity("packets", leaving=False), "rxpackets packetsrx packetsin inpackets rxpkts packetsrecv packetsreceived"
    ),
    **_by_name(
        Quantity("drops", bits=64), "outdiscards droppedpkts nodenetworktransmitdroptotal nodenetworktransmitdrop"
    ),
    **_by_name(Quantity("drops", bits=32), "ifoutdiscards"),
    **_by_name(
        Quantity("drops"),
        "txdrops dropstx outdrops txdropped outdropped taildrops txdiscards dropout outputdrops outdiscardedpackets",
    ),
    **_by_name(Quantity("drops", is_generic=True), "drops drop dropped discards droppedpackets"),
    **_by_name(
        Quantity("drops", leaving=False, bits=64), "indiscards nodenetworkreceivedroptotal nodenetworkreceivedrop"
    ),
    **_by_name(Quantity("drops", leaving=False, bits=32), "ifindiscards"),
    **_by_name(Quantity("drops", leaving=False), "rxdrops indrops rxdropped dropin inputdrops"),
    **_by_name(Quantity("watermark", unit="byte"), "maxqueuelen maxperiodicqueuelen watermarkbytes maxqueuebytes"),
    **_by_name(Quantity("watermark", unit="packet"), "watermarkpackets maxqueuepackets"),
    **_by_name(Quantity("watermark"), "watermark queuewatermark maxqueue maxqueuedepth peakqueue highwatermark"),
    **_by_name(Quantity("queue", unit="byte"), "avgqueuelen instantqueuelen queuebytes backlogbytes queuedepthbytes"),
    **_by_name(Quantity("queue", unit="packet"), "ifoutqlen queuepackets backlogpackets queuedepthpackets"),
    **_by_name(Quantity("queue"), "queuedepth queue qlen queuelen queuelength backlog depth"),
    **_by_name(Quantity("rate"), "bps bitspersecond outbps txbps outrate outbitrate outbits outbitspersecond"),
    **_by_name(Quantity("rate", leaving=False), "inbps rxbps inrate inbitrate inbits inbitspersecond"),
    **_by_name(Quantity("rate", scale=1e3), "kbps outkbps txkbps"),
    **_by_name(Quantity("rate", scale=1e6), "mbps outmbps txmbps"),
    **_by_name(Quantity("rate", scale=1e9), "gbps outgbps txgbps"),
    **_by_name(Quantity("rate", leaving=False, scale=1e6), "inmbps rxmbps"),
    **_by_name(Quantity("rate", scale=8), "bytespersecond outbytespersecond txbytespersecond outoctetspersecond"),
    **_by_name(Quantity("rate", leaving=False, scale=8), "inbytespersecond rxbytespersecond inoctetspersecond"),
    **_by_name(Quantity("packet_rate"), "pps outpps txpps outpacketspersecond"),
    **_by_name(Quantity("packet_rate", leaving=False), "inpps rxpps inpacketspersecond"),
    **_by_name(Quantity("drop_rate"), "outdropspersecond"),
    **_by_name(Quantity("drop_rate", leaving=False), "indropspersecond"),
    **_by_name(Quantity("speed", scale=1e6), "ifhighspeed speedmbps"),
    **_by_name(Quantity("speed", scale=1e3), "speedkbps"),
    **_by_name(Quantity("speed", scale=8), "nodenetworkspeedbytes speedbytes"),
    **_by_name(Quantity("speed"), "ifspeed speedbps speedbits"),
    **_by_name(Quantity("uptime"), "sysuptime uptime sysuptimeinstance"),
}


#: A recording rule of Prometheus ("Recording rules": level:metric:operations) over a rate, and what a rate is of.
_RECORDED = re.compile(r"(.*\w):i?rate\d*[a-z]*")
_RATES: Mapping[Kind, Kind] = {"bytes": "rate", "packets": "packet_rate", "drops": "drop_rate"}


@lru_cache(maxsize=10_000)
def quantity_of(name: str) -> Quantity | None:
    """The quantity that a name stands for; None if the name is not known."""
    recorded = _RECORDED.fullmatch(name.strip()[-300:])
    if recorded is None:
        return _NAMES.get(_normalized(name))
    counted = _NAMES.get(_normalized(recorded[1]))
    if counted is None or counted.kind not in _RATES:
        return None
    return Quantity(_RATES[counted.kind], leaving=counted.leaving, scale=8.0 if counted.kind == "bytes" else 1.0)


def index_of(name: str) -> str | None:
    """The index of a port behind a name of SNMP, as in ifHCOutOctets.3."""
    found = re.search(r"[A-Za-z]\.(\d+)$", name.strip()[-80:])
    return found[1] if found else None


def _normalized(name: str) -> str:
    name = name.strip()[:300]
    name = re.sub(r"\{.*|\.\d+$", "", name)  # labels of Prometheus, an index of SNMP
    name = re.split(r"::|/", name.rstrip("/"))[-1].rpartition(":")[2]
    return re.sub(r"[^a-z0-9]", "", name.lower())
