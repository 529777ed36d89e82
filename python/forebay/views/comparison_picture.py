"""The picture of `compare`: utilization, loss and delay over the buffer, with a row for each rule.

Engines have bands, and formulas are dashed. `chart_figure` draws the description.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from forebay.views.chart import Chart, Curve, Key, Look, Panel, Point, Series, interval_key, intervals
from forebay.views.headline import headline
from forebay.views.rule_rows import Dot, own_dot, rule_keys, rule_panel
from forebay.views.scales import Axis, axis_title, buffer_axis, share_axis, spans_decades

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from forebay.comparison.answers import Comparison, RangePoint

__all__ = ["comparison_chart", "draw_comparison"]

PANELS = ("utilization", "loss_rate", "queue_delay_mean_s")
#: Height of each panel, in points.
PANEL = 151.0
#: Look of each engine; models take the remaining colors and markers, dashed.
ENGINES = {
    "packet": Look("blue", "solid", 1.6, "o"),
    "fluid": Look("amber", "solid", 1.6, "s"),
    "fluid (fitted)": Look("orange", "solid", 1.6, "D"),
    "kernel": Look("#6b4226", "solid", 1.6, "P"),
}
MODELS = ("green", "pink", "sky", "#7a5195", "here")
MODEL_MARKERS = ("^", "v", "x", "+", "*")
LABELS = {
    "packet": "packet engine",
    "fluid": "fluid engine, settings of the scenario",
    "fluid (fitted)": "fluid engine, synchronization of the packet engine",
    "kernel": "kernel engine, in real time",
}


def draw_comparison(found: Comparison) -> Figure:
    """Draw every answer over the buffer range of a comparison, which has a curve of at least two buffers."""
    from forebay.views.chart_figure import draw

    return draw(comparison_chart(found))


def comparison_chart(found: Comparison) -> Chart:
    """Three stacked panels that share the buffer axis, below a row for each rule."""
    curve = found.points
    looks = _looks(curve)
    metrics = [name for name in PANELS if any(name in found for point in curve for found in point.answers.values())]
    across = buffer_axis([point.buffer.packets for point in curve], curve[-1].buffer)
    rules = sorted(found.rules, key=lambda rule: (not rule.applies, rule.packets))
    dots = [Dot(rule.name, rule.packets, "rule" if rule.applies else "norule") for rule in rules]
    dots.insert(0, own_dot(found.buffer.packets))
    rows, marks = rule_panel(dots, across)
    heading = headline(found.scenario.resolved, otherwise="Comparison", buffer=found.buffer)
    panels = [_panel(metric, curve, looks, marks) for metric in metrics]
    shown = {name for name in looks for metric in metrics if any(point.estimate(name, metric) for point in curve)}
    legend = [Key(_label(name, look), look) for name, look in looks.items() if name in shown]
    legend += [*interval_key(panels), *rule_keys(dots)]
    panels = [*rows, *panels]
    label = f"{heading.title}: engines and formulas over the buffer"
    return Chart(across, panels, label, heading, legend, columns=2)


def _looks(curve: Sequence[RangePoint]) -> dict[str, Look]:
    """Look of each answer by its name; no line leads through the single runs of an engine."""
    names = list(dict.fromkeys(name for point in curve for name in point.answers))
    models = [name for name in names if name not in ENGINES]
    looks = {
        name: Look(MODELS[at % len(MODELS)], "dashed", 1.1, MODEL_MARKERS[at % len(MODEL_MARKERS)])
        for at, name in enumerate(models)
    }
    for name, look in ENGINES.items():
        found = [each for point in curve if (each := point.estimate(name, PANELS[0])) is not None]
        looks[name] = replace(look, line="none") if any(each.half_width is None for each in found) else look
    return {name: looks[name] for name in names}


def _label(name: str, look: Look) -> str:
    """The legend's text of an answer."""
    if name not in LABELS:
        return f"{name} (formula)"
    return f"{LABELS[name]}, single runs" if look.line == "none" else LABELS[name]


def _panel(metric: str, curve: Sequence[RangePoint], looks: Mapping[str, Look], marks: Sequence[Curve]) -> Panel:
    """One metric: every answer that has it."""
    found = {
        name: [(point.buffer.packets, each) for point in curve if (each := point.estimate(name, metric)) is not None]
        for name in looks
    }
    title, scale = axis_title(metric, max(each.mean for at in found.values() for _, each in at))
    points = {
        name: [
            Point(packets, scale * each.mean, None if each.half_width is None else scale * each.half_width)
            for packets, each in at
        ]
        for name, at in found.items()
    }
    up = _vertical(metric, title, [point for each in points.values() for point in each])
    series: list[Series] = list(marks)
    for name, look in looks.items():
        series += intervals([each for each in points[name] if each.half_width], look.color)
        if points[name]:
            series.append(Curve([(each.x, each.mean) for each in points[name]], look))
    return Panel(up, series, PANEL)


def _vertical(metric: str, title: str, points: Sequence[Point]) -> Axis:
    means = [point.mean for point in points]
    tops = [point.mean + (point.half_width or 0.0) for point in points]
    if metric == "utilization":
        return share_axis(title, (point.mean - (point.half_width or 0.0) for point in points))
    if spans_decades(means):
        positive = [mean for mean in means if mean > 0]
        return Axis(title, max(min(positive) / 2, max(positive) / 1e5), 2 * max(positive), by_decades=True)
    return Axis(title, 0.0, 1.05 * max(tops) or 1.0)
