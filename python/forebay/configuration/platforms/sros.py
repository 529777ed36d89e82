"""Nokia SR OS, in the MD-CLI: a sap-egress policy with maximum burst sizes and rates, and slope policies for RED."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from forebay.configuration.platforms.forms import Form, Grammar, ParsedLine, Reader
from forebay.configuration.platforms.modular_policy import Amount, Class, Curve, Policy
from forebay.configuration.platforms.modular_qos import Shape, Unit, amounts, identifier, resolved
from forebay.configuration.platforms.platform import Assumed, Reading, round_up_to_bytes
from forebay.configuration.platforms.routers import WRED, Router, members, ratios
from forebay.configuration.port import FRAMING, Classes, Limit, Port, Queue
from forebay.configuration.quantities import rate_text
from forebay.configuration.reading import Mistake, Word, foreign, integer, signed, skipped_line, statements
from forebay.errors import InputError, UnsupportedError

__all__ = ["SROS"]

#: Bytes per packet that SR OS counts beside IP on Ethernet: header and check sequence.
ETHERNET = 18
#: Ranges of nokia-conf-qos.yang and nokia-types-qos.yang.
MOST = 1_073_741_824
MOST_RATE = 2_000_000_000
MOST_WEIGHT = 100
#: Forwarding classes, from the last queue upwards.
FORWARDING = ("be", "l2", "af", "l1", "h2", "ef", "h1", "nc")
SLOPES = ("high-slope", "low-slope")
NAME = '"FOREBAY"'

_UNITS = {
    "bytes": Unit(bytes=1),
    "kilobytes": Unit(bytes=1000),
    "percent": Unit(part=Fraction(1, 100)),
}


@dataclass(frozen=True)
class Sros(Router):
    """Nokia SR OS."""

    @property
    def reasons(self) -> Mapping[str, str]:
        return {
            **WRED,
            **dict.fromkeys(("min", "max"), "whole percent of the maximum burst size, max above min"),
            "buffer": "mbs counts bytes",
            "max_p": "whole percent, at least one",
            "rate": "whole kb/s",
            "ecn": "SR OS drops where RED would mark",
        }

    def link(self, port: Port) -> tuple[int, str]:
        rate = max(1, round(Fraction(port.bits_per_second, 1000)))
        if rate > MOST_RATE:
            raise UnsupportedError(f"sros does not support {rate_text(port.bits_per_second)}; allowed: up to 2 Tb/s")
        return rate * 1000, port.layer

    def limit(self, limit: Limit, port: Port) -> Limit:
        return self.within(round_up_to_bytes(limit, port.packet), MOST)

    def level(self, level: Limit, queue: Limit, port: Port) -> Limit:
        percent = round(100 * Fraction(level.in_bytes(port.packet)) / Fraction(queue.amount))
        return _part(min(100, max(0, percent)), queue)

    def distinct_thresholds(self, least: Limit, most: Limit, queue: Limit) -> tuple[Limit, Limit]:
        low, high = _percent(least, queue), _percent(most, queue)
        low = min(low, 99)
        return _part(low, queue), _part(max(high, low + 1), queue)

    def shares(self, weights: Sequence[float]) -> list[float]:
        return ratios(weights, MOST_WEIGHT)

    def notes_on(self, queue: Queue) -> Iterator[str]:
        if queue.discipline.kind == "red":
            yield "weight: SR OS averages at intervals of its own, not at each arrival"

    def write(self, port: Port) -> list[str]:
        offset = FRAMING[port.layer] - ETHERNET
        rate = port.bits_per_second // 1000
        found: list[str] = []
        sap = '/configure service ies "1" interface "customer" sap 1/1/1:1 egress qos'
        if isinstance(port.queue, Queue):
            found += _slopes(port.queue, NAME)
            found += _queue(1, port.queue, NAME)
            found += [f"{_EGRESS} queue 1 packet-byte-offset {offset}", f"{_EGRESS} queue 1 rate pir {rate}"]
            return [*found, f"{sap} sap-egress policy-name {NAME}"]
        entries = _numbered(port.queue)
        for number, queue, _ in entries:
            found += _slopes(queue, _policy_name(number))
        found += [f"/configure qos scheduler-policy {NAME} tier 1 scheduler {_LINK} rate pir {rate}"]
        for number, queue, served in entries:
            found += _queue(number, queue, _policy_name(number))
            found += [f"{_EGRESS} queue {number} {line}" for line in (f"packet-byte-offset {offset}", *served)]
            found.append(f"{_EGRESS} fc {FORWARDING[number - 1]} queue {number}")
        attached = [f"{sap} scheduler-policy policy-name {NAME}", f"{sap} sap-egress policy-name {NAME}"]
        return [*found, *attached]

    def read(self, text: str, assumed: Assumed) -> Reading:
        state, skipped = _State(), list[str]()
        for words in _paths(text):
            if _elsewhere(words):
                skipped.append(skipped_line(words))
                continue
            then, parsed = _GRAMMAR.read(words)
            then(state, parsed)
        return dataclasses.replace(resolved(state.root(), assumed, _SHAPE), skipped=tuple(skipped))


_EGRESS = f"/configure qos sap-egress {NAME}"
_LINK = '"LINK"'


def _percent(level: Limit, queue: Limit) -> int:
    return round(100 * Fraction(level.amount) / Fraction(queue.amount))


def _part(percent: int, queue: Limit) -> Limit:
    size = Fraction(percent, 100) * Fraction(queue.amount)
    return Limit(int(size) if size.denominator == 1 else float(size), "bytes")


def _policy_name(number: int) -> str:
    return f'"FOREBAY-{number}"'


def _slopes(queue: Queue, name: str) -> list[str]:
    """The slope policy of a queue with RED; packets in and out of profile have the same slope."""
    discipline = queue.discipline
    if discipline.kind != "red":
        return []
    policy = f"/configure qos slope-policy {name}"
    ends = (_percent(discipline.level("min"), queue.limit), _percent(discipline.level("max"), queue.limit))
    found = [f"{policy} time-average-factor {round(-math.log2(discipline.number('weight')))}"]
    for slope in SLOPES:
        values = (f"start-avg {ends[0]}", f"max-avg {ends[1]}", f"max-prob {round(discipline.number('max_p') * 100)}")
        found += [f"{policy} {slope} {value}" for value in ("admin-state enable", *values)]
    return found


def _queue(number: int, queue: Queue, name: str) -> list[str]:
    """A queue's own lines."""
    found = [f"{_EGRESS} queue {number} mbs {queue.limit.amount}"]
    if queue.discipline.kind == "red":
        found += [f"{_EGRESS} queue {number} wred-queue {line}" for line in ("mode pool-per-queue", f"policy {name}")]
    return found


