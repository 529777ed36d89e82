"""A recommendation's goals and buffers in words, for readers who do not know the field's short forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay import formatting
from forebay.formatting import counted
from forebay.goals import parts_of_key
from forebay.search.ranged import Ranged
from forebay.search.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forebay.goals import Goal
    from forebay.scenario import Scenario
    from forebay.search.answer import Recommendation, Value
    from forebay.search.optimum import Optimum

__all__ = [
    "around",
    "axis",
    "best",
    "both",
    "chosen",
    "count",
    "difference",
    "doubt",
    "extreme",
    "found",
    "goal_phrase",
    "goal_title",
    "metric_title",
    "nothing_meets",
    "packets",
    "rate_of_link",
    "sides",
    "sign",
    "sizes",
    "standing",
    "standing_beside",
    "subject",
    "threshold",
    "varied",
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


def count(buffer: Value) -> str:
    """A buffer in packets, or another setting."""
    if isinstance(buffer, Setting):
        return buffer.words
    return counted(round(buffer.packets), "packet")


def packets(buffer: Value) -> str:
    """A buffer in packets, and how long so many take."""
    if isinstance(buffer, Setting):
        return buffer.words
    return f"{count(buffer)} ({formatting.duration(buffer.seconds)})"


def rate_of_link(scenario: Scenario) -> str:
    """The target link's rate; of one that changes the average."""
    rate = formatting.exactly(formatting.bandwidth(scenario.core.rate_bps))
    return f"{rate} (average)" if scenario.core.rate_changes else rate


def sizes(buffer: Value) -> str:
    """A buffer in every unit."""
    if isinstance(buffer, Setting):
        return buffer.words
    bdp = "" if buffer.bdp is None else f" = {buffer.bdp:.3g} BDP"
    return f"{count(buffer)} = {formatting.size(buffer.bytes)} = {formatting.duration(buffer.seconds)}{bdp}"


def whose(answer: Recommendation) -> str:
    """Whose buffer was sized; nothing where it is the target link's."""
    if isinstance(answer.knob, Ranged):
        return ""
    link, of_class = answer.knob.place
    parts = [*([f" of class “{of_class}”"] if of_class else []), *([f" of link “{link}”"] if link else [])]
    return "".join(parts)


def subject(answer: Recommendation) -> str:
    """What the answer is a value of, at the beginning of a line."""
    return answer.knob.key if isinstance(answer.knob, Ranged) else f"Buffer{whose(answer)}"


def found(answer: Recommendation) -> str:
    """What was asked for: the smallest of what, or the one at which a metric is best."""
    of = f"value of {answer.knob.key}" if isinstance(answer.knob, Ranged) else f"buffer{whose(answer)}"
    if answer.optimum is None:
        return f"{extreme(answer)} {of}"
    which = "lowest" if answer.optimum.sense == "minimize" else "highest"
    return f"{of} of the {which} {metric_title(answer.optimum.metric)}"


def varied(answer: Recommendation) -> str:
    """What the answer is a value of, as the head of a column."""
    return answer.knob.key if isinstance(answer.knob, Ranged) else "buffer"


def chosen(answer: Recommendation) -> str:
    """With which of the values that were to choose from."""
    told = ", ".join(f"{key} = {value}" for key, value in answer.choice.items())
    return f" with {told}" if told else ""


def standing_beside(answer: Recommendation, number: int) -> str:
    """What one of the alternatives is beside the best one."""
    alternative = answer.alternatives[number]
    if alternative.recommendation is None:
        return "nothing meets every goal"
    if number == 0:
        return "the best"
    if not alternative.apart:
        return "may be as good"
    if answer.optimum is not None:
        return "worse"
    return "smaller" if answer.knob.largest else "larger"


def best(found: Optimum) -> str:
    """How good the metric is that was asked to be lowest or highest, and between what the best lies."""
    which = "Lowest" if found.sense == "minimize" else "Highest"
    low = found.low.bare if isinstance(found.low, Setting) else f"{round(found.low.packets):,}"
    sure = f"the best is {low} to {count(found.high)} ({100 * found.confidence:g} % confidence)"
    return f"{which} {metric_title(found.metric)}: {formatting.estimate(found.metric, found.measured)} here; {sure}."


def extreme(answer: Recommendation) -> str:
    """Which of the values that meet the goals was asked for."""
    return "largest" if answer.knob.largest else "smallest"


def nothing_meets(answer: Recommendation) -> str:
    """What there is none of, at the beginning of a sentence."""
    if not isinstance(answer.knob, Ranged):
        return "No buffer"
    low, high = (answer.knob.setting(end) for end in (answer.knob.range.low, answer.knob.range.high))
    return f"No {answer.knob.key} from {low.bare} to {high.words}"


