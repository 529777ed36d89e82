"""`compare`: the answers of every engine and every rule for one scenario, their disagreements and the reasons."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from forebay import _core
from forebay.comparison.agreement import agreement
from forebay.comparison.answers import Answer, Comparison, Disagreement, RangePoint, RuleMark, answer_of
from forebay.comparison.assumptions import fluid_assumptions
from forebay.engines import in_real_time, simulates_hosts
from forebay.errors import ForebayError, InputError, UnsupportedError, UntrustedError
from forebay.inputs.validation import MOST_REPLICATIONS, integer
from forebay.measurement.synchronization import fit_synchronization
from forebay.measurement.twin import Twin, in_phase, twin_of, varied
from forebay.results.report import BufferSize, Estimate, Report
from forebay.rules import rules
from forebay.scenario import TARGET, Progress, Scenario, run_jobs

__all__ = ["FITTED", "Comparison", "check_engines", "compare", "runs_in_real_time"]

#: Differences below this fraction (of the larger value) are not worth a line, however certain they are.
WORTH_MENTIONING = 0.02
#: Name of the fluid engine with the packet engine's distribution of counts and a background redrawn every round trip.
FITTED = "fluid (fitted)"
#: Least number of fluid replications; they cost milliseconds, and their intervals are narrow only if they are many.
FLUID_REPLICATIONS = 16
#: Replications of the packet engine that are traced for the fit; traces are large.
TRACED = 2
#: Ends of the buffer range in bandwidth-delay products; without one, in multiples of the scenario's buffer.
RANGE_BDP = (0.02, 2.0)
RANGE_OWN = (0.1, 10.0)

#: Number of buffers of the range by default.
POINTS = 9


def compare(
    scenario: Scenario,
    *,
    engines: Collection[str] = (),
    replications: int | None = None,
    points: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run a scenario on every engine and ask every closed-form model, at its own buffer and over a range of buffers.

    Parameters
    ----------
    scenario : Scenario
        Scenario to compare.
    engines : collection of str
        Engines that run in real time. They run only if they are named, as in ["kernel"]. Their runs are made one at a
        time, at the scenario's own buffer, and over the range if `points` is given.
    replications : int, optional
        In place of the scenario's own; by default at least 4, because only intervals can show a disagreement.
    points : int, optional
        Buffers of the range besides the scenario's own: evenly spread on a logarithmic scale from 0.02 to 2
        bandwidth-delay products (a tenth to ten times the own buffer without such a product); 0 for none, 9 by
        default. The range is empty if all packets wait in buffers of classes.
    jobs : int, optional
        Threads of the engines that do not run in real time.
    progress : callable, optional
        Called during the runs; if some are in real time, during those alone, because they take longest.

    Returns
    -------
    Comparison
        An engine that cannot run the scenario, or that refuses its own run, is listed with its reason.

    Raises
    ------
    UnavailableError
        If this machine cannot run a named engine.

    Examples
    --------
    >>> comparison = forebay.compare(forebay.Scenario.load("@dsl-access"), replications=2, points=0)
    >>> [each.name for each in comparison.answers if each.kind == "engine"]
    ['packet', 'fluid']
    """
    count = replications_of(scenario, replications)
    check_engines(engines)
    own = Scenario(scenario.core)
    others = [Scenario(scenario.core.with_packets(packets)) for packets in buffers(scenario, points)]
    runs = runs_in_real_time(scenario, engines, replications, points)
    steps_done = _Steps(progress, runs or 3 * (1 + len(others)))
    request = _Request(tuple(engines), count, jobs, steps_done, with_twins=True)
    over_range = (
        dataclasses.replace(request, with_twins=False)
        if points is not None
        else _Request((), count, jobs, _Steps(None, 0) if engines else steps_done)
    )
    answers, reports = request.engines(own)
    answers = [*_compared_with_packets(scenario, answers, reports), *_models(own)]
    curve = [_point(own, answers)]
    for other in others:
        at, _ = over_range.engines(other)
        curve.append(_point(other, [*at, *_models(other)]))
    return Comparison(
        scenario,
        scenario.buffer,
        tuple(answers),
        tuple(agreement(scenario, answers)),
        tuple(_disagreements(answers)),
        tuple(
            RuleMark(rule.name, rule.packets, rule.applies) for rule in rules(scenario.core) if rule.packets is not None
        ),
        tuple(sorted(curve, key=lambda point: point.buffer.packets)),
    )


