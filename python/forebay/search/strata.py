"""Strata: the values that a scenario's declared random states take in a replication, and how often they do.

A flood once in 300 s, or a draw in ten with thirty flows, is seldom part of the few runs of a search, and decides a
mean when it is. The engines say which values such states take in a replication before it is simulated. The search
therefore simulates one replication of each stratum and weights it by the stratum's probability (stratified sampling;
Cochran, Sampling techniques, 3rd edition, chapter 5). The draws of a replication stay what they are: strata only
choose which replications are simulated.

The probabilities are estimated from draws that are not simulated. Each observation at a buffer has draws of its own.
The error of the estimates is therefore part of the spread of the observations, and falls with their number.
Observations of one place at several buffers have the same draws, and so have those 64 places apart, which bounds the
time that draws take: all 64 together leave an error of 0.3 % for a stratum of 1600 draws each.

Many draws that are rare each may be frequent together. If they do not get strata of their own, their number in a
replication has strata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forebay.search.overlaps import States

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay import _core

__all__ = ["STREAM_BITS", "Strata", "strata"]

#: Bits of a replication number that count replications of one series; the bits above them name the series.
STREAM_BITS = 19
#: The bits of a number from here on do not name its buffer.
ABOVE_BUFFERS = 60
#: Number of places of a search that have draws of their own.
POOLS = 64
#: Replications that tell the probabilities of strata: an error of a fiftieth for a stratum of one in a hundred.
POPULATION = 65_536
#: The most occurrences that are drawn in all, which limits the replications, but not below this number.
OCCURRENCES, LEAST_POPULATION = 4e6, 4_096
#: Draws of the rarest stratum in an observation's draws, on average: an error of a fortieth. There are fewer if these
#: would have more occurrences than the limit, which take hundredths of a second.
DRAWN_OF_RAREST, LEAST_DRAWN, OCCURRENCES_DRAWN = 1600, 256, 1e5
#: The series that these replications are of, which no search reaches.
POPULATION_SERIES = (1 << 43) - 1
#: Strata at most; more of rare draws, because they may matter only together; and the smallest probability of one.
MOST, MOST_OF_RARE, RAREST = 6, 12, 2.5e-4
#: Shares of these that states with strata of their own have, where others have strata for the number of rare values.
SHARES = (2, 3, 6, 12)
#: Replications of the population at least that a stratum has.
LEAST_COUNT = 12
#: A state of few values is rare if one of its values is rarer than this.
RARE = 0.2
#: A state with so few values has a stratum for each.
FEW = 4
#: A state whose values have a larger skewness has a stratum for its tail, which begins at this quantile. There may be a
#: stratum for the tail of the tail, and so on, up to this depth.
SKEWED, TAIL, DEEPEST = 1.0, 0.8, 3
#: The same of states that are sums over many occurrences, whose strata are worth their runs only in the extreme.
SKEWED_SUMS = 2.0
SUMS = frozenset({"open_loop", "periodic"})
#: A smallest (or largest) value of at least this probability is a stratum: no flood at all, for example.
ALONE = 0.02
#: A skewed state with at most this number of values is parted at the widest gap between two of them.
DISCRETE = 32
#: Replications that are classified at once; more where a stratum is so rare that fewer would hardly have one of it.
CHUNK, LARGEST_CHUNK = 512, 4096


@dataclass(frozen=True, slots=True)
class _Series:
    """Replications of one series by stratum, as far as they were classified."""

    members: list[list[int]]

    @property
    def classified(self) -> int:
        """The number of classified replications."""
        return sum(map(len, self.members))


@dataclass(frozen=True, slots=True)
class _RareStates:
    """States that have rare values and no strata of their own.

    Attributes
    ----------
    members : tuple of (int, tuple of float, frozenset of int)
        Number of each state, the values at which its classes begin, and its rare classes.
    """

    members: tuple[tuple[int, tuple[float, ...], frozenset[int]], ...] = ()

    def with_rare_count(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of the states, and in a further column how many of these states have a rare value."""
        if not self.members:
            return values
        number = np.zeros(len(values))
        for state, cuts, rare in self.members:
            number += np.isin(np.searchsorted(cuts, values[:, state], side="right"), list(rare))
        return np.column_stack([values, number])