def axis(answer: Recommendation) -> str:
    """What the horizontal axis of its pictures counts, with the unit; of a buffer packets."""
    if not isinstance(answer.knob, Ranged):
        return "buffer (packets)"
    unit = answer.knob.unit_words
    return f"{answer.knob.key} ({unit})" if unit else answer.knob.key


def standing(answer: Recommendation) -> str:
    """What the recommended buffer is among the measured ones: the smallest that will do only where none contradicts."""
    if answer.optimum is not None:
        which = "lowest" if answer.optimum.sense == "minimize" else "highest"
        meeting = " of those that meet every goal" if answer.goals else ""
        return f"where {metric_title(answer.optimum.metric)} was found to be {which}{meeting}"
    if answer.gaps:
        return f"the {'upper' if answer.knob.largest else 'lower'} end of a range in which every goal is met"
    if answer.islands:
        what = "value" if isinstance(answer.knob, Ranged) else "buffer"
        return f"the {extreme(answer)} from which on every measured {what} meets the goals that ask for room"
    verb = "that was found to meet" if closeness(answer) else "that meets"
    return f"the {extreme(answer)} {verb} every goal"


def closeness(answer: Recommendation) -> str:
    """Between which buffers the smallest that would do lies, where the answer may be further from it than was asked."""
    least, buffer = answer.feasible_from, answer.buffer
    if least is None or buffer is None or answer.optimum is not None:
        return ""
    nearest = min(least.low.place, least.high.place)
    if buffer.place <= max(nearest * (1 + answer.resolution), 1.0):
        return ""
    low = least.low.bare if isinstance(least.low, Setting) else f"{round(least.low.packets):,}"
    between = f"{low} to {count(least.high)}"
    return f"The {extreme(answer)} that would do is {between} ({100 * least.confidence:g} % confidence)."


def sides(answer: Recommendation, title: Callable[[str], str], told: Callable[[Value], str]) -> Iterator[str]:
    """What the goals on either side of a conflict need.

    Parameters
    ----------
    answer : Recommendation
        Without a buffer that meets every goal.
    title, told : callable
        Words for a goal's key and for a buffer.
    """
    conflict = answer.conflict
    assert conflict is not None, "without an answer there is a reason"
    needs, allows = ("needs", "need"), ("allows", "allow")
    last, first = f"{told(conflict.largest_tried)}, the largest buffer tried", "the smallest buffer"
    bounds = ("at least", "at most")
    if isinstance(answer.knob, Ranged):
        last, first = (answer.knob.at(end).words for end in (answer.knob.range.last, answer.knob.range.first))
        if answer.knob.largest:
            needs, allows, bounds = allows, needs, ("at most", "at least")
    for side, verbs, bound, nowhere in (
        (conflict.needs_at_least, needs, bounds[0], last),
        (conflict.needs_at_most, allows, bounds[1], first),
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
        beyond = "values" if isinstance(answer.knob, Ranged) else "larger buffers"
        more = "" if len(answer.gaps) == 1 else f", and at {len(answer.gaps) - 1} more of the {beyond} measured"
        what = goal_title(gap.goal)
        side = "Below" if answer.knob.largest else "Above"
        found.append(f"{side} it goals are missed again: {what} is {measured} at {packets(gap.buffer)}{more}.")
    elif upper is not None and upper.missed_at is not None:
        between = "" if upper.about is None else f"; between them {_to(answer)} about {packets(upper.about)}"
        found.append(
            f"Every goal still holds at {packets(upper.buffer)}, but not at {packets(upper.missed_at)}, of the "
            f"{_several(answer)} that were measured{between}."
        )
    if answer.islands:
        broken = max(answer.islands, key=lambda island: island.missed_at.place).missed_at
        if isinstance(answer.knob, Ranged):
            which = both([count(island.buffer) for island in answer.islands])
            side = "Above" if answer.knob.largest else "Below"
            found.append(f"{side} it every goal is met at {which}, too, but not at {count(broken)}.")
        else:
            which = both([f"{island.buffer.place:,.0f}" for island in answer.islands])
            found.append(f"Below it {which} packets meet every goal, too, but {packets(broken)} do not.")
    return tuple(found)


def _to(answer: Recommendation) -> str:
    """The direction away from the answer."""
    return "down to" if answer.knob.largest else "up to"


def _several(answer: Recommendation) -> str:
    return "values" if isinstance(answer.knob, Ranged) else "buffers"


def both(words: list[str]) -> str:
    """Words as part of a sentence: commas, and "and" before the last."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


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
