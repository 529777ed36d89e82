"""The lines for Linux, given to the real tc in a network namespace of the test's own, and what it prints read back."""

from __future__ import annotations

import dataclasses
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from forebay import InputError, Scenario, _core
from forebay.configuration.access import Framing
from forebay.configuration.configuring import configure, fit, link_table, translate
from forebay.configuration.platforms.linux import units
from forebay.configuration.platforms.linux.reader import of_ip
from forebay.configuration.platforms.linux.red import burst_of, shift_of
from forebay.configuration.platforms.linux.tc import LINUX
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.port import Classes, Discipline, Limit, Port, Queue, TrafficClass
from tests.support.commands import forebay
from tests.support.paths import ROOT
from tests.support.tiers import examples
from tests.support.traffic_control import given_to_tc, statements

KINDS = [kind.name for kind in _core.disciplines() if kind.name in LINUX.disciplines and kind.name != "classes"]
DSL = ROOT / "scenarios" / "dsl-access.toml"


def port(*overrides: str, file: Path = DSL) -> Port:
    return Port.of(Scenario.load(file, overrides))


def lines(*overrides: str) -> str:
    return "\n".join(configure(LINUX, port(*overrides)).lines)


# The real tc --------------------------------------------------------------------------------------------------------


#: Messages of the kernel about a statement beneath a discipline that it lacks.
BENEATH = (
    "Class doesn't support",
    "Parent qdisc",
    "No such file",
    "Failed to find",
    "Parent Qdisc",
    "We have an error",
)


@pytest.mark.usefixtures("tc")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", ["16Mbps", "400Gbps", "64kbps"])
def test_tc_takes_every_discipline(kind: str, rate: str) -> None:
    changes = [f"link.queue={kind}", f"link.rate={rate}", "flows.1.workload.cbr.rate=10kbps"]
    # Its automatic thresholds at 400 Gb/s are far above 64 packets.
    configuration = configure(LINUX, port(*changes, *(["link.buffer=100000p"] if kind == "choke" else [])))
    assert configuration.lines
    # A few of a thousand equal classes are enough.
    told_to_tc = [line.replace("$(seq 1 1024)", "$(seq 1 3)") for line in configuration.lines]
    found, _ = given_to_tc(told_to_tc, "tc qdisc show dev lo")
    assert len(found) == len(statements("\n".join(configuration.lines)))
    unknown = False
    for code, stated in found:
        if "Unknown qdisc" in stated:
            pytest.skip(f"this iproute2 is too old for {kind}")
        if code == 0:
            continue
        # 2 is the kernel's refusal, 1 would be tc's own.
        assert code == 2, stated
        assert "kind is unknown" in stated or (unknown and any(words in stated for words in BENEATH)), stated
        unknown = True


#: An Ethernet frame as tc counts it: its header beside IP, and no check sequence.
FRAME = Framing(units.HEADER)


@pytest.mark.usefixtures("tc")
@pytest.mark.parametrize("show", ["tc -s -j qdisc show", "tc -s qdisc show", "tc -d -j qdisc show", "tc -d qdisc show"])
@pytest.mark.parametrize(
    ("kind", "rate", "buffer"),
    [
        ("droptail", "16Mbps", "64p"),
        ("droptail", "16Mbps", "96000B"),
        ("droptail", "400Gbps", "1p"),
        ("droptail", "400Gbps", "1B"),
        ("droptail", "10Gbps", "1MB"),
        ("droptail", "64kbps", "5p"),
        ("drophead", "1Gbps", "100p"),
    ],
)
def test_what_the_kernel_has_is_read_back(show: str, kind: str, rate: str, buffer: str) -> None:
    requested = port(
        f"link.queue={kind}", f"link.rate={rate}", f"link.buffer={buffer}", "flows.1.workload.cbr.rate=1kbps"
    )
    configuration = configure(LINUX, requested)
    found, shown = given_to_tc(configuration.lines, f"{show} dev lo")
    assert all(code == 0 for code, _ in found), found
    read = translate(shown, "linux", Assumed())
    if "-d" not in show:  # no size table is shown
        requested = dataclasses.replace(
            requested, wire=FRAME, queue=of_ip(requested.queue, FRAME, requested.packet, [])
        )
        assert "tc shows a size table with -d only; none is assumed" in read.derivation
    assert dataclasses.replace(read.port, layer="l3") == dataclasses.replace(requested, groups=())


