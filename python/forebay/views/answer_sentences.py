"""The first lines of an answer as sentences: the buffer, the interval of the minimum, the confidence, the metrics.

They are plain strings, so that the terminal, a page and a notebook print the same text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from forebay.results.report import BufferSize
from forebay.results.statistics import runs_for_confidence
from forebay.results.warning import Kind
from forebay.scenario import TARGET
from forebay.search.range_variable import RangeVariable
from forebay.search.value import Value
from forebay.text import formatting
from forebay.text.formatting import capitalized, counted
from forebay.views.goal_table import goal_rows, measured_at, places
from forebay.views.goodput import GOODPUT, excess
from forebay.views.wording import (
    best,
    both,
    buffer_owner,
    chosen,
    count,
    difference,
    doubt,
    goal_words,
    interval_words,
    minimum,
    nothing_meets,
    number_text,
    sides,
    sign,
    threshold,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from forebay.results.report import Estimate
    from forebay.results.warning import Warning
    from forebay.search.answer import Recommendation
    from forebay.search.answer_parts import JudgedGoal, NearestResult
    from forebay.search.value import Quantity
    from forebay.views.goal_table import Place

__all__ = [
    "answer_metrics",
    "brief",
    "configured",
    "decisive",
    "draws_met",
    "goal_text",
    "is_quick",
    "level",
    "margin",
    "metrics_there",
    "nearest",
    "percent",
    "proof",
    "reason_of",
    "recommended",
    "roles",
    "undecided",
    "urgent",
    "weighty",
    "why_none",
]

#: Metrics that the first lines always have.
ALWAYS = ("utilization", "loss_rate", "queue_delay_p99_s", GOODPUT)

#: Urgent kinds in the order of their weight.
_WEIGHT = (
    Kind.ASSUMED_BOUND,
    Kind.ASSUMED_ENTRY,
    Kind.TWIN_DIFFERS,
    Kind.PHASE_EFFECT,
    Kind.DEADLOCK,
    Kind.HIGH_LOSS,
    Kind.LOSS_ELSEWHERE,
    Kind.STARVED_GROUP,
    Kind.TINY_BUFFER,
    Kind.OVERLOADED,
    Kind.RARE_STATE,
    Kind.SHORT_RUN,
)

#: Kinds of warnings that explain why nothing was decided.
_REASONS = (
    Kind.TIME_OVER,
    Kind.OVERLOADED,
    Kind.NO_MARGIN,
    Kind.RANGE_END,
    Kind.RARE_STATE,
    Kind.SHORT_RUN,
    Kind.REFUSED,
)


def brief(buffer: Quantity) -> str:
    """A buffer in packets, with bytes and time at the link's rate in parentheses."""
    if isinstance(buffer, Value):
        return buffer.words
    size, time = (
        formatting.exactly(text) for text in (formatting.size(buffer.bytes), formatting.duration(buffer.seconds))
    )
    return f"{count(buffer)} ({size}, {time})"


def _in_bytes(buffer: BufferSize) -> str:
    """A limit in bytes: the bytes first, then the packets and their size, and the time at the link's rate."""
    size, each = formatting.exactly(formatting.size(buffer.bytes)), f"{buffer.bytes / buffer.packets:.0f} B"
    time = formatting.exactly(formatting.duration(buffer.seconds))
    return f"{size} ({count(buffer)} of {each}, {time}; the limit is in bytes)"


def recommended(answer: Recommendation) -> str:
    """The recommendation itself; for a limit in bytes, the bytes first.

    A limit of the same number of packets would be another limit.
    """
    assert answer.buffer is not None, "without a buffer nothing is recommended"
    of = buffer_owner(answer)
    place = f" for the buffer{of}" if of else ""
    name = (
        f"{answer.variable.key} = "
        if isinstance(answer.variable, RangeVariable) and answer.variable.key != TARGET
        else ""
    )
    in_bytes = (
        isinstance(answer.buffer, BufferSize) and answer.variable.is_target and not answer.scenario.core.packet_limit
    )
    size = _in_bytes(answer.buffer) if in_bytes and isinstance(answer.buffer, BufferSize) else brief(answer.buffer)
    return f"We recommend {name}{size}{place}{chosen(answer)}."


