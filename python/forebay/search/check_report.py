"""The answer of `check`: a verdict on each goal at each checked buffer, with the measurements.

`checking.py` makes it; the command line, notebooks and programs read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from forebay.inputs.goals import Goal
from forebay.results import notebook_repr
from forebay.results.deprecated_names import DeprecatedName, with_deprecated_keys
from forebay.results.report import BufferSize, Estimate
from forebay.results.serialization import to_jsonable
from forebay.results.warning import Warning
from forebay.search.answer_parts import GoalEvidence, Metrics, SearchCost
from forebay.search.named_buffer import GoalVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forebay.configuration.jitter import Jitter
    from forebay.measurement.twin import Twin
    from forebay.scenario import Scenario
    from forebay.search.limiting import LimitEffect

__all__ = ["CheckReport", "CheckedBuffer", "CheckedGoal", "together"]


def together(verdicts: Iterable[GoalVerdict]) -> GoalVerdict:
    """The verdict on several goals, or several buffers: missed if one is missed, met only if all are met."""
    found = set(verdicts)
    return "missed" if "missed" in found else "undecided" if "undecided" in found else "met"


@dataclass(frozen=True, slots=True)
class CheckedGoal:
    """One goal at one buffer.

    Attributes
    ----------
    goal : Goal
        The goal.
    measured : Estimate
        The metric, with a 95 % Student-t interval over the runs.
    margin : float
        Distance of the mean from the threshold, in the metric's unit; positive on the good side.
    verdict : str
        "met", "missed" or "undecided".
    confidence : float or None
        One-sided confidence that the metric is on the side of the threshold on which its mean is. None where the runs
        carry none, and where the goal is met by derivation.
    evidence : GoalEvidence
        The method of the verdict, and the runs that it rests on.
    """

    goal: Goal
    measured: Estimate
    margin: float
    verdict: GoalVerdict
    confidence: float | None
    evidence: GoalEvidence

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON."""
        return {
            "sense": self.goal.sense,
            "threshold": self.goal.threshold,
            "measured": to_jsonable(self.measured),
            "margin": self.margin,
            "verdict": self.verdict,
            "confidence": self.confidence,
            "evidence": to_jsonable(self.evidence),
            **({} if self.goal.key == self.goal.name else {"metric": self.goal.name}),
        }


@dataclass(frozen=True, slots=True)
class CheckedBuffer:
    """Every goal at one buffer.

    Attributes
    ----------
    buffer : BufferSize
        The buffer, or the memory, in every unit.
    setting : str or None
        The buffer as it was asked for, such as "9MB" or "memories.chip.size=16MB"; None for the configured one.
    verdict : str
        "met" if all goals are met, "missed" if one is missed, else "undecided".
    runs : int
        Observations at this buffer that the verdicts use.
    goals : mapping
        Each goal by its key.
    metrics : mapping
        Metrics of the target link.
    groups : mapping
        Metrics of each group by the group's name.
    varied_hosts : Twin or None
        The same runs with hosts that vary; None unless exact hosts stay in phase. Goals whose verdict differs there
        have no confidence.
    limits : tuple of LimitEffect
        The limits of a port with a memory or with `pfc`, each with the loss without it; empty if nothing is lost.
    """

    buffer: BufferSize
    setting: str | None
    verdict: GoalVerdict
    runs: int
    goals: Mapping[str, CheckedGoal]
    metrics: Metrics
    groups: Mapping[str, Metrics]
    varied_hosts: Twin[BufferSize] | None = None
    limits: tuple[LimitEffect, ...] = ()

    twin = DeprecatedName("varied_hosts")

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON: `varied_hosts` and `limits` only if such runs exist."""
        values = {each.name: to_jsonable(getattr(self, each.name)) for each in fields(self)}
        if self.varied_hosts is None:
            del values["varied_hosts"]
        if not self.limits:
            del values["limits"]
        return with_deprecated_keys(CheckedBuffer, values)

    def count(self, verdict: GoalVerdict) -> int:
        """The number of goals with a verdict."""
        return sum(each.verdict == verdict for each in self.goals.values())


@dataclass(frozen=True, slots=True, repr=False)
class CheckReport:
    """The answer of `check`.

    Attributes
    ----------
    scenario : Scenario
        The scenario that was checked, with its goals.
    verdict : str
        The worst verdict of the buffers: "missed" is worse than "undecided", and that is worse than "met".
    confidence : float or None
        Requested one-sided confidence of each verdict by itself; None if runs do not show all states of the scenario.
    buffers : tuple of CheckedBuffer
        The configured buffer, or those that were asked for, in their order.
    cost : SearchCost
        The only part that differs between equal checks.
    warnings : tuple of Warning
        The warnings for the reader.
    engine, version : str
        The engine that measured, and forebay's version.
    jitter : Jitter or None
        The random parts that were added to the scenario, if they were requested.
    strata : int
        Runs of each observation: one for each stratum of the scenario's random states.
    """

    scenario: Scenario
    verdict: GoalVerdict
    confidence: float | None
    buffers: tuple[CheckedBuffer, ...]
    cost: SearchCost
    warnings: tuple[Warning, ...]
    engine: str
    version: str
    jitter: Jitter | None = None
    strata: int = 1

    def resting_on(self, warnings: tuple[Warning, ...]) -> CheckReport:
        """The same with warnings of what was not measured, and without a confidence if there are any."""
        if not warnings:
            return self
        buffers = tuple(
            replace(each, goals={key: replace(goal, confidence=None) for key, goal in each.goals.items()})
            for each in self.buffers
        )
        return replace(self, confidence=None, buffers=buffers, warnings=(*warnings, *self.warnings))

    def to_dict(self) -> dict[str, Any]:
        """The report as plain dictionaries and lists, as in the JSON."""
        data: dict[str, Any] = to_jsonable(
            {
                "verdict": self.verdict,
                "confidence": self.confidence,
                "buffers": self.buffers,
                "cost": self.cost,
                "warnings": self.warnings,
                "scenario_sha256": self.scenario.core.sha256,
                "engine": self.engine,
                "version": self.version,
                **({} if self.jitter is None else {"jitter": self.jitter}),
                **({} if self.strata == 1 else {"strata": self.strata}),
            }
        )
        return data

    @property
    def data(self) -> Mapping[str, Any]:
        """The same as `to_dict()`."""
        return self.to_dict()

    def to_json(self, indent: int | None = None) -> str:
        """Return the report as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    def _repr_html_(self) -> str:
        """The report as a table, for notebooks."""
        return notebook_repr.table(self)

    def __repr__(self) -> str:
        of = f" of {self.scenario.title!r}" if self.scenario.title else ""
        met = sum(each.verdict == "met" for each in self.buffers)
        return f"<CheckReport{of}: {self.verdict}, {met} of {len(self.buffers)} buffers meet every goal>"
