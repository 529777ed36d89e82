"""The typed answer of an audit: a verdict for each question, and a table with one row per port."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import polars as pl

    from forebay.fleets.measuring import MeasuredPoint
    from forebay.fleets.questions import Question
    from forebay.fleets.sampling import SampleCheck

__all__ = ["VERDICTS", "WRONG", "FleetAnswer", "Judgment", "PortVerdict", "Stage"]

PortVerdict = Literal["fine", "too small", "too large", "undecided", "not answerable"]
Stage = Literal["none", "closed form", "packet runs", "search"]

#: Every verdict, in the order of the summary.
VERDICTS: tuple[PortVerdict, ...] = ("fine", "too small", "too large", "undecided", "not answerable")
#: Verdicts of ports that are sized wrongly.
WRONG: tuple[PortVerdict, ...] = ("too small", "too large")

#: A loss rate rises if it grows by this factor, and by at least this share of the packets.
MORE_LOSS, LEAST_LOSS = 1.1, 1e-4


@dataclass(frozen=True, slots=True)
class Judgment:
    """The verdict on one question, and its evidence.

    Attributes
    ----------
    verdict : str
        "fine", "too small", "too large", "undecided" or "not answerable".
    reason : str
        The reason in one line.
    margin : float or None
        Configured buffer over the needed one; the middle of `margin_low` and `margin_high`.
    margin_low, margin_high : float or None
        Ends of the interval of the margin; None for an end that is not known.
    needed_bytes : float or None
        The nearest buffer that meets every goal, in bytes: the largest smaller one if a goal needs a smaller buffer,
        and otherwise the smallest one.
    recommended_bytes : float or None
        A buffer to set, in bytes, which was shown to meet every goal; None if the port needs no change or none was.
    confidence : float or None
        One-sided confidence of the verdict; None if the evidence carries none.
    delay_s, loss : float or None
        Queueing delay (99th percentile), in seconds, and loss rate at the configured buffer.
    recommended_delay_s, recommended_loss : float or None
        The same at the recommended buffer.
    stage : str
        The stage of the verdict: "closed form", "packet runs", "search", or "none".
    runs : int
        Runs that the verdict rests on.
    severity : float
        How much the port loses: 1 plus the relative miss of the worst goal, or less than 1 for needless delay.
    notes : tuple of str
        Warnings about the runs at the configured and at the recommended buffer.
    text : str
        Text of the full search, as `FleetExecution.describe` gave it; empty without a search.
    """

    verdict: PortVerdict
    reason: str = ""
    margin: float | None = None
    margin_low: float | None = None
    margin_high: float | None = None
    needed_bytes: float | None = None
    recommended_bytes: float | None = None
    confidence: float | None = None
    delay_s: float | None = None
    loss: float | None = None
    recommended_delay_s: float | None = None
    recommended_loss: float | None = None
    stage: Stage = "none"
    runs: int = 0
    severity: float = 0.0
    notes: tuple[str, ...] = ()
    text: str = ""

    @property
    def cost_delay_s(self) -> float | None:
        """Queueing delay (99th percentile) beyond that at the recommended buffer, in seconds."""
        return _excess(self.delay_s, self.recommended_delay_s)

    @property
    def cost_loss(self) -> float | None:
        """Loss rate beyond that at the recommended buffer."""
        return _excess(self.loss, self.recommended_loss)

    @property
    def raises_loss(self) -> bool:
        """Whether the recommended buffer loses clearly more packets than the configured one."""
        now, then = self.loss, self.recommended_loss
        return now is not None and then is not None and then > MORE_LOSS * now and then - now > LEAST_LOSS

    def to_row(self) -> dict[str, Any]:
        """The columns of a port with this verdict; delays are in milliseconds."""
        row = {name: value for name, value in asdict(self).items() if name != "text"}
        row["notes"] = " ".join(self.notes) or None
        row |= {"cost_delay_s": self.cost_delay_s, "cost_loss": self.cost_loss}
        for name in ("delay", "recommended_delay", "cost_delay"):
            seconds = row.pop(f"{name}_s")
            row[f"{name}_ms"] = None if seconds is None else 1e3 * seconds
        return row


def _excess(here: float | None, recommended: float | None) -> float | None:
    """The part of a delay or of a loss that the recommended buffer would not have."""
    return None if here is None or recommended is None else max(0.0, here - recommended)


@dataclass(frozen=True, slots=True)
class FleetAnswer:
    """The answer of `forebay.fleet`.

    Attributes
    ----------
    ports : polars.DataFrame
        One row per port: the columns of the inventory and those of its verdict.
    rejected : polars.DataFrame
        Rows of the inventory that were refused: file, line and reason.
    questions : mapping
        Each distinct question by its digest.
    judgments : mapping
        The verdict on each question by its digest.
    counts : mapping
        Number of ports of each verdict.
    first : tuple of str
        Digests of the wrongly sized questions, in the order in which to change their ports.
    sample : SampleCheck or None
        The check of the first stage by packet runs; None if the first stage gave no verdict.
    measured, reused : int
        Points (a scenario with a buffer) that this call measured, and those that were there.
    runs : int
        Packet runs of all points that were used.
    version : str
        Version of forebay.
    ports_of : mapping
        Number of ports of each question, by its digest.
    points : mapping
        Measured buffers that verdicts rest on, from the smallest, by the `link` of their questions.
    """

    ports: pl.DataFrame
    rejected: pl.DataFrame
    questions: Mapping[str, Question]
    judgments: Mapping[str, Judgment]
    counts: Mapping[PortVerdict, int]
    first: tuple[str, ...]
    sample: SampleCheck | None
    measured: int
    reused: int
    runs: int
    version: str
    ports_of: Mapping[str, int] = field(default_factory=dict)
    points: Mapping[str, tuple[MeasuredPoint, ...]] = field(default_factory=dict)
    _examples: dict[str, Mapping[str, Any]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def exit_code(self, fail_on: Collection[PortVerdict] = WRONG) -> int:
        """0 if every port is fine, 1 if one has a verdict of `fail_on`, 3 if one is undecided or without an answer."""
        if any(self.counts[verdict] for verdict in fail_on):
            return 1
        return 3 if self.counts["undecided"] or self.counts["not answerable"] or self.rejected.height else 0

    def example(self, digest: str) -> Mapping[str, Any]:
        """The first port of a question, as a row."""
        if not self._examples:
            firsts = self.ports.drop_nulls("question").sort("device", "port").unique("question", keep="first")
            self._examples.update({row["question"]: row for row in firsts.iter_rows(named=True)})
        return self._examples[digest]

    def to_dict(self) -> dict[str, Any]:
        """The summary, as in the JSON; without figures that differ between equal audits."""
        sample = None if self.sample is None else self.sample.to_dict()
        return {
            "version": self.version,
            "ports": self.ports.height,
            "rejected": self.rejected.height,
            "questions": len(self.questions),
            "verdicts": dict(self.counts),
            "stages": {
                stage: self.ports["stage"].eq(stage).sum() for stage in ("closed form", "packet runs", "search")
            },
            "sample": sample,
            "runs": self.runs,
            "change_first": [
                {
                    "question": digest,
                    "ports": self.ports_of[digest],
                    **{name: self.example(digest)[name] for name in ("device", "port")},
                    **self.judgments[digest].to_row(),
                }
                for digest in self.first[:100]
            ],
        }