@pytest.mark.usefixtures("tc")
def test_the_shaper_counts_frames_where_the_scenario_does() -> None:
    for layer in ("l1", "l2", "l3"):
        requested = port(f"link.rate_layer={layer}")
        found, shown = given_to_tc(configure(LINUX, requested).lines, "tc -d -j qdisc show dev lo")
        assert all(code == 0 for code, _ in found), found
        assert translate(shown, "linux", Assumed()).port == dataclasses.replace(requested, groups=())


@pytest.mark.usefixtures("tc")
def test_an_htb_of_a_user_is_read() -> None:
    commands = [
        "tc qdisc add dev eth0 root handle 1: htb default 10",
        "tc class add dev eth0 parent 1: classid 1:10 htb rate 20mbit",
        "tc qdisc add dev eth0 parent 1:10 pfifo limit 50",
    ]
    _, shown = given_to_tc(commands, "tc class show dev lo; tc qdisc show dev lo")
    for text in ("\n".join(commands), shown):
        read = translate(text, "linux", Assumed()).port
        assert read.rate == 20_000_000
        assert read.queue == Queue(Limit(50, "packets"), Discipline("droptail"))


@pytest.mark.usefixtures("tc")
@pytest.mark.parametrize("kind", ["red", "choke"])
def test_tc_takes_every_curve(kind: str) -> None:
    """Thresholds, weights and probabilities at the ends of what there is: tc computes tables of them and may refuse."""
    commands = []
    curves = [(least, most, weight) for least in (0, 1, 7, 90) for most in (1, 8, 99) for weight in (1e-9, 0.001, 1.0)]
    for least, most, weight in curves:
        if least > most:
            continue
        table = f'{{ kind = "{kind}", min = "{least}p", max = "{most}p", max_p = 1e-9, weight = {weight} }}'
        for rate in ("10kbps", "16Mbps", "100Gbps"):
            changes = (
                f"link.queue={table}",
                f"link.rate={rate}",
                "flows.1.workload.cbr.rate=1kbps",
                "link.buffer=100p",
            )
            commands.append(configure(LINUX, port(*changes)).lines[-1].replace("parent 1:1", "root"))
    found, _ = given_to_tc(commands, "true")
    assert len(found) == len(commands)
    assert {code for code, _ in found} <= {0, 2}, [each for each in found if each[0] == 1]
    assert all("kind is unknown" in stated for code, stated in found if code)


@pytest.mark.usefixtures("tc")
def test_the_kernel_takes_the_filters() -> None:
    """The kernel here lacks prio, so the filters are attached to an htb with the same handles."""
    configuration = configure(LINUX, port('link.queue={kind = "priority", bands = 3}')).lines
    filters = [line for line in configuration if line.startswith("tc filter")]
    assert len(filters) == 4
    found, shown = given_to_tc(
        ["tc qdisc add dev eth0 root handle 10: htb default 3", *filters], "tc filter show dev lo parent 10:"
    )
    assert all(code == 0 for code, _ in found), found
    assert shown.count("flowid 10:1") == shown.count("flowid 10:2") == 2
    # EF and AF41 where they are in either header.
    assert "match 00b80000/00fc0000 at 0" in shown
    assert "match 0b800000/0fc00000 at 0" in shown


@pytest.mark.usefixtures("tc")
@settings(
    max_examples=examples(8),
    derandomize=True,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=st.from_regex(r"\A[1-9][0-9]{0,4}(\.[0-9])?([kKmM]?[bB]?)\Z"))
