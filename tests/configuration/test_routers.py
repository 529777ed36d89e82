"""Routers' configurations as an engineer reads them: golden texts, what was rounded, and what is refused."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest
from rich.console import Group

from forebay.commands.terminal import show
from forebay.configuration.configuring import configure, translate
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.platforms.registry import PLATFORMS
from forebay.configuration.port import Classes, Discipline, Limit, Port, Queue, TrafficClass
from forebay.views.configuration_text import configuration_lines
from tests.support.paths import ROOT
from tests.support.ports import FIFO, RED, ROUTERS, STEP, VOICE_AND_REST, dsl, packets

STEEP = RED.having(max=Limit(20, "packets"), max_p=1.0)


# Golden texts ---------------------------------------------------------------------------------------------------------

GOLDEN = [
    (
        "ios-xe",
        dsl(packets(64)),
        """
        policy-map FOREBAY
         class class-default
          shape average 16000000 account user-defined -14
          queue-limit 64 packets
        interface GigabitEthernet0/0/0
         service-policy output FOREBAY
        """,
    ),
    (
        "ios-xe",
        dsl(VOICE_AND_REST),
        """
        class-map match-any FOREBAY-voice
         match qos-group 1
        class-map match-any FOREBAY-gold
         match qos-group 2
        policy-map FOREBAY-CLASSES
         class FOREBAY-voice
          priority level 1
          queue-limit 20 packets
         class FOREBAY-gold
          bandwidth remaining ratio 3
          queue-limit 60 packets
         class class-default
          bandwidth remaining ratio 1
          queue-limit 200 packets
        policy-map FOREBAY
         class class-default
          shape average 16000000 account user-defined -14
          service-policy FOREBAY-CLASSES
        interface GigabitEthernet0/0/0
         service-policy output FOREBAY
        """,
    ),
    (
        "ios-xr",
        dsl(packets(100, RED)),
        """
        policy-map FOREBAY
         class class-default
          shape average 16405 kbps
          queue-limit 150000 bytes
          random-detect 30000 bytes 90000 bytes
          random-detect ecn
         !
         end-policy-map
        !
        interface TenGigE0/0/0/0
         service-policy output FOREBAY
        !
        """,
    ),
    (
        "nx-os",
        Port(25 * 10**9, 1500, Queue(Limit(1_000_000, "bytes"), STEP)),
        """
        policy-map type queuing FOREBAY
          class type queuing c-out-8q-q-default
            queue-limit 1000000 bytes
            random-detect minimum-threshold 97500 bytes maximum-threshold 97500 bytes drop-probability 100 weight 0 ecn
        interface Ethernet1/1
          speed 25000
          service-policy type queuing output FOREBAY
        """,
    ),
    (
        "junos",
        dsl(packets(100, RED.having(gentle=True))),
        """
        set class-of-service drop-profiles FOREBAY interpolate fill-level [ 20 60 100 ]
        set class-of-service drop-profiles FOREBAY interpolate drop-probability [ 0 10 70 ]
        set class-of-service schedulers FOREBAY transmit-rate percent 95
        set class-of-service schedulers FOREBAY buffer-size temporal 75000
        set class-of-service schedulers FOREBAY priority low
        set class-of-service schedulers FOREBAY drop-profile-map loss-priority any protocol any drop-profile FOREBAY
        set class-of-service schedulers FOREBAY explicit-congestion-notification
        set class-of-service scheduler-maps FOREBAY forwarding-class best-effort scheduler FOREBAY
        set class-of-service schedulers FOREBAY-NETWORK-CONTROL transmit-rate percent 5
        set class-of-service schedulers FOREBAY-NETWORK-CONTROL buffer-size percent 5
        set class-of-service schedulers FOREBAY-NETWORK-CONTROL priority low
        set class-of-service scheduler-maps FOREBAY forwarding-class network-control scheduler FOREBAY-NETWORK-CONTROL
        set class-of-service interfaces ge-0/0/0 scheduler-map FOREBAY
        set class-of-service interfaces ge-0/0/0 shaping-rate 16192k
        """,
    ),
    (
        "eos",
        dsl(VOICE_AND_REST),
        """
        interface Ethernet1
           shape rate 16192 kbps
           tx-queue 3
              priority strict
              latency maximum 15000 microseconds
           tx-queue 2
              no priority
              bandwidth percent 75
              latency maximum 45000 microseconds
           tx-queue 1
              no priority
              bandwidth percent 25
              latency maximum 150000 microseconds
        """,
    ),
    (
        "eos-trident",
        dsl(Queue(Limit(12_000_000, "bytes"), Discipline("dynamic_threshold", {"alpha": 0.5}))),
        """
        platform trident mmu queue profile FOREBAY
           egress unicast queue 1 threshold 1/2
        !
        platform trident mmu queue profile FOREBAY apply
        !
        interface Ethernet1
           shape rate 16192 kbps
           uc-tx-queue 1
              ! of a memory of 12000000 bytes
        """,
    ),
    (
        "sros",
        dsl(packets(100, RED)),
        """
        /configure qos slope-policy "FOREBAY" time-average-factor 9
        /configure qos slope-policy "FOREBAY" high-slope admin-state enable
        /configure qos slope-policy "FOREBAY" high-slope start-avg 20
        /configure qos slope-policy "FOREBAY" high-slope max-avg 60
        /configure qos slope-policy "FOREBAY" high-slope max-prob 10
        /configure qos slope-policy "FOREBAY" low-slope admin-state enable
        /configure qos slope-policy "FOREBAY" low-slope start-avg 20
        /configure qos slope-policy "FOREBAY" low-slope max-avg 60
        /configure qos slope-policy "FOREBAY" low-slope max-prob 10
        /configure qos sap-egress "FOREBAY" queue 1 mbs 150000
        /configure qos sap-egress "FOREBAY" queue 1 wred-queue mode pool-per-queue
        /configure qos sap-egress "FOREBAY" queue 1 wred-queue policy "FOREBAY"
        /configure qos sap-egress "FOREBAY" queue 1 packet-byte-offset -18
        /configure qos sap-egress "FOREBAY" queue 1 rate pir 16000
        /configure service ies "1" interface "customer" sap 1/1/1:1 egress qos sap-egress policy-name "FOREBAY"
        """,
    ),
]


@pytest.mark.parametrize(("system", "port", "text"), GOLDEN, ids=[f"{entry[0]}-{entry[1].kind}" for entry in GOLDEN])
def test_what_an_engineer_pastes(system: str, port: Port, text: str) -> None:
    assert "\n".join(configure(PLATFORMS[system], port).lines) == dedent(text).strip("\n")


def test_a_gentle_curve_of_junos_ends_at_twice_max() -> None:
    """20 and 60 of 200 packets are 10 and 30 %, so all is dropped from 60 % on."""
    lines = configure(PLATFORMS["junos"], dsl(packets(200, RED.having(gentle=True)))).lines
    assert lines[0].endswith("fill-level [ 10 30 60 ]")
    assert lines[1].endswith("drop-probability [ 0 10 100 ]")


def test_a_dynamic_limit_of_nx_os_is_a_power_of_two() -> None:
    for alpha, power in ((1 / 128, 0), (0.5, 6), (1.0, 7), (8.0, 10), (100.0, 10)):
        queue = Queue(Limit(12_000_000, "bytes"), Discipline("dynamic_threshold", {"alpha": alpha}))
        lines = configure(PLATFORMS["nx-os"], dsl(queue)).lines
        assert f"    queue-limit dynamic {power}" in lines


def test_wred_of_ios_xe_has_the_same_curve_for_every_precedence() -> None:
    lines = configure(PLATFORMS["ios-xe"], dsl(packets(100, RED))).lines
    curves = [line.strip() for line in lines if "random-detect precedence " in line]
    assert curves == [f"random-detect precedence {value} 20 60 10" for value in range(8)]
    assert "  random-detect exponential-weighting-constant 9" in lines
    assert "  random-detect ecn" in lines


@pytest.mark.parametrize(
    ("system", "port", "note"),
    [
        # One MTU of 9 x 1024 bytes is the least; four packets of 1500 bytes are fewer.
        (
            "ios-xr",
            dsl(packets(4)),
            "buffer: simulated 4 packets, configured 9,216 bytes (counted in bytes, a packet of IOS XR's",
        ),
        (
            "ios-xe",
            dsl(packets(100, RED.having(max_p=0.3))),
            "max_p: simulated 0.3, configured 0.3333333 (the probability is one",
        ),
        (
            "sros",
            dsl(packets(64, RED)),
            "min: simulated 20 packets, configured 29,760 bytes (whole percent of the maximum burst",
        ),
        # Equal thresholds with ECN and probability 1 would be a step.
        ("ios-xe", dsl(packets(64, STEEP)), "max: simulated 20 packets, configured 21 packets"),
        ("sros", dsl(packets(64, STEEP)), "max: simulated 20 packets, configured 30,720 bytes"),
        ("sros", dsl(packets(64, RED)), "ecn: simulated on, configured off (SR OS drops where RED would mark)"),
        (
            "junos",
            dsl(packets(7)),
            "buffer: simulated 7 packets, configured 10,500 bytes (a buffer is a time in whole micro",
        ),
        (
            "junos",
            dsl(packets(200)),
            "buffer: 150,000 microseconds are more than these take: IQ PICs of M320 and T Series (50,000)",
        ),
        (
            "nx-os",
            Port(10**9, 1500, packets(9)),
            "rate_layer: simulated l3, configured l1 (shapers count frames, speeds",
        ),
        ("nx-os", dsl(VOICE_AND_REST), "rate: simulated 16 Mb/s, configured none (a queue is shaped by its frames"),
        ("eos", dsl(packets(100, RED)), "ecn: packets that cannot be marked wait up to the limit"),
        (
            "ios-xe",
            dsl(VOICE_AND_REST),
            "classes: packets have to be classified where they come in (voice: calls; gold: tv; rest",
        ),
    ],
)
def test_rounding_is_reported_with_both_figures(system: str, port: Port, note: str) -> None:
    notes = configure(PLATFORMS[system], port).notes
    assert any(statements.startswith(note) for statements in notes), notes


@pytest.mark.parametrize(
    ("system", "port", "refusal"),
    [
        (
            "ios-xe",
            dsl(Queue(Limit(65_000_000, "bytes"), FIFO)),
            "does not support 65,000,000 bytes; allowed: up to 64,000,000 bytes",
        ),
        (
            "ios-xr",
            dsl(Queue(Limit(2 * 10**9, "bytes"), FIFO)),
            "does not support 2,000,000,000 bytes; allowed: up to 1,000,000,000",
        ),
        (
            "sros",
            dsl(Queue(Limit(2 * 10**9, "bytes"), FIFO)),
            "does not support 2,000,000,000 bytes; allowed: up to 1,073,741,824",
        ),
        (
            "junos",
            dsl(Queue(Limit(10**9, "bytes"), FIFO)),
            "500,000,000 microseconds at the link's rate; allowed: up to 2,000,000",
        ),
        (
            "ios-xe",
            dsl(packets(9, Discipline("fq_codel"))),
            "ios-xe has no fq_codel; the closest is droptail (queue-limit)",
        ),
        ("sros", dsl(packets(9, STEP)), "sros has no step; the closest is red (slope-policy)"),
        (
            "eos-trident",
            dsl(packets(9)),
            "eos-trident has no droptail; the closest is dynamic_threshold (mmu queue profile",
        ),
        (
            "nx-os",
            dsl(Classes("strict", VOICE_AND_REST.classes)),
            "does not support 3 strict priorities; allowed: up to 2",
        ),
        ("eos", dsl(Classes("dwrr", VOICE_AND_REST.classes * 3)), "eos does not support 9 classes; allowed: up to 6"),
    ],
)
def test_what_is_out_of_range_is_refused(system: str, port: Port, refusal: str) -> None:
    configuration = configure(PLATFORMS[system], port)
    assert configuration.lines == ()
    assert refusal in configuration.notes[0]


def test_wred_is_refused_in_a_priority_class_of_ios_xe() -> None:
    classes = Classes("strict", (TrafficClass("a", (), 1.0, packets(90, RED)), TrafficClass("b", (), 1.0, packets(90))))
    configuration = configure(PLATFORMS["ios-xe"], dsl(classes))
    assert configuration.notes == ("ios-xe has no WRED in a class with priority; allowed: droptail there",)


@pytest.mark.parametrize("weights", [(3, 1), (1, 1), (7, 2, 1), (1, 1, 1, 1, 1, 1)])
def test_junos_leaves_network_control_a_queue_and_a_share(weights: tuple[int, ...]) -> None:
    """A scheduler map replaces the default one, in which network control has 5 percent."""
    classes = tuple(TrafficClass(f"c{at}", (), float(weight), packets(90)) for at, weight in enumerate(weights))
    configuration = configure(PLATFORMS["junos"], dsl(Classes("dwrr", classes)))
    text = "\n".join(configuration.lines)
    shares = [int(line.rpartition(" ")[2]) for line in configuration.lines if "transmit-rate percent" in line]
    assert sum(shares) == 100
    assert 5 <= shares[-1] <= 10
    assert [share / sum(shares[:-1]) for share in shares[:-1]] == pytest.approx(
        [weight / sum(weights) for weight in weights], abs=0.011
    )
    assert "forwarding-classes queue 3 network-control" in text
    assert "forwarding-class network-control scheduler FOREBAY-NETWORK-CONTROL" in text
    queues = [line.split()[-2] for line in configuration.lines if "forwarding-classes queue" in line]
    assert len(set(queues)) == len(queues) == len(weights)
    read = translate(text, "junos", Assumed()).port
    assert isinstance(read.queue, Classes)
    assert len(read.queue.classes) == len(weights)


@pytest.mark.parametrize(
    ("account", "counted"),
    [("", 14), (" account user-defined 0", 14), (" account user-defined 24", 38), (" account user-defined -14", 0)],
)
def test_a_shaper_of_ios_xe_counts_ethernet_headers(account: str, counted: int) -> None:
    """Cisco, "Cisco ASR 1000 QoS" (Q&A c67-731655): a shaper counts 14 bytes beside IP, and `account` corrects that."""
    text = f"policy-map A\n class class-default\n  shape average 10000000{account}\n  queue-limit 50 packets\n"
    read = translate(text, "ios-xe", Assumed())
    assert float(read.port.ip_rate) == pytest.approx(10e6 * 1500 / (1500 + counted), rel=1e-9)
    assert read.seconds == pytest.approx(50 * (1500 + counted) * 8 / 10e6, rel=1e-6)
    configuration = configure(PLATFORMS["ios-xe"], read.port)
    reread = translate("\n".join(configuration.lines), "ios-xe", Assumed())
    assert float(reread.port.ip_rate) == pytest.approx(float(read.port.ip_rate), rel=1e-6)


# The manual and the terminal --------------------------------------------------------------------------------------


def test_the_manual_says_which_router_has_what() -> None:
    rows = [
        line.split("|")[1:-1]
        for line in (ROOT / "docs" / "reference" / "platforms.md").read_text().splitlines()
        if line.startswith("|")
    ]
    table = {row[0].strip(" `"): [cell.strip() for cell in row[1:]] for row in rows}
    systems = [cell.strip("`") for cell in table[""]]
    assert set(systems) == set(ROUTERS)
    kinds = {kind for system in systems for kind in PLATFORMS[system].disciplines}
    for kind in kinds:
        assert [cell != "–" for cell in table[kind]] == [kind in PLATFORMS[system].disciplines for system in systems], (
            kind
        )
    counts = [tuple(int(number) for number in re.findall("[0-9]+", cell)) for cell in table["strict levels, queues"]]
    assert counts == [(PLATFORMS[system].levels, PLATFORMS[system].classes) for system in systems]


def test_lines_are_never_cut_to_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    configuration = configure(PLATFORMS["sros"], dsl(packets(64)))
    show(Group(*configuration_lines(configuration)))
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert set(configuration.lines) <= set(printed)
    assert max(map(len, configuration.lines)) > 60


def test_the_smallest_probability_is_one_over_the_largest_number() -> None:
    """One over 2e-309 is beyond what a computer counts."""
    configuration = configure(PLATFORMS["ios-xe"], dsl(packets(100, RED.having(max_p=2e-309))))
    assert any("65535" in line for line in configuration.lines), configuration.lines


@pytest.mark.parametrize(
    ("rate", "media"),
    [(10**8, "ge"), (10**9, "ge"), (10**9 + 10**6, "xe"), (10**10, "xe"), (25 * 10**9, "et"), (4 * 10**11, "et")],
)
def test_junos_names_an_interface_that_has_the_rate(rate: int, media: str) -> None:
    """Juniper, "Interface Naming Conventions for Rate Selectability": 10 Gb/s are xe, 40 and 100 Gb/s et."""
    configuration = configure(PLATFORMS["junos"], Port(rate, 1500, packets(100)))
    assert f"set class-of-service interfaces {media}-0/0/0 scheduler-map FOREBAY" in configuration.lines
