"""Pictures of a recommendation: metrics against the buffer with rules, goals and the answer; one against another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from forebay.results.report import BufferSize
from forebay.storage.files import whole
from forebay.views.charts import averaged, neighboring
from forebay.views.decision import is_exact, likely, may_meet, measured
from forebay.views.headline import headline
from forebay.views.opening import opening
from forebay.views.recommendation_charts import OWN as OWN_NAME
from forebay.views.recommendation_charts import horizontal, metric_chart, rule_strip, shown_metrics, trade_chart
from forebay.views.rule_panel import (
    OWN,
    PALETTE,
    PanelRow,
    RuleLine,
    SpanLine,
    StateLine,
    draw_rules,
    height,
    state_style,
    style_of,
)
from forebay.views.scales import plain, spans_decades
from forebay.views.wording import count

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forebay.search.answer import Recommendation
    from forebay.views.charts import GoalLine, MetricChart, Point
    from forebay.views.decision import State
    from forebay.views.headline import Headline

__all__ = ["PALETTE", "band", "below_packets", "buffer_title", "draw_front", "draw_recommendation", "save", "save_both"]

ANSWER = "#007a59"
GOAL = "#b84a00"
#: Color of the range in which a buffer may meet all goals.
UNDECIDED = "#767676"
#: Colors of means and of single runs.
MEAN, RUN = PALETTE[0], "#5b9ecb"
#: Colors while the rate of a changing link is below its average, and while it is not.
PHASES = {"slow": PALETTE[3], "fast": PALETTE[5]}
#: Meaning of the marks of measured buffers.
STATE_WORDS: dict[State, str] = {
    "met": "meets all goals",
    "missed": "misses a goal",
    "undecided": "undecided",
}
#: Inches of a panel, and of a whole picture across.
PANEL, WIDTH = 1.7, 8.6


def save(found: Figure, path: Path) -> Path:
    """Write a figure; the file appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as partial:
        found.savefig(partial, dpi=130, format=path.suffix.removeprefix("."))
    return path


def save_both(found: Figure, stem: Path) -> list[Path]:
    """Write a figure as PNG, and as SVG beside it."""
    return [save(found, stem.with_suffix(".png")), save(found, stem.with_suffix(".svg"))]


def band(
    axis: Axes, points: Sequence[Point], *, color: str = PALETTE[0], marker: str = "o", label: str | None = None
) -> None:
    """A curve through the means with the 95 % intervals as a band, or as a bar if neighbors have none."""
    buffers, means = [point.buffer for point in points], [point.mean for point in points]
    _intervals(axis, points, color)
    axis.plot(buffers, means, color=color, marker=marker, markersize=3.5, linewidth=1.3, label=label)


def _intervals(axis: Axes, points: Sequence[Point], color: str) -> None:
    """The 95 % intervals of neighbors as a band, that of a point without neighbors as a bar."""
    for group in neighboring(points):
        at = [point.buffer for point in group]
        low, high = zip(*(point.interval for point in group if point.interval is not None), strict=True)
        if len(group) > 1:
            axis.fill_between(at, low, high, color=color, alpha=0.2, linewidth=0)
        else:
            axis.vlines(at, low, high, color=color, alpha=0.3, linewidth=5)


def _runs_and_means(axis: Axes, points: Sequence[Point]) -> None:
    """Single runs as dots, and the means over several runs with a line and a band; no line through a single run."""
    several = averaged(points)
    _intervals(axis, several, MEAN)
    runs = [(point.buffer, run) for point in points for run in (point.runs if point.averaged else (point.mean,))]
    if runs:
        axis.plot(*zip(*runs, strict=True), marker=".", markersize=5.5, linestyle="none", color=RUN, zorder=2.1)
    if several:
        means = [(point.buffer, point.mean) for point in several]
        axis.plot(*zip(*means, strict=True), color=MEAN, marker="o", markersize=4.2, linewidth=1.5, zorder=2.3)


def below_packets(last: BufferSize) -> tuple[str, Callable[[float], str]]:
    """Title and text of a second row of numbers: multiples of the bandwidth-delay product, or else milliseconds."""
    if last.bdp:
        factor, title = last.bdp / last.packets, "BDP"
    else:
        factor, title = 1e3 * last.seconds / last.packets, "ms"
    return title, lambda packets: plain(float(f"{packets * factor:.2g}"))


def buffer_title(below: str = "") -> str:
    """Title of an axis of buffers."""
    return f"buffer (packets that may wait{f'; below: {below}' if below else ''})"


