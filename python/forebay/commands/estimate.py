"""An estimate of how long simulated runs take, printed in one line before they begin.

The cost of a run of the packet engine is that of its packets: a full link for the warm-up and the measured time. An
engine in real time has its own forecast (`forebay.engines`). Other engines are too fast for an estimate.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from forebay.commands.streams import print_note

if TYPE_CHECKING:
    from forebay.measurement.run_time import RunTime
    from forebay.scenario import Progress, Scenario

__all__ = ["Announced", "Work", "announce", "announced", "announced_soon", "one_run"]

#: The shortest time that is worth a line, in seconds.
WORTH_SAYING = 10.0
#: Time within which an impossible run is refused, in seconds.
REFUSED_S = 0.5
#: The engine whose cost is estimated from its packets.
PACKET = "packet"


@dataclass(frozen=True, slots=True)
class Work:
    """A number of runs to make.

    Attributes
    ----------
    runs : int
        Approximate number of runs.
    each : RunTime
        Cost of one run.
    most_s : float or None
        Time after which the work ends in any case, in seconds.
    """

    runs: int
    each: RunTime
    most_s: float | None = None

    def measured(self, run_s: float, done: int, jobs: int | None) -> Work:
        """The same work, with the cost of a run taken from runs that have shared the cores."""
        from forebay.scenario import threads

        at_once = max(1, min(threads(jobs), done))
        return replace(self, each=replace(self.each, seconds=run_s * at_once))

    def seconds(self, cores: int) -> float:
        """Approximate duration on this number of cores, in seconds."""
        found = self.runs * self.each.seconds / max(1, min(cores, self.runs))
        return found if self.most_s is None else min(found, self.most_s)


class Announced:
    """Progress that prints an estimate of the duration when it first learns the number of runs.

    Wrong options are found before that, so that an error message remains one line.

    Parameters
    ----------
    progress : callable or None
        Progress callback that receives all calls, too.
    work : callable
        Function that returns the work, given the number of remaining runs.
    jobs : int or None
        Number of threads.
    measured : bool
        Whether the cost of a run comes from the runs that are done at the first call, instead of from their packets.
    """

    def __init__(
        self, progress: Progress | None, work: Callable[[int], Work], jobs: int | None, *, measured: bool = False
    ) -> None:
        self._progress, self._work, self._jobs = progress, work, jobs
        self._since = time.monotonic() if measured else None
        self._is_announced = False

    def __call__(self, done: int, expected: int) -> None:
        """Report the number of finished runs and the number expected in all."""
        if not self._is_announced and expected > done:
            self._is_announced = True
            work = self._work(expected - done)
            if self._since is not None and done:
                work = work.measured((time.monotonic() - self._since) / done, done, self._jobs)
            announce(work, self._jobs)
        if self._progress is not None:
            self._progress(done, expected)


def announced(
    progress: Progress | None,
    scenario: Scenario,
    options: Mapping[str, Any],
    runs: Callable[[int], int] = lambda expected: expected,
    *,
    measured: bool = False,
) -> Progress | None:
    """Progress that prints an estimate of the duration; unchanged if a cluster does the work.

    Parameters
    ----------
    progress : callable or None
        Progress callback that receives all calls, too.
    scenario : Scenario
        Scenario of every run; it determines the length of a run.
    options : mapping
        The options `engine`, `scheduler` and `jobs` of the command, and `within` where it has that.
    runs : callable
        Function that returns the number of runs, given the number that is expected at first.
    measured : bool
        Whether the cost of a run comes from the first runs. Queues with classes take several times as long per packet
        as others.
    """
    each = one_run(scenario, options["engine"])
    if each is None or options["scheduler"] is not None:
        return progress
    return Announced(
        progress, lambda expected: Work(runs(expected), each, options.get("within")), options["jobs"], measured=measured
    )


@contextmanager
def announced_soon(work: Work | None, jobs: int | None) -> Iterator[None]:
    """Print an estimate after a short delay, unless the work is refused or has ended by then."""
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
    """Print an estimate of the duration if the work is long enough."""
    line = _line(work, jobs)
    if line:
        print_note(line)


def _line(work: Work, jobs: int | None) -> str:
    """The estimate in words; empty if the work is too short for a line."""
    from forebay.scenario import threads
    from forebay.text.formatting import counted

    cores = threads(jobs)
    seconds = work.seconds(cores)
    if seconds < WORTH_SAYING:
        return ""
    if seconds == work.most_s:
        # A time limit ends the work, so the number of runs does not matter.
        return f"this takes about {_rough(seconds)} on {counted(cores, 'core')}"
    runs = f"about {counted(work.runs, 'run')} of {_rounded(work.each.packets)} packets"
    return f"this takes about {_rough(seconds)} on {counted(cores, 'core')}: {runs}"


def one_run(scenario: Scenario, engine: str = PACKET) -> RunTime | None:
    """Cost of one run; None for an engine without packets."""
    from forebay.measurement.run_time import run_time

    return run_time(scenario) if engine == PACKET else None


def _rounded(packets: float) -> str:
    """A number of packets, rounded to two significant digits."""
    return f"{float(f'{packets:.2g}'):,.0f}"


def _rough(seconds: float) -> str:
    """An approximate duration, to one or two significant digits."""
    for unit, length in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{float(f'{seconds / length:.2g}'):g} {unit}"
    return f"{10 * round(seconds / 10):g} s"
