"""The true state of every buffer of a scenario: whether all goals hold there in the mean.

`python -m checks.coverage.truth` computes the true curves of the engine's scenarios with a seed that no search
uses, and stores them in `truth.json` with their standard errors. The study judges each search by them.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import itertools
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.coverage.families import CASES, Case
from checks.pages import selected
from forebay import _core
from forebay.inputs.goals import Goal, metric_value
from forebay.scenario import Scenario, run_jobs
from forebay.search.buffer_variable import BufferVariable
from forebay.search.planning import reach
from forebay.storage.files import write_atomically

__all__ = ["PATH", "SEED", "Curve", "Truth", "curve", "load", "of_means", "states"]

Floats = NDArray[np.float64]

#: File of the true curves.
PATH = Path(__file__).with_name("truth.json")
#: The seed of the true curves; those of searches are small numbers.
SEED = 7_305_202_611
#: Standard errors by which a mean has to clear its goal before the truth counts as known.
KNOWN = 2.0
#: Standard errors within which a buffer gets more replications.
NEAR = 4.0
#: Replications of each buffer at first and at most.
FIRST, MOST = 500, 64_000
#: All integers up to here are on the first grid; above, neighbors are at most this factor apart.
EVERY, COARSE = 16, 1.15
#: The largest factor between neighbors where the goals begin or cease to be met.
FINE = 1.02
#: Jobs of one batch.
BATCH = 4_000


@dataclass(frozen=True, slots=True)
class Curve:
    """The means of the metrics of one scenario over the buffer.

    Attributes
    ----------
    digest : str
        SHA-256 of the scenario without its goals, shortened.
    buffers : sequence of int
        Buffers in packets, in rising order.
    replications : sequence of int
        Replications at each buffer.
    means, errors : mapping from str to sequence of float
        The mean of each metric at each buffer, in its base unit, and its standard error; by the name that goals use.
    """

    digest: str
    buffers: Sequence[int]
    replications: Sequence[int]
    means: Mapping[str, Sequence[float]]
    errors: Mapping[str, Sequence[float]]

    def to_dict(self) -> dict[str, Any]:
        """Return the curve in the form of JSON, with numbers of six digits."""
        return {
            "digest": self.digest,
            "buffers": list(self.buffers),
            "replications": list(self.replications),
            "means": {name: [_short(value) for value in values] for name, values in self.means.items()},
            "errors": {name: [_short(value) for value in values] for name, values in self.errors.items()},
        }


@dataclass(frozen=True, slots=True)
class Truth:
    """Whether each buffer meets all goals in the mean.

    Attributes
    ----------
    states : array of int
        For each buffer from 1 packet on: 1 if all goals are met, -1 if one is missed, and 0 if the mean lies within two
        standard errors of a goal.
    likely : array of bool
        The same by the estimated means alone.
    """

    states: NDArray[np.int8]
    likely: NDArray[np.bool_]

    @property
    def largest(self) -> int:
        """The largest buffer, in packets."""
        return len(self.states)

    def meets(self, buffer: int) -> bool | None:
        """Return whether a buffer meets all goals; None if the truth is not known well enough."""
        state = int(self.states[min(buffer, self.largest) - 1])
        return None if state == 0 else state > 0

    def possible(self) -> bool | None:
        """Return whether any buffer meets all goals; None if the truth is not known well enough."""
        if (self.states > 0).any():
            return True
        return None if (self.states == 0).any() else False

    def minimum(self, answer: int) -> tuple[int, int, int] | None:
        """Return the smallest buffer that meets all goals, as seen from an answer.

        This is the lower end of the buffers without a gap that contain the answer. If the answer misses a goal, it is
        the lower end of the next such buffers above.

        Returns
        -------
        tuple of (int, int, int), or None
            The minimum is at least the first and at most the last; the second is the estimate. None if no buffer from
            the answer on meets all goals.
        """
        ends = (
            _lower_end(self.states >= 0, answer),
            _lower_end(self.likely, answer),
            _lower_end(self.states > 0, answer),
        )
        if ends[0] is None or ends[1] is None or ends[2] is None:
            return None
        return min(ends[0], ends[1]), ends[1], max(ends[1], ends[2])


def _lower_end(met: NDArray[np.bool_], answer: int) -> int | None:
    """Return the lower end of the buffers that meet, without a gap, about the answer or next above it."""
    place = min(answer, len(met)) - 1
    if not met[place]:
        above = np.flatnonzero(met[place:])
        return None if not len(above) else place + int(above[0]) + 1
    missed = np.flatnonzero(~met[:place])
    return 1 if not len(missed) else int(missed[-1]) + 2


def of_means(goals: Sequence[Goal], means: Mapping[str, Floats], errors: Mapping[str, Floats]) -> Truth:
    """Judge every buffer by the means of the metrics and their standard errors.

    Parameters
    ----------
    goals : sequence of Goal
        Goals that all have to hold.
    means, errors : mapping from str to array
        By the name of the metric, a value for each buffer from 1 packet on.
    """
    met, missed, likely = [], [], []
    for goal in goals:
        sign = 1.0 if goal.sense == ">=" else -1.0
        margin, slack = sign * (means[goal.name] - goal.threshold), KNOWN * errors[goal.name]
        met.append(margin >= slack)
        missed.append(margin < -slack)
        likely.append(margin >= 0.0)
    states = np.where(np.any(missed, axis=0), -1, np.where(np.all(met, axis=0), 1, 0)).astype(np.int8)
    return Truth(states, np.all(likely, axis=0))


def curve(case: Case) -> Curve:
    """Return the stored curve of an engine's scenario.

    Raises
    ------
    ValueError
        If there is none, or one of another scenario.
    """
    stored = _stored().get(case.name)
    if stored is None or stored.digest != digest(case):
        msg = f"truth.json has no curve of `{case.name}` as it is now: run python -m checks.coverage.truth"
        raise ValueError(msg)
    return stored


def load(case: Case) -> Truth:
    """Return the truth of an engine's scenario, interpolated over the logarithm of the buffer."""
    stored = curve(case)
    places = np.log(np.arange(1, stored.buffers[-1] + 1))
    at = np.log(stored.buffers)
    means = {name: np.interp(places, at, values) for name, values in stored.means.items()}
    # Neighbors share their random streams, so that their errors do not average out.
    errors = {name: _larger(places, at, np.asarray(values)) for name, values in stored.errors.items()}
    return of_means(case.scenario(SEED).goals, means, errors)


