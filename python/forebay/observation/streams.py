"""One direction of a connection with data in it, as a capture has seen it: what all estimates of flows rest on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

__all__ = ["Front", "Place", "Reductions", "Sender", "Stream", "Visits", "Windows", "rates_over"]


def rates_over(bytes_: NDArray[np.float64], width_s: float, seconds: float) -> NDArray[np.float64]:
    """Rates in bit/s from bytes in bins of equal width, in windows of about `seconds`.

    Windows have whole bins, one at least; an incomplete last window is left out.
    """
    bins = max(1, min(round(seconds / width_s), len(bytes_)))
    whole = len(bytes_) // bins * bins
    sums: NDArray[np.float64] = bytes_[:whole].reshape(-1, bins).sum(axis=1)
    return sums * 8.0 / (bins * width_s)


class Place(Enum):
    """The side of the link's queue on which a capture was taken."""

    BEHIND = "behind the queue"
    BEFORE = "before the queue"


@dataclass(frozen=True)
class Windows:
    """A stream over time, in windows of equal width; NaN if a window has no value.

    Attributes
    ----------
    start_s, width_s : float
        Beginning of the first window, in seconds of the capture, and length of each window.
    bytes, packets : array
        IP bytes and IP packets.
    flight_bytes : array
        Largest number of bytes in flight, not yet acknowledged.
    repeated, filled : array
        Bytes that were seen before, and that fill a gap of the sequence.
    marked : array
        Packets that bear a mark.
    downstream_rtt_s, upstream_rtt_s : array
        Least time from data to its acknowledgment, and from an acknowledgment to the data that it released.
    max_downstream_rtt_s : array
        Largest time from data to its acknowledgment.
    receive_window_bytes : array
        Smallest window of the receiver.
    """

    start_s: float
    width_s: float
    bytes: NDArray[np.float64]
    packets: NDArray[np.float64]
    flight_bytes: NDArray[np.float64]
    repeated: NDArray[np.float64]
    filled: NDArray[np.float64]
    marked: NDArray[np.float64]
    downstream_rtt_s: NDArray[np.float64]
    upstream_rtt_s: NDArray[np.float64]
    max_downstream_rtt_s: NDArray[np.float64]
    receive_window_bytes: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.bytes)

    @property
    def times_s(self) -> NDArray[np.float64]:
        """When each window begins."""
        return self.start_s + self.width_s * np.arange(len(self), dtype=np.float64)

    def rates_over(self, seconds: float) -> NDArray[np.float64]:
        """Bits per second in windows of about this length; the rest of a last one is left out."""
        return rates_over(self.bytes, self.width_s, seconds)


@dataclass(frozen=True)
class Front:
    """A stream that was captured behind the queue, as the capture before the queue shows it.

    Attributes
    ----------
    upstream_rtt_s : float or None
        Least time there from an acknowledgment to the data that it released.
    upstream_samples : int
        Number of these times.
    befores_s : array
        The least of each window of time that has one.
    handshake_upstream_rtt_s : float or None
        The same time of its handshake.
    dropped, marked : int
        Packets that came to the queue and did not come out, and packets that came out with a mark.
    """

    upstream_rtt_s: float | None
    upstream_samples: int
    befores_s: NDArray[np.float64]
    handshake_upstream_rtt_s: float | None
    dropped: int
    marked: int


@dataclass(frozen=True)
class Reductions:
    """Events at which a sender reduces its window: losses that it repairs, marks that it answers.

    Attributes
    ----------
    times_s, repaired_s : array
        When each showed, and when all that was on its way then had been acknowledged.
    before_bytes, earlier_bytes : array
        Most that was outstanding in the last full round trip before, and in the one before that; 0 if unknown.
    after_bytes, later_bytes : array
        The same of the first and the second one behind its repair.
    rounds : array
        Full round trips since the one before.
    silence_s : array
        Longest time without a packet until it was repaired.
    """

    times_s: NDArray[np.float64]
    repaired_s: NDArray[np.float64]
    before_bytes: NDArray[np.float64]
    earlier_bytes: NDArray[np.float64]
    after_bytes: NDArray[np.float64]
    later_bytes: NDArray[np.float64]
    rounds: NDArray[np.float64]
    silence_s: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.times_s)


@dataclass(frozen=True)
class Visits:
    """Times with no more than four segments outstanding, of senders that had eight and more.

    Attributes
    ----------
    times_s, lengths_s : array
        When each began and how long it was.
    former_bytes, regained_bytes : array
        Most that was outstanding in the round trip before, and in the first three behind.
    silence_s : array
        Longest time without a packet on the way down and within.
    """

    times_s: NDArray[np.float64]
    lengths_s: NDArray[np.float64]
    former_bytes: NDArray[np.float64]
    regained_bytes: NDArray[np.float64]
    silence_s: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.times_s)


