"""Cisco IOS XE: policies with a shaper, queue limits in packets or bytes, WRED by precedence, two strict priorities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from forebay.configuration.access import Framing
from forebay.configuration.platforms.forms import Form, Grammar, ParsedLine, Reader
from forebay.configuration.platforms.modular_policy import DEFAULT, Amount, Class, Curve, Policies
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
    show,
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
    take_thresholds,
)
from forebay.configuration.platforms.platform import Assumed, Reading
from forebay.configuration.platforms.routers import WRED, Router, members, power_of_two, ratios
from forebay.configuration.port import FRAMING, Classes, Limit, Port, Queue
from forebay.configuration.reading import Mistake, integer, signed
from forebay.errors import UnsupportedError

__all__ = ["IOS_XE"]

#: Bytes per packet that IOS XE's shapers count beside IP: the Ethernet header, without check sequence and gap.
ETHERNET = 14
#: Ranges of Cisco-IOS-XE-policy.yang, 17.3.1.
MOST = {"packets": 8_192_000, "bytes": 64_000_000, "ms": 3400, "us": 512_000}
MOST_THRESHOLD = 512_000_000
SLOWEST, FASTEST = 8000, 100_000_000_000
MOST_RATIO = 1000
PRECEDENCES = range(8)

_UNITS = {
    "packets": Unit(),
    "bytes": Unit(bytes=1),
    "ms": Unit(seconds=Fraction(1, 1000)),
    "us": Unit(seconds=Fraction(1, 10**6)),
}


@dataclass(frozen=True)
class IosXe(Router):
    """Cisco IOS XE."""

    @property
    def reasons(self) -> Mapping[str, str]:
        counts = dict.fromkeys(
            ("buffer", "min", "max", "threshold"), "IOS XE counts whole packets or bytes, max above min"
        )
        return {
            **WRED,
            **counts,
            "max_p": "the probability is one over a whole number",
            "rate": "the shaper takes 8 kb/s to 100 Gb/s; beyond, the port has to have the rate",
            "rate_layer": "without a shaper no layer's rate is said",
            "others": "WRED drops what it cannot mark",
        }

    def link(self, port: Port) -> tuple[int | None, str]:
        if port.rate is None or port.rate > FASTEST:
            return None, "l3"
        # A shaper that counts another framing than a layer's is configured with its rate of IP.
        bits = port.bits_per_second if port.wire is None else math.floor(port.ip_rate)
        return max(SLOWEST, bits), port.layer

    def limit(self, limit: Limit, port: Port) -> Limit:
        del port
        return self.within(Limit(max(1, -int(-limit.amount // 1)), limit.unit), MOST[limit.unit])

    def level(self, level: Limit, queue: Limit, port: Port) -> Limit:
        return self.within(Router.level(self, level, queue, port), MOST_THRESHOLD - 1)

    def probability(self, probability: float) -> float:
        return 1 / max(1, round(min(65_535, 1 / probability))) if probability else 1 / 65_535

    def weight(self, weight: float) -> float:
        return power_of_two(weight, 1, 16)

    def notes_on(self, queue: Queue) -> Iterator[str]:
        if queue.discipline.kind == "step":
            yield "threshold: simulated on the queue as it is, configured on an average in which an arrival has half"

    def shares(self, weights: Sequence[float]) -> list[float]:
        return ratios(weights, MOST_RATIO)

    def write(self, port: Port) -> list[str]:
        offset = FRAMING[port.layer] - ETHERNET
        shape = [] if port.rate is None else [f"shape average {port.rate} account user-defined {offset}"]
        attached = ["interface GigabitEthernet0/0/0", " service-policy output FOREBAY"]
        if isinstance(port.queue, Queue):
            lines = [*shape, *_queue(port.queue)]
            return ["policy-map FOREBAY", " class class-default", *(f"  {line}" for line in lines), *attached]
        child, maps = _classes(port.queue)
        held = [*shape, "service-policy FOREBAY-CLASSES"]
        parent = ["policy-map FOREBAY", " class class-default", *(f"  {line}" for line in held)]
        if not shape:
            return [*maps, "policy-map FOREBAY", *child, *attached]
        return [*maps, "policy-map FOREBAY-CLASSES", *child, *parent, *attached]

    def read(self, text: str, assumed: Assumed) -> Reading:
        return reading(text, _GRAMMAR, assumed, _SHAPE)


def _queue(queue: Queue) -> list[str]:
    """A queue's lines in its class."""
    discipline = queue.discipline
    unit = queue.limit.unit
    lines = [f"queue-limit {queue.limit.amount} {unit}"]
    if discipline.kind == "droptail":
        return lines
    if discipline.kind == "step":
        least = most = discipline.level("threshold").amount
        denominator, exponent = 1, 1
    else:
        least, most = discipline.level("min").amount, discipline.level("max").amount
        denominator = round(1 / discipline.number("max_p"))
        exponent = round(-math.log2(discipline.number("weight")))
    lines += ["random-detect precedence-based", f"random-detect exponential-weighting-constant {exponent}"]
    named_unit = " bytes" if unit == "bytes" else ""
    curve = f"{least}{named_unit} {most}{named_unit} {denominator}"
    lines += [f"random-detect precedence {value} {curve}" for value in PRECEDENCES]
    return [*lines, *(["random-detect ecn"] if discipline.ecn else [])]


