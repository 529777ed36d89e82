"""The text of `recommend`: the answer as sentences, then goals and rules; on request, the course of the search.

The sentences come from `answer_sentences`, the tables from `rules_table` and `goal_table`. Everything fits the width of
the terminal: sentences wrap, and the columns of a table go into a further table below.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from forebay.results.warning import Kind
from forebay.search.range_variable import RangeVariable
from forebay.text import formatting
from forebay.text.formatting import counted
from forebay.views.answer_sentences import (
    draws_met,
    goal_text,
    margin,
    nearest,
    reason_of,
    roles,
    urgent,
)
from forebay.views.configuration_text import configuration_lines
from forebay.views.fitting import Column, Grid, Wrapped
from forebay.views.goal_table import GoalRow, goal_rows, places, verdict_cell
from forebay.views.goodput import GOODPUT, MARK, sent_bps
from forebay.views.heading import Paragraph
from forebay.views.opening import opening
from forebay.views.reports import metric_table
from forebay.views.rules_table import (
    cell,
    headings,
    metric_keys,
    own_verdict,
    rules_table,
    short,
    size_cells,
)
from forebay.views.wording import (
    both,
    comparison_with_best,
    count,
    goal_title,
    rate_of_link,
    standing,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from forebay.search.answer import Recommendation
    from forebay.search.answer_parts import Front, JudgedGoal, JudgedRule, SearchCost, Variation
    from forebay.search.choice import Alternative
    from forebay.search.value import Quantity

__all__ = ["Detail", "lasting_text", "recommendation_text"]

#: Width of a text that is kept, in columns.
LASTING_WIDTH = 100
#: Style of the answer by its verdict.
STYLES = {"met": "bold green", "undecided": "bold yellow", "impossible": "bold red"}


class Detail(Enum):
    """Level of detail: the answer, or all that the search knows."""

    ANSWER = "answer"
    EVERYTHING = "everything"


def recommendation_text(answer: Recommendation, detail: Detail = Detail.ANSWER) -> RenderableType:
    """The answer, then the rules, then the additional requests.

    Parameters
    ----------
    answer : Recommendation
        The answer of a search.
    detail : Detail
        Whether reasons and the course of the search are shown, too.

    Returns
    -------
    RenderableType
        Fits the console that it is printed on, from 60 columns.
    """
    cost = Paragraph(_cost(answer.cost, "value" if isinstance(answer.variable, RangeVariable) else "buffer"), "dim")
    return Group(*_without_cost(answer, detail), cost)


def lasting_text(answer: Recommendation) -> str:
    """The same as plain text without its cost: equal searches have equal texts, which a page can keep."""
    console = Console(file=io.StringIO(), width=LASTING_WIDTH, color_system=None, legacy_windows=False)
    console.print(Group(*_without_cost(answer, Detail.ANSWER)), highlight=False)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in lines).strip()


def _without_cost(answer: Recommendation, detail: Detail) -> list[RenderableType]:
    everything = detail is Detail.EVERYTHING
    weighty = urgent(answer)
    parts: list[RenderableType] = [*_headline(answer), *_goals(answer), *_alternatives(answer), Text()]
    parts += rules_table(answer, everything=everything)
    for configuration in answer.configurations:
        parts += [Text(), *configuration_lines(configuration, weighty)]
    if answer.sensitivity is not None:
        parts += [Text(), _sensitivity(answer.sensitivity, _brief(answer))]
    if answer.pareto is not None:
        parts += [Text(), _front(answer.pareto, _brief(answer))]
    if everything:
        parts += [Text(), *_formulas(answer), *_reasons(answer.rules), *_story(answer)]
    return [*parts, *_warnings(answer, detail)]


# The first lines -------------------------------------------------------------------------------------------------


def _headline(answer: Recommendation) -> Iterator[RenderableType]:
    """The link, and the opening of the answer; before both the bounds that were used as values."""
    found = opening(answer)
    weighty = [warning for warning in found.warnings if warning.kind is not Kind.ASSUMED_BOUND]
    assumed = [warning for warning in found.warnings if warning.kind is Kind.ASSUMED_BOUND]
    if assumed:
        yield Paragraph(f"Assumed: {'; '.join(assumed)}.", "bold yellow")
    core = answer.scenario.core
    rate = rate_of_link(answer.scenario)
    title = f": {answer.scenario.title}" if answer.scenario.title else ""
    yield Text(f"{rate}, {core.queue}{title}", overflow="ellipsis", no_wrap=True)
    first, *others = found.answer, *found.paragraphs
    style = STYLES[found.verdict]
    if weighty:
        # Only the sentence comes first, so that the warnings begin in the third line.
        yield Paragraph(first, style)
        for warning in weighty:
            yield Paragraph(f"warning: {warning}", "bold yellow")
    else:
        yield Paragraph(" ".join([first, *others[:1]]), style)
        others = others[1:]
    for line in others:
        yield Paragraph(line)
    for line in found.surprises:
        yield Paragraph(line, "yellow")


# Goals and choices -----------------------------------------------------------------------------------------------


def _goals(answer: Recommendation) -> Iterator[RenderableType]:
    """Each goal at the answer; without an answer at the smallest and largest buffer and at the nearest miss."""
    if not answer.goals:
        return
    yield Text()
    if answer.buffer is None:
        yield from _conflict(answer)
    else:
        yield _at_answer(answer)
    held = draws_met(answer)
    if held:
        yield Paragraph(held)


def _at_answer(answer: Recommendation) -> RenderableType:
    """Each goal with its metric and its margin at the answer."""
    assert answer.buffer is not None, "without an answer there is another table"
    goals = list(answer.goals.values())
    measured = [_measured_text(each) for each in goals]
    columns = [
        Column(f"at {count(answer.buffer)}", measured),
        Column("margin", [margin(each) for each in goals]),
    ]
    if any(each.replications is not None for each in goals):
        columns.append(
            Column(
                "met in",
                [
                    "" if each.replications is None else f"{each.met_replications} of {each.replications} runs"
                    for each in goals
                ],
            )
        )
    styles = ["" if each.met else "red" for each in goals]
    return Wrapped([Grid([Column("goal", [goal_text(each) for each in goals], number=False)], columns, styles)])


def _measured_text(goal: JudgedGoal) -> str:
    """A goal's metric at the answer; without an interval the number of runs."""
    shown = formatting.estimate(goal.goal.name, goal.measured)
    runs = 0 if goal.evidence is None or goal.measured.half_width else goal.evidence.runs
    return f"{shown} ({counted(runs, 'run')})" if runs else shown


