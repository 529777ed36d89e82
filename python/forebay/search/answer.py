"""What `recommend` answers: the buffer, how surely, what was measured on the way, and what it means for a router."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forebay.metric import key_among
from forebay.plain import plain
from forebay.report import BufferSize, Estimate
from forebay.rules import Assumption
from forebay.search.judgement import Judgement
from forebay.warning import Warning

if TYPE_CHECKING:
    from forebay.goals import Goal
    from forebay.scenario import Scenario

__all__ = [
    "Configuration",
    "Conflict",
    "CurvePoint",
    "Front",
    "FrontPoint",
    "Held",
    "JudgedGoal",
    "JudgedRule",
    "NamedBuffer",
    "Recommendation",
    "SearchCost",
    "Side",
    "UpperEnd",
    "Variation",
]

Metrics = Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class JudgedGoal:
    """A goal with what was measured at the answer, or at the nearest compromise.

    Attributes
    ----------
    goal : Goal
        What was asked for.
    held, of : int or None
        In how many of how many draws it holds, where the goals are about a share of them.
    at_packets : int
        The buffer.
    measured : Estimate
        The metric there.
    slack : float
        How far its mean is on the good side of the threshold.
    met : bool
        Whether the goal is met.
    confidence : float
        One-sided, that it is.
    binding : bool
        Whether it is what keeps the buffer from being smaller.
    """

    goal: Goal
    held: int | None
    of: int | None
    at_packets: int
    measured: Estimate
    slack: float
    met: bool
    confidence: float
    binding: bool

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON."""
        return {
            "held": self.held,
            "of": self.of,
            "sense": self.goal.sense,
            "threshold": self.goal.threshold,
            "at_packets": self.at_packets,
            "measured": plain(self.measured),
            "slack": self.slack,
            "met": self.met,
            "confidence": self.confidence,
            "binding": self.binding,
        }


@dataclass(frozen=True, slots=True)
class UpperEnd:
    """How far above the answer every goal holds: the last measured buffer, and the first that misses one."""

    buffer: BufferSize
    missed_at: BufferSize | None


@dataclass(frozen=True, slots=True)
class Held:
    """In how many of the draws all goals hold.

    Attributes
    ----------
    wanted : float
        The share that was asked for.
    held, of : int
        Draws.
    at_least : float
        Lower bound of the share, one-sided at `confidence`.
    confidence : float
        Of the bound.
    """

    wanted: float
    held: int
    of: int
    at_least: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Side:
    """Goals that ask for a large buffer, or for a small one, and what they need together; None for no buffer."""

    goals: tuple[str, ...]
    buffer: BufferSize | None


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why there is no answer: what each side needs, and the measured buffer that comes nearest."""

    needs_at_least: Side
    needs_at_most: Side
    compromise: BufferSize | None
    largest_tried: BufferSize


@dataclass(frozen=True, slots=True)
class JudgedRule:
    """What one rule says, and what was measured at its buffer.

    Attributes
    ----------
    name : str
        Of the model.
    buffer : BufferSize or None
        What it asks for, if anything.
    applies : bool
        Whether it fits more than half of the flows and everything else that it assumes may hold.
    why : str
        What speaks against it, or which part of the traffic it fits, or for it.
    assumptions : tuple of Assumption
        Each with its reason.
    predicted : mapping
        Metrics at the scenario's own buffer, by the formula.
    notes : tuple of str
        What to know of it.
    measured : mapping
        Metrics at its buffer, by simulation; empty where it was not simulated.
    share : float
        Of the flows, or of the load, that it fits.
    judgement : Judgement
        What it is worth here, by the simulation: `judgement.words` says it in short.
    """

    name: str
    buffer: BufferSize | None
    applies: bool
    why: str
    assumptions: tuple[Assumption, ...]
    predicted: Mapping[str, float]
    notes: tuple[str, ...]
    measured: Metrics
    share: float
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class NamedBuffer:
    """A buffer that somebody named, with what was measured there."""

    name: str
    buffer: BufferSize
    measured: Metrics


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One measured buffer: metrics of the link, and of each group by its name."""

    buffer: BufferSize
    replications: int
    metrics: Metrics
    groups: Mapping[str, Metrics]

    def key(self, goal_name: str) -> str | None:
        """The name with its unit of a metric, or "group.metric", that a goal names without; None if not measured."""
        group, dot, metric = goal_name.rpartition(".")
        key = key_among(metric, self.groups.get(group, {}) if dot else self.metrics)
        return f"{group}.{key}" if dot and key is not None else key

    def estimate(self, key: str) -> Estimate | None:
        """What was measured under a key that `key` gave; None where it was not."""
        group, dot, metric = key.rpartition(".")
        return (self.groups.get(group, {}) if dot else self.metrics).get(metric)


