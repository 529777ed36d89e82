"""Jitter: random delays that keep the flows of a scenario from synchronizing. Flows of a real network rarely do.

A random delay of up to one packet time of the bottleneck, drawn for each flow, is added to every round trip that is a
number. So packets of different flows meet a full queue at different phases of a departure (Floyd and Jacobson, On
traffic phase effects in packet-switched gateways, 1992, section 5). Starts that are a number are spread over the
duration of a slow start, one round trip for each doubling from one packet to the bandwidth-delay product: then no two
flows are at the same point of their slow start. The spread is at most a quarter of the warm-up, so that all flows have
begun long before its end.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from forebay.scenario import Scenario

__all__ = ["Jitter", "jittered", "time_text"]

#: Largest part of the warm-up over which starts are spread.
OF_WARMUP = 0.25


@dataclass(frozen=True, slots=True)
class Jitter:
    """The random changes that were made to a scenario.

    Attributes
    ----------
    round_trips, starts : tuple of str
        Names of the groups whose round trips, and whose starts, became random.
    round_trip_s : float
        Maximum delay added to each of these round trips, in seconds.
    start_s : float
        Maximum delay added to each of these starts, in seconds.
    """

    round_trips: tuple[str, ...]
    starts: tuple[str, ...]
    round_trip_s: float
    start_s: float

    @property
    def anything(self) -> bool:
        """Whether anything was changed."""
        return bool(self.round_trips or self.starts)


def jittered(scenario: Scenario) -> tuple[Scenario, Jitter]:
    """Return the scenario with jitter on responsive groups without random values, and the changes."""
    tables: dict[str, Any] = json.loads(scenario.core.canonical_json())
    core = scenario.core
    packet_time = core.packet_bytes * 8 / core.rate_bps
    spread = _spread_s(scenario, packet_time)
    changed: dict[str, list[str]] = {"rtt": [], "start": []}
    for group, (name, _, _, responsive) in zip(tables["flows"], core.groups, strict=True):
        for key, most in (("rtt", packet_time), ("start", spread)):
            law = _with_jitter(group[key], most) if responsive else None
            if law is not None:
                group[key] = law
                changed[key].append(name)
    found = Jitter(tuple(changed["rtt"]), tuple(changed["start"]), packet_time, spread)
    if not found.anything:
        return scenario, found
    return scenario.with_core(Scenario.of(tables, name=scenario.title or "scenario").core), found


def _spread_s(scenario: Scenario, packet_time: float) -> float:
    """Duration of a slow start up to the bandwidth-delay product, at most a part of the warm-up, in seconds."""
    pipe = max(2.0, scenario.core.bdp_packets or 0.0)
    slow_start = pipe * packet_time * (1 + math.ceil(math.log2(pipe)))
    warmup, _ = scenario.core.duration_s
    return min(slow_start, OF_WARMUP * warmup) if warmup > 0 else slow_start


def _with_jitter(law: Any, most: float) -> Any | None:
    """The distribution shifted by a random time of up to `most` seconds; None if it is random already."""
    jitter = {"uniform": ["0s", time_text(most)]}
    if isinstance(law, str):
        return {"value": law, "jitter": jitter}
    if isinstance(law, list):
        return {"list": law, "jitter": jitter}
    if isinstance(law, dict) and "linspace" in law and "jitter" not in law:
        return {**law, "jitter": jitter}
    return None


def time_text(seconds: float) -> str:
    """A time in the notation of scenario files, to six digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.6g}{unit}"
    return f"{seconds / 1e-9:.6g}ns"
