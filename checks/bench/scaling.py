"""A batch of replications on one thread and on two, in turn, within a limited time.

The time of one run decides how many replications a batch has. Each round prints a line on standard error.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.scenario import Scenario

__all__ = ["LIMIT_S", "Batch", "scaling"]

#: Elapsed seconds after which no further round begins.
LIMIT_S = 60.0
#: Function that runs replications of a scenario on a number of threads; it returns elapsed and processor seconds.
Batch = Callable[[_core.Scenario, int, int], tuple[float, float]]


def _batch(scenario: _core.Scenario, replications: int, threads: int) -> tuple[float, float]:
    """Elapsed and processor seconds of a batch."""
    jobs = [_core.Job(scenario, "packet", scenario.seed, number) for number in range(replications)]
    started, used = time.perf_counter(), time.process_time()
    for outcome in _core.run_batch(jobs, threads):
        if isinstance(outcome, Exception):
            raise outcome
    return time.perf_counter() - started, time.process_time() - used


def scaling(
    path: Path, *, replications: int = 24, rounds: int = 7, limit_s: float = LIMIT_S, batch: Batch = _batch
) -> Mapping[str, Any]:
    """The speed of two threads relative to one, as the median over rounds.

    A second number is the plain ratio times the factor by which the two threads' batch took more processor time. If the
    machine's speed varies, or if its two processors share a core, the second number shows the engine's own loss.

    Parameters
    ----------
    path : Path
        The scenario file.
    replications : int
        Largest number of replications of a batch.
    rounds : int
        Largest number of rounds, each of a batch on one thread and a batch on two.
    limit_s : float
        Elapsed seconds after which no round begins, by the time of the rounds so far. One round always runs.
    batch : callable
        Function that runs replications on a number of threads.
    """
    scenario = Scenario.load(path).core
    begun = time.perf_counter()
    one_s, _ = batch(scenario, 1, 1)
    replications = _affordable(replications, one_s * rounds * 2, limit_s)
    faster, dearer = [], []
    for turn in range(rounds):
        spent_s = time.perf_counter() - begun
        if turn and spent_s * (turn + 1) / turn > limit_s:
            break
        order = (1, 2) if turn % 2 == 0 else (2, 1)
        found = {threads: batch(scenario, replications, threads) for threads in order}
        faster.append(found[1][0] / found[2][0])
        dearer.append(found[2][1] / found[1][1])
        progress = f"threads: round {turn + 1} of {rounds}, {replications} replications: {faster[-1]:.2f} times as fast"
        print(progress, file=sys.stderr, flush=True)
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
        "rounds": len(faster),
    }


def _affordable(most: int, of_each_s: float, limit_s: float) -> int:
    """The even number of replications that fit into the limit: at least two, one for each thread, and at most `most`.

    `of_each_s` is the elapsed time that one replication more takes in all rounds together.
    """
    return most if of_each_s * most <= limit_s else max(2, int(limit_s / of_each_s) // 2 * 2)
