"""Inputs that are known and not read, each with the export to use instead."""

from __future__ import annotations

import re
from collections.abc import Callable

from forebay.observation.inputs.input import Head, RefusedInput

__all__ = ["UNREAD"]

_OVER_TIME = "poll ifHCOutOctets, ifOutDiscards and ifHighSpeed every 30 s into a table with a column `time`"
_RA = "use `ra -c, -s stime,dur,saddr,daddr,sport,dport,proto,pkts,bytes -r FILE`"
_XPORT = "use `rrdtool xport --json DEF:o=FILE:OUTOCTETS:AVERAGE XPORT:o:OUTOCTETS`"
_MRTG = "use `(echo time,inbytespersecond,outbytespersecond; tail -n +2 FILE | cut -d' ' -f1-3 | tr ' ' ,)`"
_COLLECTD = "name the columns `time,rxbytes,txbytes`, or with StoreRates `time,inbytespersecond,outbytespersecond`"


def _begins(*starts: bytes) -> Callable[[Head], bool]:
    return lambda head: head.data.startswith(starts)


def _matches(pattern: str) -> Callable[[Head], bool]:
    compiled = re.compile(pattern, re.MULTILINE)
    return lambda head: not head.is_binary and compiled.search(head.text) is not None


def _unread(name: str, accepts: Callable[[Head], bool], instead: str) -> RefusedInput:
    return RefusedInput(name, accepts, (), instead)


def _is_page(head: Head) -> bool:
    return head.text.lstrip()[:15].lower().startswith(("<!doctype html", "<html"))


UNREAD: tuple[RefusedInput, ...] = (
    _unread("a file of SiLK", _begins(b"\xde\xad\xbe\xef"), "use `rwcut --fields=1-12 FILE`"),
    _unread("a file of Argus", _begins(b"\x83\x10", b"\x83\x20"), _RA),
    _unread("a capture of snoop", _begins(b"snoop\0"), "use `editcap -F pcapng FILE out.pcapng`"),
    _unread(
        "a capture of Microsoft's Network Monitor", _begins(b"GMBU", b"RTSS"), "use `editcap -F pcapng FILE out.pcapng`"
    ),
    _unread("Parquet", _begins(b"PAR1"), "use CSV with the same columns"),
    _unread("a workbook or an archive (ZIP)", _begins(b"PK\x03\x04"), "unpack it, or save the sheet as CSV"),
    _unread("bzip2", _begins(b"BZh"), "use `bunzip2 FILE`, gzip or zstd"),
    _unread("xz", _begins(b"\xfd7zXZ"), "use `unxz FILE`, gzip or zstd"),
    _unread("SQLite", _begins(b"SQLite format 3"), "use CSV of the table"),
    _unread(
        "a picture", _begins(b"\x89PNG", b"\xff\xd8\xff", b"GIF8"), "use the numbers behind it: the graph's CSV export"
    ),
    _unread("PDF", _begins(b"%PDF"), "use the numbers behind it as CSV"),
    _unread("a web page", _is_page, "use the numbers behind it as CSV or JSON"),
    _unread("iperf3's JSON", _matches(r'"test_start"\s*:|"tcp_mss_default"\s*:'), "capture the port during the test"),
    _unread(
        "packets as tcpdump prints them",
        _matches(r"^\d{2}:\d{2}:\d{2}\.\d{6} (IP6?|ARP) "),
        "use `tcpdump -w FILE.pcap`",
    ),
    _unread(
        "packets as tshark prints them",
        _matches(r'"_source"\s*:\s*\{\s*"layers"|<packet>\s*<proto '),
        "use `tshark -w FILE.pcapng`",
    ),
    _unread("a dump of an RRD", _matches(r"<rrd>"), _XPORT),
    _unread("`show interfaces` of a router", _matches(r"line protocol is (up|down)|^Physical interface: "), _OVER_TIME),
    _unread("`ifconfig`", _matches(r"^\S+: flags=\d+<|Link encap:"), _OVER_TIME),
    _unread(
        "/proc/net/dev", _matches(r"^Inter-\|\s+Receive"), "use `while sleep 10; do date +%s; ip -s -j link; done`"
    ),
    _unread("`ethtool -S`", _matches(r"^NIC statistics:"), "use `while sleep 10; do date +%s; ip -s -j link; done`"),
    _unread(
        "one walk of SNMP", _matches(r"^(IF-MIB::|iso\.|\.1\.3\.)\S+ = (Counter|Gauge|INTEGER|STRING)"), _OVER_TIME
    ),
    _unread("sflowtool's lines", _matches(r"^(FLOW|CNTR),|^startDatagram ="), "use nfdump's sfcapd or pmacct"),
    _unread("flow logs of AWS", _matches(r"^version account-id "), "use `tr ' ' , < FILE`"),
    _unread("MRTG's log", _matches(r"\A\d{9,10} \d+ \d+\n\d{9,10} \d+ \d+ \d+ \d+$"), _MRTG),
    _unread("collectd's CSV", _matches(r"\Aepoch,rx,tx"), _COLLECTD),
    _unread(
        "history of Zabbix", _matches(r"\Aitemid,clock,value"), "name the columns `time,bps` or `time,ifHCOutOctets`"
    ),
    _unread("gnmic's flat print", _matches(r"^\S*interface\[name=[^\]]+\]\S*: "), "use `gnmic ... --format event`"),
    _unread("a ping", _matches(r"^PING \S+ |^\d+ bytes from "), "capture the port for round trips"),
    _unread("`ss` without -i", _matches(r"^(Netid\s+)?State\s+Recv-Q\s+Send-Q"), "use `ss -tin`"),
    _unread("`netstat`", _matches(r"^Proto Recv-Q Send-Q|^Kernel Interface table"), "use `ss -tin`"),
)
