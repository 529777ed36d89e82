"""Arista EOS: transmit queues of an interface; the 7280R and 7500R bound their delay, Trident switches share memory.

The families differ in the bound of a queue, so they are two platforms: `eos` and `eos-trident`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from forebay.configuration.lossless import PRIORITY, Lossless
from forebay.configuration.platforms.forms import Form, Grammar, ParsedLine, Reader
from forebay.configuration.platforms.modular_policy import Amount, Class, Curve, Policies, Policy
from forebay.configuration.platforms.modular_qos import (
    Handler,
    Shape,
    Unit,
    amounts,
    identifier,
    ignore,
    lines,
    resolved,
)
from forebay.configuration.platforms.platform import Assumed, Reading, round_up_to_bytes
from forebay.configuration.platforms.routers import WRED, Router, members, microseconds, percents
from forebay.configuration.port import Classes, Limit, Port, Queue
from forebay.configuration.quantities import rate_text
from forebay.configuration.reading import Mistake, foreign, integer, skipped_line
from forebay.errors import InputError

__all__ = ["EOS", "EOS_TRIDENT"]

#: The queue of traffic class 1, where best effort (DSCP 0 to 7) goes; 7 is for control traffic.
FIRST, LAST = 1, 6
#: The largest threshold (Arista's AVD schema, random_detect.ecn.threshold).
MOST = 256_000_000
#: The largest number of a latency that is read, and therefore written.
LONGEST = 2**40
#: The fastest rate in bits per second: whole kb/s of 32 bits.
FASTEST = (2**32 - 1) * 1000
#: Multiples of the free memory that a Trident queue may hold, as powers of two.
ALPHAS = range(-6, 4)

_UNITS = {
    "bytes": Unit(bytes=1),
    "kbytes": Unit(bytes=1000),
    "mbytes": Unit(bytes=10**6),
    **dict.fromkeys(("milliseconds", "ms"), Unit(seconds=Fraction(1, 1000))),
    **dict.fromkeys(("microseconds", "us"), Unit(seconds=Fraction(1, 10**6))),
}


@dataclass(frozen=True)
class Eos(Router):
    """Arista EOS; `queue_word` is the system's word for a unicast queue."""

    queue_word: str = "tx-queue"

    @property
    def reasons(self) -> Mapping[str, str]:
        return {
            **WRED,
            **dict.fromkeys(("min", "max", "threshold"), "counted in bytes, max above min"),
            "buffer": "counted in bytes" if self.shared else "a queue is bounded by its delay in whole microseconds",
            "max_p": "whole percent, at least one",
            "alpha": "thresholds are powers of two from 1/64 to 8",
            "memory": "the switch's own memory is what ports share",
            "rate": "the shaper counts frames, in whole kb/s",
            "rate_layer": "the shaper counts frames",
            "others": "random-detect ecn marks what it can and leaves the rest",
            "xoff": "EOS pauses at a multiple of the free memory (ingress threshold)",
            "xon": "no published description of `ingress resume` says what it counts",
            "headroom": "the 7280R has no published line for it; Trident: --for eos-trident",
        }

    @property
    def shared(self) -> bool:
        """Whether a queue's limit is a multiple of the switch's free memory."""
        return "dynamic_threshold" in self.disciplines

    def link(self, port: Port) -> tuple[int, str]:
        return self.shaped(port, "l2", FASTEST)

    def limit(self, limit: Limit, port: Port) -> Limit:
        if self.shared:
            return round_up_to_bytes(limit, port.packet)
        return self.lasting(limit, port, LONGEST)

    def level(self, level: Limit, queue: Limit, port: Port) -> Limit:
        del queue
        return self.within(Router.level(self, level, Limit(0, "bytes"), port), MOST - 1)

    def alpha(self, alpha: float) -> float:
        return 2.0 ** min(ALPHAS[-1], max(ALPHAS[0], round(math.log2(alpha))))

    def notes_on(self, queue: Queue) -> Iterator[str]:
        discipline = queue.discipline
        if discipline.kind == "red" and discipline.ecn:
            yield "ecn: packets that cannot be marked wait up to the limit, as random-detect drop would drop all"
        if self.shared and discipline.kind != "dynamic_threshold":
            yield "buffer: a queue of Trident has no fixed limit; it holds as much as is free of the switch's memory"

    def write(self, port: Port) -> list[str]:
        shape = [f"   shape rate {port.bits_per_second // 1000} kbps"]
        queues = _queues(port.queue)
        if port.lossless is not None:
            queues = [(PRIORITY, served, queue) for _, served, queue in queues]
            pausing = ("on", f"priority {PRIORITY} no-drop")
            shape += [f"   priority-flow-control {words}" for words in pausing]
        profile = self._profile(queues, port)
        body = [
            line
            for number, traffic_class, queue in queues
            for line in self._queue((number, traffic_class, queue), port)
        ]
        return [*profile, "interface Ethernet1", *shape, *body]

    def _profile(self, queues: Sequence[tuple[int, list[str], Queue]], port: Port) -> list[str]:
        """The memory's profile, on switches that share it."""
        if not self.shared:
            return []
        found = ["platform trident mmu queue profile FOREBAY"]
        if port.lossless is not None and port.lossless.headroom is not None:
            found.append(f"   ingress headroom bytes {port.lossless.headroom}")
        for number, _, queue in queues:
            dynamic = queue.discipline.kind == "dynamic_threshold"
            alpha = Fraction(queue.discipline.number("alpha") if dynamic else 1.0)
            found.append(f"   egress unicast queue {number} threshold {alpha}")
        return [*found, "!", "platform trident mmu queue profile FOREBAY apply", "!"]

    def _queue(self, entry: tuple[int, list[str], Queue], port: Port) -> list[str]:
        """The lines of a queue of the interface."""
        number, served, queue = entry
        red = queue.discipline
        found = list(served)
        if self.shared:
            found.append(f"! of a memory of {queue.limit.amount} bytes")
        else:
            found.append(f"latency maximum {microseconds(queue.limit, port)} microseconds")
        if red.kind == "step":
            level = red.level("threshold").amount
            curve = f"minimum-threshold {level} bytes maximum-threshold {level} bytes"
            found.append(f"random-detect ecn {curve} max-mark-probability 100 weight 0")
        if red.kind == "red":
            curve = (
                f"minimum-threshold {red.level('min').amount} bytes maximum-threshold {red.level('max').amount} bytes"
            )
            kind, probability = ("ecn", "max-mark-probability") if red.ecn else ("drop", "drop-probability")
            weight = round(-math.log2(red.number("weight")))
            percent = round(red.number("max_p") * 100)
            found.append(f"random-detect {kind} {curve} {probability} {percent} weight {weight}")
        return [f"   {self.queue_word} {number}", *(f"      {line}" for line in found)]

    def read(self, text: str, assumed: Assumed) -> Reading:
        state = Policies()
        skipped = []
        for words in lines(text, ""):
            if foreign(words[0].text, _GRAMMAR.first):
                skipped.append(skipped_line(words))
                continue
            then, parsed = _GRAMMAR.read(words)
            then(state, parsed)
        percent = state.get_or_create("interface").of("interface", 1).percent
        root = Class("interface", 1, rate=state.speed, layer="l2", child=_by_number(state), percent=percent)
        shape = _TRIDENT if self.shared else _JERICHO
        resolution = resolved(Policy("interface", [root]), assumed, shape)
        lossless = None if state.lossless is None else Lossless(headroom=state.headroom)
        port = dataclasses.replace(resolution.port, lossless=lossless)
        return dataclasses.replace(resolution, port=port, skipped=tuple(skipped))