@dataclass(frozen=True)
class Sender:
    """The window of a sender, round trip by round trip, as its echoes of timestamps tell.

    Attributes
    ----------
    reductions : Reductions
        Reductions of the window, in the order of time.
    visits : Visits
        Visits to a window of four segments, in the order of time.
    compared, fallen : int
        Round trips that follow another one and no reduction, and those of them whose window fell by a segment and 7 %.
    """

    reductions: Reductions
    visits: Visits
    compared: int
    fallen: int


@dataclass(frozen=True)
class Stream:
    """A direction of a connection.

    Attributes
    ----------
    number : int
        Number among all streams of the capture; it does not identify an endpoint.
    responsive : bool
        Whether the receiver acknowledges: TCP, or QUIC by its looks.
    start_s, end_s : float
        First and last packet, in seconds of the capture.
    packets, bytes, payload_bytes, distinct_bytes : int
        IP packets and bytes, payload, and payload without repetitions.
    segment_bytes : int
        Largest payload of a packet.
    packet_bytes : int
        Largest IP packet.
    repeated, filled, marked : int
        Packets whose data was seen before, that fill a gap of the sequence, and that bear a mark.
    losses_s : array
        Times of its loss events: losses within a round trip are one.
    downstream_rtt_s, upstream_rtt_s : float or None
        Least time from data to its acknowledgment, from an acknowledgment to the data that it released.
    downstream_samples, upstream_samples : int
        Numbers of these times.
    handshake_downstream_rtt_s, handshake_upstream_rtt_s : float or None
        Times of the handshake: from the SYN to its answer (to the receiver and back), and from the answer to its
        acknowledgment (to the sender and back).
    window_limited : float
        Share of time in which the receiver's window was as good as full; NaN if its scale was not seen.
    idle_share : float
        Share of time in which nothing was in flight.
    pauses : int
        Times longer than two round trips in which the sender had nothing to send.
    gap_variation : float
        Coefficient of variation of the times between its packets; NaN below three packets.
    ecn_capable : bool
        Whether its packets are ECN-capable.
    timestamps : bool
        Whether they bear timestamps (RFC 7323).
    began, ended : bool
        Whether its first and its last packet are in the capture.
    windows : Windows or None
        The stream over time; None for short streams.
    front : Front or None
        The stream before the queue; None if only one side of the queue was captured.
    sender : Sender or None
        The sender's window; None if timestamps do not tell it.
    of_data_s : float or None
        Least sum of both times of data, without handshakes; None if one of them is not known.
    data_downstream_rtt_s : float or None
        Least time from data to its acknowledgment, without handshakes.
    """

    number: int
    responsive: bool
    start_s: float
    end_s: float
    packets: int
    bytes: int
    payload_bytes: int
    distinct_bytes: int
    segment_bytes: int
    packet_bytes: int
    repeated: int
    filled: int
    marked: int
    losses_s: NDArray[np.float64]
    downstream_rtt_s: float | None
    upstream_rtt_s: float | None
    downstream_samples: int
    upstream_samples: int
    handshake_downstream_rtt_s: float | None
    handshake_upstream_rtt_s: float | None
    window_limited: float
    idle_share: float
    pauses: int
    gap_variation: float
    ecn_capable: bool
    timestamps: bool
    began: bool
    ended: bool
    windows: Windows | None
    front: Front | None = None
    sender: Sender | None = None
    of_data_s: float | None = None
    data_downstream_rtt_s: float | None = None

    @property
    def round_trips_s(self) -> NDArray[np.float64]:
        """Sums of the least times of both parts of the round trip, for each window that has seen both."""
        if self.windows is None:
            return np.empty(0)
        sums = self.windows.downstream_rtt_s + self.windows.upstream_rtt_s
        return sums[np.isfinite(sums)]

    @property
    def seconds(self) -> float:
        """Seconds from its first packet to its last."""
        return self.end_s - self.start_s

    @property
    def handshake_s(self) -> float | None:
        """From a SYN to the acknowledgment of its answer: a round trip and no waiting receiver."""
        parts = self.handshake_downstream_rtt_s, self.handshake_upstream_rtt_s
        return None if parts[0] is None or parts[1] is None else parts[0] + parts[1]

    @property
    def mean_bps(self) -> float:
        """Bits per second while it lived; of a single packet infinite time is none."""
        return self.bytes * 8.0 / self.seconds if self.seconds > 0 else 0.0

    def lost(self, place: Place) -> int:
        """Packets that were lost at a queue on whose given side the capture was taken.

        Behind the queue they were never seen, so that a repetition fills a gap; before it they are seen twice.
        With both sides they are counted.
        """
        if self.front is not None:
            return self.front.dropped
        return self.filled if place is Place.BEHIND else self.repeated
