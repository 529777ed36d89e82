"""The second stage: packet runs at quick precision decide what the first stage leaves open.

A buffer is too small if a goal that needs room is missed and a larger buffer meets it. A buffer is too large if a
goal on delay is missed. Without such a goal it is too large if half of it also meets every goal and the excess costs
delay. The stage asks for points in waves: the configured buffers, then the halves of those that meet their goals, and
then larger or smaller buffers until the needed one is known within a factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from forebay.fleets.answer import Judgment
from forebay.fleets.buffer_size import Size
from forebay.fleets.measuring import MeasuredGoal, MeasuredPoint, Measuring, OutOfTime
from forebay.fleets.questions import Question
from forebay.inputs.goals import Goal, parts_of_key
from forebay.results.metric import find

__all__ = ["MOST_SEVERE", "has_delay_goal", "judge", "packet_stage"]

#: Metrics that a larger buffer improves, and those that it worsens. For others the runs at other buffers decide.
ROOM = frozenset({"utilization", "loss_rate", "goodput"})
DELAY = frozenset({"queue_delay_mean", "queue_delay_p50", "queue_delay_p99", "queue_delay_max", "queue_mean"})
#: Factors of the configured buffer at which the needed one is sought.
LARGER = (2.0, 4.0, 16.0, 64.0, 256.0)
SMALLER = (0.5, 0.25, 1 / 16, 1 / 64)
#: Part of the delay that a needless buffer must cost.
WORTH = 0.05
#: Largest relative miss that counts.
MOST_SEVERE = 9.0

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
                late = Judgment("undecided", "the time was over before its runs")
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

    size = question.size
    try:
        here = at(size)
        if here.refusal is not None:
            return Judgment("not answerable", here.refusal)
        if here.verdict == "met":
            return _met(size, here, at) if halve else _judgment("fine", "every goal is met", [here], _sure(here.goals))
        if here.verdict == "undecided":
            return _undecided(here)
        return _missed(size, here, at, find_point, halve=halve)
    except _Missing as missing:
        return missing.sizes


def _met(size: Size, here: MeasuredPoint, at: Callable[[Size], MeasuredPoint]) -> Judgment:
    """Every goal is met: the verdict hangs on half of the buffer."""
    half = size.times(SMALLER[0])
    if half == size:
        return _judgment("fine", "every goal is met, and there is no smaller buffer", [here], _sure(here.goals))
    less = at(half)
    if less.refusal is not None or less.verdict != "met":
        ends = (1.0, 2.0 if less.verdict == "missed" else None)
        reason = "every goal is met, and half of the buffer is not shown to be enough"
        return _with_margin(_judgment("fine", reason, [here, less], _sure(here.goals)), here, ends)
    if not _costs(here, less):
        reason = "every goal is met; a smaller buffer would be enough, and it would be no faster"
        return _with_margin(_judgment("fine", reason, [here, less], _sure(here.goals)), here, (2.0, None))
    if has_delay_goal(here.goals):
        reason = "every goal is met, also the one on delay; half of the buffer would be enough"
        return _with_margin(_judgment("fine", reason, [here, less], _sure(here.goals)), here, (2.0, None))
    last, points = less, [here, less]
    factor, fails = SMALLER[0], 0.0
    for smaller in SMALLER[1:]:
        below = at(size.times(smaller))
        points.append(below)
        if below.refusal is not None or below.verdict != "met":
            fails = smaller
            break
        last, factor = below, smaller
    ends = (1 / factor, 1 / fails if fails else None)
    reason = "half of the buffer also meets every goal, and the excess costs delay"
    found = _judgment("too large", reason, points, _sure([*here.goals, *less.goals]))
    delay, needed = here.delay_s or 0.0, last.delay_s or 0.0
    cost = max(0.0, delay - needed)
    severity = cost / delay if delay else 0.0
    return _with_margin(replace(found, cost_delay_s=cost, severity=severity), here, ends)


def _costs(here: MeasuredPoint, less: MeasuredPoint) -> bool:
    """Whether the larger buffer has a longer delay, beyond noise."""
    if here.delay_s is None or less.delay_s is None:
        return False
    noise = math.hypot(here.delay_half_width or 0.0, less.delay_half_width or 0.0)
    return here.delay_s - less.delay_s > max(noise, WORTH * here.delay_s)


def _missed(
    size: Size, here: MeasuredPoint, at: Callable[[Size], MeasuredPoint], find_point: Find, *, halve: bool
) -> Judgment:
    """A goal is missed: larger and smaller buffers show what it needs."""
    sides = _sides(size, here, at, find_point)
    room, less = ([key for key, side in sides.items() if side == wanted] for wanted in ("room", "less"))
    sure = max((goal.confidence for goal in here.missed if goal.confidence is not None), default=None)
    if room and less:
        reason = f"no buffer meets both: {room[0]} needs a larger one, {less[0]} a smaller one"
        return _judgment("not answerable", reason, [here], sure)
    if not room and not less:
        reason = f"{next(iter(sides))} is missed, and no other buffer changes it"
        return _judgment("not answerable", reason, [here], sure)
    if less and not halve:
        return _judgment("too large", f"{less[0]} needs a smaller buffer", [here], sure)
    keys, factors, side = (room, LARGER, "larger") if room else (less, SMALLER, "smaller")
    points, last, reached = [here], 1.0, None
    for factor in factors:
        other = size.times(factor)
        points.append(at(other))
        if points[-1].refusal is not None:
            break
        if all(points[-1].goal(key).verdict == "met" for key in keys):
            reached = factor
            break
        last = factor
        if other.number == 1:
            break
    if reached is None:
        reason = f"{keys[0]} is missed, and no {side} buffer up to a factor of {max(last, 1 / last):g} meets it"
        return _judgment("not answerable", reason, points, sure)
    end = points[-1]
    beside = [goal.key for goal in end.missed]
    reason = f"{keys[0]} needs a {side} buffer" + (f"; there {beside[0]} is missed" if beside else "")
    found = replace(
        _judgment("too small" if room else "too large", reason, points, sure),
        cost_delay_s=_excess(here.delay_s, end.delay_s),
        cost_loss=_excess(here.loss, end.loss),
        severity=1 + min(MOST_SEVERE, max(goal.relative_miss for goal in here.missed if goal.key in keys)),
    )
    low, high = sorted((1 / reached, 1 / last))
    enough = end.bytes if end.verdict == "met" else None
    return replace(_with_margin(found, here, (low, high)), enough_bytes=enough)


def _excess(here: float | None, needed: float | None) -> float | None:
    """The part of a delay or a loss that the needed buffer would not have."""
    return None if here is None or needed is None else max(0.0, here - needed)


def _sides(
    size: Size, here: MeasuredPoint, at: Callable[[Size], MeasuredPoint], find_point: Find
) -> dict[str, str | None]:
    """The side to which each missed goal asks the buffer to change, by the goal's key."""
    sides = {goal.key: _side(goal) for goal in here.missed}
    unknown = [goal for goal in here.missed if sides[goal.key] is None]
    if unknown:
        beside = (size.times(LARGER[0]), size.times(SMALLER[0]))
        absent = tuple(each for each in beside if find_point(each) is None)
        if absent:
            raise _Missing(absent)
        above, below = (at(each) for each in beside)
        sides |= {goal.key: _measured_side(goal, above, below) for goal in unknown}
    return sides


