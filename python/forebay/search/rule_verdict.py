"""The verdict on a rule: whether it applies to a link, and how the simulation judges its buffer.

`findings` makes it from the evidence, for each rule of an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from forebay.inputs.goals import Goal, distinct, metric_value, parts_of_key
from forebay.results.metric import unit_of
from forebay.results.report import Report
from forebay.search.goal_test import ShareTest
from forebay.text import formatting

__all__ = ["Miss", "RuleVerdict", "mean_of", "worst_miss", "worst_of"]

Unit = Literal["points", "s", "%"]

#: Part of the recommended buffer below which a buffer was not confirmed by the search.
LEAST_TIMES = 0.95
#: The name under which a missed share of the draws stands where other misses have the goal's.
FRACTION = "fraction"


@dataclass(frozen=True, slots=True)
class Miss:
    """The amount by which a goal is missed.

    Attributes
    ----------
    goal : str
        Its key; "fraction" where every goal holds on average, but not in as many draws as was asked for.
    by : float
        How far the mean is on the wrong side of the threshold.
    unit : {"points", "s", "%"}
        Percentage points for ratios, seconds for times, percent of the threshold for everything else.
    """

    goal: str
    by: float
    unit: Unit

    @property
    def words(self) -> str:
        """The amount in words: "30 points" or "2.10 ms"."""
        if self.unit == "s":
            return formatting.duration(self.by)
        number = f"{self.by:.0f}" if self.by >= 9.95 else f"{self.by:.2g}"
        return f"{number} %" if self.unit == "%" else f"{number} point{'' if number == '1' else 's'}"

    @property
    def subject(self) -> str:
        """The goal in words: "p99 delay", or "share of draws"."""
        if self.goal == FRACTION:
            return "share of draws"
        return formatting.metric_title(parts_of_key(self.goal)[0])


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """The verdict on a rule: whether it applies, and whether its buffer meets the goals in simulation.

    Attributes
    ----------
    applies : bool
        Whether it fits more than half of the flows and none of its other assumptions fails.
    share : float
        Share of the flows that it fits, or of the load if the rule concerns the load.
    simulated : bool
        Whether its buffer was simulated; if not, its metrics are unknown.
    miss : Miss or None
        The goal that its buffer misses worst, relative to the thresholds; None if it meets all.
    times : float or None
        If it meets every goal: its buffer divided by the recommended one.
    interpolated : bool
        Whether the metrics were interpolated between two simulated buffers.
    """

    applies: bool
    share: float
    simulated: bool = False
    miss: Miss | None = None
    times: float | None = None
    interpolated: bool = False

    @property
    def verdict(self) -> str:
        """Whether it applies: "applies", "applies to 60 %" (of the flows) or "does not apply"."""
        if not self.applies:
            return "does not apply"
        return "applies" if self.share >= 1 else f"applies to {_share(self.share)}"

    @property
    def unconfirmed(self) -> bool:
        """Whether its buffer is so far below the recommendation that a few runs do not confirm it."""
        return self.times is not None and self.times < LEAST_TIMES

    @property
    def measured_verdict(self) -> str:
        """The verdict: "misses utilization by 30 points", "meets every goal at 2.9 x the recommendation"."""
        if self.miss is not None:
            return f"misses {self.miss.subject} by {'about ' if self.interpolated else ''}{self.miss.words}"
        if not self.simulated:
            return ""
        if self.times is None:
            return "meets every goal"
        times = f"{self.times:.0f}" if self.times >= 9.95 else f"{self.times:.1f}"
        if self.unconfirmed:
            return f"not confirmed, at {self.times:.2g} x the recommendation"
        return (
            "meets every goal at the recommendation"
            if times == "1.0"
            else f"meets every goal at {times} x the recommendation"
        )

    @property
    def words(self) -> str:
        """Both: "applies, misses utilization by 30 points"; of a rule that does not apply only that."""
        return ", ".join(filter(None, (self.verdict, self.measured_verdict))) if self.applies else self.verdict

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON."""
        return asdict(self) | {"words": self.words}


def worst_miss(reports: Sequence[Report], goals: Sequence[Goal], share: float | None) -> Miss | None:
    """The goal whose mean over the replications is farthest on the wrong side, relative to its threshold.

    Parameters
    ----------
    reports : sequence of Report
        Reports of the replications at one buffer.
    goals : sequence of Goal
        The requested goals.
    share : float or None
        The share of the draws in which all goals have to hold at once, if one was requested.

    Returns
    -------
    Miss or None
        The miss; None if every goal is met.
    """
    goals = distinct(goals)
    missed = worst_of({goal.key: goal.margin(mean_of(goal, reports)) for goal in goals}, goals)
    if missed is not None or share is None:
        return missed
    share_met = ShareTest(share).draws_met(reports, goals) / len(reports)
    return Miss(FRACTION, 100 * (share - share_met), "points") if share_met < share else None


def mean_of(goal: Goal, reports: Sequence[Report]) -> float:
    """Mean over replications of the metric that a goal is about."""
    return sum(metric_value(goal.name, report) for report in reports) / len(reports)


def worst_of(margins: Mapping[str, float], goals: Sequence[Goal]) -> Miss | None:
    """The goal that is missed most, relative to its threshold, by margins under the goals' keys; None if none is."""
    worst = min(goals, key=lambda goal: margins[goal.key] / (abs(goal.threshold) or 1.0))
    return _miss(worst, -margins[worst.key]) if margins[worst.key] < 0 else None


def _miss(goal: Goal, by: float) -> Miss:
    unit = unit_of(goal.name)
    if unit == "share":
        return Miss(goal.key, 100 * by, "points")
    if unit == "s":
        return Miss(goal.key, by, "s")
    return Miss(goal.key, 100 * by / (abs(goal.threshold) or 1.0), "%")


def _share(share: float) -> str:
    """A share in percent that is not 100 unless it is all."""
    return "over 99 %" if share >= 0.995 else f"{100 * share:.0f} %"
