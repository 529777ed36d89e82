"""The observations of a search so far, their uncertainty, and further sampling.

Searches ask it for replications, and it asks `measurements`.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from forebay.inputs.goals import Goal, distinct, metric_value
from forebay.results import statistics
from forebay.results.report import Report
from forebay.search.bracketing import NEAR, SURE
from forebay.search.goal_test import MeanTest, Replications, Verdict, mean_margin, sometimes_unfinished
from forebay.search.independence import different, enough
from forebay.search.listener import SILENT, Listener
from forebay.search.noisy_root import Noise, Point, scatter
from forebay.search.plan import Measure, Outcome, Plan, without_gaps
from forebay.search.range_end import end_of_range, never_full

__all__ = ["SearchState"]

#: One-sided level at which a margin is clear while the search goes on; what it leads to is confirmed.
CLEAR = 0.95
#: Degrees of freedom of the noise that are enough from nearby buffers; otherwise buffers further off count, too.
ENOUGH, DEGREES = 3, 2
#: Runs that tell a mean, from which others at buffers nearby deviate.
OFTEN = 4
#: Factor between two buffers within which more room helps a goal that asks for it: further off curves may fall again.
ALIKE = 4.0
#: Factor between the nearest miss and its neighbors above which a peak may hide, and how often to look for one.
WIDEST, FILLS = 1.4, 8
#: Runs at a buffer itself without which nothing is excluded there.
FEWEST = 4
#: Buffers at most whose own runs complete a proof that there is no answer, and how many times the runs of a look each.
PROOFS, MOST_OF_A_PROOF = 6, 4
#: How far the range is extended at a time.
FURTHER = 4
NOTHING = Replications()


class SearchState:
    """Replications at buffers, and what they say of the goals.

    Parameters
    ----------
    measure : Measure
        Runs replications.
    goals : sequence of Goal
        At least one.
    plan : Plan
        Where and how often to look, and which test decides.
    expect : callable, optional
        Called with the expected number of remaining replications, whenever the estimate changes.
    listener : Listener
        Called with the present state of the answer, whenever it changes.

    Attributes
    ----------
    samples : mapping
        Every replication by its buffer: what the table, the curve and the picture show afterwards.
    """

    def __init__(
        self,
        measure: Measure,
        goals: Sequence[Goal],
        plan: Plan,
        expect: Callable[[int], None] | None = None,
        listener: Listener = SILENT,
    ) -> None:
        if not goals:
            msg = "a search needs at least one goal"
            raise ValueError(msg)
        self.measure = measure
        self.goals = tuple(distinct(goals))
        self.plan = plan
        self._expect = expect or (lambda _count: None)
        self._listener = listener
        self.samples: dict[int, Replications] = {}
        #: Buffers that fresh replications did not confirm.
        self._refused: set[int] = set()
        #: Whether one replication is an observation of the margin.
        self._averages = plan.test.averages
        #: Replications so far by buffer and whether they were fresh.
        self._taken: Counter[tuple[int, bool]] = Counter()
        self._level = 1 - (1 - plan.confidence) / len(plan.analyses)
        self._following = _Following({})
        #: The scatter of margins that it was asked for, which are often the same although others were seen elsewhere.
        self._scatters: dict[tuple[_Placed, ...], Noise] = {}

    def run(self) -> Outcome:
        """Measure the numbers that are measured in any case; subclasses continue the search."""
        self.sample(self.plan.also, 1)
        return Outcome(confidence=None)

    def sample(self, buffers: Iterable[int], replications: int) -> None:
        """Have at least `replications` at each buffer, all missing ones in one batch."""
        buffers = sorted(set(buffers))
        self.observe([at for at in buffers for _ in range(len(self.samples.get(at, ())), replications)])

    def observe(self, buffers: Sequence[int]) -> None:
        """Have one more replication at each of these buffers, a buffer named twice twice."""
        for buffer, report in zip(buffers, self._measured(buffers, fresh=False), strict=True):
            self._keep(buffer, [report])

    def _keep(self, buffer: int, reports: Iterable[Report]) -> None:
        """Add replications to the samples."""
        self.samples[buffer] = self.samples.get(buffer, NOTHING).and_more(reports)

    def _measured(self, buffers: Sequence[int], *, fresh: bool) -> list[Report]:
        """Another replication at each buffer, of the search or fresh."""
        pairs = []
        for buffer in buffers:
            pairs.append((buffer, self.plan.number(buffer, self._taken[buffer, fresh], fresh=fresh)))
            self._taken[buffer, fresh] += 1
        return self.measure(pairs) if pairs else []

    def noise(self, goal: Goal, buffer: int) -> Noise:
        """How far one replication's margin lies from the curve near a buffer, or from the means further off.

        It is asked for again and again: only replications that were not seen before change it.
        """
        known = self._follows().noises
        found = known.get((goal, buffer))
        if found is None:
            found = known[goal, buffer] = self._noise(goal, buffer)
        return found

    def _follows(self) -> _Following:
        """Values derived from the observations; a new observation discards them."""
        if self._following.samples != self.samples:
            self._following = _Following(dict(self.samples))
        return self._following

    def _noise(self, goal: Goal, buffer: int) -> Noise:
        nearby = self._scatter(goal, buffer)
        total, degrees = nearby.variance * nearby.degrees, nearby.degrees
        if degrees >= ENOUGH:
            return nearby
        margin, far = self.plan.test.margin, []
        # Noise changes with the margin rather than the buffer: towards all of a link's rate, or no loss, it vanishes.
        here = margin(self.samples[buffer], [goal]) if buffer in self.samples else 0.0
        for at, reports in self.samples.items():
            if len(reports) > 1 and abs(math.log(at / buffer)) > NEAR:
                mean = margin(reports, [goal])
                squares = math.fsum([(each - mean) ** 2 for each in reports.margins(goal)])
                far.append((abs(mean - here), abs(math.log(at / buffer)), squares, len(reports) - 1))
        for _, _, squares, free in sorted(far):
            if degrees >= DEGREES:
                break
            total += squares
            degrees += free
        return Noise(total / degrees if degrees else 0.0, degrees)

    def _scatter(self, goal: Goal, buffer: int) -> Noise:
        """The noise of margins about the curve near a buffer, on the scale of its logarithm."""
        near = self._placements_near(goal, buffer)
        found = self._scatters.get(near)
        if found is None:
            found = self._scatters[near] = scatter(_points(near))
        return found

    def _placements_near(self, goal: Goal, buffer: int) -> tuple[_Placed, ...]:
        place, placed = math.log(buffer), self._follows().placed(goal)
        return tuple([each for each in placed if abs(each[0] - place) <= NEAR])

    def _nearby(self, goal: Goal, buffer: int) -> list[Point]:
        """Logarithm of the buffer and margin of each replication near a buffer."""
        return _points(self._placements_near(goal, buffer))

    def values(self, buffer: int, goal: Goal) -> list[float]:
        """The goal's metric in each replication at `buffer`."""
        return [metric_value(goal.name, report) for report in self.samples[buffer]]

    def mean(self, buffer: int, goal: Goal) -> float:
        """Mean over the replications at `buffer`."""
        values = self.values(buffer, goal)
        return math.fsum(values) / len(values)

    def together(self, buffer: int, goals: Sequence[Goal]) -> Verdict:
        """Judge goals that have to hold at once from the replications at hand."""
        if not goals:
            return Verdict.MET
        if self._averages:
            return self._mean_verdict(buffer, goals)
        return self.plan.test.verdict(self.samples[buffer], goals, self._level)

    def _mean_verdict(self, buffer: int, goals: Sequence[Goal], level: float | None = None) -> Verdict:
        """Whether mean margins are further from 0 than the noise that was measured nearby explains."""
        reports, verdict = self.samples[buffer], Verdict.MET
        if level is None:
            level = self._level if len(reports) >= max(self.plan.analyses) else CLEAR
        for goal in goals:
            if self.derived(buffer, goal):
                continue
            noise = self.noise(goal, buffer)
            if not noise.degrees:
                return Verdict.UNCLEAR
            margin = self.plan.test.margin(reports, [goal])
            error = math.sqrt(noise.variance / len(reports))
            limit = statistics.student_quantile(level, noise.degrees) * error if error else 0.0
            if margin < 0 and margin <= -limit and not sometimes_unfinished(goal, reports):
                return Verdict.MISSED
            if margin < limit:
                verdict = Verdict.UNCLEAR
        return verdict

    def derived(self, buffer: int, goal: Goal) -> bool:
        """Whether a goal holds at a buffer by derivation, so that no measurement can refuse it."""
        return buffer <= self.plan.met_up_to.get(goal, 0)

    def easier(self, buffer: int, goal: Goal, *, needs_larger: bool) -> Iterator[float]:
        """Margins of runs at buffers within a factor of `ALIKE` where a goal is at least as easy to meet as at one.

        Parameters
        ----------
        buffer : int
            In packets.
        goal : Goal
            One goal.
        needs_larger : bool
            Whether it asks for a large buffer.
        """
        for at, reports in self.samples.items():
            if (buffer <= at <= ALIKE * buffer) if needs_larger else (buffer / ALIKE <= at <= buffer):
                yield from reports.margins(goal)

    def deviations(self, buffer: int, goal: Goal) -> Iterator[float]:
        """Deviations of single runs from the mean at buffers near one that were measured often."""
        for at, reports in self.samples.items():
            if len(reports) >= OFTEN and abs(math.log(at / buffer)) <= NEAR:
                mean = reports.mean_margin(goal)
                yield from (margin - mean for margin in reports.margins(goal))

    def worst_margins_near(
        self, buffer: int, reports: Sequence[Report], *, missed: bool = False
    ) -> Mapping[str, float]:
        """By goal the worst margin that further runs at a buffer may have, from all runs that bear on it.

        Parameters
        ----------
        buffer : int
            In packets.
        reports : sequence of Report
            The runs there that are judged.
        missed : bool
            Whether the question is if goals are missed: then the best margin, where a goal is at least as hard to meet.
        """
        larger_goals = set(self.directions()[0]) if self.samples else set()
        found = {}
        for goal in self.goals:
            sign = -1.0 if missed else 1.0
            mean = mean_margin(goal, reports)
            elsewhere = [
                sign * margin for margin in self.easier(buffer, goal, needs_larger=(goal in larger_goals) != missed)
            ]
            margins = [sign * (mean + away) for away in self.deviations(buffer, goal)]
            found[goal.key] = sign * min([*elsewhere, *margins], default=math.inf)
        return found

    def nearby_runs(self, buffer: int) -> int:
        """Different runs of the search at buffers so near that a rare state would have shown in them."""
        near = (reports for at, reports in self.samples.items() if abs(math.log(at / buffer)) <= NEAR)
        return sum(different(reports) for reports in near)

    def missed_surely(self, buffer: int, goal: Goal, level: float) -> bool:
        """Whether runs at a buffer, and those where the goal is at least as hard to meet, exclude that it holds."""
        reports = self.samples.get(buffer, NOTHING)
        if not reports or self.derived(buffer, goal):
            return False
        test = self.plan.test
        if not isinstance(test, MeanTest) or not enough(different(reports), len(reports)):
            return test.verdict(reports, [goal], level) is Verdict.MISSED
        if len(reports) < FEWEST or self.nearby_runs(buffer) < self.plan.least_runs:
            return False
        best = self.worst_margins_near(buffer, reports, missed=True)[goal.key]
        return test.evidence_missed(reports, goal, best) >= level

    def not_excluded(self, level: float | None) -> list[tuple[int, int]]:
        """Intervals of buffers that no goal excludes, in rising order.

        A goal excludes neighboring measured buffers at which its mean is missed, and all between them, if the first and
        the last of them are clear of the noise. With a level, further runs at one of them must also exclude, at that
        level, that it holds. Buffers beyond the measured ones stay.
        """
        excluded = sorted(ends for goal in self.goals for ends in self._excluded_by(goal, level))
        found, first = [], self.plan.floor
        for low, high in excluded:
            if low > first:
                found.append((first, low - 1))
            first = max(first, high + 1)
        if first <= self.plan.ceiling:
            found.append((first, self.plan.ceiling))
        return found

    def _excluded_by(self, goal: Goal, level: float | None) -> Iterator[tuple[int, int]]:
        """Intervals of buffers at which one goal is missed."""
        rising = sorted(self.samples)
        missed = (
            (lambda at: self.samples[at].mean_margin(goal) < 0 and not self.derived(at, goal))
            if self._averages
            else (lambda at: self.misses(at, [goal]))
        )
        for short, run in itertools.groupby(rising, key=missed):
            if not short:
                continue
            clear = list(run)
            if level is not None and not any(self.missed_surely(at, goal, level) for at in clear):
                continue
            clear = [at for at in clear if self.misses(at, [goal]) or self.missed_surely(at, goal, level or CLEAR)]
            if clear:
                yield clear[0], clear[-1]

    def conclude(self, outcome: Outcome, runs: int, rounds: int, confirms: Callable[[int], bool]) -> None:
        """Conclude without an answer: prove that there is none, find one after all, or bound the buffer of one.

        Parameters
        ----------
        outcome : Outcome
            Where the result is written.
        runs : int
            Observations at each buffer that is looked at.
        rounds : int
            Buffers that are looked at, at most.
        confirms : callable
            Puts a buffer that seems to meet every goal to fresh runs, and writes the outcome where they confirm it.
        """
        level = 1 - (1 - self.plan.confidence) / max(rounds, 1)
        looked: set[int] = set()
        proofs = 0
        if self._averages:
            self._sample_around_best()
        while True:
            left, promising = self.not_excluded(level), [at for at in self.samples if self._seems_met(at)]
            if not left and not promising:
                nearest = self._unproven(level)
                if nearest is None:
                    outcome.excluded = {goal.key: [*self._excluded_by(goal, level)] for goal in self.goals}
                    if self._nothing_beyond(outcome.excluded):
                        outcome.impossible = True
                    elif self._look_further():
                        continue
                    else:
                        outcome.notes.append(end_of_range(self.plan))
                    return
                seen = len(self.samples[nearest])
                if proofs >= PROOFS or seen >= MOST_OF_A_PROOF * runs:
                    break
                # Every further condition makes a wrong proof rarer: it needs no part of the error.
                proofs += 1
                self.sample([nearest], max(runs, 2 * seen))
                continue
            fresh = [at for at in promising if at not in self._refused]
            if fresh and confirms(self._smallest_clear(fresh)):
                return
            at = self._most_telling(left) if left else None
            if at is None or at in looked or len(looked) >= rounds:
                break
            looked.add(at)
            self._listener.on_range(self.plan.words.between(left[0][0], left[-1][1]))
            self.sample([at], runs)
        outcome.between = self.undecided()

    def reach_further(self) -> bool:
        """Extend the range if larger buffers may meet every goal and runs can judge them; whether it was extended."""
        plan, top = self.plan, max(self.samples)
        if plan.furthest is None or plan.furthest <= plan.ceiling or self._ends_never_full():
            return False
        if any(self.samples[top].mean_margin(goal) < 0 for goal in plan.opposing):
            return False
        self.plan = replace(plan, ceiling=min(plan.furthest, FURTHER * plan.ceiling))
        return True

    def _look_further(self) -> bool:
        """Extend the range and look at its new part, without gaps where a peak may hide; whether it was extended."""
        top = max(self.samples)
        if not self.reach_further():
            return False
        self.sample(without_gaps([top, self.plan.ceiling], 2.0), 2)
        self._sample_around_best()
        return True

    def _nothing_beyond(self, excluded: Mapping[str, Sequence[tuple[int, int]]]) -> bool:
        """Whether no buffer beyond the range meets every goal, where none within it does.

        Either the largest buffer misses a goal that larger ones never meet, or it was never full: larger ones then give
        the same runs.
        """
        plan, top = self.plan, max(self.samples)
        if plan.furthest is None or plan.missed_later or self._ends_never_full():
            return True
        return any(low <= top <= high for goal in plan.opposing for low, high in excluded.get(goal.key, ()))

    def _ends_never_full(self) -> bool:
        """Whether the largest buffer was never full, neither in the measured time nor in the warm-up."""
        top, from_start = max(self.samples), self.plan.never_full_from_start
        return never_full(self.samples[top], self.plan) and (from_start is None or from_start(top))

    def _unproven(self, level: float) -> int | None:
        """The buffer that comes nearest to meeting all goals, unless its own runs exclude that it does."""
        nearest = self.compromise()
        if not self._averages or any(self.missed_surely(nearest, goal, level) for goal in self.goals):
            return None
        return nearest

    def show_ends(self, runs: int) -> None:
        """Have at least `runs` runs at the smallest, the nearest and the largest buffer, which a table shows."""
        if self._averages:
            self.sample([min(self.samples), self.compromise(), max(self.samples)], runs)

    def verdict_on(self, buffer: int, goal: Goal, outcome: Outcome) -> Verdict:
        """The verdict on one goal at a measured buffer: a goal in a proof is missed, and a derived goal is met."""
        if self.derived(buffer, goal):
            return Verdict.MET
        if any(low <= buffer <= high for low, high in outcome.excluded.get(goal.key, ())):
            return Verdict.MISSED
        found = self.together(buffer, [goal])
        if found is Verdict.MET and goal in self.plan.missed_later:
            return Verdict.UNCLEAR
        surely = found is Verdict.UNCLEAR and self._averages and self.missed_surely(buffer, goal, CLEAR)
        return Verdict.MISSED if surely else found

    def _sample_around_best(self) -> None:
        """Look between the buffer that comes nearest and its neighbors, so that no peak hides in a wide gap."""
        for _ in range(FILLS):
            best, rising = self.compromise(), sorted(self.samples)
            at = rising.index(best)
            gaps = [
                (low, high) for low, high in itertools.pairwise(rising[max(at - 1, 0) : at + 2]) if high > WIDEST * low
            ]
            if not gaps:
                return
            self.sample([round(math.sqrt(low * high)) for low, high in gaps], 2)

    def undecided(self) -> tuple[int, int]:
        """The interval that contains the smallest buffer that meets every goal, as far as is known."""
        left = self.not_excluded(None)
        if not left and not any(map(self._seems_met, self.samples)):
            return self._about_the_nearest()
        nearest = self.compromise()
        promising = [at for at in self.samples if self._seems_met(at)]
        # The nearest buffer may meet every goal, too, unless runs speak against it.
        promising += [] if self.misses(nearest, self.goals) else [nearest]
        ends = [*(end for ends in left for end in ends), *promising] or [self.plan.floor, self.plan.ceiling]
        met = [at for at in self.samples if at >= min(ends) and self.together(at, self.goals) is Verdict.MET]
        return self._without_misses(min(ends), min([max(ends), *met]))

    def _without_misses(self, low: int, high: int) -> tuple[int, int]:
        """An interval without the measured buffers at either end that miss a goal, if any other is left."""
        inside = [at for at in sorted(self.samples) if low <= at <= high]
        clear = [at for at in inside if not self._missed_by_any(at)]
        if not clear:
            return low, high
        # Below the smallest measured buffer and above the largest one nothing is known.
        below = [at + 1 for at in inside if at < clear[0] and min(self.samples) <= low]
        above = [at - 1 for at in inside if at > clear[-1] and max(self.samples) >= high]
        return max([low, *below]), min([high, *above])

    def _missed_by_any(self, buffer: int) -> bool:
        """Whether the verdict on a goal at a measured buffer is that it is missed."""
        return any(self.verdict_on(buffer, goal, Outcome()) is Verdict.MISSED for goal in self.goals)

    def _about_the_nearest(self) -> tuple[int, int]:
        """The interval about the nearest miss, up to its neighbors that miss a goal."""
        nearest = self.compromise()
        missing = [at for at in self.samples if at != nearest and self.misses(at, self.goals)]
        low = max((at + 1 for at in missing if at < nearest), default=self.plan.floor)
        return low, min((at - 1 for at in missing if at > nearest), default=self.plan.ceiling)

    def look_at(self, measured: Mapping[int, Sequence[Report]]) -> None:
        """Replace the samples with the measurements of other searches."""
        self.samples = {buffer: Replications(reports) for buffer, reports in measured.items()}

    def _smallest_clear(self, buffers: Sequence[int]) -> int:
        """The smallest of some buffers whose margin is at least half of the largest margin of them."""
        margins = {at: self.plan.test.margin(self.samples[at], self.goals) for at in buffers}
        return min(at for at, margin in margins.items() if 2 * margin >= max(margins.values()))

    def _seems_met(self, buffer: int) -> bool:
        """Whether the means of some runs at a buffer meet every goal."""
        met = self.plan.test.margin(self.samples[buffer], self.goals) >= 0
        return met and not self.misses(buffer, self.goals)

    def _most_telling(self, left: Sequence[tuple[int, int]]) -> int:
        """The buffer of those that are left at which a look may decide most: the nearest miss, or the middle."""
        inside = [at for at in self.samples if any(low <= at <= high for low, high in left)]
        top = max(self.samples)
        if left[-1][1] > top and all(low > top or high > top for low, high in left):
            return self.plan.ceiling
        if inside:
            return max(sorted(inside), key=lambda at: self.plan.test.margin(self.samples[at], self.goals))
        low, high = max(left, key=lambda ends: ends[1] / ends[0])
        return min(max(round(math.sqrt(low * high)), low), high)

    def decide(self, buffer: int, goals: Sequence[Goal]) -> Verdict:
        """Judge, with more replications for as long as the decision is unclear."""
        for replications in self.plan.analyses:
            self.sample([buffer], replications)
            verdict = self.together(buffer, goals)
            if verdict is not Verdict.UNCLEAR:
                return verdict
        return Verdict.UNCLEAR

    def _settle(self, buffer: int, goals: Sequence[Goal]) -> Verdict:
        """Judge after all interim analyses; replications that only repeat each other need no more of them."""
        if enough(different(self.samples[buffer]), len(self.samples[buffer])):
            self.sample([buffer], max(self.plan.analyses))
        return self.together(buffer, goals)

    def directions(self) -> tuple[list[Goal], list[Goal]]:
        """Goals that need a large buffer, and goals that need a small one, as measured."""
        larger_goals = [goal for goal in self.goals if self._needs_larger_buffer(goal)]
        return larger_goals, [goal for goal in self.goals if goal not in larger_goals]

    def _needs_larger_buffer(self, goal: Goal) -> bool:
        """Whether more buffer brings a goal nearer in the end, though the smallest may meet it as well."""
        margins = {buffer: goal.margin(self.mean(buffer, goal)) for buffer in self.samples}
        low, high = margins[min(margins)], margins[max(margins)]
        return high >= low or (high >= 0 and min(margins.values()) < 0)

    def misses(self, buffer: int, goals: Sequence[Goal], level: float = SURE) -> bool:
        """Whether a buffer surely misses goals, one among many that could seem to."""
        verdict = self._mean_verdict(buffer, goals, level) if self._averages else self.together(buffer, goals)
        return verdict is Verdict.MISSED

    def upper_end(self, answer: int) -> tuple[int, int | None]:
        """The buffers above the answer up to which every goal holds without a gap, from the measured buffers."""
        last = answer
        verdicts = {buffer: self.together(buffer, self.goals) for buffer in sorted(self.samples) if buffer > answer}
        met = [buffer for buffer, verdict in verdicts.items() if verdict is Verdict.MET]
        for buffer, verdict in verdicts.items():
            if verdict is Verdict.UNCLEAR and not self._averages:
                return last, buffer
            # Below a buffer that meets the goals again a miss may be noise.
            if verdict is Verdict.MISSED and (not met or buffer > met[-1] or self.misses(buffer, self.goals)):
                return last, buffer
            last = buffer if verdict is Verdict.MET else last
        return last, None

    def compromise(self, between: tuple[int, int] | None = None) -> int:
        """The measured buffer that comes nearest to meeting all goals; of equal ones the smallest.

        Parameters
        ----------
        between : (int, int), optional
            Ends of a range that the buffer is in if any was measured there.
        """
        known = sorted(self.samples)
        if between is not None:
            known = [at for at in known if between[0] <= at <= between[1]] or known
        return max(known, key=lambda buffer: self.plan.test.margin(self.samples[buffer], self.goals))


#: Logarithm of a buffer, and the margin of each replication there.
_Placed = tuple[float, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class _Following:
    """Values derived from these replications on demand: their margins, and the noise near buffers."""

    samples: Mapping[int, Replications]
    margins: dict[Goal, list[_Placed]] = field(default_factory=dict)
    noises: dict[tuple[Goal, int], Noise] = field(default_factory=dict)

    def placed(self, goal: Goal) -> list[_Placed]:
        """The margins of a goal, by buffer."""
        if goal not in self.margins:
            self.margins[goal] = [(math.log(at), reports.margins(goal)) for at, reports in self.samples.items()]
        return self.margins[goal]


def _points(placed: Iterable[_Placed]) -> list[Point]:
    return [(at, margin) for at, margins in placed for margin in margins]
