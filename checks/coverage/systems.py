"""Systems whose true curve is known exactly, seen through noise of the kind of each family.

A system takes the place of the engine: the search requests (buffer, replication) pairs. The mean over
replications is a known function of the buffer, so that every answer can be judged without an error of the truth.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from checks.coverage.truth import Truth, of_means
from forebay.inputs.goals import Goal
from forebay.results import statistics
from forebay.results.report import Report
from forebay.search.plan import Outcome, Plan
from forebay.search.smallest import Search

__all__ = ["PLAN", "SYSTEMS", "Measured", "System", "search"]

#: The mean of a metric at a buffer, in packets.
Mean = Callable[[int], float]
#: Function that draws noise, on average 0; its factor depends on the mean.
Draw = Callable[[np.random.Generator], float]
#: Function from the mean to the scale of the noise.
Scale = Callable[[float], float]

#: The range of every system: a first look up to two bandwidth-delay products, and a ceiling of sixteen.
PLAN = Plan(smallest=1, largest=200, ceiling=1600, least=statistics.runs_for_confidence(0.95))
#: Metrics that have a unit after the name that goals use.
_UNITS = {"queue_delay_p99": "queue_delay_p99_s"}


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric of a system.

    Attributes
    ----------
    mean : callable
        The true mean at a buffer.
    draw : callable
        A draw of the noise, on average 0.
    scale : callable
        The factor of the noise, by the mean.
    """

    mean: Mean
    draw: Draw
    scale: Scale = lambda _mean: 1.0


@dataclass(frozen=True, slots=True)
class System:
    """A link whose curve is known.

    Attributes
    ----------
    family : str
        One of the families of the scenarios.
    name : str
        Unique among all scenarios and systems.
    goals : tuple of Goal
        Goals that all have to hold in the mean.
    metrics : mapping from str to Measured
        Metrics by the names that goals use.
    identical : bool
        Whether all replications at a buffer are the same.
    """

    family: str
    name: str
    goals: tuple[Goal, ...]
    metrics: Mapping[str, Measured]
    identical: bool = False

    def truth(self) -> Truth:
        """Return which buffers meet all goals."""
        buffers = range(1, PLAN.ceiling + 1)
        means = {name: np.array([metric.mean(at) for at in buffers]) for name, metric in self.metrics.items()}
        return of_means(self.goals, means, {name: np.zeros(len(buffers)) for name in means})

    def report(self, buffer: int, replication: int, seed: int) -> Report:
        """Return the report of one replication."""
        number = 0 if self.identical else replication
        random = np.random.default_rng((zlib.crc32(self.name.encode()), seed, buffer, number))
        metrics = {}
        for name, metric in self.metrics.items():
            mean = metric.mean(buffer)
            metrics[_UNITS.get(name, name)] = {"mean": mean + metric.scale(mean) * metric.draw(random)}
        return Report.of({"engine": "test", "metrics": metrics, "groups": []})


def search(system: System, seed: int) -> tuple[Outcome, int]:
    """Search on a system.

    Returns
    -------
    tuple of (Outcome, int)
        The outcome of the search, and the number of its replications.
    """
    requested = 0

    def measure(pairs: Sequence[tuple[int, int]]) -> list[Report]:
        nonlocal requested
        requested += len(pairs)
        return [system.report(buffer, replication, seed) for buffer, replication in pairs]

    return Search(measure, system.goals, PLAN).run(), requested


# Curves --------------------------------------------------------------------------------------------------------------


def _rising(edge: float, goal: float, low: float, high: float = 1.0) -> Mean:
    """Return a curve that rises from `low` towards `high` and reaches `goal` at a buffer of `edge` packets."""
    pace = edge / math.log((high - low) / (high - goal))
    return lambda buffer: high - (high - low) * math.exp(-buffer / pace)


def _falling(edge: float, goal: float, power: float) -> Mean:
    """Return a loss rate that falls as a power of the buffer and reaches `goal` at `edge` packets."""
    return lambda buffer: min(1.0, goal * (edge / buffer) ** power)


