"""Statements of tc as a tree of disciplines and classes, written, and read from commands or from tc's output."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from forebay.configuration.access import Framing
from forebay.configuration.platforms.linux.cake import CAKE
from forebay.configuration.platforms.linux.kinds import KINDS, Kind, Options, Reader
from forebay.configuration.platforms.linux.red import CHOKE, RED
from forebay.configuration.platforms.linux.script import commands
from forebay.configuration.platforms.linux.units import count, rate, size, time
from forebay.configuration.port import Limit, Value
from forebay.configuration.reading import (
    Mistake,
    Words,
    foreign,
    json_text,
    on_line,
    signed,
    skipped_line,
    statements,
)

__all__ = ["ALL", "PFIFO_FAST", "WITHOUT_QUEUE", "Node", "fragment", "options_of", "parse"]

#: Every discipline that is read, without shapers and classful disciplines.
ALL: Mapping[str, Kind] = {**KINDS, "red": RED, "choke": CHOKE, "cake": CAKE}


def _signed(text: str) -> float:
    return float(signed(text, "bytes per packet", most=65535))


def _burst(text: str) -> Value:
    """A size, with the size of its cells where tc prints them."""
    return size(text.partition("/")[0])


def _latency(text: str) -> Value:
    """A latency as tc prints it, with an exponent where it is long: "2.22e+03s"."""
    number, sign, rest = text.partition("e+")
    if not sign:
        return time(text)
    exponent = rest.rstrip("smu")
    if not (exponent.isdigit() and len(exponent) <= 2):
        raise Mistake.word(text, "a time such as 50ms")
    return time(f"{number}{rest[len(exponent) :]}") * Fraction(10 ** int(exponent))


def _word(text: str) -> Value:
    return text


_SHAPING: Mapping[str, Reader | None] = {
    "rate": rate,
    "burst": _burst,
    "buffer": _burst,
    "maxburst": _burst,
    "mpu": size,
    "mtu": _burst,
    "overhead": _signed,
    "linklayer": _word,
}
#: The service curves of a class of hfsc, and the forms of one: two slopes, or work in a time and a slope.
_CURVES = ("rt", "ls", "sc", "ul")
_POINTS: Mapping[str, Reader] = {"m1": rate, "d": time, "m2": rate, "umax": size, "dmax": time, "rate": rate}
#: Options of disciplines with a class or classes, and of classes.
_FRAMES: Mapping[str, Mapping[str, Reader | None]] = {
    "tbf": {**_SHAPING, "limit": size, "latency": time, "lat": _latency, "peakrate": rate, "minburst": _burst},
    "htb": {
        **dict.fromkeys(("r2q", "direct_qlen"), count),
        **dict.fromkeys(("default", "direct_packets_stat", "ver"), _word),
        "offload": None,
    },
    "htb class": {
        **_SHAPING,
        **{"ceil": rate, "cburst": _burst, "cbuffer": _burst, "prio": count, "quantum": size, "level": count},
    },
    "hfsc": {"default": _word},
    "prio": {"bands": count, "priomap": None},
    "ets": {"bands": count, "strict": count, "quanta": None, "priomap": None},
    "drr": {},
    "mq": {},
    "drr class": {"quantum": size},
    "hfsc class": dict.fromkeys(_CURVES),
}


@dataclass(slots=True)
class Node:
    """A discipline or a class: `parent` is the handle of its parent, empty at the root.

    `is_output` is true for tc's output, and false for a command.
    """

    kind: str
    handle: str
    parent: str
    options: Options
    line: int | None
    stab: Framing | None = None
    is_class: bool = False
    device: str = ""
    is_output: bool = False
    children: list[Node] = field(default_factory=list)


def parse(text: str, skipped: list[str]) -> list[Node]:
    """The roots of a text of commands or of `tc qdisc show`; other lines are added to `skipped`."""
    if text.lstrip().startswith("["):
        return _grown(_printed(text))
    return _grown(_nodes(text, skipped))


def _grown(nodes: Iterable[Node]) -> list[Node]:
    """Attach every node to its parent."""
    every = list(nodes)
    roots: list[Node] = []
    by_handle = {node.handle: node for node in every if node.handle}
    # A handle belongs to one device; tc prints classes without the device.
    by_handle |= {f"{node.device} {node.handle}": node for node in every if node.handle}

    def known(node: Node, handle: str) -> Node | None:
        own = by_handle.get(f"{node.device} {handle}")
        other = by_handle.get(handle)
        return own or (other if other is None or "" in (node.device, other.device) else None)

    rings = {node.device: node for node in every if node.kind == "mq"}
    for node in every:
        # The disciplines of rings hang on `:1` and so on, and mq has no handle of its own by which to find it.
        parent = rings.get(node.device) if node.parent.startswith(":") else known(node, node.parent)
        if parent is None and node.parent:
            # A class that was not printed: 1:1 belongs to 1:, and :1 to 0:.
            parent = known(node, (node.parent.partition(":")[0] or "0") + ":")
        if parent is None or parent is node:
            roots.append(node)
        else:
            parent.children.append(node)
    return roots


# Commands and plain output.


def _nodes(text: str, skipped: list[str]) -> Iterator[Node]:
    shown: Node | None = None
    for line in commands(statements(text)):
        words = Words(line)
        second = line[1].text if len(line) > 1 else ""
        if words.skip("tc") or (words.peek() in _OBJECTS and second in _VERBS):
            if "filter" in [word.text for word in line[:4]]:
                skipped.append(skipped_line(line))
            yield from _command(words)
        elif words.peek() == "class" and second in _FLOWS:
            continue
        elif words.peek() in ("qdisc", "class"):
            shown = _parse_shown_node(words)
            yield shown
        elif words.peek() in _STATISTICS:
            continue
        elif words.peek() == "linklayer":
            table = _table(words)
            if shown is not None:
                shown.stab = table
        elif words.peek() in _HARMLESS or foreign(words.peek(), _BEGINNINGS):
            skipped.append(skipped_line(line))
        else:
            words.fail("tc, qdisc, class, or a discipline with its options", ["tc", "qdisc", "class", *ALL])


#: The objects of commands, and the actions on them.
_OBJECTS = ("qdisc", "class", "filter")
_CHANGES = ("add", "replace", "change", "link")
_VERBS = (*_CHANGES, "del", "delete", "show", "ls", "list", "get")
#: Disciplines whose queues `tc class show` prints as classes.
_FLOWS = frozenset([*ALL, "prio", "ets", "mq", "tbf", "multiq", "mqprio"])
#: The first words of the lines of statistics that `tc -s` prints.
_STATISTICS = frozenset(
    [
        "Sent",
        "backlog",
        "marked",
        "early",
        "new_flows_len",
        "maxpacket",
        "new_flow_count",
        "count",
        "lended",
        "tokens",
        "deficit",
        "rate",
        "prob",
        "delay",
        "pkts_in",
        "pkts_in:",
        "ecn_mark",
        "dropped_overlimit",
        "old_flows",
        "memory",
        "capacity",
        "min/max",
        "average",
        "requeues",
        "target",
        "window",
        "drop_next",
        "direct_packets_stat",
        "used:",
        *("lended:", "tokens:", "period", "flows", "gc", "throttled", "band0_pkts", "highprio", "ce_mark"),
    ]
)
#: Other commands beside those of tc, which do not concern a queue.
_HARMLESS = frozenset(("ethtool", "sudo", "ip", "modprobe"))


#: Words that begin a statement, and words from within a statement that was cut there.
_BEGINNINGS = frozenset(
    [
        *("tc", "qdisc", "class", "linklayer", "for", "do", "done"),
        *ALL,
        *(option for kind in ALL.values() for option in kind.options),
    ]
)


def _command(words: Words) -> Iterator[Node]:
    while words.peek().startswith("-"):
        words.take("")
    what = words.keyword(_OBJECTS)
    if what == "filter":
        return
    if words.keyword(_VERBS) not in _CHANGES:
        return
    yield _object(words, what)


def _parse_shown_node(words: Words) -> Node:
    """`qdisc tbf 1: dev eth0 root refcnt 2 rate 16Mbit ...` or `class htb 1:1 root prio 0 rate ...`."""
    what = words.take("")
    kind = _kind(words, what)
    handle = words.take("a handle such as 1:")
    node = Node(kind, _handle(handle, what), "", {}, words.line, is_class=what == "class", is_output=True)
    while words.peek() in ("dev", "root", "parent", "refcnt", "leaf", "offloaded"):
        place = words.take("")
        if place in ("dev", "refcnt", "leaf"):
            given = words.take(f"a word after {place}")
            node.device = given if place == "dev" else node.device
        if place == "parent":
            node.parent = _normalized_handle(words.take("a handle such as 1:1"))
    if node.is_class and not node.parent:
        node.parent = node.handle.partition(":")[0] + ":"
    node.options = _options(words, kind, what)
    return node


def _kind(words: Words, what: str) -> str:
    _refuse_path(words)
    return words.keyword(_KNOWN[what])


def _handle(text: str, what: str) -> str:
    return _normalized_handle(text if ":" in text or what == "class" else f"{text}:")


def _normalized_handle(text: str) -> str:
    """A handle in tc's notation: `1:0` is `1:`, and `1:010` is `1:10`."""
    major, colon, minor = text.partition(":")
    if not colon or not major or not re.fullmatch("[0-9a-fA-F]*", minor):
        return text
    return f"{major.lstrip('0') or '0'}:{minor.lower().lstrip('0')}"


