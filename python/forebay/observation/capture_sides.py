"""The order of two captures of the same packets: which of them was taken before the queue.

A packet comes to the place before the queue first, but clocks of two captures may differ. The evidence that needs no
common clock comes first. The time from data to its acknowledgment is longer at the earlier place, by the way between
the places there and back. Packets that are missing at one place were lost before it. A link spaces packets, so that
the place behind it sees no closer ones. At last, waits have a floor that an empty queue meets again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forebay.observation.capture_columns import bins_of, gaps_of
from forebay.observation.estimate import IntervalEstimate, Unknown
from forebay.observation.link_rate import link_rate
from forebay.observation.packet_timing import Bins, Gaps

if TYPE_CHECKING:
    from forebay._core import Captured, CapturedInterface, Crossed, Crossing

__all__ = ["UNORDERED", "Packets", "Side", "in_order", "packets_of", "two_sides"]

#: Why two captures have no order.
UNORDERED = "nothing tells which of the two captures was taken before the queue"
#: Share of two captures' time that both cover, from which on they are two sides of a queue.
_OVERLAP = 0.5
#: Windows with an answer that a stream has at each place.
_FEWEST = 3
#: Difference of two times of answers that a clock of whole microseconds does not make, in nanoseconds.
_LEAST_NS = 1_000.0
#: Share of the evidence of all streams that one order has.
_AGREED = 0.9
#: Ratio of the two rates from which on one link is slower.
_SLOWER = 1.1
#: Share of the range of all waits within which a window touches an end of it; the share of windows that touch the floor
#: of waits; and how many times as many they are as those that touch the other end.
_TOUCH, _OFTEN, _MORE = 0.01, 0.1, 5.0
#: Windows with waits, and ticks of the clock in their range.
_WINDOWS, _TICKS = 20, 10.0


@dataclass(frozen=True)
class Packets:
    """The packets of one direction of an interface over time."""

    load: Bins
    gaps: Gaps

    @cached_property
    def rate(self) -> IntervalEstimate | Unknown:
        """The rate of the link whose packets are here back to back, in bit/s."""
        return link_rate(self.gaps, self.load)


@dataclass(frozen=True)
class Side:
    """One of two captures: the columns of its interface, and the packets of its busiest direction."""

    interface: CapturedInterface
    packets: Packets

    @property
    def rate(self) -> IntervalEstimate | Unknown:
        """The rate of the link whose packets it shows back to back, in bit/s."""
        return self.packets.rate

    @property
    def count(self) -> int:
        """Packets of its busiest direction."""
        return self.interface["directions"][0]["total"][0]

    @property
    def nanoseconds(self) -> int:
        """Time from its first packet to its last."""
        between = self.interface["directions"][0]["between_ns"]
        return 0 if between is None else between[1] - between[0]


def two_sides(captured: Captured) -> tuple[Side, Side] | None:
    """The interfaces of two files of the same time, the one with more packets first; None if there are no two."""
    used = [each for each in captured["interfaces"] if each["directions"][0]["between_ns"] is not None]
    if captured["queue"] is not None or len(used) != 2 or used[0]["file"] == used[1]["file"]:
        return None
    spans = [each["directions"][0]["between_ns"] for each in used]
    assert spans[0] is not None
    assert spans[1] is not None
    both = min(spans[0][1], spans[1][1]) - max(spans[0][0], spans[1][0])
    longest = max(span[1] - span[0] for span in spans if span is not None)
    if both <= _OVERLAP * longest:
        return None
    first, second = sorted((Side(each, packets_of(each)) for each in used), key=lambda side: -side.count)
    return first, second


def packets_of(interface: CapturedInterface) -> Packets:
    """The packets of the busiest direction of an interface."""
    direction = interface["directions"][0]
    return Packets(bins_of(direction), gaps_of(direction))


def in_order(first: Side, second: Side, crossed: Callable[[], Crossed]) -> tuple[Side, Side] | None:
    """Two sides of a queue, the one before it first; None if nothing tells.

    Parameters
    ----------
    first, second : Side
        In any order.
    crossed : callable
        Reads the captures again, with `first` before the queue and `second` behind it.
    """
    for tells in (_by_answers, _by_losses, _by_rates):
        is_first = tells(first, second)
        if is_first is not None:
            return (first, second) if is_first else (second, first)
    tick_ns = max(side.interface["directions"][0]["tick_ns"] for side in (first, second))
    is_first = _by_waits(crossed()["directions"][0], tick_ns)
    if is_first is None:
        return None
    return (first, second) if is_first else (second, first)


def _by_answers(one: Side, other: Side) -> bool | None:
    """Whether `one` is before the queue, by the times from data to acknowledgments; None where they do not tell."""
    mine, theirs = _answers(one.interface), _answers(other.interface)
    both = mine.keys() & theirs.keys()
    later = {path: mine[path][0] - theirs[path][0] for path in both}
    weighed = [
        (later[path], min(mine[path][1], theirs[path][1])) for path in sorted(both) if abs(later[path]) > _LEAST_NS
    ]
    before = sum(difference * count for difference, count in weighed if difference > 0)
    behind = sum(-difference * count for difference, count in weighed if difference < 0)
    if not weighed or max(before, behind) < _AGREED * (before + behind):
        return None
    return before > behind


def _answers(interface: CapturedInterface) -> dict[int, tuple[float, int]]:
    """Mean over windows of the least time from data to its acknowledgment, and windows, of streams by their paths."""
    table: dict[str, Any] = interface["directions"][0]["streams"]["long"]
    windows = table["windows"]
    times = windows["behind_least_ns"].astype(float)
    finite = np.isfinite(times)
    rows, count = windows["stream"].astype(int)[finite], len(table["connection"])
    sums = np.bincount(rows, weights=times[finite], minlength=count)
    counts = np.bincount(rows, minlength=count)
    return {
        int(table["path"][row]): (float(sums[row] / counts[row]), int(counts[row]))
        for row in np.flatnonzero(counts >= _FEWEST)
    }


def _by_losses(one: Side, other: Side) -> bool | None:
    """Whether `one` is before the queue, because more packets are missing at `other` than one of them lasts longer."""
    longest = max(one.nanoseconds, other.nanoseconds, 1)
    more = max(one.count, other.count)
    aside = more * abs(one.nanoseconds - other.nanoseconds) / longest
    if abs(one.count - other.count) <= aside:
        return None
    return one.count > other.count


def _by_rates(one: Side, other: Side) -> bool | None:
    """Whether `one` is before the queue, because packets come closer to each other there than at `other`."""
    if not isinstance(one.rate, IntervalEstimate) or not isinstance(other.rate, IntervalEstimate):
        return None
    if max(one.rate.value, other.rate.value) < _SLOWER * min(one.rate.value, other.rate.value):
        return None
    return one.rate.value > other.rate.value


def _by_waits(crossing: Crossing, tick_ns: float) -> bool | None:
    """Whether packets pass a queue in the order of this crossing, because their waits have a floor and no ceiling.

    Parameters
    ----------
    crossing : Crossing
        The crossing of the data's direction; its waits are negative if the order is the opposite or the clocks differ.
    tick_ns : float
        Tick of the coarser clock.
    """
    least, most = (_finite(crossing["windows"][name]) for name in ("wait_least_ns", "wait_most_ns"))
    if len(least) < _WINDOWS:
        return None
    low, high = float(least.min()), float(most.max())
    if high - low <= _TICKS * max(tick_ns, 1.0):
        return None
    near = max(_TOUCH * (high - low), tick_ns)
    floor, ceiling = float(np.mean(least <= low + near)), float(np.mean(most >= high - near))
    if max(floor, ceiling) < _OFTEN or max(floor, ceiling) < _MORE * min(floor, ceiling):
        return None
    return floor > ceiling


def _finite(column: NDArray[Any]) -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = column.astype(float)
    return numbers[np.isfinite(numbers)]
