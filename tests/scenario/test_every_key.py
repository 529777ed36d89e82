"""Every key of the schema can be changed by `--set`, swept by `--over` and changed from Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from forebay import InputError, Scenario, _core
from tests.support.commands import forebay

BASE = """
[[memories]]
name = "chip"
size = "1MB"
[[links]]
name = "near"
rate = "100Mbps"
buffer = "90p"
[[links]]
name = "far"
rate = "10Mbps"
buffer = "50p"
target = true
[[flows]]
name = "long"
count = 2
rtt = "40ms"
path = ["far"]
[[flows]]
name = "noise"
workload = { poisson = { rate = "1Mbps" } }
path = ["far"]
[run]
warmup = "0s"
measure = "50ms"
"""

#: Two values of each key of a link, a group and the tables of options. A dot leads into a table.
VALUES: Mapping[str, tuple[str, str]] = {
    "links.1.name": ("far", "far"),
    "links.1.rate": ("30Mbps", "20Mbps"),
    "links.1.buffer": ("64kB", "20p"),
    "links.1.queue": ("codel", "red"),
    "links.1.delay": ("3ms", "1ms"),
    "links.1.outages": ('[["20ms", "2ms"]]', '[["30ms", "1ms"]]'),
    "links.1.medium": ("wifi", "docsis"),
    "links.1.loss.random": ("1%", "2%"),
    "links.1.policer": ('{ rate = "5Mbps", burst = "20kB" }', '{ rate = "6Mbps", burst = "20kB" }'),
    "links.1.shaper": ('{ rate = "5Mbps", burst = "20kB" }', '{ rate = "6Mbps", burst = "20kB" }'),
    "links.1.rate_layer": ("l1", "l2"),
    "links.1.memory": ("chip", "chip"),
    "links.1.memory_alpha": ("0.5", "2"),
    "links.1.memory_reserved": ("3kB", "4kB"),
    "links.1.pfc": (
        '{ xoff = "9kB", xon = "6kB", headroom = "5kB" }',
        '{ xoff = "9kB", xon = "6kB", headroom = "4kB" }',
    ),
    "links.1.target": ("true", "true"),
    "memories.chip.size": ("2MB", "3MB"),
    "memories.chip.threshold": ("abm", "fab"),
    "memories.chip.short_alpha": ("8", "16"),
    "memories.chip.short_flow": ("10kB", "30kB"),
    "memories.chip.short_idle": ("2ms", "10ms"),
    "memories.chip.cell": ("192B", "208B"),
    "memories.chip.pfc_counters": ("queue", "ingress"),
    "memories.chip.headroom": ("3kB", "4kB"),
    "flows.long.name": ("short", "long"),
    "flows.long.count": ("3", "4"),
    "flows.long.cca": ("newreno", "vegas"),
    "flows.long.rtt": ("30ms", "20ms"),
    "flows.long.packet": ("900B", "1000B"),
    "flows.long.start": ("1ms", "2ms"),
    "flows.long.stop": ("40ms", "45ms"),
    "flows.long.stack": ("linux", "ns2"),
    "flows.long.recovery": ("newreno", "rack"),
    "flows.long.reduction": ("prr", "at_once"),
    "flows.long.partial_ack_timer": ("every", "first"),
    "flows.long.fast_retransmit_timer": ("restart", "keep"),
    "flows.long.limited_transmit": ("always", "open"),
    "flows.long.full_ack_window": ("deflated", "threshold"),
    "flows.long.rto_arithmetic": ("ticks", "real"),
    "flows.long.timeout_ssthresh": ("every", "first"),
    "flows.long.timeout_cut": ("every", "first"),
    "flows.long.min_rto": ("200ms", "300ms"),
    "flows.long.initial_rto": ("2s", "3s"),
    "flows.long.clock": ("10ms", "1ms"),
    "flows.long.ack_counting": ("acks", "packets"),
    "flows.long.delayed_ack.packets": ("2", "3"),
    "flows.long.delayed_ack.timeout": ("40ms", "50ms"),
    "flows.long.delayed_ack.push": ("true", "false"),
    "flows.long.delayed_ack.quick": ("3", "4"),
    "flows.long.delayed_ack.sack_delay": ("1ms", "2ms"),
    "flows.long.delayed_ack.gro": ("20us", "30us"),
    "flows.long.initial_window": ("3p", "4p"),
    "flows.long.initial_ssthresh": ("64p", "32p"),
    "flows.long.receive_window": ("40p", "50p"),
    "flows.long.header": ("52B", "60B"),
    "flows.long.timestamps": ("true", "false"),
    "flows.long.handshake": ("true", "false"),
    "flows.long.pacing": ("true", "false"),
    "flows.long.offload": ("true", "false"),
    "flows.long.offload_grows": ("true", "false"),
    "flows.long.ecn": ("true", "false"),
    "flows.long.frto": ("true", "false"),
    "flows.long.slow_start_after_idle": ("false", "true"),
    "flows.long.access.rate": ("30Mbps", "40Mbps"),
    "flows.long.processing": ("20us", "30us"),
    "flows.long.path": ('["near", "far"]', '["far"]'),
    "flows.long.reverse": ('["near"]', '["near"]'),
    "run.warmup": ("1ms", "2ms"),
    "run.measure": ("40ms", "30ms"),
    "run.seed": ("17", "18"),
    "run.replications": ("2", "1"),
    "fluid.minimum_synchronization": ("0.75", "0.5"),
    "fluid.law": ("uniform", "fixed"),
    "fluid.victims": ("random", "highest_rate"),
    "fluid.window": ("fixed", "fixed"),
    "fluid.tolerance": ("0.001", "0.002"),
    "fluid.background.resampled": ("20ms", "30ms"),
    "fluid.background.redrawn": ("20ms", "30ms"),
    "trace.every": ("20ms", "10ms"),
    "trace.record": ('["queue"]', '["cwnd"]'),
    "trace.from": ("3ms", "2ms"),
    "trace.until": ("9ms", "8ms"),
    "trace.capture": ("both", "both"),
    "trace.acknowledgments": ("true", "false"),
    "title": ("one", "other"),
}
#: Keys that need another one, or name what a change cannot make.
APART = {"fluid.empirical", "memories.name"}

#: Two values of each key of a workload, beside the other keys that the kind needs.
WORKLOADS: Mapping[str, tuple[str, Mapping[str, tuple[str, str]]]] = {
    "finite": ('size = "20kB"', {"size": ("10kB", "30kB")}),
    "closed_loop": (
        'users = 3, think = "1ms", size = "20kB"',
        {"users": ("5", "4"), "think": ("2ms", "3ms"), "size": ("10kB", "30kB")},
    ),
    "periodic": ('every = "10ms", size = "2kB"', {"every": ("9ms", "8ms"), "size": ("1kB", "3kB")}),
    "open_loop": ('interarrival = "10ms", size = "2kB"', {"interarrival": ("9ms", "8ms"), "size": ("1kB", "3kB")}),
    "incast": (
        'servers = 3, pause = "1ms", size = "2kB"',
        {"servers": ("5", "4"), "pause": ("2ms", "3ms"), "delay": ("1ms", "2ms"), "size": ("1kB", "3kB")},
    ),
    "app_limited": ('rate = "1Mbps"', {"rate": ("2Mbps", "3Mbps")}),
    "poisson": ('rate = "1Mbps"', {"rate": ("2Mbps", "3Mbps")}),
    "cbr": ('rate = "1Mbps"', {"rate": ("2Mbps", "3Mbps")}),
    "on_off": (
        'peak = "1Mbps", on = "10ms", off = "10ms"',
        {"peak": ("2Mbps", "3Mbps"), "on": ("9ms", "8ms"), "off": ("9ms", "8ms")},
    ),
    "voip": ("", {"interval": ("10ms", "30ms"), "talk": ("1s", "2s"), "silence": ("1s", "2s")}),
}
#: The load of open-loop arrivals in three keys, of which a scenario has one.
LOADS = {"open_loop": {"load", "rate"}}


def with_workload(kind: str) -> str:
    """The base with a group of this workload and the number of flows that it says."""
    keys, _ = WORKLOADS[kind]
    group = f'[[flows]]\nname = "w"\nrtt = "10ms"\npath = ["far"]\nworkload = {{ {kind} = {{ {keys} }} }}\n'
    return BASE.replace("[run]", f"{group}[run]")


#: Texts of the base that some keys need otherwise. A lossless queue cannot pause the noise.
NEEDED = {
    "links.1.memory_": ('name = "far"', 'name = "far"\nmemory = "chip"'),
    "memories.chip.short_": ('name = "chip"', 'name = "chip"\nthreshold = "fab"'),
    "links.1.pfc": ('name = "noise"\nworkload = { poisson = { rate = "1Mbps" } }', 'name = "noise"\nrtt = "9ms"'),
    "memories.chip.headroom": (
        'name = "far"',
        'name = "far"\nmemory = "chip"\nqueue = { kind = "classes", classes = [{ name = "a", groups = ["long"], '
        'pfc = { xoff = "9kB", xon = "6kB", headroom = "5kB" } }, { name = "b" }] }',
    ),
}


#: A fabric, with two values of each of its keys and of those of groups in it.
FABRIC = """
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts = 4
[fabric.port]
rate = "100Mbps"
buffer = "90p"
cable = "100m"
[[flows]]
name = "long"
count = 2
recovery = "rack"
rtt = "1ms"
[run]
warmup = "0s"
measure = "20ms"
"""
FABRIC_VALUES: Mapping[str, tuple[str, str]] = {
    "fabric.kind": ("leaf_spine", "leaf_spine"),
    "fabric.leaves": ("1", "2"),
    "fabric.spines": ("1", "3"),
    "fabric.hosts": ("8", "6"),
    "fabric.target": ("leaf1-host2", "host1-leaf1"),
    "fabric.memory.size": ("1MB", "2MB"),
    "fabric.port.buffer": ("80p", "70p"),
    "fabric.nic.buffer": ("80p", "70p"),
    "fabric.host_port.queue": ("codel", "red"),
    "fabric.uplink.rate": ("400Mbps", "50Mbps"),
    "fabric.spine_port.cable": ("300m", "2km"),
    "flows.long.from": ("leaf1", "host1..host3"),
    "flows.long.to": ("host1", "host1"),
    "flows.long.spray": ("true", "true"),
}
#: Workloads between the hosts of a fabric, with two values of their keys.
COLLECTIVES: Mapping[str, tuple[str, Mapping[str, tuple[str, str]]]] = {
    kind: ('size = "30kB"', {"size": ("20kB", "40kB"), "pause": ("1ms", "2ms")})
    for kind in ("all_to_all", "ring_all_reduce")
}


def with_collective(kind: str) -> str:
    """The fabric with a workload of this kind."""
    keys, _ = COLLECTIVES[kind]
    return FABRIC.replace("count = 2", f"workload = {{ {kind} = {{ {keys} }} }}")


def cases() -> Iterator[tuple[str, str, tuple[str, str]]]:
    for key, values in VALUES.items():
        needed = next((texts for start, texts in NEEDED.items() if key.startswith(start)), ("", ""))
        yield BASE.replace(*needed, 1), key, values
    for key, values in FABRIC_VALUES.items():
        yield FABRIC, key, values
    for kind, (_, keys) in COLLECTIVES.items():
        for key, values in keys.items():
            yield with_collective(kind), f"flows.long.workload.{kind}.{key}", values
    for kind, (_, keys) in WORKLOADS.items():
        for key, values in keys.items():
            yield with_workload(kind), f"flows.w.workload.{kind}.{key}", values


CASES = [pytest.param(*case, id=case[1]) for case in cases()]


def test_every_key_of_the_schema_is_walked() -> None:
    schema = json.loads(_core.schema())
    tables: dict[str, Mapping[str, Any]] = {
        "links": schema["$defs"]["link"],
        "flows": schema["$defs"]["group"],
        **{table: schema["properties"][table] for table in ("run", "fluid", "trace")},
        "memories": schema["properties"]["memories"]["items"],
        "fabric": schema["properties"]["fabric"],
    }
    every = map(_parts, [*VALUES, *FABRIC_VALUES])
    walked = {(parts[0], parts[2 if parts[0] in {"links", "flows", "memories"} else 1]) for parts in every}
    for table, node in tables.items():
        left = {key for key in node["properties"] if (table, key) not in walked} - {"workload"}
        assert {f"{table}.{key}" for key in left} <= APART, table
    group = schema["$defs"]["group"]["properties"]
    acknowledgments = {key.rpartition(".")[2] for key in VALUES if ".delayed_ack." in key}
    assert set(group["delayed_ack"]["properties"]) == acknowledgments
    kinds = [one["properties"] for one in group["workload"]["oneOf"] if "properties" in one]
    known = {kind: set(body["properties"]) for one in kinds for kind, body in one.items()}
    assert known == {
        kind: set(keys) | LOADS.get(kind, set()) for kind, (_, keys) in {**WORKLOADS, **COLLECTIVES}.items()
    }


def _parts(key: str) -> list[str]:
    parts = key.split(".")
    return parts if len(parts) > 1 else [*parts, ""]


@pytest.mark.parametrize(("text", "key", "values"), [case for case in CASES if ".voip." not in str(case.id)])
def test_a_key_is_changed_from_python(text: str, key: str, values: tuple[str, str]) -> None:
    """Also of a scenario that was changed before, whose canonical form says more than its file.

    A scenario stores `voip` as the equivalent `on_off` source, whose keys are walked.
    """
    scenario = Scenario.parse(text)
    once = scenario.changed(f"{key}={values[0]}")
    assert once.resolved == Scenario.parse(text, overrides=[f"{key}={values[0]}"]).resolved
    twice = once.changed(f"{key.replace('.long.', '.0.')}={values[1]}")
    assert twice.resolved == scenario.changed(f"{key}={values[1]}").resolved
    same = values[0] == values[1] or key.endswith("offload_grows")
    assert same or once.resolved != twice.resolved


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("text", "key", "values"), CASES)
def test_a_key_is_set_and_swept(text: str, key: str, values: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    answer = forebay("run", path, "--set", f"{key}={values[0]}", "--json")
    assert answer.code == 0, answer.err
    if key.startswith(("trace.", "title")) or "[" in values[0] or "{" in values[0] or ".voip." in key:
        return  # what is recorded does not change a report, an axis has plain values, and for voip see above
    axis = values[0] if values[0] == values[1] else ",".join(values)
    answer = forebay("sweep", path, "--over", f"{key}={axis}", "--out", tmp_path / "sweep")
    assert answer.code == 0, answer.err


def test_a_count_that_an_argument_asks_for_is_held_against_the_workload() -> None:
    text = with_workload("incast")
    assert Scenario.parse(text).changed("flows.*.packet=1000B", "flows.w.workload.incast.servers=7")
    with pytest.raises(InputError, match="no `count` beside `servers`"):
        Scenario.parse(text, overrides=["flows.w.count=9", "flows.w.workload.incast.servers=7"])
    # The workload may be another kind, too.
    other = "flows.long.workload={ incast = { servers = 7, pause = '1ms', size = '2kB' } }"
    assert Scenario.parse(text).changed(other).resolved["flows"][0]["count"] == 7
