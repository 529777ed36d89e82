"""Cisco NX-OS (Nexus 9000): queuing policies with fixed or dynamic limits, WRED and ECN in bytes, shapers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from forebay.configuration.lossless import PRIORITY, Lossless
from forebay.configuration.platforms.forms import Form, Grammar, ParsedLine, Reader
from forebay.configuration.platforms.modular_policy import Amount, Curve, Policies
from forebay.configuration.platforms.modular_qos import (
    COMMON,
    Handler,
    Shape,
    Unit,
    amounts,
    attach,
    attach_input,
    identifier,
    ignore,
    reading,
    show,
    start_class,
    start_interface,
    start_other,
    start_policy,
    take_level,
    take_limit,
    take_share,
)
from forebay.configuration.platforms.platform import Assumed, Reading, round_up_to_bytes
from forebay.configuration.platforms.routers import WRED, Router, members, percents
from forebay.configuration.port import Classes, Limit, Port, Queue
from forebay.configuration.reading import Mistake, integer
from forebay.errors import InputError

__all__ = ["NX_OS"]

MOST = 2**32 - 1
#: Whole kb/s of 32 bits.
FASTEST = MOST * 1000
#: The multiples of the free memory: `queue-limit dynamic N` is 2 to the power of N - 7.
DYNAMIC = range(11)
#: Speeds to which an interface can be set, in Mb/s.
SPEEDS = (100, 1000, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000, 800_000)
REST = "c-out-8q-q-default"
#: Bytes of a memory cell, of which published `pause buffer-size` lines have whole numbers.
CELL = 208
#: Largest frame in the network-qos classes of public configurations.
MTU = 9216
QUEUES = (*(f"c-out-8q-q{number}" for number in range(7, 0, -1)), REST)

_UNITS = {
    "packets": Unit(),
    "bytes": Unit(bytes=1),
    "kbytes": Unit(bytes=1000),
    "mbytes": Unit(bytes=10**6),
    "ms": Unit(seconds=Fraction(1, 1000)),
    "us": Unit(seconds=Fraction(1, 10**6)),
}
_RATES = {"bps": 1, "kbps": 10**3, "mbps": 10**6, "gbps": 10**9}


@dataclass(frozen=True)
class NxOs(Router):
    """Cisco NX-OS."""

    @property
    def reasons(self) -> Mapping[str, str]:
        return {
            **WRED,
            **dict.fromkeys(("buffer", "min", "max", "threshold"), "counted in bytes, max above min"),
            "max_p": "whole percent, at least one",
            "alpha": "dynamic limits are powers of two from 1/128 to 8",
            "memory": "the switch's own memory is what ports share",
            "rate": "a queue is shaped by its frames, in whole kb/s; a port of several has its own speed, "
            f"{', '.join(f'{speed / 1000:g}' for speed in SPEEDS)} Gb/s",
            "rate_layer": "shapers count frames, speeds of ports preamble and gap too",
            "others": "WRED drops what it cannot mark",
            **dict.fromkeys(("xoff", "xon", "headroom"), f"whole cells of {CELL} bytes"),
        }

    def link(self, port: Port) -> tuple[int | None, str]:
        if port.rate is None or port.rate in [speed * 10**6 for speed in SPEEDS]:
            return port.rate, "l3" if port.rate is None else "l1"
        if isinstance(port.queue, Classes) or port.kind == "priority":
            return None, "l3"
        return self.shaped(port, "l2", FASTEST)

    def limit(self, limit: Limit, port: Port) -> Limit:
        return self.within(round_up_to_bytes(limit, port.packet), MOST)

    def level(self, level: Limit, queue: Limit, port: Port) -> Limit:
        return self.within(Router.level(self, level, queue, port), MOST - 1)

    def alpha(self, alpha: float) -> float:
        return 2.0 ** (min(DYNAMIC[-1], max(DYNAMIC[0], round(math.log2(alpha)) + 7)) - 7)

    def write(self, port: Port) -> list[str]:
        lines = ["policy-map type queuing FOREBAY"]
        speed: list[str] = []
        if port.layer == "l1":
            speed = [f"  speed {port.bits_per_second // 10**6}"]
        if isinstance(port.queue, Queue):
            shape = [] if speed else [f"    shape min 0 kbps max {port.bits_per_second // 1000} kbps"]
            served = REST if port.lossless is None else f"c-out-8q-q{PRIORITY}"
            lines += [f"  class type queuing {served}", *shape, *_queue(port.queue)]
        else:
            lines += _classes(port.queue)
        pausing = [] if port.lossless is None else ["  priority-flow-control mode on"]
        attached = ["interface Ethernet1/1", *speed, *pausing, "  service-policy type queuing output FOREBAY"]
        return [*_network_qos(port.lossless), *lines, *attached]

    def read(self, text: str, assumed: Assumed) -> Reading:
        return reading(text, _GRAMMAR, assumed, _SHAPE, comment="")


def _network_qos(lossless: Lossless | None) -> list[str]:
    """The system's policies of the lossless class: PFC, and the buffer in which a port waits for the pause."""
    if lossless is None:
        return []
    size = (lossless.xoff or 0) + (lossless.headroom or 0)
    levels = f"pause-threshold {lossless.xoff} resume-threshold {lossless.xon}"
    return [
        "policy-map type network-qos FOREBAY-LOSSLESS",
        f"  class type network-qos c-8q-nq{PRIORITY}",
        f"    mtu {MTU}",
        f"    pause pfc-cos {PRIORITY}",
        "  class type network-qos c-8q-nq-default",
        f"    mtu {MTU}",
        "policy-map type queuing FOREBAY-PAUSE",
        f"  class type queuing c-in-q{PRIORITY}",
        f"    pause buffer-size {size} {levels}",
        "system qos",
        "  service-policy type network-qos FOREBAY-LOSSLESS",
        "  service-policy type queuing input FOREBAY-PAUSE",
    ]