class Strata:
    """Strata of one scenario.

    Parameters
    ----------
    states : States
        The states of the scenario.
    cuts : sequence of (int, sequence of float)
        Number of a state, and the values at which its classes begin.
    merged : mapping
        Stratum of each combination of classes.
    weights : sequence of float
        Probability of each stratum in the population of which they were made.
    keys : sequence of str
        Keys of the states that have strata.
    drawn : int
        Draws that tell an observation the probabilities.
    others : _Others
        States of which only the number of rare values counts, in a column behind those of the states.
    """

    def __init__(
        self,
        states: States,
        cuts: Sequence[tuple[int, Sequence[float]]],
        merged: Mapping[tuple[int, ...], int],
        weights: Sequence[float],
        keys: Sequence[str],
        drawn: int = LEAST_DRAWN,
        others: _RareStates = _RareStates(),
    ) -> None:
        self._states, self._cuts, self._merged, self._rare_states = states, tuple(cuts), dict(merged), others
        #: Combinations that were seen when the strata were made; later ones are compared with these alone.
        self._seen = tuple(self._merged)
        self.weights, self.keys = tuple(weights), tuple(keys)
        self._drawn = drawn
        self._chunk = int(min(LARGEST_CHUNK, max(CHUNK, 1 / min(weights))))
        self._series: dict[int, _Series] = {}
        self._weights: dict[tuple[int, int], tuple[float, ...]] = {}

    def weights_of(self, number: int) -> tuple[float, ...]:
        """Probability of each stratum, estimated from separate draws for each observation.

        Parameters
        ----------
        number : int
            Number of the observation.
        """
        fresh = number >> STREAM_BITS & 1
        place, series = number % POOLS, 2 * (number >> ABOVE_BUFFERS) + fresh
        found = self._weights.get((place, series))
        if found is None:
            words = [self._states.core.seed, place, series]
            seed = int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0])
            first = POPULATION_SERIES << STREAM_BITS
            values = self._states.values(seed, range(first, first + self._drawn))
            counts = [0] * len(self.weights)
            for classes, count in zip(*_classified(self._cuts, self._rare_states.with_rare_count(values)), strict=True):
                counts[self._known(classes)] += count
            found = self._weights[place, series] = tuple(count / self._drawn for count in counts)
        return found

    def members(self, number: int) -> tuple[int, ...]:
        """The replications of one observation: one of each stratum.

        Parameters
        ----------
        number : int
            Number of the observation: its series in the upper bits, its place in the series in the lower `STREAM_BITS`.
        """
        first = number >> STREAM_BITS << STREAM_BITS
        place = number - first
        series = self._series.setdefault(first, _Series([[] for _ in self.weights]))
        while any(len(known) <= place for known in series.members):
            begin = first + series.classified
            numbers = range(begin, begin + self._chunk)
            values = self._states.values(self._states.core.seed, numbers)
            for each, stratum in zip(numbers, self._strata_of(values), strict=True):
                series.members[stratum].append(each)
        return tuple(known[place] for known in series.members)

    def _strata_of(self, values: NDArray[np.float64]) -> list[int]:
        """Stratum of each row of values; of a combination that was not seen before the nearest one's."""
        combinations, _, of_row = _combined(self._cuts, self._rare_states.with_rare_count(values))
        known = np.asarray([self._known(classes) for classes in combinations])
        return [int(stratum) for stratum in known[of_row]]

    def _known(self, classes: tuple[int, ...]) -> int:
        found = self._merged.get(classes)
        if found is None:
            nearest = min(self._seen, key=lambda known: (_distance(known, classes), known))
            found = self._merged[classes] = self._merged[nearest]
        return found


def strata(core: _core.Scenario) -> Strata | None:
    """Find the strata of a scenario's declared random states; None where none of them is rare or has few values.

    Parameters
    ----------
    core : forebay._core.Scenario
        With its seed.
    """
    known = States(core)
    states = known.listed
    if not states:
        return None
    first = POPULATION_SERIES << STREAM_BITS
    numbers = range(first, first + _within(OCCURRENCES, LEAST_POPULATION, core, states))
    values = known.values(core.seed, numbers)
    cuts, others = _parted(list(_refinements(states, values)), values)
    if not cuts:
        return None
    combinations, counts = _classified(cuts, others.with_rare_count(values))
    merged, weights = _merge(combinations, counts)
    if len(weights) < 2:
        return None
    chosen = {number for number, _ in cuts if number < len(states)} | {number for number, *_ in others.members}
    keys = list(dict.fromkeys(states[number]["key"] for number in sorted(chosen)))
    required = max(LEAST_DRAWN, round(DRAWN_OF_RAREST / min(weights)))
    drawn = min(required, _within(OCCURRENCES_DRAWN, LEAST_DRAWN, core, states))
    return Strata(known, cuts, merged, weights, keys, drawn, others)


