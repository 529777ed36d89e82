"""Classes of whole everyday configurations: htb, hfsc, the tiers of SQM, WRED by DSCP, and scripts around them."""

from __future__ import annotations

import dataclasses
import tomllib
from fractions import Fraction
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as package
from forebay import InputError, Scenario
from forebay.configuration.configuring import Translation, configure, link_table, translate
from forebay.configuration.platforms.linux.sharing import Leaf, divide, filled
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.platforms.registry import PLATFORMS
from forebay.configuration.port import UNKNOWN, Classes, Limit, Port, Queue, TrafficClass
from tests.support.commands import forebay
from tests.support.tiers import examples
from tests.support.traffic_control import given_to_tc

# Devera, "HTB Linux queuing discipline manual - user guide" (luxik.cdi.cz/~devik/qos/htb/): rates that fill the link.
DEVIK = """tc qdisc add dev eth0 root handle 1: htb default 12
tc class add dev eth0 parent 1: classid 1:1 htb rate 100kbps ceil 100kbps
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 30kbps ceil 100kbps
tc class add dev eth0 parent 1:1 classid 1:11 htb rate 10kbps ceil 100kbps
tc class add dev eth0 parent 1:1 classid 1:12 htb rate 60kbps ceil 100kbps
tc qdisc add dev eth0 parent 1:10 handle 20: pfifo limit 5
tc qdisc add dev eth0 parent 1:11 handle 30: pfifo limit 5
tc qdisc add dev eth0 parent 1:12 handle 40: sfq perturb 10
"""
# sqm-scripts 1.6.0, src/simple.qos (github.com/tohojo/sqm-scripts), `egress` of 20 Mb/s as commands.
SIMPLE = """tc qdisc add dev eth0 root handle 1: stab mtu 2047 mpu 64 overhead 30 linklayer ethernet htb default 12
tc class add dev eth0 parent 1: classid 1:1 htb quantum 2500 rate 20000kbit ceil 20000kbit burst 2500 cburst 2500
tc class add dev eth0 parent 1:1 classid 1:11 htb quantum 2500 rate 128kbit ceil 6666kbit prio 1
tc class add dev eth0 parent 1:1 classid 1:12 htb quantum 2500 rate 3333kbit ceil 19984kbit prio 2
tc class add dev eth0 parent 1:1 classid 1:13 htb quantum 2500 rate 3333kbit ceil 19984kbit prio 3
tc qdisc add dev eth0 parent 1:11 handle 110: fq_codel limit 1001 target 5ms ecn quantum 300 flows 1024
tc qdisc add dev eth0 parent 1:12 handle 120: fq_codel limit 1001 target 5ms ecn quantum 300 flows 1024
tc qdisc add dev eth0 parent 1:13 handle 130: fq_codel limit 1001 target 5ms ecn quantum 300 flows 1024
tc filter add dev eth0 parent 1:0 protocol all prio 999 u32 match ip protocol 0 0x00 flowid 1:12
"""
# The same in /etc/config/sqm.
SQM = """config queue 'eth1'
 option enabled '1'
 option interface 'eth1'
 option download '85000'
 option upload '20000'
 option qdisc 'fq_codel'
 option script 'simple.qos'
 option linklayer 'ethernet'
 option overhead '30'
 option tcMPU '64'
"""
# The script is ours. Its classes are those of tc-hfsc(7), "CAVEAT": an upper limit on the uppermost class alone.
HFSC = """DEV=eth0
UP=10000
tc qdisc del dev $DEV root 2>/dev/null || true
tc qdisc add dev $DEV root handle 1: hfsc default 13
tc class add dev $DEV parent 1: classid 1:1 hfsc ls m2 ${UP}kbit ul m2 ${UP}kbit
tc class add dev $DEV parent 1:1 classid 1:11 hfsc rt m1 1mbit d 5ms m2 $((UP/100))kbit
tc class add dev $DEV parent 1:1 classid 1:12 hfsc sc umax 1500b dmax 3ms rate $((4*UP/10))kbit
tc class add dev $DEV parent 1:1 classid 1:13 hfsc ls m2 2mbit
for c in 11 12 13; do
  tc qdisc add dev $DEV parent 1:$c handle $c: pfifo limit 50
done
"""
# The policy is ours; its line for af11 is that of Cisco's guides, `random-detect dscp af11 24 40 10`.
WRED = """class-map match-any BULK
 match dscp af11 af12
class-map match-any DATA
 match ip dscp af21
policy-map WAN
 class BULK
  bandwidth percent 20
  queue-limit 64 packets
  random-detect dscp-based
  random-detect dscp af11 24 40 10
  random-detect dscp af12 20 40 10
  random-detect dscp default 1 2 1
 class DATA
  bandwidth percent 30
  queue-limit 64 packets
  random-detect dscp-based
 class class-default
  queue-limit 64 packets
"""


