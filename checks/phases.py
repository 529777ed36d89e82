"""Rows of ns-2 on and off phase, and rows whose own seeds differ by more than a number may be off.

A round trip of a whole or half number of transmission times keeps a flow's packets at one place among those of the
others, so that ties decide which flow loses. `make reference` counts such rows apart (tests/reference/README.md).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from checks.findings import Finding

__all__ = ["PhaseShare", "Seeds", "by_phase", "largest_allowed", "on_phase", "unsteady"]

#: Part of a transmission time within which a round trip counts as a whole or half number of them.
WITHIN = 1e-3


def on_phase(rtt_s: float, packet_s: float) -> bool:
    """Whether a round trip is a whole or half number of transmission times, within a thousandth of one."""
    halves = 2.0 * rtt_s / packet_s
    return abs(halves - round(halves)) < 2.0 * WITHIN


@dataclass(frozen=True, slots=True)
class Seeds:
    """A number of a row whose seeds differ by more than what is allowed."""

    number: str
    range: float
    allowed: float


@dataclass(frozen=True, slots=True)
class PhaseShare:
    """The part that agrees of the rows on or off phase.

    Attributes
    ----------
    phase : str
        "on" or "off".
    agreed, numbers : int
        Judged numbers that agree, and all judged ones.
    agreed_rows, rows : int
        Rows that agree in each judged number, and all rows with one.
    exempt : tuple of (str, int, int, tuple of Seeds)
        Rows that are not counted: label, numbers that agree, judged numbers, and the reasons.
    """

    phase: str
    agreed: int
    numbers: int
    agreed_rows: int
    rows: int
    exempt: tuple[tuple[str, int, int, tuple[Seeds, ...]], ...]


def unsteady(row: Iterable[Finding], largest: Mapping[Hashable, float]) -> tuple[Seeds, ...]:
    """The judged numbers of one row whose seeds differ by more than what is allowed for any of the seeds."""
    return tuple(
        Seeds(found.number, found.range, largest[_scenario(found)])
        for found in row
        if found.range is not None and found.range > largest[_scenario(found)]
    )


def largest_allowed(findings: Iterable[Finding]) -> Mapping[Hashable, float]:
    """The largest allowed difference of each number over the seeds of its scenario."""
    found: dict[Hashable, float] = {}
    for each in findings:
        key = _scenario(each)
        found[key] = max(found.get(key, 0.0), math.inf if each.allowed is None else each.allowed)
    return found


def _scenario(found: Finding) -> Hashable:
    """The same for the same number of another seed; the mean over the seeds tells scenarios of one name apart."""
    return found.kind, found.row.rpartition(" seed=")[0], found.number, found.mean


def by_phase(findings: Iterable[Finding]) -> Iterator[PhaseShare]:
    """The shares of rows on phase and off phase, without rows whose own seeds differ too much."""
    judged = [found for found in findings if found.phase and found.unjudged is None]
    largest = largest_allowed(judged)
    rows: dict[str, dict[str, list[Finding]]] = {}
    for found in judged:
        rows.setdefault(found.phase, {}).setdefault(found.row, []).append(found)
    for phase in sorted(rows, reverse=True):
        yield _share(phase, rows[phase], largest)


def _share(phase: str, rows: Mapping[str, Sequence[Finding]], largest: Mapping[Hashable, float]) -> PhaseShare:
    agreed = numbers = agreed_rows = counted = 0
    exempt = []
    for label, row in rows.items():
        agree, reasons = sum(found.agrees for found in row), unsteady(row, largest)
        if reasons:
            exempt.append((label, agree, len(row), reasons))
            continue
        agreed, numbers, counted = agreed + agree, numbers + len(row), counted + 1
        agreed_rows += agree == len(row)
    return PhaseShare(phase, agreed, numbers, agreed_rows, counted, tuple(exempt))
