"""OpenWrt: a queue of SQM, /etc/config/sqm, whose scripts set up tc.

OpenWrt wiki, "SQM configuration /etc/config/sqm"; sqm-scripts 1.6.0
(github.com/tohojo/sqm-scripts): its scripts, functions.sh for
what each option becomes, defaults.sh for what is not said.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from forebay.configuration.access import Framing
from forebay.configuration.platforms.linux.cake import TINS, counted, memory_text, unsimulated, within_memory
from forebay.configuration.platforms.linux.kinds import Draft
from forebay.configuration.platforms.linux.reader import layer_of, of_ip
from forebay.configuration.platforms.linux.sharing import Leaf, divide
from forebay.configuration.platforms.linux.tree import ALL, options_of
from forebay.configuration.platforms.linux.units import size, time
from forebay.configuration.platforms.platform import Assumed, Fitted, Reading, round_up_to_packets
from forebay.configuration.port import FRAMING, Classes, Direction, Limit, Port, Queue, TrafficClass, Value
from forebay.configuration.quantities import rate_text
from forebay.configuration.reading import (
    Mistake,
    Word,
    Words,
    foreign,
    integer,
    on_line,
    signed,
    skipped_line,
    statements,
)
from forebay.errors import UnsupportedError

__all__ = ["OPENWRT", "OpenWrt"]

#: Options of a queue that concern the link, and options that do not.
_READ = (
    *("enabled", "upload", "download", "script", "qdisc", "linklayer", "overhead", "tcMPU"),
    *("elimit", "ilimit", "etarget", "itarget", "egress_ecn", "ingress_ecn", "eqdisc_opts", "iqdisc_opts"),
)
_HARMLESS = (
    *("interface", "qdisc_advanced", "qdisc_really_really_advanced", "squash_dscp", "squash_ingress"),
    *("linklayer_advanced", "linklayer_adaptation_mechanism", "tcMTU", "tcTSIZE", "debug_logging"),
    *("verbosity", "target", "shaper_burst", "htb_quantum_function", "debug_log"),
)
_OPTIONS = frozenset((*_READ, *_HARMLESS))
#: Scripts of sqm-scripts: with tiers, with one queue, with cake.
_SCRIPTS = ("simple.qos", "simplest_tbf.qos", "simplest.qos", "piece_of_cake.qos", "layer_cake.qos")
_CAKES = ("piece_of_cake.qos", "layer_cake.qos")
_QDISCS = ("fq_codel", "codel", "pie", "fq_pie", "sfq", "pfifo", "bfifo", "cake")
#: Guaranteed rate of simple.qos's first tier, and the margin of the other tiers below the link, in kb/s.
_FIRST_TIER = {"upload": 128, "download": 32}
_BELOW = 16
#: Quantum of fq_codel in each tier of simple.qos, in bytes.
_QUANTA = {"upload": (300, 300, 300), "download": (500, 1500, 300)}
#: Bytes of an Ethernet header, which Linux counts and IP does not.
HEADER = 14
#: Limit of a queue without one, in packets (defaults.sh).
_DEFAULT_LIMIT = 1001


@dataclass(frozen=True, slots=True)
class OpenWrt:
    """SQM."""

    name: str = "openwrt"
    title: str = "OpenWrt SQM"
    source: str = "OpenWrt wiki, 'SQM configuration /etc/config/sqm'; simplest_tbf.qos and functions.sh of sqm-scripts"
    quirks: tuple[str, ...] = (
        "then `service sqm restart`; other disciplines than fq_codel and cake need kmod-sched",
        "replace eth0 by the interface of the access line, such as wan; upload is what leaves it",
        "SQM chooses the burst of the shaper itself, up to ten packets, and turns no offload off",
    )
    disciplines: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: {
            "droptail": "pfifo or bfifo",
            "fq_codel": "fq_codel",
            "codel": "codel",
            "cake": "piece_of_cake.qos",
            "pie": "pie",
            "fq_pie": "fq_pie",
            "sfq": "sfq",
        }
    )
    shapes: bool = False
    accesses: bool = True
    pauses: Mapping[str, int] | None = None
    nearest: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: {
            **dict.fromkeys(("red", "step", "cobalt", "choke", "dualpi2"), "codel"),
            **dict.fromkeys(("drr", "stfq", "priority", "classes"), "fq_codel"),
        }
    )

    def fit(self, port: Port) -> Fitted:
        """Fit a port to SQM: whole kilobits per second, and the ranges of tc itself."""
        rate = max(1000, port.bits_per_second // 1000 * 1000)
        if port.bits_per_second < 1000 or rate > 2**31 * 1000:
            raise UnsupportedError(f"openwrt does not support {port.bits_per_second} b/s; allowed: 1 kb/s to 2 Tb/s")
        other = None if port.other is None else max(1000, port.other // 1000 * 1000)
        changed = dataclasses.replace(port, rate=rate, memory=None, other=other)
        assert isinstance(port.queue, Queue), "a discipline without classes"
        draft = Draft(port.queue, name=self.name)
        if _kind(port) == "pfifo" and port.queue.limit.unit == "bytes":
            draft.limit(round_up_to_packets(port.queue.limit, port.packet), "SQM's overhead would count in bytes too")
        ALL[_kind(port)].fit(draft, changed)
        reasons = {"rate": "SQM counts whole kilobits per second", "memory": "ports of Linux share no memory"}
        return Fitted(changed.with_queue(draft.queue), reasons | draft.reasons, tuple(draft.notes))

    def write(self, port: Port) -> list[str]:
        """The file."""
        assert isinstance(port.queue, Queue), "a discipline without classes"
        kind = _kind(port)
        back: Direction = "download" if port.direction == "upload" else "upload"
        rates = {port.direction: port.bits_per_second, back: port.other or 0}
        options = {
            "enabled": "1",
            "interface": "eth0",
            "download": str(rates["download"] // 1000),
            "upload": str(rates["upload"] // 1000),
            "qdisc": kind,
            "script": "piece_of_cake.qos" if kind == "cake" else "simplest_tbf.qos",
            **_linklayer(port, cake=kind == "cake"),
            **_way(port, kind, port.direction),
        }
        if port.other is not None:
            limit = "elimit" if back == "upload" else "ilimit"
            # The other direction has SQM's own limit, because its buffer was not simulated.
            options |= {name: value for name, value in _way(port, kind, back).items() if name != limit}
        return ["config queue 'forebay'", *(f"\toption {name} '{value}'" for name, value in options.items())]

    def read(self, text: str, assumed: Assumed) -> Reading:
        """A section of /etc/config/sqm, or what `uci show sqm` prints."""
        skipped: list[str] = []
        port = _reading(_section(text, skipped), assumed)
        return dataclasses.replace(port, skipped=tuple(skipped))


def _kind(port: Port) -> str:
    assert isinstance(port.queue, Queue), "a discipline without classes"
    kind = port.queue.discipline.kind
    if kind != "droptail":
        return kind
    return "bfifo" if port.queue.limit.unit == "bytes" and not port.framing else "pfifo"


def _elsewhere(line: Sequence[Word]) -> bool:
    """Whether a line does not concern SQM: another option, a list, the name of the package."""
    first = line[0].text
    if first == "option" and len(line) > 1:
        return foreign(line[1].text, _OPTIONS)
    return first == "list" or (
        not first.startswith("sqm.") and first != "uci" and foreign(first, frozenset(("config", "option")))
    )


def _section(text: str, skipped: list[str]) -> dict[str, Word]:
    """The options of the one queue that is enabled."""
    sections: list[dict[str, Word]] = []
    ours = True
    for line in statements(text, separators=""):
        words = Words(line)
        if words.skip("config"):
            ours = not foreign(words.peek(), frozenset(["queue"]))
            if not ours:
                skipped.append(skipped_line(line))
                continue
            words.keyword(["queue"])
            sections.append({})
        elif not ours or _elsewhere(line):
            skipped.append(skipped_line(line))
        elif words.skip("option"):
            name = words.keyword((*_READ, *_HARMLESS))
            value = words.take(f"a value of {name}")
            words.end()
            if not sections:
                sections.append({})
            sections[-1][name] = Word(value, line[0].line)
        elif words.peek().startswith("sqm.") or (words.peek() == "uci" and len(line) > 1):
            if (words.skip("uci") and not words.skip("set")) or not words.peek().startswith("sqm."):
                skipped.append(skipped_line(line))
            else:
                _parse_shown_option(words, sections)
        else:
            words.fail("config queue, option, or what `uci show sqm` prints", ["config", "option"])
    enabled = [found for found in sections if found.get("enabled", Word("1", 0)).text == "1" and found]
    if len(enabled) != 1:
        raise Mistake(f"{len(enabled)} queues that are enabled", "one `config queue` with `enabled '1'`").error()
    return enabled[0]


def _parse_shown_option(words: Words, sections: list[dict[str, Word]]) -> None:
    """A line of `uci show sqm`: sqm.eth0.upload='16000'."""
    line = words.line
    path, sign, value = words.take("").partition("=")
    parts = path.split(".")
    if not sign or len(parts) not in (2, 3):
        raise Mistake(f"`{path}`", "sqm.SECTION.OPTION='VALUE'").error(line)
    if len(parts) == 2:
        sections.append({})
        return
    Words([Word(parts[2], line)]).keyword((*_READ, *_HARMLESS))
    if not sections:
        sections.append({})
    rest = " ".join(word.text for word in words.words[words.at :])
    sections[-1][parts[2]] = Word(f"{value} {rest}".strip(), line)


def _reading(found: dict[str, Word], assumed: Assumed) -> Reading:
    def text(name: str, default: str = "") -> str:
        return found[name].text if name in found else default

    def number(name: str) -> int:
        try:
            return integer(text(name, "0"))
        except Mistake as mistake:
            raise mistake.with_name(name).error(found[name].line) from None

    rates = {"upload": number("upload"), "download": number("download")}
    only: Direction = "upload" if rates["upload"] or not rates["download"] else "download"
    direction: Direction = assumed.direction if assumed.direction and rates[assumed.direction] else only
    back = "download" if direction == "upload" else "upload"
    way, kilobits = "e" if direction == "upload" else "i", rates[direction]
    script, kind = text("script", "simple.qos"), text("qdisc", "fq_codel")
    if script not in _SCRIPTS:
        raise Mistake(f"script `{script}`", ", ".join(_SCRIPTS)).error(_line(found, "script"))
    if script not in _CAKES and "qdisc" in found:
        Words([found["qdisc"]]).keyword(_QDISCS)
    kind = "cake" if script in _CAKES else kind
    cake = kind == "cake"
    how: list[str] = []
    options: dict[str, Value] = {}
    if f"{way}qdisc_opts" in found:
        word = found[f"{way}qdisc_opts"]
        options.update(options_of(Words([Word(each, word.line) for each in word.text.split()]), kind))
    layer, wire = ("l3", None) if not kilobits else _layer(found, options, how, assumed.packet, cake=cake)
    left_out: list[str] = []
    if cake:
        options["bandwidth"] = float(kilobits * 1000)
        one = script in ("piece_of_cake.qos", "simplest.qos", "simplest_tbf.qos")
        one = one or "besteffort" in options or (direction == "download" and text("squash_ingress", "1") == "1")
        if not one and not any(word in options for word in TINS):
            options["diffserv3"] = True
        left_out += unsimulated(options)
        how += memory_text(options, assumed.packet)
    else:
        options = {**_own(kind, way, kilobits, found), **options}
    with on_line(None):
        queue = ALL[kind].read(options, assumed.packet)
    queue = within_memory(kind, options, queue, assumed.packet, how, left_out)
    how.append(f"{direction} through {kind}")
    if not cake and kilobits:
        queue = _of_ip(queue, wire or Framing(FRAMING[layer]), assumed.packet, how)
    other = rates[back] * 1000 or None
    if other is not None:
        how.append(f"the {back}, {rate_text(other)}, is left out")
    rate = kilobits * 1000 or assumed.rate
    port = Port(rate, assumed.packet, queue, layer, wire=wire, direction=direction, other=other)
    tiered = script == "simple.qos" and not cake
    if tiered and kilobits and (direction == "upload" or text("squash_ingress", "1") != "1"):
        given = "quantum" in (found.get(f"{way}qdisc_opts") or Word("", 0)).text.split()
        port = port.with_queue(_tiers(queue, kilobits, direction, left_out, given=given))
        how.append("three tiers by DSCP: EF, CS6 and AF42 in the first, CS1 in the background")
    return Reading(port, tuple(how), unsimulated=tuple(left_out))


def _of_ip(queue: Queue, counts: Framing, packet: int, how: list[str]) -> Queue:
    """The queue with its limit in bytes of IP packets."""
    converted = of_ip(queue, counts, packet, how)
    assert isinstance(converted, Queue), "one discipline"
    return converted


def _tiers(queue: Queue, kilobits: int, direction: Direction, left_out: list[str], *, given: bool) -> Classes:
    """The three classes of htb of simple.qos, each with a queue of its own."""
    first, part = _FIRST_TIER[direction], kilobits // 6
    most = Fraction(max(part, kilobits - _BELOW) * 1000)
    turn = Fraction(1)
    leaves = [
        Leaf("priority", Fraction(first * 1000), Fraction(max(first, kilobits // 3) * 1000), turn, 1, first=True),
        Leaf("background", Fraction(part * 1000), most, turn, 3),
        Leaf("best-effort", Fraction(part * 1000), most, turn, 2),
    ]
    division = divide("htb", leaves, kilobits * 1000)
    left_out += division.unsimulated
    quanta = dict(zip(("priority", "best-effort", "background"), _QUANTA[direction], strict=True))
    traffic_classes = []
    for each in division.parts:
        name = each.leaf.name
        own = queue.discipline
        if own.kind in ("fq_codel", "fq_pie") and not given:
            own = own.having(quantum=Limit(quanta[name], "bytes"))
        traffic_classes.append(TrafficClass(name, (), each.weight, Queue(queue.limit, own), each.priority))
    return Classes("dwrr", tuple(traffic_classes))


def _line(found: Mapping[str, Word], name: str) -> int | None:
    return found[name].line if name in found else None


def _linklayer(port: Port, *, cake: bool) -> dict[str, str]:
    """The options on framing: cake counts from the IP packet on, a size table from the Ethernet frame on."""
    overhead = {"overhead": str(port.framing if cake else port.framing - HEADER)}
    if port.wire is None:
        return {"linklayer": "ethernet", **overhead}
    least = {"tcMPU": str(port.wire.least)} if port.wire.least else {}
    advanced = {"linklayer_advanced": "1"} if least else {}
    return {"linklayer": "atm" if port.wire.cells == "atm" else "ethernet", **overhead, **advanced, **least}


def _way(port: Port, kind: str, direction: Direction) -> dict[str, str]:
    """The options of one direction."""
    assert isinstance(port.queue, Queue), "a discipline without classes"
    letter, side = ("e", "egress") if direction == "upload" else ("i", "ingress")
    rest = ALL[kind].write(port.queue, dataclasses.replace(port, direction=direction)).split()
    options: dict[str, str] = {}
    messages: list[str] = []
    if kind == "cake":
        # The script sets bandwidth, besteffort and overhead itself.
        at = rest.index("overhead")
        messages = [
            *rest[rest.index("triple-isolate") : at],
            *(word for word in rest[at:] if word in ("ptm", "ingress")),
        ]
        rest = []
    while rest:
        word = rest.pop(0)
        if word in ("limit", "target"):
            options[f"{letter}{word}"] = rest.pop(0)
        elif word in ("ecn", "noecn"):
            options[f"{side}_ecn"] = word.upper()
        else:
            messages.append(word)
    if messages:
        advanced = {"qdisc_advanced": "1", "qdisc_really_really_advanced": "1"}
        options |= {**advanced, f"{letter}qdisc_opts": " ".join(messages)}
    return options


def _layer(
    found: Mapping[str, Word], options: Mapping[str, Value], how: list[str], packet: int, *, cake: bool
) -> tuple[str, Framing | None]:
    """The layer and the framing that the rate counts, from the options on framing and, for cake, its own words."""
    linklayer = found["linklayer"].text if "linklayer" in found else "none"
    if linklayer not in ("none", "ethernet", "atm", "adsl"):
        raise Mistake(f"linklayer `{linklayer}`", "none, ethernet or atm").error(_line(found, "linklayer"))
    numbers = {}
    for name in ("overhead", "tcMPU"):
        with on_line(_line(found, name)):
            numbers[name] = signed(found[name].text if name in found else "0", "bytes per packet")
    in_cells = linklayer in ("atm", "adsl")
    if cake:
        # The script's words come first, then the user's own.
        script: dict[str, Value] = {"atm": True} if in_cells else {}
        script |= {"overhead": float(numbers["overhead"]), "mpu": Limit(max(0, numbers["tcMPU"]), "bytes")}
        framing = counted({**(script if linklayer != "none" else {}), **options})
    else:
        framing = Framing(numbers["overhead"] + HEADER, max(0, numbers["tcMPU"]), "atm" if in_cells else "none")
        framing = None if linklayer == "none" else framing
    return layer_of(framing or Framing(HEADER), how, packet)


def _own(kind: str, way: str, kilobits: int, found: Mapping[str, Word]) -> dict[str, Value]:
    """Limit, target and ECN, as functions.sh passes them to tc."""
    options: dict[str, Value] = {}
    limit = found.get(f"{way}limit")
    if limit is not None:
        with on_line(limit.line):
            options["limit"] = size(limit.text) if kind == "bfifo" else Limit(integer(limit.text), "packets")
    elif kind == "bfifo":
        options["limit"] = Limit(_DEFAULT_LIMIT * 1500, "bytes")
    else:
        options["limit"] = Limit(_DEFAULT_LIMIT, "packets")
    if not kind.endswith(("codel", "pie")):
        return options
    target = found.get(f"{way}target")
    if target is not None and target.text.lower() == "default":
        pass
    elif target is not None and target.text.lower() != "auto" and target.text:
        with on_line(target.line):
            options["target"] = time(target.text)
    else:
        # adapt_target_to_slow_link
        microseconds = max(5000, 33 * 53 * 8 * 1000 // max(1, kilobits))
        options["target"] = Fraction(microseconds, 10**6)
        if kind.endswith("codel"):
            options["interval"] = Fraction(95000 + microseconds, 10**6)
    ecn = found.get("egress_ecn" if way == "e" else "ingress_ecn", Word("ECN", 0))
    if ecn.text not in ("ECN", "NOECN"):
        raise Mistake(f"`{ecn.text}`", "ECN or NOECN").error(ecn.line)
    options["ecn" if ecn.text == "ECN" else "noecn"] = True
    return options


OPENWRT = OpenWrt()
