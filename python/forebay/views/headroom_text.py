"""The headroom of a lossless priority group on the terminal: the answer in three lines, then the parts of the sum.

`forebay headroom` prints it. The first three lines fit 80 columns.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from forebay.text.formatting import bandwidth, exactly
from forebay.text.length import length_text

if TYPE_CHECKING:
    from forebay.fabric.headroom_answer import Headroom
    from forebay.fabric.headroom_sum import HeadroomPart
    from forebay.fabric.table_answer import TableAnswer
    from forebay.fabric.table_fit import TableFit

__all__ = ["headroom_lines"]

#: Findings and broken rows that are printed; JSON has all of them.
MOST_NOTES = 20
#: Widest column of names.
_WIDEST = 34


def headroom_lines(found: Headroom, width: int) -> list[str]:
    """The text of an answer.

    Parameters
    ----------
    found : Headroom
        The answer.
    width : int
        Columns of the terminal.
    """
    lines = [*_head(found)]
    for warning in found.warnings:
        lines += _wrapped("warning: ", f"{warning}.", width)
    lines += ["", *_parts(found, width)]
    if found.table is not None:
        lines += ["", *_table(found.table, width)]
    if found.others:
        head = ("the same port in", "xoff", "xon", "size")
        rows = [(each.name, f"{each.xoff:,}", f"{each.xon:,}", _amount(each.size)) for each in found.others]
        lines += ["", *_grid([head, *rows], width)]
    assumed = found.assumptions if found.formula is None else found.formula.assumptions
    if assumed:
        lines += ["", *(line for text in assumed for line in _wrapped("assumed: ", text, width))]
    sources = dict.fromkeys((found.source, *(part.source for part in found.parts)))
    if found.table is None:
        lines += [line for text in sources if text != "argument" for line in _wrapped("source: ", text, width)]
    return lines


def _head(found: Headroom) -> Iterator[str]:
    """The answer in three lines."""
    place = f"{exactly(bandwidth(found.rate_bps))}, {length_text(found.cable_m)}"
    yield f"{found} ({place})"
    yield _origin(found)
    yield f"Rounding up wastes {found.rounding:,} B. The physical minimum is {found.physical_minimum:,} B."


def _origin(found: Headroom) -> str:
    """The model or the table that the answer comes from."""
    if found.table is not None:
        kind = "a row" if found.table.row is not None else "an estimate"
        text = f"from {kind} of {found.source}"
    else:
        device = f", {found.device}" if found.device else ""
        release = f", SONiC {found.release}" if found.release else ""
        text = f"model {found.model}{device}{release}, MTU {found.mtu:,} B, lossless {found.lossless_mtu:,} B"
    return text if len(text) <= 80 else f"{text[:38]} ... {text[-37:]}"


def _parts(found: Headroom, width: int) -> list[str]:
    """The table of the parts, with the sum of each value."""
    rows: list[tuple[str, str, str]] = [("part", "bytes", "formula")]
    for target, title in (("xoff", "xoff"), ("xon", "xon"), ("size", "")):
        parts = [part for part in found.parts if part.of == target and not _is_outside(part)]
        rows += [(part.name, f"{part.bytes:,}", part.formula) for part in parts]
        if title and parts:
            rows.append((f"= {title}", f"{sum(part.bytes for part in parts):,}", ""))
    rows.append(("= size", _amount(found.size), _outside(found)))
    return _grid(rows, width, last_is_text=True)


def _is_outside(part: HeadroomPart) -> bool:
    """Whether the part takes from the size what the device holds in other memory."""
    return part.of == "size" and part.bytes < 0


def _outside(found: Headroom) -> str:
    """The reason why the size is less than xon and xoff together, or unknown."""
    if found.table is not None and found.table.size_unknown is not None:
        return found.table.size_unknown
    return "; ".join(part.formula for part in found.parts if _is_outside(part))


def _amount(size: int | None) -> str:
    return "unknown" if size is None else f"{size:,}"


def _table(answer: TableAnswer, width: int) -> list[str]:
    """The fit, the findings and the rows that cannot be used."""
    lines = []
    if answer.fit is not None:
        for text in answer.extrapolated:
            lines += _wrapped("", text, width)
        lines.append(f"The table counts in steps of {answer.step:,} B.")
    head = ("fit of xoff", "intercept", "slope", "largest error", "rows")
    lines += _grid([head, *(_fit_row(fit) for fit in answer.fits)], width)
    findings = [f"{each.text}" for each in answer.findings]
    lines += _notes("table: ", findings, width)
    return lines + _notes("not used: ", answer.broken, width)


def _fit_row(fit: TableFit) -> tuple[str, ...]:
    name = "all rates" if fit.rate_mbps is None else f"{fit.rate_mbps / 1000:g} Gb/s"
    error = "not known" if fit.largest_error is None else f"{fit.largest_error:,.0f}"
    return name, f"{fit.intercept:,.0f}", f"{fit.slope:.3f}", error, f"{fit.rows}"


def _notes(label: str, texts: Sequence[str], width: int) -> list[str]:
    lines = [line for text in texts[:MOST_NOTES] for line in _wrapped(label, text, width)]
    more = len(texts) - MOST_NOTES
    return [*lines, f"{label}{more} more (--json lists them)"] if more > 0 else lines


def _grid(rows: Iterable[Sequence[str]], width: int, *, last_is_text: bool = False) -> list[str]:
    """Columns of texts: the first is a name, the others are numbers, and the last may be a text that is wrapped."""
    cells = [tuple(row) for row in rows]
    count = len(cells[0]) - last_is_text
    widths = [max(len(row[column]) for row in cells) for column in range(count)]
    widths[0] = min(widths[0], _WIDEST)
    lines = []
    for row in cells:
        numbers = (f"{text:>{size}}" for text, size in zip(row[1:count], widths[1:], strict=True))
        line = "  ".join((f"{row[0]:<{widths[0]}}", *numbers))
        if last_is_text and row[-1]:
            lines += _wrapped(f"{line}  ", row[-1], width)
        else:
            lines.append(line.rstrip())
    return lines


def _wrapped(label: str, text: str, width: int) -> list[str]:
    """A text after a label, with its further lines below the text."""
    return textwrap.wrap(
        text,
        max(width, len(label) + 20),
        initial_indent=label,
        subsequent_indent=" " * len(label),
        break_on_hyphens=False,
    )
