"""`recommend`: the smallest buffer that meets the goals, beside what every rule asks for."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.goals import Goal, metric_value
from forebay.scenario import Progress, Scenario, run_jobs
from forebay.search.judging import AverageJudge, ShareJudge
from forebay.search.smallest import Outcome, Plan, Search

__all__ = ["Recommendation", "recommend"]

#: The first look reaches this many bandwidth-delay products, the search at most that many.
FIRST_LOOK_BDP = 2.0
CEILING_BDP = 16.0


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What `recommend` found.

    Attributes
    ----------
    scenario : Scenario
        What was asked about.
    goals : tuple of Goal
        What the buffer had to achieve.
    data : mapping
        The answer as plain dictionaries: `recommendation` (or None), `confidence`, `binding_goal`, `goals`,
        `rules`, `curve`, `conflict`, `cost`, `warnings`.
    """

    scenario: Scenario
    goals: tuple[Goal, ...]
    data: dict[str, Any]

    @property
    def feasible(self) -> bool:
        """Whether any buffer meets every goal."""
        return self.data["recommendation"] is not None

    @property
    def packets(self) -> int | None:
        """The recommended buffer in packets."""
        found = self.data["recommendation"]
        return None if found is None else round(found["packets"])

    def to_json(self, indent: int | None = None) -> str:
        """Return the answer as JSON text."""
        return json.dumps(self.data, indent=indent)


class _Measurements:
    """Runs what the search asks for and keeps every report, so that nothing is simulated twice."""

    def __init__(self, scenario: Scenario, engine: str, jobs: int | None, progress: Progress | None) -> None:
        self.scenario, self.engine, self.jobs = scenario, engine, jobs
        self.progress = progress
        self.reports: dict[tuple[int, int], _core.Report] = {}
        self.expected = 0
        self.expected_before = 0

    def __call__(self, pairs: Sequence[tuple[int, int]]) -> list[Mapping[str, Any]]:
        """Measure (buffer, replication) pairs."""
        buffers = {buffer: self.scenario.core.with_packets(buffer) for buffer in {pair[0] for pair in pairs}}
        seed = self.scenario.core.seed
        work = [_core.Job(buffers[buffer], self.engine, seed, replication) for buffer, replication in pairs]
        before = len(self.reports)
        reports = run_jobs(work, self.jobs, lambda done, _all: self._tell(before + done))
        self.reports.update(zip(pairs, reports, strict=True))
        return [json.loads(report.json()) for report in reports]

    def expect(self, remaining: int) -> None:
        """Take note of how many replications are still to come."""
        self.expected = len(self.reports) + remaining
        self._tell(len(self.reports))

    def _tell(self, done: int) -> None:
        if self.progress is not None:
            self.progress(self.expected_before + done, self.expected_before + max(done, self.expected))

    def combined(self, buffer: int, replications: Iterable[int]) -> Mapping[str, Any]:
        """One report over some replications at a buffer."""
        parts = [self.reports[buffer, replication] for replication in replications]
        combined: Mapping[str, Any] = json.loads(_core.aggregate(parts).json())
        return combined

    def buffers(self) -> list[int]:
        """Every buffer measured, in rising order."""
        return sorted({buffer for buffer, _ in self.reports})

    def replications(self, buffer: int) -> list[int]:
        """The replications measured at a buffer, in order."""
        return sorted(replication for at, replication in self.reports if at == buffer)


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
    sensitivity: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Recommendation:
    """Find the smallest buffer that meets the goals, by simulation.

    Parameters
    ----------
    scenario : Scenario
        The link and its traffic; its own buffer is measured as one of many, and says whether the limit is in packets
        or bytes.
    goals : iterable of str
        Such as "utilization>=0.99"; each replaces the scenario's goal on the same metric or adds to them.
    also : iterable of str
        Buffers such as "20p" or "0.5BDP" to measure beside those of the rules. The scenario's own always is.
    engine : str
        What measures: "packet", or "fluid" for a quick look.
    confidence : float
        One-sided confidence with which the goals hold at the answer.
    resolution : float
        The answer is the smallest buffer to within this fraction.
    replications : int, optional
        At the first look at each buffer, at least 2; the scenario's own number, but at least 4, by default. Unclear
        decisions take up to four times as many.
    fraction : float, optional
        Then all goals have to hold at once in this fraction of the replications, each of which draws what the scenario
        does not know (`count = { poisson = 40 }`); else they are about the mean over the replications.
    sensitivity : bool
        Whether to repeat the search with the number of flows, the round trips and the load 20 % lower and higher.
    jobs : int, optional
        Threads; the answer does not depend on it.
    progress : callable, optional
        Called with the replications done and those expected in all.

    Returns
    -------
    Recommendation
        Its `feasible` says whether there is such a buffer.

    Raises
    ------
    InputError
        Without goals, or with a goal on something that the engine does not report.
    """
    started = time.perf_counter()
    scenario = with_goals(scenario, goals)
    if not scenario.goals:
        raise InputError("recommend: found no goal; allowed: a [goal] table or --goal such as 'utilization>=0.99'")
    terms = _Terms(confidence, resolution, replications, fraction)
    terms.check()
    rules = _core.rules(scenario.core)
    asked = _asked(scenario, also)
    measure = _Measurements(scenario, engine, jobs, progress)
    sized = [max(1, round(rule.packets)) for rule in rules if rule.packets is not None]
    plan = _plan(scenario, [*asked.values(), *sized], terms)
    search = Search(measure, scenario.goals, plan, measure.expect)
    outcome = search.run()
    data: dict[str, Any] = {
        **_answer(scenario, search, outcome, terms),
        "rules": [_measured_rule(scenario, rule, plan, measure) for rule in rules],
        "also": [_measured_buffer(scenario, name, packets, plan, measure) for name, packets in asked.items()],
        "curve": [_point(scenario, buffer, measure) for buffer in measure.buffers()],
        "cost": _cost(measure, time.perf_counter() - started),
        "warnings": _warnings(measure, outcome) + _warmup(scenario, outcome, engine) + _phases(scenario, engine),
        "scenario_sha256": scenario.core.sha256,
        "engine": engine,
        "version": _core.__version__,
    }
    if sensitivity:
        data["sensitivity"] = _sensitivity(scenario, outcome, plan, measure)
        data["cost"] = _cost(measure, time.perf_counter() - started)
    return Recommendation(scenario, tuple(scenario.goals), data)


