"""Whole everyday configurations: what is not needed is skipped and listed, and the rest is answered."""

from __future__ import annotations

import json

import pytest

from forebay import InputError
from forebay.configuration.configuring import Translation, link_table, translate
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.platforms.registry import PLATFORMS
from forebay.configuration.port import UNKNOWN, Classes, Limit, Port, Queue, TrafficClass
from tests.support.commands import forebay

# The configuration is ours. Its `priority percent` and `bandwidth percent` are those of Cisco, "Low Latency Queueing
# with Priority Percentage Support", cisco.com/c/en/us/td/docs/ios-xml/ios/qos_conmgt/configuration/xe-16-9/
# qos-conmgt-xe-16-10-book/qos-conmgt-llq-pps.html.
IOS_XE = """hostname R1
class-map match-any VOICE
 match ip dscp ef
policy-map LLQ
 class VOICE
  priority percent 10
 class VIDEO
  bandwidth percent 30
  queue-limit 128 packets
 class SCAVENGER
  bandwidth percent 5
  police cir 1000000
   conform-action transmit
   exceed-action drop
 class class-default
  fair-queue
  random-detect dscp-based
policy-map SHAPE
 class class-default
  shape average 50000000
  service-policy LLQ
policy-map MARK-IN
 class VOICE
  set dscp ef
interface GigabitEthernet0/0/1
 ip address 192.0.2.1 255.255.255.0
 bandwidth 50000
 service-policy input MARK-IN
 service-policy output SHAPE
router ospf 1
 network 0.0.0.0 255.255.255.255 area 0
end
"""
# The configuration is ours. The ASR 9000 polices what it sends (Cisco, "Configuring Modular QoS Congestion Management",
# cisco.com/c/en/us/td/docs/routers/asr9000/software/asr9k-r7-3/qos/b-qos-cg-asr9k-73x/
# config-mod-qos-congestion-management.html); the NCS 5500 polices only what it receives ("Cisco NCS 5500 Series Command
# Reference", `police rate`, easymanua.ls/cisco/ncs-5500-series/manual/234197?p=50).
IOS_XR = """hostname ASR9K
policy-map EGRESS
 class REALTIME
  priority level 1
  police rate percent 10
  !
 !
 class BUSINESS
  bandwidth remaining ratio 20
  queue-limit 2 mbytes
 !
 class class-default
  bandwidth remaining ratio 5
 !
 end-policy-map
!
interface HundredGigE0/0/0/1
 mtu 9100
 service-policy output EGRESS
!
"""
# The configuration is ours. A best-effort scheduler of low priority with 40 percent of the rate and of the buffer is in
# Juniper, "Example: Configuring Class-of-Service Schedulers on a Security Device"
# (juniper.net/documentation/us/en/software/junos/cos-security-devices/topics/example/
# cos-scheduler-security-configuring.html).
JUNOS = """system { host-name mx; }
class-of-service {
    forwarding-classes { queue 0 best-effort; queue 3 network-control; }
    interfaces { xe-0/0/0 { scheduler-map m; unit 0 { classifiers { dscp d; } } } }
    scheduler-maps {
        m {
            forwarding-class best-effort scheduler be;
            forwarding-class network-control scheduler nc;
            forwarding-class expedited-forwarding scheduler ef;
        }
    }
    schedulers {
        be { transmit-rate percent 40; buffer-size percent 40; priority low; }
        nc { transmit-rate percent 5; buffer-size percent 5; priority low; excess-priority low; }
        ef { buffer-size temporal 5000; priority strict-high; }
    }
}
"""
# The script is ours, in the words of tc-cake(8) (man7.org/linux/man-pages/man8/tc-cake.8.html).
LINUX = """#!/bin/sh
modprobe sch_cake
tc qdisc add dev wan root cake bandwidth 20mbit diffserv4 nat wash ack-filter overhead 44 mpu 64
iptables -t mangle -A FORWARD -j ACCEPT
"""
# Output of `tc qdisc show` on a router with SQM; the figures are ours.
SHOWN = """qdisc noqueue 0: dev lo root refcnt 2
qdisc mq 0: dev lan1 root
qdisc cake 8003: dev eth1 root refcnt 2 bandwidth 9Mbit diffserv3 dual-srchost nat nowash no-ack-filter split-gso rtt 100ms noatm overhead 44 mpu 84
qdisc ingress ffff: dev eth1 parent ffff:fff1 ----------------
qdisc cake 8004: dev ifb4eth1 root refcnt 2 bandwidth 85Mbit besteffort dual-dsthost nat wash ingress no-ack-filter split-gso rtt 100ms noatm overhead 44
"""  # noqa: E501
# sqm-scripts 1.6.0, platform/openwrt/sqm-uci (github.com/tohojo/sqm-scripts), with another script, a framing, a section
# of another package and an option of the web interface, which are ours.
OPENWRT = """package sqm
config queue 'eth1'
 option enabled '1'
 option interface 'eth1'
 option download '85000'
 option upload '10000'
 option qdisc 'cake'
 option script 'layer_cake.qos'
 option linklayer 'ethernet'
 option overhead '44'
 option tcMPU '64'
 option ui_color 'blue'
config interface 'wan'
 option proto 'dhcp'
"""
# The export is ours, in the words of MikroTik, "Queues" (help.mikrotik.com/docs/display/ROS/Queues).
ROUTEROS = """/interface bridge
add name=bridge1
/queue type
add fq-codel-limit=1000 kind=fq-codel name=my
/queue simple
add max-limit=4M/29M name=bloat queue=my/my target=bridge1
/ip firewall filter
add action=accept chain=input
"""
# SONiC, "Configuration Database Manual", 'Buffer profile' (github.com/sonic-net/sonic-buildimage,
# src/sonic-yang-models/doc/Configuration.md), without its pool and with a property of a vendor.
SONIC = json.dumps(
    {
        "DEVICE_METADATA": {"localhost": {"hwsku": "a"}},
        "BUFFER_PROFILE": {
            "egress_lossy_profile": {
                "dynamic_th": "3",
                "pool": "egress_lossy_pool",
                "size": "1518",
                "vendor_extension": "x",
            },
        },
        "BUFFER_QUEUE": {"Ethernet0|0": {"profile": "egress_lossy_profile"}},
        "PORT": {"Ethernet0": {"speed": "100000"}},
    }
)


