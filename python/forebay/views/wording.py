"""A recommendation's goals and buffers in words, for readers who do not know the field's short forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.inputs.goals import parts_of_key
from forebay.search.range_variable import RangeVariable
from forebay.search.value import Value
from forebay.text import formatting
from forebay.text.formatting import capitalized, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forebay.inputs.goals import Goal
    from forebay.scenario import Scenario
    from forebay.search.answer import Recommendation
    from forebay.search.answer_parts import SearchCost
    from forebay.search.optimum import Optimum
    from forebay.search.value import Quantity

__all__ = [
    "around",
    "axis",
    "best",
    "both",
    "buffer_owner",
    "chosen",
    "comparison_with_best",
    "count",
    "difference",
    "doubt",
    "extreme",
    "goal_phrase",
    "goal_title",
    "goal_words",
    "interval_words",
    "metric_title",
    "minimum",
    "nothing_meets",
    "number_text",
    "packets",
    "rate_of_link",
    "request_phrase",
    "search_cost",
    "sides",
    "sign",
    "sizes",
    "standing",
    "subject",
    "threshold",
    "varied",
]


def metric_title(name: str) -> str:
    """Title of a metric or of "group.metric"."""
    return formatting.metric_title(name).replace(" delay", " queueing delay")


def threshold(name: str, number: float) -> str:
    """A threshold as a user writes it: 90 %, not 90.00 %."""
    return formatting.exactly(formatting.value(name, number))


def difference(name: str, amount: float) -> str:
    """A difference between two values of a metric, without its sign; the unit for shares is points."""
    return formatting.value(name, abs(amount)).replace(" %", " points")


def sign(sense: str) -> str:
    """The side of a threshold on which a goal is met."""
    return "≥" if sense == ">=" else "≤"


def goal_title(key: str) -> str:
    """A goal by its key: the title of its metric, with the bound if several goals are about that metric."""
    name, sense, bound = parts_of_key(key)
    if sense is None or bound is None:
        return metric_title(name)
    return f"{metric_title(name)} {sign(sense)} {threshold(name, bound)}"


def goal_words(key: str) -> str:
    """A goal by its key as the subject of a sentence: "loss of “call”"."""
    name, sense, bound = parts_of_key(key)
    group, dot, metric = name.rpartition(".")
    what = f"{formatting.metric_title(metric)} of “{group}”" if dot else formatting.metric_title(metric)
    return what if sense is None or bound is None else f"{what} {sign(sense)} {threshold(name, bound)}"


def goal_phrase(goal: Goal) -> str:
    """A goal as part of a sentence."""
    sense = "at least" if goal.sense == ">=" else "at most"
    group, dot, metric = goal.name.rpartition(".")
    what = f"{metric_title(metric)} of “{group}”" if dot else metric_title(metric)
    return f"{what} is {sense} {threshold(goal.name, goal.threshold)}"


def count(buffer: Quantity) -> str:
    """A buffer in packets, or another setting."""
    if isinstance(buffer, Value):
        return buffer.words
    return counted(round(buffer.packets), "packet")


def packets(buffer: Quantity) -> str:
    """A buffer in packets and as a time."""
    if isinstance(buffer, Value):
        return buffer.words
    return f"{count(buffer)} ({formatting.duration(buffer.seconds)})"


def rate_of_link(scenario: Scenario) -> str:
    """The target link's rate; if it changes, the average."""
    rate = formatting.exactly(formatting.bandwidth(scenario.core.rate_bps))
    return f"{rate} (average)" if scenario.core.rate_changes else rate


def sizes(buffer: Quantity) -> str:
    """A buffer in every unit."""
    if isinstance(buffer, Value):
        return buffer.words
    bdp = "" if buffer.bdp is None else f" = {buffer.bdp:.3g} BDP"
    return f"{count(buffer)} = {formatting.size(buffer.bytes)} = {formatting.duration(buffer.seconds)}{bdp}"


