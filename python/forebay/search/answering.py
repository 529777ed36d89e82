"""The recommendation, from the evidence of a search.

`recommendation` calls it for each question; `findings` and `evidence_warnings` make the parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from forebay import _core
from forebay.configuration.configuring import Configuration, configure, unconfigured
from forebay.configuration.port import Port
from forebay.search import findings
from forebay.search.answer import Recommendation
from forebay.search.answer_parts import JudgedRule
from forebay.search.buffer_variable import BufferVariable
from forebay.search.evidence import ConfiguredVerdict, Evidence
from forebay.search.evidence_warnings import warnings
from forebay.search.named_buffer import AS_CONFIGURED, NamedBuffer
from forebay.search.range_variable import RangeVariable

if TYPE_CHECKING:
    from forebay.configuration.access import Access
    from forebay.configuration.platforms.platform import Platform
    from forebay.search.options import Precision
    from forebay.search.question import Question
    from forebay.search.searching import SearchResult

__all__ = ["answer_of", "configurations"]


def answer_of(question: Question, found: SearchResult, precision: Precision) -> Recommendation:
    """The buffer and how every goal stands there; without one, what is in conflict; and everything measured."""
    evidence = found.evidence
    outcome, measure, share = evidence.outcome, evidence.measure, precision.fraction
    answered = outcome.buffer is not None
    goals = findings.judged_goals(evidence, share)
    between = outcome.between
    return Recommendation(
        scenario=evidence.scenario,
        buffer=None if outcome.buffer is None else evidence.size(outcome.buffer),
        confidence=_confidence(evidence, precision) if evidence.confident else None,
        resolution=precision.resolution,
        binding_goal=outcome.binding,
        goals=goals,
        feasible_from=findings.lower_end(evidence),
        feasible_up_to=findings.upper_end(evidence),
        infeasible_intervals=findings.gaps(evidence),
        feasible_intervals=findings.feasible_intervals(evidence),
        fraction=None if share is None else findings.fraction(evidence, share, precision.level),
        conflict=None if answered else findings.conflict(evidence, goals),
        rules=tuple(_rules_with_verdicts(question, evidence)),
        also=tuple(_named_buffers(evidence, question.named_buffers, found.configured)),
        points=findings.curve(evidence),
        cost=findings.cost([measure], 0.0, [evidence.companion]),
        warnings=warnings(evidence),
        engine=measure.engine,
        version=_core.__version__,
        jitter=evidence.jitter,
        variable=evidence.variable,
        verdict="met" if answered else "impossible" if outcome.impossible else "undecided",
        between=None if between is None else (evidence.size(between[0]), evidence.size(between[1])),
        runs=outcome.runs,
        level=precision.level,
        varied_hosts=evidence.twin,
        optimum=found.optimum,
    )


def _rules_with_verdicts(question: Question, evidence: Evidence) -> Iterator[JudgedRule]:
    """The rules with what was measured at their buffers, in the order of their sources."""
    yield from (findings.judged_rule(evidence, rule) for rule in question.rules)
    variable = evidence.variable
    if isinstance(variable, RangeVariable):
        yield from (findings.judged_parameter_rule(evidence, variable, rule) for rule in question.parameter_rules)


def _named_buffers(
    evidence: Evidence, named: Mapping[str, int], configured: ConfiguredVerdict | None
) -> Iterator[NamedBuffer]:
    """The configured buffer with its verdict, and the buffers that the user named."""
    for name, packets in named.items():
        yield findings.named_buffer(evidence, name, packets, configured if name == AS_CONFIGURED else None)


def _confidence(evidence: Evidence, precision: Precision) -> float | None:
    """The confidence of the answer; "impossible" is proven at the requested confidence."""
    outcome = evidence.outcome
    return outcome.confidence if outcome.buffer is not None else precision.level if outcome.impossible else None


def configurations(answer: Recommendation, systems: Iterable[Platform], line: Access | None) -> Iterator[Configuration]:
    """The answer as each router's configuration; without an answer no line of any."""
    if answer.buffer is None:
        noun = "buffer" if isinstance(answer.variable, BufferVariable) else "value"
        yield from (unconfigured(system, f"no configuration, because no {noun} is recommended") for system in systems)
        return
    port = Port.of(answer.variable.apply(round(answer.buffer.place)))
    yield from (configure(system, port, line) for system in systems)
