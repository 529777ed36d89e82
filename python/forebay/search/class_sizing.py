"""`size_classes`: the smallest buffers of all classes of a port with which every goal holds, confirmed together.

The steps of a sizing:

1. Measure the configured buffers. If a goal on the whole link fails there, scale all buffers until it holds.
2. For each class, in the order in which classes are served, search the smallest buffer that meets the goals which this
   class decides, while the other buffers stay. Goals on a group are decided by its class. Goals on the link are decided
   by one class, which comes last: the one whose flows fill the link.
3. Search each class again, because the buffer of a class changes the share of the others.
4. Put all buffers together to fresh runs. A refusal enlarges the buffers of the refused goals and tests again, at half
   of the error that is left.

`joint_buffers.py` makes a place of several buffers; the searches are those of `recommend`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.configuration.access import Access, asked_access
from forebay.configuration.configuring import Configuration, check, configure, unconfigured
from forebay.configuration.jitter import Jitter, jittered
from forebay.configuration.platforms.platform import Platform
from forebay.configuration.port import Port
from forebay.engines import check_alone, forecast, in_real_time, run_s
from forebay.errors import InputError
from forebay.inputs.goals import Goal
from forebay.inputs.validation import real
from forebay.measurement.cluster import Cluster, connected
from forebay.results.notebook_repr import Told
from forebay.results.report import BufferSize, Report
from forebay.results.serialization import plain
from forebay.results.statistics import runs_for_confidence
from forebay.results.warning import Kind, Warning
from forebay.scenario import TARGET, Progress, Scenario, threads
from forebay.search import findings
from forebay.search.answer import JudgedGoal, Metrics, SearchCost, Verdict
from forebay.search.buffer_variable import BufferVariable
from forebay.search.delay_bound import delay_bounds
from forebay.search.findings import Finished
from forebay.search.goal_test import mean_margin
from forebay.search.joint_buffers import ClassBuffer, JointBuffers, JointSearch, JointWords, ScaledBuffers, with_sizes
from forebay.search.measurements import Measurements
from forebay.search.plan import Outcome, Plan
from forebay.search.port_warnings import port_warnings
from forebay.search.quick import QUICK_CONFIDENCE, QuickLook
from forebay.search.rare_states import Lengthened, lengthened
from forebay.search.recommendation import reach, with_checked_goals
from forebay.search.resumption import Resumption
from forebay.search.search_state import SearchState
from forebay.search.smallest import LEAP, Search
from forebay.search.strata import Strata, strata
from forebay.search.time_budget import TimeBudget, shorter
from forebay.search.unmeasured import of_assumptions
from forebay.text.formatting import counted, duration

__all__ = ["ClassSize", "ClassSizing", "size_classes"]

#: One-sided confidence of the search for one class; the joint confirmation has the one that was asked for.
CONFIDENCE_OF_ONE = 0.8
#: Combinations that are put to fresh runs, at most.
CONFIRMATIONS = 8
#: Runs at the configured buffers.
FIRST = 4
#: Range of a second search about the first answer, as a factor, and the largest factor between its first buffers.
AROUND, GAP = 4, 2.0
#: Passes over all classes; a quick look has one.
PASSES = 2
#: Metrics that a smaller buffer brings nearer to a goal.
OF_SMALL_BUFFERS = "queue"
#: Packets below which a class's buffer may not hold the bursts of real sources.
FEW = 5


@dataclass(frozen=True, slots=True)
class ClassSize:
    """The buffer of one class.

    Attributes
    ----------
    name : str
        The class, or the classes that share the link's buffer.
    key : str
        The key of the buffer, as `--set` takes it.
    buffer : BufferSize or None
        The recommended buffer; None without a confirmed answer.
    nearest : BufferSize
        The buffer at which the goals were judged: the recommended one, or that of the nearest miss.
    configured : BufferSize
        The buffer in the scenario.
    goals : tuple of str
        Keys of the goals that this buffer decides: those on its groups, and of one class those on the link.
    binding_goal : str or None
        The key of the goal that keeps it from being smaller; None if no goal does.
    kept : bool
        Whether no goal asks this buffer for room, so that the configured one stays.
    """

    name: str
    key: str
    buffer: BufferSize | None
    nearest: BufferSize
    configured: BufferSize
    goals: tuple[str, ...]
    binding_goal: str | None
    kept: bool


@dataclass(frozen=True, slots=True, repr=False)
class ClassSizing(Told):
    """The answer of `size_classes`.

    Attributes
    ----------
    scenario : Scenario
        The scenario that was asked about, with its goals.
    verdict : str
        "met": the buffers meet every goal together. "impossible": no buffers do. "undecided": neither is confirmed.
    reason : str
        Why no buffers are recommended; empty if some are.
    confidence : float or None
        One-sided, that all goals hold together at the buffers; None without an answer, or if runs repeat each other.
    level : float
        The confidence that was asked for.
    runs : int
        Runs with all buffers at their answers that the confidence rests on.
    classes : tuple of ClassSize
        Every buffer, in the order in which classes are served.
    total : BufferSize or None
        All recommended buffers together; None without an answer.
    goals : mapping
        Each goal by its key, judged with all buffers together.
    metrics : mapping
        Metrics of the link with all buffers together.
    groups : mapping
        The same of each group by its name.
    cost : SearchCost
        The only part that differs between equal sizings.
    warnings : tuple of Warning
        What a reader must know.
    engine, version : str
        The engine that measured, and forebay's version.
    configurations : tuple of Configuration
        The port with all buffers, for the platforms that were asked for.
    jitter : Jitter or None
        What was made random in the scenario, where that was asked for.
    """

    scenario: Scenario
    verdict: Verdict
    reason: str
    confidence: float | None
    level: float
    runs: int
    classes: tuple[ClassSize, ...]
    total: BufferSize | None
    goals: Mapping[str, JudgedGoal]
    metrics: Metrics
    groups: Mapping[str, Metrics]
    cost: SearchCost
    warnings: tuple[Warning, ...]
    engine: str
    version: str
    configurations: tuple[Configuration, ...] = ()
    jitter: Jitter | None = None

    @property
    def feasible(self) -> bool:
        """Whether buffers are recommended."""
        return self.total is not None

    @property
    def sized(self) -> Scenario:
        """The scenario with the recommended buffers, or with those of the nearest miss."""
        sizes = {each.key: round(each.nearest.packets) for each in self.classes}
        return self.scenario.with_core(with_sizes(self.scenario.core, sizes))

    def resting_on(self, warnings: tuple[Warning, ...]) -> ClassSizing:
        """The same with warnings of what was not measured, and without a confidence if there are any."""
        if not warnings:
            return self
        goals = {key: replace(goal, confidence=None) for key, goal in self.goals.items()}
        return replace(self, confidence=None, goals=goals, warnings=(*warnings, *self.warnings))

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain dictionaries and lists, as in the JSON."""
        told: dict[str, Any] = plain(
            {
                "verdict": self.verdict,
                "reason": self.reason,
                "recommendation": self.total,
                "confidence": self.confidence,
                "runs": self.runs,
                "classes": self.classes,
                "goals": self.goals,
                "metrics": self.metrics,
                "groups": self.groups,
                "cost": self.cost,
                "warnings": self.warnings,
                "scenario_sha256": self.scenario.core.sha256,
                "engine": self.engine,
                "version": self.version,
                **({"configurations": self.configurations} if self.configurations else {}),
                **({} if self.jitter is None else {"jitter": self.jitter}),
            }
        )
        return told

    def __repr__(self) -> str:
        of = f" for {self.scenario.title!r}" if self.scenario.title else ""
        if self.total is None:
            return f"<ClassSizing{of}: {self.verdict}>"
        sizes = ", ".join(f"{each.name} {each.nearest.packets:.0f}" for each in self.classes)
        return f"<ClassSizing{of}: {sizes} packets>"


