"""Files of every input of observe, as each tool writes them, of loads that are known."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import numpy as np

BEGIN = 1_790_000_000
STEP = 30
#: Mean rates of intervals in bit/s, packets of 1,000 bytes, and drops in every tenth interval.
RATES = np.random.default_rng(42).uniform(2e6, 9e6, 120).round(-3)
SIZES = (RATES * STEP / 8).astype(int)
PACKETS = SIZES // 1000
DROPS = np.where(np.arange(120) % 10 == 0, 7, 0)
TIMES = [BEGIN + STEP * at for at in range(121)]
RATE = 10e6


def summed(amounts: np.ndarray, first: int = 5_000_000_000) -> list[int]:
    return [first, *(first + np.cumsum(amounts)).tolist()]


BYTES, SENT, LOST = summed(SIZES), summed(PACKETS, 7_000_000), summed(DROPS, 12)


def date(at: int) -> str:
    return datetime.fromtimestamp(TIMES[at], UTC).strftime("%Y-%m-%d %H:%M:%S")


def gnmic_updates() -> str:
    return "\n".join(
        json.dumps({
            "source": "r1:57400", "subscription-name": "if", "timestamp": TIMES[at] * 10**9, "time": date(at),
            "updates": [{
                "Path": "interfaces/interface[name=ge-0/0/1]/state/counters",
                "values": {"interfaces/interface/state/counters": {
                    "out-octets": BYTES[at], "out-pkts": SENT[at], "out-discards": LOST[at],
                }},
            }],
        })
        for at in range(121)
    )  # fmt: skip


def telegraf() -> str:
    return json.dumps({"metrics": [
        {
            "fields": {"ifHCOutOctets": BYTES[at], "ifHCOutUcastPkts": SENT[at], "ifOutDiscards": LOST[at],
                       "ifHighSpeed": 10},
            "name": "interface", "tags": {"agent_host": "192.0.2.1", "ifName": "ge-0/0/1"}, "timestamp": TIMES[at],
        }
        for at in range(121)
    ]})  # fmt: skip


def influx() -> str:
    return "\n".join(
        f"net,host=gw\\ 1,interface=eth0 bytes_sent={BYTES[at]}i,packets_sent={SENT[at]}i,drop_out={LOST[at]}i,"
        f'speed=10i,state="up" {TIMES[at]}000000000\ncpu,cpu=cpu0 usage_idle=98.5 {TIMES[at]}000000000'
        for at in range(121)
    )


def sadf_json() -> str:
    statistics = [
        {
            "timestamp": {"date": date(at + 1)[:10], "time": date(at + 1)[11:], "utc": 1, "interval": STEP},
            "network": {
                "net-dev": [{"iface": "eth0", "rxpck": 1.0, "txpck": float(PACKETS[at] / STEP), "rxkB": 0.1,
                             "txkB": float(SIZES[at] / STEP / 1024), "rxcmp": 0.0, "txcmp": 0.0, "rxmcst": 0.0,
                             "ifutil-percent": 1.0}],
                "net-edev": [{"iface": "eth0", "rxerr": 0.0, "txdrop": float(DROPS[at] / STEP), "rxdrop": 0.0}],
            },
        }
        for at in range(120)
    ]  # fmt: skip
    host = {"nodename": "gw", "sysname": "Linux", "file-date": date(0)[:10], "statistics": statistics, "restarts": []}
    return json.dumps({"sysstat": {"hosts": [host]}})


def sadf_table() -> str:
    rows = ["# hostname;interval;timestamp;IFACE;rxpck/s;txpck/s;rxkB/s;txkB/s;rxcmp/s;txcmp/s;rxmcst/s;%ifutil"]
    rows += [
        f"gw;{STEP};{date(at + 1)} UTC;eth0;1.00;{PACKETS[at] / STEP:.2f};0.10;{SIZES[at] / STEP / 1024:.2f};0;0;0;0"
        for at in range(120)
    ]
    return "\n".join(rows)


def sar() -> str:
    head = "        IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil"
    out = [f"Linux 6.1.0-18-amd64 (gw) \t{date(0)[:10]} \t_x86_64_\t(4 CPU)\n"]
    for at in range(120):
        clock = date(at + 1)[11:]
        rate = f"{SIZES[at] / STEP / 1024:.2f}"
        row = f"eth0      1.00 {PACKETS[at] / STEP:.2f} 0.10 {rate} 0.00 0.00 0.00 0.1"
        out.append(f"{clock}{head}\n{clock}         {row}\n")
    out.append(f"Average:{head}\nAverage:         eth0 1.00 600.00 0.10 1.00 0.00 0.00 0.00 0.10")
    return "\n".join(out)


def xport_xml() -> str:
    rows = "".join(f"<row><v>1.0e+03</v><v>{SIZES[at] / STEP:.10e}</v></row>" for at in range(120))
    return (
        '<?xml version="1.0" encoding="ISO-8859-1"?>\n<xport>\n  <meta>\n'
        f"    <start>{BEGIN}</start>\n    <end>{TIMES[-1]}</end>\n    <step>{STEP}</step>\n    <rows>120</rows>\n"
        "    <columns>2</columns>\n    <legend><entry>INOCTETS</entry><entry>OUTOCTETS</entry></legend>\n"
        f"  </meta>\n  <data>{rows}</data>\n</xport>\n"
    )


def xport_json() -> str:
    meta = {"start": BEGIN, "end": TIMES[-1], "step": STEP, "legend": ["traffic_in", "traffic_out"]}
    data = ",\n".join(f"[ 1.0e+03, {SIZES[at] / STEP:.10e} ]" for at in range(120))
    head = f'{{ "about": "RRDtool graph JSON output",\n  "meta": {json.dumps(meta)},'
    return f'{head}\n  "data": [\n{data},\n[ NaN, NaN ]\n]\n}}'


def fetch() -> str:
    rows = "".join(f"{TIMES[at + 1]}: 1.0e+03 {SIZES[at] / STEP:.10e}\n" for at in range(120))
    return f"                      INOCTETS           OUTOCTETS\n\n{rows}{TIMES[-1] + STEP}: -nan -nan\n"


def librenms() -> str:
    return "Timestamp,INOCTETS,OUTOCTETS\n" + "".join(f"{TIMES[at + 1]},12.5,{SIZES[at] / STEP}\n" for at in range(120))


def cacti() -> str:
    rows = "".join(f'"{date(at + 1)}","5","{RATES[at]}"\n' for at in range(120))
    about = f'"Title:","r1 - Traffic"\n"Vertical Label:","bits per second"\n"Step:","{STEP}"\n'
    return f'{about}\n"Date","Inbound","Outbound"\n{rows}'


def vnstat() -> str:
    """Amounts of five minutes, whose rates are those of the other forms."""
    entries = []
    for at in range(120):
        begin = datetime.fromtimestamp(BEGIN + 300 * at, UTC)
        entries.append({
            "id": at, "date": {"year": begin.year, "month": begin.month, "day": begin.day},
            "time": {"hour": begin.hour, "minute": begin.minute}, "rx": 5, "tx": int(RATES[at] * 300 / 8),
        })  # fmt: skip
    interface = {"name": "eth0", "alias": "", "traffic": {"total": {"rx": 1, "tx": 2}, "fiveminute": entries}}
    return json.dumps({"vnstatversion": "2.10", "jsonversion": "2", "interfaces": [interface]})


def qdiscs() -> str:
    return "\n".join(
        f"{TIMES[at]}\n"
        + json.dumps([
            {"kind": "tbf", "handle": "1:", "dev": "eth0", "root": True, "refcnt": 3,
             "options": {"rate": 1250000, "burst": 3099, "lat": 50000}, "bytes": BYTES[at], "packets": SENT[at],
             "drops": LOST[at], "overlimits": 7, "requeues": 0, "backlog": 4500, "qlen": 3},
            {"kind": "pfifo", "handle": "2:", "dev": "eth0", "parent": "1:1", "options": {"limit": 50},
             "bytes": BYTES[at], "packets": SENT[at], "drops": LOST[at], "overlimits": 0, "requeues": 0,
             "backlog": 4500, "qlen": 3},
        ])
        for at in range(121)
    )  # fmt: skip


def links() -> str:
    return "\n".join(
        f"{TIMES[at]}\n"
        + json.dumps([
            {"ifindex": 1, "ifname": "lo", "link_type": "loopback", "stats64": {"tx": {"bytes": 5, "packets": 1}}},
            {"ifindex": 2, "ifname": "eth0", "flags": ["UP"], "mtu": 1500, "qdisc": "fq", "link_type": "ether",
             "stats64": {"rx": {"bytes": 1, "packets": 1, "errors": 0, "dropped": 0},
                         "tx": {"bytes": BYTES[at], "packets": SENT[at], "errors": 0, "dropped": LOST[at],
                                "carrier_errors": 0, "collisions": 0}}},
        ])
        for at in range(121)
    )  # fmt: skip


def node_exporter() -> str:
    out = []
    for at in range(121):
        out.append("# HELP node_network_speed_bytes speed_bytes value of /sys/class/net/<iface>.")
        for name, value in (
            ("speed_bytes", 1.25e6), ("transmit_bytes_total", BYTES[at]), ("transmit_packets_total", SENT[at]),
            ("transmit_drop_total", LOST[at]), ("receive_bytes_total", 17),
        ):  # fmt: skip
            out.append(f'node_network_{name}{{device="eth0"}} {value} {TIMES[at]}000')
    return "\n".join(out) + "\n"


def snmp_exporter() -> str:
    labels = 'ifAlias="",ifDescr="GigabitEthernet0/1",ifIndex="3",ifName="Gi0/1"'
    return "".join(
        f"# {TIMES[at]}\nifHighSpeed{{{labels}}} 10\nifHCOutOctets{{{labels}}} {BYTES[at]}\n"
        f"ifHCOutUcastPkts{{{labels}}} {SENT[at]}\nifOutDiscards{{{labels}}} {LOST[at]}\n"
        for at in range(121)
    )


#: Forms of counters and rates; whether packets, drops and a speed are in them.
FORMS: dict[str, tuple[Callable[[], str], str]] = {
    "gNMI from gnmic": (gnmic_updates, "packets drops"),
    "Telegraf's JSON": (telegraf, "packets drops speed"),
    "Influx line protocol": (influx, "packets drops speed"),
    "sysstat's JSON (`sadf -j`)": (sadf_json, "packets drops"),
    "sysstat's table (`sadf -d`)": (sadf_table, "packets"),
    "`sar -n DEV`": (sar, "packets"),
    "`rrdtool xport`": (xport_xml, ""),
    "`rrdtool xport --json`": (xport_json, ""),
    "`rrdtool fetch`": (fetch, ""),
    "rates of LibreNMS or Observium": (librenms, ""),
    "a graph's CSV of Cacti": (cacti, ""),
    "vnStat's JSON (`vnstat --json f`)": (vnstat, ""),
    "`tc -s -j qdisc`": (qdiscs, "packets drops speed"),
    "`ip -s -j link`": (links, "packets drops"),
    "Prometheus' text with timestamps": (node_exporter, "packets drops speed"),
}


NETBOX = (
    "Device,Name,Label,Enabled,Type,Speed,Description\n"
    'r1,GigabitEthernet0/1,,True,1000BASE-T (1GE),"{speed}",uplink\n'
    "r1,GigabitEthernet0/2,,True,SFP+ (10GE),,spare\n"
)


def table(rates: np.ndarray, extra: str = "", cell: str = "") -> str:
    total = summed((rates * STEP / 8).astype(int))
    head = "time,ifHCOutOctets" + (f",{extra}" if extra else "")
    tail = f",{cell}" if extra else ""
    return "\n".join([head, *(f"{when},{size}{tail}" for when, size in zip(TIMES, total, strict=True)), ""])


def queried(values: Sequence[float], **labels: str) -> str:
    result = [{"metric": labels, "values": [[when, str(value)] for when, value in zip(TIMES[1:], values, strict=True)]}]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


# Flow records ---

ZEEK = (
    "ts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\tresp_bytes\t"
    "conn_state\tlocal_orig\tlocal_resp\tmissed_bytes\thistory\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\t"
    "tunnel_parents"
)
#: Downloads of 100 kB each second for two minutes, each a second long.
STARTS = [BEGIN + float(at) for at in range(120)]


def zeek_table() -> str:
    rows = [
        f"{at:.6f}\tC{number}\t10.0.0.1\t{30000 + number}\t203.0.113.1\t443\ttcp\t-\t1.000000\t400\t97000\tSF\tT\tF\t"
        "0\tShADadFf\t10\t1000\t75\t100000\t-"
        for number, at in enumerate(STARTS)
    ]
    rows.append(f"{STARTS[-1]:.6f}\tC\t10.0.0.1\t5\t203.0.113.1\t443\ttcp\t-\t-\t-\t-\tS0\tT\tF\t0\tS\t1\t60\t0\t0\t-")
    return (
        "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n"
        f"#fields\t{ZEEK}\n#types\ttime\n" + "\n".join(rows) + "\n#close\t2026-09-21-15-00-00\n"
    )


def zeek_json() -> str:
    return "".join(
        json.dumps({
            "ts": at, "uid": f"C{number}", "id.orig_h": "10.0.0.1", "id.orig_p": 30000 + number,
            "id.resp_h": "203.0.113.1", "id.resp_p": 443, "proto": "tcp", "duration": 1.0, "orig_bytes": 400,
            "resp_bytes": 97000, "conn_state": "SF", "missed_bytes": 0, "history": "ShADadFf", "orig_pkts": 10,
            "orig_ip_bytes": 1000, "resp_pkts": 75, "resp_ip_bytes": 100000,
        }) + "\n"
        for number, at in enumerate(STARTS)
    )  # fmt: skip


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f+0000")


def eve() -> str:
    other = {"timestamp": stamp(BEGIN), "event_type": "dns", "src_ip": "10.0.0.1", "dest_ip": "10.0.0.2"}
    return json.dumps(other) + "\n" + "".join(
        json.dumps({
            "timestamp": stamp(at + 60), "flow_id": number, "in_iface": "eth0", "event_type": "flow",
            "src_ip": "10.0.0.1", "src_port": 30000 + number, "dest_ip": "203.0.113.1", "dest_port": 443,
            "proto": "TCP", "flow": {"pkts_toserver": 10, "pkts_toclient": 75, "bytes_toserver": 1000,
                                     "bytes_toclient": 100000, "start": stamp(at), "end": stamp(at + 1), "age": 1,
                                     "state": "closed"}, "tcp": {"tcp_flags": "1b"},
        }) + "\n"
        for number, at in enumerate(STARTS)
    )  # fmt: skip


def rwcut() -> str:
    head = (
        "            sIP|            dIP|sPort|dPort|pro|   packets|     bytes|   flags|"
        "                  sTime| duration|                  eTime|sen|"
    )
    rows = [
        f"    203.0.113.1|       10.0.0.1|  443|{30000 + number}|  6|        75|    100000|FS PA   |"
        f"{datetime.fromtimestamp(at, UTC).strftime('%Y/%m/%dT%H:%M:%S.%f')[:-3]}|    1.000|"
        f"{datetime.fromtimestamp(at + 1, UTC).strftime('%Y/%m/%dT%H:%M:%S.%f')[:-3]}| S1|"
        for number, at in enumerate(STARTS)
    ]
    return "\n".join([head, *rows, ""])


FLOWS: dict[str, Callable[[], str]] = {
    "Zeek's conn.log": zeek_table,
    "Zeek's conn.log in JSON": zeek_json,
    "Suricata's eve.json": eve,
    "flow records in a table": rwcut,
}
