"""The options of a question, grouped by what they are about; each group checks itself.

The keywords of `forebay.recommend`, `forebay.check`, `forebay.size_classes` and `forebay.feasible_map` become these
objects (and `goals.Goals`). The stages of the search read the objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.configuration.access import Access, requested_access
from forebay.engines import check_exclusive, forecast, in_real_time
from forebay.errors import InputError
from forebay.inputs.validation import MOST_REPLICATIONS, integer, real
from forebay.results.statistics import replications_for_share, runs_for_confidence
from forebay.scenario import TARGET, threads
from forebay.search.choice import Choice, choice, for_each
from forebay.search.goal_test import GoalTest, MeanTest, ShareTest
from forebay.search.listener import SILENT, Listener
from forebay.search.measurements import Means
from forebay.search.quick import QUICK_CONFIDENCE
from forebay.search.resumption import Resumption
from forebay.search.time_budget import TimeBudget
from forebay.search.tradeoff import metric_pair

if TYPE_CHECKING:
    from forebay.measurement.cluster import Cluster

__all__ = ["Execution", "Extras", "Precision", "Sizing"]


@dataclass(frozen=True, slots=True)
class Sizing:
    """The varied key of a search, and the choice among the values that meet the goals.

    Attributes
    ----------
    over : str or tuple of str
        The varied key, and keys with a list of values.
    largest : bool
        Whether to find the largest value instead of the smallest.
    minimize, maximize : str, optional
        The metric to minimize or maximize.
    """

    over: str | Sequence[str] = TARGET
    largest: bool = False
    minimize: str | None = None
    maximize: str | None = None

    @property
    def _choices(self) -> list[tuple[str, Choice | None]]:
        """Each key with its choice, if it has a list of values."""
        return [(text, choice(text)) for text in ([self.over] if isinstance(self.over, str) else self.over)]

    def __post_init__(self) -> None:
        """Refuse two keys that are varied."""
        varied = [text for text, each in self._choices if each is None]
        if len(varied) > 1:
            found = f"found `{varied[0]}` and `{varied[1]}`"
            raise InputError(f"{found}; allowed: one key that is varied, or two of `feasible_map`", "over")

    @property
    def choices(self) -> list[Choice]:
        """The keys with a list of values."""
        return [each for _, each in self._choices if each is not None]

    @property
    def key(self) -> str:
        """The key that is varied, with its range: the target link's buffer unless another one is named."""
        return next((text for text, each in self._choices if each is None), TARGET)

    @property
    def optimizes(self) -> bool:
        """Whether a metric is to be best."""
        return self.minimize is not None or self.maximize is not None

    def refuse_combination(self, **others: bool) -> None:
        """Refuse options that have no meaning where a metric is to be best."""
        for name, requested in others.items():
            if requested and self.optimizes:
                raise InputError("cannot be combined with --minimize or --maximize; allowed: one of them", name)


@dataclass(frozen=True, slots=True)
class Precision:
    """The confidence, the resolution and the time budget of an answer; `recommend` describes each.

    Attributes
    ----------
    confidence, resolution : float
        One-sided confidence that was asked for, and the largest relative distance from the smallest buffer.
    replications : int, optional
        At the first look at each buffer.
    fraction : float, optional
        The share of the draws in which all goals have to hold at once.
    quick : bool
        Whether few and short runs are enough.
    within : float, optional
        Seconds after which the best answer so far is given.
    answers : int
        Answers that share the error; `level` is the confidence of each.
    """

    confidence: float = 0.95
    resolution: float = 0.05
    replications: int | None = None
    fraction: float | None = None
    quick: bool = False
    within: float | None = None
    answers: int = 1

    def __post_init__(self) -> None:
        """Read numbers that may be texts, and refuse what no search can keep."""
        requested, fraction, within = self.replications, self.fraction, self.within
        read = {
            "replications": None if requested is None else integer(requested, (2, MOST_REPLICATIONS), "replications"),
            "fraction": None if fraction is None else real(fraction, "fraction"),
            "within": None if within is None else real(within, "within"),
            "confidence": real(self.confidence, "confidence"),
            "resolution": real(self.resolution, "resolution"),
        }
        for name, value in read.items():
            object.__setattr__(self, name, value)
        self._check_ranges()
        TimeBudget(self.quick, self.within)

    def _check_ranges(self) -> None:
        if not 0.5 < self.confidence < 1:
            text = f"found {self.confidence:g}; allowed: above 0.5 and below 1, as in 0.95 or 95%"
            raise InputError(text, "confidence")
        if not 0.001 <= self.resolution <= 1:
            raise InputError(f"found {self.resolution:g}; allowed: 0.001 to 1, or 0.1% to 100%", "resolution")
        if self.fraction is not None and not 0.05 <= self.fraction <= 0.999:
            raise InputError(f"found {self.fraction:g}; allowed: 0.05 to 0.999, or 5% to 99.9%", "fraction")

    def among(self, answers: int) -> Precision:
        """The same for each of several answers of which the best is picked."""
        return replace(self, answers=answers)

    @property
    def requested_confidence(self) -> float:
        """The confidence of the whole answer; a quick look states no more than it looks for."""
        return min(self.confidence, QUICK_CONFIDENCE) if self.quick else self.confidence

    @property
    def level(self) -> float:
        """The confidence of one answer with which all together have the requested one."""
        return for_each(self.requested_confidence, self.answers)

    @property
    def least_runs(self) -> int:
        """Runs without which no confidence is reached."""
        return runs_for_confidence(self.requested_confidence)

    @property
    def budget(self) -> TimeBudget:
        """The time that one of the answers may take."""
        return TimeBudget(self.quick, self.within).shared(self.answers)

    @property
    def test(self) -> GoalTest:
        """The test of means, or of a share of the draws."""
        return MeanTest() if self.fraction is None else ShareTest(self.fraction)

    def analyses(self, own: int) -> tuple[int, ...]:
        """Replications at the first and each further analysis of a buffer.

        Parameters
        ----------
        own : int
            The scenario's own number of replications.
        """
        requested = self.replications
        if self.fraction is not None:
            return self._analyses_of_share(max(4, own) if requested is None else requested, self.fraction)
        return (1, 2, 4, 8, 16) if requested is None else (requested, 2 * requested, 4 * requested)

    def _analyses_of_share(self, first: int, fraction: float) -> tuple[int, ...]:
        """The first analysis can refuse, the second accept if every draw holds, and the others if some do not."""
        enough = replications_for_share(fraction, 1 - (1 - self.level) / 4)
        return tuple(sorted({max(first, 8), *(factor * max(enough, first, 8) for factor in (1, 2, 4))}))