def size_classes(
    scenario: Scenario,
    goals: Iterable[str] = (),
    *,
    engine: str = "packet",
    confidence: float = 0.95,
    resolution: float = 0.05,
    quick: bool = False,
    within: float | None = None,
    platforms: Iterable[str] = (),
    access: str | None = None,
    download: str | None = None,
    upload: str | None = None,
    jitter: bool = False,
    jobs: int | None = None,
    scheduler: str | Cluster | None = None,
    progress: Progress | None = None,
    resume: Path | None = None,
    tell: Callable[[str], object] | None = None,
    known: Callable[[str], object] | None = None,
) -> ClassSizing:
    """Find the smallest buffers of all classes of the target link that meet every goal together, by simulation.

    Parameters
    ----------
    scenario : Scenario
        Its target link has `queue = { kind = "classes", ... }`.
    goals : iterable of str
        Such as "voice.loss_rate<=0.1%"; they replace the scenario's own on the same metrics and add to the others.
    engine : str
        The engine that measures.
    confidence : float
        One-sided confidence with which all goals hold together.
    resolution : float
        How close to the smallest buffer each search goes, as a fraction of it, as far as noise allows.
    quick : bool
        Whether to answer from few and short runs, at a confidence of at most 80 %.
    within : float, optional
        Seconds after which the answer is "undecided", unless it is confirmed before.
    platforms : iterable of str
        Platforms such as "linux" whose configuration of the port the answer also gives.
    access : str, optional
        The access line that the target link is, such as "docsis" or "pppoe-ptm+vlan": Linux and OpenWrt shape below
        its rate then, and count its framing.
    download, upload : str, optional
        Rate of the access line in the direction that was not simulated, as in "250Mbps".
    jitter : bool
        Whether to add a packet time of jitter to every round trip and to spread the starts, wherever the scenario says
        nothing random of flows that react.
    jobs : int, optional
        Threads; the answer does not depend on their number.
    scheduler : str or Cluster, optional
        Address of a Dask scheduler whose workers measure instead of this machine's threads, with the same answer.
    progress : callable, optional
        Called with the runs done and those expected in all.
    resume : Path, optional
        A directory in which finished runs are kept until the answer is there: an interrupted call goes on from them.
    tell : callable, optional
        Called with a line on what was found there.
    known : callable, optional
        Called with what is known of the answer so far.

    Returns
    -------
    ClassSizing
        Its `verdict` says whether there are such buffers.

    Raises
    ------
    InputError
        Without classes, without goals, or with a goal on something that the engine does not report.
    """
    started = time.perf_counter()
    confidence, resolution = real(confidence, "confidence"), real(resolution, "resolution")
    if not 0.5 < confidence < 1:
        raise InputError(f"found {confidence:g}; allowed: above 0.5 and below 1, as in 0.95 or 95%", "confidence")
    if not 0.001 <= resolution <= 1:
        raise InputError(f"found {resolution:g}; allowed: 0.001 to 1, or 0.1% to 100%", "resolution")
    TimeBudget(quick, None if within is None else real(within, "within")).check()
    threads(jobs)
    check_alone(engine, jobs=jobs, scheduler=scheduler)
    classes = _classes(scenario)
    systems = check(platforms, scenario)
    line = asked_access(access, download, upload)
    asked = with_checked_goals(scenario, list(goals), engine)
    asked, added = jittered(asked) if jitter else (asked, None)
    runs = lengthened(asked)
    looked = shorter(runs.scenario) if quick else runs.scenario
    confidence = min(confidence, QUICK_CONFIDENCE) if quick else confidence
    if tell is not None and in_real_time(engine):
        tell(forecast(engine, run_s(looked.core), None))
    resumption = None if resume is None else Resumption(resume, tell, quick=quick)
    with connected(scheduler) as cluster, resumption or nullcontext():
        sizing = _Sizing(
            looked,
            classes,
            _Terms(confidence, resolution, quick),
            _Means(
                engine,
                jobs,
                progress,
                resumption,
                None if within is None else time.monotonic() + within,
                cluster,
                strata(looked.core),
                known,
            ),
        )
        try:
            sizing.run()
        except TimeoutError:
            sizing.ran_out(within or 0.0)
            if resumption is not None:
                resumption.unfinished()
        if not runs.decided:
            sizing.leave_undecided()
        answer = sizing.answer(runs, added, time.perf_counter() - started)
    answer = replace(answer, scenario=asked).resting_on(of_assumptions(scenario.assumed))
    return replace(answer, configurations=tuple(_configurations(answer, systems, line)))


