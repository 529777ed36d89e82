"""Values of a curve between two measured buffers.

Searches and views ask it about buffers that were not simulated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from forebay.results.report import Estimate
from forebay.search.answer_parts import CurvePoint, Metrics
from forebay.search.value import Quantity

__all__ = ["neighbors", "on_curve", "point_between", "share_between"]


def neighbors(measured: Iterable[int], packets: int) -> tuple[int, int] | None:
    """The nearest measured buffers below and above one; None where it lies outside of all of them."""
    measured = list(measured)
    low = max((at for at in measured if at < packets), default=None)
    high = min((at for at in measured if at > packets), default=None)
    return None if low is None or high is None else (low, high)


def share_between(low: float, high: float, packets: float) -> float:
    """The position of a buffer between two others on a logarithmic scale, from 0 to 1."""
    return math.log(packets / low) / math.log(high / low)


def point_between(low: CurvePoint, high: CurvePoint, buffer: Quantity) -> CurvePoint:
    """The point on the line between two measured buffers; it has no interval and no replication."""
    share = share_between(low.buffer.place, high.buffer.place, buffer.place)
    groups = {
        name: _between(metrics, high.groups[name], share) for name, metrics in low.groups.items() if name in high.groups
    }
    return CurvePoint(buffer, 0, _between(low.metrics, high.metrics, share), groups)


def on_curve(points: Sequence[CurvePoint], buffer: Quantity) -> CurvePoint | None:
    """The measured point at a buffer, or the point on the line between its neighbors; None beyond all of them."""
    known = {round(point.buffer.place): point for point in points}
    packets = round(buffer.place)
    if packets in known:
        return known[packets]
    ends = neighbors(known, packets)
    return None if ends is None else point_between(known[ends[0]], known[ends[1]], buffer)


def _between(low: Metrics, high: Metrics, share: float) -> Mapping[str, Estimate]:
    found = {}
    for name, one in low.items():
        other = high.get(name)
        if other is not None:
            found[name] = Estimate(one.mean + share * (other.mean - one.mean))
    return found