def runs_in_real_time(
    scenario: Scenario, engines: Collection[str], replications: int | None, points: int | None
) -> int:
    """The number of runs of engines in real time that `compare` makes."""
    others = 0 if points is None else len(buffers(scenario, points))
    return len(engines) * replications_of(scenario, replications) * (1 + others)


def replications_of(scenario: Scenario, replications: int | None) -> int:
    """The number of replications of every engine."""
    count = max(4, scenario.core.replications) if replications is None else replications
    return integer(count, (1, MOST_REPLICATIONS), "replications")


def check_engines(engines: Collection[str]) -> None:
    """Refuse an unknown engine, and one that runs in any case."""
    known = [engine.name for engine in _core.engines()]
    for name in engines:
        if name not in known:
            raise InputError(_core.unknown("engine", name, known), "engines")
        if not in_real_time(name):
            raise InputError(f"found `{name}`, which is always compared; allowed: engines in real time", "engines")


def buffers(scenario: Scenario, points: int | None) -> list[int]:
    """Buffers of the range in packets, without the scenario's own."""
    points = integer(POINTS if points is None else points, (0, 1000), "points")
    core = scenario.core
    own = scenario.buffer.packets
    unit, (low, high) = (core.bdp_packets, RANGE_BDP) if core.bdp_packets else (max(own, 10.0), RANGE_OWN)
    if points == 0 or TARGET not in core.buffer_keys:
        return []
    step = math.log(high / low) / max(points - 1, 1)
    spread = {max(1, round(unit * low * math.exp(step * number))) for number in range(points)}
    # A neighbor of the scenario's own buffer would only cost time.
    return sorted(packets for packets in spread if abs(packets - own) > 0.1 * own)


class _Steps:
    """Progress over several batches of runs."""

    def __init__(self, progress: Progress | None, steps: int) -> None:
        self.progress, self.steps, self.done = progress, steps, -1
        self.step()

    def step(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.steps)


def _unseen() -> None:
    """A step that is not reported."""


@dataclass(frozen=True, slots=True)
class _Request:
    """The request to the engines at every buffer."""

    in_real_time: tuple[str, ...]
    count: int
    jobs: int | None
    progress: _Steps
    with_twins: bool = False

    def engines(self, scenario: Scenario) -> tuple[list[Answer], dict[str, Report]]:
        """The answer of every engine, and the reports of those that can run the scenario."""
        reports: dict[str, Report] = {}
        # They run first, so that a machine that cannot run them reports that at once.
        apart = [self._run(name, scenario, name, reports, self.progress.step) for name in self.in_real_time]
        step = _unseen if self.in_real_time else self.progress.step
        answers: list[Answer] = []
        for engine in _core.engines():
            if engine.models or engine.real_time:
                continue  # models are listed one by one
            answers.append(self._run(engine.name, scenario, engine.name, reports))
            step()
        if {"packet", "fluid"} <= set(reports) and scenario.core.persistent_flows:
            try:
                fitted = _fitted(scenario, min(self.count, TRACED))
            except ForebayError:
                pass  # no congestion event: nothing to fit
            else:
                answers.append(self._run(FITTED, fitted, "fluid", reports))
        step()
        return [*answers, *apart], reports

    def _run(
        self,
        name: str,
        scenario: Scenario,
        engine: str,
        reports: dict[str, Report],
        step: Callable[[], object] = _unseen,
    ) -> Answer:
        """One engine's answer; its report is added to `reports` if it has one."""
        cheap = any(known.cheap for known in _core.engines() if known.name == engine)
        often = cheap and not in_real_time(engine)
        count = max(self.count, FLUID_REPLICATIONS) if often else self.count
        work = [_core.Job(scenario.core, engine, scenario.core.seed, replication) for replication in range(count)]
        try:
            runs = run_jobs(work, self.jobs, lambda _done, _of: step())
        except (UnsupportedError, UntrustedError) as error:
            return Answer(name, "engine", False, str(error), (), {})
        reports[name] = report = Report.over(runs)
        why = "; ".join(report.warnings)
        twin = self._twin(scenario, engine, runs) if self.with_twins else None
        return Answer(name, "engine", True, why, (), report.metrics, lateness=report.cost.lateness, varied_hosts=twin)

    def _twin(self, scenario: Scenario, engine: str, runs: Sequence[Report]) -> Twin[BufferSize] | None:
        """The same runs with hosts that vary, if exact hosts stay in phase in them."""
        if not simulates_hosts(engine) or not in_phase(runs):
            return None
        core = varied(scenario.core)
        work = [_core.Job(core, engine, core.seed, replication) for replication in range(len(runs))]
        return twin_of(scenario.core, scenario.buffer, runs, run_jobs(work, self.jobs), scenario.goals)


