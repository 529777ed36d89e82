"""The picture of `compare`: utilization, loss and delay over the buffer; engines with bands, rules as marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from forebay.views import plots
from forebay.views.headline import headline
from forebay.views.rule_panel import RuleLine, draw_rules, height
from forebay.views.scales import axis_title, spans_decades

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forebay.comparison.answers import Comparison, RangePoint

__all__ = ["draw_comparison"]

PANELS = ("utilization", "loss_rate", "queue_delay_mean_s")
#: Height of each panel, in inches.
PANEL = 2.1
#: Color and marker of each engine; models take the remaining colors and markers, dashed.
ENGINES = {
    "packet": ("#0072B2", "o"),
    "fluid": ("#E69F00", "s"),
    "fluid (fitted)": ("#D55E00", "D"),
    "kernel": ("#6B4226", "P"),
}
MODELS = ("#009E73", "#CC79A7", "#56B4E9", "#7A5195", "#000000")
MODEL_MARKERS = ("^", "v", "x", "+", "*")
#: The scenario's own buffer.
OWN = "#999999"
LABELS = {
    "packet": "packet engine",
    "fluid": "fluid engine, as the scenario says",
    "fluid (fitted)": "fluid engine, fitted to the packets' synchronization",
    "kernel": "kernel engine, in real time",
}


def draw_comparison(found: Comparison) -> Figure:
    """Draw every answer over the buffer range.

    Parameters
    ----------
    found : Comparison
        With a curve of at least two buffers.

    Returns
    -------
    matplotlib.figure.Figure
        Three stacked panels that share the buffer axis.
    """
    from forebay.views import canvas

    curve = found.points
    names = list(dict.fromkeys(name for point in curve for name in point.answers))
    panels = [panel for panel in PANELS if any(panel in metrics for p in curve for metrics in p.answers.values())]
    rules = [
        RuleLine(rule.name, rule.packets, rule.applies)
        for rule in sorted(found.rules, key=lambda rule: (not rule.applies, rule.packets))
    ]
    styles = _styles(names)
    handles = _legend(names, styles, rules)
    figure, axes = canvas.figure(
        headline(found.scenario.resolved, otherwise="Comparison", buffer=found.buffer),
        plots.WIDTH,
        [PANEL] * len(panels),
        above=height(rules),
        below=canvas.legend_height(len(handles), 2),
    )
    with canvas.style():
        for axis, panel in zip(axes, panels, strict=True):
            _draw_panel(axis, panel, curve, styles)
            axis.axvline(found.buffer.packets, color=OWN, linewidth=4, alpha=0.5, zorder=0)
        axes[0].set_xscale("log")
        axes[0].set_xlim(axes[0].get_xlim())
        below, second = plots.below_packets(curve[-1].buffer)
        axes[-1].set_xlabel(plots.buffer_title(below))
    draw_rules(axes, rules, answer_color=OWN)
    canvas.plain_axes(axes, second)
    canvas.legend(figure, handles)
    return figure


def _styles(names: Sequence[str]) -> dict[str, tuple[str, str, str]]:
    """Color, marker and line style by name."""
    styles = {name: (*ENGINES[name], "-") for name in names if name in ENGINES}
    for number, name in enumerate(name for name in names if name not in ENGINES):
        styles[name] = (MODELS[number % len(MODELS)], MODEL_MARKERS[number % len(MODEL_MARKERS)], "--")
    return styles


def _draw_panel(
    axis: Axes, panel: str, curve: Sequence[RangePoint], styles: Mapping[str, tuple[str, str, str]]
) -> None:
    """One metric: every answer that has it."""
    from forebay.views import canvas

    measured = [found for point in curve for name in styles if (found := point.estimate(name, panel)) is not None]
    title, scale = axis_title(panel, max(found.mean for found in measured))
    shown = []
    for name, (color, marker, line) in styles.items():
        at = [(point, found) for point in curve if (found := point.estimate(name, panel)) is not None]
        if not at:
            continue
        buffers = [point.buffer.packets for point, _ in at]
        estimates = [found for _, found in at]
        means = [scale * found.mean for found in estimates]
        halves = [scale * (found.half_width or 0.0) for found in estimates]
        low = [mean - half for mean, half in zip(means, halves, strict=True)]
        high = [mean + half for mean, half in zip(means, halves, strict=True)]
        axis.fill_between(buffers, low, high, color=color, alpha=0.2, linewidth=0)
        width = 1.6 if name in ENGINES else 1.1
        axis.plot(buffers, means, color=color, marker=marker, markersize=4, linewidth=width, linestyle=line)
        shown += [mean for mean in means if mean > 0]
    canvas.title_axis(axis, title, PANEL)
    if panel == "utilization":
        axis.set_ylim(top=101.5)
    elif spans_decades(shown):
        axis.set_yscale("log", nonpositive="clip")
        axis.set_ylim(bottom=max(min(shown) / 2, max(shown) / 1e5), top=2 * max(shown))
    else:
        axis.set_ylim(bottom=0)


def _legend(names: Sequence[str], styles: Mapping[str, tuple[str, str, str]], rules: Sequence[RuleLine]) -> list[Any]:
    """Handles of engines, then of models, then of bands and vertical lines."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for name in names:
        color, marker, line = styles[name]
        label = LABELS.get(name, f"{name} (formula)")
        dashed: Literal["-", "--"] = "-" if line == "-" else "--"
        handles.append(Line2D([], [], color=color, marker=marker, markersize=4, linestyle=dashed, label=label))
    handles.append(Patch(color="#888888", alpha=0.3, label="95 % interval"))
    handles.append(Line2D([], [], color=OWN, linewidth=4, alpha=0.5, label="the scenario's buffer"))
    applying = [rule.applies for rule in rules]
    return handles + plots.rule_handles(applying=any(applying), others=not all(applying))
