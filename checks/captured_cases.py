"""Cases of `make captured`: a link, the sockets that send through it, and how they are captured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CASES", "Case"]

Flow = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """The traffic and the link of a case, and the way in which it is captured.

    Attributes
    ----------
    rate_bps, rtt_s : float
        Rate of the link, in bits per second, and round trip without queues, in seconds.
    buffer_bytes : float
        Size of the buffer, in bytes.
    flows : sequence of mapping
        Connections: their `controller`, and their data: endless, `bytes`, or writes of `write` bytes at `rate`.
    limits : sequence of str
        Limit of each connection: "link", "application" or "receiver".
    seconds : float
        Duration of the sending, in seconds.
    transfers : mapping or None
        Short transfers beside them: the number that begins `each_second`, and their `controller`.
    sysctls : mapping
        Settings of both hosts.
    snap : int
        Captured bytes of each packet.
    window : int
        Size of the receiver's socket buffer, in bytes; 0 for the kernel's own.
    gathered : bool
        Whether the sender is captured before its segments are cut to packets.
    """

    rate_bps: float
    rtt_s: float
    buffer_bytes: float
    flows: Sequence[Flow]
    limits: Sequence[str]
    seconds: float = 12.0
    transfers: Mapping[str, Any] | None = None
    sysctls: Mapping[str, str] = field(default_factory=dict)
    snap: int = 262_144
    window: int = 0
    gathered: bool = False

    @property
    def task(self) -> dict[str, Any]:
        """The task of the programs at both ends."""
        return {
            "seconds": self.seconds,
            "flows": list(self.flows),
            "transfers": self.transfers,
            "sysctls": dict(self.sysctls),
            "snap": self.snap,
            "window": self.window,
            "gathered": self.gathered,
        }

    @property
    def scenario(self) -> str:
        """The link as a scenario's text, between faster ones that hold packets for an eighth of the round trip each.

        Packets are recorded before the queue and after it, which is neither at the sender nor at the receiver.
        """
        aside = f'rate = "1Gbps"\nbuffer = "2000p"\ndelay = "{self.rtt_s * 1e6 / 8:.0f}us"\n'
        return (
            f'[[links]]\nname = "edge"\n{aside}'
            f'[[links]]\nname = "up"\nrate = "{self.rate_bps:.0f}bps"\nbuffer = "{self.buffer_bytes:.0f}B"\n'
            f'target = true\n[[links]]\nname = "last"\n{aside}'
            f'[[flows]]\nrtt = "{self.rtt_s * 1e3:g}ms"\npath = ["edge", "up", "last"]\n[run]\nmeasure = "1s"\n'
            f'[trace]\nrecord = ["packets"]\ncapture = "both"\nacknowledgments = true\n'
        )


def _case(rate_mbps: float, rtt_ms: float, bdp: float, controllers: str, **others: Any) -> Case:
    """Flows that the link limits."""
    names = controllers.split()
    rate, rtt = rate_mbps * 1e6, rtt_ms / 1e3
    flows = [{"controller": name} for name in names]
    return Case(rate, rtt, bdp * rate * rtt / 8, flows, ["link"] * len(names), **others)


_NO_TIMESTAMPS = {"net.ipv4.tcp_timestamps": "0"}
_NO_SACK = {"net.ipv4.tcp_sack": "0"}
_WRITES = {"controller": "cubic", "rate": 4e6, "write": 4000}

CASES: Mapping[str, Case] = {
    "1 cubic, 20 Mb/s, 1 BDP": _case(20, 40, 1.0, "cubic"),
    "1 reno, 10 Mb/s, 0.25 BDP": _case(10, 100, 0.25, "reno", seconds=20.0),
    "1 bbr, 50 Mb/s, 2 BDP": _case(50, 20, 2.0, "bbr", seconds=15.0),
    "4 cubic, 100 Mb/s, 0.5 BDP": _case(100, 10, 0.5, "cubic cubic cubic cubic"),
    "cubic, reno and bbr, 40 Mb/s": _case(40, 30, 1.0, "cubic reno bbr", seconds=15.0),
    "2 cubic, 10 Mb/s, 6 BDP": _case(10, 30, 6.0, "cubic cubic", seconds=15.0),
    "1 cubic, 50 Mb/s, 8 packets": Case(50e6, 0.05, 12_000.0, [{"controller": "cubic"}], ["link"]),
    "a cubic beside 4 Mb/s of an application": Case(
        20e6, 0.04, 100_000.0, [{"controller": "cubic"}, _WRITES], ["link", "application"]
    ),
    "an application alone": Case(
        50e6, 0.04, 250_000.0, [{"controller": "cubic", "rate": 8e6, "write": 20_000}], ["application"]
    ),
    "a cubic beside short transfers": _case(20, 40, 1.0, "cubic", transfers={"each_second": 20, "controller": "cubic"}),
    "a receiver of 64 kB": Case(50e6, 0.05, 312_500.0, [{"controller": "cubic"}], ["receiver"], window=65_536),
    "2 cubic without timestamps": _case(20, 40, 0.5, "cubic cubic", sysctls=_NO_TIMESTAMPS),
    "2 cubic without SACK": _case(20, 40, 0.5, "cubic cubic", sysctls=_NO_SACK),
    "2 reno without either": _case(20, 40, 0.5, "reno reno", sysctls={**_NO_SACK, **_NO_TIMESTAMPS}),
    "2 cubic, 96 bytes of each packet": _case(20, 40, 0.5, "cubic cubic", snap=96),
    "2 cubic, segments of 64 kB": _case(200, 20, 0.5, "cubic cubic", seconds=8.0, gathered=True),
}
