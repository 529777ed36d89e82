"""The assumptions of the fluid engine, compared with the packet engine's measurements of the same scenario."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from forebay.results.warning import Kind
from forebay.rules import Assumption

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from forebay.results.report import Report
    from forebay.scenario import Scenario

__all__ = ["burst_packets", "fluid_assumptions"]

#: A difference of the fraction of flows that lose together that is worth mentioning.
SYNCHRONIZATION_GAP = 0.1
#: Timeouts per retransmission above which windows collapse often enough to matter.
MANY_TIMEOUTS = 0.02
#: Mean windows, in packets, below which fast retransmit often fails.
SMALL_WINDOW = 10.0
#: Part of the largest fair window that a buffer must hold for the flow's bursts to survive.
BURST = 0.5
#: Standard deviation of the background over a round trip, in buffers, that is worth mentioning.
FLUCTUATION = 0.05


def fluid_assumptions(scenario: Scenario, packet: Report, fluid: Report) -> list[Assumption]:
    """List the fluid engine's assumptions, whether each holds, and by which measured number.

    Parameters
    ----------
    scenario : Scenario
        Scenario that both ran.
    packet, fluid : Report
        Their reports.

    Returns
    -------
    list of Assumption
        The assumptions that could be checked.
    """
    checks = [
        _synchronization(packet, fluid),
        _bursts(scenario),
        _windows(scenario),
        _timeouts(packet),
        _background(scenario, fluid),
        _acknowledgments(scenario),
        _events(packet),
    ]
    return [check for check in checks if check is not None]


def _check(assumption: str, holds: bool | None, why: str) -> Assumption:
    return Assumption(assumption, "unknown" if holds is None else "yes" if holds else "no", why)


def burst_packets(scenario: Scenario) -> float | None:
    """Half of the fair window of the flow with the longest round trip: the burst of an unpaced sender, in packets.

    None without persistent flows.
    """
    core = scenario.core
    window = _fair_window(scenario)
    if window is None or core.bdp_packets is None or core.longest_rtt_s is None:
        return None
    harmonic = core.bdp_packets * core.packet_bytes * 8 / core.rate_bps
    longest = core.longest_rtt_s if math.isfinite(core.longest_rtt_s) else harmonic
    return BURST * window * longest / harmonic


def _fair_window(scenario: Scenario) -> float | None:
    core = scenario.core
    if not core.persistent_flows or core.bdp_packets is None:
        return None
    return max(0.0, core.bdp_packets * (1.0 - core.background_load)) / core.persistent_flows


def _synchronization(packet: Report, fluid: Report) -> Assumption | None:
    name = "synchronization"
    if name not in packet.metrics or name not in fluid.metrics:
        return None
    measured, assumed = packet.metrics[name], fluid.metrics[name]
    gap = abs(measured.mean - assumed.mean)
    doubt = (measured.half_width or 0.0) + (assumed.half_width or 0.0)
    return _check(
        "the assumed fraction of the flows loses in each event",
        gap <= max(SYNCHRONIZATION_GAP, doubt),
        f"{100 * assumed.mean:.0f} % assumed, {100 * measured.mean:.0f} % measured",
    )


def _bursts(scenario: Scenario) -> Assumption | None:
    burst = burst_packets(scenario)
    if burst is None:
        return None
    waiting = scenario.buffer.packets
    paced = all(group.get("pacing", False) for group in _persistent(scenario))
    return _check(
        "packets arrive evenly, without bursts",
        paced or waiting >= burst,
        "senders are paced"
        if paced
        else f"the buffer of {waiting:.0f} packets is less than {burst:.0f}, half of the fair window of the longest "
        f"flow"
        if waiting < burst
        else f"the buffer of {waiting:.0f} packets holds {burst:.0f}, half of the fair window of the longest flow",
    )


def _windows(scenario: Scenario) -> Assumption | None:
    window = _fair_window(scenario)
    if window is None:
        return None
    waiting = scenario.buffer.packets / scenario.core.persistent_flows
    return _check(
        "windows have many packets",
        window + waiting >= SMALL_WINDOW,
        f"a flow's fair window is {window:.0f} packets and its share of the buffer {waiting:.0f}",
    )


def _timeouts(packet: Report) -> Assumption | None:
    timeouts, retransmissions = (
        sum(group.metrics[name].mean for group in packet.groups if name in group.metrics)
        for name in ("timeouts", "retransmissions")
    )
    if not retransmissions:
        return None
    part = timeouts / retransmissions
    return _check(
        "losses are repaired without timeouts",
        part <= MANY_TIMEOUTS,
        f"{timeouts:.3g} timeouts, {retransmissions:.4g} retransmissions in a run",
    )


def _background(scenario: Scenario, fluid: Report) -> Assumption | None:
    core = scenario.core
    if core.background_load <= 0.0:
        return None
    constant = (Kind.FLUID_BACKGROUND, "constant")
    if not any((warning.kind, warning.subject) == constant for warning in fluid.warnings):
        return _check(
            "other traffic varies from round trip to round trip only",
            None,
            "its rate changes randomly, with a normal distribution",
        )
    # Variation of a Poisson stream of that load within a round trip; bursty sources vary by more.
    packets = core.background_load * (core.bdp_packets or 0.0)
    waiting = max(scenario.buffer.packets, 1.0)
    return _check(
        "other traffic has a constant rate",
        math.sqrt(packets) <= FLUCTUATION * waiting,
        f"it takes {100 * core.background_load:.0f} % of the link and varies by at least {math.sqrt(packets):.0f} "
        f"packets "
        f"in a round trip; the buffer has {waiting:.0f} packets",
    )


def _acknowledgments(scenario: Scenario) -> Assumption | None:
    delayed = [group for group in _persistent(scenario) if group.get("delayed_ack", {}).get("packets", 1) > 1]
    if not delayed:
        return None
    packets = delayed[0]["delayed_ack"]["packets"]
    return _check("every packet is acknowledged", False, f"one acknowledgment for {packets} packets slows growth")


def _events(packet: Report) -> Assumption | None:
    few = next((warning for warning in packet.warnings if warning.kind == Kind.FEW_CONGESTION_EVENTS), None)
    if few is None:
        return None
    why = f"{few.values['events']:.0f} congestion events in the measured time"
    return _check("there are enough congestion events for a mean", None, why)


def _persistent(scenario: Scenario) -> Iterator[Mapping[str, Any]]:
    """The resolved persistent groups."""
    for group, described in zip(scenario.core.groups, scenario.resolved["flows"], strict=True):
        if group[3] and described.get("workload", "persistent") == "persistent":
            yield described
