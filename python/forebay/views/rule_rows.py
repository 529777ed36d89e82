"""Rows of rules above or beside a chart, and the lines at them through its panels.

Charts of recommendations, comparisons and sweeps begin with these rows. Where each rule has a color and a marker of its
own, a reader can tell the lines apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

from forebay.views.chart import MARKERS, Curve, Key, Look, Panel, Row, Series, Tip, Words, mark
from forebay.views.scales import Axis, tick_text

__all__ = ["COLORED", "NEUTRAL", "Dot", "Rows", "rule_keys", "rule_look", "rule_panel", "stem"]

#: Colors of rules where each has its own, and where their names are enough.
COLORED = ("blue", "orange", "green", "pink", "amber", "sky", "here")
NEUTRAL = ("rule",)
#: Looks of the lines at the buffers of rules, by kind, from the lowest line to the topmost.
THROUGH = {
    "norule": Look("", "dotted", 0.9, opacity=0.4),
    "also": Look("", "solid", 1.1, opacity=0.8),
    "rule": Look("", "solid", 1.1, opacity=0.8),
    "own": Look("", "dashed", 1.6, opacity=0.9),
}


@dataclass(frozen=True, slots=True)
class Dot:
    """A rule or a named buffer in a row: its kind is the series by which a page hides it."""

    name: str
    buffer: float
    kind: str
    tip: str = ""


@dataclass(slots=True)
class Rows:
    """Rows of a panel while they are gathered."""

    rows: list[Row] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)

    def add(self, row: Row, *series: Series) -> None:
        """Add a row with what is drawn in it."""
        self.rows.append(row)
        self.series += series

    def add_rules(self, dots: Sequence[Dot], axis: Axis, colors: Sequence[str]) -> list[Curve]:
        """Add a row for each rule; return the lines through other panels at those on the axis, the topmost last."""
        marks = []
        own = sum(dot.kind == "own" for dot in dots)
        for number, dot in enumerate(dots, start=-own):
            row, kind = len(self.rows), dot.kind
            look = rule_look(kind, number, colors)
            name = Row(dot.name, "soft" if kind == "norule" else "ink", bold=kind == "own", series=kind)
            tip = [Tip(f"{dot.buffer:g}", dot.tip)] if dot.tip else []
            if axis.low <= dot.buffer <= axis.high:
                marks.append(mark(dot.buffer, replace(THROUGH[kind], color=look.color), kind))
                self.add(name, stem(dot.buffer, row, kind), Curve([(dot.buffer, row)], look, tip, kind))
                continue
            # Beyond the axis there is an arrow with the number.
            beyond = dot.buffer > axis.high
            end = inf if beyond else -inf
            data = tick_text(float(f"{dot.buffer:.3g}"))
            beside = Words(end, end, row, f"{data} →" if beyond else f"← {data}", "soft", series=kind)
            hidden = Curve([(end, row)], replace(look, size=0.2, edge=0.0), tip, kind)
            self.add(name, stem(end, row, kind), hidden, beside)
        return sorted(marks, key=lambda each: list(THROUGH).index(each.series))

    def panel(self) -> Panel:
        """The panel of the rows."""
        return Panel(tuple(self.rows), tuple(self.series))


def rule_panel(dots: Sequence[Dot], axis: Axis, colors: Sequence[str]) -> tuple[list[Panel], list[Curve]]:
    """A panel with a row for each rule, if there are any, and the lines at them through other panels."""
    found = Rows()
    marks = found.add_rules(dots, axis, colors)
    return [found.panel()] if dots else [], marks


def rule_keys(dots: Sequence[Dot]) -> list[Key]:
    """Entries for the lines and markers of rules."""
    kinds = {dot.kind for dot in dots}
    found = [Key("rule", Look("rule", "solid", 0.9, "o", 5))] if "rule" in kinds else []
    if "norule" in kinds:
        found.append(Key("rule that does not apply here", Look("rule", "dotted", 0.9, "o", 5, hollow=True)))
    return found


def rule_look(kind: str, number: int, colors: Sequence[str]) -> Look:
    """The look of a rule's marker: no two of the first 56 are alike if each has a color of its own."""
    color, marker = colors[number % len(colors)], MARKERS[number // len(colors) % len(MARKERS)]
    if kind == "own":
        return Look("here", marker="D", size=6.5)
    if colors is NEUTRAL:
        color, marker = {"also": ("pink", "s"), "norule": ("other", "o")}.get(kind, (color, "o"))
    applies = kind != "norule"
    return Look(color, marker=marker, size=6.0, edge=1.2, hollow=not applies, opacity=1.0 if applies else 0.6)


def stem(end: float, row: int, series: str) -> Curve:
    """The line along a row from the left to its marker."""
    return Curve([(-inf, row), (end, row)], Look("stem", "solid", 0.9), series=series)