def _queue(queue: Queue) -> list[str]:
    """A queue's lines in its class."""
    discipline = queue.discipline
    if discipline.kind == "dynamic_threshold":
        power = round(math.log2(discipline.number("alpha"))) + 7
        return [f"    queue-limit dynamic {power}", f"    ! of a memory of {queue.limit.amount} bytes"]
    lines = [f"    queue-limit {queue.limit.amount} bytes"]
    if discipline.kind == "droptail":
        return lines
    if discipline.kind == "step":
        least = most = discipline.level("threshold").amount
        percent, weight = 100, 0
    else:
        least, most = discipline.level("min").amount, discipline.level("max").amount
        percent, weight = round(discipline.number("max_p") * 100), round(-math.log2(discipline.number("weight")))
    line = f"    random-detect minimum-threshold {least} bytes maximum-threshold {most} bytes"
    return [*lines, f"{line} drop-probability {percent} weight {weight}{' ecn' if discipline.ecn else ''}"]


def _classes(classes: Classes) -> list[str]:
    """A class for every queue of the port; those that nothing uses get nothing."""
    found = members(classes)
    shares = percents([entry.weight for entry, level in found if level is None])
    given = dict(zip((*QUEUES[: len(found) - 1], REST), found, strict=True))
    turns = iter(shares)
    lines: list[str] = []
    for name in QUEUES:
        lines.append(f"  class type queuing {name}")
        if name not in given:
            lines.append("    bandwidth remaining percent 0")
            continue
        entry, level = given[name]
        lines.append(
            f"    priority level {level}" if level is not None else f"    bandwidth remaining percent {next(turns)}"
        )
        lines += _queue(entry.queue)
    return lines


def _shape(state: Policies, parsed: ParsedLine) -> None:
    entry = state.current(parsed.line)
    entry.rate, entry.layer = parsed.number("rate") * _RATES[parsed.word("rate_unit")], "l2"


def _speed(state: Policies, parsed: ParsedLine) -> None:
    state.speed = parsed.number("speed") * 10**6


def _dynamic(state: Policies, parsed: ParsedLine) -> None:
    state.current(parsed.line).alpha = 2.0 ** (parsed.number("power") - 7)


def _pause(state: Policies, parsed: ParsedLine) -> None:
    """`pause buffer-size ...`: the levels of an incoming queue."""
    size, xoff, xon = (parsed.number(name) for name in ("pause_size", "pause_at", "resume_at"))
    if size < xoff:
        raise InputError(
            f"translate: line {parsed.line}: found a pause-threshold of {xoff} above the buffer-size; allowed: up to "
            f"{size}"
        )
    state.lossless = Lossless(xoff, xon, size - xoff)


