"""The same sweep on a Dask cluster: the same numbers, also when a worker is killed in the middle."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import SMALL, forebay

pytest.importorskip("distributed")

OVER = ["--over", "link.buffer=1p..200p:12", "--over", "flows.bulk.cca=newreno,cubic", "--replications", "3"]


@pytest.fixture
def scheduler() -> Iterator[str]:
    """A scheduler process on a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen([*command, "--no-dashboard"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"tcp://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=20)


def worker(address: str, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", *more]
    return subprocess.Popen([*command, "--no-dashboard"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def rows(folder: Path) -> pl.DataFrame:
    table = pl.read_parquet(folder / "rows.parquet")
    return table.select(name for name in table.columns if not name.startswith("cost."))


def test_a_cluster_gives_the_same_numbers_and_survives_a_kill(scheduler: str, tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SMALL.replace('measure = "30s"', 'measure = "200s"'), encoding="utf-8")
    here = forebay("sweep", path, *OVER, "--out", tmp_path / "here")
    assert here.code == 0, here.err
    workers = [worker(scheduler), worker(scheduler)]
    try:
        command = [sys.executable, "-m", "forebay.command_line", "sweep", str(path), *OVER]
        there = subprocess.Popen(
            [*command, "--out", str(tmp_path / "there"), "--scheduler", scheduler],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(600):
            if len(list((tmp_path / "there" / "cells").glob("*.json"))) >= 5:
                break
            time.sleep(0.05)
        workers[0].send_signal(signal.SIGKILL)
        _, error = there.communicate(timeout=240)
        assert there.returncode == 0, error
    finally:
        for process in workers:
            process.kill()
            process.wait()
    assert rows(tmp_path / "there").equals(rows(tmp_path / "here"))


def test_nobody_at_the_address_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    answer = forebay("sweep", path, *OVER, "--out", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:9")
    assert answer.code == 2
    assert answer.err.count("\n") == 1, answer.err
    assert "--scheduler" in answer.err


def test_a_poisoned_job_is_reported_and_the_rest_goes_on(scheduler: str) -> None:
    """An engine's refusal travels back as the job's own failure."""
    from forebay.report import Report
    from forebay.scenario import Scenario
    from forebay.sweeps.cluster import run_on_cluster

    good = Scenario.parse(SMALL).core.canonical_json()
    found: dict[int, object] = {}
    process = worker(scheduler)
    try:
        parcels = [(good, "packet", 1, 0), (good, "closed_form", 1, 0), (good, "packet", 1, 1)]
        refused = Scenario.parse(SMALL, overrides=["run.measure=8000000s", "link.rate=50Tbps"]).core.canonical_json()
        parcels.insert(1, (refused, "packet", 1, 0))
        run_on_cluster(scheduler, parcels, found.__setitem__, batch=2)
    finally:
        process.kill()
        process.wait()
    assert sorted(found) == [0, 1, 2, 3]
    assert isinstance(found[1], Exception)
    assert all(isinstance(found[index], Report) for index in (0, 2, 3))


def test_a_run_is_refused_by_what_its_worker_has_for_each_thread(scheduler: str, tmp_path: Path) -> None:
    """Half of 1 GB is not enough for 300,000 flows, though `--memory` allows 4 GB: no worker is killed for it."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL.replace('measure = "30s"', 'measure = "1s"'), encoding="utf-8")
    over = ["--over", "flows.bulk.count=2,300000", "--replications", "1"]
    process = worker(scheduler, "--nthreads", "2", "--memory-limit", "1GB")
    try:
        found = forebay("sweep", path, *over, "--out", tmp_path / "there", "--scheduler", scheduler)
        allowed = forebay(
            "sweep", path, *over, "--out", tmp_path / "asked", "--scheduler", scheduler, "--memory", "200kB"
        )
    finally:
        process.kill()
        process.wait()
    assert found.code == 1
    (failed,) = [line for line in (found.out + found.err).splitlines() if line.startswith("failed: ")]
    assert "cell 1 (flows.bulk.count=300000), replication 0, packet" in failed
    assert "`flows.bulk.count` may need" in failed
    assert "allowed: 400 MB (its worker has 1.00 GB for 2 threads)" in failed
    assert pl.read_parquet(tmp_path / "there" / "rows.parquet").height == 1
    # What is asked for holds on workers as it does here.
    lines = [line for line in (allowed.out + allowed.err).splitlines() if line.startswith("failed: ")]
    assert len(lines) == 2
    assert all("allowed: 200 kB (`--memory` allows more)" in line for line in lines)


def test_a_workers_memory_is_shared_by_its_threads() -> None:
    from forebay.sweeps.cluster import Room

    assert Room(10**9, 1).of_run == 2 * Room(10**9, 2).of_run == 8 * 10**8
    assert Room(1, 64).of_run == 1
    assert Room.here() is None
