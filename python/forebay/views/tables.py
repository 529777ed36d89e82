"""What `recommend` prints, as rich tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from forebay import formatting
from forebay.formatting import USUAL
from forebay.views import wording
from forebay.views.configuration_text import configuration_lines
from forebay.views.heading import buffer_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from forebay.report import BufferSize
    from forebay.search.answer import (
        Front,
        JudgedGoal,
        JudgedRule,
        Recommendation,
        SearchCost,
        Side,
        Variation,
    )

__all__ = ["recommendation_view"]


def _buffer_cells(buffer: BufferSize | None) -> list[str]:
    if buffer is None:
        return ["–"] * 4
    bdp = "–" if buffer.bdp is None else f"{buffer.bdp:.3g}"
    milliseconds = f"{buffer.seconds * 1e3:.3g}" if buffer.seconds < 0.1 else f"{buffer.seconds * 1e3:.0f}"
    return [f"{buffer.packets:.0f}", formatting.size(buffer.bytes), milliseconds, bdp]


def _warning_lines(warnings: Iterable[str]) -> list[Text]:
    return [Text(f"warning: {warning}", style="yellow") for warning in warnings]


def recommendation_view(answer: Recommendation) -> RenderableType:
    """Every rule's buffer with what the simulation measured there, then the recommendation."""
    parts: list[RenderableType] = [_buffers_table(answer)]
    parts += _conflict_lines(answer) if answer.buffer is None else _answer_lines(answer, answer.buffer)
    for configuration in answer.configurations:
        parts += configuration_lines(configuration)
    if answer.sensitivity is not None:
        parts.append(_sensitivity_table(answer.sensitivity))
    if answer.pareto is not None:
        parts.append(_front_table(answer.pareto))
    parts += _reason_lines(answer.rules)
    parts += _warning_lines(answer.warnings)
    parts.append(_cost_line(answer.cost))
    return Group(*parts)


