"""The answer of `recommend`: the buffer, its confidence, the measured curve, and the configuration of a router.

`answering` makes it; `answer_parts` has its parts. Views, notebooks and programs read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forebay.configuration.configuring import Configuration
from forebay.extras import need
from forebay.results.deprecated_names import DeprecatedName, with_deprecated_keys
from forebay.results.notebook_repr import Result
from forebay.results.report import BufferSize, buffer_columns, estimate_columns
from forebay.results.serialization import to_jsonable
from forebay.results.warning import Warning
from forebay.search.answer_parts import (
    Conflict,
    CurvePoint,
    FeasibleInterval,
    Front,
    InfeasibleInterval,
    JudgedGoal,
    JudgedRule,
    LowerEnd,
    MetShare,
    SearchCost,
    UpperEnd,
    Variation,
    Verdict,
)
from forebay.search.buffer_variable import BufferVariable
from forebay.search.choice import Alternative
from forebay.search.named_buffer import AS_CONFIGURED, NamedBuffer
from forebay.search.optimum import Optimum
from forebay.search.range_variable import RangeVariable
from forebay.search.value import Quantity, Value
from forebay.text import formatting

if TYPE_CHECKING:
    import polars as pl

    from forebay.configuration.jitter import Jitter
    from forebay.measurement.twin import Twin
    from forebay.scenario import Scenario

__all__ = ["Recommendation"]


@dataclass(frozen=True, slots=True, repr=False)
class Recommendation(Result):
    """The answer of `recommend`.

    Attributes
    ----------
    scenario : Scenario
        The scenario of the question, with its goals.
    verdict : str
        "met": `buffer` meets every goal. "impossible": no buffer does. "undecided": the evidence decides neither.
    between : tuple of (BufferSize, BufferSize), or None
        Where the verdict is "undecided": the smallest and the largest buffer that may meet every goal.
    runs : int
        Runs that the confidence rests on; without an answer all runs at the nearest miss.
    buffer : BufferSize, Value or None
        The smallest buffer that meets every goal, or the requested value of a range; None if there is none.
    confidence : float or None
        One-sided confidence that all goals hold there; without an answer the requested one. None if replications are
        identical, flows move in step or simultaneous events decide: a warning says which.
    resolution : float
        Distance to the smallest buffer that the search aims for, as a fraction, if noise permits: see `feasible_from`.
    binding_goal : str or None
        The key of the goal that keeps the buffer from being smaller, or of the goal that fails.
    goals : mapping
        Each goal by its key, judged at the answer or at the nearest compromise.
    feasible_from : LowerEnd or None
        The interval that contains the smallest sufficient buffer; None if the smallest possible buffer is sufficient.
    feasible_up_to : UpperEnd or None
        The end of the interval above the answer in which the goals hold.
    infeasible_intervals : tuple of InfeasibleInterval
        Measured buffers above the answer that miss a goal which needs a large buffer.
    feasible_intervals : tuple of FeasibleInterval
        Measured buffers below the answer that meet every goal, though a larger one does not.
    fraction : MetShare or None
        For goals about a share of the replications: the number of replications that meet them.
    conflict : Conflict or None
        Without an answer: the reason.
    rules : tuple of JudgedRule
        Every rule, in the order of the catalog.
    also : tuple of NamedBuffer
        The scenario's own buffer, and those that the user named.
    points : tuple of CurvePoint
        Every measured buffer, in rising order; `curve` has them as a data frame.
    cost : SearchCost
        The only part that differs between equal searches.
    warnings : tuple of Warning
        The warnings for the reader.
    engine, version : str
        The engine that measured, and forebay's version.
    sensitivity : tuple of Variation, or None
        The answers with inputs 20 % lower and higher; None if they were not requested.
    configurations : tuple of Configuration
        The answer as configuration of the requested platforms.
    pareto : Front or None
        The trade-off, if it was requested.
    jitter : Jitter or None
        The random parts that were added to the scenario, if they were requested.
    variable : BufferVariable or RangeVariable
        The varied buffer: the target link's, another link's or a class's; or the key and its range.
    optimum : Optimum or None
        The metric to minimize or maximize. `buffer` is then its best value among those that meet the goals.
    choice : mapping
        If keys had lists of values: the best values, which `scenario` has.
    alternatives : tuple of Alternative
        If keys had lists of values: the answer with each of them, the best first.
    level : float
        The requested confidence.
    varied_hosts : Twin or None
        The runs at the answer, or at the nearest miss, with hosts that vary; None unless exact hosts stay in phase.
    """

    scenario: Scenario
    buffer: Quantity | None
    confidence: float | None
    resolution: float
    binding_goal: str | None
    goals: Mapping[str, JudgedGoal]
    feasible_from: LowerEnd | None
    feasible_up_to: UpperEnd | None
    infeasible_intervals: tuple[InfeasibleInterval, ...]
    feasible_intervals: tuple[FeasibleInterval, ...]
    fraction: MetShare | None
    conflict: Conflict | None
    rules: tuple[JudgedRule, ...]
    also: tuple[NamedBuffer, ...]
    points: tuple[CurvePoint, ...]
    cost: SearchCost
    warnings: tuple[Warning, ...]
    engine: str
    version: str
    variable: BufferVariable | RangeVariable
    sensitivity: tuple[Variation, ...] | None = None
    configurations: tuple[Configuration, ...] = ()
    pareto: Front | None = None
    jitter: Jitter | None = None
    optimum: Optimum | None = None
    choice: Mapping[str, str] = field(default_factory=dict)
    alternatives: tuple[Alternative, ...] = ()
    verdict: Verdict = "met"
    between: tuple[Quantity, Quantity] | None = None
    runs: int = 0
    level: float = 0.95
    varied_hosts: Twin[Quantity] | None = None

    gaps = DeprecatedName("infeasible_intervals")
    islands = DeprecatedName("feasible_intervals")
    twin = DeprecatedName("varied_hosts")
    knob = DeprecatedName("variable")

    @property
    def feasible(self) -> bool:
        """Whether any buffer meets every goal."""
        return self.buffer is not None

    @property
    def configured(self) -> NamedBuffer | None:
        """The configured buffer; None where the scenario has none or it lies outside of the range."""
        return next((each for each in self.also if each.name == AS_CONFIGURED), None)

    @property
    def packets(self) -> int | None:
        """The recommended buffer in packets."""
        return round(self.buffer.packets) if isinstance(self.buffer, BufferSize) else None

    @property
    def setting(self) -> Quantity | None:
        """The same as `buffer`, by a name that suits every key."""
        return self.buffer

    @property
    def monotone(self) -> bool:
        """Whether the measured buffers part into those below the answer, which miss a goal, and those above."""
        return not self.infeasible_intervals and not self.feasible_intervals

    @property
    def uncertain(self) -> bool:
        """Whether replications draw values that the scenario leaves uncertain."""
        return self.scenario.core.uncertain

    @property
    def curve(self) -> pl.DataFrame:
        """Every measured buffer as a row of a polars data frame, in rising order.

        Its columns are `buffer_packets`, `buffer_bytes`, `buffer_seconds` and `buffer_bdp` (of a range `setting`, in
        the base unit, and `setting_text`), `replications`, then each metric of the link by its name with its
        `NAME_half_width`, and each of a group as "group.NAME".
        """
        need("polars")
        import polars as pl

        rows = [
            {
                **_columns(point.buffer),
                "replications": point.replications,
                **estimate_columns(point.metrics),
                **{
                    f"{group}.{name}": value
                    for group, metrics in point.groups.items()
                    for name, value in estimate_columns(metrics).items()
                },
            }
            for point in self.points
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def at(self, buffer: Quantity) -> CurvePoint | None:
        """The measured point at a buffer; None if nothing was measured there."""
        return next((point for point in self.points if point.buffer.number == buffer.number), None)

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain dictionaries and lists, as in the JSON."""
        data: dict[str, Any] = to_jsonable(
            {
                "verdict": self.verdict,
                "recommendation": self.buffer,
                "between": self.between,
                "runs": self.runs,
                "confidence": self.confidence,
                "resolution": self.resolution,
                "binding_goal": self.binding_goal,
                "goals": self.goals,
                "feasible_from": self.feasible_from,
                "feasible_up_to": self.feasible_up_to,
                "infeasible_intervals": self.infeasible_intervals,
                "feasible_intervals": self.feasible_intervals,
                "uncertain": self.uncertain,
                "fraction": self.fraction,
                "conflict": self.conflict,
                "rules": self.rules,
                "also": self.also,
                "curve": self.points,
                "cost": self.cost,
                "warnings": self.warnings,
                "scenario_sha256": self.scenario.core.sha256,
                "engine": self.engine,
                "version": self.version,
            }
        )
        data |= dict(self._optional_parts())
        data = with_deprecated_keys(Recommendation, data)
        return _renamed(data) if isinstance(self.variable, RangeVariable) else data

    def _optional_parts(self) -> Iterable[tuple[str, Any]]:
        """The parts of the JSON that exist only on request."""
        if self.sensitivity is not None:
            yield "sensitivity", to_jsonable(self.sensitivity)
        if self.configurations:
            yield "configuration", to_jsonable(self.configurations[0])
        if len(self.configurations) > 1:
            yield "configurations", to_jsonable(self.configurations)
        if self.pareto is not None:
            yield "pareto", to_jsonable(self.pareto)
        if self.jitter is not None:
            yield "jitter", to_jsonable(self.jitter)
        if self.varied_hosts is not None:
            yield "varied_hosts", to_jsonable(self.varied_hosts)
        if not self.variable.is_target:
            yield "over", self.variable.requested_name
            if self.variable.largest:
                yield "largest", True
        if self.optimum is not None:
            yield "optimum", to_jsonable(self.optimum)
        if self.choice:
            yield "choice", dict(self.choice)
            yield "alternatives", to_jsonable(self.alternatives)

    def __repr__(self) -> str:
        of = f" for {self.scenario.title!r}" if self.scenario.title else ""
        if self.buffer is None:
            return f"<Recommendation{of}: no buffer meets {' and '.join(self.goals)}>"
        decided = "" if self.binding_goal is None else f", decided by {self.binding_goal}"
        if isinstance(self.buffer, Value):
            return f"<Recommendation{of}: {self.variable.key} = {self.buffer.words}{decided}>"
        return (
            f"<Recommendation{of}: {self.buffer.packets:.0f} packets = {formatting.size(self.buffer.bytes)} = "
            f"{formatting.duration(self.buffer.seconds)}{decided}>"
        )


def _columns(value: Quantity) -> Mapping[str, float | str | None]:
    """A buffer or a setting as columns of a table."""
    if isinstance(value, BufferSize):
        return buffer_columns(value)
    return {"setting": value.value, "setting_text": value.text}


#: Names of parts of the JSON if no buffer is varied.
_NAMES = {"buffer": "setting", "at_packets": "at", "buffers": "settings"}


def _renamed(data: Any) -> Any:
    """The JSON of a range: what it says of buffers is about settings."""
    if isinstance(data, dict):
        return {_NAMES.get(key, key): _renamed(value) for key, value in data.items()}
    return [_renamed(each) for each in data] if isinstance(data, list) else data
