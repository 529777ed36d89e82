"""The audit of a switch's buffers on the terminal: a line for each finding, the worst first, then its memory.

`forebay translate FILE` prints it. A finding takes one line of the terminal if its text fits one.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forebay.fabric.audit_answer import Audit, Finding, PoolMemory

__all__ = ["audit_lines"]

#: Findings that are printed; JSON has all of them.
MOST_FINDINGS = 50
#: Shortest form of a place, in characters.
_SHORTEST = 12


def audit_lines(found: Audit, width: int) -> list[str]:
    """The text of an audit.

    Parameters
    ----------
    found : Audit
        The audit.
    width : int
        Columns of the terminal.
    """
    errors, notes = len(found.errors), len(found.notes)
    ports = f"; {_count(found.ports, 'port')}, {found.lossless_ports:,} with lossless groups" if found.ports else ""
    lines = [f"{_count(errors, 'error')}, {_count(notes, 'note')}{ports}"]
    lines += [line for finding in found.findings[:MOST_FINDINGS] for line in _finding(finding, width)]
    if len(found.findings) > MOST_FINDINGS:
        lines.append(f"{len(found.findings) - MOST_FINDINGS} more findings (--json lists them)")
    if found.pools:
        lines += ["", *_pools(found)]
        lines += [line for text in _sentences(found) for line in textwrap.wrap(text, width)]
    if found.table is not None and found.pools:
        lines += textwrap.wrap(f"table: {found.table}", width, subsequent_indent=" " * 7)
    for text in found.assumptions:
        lines += textwrap.wrap(f"assumed: {text}", width, subsequent_indent=" " * 9)
    if found.unknown_tables:
        lines.append(f"not read: {_count(found.unknown_tables, 'table')} about something else")
    return lines


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _finding(finding: Finding, width: int) -> list[str]:
    """One finding; the place is shortened so that the text fits, and the line is named if it fits, too."""
    label = "error" if finding.is_error else "note "
    more = f" (+{len(finding.places) - 1})" if len(finding.places) > 1 else ""
    room = width - len(f"{label} {more}: {finding.text}")
    place = _shortened(finding.place, max(_SHORTEST, room))
    line = f"{label} {place}{more}: {finding.text}"
    if finding.lines and len(line) + len(where := f" (line {finding.lines[0]})") <= width:
        line += where
    return textwrap.wrap(line, max(width, 40), subsequent_indent=" " * 6, break_on_hyphens=False)


def _shortened(place: str, most: int) -> str:
    """A place of limited length: without its table if that is enough, otherwise without its middle."""
    if len(place) > most:
        place = place.partition("|")[2] or place
    if len(place) <= most:
        return place
    half = (most - 3) // 2
    return f"{place[: most - 3 - half]}...{place[-half:]}"


def _pools(found: Audit) -> Iterator[str]:
    """The table of the ingress pools."""
    head = ("ingress pool", "size", "reserved", "headroom", "shared")
    rows = [head, *(_row(pool) for pool in found.pools)]
    names = max(len(row[0]) for row in rows)
    for row in rows:
        yield "  ".join((f"{_shortened(row[0], 26):<{min(names, 26)}}", *(f"{text:>11}" for text in row[1:])))


def _row(pool: PoolMemory) -> tuple[str, ...]:
    size, left = (f"{amount:,}" if amount is not None else "not known" for amount in (pool.size, pool.left))
    return pool.pool, size, f"{pool.reserved:,}", f"{pool.headroom:,}", left


def _sentences(found: Audit) -> Iterator[str]:
    """Sentences on the memory that is left for lossy traffic and on the shared headroom pool."""
    lossy = [pool for pool in found.pools if pool.has_lossy and pool.left is not None]
    for pool in lossy or [pool for pool in found.pools if pool.left is not None]:
        assert pool.left is not None, "chosen above"
        size = pool.size or 0
        share = f", {100 * pool.left / size:.3g} % of the pool" if size and not pool.is_net else ""
        yield f"Lossy traffic may share {pool.left:,} B of {pool.pool}{share}."
    for pool in found.pools:
        if pool.over_subscription is not None:
            yield (
                f"The shared headroom of {pool.pool} has {pool.shared_headroom:,} B: the groups' headroom is "
                f"{pool.over_subscription:.3g} times as much."
            )
        if pool.unknown:
            yield f"The headroom of {_count(pool.unknown, 'group')} of {pool.pool} is not known and not counted."
        if pool.is_net and pool.reserved:
            yield f"The size of {pool.pool} is that of the shared part: SONiC subtracts the reservations."
