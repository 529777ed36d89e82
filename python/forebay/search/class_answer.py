"""The answer of `size_classes`: the buffer of each class, and every goal with all buffers together.

`class_sizing.py` makes it; the command line, notebooks and programs read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from forebay.configuration.configuring import Configuration
from forebay.configuration.jitter import Jitter
from forebay.results.deprecated_names import DeprecatedName
from forebay.results.notebook_repr import Result
from forebay.results.report import BufferSize
from forebay.results.serialization import to_jsonable
from forebay.results.warning import Warning
from forebay.scenario import Scenario
from forebay.search.answer_parts import JudgedGoal, Metrics, SearchCost, Verdict
from forebay.search.joint_buffers import PortBuffers

__all__ = ["ClassSize", "ClassSizing"]


@dataclass(frozen=True, slots=True)
class ClassSize:
    """The buffer of one class.

    Attributes
    ----------
    name : str
        The class, or the classes that share the link's buffer.
    key : str
        The key of the buffer, as `--set` takes it.
    buffer : BufferSize or None
        The recommended buffer; None without a confirmed answer.
    nearest : BufferSize
        The buffer at which the goals were judged: the recommended one, or that of the nearest miss.
    configured : BufferSize
        The buffer in the scenario.
    goals : tuple of str
        Keys of the goals that this buffer decides: those on its groups, and of one class those on the link.
    binding_goal : str or None
        The key of the goal that keeps it from being smaller; None if no goal does.
    unchanged : bool
        Whether the buffer stays as configured, because no goal limits how small it may be.
    """

    name: str
    key: str
    buffer: BufferSize | None
    nearest: BufferSize
    configured: BufferSize
    goals: tuple[str, ...]
    binding_goal: str | None
    unchanged: bool

    kept = DeprecatedName("unchanged")


@dataclass(frozen=True, slots=True, repr=False)
class ClassSizing(Result):
    """The answer of `size_classes`.

    Attributes
    ----------
    scenario : Scenario
        The scenario that was asked about, with its goals.
    verdict : str
        "met": the buffers meet every goal together. "impossible": no buffers do. "undecided": neither is confirmed.
    reason : str
        Why no buffers are recommended; empty if some are.
    confidence : float or None
        One-sided, that all goals hold together at the buffers; None without an answer, or if runs repeat each other.
    level : float
        The confidence that was asked for.
    runs : int
        Runs with all buffers at their answers that the confidence rests on.
    classes : tuple of ClassSize
        Every buffer, in the order in which classes are served.
    total : BufferSize or None
        All recommended buffers together; None without an answer.
    goals : mapping
        Each goal by its key, judged with all buffers together.
    metrics : mapping
        Metrics of the link with all buffers together.
    groups : mapping
        The same of each group by its name.
    cost : SearchCost
        The only part that differs between equal sizings.
    warnings : tuple of Warning
        The warnings for the reader.
    engine, version : str
        The engine that measured, and forebay's version.
    configurations : tuple of Configuration
        The port with all buffers, for the platforms that were asked for.
    jitter : Jitter or None
        The random parts that were added to the scenario, if they were requested.
    """

    scenario: Scenario
    verdict: Verdict
    reason: str
    confidence: float | None
    level: float
    runs: int
    classes: tuple[ClassSize, ...]
    total: BufferSize | None
    goals: Mapping[str, JudgedGoal]
    metrics: Metrics
    groups: Mapping[str, Metrics]
    cost: SearchCost
    warnings: tuple[Warning, ...]
    engine: str
    version: str
    configurations: tuple[Configuration, ...] = ()
    jitter: Jitter | None = None

    @property
    def feasible(self) -> bool:
        """Whether buffers are recommended."""
        return self.total is not None

    @property
    def sized(self) -> Scenario:
        """The scenario with the recommended buffers, or with those of the nearest miss."""
        sizes = {each.key: round(each.nearest.packets) for each in self.classes}
        return PortBuffers(self.scenario).with_sizes(sizes)

    def resting_on(self, warnings: tuple[Warning, ...]) -> ClassSizing:
        """The same with warnings of what was not measured, and without a confidence if there are any."""
        if not warnings:
            return self
        goals = {key: replace(goal, confidence=None) for key, goal in self.goals.items()}
        return replace(self, confidence=None, goals=goals, warnings=(*warnings, *self.warnings))

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain dictionaries and lists, as in the JSON."""
        data: dict[str, Any] = to_jsonable(
            {
                "verdict": self.verdict,
                "reason": self.reason,
                "recommendation": self.total,
                "confidence": self.confidence,
                "runs": self.runs,
                "classes": self.classes,
                "goals": self.goals,
                "metrics": self.metrics,
                "groups": self.groups,
                "cost": self.cost,
                "warnings": self.warnings,
                "scenario_sha256": self.scenario.core.sha256,
                "engine": self.engine,
                "version": self.version,
                **({"configurations": self.configurations} if self.configurations else {}),
                **({} if self.jitter is None else {"jitter": self.jitter}),
            }
        )
        return data

    def __repr__(self) -> str:
        of = f" for {self.scenario.title!r}" if self.scenario.title else ""
        if self.total is None:
            return f"<ClassSizing{of}: {self.verdict}>"
        sizes = ", ".join(f"{each.name} {each.nearest.packets:.0f}" for each in self.classes)
        return f"<ClassSizing{of}: {sizes} packets>"