def test_a_size_is_what_tc_makes_of_it(text: str) -> None:
    """tc's own reader of sizes: the limit of a bfifo comes back in bytes."""
    found, shown = given_to_tc([f"tc qdisc replace dev eth0 root bfifo limit {text}"], "tc -j qdisc show dev lo")
    assert found[0][0] in {0, 1, 2}
    if found[0][0] == 0:
        assert json.loads(shown)[0]["options"]["limit"] == units.size(text).amount


@pytest.mark.usefixtures("tc")
@pytest.mark.parametrize("text", ["16mbit", "2mbps", "1.5gbit", "8kibit", "64000", "400Gbit", "100kbps", "1.1Mbit"])
def test_a_rate_is_what_tc_makes_of_it(text: str) -> None:
    words = f"tc qdisc replace dev eth0 root tbf rate {text} burst 100k limit 1m"
    _, shown = given_to_tc([words], "tc -j qdisc show dev lo")
    assert json.loads(shown)[0]["options"]["rate"] * 8 == units.rate(text)


# Configurations of users ----- --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("tc qdisc add dev eth0 root pfifo limit 100", 150_000),
        ("bfifo limit 150000", 150_000),
        ("bfifo limit 200kb", 204_800),
        ("bfifo limit 1.5m", 1_572_864),
        ("bfifo limit 8kbit", 1024),
        ("sudo tc qdisc replace dev eth0 root fq_codel limit 100p", 150_000),
        ("tc qdisc add dev eth0 root tbf rate 16mbit burst 5k limit 96896", 96_000),
        (
            "tc qdisc add dev a root handle 1: tbf rate 1gbit burst 5k\ntc qdisc add dev a parent 1: pfifo limit 9",
            13_500,
        ),
    ],
)
def test_single_settings(text: str, size: int) -> None:
    found = translate(text, "linux", Assumed(10**9))
    assert found.bytes == size
    assert found.seconds == pytest.approx(size * 8 / float(found.port.ip_rate))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bfifo limit 1,000", r"found `1,000`; allowed: a size such as .*; did you mean `1000`\?"),
        ("pfifo limit 1,000 packets", r"found `1,000`; .* did you mean `1000`\?"),
        ("pfifo limit 1000 packets", "found `packets`; allowed: limit"),
        ("pfifo limit 200kb", "found `200kb`; allowed: a number of packets"),
        ("pfifo limit 1.5", "found `1.5`"),
        ("pfifo limit -5", "found `-5`"),
        ("bfifo limit 200kB/s", "found `200kB/s`"),
        ("bfifo limit 200kp", r"found `200kp`; .* did you mean `200k`\?"),
        ("bfifo limit 5g", "found `5g`; allowed: a size below 4 GiB"),
        ("fq_codel limt 64", r"found `limt`; allowed: limit, .*; did you mean `limit`\?"),
        ("fq_codel target 5 ms", "found `ms`"),
        ("fq_codl limit 64", r"did you mean `fq_codel`\?"),
        ("tc qdisc add dev eth0 root cbq", "found `cbq`"),
        ("tc qdisc add dev eth0 rot pfifo limit 5", r"did you mean `root`\?"),
        ("tc qdsc add dev eth0 root pfifo limit 5", r"did you mean `qdisc`\?"),
        ("bfifo", "found no limit"),
        ("pfifo limit", "found nothing after `limit`"),
        ("red min 3000 max 9000 avpkt 1500", "found no limit"),
        ("red limit 60000 min 9000 max 18000 avpkt 1500 burst 1", "burst of at least min / avpkt"),
        ("", "found nothing"),
        ("tc qdisc add dev eth0 root htb\ntc qdisc add dev eth1 root pfifo limit 5", "2 roots"),
        ("tc qdisc add dev eth0 root tbf rate 1mbit burst 5k", "found tbf without a limit or latency"),
        ("tc qdisc add dev eth0 root pfifo limit 5\nlimit 5", "line 2: found `limit`"),
        ("[{]", "line 1: found no JSON"),
        ('[{"kind": "cbq"}]', "found `cbq`"),
    ],
)
def test_what_is_not_understood_is_an_error(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        translate(text, "linux", Assumed(10**9))


def test_the_size_table_of_plain_output_is_read() -> None:
    """As `tc -d qdisc show` prints it: the table on a line of its own, a latency of a thousand seconds and more."""
    text = (
        "qdisc tbf 1: root refcnt 2 rate 1Kbit burst 2000b/1 mpu 0b lat 2.22e+03s overhead 38 linklayer ethernet \n"
        " linklayer ethernet overhead -14 \n"
        "qdisc pfifo 80bd: parent 1:1 limit 200p\n"
    )
    read = translate(text, "linux", Assumed()).port
    assert (read.rate, read.layer, read.queue) == (1000, "l1", Queue(Limit(200, "packets"), Discipline("droptail")))
    text = (
        "qdisc htb 1: root refcnt 2 r2q 10 default 0x1 direct_packets_stat 0 ver 3.17 direct_qlen 1000\n"
        " linklayer ethernet overhead -14 \n"
        "qdisc pfifo 82ae: parent 1:1 limit 200p\n"
        "class htb 1:1 root leaf 82ae: prio 0 quantum 1514 rate 123456Kbit overhead 18 ceil 400Gbit "
        "linklayer ethernet burst 54320b/1 mpu 0b cburst 950000b/1 mpu 0b level 0 \n"
    )
    read = translate(text, "linux", Assumed()).port
    # A class at the root of htb has none to borrow from (sch_htb.c), so that its ceiling changes nothing.
    assert (read.rate, read.layer) == (123_456_000, "l2")


def test_what_other_kernels_print() -> None:
    """As tc-fq_codel(8) and a machine with the discipline print it; 5 ms come back as 4,999 us."""
    bare_text = (
        "qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 64p flows 1024 quantum 1514 target 5ms interval 100ms "
        "memory_limit 32Mb ecn drop_batch 64 \n Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n"
        " backlog 0b 0p requeues 0\n  maxpacket 0 drop_overlimit 0 new_flow_count 0 ecn_mark 0\n"
        "  new_flows_len 0 old_flows_len 0\n"
    )
    printed = json.dumps(
        [
            {
                "kind": "fq_codel",
                "handle": "8001:",
                "dev": "eth0",
                "root": True,
                "refcnt": 2,
                "options": {
                    "limit": 64,
                    "flows": 1024,
                    "quantum": 1514,
                    "target": 4999,
                    "interval": 99999,
                    "memory_limit": 33554432,
                    "ecn": True,
                    "drop_batch": 64,
                },
                "bytes": 0,
                "packets": 0,
                "drop_overlimit": 0,
            }
        ]
    )
    for text in (bare_text, printed):
        read = translate(text, "linux", Assumed(10**8)).port
        assert isinstance(read.queue, Queue)
        discipline = read.queue.discipline
        assert discipline.kind == "fq_codel"
        assert discipline.ecn
        assert discipline.time("target") == Fraction(5, 1000)
        assert discipline.time("interval") == Fraction(100, 1000)
        assert discipline.level("quantum") == Limit(1514, "bytes")
        assert read.queue.limit == Limit(64, "packets")


# Written configurations ----- ---------------------------------------------------------------------------------------


def test_the_issue_s_example() -> None:
    text = lines("link.queue=fq_codel")
    assert "tbf rate 16mbit" in text
    assert "fq_codel limit 64 target 5ms interval 100ms noecn flows 1024 quantum 1514" in text


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        ("pie", "limit 64 target 15ms tupdate 15ms alpha 2 beta 20 noecn"),
        ("fq_pie", "alpha 2 beta 20 flows 1024 quantum 1514 ecn_prob 10"),
        ("cake", "cake bandwidth 16mbit besteffort triple-isolate rtt 100ms overhead 0"),
        ("sfq", "sfq limit 64 quantum 1500 divisor 1024 flows 1024 depth 64 perturb 0"),
        ("dualpi2", "alpha 0.16 beta 3.2 coupling_factor 2 step_thresh 1ms classic_protection 10%"),
        ("drophead", "pfifo_head_drop limit 64"),
        # min is five packets; a weight of 1/1333 is nearest to 2^-10.
        ("red", "red limit 96000 min 7500 max 22500 avpkt 1500 burst 66 bandwidth 16mbit probability 0.1 adaptive"),
    ],
)
def test_the_defaults_of_each_discipline(queue: str, words: str) -> None:
    assert words in lines(f"link.queue={queue}")


