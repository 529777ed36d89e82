"""The search for one question: it makes plans, begins searches within a time budget, and returns the evidence.

`recommendation` searches each of its questions. `time_budget` decides which searches are begun; `smallest`, `quick`
and `ladder` are the searches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from forebay.atlas.prior import prior
from forebay.engines import in_real_time, simulates_hosts
from forebay.inputs.goals import Goal
from forebay.search.configured import configured_verdict
from forebay.search.evidence import ConfiguredVerdict, Evidence
from forebay.search.ladder import ScaledLook
from forebay.search.measurements import Means, Measurements
from forebay.search.named_buffer import AS_CONFIGURED
from forebay.search.optimizing import optimized
from forebay.search.optimum import Optimum
from forebay.search.options import Precision
from forebay.search.plan import Outcome, Plan
from forebay.search.planning import RequestedBuffers, plan_of
from forebay.search.quick import QuickLook
from forebay.search.range_end import never_full_from_start
from forebay.search.search_state import SearchState
from forebay.search.smallest import USUAL, Search
from forebay.search.strata import strata

if TYPE_CHECKING:
    from forebay.scenario import Scenario
    from forebay.search.question import Question

__all__ = ["SearchResult", "Searching"]

#: Runs at the smallest, the nearest and the largest buffer of an answer that is taken back.
ENDS = 4
#: The goal of a search without goals: any metric will do.
ANY = Goal("utilization", ">=", 0.0)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The evidence for one question, with the optimum and the verdict on the configured buffer if there are any."""

    evidence: Evidence
    optimum: Optimum | None = None
    configured: ConfiguredVerdict | None = None


@dataclass(frozen=True, slots=True)
class Searching:
    """The search for one question.

    Attributes
    ----------
    question : Question
        The question.
    precision : Precision
        Required confidence of the answer, and its time budget.
    means : Means
        The means that measure.
    before : int
        Replications of earlier searches.
    at_once : int or None
        Concurrent packet-level runs; None for other engines and for a cluster.
    """

    question: Question
    precision: Precision
    means: Means
    before: int = 0
    at_once: int | None = None

    @property
    def scenario(self) -> Scenario:
        """The scenario of the question."""
        return self.question.scenario

    def run(self, best_of: Goal | None) -> SearchResult:
        """Search, continue to the best value of a metric if one is asked for, and judge the configured buffer.

        Parameters
        ----------
        best_of : Goal or None
            The metric that is to be best, as a goal.
        """
        evidence, optimum = self._smallest(), None
        if best_of is not None:
            evidence, optimum = optimized(evidence, best_of, self.precision.level, self.means.listener)
        place, verdict = self.question.named_buffers.get(AS_CONFIGURED), None
        if place is not None:
            # Before anything is read off the curve, which has these runs, too.
            verdict = configured_verdict(evidence, place, self.precision.requested_confidence)
        return SearchResult(evidence.with_twin(), optimum, verdict)

    def _smallest(self) -> Evidence:
        """The outcome of the search for the smallest buffer; without goals only the standard measurements."""
        question, budget = self.question, self.precision.budget
        has_smaller = question.variable.is_target and self.precision.fraction is None and bool(self.scenario.goals)
        found = budget.search(self, self.means.resumption, self.at_once if has_smaller else None)
        outcome, runs = found.outcome, question.runs
        # What runs exclude is excluded in the long run, too.
        missed_later = bool(runs.missed_later) and outcome.buffer is not None
        if missed_later or (not runs.decided and found.scenario.goals):
            outcome.leave_undecided(None if missed_later else found.search.plan.ceiling)
            if budget.unlimited:
                found.search.show_ends(ENDS)
        return found

    def begin(self, kind: Callable[..., SearchState], looked: Scenario, until: float | None) -> Evidence:
        """Make a search that has not begun.

        Parameters
        ----------
        kind : callable
            `Search` or another search.
        looked : Scenario
            The scenario of the question, or one with shorter runs or a smaller link.
        until : float or None
            When `time.monotonic` says so, the search ends with a `TimeoutError`.
        """
        question = self.question
        variable = replace(question.variable, scenario=looked)
        # Whether all goals hold at once in a share of the draws is asked of draws that are as they come.
        parts = strata(looked.core) if self.precision.fraction is None and looked.goals else None
        measure = Measurements(variable, self.means, before=self.before, until=until, strata=parts)
        plan = self._plan(kind, measure)
        search = kind(measure, looked.goals or [ANY], plan, measure.expect, self.means.listener)
        return Evidence(search, Outcome(confidence=None), measure, variable, question.jitter, question.runs)

    def _plan(self, kind: Callable[..., SearchState], measure: Measurements) -> Plan:
        """The plan of a search of a kind."""
        question = self.question
        variable = replace(question.variable, scenario=measure.scenario)
        # Buffers of rules lie on the curve, unless goals have to hold in a share of the draws or runs cost nothing.
        # A quick look goes to none of them, and a smaller link has other ones.
        named = RequestedBuffers(
            () if kind is ScaledLook else tuple(question.named_buffers.values()),
            question.of_rules if kind in (Search, SearchState) else (),
            all_rules=self.precision.fraction is not None or not measure.replicates,
        )
        plan = replace(plan_of(variable, named, self.precision), missed_later=question.runs.missed_later)
        if in_real_time(measure.engine):
            plan = replace(plan, most_fresh=min(plan.most_fresh, USUAL))
        if measure.strata is not None:
            # An observation is a mean over its strata, and so is its longest wait.
            plan = replace(plan, shows_full=tuple(name for name in plan.shows_full if name != "wait"))

        @cache
        def from_start(packets: int) -> bool:
            return never_full_from_start(measure, variable, packets, ends)

        ends = plan
        plan = replace(plan, never_full_from_start=from_start)
        if kind is QuickLook and simulates_hosts(measure.engine) and variable.is_target:
            plan = replace(plan, prior=prior(measure.scenario, measure.scenario.goals))
        return plan
