"""tc's cake, which shapes by itself: tc-cake(8), and net/sched/sch_cake.c for values derived from its settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from forebay.configuration.access import ACCESSES, Framing, framing
from forebay.configuration.platforms.linux.kinds import Draft, Options, Reader
from forebay.configuration.platforms.linux.units import rate, rate_word, size, time, time_word
from forebay.configuration.platforms.platform import round_up_to_packets
from forebay.configuration.port import Discipline, Limit, Port, Queue, Value
from forebay.configuration.reading import integer, signed
from forebay.errors import UnsupportedError

__all__ = ["CAKE", "TINS", "counted", "memory_of", "memory_text", "unsimulated", "within_memory"]

#: Values of `rtt` by keyword (tc-cake(8)).
_ROUND_TRIPS = {
    "datacentre": Fraction(100, 10**6),
    "lan": Fraction(1, 1000),
    "metro": Fraction(10, 1000),
    "regional": Fraction(30, 1000),
    "internet": Fraction(100, 1000),
    "oceanic": Fraction(300, 1000),
    "satellite": Fraction(1),
    "interplanetary": Fraction(3600),
}
#: A sojourn time that BLUE never reaches, because cake's BLUE responds to full buffers only.
NEVER = Fraction(3600)
#: Options that do not affect the simulation, or that define a host.
_FLAGS = (
    "besteffort",
    *("triple-isolate", "dual-srchost", "dual-dsthost", "srchost", "dsthost", "hosts", "flows", "flowblind"),
    *(
        "nat",
        "nonat",
        "wash",
        "nowash",
        "split-gso",
        "no-split-gso",
        "no-ack-filter",
        "raw",
        "egress",
        "ingress",
        "via-ethernet",
    ),
)
#: Options that forebay does not simulate, or that set the number of tins.
TINS = ("diffserv3", "diffserv4", "diffserv8", "diffserv", "precedence")
_OTHER = (*TINS, "ack-filter", "ack-filter-aggressive", "autorate-ingress")
#: Further settings that forebay's cake lacks: hosts, changes of the packets' marks, and the counting of an ingress.
_LEFT_OUT = (
    *("nat", "wash", "ingress", "fwmark", "split-gso"),
    *("dual-srchost", "dual-dsthost", "srchost", "dsthost", "hosts", "flowblind"),
)
#: Memory of cake without a `memlimit` (cake_reconfigure and cake_init of sch_cake.c): four times the bytes
#: that the rate sends in a round trip, from 4 MiB to 10,240 frames.
_LEAST_MEMORY = 4 << 20
_MOST_MEMORY = 10_240 * 1514


def memory_of(packet: int) -> int:
    """Memory of a packet of this size in bytes (skb->truesize): half pages with its headers, and the buffer's own."""
    return 256 + 2048 * math.ceil((packet + 14 + 384) / 2048)


