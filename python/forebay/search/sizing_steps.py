"""The common part of a sizing of several values: its searches, its joint runs, and its end.

`class_steps` sizes the buffers of all classes with it, and `port_steps` the values of a lossless port.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from forebay.errors import InputError
from forebay.inputs.goals import Goal
from forebay.results.warning import Kind, Warning
from forebay.search.joint_buffers import JointSearch
from forebay.search.listener import Labeled, Listener, Silent
from forebay.search.measurements import Means, Measurements, Variable
from forebay.search.options import Precision
from forebay.search.plan import Outcome, Plan
from forebay.search.quick import QuickLook
from forebay.search.search_state import SearchState
from forebay.search.smallest import Search
from forebay.search.strata import Strata
from forebay.search.words import Words
from forebay.text.formatting import counted, duration

__all__ = ["CONFIDENCE_OF_ONE", "CONFIRMATIONS", "SizingSteps", "StepState"]

#: One-sided confidence of the search for one value; the joint confirmation has the requested one.
CONFIDENCE_OF_ONE = 0.8
#: Combinations that are put to fresh runs, at most.
CONFIRMATIONS = 8


@dataclass(frozen=True, slots=True)
class _Step(Silent):
    """The listener of one step, whose progress adds to that of the other steps.

    Attributes
    ----------
    listener : Listener
        The listener to all steps.
    measures : list of Measurements
        Those of every step.
    number : int
        The number of this step.
    """

    listener: Listener
    measures: Sequence[Measurements]
    number: int

    def on_progress(self, done: int, expected: int) -> None:
        """Add the runs of the other steps."""
        before = sum(each.runs for at, each in enumerate(self.measures) if at != self.number)
        self.listener.on_progress(before + done, before + expected)


@dataclass(slots=True)
class StepState:
    """The progress of the sizing of one value.

    Attributes
    ----------
    binding : str or None
        The goal that keeps the value from being smaller.
    unchanged : bool
        Whether no goal limits how small the value may be, so that it stays as configured.
    failed : bool
        Whether the last search found no value.
    around : dict or None
        The other values at the last search.
    """

    binding: str | None = None
    unchanged: bool = False
    failed: bool = False
    around: dict[str, int] | None = None


@dataclass(slots=True)
class SizingSteps:
    """One sizing: everything that was measured, and how it ended.

    Attributes
    ----------
    precision : Precision
        How sure and how close the answer is to be.
    means : Means
        The means that measure, with their listener.
    until : float or None
        When `time.monotonic` says so, the sizing ends with a `TimeoutError`.
    strata : Strata or None
        Strata of the scenario's random states.
    reason : str
        Why there is no answer.
    outcome : Outcome
        How the sizing ended.
    impossible : bool
        Whether it is proven that no values meet every goal.
    measures : list of Measurements
        Those of the joint runs, then those of each step.
    joint : JointSearch
        The test of combinations.
    """

    precision: Precision
    means: Means
    until: float | None
    strata: Strata | None
    reason: str = field(default="", init=False)
    outcome: Outcome = field(default_factory=Outcome, init=False)
    impossible: bool = field(default=False, init=False)
    measures: list[Measurements] = field(default_factory=list, init=False)
    joint: JointSearch = field(init=False)

    def run(self) -> None:
        """Size, then confirm.

        Raises
        ------
        TimeoutError
            At `until`.
        """
        raise NotImplementedError

    def _open(self, variable: Variable, place: int, words: Words) -> None:
        """Begin with the test of combinations, of which `place` is the first."""
        plan = Plan(
            smallest=place,
            largest=place,
            ceiling=place,
            confidence=self.precision.requested_confidence,
            resolution=self.precision.resolution,
            words=words,
            least=self.precision.least_runs,
        )
        measure = self._measurements(variable)
        self.joint = JointSearch(measure, variable.scenario.goals, plan, measure.expect, self.means.listener)

    def _measurements(self, variable: Variable) -> Measurements:
        """The runner of one step."""
        means = replace(self.means, listener=_Step(self.means.listener, self.measures, len(self.measures)))
        measure = Measurements(variable, means, until=self.until, strata=self.strata)
        self.measures.append(measure)
        return measure

    def _search(
        self, measure: Measurements, goals: Sequence[Goal], plan: Plan, label: str
    ) -> tuple[SearchState, Outcome]:
        """Search one step."""
        kind = QuickLook if self.precision.quick else Search
        search = kind(measure, goals, plan, measure.expect, Labeled(self.means.listener, label))
        return search, search.run()

    def ran_out(self, within: float) -> None:
        """Take note that the time was over.

        Raises
        ------
        InputError
            If nothing was measured.
        """
        if not self.measures[0].reports:
            text = f"found {duration(within)}, in which no run ended; allowed: a longer time"
            raise InputError(text, "within")
        self.outcome = Outcome(confidence=None, notes=self.outcome.notes)
        self.impossible = False
        runs = sum(each.runs for each in self.measures)
        done = f"The time limit ended the search after {counted(runs, 'run')}."
        self.reason = f"{done} To continue it, repeat the command with a longer time limit."
        self.outcome.notes.append(Warning(Kind.TIME_OVER, self.reason, values={"replications": runs}))

    def leave_undecided(self) -> None:
        """Withdraw the answer: a state that the runs do not show may decide it."""
        self.impossible = False
        if self.outcome.buffer is not None:
            self.outcome.compromise = self.outcome.buffer
        self.outcome.buffer, self.outcome.confidence = None, None
        self.reason = "The goals may depend on a rare state that no run shows."

    def nearest(self) -> int:
        """The measured combination that comes nearest to meeting every goal."""
        joint = self.joint
        joint.look_at({at: self.measures[0].at(at) for at in self.measures[0].buffers()})
        return joint.compromise()
