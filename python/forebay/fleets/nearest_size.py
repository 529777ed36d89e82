"""The nearest buffer that meets every goal, sought from a buffer that misses one or that is needlessly large.

A ladder of sizes leads away from the configured one. Between the last size that falls short and the first one that does
not, the search halves the interval until its ends are within a factor of 1.4. If one goal needs a larger buffer and
another a smaller one, it goes on until the interval is narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from forebay.errors import ForebayError
from forebay.fleets.buffer_size import Size
from forebay.fleets.measuring import MeasuredPoint
from forebay.fleets.questions import Question

__all__ = ["At", "Direction", "NearestSize", "between", "ladder", "nearest_size"]

Direction = Literal["larger", "smaller"]
State = Literal["met", "open", "conflict", "beyond"]
#: The measured point of a buffer; it raises if there is none yet.
At = Callable[[Size], MeasuredPoint]

#: First factors of the ladder; further ones grow by `STEP`, from `COARSE` on by `LEAP`.
FIRST, STEP, COARSE, LEAP = (2, 4), 4, 256, 16
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
    Smaller ones end at one packet, or at 1/256 of the configured buffer.
    """
    size, bound, before = question.size, MOST_FACTOR, question.size
    for factor in _factors():
        if factor == MOST_FACTOR:
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
    yield from FIRST
    factor = FIRST[-1]
    while True:
        factor *= STEP if factor < COARSE else LEAP
        yield factor


def _bound(question: Question, direction: Direction) -> int:
    """The largest factor of the ladder, at least `MOST_FACTOR`."""
    try:
        scenario = question.scenario()
    except ForebayError:
        return MOST_FACTOR
    buffer = scenario.buffer
    if direction == "smaller":
        return max(MOST_FACTOR, math.floor(buffer.packets))
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
    points: list[MeasuredPoint] = []

    def found(state: State) -> NearestSize:
        others = [goal.key for goal in end.goals if goal.verdict != "met" and goal.key not in toward]
        return NearestSize(state, last, size, end, tuple(points), next(iter(others), ""))

    last, last_size, end, size = here, question.size, here, question.size
    for size in ladder(question, direction):
        end = at(size)
        points.append(end)
        if end.refusal is not None:
            return found("beyond")
        state = _state(end, toward, against, direction)
        if state != "short":
            break
        last, last_size = end, size
    else:
        return found("beyond")
    while state in {"met", "open", "past", "brief"}:
        middle_size = between(last_size, size)
        far = max(last_size.number, size.number) / min(last_size.number, size.number)
        if middle_size in (last_size, size) or far <= (NARROW if state == "past" else CLOSE):
            break
        middle = at(middle_size)
        points.append(middle)
        if middle.refusal is not None:
            break
        middle_state = _state(middle, toward, against, direction)
        if middle_state == "short":
            last, last_size = middle, middle_size
        elif state != "met" or middle_state == "met":
            end, size, state = middle, middle_size, middle_state
        else:
            break  # a buffer that is enough is known, and this one is not
    if state in {"met", "brief"}:
        return found("met" if state == "met" else "beyond")
    short = end if state == "both" else last
    is_missed = any(goal.verdict == "missed" for goal in short.goals if goal.key in toward)
    return found("conflict" if is_missed and state != "open" else "open")


def _state(
    point: MeasuredPoint, toward: Collection[str], against: Collection[str], direction: Direction
) -> Literal["short", "met", "open", "past", "both", "brief"]:
    """Whether a point falls short of goals in the direction of the search, or misses others, or both.

    Runs that are too brief for a buffer show no goal as met. They end a search for a larger one.
    """
    if point.is_brief:
        return "brief" if direction == "larger" else "short"
    short = any(goal.verdict != "met" for goal in point.goals if goal.key in toward)
    others = {goal.key: goal.verdict for goal in point.goals if goal.key not in toward}
    if short:
        return "both" if any(others[key] == "missed" for key in others if key in against) else "short"
    if "missed" in others.values():
        return "past"
    return "open" if "undecided" in others.values() else "met"