def _answer(scenario: Scenario, search: Search, outcome: Outcome, terms: _Terms) -> Mapping[str, Any]:
    """The buffer and how every goal stands there; without one, what is in conflict."""
    found = outcome.buffer is not None
    return {
        "recommendation": None if outcome.buffer is None else _sizes(scenario, outcome.buffer),
        "confidence": outcome.confidence if found else terms.confidence,
        "resolution": terms.resolution,
        "binding_goal": outcome.binding,
        "goals": _judged_goals(scenario, outcome, search, terms.fraction),
        "feasible_up_to": _upper_end(scenario, outcome),
        "uncertain": scenario.core.uncertain,
        "fraction": None if terms.fraction is None else _fraction(scenario, outcome, search, terms),
        "conflict": None if found else _conflict(scenario, outcome, search),
    }


def _sensitivity(scenario: Scenario, outcome: Outcome, plan: Plan, measure: _Measurements) -> list[Mapping[str, Any]]:
    """The answer when a property is 20 % off, searched for around the answer as it is."""
    from forebay.search.sensitivity import VARIATIONS, vary

    around = outcome.buffer or outcome.compromise or plan.largest
    found: list[Mapping[str, Any]] = []
    for what in VARIATIONS:
        for factor in (0.8, 1.2):
            varied = vary(scenario, what, factor)
            if varied is None:
                continue
            nearby = dataclasses.replace(
                plan, smallest=max(1, around // 4), largest=min(plan.ceiling, 4 * around), gap=2.0, also=()
            )
            runs = _Measurements(varied, measure.engine, measure.jobs, measure.progress)
            runs.expected_before = len(measure.reports) + sum(entry["replications"] for entry in found)
            answer = Search(runs, varied.goals, nearby, runs.expect).run()
            found.append(
                {
                    "what": what,
                    "factor": factor,
                    "recommendation": None if answer.buffer is None else _sizes(varied, answer.buffer),
                    "binding_goal": answer.binding,
                    "replications": len(runs.reports),
                }
            )
    return found


def with_goals(scenario: Scenario, goals: Iterable[str]) -> Scenario:
    """Add goals such as "utilization>=0.99" to a scenario, replacing those on the same metric."""
    overrides = []
    for goal in goals:
        for sense in (">=", "<="):
            name, found, threshold = goal.partition(sense)
            if found and name.strip() and threshold.strip():
                overrides.append(f'goal.{name.strip()}="{sense} {threshold.strip()}"')
                break
        else:
            raise InputError(
                f"--goal: found `{goal}`; allowed: METRIC>=VALUE or METRIC<=VALUE, as in utilization>=0.99"
            )
    return scenario.changed(*overrides) if overrides else scenario


@dataclass(frozen=True, slots=True)
class _Terms:
    """On which terms a buffer counts as the answer; `recommend` describes each."""

    confidence: float
    resolution: float
    replications: int | None
    fraction: float | None

    def check(self) -> None:
        """Refuse what no search can keep."""
        if not 0.5 < self.confidence < 1:
            raise InputError(f"confidence: found {self.confidence}; allowed: above 0.5 and below 1")
        if not 0.001 <= self.resolution <= 1:
            raise InputError(f"resolution: found {self.resolution}; allowed: 0.001 to 1")
        if self.replications is not None and self.replications < 2:
            raise InputError(f"replications: found {self.replications}; allowed: 2 or more")
        if self.fraction is not None and not 0.05 <= self.fraction <= 0.999:
            raise InputError(f"fraction: found {self.fraction:g}; allowed: 0.05 to 0.999, or 5% to 99.9%")

    def looks(self, scenario: Scenario) -> tuple[int, ...]:
        """Replications at the first and each further look at a buffer."""
        first = max(4, scenario.core.replications) if self.replications is None else self.replications
        if self.fraction is None:
            return (first, 2 * first, 4 * first)
        return _looks_at_share(first, self.confidence, self.fraction)


def _asked(scenario: Scenario, also: Iterable[str]) -> dict[str, int]:
    """The scenario's own buffer and those that the user wants to see, in packets of at least one."""
    own = scenario.core.buffer()["packets"]
    asked = {"as configured": max(1, round(own or 0))}
    for text in also:
        packets = scenario.changed(f"link.buffer={text}").core.buffer()["packets"]
        asked[text.strip()] = max(1, round(packets or 0))
    return asked


def _plan(scenario: Scenario, wanted: Sequence[int], terms: _Terms) -> Plan:
    """Look from one packet to two bandwidth-delay products, or a second of queue where there is no such product."""
    scale = scenario.core.bdp_packets
    if scale is None:
        scale = scenario.core.rate_bps / 8 / scenario.core.packet_bytes
    ceiling = max(64, math.ceil(CEILING_BDP * scale))
    return Plan(
        smallest=1,
        largest=min(ceiling, max(8, math.ceil(FIRST_LOOK_BDP * scale))),
        ceiling=ceiling,
        resolution=terms.resolution,
        looks=terms.looks(scenario),
        confidence=terms.confidence,
        judge=AverageJudge() if terms.fraction is None else ShareJudge(terms.fraction),
        also=tuple(sorted({packets for packets in wanted if packets <= ceiling})),
    )


def _looks_at_share(first: int, confidence: float, fraction: float) -> tuple[int, ...]:
    """Looks of which the first can refuse, the second accept where every draw holds, the others where some do not."""
    from forebay.statistics import replications_for_share

    enough = replications_for_share(fraction, 1 - (1 - confidence) / 4)
    return tuple(sorted({max(first, 8), *(factor * max(enough, first, 8) for factor in (1, 2, 4))}))


def _sizes(scenario: Scenario, packets: int) -> Mapping[str, Any]:
    return scenario.with_packets(packets).core.buffer()


def _judged_goals(scenario: Scenario, outcome: Outcome, search: Search, fraction: float | None) -> Mapping[str, Any]:
    """Every goal with what was measured at the answer (or at the compromise) and how far it is from the threshold."""
    from forebay import statistics

    if outcome.buffer is not None:
        reports: Sequence[Mapping[str, Any]] = outcome.confirmation
        at = outcome.buffer
    else:
        at = outcome.compromise if outcome.compromise is not None else min(search.samples)
        reports = search.samples[at]
    judged = {}
    judge = search.plan.judge
    confidences = judge.confidences(reports, scenario.goals)
    for goal in scenario.goals:
        values = [metric_value(goal.name, report) for report in reports]
        interval = statistics.mean_interval(values, 0.95)
        judged[goal.name] = {
            "held": None if fraction is None else sum(goal.margin(value) >= 0 for value in values),
            "of": None if fraction is None else len(values),
            "sense": goal.sense,
            "threshold": goal.threshold,
            "at_packets": at,
            "measured": {"mean": interval.mean, "half_width": interval.half_width, "confidence": 0.95},
            "slack": goal.margin(interval.mean),
            "met": judge.margin(reports, [goal]) >= 0,
            "confidence": confidences[goal.name],
            "binding": goal.name == outcome.binding,
        }
    return judged


def _upper_end(scenario: Scenario, outcome: Outcome) -> Mapping[str, Any] | None:
    """How far above the answer the goals hold: the last measured buffer that does and the first that does not."""
    if outcome.buffer is None:
        return None
    last, beyond = outcome.up_to
    return {"buffer": _sizes(scenario, last), "missed_at": None if beyond is None else _sizes(scenario, beyond)}


def _fraction(scenario: Scenario, outcome: Outcome, search: Search, terms: _Terms) -> Mapping[str, Any]:
    """In how many of the fresh draws (or, without an answer, of those at the compromise) all goals hold."""
    from forebay import statistics

    reports: Sequence[Mapping[str, Any]] = outcome.confirmation
    if outcome.buffer is None:
        reports = search.samples[outcome.compromise if outcome.compromise is not None else min(search.samples)]
    assert terms.fraction is not None
    held = ShareJudge(terms.fraction).held(reports, scenario.goals)
    return {
        "wanted": terms.fraction,
        "held": held,
        "of": len(reports),
        "at_least": statistics.share_at_least(held, len(reports), terms.confidence),
        "confidence": terms.confidence,
    }


def _conflict(scenario: Scenario, outcome: Outcome, search: Search) -> Mapping[str, Any]:
    """Which goals cannot hold together, what each side needs, and the nearest compromise."""

    def side(needs: tuple[tuple[str, ...], int | None]) -> Mapping[str, Any]:
        names, packets = needs
        return {"goals": list(names), "buffer": None if packets is None else _sizes(scenario, packets)}

    compromise = outcome.compromise
    return {
        "needs_at_least": side(outcome.needs_at_least),
        "needs_at_most": side(outcome.needs_at_most),
        "compromise": None if compromise is None else _sizes(scenario, compromise),
        "largest_tried": _sizes(scenario, max(search.samples)),
    }


def _measured_rule(scenario: Scenario, rule: _core.Rule, plan: Plan, measure: _Measurements) -> Mapping[str, Any]:
    failing = [f"{check[0]}: {check[2]}" for check in rule.checks if check[1] == "no"]
    unknown = [f"{check[0]}: {check[2]}" for check in rule.checks if check[1] == "unknown"]
    said: dict[str, Any] = {
        "name": rule.name,
        "buffer": None,
        "applies": not failing and rule.refusal is None,
        "why": rule.refusal or "; ".join(failing or unknown or ["its assumptions hold"]),
        "assumptions": [{"assumption": a, "holds": holds, "why": why} for a, holds, why in rule.checks],
        "predicted": dict(rule.predicted),
        "notes": list(rule.notes),
        "measured": {},
    }
    if rule.packets is None:
        return said
    packets = max(1, round(rule.packets))
    said["buffer"] = _sizes(scenario, packets)
    if packets > plan.ceiling:
        said["notes"].append(f"not simulated: more than {plan.ceiling} packets")
    else:
        said["measured"] = measure.combined(packets, measure.replications(packets))["metrics"]
    return said


def _measured_buffer(
    scenario: Scenario, name: str, packets: int, plan: Plan, measure: _Measurements
) -> Mapping[str, Any]:
    """A buffer that somebody named, with what was measured there."""
    within = packets <= plan.ceiling
    measured = measure.combined(packets, measure.replications(packets))["metrics"] if within else {}
    return {"name": name, "buffer": _sizes(scenario, packets), "measured": measured}


def _point(scenario: Scenario, buffer: int, measure: _Measurements) -> Mapping[str, Any]:
    numbers = measure.replications(buffer)
    report = measure.combined(buffer, numbers)
    return {
        "buffer": _sizes(scenario, buffer),
        "replications": len(numbers),
        "metrics": report["metrics"],
        "groups": {group["name"]: _group_metrics(group) for group in report["groups"]},
    }


def _group_metrics(group: Mapping[str, Any]) -> Mapping[str, Any]:
    """A group's metrics, with the quantiles over its flows and transfers that goals may be about."""
    quantiles = {
        **{f"completion_time_{name}_s": value for name, value in (group.get("completion_time_s") or {}).items()},
        **{f"flow_goodput_{name}_bps": value for name, value in (group.get("flow_goodput_bps") or {}).items()},
    }
    known = {
        name: {"mean": value, "half_width": None, "confidence": 0.95}
        for name, value in quantiles.items()
        if value is not None
    }
    return {**known, **group["metrics"]}


def _cost(measure: _Measurements, wall_s: float) -> Mapping[str, Any]:
    costs = [json.loads(report.json())["cost"] for report in measure.reports.values()]
    return {
        "replications": len(costs),
        "buffers": len(measure.buffers()),
        "data_packets": sum(cost["data_packets"] for cost in costs),
        "events": sum(cost["events"] for cost in costs),
        "cpu_s": sum(cost["cpu_s"] for cost in costs),
        "wall_s": wall_s,
        "peak_rss_bytes": max(cost["peak_rss_bytes"] for cost in costs),
    }


def _warmup(scenario: Scenario, outcome: Outcome, engine: str) -> list[str]:
    """Whether the warm-up is long enough at the answer, on one more replication with its traces."""
    from forebay.measurement.warmup import warmup_warnings

    if outcome.buffer is None or engine != "packet":
        return []
    return warmup_warnings(scenario.with_packets(outcome.buffer), engine)


def _phases(scenario: Scenario, engine: str) -> list[str]:
    from forebay.measurement.cautions import phase_effects

    return phase_effects(scenario, engine)


def _warnings(measure: _Measurements, outcome: Outcome) -> list[str]:
    """What the search noticed, then what the runs warned of: each kind once, with the buffers it is about."""
    kinds: dict[str, tuple[str, list[int]]] = {}
    for buffer, replication in sorted(measure.reports):
        for warning in json.loads(measure.reports[buffer, replication].json())["warnings"]:
            _, buffers = kinds.setdefault(re.sub(r"[0-9.e+-]+", "N", warning), (warning, []))
            if buffer not in buffers:
                buffers.append(buffer)
    found = list(outcome.notes)
    for warning, buffers in kinds.values():
        shown = ", ".join(str(buffer) for buffer in buffers[:6]) + (", ..." if len(buffers) > 6 else "")
        found.append(f"at {shown} packets: {warning}")
    return found