@dataclass(frozen=True, slots=True)
class Execution:
    """The execution of runs: place and method, cached results, and the listener.

    Attributes
    ----------
    engine : str
        The engine that measures.
    jobs : int, optional
        Threads; the answer does not depend on their number.
    scheduler : str or Cluster, optional
        Address of a Dask scheduler whose workers measure instead of this machine's threads.
    resume : Path, optional
        A directory in which finished runs are kept until the answer is there.
    listener : Listener
        Object that receives progress, notes and the interval of the answer so far.
    """

    engine: str = "packet"
    jobs: int | None = None
    scheduler: str | Cluster | None = None
    resume: Path | None = None
    listener: Listener = SILENT

    def __post_init__(self) -> None:
        """Refuse a wrong number of threads, and an engine in real time beside others."""
        threads(self.jobs)
        check_exclusive(self.engine, jobs=self.jobs, scheduler=self.scheduler)

    @property
    def threads(self) -> int:
        """Threads of this machine."""
        return threads(self.jobs)

    def announce(self, seconds: float) -> None:
        """Say how long a run takes that the engine makes in real time, in seconds."""
        if in_real_time(self.engine):
            self.listener.on_note(forecast(self.engine, seconds, None))

    @contextmanager
    def open(self, *, quick: bool = False) -> Iterator[Means]:
        """Open what keeps runs and connect to what makes them; kept runs go when the answer is there."""
        resumption = None if self.resume is None else Resumption(self.resume, self.listener, quick=quick)
        with self._cluster() as cluster, resumption or nullcontext():
            yield Means(self.engine, self.jobs, resumption, cluster, self.listener)

    def _cluster(self) -> AbstractContextManager[Cluster | None]:
        """The connection to the scheduler; None without a scheduler, so that sockets and logging are not loaded."""
        if self.scheduler is None:
            return nullcontext()
        from forebay.measurement.cluster import connected

        return connected(self.scheduler)


@dataclass(frozen=True, slots=True)
class Extras:
    """The parts of the answer besides the buffer.

    Attributes
    ----------
    also : tuple of str
        Buffers to measure beside those of the rules.
    platforms : tuple of str
        Platforms whose configuration the answer also gives.
    access, download, upload : str, optional
        The access line that the target link is, and the rate of its other direction.
    pareto : str, optional
        Two metrics whose trade-off the answer also gives.
    sensitivity : bool
        Whether to repeat the search with flows, round trips and load 20 % lower and higher.
    jitter : bool
        Whether to make round trips and starts random.
    """

    also: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    access: str | None = None
    download: str | None = None
    upload: str | None = None
    pareto: str | None = None
    sensitivity: bool = False
    jitter: bool = False
    #: The access line, as it was read.
    line: Access | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Read the access line, and refuse a trade-off that is not a pair of metrics."""
        object.__setattr__(self, "line", requested_access(self.access, self.download, self.upload))
        if self.pareto is not None:
            metric_pair(self.pareto)
