"""What `recommend` prints: the answer in three lines, then the rules; the search's story where it is asked for.

The three lines are the link, the number and what decides it. Everything below them fits the width that there is:
columns leave from the right before a number would wrap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from forebay import formatting
from forebay.formatting import USUAL, counted
from forebay.search.ranged import Ranged
from forebay.search.setting import Setting
from forebay.views.changing import DRAIN, what_changes
from forebay.views.configuration_text import configuration_lines
from forebay.views.fitting import Fitting
from forebay.views.heading import Paragraph
from forebay.views.reports import metric_table
from forebay.views.wording import (
    around,
    best,
    chosen,
    closeness,
    count,
    difference,
    doubt,
    goal_title,
    nothing_meets,
    rate_of_link,
    sides,
    sign,
    sizes,
    standing,
    standing_beside,
    subject,
    threshold,
)
from forebay.warning import Kind

if TYPE_CHECKING:
    from rich.console import RenderableType

    from forebay.report import Estimate
    from forebay.search.answer import (
        Conflict,
        Front,
        JudgedGoal,
        JudgedRule,
        Miss,
        Recommendation,
        SearchCost,
        UpperEnd,
        Value,
        Variation,
    )
    from forebay.search.judgment import Judgment

__all__ = ["Detail", "recommendation_text"]


class Detail(Enum):
    """How much is told: the answer, or all that the search knows."""

    ANSWER = "answer"
    EVERYTHING = "everything"


def recommendation_text(answer: Recommendation, detail: Detail = Detail.ANSWER) -> RenderableType:
    """The answer, then the rules, then what was asked for besides.

    Parameters
    ----------
    answer : Recommendation
        What was found.
    detail : Detail
        Whether reasons and the search's story are told too.

    Returns
    -------
    RenderableType
        Fits the console that it is printed on, from 60 columns.
    """
    parts: list[RenderableType] = [
        *_headline(answer),
        *_alternatives(answer),
        _rules(answer),
        *_left_out(answer, detail),
    ]
    parts += _goals(answer) if answer.conflict is None else _nearest_miss(answer.conflict)
    for configuration in answer.configurations:
        parts += [Text(), *configuration_lines(configuration)]
    if answer.sensitivity is not None:
        parts += [Text(), _sensitivity(answer.sensitivity, _brief(answer))]
    if answer.pareto is not None:
        parts += [Text(), _front(answer.pareto, _brief(answer))]
    if detail is Detail.EVERYTHING:
        parts += [Text(), *_formulas(answer), *_reasons(answer.rules), *_story(answer)]
    return Group(
        *parts,
        *_warnings(answer, detail),
        Paragraph(_cost(answer.cost, "value" if isinstance(answer.knob, Ranged) else "buffer"), "dim"),
    )


# The first three lines -------------------------------------------------------------------------------------------


def _headline(answer: Recommendation) -> Iterator[RenderableType]:
    """The link, the number, what decides it."""
    core = answer.scenario.core
    rate = rate_of_link(answer.scenario)
    title = f": {answer.scenario.title}" if answer.scenario.title else ""
    yield Text(f"{rate}, {core.queue}{title}", overflow="ellipsis", no_wrap=True)
    if answer.buffer is None:
        yield from _no_buffer(answer)
        return
    sure = doubt(answer) if answer.confidence is None else formatting.confidence(answer.confidence)
    said = "no confidence: " if answer.confidence is None else "confidence "
    claim = f" ({said}{sure})" if answer.goals else ""
    yield Paragraph(f"{subject(answer)}: {sizes(answer.buffer)}{chosen(answer)}{claim}", "bold green")
    yield Paragraph(_decisive(answer) if answer.optimum is None else best(answer.optimum))
    for line in (*filter(None, [closeness(answer)]), *what_changes(answer)):
        yield Paragraph(line)
    for line in () if answer.monotone else around(answer):
        yield Paragraph(line, "yellow")


def _decisive(answer: Recommendation) -> str:
    """What keeps the buffer from being smaller, and up to where the goals hold."""
    upper = answer.feasible_up_to
    stated = upper is not None and upper.missed_at is not None and not answer.gaps
    most = f"; all hold {_last(answer, upper)}" if upper is not None and stated else ""
    if answer.binding_goal is None:
        if isinstance(answer.knob, Ranged):
            return f"Every goal holds at this end of the range{most}."
        return f"Nothing asks for more: every goal holds at the smallest buffer{most}."
    goal = answer.goals[answer.binding_goal]
    return f"Decided by {_asked(goal)}: {formatting.estimate(goal.goal.name, goal.measured)} here{most}."


def _last(answer: Recommendation, upper: UpperEnd) -> str:
    """The largest buffer that will do."""
    down = "down " if answer.knob.largest else ""
    about = upper.about
    return f"{down or 'up '}to {count(upper.buffer)}" if about is None else f"{down}to ~{count(about)}"


def _no_buffer(answer: Recommendation) -> Iterator[RenderableType]:
    """That there is no number, and what each side needs."""
    yield Text(_verdict(answer), style="bold red")
    yield Paragraph("; ".join(sides(answer, goal_title, sizes)) + ".")


def _alternatives(answer: Recommendation) -> Iterator[RenderableType]:
    """The answer with each value that was to choose from, the best first."""
    if answer.alternatives:
        yield Text()
        names = _shown(answer)
        yield Fitting([_alternative_table(answer, names[:left])] for left in range(len(names), -1, -1))
        yield Text()


def _alternative_table(answer: Recommendation, names: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for key in answer.choice:
        table.add_column(escape(key), no_wrap=True)
    for heading in (_headings(answer)[0], *map(_short, names)):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("beside the best", no_wrap=True)
    for number, each in enumerate(answer.alternatives):
        found = each.recommendation
        cells = [_mean(name, each.measured.get(name)) for name in names]
        which = "none" if found is None else _cells(found)[0]
        style = None if found is None else "bold green" if number == 0 else ""
        words = standing_beside(answer, number)
        table.add_row(
            *map(escape, each.choice.values()), which, *cells, words, style=style or ("red" if found is None else None)
        )
    return table


def _verdict(answer: Recommendation) -> str:
    """Whether there is no buffer, or none that was confirmed."""
    kinds = {warning.kind for warning in answer.warnings}
    if Kind.QUICK in kinds and Kind.NO_MARGIN in kinds:
        return f"{nothing_meets(answer)} was confirmed to meet every goal by a quick look."
    if all(goal.met for goal in answer.goals.values()):
        return f"{nothing_meets(answer)} was confirmed to meet every goal: they leave no margin."
    return f"{nothing_meets(answer)} meets every goal."


# Goals -----------------------------------------------------------------------------------------------------------


def _asked(goal: JudgedGoal | Miss) -> str:
    """A goal as it was asked for."""
    name = goal.goal.name
    return f"{formatting.metric_title(name)} {sign(goal.goal.sense)} {threshold(name, goal.goal.threshold)}"


def _goals(answer: Recommendation) -> Iterator[RenderableType]:
    """A line for each goal that does not decide."""
    others = [goal for key, goal in answer.goals.items() if answer.optimum is not None or key != answer.binding_goal]
    for goal in others:
        name = goal.goal.name
        slack = difference(name, goal.slack)
        held = "" if goal.of is None else f"; held in {goal.held} of {goal.of} draws"
        side = f"{slack} to spare" if goal.slack >= 0 else f"missed by {slack}"
        yield Paragraph(f"{_asked(goal)}: {formatting.estimate(name, goal.measured)}, {side}{held}")
    if answer.fraction is not None:
        part = answer.fraction
        bound = "" if part.at_least is None else f": in at least {formatting.confidence(part.at_least)} of all draws"
        yield Paragraph(f"All goals at once held in {part.held} of {counted(part.of, 'fresh draw')}{bound}.")


def _nearest_miss(conflict: Conflict) -> Iterator[RenderableType]:
    """How each goal fares at the measured buffer that comes nearest."""
    if conflict.compromise is None:
        return
    yield Paragraph(f"The nearest miss: {sizes(conflict.compromise)}")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("goal", no_wrap=True)
    for heading in ("measured", "off by"):
        table.add_column(heading, justify="right", no_wrap=True)
    for miss in conflict.nearest:
        off = "met" if miss.met else difference(miss.goal.name, miss.off)
        measured = formatting.estimate(miss.goal.name, miss.measured)
        table.add_row(escape(_asked(miss)), measured, off, style=None if miss.met else "red")
    yield table


@dataclass(frozen=True, slots=True)
class _Row:
    """A buffer that somebody asked for: whose it is, what was measured there, what that says of a rule."""

    name: str
    buffer: Value
    measured: Mapping[str, Estimate]
    judgment: Judgment | None = None
    style: str = ""

    @property
    def about(self) -> str:
        """What stands before numbers that were not measured but read off the curve."""
        return "~" if self.judgment is not None and self.judgment.interpolated else ""


# Rules -----------------------------------------------------------------------------------------------------------


def _rules(answer: Recommendation) -> RenderableType:
    """A row for each buffer that somebody asked for, with as much as the console has room for."""
    rows = _rows(answer)
    return Fitting([_table(answer, rows, columns)] for columns in _choices(_shown(answer)))


@dataclass(frozen=True, slots=True)
class _Columns:
    """What the table of rules shows: these metrics, and more where there is room."""

    metrics: Sequence[str]
    sizes: bool = False
    intervals: bool = False
    verdicts: bool = True


def _choices(names: Sequence[str]) -> Iterator[_Columns]:
    """From all columns to no metric."""
    for whole in (True, False):
        for intervals in (True, False):
            yield _Columns(names, whole, intervals)
    for left in range(len(names) - 1, 0, -1):
        yield _Columns(names[:left])
    yield _Columns(names[:1], verdicts=False)
    yield _Columns((), verdicts=False)


def _rows(answer: Recommendation) -> list[_Row]:
    """Rules, named buffers and the answer, from the smallest to the largest."""
    rows = [
        _Row(rule.name, rule.buffer, rule.measured, rule.judgment, "" if rule.applies else "dim")
        for rule in answer.rules
        if rule.buffer is not None
    ]
    rows += [_Row(named.name, named.buffer, named.measured) for named in answer.also]
    at = None if answer.buffer is None else answer.at(answer.buffer)
    if at is not None:
        # Where a goal was judged on fresh replications, these are what counts.
        on_link = (judged for judged in answer.goals.values() if "." not in judged.goal.name)
        fresh = {at.key(judged.goal.name): judged.measured for judged in on_link}
        measured = {key: fresh.get(key, found) for key, found in at.metrics.items()}
        rows.append(_Row("forebay", at.buffer, measured, style="bold green"))
    return sorted(rows, key=lambda row: (row.buffer.number, row.name == "forebay"))


def _table(answer: Recommendation, rows: Iterable[_Row], columns: _Columns) -> Table:
    headings, which = _headings(answer), _which(answer)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("rule", no_wrap=True)
    for heading in headings if columns.sizes else headings[:1]:
        table.add_column(heading, justify="right", no_wrap=True)
    for name in columns.metrics:
        table.add_column(_short(name), justify="right", no_wrap=True)
    table.add_column("simulated", no_wrap=True)
    shown = formatting.estimate if columns.intervals else _mean
    for row in rows:
        cells = [row.about * (key in row.measured) + shown(key, row.measured.get(key)) for key in columns.metrics]
        size = _cells(row.buffer)[: 4 if columns.sizes else 1]
        words = "" if row.judgment is None else _words(row.judgment, which, verdict=columns.verdicts)
        table.add_row(escape(row.name), *size, *cells, words, style=row.style)
    return table


def _which(answer: Recommendation) -> str:
    """What a rule's value is told in multiples of."""
    if answer.optimum is not None:
        return "the best"
    return "allowed" if answer.knob.largest else "needed"


