"""`recommend`: the smallest buffer that meets the goals, beside what every rule asks for.

The function behind the verb and `forebay.recommend`: it checks the goals, runs a search and makes the answer.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from forebay import _core
from forebay.atlas.prior import prior
from forebay.configuration.access import Access, asked_access
from forebay.configuration.configuring import Configuration, check, configure, unconfigured
from forebay.configuration.jitter import Jitter, jittered
from forebay.configuration.platforms.platform import Platform
from forebay.configuration.port import Port
from forebay.engines import check_alone, forecast, in_real_time, run_s, simulates_hosts
from forebay.errors import InputError
from forebay.inputs.goals import Goal, check_bounds, named, split_goal
from forebay.inputs.validation import MOST_REPLICATIONS, real, whole
from forebay.measurement.cluster import Cluster, connected
from forebay.results.metric import find
from forebay.results.statistics import runs_for_confidence
from forebay.rules import Rule
from forebay.rules import rules as rules_of
from forebay.scenario import TARGET, Progress, Scenario, threads
from forebay.search import findings
from forebay.search.answer import JudgedRule, Recommendation, Variation
from forebay.search.buffer_variable import BufferVariable, buffer_variable
from forebay.search.choice import Choice, cases, choice, for_each, of_all
from forebay.search.configured import configured_verdict
from forebay.search.delay_bound import delay_bounds
from forebay.search.findings import ConfiguredVerdict, Finished
from forebay.search.goal_test import FRESH, GoalTest, MeanTest, ShareTest
from forebay.search.ladder import ScaledLook
from forebay.search.measurable import check_goals
from forebay.search.measurements import Measurements
from forebay.search.named_buffer import AS_CONFIGURED
from forebay.search.optimizing import objective, optimized
from forebay.search.parameter_rules import ParameterRule, parameter_rules
from forebay.search.plan import Outcome, Plan
from forebay.search.quick import QUICK_CONFIDENCE, QuickLook
from forebay.search.range_variable import RangeVariable, RangeWords, range_variable
from forebay.search.ranking import compared
from forebay.search.rare_states import Lengthened, lengthened
from forebay.search.resumption import Resumption
from forebay.search.search_state import SearchState
from forebay.search.smallest import USUAL, Search
from forebay.search.strata import strata
from forebay.search.time_budget import TimeBudget, shorter
from forebay.search.tradeoff import front, metric_pair
from forebay.search.unmeasured import of_assumptions, resting_on

__all__ = ["Recommendation", "reach", "recommend", "varied_key", "with_checked_goals"]

#: The first look reaches this many bandwidth-delay products, the search at most that many.
FIRST_LOOK_BDP = 2.0
CEILING_BDP = 16.0
#: The most fresh runs at one buffer: the runs that carry this number of packets, but not fewer than these.
AFFORDABLE_PACKETS, LEAST_FRESH = 2e7, 32
#: Runs at the smallest, the nearest and the largest buffer of an answer that is taken back.
ENDS = 4
#: The goal of a search without goals: any metric will do.
ANY = Goal("utilization", ">=", 0.0)
#: Parts of a range between the values of the first look, at least.
PARTS = 6


def recommend(
    scenario: Scenario,
    goals: Iterable[str] = (),
    *,
    also: Iterable[str] = (),
    engine: str = "packet",
    confidence: float = 0.95,
    resolution: float = 0.05,
    replications: int | None = None,
    fraction: float | None = None,
    quick: bool = False,
    within: float | None = None,
    sensitivity: bool = False,
    platforms: Iterable[str] = (),
    access: str | None = None,
    download: str | None = None,
    upload: str | None = None,
    pareto: str | None = None,
    over: str | Sequence[str] = TARGET,
    largest: bool = False,
    minimize: str | None = None,
    maximize: str | None = None,
    jitter: bool = False,
    jobs: int | None = None,
    scheduler: str | Cluster | None = None,
    progress: Progress | None = None,
    resume: Path | None = None,
    tell: Callable[[str], object] | None = None,
    known: Callable[[str], object] | None = None,
) -> Recommendation:
    """Find the smallest buffer that meets the goals, by simulation.

    Parameters
    ----------
    scenario : Scenario
        The link and its traffic; its own buffer is measured as one of many, and says whether the limit is in packets
        or bytes.
    goals : iterable of str
        Such as "utilization>=0.99"; they replace the scenario's own on the same metrics and add to the
        others. Several on one metric all count.
    also : iterable of str
        Buffers such as "20p" or "0.5BDP" to measure beside those of the rules. The scenario's own always is.
    engine : str
        What measures: "packet", or "fluid" for a quick look.
    confidence : float
        One-sided confidence with which the goals hold at the answer.
    resolution : float
        How close to the smallest buffer the search goes, as a fraction of it, where noise lets it.
    replications : int, optional
        At the first look at each buffer, at least 2; 1 by default, and with `fraction` the scenario's own number, but
        at least 4.
    fraction : float, optional
        Then all goals have to hold at once in this fraction of the replications, each of which draws what the scenario
        does not know (`count = { poisson = 40 }`); else they are about the mean over the replications.
    quick : bool
        Whether to answer from a handful of replications, in about a second, with a wider interval and what confidence
        they have.
    within : float, optional
        Seconds after which the best answer so far is given, unless there is a confident one before.
    sensitivity : bool
        Whether to repeat the search with the number of flows, the round trips and the load 20 % lower and higher.
    platforms : iterable of str
        Platforms such as "ios-xr" or "linux" whose configuration the answer also gives.
    access : str, optional
        The access line that the target link is, such as "docsis" or "pppoe-ptm+vlan": Linux and OpenWrt shape below
        its rate then, and count its framing.
    download, upload : str, optional
        Rate of the access line in the direction that was not simulated, as in "250Mbps".
    pareto : str, optional
        Two metrics, as in "utilization,queue_delay_p99", whose trade-off over the measured buffers the answer also
        gives.
    over : str or sequence of str
        The key of the buffer to size while every other one stays, such as "link.queue.classes.voice.buffer" or
        "links.uplink.buffer"; the target link's by default. Rules speak of that one only. Or any key with a range, as
        in "link.queue.threshold=5p..500p": the smallest value that meets the goals. Beside it, or alone, keys with a
        list of values, as in "flows.*.cca=cubic,bbr": the best of the answers with each of them, and all in
        `alternatives`.
    largest : bool
        Whether the largest value is asked for instead; of a range, or of a buffer.
    minimize, maximize : str, optional
        A metric, as in "queue_delay_p99": the answer is then where it is lowest or highest, of all that meet the goals,
        of which there need not be any; `optimum` says how well it is told from its neighbors.
    jitter : bool
        Whether to add a packet time of jitter to every round trip and to spread the starts, wherever the scenario says
        nothing random of flows that react; then they cannot move in step.
    jobs : int, optional
        Threads; the answer does not depend on it. An engine in real time takes one.
    scheduler : str or Cluster, optional
        Address of a Dask scheduler whose workers measure instead of this machine's threads, with the same answer; none
        measures in real time.
    progress : callable, optional
        Called with the replications done and those expected in all.
    resume : Path, optional
        A directory in which finished replications are kept until the answer is there: a call that was interrupted goes
        on from them, with the same answer. Nothing is kept by default.
    tell : callable, optional
        Called with a line on what was found there, and on how long a replication in real time takes.
    known : callable, optional
        Called with what is known of the answer so far, as in "between 40 and 90 packets".

    Returns
    -------
    Recommendation
        Its `feasible` says whether there is such a buffer.

    Raises
    ------
    InputError
        Without goals, or with a goal on something that the engine does not report.
    ContradictionError
        With two goals on one metric that no value can meet both.
    """
    started = time.perf_counter()
    goals = list(goals)
    replications = None if replications is None else whole(replications, (2, MOST_REPLICATIONS), "replications")
    fraction = None if fraction is None else real(fraction, "fraction")
    budget = TimeBudget(quick, None if within is None else real(within, "within"))
    terms = _Terms(real(confidence, "confidence"), real(resolution, "resolution"), replications, fraction)
    threads(jobs)
    check_alone(engine, jobs=jobs, scheduler=scheduler)
    terms.check()
    budget.check(fraction=fraction, replications=replications, minimize=minimize, maximize=maximize)
    systems = check(platforms, scenario)
    line = asked_access(access, download, upload)
    if pareto is not None:
        metric_pair(pareto)
    choices, text = _asked_over(over)
    chosen = cases(scenario, choices)
    best_of = objective(scenario, minimize, maximize, engine)
    if best_of is not None:
        _check_alone(sensitivity=sensitivity, fraction=fraction, largest=largest)
    if quick:
        terms = dataclasses.replace(terms, confidence=min(terms.confidence, QUICK_CONFIDENCE))
    asked_for = terms.confidence
    terms = dataclasses.replace(
        terms,
        confidence=for_each(asked_for, len(chosen)),
        least_runs=runs_for_confidence(asked_for),
        one=asked_for,
    )
    questions = [
        _question(
            with_checked_goals(case, goals, engine, needed=best_of is None),
            text,
            also,
            terms,
            largest=largest,
            jitter=jitter,
        )
        for _, case in chosen
    ]
    if tell is not None and in_real_time(engine):
        tell(forecast(engine, run_s((shorter(scenario) if quick else scenario).core), None))
    resumption = None if resume is None else Resumption(resume, tell, quick=quick)
    with connected(scheduler) as cluster, resumption or nullcontext():
        measuring = partial(
            Measurements, engine=engine, jobs=jobs, progress=progress, resumption=resumption, cluster=cluster
        )
        found: list[tuple[Finished, Recommendation]] = []
        for question in questions:
            before = sum(each.measure.runs + (0 if each.beside is None else each.beside.runs) for each, _ in found)
            search = _Search(
                partial(measuring, variable=question.varied, before=before),
                terms,
                budget.shared(len(questions)),
                _told(known, chosen[len(found)][0]),
                resumption,
                threads(jobs) if simulates_hosts(engine) and scheduler is None else None,
            )
            found.append(_searched(question, search, best_of))
        best, alternatives = compared([choice for choice, _ in chosen], [answer for _, answer in found], asked_for)
        finished, answer = found[best]
        whole_answer = dataclasses.replace(
            answer,
            confidence=of_all(answer.confidence, len(chosen), asked_for),
            goals={
                key: dataclasses.replace(goal, confidence=of_all(goal.confidence, len(chosen), asked_for))
                for key, goal in answer.goals.items()
            },
            level=asked_for,
            choice=chosen[best][0],
            alternatives=alternatives if choices else (),
            sensitivity=_sensitivity(finished) if sensitivity else None,
            configurations=tuple(_configurations(answer, systems, line)),
            pareto=None if pareto is None else front(answer, pareto),
            # Last of what takes time.
            cost=findings.cost(
                [each.measure for each, _ in found],
                time.perf_counter() - started,
                (each.beside for each, _ in found),
            ),
        )
        return resting_on(whole_answer, of_assumptions(scenario.assumed))


def _check_alone(*, sensitivity: bool, fraction: float | None, largest: bool) -> None:
    """Refuse what has no meaning where a metric is to be best."""
    for name, asked in (("sensitivity", sensitivity), ("fraction", fraction is not None), ("largest", largest)):
        if asked:
            raise InputError("found it beside --minimize or --maximize; allowed: one of both", name)


def _asked_over(over: str | Sequence[str]) -> tuple[list[Choice], str]:
    """The choices, and the varied key: the target link's buffer unless `--over` names another."""
    asked = [over] if isinstance(over, str) else list(over)
    read = [(text, choice(text)) for text in asked]
    varied = [text for text, each in read if each is None]
    if len(varied) > 1:
        found = f"found `{varied[0]}` and `{varied[1]}`"
        raise InputError(f"{found}; allowed: one key that is varied, or two of `feasible_map`", "over")
    return [each for _, each in read if each is not None], varied[0] if varied else TARGET