def _delay(buffer: int) -> float:
    """Return the delay of a full buffer, at half a millisecond a packet."""
    return 0.0005 * buffer


def _bump(buffer: int) -> float:
    """Return a curve that meets 0.9 from 30 packets on, misses it from 60 to 80, and meets it again."""
    dip = 0.06 * math.exp(-(((buffer - 70) / 12) ** 2))
    return _rising(30, 0.9, 0.6, 0.95)(buffer) - dip


def _teeth(buffer: int) -> float:
    """Return a curve that rises with teeth of eight packets."""
    return _rising(50, 0.9, 0.7)(buffer) + 0.012 * math.sin(2 * math.pi * buffer / 8)


def _hill(buffer: int) -> float:
    """Return a curve that meets 0.8 from 38 to 94 packets only."""
    return math.exp(-(math.log(buffer / 60) ** 2) / 0.9)


# Noise: on average 0 -------------------------------------------------------------------------------------------------


def _normal(random: np.random.Generator) -> float:
    return float(random.normal())


def _nothing(random: np.random.Generator) -> float:
    del random
    return 0.0


def _lognormal(sigma: float) -> Draw:
    return lambda random: math.exp(sigma * float(random.normal()) - sigma**2 / 2) - 1.0


def _pareto(shape: float) -> Draw:
    """Return Pareto draws of mean 1, less 1."""
    return lambda random: (shape - 1) / shape * (1.0 + float(random.pareto(shape))) - 1.0


def _student(degrees: int) -> Draw:
    return lambda random: float(random.standard_t(degrees))


def _jump(probability: float, part: float) -> Draw:
    """Return observations of a system that declares a rare state, which carries the `part` of the mean.

    The search makes them of strata: the weighted mean of a run without the rare state and a run with it.
    """

    def usual(random: np.random.Generator) -> float:
        return (1.0 - part) * (1.0 + 0.1 * float(random.normal()))

    def draw(random: np.random.Generator) -> float:
        rare = usual(random) + part / probability * (1.0 + 0.3 * float(random.normal()))
        return (1.0 - probability) * usual(random) + probability * rare - 1.0

    return draw


def _two(probability: float, high: float) -> Draw:
    """Return draws of two values: 1 + `high` with a probability, else the value that makes the mean 1; less 1."""
    low = -high * probability / (1 - probability)

    def draw(random: np.random.Generator) -> float:
        value = high if random.random() < probability else low
        return value + 0.02 * float(random.normal())

    return draw


def _exponential(random: np.random.Generator) -> float:
    return float(random.exponential()) - 1.0


def _share_of_time(random: np.random.Generator) -> float:
    """Return the time of a link in its bad state, which occurs a few times in a run, in units of the mean; less 1."""
    return float(sum(random.exponential() for _ in range(int(random.poisson(2.0))))) / 2.0 - 1.0


def _steps(random: np.random.Generator) -> float:
    """Return one of five values, as a few flows leave them."""
    return float(random.integers(-2, 3))


def _of(factor: float) -> Scale:
    return lambda _mean: factor


def _part(factor: float) -> Scale:
    return lambda mean: factor * mean


def _missing(factor: float) -> Scale:
    return lambda mean: factor * (1.0 - mean)


# Systems -------------------------------------------------------------------------------------------------------------

_USED, _LOSS = Goal("utilization", ">=", 0.9), Goal("loss_rate", "<=", 0.01)


def _system(family: str, name: str, goal: Goal, metric: Measured, *, identical: bool = False) -> System:
    return System(family, f"system: {name}", (goal,), {goal.name: metric}, identical)


