"""Measurements of points: a scenario with one buffer, checked by packet runs at quick precision.

A point is measured by itself, so that its result does not depend on the other ports of a network. `Measuring` gives
points to the cores or to the workers of a cluster, each point once, and keeps every result as soon as it is there.
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from forebay import _core
from forebay.errors import ForebayError, InputError
from forebay.fleets.questions import Question
from forebay.fleets.store import Store, key_of
from forebay.measurement.cluster import Answer, WorkerMemory
from forebay.results.statistics import runs_for_confidence
from forebay.results.warning import Kind, Warning
from forebay.scenario import Progress, Scenario, threads
from forebay.search.checking import check
from forebay.search.quick import QUICK_CONFIDENCE
from forebay.text.formatting import size

if TYPE_CHECKING:
    from forebay.measurement.cluster import Cluster
    from forebay.results.report import Estimate

__all__ = ["MeasuredGoal", "MeasuredPoint", "Measuring", "OutOfTime", "QuickPrecision"]

#: Interval at which signals are handled during runs, in seconds.
HEARTBEAT_S = 0.1
#: Factor of the runs of a point whose single runs have few congestion events: a few such runs may all be alike.
MORE_RUNS = 4
#: Warnings that the runs of a point are short.
SHORT = frozenset({Kind.FEW_CONGESTION_EVENTS, Kind.SHORT_RUN})
#: Metrics of a point that costs are made of.
DELAY, LOSS = "queue_delay_p99_s", "loss_rate"
#: Largest part of the measured time that the delay may have. With fewer than 20 round trips in a run, the queue may
#: still be filling, and no goal is shown as met.
LONGEST_DELAY = 0.05


class OutOfTime(Exception):  # noqa: N818 - never leaves the package
    """The time limit has passed; all measurements so far are kept."""


#: Smallest and largest confidence of packet runs; the smallest is that of a coin.
LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.5, 0.999


@dataclass(frozen=True, slots=True)
class QuickPrecision:
    """The precision of packet runs of an audit.

    Attributes
    ----------
    confidence : float
        One-sided confidence of each verdict.
    """

    confidence: float = QUICK_CONFIDENCE

    def __post_init__(self) -> None:
        """Refuse a confidence that no runs of an audit reach."""
        if not LEAST_CONFIDENCE < self.confidence <= MOST_CONFIDENCE:
            text = f"found {self.confidence:g}; allowed: above 50% and at most 99.9%, as in 80%"
            raise InputError(text, "confidence")

    @property
    def replications(self) -> int:
        """Runs at the first look: as few as carry the confidence."""
        return max(2, runs_for_confidence(self.confidence))


@dataclass(frozen=True, slots=True)
class MeasuredGoal:
    """One goal at a point.

    Attributes
    ----------
    key, sense : str
        Key of the goal, and ">=" or "<=".
    threshold, mean : float
        In the base unit of the metric.
    margin : float
        Distance of the mean from the threshold; negative if the goal is missed.
    verdict : str
        "met", "missed" or "undecided".
    confidence : float or None
    """

    key: str
    sense: str
    threshold: float
    mean: float
    margin: float
    verdict: str
    confidence: float | None

    def without_proof(self) -> MeasuredGoal:
        """The same, but undecided if it is met."""
        return replace(self, verdict="undecided", confidence=None) if self.verdict == "met" else self

    @property
    def relative_miss(self) -> float:
        """How far the goal is missed, as a part of its threshold; of the unused share for a goal such as 98 %."""
        scale = 1 - self.threshold if self.sense == ">=" and 0 < self.threshold < 1 else abs(self.threshold)
        return max(0.0, -self.margin) / max(scale, 1e-3 if self.threshold < 1 and self.sense == ">=" else 1e-9)


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """The results of packet runs at a point.

    Attributes
    ----------
    goals : tuple of MeasuredGoal
    bytes : float
        The buffer in bytes.
    runs : int
    delay_s, delay_half_width, loss : float or None
        Queueing delay (99th percentile) with its 95 % half width, and loss rate; None if the runs report none.
    measured_s : float
        Measured time of each run, in seconds.
    notes : tuple of str
        Warnings of `check` that change a decision.
    refusal : str or None
        The reason why nothing was measured.
    """

    goals: tuple[MeasuredGoal, ...] = ()
    bytes: float = 0.0
    runs: int = 0
    delay_s: float | None = None
    delay_half_width: float | None = None
    loss: float | None = None
    measured_s: float = math.inf
    notes: tuple[str, ...] = ()
    refusal: str | None = None

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> MeasuredPoint:
        """From the entry of the store."""
        goals = tuple(MeasuredGoal(**goal) for goal in found.get("goals", ()))
        point = cls(**{**found, "goals": goals, "notes": tuple(found.get("notes", ()))})
        if not point.is_brief:
            return point
        return replace(point, goals=tuple(goal.without_proof() for goal in goals))

    @property
    def is_brief(self) -> bool:
        """Whether the delay is so long that the queue may not have filled within the measured time."""
        return self.delay_s is not None and self.delay_s > LONGEST_DELAY * self.measured_s

    @property
    def verdict(self) -> str:
        """The worst verdict: "missed" if one goal is missed, "met" only if all are."""
        found = {goal.verdict for goal in self.goals}
        return "missed" if "missed" in found else "undecided" if "undecided" in found else "met"

    @property
    def is_met(self) -> bool:
        """Whether runs show that every goal is met."""
        return self.refusal is None and self.verdict == "met"

    @property
    def missed(self) -> tuple[MeasuredGoal, ...]:
        """The goals that are missed."""
        return tuple(goal for goal in self.goals if goal.verdict == "missed")

    def goal(self, key: str) -> MeasuredGoal:
        """A goal by its key."""
        return next(goal for goal in self.goals if goal.key == key)


def measured(text: str, confidence: float, replications: int) -> dict[str, Any]:
    """Measure a point on one core; an error of the scenario or the engine becomes a refusal."""
    try:
        scenario = Scenario.parse(text, "json", name="profile")
        report = check(scenario, confidence=confidence, replications=replications, jobs=1)
        if any(warning.kind in SHORT for warning in report.warnings):
            report = check(scenario, confidence=confidence, replications=MORE_RUNS * replications, jobs=1)
    except ForebayError as error:
        return {"refusal": str(error)}
    (at,) = report.buffers
    delay, loss = at.metrics.get(DELAY), at.metrics.get(LOSS)
    return {
        "goals": [
            {
                "key": key,
                "sense": goal.goal.sense,
                "threshold": goal.goal.threshold,
                "mean": goal.measured.mean,
                "margin": goal.margin,
                "verdict": goal.verdict,
                "confidence": goal.confidence,
            }
            for key, goal in at.goals.items()
        ],
        "bytes": at.buffer.bytes,
        "runs": at.runs,
        "delay_s": None if delay is None else delay.mean,
        "delay_half_width": None if delay is None else delay.half_width,
        "loss": None if loss is None else loss.mean,
        "measured_s": scenario.core.duration_s[1],
        "notes": list(dict.fromkeys(_notes(report.warnings, size(at.buffer.bytes), loss))),
    }


def _notes(warnings: Iterable[Warning], buffer: str, loss: Estimate | None) -> Iterator[str]:
    """The warnings of a check that change a decision, in the words of an audit."""
    for warning in warnings:
        if warning.kind in SHORT:
            yield f"The runs at {buffer} have few congestion events, so a longer run.measure may change their means."
        elif warning.kind is Kind.HIGH_LOSS and loss is not None:
            yield f"At {buffer}, {100 * loss.mean:.2g} % of the packets are lost."
        elif warning.urgent:
            yield warning.text.replace("the configured buffer", buffer)


#: Points as they are sent: scenarios, confidence and replications.
Parcel = tuple[tuple[str, ...], float, int]


def measured_parcel(parcel: Parcel, memory: int) -> list[Answer]:
    """On a worker: measure some points."""
    room = WorkerMemory.here()
    _core.allow_memory(memory if room is None else min(memory, room.of_run))
    texts, confidence, replications = parcel
    return [(True, measured(text, confidence, replications)) for text in texts]


def _interrupt(workers: Iterable[int]) -> None:
    """End the runs of some threads: the extension raises an exception that waits in its thread."""
    for ident in workers:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(KeyboardInterrupt))


class Measuring:
    """Measures points, each once.

    Parameters
    ----------
    store : Store
        Kept measurements.
    precision : QuickPrecision
    jobs : int, optional
        Threads; all cores by default.
    cluster : Cluster, optional
        The cluster whose workers measure.
    progress : callable
        Called with the numbers of finished and of expected points.
    until : float, optional
        The value of `time.monotonic` after which no further point begins.
    """

    def __init__(
        self,
        store: Store,
        precision: QuickPrecision,
        *,
        jobs: int | None = None,
        cluster: Cluster | None = None,
        progress: Progress | None = None,
        until: float | None = None,
    ) -> None:
        self.store, self.precision, self.cluster, self.jobs, self.until = store, precision, cluster, jobs, until
        self._progress = progress or (lambda _done, _expected: None)
        self._threads = threads(jobs)
        self._done = 0
        self._keys: dict[Question, str] = {}
        #: Points that the verdicts of this audit rest on.
        self.used: set[str] = set()

    def find(self, point: Question) -> MeasuredPoint | None:
        """A point that was measured; None if it was not."""
        key = self._key(point)
        found = self.store.get(key)
        if found is None:
            return None
        self.used.add(key)
        return MeasuredPoint.of(found)

    @property
    def runs(self) -> int:
        """Runs of all points that were used."""
        return sum(int((self.store.get(key) or {}).get("runs", 0)) for key in sorted(self.used))

    def points(self) -> dict[str, tuple[MeasuredPoint, ...]]:
        """The points that were used, from the smallest buffer, by the hash of their scenario without the buffer."""
        found: dict[str, list[MeasuredPoint]] = {}
        for question, key in self._keys.items():
            if key in self.used and (point := self.find(question)) is not None and point.refusal is None:
                found.setdefault(question.link, []).append(point)
        return {link: tuple(sorted(each, key=lambda point: point.bytes)) for link, each in found.items()}

    def measure(self, points: Iterable[Question], *, further: int = 0) -> None:
        """Measure the points that are missing.

        Parameters
        ----------
        points : iterable of Question
            Scenarios with their buffers; equal ones are measured once.
        further : int
            Number of points that are expected after these.

        Raises
        ------
        OutOfTime
            If the time limit passes; finished points are kept.
        """
        missing = {key: point for point in points if (key := self._key(point)) not in self.store}
        # The order of the ports must not decide which points come first.
        work = sorted((key, point.at(point.size)) for key, point in missing.items())
        if not work:
            return
        expected = self._done + len(work) + further

        def record(number: int, found: Any) -> None:
            if isinstance(found, ForebayError):
                found = {"refusal": str(found)}
            self.store.add(work[number][0], found)
            self._done += 1
            self._progress(self._done, expected)

        self._progress(self._done, expected)
        run = self._on_cluster if self.cluster is not None else self._here
        run([text for _, text in work], record)

    def _here(self, texts: Sequence[str], record: Callable[[int, Any], None]) -> None:
        """Measure on threads of this machine: a point is on one core, because its runs are few.

        The allowed memory is that of all runs together, so that each thread has its share. Points that need more than
        a share are measured afterwards, one at a time.
        """
        allowed, at_once = _core.allowed_memory(), min(self._threads, len(texts))
        large: list[int] = []

        def record_or_put_off(number: int, found: Mapping[str, Any]) -> None:
            if at_once > 1 and _core.MORE_MEMORY in found.get("refusal", ""):
                large.append(number)
            else:
                record(number, found)

        _core.allow_memory(max(1, allowed // at_once))
        try:
            self._in_threads(texts, range(len(texts)), at_once, record_or_put_off)
        finally:
            _core.allow_memory(allowed)
        self._in_threads(texts, sorted(large), 1, record)

    def _in_threads(
        self, texts: Sequence[str], order: Iterable[int], at_once: int, record: Callable[[int, Any], None]
    ) -> None:
        """Measure some of the points, a number of them at the same time."""
        work = partial(measured, confidence=self.precision.confidence, replications=self.precision.replications)
        numbers = iter(order)
        running: dict[Future[dict[str, Any]], int] = {}
        late = False
        workers: set[int] = set()
        with ThreadPoolExecutor(at_once, initializer=lambda: workers.add(threading.get_ident())) as pool:
            try:
                while True:
                    late = late or (self.until is not None and time.monotonic() >= self.until)
                    while not late and len(running) < at_once and (number := next(numbers, None)) is not None:
                        running[pool.submit(work, texts[number])] = number
                    if not running:
                        break
                    for future in wait(running, HEARTBEAT_S, FIRST_COMPLETED).done:
                        record(running.pop(future), future.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                _interrupt(workers)
                raise
        if late and next(numbers, None) is not None:
            raise OutOfTime

    def _on_cluster(self, texts: Sequence[str], record: Callable[[int, Any], None]) -> None:
        assert self.cluster is not None
        precision = self.precision

        def pack(part: slice) -> Parcel:
            return tuple(texts[part]), precision.confidence, precision.replications

        within = None if self.until is None else self.until - time.monotonic()
        try:
            self.cluster.run(measured_parcel, len(texts), pack, record, within=within)
        except TimeoutError:
            raise OutOfTime from None

    def _key(self, point: Question) -> str:
        if point not in self._keys:
            options = (self.precision.confidence, self.precision.replications)
            self._keys[point] = key_of("point", point.at(point.size), *options)
        return self._keys[point]
