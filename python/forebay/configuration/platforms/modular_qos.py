"""Cisco's modular QoS command line: policies of classes that an interface is given, as typed and as shown.

The three systems have the same structure (policy-map, class, service-policy); each has a file for its units, ranges and
words.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from forebay.configuration.platforms.forms import Form, Grammar, ParsedLine, Reader
from forebay.configuration.platforms.modular_policy import DEFAULT, Amount, Class, Curve, Policies, Policy
from forebay.configuration.platforms.platform import Assumed, Reading
from forebay.configuration.platforms.routers import members, prioritized, wred
from forebay.configuration.port import UNKNOWN, Classes, Discipline, Limit, Port, Queue, TrafficClass, Value
from forebay.configuration.quantities import rate_text
from forebay.configuration.reading import Mistake, Word, closest, foreign, integer, skipped_line, statements
from forebay.errors import InputError
from forebay.text.formatting import bandwidth, exactly

__all__ = [
    "COMMON",
    "PREFIX",
    "Handler",
    "Shape",
    "Unit",
    "amounts",
    "attach_input",
    "identifier",
    "ignore",
    "names",
    "reading",
    "resolved",
    "router_name",
]

#: Alternatives to fair-queue for a queue.
_FAIR = "queue-limit, random-detect (fair-queue hashes flows into 16 queues, which nothing here simulates)"
#: Prefix of names, so that a router does not have them already.
PREFIX = "FOREBAY-"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: its bytes, its seconds or its part of the queue's limit; packets of any size if none is set."""

    bytes: int | None = None
    seconds: Fraction | None = None
    part: Fraction | None = None

    def limit(self, amount: int, rate: Fraction | None) -> Limit:
        """The limit of `amount` units; a time counts at `rate`."""
        if self.bytes is not None:
            return Limit(amount * self.bytes, "bytes")
        if self.seconds is None:
            return Limit(amount, "packets")
        if rate is None:
            raise InputError(
                "found none; allowed: the link's rate, as a time counts at a rate that the text does not have", "rate"
            )
        size = amount * self.seconds * rate / 8
        return Limit(int(size) if size.denominator == 1 else float(size), "bytes")


Handler = Callable[["Policies", ParsedLine], None]


def start_policy(state: Policies, parsed: ParsedLine) -> None:
    """`policy-map NAME`."""
    state.policy, state.at, state.interface = state.get_or_create(parsed.word("policy")), None, False


def start_class(state: Policies, parsed: ParsedLine) -> None:
    """`class NAME`."""
    if state.policy is None:
        state.policy = state.get_or_create("")
    state.at = state.policy.of(parsed.word("class"), parsed.line)


def start_other(state: Policies, parsed: ParsedLine) -> None:
    """`class-map NAME`, whose values say which curve of WRED counts."""
    state.policy, state.at, state.interface = None, None, False
    state.matching = parsed.word("class")


def take_match(state: Policies, words: Sequence[Word]) -> None:
    """`match dscp af11 af12`, `match ip precedence 3`."""
    criteria = [word.text for word in words[1:] if word.text not in ("ip", "not")]
    if criteria and criteria[0] in VALUED and "not" not in (word.text for word in words):
        named = state.matches.setdefault(state.matching, set())
        named.update(f"{criteria[0]} {value_of(text)}" for text in criteria[1:])


#: Header fields whose values WRED may distinguish.
VALUED = ("dscp", "precedence", "cos", "exp", "discard-class")
_NAMED_VALUES: Mapping[str, str] = {
    **{"default": "0", "be": "0", "ef": "46", "va": "44", "routine": "0", "critical": "5", "internet": "6"},
    **{f"cs{number}": str(8 * number) for number in range(8)},
    **{f"af{row}{drop}": str(8 * row + 2 * drop) for row in range(1, 5) for drop in range(1, 4)},
}


def value_of(text: str) -> str:
    """The number of a header field's value, if its name is known."""
    return _NAMED_VALUES.get(text.lower(), text.lower())


def start_interface(state: Policies, _: ParsedLine) -> None:
    """`interface NAME`."""
    state.policy, state.at, state.interface = None, None, True


def attach(state: Policies, parsed: ParsedLine) -> None:
    """`service-policy output NAME` at an interface, `service-policy NAME` in a class."""
    policy = state.get_or_create(parsed.word("policy"))
    if state.interface or parsed.has("direction"):
        state.attached.append(policy)
    else:
        state.current(parsed.line).child = policy


