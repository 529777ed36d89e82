"""Warnings about any packet run of a scenario that a reader must know before using the numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from forebay import _core
from forebay.engines import simulates_hosts
from forebay.results.warning import Kind, Warning
from forebay.text import formatting

__all__ = ["exact", "phase_effects", "phase_warnings", "rare_states"]

#: Relative distance from a whole number that still counts as one: a part in a thousand of a packet time.
WITHIN = 1e-3
#: Occurrences of a declared state that all runs together show on average; below that the state is rare for them.
SHOWN = 3.0
#: Largest number of flows of one link for warnings of ties; among many, other flows' packets break the pattern up.
MOST = 20


def phase_warnings(scenario: _core.Scenario, engine: str, runs: int) -> list[Warning]:
    """Warn of coincidences of round trips, and of declared states that `runs` runs can hardly show."""
    return [*phase_effects(scenario, engine), *rare_states(scenario, engine, runs)]


def rare_states(scenario: _core.Scenario, engine: str, runs: int) -> list[Warning]:
    """Warn of random states that the scenario declares and that `runs` runs show less than a few times.

    Returns
    -------
    list of Warning
        One for each state; none for engines that draw nothing.
    """
    if not any(known.name == engine and known.replicates for known in _core.engines()):
        return []
    measured = scenario.duration_s[1]
    found = []
    for state in scenario.random_states():
        cycle, share = state["cycle_s"], state["share"]
        each = share if cycle is None else (measured + (state["duration_s"] or 0.0)) / cycle
        if state["kind"] in ("schedule", "overload") or each is None or runs * each >= SHOWN:
            continue
        counted, verb = ("one run", "shows") if runs == 1 else (f"{runs} runs", "show")
        text = (
            f"{state['phrase']} is rare: {counted} of {formatting.duration(measured)} {verb} it {runs * each:.2g} "
            "times on average. To see its effect, use more replications or longer runs."
        )
        values = {"runs": runs, "shown": runs * each}
        found.append(Warning(Kind.RARE_STATE, text, subject=state["key"], values=values))
    return found


def exact(group: Mapping[str, Any]) -> bool:
    """Whether the hosts of a group, in the canonical form, answer without a processing time (`processing = "0s"`)."""
    return bool(group.get("processing") == "0ps")


def phase_effects(scenario: _core.Scenario, engine: str = "packet") -> list[Warning]:
    """Warn if round trips of exact hosts, or their differences, are whole multiples of the time for a packet.

    Packets of a sender without an access link then arrive at the very instants at which others leave, and find a full
    queue full. The coincidence decides which flow loses (Floyd and Jacobson, On traffic phase effects in
    packet-switched gateways, 1992). Packets of flows whose listed round trips differ so arrive at the same instants as
    each other, if nothing else shares the link. No network is so exact.

    Returns
    -------
    list of Warning
        One for each affected group; none for engines without packets.
    """
    if not simulates_hosts(engine):
        return []
    tables = json.loads(scenario.canonical_json())
    if len(tables["links"]) > 1:
        return []
    groups: list[Mapping[str, Any]] = tables["flows"]
    alone = all(group["workload"] == "persistent" for group in groups)
    found = _ties(scenario, filter(exact, groups)) if alone and scenario.persistent_flows <= MOST else []
    for group in groups:
        if group["workload"] != "persistent" or "access" in group or not exact(group):
            continue
        multiple = _packet_times(scenario, group)
        if multiple is not None:
            text = (
                f"The round trip of group `{group['name']}` is exactly {multiple} packet times of the link. Packets "
                "arrive synchronized with departures, and this coincidence decides the losses (a phase effect). Real "
                'networks vary: set `processing = "packet"`, so that the hosts\' processing time varies.'
            )
            values = {"packet_times": multiple}
            found.append(Warning(Kind.PHASE_EFFECT, text, subject=group["name"], values=values))
    return found


def _ties(scenario: _core.Scenario, groups: Iterable[Mapping[str, Any]]) -> list[Warning]:
    """Warnings for groups in which several flows' round trips differ by whole packet times."""
    found = []
    for group in groups:
        phases = sorted(multiple % 1.0 for multiple in set(_multiples(scenario, group)))
        if len(phases) < 2:
            continue
        if any(after - before < WITHIN for before, after in pairwise([*phases, phases[0] + 1.0])):
            packet_time = scenario.packet_bytes * 8 / scenario.rate_bps
            time = formatting.duration(packet_time)
            text = (
                f"In group `{group['name']}`, some round trips differ by whole packet times ({time}). Packets of these "
                "flows always arrive at the same instants, so a coincidence may decide which flow loses (a phase "
                'effect). Set `processing = "packet"`, so that the hosts\' processing time varies'
            )
            values = {"packet_time_s": packet_time}
            found.append(Warning(Kind.TIED_ROUND_TRIPS, text, subject=group["name"], values=values))
    return found


def _multiples(scenario: _core.Scenario, group: Mapping[str, Any]) -> list[float]:
    """The listed round trips of a group's flows in packet times; none if they are not listed."""
    rtt, count = group["rtt"], group["count"]
    if isinstance(rtt, list):
        return [_multiple(scenario, each, group["packet"]) for each in rtt]
    if isinstance(rtt, dict) and "linspace" in rtt and "jitter" not in rtt and isinstance(count, int) and count >= 2:
        first, last = (_multiple(scenario, end, group["packet"]) for end in rtt["linspace"])
        return [first + (last - first) * number / (count - 1) for number in range(count)]
    return []


def _multiple(scenario: _core.Scenario, rtt: object, packet: object) -> float:
    """A round trip in units of the link's time for a packet; 0 if either is not one number."""
    if not isinstance(rtt, str) or not isinstance(packet, str):
        return 0.0
    packet_time = _core.parse_quantity(packet, "bytes") * 8 / scenario.rate_bps
    return _core.parse_quantity(rtt, "time") / packet_time


def _packet_times(scenario: _core.Scenario, group: Mapping[str, Any]) -> int | None:
    """The round trip of a group in packet times, if that is a whole number; else None."""
    multiple = _multiple(scenario, group["rtt"], group["packet"])
    rounded = round(multiple)
    return rounded if rounded >= 1 and abs(multiple - rounded) < WITHIN else None
