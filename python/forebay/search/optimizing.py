"""`--minimize` and `--maximize`: from the smallest that meets the goals to the one at which a metric is best.

`searching` continues with it after the search for the smallest; `optimum` decides where to measure.
"""

from __future__ import annotations

import dataclasses

from forebay import _core
from forebay.errors import InputError, naming
from forebay.inputs.goals import Goal, metric_value
from forebay.results import statistics
from forebay.results.metric import find
from forebay.results.report import Estimate
from forebay.scenario import Scenario
from forebay.search.evidence import Evidence
from forebay.search.independence import different
from forebay.search.listener import Listener
from forebay.search.measurable import Measurable
from forebay.search.optimum import Best, Optimizing, Optimum
from forebay.search.plan import Outcome
from forebay.search.smallest import Search

__all__ = ["objective", "optimized"]


def objective(scenario: Scenario, minimize: str | None, maximize: str | None, engine: str) -> Goal | None:
    """The metric to minimize or maximize, as a goal whose margin measures its goodness.

    Raises
    ------
    InputError
        Where both are asked for, or the metric is not measured.
    """
    if minimize is not None and maximize is not None:
        raise InputError(f"cannot be combined with --minimize `{minimize}`; allowed: one of them", "maximize")
    argument, name = ("minimize", minimize) if minimize is not None else ("maximize", maximize)
    if name is None:
        return None
    group, dot, metric = name.strip().rpartition(".")
    known = find(metric)
    groups = [each[0] for each in scenario.core.groups]
    if dot and group not in groups:
        raise InputError(_core.unknown("group", group, groups), argument)
    if known is None:
        raise InputError(_core.unknown("metric", metric, Measurable(scenario, engine).metrics(group or None)), argument)
    goal = Goal(f"{group}{dot}{known.goal_name}", "<=" if argument == "minimize" else ">=", 0.0)
    with naming(argument):
        Measurable(scenario, engine).check([goal], {})
    return goal


def optimized(evidence: Evidence, goal: Goal, confidence: float, listener: Listener) -> tuple[Evidence, Optimum | None]:
    """Go on from a search to the best that meets its goals; without an answer there is none."""
    search, outcome, plan = evidence.search, evidence.outcome, evidence.search.plan
    goals = evidence.scenario.goals
    if goals and outcome.buffer is None:
        return evidence, None
    if outcome.buffer is None:
        low, high, limit = plan.smallest, plan.largest, plan.ceiling
    else:
        last, missed = outcome.up_to
        low, high = outcome.buffer, max(last, missed or plan.largest)
        limit = plan.ceiling if missed is None else high

    seeking = Optimizing(search, goal, goals, confidence, listener)
    best = seeking.best(low, max(low, high), outcome.buffer, limit)
    found = _confirmed(seeking, search, best, outcome)
    assert found.buffer is not None, "the first answer stays where no other is confirmed"
    values = [metric_value(goal.name, report) for report in found.confirmation]
    interval = statistics.mean_interval(values, 0.95)
    least, most = sorted((evidence.size(best.low), evidence.size(best.high)), key=lambda value: value.number)
    optimum = Optimum(
        goal.name,
        "minimize" if goal.sense == "<=" else "maximize",
        Estimate(interval.mean, interval.half_width),
        least,
        most,
        confidence,
        tuple(sorted((evidence.size(place) for place in best.indistinguishable), key=lambda value: value.number)),
    )
    return dataclasses.replace(evidence, outcome=found), optimum


def _confirmed(seeking: Optimizing, search: object, best: Best, outcome: Outcome) -> Outcome:
    """The best whose goals fresh replications confirm; without goals the best."""
    if not isinstance(search, Search):
        place = best.candidates[0]
        fresh = seeking.fresh(place)
        return dataclasses.replace(
            outcome, buffer=place, confirmation=fresh, up_to=(place, None), runs=different(fresh)
        )
    for place in best.candidates:
        if place == outcome.buffer:
            break
        tried = dataclasses.replace(outcome, notes=outcome.notes)
        if search.confirms(place, tried):
            return tried
        if search.spent:
            break
    return outcome