def _queues(queue: Queue | Classes) -> list[tuple[int, list[str], Queue]]:
    """Each queue with its number and the lines on its service, the highest number first."""
    if isinstance(queue, Queue):
        return [(FIRST, [], queue)]
    found = members(queue)
    shares = iter(percents([entry.weight for entry, level in found if level is None]))
    numbers = range(len(found) - 1 + FIRST, FIRST - 1, -1)
    return [
        (
            number,
            ["priority strict"] if level is not None else ["no priority", f"bandwidth percent {next(shares)}"],
            entry.queue,
        )
        for number, (entry, level) in zip(numbers, found, strict=True)
    ]


def _by_number(state: Policies) -> Policy:
    """The named queues, the highest number first; each strict queue has a priority in that order."""
    queues = state.get_or_create("queues")
    queues.classes.sort(key=lambda entry: -int(entry.name) if entry.name.isdigit() else 0)
    for level, entry in enumerate([entry for entry in queues.classes if entry.level is not None], 1):
        entry.level = level
    return queues


def _start_port(state: Policies, parsed: ParsedLine) -> None:
    """`interface NAME` or `qos profile NAME`: begin its queues."""
    state.policy, state.at, state.matching = None, None, parsed.word("word")


def _start_queue(state: Policies, parsed: ParsedLine) -> None:
    state.holding[state.matching] = None
    if len(state.holding) > 1:
        found = " and ".join(f"`{name}`" for name in state.holding)
        raise InputError(f"translate: line {parsed.line}: found queues of {found}; allowed: one interface or profile")
    state.policy = state.get_or_create("queues")
    state.at = state.policy.of(str(parsed.number("queue")), parsed.line)