def test_what_follows_from_other_settings_is_the_kernel_s() -> None:
    fitted = LINUX.fit(port("link.queue=cake")).port.queue
    assert isinstance(fitted, Queue)
    assert fitted.discipline.level("quantum") == Limit(488, "bytes")
    assert fitted.discipline.time("target") == Fraction(5, 1000)
    long = configure(LINUX, port("link.queue=sfq", "link.buffer=500p"))
    assert " depth 127 " in long.lines[-1]
    assert any("at most 127" in note for note in long.notes)


def test_bursts_are_turned_into_weights_as_tc_does() -> None:
    """The example of tc-red(8), min 30000 avpkt 1000 burst 55, by hand: 26 packets of allowance are below the sum of a
    weight of 1/32, which is 26.4, and above that of 1/16, which is 15.5."""
    assert shift_of(55, 30) == 5
    assert shift_of(1, 0.5) is None
    assert shift_of(20, 30) is None


def test_a_low_threshold_leaves_the_weight_alone() -> None:
    """At one packet or less no burst gives any weight but a half, so the threshold is two."""
    fitted = LINUX.fit(port('link.queue={ kind = "red", min = "1p", max = "9p", weight = 0.001953125 }')).port.queue
    assert isinstance(fitted, Queue)
    assert fitted.discipline.number("weight") == 2.0**-9
    assert fitted.discipline.level("min") == Limit(3000, "bytes")


