"""Answers in a notebook: a compact table at the end of a cell, and a picture on request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from forebay.comparison.answers import Comparison
from forebay.errors import InputError
from forebay.results.report import Report
from forebay.scenario import Scenario
from forebay.search.answer import Recommendation
from forebay.search.check_report import CheckReport
from forebay.search.class_answer import ClassSizing
from forebay.search.feasible import FeasibleMap
from forebay.search.port_answer import PortSizing
from forebay.sweeps.sweeping import Sweep
from forebay.text import formatting
from forebay.text.formatting import counted
from forebay.views import wording
from forebay.views.headline import Headline, headline
from forebay.views.opening import opening
from forebay.views.pages import Row, Table, render

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forebay.results.report import Estimate
    from forebay.results.warning import Warning

__all__ = ["picture", "table"]

#: Largest number of rows of a table; further rows are only counted.
MOST_ROWS = 12


@dataclass(frozen=True, slots=True)
class Note:
    """The note on an answer in a notebook.

    Attributes
    ----------
    headline : Headline
        Title and link.
    answer : tuple of str
        Paragraphs, the first of which is the answer.
    tables : tuple of Table
        Tables, one below the other.
    warnings : tuple of str
        Warnings below the tables.
    urgent : tuple of str
        Warnings above the answer: they change the decision.
    """

    headline: Headline
    answer: tuple[str, ...]
    tables: tuple[Table, ...]
    warnings: tuple[str, ...] = ()
    urgent: tuple[str, ...] = ()


def table(answer: object) -> str:
    """The answer as a piece of HTML."""
    return render("notebook.html.j2", _note(answer))


def picture(answer: object) -> Figure:
    """The answer as a figure."""
    return _drawn(answer)


# Tables ----------------------------------------------------------------------------------------------------------


@singledispatch
def _note(answer: object) -> Note:
    raise TypeError(f"no table for {type(answer).__name__}")


@_note.register(Scenario)
def _(scenario: Scenario) -> Note:
    rows: list[tuple[str, ...]] = [(wording.goal_phrase(goal),) for goal in scenario.goals]
    text = "To open it in the laboratory, call lab() in a cell, or save its toml and run `forebay lab FILE`."
    heading = headline(scenario.resolved, otherwise="Scenario", buffer=scenario.buffer)
    return Note(heading, (text,), (_table(("goals",), rows, limited=False),))


@_note.register(Report)
def _(report: Report) -> Note:
    names = list(report.metrics)
    for group in report.groups:
        names += [name for name in group.metrics if name not in names]
    columns = ("", "link", *(f"{group.name} ({group.flows})" for group in report.groups))
    rows = []
    for name in names:
        estimates = [report.metrics.get(name), *(group.metrics.get(name) for group in report.groups)]
        rows.append((formatting.metric_title(name), *_estimates(name, estimates)))
    often = counted(report.replications, "replication")
    text = f"{report.engine} engine, {often}, seed {report.seed}"
    heading = headline(report.resolved, otherwise="Report", buffer=report.buffer)
    return Note(heading, (text,), (_table(columns, rows, limited=False),), tuple(report.warnings))


@_note.register(Recommendation)
def _(answer: Recommendation) -> Note:
    names = [name for name in formatting.USUAL if any(name in point.metrics for point in answer.points)]
    requested = (answer.points[0].key(judged.goal.name) for judged in answer.goals.values())
    names = list(dict.fromkeys([*names, *filter(None, requested)]))
    columns = ("", wording.varied(answer), "applies", "runs", *(formatting.metric_title(name) for name in names))
    rows = []
    if answer.buffer is not None:
        rows.append(("recommended", answer.buffer, "", answer.at(answer.buffer)))
    sized = [
        (rule.name, rule.buffer, "yes" if rule.applies else "no", answer.at(rule.buffer))
        for rule in answer.rules
        if rule.buffer is not None
    ]
    rows += [(named.name, named.buffer, "", answer.at(named.buffer)) for named in answer.also]
    # Rules that apply come first.
    rows += sorted(sized, key=lambda row: (row[2] != "yes", row[1].number))
    cells = [
        (
            name,
            wording.packets(buffer),
            applies,
            "–" if at is None else str(at.replications),
            *(formatting.estimate(key, None if at is None else at.estimate(key)) for key in names),
        )
        for name, buffer, applies, at in rows
    ]
    heading = headline(answer.scenario.resolved, otherwise="Recommendation")
    found = opening(answer)
    stated = (found.answer, *found.paragraphs, *found.surprises)
    others = tuple(warning for warning in answer.warnings if not warning.urgent)
    return Note(heading, stated, (_table(columns, cells, limited=False),), others, found.warnings)


@_note.register(FeasibleMap)
def _(found: FeasibleMap) -> Note:
    from forebay.views.map_text import where_it_holds

    columns = (found.over[0].key, f"{found.over[1].key} met from", "to")
    rows = [
        (interval.at.words, *("–" if end is None else end.words for end in (interval.low, interval.high)))
        for interval in found.ranges
    ]
    heading = headline(found.scenario.resolved, otherwise="Combinations that meet all goals")
    return Note(heading, (where_it_holds(found),), (_table(columns, rows, limited=False),), tuple(found.warnings))


@_note.register(CheckReport)
def _(found: CheckReport) -> Note:
    from forebay.views.check_text import answer_line, goal_words, size_words

    goals = list(found.buffers[0].goals.values())
    columns = ("buffer", *map(goal_words, goals), "every goal")
    rows = [
        (
            size_words(each),
            *(f"{formatting.estimate(goal.goal.name, goal.measured)} {goal.verdict}" for goal in each.goals.values()),
            each.verdict,
        )
        for each in found.buffers
    ]
    heading = headline(found.scenario.resolved, otherwise="Check")
    return Note(
        heading, (answer_line(found),), (_table(columns, rows, limited=False),), *_split_warnings(found.warnings)
    )


@_note.register(ClassSizing)
def _(found: ClassSizing) -> Note:
    from forebay.views.answer_sentences import goal_text, margin
    from forebay.views.class_sizing_text import decided_by, link_line, paragraphs, sentence

    head = "recommended" if found.feasible else "nearest miss"
    classes = [
        (
            each.name,
            wording.count(each.configured),
            wording.count(each.nearest),
            formatting.size(each.nearest.bytes),
            *([decided_by(each)] if found.feasible else []),
        )
        for each in found.classes
    ]
    columns = ("class", "configured", head, "size", *(["decided by"] if found.feasible else []))
    goals: list[tuple[str, ...]] = [
        (goal_text(each), formatting.estimate(each.goal.name, each.measured), margin(each))
        for each in found.goals.values()
    ]
    tables = (
        _table(columns, classes, limited=False),
        _table(("goal", "measured", "margin"), goals, limited=False),
    )
    heading = headline(found.scenario.resolved, otherwise="Class buffers")
    stated = (sentence(found), *paragraphs(found), link_line(found))
    return Note(heading, stated, tables, *_split_warnings(found.warnings))


@_note.register(PortSizing)
def _(found: PortSizing) -> Note:
    from forebay.views.answer_sentences import goal_text, margin
    from forebay.views.port_sizing_text import decided_by, link_line, number_text, port_sizing_lines

    head = "recommended" if found.feasible else "nearest miss"
    values = [
        (
            each.name,
            number_text(each, each.configured),
            number_text(each, each.nearest),
            *([decided_by(each)] if found.feasible else []),
        )
        for each in found.values
    ]
    columns = ("value", "configured", head, *(["decided by"] if found.feasible else []))
    goals: list[tuple[str, ...]] = [
        (goal_text(each), formatting.estimate(each.goal.name, each.measured), margin(each))
        for each in found.goals.values()
    ]
    tables = (
        _table(columns, values, limited=False),
        _table(("goal", "measured", "margin"), goals, limited=False),
    )
    heading = headline(found.scenario.resolved, otherwise="Lossless port")
    return Note(heading, (*port_sizing_lines(found), link_line(found)), tables, *_split_warnings(found.warnings))


def _split_warnings(warnings: Iterable[Warning]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Warnings below the tables, and those above the answer."""
    found = tuple(warnings)
    return tuple(each for each in found if not each.urgent), tuple(each for each in found if each.urgent)