def classes(found: Translation) -> list[TrafficClass]:
    assert isinstance(found.port.queue, Classes)
    return list(found.port.queue.classes)


def read(system: str, text: str, rate: int | None = None) -> Translation:
    return translate(text, system, Assumed(rate))


def test_a_policy_of_ios_xe_is_answered_but_for_what_it_does_not_say() -> None:
    found = read("ios-xe", IOS_XE)
    assert found.port.rate == 50_000_000
    assert [(entry.name, entry.priority, entry.queue.limit) for entry in classes(found)] == [
        ("VOICE", True, UNKNOWN),
        ("VIDEO", False, Limit(128, "packets")),
        ("SCAVENGER", False, UNKNOWN),
        ("class-default", False, UNKNOWN),
    ]
    # 30 and 5 percent, and what the two leave of a hundred.
    assert [entry.weight for entry in classes(found)[1:]] == [6, 1, 13]
    assert found.bytes is None
    assert any(each.startswith("SCAVENGER: its buffer") for each in found.unknown)
    for text in ("VOICE: its policer of 10 %", "class-default: fair-queue"):
        assert any(each.startswith(text) for each in found.unsimulated), text
    for text in ("line 1: hostname R1", "line 12: police cir 1000000", "line 27: bandwidth 50000"):
        assert text in found.skipped


def test_a_priority_in_kilobits_is_a_priority() -> None:
    text = "policy-map P\n class A\n  priority 2000\n class class-default\n  queue-limit 100 packets\n"
    found = read("ios-xe", text, 10**7)
    assert [entry.name for entry in classes(found)] == ["A", "class-default"]
    assert any("policer of 2000 kb/s" in each for each in found.unsimulated)


def test_a_policy_of_ios_xr_is_answered() -> None:
    found = read("ios-xr", IOS_XR, 10**11)
    assert [entry.queue.limit for entry in classes(found)] == [UNKNOWN, Limit(2_000_000, "bytes"), UNKNOWN]
    assert [entry.weight for entry in classes(found)[1:]] == [4, 1]
    assert "line 5: police rate percent 10" in found.skipped


