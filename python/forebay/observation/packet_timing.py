"""Packets of one direction over time: the gaps between them, and their bytes in bins of equal width.

The reader of captures fills both. The stages of link rate, load and round trips read them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forebay.observation.streams import rates_over

__all__ = [
    "FEWEST_GAPS",
    "NOT_FULL",
    "PACKETS_AT_ONCE",
    "PACKETS_PER_WINDOW",
    "STANDS_STILL",
    "Bins",
    "Gaps",
    "is_idle_at_times",
]

#: Fewest gaps from which a number is taken.
FEWEST_GAPS = 20
#: Share of gaps without a length from which on the clock stands still between packets, and of the others the share
#: that is shorter than its step at most.
STANDS_STILL, _SHORTER = 0.02, 0.05
#: Packets of a rate in a window of load, and packets that make a link full for a moment.
PACKETS_PER_WINDOW, PACKETS_AT_ONCE = 100, 30
#: From which share of the rate on a window counts as busy.
_BUSY = 0.97
#: Share of time that a link is idle for whose queue empties.
_IDLE = 0.005
#: Packets in a stretch that may be quiet, and up to which load it is.
_STRETCH, _QUIET = 12.0, 0.5
#: Up to which load a stretch was not full: one packet may be at its edge, and one is missing.
NOT_FULL = 1.0 - 2.0 / _STRETCH


@dataclass(frozen=True)
class Gaps:
    """A histogram of the times between packets that followed one another.

    Attributes
    ----------
    before, after : array of float
        Bytes of the packet before the gap and of the one after it.
    seconds : array of float
        The gap; never below 0.
    widths_s : array of float
        How wide the bin is in whose middle the gap is told.
    counts : array of float
        How often it was seen.
    tick_s : float
        The tick of the clock that stamps packets; 0 where it is too fine to matter.
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    seconds: NDArray[np.float64]
    widths_s: NDArray[np.float64]
    counts: NDArray[np.float64]
    tick_s: float = 0.0

    @property
    def resolution_s(self) -> float:
        """The least time between two packets that the clock tells apart.

        That is its tick, or its step where it stands still between packets and then goes on by more.
        """
        total = float(self.counts.sum())
        moves = self.seconds > 0.0
        still = float(self.counts[~moves].sum())
        if total - still < FEWEST_GAPS or still < STANDS_STILL * total:
            return self.tick_s
        order = np.argsort(self.seconds[moves])
        below = np.cumsum(self.counts[moves][order]) / float(self.counts[moves].sum())
        return max(self.tick_s, float(self.seconds[moves][order][np.searchsorted(below, _SHORTER)]))


@dataclass(frozen=True)
class Bins:
    """Bytes and packets in bins of equal width, from the first packet on."""

    width_s: float
    bytes: NDArray[np.float64]
    packets: NDArray[np.float64]

    @property
    def seconds(self) -> float:
        """The time that the bins cover."""
        return self.width_s * len(self.bytes)

    @property
    def packet_bits(self) -> float:
        """Mean size of a packet in bits; that of 1,500 bytes if there is none."""
        packets = float(self.packets.sum())
        return float(self.bytes.sum()) * 8.0 / packets if packets else 12_000.0

    def over(self, seconds: float) -> NDArray[np.float64]:
        """Bits per second in windows of about this length, whole bins each; the rest of a last one is left out."""
        return rates_over(self.bytes, self.width_s, seconds)

    def window_s(self, rate_bps: float) -> float:
        """The time that a hundred packets take at a rate, in seconds."""
        return max(self.width_s, PACKETS_PER_WINDOW * self.packet_bits / rate_bps)

    def busy_share(self, rate_bps: float) -> float:
        """Share of time in which the link was as good as full, over windows of a hundred packets of its rate."""
        loads = self.over(self.window_s(rate_bps))
        return float(np.mean(loads >= _BUSY * rate_bps)) if len(loads) else 0.0

    def full_times(self, rate_bps: float) -> NDArray[np.float64]:
        """When the link was full for some thirty packets, in seconds from the first bin on."""
        seconds = max(self.width_s, self.window_s(rate_bps) * PACKETS_AT_ONCE / PACKETS_PER_WINDOW)
        loads = self.over(seconds)
        each = max(1, min(round(seconds / self.width_s), len(self.bytes))) * self.width_s
        return np.flatnonzero(loads >= _BUSY * rate_bps).astype(np.float64) * each + each / 2

    def quiet_stretches(self, rate_bps: float, most: float = _QUIET) -> tuple[float, NDArray[np.bool_]]:
        """How long stretches of the load are, in seconds, and of each whether next to nothing waited in it.

        A stretch has a dozen packets of the rate. Where it is half empty, and so is the one before, what it held waited
        for less than a packet on average (M/D/1 at half load), and an older queue has drained. With `most` the share of
        the rate that leaves a stretch quiet is another one: below `NOT_FULL` a packet or two of it were missing, which
        a queue behind which something waited would have sent.
        """
        each = max(1, math.ceil(_STRETCH * self.packet_bits / rate_bps / self.width_s))
        count = -(-len(self.bytes) // each)
        padded = np.zeros(count * each)
        padded[: len(self.bytes)] = self.bytes
        half = padded.reshape(count, each).sum(axis=1) * 8.0 <= most * rate_bps * each * self.width_s
        half[1:] &= half[:-1].copy()
        return each * self.width_s, half


def is_idle_at_times(mean_bps: float, rate_bps: float) -> bool:
    """Whether the queue must have emptied: the load is below the rate by `_IDLE`; rates are known to half of that."""
    return mean_bps < (1.0 - _IDLE) * rate_bps
