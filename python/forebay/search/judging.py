"""When a goal counts as met: on the average over replications, or in a stated share of them.

Both speak of the replications at one buffer and know nothing of searching. A replication is one day on the link or,
where the scenario is uncertain, one draw of what is not known. Replications that are equal to the last bit are one day.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from forebay import statistics
from forebay.goals import Goal, distinct, metric_value
from forebay.report import Report
from forebay.search.independence import different, enough, outcomes

__all__ = ["AverageJudge", "Judge", "ShareJudge", "Verdict"]

Reports = Sequence[Report]


class Verdict(Enum):
    """What the replications so far say about goals."""

    MET = "met"
    MISSED = "missed"
    UNCLEAR = "unclear"


class Judge(Protocol):
    """Decides whether replications support goals that have to hold together."""

    def verdict(self, reports: Reports, goals: Sequence[Goal], level: float) -> Verdict:
        """Judge, each way at this one-sided confidence."""

    def confidences(self, reports: Reports, goals: Sequence[Goal]) -> Mapping[str, float]:
        """By the key of each goal, the confidence with which it is met; their minimum is that of all together."""

    def margin(self, reports: Reports, goals: Sequence[Goal]) -> float:
        """How far the goals are from being just met: 0 there, positive where they are met; smooth in the buffer."""

    def confirmations(self, seen: int, confidence: float) -> int:
        """How many fresh replications can confirm, where the search took `seen`."""


@dataclass(frozen=True, slots=True)
class AverageJudge:
    """A goal is about the mean over replications: one-sided Student-t bounds."""

    def verdict(self, reports: Reports, goals: Sequence[Goal], level: float) -> Verdict:
        """Missed as soon as one goal is; met where all are."""
        independent = different(reports)
        if not enough(independent, len(reports)):
            return _as_seen(self.margin(reports, goals))
        # Equal results support no more than the sign test's 1 - 2^-n, which four replications cannot raise to the
        # level of a look; they are still as clear as that number of replications can be.
        cleared = min(level, 1 - 0.5**independent)
        found = self.confidences(reports, goals).values()
        if any(confidence <= 1 - cleared for confidence in found):
            return Verdict.MISSED
        return Verdict.MET if all(confidence >= cleared for confidence in found) else Verdict.UNCLEAR

    def confidences(self, reports: Reports, goals: Sequence[Goal]) -> Mapping[str, float]:
        """One minus the p-value of each goal's one-sided t test."""
        independent = different(reports)
        return {
            goal.key: statistics.confidence_that(
                [metric_value(goal.name, report) for report in reports],
                goal.sense,
                goal.threshold,
                independent=independent,
            )
            for goal in distinct(goals)
        }

    def margin(self, reports: Reports, goals: Sequence[Goal]) -> float:
        """The smallest margin of a mean, relative to its threshold."""
        return min(
            goal.margin(math.fsum(metric_value(goal.name, report) for report in reports) / len(reports))
            / (abs(goal.threshold) or 1.0)
            for goal in goals
        )

    def confirmations(self, seen: int, confidence: float) -> int:
        """As many as the decision in the search took, and at least eight: a noisier system needs more."""
        del confidence
        return max(8, seen)


@dataclass(frozen=True, slots=True)
class ShareJudge:
    """All goals have to hold at once in at least a share of the replications: exact binomial bounds.

    Attributes
    ----------
    share : float
        Strictly between 0 and 1.
    """

    share: float

    def held(self, reports: Reports, goals: Sequence[Goal]) -> int:
        """In how many replications all goals hold."""
        return sum(all(goal.margin(metric_value(goal.name, report)) >= 0 for goal in goals) for report in reports)

    def verdict(self, reports: Reports, goals: Sequence[Goal], level: float) -> Verdict:
        """From the number of replications in which all goals hold."""
        draws = outcomes(reports)
        if not enough(len(draws), len(reports)):
            return _as_seen(self.margin(reports, goals))
        at_least, below = statistics.confidence_that_share(self.held(draws, goals), len(draws), self.share)
        if at_least >= level:
            return Verdict.MET
        return Verdict.MISSED if below >= level else Verdict.UNCLEAR

    def confidences(self, reports: Reports, goals: Sequence[Goal]) -> Mapping[str, float]:
        """By goal; the goal that fails most carries the confidence of all together."""
        draws = outcomes(reports)

        def confidence(asked: Sequence[Goal]) -> float:
            return statistics.confidence_that_share(self.held(draws, asked), len(draws), self.share)[0]

        goals = distinct(goals)
        found = {goal.key: confidence([goal]) for goal in goals}
        worst = min(goals, key=lambda goal: self.held(draws, [goal])).key
        together = confidence(goals)
        return {**found, worst: together}

    def margin(self, reports: Reports, goals: Sequence[Goal]) -> float:
        """Share of the replications beyond the wanted one."""
        return self.held(reports, goals) / len(reports) - self.share

    def confirmations(self, seen: int, confidence: float) -> int:
        """At least twice as many as would do if none of them failed."""
        return max(seen, 2 * statistics.replications_for_share(self.share, confidence))


def _as_seen(margin: float) -> Verdict:
    """What little is observed says; there will hardly be more, however often it is repeated."""
    return Verdict.MET if margin >= 0 else Verdict.MISSED
