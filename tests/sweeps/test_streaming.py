"""A sweep of any size needs little memory, and its tables do not depend on the parts in which they are written."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import polars as pl
import pytest

from forebay import Scenario, sweep
from forebay.storage import tables
from forebay.storage.safe_io import DamagedError
from forebay.sweeps import grid, summaries, sweeping
from forebay.sweeps.axes import Axis
from forebay.sweeps.batches import Batches
from forebay.sweeps.grid import Grid
from forebay.sweeps.jobs import jobs_of
from forebay.views import sweep_picture
from tests.support.scenarios import SMALL

QUICK = SMALL.replace('measure = "30s"', 'measure = "1s"').replace('warmup  = "5s"', 'warmup = "100ms"')

#: Engines whose rows have different columns, two cells of one scenario, and cells of different numbers of rows.
OVER = ["link.rate=2Mbps,2000kbps,3Mbps", "engine=closed_form,packet,fluid"]


def contents(folder: Path) -> list[pl.DataFrame]:
    """The tables that depend on the sweep alone."""
    return [pl.read_parquet(folder / f"{name}.parquet") for name in ("rows", "summary")]


def written(folder: Path) -> list[bytes]:
    return [(folder / f"{name}.parquet").read_bytes() for name in ("rows", "summary")]


def test_the_jobs_of_a_grid_are_those_of_its_cells_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, axes = Scenario.parse(QUICK), [Axis.parse(axis) for axis in OVER]
    expected = list(jobs_of(scenario, axes, "packet", 3, 5))
    for stored in (0, 2, 100):
        monkeypatch.setattr(grid, "STORED", stored)
        found = Grid(scenario, axes, "packet", 3, 5)
        assert len(found) == len(expected)
        for number, job in enumerate(expected):
            made, run = found.job(number), found.run(number)
            assert (made.key, made.sha256, str(made), str(run)) == (job.key, job.sha256, str(job), str(job))
            assert found.key(number) == job.key
            assert found.cells[number] == job.cell.index
            first = next(at for at, other in enumerate(expected) if other.key == job.key)
            assert found.find(job.key) == found.firsts[number] == first
        assert found.find("0" * 32) is None
        assert found.find("no key") is None
    without = Grid(scenario, axes, "packet", 3, 5, without={"closed_form"})
    others = [job for job in expected if job.engine != "closed_form"]
    assert [str(without.run(number)) for number in range(len(without))] == [str(job) for job in others]


def test_tables_are_the_same_in_parts_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario.parse(QUICK)
    sweep(scenario, OVER, tmp_path / "whole", replications=3)
    rows = contents(tmp_path / "whole")[0]
    assert rows["cell"].to_list() == [cell for cell in range(9) for _ in range(1 if cell % 3 == 0 else 3)]
    for size in (1, 2, 4):
        for module in (summaries, tables):
            monkeypatch.setattr(module, "ROWS", size)
        sweep(scenario, OVER, tmp_path / str(size), replications=3)
        for whole, parts in zip(contents(tmp_path / "whole"), contents(tmp_path / str(size)), strict=True):
            assert parts.schema == whole.schema
            assert parts.columns == whole.columns
            assert parts.equals(whole)
    assert not list(tmp_path.rglob("*.partial"))


def test_a_resumption_inside_of_a_batch_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, over = Scenario.parse(QUICK), ["link.buffer=1p..12p:12lin"]
    sweep(scenario, over, tmp_path / "whole", replications=1)

    def stop(done: int, _of: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    for size in (1, 512):
        monkeypatch.setattr(sweeping, "BATCH", size)
        with pytest.raises(KeyboardInterrupt):
            sweep(scenario, over, tmp_path / str(size), replications=1, jobs=1, progress=stop)
        assert not (tmp_path / str(size) / "rows.parquet").exists()
        again = sweep(scenario, over, tmp_path / str(size), replications=1, jobs=1)
        assert (again.computed, again.reused) == (7, 5)
        assert written(tmp_path / str(size)) == written(tmp_path / "whole")


def test_a_line_that_changes_while_a_sweep_runs_is_not_used(tmp_path: Path) -> None:
    with Batches(tmp_path) as stored:
        place = stored.add(b"00000000 {}\n")
        with pytest.raises(DamagedError, match="a line that is not as written"):
            list(stored.texts([place]))


def peak_of(cells: int, folder: Path) -> int:
    """The peak memory of Python in a sweep, in bytes."""
    tracemalloc.start()
    try:
        over = [f"run.seed=1..{cells // 10}:{cells // 10}lin", "link.buffer=1p..10p:10lin"]
        sweep(Scenario.parse(QUICK), over, folder, engine="closed_form", jobs=1)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_row_needs_little_memory_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row as an object takes ten thousand bytes."""
    monkeypatch.setattr(grid, "STORED", 100)
    monkeypatch.setattr(sweeping, "BATCH", 100)
    for module in (summaries, tables):
        monkeypatch.setattr(module, "ROWS", 200)
    few, many = (peak_of(cells, tmp_path / str(cells)) for cells in (500, 1500))
    assert (many - few) / 1000 < 500


#: Prints the peak memory of a process that makes a sweep of some thousand cells, in kilobytes.
SWEEP = """
import sys
from forebay import Scenario, sweep
cells = int(sys.argv[1])
over = [f"run.seed=1..{cells // 10}:{cells // 10}lin", "link.buffer=1p..10p:10lin"]
sweep(Scenario.parse(sys.argv[3]), over, sys.argv[2], engine="closed_form", jobs=1)
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.long
def test_the_memory_of_a_process_grows_little_with_the_rows(tmp_path: Path) -> None:
    """Arenas of libraries grow up to about 50,000 rows."""
    peaks = []
    for cells in (60_000, 120_000):
        command = [sys.executable, "-c", SWEEP, str(cells), str(tmp_path / str(cells)), QUICK]
        peaks.append(1024 * int(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    assert (peaks[1] - peaks[0]) / 60_000 < 500
    assert peaks[1] < 400e6


def test_a_picture_of_very_many_cells_has_some_of_them_and_says_how_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, whole = Scenario.parse(QUICK), tmp_path / "whole"
    sweep(scenario, ["run.seed=1..9:9lin", "link.buffer=1p..5p:5lin"], whole, engine="closed_form")
    keys = [key.text for key in sweep_picture.sweep_chart(whole).legend]
    assert not [label for label in keys if "are drawn" in label]
    assert [f"run.seed={seed}" in keys for seed in range(1, 10)] == [True] * 9
    monkeypatch.setattr(sweep_picture, "DRAWN", 20)
    keys = [key.text for key in sweep_picture.sweep_chart(whole).legend]
    assert "15 of 45 cells are drawn" in keys
    assert [f"run.seed={seed}" in keys for seed in range(1, 10)] == [seed in (1, 4, 7) for seed in range(1, 10)]
    monkeypatch.setattr(sweep_picture, "DRAWN", 3)
    assert "9 of 45 cells are drawn" in [key.text for key in sweep_picture.sweep_chart(whole).legend]
