"""The text of `compare`: answers side by side, the fluid's agreement with the packets, and reasons for differences."""

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
    parts: list[RenderableType] = [
        heading(found.scenario, "comparison"),
        _answers(found.answers),
    ]
    parts += [
        Paragraph(f"{answer.name}: {answer.twin.warning(count(found.buffer))}", "yellow")
        for answer in found.answers
        if answer.twin is not None
    ]
    if found.agreement:
        parts += [_agreement(found.agreement), *_promise(found.agreement), Text("")]
    parts += _disagreements(found)
    parts += [
        Paragraph(f"{answer.name} does not apply: {answer.why}", "dim")
        for answer in found.answers
        if not answer.applies
    ]
    parts += [
        Paragraph(f"{answer.name}: {formatting.lateness(answer.lateness)}", "dim")
        for answer in found.answers
        if answer.lateness is not None
    ]
    if len(found.points) > 1:
        parts.append(_range(found.points))
    return Group(*parts)


def _answers(answers: Sequence[Answer]) -> Fitting:
    """Every answer with the metrics that there is room for, and the others in tables below."""
    shown = [*SHOWN, *(name for name in CHANGING if any(name in answer.metrics for answer in answers))]
    most = len(shown)
    return Fitting(
        [_answers_table(answers, shown[at : at + size]) for at in range(0, most, size)] for size in range(most, 0, -1)
    )


def _answers_table(answers: Sequence[Answer], metrics: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("answer of", no_wrap=True)
    table.add_column("applies?", no_wrap=True)
    for name in metrics:
        table.add_column(formatting.metric_title(name), justify="right", no_wrap=True)
    for answer in answers:
        if not any(name in answer.metrics for name in metrics) and metrics[0] != SHOWN[0]:
            continue
        cells = [_estimate(name, answer.metrics.get(name)) for name in metrics]
        style = None if answer.applies else "dim"
        table.add_row(escape(answer.name), "yes" if answer.applies else "no", *cells, style=style)
    return table


def _estimate(name: str, found: Estimate | None) -> str:
    """An estimate; an interval below a part in 10,000 is left out."""
    if found is not None and found.half_width is not None and found.half_width < 1e-4 * abs(found.mean):
        return formatting.value(name, found.mean)
    return formatting.estimate(name, found)


def _agreement(rows: Sequence[Agreement]) -> RenderableType:
    """The gap between the fluid and the packets; if there is little room, engine by engine and gaps only."""
    engines = list(dict.fromkeys(row.engine for row in rows))
    apart = [[row for row in rows if row.engine == engine] for engine in engines]
    choices = (
        [_agreement_table(rows, ("engine", "metric", "packet", "fluid", "gap", "allowed", "within?"))],
        [_agreement_table(each, ("metric", "packet", "fluid", "gap", "allowed", "within?")) for each in apart],
        [_agreement_table(each, ("metric", "gap", "allowed", "within?")) for each in apart],
    )
    return Group(Text("How closely the fluid follows the packets", style="italic"), Fitting(choices))


def _agreement_table(rows: Sequence[Agreement], columns: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    if "engine" not in columns:
        table.title, table.title_justify = escape(rows[0].engine), "left"
    for name in columns:
        text = name in {"engine", "metric", "within?"}
        table.add_column(name, justify="left" if text else "right", no_wrap=True)
    for row in rows:
        packet, fluid = (formatting.value(row.metric, value) for value in row.values)
        cells = {
            "engine": escape(row.engine),
            "metric": formatting.metric_title(row.metric),
            "packet": packet,
            "fluid": fluid,
            "gap": _gap(row.gap, row.of),
            "allowed": _gap(row.allowed, row.of),
            "within?": "–" if row.within is None else "yes" if row.within else "no",
        }
        table.add_row(*(cells[name] for name in columns))
    return table


def _gap(gap: float | None, of: str) -> str:
    """A gap in its unit."""
    if gap is None:
        return "–"
    if of == "times":
        return f"factor {gap:.2g}"
    if of == "buffers":
        return f"{100 * gap:.1f} % of buffer"
    return f"{gap:.2f} points"


def _promise(rows: Sequence[Agreement]) -> list[Paragraph]:
    if rows[0].expected:
        return [
            Paragraph("the bounds are promised for `fluid (fitted)` here: the buffer holds a sender's bursts", "dim")
        ]
    return [Paragraph(f"no agreement is promised here: {rows[0].why}", "dim")]


def _disagreements(found: Comparison) -> list[Paragraph]:
    """The differences of each answer that disagrees, then its doubtful assumptions, one line each."""
    lines = []
    for answer in found.answers:
        gaps = [gap for gap in found.disagreements if gap.between[1] == answer.name]
        if not gaps:
            continue
        one = gaps[0].between[0]
        lines.append(Paragraph(f"{answer.name} and {one} differ by more than their uncertainty:", "bold"))
        for gap in gaps:
            mine, theirs = (formatting.value(gap.metric, value) for value in gap.values)
            lines.append(Paragraph(f"  {formatting.metric_title(gap.metric)}: {one} {mine}, {answer.name} {theirs}"))
        for each in answer.doubtful:
            verdict = {"no": "does not hold", "partly": "holds in part"}.get(each.holds, "is not known to hold")
            lines.append(Paragraph(f"    “{each.assumption}” {verdict}: {each.why}", "yellow"))
        if answer.lateness is not None:
            lines.append(Paragraph(f"    {gaps[0].why}", "yellow"))
        elif not answer.doubtful:
            held = len(answer.assumptions)
            said = "; ".join(answer.notes or ()) or "what remains is the model's own simplification"
            lines.append(Paragraph(f"    all {held} checked assumptions hold; {said}", "yellow"))
    return lines


def _range(curve: Sequence[RangePoint]) -> RenderableType:
    """Utilization over the buffers by every answer that has it, in as few tables as fit."""
    names = list(dict.fromkeys(name for point in curve for name in point.answers))
    names = [name for name in names if any(point.estimate(name, "utilization") is not None for point in curve)]
    tables = Fitting(
        [_range_table(curve, names[at : at + size]) for at in range(0, len(names), size)]
        for size in range(len(names), 0, -1)
    )
    return Group(Text("Utilization over the buffer range", style="italic"), tables)


def _range_table(curve: Sequence[RangePoint], names: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("packets", justify="right", no_wrap=True)
    table.add_column("BDP", justify="right", no_wrap=True)
    for name in names:
        table.add_column(escape(name), justify="right", no_wrap=True)
    for point in curve:
        bdp = point.buffer.bdp
        cells = [_estimate("utilization", point.estimate(name, "utilization")) for name in names]
        table.add_row(f"{point.buffer.packets:.0f}", "–" if bdp is None else f"{bdp:.3g}", *cells)
    return table
