"""The table of rules: a row for each rule that applies, for each named buffer and for the answer.

Every metric that a goal is about, loss and goodput have a column at any width: columns without room go into a further
table below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from forebay.inputs.goals import parts_of_key
from forebay.scenario import TARGET
from forebay.search.interpolation import on_curve
from forebay.search.range_variable import RangeVariable
from forebay.search.value import Value
from forebay.text import formatting
from forebay.text.formatting import counted
from forebay.views.answer_sentences import ALWAYS, answer_metrics
from forebay.views.changing import DRAIN
from forebay.views.fitting import Column, Grid, Wrapped
from forebay.views.goodput import GOODPUT, MARK, sent_bps
from forebay.views.heading import Paragraph
from forebay.views.wording import both

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from forebay.results.report import Estimate
    from forebay.search.answer import Recommendation
    from forebay.search.answer_parts import JudgedRule
    from forebay.search.named_buffer import NamedBuffer
    from forebay.search.rule_verdict import RuleVerdict
    from forebay.search.value import Quantity

__all__ = ["cell", "headings", "metric_keys", "own_verdict", "rules_table", "short", "size_cells"]

#: Name of the answer's own row.
OWN = "forebay"


@dataclass(frozen=True, slots=True)
class _Row:
    """A buffer with a name: the metrics there, and for a rule its verdict."""

    name: str
    buffer: Quantity
    measured: Mapping[str, Estimate]
    interpolated: bool = False
    judgment: RuleVerdict | None = None
    style: str = ""
    verdict: str = ""


def rules_table(answer: Recommendation, *, everything: bool) -> Iterator[RenderableType]:
    """The rules that apply, the named buffers and the answer; then the other rules, or how many they are."""
    rows = [*_rules(answer, applies=True), *_named_rows(answer), *_own(answer)]
    rows.sort(key=lambda row: (row.buffer.number, row.name == OWN))
    others = sorted(_rules(answer, applies=False), key=lambda row: row.buffer.number)
    if everything:
        rows += others
    notes = [*_notes(answer, {row.name for row in rows}), *_omitted_rules(answer, everything=everything)]
    if rows:
        yield Wrapped(_grids(answer, rows))
    if notes:
        yield Text()
    yield from notes


def _omitted_rules(answer: Recommendation, *, everything: bool) -> Iterator[RenderableType]:
    """A sentence about the rules that have no row."""
    left = sum(not rule.applies for rule in answer.rules)
    if everything:
        silent = [rule.name for rule in answer.rules if rule.applies and rule.buffer is None]
        if silent:
            yield Paragraph(f"These rules give no buffer for these goals: {', '.join(silent)}.", "dim")
    elif left:
        verb, shows = ("rule does", "it") if left == 1 else ("rules do", "them")
        yield Paragraph(f"{left} {verb} not apply to this link; --verbose lists {shows}.", "dim")


def metric_keys(answer: Recommendation) -> list[str]:
    """The metrics that are always shown: those of the goals, then utilization, loss, p99 delay and goodput."""
    requested = [] if answer.optimum is None else [answer.optimum.metric]
    names = [*requested, *(judged.goal.name for judged in answer.goals.values())]
    keys = [] if not answer.points else [answer.points[0].key(name) for name in names]
    falls = [DRAIN] if answer.scenario.core.rate_falls else []
    goodput = [name for name in ALWAYS if name != GOODPUT or _has_goodput(answer)]
    return list(dict.fromkeys([*(key for key in keys if key is not None), *goodput, *falls]))


def headings(answer: Recommendation) -> tuple[str, ...]:
    """The headings of the columns with the size of a buffer."""
    if isinstance(answer.variable, RangeVariable):
        return (answer.variable.key.rpartition(".")[2],)
    return ("packets", "size", "time", "BDP")


def size_cells(buffer: Quantity) -> list[str]:
    """Packets, bytes, time and bandwidth-delay products; for another setting its value."""
    if isinstance(buffer, Value):
        return [buffer.words]
    bdp = "–" if buffer.bdp is None else f"{buffer.bdp:.3g}"
    return [f"{buffer.packets:,.0f}", formatting.size(buffer.bytes), formatting.duration(buffer.seconds), bdp]


def short(name: str) -> str:
    """The title of a metric as a heading."""
    return "util." if name == "utilization" else formatting.metric_title(name)


def cell(answer: Recommendation, name: str, measured: Mapping[str, Estimate], *, interval: bool) -> str:
    """A metric in a cell; a goodput above the rate that the link sent is marked."""
    found = measured.get(name)
    if found is None:
        return "–"
    text = formatting.estimate(name, found) if interval else formatting.value(name, found.mean)
    marked = (
        name == GOODPUT
        and not isinstance(answer.variable, RangeVariable)
        and sent_bps(answer.scenario, measured) is not None
    )
    return f"{text} {MARK}" if marked else text


def _has_goodput(answer: Recommendation) -> bool:
    return any(GOODPUT in point.metrics for point in answer.points)


def _rules(answer: Recommendation, *, applies: bool) -> list[_Row]:
    """Rules that apply, or those that do not, with the metrics at their buffers."""
    return [_of_rule(answer, rule, rule.buffer) for rule in answer.rules if rule.buffer and rule.applies == applies]


def _of_rule(answer: Recommendation, rule: JudgedRule, buffer: Quantity) -> _Row:
    point = on_curve(answer.points, buffer) if rule.measured else None
    groups = {} if point is None else point.groups
    measured = {
        **rule.measured,
        **{f"{name}.{key}": found for name, metrics in groups.items() for key, found in metrics.items()},
    }
    between = point is not None and not point.replications
    return _Row(rule.name, buffer, measured, between, rule.rule_verdict, "" if rule.applies else "dim")


def _named_rows(answer: Recommendation) -> Iterator[_Row]:
    for named in answer.also:
        at = answer.at(named.buffer)
        groups = {} if at is None else at.groups
        of_groups = {f"{name}.{key}": found for name, metrics in groups.items() for key, found in metrics.items()}
        yield _Row(named.name, named.buffer, {**named.measured, **of_groups}, verdict=own_verdict(named))


def own_verdict(named: NamedBuffer) -> str:
    """The verdict on the configured buffer, with the goals that it misses."""
    missed = [
        formatting.metric_title(parts_of_key(key)[0]) for key, verdict in named.goals.items() if verdict == "missed"
    ]
    if named.verdict == "missed" and missed:
        return f"misses {both(missed)}"
    return {"met": "meets every goal", "missed": "misses a goal"}.get(named.verdict or "", named.verdict or "")


def _own(answer: Recommendation) -> Iterator[_Row]:
    measured = answer_metrics(answer)
    if answer.buffer is not None and measured:
        yield _Row(OWN, answer.buffer, measured, style="bold green")


def _grids(answer: Recommendation, rows: Sequence[_Row]) -> Iterator[Grid]:
    """The table with all sizes and intervals, and without them if there is no room."""
    names = metric_keys(answer)
    which = _which(answer)
    verdicts = [row.verdict if row.judgment is None else _words(row.judgment, which) for row in rows]
    verdict = [Column("rule verdict", verdicts, number=False)] if any(verdicts) else []
    sizes = [size_cells(row.buffer) for row in rows]
    for whole, interval in ((True, True), (True, False), (False, True), (False, False)):
        shown = headings(answer) if whole else headings(answer)[:1]
        named = Column("rule", [row.name for row in rows], number=False)
        keys = [named, *(Column(head, [each[index] for each in sizes]) for index, head in enumerate(shown))]
        metrics = [Column(short(name), [_cell(answer, row, name, interval=interval) for row in rows]) for name in names]
        yield Grid(keys, [*metrics, *verdict], [row.style for row in rows])


def _cell(answer: Recommendation, row: _Row, name: str, *, interval: bool) -> str:
    about = "~" if row.interpolated and name in row.measured else ""
    return about + cell(answer, name, row.measured, interval=interval)


def _which(answer: Recommendation) -> str:
    """The buffer of whose multiples a rule's value is given, in words."""
    if answer.optimum is not None:
        return "the best"
    return "the largest" if answer.variable.largest else "the smallest"


