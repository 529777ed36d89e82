"""Output of devices, lines typed by hand, mistakes, and the grammar and the rounding of the readers."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay import InputError
from forebay.configuration.configuring import MOST_OF_SWITCH, configure, link_table, translate
from forebay.configuration.platforms.forms import Form, Grammar
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.platforms.registry import PLATFORMS
from forebay.configuration.platforms.routers import in_time, microseconds, percents, power_of_two, rate_kbps, ratios
from forebay.configuration.port import Classes, Limit, Port, Queue
from forebay.configuration.reading import MOST_CHARACTERS, Mistake, Word, integer
from tests.support.ports import FIFO, RED, ROUTERS, STEP, VOICE_AND_REST, dsl, packets
from tests.support.tiers import examples

# Output of devices ----- ----------------------------------------------------------------------------------------------

SHOWN_XE = """
Router#show policy-map interface gigabitEthernet 0/1
 GigabitEthernet0/1

  Service-policy output: PARENT

    Class-map: class-default (match-any)
      1491831333 packets, 998765432100 bytes
      30 second offered rate 19000000 bps, drop rate 5000 bps
      Match: any
      Queueing
      queue limit 64 packets
      (queue depth/total drops/no-buffer drops) 0/510081/0
      (pkts output/bytes output) 1491321252/998000000000
      shape (average) cir 42500000, bc 170000, be 170000
      target shape rate 42500000

      Service-policy : CHILD

        queue stats for all priority classes:
          Queueing
          queue limit 512 packets
          (queue depth/total drops/no-buffer drops) 0/0/0
          (pkts output/bytes output) 745915/149183000

        Class-map: EF (match-any)
          745915 packets, 149183000 bytes
          30 second offered rate 9000 bps, drop rate 0 bps
          Match:  dscp ef (46)
          Priority: 30% (12750 kbps), burst bytes 318750, b/w exceed drops: 0

        Class-map: CRITICAL (match-any)
          0 packets, 0 bytes
          Match:  dscp af31 (26)
          Queueing
          queue limit 62500 bytes
          (queue depth/total drops/no-buffer drops) 0/0/0
          (pkts output/bytes output) 0/0
          bandwidth remaining 20%

        Class-map: class-default (match-any)
          0 packets, 0 bytes
          Match: any
          Queueing
          queue limit 200 packets
          bandwidth remaining 80%
            Exp-weight-constant: 9 (1/512)
            Mean queue depth: 0 packets
            class     Transmitted       Random drop      Tail drop          Minimum        Maximum     Mark
                      pkts/bytes     pkts/bytes       pkts/bytes          thresh         thresh     prob
            0               0/0               0/0               0/0                 20            40  1/10
            1           328/78              38/0               0/0                 20            40  1/10
"""


def test_show_policy_map_interface_of_ios_xe() -> None:
    port = PLATFORMS["ios-xe"].read(SHOWN_XE, Assumed()).port
    assert port.rate == 42_500_000
    assert isinstance(port.queue, Classes)
    voice, critical, rest = port.queue.classes
    assert (voice.name, voice.priority, voice.queue.limit) == ("EF", True, Limit(512, "packets"))
    assert (critical.weight, critical.queue.limit) == (1.0, Limit(62_500, "bytes"))
    assert rest.weight == 4.0
    discipline = rest.queue.discipline
    assert discipline.level("min") == Limit(20, "packets")
    assert discipline.level("max") == Limit(40, "packets")
    assert (discipline.number("max_p"), discipline.number("weight")) == (0.1, 1 / 512)


SHOWN_XR = """
RP/0/RP0/CPU0:NCS5508#sh qos int hu 0/0/0/0 output
NOTE:- Configured values are displayed within parentheses
Interface HundredGigE0/0/0/0.3 ifh 0x3c00800a  -- output policy
NPU Id:                        0
Total number of classes:       1
Interface Bandwidth:           100000000 kbps
Policy Name:                   4mbps
SPI Id:                        0x0
VOQ Base:                      1816
PFC enabled:                   0
Accounting Type:               Layer1 (Include Layer 1 encapsulation and above)
------------------------------------------------------------------------------
Level1 Class                             =   class-default
Egressq Queue ID                         =   1816 (Default LP queue)
Queue Max. BW.                           =   4028 kbps (4 mbits/sec)
Queue Min. BW.                           =   0 kbps (default)
Inverse Weight / Weight                  =   1 / (BWR not configured)
Guaranteed service rate                  =   4000 kbps
Peak burst                               =   32832 bytes (default)
TailDrop Threshold                       =   4864 bytes / 10 ms (default)

