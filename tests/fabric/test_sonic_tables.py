"""The tables of SONiC that have the headroom of a port: reading them back gives the same headroom."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

import forebay
from forebay.fabric.config_tables import parse_tables
from forebay.fabric.lookup_table import parse_table
from forebay.fabric.sonic_tables import headroom_tables
from forebay.fabric.switch_audit import audit_text
from forebay.fabric.switch_headroom import HeadroomReader
from forebay.fabric.switch_reader import KNOWN_FIELDS, read_switch
from tests.support.commands import called
from tests.support.tiers import examples

RATES = st.sampled_from(["1Gbps", "10Gbps", "25Gbps", "40Gbps", "100Gbps", "400Gbps", "800Gbps"])


@settings(max_examples=examples(100), deadline=None)
@given(
    RATES,
    st.integers(1, 40_000),
    st.integers(1_024, 65_535),
    st.sampled_from(["spectrum-1", "sn5600", "tofino-2", "vs"]),
    st.lists(st.integers(0, 7), min_size=1, max_size=8, unique=True),
)
def test_what_is_written_of_a_headroom_is_read_back(
    rate: str, cable: int, mtu: int, asic: str, priorities: list[int]
) -> None:
    found = forebay.headroom(rate, f"{cable}m", asic=asic, mtu=f"{mtu}B")
    text = "\n".join(headroom_tables(found, "Ethernet8", priorities))
    switch, faults = read_switch(parse_tables(text, KNOWN_FIELDS))
    assert faults == []
    groups = list(HeadroomReader(switch, None).groups())
    assert sorted(group.group.number for group in groups) == sorted(priorities)
    assert {(group.xon, group.xoff, group.size) for group in groups} == {(found.xon, found.xoff, found.size)}
    port = switch.ports["Ethernet8"]
    assert (port.rate_mbps, port.cable_m, port.mtu) == (found.rate_bps // 10**6, cable, mtu)
    kinds = {finding.kind for finding in audit_text(text).findings}
    assert kinds <= ({"below-minimum"} if found.xoff < found.physical_minimum else set())


def test_the_row_of_a_table_is_written_with_its_threshold() -> None:
    table = parse_table("100000 40m 1248 2288 81920 -3 2200\n")
    tables = json.loads("\n".join(headroom_tables(forebay.headroom("100Gbps", "40m", table=table))))
    assert tables["BUFFER_PROFILE"] == {
        "pg_lossless_100000_40m_profile": {
            "pool": "ingress_lossless_pool",
            "size": "1248",
            "xon": "2288",
            "xoff": "81920",
            "xon_offset": "2200",
            "dynamic_th": "-3",
        }
    }


def test_a_part_of_a_meter_is_written_as_a_whole_one() -> None:
    tables = json.loads("\n".join(headroom_tables(forebay.headroom("100Gbps", "2.5m"))))
    assert tables["CABLE_LENGTH"] == {"AZURE": {"Ethernet0": "3m"}}


def test_the_command_prints_the_tables() -> None:
    answer = called("headroom", "--rate", "100Gbps", "--cable", "300m", "--asic", "sn5600", "--for", "sonic")
    assert answer.code == 0
    assert json.loads(answer.out)["BUFFER_PG"]["Ethernet0|3"] == {"profile": "pg_lossless_100000_300m_profile"}