def read(system: str, text: str, rate: int | None = None) -> Translation:
    return translate(text, system, Assumed(rate))


def classes(found: Translation) -> dict[str, TrafficClass]:
    assert isinstance(found.port.queue, Classes)
    assert found.port.queue.schedule == "dwrr"
    return {entry.name: entry for entry in found.port.queue.classes}


# The queues and types are ours, in the terms of MikroTik's wiki, "Manual:HTB"
# (wiki.mikrotik.com/index.php?title=Manual:HTB).
TREE = """/queue type
add name=small kind=pfifo pfifo-limit=40
add name=fair kind=sfq
/queue tree
add name=up parent=ether1 max-limit=10M
add name=voice parent=up limit-at=1M max-limit=10M priority=1 packet-mark=voice queue=small
add name=web parent=up limit-at=3M max-limit=10M priority=4 packet-mark=web queue=fair
add name=rest parent=up limit-at=2M max-limit=10M priority=4 packet-mark=no-mark queue=default
"""


def test_a_tree_of_queues_of_routeros_is_classes() -> None:
    """While all have something to send, what is left goes to the first priority, beside what the others have anyway."""
    found = read("routeros", TREE)
    by_class = classes(found)
    assert found.port.rate == 10_000_000
    assert by_class["voice"].weight / by_class["rest"].weight == pytest.approx(5 / 2)
    assert by_class["web"].weight / by_class["rest"].weight == pytest.approx(3 / 2)
    assert by_class["voice"].queue.limit == Limit(40, "packets")
    assert by_class["web"].queue.discipline.kind == "sfq"
    assert any(each.startswith("rest: its buffer, that of the queue type default") for each in found.unknown)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("parent=up limit-at=2M", "parent=web limit-at=2M"), "one with max-limit and queues whose parent it is"),
        (("queue=fair", "queue=pcq-upload-default"), "a queue of the kind `pcq`, which is not simulated"),
        (("max-limit=10M\nadd name=voice", "\nadd name=voice"), "the uppermost queue has no max-limit"),
        (("limit-at=3M", "limit-at=30M"), "at most the link's rate"),
    ],
)
def test_a_tree_of_queues_that_is_no_link_s_is_refused_by_name(change: tuple[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read("routeros", TREE.replace(*change))


def test_rates_of_htb_that_fill_the_link_are_weights() -> None:
    found = read("linux", DEVIK)
    by_class = classes(found)
    assert found.port.rate == 800_000
    assert {name: entry.weight / by_class["1:11"].weight for name, entry in by_class.items()} == {
        "1:10": 3,
        "1:11": 1,
        "1:12": 6,
    }
    assert [str(entry.queue.limit) for entry in by_class.values()] == ["5 packets", "5 packets", "127 packets"]
    assert [*by_class][-1] == "1:12", "the default class takes what no filter does"
    assert found.unknown == ()


def test_the_tiers_of_sqm_are_the_same_as_commands_and_as_a_section() -> None:
    """Shares of the link while nothing has priority: a sixth for the background, the rest for the best effort."""
    commands, section = read("linux", SIMPLE), read("openwrt", SQM)
    assert dataclasses.replace(section.port, other=None).with_queue(commands.port.queue) == commands.port
    one, other = classes(commands), classes(section)
    assert (
        [entry.priority for entry in one.values()]
        == [entry.priority for entry in other.values()]
        == [True, False, False]
    )
    for a, b in zip(one.values(), other.values(), strict=True):
        assert a.weight == pytest.approx(b.weight, rel=1e-3)
        assert (a.queue.limit, a.queue.discipline.kind) == (b.queue.limit, b.queue.discipline.kind)
        assert a.queue.discipline.level("quantum") == b.queue.discipline.level("quantum") == Limit(300, "bytes")
    assert other["best-effort"].weight / other["background"].weight == pytest.approx(5, rel=1e-2)
    assert "1:11: its ceiling of 6.666 Mb/s" in commands.unsimulated
    assert any(each.startswith("line 9: tc filter") for each in commands.skipped)


def test_sqm_has_one_download_tier_unless_dscp_is_enabled() -> None:
    one = package.translate(SQM, "openwrt", direction="download").port
    assert isinstance(one.queue, Queue)
    assert (one.rate, one.direction) == (85_000_000, "download")
    three = package.translate(f"{SQM} option squash_ingress '0'\n", "openwrt", direction="download").port
    assert isinstance(three.queue, Classes)
    quanta = {entry.name: entry.queue.discipline.level("quantum").amount for entry in three.queue.classes}
    assert quanta == {"priority": 500, "background": 300, "best-effort": 1500}


def test_a_command_chooses_the_direction() -> None:
    answer = forebay("translate", SQM, "--for", "openwrt", "--direction", "download", "--toml")
    assert answer.code == 0, answer.err
    assert '"fq_codel"' in answer.out
    assert "classes" not in answer.out
    assert "classes" in forebay("translate", SQM, "--for", "openwrt", "--toml").out
    refused = forebay("translate", WRED, "--for", "ios-xe", "--link", "1Mbps", "--direction", "download")
    assert refused.code == 2
    assert "found nothing that shapes the download; allowed: upload" in refused.err


def test_curves_of_hfsc_are_shares_and_a_priority() -> None:
    found = read("linux", HFSC)
    by_class = classes(found)
    assert found.port.rate == 10_000_000
    assert by_class["1:11"].priority
    # A real-time curve alone is a ceiling, too; the others share by 4 and 2 Mb/s.
    assert "1:11: its ceiling of 100 kb/s" in found.unsimulated
    assert by_class["1:12"].weight / by_class["1:13"].weight == pytest.approx(2)
    assert all(entry.queue.limit == Limit(50, "packets") for entry in by_class.values())


def test_a_queue_for_each_flow_has_no_limit_that_a_scenario_could_have() -> None:
    found = read("linux", "tc qdisc replace dev eth0 root fq", 10**9)
    assert isinstance(found.port.queue, Queue)
    assert (found.port.queue.limit, found.port.queue.discipline.kind) == (UNKNOWN, "drr")
    assert any("at most 100 packets of a flow and 10,000 packets of all" in each for each in found.unknown)
    several = read("linux", "tc qdisc replace dev eth0 root fq limit 100 flow_limit 100", 10**9)
    assert isinstance(several.port.queue, Queue)
    assert several.port.queue.limit == Limit(100, "packets")


def test_wred_is_read_by_the_values_of_the_class_map() -> None:
    found = read("ios-xe", WRED, 10**7)
    by_class = classes(found)
    assert by_class["BULK"].queue.discipline.level("min") == Limit(24, "packets")
    assert by_class["DATA"].queue.discipline.kind == "droptail"
    assert "BULK: WRED of dscp af12, dscp default; it is read as that of dscp af11 for all" in found.unsimulated
    assert any(each.startswith("DATA: the thresholds of random-detect") for each in found.unknown)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("parent 1:1 classid 1:11", "parent 1: classid 1:11"), "at the root of htb, where none lends to another"),
        (("rate 60kbps", "rate 70kbps"), "880 kb/s together on a link of 800 kb/s"),
        (("rate 10kbps ceil", "ceil"), "found class 1:11 of htb without a rate"),
        (
            ("handle 20: pfifo limit 5", "handle 20: tbf rate 1mbit burst 5k limit 9k"),
            "found tbf in 1:10, which shapes",
        ),
    ],
)
def test_what_is_no_link_with_classes_is_refused_with_the_reason(change: tuple[str, str], message: str) -> None:
    assert change[0] in DEVIK
    text = DEVIK.replace(*change)
    with pytest.raises(InputError, match=message) as refused:
        read("linux", text)
    assert "\n" not in str(refused.value)


