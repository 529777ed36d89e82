"""Flow records: every format says the same, what is known of the traffic comes out, and what is broken is one line."""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import struct
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from forebay import InputError, _core
from forebay.errors import UnreadableError
from forebay.observation import line_reader
from forebay.observation import records as reader
from forebay.observation.estimate import IntervalEstimate
from forebay.observation.flow_records import record_table, store
from forebay.observation.flow_records.spreading import SpreadSum
from forebay.observation.intervals import batch_ratio, independent_of, quantile, share_without_events
from forebay.observation.memory import limited_memory
from tests.support import flow_exports as made
from tests.support.flow_exports import BEGIN, Record
from tests.support.readings import read_records
from tests.support.tiers import examples

SECONDS = 1800.0
FEW = made.exported(made.flows(3, 60.0, 1.0, 2), active=20.0, inactive=15.0)


@pytest.fixture(scope="module")
def flows() -> list[made.Flow]:
    return made.flows(7, SECONDS, 5.0, 40)


def written(folder: Path, content: str | bytes, name: str = "flows.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


#: Fields that a format lacks.
WITHOUT = {"nfdump 1.7 csv": ("tcp_flags", "input", "output")}


@pytest.mark.parametrize("name", made.FORMATS)
def test_every_format_says_the_same(name: str, tmp_path: Path) -> None:
    found = read_records([written(tmp_path, made.FORMATS[name](FEW))])
    table = found.records.collect()
    assert table.height == found.count == len(FEW)
    order = ["bytes", "source_port", "packets", "start_s"]
    truth = pl.DataFrame({
        "start_s": [r.start for r in FEW], "end_s": [r.end for r in FEW], "bytes": [r.bytes for r in FEW],
        "packets": [r.packets for r in FEW], "protocol": [r.protocol for r in FEW],
        "tcp_flags": [r.flags for r in FEW], "source_port": [r.source_port for r in FEW],
        "target_port": [r.target_port for r in FEW], "input": [r.input for r in FEW],
        "output": [r.output for r in FEW],
    }).sort(order)  # fmt: skip
    table = table.sort(order)
    for column in truth.columns:
        if column in WITHOUT.get(name, ()):
            assert table[column].null_count() == table.height
        elif column in ("start_s", "end_s"):
            # Uptimes say nothing of the epoch.
            offset = table["start_s"][0] - truth["start_s"][0] if "names" in name and "v9" in name else 0.0
            assert np.abs(table[column].to_numpy() - offset - truth[column].to_numpy()).max() < 0.0021
        else:
            assert table[column].to_list() == truth[column].to_list()
    pairs = {(r.source, r.target) for r in FEW}
    assert table["pair"].n_unique() == len(pairs)
    assert table["pair"].null_count() == 0


def test_addresses_do_not_leave_the_reader(tmp_path: Path) -> None:
    path = written(tmp_path, made.nfdump_old(FEW))
    first, second = (read_records([path]) for _ in range(2))
    assert not re.search(r"\d+\.\d+\.\d+\.\d+", repr(first) + str(first.records.collect().rows()))
    # The hash is of this run alone.
    assert set(first.records.collect()["pair"]).isdisjoint(second.records.collect()["pair"])


@pytest.mark.parametrize("packer", ["gzip", "zstd"])
def test_compressed_files_say_the_same(packer: str, tmp_path: Path) -> None:
    text = made.nfdump_old(FEW).encode()
    # Two members, as rotated logs have them.
    packed = gzip.compress(text[:1000]) + gzip.compress(text[1000:]) if packer == "gzip" else zstd().compress(text)
    found = read_records([written(tmp_path, packed, "flows.csv.x")])
    assert found.count == len(FEW)
    assert found.estimates == read_records([written(tmp_path, text)]).estimates
    with pytest.raises(InputError, match=r"flows\.cut.* found unreadable data .*; allowed: a whole file"):
        read_records([written(tmp_path, packed[: len(packed) - 20], "flows.cut")])


def test_zstd_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(line_reader, "import_module", missing)
    with pytest.raises(UnreadableError, match=r"found zstd, .* allowed: .*pip install \"forebay\[zstd\]\""):
        read_records([written(tmp_path, b"\x28\xb5\x2f\xfd" + bytes(20))])


def zstd() -> Any:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ImportError:
            continue
    pytest.skip("nothing that packs zstd")


# Statistics of the traffic ------------------------------------------------------------------------------------------


def true_load(flows: list[made.Flow], begin: float, end: float) -> float:
    return sum(
        8 * flow.packet * int(((flow.times >= BEGIN + begin) & (flow.times < BEGIN + end)).sum()) for flow in flows
    ) / (end - begin)


@pytest.mark.parametrize(("active", "inactive"), [(60.0, 15.0), (120.0, 30.0), (300.0, 15.0)])
def test_known_traffic_comes_out(flows: list[made.Flow], active: float, inactive: float, tmp_path: Path) -> None:
    exported = made.exported(flows, active, inactive)
    found = read_records([written(tmp_path, made.nfdump_old(exported))])
    assert found.timeouts.active_s == active
    assert found.load.resolution_s == active
    truth = true_load(flows, active, SECONDS - active)
    assert found.estimates["load"].value == pytest.approx(truth, rel=0.03)
    assert found.estimates["load"].contains(truth)
    # The whole is what it was, wherever a record smeared it.
    whole = sum(flow.size for flow in flows)
    assert found.load.values.sum() * found.load.bin_s / 8 == pytest.approx(whole, rel=1e-9)
    # Flows come together again: as many as there were, and as large. Pauses longer than the timeout part a few.
    joined = found.flows.collect()
    assert joined.height == pytest.approx(len(flows), rel=0.01)
    assert len(exported) > joined.height
    sizes = np.sort([flow.size for flow in flows])
    for share in (25, 50, 75, 90):
        assert found.estimates[f"size_p{share}"].value == pytest.approx(np.quantile(sizes, share / 100), rel=0.1)
    long = [f for f in flows if f.times[-1] - f.times[0] >= 10 and f.size >= 1e6]
    at_once = sum(float(f.times[-1] - f.times[0]) for f in long) / SECONDS
    assert found.estimates["long_flows"].value == pytest.approx(at_once, rel=0.15)
    rates = [f.size * 8 / float(f.times[-1] - f.times[0]) for f in long]
    assert found.estimates["long_rate_p50"].value == pytest.approx(np.median(rates), rel=0.1)
    assert found.estimates["arrival_rate"].value == pytest.approx(5.0, rel=0.1)
    assert found.estimates["tcp_share"].value == 1.0


def test_pieces_of_one_flow_are_joined_and_others_are_not(tmp_path: Path) -> None:
    def record(start: float, end: float, flags: int = 16, port: int = 1000) -> Record:
        return Record(BEGIN + start, BEGIN + end, 1000, 2, 6, flags, "10.0.0.1", "10.0.0.2", port, 80)

    def count(*records: Record) -> list[int]:
        fill = [record(400 + 100 * each, 401 + 100 * each, port=2000 + each) for each in range(3)]
        found = read_records([written(tmp_path, made.nfdump_old([*records, *fill]))])
        assert found.timeouts.inactive_s == 15
        return found.flows.filter(pl.col("end_s") < BEGIN + 400).sort("start_s").collect()["records"].to_list()

    assert count(record(0, 60), record(61, 121), record(122, 130)) == [3]
    assert count(record(0, 60), record(74.9, 100)) == [2]
    assert count(record(0, 60), record(75, 100)) == [1, 1]
    assert count(record(0, 60), record(61, 100, port=1001)) == [1, 1]
    for other in ({"target_port": 81}, {"protocol": 17}, {"output": 3}, {"input": 3}, {"target": "10.0.0.3"}):
        assert count(record(0, 60), Record(**{**vars(record(61, 100)), **other})) == [1, 1]
    # A port that is used again at once is another flow.
    assert count(record(0, 60, flags=17), record(61, 100, flags=18)) == [1, 1]
    assert count(record(0, 60, flags=17), record(61, 100, flags=16)) == [2]


def test_the_inactive_timeout_shows_in_pauses(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    records = []
    for port in range(40):
        start = BEGIN + rng.uniform(0, 100)
        for _ in range(10):
            end = start + rng.uniform(1, 20)
            records.append(Record(start, end, 5000, 9, 17, 0, "10.0.0.1", "10.0.0.2", 5000 + port, 53))
            start = end + 30 + rng.exponential(20)
    found = read_records([written(tmp_path, made.nfdump_old(records))])
    assert found.timeouts == reader.Timeouts(None, 30.0, assumed=False)
    assert found.flows.collect().height == 400


def test_pieces_of_slow_flows_do_not_look_like_pauses(tmp_path: Path) -> None:
    times = BEGIN + np.arange(0, 600, 8.0)
    slow = [made.Flow(f"10.0.0.{at}", "10.0.1.1", 1000, 80, times + at / 10, 200) for at in range(40)]
    found = read_records([written(tmp_path, made.nfdump_old(made.exported(slow, 60.0, 15.0)))])
    assert found.timeouts == reader.Timeouts(60.0, 15.0, assumed=True)
    assert found.flows.collect().height == 40


def test_an_address_of_zeros_is_none(tmp_path: Path) -> None:
    base = {"flowStartSeconds": BEGIN, "flowEndSeconds": BEGIN + 9, "octetDeltaCount": 7}
    none = {"sourceIPv4Address": "0.0.0.0", "sourceIPv6Address": "::"}
    rows = [
        {**base, **none, "destinationIPv4Address": "0.0.0.0"},
        {**base, **none, "sourceIPv6Address": "2001:db8::1"},
        {**base, "sourceIPv4Address": "0.0.0.0", "sourceIPv6Address": "2001:DB8::1"},
        {**base, **none, "sourceIPv4Address": "192.0.2.1"},
    ]
    pairs = read_records([written(tmp_path, made.lines(rows))]).records.collect()["pair"].to_list()
    assert pairs[0] is None
    assert pairs[1] == pairs[2] != pairs[3]


def test_ports_and_interfaces_that_cannot_be_are_not_known(tmp_path: Path) -> None:
    text = f"ts,te,ibyt,sp,dp,in,out,pr,flg\n{BEGIN},{BEGIN + 1},5,65536,8.0,4294967296,-1,300,hello\n"
    for content in (text, text + "1,2"):  # also line by line
        row = read_records([written(tmp_path, content)]).records.collect().row(0, named=True)
        assert row["target_port"] == 8
        assert {row[name] for name in ("source_port", "input", "output", "protocol", "tcp_flags")} == {None}


def test_every_file_has_its_own_clock(tmp_path: Path) -> None:
    seconds = written(tmp_path, f"ts,te,ibyt\n{BEGIN},{BEGIN + 1},5\n", "one")
    milliseconds = written(tmp_path, f"ts,te,ibyt\n{BEGIN * 1e3:.0f},{(BEGIN + 3) * 1e3:.0f},5\n", "two")
    found = read_records([seconds, milliseconds])
    assert (found.first_s, found.last_s) == (BEGIN, BEGIN + 3)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-09-21 13:33:20", 0), ("2026-09-21T13:33:20.250Z", 0.25), ("2026/09/21 13:33:20.5", 0.5),
        ("2026-09-21T15:33:20+02:00", 0), ("2026-09-21 08:33:20.125-0500", 0.125), ("2026-09-21 13:33:20 UTC", 0),
        ("1789997600", 0), ("1789997600.25", 0.25), ("1789997600250", 0.25), ("1789997600250000", 0.25),
        ("1789997600250000001", 0.250000001),
    ],
)  # fmt: skip
def test_times_are_read_in_every_form(text: str, seconds: float, tmp_path: Path) -> None:
    found = read_records([written(tmp_path, f"start;duration;bytes\n{text};0:01:02.5;7\n")])
    assert found.first_s == pytest.approx(1_789_997_600 + seconds, abs=1e-6)
    assert found.last_s - found.first_s == pytest.approx(62.5)


