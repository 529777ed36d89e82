"""The charts of a recommendation: the decision, the rules, and each metric against the buffer.

`plots` draws them as pictures with a headline and a legend, and `webpage` draws each panel for a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Literal

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
from forebay.views.rule_rows import OWN, STATES, Dot, Rows, rule_keys, rule_panel, state_look, stem
from forebay.views.scales import Axis, axis_title, buffer_axis, decision_axis, filled, tick_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forebay.results.report import Estimate
    from forebay.search.answer import Recommendation
    from forebay.search.answer_parts import CurvePoint, JudgedRule
    from forebay.search.value import Quantity

__all__ = [
    "across",
    "answer_flag",
    "answer_heading",
    "charted_metrics",
    "decision_panel",
    "metric_panel",
    "recommendation_chart",
    "rule_dots",
    "rule_marks",
    "rules_panel",
]

#: Order of the rules and of the requested buffers, by the kind of their dots.
ORDER = ("own", "also", "rule", "norule")
#: Colors while the rate of a changing link is below its average, and while it is not.
PHASES = {"slow": "pink", "fast": "sky"}
MEAN = Look("blue", "solid", 1.6, "o", 4.2)
RUN = Look("blue", marker="o", size=3.4, edge=0.0, opacity=0.55)
#: A buffer that was run once.
SINGLE = replace(RUN, size=5.0)
#: Largest share of the horizontal axis over which a line joins means past single runs.
NEAR = 0.2
GOAL = Look("orange", "dashed", 1.2)
#: The interval of the true buffer.
SPAN = Look("green", "solid", 6.0, size=7.0, edge=2.0, opacity=0.75)


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
    """The panel of the configured buffer, the named buffers, the rules that apply, and a row for all other rules."""
    found = Rows(series=list(_answer_mark(answer)))
    found.add_rules(rule_dots(answer), axis)
    return found.panel()


def rule_marks(answer: Recommendation, axis: Axis) -> list[Curve]:
    """Lines through a panel at the rules on the axis and at the configured buffer, which is the topmost."""
    return rule_panel(rule_dots(answer), axis)[1]


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
            look = replace(SPAN, color=color, marker="|" if span.low == span.high else "")
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


def rule_dots(answer: Recommendation) -> list[Dot]:
    """The configured buffer, those that were asked about, the rules that apply, the others; each from the smallest."""
    states = {each.buffer: each for each in measured(answer)}
    dots = []
    for rule in answer.rules:
        if rule.buffer is not None:
            verdict = "applies" if rule.applies else f"does not apply: {rule.why}"
            text = f"{rule.name}: {wording.sizes(rule.buffer)}\n{verdict}"
            at = rule.buffer.number
            dots.append(Dot(rule.name, at, _kind(rule), text, *(_verdict(states.get(at)) or _interpolated(rule))))
    for named in answer.also:
        text = f"{named.name}: {wording.sizes(named.buffer)}"
        own, at = named.name == OWN, named.buffer.number
        name = f"{OWN}: {tick_text(at)}" if own else named.name
        dots.append(Dot(name, at, "own" if own else "also", text, *(_verdict(states.get(at)) or (None, False))))
    dots.sort(key=lambda dot: (ORDER.index(dot.kind), dot.buffer, dot.name))
    return dots


def _verdict(found: Measured | None) -> tuple[State, bool] | None:
    """The verdict on a measured buffer, and whether few runs decide."""
    return None if found is None else (found.state, found.few)


def _interpolated(rule: JudgedRule) -> tuple[State | None, bool]:
    """The verdict between two measured buffers; None if there is none."""
    if rule.rule_verdict.miss is not None:
        return "missed", True
    return ("met" if rule.rule_verdict.times is not None else None), True


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
    up = _vertical(answer, title, readings, list(zip((goal.sense for goal in goals), thresholds, strict=True)), phases)
    span = may_meet(answer)
    series: list[Series] = []
    if span is not None:
        series.append(Band([(span.low, -inf, inf), (span.high, -inf, inf)], "other", 0.15, "between"))
    for goal, at in zip(goals, thresholds, strict=True):
        low, high = (-inf, at) if goal.sense == ">=" else (at, inf)
        series += [Band([(-inf, low, high), (inf, low, high)], "orange", 0.07, "goal"), level(at, GOAL, "goal")]
    series += [*phases, *marks, *_answer_mark(answer), *_curves(readings, across(answer), up)]
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


def _curves(readings: Sequence[_Reading], axis: Axis, up: Axis) -> Iterator[Series]:
    """Bands, then single runs as dots, then the means with a line; arrows at the ends of the axis for what is beyond.

    No line leads through a single run, or past one over more than a small part of the axis.
    """
    several = [each for each in readings if each.averaged]
    single = [each for each in readings if not each.averaged]
    parts = _connected(several, [each.point.x for each in single], axis)
    for part in parts:
        yield from intervals([each.point for each in part], "blue", "band")
    yield Curve([(each.point.x, run) for each in several for run in each.runs], RUN, series="runs")
    dots = [each for each in single if up.low <= each.point.mean <= up.high]
    yield Curve([(each.point.x, each.point.mean) for each in dots], SINGLE, [each.tip for each in dots], "runs")
    for part in parts:
        yield Curve([(each.point.x, each.point.mean) for each in part], MEAN, [each.tip for each in part], "mean")
    for end, look in ((-inf, "v"), (inf, "^")):
        for series, color in (("runs", SINGLE), ("mean", MEAN)):
            mine = [each for each in readings if _beyond(each, up, end) == series]
            arrow = replace(color, line="none", marker=look, size=6.0)
            if mine:
                yield Curve([(each.point.x, end) for each in mine], arrow, [each.tip for each in mine], series)


def _beyond(reading: _Reading, up: Axis, end: float) -> Literal["mean", "runs"] | None:
    """Whether the mean of a buffer lies beyond an end of the axis, or one of its runs alone."""

    def is_beyond(value: float) -> bool:
        return value < up.low if end < 0 else value > up.high

    # An axis by decades has a place for 0: its lower end.
    if up.by_decades and end < 0:
        return None
    if is_beyond(reading.point.mean):
        return "mean" if reading.averaged else "runs"
    return "runs" if any(is_beyond(run) for run in reading.runs) else None


def _connected(several: Sequence[_Reading], single: Sequence[float], axis: Axis) -> list[list[_Reading]]:
    """The means that a line joins: neighbors, and those that lie close together with single runs between them."""
    parts: list[list[_Reading]] = []
    for each in several:
        x, before = each.point.x, parts[-1][-1].point.x if parts else -inf
        near = axis(x) - axis(before) <= NEAR if parts else False
        if parts and (near or not any(before < at < x for at in single)):
            parts[-1].append(each)
        else:
            parts.append([each])
    return parts


def _vertical(
    answer: Recommendation,
    title: str,
    readings: Sequence[_Reading],
    goals: Sequence[tuple[str, float]],
    phases: Sequence[Band],
) -> Axis:
    """The vertical axis: every goal and the mean at the answer lie on it."""
    values = [value for each in readings for value in (each.point.mean, *each.runs)]
    values += [high for band in phases for _, _, high in band.points]
    # An interval of two runs may be wider than everything else.
    upper = max(each.point.mean + (each.point.half_width or 0.0) for each in readings)
    best = _best(answer)
    inside = [each.point.mean for each in readings if best is not None and each.point.x == best[1].number]
    percent = title == axis_title("utilization", 1.0)[0]
    widest = max(values) + 0.5 * (max(values) - min(0.0, *values))
    return decision_axis(title, [*values, min(upper, 100.0 if percent else widest)], goals, inside, percent=percent)


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
    marks = rows.add_rules(dots, axis)
    panels = [metric_panel(answer, name, marks) for name in charted_metrics(answer)]
    if rows.rows:
        panels.insert(0, rows.panel())
    heading = answer_heading(answer, "Buffer recommendation")
    label = f"{heading.title}: {heading.answer}"
    return Chart(axis, panels, label, heading, _legend(answer, panels, dots))


def answer_heading(answer: Recommendation, otherwise: str, details: int = 2) -> Headline:
    """The headline, and the opening of the answer with its first `details` paragraphs."""
    found = opening(answer)
    return replace(
        headline(answer.scenario.resolved, otherwise=otherwise),
        answer=found.answer,
        warnings=tuple(f"Warning: {warning}" for warning in found.warnings),
        details=found.paragraphs[:details],
    )


def _legend(answer: Recommendation, panels: Iterable[Panel], dots: Sequence[Dot]) -> list[Key]:
    """Entries for all that is drawn, and for nothing else."""
    panels = tuple(panels)
    present = series_names(panels)
    ranged = isinstance(answer.variable, RangeVariable)
    best, span = _best(answer), likely(answer)
    keys = {
        "runs": Key("single run", RUN),
        "mean": Key("exact value" if is_exact(answer.engine) else "mean of several runs", MEAN),
        "band": Key("95 % interval of the mean", area="blue"),
        "slow": Key("median to p99 while the rate is below its average", area="pink", opacity=0.28),
        "fast": Key("median to p99 while the rate is at or above its average", area="sky", opacity=0.28),
        "goal": Key("goal", GOAL),
        "answer": Key("" if best is None else best[0], Look(_answer_color(answer), "solid", 2.4, "D", 6.0)),
        "likely": Key(f"{'' if span is None else span.name} of the true {'value' if ranged else 'buffer'}", SPAN),
        "between": Key("undecided range", area="other", opacity=0.25),
    }
    found = [key for name, key in keys.items() if name in present]
    if "goal" in present:
        found.insert(found.index(keys["goal"]) + 1, Key("goal missed", area="orange", opacity=0.12))
    if any(isinstance(each, Curve) and each.look.marker in ("v", "^") for panel in panels for each in panel.series):
        found.append(Key("beyond the axis", Look("blue", marker="v", size=6.0)))
    return [*found, *_state_keys(answer, dots), *rule_keys(dots, f"{'value' if ranged else 'buffer'} of --also")]


def _state_keys(answer: Recommendation, dots: Sequence[Dot]) -> list[Key]:
    """Entries for the verdicts, which the markers of all rows state."""
    verdicts = [(each.state, each.few) for each in measured(answer)]
    verdicts += [(dot.state, dot.few) for dot in dots if dot.state is not None and dot.kind != "norule"]
    found = []
    for state, (_, _, words) in STATES.items():
        few = [each for of, each in verdicts if of == state]
        if few:
            found.append(Key(words, state_look(state, few=all(few))))
    if any(few for _, few in verdicts):
        found.append(Key("(hollow or thin: few or no runs)"))
    return found