def test_red_keeps_to_32_bits_of_the_kernel() -> None:
    """`red_check_params`: a threshold times the weight's power of two is below 2^32."""
    for level in (10**6, 10**8, 2**29):
        requested = port(
            f'link.queue={{ kind = "red", min = "{level // 4}B", max = "{level}B", weight = 1e-9, max_p = 1.0 }}'
        )
        fitted = LINUX.fit(requested).port.queue
        assert isinstance(fitted, Queue)
        assert fitted.discipline.level("max").amount / fitted.discipline.number("weight") < 2**32
    refused = configure(LINUX, port('link.queue={ kind = "red", min = "1GiB", max = "2GiB" }'))
    assert refused.notes[0].startswith("linux does not support red with max = 2,147,483,648 bytes; allowed: below ")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5ms", 5000), ("5msecs", 5000), ("7usecs", 7), ("7", 7), ("2sec", 2_000_000), ("1.5s", 1_500_000)],
)
def test_times_are_those_of_tc(text: str, seconds: int) -> None:
    assert units.time(text) == Fraction(seconds, 10**6)


def test_rates_are_whole_bytes() -> None:
    assert units.rate("1001bit") == 1000
    assert units.rate("16Mibit") == 16 * 2**20
    assert units.rate("3bps") == 24


def test_marks_are_written_where_flows_understand_them() -> None:
    assert "noecn" in lines("link.queue=codel")
    assert "noecn" not in lines("link.queue=codel", "flows.0.ecn=true")
    assert " ecn" in lines("link.queue=red", "flows.0.ecn=true")


