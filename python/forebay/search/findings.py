"""The findings of a search: goals, rules, curve and cost as parts of the answer, from the evidence.

`answering` calls it when a search is over; views read the answer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

from forebay.inputs.goals import Goal, metric_value
from forebay.results import statistics
from forebay.results.metric import NEVER_S
from forebay.results.report import Estimate, Report
from forebay.rules import Rule
from forebay.search.answer_parts import (
    Conflict,
    CurvePoint,
    FeasibleInterval,
    GoalAt,
    GoalEvidence,
    InfeasibleInterval,
    JudgedGoal,
    JudgedRule,
    LowerEnd,
    Metrics,
    MetShare,
    NearestResult,
    SearchCost,
    Side,
    UpperEnd,
)
from forebay.search.evidence import ENOUGH_FOR_INTERVAL, ConfiguredVerdict, Evidence, without_few
from forebay.search.goal_test import ShareTest, Verdict
from forebay.search.independence import different
from forebay.search.interpolation import neighbors, point_between, share_between
from forebay.search.measurements import Measurements
from forebay.search.named_buffer import GoalVerdict, NamedBuffer
from forebay.search.parameter_rules import ParameterRule
from forebay.search.plan import LOWER_END
from forebay.search.range_variable import RangeVariable
from forebay.search.rule_verdict import RuleVerdict, mean_of, worst_miss, worst_of

__all__ = [
    "conflict",
    "cost",
    "curve",
    "feasible_intervals",
    "fraction",
    "gaps",
    "judged_goals",
    "judged_parameter_rule",
    "judged_rule",
    "lower_end",
    "named_buffer",
    "point",
    "upper_end",
]


def judged_goals(evidence: Evidence, share: float | None) -> Mapping[str, JudgedGoal]:
    """Every goal with its measurements at the answer (or at the compromise) and its distance from the threshold."""
    at, reports = evidence.at_answer()
    goals, test, search = evidence.scenario.goals, evidence.search.plan.test, evidence.search
    confidences = _confidences(evidence, at, reports) if evidence.confident and evidence.outcome.states_shown else {}
    judged = {}
    for goal in goals:
        values = [metric_value(goal.name, report) for report in reports]
        measured = _estimate(goal, reports)
        judged[goal.key] = JudgedGoal(
            goal,
            met_replications=None if share is None else sum(goal.margin(value) >= 0 for value in values),
            replications=None if share is None else len(values),
            at_packets=evidence.search.plan.words.value(at),
            measured=measured,
            margin=goal.margin(measured.mean),
            met=test.margin(reports, [goal]) >= 0,
            confidence=confidences.get(goal.key),
            binding=goal.key == evidence.outcome.binding,
            at_smallest=_goal_at(evidence, goal, min(search.samples)),
            at_largest=_goal_at(evidence, goal, max(search.samples)),
            evidence=_evidence(evidence, goal, at),
        )
    return judged


def _confidences(evidence: Evidence, at: int, reports: Sequence[Report]) -> Mapping[str, float]:
    """The confidence with which each goal is met, by its key; at an answer it comes from the confirming runs."""
    if evidence.outcome.buffer is not None and evidence.outcome.confidences:
        return evidence.outcome.confidences
    plan = evidence.search.plan
    test, goals = plan.test, [goal for goal in evidence.scenario.goals if goal not in plan.missed_later]
    if not test.averages:
        return test.confidences(reports, goals)
    most = statistics.most_confidence(max(evidence.outcome.runs, different(reports)))
    worst = evidence.search.worst_margins_near(at, reports)
    return {key: min(most, found) for key, found in test.evidence(reports, goals, worst).items()}


def _goal_at(evidence: Evidence, goal: Goal, packets: int) -> GoalAt:
    """One goal at one buffer that the search measured."""
    search = evidence.search
    reports = search.samples[packets]
    found = search.verdict_on(packets, goal, evidence.outcome)
    verdict: GoalVerdict = "undecided" if found is Verdict.UNCLEAR else "met" if found is Verdict.MET else "missed"
    if (
        verdict == "met"
        and len(reports) < ENOUGH_FOR_INTERVAL
        and evidence.measure.replicates
        and not search.derived(packets, goal)
    ):
        # A run or two that meet a goal show no rare state that misses it.
        verdict = "undecided"
    return GoalAt(evidence.size(packets), _estimate(goal, reports), verdict, len(reports))


def _evidence(evidence: Evidence, goal: Goal, packets: int) -> GoalEvidence:
    """The evidence for the verdict on a goal at the answer, or at the nearest miss."""
    if evidence.search.derived(packets, goal):
        return GoalEvidence("bound", 0)
    if not evidence.confident:
        return GoalEvidence("none", evidence.outcome.runs)
    return GoalEvidence("bootstrap" if evidence.search.plan.test.averages else "binomial", evidence.outcome.runs)


def fraction(evidence: Evidence, share: float, confidence: float) -> MetShare:
    """The number of fresh draws (or, without an answer, of draws at the compromise) in which all goals hold."""
    _, reports = evidence.at_answer()
    draws_met = ShareTest(share).draws_met(reports, evidence.scenario.goals)
    at_least = statistics.share_at_least(draws_met, len(reports), confidence) if evidence.confident else None
    return MetShare(share, draws_met, len(reports), at_least, confidence)


def lower_end(evidence: Evidence) -> LowerEnd | None:
    """The interval that contains the smallest sufficient buffer."""
    between = evidence.outcome.lower_end
    if between is None or (evidence.twin is not None and evidence.twin.changed_verdicts):
        return None
    low, high = sorted((evidence.size(end) for end in between), key=lambda value: value.number)
    return LowerEnd(low, high, LOWER_END)


def upper_end(evidence: Evidence) -> UpperEnd | None:
    """The upper end of the answer: the last measured buffer at which the goals hold and the first that misses one."""
    if evidence.outcome.buffer is None:
        return None
    last, beyond = evidence.outcome.up_to
    if beyond is None:
        return UpperEnd(evidence.size(last), None)
    about = _last_on_the_line(evidence, last, beyond) if evidence.search.plan.test.averages else None
    return UpperEnd(evidence.size(last), evidence.size(beyond), None if about is None else evidence.size(about))


def _last_on_the_line(evidence: Evidence, last: int, beyond: int) -> int | None:
    """The last buffer that meets every goal on the lines between measured ones, where that is not a measured one."""
    between = [packets for packets in evidence.measure.buffers() if last <= packets <= beyond]
    for low, high in itertools.pairwise(between):
        roots: list[float] = []
        for goal in evidence.scenario.goals:
            one, other = (goal.margin(mean_of(goal, evidence.measure.at(packets))) for packets in (low, high))
            if one >= 0 > other:
                roots.append(low * math.exp(one / (one - other) * math.log(high / low)))
        if roots:
            return max(last, math.floor(min(roots)))
    return None


def gaps(evidence: Evidence) -> tuple[InfeasibleInterval, ...]:
    """Larger buffers that miss a goal which needs a large buffer, with the measurements there."""
    goals = {goal.key: goal for goal in evidence.scenario.goals}
    found = ((packets, goals[key]) for packets, key in evidence.gaps)
    return tuple(
        InfeasibleInterval(evidence.size(packets), goal.key, _estimate(goal, evidence.seen(packets)))
        for packets, goal in found
    )


def feasible_intervals(evidence: Evidence) -> tuple[FeasibleInterval, ...]:
    """Smaller buffers that meet every goal although a larger one does not, in rising order."""
    pairs = sorted(evidence.feasible_intervals)
    return tuple(FeasibleInterval(evidence.size(packets), evidence.size(missed_at)) for packets, missed_at in pairs)


def _estimate(goal: Goal, reports: Sequence[Report]) -> Estimate:
    """The metric of a goal over replications; without an interval where few runs, or transfers that never end, say it.

    Student's t of two or three runs gives intervals many times as wide as what the runs differ by.
    """
    values = [metric_value(goal.name, report) for report in reports]
    interval = statistics.mean_interval(values, 0.95)
    has_interval = len(values) >= ENOUGH_FOR_INTERVAL and NEVER_S not in values
    return Estimate(interval.mean, interval.half_width if has_interval else None)


def conflict(evidence: Evidence, goals: Mapping[str, JudgedGoal]) -> Conflict:
    """The conflict: goals that cannot hold together, the need of each side, and the nearest compromise."""

    def side(needs: tuple[tuple[str, ...], int | None]) -> Side:
        names, packets = needs
        return Side(names, None if packets is None else evidence.size(packets))

    outcome = evidence.outcome
    return Conflict(
        side(outcome.needs_at_least),
        side(outcome.needs_at_most),
        None if outcome.compromise is None else evidence.size(outcome.compromise),
        evidence.size(max(evidence.search.samples)),
        tuple(NearestResult(each.goal, each.measured, max(0.0, -each.margin), each.met) for each in goals.values()),
    )


def judged_rule(evidence: Evidence, rule: Rule) -> JudgedRule:
    """A rule with the measurements at its buffer."""
    packets = None if rule.packets is None else max(1, round(rule.packets))
    most = min(evidence.search.plan.ceiling, max(evidence.measure.buffers()))
    beyond = packets is not None and packets > most
    between = None if packets is None or beyond else _between(evidence, packets)
    measured: Metrics = {}
    if packets is not None:
        measured = evidence.measured(packets) if between is None else _interpolated(evidence, between, packets).metrics
    return JudgedRule(
        rule.name,
        None if packets is None else evidence.size(packets),
        rule.applies,
        rule.why,
        rule.assumptions,
        rule.predicted,
        (*rule.notes, f"not simulated: more than {most} packets") if beyond else rule.notes,
        measured,
        rule.share,
        _judgment(evidence, rule, None if beyond else packets, between),
        None if between is None else (evidence.size(between[0]), evidence.size(between[1])),
    )


def judged_parameter_rule(evidence: Evidence, variable: RangeVariable, rule: ParameterRule) -> JudgedRule:
    """A rule for a parameter with the measurements at its value, or with the interpolated ones."""
    value = variable.nearest(rule.value / variable.factor)
    inside = variable.range.low <= value.number <= variable.range.high
    place = round(value.place) if inside else None
    between = None if place is None else _between(evidence, place)
    measured: Metrics = {}
    if place is not None:
        measured = evidence.measured(place) if between is None else _interpolated(evidence, between, place).metrics
    return JudgedRule(
        rule.name,
        value,
        rule.applies,
        rule.against or "nothing speaks against it",
        (),
        {},
        (rule.formula,) if inside else (rule.formula, f"not simulated: not in {variable.ends}"),
        measured,
        rule.share,
        _judgment(evidence, rule, place, between),
        None if between is None else (evidence.size(between[0]), evidence.size(between[1])),
    )


def _between(evidence: Evidence, packets: int) -> tuple[int, int] | None:
    """The measured buffers on either side of one that was not measured."""
    measured = evidence.measure.buffers()
    return None if packets in measured else neighbors(measured, packets)


def _interpolated(evidence: Evidence, between: tuple[int, int], packets: int) -> CurvePoint:
    low, high = (point(evidence, at) for at in between)
    return point_between(low, high, evidence.size(packets))


def _judgment(
    evidence: Evidence, rule: Rule | ParameterRule, packets: int | None, between: tuple[int, int] | None
) -> RuleVerdict:
    """The simulation's verdict on a rule's buffer, simulated at `packets` or interpolated between measured buffers."""
    measure, test, goals = evidence.measure, evidence.search.plan.test, evidence.scenario.goals
    if packets is None or not goals:
        return RuleVerdict(rule.applies, rule.share)
    if between is None:
        reports = measure.at(packets)
        if not reports:
            return RuleVerdict(rule.applies, rule.share)
        miss = worst_miss(reports, goals, test.share if isinstance(test, ShareTest) else None)
    else:
        low, high = (measure.at(at) for at in between)
        share = share_between(*between, packets)
        means = ((goal, mean_of(goal, low), mean_of(goal, high)) for goal in goals)
        miss = worst_of({goal.key: goal.margin(one + share * (other - one)) for goal, one, other in means}, goals)
    recommended = evidence.outcome.buffer
    times = None if miss is not None or recommended is None else evidence.variable.ratio(packets, recommended)
    return RuleVerdict(
        rule.applies, rule.share, simulated=True, miss=miss, times=times, interpolated=between is not None
    )


def named_buffer(evidence: Evidence, name: str, packets: int, verdict: ConfiguredVerdict | None = None) -> NamedBuffer:
    """A buffer that the user named and its metrics; for the configured buffer also the verdict."""
    buffer, measured = evidence.size(packets), evidence.measured(packets)
    if verdict is None:
        return NamedBuffer(name, buffer, measured)
    return NamedBuffer(name, buffer, measured, verdict.verdict, verdict.goals, verdict.runs)


def point(evidence: Evidence, packets: int) -> CurvePoint:
    """The measured point at a buffer, over all of its replications."""
    reports = evidence.measure.at(packets)
    report = Report.over(reports)
    metrics = without_few(report.metrics, len(reports))
    groups = {group.name: without_few(group.with_quantiles, len(reports)) for group in report.groups}
    runs = tuple(_measured(each) for each in reports)
    goals = {}
    if evidence.outcome.buffer is None and packets in evidence.search.samples:
        goals = {goal.key: _goal_at(evidence, goal, packets) for goal in evidence.scenario.goals}
    return CurvePoint(evidence.size(packets), len(reports), metrics, groups, runs, goals)


def _measured(report: Report) -> Mapping[str, float]:
    """The metrics of one run: those of the link by their names, those of groups as "group.NAME"."""
    of_link = {name: found.mean for name, found in report.metrics.items()}
    of_groups = {
        f"{group.name}.{name}": found.mean for group in report.groups for name, found in group.with_quantiles.items()
    }
    return of_link | of_groups


def curve(evidence: Evidence) -> tuple[CurvePoint, ...]:
    """The measured points of all buffers, in rising order."""
    points = (point(evidence, packets) for packets in evidence.measure.buffers())
    return tuple(sorted(points, key=lambda each: each.buffer.number))


def cost(measured: Sequence[Measurements], wall_s: float, companions: Iterable[Measurements | None] = ()) -> SearchCost:
    """The cost of all replications of some searches, and of their twins `companions`, which have buffers of these."""
    every = [*measured, *filter(None, companions)]
    costs = [report.cost for measure in every for report in measure.reports.values()]
    return SearchCost(
        replications=sum(each.runs for each in every),
        cached_runs=sum(measure.resumed for measure in every),
        buffers=sum(len(measure.buffers()) for measure in measured),
        data_packets=sum(each.data_packets for each in costs),
        events=sum(each.events for each in costs),
        cpu_s=sum(each.cpu_s for each in costs),
        wall_s=wall_s,
        peak_rss_bytes=max(each.peak_rss_bytes for each in costs),
    )