@pytest.mark.parametrize("interval", [10, 100])
def test_sampled_traffic_is_scaled_and_small_flows_are_omitted(interval: int, tmp_path: Path) -> None:
    flows = made.flows(11, SECONDS, 0.5, 300, cluster=1, packet=6000)
    seen = made.sampled(flows, interval, seed=4)
    exported = made.exported(seen, 60.0, 120.0)
    found = read_records([written(tmp_path, made.nfdump_old(exported))], sampling=interval)
    assert found.sampling == interval
    assert found.estimates["load"].value == pytest.approx(true_load(flows, 120.0, SECONDS - 120.0), rel=0.03)
    assert not any(name.startswith(("size_", "arrival")) for name in found.estimates)
    assert any(f"below {interval} packets" in each.quantity for each in found.unknown)
    large = np.array([flow.size for flow in flows if flow.times.size >= 30 * interval])
    assert large.size > 100
    for share in (25, 50, 75):
        assert found.estimates[f"large_size_p{share}"].value == pytest.approx(np.quantile(large, share / 100), rel=0.1)


def test_sampling_is_read_where_exporters_say_it(tmp_path: Path) -> None:
    bare_text = read_records([written(tmp_path, b"".join(made.ipfix(FEW)))])
    options = read_records([written(tmp_path, b"".join([made.sampler(64), *made.ipfix(FEW)]))])
    assert options.sampling == 64
    assert options.estimates["load"].value == pytest.approx(64 * bare_text.estimates["load"].value)
    fifth = read_records([written(tmp_path, b"".join(made.v5(FEW, sampling=0x4000 | 32)))])
    assert fifth.sampling == 32
    objects = [{**each, "SAMPLING_INTERVAL": 16} for each in made.named(FEW, "v9")]
    assert read_records([written(tmp_path, made.lines(objects))], sampling=1000).sampling == 16
    # Another exporter's sampling is its own.
    assert read_records([written(tmp_path, b"".join([made.sampler(64, 8), *made.ipfix(FEW)]))]).sampling == 1


