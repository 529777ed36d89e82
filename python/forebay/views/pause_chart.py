"""Paused times of links and hosts, a row each: the panel that `report_picture` adds to the records of a traced run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from forebay.views.chart import Curve, Key, Look, Panel, Row, Series

if TYPE_CHECKING:
    import polars as pl

__all__ = ["pause_keys", "pauses_panel"]

#: Largest number of rows: those that are paused longest.
MOST_ROWS = 12
#: Gaps between pauses below this share of the time are narrower than a pixel, and are not drawn.
PIXEL = 1 / 1500
#: Height of a row and of the room around all rows, in points.
ROW, ROOM = 15.0, 6.0
LINKS, HOSTS = Look("orange", "solid", 8.0), Look("amber", "solid", 8.0)

Interval = tuple[float, float]


def pauses_panel(table: pl.DataFrame, groups: Sequence[str]) -> Panel | None:
    """Draw the pauses of each link and of the hosts of each flow group, in the order of their first pauses.

    Parameters
    ----------
    table : polars.DataFrame
        Table `pauses` of a traced run. An end may be infinite: the run ended first.
    groups : sequence of str
        Names of the flow groups, in their order.

    Returns
    -------
    Panel or None
        The panel. The share of the drawn time in which a row is paused follows its name. None without a pause.
    """
    found: dict[tuple[str, bool], list[Interval]] = {}
    for link, group, begun, ended in table.select("link", "group", "begun_s", "ended_s").iter_rows():
        named = groups[group] if 0 <= group < len(groups) else str(group)
        found.setdefault((f"hosts of {named}", True) if group >= 0 else (str(link), False), []).append((begun, ended))
    if not found:
        return None
    united = {row: _united(intervals) for row, intervals in found.items()}
    first = min(intervals[0][0] for intervals in united.values())
    last = max(time for intervals in united.values() for pause in intervals for time in pause if isfinite(time))
    span = max(last - first, 1e-12)
    paused = {row: sum(min(end, last) - begin for begin, end in each) / span for row, each in united.items()}
    longest = sorted(united, key=lambda row: -paused[row])[:MOST_ROWS]
    rows = [row for row in sorted(united, key=lambda row: united[row][0]) if row in longest]
    series: list[Series] = []
    for at, row in enumerate(rows):
        look = HOSTS if row[1] else LINKS
        intervals = _united(united[row], span * PIXEL)
        series += [Curve([(begin, at), (end, at)], look) for begin, end in intervals]
    names = [Row(f"{row[0]}, {100 * paused[row]:.0f} %") for row in rows]
    return Panel(names, series, ROW * len(rows) + ROOM)


def pause_keys(panel: Panel) -> list[Key]:
    """Entries of the legend for a panel of pauses."""
    drawn = {each.look for each in panel.series if isinstance(each, Curve)}
    texts = (("paused link, share of the time", LINKS), ("paused hosts", HOSTS))
    return [Key(text, look) for text, look in texts if look in drawn]


def _united(intervals: Iterable[Interval], gap: float = 0.0) -> list[Interval]:
    """Intervals in order; those that overlap, or are at most `gap` apart, are one."""
    united: list[Interval] = []
    for begin, end in sorted(intervals):
        if united and begin <= united[-1][1] + gap:
            united[-1] = united[-1][0], max(united[-1][1], end)
        else:
            united.append((begin, end))
    return united
