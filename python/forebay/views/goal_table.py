"""The goals of an answer as a table: each goal at the smallest and the largest measured buffer and at the nearest miss.

Every sentence on a conflict of goals is derived from this table, so that no sentence contradicts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from forebay.search.answer_parts import GoalAt
from forebay.text import formatting

if TYPE_CHECKING:
    from forebay.inputs.goals import Goal
    from forebay.results.report import Estimate
    from forebay.search.answer import Recommendation
    from forebay.search.answer_parts import CurvePoint, NearestResult
    from forebay.search.named_buffer import GoalVerdict
    from forebay.search.value import Quantity

__all__ = ["GoalRow", "Place", "Region", "goal_rows", "measured_at", "places", "region", "verdict_cell"]

#: The part of the measured buffers at which a goal is met.
Shape = Literal[
    "everywhere", "nowhere", "from", "up_to", "between", "scattered", "missed_up_to", "missed_from", "unknown"
]


@dataclass(frozen=True, slots=True)
class GoalRow:
    """One goal of a conflict.

    Attributes
    ----------
    key : str
        The goal's key in the answer.
    goal : Goal
        The requested goal.
    smallest, largest : GoalAt or None
        The goal at the smallest and at the largest measured buffer; None if nothing is known.
    nearest : GoalAt or None
        The goal at the measured buffer that comes nearest to meeting all goals.
    """

    key: str
    goal: Goal
    smallest: GoalAt | None
    largest: GoalAt | None
    nearest: GoalAt | None


@dataclass(frozen=True, slots=True)
class Region:
    """The measured buffers at which a goal is met.

    Attributes
    ----------
    shape : str
        "from": at `low` and every larger measured buffer. "up_to": at `high` and every smaller one. "between": at every
        one from `low` to `high` only. "scattered": at some, in no order. "missed_up_to": missed at `high` and every
        smaller one, and undecided at others. "missed_from": the same at `low` and every larger one. "unknown": the ends
        are not decided.
    low, high : BufferSize, Value or None
        The ends, which were measured and decided.
    best : GoalAt or None
        The measured buffer that comes nearest, if the goal is met at none.
    missed : BufferSize, Value or None
        For "from" the largest measured buffer that surely misses the goal, for "up_to" the smallest one.
    """

    shape: Shape
    low: Quantity | None = None
    high: Quantity | None = None
    best: GoalAt | None = None
    missed: Quantity | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """One column of the table: a measured buffer and each goal there.

    Attributes
    ----------
    roles : tuple of str
        The roles of the buffer: "smallest", "nearest" or "largest".
    buffer : BufferSize or Value
        The buffer.
    goals : tuple of GoalAt or None
        Each goal at the buffer, in the order of the rows; None if nothing is known.
    """

    roles: tuple[str, ...]
    buffer: Quantity
    goals: tuple[GoalAt | None, ...]


def goal_rows(answer: Recommendation) -> tuple[GoalRow, ...]:
    """A row for each goal, in the order of the answer."""
    ends = (answer.points[0], answer.points[-1]) if answer.points else None
    misses = {} if answer.conflict is None else {miss.goal.key: miss for miss in answer.conflict.nearest}
    compromise = None if answer.conflict is None else answer.conflict.compromise
    rows = []
    for key, judged in answer.goals.items():
        smallest, largest = judged.at_smallest, judged.at_largest
        if ends is not None and answer.fraction is None:
            smallest = smallest or measured_at(judged.goal, ends[0])
            largest = largest or measured_at(judged.goal, ends[1])
        miss = misses.get(judged.goal.key)
        nearest = None if miss is None or compromise is None else _nearest(answer, miss, compromise)
        rows.append(GoalRow(key, judged.goal, smallest, largest, nearest))
    return tuple(rows)


def places(rows: Sequence[GoalRow]) -> tuple[Place, ...]:
    """The columns from the smallest buffer to the largest.

    A buffer with two roles has one column, so that a goal has one verdict at each buffer.
    """
    found: dict[float, Place] = {}
    for role, goals in (
        ("smallest", tuple(row.smallest for row in rows)),
        ("nearest", tuple(row.nearest for row in rows)),
        ("largest", tuple(row.largest for row in rows)),
    ):
        buffer = next((at.buffer for at in goals if at is not None), None)
        if buffer is not None:
            before = found.get(buffer.number, Place((), buffer, goals))
            known = tuple(old or new for old, new in zip(before.goals, goals, strict=True))
            found[buffer.number] = Place((*before.roles, role), buffer, known)
    return tuple(found[number] for number in sorted(found))


def verdict_cell(row: GoalRow, at: GoalAt | None, *, interval: bool) -> str:
    """A goal's metric and its verdict at one buffer; an undecided verdict has the interval, or the number of runs."""
    if at is None:
        return "–"
    name, exact = row.goal.name, interval or at.verdict == "undecided"
    shown = formatting.estimate(name, at.measured) if exact else formatting.value(name, at.measured.mean)
    runs = f" ({formatting.counted(at.runs, 'run')})" if exact and not at.measured.half_width else ""
    between = ", " if shown.startswith("never") else " "
    return f"{shown}{runs}{between}{at.verdict}"


