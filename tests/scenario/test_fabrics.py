"""Fabrics from the outside: the example of the guide, the shipped ones, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forebay import Scenario, UnsupportedError
from forebay.views.fabric_ports import MOST_PORTS
from tests.support.commands import forebay

PAGE = Path(__file__).parents[2] / "docs/guides/fabric.md"
SHIPPED = ("ai-fabric-400g", "storage-roce-100g", "leaf-incast-dctcp")


def example() -> str:
    """The scenario of the guide: its first indented block."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("    title"))
    last = next(at for at in range(first, len(lines)) if lines[at] and not lines[at].startswith("    "))
    return "\n".join(line[4:] for line in lines[first:last])


def test_the_round_of_the_guide_takes_the_time_that_it_follows_by_hand() -> None:
    text = PAGE.read_text(encoding="utf-8")
    steps, packets, packet_us = 8, 200, 1.2
    assert f"{steps} x ({packets} x {packet_us} + {packet_us} + 2) µs = 1,946 µs" in text
    by_hand_s = steps * (packets * packet_us + packet_us + 2) * 1e-6
    report = Scenario.parse(example()).run(seed=1)
    assert report.groups[0].metrics["request_time_p50_s"].mean == pytest.approx(by_hand_s, rel=0.01)


ALL_TO_ALL = """
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts = 8
[fabric.port]
rate = "10Gbps"
buffer = "150kB"
cable = "20m"
[[flows]]
name = "shuffle"
packet = "1500B"
workload = { all_to_all = { size = "200kB", pause = "1ms" } }
[run]
warmup = "0s"
measure = "4s"
"""
SWIFT = """
[link]
rate = "10Gbps"
buffer = "1MB"
[[flows]]
count = 10
rtt = "20us"
packet = "1500B"
cca = { kind = "swift" }
[run]
warmup = "100ms"
measure = "200ms"
"""


@pytest.mark.parametrize(
    ("changes", "row", "round_ms"),
    [
        ([], "| 1 s | 150 kB | 1,002 ms |", 1002.0),
        (["flows.shuffle.min_rto=10ms", "flows.shuffle.initial_rto=10ms"], "| 10 ms | 150 kB | 11.2 ms |", 11.2),
        (["flows.shuffle.min_rto=1ms", "flows.shuffle.initial_rto=1ms"], "| 1 ms | 150 kB | 2.2 ms |", 2.2),
        (["fabric.port.buffer=10MB"], "| 1 s | 10 MB, no losses | 1.6 ms |", 1.65),
    ],
    ids=["default", "10ms", "1ms", "no-loss"],
)
def test_a_lost_tail_delays_a_round_by_the_minimum_timeout(changes: list[str], row: str, round_ms: float) -> None:
    assert row in PAGE.read_text(encoding="utf-8")
    report = Scenario.parse(ALL_TO_ALL).changed(*changes).run(seed=1)
    assert report.groups[0].metrics["request_time_p50_s"].mean == pytest.approx(round_ms / 1000, rel=0.03)


@pytest.mark.parametrize(
    ("cca", "row", "delay_us", "jain"),
    [
        ('{ kind = "swift" }', '| `"swift"` | 141 µs | 0.27 |', 141, 0.27),
        (
            '{ kind = "swift", base_target = "40us" }',
            '| `{ kind = "swift", base_target = "40us" }` | 34 µs | 1.00 |',
            34,
            1.0,
        ),
    ],
    ids=["automatic", "fixed"],
)
def test_swift_without_a_base_target_keeps_a_queue_and_shares_unevenly(
    cca: str, row: str, delay_us: float, jain: float
) -> None:
    assert row in PAGE.read_text(encoding="utf-8")
    metrics = Scenario.parse(SWIFT.replace('{ kind = "swift" }', cca)).run(seed=1).metrics
    assert metrics["queue_delay_mean_s"].mean == pytest.approx(delay_us * 1e-6, rel=0.03)
    assert metrics["jain_index"].mean == pytest.approx(jain, abs=0.01)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_fabric_loses_nothing_and_shows_its_worst_ports_in_80_columns(name: str) -> None:
    answer = forebay("run", f"@{name}", columns=80)
    assert answer.code == 0, answer.err
    assert max(map(len, answer.out.splitlines())) <= 80
    table = answer.out[answer.out.index("worst of ") :]
    assert len(re.findall(r"^ +(?:leaf|spine)\d+-\w+", table, re.MULTILINE)) == MOST_PORTS
    assert re.search(r"loss +0 %", answer.out)


@pytest.mark.parametrize("engine", ["fluid", "closed_form"])
def test_engines_without_routes_refuse_a_fabric_by_name(engine: str) -> None:
    with pytest.raises(UnsupportedError, match=r"flows between hosts of a `\[fabric\]`"):
        Scenario.parse(example()).run(engine)


def test_the_buffer_of_a_fabric_is_that_of_all_ports_with_the_role_of_the_target() -> None:
    scenario = Scenario.parse(example()).changed("link.buffer=7p")
    buffers = {link["name"]: link["buffer"] for link in scenario.resolved["links"]}
    assert buffers["leaf1-host1"] == buffers["leaf1-host5"] == "7p"
    assert buffers["host1-leaf1"] != "7p"
    assert scenario.run(seed=1).buffer.packets == 7
