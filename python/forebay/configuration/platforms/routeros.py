"""MikroTik RouterOS: a queue type, and a queue tree on the interface that shapes.

MikroTik, "Queues" (help.mikrotik.com/docs/display/ROS/Queues): queue types and their properties, `/queue tree`,
`/queue interface`.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from forebay.configuration.access import Framing
from forebay.configuration.platforms.linux.cake import CAKE, memory_text, within_memory
from forebay.configuration.platforms.linux.kinds import KINDS, Draft, Reader
from forebay.configuration.platforms.linux.reader import layer_of
from forebay.configuration.platforms.linux.red import burst_of, shift_of
from forebay.configuration.platforms.linux.sharing import Leaf, divide
from forebay.configuration.platforms.linux.units import time_word
from forebay.configuration.platforms.platform import Assumed, Fitted, Reading, round_up_to_packets
from forebay.configuration.port import (
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
from forebay.configuration.reading import (
    Mistake,
    Words,
    closest,
    foreign,
    integer,
    on_line,
    signed,
    skipped_line,
    statements,
    suffixed,
)
from forebay.errors import InputError, UnsupportedError

__all__ = ["ROUTEROS", "RouterOs"]

_TIMES = {"s": Fraction(1), "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6), "m": Fraction(60)}
_RATES = {"": Fraction(1), "k": Fraction(10**3), "m": Fraction(10**6), "g": Fraction(10**9), "bps": Fraction(1)}
_RATES |= {"kbps": Fraction(10**3), "mbps": Fraction(10**6), "gbps": Fraction(10**9)}
_SIZES = {"": Fraction(1), "b": Fraction(1), "kib": Fraction(2**10), "mib": Fraction(2**20), "gib": Fraction(2**30)}


def _time(text: str) -> Value:
    return suffixed(text, _TIMES, "a time such as 5ms or 1s", None)


def _rate(text: str) -> float:
    return float(suffixed(text, _RATES, "a rate such as 16M or 512k", Fraction(1)))


def _size(text: str) -> Value:
    return Limit(int(suffixed(text, _SIZES, "a size such as 96000 or 32.0MiB", Fraction(1))), "bytes")


def _packets(text: str) -> Value:
    return Limit(integer(text, "a number of packets"), "packets")


def _count(text: str) -> Value:
    return float(integer(text))


def _signed(text: str) -> Value:
    return float(signed(text))


def _yes(text: str) -> Value:
    if text not in ("yes", "no"):
        raise Mistake(f"`{text}`", "yes or no", closest(text, ("yes", "no")))
    return text == "yes"


def _word(text: str) -> Value:
    return text


_CODEL: Mapping[str, Reader] = {"limit": _packets, "target": _time, "interval": _time, "ecn": _yes}
#: Readers of the properties of a queue type, by its kind; the kind's prefix is left out.
_PROPERTIES: Mapping[str, Mapping[str, Reader]] = {
    "pfifo": {"limit": _packets},
    "bfifo": {"limit": _size},
    "red": {
        **dict.fromkeys(("limit", "min-threshold", "max-threshold"), _packets),
        **dict.fromkeys(("burst", "avg-packet"), _count),
    },
    "sfq": {"allot": _count, "perturb": _time},
    "codel": _CODEL,
    "fq-codel": {**_CODEL, "flows": _count, "quantum": _count, "memlimit": _size},
    "cake": {
        **{"bandwidth": _rate, "rtt": _time, "memlimit": _size, "overhead": _signed, "mpu": _signed},
        **dict.fromkeys(("diffserv", "flowmode", "nat", "wash", "ack-filter", "overhead-scheme", "rtt-scheme"), _word),
        **dict.fromkeys(("autorate-ingress", "atm"), _word),
    },
}
_TREE: tuple[str, ...] = (
    "name",
    "parent",
    "queue",
    "max-limit",
    "limit-at",
    "priority",
    "packet-mark",
    "disabled",
    "comment",
)
_SIMPLE: tuple[str, ...] = (
    *(*_TREE, "target", "dst", "burst-limit", "burst-threshold", "burst-time", "bucket-size", "packet-marks", "time"),
    *("total-queue", "total-limit-at", "total-max-limit", "total-priority", "total-bucket-size", "place-before"),
    *("total-burst-limit", "total-burst-threshold", "total-burst-time"),
    # RouterOS 5 and before.
    *("direction", "dst-address", "interface", "target-addresses"),
)
_TREE = (*_TREE, "burst-limit", "burst-threshold", "burst-time", "bucket-size", "place-before")
#: Built-in queue types of RouterOS, whose contents only `/queue type print` shows.
_BUILT_IN = ("default-small", "default", "ethernet-default")
#: Limit of an sfq of RouterOS in packets, and its number of queues ("SFQ" in the source).
_SFQ_LIMIT, _SFQ_FLOWS = 128, 1024


@dataclass(frozen=True, slots=True)
class RouterOs:
    """/queue."""

    name: str = "routeros"
    title: str = "MikroTik RouterOS 7"
    source: str = "MikroTik, 'Queues' (help.mikrotik.com/docs/display/ROS/Queues): queue types, queue tree"
    quirks: tuple[str, ...] = (
        "replace ether1; FastTrack passes by every queue, so turn its rule off",
        "set max-limit=0 if the port has the link's rate",
        "uncertain: whether limits and rates count the 14 bytes of the Ethernet header",
    )
    disciplines: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: {
            "droptail": "pfifo or bfifo",
            "fq_codel": "fq-codel",
            "codel": "codel",
            "cake": "cake",
            "red": "red",
            "sfq": "sfq",
        }
    )
    shapes: bool = False
    accesses: bool = False
    pauses: Mapping[str, int] | None = None
    nearest: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: {
            **dict.fromkeys(("pie", "step", "cobalt", "choke", "dualpi2"), "codel"),
            **dict.fromkeys(("fq_pie", "drr", "stfq", "priority", "classes"), "fq_codel"),
        }
    )

    def fit(self, port: Port) -> Fitted:
        """Fit a port to what the Linux beneath RouterOS supports and RouterOS has a property for."""
        assert isinstance(port.queue, Queue), "a discipline without classes"
        kind = port.queue.discipline.kind
        draft = Draft(port.queue, name=self.name)
        layer = port.layer if kind == "cake" else "l3"
        changed = dataclasses.replace(port, layer=layer, memory=None, memory_alpha=None, memory_reserved=None)
        if kind == "droptail":
            KINDS["bfifo" if port.queue.limit.unit == "bytes" else "pfifo"].fit(draft, changed)
        elif kind == "cake":
            CAKE.fit(draft, changed)
        elif kind == "red":
            _fit_red(draft, port)
        elif kind == "sfq":
            _fit_sfq(draft, port)
        else:
            KINDS[kind].fit(draft, changed)
            if kind == "fq_codel":
                draft.set("batch", 64.0, "fixed by the kernel")
        reasons = {
            "rate_layer": "RouterOS knows no overhead of a shaper, but in cake",
            **dict.fromkeys(("memory", "memory_alpha", "memory_reserved"), "ports of Linux share no memory"),
        }
        return Fitted(changed.with_queue(draft.queue), reasons | draft.reasons, tuple(draft.notes))

    def write(self, port: Port) -> list[str]:
        """The commands."""
        assert isinstance(port.queue, Queue), "a discipline without classes"
        kind, properties = _written(port, port.queue)
        prefix = f"{kind}-"
        text = " ".join(f"{prefix}{name}={value}" for name, value in properties.items())
        lines = ["/queue type", f"add name=forebay kind={kind} {text}"]
        if kind == "cake":
            return [*lines, "/queue interface", "set ether1 queue=forebay"]
        limit = _rate_word(port.bits_per_second)
        return [*lines, "/queue tree", f"add name=forebay parent=ether1 queue=forebay max-limit={limit}"]

    def read(self, text: str, assumed: Assumed) -> Reading:
        """Commands of `/queue`, as typed or as `/export` prints them, or a line of `/queue type print`."""
        return _reading(text, assumed)


def _fit_red(draft: Draft, port: Port) -> None:
    why = f"RouterOS counts packets, here of {port.packet} bytes"
    draft.limit(round_up_to_packets(draft.queue.limit, port.packet), why)
    least = max(round_up_to_packets(draft.discipline.level("min"), port.packet).amount, 2)
    most = max(round_up_to_packets(draft.discipline.level("max"), port.packet).amount, least + 1)
    if most >= 2**20:
        raise UnsupportedError(f"routeros does not support red with max = {most:,} packets; allowed: below {2**20:,}")
    draft.set("min", Limit(int(least), "packets"), f"{why}, at least two")
    draft.set("max", Limit(int(most), "packets"), f"{why}, more than min")
    draft.set("max_p", 0.02, "RouterOS has no setting; that of Linux by default is assumed")
    for name in ("gentle", "wait", "adaptive"):
        draft.set(name, value=False, why=f"RouterOS's red does not have it; simulate link.queue.{name} = false")
    draft.set("bottom", 0.01, "nothing adapts")
    draft.set("top", 0.5, "nothing adapts")
    required = min(20, max(1, round(-math.log2(draft.discipline.number("weight")))))
    shifts = sorted(range(1, 21), key=lambda shift: (abs(shift - required), shift))
    shift = next(shift for shift in shifts if burst_of(shift, float(least)) is not None)
    draft.set("weight", 2.0**-shift, "the kernel keeps the average as a shift, so weights are powers of two")
    if draft.discipline.ecn:
        draft.queue = Queue(draft.queue.limit, Discipline("red", draft.discipline.parameters))
        draft.reasons["ecn"] = "RouterOS's red does not mark"


def _fit_sfq(draft: Draft, port: Port) -> None:
    limit = round_up_to_packets(draft.queue.limit, port.packet)
    if limit.amount > _SFQ_LIMIT:
        raise UnsupportedError(f"routeros does not support sfq with {limit}; allowed: up to {_SFQ_LIMIT} packets")
    draft.limit(Limit(_SFQ_LIMIT, "packets"), "an sfq of RouterOS holds 128 packets")
    draft.set("flows", float(_SFQ_FLOWS), "an sfq of RouterOS has 1,024 queues")
    draft.within("quantum", 64, 32767, "from 64 to 32,767 bytes")
    draft.set("perturb", Fraction(math.ceil(draft.discipline.time("perturb"))), "whole seconds")
    draft.set("drop", "tail", "RouterOS has no other")


def _written(port: Port, queue: Queue) -> tuple[str, dict[str, object]]:
    """The kind of a queue type and its properties."""
    discipline = queue.discipline
    limit = queue.limit.amount
    if discipline.kind == "droptail":
        return ("bfifo" if queue.limit.unit == "bytes" else "pfifo"), {"limit": limit}
    if discipline.kind == "sfq":
        return "sfq", {"allot": discipline.level("quantum").amount, "perturb": f"{discipline.time('perturb')}s"}
    if discipline.kind == "red":
        least = discipline.level("min").amount
        burst = burst_of(round(-math.log2(discipline.number("weight"))), float(least))
        levels = {"limit": limit, "min-threshold": least, "max-threshold": discipline.level("max").amount}
        return "red", {**levels, "burst": burst, "avg-packet": port.packet}
    if discipline.kind == "cake":
        rate = {"bandwidth": _rate_word(port.bits_per_second), "rtt": time_word(discipline.time("interval"))}
        rest = {"overhead": port.framing, "diffserv": "besteffort"}
        return "cake", {**rate, **rest, "flowmode": "triple-isolate"}
    times: dict[str, object] = {name: time_word(discipline.time(name)) for name in ("target", "interval")}
    found = {"limit": limit, **times, "ecn": "yes" if discipline.ecn else "no"}
    if discipline.kind == "fq_codel":
        found |= {"flows": round(discipline.number("flows")), "quantum": discipline.level("quantum").amount}
    return discipline.kind.replace("_", "-"), found


def _rate_word(bits: int) -> str:
    for power, unit in ((9, "G"), (6, "M"), (3, "k")):
        if bits % 10**power == 0 and bits >= 10**power:
            return f"{bits // 10**power}{unit}"
    return str(bits)


# Reading.

_MENUS = {"type": None, "tree": _TREE, "simple": _SIMPLE, "interface": ("queue",)}


@dataclass(frozen=True, slots=True)
class _Shaped:
    """A queue that shapes: its types, the rates of the upload and the download, and its line.

    A queue of a tree also has a name, the name of its parent, a guaranteed rate, and a priority.
    """

    queues: tuple[str, str]
    rates: tuple[int, int]
    line: int
    simple: bool
    name: str = ""
    parent: str = ""
    floor: int = 0
    level: int = 8


@dataclass(slots=True)
class _Statements:
    """The content of the statements of a text."""

    types: dict[str, tuple[str, dict[str, Value], int]] = dataclasses.field(default_factory=dict)
    others: dict[str, str] = dataclasses.field(default_factory=dict)
    disabled: list[int] = dataclasses.field(default_factory=list)
    shaped: list[_Shaped] = dataclasses.field(default_factory=list)


def _reading(text: str, assumed: Assumed) -> Reading:
    parsed, skipped = _Statements(), list[str]()
    menu: str | None = "type"
    for line in statements(_joined(text)):
        words = Words(line)
        if words.peek().startswith("/"):
            menu = _menu(words)
            if not words.more:
                continue
        if menu is None:
            skipped.append(skipped_line(line))
            continue
        if words.peek() in ("add", "set"):
            words.take("")
        elif re.fullmatch("[0-9]+", words.peek()):
            words.take("")
            words.skip("*", "X", "D")
        _statement(words, menu, parsed)
    skipped += [f"line {line}: a queue that is disabled" for line in parsed.disabled]
    return dataclasses.replace(_together(parsed, assumed), skipped=tuple(skipped))


def _joined(text: str) -> str:
    """The text with lines joined after a backslash, even within a word; the other lines keep their numbers."""

    def join(match: re.Match[str]) -> str:
        parts = re.split(r"\\\n[ \t]*", match[0])
        return "".join(parts) + "\n" * (len(parts) - 1)

    # The pattern starts at the beginning of a line and matches no line twice, so the time is linear.
    return re.sub(r"^(?:[^\n]*\\\n)+[^\n]*", join, text, flags=re.MULTILINE)


def _menu(words: Words) -> str | None:
    """`/queue type`, `/queue/type`, or `/queue tree add`; None for a menu without queues."""
    path = words.take("").strip("/").split("/")
    if foreign(path[0], frozenset(["queue"])):
        return None
    if path[0] != "queue":
        words.at -= 1
        words.fail("/queue type, /queue tree, /queue simple or /queue interface", ["/queue"])
    menu = path[1] if len(path) > 1 else words.keyword(tuple(_MENUS))
    if menu not in _MENUS:
        words.at -= 1
        words.fail(", ".join(_MENUS), _MENUS)
    return menu


def _statement(words: Words, menu: str, parsed: _Statements) -> None:
    """`name=forebay kind=pfifo pfifo-limit=64`."""
    line = words.line
    pairs: dict[str, tuple[str, int]] = {}
    while words.more:
        name, sign, value = words.take("").partition("=")
        if not sign and menu == "interface":
            continue  # the interface
        if not sign:
            words.at -= 1
            words.fail("name=value")
        pairs[name] = (value, line)
    if menu == "type":
        _type(pairs, parsed, line)
        return
    known = _MENUS[menu] or ()
    for name in pairs:
        if name not in known:
            raise Mistake(f"`{name}`", ", ".join(known), closest(name, known)).error(line)
    if pairs.get("disabled", ("no", line))[0] == "yes":
        parsed.disabled.append(line)
        return
    up, sign, down = pairs.get("max-limit", ("0", line))[0].partition("/")
    first, apart, second = pairs.get("queue", ("default-small" if menu != "interface" else "", line))[0].partition("/")
    with on_line(line):
        rates = [_rate(text) for text in (up, down if sign else up)]
    whole_rates = [int(rate) if isinstance(rate, int | float) else 0 for rate in rates]
    queues = (first, second if apart else first)
    shaped = _Shaped(queues, (whole_rates[0], whole_rates[1]), line, menu == "simple")
    if menu == "tree":
        with on_line(line):
            floor = _rate(pairs.get("limit-at", ("0", line))[0])
            level = integer(pairs.get("priority", ("8", line))[0], "a priority", least=1, most=8)
        name, parent = (pairs.get(each, ("", line))[0] for each in ("name", "parent"))
        shaped = dataclasses.replace(
            shaped, name=name, parent=parent, floor=int(floor) if isinstance(floor, int | float) else 0, level=level
        )
    parsed.shaped.append(shaped)


def _type(pairs: Mapping[str, tuple[str, int]], parsed: _Statements, line: int) -> None:
    kind = pairs.get("kind", ("", line))[0]
    if not kind:
        # A single property implies its kind.
        kind = next(
            (
                known
                for known in sorted(_PROPERTIES, key=len, reverse=True)
                if any(name.startswith(f"{known}-") for name in pairs)
            ),
            "",
        )
    if kind not in _PROPERTIES:
        if kind in ("pcq", "mq-pfifo", "none") and "name" in pairs:
            parsed.others[pairs["name"][0]] = kind
            return
        raise Mistake(f"kind `{kind}`", ", ".join(_PROPERTIES), closest(kind, _PROPERTIES)).error(line)
    readers = {f"{kind}-{name}": reader for name, reader in _PROPERTIES[kind].items()}
    found: dict[str, Value] = {}
    for name, (value, at) in pairs.items():
        if name in ("name", "kind", "comment"):
            continue
        if name not in readers:
            raise Mistake(f"`{name}`", ", ".join(readers), closest(name, readers)).error(at)
        if value:
            with on_line(at):
                found[name.removeprefix(f"{kind}-")] = readers[name](value)
    parsed.types[pairs.get("name", ("", line))[0]] = (kind, found, line)


def _together(seen: _Statements, assumed: Assumed) -> Reading:
    rate: int | None = None
    if len(seen.shaped) > 1 and all(each.name and each.parent for each in seen.shaped):
        return _tree(seen, assumed)
    if len(seen.shaped) > 1:
        raise InputError(
            f"translate: found {len(seen.shaped)} queues; allowed: one that shapes the interface, or a tree of queues"
        )
    direction: Direction = "upload"
    other: int | None = None
    how: list[str] = []
    if seen.shaped:
        shaped = seen.shaped[0]
        way = 1 if shaped.simple and assumed.direction == "download" else 0
        name, rate, line = shaped.queues[way], shaped.rates[way] or None, shaped.line
        if shaped.simple:
            direction, other = ("download" if way else "upload"), shaped.rates[1 - way] or None
            back = "upload" if way else "download"
            how += [] if other is None else [f"the {back}, {rate_text(other)}, is left out"]
        if name in _BUILT_IN and name not in seen.types:
            stated = Queue(UNKNOWN, Discipline("droptail"))
            missing = f"its buffer, that of the queue type {name}; /queue type print shows it"
            port = Port(rate or assumed.rate, assumed.packet, stated, direction=direction, other=other)
            return Reading(port, tuple(how), unknown=(missing,))
        kind, found, line = _type_of(name, line, seen)
    elif len(seen.types) == 1:
        kind, found, line = next(iter(seen.types.values()))
    else:
        raise InputError(
            f"translate: found {len(seen.types)} queue types and no queue; allowed: one type, or a queue that names one"
        )
    with on_line(line):
        queue = _queue(kind, found, assumed)
    layer, wire = "l3", None
    bandwidth = found.get("bandwidth", 0.0) if kind == "cake" else 0.0
    assert isinstance(bandwidth, float), "bandwidth"
    if bandwidth:
        rate = int(bandwidth)
        counted, least = (found.get(name, default) for name, default in (("overhead", 14.0), ("mpu", 0.0)))
        assert isinstance(counted, float), "overhead"
        assert isinstance(least, float), "mpu"
        layer, wire = layer_of(Framing(int(counted), max(0, int(least))), how, assumed.packet)
    counts = [f"{kind} counts packets of any size, {assumed.packet} bytes assumed"]
    if kind == "cake":
        counts = list(memory_text(_of_cake(found, assumed), assumed.packet))
    elif kind == "bfifo":
        counts = ["bfifo counts bytes"]
    left_out: list[str] = []
    queue = within_memory(kind, found, queue, assumed.packet, how, left_out)
    if kind == "cake":
        tins = str(found.get("diffserv", "diffserv3"))
        left_out += [f"{tins} of cake"] if tins != "besteffort" else []
        left_out += [f"{name} of cake" for name in ("nat", "wash") if found.get(name) == "yes"]
        left_out += ["ack-filter of cake"] if found.get("ack-filter", "none") != "none" else []
    port = Port(rate or assumed.rate, assumed.packet, queue, layer, wire=wire, direction=direction, other=other)
    return Reading(port, (*counts, *how), unsimulated=tuple(left_out))


def _type_of(name: str, line: int, parsed: _Statements) -> tuple[str, dict[str, Value], int]:
    """The queue type of a name, which the text must define."""
    if name in parsed.others or name.startswith("pcq-"):
        kind = parsed.others.get(name, "pcq")
        raise Mistake(f"a queue of the kind `{kind}`, which is not simulated", ", ".join(_PROPERTIES)).error(line)
    if name not in parsed.types:
        known = ", ".join(parsed.types) or "none is there"
        raise Mistake(f"queue `{name}`", f"a queue type of the text: {known}", closest(name, parsed.types)).error(line)
    return parsed.types[name]


def _tree(parsed: _Statements, assumed: Assumed) -> Reading:
    """A tree of queues below one that shapes the link, as classes.

    Manual:HTB of MikroTik's wiki: only queues without children hold packets, and all of them are equal. Each gets its
    `limit-at` at any time; the rest goes to the lowest `priority` first, up to its `max-limit`.
    """
    names = {each.name for each in parsed.shaped}
    roots = [each for each in parsed.shaped if each.parent not in names]
    parents = {each.parent for each in parsed.shaped}
    inner = [each for each in parsed.shaped if each.name in parents]
    leaves = [each for each in parsed.shaped if each.name not in parents]
    if len(names) < len(parsed.shaped) or len(roots) != 1 or inner != roots:
        found = ", ".join(each.name for each in parsed.shaped)
        raise InputError(
            f"translate: found the queues {found}; allowed: one with max-limit and queues whose parent it is"
        )
    rate = roots[0].rates[0] or assumed.rate
    if rate is None:
        raise InputError("found none; allowed: the link's rate, as the uppermost queue has no max-limit", "rate")
    if len(leaves) < 2:
        raise InputError(f"translate: found one queue below `{roots[0].name}`; allowed: two or more, or none")
    division = divide(
        "htb",
        [
            Leaf(
                each.name,
                Fraction(each.floor),
                Fraction(each.rates[0]) if each.rates[0] else None,
                Fraction(1),
                each.level,
            )
            for each in leaves
        ],
        rate,
    )
    how = [f"{len(leaves)} queues of a tree with {rate_text(rate)}"]
    traffic_classes, unknown, left_out = [], list[str](), list(division.unsimulated)
    for part, each in zip(division.parts, leaves, strict=True):
        name = each.queues[0]
        if name in _BUILT_IN and name not in parsed.types:
            queue = Queue(UNKNOWN, Discipline("droptail"))
            unknown.append(f"{each.name}: its buffer, that of the queue type {name}; /queue type print shows it")
        else:
            kind, found_, line = _type_of(name, each.line, parsed)
            if kind == "cake":
                raise Mistake(f"cake in the queue `{each.name}`", "another kind, as cake shapes by itself").error(line)
            with on_line(line):
                queue = _queue(kind, found_, assumed)
            queue = within_memory(kind, found_, queue, assumed.packet, how, left_out, f"{each.name}: ")
        traffic_classes.append(TrafficClass(each.name, (), part.weight, queue, part.priority))
    port = Port(rate, assumed.packet, Classes("dwrr", tuple(traffic_classes)))
    return Reading(port, tuple(how), (), tuple(unknown), tuple(left_out))


def _queue(kind: str, found: Mapping[str, Value], assumed: Assumed) -> Queue:
    if kind in ("codel", "fq-codel"):
        options = {name: value for name, value in found.items() if name not in ("ecn", "memlimit")}
        if isinstance(quantum := options.get("quantum"), float):
            options["quantum"] = Limit(int(quantum), "bytes")
        marks = found.get("ecn", kind == "fq-codel")
        options["ecn" if marks else "noecn"] = True
        return KINDS[kind.replace("-", "_")].read(options, assumed.packet)
    if kind == "cake":
        return CAKE.read(_of_cake(found, assumed), assumed.packet)
    if kind == "sfq":
        allot, perturb = found.get("allot", 1514.0), found.get("perturb", Fraction(5))
        assert isinstance(allot, float), "allot"
        values: dict[str, Value] = {
            "flows": 1024.0,
            "quantum": Limit(int(allot), "bytes"),
            "perturb": perturb,
            "drop": "tail",
        }
        return Queue(Limit(_SFQ_LIMIT, "packets"), Discipline("sfq", values))
    if kind == "red":
        return _read_red(found)
    limit = found.get("limit")
    if not isinstance(limit, Limit):
        raise Mistake("no limit", f"{kind}-limit and a number")
    return Queue(limit, Discipline("droptail"))


def _of_cake(found: Mapping[str, Value], assumed: Assumed) -> dict[str, Value]:
    """The options of cake in tc's words."""
    options = {name: value for name, value in found.items() if name in ("bandwidth", "rtt", "memlimit")}
    options["bandwidth"] = options.get("bandwidth") or float(assumed.rate or 0)
    return options


def _read_red(found: Mapping[str, Value]) -> Queue:
    """The queue of red, with RouterOS's own defaults ("synchronous-default")."""
    levels = {"limit": 60, "min-threshold": 10, "max-threshold": 50}
    limit, least, most = (found.get(name, Limit(value, "packets")) for name, value in levels.items())
    assert isinstance(limit, Limit), "red-limit"
    assert isinstance(least, Limit), "red-min-threshold"
    burst = found.get("burst", 20.0)
    assert isinstance(burst, float), "red-burst"
    shift = shift_of(int(burst), float(least.amount))
    if shift is None:
        raise Mistake(f"burst {burst:g}", f"a burst of at least {least}")
    values: dict[str, Value] = {"min": least, "max": most, "max_p": 0.02, "weight": 2.0**-shift}
    values |= {"gentle": False, "adaptive": False, "bottom": 0.01, "top": 0.5, "wait": False}
    return Queue(limit, Discipline("red", values))


ROUTEROS = RouterOs()
