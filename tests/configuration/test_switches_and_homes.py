"""SONiC, RouterOS and OpenWrt by hand: what is written, what users have, and what is not understood."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction

import pytest

from forebay import InputError, Scenario, UnsupportedError
from forebay.configuration.configuring import configure, fit, translate
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.platforms.registry import PLATFORMS
from forebay.configuration.port import Classes, Discipline, Limit, Port, Queue
from tests.support.paths import ROOT

DSL = ROOT / "scenarios" / "dsl-access.toml"
LEAF = ROOT / "scenarios" / "datacenter-leaf.toml"


def port(*overrides: str) -> Port:
    return Port.of(Scenario.load(DSL, overrides))


def lines(system: str, *overrides: str) -> str:
    configuration = configure(PLATFORMS[system], port(*overrides))
    assert configuration.lines, configuration.notes
    return "\n".join(configuration.lines)


def read(system: str, text: str, rate: int | None = None) -> Port:
    return translate(text, system, Assumed(rate)).port


def queue(found: Port) -> Queue:
    assert isinstance(found.queue, Queue)
    return found.queue


# SONiC --------------------------------------------------------------------------------------------------------------


def test_sonic_binds_what_it_defines() -> None:
    data = json.loads("\n".join(configure(PLATFORMS["sonic"], Port.of(Scenario.load(LEAF))).lines))
    profile = data["BUFFER_PROFILE"]["forebay"]
    assert profile["static_th"] == "750000"
    # The pool is the chip's, whose memory the scenario does not have.
    assert "BUFFER_POOL" not in data
    assert profile["pool"] == "egress_lossy_pool"
    assert data["BUFFER_QUEUE"]["Ethernet0|0"] == {"profile": "forebay"}
    wred = data["WRED_PROFILE"][data["QUEUE"]["Ethernet0|0"]["wred_profile"]]
    # Step marking: equal thresholds of 100 packets, marks for all that understand them.
    assert wred["green_min_threshold"] == wred["green_max_threshold"] == "150000"
    assert (wred["ecn"], wred["green_drop_probability"]) == ("ecn_all", "100")
    assert data["SCHEDULER"][data["PORT_QOS_MAP"]["Ethernet0"]["scheduler"]]["pir"] == str(25 * 10**9 // 8)
    assert all(
        isinstance(value, str) for table in data.values() for entry in table.values() for value in entry.values()
    )


@pytest.mark.parametrize(("alpha", "power"), [(1.0, "0"), (8.0, "3"), (0.125, "-3"), (0.3, "-1"), (0.001, "-8")])
def test_dynamic_thresholds_are_powers_of_two_and_never_less(alpha: float, power: str) -> None:
    requested = port(f'link.queue={{ kind = "dynamic_threshold", alpha = {alpha} }}')
    configuration = configure(PLATFORMS["sonic"], requested)
    tables = json.loads("\n".join(configuration.lines))
    assert tables["BUFFER_PROFILE"]["forebay"]["dynamic_th"] == power
    assert "BUFFER_POOL" not in tables
    assert any(note.startswith("buffer: simulated 64 packets, configured unknown (") for note in configuration.notes)
    configuration = configure(PLATFORMS["sonic"], dataclasses.replace(requested, memory=Limit(12_000_000, "bytes")))
    tables = json.loads("\n".join(configuration.lines))
    assert tables["BUFFER_POOL"]["egress_lossy_pool"] == {"type": "egress", "mode": "dynamic", "size": "12000000"}
    assert any(note.startswith("alpha: ") for note in configuration.notes) == (2.0 ** int(power) != alpha)


@pytest.mark.parametrize("buffer", ["1p", "64p", "1MB"])
def test_the_pool_of_sonic_is_the_memory_of_the_chip(buffer: str) -> None:
    requested = port(f"link.buffer={buffer}")
    configuration = configure(PLATFORMS["sonic"], requested)
    assert "BUFFER_POOL" not in json.loads("\n".join(configuration.lines))
    note = "egress_lossy_pool: not written, as the scenario has no memory of the chip; the switch has to have it"
    assert note in configuration.notes
    configuration = configure(PLATFORMS["sonic"], dataclasses.replace(requested, memory=Limit(16_000_000, "bytes")))
    tables = json.loads("\n".join(configuration.lines))
    assert tables["BUFFER_POOL"] == {"egress_lossy_pool": {"type": "egress", "mode": "static", "size": "16000000"}}
    assert note not in configuration.notes
    assert read("sonic", "\n".join(configuration.lines)).memory == Limit(16_000_000, "bytes")


@pytest.mark.parametrize(
    "table",
    ["BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_QUEUE", "QUEUE", "SCHEDULER", "WRED_PROFILE", "PORT_QOS_MAP"],
)
@pytest.mark.parametrize(
    ("value", "kind"), [([], "a list"), ("x", "a text"), (7, "`7`"), (None, "`null`"), (True, "`true`")]
)
def test_a_config_db_is_of_tables_and_entries(table: str, value: object, kind: str) -> None:
    tables = {"PORT": {}, "BUFFER_PROFILE": {"profile": {"size": "0", "static_th": "96000"}}}
    with pytest.raises(InputError, match=rf"found {table} as {kind}; allowed: a table of entries"):
        translate(json.dumps(tables | {table: value}), "sonic", Assumed(10**9))
    with pytest.raises(InputError, match=rf"found {table}\|Ethernet0 as {kind}; allowed: an entry of fields"):
        translate(json.dumps(tables | {table: {"Ethernet0": value}}), "sonic", Assumed(10**9))


def test_a_whole_config_db_is_read() -> None:
    tables = {
        "PORT": {"Ethernet0": {"speed": "100000"}, "Ethernet4": {"speed": "100000"}},
        "BUFFER_POOL": {"egress_lossy_pool": {"type": "egress", "mode": "static", "size": "9243812"}},
        "BUFFER_PROFILE": {
            "egress_lossy_profile": {"pool": "[BUFFER_POOL|egress_lossy_pool]", "size": "1518", "static_th": "3000000"},
            "pg_lossless": {"pool": "ingress_lossless_pool", "size": "1248", "xon": "2288", "dynamic_th": "-3"},
        },
        "BUFFER_QUEUE": {"Ethernet0,Ethernet4|0-1": {"profile": "[BUFFER_PROFILE|egress_lossy_profile]"}},
        "SCHEDULER": {"high": {"type": "STRICT"}, "low": {"type": "DWRR", "weight": "15"}},
        "QUEUE": {"Ethernet0,Ethernet4|1": {"scheduler": "high"}, "Ethernet0,Ethernet4|0": {"scheduler": "low"}},
    }
    found = translate(json.dumps(tables), "sonic", Assumed(10**11))
    assert isinstance(found.port.queue, Classes)
    assert [entry.priority for entry in found.port.queue.classes] == [True, False]
    assert {entry.queue.limit for entry in found.port.queue.classes} == {Limit(3_000_000, "bytes")}
    assert "Ethernet0 of 2 ports" in found.derivation


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found nothing; allowed: a config_db.json"),
        ("{", "line 1: found no JSON"),
        ('{"BUFER_PROFILE": {}}', "found `BUFER_PROFILE`; .* did you mean `BUFFER_PROFILE`"),
        ('{"PORT": {}}', "found no BUFFER_PROFILE"),
        ('"static_th": "1,518,000"', "found `1,518,000` as static_th; .*; did you mean `1518000`"),
        ('"static_th": "1518000.5"', "found `1518000.5` as static_th"),
        ('"statc_th": "1518000"', "found `statc_th` in .*; did you mean `static_th`"),
        ('{"BUFFER_PROFILE": {"a": {"static_th": "1"}}, "BUFFER_QUEUE": {"Ethernet0|25": {"profile": "a"}}}', "`25`"),
        ('"size": "0"', "a profile without a threshold"),
        (
            '{"BUFFER_PROFILE": {"a": {"static_th": "1"}}, "BUFFER_QUEUE": {"Ethernet0|0": {"profile": "b"}}}',
            "found `b`",
        ),
        (
            '{"BUFFER_PROFILE": {"a": {"static_th": "1"}}, "BUFFER_QUEUE": {"Ethernet0|x": {"profile": "a"}}}',
            "found `x`",
        ),
    ],
)
def test_sonic_names_what_it_does_not_understand(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read("sonic", text, 10**9)


# RouterOS -----------------------------------------------------------------------------------------------------------


def test_routeros_shapes_and_queues() -> None:
    text = lines("routeros", "link.queue=fq_codel")
    assert "kind=fq-codel fq-codel-limit=64 fq-codel-target=5ms fq-codel-interval=100ms fq-codel-ecn=no" in text
    assert "/queue tree\nadd name=forebay parent=ether1 queue=forebay max-limit=16M" in text
    assert "cake-bandwidth=16M" in lines("routeros", "link.queue=cake")
    assert "kind=bfifo bfifo-limit=150000" in lines("routeros", "link.buffer=150kB")


def test_what_a_mikrotik_exports_is_read() -> None:
    text = """
