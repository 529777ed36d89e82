"""Sweeps: the grammar of axes, and a folder that survives kills and full disks."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay import InputError, Scenario, sweep
from forebay.results.statistics import mean_interval
from forebay.storage import journal
from forebay.sweeps import batches
from forebay.sweeps.axes import Axis, cells
from forebay.sweeps.grid import Grid
from forebay.sweeps.jobs import jobs_of
from forebay.sweeps.sweeping import load
from tests.support.commands import forebay
from tests.support.rows import stored_rows
from tests.support.scenarios import SMALL

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


@pytest.mark.parametrize("buffer", ["20ms", "0.5BDP", "30p", "45kB"])
@pytest.mark.parametrize("change", ["link.rate=7Mbps", "flows.bulk.rtt=13ms"])
def test_a_buffer_of_a_cell_is_that_of_the_changed_text(buffer: str, change: str) -> None:
    scenario = Scenario.parse(QUICK, overrides=[f"link.buffer={buffer}"])
    (job,) = jobs_of(scenario, [Axis.parse(change)], "packet", 1, 1)
    expected = Scenario.parse(QUICK, overrides=[f"link.buffer={buffer}", change])
    assert job.scenario.sha256 == expected.core.sha256
    changed = scenario.changed(change)
    assert changed.core.sha256 == expected.core.sha256
    assert f'"{buffer}"' in changed.toml


@pytest.mark.parametrize("arrivals", ["load = 0.3", 'rate = "2Mbps"', 'interarrival = "90ms"'])
@pytest.mark.parametrize("size", ["20kB", "14p"])
@pytest.mark.parametrize("change", ["link.rate=7Mbps", "flows.web.packet=9kB", "flows.web.stack=linux"])
def test_arrivals_of_a_cell_are_those_of_the_changed_text(arrivals: str, size: str, change: str) -> None:
    web = f'[[flows]]\nname = "web"\nrtt = "9ms"\nworkload = {{ open_loop = {{ {arrivals}, size = "{size}" }} }}\n'
    text = QUICK.replace("[run]", f"{web}[run]", 1)
    expected = Scenario.parse(text, overrides=[change]).core.sha256
    scenario = Scenario.parse(text)
    (job,) = jobs_of(scenario, [Axis.parse(change)], "packet", 1, 1)
    assert job.scenario.sha256 == expected
    assert (
        scenario.changed("run.seed=7").changed(change).changed(f"run.seed={scenario.core.seed}").core.sha256 == expected
    )
    assert Scenario.parse(Scenario(scenario.core).toml).changed(change).core.sha256 == expected


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
    repeated = sweep(scenario, over, tmp_path / "out", replications=3)
    assert (repeated.computed, repeated.reused) == (0, 18)
    assert repeated.rows().equals(rows)
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


def tables(folder: Path) -> list[bytes]:
    """The tables that depend on the sweep alone."""
    return [(folder / f"{name}.parquet").read_bytes() for name in ("rows", "summary")]


def lines(folder: Path) -> list[bytes]:
    return [line for path in sorted(folder.glob("*.jsonl")) for line, _ in journal.entries(path.read_bytes())]


def recorded(folder: Path) -> list[bytes]:
    """Every line that a sweep has written to its end."""
    return lines(folder / "cells")


def written(folder: Path) -> int:
    """How many lines there are while a process writes them."""
    with suppress(FileNotFoundError):  # it takes away a batch of half a line
        return sum(path.read_bytes().count(b"\n") for path in (folder / "cells").glob("*.jsonl"))
    return 0


def keys(found: list[bytes]) -> list[str]:
    return [row["key"] for _, row in journal.entries(b"".join(found))]


def test_the_number_of_jobs_changes_no_byte(quick: Path, tmp_path: Path) -> None:
    for jobs in (1, 4):
        sweep(Scenario.load(quick), ["link.buffer=5p..80p:4"], tmp_path / str(jobs), jobs=jobs)
    assert tables(tmp_path / "1") == tables(tmp_path / "4")


def test_what_runs_cost_is_in_a_table_of_its_own(quick: Path, tmp_path: Path) -> None:
    found = sweep(Scenario.load(quick), ["link.buffer=5p,20p"], tmp_path / "out", replications=2)
    assert not [name for name in (*found.rows().columns, *found.summary().columns) if name.startswith("cost.")]
    costs = load(tmp_path / "out", "costs")
    assert costs.select("key", "cell", "replication").equals(found.rows().select("key", "cell", "replication"))
    packets = [Scenario.load(quick).changed(f"link.buffer={each}").run(replications=2).cost for each in ("5p", "20p")]
    per_cell = costs.group_by("cell", maintain_order=True).agg(pl.col("cost.data_packets").sum())
    assert per_cell["cost.data_packets"].to_list() == [cost.data_packets for cost in packets]


def test_cells_share_files_which_are_closed_by_size(
    quick: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, over = Scenario.load(quick), ["link.buffer=1p..60p:60lin"]
    sweep(scenario, over, tmp_path / "one", replications=1)
    assert len(list((tmp_path / "one" / "cells").iterdir())) == 1
    longest = max(map(len, recorded(tmp_path / "one")))
    monkeypatch.setattr(batches, "MOST_BYTES", 16 * 1024)
    sweep(scenario, over, tmp_path / "more", replications=1)
    sizes = [path.stat().st_size for path in sorted((tmp_path / "more" / "cells").iterdir())]
    assert len(sizes) > 3
    assert all(16 * 1024 <= each < 16 * 1024 + longest for each in sizes[:-1])
    assert sorted(keys(recorded(tmp_path / "more"))) == sorted(keys(recorded(tmp_path / "one")))
    assert tables(tmp_path / "more") == tables(tmp_path / "one")
    assert sweep(scenario, over, tmp_path / "more", replications=1).reused == 60


def test_lines_are_there_at_once_and_synced_by_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, synced = [100.0], []
    monkeypatch.setattr(batches.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(batches.os, "fsync", lambda _file: synced.append(now[0]))
    with batches.Batches(tmp_path) as stored:
        for number, later in enumerate((0.0, 0.3, 0.5, 0.3, 0.1, 5.0, 0.2)):
            now[0] += later
            stored.add(journal.line({"key": str(number)}))
            assert keys(lines(tmp_path)) == [str(each) for each in range(number + 1)]
    assert synced == pytest.approx([100.0, 101.1, 106.2, 106.4]), "the folder, then the file"


def test_what_is_refused_is_listed_and_tried_again(quick: Path, tmp_path: Path) -> None:
    arguments = ["sweep", quick, "--over", "flows.bulk.count=2,300000", "--out", tmp_path / "out", "--memory", "50MB"]
    for _ in range(2):
        answer = forebay(*arguments, "--replications", "1", "--json")
        assert answer.code == 1
        (failed,) = (tmp_path / "out" / "failed.jsonl").read_text(encoding="utf-8").splitlines()
        assert {json.loads(failed)["job"]: json.loads(failed)["why"]} == json.loads(answer.out)["failed"]
        assert json.loads(answer.out)["damaged"] == []
    assert json.loads(answer.out)["reused"] == 1
    assert pl.read_parquet(tmp_path / "out" / "rows.parquet").height == 1


def test_the_list_of_refusals_goes_when_there_are_none(quick: Path, tmp_path: Path) -> None:
    arguments = ["sweep", quick, "--over", "link.buffer=5p", "--out", tmp_path / "out", "--json"]
    assert forebay(*arguments, "--memory", "50kB").code == 1
    assert (tmp_path / "out" / "failed.jsonl").exists()
    assert forebay(*arguments).code == 0
    assert not (tmp_path / "out" / "failed.jsonl").exists()


def test_two_cells_of_one_scenario_run_once_and_have_a_row_each(quick: Path, tmp_path: Path) -> None:
    over = ["link.rate=2Mbps,2000kbps", "link.buffer=5p,9p"]
    for reused in (2, 4):
        found = sweep(Scenario.load(quick), over, tmp_path / "out", replications=1)
        assert (found.computed, found.reused) == (4 - reused, reused)
        rows = found.rows()
        assert rows["cell"].to_list() == [0, 1, 2, 3]
        assert rows["axis.link.rate"].to_list() == ["2Mbps", "2Mbps", "2000kbps", "2000kbps"]
        assert rows["axis.link.buffer"].to_list() == ["5p", "9p"] * 2
        assert rows["utilization"].to_list()[:2] == rows["utilization"].to_list()[2:]


def test_a_refusal_takes_back_what_was_found_before(quick: Path, tmp_path: Path) -> None:
    """And what is found later takes back the refusal."""
    job, other = jobs_of(Scenario.load(quick), [], "packet", 2, 1)
    found = sweep(Scenario.load(quick), [], tmp_path / "out", replications=2, seed=1)
    assert found.computed == 2
    grid = Grid(Scenario.load(quick), [], "packet", 2, 1)
    folder = tmp_path / "out" / "cells"

    def there() -> set[str]:
        return set(stored_rows(grid, folder, lambda *_: pytest.fail("damaged")))

    line = next(line for line in recorded(tmp_path / "out") if keys([line]) == [job.key])
    for add, expected in ((batches.refusal(job.key, "why"), {other.key}), (line, {job.key, other.key})):
        with batches.Batches(folder) as stored:
            stored.add(add)
        assert there() == expected


def test_a_sweep_with_a_file_for_each_cell_is_refused_in_one_line(quick: Path, tmp_path: Path) -> None:
    arguments = ["sweep", quick, "--over", "link.buffer=5p", "--out", tmp_path / "out"]
    assert forebay(*arguments).code == 0
    old = tmp_path / "out" / "cells" / "374c7067eb915a5e1cf94fd9b4ad8932.json"
    old.write_text("{}\n", encoding="utf-8")
    answer = forebay(*arguments)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "found a sweep with a file for each cell; allowed: a new folder" in answer.err
    assert old.exists()


def test_a_summary_is_every_cells_interval_to_the_last_bit(quick: Path, tmp_path: Path) -> None:
    """Cells of several sizes: a formula has one answer, of one replication nothing is known of its error."""
    found = sweep(
        Scenario.load(quick), ["link.buffer=5p,40p", "engine=packet,closed_form"], tmp_path / "out", replications=5
    )
    rows, summary = found.rows(), found.summary()
    assert summary["replications"].to_list() == [5, 1, 5, 1]
    checked = 0
    for name in (name.removesuffix(".mean") for name in summary.columns if name.endswith(".mean")):
        for cell, mean, half_width in summary.select("cell", f"{name}.mean", f"{name}.half_width").iter_rows():
            values = rows.filter(pl.col("cell") == cell)[name].drop_nulls().to_list()
            interval = mean_interval(values) if values else None
            assert mean == (interval and interval.mean)
            assert half_width == (interval and interval.half_width)
            checked += half_width is not None and half_width > 0
    assert checked > 20


def test_a_wrong_cell_is_found_before_anything_runs(quick: Path, tmp_path: Path) -> None:
    answer = forebay("sweep", quick, "--over", "flows.bulk.cca=newreno,reno2", "--out", tmp_path / "out")
    assert answer.code == 2
    assert "reno2" in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_a_killed_sweep_goes_on_where_it_stopped(quick: Path, tmp_path: Path) -> None:
    """Kills at random moments while cells are written: none is lost or computed twice, none is believed by half."""
    out = tmp_path / "out"
    over = ["link.buffer=1p..80p:80lin", "flows.bulk.rtt=10ms,20ms,40ms,80ms"]
    arguments = ["sweep", str(quick), "--out", str(out), "--replications", "1", "--set", "run.measure=300s", "--json"]
    for axis in over:
        arguments += ["--over", axis]
    command = [sys.executable, "-m", "forebay", *arguments]
    generator = random.Random(20261121)
    before: list[bytes] = []
    for kill in range(KILLS):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while (
            sum(path.read_bytes().count(b"\n") for path in out.glob("cells/*.jsonl")) <= len(before)
            and process.poll() is None
        ):
            assert time.monotonic() < deadline, "no further cell in 30 s"
            time.sleep(0.002)
        time.sleep(0.02 * generator.random())
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, f"the sweep ended before kill {kill}: it needs more cells"
        if kill % 3 == 0:  # as where the machine stops in the middle of a line
            path = max((out / "cells").iterdir())
            path.write_bytes(path.read_bytes()[: -generator.randrange(1, 2000)])
        after = recorded(out)
        assert len(set(keys(after))) == len(after), "computed twice"
        lost = set(before) - set(after)
        assert not lost, "lost"
        before = after
    assert len(before) >= KILLS
    assert not (out / "rows.parquet").exists(), "every kill was in the middle"
    answer = forebay(*arguments)
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["reused"] == len(before)
    assert set(before) < set(recorded(out))
    assert len(set(keys(recorded(out)))) == len(recorded(out)) == 320
    uninterrupted = forebay(*(part if part != str(out) else str(tmp_path / "whole") for part in arguments))
    assert uninterrupted.code == 0, uninterrupted.err
    assert tables(out) == tables(tmp_path / "whole")
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
        arguments = ["sweep", str(quick), "--over", "link.buffer=1p..800p:800lin", "--out", str(disk / "out")]
        arguments += ["--replications", "1"]
        answer = forebay(*arguments)
        assert answer.code == 2
        assert answer.err.count("\n") == 1
        assert "No space left on device" in answer.err
        before = recorded(disk / "out")
        assert len(before) > 50
        assert not list(disk.rglob("*.partial"))
        subprocess.run(["mount", "-o", "remount,size=16m", str(disk)], check=True)
        assert forebay(*arguments).code == 0
        after = recorded(disk / "out")
        assert set(before) < set(after)
        assert len(set(keys(after))) == len(after) == 800
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


#: A burst every 301 s on average.
FLOOD = """
[link]
rate = "1Mbps"
buffer = "50p"
[[flows]]
name = "steady"
rtt = "40ms"
[[flows]]
name = "burst"
workload = { on_off = { peak = "4Mbps", on = { exponential = "1s" }, off = { exponential = "300s" } } }
[run]
warmup = "1s"
measure = "2s"
replications = 2
"""


def rare(messages: list[str]) -> list[str]:
    return [line for line in messages if "A burst of group `burst`" in line]


def test_a_sweep_warns_once_of_a_rare_state_before_its_first_run(tmp_path: Path) -> None:
    messages: list[str] = []
    found = sweep(
        Scenario.parse(FLOOD),
        ["link.buffer=5p,20p"],
        tmp_path / "out",
        tell=messages.append,
        progress=lambda done, _of: messages.append(f"progress {done}"),
    )
    (line,) = rare(messages)
    assert messages.index(line) < messages.index("progress 0")
    (warning,) = found.warnings
    assert warning == line
    assert (warning.kind, warning.subject) == ("rare_state", "flows.burst.workload.on_off")
    # It is the warning of `run`, which has the same runs as each cell.
    (of_run,) = rare([*Scenario.parse(FLOOD).run().warnings])
    assert warning == of_run


def test_a_warning_of_rare_states_respects_the_length_and_the_number_of_runs_of_each_cell(tmp_path: Path) -> None:
    scenario, over = Scenario.parse(FLOOD), ["run.measure=2s,40s,400s", "engine=packet,closed_form"]
    found = sweep(scenario, over, tmp_path / "out")
    # Two runs of 400 s show it (802 / 301) times, which is rare; a formula has no runs.
    (warning,) = found.warnings
    assert "3 of 6 cells" in warning
    assert "cell 0 (run.measure=2s, engine=packet)" in warning
    assert warning.values["shown"] == pytest.approx(2 * 3 / 301)
    # More replications show it in the longest runs.
    more = sweep(scenario, over, tmp_path / "out", replications=3)
    (warning,) = more.warnings
    assert "2 of 6 cells" in warning
    by_cell = more.rows().group_by("cell").agg(pl.col("warnings").str.contains("burst").all()).sort("cell")
    assert by_cell["warnings"].to_list() == [True, False, True, False, False, False]
    # The rows say the replications of the grid as it is now.
    (statements,) = more.rows().filter(pl.col("cell") == 2)["warnings"].str.extract(r"(\d+) runs of 40").unique()
    assert statements == "3"


def test_a_rare_state_of_a_single_cell_is_reported_with_the_cell(tmp_path: Path) -> None:
    (warning,) = sweep(Scenario.parse(FLOOD), ["run.measure=2s,900s"], tmp_path / "out").warnings
    assert "cell 0 (run.measure=2s) alone" in warning


def test_without_a_rare_state_a_sweep_does_not_warn(quick: Path, tmp_path: Path) -> None:
    messages: list[str] = []
    found = sweep(Scenario.load(quick), ["link.buffer=5p"], tmp_path / "out", replications=1, tell=messages.append)
    assert found.warnings == ()
    assert not messages


def test_tables_with_warnings_of_rare_states_are_the_same_bytes_after_a_resumption(tmp_path: Path) -> None:
    scenario, over = Scenario.parse(FLOOD), ["link.buffer=5p,20p"]
    sweep(scenario, over, tmp_path / "whole", replications=3, jobs=1)
    sweep(scenario, over, tmp_path / "parts", replications=2, jobs=2)
    repeated = sweep(scenario, over, tmp_path / "parts", replications=3, jobs=2)
    assert (repeated.computed, repeated.reused) == (2, 4)
    for table in ("rows.parquet", "summary.parquet"):
        assert (tmp_path / "whole" / table).read_bytes() == (tmp_path / "parts" / table).read_bytes()


def test_the_command_says_rare_states_on_standard_error_and_in_its_json(tmp_path: Path) -> None:
    path = tmp_path / "flood.toml"
    path.write_text(FLOOD, encoding="utf-8")
    ended = forebay("sweep", path, "--over", "link.buffer=5p", "--out", tmp_path / "out", "--json")
    assert ended.code == 0
    (line,) = rare(ended.err.splitlines())
    assert rare(json.loads(ended.out)["warnings"]) == [line.removeprefix("forebay: ")]
