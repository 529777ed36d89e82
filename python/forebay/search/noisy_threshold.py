"""The threshold where the noise of a run is large: located from many runs, without a bracket.

`Bracketing` closes in on a threshold between two buffers that seem clear after few runs. With heavy tails one
run in twenty seems clear on the wrong side, so that such a bracket may not contain the threshold. `smallest.py`
therefore locates the threshold again wherever the noise of one run, divided by the slope of the margin, moves it
by more than `NOISY`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from forebay.inputs.goals import Goal
from forebay.results.report import Report
from forebay.search.goal_test import relative_margins
from forebay.search.noisy_root import Noise, NoisyRoot, noisy_root, slope_of

__all__ = ["NOISY", "Located", "located"]

#: Standard deviation of one run, as a part of the logarithm of the buffer, above which few runs do not tell the
#: threshold.
NOISY = 0.5
#: Logarithm of the buffer within which margins count as a line, and within which their slope is told.
NEAR, FAR = 0.25, 1.0
#: Runs of one round: a part of those that are near, between these.
PART, LEAST, MOST = 0.5, 8, 128
#: Runs near the threshold without which its error is not known: the few runs of a heavy tail look alike.
ENOUGH = 32
#: The buffers of a round, from the threshold, on the logarithm of the buffer.
BESIDE = 0.12


class Observed(Protocol):
    """The runs so far; it measures more."""

    @property
    def samples(self) -> Mapping[int, Sequence[Report]]:
        """Every run by its buffer."""

    def observe(self, buffers: Sequence[int]) -> None:
        """Measure one more run at each of these buffers; a buffer named twice is measured twice."""

    def noise(self, goal: Goal, buffer: int) -> Noise:
        """Return the variance of the margin of one run near a buffer."""


@dataclass(frozen=True, slots=True)
class Located:
    """The threshold at which goals begin to be met, on the logarithm of the buffer.

    Attributes
    ----------
    goal : Goal
        The goal that is met last.
    at : float
        The threshold.
    error : float
        Its standard error.
    spread : float
        The standard deviation of one run.
    """

    goal: Goal
    at: float
    error: float
    spread: float


def located(
    observed: Observed, goals: Sequence[Goal], start: float, *, error: float, most: int, ends: tuple[int, int]
) -> Located | None:
    """Locate a threshold from runs on both sides of it.

    Parameters
    ----------
    observed : Observed
        The search.
    goals : sequence of Goal
        Goals that ask for a large buffer.
    start : float
        Logarithm of the buffer where the threshold seems to be.
    error : float
        Standard error of the threshold, on the logarithm of the buffer, that is wanted.
    most : int
        Runs at most.
    ends : tuple of (int, int)
        The smallest and the largest buffer, in packets.

    Returns
    -------
    Located or None
        None if no goal is met better at larger buffers.
    """
    low, high = (math.log(end) for end in ends)
    at, taken = min(max(start, low), high), 0
    while True:
        found = [each for goal in goals if (each := _root(observed, goal, at)) is not None]
        if not found:
            return None
        last = max(found, key=lambda each: each.at)
        target = min(max(last.at, at - NEAR, low), at + NEAR, high)
        near = sum(
            len(reports) for buffer, reports in observed.samples.items() if abs(math.log(buffer) - target) <= NEAR
        )
        settled = abs(target - at) <= error and last.error <= error and near >= ENOUGH
        if settled or taken >= most:
            return Located(last.goal, target, last.error, last.spread)
        at = target
        count = min(max(LEAST, math.ceil(PART * near / 2) * 2), MOST, most - taken)
        pair = [min(max(round(math.exp(at + away)), ends[0]), ends[1]) for away in (-BESIDE, BESIDE)]
        observed.observe([pair[number % 2] for number in range(max(count, 2))])
        taken += max(count, 2)


def _root(observed: Observed, goal: Goal, at: float) -> Located | None:
    """The zero of the line through the margins near a place; None if margins do not rise."""
    slopes = (slope_of(_points(observed, goal, at, within)) or 0.0 for within in (FAR, 2 * FAR, math.inf))
    # A few runs in much noise may fall. Runs at buffers further away tell better whether margins rise.
    slope = next((found for found in slopes if found > 0), None)
    if slope is None:
        return None
    points = _points(observed, goal, at, NEAR)
    if not points:
        return Located(goal, at, math.inf, math.inf)
    found: NoisyRoot = noisy_root(points, slope, observed.noise(goal, round(math.exp(at))))
    return Located(goal, found.at, found.error, found.spread)


def _points(observed: Observed, goal: Goal, at: float, within: float) -> list[tuple[float, float]]:
    """Place and margin of each run near a place."""
    near = ((place, reports) for place, reports in _placed(observed) if abs(place - at) <= within)
    return [(place, margin) for place, reports in near for margin in relative_margins(goal, reports)]


def _placed(observed: Observed) -> Iterator[tuple[float, Sequence[Report]]]:
    """Return the logarithm of each buffer and its runs."""
    return ((math.log(buffer), reports) for buffer, reports in observed.samples.items())