def _pause_priority(state: Policies, _: ParsedLine) -> None:
    """`pause pfc-cos 3`: a lossless class, whose levels may be the device's own."""
    state.lossless = state.lossless or Lossless()


def _curve(state: Policies, parsed: ParsedLine) -> None:
    entry = state.current(parsed.line)
    least = Amount(parsed.number("least"), parsed.word("unit"), parsed.line)
    most = Amount(parsed.number("most"), parsed.word("most_unit"), parsed.line)
    percent = parsed.number("percent") if parsed.has("percent") else None
    entry.curves.append(Curve(least, most, None if percent is None else percent / 100))
    entry.weight = 2.0 ** -parsed.number("weight") if parsed.has("weight") else None
    entry.ecn = parsed.has("ecn")


def _parse_shown_queue(state: Policies, parsed: ParsedLine) -> None:
    """A row of `show queuing interface`: group, share, priority, shaper and limit."""
    if state.policy is None:
        state.policy = state.get_or_create("")
        state.attached.append(state.policy)
    group = parsed.number("group")
    entry = state.at = state.policy.of(QUEUES[7 - group], parsed.line)
    share, level = parsed.number("shown_share", -1), parsed.number("shown_level", -1)
    entry.level = None if level < 0 else level
    entry.share = None if share < 0 else share
    entry.alpha = 2.0 ** (parsed.number("shown_dynamic") - 7)


def _or_none(text: str) -> int:
    """A number, or "-" where there is none, which is below all."""
    return -1 if text == "-" else integer(text, "a number or -")


def _dynamic_limit(text: str) -> int:
    """A limit as `show queuing interface` shows it: "9(D)" is a dynamic one."""
    if not text.endswith("(D)"):
        raise Mistake.word(text, "a dynamic limit such as 9(D); the unit of static ones is not shown")
    return integer(text[:-3], "a dynamic limit", most=DYNAMIC[-1])


_CONFIGURED: Sequence[Form[Handler]] = (
    *COMMON,
    Form("policy-map type queuing <policy>", start_policy),
    Form("class type queuing <class>", start_class),
    # Policies that classify and mark, and those on the system's buffers, have no queue.
    Form("policy-map type qos|network-qos|control-plane|pbr <policy>", start_other),
    Form("class-map type network-qos|control-plane [match-any|match-all] <class>", start_other),
    Form("class type network-qos|qos <class>", ignore),
    Form("mtu <count>", ignore),
    Form("pause pfc-cos <count>", _pause_priority),
    Form("pause no-drop", _pause_priority),
    Form("pause buffer-size <pause_size> pause-threshold <pause_at> resume-threshold <resume_at>", _pause),
    Form("priority-flow-control mode on|off|auto", ignore),
    Form("priority-flow-control watch-dog-interval on|off", ignore),
    Form("service-policy type queuing input <policy>", attach_input),
    Form("class <class>", ignore),
    Form("service-policy type qos|network-qos input|output <policy>", ignore),
    Form("service-policy type network-qos <policy>", ignore),
    Form("system qos", start_interface),
    Form("interface <word> [<word>]", start_interface),
    Form("speed <speed>", _speed),
    Form("service-policy type queuing direction=output <policy>", attach),
    Form("shape min <count> bps|kbps|mbps|gbps max <rate> rate_unit=bps|kbps|mbps|gbps", _shape),
    Form("queue-limit dynamic <power>", _dynamic),
    Form("queue-limit <amount> [unit=packets|bytes|kbytes|mbytes|ms|us]", take_limit),
    Form("! of a memory of <amount> unit=bytes", take_limit),
    Form("! ...", ignore),
    Form("bandwidth remaining of=percent <share>", take_share),
    Form("bandwidth of=percent <share>", take_share),
    Form("priority [level <level>]", take_level),
    Form(
        "random-detect minimum-threshold <least> unit=packets|bytes|kbytes|mbytes maximum-threshold <most> "
        "most_unit=packets|bytes|kbytes|mbytes [drop-probability <percent> weight <weight>] [cap-average] [ecn=ecn]",
        _curve,
    ),
)
#: `show policy-map interface` and `show queuing interface` (Cisco Nexus 9000 Series NX-OS Command Reference, 9.3(x)).
_SHOWN: Sequence[Form[Handler]] = (
    Form("Service-policy (queuing) direction=output: <policy>", show),
    Form("Class-map (queuing): <class> ...", start_class),
    Form("Global|SNMP|slot|Egress|QoS-Group#|Min ...", ignore),
    Form("queue dropped|depth|transmit ...", ignore),
    Form("<rule>", ignore),
    Form("<group> <shown_share> <shown_level> <minus> <minus> <minus> <shown_dynamic>", _parse_shown_queue),
    Form("<interface>", start_interface),
)


