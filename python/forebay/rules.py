"""Sizing rules: the answer of each closed-form model to a scenario, and whether its assumptions hold there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from forebay import _core

__all__ = ["Assumption", "Holds", "Rule", "rules"]

Holds = Literal["yes", "partly", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Assumption:
    """An assumption of a model, whether it holds for a scenario, and why.

    Attributes
    ----------
    assumption : str
        The assumption in a few words.
    holds : {"yes", "partly", "no", "unknown"}
        "partly" for more than half of the flows, or of the load; "no" for half of them at most.
    why : str
        Reason with the scenario's figures; it reads after "applies: " or "does not apply: ".
    share : float or None
        Share of the flows, or of the load, for which it holds; None if it is about neither.
    """

    assumption: str
    holds: Holds
    why: str
    share: float | None = None

    def __str__(self) -> str:
        return f"{self.assumption}: {self.why}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One closed-form model on one scenario.

    Attributes
    ----------
    name : str
        Name of the model.
    packets : float or None
        Buffer of the rule, in packets; None if it gives none.
    refusal : str or None
        Reason why it gives no answer; None if it gives one.
    assumptions : tuple of Assumption
        Assumptions of the model.
    predicted : mapping
        Metrics at the scenario's own buffer.
    notes : tuple of str
        Notes on its numbers.
    """

    name: str
    packets: float | None
    refusal: str | None
    assumptions: tuple[Assumption, ...]
    predicted: Mapping[str, float]
    notes: tuple[str, ...]

    @property
    def failing(self) -> list[str]:
        """The reasons why assumptions do not hold."""
        return self._reasons("no")

    @property
    def partial(self) -> list[str]:
        """The reasons of assumptions that hold for most of the traffic but not for all."""
        return self._reasons("partly")

    @property
    def unknown(self) -> list[str]:
        """The reasons of assumptions of which it is unknown whether they hold."""
        return self._reasons("unknown")

    @property
    def applies(self) -> bool:
        """Whether it answers and no assumption fails; one that holds for more than half of the flows does not."""
        return self.refusal is None and not self.failing

    @property
    def share(self) -> float:
        """Share of the flows, or of the load, that it fits: the least over its assumptions."""
        return min((each.share for each in self.assumptions if each.share is not None), default=1.0)

    @property
    def why(self) -> str:
        """The reasons against it, or the part that it fits and its unknown assumptions, or that all hold."""
        if self.failing:
            return "; ".join(self.failing + self.partial)
        if self.refusal is not None:
            return "; ".join([self.refusal, *self.partial])
        return "; ".join(self.partial + self.unknown) or "all its assumptions hold"

    def _reasons(self, holds: Holds) -> list[str]:
        return list(dict.fromkeys(each.why for each in self.assumptions if each.holds == holds))


def rules(scenario: _core.Scenario) -> list[Rule]:
    """Evaluate every model for a scenario, in the order of the catalog."""
    return [
        Rule(
            rule.name,
            rule.packets,
            rule.refusal,
            tuple(Assumption(*check) for check in rule.checks),
            dict(rule.predicted),
            tuple(rule.notes),
        )
        for rule in _core.rules(scenario)
    ]