@pytest.mark.parametrize(("uptime", "late"), [(10_000, 5), (10_000, -60), (2**32 - 1000, -60)])
def test_uptimes_wrap_and_may_be_ahead(uptime: int, late: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "UPTIME", uptime)
    monkeypatch.setattr(made, "LATE", late)
    for packets in (made.v5(FEW), made.v9(FEW)):
        found = read_records([written(tmp_path, b"".join(packets))])
        assert found.first_s == pytest.approx(min(each.start for each in FEW), abs=0.002)
        assert found.last_s == pytest.approx(max(each.end for each in FEW), abs=0.002)


def test_times_that_cannot_be_are_left_out(tmp_path: Path) -> None:
    late = [Record(**{**vars(each), "end": 1e15}) for each in FEW[:3]]
    packets = [*made.ipfix(FEW), *made.ipfix(late)]
    found = read_records([written(tmp_path, b"".join(packets))])
    assert found.count == len(FEW)
    assert found.last_s == pytest.approx(max(each.end for each in FEW), abs=0.002)
    assert any(each.startswith("3 exported records have impossible times") for each in found.notes)
    # A record of centuries takes no more room than others.
    wide = read_records([written(tmp_path, f"start,end,bytes\n1,1e10,7\n{BEGIN},{BEGIN + 1},5\n")])
    assert wide.load.values.size < 2**20
    assert wide.load.values.sum() * wide.load.bin_s / 8 == pytest.approx(12)


