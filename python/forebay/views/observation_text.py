"""The output of `observe`: three lines with the answer, then the flows, the load, and the unidentified quantities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from forebay.observation.estimate import IntervalEstimate
from forebay.observation.estimate_text import ABOUT_INTERVALS, estimate_text, unknown_text
from forebay.observation.finding import known_rate, without_addresses
from forebay.sanitize import sanitize
from forebay.text.formatting import sentence
from forebay.views.fitting import Fitting
from forebay.views.heading import Paragraph
from forebay.views.observation_day import day_sentences
from forebay.views.observation_words import (
    FLOW_COLUMNS,
    GROUP_COLUMNS,
    answer,
    flow_cells,
    granularity,
    group_cells,
    hurst,
    input_line,
    leads_with_load,
    scale_cells,
    scale_columns,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from forebay.observation.finding import Finding
    from forebay.observation.load import Load

__all__ = ["observation_text"]

#: Long flows that the terminal shows; the page and JSON have more.
SHOWN = 8


def observation_text(finding: Finding) -> RenderableType:
    """The output of `observe` for a finding.

    Parameters
    ----------
    finding : Finding
        The finding of any input.

    Returns
    -------
    RenderableType
        The output; it fits the console from 60 columns.
    """
    finding = without_addresses(finding)
    link, limited, regime = map(sanitize, answer(finding))
    parts: list[RenderableType] = [Paragraph(link, "bold"), Paragraph(limited, "bold green"), Paragraph(regime)]
    if finding.groups:
        parts.append(_table(GROUP_COLUMNS, [group_cells(group) for group in finding.groups], least=4))
    if finding.flows:
        rows = [flow_cells(flow) for flow in finding.flows[:SHOWN]]
        parts.append(_table(FLOW_COLUMNS, rows, least=4))
        if len(finding.flows) > SHOWN:
            parts.append(Paragraph(f"and {len(finding.flows) - SHOWN} more flows", "dim"))
    if finding.load is not None:
        parts += _load(finding.load, finding)
    if finding.day is not None:
        rate = known_rate(finding)
        sentences = day_sentences(finding.day, rate, drops_said=leads_with_load(finding))
        parts += [Paragraph(sanitize(sentence)) for sentence in sentences]
    parts += _unknown(finding)
    parts += [Paragraph(f"note: {sanitize(note)}", "yellow") for note in finding.notes]
    return Group(
        *parts,
        Paragraph(f"Input: {sanitize(input_line(finding))}. {sentence(ABOUT_INTERVALS)}", "dim"),
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, least: int) -> RenderableType:
    """With all columns or, where they do not fit, fewer from the right; at the narrowest, cells are wrapped."""
    choices = [[_of(columns[:cut], rows, wrapped=False)] for cut in range(len(columns), least - 1, -1)]
    return Fitting([*choices, [_of(columns[:least], rows, wrapped=True)]])


def _of(columns: Sequence[str], rows: Sequence[Sequence[str]], *, wrapped: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, no_wrap=not wrapped, overflow="fold" if wrapped else "ellipsis")
    for row in rows:
        table.add_row(*(escape(sanitize(cell)) for cell in row[: len(columns)]))
    return table


def _load(load: Load, finding: Finding) -> Iterator[RenderableType]:
    rate = known_rate(finding)
    if load.scales:
        columns = scale_columns(load.scales)
        rows = [scale_cells(scale, columns, rate, intervals=False) for scale in load.scales]
        yield Fitting([[_of(columns, rows, wrapped=False)]])
        if coarse := granularity(finding):
            yield Paragraph(coarse, "dim")
    which = "" if finding.day is None else f" in {finding.day.span.why}"
    if isinstance(load.hurst, IntervalEstimate):
        yield Paragraph(f"Mean load{which}: {estimate_text(load.mean)}. Hurst exponent: {hurst(load.hurst)}.")
    else:
        yield Paragraph(f"Mean load{which}: {estimate_text(load.mean)}.")
    for why in load.omitted_scales:
        yield Paragraph(f"The table omits windows of {sanitize(why)}.", "dim")


def _unknown(finding: Finding) -> Iterator[RenderableType]:
    found = finding.unidentified
    if found:
        yield Text("Unknown values", style="bold")
    for each in found:
        yield Paragraph(f"  {sanitize(unknown_text(each))}")
