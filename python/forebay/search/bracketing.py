"""The threshold between a buffer that misses goals and one that meets them, from single replications about it.

Where goals are about means, a replication at one buffer says as much of the threshold as one at the buffer
beside it: the margins near the threshold lie about a line, and each observation moves where that line crosses
zero. So no buffer has to be decided by itself; observations are spent in pairs around where the threshold is
thought to be, until its standard error is a part of the resolution. Where nothing is random, or the curve has a step,
the two buffers that are known to lie on either side close in on it instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from forebay.inputs.goals import Goal
from forebay.results.report import Report
from forebay.search.goal_test import Verdict, mean_margin, relative_margins
from forebay.search.noisy_root import Noise, NoisyRoot, noisy_root, zero_between

__all__ = ["SURE", "WIDE", "Bracketing", "Observed", "Threshold", "beginning"]

#: Logarithm of the buffer within which margins count as a line.
NEAR = 0.25
#: The same between buffers that tell how steep the margins are.
FAR = 1.0
#: The same that the answer is at most beyond the threshold, unless the resolution is coarser.
LEAP = 0.15
#: Part of the resolution that the threshold's standard error may have, how many observations near it that needs
#: at least, and how many are made at most.
CERTAIN = 1.0
LEAST, MOST = 4, 12
#: Logarithm of the buffer within which a line tells in the end where the threshold is, and the one-sided level
#: of the ends of its interval. It is stated at `LOWER_END`: the search stops where it seems to know, and margins have
#: tails.
WIDE = 0.4
SURE = 0.99


class Observed(Protocol):
    """The margins that are known so far, and the source of further ones."""

    @property
    def samples(self) -> Mapping[int, Sequence[Report]]:
        """Every replication by its buffer."""

    def observe(self, buffers: Sequence[int]) -> None:
        """Have one more replication at each of these, a buffer named twice twice."""

    def together(self, buffer: int, goals: Sequence[Goal]) -> Verdict:
        """Judge goals that have to hold at once from the replications at hand."""

    def noise(self, goal: Goal, buffer: int) -> Noise:
        """The distance of one replication's margin from the mean near a buffer."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The threshold at which goals begin to be met.

    Attributes
    ----------
    buffer : int
        The one next to the threshold that ought to meet them and be confirmed, in packets.
    least : int
        The one half a resolution beyond where the threshold is thought to be.
    missed : int
        The nearest one that is known to miss one.
    goal : Goal
        The one that is met last.
    at : float
        Logarithm of the buffer where the threshold is thought to be.
    spread : float
        Standard deviation of one run around the curve, on the logarithm of the buffer.
    """

    buffer: int
    least: int
    missed: int
    goal: Goal
    at: float
    spread: float


def beginning(points: Sequence[tuple[float, float]], start: float, level: float = SURE) -> tuple[float, float] | None:
    """Between which places the line through the margins near its zero is zero; None where it may as well not rise.

    Parameters
    ----------
    points : sequence of (float, float)
        Logarithm of the buffer and margin of each observation.
    start : float
        A place near the zero.
    level : float
        One-sided, of each end.
    """
    found = None
    # The position of the zero decides which buffers are near.
    for _ in range(4):
        found = zero_between([point for point in points if abs(point[0] - start) <= WIDE], level)
        if found is None:
            return None
        start = min(max((found[0] + found[1]) / 2, start - WIDE), start + WIDE)
    return found


class Bracketing:
    """Closes in on a threshold.

    Parameters
    ----------
    observed : Observed
        The search.
    goals : sequence of Goal
        Those that are met on one side of the threshold.
    missed, met : int
        Buffers on either side; `met` may be the smaller one.
    resolution : float
        How well the threshold is to be known, as a fraction of the buffer.
    narrowed : callable
        Called with the two ends whenever they have moved.
    caution : float
        How many times as far as usual the answer is to be from the threshold for the noise of what will confirm
        it; 0 where nothing will.
    """

    def __init__(
        self,
        observed: Observed,
        goals: Sequence[Goal],
        missed: int,
        met: int,
        resolution: float,
        narrowed: Callable[[int, int], None] = lambda _missed, _met: None,
        caution: float = 1.0,
    ) -> None:
        self.observed, self.goals, self.narrowed = observed, goals, narrowed
        self.missed, self.met, self.caution = missed, met, caution
        self.side = 1 if met > missed else -1
        #: On the logarithmic scale.
        self.fine = math.log1p(resolution)
        self.near = max(NEAR, 2 * self.fine)

    def run(self) -> Threshold:
        """Observe until the threshold is known well enough."""
        alike = 0
        twice = [at for at in (self.missed, self.met) if len(self.observed.samples[at]) == 1]
        self.observed.observe(twice)
        step = 0
        while True:
            self._tighten()
            self.narrowed(self.missed, self.met)
            goal, found, count = self._root()
            if self._resolved():
                return Threshold(self.met, self.met, self.missed, goal, abs(found.at), found.spread)
            # As long as all between the ends is clear, they close in on the threshold by themselves.
            if (2 * step >= MOST and self._inside()) or (count >= LEAST and self._certain(found)):
                buffer = self._past_threshold(found, self._confirmable(found))
                least = self._past_threshold(found, self.fine / 2)
                return Threshold(buffer, least, self.missed, goal, abs(found.at), found.spread)
            missed, met = self.missed, self.met
            halve = alike > 1 or (step % 3 == 2 and found.error > self.near)
            self.observed.observe(list(self._next(found, halve=halve)))
            self._tighten()
            # Where only one end moves, and again, the threshold is not where the line has it.
            alike = alike + 1 if (missed == self.missed) != (met == self.met) else 0
            step += 1

    def _place(self, buffer: int) -> float:
        """The place of a buffer on a scale on which margins rise."""
        return self.side * math.log(buffer)

    def _inside(self) -> list[int]:
        """Measured buffers between the two ends, from the side on which goals are met."""
        low, high = sorted((self.missed, self.met))
        inside = sorted(buffer for buffer in self.observed.samples if low < buffer < high)
        return inside[:: -self.side]

    def _tighten(self) -> None:
        """Move the ends to the nearest buffers that are clear; what is met must be so up to the far end."""
        for buffer in self._inside():
            verdict = self.observed.together(buffer, self.goals)
            if verdict is Verdict.MET:
                self.met = buffer
            elif verdict is Verdict.MISSED:
                self.missed = buffer
                return

    def _resolved(self) -> bool:
        low, high = sorted((self.missed, self.met))
        return high - low <= 1 or math.log(high / low) <= self.fine

    def _certain(self, found: NoisyRoot) -> bool:
        """Whether the threshold is known well and blurred by noise: what is clear on both sides may be a step."""
        return found.error <= CERTAIN * self.fine and bool(self._inside())

    def _root(self) -> tuple[Goal, NoisyRoot, int]:
        """The goal that is met last, where, and from how many observations nearby."""
        missed = [goal for goal in self.goals if self._mean(self.missed, goal) < 0]
        found = [(goal, *self._root_of(goal)) for goal in missed or self.goals]
        return max(found, key=lambda each: each[1].at)

    def _root_of(self, goal: Goal) -> tuple[NoisyRoot, int]:
        ends = [self._place(at) for at in (self.missed, self.met)]
        low, high = (self._mean(at, goal) for at in (self.missed, self.met))
        where = ends[0] - low / (high - low) * (ends[1] - ends[0]) if high > low else ends[0]
        found = NoisyRoot(min(max(where, ends[0]), ends[1]), math.inf, math.inf)
        slope = self._slope(goal)
        count = 0
        # The threshold decides which buffers are near, and the near buffers decide where the threshold
        # is.
        for _ in range(3):
            points = self._points(goal, found.at)
            if not points:
                break
            count = len(points)
            fitted = noisy_root(points, slope, self.observed.noise(goal, round(math.exp(abs(found.at)))))
            found = replace(fitted, at=min(max(fitted.at, ends[0]), ends[1]))
        return found, count

    def _slope(self, goal: Goal) -> float:
        """How fast margins rise about the threshold, between buffers far enough apart for noise not to say so."""
        places = sorted((self._place(at), at) for at in self.observed.samples)
        first, last = (places.index((self._place(at), at)) for at in (self.missed, self.met))
        while places[last][0] - places[first][0] < FAR and (first > 0 or last < len(places) - 1):
            first, last = max(0, first - 1), min(len(places) - 1, last + 1)
        (low, one), (high, other) = places[first], places[last]
        rise = self._mean(other, goal) - self._mean(one, goal)
        return (rise if rise > 0 else abs(rise) or 1.0) / (high - low)

    def _mean(self, buffer: int, goal: Goal) -> float:
        return mean_margin(goal, self.observed.samples[buffer])

    def _points(self, goal: Goal, at: float) -> list[tuple[float, float]]:
        """Place and margin of each observation nearby."""
        placed = [(self._place(buffer), reports) for buffer, reports in self.observed.samples.items()]
        near = [(x, reports) for x, reports in placed if abs(x - at) <= self.near]
        return [(x, margin) for x, reports in near for margin in relative_margins(goal, reports)]

    def _next(self, found: NoisyRoot, *, halve: bool) -> Iterator[int]:
        """A pair about the threshold, or about the middle between the ends."""
        low, high = self._place(self.missed), self._place(self.met)
        width = high - low
        at = (low + high) / 2 if halve else found.at
        half = max(self.fine / 2, min(self.near, 0.15 * width, 1.5 * found.error))
        first, last = sorted((self.missed, self.met))
        pair = [min(max(self._outward(at + away), first + 1), last - 1) for away in (-half, half)]
        noisy = any(self.observed.noise(goal, pair[0]).variance > 0 for goal in self.goals)
        yield from pair if noisy else dict.fromkeys(pair)

    def _outward(self, place: float) -> int:
        return max(1, round(math.exp(self.side * place)))

    def _confirmable(self, found: NoisyRoot) -> float:
        """The distance beyond the threshold at which about ten replications show that goals are met."""
        fine = self.fine
        noise = self.caution * min(1.1 * found.spread, max(0.8 * fine, 0.6 * found.spread))
        return max(fine / 2, min(max(found.error / 2, noise), LEAP))

    def _past_threshold(self, found: NoisyRoot, away: float) -> int:
        """The buffer so far beyond the threshold."""
        exact = math.exp(self.side * min(found.at + away, self._place(self.met) + FAR))
        if self.side > 0:
            return max(math.ceil(exact - 1e-9), self.missed + 1)
        return max(1, min(math.floor(exact + 1e-9), self.missed - 1))