def test_templates_come_first(tmp_path: Path) -> None:
    packets = made.v9(FEW)
    # The first data set without its template; the template comes with the second packet.
    head, rest = packets[0][:20], packets[0][20:]
    size = int.from_bytes(rest[2:4], "big")
    found = read_records([written(tmp_path, head + rest[size:] + b"".join(packets[1:]))])
    assert found.count == len(FEW) - 20
    assert any("came before their template" in each for each in found.notes)


def test_a_link_is_chosen_by_its_interface(tmp_path: Path) -> None:
    two = [Record(**{**vars(each), "output": 3 + at % 2}) for at, each in enumerate(FEW)]
    path = written(tmp_path, made.nfdump_old(two))
    both = read_records([path])
    assert any(each.startswith("records of 2 output interfaces are counted together: ") for each in both.notes)
    one = read_records([path], output=3)
    assert one.count == (len(FEW) + 1) // 2
    assert not any("output interfaces" in each for each in one.notes)
    with pytest.raises(InputError, match=f"found {len(FEW)} records, none of interface 9"):
        read_records([path], output=9)


def test_a_full_link_limits_its_long_flows(flows: list[made.Flow], tmp_path: Path) -> None:
    path = written(tmp_path, made.nfdump_old(made.exported(flows, 60.0, 15.0)))
    question = "which flows this link limits"
    idle = read_records([path], rate_bps=1e9)
    assert question in {each.quantity for each in idle.unknown}
    assert "limited_flows" not in idle.estimates
    assert idle.estimates["utilization"].value == pytest.approx(idle.estimates["load"].value / 1e9)
    full = read_records([path], rate_bps=37.2e6)
    assert question not in {each.quantity for each in full.unknown}
    limited = full.estimates["limited_flows"]
    assert limited.value > 0
    assert not limited.is_bounded
    assert question in {each.quantity for each in read_records([path]).unknown}