def proof(answer: Recommendation) -> Iterator[str]:
    """The interval of the true minimum or of the optimum, and the confidence that the answer meets all goals."""
    least = minimum(answer) if answer.optimum is None else best(answer.optimum)
    if least:
        yield least
    if answer.goals:
        yield _sureness(answer)


def level(answer: Recommendation) -> str:
    """The confidence in words: the requested level if it is reached, else the confidence rounded down."""
    assert answer.confidence is not None, "where there is no confidence, `doubt` says why"
    if answer.confidence >= answer.level:
        return f"at least {percent(answer.level)} confidence"
    return f"{percent(answer.confidence)} confidence"


def percent(share: float) -> str:
    """A share below 1 in percent, rounded down: whole percent below 99 %, at most one decimal above."""
    rounded = math.floor(100 * share + 1e-9)
    return f"{rounded} %" if rounded < 99 else f"{min(99.9, math.floor(1000 * share + 1e-9) / 10):g} %"


def _sureness(answer: Recommendation) -> str:
    """The confidence that the answer meets all goals, and the number of runs on which it rests."""
    assert answer.buffer is not None, "without a buffer nothing is sure"
    who, verb = _subject(answer), "meets" if _single(answer.buffer) else "meet"
    share = "" if answer.fraction is None else f" in {100 * answer.fraction.required:g} % of the replications"
    what = f"{'the goal' if len(answer.goals) == 1 else 'all goals'}{share}"
    if answer.confidence is None or answer.confidence < 0.01:
        reason = doubt(answer) or f"the runs at {count(answer.buffer)} contradict it"
        return f"{who} {verb} {what} in these runs (no confidence: {reason})."
    runs = _observations(answer, answer.runs) if answer.runs else ""
    behind = ", ".join(filter(None, [level(answer), runs]))
    if answer.confidence < 0.5:
        return f"It is doubtful whether {_lower(who)} {verb} {what} ({behind})."
    if answer.confidence < answer.level or is_quick(answer):
        return f"{who} probably {verb} {what} ({behind})."
    return f"{who} {verb} {what} with {level(answer)}{f' ({runs})' if runs else ''}."


def _observations(answer: Recommendation, number: int) -> str:
    """A number of runs; of observations if each has a run of every stratum."""
    of_strata = next((len(warning.values) for warning in answer.warnings if warning.kind is Kind.STRATA), 1)
    if of_strata == 1:
        return counted(number, "run")
    return f"{counted(number, 'observation')} of {counted(of_strata, 'run')} each"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _subject(answer: Recommendation) -> str:
    buffer = answer.buffer
    return "This value" if buffer is None or isinstance(buffer, Value) else count(buffer)


def _single(buffer: Quantity) -> bool:
    return isinstance(buffer, Value) or round(buffer.packets) == 1


def is_quick(answer: Recommendation) -> bool:
    """Whether the answer is a quick look."""
    return any(warning.kind is Kind.QUICK for warning in answer.warnings)


def urgent(answer: Recommendation) -> list[Warning]:
    """Warnings of an answer that change the decision, the weightiest first."""
    return weighty(answer.warnings)


def weighty(warnings: Iterable[Warning]) -> list[Warning]:
    """The warnings among some that change the decision, the weightiest first."""
    found = [warning for warning in warnings if warning.urgent]
    return sorted(found, key=lambda warning: _WEIGHT.index(warning.kind) if warning.kind in _WEIGHT else len(_WEIGHT))


def answer_metrics(answer: Recommendation) -> Mapping[str, Estimate]:
    """Every metric at the answer, those of groups included; for a goal's metric, the value that was judged."""
    at = None if answer.buffer is None else answer.at(answer.buffer)
    if at is None:
        return {}
    judged = {at.key(each.goal.name): each.measured for each in answer.goals.values()}
    groups = {f"{name}.{key}": found for name, metrics in at.groups.items() for key, found in metrics.items()}
    return {key: judged.get(key, found) for key, found in (*at.metrics.items(), *groups.items())}


