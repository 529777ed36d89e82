"""The verdicts of `conformance` as one HTML file, with pictures of the class beside built-in algorithms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.views.chart import Chart, Curve, Look, Panel
from forebay.views.conformance_text import answer_lines
from forebay.views.page_charts import Figure, Switch, figure, missing
from forebay.views.pages import Row, Table, render
from forebay.views.scales import Axis, filled, share_axis

if TYPE_CHECKING:
    from forebay.contract.answer import Conformance, Curves

__all__ = ["conformance_page"]

#: Looks of the class and of the two built-in algorithms beside it.
LOOKS = (("blue", "solid", 2.4), ("orange", "dashed", 1.4), ("green", "dotted", 1.6))
#: Names of the series in the style sheet of pages, in the same order.
SERIES = ("mine", "first", "second")
#: Kinds of rows in the style sheet, by verdict.
KINDS = {"pass": "met", "fail": "missed", "note": ""}


@dataclass(frozen=True, slots=True)
class ConformancePage:
    """The page, section by section."""

    title: str
    role: str
    parameters: str
    good: bool
    lines: tuple[str, ...]
    checks: Table
    reasons: tuple[str, ...]
    switches: tuple[Switch, ...]
    figures: tuple[Figure, ...]
    missing: str
    command: str
    sha256: str
    version: str


def conformance_page(found: Conformance, *, command: str) -> str:
    """Write the page.

    Parameters
    ----------
    found : Conformance
    command : str
        The command that reproduces it.

    Returns
    -------
    str
        The whole document.
    """
    rows = (
        Row((each.title, each.figure, each.allowed, each.verdict), kind=KINDS[each.verdict]) for each in found.checks
    )
    names = list(found.curves[0].series) if found.curves else []
    page = ConformancePage(
        title=found.place,
        role="Congestion control" if found.role == "controller" else "Queue discipline",
        parameters=", ".join(f"{name} = {value}" for name, value in found.parameters.items()),
        good=found.passed,
        lines=tuple(answer_lines(found)),
        checks=Table(("check", "figure", "allowed", "verdict"), tuple(rows)),
        reasons=tuple(f"{each.title}: {reason}" for each in found.checks for reason in each.reasons),
        switches=() if missing() else tuple(map(Switch, SERIES, names)),
        figures=tuple(figure(each.title, _chart(each)) for each in found.curves),
        missing=missing() if found.curves else "",
        command=command,
        sha256=found.sha256,
        version=found.version,
    )
    return render("conformance.html.j2", page)


def _chart(curves: Curves) -> Chart:
    """One picture: a line for each algorithm."""
    points = [point for each in curves.series.values() for point in each]
    across = filled(curves.across, (x for x, _ in points), by_decades=curves.by_decades)
    least, most = min(y for _, y in points), max(y for _, y in points)
    if curves.up.endswith("%"):
        up = share_axis(curves.up, [least]) if least > 50 else Axis(curves.up, 0.0, 101.5)
    else:
        up = Axis(curves.up, 0.0, most * 1.04 or 1.0)
    few = all(len(each) <= 12 for each in curves.series.values())
    drawn = [
        Curve(each, Look(color, dash, width, marker="o" if few else ""), series=series)  # type: ignore[arg-type]
        for each, (color, dash, width), series in zip(curves.series.values(), LOOKS, SERIES, strict=True)
    ]
    return Chart(across, (Panel(up, drawn),), f"{curves.title}: {', '.join(curves.series)}")