def test_records_without_addresses_are_no_flows(tmp_path: Path) -> None:
    text = "start,duration,bytes\n" + "".join(f"{BEGIN + each},2,1000\n" for each in range(100))
    found = read_records([written(tmp_path, text)])
    assert found.estimates["load"].value == pytest.approx(8000, rel=0.05)
    assert found.sizes.size == found.arrivals_s.size == 0
    assert any("without addresses" in each.because for each in found.unknown)


def test_many_rows_on_the_disk_say_what_few_in_memory_say(
    flows: list[made.Flow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, made.nfdump_old(made.exported(flows, 60.0, 15.0)))
    complete = read_records([path])
    monkeypatch.setattr(store, "HELD", 1000)
    monkeypatch.setattr(record_table, "read_blocks", lambda file, _: pieces(file, 50_000))
    parts = read_records([path])
    assert parts.count == complete.count
    assert parts.timeouts == complete.timeouts
    assert parts.load.values == pytest.approx(complete.load.values, abs=1e-3)
    assert parts.sizes.tolist() == complete.sizes.tolist()
    assert parts.arrivals_s.tolist() == complete.arrivals_s.tolist()
    assert {name: each.value for name, each in parts.estimates.items()} == pytest.approx(
        {name: each.value for name, each in complete.estimates.items()}
    )
    assert parts.flows.collect().height == complete.flows.collect().height


def pieces(file: object, size: int) -> object:
    while block := file.read(size):  # type: ignore[attr-defined]
        yield block


@pytest.mark.sampled(5)
@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("name", ["nfdump 1.6 csv", "nfdump json", "v9 packets", "v5 packets", "ipfix packets"])
def test_where_blocks_end_does_not_matter(
    name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, made.FORMATS[name](FEW))
    complete = read_records([path]).estimates
    monkeypatch.setattr(record_table, "read_blocks", lambda file, _: first_whole(file, size))
    assert read_records([path]).estimates == complete


def first_whole(file: object, size: int) -> object:
    """The first block is what tells the format."""
    yield file.read(100)  # type: ignore[attr-defined]
    yield from pieces(file, size)  # type: ignore[misc]


def test_files_of_several_formats_add_up(tmp_path: Path) -> None:
    half = len(FEW) // 2
    first = written(tmp_path, made.nfdump_old(FEW[:half]), "one.csv")
    second = written(tmp_path, made.lines(made.named(FEW[half:], "ipfix")), "two.json")
    both = read_records([first, second])
    assert both.formats == ("flow records in a table", "flow records in JSON")
    assert both.estimates["load"].value == pytest.approx(
        read_records([written(tmp_path, made.nfdump_fast(FEW))]).estimates["load"].value, rel=1e-3
    )


def test_printed_files_one_behind_the_other(tmp_path: Path) -> None:
    text = made.nfdump_old(FEW[:20]) + made.nfdump_old(FEW[20:])
    assert read_records([written(tmp_path, text)]).count == len(FEW)
    assert read_records([written(tmp_path, "# by hand\n\n" + text.replace("\n", "\r\n"))]).count == len(FEW)


# nfcapd ------------------------------------------------------------------------------------------------------------


def test_nfdump_reads_what_nfcapd_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, b"\x0c\xa5\x02\x00" + bytes(100), "nfcapd.202611231600")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnreadableError, match="no nfdump that reads it; allowed: install nfdump"):
        read_records([path])
    (tmp_path / "printed.csv").write_text(made.nfdump_old(FEW))
    program = tmp_path / "nfdump"
    program.write_text(f'#!/bin/sh\n[ "$1 $3 $4" = "-r -o csv" ] || exit 9\nexec /bin/cat {tmp_path}/printed.csv\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    found = read_records([path])
    assert (found.count, found.formats) == (len(FEW), ("nfdump's nfcapd",))
    program.write_text("#!/bin/sh\nexit 251\n")
    with pytest.raises(UnreadableError, match="nfdump refuses"):
        read_records([path])


# Defective inputs --------------------------------------------------------------------------------------------------

OLD = made.nfdump_old(FEW).split("\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "found an empty file"),
        ("\n\n", "no record|without names that are known"),
        ("hello\nworld\n", r"line 1: found a header without names that are known; allowed: names of a start"),
        ("\n#x\nts,sa,da\n", r"line 3: found a header without bytes and two of start, end and duration"),
        ("ts,te,ibyt\n", "found no record"),
        ("ts,te,ibyt\n1.5,2,many\n", r"line 2: found `many` in the column `ibyt`; allowed: a whole number"),
        ("ts,te,ibyt\n1,2,3\n\n# x\n1,2,-3\n", r"line 5: found `-3` in the column `ibyt`"),
        ("ts,te,ibyt\n1,2,3\nyesterday,2,3\n1,2,3\n", r"line 3: found `yesterday` in the column `ts`; allowed: sec"),
        ("ts,te,ibyt\n1,2,3\n1\n1,2,3\n", r"line 3: found `` in the column `ibyt`"),
        ("ts,te,ibyt\n1,,3\n1,2,3\n", r"line 2: found `` in the column `te`"),
        ("ts,te,ibyt\n1,2,1e99\n1,2,3\n", r"line 2: found `1e99` in the column `ibyt`"),
        ("ts,te,ibyt\n1e30,2,3\n1,2,3\n", r"line 2: found `1e30` in the column `ts`"),
        ('{"bytes": 3}\n', r"line 1: found a record without two of start, end and duration"),
        ('{"ts": 1, "te": 2, "bytes": 3}\n{"ts": 1, "te": 2, "bytes": "x"}\n', r"line 2: found `x` as `bytes`"),
        ('{"ts": 1, "te": 2, "bytes": 3}\n{"ts": 1, "te": 2}\n', r"line 2: found no bytes; allowed: records with"),
        ('{"ts": 1, "te": 2, "bytes": 3}\n{]}\n{}\n', r"line 2: found no JSON"),
        ('{"ts": 1, "te": 2, "bytes": 3}\nhello', r"line 2: found no JSON object"),
        ('[{"ts": 1,\n"te": 2,\n"bytes": 3},\n{"ts": 1, "te": 2}]', r"line 4: found no bytes; allowed"),
        ("{" * 5000, r"line 1: found no JSON"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "found no JSON"),
        ('{"ts": 1, "te": 2, "bytes": ' + "9" * 5000 + "}", "found no JSON|found"),
        (b"\xff\xfet\x00s\x00", "found UTF-16"),
        (b"\x1f\x8b\x08\x00garbage", "found unreadable data"),
        (struct.pack(">HHIII", 10, 20, 0, 0, 0) + bytes(4), "found no export packet"),
        (b"".join(made.v5(FEW)) + b"\x00\x08" * 50, r"byte \d+: found a packet of version 8; allowed: 5, 9 or 10"),
        ("ts,te,ibyt\n" + "1" * 2**21, r"line 2: found a line of more than 1048576 bytes"),
    ],
)  # fmt: skip
def test_what_is_broken_is_one_line(content: str | bytes, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError, match=message) as caught:
        read_records([path])
    assert str(caught.value).startswith(f"{path}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(OSError(5, "Input/output error"), UnreadableError), (gzip.BadGzipFile("Not a gzipped file"), InputError)],
)
def test_an_error_of_the_system_is_no_fault_of_the_file(error: OSError, kind: type[InputError]) -> None:
    class Failing(io.BytesIO):
        def read(self, _size: int | None = -1) -> bytes:
            raise error

    with pytest.raises(InputError, match="found unreadable data") as caught:
        list(line_reader.read_blocks(Failing(), "a.csv"))
    assert type(caught.value) is kind