def draw_recommendation(answer: Recommendation) -> Figure:
    """The decision and the rules along the axis of the buffer; below, utilization, loss and delay with the goals."""
    from forebay.views import canvas

    charts = [metric_chart(answer, name) for name in shown_metrics(answer)]
    rows = _rows(answer)
    handles = _legend(answer, charts)
    found, axes = canvas.figure(
        _heading(answer, "Buffer recommendation"),
        WIDTH,
        [PANEL] * len(charts),
        above=height(rows),
        below=canvas.legend_height(len(handles), 3),
    )
    with canvas.style():
        for axis, chart in zip(axes, charts, strict=True):
            for phase in chart.phases:
                at, low, high = zip(*phase.places, strict=True)
                axis.fill_between(at, low, high, color=PHASES[phase.kind], alpha=0.25, linewidth=0)
            if chart.between is not None:
                axis.axvspan(*chart.between, color=UNDECIDED, alpha=0.15, linewidth=0)
            _runs_and_means(axis, chart.points)
            canvas.title_axis(axis, chart.title, PANEL)
            _limits(axis, chart)
            _mark_goals(axis, chart)
        axes[0].set_xscale("log" if horizontal(answer).by_decades else "linear")
        axes[0].set_xlim(axes[0].get_xlim())
        title, second = _below(answer)
        axes[-1].set_xlabel(title)
    draw_rules(axes, rows, answer_color=ANSWER if answer.buffer is not None else GOAL)
    canvas.plain_axes(axes, second)
    canvas.legend(found, handles)
    return found


def _heading(answer: Recommendation, otherwise: str, details: int = 2) -> Headline:
    """The headline, and the opening of the answer with its first `details` paragraphs."""
    found = opening(answer)
    return replace(
        headline(answer.scenario.resolved, otherwise=otherwise),
        answer=found.answer,
        warnings=tuple(f"Warning: {warning}" for warning in found.warnings),
        details=found.paragraphs[:details],
    )


def _below(answer: Recommendation) -> tuple[str, Callable[[float], str] | None]:
    """Title of the horizontal axis, and the text below its numbers."""
    last = answer.points[-1].buffer
    if not isinstance(last, BufferSize):
        return horizontal(answer).title, None
    below, second = below_packets(last)
    return buffer_title(below), second


def _rows(answer: Recommendation) -> list[PanelRow]:
    """The rows: the decision, the configured and the requested buffers, rules that apply, other rules."""
    rows: list[PanelRow] = []
    text, best = "recommended", answer.buffer
    if best is None and answer.conflict is not None and answer.verdict != "undecided":
        text, best = "nearest miss", answer.conflict.compromise
    if best is not None:
        rows.append(RuleLine(f"{text}: {count(best)}", best.number, True, answer=True))
    for span, color in ((likely(answer), ANSWER), (may_meet(answer), UNDECIDED)):
        if span is not None:
            rows.append(SpanLine(span.name, span, color))
    states = measured(answer)
    if states:
        rows.append(StateLine("all goals met?", states))
    for dot in rule_strip(answer).dots:
        own, stands_out = dot.kind == "own", dot.kind != "norule"
        name = f"{dot.name}: {plain(dot.buffer)}" if own else dot.name
        rows.append(RuleLine(name, dot.buffer, stands_out, own=own))
    return rows


def _limits(axis: Axes, chart: MetricChart) -> None:
    """The chart's own vertical axis, as on the page."""
    vertical = chart.vertical(0, 1)
    if vertical.by_decades:
        axis.set_yscale("log", nonpositive="clip")
    axis.set_ylim(vertical.low, vertical.high)


def _mark_goals(axis: Axes, chart: MetricChart) -> None:
    """Each threshold as a line, shaded on the side of a miss, and in words above the panel."""
    from forebay.views import canvas

    low, high = axis.get_ylim()
    for goal in chart.goals:
        threshold = goal.threshold
        span = (low, min(high, threshold)) if goal.at_least else (max(low, threshold), high)
        if span[1] > span[0]:
            axis.axhspan(*span, color=GOAL, alpha=0.07, linewidth=0)
        axis.axhline(threshold, color=GOAL, linestyle="--", linewidth=1.1)
    if chart.goals:
        told = "; ".join(_goal(goal, chart.title) for goal in chart.goals)
        axis.set_title(
            canvas.cut(told, WIDTH - 2, canvas.SMALL), loc="right", fontsize=canvas.SMALL, color=GOAL, y=1, pad=3
        )
    axis.set_ylim(low, high)


