"""Formats of inventories are recognized by their content, and each is read in its own units."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from forebay.errors import InputError
from forebay.fleets.importers.cisco import platform_of
from forebay.fleets.importers.registry import IMPORTERS
from tests.fleet.writing import folder_of, inventory, reasons

JUNOS = """system { host-name mx1; }
interfaces {
    xe-0/0/0 { mtu 9192; unit 0 { family inet; } }
    ge-0/0/1 { disable; }
    et-0/1/0 { speed 100g; }
    et-0/1/1 { unit 0; }
    lo0 { unit 0; }
}
class-of-service {
    schedulers {
        be { buffer-size temporal 5k; }
    }
    scheduler-maps { edge { forwarding-class best-effort scheduler be; } }
    traffic-control-profiles { slow { scheduler-map edge; shaping-rate 2g; } }
    interfaces {
        xe-* { scheduler-map edge; }
        et-0/1/0 { output-traffic-control-profile slow; }
    }
}
"""
IOS = """hostname edge1
!
class-map match-any VOICE
 match dscp ef
!
policy-map OUT
 class class-default
  queue-limit 512 packets
policy-map SHAPED
 class class-default
  shape average 200000000
  service-policy OUT
!
interface GigabitEthernet0/0/0
 mtu 1500
 service-policy input MARK
 service-policy output OUT
!
interface GigabitEthernet0/0/1
 speed 100
 service-policy output SHAPED
!
interface TenGigabitEthernet0/1/0
 service-policy output MISSING
!
interface GigabitEthernet0/0/2
 shutdown
