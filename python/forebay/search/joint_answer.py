"""The common part of the answers of `class_sizing` and `port_sizing`.

The steps are taken within the time, the goals are judged with all values together, and platforms get their lines.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from forebay import _core
from forebay.configuration.access import Access
from forebay.configuration.configuring import Configuration, configure, unconfigured
from forebay.configuration.jitter import Jitter
from forebay.configuration.platforms.platform import Platform
from forebay.configuration.port import Port
from forebay.results.report import Report
from forebay.results.warning import Kind, Warning
from forebay.scenario import Scenario
from forebay.search import findings
from forebay.search.buffer_variable import BufferVariable
from forebay.search.evidence import Evidence
from forebay.search.options import Precision
from forebay.search.port_classes import PortClass
from forebay.search.rare_states import Lengthened
from forebay.search.sizing_steps import SizingSteps
from forebay.text.formatting import counted

__all__ = ["JointAnswer", "configurations", "deadline", "joint_answer", "take", "undemanded"]


@dataclass(frozen=True, slots=True)
class JointAnswer:
    """A sizing that is over.

    Attributes
    ----------
    place : int
        The combination of values: the confirmed one, or the nearest miss.
    found : bool
        Whether it is confirmed.
    evidence : Evidence
        Everything that was measured with all values together.
    facts : mapping
        The attributes that `ClassSizing` and `PortSizing` both have, by their names.
    """

    place: int
    found: bool
    evidence: Evidence
    facts: Mapping[str, Any]


def deadline(precision: Precision) -> float | None:
    """The value of `time.monotonic` at which a sizing that begins now ends."""
    return None if precision.within is None else time.monotonic() + precision.within


def take(steps: SizingSteps) -> None:
    """Take the steps until the answer is there or the time is over."""
    try:
        steps.run()
    except TimeoutError:
        steps.ran_out(steps.precision.within or 0.0)
        if steps.means.resumption is not None:
            steps.means.resumption.unfinished()


def joint_answer(
    steps: SizingSteps, variable: BufferVariable, runs: Lengthened, jitter: Jitter | None, started: float
) -> JointAnswer:
    """The result of every goal with the values of the answer, or with those of the nearest miss.

    Parameters
    ----------
    steps : SizingSteps
        The steps, which are over.
    variable : BufferVariable
        Combinations of values.
    runs : Lengthened
        How much longer runs are than the scenario says.
    jitter : Jitter or None
        The random parts that were added to the scenario.
    started : float
        The value of `time.perf_counter` at the start.

    Returns
    -------
    JointAnswer
    """
    outcome, measure = steps.outcome, steps.measures[0]
    if outcome.buffer is None:
        outcome.compromise = steps.nearest()
    place = outcome.buffer if outcome.buffer is not None else outcome.compromise
    assert place is not None, "a place without an answer is the nearest miss"
    outcome.impossible = steps.impossible
    if steps.precision.quick:
        done = sum(each.runs for each in steps.measures)
        text = f"a quick search with {counted(done, 'run')}; run it without --quick to confirm the answer"
        outcome.notes.insert(0, Warning(Kind.QUICK, text))
    evidence = Evidence(steps.joint, outcome, measure, variable, jitter, runs)
    goals = {
        key: replace(each, at_smallest=None, at_largest=None)
        for key, each in findings.judged_goals(evidence, None).items()
    }
    over = Report.over(measure.at(place))
    found = outcome.buffer is not None
    facts = {
        "scenario": measure.scenario,
        "verdict": "met" if found else "impossible" if steps.impossible else "undecided",
        "reason": "" if found else steps.reason,
        "confidence": _stated(steps.precision, outcome.confidence) if found and evidence.confident else None,
        "level": steps.precision.requested_confidence,
        "runs": outcome.runs if found else len(measure.at(place)),
        "goals": goals,
        "metrics": over.metrics,
        "groups": {group.name: group.with_quantiles for group in over.groups},
        "cost": findings.cost([each for each in steps.measures if each.reports], time.perf_counter() - started),
        "engine": steps.means.engine,
        "version": _core.__version__,
        "jitter": jitter,
    }
    return JointAnswer(place, found, evidence, facts)


def undemanded(of: PortClass) -> Warning:
    """The warning about a class for which no goal needs a large buffer."""
    group = next(iter(of.groups), of.name)
    text = (
        f"No goal limits how small the buffer of `{of.name}` may be, so the search does not reduce it. "
        f"To size it, add a goal such as {group}.loss_rate<=1%."
    )
    return Warning(Kind.UNDEMANDED, text, subject=of.name)


def _stated(precision: Precision, confidence: float | None) -> float | None:
    """The confidence of the joint runs; a quick look states no more than it looks for."""
    if confidence is None or not precision.quick:
        return confidence
    return min(confidence, precision.requested_confidence)


def configurations(
    sized: Scenario | None, noun: str, systems: Iterable[Platform], line: Access | None
) -> Iterator[Configuration]:
    """The sized port for each platform; without an answer no line of any, and `noun` names what is missing."""
    if sized is None:
        why = f"no configuration, because no {noun} are recommended"
        yield from (unconfigured(system, why) for system in systems)
        return
    port = Port.of(sized)
    yield from (configure(system, port, line) for system in systems)