def test_classes_without_a_common_queue_are_links_of_their_own() -> None:
    text = DEVIK.replace("ceil 100kbps\n", "\n").replace("rate 60kbps", "rate 50kbps")
    with pytest.raises(InputError, match="so that each is a link of its own; allowed: the lines of one of them"):
        read("linux", text)
    nested = (
        DEVIK.replace("parent 1:1 classid 1:11", "parent 1:10 classid 1:11").replace(
            "parent 1:11 handle", "parent 1:13 handle"
        )
        + "tc class add dev eth0 parent 1:10 classid 1:13 htb rate 1kbps\n"
    )
    with pytest.raises(InputError, match="found classes within class 1:10; allowed: one level"):
        read("linux", nested)


def test_a_latency_of_tbf_is_a_limit() -> None:
    """The limit of tc/q_tbf.c: what the rate sends in the latency, and the bucket, in bytes of frames."""
    frames = Fraction(1500, 1514)
    found = read("linux", "tc qdisc add dev eth0 root tbf rate 1mbit burst 32kbit latency 400ms")
    assert isinstance(found.port.queue, Queue)
    assert found.port.queue.limit == Limit(round((50_000 + 4096) * frames), "bytes")
    peak = read(
        "linux", "tc qdisc add dev eth0 root tbf rate 0.5mbit burst 5kb latency 70ms peakrate 1mbit minburst 1540"
    )
    assert isinstance(peak.port.queue, Queue)
    assert peak.port.queue.limit == Limit(round(min(4375 + 5120, 8750 + 1540) * frames), "bytes")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("eth0", "$DEV"),
        ("100kbps", "$((10*10))kbps"),
        ("100kbps", "$[200/2]kbps"),
        ("100kbps", "${CEIL}kbps"),
        ("tc class", "$TC class"),
        ("tc class", "sudo /sbin/tc class"),
        ("tc class", "tc -s class"),
        ("htb default 12\n", "htb default 0x12 2>/dev/null || true\n"),
        ("handle 1:", "handle 1:0"),
        ("parent 1: ", "parent 1:0 "),
    ],
)
def test_a_script_says_what_its_commands_say(before: str, after: str) -> None:
    given_to = "DEV=eth0\nTC=/sbin/tc\nexport CEIL=100\nRTT=$(ping -c 1 host | tail -1)\n"
    assert before in DEVIK
    assert read("linux", given_to + DEVIK.replace(before, after)).port == read("linux", DEVIK).port


