"""The comparison of two audits as text: three lines that fit 80 columns, and the first changed ports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from forebay.fleets.answer import WRONG
from forebay.fleets.comparing import DIFFERENCES, AuditComparison
from forebay.sanitize import sanitize
from forebay.text.formatting import counted, size

if TYPE_CHECKING:
    import polars as pl

__all__ = ["comparison_lines", "comparison_text"]

#: Width of the first lines in columns, and number of rows of the table.
COLUMNS, ROWS = 80, 10


def comparison_lines(found: AuditComparison, before: str) -> tuple[str, str, str]:
    """The changes, the newly wrong ports, and those no longer wrong; each at most 80 columns wide."""
    counts = found.counts
    parts = [
        f"{counts['appeared']:,} new",
        f"{counts['vanished']:,} gone",
        f"{counts['verdict']:,} other verdict",
        f"{counts['margin']:,} other margin",
    ]
    changed = found.differences.height
    total = f"{counted(changed, 'port')} changed, {found.unchanged:,} did not"
    newly, no_longer = found.newly(WRONG), found.no_longer(WRONG)
    return (
        _against(f"{total}: {', '.join(parts)}" if changed else "No port changed", before),
        _cut(f"Newly wrong: {newly.height:,}{_example(newly)}"),
        _cut(f"No longer wrong: {no_longer.height:,}{_example(no_longer)}"),
    )


def comparison_text(found: AuditComparison, before: str, folder: str) -> RenderableType:
    """The whole comparison; newly wrong ports come first in its table."""
    parts: list[RenderableType] = [Text(line) for line in comparison_lines(found, before)]
    if found.differences.height:
        parts += [Text(""), _table(found), Text(""), Text(f"Every change: {folder}/{DIFFERENCES}")]
    return Group(*parts, Text(""))


def _example(ports: pl.DataFrame) -> str:
    """The first of some ports and its verdicts."""
    for row in ports.head(1).iter_rows(named=True):
        return f", such as {_name(row)}: {_verdicts(row)}"
    return ""


def _table(found: AuditComparison) -> Table:
    import polars as pl

    table = Table("port", "change", "verdict", "buffer", "configured / needed", box=None, pad_edge=False)
    is_wrong = pl.col("verdict_after").is_in(WRONG).fill_null(value=False)
    ordered = found.differences.sort(~is_wrong, pl.col("change") == "margin", maintain_order=True)
    for row in ordered.head(ROWS).iter_rows(named=True):
        sizes = [
            None if row[name] is None else size(row[name]) for name in ("buffer_bytes_before", "buffer_bytes_after")
        ]
        margins = [None if row[name] is None else f"{row[name]:.2g}" for name in ("margin_before", "margin_after")]
        table.add_row(_name(row), row["change"], _verdicts(row), _arrow(*sizes), _arrow(*margins))
    return table


def _name(row: Mapping[str, Any]) -> str:
    names = (row["device"], row["port"], row["service_class"])
    return " ".join(sanitize(name) for name in names if name)


def _verdicts(row: Mapping[str, Any]) -> str:
    return _arrow(row["verdict_before"], row["verdict_after"])


def _arrow(before: str | None, after: str | None) -> str:
    """A value before and after; once if it did not change."""
    return after or "–" if before == after else f"{before or '–'} → {after or '–'}"


def _against(line: str, before: str) -> str:
    """A line with the folder of the earlier audit, if that fits."""
    whole = f"{line} (against {before})"
    return whole if len(whole) <= COLUMNS else _cut(line)


def _cut(line: str) -> str:
    return line if len(line) <= COLUMNS else f"{line[: COLUMNS - 1]}…"