def _configurations(answer: ClassSizing, systems: Iterable[Platform], line: Access | None) -> Iterator[Configuration]:
    """The port with all buffers, for each platform; without an answer no line of any."""
    if answer.total is None:
        yield from (unconfigured(system, "nothing to type: no buffers are confirmed") for system in systems)
        return
    port = Port.of(answer.sized)
    yield from (configure(system, port, line) for system in systems)


@dataclass(frozen=True, slots=True)
class _Class:
    """One buffer to size: its name, its key, and the groups that wait in it."""

    name: str
    key: str
    groups: tuple[str, ...]


def _classes(scenario: Scenario) -> tuple[_Class, ...]:
    """The buffers of the target link's classes, in the order in which classes are served.

    Raises
    ------
    InputError
        If the target link has no classes.
    """
    link = next(link for link in scenario.resolved["links"] if link["target"])
    queue = link.get("queue")
    if not isinstance(queue, Mapping) or queue.get("kind") != "classes":
        kind = queue.get("kind") if isinstance(queue, Mapping) else queue
        text = f'found the queue `{kind}`; allowed: a target link with `queue = {{ kind = "classes", ... }}`'
        raise InputError(text, "classes")
    parts = list(queue["classes"])
    named = {group for part in parts for group in part.get("groups", ())}
    others = [name for name, *_ in scenario.core.groups if name not in named]
    groups = [[*part.get("groups", ()), *(others if part is parts[-1] else ())] for part in parts]
    own = [
        _Class(part["name"], f"{TARGET.removesuffix('.buffer')}.queue.classes.{part['name']}.buffer", tuple(found))
        for part, found in zip(parts, groups, strict=True)
        if "buffer" in part
    ]
    shared = [(part["name"], found) for part, found in zip(parts, groups, strict=True) if "buffer" not in part]
    if shared:
        name = " + ".join(name for name, _ in shared)
        own.append(_Class(name, TARGET, tuple(group for _, found in shared for group in found)))
    first = {part["name"] for part in parts if part.get("priority")}
    return tuple(sorted(own, key=lambda each: each.name not in first))