def _numbered(classes: Classes) -> list[tuple[int, Queue, list[str]]]:
    """Each class with its queue's number and its scheduler lines; the last class is queue 1."""
    found = members(classes)
    count = len(found)
    strict = sum(level is not None for _, level in found)
    numbered = []
    for at, (entry, level) in enumerate(found):
        height = 1 if level is None else strict + 2 - level
        served = [f"scheduler-parent scheduler-name {_LINK}", f"scheduler-parent level {height}"]
        if level is None:
            served.append(f"scheduler-parent weight {entry.weight:.0f}")
        numbered.append((count - at, entry.queue, served))
    return numbered


@dataclass(slots=True)
class _Slope:
    """One slope of a slope policy."""

    line: int
    start: int | None = None
    most: int | None = None
    probability: int | None = None
    enabled: bool = False


@dataclass(slots=True)
class _State:
    """The state after the lines read so far.

    Attributes
    ----------
    queues : Policy
        The queues by number.
    at : int
        Queue of lines that name none; a part of a configuration concerns queue 1.
    slopes, averages : dict
        Slope policies by name.
    wred : dict
        The slope policy of each queue that has one.
    rate : int, optional
        Rate of the common scheduler of the queues.
    offset : int
        Bytes per packet that rates count in addition to the default.
    """

    queues: Policy = field(default_factory=lambda: Policy("queues"))
    at: int = 1
    slopes: dict[str, dict[str, _Slope]] = field(default_factory=dict)
    averages: dict[str, int] = field(default_factory=dict)
    wred: dict[str, str] = field(default_factory=dict)
    rate: int | None = None
    offset: int = 0

    def queue(self, parsed: ParsedLine) -> Class:
        """The queue that a line concerns."""
        return self.queues.of(str(parsed.number("queue", self.at)), parsed.line)

    def slope(self, parsed: ParsedLine) -> _Slope:
        """The slope that a line concerns."""
        policy = self.slopes.setdefault(parsed.word("policy"), {})
        return policy.setdefault(parsed.word("slope"), _Slope(parsed.line))

    def root(self) -> Policy:
        """A shaper that contains the queues, the highest number first."""
        queues = self.queues
        if not queues.classes:
            raise InputError(
                "translate: found no queue; allowed: a sap-egress policy or a part of one, such as `mbs 96000 bytes`"
            )
        for entry in queues.classes:
            if entry.name in self.wred:
                self._bend(entry, self.wred[entry.name])
        rate = self.rate if self.rate is not None else queues.classes[0].rate
        layers = {counts - ETHERNET: layer for layer, counts in FRAMING.items()}
        if self.offset not in layers:
            allowed = ", ".join(f"{offset} ({layer})" for offset, layer in layers.items())
            raise InputError(f"translate: found packet-byte-offset {self.offset}; allowed: {allowed}")
        queues.classes.sort(key=lambda entry: -int(entry.name))
        self._priorities()
        layer = layers[self.offset] if rate is not None else "l3"
        return Policy("port", [Class("port", 1, rate=rate, layer=layer, child=queues)])

    def _bend(self, entry: Class, name: str) -> None:
        """The curve of a queue's slope policy."""
        known = {key: slope for key, slope in self.slopes.get(name, {}).items() if slope.enabled}
        if not known:
            raise InputError(
                f"translate: found no slope-policy `{name}` with a slope enabled; allowed: a text that has it"
            )
        for key, slope in known.items():
            if slope.start is None or slope.most is None or slope.probability is None:
                found = f"line {slope.line}: found a {key} without all three"
                raise InputError(f"translate: {found}; allowed: start-avg, max-avg, max-prob")
            ends = (Amount(slope.start, "percent", slope.line), Amount(slope.most, "percent", slope.line))
            entry.curves.append(Curve(*ends, slope.probability / 100, key))
        entry.weight = 2.0 ** -self.averages.get(name, 7)

    def _priorities(self) -> None:
        """Convert levels of the scheduler to strict priorities: the lowest used level takes turns."""
        heights = [entry.level or 1 for entry in self.queues.classes]
        lowest = min(heights)
        above = sorted({height for height in heights if height > lowest}, reverse=True)
        for entry, height in zip(self.queues.classes, heights, strict=True):
            if height > lowest and heights.count(height) > 1:
                raise InputError(f"translate: found level {height} twice; allowed: turns at the lowest level only")
            entry.level = above.index(height) + 1 if height > lowest else None


