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

from forebay.configuration.access import Framing
from forebay.configuration.platforms.linux import shaping
from forebay.configuration.platforms.linux.cake import counted, unsimulated
from forebay.configuration.platforms.linux.kinds import KINDS, Draft
from forebay.configuration.platforms.linux.tree import ALL, WITHOUT_QUEUE, Node, fragment, parse
from forebay.configuration.platforms.linux.units import LARGEST, rate_word
from forebay.configuration.platforms.platform import (
    CODE_POINTS,
    Assumed,
    Fitted,
    Reading,
    bands,
    class_note,
    refusal,
)
from forebay.configuration.port import FRAMING, Classes, Direction, Discipline, Limit, Port, Queue, TrafficClass
from forebay.configuration.quantities import rate_text
from forebay.configuration.reading import Mistake, statements
from forebay.errors import InputError, UnsupportedError

__all__ = ["LINUX", "Linux", "kind_of"]

#: Bytes of an Ethernet header, which tc counts and IP does not.
HEADER = 14
#: The bucket holds what the link sends in this time, at least two full frames: less than timers can keep up with slows
#: the link down, more lets bursts pass that no queue sees.
BURST = Fraction(200, 10**6)
#: Classes of flows of a hashed drr (tc-drr(8), as in its example).
HASHED = 1024

#: The device that packets pass which arrive at eth0: a queue has to hold what leaves.
IFB = "ifb4eth0"
_REDIRECTED = (
    f"ip link add name {IFB} type ifb",
    f"ip link set dev {IFB} up",
    "tc qdisc replace dev eth0 handle ffff: ingress",
    f"tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev {IFB}",
)
#: The limit of the discipline in the direction that was not simulated: the kernel's own holds there.
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
#: What shapes by itself, or has classes of its own.
_NOT_BENEATH = ("cake", "drr", "priority", "classes")