@dataclass(frozen=True, slots=True)
class _Question:
    """One search to come: on which scenario, over what, and what is measured and judged besides."""

    scenario: Scenario
    varied: BufferVariable | RangeVariable
    asked: Mapping[str, int]
    rules: Sequence[Rule]
    parameter_rules: Sequence[ParameterRule]
    jitter: Jitter | None
    runs: Lengthened


def _question(
    scenario: Scenario, over: str, also: Iterable[str], terms: _Terms, *, largest: bool, jitter: bool
) -> _Question:
    """Everything that can be found wrong before anything runs."""
    varied = varied_key(scenario, over, largest=largest, resolution=terms.resolution)
    asked = _asked(scenario, varied, also)
    scenario, added = jittered(scenario) if jitter else (scenario, None)
    rules = rules_of(scenario.core) if varied.is_target else ()
    rough = parameter_rules(scenario, varied) if isinstance(varied, RangeVariable) else ()
    runs = lengthened(scenario) if scenario.goals else Lengthened(scenario, (), decided=True)
    return _Question(runs.scenario, varied, asked, rules, rough, added, runs)


def _told(known: Callable[[str], object] | None, choice: Mapping[str, str]) -> Callable[[str], object] | None:
    """The progress report on the answer so far, with the name of the choice."""
    if known is None or not choice:
        return known
    return lambda words: known(f"{', '.join(choice.values())}: {words}")