def test_priority_is_prio_with_a_filter_for_each_band_but_the_last() -> None:
    text = lines('link.queue={kind = "priority", bands = 3}')
    assert "prio bands 3 priomap 2 2 2" in text
    assert text.count("flowid 10:1") == text.count("flowid 10:2") == 2
    assert "flowid 10:3" not in text


def test_weights_become_quanta() -> None:
    queue = Queue(Limit(10, "packets"), Discipline("droptail"))
    classes = tuple(TrafficClass(str(weight), (), weight, queue) for weight in (1.0, 3.0, 1.5))
    text = "\n".join(configure(LINUX, Port(10**9, 1500, Classes("dwrr", classes))).lines)
    assert re.findall(r"drr quantum ([0-9]+)", text) == ["1500", "4500", "2250"]
    assert "matchall classid 10:3" in text


@given(shift=st.integers(1, 24), least=st.floats(2, 1000))
def test_a_burst_gives_the_weight_that_it_was_found_for(shift: int, least: float) -> None:
    burst = burst_of(shift, least)
    if burst is not None:
        assert shift_of(burst, least) == shift
        before = shift_of(burst - 1, least)
        assert before is None or before < shift
    else:
        assert all(shift_of(other, least) != shift for other in range(1, 4000))


def test_a_translation_becomes_a_scenario(tmp_path: Path) -> None:
    table = forebay("translate", lines("link.queue=fq_codel"), "--for", "linux", "--toml")
    assert table.code == 0, table.err
    rest = DSL.read_text(encoding="utf-8")
    rest = rest[: rest.index("[link]")] + table.out + rest[rest.index("[[flows]]") :]
    (tmp_path / "read.toml").write_text(rest, encoding="utf-8")
    assert port("link.queue=fq_codel") == Port.of(Scenario.load(tmp_path / "read.toml"))


def test_translate_reads_files_and_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "shown.txt"
    file.write_text(lines(), encoding="utf-8")
    from_file = forebay("translate", file, "--for", "linux", "--json")
    assert from_file.code == 0, from_file.err
    data = json.loads(from_file.out)
    assert data["bytes"] == 96_000
    assert data["seconds"] == pytest.approx(0.048)
    assert data["rate_bps"] == 16_000_000
    assert data["queue"] == "droptail"
    assert data["toml"] == link_table(translate(lines(), "linux", Assumed()).port)


def test_a_missing_file_is_reported() -> None:
    answer = forebay("translate", "shown.json", "--for", "linux")
    assert answer.code == 2
    assert answer.err == "forebay: shown.json: cannot be read: No such file or directory\n"


