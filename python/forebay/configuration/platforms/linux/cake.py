"""tc's cake, which shapes by itself: tc-cake(8), and net/sched/sch_cake.c for what follows from its two settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from forebay.configuration.platforms.linux.kinds import Draft, Options, Reader
from forebay.configuration.platforms.linux.units import LARGEST, rate, rate_word, size, time, time_word
from forebay.configuration.platforms.platform import whole_packets
from forebay.configuration.port import Discipline, Limit, Port, Queue, Value
from forebay.configuration.reading import Mistake, signed
from forebay.errors import UnsupportedError

__all__ = ["CAKE", "memory_of"]

#: `rtt` by a word (tc-cake(8)).
_ROUND_TRIPS = {
    "datacenter": Fraction(100, 10**6),
    "lan": Fraction(1, 1000),
    "metro": Fraction(10, 1000),
    "regional": Fraction(30, 1000),
    "internet": Fraction(100, 1000),
    "oceanic": Fraction(300, 1000),
    "satellite": Fraction(1),
    "interplanetary": Fraction(1000),
}
#: The sojourn time from which BLUE drops more: cake's BLUE knows full buffers only.
NEVER = Fraction(3600)
#: Words that change nothing of what forebay simulates, or choose who counts as a host.
_FLAGS = (
    "besteffort",
    *("triple-isolate", "dual-srchost", "dual-dsthost", "srchost", "dsthost", "hosts", "flows", "flowblind"),
    *("nat", "nonat", "wash", "nowash", "split-gso", "no-split-gso", "no-ack-filter", "noatm", "raw", "egress"),
)


def memory_of(packet: int) -> int:
    """Memory that a packet of this size takes (skb->truesize): half pages with its headers, and the buffer's own."""
    return 256 + 2048 * math.ceil((packet + 14 + 384) / 2048)


def _overhead(text: str) -> Value:
    return float(signed(text, "bytes per packet", most=256))


@dataclass(frozen=True, slots=True)
class Cake:
    """Cake without tins of priority: `rtt` is its interval, the target a twentieth of it."""

    simulated: str = "cake"

    @property
    def options(self) -> Mapping[str, Reader | None]:
        words: dict[str, Reader | None] = dict.fromkeys((*_FLAGS, *_ROUND_TRIPS, "unlimited"))
        return words | {"bandwidth": rate, "rtt": time, "memlimit": size, "overhead": _overhead, "mpu": size}

    def fit(self, draft: Draft, port: Port) -> None:
        memory = memory_of(port.packet)
        draft.limit(
            whole_packets(draft.queue.limit, port.packet), f"cake counts memory, {memory:,} bytes a full packet"
        )
        if int(draft.queue.limit.amount) * memory > LARGEST:
            raise UnsupportedError(
                f"{draft.name} cannot be told of cake with {draft.queue.limit}; allowed: up to 4 GiB of memory"
            )
        draft.time("interval")
        told = draft.discipline.time("interval") / 20
        draft.set("target", told, "cake's target is a twentieth of its rtt")
        slowest = Fraction(3 * 1514 * 8, 2 * port.bits_per_second)
        if slowest > told:
            draft.notes.append(
                f"target: at this rate cake raises it to 1.5 packet times, {float(slowest) * 1e3:.3g} ms"
            )
        draft.set("increment", 1 / 256, "the kernel's own and not to be set")
        draft.set("decrement", 1 / 4096, "the kernel's own and not to be set")
        draft.set("blue_threshold", NEVER, "the kernel has no such rule")
        draft.set("quantum", _quantum(port.rate), "cake's quantum follows from its bandwidth")
        draft.ecn("cake always marks")

    def write(self, queue: Queue, port: Port) -> str:
        memory = int(queue.limit.amount) * memory_of(port.packet)
        text = f"bandwidth {rate_word(port.bits_per_second)} besteffort triple-isolate"
        text += f" rtt {time_word(queue.discipline.time('interval'))}"
        return f"{text} overhead {port.framing} memlimit {memory}"

    def read(self, options: Options, packet: int) -> Queue:
        named = next((value for word, value in _ROUND_TRIPS.items() if word in options), Fraction(100, 1000))
        interval = options.get("rtt", named)
        assert isinstance(interval, Fraction), "rtt"
        memory = options.get("memlimit")
        if not isinstance(memory, Limit):
            raise Mistake("no memlimit", "memlimit and bytes (without it cake's own follows from its bandwidth)")
        bandwidth = options.get("bandwidth")
        values: dict[str, Value] = {
            "target": interval / 20,
            "interval": interval,
            "increment": 1 / 256,
            "decrement": 1 / 4096,
            "blue_threshold": NEVER,
            "quantum": _quantum(int(bandwidth) if isinstance(bandwidth, int | float) else None),
        }
        limit = Limit(int(memory.amount // memory_of(packet)), "packets")
        return Queue(limit, Discipline("cake", values, ecn=True))


def _quantum(bits: int | None) -> Limit:
    """A 4096th of the bytes per second, from 300 bytes to a packet (cake_config_besteffort)."""
    return Limit(1514 if bits is None else min(1514, max(300, bits // 8 >> 12)), "bytes")


CAKE = Cake()
