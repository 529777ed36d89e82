"""What `compare` answers: what every engine and model says, where they differ, and what each assumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from forebay.display import Told
from forebay.extras import need
from forebay.plain import plain
from forebay.report import BufferSize, Estimate, Lateness, buffer_columns, estimate_columns
from forebay.rules import Assumption

if TYPE_CHECKING:
    import polars as pl

    from forebay.scenario import Scenario

__all__ = ["Agreement", "Answer", "Comparison", "Disagreement", "RangePoint", "RuleMark"]

Metrics = Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one engine or model says of a scenario.

    Attributes
    ----------
    name : str
        Of the engine or the model.
    kind : {"engine", "model"}
        Which of the two.
    applies : bool
        Whether it can answer, and for a model whether nothing that it assumes fails.
    why : str
        Why not; else what it says of itself.
    assumptions : tuple of Assumption
        Of models, and of the fluid engine where the packet engine has measured what it assumes.
    metrics : mapping
        Empty where an engine cannot answer.
    notes : tuple of str, or None
        What to know of a model's numbers; None for engines.
    lateness : Lateness or None
        How late the machine was; None where nothing ran in real time.
    """

    name: str
    kind: Literal["engine", "model"]
    applies: bool
    why: str
    assumptions: tuple[Assumption, ...]
    metrics: Metrics
    notes: tuple[str, ...] | None = None
    lateness: Lateness | None = None

    @property
    def doubtful(self) -> tuple[Assumption, ...]:
        """The assumptions that do not hold or are not known to."""
        return tuple(each for each in self.assumptions if each.holds != "yes")

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON."""
        notes = {} if self.notes is None else {"notes": list(self.notes)}
        late = {} if self.lateness is None else {"lateness": plain(self.lateness)}
        return {
            "name": self.name,
            "kind": self.kind,
            "applies": self.applies,
            "why": self.why,
            "assumptions": plain(self.assumptions),
            **notes,
            "metrics": plain(self.metrics),
            **late,
        }


@dataclass(frozen=True, slots=True)
class Agreement:
    """A fluid answer held against the packet engine's.

    Attributes
    ----------
    engine, metric : str
        What is compared.
    values : tuple of float
        Of the packet engine, of the fluid.
    gap : float or None
        In the unit `of`; None where one loses and the other does not.
    allowed : float
        In the same unit.
    of : {"points", "buffers", "times"}
        The unit.
    within : bool or None
        Whether the gap is within what is allowed.
    expected : bool
        Whether that is promised for this scenario.
    why : str
        Why not.
    """

    engine: str
    metric: str
    values: tuple[float, float]
    gap: float | None
    allowed: float
    of: Literal["points", "buffers", "times"]
    within: bool | None
    expected: bool
    why: str


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two answers that differ by more than both of their intervals.

    Attributes
    ----------
    metric : str
        In what.
    between : tuple of str
        The two answers.
    values : tuple of float
        What they say.
    difference, uncertainty : float
        How much the second is larger, and the sum of the half widths.
    why : str
        What the second assumes, in one line.
    assumptions : tuple of Assumption
        Those in doubt.
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
    """The buffer that a rule asks for."""

    name: str
    packets: float
    applies: bool


@dataclass(frozen=True, slots=True)
class RangePoint:
    """One buffer of the range: the metrics of every engine that can, and of every model that applies, by name."""

    buffer: BufferSize
    answers: Mapping[str, Metrics]

    def estimate(self, name: str, metric: str) -> Estimate | None:
        """What an answer says of a metric, or None."""
        return self.answers.get(name, {}).get(metric)


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Told):
    """Answers side by side.

    Attributes
    ----------
    scenario : Scenario
        What was asked about.
    buffer : BufferSize
        Its own buffer.
    answers : tuple of Answer
        One per engine or model.
    agreement : tuple of Agreement
        Of the fluid engine with the packet engine, against stated bounds.
    disagreements : tuple of Disagreement
        Between answers that apply.
    rules : tuple of RuleMark
        The buffer that each rule asks for.
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
        """What an engine or a model says, by its name."""
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
        told: dict[str, Any] = plain(
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
        return told

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
