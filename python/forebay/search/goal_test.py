"""When a goal counts as met: on the average over replications, or in a stated share of them.

Both speak of the replications at one buffer and know nothing of searching. A replication is one day on the link or,
where the scenario is uncertain, one draw of what is not known. Replications that are equal to the last bit are one day.
A goal should hold on the average day. A goal on a quantile is about the mean of each day's quantile.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from forebay.inputs.goals import Goal, distinct, metric_value
from forebay.results import statistics
from forebay.results.metric import NEVER_S
from forebay.results.report import Report
from forebay.search.independence import different, enough, outcomes

__all__ = [
    "GoalTest",
    "MeanTest",
    "Replications",
    "ShareTest",
    "Verdict",
    "attempt_share",
    "hopeless",
    "mean_margin",
    "observations",
    "relative_margin",
    "relative_margins",
    "sometimes_unfinished",
]

Reports = Sequence[Report]
#: Numbers of replications, each with its part of the error probability; the parts add up to 1.
Analyses = tuple[tuple[int, float], ...]

#: Fresh replications after which is looked whether a mean meets its goal; each analysis has an equal part of the error.
FRESH = (8, 16, 32, 64, 128, 256, 512, 1024)
#: Largest relative margin of a replication that ends in a deadlock.
DEADLOCKED = -1.0
#: Part of what the last analysis needs that it has to be heading for: else further replications are not worth their
#: while.
HEADING = 0.8


class Verdict(Enum):
    """The verdict of the replications so far on goals."""

    MET = "met"
    MISSED = "missed"
    UNCLEAR = "unclear"


def attempt_share(attempt: int) -> float:
    """Share of the error probability that an attempt at a confirmation may spend, counted from 1: 6 / (pi k)^2.

    The shares of all attempts add up to 1.
    """
    return 6 / (math.pi * attempt) ** 2


def relative_margin(goal: Goal, report: Report) -> float:
    """The margin by which one replication meets a goal, as a share of its threshold; negative if it misses it.

    A replication that ends in a deadlock misses every goal: whatever it measured before, nothing gets through any more.
    """
    margin = goal.margin(metric_value(goal.name, report)) / (abs(goal.threshold) or 1.0)
    return min(margin, DEADLOCKED) if report.is_deadlocked else margin


class Replications(tuple[Report, ...]):
    """The replications at one buffer. They never change, so that values of a goal are computed once."""

    def __init__(self, _reports: Iterable[Report] = ()) -> None:
        self._margins: dict[Goal, tuple[float, ...]] = {}
        self._means: dict[Goal, float] = {}

    def and_more(self, reports: Iterable[Report]) -> Replications:
        """These and then those, which begin with the margins that these know."""
        grown = Replications((*self, *reports))
        grown._margins.update(self._margins)
        return grown

    def margins(self, goal: Goal) -> tuple[float, ...]:
        """The margin of each replication for a goal."""
        known = self._margins.get(goal, ())
        if len(known) < len(self):
            known = (*known, *(relative_margin(goal, report) for report in self[len(known) :]))
            self._margins[goal] = known
        return known

    def mean_margin(self, goal: Goal) -> float:
        """The margin of the replications' mean for a goal."""
        mean = self._means.get(goal)
        if mean is None:
            mean = self._means[goal] = math.fsum(self.margins(goal)) / len(self)
        return mean


def relative_margins(goal: Goal, reports: Reports) -> Sequence[float]:
    """The relative margin of each replication."""
    if isinstance(reports, Replications):
        return reports.margins(goal)
    return [relative_margin(goal, report) for report in reports]


def mean_margin(goal: Goal, reports: Reports) -> float:
    """The relative margin of the mean over replications."""
    if isinstance(reports, Replications):
        return reports.mean_margin(goal)
    return math.fsum(relative_margins(goal, reports)) / len(reports)


