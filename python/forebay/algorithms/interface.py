"""The base classes of algorithms that users write: the methods that the packet engine calls.

Windows are in packets, as real numbers. The packet engine repairs losses, sets timers and sends. An algorithm decides
only the window and the rate, or which packets wait and leave.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any, ClassVar

from forebay._core import Ack, CongestionEvent, Idle, Link, QueuePacket, Random, Sample

__all__ = ["CongestionControl", "QueueDiscipline", "parameter"]

#: The smallest slow-start threshold after a reduction, in packets (RFC 5681, equation 4).
MIN_SSTHRESH = 2.0
#: Key of the declaration of a parameter in the metadata of its field.
DECLARED = "forebay"


def parameter(
    default: Any,
    *,
    meaning: str = "",
    least: float | None = None,
    most: float | None = None,
    unit: str = "",
) -> Any:
    """Declare a parameter of an algorithm, as the default of a dataclass field.

    Parameters
    ----------
    default : float, bool or str
        The default: a number, a truth, or a quantity with the unit, such as "5ms".
    meaning : str
        Noun phrase for errors and `explain`.
    least, most : float, optional
        Smallest and largest number.
    unit : {"", "time", "bytes", "rate"}
        Kind of a quantity. The object gets seconds, bytes or bits per second.

    Returns
    -------
    dataclasses.Field
    """
    declared = {"meaning": meaning, "least": least, "most": most, "unit": unit, "default": default}
    return dataclasses.field(default=default, metadata={DECLARED: declared})


class CongestionControl:
    """The congestion control of one flow.

    Attributes
    ----------
    cwnd, ssthresh : float
        Congestion window and slow-start threshold, in packets. The engine sets both before each call and takes both
        after it.
    payload : int
        Bytes of data in a full packet, from `on_open` on.
    random : Random
        Random stream of this flow.
    ecn : {"classic", "scalable"}
        "classic" reacts to at most one mark per round trip (RFC 3168); "scalable" gets the count of marks in
        `on_sample`, as DCTCP.
    delivery_rate : bool
        Whether samples have delivery rates, as BBR uses them.
    own_recovery : bool
        Whether the algorithm sets the window during loss recovery, too.
    """

    ecn: ClassVar[str] = "classic"
    delivery_rate: ClassVar[bool] = False
    own_recovery: ClassVar[bool] = False

    cwnd = 1.0
    ssthresh = math.inf
    payload = 1
    random: Random

    def on_open(self, payload: int) -> None:
        """The connection opens.

        Parameters
        ----------
        payload : int
            Bytes of data in a full packet.
        """
        self.payload = payload

    def on_ack(self, ack: Ack) -> None:
        """New data was acknowledged, while the window limits the sender and no loss is under repair."""

    def on_sample(self, sample: Sample) -> None:
        """Any acknowledgment arrived, also during loss recovery. Called only if a class has this method."""

    def on_congestion_event(self, event: CongestionEvent) -> None:
        """A loss or a mark: reduce the window once."""
        raise NotImplementedError

    def on_timeout(self, event: CongestionEvent) -> None:
        """A retransmission timeout. By default the window restarts from one packet (RFC 5681, section 3.1)."""
        self.on_congestion_event(event)
        self.cwnd = 1.0

    def on_idle(self, idle: Idle) -> None:
        """The application sends again after nothing was in flight. By default RFC 5681, section 4.1, applies."""
        if idle.restart_window is not None:
            self.cwnd = min(self.cwnd, idle.restart_window)

    def on_undo(self, before: Any) -> None:
        """The last timeout was spurious; the engine restores the window.

        Parameters
        ----------
        before : object
            A copy of this object before the timeout.
        """

    def window(self) -> float:
        """The congestion window, in packets. The engine uses one packet if it is smaller."""
        return self.cwnd

    def pacing_rate(self) -> float | None:
        """The rate of data in bits per second; None if acknowledgments clock the packets."""
        return None

    def recovery_floor(self) -> float:
        """The window below which rate halving takes nothing more away in recovery, in packets (Linux up to 3.4)."""
        return 0.5 * self.ssthresh

    def slow_start(self, acked: float) -> float:
        """Grow the window in slow start (RFC 5681, section 3.1); the packets beyond the threshold are returned.

        At or above the threshold, the window stays as it is, and all packets are returned.
        """
        if self.cwnd >= self.ssthresh:
            return acked
        grown = self.cwnd + acked
        if grown <= self.ssthresh:
            self.cwnd = grown
            return 0.0
        rest = grown - self.ssthresh
        self.cwnd = self.ssthresh
        return rest

    def reduce(self, ssthresh: float) -> None:
        """Reduce window and threshold to this number of packets, at least two (RFC 5681, equation 4)."""
        self.ssthresh = max(ssthresh, MIN_SSTHRESH)
        self.cwnd = self.ssthresh

    def __copy__(self) -> Any:
        """A copy whose lists and dictionaries are its own."""
        made = object.__new__(type(self))
        for name, value in vars(self).items():
            setattr(made, name, copy.copy(value) if isinstance(value, list | dict | set) else value)
        return made


class QueueDiscipline:
    """The queue discipline of one link.

    Attributes
    ----------
    link : Link
        Rate and buffer of the link.
    now_ps : int
        Present time in picoseconds, without rounding.
    idle : bool
        Whether the link is idle: an arrival then leaves at once.
    backlog_packets, backlog_bytes : int
        Packets and bytes that wait.
    """

    link: Link
    now_ps = 0
    idle = True
    backlog_packets = 0
    backlog_bytes = 0
    _dropped: list[QueuePacket]

    def enqueue(self, packet: QueuePacket, now: float, random: Random) -> bool | None:
        """A packet arrives.

        Parameters
        ----------
        packet : QueuePacket
        now : float
            Time in seconds.
        random : Random
            Random stream of the link.

        Returns
        -------
        bool or None
            False if the packet is dropped.
        """
        raise NotImplementedError

    def dequeue(self, now: float, random: Random) -> QueuePacket | None:
        """The link is free: return the packet to transmit next; None only if nothing waits."""
        raise NotImplementedError

    def backlog(self) -> tuple[int, int]:
        """The packets and bytes that wait."""
        return self.backlog_packets, self.backlog_bytes

    def drop(self, packet: QueuePacket) -> None:
        """Drop a packet that arrives or waits."""
        self._dropped.append(packet)

    def fits(self, packet: QueuePacket) -> bool:
        """Whether the buffer has room for an arriving packet. It always has if the link is idle."""
        if self.idle:
            return True
        if self.link.limit_packets is not None:
            return self.backlog_packets < self.link.limit_packets
        assert self.link.limit_bytes is not None, "one of both limits the buffer"
        return self.backlog_bytes + packet.size <= self.link.limit_bytes