@pytest.mark.parametrize("rate", [None, 10**10])
def test_schedulers_of_junos_are_answered(rate: int | None) -> None:
    if rate is None:
        with pytest.raises(InputError, match="rate: found none"):
            read("junos", JUNOS)
        return
    found = read("junos", JUNOS, rate)
    values = {entry.name: (entry.priority, entry.weight, entry.queue.limit) for entry in classes(found)}
    assert values == {
        "expedited-forwarding": (True, 1.0, Limit(6_250_000, "bytes")),
        "best-effort": (False, 8.0, UNKNOWN),
        "network-control": (False, 1.0, UNKNOWN),
    }
    assert "be: its buffer, 40 % of the port's, which differs by card; the device shows it" in found.unknown
    assert any("excess-priority" in each for each in found.skipped)


def test_what_routeros_tells_cake_and_is_left_out_is_listed() -> None:
    text = "/queue type add name=c kind=cake cake-bandwidth=20M cake-diffserv=besteffort cake-nat=yes cake-wash=no"
    assert (read("routeros", text).unsimulated, read("routeros", text).unknown) == (("nat of cake",), ())
    assert read("routeros", f"{text} cake-ack-filter=filter").unsimulated[1] == "ack-filter of cake"


def test_the_user_s_own_options_of_sqm_that_are_left_out_are_listed() -> None:
    own = OPENWRT.replace(
        " option tcMPU '64'\n", " option tcMPU '64'\n option eqdisc_opts 'nat dual-srchost ack-filter'\n"
    )
    found = read("openwrt", own)
    for word in ("nat", "dual-srchost", "ack-filter"):
        assert f"{word} of cake" in found.unsimulated


def test_low_latency_of_junos_goes_before_strict_high() -> None:
    """Juniper, "priority (Schedulers)": a low latency queue has the highest priority, strict-high included."""
    text = """
    set class-of-service schedulers bulk transmit-rate percent 100 buffer-size temporal 5k priority low
    set class-of-service schedulers video buffer-size temporal 5k priority strict-high
    set class-of-service schedulers voice buffer-size temporal 2k priority low-latency
    """
    found = read("junos", text, 10**9).port.queue
    assert isinstance(found, Classes)
    assert [entry.name for entry in found.classes] == ["voice", "video", "bulk"]


def test_a_script_with_cake_is_answered() -> None:
    found = read("linux", LINUX)
    assert found.port.rate == 20_000_000
    assert found.port.wire is not None
    assert (found.port.wire.overhead, found.port.wire.least) == (44, 64)
    assert any(each.startswith("line 4: iptables") for each in found.skipped)
    for word in ("diffserv4", "nat", "wash", "ack-filter"):
        assert f"{word} of cake" in found.unsimulated
    back = translate(SHOWN.replace("qdisc mq 0: dev lan1 root\n", ""), "linux", Assumed(direction="download"))
    for word in ("ingress", "nat", "wash", "dual-dsthost", "split-gso"):
        assert f"{word} of cake" in back.unsimulated


def test_the_disciplines_of_a_whole_router_are_read() -> None:
    found = read("linux", SHOWN.replace("qdisc mq 0: dev lan1 root\n", ""))
    assert (found.port.rate, found.port.direction, found.port.other) == (9_000_000, "upload", 85_000_000)
    back = translate(SHOWN.replace("qdisc mq 0: dev lan1 root\n", ""), "linux", Assumed(direction="download"))
    assert (back.port.rate, back.port.direction, back.port.other) == (85_000_000, "download", 9_000_000)
    with pytest.raises(InputError, match="roots"):
        read("linux", SHOWN)


def test_the_rings_of_an_interface_are_one_discipline() -> None:
    ring = "qdisc fq_codel 0: dev eth0 parent :{} limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms ecn\n"
    text = "qdisc mq 0: dev eth0 root\n" + "".join(ring.format(n) for n in range(1, 5))
    found = read("linux", text, 10**9)
    assert isinstance(found.port.queue, Queue)
    assert found.port.queue.limit == Limit(10240, "packets")
    assert "mq has this discipline for each of 4 rings of the device" in found.derivation
    with pytest.raises(InputError, match="mq with different disciplines"):
        read("linux", text.replace("limit 10240p", "limit 10p", 1), 10**9)


