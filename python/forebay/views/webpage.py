"""A recommendation as one HTML file: everything inside, nothing fetched, readable without a script and on paper."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.results.report import BufferSize
from forebay.search.interpolation import on_curve
from forebay.search.range_variable import RangeVariable
from forebay.text import formatting
from forebay.views import wording
from forebay.views.answer_sentences import draws_met, goal_text, margin, nearest, roles, undecided
from forebay.views.chart import Chart, series_names
from forebay.views.decision import ENOUGH, is_exact, likely, may_meet
from forebay.views.goal_table import goal_rows, places, verdict_cell
from forebay.views.headline import headline
from forebay.views.opening import opening
from forebay.views.page_charts import Figure, Switch, aligned, figure, missing
from forebay.views.pages import Row, Table, render
from forebay.views.recommendation_charts import (
    across,
    answer_flag,
    charted_metrics,
    decision_panel,
    metric_panel,
    rule_marks,
    rules_panel,
)
from forebay.views.scales import Axis
from forebay.views.tradeoff_charts import trade_chart
from forebay.views.traffic import quantity, traffic_table

if TYPE_CHECKING:
    from forebay.configuration import configuring
    from forebay.inputs.goals import Goal
    from forebay.results.report import Estimate
    from forebay.search import answer_parts as parts
    from forebay.search.answer import Recommendation
    from forebay.search.value import Quantity
    from forebay.views.goal_table import GoalRow
    from forebay.views.opening import Opening

__all__ = ["recommendation_page"]

#: The series of all charts, and the label of each one's switch.
SERIES = (
    ("met", "meets all goals"),
    ("missed", "misses a goal"),
    ("undecided", "undecided"),
    ("likely", "interval of the true minimum"),
    ("between", "undecided"),
    ("runs", "single runs"),
    ("mean", "mean of several runs"),
    ("band", "95 % interval of the mean"),
    ("slow", "median to p99 while the rate is below its average"),
    ("fast", "median to p99 while the rate is at or above its average"),
    ("goal", "goals (shaded: missed)"),
    ("own", "as configured"),
    ("rule", "rules that apply"),
    ("norule", "rules that do not apply"),
    ("also", "buffers of --also"),
    ("answer", "the answer"),
    ("front", "no buffer is better in both"),
)


def recommendation_page(answer: Recommendation, *, source: str, command: str) -> str:
    """Write the page.

    Parameters
    ----------
    answer : Recommendation
        With or without a buffer that meets the goals.
    source : str
        Text of the scenario file as the user wrote it.
    command : str
        The command that reproduces the answer.

    Returns
    -------
    str
        The whole document.
    """
    heading = headline(answer.scenario.resolved, otherwise="Buffer recommendation")
    ranged = isinstance(answer.variable, RangeVariable)
    found = opening(answer)
    page = RecommendationPage(
        title=heading.title,
        link=heading.link,
        kind=f"Recommendation of {answer.variable.key}" if ranged else "Router buffer recommendation",
        noun="value" if ranged else "buffer",
        opening=found,
        goals=_goals(answer) if answer.feasible else _misses(answer),
        below=_below_goals(answer),
        question=_question(answer),
        traffic=traffic_table(answer.scenario.resolved),
        pictures=_pictures(answer),
        curve=_curve(answer),
        rules=_rules(answer),
        alternatives=_alternatives(answer) if answer.alternatives else None,
        sensitivity=None if answer.sensitivity is None else _sensitivity(answer.sensitivity),
        front=None if answer.pareto is None else _front(answer.pareto),
        configurations=tuple(map(_configuration, answer.configurations)),
        warnings=tuple(warning for warning in answer.warnings if not warning.urgent),
        method=_method(answer),
        command=command,
        source=source.rstrip(),
        version=answer.version,
        seed=str(answer.scenario.core.seed),
        sha256=answer.scenario.core.sha256,
    )
    return render("recommendation.html.j2", page)


# View models of the template -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pictures:
    """The switches of all series, all charts, and the reason if there are none."""

    switches: tuple[Switch, ...]
    figures: tuple[Figure, ...]
    missing: str


@dataclass(frozen=True, slots=True)
class SizingRule:
    """A rule with a buffer: the verdict on the goals there, its title and summary, whether and why it applies."""

    name: str
    buffer: str
    verdicts: tuple[str, ...]
    title: str
    summary: str
    applies: bool
    why: str


@dataclass(frozen=True, slots=True)
class SilentModel:
    """A model that was looked at and has no buffer to offer."""

    name: str
    title: str
    why: str


@dataclass(frozen=True, slots=True)
class Spread:
    """The range over which the rules that apply spread."""

    number: str
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class Rules:
    """Every rule: those that apply, the others, those without a buffer."""

    spread: Spread | None
    applying: tuple[SizingRule, ...]
    others: tuple[SizingRule, ...]
    silent: tuple[SilentModel, ...]


@dataclass(frozen=True, slots=True)
class Configuration:
    """The answer as the commands of a router's system."""

    system: str
    text: str
    quirks: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Method:
    """The simulations on which the answer rests."""

    engine: str
    replications: str
    buffers: str
    data_packets: str
    warmup: str
    measured: str
    streams: str


