"""The runs of a search: every report is stored, so that nothing is simulated twice.

A search asks it for pairs of a buffer and a replication; it makes jobs of them.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from forebay import _core
from forebay.results.report import Report
from forebay.scenario import Scenario, run_jobs
from forebay.search.independence import different, enough, in_step
from forebay.search.listener import SILENT, Listener
from forebay.search.resumption import Resumption
from forebay.search.strata import Strata

if TYPE_CHECKING:
    from forebay.measurement.cluster import Cluster

__all__ = ["Means", "Measurements", "Variable"]

#: A buffer in packets and the number of a replication.
Pair = tuple[int, int]

#: Called with the number of a job and its report.
Finished = Callable[[int, Report], object]


class Variable(Protocol):
    """The variable of a search: each of its numbers stands for a scenario."""

    @property
    def scenario(self) -> Scenario:
        """The scenario that is varied."""

    @property
    def identity(self) -> str:
        """The identity of its numbers, different from that of others."""

    def snapped(self, place: int, /) -> int:
        """The number that stands for the same value, one for each value."""

    def apply(self, place: int, /) -> Scenario:
        """The scenario with the value for which a number stands."""


@dataclass(frozen=True, slots=True)
class Means:
    """Everything that runs and keeps replications, the same for all searches of one question.

    Attributes
    ----------
    engine : str
        The engine that measures.
    jobs : int, optional
        Threads; all cores by default.
    resumption : Resumption, optional
        Where finished replications are kept, and found again.
    cluster : Cluster, optional
        The cluster whose workers measure instead of this machine's threads.
    listener : Listener
        Called with the replications done and those expected in all, those of earlier searches included.
    """

    engine: str
    jobs: int | None = None
    resumption: Resumption | None = None
    cluster: Cluster | None = None
    listener: Listener = SILENT


class Measurements:
    """Runs the replications that the search requests.

    Parameters
    ----------
    variable : Variable
        The variable, with its scenario.
    means : Means
        The means that run and cache replications.
    before : int
        Replications of earlier searches.
    until : float, optional
        The value of `time.monotonic` after which the current and the next call end with a `TimeoutError`.
    strata : Strata, optional
        Strata of the scenario's random states: an observation is then a weighted mean of one run of each.

    Attributes
    ----------
    reports : mapping
        Every observation by its buffer and number.
    runs : int
        Runs of the engine so far, including those of an interrupted search.
    """

    def __init__(
        self,
        variable: Variable,
        means: Means,
        *,
        before: int = 0,
        until: float | None = None,
        strata: Strata | None = None,
    ) -> None:
        self.variable, self.means = variable, means
        self.scenario, self.engine = variable.scenario, means.engine
        #: Whether replications are more than one answer given again.
        self.replicates = all(known.replicates for known in _core.engines() if known.name == self.engine)
        self.reports: dict[Pair, Report] = {}
        self._strata = strata if self.replicates else None
        #: Runs of which observations consist, where there are strata.
        self._of_strata: dict[Pair, Report] = {}
        self._until = until
        #: Replications that an interrupted search had left.
        self.resumed = 0
        self._expected, self._before = 0, before
        stored = means.resumption
        self._stored = None if stored is None else stored.of(self.scenario.core, self.engine, variable.identity)

    def alongside(self, variable: Variable) -> Measurements:
        """Further runs with another change, with the same seeds, storage and time limit."""
        before = self._before + self.runs
        return Measurements(variable, self.means, before=before, until=self._until, strata=self._strata)

    def are_observations(self, reports: Sequence[Report]) -> bool:
        """Whether reports are observations of their own: more than half of them differ, and no flows move in step."""
        if not self.replicates or not enough(different(reports), len(reports)):
            return False
        return in_step(self.scenario.core, self.engine, reports) is None

    def __call__(self, pairs: Sequence[Pair]) -> list[Report]:
        """Measure (buffer, replication) pairs; an engine without replications gives its one answer for all."""
        # Numbers of the search that stand for one value are one place, with the replications of all.
        pairs = [(self.variable.snapped(buffer), number if self.replicates else 0) for buffer, number in pairs]
        parts = {pair: self._members(pair) for pair in pairs}
        try:
            self._have(list(dict.fromkeys(member for members in parts.values() for member in members)))
        finally:
            # Where the time is over, observations whose runs are all there count.
            for pair, members in parts.items():
                if pair not in self.reports and all(member in self._parts for member in members):
                    self.reports[pair] = self._observation(pair[1], members)
        return [self.reports[pair] for pair in pairs]

    @property
    def _parts(self) -> dict[Pair, Report]:
        """Every run of the engine; without strata each is an observation."""
        return self.reports if self._strata is None else self._of_strata

    @property
    def runs(self) -> int:
        """Runs of the engine so far."""
        return len(self._parts)

    @property
    def strata(self) -> Strata | None:
        """Strata whose runs are one observation together."""
        return self._strata

    def _members(self, pair: Pair) -> tuple[Pair, ...]:
        """Runs that together are one observation."""
        if self._strata is None:
            return (pair,)
        return tuple((pair[0], number) for number in self._strata.members(pair[1]))

    def _observation(self, number: int, members: Sequence[Pair]) -> Report:
        """The weighted mean of one run of each stratum."""
        assert self._strata is not None, "without strata a run is an observation"
        # The draws of an observation may have none of a rare stratum.
        of_strata = zip(members, self._strata.weights_of(number), strict=True)
        parts = [(self._parts[member].core, weight) for member, weight in of_strata if weight > 0]
        return Report(_core.weighted([part for part, _ in parts], [weight for _, weight in parts]))

    def _have(self, pairs: Sequence[Pair]) -> None:
        """Run those of some runs that are not there yet."""
        buffers = {buffer: self.variable.apply(buffer).core for buffer in {pair[0] for pair in pairs}}
        self._take(pairs, buffers)
        missing = [pair for pair in pairs if pair not in self._parts]
        done = itertools.count(len(self._parts) + 1)

        def keep(job: int, report: Report) -> None:
            if self._stored is not None:
                self._stored.add(missing[job], report)
            # At once: the time may be over before all of them are there.
            self._parts[missing[job]] = report
            self._report_progress(next(done))

        self._run(missing, buffers, keep)

    def _run(self, missing: Sequence[Pair], buffers: Mapping[int, _core.Scenario], keep: Finished) -> None:
        """Run pairs here or on the cluster; `keep` is told of each as it comes."""
        seed = self.scenario.core.seed
        within = None if self._until is None else self._until - time.monotonic()
        cluster = self.means.cluster
        if cluster is None:
            work = [_core.Job(buffers[buffer], self.engine, seed, number) for buffer, number in missing]
            run_jobs(work, self.means.jobs, None, keep, within)
            return
        from forebay.measurement.cluster import Replication

        texts = {buffer: scenario.canonical_json() for buffer, scenario in buffers.items()}
        requested = [Replication(texts[buffer], self.engine, seed, number) for buffer, number in missing]
        cluster.reports(requested, keep, within)

    def _take(self, pairs: Iterable[Pair], buffers: Mapping[int, _core.Scenario]) -> None:
        """Take those of the pairs that an interrupted search left."""
        if self._stored is None or not self._stored.count:
            return
        digests = {buffer: scenario.sha256 for buffer, scenario in buffers.items()}
        for pair in pairs:
            if pair in self._parts:
                continue
            report = self._stored.take(pair, digests[pair[0]])
            if report is not None:
                self._parts[pair] = report
                self.resumed += 1

    def expect(self, remaining: int) -> None:
        """Take note of how many observations are still to come."""
        self._expected = self.runs + remaining * (1 if self._strata is None else len(self._strata.weights))
        self._report_progress(self.runs)

    def _report_progress(self, done: int) -> None:
        self.means.listener.on_progress(self._before + done, self._before + max(done, self._expected))

    def buffers(self) -> list[int]:
        """Every buffer measured, in rising order."""
        return sorted({buffer for buffer, _ in self.reports})

    def at(self, buffer: int) -> list[Report]:
        """Every replication measured at a buffer, in order."""
        buffer = self.variable.snapped(buffer)
        return [self.reports[pair] for pair in sorted(pair for pair in self.reports if pair[0] == buffer)]
