"""The text that `check` prints: the answer in one line, then a row for each goal, or a table of buffers and goals.

No goal is left out on a narrow terminal: a table omits intervals first, then swaps rows and columns.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from forebay.results.warning import Kind
from forebay.scenario import TARGET
from forebay.search.checked_buffers import setting_words
from forebay.search.unmeasured import is_unmeasured
from forebay.text import formatting
from forebay.text.formatting import counted
from forebay.views.fitting import Fitting
from forebay.views.heading import Paragraph
from forebay.views.wording import count, difference, rate_of_link, search_cost, sign, threshold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from forebay.search.check_report import CheckedBuffer, CheckedGoal, CheckReport
    from forebay.search.limiting import LimitEffect
    from forebay.search.named_buffer import GoalVerdict

__all__ = ["answer_line", "check_text", "goal_words", "size_words"]

STYLES = {"met": "green", "missed": "red", "undecided": "yellow"}
#: Mark of a goal that holds by derivation.
BOUND = "*"
#: Metrics that are shown for each buffer, whatever the goals are.
LINK_METRICS = (*formatting.USUAL, "goodput_bps")


def check_text(report: CheckReport) -> RenderableType:
    """The report as text.

    Parameters
    ----------
    report : CheckReport
        The answer of `check`.

    Returns
    -------
    RenderableType
        Fits the console that it is printed on, from 60 columns.
    """
    bounds = [warning for warning in report.warnings if warning.kind is Kind.ASSUMED_BOUND]
    urgent = [warning for warning in report.warnings if warning.urgent and warning not in bounds]
    # A metric that was left out is the metric of no goal.
    others = [each for each in report.warnings if not each.urgent and each.kind is not Kind.METRIC_LEFT_OUT]
    core = report.scenario.core
    title = f": {report.scenario.title}" if report.scenario.title else ""
    one = len(report.buffers) == 1
    parts: list[RenderableType] = [
        *([Paragraph(f"Assumed: {'; '.join(map(str, bounds))}.", "bold yellow")] if bounds else []),
        Paragraph(answer_line(report), f"bold {STYLES[report.verdict]}"),
        Text(f"{rate_of_link(report.scenario)}, {core.queue}{title}", overflow="ellipsis", no_wrap=True),
        *(Paragraph(f"warning: {warning}", "yellow") for warning in urgent),
        Text(),
        _goals(report.buffers[0]) if one else _buffers(report),
        Text(),
        *(_metrics(each, "At this buffer" if one else _label(report, each)) for each in report.buffers),
        *(Paragraph(line) for line in limit_lines(report)),
        Paragraph(_confidence(report), "dim"),
        *(Paragraph(f"warning: {warning}", "yellow") for warning in others),
        Paragraph(search_cost(report.cost), "dim"),
    ]
    return Group(*parts)


def answer_line(report: CheckReport) -> str:
    """The answer: of one buffer how many goals it meets, of several which of them meet every goal."""
    if len(report.buffers) == 1:
        is_assumed = any(each.kind is Kind.ASSUMED_BOUND and each.subject == TARGET for each in report.warnings)
        kind = "assumed" if is_assumed else "configured"
        return _one_buffer(report.buffers[0], kind, of_classes=TARGET not in report.scenario.core.buffer_keys)
    met = [_label(report, each) for each in report.buffers if each.verdict == "met"]
    undecided = [_label(report, each) for each in report.buffers if each.verdict == "undecided"]
    number, nouns = len(report.buffers), f"{_noun(report)}s"
    doubt = f" Undecided: {', '.join(undecided)}." if undecided else ""
    if not met:
        return f"None of {number} {nouns} meets every goal.{doubt}"
    which = "Both" if len(met) == number == 2 else f"All {number}" if len(met) == number else f"{len(met)} of {number}"
    return f"{which} {nouns} {'meets' if len(met) == 1 else 'meet'} every goal: {', '.join(met)}.{doubt}"


def _key(found: CheckedBuffer) -> str:
    """The key of the requested buffer; empty for the target link's."""
    return (found.setting or "").rpartition("=")[0].strip()


def _noun(report: CheckReport) -> str:
    """The kind of thing that was checked."""
    of_memory = all(_key(each).startswith("memories.") for each in report.buffers)
    return "memory size" if of_memory else "buffer"


def _label(report: CheckReport, found: CheckedBuffer) -> str:
    """The label of one of several buffers, with its key only if keys differ."""
    alike = len({_key(each) for each in report.buffers}) == 1
    return size_words(found).rpartition(" = ")[2] if alike else size_words(found)