def buffer_owner(answer: Recommendation) -> str:
    """The owner of the sized buffer, in words; empty if it is the target link."""
    if isinstance(answer.variable, RangeVariable):
        return ""
    link, of_class = answer.variable.place
    parts = [*([f" of class “{of_class}”"] if of_class else []), *([f" of link “{link}”"] if link else [])]
    return "".join(parts)


def subject(answer: Recommendation) -> str:
    """The quantity that the answer sets, at the beginning of a line."""
    return answer.variable.key if isinstance(answer.variable, RangeVariable) else f"Buffer{buffer_owner(answer)}"


def request_phrase(answer: Recommendation) -> str:
    """The request in words: the smallest or largest value, or the value with the best metric."""
    of = (
        f"value of {answer.variable.key}"
        if isinstance(answer.variable, RangeVariable)
        else f"buffer{buffer_owner(answer)}"
    )
    if answer.optimum is None:
        return f"{extreme(answer)} {of}"
    which = "lowest" if answer.optimum.sense == "minimize" else "highest"
    return f"{of} of the {which} {metric_title(answer.optimum.metric)}"


def varied(answer: Recommendation) -> str:
    """The quantity that the answer sets, as the head of a column."""
    return answer.variable.key if isinstance(answer.variable, RangeVariable) else "buffer"


def chosen(answer: Recommendation) -> str:
    """The chosen values of the keys that had alternatives, in words."""
    text = ", ".join(f"{key} = {value}" for key, value in answer.choice.items())
    return f" with {text}" if text else ""


def comparison_with_best(answer: Recommendation, number: int) -> str:
    """The comparison of one alternative with the best one, in words."""
    alternative = answer.alternatives[number]
    missed = alternative.goals_total - alternative.goals_met
    if alternative.recommendation is None and missed:
        words = f"misses {missed} of {counted(alternative.goals_total, 'goal')}"
        return f"closest, {words}" if number == 0 else words
    if number == 0:
        words = (
            "the best" if all(other.significantly_worse for other in answer.alternatives[1:]) else "no clear difference"
        )
    else:
        words = "worse" if alternative.significantly_worse else "no clear difference"
    return words if alternative.recommendation is not None else f"{words}, not confirmed"


def best(found: Optimum) -> str:
    """The best value of the metric to minimize or maximize, and the interval of the true optimum."""
    which = "lowest" if found.sense == "minimize" else "highest"
    measured = formatting.estimate(found.metric, found.measured)
    interval = f"{interval_words(found.low, found.high)} ({100 * found.confidence:g} % interval)"
    return (
        f"{capitalized(goal_words(found.metric))} there is the {which}: {measured}. The true optimum is probably "
        f"{interval}."
    )


def number_text(value: Quantity) -> str:
    """A value without its unit, where a second one with the unit follows."""
    return value.number_text if isinstance(value, Value) else f"{round(value.packets):,}"


def interval_words(low: Quantity, high: Quantity) -> str:
    """Two values as an interval: "427 to 494 packets"."""
    return count(high) if low.number == high.number else f"{number_text(low)} to {count(high)}"


def extreme(answer: Recommendation) -> str:
    """The word for the requested value among those that meet the goals."""
    return "largest" if answer.variable.largest else "smallest"


def nothing_meets(answer: Recommendation) -> str:
    """The quantity of which no value meets the goals, at the beginning of a sentence."""
    if not isinstance(answer.variable, RangeVariable):
        return "No buffer"
    low, high = (answer.variable.value_of(end) for end in (answer.variable.range.low, answer.variable.range.high))
    return f"No {answer.variable.key} from {low.number_text} to {high.words}"


def axis(answer: Recommendation) -> str:
    """The title of the horizontal axis of pictures, with the unit; packets for a buffer."""
    if not isinstance(answer.variable, RangeVariable):
        return "buffer (packets)"
    unit = answer.variable.unit_words
    return f"{answer.variable.key} ({unit})" if unit else answer.variable.key