_Handler = Callable[[_State, ParsedLine], None]


def _start_queue(state: _State, parsed: ParsedLine) -> None:
    state.at = parsed.number("queue")


def _mbs(state: _State, parsed: ParsedLine) -> None:
    # A line of the MD-CLI has its path and counts bytes; a bare one of the classic CLI counts kilobytes.
    unit = parsed.word("unit", "bytes" if parsed.has("queue") else "kilobytes")
    state.queue(parsed).limit = Amount(parsed.number("amount"), unit, parsed.line)


def _rate(state: _State, parsed: ParsedLine) -> None:
    state.queue(parsed).rate = parsed.number("kbps") * 1000


def _unshaped(state: _State, parsed: ParsedLine) -> None:
    """`rate pir max`: the queue has the rate of its port."""
    state.queue(parsed)


def _link_rate(state: _State, parsed: ParsedLine) -> None:
    state.rate = parsed.number("kbps") * 1000


def _offset(state: _State, parsed: ParsedLine) -> None:
    state.queue(parsed)
    state.offset = parsed.number("offset")


def _parent(state: _State, parsed: ParsedLine) -> None:
    entry = state.queue(parsed)
    entry.level = parsed.number("level") if parsed.has("level") else entry.level
    entry.share = parsed.number("weight") if parsed.has("weight") else entry.share


def _wred(state: _State, parsed: ParsedLine) -> None:
    state.wred[state.queue(parsed).name] = parsed.word("policy")


def _average(state: _State, parsed: ParsedLine) -> None:
    state.averages[parsed.word("policy")] = parsed.number("factor")


def _slope(state: _State, parsed: ParsedLine) -> None:
    slope, percent = state.slope(parsed), parsed.number("percent")
    if parsed.word("end") == "start-avg":
        slope.start = percent
    elif parsed.word("end") == "max-avg":
        slope.most = percent
    else:
        slope.probability = percent


def _enabled(state: _State, parsed: ParsedLine) -> None:
    state.slope(parsed).enabled = parsed.word("state") == "enable"


def _ignore(_: _State, __: ParsedLine) -> None:
    """Ignore a line that does not concern queues."""