def show(state: Policies, parsed: ParsedLine) -> None:
    """Read the policy of an interface or, without a direction, of a class from a device's output."""
    policy = state.get_or_create(parsed.word("policy"))
    if parsed.has("direction"):
        state.attached.append(policy)
    else:
        state.current(parsed.line).child = policy
    state.policy, state.at = policy, None


def take_limit(state: Policies, parsed: ParsedLine) -> None:
    """`queue-limit N UNIT`."""
    state.current(parsed.line).limit = Amount(parsed.number("amount"), parsed.word("unit", "packets"), parsed.line)


def take_level(state: Policies, parsed: ParsedLine) -> None:
    """`priority level N`."""
    state.current(parsed.line).level = parsed.number("level", 1)


def take_policed(state: Policies, parsed: ParsedLine) -> None:
    """`priority percent N`, `priority KBPS`: a priority whose packets are dropped above a rate."""
    entry = state.current(parsed.line)
    entry.level = parsed.number("level", 1)
    unit = "%" if parsed.has("policed_percent") else "kb/s"
    most = parsed.number("policed_percent") or parsed.number("policed")
    entry.unsimulated.append(f"its policer of {most} {unit}, which a scenario has as `policer` of a link")


def take_percent(state: Policies, parsed: ParsedLine) -> None:
    """`shape average percent N`."""
    state.current(parsed.line).percent = parsed.number("policed_percent")


def take_thresholds(state: Policies, parsed: ParsedLine) -> None:
    """`queue-limit dscp af23 percent 80`: a limit of its own for each value."""
    entry = state.current(parsed.line)
    text = "its queue-limit of each value, as a class of a scenario has one limit"
    entry.unsimulated += [] if text in entry.unsimulated else [text]


def attach_input(state: Policies, parsed: ParsedLine) -> None:
    """`service-policy input NAME`."""
    state.arriving.add(parsed.word("policy"))


def take_share(state: Policies, parsed: ParsedLine) -> None:
    """`bandwidth remaining ratio N` and the like."""
    entry = state.current(parsed.line)
    entry.share, entry.share_unit = parsed.number("share"), parsed.word("of", "ratio")


def take_detection(state: Policies, parsed: ParsedLine) -> None:
    """`random-detect`."""
    state.current(parsed.line).detects = True


def take_ecn(state: Policies, parsed: ParsedLine) -> None:
    """`random-detect ecn`."""
    state.current(parsed.line).ecn = True


def ignore(_: Policies, __: ParsedLine) -> None:
    """Ignore a line that does not concern queues."""


#: The forms that the three systems have in common.
COMMON: Sequence[Form[Handler]] = (
    Form("class-map [type qos|queuing] [match-any|match-all] <class>", start_other),
    Form("description ...", ignore),
    Form("match ...", ignore),
    Form("exit|end|!", ignore),
    Form("service-policy input <policy>", attach_input),
)


def identifier(text: str) -> str:
    """Read a name."""
    if not text:
        raise Mistake("nothing", "a name")
    return text


def router_name(name: str, *, most: int = 30) -> str:
    """A scenario's name in characters that routers allow."""
    allowed = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-_") else "-" for sign in name)
    return allowed[:most] or "class"


def names(classes: Classes) -> list[str]:
    """Distinct names of classes; the last class without a strict priority is the default class."""
    rest = max((at for at, (_, level) in enumerate(members(classes)) if level is None), default=-1)
    messages: list[str] = []
    for at, entry in enumerate(classes.classes):
        bare = PREFIX + router_name(entry.name)
        free = DEFAULT if at == rest else bare if bare not in (*messages, DEFAULT) else f"{bare}-{at + 1}"
        messages.append(free)
    return messages


@dataclass(frozen=True, slots=True)
class Shape:
    """The meaning of a system's policies.

    Attributes
    ----------
    units : mapping
        Units of the system, by name.
    limit, missing : str
        The system's name for a queue's limit, and the instruction if a text has none.
    share_of_rate : bool
        Whether times count at a class's share of the rate, or at its slower shaper, instead of at the rate.
    others : str
        Action on packets above a marking threshold that cannot be marked.
    """

    units: Mapping[str, Unit]
    others: str = "drop"
    limit: str = "queue-limit"
    share_of_rate: bool = False
    missing: str = "its default depends on the hardware; the device shows it"


def lines(text: str, comment: str) -> list[list[Word]]:
    """The lines of a text without a device's prompts."""
    found = statements(text, comment=comment, separators="")
    return [words for words in found if not _prompt(words)]


