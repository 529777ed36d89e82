"""The results of a finished search: its goals, rules, curve and warnings as parts of the answer.

`recommendation` calls it when a search is over; views read the answer.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forebay.configuration.jitter import Jitter, jittered
from forebay.engines import simulates_hosts
from forebay.inputs.goals import Goal, metric_value
from forebay.measurement.twin import Twin
from forebay.phase_effects import phase_effects
from forebay.results import statistics
from forebay.results.metric import NEVER_S
from forebay.results.report import Estimate, Report
from forebay.results.report import Metrics as Estimates
from forebay.results.warning import Kind, Warning
from forebay.rules import Rule
from forebay.scenario import Scenario
from forebay.search.answer import (
    Conflict,
    CurvePoint,
    Evidence,
    FeasibleInterval,
    Gap,
    GoalAt,
    GoalVerdict,
    Held,
    JudgedGoal,
    JudgedRule,
    LowerEnd,
    Metrics,
    Miss,
    NamedBuffer,
    Quantity,
    SearchCost,
    Side,
    UpperEnd,
)
from forebay.search.buffer_variable import TARGET_LINK, BufferVariable
from forebay.search.goal_test import ShareTest, Verdict
from forebay.search.independence import are_observations, different, enough, in_step
from forebay.search.interpolation import neighbors, point_between, share_between
from forebay.search.measurements import Measurements
from forebay.search.parameter_rules import ParameterRule
from forebay.search.plan import LOWER_END, Outcome
from forebay.search.port_warnings import port_warnings
from forebay.search.range_variable import RangeVariable
from forebay.search.rare_states import Lengthened
from forebay.search.rule_verdict import RuleVerdict, mean_of, worst_miss, worst_of
from forebay.search.search_state import SearchState
from forebay.search.twins import one_message, twin_at
from forebay.text.formatting import duration

__all__ = [
    "ConfiguredVerdict",
    "Finished",
    "conflict",
    "cost",
    "curve",
    "feasible_intervals",
    "fraction",
    "gaps",
    "judged_goals",
    "judged_parameter_rule",
    "judged_rule",
    "named",
    "point",
    "upper_end",
    "warnings",
]


#: Runs without which no interval is stated.
ENOUGH_FOR_INTERVAL = 4
#: Names in a sentence at most.
MOST_NAMES = 4
#: Buffers within this factor of the answer are near it.
NEAR = 2
#: Warnings of runs that have one cause whatever they are about, as one sentence.
ONE_CAUSE: Mapping[Kind, str] = {
    Kind.METRIC_LEFT_OUT: "at {places}: metrics that not every replication measured are left out{names}",
    Kind.FEW_DROPS: "at {places}: loss rates of single runs rest on few drops: measure for longer",
    Kind.FEW_CONGESTION_EVENTS: (
        "at {places}: single runs have few congestion events, so that the means may depend on the measured time"
    ),
}


@dataclass(frozen=True, slots=True)
class ConfiguredVerdict:
    """The verdict on all goals at the configured buffer.

    Attributes
    ----------
    verdict : str
        "met" if every goal is met, "missed" if one is missed, else "undecided".
    goals : mapping
        The verdict on each goal by its key; empty where goals are about a share of the draws.
    runs : int
        Observations that the verdict rests on.
    """

    verdict: GoalVerdict
    goals: Mapping[str, GoalVerdict] = field(default_factory=dict)
    runs: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """A search that is over: on what, with which outcome, and everything that was measured.

    `twin` is the twin at the answer with the measurements that it took, if it ran.
    """

    scenario: Scenario
    search: SearchState
    outcome: Outcome
    measure: Measurements
    jitter: Jitter | None = None
    variable: BufferVariable | RangeVariable = TARGET_LINK
    lengthened: Lengthened | None = None
    twin: Twin[Any] | None = None
    beside: Measurements | None = None

    def size(self, packets: int) -> Quantity:
        """The value for a number of the search: a buffer in packets if the search varies one."""
        return self.variable.sized(self.scenario, packets)

    def named(self, packets: Sequence[int]) -> str:
        """Buffers as part of a sentence."""
        return self.search.plan.words.named(*packets)

    @property
    def gaps(self) -> list[tuple[int, str]]:
        """Gaps above the answer, but for those that stand for the same value."""
        same = self.variable.snapped
        answer = self.outcome.buffer
        return [(at, key) for at, key in self.outcome.gaps if answer is None or same(at) != same(answer)]

    @property
    def feasible_intervals(self) -> list[tuple[int, int]]:
        """Feasible intervals below the answer, but for those that stand for the same value as it or as what misses."""
        same = self.variable.snapped
        answer = self.outcome.buffer
        others = [(at, missed) for at, missed in self.outcome.feasible_intervals if same(at) != same(missed)]
        return [(at, missed) for at, missed in others if answer is None or same(at) != same(answer)]

    def at_answer(self) -> tuple[int, Sequence[Report]]:
        """The answer with the fresh replications; without one the compromise with all that it has."""
        outcome = self.outcome
        if outcome.buffer is not None and self.measure.replicates:
            return outcome.buffer, outcome.confirmation
        known = (at for at in (outcome.buffer, outcome.compromise) if at is not None)
        at = next(known, min(self.search.samples))
        return at, self.measure.at(at)

    def seen(self, packets: int) -> Sequence[Report]:
        """The reports at a buffer; one only if the engine has no replications."""
        return self.search.samples[packets] if self.measure.replicates else self.measure.at(packets)

    @property
    def confident(self) -> bool:
        """Whether the replications at the answer carry a confidence; where there are none, nothing does.

        None do if hosts that vary give another verdict.
        """
        if self.twin is not None and self.twin.flipped:
            return False
        if not self.measure.replicates or (self.outcome.buffer is not None and self.outcome.confidence is None):
            return False
        _, reports = self.at_answer()
        return are_observations(self.scenario.core, self.measure.engine, reports)

    def with_twin(self) -> Finished:
        """The same with the twin at the answer, if exact hosts stay in phase there and the time was not over."""
        if any(note.kind is Kind.TIME_OVER for note in self.outcome.notes) or not self.search.samples:
            return self
        at, reports = self.at_answer()
        twin, beside = twin_at(self.measure, at, reports, self.size(at), self.scenario.goals)
        return dataclasses.replace(self, twin=twin, beside=beside)

    def measured(self, packets: int) -> Mapping[str, Estimate]:
        """The measured point at a buffer; None beyond all measured buffers."""
        reports = self.measure.at(packets)
        return _without_few(Report.over(reports).metrics, len(reports)) if reports else {}


def judged_goals(finished: Finished, share: float | None) -> Mapping[str, JudgedGoal]:
    """Every goal with what was measured at the answer (or at the compromise) and how far it is from the threshold."""
    at, reports = finished.at_answer()
    goals, test, search = finished.scenario.goals, finished.search.plan.test, finished.search
    confidences = _confidences(finished, at, reports) if finished.confident and finished.outcome.shown else {}
    judged = {}
    for goal in goals:
        values = [metric_value(goal.name, report) for report in reports]
        measured = _estimate(goal, reports)
        judged[goal.key] = JudgedGoal(
            goal,
            held=None if share is None else sum(goal.margin(value) >= 0 for value in values),
            of=None if share is None else len(values),
            at_packets=finished.search.plan.words.value(at),
            measured=measured,
            slack=goal.margin(measured.mean),
            met=test.margin(reports, [goal]) >= 0,
            confidence=confidences.get(goal.key),
            binding=goal.key == finished.outcome.binding,
            at_smallest=_goal_at(finished, goal, min(search.samples)),
            at_largest=_goal_at(finished, goal, max(search.samples)),
            evidence=_evidence(finished, goal, at),
        )
    return judged


def _confidences(finished: Finished, at: int, reports: Sequence[Report]) -> Mapping[str, float]:
    """By the key of each goal, the confidence with which it is met: at an answer that of the runs that confirmed it."""
    if finished.outcome.buffer is not None and finished.outcome.confidences:
        return finished.outcome.confidences
    test, goals = finished.search.plan.test, finished.scenario.goals
    if not test.averages:
        return test.confidences(reports, goals)
    most = statistics.most_confidence(max(finished.outcome.runs, different(reports)))
    worst = finished.search.worst_near(at, reports)
    return {key: min(most, found) for key, found in test.evidence(reports, goals, worst).items()}


def _goal_at(finished: Finished, goal: Goal, packets: int) -> GoalAt:
    """One goal at one buffer that the search measured."""
    search = finished.search
    reports = search.samples[packets]
    found = search.verdict_on(packets, goal, finished.outcome)
    verdict: GoalVerdict = "undecided" if found is Verdict.UNCLEAR else "met" if found is Verdict.MET else "missed"
    few = len(reports) < ENOUGH_FOR_INTERVAL and search.runs_near(packets) < ENOUGH_FOR_INTERVAL
    if verdict == "met" and few and finished.measure.replicates and not search.derived(packets, goal):
        # A run or two that meet a goal show no rare state that misses it.
        verdict = "undecided"
    return GoalAt(finished.size(packets), _estimate(goal, reports), verdict, len(reports))


def _evidence(finished: Finished, goal: Goal, packets: int) -> Evidence:
    """The evidence for the verdict on a goal at the answer, or at the nearest miss."""
    if finished.search.derived(packets, goal):
        return Evidence("bound", 0)
    if not finished.confident:
        return Evidence("none", finished.outcome.runs)
    return Evidence("bootstrap" if finished.search.plan.test.averages else "binomial", finished.outcome.runs)


def fraction(finished: Finished, share: float, confidence: float) -> Held:
    """In how many of the fresh draws (or, without an answer, of those at the compromise) all goals hold."""
    _, reports = finished.at_answer()
    held = ShareTest(share).held(reports, finished.scenario.goals)
    at_least = statistics.share_at_least(held, len(reports), confidence) if finished.confident else None
    return Held(share, held, len(reports), at_least, confidence)


def lower_end(finished: Finished) -> LowerEnd | None:
    """Between which buffers the smallest that would do lies."""
    between = finished.outcome.lower_end
    if between is None or (finished.twin is not None and finished.twin.flipped):
        return None
    low, high = sorted((finished.size(end) for end in between), key=lambda value: value.number)
    return LowerEnd(low, high, LOWER_END)


def upper_end(finished: Finished) -> UpperEnd | None:
    """How far above the answer the goals hold: the last measured buffer that does and the first that does not."""
    if finished.outcome.buffer is None:
        return None
    last, beyond = finished.outcome.up_to
    if beyond is None:
        return UpperEnd(finished.size(last), None)
    about = _last_on_the_line(finished, last, beyond) if finished.search.plan.test.averages else None
    return UpperEnd(finished.size(last), finished.size(beyond), None if about is None else finished.size(about))


def _last_on_the_line(finished: Finished, last: int, beyond: int) -> int | None:
    """The last buffer that meets every goal on the lines between measured ones, where that is not a measured one."""
    between = [packets for packets in finished.measure.buffers() if last <= packets <= beyond]
    for low, high in itertools.pairwise(between):
        roots: list[float] = []
        for goal in finished.scenario.goals:
            one, other = (goal.margin(mean_of(goal, finished.measure.at(packets))) for packets in (low, high))
            if one >= 0 > other:
                roots.append(low * math.exp(one / (one - other) * math.log(high / low)))
        if roots:
            return max(last, math.floor(min(roots)))
    return None


def gaps(finished: Finished) -> tuple[Gap, ...]:
    """Larger buffers that miss a goal which asks for room, with what the search measured there."""
    goals = {goal.key: goal for goal in finished.scenario.goals}
    found = ((packets, goals[key]) for packets, key in finished.gaps)
    return tuple(
        Gap(finished.size(packets), goal.key, _estimate(goal, finished.seen(packets))) for packets, goal in found
    )


def feasible_intervals(finished: Finished) -> tuple[FeasibleInterval, ...]:
    """Smaller buffers that meet every goal although a larger one does not, in rising order."""
    pairs = sorted(finished.feasible_intervals)
    return tuple(FeasibleInterval(finished.size(packets), finished.size(missed_at)) for packets, missed_at in pairs)


def _estimate(goal: Goal, reports: Sequence[Report]) -> Estimate:
    """The metric of a goal over replications; without an interval where few runs, or transfers that never end, say it.

    Student's t of two or three runs gives intervals many times as wide as what the runs differ by.
    """
    values = [metric_value(goal.name, report) for report in reports]
    interval = statistics.mean_interval(values, 0.95)
    told = len(values) >= ENOUGH_FOR_INTERVAL and NEVER_S not in values
    return Estimate(interval.mean, interval.half_width if told else None)


def _without_few(metrics: Metrics, runs: int) -> Metrics:
    """Metrics of several runs, without intervals if the runs are few."""
    if runs >= ENOUGH_FOR_INTERVAL:
        return metrics
    return Estimates({name: dataclasses.replace(found, half_width=None) for name, found in metrics.items()})


def conflict(finished: Finished, goals: Mapping[str, JudgedGoal]) -> Conflict:
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
        tuple(Miss(each.goal, each.measured, max(0.0, -each.slack), each.met) for each in goals.values()),
    )


def judged_rule(finished: Finished, rule: Rule) -> JudgedRule:
    """A rule with what was measured at its buffer."""
    packets = None if rule.packets is None else max(1, round(rule.packets))
    most = min(finished.search.plan.ceiling, max(finished.measure.buffers()))
    beyond = packets is not None and packets > most
    between = None if packets is None or beyond else _between(finished, packets)
    measured: Metrics = {}
    if packets is not None:
        measured = finished.measured(packets) if between is None else _interpolated(finished, between, packets).metrics
    return JudgedRule(
        rule.name,
        None if packets is None else finished.size(packets),
        rule.applies,
        rule.why,
        rule.assumptions,
        rule.predicted,
        (*rule.notes, f"not simulated: more than {most} packets") if beyond else rule.notes,
        measured,
        rule.share,
        _judgment(finished, rule, None if beyond else packets, between),
        None if between is None else (finished.size(between[0]), finished.size(between[1])),
    )


def judged_parameter_rule(finished: Finished, variable: RangeVariable, rule: ParameterRule) -> JudgedRule:
    """A rule for a parameter with what was measured at its value, or the curve says there."""
    value = variable.nearest(rule.value / variable.factor)
    inside = variable.range.low <= value.number <= variable.range.high
    place = round(value.place) if inside else None
    between = None if place is None else _between(finished, place)
    measured: Metrics = {}
    if place is not None:
        measured = finished.measured(place) if between is None else _interpolated(finished, between, place).metrics
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
        _judgment(finished, rule, place, between),
        None if between is None else (finished.size(between[0]), finished.size(between[1])),
    )


def _between(finished: Finished, packets: int) -> tuple[int, int] | None:
    """The measured buffers on either side of one that was not measured."""
    measured = finished.measure.buffers()
    return None if packets in measured else neighbors(measured, packets)


def _interpolated(finished: Finished, between: tuple[int, int], packets: int) -> CurvePoint:
    low, high = (point(finished, at) for at in between)
    return point_between(low, high, finished.size(packets))


def _judgment(
    finished: Finished, rule: Rule | ParameterRule, packets: int | None, between: tuple[int, int] | None
) -> RuleVerdict:
    """The simulation's verdict on a rule's buffer, simulated at `packets` or interpolated between measured buffers."""
    measure, test, goals = finished.measure, finished.search.plan.test, finished.scenario.goals
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
    recommended = finished.outcome.buffer
    times = None if miss is not None or recommended is None else finished.variable.ratio(packets, recommended)
    return RuleVerdict(
        rule.applies, rule.share, simulated=True, miss=miss, times=times, interpolated=between is not None
    )


def named(finished: Finished, name: str, packets: int, verdict: ConfiguredVerdict | None = None) -> NamedBuffer:
    """A buffer that the user named and its metrics; for the configured buffer also the verdict."""
    buffer, measured = finished.size(packets), finished.measured(packets)
    if verdict is None:
        return NamedBuffer(name, buffer, measured)
    return NamedBuffer(name, buffer, measured, verdict.verdict, verdict.goals, verdict.runs)


def point(finished: Finished, packets: int) -> CurvePoint:
    """The measured point at a buffer, over all of its replications."""
    reports = finished.measure.at(packets)
    report = Report.over(reports)
    metrics = _without_few(report.metrics, len(reports))
    groups = {group.name: _without_few(group.with_quantiles, len(reports)) for group in report.groups}
    runs = tuple(_measured(each) for each in reports)
    goals = {}
    if finished.outcome.buffer is None and packets in finished.search.samples:
        goals = {goal.key: _goal_at(finished, goal, packets) for goal in finished.scenario.goals}
    return CurvePoint(finished.size(packets), len(reports), metrics, groups, runs, goals)


def _measured(report: Report) -> Mapping[str, float]:
    """The metrics of one run: those of the link by their names, those of groups as "group.NAME"."""
    of_link = {name: found.mean for name, found in report.metrics.items()}
    of_groups = {
        f"{group.name}.{name}": found.mean for group in report.groups for name, found in group.with_quantiles.items()
    }
    return of_link | of_groups


def curve(finished: Finished) -> tuple[CurvePoint, ...]:
    """The measured points of all buffers, in rising order."""
    points = (point(finished, packets) for packets in finished.measure.buffers())
    return tuple(sorted(points, key=lambda each: each.buffer.number))


def cost(measured: Sequence[Measurements], wall_s: float, beside: Iterable[Measurements | None] = ()) -> SearchCost:
    """The cost of all replications of some searches, and of the twins `beside` them, which have buffers of these."""
    every = [*measured, *filter(None, beside)]
    costs = [report.cost for measure in every for report in measure.reports.values()]
    return SearchCost(
        replications=sum(each.runs for each in every),
        resumed=sum(measure.resumed for measure in every),
        buffers=sum(len(measure.buffers()) for measure in measured),
        data_packets=sum(each.data_packets for each in costs),
        events=sum(each.events for each in costs),
        cpu_s=sum(each.cpu_s for each in costs),
        wall_s=wall_s,
        peak_rss_bytes=max(each.peak_rss_bytes for each in costs),
    )


def warnings(finished: Finished) -> tuple[Warning, ...]:
    """The warnings about the evidence, of the search and of the runs, and about coincidences."""
    found = (
        *_of_states(finished),
        *_of_length(finished),
        *port_warnings(finished),
        *_of_evidence(finished),
        *_of_jitter(finished.jitter),
        *_of_search(finished),
        *_of_runs(finished),
        *_of_warmup(finished),
        *phase_effects(finished.scenario.core, finished.measure.engine),
    )
    place = "" if finished.twin is None else finished.named([finished.at_answer()[0]])
    return one_message(found, finished.twin, place)


def _of_length(finished: Finished) -> Iterator[Warning]:
    """That the runs at the answer are too short: what they saw happened once or twice in each."""
    answer = finished.outcome.buffer
    if answer is None:
        return
    reports = finished.measure.at(answer)
    few = [one for report in reports for one in report.warnings if one.kind is Kind.FEW_CONGESTION_EVENTS]
    if 2 * len(few) > len(reports):
        measured = finished.scenario.core.duration_s[1]
        text = (
            f"A run measures {duration(measured)}, in which congestion comes a few times at most. A longer "
            "`run.measure` may change the answer."
        )
        yield Warning(Kind.SHORT_RUN, text, values={"measured_s": measured})


def _of_states(finished: Finished) -> Iterator[Warning]:
    """The random states that decide: those that no run shows, and those whose values runs were chosen by."""
    if finished.lengthened is not None:
        yield from finished.lengthened.warnings
    strata = finished.measure.strata
    if strata is not None:
        keys = _names([f"`{key}`" for key in strata.keys])
        text = (
            f"Each observation is {len(strata.weights)} runs, one for each stratum of {keys}, weighted by the strata's "
            "probabilities."
        )
        values = {f"weight_{number}": weight for number, weight in enumerate(strata.weights)}
        yield Warning(Kind.STRATA, text, values=values)


def _of_evidence(finished: Finished) -> list[Warning]:
    """Replications that repeat each other, and flows that move in step: why there is no confidence, and what helps."""
    if not finished.search.samples:
        return []
    if not finished.measure.replicates:
        text = (
            f"the {finished.measure.engine} engine answers each buffer once: there are no replications, and one "
            "observation carries no confidence"
        )
        return [Warning(Kind.IDENTICAL, text, values={"replications": 1, "different": 1})]
    at, reports = finished.at_answer()
    independent, count = different(reports), len(reports)
    found = []
    if independent < count:
        if independent == 1:
            text = (
                f"all {count} replications at {finished.named([at])} are identical to the last bit: nothing random "
                "reaches them, and one observation carries no confidence"
            )
        else:
            worth = (
                f"count as {independent} observations" if enough(independent, count) else "are too few for a confidence"
            )
            text = f"of the {count} replications at {finished.named([at])} only {independent} differ: they {worth}"
        found.append(Warning(Kind.IDENTICAL, text, values={"replications": count, "different": independent}))
    step = in_step(finished.scenario.core, finished.measure.engine, reports)
    if step is not None:
        text = (
            f"{step.flows} flows move in step: they share one round trip and one start, and nothing random flows "
            "beside them; what is measured is their coincidence rather than the link, and carries no confidence"
        )
        found.append(Warning(Kind.LOCK_STEP, text, subject=step.group, values={"flows": step.flows}))
    if found:
        found[-1] = found[-1].saying(f"{found[-1]}; {_cure(finished)}")
    return found


def _cure(finished: Finished) -> str:
    """The reasons why replications differ."""
    if jittered(finished.scenario)[1].anything:
        return "repeat with `--jitter`, which makes round trips and starts random"
    return "give the traffic something random, such as a law for `start`, `rtt` or sizes"


def _of_jitter(jitter: Jitter | None) -> list[Warning]:
    """The warning that says which values `--jitter` changed."""
    if jitter is None:
        return []
    if not jitter.anything:
        return [Warning(Kind.JITTERED, "`--jitter` changed nothing: every responsive group is random already")]
    parts, values = [], {}
    if jitter.round_trips:
        names = _names([f"`{name}`" for name in jitter.round_trips])
        parts.append(f"added up to {duration(jitter.round_trip_s)} to the round trips of {names}")
        values["round_trip_s"] = jitter.round_trip_s
    if jitter.starts:
        names = _names([f"`{name}`" for name in jitter.starts])
        parts.append(f"spread the starts of {names} over {duration(jitter.start_s)}")
        values["start_s"] = jitter.start_s
    return [Warning(Kind.JITTERED, f"the scenario was jittered: `--jitter` {' and '.join(parts)}", values=values)]


def _of_search(finished: Finished) -> list[Warning]:
    """The search's own notes, and where its curve falls again, told once."""
    outcome = finished.outcome
    found = [note for note in outcome.notes if note.kind is not Kind.MISSED_AGAIN or not finished.gaps]
    for name in dict.fromkeys(goal for _, goal in finished.gaps):
        at = [packets for packets, goal in finished.gaps if goal == name]
        beyond = "below" if finished.variable.largest else "above"
        text = f"`{name}` is missed again {beyond} the answer, at {finished.named(at)}"
        values = {"missed_at": finished.search.plan.words.value(at[0])}
        found.append(Warning(Kind.MISSED_AGAIN, text, subject=name, values=values))
    if finished.feasible_intervals:
        at = sorted(packets for packets, _ in finished.feasible_intervals)
        broken = max(missed for _, missed in finished.feasible_intervals)
        text = f"{finished.named(at)} would meet every goal, too, but {finished.named([broken])} would not"
        value = finished.search.plan.words.value
        found.append(Warning(Kind.MET_BELOW, text, values={"met_at": value(at[-1]), "missed_at": value(broken)}))
    return found


