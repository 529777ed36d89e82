"""What a search has simulated: every report is kept, so that nothing is simulated twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from forebay import _core
from forebay.report import Report
from forebay.scenario import Progress, Scenario, run_jobs

__all__ = ["Measurements"]


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
    before : int
        Replications of earlier searches.
    """

    def __init__(
        self, scenario: Scenario, engine: str, jobs: int | None, progress: Progress | None, *, before: int = 0
    ) -> None:
        self.scenario, self.engine, self.jobs = scenario, engine, jobs
        self.progress = progress
        self.reports: dict[tuple[int, int], Report] = {}
        self._expected, self._before = 0, before

    def __call__(self, pairs: Sequence[tuple[int, int]]) -> list[Report]:
        """Measure (buffer, replication) pairs."""
        buffers = {buffer: self.scenario.core.with_packets(buffer) for buffer in {pair[0] for pair in pairs}}
        seed = self.scenario.core.seed
        work = [_core.Job(buffers[buffer], self.engine, seed, replication) for buffer, replication in pairs]
        before = len(self.reports)
        reports = run_jobs(work, self.jobs, lambda done, _all: self._tell(before + done))
        self.reports.update(zip(pairs, reports, strict=True))
        return reports

    def expect(self, remaining: int) -> None:
        """Take note of how many replications are still to come."""
        self._expected = len(self.reports) + remaining
        self._tell(len(self.reports))

    def _tell(self, done: int) -> None:
        if self.progress is not None:
            self.progress(self._before + done, self._before + max(done, self._expected))

    def combined(self, buffer: int, replications: Iterable[int]) -> Report:
        """One report over some replications at a buffer."""
        return Report.over(self.reports[buffer, replication] for replication in replications)

    def buffers(self) -> list[int]:
        """Every buffer measured, in rising order."""
        return sorted({buffer for buffer, _ in self.reports})

    def replications(self, buffer: int) -> list[int]:
        """The replications measured at a buffer, in order."""
        return sorted(replication for at, replication in self.reports if at == buffer)
