"""The first stage: the atlas and a bound on the delay answer the questions whose buffers are far from the needed one.

The atlas gives an interval of the smallest buffer for a utilization. A full first-in-first-out queue gives the longest
delay. The stage decides a question only if both leave no doubt; every other question goes to the packet runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from forebay.atlas.prior import Table, place_of
from forebay.atlas.rows import read
from forebay.errors import ForebayError
from forebay.fleets.answer import Judgment, PortVerdict
from forebay.fleets.questions import Question
from forebay.inputs.goals import Goal
from forebay.results.metric import find
from forebay.scenario import Scenario
from forebay.storage.safe_io import DamagedError

__all__ = ["CLEAR", "first_stage"]

#: Factor around the interval of the atlas within which the stage decides nothing.
CLEAR = 1.25
#: Confidence of the intervals of the atlas.
CONFIDENCE = 0.8
#: Controllers that fill a queue until it drops packets.
FILLING = frozenset({"newreno", "cubic"})
#: Goals on the delay that the longest delay bounds; a queue that is always loaded reaches it more than 1 % of the time.
DELAYS = frozenset({"queue_delay_mean", "queue_delay_p50", "queue_delay_p99", "queue_delay_max"})
LONGEST = frozenset({"queue_delay_p99", "queue_delay_max"})


@dataclass(frozen=True, slots=True)
class _Link:
    """The part of a scenario that the stage needs; packets are of mean size."""

    packets_per_s: float
    packet_bytes: float
    fills: bool
    delays: tuple[Goal, ...]
    low: float
    high: float


def first_stage(questions: Mapping[str, Question]) -> dict[str, Judgment]:
    """The verdicts that need no run, by the digests of their questions; other questions are left out."""
    scenarios: dict[str, Scenario] = {}
    of_links: dict[str, str] = {}
    for digest, question in sorted(questions.items()):
        link = of_links[digest] = question.link
        if link not in scenarios:
            try:
                scenarios[link] = question.scenario()
            except ForebayError:
                continue  # the packet runs give the reason
    links = _links(scenarios)
    found = {}
    for digest, link in of_links.items():
        if link in links:
            judgment = _judged(links[link], questions[digest])
            if judgment is not None:
                found[digest] = judgment
    return found


def _links(scenarios: Mapping[str, Scenario]) -> dict[str, _Link]:
    """The links of which the atlas knows an interval."""
    try:
        rows = read()
    except DamagedError:
        return {}
    tables: dict[str, Table] = {}
    found = {}
    for name, scenario in scenarios.items():
        goals = scenario.goals
        known = all(_is_known(goal) for goal in goals) and sum(goal.name == "utilization" for goal in goals) == 1
        place = place_of(scenario, goals) if known else None
        if place is None:
            continue
        if place.controller not in tables:
            tables[place.controller] = Table.of(place.controller, rows)
        ends = tables[place.controller].at(place)
        if ends is not None:
            delays = tuple(goal for goal in goals if goal.name != "utilization")
            fills = place.controller in FILLING
            found[name] = _Link(scenario.packets_per_second, scenario.core.packet_bytes, fills, delays, *ends)
    return found


def _is_known(goal: Goal) -> bool:
    """Whether the stage can judge a goal."""
    metric = find(goal.name)
    name = goal.name if metric is None else metric.goal_name
    return (name == "utilization" and goal.sense == ">=") or (name in DELAYS and goal.sense == "<=")


def _judged(link: _Link, question: Question) -> Judgment | None:
    """The verdict on one buffer; None if there is a doubt."""
    size = question.size
    packets = size.number if size.unit == "p" else size.number / link.packet_bytes
    full_s = packets / link.packets_per_s
    # A full queue, the rest of the packet in transmission and another packet meet each goal up to this size.
    strictest = min((goal.threshold * link.packets_per_s for goal in link.delays), default=math.inf)
    most = strictest / CLEAR - 2
    least = CLEAR * link.high
    needed, low, high = math.sqrt(link.low * link.high), link.low, link.high

    def judged(verdict: PortVerdict, reason: str, severity: float = 0.0, recommended: float | None = None) -> Judgment:
        found = Judgment(
            verdict,
            f"{reason}; the atlas expects {link.low:.0f} to {link.high:.0f} packets",
            packets / needed,
            packets / high,
            packets / low,
            needed_bytes=needed * link.packet_bytes,
            confidence=CONFIDENCE,
            stage="closed form",
            severity=severity,
        )
        if recommended is None:
            return found
        found = replace(found, recommended_bytes=recommended * link.packet_bytes)
        if verdict == "too small":
            return found
        return replace(found, delay_s=full_s, recommended_delay_s=recommended / link.packets_per_s)

    late = [goal for goal in link.delays if goal.name.removesuffix("_s") in LONGEST and full_s > CLEAR * goal.threshold]
    if packets <= least:
        if packets < link.low / CLEAR and least <= most:
            return judged("too small", "utilization needs a larger buffer", 1 + min(9.0, needed / packets - 1), least)
    elif late and link.fills:
        if least <= most:  # otherwise the goals may conflict
            miss = max(full_s / goal.threshold - 1 for goal in late)
            needed, low, high = strictest, most, CLEAR * strictest
            middle = math.sqrt(least * most)
            return judged("too large", f"{late[0].key} needs a smaller buffer", 1 + min(9.0, miss), middle)
    elif packets <= most and link.fills and not link.delays and packets > 2 * least:
        reason = "half of the buffer is enough, and the rest costs delay"
        return judged("too large", reason, 1 - least / packets, least)
    elif packets <= most and (link.delays or packets <= 2 * link.low / CLEAR):
        within = "the one on delay among them" if link.delays else "and half of the buffer is not enough"
        return judged("fine", f"every goal is met, {within}")
    return None
