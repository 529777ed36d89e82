"""The common text of sizings of several values: how sure they are, the goals, the link, and the warnings.

`class_sizing_text` and `port_sizing_text` print it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.results.warning import Kind
from forebay.search.unmeasured import is_unmeasured
from forebay.text import formatting
from forebay.text.formatting import counted
from forebay.views.answer_sentences import goal_text, margin, percent, weighty
from forebay.views.fitting import Column, Grid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forebay.results.warning import Warning
    from forebay.search.class_answer import ClassSizing
    from forebay.search.port_answer import PortSizing

__all__ = ["goals_grid", "link_text", "split_warnings", "sureness"]

#: Kinds of warnings about the course of the search, and about metrics of no goal.
STORY = frozenset({Kind.REFUSED, Kind.METRIC_LEFT_OUT})


def sureness(answer: ClassSizing | PortSizing, goals: str) -> str:
    """How sure it is that the values meet `goals`, such as "all goals", together."""
    runs = counted(answer.runs, "run")
    if answer.confidence is None:
        why = "the scenario has assumed values" if is_unmeasured(answer.warnings) else "the runs hardly differ"
        return f"Together they meet {goals} in these runs (no confidence: {why})."
    if answer.confidence < answer.level or any(warning.kind is Kind.QUICK for warning in answer.warnings):
        return f"Together they probably meet {goals} ({percent(answer.confidence)} confidence, {runs})."
    return f"Together they meet {goals} with at least {percent(answer.level)} confidence ({runs})."


def goals_grid(answer: ClassSizing | PortSizing) -> Grid:
    """Each goal with its metric and its margin, with all values together."""
    goals = list(answer.goals.values())
    return Grid(
        [Column("goal", [goal_text(each) for each in goals], number=False)],
        [
            Column("measured", [formatting.estimate(each.goal.name, each.measured) for each in goals]),
            Column("margin", [margin(each) for each in goals]),
        ],
        ["" if each.met else "red" for each in goals],
    )


def link_text(answer: ClassSizing | PortSizing, names: Iterable[str]) -> str:
    """Those of some metrics of the link that were measured, in a sentence."""
    texts = [
        f"{formatting.metric_title(name)} {formatting.value(name, answer.metrics[name].mean)}"
        for name in names
        if name in answer.metrics
    ]
    return f"On the link: {', '.join(texts)}."


def split_warnings(answer: ClassSizing | PortSizing, *, everything: bool) -> tuple[list[Warning], list[Warning]]:
    """The urgent warnings, the weightiest first, and the others; `everything` includes those about the search."""
    hidden = frozenset() if everything else STORY
    if not answer.feasible:
        # The sentence above gives the reason.
        hidden |= {Kind.TIME_OVER}
    return weighty(answer.warnings), [each for each in answer.warnings if not each.urgent and each.kind not in hidden]
