"""The plan of a search: its range, the buffers that it measures in any case, and how surely it decides.

`searching` asks for a plan of each search that it begins; `plan.Plan` is the plan itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forebay import _core
from forebay.errors import InputError
from forebay.fabric.simulated_headroom import is_lossless
from forebay.scenario import Scenario
from forebay.search.buffer_variable import BufferVariable
from forebay.search.delay_bound import constant_rate_link, delay_bounds
from forebay.search.goal_test import FRESH
from forebay.search.options import Precision
from forebay.search.plan import Plan
from forebay.search.port_classes import needs_larger_buffer
from forebay.search.range_variable import RangeVariable, RangeWords

__all__ = ["RequestedBuffers", "configured_packets", "plan_of", "reach"]

#: The first look reaches this many bandwidth-delay products, the search at most that many.
FIRST_LOOK_BDP = 2.0
CEILING_BDP = 16.0
#: The most fresh runs at one buffer: the runs that carry this number of packets, but not fewer than these.
AFFORDABLE_PACKETS, LEAST_FRESH = 2e7, 32
#: Part of the measured time in which a buffer has to empty so that a run can judge it.
PART_OF_A_RUN = 0.25
#: Disciplines that send in the order of arrival and whose thresholds do not grow with the buffer.
WAITS_TELL = frozenset({"droptail", "codel", "pie", "cobalt", "drophead"})
#: Parts of a range between the values of the first look, at least.
PARTS = 6


@dataclass(frozen=True, slots=True)
class RequestedBuffers:
    """Buffers, or numbers of values, that a search measures in any case.

    Attributes
    ----------
    requested : sequence of int
        Those of the user.
    of_rules : sequence of int
        Those that rules ask for.
    all_rules : bool
        Whether all of `of_rules` are measured, or only those beyond the first look.
    """

    requested: Sequence[int] = ()
    of_rules: Sequence[int] = ()
    all_rules: bool = False


def plan_of(variable: BufferVariable | RangeVariable, named: RequestedBuffers, precision: Precision) -> Plan:
    """The plan of a search for the smallest number of a variable that meets the goals of its scenario.

    Parameters
    ----------
    variable : BufferVariable or RangeVariable
        The variable, with its scenario.
    named : Named
        Numbers that are measured in any case.
    precision : Precision
        Required confidence and resolution of the answer.
    """
    if isinstance(variable, RangeVariable):
        return _plan_of_range(variable, named, precision)
    return _plan_of_buffer(variable, named, precision)


def _plan_of_buffer(variable: BufferVariable, named: RequestedBuffers, precision: Precision) -> Plan:
    """Look from one packet to two bandwidth-delay products, or seconds of queue where there is no such product."""
    scenario = variable.scenario
    if variable.is_target and is_lossless(scenario.resolved):
        reason = (
            "found `pfc`, whose `xoff` and `headroom` limit the queue and not the buffer; "
            "allowed: `forebay recommend` without --over, --over link.pfc.headroom=LOW..HIGH (or that of the lossless "
            "class), or `forebay check`"
        )
        raise InputError(reason, "link.buffer")
    largest, ceiling = reach(variable.scale, at_least=max(configured_packets(variable), *named.requested, 0))
    of_rules = [packets for packets in named.of_rules if named.all_rules or packets > largest]
    return Plan(
        smallest=1,
        largest=largest,
        ceiling=ceiling,
        resolution=precision.resolution,
        analyses=precision.analyses(scenario.core.replications),
        confidence=precision.level,
        test=precision.test,
        also=tuple(sorted({packets for packets in (*named.requested, *of_rules) if packets <= ceiling})),
        met_up_to=delay_bounds(variable),
        least=precision.least_runs,
        most_fresh=_affordable(scenario),
        furthest=_furthest(variable, ceiling),
        shows_full=tuple(_shows_full(variable)),
        opposing=tuple(goal for goal in scenario.goals if variable.is_target and not needs_larger_buffer(goal)),
    )


def _plan_of_range(variable: RangeVariable, named: RequestedBuffers, precision: Precision) -> Plan:
    """Look at both ends and at as many values in between as show a peak; nothing lies beyond."""
    first, last = variable.range.first, variable.range.last
    return Plan(
        smallest=first,
        largest=last,
        ceiling=last,
        gap=min(4.0, (last / first) ** (1 / PARTS)),
        resolution=precision.resolution,
        analyses=precision.analyses(variable.scenario.core.replications),
        confidence=precision.level,
        test=precision.test,
        also=tuple(sorted({*named.requested, *(named.of_rules if named.all_rules else ())})),
        floor=first,
        words=RangeWords(variable),
        least=precision.least_runs,
        most_fresh=_affordable(variable.scenario),
    )


def reach(scale: float, *, at_least: float = 0.0) -> tuple[int, int]:
    """The largest buffer of the first look, and that of the whole search.

    Parameters
    ----------
    scale : float
        Packets of one bandwidth-delay product.
    at_least : float
        Packets that the search reaches in any case: the configured buffer, the memory of the device.
    """
    ceiling = max(64, math.ceil(CEILING_BDP * scale), math.ceil(at_least))
    return min(ceiling, max(8, math.ceil(FIRST_LOOK_BDP * scale))), ceiling


def _furthest(variable: BufferVariable, ceiling: int) -> int:
    """The largest buffer that runs can judge: it empties in a part of the measured time, and its run has the memory."""
    furthest = int(PART_OF_A_RUN * variable.scenario.core.duration_s[1] * variable.packets_per_second)
    while furthest > ceiling:
        run = _core.Job(variable.apply(furthest).core, "packet", 0, 0)
        if run.memory_estimate <= _core.allowed_memory():
            break
        furthest //= 2
    return max(ceiling, furthest)


def _shows_full(variable: BufferVariable) -> Iterator[str]:
    """The metrics of the target link that tell whether the buffer was ever full."""
    if variable.place[0] is not None:
        return
    yield "loss"
    scenario = variable.scenario
    sizes = {str(group["packet"]) for group in scenario.resolved["flows"]}
    is_alone = len(scenario.resolved["links"]) == 1 and constant_rate_link(scenario) is not None
    # Packets of one size that wait in turn, and thresholds that do not grow with the buffer.
    if variable.is_target and is_alone and len(sizes) == 1 and scenario.core.queue in WAITS_TELL:
        yield "wait"


def _affordable(scenario: Scenario) -> int:
    """Fresh runs at one buffer that are worth their cost: as many as carry a certain number of packets."""
    packets = scenario.packets_per_second * sum(scenario.core.duration_s)
    return max(LEAST_FRESH, min(FRESH[-1], int(AFFORDABLE_PACKETS / packets)))


def configured_packets(variable: BufferVariable) -> float:
    """Packets of the configured buffer, and of the memory that the target link shares."""
    scenario, packets = variable.scenario, variable.size.packets
    memories = {memory["name"]: memory["size"] for memory in scenario.resolved.get("memories", ())}
    target = next((link for link in scenario.resolved["links"] if link.get("target")), None)
    shared = memories.get(target.get("memory")) if target is not None and variable.is_target else None
    if shared is None:
        return packets
    # A memory may be written in packets or in bytes, as a buffer may.
    changed = scenario.changed(("memories", variable.key, shared))
    return max(packets, BufferVariable(changed, variable.key).size.packets)
