"""The charts of a recommendation: the decision, the rules, each metric against the buffer, one metric against another.

`plots` draws them as pictures with a headline and a legend, and `webpage` draws each panel for a page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from forebay.results.report import BufferSize
from forebay.search.range_variable import RangeVariable
from forebay.text import formatting
from forebay.views import wording
from forebay.views.chart import (
    Band,
    Chart,
    Curve,
    Flag,
    Key,
    Look,
    Names,
    Panel,
    Point,
    Row,
    Series,
    Tip,
    Words,
    intervals,
    level,
    mark,
    series_names,
)
from forebay.views.decision import ENOUGH, Measured, State, is_exact, likely, may_meet, measured
from forebay.views.headline import Headline, headline
from forebay.views.opening import opening
from forebay.views.rule_rows import COLORED, NEUTRAL, Dot, Rows, rule_keys, rule_look, rule_panel, stem
from forebay.views.scales import Axis, axis_title, buffer_axis, filled, spans_decades, tick_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from forebay.results.report import Estimate
    from forebay.search.answer import Recommendation
    from forebay.search.answer_parts import CurvePoint, JudgedRule
    from forebay.search.value import Quantity

__all__ = [
    "across",
    "answer_flag",
    "charted_metrics",
    "decision_panel",
    "front_chart",
    "metric_panel",
    "recommendation_chart",
    "rule_dots",
    "rule_marks",
    "rules_panel",
    "trade_chart",
]

#: Order of the rules and of the requested buffers, by the kind of their dots.
ORDER = ("own", "also", "rule", "norule")
#: The name of the scenario's own buffer.
OWN = "as configured"
#: Color and marker of a measured buffer, and what it says, by whether it meets all goals.
STATES: dict[State, tuple[str, str, str]] = {
    "met": ("green", "o", "meets all goals"),
    "missed": ("orange", "x", "misses a goal"),
    "undecided": ("other", "s", "undecided"),
}
#: Colors while the rate of a changing link is below its average, and while it is not.
PHASES = {"slow": "pink", "fast": "sky"}
MEAN = Look("blue", "solid", 1.6, "o", 4.2)
RUN = Look("blue", marker="o", size=3.4, edge=0.0, opacity=0.55)
#: Height of the panel of a trade-off in a picture, in points.
TRADE_OFF = 300.0
GOAL = Look("orange", "dashed", 1.2)


def charted_metrics(answer: Recommendation) -> list[str]:
    """The usual metrics, then those of the goals, each if at least two buffers have it, or the only one."""
    curve = answer.points
    fewest = min(2, len(curve))
    names = list(formatting.USUAL)
    for judged in answer.goals.values():
        key = curve[-1].key(judged.goal.name)
        if key is not None and key not in names:
            names.append(key)
    return [name for name in names if sum(point.estimate(name) is not None for point in curve) >= fewest]


# The horizontal axis ---------------------------------------------------------------------------------------------


def across(answer: Recommendation, *, below: str = "BDP") -> Axis:
    """The horizontal axis that all charts of an answer share; it shows the range that is undecided, too.

    `below` is the unit of the second row of numbers, as of `buffer_axis`.
    """
    span = may_meet(answer)
    ends = [] if span is None else [span.low, span.high]
    buffers = [*(point.buffer.number for point in answer.points), *ends]
    last = answer.points[-1].buffer
    if isinstance(answer.variable, RangeVariable):
        return filled(wording.axis(answer), buffers, by_decades=answer.variable.range.by_decades)
    assert isinstance(last, BufferSize), "a buffer is varied unless a range is"
    return buffer_axis(buffers, last, below=below)


# Rows ------------------------------------------------------------------------------------------------------------


def decision_panel(answer: Recommendation) -> Panel:
    """The answer, the interval of the true one, and whether each measured buffer meets all goals."""
    found = Rows()
    _add_decision(found, answer)
    return found.panel()


def rules_panel(answer: Recommendation, axis: Axis) -> Panel:
    """The panel of the configured buffer, the named buffers, the rules that apply, and the other rules."""
    found = Rows(series=list(_answer_mark(answer)))
    found.add_rules(rule_dots(answer), axis, NEUTRAL)
    return found.panel()


def rule_marks(answer: Recommendation, axis: Axis) -> list[Curve]:
    """Lines through a panel at the rules on the axis and at the configured buffer, which is the topmost."""
    return rule_panel(rule_dots(answer), axis, NEUTRAL)[1]


def _add_decision(found: Rows, answer: Recommendation) -> None:
    best = _best(answer)
    if best is not None:
        name, buffer = best
        color, number, words = _answer_color(answer), buffer.number, wording.count(buffer)
        found.series += _answer_mark(answer)
        dot = Curve([(number, 0)], Look(color, marker="D", size=7), [_tip(buffer, f"{name}: {words}")], "answer")
        beside = Words(number, number, 0, words, "good" if color == "green" else "bad", bold=True, series="answer")
        found.add(Row(name, beside.color, bold=True, series="answer"), dot, beside)
    for series, span, color in (("likely", likely(answer), "green"), ("between", may_meet(answer), "other")):
        if span is not None:
            row = len(found.rows)
            look = Look(color, "solid", 6.0, "|" if span.low == span.high else "", 7, edge=2.0, opacity=0.75)
            bar = Curve([(span.low, row), (span.high, row)], look, series=series)
            beside = Words(span.low, span.high, row, span.text, "ink", bold=True, series=series)
            found.add(Row(span.name, series=series), bar, beside)
    states = measured(answer)
    if states:
        row = len(found.rows)
        # Verdicts of many runs are drawn above those of few runs.
        kinds = sorted({(each.few, each.state) for each in states}, reverse=True)
        curves = [_states(states, row, state, few=few) for few, state in kinds]
        found.add(Row("all goals met?"), stem(inf, row, "decision"), *curves)


def _states(states: Iterable[Measured], row: int, state: State, *, few: bool) -> Curve:
    """The measured buffers of one verdict; hollow or thin if they have few runs."""
    mine = [each for each in states if (each.state, each.few) == (state, few)]
    tips = [Tip(f"{each.buffer:g}", each.tip) for each in mine]
    return Curve([(each.buffer, row) for each in mine], state_look(state, few=few), tips, state)


def state_look(state: State, *, few: bool) -> Look:
    """The look of a measured buffer by its verdict."""
    color, marker, _ = STATES[state]
    edge = 1.0 if few else 2.2 if marker == "x" else 1.2
    return Look(color, marker=marker, size=6.0, edge=edge, hollow=few)


def rule_dots(answer: Recommendation) -> list[Dot]:
    """The configured buffer, those that were asked about, the rules that apply, the others; each from the smallest."""
    dots = []
    for rule in answer.rules:
        if rule.buffer is not None:
            verdict = "applies" if rule.applies else f"does not apply: {rule.why}"
            text = f"{rule.name}: {wording.sizes(rule.buffer)}\n{verdict}"
            dots.append(Dot(rule.name, rule.buffer.number, _kind(rule), text))
    for named in answer.also:
        text = f"{named.name}: {wording.sizes(named.buffer)}"
        own = named.name == OWN
        name = f"{OWN}: {tick_text(named.buffer.number)}" if own else named.name
        dots.append(Dot(name, named.buffer.number, "own" if own else "also", text))
    dots.sort(key=lambda dot: (ORDER.index(dot.kind), dot.buffer, dot.name))
    return dots


# Metrics ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Reading:
    """One measured buffer: its mean, its runs, and whether the mean is over several runs, or exact."""

    point: Point
    averaged: bool
    runs: Sequence[float]
    tip: Tip


def metric_panel(answer: Recommendation, key: str, marks: Sequence[Curve] = ()) -> Panel:
    """One metric against the buffer."""
    # A buffer at which no transfer ended has no completion time.
    known = [(point, estimate) for point in answer.points if (estimate := point.estimate(key)) is not None]
    title, scale = axis_title(key, max(estimate.mean for _, estimate in known))
    exact = is_exact(answer.engine)
    readings = [_reading(point, estimate, key, scale, exact=exact) for point, estimate in known]
    goals = [judged.goal for judged in answer.goals.values() if answer.points[-1].key(judged.goal.name) == key]
    thresholds = [scale * goal.threshold for goal in goals]
    phases = _phases(answer, scale) if key == "queue_delay_p99_s" else []
    tops = [high for band in phases for _, _, high in band.points]
    up = _vertical(title, readings, thresholds, tops)
    if key == "utilization":
        low = min([value for each in readings for value in (each.point.mean, *each.runs)] + thresholds)
        up = Axis(title, max(0.0, math.floor(low / 10) * 10.0), 101.0)
    span = may_meet(answer)
    series: list[Series] = []
    if span is not None:
        series.append(Band([(span.low, -inf, inf), (span.high, -inf, inf)], "other", 0.15, "between"))
    for goal, at in zip(goals, thresholds, strict=True):
        low, high = (-inf, at) if goal.sense == ">=" else (at, inf)
        series += [Band([(-inf, low, high), (inf, low, high)], "orange", 0.07, "goal"), level(at, GOAL, "goal")]
    series += [*phases, *marks, *_answer_mark(answer), *_curves(readings)]
    note = "; ".join(f"goal {wording.sign(g.sense)} {wording.threshold(g.name, g.threshold)}" for g in goals)
    return Panel(up, tuple(series), note=note)


def _reading(point: CurvePoint, estimate: Estimate, key: str, scale: float, *, exact: bool) -> _Reading:
    averaged = exact or point.replications > 1
    half = None if estimate.half_width is None or not averaged else scale * estimate.half_width
    runs = "" if exact else f"\n{'mean of ' if averaged else ''}{formatting.counted(point.replications, 'run')}"
    text = f"{wording.sizes(point.buffer)}\n{wording.metric_title(key)} {formatting.estimate(key, estimate)}{runs}"
    few = averaged and not exact and point.replications < ENOUGH
    found = Point(point.buffer.number, scale * estimate.mean, half, few)
    values = [scale * value for value in point.values(key)] if averaged and not exact else []
    return _Reading(found, averaged, values, _tip(point.buffer, text))


def _tip(buffer: Quantity, text: str) -> Tip:
    return Tip(f"{buffer.number:g}", text)


def _curves(readings: Sequence[_Reading]) -> Iterator[Series]:
    """Bands, then single runs as dots, then the means with a line; no line leads through a single run."""
    several = [each for each in readings if each.averaged]
    yield from intervals([each.point for each in several], "blue", "band")
    yield Curve([(each.point.x, run) for each in several for run in each.runs], RUN, series="runs")
    single = [each for each in readings if not each.averaged]
    for found, look, series in ((single, replace(RUN, size=5.0), "runs"), (several, MEAN, "mean")):
        yield Curve([(each.point.x, each.point.mean) for each in found], look, [each.tip for each in found], series)


def _vertical(title: str, readings: Sequence[_Reading], thresholds: Sequence[float], tops: Sequence[float]) -> Axis:
    """The vertical axis: every mean and every goal lies on it, clear of its upper end."""
    shown = [value for each in readings for value in (each.point.mean, *each.runs)] + [*thresholds, *tops]
    if spans_decades(shown):
        positive = [value for value in shown if value > 0]
        return Axis(title, min(positive) / 1.6, max(positive) * 1.6, by_decades=True)
    low, most = min(0.0, *shown), max(shown)
    # An interval of two runs may be wider than everything else.
    upper = max(each.point.mean + (each.point.half_width or 0.0) for each in readings)
    high = max(most, min(upper, most + 0.5 * (most - low)))
    return Axis(title, low, high + 0.08 * (high - low) if high > low else low + 1)


def _phases(answer: Recommendation, scale: float) -> list[Band]:
    """Median and p99 of the drain time of the queue, while a changing rate is below its average and while it is not."""
    found = []
    for phase, color in PHASES.items():
        names = [f"queue_delay_{part}_{phase}_s" for part in ("p50", "p99")]
        places = []
        for point in answer.points:
            median, most = (point.estimate(name) for name in names)
            if median is not None and most is not None:
                places.append((point.buffer.number, scale * median.mean, scale * most.mean))
        if len(places) > 1:
            found.append(Band(places, color, 0.28, phase))
    return found


# The answer ------------------------------------------------------------------------------------------------------


def _best(answer: Recommendation) -> tuple[str, Quantity] | None:
    """The recommended buffer, or the nearest miss; neither if the search decided nothing."""
    if answer.buffer is not None:
        return "recommended", answer.buffer
    if answer.conflict is None or answer.verdict == "undecided" or answer.conflict.compromise is None:
        return None
    return "closest", answer.conflict.compromise


def _answer_color(answer: Recommendation) -> str:
    return "green" if answer.buffer is not None else "orange"


def _answer_mark(answer: Recommendation) -> list[Curve]:
    """The line of the answer through a panel."""
    best = _best(answer)
    look = Look(_answer_color(answer), "solid", 2.4, opacity=0.85)
    return [] if best is None else [mark(best[1].number, look, "answer")]


def answer_flag(answer: Recommendation) -> Flag | None:
    """The name of the answer above a panel."""
    best = _best(answer)
    if best is None:
        return None
    return Flag(best[1].number, f"{best[0]}: {wording.count(best[1])}", "good" if answer.buffer is not None else "bad")


def _kind(rule: JudgedRule) -> str:
    return "rule" if rule.applies else "norule"


# Pictures --------------------------------------------------------------------------------------------------------


def recommendation_chart(answer: Recommendation) -> Chart:
    """The decision and the rules along the axis of the buffer; below, utilization, loss and delay with the goals."""
    axis = across(answer)
    rows = Rows()
    _add_decision(rows, answer)
    dots = rule_dots(answer)
    marks = rows.add_rules(dots, axis, COLORED)
    panels = [metric_panel(answer, name, marks) for name in charted_metrics(answer)]
    top = [rows.panel()] if rows.rows else []
    heading = _heading(answer, "Buffer recommendation")
    label = f"{heading.title}: {heading.answer}"
    return Chart(axis, (*top, *panels), label, heading, _legend(answer, panels, dots))


def _heading(answer: Recommendation, otherwise: str, details: int = 2) -> Headline:
    """The headline, and the opening of the answer with its first `details` paragraphs."""
    found = opening(answer)
    return replace(
        headline(answer.scenario.resolved, otherwise=otherwise),
        answer=found.answer,
        warnings=tuple(f"Warning: {warning}" for warning in found.warnings),
        details=found.paragraphs[:details],
    )


def _legend(answer: Recommendation, panels: Iterable[Panel], dots: Sequence[Dot]) -> list[Key]:
    """Entries for what is drawn."""
    present = series_names(panels)
    states = measured(answer)
    keys = {
        "runs": Key("single run", RUN),
        "mean": Key("exact value" if is_exact(answer.engine) else "mean of several runs", MEAN),
        "band": Key("95 % interval of the mean", area="blue"),
        "slow": Key("median to p99 while the rate is below its average", area="pink", opacity=0.28),
        "fast": Key("median to p99 while the rate is at or above its average", area="sky", opacity=0.28),
        "goal": Key("goal missed", area="orange", opacity=0.12),
    }
    found = [key for name, key in keys.items() if name in present]
    for state, (_, _, words) in STATES.items():
        few = [each.few for each in states if each.state == state]
        if few:
            found.append(Key(words, state_look(state, few=all(few))))
    if any(each.few for each in states):
        found.append(Key("(hollow or thin: 1 or 2 runs)"))
    if any(dot.kind == "own" for dot in dots):
        found.append(Key(OWN, Look("here", "dashed", 1.6, "D", 5)))
    return found + rule_keys(dots)


# The trade-off ---------------------------------------------------------------------------------------------------


def trade_chart(answer: Recommendation, colors: Sequence[str] = NEUTRAL) -> Chart:
    """One metric against another: the measured buffers, those of the rules, the answer; the front is connected.

    A legend names the rules if each has a color of its own.
    """
    front = answer.pareto
    assert front is not None, "a trade-off that was asked for"
    keys, points = front.metrics, front.points
    (up, scale_y), (title, scale_x) = (axis_title(key, max(each.measured[key].mean for each in points)) for key in keys)

    def place(found: Mapping[str, Estimate]) -> tuple[float, float]:
        y, x = (found[key].mean for key in keys)
        return scale_x * x, scale_y * y

    def tip(buffer: Quantity, found: Mapping[str, Estimate], name: str = "") -> Tip:
        stated = "".join(f"\n{wording.metric_title(key)} {formatting.estimate(key, found[key])}" for key in keys)
        return _tip(buffer, f"{f'{name}: ' if name else ''}{wording.sizes(buffer)}{stated}")

    ordered = sorted(points, key=lambda each: place(each.measured))
    series: list[Series] = []
    for kind, best in (("mean", False), ("front", True)):
        mine = [each for each in ordered if each.on_front == best]
        look = Look("blue", "dashed" if best else "none", 1.5, "o", 5.0)
        if mine:
            series.append(
                Curve([place(p.measured) for p in mine], look, [tip(p.buffer, p.measured) for p in mine], kind)
            )
    legend = [
        Key("no buffer is better in both", Look("blue", "dashed", 1.5)),
        Key("measured buffer", Look("blue", marker="o", size=5)),
    ]
    sized = [(rule, rule.buffer) for rule in answer.rules if rule.buffer is not None]
    stated = [(rule, buffer) for rule, buffer in sized if all(key in rule.measured for key in keys)]
    for number, (rule, buffer) in enumerate(stated):
        look = rule_look(_kind(rule), number, colors)
        if colors is COLORED:
            # The same color again: larger, so that of two at one place both are seen.
            look = replace(look, marker="D", size=7.0 + 3 * (number // len(COLORED)), opacity=1.0)
        curve = Curve([place(rule.measured)], look, [tip(buffer, rule.measured, rule.name)], _kind(rule))
        series.insert(0, curve)
        legend.append(Key(f"{rule.name}: {wording.count(buffer)}{'' if rule.applies else ' (does not apply)'}", look))
    at_best = [each for each in ordered if answer.buffer is not None and each.buffer.number == answer.buffer.number]
    for each in at_best:
        look = Look("green", marker="o", size=8)
        series.append(Curve([place(each.measured)], look, [tip(each.buffer, each.measured, "the answer")], "answer"))
        legend.append(Key("the answer", look))
    by_front = sorted(ordered, key=lambda each: not each.on_front)
    names = [(*place(each.measured), _short(each.buffer)) for each in by_front]
    series.append(Names(names, "ink", "front"))
    shown = [point for each in series if isinstance(each, Curve) for point in each.points]
    axes = filled(title, [x for x, _ in shown]), filled(up, [y for _, y in shown])
    return Chart(
        axes[0], (Panel(axes[1], tuple(series)),), f"{up} against {title}", None, legend if colors is COLORED else ()
    )


def front_chart(answer: Recommendation) -> Chart:
    """The trade-off as a picture, each rule in the legend."""
    found = trade_chart(answer, COLORED)
    (panel,) = found.panels
    heading = _heading(answer, "Trade-off", details=0)
    return replace(found, panels=(replace(panel, height=TRADE_OFF),), headline=heading)


def _short(buffer: Quantity) -> str:
    return f"{tick_text(buffer.number)}p" if isinstance(buffer, BufferSize) else tick_text(buffer.number)
