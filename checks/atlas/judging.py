"""The accuracy of the rules on the atlas: where each gives the needed buffer, a smaller or a larger one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from checks.atlas.cells import Cell
from forebay.atlas.rows import Row
from forebay.rules import rules

__all__ = ["NEAR", "RuleResult", "Verdict", "rule_results", "tally", "verdict_on"]

#: Share of the needed buffer within which a rule is right.
NEAR = 0.2


class Verdict(Enum):
    """A rule's buffer compared with the one that is needed."""

    RIGHT = "right"
    SMALL = "too small"
    LARGE = "too large"


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule on one row of the atlas; `applies` is true if all of its assumptions may hold."""

    row: Row
    rule: str
    packets: float
    applies: bool
    verdict: Verdict


def rule_results(found: Iterable[Row]) -> Iterator[RuleResult]:
    """Every rule that gives a buffer, on every row that has one."""
    for row in found:
        if row.buffer_packets is None:
            continue
        cell = Cell(row.rate_bps, row.rtt_s, row.flows, row.controller, row.background)
        scenario = cell.scenario().changed(("atlas", "goal.utilization", f">= {row.utilization:g}"))
        for rule in rules(scenario.core):
            if rule.packets is None:
                continue
            # No rule gives less than a packet.
            packets = max(1.0, rule.packets)
            yield RuleResult(row, rule.name, packets, rule.applies, verdict_on(row, packets))


def verdict_on(row: Row, packets: float) -> Verdict:
    """A buffer compared with the one that a row with a buffer needs."""
    assert row.low_packets is not None
    assert row.high_packets is not None
    if packets < (1 - NEAR) * row.low_packets:
        return Verdict.SMALL
    return Verdict.LARGE if packets > (1 + NEAR) * row.high_packets else Verdict.RIGHT


def tally(found: Iterable[RuleResult]) -> dict[tuple[str, str], Counter[Verdict]]:
    """The number of each verdict, by a rule's name and the controller."""
    counts: dict[tuple[str, str], Counter[Verdict]] = {}
    for each in found:
        counts.setdefault((each.rule, each.row.controller), Counter())[each.verdict] += 1
    return counts