def _words(found: Judgment, which: str, *, verdict: bool) -> str:
    """Whether a rule applies and what the simulation says of it; where it applies, the latter alone if need be."""
    if not found.applies or not found.found:
        return found.verdict
    told = found.found if found.times is None else f"{found.times:.2g} x {which}"
    return f"{found.verdict}, {told}" if verdict else told


def _shown(answer: Recommendation) -> list[str]:
    """The metrics that goals on the link are about, then the usual ones: a narrow console lacks the last first."""
    asked = [] if answer.optimum is None else [answer.optimum.metric]
    names = [*asked, *(judged.goal.name for judged in answer.goals.values())]
    keys = [answer.points[0].key(name) for name in names if "." not in name]
    falls = [DRAIN] if answer.scenario.core.rate_falls else []
    return list(dict.fromkeys([*(key for key in keys if key is not None), *USUAL, *falls]))


def _short(name: str) -> str:
    return "util." if name == "utilization" else formatting.metric_title(name)


def _mean(name: str, found: Estimate | None) -> str:
    return "–" if found is None else formatting.value(name, found.mean)


def _headings(answer: Recommendation) -> tuple[str, ...]:
    """Of the columns that say what a row is measured at."""
    if isinstance(answer.knob, Ranged):
        return (answer.knob.key.rpartition(".")[2],)
    return ("packets", "size", "time", "BDP")