def _start_multicast(state: Policies, _: ParsedLine) -> None:
    """`mc-tx-queue N`: ignore the multicast queue."""
    state.at = Class("multicast", 0)


def _shape_share(state: Policies, parsed: ParsedLine) -> None:
    """`shape rate N percent` of an interface, or of a queue."""
    if state.at is None:
        state.get_or_create("interface").of("interface", parsed.line).percent = parsed.number("percent")
    else:
        state.at.unsimulated.append(
            f"its shaper of {parsed.number('percent')} %, which a class of a scenario does not have"
        )


def _guaranteed(state: Policies, parsed: ParsedLine) -> None:
    """`bandwidth guaranteed ...`."""
    _at(state, parsed).unsimulated.append("its guaranteed bandwidth, as a class of a scenario has a share")


def _at(state: Policies, parsed: ParsedLine) -> Class:
    """The queue that a line concerns; a part of a configuration concerns the first queue."""
    if state.at is None:
        state.policy = state.get_or_create("queues")
        state.at = state.policy.of(str(FIRST), parsed.line)
    return state.at


def _shape_rate(state: Policies, parsed: ParsedLine) -> None:
    if state.at is None:
        state.speed = parsed.number("rate") * 1000
    else:
        most = rate_text(parsed.number("rate") * 1000)
        state.at.unsimulated.append(f"its shaper of {most}, which a class of a scenario does not have")


def _limit(state: Policies, parsed: ParsedLine) -> None:
    _at(state, parsed).limit = Amount(parsed.number("amount"), parsed.word("unit", "microseconds"), parsed.line)


def _threshold(state: Policies, parsed: ParsedLine) -> None:
    state.policy = state.get_or_create("queues")
    power = parsed.values["alpha"]
    assert isinstance(power, Fraction)
    state.policy.of(str(parsed.number("queue")), parsed.line).alpha = float(power)


def _no_drop(state: Policies, _: ParsedLine) -> None:
    """`priority-flow-control priority 3 no-drop`."""
    state.lossless = Lossless()


def _headroom(state: Policies, parsed: ParsedLine) -> None:
    state.headroom = parsed.number("headroom")


def _priority(state: Policies, parsed: ParsedLine) -> None:
    _at(state, parsed).level = 1


def _share(state: Policies, parsed: ParsedLine) -> None:
    _at(state, parsed).share = parsed.number("share")


def _curve(state: Policies, parsed: ParsedLine) -> None:
    entry = _at(state, parsed)
    least = Amount(parsed.number("least"), parsed.word("unit"), parsed.line)
    most = Amount(parsed.number("most"), parsed.word("most_unit"), parsed.line)
    entry.curves.append(Curve(least, most, parsed.number("percent", 100) / 100, parsed.word("kind")))
    entry.weight = 2.0 ** -parsed.number("weight")
    entry.ecn = parsed.word("kind") == "ecn"


def _multiple(text: str) -> Fraction:
    """A multiple of the free memory: "1/8" or "2"."""
    known = [str(Fraction(2) ** power) for power in ALPHAS]
    if text not in known:
        raise Mistake.word(text, ", ".join(known))
    return Fraction(text)


