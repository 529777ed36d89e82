"""The second stage: packet runs at quick precision decide what the first stage leaves open.

A buffer is too small if it misses a goal, and a larger buffer misses none. It is too large if it misses a goal, and a
smaller buffer misses none. Without a goal on delay it is also too large if half of it meets every goal and the excess
costs delay. The stage asks for points in waves: the configured buffers, then the halves of those that meet their goals,
and then larger or smaller buffers until the needed one is known within a factor of 1.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from forebay.errors import ForebayError
from forebay.fleets.answer import Judgment
from forebay.fleets.buffer_size import Size
from forebay.fleets.measuring import LONGEST_DELAY, MeasuredGoal, MeasuredPoint, Measuring, OutOfTime
from forebay.fleets.nearest_size import CLOSE, STEP, At, Direction, NearestSize, between, ladder, nearest_size
from forebay.fleets.questions import Question
from forebay.inputs.goals import Goal, parts_of_key
from forebay.results.metric import find
from forebay.text.formatting import duration
from forebay.text.formatting import size as size_text

__all__ = ["INSIDE", "MOST_SEVERE", "has_delay_goal", "judge", "packet_stage", "with_change"]

#: Metrics that a larger buffer always worsens. For others the runs at other buffers decide: even the utilization may
#: fall with a larger buffer, because the slow start of TCP overshoots a very large one.
DELAY = frozenset({"queue_mean", *(f"queue_delay_{part}" for part in ("mean", "p05", "p50", "p95", "p99", "max"))})
#: A buffer of more bandwidth-delay products than this is hardly too small.
AMPLE = 2.0
#: Part of the delay that a needless buffer must cost.
WORTH = 0.05
#: Factor from the nearest sufficient buffer to the recommended one.
INSIDE = math.sqrt(2)
#: Largest relative miss that counts.
MOST_SEVERE = 9.0

#: The opposite direction.
_OTHER: Mapping[Direction, Direction] = {"larger": "smaller", "smaller": "larger"}

#: Finds the measured point of a buffer; None if there is none yet.
Find = Callable[[Size], MeasuredPoint | None]


@dataclass(frozen=True, slots=True)
class _Missing(Exception):  # noqa: N818 - never leaves this file
    """Buffers that have to be measured before a verdict."""

    sizes: tuple[Size, ...]


def packet_stage(
    questions: Mapping[str, Question], measuring: Measuring, *, halve: bool = True
) -> tuple[dict[str, Judgment], bool]:
    """Judge questions by packet runs.

    Parameters
    ----------
    questions : mapping
        Questions by their digests.
    measuring : Measuring
        It makes the runs.
    halve : bool
        Whether to look for smaller buffers: without it only buffers that are too small are told from others.

    Returns
    -------
    (dict, bool)
        The verdict on each question by its digest, and whether the time was enough.
    """
    found: dict[str, Judgment] = {}
    open_questions = dict(questions)
    while open_questions:
        points: dict[Question, None] = {}
        for digest, question in list(open_questions.items()):
            judgment = judge(question, _finder(question, measuring), halve=halve)
            if isinstance(judgment, Judgment):
                found[digest] = judgment
                del open_questions[digest]
            else:
                points.update(dict.fromkeys(question.with_size(size) for size in judgment))
        if not points:
            break
        try:
            measuring.measure(points, further=len(open_questions) if halve and not found else 0)
        except OutOfTime:
            for digest, question in open_questions.items():
                judgment = judge(question, _finder(question, measuring), halve=halve)
                late = Judgment("undecided", "the time ended before the runs")
                found[digest] = judgment if isinstance(judgment, Judgment) else late
            return found, False
    return found, True


def _finder(question: Question, measuring: Measuring) -> Find:
    return lambda size: measuring.find(question.with_size(size))


def judge(question: Question, find_point: Find, *, halve: bool = True) -> Judgment | tuple[Size, ...]:
    """The verdict on a question, or the buffers that have to be measured first."""

    def at(size: Size) -> MeasuredPoint:
        found = find_point(size)
        if found is None:
            raise _Missing((size,))
        return found

    try:
        here = at(question.size)
        if here.refusal is not None:
            return Judgment("not answerable", here.refusal)
        if here.verdict == "met":
            fine = _judgment("fine", "every goal is met", [here], _sure(here.goals))
            found = _met(question, here, at) if halve else fine
        elif here.verdict == "undecided":
            found = _undecided(here)
        else:
            found = _missed(question, here, at, halve=halve)
    except _Missing as missing:
        return missing.sizes
    notes = dict.fromkeys((*here.notes, *found.notes))
    return replace(found, delay_s=here.delay_s, loss=here.loss, notes=tuple(notes))


def _met(question: Question, here: MeasuredPoint, at: At) -> Judgment:
    """Every goal is met: the verdict depends on half of the buffer."""
    half = question.size.times(0.5)
    if half == question.size:
        return _judgment("fine", "every goal is met, and there is no smaller buffer", [here], _sure(here.goals))
    less = at(half)
    if not less.is_met:
        reason = "every goal is met, and half of the buffer is not shown to be enough"
        found = _judgment("fine", reason, [here, less], _sure(here.goals))
        return _with_margin(found, here, here, less if less.verdict == "missed" else None)
    if not _costs(here, less):
        reason = "every goal is met; a smaller buffer would be enough, and it would be no faster"
    elif has_delay_goal(here.goals):
        reason = "every goal is met, also the one on delay; half of the buffer would be enough"
    else:
        return _needless(question, here, less, at)
    return _with_margin(_judgment("fine", reason, [here, less], _sure(here.goals)), here, less, None)


def _needless(question: Question, here: MeasuredPoint, less: MeasuredPoint, at: At) -> Judgment:
    """Half of the buffer is enough, and the rest costs delay: the smallest sufficient buffer is the needed one."""
    sizes, enough, fails = [question.size], question.size.times(0.5), None
    for size in ladder(question, "smaller"):
        sizes.append(size)
        if not at(size).is_met:
            fails = size
            break
        enough = size
    while fails is not None and enough.number > CLOSE * fails.number:
        middle = between(enough, fails)
        sizes.append(middle)
        enough, fails = (middle, fails) if at(middle).is_met else (enough, middle)
    reason = "half of the buffer also meets every goal, and the excess costs delay"
    found = _judgment("too large", reason, map(at, sizes), _sure([*here.goals, *less.goals]))
    found = _with_margin(found, here, at(enough), None if fails is None else at(fails))
    found = _with_step(found, here, enough, "larger", at)
    return replace(found, severity=(found.cost_delay_s or 0.0) / here.delay_s if here.delay_s else 0.0)


def _costs(here: MeasuredPoint, less: MeasuredPoint) -> bool:
    """Whether the larger buffer has a longer delay, beyond noise."""
    if here.delay_s is None or less.delay_s is None:
        return False
    noise = math.hypot(here.delay_half_width or 0.0, less.delay_half_width or 0.0)
    return here.delay_s - less.delay_s > max(noise, WORTH * here.delay_s)


def _missed(question: Question, here: MeasuredPoint, at: At, *, halve: bool) -> Judgment:
    """A goal is missed: larger and smaller buffers show what it needs."""
    sides = {goal.key: _side(goal) for goal in here.goals}
    missed = [goal.key for goal in here.missed]
    late = [key for key in missed if sides[key] == "smaller"]
    sure = max((goal.confidence for goal in here.missed if goal.confidence is not None), default=None)
    if late and not halve:
        return _judgment("too large", f"{late[0]} needs a smaller buffer", [here], sure)
    early = [key for key in missed if sides[key] == "larger"]
    if late and early:
        reason = f"no buffer meets both: {early[0]} needs a larger one, {late[0]} a smaller one"
        return _judgment("not answerable", reason, [here], sure)
    found = []
    for direction in _directions(question, late, early):
        keys = [key for key in missed if sides[key] == direction] or missed
        toward = {*keys, *(key for key in sides if sides[key] == direction)}
        against = {key for key in sides if sides[key] == _OTHER[direction]}
        nearest = nearest_size(question, here, direction, toward, against, at)
        found.append(_changed(here, keys, direction, nearest, sure, at))
        if nearest.state == "met":
            return found[-1]
    return min(found, key=lambda judgment: judgment.verdict != "undecided")


def _directions(question: Question, late: Sequence[str], early: Sequence[str]) -> tuple[Direction, ...]:
    """The directions of the search, the likelier one first."""
    if late or early:
        return ("smaller",) if late else ("larger",)
    try:
        products = question.scenario().buffer.bdp
    except ForebayError:
        products = None
    return ("smaller", "larger") if products is not None and products > AMPLE else ("larger", "smaller")


def _changed(
    here: MeasuredPoint, keys: Sequence[str], direction: Direction, nearest: NearestSize, sure: float | None, at: At
) -> Judgment:
    """The verdict on a buffer that misses goals, after a search for the nearest one that does not."""
    key, end, points = keys[0], nearest.end, [here, *nearest.points]
    at_end = size_text(end.bytes)
    if nearest.state == "beyond" and end.refusal is not None:
        reason = f"{key} needs a {direction} buffer, and the runs there are refused: {end.refusal}"
        return _judgment("undecided", reason, points, None)
    if nearest.state == "beyond" and end.is_brief:
        reason = f"{key} needs a {direction} buffer, and the runs are too short for one of {at_end}: {_longer(end)}"
        return _judgment("undecided", reason, points, None)
    if nearest.state == "beyond":
        bound = "up to" if direction == "larger" else "down to"
        missed = next((goal.key for goal in end.goals if goal.verdict != "met"), key)
        reason = f"{key} is missed, and no {direction} buffer {bound} {at_end} meets every goal ({missed})"
        return _judgment("not answerable", reason, points, sure)
    if nearest.state == "conflict":
        reason = f"no buffer was found that meets both: {key} needs a {direction} one, and {nearest.other} is missed "
        return _judgment("not answerable", f"{reason}at {at_end}", points, sure)
    if nearest.state == "open":
        other = f"{nearest.other} is {end.goal(nearest.other).verdict} at {at_end}"
        reason = f"{key} needs a {direction} buffer, {other}, and the runs do not show one that meets every goal"
        return _judgment("undecided", reason, points, None)
    reason = f"{key} needs a {direction} buffer"
    severity = 1 + min(MOST_SEVERE, max(goal.relative_miss for goal in here.missed if goal.key in keys))
    found = replace(
        _judgment("too small" if direction == "larger" else "too large", reason, points, sure), severity=severity
    )
    found = _with_margin(found, here, end, nearest.last)
    size = nearest.size
    if direction == "smaller" and not any(_name(goal) in DELAY for goal in here.missed):
        size = _middle(size, at)
    return _with_step(found, here, size, direction, at)


def _middle(size: Size, at: At) -> Size:
    """The middle of the sufficient buffers below one: overshoot makes the buffers near their upper end uncertain."""
    least = size
    while (smaller := least.times(1 / STEP)) != least and at(smaller).is_met:
        least = smaller
    middle = between(size, least)
    return middle if at(middle).is_met else size


def _with_step(found: Judgment, here: MeasuredPoint, size: Size, direction: Direction, at: At) -> Judgment:
    """The verdict with a recommended buffer: a step beyond a sufficient one, or that one if the step misses a goal."""
    step, end = at(size.times(INSIDE if direction == "larger" else 1 / INSIDE)), at(size)
    found = replace(found, runs=found.runs + step.runs)
    return with_change(found, here, step if step.is_met else end)


def _longer(point: MeasuredPoint) -> str:
    """The remedy for runs whose measured time is too short for their delay."""
    delay, least = duration(point.delay_s or 0.0), duration((point.delay_s or 0.0) / LONGEST_DELAY)
    return f"the delay there is {delay}, so set run.measure to {least} or more"


def has_delay_goal(goals: Iterable[MeasuredGoal | Goal]) -> bool:
    """Whether the user has said how much delay is allowed."""
    return any(_name(goal) in DELAY and _side(goal) == "smaller" for goal in goals)


def _side(goal: MeasuredGoal | Goal) -> Direction | None:
    """The side to which a goal asks the buffer to change; None if it depends on the traffic."""
    if _name(goal) not in DELAY:
        return None
    return "smaller" if goal.sense == "<=" else "larger"


def _name(goal: MeasuredGoal | Goal) -> str:
    """The name of a goal's metric, without its group."""
    metric = find(parts_of_key(goal.key)[0])
    return goal.key if metric is None else metric.goal_name


