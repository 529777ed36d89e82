"""The evidence of a search that is over: its outcome, everything that was measured, and the verdict as configured.

`searching` returns it. `findings` and `evidence_warnings` read it, and `answering` makes the recommendation of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forebay.configuration.jitter import Jitter
from forebay.measurement.twin import Twin
from forebay.results.report import Estimate, Report
from forebay.results.report import Metrics as Estimates
from forebay.results.warning import Kind
from forebay.scenario import Scenario
from forebay.search.answer_parts import Metrics
from forebay.search.buffer_variable import BufferVariable
from forebay.search.measurements import Measurements
from forebay.search.named_buffer import GoalVerdict
from forebay.search.plan import Outcome
from forebay.search.range_variable import RangeVariable
from forebay.search.rare_states import Lengthened
from forebay.search.search_state import SearchState
from forebay.search.twins import twin_at
from forebay.search.value import Quantity

__all__ = ["ENOUGH_FOR_INTERVAL", "ConfiguredVerdict", "Evidence", "without_few"]

#: Runs without which no interval is stated.
ENOUGH_FOR_INTERVAL = 4


@dataclass(frozen=True, slots=True)
class ConfiguredVerdict:
    """The verdict on all goals at the configured buffer.

    Attributes
    ----------
    verdict : str
        "met" if every goal is met, "missed" if one is missed, else "undecided".
    goals : mapping
        The verdict on each goal by its key; empty where goals are about a share of the draws.
    runs : int
        Observations that the verdict rests on.
    """

    verdict: GoalVerdict
    goals: Mapping[str, GoalVerdict] = field(default_factory=dict)
    runs: int = 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """A search that is over: its outcome, and everything that was measured.

    Attributes
    ----------
    search : SearchState
        The search with its samples.
    outcome : Outcome
        How it ended.
    measure : Measurements
        The measurements, which hold the variable and its scenario.
    variable : BufferVariable or RangeVariable
        The variable of the search.
    jitter : Jitter, optional
        The random parts that were added to the scenario.
    lengthened : Lengthened, optional
        How much longer runs are than the scenario says.
    twin : Twin, optional
        The twin at the answer, if it ran.
    companion : Measurements, optional
        The measurements of the twin.
    """

    search: SearchState
    outcome: Outcome
    measure: Measurements
    variable: BufferVariable | RangeVariable
    jitter: Jitter | None = None
    lengthened: Lengthened | None = None
    twin: Twin[Any] | None = None
    companion: Measurements | None = None

    @property
    def scenario(self) -> Scenario:
        """The scenario that was simulated."""
        return self.measure.scenario

    def size(self, packets: int) -> Quantity:
        """The value for a number of the search: a buffer in packets if the search varies one."""
        return self.variable.sized(packets)

    def words(self, packets: Sequence[int]) -> str:
        """Buffers as part of a sentence."""
        return self.search.plan.words.in_words(*packets)

    @property
    def gaps(self) -> list[tuple[int, str]]:
        """Gaps above the answer, but for those that stand for the same value."""
        same = self.variable.snapped
        answer = self.outcome.buffer
        return [(at, key) for at, key in self.outcome.gaps if answer is None or same(at) != same(answer)]

    @property
    def feasible_intervals(self) -> list[tuple[int, int]]:
        """Feasible intervals below the answer, but for those that stand for the same value as it or as what misses."""
        same = self.variable.snapped
        answer = self.outcome.buffer
        others = [(at, missed) for at, missed in self.outcome.feasible_intervals if same(at) != same(missed)]
        return [(at, missed) for at, missed in others if answer is None or same(at) != same(answer)]

    def at_answer(self) -> tuple[int, Sequence[Report]]:
        """The answer with the fresh replications; without one the compromise with all that it has."""
        outcome = self.outcome
        if outcome.buffer is not None and self.measure.replicates:
            return outcome.buffer, outcome.confirmation
        known = (at for at in (outcome.buffer, outcome.compromise) if at is not None)
        at = next(known, min(self.search.samples))
        return at, self.measure.at(at)

    def seen(self, packets: int) -> Sequence[Report]:
        """The reports at a buffer; one only if the engine has no replications."""
        return self.search.samples[packets] if self.measure.replicates else self.measure.at(packets)

    @property
    def confident(self) -> bool:
        """Whether the replications at the answer carry a confidence; where there are none, nothing does.

        None do if hosts that vary give another verdict.
        """
        if self.twin is not None and self.twin.changed_verdicts:
            return False
        if not self.measure.replicates or (self.outcome.buffer is not None and self.outcome.confidence is None):
            return False
        _, reports = self.at_answer()
        return self.measure.are_observations(reports)

    def with_twin(self) -> Evidence:
        """The same with the twin at the answer, if exact hosts stay in phase there and the time was not over."""
        if any(note.kind is Kind.TIME_OVER for note in self.outcome.notes) or not self.search.samples:
            return self
        at, reports = self.at_answer()
        twin, companion = twin_at(self.measure, at, reports, self.size(at), self.scenario.goals)
        return dataclasses.replace(self, twin=twin, companion=companion)

    def measured(self, packets: int) -> Mapping[str, Estimate]:
        """The measured point at a buffer; None beyond all measured buffers."""
        reports = self.measure.at(packets)
        return without_few(Report.over(reports).metrics, len(reports)) if reports else {}


def without_few(metrics: Metrics, runs: int) -> Metrics:
    """Metrics of several runs, without intervals if the runs are few."""
    if runs >= ENOUGH_FOR_INTERVAL:
        return metrics
    return Estimates({name: dataclasses.replace(found, half_width=None) for name, found in metrics.items()})
