"""Warnings about an answer's numbers: a sentence for people, a kind and figures for programs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forebay import _core

__all__ = ["Kind", "Warning", "of_engine"]


class Kind(StrEnum):
    """Every kind of warning. Programs may rely on their names."""

    # Warnings of the engines, as in crates/scenario/src/answer/warning.rs.
    FEW_DROPS = "few_drops"
    FEW_CONGESTION_EVENTS = "few_congestion_events"
    SIMULTANEOUS_EVENTS = "simultaneous_events"
    NOT_STARTED = "not_started"
    LOWER_BOUND = "lower_bound"
    GOODPUT_ABOVE_RATE = "goodput_above_rate"
    DEADLOCK = "deadlock"
    LOSSLESS_DROPS = "lossless_drops"
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
    # Warnings about scenarios: a group (the subject) whose packets arrive as others leave (`packet_times`), or
    # together.
    PHASE_EFFECT = "phase_effect"
    TIED_ROUND_TRIPS = "tied_round_trips"
    # Runs at the answer of which a twin with hosts that vary gives other metrics: `NAME_exact` and `NAME_varied`.
    TWIN_DIFFERS = "twin_differs"
    # Warnings about measurements: a metric or a recorded series (the subject).
    STILL_STARTING = "still_starting"
    NOT_SETTLED = "not_settled"
    IMPRECISE = "imprecise"
    CORRELATED_BATCHES = "correlated_batches"
    TRACED_IN_PART = "traced_in_part"
    # Warnings of the search: a goal (the subject) and buffers in packets.
    MISSED_AGAIN = "missed_again"
    MET_BELOW = "met_below"
    REFUSED = "refused"
    NO_MARGIN = "no_margin"
    # Sizing of all classes: a class (the subject) whose buffer no goal requires, or holds few packets.
    UNDEMANDED = "undemanded"
    FEW_PACKETS = "few_packets"
    # An answer before the end of its search: measured seconds of each run, and number of runs; replications so far.
    QUICK = "quick"
    TIME_OVER = "time_over"
    # A quick look: the range of packets in which it looked first, by the atlas of smallest buffers.
    PRIOR = "prior"
    # Smaller links of the same kind: the range of packets in which they place the answer.
    SCALED = "scaled"
    # The basis of the confidence: replications that repeat each other (`replications`, `different`), flows of a group
    # (the subject) that move as one, and changes by `--jitter`.
    IDENTICAL = "identical"
    LOCK_STEP = "lock_step"
    JITTERED = "jittered"
    # The port at the answer: loss above 1 % without a goal on it, other links that lose more than a goal allows, a
    # group (the subject) that hardly gets through, and few packets at a high rate. The scenario: a random state that
    # decides a goal and that runs see rarely.
    HIGH_LOSS = "high_loss"
    LOSS_ELSEWHERE = "loss_elsewhere"
    STARVED_GROUP = "starved_group"
    TINY_BUFFER = "tiny_buffer"
    RARE_STATE = "rare_state"
    STRATA = "strata"
    LENGTHENED = "lengthened"
    SHORT_RUN = "short_run"
    # More traffic than the link carries: a goal (the subject) that any buffer misses in the long run.
    OVERLOADED = "overloaded"
    # The end of the range: buffers beyond it may meet every goal, and no run can judge them.
    RANGE_END = "range_end"
    # A scenario that lists assumptions: one of these.
    ASSUMED_ENTRY = "assumed_entry"
    # A scenario without a key: a bound that was used as its value (the subject is the key).
    ASSUMED_BOUND = "assumed_bound"
    # A sentence that was read back from JSON, which carries no kinds.
    UNKNOWN = "unknown"


class Warning(str):
    """A sentence with a kind, a subject and figures; prints, compares and serializes as the sentence.

    Attributes
    ----------
    kind : Kind
        General topic of the warning.
    subject : str
        Particular topic: a metric, a group, a model; empty if the kind is enough.
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
        """Whether it changes the decision, so that it belongs in the first three lines."""
        return self.kind in URGENT

    @property
    def text(self) -> str:
        """The sentence alone."""
        return str(self)

    def saying(self, text: str) -> Warning:
        """Return the same warning with another text."""
        return Warning(self.kind, text, subject=self.subject, values=self.values)

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (str(self.kind), str(self), self.subject, self.values)


#: Kinds that change the decision.
URGENT = frozenset(
    {
        Kind.ASSUMED_BOUND,
        Kind.ASSUMED_ENTRY,
        Kind.DEADLOCK,
        Kind.TWIN_DIFFERS,
        Kind.PHASE_EFFECT,
        Kind.HIGH_LOSS,
        Kind.LOSS_ELSEWHERE,
        Kind.STARVED_GROUP,
        Kind.TINY_BUFFER,
        Kind.RARE_STATE,
        Kind.SHORT_RUN,
        Kind.OVERLOADED,
    }
)


def _restore(kind: str, text: str, subject: str, values: Mapping[str, float]) -> Warning:
    return Warning(kind, text, subject=subject, values=values)


def of_engine(report: _core.Report) -> tuple[Warning, ...]:
    """The warnings of an engine's report."""
    return tuple(
        Warning(kind, text, subject=subject, values=values) for kind, subject, values, text in report.warnings()
    )