# 2026-09-13 12:58:01 by RouterOS 7
/queue type
add fq-codel-limit=1000 fq-codel-memlimit=4096.0KiB kind=fq-codel name=\\
    my_fq_codel
/queue simple
add max-limit=4M/29M name=bloat queue=my_fq_codel/my_fq_codel target=bridge1
"""
    found = read("routeros", text)
    assert found.rate == 4_000_000
    assert queue(found).limit == Limit(1000, "packets")
    assert queue(found).discipline.ecn
    assert queue(read("routeros", "/queue type add name=a kind=pfifo pfifo-limit=50")).limit == Limit(50, "packets")
    assert queue(read("routeros", "pfifo-limit=50")).limit == Limit(50, "packets")
    printed = (
        ' 3 * name="synchronous-default" kind=red red-limit=60 red-min-threshold=10 red-max-threshold=50 red-burst=20'
    )
    assert queue(read("routeros", printed)).discipline.level("max") == Limit(50, "packets")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/queue type add kind=fq-codl", "found kind `fq-codl`; allowed: .*; did you mean `fq-codel`"),
        ("/queue type add kind=pfifo pfifo-limt=50", "found `pfifo-limt`; .*; did you mean `pfifo-limit`"),
        ("/queue type add kind=pfifo pfifo-limit=1,000", "found `1,000`; .*; did you mean `1000`"),
        ("/queue type add kind=codel codel-target=5", "found `5`; allowed: a time"),
        ("/queue type add kind=codel codel-ecn=maybe", "found `maybe`; allowed: yes or no"),
        ("/queue type add kind=pfifo", "found no limit"),
        ("/queue tipe add kind=pfifo", "found `tipe`; .*; did you mean `type`"),
        ("/ip address add", "found 0 queue types and no queue"),
        ("/queue tree add name=a queue=b max-limit=1M", "found queue `b`"),
        ("/queue tree add nam=a queue=b", "found `nam`; .*; did you mean `name`"),
        ("/queue type add kind=bfifo bfifo-limit=5 packets", "found `packets`"),
    ],
)
def test_routeros_names_what_it_does_not_understand(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read("routeros", text, 10**9)


def test_an_sfq_of_routeros_is_never_raised_beyond_what_it_holds() -> None:
    configuration = configure(PLATFORMS["routeros"], port("link.queue=sfq", "link.buffer=500p"))
    assert configuration.lines == ()
    assert configuration.notes == ("routeros does not support sfq with 500 packets; allowed: up to 128 packets",)


def test_marks_of_routeros_are_as_its_manual_says() -> None:
    for kind, marks in (("codel", False), ("fq-codel", True)):
        found = read("routeros", f"/queue type add name=a kind={kind}")
        assert queue(found).discipline.ecn == marks


# OpenWrt ------------------------------------------------------------------------------------------------------------


def test_openwrt_is_a_queue_of_sqm() -> None:
    text = lines("openwrt", "link.queue=fq_codel")
    for option in (
        "upload '16000'",
        "qdisc 'fq_codel'",
        "script 'simplest_tbf.qos'",
        "elimit '64'",
        "etarget '5ms'",
        "egress_ecn 'NOECN'",
        "eqdisc_opts 'interval 100ms flows 1024 quantum 1514 drop_batch 64'",
    ):
        assert f"option {option}" in text
    # The overhead would count in the limit of a bfifo, too.
    assert "qdisc 'bfifo'" in lines("openwrt", "link.buffer=96000B")
    assert "qdisc 'pfifo'" in lines("openwrt", "link.buffer=96000B", "link.rate_layer=l1")
    cake = lines("openwrt", "link.queue=cake", "link.rate_layer=l2")
    assert "piece_of_cake.qos" in cake
    assert "option overhead '18'" in cake


def test_a_sqm_of_a_user_is_read() -> None:
    text = """