@_note.register(Comparison)
def _(found: Comparison) -> Note:
    names = list(dict.fromkeys(name for answer in found.answers for name in answer.metrics))
    shown = [name for name in names if sum(name in answer.metrics for answer in found.answers) > 1] or names
    columns = ("", "applies", *(formatting.metric_title(name) for name in shown))
    rows = [
        (
            answer.name,
            "yes" if answer.applies else "no",
            *(formatting.estimate(name, answer.metrics.get(name)) for name in shown),
        )
        for answer in found.answers
    ]
    text = f"{counted(len(found.disagreements), 'disagreement')} beyond the intervals"
    heading = headline(found.scenario.resolved, otherwise="Comparison", buffer=found.buffer)
    return Note(heading, (text,), (_table(columns, rows, limited=False),))


@_note.register(Sweep)
def _(found: Sweep) -> Note:
    from forebay.sweeps.manifest import Manifest

    manifest, summary = Manifest.read(found.folder), found.summary()
    axes = [name for name in summary.columns if name.startswith("axis.")]
    metrics = [name for name in formatting.USUAL if f"{name}.mean" in summary.columns]
    columns = (*(name.removeprefix("axis.") for name in axes), *(formatting.metric_title(name) for name in metrics))
    rows = [(*(str(row[name]) for name in axes), *_cells(row, metrics)) for row in summary.iter_rows(named=True)]
    text = f"{counted(summary.height, 'cell')} in {found.folder}"
    failed = tuple(f"{job}: {why}" for job, why in list(found.failed.items())[:MOST_ROWS])
    heading = headline(manifest.scenario, otherwise="Sweep")
    return Note(heading, (text,), (_table(columns, rows, limited=True),), failed)


