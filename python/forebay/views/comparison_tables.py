"""The text of `compare`: results side by side, the fluid's agreement with the packets, and reasons for differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from forebay.text import formatting
from forebay.views.fitting import Fitting
from forebay.views.heading import Paragraph, heading
from forebay.views.wording import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from forebay.comparison.answers import Agreement, Answer, Comparison, RangePoint
    from forebay.results.report import Estimate

__all__ = ["comparison_view"]

SHOWN = (
    "utilization",
    "loss_rate",
    "queue_delay_mean_s",
    "queue_delay_p99_s",
    "queue_mean_packets",
    "synchronization",
    "jain_index",
)


#: Further metrics if the rate changes.
CHANGING = ("queue_delay_p99_fast_s", "queue_delay_p99_slow_s", "drain_time_max_s")


def comparison_view(found: Comparison) -> RenderableType:
    """Engines and models side by side, the agreement, the disagreements by assumption, the buffer range."""
    parts: list[RenderableType] = [heading(found.scenario, "comparison"), Text(""), *_answers(found.answers), Text("")]
    parts += [
        Paragraph(f"{answer.name}: {answer.varied_hosts.warning(count(found.buffer))}", "yellow")
        for answer in found.answers
        if answer.varied_hosts is not None
    ]
    if found.agreement:
        parts += [_agreement(found.agreement), *_promise(found.agreement), Text("")]
    parts += _disagreements(found)
    parts += _unsuitable(found.answers)
    parts += [
        Paragraph(f"{answer.name}: {formatting.lateness(answer.lateness)}", "dim")
        for answer in found.answers
        if answer.lateness is not None
    ]
    if len(found.points) > 1:
        parts += [Text(""), _range(found.points)]
    return Group(*parts)


def _answers(answers: Sequence[Answer]) -> list[RenderableType]:
    """One table of the engines and of the models that apply; in a narrow terminal without intervals."""
    suitable = [answer for answer in answers if answer.applies and answer.metrics]
    shown = [name for name in (*SHOWN, *CHANGING) if any(name in answer.metrics for answer in suitable)]
    choices = [
        [_answers_table(suitable, shown, intervals=intervals, across=across)]
        for intervals in (True, False)
        for across in (True, False)
    ]
    per_table = [
        [
            _answers_table(suitable[at : at + size], shown, intervals=False, across=True)
            for at in range(0, len(suitable), size)
        ]
        for size in range(len(suitable) - 1, 0, -1)
    ]
    return [Text("Results at the configured buffer", style="italic"), Fitting([*choices, *per_table])]


def _answers_table(answers: Sequence[Answer], metrics: Sequence[str], *, intervals: bool, across: bool) -> Table:
    """The table; `across` makes the answers its columns."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    titles = [formatting.metric_title(name) for name in metrics]
    names = [escape(answer.name) for answer in answers]
    table.add_column("metric" if across else "engine or rule", no_wrap=True)
    for head in names if across else titles:
        table.add_column(head, justify="right", no_wrap=True)
    cells = [[_estimate(name, answer.metrics.get(name), intervals=intervals) for name in metrics] for answer in answers]
    for number, title in enumerate(titles if across else names):
        table.add_row(title, *([column[number] for column in cells] if across else cells[number]))
    return table


def _estimate(name: str, found: Estimate | None, *, intervals: bool = True) -> str:
    """An estimate; an interval below a part in 10,000 is left out."""
    if found is None:
        return formatting.estimate(name, found)
    tiny = found.half_width is not None and found.half_width < 1e-4 * abs(found.mean)
    return formatting.estimate(name, found) if intervals and not tiny else formatting.value(name, found.mean)


def _unsuitable(answers: Sequence[Answer]) -> list[Paragraph]:
    """The answers that do not apply, each with its reason and its values, in whole lines."""
    lines = []
    for answer in answers:
        if answer.applies:
            continue
        texts = [
            f"{formatting.metric_title(name)} {formatting.value(name, answer.metrics[name].mean)}"
            for name in (*SHOWN, *CHANGING)
            if name in answer.metrics
        ]
        values = f" It gives {', '.join(texts)}." if texts else ""
        lines.append(Paragraph(f"{answer.name} does not apply: {answer.why}.{values}", "dim"))
    return lines