def within_memory(
    kind: str, options: Options, queue: Queue, packet: int, how: list[str], unsimulated: list[str], where: str = ""
) -> Queue:
    """The queue with the limit that the memory of fq_codel, fq_pie or dualpi2 allows, if that is smaller.

    fq_codel drops when either is exceeded (`fq_codel_enqueue` of sch_fq_codel.c); the memory of a packet is its
    `truesize`. `where` names the class.
    """
    word = next((word for word in ("memory_limit", "memlimit") if word in options), "")
    memory = options.get(word)
    if kind == "cake" or not isinstance(memory, Limit):
        return queue
    held = Limit(max(1, int(memory.amount) // memory_of(packet)), "packets")
    named = f"{where}{word} of {kind}, {memory}"
    if held.amount < queue.limit.amount:
        how.append(f"{named}, holds {held} of {packet} bytes, fewer than its limit")
        return Queue(held, queue.discipline)
    unsimulated.append(f"{named}: its limit of {queue.limit} is reached first")
    return queue


def memory_at(bits: int | None, interval: Fraction) -> int:
    """Default memory of cake in bytes; None is the rate of a cake that does not shape."""
    if not bits:
        return _MOST_MEMORY
    return min(max(int(4 * (bits // 8) * interval), _LEAST_MEMORY), _MOST_MEMORY)


def memory_text(options: Options, packet: int) -> tuple[str, ...]:
    """The derivation of the number of packets: the memory of a packet, and the memory of cake."""
    each = f"cake limits memory: a packet of {packet} bytes takes {memory_of(packet):,} bytes of it"
    if isinstance(memory := options.get("memlimit"), Limit):
        return each, f"its memlimit is {memory}"
    held, bits = memory_at(_bits(options), _interval(options)), _bits(options)
    rule = "4 x bandwidth x rtt, from 4 MiB to 10,240 frames" if bits else "10,240 frames, as it does not shape"
    return each, f"the text has no memlimit, so cake takes {held:,} bytes: {rule} (cake_reconfigure of sch_cake.c)"


def _interval(options: Options) -> Fraction:
    """The `rtt`, by its value or by a word."""
    words = {**_ROUND_TRIPS, "datacenter": _ROUND_TRIPS["datacentre"]}
    named = next((value for word, value in words.items() if word in options), Fraction(100, 1000))
    interval = options.get("rtt", named)
    assert isinstance(interval, Fraction), "rtt"
    return interval


def _bits(options: Options) -> int | None:
    """The bandwidth in bits per second; None if the options lack it."""
    bandwidth = options.get("bandwidth")
    return int(bandwidth) if isinstance(bandwidth, int | float) else None


def counted(options: Options) -> Framing | None:
    """The framing in the options; None without such options, when cake counts what Linux counts."""
    if "raw" in options:
        return None
    words = []
    for name, value in options.items():
        if name == "mpu":
            words.append(f"mpu={int(value.amount) if isinstance(value, Limit) else 0}")
        elif name == "overhead":
            words.append(f"overhead={int(value) if isinstance(value, float) else 0}")
        else:
            words += [name] * (int(value) if name == "ether-vlan" and isinstance(value, float) else 1)
    return framing(words)


def unsimulated(options: Options) -> tuple[str, ...]:
    """Options that forebay's cake, which has one tin, does not simulate."""
    return tuple(f"{word} of cake" for word in (*_OTHER, *_LEFT_OUT) if word in options)


def framing_text(port: Port) -> str:
    """The framing of a port in cake's words."""
    if port.wire is None:
        return f"overhead {port.framing}"
    least = f" mpu {port.wire.least}" if port.wire.least else ""
    return f"overhead {port.wire.overhead}{least} {'noatm' if port.wire.cells == 'none' else port.wire.cells}"


def _overhead(text: str) -> Value:
    return float(signed(text, "bytes per packet", most=256))


def _number(text: str) -> Value:
    return float(integer(text))


def _mask(text: str) -> Value:
    return text


@dataclass(frozen=True, slots=True)
class Cake:
    """Cake without tins of priority: `rtt` is its interval, the target a twentieth of it."""

    simulated: str = "cake"

    @property
    def options(self) -> Mapping[str, Reader | None]:
        words: dict[str, Reader | None] = dict.fromkeys(
            (*_FLAGS, *_OTHER, *_ROUND_TRIPS, *ACCESSES, "datacenter", "unlimited", "noatm", "atm", "ptm", "ether-vlan")
        )
        values: dict[str, Reader | None] = {"bandwidth": rate, "rtt": time, "memlimit": size, "fwmark": _mask}
        return words | values | {"overhead": _overhead, "mpu": size, "refcnt": _number}

    def fit(self, draft: Draft, port: Port) -> None:
        draft.time("interval")
        memory, interval = memory_of(port.packet), draft.discipline.time("interval")
        held = Limit(memory_at(port.rate, interval) // memory, "packets")
        if round_up_to_packets(draft.queue.limit, port.packet).amount > held.amount:
            requested = draft.queue.limit
            allowed = f"up to {held}, which cake holds at this rate and rtt (do not size its memlimit by the buffer)"
            raise UnsupportedError(f"{draft.name} does not support cake with {requested}; allowed: {allowed}")
        why = "cake's own limit of memory; its manual says not to size it by the bandwidth-delay product"
        draft.limit(held, f"{why}, {memory:,} bytes a full packet")
        target = draft.discipline.time("interval") / 20
        draft.set("target", target, "cake's target is a twentieth of its rtt")
        slowest = Fraction(3 * 1514 * 8, 2 * port.bits_per_second)
        if slowest > target:
            draft.notes.append(
                f"target: at this rate cake raises it to 1.5 packet times, {float(slowest) * 1e3:.3g} ms"
            )
        draft.set("increment", 1 / 256, "fixed by the kernel")
        draft.set("decrement", 1 / 4096, "fixed by the kernel")
        draft.set("blue_threshold", NEVER, "the kernel has no such rule")
        draft.set("quantum", _quantum(port.rate), "cake's quantum follows from its bandwidth")
        draft.ecn("cake always marks")

    def write(self, queue: Queue, port: Port) -> str:
        text = f"bandwidth {rate_word(port.bits_per_second)} besteffort triple-isolate"
        text += f" rtt {time_word(queue.discipline.time('interval'))}"
        # `ingress` counts dropped packets too: they have crossed the line before cake sees them (tc-cake(8)).
        return f"{text} {framing_text(port)}{' ingress' if port.direction == 'download' else ''}"

    def read(self, options: Options, packet: int) -> Queue:
        interval, bits = _interval(options), _bits(options)
        memory = options.get("memlimit")
        held = int(memory.amount) if isinstance(memory, Limit) else memory_at(bits, interval)
        values: dict[str, Value] = {
            "target": interval / 20,
            "interval": interval,
            "increment": 1 / 256,
            "decrement": 1 / 4096,
            "blue_threshold": NEVER,
            "quantum": _quantum(bits),
        }
        limit = Limit(held // memory_of(packet), "packets")
        return Queue(limit, Discipline("cake", values, ecn=True))


def _quantum(bits: int | None) -> Limit:
    """A 4096th of the bytes per second, from 300 bytes to a packet (cake_config_besteffort)."""
    return Limit(1514 if bits is None else min(1514, max(300, bits // 8 >> 12)), "bytes")


CAKE = Cake()