def _names(names: Sequence[str]) -> str:
    """Names as part of a sentence: all of a few, of many the first ones."""
    if len(names) > MOST_NAMES:
        names = [*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} others"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _of_runs(finished: Finished) -> list[Warning]:
    """The warnings of runs, those of one subject once, with the buffers at which they came up."""
    alike: dict[tuple[Kind, str], tuple[list[Warning], list[int]]] = {}
    reports = finished.measure.reports
    for buffer, replication in sorted(reports):
        for warning in reports[buffer, replication].warnings:
            if warning.kind in ONE_CAUSE and not _near_the_answer(finished, buffer):
                continue
            subject = "" if warning.kind in ONE_CAUSE else warning.subject
            several, buffers = alike.setdefault((warning.kind, subject), ([], []))
            several.append(warning)
            if buffer not in buffers:
                buffers.append(buffer)
    return [_merged(several, finished.named(buffers)) for several, buffers in alike.values()]


def _near_the_answer(finished: Finished, buffer: int) -> bool:
    """Whether what a run at a buffer lacks matters for the answer; everywhere where there is none."""
    answer = finished.outcome.buffer
    return answer is None or isinstance(finished.variable, RangeVariable) or answer / NEAR <= buffer <= NEAR * answer


def _merged(alike: Sequence[Warning], places: str) -> Warning:
    """Warnings of one cause as one sentence, with the buffers at which they came up."""
    first = alike[0]
    if first.kind in {Kind.AVERAGE_RATE, Kind.AVERAGE_DELAY}:
        # A link is the same at every buffer.
        return first
    if len(set(alike)) > 1 and first.kind in ONE_CAUSE:
        subjects = sorted({warning.subject for warning in alike if warning.subject})
        names = f" ({_names([f'`{name}`' for name in subjects])})" if subjects else ""
        return first.saying(ONE_CAUSE[first.kind].format(places=places, names=names))
    return first.saying(f"at {places}: {first}")


def _of_warmup(finished: Finished) -> list[Warning]:
    """Whether the warm-up is long enough at the answer, on one more replication with its traces."""
    from forebay.measurement.warmup import warmup_warnings

    buffer, engine = finished.outcome.buffer, finished.measure.engine
    unwaited = any(note.kind in {Kind.QUICK, Kind.TIME_OVER} for note in finished.outcome.notes)
    if buffer is None or not simulates_hosts(engine) or unwaited:
        return []
    return warmup_warnings(finished.variable.apply(finished.scenario, buffer), engine)
