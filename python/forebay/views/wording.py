"""A recommendation's goals and buffers in words, for readers who do not know the field's short forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay import formatting
from forebay.formatting import counted
from forebay.goals import parts_of_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forebay.goals import Goal
    from forebay.report import BufferSize
    from forebay.search.answer import Conflict, Recommendation

__all__ = [
    "around",
    "count",
    "difference",
    "doubt",
    "goal_phrase",
    "goal_title",
    "metric_title",
    "packets",
    "sides",
    "sign",
    "sizes",
    "standing",
    "threshold",
    "whose",
]


def metric_title(name: str) -> str:
    """Title of a metric or of "group.metric"."""
    return formatting.metric_title(name).replace(" delay", " queueing delay")


def threshold(name: str, number: float) -> str:
    """A threshold as it was asked for: 90 %, not 90.00 %."""
    return formatting.exactly(formatting.value(name, number))


def difference(name: str, amount: float) -> str:
    """A difference between two values of a metric, without its sign: shares differ by points."""
    return formatting.value(name, abs(amount)).replace(" %", " points")


def sign(sense: str) -> str:
    """The side of a threshold that is good."""
    return "≥" if sense == ">=" else "≤"


def goal_title(key: str) -> str:
    """A goal by its key: the title of its metric, with the bound where several goals are about that metric."""
    name, sense, bound = parts_of_key(key)
    if sense is None or bound is None:
        return metric_title(name)
    return f"{metric_title(name)} {sign(sense)} {threshold(name, bound)}"


def goal_phrase(goal: Goal) -> str:
    """A goal as part of a sentence."""
    sense = "at least" if goal.sense == ">=" else "at most"
    group, dot, metric = goal.name.rpartition(".")
    what = f"{metric_title(metric)} of “{group}”" if dot else metric_title(metric)
    return f"{what} is {sense} {threshold(goal.name, goal.threshold)}"


def count(buffer: BufferSize) -> str:
    """A buffer in packets."""
    return counted(round(buffer.packets), "packet")


def packets(buffer: BufferSize) -> str:
    """A buffer in packets, and how long so many take."""
    return f"{count(buffer)} ({formatting.duration(buffer.seconds)})"


def sizes(buffer: BufferSize) -> str:
    """A buffer in every unit."""
    bdp = "" if buffer.bdp is None else f" = {buffer.bdp:.3g} BDP"
    return f"{count(buffer)} = {formatting.size(buffer.bytes)} = {formatting.duration(buffer.seconds)}{bdp}"


def whose(answer: Recommendation) -> str:
    """Whose buffer was sized; nothing where it is the target link's."""
    link, of_class = answer.knob.place
    parts = [*([f" of class “{of_class}”"] if of_class else []), *([f" of link “{link}”"] if link else [])]
    return "".join(parts)


def standing(answer: Recommendation) -> str:
    """What the recommended buffer is among the measured ones: the smallest that will do only where none contradicts."""
    if answer.gaps:
        return "the lower end of a range in which every goal is met"
    if answer.islands:
        return "the smallest from which on every measured buffer meets the goals that ask for room"
    return (
        "the smallest that was found to meet every goal" if closeness(answer) else "the smallest that meets every goal"
    )


def closeness(answer: Recommendation) -> str:
    """Between which buffers the smallest that would do lies, where the answer may be further from it than was asked."""
    least, buffer = answer.feasible_from, answer.buffer
    if least is None or buffer is None or buffer.packets <= max(least.low.packets * (1 + answer.resolution), 1.0):
        return ""
    between = f"{round(least.low.packets):,} to {count(least.high)}"
    return f"The smallest that would do is {between} ({100 * least.confidence:g} % confidence)."


def sides(conflict: Conflict, title: Callable[[str], str], told: Callable[[BufferSize], str]) -> Iterator[str]:
    """What the goals on either side of a conflict need.

    Parameters
    ----------
    conflict : Conflict
        Without a buffer that meets every goal.
    title, told : callable
        Words for a goal's key and for a buffer.
    """
    for side, verbs, bound, nowhere in (
        (
            conflict.needs_at_least,
            ("needs", "need"),
            "at least",
            f"{told(conflict.largest_tried)}, the largest buffer tried",
        ),
        (conflict.needs_at_most, ("allows", "allow"), "at most", "the smallest buffer"),
    ):
        names = " and ".join(map(title, side.goals))
        if names and side.buffer is None:
            yield f"{names}: missed even at {nowhere}"
        elif names and side.buffer is not None:
            yield f"{names} {verbs[len(side.goals) > 1]} {bound} {told(side.buffer)}"


def around(answer: Recommendation) -> tuple[str, ...]:
    """How the goals fare above the answer, and below it where that is a surprise."""
    upper = answer.feasible_up_to
    found = []
    if answer.gaps:
        gap = answer.gaps[0]
        measured = formatting.estimate(parts_of_key(gap.goal)[0], gap.measured)
        more = "" if len(answer.gaps) == 1 else f", and at {len(answer.gaps) - 1} more of the larger buffers measured"
        what = goal_title(gap.goal)
        found.append(f"Above it goals are missed again: {what} is {measured} at {packets(gap.buffer)}{more}.")
    elif upper is not None and upper.missed_at is not None:
        between = "" if upper.about is None else f"; between them up to about {packets(upper.about)}"
        found.append(
            f"Every goal still holds at {packets(upper.buffer)}, but not at {packets(upper.missed_at)}, of the buffers "
            f"that were measured{between}."
        )
    if answer.islands:
        at = [f"{island.buffer.packets:,.0f}" for island in answer.islands]
        which = at[0] if len(at) == 1 else f"{', '.join(at[:-1])} and {at[-1]}"
        broken = max(answer.islands, key=lambda island: island.missed_at.packets).missed_at
        found.append(f"Below it {which} packets meet every goal, too, but {packets(broken)} do not.")
    return tuple(found)


def doubt(answer: Recommendation) -> str:
    """Why no confidence is stated; nothing where one is."""
    from forebay.warning import Kind

    if answer.confidence is not None:
        return ""
    kinds = {warning.kind: warning for warning in answer.warnings}
    reasons = []
    if Kind.IDENTICAL in kinds:
        values = kinds[Kind.IDENTICAL].values
        if values["replications"] == 1:
            return "there are no replications"
        reasons.append(f"{'most of ' if values['different'] > 1 else ''}the replications are identical")
    if Kind.LOCK_STEP in kinds:
        reasons.append("the flows move in step")
    if Kind.TIME_OVER in kinds and not reasons:
        reasons.append("the time was over")
    return " and ".join(reasons) or "the replications carry none"