def _buffers_table(answer: Recommendation) -> Table:
    """The buffers of rules, those that were asked about and the answer, each with what was measured there."""
    shown = _shown(answer)
    table = Table(
        title="What each rule asks for, and what the simulation measured there" if answer.rules else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    table.add_column("rule")
    for heading in ("packets", "size", "ms", "BDP"):
        table.add_column(heading, justify="right")
    table.add_column("applies?")
    for name in shown:
        table.add_column(formatting.metric_title(name), justify="right")
    sized = [(rule.buffer.packets, rule) for rule in answer.rules if rule.buffer is not None]
    for _, rule in sorted(sized, key=lambda each: each[0]):
        applies = "yes" if rule.applies else "no"
        cells = [formatting.estimate(name, rule.measured.get(name)) for name in shown]
        style = None if rule.applies else "dim"
        table.add_row(escape(rule.name), *_buffer_cells(rule.buffer), applies, *cells, style=style)
    table.add_section()
    for named in sorted(answer.also, key=lambda named: named.buffer.packets):
        cells = [formatting.estimate(name, named.measured.get(name)) for name in shown]
        table.add_row(escape(named.name), *_buffer_cells(named.buffer), "", *cells)
    at = None if answer.buffer is None else answer.at(answer.buffer)
    if at is not None:
        cells = [formatting.estimate(name, at.metrics.get(name)) for name in shown]
        table.add_section()
        table.add_row("forebay", *_buffer_cells(at.buffer), "", *cells, style="bold green")
    return table


def _shown(answer: Recommendation) -> list[str]:
    """The usual metrics, then those that goals on the link are about."""
    keys = [answer.points[0].key(name) for name in answer.goals if "." not in name]
    return [*USUAL, *(key for key in keys if key is not None and key not in USUAL)]


def _cost_line(cost: SearchCost) -> Text:
    return Text(
        f"{cost.replications} replications at {cost.buffers} buffers, {cost.data_packets:,} data packets, "
        f"{cost.cpu_s:.1f} CPU seconds in {cost.wall_s:.1f} s",
        style="dim",
    )


def _goal_text(name: str, goal: JudgedGoal) -> str:
    sense = "≥" if goal.goal.sense == ">=" else "≤"
    measured = formatting.estimate(name, goal.measured)
    slack = formatting.value(name, abs(goal.slack)).replace(" %", " points")
    held = "" if goal.of is None else f", held in {goal.held} of {goal.of}"
    return (
        f"{formatting.metric_title(name)} {sense} {formatting.value(name, goal.goal.threshold)}: measured {measured}, "
        + (f"{slack} to spare" if goal.slack >= 0 else f"missed by {slack}")
        + held
    )


def _answer_lines(answer: Recommendation, buffer: BufferSize) -> list[Text]:
    lines = [
        Text(f"Recommended buffer{wording.whose(answer)}: {buffer_text(buffer)}", style="bold green"),
        Text(_claim(answer)),
    ]
    lines += [Text(line) for line in wording.around(answer)]
    for name, goal in answer.goals.items():
        lines.append(Text(f"  {_goal_text(name, goal)}{'   ← binding' if goal.binding else ''}"))
    return lines


def _claim(answer: Recommendation) -> str:
    """What the confidence is about: the average over replications, or the share of the draws."""
    over = "draws of what is uncertain" if answer.uncertain else "replications"
    fraction, standing = answer.fraction, wording.standing(answer)
    scope = f"on average over {over}" if fraction is None else f"in at least {100 * fraction.wanted:g} % of the draws"
    if answer.confidence is None:
        return f"{standing} {scope}; no confidence is stated: {wording.doubt(answer)}"
    confidence = f"{formatting.confidence(answer.confidence)} confidence"
    if fraction is not None and fraction.at_least is not None:
        return (
            f"{standing} {scope}, with {confidence}: {fraction.held} of {fraction.of} draws that the search had not "
            f"seen, so at least {100 * fraction.at_least:.1f} % (one-sided, {100 * fraction.confidence:g} %)"
        )
    return f"{standing} {scope}, with {confidence} (one-sided, over replications that the search had not seen)"


def _conflict_lines(answer: Recommendation) -> list[Text]:
    conflict = answer.conflict
    assert conflict is not None, "without an answer there is a reason"
    least, most = conflict.needs_at_least, conflict.needs_at_most

    def names(side: Side) -> str:
        return " and ".join(formatting.metric_title(name) for name in side.goals)

    met = all(goal.met for goal in answer.goals.values())
    verdict = (
        "No buffer was confirmed to meet all goals: they leave no margin." if met else "No buffer meets all goals."
    )
    lines = [Text(verdict, style="bold red")]
    if least.goals:
        lines.append(
            Text(f"  {names(least)}: missed even at {buffer_text(conflict.largest_tried)}, the largest buffer tried")
            if least.buffer is None
            else Text(f"  {names(least)} needs at least {buffer_text(least.buffer)}")
        )
    if most.goals:
        lines.append(
            Text(f"  {names(most)}: missed even at the smallest buffer")
            if most.buffer is None
            else Text(f"  {names(most)} allows at most {buffer_text(most.buffer)}")
        )
    if conflict.compromise is not None:
        lines.append(Text(f"Nearest compromise: {buffer_text(conflict.compromise)}", style="bold"))
        lines += [Text(f"  {_goal_text(name, goal)}") for name, goal in answer.goals.items()]
    return lines


def _reason_lines(rules: Sequence[JudgedRule]) -> list[Text]:
    """Why rules do not apply, and which of those that do ask for no buffer."""
    lines = []
    for rule in rules:
        if not rule.applies:
            lines.append(Text(f"{rule.name} does not apply: {rule.why}", style="dim"))
        elif rule.buffer is None:
            lines.append(Text(f"{rule.name} applies but asks for no buffer under these goals", style="dim"))
    return lines


def _sensitivity_table(entries: Iterable[Variation]) -> Table:
    """How the answer moves when something is 20 % off."""
    table = Table(title="When something is 20 % off", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("what")
    for heading in ("packets", "size", "ms", "BDP"):
        table.add_column(heading, justify="right")
    table.add_column("binding goal")
    for entry in entries:
        binding = "–" if entry.binding_goal is None else formatting.metric_title(entry.binding_goal)
        what = f"{entry.what} {100 * (entry.factor - 1):+.0f} %"
        if entry.recommendation is None:
            table.add_row(what, "none", "–", "–", "–", f"{binding} cannot be met", style="red")
        else:
            table.add_row(what, *_buffer_cells(entry.recommendation), binding)
    return table


def _front_table(front: Front) -> Table:
    """Measured buffers that no other beats in both metrics."""
    table = Table(title="Trade-off: no measured buffer is better in both", title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("packets", "size", "ms", "BDP"):
        table.add_column(heading, justify="right")
    for name in front.metrics:
        table.add_column(formatting.metric_title(name), justify="right")
    for point in front.points:
        if point.on_front:
            cells = [formatting.estimate(name, point.measured[name]) for name in front.metrics]
            table.add_row(*_buffer_cells(point.buffer), *cells)
    return table
