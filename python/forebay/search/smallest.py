"""The smallest buffer that meets the goals, found on noisy measurements.

The search knows nothing of engines: it asks for (buffer, replication) pairs and gets reports back, so it is tested
on systems whose answer is known. It never asks for the same pair twice. Replication r uses the same random streams
at every buffer (common random numbers).

Statistics of the search. At one buffer a judge calls goals met when the one-sided bound over the replications clears
them, and missed when the opposite bound does; in between, replications are added at fixed looks, each look at its
share of the error probability (Bonferroni). All goals have to hold at once, which costs no further correction (an
intersection of one-sided tests). Because the search picks the buffer that looked
good, its own samples flatter that buffer; the answer is therefore confirmed on fresh replications which the search
has not seen, and the confidence that is reported comes from those alone. A refused confirmation moves on to a
larger buffer at half the error probability, so the total stays within the stated level. Replications that repeat each
other to the last bit are one observation: where most of the fresh ones do, no confidence is stated at all.

Curves that fall again. A curve need not be monotone: goals that ask for room may hold at a buffer, be missed at a
larger one and hold again above. Whoever types a number into a router wants what lies above it to be safe, so the
search works down from the largest buffer and answers with the smallest from which on the goals keep holding; smaller
buffers that meet them, too, below such a gap, are named, and are the answer only where nothing above the gap is.
A gap is believed after all looks.

What to measure next. The first look takes the buffers that the closed forms ask for, which lie around most answers,
and fills the gaps between them; the edge between two measured buffers is looked for where the line through their
margins crosses zero. Neither can make an answer wrong, only slow.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from forebay import statistics
from forebay.formatting import confidence as confidence_text
from forebay.goals import Goal, distinct, metric_value
from forebay.report import Report
from forebay.search.independence import different, enough
from forebay.search.judging import AverageJudge, Judge, Verdict
from forebay.warning import Kind, Warning

__all__ = ["Outcome", "Plan", "Search"]

Reports = Sequence[Report]


class Measure(Protocol):
    """Whatever can run replications of the scenario at a buffer."""

    def __call__(self, pairs: Sequence[tuple[int, int]]) -> list[Report]:
        """Return one report per (buffer in packets, replication) pair, in the order asked."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How hard the search looks.

    Attributes
    ----------
    smallest, largest : int
        Range of the first look, in packets; the search goes on above it where the goals ask for more.
    ceiling : int
        Largest buffer that is ever tried.
    gap : float
        The first look leaves no larger factor between neighboring buffers, so that nothing hides between them.
    resolution : float
        The answer is the smallest buffer to within this fraction of itself (or one packet).
    looks : tuple of int
        Replications at the first and each further look.
    confirmations : int
        Buffers that may be put to the fresh replications before the search gives up.
    confidence : float
        One-sided confidence that the whole procedure keeps.
    also : tuple of int
        Buffers to measure in any case, such as those of the rules.
    judge : Judge
        When goals count as met.
    """

    smallest: int
    largest: int
    ceiling: int
    gap: float = 4.0
    resolution: float = 0.05
    looks: tuple[int, ...] = (4, 8, 16)
    confirmations: int = 6
    confidence: float = 0.95
    also: tuple[int, ...] = ()
    judge: Judge = field(default_factory=AverageJudge)

    def __post_init__(self) -> None:
        if not 1 <= self.smallest <= self.largest <= self.ceiling:
            msg = f"expected 1 <= smallest <= largest <= ceiling, found {self.smallest}, {self.largest}, {self.ceiling}"
            raise ValueError(msg)
        if not self.looks or list(self.looks) != sorted(set(self.looks)) or self.looks[0] < 2:
            msg = f"looks must rise from at least 2 replications, found {self.looks}"
            raise ValueError(msg)


@dataclass(slots=True)
class Outcome:
    """What the search found.

    Attributes
    ----------
    buffer : int or None
        Smallest buffer that meets every goal, in packets; None where there is none.
    confidence : float or None
        One-sided confidence that all goals hold at `buffer` (0 where there is none); None where the fresh replications
        repeat each other and can carry none.
    confirmation : sequence of reports
        The fresh replications that `confidence` rests on.
    binding : str or None
        The key of the goal that keeps the buffer from being smaller (or, without an answer, the goal that fails).
    up_to : tuple of (int, int or None)
        With an answer: the largest buffer known to meet every goal without a gap, and the smallest above it that does
        not (None where all larger ones that were measured do).
    needs_at_least : tuple of (keys of goals, buffer)
        What the goals that ask for a large buffer need together; buffer None where no tried buffer is enough.
    needs_at_most : tuple of (keys of goals, buffer)
        What the goals that ask for a small buffer allow together; buffer None where even the smallest is too
        large, and where there are no such goals.
    compromise : int or None
        Without an answer: the measured buffer whose worst relative miss is smallest.
    gaps : tuple of (int, str)
        With an answer: measured buffers above it at which a goal that asks for room is missed, with the goal's key.
    islands : tuple of (int, int)
        With an answer: measured buffers below it that meet every goal, each with a larger one, below the answer, that
        misses some.
    notes : list of Warning
        What the reader should know: unclear decisions, refused confirmations.
    """

    buffer: int | None = None
    confidence: float | None = 0.0
    confirmation: Reports = ()
    binding: str | None = None
    up_to: tuple[int, int | None] = (0, None)
    needs_at_least: tuple[tuple[str, ...], int | None] = ((), None)
    needs_at_most: tuple[tuple[str, ...], int | None] = ((), None)
    compromise: int | None = None
    gaps: tuple[tuple[int, str], ...] = ()
    islands: tuple[tuple[int, int], ...] = ()
    notes: list[Warning] = field(default_factory=list)


class Search:
    """One search; its `samples` are what the table, the curve and the picture show afterwards.

    Parameters
    ----------
    measure : Measure
        Runs replications.
    goals : sequence of Goal
        At least one.
    plan : Plan
        Range, resolution and replications.
    expect : callable, optional
        Told how many replications are still expected, whenever that estimate changes.
    """

    def __init__(
        self,
        measure: Measure,
        goals: Sequence[Goal],
        plan: Plan,
        expect: Callable[[int], None] | None = None,
    ) -> None:
        if not goals:
            msg = "a search needs at least one goal"
            raise ValueError(msg)
        self.measure = measure
        self.goals = tuple(distinct(goals))
        self.plan = plan
        self.samples: dict[int, list[Report]] = {}
        self._expect = expect or (lambda _count: None)
        self._refused: set[int] = set()
        self._refused_as_too_large: int | None = None
        self._attempts = 0
        self._level = 1 - (1 - plan.confidence) / len(plan.looks)

    # Measuring -----------------------------------------------------------------------------------------------

    def sample(self, buffers: Iterable[int], replications: int) -> None:
        """Have at least `replications` at each buffer, all missing ones in one batch."""
        missing = [
            (buffer, replication)
            for buffer in sorted(set(buffers))
            for replication in range(len(self.samples.get(buffer, ())), replications)
        ]
        if not missing:
            return
        for (buffer, _), report in zip(missing, self.measure(missing), strict=True):
            self.samples.setdefault(buffer, []).append(report)

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
        return self.plan.judge.verdict(self.samples[buffer], goals, self._level)

    def decide(self, buffer: int, goals: Sequence[Goal]) -> Verdict:
        """Judge, with more replications for as long as the decision is unclear."""
        for replications in self.plan.looks:
            self.sample([buffer], replications)
            verdict = self.together(buffer, goals)
            if verdict is not Verdict.UNCLEAR:
                return verdict
        return Verdict.UNCLEAR

    # Searching -----------------------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Search, confirm, and explain where there is no answer."""
        self._first_look()
        room, small = self._directions()
        outcome = Outcome()
        enough = self._smallest_enough(room, outcome)
        outcome.needs_at_least = (tuple(goal.key for goal in room), enough)
        if enough is None:
            outcome.binding = self._worst(max(self.samples), room).key
        else:
            self._confirm(enough, room, outcome)
            if outcome.buffer is None:
                self._try_island(self._meeting(enough), room, outcome)
        if outcome.buffer is None:
            known = set(self.samples)
            self._largest_allowed(small, outcome)
            # Its looks may have met with what the first ones had stepped over.
            met = [buffer for buffer in self._meeting(self.plan.ceiling + 1) if buffer not in known]
            self._try_island(met, room, outcome)
        if outcome.buffer is None:
            outcome.compromise = self._compromise()
        else:
            outcome.up_to = self._upper_end(outcome.buffer)
            outcome.islands = tuple(self._islands(outcome.buffer))
            outcome.gaps = tuple(self._gaps(outcome.buffer, room))
        return outcome

    def _first_look(self) -> None:
        plan = self.plan
        also = {buffer for buffer in plan.also if plan.smallest <= buffer <= plan.ceiling}
        start = _without_gaps(sorted({plan.smallest, plan.largest, *also}), plan.gap)
        self._expect(len(start) * plan.looks[0] + self._bisection_cost(plan.largest / plan.smallest))
        self.sample(start, plan.looks[0])

    def _directions(self) -> tuple[list[Goal], list[Goal]]:
        """Goals that ask for a large buffer, and goals that ask for a small one, as measured."""
        low, high = min(self.samples), max(self.samples)
        room = [goal for goal in self.goals if goal.margin(self.mean(high, goal)) >= goal.margin(self.mean(low, goal))]
        return room, [goal for goal in self.goals if goal not in room]

    def _smallest_enough(self, room: Sequence[Goal], outcome: Outcome) -> int | None:
        """Smallest buffer from which on the goals that need room are met, to within the resolution."""
        if not room:
            return min(self.samples)
        top = max(self.samples)
        while self.decide(top, room) is not Verdict.MET:
            island = self._island(room)
            if island is not None:
                text = f"goals that {island} packets meet are missed again at {top} packets"
                outcome.notes.append(Warning(Kind.MISSED_AGAIN, text, values={"met_at": island, "missed_at": top}))
                top = island
                break
            if top >= self.plan.ceiling:
                return None
            top = min(2 * top, self.plan.ceiling)
            self.sample([top], self.plan.looks[0])
        return self._lower_edge(top, room, outcome)

    def _lower_edge(self, top: int, room: Sequence[Goal], outcome: Outcome) -> int:
        """Smallest buffer from which on up to `top` the goals that need room are met, to within the resolution."""
        short = [buffer for buffer in self.samples if buffer < top and self.together(buffer, room) is not Verdict.MET]
        # A first look that is unclear may become clear with more replications: work down from the top.
        for buffer in sorted(short, reverse=True):
            if self._falls_short(buffer, room):
                low = buffer
                break
        else:
            return min(self.samples)
        high = min(buffer for buffer in self.samples if buffer > low)
        low, high = self._narrow(low, high, room, Verdict.MET)
        outcome.binding = self._worst(low, room).key
        return high

    def _falls_short(self, buffer: int, room: Sequence[Goal]) -> bool:
        """Whether a buffer does not meet goals; after all looks where smaller ones do, so that the curve would fall."""
        if self.decide(buffer, room) is Verdict.MET:
            return False
        smaller = (other for other in self.samples if other < buffer)
        if any(self.together(other, room) is Verdict.MET for other in smaller):
            return self._settle(buffer, room) is not Verdict.MET
        return True

    def _settle(self, buffer: int, goals: Sequence[Goal]) -> Verdict:
        """Judge after all looks; replications that only repeat each other need no more of them."""
        if enough(different(self.samples[buffer]), len(self.samples[buffer])):
            self.sample([buffer], max(self.plan.looks))
        return self.together(buffer, goals)

    def _island(self, room: Sequence[Goal]) -> int | None:
        """The largest measured buffer that meets every goal although the largest of all misses some."""
        for buffer in self._meeting(max(self.samples)):
            if self.decide(buffer, room) is Verdict.MET:
                return buffer
        return None

    def _meeting(self, below: int) -> list[int]:
        """Measured buffers below one that meet every goal, the largest first."""
        smaller = (buffer for buffer in self.samples if buffer < below)
        return sorted((at for at in smaller if self.together(at, self.goals) is Verdict.MET), reverse=True)

    def _try_island(self, buffers: Sequence[int], room: Sequence[Goal], outcome: Outcome) -> None:
        """Where nothing was confirmed: the first of these, which meet every goal, that does so after all looks."""
        for buffer in buffers:
            if buffer not in self._refused and self._settle(buffer, self.goals) is Verdict.MET:
                break
        else:
            return
        before, needs = outcome.binding, outcome.needs_at_least
        self._confirm(self._lower_edge(buffer, room, outcome), room, outcome)
        if outcome.buffer is None:
            outcome.binding, outcome.needs_at_least = before, needs

    def _islands(self, answer: int) -> Iterator[tuple[int, int]]:
        """Smaller buffers that meet every goal, each with the largest below the answer that misses some."""
        smaller = sorted((buffer for buffer in self.samples if buffer < answer), reverse=True)
        broken = None
        for buffer in smaller:
            if buffer in self._refused:
                continue
            verdict = self.together(buffer, self.goals)
            if verdict is Verdict.MISSED and broken is None and self._settle(buffer, self.goals) is Verdict.MISSED:
                broken = buffer
            elif verdict is Verdict.MET and broken is not None and self._settle(buffer, self.goals) is Verdict.MET:
                yield buffer, broken

    def _gaps(self, answer: int, room: Sequence[Goal]) -> Iterator[tuple[int, str]]:
        """Larger buffers that miss a goal which asks for room, each with the goal that is missed most."""
        for buffer in sorted(buffer for buffer in self.samples if buffer > answer):
            if room and self.together(buffer, room) is Verdict.MISSED and self._settle(buffer, room) is Verdict.MISSED:
                yield buffer, self._worst(buffer, room).key

    def _narrow(self, low: int, high: int, goals: Sequence[Goal], above: Verdict) -> tuple[int, int]:
        """Close in on the edge between two buffers of which only one meets the goals: `high` where `above` is MET."""
        steps = 0
        while not self._resolved(low, high):
            self._expect(self._bisection_cost(high / low))
            middle = self._next(low, high, goals, steps)
            steps += 1
            if (self.decide(middle, goals) is Verdict.MET) == (above is Verdict.MET):
                high = middle
            else:
                low = middle
        return low, high

    def _next(self, low: int, high: int, goals: Sequence[Goal], steps: int) -> int:
        """Where to look next: next to where the margins say that the edge is, every third time in the middle."""
        one, other = (self.plan.judge.margin(self.samples[buffer], goals) for buffer in (low, high))
        if steps % 3 == 2 or one * other >= 0:
            return _between(low, high)
        edge = math.exp(math.log(low) + one / (one - other) * math.log(high / low))
        # Half a resolution off the edge, first on the side of the end that is further away: two such looks settle it.
        away = 1 + 0.5 * self.plan.resolution
        above, below = math.ceil(edge * away), math.floor(edge / away)
        first, second = (above, below) if high / edge >= edge / low else (below, above)
        for candidate in (first, second):
            if low < candidate < high:
                return candidate
        return _between(low, high)

    def _upper_end(self, answer: int) -> tuple[int, int | None]:
        """How far above the answer every goal holds without a gap, from the buffers that the search measured."""
        last = answer
        for buffer in sorted(buffer for buffer in self.samples if buffer > answer):
            if self.together(buffer, self.goals) is not Verdict.MET:
                return last, buffer
            last = buffer
        return last, None

    def _largest_allowed(self, small: Sequence[Goal], outcome: Outcome) -> None:
        """Largest buffer up to which the goals that ask for a small one are met, to within the resolution."""
        outcome.needs_at_most = (tuple(goal.key for goal in small), None)
        if not small:
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

    def _confirm(self, start: int, room: Sequence[Goal], outcome: Outcome) -> None:
        """Put the found buffer to fresh replications; step up where they refuse it."""
        plan = self.plan
        small = [goal for goal in self.goals if goal not in room]
        buffer = start
        while self._attempts < plan.confirmations:
            if small and self.decide(buffer, small) is not Verdict.MET:
                outcome.binding = self._worst(buffer, small).key
                return
            self._attempts += 1
            # The k-th attempt spends 2^-k of the error probability: the sum stays below the whole of it.
            needed = 1 - (1 - plan.confidence) / 2**self._attempts
            weakest = self._put_to_the_test(buffer, needed, outcome)
            if weakest is None:
                return
            self._refused.add(buffer)
            outcome.binding = weakest
            if weakest not in {goal.key for goal in room}:
                self._refused_as_too_large = buffer
                return
            # The first two steps are as fine as the search, the later ones ever longer.
            factor = (1 + plan.resolution) ** (self._attempts if self._attempts > 2 else 1)
            buffer = self._step_up(buffer, factor, room)
            outcome.needs_at_least = (outcome.needs_at_least[0], buffer if buffer <= plan.ceiling else None)
            if buffer > plan.ceiling or buffer in self._refused:
                break
        text = "no buffer was confirmed: the goals sit on the edge of what the link can do"
        outcome.notes.append(Warning(Kind.NO_MARGIN, text))

    def _put_to_the_test(self, buffer: int, needed: float, outcome: Outcome) -> str | None:
        """Confirm a buffer on fresh replications, or name the goal that they do not confirm and note it."""
        judge = self.plan.judge
        unseen = max(self.plan.looks)
        fresh = range(unseen, unseen + judge.confirmations(len(self.samples[buffer]), needed))
        self._expect(len(fresh))
        reports = self.measure([(buffer, replication) for replication in fresh])
        confidences = judge.confidences(reports, self.goals)
        weakest = min(self.goals, key=lambda goal: (confidences[goal.key], judge.margin(reports, [goal]))).key
        if enough(different(reports), len(reports)):
            confirmed = confidences[weakest] >= needed
            confidence = 1 - (1 - confidences[weakest]) * 2**self._attempts
        else:
            # Hardly more than one observation: what it says is all there is, and nothing says how surely.
            confirmed, confidence = judge.margin(reports, self.goals) >= 0, None
        if confirmed:
            outcome.buffer, outcome.confirmation, outcome.confidence = buffer, reports, confidence
            return None
        outcome.notes.append(self._refusal(buffer, len(reports), weakest, (confidences[weakest], needed)))
        return weakest

    def _refusal(self, buffer: int, replications: int, goal: str, found: tuple[float, float]) -> Warning:
        """What is said of a buffer that fresh replications did not confirm, with the confidence found and needed."""
        confidence, needed = found
        text = (
            f"{buffer} packets met every goal in the search, but {replications} fresh replications did not confirm "
            f"`{goal}`: {confidence_text(confidence, 2)} confidence, where attempt {self._attempts} of a search that "
            f"claims {100 * self.plan.confidence:g} % needs {100 * needed:.5g} %"
        )
        values = {"packets": buffer, "replications": replications, "confidence": confidence, "needed": needed}
        return Warning(Kind.REFUSED, text, subject=goal, values=values)

    def _step_up(self, buffer: int, factor: float, room: Sequence[Goal]) -> int:
        """Next buffer, at least `factor` times as large, that meets the goals which need room."""
        larger = math.ceil(buffer * factor)
        while larger <= self.plan.ceiling and self.decide(larger, room) is not Verdict.MET:
            larger = math.ceil(larger * factor)
        return larger

    # Judging -------------------------------------------------------------------------------------------------

    def _resolved(self, low: int, high: int) -> bool:
        return high - low <= 1 or high <= low * (1 + self.plan.resolution)

    def _bisection_cost(self, ratio: float) -> int:
        """Replications that narrowing a bracket of this ratio and confirming the answer usually takes."""
        steps = math.log(max(ratio, 1 + self.plan.resolution)) / math.log1p(self.plan.resolution)
        return math.ceil(math.log2(max(steps, 1.0)) * 1.5 * self.plan.looks[0]) + 8

    def _worst(self, buffer: int, goals: Sequence[Goal]) -> Goal:
        """The goal that is least certain at a buffer."""
        found = self.plan.judge.confidences(self.samples[buffer], goals)
        return min(goals, key=lambda goal: (found[goal.key], goal.margin(self.mean(buffer, goal))))

    def _compromise(self) -> int:
        """The measured buffer that comes nearest to meeting all goals; of equal ones the smallest."""
        return max(sorted(self.samples), key=lambda buffer: self.plan.judge.margin(self.samples[buffer], self.goals))


def _between(low: int, high: int) -> int:
    """The integer nearest the geometric mean, which lies strictly between two that are no neighbors."""
    return round(math.sqrt(low * high))


def _without_gaps(buffers: Sequence[int], gap: float) -> list[int]:
    """The buffers in rising order, with as many in between as leave no larger factor than `gap`."""
    filled = set(buffers)
    for low, high in itertools.pairwise(buffers):
        pieces = math.ceil(math.log(high / low) / math.log(gap) - 1e-9)
        if pieces > 1:
            filled.update(statistics.log_spaced(low, high, pieces + 1))
    return sorted(filled)
