"""Summary that `make reference` prints at its end, and tables that `make checks` puts into the manual."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from checks.findings import Bias, Change, Finding, Share, biases, changes, settled, shares, total
from checks.phases import PhaseShare, by_phase
from forebay.text.formatting import markdown_table

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["SOURCES", "compared", "print_summary", "shares_table", "unjudged_table"]

#: Description of each kind of a reference folder.
SOURCES = {
    "oracle": "formulas to 20 digits, fixed points to 1e-12, computed with mpmath and SciPy",
    "ns2": "ns-2.35",
    "linux": "the Linux 6.18 kernel's own TCP",
    "tofino": "Linux 5.5 over a real switch port of 10 Gb/s",
    "ns3": "ns-3.48, trends (not counted)",
}

WIDTH = 80


def print_summary(findings: Sequence[Finding], before: Sequence[Finding] | None = None) -> None:
    """Print shares per family, numbers that are not judged, failures, and differences from another build."""
    from rich.console import Console
    from rich.text import Text

    console = Console(width=WIDTH, highlight=False, color_system=None)
    judged = settled(findings)
    parts = shares(judged)
    if parts:
        console.print(_shares_view(parts))
    for line in phase_lines(by_phase(judged)):
        console.print(Text(line))
    unjudged = biases(findings)
    if unjudged:
        console.print(_biases_view(unjudged))
    for line in failures(judged):
        console.print(Text(line))
    for line in compared(settled(before), judged) if before is not None else ():
        console.print(Text(line))


# Shares ------------------------------------------------------------------------------------------------------------


def _by_kind(parts: Iterable[Share]) -> dict[str, list[Share]]:
    found: dict[str, list[Share]] = {}
    for part in parts:
        found.setdefault(part.kind, []).append(part)
    return found


def _cells(part: Share) -> tuple[str, str, str, str]:
    """The cells of a share in a table; the last is empty for formulas, which belong to no row."""
    agreed_rows = "" if part.kind == "oracle" else f"{part.agreed_rows} of {part.rows}"
    family = f"{part.family}, judged after all" if part.after_all else part.family
    return family, f"{part.agreed} of {part.numbers}", _percent(part.agreed, part.numbers), agreed_rows


def _percent(agreed: int, of: int) -> str:
    """A share in whole percent, rounded down: 99.9 % is not all."""
    return f"{100 * agreed // of} %" if of else ""


def _shares_view(parts: Sequence[Share]) -> Table:
    from rich.table import Table

    table = Table(title="What agrees, by family", title_justify="left", expand=False)
    table.add_column("family", overflow="fold", max_width=36)
    for head in ("numbers", "share", "whole rows"):
        table.add_column(head, justify="right", no_wrap=True)
    for kind, each in _by_kind(parts).items():
        if len(each) > 1:
            for part in each:
                table.add_row(*_cells(part))
        table.add_row(*_cells(total(each, _source(kind))), end_section=True)
    return table


def _source(kind: str) -> str:
    return SOURCES[kind].partition(",")[0]


def shares_table(findings: Iterable[Finding]) -> str:
    """The shares of all families as a Markdown table."""
    rows: list[tuple[str, ...]] = []
    for kind, each in _by_kind(shares(settled(list(findings)))).items():
        if kind == "oracle":
            continue
        rows += [(_source(kind), *_cells(part)) for part in each]
        rows.append((_source(kind), "**all**", *_cells(total(each, ""))[1:]))
    return "\n".join(markdown_table(("source", "family", "numbers that agree", "share", "whole rows"), rows)) + "\n"


# Phases ------------------------------------------------------------------------------------------------------------


def phase_lines(parts: Iterable[PhaseShare]) -> Iterator[str]:
    """The shares of ns-2's rows on and off phase, and a list of the rows that are exempt."""
    for part in parts:
        rows = _of(part.agreed_rows, part.rows)
        yield f"ns-2 {part.phase} phase: {_of(part.agreed, part.numbers)} numbers, {rows} whole rows"
        if part.exempt:
            yield f"  and {len(part.exempt)} exempt rows, whose own seeds differ by more than the tolerance:"
        for label, agreed, numbers, reasons in part.exempt:
            text = ", ".join(f"{each.number} by {each.range:.3g} of {each.allowed:.3g}" for each in reasons)
            yield f"  {label} ({agreed} of {numbers} agree): {text}"


def _of(agreed: int, of: int) -> str:
    return f"{agreed} of {of} ({100.0 * agreed / of:.1f} %)" if of else "none of 0"


# Numbers that are not judged ---------------------------------------------------------------------------------------