@dataclass(frozen=True, slots=True)
class RecommendationPage:
    """The page, section by section."""

    title: str
    link: str
    kind: str
    noun: str
    opening: Opening
    goals: Table
    below: tuple[str, ...]
    question: str
    traffic: Table
    pictures: Pictures
    curve: Table
    rules: Rules
    alternatives: Table | None
    sensitivity: Table | None
    front: Table | None
    configurations: tuple[Configuration, ...]
    warnings: tuple[str, ...]
    method: Method
    command: str
    source: str
    version: str
    seed: str
    sha256: str


# The question and the answer -------------------------------------------------------------------------------------


def _question(answer: Recommendation) -> str:
    links = answer.scenario.resolved["links"]
    target = next(link for link in links if link["target"])
    wishes = [wording.goal_phrase(judged.goal) for judged in answer.goals.values()]
    with_which = f" with which {wording.both(wishes)}" if wishes else ""
    rate = wording.rate_of_link(answer.scenario)
    several = "" if len(links) == 1 else f" (the link “{target['name']}” of {len(links)})"
    return f"What is the {wording.request_phrase(answer)} for this {rate} link{several}{with_which}?"


def _goals(answer: Recommendation) -> Table:
    """Every goal at the answer."""
    assert answer.buffer is not None, "without an answer there is another table"
    rows = []
    for goal in answer.goals.values():
        verdict = "met" if goal.met else "missed"
        decides = ", decides" if goal.binding else ""
        there = formatting.estimate(goal.goal.name, goal.measured)
        rows.append(
            Row((goal_text(goal), there, f"{margin(goal)}{_draws_met(goal)}", f"{verdict}{decides}"), kind=verdict)
        )
    return Table(("goal", f"at {wording.count(answer.buffer)}", "margin", "verdict"), tuple(rows))


def _misses(answer: Recommendation) -> Table:
    """Every goal at the smallest and the largest measured buffer, and at the one that comes nearest to all goals."""
    rows = goal_rows(answer)
    columns = places(rows)
    heads = (f"{roles(place)}: {wording.count(place.buffer)}" for place in columns)
    cells = [
        Row(
            (goal_text(judged), *(verdict_cell(row, place.goals[number], interval=True) for place in columns)),
            kind=_kind(answer, row),
        )
        for number, (row, judged) in enumerate(zip(rows, answer.goals.values(), strict=True))
    ]
    return Table(("goal", *heads), tuple(cells))


def _kind(answer: Recommendation, row: GoalRow) -> str:
    """The verdict on a goal at the nearest miss; empty if nothing is decided."""
    return "" if undecided(answer) or row.nearest is None else row.nearest.verdict


def _below_goals(answer: Recommendation) -> tuple[str, ...]:
    """Sentences below the table of goals: the nearest miss, and the share of the draws."""
    return tuple(filter(None, (nearest(answer) if answer.buffer is None else "", draws_met(answer))))


def _draws_met(goal: parts.JudgedGoal) -> str:
    return "" if goal.replications is None else f", met in {goal.met_replications} of {goal.replications} runs"


# The pictures and the curve --------------------------------------------------------------------------------------


