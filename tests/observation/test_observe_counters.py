"""Counters: load, losses and watermarks of known truth in every form, wraps and restarts, and one line for the rest."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from forebay import InputError
from forebay.observation.counter_files.unwrapping import counted
from forebay.observation.timestamps import parse_timestamp
from tests.support.readings import read_counters
from tests.support.tiers import examples

BEGIN = 1_790_000_000
RATE = 1e9


@dataclass(frozen=True)
class Polls:
    """A port over time: amounts of each interval of 30 s, and what counters showed."""

    amounts: NDArray[np.int64]
    packets: NDArray[np.int64]
    drops: NDArray[np.int64]
    peaks: NDArray[np.int64]

    @property
    def times(self) -> list[int]:
        return [BEGIN + 30 * at for at in range(self.amounts.size + 1)]

    def shown(self, kind: str, first: int = 0, bits: int = 64) -> list[int]:
        amounts = {"bytes": self.amounts, "packets": self.packets, "drops": self.drops}[kind]
        return [int(each) % 2**bits for each in first + np.concatenate([[0], np.cumsum(amounts)])]


def polls(seed: int = 1, count: int = 200, load: float = 0.6, loss: float = 1e-3) -> Polls:
    rng = np.random.default_rng(seed)
    rates = np.clip(rng.normal(load, 0.15, count), 0.05, 1.0) * RATE
    amounts = (rates * 30 / 8).astype(np.int64)
    packets = amounts // 1000
    drops = rng.binomial(packets, loss / (1 - loss))
    return Polls(amounts, packets, drops, rng.integers(1000, 2_000_000, count + 1))


TRUE = polls(seed=3)


def table(of: Polls, names: tuple[str, ...] = ("time", "bytes", "packets", "drops", "watermark")) -> str:
    rows = zip(of.times, of.shown("bytes"), of.shown("packets"), of.shown("drops"), of.peaks.tolist(), strict=True)
    return "\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n"


def long_table(of: Polls) -> str:
    out = ["timestamp;oid;value"]
    for at, when in enumerate(of.times):
        stamp = datetime.fromtimestamp(when, UTC).isoformat()
        for name, kind in (("ifHCOutOctets", "bytes"), ("ifHCOutUcastPkts", "packets"), ("ifOutDiscards", "drops")):
            out.append(f"{stamp};IF-MIB::{name}.3;{of.shown(kind)[at]}")
    return "\n".join(out)


def dated(of: Polls) -> str:
    rows = [
        f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d %H:%M:%S}\t{size}\t{packets}\t{drops}"
        for when, size, packets, drops in zip(
            of.times, of.shown("bytes"), of.shown("packets"), of.shown("drops"), strict=True
        )
    ]
    return "\n".join(["time\tifHCOutOctets.7\tifHCOutUcastPkts.7\tifOutDiscards.7", *rows]) + "\n"


def scrapes(of: Polls) -> str:
    out = []
    for at, when in enumerate(of.times):
        out.append("# HELP node_network_transmit_bytes_total x\n# TYPE node_network_transmit_bytes_total counter")
        for name, kind in (("bytes", "bytes"), ("packets", "packets"), ("drop", "drops")):
            value = of.shown(kind)[at]
            out.append(f'node_network_transmit_{name}_total{{device="eth0",x="a}}\\"b"}} {value} {when * 1000}')
        out.append(f"go_goroutines 7 {when * 1000}")
    return "\n".join([*out, "# EOF", ""])


def query(of: Polls) -> str:
    result = [
        {
            "metric": {"__name__": f"node_network_transmit_{name}_total", "device": "eth0", "job": "node"},
            "values": [[when, str(value)] for when, value in zip(of.times, of.shown(kind), strict=True)],
        }
        for name, kind in (("bytes", "bytes"), ("packets", "packets"), ("drop", "drops"))
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}, indent=1)


def gnmic_events(of: Polls) -> str:
    base = "/interfaces/interface/state/counters/"
    return json.dumps([
        {
            "name": "port-stats", "timestamp": when * 10**9,
            "tags": {"interface_name": "ethernet-1/1", "source": "192.0.2.9:57400", "depth": "5"},
            "values": {f"{base}{leaf}": of.shown(kind)[at]},
        }
        for at, when in enumerate(of.times)
        for leaf, kind in (("out-octets", "bytes"), ("out-pkts", "packets"), ("out-discards", "drops"))
    ])  # fmt: skip


def gnmic_updates(of: Polls) -> str:
    queue = "qos/interfaces/interface[interface-id=eth1]/output/queues/queue[name=BE]/state"
    return "\n".join(
        json.dumps({
            "source": "192.0.2.9:57400", "timestamp": when * 10**9, "time": "2026-09-21T14:13:20Z",
            "updates": [
                {"Path": f"{queue}/{leaf}", "values": {f"qos/state/{leaf}": str(value)}}
                for leaf, value in (
                    ("transmit-octets", of.shown("bytes")[at]), ("transmit-pkts", of.shown("packets")[at]),
                    ("dropped-pkts", of.shown("drops")[at]), ("max-queue-len", int(of.peaks[at])),
                )
            ],
        })
        for at, when in enumerate(of.times)
    )  # fmt: skip


def amounts(of: Polls) -> str:
    rows = zip(of.times[1:], of.amounts.tolist(), of.packets.tolist(), of.drops.tolist(), strict=True)
    return "\n".join(["time,bytes,packets,drops", f"{BEGIN},0,0,0", *(",".join(map(str, row)) for row in rows), ""])


FORMS: dict[str, Callable[[Polls], str]] = {
    "table": table,
    "long table": long_table,
    "SNMP table": dated,
    "scrapes": scrapes,
    "range query": query,
    "gnmic events": gnmic_events,
    "gnmic updates": gnmic_updates,
    "amounts": amounts,
}
PORTS = {"table": "", "long table": "3", "SNMP table": "7", "gnmic events": "ethernet-1/1",
         "gnmic updates": "eth1 queue BE", "amounts": ""}  # fmt: skip


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "counters"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("name", FORMS)
def test_every_form_says_what_is_true(name: str, tmp_path: Path) -> None:
    found = read_counters(written(tmp_path, FORMS[name](TRUE)), RATE)
    assert found.port == PORTS.get(name, "eth0")
    assert found.interval_s == 30
    assert found.bits_per_second == pytest.approx(TRUE.amounts * 8 / 30)
    assert found.drops == pytest.approx(TRUE.drops)
    assert found.starts_s.tolist() == TRUE.times[:-1]
    load = found.estimates["load"]
    assert load.value == pytest.approx(TRUE.amounts.sum() * 8 / 6000)
    assert load.contains(0.6 * RATE)
    assert found.estimates["utilization"].value == pytest.approx(load.value / RATE)
    for share in (50, 95):
        truth = np.quantile(TRUE.amounts * 8 / 30, share / 100)
        assert found.estimates[f"load_p{share}"].value == pytest.approx(truth, rel=0.02)
    loss = found.estimates["loss"]
    assert loss.value == pytest.approx(TRUE.drops.sum() / (TRUE.drops + TRUE.packets).sum())
    assert loss.contains(1e-3)
    assert found.estimates["packet_size"].value == pytest.approx(1000, rel=1e-3)
    assert "queue_p50" not in found.estimates
    peaks = name in ("table", "gnmic updates")
    assert ("watermark_p95" in found.estimates) == peaks
    assert ("the queue's peak" in {each.quantity for each in found.unknown}) != peaks
    if peaks:
        assert found.estimates["watermark_p95"].value == pytest.approx(np.quantile(TRUE.peaks, 0.95), rel=0.02)
        assert found.estimates["watermark_max"].value == TRUE.peaks.max()
        assert found.estimates["watermark_max"].unit == ("byte" if name == "gnmic updates" else "")
    assert any("less than 30 s" in each.quantity for each in found.unknown)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1790000000.5", 1_790_000_000.5), ("1790000000500", 1_790_000_000.5), ("1790000000500000", 1_790_000_000.5),
        ("1790000000500000000", 1_790_000_000.5), ("12.5", 12.5), ("2026-09-21T14:13:20Z", 1_790_000_000),
        ("2026-09-21 14:13:20", 1_790_000_000), ("2026-09-21T16:13:20+02:00", 1_790_000_000),
        ("2026/09/21 14:13:20", 1_790_000_000), ("Mon Sep 21 14:13:20 UTC 2026", 1_790_000_000),
        ("-1", None), ("nan", None), ("1e300", None), ("soon", None), ("", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_instants_are_read_in_every_form(
    text: str, seconds: float | None, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert parse_timestamp(text) == seconds
    finally:
        monkeypatch.undo()
        time.tzset()


def test_compressed_files_are_read(tmp_path: Path) -> None:
    uncompressed = read_counters(written(tmp_path, table(TRUE)), RATE).estimates
    assert read_counters(written(tmp_path, gzip.compress(table(TRUE).encode())), RATE).estimates == uncompressed


def test_counters_of_32_bits_wrap(tmp_path: Path) -> None:
    of = polls(load=0.5)
    rows = zip(of.times, of.shown("bytes", 4_000_000_000, 32), of.shown("packets", 2**32 - 5, 32), strict=True)
    text = "\n".join(["time,ifOutOctets,ifOutUcastPkts", *(",".join(map(str, row)) for row in rows), ""])
    found = read_counters(written(tmp_path, text), RATE)
    assert found.wraps > 50
    assert found.restarts == 0
    assert found.bits_per_second == pytest.approx(of.amounts * 8 / 30)
    # Without the rate the load of ordinary intervals bounds it.
    unbounded = read_counters(written(tmp_path, text))
    assert unbounded.bits_per_second == pytest.approx(of.amounts * 8 / 30)
    assert any("would look lower" in each for each in unbounded.notes)
    # At ten times the rate it may have wrapped unseen.
    fast = read_counters(written(tmp_path, text), 10 * RATE)
    assert "load" not in fast.estimates
    assert fast.bits_per_second.size == 0
    assert any("wraps more than once in 30 s" in each.because for each in fast.unknown)


@pytest.mark.parametrize("name", ["ifHCOutOctets", "bytes", "ifOutOctets"])
def test_a_restart_is_no_traffic(name: str, tmp_path: Path) -> None:
    of = polls(load=0.3)
    sizes = of.shown("bytes", 10**12 if name != "ifOutOctets" else 0, 64 if name != "ifOutOctets" else 32)
    at = 100
    sizes = [*sizes[:at], *(each - (sizes[at] - 5000) for each in of.shown("bytes", sizes[0])[at:])]
    sizes = [5000 + int(each) for each in sizes] if min(sizes) < 0 else sizes
    if name == "ifOutOctets":
        sizes = [each % 2**32 for each in sizes]
    uptimes = [(at if row < at else 0) + row for row in range(at)] + list(range(len(sizes) - at))
    rows = zip(of.times, sizes, uptimes, strict=True)
    text = "\n".join([f"time,{name},sysUpTime", *(",".join(map(str, row)) for row in rows), ""])
    found = read_counters(written(tmp_path, text), RATE)
    assert found.restarts == 1
    assert any(each.startswith("1 of 200 poll intervals are left out") for each in found.notes)
    retained = np.delete(of.amounts, at - 1)
    assert found.bits_per_second == pytest.approx(retained * 8 / 30)
    assert BEGIN + 30 * (at - 1) not in found.starts_s


def test_a_restart_without_an_uptime_is_distinguished_from_a_wrap() -> None:
    ordinary = [(30.0 * at, 1000 * at) for at in range(20)]
    begun = counted([*ordinary, (600.0, 10), (630.0, 1010)], 32, None)
    assert (begun.wraps, int(begun.broken.sum())) == (0, 1)
    assert begun.total[-1] == 19_000 + 1000
    wrapped = counted([(30.0 * at, (2**32 - 9500 + 1000 * at) % 2**32) for at in range(20)], 32, None)
    assert (wrapped.wraps, int(wrapped.broken.sum())) == (1, 0)
    assert wrapped.total.tolist() == [1000.0 * at for at in range(20)]
    wide = counted([(30.0 * at, (2**32 - 9500 + 1000 * at) % 2**32) for at in range(20)], 64, None)
    assert (wide.wraps, int(wide.broken.sum())) == (0, 1)
    # Differences of 64 bits keep every byte.
    assert counted([(0.0, 2**64 - 5001), (1.0, 2**64 - 4001), (2.0, 2**64 - 1)], 64, None).total.tolist() == [
        0, 1000, 5000,
    ]  # fmt: skip


def test_rows_may_come_in_any_order_and_twice(tmp_path: Path) -> None:
    header, *rows = table(TRUE).splitlines()
    mixed = [*rows[::2], *rows[1::2], *rows[5:9]]
    found = read_counters(written(tmp_path, "\n".join([header, *mixed, ""])), RATE)
    assert found.bits_per_second == pytest.approx(TRUE.amounts * 8 / 30)
    assert found.wraps == found.restarts == 0


def test_no_drop_bounds_the_loss(tmp_path: Path) -> None:
    of = polls(loss=0.0)
    found = read_counters(written(tmp_path, table(of)), RATE).estimates["loss"]
    assert found.value == found.low == 0
    assert found.high == pytest.approx(3 / of.packets.sum(), rel=0.01)


def test_a_time_between_polls_has_three_digits(tmp_path: Path) -> None:
    text = "time,bps\n" + "".join(f"{BEGIN + 59.40213 * at},{1e6}\n" for at in range(40))
    found = read_counters(written(tmp_path, text))
    assert found.unknown[0].quantity == "load over less than 59.4 s"


def test_rates_are_loads(tmp_path: Path) -> None:
    text = "time,interface,bps\n" + "".join(f"{BEGIN + 300 * at},eth0,{1e6 * (1 + at % 2)}\n" for at in range(101))
    found = read_counters(written(tmp_path, text))
    assert found.port == "eth0"
    # One rate more is of the lower value.
    assert found.estimates["load"].value == pytest.approx(1e6 * 151 / 101)


def test_packets_of_all_kinds_are_added(tmp_path: Path) -> None:
    names = "time,ifHCOutOctets,ifHCOutUcastPkts,ifHCOutMulticastPkts,ifOutUcastPkts,ifHCInOctets"
    text = names + "\n" + "".join(f"{BEGIN + at},{900 * at},{8 * at},{at},{8 * at},{at}\n" for at in range(50))
    found = read_counters(written(tmp_path, text))
    assert found.estimates["packet_size"].value == pytest.approx(100)
    # Arriving traffic counts only if the leaving traffic is unknown.
    arriving = "time,in-octets\n" + "".join(f"{BEGIN + at},{900 * at}\n" for at in range(50))
    found = read_counters(written(tmp_path, arriving))
    assert found.estimates["load"].value == pytest.approx(7200)
    assert any("of what arrives" in each for each in found.notes)


def test_ports_are_not_mixed(tmp_path: Path) -> None:
    text = "time,ifName,out-octets\n" + "".join(
        f"{BEGIN + at},eth{port},{1000 * at * (port + 1)}\n" for at in range(50) for port in range(2)
    )
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=r"port: .*found counters of 2 ports \(`eth0`, `eth1`\)"):
        read_counters(path)
    with pytest.raises(InputError, match="port: found `eth9`; allowed: `eth0`, `eth1`"):
        read_counters(path, port="eth9")
    assert read_counters(path, port="eth1").estimates["load"].value == pytest.approx(16_000)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "found an empty file"),
        ("\n \n", "only white space"),
        ("a,b\n1,2\n", r"line 1: found a header without a time and a counter"),
        ("Time,In,Out\n1,2,3\n", "line 1: found no column whose name tells a counter or a rate, but `In`, `Out`;"),
        ("time,bytes\n", "found no counter of a port"),
        ("time,bytes\n1,2\n", "found fewer than two polls"),
        ("time,bytes\n1,2\nx,3\n4,4\n", r"line 3: found the time `x`; allowed: seconds"),
        ("time,bytes\n1,2\n2,many\n4,4\n", r"line 3, column 2: found `many` for `bytes`; allowed: a number"),
        ("{}", "found no counter of a port"),
        ('{"a": [1, 2', "found no counter of a port"),
        ("[" * 5000, "found no counter of a port"),
        ('{"a": 1} x', r"line 1: found no JSON object"),
        ('node_network_transmit_bytes_total{device="eth0"} 3\nx 1\n', r"line 1: found no timestamp behind"),
        ('node_network_transmit_bytes_total{device="eth0"} three 1700000000\nx 1 1\n', "line 1: found"),
        (b"\0\1\2" * 50, "found a binary file"),
    ],
)  # fmt: skip
def test_what_is_broken_is_one_line(content: str | bytes, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError, match=message) as caught:
        read_counters(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_was_cut_says_what_is_before(tmp_path: Path) -> None:
    for name in ("table", "scrapes", "gnmic updates"):
        text = FORMS[name](TRUE)
        found = read_counters(written(tmp_path, text[: len(text) * 2 // 3]), RATE)
        assert found.estimates["load"].value == pytest.approx(0.6 * RATE, rel=0.05)
    assert read_counters(written(tmp_path, "time,bytes\n1,100\n2,200\n3,3x")).seconds.size == 1


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(list(FORMS)),
    changes=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=4)), max_size=5),
    start=st.one_of(st.just(b""), st.binary(max_size=200)),
    rate=st.sampled_from([None, RATE]),
)
def test_garbage_is_one_line_or_an_answer(
    name: str, changes: list[tuple[float, bytes]], start: bytes, rate: float | None, tmp_path: Path
) -> None:
    content = start or FORMS[name](polls(count=5)).encode()
    for share, patch in changes:
        at = int(share * len(content))
        content = content[:at] + patch + content[at + len(patch) :]
    path = tmp_path / f"garbage{os.getpid()}"
    path.write_bytes(content)
    try:
        found = read_counters(path, rate)
    except InputError as error:
        found = None
        message = str(error)
    if found is None:
        assert "\n" not in message
        return
    assert (found.bits_per_second >= 0).all()
    assert np.isfinite(found.bits_per_second).all()