def _bias_cells(bias: Bias) -> tuple[str, str, str, str, str]:
    stated = "cannot be stated: theirs is 0"
    if bias.bias is not None and bias.noise is not None:
        stated = f"{_signed(bias.bias)} ± {bias.noise:.2g} {bias.unit}"
    reasons = "; ".join(bias.reasons)
    return (
        bias.family,
        bias.number,
        str(bias.count),
        stated,
        f"(judged after all) {reasons}" if bias.hidden else reasons,
    )


def _signed(value: float) -> str:
    return f"{value:+.2g}" if value else "0"


def _biases_view(found: Sequence[Bias]) -> Table:
    from rich.table import Table

    table = Table(title="Not judged: mean difference of ours ± its noise", title_justify="left", expand=False)
    table.add_column("family", overflow="fold", max_width=16)
    table.add_column("number", overflow="fold", max_width=16)
    table.add_column("of", justify="right")
    table.add_column("difference", overflow="fold", max_width=18)
    table.add_column("because", overflow="fold", max_width=18)
    for each in found:
        table.add_row(*_bias_cells(each))
    return table


def unjudged_table(findings: Iterable[Finding]) -> str:
    """The numbers that are not judged as a Markdown table, with their bias."""
    rows = [(_source(bias.kind), *_bias_cells(bias)) for bias in biases(findings)]
    head = ("source", "family", "number", "count", "bias of forebay ± noise", "not judged because")
    return "\n".join(markdown_table(head, rows)) + "\n"


# Failures ----------------------------------------------------------------------------------------------------------


def failures(findings: Iterable[Finding]) -> Iterator[str]:
    """Every number that does not agree under its row, with its distance in standard errors."""
    failed = [found for found in findings if found.judged and not found.agrees]
    if failed:
        yield ""
        yield "What does not agree: theirs, ours, and how many standard errors of our mean,"
        yield "and of the mean of theirs where theirs was repeated, lie between them."
    row: tuple[str, str] | None = None
    for found in failed:
        if row != (found.kind, found.row):
            row = found.kind, found.row
            yield f"{found.kind} {found.row}"
        yield _failure(found)


def _failure(found: Finding) -> str:
    if found.theirs is None or found.ours is None:
        return f"  {found.number}: {found.why}"
    line = f"  {found.number:18}{found.theirs:>10.4g}{found.ours:>11.4g}"
    ours, theirs = found.errors_of_ours, found.errors_of_theirs
    line += f"{_errors(ours):>12}" if ours is not None else ""
    line += f"  {_errors(theirs)} of theirs" if theirs is not None else ""
    notes = [found.why, f"judged after all: {found.unjudged}" if found.after_all else ""]
    return "\n    ".join([line, *filter(None, notes)])


def _errors(value: float) -> str:
    """A number of standard errors in words; if it is infinite, nothing varies."""
    return "all alike" if math.isinf(value) else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


# Two builds --------------------------------------------------------------------------------------------------------


def compared(before: Sequence[Finding], after: Sequence[Finding]) -> Iterator[str]:
    """The numbers that agree now and did not before, and those that did and do not now."""
    found = changes(before, after)
    better = [change for change in found if change.better]
    worse = [change for change in found if not change.better]
    yield ""
    yield f"Against the other build: {len(better)} better, {len(worse)} worse."
    for title, each in (("better", better), ("worse", worse)):
        for change in each:
            yield from _change(title, change)
    yield from _shares_against(before, after)


def _change(title: str, change: Change) -> Iterator[str]:
    old, new = change.before, change.after
    yield f"{title}: {new.kind} {new.row}"
    theirs = "" if new.theirs is None else f"theirs {new.theirs:.4g}, "
    yield f"  {new.number:18}{theirs}ours {_figure(old.ours)}, now {_figure(new.ours)}"


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _shares_against(before: Sequence[Finding], after: Sequence[Finding]) -> Iterator[str]:
    """The families whose share differs, over the rows that both builds have."""
    rows = {(found.kind, found.row) for found in before} & {(found.kind, found.row) for found in after}
    was, now = (
        {
            (part.kind, part.family, part.after_all): part
            for part in shares(each for each in found if (each.kind, each.row) in rows)
        }
        for found in (before, after)
    )
    for key, part in now.items():
        old = was.get(key)
        if old is not None and (old.agreed, old.numbers) != (part.agreed, part.numbers):
            yield f"{part.kind} {_cells(part)[0]}: {old.agreed} of {old.numbers}, now {part.agreed} of {part.numbers}"
