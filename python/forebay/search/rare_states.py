"""Rare states that decide a goal: the search makes runs longer, or states no confidence.

The runs of a search do not show such a state often enough. A state whose values are known before a run is simulated
has strata (`strata`). If another state has a cycle that is long compared with the measured time, runs are made longer,
as far as these stay affordable. The first lines of the output name the remaining states, and the answer is undecided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from forebay.inputs.goals import Goal
from forebay.results.warning import Kind, Warning
from forebay.scenario import Scenario
from forebay.search.overload import Overload
from forebay.text.formatting import duration

if TYPE_CHECKING:
    from forebay import _core

__all__ = ["Lengthened", "lengthened"]

#: Cycles of a random process without which a run does not show it, and those of a schedule, which are all alike.
CYCLES, CYCLES_OF_SCHEDULE = 3.0, 1.0
#: How many times as long as the scenario says a run may take, and how many packets it may carry where it is longer.
MOST_TIMES, MOST_PACKETS = 20.0, 2e7


@dataclass(frozen=True, slots=True)
class Lengthened:
    """A scenario whose runs show the cycles that it declares, as far as they may.

    Attributes
    ----------
    scenario : Scenario
        With a longer measured time where that helps.
    warnings : tuple of Warning
        The changed runs, and the states that no affordable run shows.
    decided : bool
        Whether every declared cycle is shown, so that runs carry a confidence.
    missed_later : tuple of Goal
        Goals that a run may meet although longer runs miss them.
    """

    scenario: Scenario
    warnings: tuple[Warning, ...]
    decided: bool
    missed_later: tuple[Goal, ...] = ()


def lengthened(scenario: Scenario) -> Lengthened:
    """Lengthen the runs of a scenario to the cycles that it declares and that no strata stand for.

    Without goals there is nothing that a state may decide.
    """
    if not scenario.goals:
        return Lengthened(scenario, (), decided=True)
    found, overload = _lengthened(scenario), Overload(scenario)
    return replace(found, warnings=(*found.warnings, *overload.warnings), missed_later=overload.goals)


def _lengthened(scenario: Scenario) -> Lengthened:
    """The same for the cycles alone."""
    warmup, measured = scenario.core.duration_s
    hidden = list(_hidden(scenario.core.random_states(), measured))
    if not hidden:
        return Lengthened(scenario, (), decided=True)
    required = max(_required_s(state) for state in hidden)
    packets = scenario.packets_per_second * (warmup + required)
    affordable = required <= MOST_TIMES * measured and packets <= MOST_PACKETS
    if not affordable:
        return Lengthened(scenario, tuple(_unseen(state, measured) for state in hidden), decided=False)
    names = _listed([state["phrase"] for state in hidden])
    text = f"{names} may decide the goals. A run therefore measures {duration(required)}, not {duration(measured)}."
    changed = scenario.changed(f"run.measure={required:.9g}s")
    values = {"measured_s": required, "whole_s": measured}
    return Lengthened(changed, (Warning(Kind.LENGTHENED, text, values=values),), decided=True)


def _hidden(states: Iterable[_core.RandomState], measured: float) -> Iterable[_core.RandomState]:
    """States that neither strata nor runs of the measured time show."""
    for state in states:
        cycle = state["cycle_s"]
        if not state["sampled"] and cycle is not None and _required_s(state) > measured:
            yield state


def _required_s(state: _core.RandomState) -> float:
    """Measured seconds that show a state: whole cycles of a schedule, several of a random process."""
    cycle = state["cycle_s"]
    if cycle is None or not math.isfinite(cycle):
        return math.inf
    return cycle * (CYCLES_OF_SCHEDULE if state["kind"] == "schedule" else CYCLES)


def _unseen(state: _core.RandomState, measured: float) -> Warning:
    """The warning that a state decides a goal although no run shows it."""
    text = f"{state['phrase']} may decide the goals. A run measures {duration(measured)} and does not show it."
    values = {"measured_s": measured, "cycle_s": state["cycle_s"] or 0.0}
    return Warning(Kind.RARE_STATE, text, subject=state["key"], values=values)


def _listed(phrases: Sequence[str]) -> str:
    """Phrases as the subject of a sentence; all but the first begin in lower case."""
    rest = [phrase[:1].lower() + phrase[1:] for phrase in phrases[1:]]
    return phrases[0] if not rest else f"{', '.join([phrases[0], *rest[:-1]])} and {rest[-1]}"
