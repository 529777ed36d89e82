"""Rows of rules above or beside a chart, and the lines at them through its panels.

Charts of recommendations, comparisons and sweeps begin with these rows: the configured buffer, the buffers that were
asked about, the rules that apply, and one row for all rules that do not. A marker says whether its buffer meets the
goals. Its line says which kind of buffer it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

from forebay.text import formatting
from forebay.views.chart import Curve, Key, Look, Panel, Row, Series, Tip, Words, mark
from forebay.views.decision import State
from forebay.views.scales import Axis, tick_text

__all__ = [
    "COLORED",
    "FOLDED",
    "OWN",
    "PLAIN",
    "STATES",
    "Dot",
    "Rows",
    "folded_name",
    "own_dot",
    "rule_keys",
    "rule_panel",
    "state_look",
    "stem",
]

#: Colors of things that each have their own.
COLORED = ("blue", "orange", "green", "pink", "amber", "sky", "here")
#: The name of the scenario's own buffer.
OWN = "as configured"
#: Color and marker of a buffer, and what it says, by whether it meets all goals.
STATES: dict[State, tuple[str, str, str]] = {
    "met": ("green", "o", "meets all goals"),
    "missed": ("orange", "x", "misses a goal"),
    "undecided": ("other", "s", "undecided"),
}
#: Looks of the lines at buffers through the panels, by kind, from the lowest line to the topmost.
THROUGH = {
    "also": Look("pink", "solid", 1.1, opacity=0.8),
    "rule": Look("rule", "solid", 1.1, opacity=0.8),
    "own": Look("here", "dashed", 1.6, opacity=0.9),
}
#: Looks of the markers of buffers whose verdict is not known, by kind.
PLAIN = {
    "also": Look("pink", marker="s", size=6.0, edge=1.2),
    "rule": Look("rule", marker="o", size=6.0, edge=1.2),
    "own": Look("here", marker="D", size=6.5),
}
#: The look of the rules that do not apply, which share a row.
FOLDED = Look("other", marker="o", size=4.5, edge=0.9, hollow=True, opacity=0.7)
#: Room between the end of the axis and an arrow for what is beyond, as a share of its length.
INSET = 0.01
#: Legend of the line of each kind.
KINDS = {"own": OWN, "also": "", "rule": "rule that applies"}


@dataclass(frozen=True, slots=True)
class Dot:
    """A rule or a named buffer in a row.

    Attributes
    ----------
    name : str
    buffer : float
    kind : str
        "own", "also", "rule" or "norule": the series by which a page hides it.
    tip : str
        Text that a page shows where a reader points.
    state : State or None
        Whether its buffer meets all goals; None if that is not known.
    few : bool
        Whether the verdict rests on few runs, or on an interpolation.
    """

    name: str
    buffer: float
    kind: str
    tip: str = ""
    state: State | None = None
    few: bool = False


def own_dot(packets: float) -> Dot:
    """The configured buffer, whose row states it."""
    return Dot(f"{OWN}: {tick_text(packets)}", packets, "own")


@dataclass(slots=True)
class Rows:
    """Rows of a panel while they are gathered."""

    rows: list[Row] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)

    def add(self, row: Row, *series: Series) -> None:
        """Add a row with what is drawn in it."""
        self.rows.append(row)
        self.series += series

    def add_rules(self, dots: Sequence[Dot], axis: Axis) -> list[Curve]:
        """Add a row for each buffer, and one for all rules that do not apply.

        Returns
        -------
        list of Curve
            The lines through other panels at the buffers on the axis, the topmost last.
        """
        for dot in dots:
            if dot.kind != "norule":
                name = Row(dot.name, bold=dot.kind == "own", series=dot.kind)
                self.add(name, *_row(dot, len(self.rows), axis))
        others = [dot for dot in dots if dot.kind == "norule"]
        if others:
            self.add(Row(folded_name(len(others)), "soft", series="norule"), *_folded(others, len(self.rows), axis))
        shown = [dot for dot in dots if dot.kind in THROUGH and axis.low <= dot.buffer <= axis.high]
        marks = [mark(dot.buffer, THROUGH[dot.kind], dot.kind) for dot in shown]
        return sorted(marks, key=lambda each: list(THROUGH).index(each.series))

    def panel(self) -> Panel:
        """The panel of the rows."""
        return Panel(tuple(self.rows), tuple(self.series))


def rule_panel(dots: Sequence[Dot], axis: Axis) -> tuple[list[Panel], list[Curve]]:
    """A panel with the rows of rules, if there are any, and the lines at them through other panels."""
    found = Rows()
    marks = found.add_rules(dots, axis)
    return [found.panel()] if dots else [], marks


def _row(dot: Dot, row: int, axis: Axis) -> list[Series]:
    """The stem and the marker of a buffer; beyond the axis there is an arrow with the number."""
    look, kind = _look(dot), dot.kind
    tip = [Tip(f"{dot.buffer:g}", dot.tip)] if dot.tip else []
    if axis.low <= dot.buffer <= axis.high:
        return [stem(dot.buffer, row, kind), Curve([(dot.buffer, row)], look, tip, kind)]
    beyond = dot.buffer > axis.high
    end = inf if beyond else -inf
    data = tick_text(float(f"{dot.buffer:.3g}"))
    hidden = Curve([(end, row)], Look(look.color, marker=look.marker, size=0.2, edge=0.0), tip, kind)
    beside = Words(end, end, row, f"{data} →" if beyond else f"← {data}", "soft", series=kind)
    return [stem(end, row, kind), hidden, beside]


def _folded(dots: Sequence[Dot], row: int, axis: Axis) -> list[Series]:
    """The markers of several rules in one row; arrows at the ends of the axis for those beyond."""
    found: list[Series] = []
    for marker, shown, at in (
        ("o", [dot for dot in dots if axis.low <= dot.buffer <= axis.high], None),
        ("<", [dot for dot in dots if dot.buffer < axis.low], axis.value(INSET)),
        (">", [dot for dot in dots if dot.buffer > axis.high], axis.value(1 - INSET)),
    ):
        places = [(dot.buffer if at is None else at, row) for dot in shown]
        tips = [Tip(f"{dot.buffer:g}", dot.tip) for dot in shown if dot.tip]
        if shown:
            found.append(Curve(places, replace(FOLDED, marker=marker), tips, "norule"))
    return found


def folded_name(count: int) -> str:
    """The name of the row of rules that do not apply."""
    return f"{formatting.counted(count, 'rule')} {'does' if count == 1 else 'do'} not apply"


def _look(dot: Dot) -> Look:
    return PLAIN[dot.kind] if dot.state is None else state_look(dot.state, few=dot.few)


def state_look(state: State, *, few: bool) -> Look:
    """The look of a buffer by its verdict; hollow or thin if few runs decide."""
    color, marker, _ = STATES[state]
    edge = 1.0 if few else 2.2 if marker == "x" else 1.2
    return Look(color, marker=marker, size=6.0, edge=edge, hollow=few)


def rule_keys(dots: Sequence[Dot], also: str = "buffer of --also") -> list[Key]:
    """Entries for the lines at buffers, with their markers if verdicts are not known, and for the other rules."""
    found = []
    for kind, text in {**KINDS, "also": also}.items():
        mine = [dot for dot in dots if dot.kind == kind]
        if mine:
            line = THROUGH[kind]
            plain = any(dot.state is None for dot in mine)
            look = Look(line.color, line.line, line.width, PLAIN[kind].marker if plain else "", 5.0)
            found.append(Key(text, look))
    if any(dot.kind == "norule" for dot in dots):
        found.append(Key("rule that does not apply", FOLDED))
    return found


def stem(end: float, row: int, series: str) -> Curve:
    """The line along a row from the left to its marker."""
    return Curve([(-inf, row), (end, row)], Look("stem", "solid", 0.9), series=series)
