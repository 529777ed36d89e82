"""`check`: whether the configured buffer, or each of several buffers, meets the goals, by simulation.

`recommend` searches for a buffer; `check` judges given ones, by the same statistics. `sequential_test.py` decides, and
`check_report.py` is the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from forebay import _core
from forebay.configuration.jitter import Jitter, jittered
from forebay.engines import run_s, simulates_hosts
from forebay.errors import InputError
from forebay.inputs.goals import Goal, metric_value
from forebay.measurement.twin import Twin
from forebay.results import statistics
from forebay.results.report import BufferSize, Estimate, Report
from forebay.results.warning import Kind, Warning
from forebay.scenario import Progress, Scenario
from forebay.search import findings
from forebay.search.answer_parts import GoalEvidence
from forebay.search.buffer_variable import BufferVariable
from forebay.search.check_report import CheckedBuffer, CheckedGoal, CheckReport, together
from forebay.search.checked_buffers import CheckedBuffers, checked_buffers
from forebay.search.delay_bound import delay_bounds
from forebay.search.evidence import Evidence
from forebay.search.evidence_warnings import warnings
from forebay.search.goal_test import Analyses
from forebay.search.goals import Goals
from forebay.search.limiting import LimitEffect, limit_effects
from forebay.search.listener import Callbacks
from forebay.search.measurements import Measurements
from forebay.search.options import Execution, Precision
from forebay.search.plan import Outcome, Plan
from forebay.search.rare_states import Lengthened, lengthened
from forebay.search.search_state import SearchState
from forebay.search.sequential_test import SERIES, SequentialTest, analyses_for
from forebay.search.strata import strata
from forebay.search.twins import twin_at
from forebay.search.unmeasured import of_assumptions
from forebay.text.formatting import counted, duration

if TYPE_CHECKING:
    from forebay.measurement.cluster import Cluster

__all__ = ["CheckReport", "check"]


def check(
    scenario: Scenario,
    buffers: Iterable[str] = (),
    goals: Iterable[str] = (),
    *,
    confidence: float = 0.95,
    engine: str = "packet",
    replications: int | None = None,
    within: float | None = None,
    jitter: bool = False,
    jobs: int | None = None,
    scheduler: str | Cluster | None = None,
    progress: Progress | None = None,
    resume: Path | None = None,
    tell: Callable[[str], object] | None = None,
    known: Callable[[str], object] | None = None,
) -> CheckReport:
    """Judge each goal at the configured buffer, or at several buffers: met, missed or undecided.

    Parameters
    ----------
    scenario : Scenario
        The link, its traffic and its configured buffer.
    buffers : iterable of str
        Buffers of the target link such as "9MB", or with a key as in "memories.chip.size=16MB". They are checked
        instead of the configured buffer.
    goals : iterable of str
        Such as "utilization>=0.99"; they replace the scenario's own on the same metrics and add to the others.
    confidence : float
        One-sided confidence of each verdict by itself.
    engine : str
        The engine that measures: "packet", or "fluid" for one observation without a confidence.
    replications : int, optional
        Runs at the first look at each buffer, at least 2; by default as many as `confidence` takes, 19 for 95 %. The
        second look has twice as many, the last one four times.
    within : float, optional
        Seconds after which the verdicts so far are given; the other goals are undecided.
    jitter : bool
        Whether to add a packet time of jitter to every round trip and to spread the starts, wherever the scenario says
        nothing random of flows that react.
    jobs : int, optional
        Threads; the report does not depend on their number.
    scheduler : str or Cluster, optional
        Address of a Dask scheduler whose workers measure instead of this machine's threads, with the same report.
    progress : callable, optional
        Called with the runs done and those expected in all.
    resume : Path, optional
        A directory in which finished runs are kept until the report is there: a check that was interrupted goes on from
        them. Nothing is kept by default.
    tell : callable, optional
        Called with a line on what was found there, and on how long a run in real time takes.
    known : callable, optional
        Called with a line on how many verdicts are reached.

    Returns
    -------
    CheckReport
        Its `verdict` is the worst of the buffers.

    Raises
    ------
    InputError
        Without goals, with a goal on something that the engine does not report, or with a buffer that cannot be read.

    Examples
    --------
    >>> report = forebay.check(forebay.Scenario.load("@dsl-access"), ["30p", "64p"])
    >>> [each.verdict for each in report.buffers]
    ['met', 'missed']
    """
    precision = Precision(confidence, replications=replications, within=within)
    execution = Execution(engine, jobs, scheduler, resume, Callbacks(progress, tell, known))
    return _checked(scenario, tuple(buffers), Goals.of(goals), precision, execution, jitter=jitter)


def _checked(
    scenario: Scenario,
    buffers: tuple[str, ...],
    goals: Goals,
    precision: Precision,
    execution: Execution,
    *,
    jitter: bool,
) -> CheckReport:
    """Test the buffers, and report on them."""
    started = time.perf_counter()
    assumed = scenario.assumed
    scenario = goals.added_to(scenario, execution.engine)
    scenario, added = jittered(scenario) if jitter else (scenario, None)
    shown = lengthened(scenario)
    scenario = shown.scenario
    checked = checked_buffers(scenario, buffers)
    execution.announce(run_s(scenario.core))
    with execution.open() as means:
        measure = Measurements(
            checked,
            means,
            until=None if precision.within is None else time.monotonic() + precision.within,
            strata=strata(scenario.core),
        )
        checks = _Check(checked, measure, precision.confidence, added, shown)
        over = checks.run(analyses_for(checks.least, precision.replications))
        if over:
            checks.run_twins()
            checks.lift_limits()
        else:
            checks.ran_out(precision.within or 0.0)
            if means.resumption is not None:
                means.resumption.unfinished()
        found = tuple(checks.buffer(place) for place in checked.at)
        report = CheckReport(
            scenario=scenario,
            verdict=together(each.verdict for each in found),
            confidence=precision.confidence,
            buffers=found,
            warnings=checks.warnings(),
            engine=execution.engine,
            version=_core.__version__,
            jitter=added,
            strata=1 if measure.strata is None else len(measure.strata.weights),
            # Last of what takes time.
            cost=findings.cost([measure], time.perf_counter() - started, checks.companions),
        )
        return report.resting_on(of_assumptions(assumed))


class _Check:
    """One check: its tests, what they measure with, and what becomes of them in the report."""

    def __init__(
        self,
        checked: CheckedBuffers,
        measure: Measurements,
        confidence: float,
        jitter: Jitter | None,
        shown: Lengthened,
    ) -> None:
        self._scenario, self._checked, self._measure, self._jitter = measure.scenario, checked, measure, jitter
        self._confidence, self._lengthened = confidence, shown
        self.least = statistics.runs_for_confidence(confidence)
        self._tests: dict[int, SequentialTest] = {}
        self._notes: list[Warning] = []
        self._twins: dict[int, Twin[BufferSize]] = {}
        self._limits: dict[int, tuple[LimitEffect, ...]] = {}
        #: Measurements of the twins, and of the runs without a limit.
        self.companions: list[Measurements] = []

    def run(self, analyses: Analyses) -> bool:
        """Test the buffers of one key after those of another; False where the time is over before the end."""
        if not self._measure.replicates:
            analyses = ((1, 1.0),)
        elif not self._lengthened.decided:
            analyses = analyses[:1]
        groups = self._checked.by_key()
        for places in groups:
            test = self._test(places, analyses)
            self._tests.update(dict.fromkeys(places, test))
        for places in groups:
            try:
                self._tests[places[0]].run(places)
            except TimeoutError:
                return False
        return True

    def _test(self, places: list[int], analyses: Analyses) -> SequentialTest:
        plan = Plan(
            smallest=min(places),
            largest=max(places),
            ceiling=max(places),
            confidence=self._confidence,
            words=self._checked.words,
            least=self.least,
        )
        seen = SearchState(self._run, self._scenario.goals, plan)
        derived = {place: self._derived(place) for place in places}
        measure = self._measure
        return SequentialTest(seen, analyses, measure.are_observations, derived, measure.expect, measure.means.listener)

    def _run(self, pairs: Iterable[tuple[int, int]]) -> list[Report]:
        """Runs whose numbers no search uses."""
        return self._measure([(place, SERIES + number) for place, number in pairs])

    def _derived(self, place: int) -> frozenset[Goal]:
        """Goals on the delay that hold at a buffer whatever the traffic does."""
        scenario = self._checked.at[place].scenario
        most: Mapping[Goal, int] = delay_bounds(BufferVariable(scenario))
        return frozenset(goal for goal, packets in most.items() if scenario.buffer.packets <= packets)

    def run_twins(self) -> None:
        """Run the twin of each buffer at which exact hosts stay in phase."""
        for place, checked in self._checked.at.items():
            reports = self._reports(place)
            twin, companion = twin_at(self._measure, place, reports, checked.size, self._scenario.goals)
            if twin is not None:
                self._twins[place] = twin
            if companion is not None:
                self.companions.append(companion)

    def lift_limits(self) -> None:
        """Find the limit that drops packets at each buffer of a port with a memory or with `pfc`."""
        if not simulates_hosts(self._measure.engine):
            return
        for place, checked in self._checked.at.items():
            with suppress(TimeoutError):
                effects, lifted = limit_effects(self._measure, place, checked.scenario)
                self._limits[place] = tuple(effects)
                if lifted.reports:
                    self.companions.append(lifted)

    def ran_out(self, within: float) -> None:
        """Take note that the time was over.

        Raises
        ------
        InputError
            Where nothing was measured at a buffer.
        """
        if any(not self._reports(place) for place in self._checked.at):
            text = f"found {duration(within)}, in which no run ended; allowed: a longer time"
            raise InputError(text, "within")
        runs = self._measure.runs
        text = (
            f"the time limit ended the check after {counted(runs, 'run')}; to decide it, repeat the command with a "
            f"longer time limit"
        )
        self._notes.append(Warning(Kind.TIME_OVER, text, values={"replications": runs}))

    def _reports(self, place: int) -> list[Report]:
        """The runs that the verdicts use; where the time was over before the first look all there are."""
        test = self._tests[place]
        return list(test.seen.samples.get(place, ())) or self._measure.at(place)

    def buffer(self, place: int) -> CheckedBuffer:
        """The report on one buffer."""
        checked, reports = self._checked.at[place], self._reports(place)
        goals = {goal.key: self._goal(place, goal, reports) for goal in self._scenario.goals}
        over = Report.over(reports)
        return CheckedBuffer(
            buffer=checked.size,
            setting=checked.setting,
            verdict=together(each.verdict for each in goals.values()),
            runs=len(reports),
            goals=goals,
            metrics=over.metrics,
            groups={group.name: group.with_quantiles for group in over.groups},
            varied_hosts=self._twins.get(place),
            limits=self._limits.get(place, ()),
        )

    def _goal(self, place: int, goal: Goal, reports: list[Report]) -> CheckedGoal:
        tested = self._tests[place].result(place, goal)
        interval = statistics.mean_interval([metric_value(goal.name, report) for report in reports])
        half_width = interval.half_width if self._measure.are_observations(reports) else None
        measured = Estimate(interval.mean, half_width)
        margin = goal.margin(interval.mean)
        if not self._lengthened.decided and tested.evidence.method != "bound":
            # The runs do not show a state that may decide, so that they are no evidence.
            return CheckedGoal(goal, measured, margin, "undecided", None, GoalEvidence("none", 0))
        if goal in self._lengthened.missed_later and tested.verdict == "met":
            return CheckedGoal(goal, measured, margin, "undecided", None, GoalEvidence("none", tested.evidence.runs))
        twin = self._twins.get(place)
        if twin is not None and goal.key in twin.changed_verdicts:
            # The runs agree on a coincidence of phases.
            return CheckedGoal(goal, measured, margin, tested.verdict, None, GoalEvidence("none", tested.evidence.runs))
        return CheckedGoal(goal, measured, margin, tested.verdict, tested.confidence, tested.evidence)

    def warnings(self) -> tuple[Warning, ...]:
        """The warnings that a reader needs about each buffer, once."""
        found = [*self._notes, *self._lengthened.warnings]
        for place in self._checked.at:
            reports = self._reports(place)
            outcome = Outcome(buffer=place, confirmation=reports, runs=len(reports), notes=list(self._notes))
            if not self._measure.are_observations(reports):
                outcome.confidence = None
            seen = self._tests[place].seen
            twin = self._twins.get(place)
            found += warnings(Evidence(seen, outcome, self._measure, self._checked, self._jitter, twin=twin))
        return tuple(dict.fromkeys(found))