SYSTEMS: Sequence[System] = (
    _system("smooth", "normal, little", _USED, Measured(_rising(80, 0.9, 0.7), _normal, _of(0.004))),
    _system("smooth", "normal, much", _USED, Measured(_rising(80, 0.9, 0.7), _normal, _of(0.02))),
    _system("smooth", "normal, fading", _USED, Measured(_rising(35, 0.9, 0.5), _normal, _missing(0.15))),
    System(
        "smooth",
        "system: normal, between two goals",
        (_USED, Goal("queue_delay_p99", "<=", 0.05)),
        {
            "utilization": Measured(_rising(60, 0.9, 0.7), _normal, _of(0.006)),
            "queue_delay_p99": Measured(_delay, _normal, _part(0.02)),
        },
    ),
    _system("heavy tails", "log-normal", _LOSS, Measured(_falling(70, 0.01, 1.2), _lognormal(1.0), _part(1.0))),
    _system("heavy tails", "Pareto", _LOSS, Measured(_falling(50, 0.01, 1.5), _pareto(2.5), _part(1.0))),
    _system("heavy tails", "Student's t", _USED, Measured(_rising(80, 0.9, 0.7), _student(3), _of(0.01))),
    _system("rare floods", "one in twenty", _LOSS, Measured(_falling(70, 0.01, 1.0), _jump(0.05, 0.8), _part(1.0))),
    _system("rare floods", "one in forty", _LOSS, Measured(_falling(90, 0.01, 1.0), _jump(0.025, 0.7), _part(1.0))),
    _system("rare floods", "one in a hundred", _LOSS, Measured(_falling(60, 0.01, 1.5), _jump(0.01, 0.5), _part(1.0))),
    _system("bimodal counts", "one in ten", _LOSS, Measured(_falling(60, 0.01, 0.8), _two(0.1, 8.0), _part(1.0))),
    _system("bimodal counts", "one in two", _LOSS, Measured(_falling(60, 0.01, 1.0), _two(0.5, 0.9), _part(1.0))),
    _system("bimodal counts", "four in five", _USED, Measured(_rising(70, 0.9, 0.7), _two(0.8, 0.25), _missing(1.0))),
    _system("lock-step", "identical", _USED, Measured(_rising(90, 0.9, 0.6), _nothing), identical=True),
    _system("lock-step", "nearly identical", _USED, Measured(_rising(90, 0.9, 0.6), _normal, _of(1e-6))),
    _system("lock-step", "two outcomes", _LOSS, Measured(_falling(40, 0.01, 1.5), _two(0.3, 0.2), _part(1.0))),
    _system("phase effects", "a dip", _USED, Measured(_bump, _normal, _of(0.004))),
    _system("phase effects", "teeth, identical", _USED, Measured(_teeth, _nothing), identical=True),
    _system("phase effects", "a hill", Goal("utilization", ">=", 0.8), Measured(_hill, _normal, _of(0.01))),
    _system(
        "changing links", "time in a bad state", _LOSS, Measured(_falling(60, 0.01, 1.2), _share_of_time, _part(0.9))
    ),
    _system("changing links", "exponential", _LOSS, Measured(_falling(60, 0.01, 1.0), _exponential, _part(1.0))),
    _system(
        "changing links",
        "exponential, downwards",
        _USED,
        Measured(_rising(60, 0.9, 0.7), lambda r: -_exponential(r), _of(0.02)),
    ),
    _system("few flows", "a step", _USED, Measured(lambda buffer: 0.8 if buffer < 70 else 0.95, _normal, _of(0.02))),
    _system("few flows", "five values", _USED, Measured(_rising(60, 0.9, 0.75), _steps, _of(0.01))),
    _system("few flows", "hardly above the goal", _USED, Measured(_rising(80, 0.9, 0.6, 0.906), _normal, _of(0.004))),
    _system("overload", "never enough", _USED, Measured(_rising(90, 0.85, 0.6, 0.88), _normal, _of(0.01))),
    _system("overload", "always enough", _USED, Measured(lambda _buffer: 0.97, _normal, _of(0.01))),
    _system("overload", "slow", Goal("loss_rate", "<=", 0.2), Measured(_falling(150, 0.2, 0.3), _normal, _part(0.05))),
)
