"""Counters that wrap and start over, as amounts between polls.

A counter of 32 bits that goes back has wrapped if what it then counted is no more than it can have counted; else, and
where it has 64 bits, its device has restarted, and what came in that interval is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Counted", "counted", "is_per_interval"]

#: How many times the largest ordinary amount a wrapped one may be, where no rate bounds it.
ORDINARY = 4.0
#: Share of rows below their predecessor from which on a column counts each row separately.
FALLING = 0.25


@dataclass(frozen=True, slots=True)
class Counted:
    """Amounts of one counter.

    Attributes
    ----------
    times_s : ndarray
        Instants of the polls.
    total : ndarray
        Counted since the first poll, at each of them.
    broken : ndarray
        For each interval: whether the device restarted in it. Its amount is then unknown and counts as zero.
    wraps : int
        How often the counter wrapped.
    """

    times_s: NDArray[np.float64]
    total: NDArray[np.float64]
    broken: NDArray[np.bool_]
    wraps: int

    def at(self, instants: NDArray[np.float64]) -> NDArray[np.float64]:
        """Counted until other instants, evenly between polls."""
        return np.interp(instants, self.times_s, self.total)

    def breaks(self, instants: NDArray[np.float64]) -> NDArray[np.bool_]:
        """For each interval between other instants: whether it lies outside the polls or touches a broken interval."""
        found: NDArray[np.bool_] = (instants[:-1] < self.times_s[0]) | (instants[1:] > self.times_s[-1])
        for start, end in zip(self.times_s[:-1][self.broken], self.times_s[1:][self.broken], strict=True):
            found |= (instants[:-1] < end) & (instants[1:] > start)
        return found


def is_per_interval(readings: Sequence[tuple[float, float]]) -> bool:
    """Whether a column is no counter but says the amount of each interval."""
    values = np.array([float(value) for _, value in readings])
    falls = int((np.diff(values) < 0).sum())
    return falls >= 2 and falls >= FALLING * (values.size - 1)


def counted(
    readings: Sequence[tuple[float, float]], bits: int | None, most_per_s: float | None, restarts: Sequence[float] = ()
) -> Counted:
    """Amounts of a counter.

    Parameters
    ----------
    readings : sequence of pairs
        Instants in seconds and values, in order of time, at least two.
    bits : int or None
        Its width; None where it is not known, and 32 is tried if no value has more.
    most_per_s : float or None
        The most that it can count in a second.
    restarts : sequence of float
        Instants of polls before which the device restarted, by its uptime.
    """
    times = np.array([instant for instant, _ in readings])
    values = [value for _, value in readings]
    # Whole numbers are subtracted as such: 64 bits are more than a float has.
    steps = np.array([float(after - before) for before, after in pairwise(values)])
    seconds = np.diff(times)
    narrow = bits == 32 or (bits is None and max(values) < 2**32)
    broken = np.isin(times[1:], np.asarray(restarts, dtype=np.float64))
    wrapped = steps + 2.0**32
    if most_per_s is not None:
        most = most_per_s * seconds
    else:
        ordinary = (steps / seconds)[(steps >= 0) & ~broken]
        most = ORDINARY * ordinary.max(initial=0.0) * seconds if ordinary.any() else np.full(seconds.size, 2.0**31)
    back = (steps < 0) & ~broken
    wraps = back & (wrapped <= most) & narrow
    broken |= back & ~wraps
    amounts = np.where(wraps, wrapped, steps)
    amounts[broken] = 0.0
    return Counted(times, np.concatenate([[0.0], np.cumsum(amounts)]), broken, int(wraps.sum()))
