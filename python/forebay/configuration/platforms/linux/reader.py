"""Statements of tc as a port: the shaper, the discipline beneath it, or classes with one discipline each."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from fractions import Fraction

from forebay.configuration.access import Framing
from forebay.configuration.platforms.linux.cake import counted, memory_text, unsimulated, within_memory
from forebay.configuration.platforms.linux.sharing import Division, Leaf, divide
from forebay.configuration.platforms.linux.tree import ALL, PFIFO_FAST, WITHOUT_QUEUE, Node
from forebay.configuration.platforms.linux.units import HASHED, HEADER
from forebay.configuration.platforms.platform import Assumed, Reading
from forebay.configuration.port import (
    FRAMING,
    THRESHOLDS,
    UNKNOWN,
    Classes,
    Direction,
    Discipline,
    Limit,
    Port,
    Queue,
    TrafficClass,
    Value,
)
from forebay.configuration.quantities import rate_text
from forebay.configuration.reading import Mistake
from forebay.errors import InputError

__all__ = ["layer_of", "of_ip", "reading"]

#: The limit of a discipline without a limit (`ether_setup` of net/ethernet/eth.c, DEFAULT_TX_QUEUE_LEN).
_TXQUEUELEN = (
    "the txqueuelen of the interface, which the text does not have; `ip link show` has it as qlen, 1,000 packets by "
    "default"
)
#: Disciplines whose default limit is the interface's.
_FIFOS = ("pfifo", "bfifo", "pfifo_head_drop")
#: Bounds of the bytes that a class of htb may send in turn, which is its rate over `r2q` (sch_htb.c).
_LEAST_TURN, _MOST_TURN = 1000, 200_000
_R2Q = 10.0
#: The framing that tc counts if no size table or option changes it.
_FRAME = Framing(HEADER)


def reading(roots: list[Node], assumed: Assumed) -> Reading:
    """The port of the disciplines of one interface, or of one direction of it."""
    with_queue = [root for root in roots if root.kind not in (*WITHOUT_QUEUE, PFIFO_FAST)]
    # The kernel gives pfifo_fast to every interface without another discipline.
    with_queue = with_queue or [root for root in roots if root.kind == PFIFO_FAST]
    direction: Direction = "upload"
    other: int | None = None
    found = _Reader(assumed)
    downloads = [root for root in with_queue if root.device.startswith("ifb")]
    uploads = [root for root in with_queue if root not in downloads]
    if downloads and len(with_queue) == len(downloads) + min(1, len(uploads)):
        direction = "upload" if uploads and assumed.direction != "download" else "download"
        with_queue, left = (uploads, downloads) if direction == "upload" else (downloads, uploads)
        if left:
            other = _Reader(assumed).shaper(left[0]).rate
            text = f"the {'download' if direction == 'upload' else 'upload'} of {left[0].device} is left out"
            found.how.append(text + ("" if other is None else f", {rate_text(other)}"))
    if len(with_queue) != 1:
        kinds = ", ".join(dict.fromkeys(root.kind for root in with_queue or roots)) or "none"
        found_roots = f"{len(with_queue)} roots" if with_queue else "no discipline with a queue"
        raise InputError(f"translate: found {found_roots} ({kinds}); allowed: the disciplines of one interface")
    return found.port(found.ring(with_queue[0]), direction, other)


@dataclass(slots=True)
class _Shaped:
    """A shaper: its rate, the node beneath it, and the layers whose bytes the rate and the limits count."""

    rate: int | None
    node: Node
    layer: str
    wire: Framing | None
    size: Framing = _FRAME
    division: Division | None = None
    members: dict[str, Node] = field(default_factory=dict)


@dataclass(slots=True)
class _Reader:
    """The conversion of a tree of disciplines to a port and its notes."""

    assumed: Assumed
    how: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    unsimulated: list[str] = field(default_factory=list)

    def port(self, root: Node, direction: Direction, other: int | None) -> Reading:
        """The port of a root."""
        shaper = self.shaper(root)
        if root.kind == "cake":
            self.unsimulated += unsimulated(root.options)
        queue = self.queue(shaper.node, "the link") if shaper.division is None else self.shared(shaper)
        if shaper.rate is not None:
            queue = of_ip(queue, shaper.size, self.assumed.packet, self.how)
        rate = shaper.rate or self.assumed.rate
        port = Port(rate, self.assumed.packet, queue, shaper.layer, wire=shaper.wire, direction=direction, other=other)
        return Reading(port, tuple(self.how), (), tuple(self.unknown), tuple(self.unsimulated))

    def ring(self, root: Node) -> Node:
        """The root, or the child of an mq, whose children are equal for each ring of the device."""
        if root.kind != "mq" or not root.children:
            return root
        first = root.children[0]
        if any((child.kind, child.options) != (first.kind, first.options) for child in root.children):
            raise InputError("translate: found mq with different disciplines; allowed: the discipline of one ring")
        self.how.append(f"mq has this discipline for each of {len(root.children)} rings of the device")
        return first

    def shaper(self, root: Node) -> _Shaped:
        """The shaper: its rate, the node beneath it, the layer that the rate counts, and an access line's framing."""
        stab = root.stab or Framing(0)
        if root.kind == "cake":
            bandwidth = root.options.get("bandwidth")
            framing = counted(root.options)
            rate = int(bandwidth) if isinstance(bandwidth, int | float) else None
            if framing is None and rate is None:
                return _Shaped(None, root, self.unshaped(_FRAME), None)
            return _Shaped(rate, root, *layer_of(framing or _FRAME, self.how, self.assumed.packet))
        size = Framing(HEADER + stab.overhead, stab.least, stab.cells)
        if root.kind not in ("tbf", "htb", "hfsc"):
            if size.least or size.cells != "none":
                return _Shaped(None, root, *layer_of(size, self.how, self.assumed.packet))
            return _Shaped(None, root, self.unshaped(size), None)
        if root.kind == "tbf":
            found = _Shaped(_rate_of(root, "rate"), next(iter(root.children), root), "", None)
            shaping = root
        else:
            found, shaping = self.classful(root)
        overhead = shaping.options.get("overhead", 0.0)
        assert isinstance(overhead, float), "overhead"
        least = shaping.options.get("mpu")
        most = max(int(least.amount) if isinstance(least, Limit) else 0, stab.least)
        in_cells = shaping.options.get("linklayer") in ("atm", "adsl") or stab.cells == "atm"
        framing = Framing(int(overhead) + HEADER + stab.overhead, most, "atm" if in_cells else "none")
        found.size = size
        if root.stab is None and root.is_output:
            self.how.append("tc shows a size table with -d only; none is assumed")
        if found.rate is None and not (overhead or most or in_cells):
            found.layer = self.unshaped(framing)
        else:
            found.layer, found.wire = layer_of(framing, self.how, self.assumed.packet)
        if found.node.kind == "tbf":
            limit = found.node.options.get("limit", _waiting(found.node))
            if not isinstance(limit, Limit):
                raise InputError("translate: found tbf without a limit or latency; allowed: one of them")
            self.how.append("tbf without a discipline beneath it is a bfifo of its limit")
            found.node = Node("bfifo", "", "", {"limit": limit}, found.node.line)
        return found

    def unshaped(self, framing: Framing) -> str:
        """The layer of the link's rate, if nothing shapes and tc counts packets with this framing."""
        layer, wire = layer_of(framing, [], self.assumed.packet)
        if wire is not None:
            self.how.append(f"bytes include {framing}")
        return layer

    def classful(self, root: Node) -> tuple[_Shaped, Node]:
        """The shaper that the classes of htb or hfsc form, and the class with the options on framing."""
        tops = _classes(root)
        if not tops:
            leaves = root.children
            if len(leaves) != 1:
                found = f"{root.kind} without classes" if not leaves else f"{root.kind} with {len(leaves)} disciplines"
                raise InputError(f"translate: found {found}; allowed: its classes, too, as `tc class show` prints them")
            return _Shaped(None, leaves[0], "", None), leaves[0]
        rate, node = (_htb_chain if root.kind == "htb" else _hfsc_chain)(root)
        members = _classes(node)
        if not members:
            return _Shaped(rate, self.beneath(node), "", None), tops[0]
        named = {member.handle: member for member in members}
        parts = (
            _htb_leaves(members, root)
            if root.kind == "htb"
            else [_hfsc_leaf(each, self.unsimulated) for each in members]
        )
        ordered = _ordered(parts, root)
        link = rate if rate is not None else self.assumed.rate
        if link is None and root.kind == "hfsc" and not any(leaf.floor or leaf.ceiling is not None for leaf in parts):
            link = int(sum(leaf.turn for leaf in parts))  # shares alone do not need the rate
        if link is None:
            raise InputError("found none; allowed: the link's rate, of which the classes have parts", "rate")
        division = divide("htb" if root.kind == "htb" else "hfsc", ordered, link)
        if _default(root) not in [_minor(name) for name in named]:
            does = "htb sends it past its classes, unshaped" if root.kind == "htb" else "hfsc drops it"
            self.unknown.append(f"default: what no filter takes, as there is no such class; {does}")
        self.unsimulated += division.unsimulated
        return _Shaped(rate, node, "", None, division=division, members=named), tops[0]

    def beneath(self, node: Node) -> Node:
        """The discipline of a class, by default a pfifo as long as the interface's queue (tc-htb(8))."""
        return node.children[-1] if node.children else Node("pfifo", "", node.handle, {}, node.line)

    def shared(self, shaped: _Shaped) -> Queue | Classes:
        """The classes of htb or hfsc."""
        assert shaped.division is not None, "classes that share"
        found = []
        for part in shaped.division.parts:
            leaf = self.beneath(_only_child(shaped.members[part.leaf.name]))
            queue = self.queue(leaf, part.leaf.name)
            if isinstance(queue, Classes):
                raise InputError("translate: found classes within classes; allowed: one level of them")
            found.append(TrafficClass(part.leaf.name, (), part.weight, queue, part.priority))
        self.how.append("each class has a buffer of its own")
        return Classes("dwrr", tuple(found))

    def queue(self, node: Node, where: str) -> Queue | Classes:
        """The queue of a discipline; `where` names the class in notes on unknown settings."""
        if node.kind in ("prio", "drr", "ets"):
            return self.turns(node)
        shapes = node.kind in ("tbf", "htb", "hfsc") or (node.kind == "cake" and "bandwidth" in node.options)
        if shapes and where != "the link":
            raise InputError(f"translate: found {node.kind} in {where}, which shapes; allowed: one shaper for the link")
        if node.kind == PFIFO_FAST and where == "the link":
            return self.three_bands()
        if node.kind not in ALL and node.kind != PFIFO_FAST:
            raise InputError(f"translate: found {node.kind} with nothing beneath it; allowed: a discipline beneath it")
        if node.kind == PFIFO_FAST or (node.kind in _FIFOS and "limit" not in node.options):
            bands = " for each of three bands" if node.kind == PFIFO_FAST else ""
            self.unknown.append(f"{where}: its buffer, {_TXQUEUELEN}{bands}")
            return Queue(UNKNOWN, Discipline("drophead" if node.kind == "pfifo_head_drop" else "droptail"))
        if node.kind == "fq":
            return self.paced(node, where)
        queue = ALL[node.kind].read(node.options, self.assumed.packet)
        inner = "" if where == "the link" else f"{where}: "
        queue = within_memory(node.kind, node.options, queue, self.assumed.packet, self.how, self.unsimulated, inner)
        if node.kind == "cake" and where != "the link":
            self.unsimulated += [f"{where}: {text}" for text in unsimulated(node.options)]
        if node.kind == "cake":
            counts = memory_text(node.options, self.assumed.packet)
        elif node.kind in ("bfifo", "red"):
            counts = (f"{node.kind} counts bytes",)
        else:
            counts = (f"{node.kind} counts packets of any size, {self.assumed.packet} bytes assumed",)
        self.how += [each for each in counts if each not in self.how]
        return queue

    def three_bands(self) -> Classes:
        """The bands of pfifo_fast, which holds `txqueuelen` packets in each (`pfifo_fast_init` of sch_generic.c)."""
        self.how.append("pfifo_fast has three bands of strict priority; packets without a priority go to band1")
        self.unknown.append(f"the buffer of each band, {_TXQUEUELEN}")
        queue = Queue(UNKNOWN, Discipline("droptail"))
        return Classes("strict", tuple(TrafficClass(f"band{number}", (), 1.0, queue) for number in range(3)))

    def paced(self, node: Node, where: str) -> Queue:
        """The queue of fq, which has one queue per flow and a limit of each that a scenario lacks (tc-fq(8))."""
        queue = ALL["fq"].read(node.options, self.assumed.packet)
        each = node.options.get("flow_limit", Limit(100, "packets"))
        assert isinstance(each, Limit), "flow_limit"
        for word in ("maxrate", "ce_threshold"):
            if word in node.options:
                self.unsimulated.append(f"{where}: {word} of fq")
        if each.amount >= queue.limit.amount:
            return queue
        self.unknown.append(
            f"{where}: its buffer, as fq holds at most {each} of a flow and {queue.limit} of all; "
            "with few flows it is the first, times their number"
        )
        return Queue(UNKNOWN, queue.discipline)

    def turns(self, node: Node) -> Queue | Classes:
        """The classes of prio, drr or ets."""
        members = self.drr_members(node) if node.kind == "drr" else _bands(node)
        queues = [(weight, self.queue(leaf, leaf.parent)) for weight, leaf in members]
        if node.kind == "drr" and len(queues) == HASHED and len({str(queue) for _, queue in queues}) == 1:
            first = queues[0][1]
            assert isinstance(first, Queue), "a fifo in each class"
            self.how.append(f"{HASHED:,} equal classes of drr are read as a queue for each flow")
            quantum = Limit(round(members[0][0] or 0), "bytes")
            return Queue(first.limit, Discipline("drr", {"drop": "tail", "quantum": quantum}))
        if not queues:
            raise InputError(f"translate: found {node.kind} without disciplines in its classes; allowed: one in each")
        least = min((weight for weight, _ in queues if weight is not None), default=1.0)
        if least <= 0:
            raise InputError(f"translate: found {node.kind} with a quantum of 0; allowed: at least one byte")
        strict = all(weight is None for weight, _ in queues)
        traffic_classes = []
        for number, (weight, queue) in enumerate(queues):
            if isinstance(queue, Classes):
                raise InputError("translate: found classes within classes; allowed: one level of them")
            share = 1.0 if weight is None else weight / least
            traffic_classes.append(TrafficClass(f"class{number}", (), share, queue, weight is None and not strict))
        self.how.append("each class has a buffer of its own")
        return Classes("strict" if strict else "dwrr", tuple(traffic_classes))

    def drr_members(self, node: Node) -> list[tuple[float | None, Node]]:
        """The classes of drr, with their quanta."""
        classes = sorted(_classes(node), key=lambda found: _minor(found.handle))
        if not classes:
            self.how.append("drr's weights are in `tc class show`; taken as equal")
            return [(1.0, leaf) for leaf in sorted(node.children, key=lambda leaf: _minor(leaf.parent))]
        found: list[tuple[float | None, Node]] = []
        for entry in classes:
            if not entry.children:
                raise InputError(
                    f"translate: found class {entry.handle} without a discipline; allowed: one in each class"
                )
            quantum = entry.options.get("quantum", Limit(1514, "bytes"))
            assert isinstance(quantum, Limit), "quantum"
            found.append((float(quantum.amount), entry.children[0]))
        return found


