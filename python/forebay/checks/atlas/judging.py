"""What the rules are worth on the atlas: where each asks for what is needed, for less, or for more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from forebay.atlas.rows import Row
from forebay.checks.atlas.cells import Cell
from forebay.rules import rules

__all__ = ["NEAR", "Judged", "Verdict", "judged", "tally", "verdict_on"]

#: A rule is right within this share of what is needed.
NEAR = 0.2


class Verdict(Enum):
    """How a rule's buffer compares with the one that is needed."""

    RIGHT = "right"
    SMALL = "too small"
    LARGE = "too large"


@dataclass(frozen=True, slots=True)
class Judged:
    """One rule on one row of the atlas; `applies` where all that it assumes may hold."""

    row: Row
    rule: str
    packets: float
    applies: bool
    verdict: Verdict


def judged(found: Iterable[Row]) -> Iterator[Judged]:
    """Every rule that asks for a buffer, on every row that has one."""
    for row in found:
        if row.buffer_packets is None:
            continue
        cell = Cell(row.rate_bps, row.rtt_s, row.flows, row.controller, row.background)
        scenario = cell.scenario().changed(("atlas", "goal.utilization", f">= {row.utilization:g}"))
        for rule in rules(scenario.core):
            if rule.packets is None:
                continue
            # No rule asks for less than a packet.
            packets = max(1.0, rule.packets)
            yield Judged(row, rule.name, packets, rule.applies, verdict_on(row, packets))


def verdict_on(row: Row, packets: float) -> Verdict:
    """How so many packets compare with what a row that has a buffer needs."""
    assert row.low_packets is not None
    assert row.high_packets is not None
    if packets < (1 - NEAR) * row.low_packets:
        return Verdict.SMALL
    return Verdict.LARGE if packets > (1 + NEAR) * row.high_packets else Verdict.RIGHT


def tally(found: Iterable[Judged]) -> dict[tuple[str, str], Counter[Verdict]]:
    """How often each rule is what, by its name and the controller."""
    counts: dict[tuple[str, str], Counter[Verdict]] = {}
    for each in found:
        counts.setdefault((each.rule, each.row.controller), Counter())[each.verdict] += 1
    return counts