@dataclass(frozen=True, slots=True)
class _Search:
    """How one question is searched: what measures, on which terms, for how long, who is told, and what is kept.

    `at_once` is the number of packet-level runs at the same time; None of other engines and of a cluster.
    """

    measuring: Callable[..., Measurements]
    terms: _Terms
    budget: TimeBudget
    known: Callable[[str], object] | None
    resumption: Resumption | None
    at_once: int | None


def _searched(question: _Question, search: _Search, best_of: Goal | None) -> tuple[Finished, Recommendation]:
    """Search, and say what was found."""
    finished, optimum = _found(question, search), None
    if best_of is not None:
        finished, optimum = optimized(finished, best_of, search.terms.confidence, search.known)
    place, verdict = question.asked.get(AS_CONFIGURED), None
    if place is not None:
        # Before anything is read off the curve, which has these runs, too.
        verdict = configured_verdict(finished, place, search.terms.each)
    finished = finished.with_twin()
    rules = (findings.judged_rule(finished, rule) for rule in question.rules)
    judged = (*rules, *_judged(finished, question.varied, question.parameter_rules))
    answer = _answer(finished, search.terms, question.asked, judged, verdict)
    return finished, dataclasses.replace(answer, optimum=optimum)


def _found(question: _Question, search: _Search) -> Finished:
    """The outcome of the search for the smallest buffer; without goals only the standard measurements."""
    scenario, varied, known = question.scenario, question.varied, search.known

    def begin(kind: Callable[..., SearchState], looked: Scenario, until: float | None) -> Finished:
        # Whether all goals hold at once in a share of the draws is asked of draws that are as they come.
        parts = strata(looked.core) if search.terms.fraction is None and looked.goals else None
        measure = search.measuring(looked, until=until, strata=parts)
        # Buffers of rules lie on the curve, unless goals have to hold in a share of the draws or runs cost nothing.
        # A quick look goes to none of them, and a smaller link has other ones.
        of_rules = _Rules(
            ()
            if kind not in (Search, SearchState)
            else [*_sized(question.rules), *_placed(question.parameter_rules, varied)],
            measured=search.terms.fraction is not None or not measure.replicates,
        )
        asked = () if kind is ScaledLook else tuple(question.asked.values())
        plan = _plan(looked, varied, asked, of_rules, search.terms)
        if in_real_time(measure.engine):
            plan = dataclasses.replace(plan, most_fresh=min(plan.most_fresh, USUAL))
        if kind is QuickLook and simulates_hosts(measure.engine) and varied.is_target:
            plan = dataclasses.replace(plan, prior=prior(looked, looked.goals))
        looking = kind(measure, looked.goals or [ANY], plan, measure.expect, known)
        return Finished(looked, looking, Outcome(confidence=None), measure, question.jitter, varied, question.runs)

    smaller = varied.is_target and search.terms.fraction is None and bool(scenario.goals)
    found = search.budget.search(begin, scenario, search.resumption, search.at_once if smaller else None)
    if not question.runs.decided and found.scenario.goals:
        found.outcome.leave_undecided(found.search.plan.ceiling)
        if search.budget.unlimited:
            found.search.show_ends(ENDS)
    return found