def standing(answer: Recommendation) -> str:
    """The rank of the recommended buffer among the measured ones; the smallest only if none contradicts."""
    if answer.optimum is not None:
        which = "lowest" if answer.optimum.sense == "minimize" else "highest"
        meeting = " of those that meet every goal" if answer.goals else ""
        return f"where {metric_title(answer.optimum.metric)} was found to be {which}{meeting}"
    if answer.infeasible_intervals:
        return f"the {'upper' if answer.variable.largest else 'lower'} end of a range in which every goal is met"
    if answer.feasible_intervals:
        what = "value" if isinstance(answer.variable, RangeVariable) else "buffer"
        beyond = "smaller" if answer.variable.largest else "larger"
        return (
            f"the {extreme(answer)} for which every {beyond} measured {what} meets the goals that need {beyond} {what}s"
        )
    verb = "that was found to meet" if closeness(answer) else "that meets"
    return f"the {extreme(answer)} {verb} every goal"


def minimum(answer: Recommendation) -> str:
    """The interval of the true minimum (or maximum); empty if none is known."""
    least = answer.feasible_from
    if least is None or answer.buffer is None or answer.optimum is not None:
        return ""
    which = "maximum" if answer.variable.largest else "minimum"
    interval = f"{interval_words(least.low, least.high)} ({100 * least.confidence:g} % interval)"
    return f"The true {which} is probably {interval}."


def closeness(answer: Recommendation) -> str:
    """The same, only if the answer may be further from the minimum than requested."""
    least, buffer = answer.feasible_from, answer.buffer
    if least is None or buffer is None:
        return ""
    nearest = min(least.low.place, least.high.place)
    return "" if buffer.place <= max(nearest * (1 + answer.resolution), 1.0) else minimum(answer)


def sides(answer: Recommendation, title: Callable[[str], str], formatted: Callable[[Quantity], str]) -> Iterator[str]:
    """The buffers at which each goal of a conflict is met, without a period.

    Every sentence is derived from the measured buffers (`goal_table`): a goal that all of them meet is not mentioned.

    Parameters
    ----------
    answer : Recommendation
        An answer without a buffer that meets every goal.
    title, formatted : callable
        Words for a goal's key and for a buffer.
    """
    # `run` and `compare` import this module, and need no search.
    from forebay.views.goal_table import goal_rows, region

    found = [(row, region(answer, row)) for row in goal_rows(answer)]
    shapes = {each.shape for _, each in found}
    noun = "value" if isinstance(answer.variable, RangeVariable) else "buffer"
    if {"from", "up_to"} <= shapes and not isinstance(answer.variable, RangeVariable):
        yield "some goals need a larger buffer, others a smaller one"
    for row, each in found:
        name = title(row.key)
        if each.low is not None and each.shape == "from":
            beyond = "" if each.missed is None else f", and missed at {formatted(each.missed)}"
            yield f"the goal on {name} is met at every measured {noun} from {formatted(each.low)} on{beyond}"
        elif each.high is not None and each.shape == "up_to":
            beyond = "" if each.missed is None else f", and missed at {formatted(each.missed)}"
            yield f"the goal on {name} is met at every measured {noun} up to {formatted(each.high)}{beyond}"
        elif each.high is not None and each.shape == "missed_up_to":
            yield f"the goal on {name} is missed at every measured {noun} up to {formatted(each.high)}"
        elif each.low is not None and each.shape == "missed_from":
            yield f"the goal on {name} is missed at every measured {noun} from {formatted(each.low)} on"
        elif each.low is not None and each.high is not None:
            order = "only from" if each.shape == "between" else "only at some of the measured values from"
            same = each.low.number == each.high.number
            yield (
                f"the goal on {name} is met only at {formatted(each.low)}"
                if same
                else (f"the goal on {name} is met {order} {formatted(each.low)} to {formatted(each.high)}")
            )
        elif each.best is not None:
            measured = formatting.value(row.goal.name, each.best.measured.mean)
            where = f"the closest value is {measured}, at {formatted(each.best.buffer)}"
            yield f"the goal on {name} is missed at every measured {noun}; {where}"


