"""What a reader must know before using an answer's numbers: a sentence for people, a kind and figures for programs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forebay import _core

__all__ = ["Kind", "Warning", "of_engine"]


class Kind(StrEnum):
    """Every kind of warning. Programs may rely on their names."""

    # Of the engines, as in crates/scenario/src/warning.rs.
    FEW_DROPS = "few_drops"
    FEW_CONGESTION_EVENTS = "few_congestion_events"
    NOT_STARTED = "not_started"
    LOWER_BOUND = "lower_bound"
    GOODPUT_ABOVE_RATE = "goodput_above_rate"
    AVERAGE_RATE = "average_rate"
    AVERAGE_DELAY = "average_delay"
    LEFT_OUT = "left_out"
    FLUID_BACKGROUND = "fluid_background"
    OUTSIDE_DOMAIN = "outside_domain"
    MODEL = "model"
    ASSUMPTION = "assumption"
    NOTE = "note"
    SILENT = "silent"
    METRIC_LEFT_OUT = "metric_left_out"
    LATE = "late"
    HOST_STACK = "host_stack"
    # Of scenarios: a group (the subject) whose packets arrive as others leave (`packet_times`), or with each other.
    PHASE_EFFECT = "phase_effect"
    TIED_ROUND_TRIPS = "tied_round_trips"
    # Of measuring: a metric or a recorded series (the subject).
    STILL_STARTING = "still_starting"
    NOT_SETTLED = "not_settled"
    IMPRECISE = "imprecise"
    CORRELATED_BATCHES = "correlated_batches"
    TRACED_IN_PART = "traced_in_part"
    # Of the search: a goal (the subject) and buffers in packets.
    MISSED_AGAIN = "missed_again"
    MET_BELOW = "met_below"
    REFUSED = "refused"
    NO_MARGIN = "no_margin"
    # Of the sizing of all classes: a class (the subject) whose buffer no goal asks for room, or holds few packets.
    UNDEMANDED = "undemanded"
    FEW_PACKETS = "few_packets"
    # Of an answer that was not waited for: measured seconds of each run, and of how many; replications so far.
    QUICK = "quick"
    TIME_OVER = "time_over"
    # Of a quick look: between which packets the atlas of smallest buffers let it look first.
    PRIOR = "prior"
    # Of smaller links of the same kind: between which packets they place the answer.
    SCALED = "scaled"
    # Of what its confidence rests on: replications that repeat each other (`replications`, `different`), flows of a
    # group (the subject) that move as one, and what `--jitter` changed.
    IDENTICAL = "identical"
    LOCK_STEP = "lock_step"
    JITTERED = "jittered"
    # Of the port at the answer: loss above 1 % without a goal on it, a group (the subject) that hardly gets through,
    # and few packets at a high rate. Of the scenario: a random state that decides a goal and that runs see rarely.
    HIGH_LOSS = "high_loss"
    STARVED_GROUP = "starved_group"
    TINY_BUFFER = "tiny_buffer"
    RARE_STATE = "rare_state"
    STRATA = "strata"
    LENGTHENED = "lengthened"
    SHORT_RUN = "short_run"
    # Of a scenario that says what it assumes: one of these.
    ASSUMED_ENTRY = "assumed_entry"
    # Of a scenario that leaves a key out: a bound of it that was taken for its value (the subject is the key).
    ASSUMED_BOUND = "assumed_bound"
    # A sentence that was read back from JSON, which carries no kinds.
    UNKNOWN = "unknown"


class Warning(str):
    """A sentence that knows what it is about; prints, compares and serializes as the sentence.

    Attributes
    ----------
    kind : Kind
        What it is about, in general.
    subject : str
        What it is about, in particular: a metric, a group, a model; empty where the kind says all.
    values : mapping
        The figures of the sentence by name.
    """

    __slots__ = ("kind", "subject", "values")

    kind: Kind
    subject: str
    values: Mapping[str, float]

    def __new__(cls, kind: str, text: str, *, subject: str = "", values: Mapping[str, float] | None = None) -> Warning:
        """Make the sentence `text` of a kind."""
        made = super().__new__(cls, text)
        made.kind, made.subject, made.values = Kind(kind), subject, dict(values or {})
        return made

    @property
    def urgent(self) -> bool:
        """Whether it changes the decision, and stands in the first three lines."""
        return self.kind in URGENT

    @property
    def text(self) -> str:
        """The sentence alone."""
        return str(self)

    def saying(self, text: str) -> Warning:
        """The same in other words."""
        return Warning(self.kind, text, subject=self.subject, values=self.values)

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (str(self.kind), str(self), self.subject, self.values)


#: Kinds that change the decision.
URGENT = frozenset(
    {
        Kind.ASSUMED_BOUND,
        Kind.ASSUMED_ENTRY,
        Kind.PHASE_EFFECT,
        Kind.HIGH_LOSS,
        Kind.STARVED_GROUP,
        Kind.TINY_BUFFER,
        Kind.RARE_STATE,
        Kind.SHORT_RUN,
        Kind.MISSED_AGAIN,
    }
)


def _restore(kind: str, text: str, subject: str, values: Mapping[str, float]) -> Warning:
    return Warning(kind, text, subject=subject, values=values)


def of_engine(report: _core.Report) -> tuple[Warning, ...]:
    """What an engine warned of."""
    return tuple(
        Warning(kind, text, subject=subject, values=values) for kind, subject, values, text in report.warnings()
    )