def _parted(
    refinements: Sequence[_Refinement], values: NDArray[np.float64]
) -> tuple[list[tuple[int, Sequence[float]]], _RareStates]:
    """Choose the states that have strata of their own, and those of which only the number of rare values counts."""
    cuts = _chosen(refinements, values)
    if not _without_strata(refinements, cuts, values).members:
        return cuts, _RareStates()
    for share in SHARES:
        fewer = _chosen(refinements, values, share)
        others = _without_strata(refinements, fewer, values)
        with_rare = others.with_rare_count(values)
        number = _cuts(with_rare[:, -1], SKEWED)
        if not number:
            break
        both = [*fewer, (values.shape[1], number)]
        _, counts = _classified(both, with_rare)
        if sum(count >= _rarest(len(values)) * len(values) for count in counts) <= MOST_OF_RARE:
            return both, others
    return cuts, _RareStates()


def _without_strata(
    refinements: Sequence[_Refinement], cuts: Sequence[tuple[int, Sequence[float]]], values: NDArray[np.float64]
) -> _RareStates:
    """The states that have rare values and are not among the chosen ones."""
    chosen, found = {state for state, _ in cuts}, dict[int, tuple[int, tuple[float, ...], frozenset[int]]]()
    for each in refinements:
        if each.state in chosen or each.state in found or each.rarity >= RARE:
            continue
        classes = np.searchsorted(each.cuts, values[:, each.state], side="right")
        shares = np.bincount(classes, minlength=len(each.cuts) + 1) / len(values)
        rare = frozenset(number for number, share in enumerate(shares.tolist()) if share < RARE)
        found[each.state] = each.state, tuple(each.cuts), rare
    return _RareStates(tuple(found.values()))


def _within(occurrences: float, least: int, core: _core.Scenario, states: Sequence[_core.RandomState]) -> int:
    """The number of replications that draw about `occurrences`: `least` at least, the population at most."""
    whole = sum(core.duration_s)
    each = sum(1.0 if not state["cycle_s"] else 1.0 + whole / state["cycle_s"] for state in states)
    return int(min(POPULATION, max(least, occurrences / each)))


@dataclass(frozen=True, slots=True)
class _Refinement:
    """Classes that a state may have, in the order in which states get them.

    Attributes
    ----------
    rank : int
        Rare draws come first, other states of few values next, then tails and tails of tails.
    rarity : float
        Probability of the rarest class.
    state : int
        Number of the state.
    cuts : sequence of float
        Values at which the classes begin, the first left out.
    """

    rank: int
    rarity: float
    state: int
    cuts: Sequence[float]

    @property
    def most(self) -> int:
        """Strata that there may be with it."""
        return MOST_OF_RARE if self.rank == 0 else MOST


def _refinements(states: Sequence[_core.RandomState], values: NDArray[np.float64]) -> Iterator[_Refinement]:
    """Find the classes that states may have."""
    for number, state in enumerate(states):
        skewed = SKEWED_SUMS if state["kind"] in SUMS else SKEWED
        of_state, before = values[:, number], list[float]()
        few = np.unique(of_state).size <= DISCRETE
        for depth in range(1, DEEPEST + 1):
            cuts = _cuts(of_state, skewed, depth)
            if not cuts or cuts == before:
                break
            shares = np.bincount(np.searchsorted(cuts, of_state, side="right"), minlength=len(cuts) + 1)
            rarity = float(np.min(shares)) / of_state.size
            if rarity < _rarest(of_state.size):
                break
            rank = depth + 1 if not few or depth > 1 else 0 if rarity < RARE else 1
            yield _Refinement(rank, rarity, number, cuts)
            before = cuts


def _rarest(population: int) -> float:
    """Smallest probability of a stratum that a population tells."""
    return max(RAREST, LEAST_COUNT / population)


