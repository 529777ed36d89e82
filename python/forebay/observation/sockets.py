"""A server's own sockets: what `ss -tin` says of each connection, its controller and what limits it.

The kernel's counters (`struct tcp_info`, Linux 4.10 and later: bytes_acked, busy, rwnd_limited, minrtt) are cumulative,
so several dumps of one time after another say what happened between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from forebay.errors import InputError
from forebay.observation.estimate import Unknown
from forebay.observation.socket_dumps import ALLOWED, Dump, Socket, dumps

__all__ = ["FEWEST_BYTES", "Change", "Sockets", "read_sockets"]

#: Share of its busy time in which one thing held a connection back, from which on it is limited by it.
MOSTLY = 0.5
#: Share of the time between two dumps in which a connection was busy, below which its application had nothing to send.
BUSY = 0.5
#: Seconds without sending after which a connection is idle.
IDLE_S = 1.0
#: Bytes from which on a connection has a rate and a share of retransmissions worth saying.
FEWEST_BYTES = 100_000


@dataclass(frozen=True)
class Change:
    """The activity of one connection: between two dumps if several contain it, otherwise since it began.

    Attributes
    ----------
    seconds : float or None
        Time between the dumps; None if they have no dates or only one contains the socket.
    acknowledged, sent, retransmitted : float or None
        Bytes acknowledged, sent and retransmitted.
    segments, segments_retransmitted : float or None
        Segments with data that were sent, and retransmissions.
    busy_s, receiver_s, buffer_s : float
        Seconds with data outstanding, and the parts of them in which the receiver's window or the sender's own buffer
        limited the connection.
    """

    seconds: float | None
    acknowledged: float | None
    sent: float | None
    retransmitted: float | None
    segments: float | None
    segments_retransmitted: float | None
    busy_s: float
    receiver_s: float
    buffer_s: float

    @property
    def rate_bps(self) -> float | None:
        """Mean rate in bit/s: over the time between dumps, else over the time in which it was busy."""
        seconds = self.seconds or self.busy_s
        return self.acknowledged * 8 / seconds if self.acknowledged is not None and seconds else None

    @property
    def retransmission_rate(self) -> float | None:
        """Retransmissions as a share of what was sent, by bytes where the kernel counts them, else by segments."""
        if self.sent:
            return (self.retransmitted or 0.0) / self.sent
        return (self.segments_retransmitted or 0.0) / self.segments if self.segments else None


@dataclass(frozen=True)
class Sockets:
    """The evaluated sockets of a server.

    Attributes
    ----------
    dumps : int
        Number of dumps.
    sockets : tuple of Socket
        The last state of each connection; addresses are not kept.
    changes : tuple of Change
        The activity of each connection.
    limits : tuple of str
        The limit of each connection: "application", "receiver", "sender's buffer" or "congestion".
    controllers : tuple of str
        Controllers as the kernel names them, the one with most connections first.
    unknown : tuple of Unknown
        Quantities that sockets cannot tell.
    notes : tuple of str
        Remarks on the input, one sentence each.
    ignored : mapping
        Names of unknown facts with their counts.
    """

    dumps: int
    sockets: tuple[Socket, ...]
    changes: tuple[Change, ...]
    limits: tuple[str, ...]
    controllers: tuple[str, ...]
    unknown: tuple[Unknown, ...]
    notes: tuple[str, ...]
    ignored: Mapping[str, int]


def read_sockets(text: str, where: str = "sockets") -> Sockets:
    """Read the output of `ss -tin`, `ss -tino` or `ss -tinem`, one dump or several one after another.

    Parameters
    ----------
    text : str
        With lines of dates between dumps or without.
    where : str
        Name of the input in errors.

    Raises
    ------
    InputError
        Where no connection is in it.
    """
    found, ignored = dumps(text)
    seen: dict[int, list[tuple[float | None, Socket]]] = {}
    for dump in found:
        for socket in dump.sockets:
            seen.setdefault(socket.number, []).append((dump.instant_s, socket))
    if not seen:
        raise InputError(f"{where}: found no connection; allowed: {ALLOWED}")
    sockets = tuple(each[-1][1] for each in seen.values())
    changes = tuple(_change(each) for each in seen.values())
    limits = tuple(map(_limit, sockets, changes))
    counts = Counter(each.controller for each in sockets)
    controllers = sorted(counts, key=lambda name: (counts[name], name))
    return Sockets(
        dumps=len(found),
        sockets=sockets,
        changes=changes,
        limits=limits,
        controllers=tuple(reversed(controllers)),
        unknown=_unknown(sockets, found),
        notes=_notes(sockets, found),
        ignored=ignored,
    )


def _change(seen: Sequence[tuple[float | None, Socket]]) -> Change:
    """The activity of a connection from its first dump to its last, or since it began if there is only one dump."""
    (begin, first), (end, last) = seen[0], seen[-1]
    alone = len(seen) == 1
    seconds = end - begin if not alone and begin is not None and end is not None and end > begin else None

    def between(of: Callable[[Socket], float | None]) -> float | None:
        before, after = (0.0 if alone else of(first)), of(last)
        # ss leaves out what is zero, as everything is when a connection begins.
        return None if after is None else max(0.0, after - (before or 0.0))

    return Change(
        seconds=seconds,
        acknowledged=between(lambda each: each.bytes_acked),
        sent=between(lambda each: each.bytes_sent),
        retransmitted=between(lambda each: None if each.bytes_sent is None else each.bytes_retrans or 0.0),
        segments=between(lambda each: each.data_segs_out),
        segments_retransmitted=between(lambda each: each.retransmitted or 0.0),
        busy_s=between(lambda each: each.busy_s or 0.0) or 0.0,
        receiver_s=between(lambda each: each.rwnd_limited_s or 0.0) or 0.0,
        buffer_s=between(lambda each: each.sndbuf_limited_s or 0.0) or 0.0,
    )


def _limit(socket: Socket, change: Change) -> str:
    """The limit of a connection most of the time; "congestion" if no other limit applies."""
    if change.busy_s > 0:
        if change.receiver_s >= MOSTLY * change.busy_s:
            return "receiver"
        if change.buffer_s >= MOSTLY * change.busy_s:
            return "sender's buffer"
    if change.seconds is not None and socket.busy_s is not None and change.busy_s < BUSY * change.seconds:
        return "application"
    if socket.app_limited or (change.seconds is None and _is_idle(socket)):
        return "application"
    return "congestion"


def _is_idle(socket: Socket) -> bool:
    """Whether a connection has nothing outstanding and has sent nothing for longer than a timeout."""
    if socket.lastsnd_s is None or socket.unacked:
        return False
    return socket.lastsnd_s > max(IDLE_S, 2 * (socket.rto_s or 0.0))


def _unknown(sockets: Sequence[Socket], found: Sequence[Dump]) -> tuple[Unknown, ...]:
    unknown = [
        Unknown("flows of other hosts", "only this host's sockets are here", "export flow records of the port"),
        Unknown("arrivals and sizes of transfers", "a dump shows what is open, not what came and went",
                "capture packets, or export flow records"),
    ]  # fmt: skip
    if all(each.minrtt_s is None for each in sockets):
        unknown.append(
            Unknown(
                "base round trips", "this kernel or `ss` prints no minrtt", "use iproute2 4.10 or later, or capture"
            )
        )
    if len(found) < 2:
        unknown.append(
            Unknown("rates over time", "there is one dump only", "run `date; ss -tin` every second for a minute")
        )
    elif all(each.instant_s is None for each in found):
        unknown.append(Unknown("rates between dumps", "dumps have no dates", "run `date; ss -tin` each time"))
    return tuple(unknown)


def _notes(sockets: Sequence[Socket], found: Sequence[Dump]) -> tuple[str, ...]:
    notes = []
    if any(each.minrtt_s is not None for each in sockets):
        notes.append("minrtt is the least of the last five minutes: a queue that never drains is in it")
    zero = sum(each.minrtt_s == 0 for each in sockets)
    if zero:
        notes.append(f"{zero} of {len(sockets)} sockets have a minrtt of zero, which no path has: it is left out")
    nameless = sum(each.controller == "unknown" for each in sockets)
    if nameless:
        notes.append(f"{nameless} of {len(sockets)} sockets do not say their controller")
    if len(found) > 1:
        notes.append(f"{len(found)} dumps are compared; a socket that is in one only counts since it began")
    return tuple(notes)
