"""What `compare` prints: answers side by side, the fluid's agreement with the packets, and why others disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from forebay import formatting
from forebay.views.heading import heading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from forebay.comparison.answers import Agreement, Answer, Comparison, RangePoint
    from forebay.report import Estimate

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


def comparison_view(found: Comparison) -> RenderableType:
    """Engines and models side by side, the agreement, the disagreements by assumption, the buffer range."""
    parts: list[RenderableType] = [
        heading(found.scenario, "comparison"),
        _answers(found.answers),
    ]
    if found.agreement:
        parts += [_agreement(found.agreement), *_promise(found.agreement), Text("")]
    parts += _disagreements(found)
    parts += [
        Text(f"{answer.name} does not apply: {answer.why}", style="dim")
        for answer in found.answers
        if not answer.applies
    ]
    if len(found.points) > 1:
        parts.append(_range(found.points))
    return Group(*parts)


def _answers(answers: Sequence[Answer]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("answer of")
    table.add_column("applies?")
    for name in SHOWN:
        table.add_column(formatting.metric_title(name), justify="right")
    for answer in answers:
        cells = [_estimate(name, answer.metrics.get(name)) for name in SHOWN]
        style = None if answer.applies else "dim"
        table.add_row(escape(answer.name), "yes" if answer.applies else "no", *cells, style=style)
    return table


def _estimate(name: str, found: Estimate | None) -> str:
    """An estimate; an interval of less than a part in 10,000 says nothing and is left out."""
    if found is not None and found.half_width is not None and found.half_width < 1e-4 * abs(found.mean):
        return formatting.value(name, found.mean)
    return formatting.estimate(name, found)


def _agreement(rows: Sequence[Agreement]) -> Table:
    table = Table(title="How closely the fluid follows the packets", title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("engine", "metric"):
        table.add_column(heading)
    for heading in ("packet", "fluid", "gap", "allowed"):
        table.add_column(heading, justify="right")
    table.add_column("within?")
    for row in rows:
        values = [formatting.value(row.metric, value) for value in row.values]
        table.add_row(
            escape(row.engine),
            formatting.metric_title(row.metric),
            *values,
            _gap(row.gap, row.of),
            _gap(row.allowed, row.of),
            "–" if row.within is None else "yes" if row.within else "no",
        )
    return table


def _gap(gap: float | None, of: str) -> str:
    """A gap in its unit."""
    if gap is None:
        return "–"
    if of == "times":
        return f"factor {gap:.2g}"
    if of == "buffers":
        return f"{100 * gap:.1f} % of the buffer"
    return f"{gap:.2f} points"


def _promise(rows: Sequence[Agreement]) -> list[Text]:
    if rows[0].expected:
        return [
            Text("the bounds are promised for `fluid (fitted)` here: the buffer holds a sender's bursts", style="dim")
        ]
    return [Text(f"no agreement is promised here: {rows[0].why}", style="dim")]


def _disagreements(found: Comparison) -> list[Text]:
    """One line per answer with what it says otherwise, then the assumptions behind it, one line each."""
    lines = []
    for answer in found.answers:
        gaps = [gap for gap in found.disagreements if gap.between[1] == answer.name]
        if not gaps:
            continue
        one = gaps[0].between[0]
        lines.append(Text(f"{answer.name} and {one} differ by more than their uncertainty:", style="bold"))
        for gap in gaps:
            mine, theirs = (formatting.value(gap.metric, value) for value in gap.values)
            lines.append(Text(f"  {formatting.metric_title(gap.metric)}: {one} {mine}, {answer.name} {theirs}"))
        for each in answer.doubtful:
            verdict = "does not hold" if each.holds == "no" else "is not known to hold"
            lines.append(Text(f"    “{each.assumption}” {verdict}: {each.why}", style="yellow"))
        if not answer.doubtful:
            held = len(answer.assumptions)
            said = "; ".join(answer.notes or ()) or "what remains is the model's own simplification"
            lines.append(Text(f"    all {held} checked assumptions hold; {said}", style="yellow"))
    return lines


def _range(curve: Sequence[RangePoint]) -> Table:
    """Utilisation over the buffers by every answer that has it."""
    names = list(dict.fromkeys(name for point in curve for name in point.answers))
    names = [name for name in names if any(point.estimate(name, "utilization") is not None for point in curve)]
    table = Table(title="Utilization over the buffer range", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("packets", justify="right")
    table.add_column("BDP", justify="right")
    for name in names:
        table.add_column(escape(name), justify="right")
    for point in curve:
        bdp = point.buffer.bdp
        cells = [_estimate("utilization", point.estimate(name, "utilization")) for name in names]
        table.add_row(f"{point.buffer.packets:.0f}", "–" if bdp is None else f"{bdp:.3g}", *cells)
    return table
