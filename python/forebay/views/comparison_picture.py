"""The picture of `compare`: utilisation, loss and delay over the buffer; engines with bands, rules as marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from forebay.views import plots
from forebay.views.scales import axis_title, spans_decades

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forebay.comparison.answers import Comparison, RangePoint

__all__ = ["draw_comparison"]

PANELS = ("utilization", "loss_rate", "queue_delay_mean_s")
#: Colour and marker of each engine; models take what is left, dashed.
ENGINES = {"packet": ("#0072B2", "o"), "fluid": ("#E69F00", "s"), "fluid (fitted)": ("#D55E00", "D")}
MODELS = ("#009E73", "#CC79A7", "#56B4E9", "#7A5195", "#000000")
MODEL_MARKERS = ("^", "v", "x", "+", "*")
#: The scenario's own buffer.
OWN = "#999999"
LABELS = {
    "packet": "packet engine",
    "fluid": "fluid engine, as the scenario says",
    "fluid (fitted)": "fluid engine, fitted to the packets' synchronization",
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
    curve = found.curve
    names = list(dict.fromkeys(name for point in curve for name in point.answers))
    panels = [panel for panel in PANELS if any(panel in metrics for p in curve for metrics in p.answers.values())]
    figure, axes = plots.figure(8.6, 2.9 + 2.35 * len(panels), len(panels))
    styles = _styles(names)
    for axis, panel in zip(axes, panels, strict=True):
        _draw_panel(axis, panel, curve, styles)
    for axis in axes:
        axis.axvline(found.buffer.packets, color=OWN, linewidth=4, alpha=0.5, zorder=0)
    axes[0].set_xscale("log")
    plots.plain_ticks(axes[-1])
    axes[-1].set_xlabel("buffer (packets that may wait)")
    marks = [
        (rule.packets, rule.name, rule.applies)
        for rule in found.rules
        if curve[0].buffer.packets <= rule.packets <= curve[-1].buffer.packets
    ]
    plots.mark_rules(axes, marks)
    if curve[-1].buffer.packets > 0:
        plots.second_scale(axes[-1], curve[-1].buffer)
    _legend(figure, names, styles, marks)
    figure.suptitle(found.scenario.title or "Comparison", fontsize=11, x=0.01, ha="left")
    return figure


def _styles(names: Sequence[str]) -> dict[str, tuple[str, str, str]]:
    """Colour, marker and line style by name."""
    styles = {name: (*ENGINES[name], "-") for name in names if name in ENGINES}
    for number, name in enumerate(name for name in names if name not in ENGINES):
        styles[name] = (MODELS[number % len(MODELS)], MODEL_MARKERS[number % len(MODEL_MARKERS)], "--")
    return styles


def _draw_panel(
    axis: Axes, panel: str, curve: Sequence[RangePoint], styles: Mapping[str, tuple[str, str, str]]
) -> None:
    """One metric: every answer that has it."""
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
    axis.set_ylabel(title)
    if panel == "utilization":
        axis.set_ylim(top=101.5)
    elif spans_decades(shown):
        axis.set_yscale("log", nonpositive="clip")
        axis.set_ylim(bottom=max(min(shown) / 2, max(shown) / 1e5), top=2 * max(shown))
        plots.plain_decades(axis)
    else:
        axis.set_ylim(bottom=0)


def _legend(
    figure: Figure,
    names: Sequence[str],
    styles: Mapping[str, tuple[str, str, str]],
    marks: Sequence[tuple[float, str, bool]],
) -> None:
    """Engines, then models, then what bands and vertical lines mean; below the panels."""
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
    if any(applies for _, _, applies in marks):
        handles.append(Line2D([], [], color="#444444", linewidth=0.9, label="buffer that a rule asks for"))
    if not all(applies for _, _, applies in marks):
        handles.append(
            Line2D([], [], color="#444444", linewidth=0.9, linestyle=":", label="the same, rule does not apply here")
        )
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=9, frameon=False)