def metrics_there(answer: Recommendation) -> str:
    """Utilization, loss, p99 delay and goodput at the answer."""
    assert answer.buffer is not None
    metrics = answer_metrics(answer)
    # If a range is varied, the scenario's own value differs from the answer.
    buffers = not isinstance(answer.variable, RangeVariable)
    messages: list[str] = []
    for name in ALWAYS:
        found = metrics.get(name)
        if found is not None:
            above = excess(answer.scenario, metrics) if name == GOODPUT and buffers else ""
            verb = "" if messages else "is "
            messages.append(f"{formatting.metric_title(name)} {verb}{formatting.value(name, found.mean)}{above}")
    return f"At {count(answer.buffer)}, {both(messages)}." if messages else ""


def decisive(answer: Recommendation) -> Iterator[str]:
    """The goal that decides the answer, and the end of the range in which the goals are met."""
    assert answer.buffer is not None
    upper = answer.feasible_up_to
    largest = answer.variable.largest
    if answer.binding_goal is None:
        end = "this end of the range" if isinstance(answer.variable, RangeVariable) else "the smallest buffer"
        yield f"All goals are met at {end}, so no goal decides."
    else:
        goal = _met_last(answer, answer.goals[answer.binding_goal])
        noun, needed = _noun(answer), "smallest" if largest else "largest"
        if goal is not None:
            compared = "" if len(answer.goals) == 1 else f": of all goals it needs the {needed} {noun}"
            yield f"The goal {goal_text(goal)} decides{compared}."
    if upper is not None and upper.missed_at is not None and not answer.infeasible_intervals:
        last = count(upper.buffer) if upper.interpolated_end is None else f"about {count(upper.interpolated_end)}"
        if upper.buffer.number == answer.buffer.number and upper.interpolated_end is None:
            yield f"{count(upper.missed_at)} {'misses' if _single(upper.missed_at) else 'miss'} a goal."
        else:
            yield f"All goals are met from {number_text(answer.buffer)} {'down ' if largest else ''}to {last}."
    elif upper is not None and not answer.infeasible_intervals:
        beyond = [point.buffer for point in answer.points if (point.buffer.number > upper.buffer.number) != largest]
        beyond = [buffer for buffer in beyond if buffer.number != upper.buffer.number]
        if beyond:
            yield f"The runs do not decide whether {interval_words(beyond[0], beyond[-1])} also meet all goals."


def _met_last(answer: Recommendation, binding: JudgedGoal) -> JudgedGoal | None:
    """The goal that is met last; not a goal that the smallest buffer meets, which only fresh runs refused."""
    if (
        isinstance(answer.variable, RangeVariable)
        or binding.at_smallest is None
        or binding.at_smallest.verdict != "met"
    ):
        return binding
    last = {}
    for goal in answer.goals.values():
        below = [point for point in answer.points if answer.buffer and point.buffer.number < answer.buffer.number]
        found = [(point, measured_at(goal.goal, point)) for point in below]
        missed = [point.buffer.number for point, at in found if at and goal.goal.margin(at.measured.mean) < 0]
        if missed:
            last[max(missed)] = goal
    return last[max(last)] if last else None


def configured(answer: Recommendation) -> str:
    """The verdict on the configured buffer, or that it is the answer; empty if the scenario has none."""
    own = answer.configured
    if own is None or own.verdict is None:
        return ""
    if answer.buffer is not None and own.buffer.number == answer.buffer.number:
        return f"{capitalized(_own_words(own.buffer))} {'is' if _single(own.buffer) else 'are'} the recommendation."
    who, verb = _own_words(own.buffer), "" if not _single(own.buffer) else "s"
    runs = f" ({_observations(answer, own.runs)})" if own.runs else ""
    if own.verdict == "met":
        return f"{capitalized(who)} meet{verb} {'the goal' if len(answer.goals) == 1 else 'all goals'}{runs}."
    named = [goal_text(goal) for key, goal in answer.goals.items() if own.goals.get(key) == own.verdict]
    what = both(named) if named else "all goals"
    if own.verdict == "missed":
        return f"{capitalized(who)} miss{'es' if verb else ''} {what}{runs}."
    # More runs of the same length show no state that these do not.
    hidden = any(warning.kind in {Kind.RARE_STATE, Kind.OVERLOADED} for warning in answer.warnings)
    enough = hidden or own.runs > 2 * runs_for_confidence(answer.level)
    more = "" if enough else " Run `forebay check` to decide it."
    return f"The runs do not decide whether {who} meet{verb} {what}{runs}.{more}"


def _own_words(buffer: Quantity) -> str:
    """The configured buffer as the subject of a sentence."""
    return f"the configured {count(buffer)}"