def _pictures(answer: Recommendation) -> Pictures:
    axis, ranged = across(answer, below="ms"), isinstance(answer.variable, RangeVariable)
    against = wording.axis(answer) if ranged else "the buffer in packets"
    decision, rules = decision_panel(answer), rules_panel(answer, axis)
    charts = [("The decision", Chart(axis, (decision,), "the decision by buffer"))] if decision.up else []
    if rules.up:
        charts.append(("The configured buffer and the rules", Chart(axis, (rules,), "rules by buffer")))
    marks = rule_marks(answer, axis)
    for key in charted_metrics(answer):
        panel = dataclasses.replace(metric_panel(answer, key, marks), flag=answer_flag(answer))
        title = wording.metric_title(key)
        assert isinstance(panel.up, Axis)
        charts.append((formatting.capitalized(title), Chart(axis, (panel,), f"{panel.up.title} against {against}")))
    apart = [] if answer.pareto is None else [("The trade-off", dataclasses.replace(trade_chart(answer), legend=()))]
    titles = dict(SERIES) | ({} if answer.feasible else {"answer": "the closest"})
    titles |= {
        series: span.name for series, span in (("likely", likely(answer)), ("between", may_meet(answer))) if span
    }
    if is_exact(answer.engine):
        titles["mean"] = "exact values"
    if ranged:
        titles |= {"also": "values of --also", "front": "no value is better in both"}
    figures = (*aligned(charts), *(figure(heading, chart) for heading, chart in apart))
    shown = series_names(panel for _, chart in (*charts, *apart) for panel in chart.panels)
    switches = tuple(Switch(name, text) for name, text in titles.items() if name in shown)
    return Pictures(() if missing() else switches, figures, missing())


def _curve(answer: Recommendation) -> Table:
    names = charted_metrics(answer)
    rows = [
        Row(
            (
                *_cells(point.buffer),
                str(point.replications),
                *(formatting.estimate(name, point.estimate(name)) for name in names),
            )
        )
        for point in answer.points
    ]
    varied = ("packets", "time") if isinstance(answer.points[0].buffer, BufferSize) else (answer.variable.key,)
    return Table((*varied, "runs", *map(wording.metric_title, names)), tuple(rows))


def _cells(buffer: Quantity) -> tuple[str, ...]:
    if isinstance(buffer, BufferSize):
        return f"{buffer.packets:,.0f}", formatting.duration(buffer.seconds)
    return (wording.count(buffer),)


# The rules -------------------------------------------------------------------------------------------------------


def _rules(answer: Recommendation) -> Rules:
    rules = sorted(
        answer.rules,
        key=lambda rule: (not rule.applies, math.inf if rule.buffer is None else rule.buffer.number),
    )
    sized = [_sizing_rule(answer, rule, rule.buffer) for rule in rules if rule.buffer is not None]
    applying = tuple(rule for rule in sized if rule.applies)
    others = tuple(rule for rule in sized if not rule.applies)
    silent = tuple(_silent_model(rule) for rule in rules if rule.buffer is None)
    return Rules(_spread(rules), applying, others, silent)


def _spread(rules: Sequence[parts.JudgedRule]) -> Spread | None:
    """The spread of the rules that apply, given in the order of their buffers; None if they are fewer than two."""
    applying = [rule.buffer for rule in rules if rule.applies and rule.buffer is not None]
    if len(applying) < 2:
        return None
    return Spread(str(len(applying)), _short(applying[0]), wording.count(applying[-1]))


def _short(buffer: Quantity) -> str:
    """A buffer in packets, without the noun."""
    return f"{buffer.packets:,.0f}" if isinstance(buffer, BufferSize) else wording.count(buffer)


def _sizing_rule(answer: Recommendation, rule: parts.JudgedRule, buffer: Quantity) -> SizingRule:
    title, summary = _explained(rule.name)
    if isinstance(answer.variable, RangeVariable) and not summary:
        title = rule.notes[0]
    return SizingRule(
        name=rule.name,
        buffer=wording.packets(buffer),
        verdicts=tuple(_goal_verdicts(answer, on_curve(answer.points, buffer))),
        title=title,
        summary=summary,
        applies=rule.applies,
        why=rule.why,
    )


