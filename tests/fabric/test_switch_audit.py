"""The auditor of a switch's buffers: a sound configuration has no finding, and each fault has its own."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay
from forebay.errors import InputError
from forebay.fabric.audit_answer import Audit, Finding, merged
from forebay.fabric.lookup_table import parse_table
from forebay.fabric.sonic_devices import RELEASES
from forebay.fabric.switch_audit import audit_text
from tests.support.commands import called
from tests.support.tiers import examples

Tables = dict[str, Any]

PORTS = [f"Ethernet{4 * number}" for number in range(8)]
#: Headroom of 100 Gb/s and 40 m: 5,051 B on the cable and frames of 9,100 and 1,024 B are 15,176 B.
ROWS = "# speed cable size xon xoff threshold xon_offset\n100000 40m 1248 2288 81920 -3 2288\n"


def sound() -> Tables:
    """A switch with one memory for lossless and lossy traffic, whose headroom is in a shared pool."""
    lossless = {"pool": "ingress_lossless_pool", "size": "1248", "xon": "2288", "xoff": "81920", "dynamic_th": "-3"}
    curve = {"min_threshold": "100000", "max_threshold": "400000", "drop_probability": "5"}
    return {
        "DEVICE_METADATA": {"localhost": {"hwsku": "Force10-S6100", "platform": "x86_64-dell_s6100_c2538-r0"}},
        "PORT": {name: {"speed": "100000", "lanes": "1,2,3,4", "mtu": "9100"} for name in PORTS},
        "CABLE_LENGTH": {"AZURE": dict.fromkeys(PORTS, "40m")},
        "BUFFER_POOL": {
            "ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "10875072", "xoff": "4194112"},
            "egress_lossless_pool": {"type": "egress", "mode": "static", "size": "15982720"},
        },
        "BUFFER_PROFILE": {
            "pg_lossless_100000_40m_profile": lossless,
            "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"},
            "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": "15982720"},
        },
        "BUFFER_PG": {
            **{f"{name}|3-4": {"profile": "pg_lossless_100000_40m_profile"} for name in PORTS},
            f"{','.join(PORTS)}|0": {"profile": "ingress_lossy_profile"},
        },
        "BUFFER_QUEUE": {f"{','.join(PORTS)}|3-4": {"profile": "egress_lossless_profile"}},
        "WRED_PROFILE": {
            "AZURE_LOSSLESS": {
                "ecn": "ecn_all",
                "wred_green_enable": "true",
                **{f"green_{name}": value for name, value in curve.items()},
            }
        },
        "QUEUE": {f"{name}|3-4": {"wred_profile": "AZURE_LOSSLESS"} for name in PORTS},
        "PORT_QOS_MAP": {name: {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"} for name in PORTS},
        "VLAN": {"Vlan100": {"members": ["Ethernet0"]}},
    }


def found(tables: Tables, table: str | None = None) -> Audit:
    return audit_text(json.dumps(tables, indent=1), "config_db.json", None if table is None else parse_table(table))


def one(audit: Audit, kind: str) -> Finding:
    (finding,) = (each for each in audit.findings if each.kind == kind)
    return finding


def changed(change: Callable[[Tables], object]) -> Tables:
    tables = copy.deepcopy(sound())
    change(tables)
    return tables


def test_a_sound_switch_has_no_finding() -> None:
    audit = found(sound(), ROWS)
    assert audit.findings == ()
    assert (audit.ports, audit.lossless_ports, audit.unknown_tables, audit.unknown_fields) == (8, 8, 1, 0)


def test_the_memory_for_lossy_traffic_is_the_pool_less_the_reservations() -> None:
    (pool,) = found(sound()).pools
    assert (pool.lossless_groups, pool.lossy_groups) == (16, 8)
    assert pool.reserved == 16 * 1248
    assert pool.left == 10_875_072 - 16 * 1248
    assert pool.headroom == 16 * 81_920
    assert pool.over_subscription == pytest.approx(16 * 81_920 / 4_194_112)


def test_headroom_without_a_shared_pool_is_part_of_the_reservations() -> None:
    (pool,) = found(changed(lambda tables: tables["BUFFER_POOL"]["ingress_lossless_pool"].pop("xoff"))).pools
    assert pool.left == 10_875_072 - 16 * (1248 + 81_920)


def test_a_size_that_has_the_headroom_in_it_counts_once() -> None:
    def change(tables: Tables) -> None:
        tables["BUFFER_POOL"]["ingress_lossless_pool"].pop("xoff")
        tables["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"]["size"] = "84208"

    assert found(changed(change)).pools[0].reserved == 16 * 84_208


#: A change of the sound switch, the kind of the finding, whether it is an error, and a part of its text.
FAULTS: list[tuple[Callable[[Tables], object], str, bool, str]] = [
    (lambda t: t["CABLE_LENGTH"]["AZURE"].update(Ethernet4="3000m"), "below-minimum", True, "388,912 B"),
    (lambda t: t["PORT"]["Ethernet4"].update(speed="800000", mtu="65535"), "below-minimum", True, "106,964 B"),
    (lambda t: t["BUFFER_PG"].pop("Ethernet4|3-4"), "headroom-unknown", False, "give the device's table"),
    (
        lambda t: t["BUFFER_PG"].update({"Ethernet4|3-4": {"profile": "ingress_lossy_profile"}}),
        "lossless-without-headroom",
        True,
        "PFC priority 3: no headroom in `ingress_lossy_profile`.",
    ),
    (lambda t: t["BUFFER_POOL"]["ingress_lossless_pool"].update(size="19967"), "pool-exceeded", True, "19,968"),
    (lambda t: t["BUFFER_POOL"]["ingress_lossless_pool"].update(xoff="165919"), "shared-headroom", True, "165,920"),
    (
        lambda t: t["WRED_PROFILE"]["AZURE_LOSSLESS"].update(green_min_threshold="400001"),
        "ecn-inverted",
        True,
        "minimum 400,001 B is above maximum 400,000 B",
    ),
    # One group may hold 2^-3 / (1 + 2^-3) of the pool: a ninth of 10,855,104 B.
    (
        lambda t: t["WRED_PROFILE"]["AZURE_LOSSLESS"].update(
            green_min_threshold="1206123", green_max_threshold="2000000"
        ),
        "ecn-after-pause",
        True,
        "PFC pauses at 1,206,123 B",
    ),
    # Seven congested groups: 2^-3 B / (1 + 7/8) = 723,674 B; at eight it is 678,444 B.
    (
        lambda t: t["WRED_PROFILE"]["AZURE_LOSSLESS"].update(
            green_min_threshold="700000", green_max_threshold="800000"
        ),
        "ecn-after-pause",
        False,
        "from 8 congested groups on",
    ),
    (
        lambda t: t["WRED_PROFILE"]["AZURE_LOSSLESS"].update(
            green_min_threshold="15982720", green_max_threshold="15982720", ecn="ecn_none"
        ),
        "ecn-above-pool",
        True,
        "15,982,720 B",
    ),
    (
        lambda t: t["WRED_PROFILE"]["AZURE_LOSSLESS"].update(green_drop_probability="0"),
        "no-probability",
        False,
        "0 %",
    ),
    (
        lambda t: t["WRED_PROFILE"]["AZURE_LOSSLESS"].pop("green_max_threshold"),
        "wrong-value",
        True,
        "green is enabled without green_max_threshold",
    ),
    (
        lambda t: t["BUFFER_QUEUE"].update({"Ethernet4|3": {"profile": "egress_lossless_profile"}}),
        "duplicate-key",
        True,
        "queue 3 of Ethernet4",
    ),
    (lambda t: t["BUFFER_PG"].update({"Ethernet4|5": {"profile": "nothing"}}), "unknown-reference", True, "`nothing`"),
    (
        lambda t: t["BUFFER_PG"].update({"Ethernet99|5": {"profile": "ingress_lossy_profile"}}),
        "unknown-reference",
        True,
        "`Ethernet99`",
    ),
    (lambda t: t["BUFFER_PROFILE"]["ingress_lossy_profile"].update(pool="sea"), "unknown-reference", True, "`sea`"),
    (lambda t: t["QUEUE"]["Ethernet4|3-4"].update(wred_profile="W"), "unknown-reference", True, "`W`"),
    (lambda t: t["BUFFER_PROFILE"]["ingress_lossy_profile"].update(dynamic_th="8"), "threshold", True, "is 8"),
    (lambda t: t["BUFFER_PROFILE"]["ingress_lossy_profile"].update(dynamic_th="x"), "wrong-value", True, "`x`"),
    (lambda t: t["BUFFER_PROFILE"]["ingress_lossy_profile"].pop("pool"), "no-pool", True, "no pool"),
    (
        lambda t: t["BUFFER_QUEUE"].update({"Ethernet4|0": {"profile": "ingress_lossy_profile"}}),
        "pool-type",
        False,
        "of type ingress",
    ),
    (
        lambda t: t["BUFFER_PG"].update({"Ethernet4|0": {"profile": "ingress_lossy_profile"}}),
        "duplicate-key",
        True,
        "group 0 of Ethernet4",
    ),
    (lambda t: t["PORT_QOS_MAP"]["Ethernet4"].update(pfc_enable="3"), "headroom-without-pfc", False, "Group 4"),
    (lambda t: t["PORT_QOS_MAP"]["Ethernet4"].update(pfcwd_sw_enable=""), "pfc-watchdog", False, "no watchdog"),
    (lambda t: t["PORT"]["Ethernet4"].pop("speed"), "no-speed", False, "no speed"),
    (lambda t: t["CABLE_LENGTH"]["AZURE"].pop("Ethernet4"), "no-cable", False, "no cable length"),
    (lambda t: t["CABLE_LENGTH"]["AZURE"].update(Ethernet4="long"), "wrong-value", True, "`long`"),
    (lambda t: t["BUFFER_POOL"]["ingress_lossless_pool"].update(color="red"), "unknown-field", False, "`color`"),
    (lambda t: t["BUFFER_POOL"]["ingress_lossless_pool"].update(percentage="9"), "percentage", True, "percentage of 9"),
    (
        lambda t: t.update(BUFFER_MAX_PARAM_TABLE={"Ethernet4": {"max_headroom_size": "27072"}}),
        "port-limit",
        True,
        # Two groups of 1,248 B, a margin of 4,096 B and 20,480 B for mirroring.
        "need 27,072 B",
    ),
]


@pytest.mark.parametrize(("change", "kind", "is_error", "text"), FAULTS)
def test_each_fault_has_its_finding(change: Callable[[Tables], object], kind: str, is_error: bool, text: str) -> None:
    audit = found(changed(change))
    matching = [each for each in audit.findings if each.kind == kind and text in each.text]
    assert len(matching) == 1, audit.findings
    assert matching[0].is_error == is_error
    assert matching[0].lines


def test_a_limit_that_is_just_met_is_no_fault() -> None:
    for change in (
        lambda t: t["BUFFER_POOL"]["ingress_lossless_pool"].update(size="19968", xoff="165920"),
        lambda t: t["WRED_PROFILE"]["AZURE_LOSSLESS"].update(green_min_threshold="400000"),
        lambda t: t["BUFFER_PROFILE"]["ingress_lossy_profile"].update(dynamic_th="7"),
        lambda t: t["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"].update(xoff="15176"),
        lambda t: t.update(BUFFER_MAX_PARAM_TABLE={"Ethernet4": {"max_headroom_size": "27073"}}),
    ):
        audit = found(changed(change))
        assert [each for each in audit.errors if each.kind != "ecn-after-pause"] == []


def test_a_finding_names_its_table_its_key_and_its_line() -> None:
    text = json.dumps(changed(lambda t: t["CABLE_LENGTH"]["AZURE"].update(Ethernet4="3000m")), indent=1)
    finding = one(audit_text(text), "below-minimum")
    assert finding.place == "BUFFER_PG|Ethernet4|3-4"
    line = text[: text.index('"Ethernet4|3-4"')].count("\n") + 1
    assert line in finding.lines


def test_equal_findings_are_one_with_all_places() -> None:
    finding = one(
        found(changed(lambda t: t["CABLE_LENGTH"]["AZURE"].update(dict.fromkeys(PORTS, "3000m")))), "below-minimum"
    )
    assert finding.places == tuple(f"BUFFER_PG|{name}|3-4" for name in PORTS)


def test_errors_come_before_notes() -> None:
    order = ("first", "second")
    findings = [Finding("first", "a", "x", (), is_error=False), Finding("second", "b", "y"), Finding("first", "c", "z")]
    assert [each.place for each in merged(findings, order)] == ["c", "b", "a"]


def test_a_reference_of_before_2021_is_read() -> None:
    def change(tables: Tables) -> None:
        for table, name in (("BUFFER_PG", "BUFFER_PROFILE"), ("BUFFER_QUEUE", "BUFFER_PROFILE")):
            for entry in tables[table].values():
                entry["profile"] = f"[{name}|{entry['profile']}]"
        for entry in tables["BUFFER_PROFILE"].values():
            entry["pool"] = f"[BUFFER_POOL|{entry['pool']}]"
        for entry in tables["QUEUE"].values():
            entry["wred_profile"] = f"[WRED_PROFILE|{entry['wred_profile']}]"

    assert found(changed(change)) == found(sound())


def test_a_dump_of_the_database_is_read_like_the_file() -> None:
    dump = {f"{table}|{key}": {"value": entry} for table, entries in sound().items() for key, entry in entries.items()}
    assert found(dump).findings == ()
    assert found(dump).pools == found(sound()).pools


# Where the headroom comes from.


def of_table(tables: Tables) -> None:
    """Leave the lossless groups to the device, as in a file before buffermgr has run."""
    tables["BUFFER_PG"] = {key: entry for key, entry in tables["BUFFER_PG"].items() if not key.endswith("3-4")}
    del tables["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"]


def test_headroom_that_the_device_makes_of_its_table_is_that_of_the_row() -> None:
    audit = found(changed(of_table), ROWS)
    assert audit.findings == ()
    assert audit.pools[0].headroom == 16 * 81_920


def test_a_missing_table_is_named_and_not_an_error() -> None:
    audit = found(changed(of_table))
    assert audit.errors == ()
    assert "give the device's table" in one(audit, "headroom-unknown").text


def test_a_port_without_a_row_is_an_error() -> None:
    def change(tables: Tables) -> None:
        of_table(tables)
        tables["CABLE_LENGTH"]["AZURE"]["Ethernet8"] = "300m"

    finding = one(found(changed(change), ROWS), "no-row")
    assert (finding.place, finding.is_error) == ("PORT|Ethernet8", True)
    assert "100 Gb/s and 300 m" in finding.text


def test_a_port_that_is_down_needs_no_row() -> None:
    def change(tables: Tables) -> None:
        of_table(tables)
        tables["CABLE_LENGTH"]["AZURE"]["Ethernet8"] = "300m"
        tables["PORT"]["Ethernet8"]["admin_status"] = "down"

    assert found(changed(change), ROWS).findings == ()


def test_a_port_that_is_down_gets_no_headroom_of_the_table() -> None:
    audit = found(changed(lambda t: (of_table(t), t["PORT"]["Ethernet8"].update(admin_status="down"))), ROWS)
    assert audit.pools[0].lossless_groups == 14


def test_a_cable_of_0_m_leaves_pfc_without_headroom() -> None:
    def change(tables: Tables) -> None:
        of_table(tables)
        tables["CABLE_LENGTH"]["AZURE"]["Ethernet8"] = "0m"

    texts = [each.text for each in found(changed(change), ROWS).errors]
    assert texts == [f"Priority {number} has PFC and no headroom, because the cable is 0 m." for number in (3, 4)]


def test_a_row_below_the_minimum_is_an_error_only_if_a_port_uses_it() -> None:
    rows = ROWS + "100000 300m 1248 2288 40000 -3 2288\n"
    unused = one(found(changed(of_table), rows), "table-below-minimum")
    assert not unused.is_error
    used = found(changed(lambda t: (of_table(t), t["CABLE_LENGTH"]["AZURE"].update(Ethernet8="300m"))), rows)
    assert one(used, "table-below-minimum").is_error
    assert "48,003 B" in one(used, "below-minimum").text


def dynamic(**fields: str) -> Tables:
    """A Spectrum switch whose headroom SONiC computes."""

    def change(tables: Tables) -> None:
        of_table(tables)
        tables["DEVICE_METADATA"]["localhost"] = {
            "platform": "x86_64-nvidia_sn5600-r0", "hwsku": "ACS-SN5600", "buffer_model": "dynamic"
        }  # fmt: skip
        tables["BUFFER_POOL"] = {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", **fields}}
        tables["BUFFER_PG"] |= {f"{name}|3-4": {"profile": "NULL"} for name in PORTS}
        for table in ("BUFFER_QUEUE", "WRED_PROFILE", "QUEUE"):
            del tables[table]
        del tables["BUFFER_PROFILE"]["egress_lossless_profile"]

    return changed(change)


def test_dynamic_headroom_is_that_of_the_model() -> None:
    audit = found(dynamic())
    model = forebay.headroom("100Gbps", "40m", asic="sn5600")
    assert audit.errors == ()
    assert audit.pools[0].headroom == 16 * model.xoff
    assert audit.pools[0].reserved == 16 * model.size + 8 * 19 * 1024
    assert audit.pools[0].left is None
    assert any("needs the most memory" in text for text in audit.assumptions)


def test_a_lossless_priority_that_the_dynamic_model_gives_no_group_is_an_error() -> None:
    tables = dynamic()
    del tables["BUFFER_PG"]["Ethernet4|3-4"]
    texts = [each.text for each in found(tables).errors]
    assert texts == [f"Priority {number} has PFC and no headroom." for number in (3, 4)]


@pytest.mark.parametrize("shared", ["pool", "ratio"])
def test_dynamic_headroom_with_a_shared_pool_reserves_xon(shared: str) -> None:
    tables = dynamic(**({"xoff": "2000000"} if shared == "pool" else {}))
    if shared == "ratio":
        tables["DEFAULT_LOSSLESS_BUFFER_PARAMETER"] = {
            "AZURE": {"over_subscribe_ratio": "2", "default_dynamic_th": "0"}
        }
    assert found(tables).pools[0].reserved == 16 * 19_456 + 8 * 19 * 1024


def test_the_lossless_traffic_of_the_file_changes_the_computed_headroom() -> None:
    tables = dynamic()
    tables["LOSSLESS_TRAFFIC_PATTERN"] = {"AZURE": {"mtu": "1500", "small_packet_percentage": "100"}}
    model = forebay.headroom("100Gbps", "40m", asic="sn5600", lossless_mtu="1500B", small_packets="100%")
    assert found(tables).pools[0].headroom == 16 * model.xoff


def test_a_profile_of_dynamic_headroom_is_computed_too() -> None:
    tables = dynamic()
    tables["BUFFER_PROFILE"]["mine"] = {"dynamic_th": "1", "headroom_type": "dynamic"}
    tables["BUFFER_PG"]["Ethernet4|3-4"]["profile"] = "mine"
    assert found(tables).pools[0].headroom == found(dynamic()).pools[0].headroom


def test_a_static_profile_below_the_calculation_of_every_release_is_a_note() -> None:
    tables = dynamic()
    least = min(forebay.headroom("100Gbps", "40m", asic="sn5600", release=release).xoff for release in RELEASES)
    for xoff, count in ((least - 1, 1), (least, 0)):
        mine = {"pool": "ingress_lossless_pool", "size": "300000", "xon": "19456", "xoff": str(xoff), "dynamic_th": "0"}
        tables["BUFFER_PROFILE"]["mine"] = mine
        tables["BUFFER_PG"]["Ethernet4|3-4"]["profile"] = "mine"
        audit = found(tables)
        assert audit.errors == ()
        notes = [each.text for each in audit.notes]
        assert notes == [f"xoff is {xoff:,} B; no release of SONiC computes below {least:,} B."] * count


def test_headroom_that_a_spectrum_switch_does_not_reserve_is_an_error() -> None:
    tables = dynamic()
    sizes = {"size": "19456", "xon": "19456", "xoff": "200000", "dynamic_th": "0"}
    tables["BUFFER_PROFILE"]["mine"] = {"pool": "ingress_lossless_pool", **sizes}
    tables["BUFFER_PG"]["Ethernet4|3-4"]["profile"] = "mine"
    assert "219,456 B" in one(found(tables), "unreserved-headroom").text


def test_pools_and_reservations_beyond_the_memory_of_a_spectrum_switch_are_an_error() -> None:
    tables = dynamic(size="1000000")
    used = 1_000_000 + found(tables).pools[0].reserved
    for memory, kinds in ((used, []), (used - 1, ["memory-exceeded"])):
        tables["BUFFER_MAX_PARAM_TABLE"] = {"global": {"mmu_size": str(memory)}}
        assert [each.kind for each in found(tables).errors] == kinds


def test_the_limit_of_a_spectrum_port_has_the_latency_of_the_pipeline_for_each_buffer_unit() -> None:
    tables = dynamic()
    tables["PORT"]["Ethernet4"]["lanes"] = "1,2,3,4,5,6,7,8"
    eight = forebay.headroom("100Gbps", "40m", asic="sn5600", lanes=8).size
    four = forebay.headroom("100Gbps", "40m", asic="sn5600").size
    # Two lossless groups; a lossy group and the port itself have the latency of 19 KiB for each unit.
    needs = {"Ethernet0": 2 * four + 2 * 19_456 + 20_480, "Ethernet4": 2 * eight + 4 * 19_456 + 2 * 20_480}
    for name, need in needs.items():
        for limit, kinds in ((need + 4_096, ["port-limit"]), (need + 4_097, [])):
            tables["BUFFER_MAX_PARAM_TABLE"] = {name: {"max_headroom_size": str(limit)}}
            assert [each.kind for each in found(tables).errors] == kinds


# Hostile input.

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.text(max_size=8),
    st.sampled_from(["", "-1", "9" * 30, "[x|y]", "NULL", "Ethernet0|3-4", "0-99", "\x1b[31m"]),
    st.lists(st.text(max_size=3), max_size=3),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
)


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_any_wrong_value_leaves_the_rest_audited(data: st.DataObject) -> None:
    tables = sound()
    for _ in range(data.draw(st.integers(1, 4))):
        table = data.draw(st.sampled_from(sorted(tables)))
        here, key = tables, table
        for _ in range(data.draw(st.integers(0, 2))):
            if not isinstance(here[key], dict) or not here[key]:
                break
            here = here[key]
            key = data.draw(st.sampled_from(sorted(here)))
        if data.draw(st.booleans()):
            here[key] = data.draw(JUNK)
        else:
            here[data.draw(st.text(max_size=8))] = here.pop(key)
    audit = found(tables, ROWS)
    for finding in audit.findings:
        assert "\n" not in str(finding)
        assert "\x1b" not in str(finding)
    json.loads(audit.to_json())


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_a_truncated_file_is_audited_up_to_its_end(data: st.DataObject) -> None:
    text = json.dumps(sound(), indent=1)
    first_table = text.index("}")
    audit = audit_text(text[: data.draw(st.integers(first_table, len(text) - 1))])
    (finding,) = (each for each in audit.findings if each.kind == "syntax")
    assert finding.is_error


def test_what_precedes_the_fault_of_a_file_is_audited() -> None:
    text = json.dumps(changed(lambda t: t["CABLE_LENGTH"]["AZURE"].update(Ethernet4="3000m")))
    kinds = [each.kind for each in audit_text(text[:-100]).errors]
    assert kinds[0] == "syntax"
    assert "below-minimum" in kinds


def test_a_key_that_is_twice_in_a_file_is_an_error_and_the_later_one_counts() -> None:
    text = '{"BUFFER_POOL": {"a": {"size": "1", "size": "x"}, "a": {"type": "ingress", "mode": "static", "size": "2"}}}'
    audit = audit_text(text)
    assert [each.kind for each in audit.findings] == ["duplicate-key", "duplicate-key"]


@pytest.mark.parametrize(
    "text",
    ['{"BUFFER_PG": {"Ethernet0|3": {"profile": "a"},}}', '{"BUFFER_PG": {}, "PORT": nul}', '{"BUFFER_PG": {}, "'],
)
def test_a_fault_of_the_json_is_one_line(text: str) -> None:
    syntax = [each for each in audit_text(text).findings if each.kind == "syntax"]
    assert len(syntax) == 1
    assert syntax[0].lines == (1,)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1: found an empty file"),
        ("[]", "line 1: found a list instead of an object of tables"),
        ("7", "line 1: found "),
        ('"x"', "line 1: found "),
        ("\0" * 100_000, "found the word"),
        ("[" * 200_000, "line 1: found more than 64 levels of brackets"),
        ("{", "line 1: found the end of the file"),
        ('{"BUFFER_PG" {}}', "line 1: "),
        ('{"VLAN": {"a": {}},}', "line 1: a comma before the closing bracket is no JSON"),
        ("null", "no table about buffers; allowed"),
    ],
    ids=["empty", "list", "number", "text", "zeros", "brackets", "open", "colon", "other", "null"],
)
def test_a_file_without_a_table_about_buffers_is_no_audit(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "config_db.json"
    path.write_text(text, encoding="utf-8")
    answer = called("translate", str(path))
    assert (answer.code, answer.out) == (2, "")
    assert reason in answer.err
    assert "allowed: a config_db.json" in answer.err
    assert answer.err.count("\n") == 1
    assert len(answer.err) < 500


def test_a_key_that_is_twice_in_a_table_about_something_else_is_no_finding() -> None:
    assert audit_text('{"BUFFER_POOL": {}, "VLAN": {"a": {}, "a": {}}}').findings == ()


def test_a_file_about_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="no table about buffers"):
        audit_text('{"VLAN": {}}')


def test_thousands_of_ports_and_megabytes_are_audited_in_seconds() -> None:
    names = [f"Ethernet{number}" for number in range(20_000)]
    tables = sound()
    tables["PORT"] = {name: {"speed": "100000", "alias": "x" * 200} for name in names}
    tables["CABLE_LENGTH"]["AZURE"] = dict.fromkeys(names, "40m")
    tables["BUFFER_PG"] = {f"{name}|3-4": {"profile": "pg_lossless_100000_40m_profile"} for name in names}
    tables["PORT_QOS_MAP"] = {name: {"pfc_enable": "3,4"} for name in names}
    text = json.dumps(tables)
    assert len(text) > 7_000_000
    begin = time.process_time()
    audit = audit_text(text)
    assert time.process_time() - begin < 20
    assert audit.lossless_ports == 20_000
    assert one(audit, "pool-exceeded").text.startswith("Groups reserve 49,920,000")


def test_a_key_of_very_many_ports_is_not_expanded() -> None:
    tables = sound()
    tables["BUFFER_PG"][",".join(["Ethernet0"] * 300_000) + "|0-7"] = {"profile": "ingress_lossy_profile"}
    begin = time.process_time()
    assert "more than 200,000 groups" in one(found(tables), "wrong-value").text
    assert time.process_time() - begin < 10


def test_a_table_beside_the_file_is_used_and_a_broken_one_is_a_finding(tmp_path: Path) -> None:
    path, beside = tmp_path / "config_db.json", tmp_path / "pg_profile_lookup.ini"
    path.write_text(json.dumps(changed(of_table)))
    beside.write_text(ROWS)
    assert forebay.audit(path).findings == ()
    assert forebay.audit(path).table == str(beside)
    beside.write_text("# nothing\n")
    audit = forebay.audit(path)
    assert "no row" in one(audit, "table-broken").text
    assert audit.table is None
    other = tmp_path / "other.ini"
    other.write_text(ROWS)
    assert forebay.audit(path, table=other).findings == ()


def test_a_table_alone_is_audited(tmp_path: Path) -> None:
    path = tmp_path / "pg_profile_lookup.ini"
    path.write_text(ROWS + "100000 300m 1248 2288 40000 -3 2288\n10 x\n")
    kinds = {each.kind: each.is_error for each in forebay.audit(path).findings}
    assert kinds == {"table-broken": True, "table-below-minimum": True, "table-not-monotone": False}