def draws_met(answer: Recommendation) -> str:
    """The number of fresh draws in which all goals held; empty unless a share of the draws was requested."""
    part = answer.fraction
    if part is None:
        return ""
    bound = "" if part.at_least is None else f". The true share is at least {formatting.confidence(part.at_least)}"
    return (
        f"{part.met_replications} of {counted(part.replications, 'fresh replication')} meet all goals together{bound}."
    )


def margin(goal: JudgedGoal) -> str:
    """The distance from a goal's metric to its threshold; negative if the goal is missed."""
    return f"{'' if goal.margin >= 0 else '-'}{difference(goal.goal.name, goal.margin)}"


def goal_text(goal: JudgedGoal | NearestResult) -> str:
    """A goal in words, as requested."""
    name = goal.goal.name
    return f"{formatting.metric_title(name)} {sign(goal.goal.sense)} {threshold(name, goal.goal.threshold)}"


# Without an answer ------------------------------------------------------------------------------------------------


def undecided(answer: Recommendation) -> bool:
    """Whether the evidence decides neither that a buffer meets every goal nor that none does."""
    if answer.verdict == "undecided":
        return True
    # A search that found every goal met at the nearest miss has shown no impossibility.
    return answer.buffer is None and bool(answer.goals) and all(goal.met for goal in answer.goals.values())


def why_none(answer: Recommendation) -> Iterator[str]:
    """The verdict without a buffer, and its reasons."""
    if undecided(answer):
        yield from _open(answer)
    else:
        yield f"{nothing_meets(answer)} meets every goal."
    yield from (f"{capitalized(line)}." for line in sides(answer, goal_words, brief))


def _noun(answer: Recommendation) -> str:
    return "value" if isinstance(answer.variable, RangeVariable) else "buffer"


def _open(answer: Recommendation) -> Iterator[str]:
    noun = _noun(answer)
    if answer.between is None and any(warning.kind is Kind.OVERLOADED for warning in answer.warnings):
        yield f"Undecided: over a long time no {noun} meets every goal, but in the runs of this scenario some do."
    elif answer.between is None:
        yield f"Undecided: the runs do not show whether any {noun} meets every goal."
    else:
        low, high = answer.between
        if low.number == high.number:
            yield f"Undecided: {count(high)} may meet every goal."
        else:
            yield f"Undecided: a {noun} between {number_text(low)} and {count(high)} may meet every goal."
        yield "The runs do not decide it."
    reason = reason_of(answer)
    if reason is not None:
        yield f"The reason is: {str(reason).rstrip('.')}."


def reason_of(answer: Recommendation) -> Warning | None:
    """The warning that the first lines give as the reason of an undecided answer; no other line repeats it."""
    if not undecided(answer):
        return None
    kinds = {warning.kind: warning for warning in reversed(answer.warnings)}
    found = next((kinds[kind] for kind in _REASONS if kind in kinds), None)
    return None if found is None or found.urgent else found


def roles(place: Place) -> str:
    """The roles of a measured buffer, as the heading of a column."""
    return " = ".join("closest" if role == "nearest" else role for role in place.roles)


def nearest(answer: Recommendation) -> str:
    """The measured buffer that comes nearest to meeting all goals, and the goals that it misses."""
    if answer.conflict is None or answer.conflict.compromise is None:
        return ""
    rows = goal_rows(answer)
    place = next((place for place in places(rows) if "nearest" in place.roles), None)
    if place is None:
        return ""
    off = {miss.goal.key: miss.shortfall for miss in answer.conflict.nearest}
    compared = [(row, at) for row, at in zip(rows, place.goals, strict=True) if at is not None]
    sentences = [f"The measured {_noun(answer)} that is closest to all goals is {brief(place.buffer)}."]
    missed = [
        f"{goal_words(row.key)} by {difference(row.goal.name, off[row.goal.key])}"
        for row, at in compared
        if at.verdict == "missed"
    ]
    if missed:
        sentences.append(f"It misses {both(missed)}.")
    open_ = [goal_words(row.key) for row, at in compared if at.verdict == "undecided"]
    if open_:
        sentences.append(f"The runs do not decide {both(open_)} at this {_noun(answer)}.")
    return " ".join(sentences)