_THRESHOLDS = "bytes|kbytes|mbytes|milliseconds|microseconds"
_FORMS: Sequence[Form[Handler]] = (
    Form("interface <word> [<word>]", _start_port),
    Form("qos profile <word>", _start_port),
    Form("qos trust|cos|dscp|map|rewrite|random-detect|scheduling|txq ...", ignore),
    Form("no qos|shape|service-profile|random-detect|bandwidth ...", ignore),
    Form("service-profile <word>", ignore),
    Form("shape rate <rate> [kbps]", _shape_rate),
    Form("shape rate <percent> percent", _shape_share),
    Form("tx-queue|uc-tx-queue <queue>", _start_queue),
    Form("mc-tx-queue <queue>", _start_multicast),
    Form("bandwidth guaranteed ...", _guaranteed),
    Form("latency maximum <amount> [unit=milliseconds|microseconds|ms|us]", _limit),
    Form("! of a memory of <amount> unit=bytes", _limit),
    Form("priority strict", _priority),
    Form("no priority", ignore),
    Form("bandwidth percent <share>", _share),
    Form(
        f"random-detect kind=ecn minimum-threshold <least> unit={_THRESHOLDS} maximum-threshold <most> "
        f"most_unit={_THRESHOLDS} [max-mark-probability <percent>] [weight <weight>]",
        _curve,
    ),
    Form(
        f"random-detect kind=drop minimum-threshold <least> unit={_THRESHOLDS} maximum-threshold <most> "
        f"most_unit={_THRESHOLDS} drop-probability <percent> [weight <weight>]",
        _curve,
    ),
    Form("random-detect ecn count", ignore),
    Form("platform trident mmu queue profile <word> [apply]", ignore),
    Form("ingress headroom [bytes] <headroom>", _headroom),
    Form("ingress threshold|resume|reserved|priority-group ...", ignore),
    Form("priority-flow-control priority <queue> no-drop", _no_drop),
    Form("priority-flow-control priority <queue> drop", ignore),
    Form("priority-flow-control on|off|mode|pause ...", ignore),
    Form("priority-flow-control on|off", ignore),
    Form("egress unicast queue <queue> threshold <alpha>", _threshold),
    Form("egress unicast queue <queue> reserved [bytes|cells] <weight>", ignore),
    Form("exit|end", ignore),
    Form("! ...", ignore),
    Form("!", ignore),
    Form("!! ...", ignore),
)
_READERS: Mapping[str, Reader] = {
    **amounts(amount=LONGEST, rate=2**32, least=MOST, most=MOST, percent=100, share=100),
    "word": identifier,
    "queue": lambda text: integer(text, "a queue", most=7),
    "headroom": lambda text: integer(text, "bytes", most=LONGEST),
    "weight": lambda text: integer(text, "a weight", most=15),
    "alpha": _multiple,
}
_OPENING = "a line of an interface's queue such as `latency maximum 5 milliseconds`"
_GRAMMAR: Grammar[Handler] = Grammar(_FORMS, _READERS, _OPENING)
_JERICHO = Shape(_UNITS, others="queue", limit="latency maximum", missing="its default is 5 ms on 7500R; write it down")
_TRIDENT = Shape(
    _UNITS,
    others="queue",
    limit="memory",
    missing="a threshold is a multiple of the free memory of the switch, which differs by model: say it in a line "
    "`! of a memory of 12000000 bytes` of the queue",
)

_SOURCE = "Arista, 'EOS User Manual', 'Quality of Service' (shape rate, priority, bandwidth percent, random-detect); "
_NEAREST = {"codel": "red", "cobalt": "red", "pie": "red", "choke": "red", "dualpi2": "step"}
_COMMON = {
    "red": "random-detect drop or ecn",
    "step": "random-detect ecn, minimum = maximum",
    "classes": "transmit queues with priority strict and bandwidth percent",
}

EOS = Eos(
    name="eos",
    title="Arista EOS (7280R, 7500R)",
    source=_SOURCE
    + "TOI 'VOQ latency': 'this feature allows setting the desired maximum VOQ latency. Drop probabilities are "
    "adjusted in hardware to meet this limit'; ranges of Arista's AVD, eos_cli_config_gen",
    quirks=(
        "best effort (DSCP 0 to 7) is traffic class 1 and so transmit queue 1; queue 7 is for control traffic",
        "uncertain: the limit is on the virtual output queue of each ingress, enforced by drop probabilities; several "
        "ingresses may hold one limit each",
        "uncertain: the latency keyword and its range differ between platforms and releases; check after setting it",
        "uncertain: kbytes are read as 1000 bytes; the lines are in bytes",
        "Trident switches share their memory: --for eos-trident",
        f"lossless: priority {PRIORITY} and its queue stand for yours; the buffer of PFC is not part of these lines",
    ),
    disciplines={"droptail": "latency maximum", **_COMMON, "priority": "transmit queues with priority strict"},
    nearest={**_NEAREST, "dynamic_threshold": "droptail"},
    pauses={},
    levels=LAST,
    classes=LAST,
    others="queue",
)
EOS_TRIDENT = Eos(
    name="eos-trident",
    title="Arista EOS (Trident: 7050X, 7060X, 7260X)",
    source=_SOURCE + "platform trident mmu queue profile with ingress headroom, and priority-flow-control, as Arista's "
    "AVD writes them (eos_cli_config_gen, platform.schema.yml at 032c0c2c, and its pull request 2796)",
    quirks=(
        "best effort (DSCP 0 to 7) is traffic class 1 and so unicast queue 1; queue 7 is for control traffic",
        "the profile is the whole switch's: every port's queues get its thresholds",
        "uncertain: which multiples a switch takes depends on its model",
        f"lossless: priority {PRIORITY} and its queue stand for yours; headroom is that of every port of the "
        "switch, in bytes that it keeps in cells",
        "uncertain: kbytes are read as 1000 bytes; the lines are in bytes",
    ),
    disciplines={"dynamic_threshold": "mmu queue profile, threshold", **_COMMON},
    nearest={**_NEAREST, "priority": "classes"},
    pauses={"headroom": 1},
    levels=LAST,
    classes=LAST,
    others="queue",
    queue_word="uc-tx-queue",
)
