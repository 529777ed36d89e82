"""A batch of replications on one thread and on two, in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.scenario import Scenario

__all__ = ["scaling"]


def _batch(scenario: _core.Scenario, replications: int, threads: int) -> tuple[float, float]:
    """Elapsed and processor seconds of a batch."""
    jobs = [_core.Job(scenario, "packet", scenario.seed, number) for number in range(replications)]
    started, used = time.perf_counter(), time.process_time()
    for outcome in _core.run_batch(jobs, threads):
        if isinstance(outcome, Exception):
            raise outcome
    return time.perf_counter() - started, time.process_time() - used


def scaling(path: Path, *, replications: int = 24, rounds: int = 7) -> Mapping[str, Any]:
    """The speed of two threads relative to one, as the median over rounds.

    A second number is the plain ratio times the factor by which the two threads' batch took more processor time. If the
    machine's speed varies, or if its two processors share a core, the second number shows the engine's own loss.
    """
    scenario = Scenario.load(path).core
    faster, dearer = [], []
    for turn in range(rounds):
        order = (1, 2) if turn % 2 == 0 else (2, 1)
        found = {threads: _batch(scenario, replications, threads) for threads in order}
        faster.append(found[1][0] / found[2][0])
        dearer.append(found[2][1] / found[1][1])
    return {
        "name": f"two threads, {path.stem}",
        "times_as_fast": round(statistics.median(faster), 3),
        "fastest": round(max(faster), 3),
        "slowest": round(min(faster), 3),
        "processor_time_ratio": round(statistics.median(dearer), 3),
        "times_as_fast_at_equal_speed": round(
            statistics.median(fast * dear for fast, dear in zip(faster, dearer, strict=True)), 3
        ),
        "replications": replications,
        "rounds": rounds,
    }