def layer_of(framing: Framing, how: list[str], packet: int) -> tuple[str, Framing | None]:
    """The layer whose bits a rate counts; "l3" and the framing if it is not a layer's."""
    _check_size(framing, packet)
    layers = {Framing(count): layer for layer, count in FRAMING.items()}
    if framing in layers:
        return layers[framing], None
    how.append(f"the rate counts {framing}")
    return "l3", framing


def _check_size(frame: Framing, packet: int) -> None:
    """Refuse an overhead that exceeds the size of a full packet."""
    if frame.on_wire(packet) < 1:
        raise InputError(
            f"translate: found {frame.overhead:,} bytes of framing beside IP; allowed: more than -{packet:,}, the size "
            "of a full packet"
        )


def of_ip(found: Queue | Classes, counts: Framing, packet: int, how: list[str]) -> Queue | Classes:
    """The queue or the classes with limits and thresholds in bytes of IP packets, if tc counts framing, too."""
    if counts == Framing(0):
        return found
    _check_size(counts, packet)
    part = Fraction(packet, counts.on_wire(packet))
    text = f"limits in bytes count {counts}, too, and are converted to bytes of IP packets"

    def level(value: Value) -> Value:
        if not isinstance(value, Limit) or value.unit != "bytes" or not value.known:
            return value
        if text not in how:
            how.append(text)
        return Limit(max(min(1, value.amount), round(value.amount * part)), "bytes")

    def queue(fitted: Queue) -> Queue:
        limit, parameters = level(fitted.limit), fitted.discipline.parameters
        assert isinstance(limit, Limit), "a limit"
        levels = {name: level(value) for name, value in parameters.items() if name in THRESHOLDS}
        return Queue(limit, fitted.discipline.having(**levels))

    if isinstance(found, Queue):
        return queue(found)
    members = (dataclasses.replace(entry, queue=queue(entry.queue)) for entry in found.classes)
    return Classes(found.schedule, tuple(members))