def _classes(classes: Classes) -> tuple[list[str], list[str]]:
    """The lines of the child policy, and its class maps."""
    child: list[str] = []
    maps: list[str] = []
    for number, ((entry, level), name) in enumerate(zip(members(classes), names(classes), strict=True), 1):
        if level is not None and entry.queue.discipline.kind != "droptail":
            raise UnsupportedError("ios-xe has no WRED in a class with priority; allowed: droptail there")
        if name != DEFAULT:
            maps += [f"class-map match-any {name}", f" match qos-group {number}"]
        child.append(f" class {name}")
        if level is not None:
            child.append(f"  priority level {level}")
        elif classes.schedule != "strict":
            child.append(f"  bandwidth remaining ratio {entry.weight:.0f}")
        child += [f"  {line}" for line in _queue(entry.queue)]
    return child, maps


def _rate(text: str) -> int:
    """A rate of bits per second, or of thousands and so on: "16000000", "16m"."""
    digits, suffix = (text[:-1], text[-1:]) if text[-1:].isalpha() else (text, "")
    factor = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}.get(suffix.lower())
    if factor is None:
        raise Mistake(f"`{text}`", "a rate in bits per second such as 16000000, 16m or 1g")
    return integer(digits, "a rate in bits per second") * factor


def _threshold(text: str) -> int:
    """A threshold as WRED's table shows it: a number, or milliseconds and bytes."""
    return integer(text.rpartition("/")[2], "a threshold", most=MOST_THRESHOLD)


def _row_name(text: str) -> str:
    """The key of a row of WRED's table: a precedence, a DSCP value or its name."""
    name = text.lower()
    if not (
        name.isdigit() or name in ("default", "rsvp", "ef", "be") or (name[:2] in ("af", "cs") and name[2:].isdigit())
    ):
        raise Mistake.word(text, "a row of WRED's table")
    return name


def _counters(text: str) -> str:
    """Packets and bytes as tables show them: "12/3456"."""
    for part in (parts := text.split("/")):
        integer(part, "packets/bytes")
    if len(parts) != 2:
        raise Mistake(f"`{text}`", "packets/bytes")
    return text


def _probability(text: str) -> int:
    """A probability as WRED's table shows it: "1/10"."""
    one, _, denominator = text.partition("/")
    if one != "1":
        raise Mistake(f"`{text}`", "a probability such as 1/10")
    return integer(denominator, "a denominator", least=1, most=65_535)


def _percent(text: str) -> int:
    """A share as devices show it: "15%"."""
    if not text.endswith("%"):
        raise Mistake.word(text, "a share such as 15%")
    return integer(text[:-1], "whole percent", least=1, most=100)


def _interface(text: str) -> str:
    """The name of an interface: letters and numbers, as in GigabitEthernet0/0/0."""
    if not (text[:1].isalpha() and text[-1:].isdigit()):
        raise Mistake.word(text, "an interface such as GigabitEthernet0/0/0")
    return text


def _offset(text: str) -> int:
    """Bytes per packet that a shaper counts beside what it counts anyway."""
    return signed(text, "bytes from -63 to 63", most=63)