def _rule(text: str) -> str:
    if not text or set(text) - set("-=+"):
        raise Mistake.word(text, "a rule")
    return text


def _interface(text: str) -> str:
    if not text.startswith(("Ethernet", "port-channel")):
        raise Mistake.word(text, "an interface such as Ethernet1/1")
    return text


_READERS: Mapping[str, Reader] = {
    **dict.fromkeys(("pause_size", "pause_at", "resume_at"), lambda text: integer(text, "bytes", most=MOST)),
    **amounts(amount=MOST, level=8, rate=10**12, least=MOST, most=MOST, percent=100, speed=10**6),
    **dict.fromkeys(("policy", "class", "word"), identifier),
    "count": lambda text: integer(text, "a rate"),
    "share": lambda text: integer(text, "whole percent", most=100),
    "power": lambda text: integer(text, "a power", most=DYNAMIC[-1]),
    "weight": lambda text: integer(text, "a weight", most=15),
    "group": lambda text: integer(text, "a qos-group", most=7),
    "shown_share": _or_none,
    "shown_level": _or_none,
    "minus": _or_none,
    "shown_dynamic": _dynamic_limit,
    "rule": _rule,
    "interface": _interface,
}
_OPENING = "a line of a queuing policy or of `show policy-map interface`, such as `queue-limit 96000 bytes`"
_GRAMMAR: Grammar[Handler] = Grammar((*_CONFIGURED, *_SHOWN), _READERS, _OPENING)
_SHAPE = Shape(
    _UNITS,
    missing="a dynamic one is a multiple of the free memory of the switch, which differs by model: say it in a line "
    "`! of a memory of 12000000 bytes` of the class",
)

NX_OS = NxOs(
    name="nx-os",
    title="Cisco NX-OS (Nexus 9000)",
    source="Cisco, 'Cisco Nexus 9000 Series NX-OS Command Reference (Configuration Commands), Release 9.3(x)', "
    "queue-limit (dynamic: 0-1/128 to 10-8), random-detect; 'Cisco Nexus 9000 Series NX-OS Quality of Service "
    "Configuration Guide', 'Configuring Queuing and Scheduling' and, Release 10.5(x), 'Configuring Priority Flow "
    "Control'; pause lines as public configurations of Nexus 9000 have them",
    quirks=(
        "the queues' class maps are the system's own and match qos-group 1 to 7, which a policy of type qos sets",
        "a fixed queue-limit takes the queue out of the switch's dynamic sharing; the memory of one slice bounds it",
        f"lossless: one network-qos policy holds for the whole switch; mtu {MTU} is that of public configurations, and "
        f"priority {PRIORITY} and its classes stand for yours",
        f"uncertain: the memory has cells of {CELL} bytes, as the pause lines of public configurations suggest; models "
        "have minima, such as 27,456 and 12,480 bytes",
        "uncertain: whether shapers count the check sequence and the gap depends on the model; 18 bytes a frame more "
        "than IP are assumed",
        "uncertain: kbytes are read as 1000 bytes; the lines are in bytes",
    ),
    disciplines={
        "droptail": "queue-limit in bytes",
        "red": "random-detect",
        "step": "random-detect with ecn, minimum = maximum",
        "dynamic_threshold": "queue-limit dynamic",
        "classes": "queuing classes with priority and bandwidth remaining",
        "priority": "a queuing class with priority",
    },
    nearest={**dict.fromkeys(("codel", "cobalt", "pie", "choke"), "red"), "dualpi2": "step"},
    levels=2,
    classes=8,
    pauses=dict.fromkeys(("xoff", "xon", "headroom"), CELL),
)
