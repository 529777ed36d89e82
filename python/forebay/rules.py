"""Sizing rules: what each closed-form model says of a scenario, and whether what it assumes holds there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from forebay import _core

__all__ = ["Assumption", "Holds", "Rule", "rules"]

Holds = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Assumption:
    """What a model assumes, whether it holds for a scenario, and by which number."""

    assumption: str
    holds: Holds
    why: str

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
        """The assumptions that do not hold, with their reasons."""
        return [str(each) for each in self.assumptions if each.holds == "no"]

    @property
    def unknown(self) -> list[str]:
        """The assumptions of which nothing is known, with their reasons."""
        return [str(each) for each in self.assumptions if each.holds == "unknown"]

    @property
    def applies(self) -> bool:
        """Whether it answers and nothing that it assumes fails."""
        return self.refusal is None and not self.failing


def rules(scenario: _core.Scenario) -> list[Rule]:
    """What every model says of a scenario, in the order of the catalogue."""
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