def _prompt(words: Sequence[Word]) -> bool:
    """Whether a line is a typed command, as in `router#show policy-map interface`."""
    first = words[0].text
    typed = first.partition("#" if "#" in first else ">")[2]
    return first in ("show", "sh") or (("#" in first or ">" in first) and typed in ("", "show", "sh"))


def reading(text: str, grammar: Grammar[Handler], assumed: Assumed, shape: Shape, *, comment: str = "!") -> Reading:
    """The reading of a text of a system's lines; `comment` begins a comment."""
    state, skipped = Policies(), list[str]()
    for words in lines(text, comment):
        first = words[0].text
        if state.interface and state.at is None and first in _OF_INTERFACES:
            skipped.append(skipped_line(words))
            continue
        if first == "match":
            take_match(state, words)
        try:
            then, parsed = grammar.read(words)
        except InputError:
            # Values may come first, too (a row of a table, the name of an interface), so try to read the line before
            # skipping it.
            if not foreign(first, grammar.first):
                raise
            skipped.append(skipped_line(words))
            continue
        then(state, parsed)
    for policy in state.policies.values():
        for entry in policy.classes:
            entry.matches |= state.matches.get(entry.name, set())
    root = _root(state, skipped)
    resolution = resolved(root, assumed, shape, state.speed)
    port = dataclasses.replace(resolution.port, lossless=state.lossless)
    return dataclasses.replace(resolution, port=port, skipped=tuple(skipped))


#: Words that mean something else for an interface than for a class.
_OF_INTERFACES = ("bandwidth", "priority", "fair-queue")


def resolved(root: Policy, assumed: Assumed, shape: Shape, speed: int | None = None) -> Reading:
    """The port of an outermost policy: a shaper or the speed of the port, and a queue or classes."""
    return _Resolved(assumed, shape).port(root, speed)


def _root(state: Policies, skipped: list[str]) -> Policy:
    """The policy of an interface, or the policy that no other one contains."""
    queueing = [policy for policy in state.attached if any(entry.queues for entry in policy.classes)]
    if queueing and len(queueing) < len(state.attached):
        skipped += [f"policy-map {each.name}, which has no queue" for each in state.attached if each not in queueing]
        state.attached = queueing
    if len({policy.name for policy in state.attached}) > 1:
        names = ", ".join(f"`{policy.name}`" for policy in state.attached)
        raise InputError(f"translate: found several policies at interfaces ({names}); allowed: one interface at a time")
    children = [
        entry.child for policy in state.policies.values() for entry in policy.classes if entry.child is not None
    ]
    roots = [policy for policy in state.policies.values() if policy.classes and policy not in children]
    if not state.attached and len(roots) > 1:
        queueing = [
            policy
            for policy in roots
            if policy.name not in state.arriving and any(entry.queues for entry in policy.classes)
        ]
        skipped += [f"policy-map {policy.name}, which has no queue" for policy in roots if policy not in queueing]
        roots = queueing or roots
    if state.attached:
        if not state.attached[0].classes:
            suggestion = closest(state.attached[0].name, [policy.name for policy in roots])
            known = ", ".join(f"`{policy.name}`" for policy in roots if policy.name) or "a text that has its policy-map"
            allowed = f"{known}" + (f"; did you mean `{suggestion}`?" if suggestion else "")
            raise InputError(f"translate: found no policy-map `{state.attached[0].name}`; allowed: {allowed}")
        return state.attached[0]
    if len(roots) != 1:
        found = f"{len(roots)} policies and no interface" if roots else "no policy"
        raise InputError(f"translate: found {found}; allowed: a policy-map, a part of one, or what an interface shows")
    return roots[0]


