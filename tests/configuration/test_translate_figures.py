"""Figures of `translate`: what a rate and a limit count, and what is said of what a scenario does not have."""

from __future__ import annotations

import tomllib

import pytest

from forebay import InputError
from forebay.configuration.configuring import link_table, translate
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.port import UNKNOWN, Classes, Discipline, Limit, Queue
from tests.support.commands import forebay

# IOS XR: a queue-limit in time ----------------------------------------------------------------------------------------

#: Cisco, "IOS XR Modular Quality of Service Command Reference for the Cisco CRS Router, Release 4.0", `queue-limit`:
#: a time counts at the guaranteed service rate of the class, the rate of the queue "when all queues are backlogged".
SHAPED_CLASS = """policy-map EGRESS
 class VOICE
  priority level 1
  queue-limit 100 kbytes
 !
 class class-default
  queue-limit 10 ms
  shape average 1 gbps
 !
"""


def last_limit(text: str, rate: int | None = None) -> Limit:
    found = translate(text, "ios-xr", Assumed(rate)).port.queue
    assert isinstance(found, Classes)
    return found.classes[-1].queue.limit


@pytest.mark.parametrize("rate", [None, 10**10])
def test_a_time_of_a_shaped_class_counts_at_its_shaper(rate: int | None) -> None:
    voice = " class VOICE\n  priority level 1\n  queue-limit 100 kbytes\n !\n"
    alone = translate(SHAPED_CLASS.replace(voice, ""), "ios-xr", Assumed())
    assert isinstance(alone.port.queue, Queue)
    # 10 ms of 1 Gb/s, of which 38 bytes of each 1,538 are framing.
    assert alone.port.queue.limit.amount == pytest.approx(1e9 / 8 * 0.01 * 1500 / 1538)
    assert last_limit(SHAPED_CLASS, rate) == alone.port.queue.limit


def test_a_time_counts_at_the_slower_of_shaper_and_share() -> None:
    text = SHAPED_CLASS.replace("priority level 1", "bandwidth remaining percent 75")
    text = text.replace("queue-limit 10 ms", "bandwidth remaining percent 25\n  queue-limit 10 ms")
    assert last_limit(text, 2 * 10**9) == Limit(625_000, "bytes")  # a quarter of 2 Gb/s
    assert last_limit(text, 10**10) == last_limit(SHAPED_CLASS)
    share = text.replace("shape average 1 gbps", "shape average percent 10")
    assert last_limit(share, 10**9) == Limit(125_000, "bytes")  # 10 % of 1 Gb/s
    with pytest.raises(InputError, match="the link's rate, as a time counts at a rate that the text does not have"):
        last_limit(text)


# Linux: what a rate and a limit count ---------------------------------------------------------------------------------

#: Bytes of an IP packet, and of its frame as tc counts it: a shaper counts the length of the buffer, "which includes
#: the Ethernet header" of 14 bytes (tc-stab(8); tc-cake(8), `raw`).
PACKET, FRAME = 1500, 1514
TBF = "tc qdisc add dev eth0 root tbf rate 10mbit burst 32kbit latency 400ms"
HTB = """tc qdisc add dev eth0 root handle 1: htb default 10
tc class add dev eth0 parent 1: classid 1:10 htb rate 10mbit ceil 10mbit
tc qdisc add dev eth0 parent 1:10 handle 10: {}
"""
HFSC = """tc qdisc add dev eth0 root handle 1: hfsc default 10
tc class add dev eth0 parent 1: classid 1:10 hfsc sc rate 10mbit ul rate 10mbit
tc qdisc add dev eth0 parent 1:10 handle 10: pfifo limit 100
"""
SQM = "config queue\n option upload '10000'\n option qdisc 'fq_codel'\n option script 'simplest.qos'\n"
MIKROTIK = "/queue type add name=c kind=cake cake-bandwidth=10M cake-diffserv=besteffort"