def _one_buffer(found: CheckedBuffer, kind: str, *, of_classes: bool) -> str:
    """The answer for one buffer, or for the buffers of all classes if each class has one."""
    noun = "memory" if _key(found).startswith("memories.") else "buffer"
    subject, meets, misses = f"The {noun} ({_sizes(found)})", "meets", "misses"
    if found.setting is None:
        subject = f"The {kind} buffer ({_sizes(found)})"
    if found.setting is None and of_classes:
        subject, meets, misses = "The configured buffers of the classes", "meet", "miss"
    goals, missed, undecided = len(found.goals), found.count("missed"), found.count("undecided")
    alone = goals == 1
    doubt = f"; {undecided} undecided" if undecided else ""
    if missed:
        return f"{subject} {misses} {'the goal' if alone else f'{missed} of {goals} goals'}{doubt}."
    if not undecided:
        return f"{subject} {meets} {'the goal' if alone else 'both goals' if goals == 2 else f'all {goals} goals'}."
    if undecided == goals:
        which = "the goal" if alone else "both goals" if goals == 2 else f"all {goals} goals"
        return f"Undecided: {subject[0].lower()}{subject[1:]} may meet or miss {which}."
    return f"{subject} {meets} {goals - undecided} of {goals} goals{doubt}."


def _sizes(found: CheckedBuffer) -> str:
    """A buffer in packets, bytes and time, with its requested key."""
    size = found.buffer
    key = _key(found)
    text = f"{count(size)}, {formatting.size(size.bytes)}, {formatting.duration(size.seconds)}"
    return f"{key}: {text}" if key else text


def size_words(found: CheckedBuffer) -> str:
    """A buffer by its requested size; the configured one in packets."""
    return count(found.buffer) if found.setting is None else setting_words(found.setting, found.buffer)


def goal_words(found: CheckedGoal) -> str:
    """A goal in words, as requested."""
    name = found.goal.name
    return f"{formatting.metric_title(name)} {sign(found.goal.sense)} {threshold(name, found.goal.threshold)}"


# One buffer ------------------------------------------------------------------------------------------------------


def _goals(found: CheckedBuffer) -> RenderableType:
    """A row for each goal."""
    wide = [[_goal_table(found, intervals=intervals, margins=margins)] for intervals, margins in _CHOICES]
    return Fitting([*wide, [_stacked(found)]])


#: Whether intervals and margins are shown, from the widest table on.
_CHOICES = ((True, True), (True, False), (False, False))


