"""Linux: a token bucket at the link's rate, and beneath it the discipline, or classes with one each.

Everything is in the words of tc(8) of iproute2. The shaper is tc-tbf(8), whose rate `tc qdisc show` prints; cake shapes
by itself. A size table (tc-stab(8)) takes the 14 bytes of the Ethernet header off, so that rates, limits and quanta
count bytes of IP packets, as a scenario does.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from forebay.configuration.platforms.linux import shaping
from forebay.configuration.platforms.linux.kinds import KINDS, Draft
from forebay.configuration.platforms.linux.reader import reading
from forebay.configuration.platforms.linux.tree import ALL, fragment, parse
from forebay.configuration.platforms.linux.units import HASHED, HEADER, LARGEST, rate_word
from forebay.configuration.platforms.platform import (
    CODE_POINTS,
    Assumed,
    Fitted,
    Reading,
    bands,
    class_note,
    refusal,
)
from forebay.configuration.port import Classes, Direction, Port, Queue, TrafficClass
from forebay.configuration.quantities import rate_text
from forebay.configuration.reading import Mistake, statements
from forebay.errors import UnsupportedError

__all__ = ["LINUX", "Linux", "kind_of"]

#: Time that determines the bucket: it holds the data that the link sends in this time, at least two full frames. A
#: smaller one slows the link down, because timers are too coarse; a larger one lets bursts pass without a queue.
BURST = Fraction(200, 10**6)
#: Device of the packets that arrive at eth0, because a queue can only hold departing packets.
IFB = "ifb4eth0"
_REDIRECTED = (
    f"ip link add name {IFB} type ifb",
    f"ip link set dev {IFB} up",
    "tc qdisc replace dev eth0 handle ffff: ingress",
    f"tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev {IFB}",
)
#: Limit of the discipline in the direction that was not simulated; the kernel's default replaces it.
_LIMIT = re.compile(r" limit [0-9]+")

_DISCIPLINES = {
    "droptail": "bfifo or pfifo",
    "drophead": "pfifo_head_drop",
    "red": "red",
    "choke": "choke",
    "codel": "codel",
    "fq_codel": "fq_codel",
    "pie": "pie",
    "fq_pie": "fq_pie",
    "cake": "cake",
    "sfq": "sfq",
    "drr": "drr with a class for each hashed flow",
    "dualpi2": "dualpi2, Linux 6.17 and later",
    "priority": "prio",
    "classes": "prio, drr or ets",
}
#: Disciplines that shape by themselves, or have classes.
_NOT_BENEATH = ("cake", "drr", "priority", "classes")


def kind_of(queue: Queue) -> str:
    """Name of a queue's discipline in tc."""
    if queue.discipline.kind == "droptail":
        return "bfifo" if queue.limit.unit == "bytes" else "pfifo"
    return next(name for name, kind in ALL.items() if kind.simulated == queue.discipline.kind)


