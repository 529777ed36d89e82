"""Several buffers of one port as one place of a search, and the test of such a place on runs of its own.

A search names buffers by one whole number. `JointBuffers` gives each combination of buffers such a number, in
proportion to its packets. `JointSearch` puts a combination to fresh runs, as a search does with one buffer.
`class_sizing.py` decides which combinations are tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from forebay.inputs.goals import Goal
from forebay.results.report import BufferSize, Report
from forebay.scenario import Scenario
from forebay.search.buffer_variable import BufferVariable
from forebay.search.goal_test import mean_margin
from forebay.search.independence import different
from forebay.search.plan import Outcome
from forebay.search.smallest import Search
from forebay.search.words import Words, listed
from forebay.text.formatting import counted

__all__ = ["SERIES", "ClassBuffer", "JointBuffers", "JointSearch", "JointWords", "PortBuffers", "ScaledBuffers"]

#: Places per packet.
FINE = 1024
#: Added to the numbers of joint runs. No search of one buffer and no check reaches these numbers.
SERIES = 3 << 60
#: Runs at a refused combination that tell how far single runs deviate from their mean.
OFTEN = 4


@dataclass(frozen=True, slots=True)
class ClassBuffer(BufferVariable):
    """The buffer of one class, as one step of a joint sizing varies it.

    Attributes
    ----------
    step : str
        The name of the step among all steps, so that kept runs of two steps stay apart.
    """

    step: str = ""

    @property
    def identity(self) -> str:
        """The name of the runs among those of an interrupted sizing."""
        return f"{self.key}#{self.step}"


@dataclass(frozen=True, slots=True)
class ScaledBuffers(BufferVariable):
    """All buffers in the proportions in which they are configured.

    Attributes
    ----------
    configured : mapping
        Packets of each buffer by its key. A place is the number of packets of the largest.
    """

    configured: Mapping[str, int] = field(default_factory=dict, compare=False)

    @property
    def identity(self) -> str:
        """The name of the runs among those of an interrupted sizing."""
        return "classes#scaled"

    def sizes(self, place: int) -> dict[str, int]:
        """Packets of each buffer by its key; at least one."""
        largest = max(self.configured.values())
        return {key: max(1, round(packets * place / largest)) for key, packets in self.configured.items()}

    def apply(self, packets: int) -> Scenario:
        """The scenario with every buffer scaled."""
        return _with_sizes(self.scenario, self.sizes(packets))


@dataclass(frozen=True, slots=True)
class JointBuffers(BufferVariable):
    """Combinations of buffers by their places.

    Attributes
    ----------
    at : dict
        Packets of each buffer by its key, for each place so far.
    """

    at: dict[int, Mapping[str, int]] = field(default_factory=dict, compare=False)

    @property
    def identity(self) -> str:
        """The name of the runs among those of an interrupted sizing."""
        return "classes"

    @property
    def is_target(self) -> bool:
        """False: no rule speaks of several buffers."""
        return False

    def place_of(self, sizes: Mapping[str, int]) -> int:
        """The place of a combination, a new one for a new combination."""
        for place, known in self.at.items():
            if known == sizes:
                return place
        place = FINE * sum(sizes.values())
        while place in self.at:
            place += 1
        self.at[place] = dict(sizes)
        return place

    def apply(self, packets: int) -> Scenario:
        """The scenario with the buffers of a place."""
        return _with_sizes(self.scenario, self.at[packets])

    def sized(self, packets: int) -> BufferSize:
        """All buffers of a place together, in every unit."""
        changed = self.apply(packets).core
        parts = [changed.buffer_of(key) for key in self.at[packets]]
        bdp = [part["bdp"] for part in parts]
        return BufferSize(
            packets=sum(part["packets"] for part in parts),
            bytes=sum(part["bytes"] for part in parts),
            seconds=sum(part["seconds"] for part in parts),
            bdp=None if None in bdp else sum(each for each in bdp if each is not None),
        )


@dataclass(frozen=True, slots=True)
class PortBuffers:
    """The buffers of one port, from which each step of a sizing takes its variable.

    Attributes
    ----------
    scenario : Scenario
        The scenario with the configured buffers.
    """

    scenario: Scenario

    def with_sizes(self, sizes: Mapping[str, int]) -> Scenario:
        """Set several buffers, each in packets by its key."""
        return _with_sizes(self.scenario, sizes)

    def of_class(self, key: str, step: str, others: Mapping[str, int]) -> ClassBuffer:
        """The buffer of one class while the others have given sizes, in packets by their keys."""
        return ClassBuffer(self.with_sizes(others), key, step)

    def scaled(self, configured: Mapping[str, int]) -> ScaledBuffers:
        """All buffers in the configured proportions."""
        return ScaledBuffers(self.scenario, "classes", configured)

    @property
    def joint(self) -> JointBuffers:
        """Combinations of buffers, none so far."""
        return JointBuffers(self.scenario, "classes")


def _with_sizes(scenario: Scenario, sizes: Mapping[str, int]) -> Scenario:
    core = scenario.core
    for key, packets in sizes.items():
        core = core.with_buffer(key, packets)
    return scenario.with_core(core)


class JointWords(Words):
    """Words for combinations of buffers.

    Parameters
    ----------
    at : mapping
        The combinations by their places.
    """

    noun = "combination of buffers"

    def __init__(self, at: Mapping[int, Mapping[str, int]]) -> None:
        self._at = at

    def in_words(self, *buffers: int) -> str:
        """One or some of them as part of a sentence."""
        return listed(self.counted(place) for place in buffers)

    def counted(self, buffer: int) -> str:
        """One as progress shows it."""
        return f"{counted(round(self.value(buffer)), 'packet')} in total"

    def value(self, buffer: int) -> float:
        """The packets of all buffers together."""
        return sum(self._at[buffer].values())


class JointSearch(Search):
    """The test of combinations on fresh runs; its parameters are those of `SearchState`.

    The total of a combination does not order combinations: a larger one may have a smaller buffer of one class. The
    evidence on a combination therefore comes from its own runs and from the scatter at refused combinations.
    """

    def test(self, place: int, outcome: Outcome) -> bool:
        """Put a combination to fresh runs; write the outcome if they confirm it, else the goal that refuses it."""
        confirmed = self.confirms(place, outcome)
        if not confirmed:
            outcome.binding = outcome.notes[-1].subject
        return confirmed

    @property
    def attempts(self) -> int:
        """Combinations that were put to the test."""
        return self._attempts

    def refused_goals(self, place: int, weakest: str | None) -> list[Goal]:
        """The goals that the runs at a refused combination miss on average, and the one that refused it."""
        reports = self.samples[place]
        return [goal for goal in self.goals if goal.key == weakest or mean_margin(goal, reports) < 0]

    def _measured(self, buffers: Sequence[int], *, fresh: bool) -> list[Report]:
        """Another run at each combination, with a number that no search of one buffer has."""
        pairs = []
        for place in buffers:
            pairs.append((place, SERIES + self.plan.number(place, self._taken[place, fresh], fresh=fresh)))
            self._taken[place, fresh] += 1
        return self.measure(pairs) if pairs else []

    def easier(self, buffer: int, goal: Goal, *, needs_larger: bool) -> Iterator[float]:
        """Yield nothing: no combination is known to be easier than another."""
        del buffer, goal, needs_larger
        yield from ()

    def deviations(self, buffer: int, goal: Goal) -> Iterator[float]:
        """Deviations of single runs from their mean at refused combinations."""
        for at in sorted(self._refused - {buffer}):
            reports = self.samples[at]
            if len(reports) >= OFTEN:
                mean = reports.mean_margin(goal)
                yield from (margin - mean for margin in reports.margins(goal))

    def nearby_runs(self, buffer: int) -> int:
        """Different runs at the same combination."""
        return different(self.samples.get(buffer, ()))
