"""Sweeps: the grammar of axes, and a folder that survives kills and full disks."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay import InputError, Scenario, sweep
from forebay.sweeps.axes import Axis, cells
from tests.conftest import SMALL, forebay

QUICK = SMALL.replace('measure = "30s"', 'measure = "4s"').replace('warmup  = "5s"', 'warmup = "1s"')


#: How often the sweep that is to survive is killed.
KILLS = 25


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    path = tmp_path / "quick.toml"
    path.write_text(QUICK, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("link.buffer=10p,20p,40p", ("10p", "20p", "40p")),
        ("link.buffer=1p..100p:3", ("1p", "10p", "100p")),
        ("link.buffer=1..4BDP:3", ("1BDP", "2BDP", "4BDP")),
        ("link.buffer=0ms..10ms:3lin", ("0ms", "5ms", "10ms")),
        ("flows.bulk.count=1..9:2lin", ("1", "9")),
        ('flows.bulk.cca=newreno,{ kind = "cubic", beta = 0.8 }', ("newreno", '{ kind = "cubic", beta = 0.8 }')),
        ('flows.bulk.rtt=["1ms", "2ms"],5ms', ('["1ms", "2ms"]', "5ms")),
        ("engine=packet", ("packet",)),
        ("link.buffer=1p..3p:9", ("1p", "2p", "3p")),
    ],
)
def test_axes(text: str, values: tuple[str, ...]) -> None:
    assert Axis.parse(text).values == values


@pytest.mark.parametrize(
    "text",
    [
        "link.buffer",
        "=1p",
        "link.buffer=",
        "link.buffer=1p..2p",
        "link.buffer=0p..9p:3",
        "link.buffer=9p..1p:3",
        "link.buffer=1p..2ms:3",
        "link.buffer=1p..9p:0",
        "link.buffer=a..b:3",
        "link.buffer=1p,,2p",
        "a=1..2:9999999",
    ],
)
def test_wrong_axes_are_named(text: str) -> None:
    with pytest.raises(InputError, match=r"^over: "):
        Axis.parse(text)


@given(st.text(max_size=40))
def test_no_axis_text_breaks_the_reader(text: str) -> None:
    try:
        axis = Axis.parse(text)
    except InputError:
        return
    assert axis.values


def test_cells_run_the_last_axis_fastest() -> None:
    grid = list(cells([Axis("a", ("1", "2")), Axis("b", ("x", "y"))]))
    assert [cell.settings for cell in grid] == [
        (("a", "1"), ("b", "x")),
        (("a", "1"), ("b", "y")),
        (("a", "2"), ("b", "x")),
        (("a", "2"), ("b", "y")),
    ]
    with pytest.raises(InputError, match="twice"):
        list(cells([Axis("a", ("1",)), Axis("a", ("2",))]))


def test_a_sweep_and_its_tables(quick: Path, tmp_path: Path) -> None:
    scenario = Scenario.load(quick)
    over = ["link.buffer=5p..80p:3", "flows.bulk.cca=newreno,cubic"]
    found = sweep(scenario, over, tmp_path / "out", replications=3)
    assert (found.computed, found.reused, found.failed) == (18, 0, {})
    rows = found.rows()
    assert rows.height == 18
    assert rows["cell"].to_list() == [cell for cell in range(6) for _ in range(3)]
    assert rows["axis.link.buffer"].unique().sort().to_list() == ["20p", "5p", "80p"]
    # A row is what a single run says.
    alone = scenario.changed("link.buffer=20p", "flows.bulk.cca=cubic").run(replications=3)
    summary = (
        found.summary()
        .filter(pl.col("axis.link.buffer") == "20p", pl.col("axis.flows.bulk.cca") == "cubic")
        .to_dicts()[0]
    )
    assert summary["utilization.mean"] == pytest.approx(alone.metrics["utilization"].mean, rel=1e-12)
    assert summary["utilization.half_width"] == pytest.approx(alone.metrics["utilization"].half_width, rel=1e-9)
    again = sweep(scenario, over, tmp_path / "out", replications=3)
    assert (again.computed, again.reused) == (0, 18)
    assert again.rows().equals(rows)
    more = sweep(scenario, over, tmp_path / "out", replications=4)
    assert (more.computed, more.reused) == (6, 18)
    drawn = forebay("plot", tmp_path / "out")
    assert drawn.code == 0, drawn.err
    assert (tmp_path / "out" / "sweep.png").stat().st_size > 10_000


def test_no_sweep_begins_whose_manifest_could_not_be_read_again(quick: Path, tmp_path: Path) -> None:
    scenario, out = Scenario.load(quick), tmp_path / "out"
    with pytest.raises(InputError, match="1000000"):
        sweep(scenario, ["link.buffer=5p"], out, replications=1_000_001)
    long = Axis("link.buffer", tuple(f"{packets}p" for packets in range(1, 100_002)))
    with pytest.raises(InputError, match="100001 values; allowed: at most 100000"):
        sweep(scenario, [long], out, replications=1)
    assert not list(out.glob("*.json"))


def test_another_sweep_is_refused_its_folder(quick: Path, tmp_path: Path) -> None:
    scenario = Scenario.load(quick)
    sweep(scenario, ["link.buffer=5p"], tmp_path / "out", replications=1)
    with pytest.raises(InputError, match="another `axes`"):
        sweep(scenario, ["link.buffer=6p"], tmp_path / "out", replications=1)
    with pytest.raises(InputError, match="another `scenario`"):
        sweep(scenario.changed("link.rate=3Mbps"), ["link.buffer=5p"], tmp_path / "out", replications=1)


def test_the_number_of_jobs_changes_nothing(quick: Path, tmp_path: Path) -> None:
    tables = []
    for jobs in (1, 4):
        found = sweep(Scenario.load(quick), ["link.buffer=5p..80p:4"], tmp_path / str(jobs), jobs=jobs)
        rows = found.rows()
        tables.append(rows.select(name for name in rows.columns if not name.startswith("cost.")))
    assert tables[0].equals(tables[1])


def test_a_wrong_cell_is_found_before_anything_runs(quick: Path, tmp_path: Path) -> None:
    answer = forebay("sweep", quick, "--over", "flows.bulk.cca=newreno,reno2", "--out", tmp_path / "out")
    assert answer.code == 2
    assert "reno2" in answer.err
    assert not (tmp_path / "out").exists()


def test_a_killed_sweep_goes_on_where_it_stopped(quick: Path, tmp_path: Path) -> None:
    """Kills at random moments while cells are written: none is lost or computed twice, none is ever half-written."""
    out = tmp_path / "out"
    over = ["link.buffer=1p..200p:40", "flows.bulk.rtt=10ms,20ms,40ms,80ms"]
    arguments = ["sweep", str(quick), "--out", str(out), "--replications", "2", "--set", "run.measure=20s", "--json"]
    for axis in over:
        arguments += ["--over", axis]
    command = [sys.executable, "-m", "forebay.command_line", *arguments]
    generator = random.Random(20261121)
    births: dict[str, float] = {}
    for kill in range(KILLS):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while len(list((out / "cells").glob("*.json"))) <= len(births) and process.poll() is None:
            assert time.monotonic() < deadline, "no further cell in 30 s"
            time.sleep(0.002)
        time.sleep(0.02 * generator.random())
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, f"the sweep ended before kill {kill}: it needs more cells"
        for path in (out / "cells").glob("*.json"):
            json.loads(path.read_text(encoding="utf-8"))  # complete, whatever happened
            written = path.stat().st_mtime_ns
            assert births.setdefault(path.name, written) == written, "computed twice"
    assert len(births) >= KILLS
    assert not (out / "rows.parquet").exists(), "every kill was in the middle"
    answer = forebay(*arguments)
    assert answer.code == 0, answer.err
    for name, written in births.items():
        assert (out / "cells" / name).stat().st_mtime_ns == written
    whole = forebay(*(part if part != str(out) else str(tmp_path / "whole") for part in arguments))
    assert whole.code == 0, whole.err
    tables = [pl.read_parquet(folder / "rows.parquet") for folder in (out, tmp_path / "whole")]
    kept = [table.select(name for name in table.columns if not name.startswith("cost.")) for table in tables]
    assert kept[0].equals(kept[1])
    assert not list(out.rglob("*.partial"))


def test_a_full_disk_ends_with_one_line_and_loses_nothing(quick: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a 1 MiB file system is not allowed here")
    try:
        arguments = ["sweep", str(quick), "--over", "link.buffer=1p..400p:400lin", "--out", str(disk / "out")]
        arguments += ["--replications", "1"]
        answer = forebay(*arguments)
        assert answer.code == 2
        assert answer.err.count("\n") == 1
        assert "No space left on device" in answer.err
        recorded = {path.name: path.read_bytes() for path in (disk / "out" / "cells").glob("*.json")}
        assert len(recorded) > 50
        for data in recorded.values():
            json.loads(data)
        assert not list(disk.rglob("*.partial"))
        subprocess.run(["mount", "-o", "remount,size=16m", str(disk)], check=True)
        assert forebay(*arguments).code == 0
        for name, data in recorded.items():
            assert (disk / "out" / "cells" / name).read_bytes() == data
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def test_an_unwritable_folder_is_named(quick: Path) -> None:
    answer = forebay("sweep", quick, "--over", "link.buffer=5p", "--out", "/proc/forebay")
    assert answer.code == 2
    assert "/proc/forebay" in answer.err
    assert os.linesep not in answer.err.strip()


def test_xarray_has_the_axes_as_dimensions(quick: Path, tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    found = sweep(
        Scenario.load(quick), ["link.buffer=5p,20p", "flows.bulk.cca=newreno,cubic"], tmp_path / "out", replications=2
    )
    dataset = found.xarray()
    assert dict(dataset.sizes) == {"link.buffer": 2, "flows.bulk.cca": 2}
    row = found.summary().filter(pl.col("axis.link.buffer") == "5p", pl.col("axis.flows.bulk.cca") == "cubic")
    where = {"link.buffer": 5, "flows.bulk.cca": "cubic"}
    assert float(dataset["utilization"].sel(where)) == row["utilization.mean"][0]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("link.rate=1234567bps..2345678bps:2", ["1234567bps", "2345678bps"]),
        ("run.seed=1000001..1000003:3lin", ["1000001", "1000002", "1000003"]),
        ("run.seed=1..100000000:3", ["1", "10000", "100000000"]),
        ("link.rate=0.1Mbps..0.1000001Mbps:2", ["0.1Mbps", "0.1000001Mbps"]),
        ("link.buffer=0.01BDP..1BDP:3", ["0.01BDP", "0.1BDP", "1BDP"]),
        ("link.rate=1Mbps..3Mbps:4lin", ["1Mbps", "1.66667Mbps", "2.33333Mbps", "3Mbps"]),
    ],
)
def test_a_range_has_the_ends_that_were_asked_for_and_as_many_values(text: str, values: list[str]) -> None:
    assert list(Axis.parse(text).values) == values