def sometimes_unfinished(goal: Goal, reports: Reports) -> bool:
    """Whether no transfer ended in some runs, but in fewer than half: these may only have begun too late to end.

    Such runs count as `NEVER_S`, so that a few of them decide a mean. They are no evidence that a goal is missed.
    """
    if not goal.name.rpartition(".")[2].startswith("completion_time_"):
        return False
    never = goal.margin(NEVER_S / 2) / (abs(goal.threshold) or 1.0)
    unfinished = sum(margin <= never for margin in relative_margins(goal, reports))
    return 0 < unfinished < len(reports) / 2


def observations(samples: Mapping[int, Reports], goal: Goal) -> Iterator[tuple[float, float]]:
    """Logarithm of the buffer and margin of each replication, as lines are fitted to them."""
    for buffer, reports in samples.items():
        place = math.log(buffer)
        for margin in relative_margins(goal, reports):
            yield place, margin


#: The worst relative margin of other runs at which the goal is at least as easy to meet, by the key of the goal.
Worst = Mapping[str, float]
NONE_WORSE: Worst = {}


class GoalTest(Protocol):
    """Decides whether replications support goals that have to hold together."""

    @property
    def averages(self) -> bool:
        """Whether goals are about means, so that one replication is an observation of the margin."""

    def verdict(self, reports: Reports, goals: Sequence[Goal], level: float) -> Verdict:
        """Judge, each way at this one-sided confidence."""

    def confidences(self, reports: Reports, goals: Sequence[Goal], worst: Worst = NONE_WORSE) -> Mapping[str, float]:
        """The confidence with which each goal is met, by its key; their minimum is that of all together."""

    def evidence(self, reports: Reports, goals: Sequence[Goal], worst: Worst = NONE_WORSE) -> Mapping[str, float]:
        """One minus the p-value against each goal, by its key, however few runs there are."""

    def margin(self, reports: Reports, goals: Sequence[Goal]) -> float:
        """The margin of the goals: 0 if they are just met, positive if they are met; smooth in the buffer."""

    def confirmations(self, seen: int, confidence: float, most: int) -> Analyses:
        """Numbers of fresh replications after which to look if they confirm; the search took `seen`.

        `most` is the largest number that is worth its cost.
        """


@dataclass(frozen=True, slots=True)
class MeanTest:
    """A goal is about the mean over replications: the Bayesian bootstrap with a pessimistic observation."""

    @property
    def averages(self) -> bool:
        """They are."""
        return True

    def verdict(self, reports: Reports, goals: Sequence[Goal], level: float) -> Verdict:
        """Missed as soon as one goal is; met where all are."""
        independent = different(reports)
        if not enough(independent, len(reports)):
            return _as_seen(self.margin(reports, goals))
        # A few replications that agree are as clear as that number of replications can be.
        cleared = min(level, statistics.most_confidence(independent))
        if any(self.evidence_missed(reports, goal) >= cleared for goal in goals):
            return Verdict.MISSED
        met = all(confidence >= cleared for confidence in self.confidences(reports, goals).values())
        return Verdict.MET if met else Verdict.UNCLEAR

    def confidences(self, reports: Reports, goals: Sequence[Goal], worst: Worst = NONE_WORSE) -> Mapping[str, float]:
        """The evidence, limited by the number of different replications."""
        most = statistics.most_confidence(different(reports))
        return {key: min(most, found) for key, found in self.evidence(reports, goals, worst).items()}

    def evidence(self, reports: Reports, goals: Sequence[Goal], worst: Worst = NONE_WORSE) -> Mapping[str, float]:
        """The evidence of each goal, from the margins of the different replications and the worst margin elsewhere."""
        draws = outcomes(reports)
        return {
            goal.key: statistics.bootstrap_confidence(relative_margins(goal, draws), worst.get(goal.key, math.inf))
            for goal in distinct(goals)
        }

    def evidence_missed(self, reports: Reports, goal: Goal, best: float = -math.inf) -> float:
        """One minus the p-value that a goal is met; `best` is the best margin where it is at least as hard to meet."""
        turned = [-margin for margin in relative_margins(goal, outcomes(reports))]
        # A mean at the threshold meets the goal.
        return (
            0.0
            if max(turned) <= 0 or sometimes_unfinished(goal, reports)
            else statistics.bootstrap_confidence(turned, -best)
        )

    def margin(self, reports: Reports, goals: Sequence[Goal]) -> float:
        """The smallest margin of a mean, relative to its threshold."""
        return min(mean_margin(goal, reports) for goal in goals)

    def confirmations(self, seen: int, confidence: float, most: int) -> Analyses:
        """Few where the margin is clear, more where it is not."""
        del seen, confidence
        analyses = [count for count in FRESH if count <= most]
        return tuple((count, 1 / len(analyses)) for count in analyses)


