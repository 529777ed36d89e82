"""Load over time from records, which state only the number of bytes between two instants.

Each record's bytes are spread evenly over its duration. Averages over the exporter's active timeout and longer are
right; finer detail in the series comes from the even spread and is no measurement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SpreadSum", "width_for"]

#: Widths of bins in seconds, and the most bins.
WIDTHS = (1, 5, 10, 30, 60, 300, 900, 1800, 3600, 14400, 86400, 604800)
MOST_BINS = 2**20


def width_for(first_s: float, last_s: float) -> float:
    """The narrowest width of bins of which not too many cover a time."""
    span = last_s - first_s
    return float(next((width for width in WIDTHS if span / width < MOST_BINS - 1), span / (MOST_BINS - 2)))


class SpreadSum:
    """A sum over bins to which amounts are added that are spread over intervals.

    Parameters
    ----------
    first_s, last_s : float
        The limits of all intervals.
    width_s : float
        Width of a bin.
    """

    def __init__(self, first_s: float, last_s: float, width_s: float) -> None:
        self._first = first_s
        self._width = width_s
        self._bins = int((last_s - first_s) / width_s) + 1
        assert self._bins <= MOST_BINS, f"a width for so long a time: {last_s - first_s} s"
        self._here = np.zeros(self._bins)
        self._onward = np.zeros(self._bins)

    def add(self, start_s: NDArray[np.float64], end_s: NDArray[np.float64], amount: NDArray[np.float64]) -> None:
        """Spread amounts evenly from their starts to their ends; all at once where both are the same."""
        starts, ends = self._bin(start_s), self._bin(end_s)
        inside = starts == ends
        self._here += np.bincount(starts[inside], amount[inside], self._here.size)
        across = ~inside
        begin, end, starts, ends, amount = (each[across] for each in (start_s, end_s, starts, ends, amount))
        lasting = end - begin
        # Shares of the amount, never differences of rates: an interval far shorter than a bin has a rate without
        # bound, and what two of its ends leave over would be all rounding.
        first = amount * np.clip((self._edge(starts + 1) - begin) / lasting, 0.0, 1.0)
        whole = amount * np.minimum(self._width / lasting, 1.0) * (ends - starts > 1)
        last = amount - first - whole * (ends - starts - 1)
        self._here += np.bincount(starts, first, self._here.size)
        self._here += np.bincount(ends, last, self._here.size)
        self._onward += np.bincount(starts + 1, whole, self._onward.size)
        self._onward -= np.bincount(ends, whole, self._onward.size)

    def _edge(self, bins: NDArray[np.int64]) -> NDArray[np.float64]:
        """When bins begin."""
        return self._first + self._width * bins.astype(np.float64)

    def _bin(self, instants: NDArray[np.float64]) -> NDArray[np.int64]:
        found = ((instants - self._first) / self._width).astype(np.int64)
        found -= self._edge(found) > instants  # a quotient may be rounded up to the next bin
        return np.clip(found, 0, self._bins - 1)

    def sums(self) -> NDArray[np.float64]:
        """The amount in each bin, never below zero."""
        return np.maximum(self._here + np.cumsum(self._onward), 0.0)