def _cells(buffer: Value) -> list[str]:
    """Packets, bytes, time and bandwidth-delay products; of another setting itself."""
    if isinstance(buffer, Setting):
        return [buffer.words]
    bdp = "–" if buffer.bdp is None else f"{buffer.bdp:.3g}"
    return [f"{buffer.packets:,.0f}", formatting.size(buffer.bytes), formatting.duration(buffer.seconds), bdp]


def _left_out(answer: Recommendation, detail: Detail) -> Iterator[RenderableType]:
    """Where the reasons are, and which rules that apply have no row."""
    yield Text()
    if detail is Detail.EVERYTHING:
        silent = [rule.name for rule in answer.rules if rule.applies and rule.buffer is None]
        if silent:
            yield Paragraph(f"No buffer under these goals: {', '.join(silent)}.", "dim")
    elif any(not rule.applies for rule in answer.rules):
        yield Paragraph("Why rules do not apply: --verbose.", "dim")


def _formulas(answer: Recommendation) -> Iterator[RenderableType]:
    """What rules of thumb are, which no catalog explains."""
    for rule in answer.rules if isinstance(answer.knob, Ranged) else ():
        yield Paragraph(f"{rule.name}: {rule.notes[0]}", "dim")


def _reasons(rules: Sequence[JudgedRule]) -> Iterator[RenderableType]:
    """Why rules do not apply, or only to a part."""
    for rule in rules:
        if not rule.applies or rule.share < 1:
            yield Paragraph(f"{rule.name} {rule.judgment.verdict}: {rule.why}", "dim")


