"""The values of a recommendation's charts: its curve by metric, the decision, the rules, one metric against another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from forebay.results.report import BufferSize
from forebay.search.range_variable import RangeVariable
from forebay.text import formatting
from forebay.views import wording
from forebay.views.charts import (
    DecisionStrip,
    Dot,
    GoalLine,
    Horizontal,
    Meeting,
    MetricChart,
    Named,
    Phase,
    Point,
    RuleStrip,
    TradeChart,
)
from forebay.views.decision import ENOUGH, is_exact, likely, may_meet, measured
from forebay.views.scales import axis_title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forebay.results.report import Estimate
    from forebay.search.answer import Recommendation
    from forebay.search.answer_parts import CurvePoint, JudgedRule
    from forebay.search.value import Quantity

__all__ = ["decision_strip", "horizontal", "metric_chart", "rule_strip", "shown_metrics", "trade_chart"]

#: Order of the rules and of the requested buffers, by the kind of their dots.
ORDER = ("own", "also", "rule", "norule")
#: The name of the scenario's own buffer.
OWN = "as configured"


def shown_metrics(answer: Recommendation) -> list[str]:
    """The usual metrics, then those of the goals, each if at least two buffers have it, or the only one."""
    curve = answer.points
    fewest = min(2, len(curve))
    names = list(formatting.USUAL)
    for judged in answer.goals.values():
        key = curve[-1].key(judged.goal.name)
        if key is not None and key not in names:
            names.append(key)
    return [name for name in names if sum(point.estimate(name) is not None for point in curve) >= fewest]


def metric_chart(answer: Recommendation, key: str) -> MetricChart:
    """One metric against the buffer."""
    curve = answer.points
    # A buffer at which no transfer ended has no completion time.
    known = [(point, estimate) for point in curve if (estimate := point.estimate(key)) is not None]
    title, scale = axis_title(key, max(estimate.mean for _, estimate in known))
    exact = is_exact(answer.engine)
    points = [_point(point, estimate, key, scale, exact=exact) for point, estimate in known]
    goals = [
        GoalLine(
            scale * goal.threshold,
            goal.sense == ">=",
            f"goal {wording.sign(goal.sense)} {wording.threshold(goal.name, goal.threshold)}",
        )
        for goal in (judged.goal for judged in answer.goals.values())
        if curve[-1].key(goal.name) == key
    ]
    marks = [(rule.buffer.number, _series(rule)) for rule in answer.rules if rule.buffer is not None]
    marks += [(named.buffer.number, "own") for named in answer.also if named.name == OWN]
    limits = None
    if key == "utilization":
        low = min([low for p in points for low in (p.mean, *p.runs)] + [goal.threshold for goal in goals])
        limits = (max(0.0, math.floor(low / 10) * 10.0), 101.0)
    phases = _phases(answer, scale) if key == "queue_delay_p99_s" else []
    span = may_meet(answer)
    between = None if span is None else (span.low, span.high)
    return MetricChart(title, points, goals, marks, _answer(answer), horizontal(answer), limits, phases, between)


def _point(point: CurvePoint, estimate: Estimate, key: str, scale: float, *, exact: bool) -> Point:
    """One measured buffer: a mean with an interval for several runs, else a single run."""
    averaged = exact or point.replications > 1
    half = None if estimate.half_width is None or not averaged else scale * estimate.half_width
    runs = "" if exact else f"\n{'mean of ' if averaged else ''}{formatting.counted(point.replications, 'run')}"
    measured = f"{wording.metric_title(key)} {formatting.estimate(key, estimate)}"
    tip = f"{wording.sizes(point.buffer)}\n{measured}{runs}"
    values = [scale * value for value in point.values(key)] if averaged and not exact else []
    few = averaged and not exact and point.replications < ENOUGH
    return Point(point.buffer.number, scale * estimate.mean, half, tip, values, averaged, few)


def _phases(answer: Recommendation, scale: float) -> list[Phase]:
    """Median and p99 of the drain time of the queue, while a changing rate is below its average and while it is not."""
    found = []
    for phase, text in (("slow", "below"), ("fast", "at or above")):
        names = [f"queue_delay_{part}_{phase}_s" for part in ("p50", "p99")]
        places = []
        for point in answer.points:
            median, most = (point.estimate(name) for name in names)
            if median is not None and most is not None:
                places.append((point.buffer.number, scale * median.mean, scale * most.mean))
        if len(places) > 1:
            found.append(Phase(phase, f"median to p99 while the rate is {text} its average", places))
    return found


def decision_strip(answer: Recommendation) -> DecisionStrip:
    """The answer, the interval of the true one, and whether each measured buffer meets all goals."""
    spans = [(series, span) for series, span in (("likely", likely(answer)), ("between", may_meet(answer))) if span]
    return DecisionStrip(measured(answer), _range(answer), _answer(answer), spans, horizontal(answer))


def rule_strip(answer: Recommendation) -> RuleStrip:
    """The configured buffer, those that were asked about, the rules that apply, the others; each from the smallest."""
    dots = []
    for rule in answer.rules:
        if rule.buffer is not None:
            verdict = "applies" if rule.applies else f"does not apply: {rule.why}"
            told = f"{rule.name}: {wording.sizes(rule.buffer)}\n{verdict}"
            dots.append(Dot(rule.name, rule.buffer.number, _series(rule), told))
    for named in answer.also:
        told = f"{named.name}: {wording.sizes(named.buffer)}"
        dots.append(Dot(named.name, named.buffer.number, "own" if named.name == OWN else "also", told))
    dots.sort(key=lambda dot: (ORDER.index(dot.kind), dot.buffer, dot.name))
    return RuleStrip(dots, _range(answer), _answer(answer), horizontal(answer))


def _range(answer: Recommendation) -> list[float]:
    """The measured buffers, and the ends of the range that is undecided: every chart shows all of them."""
    span = may_meet(answer)
    ends = [] if span is None else [span.low, span.high]
    return sorted({*(point.buffer.number for point in answer.points), *ends})


def trade_chart(answer: Recommendation) -> TradeChart:
    """One metric against another: the measured buffers, those of the rules, the answer."""
    front = answer.pareto
    assert front is not None, "a trade-off that was asked for"
    names = front.metrics
    points = front.points
    (up, scale_y), (across, scale_x) = (
        axis_title(name, max(point.measured[name].mean for point in points)) for name in names
    )

    def meeting(buffer: Quantity, measured: Mapping[str, Estimate], kind: str, name: str = "") -> Meeting:
        told = "".join(f"\n{wording.metric_title(key)} {formatting.estimate(key, measured[key])}" for key in names)
        y, x = (measured[key].mean for key in names)
        head = f"{name}: " if name else ""
        tip = f"{head}{wording.sizes(buffer)}{told}"
        return Meeting(buffer.number, scale_x * x, scale_y * y, kind, tip, name)

    found = [meeting(point.buffer, point.measured, "front" if point.on_front else "mean") for point in points]
    found += [
        meeting(rule.buffer, rule.measured, _series(rule), rule.name)
        for rule in answer.rules
        if rule.buffer is not None and all(name in rule.measured for name in names)
    ]
    best = answer.buffer
    if best is not None:
        at_best = [point for point in points if point.buffer.number == best.number]
        found += [meeting(point.buffer, point.measured, "answer", "the answer") for point in at_best]
    return TradeChart(across, up, found)


def _series(rule: JudgedRule) -> str:
    return "rule" if rule.applies else "norule"


def _answer(answer: Recommendation) -> Named | None:
    """The recommended buffer, or the nearest miss; neither if the search decided nothing."""
    name, found = "recommended", answer.buffer
    if found is None and answer.conflict is not None and answer.verdict != "undecided":
        name, found = "nearest miss", answer.conflict.compromise
    return None if found is None else Named(found.number, f"{name}: {wording.count(found)}")


def horizontal(answer: Recommendation) -> Horizontal:
    """The horizontal axis that all charts of an answer share."""
    if isinstance(answer.variable, RangeVariable):
        return Horizontal(wording.axis(answer), by_decades=answer.variable.range.by_decades)
    last = answer.points[-1].buffer
    assert isinstance(last, BufferSize), "a buffer is varied unless a range is"
    return Horizontal(wording.axis(answer), 1e3 * last.seconds / last.packets)
