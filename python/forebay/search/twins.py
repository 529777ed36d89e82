"""Twins of a search: runs at the answer with hosts that vary, if exact hosts stay in phase there.

A twin that gives another verdict on a goal takes the confidence away: the runs agree on a coincidence of phases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from forebay.engines import simulates_hosts
from forebay.measurement.twin import Twin, in_phase, twin_of, varied
from forebay.results.warning import Kind, Warning

if TYPE_CHECKING:
    from forebay.inputs.goals import Goal
    from forebay.results.report import Report
    from forebay.scenario import Scenario
    from forebay.search.measurements import Measurements, Variable

__all__ = ["VariedHosts", "one_message", "twin_at"]

Place = TypeVar("Place")

#: Fewest runs of a twin, without which it has no interval.
FEWEST = 2
#: Warnings about the phases of exact hosts.
OF_PHASES = frozenset({Kind.PHASE_EFFECT, Kind.TIED_ROUND_TRIPS, Kind.SIMULTANEOUS_EVENTS})


@dataclass(frozen=True, slots=True)
class VariedHosts:
    """The change of another `variable`, with hosts that vary."""

    variable: Variable

    @property
    def scenario(self) -> Scenario:
        """The scenario that the other variable varies."""
        return self.variable.scenario

    @property
    def identity(self) -> str:
        """The name of the runs among those of an interrupted search."""
        return f"{self.variable.identity} with varied hosts"

    def snapped(self, place: int, /) -> int:
        """The number that stands for the same value."""
        return self.variable.snapped(place)

    def apply(self, place: int, /) -> Scenario:
        """The scenario with the value for which a number stands, and with hosts that vary."""
        return self.scenario.with_core(varied(self.variable.apply(place).core))


def twin_at(
    measure: Measurements, place: int, reports: Sequence[Report], buffer: Place, goals: Sequence[Goal]
) -> tuple[Twin[Place] | None, Measurements | None]:
    """Run the twin of some runs at a buffer, if exact hosts stay in phase in these.

    Parameters
    ----------
    measure : Measurements
        The measurements that made the runs. Those of the twin have the same seeds, the same storage and the same time
        limit.
    place : int
        The number of the buffer in the search.
    reports : sequence of Report
        The runs.
    buffer : BufferSize or Value
        The value for which the number stands.
    goals : sequence of Goal
        Goals of the search.

    Returns
    -------
    tuple of (Twin or None, Measurements or None)
        The twin, and its measurements if it ran. No twin if fewer than two runs ended in time.
    """
    if not simulates_hosts(measure.engine) or not in_phase(reports):
        return None, None
    chosen = {id(report) for report in reports}
    place = measure.variable.snapped(place)
    pairs = sorted(pair for pair, report in measure.reports.items() if pair[0] == place and id(report) in chosen)
    if len(pairs) < FEWEST:
        return None, None
    companion = measure.alongside(VariedHosts(measure.variable))
    companion.expect(len(pairs))
    try:
        companion(pairs)
    except TimeoutError:
        # The runs that ended in time count.
        if measure.means.resumption is not None:
            measure.means.resumption.unfinished()
    theirs = companion.at(place)
    scenario = measure.variable.apply(place).core
    twin = twin_of(scenario, buffer, reports, theirs, goals) if len(theirs) >= FEWEST else None
    return twin, companion


def one_message(found: Sequence[Warning], twin: Twin[Any] | None, place: str) -> tuple[Warning, ...]:
    """The warnings with one message about phases: that of the twin, else that about the round trips.

    Parameters
    ----------
    found : sequence of Warning
        Every warning of an answer.
    twin : Twin or None
        The twin at the answer, if it ran.
    place : str
        The buffer of the twin as part of a sentence.
    """
    if twin is not None:
        return (*(each for each in found if each.kind not in OF_PHASES), twin.warning(place))
    values = {each.kind for each in found}
    if Kind.PHASE_EFFECT in values or Kind.TIED_ROUND_TRIPS in values:
        return tuple(each for each in found if each.kind is not Kind.SIMULTANEOUS_EVENTS)
    return tuple(found)