@pytest.mark.parametrize(
    ("system", "text"),
    [
        ("linux", TBF),
        ("linux", HTB.format("pfifo limit 100")),
        ("linux", HFSC),
        ("linux", "qdisc cake 8005: dev eth0 root refcnt 2 bandwidth 10Mbit besteffort rtt 100ms raw overhead 0"),
        ("openwrt", SQM),
        ("routeros", MIKROTIK),
    ],
)
def test_a_rate_of_frames_becomes_a_rate_of_packets(system: str, text: str) -> None:
    found = translate(text, system, Assumed(packet=PACKET))
    assert float(found.port.ip_rate) == pytest.approx(1e7 * PACKET / FRAME)
    assert "the rate counts 14 bytes of framing per packet" in found.derivation
    table = tomllib.loads(link_table(found.port))["link"]
    assert table["rate_layer"] == "l3"
    assert table["rate"] == "9907.529kbps"


def test_a_limit_in_bytes_keeps_its_time() -> None:
    """400 ms and the 4,096 bytes of the bucket, which drains at the same rate (tc/q_tbf.c)."""
    found = translate(TBF, "linux", Assumed())
    assert found.seconds == pytest.approx(0.4 + 4096 * 8 / 1e7, rel=1e-5)
    assert found.bytes == round((500_000 + 4096) * PACKET / FRAME)
    assert any(
        each.startswith("limits in bytes count 14 bytes of framing per packet, too") for each in found.derivation
    )


def test_thresholds_in_bytes_count_frames_too() -> None:
    red = "red limit 151400 min 15140 max 45420 avpkt 1000 burst 20 probability 0.1 bandwidth 10mbit"
    found = translate(HTB.format(red), "linux", Assumed()).port.queue
    assert isinstance(found, Queue)
    discipline = found.discipline
    assert [found.limit.amount, *(discipline.level(name).amount for name in ("min", "max"))] == [
        150_000,
        15_000,
        45_000,
    ]


def test_a_size_table_that_takes_the_header_off_leaves_the_figures_alone() -> None:
    text = TBF.replace("tbf", "stab overhead -14 linklayer ethernet tbf")
    found = translate(text, "linux", Assumed())
    assert (found.port.rate, found.port.layer, found.port.wire, found.bytes) == (10_000_000, "l3", None, 504_096)


def test_without_a_shaper_the_rate_is_that_of_the_link() -> None:
    found = translate("bfifo limit 200kb", "linux", Assumed(10**8))
    assert found.seconds == 204_800 * 8 / 1e8
    assert "bytes include 14 bytes of framing per packet" in found.derivation


@pytest.mark.parametrize("overhead", [-1514, -2000])
def test_an_overhead_that_leaves_no_packet_is_refused(overhead: int) -> None:
    text = TBF.replace("tbf", f"stab overhead {overhead} linklayer ethernet tbf")
    with pytest.raises(InputError, match="bytes of framing beside IP; allowed: more than -1,500"):
        translate(text, "linux", Assumed())


# Linux: pfifo_fast ----------------------------------------------------------------------------------------------------

#: Linux, net/sched/sch_generic.c, `pfifo_fast_init`: three bands, each a ring of `tx_queue_len` packets;
#: `pfifo_fast_dequeue` empties the first before the second; `prio2band` puts best effort, priority 0, into band 1.
PRIOMAP = "bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"
PFIFO_FAST = f"qdisc pfifo_fast 0: dev eth0 root refcnt 2 {PRIOMAP}\n"
RINGS = f"qdisc mq 0: dev eth0 root\nqdisc pfifo_fast 0: dev eth0 parent :2 {PRIOMAP}\n" + (
    f"qdisc pfifo_fast 0: dev eth0 parent :1 {PRIOMAP}\n"
)