def region(answer: Recommendation, row: GoalRow) -> Region:
    """The region in which a goal is met, by its verdicts at the measured buffers; at both ends by those of the row."""
    if answer.fraction is not None:
        return _of_ends(row)
    found = [at for at in (measured_at(row.goal, point) for point in answer.points) if at is not None]
    if not found:
        return _of_ends(row)
    verdicts: list[GoalVerdict] = [at.verdict for at in found]
    for index, end in ((0, row.smallest), (-1, row.largest)):
        if end is not None:
            verdicts[index] = end.verdict
    if "undecided" in verdicts:
        return _partly(found, verdicts)
    met = [verdict == "met" for verdict in verdicts]
    if all(met):
        return Region("everywhere")
    if not any(met):
        return Region("nowhere", best=max(found, key=lambda at: row.goal.margin(at.measured.mean)))
    return _shaped(found, met)


def _partly(found: Sequence[GoalAt], verdicts: Sequence[GoalVerdict]) -> Region:
    """The region of a goal that is undecided at some measured buffers, from the verdicts at the others only."""
    first, last = verdicts[0], verdicts[-1]
    missed = [index for index, each in enumerate(verdicts) if each == "missed"]
    # The verdicts from both ends up to the first other one.
    below = next((index for index, each in enumerate(verdicts) if each != first), len(verdicts))
    above = next((index + 1 for index in range(len(verdicts) - 1, -1, -1) if verdicts[index] != last), 0)
    if last == "met" and missed:
        return Region("from", low=found[above].buffer, missed=found[missed[-1]].buffer)
    if first == "met" and missed:
        return Region("up_to", high=found[below - 1].buffer, missed=found[missed[0]].buffer)
    if first == "missed":
        return Region("missed_up_to", high=found[below - 1].buffer)
    if last == "missed":
        return Region("missed_from", low=found[above].buffer)
    return Region("unknown")


def _shaped(found: Sequence[GoalAt], met: Sequence[bool]) -> Region:
    """The region of a goal that some measured buffers meet and others miss."""
    if met[-1] and not met[0]:
        first = max(index for index, each in enumerate(met) if not each) + 1
        return Region("from", low=found[first].buffer, missed=found[first - 1].buffer)
    if met[0] and not met[-1]:
        last = met.index(False) - 1
        return Region("up_to", high=found[last].buffer, missed=found[last + 1].buffer)
    low, high = met.index(True), len(met) - 1 - met[::-1].index(True)
    shape: Shape = "between" if all(met[low : high + 1]) else "scattered"
    return Region(shape, found[low].buffer, found[high].buffer)


def _of_ends(row: GoalRow) -> Region:
    """The region as far as the verdicts at both ends determine it."""
    if row.smallest is None or row.largest is None:
        return Region("unknown")
    met = (row.smallest.verdict, row.largest.verdict)
    if met == ("missed", "met"):
        return Region("from", low=row.largest.buffer)
    if met == ("met", "missed"):
        return Region("up_to", high=row.smallest.buffer)
    return Region("everywhere" if met == ("met", "met") else "unknown")


def measured_at(goal: Goal, point: CurvePoint) -> GoalAt | None:
    """A goal at a measured buffer: the search's verdict, else that of its mean and interval; None if not measured."""
    known = point.goals.get(goal.key)
    if known is not None:
        return known
    key = point.key(goal.name)
    measured = None if key is None else point.estimate(key)
    if measured is None:
        return None
    return GoalAt(point.buffer, measured, _verdict(goal, measured), point.replications)


def _nearest(answer: Recommendation, miss: NearestResult, buffer: Quantity) -> GoalAt:
    """A goal at the nearest miss; for goals about a share of the draws, only the search's verdict counts."""
    point = answer.at(buffer)
    if point is not None and miss.goal.key in point.goals and answer.fraction is None:
        return point.goals[miss.goal.key]
    runs = answer.runs if point is None else point.replications
    verdict: GoalVerdict = "met" if miss.met else "missed"
    if answer.fraction is None and _verdict(miss.goal, miss.measured) == "undecided":
        verdict = "undecided"
    return GoalAt(buffer, miss.measured, verdict, runs)


def _verdict(goal: Goal, measured: Estimate) -> GoalVerdict:
    """Whether a metric is on the good side of a goal's threshold, by more than half of its interval."""
    margin, half = goal.margin(measured.mean), measured.half_width or 0.0
    if margin < 0:
        return "missed" if margin < -half else "undecided"
    return "met" if margin >= half else "undecided"