@pytest.mark.parametrize(("memory", "most", "helps"), [(10**12, 100, False), (10**7, 10**8, True)])
def test_a_text_that_lack_of_memory_refuses_names_the_remedy(
    memory: int, most: int, helps: bool, tmp_path: Path
) -> None:
    path = written(tmp_path, "x" * 2_000_000)
    with limited_memory(memory, held=10**12), pytest.raises(InputError, match=r"found more than .* of text") as caught:
        line_reader.read_text(path, "a text", most)
    assert (_core.MORE_MEMORY in str(caught.value)) == helps


def test_a_file_that_was_cut_says_what_is_before(tmp_path: Path) -> None:
    text = made.nfdump_fast(FEW).encode()
    for cut in (text[: text.rindex(b",")], text[: text[:-40].rindex(b"\n") + 9]):
        assert read_records([written(tmp_path, cut)]).count == len(FEW) - 1
    objects = made.lines(made.named(FEW, "ipfix")).encode()
    assert read_records([written(tmp_path, objects[:-30])]).count == len(FEW) - 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sampling": 0}, "sampling: found 0"),
        ({"rate_bps": 0.0}, "rate: found 0"),
        ({"rate_bps": np.nan}, r"rate: found nan; allowed: 1 to 1e\+15 bit/s"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, float], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_records([written(tmp_path, made.nfdump_old(FEW))], **arguments)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no file"):
        read_records([])
    with pytest.raises(InputError, match="no such file"):
        read_records([tmp_path / "missing"])