!
interface Loopback0
!
interface GigabitEthernet0/0/0.100
!
interface Ethernet9
!
end
"""
SONIC = {
    "DEVICE_METADATA": {"localhost": {"hostname": "leaf1"}},
    "PORT": {
        "Ethernet0": {"speed": "100000", "mtu": "9100", "admin_status": "up"},
        "Ethernet4": {"speed": "25000"},
        "Ethernet8": {"speed": "fast"},
        "Ethernet12": {"speed": "100000", "admin_status": "down"},
    },
    "BUFFER_PROFILE": {"egress": {"pool": "p", "size": "0", "static_th": "200000"}},
    "BUFFER_QUEUE": {"Ethernet0|3": {"profile": "egress"}},
}
OPENCONFIG = {
    "openconfig-interfaces:interfaces": {
        "interface": [
            {
                "name": "Ethernet1",
                "config": {"name": "Ethernet1", "type": "iana-if-type:ethernetCsmacd", "mtu": 9000},
                "openconfig-if-ethernet:ethernet": {"config": {"port-speed": "openconfig-if-ethernet:SPEED_10GB"}},
            },
            {"name": "Loopback0", "config": {"type": "iana-if-type:softwareLoopback"}},
            {"name": "Ethernet2", "config": {"enabled": False}},
        ]
    },
    "openconfig-qos:qos": {
        "buffer-allocation-profiles": {
            "buffer-allocation-profile": [
                {"name": "b", "queues": {"queue": [{"name": "q", "config": {"dedicated-buffer-temporal": "400"}}]}}
            ]
        },
        "queue-management-profiles": {
            "queue-management-profile": [
                {
                    "name": "w",
                    "wred": {
                        "uniform": {
                            "config": {
                                "min-threshold-percent": "20",
                                "max-threshold-percent": "80",
                                "max-drop-probability-percent": 10,
                                "weight": 3,
                            }
                        }
                    },
                }
            ]
        },
        "interfaces": {
            "interface": [
                {
                    "interface-id": "Ethernet1",
                    "output": {
                        "config": {"buffer-allocation-profile": "b"},
                        "queues": {"queue": [{"name": "q", "config": {"queue-management-profile": "w"}}]},
                    },
                }
            ]
        },
    },
}
SCRAPE = """# HELP ifHighSpeed Mb/s
ifHighSpeed{ifIndex="1",ifName="Gi0/0/1",ifDescr="GigabitEthernet0/0/1"} 1000
ifHCOutOctets{ifIndex="1",ifName="Gi0/0/1",ifDescr="GigabitEthernet0/0/1"} 6.25e+09
ifOutDiscards{ifIndex="1",ifName="Gi0/0/1",ifDescr="GigabitEthernet0/0/1"} 12
ifHighSpeed{ifIndex="2",ifName="Lo0"} 8000
ifType{ifIndex="2",ifName="Lo0"} 24
sysUpTime 10000
"""


def _answer(name: str, values: list[tuple[float, str]]) -> str:
    metric = {"__name__": name, "instance": "10.0.0.1:9116", "ifName": "Te1"}
    series = [{"metric": metric, "values": values}]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}})


def test_netbox_speeds_are_in_kilobits(tmp_path: Path) -> None:
    text = (
        "device,name,type,enabled,mtu,speed\nsw1,Ethernet1,10gbase-x-sfpp,true,9000,1000000\n"
        "sw1,Ethernet2,25gbase-x-sfp28,true,,\nsw1,Vlan1,virtual,true,,\nsw1,Ethernet3,other,true,,fast\n"
        "sw1,Ethernet4,1000base-t,false,,\n"
    )
    found = inventory(tmp_path, text)
    assert found.ports.select("port", "rate_bps", "mtu_bytes").rows() == [
        ("Ethernet1", 10**9, 9000),
        ("Ethernet2", 25 * 10**9, None),
    ]
    assert [line for line, _ in reasons(found)] == [4, 5, 6]


def test_netbox_display_export_has_other_headers(tmp_path: Path) -> None:
    text = (
        "Device,Name,Label,Enabled,Type,Description,Speed (Kbps)\nsw1,Ethernet1,,True,SFP+ (10GE),,—\n"
        "sw1,Ethernet2,,True,1000BASE-T (1GE),,100000\n"
    )
    found = inventory(tmp_path, text)
    assert found.files[0].format == "NetBox interfaces"
    assert found.ports["rate_bps"].to_list() == [10**10, 10**8]


def test_netbox_types_without_a_queue_are_no_ports_even_with_a_speed(tmp_path: Path) -> None:
    kinds = ("lag", "virtual", "bridge", "Link Aggregation Group (LAG)", "other")
    rows = "".join(f"sw1,i{number},{kind},true,1000000\n" for number, kind in enumerate(kinds))
    found = inventory(tmp_path, f"device,name,type,enabled,speed\n{rows}")
    assert found.ports.select("port", "rate_bps").rows() == [("i4", 10**9)]
    assert [line for line, _ in reasons(found)] == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("sample", "name"),
    [
        ('ifType{ifName="x"} 161', "ieee8023adLag"),
        ('ifType_info{ifName="x",ifType="softwareLoopback"} 1', "softwareLoopback"),
        ('ifType_info{ifName="x",ifType="161"} 1', "ieee8023adLag"),
    ],
)
def test_types_of_a_scrape_without_a_queue_are_no_ports(tmp_path: Path, sample: str, name: str) -> None:
    text = f'{sample}\nifHighSpeed{{ifName="x"}} 1000\nifType_info{{ifName="y",ifType="ethernetCsmacd"}} 1\n'
    found = inventory(tmp_path, f'{text}ifHighSpeed{{ifName="y"}} 1000\n', "r1.prom")
    assert found.ports["port"].to_list() == ["y"]
    assert f"ifType {name} has no queue" in reasons(found)[0][1]


def test_a_scrape_has_the_mean_load_since_the_start(tmp_path: Path) -> None:
    found = inventory(tmp_path, SCRAPE, "r1.prom")
    columns = ("device", "port", "rate_bps", "utilization", "drops", "interval_s")
    assert found.ports.select(columns).rows() == [("r1", "Gi0/0/1", 10**9, 0.5, 12, 100.0)]
    assert [line for line, _ in reasons(found)] == [5]


def test_answers_of_prometheus_are_joined_over_files(tmp_path: Path) -> None:
    files = {
        "speed.json": _answer("ifHighSpeed", [(0, "10000")]),
        "octets.json": _answer("ifHCOutOctets", [(0, "5000000000"), (10, "9000000000"), (20, "2250000000")]),
    }
    found = folder_of(tmp_path, files)
    # 4 GB before the counter was reset, and 2.25 GB after it.
    assert found.ports.select("device", "port", "rate_bps", "utilization").rows() == [("10.0.0.1", "Te1", 10**10, 0.25)]


def test_librenms_ports_are_read_from_json_and_csv(tmp_path: Path) -> None:
    row = {"hostname": "r1", "ifName": "xe-0/0/0", "ifSpeed": "4294967295", "ifHighSpeed": "10000", "ifMtu": "1514"}
    down = {**row, "ifName": "xe-0/0/1", "ifAdminStatus": "down"}
    found = inventory(tmp_path, json.dumps({"status": "ok", "ports": [row, down, 3]}), "librenms.json")
    assert found.ports.select("device", "port", "rate_bps").rows() == [("r1", "xe-0/0/0", 10**10)]
    assert len(found.rejected) == 2
    table = "hostname,ifName,ifSpeed,ifHighSpeed,ifMtu\nr1,xe-0/0/0,4294967295,10000,1514\nr1,xe-0/0/1,4294967295,,\n"
    found = inventory(tmp_path, table)
    assert found.ports["rate_bps"].to_list() == [10**10]
    assert "rate: found none" in reasons(found)[0][1]


def test_junos_ports_have_the_queue_of_their_pattern_and_of_their_profile(tmp_path: Path) -> None:
    found = inventory(tmp_path, JUNOS, "mx1.conf")
    assert found.ports.select("port", "rate_bps", "buffer_bytes", "mtu_bytes").rows()[0] == (
        "xe-0/0/0",
        10**10,
        6_250_000,
        9192,
    )
    port, rate, size = found.ports.select("port", "rate_bps", "buffer_bytes").rows()[1]
    assert (port, rate) == ("et-0/1/0", 2 * 10**9)
    # 5 ms at the rate of IP packets within 2 Gb/s of frames.
    assert size == pytest.approx(1_250_000 * 1500 / 1518, abs=1)
    assert {reason.split(":")[0] for _, reason in reasons(found)} == {"mx1 ge-0/0/1", "mx1 et-0/1/1", "mx1 lo0"}


def test_junos_set_lines_are_the_same_as_braces(tmp_path: Path) -> None:
    lines = [
        "set system host-name mx1",
        "set interfaces xe-0/0/0 mtu 9192",
        "set class-of-service schedulers be buffer-size temporal 5k",
        "set class-of-service scheduler-maps edge forwarding-class best-effort scheduler be",
        "set class-of-service interfaces xe-* scheduler-map edge",
    ]
    found = inventory(tmp_path, "\n".join(lines) + "\n", "mx1.set")
    assert found.ports.select("port", "buffer_bytes", "mtu_bytes").rows() == [("xe-0/0/0", 6_250_000, 9192)]


COS = [
    "set system host-name mx1",
    "set class-of-service schedulers be buffer-size temporal 5k",
    "set class-of-service scheduler-maps edge forwarding-class best-effort scheduler be",
]
INACTIVE = """## Last commit
/* made by hand */
system { host-name mx1; }
interfaces {
    ge-0/0/0 { speed 100m; }
    inactive: ge-0/0/1 { mtu 1500; }
    ge-0/0/2 {
        inactive: speed 100m;
    }
}
class-of-service {
    interfaces {
        ge-0/0/0 { inactive: shaping-rate 10m; }
        ge-0/0/2 { shaping-rate 50m; }
    }
}
"""


def test_inactive_blocks_of_junos_have_no_effect_and_ports_have_their_own_lines(tmp_path: Path) -> None:
    found = inventory(tmp_path, INACTIVE, "mx1.conf")
    rows = found.ports.select("port", "rate_bps", "line").rows()
    assert rows == [("ge-0/0/0", 10**8, 5), ("ge-0/0/2", 50 * 10**6, 7)]
    assert reasons(found) == [(6, "mx1 ge-0/0/1: the interface is inactive; allowed: enabled ones")]


def test_deactivated_statements_of_junos_have_no_effect(tmp_path: Path) -> None:
    lines = [
        *COS,
        *(f"set interfaces ge-0/0/{number} mtu 1500" for number in range(4)),
        "set class-of-service interfaces ge-* scheduler-map edge",
        "set class-of-service interfaces ge-0/0/2 shaping-rate 10m",
        "set class-of-service interfaces ge-0/0/3 unit 7 shaping-rate 10m",
        "deactivate interfaces ge-0/0/1",
        "deactivate class-of-service interfaces ge-*",
    ]
    found = inventory(tmp_path, "\n".join(lines) + "\n", "mx1.set")
    assert found.ports.select("port", "rate_bps", "buffer_bytes").rows() == [
        ("ge-0/0/0", 10**9, None),
        ("ge-0/0/2", 10**7, None),
        ("ge-0/0/3", 10**9, None),
    ]
    assert [line for line, _ in reasons(found)] == [5]
    assert "unit" not in str(found.ports["config"][1])
    assert "is no rate of the whole port" in found.files[0].notes[0]


def test_ports_of_junos_have_the_lines_of_their_interfaces(tmp_path: Path) -> None:
    ports = "    xe-0/0/0 { mtu 1500; }\n    xe-0/0/1 {\n        mtu 1500;\n    }\n"
    text = f"## Last commit\n/* made by hand */\ninterfaces {{\n{ports}}}\n"
    found = inventory(tmp_path, text, "mx1.conf")
    assert found.ports["line"].to_list() == [4, 5]


def test_ios_ports_have_the_queue_of_their_policy(tmp_path: Path) -> None:
    found = inventory(tmp_path, IOS, "edge1.cfg")
    rows = found.ports.select("device", "port", "rate_bps", "buffer_bytes", "platform").rows()
    assert rows == [
        ("edge1", "GigabitEthernet0/0/0", 10**9, 768_000, "ios-xe"),
        ("edge1", "GigabitEthernet0/0/1", 10**8, 768_000, "ios-xe"),
    ]
    shown = "\n".join(reason for _, reason in reasons(found))
    assert len(found.rejected) == 5
    assert "TenGigabitEthernet0/1/0: its queue: found no policy-map `MISSING`" in shown
    assert "Ethernet9: rate: found none" in shown
    assert "queue-limit 512 packets" in str(found.ports["config"][0])


@pytest.mark.parametrize(
    ("text", "names", "platform"),
    [
        ("!! IOS XR Configuration 7.3\n", [], "ios-xr"),
        ("interface GigabitEthernet0/0/0/0\n ipv4 address 1.1.1.1/30\n", ["GigabitEthernet0/0/0/0"], "ios-xr"),
        ("! device: leaf1 (DCS-7050SX, EOS-4.20)\n", [], "eos-trident"),
        ("! device: spine1 (DCS-7280SR, EOS-4.20)\n", [], "eos"),
        ("version 9.3(5) Bios\nfeature bgp\n", [], "nx-os"),
        ("version 15.2\nhostname r1\n", [], "ios-xe"),
    ],
)
def test_the_platform_of_a_configuration_is_recognized(text: str, names: list[str], platform: str) -> None:
    assert platform_of(text, names) == platform


def test_sonic_ports_have_speeds_in_megabits_and_buffers_of_their_queues(tmp_path: Path) -> None:
    found = folder_of(tmp_path, {"leaf1/config_db.json": json.dumps(SONIC, indent=2)})
    assert found.ports.select("device", "port", "rate_bps", "buffer_bytes", "mtu_bytes").rows() == [
        ("leaf1", "Ethernet0", 100 * 10**9, 200_000, 9100),
        ("leaf1", "Ethernet4", 25 * 10**9, None, None),
    ]
    assert len(found.rejected) == 2
    assert all(line is not None for line, _ in reasons(found))


def test_a_dump_of_sonic_is_read_as_its_tables(tmp_path: Path) -> None:
    dump = {
        f"{table}|{key}": {"type": "hash", "value": fields, "ttl": -0.001}
        for table, entries in SONIC.items()
        for key, fields in entries.items()
    }
    found = inventory(tmp_path, json.dumps(dump, indent=2), "dump.json")
    assert found.ports.select("device", "port", "rate_bps", "buffer_bytes").rows() == [
        ("leaf1", "Ethernet0", 100 * 10**9, 200_000),
        ("leaf1", "Ethernet4", 25 * 10**9, None),
    ]


def test_a_fault_of_sonic_is_a_rejected_row_and_what_precedes_it_is_read(tmp_path: Path) -> None:
    text = '{"PORT": {"Ethernet0": {"speed": "100000"},\n "Ethernet4": 7,\n "Ethernet8": {"speed": oops}}}\n'
    found = inventory(tmp_path, text, "leaf1.json")
    assert found.ports.select("device", "port", "line").rows()[0] == ("leaf1", "Ethernet0", 1)
    listed = reasons(found)
    assert {2, 3} <= {line for line, _ in listed}
    assert any("oops" in reason for _, reason in listed)


def test_openconfig_buffers_are_in_microseconds_and_thresholds_in_percent(tmp_path: Path) -> None:
    found = inventory(tmp_path, json.dumps(OPENCONFIG), "sw1.json")
    (row,) = found.ports.to_dicts()
    assert (row["rate_bps"], row["buffer_bytes"], row["mtu_bytes"]) == (10**10, 500_000, 9000)
    levels = 'min = "20%", max = "80%", max_p = 0.1, weight = 0.125'
    assert row["queue"] == f'{{ kind = "red", {levels}, gentle = false, wait = false }}'
    assert len(found.rejected) == 2


def test_a_folder_of_formats_describes_one_network(tmp_path: Path) -> None:
    files = {
        "edge1.cfg": IOS,
        "netbox.csv": "device,name,type,enabled,mtu,speed\nedge1,Ethernet9,100base-tx,true,,\n",
        "mx1.conf": JUNOS,
        "leaf1.json": json.dumps(SONIC),
    }
    found = folder_of(tmp_path, files)
    configurations = {f"configuration of {system}" for system in ("IOS, IOS XR, NX-OS or EOS", "Junos")}
    assert {each.format for each in found.files} == {*configurations, "NetBox interfaces", "config_db.json of SONiC"}
    assert ("edge1", "Ethernet9", 10**8) in found.ports.select("device", "port", "rate_bps").rows()


def _netbox(port: str, speed: str) -> str:
    return f"device,name,type,enabled,mtu,speed\nmx1,{port},other,true,,{speed}\n"


@pytest.mark.parametrize(
    ("port", "speed", "rate", "size"),
    [
        ("ge-0/0/0", "100000", 10**8, 62_500),
        ("ge-0/0/0", "2500000", 25 * 10**8, 1_562_500),
        ("et-0/0/0", "100000000", 10**11, 62_500_000),
    ],
)
def test_a_buffer_that_is_a_time_has_the_rate_that_another_file_states(
    tmp_path: Path, port: str, speed: str, rate: int, size: int
) -> None:
    lines = [*COS, f"set interfaces {port} mtu 1500", f"set class-of-service interfaces {port} scheduler-map edge"]
    found = folder_of(tmp_path, {"mx1.set": "\n".join(lines) + "\n", "netbox.csv": _netbox(port, speed)})
    assert found.ports.select("port", "rate_bps", "buffer_bytes").rows() == [(port, rate, size)]


def test_a_table_may_state_the_buffer_of_lines_that_cannot_be_read(tmp_path: Path) -> None:
    table = "device,port,buffer\nedge1,TenGigabitEthernet0/1/0,9MB\nedge1,GigabitEthernet0/0/0,512 packets\n"
    found = folder_of(tmp_path, {"edge1.cfg": IOS, "table.csv": table})
    sizes = dict(found.ports.select("port", "buffer_bytes").rows())
    assert sizes["TenGigabitEthernet0/1/0"] == 9_000_000
    assert sizes["GigabitEthernet0/0/0"] == 768_000
    assert not any("its queue" in reason for _, reason in reasons(found))


def test_a_table_that_contradicts_a_configuration_rejects_the_port(tmp_path: Path) -> None:
    table = "device,port,buffer\nedge1,GigabitEthernet0/0/0,9MB\n"
    found = folder_of(tmp_path, {"edge1.cfg": IOS, "table.csv": table})
    reason = "edge1 GigabitEthernet0/0/0: buffer: found `9MB` and `512p` of its configuration; allowed: one"
    assert reason in [each for _, each in reasons(found)]
    assert "GigabitEthernet0/0/0" not in found.ports["port"].to_list()


def test_two_configurations_with_different_queues_reject_the_port(tmp_path: Path) -> None:
    found = folder_of(tmp_path, {"a.cfg": IOS, "b.cfg": IOS.replace("queue-limit 512", "queue-limit 64")})
    assert found.ports.is_empty()
    assert sum("as lines in a.cfg and b.cfg; allowed: one of them" in reason for _, reason in reasons(found)) == 4


def test_every_format_has_a_name_and_a_source() -> None:
    assert len({each.name for each in IMPORTERS}) == len(IMPORTERS)
    assert all(each.source for each in IMPORTERS)


@pytest.mark.parametrize(
    ("header", "missing", "layout", "allowed"),
    [
        ("devcie,name,type,speed", "`device`", "NetBox interfaces", "`device` in place of `devcie`"),
        ("devcie,name,type,speed,enabled,mtu", "`device`", "NetBox interfaces", "`device` in place of `devcie`"),
        ("Device;Name;Tpye;Speed (Kbps)", "`type`", "NetBox interfaces", "`type` in place of `Tpye`"),
        ("device,name,type", "`speed`", "NetBox interfaces", "`speed`"),
        ("hostname,ifNmae,ifSpeed", "`ifName`", "LibreNMS ports", "`ifName` in place of `ifNmae`"),
        ("hostname,intreface,speed", "`port`", "a table of ports", "`port` in place of `intreface`"),
        (
            "devcie,prt,rate",
            "`device` and `port`",
            "a table of ports",
            "`device` in place of `devcie`, `port` in place",
        ),
    ],
)
def test_a_header_with_a_misspelled_column_names_the_nearest_layout(
    header: str, missing: str, layout: str, allowed: str, tmp_path: Path
) -> None:
    row = ",".join("x" for _ in re.split("[,;]", header))
    with pytest.raises(InputError) as error:
        inventory(tmp_path, f"{header}\n{row}\n")
    shown = ", ".join(f"`{name}`" for name in re.split("[,;]", header))
    found = f"found the columns {shown} without {missing}, as {layout} would have; allowed: {allowed}"
    assert str(error.value).startswith(f"{tmp_path / 'ports.csv'}, line 1: {found}")


def test_a_header_that_is_near_no_layout_lists_the_formats(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found no format that is known; allowed: table"):
        inventory(tmp_path, "hello,world\n1,2\n")