def _chosen(
    refinements: Sequence[_Refinement], values: NDArray[np.float64], share: int = 1
) -> list[tuple[int, Sequence[float]]]:
    """Give states their classes one after the other, as long as there are not too many strata, or a `share`-th of them.

    Draws whose values are rare come first, and every combination of their values has a stratum of its own: two rare
    draws may be harmless each and decide a mean together.
    """
    chosen: dict[int, Sequence[float]] = {}
    for each in sorted(refinements, key=lambda each: (each.rank, each.rarity, each.state)):
        refined = {**chosen, each.state: each.cuts}
        _, counts = _classified(sorted(refined.items()), values)
        if sum(count >= _rarest(len(values)) * len(values) for count in counts) <= each.most // share:
            chosen = refined
    return sorted(chosen.items())


def _classified(
    cuts: Sequence[tuple[int, Sequence[float]]], values: NDArray[np.float64]
) -> tuple[list[tuple[int, ...]], list[int]]:
    """Combinations of classes that occur, and how often they do."""
    combinations, counts, _ = _combined(cuts, values)
    return combinations, counts


def _combined(
    cuts: Sequence[tuple[int, Sequence[float]]], values: NDArray[np.float64]
) -> tuple[list[tuple[int, ...]], list[int], NDArray[np.intp]]:
    """Combinations of classes that occur, how often they do, and the number of each row's combination."""
    sizes = [len(where) + 1 for _, where in cuts]
    numbers = np.zeros(len(values), dtype=np.int64)
    for (state, where), size in zip(cuts, sizes, strict=True):
        numbers = numbers * size + np.searchsorted(where, values[:, state], side="right")
    found, of_row, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    combinations = zip(*(each.tolist() for each in np.unravel_index(found, sizes)), strict=True)
    return [tuple(each) for each in combinations], counts.tolist(), of_row


def _cuts(values: NDArray[np.float64], skewed: float, depth: int = 1) -> list[float]:
    """Values at which the classes of a state begin, without the first; empty if one class is enough.

    Parameters
    ----------
    values : array
        Values of the state.
    skewed : float
        Skewness from which a state of many values has classes.
    depth : int
        How many tails of tails there are.
    """
    distinct, counts = np.unique(values, return_counts=True)
    if distinct.size < 2:
        return []
    if distinct.size <= FEW:
        return [float(middle) for middle in (distinct[1:] + distinct[:-1]) / 2]
    deviation = float(np.std(values))
    skewness = float(np.mean((values - np.mean(values)) ** 3)) / deviation**3 if deviation > 0 else 0.0
    if abs(skewness) < skewed:
        return []
    if distinct.size <= DISCRETE and depth == 1:
        gap = int(np.argmax(np.diff(distinct)))
        return [float(distinct[gap : gap + 2].mean())]
    found: set[float] = set()
    rest = values
    for end, beside in ((0, 0), (-1, -2)):
        if counts[end] >= ALONE * values.size:
            found.add(float(distinct[[end, beside]].mean()) if end else float(distinct[:2].mean()))
            rest = rest[rest != distinct[end]]
    if rest.size >= ALONE * values.size:
        for level in range(1, depth + 1):
            share = (1 - TAIL) ** level
            tail = float(np.quantile(rest, 1 - share if skewness > 0 else share))
            if float(np.min(rest)) < tail < float(np.max(rest)):
                found.add(tail)
    return sorted(found)


def _merge(
    combinations: Sequence[tuple[int, ...]], counts: Sequence[int]
) -> tuple[dict[tuple[int, ...], int], list[float]]:
    """Strata of combinations of classes, the rarest joined with the nearest, and the probabilities of the strata."""
    groups = [([combination], count) for combination, count in zip(combinations, counts, strict=True)]
    total = sum(counts)
    while len(groups) > 1:
        groups.sort(key=lambda group: (group[1], group[0]))
        members, count = groups[0]
        if count >= _rarest(total) * total:
            break
        others = groups[1:]
        near = min(
            range(len(others)),
            key=lambda at: (min(_distance(one, two) for one in members for two in others[at][0]), others[at][1]),
        )
        others[near] = (others[near][0] + members, others[near][1] + count)
        groups = others
    groups.sort(key=lambda group: min(group[0]))
    strata_of = {combination: number for number, (members, _) in enumerate(groups) for combination in members}
    return strata_of, [count / total for _, count in groups]


def _distance(one: tuple[int, ...], two: tuple[int, ...]) -> int:
    """The distance of two combinations, in classes."""
    return sum(abs(a - b) for a, b in zip(one, two, strict=True))
