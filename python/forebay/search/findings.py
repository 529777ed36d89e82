"""What a finished search means: its goals, rules, curve and warnings as parts of the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forebay import statistics
from forebay.cautions import phase_effects
from forebay.goals import metric_value
from forebay.report import BufferSize, Estimate, Report
from forebay.rules import Rule
from forebay.scenario import Scenario
from forebay.search.answer import (
    Conflict,
    CurvePoint,
    Held,
    JudgedGoal,
    JudgedRule,
    NamedBuffer,
    SearchCost,
    Side,
    UpperEnd,
)
from forebay.search.judging import ShareJudge
from forebay.search.measurements import Measurements
from forebay.search.smallest import Outcome, Plan, Search
from forebay.warning import Kind, Warning

__all__ = ["conflict", "cost", "fraction", "judged_goals", "judged_rule", "named", "point", "upper_end", "warnings"]

#: Buffers that a warning names at most.
NAMED = 6


def size(scenario: Scenario, packets: int) -> BufferSize:
    """A buffer of so many packets at the scenario's link."""
    return scenario.with_packets(packets).buffer


def reports_at_answer(outcome: Outcome, search: Search) -> tuple[int, Sequence[Report]]:
    """The answer with the fresh replications; without one the compromise with those of the search."""
    if outcome.buffer is not None:
        return outcome.buffer, outcome.confirmation
    at = outcome.compromise if outcome.compromise is not None else min(search.samples)
    return at, search.samples[at]


def judged_goals(scenario: Scenario, outcome: Outcome, search: Search, share: float | None) -> Mapping[str, JudgedGoal]:
    """Every goal with what was measured at the answer (or at the compromise) and how far it is from the threshold."""
    at, reports = reports_at_answer(outcome, search)
    judge = search.plan.judge
    confidences = judge.confidences(reports, scenario.goals)
    judged = {}
    for goal in scenario.goals:
        values = [metric_value(goal.name, report) for report in reports]
        interval = statistics.mean_interval(values, 0.95)
        judged[goal.name] = JudgedGoal(
            goal,
            held=None if share is None else sum(goal.margin(value) >= 0 for value in values),
            of=None if share is None else len(values),
            at_packets=at,
            measured=Estimate(interval.mean, interval.half_width),
            slack=goal.margin(interval.mean),
            met=judge.margin(reports, [goal]) >= 0,
            confidence=confidences[goal.name],
            binding=goal.name == outcome.binding,
        )
    return judged


def fraction(scenario: Scenario, outcome: Outcome, search: Search, share: float, confidence: float) -> Held:
    """In how many of the fresh draws (or, without an answer, of those at the compromise) all goals hold."""
    _, reports = reports_at_answer(outcome, search)
    held = ShareJudge(share).held(reports, scenario.goals)
    at_least = statistics.share_at_least(held, len(reports), confidence)
    return Held(share, held, len(reports), at_least, confidence)


def upper_end(scenario: Scenario, outcome: Outcome) -> UpperEnd | None:
    """How far above the answer the goals hold: the last measured buffer that does and the first that does not."""
    if outcome.buffer is None:
        return None
    last, beyond = outcome.up_to
    return UpperEnd(size(scenario, last), None if beyond is None else size(scenario, beyond))


def conflict(scenario: Scenario, outcome: Outcome, search: Search) -> Conflict:
    """Which goals cannot hold together, what each side needs, and the nearest compromise."""

    def side(needs: tuple[tuple[str, ...], int | None]) -> Side:
        names, packets = needs
        return Side(names, None if packets is None else size(scenario, packets))

    compromise = outcome.compromise
    return Conflict(
        side(outcome.needs_at_least),
        side(outcome.needs_at_most),
        None if compromise is None else size(scenario, compromise),
        size(scenario, max(search.samples)),
    )


def judged_rule(scenario: Scenario, rule: Rule, plan: Plan, measure: Measurements) -> JudgedRule:
    """A rule with what was measured at its buffer."""
    packets = None if rule.packets is None else max(1, round(rule.packets))
    within = packets is not None and packets <= plan.ceiling
    beyond = () if packets is None or within else (f"not simulated: more than {plan.ceiling} packets",)
    return JudgedRule(
        rule.name,
        None if packets is None else size(scenario, packets),
        rule.applies,
        rule.refusal or "; ".join(rule.failing or rule.unknown or ["its assumptions hold"]),
        rule.assumptions,
        rule.predicted,
        (*rule.notes, *beyond),
        measure.combined(packets, measure.replications(packets)).metrics if within and packets is not None else {},
    )


def named(scenario: Scenario, name: str, packets: int, plan: Plan, measure: Measurements) -> NamedBuffer:
    """A buffer that somebody named, with what was measured there."""
    within = packets <= plan.ceiling
    measured = measure.combined(packets, measure.replications(packets)).metrics if within else {}
    return NamedBuffer(name, size(scenario, packets), measured)


def point(scenario: Scenario, buffer: int, measure: Measurements) -> CurvePoint:
    """What was measured at a buffer, over all of its replications."""
    numbers = measure.replications(buffer)
    report = measure.combined(buffer, numbers)
    groups = {group.name: group.with_quantiles for group in report.groups}
    return CurvePoint(size(scenario, buffer), len(numbers), report.metrics, groups)


def cost(measure: Measurements, wall_s: float) -> SearchCost:
    """What all replications cost."""
    costs = [report.cost for report in measure.reports.values()]
    return SearchCost(
        replications=len(costs),
        buffers=len(measure.buffers()),
        data_packets=sum(each.data_packets for each in costs),
        events=sum(each.events for each in costs),
        cpu_s=sum(each.cpu_s for each in costs),
        wall_s=wall_s,
        peak_rss_bytes=max(each.peak_rss_bytes for each in costs),
    )


def warnings(scenario: Scenario, outcome: Outcome, measure: Measurements) -> tuple[Warning, ...]:
    """What the search noticed, what the runs warned of, whether the warm-up is long enough, what is a coincidence."""
    return (
        *outcome.notes,
        *_of_runs(measure),
        *_of_warmup(scenario, outcome, measure.engine),
        *phase_effects(scenario.core, measure.engine),
    )


def _of_runs(measure: Measurements) -> list[Warning]:
    """What the runs warned of: what is about the same once, with the buffers at which it came up."""
    alike: dict[tuple[Kind, str], tuple[Warning, list[int]]] = {}
    for buffer, replication in sorted(measure.reports):
        for warning in measure.reports[buffer, replication].warnings:
            _, buffers = alike.setdefault((warning.kind, warning.subject), (warning, []))
            if buffer not in buffers:
                buffers.append(buffer)
    found = []
    for warning, buffers in alike.values():
        shown = ", ".join(str(buffer) for buffer in buffers[:NAMED]) + (", ..." if len(buffers) > NAMED else "")
        found.append(warning.saying(f"at {shown} packets: {warning}"))
    return found


def _of_warmup(scenario: Scenario, outcome: Outcome, engine: str) -> list[Warning]:
    """Whether the warm-up is long enough at the answer, on one more replication with its traces."""
    from forebay.measurement.warmup import warmup_warnings

    if outcome.buffer is None or engine != "packet":
        return []
    return warmup_warnings(scenario.with_packets(outcome.buffer), engine)
