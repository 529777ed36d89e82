"""The process of the code ends with the process that started it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pipe that breaks")
def test_a_worker_ends_when_nobody_reads_its_answers() -> None:
    command = [sys.executable, "-m", "forebay.algorithms.worker", "4000000000", "10.0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        worker.stdout.close()  # Its input stays open, as in the middle of a run.
        assert worker.wait(timeout=30) == 0
