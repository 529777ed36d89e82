"""The parts of an answer: a goal, a rule, a measured buffer, a conflict, a cost, and the ends of what is feasible.

`findings` makes them of the evidence; `answer.Recommendation` and `check_report.CheckReport` hold them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from forebay.results.deprecated_names import DeprecatedName, with_deprecated_keys
from forebay.results.metric import key_among
from forebay.results.report import Estimate
from forebay.results.serialization import to_jsonable
from forebay.rules import Assumption
from forebay.search.named_buffer import GoalVerdict
from forebay.search.rule_verdict import RuleVerdict
from forebay.search.value import Quantity

if TYPE_CHECKING:
    from forebay.inputs.goals import Goal

__all__ = [
    "Conflict",
    "CurvePoint",
    "FeasibleInterval",
    "Front",
    "FrontPoint",
    "GoalAt",
    "GoalEvidence",
    "InfeasibleInterval",
    "JudgedGoal",
    "JudgedRule",
    "LowerEnd",
    "MetShare",
    "Metrics",
    "NearestResult",
    "SearchCost",
    "Side",
    "UpperEnd",
    "Variation",
    "Verdict",
]

Metrics = Mapping[str, Estimate]
#: The verdict of a search: a buffer meets every goal, none does, or the evidence decides neither.
Verdict = Literal["met", "impossible", "undecided"]


@dataclass(frozen=True, slots=True)
class GoalAt:
    """One goal at one measured buffer.

    Attributes
    ----------
    buffer : BufferSize or Value
        The buffer.
    measured : Estimate
        The metric there.
    verdict : str
        "met", "missed" or "undecided" at the confidence of the search.
    runs : int
        Runs that were measured there.
    """

    buffer: Quantity
    measured: Estimate
    verdict: GoalVerdict
    runs: int


@dataclass(frozen=True, slots=True)
class GoalEvidence:
    """The evidence for the verdict on a goal.

    Attributes
    ----------
    method : str
        "bootstrap" (Bayesian bootstrap with a pessimistic observation), "binomial" (a share of the draws),
        "bound" (derived from the queue's size and rate), or "none".
    runs : int
        Runs at the answer and near it that the verdict uses.
    """

    method: str
    runs: int


@dataclass(frozen=True, slots=True)
class JudgedGoal:
    """A goal with the measurements at the answer, or at the nearest compromise.

    Attributes
    ----------
    goal : Goal
        The goal.
    met_replications, replications : int or None
        Number of replications that meet the goal, and number of all replications, for goals about a share of them.
    at_packets : int or float
        The buffer; for a range, the value in its base unit.
    measured : Estimate
        The metric there.
    margin : float
        Distance of its mean from the threshold, positive on the good side.
    met : bool
        Whether the goal is met.
    confidence : float or None
        One-sided confidence that it is met; None if the replications carry none.
    binding : bool
        Whether this goal keeps the buffer from being smaller.
    at_smallest, at_largest : GoalAt or None
        The goal at the smallest and at the largest measured buffer.
    evidence : GoalEvidence or None
        The evidence for the verdict.
    """

    goal: Goal
    met_replications: int | None
    replications: int | None
    at_packets: float
    measured: Estimate
    margin: float
    met: bool
    confidence: float | None
    binding: bool
    at_smallest: GoalAt | None = None
    at_largest: GoalAt | None = None
    evidence: GoalEvidence | None = None

    held = DeprecatedName("met_replications")
    of = DeprecatedName("replications")
    slack = DeprecatedName("margin")

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON."""
        data = {
            "met_replications": self.met_replications,
            "replications": self.replications,
            "sense": self.goal.sense,
            "threshold": self.goal.threshold,
            "at_packets": self.at_packets,
            "measured": to_jsonable(self.measured),
            "margin": self.margin,
            "met": self.met,
            "confidence": self.confidence,
            "binding": self.binding,
            "at_smallest": to_jsonable(self.at_smallest),
            "at_largest": to_jsonable(self.at_largest),
            "evidence": to_jsonable(self.evidence),
            # A goal that is alone on its metric is called like it.
            **({} if self.goal.key == self.goal.name else {"metric": self.goal.name}),
        }
        return with_deprecated_keys(JudgedGoal, data)


@dataclass(frozen=True, slots=True)
class LowerEnd:
    """The interval of buffers that contains the smallest sufficient one.

    Attributes
    ----------
    low, high : BufferSize
        It is neither smaller nor larger.
    confidence : float
        The confidence of that statement.
    """

    low: Quantity
    high: Quantity
    confidence: float


@dataclass(frozen=True, slots=True)
class UpperEnd:
    """The end of the interval above the answer in which every goal holds.

    Attributes
    ----------
    buffer : BufferSize
        The last measured buffer that meets all of them.
    missed_at : BufferSize or None
        The first measured above it that misses one; None where none does.
    interpolated_end : BufferSize or None
        Where, on the line between measured buffers, one of them ceases to hold.
    """

    buffer: Quantity
    missed_at: Quantity | None
    interpolated_end: Quantity | None = None

    about = DeprecatedName("interpolated_end")


@dataclass(frozen=True, slots=True)
class InfeasibleInterval:
    """A measured buffer above the answer that misses a goal which needs a large buffer, with key and measurements."""

    buffer: Quantity
    goal: str
    measured: Estimate


@dataclass(frozen=True, slots=True)
class FeasibleInterval:
    """A measured buffer below the answer that meets every goal, and the largest up to the answer that does not."""

    buffer: Quantity
    missed_at: Quantity


@dataclass(frozen=True, slots=True)
class MetShare:
    """The share of the replications that meet all goals.

    Attributes
    ----------
    required : float
        The requested share.
    met_replications, replications : int
        Number of replications that meet all goals, and number of all replications.
    at_least : float or None
        Lower bound of the share, one-sided at `confidence`; None if the replications repeat each other.
    confidence : float
        Confidence of the bound.
    """

    required: float
    met_replications: int
    replications: int
    at_least: float | None
    confidence: float

    wanted = DeprecatedName("required")
    held = DeprecatedName("met_replications")
    of = DeprecatedName("replications")


@dataclass(frozen=True, slots=True)
class Side:
    """Keys of goals that need a large buffer, or a small one, and the buffer they need together; None if none does."""

    goals: tuple[str, ...]
    buffer: Quantity | None


@dataclass(frozen=True, slots=True)
class NearestResult:
    """The result of a goal at the measured buffer that comes nearest to meeting all of them.

    Attributes
    ----------
    goal : Goal
        The goal.
    measured : Estimate
        The metric there.
    shortfall : float
        Distance of its mean on the wrong side of the threshold, in the metric's unit; 0 if it is on the good side.
    met : bool
        Whether the goal is met there.
    """

    goal: Goal
    measured: Estimate
    shortfall: float
    met: bool

    off = DeprecatedName("shortfall")


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why there is no answer: what each side needs, and how the goals fare at the buffer that comes nearest."""

    needs_at_least: Side
    needs_at_most: Side
    compromise: Quantity | None
    largest_tried: Quantity
    nearest: tuple[NearestResult, ...]


@dataclass(frozen=True, slots=True)
class JudgedRule:
    """The buffer of one published rule, with the metrics that were measured there.

    Attributes
    ----------
    name : str
        Name of the model.
    buffer : BufferSize or None
        The buffer that the rule states, if it states one.
    applies : bool
        Whether it fits more than half of the flows and everything else that it assumes may hold.
    why : str
        The reason against it, the part of the traffic that it fits, or the reason for it.
    assumptions : tuple of Assumption
        The assumptions of the rule, each with its reason.
    predicted : mapping
        Metrics at the scenario's own buffer, by the formula.
    notes : tuple of str
        Notes on the rule.
    measured : mapping
        Metrics at its buffer, by simulation; empty where it was not simulated.
    share : float
        Share of the flows, or of the load, that it fits.
    rule_verdict : RuleVerdict
        The verdict of the simulation on the rule: `rule_verdict.words` states it in short.
    between : tuple of (BufferSize, BufferSize), or None
        The measured buffers on both sides, if `measured` was interpolated between them.
    """

    name: str
    buffer: Quantity | None
    applies: bool
    why: str
    assumptions: tuple[Assumption, ...]
    predicted: Mapping[str, float]
    notes: tuple[str, ...]
    measured: Metrics
    share: float
    rule_verdict: RuleVerdict
    between: tuple[Quantity, Quantity] | None = None

    judgment = DeprecatedName("rule_verdict")


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One measured buffer.

    Attributes
    ----------
    buffer : BufferSize or Value
        The buffer.
    replications : int
        Runs that were measured there.
    metrics : mapping
        Metrics of the link, over the runs.
    groups : mapping
        The same of each group by its name.
    runs : tuple of mapping
        Values of each run, by the keys that `key` gives; empty if the runs are not kept. Not in the JSON.
    goals : mapping
        Where no buffer meets every goal: each goal by its key, with its verdict here. Not in the JSON.
    """

    buffer: Quantity
    replications: int
    metrics: Metrics
    groups: Mapping[str, Metrics]
    runs: tuple[Mapping[str, float], ...] = ()
    goals: Mapping[str, GoalAt] = field(default_factory=dict)

    def key(self, goal_name: str) -> str | None:
        """The name with its unit of a metric, or "group.metric", that a goal names without; None if not measured."""
        group, dot, metric = goal_name.rpartition(".")
        key = key_among(metric, self.groups.get(group, {}) if dot else self.metrics)
        return f"{group}.{key}" if dot and key is not None else key

    def estimate(self, key: str) -> Estimate | None:
        """The estimate of a key that `key` gave; None if it was not measured."""
        group, dot, metric = key.rpartition(".")
        return (self.groups.get(group, {}) if dot else self.metrics).get(metric)

    def values(self, key: str) -> list[float]:
        """The values of single runs under a key that `key` gave, of the runs that are stored."""
        return [run[key] for run in self.runs if key in run]

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON."""
        return {name: to_jsonable(getattr(self, name)) for name in ("buffer", "replications", "metrics", "groups")}


@dataclass(frozen=True, slots=True)
class SearchCost:
    """The cost of a search: replications, those of them that an earlier search had stored, buffers, and sums."""

    replications: int
    cached_runs: int
    buffers: int
    data_packets: int
    events: int
    cpu_s: float
    wall_s: float
    peak_rss_bytes: int

    resumed = DeprecatedName("cached_runs")


@dataclass(frozen=True, slots=True)
class Variation:
    """The answer when a property of the scenario is off by a factor."""

    quantity: str
    factor: float
    recommendation: Quantity | None
    binding_goal: str | None
    replications: int

    what = DeprecatedName("quantity")


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """A measured buffer in a trade-off; `on_front` where no other is better in both metrics."""

    buffer: Quantity
    measured: Metrics
    on_front: bool


@dataclass(frozen=True, slots=True)
class Front:
    """The trade-off between two metrics over the measured buffers."""

    metrics: tuple[str, str]
    points: tuple[FrontPoint, ...]