@dataclass(slots=True)
class _Resolved:
    """The conversion of classes to a port."""

    assumed: Assumed
    shape: Shape
    how: dict[str, None] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    unsimulated: list[str] = field(default_factory=list)

    def port(self, root: Policy, speed: int | None) -> Reading:
        """The port of the outermost policy."""
        root.classes = [entry for entry in root.classes if entry.used] or root.classes
        top = root.classes[0]
        if top.percent is not None and len(root.classes) == 1:
            link = speed or self.assumed.rate
            top.rate = None if link is None else link * top.percent // 100
            if link is None:
                self.unknown.append(f"{top.name}: its rate, {top.percent} % of the link's; give --link")
        shaped = top if top.rate is not None and len(root.classes) == 1 else None
        policy = top.child if len(root.classes) == 1 and top.child is not None else root
        if not policy.classes:
            raise InputError(f"translate: found no policy-map `{policy.name}`; allowed: a text that has it")
        rate, layer = (speed, "l3" if speed is None else "l1") if shaped is None else (shaped.rate, shaped.layer)
        wire = None if shaped is None else shaped.wire
        if wire is not None:
            self.how[f"the shaper counts {wire}"] = None
        bare = Port(rate, self.assumed.packet, _NOTHING, layer=layer, wire=wire)
        counted = bare.ip_rate if rate is not None else None
        if counted is None and self.assumed.rate is not None:
            counted = Fraction(self.assumed.rate)
        for each in policy.classes if len(policy.classes) > 1 else ():
            if each.percent is not None or each.rate is not None:
                most = f"{each.percent} %" if each.rate is None else rate_text(each.rate)
                each.unsimulated.append(f"its shaper of {most}, which a class of a scenario does not have")
        texts = [f"{each.name}: {text}" for each in (top, *policy.classes) for text in each.unsimulated]
        self.unsimulated += dict.fromkeys(texts)
        if len(policy.classes) == 1:
            only = policy.classes[0]
            if only.fair_queue:
                raise Mistake("`fair-queue`", _FAIR).error(only.line)
            drops = only.detects or bool(only.curves)
            cisco = self.shape.limit == "queue-limit"
            if only.limit is None and ((rate is None and not only.curves) or (drops and not cisco)):
                raise self.unlimited(only)
            queue = self.queue(only, counted)
            return self.reading(bare, queue)
        shares = self.shares(policy, counted)
        total = sum(share for entry, share in zip(policy.classes, shares, strict=True) if entry.level is None)
        found = []
        for entry, share in zip(policy.classes, shares, strict=True):
            part = Fraction(share, total) if entry.level is None and total else Fraction(1)
            times = self.service_rate(entry, counted, part) if self.shape.share_of_rate else counted
            if entry.limit is None and entry.level is not None and policy.shared is not None:
                entry.limit = policy.shared.limit
            queue = self.queue(entry, times)
            found.append((TrafficClass(entry.name.removeprefix(PREFIX), (), float(share), queue), entry.level))
        return self.reading(bare, prioritized(found))

    def reading(self, bare: Port, queue: Queue | Classes) -> Reading:
        """The reading of a port with its queue."""
        return Reading(bare.with_queue(queue), tuple(self.how), (), tuple(self.unknown), tuple(self.unsimulated))

    def service_rate(self, entry: Class, rate: Fraction | None, part: Fraction) -> Fraction | None:
        """The rate of a class while all classes have something to send, in bits of IP packets per second.

        None if it depends on the link's rate and the text does not have this rate.
        """
        port = (
            None
            if entry.rate is None
            else Port(entry.rate, self.assumed.packet, _NOTHING, layer=entry.layer, wire=entry.wire).ip_rate
        )
        if rate is None:
            return port if part == 1 else None
        most = [rate * part]
        most += [] if port is None else [port]
        most += [] if entry.percent is None else [rate * entry.percent / 100]
        return min(most)

    def unlimited(self, entry: Class) -> InputError:
        """The error for a text that has only a class without a limit."""
        found = f"line {entry.line}: found no {self.shape.limit} in `{entry.name}`"
        return InputError(f"translate: {found}; allowed: a {self.shape.limit} ({self.shape.missing})")

    def shares(self, policy: Policy, rate: Fraction | None) -> list[int]:
        """The share of each class in the rest, in one unit; a class without a share has what the others leave."""
        turns = [entry for entry in policy.classes if entry.level is None]
        units = {entry.share_unit for entry in turns if entry.share is not None}
        if len(units) > 1:
            raise InputError(
                f"translate: found bandwidth in {' and '.join(sorted(units))}; allowed: one unit in a policy"
            )
        sum_of_shares = sum(entry.share or 0 for entry in turns)
        silent = sum(entry.share is None for entry in turns)
        whole_link = {"percent": 100, "kbps": int(rate / 1000) if rate is not None else sum_of_shares + silent}
        left = (whole_link[next(iter(units))] - sum_of_shares) // max(1, silent) if units and units != {"ratio"} else 1
        return [entry.share if entry.share is not None else max(1, left) for entry in policy.classes]

    def queue(self, entry: Class, rate: Fraction | None) -> Queue:
        """The queue of a class; its times count at `rate`."""
        limit = UNKNOWN if entry.limit is None else self.limit(entry.limit, rate)
        if entry.fair_queue:
            self.unsimulated.append(f"{entry.name}: fair-queue, whose hashed queues nothing here simulates")
        if not limit.known:
            self.unknown.append(f"{entry.name}: its buffer, as there is no {self.shape.limit}; {self.shape.missing}")
            relative = any(self.shape.units[curve.least.unit].part is not None for curve in entry.curves)
            if relative or (entry.detects and not entry.curves):
                self.unknown.append(f"{entry.name}: the thresholds of random-detect, which depend on the buffer")
                return Queue(limit, Discipline("droptail"))
        if entry.alpha is not None and not entry.curves:
            return Queue(limit, Discipline("dynamic_threshold", {"alpha": entry.alpha}))
        if not entry.curves:
            if entry.detects or entry.ecn:
                self.unknown.append(
                    f"{entry.name}: the thresholds of random-detect, whose defaults depend on the hardware; it is read "
                    "as droptail until they are in the text, as the device shows them"
                )
            return Queue(limit, Discipline("droptail"))
        curve = self.curve(entry)
        beside = limit if limit.known else None
        least, most = self.limit(curve.least, rate, beside), self.limit(curve.most, rate, beside)
        if entry.ecn and least == most and curve.probability in (1, None):
            return Queue(limit, Discipline("step", {"threshold": least, "others": self.shape.others}, ecn=True))
        parameters = {"max_p": curve.probability, "weight": entry.weight}
        values: dict[str, Value] = {"min": least, "max": most}
        values |= {name: value for name, value in parameters.items() if value is not None}
        return Queue(limit, wred(values, ecn=entry.ecn))

    def curve(self, entry: Class) -> Curve:
        """The curve of the class's packets, as red has one: that of the values which its class map names.

        Where these have several, it is that of the packets which are dropped last.
        """
        of = {curve: _value(curve) for curve in entry.curves}
        named = entry.matches or ({"dscp 0", "precedence 0", "cos 0"} if entry.name == DEFAULT else set())
        counting = [curve for curve in entry.curves if of[curve] in named] or entry.curves
        last = max(counting, key=lambda curve: (curve.most.amount, curve.least.amount, -(curve.probability or 0)))
        others = list(dict.fromkeys(curve.of for curve in entry.curves if _levels(curve) != _levels(last)))
        if others:
            self.unsimulated.append(
                f"{entry.name}: WRED of {', '.join(others)}; it is read as that of {last.of} for all"
            )
        without = sorted(entry.matches - {*of.values()}) if all(of.values()) else []
        if without:
            self.unknown.append(f"{entry.name}: WRED of {', '.join(without)}, which has the device's defaults")
        return last

    def limit(self, amount: Amount, rate: Fraction | None, beside: Limit | None = None) -> Limit:
        """A limit or, beside a queue's limit and in its unit, a threshold."""
        unit = self.shape.units[amount.unit]
        if unit.part is not None and beside is not None:
            part = amount.amount * unit.part * Fraction(beside.amount)
            return Limit(int(part) if part.denominator == 1 else float(part), beside.unit)
        found = unit.limit(amount.amount, rate)
        if unit.bytes is not None and amount.unit != "bytes":
            self.how[f"1 {_singular(amount.unit)} = {unit.bytes:,} bytes"] = None
        if unit.seconds is not None and rate is not None:
            self.how[f"{amount.amount} {amount.unit} at {exactly(bandwidth(float(rate)))} = {found}"] = None
        if beside is not None and beside.unit != found.unit:
            size = (
                found.in_packets(self.assumed.packet)
                if beside.unit == "packets"
                else found.in_bytes(self.assumed.packet)
            )
            return Limit(size, beside.unit)
        return found


def _value(curve: Curve) -> str:
    """The header field value of a curve, in the form of `matches`; a device shows the value alone."""
    if not curve.of:
        return ""
    kind, _, value = curve.of.rpartition(" ")
    return f"{kind or 'dscp'} {value_of(value)}"


def _levels(curve: Curve) -> tuple[object, ...]:
    return curve.least.amount, curve.most.amount, curve.probability


def _singular(unit: str) -> str:
    return unit.removesuffix("s") if unit not in ("ms", "us") else unit


_NOTHING = Queue(Limit(0, "bytes"), Discipline("droptail"))


def amounts(**limits: int) -> dict[str, Reader]:
    """Readers of whole numbers from one up to these limits."""
    return {name: _amount(most) for name, most in limits.items()}


def _amount(most: int) -> Reader:
    return lambda text: integer(text, "a whole number", least=1, most=most)