@pytest.mark.parametrize("text", [PFIFO_FAST, RINGS, f"qdisc noqueue 0: dev lo root refcnt 2\n{PFIFO_FAST}"])
def test_pfifo_fast_has_three_bands_of_the_interface_s_length(text: str) -> None:
    found = translate(text, "linux", Assumed(10**9))
    assert isinstance(found.port.queue, Classes)
    assert found.port.queue.schedule == "strict"
    assert [(entry.name, entry.queue.limit) for entry in found.port.queue.classes] == [
        ("band0", UNKNOWN),
        ("band1", UNKNOWN),
        ("band2", UNKNOWN),
    ]
    assert found.bytes is None
    (statements,) = found.unknown
    assert statements.startswith(
        "the buffer of each band, the txqueuelen of the interface, which the text does not have"
    )
    assert "1,000 packets by default" in statements
    assert any("packets without a priority go to band1" in each for each in found.derivation)
    queue = tomllib.loads(link_table(found.port, found.unknown))["link"]["queue"]
    assert [entry["name"] for entry in queue["classes"]] == ["band0", "band1", "band2"]


def test_another_discipline_goes_before_the_pfifo_fast_of_other_interfaces() -> None:
    found = translate(PFIFO_FAST + "qdisc pfifo 1: dev eth1 root limit 100p\n", "linux", Assumed())
    assert found.port.queue == Queue(Limit(100, "packets"), Discipline("droptail"))


def test_a_text_without_a_queue_says_what_it_has() -> None:
    with pytest.raises(InputError, match=r"found no discipline with a queue \(noqueue\)"):
        translate("qdisc noqueue 0: dev lo root refcnt 2", "linux", Assumed())


# Settings that a scenario lacks ----- ---------------------------------------------------------------------------------

CAKE = "qdisc cake 8005: dev eth0 root refcnt 2 bandwidth 18500Kbit diffserv4 dual-srchost nat rtt 100ms overhead 44"


@pytest.mark.parametrize(
    ("system", "text"),
    [
        ("linux", CAKE),
        (
            "openwrt",
            "config queue\n option upload '1000'\n option script 'layer_cake.qos'\n option eqdisc_opts 'nat'\n",
        ),
        ("routeros", f"{MIKROTIK} cake-nat=yes"),
    ],
)
def test_nat_of_cake_is_not_simulated_and_not_unknown(system: str, text: str) -> None:
    found = translate(text, system, Assumed())
    assert "nat of cake" in found.unsimulated
    assert found.unknown == ()
    assert "# not simulated: nat of cake\n" in link_table(found.port, found.unknown, found.unsimulated)


FQ_CODEL = (
    "qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms "
    "memory_limit {} ecn drop_batch 64"
)


def test_a_memory_limit_beyond_the_limit_is_listed() -> None:
    """2,304 bytes of memory a full packet: 32 MiB hold 14,563, more than the limit of tc-fq_codel(8)."""
    found = translate(FQ_CODEL.format("32Mb"), "linux", Assumed())
    assert isinstance(found.port.queue, Queue)
    assert found.port.queue.limit == Limit(10_240, "packets")
    (statements,) = found.unsimulated
    assert statements == "memory_limit of fq_codel, 33,554,432 bytes: its limit of 10,240 packets is reached first"