def _goal(goal: GoalLine, title: str) -> str:
    unit = title[title.rindex("(") + 1 : -1] if title.endswith(")") else ""
    return f"goal {'≥' if goal.at_least else '≤'} {goal.threshold:g} {unit}".strip()


def _legend(answer: Recommendation, charts: Sequence[MetricChart]) -> list[Any]:
    """Handles that explain the lines and shades."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    points = [point for chart in charts for point in chart.points]
    handles: list[Any] = []
    if any(point.runs or not point.averaged for point in points):
        handles.append(Line2D([], [], color=RUN, marker=".", markersize=5.5, linestyle="none", label="single run"))
    if any(point.averaged for point in points):
        words = "exact value" if is_exact(answer.engine) else "mean of several runs"
        handles.append(Line2D([], [], color=MEAN, marker="o", markersize=4.2, label=words))
    if any(point.half_width is not None for point in points):
        handles.append(Patch(color=MEAN, alpha=0.2, label="95 % interval of the mean"))
    handles += [
        Patch(color=PHASES[phase.kind], alpha=0.25, label=phase.text) for chart in charts for phase in chart.phases
    ]
    if any(chart.goals for chart in charts):
        handles.append(Patch(color=GOAL, alpha=0.12, label="goal missed"))
    states = measured(answer)
    for state, words in STATE_WORDS.items():
        few = [each.few for each in states if each.state == state]
        if few:
            handles.append(Line2D([], [], **state_style(state, few=all(few)), label=words))
    if any(each.few for each in states):
        handles.append(Line2D([], [], linestyle="none", label="(hollow or thin: 1 or 2 runs)"))
    if any(named.name == OWN_NAME for named in answer.also):
        handles.append(Line2D([], [], color=OWN, marker="D", linestyle="--", markersize=5, label=OWN_NAME))
    sized = [rule for rule in answer.rules if rule.buffer is not None]
    return handles + rule_handles(
        applying=any(rule.applies for rule in sized), others=any(not rule.applies for rule in sized)
    )


def rule_handles(*, applying: bool, others: bool) -> list[Any]:
    """Handles that explain the lines and markers of rules."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"color": "#444444", "marker": "o", "markersize": 5, "linewidth": 0.9}
    handles = [Line2D([], [], label="rule", **style)] if applying else []
    if others:
        hollow: dict[str, Any] = {
            "markerfacecolor": "white",
            "linestyle": ":",
            "label": "rule that does not apply here",
        }
        handles.append(Line2D([], [], **(style | hollow)))
    return handles


def draw_front(answer: Recommendation) -> Figure:
    """One metric against another, a dot per buffer; the front connected, each rule in the legend."""
    from forebay.views import canvas

    trade = trade_chart(answer)
    points = [point for point in trade.points if point.kind in {"front", "mean"}]
    where = [(point.x, point.y) for point in points]
    best = sorted((point.x, point.y) for point in points if point.kind == "front")
    rules = [point for point in trade.points if point.kind in {"rule", "norule"}]
    found, (axis,) = canvas.figure(
        _heading(answer, "Trade-off", details=0),
        8.0,
        [4.4],
        below=canvas.legend_height(len(rules) + 2, 3),
    )
    with canvas.style():
        handles = list(
            axis.plot(*zip(*best, strict=True), color=PALETTE[0], linewidth=1.3, label="no buffer is better in both")
        )
        handles += axis.plot(
            *zip(*where, strict=True),
            "o",
            color=PALETTE[0],
            markersize=4,
            linestyle="none",
            label="measured buffer (in packets)",
        )
        for number, rule in enumerate(rules):
            color, _ = style_of(number)
            applies, rounds = rule.kind == "rule", number // len(PALETTE)
            handles += axis.plot(
                [rule.x],
                [rule.y],
                "D",
                color=color,
                fillstyle="full" if applies else "none",
                # The same color again: larger, so that of two at one place both are seen.
                markersize=6 + 3 * rounds,
                zorder=3 - 0.1 * rounds,
                linestyle="none",
                label=f"{rule.name}: {rule.buffer:,.0f}{'' if applies else ' (does not apply)'}",
            )
        if spans_decades(x for x, _ in where):
            axis.set_xscale("log")
        axis.set_xlabel(trade.across)
        canvas.title_axis(axis, trade.up, 4.4)
    canvas.plain_axes([axis])
    canvas.legend(found, handles)
    named = sorted(points, key=lambda point: (point.kind != "front", point.x))
    canvas.place(axis, [(point.x, point.y, f"{point.buffer:.0f}") for point in named], size=7.5, color="#444444")
    return found