def _shape(state: Policies, parsed: ParsedLine) -> None:
    entry = state.current(parsed.line)
    counted = ETHERNET + parsed.number("offset")
    layer = next((layer for layer, counts in FRAMING.items() if counts == counted), None)
    entry.rate = parsed.number("rate") or parsed.number("rate_comma")
    entry.layer = layer or "l3"
    entry.wire = Framing(counted) if layer is None else None


def _curve(state: Policies, parsed: ParsedLine) -> None:
    entry = state.current(parsed.line)
    unit = parsed.word("unit", "packets")
    least, most = (Amount(parsed.number(name), unit, parsed.line) for name in ("least", "most"))
    of = f"{parsed.word('field')} {parsed.word('of')}".strip()
    entry.curves.append(Curve(least, most, 1 / parsed.number("denominator", 10), of))


def _row(state: Policies, parsed: ParsedLine) -> None:
    """Read a row of WRED's table, whose thresholds are in the unit of the queue limit."""
    entry = state.current(parsed.line)
    unit = "bytes" if entry.limit is not None and entry.limit.unit != "packets" else "packets"
    least, most = (Amount(parsed.number(name), unit, parsed.line) for name in ("shown_least", "shown_most"))
    entry.curves.append(Curve(least, most, 1 / parsed.number("shown_probability"), parsed.word("row")))


def _exponent(state: Policies, parsed: ParsedLine) -> None:
    entry = state.current(parsed.line)
    entry.detects, entry.weight = True, 2.0 ** -parsed.number("exponent")


def _parse_shown_limit(state: Policies, parsed: ParsedLine) -> None:
    """Read a queue limit from a device's output; a time is followed by its bytes."""
    amount = parsed.number("shown_bytes") if parsed.has("shown_bytes") else parsed.number("amount")
    unit = "bytes" if parsed.has("shown_bytes") else parsed.word("unit")
    state.current(parsed.line).limit = Amount(amount, unit, parsed.line)


def _all_priorities(state: Policies, _: ParsedLine) -> None:
    """Read the figures of all priority classes together; these classes share one queue."""
    if state.policy is not None:
        state.at = state.policy.shared = Class("", 0)


def _rate_share(state: Policies, parsed: ParsedLine) -> None:
    entry = state.current(parsed.line)
    entry.share, entry.share_unit = parsed.number("share"), "kbps"


def _percent_share(state: Policies, parsed: ParsedLine) -> None:
    entry = state.current(parsed.line)
    entry.share, entry.share_unit = parsed.number("share_percent"), "percent"


def _fair_queue(state: Policies, parsed: ParsedLine) -> None:
    state.current(parsed.line).fair_queue = True


