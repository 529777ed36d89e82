"""On a Dask cluster the same audit, also if a worker dies in the middle."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

import forebay
from forebay import FleetExecution
from tests.fleet.ports import inventory, profiles
from tests.support.scenarios import PROFILE

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.long


@pytest.mark.parametrize("kills", [0, 1])
def test_a_cluster_gives_the_same_bytes(kills: int, tmp_path: Path) -> None:
    ports = inventory(tmp_path, [{"buffer": f"{3 * number + 1} packets"} for number in range(30)])
    known = profiles(tmp_path, PROFILE.replace('"30s"', '"100s"'))
    forebay.fleet(ports, known, FleetExecution(full=1), out=tmp_path / "here")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        for worker in list(cluster.workers.values())[:kills]:
            end = threading.Timer(0.4, os.kill, (worker.process.pid, signal.SIGKILL))
            end.start()
        execution = FleetExecution(full=1, scheduler=cluster.scheduler_address)
        forebay.fleet(ports, known, execution, out=tmp_path / "there")
        time.sleep(0.1)
    for name in ("ports.parquet", "summary.json"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()