def test_without_a_rate_there_is_no_time() -> None:
    answer = forebay("translate", "pfifo limit 10", "--for", "linux", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["seconds"] is None
    assert "rate" not in forebay("translate", "pfifo limit 10", "--for", "linux", "--toml").out


@pytest.mark.parametrize("quantum", [1515, 1514, 3001, 7777, 64 * 1500 + 1])
def test_quanta_that_were_fitted_are_fitted_to_themselves(quantum: int) -> None:
    """A quantum over a packet's size is no number of two's powers; it is rounded up once."""
    voice = TrafficClass("voice", (), 1.0, Queue(Limit(9000, "bytes"), Discipline("droptail")))
    other = dataclasses.replace(voice, name="other", weight=quantum / 1500)
    port = Port(10**8, 1500, Classes("dwrr", (voice, other)))
    once = fit(LINUX, port).port
    assert fit(LINUX, once).port == once
    assert isinstance(once.queue, Classes)
    assert round(once.queue.classes[1].weight * 1500) == quantum


# Texts that no device prints ----- ------------------------------------------------------------------------------------


def printed(**entry: object) -> str:
    return json.dumps([{"handle": "1:", "root": True, **entry}])


@pytest.mark.parametrize(
    "text",
    [
        "[1]", "[null]", "[[]]", '["x"]', "[{}]", "[" * 100_000, '[{"a":' * 100_000, "[NaN]", "[1e999]",
        "[" + "9" * 5000 + "]",
        '[{"kind": "bfifo", "kind": "pfifo", "options": {"limit": 5}}]',
        printed(kind=1), printed(kind=None), printed(kind="red", options=5), printed(kind="red", options=[]),
        printed(kind="red", options=None), printed(kind="bfifo", stab=3, options={"limit": 5}),
        printed(kind="bfifo", stab={"overhead": "x"}, options={"limit": 5}),
        printed(kind="bfifo", stab={"overhead": 10**9}, options={"limit": 5}),
        printed(kind="bfifo", options={"limit": None}), printed(kind="bfifo", options={"limit": {"a": 1}}),
        printed(kind="pfifo", options={"limit": -5}), printed(kind="codel", options={"target": -5}),
        printed(kind="tbf", options={"rate": -8, "burst": 1, "lat": 5}), printed(kind="tbf", options={"rate": 10**40}),
    ],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_json_that_tc_does_not_print_is_one_line(text: str) -> None:
    with pytest.raises(InputError, match=r"^translate: ") as refused:
        translate(text, "linux", Assumed())
    assert "\n" not in str(refused.value)


def classful(kind: str, options: str, *minors: str) -> str:
    leaves = [f"qdisc pfifo {n + 2}: parent 1:{minor} limit 5p" for n, minor in enumerate(minors)]
    return "\n".join([f"qdisc {kind} 1: root {options}", *leaves])


@pytest.mark.parametrize("count", [2, 5, 16])
@pytest.mark.parametrize(
    ("kind", "more"), [("prio", ""), ("ets", "strict 1"), ("ets", "strict 2"), ("ets", "quanta 3000 9000")]
)
def test_there_are_no_more_leaves_than_bands(kind: str, more: str, count: int) -> None:
    every = [f"{minor:x}" for minor in range(1, count + 1)]
    queue = translate(classful(kind, f"bands {count} {more}", *every), "linux", Assumed()).port.queue
    assert isinstance(queue, Classes)
    assert len(queue.classes) == count
    for extra in (f"{count + 1:x}", "0", "ffff", every[0]):
        with pytest.raises(InputError, match=f"line {count + 2}: found a discipline below `1:{extra}`"):
            translate(classful(kind, f"bands {count} {more}", *every, extra), "linux", Assumed())


@pytest.mark.parametrize(
    ("kind", "options"),
    [("prio", "bands 1"), ("prio", "bands 17"), ("prio", "bands 0"), ("ets", "bands 0"), ("ets", "bands 17"),
     ("ets", ""),
     ("ets", "bands 3 strict 4"), ("ets", "bands 3 quanta 1 2 3 4"), ("ets", "bands 3 strict 2 quanta 1500 1500"),
     ("ets", "bands 17 strict 17")],
)  # fmt: skip
def test_bands_are_as_many_as_the_kernel_has(kind: str, options: str) -> None:
    with pytest.raises(InputError, match=f"line 1: found {kind} of [0-9]+ band"):
        translate(classful(kind, options, "1"), "linux", Assumed())


def test_a_band_has_the_quantum_of_its_number() -> None:
    """The quantum does not depend on which other bands have a discipline, nor on their order."""
    queue = translate(
        classful("ets", "bands 5 strict 1 quanta 9000 3000 1000", "4", "2"), "linux", Assumed()
    ).port.queue
    assert isinstance(queue, Classes)
    assert [entry.weight for entry in queue.classes] == [9, 1]


def test_a_loop_is_bounded_before_it_is_written_out() -> None:
    body = "tc qdisc add dev eth0 parent 1:$i pfifo limit 5\n" * 20
    with pytest.raises(InputError, match="line 1: found 65536 turns of 20 statements; allowed: at most"):
        translate(f"for i in $(seq 0 65535); do\n{body}done", "linux", Assumed())
