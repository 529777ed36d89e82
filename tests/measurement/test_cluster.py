"""On a Dask cluster the same sweeps and answers, to the last bit, also when workers are killed in the middle."""

from __future__ import annotations

import json
import math
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from forebay import ForebayError, InputError, Scenario, _core, recommend, sweep
from forebay.measurement import cluster
from forebay.measurement.cluster import Cluster, Replication, WorkerMemory
from forebay.papers import running
from forebay.papers.catalog import Run
from forebay.scenario import run_jobs
from forebay.storage import build, journal
from forebay.sweeps.axes import Axis
from forebay.sweeps.jobs import jobs_of
from forebay.sweeps.remote import lines_of, pack
from tests.support.commands import forebay
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL

pytest.importorskip("distributed")

OVER = ["--over", "link.buffer=1p..200p:12", "--over", "flows.bulk.cca=newreno,cubic", "--replications", "3"]

#: A run of some tenths of a millisecond.
TINY = SMALL.replace('measure = "30s"', 'measure = "1s"').replace('warmup  = "5s"', 'warmup = "100ms"')

#: Cells of the grid in which workers are killed; 20,000 take some minutes.
CELLS = int(os.environ.get("FOREBAY_CELLS", "20000"))


@contextmanager
def scheduling(**environment: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler process on a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--no-dashboard"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    try:
        for _ in range(1200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"tcp://127.0.0.1:{port}", process
    finally:
        process.terminate()
        process.wait(timeout=20)


@pytest.fixture
def scheduler() -> Iterator[str]:
    with scheduling() as (address, _):
        yield address


@contextmanager
def worker(address: str, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process that there is when this goes on."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", *more]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([*command, "--no-dashboard"], **quiet)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def await_workers(address: str, number: int) -> None:
    """Wait until this number of workers is connected."""
    import distributed

    with distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(number, timeout=60)


def tables(folder: Path) -> list[bytes]:
    """The tables that depend on the sweep alone."""
    return [(folder / f"{name}.parquet").read_bytes() for name in ("rows", "summary")]


def written(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in (folder / "cells").glob("*.jsonl"))


def lines(folder: Path) -> list[bytes]:
    return [
        line
        for path in sorted((folder / "cells").glob("*.jsonl"))
        for line, entry in journal.entries(path.read_bytes())
        if entry is not None
    ]


@pytest.mark.long
def test_a_cluster_two_of_whose_workers_are_killed_gives_the_same_bytes(scheduler: str, tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    over = ["--over", f"run.seed=1..{CELLS // 20}:{CELLS // 20}lin", "--over", "link.buffer=1p..20p:20lin"]
    over += ["--replications", "1"]
    here = forebay("sweep", path, *over, "--out", tmp_path / "here")
    assert here.code == 0, here.err
    out = tmp_path / "there"
    generator = random.Random(20261123)
    moments = [generator.uniform(0.02, 0.4) * CELLS, generator.uniform(0.4, 0.8) * CELLS]
    with ExitStack() as stack:
        workers = [stack.enter_context(worker(scheduler)) for _ in range(4)]
        await_workers(scheduler, 4)
        command = [sys.executable, "-m", "forebay", "sweep", str(path), *over]
        sweeping = subprocess.Popen(
            [*command, "--out", str(out), "--scheduler", scheduler, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for victim, moment in zip(workers, moments, strict=False):
            while written(out) < moment and sweeping.poll() is None:
                time.sleep(0.01)
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            assert sweeping.poll() is None, "killed in the middle"
            assert len(lines(out)) < CELLS, "killed in the middle"
        errors, error = sweeping.communicate(timeout=CELLS)
        assert sweeping.returncode == 0, error
    assert json.loads(errors)["computed"] == CELLS
    assert len(lines(out)) == CELLS, "each cell once"
    assert len(list((out / "cells").iterdir())) <= 1 + CELLS // 2000, "no file for each cell"
    assert tables(out) == tables(tmp_path / "here")


def test_an_absent_scheduler_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    answer = forebay("sweep", path, *OVER, "--out", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:9")
    assert answer.code == 2
    assert answer.err.count("\n") == 1, answer.err
    assert "--scheduler" in answer.err


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "verb",
    [
        ["sweep", "FILE", *OVER, "--out", "out"],
        ["recommend", "FILE", "--no-picture", "--goal", "utilization>=90%"],
        ["reproduce", "auge/fig3", "--quick", "--out", "out"],
    ],
    ids=lambda verb: str(verb[0]),
)
@pytest.mark.parametrize("address", ["", "tcp://127.0.0.1:9", "nowhere", "http://127.0.0.1:80"])
def test_an_unreachable_address_is_one_line_in_seconds(
    verb: list[str], address: str, small: Path, tmp_path: Path
) -> None:
    begin = time.monotonic()
    arguments = [str(small) if part == "FILE" else part for part in verb]
    answer = forebay(*arguments, "--scheduler", address, cwd=tmp_path)
    assert time.monotonic() - begin < 30
    assert answer.code == 2
    assert answer.err.count("\n") == 1, answer.err
    assert f"--scheduler: found {'no Dask scheduler at ' * (address[:3] == 'tcp')}`{address}`" in answer.err
    assert not (tmp_path / "out").exists(), "nothing is begun"


@pytest.mark.long
def test_a_listener_that_is_no_scheduler_is_one_line(small: Path, tmp_path: Path) -> None:
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        address = f"tcp://127.0.0.1:{mute.getsockname()[1]}"
        answer = forebay("sweep", small, *OVER, "--out", tmp_path / "out", "--scheduler", address)
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err
    assert f"--scheduler: found no Dask scheduler at `{address}`" in answer.err


def test_a_poisoned_job_is_reported_and_the_rest_goes_on(scheduler: str, tmp_path: Path) -> None:
    """An engine's refusal travels back as the job's own failure."""
    requested: dict[str, Any] = {"over": ["link.queue=droptail,fq_codel"], "engine": "fluid", "replications": 2}
    with worker(scheduler), Cluster(scheduler) as there:
        found = sweep(Scenario.parse(TINY), out=tmp_path / "out", **requested, scheduler=there)
        refused = Scenario.parse(TINY).changed("link.queue=fq_codel").core.canonical_json()
        with pytest.raises(ForebayError, match="fq_codel"):
            there.reports([Replication(refused, "fluid", 1, 0)], lambda *_: None)
    here = sweep(Scenario.parse(TINY), out=tmp_path / "here", **requested)
    assert len(found.failed) == 2
    assert found.failed == here.failed
    assert tables(tmp_path / "out") == tables(tmp_path / "here")


def kill_a_worker_of(_task: list[int], _memory: int) -> list[cluster.Answer]:
    """A worker that dies during one of its jobs."""
    if 3 in _task:
        os.kill(os.getpid(), signal.SIGKILL)
    return [(True, number * number) for number in _task]


@pytest.mark.long
def test_a_job_that_kills_its_workers_is_found_and_the_others_are_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(cluster._Pace, "jobs", lambda _self, left: min(5, left))
    found: dict[int, Any] = {}
    with ExitStack() as stack:
        scheduler, _ = stack.enter_context(scheduling(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1"))
        for _ in range(5):  # two die of the task, two of the job alone
            stack.enter_context(worker(scheduler))
        await_workers(scheduler, 5)
        there = stack.enter_context(Cluster(scheduler))
        numbers = list(range(10))
        there.run(kill_a_worker_of, 10, lambda part: numbers[part], found.__setitem__)
    assert str(found.pop(3)) == "its worker died 2 times"
    assert found == {number: number * number for number in range(10) if number != 3}
    # The other task may have waited at a worker that died: its jobs are then tried alone too, and none is blamed.
    assert there.tasks in {2 + 5, 2 + 5 + 5}


@pytest.mark.long
def test_a_scheduler_that_goes_away_is_one_line_and_nothing_is_lost(small: Path, tmp_path: Path) -> None:
    arguments = ["sweep", str(small), *OVER, "--set", "run.measure=600s", "--out", str(tmp_path / "out")]
    with scheduling() as (address, process), worker(address):
        await_workers(address, 1)
        command = [sys.executable, "-m", "forebay", *arguments, "--scheduler", address]
        sweeping = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while written(tmp_path / "out") < 3 and sweeping.poll() is None:
            time.sleep(0.01)
        process.kill()
        _, error = sweeping.communicate(timeout=60)
    assert sweeping.returncode == 130, error
    assert error == f"forebay: interrupted: the Dask scheduler at `{address}` is gone\n"
    before = lines(tmp_path / "out")
    assert 3 <= len(before) < 72
    answer = forebay(*arguments, "--json")
    assert json.loads(answer.out)["reused"] == len(before)


@pytest.mark.long
def test_a_run_is_refused_by_what_its_worker_has_for_each_thread(scheduler: str, tmp_path: Path) -> None:
    """Half of 1 GB is not enough for 3,000,000 flows, though `--memory` allows 4 GB: no worker is killed for it."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL.replace('measure = "30s"', 'measure = "1s"'), encoding="utf-8")
    over = ["--over", "flows.bulk.count=2,3000000", "--replications", "1"]
    with worker(scheduler, "--nthreads", "2", "--memory-limit", "1GB"):
        there = ["--scheduler", scheduler]
        found = forebay("sweep", path, *over, "--out", tmp_path / "there", *there)
        allowed = forebay("sweep", path, *over, "--out", tmp_path / "asked", *there, "--memory", "100kB")
    assert found.code == 1
    (failed,) = [line for line in (found.out + found.err).splitlines() if line.startswith("failed: ")]
    assert "cell 1 (flows.bulk.count=3000000), replication 0, packet" in failed
    assert "of it for `flows.bulk.count`" in failed
    assert "allowed: 400 MB (its worker has 1.00 GB for 2 threads)" in failed
    assert pl.read_parquet(tmp_path / "there" / "rows.parquet").height == 1
    # The memory limit of the command also holds on workers.
    lines = [line for line in (allowed.out + allowed.err).splitlines() if line.startswith("failed: ")]
    assert len(lines) == 2
    assert all("allowed: 100 kB (`--memory` allows more)" in line for line in lines)


def test_a_workers_memory_is_shared_by_its_threads() -> None:
    assert WorkerMemory(10**9, 1).of_run == 2 * WorkerMemory(10**9, 2).of_run == 8 * 10**8
    assert WorkerMemory(1, 64).of_run == 1
    assert WorkerMemory.here() is None


def answered(answer: Any) -> dict[str, Any]:
    """An answer without what it cost."""
    data: dict[str, Any] = json.loads(answer.to_json())
    del data["cost"]
    return data


def test_recommend_answers_the_same_to_the_last_bit(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario.parse(SMALL)
    requested: dict[str, Any] = {"goals": ["utilization>=95%", "queue_delay_p99<=200ms"], "sensitivity": True}
    here = recommend(scenario, **requested)
    with worker(scheduler), worker(scheduler):
        await_workers(scheduler, 2)
        monkeypatch.setattr("forebay.search.measurements.run_jobs", lambda *_: pytest.fail("measured here"))
        there = recommend(scenario, **requested, scheduler=scheduler)
    assert answered(there) == answered(here)
    assert (there.cost.data_packets, there.cost.events) == (here.cost.data_packets, here.cost.events)
    assert there.cost.replications == here.cost.replications > 10


@pytest.mark.long
def test_reproduce_makes_the_same_of_sweeps_and_recordings(scheduler: str, tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY + '\n[trace]\nevery = "100ms"\nrecord = ["cwnd", "queue"]\n', encoding="utf-8")
    over = ("link.buffer=5p,20p",)
    runs = [
        Run("auge", "sweep", path, "packet", (), over, 3, "metrics"),
        Run("auge", "traces", path, "packet", (), over, 2, "traces"),
    ]
    assert running.perform(runs, tmp_path / "here") == {}
    with worker(scheduler), Cluster(scheduler) as there:
        assert running.perform(runs, tmp_path / "there", cluster=there) == {}
        assert there.tasks >= 5, "a task for each of four recordings"
        sent = there.tasks
        assert running.perform(runs, tmp_path / "there", cluster=there) == {}
        assert there.tasks == sent, "nothing is run again"
    assert tables(running.folder_of(tmp_path / "there", runs[0])) == tables(
        running.folder_of(tmp_path / "here", runs[0])
    )
    pairs = list(zip(*(running.recordings(tmp_path / each, runs[1]) for each in ("here", "there")), strict=True))
    assert len(pairs) == 4
    for here, other in pairs:
        assert other.fault() is None
        assert sorted(each.name for each in other.folder.iterdir()) == sorted(
            each.name for each in here.folder.iterdir()
        )
        for name in ("flows.parquet", "queue.parquet"):
            assert (other.folder / name).read_bytes() == (here.folder / name).read_bytes()
        assert other.report().metrics == here.report().metrics


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda path: path.stem)
def test_cells_made_over_there_are_those_made_here(path: Path) -> None:
    """A worker receives the scenario that all cells start from and the changes of each cell."""
    scenario = Scenario.load(path, ["link.buffer=3ms"])
    rates = Axis.parse("link.rate=7Mbps,20Mbps")
    for axes in ([rates], [Axis.parse("link.buffer=0.1BDP,9p,3ms"), rates, Axis.parse("engine=packet,fluid")]):
        jobs = list(jobs_of(scenario, axes, "packet", 2, 5))
        there = pack(scenario.core.portable_json(), 5, jobs).unpacked()
        assert [(job.key, job.scenario.sha256, str(job)) for job in there] == [
            (job.key, job.scenario.sha256, str(job)) for job in jobs
        ]


def test_what_travels_for_a_cell_is_little(tmp_path: Path) -> None:
    """Its settings go there, and its line comes back: no scenario of its own, no report."""
    import cloudpickle

    scenario = Scenario.parse(TINY)
    axes = [Axis.parse("run.seed=1..50:50lin"), Axis.parse("link.buffer=1p..20p:20lin")]
    jobs = list(jobs_of(scenario, axes, "packet", 1, 1))
    parcel = pack(scenario.core.portable_json(), 1, jobs)
    assert len(cloudpickle.dumps(parcel)) < 80 * len(jobs)
    answers = lines_of(parcel, 10**9)
    assert all(good for good, _ in answers)
    sweep(scenario, axes, tmp_path / "out", replications=1, seed=1)
    cost = {f"cost.{name}" for name in ("cpu_s", "wall_s", "peak_rss_bytes")}

    def numbers(written: list[bytes]) -> list[dict[str, Any]]:
        return [{name: row[name] for name in row if name not in cost} for _, row in journal.entries(b"".join(written))]

    by_cell = sorted(numbers(lines(tmp_path / "out")), key=lambda row: int(row["cell"]))
    assert numbers([line for _, line in answers]) == by_cell


@pytest.mark.parametrize(("jobs", "threads", "seconds"), [
    (10**6, 1000, 0.036), (20_000, 4, 0.0002), (10**6, 4, 1e-9), (500, 4, 30.0), (10, 1000, 1.0), (7, 0, 1.0),
])  # fmt: skip
def test_tasks_are_few_and_short_and_end_together(jobs: int, threads: int, seconds: float) -> None:
    """As many as fill the threads and take some seconds each, the last ones short."""
    pace = cluster._Pace(lambda: threads, cluster.MOST_JOBS)
    assert pace.under_way() == cluster.UNDER_WAY * max(1, threads)
    assert pace.jobs(jobs) == 1, "nothing is known of how long they take"
    pace.note(seconds, 1)
    left, sizes = jobs, []
    while left:
        sizes.append(pace.jobs(left))
        left -= sizes[-1]
    assert sum(sizes) == jobs
    assert max(sizes) <= cluster.MOST_JOBS
    assert max(sizes) * seconds <= max(cluster.TASK_S, seconds)
    assert sizes == sorted(sizes, reverse=True)
    # Threads that end together have short ones at the end, and no more than it takes to come there.
    assert sizes[-1] * seconds <= max(cluster.SHORT_S, seconds) or threads < 2
    threads = max(1, threads)
    fewest = max(jobs / cluster.MOST_JOBS, jobs * seconds / cluster.TASK_S)
    assert len(sizes) <= min(jobs, 2 * fewest + threads * (2 + math.log(max(1, jobs / threads))))


@pytest.mark.long
def test_a_sweep_has_the_same_bytes_with_tasks_of_any_size_also_if_it_stops_within_one(
    scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, over = Scenario.parse(TINY), ["run.seed=1..10:10lin", "link.buffer=1p..10p:10lin"]
    sweep(scenario, over, tmp_path / "here", replications=1)

    def stop(done: int, _of: int) -> None:
        if done == 25:
            raise KeyboardInterrupt

    with worker(scheduler):
        await_workers(scheduler, 1)
        for size in (1, 40):
            monkeypatch.setattr(cluster._Pace, "jobs", lambda _self, left, size=size: min(size, left))
            out = tmp_path / str(size)
            with pytest.raises(KeyboardInterrupt):
                sweep(scenario, over, out, replications=1, scheduler=scheduler, progress=stop)
            with Cluster(scheduler) as there:
                again = sweep(scenario, over, out, replications=1, scheduler=there)
                assert there.tasks == -(-75 // size)
            assert (again.computed, again.reused) == (75, 25)
            assert tables(out) == tables(tmp_path / "here")


@pytest.mark.long
def test_nothing_known_of_jobs_is_soon_known(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many threads there are, few single jobs are sent before it is known that they are short."""
    found: dict[int, Any] = {}
    with worker(scheduler), Cluster(scheduler) as there:
        await_workers(scheduler, 1)
        there.threads = lambda: 1000  # type: ignore[method-assign]
        monkeypatch.setattr(cluster, "SOON_S", 60.0)
        there.run(sizes_of, 3000, lambda part: list(range(part.start, part.stop)), found.__setitem__)
        assert there.tasks < cluster.FIRST + 20
    assert len(found) == 3000
    assert sum(size == 1 for size in found.values()) == cluster.FIRST


def sizes_of(task: list[int], _memory: int) -> list[cluster.Answer]:
    """How many jobs come together."""
    return [(True, len(task)) for _ in task]


@pytest.mark.long
def test_a_worker_of_another_build_is_refused_whenever_it_joins(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = build.fingerprint(), f"{_core.__version__}+0123456789abcdef"
    with worker(scheduler):
        await_workers(scheduler, 1)
        with Cluster(scheduler) as there:
            monkeypatch.setattr(build, "fingerprint", lambda: other)
            requested = [Replication(Scenario.parse(TINY).core.canonical_json(), "packet", 1, 0)]
            refused = f"^scheduler: found workers with forebay {re.escape(mine)}; allowed: {re.escape(other)}$"
            with pytest.raises(InputError, match=refused):
                there.reports(requested, lambda *_: None)
            with pytest.raises(InputError, match=refused):
                Cluster(scheduler)


@pytest.mark.long
def test_what_takes_too_long_is_given_up_after_its_time(scheduler: str) -> None:
    requested = [Replication(Scenario.parse(SMALL).core.canonical_json(), "packet", 1, number) for number in range(10)]
    with worker(scheduler), Cluster(scheduler) as there:
        await_workers(scheduler, 1)
        assert len(there.reports(requested, lambda *_: None, 60.0)) == 10
        begin = time.monotonic()
        with pytest.raises(TimeoutError):
            there.run(sleep_over, 4, lambda part: part, lambda *_: None, within=0.3)
        assert 0.3 <= time.monotonic() - begin < 60


def sleep_over(task: slice, _memory: int) -> list[cluster.Answer]:
    """Take longer than the test waits."""
    time.sleep(100)
    return [(True, None)] * (task.stop - task.start)


def test_replications_come_back_as_they_are_here(scheduler: str) -> None:
    core = Scenario.parse(SMALL).core
    requested = [
        Replication(core.with_packets(size).canonical_json(), "packet", 3, number)
        for size in (5, 9)
        for number in (0, 4)
    ]
    here = run_jobs([_core.Job(core.with_packets(size), "packet", 3, number) for size in (5, 9) for number in (0, 4)])
    finished: dict[int, Any] = {}
    with worker(scheduler), Cluster(scheduler) as there:
        reports = there.reports(requested, finished.__setitem__)
        assert there.tasks <= 4
    assert [finished[number] for number in range(4)] == reports

    def told(report: Any) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(report.core.json())
        del found["cost"]
        return found

    assert list(map(told, reports)) == list(map(told, here))


def test_workers_run_the_code_that_a_scenario_brings(tmp_path: Path, scheduler: str) -> None:
    examples = ROOT / "examples" / "algorithms"
    text = TINY.replace('"newreno"', '{ python = "newreno.py:NewReno" }', 1)
    mine = Scenario.parse(text, folder=examples, allow_code=True)
    with worker(scheduler):
        there = sweep(mine, ["link.buffer=9p,20p"], tmp_path / "there", scheduler=scheduler)
    here = sweep(mine, ["link.buffer=9p,20p"], tmp_path / "here")
    assert there.computed == here.computed == 4
    assert tables(there.folder) == tables(here.folder)