TEXTS = st.one_of(
    st.binary(max_size=400),
    st.text(alphabet='0123456789.,;|\n"{}[]: -eTNa', max_size=300).map(
        lambda text: f"ts,te,ibyt,sa,da\n{text}".encode()
    ),
    st.sampled_from([str(name) for name in made.FORMATS]).flatmap(
        lambda name: st.tuples(st.just(name), st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=3)), max_size=4))
    ),
)


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=TEXTS)
@example(content=("v9 packets", [(0.23828125, b"\x84")]))  # a number of a thousand bytes
def test_garbage_is_one_line_or_an_answer(
    content: bytes | tuple[str, list[tuple[float, bytes]]], tmp_path: Path
) -> None:
    if isinstance(content, tuple):
        name, changes = content
        raw = made.FORMATS[name](FEW[:5])
        content = raw.encode() if isinstance(raw, str) else raw
        for share, patch in changes:
            at = int(share * len(content))
            content = content[:at] + patch + content[at + len(patch) :]
    path = tmp_path / f"garbage{os.getpid()}"
    path.write_bytes(content)
    try:
        found = read_records([path])
    except InputError as error:
        found = None
        message = str(error)
    if found is None:
        assert "\n" not in message
        return
    assert found.count >= 1
    assert np.isfinite(found.load.values).all()
    assert (found.load.values >= 0).all()


