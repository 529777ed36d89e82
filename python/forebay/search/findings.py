"""What a finished search means: its goals, rules, curve and warnings as parts of the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
from forebay.search.judgement import Judgement, worst_miss
from forebay.search.judging import ShareJudge
from forebay.search.measurements import Measurements
from forebay.search.smallest import Outcome, Search
from forebay.warning import Kind, Warning

__all__ = [
    "Finished",
    "conflict",
    "cost",
    "fraction",
    "judged_goals",
    "judged_rule",
    "named",
    "point",
    "upper_end",
    "warnings",
]

#: Buffers that a warning names at most.
NAMED = 6


@dataclass(frozen=True, slots=True)
class Finished:
    """A search that is over: on what, with which outcome, and everything that was measured."""

    scenario: Scenario
    search: Search
    outcome: Outcome
    measure: Measurements

    def size(self, packets: int) -> BufferSize:
        """A buffer of so many packets at the scenario's link."""
        return self.scenario.with_packets(packets).buffer

    def at_answer(self) -> tuple[int, Sequence[Report]]:
        """The answer with the fresh replications; without one the compromise with those of the search."""
        outcome, samples = self.outcome, self.search.samples
        if outcome.buffer is not None:
            return outcome.buffer, outcome.confirmation
        at = outcome.compromise if outcome.compromise is not None else min(samples)
        return at, samples[at]

    def measured(self, packets: int) -> Mapping[str, Estimate]:
        """What was measured at a buffer; nothing above the search's ceiling."""
        if packets > self.search.plan.ceiling:
            return {}
        return self.measure.combined(packets, self.measure.replications(packets)).metrics


def judged_goals(finished: Finished, share: float | None) -> Mapping[str, JudgedGoal]:
    """Every goal with what was measured at the answer (or at the compromise) and how far it is from the threshold."""
    at, reports = finished.at_answer()
    goals, judge = finished.scenario.goals, finished.search.plan.judge
    confidences = judge.confidences(reports, goals)
    judged = {}
    for goal in goals:
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
            binding=goal.name == finished.outcome.binding,
        )
    return judged


def fraction(finished: Finished, share: float, confidence: float) -> Held:
    """In how many of the fresh draws (or, without an answer, of those at the compromise) all goals hold."""
    _, reports = finished.at_answer()
    held = ShareJudge(share).held(reports, finished.scenario.goals)
    at_least = statistics.share_at_least(held, len(reports), confidence)
    return Held(share, held, len(reports), at_least, confidence)


def upper_end(finished: Finished) -> UpperEnd | None:
    """How far above the answer the goals hold: the last measured buffer that does and the first that does not."""
    if finished.outcome.buffer is None:
        return None
    last, beyond = finished.outcome.up_to
    return UpperEnd(finished.size(last), None if beyond is None else finished.size(beyond))


def conflict(finished: Finished) -> Conflict:
    """Which goals cannot hold together, what each side needs, and the nearest compromise."""

    def side(needs: tuple[tuple[str, ...], int | None]) -> Side:
        names, packets = needs
        return Side(names, None if packets is None else finished.size(packets))

    outcome = finished.outcome
    return Conflict(
        side(outcome.needs_at_least),
        side(outcome.needs_at_most),
        None if outcome.compromise is None else finished.size(outcome.compromise),
        finished.size(max(finished.search.samples)),
    )


def judged_rule(finished: Finished, rule: Rule) -> JudgedRule:
    """A rule with what was measured at its buffer."""
    packets = None if rule.packets is None else max(1, round(rule.packets))
    ceiling = finished.search.plan.ceiling
    beyond = packets is not None and packets > ceiling
    return JudgedRule(
        rule.name,
        None if packets is None else finished.size(packets),
        rule.applies,
        rule.why,
        rule.assumptions,
        rule.predicted,
        (*rule.notes, f"not simulated: more than {ceiling} packets") if beyond else rule.notes,
        {} if packets is None else finished.measured(packets),
        rule.share,
        _judgement(finished, rule, None if beyond else packets),
    )


def _judgement(finished: Finished, rule: Rule, packets: int | None) -> Judgement:
    """What the simulation says of a rule's buffer, of `packets` where it was simulated."""
    measure, judge = finished.measure, finished.search.plan.judge
    reports = [] if packets is None else [measure.reports[packets, each] for each in measure.replications(packets)]
    if packets is None or not reports:
        return Judgement(rule.applies, rule.share)
    share = judge.share if isinstance(judge, ShareJudge) else None
    miss = worst_miss(reports, finished.scenario.goals, share)
    recommended = finished.outcome.buffer
    times = None if miss is not None or recommended is None else packets / recommended
    return Judgement(rule.applies, rule.share, simulated=True, miss=miss, times=times)


def named(finished: Finished, name: str, packets: int) -> NamedBuffer:
    """A buffer that somebody named, with what was measured there."""
    return NamedBuffer(name, finished.size(packets), finished.measured(packets))


def point(finished: Finished, packets: int) -> CurvePoint:
    """What was measured at a buffer, over all of its replications."""
    numbers = finished.measure.replications(packets)
    report = finished.measure.combined(packets, numbers)
    groups = {group.name: group.with_quantiles for group in report.groups}
    return CurvePoint(finished.size(packets), len(numbers), report.metrics, groups)


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


def warnings(finished: Finished) -> tuple[Warning, ...]:
    """What the search noticed, what the runs warned of, whether the warm-up is long enough, what is a coincidence."""
    return (
        *finished.outcome.notes,
        *_of_runs(finished.measure),
        *_of_warmup(finished),
        *phase_effects(finished.scenario.core, finished.measure.engine),
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


def _of_warmup(finished: Finished) -> list[Warning]:
    """Whether the warm-up is long enough at the answer, on one more replication with its traces."""
    from forebay.measurement.warmup import warmup_warnings

    buffer, engine = finished.outcome.buffer, finished.measure.engine
    if buffer is None or engine != "packet":
        return []
    return warmup_warnings(finished.scenario.with_packets(buffer), engine)