def _waiting(node: Node) -> Limit | None:
    """The limit that tc derives from a latency: the bytes that its rates send then, and a bucket (tc/q_tbf.c)."""
    latency = node.options.get("latency", node.options.get("lat"))
    if not isinstance(latency, Fraction):
        return None
    limits = []
    for rate, names in (("rate", ("burst", "buffer", "maxburst")), ("peakrate", ("mtu", "minburst"))):
        bits, bucket = node.options.get(rate), [node.options[name] for name in names if name in node.options]
        if isinstance(bits, int | float) and bucket and isinstance(bucket[0], Limit):
            limits.append(int(bits / 8 * float(latency) + bucket[0].amount))
    return Limit(min(limits), "bytes") if limits else None


# Classes of htb and hfsc.


def _classes(node: Node) -> list[Node]:
    return [child for child in node.children if child.is_class]


def _rate_of(node: Node, name: str) -> int | None:
    found = node.options.get(name)
    return int(found) if isinstance(found, int | float) else None


def _only_child(node: Node) -> Node:
    """The class at the end of a chain of classes; several children form a level that a scenario lacks."""
    while members := _classes(node):
        if len(members) > 1:
            raise InputError(
                f"translate: found classes within class {node.handle}; allowed: one level of them beneath the link's "
                "rate, as a scenario has no classes in classes"
            )
        node = members[0]
    return node