def test_a_section_of_sqm_is_answered() -> None:
    found = read("openwrt", OPENWRT)
    assert (found.port.rate, found.port.other) == (10_000_000, 85_000_000)
    assert found.port.wire is not None
    assert found.port.wire.overhead == 44
    assert {"line 1: package sqm", "line 12: option ui_color blue", "line 13: config interface wan"} <= {*found.skipped}


def test_an_export_of_routeros_is_answered() -> None:
    found = read("routeros", ROUTEROS)
    assert isinstance(found.port.queue, Queue)
    assert (found.port.rate, found.port.queue.limit) == (4_000_000, Limit(1000, "packets"))
    assert "line 8: add action=accept chain=input" in found.skipped


def test_a_pool_that_is_not_in_the_text_is_unknown() -> None:
    found = read("sonic", SONIC, 10**11)
    assert isinstance(found.port.queue, Queue)
    assert found.port.queue.limit == UNKNOWN
    assert found.port.queue.discipline.number("alpha") == 8
    assert {"table PORT", "BUFFER_PROFILE|egress_lossy_profile: vendor_extension"} <= {*found.skipped}


def test_what_is_unknown_is_no_number_anywhere() -> None:
    """The scenario lacks the key, so that nothing is made of it, and a comment says why."""
    found = read("ios-xe", IOS_XE)
    table = link_table(found.port, found.unknown, found.unsimulated)
    assert "\nbuffer = " not in table
    assert '\n# buffer = ""  # unknown: ' in table
    assert table.count('buffer = "128p"') == 1
    assert "# not simulated: VOICE: its policer of 10 %" in table
    answer = forebay("translate", IOS_XE, "--for", "ios-xe", "--json")
    assert answer.code == 0, answer.err
    data = json.loads(answer.out)
    assert data["bytes"] is data["seconds"] is None
    assert [entry["queue"]["limit"] is None for entry in data["port"]["queue"]["classes"]] == [True, False, True, True]
    shown = forebay("translate", IOS_XE, "--for", "ios-xe").out
    assert shown.startswith("buffer unknown")
    assert "\nnot simulated: VOICE: its policer of 10 %" in shown
    assert "VOICE: its policer of 10 %, which a scenario has as `policer` of a link" in data["unsimulated"]
    assert "skipped: line 12: police cir 1000000" in shown


EVERYDAY = {
    "ios-xe": IOS_XE,
    "ios-xr": IOS_XR,
    "junos": JUNOS,
    "linux": LINUX,
    "openwrt": OPENWRT,
    "routeros": ROUTEROS,
}


@pytest.mark.parametrize("system", EVERYDAY)
def test_lines_about_something_else_change_nothing(system: str) -> None:
    rate = 10**10
    port: Port = read(system, EVERYDAY[system], rate).port
    end = {"junos": "snmp { community x; }\n"}.get(system, "snmp-agent community x\n")
    before = {"routeros": "/snmp set enabled=yes\n", "junos": end}.get(system, end)
    assert read(system, before + EVERYDAY[system], rate).port == port


@pytest.mark.parametrize(
    ("system", "word", "suggestion"),
    [("ios-xe", "queue-limit", "queue-limt"), ("ios-xr", "bandwidth", "bandwith"),
     ("junos", "buffer-size", "bufer-size"),
     ("openwrt", "upload", "uplod"),
     ("routeros", "/queue", "/quue"), ("linux", "cake", "cak")],
)  # fmt: skip
def test_a_misspelling_is_not_skipped(system: str, word: str, suggestion: str) -> None:
    with pytest.raises(InputError, match=f"did you mean `{word}`"):
        read(system, EVERYDAY[system].replace(word, suggestion), 10**10)


def test_every_platform_reads_its_own_lines_without_skipping() -> None:
    from tests.support.ports import dsl, packets

    for name, system in PLATFORMS.items():
        if "droptail" not in system.disciplines:
            continue
        lines = "\n".join(system.write(system.fit(dsl(packets(64))).port))
        found = translate(lines, name, Assumed(16_000_000))
        assert (found.skipped, found.unknown, found.unsimulated) == ((), (), ()), name
