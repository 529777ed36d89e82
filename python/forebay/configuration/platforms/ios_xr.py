"""Cisco IOS XR: policies with a shaper, queue limits in bytes, WRED by two thresholds, seven strict priorities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from forebay.configuration.platforms.forms import Form, Grammar, ParsedLine, Reader
from forebay.configuration.platforms.modular_policy import DEFAULT, Amount, Curve, Policies
from forebay.configuration.platforms.modular_qos import (
    COMMON,
    Handler,
    Shape,
    Unit,
    amounts,
    attach,
    identifier,
    ignore,
    names,
    reading,
    start_class,
    start_interface,
    start_policy,
    take_detection,
    take_ecn,
    take_level,
    take_limit,
    take_percent,
    take_policed,
    take_share,
)
from forebay.configuration.platforms.platform import Assumed, Reading, round_up_to_bytes
from forebay.configuration.platforms.routers import WRED, Router, members, ratios
from forebay.configuration.port import Classes, Discipline, Limit, Port, Queue, Value
from forebay.configuration.reading import Mistake, integer

__all__ = ["IOS_XR"]

#: Bytes that a `packet` of a queue limit or a threshold means, independent of the traffic.
PACKET = 256
#: The smallest queue limit, one MTU, and the largest.
LEAST, MOST = 9 * 1024, 10**9
MOST_THRESHOLD = 1_073_741_823
MOST_RATIO = 127
#: The fastest rate in bits per second: whole kb/s of 32 bits.
FASTEST = (2**32 - 1) * 1000

_UNITS = {
    "packets": Unit(bytes=PACKET),
    "bytes": Unit(bytes=1),
    "kbytes": Unit(bytes=1000),
    "mbytes": Unit(bytes=10**6),
    "gbytes": Unit(bytes=10**9),
    "ms": Unit(seconds=Fraction(1, 1000)),
    "us": Unit(seconds=Fraction(1, 10**6)),
}
_RATES = {"bps": 1, "kbps": 10**3, "mbps": 10**6, "gbps": 10**9}


@dataclass(frozen=True)
class IosXr(Router):
    """Cisco IOS XR."""

    @property
    def reasons(self) -> Mapping[str, str]:
        unsaid = "random-detect has no word for it; the hardware's own holds"
        counts = dict.fromkeys(("min", "max", "threshold"), f"counted in bytes, {self._full}, max above min")
        return {
            **WRED,
            **counts,
            "buffer": f"counted in bytes, {self._full}; no less than one MTU of 9 x 1024 bytes",
            "max_p": unsaid,
            "weight": unsaid,
            "rate": "the shaper counts frames with preamble and gap, in whole kb/s",
            "rate_layer": "the shaper counts frames with preamble and gap",
            "others": "WRED drops what it cannot mark",
        }

    @property
    def _full(self) -> str:
        return f"a packet of IOS XR's being {PACKET} bytes"

    def link(self, port: Port) -> tuple[int, str]:
        return self.shaped(port, "l1", FASTEST)

    def limit(self, limit: Limit, port: Port) -> Limit:
        return self.within(round_up_to_bytes(limit, port.packet, LEAST), MOST)

    def level(self, level: Limit, queue: Limit, port: Port) -> Limit:
        return self.within(Router.level(self, level, queue, port), MOST_THRESHOLD - 1)

    def red(self, requested: Discipline, limit: Limit, port: Port) -> Discipline:
        fitted = Router.red(self, requested, limit, port)
        values: dict[str, Value] = {
            name: value for name, value in fitted.parameters.items() if name not in ("max_p", "weight")
        }
        return Discipline("red", values, ecn=fitted.ecn)

    def shares(self, weights: Sequence[float]) -> list[float]:
        return ratios(weights, MOST_RATIO)

    def notes_on(self, queue: Queue) -> Iterator[str]:
        if queue.discipline.kind == "step":
            yield "threshold: simulated on the queue as it is, configured on an average whose weight has no setting"

    def write(self, port: Port) -> list[str]:
        shape = f"  shape average {port.bits_per_second // 1000} kbps"
        attached = ["interface TenGigE0/0/0/0", " service-policy output FOREBAY", "!"]
        head, tail = ["policy-map FOREBAY", " class class-default", shape], [" !", " end-policy-map", "!"]
        if isinstance(port.queue, Queue):
            return [*head, *_queue(port.queue), *tail, *attached]
        child, maps = _classes(port.queue)
        policy = ["policy-map FOREBAY-CLASSES", *child, " end-policy-map", "!"]
        return [*maps, *policy, *head, "  service-policy FOREBAY-CLASSES", *tail, *attached]

    def read(self, text: str, assumed: Assumed) -> Reading:
        return reading(text, _GRAMMAR, assumed, _SHAPE)


def _queue(queue: Queue) -> list[str]:
    """A queue's lines in its class."""
    discipline = queue.discipline
    lines = [f"  queue-limit {queue.limit.amount} bytes"]
    if discipline.kind == "droptail":
        return lines
    ends = ("threshold", "threshold") if discipline.kind == "step" else ("min", "max")
    least, most = (discipline.level(name).amount for name in ends)
    lines.append(f"  random-detect {least} bytes {most} bytes")
    return [*lines, *(["  random-detect ecn"] if discipline.ecn else [])]


