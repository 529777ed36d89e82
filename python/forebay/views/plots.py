"""Pictures: metrics against the buffer on a logarithmic axis, with bands, rules, goals and the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay.files import whole
from forebay.views.recommendation_charts import metric_chart, rule_strip, shown_metrics, trade_chart
from forebay.views.scales import spans_decades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forebay.report import BufferSize
    from forebay.search.answer import Recommendation
    from forebay.views.charts import GoalLine, MetricChart, Point

__all__ = ["PALETTE", "draw_front", "draw_recommendation", "save", "save_both"]

#: Okabe and Ito's colours, told apart with any colour vision.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
ANSWER = "#009E73"
GOAL = "#D55E00"


def figure(width: float, height: float, rows: int) -> tuple[Figure, list[Axes]]:
    """A figure of stacked panels that share their horizontal axis."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found, axes = plt.subplots(rows, 1, figsize=(width, height), sharex=True, squeeze=False, layout="constrained")
    for axis in axes[:, 0]:
        axis.grid(visible=True, which="major", color="#d8d8d8", linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
    return found, list(axes[:, 0])


def save(found: Figure, path: Path, *, close: bool = True) -> Path:
    """Write a figure and free it; the file appears complete or not at all."""
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as partial:
        found.savefig(partial, dpi=130, format=path.suffix.removeprefix("."))
    if close:
        plt.close(found)
    return path


def save_both(found: Figure, stem: Path) -> list[Path]:
    """Write a figure as PNG and as SVG beside it, then free it."""
    return [save(found, stem.with_suffix(".png"), close=False), save(found, stem.with_suffix(".svg"))]


def band(
    axis: Axes, points: Sequence[Point], *, color: str = PALETTE[0], marker: str = "o", label: str | None = None
) -> None:
    """A curve through the means with the 95 % interval as a band."""
    buffers, means = [point.buffer for point in points], [point.mean for point in points]
    axis.fill_between(
        buffers,
        [point.mean - point.half_width for point in points],
        [point.mean + point.half_width for point in points],
        color=color,
        alpha=0.2,
        linewidth=0,
    )
    axis.plot(buffers, means, color=color, marker=marker, markersize=3.5, linewidth=1.3, label=label)


def draw_recommendation(answer: Recommendation) -> Figure:
    """Utilisation, loss and delay against the buffer; the rules as marked lines; the goals and the answer."""
    curve = answer.curve
    charts = [metric_chart(answer, name) for name in shown_metrics(answer)]
    found, axes = figure(8.6, 2.4 + 2.0 * len(charts), len(charts))
    for axis, chart in zip(axes, charts, strict=True):
        band(axis, chart.points)
        axis.set_ylabel(chart.title)
        _limits(axis, chart)
        for goal in chart.goals:
            _mark_goal(axis, goal, chart.title)
    axes[0].set_xscale("log")
    axes[-1].set_xlabel("buffer (packets that may wait)")
    plain_ticks(axes[-1])
    strip = rule_strip(answer)
    marks = [
        (dot.buffer, dot.name, dot.kind == "rule")
        for dot in strip.dots
        if dot.kind in {"rule", "norule"} and strip.buffers[0] <= dot.buffer <= strip.buffers[-1]
    ]
    mark_rules(axes, marks)
    _mark_answer(axes, answer)
    second_scale(axes[-1], curve[-1].buffer)
    _legend(found, axes[0], with_bands=any(point.replications > 1 for point in curve))
    title = answer.scenario.title or "Buffer recommendation"
    found.suptitle(title, fontsize=11, x=0.01, ha="left")
    return found


def _limits(axis: Axes, chart: MetricChart) -> None:
    """Loss and delay span decades: a logarithmic axis where they do; utilisation ends just above 100 %."""
    if chart.limits is not None:
        axis.set_ylim(top=100.8)
        return
    values = [point.mean for point in chart.points] + [goal.threshold for goal in chart.goals]
    shown = [value for value in values if value > 0]
    if not spans_decades(shown):
        axis.set_ylim(bottom=0)
        return
    axis.set_yscale("log", nonpositive="clip")
    axis.set_ylim(bottom=min(shown) / 2, top=2 * max(shown))
    plain_decades(axis)


def plain_decades(axis: Axes) -> None:
    """Decades of a logarithmic vertical axis as numbers, not powers."""
    axis.yaxis.set_major_formatter(lambda number, _position: f"{number:g}")
    axis.tick_params(axis="y", which="minor", length=0)


def plain_ticks(axis: Axes) -> None:
    """Packets as numbers, not powers of ten."""
    axis.xaxis.set_major_formatter(lambda number, _position: f"{number:,.0f}" if number >= 1 else f"{number:g}")


def _mark_goal(axis: Axes, goal: GoalLine, title: str) -> None:
    threshold = goal.threshold
    low, high = axis.get_ylim()
    span = (low, min(high, threshold)) if goal.at_least else (max(low, threshold), high)
    if span[1] > span[0]:
        axis.axhspan(*span, color=GOAL, alpha=0.07, linewidth=0)
    axis.axhline(threshold, color=GOAL, linestyle="--", linewidth=1.1)
    unit = title[title.rindex("(") + 1 : -1] if title.endswith(")") else ""
    axis.annotate(
        f"goal {'≥' if goal.at_least else '≤'} {threshold:g} {unit}".strip(),
        xy=(1.0, threshold),
        xycoords=("axes fraction", "data"),
        xytext=(-3, 3),
        textcoords="offset points",
        ha="right",
        va="bottom",
        color=GOAL,
        fontsize=8,
        bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
    )
    axis.set_ylim(low, high)


def mark_rules(axes: Sequence[Axes], marks: Iterable[tuple[float, str, bool]]) -> None:
    """Vertical lines through all panels, named above the highest; rules of about the same buffer share a tag."""
    together: dict[float, list[tuple[str, bool]]] = {}
    for packets, name, applies in sorted(marks):
        for axis in axes:
            axis.axvline(packets, color="#444444", linestyle="-" if applies else ":", linewidth=0.9, alpha=0.8)
        near = next((at for at in together if abs(at - packets) <= 0.09 * packets), packets)
        together.setdefault(near, []).append((name, applies))
    for packets, names in together.items():
        names.sort(key=lambda each: not each[1])  # those that apply first
        axes[0].annotate(
            ", ".join(name for name, _ in names),
            xy=(packets, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            rotation=50,
            rotation_mode="anchor",
            ha="left",
            va="center",
            fontsize=8,
            color="#222222" if names[0][1] else "#8a8a8a",
        )


def _mark_answer(axes: Sequence[Axes], answer: Recommendation) -> None:
    found = answer.buffer
    text, color = "recommended", ANSWER
    if found is None and answer.conflict is not None:
        found = answer.conflict.compromise
        text, color = "nearest compromise", GOAL
    if found is None:
        return
    for axis in axes:
        axis.axvline(found.packets, color=color, linewidth=2.2, alpha=0.85)
    axes[0].annotate(
        f"{text}: {found.packets:.0f} packets",
        xy=(found.packets, 0.0),
        xycoords=("data", "axes fraction"),
        xytext=(5, 6),
        textcoords="offset points",
        color=color,
        fontsize=9,
        fontweight="bold",
        bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
    )


def _legend(found: Figure, axis: Axes, *, with_bands: bool) -> None:
    """Say what the lines and shades mean, below the panels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [Line2D([], [], color=PALETTE[0], marker="o", markersize=3.5, label="simulated mean")]
    if with_bands:
        handles.append(Patch(color=PALETTE[0], alpha=0.2, label="95 % interval"))
    if any(line.get_linestyle() == "--" for line in axis.figure.findobj(Line2D)):
        handles.append(Patch(color=GOAL, alpha=0.12, label="goal missed"))
    handles += [
        Line2D([], [], color="#444444", linewidth=0.9, label="rule"),
        Line2D([], [], color="#444444", linewidth=0.9, linestyle=":", label="rule that does not apply here"),
    ]
    found.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8, frameon=False)


def second_scale(axis: Axes, last: BufferSize) -> None:
    """The same buffers in multiples of the bandwidth-delay product, or in milliseconds without one."""
    if last.bdp:
        factor, title = last.bdp / last.packets, "buffer (BDP)"
    else:
        factor, title = 1e3 * last.seconds / last.packets, "buffer (ms)"

    def scaled(packets: Any) -> Any:
        return packets * factor

    def unscaled(shown: Any) -> Any:
        return shown / factor

    below = axis.secondary_xaxis(-0.34, functions=(scaled, unscaled))
    below.set_xlabel(title)
    below.xaxis.set_major_formatter(lambda number, _position: f"{number:g}")
    below.spines["bottom"].set_color("#888888")


def draw_front(answer: Recommendation) -> Figure:
    """One metric against another, a dot per buffer; the front connected, the rules named."""
    trade = trade_chart(answer)
    found, (axis,) = figure(8.0, 5.6, 1)
    points = [point for point in trade.points if point.kind in {"front", "mean"}]
    where = [(point.x, point.y) for point in points]
    best = sorted((point.x, point.y) for point in points if point.kind == "front")
    axis.plot(*zip(*best, strict=True), color=PALETTE[0], linewidth=1.3, label="no buffer is better in both")
    axis.plot(*zip(*where, strict=True), "o", color=PALETTE[0], markersize=4, label="measured buffer")
    for index, rule in enumerate(point for point in trade.points if point.kind in {"rule", "norule"}):
        axis.plot([rule.x], [rule.y], "D", color=GOAL, markersize=6, label="rule" if index == 0 else None)
        axis.annotate(rule.name, (rule.x, rule.y), xytext=(6, 6), textcoords="offset points", fontsize=8, color=GOAL)
    if spans_decades(x for x, _ in where):
        axis.set_xscale("log")
        plain_ticks(axis)
    last = (-1e9, -1e9)
    for (x, y), point in sorted(zip(where, points, strict=True), key=lambda pair: pair[0]):
        pixel = axis.transData.transform((x, y))
        if abs(pixel[0] - last[0]) > 30 or abs(pixel[1] - last[1]) > 14:  # else the labels would overlap
            axis.annotate(f"{point.buffer:.0f}p", (x, y), xytext=(4, -9), textcoords="offset points", fontsize=7)
            last = tuple(pixel)
    axis.set_xlabel(trade.across)
    axis.set_ylabel(trade.up)
    axis.legend(fontsize=8, frameon=False)
    found.suptitle(answer.scenario.title or "Trade-off", fontsize=11, x=0.01, ha="left")
    return found
