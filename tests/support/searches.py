"""Finished searches whose reports and outcomes are known."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from forebay import Scenario
from forebay.configuration.jitter import Jitter
from forebay.results.report import Report
from forebay.search.buffer_variable import BufferVariable
from forebay.search.evidence import Evidence
from forebay.search.goal_test import GoalTest, MeanTest, Replications
from forebay.search.measurements import Means, Measurements
from forebay.search.plan import Outcome, Plan
from forebay.search.smallest import Search
from tests.support.scenarios import SMALL

SCENARIO = Scenario.parse(SMALL)


UTILIZATION, DELAY = SCENARIO.goals


PLAN = Plan(smallest=1, largest=50, ceiling=80)


def report(utilization: float, delay: float, *, loss: float = 0.0, warnings: Sequence[str] = ()) -> Report:
    metrics = {"utilization": utilization, "queue_delay_p99_s": delay, "loss_rate": loss}
    found = {name: {"mean": value} for name, value in metrics.items()}
    return Report.of({"engine": "test", "metrics": found, "groups": [], "warnings": list(warnings)})


def good(number: int = 0) -> Report:
    return report(0.9 + 1e-4 * number, 0.1 + 1e-4 * number)


def bad(number: int = 0) -> Report:
    return report(0.7 + 1e-4 * number, 0.1 + 1e-4 * number)


def finished(
    seen: Mapping[int, Sequence[Report]],
    outcome: Outcome,
    *,
    test: GoalTest | None = None,
    fresh: Mapping[int, Sequence[Report]] | None = None,
    scenario: Scenario = SCENARIO,
    jitter: Jitter | None = None,
    engine: str = "test",
) -> Evidence:
    """A search that saw these replications at each buffer, and fresh ones, and came to this outcome."""
    measure = Measurements(BufferVariable(scenario), Means(engine))
    search = Search(measure, scenario.goals, dataclasses.replace(PLAN, analyses=(4, 8, 16), test=test or MeanTest()))
    search.samples = {buffer: Replications(reports) for buffer, reports in seen.items()}
    measure.reports = {(buffer, n): each for buffer, reports in seen.items() for n, each in enumerate(reports)}
    for buffer, reports in (fresh or {}).items():
        measure.reports |= {(buffer, 16 + n): each for n, each in enumerate(reports)}
    return Evidence(search, outcome, measure, BufferVariable(scenario), jitter)


def four(make: Any) -> list[Report]:
    return [make(number) for number in range(4)]