@pytest.mark.parametrize(
    ("system", "text"),
    [
        ("linux", FQ_CODEL.format("4Mb")),
        ("openwrt", f"{SQM} option eqdisc_opts 'memory_limit 4Mb'\n option elimit '10240'\n"),
        ("routeros", "/queue type add name=q kind=fq-codel fq-codel-limit=10240 fq-codel-memlimit=4096.0KiB"),
    ],
)
def test_a_memory_limit_below_the_limit_is_the_buffer(system: str, text: str) -> None:
    """As OpenWrt has it: 4 MiB hold 1,820 packets (`fq_codel_enqueue` of sch_fq_codel.c drops above either)."""
    found = translate(text, system, Assumed())
    assert isinstance(found.port.queue, Queue)
    assert found.port.queue.limit == Limit((4 << 20) // 2304, "packets")
    assert any("holds 1,820 packets of 1500 bytes, fewer than its limit" in each for each in found.derivation)
    assert found.unsimulated == ()


def test_the_table_says_whether_the_discipline_marks() -> None:
    """RFC 3168 marks packets that senders declare ECN-capable; in a scenario that is a key of [[flows]]."""
    text = FQ_CODEL.format("32Mb")
    assert "# ecn of fq_codel: on; it marks packets of [[flows]] with ecn = true" in table_of(text)
    assert "# ecn of fq_codel: off; omit ecn = true in [[flows]]" in table_of(text.replace(" ecn ", " noecn "))
    assert "ecn of" not in table_of("pfifo limit 100")
    shown = forebay("translate", text, "--for", "linux")
    assert "\n# ecn of fq_codel: on" in shown.out


def test_the_table_names_the_classes_that_mark() -> None:
    text = """tc qdisc add dev eth0 root handle 1: htb default 12
    tc class add dev eth0 parent 1: classid 1:1 htb rate 9mbit
    tc class add dev eth0 parent 1:1 classid 1:11 htb rate 3mbit ceil 9mbit
    tc class add dev eth0 parent 1:1 classid 1:12 htb rate 6mbit ceil 9mbit
    tc qdisc add dev eth0 parent 1:11 fq_codel limit 100 noecn
    tc qdisc add dev eth0 parent 1:12 fq_codel limit 100
    """
    assert "# ecn of fq_codel in 1-11: off;" in table_of(text)
    assert "# ecn of fq_codel in 1-12: on;" in table_of(text)


def table_of(text: str) -> str:
    found = translate(text, "linux", Assumed())
    table = link_table(found.port, found.unknown, found.unsimulated)
    tomllib.loads(table)
    return table


# cake's memory --------------------------------------------------------------------------------------------------------

#: Linux, net/sched/sch_cake.c, `cake_reconfigure`: without a memlimit cake takes four times what the bandwidth sends in
#: an rtt, 4 MiB at least and 10,240 frames at most; without a bandwidth it takes the latter.
MEMORY = (
    ("bandwidth 18500Kbit rtt 100ms", "4,194,304 bytes: 4 x bandwidth x rtt"),
    ("bandwidth 100Mbit rtt 100ms", "5,000,000 bytes: 4 x bandwidth x rtt"),
    ("bandwidth 1Gbit rtt 100ms", "15,503,360 bytes: 4 x bandwidth x rtt"),
    ("unlimited", "15,503,360 bytes: 10,240 frames, as it does not shape"),
)


@pytest.mark.parametrize(("options", "message"), MEMORY)
def test_the_memory_limit_of_cake_is_printed_with_its_rule(options: str, message: str) -> None:
    found = translate(f"tc qdisc add dev eth0 root cake {options}", "linux", Assumed())
    assert any(each.startswith(f"the text has no memlimit, so cake takes {message}") for each in found.derivation)
    assert "cake limits memory: a packet of 1500 bytes takes 2,304 bytes of it" in found.derivation
    assert not any("packets of any size" in each for each in found.derivation)
    assert isinstance(found.port.queue, Queue)
    held = int(message.split(" ", maxsplit=1)[0].replace(",", ""))
    assert found.port.queue.limit == Limit(held // 2304, "packets")


def test_a_memlimit_of_cake_is_reported() -> None:
    found = translate("tc qdisc add dev eth0 root cake bandwidth 1gbit memlimit 8m", "linux", Assumed())
    assert "its memlimit is 8,388,608 bytes" in found.derivation
    assert found.bytes == 8_388_608 // 2304 * 1500


@pytest.mark.parametrize(
    ("system", "text"),
    [
        ("openwrt", "config queue\n option upload '10000'\n option script 'piece_of_cake.qos'\n"),
        ("routeros", MIKROTIK),
    ],
)
def test_home_routers_say_the_memory_of_cake_too(system: str, text: str) -> None:
    found = translate(text, system, Assumed())
    assert any(each.startswith("the text has no memlimit, so cake takes 4,194,304 bytes") for each in found.derivation)
