"""The contract of an engine, for every registered engine."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from types import FrameType

import pytest

from forebay import InputError, Scenario, UnsupportedError, _core

TASKS = Path("/proc/self/task")

SMALL = """
[link]
rate = "10Mbps"
buffer = "20p"
[[flows]]
name = "bulk"
count = 2
rtt = "40ms"
[run]
warmup = "1s"
measure = "4s"
"""


def hours() -> list[tuple[str, Scenario]]:
    """Runs that take hours, with their engines: of flows with timers, of packets alone, and of a fluid."""
    longer = ["run.measure=4000000s", "link.rate=1Gbps", "link.buffer=100p", "run.replications=2"]
    alone = SMALL.replace("count = 2\n", "").replace(
        'rtt = "40ms"', 'packet = "1000B"\nworkload = { poisson = { rate = "500Mbps" } }'
    )
    flows = Scenario.parse(SMALL, overrides=longer)
    return [
        ("packet", flows),
        ("packet", Scenario.parse(alone, overrides=[*longer, "run.measure=100000s"])),
        ("fluid", flows),
    ]


def threads() -> int:
    """Number of threads of this process."""
    return sum(1 for _ in TASKS.iterdir())


def interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@pytest.mark.skipif(not TASKS.is_dir(), reason="counts threads in /proc")
@pytest.mark.parametrize(("engine", "scenario"), hours(), ids=["flows", "packets", "fluid"])
def test_an_interrupted_run_leaves_no_thread_behind(engine: str, scenario: Scenario) -> None:
    """As in a notebook, where the process goes on after Ctrl-C."""
    before = threads()
    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            scenario.run(engine, jobs=2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    for _ in range(600):
        if threads() <= before:
            return
        time.sleep(0.1)
    pytest.fail("threads run on a minute after the interruption")


@pytest.mark.parametrize("engine", _core.engines(), ids=lambda engine: engine.name)
def test_traces_and_models_are_refused_before_a_run(engine: _core.Engine) -> None:
    scenario = Scenario.parse(SMALL)
    if engine.traces:
        _core.Job(scenario.core, engine.name, 1, 0, traces=True)
    else:
        with pytest.raises(UnsupportedError, match="does not support traces"):
            _core.Job(scenario.core, engine.name, 1, 0, traces=True)
    for model in engine.models:
        _core.Job(scenario.core, engine.name, 1, 0, model=model)
    with pytest.raises((InputError, UnsupportedError), match=r"unknown model|choice of models"):
        _core.Job(scenario.core, engine.name, 1, 0, model="unheard-of")


#: Those of which no two reports are equal are left out: that they are alike is for their own tests.
REPEATABLE = [engine for engine in _core.engines() if not engine.real_time]


@pytest.mark.parametrize("engine", REPEATABLE, ids=lambda engine: engine.name)
def test_equal_jobs_give_equal_reports(engine: _core.Engine) -> None:
    """With traces and without; another replication differs where the engine says that it does."""
    scenario = Scenario.parse(SMALL, overrides=['flows.bulk.start={ uniform = ["0s", "1s"] }'])

    def metrics(replication: int, *, traces: bool = False) -> object:
        job = _core.Job(scenario.core, engine.name, 7, replication, traces=traces)
        (report,) = _core.run_batch([job], 1)
        assert isinstance(report, _core.Report)
        return {name: value for name, value in json.loads(report.json()).items() if name != "cost"}

    assert metrics(0) == metrics(0, traces=engine.traces)
    assert (metrics(0) != metrics(1)) == engine.replicates