def _goal_table(found: CheckedBuffer, *, intervals: bool, margins: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("goal", no_wrap=True)
    for heading in ("measured", "margin")[: 1 + margins]:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for goal in found.goals.values():
        cells = [_measured(goal, intervals=intervals), _margin(goal)]
        table.add_row(escape(goal_words(goal)), *cells[: 1 + margins], _verdict(goal), style=STYLES[goal.verdict])
    return table


def _stacked(found: CheckedBuffer) -> Table:
    """The same table in two rows for each goal, which may be wrapped."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column("goal", overflow="fold")
    for goal in found.goals.values():
        table.add_row(escape(goal_words(goal)), style=STYLES[goal.verdict])
        text = f"  {_measured(goal, intervals=True)}, {_margin(goal)}: {_verdict(goal)}"
        table.add_row(text, style=STYLES[goal.verdict])
    return table


def _measured(goal: CheckedGoal, *, intervals: bool) -> str:
    name = goal.goal.name
    return formatting.estimate(name, goal.measured) if intervals else formatting.value(name, goal.measured.mean)


def _margin(goal: CheckedGoal) -> str:
    """The distance to the threshold, with the sign of the good side."""
    return f"{'-' if goal.margin < 0 else '+'}{difference(goal.goal.name, goal.margin)}"


def _verdict(goal: CheckedGoal) -> str:
    """The verdict with its confidence, or with the mark of a derivation."""
    if goal.evidence.method == "bound":
        return f"{goal.verdict}{BOUND}"
    if goal.verdict == "undecided" or goal.confidence is None:
        return goal.verdict
    return f"{goal.verdict} ({formatting.confidence(goal.confidence)})"


def _metrics(found: CheckedBuffer, where: str) -> Paragraph:
    """The usual metrics at a buffer in one line."""
    texts = [
        f"{formatting.metric_title(name)} {formatting.value(name, found.metrics[name].mean)}"
        for name in LINK_METRICS
        if name in found.metrics
    ]
    return Paragraph(f"{where}: {', '.join(texts)}")


#: Limits by their names in sentences.
LIMITS = {"queue": "alpha", "port": "the port's buffer", "pool": "the pool", "headroom": "the headroom"}


def limit_lines(report: CheckReport) -> Iterator[str]:
    """The limit of a switch's port that drops packets, at each buffer; nothing for other links."""
    links = report.scenario.resolved["links"]
    if not any(link["target"] and ("memory" in link or "pfc" in link) for link in links):
        return
    for each in report.buffers:
        head = "" if len(report.buffers) == 1 else f"{_label(report, each)}: "
        if each.limits:
            yield from _binding(each, head)
        elif "loss_rate" in each.metrics and each.metrics["loss_rate"].mean == 0:
            used = each.metrics.get("headroom_max_bytes")
            headroom = "" if used is None else f" Of the headroom, {formatting.size(used.mean)} are used."
            yield f"{head}No limit binds, because no packet is lost.{headroom}"


def _binding(found: CheckedBuffer, head: str) -> Iterator[str]:
    """The limit that costs most loss, and the loss without each of the others."""
    binding = [each for each in found.limits if each.binds]
    others = [each for each in found.limits if not each.binds]
    loss = formatting.value("loss_rate", found.limits[0].loss_rate)
    if binding:
        names = formatting.capitalized(" or ".join(f"{LIMITS[each.name]} ({_configured(each)})" for each in binding))
        without = formatting.value("loss_rate", binding[0].loss_without)
        yield f"{head}{names} binds: without this limit the loss is {without} instead of {loss}."
    else:
        yield f"{head}No limit alone binds: the loss stays at {loss} without any one of them."
    if others:
        texts = [f"{LIMITS[each.name]} {formatting.value('loss_rate', each.loss_without)}" for each in others]
        yield f"{head}Loss without {', without '.join(texts)}."


def _configured(limit: LimitEffect) -> str:
    """The configured value of a limit: "9 MB"."""
    number, unit = re.sub(r"[A-Za-z]+$", "", limit.configured), re.sub(r"^[0-9.]+", "", limit.configured)
    return f"{number} {'packets' if unit == 'p' else unit}".rstrip()


# Several buffers -------------------------------------------------------------------------------------------------


def _buffers(report: CheckReport) -> RenderableType:
    """Buffers by goals; if that is too wide, goals by buffers, and last a table for each buffer."""
    tables = [
        [_table(report, intervals=True, across=False)],
        [_table(report, intervals=False, across=False)],
        [_table(report, intervals=True, across=True)],
        [_table(report, intervals=False, across=True)],
        [
            _titled(_label(report, each), each, _goal_table(each, intervals=True, margins=False))
            for each in report.buffers
        ],
        [_titled(_label(report, each), each, _stacked(each)) for each in report.buffers],
    ]
    return Fitting(tables)


def _table(report: CheckReport, *, intervals: bool, across: bool) -> Table:
    """The table; `across` makes the buffers its columns."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    buffers = report.buffers
    names = [goal_words(goal) for goal in buffers[0].goals.values()]
    cells = [
        [_cell(goal, intervals=intervals) for goal in each.goals.values()] + [_overall(each.verdict)]
        for each in buffers
    ]
    sizes = [escape(_label(report, each)) for each in buffers]
    heads, rows = (sizes, [*names, "every goal"]) if across else ([*names, "every goal"], sizes)
    table.add_column("goal" if across else escape(_key(buffers[0]) or "buffer"), no_wrap=True)
    for head in heads:
        table.add_column(escape(head), justify="right", no_wrap=True)
    for number, row in enumerate(rows):
        table.add_row(escape(row), *([column[number] for column in cells] if across else cells[number]))
    return table


def _titled(label: str, found: CheckedBuffer, table: Table) -> Table:
    """A buffer's table below its size and verdict."""
    table.title, table.title_justify = f"\n{escape(label)}: {found.verdict}", "left"
    return table


def _cell(goal: CheckedGoal, *, intervals: bool) -> Text:
    """The measured value and the verdict."""
    bound = BOUND if goal.evidence.method == "bound" else ""
    return Text(f"{_measured(goal, intervals=intervals)} {goal.verdict}{bound}", STYLES[goal.verdict])


def _overall(verdict: GoalVerdict) -> Text:
    return Text(verdict, f"bold {STYLES[verdict]}")


# Both ------------------------------------------------------------------------------------------------------------


def _confidence(report: CheckReport) -> str:
    """The meaning of the confidence, and how many runs it rests on."""
    runs = sorted({each.runs for each in report.buffers})
    noun = "run" if report.strata == 1 else "observation"
    each_runs = counted(runs[0], noun) if len(runs) == 1 else f"{runs[0]} to {counted(runs[-1], noun)}"
    where = "at the buffer" if len(report.buffers) == 1 else "at each buffer"
    if report.strata > 1:
        where = f"of {counted(report.strata, 'run')} each {where}"
    methods = {goal.evidence.method for each in report.buffers for goal in each.goals.values()}
    texts = [f"{each_runs} {where}."]
    if is_unmeasured(report.warnings):
        texts.append("There is no confidence, because the scenario has assumed values.")
    elif "bootstrap" in methods and report.confidence is not None:
        texts.append(f"Each verdict by itself has {100 * report.confidence:g} % confidence.")
    if any(each.varied_hosts is not None and each.varied_hosts.changed_verdicts for each in report.buffers):
        texts.append("A verdict has no confidence if simultaneous events decide it.")
    if "bound" in methods:
        texts.append(f"{BOUND} The goal is met with any traffic, because the full buffer drains in less time.")
    return " ".join(texts)