def _conflict(answer: Recommendation) -> Iterator[RenderableType]:
    """Each goal at the smallest and the largest measured buffer, and at the one that comes nearest to meeting all."""
    rows = goal_rows(answer)
    keys = [Column("goal", [goal_text(judged) for judged in answer.goals.values()], number=False)]
    styles = ["red" if row.nearest is not None and row.nearest.verdict == "missed" else "" for row in rows]
    yield Wrapped(Grid(keys, _verdicts(rows, interval=interval), styles) for interval in (True, False))
    sentence = nearest(answer)
    if sentence:
        yield Paragraph(sentence)


def _verdicts(rows: Sequence[GoalRow], *, interval: bool) -> list[Column]:
    """A column for each of the three buffers that differ, with each goal's metric and verdict there."""
    return [
        Column(
            f"{roles(place)}\n{count(place.buffer)}",
            [verdict_cell(row, at, interval=interval) for row, at in zip(rows, place.goals, strict=True)],
        )
        for place in places(rows)
    ]


def _alternatives(answer: Recommendation) -> Iterator[RenderableType]:
    """The answer with each value that was to choose from, the best first."""
    if not answer.alternatives:
        return
    yield Text()
    names = metric_keys(answer)
    found = answer.alternatives
    keys = [Column(key, [each.choice[key] for each in found], number=False) for key in answer.choice]
    which = [_which(each) for each in found]
    verdicts = [comparison_with_best(answer, number) for number in range(len(found))]
    styles = [
        "red" if each.recommendation is None and each.goals_met < each.goals_total else "" if number else "bold green"
        for number, each in enumerate(found)
    ]
    yield Wrapped(
        Grid(
            [*keys, Column(headings(answer)[0], which)],
            [
                *(
                    Column(short(name), [cell(answer, name, each.measured, interval=interval) for each in found])
                    for name in names
                ),
                Column("goals met", [f"{each.goals_met} of {each.goals_total}" for each in found]),
                Column("dominated", ["no" if each.on_front else "yes" for each in found], number=False),
                Column("compared with the best", verdicts, number=False),
            ],
            styles,
        )
        for interval in (True, False)
    )
    yield from _with_configured(answer)
    close = [
        _words_of(each) for each in found[1:] if each.goals_met == each.goals_total and not each.significantly_worse
    ]
    if close and found[0].goals_met == found[0].goals_total:
        yield Paragraph(f"The runs do not distinguish {both([_words_of(found[0]), *close])}: their intervals overlap.")


def _with_configured(answer: Recommendation) -> Iterator[RenderableType]:
    """Each choice with the configured buffer: the result for a user who changes nothing else."""
    found = [(each, each.configured) for each in answer.alternatives if each.configured is not None]
    if len(found) < 2:
        return
    names = metric_keys(answer)
    heading = headings(answer)[0]
    keys = [Column(key, [each.choice[key] for each, _ in found], number=False) for key in answer.choice]
    sizes = [size_cells(own.buffer)[0] for _, own in found]
    styles = ["red" if own.verdict == "missed" else "" for _, own in found]
    yield Text()
    yield Paragraph(f"With the configured {'value' if isinstance(answer.variable, RangeVariable) else 'buffer'}:")
    yield Wrapped(
        Grid(
            [*keys, Column(heading, sizes)],
            [
                *(
                    Column(short(name), [cell(answer, name, own.measured, interval=interval) for _, own in found])
                    for name in names
                ),
                Column("verdict", [own_verdict(own) for _, own in found], number=False),
            ],
            styles,
        )
        for interval in (True, False)
    )