def test_a_variable_that_is_not_known_is_named() -> None:
    with pytest.raises(InputError, match=r"line 2: found `\$\{UP\}kbit`; allowed: a rate"):
        read(
            "linux",
            "tc qdisc add dev eth0 root handle 1: htb\ntc class add dev eth0 parent 1: classid 1:1 htb rate ${UP}kbit",
        )


@pytest.mark.usefixtures("tc")
def test_what_the_kernel_shows_of_htb_is_read_as_its_commands() -> None:
    text = DEVIK.replace("sfq perturb 10", "pfifo limit 7")  # which every kernel has
    outcomes, shown = given_to_tc(text.splitlines(), "tc -d class show dev lo; tc qdisc show dev lo")
    assert all(code == 0 for code, _ in outcomes), outcomes
    assert read("linux", shown).port == read("linux", text).port


def test_two_interfaces_of_eos_are_distinguished() -> None:
    profile = "qos profile {}\n   tx-queue 0\n      bandwidth percent {}\n   tx-queue 1\n      bandwidth percent 50\n"
    with pytest.raises(InputError, match="found queues of `A` and `B`; allowed: one interface or profile"):
        read("eos", profile.format("A", 50) + profile.format("B", 20), 10**9)
    assert isinstance(read("eos", "qos trust dscp\n" + profile.format("A", 50), 10**9).port.queue, Classes)