def _larger(places: Floats, at: Floats, values: Floats) -> Floats:
    """Return the larger of the values at the two neighbors of each place."""
    above = np.minimum(np.searchsorted(at, places), len(at) - 1)
    below = np.where(at[above] > places, np.maximum(above - 1, 0), above)
    found: Floats = np.maximum(values[above], values[below])
    return found


def _stored(path: Path = PATH) -> dict[str, Curve]:
    """Return the stored curves by the names of their scenarios."""
    if not path.exists():
        return {}
    return {name: Curve(**entry) for name, entry in json.loads(path.read_text(encoding="utf-8")).items()}


def digest(case: Case) -> str:
    """Return a digest that separates a scenario without its goals from another."""
    tables = {key: value for key, value in case.tables.items() if key != "goal"}
    return hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()[:16]


def _short(value: float) -> float:
    return float(f"{value:.6g}")


# Computing -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _State:
    """One state of a scenario that draws counts or starts from lists: its probability, and the scenario in it."""

    probability: float
    scenario: Scenario


def states(case: Case) -> list[_State]:
    """Return every combination of the numbers that a scenario draws from lists of choices; else the scenario alone.

    The true mean is the mean over the states by their probabilities. Runs of each state give it much more precisely
    than runs that draw the state, because few of these see a rare one.
    """
    found = [(path, values) for path, values in _choices(case.tables, ()) if path[-1] in {"count", "users", "start"}]
    drawn = [[(path, value, times, len(values)) for value, times in Counter(values).items()] for path, values in found]
    result = []
    for combination in itertools.product(*drawn):
        tables, probability = case.tables, Fraction(1)
        for path, value, times, of in combination:
            tables, probability = _with(tables, path, value), probability * Fraction(times, of)
        result.append(_State(float(probability), replace(case, tables=tables).scenario(SEED)))
    return result


def _choices(table: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], list[Any]]]:
    """Find the lists of choices in nested tables, each with its path."""
    entries = table.items() if isinstance(table, Mapping) else enumerate(table) if isinstance(table, list) else ()
    for key, value in entries:
        if key == "choice":
            yield path, value
        else:
            yield from _choices(value, (*path, key))


def _with(tables: Mapping[str, Any], path: Sequence[Any], value: Any) -> Mapping[str, Any]:
    """Return the tables with another value at a path."""
    changed = copy.deepcopy(dict(tables))
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


