"""A link whose results depend on its buffer alone, and a judge that knows the true verdicts: to test the search."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from forebay.inputs.goals import Goal
from forebay.results.report import Report
from forebay.search.goal_test import Verdict
from forebay.search.plan import Outcome, Plan
from forebay.search.smallest import Search

#: A goal that needs a larger buffer, and one that needs a smaller buffer; both measure the buffer itself.
ROOM, SMALL = Goal("utilization", ">=", 0.5), Goal("queue_mean", "<=", 0.5)
BOTH = (ROOM, SMALL)


class Link:
    """A link whose loss rate is the number of the replication, and whose other metrics are the buffer."""

    def __init__(self) -> None:
        self.calls: list[list[tuple[int, int]]] = []

    def __call__(self, pairs: Sequence[tuple[int, int]]) -> list[Report]:
        self.calls.append(list(pairs))
        return [
            Report.of({"engine": "test", "metrics": {name: {"mean": value} for name, value in each}, "groups": []})
            for each in (
                (("utilization", buffer), ("queue_mean_packets", buffer), ("loss_rate", replication))
                for buffer, replication in pairs
            )
        ]

    @property
    def asked(self) -> list[tuple[int, int]]:
        return [pair for call in self.calls for pair in call]

    @property
    def buffers(self) -> set[int]:
        return {buffer for buffer, _ in self.asked}

    def fresh(self, plan: Plan) -> list[int]:
        """Buffers that were put to fresh replications, in the order in which they were."""
        return list(dict.fromkeys(buffer for buffer, replication in self.asked if plan.is_fresh(replication)))


@dataclasses.dataclass
class Oracle:
    """A judge that knows what is met where: `room` and `small` by buffer.

    `unclear` says of a buffer and a number of replications that they do not suffice; `confidence` what the fresh
    replications at a buffer give, by the number of the attempt.
    """

    room: Callable[[int], bool]
    small: Callable[[int], bool] = lambda _buffer: True
    unclear: Callable[[int, int], bool] = lambda _buffer, _replications: False
    confidence: Callable[[int], float] = lambda _attempt: 0.99999
    weakest: Goal = ROOM
    fresh: int = 8
    averages: bool = False

    def __post_init__(self) -> None:
        self.levels: set[float] = set()
        self.asked_to_confirm: list[tuple[int, float]] = []

    def _met(self, buffer: int, goals: Sequence[Goal]) -> bool:
        return all((self.room if goal.name == ROOM.name else self.small)(buffer) for goal in goals)

    def verdict(self, reports: Sequence[Report], goals: Sequence[Goal], level: float) -> Verdict:
        self.levels.add(level)
        buffer = buffer_of(reports)
        if self.unclear(buffer, len(reports)):
            return Verdict.UNCLEAR
        return Verdict.MET if self._met(buffer, goals) else Verdict.MISSED

    def evidence(
        self, reports: Sequence[Report], goals: Sequence[Goal], worst: Mapping[str, float] | None = None
    ) -> Mapping[str, float]:
        return self.confidences(reports, goals, worst)

    def confidences(
        self, reports: Sequence[Report], goals: Sequence[Goal], worst: Mapping[str, float] | None = None
    ) -> Mapping[str, float]:
        assert worst is None or not self.averages
        buffer = buffer_of(reports)
        if reports[0].metrics["loss_rate"].mean < 16:
            return {goal.key: float(self._met(buffer, [goal])) for goal in goals}
        found = self.confidence(len(self.asked_to_confirm))
        return {goal.key: found if goal == self.weakest else 1.0 for goal in goals}

    def margin(self, reports: Sequence[Report], goals: Sequence[Goal]) -> float:
        return 1.0 if self._met(buffer_of(reports), goals) else -1.0

    def confirmations(self, seen: int, confidence: float, most: int) -> tuple[tuple[int, float], ...]:
        assert most >= 8
        self.asked_to_confirm.append((seen, confidence))
        return ((self.fresh, 1.0),)


def buffer_of(reports: Sequence[Report]) -> int:
    (buffer,) = {round(report.metrics["utilization"].mean) for report in reports}
    return buffer


def plan_of(test: Oracle, **changes: object) -> Plan:
    plan = Plan(smallest=1, largest=1000, ceiling=8000, analyses=(4, 8, 16), test=test)
    return dataclasses.replace(plan, **changes)  # type: ignore[arg-type]


def searched(
    test: Oracle, goals: Sequence[Goal] = (ROOM,), **changes: object
) -> tuple[Outcome, Link, Search, list[int]]:
    """Run a search; return also every expected number of runs that it has reported."""
    link, expected = Link(), list[int]()
    search = Search(link, goals, plan_of(test, **changes), expected.append)
    outcome = search.run()
    assert max(Counter(link.asked).values()) == 1, "no pair twice"
    return outcome, link, search, expected


def since(edge: int) -> Callable[[int], bool]:
    return lambda buffer: buffer >= edge


def until(edge: int) -> Callable[[int], bool]:
    return lambda buffer: buffer <= edge