def _which(alternative: Alternative) -> str:
    """The answer with one choice; without one the nearest miss, in parentheses."""
    if alternative.recommendation is not None:
        return size_cells(alternative.recommendation)[0]
    return "none" if alternative.nearest is None else f"({size_cells(alternative.nearest)[0]})"


def _words_of(alternative: Alternative) -> str:
    """The values of a choice."""
    return " with ".join(alternative.choice.values())


def _formulas(answer: Recommendation) -> Iterator[RenderableType]:
    """The formulas of rules for parameters that no catalog explains."""
    for rule in answer.rules if isinstance(answer.variable, RangeVariable) else ():
        yield Paragraph(f"{rule.name}: {rule.notes[0]}", "dim")


def _reasons(rules: Sequence[JudgedRule]) -> Iterator[RenderableType]:
    """The reasons why rules do not apply, or apply only to a part."""
    for rule in rules:
        if not rule.applies or rule.share < 1:
            yield Paragraph(f"{rule.name} {rule.rule_verdict.verdict}: {rule.why}", "dim")


# Additional requests -----------------------------------------------------------------------------------------------


def _brief(answer: Recommendation) -> tuple[str, ...]:
    """The headings without the one of bytes."""
    return tuple(heading for heading in headings(answer) if heading != "size")


def _brief_cells(buffer: Quantity) -> list[str]:
    packets, *others = size_cells(buffer)
    return [packets, *others[1:]]


def _sensitivity(entries: Iterable[Variation], heads: Sequence[str]) -> Table:
    """The change of the answer if an input is off by 20 %."""
    table = Table(title="Sensitivity: one input changed by 20 %", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("input", no_wrap=True)
    for heading in heads:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("decided by")
    for entry in entries:
        decisive = "–" if entry.binding_goal is None else goal_title(entry.binding_goal)
        what = f"{entry.quantity} {100 * (entry.factor - 1):+.0f} %"
        if entry.recommendation is None:
            table.add_row(what, "none", *["–"] * (len(heads) - 1), decisive, style="red")
        else:
            table.add_row(what, *_brief_cells(entry.recommendation), decisive)
    return table


def _front(front: Front, heads: Sequence[str]) -> Table:
    """Measured buffers that no other beats in both metrics."""
    table = Table(
        title="Pareto-optimal buffers: no measured buffer is better in both metrics",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for heading in (*heads, *map(formatting.metric_title, front.metrics)):
        table.add_column(heading, justify="right", no_wrap=True)
    for point in front.points:
        if point.on_front:
            cells = [formatting.estimate(name, point.measured[name]) for name in front.metrics]
            table.add_row(*_brief_cells(point.buffer), *cells)
    return table


def _story(answer: Recommendation) -> Iterator[RenderableType]:
    """The meaning of the confidence, and every metric at the answer."""
    at = None if answer.buffer is None else answer.at(answer.buffer)
    if at is None:
        return
    noun = "value" if isinstance(answer.variable, RangeVariable) else "buffer"
    over = "fresh replications of the uncertain scenario" if answer.uncertain else "fresh replications"
    held = "on average" if answer.fraction is None else f"in {100 * answer.fraction.required:g} % of the replications"
    yield Paragraph(f"The {noun} is {standing(answer)} {held}. The evidence is {over}.", "dim")
    beyond = not isinstance(answer.variable, RangeVariable) and sent_bps(answer.scenario, at.metrics) is not None
    marks = {GOODPUT: MARK} if beyond else {}
    yield metric_table(f"at {count(at.buffer)}", at.metrics, list(at.metrics), marks)
    for name, metrics in at.groups.items():
        yield metric_table(name, metrics, list(metrics))


#: Kinds of warnings about the course of the search, which the first lines already cover, and about metrics of no goal,
#: which are left out.
STORY = frozenset({Kind.REFUSED, Kind.MISSED_AGAIN, Kind.MET_BELOW, Kind.METRIC_LEFT_OUT})


def _warnings(answer: Recommendation, detail: Detail) -> Iterator[RenderableType]:
    """The warnings that a reader must know."""
    reason = reason_of(answer)
    others = [
        warning
        for warning in answer.warnings
        if not warning.urgent and warning is not reason and (detail is Detail.EVERYTHING or warning.kind not in STORY)
    ]
    if others:
        yield Text()
    for warning in others:
        yield Paragraph(f"warning: {warning}", "yellow")


def _cost(cost: SearchCost, noun: str) -> str:
    before = f" ({cost.cached_runs:,} from an earlier command)" if cost.cached_runs else ""
    return (
        f"{counted(cost.replications, 'replication')}{before} at {counted(cost.buffers, noun)}, "
        f"{counted(cost.data_packets, 'data packet')}, {cost.cpu_s:.1f} CPU seconds in {cost.wall_s:.1f} s"
    )