def kind_of(queue: Queue) -> str:
    """Tc's name of a queue's discipline."""
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
        "replace eth0 by the interface; its ring and byte queue limits (BQL) hold packets in front of the discipline",
        "turn offloads off (ethtool -K eth0 gro off gso off tso off): a bunch of segments counts as one packet",
        "where the port itself runs at the link's rate, leave a tbf out that the scenario does not have",
    )
    disciplines: Mapping[str, str] = dataclasses.field(default_factory=lambda: _DISCIPLINES)
    shapes: bool = True
    accesses: bool = True
    nearest: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: {"step": "red", "cobalt": "codel", "stfq": "fq_codel", "dynamic_threshold": "droptail"}
    )

    def fit(self, port: Port) -> Fitted:
        """The nearest port that tc can be told."""
        reasons: dict[str, str] = {}
        notes: list[str] = []
        rate = max(8, port.bits_per_second // 8 * 8)
        if port.other is not None:
            port = dataclasses.replace(port, other=max(8, port.other // 8 * 8))
        if rate != port.rate:
            reasons["rate"] = "tc keeps whole bytes per second"
        told = dataclasses.replace(port, rate=rate, memory=None)
        if port.shaper is not None:
            if port.kind == "cake":
                raise UnsupportedError("linux cannot be told of cake beneath a `shaper`; allowed: it alone")
            told = dataclasses.replace(told, rate=port.rate, shaper=shaping.fitted(port))
            reasons = shaping.reasons(port.shaper.kind)
            notes.append(f"rate: the port itself has to run at the line's rate, {rate_text(port.shaper.line)}")
        if port.memory is not None:
            reasons["memory"] = "ports of Linux share no memory"
        queue = port.queue
        if isinstance(queue, Queue) and queue.discipline.kind == "priority":
            queue, said = bands(self.name, port, queue, most=16)
            notes.extend(said)
        if isinstance(queue, Queue):
            return self._fit_one(told, queue, reasons, notes)
        return self._fit_classes(told, queue, reasons, notes)

    def _fit_one(self, port: Port, queue: Queue, reasons: dict[str, str], notes: list[str]) -> Fitted:
        draft = Draft(queue)
        if queue.discipline.kind == "drr":
            _fit_hashed(draft, port)
        else:
            ALL[kind_of(queue)].fit(draft, port)
        return Fitted(port.with_queue(draft.queue), reasons | draft.reasons, (*notes, *draft.notes))

    def _fit_classes(self, port: Port, found: Classes, reasons: dict[str, str], notes: list[str]) -> Fitted:
        if len(found.classes) > 16:
            raise UnsupportedError(f"linux cannot be told of {len(found.classes)} classes; allowed: up to 16")
        told = []
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
                # Never less but for the rounding of a number: fitting twice is fitting once.
                quantum = math.ceil(exact * (1 - Fraction(1, 10**12)))
                if quantum > LARGEST:
                    raise UnsupportedError(
                        f"linux cannot be told of a weight of {entry.weight:g}; allowed: a quantum of 4 GiB"
                    )
                weight = quantum / port.packet
            told.append(TrafficClass(entry.name, entry.groups, weight, draft.queue, first))
            notes.append(class_note(f"class 10:{number + 1:x}", entry, number, len(ordered)))
        reasons |= {f"{entry.name}.share": "quanta are whole bytes" for entry in ordered}
        schedule = found.schedule
        if schedule == "wrr":
            schedule, reasons["schedule"] = "dwrr", "Linux takes turns of bytes, not of packets"
        if all(entry.priority for entry in told):
            schedule, reasons["schedule"] = "strict", "no class takes turns"
            told = [dataclasses.replace(entry, priority=False) for entry in told]
        return Fitted(port.with_queue(Classes(schedule, tuple(told))), reasons, tuple(notes))

    def write(self, port: Port) -> list[str]:
        """The commands."""
        if port.direction == "upload" and port.other is None:
            return self._one_way(port)
        devices = {"upload": "eth0", "download": IFB}
        told = [line.replace("dev eth0 ", f"dev {devices[port.direction]} ") for line in self._one_way(port)]
        if port.other is not None:
            back: Direction = "download" if port.direction == "upload" else "upload"
            other = dataclasses.replace(port, rate=port.other, other=None, direction=back)
            lines = (_LIMIT.sub("", line) if " tbf " not in line else line for line in self._one_way(other))
            told += [line.replace("dev eth0 ", f"dev {devices[back]} ") for line in lines]
        return [*_REDIRECTED, *told]

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
            return _reading([fragment(text)], assumed)
        skipped: list[str] = []
        told = _reading(parse(text, skipped), assumed)
        return dataclasses.replace(told, skipped=tuple(skipped))


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


# Reading.


def _reading(roots: list[Node], assumed: Assumed) -> Reading:
    with_queue = [root for root in roots if root.kind not in WITHOUT_QUEUE]
    how: list[str] = []
    direction: Direction = "upload"
    other: int | None = None
    downloads = [root for root in with_queue if root.device.startswith("ifb")]
    uploads = [root for root in with_queue if root not in downloads]
    if downloads and len(with_queue) == len(downloads) + min(1, len(uploads)):
        direction = "upload" if uploads and assumed.direction == "upload" else "download"
        with_queue, left = (uploads, downloads) if direction == "upload" else (downloads, uploads)
        if left:
            other = _shaper(left[0], [])[0]
            said = f"the {'download' if direction == 'upload' else 'upload'} of {left[0].device} is left out"
            how.append(said + ("" if other is None else f", {rate_text(other)}"))
    if len(with_queue) != 1:
        kinds = ", ".join(dict.fromkeys(root.kind for root in with_queue)) or "none"
        raise InputError(
            f"translate: found {len(with_queue)} roots ({kinds}); allowed: the disciplines of one interface"
        )
    root = _only(with_queue[0], how)
    rate, node, layer, wire = _shaper(root, how)
    packet = assumed.packet
    queue = _queue(node, packet, how)
    port = Port(rate or assumed.rate, packet, queue, layer, wire=wire, direction=direction, other=other)
    return Reading(port, tuple(how), unknown=unsimulated(root.options) if root.kind == "cake" else ())


def _only(root: Node, how: list[str]) -> Node:
    """The root, or what is beneath an mq, whose children are the same for each ring of the device."""
    if root.kind != "mq" or not root.children:
        return root
    first = root.children[0]
    if any((child.kind, child.options) != (first.kind, first.options) for child in root.children):
        raise InputError("translate: found mq with different disciplines; allowed: the discipline of one ring")
    how.append(f"mq has this discipline for each of {len(root.children)} rings of the device")
    return first


def _shaper(root: Node, how: list[str]) -> tuple[int | None, Node, str, Framing | None]:
    """The rate of what shapes, what is beneath it, whose bits the rate counts, and an access line's framing."""
    if root.kind == "cake":
        bandwidth = root.options.get("bandwidth")
        told = counted(root.options)
        layer, wire = (_layer(HEADER, how), None) if told is None else layer_of(told, how)
        return (int(bandwidth) if isinstance(bandwidth, int | float) else None), root, layer, wire
    if root.kind not in ("tbf", "htb"):
        return None, root, _layer(HEADER if root.stab is None else HEADER + root.stab, how), None
    node, shaping = root, root.options
    if root.kind == "htb":
        while node.kind == "htb":
            inner = [child for child in node.children if child.is_class] or node.children
            if len(inner) != 1:
                raise InputError(f"translate: found htb with {len(inner)} classes; allowed: one that shapes the link")
            node = inner[0]
            shaping = node.options if node.is_class else shaping
    else:
        node = next(iter(root.children), root)
    given = shaping.get("ceil", shaping.get("rate"))
    overhead = shaping.get("overhead", 0.0)
    assert isinstance(overhead, float), "overhead"
    least = shaping.get("mpu")
    bytes_more = int(overhead) + HEADER + (root.stab or 0)
    in_cells = shaping.get("linklayer") in ("atm", "adsl")
    told = Framing(bytes_more, int(least.amount) if isinstance(least, Limit) else 0, "atm" if in_cells else "none")
    layer, wire = layer_of(told, how) if overhead or told.least or in_cells else (_layer(bytes_more, how), None)
    if node.kind == "tbf":
        limit = node.options.get("limit")
        if not isinstance(limit, Limit):
            raise InputError(
                "translate: found tbf with a latency and no discipline; allowed: a limit, or a qdisc beneath it"
            )
        how.append("tbf without a discipline beneath it is a bfifo of its limit")
        node = Node("bfifo", "", "", {"limit": limit}, node.line)
    return (int(given) if isinstance(given, int | float) else None), node, layer, wire


def layer_of(told: Framing, how: list[str]) -> tuple[str, Framing | None]:
    """The layer whose bits a rate counts; "l3" and the framing where that is no layer's."""
    layers = {Framing(count): layer for layer, count in FRAMING.items()}
    if told in layers:
        return layers[told], None
    how.append(f"the rate counts {told}")
    return "l3", told


def _layer(counted: int, how: list[str]) -> str:
    """Whose bits a rate counts that adds so many bytes to every IP packet."""
    known = {0: "l3", 18: "l2", 38: "l1"}
    if counted not in known:
        how.append(f"rates and bytes include {counted} bytes of framing a packet beside IP")
    return known.get(counted, "l3")


def _queue(node: Node, packet: int, how: list[str]) -> Queue | Classes:
    if node.kind in ("prio", "drr", "ets"):
        return _read_classes(node, packet, how)
    if node.kind not in ALL:
        raise InputError(f"translate: found {node.kind} with nothing beneath it; allowed: a discipline beneath it")
    queue = ALL[node.kind].read(node.options, packet)
    if node.kind in ("bfifo", "red"):
        how.append(f"{node.kind} counts bytes")
    else:
        how.append(f"{node.kind} counts packets of any size, {packet} bytes assumed")
    return queue


def _read_classes(node: Node, packet: int, how: list[str]) -> Queue | Classes:
    members = _drr_members(node, how) if node.kind == "drr" else _bands(node)
    queues = [(weight, _queue(leaf, packet, [])) for weight, leaf in members]
    if node.kind == "drr" and len(queues) == HASHED and len({str(queue) for _, queue in queues}) == 1:
        first = queues[0][1]
        assert isinstance(first, Queue), "a fifo in each class"
        how.append(f"{HASHED:,} equal classes of drr are read as a queue for each flow")
        quantum = Limit(round(members[0][0] or 0), "bytes")
        return Queue(first.limit, Discipline("drr", {"drop": "tail", "quantum": quantum}))
    if not queues:
        raise InputError(f"translate: found {node.kind} without disciplines in its classes; allowed: one in each")
    least = min((weight for weight, _ in queues if weight is not None), default=1.0)
    if least <= 0:
        raise InputError(f"translate: found {node.kind} with a quantum of 0; allowed: at least one byte")
    strict = all(weight is None for weight, _ in queues)
    told = []
    for number, (weight, queue) in enumerate(queues):
        if isinstance(queue, Classes):
            raise InputError("translate: found classes within classes; allowed: one level of them")
        share = 1.0 if weight is None else weight / least
        told.append(TrafficClass(f"class{number}", (), share, queue, weight is None and not strict))
    how.append("each class has a buffer of its own")
    return Classes("strict" if strict else "dwrr", tuple(told))


#: Bands that prio and ets have in the kernel (TCQ_PRIO_BANDS, TCQ_ETS_MAX_BANDS), and prio's where none are told.
MOST_BANDS = 16
DEFAULT_BANDS = 3


def _bands(node: Node) -> list[tuple[float | None, Node]]:
    """The bands of prio or ets that have a discipline of their own, with the quanta of those that take turns."""
    first = _whole_option(node, "strict", 0)
    quanta = [float(each) for each in str(node.options.get("quanta", "")).split()]
    count = _whole_option(node, "bands", DEFAULT_BANDS if node.kind == "prio" else first + len(quanta))
    least = max(2 if node.kind == "prio" else 1, first + len(quanta))
    if not least <= count <= MOST_BANDS:
        told = f" with {first} strict and {len(quanta)} quanta" if first or quanta else ""
        allowed = f"{least} to {MOST_BANDS}" if least <= MOST_BANDS else f"at most {MOST_BANDS}"
        raise Mistake(f"{node.kind} of {count} bands{told}", f"bands of {allowed}").error(node.line)
    quanta += [1514.0] * (count - first - len(quanta))
    weights = [None] * first + quanta if node.kind == "ets" else [None] * count
    leaves: dict[int, Node] = {}
    for leaf in (child for child in node.children if not child.is_class):
        band = _minor(leaf.parent)
        if not 1 <= band <= count or band in leaves:
            major = leaf.parent.partition(":")[0]
            twice = " twice" if band in leaves else ""
            allowed = f"{major}:1 to {major}:{count:x}, the bands of {node.kind}, each once"
            raise Mistake(f"a discipline below `{leaf.parent}`{twice}", allowed).error(leaf.line)
        leaves[band] = leaf
    return [(weights[band - 1], leaves[band]) for band in sorted(leaves)]


def _whole_option(node: Node, name: str, default: int) -> int:
    found = node.options.get(name, default)
    assert isinstance(found, int | float), name
    return int(found)


def _drr_members(node: Node, how: list[str]) -> list[tuple[float | None, Node]]:
    classes = sorted((child for child in node.children if child.is_class), key=lambda found: _minor(found.handle))
    if not classes:
        how.append("drr's weights are in `tc class show`; taken as equal")
        return [(1.0, leaf) for leaf in sorted(node.children, key=lambda leaf: _minor(leaf.parent))]
    found: list[tuple[float | None, Node]] = []
    for entry in classes:
        if not entry.children:
            raise InputError(f"translate: found class {entry.handle} without a discipline; allowed: one in each class")
        quantum = entry.options.get("quantum", Limit(1514, "bytes"))
        assert isinstance(quantum, Limit), "quantum"
        found.append((float(quantum.amount), entry.children[0]))
    return found


def _minor(handle: str) -> int:
    minor = handle.partition(":")[2] or "0"
    if not re.fullmatch("[0-9a-fA-F]{1,4}", minor):
        raise InputError(f"translate: found the handle `{handle}`; allowed: up to four digits in base 16, as in 10:1f")
    return int(minor, 16)


LINUX = Linux()
