"""Buffers up to which a goal on the queueing delay holds by derivation, whatever the traffic does.

A packet that a first-in-first-out queue accepts waits for the packets in front of it and for the rest of the one in
transmission. With at most B bytes waiting and a constant rate C that is at most (B + P) / C; P is the largest packet.
If the rate includes the framing of each packet, P includes it. A limit in packets is that number times P. A limit in
bytes leaves the number of frames open: it may be full of the smallest packets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forebay import _core
from forebay.configuration.port import FRAMING
from forebay.inputs.goals import Goal
from forebay.results.metric import find
from forebay.scenario import Scenario
from forebay.search.buffer_variable import BufferVariable

__all__ = ["constant_rate_link", "delay_bounds"]

#: Disciplines that send in the order of arrival, whatever they drop or mark.
FIRST_IN_FIRST_OUT = frozenset({"droptail", "red", "step", "codel", "pie", "choke", "drophead", "cobalt"})
#: Keys of a link that make its rate change, its packets wait for more than the queue, or others share what waits.
NOT_CONSTANT = ("outages", "shaper", "medium", "memory", "policer")
#: Bytes of the smallest packet: a bare header of IPv4.
SMALLEST = 20.0
#: Part of the bound that is used: what is exact in theory is kept clear of rounding.
CLEAR = 0.999


def delay_bounds(variable: object) -> Mapping[Goal, int]:
    """Goals on the delay of the target link, each with the largest buffer up to which it holds, in packets.

    Empty for queues that are not first in, first out at a constant rate, and where something else than the target
    link's buffer is varied.
    """
    if not isinstance(variable, BufferVariable) or not variable.is_target:
        return {}
    scenario = variable.scenario
    if scenario.core.queue not in FIRST_IN_FIRST_OUT:
        return {}
    target, largest = constant_rate_link(scenario), _largest_packet(scenario.resolved["flows"])
    if largest is None or target is None or not isinstance(target["delay"], str):
        return {}
    framing = FRAMING[target["rate_layer"]]
    found: dict[Goal, int] = {}
    for goal in scenario.goals:
        _, _, name = goal.name.rpartition(".")
        metric = find(name)
        if goal.sense == "<=" and metric is not None and metric.goal_name.startswith("queue_delay_"):
            most = _packets(variable, CLEAR * goal.threshold, (largest, framing))
            if most >= 1:
                found[goal] = most
    return found


def constant_rate_link(scenario: Scenario) -> Mapping[str, Any] | None:
    """The target link if its rate never changes and its packets wait for nothing but the queue; else None."""
    target: Mapping[str, Any] = next(link for link in scenario.resolved["links"] if link["target"])
    changes = not isinstance(target["rate"], str) or any(target.get(key) for key in NOT_CONSTANT)
    return None if changes else target


def _largest_packet(groups: Sequence[Mapping[str, Any]]) -> float | None:
    """Bytes of the largest packet of any group; None where sizes are drawn."""
    sizes = [group["packet"] for group in groups]
    if any(not isinstance(size, str) for size in sizes):
        return None
    return max(_core.parse_quantity(size, "bytes") for size in sizes)


def _packets(variable: BufferVariable, delay_s: float, packet: tuple[float, float]) -> int:
    """Packets of the largest buffer whose queue is over within a delay, with one more packet in transmission.

    `packet` has the bytes of the largest packet and those of the framing of each.
    """
    (largest, framing), size, core = packet, variable.size, variable.scenario.core
    # A limit in packets may be full of the largest ones; a limit in bytes is what it is, with many frames at worst.
    each = largest + framing if core.packet_limit else size.bytes / size.packets * (1 + framing / SMALLEST)
    return int((delay_s * core.rate_bps / 8 - largest - framing) / each)
