"""Layouts of tables: the columns that each one needs, and the layout that is nearest to a header of another kind.

Importers find the headers that they know. If a header has none of their layouts, its error names the nearest one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forebay.configuration.reading import closest
from forebay.fleets.columns import column_of
from forebay.storage.safe_io import clean

__all__ = ["LIBRENMS", "NETBOX", "OWN", "Layout", "fault_of_header"]

#: Most names of a header that an error shows, and that are compared with layouts.
SHOWN, COMPARED = 12, 200
#: Weight of a column with a similar name, and least share of the columns of a layout that is named.
SIMILAR, LEAST = 0.6, 0.5


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table.

    Attributes
    ----------
    name : str
        Name of the table for messages.
    columns : tuple of tuple of str
        Each column that the table needs, with the other names that it may have.
    """

    name: str
    columns: tuple[tuple[str, ...], ...]


OWN = Layout("a table of ports", (("device", "hostname"), ("port", "interface"), ("rate", "speed")))
NETBOX = Layout("NetBox interfaces", (("device",), ("name",), ("type",), ("speed", "speed (kbps)", "enabled")))
LIBRENMS = Layout("LibreNMS ports", (("ifName", "ifDescr"), ("ifSpeed", "ifHighSpeed")))
#: Layouts in the order in which they are preferred.
LAYOUTS = (OWN, NETBOX, LIBRENMS)


def fault_of_header(names: Sequence[str]) -> str | None:
    """The error of a header without the columns of a known layout: the nearest layout, and its missing columns.

    Parameters
    ----------
    names : sequence of str
        Names of the columns, as written.

    Returns
    -------
    str or None
        None if no layout is near.
    """
    found = {layout.name: list(_missing(layout, names)) for layout in LAYOUTS}
    layout = max(LAYOUTS, key=lambda each: _nearness(each, found[each.name]))
    missing = found[layout.name]
    if not missing or _nearness(layout, missing) < LEAST:
        return None
    shown = ", ".join(clean(name) for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    absent = " and ".join(f"`{column}`" for column, _ in missing)
    remedies = ", ".join(f"`{column}`" + (f" in place of {clean(like)}" if like else "") for column, like in missing)
    return f"found the columns {shown} without {absent}, as {layout.name} would have; allowed: {remedies}"


def _missing(layout: Layout, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each column of a layout that a header lacks, with a similar name of the header, or an empty one."""
    free = [name.strip() for name in names[:COMPARED] if name.strip()]
    absent = []
    for column in layout.columns:
        exact = [name for name in free if _is_column(name, column, layout)]
        if not exact:
            absent.append(column)
        free = [name for name in free if name not in exact]
    for column in absent:
        like = next(filter(None, (closest(name, free) for name in column)), "")
        free = [name for name in free if name != like]
        yield column[0], like


def _is_column(name: str, column: Sequence[str], layout: Layout) -> bool:
    """Whether an importer would read a name as this column."""
    if name in column or name.lower() in column:
        return True
    known = column_of(name) if layout is OWN else None
    return known is not None and known[0] == column[0]


def _nearness(layout: Layout, missing: Sequence[tuple[str, str]]) -> float:
    """The share of the columns that a header has; a column with a similar name counts a little less."""
    similar = sum(bool(like) for _, like in missing)
    return (len(layout.columns) - len(missing) + SIMILAR * similar) / len(layout.columns)