@pytest.mark.parametrize(
    ("system", "text", "names"),
    [
        ("nx-os", "policy-map type network-qos N\n class type network-qos c\n  mtu 9216\npolicy-map type queuing Q\n"
         " class type queuing c-out-8q-q1\n  bandwidth percent 40\n class type queuing c-out-8q-q-default\n"
         "  bandwidth percent 60\nsystem qos\n service-policy type network-qos N\n"
         " service-policy type queuing output Q\n", ["c-out-8q-q1", "c-out-8q-q-default"]),
        ("junos", "set class-of-service schedulers A transmit-rate percent 40 buffer-size percent 40 priority low\n"
         "set class-of-service schedulers B transmit-rate remainder\n"
         "set class-of-service scheduler-maps M forwarding-class af scheduler A\n"
         "set class-of-service scheduler-maps M forwarding-class be scheduler B\n", ["af", "be"]),
        ("ios-xr", "policy-map E\n class A\n  priority level 1\n  shape average percent 50\n class class-default\n"
         "  random-detect default\npolicy-map MARK\n class A\n  set dscp ef\ninterface HundredGigE0/0/0/0\n"
         " service-policy output E\n service-policy output MARK\n", ["A", "class-default"]),
        ("sros", "configure {\n router \"Base\" {\n  autonomous-system 65000\n }\n qos {\n"
         "  sap-egress \"D\" {\n   queue 1 {\n"
         "    rate {\n     pir max\n    }\n   }\n   queue 2 {\n    mbs 1000 bytes\n   }\n  }\n }\n}\n", ["2", "1"]),
    ],
)  # fmt: skip
def test_whole_configurations_of_other_platforms_are_answered(system: str, text: str, names: list[str]) -> None:
    found = read(system, text, 10**9)
    assert isinstance(found.port.queue, Classes)
    assert [entry.name for entry in found.port.queue.classes] == names


def test_simple_queues_of_routeros_have_two_directions() -> None:
    kinds = "/queue type\nadd name=f kind=fq-codel fq-codel-limit=1000\n"
    text = f"{kinds}/queue simple\nadd max-limit=17M/340M queue=f/f target=ether1\n"
    down = package.translate(text, "routeros", direction="download").port
    assert (down.rate, down.direction, down.other) == (340_000_000, "download", 17_000_000)
    built_in = read("routeros", '/queue simple add max-limit=512k/1M target=192.168.1.0/24 name="all"')
    assert built_in.unknown == ("its buffer, that of the queue type default-small; /queue type print shows it",)


# Laws.

RATES = st.integers(1, 10**6)


