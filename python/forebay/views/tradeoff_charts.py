"""The charts of a trade-off: one metric against another, a dot for each measured buffer.

The buffers of which none is better in both metrics are joined. The picture names each rule that applies, and the page
has tooltips in place of names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from forebay.results.report import BufferSize
from forebay.text import formatting
from forebay.views import wording
from forebay.views.chart import MARKERS, Chart, Curve, Key, Look, Names, Panel, Series, Tip
from forebay.views.recommendation_charts import answer_heading
from forebay.views.rule_rows import FOLDED, OWN, PLAIN, folded_name
from forebay.views.scales import axis_title, filled, tick_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forebay.results.report import Estimate
    from forebay.search.answer import Recommendation
    from forebay.search.value import Quantity

__all__ = ["front_chart", "trade_chart"]

#: Height of the panel in a picture, in points.
HEIGHT = 300.0
#: The front, the buffers behind it, and the answer.
FRONT, OTHER = Look("blue", "dashed", 1.5, "o", 5.0), Look("blue", marker="o", size=5.0, opacity=0.5)
ANSWER = Look("green", marker="o", size=8.0)
#: Colors of rules, other than those of measured buffers and of the answer.
RULES = ("pink", "amber", "sky", "orange")


@dataclass(frozen=True, slots=True)
class _Plane:
    """The two metrics, vertical first, with the factors to the units of their axes."""

    keys: tuple[str, str]
    factors: tuple[float, float]

    def place(self, found: Mapping[str, Estimate]) -> tuple[float, float]:
        """The place of a buffer: across and up."""
        y, x = (factor * found[key].mean for key, factor in zip(self.keys, self.factors, strict=True))
        return x, y

    def dot(self, buffer: Quantity, found: Mapping[str, Estimate], look: Look, series: str, name: str = "") -> Curve:
        """A buffer as a point with its tip."""
        return Curve([self.place(found)], look, [self.tip(buffer, found, name)], series)

    def tip(self, buffer: Quantity, found: Mapping[str, Estimate], name: str = "") -> Tip:
        """The text of a buffer where a reader points."""
        stated = "".join(f"\n{wording.metric_title(key)} {formatting.estimate(key, found[key])}" for key in self.keys)
        return Tip(f"{buffer.number:g}", f"{f'{name}: ' if name else ''}{wording.sizes(buffer)}{stated}")


def trade_chart(answer: Recommendation, *, colored: bool = False) -> Chart:
    """One metric against another: the measured buffers, those of the rules, the answer; the front is connected.

    If `colored`, each rule that applies has a color of its own.
    """
    front = answer.pareto
    assert front is not None, "a trade-off that was asked for"
    keys, points = front.metrics, front.points
    (up, scale_y), (title, scale_x) = (axis_title(key, max(each.measured[key].mean for each in points)) for key in keys)
    plane = _Plane(keys, (scale_y, scale_x))
    ordered = sorted(points, key=lambda each: plane.place(each.measured))
    below, rule_legend = _rules(answer, plane, colored=colored)
    series: list[Series] = list(below)
    legend: list[Key] = []
    for kind, look, text in (("mean", OTHER, "another buffer"), ("front", FRONT, "no buffer is better in both")):
        mine = [each for each in ordered if each.on_front == (kind == "front")]
        if mine:
            tips = [plane.tip(each.buffer, each.measured) for each in mine]
            series.append(Curve([plane.place(each.measured) for each in mine], look, tips, kind))
            legend.insert(0, Key(text, look))
    for each in ordered:
        if answer.buffer is not None and each.buffer.number == answer.buffer.number:
            series.append(plane.dot(each.buffer, each.measured, ANSWER, "answer", "recommended"))
            legend.append(Key(f"recommended: {wording.count(each.buffer)}", ANSWER))
    by_front = sorted(ordered, key=lambda each: not each.on_front)
    series.append(Names([(*plane.place(each.measured), _short(each.buffer)) for each in by_front], "ink", "front"))
    shown = [point for each in series if isinstance(each, Curve) for point in each.points]
    across, vertical = filled(title, [x for x, _ in shown]), filled(up, [y for _, y in shown])
    return Chart(across, (Panel(vertical, tuple(series)),), f"{up} against {title}", None, [*legend, *rule_legend])


def _rules(answer: Recommendation, plane: _Plane, *, colored: bool) -> tuple[list[Series], list[Key]]:
    """The configured buffer and the rules with their entries of the legend: those that do not apply lie lowest."""
    rules = [(rule, rule.buffer) for rule in answer.rules if rule.buffer is not None]
    known = [(rule, buffer) for rule, buffer in rules if all(key in rule.measured for key in plane.keys)]
    others = [(rule, buffer) for rule, buffer in known if not rule.applies]
    series: list[Series] = [plane.dot(buffer, rule.measured, FOLDED, "norule", rule.name) for rule, buffer in others]
    legend = []
    for number, (rule, buffer) in enumerate((rule, buffer) for rule, buffer in known if rule.applies):
        # The same color again: larger, so that of two at one place both are seen.
        look = _colored(number) if colored else PLAIN["rule"]
        series.append(plane.dot(buffer, rule.measured, look, "rule", rule.name))
        legend.append(Key(f"{rule.name}: {wording.count(buffer)}", look))
    for named in answer.also:
        if named.name == OWN and all(key in named.measured for key in plane.keys):
            series.append(plane.dot(named.buffer, named.measured, PLAIN["own"], "own", OWN))
            legend.insert(0, Key(f"{OWN}: {wording.count(named.buffer)}", PLAIN["own"]))
    if others:
        legend.append(Key(folded_name(len(others)), FOLDED))
    return series, legend


def _colored(number: int) -> Look:
    """The look of a rule that applies: no two are alike."""
    again = number // len(RULES)
    return Look(RULES[number % len(RULES)], marker=MARKERS[(again + 2) % len(MARKERS)], size=7.0 + 2 * again)


def front_chart(answer: Recommendation) -> Chart:
    """The trade-off as a picture, each rule that applies in the legend."""
    found = trade_chart(answer, colored=True)
    (panel,) = found.panels
    heading = answer_heading(answer, "Trade-off", details=0)
    return replace(found, panels=(replace(panel, height=HEIGHT),), headline=heading)


def _short(buffer: Quantity) -> str:
    return f"{tick_text(buffer.number)}p" if isinstance(buffer, BufferSize) else tick_text(buffer.number)