def _cells(row: Mapping[str, Any], metrics: Iterable[str]) -> Iterable[str]:
    from forebay.results.report import Estimate

    for name in metrics:
        mean = row[f"{name}.mean"]
        yield formatting.estimate(name, None if mean is None else Estimate(mean, row[f"{name}.half_width"]))


def _estimates(name: str, found: Iterable[Estimate | None]) -> Iterable[str]:
    return (formatting.estimate(name, estimate) for estimate in found)


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]], *, limited: bool) -> Table:
    shown = rows[:MOST_ROWS] if limited else rows
    more = len(rows) - len(shown)
    caption = f"the first {len(shown)} of {len(rows)} rows; summary() has them all" if more else ""
    return Table(columns, tuple(map(Row, shown)), caption)


# Pictures --------------------------------------------------------------------------------------------------------


@singledispatch
def _drawn(answer: object) -> Figure:
    raise TypeError(f"no picture for {type(answer).__name__}")


@_drawn.register(Report)
def _(report: Report) -> Figure:
    from forebay.views.report_picture import draw_report

    return draw_report(report)


@_drawn.register(Recommendation)
def _(answer: Recommendation) -> Figure:
    from forebay.views.plots import draw_recommendation

    return draw_recommendation(answer)


@_drawn.register(FeasibleMap)
def _(found: FeasibleMap) -> Figure:
    from forebay.views.map_picture import draw_map

    return draw_map(found)


@_drawn.register(Comparison)
def _(found: Comparison) -> Figure:
    from forebay.views.comparison_picture import draw_comparison

    if len(found.points) < 2:
        raise InputError("plot: found one buffer; allowed: a comparison with points=1 or more")
    return draw_comparison(found)


@_drawn.register(Sweep)
def _(found: Sweep) -> Figure:
    from forebay.views.sweep_picture import sweep_figure

    return sweep_figure(found.folder)