LOW SHAPER                               =   Enabled

WRED not configured for this class
"""


def test_show_qos_interface_of_ios_xr() -> None:
    port = PLATFORMS["ios-xr"].read(SHOWN_XR, Assumed()).port
    assert (port.rate, port.layer) == (4_028_000, "l1")
    assert port.queue == Queue(Limit(4864, "bytes"), FIFO)


SHOWN_NX = """
switch# show policy-map interface ethernet 1/1

Global statistics status :   enabled

Ethernet1/1

  Service-policy (queuing) output:   FOREBAY
    SNMP Policy Index:  301991214

    Class-map (queuing):   c-out-8q-q7 (match-any)
      priority level 1
      queue-limit 30000 bytes
      queue dropped pkts : 0
      queue depth in bytes : 0

    Class-map (queuing):   c-out-8q-q6 (match-any)
      bandwidth remaining percent 0
      queue dropped pkts : 0
      queue depth in bytes : 0

    Class-map (queuing):   c-out-8q-q-default (match-any)
      bandwidth remaining percent 100
      queue-limit 300000 bytes
      queue dropped pkts : 0
"""


def test_show_policy_map_interface_of_nx_os() -> None:
    port = PLATFORMS["nx-os"].read(SHOWN_NX, Assumed()).port
    assert isinstance(port.queue, Classes)
    assert port.queue.schedule == "strict"
    assert [entry.queue.limit.amount for entry in port.queue.classes] == [30_000, 300_000]


SHOWN_JUNOS = """
root@R8> show class-of-service interface ge-0/0/2
Physical interface: ge-0/0/2, Index: 150
Maximum usable queues: 8, Queues in use: 4
Exclude aggregate overhead bytes: disabled
Logical interface aggregate statistics: disabled
  Shaping rate: 10120000 bps
  Scheduler map: CORE, Index: 2
  Congestion-notification: Disabled

  Logical interface: ge-0/0/2.0, Index: 335
Object                  Name                   Type                    Index
Classifier              ipprec-compatibility   ip                         13
root# run show class-of-service scheduler-map CORE
Scheduler map: CORE, Index: 6015

  Scheduler: BE-SCHEDULER, Forwarding class: BE-CLASS, Index: 59266
    Transmit rate: remainder, Rate Limit: none, Buffer size: 50000 us,
    Buffer Limit: none, Priority: low
    Excess Priority: unspecified
    Drop profiles:
      Loss priority   Protocol    Index    Name
      Low             any             1    <default-drop-profile>
      Medium low      any             1    <default-drop-profile>
      High            any             1    <default-drop-profile>

  Scheduler: EF-SCHEDULER, Forwarding class: EF-CLASS, Index: 58382
    Transmit rate: 15 percent, Rate Limit: exact, Buffer size: 5000 us,
    Buffer Limit: exact, Priority: high
