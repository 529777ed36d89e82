"""A quick search: an interval for the smallest buffer that meets the goals, from a handful of replications.

The search decides no single buffer. It takes a coarse first look. Two rounds of single replications are then spread
over the region where the monotone regression of all margins crosses zero. The interval comes from the line through the
margins there, or from the nearest clear buffers, whichever is narrower. A few fresh replications at its upper end
give the confidence of that end.

If the atlas has similar links, the first look is at both sides of the expected threshold, and the rounds are smaller.
If the threshold lies elsewhere, the search starts again as if it had no expectation.

A search for a confident answer does more: it handles curves that fall again, takes further looks after a refused
confirmation, and finds the exact need of each side of a conflict.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from forebay.inputs.goals import Goal
from forebay.results import statistics
from forebay.results.report import Report
from forebay.results.warning import Kind, Warning
from forebay.search.bracketing import WIDE, beginning
from forebay.search.goal_test import Verdict, attempt_share, hopeless, observations
from forebay.search.independence import different, enough
from forebay.search.noisy_root import rises_between
from forebay.search.plan import Outcome, without_gaps
from forebay.search.search_state import SearchState

__all__ = ["FRESH", "QUICK_CONFIDENCE", "QuickLook"]

#: Confidence of a quick look, unless less is asked for: what four runs that agree carry.
QUICK_CONFIDENCE = 0.8

#: Power of the factor between buffers of a search's first look that is left here, and the factor by which buffers grow
#: where the largest of them is not enough.
COARSER = 2
FURTHER = 2
#: Distance of the first look from the expected threshold on either side, as a factor.
BESIDE = 1.5
#: Single replications of each further round, and where the threshold was expected.
ROUNDS = (3, 4)
EXPECTED_ROUNDS = (2, 3)
#: Fresh replications at an answer at the first look at least, and how many answers are put to some.
FRESH = 4
ATTEMPTS = 3
#: Looks at an answer, in multiples of those fresh replications, each with its part of the error. Another look takes
#: fewer replications than another answer, which has a smaller part of the error.
ANALYSES = ((1, 0.6), (2, 0.2), (4, 0.2))
#: Buffers at most at which further runs may prove that there is no answer.
ANALYSES_OF_MISSES = 2
#: How much further, in the logarithm, each next one is.
BOLD = 0.1
#: One-sided level of the ends of what a threshold may be in.
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class _Threshold:
    """The threshold at which goals begin to be met, in logarithms that rise towards the buffers that meet them.

    Attributes
    ----------
    goal : Goal or None
        The one that is met last; None where none is missed.
    low, high : float
        Ends of the interval that it is in, infinite where nothing measured bounds it.
    at : float
        Where it likely is.
    missed, met : float
        The last place where the margins seem to be below zero, and the first where they do not.
    """

    goal: Goal | None
    low: float
    high: float
    at: float
    missed: float
    met: float


#: The threshold without any goal.
NOWHERE = _Threshold(None, -math.inf, -math.inf, -math.inf, -math.inf, -math.inf)


class QuickLook(SearchState):
    """One look, for goals about means; its parameters are those of `SearchState`."""

    #: The largest buffer up to which goals that ask for room are thought to hold on.
    _top = math.inf

    @property
    def _fresh(self) -> int:
        """Fresh runs at an answer: more if the confidence needs more."""
        return max(FRESH, statistics.runs_for_confidence(self.plan.confidence))

    def run(self) -> Outcome:
        """Search, and confirm the result with fresh replications."""
        outcome, rounds = Outcome(), ROUNDS
        sides = self._expected()
        if sides is None:
            sides = self._first_look()
        else:
            rounds = EXPECTED_ROUNDS
        larger_goals, small = sides
        needed = self._close_in(larger_goals, 1, rounds)
        allowed = self._threshold(small, -1)
        if small and -allowed.high < needed.high < math.inf:
            # Whether there is room between both hangs on where the other threshold is.
            allowed = self._close_in(small, -1, ROUNDS[:1])
            needed = self._threshold(larger_goals, 1)
        outcome.binding = None if needed.goal is None else needed.goal.key
        outcome.needs_at_least = tuple(goal.key for goal in larger_goals), self._at_least(needed)
        outcome.needs_at_most = tuple(goal.key for goal in small), self._at_most(allowed, small)
        self._confirm(needed, allowed, (larger_goals, small), outcome)
        if outcome.buffer is None:
            # Where margins have a peak, or much noise, it may do though the thresholds do not say so.
            nearest = self.compromise()
            self.sample([nearest], self._fresh)
            if nearest not in self._refused and self.plan.test.margin(self.samples[nearest], self.goals) >= 0:
                self._put_to_the_test(nearest, outcome)
        self._end(outcome, larger_goals)
        if outcome.buffer is None and not outcome.impossible:
            text = f"a few runs do not show whether a {self.plan.words.noun} meets every goal"
            outcome.notes.append(Warning(Kind.NO_MARGIN, text))
        return outcome

    def _end(self, outcome: Outcome, larger_goals: Sequence[Goal]) -> None:
        """Conclude without an answer; state the known bounds of an answer, or the nearest miss."""
        if outcome.buffer is None:
            self.conclude(
                outcome, self._fresh, ANALYSES_OF_MISSES, lambda buffer: self._put_to_the_test(buffer, outcome)
            )
        if outcome.buffer is None:
            outcome.compromise = self.compromise(None if outcome.impossible else outcome.between)
            outcome.runs = self.nearby_runs(outcome.compromise)
        else:
            outcome.lower_end = self._lower_end(outcome.buffer, larger_goals)
            outcome.up_to = self.upper_end(outcome.buffer)

    def _expected(self) -> tuple[list[Goal], list[Goal]] | None:
        """Look where the threshold is expected, and at the largest buffer; None where it is not there."""
        plan = self.plan
        if plan.prior is None:
            return None
        ends = (max(plan.smallest, round(plan.prior.low / BESIDE)), math.ceil(plan.prior.high * BESIDE))
        if ends[1] >= plan.largest:
            return None
        also = (buffer for buffer in plan.also if plan.smallest <= buffer <= plan.ceiling)
        self._expect(3 + 2 + sum(EXPECTED_ROUNDS) + self._fresh)
        self.sample([*ends, plan.largest, *also], 1)
        larger_goals, small = self.directions()
        threshold = self._threshold(larger_goals, 1)
        low, high = (math.log(end) for end in ends)
        return (larger_goals, small) if low - 1e-9 <= threshold.missed and threshold.met <= high + 1e-9 else None

    def _first_look(self) -> tuple[list[Goal], list[Goal]]:
        """Buffers far apart, and further up where none of them has enough room."""
        plan = self.plan
        also = {buffer for buffer in plan.also if plan.smallest <= buffer <= plan.ceiling}
        rungs = without_gaps(sorted({plan.smallest, plan.largest, *also}), plan.gap**COARSER)
        self._expect(len(rungs) + 2 + sum(ROUNDS) + self._fresh)
        self.sample(rungs, 1)
        larger_goals, small = self.directions()
        while self._threshold(larger_goals, 1).met == math.inf:
            top = max(self.samples)
            met = [buffer for buffer in self.samples if plan.test.margin(self.samples[buffer], larger_goals) >= 0]
            if met:
                # Goals that are missed again above it.
                self._top = max(met)
                break
            if top >= self.plan.ceiling and not self.reach_further():
                break
            self.sample([min(FURTHER * top, self.plan.ceiling)], 1)
        return larger_goals, small

    def _close_in(self, goals: Sequence[Goal], side: int, rounds: Iterable[int]) -> _Threshold:
        """Spread replications over where the threshold seems to be."""
        threshold = self._threshold(goals, side)
        for turn, count in enumerate(rounds):
            if not math.isfinite(threshold.missed) or not math.isfinite(threshold.met):
                break
            ends = sorted(_buffer(side * place) for place in (threshold.missed, threshold.met))
            if side > 0:
                self._listener.on_range(self.plan.words.between(*ends))
            # A second run at both ends tells the noise.
            self.observe([*(ends if turn == 0 else ()), *self._spread(threshold, side, count)])
            threshold = self._threshold(goals, side)
        return threshold

    def _spread(self, threshold: _Threshold, side: int, count: int) -> Iterator[int]:
        """Buffers evenly between the ends of what a threshold may be in, and a resolution apart at least."""
        fine = math.log1p(self.plan.resolution)
        low = max(min(threshold.missed, threshold.low), min(threshold.missed, threshold.at - WIDE))
        high = min(max(threshold.met, threshold.high), max(threshold.met, threshold.at + WIDE))
        low, high = min(low, threshold.at - fine), max(high, threshold.at + fine)
        for step in range(1, count + 1):
            buffer = _buffer(side * (low + (high - low) * step / (count + 1)))
            yield min(max(buffer, self.plan.smallest), self.plan.ceiling)

    def _threshold(self, goals: Sequence[Goal], side: int) -> _Threshold:
        """The threshold at which the last goal begins to be met, from the measurements so far."""
        thresholds = [self._threshold_of(goal, side) for goal in goals]
        if not thresholds:
            return NOWHERE
        last = max(thresholds, key=lambda threshold: threshold.at)
        return replace(
            last,
            low=max(threshold.low for threshold in thresholds),
            high=max(threshold.high for threshold in thresholds),
        )

    def _threshold_of(self, goal: Goal, side: int) -> _Threshold:
        samples = {at: reports for at, reports in self.samples.items() if side < 0 or at <= self._top}
        seen = ((place, margin) for place, margin in observations(samples, goal))
        bound = self.plan.met_up_to.get(goal, 0)
        # A derived verdict has no noise.
        points = [
            (side * place, max(margin, 0.0) if math.exp(place) <= bound + 0.5 else margin) for place, margin in seen
        ]
        if side < 0 and self.plan.smallest <= bound < self.plan.ceiling:
            points.append((-math.log(bound), 0.0))
        missed, met = rises_between(points)
        if missed is None:
            return NOWHERE
        if met is None:
            return _Threshold(goal, missed, math.inf, math.inf, missed, math.inf)
        middle = (missed + met) / 2
        placed = sorted((side * math.log(buffer), buffer) for buffer in samples)
        misses = [place for place, buffer in placed if place < met and self.misses(buffer, [goal], LEVEL)]
        meets = [place for place, buffer in placed if place > missed and self.together(buffer, [goal]) is Verdict.MET]
        low, high = max(misses, default=-math.inf), min(meets, default=math.inf)
        line = beginning(points, middle, LEVEL)
        if line is not None and line[1] - line[0] < high - low:
            low, high = line
        return _Threshold(goal, low, high, min(max(middle, low), high), missed, met)

    def _at_least(self, needed: _Threshold) -> int | None:
        """The smallest buffer that the goals which need a large buffer permit."""
        if needed.at == math.inf:
            return None
        return self.plan.smallest if needed.goal is None else _buffer(needed.at)

    def _at_most(self, allowed: _Threshold, small: Sequence[Goal]) -> int | None:
        """The largest buffer that the goals which need a small buffer permit."""
        if not small or allowed.at == math.inf:
            return None
        return max(self.samples) if allowed.goal is None else _buffer(-allowed.at)

    def _confirm(
        self, needed: _Threshold, allowed: _Threshold, goals: tuple[Sequence[Goal], Sequence[Goal]], outcome: Outcome
    ) -> None:
        """Test the upper end of the needed buffer, or as much of it as is allowed, with fresh replications."""
        least = self.plan.smallest
        while len(self._refused) < ATTEMPTS:
            most = math.inf if allowed.goal is None else -allowed.at
            if needed.at > most or needed.at == math.inf:
                return
            place = min(needed.high, max(needed.met, needed.at + WIDE)) + len(self._refused) * BOLD
            if place > most:
                place = (needed.at + most) / 2
            buffer = (
                self.plan.smallest if needed.goal is None else min(math.ceil(math.exp(place) - 1e-9), self.plan.ceiling)
            )
            buffer = max(buffer, least)
            if self._put_to_the_test(buffer, outcome):
                return
            needed, allowed = self._threshold(goals[0], 1), self._threshold(goals[1], -1)
            least = buffer + 1

    def _put_to_the_test(self, buffer: int, outcome: Outcome) -> bool:
        """Whether fresh replications speak for a buffer, which is then the answer.

        Further looks follow as long as the means meet every goal.
        """
        self._listener.on_range(f"confirming {self.plan.words.counted(buffer)}")
        reports: list[Report] = []
        for planned, part in ANALYSES:
            missing = planned * self._fresh - len(reports)
            self._expect(missing)
            reports += self._measured([buffer] * missing, fresh=True)
            if self.plan.test.margin(reports, self.goals) < 0:
                break
            each, shown = self._confidences_at(buffer, reports, part)
            found = min(each.values(), default=None)
            if found is None or found >= self.plan.confidence:
                outcome.buffer, outcome.confirmation, outcome.confidence = buffer, reports, found
                outcome.runs, outcome.confidences = different(reports) + self.nearby_runs(buffer), each
                return True
            allowed = (1 - self.plan.confidence) * attempt_share(len(self._refused) + 1)
            if hopeless(shown, planned, ANALYSES[-1], allowed):
                break
        # Runs that refused a buffer help to locate the threshold.
        self._keep(buffer, reports)
        self._refused.add(buffer)
        return False

    def _confidences_at(self, buffer: int, reports: Sequence[Report], part: float) -> tuple[Mapping[str, float], float]:
        """How surely fresh runs at a buffer meet each goal, none where they repeat each other; and their evidence."""
        if not enough(different(reports), len(reports)):
            return {}, 0.0
        evidence = self.plan.test.evidence(reports, self.goals, self.worst_margins_near(buffer, reports))
        most = statistics.most_confidence(different(reports) + self.nearby_runs(buffer))
        # Each attempt spends a part of the error probability, and each of its analyses a part of that.
        spent = attempt_share(len(self._refused) + 1) * part
        most = min(most, self.plan.confidence)
        found = {key: max(0.0, min(most, 1 - (1 - each) / spent)) for key, each in evidence.items()}
        return found, min(evidence.values())

    def _lower_end(self, answer: int, larger_goals: Sequence[Goal]) -> tuple[int, int] | None:
        """The interval that contains the smallest sufficient buffer; None if the smallest one of all is sufficient."""
        threshold = self._threshold(larger_goals, 1)
        if threshold.goal is None:
            return None
        least, place = self.plan.smallest, math.log(answer)
        if threshold.missed >= place:
            # The answer lies before a gap, of which the threshold is the end.
            smaller = (buffer for buffer in self.samples if buffer < answer)
            return 1 + max((at for at in smaller if self.misses(at, larger_goals, LEVEL)), default=least - 1), answer
        low = least if threshold.low == -math.inf else math.floor(math.exp(threshold.low))
        high = answer if threshold.high == math.inf else math.ceil(math.exp(threshold.high))
        return max(least, min(low, answer)), min(high, answer)


def _buffer(place: float) -> int:
    """The buffer at a logarithm."""
    return max(1, round(math.exp(place)))