def _refuse_path(words: Words) -> None:
    """Refuse a discipline that delays and drops like a path, because it is no queue of a router."""
    if words.peek() == "netem":
        allowed = "a queue discipline (netem is a path: its delay is the flows' rtt, its rate the link's)"
        raise Mistake("`netem`", allowed).error(words.line)


def _object(words: Words, what: str) -> Node:
    node = Node("", "", "", {}, words.line, is_class=what == "class")
    known = _KNOWN[what]
    while words.peek() not in known:
        _refuse_path(words)
        place = words.keyword((*_PLACES[what], *known) if words.peek() not in _PLACES[what] else _PLACES[what])
        if place == "stab":
            node.stab = _table(words)
        elif place != "root":
            given = words.take(f"a word after {place}")
            if place == "parent":
                node.parent = "" if given == "root" else _normalized_handle(given)
            elif place == "dev":
                node.device = given
            elif place in ("handle", "classid"):
                node.handle = _handle(given, what)
    node.kind = words.take("")
    node.options = _options(words, node.kind, what)
    return node


#: Disciplines without a queue that forebay simulates; their options are ignored.
WITHOUT_QUEUE = ("noqueue", "ingress", "clsact")
#: The default discipline of an interface; its options are the kernel's own.
PFIFO_FAST = "pfifo_fast"
#: The disciplines and classes that are read.
_KNOWN: Mapping[str, tuple[str, ...]] = {
    "qdisc": (*ALL, *(name for name in _FRAMES if " " not in name), *WITHOUT_QUEUE, PFIFO_FAST),
    "class": ("htb", "hfsc", "drr"),
}
_PLACES = {
    "qdisc": ("dev", "root", "parent", "handle", "stab"),
    "class": ("dev", "root", "parent", "classid"),
}