_CONFIGURED: Sequence[Form[Handler]] = (
    *COMMON,
    Form("policy-map <policy>", start_policy),
    Form("class <class>", start_class),
    Form("interface <word> [<word>]", start_interface),
    Form("service-policy [direction=output] <policy>", attach),
    Form("shape average <rate> [<burst> [<burst>]] [account user-defined <offset>]", _shape),
    Form("queue-limit <amount> [unit=packets|bytes|ms|us]", take_limit),
    Form("queue-limit dscp|cos|precedence|exp|qos-group ...", take_thresholds),
    Form("bandwidth remaining of=ratio|percent <share>", take_share),
    Form("bandwidth of=percent <share>", take_share),
    Form("bandwidth <share>", _rate_share),
    Form("priority [level <level>]", take_level),
    Form("priority [level <level>] percent <policed_percent> [<burst>]", take_policed),
    Form("priority [level <level>] <policed> [<burst>]", take_policed),
    Form("shape average percent <policed_percent>", take_percent),
    Form("fair-queue [<count>]", _fair_queue),
    Form("random-detect [precedence-based|dscp-based]", take_detection),
    Form("random-detect ecn", take_ecn),
    Form("random-detect exponential-weighting-constant <exponent>", _exponent),
    Form(
        "random-detect field=precedence|dscp|discard-class|cos|exp <of> <least> [unit=packets|bytes|ms|us] "
        "<most> [packets|bytes|ms|us] [<denominator>]",
        _curve,
    ),
)
#: `show policy-map interface` (the guide of the source below, "Queue Limits and WRED").
_SHOWN: Sequence[Form[Handler]] = (
    Form("Service-policy direction=output: <policy>", show),
    Form("Service-policy : <policy>", show),
    Form("Class-map: <class> ...", start_class),
    Form("queue limit <amount> unit=packets|bytes", _parse_shown_limit),
    Form("queue limit <amount> ms/ <shown_bytes> bytes", _parse_shown_limit),
    Form("queue stats for all priority classes:", _all_priorities),
    Form("shape (average) cir <rate_comma> ...", _shape),
    Form("target shape rate <rate>", ignore),
    Form("Overhead Accounting Enabled", ignore),
    Form("bandwidth [remaining] <share_percent> ...", _percent_share),
    Form("bandwidth <share> kbps|(kbps)", _rate_share),
    Form("priority level <level>", take_level),
    Form("Priority: ...", take_level),
    Form("Priority Level: <level>", take_level),
    Form("Exp-weight-constant: <exponent> ...", _exponent),
    Form("explicit congestion notification", take_ecn),
    Form(
        "<row> <counters> <counters> <counters> <shown_least> <shown_most> <shown_probability>",
        _row,
    ),
    Form("<row> <counters> <counters>", ignore),
    Form("Match: ...", ignore),
    Form("Queueing", ignore),
    Form("class|dscp|Class|pkts/bytes|pkts|thresh|(queue|(pkts|(total|Mean|QoS|Marker ...", ignore),
    Form("<count> packets, ...", ignore),
    Form("<count> minute|second offered|rate ...", ignore),
    Form("<interface>", start_interface),
    Form("Fair-queue: ...", _fair_queue),
)
_READERS: Mapping[str, Reader] = {
    **amounts(
        amount=MOST["bytes"], burst=10**10, level=2, share=10**9, exponent=16, denominator=65_535, least=MOST_THRESHOLD
    ),
    **amounts(most=MOST_THRESHOLD, shown_bytes=2**40),
    **dict.fromkeys(("policy", "class", "word", "of"), identifier),
    "interface": _interface,
    "policed_percent": lambda text: integer(text, "whole percent", least=1, most=100),
    "policed": lambda text: integer(text, "kb/s", least=1, most=10**9),
    "rate": _rate,
    "rate_comma": lambda text: _rate(text.removesuffix(",")),
    "offset": _offset,
    "row": _row_name,
    "counters": _counters,
    "count": lambda text: integer(text, "a count"),
    "share_percent": _percent,
    "shown_least": _threshold,
    "shown_most": _threshold,
    "shown_probability": _probability,
}
_OPENING = "a line of a policy-map or of `show policy-map interface`, such as `queue-limit 64 packets`"
_GRAMMAR: Grammar[Handler] = Grammar((*_CONFIGURED, *_SHOWN), _READERS, _OPENING)
_SHAPE = Shape(_UNITS)


IOS_XE = IosXe(
    name="ios-xe",
    title="Cisco IOS XE (ASR 1000, Catalyst 8000)",
    source="Cisco, 'QoS: Modular QoS Command-Line Interface Configuration Guide, Cisco IOS XE', 'Queue Limits and "
    "WRED'; ranges of Cisco-IOS-XE-policy.yang 17.3.1; 'Cisco ASR 1000 QoS' (Q&A c67-731655): shapers count Ethernet "
    "headers, not the check sequence or the gap, which `account user-defined` corrects",
    quirks=(
        "a packet counts as one whatever its size; all classes of a policy and WRED have the unit of the queue limit",
        "omit the shape line if the port has the link's rate",
        "without a queue-limit line the default is 50 ms of 1500-byte packets (25 ms on ESP40), at least 64 packets",
    ),
    disciplines={
        "droptail": "queue-limit",
        "red": "random-detect",
        "step": "random-detect with ecn, minimum = maximum",
        "classes": "classes with priority level and bandwidth remaining ratio",
        "priority": "classes with priority level",
    },
    nearest={
        **dict.fromkeys(("codel", "cobalt", "pie", "choke", "dynamic_threshold"), "red"),
        "dualpi2": "step",
    },
    levels=3,
    classes=8,
)