def _answer(
    finished: Finished,
    terms: _Terms,
    asked: Mapping[str, int],
    rules: tuple[JudgedRule, ...],
    verdict: ConfiguredVerdict | None,
) -> Recommendation:
    """The buffer and how every goal stands there; without one, what is in conflict; and everything measured."""
    outcome, measure = finished.outcome, finished.measure
    found, share = outcome.buffer is not None, terms.fraction
    goals = findings.judged_goals(finished, share)
    return Recommendation(
        scenario=finished.scenario,
        buffer=None if outcome.buffer is None else finished.size(outcome.buffer),
        confidence=_confidence(finished, terms) if finished.confident else None,
        resolution=terms.resolution,
        binding_goal=outcome.binding,
        goals=goals,
        feasible_from=findings.lower_end(finished),
        feasible_up_to=findings.upper_end(finished),
        gaps=findings.gaps(finished),
        islands=findings.feasible_intervals(finished),
        fraction=None if share is None else findings.fraction(finished, share, terms.confidence),
        conflict=None if found else findings.conflict(finished, goals),
        rules=rules,
        also=tuple(
            findings.named(finished, name, packets, verdict if name == AS_CONFIGURED else None)
            for name, packets in asked.items()
        ),
        points=findings.curve(finished),
        cost=findings.cost([measure], 0.0, [finished.beside]),
        warnings=findings.warnings(finished),
        engine=measure.engine,
        version=_core.__version__,
        jitter=finished.jitter,
        variable=finished.variable,
        verdict="met" if found else "impossible" if outcome.impossible else "undecided",
        between=None
        if outcome.between is None
        else (finished.size(outcome.between[0]), finished.size(outcome.between[1])),
        runs=outcome.runs,
        level=terms.confidence,
        twin=finished.twin,
    )


