"""A test of each goal at given buffers: met, missed or undecided, with a stated error.

The test knows no engine: it asks `SearchState` for runs, and so is tested on systems whose answer is known.
`checking.py` makes its verdicts part of a report.

The runs at a buffer are looked at three times (interim analyses). Each analysis has its part of the error probability,
and the parts add up to 1 (Bonferroni). Two one-sided tests share an analysis: one for "met", one for "missed". At most
one of these verdicts is false, so each test has the whole error. The test ends when every goal is decided at every
buffer, or after the last analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from forebay.inputs.goals import Goal
from forebay.results import statistics
from forebay.results.report import Report
from forebay.search.answer_parts import GoalEvidence
from forebay.search.goal_test import Analyses, MeanTest, Replications, mean_margin, relative_margins
from forebay.search.independence import different
from forebay.search.listener import SILENT, Listener
from forebay.search.named_buffer import GoalVerdict
from forebay.search.search_state import SearchState

__all__ = ["SERIES", "GoalResult", "SequentialTest", "analyses_for"]

#: Part of the error probability of each analysis.
PARTS = (0.25, 0.25, 0.5)
#: Runs after which replications that repeat each other are taken as they are seen.
FIRST = 8
#: The pessimistic observation lies this many times as far from the mean as the worst run. With less, more than 5 % of
#: the verdicts "met" are false on skewed noise (tests/search/test_check.py).
REACH = 2.0
NOTHING = Replications()
#: Replications of checks have numbers from here on. No search uses them, so a check of an answer is independent of the
#: runs that chose the answer.
SERIES = 1 << 61


def analyses_for(least: int, replications: int | None = None) -> Analyses:
    """Numbers of runs at which goals are judged, each with its part of the error.

    Parameters
    ----------
    least : int
        Runs without which no verdict is reached.
    replications : int, optional
        Runs at the first look; as many as a verdict takes by default.
    """
    first = max(FIRST, least) if replications is None else replications
    numbers = [first, 2 * first, max(4 * first, least)]
    return tuple(zip(numbers, PARTS, strict=True))


@dataclass(frozen=True, slots=True)
class GoalResult:
    """The verdict on one goal at one buffer, its one-sided confidence, and its evidence."""

    verdict: GoalVerdict
    confidence: float | None
    evidence: GoalEvidence


class SequentialTest:
    """One test of goals at buffers whose runs tell of each other.

    Parameters
    ----------
    seen : SearchState
        The runs so far; it measures more.
    analyses : sequence of (int, float)
        Runs at each analysis, with its part of the error.
    independent : callable
        Whether runs are observations of their own.
    derived : mapping
        The goals that hold by derivation, by buffer.
    expect : callable, optional
        Called with the number of runs that are still expected.
    listener : Listener
        Called with the number of verdicts reached.
    """

    def __init__(
        self,
        seen: SearchState,
        analyses: Analyses,
        independent: Callable[[Sequence[Report]], bool],
        derived: Mapping[int, Collection[Goal]],
        expect: Callable[[int], object] | None = None,
        listener: Listener = SILENT,
    ) -> None:
        self.seen, self._analyses, self._independent, self._derived = seen, analyses, independent, derived
        self._expect = expect or (lambda _count: None)
        self._listener = listener
        #: Part of the error of the last analysis at each buffer.
        self._parts: dict[int, float] = {}

    def run(self, buffers: Sequence[int]) -> None:
        """Look at the buffers until every goal is decided at each, or no analysis is left."""
        first = min(FIRST, self._analyses[0][0])
        self._sample(buffers, first)
        for planned, part in self._analyses:
            pending = self.pending(buffers)
            if not pending:
                return
            self._sample(pending, planned)
            self._parts.update(dict.fromkeys(pending, part))

    def pending(self, buffers: Sequence[int]) -> list[int]:
        """Buffers at which a goal is undecided."""
        return [at for at in buffers if any(self.result(at, goal).verdict == "undecided" for goal in self.seen.goals)]

    def _sample(self, buffers: Sequence[int], runs: int) -> None:
        samples = self.seen.samples
        self._expect(sum(max(0, runs - len(samples.get(at, NOTHING))) for at in buffers))
        self.seen.sample(buffers, runs)
        self._listener.on_range(self._progress())

    def _progress(self) -> str:
        """A text on the number of decided goals."""
        verdicts = [self.result(at, goal).verdict for at in self.seen.samples for goal in self.seen.goals]
        decided = sum(verdict != "undecided" for verdict in verdicts)
        return f"{decided} of {len(verdicts)} verdicts reached"

    def result(self, buffer: int, goal: Goal) -> GoalResult:
        """The verdict on a goal at a buffer after the last analysis there."""
        if goal in self._derived.get(buffer, ()):
            return GoalResult("met", None, GoalEvidence("bound", 0))
        reports = self.seen.samples.get(buffer, NOTHING)
        runs = different(reports)
        if reports and not self._independent(reports):
            return GoalResult(_as_seen(mean_margin(goal, reports)), None, GoalEvidence("none", runs))
        part = self._parts.get(buffer)
        if part is None:
            return GoalResult("undecided", None, GoalEvidence("none", runs))
        return self._tested(buffer, goal, runs, part)

    def _tested(self, buffer: int, goal: Goal, runs: int, part: float) -> GoalResult:
        """Test both ways, with the error that the last analysis at a buffer has."""
        plan, reports = self.seen.plan, self.seen.samples[buffer]
        test, rests_on = MeanTest(), GoalEvidence("bootstrap", runs)
        needed, most = 1 - (1 - plan.confidence) * part, statistics.most_confidence(runs)
        met = test.evidence(reports, [goal], {goal.key: self._pessimistic(buffer, goal)})[goal.key]
        missed = test.evidence_missed(reports, goal, self._pessimistic(buffer, goal, missed=True))

        def confidence(evidence: float) -> float:
            return max(0.0, min(most, 1 - (1 - evidence) / part))

        if runs >= plan.least_runs:
            if met >= needed:
                return GoalResult("met", confidence(met), rests_on)
            if missed >= needed:
                return GoalResult("missed", confidence(missed), rests_on)
        side = met if mean_margin(goal, reports) >= 0 else missed
        return GoalResult("undecided", confidence(side), rests_on)

    def _pessimistic(self, buffer: int, goal: Goal, *, missed: bool = False) -> float:
        """A margin that further runs will hardly fall below; where the question is "missed", hardly exceed."""
        reports = self.seen.samples[buffer]
        margins, mean = relative_margins(goal, reports), mean_margin(goal, reports)
        near = self.seen.worst_margins_near(buffer, reports, missed=missed)[goal.key]
        if missed:
            return max(near, mean + REACH * (max(margins) - mean))
        return min(near, mean + REACH * (min(margins) - mean))


def _as_seen(margin: float) -> GoalVerdict:
    """The verdict where runs repeat each other: more of them say no more."""
    return "met" if margin >= 0 else "missed"