class _Sampling:
    """Replications of one scenario at more and more buffers, equally many of each of its states."""

    def __init__(self, case: Case) -> None:
        self.states = states(case)
        self.goals = case.scenario(SEED).goals
        #: The values of each metric by buffer and state.
        self.values: dict[int, list[dict[str, list[float]]]] = {}

    @property
    def buffers(self) -> list[int]:
        return sorted(self.values)

    def count(self, buffer: int) -> int:
        """Return how many replications of each state a buffer has."""
        return len(next(iter(self.values[buffer][0].values())))

    def sample(self, required: Mapping[int, int]) -> None:
        """Run replications until each state has at least the wanted number at each buffer."""
        for buffer, count in sorted(required.items()):
            of_states = self.values.setdefault(buffer, [{goal.name: [] for goal in self.goals} for _ in self.states])
            before = self.count(buffer)
            for state, known in zip(self.states, of_states, strict=True):
                core = state.scenario.with_packets(buffer).core
                for begin in range(before, count, BATCH):
                    numbers = range(begin, min(begin + BATCH, count))
                    for report in run_jobs([_core.Job(core, "packet", SEED, number) for number in numbers], 1):
                        for name, values in known.items():
                            values.append(metric_value(name, report))

    def mean(self, buffer: int, name: str) -> tuple[float, float]:
        """Return the mean of a metric over the states, and its standard error."""
        mean = variance = 0.0
        for state, known in zip(self.states, self.values[buffer], strict=True):
            found = np.asarray(known[name])
            mean += state.probability * float(found.mean())
            variance += state.probability**2 * float(found.var(ddof=1)) / len(found)
        return mean, math.sqrt(variance)

    def state(self, buffer: int, near: float) -> int:
        """Return 1 if all goals are met by `near` standard errors, -1 if one is missed by them, and else 0."""
        least = min(self._score(buffer, goal) for goal in self.goals)
        return -1 if least <= -near else 1 if least >= near else 0

    def _score(self, buffer: int, goal: Goal) -> float:
        """Return the margin of the mean in standard errors."""
        mean, error = self.mean(buffer, goal.name)
        margin = goal.margin(mean)
        if error == 0.0:
            return math.inf if margin >= 0 else -math.inf
        return margin / error


def compute(case: Case, cpu_s: float) -> Curve:
    """Compute the true curve of a scenario, in about `cpu_s` seconds of CPU time."""
    until = time.process_time() + cpu_s
    sampling = _Sampling(case)
    largest = reach(BufferVariable(case.scenario(SEED)).scale)[1]
    sampling.sample(dict.fromkeys(_grid(largest), FIRST))
    while time.process_time() < until:
        unclear = [buffer for buffer in sampling.buffers if sampling.state(buffer, NEAR) == 0]
        least = min((sampling.count(buffer) for buffer in unclear), default=MOST)
        if least >= MOST:
            break
        sampling.sample({at: 2 * least for at in unclear if sampling.count(at) == least})
    while between := _between(sampling):
        sampling.sample(between)
    names = [goal.name for goal in sampling.goals]
    found = {name: [sampling.mean(at, name) for at in sampling.buffers] for name in names}
    return Curve(
        digest(case),
        sampling.buffers,
        [sampling.count(at) * len(sampling.states) for at in sampling.buffers],
        {name: [mean for mean, _ in values] for name, values in found.items()},
        {name: [error for _, error in values] for name, values in found.items()},
    )


def _grid(largest: int) -> list[int]:
    """Return the first grid: every small buffer, then buffers at nearly equal ratios, and the largest."""
    grid, at = list(range(1, min(EVERY, largest) + 1)), float(min(EVERY, largest))
    while at * COARSE < largest:
        at *= COARSE
        grid.append(round(at))
    return sorted({*grid, largest})


def _between(sampling: _Sampling) -> dict[int, int]:
    """Return further buffers where the goals begin or cease to be met, with the replications that they need."""
    found = {}
    for low, high in itertools.pairwise(sampling.buffers):
        ends = sampling.state(low, KNOWN), sampling.state(high, KNOWN)
        if high - low > 1 and high > FINE * low and ends[0] != ends[1]:
            found[round(math.sqrt(low * high))] = min(sampling.count(low), sampling.count(high))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute the curves that are missing, or those whose names contain one of `--only`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="parts of names, separated by commas: compute these anew")
    parser.add_argument("--anew", action="store_true", help="compute all of them anew, half an hour")
    parser.add_argument("--seconds", type=float, default=35.0, help="CPU time of each scenario, about")
    options = parser.parse_args(arguments)
    cases = {case.name: case for case in CASES}
    done = {name: known for name, known in _stored().items() if name in cases}
    chosen = selected(cases, options.only)
    if not options.only and not options.anew:
        chosen = [name for name in chosen if name not in done or done[name].digest != digest(cases[name])]
    for number, name in enumerate(chosen, 1):
        begun = time.process_time()
        done[name] = compute(cases[name], options.seconds)
        _write(done, cases)
        took, runs = time.process_time() - begun, sum(done[name].replications)
        line = (
            f"coverage: {number} of {len(chosen)}: {name}: {len(done[name].buffers)} buffers, {runs} runs, {took:.0f} s"
        )
        print(line, file=sys.stderr, flush=True)
    return 0


def _write(curves: Mapping[str, Curve], order: Iterable[str]) -> None:
    """Write the curves, a line for each."""
    lines = (f"{json.dumps(name)}: {json.dumps(curves[name].to_dict())}" for name in order if name in curves)
    write_atomically(PATH, "{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    sys.exit(main())
