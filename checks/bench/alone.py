"""One replication of one scenario in this process.

It imports little, and does nothing else if its instructions are counted: those of start-up are counted, too.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.errors import ForebayError
from forebay.scenario import Scenario

__all__ = ["COUNTED", "YARDSTICK_EVENTS", "main", "once", "timed"]

#: Option to count instructions and time nothing.
COUNTED = "--counted"

#: Events of the yardstick, a loop over a heap of 64 events that never changes (`crates/engines/src/yardstick.rs`).
YARDSTICK_EVENTS = 1_000_000


def _yardstick() -> float:
    """Processor seconds of a fixed piece of work: a machine shared with others is not always equally fast."""
    started = time.process_time()
    _core.yardstick(YARDSTICK_EVENTS)
    return time.process_time() - started


def once(path: Path, overrides: Sequence[str]) -> Mapping[str, Any]:
    """The cost of one replication in this process, and its results' digest."""
    scenario = Scenario.load(path, overrides).core
    outcome = _core.run_batch([_core.Job(scenario, "packet", scenario.seed, 0)], 1)[0]
    if isinstance(outcome, Exception):
        raise outcome
    report: dict[str, Any] = json.loads(outcome.json())
    cost = report.pop("cost")
    results = json.dumps([report["metrics"], report["groups"]], sort_keys=True)
    digest = hashlib.sha256(results.encode()).hexdigest()
    return {**cost, "results_sha256": digest}


def timed(path: Path, overrides: Sequence[str]) -> Mapping[str, Any]:
    """The same, with the longer time of the yardstick before and after it, in seconds."""
    before = _yardstick()
    found = once(path, overrides)
    return {**found, "yardstick_s": max(before, _yardstick())}


def main(arguments: Sequence[str]) -> int:
    """Print the result as JSON; 2 if the file or a change of it is wrong."""
    counted = arguments[:1] == [COUNTED]
    rest = arguments[counted:]
    if not rest:
        print(f"usage: python -m checks.bench.alone [{COUNTED}] FILE [KEY=VALUE ...]", file=sys.stderr)
        return 2
    try:
        print(json.dumps((once if counted else timed)(Path(rest[0]), rest[1:])))
    except (ForebayError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