def _agreement(rows: Sequence[Agreement]) -> RenderableType:
    """One table of the differences between the fluid and the packets, with their bounds."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    for name in ("bound", *dict.fromkeys(row.engine for row in rows)):
        table.add_column(escape(name), justify="right", no_wrap=True)
    for metric in dict.fromkeys(row.metric for row in rows):
        of_metric = [row for row in rows if row.metric == metric]
        first = of_metric[0]
        title = f"{formatting.metric_title(metric)} ({_UNITS[first.unit]})"
        cells = [f"{_gap(row.difference, row.unit)}{_mark(row)}" for row in of_metric]
        table.add_row(title, _gap(first.allowed, first.unit), *cells)
    return Group(Text("Difference between the fluid and the packet engine", style="italic"), table)


def _mark(row: Agreement) -> str:
    """The verdict on a difference, after its value."""
    return "" if row.agrees is None else " within" if row.agrees else " above"


#: Units of differences in words.
_UNITS = {"points": "points", "buffers": "% of buffer", "times": "factor"}


def _gap(gap: float | None, of: str) -> str:
    """A gap in its unit, without the unit."""
    if gap is None:
        return "–"
    if of == "times":
        return f"{gap:.2g}"
    return f"{100 * gap:.1f}" if of == "buffers" else f"{gap:.2f}"


def _promise(rows: Sequence[Agreement]) -> list[Paragraph]:
    if rows[0].expected:
        return [
            Paragraph("The bounds apply to `fluid (fitted)` here, because the buffer holds a sender's bursts.", "dim")
        ]
    return [Paragraph(f"The bounds do not apply here: {rows[0].why}.", "dim")]


def _disagreements(found: Comparison) -> list[Paragraph]:
    """The differences of each answer that disagrees, then its doubtful assumptions, one line each."""
    lines = []
    for answer in found.answers:
        gaps = [gap for gap in found.disagreements if gap.between[1] == answer.name]
        if not gaps:
            continue
        one = gaps[0].between[0]
        lines.append(Paragraph(f"{answer.name} differs from {one} by more than both confidence intervals:", "bold"))
        for gap in gaps:
            mine, theirs = (formatting.value(gap.metric, value) for value in gap.values)
            lines.append(Paragraph(f"  {formatting.metric_title(gap.metric)}: {one} {mine}, {answer.name} {theirs}"))
        for each in answer.doubtful:
            verdict = {"no": "does not hold", "partly": "holds partly"}.get(each.holds, "may not hold")
            lines.append(Paragraph(f"  The assumption “{each.assumption}” {verdict}: {each.why}.", "yellow"))
        if answer.lateness is not None:
            lines.append(Paragraph(f"  {gaps[0].why}", "yellow"))
        elif not answer.doubtful:
            held = len(answer.assumptions)
            text = "; ".join(answer.notes or ()) or "the rest is the simplification of the model"
            lines.append(Paragraph(f"  All {held} checked assumptions hold. Note on the model: {text}.", "yellow"))
    return lines


def _range(curve: Sequence[RangePoint]) -> RenderableType:
    """Utilization over the buffers by every answer that has it; in a narrow terminal without intervals."""
    names = list(dict.fromkeys(name for point in curve for name in point.answers))
    names = [name for name in names if any(point.estimate(name, "utilization") is not None for point in curve)]
    whole = ([_range_table(curve, names, intervals=intervals)] for intervals in (True, False))
    tables = (
        [_range_table(curve, names[at : at + size], intervals=True) for at in range(0, len(names), size)]
        for size in range(len(names) - 1, 0, -1)
    )
    return Group(Text("Utilization at each buffer", style="italic"), Fitting([*whole, *tables]))


def _range_table(curve: Sequence[RangePoint], names: Sequence[str], *, intervals: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("packets", justify="right", no_wrap=True)
    table.add_column("BDP", justify="right", no_wrap=True)
    for name in names:
        table.add_column(escape(name), justify="right", no_wrap=True)
    for point in curve:
        bdp = point.buffer.bdp
        cells = [_estimate("utilization", point.estimate(name, "utilization"), intervals=intervals) for name in names]
        table.add_row(f"{point.buffer.packets:.0f}", "–" if bdp is None else f"{bdp:.3g}", *cells)
    return table