@dataclass(frozen=True, slots=True)
class Linux:
    """tc(8)."""

    name: str = "linux"
    title: str = "Linux traffic control"
    source: str = "iproute2: tc(8), tc-tbf(8), tc-stab(8) and the manual page of each discipline"
    quirks: tuple[str, ...] = (
        "replace eth0 by the interface; its ring and byte queue limits (BQL) hold further packets after the discipline",
        "turn offload off (ethtool -K eth0 gro off gso off tso off), because merged segments count as one packet",
        "if the port has the link's rate, omit the tbf (unless the scenario has a shaper)",
    )
    disciplines: Mapping[str, str] = dataclasses.field(default_factory=lambda: _DISCIPLINES)
    shapes: bool = True
    accesses: bool = True
    pauses: Mapping[str, int] | None = None
    nearest: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: {"step": "red", "cobalt": "codel", "stfq": "fq_codel", "dynamic_threshold": "droptail"}
    )

    def fit(self, port: Port) -> Fitted:
        """The nearest port that tc can express."""
        reasons: dict[str, str] = {}
        notes: list[str] = []
        rate = max(8, port.bits_per_second // 8 * 8)
        if port.other is not None:
            port = dataclasses.replace(port, other=max(8, port.other // 8 * 8))
        if rate != port.rate:
            reasons["rate"] = "tc keeps whole bytes per second"
        changed = dataclasses.replace(port, rate=rate, memory=None)
        if port.shaper is not None:
            if port.kind == "cake":
                raise UnsupportedError("linux does not support cake beneath a `shaper`; allowed: it alone")
            changed = dataclasses.replace(changed, rate=port.rate, shaper=shaping.fitted(port))
            reasons = shaping.reasons(port.shaper.kind)
            notes.append(f"rate: the port itself has to run at the line's rate, {rate_text(port.shaper.line)}")
        if port.memory is not None:
            reasons["memory"] = "ports of Linux share no memory"
        queue = port.queue
        if isinstance(queue, Queue) and queue.discipline.kind == "priority":
            queue, of_bands = bands(self.name, port, queue, most=16)
            notes.extend(of_bands)
        if isinstance(queue, Queue):
            return self._fit_one(changed, queue, reasons, notes)
        return self._fit_classes(changed, queue, reasons, notes)

    def _fit_one(self, port: Port, queue: Queue, reasons: dict[str, str], notes: list[str]) -> Fitted:
        draft = Draft(queue)
        if queue.discipline.kind == "drr":
            _fit_hashed(draft, port)
        else:
            ALL[kind_of(queue)].fit(draft, port)
        return Fitted(port.with_queue(draft.queue), reasons | draft.reasons, (*notes, *draft.notes))

    def _fit_classes(self, port: Port, found: Classes, reasons: dict[str, str], notes: list[str]) -> Fitted:
        if len(found.classes) > 16:
            raise UnsupportedError(f"linux does not support {len(found.classes)} classes; allowed: up to 16")
        fitted = []
        ordered = found.classes
        if found.schedule != "strict":
            ordered = tuple(sorted(ordered, key=lambda entry: not entry.priority))
        least = min((entry.weight for entry in ordered if not entry.priority), default=1.0)
        for number, entry in enumerate(ordered):
            if entry.queue.discipline.kind not in _DISCIPLINES or entry.queue.discipline.kind in _NOT_BENEATH:
                raise refusal(self, entry.queue.discipline.kind, "a class")
            draft = Draft(entry.queue)
            ALL[kind_of(entry.queue)].fit(draft, port)
            reasons |= {f"{entry.name}.{name}": why for name, why in draft.reasons.items()}
            notes.extend(f"{entry.name}: {note}" for note in draft.notes)
            weight, first = 1.0, found.schedule != "strict" and entry.priority
            if found.schedule != "strict" and not first:
                exact = Fraction(entry.weight) / Fraction(least) * port.packet
                # Never less except for floating-point rounding, so that a second fit changes nothing.
                quantum = math.ceil(exact * (1 - Fraction(1, 10**12)))
                if quantum > LARGEST:
                    raise UnsupportedError(
                        f"linux does not support a weight of {entry.weight:g}; allowed: a quantum of 4 GiB"
                    )
                weight = quantum / port.packet
            fitted.append(TrafficClass(entry.name, entry.groups, weight, draft.queue, first))
            notes.append(class_note(f"class 10:{number + 1:x}", entry, number, len(ordered)))
        reasons |= {f"{entry.name}.share": "quanta are whole bytes" for entry in ordered}
        schedule = found.schedule
        if schedule == "wrr":
            schedule, reasons["schedule"] = "dwrr", "Linux takes turns of bytes, not of packets"
        if all(entry.priority for entry in fitted):
            schedule, reasons["schedule"] = "strict", "no class takes turns"
            fitted = [dataclasses.replace(entry, priority=False) for entry in fitted]
        return Fitted(port.with_queue(Classes(schedule, tuple(fitted))), reasons, tuple(notes))

    def write(self, port: Port) -> list[str]:
        """The commands."""
        if port.direction == "upload" and port.other is None:
            return self._one_way(port)
        devices = {"upload": "eth0", "download": IFB}
        stated = [line.replace("dev eth0 ", f"dev {devices[port.direction]} ") for line in self._one_way(port)]
        if port.other is not None:
            back: Direction = "download" if port.direction == "upload" else "upload"
            other = dataclasses.replace(port, rate=port.other, other=None, direction=back)
            lines = (_LIMIT.sub("", line) if " tbf " not in line else line for line in self._one_way(other))
            stated += [line.replace("dev eth0 ", f"dev {devices[back]} ") for line in lines]
        return [*_REDIRECTED, *stated]

    def _one_way(self, port: Port) -> list[str]:
        """The commands of one direction."""
        if isinstance(port.queue, Queue) and port.queue.discipline.kind == "cake":
            return [f"tc qdisc replace dev eth0 root cake {ALL['cake'].write(port.queue, port)}"]
        limit = min(LARGEST, math.ceil(port.limit_bytes()) or 1)
        beneath = f"stab overhead -{HEADER} linklayer ethernet"
        if port.shaper is not None:
            return [*shaping.lines(port, limit, beneath), *self._beneath(port)]
        bits = port.bits_per_second
        burst = max(2 * (port.packet + HEADER + port.framing), math.ceil(bits / 8 * BURST))
        shaper = f"tbf rate {rate_word(bits)} burst {min(LARGEST, burst)} limit {limit}"
        shaper += f" overhead {port.framing}" if port.framing else ""
        if port.wire is not None:
            shaper += f" mpu {port.wire.least}" if port.wire.least else ""
            shaper += f" linklayer {'atm' if port.wire.cells == 'atm' else 'ethernet'}"
        root = f"tc qdisc replace dev eth0 root handle 1: {beneath} {shaper}"
        return [root, *self._beneath(port)]

    def _beneath(self, port: Port) -> Iterator[str]:
        beneath = "tc qdisc replace dev eth0 parent 1:1"
        if isinstance(port.queue, Classes):
            if port.queue.schedule == "strict":
                count = len(port.queue.classes)
                others = " ".join([str(count - 1)] * 16)
                yield f"{beneath} handle 10: prio bands {count} priomap {others}"
            elif first := sum(entry.priority for entry in port.queue.classes):
                turns = [entry for entry in port.queue.classes if not entry.priority]
                quanta = " ".join(str(round(entry.weight * port.packet)) for entry in turns)
                count = len(port.queue.classes)
                others = " ".join([str(count - 1)] * 16)
                yield f"{beneath} handle 10: ets bands {count} strict {first} quanta {quanta} priomap {others}"
            else:
                yield f"{beneath} handle 10: drr"
            yield from _classes(port, port.queue)
        elif port.queue.discipline.kind == "drr":
            yield f"{beneath} handle 10: drr"
            yield from _hashed(port.queue)
        else:
            kind = kind_of(port.queue)
            yield f"{beneath} {kind} {ALL[kind].write(port.queue, port)}"

    def read(self, text: str, assumed: Assumed) -> Reading:
        """Commands of tc, or what `tc qdisc show` prints, plain or as JSON; a discipline alone, too."""
        lines = statements(text)
        if not lines:
            raise Mistake("nothing", "tc's commands, or what `tc qdisc show` prints").error()
        if lines[0][0].text in ALL and len(lines) == 1:
            return reading([fragment(text)], assumed)
        skipped: list[str] = []
        reading_ = reading(parse(text, skipped), assumed)
        return dataclasses.replace(reading_, skipped=tuple(skipped))


def _classes(port: Port, found: Classes) -> Iterator[str]:
    last = len(found.classes) - 1
    in_turn = found.schedule != "strict" and not any(entry.priority for entry in found.classes)
    for number, entry in enumerate(found.classes):
        if in_turn:
            quantum = round(entry.weight * port.packet)
            yield f"tc class replace dev eth0 parent 10: classid 10:{number + 1:x} drr quantum {quantum}"
        kind = kind_of(entry.queue)
        yield f"tc qdisc replace dev eth0 parent 10:{number + 1:x} {kind} {ALL[kind].write(entry.queue, port)}"
    for number in range(last):
        field = f"0x{CODE_POINTS[number] << 2:02x} 0xfc flowid 10:{number + 1:x}"
        begin = "tc filter add dev eth0 parent 10: protocol"
        yield f"{begin} ip prio {2 * number + 1} u32 match ip dsfield {field}"
        yield f"{begin} ipv6 prio {2 * number + 2} u32 match ip6 priority {field}"
    if in_turn:
        yield f"tc filter add dev eth0 parent 10: protocol all prio 99 matchall classid 10:{last + 1:x}"


def _fit_hashed(draft: Draft, port: Port) -> None:
    """Drr with one queue a flow: hashed flows are tc's nearest, each with a limit of its own."""
    fifo = KINDS["bfifo" if draft.queue.limit.unit == "bytes" else "pfifo"]
    fifo.fit(draft, port)
    draft.within("quantum", 64, LARGEST, "whole bytes")
    drops = "the head of the longest queue" if draft.discipline.word("drop") == "longest" else "the arrival"
    draft.set("drop", "tail", "each class of drr drops its own arrivals")
    limit = draft.queue.limit
    draft.notes.append(f"buffer: simulated {limit} that all flows share, dropping {drops}, configured {limit} for each")
    draft.notes.append(f"flows: simulated a queue for each, configured {HASHED:,} that flows are hashed into")


def _hashed(queue: Queue) -> Iterator[str]:
    limit = f"{'bfifo' if queue.limit.unit == 'bytes' else 'pfifo'} limit {queue.limit.amount}"
    yield f"for i in $(seq 1 {HASHED}); do"
    yield (
        f"  tc class replace dev eth0 parent 10: classid 10:$(printf %x $i) drr quantum "
        f"{queue.discipline.level('quantum').amount}"
    )
    yield f"  tc qdisc replace dev eth0 parent 10:$(printf %x $i) {limit}"
    yield "done"
    keys = "src,dst,proto,proto-src,proto-dst"
    flow = f"flow hash keys {keys} divisor {HASHED} baseclass 10:1"
    yield f"tc filter add dev eth0 parent 10: protocol all prio 1 handle 1 {flow}"


LINUX = Linux()
