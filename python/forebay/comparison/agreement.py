"""How closely the fluid engine follows the packet engine, against bounds stated beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebay.comparison.assumptions import burst_packets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from forebay.scenario import Scenario

__all__ = ["LOSS_FACTOR", "QUEUE_PART", "UTILIZATION_POINTS", "agreement"]

#: Utilisation may differ by so much (0.02 is two points).
UTILIZATION_POINTS = 0.02
#: The mean queue may differ by this part of the buffer; most where flows of equal round trips meet at equal instants,
#: since which of them loses then rests with the order of simultaneous packets.
QUEUE_PART = 0.15
#: Either loss rate may be so many times the other: a fluid loses what one round trip's growth overshoots, packets are
#: lost in bursts.
LOSS_FACTOR = 4.0


def agreement(scenario: Scenario, answers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Compare every fluid answer with the packet engine's.

    Parameters
    ----------
    scenario : Scenario
        What both ran.
    answers : sequence of mapping
        The answers of `compare`.

    Returns
    -------
    list of dict
        `engine`, `metric`, `values` (packet, fluid), `gap` and `allowed` in the unit `of` ("points", "buffers" or
        "times"), `within`, and `expected`: whether the bounds are promised for this scenario, with `why`.
    """
    packet = next((answer for answer in answers if answer["name"] == "packet" and answer["applies"]), None)
    fluids = [answer for answer in answers if answer["name"].startswith("fluid") and answer["applies"]]
    if packet is None:
        return []
    expected, why = _promised(scenario)
    waiting = max(float(scenario.core.buffer()["packets"] or 0.0), 1.0)
    rows = []
    for fluid in fluids:
        for metric in ("utilization", "loss_rate", "queue_mean_packets"):
            if metric not in packet["metrics"] or metric not in fluid["metrics"]:
                continue
            mine, theirs = packet["metrics"][metric], fluid["metrics"][metric]
            gap, allowed, of = _gap(metric, mine["mean"], theirs["mean"], waiting)
            rows.append(
                {
                    "engine": fluid["name"],
                    "metric": metric,
                    "values": [mine["mean"], theirs["mean"]],
                    "gap": gap,
                    "allowed": allowed,
                    "of": of,
                    "within": None if gap is None else abs(gap) <= allowed,
                    "expected": expected,
                    "why": why,
                }
            )
    return rows


def _gap(metric: str, packet: float, fluid: float, waiting: float) -> tuple[float | None, float, str]:
    """The gap, what is allowed, and its unit."""
    if metric == "utilization":
        return 100 * (fluid - packet), 100 * UTILIZATION_POINTS, "points"
    if metric == "queue_mean_packets":
        return (fluid - packet) / waiting, QUEUE_PART, "buffers"
    if packet <= 0.0 or fluid <= 0.0:
        return (None if packet != fluid else 1.0), LOSS_FACTOR, "times"
    return max(fluid / packet, packet / fluid), LOSS_FACTOR, "times"


def _promised(scenario: Scenario) -> tuple[bool, str]:
    """Whether the bounds are promised: the buffer must hold the bursts of an unpaced sender."""
    burst = burst_packets(scenario)
    waiting = float(scenario.core.buffer()["packets"] or 0.0)
    if burst is None:
        return False, "no persistent flows"
    if waiting < burst:
        return (
            False,
            f"a buffer of {waiting:.0f} packets is less than half of the longest flow's fair window, {burst:.0f}",
        )
    return True, ""