def _silent_model(rule: parts.JudgedRule) -> SilentModel:
    why = "it applies but gives no buffer for these goals" if rule.applies else rule.why
    return SilentModel(rule.name, _explained(rule.name)[0], why)


def _explained(name: str) -> tuple[str, str]:
    """A rule's title and one sentence on it, if the catalog of models has them."""
    from forebay.errors import InputError
    from forebay.explanation import explain

    try:
        explanation = explain(name)
    except InputError:
        return name, ""
    return explanation.title, explanation.summary


def _goal_verdicts(answer: Recommendation, at: parts.CurvePoint | None) -> Iterable[str]:
    """The verdict on each goal at a measured buffer, or at one between two of them."""
    if at is None:
        return
    for goal in (judged.goal for judged in answer.goals.values()):
        key = at.key(goal.name)
        estimate = None if key is None else at.estimate(key)
        if key is None or estimate is None:
            continue
        about = "" if at.replications else "about "
        verdict = _there(answer, at, goal, estimate)
        yield f"{wording.metric_title(key)} {about}{formatting.estimate(key, estimate)} ({verdict})"


def _there(answer: Recommendation, at: parts.CurvePoint, goal: Goal, estimate: Estimate) -> str:
    """The verdict on a goal at a buffer: with the number of runs if they are few, probable between two buffers."""
    if goal.key in at.goals:
        return at.goals[goal.key].verdict
    margin, half = goal.margin(estimate.mean), estimate.half_width or 0.0
    verdict = "met" if margin >= half else "missed" if margin < -half else "undecided"
    if not at.replications:
        return "probably met" if margin >= 0 else "probably missed"
    if at.replications < ENOUGH and not is_exact(answer.engine):
        return f"{'met' if margin >= 0 else 'missed'} in {formatting.counted(at.replications, 'run')}"
    return verdict


# The rest --------------------------------------------------------------------------------------------------------


def _alternatives(answer: Recommendation) -> Table:
    names = [name for name in charted_metrics(answer) if "." not in name]
    rows = []
    for number, each in enumerate(answer.alternatives):
        found = each.recommendation
        cells = (formatting.estimate(name, each.measured.get(name)) for name in names)
        what = "none" if found is None else wording.packets(found)
        rows.append(Row((*each.choice.values(), what, *cells, wording.comparison_with_best(answer, number))))
    titles = map(wording.metric_title, names)
    return Table((*answer.choice, wording.varied(answer), *titles, "compared with the best"), tuple(rows))


def _sensitivity(entries: Iterable[parts.Variation]) -> Table:
    rows = []
    for entry in entries:
        buffer, goal = entry.recommendation, entry.binding_goal
        cells = (
            f"{entry.quantity} {100 * (entry.factor - 1):+.0f} %",
            "none meets all goals" if buffer is None else wording.packets(buffer),
            "–" if goal is None else wording.goal_title(goal),
        )
        rows.append(Row(cells))
    return Table(("what", "buffer", "decided by"), tuple(rows))


def _front(front: parts.Front) -> Table:
    names = front.metrics
    rows = [
        Row(
            (
                wording.packets(point.buffer),
                *(formatting.estimate(name, point.measured[name]) for name in names),
            )
        )
        for point in front.points
        if point.on_front
    ]
    return Table(("buffer", *map(wording.metric_title, names)), tuple(rows))


def _configuration(found: configuring.Configuration) -> Configuration:
    return Configuration(found.system, "\n".join(found.lines), (*found.notes, *found.quirks), found.source)


def _method(answer: Recommendation) -> Method:
    cost, run = answer.cost, answer.scenario.resolved["run"]
    return Method(
        engine=answer.engine,
        replications=formatting.counted(cost.replications, "replication"),
        buffers=formatting.counted(cost.buffers, "value" if isinstance(answer.variable, RangeVariable) else "buffer"),
        data_packets=formatting.counted(cost.data_packets, "data packet"),
        warmup=quantity(run["warmup"]),
        measured=quantity(run["measure"]),
        streams="No two replications share random streams."
        if answer.fraction is None
        else "In each replication, all buffers get the same random traffic.",
    )
