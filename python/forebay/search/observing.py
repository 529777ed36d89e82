"""What a search has seen so far, how sure that is, and how it sees more."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from forebay import statistics
from forebay.goals import Goal, distinct, metric_value
from forebay.report import Report
from forebay.search.approach import NEAR, SURE
from forebay.search.crossing import Noise, Point, scatter
from forebay.search.independence import different, enough
from forebay.search.judging import Replications, Verdict
from forebay.search.plan import Measure, Outcome, Plan

__all__ = ["Observing"]

#: One-sided level at which a margin is clear while the search goes on; what it leads to is confirmed.
CLEAR = 0.95
#: Degrees of freedom of the noise: so many from nearby are enough, else as many with those of buffers further off.
ENOUGH, DEGREES = 3, 2
NOTHING = Replications()


class Observing:
    """Replications at buffers, and what they say of the goals.

    Parameters
    ----------
    measure : Measure
        Runs replications.
    goals : sequence of Goal
        At least one.
    plan : Plan
        Where and how often to look, and who judges.
    expect : callable, optional
        Told how many replications are still expected, whenever that estimate changes.
    known : callable, optional
        Told what is known of the answer so far, as in "between 40 and 90 packets", whenever that changes.

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
        known: Callable[[str], object] | None = None,
    ) -> None:
        if not goals:
            msg = "a search needs at least one goal"
            raise ValueError(msg)
        self.measure = measure
        self.goals = tuple(distinct(goals))
        self.plan = plan
        self._expect = expect or (lambda _count: None)
        self._known = known or (lambda _words: None)
        self.samples: dict[int, Replications] = {}
        #: Buffers that fresh replications did not confirm.
        self._refused: set[int] = set()
        #: Whether one replication is an observation of the margin.
        self._averages = plan.judge.averages
        #: Replications so far by buffer and whether they were fresh.
        self._taken: Counter[tuple[int, bool]] = Counter()
        self._level = 1 - (1 - plan.confidence) / len(plan.looks)
        self._following = _Following({})
        #: The scatter of margins that it was asked for, which are often the same although others were seen elsewhere.
        self._scatters: dict[tuple[_Placed, ...], Noise] = {}

    def run(self) -> Outcome:
        """Measure what is measured in any case; who searches goes on."""
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
        """Add replications to what was seen."""
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
        """What follows from what was seen: nothing of it is kept once anything else was."""
        if self._following.samples != self.samples:
            self._following = _Following(dict(self.samples))
        return self._following

    def _noise(self, goal: Goal, buffer: int) -> Noise:
        nearby = self._scatter(goal, buffer)
        total, degrees = nearby.variance * nearby.degrees, nearby.degrees
        if degrees >= ENOUGH:
            return nearby
        margin, far = self.plan.judge.margin, []
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
        """How far margins lie from the curve near a buffer, on the scale of its logarithm."""
        near = self._placed_near(goal, buffer)
        found = self._scatters.get(near)
        if found is None:
            found = self._scatters[near] = scatter(_points(near))
        return found

    def _placed_near(self, goal: Goal, buffer: int) -> tuple[_Placed, ...]:
        place, placed = math.log(buffer), self._follows().placed(goal)
        return tuple([each for each in placed if abs(each[0] - place) <= NEAR])

    def _nearby(self, goal: Goal, buffer: int) -> list[Point]:
        """Logarithm of the buffer and margin of each replication near a buffer."""
        return _points(self._placed_near(goal, buffer))

    def values(self, buffer: int, goal: Goal) -> list[float]:
        """What each replication at `buffer` says about the goal's metric."""
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
            return self._apart(buffer, goals)
        return self.plan.judge.verdict(self.samples[buffer], goals, self._level)

    def _apart(self, buffer: int, goals: Sequence[Goal], level: float | None = None) -> Verdict:
        """Whether margins are further from 0 than the noise nearby lets a mean of so many replications be."""
        reports, verdict = self.samples[buffer], Verdict.MET
        if level is None:
            level = self._level if len(reports) >= max(self.plan.looks) else CLEAR
        for goal in goals:
            noise = self.noise(goal, buffer)
            if not noise.degrees:
                return Verdict.UNCLEAR
            margin = self.plan.judge.margin(reports, [goal])
            error = math.sqrt(noise.variance / len(reports))
            limit = statistics.student_quantile(level, noise.degrees) * error if error else 0.0
            if margin < 0 and margin <= -limit:
                return Verdict.MISSED
            if margin < limit:
                verdict = Verdict.UNCLEAR
        return verdict

    def decide(self, buffer: int, goals: Sequence[Goal]) -> Verdict:
        """Judge, with more replications for as long as the decision is unclear."""
        for replications in self.plan.looks:
            self.sample([buffer], replications)
            verdict = self.together(buffer, goals)
            if verdict is not Verdict.UNCLEAR:
                return verdict
        return Verdict.UNCLEAR

    def _settle(self, buffer: int, goals: Sequence[Goal]) -> Verdict:
        """Judge after all looks; replications that only repeat each other need no more of them."""
        if enough(different(self.samples[buffer]), len(self.samples[buffer])):
            self.sample([buffer], max(self.plan.looks))
        return self.together(buffer, goals)

    def directions(self) -> tuple[list[Goal], list[Goal]]:
        """Goals that ask for a large buffer, and goals that ask for a small one, as measured."""
        room = [goal for goal in self.goals if self._asks_for_room(goal)]
        return room, [goal for goal in self.goals if goal not in room]

    def _asks_for_room(self, goal: Goal) -> bool:
        """Whether more buffer brings a goal nearer in the end, though the smallest may meet it as well."""
        margins = {buffer: goal.margin(self.mean(buffer, goal)) for buffer in self.samples}
        low, high = margins[min(margins)], margins[max(margins)]
        return high >= low or (high >= 0 and min(margins.values()) < 0)

    def misses(self, buffer: int, goals: Sequence[Goal], level: float = SURE) -> bool:
        """Whether a buffer surely misses goals, one among many that could seem to."""
        verdict = self._apart(buffer, goals, level) if self._averages else self.together(buffer, goals)
        return verdict is Verdict.MISSED

    def upper_end(self, answer: int) -> tuple[int, int | None]:
        """How far above the answer every goal holds without a gap, from the buffers that the search measured."""
        last = answer
        for buffer in sorted(buffer for buffer in self.samples if buffer > answer):
            verdict = self.together(buffer, self.goals)
            if verdict is Verdict.MISSED or (verdict is Verdict.UNCLEAR and not self._averages):
                return last, buffer
            last = buffer if verdict is Verdict.MET else last
        return last, None

    def compromise(self) -> int:
        """The measured buffer that comes nearest to meeting all goals; of equal ones the smallest."""
        return max(sorted(self.samples), key=lambda buffer: self.plan.judge.margin(self.samples[buffer], self.goals))


#: Logarithm of a buffer, and the margin of each replication there.
_Placed = tuple[float, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class _Following:
    """What follows from these replications, as it is asked for: their margins, and the noise near buffers."""

    samples: Mapping[int, Replications]
    margins: dict[Goal, list[_Placed]] = field(default_factory=dict)
    noises: dict[tuple[Goal, int], Noise] = field(default_factory=dict)

    def placed(self, goal: Goal) -> list[_Placed]:
        """By buffer."""
        if goal not in self.margins:
            self.margins[goal] = [(math.log(at), reports.margins(goal)) for at, reports in self.samples.items()]
        return self.margins[goal]


def _points(placed: Iterable[_Placed]) -> list[Point]:
    return [(at, margin) for at, margins in placed for margin in margins]
