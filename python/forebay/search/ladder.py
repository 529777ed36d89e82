"""A range for links whose runs take long: smaller links of the same kind first, then single runs of the whole link.

Searches on two smaller links (`scaling`) say about which buffer the whole link needs, with an error. These are brackets
and no evidence. Runs of the whole link then close in on the threshold from both sides; each run is judged by the noise
that the smaller links had at that margin. The range that remains is the answer when the time is over. A buffer is only
called sufficient after fresh runs of the whole link.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from forebay.inputs.goals import Goal
from forebay.search.goal_test import Verdict
from forebay.search.listener import SILENT, Listener
from forebay.search.noisy_root import Noise
from forebay.search.plan import Measure, Outcome, Plan
from forebay.search.quick import ROUNDS, QuickLook
from forebay.search.search_state import ENOUGH, SearchState

__all__ = ["Guess", "Ladder", "Rung", "ScaledLook", "Scatter", "extrapolated", "factors", "larger_buffer_goals_of"]

#: Powers of the size with which the smallest sufficient buffer changes, in packets. With 1 it is the same time, as for
#: flows in step; with 0 it is the same number of packets. It is below 0 if a burst of one flow is large for the smaller
#: link.
POWERS = (-0.5, 1.0)
#: Factor about the extrapolated buffer that its interval is at least, and at which the first runs of the whole link are
#: at most.
NARROWEST, FIRST = 1.5, 2.0
#: Factor of each step towards the threshold, and of one away from it beyond a buffer that is on the right side but not
#: clear of the noise.
STEP, CLEARER = 4.0, 2.0
#: Factor between neighboring measured buffers in the range below which no run is made between them.
NARROW = 1.3
#: Degrees of freedom of the noise that smaller links give, at least.
DEGREES = 6
#: Runs at the threshold of a smaller link, and at each other buffer there; they tell the noise.
REPEATED, EACH = 5, 3
#: Confirmations that may be refused before the search ends.
ATTEMPTS = 3
#: Runs of a search on a smaller link, about; the share of the time that the larger one of two may take; how many times
#: as large it is as the other one.
RUNS, SHARE, APART = 40, 0.25, 4


@dataclass(frozen=True, slots=True)
class Scatter:
    """Runs at one buffer: their mean margin, the sum of squares about it, and its degrees of freedom."""

    margin: float
    squares: float
    degrees: int


@dataclass(frozen=True, slots=True)
class Rung:
    """The smallest sufficient buffer of a smaller link.

    Attributes
    ----------
    factor : int
        Factor by which the whole link has more rate and more flows.
    low, at, high : float
        Ends of its interval and its best estimate, in packets.
    scatters : mapping
        Distances of the margins of single runs from their mean at each measured buffer, by the key of the goal.
    larger_buffer_goals : frozenset of str
        Keys of the goals that need a large buffer.
    """

    factor: int
    low: float
    at: float
    high: float
    scatters: Mapping[str, Sequence[Scatter]]
    larger_buffer_goals: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Guess:
    """The interval of buffers in which smaller links place the smallest sufficient one, in packets.

    Attributes
    ----------
    low, at, high : float
        Ends and middle that the extrapolation gives.
    least, most : float
        Ends under the widest assumption, the powers `POWERS` of the size.
    scatters : mapping
        Distances of the margins of single runs from their mean at each measured buffer, by the key of the goal.
    larger_buffer_goals : frozenset of str
        Keys of the goals that need a large buffer.
    rungs : tuple of Rung
        The measured smaller links.
    """

    low: float
    at: float
    high: float
    least: float
    most: float
    scatters: Mapping[str, Sequence[Scatter]] = field(default_factory=dict)
    larger_buffer_goals: frozenset[str] = frozenset()
    rungs: tuple[Rung, ...] = ()

    def noise(self, goal: Goal, margin: float) -> Noise:
        """The noise of one run whose margin is `margin`.

        Noise changes with the margin rather than the buffer: towards a full link, or no loss, it vanishes.
        """
        total, degrees = 0.0, 0
        for each in sorted(self.scatters.get(goal.key, ()), key=lambda each: abs(each.margin - margin)):
            if degrees >= DEGREES:
                break
            total += each.squares
            degrees += each.degrees
        return Noise(total / degrees if degrees else 0.0, degrees)


def factors(largest: int, run_s: float, within_s: float) -> list[int]:
    """Return the factors by which smaller links are scaled down, the smallest link first.

    Parameters
    ----------
    largest : int
        Largest factor that the scenario allows.
    run_s : float
        Seconds that a run of the whole link takes on all cores together.
    within_s : float
        Seconds in which the answer is wanted.

    Returns
    -------
    list of int
        Two factors, or one or none where the scenario does not allow more.
    """
    affordable = max(2, math.ceil(RUNS * run_s / (SHARE * within_s)))
    if affordable > largest:
        return []
    return [APART * affordable, affordable] if APART * affordable <= largest else [affordable]


def extrapolated(rungs: Sequence[Rung]) -> Guess | None:
    """Extrapolate smaller links to the whole one, as a power of the size.

    Parameters
    ----------
    rungs : sequence of Rung
        From the smallest link to the largest, at most two.

    Returns
    -------
    Guess or None
        None without rungs.
    """
    if not rungs:
        return None
    last = rungs[-1]
    size, place = math.log(last.factor), math.log(last.at)
    error = _half_width(last)
    least, most = last.low * last.factor ** POWERS[0], last.high * last.factor ** POWERS[1]
    if len(rungs) == 1:
        center, spread = place + size * sum(POWERS) / 2, error + size * (POWERS[1] - POWERS[0]) / 2
    else:
        first = rungs[-2]
        step = math.log(first.factor / last.factor)
        power = min(max((place - math.log(first.at)) / step, POWERS[0]), POWERS[1])
        doubt = min(math.hypot(error, _half_width(first)) / step, 0.5)
        center, spread = place + power * size, math.hypot(error, doubt * size)
    spread = max(spread, math.log(NARROWEST))
    low = max(math.exp(center - spread), least, 1.0)
    high = max(low, min(math.exp(center + spread), most))
    at = min(max(math.exp(center), low), high)
    return Guess(low, at, high, least, most, _pooled(rungs), last.larger_buffer_goals, tuple(rungs))


def _pooled(rungs: Sequence[Rung]) -> dict[str, list[Scatter]]:
    """The noise on the whole link.

    Variances of independent flows fall like one over the size, and those of flows in step do not fall. The square root
    of the size lies between both.
    """
    found: dict[str, list[Scatter]] = {}
    for rung in rungs:
        share = 1 / math.sqrt(rung.factor)
        for key, scatters in rung.scatters.items():
            scaled = (Scatter(each.margin, each.squares * share, each.degrees) for each in scatters)
            found.setdefault(key, []).extend(scaled)
    return found


def _half_width(rung: Rung) -> float:
    return math.log(max(rung.high, rung.at) / min(rung.low, rung.at)) / 2


def larger_buffer_goals_of(search: SearchState) -> frozenset[str]:
    """Return the keys of the goals that need a large buffer, as measured."""
    return frozenset(goal.key for goal in search.directions()[0])


class ScaledLook(QuickLook):
    """A quick look at a smaller link: where the threshold is, and how much runs differ there."""

    def run(self) -> Outcome:
        """Measure about the threshold."""
        larger_goals, _ = self._first_look()
        threshold = self._close_in(larger_goals, 1, ROUNDS)
        if math.isfinite(threshold.at):
            self.sample([max(self.plan.floor, round(math.exp(threshold.at)))], REPEATED)
        self.sample(self.samples, EACH)
        return Outcome(confidence=None)

    def rung(self, factor: int) -> Rung | None:
        """Evaluate the measurements; None if no buffer was measured, or no measured buffer is enough.

        Parameters
        ----------
        factor : int
            Factor by which the link was scaled down.
        """
        if not self.samples:
            return None
        threshold = self._threshold(self.directions()[0], 1)
        floor, ceiling = self.plan.floor, self.plan.ceiling
        if threshold.at == math.inf or (threshold.goal is None and not self._seems_met(min(self.samples))):
            return None
        if threshold.goal is None:
            at = low = high = float(floor)
        else:
            at = math.exp(threshold.at)
            # Without a clear buffer on a side, the measured ones between which the margins change their sign.
            low = max(float(floor), math.exp(threshold.missed if threshold.low == -math.inf else threshold.low))
            high = min(float(ceiling), math.exp(threshold.met if threshold.high == math.inf else threshold.high))
        scatters = {goal.key: list(self._scattered(goal)) for goal in self.goals}
        return Rung(factor, low, at, high, scatters, larger_buffer_goals_of(self))

    def _scattered(self, goal: Goal) -> Iterator[Scatter]:
        """The distances of single runs from their mean."""
        for reports in self.samples.values():
            if len(reports) > 1:
                mean, margins = reports.mean_margin(goal), reports.margins(goal)
                yield Scatter(mean, math.fsum([(each - mean) ** 2 for each in margins]), len(margins) - 1)


class Ladder(QuickLook):
    """Runs of the whole link about a guess.

    Parameters
    ----------
    measure, goals, plan, expect, listener
        As of `SearchState`.
    guess : Guess, optional
        The guess from smaller links.
    at_once : int
        Runs that are made at the same time.
    """

    def __init__(
        self,
        measure: Measure,
        goals: Sequence[Goal],
        plan: Plan,
        expect: Callable[[int], None] | None = None,
        listener: Listener = SILENT,
        *,
        guess: Guess | None = None,
        at_once: int = 1,
    ) -> None:
        super().__init__(measure, goals, plan, expect, listener)
        self.guess, self.at_once = guess, at_once

    def run(self) -> Outcome:
        """Close in on the threshold, and put its upper end to fresh runs."""
        outcome = Outcome()
        for _ in range(ATTEMPTS):
            self.narrow()
            if not self._open() or self._put_to_the_test(self.undecided()[1], outcome):
                break
        self._end(outcome, self.directions()[0])
        return outcome

    def narrow(self) -> None:
        """Close in on the threshold until the measured buffers about it are near each other, or no buffer is left."""
        while self._open() and (points := self._next()):
            self._expect(len(points) + self._fresh)
            self.observe(points)
            self._listener.on_range(self.plan.words.between(*self.undecided()))

    def _open(self) -> bool:
        """Whether some buffer may meet every goal."""
        return not self.samples or bool(self.not_excluded(None)) or any(self._seems_met(at) for at in self.samples)

    def undecided(self) -> tuple[int, int]:
        """The interval that contains the smallest buffer that meets every goal, as far as is known."""
        if self.samples:
            return super().undecided()
        floor, ceiling = self.plan.floor, self.plan.ceiling
        if self.guess is None:
            return floor, ceiling
        return self._within(self.guess.least), self._within(self.guess.most)

    def _next(self) -> list[int]:
        """Buffers at which to measure next; none where the measured ones are near each other."""
        low, high = self.undecided()
        if not self.samples:
            return self._first(low, high)
        points = []
        if high >= self.plan.ceiling and not self._clear(high):
            points += self._further_up(high, self.at_once)
        inside = self._inside(max(low, min(*self.samples, high)), high, self.at_once)
        if low <= self.plan.floor and low not in self.samples:
            points += self._further_down(low, max(1, self.at_once - len(points) - len(inside)))
        return sorted(dict.fromkeys([*points, *inside][: self.at_once]))

    def _first(self, low: int, high: int) -> list[int]:
        """Both sides of the guess; without one the middle of all."""
        if self.guess is not None:
            guess = self.guess
            ends = (max(guess.low, guess.at / FIRST), min(guess.high, guess.at * FIRST))
            return sorted({self._within(end) for end in ends})
        return self._inside(low, high, self.at_once)

    def _inside(self, low: int, high: int, count: int) -> list[int]:
        """Middles of the widest gaps between measured buffers in a range, as long as these are wide."""
        marks, found = sorted({low, high, *(at for at in self.samples if low < at < high)}), list[int]()
        while len(found) < count:
            gaps = [(above / below, round(math.sqrt(below * above))) for below, above in itertools.pairwise(marks)]
            width, middle = max(gaps, default=(1.0, low))
            if width <= NARROW or middle in marks:
                break
            found.append(middle)
            marks = sorted([*marks, middle])
        return found

    def _clear(self, buffer: int) -> bool:
        """Whether runs at a buffer meet every goal, clear of the noise."""
        return buffer in self.samples and self.together(buffer, self.goals) is Verdict.MET

    def _further_up(self, high: int, count: int) -> list[int]:
        """Buffers at which the goals that need a large buffer may be met."""
        inside = [at for at in self.samples if at <= high and not self.misses(at, self.goals)]
        top, found = max(inside, default=max(self.samples)), list[int]()
        step = CLEARER if top in inside and self._seems_met(top) else STEP
        while len(found) < count and top < high:
            top = min(max(math.ceil(step * top), top + 1), high)
            found.append(top)
        return found or [top]

    def _further_down(self, low: int, count: int) -> list[int]:
        """Buffers that may be too small for some goal."""
        bottom, found = min(self.samples), list[int]()
        step = STEP if self._seems_met(bottom) else CLEARER
        while len(found) < count and bottom > low:
            bottom = max(min(math.floor(bottom / step), bottom - 1), low)
            found.append(bottom)
        return found

    def _within(self, packets: float) -> int:
        return min(max(round(packets), self.plan.floor), self.plan.ceiling)

    def _needs_larger_buffer(self, goal: Goal) -> bool:
        """Whether a goal needs a large buffer: as smaller links had it, because they were measured from end to end."""
        return super()._needs_larger_buffer(goal) if self.guess is None else goal.key in self.guess.larger_buffer_goals

    def _excluded_by(self, goal: Goal, level: float | None) -> Iterator[tuple[int, int]]:
        """Intervals of buffers at which one goal is missed.

        A range takes for granted that a smaller buffer does not help a goal that needs a large one, nor a larger buffer
        a goal that needs a small one. A proof, which has a level, takes nothing for granted.
        """
        for low, high in super()._excluded_by(goal, level):
            if level is not None:
                yield low, high
            elif self._needs_larger_buffer(goal):
                yield self.plan.floor, high
            else:
                yield low, self.plan.ceiling

    def _noise(self, goal: Goal, buffer: int) -> Noise:
        """The noise of the runs, together with that of the smaller link where these are few."""
        own = super()._noise(goal, buffer)
        if own.degrees >= ENOUGH or self.guess is None or buffer not in self.samples:
            return own
        other = self.guess.noise(goal, self.samples[buffer].mean_margin(goal))
        if not other.degrees:
            return own
        degrees = own.degrees + other.degrees
        return Noise((own.variance * own.degrees + other.variance * other.degrees) / degrees, degrees)