@st.composite
def leaves(draw: st.DrawFn) -> tuple[int, list[Leaf]]:
    """Classes whose rates fit their link."""
    link = draw(st.integers(1000, 10**9))
    count = draw(st.integers(2, 6))
    leaves_ = []
    for number in range(count):
        floor = Fraction(draw(st.integers(0, link // count)))
        ceiling = draw(st.none() | st.integers(int(floor), 2 * link).map(Fraction))
        leaves_.append(Leaf(str(number), floor, ceiling, Fraction(draw(RATES)), draw(st.integers(0, 3))))
    return link, leaves_


@given(leaves(), st.sampled_from(["htb", "hfsc"]))
@settings(deadline=None, max_examples=examples(200))
def test_shares_fill_the_link_and_hold_rates_and_ceilings(drawn: tuple[int, list[Leaf]], kind: str) -> None:
    link, stated = drawn
    by: Literal["htb", "hfsc"] = "htb" if kind == "htb" else "hfsc"
    if sum(min(link, link if leaf.ceiling is None else leaf.ceiling) for leaf in stated) <= link:
        with pytest.raises(InputError, match="link of its own"):
            divide(by, stated, link)
        return
    division = divide(by, stated, link)
    weights = [part.weight for part in division.parts]
    assert sum(weights) == pytest.approx(link)
    for part in division.parts:
        top = link if part.leaf.ceiling is None else part.leaf.ceiling
        assert float(part.leaf.floor) * (1 - 1e-9) <= part.weight <= float(top) * (1 + 1e-9)


@given(
    st.integers(1, 10**6),
    st.lists(st.tuples(RATES, st.integers(0, 100), st.integers(0, 10**6)), min_size=1, max_size=8),
)
def test_what_is_shared_is_shared_in_proportion(total: int, drawn: list[tuple[int, int, int]]) -> None:
    """Classes that are neither at their least nor at their most share in proportion to their turns."""
    wishes = [(Fraction(turn), Fraction(least), Fraction(least + more)) for turn, least, more in drawn]
    got = filled(Fraction(total + sum(least for _, least, _ in drawn)), wishes)
    heights = {amount / turn for amount, (turn, least, most) in zip(got, wishes, strict=True) if least < amount < most}
    assert len(heights) <= 1


@st.composite
def scripts(draw: st.DrawFn) -> str:
    """Classes of htb with rates that need not fit."""
    count = draw(st.integers(1, 4))
    lines = [
        "tc qdisc add dev eth0 root handle 1: htb default 10",
        "tc class add dev eth0 parent 1: classid 1:1 htb rate 10mbit",
    ]
    for number in range(count):
        rate, ceiling = draw(st.integers(1, 12)), draw(st.none() | st.integers(1, 20))
        parent = draw(st.sampled_from(["1:1", "1:1", "1:1", "1:", "1:10"]))
        line = f"tc class add dev eth0 parent {parent} classid 1:{10 + number} htb rate {rate}mbit"
        lines.append(
            line + ("" if ceiling is None else f" ceil {ceiling}mbit") + draw(st.sampled_from(["", " prio 1"]))
        )
    return "\n".join(lines)


@given(scripts())
@settings(deadline=None, max_examples=examples(150))
def test_every_script_of_htb_is_answered_or_refused_in_a_line(text: str) -> None:
    answer = _answer(text)
    if isinstance(answer, str):
        assert "\n" not in answer
    else:
        tomllib.loads(link_table(answer.port, answer.unknown, answer.unsimulated))


def _answer(text: str) -> Translation | str:
    try:
        return read("linux", text)
    except InputError as refused:
        return str(refused)


QUEUES = {
    "droptail": '"droptail"',
    "fq_codel": '"fq_codel"',
    "red": '{ kind = "red", min = "20p", max = "60p", gentle = false }',
    "classes": """{ kind = "classes", schedule = "dwrr", classes = [
        { name = "a", groups = ["a"], priority = true, buffer = "20p" },
        { name = "b", groups = ["b"], weight = 3, buffer = "40p" },
        { name = "c", buffer = "40p" },
    ] }""",
}
SCENARIO = """[link]
rate = "16Mbps"
buffer = "100p"
queue = {queue}
""" + "".join(f'[[flows]]\nname = "{name}"\nrtt = "40ms"\npacket = "1500B"\n' for name in "abc")


@pytest.mark.parametrize("system", PLATFORMS)
@pytest.mark.parametrize("kind", QUEUES)
def test_a_written_configuration_is_read_back_to_the_same_scenario(system: str, kind: str) -> None:
    """The table that `translate` prints, with the flows beside it, has the port that the lines were written for."""
    text = SCENARIO.replace("{queue}", QUEUES[kind])
    spoken = PLATFORMS[system]
    requested = Port.of(Scenario.parse(text))
    configuration = configure(spoken, requested)
    if not configuration.lines:
        pytest.skip(f"{system} has no {kind}")
    found = translate("\n".join(configuration.lines), system, Assumed(16_000_000))
    assert not [line for line in found.skipped if " tc filter " not in line]
    table = tomllib.loads(link_table(found.port, found.unknown, found.unsimulated))
    names = [name for entry in table["link"]["queue"].get("classes", []) for name in entry.get("groups", [])]
    flows = "".join(f'[[flows]]\nname = "{name}"\nrtt = "40ms"\npacket = "1500B"\n' for name in [*names, "rest"])
    configured = configure(
        spoken, Port.of(Scenario.parse(link_table(found.port, found.unknown, found.unsimulated) + flows))
    )
    assert _without_names(configured.lines) == _without_names(configuration.lines)


def _without_names(lines: tuple[str, ...]) -> list[str]:
    """Lines without what a configuration does not say: how large packets are is said where something counts them."""
    return [line for line in lines if not line.lstrip().startswith(("class", "match"))]