def _compared_with_packets(
    scenario: Scenario, answers: Iterable[Answer], reports: dict[str, Report]
) -> Iterable[Answer]:
    """The same answers; the fluid's with its assumptions as the packet engine measured them."""
    packet = next((report for name, report in reports.items() if simulates_hosts(name)), None)
    for answer in answers:
        if packet is None or not answer.applies or reports.get(answer.name) is packet or in_real_time(answer.name):
            yield answer
        else:
            assumptions = fluid_assumptions(scenario, packet, reports[answer.name])
            yield dataclasses.replace(answer, assumptions=tuple(assumptions))


def _fitted(scenario: Scenario, replications: int) -> Scenario:
    """The scenario with the packet engine's count distribution; other traffic is redrawn each round trip."""
    fitted = fit_synchronization(scenario, replications=replications).scenario
    core = fitted.core
    if core.background_load == 0.0 or core.bdp_packets is None:
        return fitted
    round_trip = core.bdp_packets * core.packet_bytes * 8 / core.rate_bps
    return Scenario(core.with_overrides([f'fluid.background={{ redrawn = "{round_trip:.9f}s" }}']))


def _models(scenario: Scenario) -> list[Answer]:
    """The prediction of every closed-form model."""
    return [
        Answer(
            rule.name,
            "model",
            not rule.failing,
            "; ".join([*rule.failing, *rule.notes]),
            rule.assumptions,
            {name: Estimate(value) for name, value in rule.predicted.items()},
            rule.notes,
        )
        for rule in rules(scenario.core)
        if rule.predicted
    ]


def _point(scenario: Scenario, answers: Iterable[Answer]) -> RangePoint:
    """One buffer of the curve: the metrics of every engine that can, and of every model that applies."""
    return RangePoint(scenario.buffer, {answer.name: answer.metrics for answer in answers if answer.applies})


def _disagreements(answers: Sequence[Answer]) -> Iterable[Disagreement]:
    """Pairs with the packet engine that differ by more than both intervals and by a worthwhile fraction."""
    packet = answer_of("packet", [answer for answer in answers if answer.applies])
    pairs = itertools.product([packet], answers) if packet is not None else itertools.combinations(answers, 2)
    for one, other in pairs:
        if one is other or not (one.applies and other.applies):
            continue  # a model outside of its assumptions is no disagreement
        for metric, mine in one.metrics.items():
            theirs = other.metrics.get(metric)
            if theirs is None:
                continue
            gap = theirs.mean - mine.mean
            doubt = (mine.half_width or 0.0) + (theirs.half_width or 0.0)
            larger = max(abs(mine.mean), abs(theirs.mean))
            if abs(gap) > doubt and abs(gap) > WORTH_MENTIONING * larger:
                names, values = (one.name, other.name), (mine.mean, theirs.mean)
                yield Disagreement(metric, names, values, gap, doubt, _reason(other), other.doubtful)


def _reason(answer: Answer) -> str:
    """The reason why an answer may be off, in one line: its assumptions in doubt, else its own notes."""
    reasons = [str(each) for each in answer.doubtful] or list(answer.notes or [answer.why])
    if answer.lateness is not None:
        reasons.insert(0, "measured in real time on this machine")
    return "; ".join(text for text in reasons if text) or "its assumptions hold"