# The parts ---------------------------------------------------------------------------------------------------------


@given(
    intervals=st.lists(st.tuples(st.floats(0, 100), st.floats(0, 50), st.floats(0, 1e9)), min_size=1, max_size=30),
    width=st.sampled_from([1.0, 5.0, 30.0]),
)
@example(  # one that lasts no longer than its own rounding, across two bins
    intervals=[(0.0, 0.0, 0.0), (99.99999999999999, 1.0, 5.4e8), (54.0, 46.0, 8e6), (59.0, 40.0, 1.3e8)], width=5.0
)
def test_smeared_amounts_are_the_integral(intervals: list[tuple[float, float, float]], width: float) -> None:
    start = np.array([each[0] for each in intervals])
    end = np.minimum(start + [each[1] for each in intervals], 100.0)
    amount = np.array([each[2] for each in intervals])
    smear = SpreadSum(0.0, 100.0, width)
    half = len(intervals) // 2
    smear.add(start[:half], end[:half], amount[:half])
    smear.add(start[half:], end[half:], amount[half:])
    sums = smear.sums()
    tolerance = 1e-9 * amount.sum() + 1e-6
    assert sums.sum() == pytest.approx(amount.sum(), abs=tolerance)
    for at, got in enumerate(sums):
        low, high = at * width, (at + 1) * width
        lasting = end - start
        inside = np.clip(np.minimum(end, high) - np.maximum(start, low), 0, None)
        share = np.where(lasting > 0, inside / np.where(lasting > 0, lasting, 1), (start >= low) & (start < high))
        assert got == pytest.approx(float((share * amount).sum()), abs=tolerance)


def coverage(found: list[IntervalEstimate], truth: float) -> float:
    return float(np.mean([each.contains(truth) for each in found]))


def test_intervals_cover_the_truth() -> None:
    rng = np.random.default_rng(2)
    ratios, middles = [], []
    for _ in range(400):
        seconds = rng.uniform(0.5, 1.5, 200)
        ratios.append(batch_ratio(rng.poisson(7 * seconds).astype(float), seconds, "1/s", "a test"))
        middles.append(quantile(rng.lognormal(0, 1, 60), 0.9, "byte", "a test"))
    assert 0.85 <= coverage(ratios, 7.0) <= 0.96
    assert 0.85 <= coverage(middles, float(np.exp(1.2815515655446004))) <= 0.97


def test_intervals_of_what_depends_on_its_neighbor_are_wider() -> None:
    rng = np.random.default_rng(8)
    found = []
    for _ in range(300):
        noise = rng.normal(size=400)
        series = np.empty(400)
        series[0] = noise[0]
        for at in range(1, 400):
            series[at] = 0.8 * series[at - 1] + 0.6 * noise[at]
        found.append(quantile(series + 10, 0.5, "", "a test", independent_of(series)))
    assert 0.85 <= coverage(found, 10.0) <= 0.97
    assert independent_of(rng.normal(size=1000)) > 800
    assert independent_of(np.ones(50)) == 50


def test_nothing_seen_bounds_a_share() -> None:
    found = share_without_events(1000, "a test")
    # If the true share is at the end of the interval, one sample in twenty shows no event.
    assert (1 - found.high) ** 1000 == pytest.approx(0.05)
    assert not share_without_events(0, "a test").is_bounded
    assert not batch_ratio(np.ones(19), np.ones(19), "", "a test").is_bounded