config queue 'eth1'
    option enabled '1'
    option interface 'eth1'
    option download '85000'
    option upload '10000'
    option qdisc 'fq_codel'
    option script 'simplest.qos'
    option linklayer 'none'
"""
    shown = "\n".join(
        [
            "sqm.eth1=queue",
            "sqm.eth1.enabled='1'",
            "sqm.eth1.upload='10000'",
            "sqm.eth1.qdisc='fq_codel'",
            "sqm.eth1.script='simplest.qos'",
        ]
    )
    for each in (text, shown):
        found = read("openwrt", each)
        assert found.rate == 10_000_000
        # Nothing said: 1001 packets, and a target that is 5 ms where a full ATM packet needs less.
        assert queue(found).limit == Limit(1001, "packets")
        assert queue(found).discipline.time("target") == Fraction(5, 1000)
    slow = read("openwrt", text.replace("10000", "1000"))
    assert queue(slow).discipline.time("target") == Fraction(33 * 53 * 8, 10**6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("config queu", "found `queu`; allowed: queue; did you mean `queue`"),
        ("config queue\n option uplod '1000'", "line 2: found `uplod`; .*; did you mean `upload`"),
        ("config queue\n option upload '1,000'\n option script 'simplest.qos'", "line 2: found `1,000` as upload"),
        (
            "config queue\n option upload '1000'\n option script 'simple_pppoe.qos'",
            "line 3: found script `simple_pppoe.qos`",
        ),
        ("option upload '1000'\noption script 'simplest.qos'\noption qdisc 'hfsc'", "line 3: found `hfsc`"),
        ("option upload '1000'\noption script 'simplest.qos'\noption eqdisc_opts 'flws 5'", "line 3: found `flws`"),
        ("option upload '1000'\noption script 'simplest.qos'\noption elimit '5k'", "found `5k`"),
        (
            "option upload '1000'\noption script 'simplest.qos'\noption elimit '9'\noption etarget 'x'",
            "line 4: found `x`; allowed: a time",
        ),
        ("option upload '1000'\noption script 'simplest.qos'\noption egress_ecn 'on'", "line 3: found `on`; .* NOECN"),
        ("option upload '1000'\noption script 'simplest.qos'\noption linklayer 'atn'", "found linklayer `atn`"),
        ("", "found 0 queues"),
    ],
)
def test_openwrt_names_what_it_does_not_understand(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read("openwrt", text, 10**9)


@pytest.mark.parametrize(
    ("system", "kind", "nearest"),
    [
        ("openwrt", "red", "codel"),
        ("routeros", "pie", "codel"),
        ("sonic", "fq_codel", "droptail (static_th)"),
        ("sonic", "pie", "red (WRED_PROFILE)"),
    ],
)
def test_what_a_platform_lacks_is_refused_with_the_nearest(system: str, kind: str, nearest: str) -> None:
    configuration = configure(PLATFORMS[system], port(f"link.queue={kind}"))
    assert configuration.notes == (f"{system} has no {kind}; the closest is {nearest}",)


def test_red_of_sonic_is_not_averaged_and_says_so() -> None:
    configuration = configure(PLATFORMS["sonic"], port('link.queue={ kind = "red", max_p = 0.024, gentle = false }'))
    assert any(note.startswith("max_p: simulated 0.024, configured 0.02 ") for note in configuration.notes)
    assert any(note.startswith("weight: ") for note in configuration.notes)
    found = read("sonic", "\n".join(configuration.lines))
    assert queue(found).discipline == Discipline(
        "red",
        {
            "max_p": 0.02,
            "gentle": False,
            "adaptive": False,
            "top": 0.5,
            "wait": False,
            "min": Limit(7500, "bytes"),
            "max": Limit(22500, "bytes"),
            "weight": 1.0,
            "bottom": 0.01,
        },
    )


def test_openwrt_refuses_the_tiers_that_it_reads_by_name() -> None:
    """simple.qos has three tiers, and SQM's options cannot say what each of them has."""
    script = "config queue\n option upload '20000'\n option download '85000'\n option script 'simple.qos'\n"
    for direction in ("upload", None):
        found = translate(script, "openwrt", Assumed(direction=direction)).port
        assert isinstance(found.queue, Classes)
        with pytest.raises(UnsupportedError, match=r"openwrt has no classes; the closest is fq_codel"):
            fit(PLATFORMS["openwrt"], found)
        configuration = configure(PLATFORMS["openwrt"], found)
        assert configuration.lines == ()
        assert configuration.notes == ("openwrt has no classes; the closest is fq_codel",)