"""


def test_show_class_of_service_of_junos() -> None:
    port = PLATFORMS["junos"].read(SHOWN_JUNOS, Assumed()).port
    assert (port.rate, port.layer) == (10_120_000, "l2")
    assert isinstance(port.queue, Classes)
    first, last = port.queue.classes
    # 10.12 Mb/s of frames of 1518 bytes are 10 Mb/s of IP packets of 1500.
    assert (first.name, first.queue.limit.amount) == ("EF-CLASS", pytest.approx(6250))
    assert (last.name, last.queue.limit.amount) == ("BE-CLASS", pytest.approx(62_500))


def test_blocks_of_junos_and_sr_os_read_as_their_flat_lines() -> None:
    junos = """
    class-of-service {
        drop-profiles { P { interpolate { fill-level [ 30 80 ]; drop-probability [ 0 50 ]; } } }
        schedulers {
            X {
                buffer-size temporal 5k;
                drop-profile-map loss-priority any protocol any drop-profile P;
            }
        }
    }
    """
    port = PLATFORMS["junos"].read(junos, Assumed(10**9)).port
    assert isinstance(port.queue, Queue)
    assert port.queue.limit == Limit(625_000, "bytes")
    assert port.queue.discipline.level("min") == Limit(187_500, "bytes")
    assert port.queue.discipline.number("max_p") == 0.5
    nokia = 'sap-egress "X" {\n queue 1 {\n mbs 96000\n packet-byte-offset -18\n rate {\n pir 16000\n }\n }\n}'
    assert PLATFORMS["sros"].read(nokia, Assumed()).port == dsl(Queue(Limit(96_000, "bytes"), FIFO))


# Lines by hand --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "system", "limit"),
    [
        ("queue-limit 433 packets", "ios-xe", Limit(433, "packets")),
        ("queue-limit 433", "ios-xe", Limit(433, "packets")),
        ("queue-limit 433", "ios-xr", Limit(433 * 256, "bytes")),
        ("queue-limit 5 ms", "ios-xe", Limit(625_000, "bytes")),
        ("queue-limit 40 us", "ios-xr", Limit(5_000, "bytes")),
        ("queue-limit 3 mbytes", "ios-xr", Limit(3_000_000, "bytes")),
        ("queue-limit 6 packets", "nx-os", Limit(6, "packets")),
        ("buffer-size temporal 20k", "junos", Limit(2_500_000, "bytes")),
        ("buffer-size temporal 20000", "junos", Limit(2_500_000, "bytes")),
        ("latency maximum 5 milliseconds", "eos", Limit(625_000, "bytes")),
        ("queue 1 mbs 96000", "sros", Limit(96_000, "bytes")),
        ("mbs 200", "sros", Limit(200_000, "bytes")),
    ],
)
def test_a_line_at_a_gigabit(line: str, system: str, limit: Limit) -> None:
    port = PLATFORMS[system].read(line, Assumed(10**9)).port
    assert port.queue == Queue(limit, FIFO)
    assert port.rate is None


def test_a_time_in_a_class_of_ios_xr_counts_at_its_share() -> None:
    """A quarter of 1 Gb/s for 8 ms is 250,000 bytes."""
    text = "policy-map P\n class A\n  bandwidth remaining ratio 3\n  queue-limit 8 ms\n class class-default\n"
    text += "  queue-limit 8 ms\n"
    queue = PLATFORMS["ios-xr"].read(text, Assumed(10**9)).port.queue
    assert isinstance(queue, Classes)
    assert [entry.queue.limit.amount for entry in queue.classes] == [750_000, 250_000]


@pytest.mark.parametrize(
    ("line", "system", "message"),
    [
        ("queue-limit 1,000 packets", "ios-xe", "allowed: a whole number, digits only, dscp, cos, precedence"),
        ("queue-limit 1,000", "ios-xr", "did you mean `1000`?"),
        (
            "queue-limit 1000 packet",
            "ios-xe",
            "allowed: packets, bytes, ms, us, the end of the line; did you mean `packets`?",
        ),
        ("queue-limits 64", "ios-xe", "found `queue-limits`; allowed: a line of a policy-map"),
        ("queue-limit 64 packets 3", "ios-xe", "found `3`; allowed: the end of the line"),
        ("fair-queue", "ios-xe", "found `fair-queue`; allowed: queue-limit, random-detect"),
        ("queue-limit 100 kbytes", "ios-xe", "found `kbytes`; allowed: packets, bytes, ms, us"),
        ("buffer-size temporal 20,000", "junos", "did you mean `20000`?"),
        ("buffer-size temporal 20ms", "junos", "found `20ms`; allowed: whole microseconds such as 20000 or 20k"),
        ("buffer-size percent 5", "junos", "found no buffer-size temporal in the scheduler; allowed: one"),
        ("set class-of-service schedulers X buffer-size temporl 4", "junos", "did you mean `temporal`?"),
        ("latency maximum 5 msec", "eos", "found `msec`; allowed: milliseconds, microseconds, ms, us"),
        ("queue 1 mps 4", "sros", "did you mean `mbs`?"),
        ("queue 1 {\n mbs 4", "sros", "line 1: found the end of the text; allowed: `}` after `queue`"),
        ("queue-limit dynamic 6", "nx-os", "say it in a line `! of a memory of 12000000 bytes`"),
        ("queue-limit dynamic 11", "nx-os", "found `11`; allowed: a power of 0 to 10"),
        ("random-detect", "ios-xe", "found no queue-limit in `class-default`; allowed: a queue-limit"),
        ("interface Gi0/0\n service-policy output PARENT\npolicy-map PARENTS\n class A\n  queue-limit 4", "ios-xe",
         "found no policy-map `PARENT`; allowed: `PARENTS`; did you mean `PARENTS`?"),
        ("", "ios-xe", "found no policy; allowed: a policy-map, a part of one"),
    ],
)  # fmt: skip
def test_a_mistake_names_the_word_and_what_was_meant(line: str, system: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        PLATFORMS[system].read(line, Assumed(10**9))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_time_without_a_rate_asks_for_it() -> None:
    for system, line in (
        ("ios-xr", "queue-limit 5 ms"),
        ("junos", "buffer-size temporal 5"),
        ("eos", "latency maximum 5"),
    ):
        with pytest.raises(InputError, match="rate: found none; allowed: the link's rate"):
            PLATFORMS[system].read(line, Assumed())


def test_another_curve_for_another_precedence_is_listed() -> None:
    text = "queue-limit 64 packets\nrandom-detect precedence 0 20 40 10\nrandom-detect precedence 1 22 40 10"
    found = PLATFORMS["ios-xe"].read(text, Assumed())
    assert isinstance(found.port.queue, Queue)
    assert found.port.queue.discipline.level("min") == Limit(20, "packets")
    assert found.unsimulated == ("class-default: WRED of precedence 1; it is read as that of precedence 0 for all",)


# Laws -----------------------------------------------------------------------------------------------------------------

DROPPING = dataclasses.replace(RED, ecn=False)
WRITTEN = [
    (system, port)
    for system in ROUTERS
    for port in (
        dsl(packets(1000)),
        dsl(packets(1000, RED)),
        dsl(packets(1000, DROPPING)),
        dsl(packets(1000, STEP)),
        dsl(VOICE_AND_REST),
    )
    if configure(PLATFORMS[system], port).lines
]


@pytest.mark.parametrize(("system", "port"), WRITTEN, ids=[f"{system}-{port.kind}" for system, port in WRITTEN])
def test_what_is_written_is_read_back(system: str, port: Port) -> None:
    spoken = PLATFORMS[system]
    fitted = spoken.fit(port).port
    read = spoken.read("\n".join(spoken.write(fitted)), Assumed()).port
    assert _unnamed(read) == _unnamed(fitted)


@pytest.mark.parametrize(("system", "port"), WRITTEN, ids=[f"{system}-{port.kind}" for system, port in WRITTEN])
def test_no_keyword_may_be_misspelled_and_no_number_have_commas(system: str, port: Port) -> None:
    """Every line is read for all that it says: a letter more or a comma is never passed over."""
    spoken = PLATFORMS[system]
    lines = spoken.write(spoken.fit(port).port)
    names = {"match", "service", "interface", "FOREBAY", "forwarding-classes", "class-map", "!"}
    tried = 0
    for at, line in enumerate(lines):
        for word in line.split():
            if names & set(line.split()) and not word.isdigit():
                continue
            changed = f"{int(word):,}" if word.isdigit() else f"{word}x"
            if changed == word or word.startswith(('"', "FOREBAY", "ge-", "1/", "best", "c-out", "[", "]", "!", "be")):
                continue
            if not word.isdigit() and not word.replace("-", "").isalpha():
                continue
            text = "\n".join([*lines[:at], line.replace(f" {word}", f" {changed}", 1), *lines[at + 1 :]])
            if text == "\n".join(lines):
                continue
            tried += 1
            try:
                read = spoken.read(text, Assumed(packet=port.packet)).port
            except InputError:
                continue
            same = spoken.read("\n".join(lines), Assumed(packet=port.packet)).port
            # Only a name may be another one.
            assert _unnamed(read) == _unnamed(same), f"{line!r}: `{changed}` passed"
            assert not word.isdigit(), f"{line!r}: `{changed}` passed"
    assert tried


def _unnamed(port: Port) -> Port:
    if isinstance(port.queue, Queue):
        return port
    classes = tuple(dataclasses.replace(entry, name="", groups=()) for entry in port.queue.classes)
    return port.with_queue(Classes(port.queue.schedule, classes))


@given(st.lists(st.floats(0.01, 1000), min_size=1, max_size=8))
def test_percents_are_whole_and_make_a_hundred(weights: list[float]) -> None:
    shares = percents(weights)
    assert sum(shares) == 100
    assert min(shares) >= 1
    exact = [100 * weight / sum(weights) for weight in weights]
    assert all(abs(one - other) < len(weights) for one, other in zip(shares, exact, strict=True))
    assert percents([float(share) for share in shares]) == shares


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=8), st.sampled_from([100, 127, 1000]))
def test_ratios_stay_in_range_and_in_lowest_terms(weights: list[int], most: int) -> None:
    integers = [int(ratio) for ratio in ratios([float(weight) for weight in weights], most)]
    assert all(1 <= ratio <= most for ratio in integers)
    assert math.gcd(*integers) == 1
    if max(weights) // math.gcd(*weights) <= most:
        assert integers == [weight // math.gcd(*weights) for weight in weights]


@given(st.floats(1e-6, 1.0), st.integers(0, 4), st.integers(5, 16))
def test_a_power_of_two_is_the_nearest(weight: float, least: int, most: int) -> None:
    nearest = power_of_two(weight, least, most)
    others = [2.0**-power for power in range(least, most + 1)]
    assert nearest in others
    assert abs(math.log2(nearest / weight)) <= min(abs(math.log2(other / weight)) for other in others) + 1e-9


@given(st.integers(1, 10**9), st.integers(1000, 10**12), st.sampled_from([577, 1500, 9000]))
def test_a_time_holds_no_less_and_a_microsecond_more_at_most(size: int, rate: int, packet: int) -> None:
    port = Port(rate, packet, Queue(Limit(size, "bytes"), FIFO))
    count = microseconds(port.queue.limit if isinstance(port.queue, Queue) else Limit(0, "bytes"), port)
    held = in_time(count, port.ip_rate)
    assert held.amount >= size - 1e-6
    assert count == 1 or in_time(count - 1, port.ip_rate).amount < size
    assert microseconds(held, port) == count


@given(st.integers(10**6, 10**12), st.sampled_from(["l1", "l2", "l3"]), st.sampled_from(["l1", "l2", "l3"]))
def test_a_rate_of_another_layer_carries_the_same_packets(rate: int, layer: str, other: str) -> None:
    port = Port(rate, 1500, packets(1), layer=layer)
    changed = dataclasses.replace(port, rate=rate_kbps(port, other), layer=other)
    assert abs(changed.ip_rate - port.ip_rate) <= Fraction(501)


# The grammar ----------------------------------------------------------------------------------------------------------


def _read(text: str, line: str) -> tuple[str, dict[str, object]]:
    grammar = Grammar(
        [Form(text, "first"), Form("stop", "second")],
        {"n": lambda word: integer(word, most=9), "name": lambda word: word if word else _no()},
        "a line",
    )
    then, statements = grammar.read([Word(word, 1) for word in line.split()])
    return then, dict(statements.values)


def _no() -> str:
    raise Mistake("nothing", "a name")


def test_forms_have_options_alternatives_and_values() -> None:
    form = "set [to] <n> unit=bytes|packets [of <name>] ..."
    assert _read(form, "set 3 bytes") == ("first", {"n": 3, "unit": "bytes"})
    assert _read(form, "set to 3 packets of x and more") == ("first", {"n": 3, "unit": "packets", "name": "x"})
    assert _read(form, "stop") == ("second", {})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("set to x", "found `x`; allowed: a whole number, digits only"),
        ("set to 3 byte", "found `byte`; allowed: bytes, packets; did you mean `bytes`?"),
        ("set", "found nothing after `set`; allowed: to, a whole number, digits only"),
        ("stop now", "found `now`; allowed: the end of the line"),
        ("sett 3", "found `sett`; allowed: a line; did you mean `set`?"),
    ],
)
def test_an_error_is_where_the_forms_went_furthest(line: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        _read("set [to] <n> unit=bytes|packets", line)
    assert str(refused.value) == f"translate: line 1: {message}"


@settings(max_examples=examples(30))
@given(st.sampled_from(ROUTERS), st.integers(1, 60), st.integers(1, 60), st.sampled_from([False, True]))
def test_the_link_table_of_a_reading_is_a_scenario(system: str, least: int, more: int, gentle: bool) -> None:
    red = RED.having(min=Limit(least, "packets"), max=Limit(least + more, "packets"), gentle=gentle)
    spoken = PLATFORMS[system]
    fitted = spoken.fit(dsl(packets(200, red))).port
    read = spoken.read("\n".join(spoken.write(fitted)), Assumed()).port
    table = link_table(read)
    assert 'kind = "red"' in table
    assert f'rate   = "{read.bits_per_second / 10**6:g}Mbps"' in table


@pytest.mark.parametrize(
    ("system", "text", "message"),
    [
        ("junos", "set", "line 1: found nothing after `set`; allowed: a statement"),
        ("junos", "schedulers {\n{ a; }\n}", "line 2: found `{`; allowed: a statement before it"),
        ("junos", "set class-of-service [ a b", "line 1: found the end of the statement; allowed: `]` after `[`"),
        ("sros", "{\n}", "line 1: found `{`; allowed: a context before it"),
        ("sonic", '"static_th": "-1"', "found `-1` as static_th; allowed: a whole number"),
        (
            "linux",
            "tc qdisc add dev eth0 root handle 1: ets bands 2 quanta 1500 0\n"
            "tc qdisc add dev eth0 parent 1:1 pfifo limit 1\ntc qdisc add dev eth0 parent 1:2 pfifo limit 1",
            "found ets with a quantum of 0; allowed: at least one byte",
        ),
        (
            "linux",
            "tc qdisc add dev eth0 root handle 1: prio\ntc qdisc add dev eth0 parent 1:0.1 pfifo limit 1",
            "found the handle `1:0.1`; allowed: up to four digits",
        ),
        (
            "linux",
            "tc qdisc add dev eth0 root red limit 300kb min 60kb max 180kb avpkt 0 burst 80 probability 0.1",
            "found avpkt 0; allowed: an average packet of at least a byte",
        ),
        ("ios-xe", "queue-limit 64 packets\n\x1b[31mshape", r"line 2: found `\x1b`; allowed: text without control"),
        ("linux", "tc qdisc\u202e", r"line 1: found `\u202e`; allowed: text without control characters"),
    ],
)
def test_what_is_cut_or_colored_is_named_by_its_line(system: str, text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        translate(text, system, Assumed())
    assert message in str(error.value)


@pytest.mark.parametrize("weights", [[0.0], [0.0, 0.0, 0.0], [0.0, 1.0], [75.0, 0.0, 25.0]])
def test_classes_that_are_promised_nothing_have_the_least(weights: list[float]) -> None:
    shares = percents(weights)
    assert sum(shares) == 100
    assert min(shares) >= 1
    classes = tuple(dataclasses.replace(VOICE_AND_REST.classes[-1], name=f"c{at}", weight=weight, priority=False)
                    for at, weight in enumerate(weights))  # fmt: skip
    table = link_table(Port(10**7, 1500, Classes("dwrr", classes)))
    assert "weight = 0" not in table


# Nothing is too large -------------------------------------------------------------------------------------------------

AMOUNTS = {
    "linux": "pfifo limit {}", "openwrt": "option limit {}", "routeros": "pfifo-limit={}", "sonic": '"static_th": "{}"',
    "junos": "buffer-size temporal {}", "ios-xr": "queue-limit {} packets", "ios-xe": "queue-limit {} packets",
    "nx-os": "queue-limit {} bytes", "eos": "latency maximum {} microseconds", "sros": "queue 1 mbs {}",
}  # fmt: skip


@pytest.mark.parametrize("digits", [19, 40, 400, 4301, 100_000])
@pytest.mark.parametrize("name", AMOUNTS)
def test_a_number_of_any_length_ends_in_one_line(name: str, digits: int) -> None:
    for number in ("9" * digits, f"0.{'0' * digits}1", f"{'9' * digits}kb"):
        with pytest.raises(InputError, match=r"^translate: ") as refused:
            translate(AMOUNTS[name].format(number), name, Assumed())
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("digits", [1, 18, 5000])
def test_leading_zeros_change_no_number(digits: int) -> None:
    assert integer("0" * digits + "7") == 7
    assert integer("0" * digits) == 0


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_text_is_bounded(name: str) -> None:
    most = MOST_OF_SWITCH if name == "sonic" else MOST_CHARACTERS
    for text in ("x", "queue-limit 5 packets\n", "["):
        long = text * (most // len(text) + 1)
        with pytest.raises(InputError, match=f"^translate: found {len(long)} characters; allowed: at most"):
            translate(long, name, Assumed())


@pytest.mark.sampled(8)
@pytest.mark.parametrize("piece", ["x", '"', "{ ", "\\\n", "a\n"])
@pytest.mark.parametrize("name", PLATFORMS)
def test_a_long_text_is_read_in_one_pass(name: str, piece: str) -> None:
    """A reader that restarts at every character would take too long."""
    with pytest.raises(InputError) as refused:
        translate(piece * (2**16 // len(piece)), name, Assumed())
    assert "\n" not in str(refused.value)