def _htb_rates(node: Node) -> tuple[int, int]:
    """A class's rate and ceiling."""
    rate = _rate_of(node, "rate")
    if rate is None:
        raise InputError(f"translate: found class {node.handle} of htb without a rate; allowed: a rate for each class")
    return rate, max(rate, _rate_of(node, "ceil") or rate)


def _htb_chain(root: Node) -> tuple[int, Node]:
    """The rate of the link, and the class whose children share it: classes at the root lend nothing (sch_htb.c)."""
    tops = _classes(root)
    if len(tops) > 1:
        names = ", ".join(top.handle for top in tops)
        raise InputError(
            f"translate: found classes {names} at the root of htb, where none lends to another, so that each is a "
            "link of its own; allowed: the lines of one of them, or a class above them"
        )
    node = tops[0]
    rate, _ = _htb_rates(node)
    while len(members := _classes(node)) == 1:
        node = members[0]
        own, ceiling = _htb_rates(node)
        rate = max(own, min(ceiling, rate))
    return rate, node


def _htb_leaves(members: list[Node], root: Node) -> list[Leaf]:
    ratio = root.options.get("r2q", _R2Q)
    assert isinstance(ratio, int | float), "r2q"
    leaves = []
    for member in members:
        leaf = _only_child(member)
        rate, ceiling = _htb_rates(member)
        if leaf is not member:
            own, most = _htb_rates(leaf)
            rate, ceiling = max(own, min(most, rate)), max(own, min(most, ceiling))
        quantum = leaf.options.get("quantum")
        turn = min(_MOST_TURN, max(_LEAST_TURN, rate / 8 / (ratio or _R2Q)))
        turn = float(quantum.amount) if isinstance(quantum, Limit) and quantum.amount else turn
        level = leaf.options.get("prio", 0.0)
        assert isinstance(level, int | float), "prio"
        leaves.append(Leaf(member.handle, Fraction(rate), Fraction(ceiling), Fraction(turn), int(level)))
    lowest = min(leaf.level for leaf in leaves)
    if all(leaf.level == lowest for leaf in leaves):
        return leaves
    return [
        Leaf(leaf.name, leaf.floor, leaf.ceiling, leaf.turn, leaf.level, first=leaf.level == lowest) for leaf in leaves
    ]