def _table(words: Words) -> Framing:
    """A size table that adds to every packet: `overhead -14 linklayer ethernet`."""
    overhead, least, cells = 0, 0, False
    while words.peek() in ("overhead", "linklayer", "mpu", "mtu", "tsize"):
        name = words.take("")
        if name == "overhead":
            overhead = int(words.value(_signed))
        elif name == "linklayer":
            cells = words.keyword(["ethernet", "atm", "adsl"]) != "ethernet"
        else:
            amount = words.value(size)
            least = int(amount.amount) if name == "mpu" else least
    return Framing(overhead, least, "atm" if cells else "none")


def _options(words: Words, kind: str, what: str) -> Options:
    name = f"{kind} class" if what == "class" else kind
    line = words.line
    if kind in (*WITHOUT_QUEUE, PFIFO_FAST):
        words.at = len(words.words)
        return {}
    found = _raw(words, _FRAMES[name] if name in _FRAMES else ALL[kind].options)
    if kind in ALL and what == "qdisc":
        _checked(kind, found, line)
    return found


def _raw(words: Words, readers: Mapping[str, Reader | None]) -> dict[str, Value]:
    """Options up to the end of the statement."""
    found: dict[str, Value] = {}
    while words.more:
        option = words.keyword(readers)
        reader = readers[option]
        if option in _CURVES and readers is _FRAMES["hfsc class"]:
            found.update(_curve(words, option))
            continue
        if option == "ether-vlan":
            tags = found.get(option, 0.0)
            found[option] = (tags if isinstance(tags, float) else 0.0) + 1.0
        elif option in ("priomap", "quanta", "weights"):
            numbers = []
            while re.fullmatch("[0-9]+", words.peek()):
                numbers.append(words.take(""))
            found[option] = " ".join(numbers)
        else:
            found[option] = True if reader is None else words.value(reader)
    return found


def _curve(words: Words, name: str) -> dict[str, Value]:
    """A service curve: `m1 1mbit d 5ms m2 128kbit`, `umax 1500b dmax 30ms rate 4mbit`, or one slope."""
    values: dict[str, Value] = {}
    while words.peek() in _POINTS:
        point = words.take("")
        values[point] = words.value(_POINTS[point])
    slope = values.get("m2", values.get("rate"))
    if slope is None:
        words.fail(f"m2 or rate and a rate, for the curve {name}", _POINTS)
    first, until = values.get("m1", slope), values.get("d", values.get("dmax", Fraction(0)))
    if isinstance(work := values.get("umax"), Limit) and isinstance(until, Fraction) and until:
        first = int(work.amount * 8 / until)
    return {f"{name}.m1": first, f"{name}.d": until, f"{name}.m2": slope}


