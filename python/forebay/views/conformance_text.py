"""The text that `conformance` prints: the answer in at most three lines, then a row for each check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from forebay.text.formatting import counted
from forebay.views.heading import Paragraph

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from forebay.contract.answer import Check, Conformance

__all__ = ["answer_lines", "conformance_text"]

#: Most lines of the answer.
MOST_LINES = 3
STYLES = {"pass": "green", "fail": "red", "note": "yellow"}


def conformance_text(found: Conformance) -> RenderableType:
    """The verdicts as text; it fits the console that it is printed on, from 60 columns."""
    first, *rest = answer_lines(found)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in ("check", "verdict", "figure", "allowed"):
        table.add_column(column, overflow="fold")
    for each in found.checks:
        verdict = Text(each.verdict, STYLES[each.verdict])
        table.add_row(Text(each.title), verdict, Text(each.figure), Text(each.allowed))
    reasons = [(each, reason) for each in found.checks for reason in each.reasons]
    style = f"bold {STYLES['pass' if found.passed else 'fail']}"
    parts: list[RenderableType] = [Paragraph(first, style), *map(Paragraph, rest), Text(), table]
    if reasons:
        parts += [Text(), *(Paragraph(f"{each.verdict}: {each.title}: {reason}") for each, reason in reasons)]
    return Group(*parts)


def answer_lines(found: Conformance) -> list[str]:
    """The answer in three sentences: the count, the failures and the notes, and the speed."""
    failed = found.with_verdict("fail")
    notes = [each for each in found.with_verdict("note") if each.reasons]
    unmeasured = len(found.with_verdict("note")) - len(notes)
    passed = len(found.with_verdict("pass"))
    lines = [f"{found.place} passes {passed} of {counted(len(found.checks), 'check')}."]
    if failed:
        lines.append(f"It fails: {_names(failed)}.")
    if notes:
        lines.append(f"Notes: {_names(notes)}.")
    if unmeasured:
        lines.append(f"{counted(unmeasured, 'check')} could not run.")
    if "speed" in {each.name for each in found.with_verdict("pass")} and len(lines) < MOST_LINES:
        lines.append(f"Its speed is {found['speed'].figure} of CPU time.")
    return lines


def _names(checks: Iterable[Check]) -> str:
    return ", ".join(each.title for each in checks)