def around(answer: Recommendation) -> tuple[str, ...]:
    """The verdicts on the goals above the answer, and below it if they are unexpected."""
    upper = answer.feasible_up_to
    found = []
    if answer.infeasible_intervals:
        gap = answer.infeasible_intervals[0]
        measured = formatting.estimate(parts_of_key(gap.goal)[0], gap.measured)
        beyond = "values" if isinstance(answer.variable, RangeVariable) else "buffers"
        side = "Smaller" if answer.variable.largest else "Larger"
        others = len(answer.infeasible_intervals) - 1
        more = "" if not others else f" (and it is missed at {others} more measured {beyond})"
        what = goal_title(gap.goal)
        found.append(f"{side} {beyond} miss a goal: {what} is {measured} at {packets(gap.buffer)}{more}.")
    elif upper is not None and upper.missed_at is not None:
        between = (
            ""
            if upper.interpolated_end is None
            else (f". Between them they are met {_to(answer)} about {packets(upper.interpolated_end)}")
        )
        found.append(
            f"Of the measured {_several(answer)}, all goals are met at {packets(upper.buffer)}, but not at "
            f"{packets(upper.missed_at)}{between}."
        )
    found += _intervals(answer)
    return tuple(found)


def _intervals(answer: Recommendation) -> Iterator[str]:
    """Feasible intervals apart from the answer's own: below it, or above it if the largest was requested."""
    ordered = sorted(answer.feasible_intervals, key=lambda interval: interval.buffer.number)
    while ordered:
        first = last = ordered.pop(0)
        # Neighbors belong together if no measured buffer lies between them.
        while ordered and not _parted(answer, last.buffer, ordered[0].buffer):
            last = ordered.pop(0)
        where = "at" if first is last else "from"
        between = interval_words(first.buffer, last.buffer)
        yield f"All goals are also met {where} {between}, but not at {packets(last.missed_at)}."


def _parted(answer: Recommendation, low: Quantity, high: Quantity) -> bool:
    """Whether a measured buffer lies between two."""
    return any(low.number < point.buffer.number < high.number for point in answer.points)


def _to(answer: Recommendation) -> str:
    """The direction away from the answer."""
    return "down to" if answer.variable.largest else "up to"


def _several(answer: Recommendation) -> str:
    return "values" if isinstance(answer.variable, RangeVariable) else "buffers"


def both(words: list[str]) -> str:
    """Words as part of a sentence: commas, and "and" before the last."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def doubt(answer: Recommendation) -> str:
    """The reason why no confidence is stated; empty if one is."""
    from forebay.results.warning import Kind

    if answer.confidence is not None:
        return ""
    kinds = {warning.kind: warning for warning in answer.warnings}
    if Kind.ASSUMED_BOUND in kinds:
        return "a bound replaces an unknown value"
    if Kind.ASSUMED_ENTRY in kinds:
        return "the scenario has assumed values"
    reasons = []
    if Kind.IDENTICAL in kinds:
        values = kinds[Kind.IDENTICAL].values
        if values["replications"] == 1:
            return "there are no replications"
        reasons.append(f"{'most of ' if values['different'] > 1 else ''}the replications are identical")
    if Kind.LOCK_STEP in kinds:
        reasons.append("the flows have identical timing")
    if answer.varied_hosts is not None and answer.varied_hosts.changed_verdicts:
        reasons.append("simultaneous events decide the result")
    if Kind.TIME_OVER in kinds and not reasons:
        reasons.append("the time limit ended the search")
    return " and ".join(reasons) or "the replications do not support one"


def search_cost(cost: SearchCost) -> str:
    """The cost of a search in one line."""
    before = f" ({cost.cached_runs:,} from an earlier command)" if cost.cached_runs else ""
    return (
        f"{counted(cost.replications, 'run')}{before}, {counted(cost.data_packets, 'data packet')}, "
        f"{cost.cpu_s:.1f} CPU seconds in {cost.wall_s:.1f} s"
    )
