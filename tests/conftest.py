"""What several test files share."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

#: A link that answers in milliseconds: 2 Mb/s, one flow, half a minute.
SMALL = """\
title = "Small link"

[link]
rate   = "2Mbps"
buffer = "20p"

[[flows]]
name     = "bulk"
cca      = "newreno"
rtt      = "40ms"
packet   = "1000B"

[[flows]]
name     = "background"
packet   = "1000B"
workload = { poisson = { rate = "1Mbps" } }

[run]
warmup  = "5s"
measure = "30s"
seed    = 3
replications = 2

[goal]
utilization = ">= 85%"
queue_delay_p99 = "<= 150ms"
"""


@dataclass(frozen=True)
class Answer:
    """What one call of the command line left."""

    code: int
    out: str
    err: str


def forebay(*arguments: str | Path, cwd: Path | None = None) -> Answer:
    """Run the installed command as a user would."""
    command = [sys.executable, "-m", "forebay.command_line", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=cwd, env=environment)
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The small link as a file of its own."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path