@dataclass(frozen=True, slots=True)
class ShareTest:
    """All goals have to hold at once in at least a share of the replications: exact binomial bounds.

    Attributes
    ----------
    share : float
        Strictly between 0 and 1.
    """

    share: float

    @property
    def averages(self) -> bool:
        """They are not: what counts is how many hold."""
        return False

    def draws_met(self, reports: Reports, goals: Sequence[Goal]) -> int:
        """The number of replications in which all goals hold."""
        return sum(all(relative_margin(goal, report) >= 0 for goal in goals) for report in reports)

    def verdict(self, reports: Reports, goals: Sequence[Goal], level: float) -> Verdict:
        """The verdict from the number of replications in which all goals hold."""
        draws = outcomes(reports)
        if not enough(len(draws), len(reports)):
            return _as_seen(self.margin(reports, goals))
        at_least, below = statistics.confidence_that_share(self.draws_met(draws, goals), len(draws), self.share)
        if at_least >= level:
            return Verdict.MET
        return Verdict.MISSED if below >= level else Verdict.UNCLEAR

    def evidence(self, reports: Reports, goals: Sequence[Goal], worst: Worst = NONE_WORSE) -> Mapping[str, float]:
        """The exact bounds are the evidence."""
        return self.confidences(reports, goals, worst)

    def confidences(self, reports: Reports, goals: Sequence[Goal], worst: Worst = NONE_WORSE) -> Mapping[str, float]:
        """The confidence of each goal; the goal that fails most carries the confidence of all together."""
        del worst
        draws = outcomes(reports)

        def confidence(requested: Sequence[Goal]) -> float:
            return statistics.confidence_that_share(self.draws_met(draws, requested), len(draws), self.share)[0]

        goals = distinct(goals)
        found = {goal.key: confidence([goal]) for goal in goals}
        last = min(goals, key=lambda goal: self.draws_met(draws, [goal])).key
        together = confidence(goals)
        return {**found, last: together}

    def margin(self, reports: Reports, goals: Sequence[Goal]) -> float:
        """Share of the replications beyond the wanted one."""
        return self.draws_met(reports, goals) / len(reports) - self.share

    def confirmations(self, seen: int, confidence: float, most: int) -> Analyses:
        """The numbers of fresh runs: at least twice as many as are sufficient if none of them fails."""
        del most
        return ((max(seen, 2 * statistics.replications_for_share(self.share, confidence)), 1.0),)


def _as_seen(margin: float) -> Verdict:
    """The verdict of few observations; repeating them adds hardly anything."""
    return Verdict.MET if margin >= 0 else Verdict.MISSED


def hopeless(confidence: float, planned: int, last: tuple[int, float], allowed: float) -> bool:
    """Whether the replications will hardly be enough at the last analysis."""
    normal = statistics.normal_quantile
    if not 0 < confidence < 1:
        return confidence <= 0
    heading = normal(confidence) * math.sqrt(last[0] / planned)
    return heading < HEADING * normal(1 - allowed * last[1])
