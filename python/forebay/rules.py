"""Sizing rules: what each closed-form model says of a scenario, and whether what it assumes holds there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from forebay import _core

__all__ = ["Assumption", "Holds", "Rule", "rules"]

Holds = Literal["yes", "partly", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Assumption:
    """What a model assumes, whether it holds for a scenario, and why.

    Attributes
    ----------
    assumption : str
        In a few words.
    holds : {"yes", "partly", "no", "unknown"}
        "partly" for more than half of the flows, or of the load; "no" for half of them at most.
    why : str
        With the scenario's figures; reads behind "applies: " or "does not apply: ".
    share : float or None
        Of the flows, or of the load, for which it holds; None where it is about neither.
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
        Of the model.
    packets : float or None
        The buffer that it asks for; None where it asks for none.
    refusal : str or None
        Why it says nothing.
    assumptions : tuple of Assumption
        What it rests on.
    predicted : mapping
        Metrics at the scenario's own buffer.
    notes : tuple of str
        What to know of its numbers.
    """

    name: str
    packets: float | None
    refusal: str | None
    assumptions: tuple[Assumption, ...]
    predicted: Mapping[str, float]
    notes: tuple[str, ...]

    @property
    def failing(self) -> list[str]:
        """Why assumptions do not hold."""
        return self._reasons("no")

    @property
    def partial(self) -> list[str]:
        """For which part of the traffic assumptions hold that do so for most of it only."""
        return self._reasons("partly")

    @property
    def unknown(self) -> list[str]:
        """What is taken where nothing is known of an assumption."""
        return self._reasons("unknown")

    @property
    def applies(self) -> bool:
        """Whether it answers, fits more than half of the flows, and nothing else that it assumes fails."""
        return self.refusal is None and not self.failing

    @property
    def share(self) -> float:
        """Of the flows, or of the load, that it fits: the least that any assumption holds for."""
        return min((each.share for each in self.assumptions if each.share is not None), default=1.0)

    @property
    def why(self) -> str:
        """What speaks against it, or which part it fits and what is taken for it, or that all is well."""
        if self.failing:
            return "; ".join(self.failing + self.partial)
        if self.refusal is not None:
            return "; ".join([self.refusal, *self.partial])
        return "; ".join(self.partial + self.unknown) or "everything that it assumes holds"

    def _reasons(self, holds: Holds) -> list[str]:
        return list(dict.fromkeys(each.why for each in self.assumptions if each.holds == holds))


def rules(scenario: _core.Scenario) -> list[Rule]:
    """What every model says of a scenario, in the order of the catalog."""
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