def _classes(classes: Classes) -> tuple[list[str], list[str]]:
    """The lines of the child policy, and its class maps."""
    child: list[str] = []
    maps: list[str] = []
    for number, ((entry, level), name) in enumerate(zip(members(classes), names(classes), strict=True), 1):
        if name != DEFAULT:
            maps += [f"class-map match-any {name}", f" match traffic-class {number}", " end-class-map", "!"]
        child.append(f" class {name}")
        if level is not None:
            child.append(f"  priority level {level}")
        elif classes.schedule != "strict":
            child.append(f"  bandwidth remaining ratio {entry.weight:.0f}")
        child += [*_queue(entry.queue), " !"]
    return child, maps


def _shape(state: Policies, parsed: ParsedLine) -> None:
    entry = state.current(parsed.line)
    entry.rate, entry.layer = parsed.number("rate") * _RATES[parsed.word("rate_unit", "bps")], "l1"


def _curve(state: Policies, parsed: ParsedLine) -> None:
    entry = state.current(parsed.line)
    least = Amount(parsed.number("least"), parsed.word("unit", "packets"), parsed.line)
    most = Amount(parsed.number("most"), parsed.word("most_unit", "packets"), parsed.line)
    of = f"{parsed.word('field')} {parsed.word('of')}".strip()
    entry.curves.append(Curve(least, most, None, of))


def _parse_shown_class(state: Policies, parsed: ParsedLine) -> None:
    """`Level1 Class (HP1) = voice` of `show qos interface`: HP is a strict priority."""
    if state.policy is None:
        state.policy = state.get_or_create("")
        state.attached.append(state.policy)
    state.at = state.policy.of(parsed.word("class"), parsed.line)
    if parsed.has("shown_level"):
        state.at.level = parsed.number("shown_level")


def _parse_shown_rate(state: Policies, parsed: ParsedLine) -> None:
    """`Queue Max. BW. = 16000 kbps (16 mbits/sec)`: a shaper, where what was typed is behind it."""
    if parsed.word("typed") not in ("(default)", ""):
        entry = state.current(parsed.line)
        entry.rate, entry.layer = parsed.number("shown_rate") * 1000, "l1"


def _parse_shown_weight(state: Policies, parsed: ParsedLine) -> None:
    state.current(parsed.line).share = parsed.number("shown_weight")


def _level(text: str) -> int:
    """A priority as `show qos interface` shows it: "(HP1)"."""
    if not (text.startswith("(HP") and text.endswith(")")):
        raise Mistake.word(text, "a priority such as (HP1)")
    return integer(text[3:-1], "a priority", least=1, most=7)


def _in_brackets(text: str) -> int:
    if not (text.startswith("(") and text.endswith(")")):
        raise Mistake.word(text, "a weight such as (20)")
    return integer(text[1:-1], "a weight", least=1)