def _confidence(finished: Finished, terms: _Terms) -> float | None:
    """The confidence of the answer; "impossible" is proven at the confidence that was asked for."""
    outcome = finished.outcome
    return outcome.confidence if outcome.buffer is not None else terms.confidence if outcome.impossible else None


def _configurations(
    answer: Recommendation, systems: Iterable[Platform], line: Access | None
) -> Iterator[Configuration]:
    """The answer as each router's configuration; without an answer no line of any."""
    if answer.buffer is None:
        noun = "buffer" if isinstance(answer.variable, BufferVariable) else "value"
        yield from (unconfigured(system, f"nothing to type: no {noun} meets every goal") for system in systems)
        return
    port = Port.of(answer.variable.apply(answer.scenario, round(answer.buffer.place)))
    yield from (configure(system, port, line) for system in systems)


def _sensitivity(finished: Finished) -> tuple[Variation, ...]:
    """The answer when a property is 20 % off, searched for around the answer as it is."""
    from forebay.search.sensitivity import VARIATIONS, vary

    plan, measure = finished.search.plan, finished.measure
    around = finished.outcome.buffer or finished.outcome.compromise or plan.largest
    nearby = dataclasses.replace(
        plan, smallest=max(plan.floor, around // 4), largest=min(plan.ceiling, 4 * around), gap=2.0, also=()
    )
    kind = QuickLook if isinstance(finished.search, QuickLook) else Search
    found: list[Variation] = []
    for what in VARIATIONS:
        for factor in (0.8, 1.2):
            varied = vary(finished.scenario, what, factor)
            if varied is None:
                continue
            before = measure.runs + sum(entry.replications for entry in found)
            runs = Measurements(
                varied,
                measure.engine,
                measure.jobs,
                measure.progress,
                variable=finished.variable,
                before=before,
                resumption=measure.resumption,
                cluster=measure.cluster,
            )
            answer = kind(runs, varied.goals, nearby, runs.expect).run()
            buffer = None if answer.buffer is None else finished.variable.sized(varied, answer.buffer)
            found.append(Variation(what, factor, buffer, answer.binding, runs.runs))
    return tuple(found)


def with_checked_goals(scenario: Scenario, goals: Sequence[str], engine: str, *, needed: bool = True) -> Scenario:
    """Add the goals, all of which can be measured; at least one."""
    places = dict(zip((name for name, *_ in scenario.core.goals), scenario.core.goal_places, strict=True))
    names = {named(goal) for goal in goals}
    scenario = with_goals(scenario, goals)
    if needed and not scenario.goals:
        raise InputError("found none; allowed: at least one, here or in [goal], such as utilization>=0.99", "goals")
    of_file = {name: place for name, place in places.items() if name not in names}
    check_bounds(((goal, goal.key) for goal in scenario.goals), of_file)
    check_goals(scenario, scenario.goals, engine, of_file)
    return scenario


def with_goals(scenario: Scenario, goals: Iterable[str]) -> Scenario:
    """Add goals such as "utilization>=0.99" to a scenario, replacing its own on the same metrics.

    Several on one metric all count.

    Raises
    ------
    ContradictionError
        Where two of them cannot hold both.
    """
    asked = []
    for text in goals:
        change = _change(text)
        asked.append((_one(scenario.changed(change), named(text)), text, change))
    check_bounds((goal, text) for goal, text, _ in asked)
    # The core has one goal for each metric, of which the closed forms size: the one that asks for most.
    decisive: dict[str, tuple[Goal, _core.Change]] = {}
    for goal, _, change in asked:
        known = decisive.get(goal.name)
        if known is None or _rank(goal) > _rank(known[0]):
            decisive[goal.name] = goal, change
    if not decisive:
        return scenario
    changed = scenario.changed(*(change for _, change in decisive.values()))
    return changed.with_bounds([goal for goal, *_ in asked if goal != decisive[goal.name][0]])


def _change(goal: str) -> _core.Change:
    """A goal as a change of the scenario, whichever of its metric's names it has."""
    _, sense, threshold = split_goal(goal)
    return ("goals", f"goal.{named(goal)}", f"{sense} {threshold}")


def _one(scenario: Scenario, name: str) -> Goal:
    """The goal on one metric of a scenario that has one."""
    return next(goal for goal in scenario.goals if goal.name == name)


def _rank(goal: Goal) -> tuple[bool, float]:
    """The sort key of goals on one metric: the side that is better for it, then the strictness of the threshold."""
    metric = find(goal.name)
    better = metric is not None and (goal.sense == ">=") == metric.more_is_better
    return better, goal.threshold if goal.sense == ">=" else -goal.threshold


def _placed(rough: Iterable[ParameterRule], varied: BufferVariable | RangeVariable) -> list[int]:
    """Where the search has the values of rules for parameters that lie in the range."""
    if not isinstance(varied, RangeVariable):
        return []
    found = (varied.nearest(rule.value / varied.factor) for rule in rough)
    return [round(value.place) for value in found if varied.range.low <= value.number <= varied.range.high]


def _judged(
    finished: Finished, varied: BufferVariable | RangeVariable, rough: Iterable[ParameterRule]
) -> Iterator[JudgedRule]:
    """The rules for parameters, in the order of their sources."""
    if isinstance(varied, RangeVariable):
        yield from (findings.judged_parameter_rule(finished, varied, rule) for rule in rough)


def _sized(rules: Iterable[Rule]) -> list[int]:
    """The buffers that the rules ask for, in packets of at least one."""
    return [max(1, round(rule.packets)) for rule in rules if rule.packets is not None]


@dataclass(frozen=True, slots=True)
class _Terms:
    """On which terms a buffer counts as the answer; `recommend` describes each."""

    confidence: float
    resolution: float
    replications: int | None
    fraction: float | None
    least_runs: int | None = None
    one: float | None = None

    @property
    def each(self) -> float:
        """The confidence of a verdict by itself, where `confidence` is shared by several answers."""
        return self.confidence if self.one is None else self.one

    def check(self) -> None:
        """Refuse what no search can keep."""
        if not 0.5 < self.confidence < 1:
            raise InputError(
                f"found {self.confidence:g}; allowed: above 0.5 and below 1, as in 0.95 or 95%", "confidence"
            )
        if not 0.001 <= self.resolution <= 1:
            raise InputError(f"found {self.resolution:g}; allowed: 0.001 to 1, or 0.1% to 100%", "resolution")
        if self.fraction is not None and not 0.05 <= self.fraction <= 0.999:
            raise InputError(f"found {self.fraction:g}; allowed: 0.05 to 0.999, or 5% to 99.9%", "fraction")

    @property
    def test(self) -> GoalTest:
        """The test of means, or of a share of the draws."""
        return MeanTest() if self.fraction is None else ShareTest(self.fraction)

    def analyses(self, scenario: Scenario) -> tuple[int, ...]:
        """Replications at the first and each further analysis at a buffer."""
        asked = self.replications
        if self.fraction is not None:
            first = max(4, scenario.core.replications) if asked is None else asked
            return _analyses_of_share(first, self.confidence, self.fraction)
        return (1, 2, 4, 8, 16) if asked is None else (asked, 2 * asked, 4 * asked)


def varied_key(scenario: Scenario, over: str, *, largest: bool, resolution: float) -> BufferVariable | RangeVariable:
    """The varied quantity: a key between two ends, or a buffer between one packet and the largest that is tried."""
    if "=" in over:
        return range_variable(scenario, over, largest=largest, resolution=resolution)
    found = buffer_variable(scenario, over)
    if not largest:
        return found
    ceiling = reach(found.scale(scenario), at_least=_held(scenario, found))[1]
    text = f"{found.key}=1p..{ceiling}p"
    return range_variable(scenario, text, largest=True, resolution=resolution)


def _asked(scenario: Scenario, varied: BufferVariable | RangeVariable, also: Iterable[str]) -> dict[str, int]:
    """The scenario's own buffer and those that the user wants to see, in packets of at least one."""
    if isinstance(varied, RangeVariable):
        own = varied.configured(scenario)
        as_configured = {} if own is None else {AS_CONFIGURED: round(own.place)}
    else:
        as_configured = {AS_CONFIGURED: max(1, round(varied.size(scenario).packets))}
    return as_configured | {text.strip(): varied.read(scenario, text) for text in also}


@dataclass(frozen=True, slots=True)
class _Rules:
    """The buffers that rules ask for, and whether all of them are measured or only those beyond the first look."""

    packets: Sequence[int]
    measured: bool


def reach(scale: float, *, at_least: float = 0.0) -> tuple[int, int]:
    """How far the first look goes, and the search at most.

    Parameters
    ----------
    scale : float
        Packets of one bandwidth-delay product.
    at_least : float
        Packets that the search reaches in any case: the configured buffer, the memory of the device.
    """
    ceiling = max(64, math.ceil(CEILING_BDP * scale), math.ceil(at_least))
    return min(ceiling, max(8, math.ceil(FIRST_LOOK_BDP * scale))), ceiling


def _affordable(scenario: Scenario) -> int:
    """Fresh runs at one buffer that are worth their cost: as many as carry a certain number of packets."""
    packets = scenario.packets_per_second * sum(scenario.core.duration_s)
    return max(LEAST_FRESH, min(FRESH[-1], int(AFFORDABLE_PACKETS / packets)))


def _held(scenario: Scenario, varied: BufferVariable) -> float:
    """Packets of the configured buffer, and of the memory that the target link shares."""
    size = varied.size(scenario)
    memories = {memory["name"]: memory["size"] for memory in scenario.resolved.get("memories", ())}
    target = next((link for link in scenario.resolved["links"] if link.get("target")), None)
    shared = memories.get(target.get("memory")) if target is not None and varied.is_target else None
    # A memory may be written in packets or in bytes, as a buffer may.
    held = 0.0 if shared is None else varied.size(scenario.changed(("memories", varied.key, shared))).packets
    return max(size.packets, held)


def _plan(
    scenario: Scenario, varied: BufferVariable | RangeVariable, asked: Sequence[int], rules: _Rules, terms: _Terms
) -> Plan:
    """Look from one packet to two bandwidth-delay products, or seconds of queue where there is no such product."""
    if isinstance(varied, RangeVariable):
        return _plan_of_range(scenario, varied, [*asked, *(rules.packets if rules.measured else ())], terms)
    largest, ceiling = reach(varied.scale(scenario), at_least=_held(scenario, varied))
    of_rules = [packets for packets in rules.packets if rules.measured or packets > largest]
    return Plan(
        smallest=1,
        largest=largest,
        ceiling=ceiling,
        resolution=terms.resolution,
        analyses=terms.analyses(scenario),
        confidence=terms.confidence,
        test=terms.test,
        also=tuple(sorted({packets for packets in (*asked, *of_rules) if packets <= ceiling})),
        met_up_to=delay_bounds(scenario, varied),
        least=terms.least_runs,
        most_fresh=_affordable(scenario),
    )


def _plan_of_range(scenario: Scenario, varied: RangeVariable, asked: Sequence[int], terms: _Terms) -> Plan:
    """Look at both ends and at as many values in between as show a peak; nothing lies beyond."""
    first, last = varied.range.first, varied.range.last
    return Plan(
        smallest=first,
        largest=last,
        ceiling=last,
        gap=min(4.0, (last / first) ** (1 / PARTS)),
        resolution=terms.resolution,
        analyses=terms.analyses(scenario),
        confidence=terms.confidence,
        test=terms.test,
        also=tuple(sorted(set(asked))),
        floor=first,
        words=RangeWords(varied),
        least=terms.least_runs,
        most_fresh=_affordable(scenario),
    )


def _analyses_of_share(first: int, confidence: float, fraction: float) -> tuple[int, ...]:
    """The first analysis can refuse, the second accept if every draw holds, and the others if some do not."""
    from forebay.results.statistics import replications_for_share

    enough = replications_for_share(fraction, 1 - (1 - confidence) / 4)
    return tuple(sorted({max(first, 8), *(factor * max(enough, first, 8) for factor in (1, 2, 4))}))