def _words(found: RuleVerdict, which: str) -> str:
    """Whether a rule applies, and how its value compares with the simulation."""
    if not found.applies or not found.measured_verdict:
        return found.verdict
    verdict = found.measured_verdict if found.times is None else f"{found.times:.2g} x {which}"
    doubt = "not confirmed, " if found.unconfirmed and which == "the smallest" else ""
    return f"{found.verdict}, {doubt}{verdict}"


def _notes(answer: Recommendation, shown: set[str]) -> Iterator[RenderableType]:
    """The derivation of the buffer of the rule `bdp`, if it is not one bandwidth-delay product of the link."""
    whole = answer.scenario.core.bdp_packets
    rule = next((rule for rule in answer.rules if rule.name == "bdp" and rule.name in shown), None)
    buffer = None if rule is None else rule.buffer
    if answer.variable.key != TARGET or not whole or buffer is None or isinstance(buffer, Value):
        return
    share = buffer.packets / whole
    if abs(share - 1) > 0.01:
        own, product = (counted(round(number), "packet") for number in (buffer.packets, whole))
        yield Paragraph(
            f"bdp: {own} are {share:.2g} BDP of the link (1 BDP is {product}). The rule multiplies the BDP of the rate "
            "that other traffic leaves by 1 / beta - 1, which is 1 for Reno and 0.43 for CUBIC.",
            "dim",
        )
