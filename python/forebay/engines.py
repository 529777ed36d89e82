"""Capabilities of engines, and the limits of those that run in real time.

A run in real time takes as long as its scenario by this machine's clock, and other work would falsify it.
`_core.run_batch` runs such jobs one at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from forebay import _core
from forebay.errors import InputError
from forebay.text.formatting import clock_time, counted

__all__ = [
    "Pace",
    "assumes_losses",
    "check_exclusive",
    "forecast",
    "in_real_time",
    "is_exact",
    "real_time_engines",
    "run_s",
    "simulates_hosts",
]


def _has(engine: str, capability: Callable[[_core.Engine], bool]) -> bool:
    """Whether the engine of this name has a capability; an unknown one has none."""
    return any(each.name == engine and capability(each) for each in _core.engines())


def real_time_engines() -> frozenset[str]:
    """Names of the engines that run in real time."""
    return frozenset(engine.name for engine in _core.engines() if engine.real_time)


def in_real_time(engine: str) -> bool:
    """Whether the engine of this name runs in real time."""
    return _has(engine, lambda each: each.real_time)


def simulates_hosts(engine: str) -> bool:
    """Whether the engine of this name simulates hosts and each of their packets."""
    return _has(engine, lambda each: each.simulates_hosts)


def assumes_losses(engine: str) -> bool:
    """Whether the engine of this name assumes which share of the flows loses at a congestion event."""
    return _has(engine, lambda each: each.assumes_losses)


def is_exact(engine: str) -> bool:
    """Whether nothing is random in the answer of the engine of this name."""
    return _has(engine, lambda each: not each.replicates)


def run_s(scenario: _core.Scenario) -> float:
    """Seconds of one replication, its warm-up included."""
    return sum(scenario.duration_s)


def check_exclusive(engine: str, *, jobs: int | None = None, scheduler: object = None) -> None:
    """Refuse to run an engine in real time beside others, or on machines that do other work.

    Raises
    ------
    InputError
        If more than one thread or a scheduler is requested.
    """
    if not in_real_time(engine):
        return
    beside = f"with the {engine} engine, which runs in real time, one replication at a time"
    if jobs is not None and jobs > 1:
        raise InputError(f"found {jobs} {beside}; allowed: 1", "jobs")
    if scheduler is not None:
        raise InputError(f"not available {beside}; allowed: this machine", "scheduler")


def forecast(engine: str, each_s: float, runs: int | None) -> str:
    """The duration of `runs` replications, in a line; the duration of each if `runs` is None."""
    text = f"the {engine} engine runs in real time, one replication at a time: "
    if runs is None:
        return f"{text}{clock_time(each_s)} each"
    take = "takes" if runs == 1 else "take"
    return f"{text}{counted(runs, 'replication')} of {clock_time(each_s)} {take} {clock_time(runs * each_s)} at least"


class Pace:
    """The progress of runs of a known length, by the clock.

    Parameters
    ----------
    each_s : float
        Least duration of one run, in seconds.
    now : callable
        The clock, in seconds.
    """

    def __init__(self, each_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._each, self._now = each_s, now
        self._begun = self._last = now()
        self._done = self._expected = 0

    def note(self, done: int, expected: int) -> None:
        """Record the number of finished runs, and of all that are expected."""
        if done > self._done:
            self._last = self._now()
        self._done, self._expected = done, expected

    @property
    def elapsed_s(self) -> float:
        """The time since the beginning, in seconds."""
        return self._now() - self._begun

    @property
    def known_s(self) -> float:
        """The least duration of all runs, in seconds."""
        return self._expected * self._each

    @property
    def remaining_s(self) -> float:
        """The remaining time in seconds, by the mean duration of finished runs, but at least by the known one."""
        left = self._expected - self._done
        if left <= 0:
            return 0.0
        each = max(self._each, (self._last - self._begun) / self._done) if self._done else self._each
        return (left - 1) * each + max(0.0, each - (self._now() - self._last))

    @property
    def share(self) -> float:
        """The finished part of the whole time, 0 to 1."""
        whole = self.elapsed_s + self.remaining_s
        return self.elapsed_s / whole if self._expected and whole > 0 else 0.0
