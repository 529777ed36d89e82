"""Load over time out of records, which say only that so many bytes came between two instants.

Each record's bytes are spread evenly over its duration. Averages over the exporter's active timeout and longer are
right; what is finer in the series is the even spread and no measurement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Smear", "width_for"]

#: Widths of bins in seconds, and the most bins.
WIDTHS = (1, 5, 10, 30, 60, 300, 900, 1800, 3600, 14400, 86400, 604800)
MOST_BINS = 2**20


def width_for(first_s: float, last_s: float) -> float:
    """The narrowest width of bins of which not too many cover a time."""
    span = last_s - first_s
    return float(next((width for width in WIDTHS if span / width < MOST_BINS - 1), span / (MOST_BINS - 2)))


class Smear:
    """A sum over bins to which amounts are added that are spread over intervals.

    Parameters
    ----------
    first_s, last_s : float
        No interval lies outside.
    width_s : float
        Of a bin.
    """

    def __init__(self, first_s: float, last_s: float, width_s: float) -> None:
        self._first = first_s
        self._width = width_s
        self._bins = int((last_s - first_s) / width_s) + 1
        assert self._bins <= MOST_BINS, f"a width for so long a time: {last_s - first_s} s"
        # One bin more, for what an interval that ends in the last bin takes back behind it.
        self._here = np.zeros(self._bins + 1)
        self._onward = np.zeros(self._bins + 1)

    def add(self, start_s: NDArray[np.float64], end_s: NDArray[np.float64], amount: NDArray[np.float64]) -> None:
        """Spread amounts evenly from their starts to their ends; all at once where both are the same."""
        starts, ends = self._bin(start_s), self._bin(end_s)
        inside = starts == ends
        self._here += np.bincount(starts[inside], amount[inside], self._here.size)
        across = ~inside
        slope = amount[across] / (end_s - start_s)[across]
        for instants, bins, sign in ((start_s, starts, 1.0), (end_s, ends, -1.0)):
            at = bins[across]
            # A slope that begins here adds the rest of this bin, and a whole width in every later one.
            rest = self._first + (at + 1) * self._width - instants[across]
            self._here += np.bincount(at, sign * slope * rest, self._here.size)
            self._onward += np.bincount(at + 1, sign * slope * self._width, self._onward.size)

    def _bin(self, instants: NDArray[np.float64]) -> NDArray[np.int64]:
        found = ((instants - self._first) / self._width).astype(np.int64)
        return np.clip(found, 0, self._bins - 1)

    def sums(self) -> NDArray[np.float64]:
        """The amount in each bin, never below zero."""
        return np.maximum(self._here + np.cumsum(self._onward), 0.0)[: self._bins]