_CONFIGURED: Sequence[Form[Handler]] = (
    *COMMON,
    Form("policy-map <policy>", start_policy),
    Form("class <class>", start_class),
    Form("end-policy-map|end-class-map", ignore),
    Form("interface <word> [<word>]", start_interface),
    Form("service-policy [direction=output] <policy>", attach),
    Form("shape average <rate> [rate_unit=bps|kbps|mbps|gbps]", _shape),
    Form("queue-limit <amount> [unit=packets|bytes|kbytes|mbytes|ms|us]", take_limit),
    Form("bandwidth remaining of=ratio|percent <share>", take_share),
    Form("bandwidth of=percent <share>", take_share),
    Form("priority [level <level>]", take_level),
    Form("priority [level <level>] percent <policed_percent>", take_policed),
    Form("shape average percent <policed_percent>", take_percent),
    Form("random-detect ecn", take_ecn),
    Form("random-detect default|dscp-based|precedence-based|cos-based|exp-based|discard-class-based", take_detection),
    Form(
        "random-detect [field=cos|discard-class|dscp|exp|precedence <of>] "
        "<least> [unit=packets|bytes|kbytes|mbytes|gbytes|ms|us] "
        "<most> [most_unit=packets|bytes|kbytes|mbytes|gbytes|ms|us]",
        _curve,
    ),
)
#: `show qos interface INTERFACE output` (xrdocs, 'NCS-5500 buffering architecture').
_SHOWN: Sequence[Form[Handler]] = (
    Form("NOTE:-|NPU|Total|VOQ|Policy|SPI|PFC|Accounting|Egressq|LOW|Peak|Guaranteed ...", ignore),
    Form("Interface ...", ignore),
    Form("Level1|Level2 Class [<shown_level>] = <class>", _parse_shown_class),
    Form("Queue Max. BW. = <shown_rate> kbps <typed> ...", _parse_shown_rate),
    Form("Queue Min. BW. = ...", ignore),
    Form("Inverse Weight / Weight = <count> / <shown_weight>", _parse_shown_weight),
    Form("Inverse Weight / Weight = ...", ignore),
    Form("TailDrop Threshold = <amount> unit=bytes ...", take_limit),
    Form("WRED not configured for this class", ignore),
    Form("<rule>", ignore),
)


def _rule(text: str) -> str:
    """A line of dashes."""
    if not text or set(text) != {"-"}:
        raise Mistake.word(text, "a line of dashes")
    return text


_READERS: Mapping[str, Reader] = {
    **amounts(amount=2**32 - 1, level=7, share=2**32 - 1, rate=2**32 - 1, least=MOST_THRESHOLD, most=MOST_THRESHOLD),
    **dict.fromkeys(("policy", "class", "word", "of", "typed"), identifier),
    "shown_level": _level,
    "shown_rate": lambda text: integer(text, "a rate"),
    "shown_weight": _in_brackets,
    "count": lambda text: integer(text, "a count"),
    "rule": _rule,
    "policed_percent": lambda text: integer(text, "whole percent", least=1, most=100),
}
_OPENING = "a line of a policy-map or of `show qos interface`, such as `queue-limit 96000 bytes`"
_GRAMMAR: Grammar[Handler] = Grammar((*_CONFIGURED, *_SHOWN), _READERS, _OPENING)
_SHAPE = Shape(_UNITS, share_of_rate=True)

IOS_XR = IosXr(
    name="ios-xr",
    title="Cisco IOS XR (NCS 540, NCS 5500)",
    source="Cisco, 'Modular QoS Command Reference for Cisco NCS 5500 Series and NCS 540 Series Routers', queue-limit, "
    "random-detect: 'when the specified units is packets, packets are assumed to be 256 bytes in size'; 'Cisco IOS XR "
    "Modular Quality of Service Command Reference for the Cisco CRS Router, Release 4.0', queue-limit: one MTU of "
    "9 x 1024 bytes to 1 GB, times at the guaranteed service rate of the class; "
    "Cisco-IOS-XR-um-policymap-classmap-cfg.yang 7.6.1",
    quirks=(
        "a `packet` is 256 bytes whatever the traffic's size, so the lines count bytes; no unit means packets",
        "a time counts at the guaranteed service rate of the class, not at the interface's rate",
        "classes under a shaper are hierarchical: NCS 5500 needs `hw-module profile qos hqos-enable` and a reload",
        "omit the shape line if the port has the link's rate",
        "uncertain: the hardware rounds rates and thresholds to grains of its own; `show qos interface` shows them",
        "show policy-map interface shows counters only; translate reads `show qos interface`",
    ),
    disciplines={
        "droptail": "queue-limit",
        "red": "random-detect",
        "step": "random-detect with ecn, minimum = maximum",
        "classes": "classes with priority level and bandwidth remaining ratio",
        "priority": "classes with priority level",
    },
    nearest={**dict.fromkeys(("codel", "cobalt", "pie", "choke", "dynamic_threshold"), "red"), "dualpi2": "step"},
    levels=8,
    classes=8,
)
