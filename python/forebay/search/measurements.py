"""What a search has simulated: every report is kept, so that nothing is simulated twice."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from forebay import _core
from forebay.measurement.cluster import Cluster, Replication
from forebay.report import Report
from forebay.scenario import Progress, Scenario, run_jobs
from forebay.search.knob import TARGET_LINK
from forebay.search.resumption import Resumption

__all__ = ["Measurements"]

#: A buffer in packets and the number of a replication.
Pair = tuple[int, int]

#: Told the number of a job and its report.
Finished = Callable[[int, Report], object]


class Turned(Protocol):
    """What a number of the search does to a scenario."""

    @property
    def identity(self) -> str:
        """What tells its numbers from those of others."""

    def snapped(self, place: int, /) -> int:
        """The number that stands for the same value, one for each value."""

    def core(self, scenario: _core.Scenario, place: int, /) -> _core.Scenario:
        """The scenario with the value for which a number stands."""


class Measurements:
    """Runs what the search asks for.

    Parameters
    ----------
    scenario : Scenario
        Its own buffer does not matter.
    engine : str
        What measures.
    jobs : int or None
        Threads.
    progress : callable or None
        Told the replications done and those expected in all, those of earlier searches included.
    knob : Turned
        What is varied.
    before : int
        Replications of earlier searches.
    resumption : Resumption, optional
        Where finished replications are kept, and found again.
    until : float, optional
        When `time.monotonic` says so, the next call ends with a `TimeoutError`, and the one that is being made.
    cluster : Cluster, optional
        Whose workers measure instead of this machine's threads.
    """

    def __init__(
        self,
        scenario: Scenario,
        engine: str,
        jobs: int | None,
        progress: Progress | None,
        *,
        knob: Turned = TARGET_LINK,
        before: int = 0,
        resumption: Resumption | None = None,
        until: float | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        self.scenario, self.engine, self.jobs = scenario, engine, jobs
        self.progress, self.knob, self.resumption, self.cluster = progress, knob, resumption, cluster
        #: Whether replications are more than one answer given again.
        self.replicates = all(known.replicates for known in _core.engines() if known.name == engine)
        self.reports: dict[Pair, Report] = {}
        self._until = until
        #: Replications that an interrupted search had left.
        self.resumed = 0
        self._expected, self._before = 0, before
        self._kept = None if resumption is None else resumption.of(scenario.core, engine, knob.identity)

    def __call__(self, pairs: Sequence[Pair]) -> list[Report]:
        """Measure (buffer, replication) pairs; an engine without replications gives its one answer for all."""
        # Numbers of the search that stand for one value are one place, with the replications of all.
        pairs = [(self.knob.snapped(buffer), number if self.replicates else 0) for buffer, number in pairs]
        buffers = {buffer: self.knob.core(self.scenario.core, buffer) for buffer in {pair[0] for pair in pairs}}
        self._take(pairs, buffers)
        missing = list(dict.fromkeys(pair for pair in pairs if pair not in self.reports))
        done = itertools.count(len(self.reports) + 1)

        def keep(job: int, report: Report) -> None:
            if self._kept is not None:
                self._kept.add(missing[job], report)
            # At once: the time may be over before all of them are there.
            self.reports[missing[job]] = report
            self._tell(next(done))

        self._run(missing, buffers, keep)
        return [self.reports[pair] for pair in pairs]

    def _run(self, missing: Sequence[Pair], buffers: Mapping[int, _core.Scenario], keep: Finished) -> None:
        """Run pairs here or on the cluster; `keep` is told of each as it comes."""
        seed = self.scenario.core.seed
        within = None if self._until is None else self._until - time.monotonic()
        if self.cluster is None:
            work = [_core.Job(buffers[buffer], self.engine, seed, number) for buffer, number in missing]
            run_jobs(work, self.jobs, None, keep, within)
            return
        texts = {buffer: scenario.canonical_json() for buffer, scenario in buffers.items()}
        asked = [Replication(texts[buffer], self.engine, seed, number) for buffer, number in missing]
        self.cluster.reports(asked, keep, within)

    def _take(self, pairs: Iterable[Pair], buffers: Mapping[int, _core.Scenario]) -> None:
        """Take those of the pairs that an interrupted search left."""
        if self._kept is None or not self._kept.count:
            return
        digests = {buffer: scenario.sha256 for buffer, scenario in buffers.items()}
        for pair in pairs:
            if pair in self.reports:
                continue
            report = self._kept.take(pair, digests[pair[0]])
            if report is not None:
                self.reports[pair] = report
                self.resumed += 1

    def expect(self, remaining: int) -> None:
        """Take note of how many replications are still to come."""
        self._expected = len(self.reports) + remaining
        self._tell(len(self.reports))

    def _tell(self, done: int) -> None:
        if self.progress is not None:
            self.progress(self._before + done, self._before + max(done, self._expected))

    def buffers(self) -> list[int]:
        """Every buffer measured, in rising order."""
        return sorted({buffer for buffer, _ in self.reports})

    def at(self, buffer: int) -> list[Report]:
        """Every replication measured at a buffer, in order."""
        buffer = self.knob.snapped(buffer)
        return [self.reports[pair] for pair in sorted(pair for pair in self.reports if pair[0] == buffer)]
