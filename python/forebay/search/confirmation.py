"""The confirmation of a buffer on fresh runs, at a part of the error probability of the whole search.

`smallest.Search` finds buffers and puts them to this test; `joint_buffers.JointSearch` does so with combinations.

All goals have to hold at once, which costs no correction (an intersection of one-sided tests). Because
the search picks the buffer that looked good, its own samples flatter that buffer; the answer is therefore confirmed on
fresh replications which the search has not seen, and the confidence that is reported comes from those alone. They are
looked at several times, each time at a part of the error probability, and given up where they are not heading for a
confirmation. A refused confirmation moves on to another buffer at a smaller part of the error probability; the parts
add up to the stated level. Replications that repeat each other to the last bit are one observation: where most of the
fresh ones do, no confidence is stated at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from forebay.inputs.goals import Goal
from forebay.results import statistics
from forebay.results.report import Report
from forebay.results.warning import Kind, Warning
from forebay.search.goal_test import FRESH, Analyses, attempt_share, hopeless
from forebay.search.independence import different, enough
from forebay.search.listener import SILENT, Listener
from forebay.search.noisy_threshold import Located
from forebay.search.plan import Measure, Outcome, Plan
from forebay.search.search_state import SearchState
from forebay.text.formatting import confidence as confidence_text

__all__ = ["AWAY", "USUAL", "ConfirmingSearch"]

#: Fresh runs at most where a run tells the threshold well, and where runs take real time.
USUAL = 128
#: Logarithm of the buffer, beyond a threshold in much noise, at which a buffer is put to the test.
AWAY = 0.12
#: Times the fresh runs that a test of such a buffer needs on average, which it may take.
SPARE = 2.5
#: The first look at such a buffer is at this part of the fresh runs: fewer do not tell.
EARLY = 1 / 8
#: Part of the error probability of an attempt that each analysis then has.
EARLY_PART = 1 / 4


class ConfirmingSearch(SearchState):
    """A search that puts buffers to fresh runs; its parameters are those of `SearchState`."""

    def __init__(
        self,
        measure: Measure,
        goals: Sequence[Goal],
        plan: Plan,
        expect: Callable[[int], None] | None = None,
        listener: Listener = SILENT,
    ) -> None:
        super().__init__(measure, goals, plan, expect, listener)
        #: The threshold of the goals that need a large one, if the noise of a run is large; else None.
        self._located: Located | None = None
        self._attempts = 0

    def confirms(self, buffer: int, outcome: Outcome) -> bool:
        """Whether fresh replications confirm another buffer, at the next part of the error probability."""
        return self._attempt(buffer, outcome, exhaustive=True) is None

    def _attempt(self, buffer: int, outcome: Outcome, *, exhaustive: bool) -> str | None:
        """Spend the next part of the error probability on a buffer; the goal that is not confirmed, if any.

        The sum of all parts stays below the whole error probability.
        """
        self._attempts += 1
        needed = 1 - (1 - self.plan.confidence) * attempt_share(self._attempts)
        weakest = self._put_to_the_test(buffer, needed, outcome, exhaustive=exhaustive)
        if weakest is not None:
            self._refused.add(buffer)
        return weakest

    @property
    def spent(self) -> bool:
        """Whether as many buffers were put to the test as may be."""
        return self._attempts >= self.plan.confirmations

    def _put_to_the_test(self, buffer: int, needed: float, outcome: Outcome, *, exhaustive: bool) -> str | None:
        """Confirm a buffer on fresh replications, or name the goal that they do not confirm and note it.

        Where no larger buffer will do better all interim analyses are taken.
        """
        test, near = self.plan.test, self.nearby_runs(buffer) if self._averages else 0
        self._listener.on_range(f"confirming {self.plan.words.counted(buffer)}")
        reports: list[Report] = []
        allowed = 1 - needed
        analyses = self._analyses_at(buffer, needed, near)
        for planned, part in analyses:
            # Each analysis has its part of the error.
            needed = 1 - allowed * part
            self._expect(planned - len(reports))
            reports += self._measured([buffer] * (planned - len(reports)), fresh=True)
            worst = self.worst_margins_near(buffer, reports) if self._averages else {}
            evidence = test.evidence(reports, self.goals, worst)
            weakest = min(self.goals, key=lambda goal: (evidence[goal.key], test.margin(reports, [goal]))).key
            independent = different(reports)
            runs = independent + near
            stated = partial(self._stated, part=attempt_share(self._attempts) * part, runs=runs)
            if enough(independent, len(reports)):
                confirmed = evidence[weakest] >= needed and runs >= self.plan.least_runs
                confidence = stated(evidence[weakest])
            else:
                # Hardly more than one observation: what it says is all there is, and nothing says how surely.
                confirmed, confidence = test.margin(reports, self.goals) >= 0, None
            if confirmed:
                outcome.buffer, outcome.confirmation, outcome.confidence = buffer, reports, confidence
                carried = {} if confidence is None else evidence
                outcome.confidences = {key: stated(each) for key, each in carried.items()}
                outcome.runs = runs
                return None
            if confidence is None or (not exhaustive and hopeless(evidence[weakest], planned, analyses[-1], allowed)):
                break
        if self._averages:
            # Runs that have refused a buffer are no longer fresh, but help to locate the threshold.
            self._keep(buffer, reports)
        outcome.notes.append(self._refusal(buffer, len(reports), weakest, (evidence[weakest], needed)))
        return weakest

    def _stated(self, evidence: float, *, part: float, runs: int) -> float:
        """The confidence of evidence that spends a part of the error, limited by the number of runs."""
        confidence = 1 - (1 - evidence) / part
        return min(confidence, statistics.most_confidence(runs)) if self._averages else confidence

    def _analyses_at(self, buffer: int, needed: float, near: int) -> Analyses:
        """Numbers of fresh runs after which to look; the last number carries the confidence that was asked for."""
        analyses = self.plan.test.confirmations(len(self.samples.get(buffer, ())), needed, self._most_fresh())
        if self._located is not None:
            late = [planned for planned, _ in analyses if planned >= EARLY * analyses[-1][0]]
            analyses = tuple((planned, 1 / len(late)) for planned in late)
        (last, part), least = analyses[-1], self.plan.least_runs - near
        return (*analyses[:-1], (max(last, least), part)) if self._averages else analyses

    def _most_fresh(self) -> int:
        """Fresh runs at most: in much noise those that a buffer next to the threshold needs, if that is affordable."""
        most, usual = self.plan.most_fresh, min(USUAL, self.plan.most_fresh)
        if self._located is None:
            return usual
        required = SPARE * (self._needed(self._attempts) * self._located.spread / AWAY) ** 2
        return next((count for count in FRESH if usual <= count <= most and count >= required), most)

    def _refusal(self, buffer: int, replications: int, goal: str, found: tuple[float, float]) -> Warning:
        """The warning about a buffer that fresh replications did not confirm, with the confidence found and needed."""
        (confidence, needed), words = found, self.plan.words
        text = (
            f"{words.in_words(buffer)} met every goal in the search, but {replications} fresh runs do not confirm "
            f"`{goal}`: the confidence is {confidence_text(confidence, 2)} instead of {100 * needed:.5g} %"
        )
        values = {
            words.key: words.value(buffer),
            "replications": replications,
            "confidence": confidence,
            "needed": needed,
            "attempt": self._attempts,
        }
        return Warning(Kind.REFUSED, text, subject=goal, values=values)

    def _needed(self, attempt: int) -> float:
        """Standard errors of a mean that confirm it at one analysis of an attempt."""
        allowed = (1 - self.plan.confidence) * attempt_share(attempt) * EARLY_PART
        return statistics.normal_quantile(1 - allowed)