def _hfsc_chain(root: Node) -> tuple[int | None, Node]:
    """The rate that the upper classes allow, if they limit it, and the class whose children share it."""
    node, rates = root, list[int]()
    while len(members := _classes(node)) == 1:
        node = members[0]
        shares = "ls.m2" in node.options or "sc.m2" in node.options
        rate = _rate_of(node, "ul.m2") if shares else _rate_of(node, "rt.m2")
        rates += [] if rate is None else [rate]
    return min(rates, default=None), node


def _straight(leaf: Node, unsimulated: list[str]) -> None:
    """List the curves with another first slope, except real-time ones, whose first slope is a precedence."""
    for name, called in (("ls", "link-share"), ("ul", "upper-limit")):
        if leaf.options.get(f"{name}.d") and leaf.options.get(f"{name}.m1") != leaf.options.get(f"{name}.m2"):
            unsimulated.append(f"{leaf.handle}: the beginning of its {called} curve, of which the last slope is read")


def _hfsc_leaf(member: Node, unsimulated: list[str]) -> Leaf:
    leaf = _only_child(member)
    _straight(leaf, unsimulated)

    def slope(*names: str) -> int | None:
        return next((found for name in names if (found := _rate_of(leaf, name)) is not None), None)

    floor, turn = slope("rt.m2", "sc.m2") or 0, slope("ls.m2", "sc.m2")
    begins = slope("rt.m1", "sc.m1") or 0
    most = [found for node in {id(member): member, id(leaf): leaf}.values() if (found := _rate_of(node, "ul.m2"))]
    most += [floor] if turn is None else []
    ceiling = None if not most else Fraction(max(floor, min(most)))
    until = leaf.options.get("rt.d", leaf.options.get("sc.d", Fraction(0)))
    return Leaf(
        member.handle, Fraction(floor), ceiling, Fraction(turn or 0), first=begins > floor and until != Fraction(0)
    )


