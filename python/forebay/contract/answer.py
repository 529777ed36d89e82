"""The answer of `conformance`: one verdict for each check, and the curves of the pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["TITLES", "Check", "Conformance", "Curves", "Verdict"]

Verdict = Literal["pass", "fail", "note"]

#: The behavior that each check looks at, by the name of the check.
TITLES: Mapping[str, str] = {
    "runs": "Runs without errors",
    "window": "Smallest window",
    "loss": "Reaction to a loss",
    "ecn": "Reaction to ECN marks",
    "fairness": "Fairness with itself",
    "share_cubic": "Share left to CUBIC",
    "share_newreno": "Share left to New Reno",
    "random_loss_1": "Goodput at 1 % loss",
    "random_loss_5": "Goodput at 5 % loss",
    "idle": "Burst after idle time",
    "equal_results": "Equal runs",
    "pinned_math": "Inexact functions",
    "speed": "Speed",
    "conservation": "Missing packets",
    "fifo": "Reordering in a flow",
    "work": "Idle while packets wait",
    "memory": "Longest queue",
    "marks": "Marks without ECN",
}


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    Attributes
    ----------
    name : str
        Stable name, such as "fairness".
    verdict : {"pass", "fail", "note"}
        A note reports what is allowed but worth knowing, or a check that could not run.
    figure : str
        The measured figure, with its unit.
    allowed : str
        The figures that pass.
    value : float or None
        The measured figure as a number, if it is one number.
    reasons : tuple of str
        The reasons of a failure or a note, such as the lines of the file; empty for a pass.
    """

    name: str
    verdict: Verdict
    figure: str
    allowed: str
    value: float | None = None
    reasons: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The behavior that is checked."""
        return TITLES[self.name]


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of one picture, by the name of the algorithm: points of both axes."""

    title: str
    across: str
    up: str
    series: Mapping[str, tuple[tuple[float, float], ...]]
    by_decades: bool = False


@dataclass(frozen=True, slots=True)
class Conformance:
    """The verdicts on one class.

    Attributes
    ----------
    place : str
        File and class, such as "mine.py:Mine".
    role : {"controller", "discipline"}
    parameters : mapping
        The parameters that were set; the others have their defaults.
    sha256 : str
        SHA-256 of the text of the file.
    checks : tuple of Check
    curves : tuple of Curves
        Pictures beside built-in algorithms; empty unless they were requested.
    version : str
        Version of forebay.
    """

    place: str
    role: Literal["controller", "discipline"]
    parameters: Mapping[str, Any]
    sha256: str
    checks: tuple[Check, ...]
    curves: tuple[Curves, ...]
    version: str

    def with_verdict(self, verdict: Verdict) -> tuple[Check, ...]:
        """The checks with a verdict."""
        return tuple(each for each in self.checks if each.verdict == verdict)

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.with_verdict("fail")

    def __getitem__(self, name: str) -> Check:
        """The check of a name."""
        return next(each for each in self.checks if each.name == name)

    def to_json(self, *, indent: int | None = None) -> str:
        """The answer as JSON, without the curves."""
        checks = [
            {
                "name": each.name,
                "title": each.title,
                "verdict": each.verdict,
                "figure": each.figure,
                "allowed": each.allowed,
                "value": each.value,
                "reasons": list(each.reasons),
            }
            for each in self.checks
        ]
        found = {
            "place": self.place,
            "role": self.role,
            "parameters": dict(self.parameters),
            "source_sha256": self.sha256,
            "version": self.version,
            "passed": self.passed,
            "counts": {verdict: len(self.with_verdict(verdict)) for verdict in ("pass", "fail", "note")},
            "checks": checks,
        }
        return json.dumps(found, indent=indent)
