"""Readers of observe: each tool's own form is recognized, read with its units, and tells the load that is true."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forebay import InputError
from forebay.observation.inputs.input import Kind, RefusedInput
from forebay.observation.inputs.recognition import find_input
from forebay.observation.inputs.registry import INPUTS
from forebay.observation.observing import observe
from tests.support.commands import forebay
from tests.support.input_forms import (
    BEGIN,
    BYTES,
    DROPS,
    FLOWS,
    FORMS,
    NETBOX,
    RATE,
    RATES,
    STEP,
    TIMES,
    date,
    gnmic_updates,
    qdiscs,
    queried,
    rwcut,
    sar,
    snmp_exporter,
    stamp,
    table,
    zeek_json,
    zeek_table,
)
from tests.support.paths import ROOT
from tests.support.readings import read_counters, read_records
from tests.support.tiers import examples


def written(folder: Path, content: str | bytes, name: str = "input") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("name", FORMS)
def test_every_form_tells_the_load_that_is_true(name: str, tmp_path: Path) -> None:
    make, parts = FORMS[name]
    path = written(tmp_path, make())
    assert find_input(path).name == name
    found = read_counters(path)
    # A rate is of the step before its time, the first one too. The first amount has no interval that is known.
    assert found.bits_per_second.size == (119 if name == "vnStat's JSON" else 120)
    assert found.bits_per_second == pytest.approx(RATES[-found.bits_per_second.size :], rel=2e-3)
    assert ("packet_size" in found.estimates) == ("packets" in parts)
    if "drops" in parts:
        assert found.drops.sum() == pytest.approx(DROPS[-found.drops.size :].sum())
        assert "loss" in found.estimates
    assert (found.rate is not None and found.rate.value == pytest.approx(RATE)) == ("speed" in parts)


def test_names_of_snmp_exporter_have_their_speed(tmp_path: Path) -> None:
    found = read_counters(written(tmp_path, snmp_exporter()))
    assert found.bits_per_second == pytest.approx(RATES, rel=1e-3)
    assert found.rate is not None
    assert (found.rate.value, found.rate.source) == (RATE, "ifHighSpeed")


def test_one_print_of_a_shaper_tells_its_rate_queue_and_limit(tmp_path: Path) -> None:
    once = qdiscs().split("\n")[1]
    data = json.loads(forebay("observe", written(tmp_path, once), "--json").out)
    assert data["link"]["rate"]["value"] == RATE
    assert (data["link"]["buffer"]["value"], data["link"]["buffer"]["unit"]) == (50, "packets")
    assert data["link"]["queue"]["kind"] == "droptail"
    assert data["load"] is None
    assert any("since the counters began 12 of" in each for each in data["remarks"])


def test_prints_without_dates_are_no_load(tmp_path: Path) -> None:
    several = "\n".join(line for line in qdiscs().split("\n") if line.startswith("["))
    with pytest.raises(InputError, match="line 2: found another print without a date before it"):
        read_counters(written(tmp_path, several))


def test_prints_of_links_without_dates_want_dated_prints_of_links(tmp_path: Path) -> None:
    one = [{"ifname": "eth0", "link_type": "ether", "stats64": {"tx": {"bytes": 5, "packets": 1, "dropped": 0}}}]
    with pytest.raises(InputError, match=r"do date \+%s; ip -s -j link; done"):
        read_counters(written(tmp_path, f"{json.dumps(one)}\n{json.dumps(one)}\n"))


@pytest.mark.parametrize(
    ("speed", "bps", "is_nominal"), [("10 Mbps", 10e6, False), ("100000", 1e8, False), ("", 1e9, True)]
)
def test_netbox_tells_the_speed_of_a_port_of_other_counters(
    speed: str, bps: float, *, is_nominal: bool, tmp_path: Path
) -> None:
    inventory = written(tmp_path, NETBOX.format(speed=speed), "interfaces.csv")
    polled = written(tmp_path, snmp_exporter().replace("ifHighSpeed", "ifUnused"), "polled.txt")
    assert find_input(inventory).name == "NetBox's interfaces"
    for order in ([inventory, polled], [polled, inventory]):
        found = read_counters(order, port="Gi0/1")
        assert found.rate is not None
        assert (found.rate.value, found.is_nominal) == (bps, is_nominal)
    with pytest.raises(InputError, match="speeds of interfaces and no counter"):
        read_counters(inventory)


# Flow records ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FLOWS)
def test_every_form_of_flows_tells_the_load_of_the_busier_direction(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, FLOWS[name]())
    reader = find_input(path)
    assert (reader.name, reader.kind) == (name, Kind.RECORDS)
    found = read_records([path])
    assert found.count == 120
    assert found.estimates["load"].value == pytest.approx(800_000, rel=0.02)
    assert found.estimates["packet_size"].value == pytest.approx(100_000 / 75)
    assert found.estimates["tcp_share"].value == 1
    if name != "flow records in a table":
        assert any("the described direction is from servers to clients" in each for each in found.notes)
        other = read_records([path], output=1)
        assert other.estimates["load"].value == pytest.approx(8_000, rel=0.05)


def test_a_log_without_flows_says_what_it_has(tmp_path: Path) -> None:
    alert = json.dumps({"timestamp": stamp(BEGIN), "event_type": "alert", "flow_id": 1, "src_ip": "10.0.0.1"})
    with pytest.raises(InputError, match="events `alert`, and none of the kind `flow`"):
        read_records([written(tmp_path, alert)])
    dns = zeek_table().replace("#path\tconn", "#path\tdns")
    with pytest.raises(InputError, match=r"found a log of Zeek that is no conn\.log"):
        find_input(written(tmp_path, dns))


# Refused inputs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"RRD\x000003\0" + bytes(50), "an RRD, which is not read; use `rrdtool xport"),
        (b"\xd5\x96" + bytes(300), "sysstat's own file (sa01), which is not read; use `sadf -j"),
        (b"\xde\xad\xbe\xef" + bytes(100), "a file of SiLK, which is not read; use `rwcut"),
        (b"PAR1" + bytes(100), "Parquet"),
        (b"PK\x03\x04" + bytes(100), "a workbook or an archive"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "a picture"),
        ("<!DOCTYPE html><html>", "a web page"),
        ("qdisc fq_codel 0: dev eth0 root refcnt 2 limit 10240p\n Sent 5 bytes 1 pkt\n", "use `tc -s -j qdisc`"),
        ("2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc fq state UP\n", "ip -s -j link"),
        ("IF-MIB::ifHCOutOctets.3 = Counter64: 123456\n", "one walk of SNMP"),
        ("GigabitEthernet0/1 is up, line protocol is up\n  MTU 1500 bytes, BW 1000000 Kbit/sec\n", "`show interfaces`"),
        ("Netid State Recv-Q Send-Q Local Address:Port Peer Address:Port\ntcp ESTAB 0 0 a:1 b:2\n", "use `ss -tin`"),
        ("version account-id interface-id srcaddr\n2 1 eni-1 10.0.0.1\n", "use `tr ' ' , < FILE`"),
        ("1790000600 123 456\n1790000600 1000 2000 1100 2100\n", "MRTG's log, which is not read; use"),
        ("12:00:00.000001 IP 10.0.0.1.80 > 10.0.0.2.5000: Flags [.], ack 1\n", "use `tcpdump -w FILE.pcap`"),
    ],
)  # fmt: skip
def test_what_is_known_and_not_read_names_the_export_to_use(content: str | bytes, words: str, tmp_path: Path) -> None:
    done = forebay("observe", written(tmp_path, content))
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1


# Contradictions --------------------------------------------------------------------------------------------------


def test_a_load_above_the_rate_is_no_answer(tmp_path: Path) -> None:
    path = written(tmp_path, table(np.full(120, 3e9)))
    done = forebay("observe", path, "--rate", "1Gbps")
    assert done.code == 2
    assert "found a load of 3.00 Gb/s" in done.err
    assert "more than the link's 1.00 Gb/s (given by --rate)" in done.err
    path = written(tmp_path, table(np.full(120, 3e9), "ifHighSpeed", "1000"))
    with pytest.raises(InputError, match=r"more than the link's 1\.00 Gb/s \(ifHighSpeed\)"):
        read_counters(path)


def test_one_late_poll_is_no_contradiction(tmp_path: Path) -> None:
    rates = np.full(120, 0.9e9)
    rates[50:52] = 0.6e9, 1.2e9
    assert read_counters(written(tmp_path, table(rates)), 1e9).bits_per_second.max() == pytest.approx(1.2e9)


@pytest.mark.parametrize(
    ("extra", "cell", "rate", "words"),
    [
        ("ifHighSpeed", "1000000000", None, "allowed: ifHighSpeed in Mb/s"),
        ("ifHighSpeed", "100", 1e9, "allowed: at most the interface's speed"),
        ("ifOutDiscards", "-3", None, "line 2, column 3: found `-3` for `ifOutDiscards`"),
        ("ifOutDiscards", "nan", None, "line 2, column 3: found `nan` for `ifOutDiscards`"),
        ("ifOutDiscards", "inf", None, "line 2, column 3: found `inf` for `ifOutDiscards`"),
        ("ifOutDiscards", "1e30", None, "line 2, column 3: found"),
    ],
)
def test_impossible_numbers_are_named_with_their_place(
    extra: str, cell: str, rate: float | None, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        read_counters(written(tmp_path, table(RATES, extra, cell)), rate)
    assert words in str(caught.value)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-5", '"nan"'])
def test_impossible_numbers_in_json_are_named_with_their_line(value: str, tmp_path: Path) -> None:
    lines = gnmic_updates().split("\n")
    lines[3] = lines[3].replace(f'"out-octets": {BYTES[3]}', f'"out-octets": {value}')
    with pytest.raises(InputError, match=r"line 4: found .*`out-octets`; allowed: numbers from 0"):
        read_counters(written(tmp_path, "\n".join(lines)))


def test_rates_under_the_name_of_a_counter_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"{when},{rate / 8 + 0.25}\n" for when, rate in zip(TIMES, RATES, strict=False))
    for name in ("ifHCOutOctets", "txbytes", "bytes"):
        with pytest.raises(InputError, match=r"so that it is no counter; allowed: a rate named `bps`"):
            read_counters(written(tmp_path, f"time,{name}\n{rows}"))
    found = read_counters(written(tmp_path, f"time,bytes per second\n{rows}"))
    assert found.bits_per_second == pytest.approx(RATES, abs=10)


def test_a_series_without_a_name_may_be_anything(tmp_path: Path) -> None:
    result = [{"metric": {"ifName": "Gi0/1"}, "values": [[when, "5"] for when in TIMES]}]
    text = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})
    with pytest.raises(InputError, match="a series without a name that never falls"):
        read_counters(written(tmp_path, text))


def test_a_query_of_rates_is_read_and_its_unit_is_assumed(tmp_path: Path) -> None:
    """`rate(ifHCOutOctets[5m])` has no name in the answer, and none of its labels says what is counted."""
    path = written(tmp_path, queried(RATES / 8, ifName="Gi0/1", job="snmp"))
    assert find_input(path).name == "a range query of Prometheus"
    found = read_counters(path)
    assert found.port == "Gi0/1"
    assert found.bits_per_second == pytest.approx(RATES)
    out = tmp_path / "link.toml"
    assert forebay("observe", path, "--rate", "10Mbps", "--out", out).code == 0
    [text] = [each for each in tomllib.loads(out.read_text())["assumed"] if "bytes a second" in each]
    assert "neither a name nor a unit" in text


@pytest.mark.parametrize(
    "name", ["instance:ifHCOutOctets:rate5m", "instance_device:node_network_transmit_bytes:rate1m"]
)
def test_a_recording_rule_of_a_rate_says_what_it_is(name: str, tmp_path: Path) -> None:
    found = read_counters(written(tmp_path, queried(RATES / 8, __name__=name, device="eth0")))
    assert found.bits_per_second == pytest.approx(RATES)
    assert found.assumed == ()


def cacti_of_today(unit: str = "bits per second", legend: str = '"Inbound","Outbound"') -> str:
    """As graph_xport.php of Cacti 1.2 writes it."""
    rows = "".join(f'"{date(at + 1)}","5","{RATES[at]}"\n' for at in range(120))
    about = f'"Title","r1 - Traffic"\n"Vertical Label","{unit}"\n"Step","{STEP}"\n"Total Rows","120"\n"Graph ID","7"\n'
    return f'{about}"Host ID","3"\n""\n"Date",{legend}\n{rows}'


def test_a_table_of_cacti_is_read_as_it_writes_it_today(tmp_path: Path) -> None:
    path = written(tmp_path, cacti_of_today())
    assert find_input(path).name == "a graph's CSV of Cacti"
    assert read_counters(path).bits_per_second == pytest.approx(RATES)
    octets = read_counters(written(tmp_path, cacti_of_today("bytes per second", '"Traffic In","Traffic Out"')))
    assert octets.bits_per_second == pytest.approx(8 * RATES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (cacti_of_today("degrees"), "found the vertical label `degrees`, which is no unit of a load; allowed: the CSV"),
        (
            cacti_of_today(legend='"Load","Users"'),
            "found `Load`, `Users`, neither inbound nor outbound; allowed: the CSV",
        ),
        ('"Title","a"\n"Step","300"\n', "found no line that begins with Date; allowed: the CSV"),
    ],
)
def test_a_graph_of_cacti_that_is_no_load_is_refused_in_words(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read_counters(written(tmp_path, text))


def test_a_host_s_loopback_is_no_port_to_choose_from(tmp_path: Path) -> None:
    rows = sar().split("\n")
    with_loopback = [
        line for row in rows for line in ((row.replace("eth0", "lo  "), row) if " eth0 " in row else (row,))
    ]
    assert read_counters(written(tmp_path, "\n".join(with_loopback))).port == "eth0"
    alone = "\n".join(row.replace("eth0", "lo") for row in rows)
    assert read_counters(written(tmp_path, alone)).port == "lo"


def test_a_load_above_the_rate_names_its_line_and_column(tmp_path: Path) -> None:
    rows = [f"{when},5,{value}" for when, value in zip(TIMES, BYTES, strict=True)]
    at = int(np.argmax(RATES))
    text = "time,ifHCInOctets,ifHCOutOctets\n" + "\n".join(rows)
    with pytest.raises(InputError, match=rf"line {at + 3}, `ifHCOutOctets`: found a load of"):
        read_counters(written(tmp_path, text), float(RATES.max()) / 2)


# The registry ----------------------------------------------------------------------------------------------------


def test_inputs_have_names_of_their_own_and_say_what_they_yield() -> None:
    names = [each.name for each in INPUTS]
    assert len(set(names)) == len(names)
    for each in INPUTS:
        if isinstance(each, RefusedInput):
            assert each.instead, each.name
        assert bool(each.yields) != isinstance(each, RefusedInput), each.name


def test_the_manual_lists_every_input() -> None:
    manual = (ROOT / "docs" / "guides" / "observe.md").read_text(encoding="utf-8")
    for each in INPUTS:
        if not isinstance(each, RefusedInput):
            row = f"| {each.name} | {', '.join(one.value for one in each.yields)} |"
            assert row in manual, row


def test_records_of_more_than_the_link_carries_are_no_answer(tmp_path: Path) -> None:
    path = written(tmp_path, rwcut())
    with pytest.raises(
        InputError, match=r"more than the link's 500 kb/s \(given by --rate\); allowed: records of this link"
    ):
        read_records([path], rate_bps=5e5)
    assert read_records([path], rate_bps=1e6).estimates["utilization"].value == pytest.approx(0.8, rel=0.02)


def test_two_values_at_one_time_are_those_of_two_ports(tmp_path: Path) -> None:
    rows = "".join(f"{when},{size}\n{when},{size + 5}\n" for when, size in zip(TIMES, BYTES, strict=True))
    with pytest.raises(InputError, match="at one time; allowed: one value, or a column such as ifName"):
        read_counters(written(tmp_path, f"time,ifHCOutOctets\n{rows}"))


def test_zeek_writes_dates_and_other_separators_too(tmp_path: Path) -> None:
    events = [json.loads(line) for line in zeek_json().splitlines()]
    dated = "".join(json.dumps({**each, "ts": stamp(each["ts"])}) + "\n" for each in events)
    commas = zeek_table().replace("\t", ",").replace("\\x09", "\\x2c")
    for text in (dated, commas):
        found = read_records([written(tmp_path, text)])
        assert found.count == 120
        assert found.first_s == BEGIN


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("\t1.000000\t", "\tsoon\t"), "line 8: found `soon` for `duration`"),
        (("\t100000\t-", "\t-5\t-"), "line 8: found `-5` for `resp_ip_bytes`"),
        (("\tSF\t", "\tSF\tmore\t"), "line 8: found 22 fields; allowed: 21"),
        (("#fields", "#fielts"), "found no line #fields before it"),
    ],
)
def test_a_damaged_log_of_zeek_is_one_line(change: tuple[str, str], words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_records([written(tmp_path, zeek_table().replace(*change, 1))])
    assert words in str(caught.value)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    name=st.sampled_from([*FORMS, *FLOWS]),
    changes=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=4)), min_size=1, max_size=6),
    end=st.floats(0, 1),
)
def test_damage_is_one_line_or_an_answer(
    name: str, changes: list[tuple[float, bytes]], end: float, tmp_path: Path
) -> None:
    made = FORMS[name][0] if name in FORMS else FLOWS[name]
    content = made().encode()[:4000]
    for share, patch in changes:
        at = int(share * len(content))
        content = content[:at] + patch + content[at + len(patch) :]
    path = tmp_path / f"damaged{os.getpid()}"
    path.write_bytes(content[: max(1, int(end * len(content)))])
    message = ""
    try:
        observe([path])
    except InputError as error:
        message = str(error)
    assert "\n" not in message