def has_delay_goal(goals: Iterable[MeasuredGoal | Goal]) -> bool:
    """Whether the user has said how much delay is allowed."""
    return any(_name(goal) in DELAY and _side(goal) == "less" for goal in goals)


def _side(goal: MeasuredGoal | Goal) -> str | None:
    """The side to which a goal asks the buffer to change; None if it depends on the traffic."""
    name = _name(goal)
    metric = find(name)
    if metric is None or name not in ROOM | DELAY:
        return None
    # A goal against the better direction, such as a utilization of at most 50 %, asks for the other side.
    is_usual = (goal.sense == ">=") == metric.more_is_better
    return "room" if (name in ROOM) == is_usual else "less"


def _name(goal: MeasuredGoal | Goal) -> str:
    """The name of a goal's metric, without its group."""
    metric = find(parts_of_key(goal.key)[0])
    return goal.key if metric is None else metric.goal_name


def _measured_side(goal: MeasuredGoal, above: MeasuredPoint, below: MeasuredPoint) -> str | None:
    """The side on which a goal comes closer to its threshold."""
    if above.refusal is not None or below.refusal is not None:
        return None
    more, less = above.goal(goal.key).margin, below.goal(goal.key).margin
    return None if more == less else "room" if more > less else "less"


def _undecided(here: MeasuredPoint) -> Judgment:
    keys = [goal.key for goal in here.goals if goal.verdict == "undecided"]
    return _judgment("undecided", f"the runs do not show whether {keys[0]} is met", [here], None)


def _sure(goals: Iterable[MeasuredGoal]) -> float | None:
    """The least confidence; None if one goal has none though runs decide it."""
    found = [goal.confidence for goal in goals if goal.confidence is not None]
    return min(found, default=None)


def _judgment(verdict: str, reason: str, points: Iterable[MeasuredPoint], confidence: float | None) -> Judgment:
    runs = sum(point.runs for point in points)
    return Judgment(verdict, reason, confidence=confidence, stage="packet runs", runs=runs)  # type: ignore[arg-type]


def _with_margin(found: Judgment, here: MeasuredPoint, ends: tuple[float | None, float | None]) -> Judgment:
    """The same with the interval of the margin; the middle is the geometric one."""
    low, high = ends
    middle = math.sqrt(low * high) if low is not None and high is not None else low if high is None else high
    needed = None if not middle else here.bytes / middle
    enough = here.bytes / low if low else None
    return replace(found, margin=middle, margin_low=low, margin_high=high, needed_bytes=needed, enough_bytes=enough)