def _default(root: Node) -> int | None:
    """The number of the default class, which takes packets without a filter, in base 16."""
    text = str(root.options.get("default", "0")).removeprefix("0x").rpartition(":")[2]
    return int(text, 16) if re.fullmatch("[0-9a-fA-F]{1,8}", text) else None


def _ordered(leaves: list[Leaf], root: Node) -> list[Leaf]:
    """The leaves by level and handle, the default class last."""
    default = _default(root)
    return sorted(leaves, key=lambda leaf: (_minor(leaf.name) == default, leaf.level, _minor(leaf.name)))


#: Number of bands that the kernel allows (TCQ_PRIO_BANDS, TCQ_ETS_MAX_BANDS), and prio's default number.
MOST_BANDS = 16
DEFAULT_BANDS = 3


def _bands(node: Node) -> list[tuple[float | None, Node]]:
    """The bands of prio or ets that have their own discipline, with the quanta of those that take turns."""
    first = _integer_option(node, "strict", 0)
    quanta = [float(each) for each in str(node.options.get("quanta", "")).split()]
    count = _integer_option(node, "bands", DEFAULT_BANDS if node.kind == "prio" else first + len(quanta))
    least = max(2 if node.kind == "prio" else 1, first + len(quanta))
    if not least <= count <= MOST_BANDS:
        text = f" with {first} strict and {len(quanta)} quanta" if first or quanta else ""
        allowed = f"{least} to {MOST_BANDS}" if least <= MOST_BANDS else f"at most {MOST_BANDS}"
        raise Mistake(f"{node.kind} of {count} bands{text}", f"bands of {allowed}").error(node.line)
    quanta += [1514.0] * (count - first - len(quanta))
    weights = [None] * first + quanta if node.kind == "ets" else [None] * count
    leaves: dict[int, Node] = {}
    for leaf in (child for child in node.children if not child.is_class):
        band = _minor(leaf.parent)
        if not 1 <= band <= count or band in leaves:
            major = leaf.parent.partition(":")[0]
            twice = " twice" if band in leaves else ""
            allowed = f"{major}:1 to {major}:{count:x}, the bands of {node.kind}, each once"
            named = f"{leaf.parent}{'0' * leaf.parent.endswith(':')}"
            raise Mistake(f"a discipline below `{named}`{twice}", allowed).error(leaf.line)
        leaves[band] = leaf
    return [(weights[band - 1], leaves[band]) for band in sorted(leaves)]


def _integer_option(node: Node, name: str, default: int) -> int:
    found = node.options.get(name, default)
    assert isinstance(found, int | float), name
    return int(found)


def _minor(handle: str) -> int:
    minor = handle.partition(":")[2] or "0"
    if not re.fullmatch("[0-9a-fA-F]{1,4}", minor):
        raise InputError(f"translate: found the handle `{handle}`; allowed: up to four digits in base 16, as in 10:1f")
    return int(minor, 16)