# What was asked for besides ----------------------------------------------------------------------------------------


def _brief(answer: Recommendation) -> tuple[str, ...]:
    """The headings without the one of bytes."""
    return tuple(heading for heading in _headings(answer) if heading != "size")


def _brief_cells(buffer: Value) -> list[str]:
    packets, *others = _cells(buffer)
    return [packets, *others[1:]]


def _sensitivity(entries: Iterable[Variation], headings: Sequence[str]) -> Table:
    """How the answer moves when something is 20 % off."""
    table = Table(title="When something is 20 % off", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("what", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("decided by")
    for entry in entries:
        decisive = "–" if entry.binding_goal is None else goal_title(entry.binding_goal)
        what = f"{entry.what} {100 * (entry.factor - 1):+.0f} %"
        if entry.recommendation is None:
            table.add_row(what, "none", *["–"] * (len(headings) - 1), decisive, style="red")
        else:
            table.add_row(what, *_brief_cells(entry.recommendation), decisive)
    return table


def _front(front: Front, headings: Sequence[str]) -> Table:
    """Measured buffers that no other beats in both metrics."""
    table = Table(
        title="Pareto-optimal: no measured buffer is better in both", title_justify="left", box=box.SIMPLE_HEAD
    )
    for heading in (*headings, *map(formatting.metric_title, front.metrics)):
        table.add_column(heading, justify="right", no_wrap=True)
    for point in front.points:
        if point.on_front:
            cells = [formatting.estimate(name, point.measured[name]) for name in front.metrics]
            table.add_row(*_brief_cells(point.buffer), *cells)
    return table


def _story(answer: Recommendation) -> Iterator[RenderableType]:
    """What the confidence is about, and every metric at the answer."""
    at = None if answer.buffer is None else answer.at(answer.buffer)
    if at is None:
        return
    noun = "value" if isinstance(answer.knob, Ranged) else "buffer"
    over = "draws of what is uncertain" if answer.uncertain else "replications"
    held = (
        f"on average over {over}" if answer.fraction is None else f"in {100 * answer.fraction.wanted:g} % of the draws"
    )
    yield Paragraph(f"The {noun} is {standing(answer)} {held}, seen in {over} that the search had not used.", "dim")
    yield metric_table(f"at {count(at.buffer)}", at.metrics, list(at.metrics))
    for name, metrics in at.groups.items():
        yield metric_table(name, metrics, list(metrics))


#: What the search met on its way; the first lines say what of it matters.
STORY = frozenset({Kind.REFUSED, Kind.MISSED_AGAIN, Kind.MET_BELOW})


def _warnings(answer: Recommendation, detail: Detail) -> Iterator[RenderableType]:
    """What a reader must know."""
    told = [warning for warning in answer.warnings if detail is Detail.EVERYTHING or warning.kind not in STORY]
    if told:
        yield Text()
    for warning in told:
        yield Paragraph(f"warning: {warning}", "yellow")


def _cost(cost: SearchCost, noun: str) -> str:
    before = f" ({cost.resumed:,} from before)" if cost.resumed else ""
    return (
        f"{counted(cost.replications, 'replication')}{before} at {counted(cost.buffers, noun)}, "
        f"{counted(cost.data_packets, 'data packet')}, {cost.cpu_s:.1f} CPU seconds in {cost.wall_s:.1f} s"
    )