@dataclass(frozen=True, slots=True)
class _Terms:
    """The confidence, the resolution, and whether a quick look is enough."""

    confidence: float
    resolution: float
    quick: bool


@dataclass(frozen=True, slots=True)
class _Means:
    """Everything that measures: the engine, threads, kept runs, the end of the time, and what is told on the way."""

    engine: str
    jobs: int | None
    progress: Progress | None
    resumption: Resumption | None
    until: float | None
    cluster: Cluster | None
    strata: Strata | None
    known: Callable[[str], object] | None


@dataclass(slots=True)
class _State:
    """How far the sizing of one class is.

    Attributes
    ----------
    binding : str or None
        The goal that keeps the buffer from being smaller.
    kept : bool
        Whether no goal asks the buffer for room.
    failed : bool
        Whether the last search found no buffer.
    around : dict or None
        The other buffers at the last search.
    """

    binding: str | None = None
    kept: bool = False
    failed: bool = False
    around: dict[str, int] | None = None


@dataclass(slots=True)
class _Sizing:
    """One sizing: the buffers so far, the state of each class, and everything that was measured."""

    scenario: Scenario
    classes: tuple[_Class, ...]
    terms: _Terms
    means: _Means
    sizes: dict[str, int] = field(init=False)
    reason: str = ""
    outcome: Outcome = field(default_factory=Outcome)
    impossible: bool = False
    _measures: list[Measurements] = field(default_factory=list)
    _states: dict[str, _State] = field(init=False)
    _configured: dict[str, int] = field(init=False)
    _joint: JointSearch = field(init=False)
    _knob: JointBuffers = field(init=False)

    def __post_init__(self) -> None:
        sizes = {each.key: self.scenario.core.buffer_of(each.key)["packets"] for each in self.classes}
        self._configured = {key: max(1, round(packets)) for key, packets in sizes.items()}
        self.sizes = dict(self._configured)
        self._states = {each.key: _State() for each in self.classes}
        self._knob = JointBuffers("classes")
        place = self._knob.place_of(self.sizes)
        plan = Plan(
            smallest=place,
            largest=place,
            ceiling=place,
            confidence=self.terms.confidence,
            resolution=self.terms.resolution,
            words=JointWords(self._knob.at),
            least=runs_for_confidence(self.terms.confidence),
        )
        measure = self._measurements(self.scenario, self._knob)
        self._joint = JointSearch(measure, self.scenario.goals, plan, measure.expect, self.means.known)

    # Measuring -------------------------------------------------------------------------------------------------

    def _measurements(self, scenario: Scenario, variable: BufferVariable) -> Measurements:
        """The runner of one step; its progress adds to that of the other steps."""
        number, means = len(self._measures), self.means

        def told(done: int, expected: int) -> None:
            before = sum(each.runs for at, each in enumerate(self._measures) if at != number)
            if means.progress is not None:
                means.progress(before + done, before + expected)

        measure = Measurements(
            scenario,
            means.engine,
            means.jobs,
            None if means.progress is None else told,
            variable=variable,
            resumption=means.resumption,
            until=means.until,
            cluster=means.cluster,
            strata=means.strata,
        )
        self._measures.append(measure)
        return measure

    def _search(
        self, measure: Measurements, goals: Sequence[Goal], plan: Plan, label: str
    ) -> tuple[SearchState, Outcome]:
        """Search one step."""
        tell = self.means.known
        known = None if tell is None else lambda words: tell(f"{label}: {words}")
        kind = QuickLook if self.terms.quick else Search
        search = kind(measure, goals, plan, measure.expect, known)
        return search, search.run()

    # Goals -----------------------------------------------------------------------------------------------------

    def _own(self, of: _Class) -> list[Goal]:
        """The goals on groups that wait in a buffer."""
        return [goal for goal in self.scenario.goals if goal.name.rpartition(".")[0] in of.groups]

    @property
    def _of_link(self) -> list[Goal]:
        """The goals on no group of a class."""
        named = {goal.key for each in self.classes for goal in self._own(each)}
        return [goal for goal in self.scenario.goals if goal.key not in named]

    @property
    def _filling(self) -> _Class:
        """The class that decides the goals on the link.

        It is one with persistent flows, because these fill whatever room the link has; of several one that no other
        goal asks for room, then the one with the largest configured buffer.
        """
        persistent = {group["name"] for group in self.scenario.resolved["flows"] if group["workload"] == "persistent"}

        def rank(of: _Class) -> tuple[bool, bool, float]:
            free = not any(_asks_for_room(goal) for goal in self._own(of))
            return not persistent.isdisjoint(of.groups), free, self.scenario.core.buffer_of(of.key)["bytes"]

        return max(self.classes, key=rank)

    def _decided_by(self, of: _Class) -> list[Goal]:
        """The goals that a class decides."""
        return [*self._own(of), *(self._of_link if of == self._filling else ())]

    # Searching -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Size, then confirm."""
        self._start()
        if self.impossible:
            return
        # The needs of the goals on the link depend on the buffers of the other classes.
        order = sorted(self.classes, key=lambda each: each == self._filling)
        for number in range(1 if self.terms.quick else PASSES):
            for each in order:
                self._size(each, number)
        for each in order:
            if self._states[each.key].failed:
                self._prove(each)
            if self.impossible:
                return
        self._confirm()

    def _start(self) -> None:
        """Measure the configured buffers; scale all of them if a goal on the link fails there."""
        place = self._knob.place_of(self.sizes)
        self._joint.sample([place], FIRST)
        reports, of_link = self._joint.samples[place], self._of_link
        if all(mean_margin(goal, reports) >= 0 for goal in of_link):
            return
        found = self._scaled(of_link)
        if found is not None:
            self.sizes = found
            return
        for goal in of_link:
            if self.impossible:
                return
            if self._scaled([goal]) is None and self.impossible:
                self.reason = f"No buffers meet `{goal.key}`, however all of them are scaled."

    def _scaled(self, goals: Sequence[Goal]) -> dict[str, int] | None:
        """The smallest buffers, in the configured proportions, that meet goals on the link."""
        variable = ScaledBuffers("classes", self._configured)
        largest = max(self.classes, key=lambda each: self._configured[each.key])
        scale = BufferVariable(largest.key).scale(self.scenario)
        most, ceiling = reach(scale, at_least=self._configured[largest.key])
        plan = self._plan(1, most, ceiling, (self._configured[largest.key],), confidence=self.terms.confidence)
        same = next((each for each in self._measures if isinstance(each.variable, ScaledBuffers)), None)
        _, outcome = self._search(same or self._measurements(self.scenario, variable), goals, plan, "all classes")
        # Goals that contradict each other in these proportions may hold in others; one goal alone may not.
        self.impossible = outcome.impossible and len(goals) == 1
        return None if outcome.buffer is None else variable.sizes(outcome.buffer)

    def _size(self, of: _Class, number: int) -> None:
        """Search the smallest buffer of one class while the others stay."""
        state, around = self._states[of.key], {key: size for key, size in self.sizes.items() if key != of.key}
        if state.around == around and not state.failed:
            return
        again = state.around is not None and not state.failed
        state.around, state.failed = around, False
        goals = self._decided_by(of)
        if not goals:
            state.kept = True
            return
        scenario = self.scenario.with_core(with_sizes(self.scenario.core, around))
        variable = ClassBuffer(of.key, step=str(number))
        plan = self._plan_of_class(scenario, variable, around_answer=again)
        search, outcome = self._search(self._measurements(scenario, variable), goals, plan, of.name)
        state.binding = outcome.binding
        if outcome.buffer is None:
            state.failed = True
            self.sizes[of.key] = self.sizes[of.key] if outcome.compromise is None else outcome.compromise
        elif outcome.buffer == plan.floor and not any(_asks_for_room(goal) for goal in self._own(of)):
            state.kept, state.binding = True, None
            self.sizes[of.key] = self._kept(of, search, outcome)
        else:
            state.kept = False
            self.sizes[of.key] = outcome.buffer

    def _kept(self, of: _Class, search: SearchState, outcome: Outcome) -> int:
        """The present buffer of a class that no goal asks for room, or the largest smaller one that meets its goals."""
        met = [at for at in search.samples if search.plan.test.margin(search.samples[at], search.goals) >= 0]
        return max((at for at in met if at <= self.sizes[of.key]), default=outcome.buffer or 1)

    def _plan_of_class(self, scenario: Scenario, variable: BufferVariable, *, around_answer: bool) -> Plan:
        """Look at the whole range, or about the answer of the first pass."""
        size = self.sizes[variable.key]
        most, ceiling = reach(variable.scale(scenario), at_least=max(size, self._configured[variable.key]))
        derived = delay_bounds(scenario, variable)
        if around_answer and not self._states[variable.key].kept:
            low, high = max(1, size // AROUND), min(ceiling, max(8, AROUND * size))
            return replace(self._plan(low, high, ceiling, (size,)), gap=GAP, met_up_to=derived)
        return replace(self._plan(1, max(most, size), ceiling, (size,)), met_up_to=derived)

    def _plan(
        self, smallest: int, largest: int, ceiling: int, also: tuple[int, ...], confidence: float = CONFIDENCE_OF_ONE
    ) -> Plan:
        return Plan(
            smallest=smallest,
            largest=largest,
            ceiling=ceiling,
            resolution=self.terms.resolution,
            confidence=confidence,
            also=also,
        )

    def _prove(self, of: _Class) -> None:
        """Search a class's own goals with every other buffer at one packet: none does where none does there."""
        own = self._own(of)
        if not own:
            return
        alone = dict.fromkeys(self._states[of.key].around or {}, 1)
        scenario = self.scenario.with_core(with_sizes(self.scenario.core, alone))
        variable = ClassBuffer(of.key, step="alone")
        most, ceiling = reach(variable.scale(scenario), at_least=self.sizes[of.key])
        plan = self._plan(1, most, ceiling, (), confidence=self.terms.confidence)
        _, outcome = self._search(self._measurements(scenario, variable), own, plan, of.name)
        if outcome.impossible:
            self.impossible = True
            goals = " and ".join(f"`{goal.key}`" for goal in own)
            self.reason = f"No buffer of `{of.name}` meets {goals}, even if every other class holds one packet."

    # Confirming ------------------------------------------------------------------------------------------------

    def _confirm(self) -> None:
        """Put all buffers together to fresh runs; change those of the goals that refuse."""
        tested: set[int] = set()
        while self._joint.attempts < CONFIRMATIONS:
            place = self._knob.place_of(self.sizes)
            if place in tested:
                break
            tested.add(place)
            if self._joint.test(place, self.outcome):
                self.outcome.runs = len(self.outcome.confirmation) + self._joint.runs_near(place)
                return
            for goal in self._joint.refused_goals(place, self.outcome.binding):
                self._move(goal)
        self.reason = f"Fresh runs do not confirm `{self.outcome.binding}` with all buffers together."

    def _move(self, goal: Goal) -> None:
        """Enlarge the buffer that decides a goal; of a delay goal reduce it, where no goal needs it as it is."""
        of = self._decides(goal)
        size, attempt = self.sizes[of.key], self._joint.attempts
        if _asks_for_room(goal):
            factor = (1 + self.terms.resolution) ** attempt if attempt <= 2 else LEAP ** (attempt - 2)
            _, ceiling = reach(BufferVariable(of.key).scale(self.scenario), at_least=size)
            self.sizes[of.key] = min(ceiling, max(size + 1, math.ceil(size * factor)))
            self._states[of.key].binding, self._states[of.key].kept = goal.key, False
        elif self._states[of.key].kept:
            self.sizes[of.key] = max(1, math.floor(size / LEAP))

    def _decides(self, goal: Goal) -> _Class:
        """The class that decides a goal."""
        return next(each for each in self.classes if goal in self._decided_by(each))

    # Answering -------------------------------------------------------------------------------------------------

    def ran_out(self, within: float) -> None:
        """Take note that the time was over.

        Raises
        ------
        InputError
            If nothing was measured.
        """
        if not self._measures[0].reports:
            text = f"found {duration(within)}, which is over before anything is known; allowed: longer"
            raise InputError(text, "within")
        self.outcome = Outcome(confidence=None, notes=self.outcome.notes)
        self.impossible = False
        runs = sum(each.runs for each in self._measures)
        done = f"The time was over after {counted(runs, 'run')}."
        self.reason = f"{done} Repeat the command with a longer time: it goes on from there."
        self.outcome.notes.append(Warning(Kind.TIME_OVER, self.reason, values={"replications": runs}))

    def leave_undecided(self) -> None:
        """Take the answer back: what the runs do not show may decide it."""
        self.impossible = False
        if self.outcome.buffer is not None:
            self.outcome.compromise = self.outcome.buffer
        self.outcome.buffer, self.outcome.confidence = None, None
        self.reason = "The runs do not show a state that may decide the goals."

    def answer(self, runs: Lengthened, jitter: Jitter | None, wall_s: float) -> ClassSizing:
        """The buffers, and how every goal stands there."""
        outcome, joint = self.outcome, self._joint
        measure = self._measures[0]
        if outcome.buffer is None:
            outcome.compromise = self._nearest()
        at = outcome.buffer if outcome.buffer is not None else outcome.compromise
        assert at is not None, "a place without an answer is the nearest miss"
        outcome.impossible = self.impossible
        if self.terms.quick:
            done = sum(each.runs for each in self._measures)
            text = f"a quick look, {counted(done, 'run')}: run without --quick to confirm"
            outcome.notes.insert(0, Warning(Kind.QUICK, text))
        finished = Finished(self.scenario, joint, outcome, measure, jitter, self._knob, runs)
        goals = {
            key: replace(each, at_smallest=None, at_largest=None)
            for key, each in findings.judged_goals(finished, None).items()
        }
        over = Report.over(measure.at(at))
        found = outcome.buffer is not None
        return ClassSizing(
            scenario=self.scenario,
            verdict="met" if found else "impossible" if self.impossible else "undecided",
            reason="" if found else self.reason,
            confidence=self._stated(outcome.confidence) if found and finished.confident else None,
            level=self.terms.confidence,
            runs=outcome.runs if found else len(measure.at(at)),
            classes=tuple(self._class_size(each, at, found=found) for each in self.classes),
            total=self._knob.sized(self.scenario, at) if found else None,
            goals=goals,
            metrics=over.metrics,
            groups={group.name: group.with_quantiles for group in over.groups},
            cost=findings.cost(self._measured, wall_s),
            warnings=tuple(dict.fromkeys(self._warnings(finished, at))),
            engine=self.means.engine,
            version=_core.__version__,
            jitter=jitter,
        )

    def _stated(self, confidence: float | None) -> float | None:
        """The confidence of the joint runs; a quick look states no more than it looks for."""
        if confidence is None or not self.terms.quick:
            return confidence
        return min(confidence, self.terms.confidence)

    @property
    def _measured(self) -> list[Measurements]:
        """The steps that measured anything."""
        return [each for each in self._measures if each.reports]

    def _nearest(self) -> int:
        """The measured combination that comes nearest to meeting every goal."""
        joint = self._joint
        joint.look_at({at: self._measures[0].at(at) for at in self._measures[0].buffers()})
        return joint.compromise()

    def _class_size(self, of: _Class, place: int, *, found: bool) -> ClassSize:
        sizes, state = self._knob.at[place], self._states[of.key]
        nearest = BufferVariable(of.key).sized(self.scenario, sizes[of.key])
        return ClassSize(
            name=of.name,
            key=of.key,
            buffer=nearest if found else None,
            nearest=nearest,
            configured=BufferVariable(of.key).size(self.scenario),
            goals=tuple(goal.key for goal in self._decided_by(of)),
            binding_goal=state.binding,
            kept=state.kept,
        )

    def _warnings(self, finished: Finished, place: int) -> Iterator[Warning]:
        """The warnings about the answer."""
        yield from port_warnings(finished)
        yield from findings.warnings(finished)
        yield from self._undemanded()
        yield from self._few(place)

    def _undemanded(self) -> Iterator[Warning]:
        """The classes that no goal asks for room."""
        names = [each for each in self.classes if self._states[each.key].kept]
        for each in names if self.outcome.buffer is not None else ():
            group = next(iter(each.groups), each.name)
            text = (
                f"No goal asks the buffer of `{each.name}` for room, so it is not made smaller. "
                f"Add a goal such as {group}.loss_rate<=1% to size it."
            )
            yield Warning(Kind.UNDEMANDED, text, subject=each.name)

    def _few(self, place: int) -> Iterator[Warning]:
        """The recommended buffers that hold only a few packets."""
        sizes = self._knob.at[place]
        few = [each for each in self.classes if sizes[each.key] < FEW]
        if few and self.outcome.buffer is not None:
            names = " and ".join(_named(each.name, sizes[each.key]) for each in few)
            text = f"{names}: real sources may send bursts that the flows of this scenario do not send."
            yield Warning(Kind.FEW_PACKETS, text, subject=few[0].name)


def _named(name: str, packets: int) -> str:
    """A class with its buffer."""
    return f"`{name}` ({counted(packets, 'packet')})"


def _asks_for_room(goal: Goal) -> bool:
    """Whether a larger buffer brings a goal nearer: goals on anything but the queue."""
    return not goal.name.rpartition(".")[2].startswith(OF_SMALL_BUFFERS)
