"""About how long simulated runs take, said in a line before they begin.

A run of the packet engine costs what its packets cost: a full link for the warm-up and the measured time. An engine in
real time has a forecast of its own (`forebay.engines`), and other engines take no time worth a line.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from forebay.commands.streams import remark

if TYPE_CHECKING:
    from forebay.measurement.run_time import RunTime
    from forebay.scenario import Progress, Scenario

__all__ = ["Announced", "Work", "announce", "announced", "announced_soon", "one_run"]

#: The least time that is worth a line, in seconds.
WORTH_SAYING = 10.0
#: Seconds in which a run that cannot be made is refused.
REFUSED_S = 0.5
#: The engine whose runs are counted in packets.
PACKET = "packet"


@dataclass(frozen=True, slots=True)
class Work:
    """Runs to make.

    Attributes
    ----------
    runs : int
        How many, about.
    each : RunTime
        What one of them takes.
    most_s : float or None
        Seconds after which the work ends in any case.
    """

    runs: int
    each: RunTime
    most_s: float | None = None

    def measured(self, run_s: float, done: int, jobs: int | None) -> Work:
        """The work by the time that each of some runs took, which shared the cores."""
        from forebay.scenario import threads

        at_once = max(1, min(threads(jobs), done))
        return replace(self, each=replace(self.each, seconds=run_s * at_once))

    def seconds(self, cores: int) -> float:
        """About how long it takes on so many cores."""
        found = self.runs * self.each.seconds / max(1, min(cores, self.runs))
        return found if self.most_s is None else min(found, self.most_s)


class Announced:
    """Progress that says, when it is first told how many runs there will be, about how long they take.

    What is wrong with a question is found before that, so that a mistake remains one line.

    Parameters
    ----------
    progress : callable or None
        What is told on.
    work : callable
        The work, by the number of the runs to come.
    jobs : int or None
        Threads.
    measured : bool
        Whether the runs that are done when it is first told say how long a run takes, instead of their packets.
    """

    def __init__(
        self, progress: Progress | None, work: Callable[[int], Work], jobs: int | None, *, measured: bool = False
    ) -> None:
        self._progress, self._work, self._jobs = progress, work, jobs
        self._since = time.monotonic() if measured else None
        self._said = False

    def __call__(self, done: int, expected: int) -> None:
        """Tell on how many of how many runs are done."""
        if not self._said and expected > done:
            self._said = True
            work = self._work(expected - done)
            if self._since is not None and done:
                work = work.measured((time.monotonic() - self._since) / done, done, self._jobs)
            announce(work, self._jobs)
        if self._progress is not None:
            self._progress(done, expected)


def announced(
    progress: Progress | None,
    scenario: Scenario,
    asked: Mapping[str, Any],
    runs: Callable[[int], int] = lambda expected: expected,
    *,
    measured: bool = False,
) -> Progress | None:
    """Progress that says about how long runs take; as it is where machines of a cluster do the work.

    Parameters
    ----------
    progress : callable or None
        What is told on.
    scenario : Scenario
        Each run is as long as one of it.
    asked : mapping
        The options `engine`, `scheduler` and `jobs` of the command, and `within` where it has that.
    runs : callable
        The number of runs, by the number that is expected at first.
    measured : bool
        Whether the first runs say how long a run takes. Queues with classes take several times as long for a packet as
        others.
    """
    each = one_run(scenario, asked["engine"])
    if each is None or asked["scheduler"] is not None:
        return progress
    return Announced(
        progress, lambda expected: Work(runs(expected), each, asked.get("within")), asked["jobs"], measured=measured
    )


@contextmanager
def announced_soon(work: Work | None, jobs: int | None) -> Iterator[None]:
    """Say about how long some work takes, unless it is refused, or over, before anybody would wait for it."""
    if work is None or not _line(work, jobs):
        yield
        return
    timer = threading.Timer(REFUSED_S, announce, (work, jobs))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def announce(work: Work, jobs: int | None) -> None:
    """Say about how long some work takes where that is worth a line."""
    line = _line(work, jobs)
    if line:
        remark(line)


def _line(work: Work, jobs: int | None) -> str:
    """The estimate in words; nothing where the work takes no time worth a line."""
    from forebay.scenario import threads
    from forebay.text.formatting import counted

    cores = threads(jobs)
    seconds = work.seconds(cores)
    if seconds < WORTH_SAYING:
        return ""
    if seconds == work.most_s:
        # The time ends the work, whatever the runs are.
        return f"this takes about {_rough(seconds)} on {counted(cores, 'core')}"
    runs = f"about {counted(work.runs, 'run')} of {_rounded(work.each.packets)} packets"
    return f"this takes about {_rough(seconds)} on {counted(cores, 'core')}: {runs}"


def one_run(scenario: Scenario, engine: str = PACKET) -> RunTime | None:
    """What one run takes; None of an engine that does not count in packets."""
    from forebay.measurement.run_time import run_time

    return run_time(scenario) if engine == PACKET else None


def _rounded(packets: float) -> str:
    """A number of packets to two digits."""
    return f"{float(f'{packets:.2g}'):,.0f}"


def _rough(seconds: float) -> str:
    """A time that is known roughly, to one digit or two."""
    for unit, length in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{float(f'{seconds / length:.2g}'):g} {unit}"
    return f"{10 * round(seconds / 10):g} s"
