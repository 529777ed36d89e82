"""`_core.observe_captures`: captures of simulated links come back as what the engine says of them."""

from __future__ import annotations

import signal
import struct
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from forebay import Scenario, _core
from forebay.errors import InputError
from forebay.measurement.traces import write_traces

#: A full link of 20 Mb/s, seen before and behind its queue.
BOTH = """
[link]
rate = "20Mbps"
buffer = "30p"
[[flows]]
name = "long"
count = 3
rtt = "20ms"
packet = "1500B"
[[flows]]
name = "noise"
packet = "500B"
workload = { poisson = { rate = "500kbps" } }
[run]
warmup = "0s"
measure = "4s"
[trace]
record = ["packets"]
capture = "both"
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("both")
    write_traces(Scenario.parse(BOTH).run(traces=True, replications=1), folder)
    return folder


def quantile(counted: _core.Counted, share: float) -> float:
    below = np.cumsum(counted["count"]) / counted["count"].sum()
    return float(counted["least"][np.searchsorted(below, share)])


def test_a_queue_is_seen_as_the_engine_has_it(traced: Path) -> None:
    captured = _core.observe_captures([traced / "packets.pcapng"])
    packets = pl.read_parquet(traced / "packets.parquet")
    assert [it["name"] for it in captured["interfaces"]] == ["arrivals", "departures"]
    dropped, passed = packets.filter("dropped"), packets.filter(~pl.col("dropped"))
    assert dropped.height > 20
    arrivals, departures = (it["directions"][0] for it in captured["interfaces"])
    assert arrivals["total"] == (packets.height, packets["bytes"].sum())
    assert departures["total"] == (passed.height, passed["bytes"].sum())
    assert captured["queue"] is not None
    crossing = captured["queue"]["directions"][0]
    lost = crossing["dropped"][0] + crossing["unfinished"][0]
    assert dropped.height <= lost <= dropped.height + 30
    assert crossing["through"][0] == packets.height - lost
    assert crossing["overtaken"] == crossing["overtaken_inside"] == crossing["negative"] == 0
    for share in (0.05, 0.5, 0.95):
        truth = passed["wait_s"].quantile(share, "lower")
        assert truth is not None
        assert quantile(crossing["waits_ns"], share) / 1e9 == pytest.approx(truth, rel=0.04)
    for direction in (arrivals, departures):
        streams = direction["streams"]
        assert streams["carried"][0] == direction["total"][0]
        assert direction["bins"]["packets"].sum() == direction["total"][0]
    # Packets of 1500 bytes that leave a busy link of 20 Mb/s are 600 us apart.
    gaps = departures["gaps"]
    behind = (gaps["before"] == 1500) & (gaps["behind"] == 1500)
    busiest = np.argmax(np.where(behind, gaps["count"], 0))
    assert gaps["least_ns"][busiest] <= 600_000 <= gaps["most_ns"][busiest] + 1


def test_columns_have_a_row_for_each_stream(traced: Path) -> None:
    captured = _core.observe_captures([traced / "packets.pcapng"])
    for interface in captured["interfaces"]:
        streams = interface["directions"][0]["streams"]
        rows = 0
        for table in (streams["long"], streams["sample"]):
            columns = {name: column for name, column in table.items() if not isinstance(column, dict)}
            (height,) = {len(column) for column in columns.values()}
            rows += height
            windows = table["windows"]
            for row in range(height):
                inside = windows["stream"] == row
                if table["series_width_ns"][row]:
                    assert windows["packets"][inside].sum() == table["data_packets"][row]
                else:
                    assert not inside.any()
            assert len(table["loss_times"]["stream"]) <= table["losses"].sum()
        assert rows == streams["count"] == 4


def test_progress_ends_with_all_bytes(traced: Path) -> None:
    path, calls = traced / "packets.pcapng", []
    _core.observe_captures([path, path], progress=lambda read, size: calls.append((read, size)))
    size = 2 * path.stat().st_size
    assert calls[-1] == (size, size)
    assert calls == sorted(calls)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"before": 0}, "after: found none"),
        ({"before": 0, "after": "elsewhere"}, 'after: found "elsewhere"'),
        ({"before": 1, "after": 1}, "after: found interface 1 on both sides"),
    ],
)
def test_a_queue_has_two_sides(traced: Path, arguments: dict[str, int | str], found: str) -> None:
    with pytest.raises(InputError, match=found):
        _core.observe_captures([traced / "packets.pcapng"], **arguments)  # type: ignore[arg-type]


def test_a_file_that_is_no_capture_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("what we measured")
    with pytest.raises(InputError) as raised:
        _core.observe_captures([path])
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)
    with pytest.raises(InputError, match="paths: found none"):
        _core.observe_captures([])


def test_an_interrupt_is_heard_while_it_reads(tmp_path: Path) -> None:
    # Two million packets of 28 bytes: longer than a heartbeat.
    path = tmp_path / "long.pcap"
    packet = bytes([0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 9, 0, 9, 0, 8, 0, 0])
    record = struct.pack("<IIII", 1, 0, len(packet), len(packet)) + packet
    with path.open("wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for _ in range(20):
            file.write(record * 100_000)
    heard: list[int] = []

    def interrupt(read: int, _: int | None) -> None:
        if not heard:
            heard.append(read)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        _core.observe_captures([path], progress=interrupt)
    assert 0 < heard[0] < path.stat().st_size