def _undecided(here: MeasuredPoint) -> Judgment:
    if here.is_brief:
        return _judgment("undecided", f"the runs are too short for this buffer: {_longer(here)}", [here], None)
    keys = [goal.key for goal in here.goals if goal.verdict == "undecided"]
    return _judgment("undecided", f"the runs do not show whether {keys[0]} is met", [here], None)


def _sure(goals: Iterable[MeasuredGoal]) -> float | None:
    """The least confidence; None if one goal has none though runs decide it."""
    found = [goal.confidence for goal in goals if goal.confidence is not None]
    return min(found, default=None)


def _judgment(verdict: str, reason: str, points: Iterable[MeasuredPoint], confidence: float | None) -> Judgment:
    runs = sum(point.runs for point in points)
    return Judgment(verdict, reason, confidence=confidence, stage="packet runs", runs=runs)  # type: ignore[arg-type]


def _with_margin(found: Judgment, here: MeasuredPoint, enough: MeasuredPoint, missed: MeasuredPoint | None) -> Judgment:
    """The same with the interval of the margin: the needed buffer is between one that is enough and one that is not."""
    known, other = here.bytes / enough.bytes, None if missed is None else here.bytes / missed.bytes
    low, high = (known, other) if other is None or other >= known else (other, known)
    middle = known if other is None else math.sqrt(known * other)
    return replace(found, margin=middle, margin_low=low, margin_high=high, needed_bytes=here.bytes / middle)


def with_change(found: Judgment, here: MeasuredPoint, end: MeasuredPoint) -> Judgment:
    """The same with the recommended buffer `end`, and the delay and the loss here and there."""
    return replace(
        found,
        delay_s=here.delay_s,
        loss=here.loss,
        recommended_bytes=end.bytes,
        recommended_delay_s=end.delay_s,
        recommended_loss=end.loss,
        notes=tuple(dict.fromkeys((*here.notes, *end.notes))),
    )