def _checked(kind: str, options: Options, line: int | None) -> None:
    """Read the options once, so that an error names the line; a fifo may leave its limit to the interface."""
    if kind.endswith("fifo") and "limit" not in options:
        return
    with on_line(line):
        ALL[kind].read(options, 1500)


def fragment(text: str) -> Node:
    """A discipline without a command around it: "bfifo limit 150000"."""
    words = Words(next(iter(statements(text))))
    kind = words.keyword(ALL)
    node = Node(kind, "", "", _options(words, kind, "qdisc"), words.line)
    with on_line(node.line):
        ALL[kind].read(node.options, 1500)
    return node


def options_of(words: Words, kind: str) -> Options:
    """Options of a discipline without a statement around them."""
    return _raw(words, ALL[kind].options)


# JSON.

#: Options that `tc -j` prints in another form than tc reads.
_MICROSECONDS = frozenset(("target", "interval", "tupdate", "lat", "rtt", "step_thresh"))
_SIZED = frozenset(("quantum", "memory_limit", "memlimit", "avpkt", "burst", "cburst"))
_IGNORED = frozenset(("peakburst", "peakrate", "mpu", "linklayer", "priomap", "multiqueue", "diffserv", "flowmode"))


def _printed(text: str) -> Iterator[Node]:
    """The nodes in the output of `tc -j qdisc show` and `tc -j class show`."""
    entries = json_text(text, "what tc -j prints")
    for entry in entries:
        if not isinstance(entry, dict):
            raise Mistake(f"`{entry}`", "objects, as tc -j prints them").error()
        is_class = "class" in entry
        kind = entry.get("kind") or entry.get("class")
        known = _KNOWN["class" if is_class else "qdisc"]
        if kind not in known:
            raise Mistake(f"`{kind}`", ", ".join(known)).error()
        overhead = _object_of(entry, "stab").get("overhead")
        stab = None
        if overhead is not None:
            with on_line(None):
                stab = Framing(int(_signed(str(overhead))))
        handle, parent = str(entry.get("handle", "")), str(entry.get("parent", ""))
        if is_class and not parent:
            parent = handle.partition(":")[0] + ":"
        given = {**(entry if is_class else {}), **_object_of(entry, "options")}
        readers = _FRAMES.get(f"{kind} class" if is_class else kind) or (ALL[kind].options if kind in ALL else {})
        device = str(entry.get("dev", ""))
        node = Node(
            kind, handle, parent, _parse_json_options(given, readers), None, stab, is_class, device, is_output=True
        )
        if kind in ALL:
            _checked(kind, node.options, None)
        yield node


def _object_of(entry: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = entry.get(name, {})
    if not isinstance(found, dict):
        raise Mistake(f"`{found}` as `{name}`", "an object, as tc -j prints it").error()
    return found


def _parse_json_options(given: Mapping[str, Any], readers: Mapping[str, Reader | None]) -> Options:
    found: dict[str, Value] = {}
    for name, value in given.items():
        if name in _CURVES and isinstance(value, dict):
            slopes = {point: value.get(point, 0) for point in ("m1", "d", "m2")}
            if not all(type(each) is int and each >= 0 for each in slopes.values()):
                raise Mistake(f"`{value}` as `{name}`", "m1, d and m2, as tc -j prints them").error()
            found |= {f"{name}.m1": slopes["m1"] * 8, f"{name}.m2": slopes["m2"] * 8}
            found[f"{name}.d"] = Fraction(slopes["d"], 10**6)
            continue
        if name not in readers or name in _IGNORED or value is False:
            continue
        reader = readers[name]
        if isinstance(value, int) and value < 0 and name != "overhead":
            raise Mistake(f"`{value}` as {name}", "a number of at least 0").error()
        if isinstance(value, list):
            found[name] = " ".join(map(str, value))
        elif reader is None:
            found[name] = True
        elif name in _MICROSECONDS and isinstance(value, int):
            found[name] = _microseconds(value)
        elif name in ("rate", "ceil", "bandwidth") and isinstance(value, int):
            found[name] = value * 8
        elif name in _SIZED and isinstance(value, int):
            found[name] = Limit(value, "bytes")
        else:
            with on_line(None):
                found[name] = reader(f"{value:.12g}" if isinstance(value, float) else str(value))
    return found


def _microseconds(value: int) -> Fraction:
    """A time as the kernel returns it: it counts in units of 1024 ns, so 5 ms is returned as 4,999 us."""
    for step in (1000, 500, 100, 50, 10, 5):
        if -value % step <= 1 and value >= 1000:
            return Fraction(value + -value % step, 10**6)
    return Fraction(value, 10**6)
