"""The smallest buffer that meets the goals, found on noisy measurements.

The search knows nothing of engines: it asks for (buffer, replication) pairs, never twice, and gets reports back.

The threshold is the buffer at which goals begin to be met. Two ways lead to it. Where goals are about means, a
replication at any buffer near the threshold says where it is: single replications, each of random streams that no other
has, are spent around it (`bracketing`). Where goals are about shares of the draws, one buffer after the other is
decided between the two ends of a bracket: the test calls goals met when the one-sided bound over the replications
clears them, and missed when the opposite bound does; in between, replications are added at fixed interim analyses, each
at its share of the error probability (Bonferroni). Replication r then has the same random streams at every buffer
(common random numbers).

A curve need not be monotone: goals that need a large buffer may hold at a buffer, be missed at a larger one and hold
again above. A configured buffer should stay safe if it is enlarged. The search therefore works down from the largest
buffer and answers with the smallest from which on the goals keep holding. It also names smaller buffers below such a
gap that meet the goals. One of them is the answer only if no buffer above the gap is. A gap is accepted after all
interim analyses.

`confirmation` tests the found buffers with fresh runs. The choice of the next measurement can make an answer slow, but
not wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from forebay.inputs.goals import Goal
from forebay.results import statistics
from forebay.results.warning import Kind, Warning
from forebay.search.bracketing import Bracketing, beginning
from forebay.search.confirmation import AWAY, USUAL, ConfirmingSearch
from forebay.search.goal_test import Verdict, mean_margin, observations
from forebay.search.interpolation import neighbors, share_between
from forebay.search.listener import SILENT, Listener
from forebay.search.noisy_root import Point, line_at, rises_between, slope_of
from forebay.search.noisy_threshold import FAR as WINDOW
from forebay.search.noisy_threshold import NOISY, Located, located
from forebay.search.plan import Measure, Outcome, Plan, without_gaps

__all__ = ["USUAL", "Search"]

#: Replications after which a buffer of the first look counts as what its means say.
LEANING = 4
#: Factor of each further step where fresh replications have refused more than two buffers.
LEAP = 1.3
#: Replications at least at the buffer that comes nearest, where there is no answer.
NEAREST = 4
#: Factor between the answer and the last refusal above which the middle is tried, and how often it may be.
FAR, BACK = 1.3, 3
#: The same factor where the threshold was located in much noise.
NOISY_FAR = 1.2
#: Part of the largest number of fresh runs that locating a threshold may take.
LOCATING = 0.5
#: Runs at a buffer that surely misses goals in much noise.
SETTLED = 8
#: Buffers at most at which further runs may prove that there is no answer.
ANALYSES_OF_MISSES = 4


class Search(ConfirmingSearch):
    """One search; its parameters are those of `SearchState`."""

    def __init__(
        self,
        measure: Measure,
        goals: Sequence[Goal],
        plan: Plan,
        expect: Callable[[int], None] | None = None,
        listener: Listener = SILENT,
    ) -> None:
        super().__init__(measure, goals, plan, expect, listener)
        #: The smallest buffer that ought to meet the goals which need a large buffer.
        self._least = plan.floor
        #: Buffers of the first look.
        self._rungs: set[int] = set()
        self._refused_as_too_large: int | None = None

    # Searching -----------------------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Search, confirm, and explain where there is no answer."""
        self._first_look()
        large, small = self.directions()
        outcome = Outcome()
        if self._averages and self._contradict(large, small):
            self._listener.on_range(f"no {self.plan.words.noun} seems to meet every goal")
            outcome.needs_at_least = (tuple(goal.key for goal in large), None)
            outcome.needs_at_most = (tuple(goal.key for goal in small), None)
            outcome.binding = self._worst(self.compromise(), self.goals).key
        else:
            self._look_for_the_threshold(large, small, outcome)
        if outcome.buffer is None:
            # The answer gives a mean with an interval at the nearest miss, and says whether replications differ.
            self.sample([self.compromise()], NEAREST)
            self.show_ends(NEAREST)
            runs = max(NEAREST, self.plan.least_runs)
            # Where goals are about shares of the draws, each buffer was decided by itself.
            recheck = (lambda buffer: self.confirms(buffer, outcome)) if self._averages else (lambda _buffer: False)
            self.conclude(outcome, runs, ANALYSES_OF_MISSES, recheck)
        if outcome.buffer is None:
            outcome.compromise = self.compromise(None if outcome.impossible else outcome.between)
            outcome.runs = self.nearby_runs(outcome.compromise)
        else:
            outcome.lower_end = self._lower_end(outcome, large)
            outcome.up_to = self.upper_end(outcome.buffer)
            outcome.feasible_intervals = tuple(self._feasible_intervals(outcome.buffer))
            outcome.gaps = tuple(self._gaps(outcome.buffer, large))
        return outcome

    def _look_for_the_threshold(self, large: Sequence[Goal], small: Sequence[Goal], outcome: Outcome) -> None:
        """Confirm the smallest buffer that meets the goals which need a large one; otherwise try other candidates."""
        enough = self._smallest_enough(large, outcome)
        outcome.needs_at_least = (tuple(goal.key for goal in large), enough)
        if enough is None:
            outcome.binding = self._worst(max(self.samples), large).key
        else:
            self._confirm(enough, large, outcome)
            if outcome.buffer is None:
                self._try_feasible_interval(self._meeting(enough), large, outcome)
        if outcome.buffer is None:
            known = set(self.samples)
            self._largest_allowed(small, outcome)
            # Its looks may have met with what the first ones had stepped over.
            met = [buffer for buffer in self._meeting(self.plan.ceiling + 1) if buffer not in known]
            self._try_feasible_interval(met, large, outcome)
        if outcome.buffer is None and not self._attempts:
            self._try_peak(outcome)
        if outcome.buffer is None and self._averages:
            self._try_sliver(large, outcome)

    def _contradict(self, large: Sequence[Goal], small: Sequence[Goal]) -> bool:
        """Whether the goals that need a large buffer surely need more than the others surely allow."""
        short = [buffer for buffer in self.samples if large and self.misses(buffer, large)]
        return any(self.misses(buffer, small) for buffer in self.samples if small and buffer <= max(short, default=0))

    def _first_look(self) -> None:
        plan = self.plan
        also = {buffer for buffer in plan.also if plan.smallest <= buffer <= plan.ceiling}
        start = without_gaps(sorted({plan.smallest, plan.largest, *also}), plan.gap)
        self._expect(len(start) * plan.analyses[0] + self._bisection_cost(plan.largest / plan.smallest))
        self._rungs.update(start)
        self.sample(start, plan.analyses[0])
        if self._averages:
            self.sample(self._about_the_threshold(), 2)

    def _about_the_threshold(self) -> Iterator[int]:
        """The largest buffer, and the two between which goals that need a large buffer seem to begin to be met."""
        large, _ = self.directions()
        yield max(self.samples)
        if not large:
            return
        rising = sorted(self.samples)
        short = [at for at in rising if self.plan.test.margin(self.samples[at], large) < 0]
        if short:
            last = rising.index(short[-1])
            yield from rising[last : last + 2]

    def _smallest_enough(self, large: Sequence[Goal], outcome: Outcome) -> int | None:
        """Smallest buffer from which on the goals that need room are met, to within the resolution."""
        if not large:
            return min(self.samples)
        top = max(self.samples)
        while not self._seems_sufficient(top, large):
            interval = self._feasible_below(large)
            if interval is not None:
                words = self.plan.words
                text = f"goals that are met at {words.in_words(interval)} are missed at {words.in_words(top)}"
                values = {"met_at": words.value(interval), "missed_at": words.value(top)}
                outcome.notes.append(Warning(Kind.MISSED_AGAIN, text, values=values))
                top = interval
                break
            if top >= self.plan.ceiling and not self.reach_further():
                return None
            top = min(2 * top, self.plan.ceiling)
            self.sample([top], self.plan.analyses[0])
        return self._lower_threshold(top, large, outcome)

    def _seems_sufficient(self, top: int, large: Sequence[Goal]) -> bool:
        """Whether the largest buffer meets goals: where they are about means, as far as can be seen."""
        if self._averages and self.plan.test.margin(self.samples[top], large) >= 0:
            return self.together(top, large) is not Verdict.MISSED
        return self.decide(top, large) is Verdict.MET

    def _lower_threshold(self, top: int, large: Sequence[Goal], outcome: Outcome) -> int:
        """Smallest buffer from which on up to `top` the goals that need room are met, to within the resolution."""
        if self._averages:
            return self._approached(top, large, outcome)
        short = [buffer for buffer in self.samples if buffer < top and self.together(buffer, large) is not Verdict.MET]
        # A first look that is unclear may become clear with more replications: work down from the top.
        for buffer in sorted(short, reverse=True):
            if self._falls_short(buffer, large):
                low = buffer
                break
        else:
            return min(self.samples)
        high = min(buffer for buffer in self.samples if buffer > low)
        low, high = self._narrow(low, high, large, Verdict.MET)
        outcome.binding = self._worst(low, large).key
        return high

    def _approached(self, top: int, large: Sequence[Goal], outcome: Outcome) -> int:
        """The same from single replications about the threshold."""
        met = top
        for buffer in sorted((at for at in self.samples if at < top), reverse=True):
            verdict = self._leaning(buffer, large)
            if verdict is Verdict.MET:
                met = buffer
            elif verdict is Verdict.MISSED and (not self._met_below(buffer, large) or self._falls_short(buffer, large)):
                missed = buffer
                break
        else:
            missed = min(self.samples)
            if self.decide(missed, large) is Verdict.MET:
                return missed
        # Each refusal says that the noise is larger than it seemed.
        caution = 1 + 0.2 * self._attempts
        threshold = Bracketing(self, large, missed, met, self.plan.resolution, self._answer_between, caution).run()
        outcome.binding = threshold.goal.key
        self._least = threshold.least
        noisy = threshold.spread > NOISY and self.plan.most_fresh > USUAL
        found = self._locate(large, threshold.at, met) if noisy else None
        # More runs may show that the noise is not that large.
        self._located = found if found is not None and found.spread > NOISY else None
        if self._located is None:
            return min(threshold.buffer, self.plan.ceiling)
        outcome.binding = self._located.goal.key
        return self._past_threshold(self._located)

    def _locate(self, large: Sequence[Goal], start: float, below: int) -> Located | None:
        """Locate a threshold of which one run tells little, above all buffers below one that surely miss goals."""
        plan = self.plan
        most, fine = round(LOCATING * plan.most_fresh), math.log1p(plan.resolution)
        ends = (min(self._missed_below(large, below) + 1, plan.ceiling), plan.ceiling)
        return located(self, large, start, error=2 * fine, most=most, ends=ends)

    def _missed_below(self, large: Sequence[Goal], below: int) -> int:
        """The largest buffer below one that surely misses goals, so that the curve falls there at the latest."""
        for buffer in sorted((at for at in self.samples if at < below and self.misses(at, large)), reverse=True):
            self.sample([buffer], SETTLED)
            if self.misses(buffer, large):
                return buffer
        return self.plan.floor - 1

    def _past_threshold(self, threshold: Located) -> int:
        """The buffer so far beyond a threshold in much noise that the fresh runs at most should confirm it."""
        plan = self.plan
        self._least = min(max(plan.floor, math.ceil(math.exp(threshold.at))), plan.ceiling)
        away = max(AWAY, (self._needed(self._attempts + 1) + 1) * threshold.spread / math.sqrt(plan.most_fresh))
        beyond = math.exp(min(threshold.at + away, math.log(plan.ceiling)))
        return min(max(plan.floor, math.ceil(beyond)), plan.ceiling)

    def _leaning(self, buffer: int, goals: Sequence[Goal]) -> Verdict:
        """Judge; a buffer of the first look that stays unclear after a few runs is judged by its means."""
        verdict = self.together(buffer, goals)
        if verdict is not Verdict.UNCLEAR or buffer not in self._rungs:
            return verdict
        self.sample([buffer], LEANING)
        verdict = self.together(buffer, goals)
        if verdict is not Verdict.UNCLEAR:
            return verdict
        return Verdict.MET if self.plan.test.margin(self.samples[buffer], goals) >= 0 else Verdict.MISSED

    def _between_them(self, one: int, other: int) -> None:
        """Say how much is still expected while a threshold is between two buffers."""
        self._expect(self._bisection_cost(max(one, other) / min(one, other)))

    def _answer_between(self, missed: int, met: int) -> None:
        """The same of the threshold where the answer will be, and where that is."""
        self._between_them(missed, met)
        self._listener.on_range(self.plan.words.between(missed, met))

    def _met_below(self, buffer: int, goals: Sequence[Goal]) -> bool:
        """Whether a smaller buffer meets goals."""
        smaller = (other for other in self.samples if other < buffer)
        return any(self.together(other, goals) is Verdict.MET for other in smaller)

    def _falls_short(self, buffer: int, large: Sequence[Goal]) -> bool:
        """Whether a buffer does not meet goals; after all analyses if smaller ones do, so that the curve would fall."""
        if self.decide(buffer, large) is Verdict.MET:
            return False
        if self._met_below(buffer, large):
            return self._settle(buffer, large) is not Verdict.MET
        return True

    def _feasible_below(self, large: Sequence[Goal]) -> int | None:
        """The largest measured buffer that meets every goal although the largest of all misses some."""
        for buffer in self._meeting(max(self.samples)):
            if self.decide(buffer, large) is Verdict.MET:
                return buffer
        return None

    def _meeting(self, below: int) -> list[int]:
        """Measured buffers below one that meet every goal, the largest first."""
        smaller = (buffer for buffer in self.samples if buffer < below)
        return sorted((at for at in smaller if self._may_meet(at)), reverse=True)

    def _may_meet(self, buffer: int) -> bool:
        """Whether a buffer meets every goal; of the first look where goals are about means, whether its mean does."""
        verdict = self.together(buffer, self.goals)
        if buffer in self._rungs and self._averages and verdict is Verdict.UNCLEAR:
            return self.plan.test.margin(self.samples[buffer], self.goals) >= 0
        return verdict is Verdict.MET

    def _try_feasible_interval(self, buffers: Sequence[int], large: Sequence[Goal], outcome: Outcome) -> None:
        """If nothing was confirmed, try the first of these buffers that meets every goal after all analyses."""
        for buffer in buffers:
            if buffer not in self._refused and self._settle(buffer, self.goals) is Verdict.MET:
                break
        else:
            return
        before, needs = outcome.binding, outcome.needs_at_least
        self._confirm(self._lower_threshold(buffer, large, outcome), large, outcome)
        if outcome.buffer is None:
            outcome.binding, outcome.needs_at_least = before, needs

    def _try_peak(self, outcome: Outcome) -> None:
        """If no buffer was tested: try the lower threshold about the largest buffer that meets every goal."""
        for buffer in self._meeting(self.plan.ceiling + 1):
            smaller = [at for at in self.samples if at < buffer and self.together(at, self.goals) is Verdict.MISSED]
            if buffer not in self._refused and smaller and self._settle(buffer, self.goals) is Verdict.MET:
                below = self.samples[max(smaller)]
                large = [goal for goal in self.goals if self.plan.test.margin(below, [goal]) < 0]
                self._try_feasible_interval([buffer], large or self.goals, outcome)
                return

    def _try_sliver(self, large: Sequence[Goal], outcome: Outcome) -> None:
        """If no buffer was confirmed although the allowed buffer seems to exceed the needed one: try the middle."""
        least, most = outcome.needs_at_least[1], outcome.needs_at_most[1]
        if least is None or most is None or least > most:
            return
        middle = round(math.sqrt(least * most))
        if middle not in self._refused:
            self._confirm(middle, large, outcome)
        if outcome.buffer is None and all(note.kind is not Kind.NO_MARGIN for note in outcome.notes):
            self._note_no_margin(outcome)

    def _feasible_intervals(self, answer: int) -> Iterator[tuple[int, int]]:
        """Smaller buffers that meet every goal, each with the largest below the answer that misses some."""
        smaller = sorted((buffer for buffer in self.samples if buffer < answer), reverse=True)
        smaller = [buffer for buffer in smaller if buffer not in self._refused]
        found = {buffer: self.together(buffer, self.goals) for buffer in smaller}
        met = [buffer for buffer in smaller if found[buffer] is Verdict.MET]
        broken = None
        # Whether there is a gap is worth all interim analyses only above what may be a feasible interval.
        for buffer in (buffer for buffer in smaller if met and buffer >= met[-1]):
            verdict = found[buffer]
            if verdict is Verdict.MISSED and broken is None and self._settle(buffer, self.goals) is Verdict.MISSED:
                broken = buffer
            elif verdict is Verdict.MET and broken is not None and self._settle(buffer, self.goals) is Verdict.MET:
                yield buffer, broken

    def _gaps(self, answer: int, large: Sequence[Goal]) -> Iterator[tuple[int, str]]:
        """Larger buffers that miss a goal which needs a large buffer, each with the goal that is missed most."""
        for buffer in sorted(buffer for buffer in self.samples if buffer > answer):
            if not large or self.together(buffer, large) is not Verdict.MISSED:
                continue
            if self._settle(buffer, large) is Verdict.MISSED and self.misses(buffer, large):
                yield buffer, self._worst(buffer, large).key

    def _narrow(self, low: int, high: int, goals: Sequence[Goal], above: Verdict) -> tuple[int, int]:
        """Close in on the threshold between two buffers. Only `high` meets the goals if `above` is MET, else `low`."""
        steps = 0
        while not self._resolved(low, high):
            if above is Verdict.MET:
                self._answer_between(low, high)
            else:
                self._between_them(low, high)
            middle = self._next(low, high, goals, steps)
            steps += 1
            if (self.decide(middle, goals) is Verdict.MET) == (above is Verdict.MET):
                high = middle
            else:
                low = middle
        return low, high

    def _next(self, low: int, high: int, goals: Sequence[Goal], steps: int) -> int:
        """The next buffer to measure: near the threshold that the margins show, every third time in the middle."""
        one, other = (self.plan.test.margin(self.samples[buffer], goals) for buffer in (low, high))
        if steps % 3 == 2 or one * other >= 0:
            return _between(low, high)
        threshold = math.exp(math.log(low) + one / (one - other) * math.log(high / low))
        # Half a resolution off the threshold, first on the side of the end that is further away: two such buffers
        # settle it.
        away = 1 + 0.5 * self.plan.resolution
        above, below = math.ceil(threshold * away), math.floor(threshold / away)
        first, second = (above, below) if high / threshold >= threshold / low else (below, above)
        for candidate in (first, second):
            if low < candidate < high:
                return candidate
        return _between(low, high)

    def _lower_end(self, outcome: Outcome, large: Sequence[Goal]) -> tuple[int, int] | None:
        """The interval that contains the smallest sufficient buffer, from all measurements."""
        answer = outcome.buffer
        goals = [goal for goal in large if goal.key == outcome.binding]
        smaller = sorted((at for at in self.samples if answer is not None and at < answer), reverse=True)
        if answer is None or not goals or not smaller:
            return None
        least = 1 + next((at for at in smaller if self.misses(at, goals)), 0)
        if self._resolved(least, answer) or not self._averages:
            return least, answer
        points = [*observations(self.samples, goals[0]), *observations({answer: outcome.confirmation}, goals[0])]
        found = beginning(points, math.log(answer))
        if found is None:
            return least, answer
        # Where the curve has a step, no line tells where it is: runs on both sides of it do.
        steps = rises_between(points)
        ends = [place for place in (*found, *steps) if place is not None]
        low, high = (math.exp(place) for place in (min(ends), max(ends)))
        return max(1, min(math.floor(low), answer)), min(math.ceil(high), answer)

    def _largest_allowed(self, small: Sequence[Goal], outcome: Outcome) -> None:
        """Largest buffer up to which the goals that ask for a small one are met, to within the resolution."""
        outcome.needs_at_most = (tuple(goal.key for goal in small), None)
        if not small:
            return
        if self._averages:
            outcome.needs_at_most = (outcome.needs_at_most[0], self._allowed(small))
            return
        low, high = None, None
        for buffer in sorted(self.samples):
            if buffer == self._refused_as_too_large or self.decide(buffer, small) is not Verdict.MET:
                high = buffer
                break
            low = buffer
        if low is None:
            return
        if high is not None:
            low, _ = self._narrow(low, high, small, Verdict.MISSED)
        outcome.needs_at_most = (outcome.needs_at_most[0], low)

    def _allowed(self, small: Sequence[Goal]) -> int | None:
        """The same from single replications about the threshold."""
        met = min(self.samples)
        if self.decide(met, small) is not Verdict.MET:
            return None
        for buffer in sorted(self.samples):
            verdict = self.together(buffer, small)
            if buffer == self._refused_as_too_large or verdict is Verdict.MISSED:
                fine = self.plan.resolution
                return Bracketing(self, small, buffer, met, fine, self._between_them, caution=0.0).run().buffer
            met = buffer if verdict is Verdict.MET else met
        return max(self.samples) if self.decide(max(self.samples), small) is Verdict.MET else met

    def _confirm(self, start: int, large: Sequence[Goal], outcome: Outcome) -> None:
        """Put the found buffer to fresh replications; step up where they refuse it."""
        plan = self.plan
        small = [goal for goal in self.goals if goal not in large]
        buffer, largest = start, False
        while self._attempts < plan.confirmations:
            missed = self._too_large(buffer, small)
            if missed is not None:
                between = self._between_both(buffer, small)
                if between is None:
                    outcome.binding = missed.key
                    return
                buffer, largest = between, True
            weakest = self._attempt(buffer, outcome, exhaustive=largest)
            if weakest is None:
                self._refine(buffer, large, outcome)
                return
            outcome.binding = weakest
            if weakest not in {goal.key for goal in large}:
                self._refused_as_too_large = buffer
                between = self._between_both(buffer, small)
                if between is None:
                    return
                buffer, largest = between, True
                continue
            # The first two steps are as fine as the search, the later ones ever longer.
            factor = (1 + plan.resolution) ** (self._attempts if self._attempts > 2 else 1)
            buffer, end = self._step_up(buffer, factor, large, outcome), self.plan.ceiling
            if (buffer > end or end in self._refused) and self.reach_further():
                buffer = max(buffer, math.ceil(end * factor))
            beyond = buffer > self.plan.ceiling
            outcome.needs_at_least = (outcome.needs_at_least[0], None if beyond else buffer)
            if beyond or buffer in self._refused:
                break
        self._note_no_margin(outcome)

    def _refine(self, buffer: int, large: Sequence[Goal], outcome: Outcome) -> None:
        """Try the middle, too, if the answer is far above the last refusal or the threshold as known now."""
        while self._averages and self._attempts < self.plan.confirmations + BACK:
            far = FAR if self._located is None else NOISY_FAR
            below = max([at for at in self._refused if at < buffer], default=0)
            if large and buffer > far * below:
                below = max(below, self._threshold_below(buffer, large, outcome))
            if not 0 < far * below < buffer:
                return
            middle = _between(below, buffer)
            if self.confirms(middle, outcome):
                buffer = middle

    def _threshold_below(self, answer: int, large: Sequence[Goal], outcome: Outcome) -> int:
        """The threshold below an answer; 0 where the runs that confirm the answer do not show that it is far below."""
        slopes = [slope_of(self._within(goal, answer)) or 0.0 for goal in large]
        margins = [mean_margin(goal, outcome.confirmation) for goal in large]
        if min(slopes) <= 0 or any(m < slope * math.log(FAR) for m, slope in zip(margins, slopes, strict=True)):
            return 0
        start = max(math.log(answer) - margin / slope for margin, slope in zip(margins, slopes, strict=True))
        found = self._located
        if found is None or abs(found.at - start) > math.log(FAR):
            found = self._locate(large, start, answer)
            self._located = found if found is not None and found.spread > NOISY else None
        return 0 if found is None else math.floor(math.exp(found.at))

    def _note_no_margin(self, outcome: Outcome) -> None:
        text = f"no {self.plan.words.noun} was confirmed, because the goals are at the limit of the link"
        outcome.notes.append(Warning(Kind.NO_MARGIN, text))

    def _between_both(self, buffer: int, small: Sequence[Goal]) -> int | None:
        """A smaller buffer that is also beyond the threshold, and that the goals which need a small buffer allow."""
        allowed = self._allowed(small) if self._averages else None
        if allowed is None or not self._least <= allowed < buffer:
            return None
        for inside in (allowed, max(self._least, round(math.sqrt(self._least * allowed)))):
            if inside < buffer and inside not in self._refused:
                return inside
        return None

    def _too_large(self, buffer: int, small: Sequence[Goal]) -> Goal | None:
        """The goal that needs a small buffer and is not met at a buffer before its confirmation."""
        if not small:
            return None
        if not self._averages:
            return None if self.decide(buffer, small) is Verdict.MET else self._worst(buffer, small)
        for goal in small:
            if self.derived(buffer, goal):
                continue
            if self._missed_about(buffer, goal):
                return goal
            points = self._nearby(goal, buffer)
            if len(points) > 2:
                value, error = line_at(points, math.log(buffer))
                if value < 0 and value < -statistics.student_quantile(self._level, len(points) - 2) * error:
                    return goal
        return None

    def _missed_about(self, buffer: int, goal: Goal) -> bool:
        """Whether a goal that needs a small buffer is missed at a smaller buffer, or on the line to a larger one."""
        if any(self.together(at, [goal]) is Verdict.MISSED for at in self.samples if at <= buffer):
            return True
        ends = neighbors(self.samples, buffer)
        if ends is None or self.together(ends[1], [goal]) is not Verdict.MISSED:
            return False
        low, high = (self.plan.test.margin(self.samples[at], [goal]) for at in ends)
        return low + share_between(*ends, buffer) * (high - low) < 0

    def _within(self, goal: Goal, buffer: int) -> list[Point]:
        """Logarithm of the buffer and margin of each run within reach of a buffer, from which slopes are told."""
        near = {at: reports for at, reports in self.samples.items() if abs(math.log(at / buffer)) <= WINDOW}
        return list(observations(near, goal))

    def _step_up(self, buffer: int, factor: float, large: Sequence[Goal], outcome: Outcome) -> int:
        """Next buffer, at least `factor` times as large, that meets the goals which need room."""
        larger = math.ceil(buffer * factor)
        last = self._attempts >= self.plan.confirmations - 1
        if self._averages and (self._located is not None or self._attempts > 2) and not last:
            # The runs that refused the buffer help to locate the threshold, too.
            start = math.log(buffer) if self._located is None else self._located.at
            found = self._locate(large, start, buffer + 1) if self.plan.most_fresh > USUAL else None
            self._located = found if found is not None and found.spread > NOISY else self._located
            if self._located is not None:
                return max(math.ceil(buffer * (1 + self.plan.resolution)), self._past_threshold(self._located))
        if self._averages and self._attempts > 2:
            # The threshold is less well known than it seemed, and less so with every refusal.
            return self._leapt(buffer)
        if self._averages:
            met = [at for at in self.samples if at > buffer and self.together(at, large) is Verdict.MET]
            return max(larger, self._approached(min(met), large, outcome)) if met else larger
        while larger <= self.plan.ceiling and self.decide(larger, large) is not Verdict.MET:
            larger = math.ceil(larger * factor)
        return larger

    def _leapt(self, buffer: int) -> int:
        """A buffer further up with each refusal, and the largest of all before the search gives up."""
        larger = math.ceil(buffer * LEAP ** (self._attempts - 2))
        last = self._attempts >= self.plan.confirmations - 1
        return self.plan.ceiling if last or larger > self.plan.ceiling > buffer else larger

    # Judging -------------------------------------------------------------------------------------------------

    def _resolved(self, low: int, high: int) -> bool:
        return high - low <= 1 or high <= low * (1 + self.plan.resolution)

    def _bisection_cost(self, ratio: float) -> int:
        """Replications that narrowing a bracket of this ratio and confirming the answer usually takes."""
        steps = math.log(max(ratio, 1 + self.plan.resolution)) / math.log1p(self.plan.resolution)
        return math.ceil(math.log2(max(steps, 1.0)) * 1.5 * self.plan.analyses[0]) + 8

    def _worst(self, buffer: int, goals: Sequence[Goal]) -> Goal:
        """The goal that is least certain at a buffer."""
        found = self.plan.test.confidences(self.samples[buffer], goals)
        return min(goals, key=lambda goal: (found[goal.key], goal.margin(self.mean(buffer, goal))))


def _between(low: int, high: int) -> int:
    """The integer nearest the geometric mean, which lies strictly between two that are no neighbors."""
    return round(math.sqrt(low * high))
