"""The gap between the fluid engine and the packet engine, compared with bounds stated beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from forebay.comparison.answers import Agreement, Answer, answer_of
from forebay.comparison.assumptions import burst_packets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forebay.scenario import Scenario

__all__ = ["LOSS_FACTOR", "QUEUE_PART", "UTILIZATION_POINTS", "agreement"]

#: Largest gap between the utilizations that is allowed (0.02 is two points).
UTILIZATION_POINTS = 0.02
#: Largest gap between the mean queues that is allowed, as a part of the buffer. It is largest if flows of equal round
#: trips meet at equal instants: the order of simultaneous packets then decides which of them loses.
QUEUE_PART = 0.15
#: Largest ratio between the loss rates that is allowed. A fluid loses what one round trip's growth overshoots; packets
#: are lost in bursts.
LOSS_FACTOR = 4.0


def agreement(scenario: Scenario, answers: Sequence[Answer]) -> list[Agreement]:
    """Compare every fluid answer with the packet engine's.

    Parameters
    ----------
    scenario : Scenario
        Scenario that both ran.
    answers : sequence of Answer
        The answers of `compare`.

    Returns
    -------
    list of Agreement
        One for each metric of each fluid answer; none without the packet engine's.
    """
    answering = [answer for answer in answers if answer.applies]
    packet = answer_of("packet", answering)
    if packet is None:
        return []
    expected, why = _promised(scenario)
    waiting = max(scenario.buffer.packets, 1.0)
    rows = []
    for fluid in answering:
        if not fluid.name.startswith("fluid"):
            continue
        for metric in ("utilization", "loss_rate", "queue_mean_packets"):
            if metric not in packet.metrics or metric not in fluid.metrics:
                continue
            values = packet.metrics[metric].mean, fluid.metrics[metric].mean
            gap, allowed, of = _gap(metric, *values, waiting)
            within = None if gap is None else abs(gap) <= allowed
            rows.append(Agreement(fluid.name, metric, values, gap, allowed, of, within, expected, why))
    return rows


def _gap(
    metric: str, packet: float, fluid: float, waiting: float
) -> tuple[float | None, float, Literal["points", "buffers", "times"]]:
    """The gap, the largest gap allowed, and their unit."""
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
    waiting = scenario.buffer.packets
    if burst is None:
        return False, "no persistent flows"
    if waiting < burst:
        return (
            False,
            f"the buffer of {waiting:.0f} packets is less than {burst:.0f}, half of the fair window of the longest "
            f"flow",
        )
    return True, ""
