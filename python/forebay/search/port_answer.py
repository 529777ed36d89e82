"""The answer of `size_port`: the values of a lossless port, and how every goal stands with all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from forebay.configuration.configuring import Configuration
from forebay.configuration.jitter import Jitter
from forebay.results.notebook_repr import Result
from forebay.results.serialization import to_jsonable
from forebay.results.warning import Warning
from forebay.scenario import Scenario
from forebay.search.answer_parts import JudgedGoal, Metrics, SearchCost, Verdict

__all__ = ["PortSizing", "SizedHeadroom", "SizedValue"]


@dataclass(frozen=True, slots=True)
class SizedValue:
    """One value of the port.

    Attributes
    ----------
    name : str
        "headroom", "xoff", "K", "alpha", "buffer" or "pool"; of a class such as "storage.headroom".
    key : str
        The key, as `--set` takes it.
    settings : mapping
        The keys that the value sets, with their texts: `xon` follows `xoff`, and RED's `max` follows `min`.
    unit : str
        "bytes", "packets" or "" for alpha.
    recommended : float or None
        The recommended value; None without a confirmed answer.
    nearest : float
        The value with which the goals were judged: the recommended one, or that of the nearest miss.
    configured : float
        The value in the scenario.
    memory_bytes : float or None
        Memory that the value takes for all senders of the port; None for K and alpha, and if the senders are not known.
    binding_goal : str or None
        The key of the goal that keeps the value from being smaller; None if no goal does.
    unchanged : bool
        Whether the value stays as configured, because no goal limits how small it may be.
    traffic_class : str
        The class that the value belongs to; empty for the values of the port.
    """

    name: str
    key: str
    settings: Mapping[str, str]
    unit: str
    recommended: float | None
    nearest: float
    configured: float
    memory_bytes: float | None
    binding_goal: str | None
    unchanged: bool
    traffic_class: str = ""

    @property
    def short_name(self) -> str:
        """The name without that of the class."""
        return self.name.removeprefix(f"{self.traffic_class}.")


@dataclass(frozen=True, slots=True)
class SizedHeadroom:
    """The headroom of one sender.

    Attributes
    ----------
    exact_bytes : float
        The closed form: both directions of the cable, the response time, and two packets.
    delay_bytes : float
        The part of the cable and the response time.
    packet_bytes : int
        The part of the two packets.
    bytes : int
        The headroom that was sized, in whole steps.
    wasted_bytes : int
        Bytes of each sender beyond the closed form, rounded down.
    used_bytes : float or None
        The most that a run at the values used.
    senders : int or None
        Senders that may be paused; None if their number changes.
    """

    exact_bytes: float
    delay_bytes: float
    packet_bytes: int
    bytes: int
    wasted_bytes: int
    used_bytes: float | None
    senders: int | None

    @property
    def wasted_in_all(self) -> int | None:
        """Bytes of all senders that the rounding wastes."""
        return None if self.senders is None else self.senders * self.wasted_bytes


@dataclass(frozen=True, slots=True, repr=False)
class PortSizing(Result):
    """The answer of `size_port`.

    Attributes
    ----------
    scenario : Scenario
        The scenario that was asked about, with its goals.
    verdict : str
        "met": the values meet every goal together. "undecided": this is not confirmed.
    reason : str
        Why no values are recommended; empty if some are.
    confidence : float or None
        One-sided, that all goals hold together; None without an answer, or if runs repeat each other.
    level : float
        The confidence that was asked for.
    runs : int
        Runs with all values at their answers that the confidence rests on.
    values : tuple of SizedValue
        Every value, in the order in which they are sized.
    headrooms : mapping
        The parts of each headroom and what its rounding wastes, by the lossless class; an empty name of a port that is
        lossless as a whole.
    goals : mapping
        Each goal by its key, judged with all values together.
    metrics : mapping
        Metrics of the link with all values together.
    groups : mapping
        The same of each group by its name.
    cost : SearchCost
        The only part that differs between equal sizings.
    warnings : tuple of Warning
        The warnings for the reader.
    engine, version : str
        The engine that measured, and forebay's version.
    configurations : tuple of Configuration
        The port with all values, for the platforms that were asked for.
    jitter : Jitter or None
        The random parts that were added to the scenario, if they were requested.
    """

    scenario: Scenario
    verdict: Verdict
    reason: str
    confidence: float | None
    level: float
    runs: int
    values: tuple[SizedValue, ...]
    headrooms: Mapping[str, SizedHeadroom]
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
        """Whether values are recommended."""
        return self.verdict == "met"

    @property
    def has_classes(self) -> bool:
        """Whether the values are those of lossless and lossy classes."""
        return "" not in self.headrooms

    @property
    def headroom(self) -> SizedHeadroom:
        """The headroom of the port, or of its first lossless class."""
        return next(iter(self.headrooms.values()))

    def __getitem__(self, name: str) -> SizedValue:
        """A value by its name."""
        return next(each for each in self.values if each.name == name)

    @property
    def sized(self) -> Scenario:
        """The scenario with the recommended values, or with those of the nearest miss."""
        changes = [("values", key, text) for each in self.values for key, text in each.settings.items()]
        return self.scenario.changed(*changes)

    def resting_on(self, warnings: tuple[Warning, ...]) -> PortSizing:
        """The same with warnings of what was not measured, and without a confidence if there are any."""
        if not warnings:
            return self
        goals = {key: replace(goal, confidence=None) for key, goal in self.goals.items()}
        return replace(self, confidence=None, goals=goals, warnings=(*warnings, *self.warnings))

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain dictionaries and lists, as in the JSON."""
        recommendation = {each.name: each.recommended for each in self.values} if self.feasible else None
        data: dict[str, Any] = to_jsonable(
            {
                "verdict": self.verdict,
                "reason": self.reason,
                "recommendation": recommendation,
                "confidence": self.confidence,
                "runs": self.runs,
                "values": self.values,
                "headroom": self.headroom,
                **({"headrooms": self.headrooms} if self.has_classes else {}),
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
        if not self.feasible:
            return f"<PortSizing{of}: {self.verdict}>"
        return f"<PortSizing{of}: {', '.join(f'{each.name} {each.nearest:g}' for each in self.values)}>"
