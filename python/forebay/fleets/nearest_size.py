"""The nearest buffer that meets every goal, sought from a buffer that misses one or that is needlessly large.

A ladder of sizes leads away from the configured one. Between the last size that falls short and the first one that does
not, the search halves the interval until its ends are within a factor of 1.4. If one goal needs a larger buffer and
another a smaller one, it goes on until the interval is narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from forebay.errors import ForebayError
from forebay.fleets.buffer_size import Size
from forebay.fleets.measuring import MeasuredPoint
from forebay.fleets.questions import Question

__all__ = ["CLOSE", "STEP", "At", "Direction", "NearestSize", "between", "ladder", "nearest_size"]

Direction = Literal["larger", "smaller"]
State = Literal["met", "open", "conflict", "beyond"]
#: The measured point of a buffer; it raises if there is none yet.
At = Callable[[Size], MeasuredPoint]

#: First factor of the ladder, and the growth of the factors from the second one on.
FIRST, STEP = 2, 4
#: The ladder goes up to this factor, or to this multiple of the bandwidth-delay product if that is further.
MOST_FACTOR, MOST_BDP = 256, 2.0
#: Ratio of the ends of the final interval, and that of one in which two goals may conflict.
CLOSE, NARROW = math.sqrt(2), 1.1


@dataclass(frozen=True, slots=True)
class NearestSize:
    """The result of a search for the nearest sufficient buffer.

    Attributes
    ----------
    state : str
        "met": `end` meets every goal. "conflict": one goal is missed up to `last` or at `end`, and another one at
        `end`. "open": the runs do not show whether a buffer meets every goal. "beyond": the ladder ended before a
        buffer that is enough.
    last : MeasuredPoint
        The point nearest to `end` that falls short.
    size : Size
        The last buffer of the search.
    end : MeasuredPoint
        Its point.
    points : tuple of MeasuredPoint
        All points after the first one.
    other : str
        Key of a goal that `end` misses or leaves undecided; empty if there is none.
    """

    state: State
    last: MeasuredPoint
    size: Size
    end: MeasuredPoint
    points: tuple[MeasuredPoint, ...]
    other: str = ""


def ladder(question: Question, direction: Direction) -> Iterator[Size]:
    """The sizes of a search: the factors 2, 4, 16, 64 and 256, and then further ones up to a bound.

    Larger sizes end at twice the bandwidth-delay product, or at 256 times the configured buffer if that is more.
    Smaller ones end at one packet.
    """
    size, before = question.size, question.size
    bound = MOST_FACTOR if direction == "larger" else _bound(question, direction)
    for factor in _factors():
        if factor == MOST_FACTOR and direction == "larger":
            bound = _bound(question, direction)
        change = min(factor, bound)
        other = size.times(change if direction == "larger" else 1 / change)
        if other == before:
            return
        yield other
        if factor >= bound:
            return
        before = other


def _factors() -> Iterator[int]:
    yield FIRST
    factor = STEP
    while True:
        yield factor
        factor *= STEP


def _bound(question: Question, direction: Direction) -> int:
    """The largest factor of the ladder."""
    try:
        scenario = question.scenario()
    except ForebayError:
        return MOST_FACTOR
    buffer = scenario.buffer
    if direction == "smaller":
        return max(1, math.floor(buffer.packets))
    return max(MOST_FACTOR, math.ceil(MOST_BDP / buffer.bdp) if buffer.bdp else MOST_FACTOR)


def between(one: Size, other: Size) -> Size:
    """The size in the middle of two, on a logarithmic scale."""
    return Size(round(math.sqrt(one.number * other.number)), one.unit)


def nearest_size(
    question: Question,
    here: MeasuredPoint,
    direction: Direction,
    toward: Collection[str],
    against: Collection[str],
    at: At,
) -> NearestSize:
    """Seek the nearest sufficient buffer.

    Parameters
    ----------
    question : Question
        Its configured buffer falls short.
    here : MeasuredPoint
        The point of that buffer.
    direction : {"larger", "smaller"}
        The direction of the search.
    toward : collection of str
        Keys of the goals that come closer in this direction.
    against : collection of str
        Keys of the goals that get worse in this direction. Other goals may get better or worse.
    at : callable
        Finds the point of a buffer.
    """
    return _Search(question, direction, toward, against, at).run(here)


@dataclass(slots=True)
class _Search:
    """A search with all points that it has asked for."""

    question: Question
    direction: Direction
    toward: Collection[str]
    against: Collection[str]
    at: At
    points: list[MeasuredPoint] = field(default_factory=list)

    def run(self, here: MeasuredPoint) -> NearestSize:
        last, last_size = here, self.question.size
        size, end = last_size, here
        others: list[NearestSize] = []
        for size in ladder(self.question, self.direction):
            end, state = self._point(size)
            if state == "refused":
                break
            # A smaller buffer may still meet the goals that the first one in this direction misses.
            if state != "short" and (not others or state in {"met", "open"}):
                found = self._between(last, last_size, end, size, state)
                if found.state == "met" or self.direction == "larger":
                    return found
                others.append(found)
            last, last_size = end, size
        if not others:
            return self._found("beyond", last, size, end)
        chosen = min(others, key=lambda found: found.state != "open")
        return replace(chosen, points=tuple(self.points))

    def _between(self, last: MeasuredPoint, last_size: Size, end: MeasuredPoint, size: Size, state: str) -> NearestSize:
        """Halve the interval between a point that falls short and one that does not."""
        while state in {"met", "open", "past", "brief"}:
            middle_size = between(last_size, size)
            far = max(last_size.number, size.number) / min(last_size.number, size.number)
            if middle_size in (last_size, size) or far <= (NARROW if state == "past" else CLOSE):
                break
            middle, middle_state = self._point(middle_size)
            if middle_state == "refused":
                break
            if middle_state == "short":
                last, last_size = middle, middle_size
            elif state != "met" or middle_state == "met":
                end, size, state = middle, middle_size, middle_state
            else:
                break  # a buffer that is enough is known, and this one is not
        if state in {"met", "brief"}:
            return self._found("met" if state == "met" else "beyond", last, size, end)
        short = end if state == "both" else last
        is_missed = any(goal.verdict == "missed" for goal in short.goals if goal.key in self.toward)
        return self._found("conflict" if is_missed and state != "open" else "open", last, size, end)

    def _found(self, state: State, last: MeasuredPoint, size: Size, end: MeasuredPoint) -> NearestSize:
        others = (goal.key for goal in end.goals if goal.verdict != "met" and goal.key not in self.toward)
        return NearestSize(state, last, size, end, tuple(self.points), next(others, ""))

    def _point(self, size: Size) -> tuple[MeasuredPoint, str]:
        """The point of a size, and whether it falls short in the direction of the search, misses other goals, or both.

        Runs that are too brief for a buffer show no goal as met. They end a search for a larger one.
        """
        point = self.at(size)
        self.points.append(point)
        if point.refusal is not None:
            return point, "refused"
        if point.is_brief:
            return point, "brief" if self.direction == "larger" else "short"
        short = any(goal.verdict != "met" for goal in point.goals if goal.key in self.toward)
        others = {goal.key: goal.verdict for goal in point.goals if goal.key not in self.toward}
        if short:
            # A larger buffer never meets a goal on delay that this one misses. A smaller one may meet any other goal.
            is_late = self.direction == "larger" and any(
                others[key] == "missed" for key in others if key in self.against
            )
            return point, "both" if is_late else "short"
        if "missed" in others.values():
            return point, "past"
        return point, "open" if "undecided" in others.values() else "met"
