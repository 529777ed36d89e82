"""The answers of `compare`: results of every engine and model, their differences, and the assumptions of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from forebay.extras import need
from forebay.results.deprecated_names import DeprecatedName, with_deprecated_keys
from forebay.results.notebook_repr import Result
from forebay.results.report import BufferSize, Estimate, Lateness, buffer_columns, estimate_columns
from forebay.results.serialization import to_jsonable
from forebay.rules import Assumption

if TYPE_CHECKING:
    import polars as pl

    from forebay.measurement.twin import Twin
    from forebay.scenario import Scenario

__all__ = ["Agreement", "Answer", "Comparison", "Disagreement", "RangePoint", "RuleMark"]

Metrics = Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one engine or model about a scenario.

    Attributes
    ----------
    name : str
        Name of the engine or the model.
    kind : {"engine", "model"}
        Engine or model.
    applies : bool
        Whether it can answer; for a model, whether none of its assumptions fails.
    why : str
        Reason if it does not apply; else its own warnings or notes.
    assumptions : tuple of Assumption
        Assumptions of models, and of the fluid engine if the packet engine has measured them.
    metrics : mapping
        Metrics; empty if an engine cannot answer.
    notes : tuple of str, or None
        Notes on a model's numbers; None for engines.
    lateness : Lateness or None
        Lateness of the machine; None if nothing ran in real time.
    varied_hosts : Twin or None
        The packet engine's runs with hosts that vary; None unless exact hosts stay in phase.
    """

    name: str
    kind: Literal["engine", "model"]
    applies: bool
    why: str
    assumptions: tuple[Assumption, ...]
    metrics: Metrics
    notes: tuple[str, ...] | None = None
    lateness: Lateness | None = None
    varied_hosts: Twin[BufferSize] | None = None

    twin = DeprecatedName("varied_hosts")

    @property
    def doubtful(self) -> tuple[Assumption, ...]:
        """The assumptions that do not hold or are not known to."""
        return tuple(each for each in self.assumptions if each.holds != "yes")

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON."""
        notes = {} if self.notes is None else {"notes": list(self.notes)}
        late = {} if self.lateness is None else {"lateness": to_jsonable(self.lateness)}
        varied = {} if self.varied_hosts is None else {"varied_hosts": to_jsonable(self.varied_hosts)}
        data = {
            "name": self.name,
            "kind": self.kind,
            "applies": self.applies,
            "why": self.why,
            "assumptions": to_jsonable(self.assumptions),
            **notes,
            "metrics": to_jsonable(self.metrics),
            **late,
            **varied,
        }
        return with_deprecated_keys(Answer, data)


@dataclass(frozen=True, slots=True)
class Agreement:
    """A fluid answer compared with the packet engine's.

    Attributes
    ----------
    engine, metric : str
        Names of the fluid answer and of the metric.
    values : tuple of float
        Values of the packet engine and of the fluid.
    difference : float or None
        Difference in `unit`; None if one has losses and the other has none.
    allowed : float
        Largest difference allowed, in the same unit.
    unit : {"points", "buffers", "times"}
        Unit of the difference.
    agrees : bool or None
        Whether the difference is allowed.
    expected : bool
        Whether agreement is promised for this scenario.
    why : str
        Reason if it is not promised.
    """

    engine: str
    metric: str
    values: tuple[float, float]
    difference: float | None
    allowed: float
    unit: Literal["points", "buffers", "times"]
    agrees: bool | None
    expected: bool
    why: str

    gap = DeprecatedName("difference")
    of = DeprecatedName("unit")
    within = DeprecatedName("agrees")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two answers that differ by more than both of their intervals.

    Attributes
    ----------
    metric : str
        Metric in which they differ.
    between : tuple of str
        The two answers.
    values : tuple of float
        Values of the two answers.
    difference, uncertainty : float
        Value of the second minus that of the first, and the sum of the half widths.
    why : str
        Reason why the second may be off, in one line.
    assumptions : tuple of Assumption
        Assumptions of the second that are in doubt.
    """

    metric: str
    between: tuple[str, str]
    values: tuple[float, float]
    difference: float
    uncertainty: float
    why: str
    assumptions: tuple[Assumption, ...]


@dataclass(frozen=True, slots=True)
class RuleMark:
    """The buffer of a rule."""

    name: str
    packets: float
    applies: bool


@dataclass(frozen=True, slots=True)
class RangePoint:
    """One buffer of the range: the metrics of every engine that can, and of every model that applies, by name."""

    buffer: BufferSize
    answers: Mapping[str, Metrics]

    def estimate(self, name: str, metric: str) -> Estimate | None:
        """The estimate of a metric by an answer, or None."""
        return self.answers.get(name, {}).get(metric)


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Result):
    """Answers side by side.

    Attributes
    ----------
    scenario : Scenario
        Compared scenario.
    buffer : BufferSize
        Buffer of the scenario.
    answers : tuple of Answer
        One per engine or model.
    agreement : tuple of Agreement
        Agreement of the fluid engine with the packet engine, against stated bounds.
    disagreements : tuple of Disagreement
        Disagreements between answers that apply.
    rules : tuple of RuleMark
        Buffer of each rule.
    points : tuple of RangePoint
        Answers over a range of buffers, in rising order; `curve` has them as a data frame.
    """

    scenario: Scenario
    buffer: BufferSize
    answers: tuple[Answer, ...]
    agreement: tuple[Agreement, ...]
    disagreements: tuple[Disagreement, ...]
    rules: tuple[RuleMark, ...]
    points: tuple[RangePoint, ...]

    def answer(self, name: str) -> Answer | None:
        """The answer of an engine or a model, by its name."""
        return answer_of(name, self.answers)

    @property
    def curve(self) -> pl.DataFrame:
        """A row of a polars data frame for each buffer and answer, in rising order of the buffer.

        Its columns are `buffer_packets`, `buffer_bytes`, `buffer_seconds` and `buffer_bdp`, `answer`, then each metric
        by its name with its `NAME_half_width`.
        """
        need("polars")
        import polars as pl

        rows = [
            {**buffer_columns(point.buffer), "answer": name, **estimate_columns(metrics)}
            for point in self.points
            for name, metrics in point.answers.items()
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain dictionaries and lists, as in the JSON."""
        data: dict[str, Any] = to_jsonable(
            {
                "scenario_sha256": self.scenario.core.sha256,
                "buffer": self.buffer,
                "answers": self.answers,
                "agreement": self.agreement,
                "disagreements": self.disagreements,
                "rules": self.rules,
                "curve": self.points,
            }
        )
        return data

    def __repr__(self) -> str:
        of = f" of {self.scenario.title!r}" if self.scenario.title else ""
        answering = [answer.name for answer in self.answers if answer.applies and answer.kind == "engine"]
        found = len(self.disagreements)
        return (
            f"<Comparison{of}, buffer {self.buffer.packets:.0f} packets: {', '.join(answering) or 'no engine'}; "
            f"{found} disagreement{'' if found == 1 else 's'}>"
        )


def answer_of(name: str, answers: Sequence[Answer]) -> Answer | None:
    """The answer of this name, or None."""
    return next((answer for answer in answers if answer.name == name), None)