_POLICY = "[qos] [sap-egress <word>]"
_QUEUE = f"{_POLICY} [queue <queue> [create]]"
_SLOPE = "[qos] slope-policy <policy> slope=highplus-slope|high-slope|low-slope|exceed-slope"
_FORMS: Sequence[Form[_Handler]] = (
    Form(f"{_QUEUE} mbs <amount> [unit=bytes|kilobytes]", _mbs),
    Form(f"{_QUEUE} rate [pir] max [cir <any>]", _unshaped),
    Form(f"{_QUEUE} rate [pir] <kbps> [cir <any>]", _rate),
    Form(f"{_QUEUE} rate cir <any>", _ignore),
    Form(f"{_QUEUE} packet-byte-offset <offset>", _offset),
    Form(f"{_QUEUE} wred-queue policy <policy>", _wred),
    Form(f"{_QUEUE} wred-queue mode pool-per-queue", _ignore),
    Form(f"{_QUEUE} scheduler-parent [scheduler-name <word>] [level <level>] [weight <weight>]", _parent),
    Form(f"{_QUEUE} cbs|queue-type|burst-limit|adaptation-rule ...", _ignore),
    Form(f"{_POLICY} fc <word> [create] [queue <queue>]", _ignore),
    Form(f"{_POLICY} fc <word> [create] dot1p|dscp|de-mark|prec|hsmda|remark ...", _ignore),
    Form("queue <queue>", _start_queue),
    Form(f"{_POLICY} description|policy-id ...", _ignore),
    Form(f"{_POLICY} queue <queue> [best-effort|expedited] [create]", _start_queue),
    Form("[qos] sap-egress <word> [create]", _ignore),
    Form("[qos] slope-policy <policy> time-average-factor <factor>", _average),
    Form(f"{_SLOPE} admin-state state=enable|disable", _enabled),
    Form(f"{_SLOPE} end=start-avg|max-avg|max-prob <percent>", _slope),
    Form("[qos] scheduler-policy <word> tier <any> scheduler <word> rate pir <kbps>", _link_rate),
    Form("service ...", _ignore),
)


def _signed(text: str) -> int:
    return signed(text, "bytes from -64 to 31", most=64)


_READERS: Mapping[str, Reader] = {
    **amounts(amount=MOST, kbps=MOST_RATE, queue=8, level=8),
    **dict.fromkeys(("word", "policy", "any"), identifier),
    "offset": _signed,
    "weight": lambda text: integer(text, "a weight", most=MOST_WEIGHT),
    "factor": lambda text: integer(text, "a factor", most=15),
    "percent": lambda text: integer(text, "whole percent", most=100),
}
_OPENING = "a line of a sap-egress or slope policy, such as `queue 1 mbs 96000`"
_GRAMMAR: Grammar[_Handler] = Grammar(_FORMS, _READERS, _OPENING)
_SHAPE = Shape(_UNITS, limit="mbs", missing="its default depends on the hardware; `show qos sap-egress` shows it")


def _elsewhere(words: Sequence[Word]) -> bool:
    """Whether a line belongs to another context than qos, or to a policy without egress queues."""
    rest = words[1:] if words[0].text == "qos" and len(words) > 1 else words
    return foreign(rest[0].text, _GRAMMAR.first)


def _paths(text: str) -> Iterator[list[Word]]:
    """Every line with its contexts: flat lines, and blocks in braces as `info` prints them."""
    within: list[list[Word]] = []
    for given in statements(text, comment="#", separators=""):
        words = given[1:] if given[0].text in ("/configure", "configure") else given
        if not words:
            continue
        if words[-1].text == "{":
            if len(words) == 1 and words is given:
                raise Mistake("`{`", "a context before it").error(words[0].line)
            within.append(list(words[:-1]))
        elif words[0].text in ("}", "exit"):
            within = within[:-1]
        else:
            yield [word for context in within for word in context] + list(words)
    if within:
        context = next((each[0] for each in reversed(within) if each), Word("configure", 1))
        raise Mistake("the end of the text", f"`}}` after `{context.text}`").error(context.line)


SROS = Sros(
    name="sros",
    title="Nokia SR OS (7750 SR, MD-CLI)",
    source="Nokia, 'MD-CLI Command Reference', qos commands, with the ranges of nokia-conf-qos.yang and "
    "nokia-types-qos.yang, release 24 (mbs 0..1073741824 bytes, pir in kb/s, slopes in percent, packet-byte-offset "
    "-64..31)",
    quirks=(
        "uncertain: mbs is rounded up to whole buffers of the card; its grain is not public for every card",
        "pool-per-queue needs wred-queue-control enabled at the card's forwarding plane",
        "every forwarding class that no line maps goes to queue 1",
        "a bare `mbs 200` is read as kilobytes of 1000 bytes, as the classic CLI means it; with `queue 1` before it as "
        "bytes, as the MD-CLI does",
    ),
    disciplines={
        "droptail": "mbs",
        "red": "slope-policy",
        "classes": "sap-egress queues at a scheduler's levels and weights",
        "priority": "sap-egress queues at a scheduler's levels",
    },
    nearest=dict.fromkeys(("codel", "cobalt", "pie", "choke", "dualpi2", "step"), "red"),
    levels=8,
    classes=8,
    marks=False,
)