@dataclass(frozen=True, slots=True)
class SearchCost:
    """What a search cost: replications at so many buffers, and the sums over them."""

    replications: int
    buffers: int
    data_packets: int
    events: int
    cpu_s: float
    wall_s: float
    peak_rss_bytes: int


@dataclass(frozen=True, slots=True)
class Variation:
    """The answer when a property of the scenario is off by a factor."""

    what: str
    factor: float
    recommendation: BufferSize | None
    binding_goal: str | None
    replications: int


@dataclass(frozen=True, slots=True)
class Configuration:
    """The answer as lines of a router's configuration, with where the unit's meaning is documented."""

    system: str
    lines: tuple[str, ...]
    source: str
    quirks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """A measured buffer in a trade-off; `on_front` where no other is better in both metrics."""

    buffer: BufferSize
    measured: Metrics
    on_front: bool


@dataclass(frozen=True, slots=True)
class Front:
    """The trade-off between two metrics over the measured buffers."""

    metrics: tuple[str, str]
    points: tuple[FrontPoint, ...]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What `recommend` found.

    Attributes
    ----------
    scenario : Scenario
        What was asked about, with its goals.
    buffer : BufferSize or None
        The smallest that meets every goal; None where there is none.
    confidence : float
        One-sided, that all goals hold there; without an answer the one that was asked for.
    resolution : float
        The answer is the smallest to within this fraction.
    binding_goal : str or None
        What keeps it from being smaller, or the goal that fails.
    goals : mapping
        Each goal by its name, judged at the answer or at the nearest compromise.
    feasible_up_to : UpperEnd or None
        How far above the answer the goals hold.
    fraction : Held or None
        Where the goals are about a share of the draws: in how many they held.
    conflict : Conflict or None
        Without an answer: why.
    rules : tuple of JudgedRule
        Every rule, in the order of the catalogue.
    also : tuple of NamedBuffer
        The scenario's own buffer, and those that were asked about.
    curve : tuple of CurvePoint
        Every measured buffer, in rising order.
    cost : SearchCost
        The only part that differs between equal searches.
    warnings : tuple of Warning
        What a reader must know.
    engine, version : str
        What measured.
    sensitivity : tuple of Variation, or None
        The answer when something is 20 % off; None where it was not asked for.
    configurations : tuple of Configuration
        The answer in the words of the systems that were asked for.
    pareto : Front or None
        The trade-off that was asked for.
    """

    scenario: Scenario
    buffer: BufferSize | None
    confidence: float
    resolution: float
    binding_goal: str | None
    goals: Mapping[str, JudgedGoal]
    feasible_up_to: UpperEnd | None
    fraction: Held | None
    conflict: Conflict | None
    rules: tuple[JudgedRule, ...]
    also: tuple[NamedBuffer, ...]
    curve: tuple[CurvePoint, ...]
    cost: SearchCost
    warnings: tuple[Warning, ...]
    engine: str
    version: str
    sensitivity: tuple[Variation, ...] | None = None
    configurations: tuple[Configuration, ...] = ()
    pareto: Front | None = None

    @property
    def feasible(self) -> bool:
        """Whether any buffer meets every goal."""
        return self.buffer is not None

    @property
    def packets(self) -> int | None:
        """The recommended buffer in packets."""
        return None if self.buffer is None else round(self.buffer.packets)

    @property
    def uncertain(self) -> bool:
        """Whether replications draw what the scenario does not know."""
        return self.scenario.core.uncertain

    def at(self, buffer: BufferSize) -> CurvePoint | None:
        """What was measured at a buffer; None where nothing was."""
        return next((point for point in self.curve if point.buffer.packets == buffer.packets), None)

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain dictionaries and lists, as in the JSON."""
        told: dict[str, Any] = plain(
            {
                "recommendation": self.buffer,
                "confidence": self.confidence,
                "resolution": self.resolution,
                "binding_goal": self.binding_goal,
                "goals": self.goals,
                "feasible_up_to": self.feasible_up_to,
                "uncertain": self.uncertain,
                "fraction": self.fraction,
                "conflict": self.conflict,
                "rules": self.rules,
                "also": self.also,
                "curve": self.curve,
                "cost": self.cost,
                "warnings": self.warnings,
                "scenario_sha256": self.scenario.core.sha256,
                "engine": self.engine,
                "version": self.version,
            }
        )
        return told | dict(self._asked_for())

    def _asked_for(self) -> Iterable[tuple[str, Any]]:
        """What is in the JSON where it was asked for."""
        if self.sensitivity is not None:
            yield "sensitivity", plain(self.sensitivity)
        if self.configurations:
            yield "configuration", plain(self.configurations[0])
        if len(self.configurations) > 1:
            yield "configurations", plain(self.configurations)
        if self.pareto is not None:
            yield "pareto", plain(self.pareto)

    @property
    def data(self) -> Mapping[str, Any]:
        """The same as `to_dict()`."""
        return self.to_dict()

    def to_json(self, indent: int | None = None) -> str:
        """Return the answer as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)
