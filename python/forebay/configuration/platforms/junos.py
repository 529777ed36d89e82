"""Juniper Junos: schedulers with a buffer in time, drop profiles for RED with ECN, a scheduler map, a shaping rate."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from forebay.configuration.platforms.forms import Form, Grammar, Reader, Said
from forebay.configuration.platforms.modular_qos import amounts, identifier, legible
from forebay.configuration.platforms.platform import Assumed, Fitted, Reading
from forebay.configuration.platforms.routers import (
    WRED,
    Router,
    in_time,
    lowest_terms,
    members,
    microseconds,
    percents,
    prioritized,
    wred,
)
from forebay.configuration.port import UNKNOWN, Classes, Discipline, Limit, Port, Queue, TrafficClass, Value
from forebay.configuration.reading import Mistake, Word, closest, foreign, skipped_line, statements, whole
from forebay.errors import InputError
from forebay.text.formatting import bandwidth, exactly

__all__ = ["JUNOS"]

#: The longest buffer that the documents name, in microseconds: that of SRX Series.
MOST = 2_000_000
#: Bits per second that a shaping rate of any card takes (the CLI's own bound is higher).
FASTEST = 10**13
#: The longest of some, of which a longer one is said.
LONGEST = {50_000: "IQ PICs of M320 and T Series", 100_000: "M7i and M10i", 200_000: "other M Series"}
#: Strict priorities, the first first; what takes turns is low.
PRIORITIES = ("strict-high", "high", "medium-high", "medium-low", "low")
#: Those that are read: "priority (Schedulers)" puts `low-latency` of ACX7000 Series before all others.
_READ = ("low-latency", *PRIORITIES)
REST = "best-effort"
PREFIX = "FOREBAY"
#: The scheduler of what routers tell each other, whose defaults a map of one's own replaces: "Default Schedulers
#: Overview" gives it 5 percent of rate and buffer at low priority. Its part of the buffer is that.
_CONTROL = f"{PREFIX}-NETWORK-CONTROL"
#: What is left for it, in percent, and the queue that it has on MX Series.
_LEFT, _CONTROL_QUEUE = (5, 10), 3
#: What is dropped below the next fill level: pairs of percent, as `interpolate` takes them.
Points = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Junos(Router):
    """Juniper Junos."""

    @property
    def reasons(self) -> Mapping[str, str]:
        return {
            **WRED,
            "buffer": "a buffer is a time in whole microseconds at the link's rate",
            **dict.fromkeys(("min", "max", "threshold"), "fill levels are whole percent of the buffer, max above min"),
            "max_p": "whole percent",
            "weight": "how Junos averages the fill level cannot be told",
            "gentle": "above max the profile rises in whole percent",
            "rate": "the shaper counts frames, in whole kb/s",
            "rate_layer": "the shaper counts frames",
            "others": "what cannot be marked is dropped",
        }

    def link(self, port: Port) -> tuple[int, str]:
        return self.shaped(port, "l2", FASTEST)

    def limit(self, limit: Limit, port: Port) -> Limit:
        return self.lasting(limit, port, MOST)

    def fit(self, port: Port) -> Fitted:
        """See `Platform`; a buffer that is longer than some hardware takes is said."""
        fitted = Router.fit(self, port)
        longest = max(microseconds(queue.limit, fitted.port) for _, queue in fitted.port.queues())
        short = [f"{where} ({most:,})" for most, where in LONGEST.items() if longest > most]
        note = f"buffer: {longest:,} microseconds are more than these take: {', '.join(short)}"
        return dataclasses.replace(fitted, notes=(*fitted.notes, *([note] if short else [])))

    def level(self, level: Limit, queue: Limit, port: Port) -> Limit:
        percent = round(100 * Fraction(level.in_bytes(port.packet)) / Fraction(queue.amount))
        return _part(min(99, max(1, percent)), queue)

    def red(self, asked: Discipline, limit: Limit, port: Port) -> Discipline:
        ends = [_percent(self.level(asked.level(name), limit, port), limit) for name in ("min", "max")]
        least = min(ends[0], 98)
        most = max(ends[1], least + 1)
        # With ECN a rise to all within one percent is a step.
        steep = 99 if asked.ecn and most == least + 1 else 100
        probability = min(steep, max(0, round(asked.number("max_p") * 100)))
        gentle = asked.switch("gentle") and probability < 100
        return _curve(_bend(least, most, probability, gentle=gentle), limit, ecn=asked.ecn)

    def shares(self, weights: Sequence[float]) -> list[float]:
        return lowest_terms(_percents(weights)) if weights else []

    def write(self, port: Port) -> list[str]:
        found: list[str] = []
        left = _LEFT[0]
        if isinstance(port.queue, Queue):
            entries = [(PREFIX, REST, "low", f"percent {100 - left}", port.queue)]
        else:
            entries = _entries(port.queue)
            left = 100 - sum(_percents([entry.weight for entry, level in members(port.queue) if level is None]))
            found += [f"{_COS} forwarding-classes queue {number} {name}" for number, name in _forwarding(entries)]
        for scheduler, _, priority, rate, queue in entries:
            found += _scheduler(scheduler, queue, port, (priority, rate))
        found += [
            f"{_COS} scheduler-maps {PREFIX} forwarding-class {name} scheduler {which}" for which, name, *_ in entries
        ]
        for line in (f"transmit-rate percent {left}", f"buffer-size percent {_LEFT[0]}", "priority low"):
            found.append(f"{_COS} schedulers {_CONTROL} {line}")
        found.append(f"{_COS} scheduler-maps {PREFIX} forwarding-class network-control scheduler {_CONTROL}")
        interface = f"{_COS} interfaces {_interface(port)}-0/0/0"
        return [
            *found,
            f"{interface} scheduler-map {PREFIX}",
            f"{interface} shaping-rate {port.bits_per_second // 1000}k",
        ]

    def read(self, text: str, assumed: Assumed) -> Reading:
        state, skipped = _State(), list[str]()
        for words in _paths(text):
            if _elsewhere(words):
                skipped.append(skipped_line(words))
                continue
            then, said = _GRAMMAR.read(words)
            then(state, said)
        told = _Resolved(state, assumed).port()
        return dataclasses.replace(told, skipped=tuple(skipped))


_COS = "set class-of-service"
#: Media types of interfaces by the fastest rate that each has ("Interface Naming Conventions for Rate Selectability").
_MEDIA = {"ge": 10**9, "xe": 10**10}


def _interface(port: Port) -> str:
    """The media type of an interface that has the rate, whose last kb/s is the rounding of a shaper."""
    return next((name for name, most in _MEDIA.items() if port.ip_rate < most + 1000), "et")


def _percent(level: Limit, queue: Limit) -> int:
    return round(100 * Fraction(level.amount) / Fraction(queue.amount))


def _part(percent: int, queue: Limit) -> Limit:
    size = Fraction(percent, 100) * Fraction(queue.amount)
    return Limit(int(size) if size.denominator == 1 else float(size), "bytes")


def _bend(least: int, most: int, probability: int, *, gentle: bool) -> Points:
    """RED's curve in whole percent: straight from `least` to `most`, then at once or, gentle, to twice that."""
    if not gentle:
        return ((least, 0), (most, probability), (most + 1, 100))
    end = min(100, 2 * most)
    above = Fraction(probability) + (100 - probability) * Fraction(end - most, most)
    return ((least, 0), (most, probability), (end, 100 if end == 2 * most else round(above)))


def _step(level: int) -> Points:
    """From nothing to all within one percent."""
    return ((level - 1, 0), (level, 100), (level + 1, 100))


def _curve(points: Points, limit: Limit, *, ecn: bool) -> Discipline:
    """What three points mean: RED, or marking at a step."""
    (least, _), (most, probability), (end, last) = points
    if ecn and points == _step(most):
        return Discipline("step", {"threshold": _part(most, limit), "others": "drop"}, ecn=True)
    gentle = points == _bend(least, most, probability, gentle=True) and (end, last) != (most + 1, 100)
    values: dict[str, Value] = {"min": _part(least, limit), "max": _part(most, limit), "max_p": probability / 100}
    told = wred(values, ecn=ecn)
    return told.having(gentle=gentle)


def _points(queue: Queue) -> Points:
    """The drop profile of a queue that has one."""
    told = queue.discipline
    if told.kind == "step":
        return _step(_percent(told.level("threshold"), queue.limit))
    ends = (_percent(told.level("min"), queue.limit), _percent(told.level("max"), queue.limit))
    return _bend(*ends, round(told.number("max_p") * 100), gentle=told.switch("gentle"))


def _scheduler(name: str, queue: Queue, port: Port, served: tuple[str, str]) -> list[str]:
    """A scheduler and its drop profile."""
    scheduler = f"{_COS} schedulers {name}"
    priority, rate = served
    found = [f"{scheduler} transmit-rate {rate}"] if rate else []
    found += [
        f"{scheduler} buffer-size temporal {microseconds(queue.limit, port)}",
        f"{scheduler} priority {priority}",
    ]
    if queue.discipline.kind == "droptail":
        return found
    points = _points(queue)
    levels, drops = (" ".join(str(point[at]) for point in points) for at in (0, 1))
    profile = f"{_COS} drop-profiles {name} interpolate"
    found += [f"{scheduler} drop-profile-map loss-priority any protocol any drop-profile {name}"]
    found += [f"{scheduler} explicit-congestion-notification"] if queue.discipline.ecn else []
    return [f"{profile} fill-level [ {levels} ]", f"{profile} drop-probability [ {drops} ]", *found]


#: A scheduler's name, its forwarding class, its priority, its transmit rate, its queue.
_Entry = tuple[str, str, str, str, Queue]


def _entries(classes: Classes) -> list[_Entry]:
    found = members(classes)
    shares = iter(_percents([entry.weight for entry, level in found if level is None]))
    entries: list[_Entry] = []
    for at, (entry, level) in enumerate(found):
        name = REST if at == len(found) - 1 else legible(entry.name)
        if name in [known for _, known, *_ in entries]:
            name = f"{name}-{at}"
        priority = "low" if level is None else PRIORITIES[level - 1]
        rate = f"percent {next(shares)}" if level is None else ""
        entries.append((f"{PREFIX}-{name}", name, priority, rate, entry.queue))
    return entries


def _percents(weights: Sequence[float]) -> list[int]:
    """Whole percent of the rate for each weight.

    What is left for network control keeps the proportions best.
    """
    if not weights:
        return [100 - _LEFT[0]]
    total = sum(weights)
    found = [percents(weights, 100 - left) for left in range(_LEFT[0], _LEFT[1] + 1)]

    def off(told: Sequence[int]) -> float:
        wanted = [weight / total if total > 0 else 1 / len(weights) for weight in weights]
        return max(abs(share / sum(told) - want) for share, want in zip(told, wanted, strict=True))

    return min(found, key=lambda told: round(off(told), 9))


def _forwarding(entries: Sequence[_Entry]) -> Iterator[tuple[int, str]]:
    """The queue of each forwarding class: the last is queue 0, best effort's, which is there already.

    Network control keeps its own.
    """
    numbers = [number for number in range(1, 8) if number != _CONTROL_QUEUE][: len(entries) - 1]
    for (_, name, *_), number in zip(entries, reversed(numbers), strict=False):
        yield number, name
    yield _CONTROL_QUEUE, "network-control"


@dataclass(slots=True)
class _Scheduler:
    """A scheduler as far as it was read."""

    name: str
    line: int
    microseconds: int | None = None
    share: int | None = None
    priority: str = "low"
    profiles: dict[str, int] = field(default_factory=dict)
    ecn: bool = False
    forwarding: str = ""
    part: str = ""
    bits: int | None = None


@dataclass(slots=True)
class _Profile:
    """A drop profile as far as it was read."""

    levels: list[int] = field(default_factory=list)
    drops: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _State:
    """What the lines so far have said."""

    schedulers: dict[str, _Scheduler] = field(default_factory=dict)
    profiles: dict[str, _Profile] = field(default_factory=dict)
    maps: dict[str, list[str]] = field(default_factory=dict)
    attached: str = ""
    rate: int | None = None
    shown: str = ""

    def scheduler(self, said: Said) -> _Scheduler:
        """The scheduler that a line is about; a part of a configuration is about one without a name."""
        name = said.word("scheduler", self.shown)
        return self.schedulers.setdefault(name, _Scheduler(name, said.line))

    def profile(self, said: Said) -> _Profile:
        """The drop profile that a line is about."""
        return self.profiles.setdefault(said.word("profile"), _Profile())


_Handler = Callable[[_State, Said], None]


def _temporal(state: _State, said: Said) -> None:
    state.scheduler(said).microseconds = said.number("microseconds")


def _share_of_buffer(state: _State, said: Said) -> None:
    """A part of the port's buffer, which only the card knows."""
    state.scheduler(said).part = f"{said.number('percent')} %" if said.has("percent") else "the remainder"


def _bits_of_scheduler(state: _State, said: Said) -> None:
    state.scheduler(said).bits = said.number("rate")


def _rate(state: _State, said: Said) -> None:
    state.scheduler(said).share = said.number("percent") if said.has("percent") else None


def _priority(state: _State, said: Said) -> None:
    state.scheduler(said).priority = said.word("priority")


def _profile_map(state: _State, said: Said) -> None:
    state.scheduler(said).profiles.setdefault(said.word("profile"), said.line)


def _marks(state: _State, said: Said) -> None:
    state.scheduler(said).ecn = True


def _levels(state: _State, said: Said) -> None:
    state.profile(said).levels += _numbers(said)


def _drops(state: _State, said: Said) -> None:
    state.profile(said).drops += _numbers(said)


def _numbers(said: Said) -> list[int]:
    listed = said.values["percents"]
    assert isinstance(listed, list)
    return listed


def _mapped(state: _State, said: Said) -> None:
    scheduler = state.scheduler(said)
    scheduler.forwarding = said.word("word")
    state.maps.setdefault(said.word("map"), []).append(scheduler.name)


def _attach(state: _State, said: Said) -> None:
    state.attached = said.word("map")


def _shape(state: _State, said: Said) -> None:
    state.rate = said.number("rate")


def _shown_map(state: _State, said: Said) -> None:
    """`Scheduler map: NAME, Index: N` of a scheduler map or of an interface."""
    state.attached = said.word("map")


def _shown_scheduler(state: _State, said: Said) -> None:
    """`Scheduler: NAME, Forwarding class: NAME, Index: N`."""
    state.shown = said.word("scheduler")
    scheduler = state.scheduler(said)
    scheduler.forwarding = said.word("word")
    state.maps.setdefault(state.attached, []).append(scheduler.name)


def _shown_figures(state: _State, said: Said) -> None:
    """`Transmit rate: 20 percent, Rate Limit: none, Buffer size: 5000 us, Buffer Limit: none, Priority: low`."""
    _rate(state, said)
    _shown_buffer(state, said)


def _shown_buffer(state: _State, said: Said) -> None:
    if said.has("microseconds"):
        _temporal(state, said)
    if said.has("priority"):
        state.scheduler(said).priority = said.word("priority")


def _shown_profile(state: _State, said: Said) -> None:
    """A row of drop profiles: only Junos's own, which is tail drop, says what it is by its name."""
    if said.word("profile") != "<default-drop-profile>":
        state.scheduler(said).profiles.setdefault(said.word("profile"), said.line)


def _ignore(_: _State, __: Said) -> None:
    """What says nothing of queues."""


_COS_PATH = "[class-of-service]"
_SCHEDULER = f"{_COS_PATH} [schedulers <scheduler>]"
_PROFILE = f"{_COS_PATH} drop-profiles <profile>"
_INTERFACE = f"{_COS_PATH} interfaces <word>"
_FORMS: Sequence[Form[_Handler]] = (
    Form(f"{_SCHEDULER} buffer-size temporal <microseconds> [exact]", _temporal),
    Form(f"{_SCHEDULER} buffer-size percent <percent> [exact|shared]", _share_of_buffer),
    Form(f"{_SCHEDULER} buffer-size remainder|shared|exact ...", _share_of_buffer),
    Form(f"{_SCHEDULER} transmit-rate <rate> [exact|rate-limit]", _bits_of_scheduler),
    Form(f"{_SCHEDULER} transmit-rate percent <percent> [exact|rate-limit]", _rate),
    Form(f"{_SCHEDULER} transmit-rate remainder", _rate),
    Form(f"{_SCHEDULER} priority priority=low-latency|strict-high|high|medium-high|medium-low|low", _priority),
    Form(
        f"{_SCHEDULER} drop-profile-map loss-priority any|low|medium-low|medium-high|high protocol any|tcp|non-tcp "
        "drop-profile <profile>",
        _profile_map,
    ),
    Form(f"{_SCHEDULER} explicit-congestion-notification", _marks),
    Form(f"{_PROFILE} interpolate fill-level <percents>", _levels),
    Form(f"{_PROFILE} interpolate drop-probability <percents>", _drops),
    Form(f"{_COS_PATH} scheduler-maps <map> forwarding-class <word> scheduler <scheduler>", _mapped),
    Form(f"{_COS_PATH} forwarding-classes ...", _ignore),
    Form(f"{_COS_PATH} classifiers|rewrite-rules|code-point-aliases ...", _ignore),
    Form(f"{_INTERFACE} [unit <word>] scheduler-map <map>", _attach),
    Form(f"{_INTERFACE} [unit <word>] shaping-rate <rate>", _shape),
    Form(f"{_INTERFACE} [unit <word>] classifiers|rewrite-rules|forwarding-class ...", _ignore),
    Form("interfaces ...", _ignore),
)
#: `show class-of-service scheduler-map` and `show class-of-service interface` (Juniper, 'Junos CLI Reference').
_SHOWN: Sequence[Form[_Handler]] = (
    Form("Scheduler map: <map> Index: <count>", _shown_map),
    Form("Scheduler: <scheduler> Forwarding class: <word> Index: <count>", _shown_scheduler),
    Form(
        "Transmit rate: [<percent> percent] [remainder|unconfigured] Rate Limit: <word> Buffer size: <microseconds> us "
        "[Buffer Limit: <word>] [Priority: priority=low-latency|strict-high|high|medium-high|medium-low|low]",
        _shown_figures,
    ),
    Form(
        "Buffer Limit: <word> [Priority: priority=low-latency|strict-high|high|medium-high|medium-low|low]",
        _shown_buffer,
    ),
    Form("Priority: priority=low-latency|strict-high|high|medium-high|medium-low|low", _shown_buffer),
    Form("Shaping rate: <rate> bps", _shape),
    Form("Excess|Drop|Loss|Physical|Logical|Maximum|Queues|Exclude|Congestion-notification:|Object ...", _ignore),
    Form("Classifier|Rewrite|DSCP|Forwarding ...", _ignore),
    Form("Low|High any|TCP|non-TCP <count> [<profile>]", _shown_profile),
    Form("Medium low|high any|TCP|non-TCP <count> [<profile>]", _shown_profile),
)


def _bits(text: str) -> int:
    """A rate with the suffix k, m or g of thousands, or none: "16192k"."""
    digits, suffix = (text[:-1], text[-1:].lower()) if text[-1:].isalpha() else (text, "")
    factors = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
    if suffix not in factors:
        raise Mistake(f"`{text}`", "a rate such as 16192000, 16192k, 16m or 1g")
    return whole(digits, "a rate such as 16192000, 16192k, 16m or 1g", least=1) * factors[suffix]


def _time(text: str) -> int:
    """Microseconds with the suffix k of thousands, or none: "20k"."""
    what = "whole microseconds such as 20000 or 20k (thousands)"
    if text[-1:] in ("k", "K"):
        return whole(text[:-1], what, least=1, most=32_000) * 1000
    return whole(text, what, least=1, most=32_000_000)


def _listed(text: str) -> list[int]:
    """Percent in brackets, which the splitting into words has joined: "[20,60]", or one alone."""
    inside = text.removeprefix("[").removesuffix("]")
    return [whole(each, "whole percent", most=100) for each in inside.split(",")]


_READERS: Mapping[str, Reader] = {
    **amounts(percent=100),
    **dict.fromkeys(("word", "scheduler", "profile", "map"), identifier),
    "microseconds": _time,
    "percents": _listed,
    "rate": _bits,
    "count": lambda text: whole(text, "an index"),
}
_OPENING = "a line of class-of-service, such as `set class-of-service schedulers NAME buffer-size temporal 5000`"
_GRAMMAR: Grammar[_Handler] = Grammar((*_FORMS, *_SHOWN), _READERS, _OPENING)
#: Contexts of class-of-service that have a name, and how many words stand before what they say.
_NAMED = {"schedulers": 2, "drop-profiles": 2, "interfaces": 2}
#: What each context may say.
_STATEMENTS = {
    "schedulers": frozenset(("buffer-size", "transmit-rate", "priority", "drop-profile-map")),
    "drop-profiles": frozenset(("interpolate",)),
    "interfaces": frozenset(("scheduler-map", "shaping-rate", "classifiers", "rewrite-rules", "forwarding-class")),
}
_STATEMENTS["schedulers"] |= {"explicit-congestion-notification"}


def _elsewhere(words: Sequence[Word]) -> bool:
    """Whether a statement is of another hierarchy, or says nothing of queues."""
    texts = [word.text for word in words]
    if texts[0] == "class-of-service":
        texts = texts[1:]
    if not texts:
        return False
    if texts[0] in _NAMED:
        context, texts = texts[0], texts[_NAMED[texts[0]] :]
        if texts[:1] == ["unit"]:
            texts = texts[2:]
        return bool(texts) and foreign(texts[0], _STATEMENTS[context] | _GRAMMAR.first)
    return foreign(texts[0], _GRAMMAR.first)


#: What begins a line of a display, whose commas separate.
_DISPLAY = ("Scheduler", "Scheduler:", "Transmit", "Buffer", "Physical", "Logical", "Shaping", "Priority:")


def _paths(text: str) -> Iterator[list[Word]]:
    """Every statement with the hierarchy that it stands in: `set` lines, blocks in braces, and lines of displays."""
    within: list[list[Word]] = []
    waiting: list[Word] = []
    for words in statements(text, comment="#", separators=""):
        if _prompt(words):
            continue
        if words[0].text == "set":
            if len(words) == 1:
                raise Mistake("nothing after `set`", "a statement").error(words[0].line)
            yield from _options(list(_joined(words[1:])))
        elif not within and not any(word.text.endswith(("{", "}", ";")) for word in words):
            separated = words[0].text in _DISPLAY
            yield [Word(word.text.rstrip(","), word.line) if separated else word for word in _joined(words)]
        else:
            yield from _blocks(words, within, waiting)
    if within:
        last = within[-1][0]
        raise Mistake("the end of the text", f"`}}` after `{last.text}`").error(last.line)


def _options(words: list[Word]) -> Iterator[list[Word]]:
    """The statements of a `set` line, which may give several options of a scheduler or points of a profile."""
    texts = [word.text for word in words]
    if texts[:2] == ["class-of-service", "schedulers"]:
        begin, known = 3, _STATEMENTS["schedulers"]
    elif texts[:2] == ["class-of-service", "drop-profiles"] and texts[3:4] == ["interpolate"]:
        begin, known = 4, frozenset(("fill-level", "drop-probability"))
    else:
        yield words
        return
    starts = [at for at in range(begin, len(words)) if texts[at] in known]
    if not starts or starts[0] != begin:
        yield words
        return
    for start, end in itertools.pairwise([*starts, len(words)]):
        yield words[:begin] + words[start:end]


def _prompt(words: Sequence[Word]) -> bool:
    """Whether a line is what was typed at a device, as in `root@R8> show class-of-service interface`."""
    return words[0].text in ("show", "run") or words[0].text.endswith((">", "#"))


def _blocks(words: Sequence[Word], within: list[list[Word]], waiting: list[Word]) -> Iterator[list[Word]]:
    """The statements that a line of a hierarchy ends; `waiting` is the one that it has not."""
    for word in words:
        text = word.text.removesuffix(";")
        if text == "{":
            if not waiting:
                raise Mistake("`{`", "a statement before it").error(word.line)
            within.append(list(waiting))
            waiting.clear()
        elif text == "}":
            if not within or waiting:
                raise Mistake("`}`", "`;` after a statement" if waiting else "as many { as }").error(word.line)
            within.pop()
        elif text:
            waiting.append(Word(text, word.line))
        if word.text.endswith(";") and waiting:
            yield list(_joined([each for context in within for each in context] + waiting))
            waiting.clear()


def _joined(words: Sequence[Word]) -> Iterator[Word]:
    """Words with those in square brackets as one."""
    inside: list[Word] | None = None
    for word in words:
        text = word.text
        if inside is None and text.startswith("["):
            inside, text = [], text[1:]
        if inside is None:
            yield word
            continue
        if text.rstrip("]"):
            inside.append(Word(text.rstrip("]"), word.line))
        if text.endswith("]"):
            yield Word(f"[{','.join(each.text for each in inside)}]", word.line)
            inside = None
    if inside is not None:
        raise Mistake("the end of the statement", "`]` after `[`").error(words[-1].line)


@dataclass(slots=True)
class _Resolved:
    """From schedulers to a port."""

    state: _State
    assumed: Assumed
    how: dict[str, None] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    def port(self) -> Reading:
        """The port of the scheduler map that an interface has, or of the one scheduler."""
        schedulers = self._schedulers()
        rate = self.state.rate
        bare = Port(
            rate, self.assumed.packet, Queue(Limit(0, "bytes"), Discipline("droptail")), "l3" if rate is None else "l2"
        )
        counted = bare.ip_rate if rate is not None else None
        if counted is None and self.assumed.rate is not None:
            counted = Fraction(self.assumed.rate)
        if counted is None and any(entry.microseconds is not None for entry in schedulers):
            raise InputError("found none; allowed: the link's rate, as buffer-size temporal counts at it", "rate")
        for entry in schedulers:
            if entry.bits is not None and rate is not None:
                entry.share = max(1, round(100 * entry.bits / rate))
            elif entry.bits is not None:
                self.unknown.append(f"{entry.name}: its share, {entry.bits:,} b/s of a rate that is not in the text")
        if len(schedulers) == 1 and schedulers[0].microseconds is None:
            raise self._unlimited(schedulers[0])
        if len(schedulers) == 1:
            queue = self._queue(schedulers[0], counted)
            return Reading(bare.with_queue(queue), tuple(self.how), unknown=tuple(self.unknown))
        said = sum(entry.share or 0 for entry in schedulers)
        silent = sum(entry.share is None and entry.priority == "low" for entry in schedulers)
        left = max(1, (100 - said) // max(1, silent))
        found = []
        for entry in schedulers:
            level = None if entry.priority == "low" else _READ.index(entry.priority) + 1
            weight = float(entry.share if entry.share is not None else left)
            told = TrafficClass(entry.forwarding or entry.name, (), weight, self._queue(entry, counted))
            found.append((told, level))
        return Reading(bare.with_queue(prioritized(found)), tuple(self.how), unknown=tuple(self.unknown))

    def _schedulers(self) -> list[_Scheduler]:
        state = self.state
        if state.attached and state.attached != "<default>":
            if state.attached not in state.maps:
                likely = closest(state.attached, state.maps)
                meant = f"; did you mean `{likely}`?" if likely else ""
                known = ", ".join(f"`{name}`" for name in state.maps) or "a text that has it"
                raise InputError(f"translate: found no scheduler map `{state.attached}`; allowed: {known}{meant}")
            return [state.schedulers[name] for name in state.maps[state.attached] if name != _CONTROL]
        if not state.schedulers.keys() - {_CONTROL}:
            raise InputError("translate: found no scheduler; allowed: one such as `buffer-size temporal 5000`")
        return [entry for entry in state.schedulers.values() if entry.name != _CONTROL]

    @staticmethod
    def _unlimited(entry: _Scheduler) -> InputError:
        where = f"scheduler `{entry.name}`" if entry.name else "the scheduler"
        return InputError(
            f"translate: line {entry.line}: found no buffer-size temporal in {where}; allowed: one (a percentage "
            "is of the port's buffer, which differs by card)"
        )

    def _queue(self, entry: _Scheduler, rate: Fraction | None) -> Queue:
        where = f"scheduler `{entry.name}`" if entry.name else "the scheduler"
        if entry.microseconds is None or rate is None:
            said = f", {entry.part} of the port's" if entry.part else ""
            self.unknown.append(f"{entry.name}: its buffer{said}, which differs by card; the device shows it")
            if entry.profiles:
                self.unknown.append(f"{entry.name}: the thresholds of its drop profile, which are parts of the buffer")
            return Queue(UNKNOWN, Discipline("droptail"))
        limit = in_time(entry.microseconds, rate)
        self.how[f"{entry.microseconds:,} microseconds at {exactly(bandwidth(float(rate)))} = {limit}"] = None
        if not entry.profiles:
            return Queue(limit, Discipline("droptail"))
        if len(entry.profiles) > 1:
            names = ", ".join(f"`{name}`" for name in entry.profiles)
            raise InputError(
                f"translate: found drop profiles {names} in {where}; allowed: the same for every loss priority"
            )
        return Queue(limit, _curve(self._points(next(iter(entry.profiles.items()))), limit, ecn=entry.ecn))

    def _points(self, named: tuple[str, int]) -> Points:
        """The three points of a profile that RED has; two rise to 100 percent at once."""
        name, line = named
        profile = self.state.profiles.get(name)
        if profile is None:
            known = ", ".join(f"`{each}`" for each in self.state.profiles) or "a text that has it"
            raise InputError(f"translate: line {line}: found no drop profile `{name}`; allowed: {known}")
        points = tuple(zip(profile.levels, profile.drops, strict=False))
        if len(points) == 2 and points[1][0] < 100:
            points = (*points, (points[1][0] + 1, 100))
        rising = all(one[0] < other[0] and one[1] <= other[1] for one, other in itertools.pairwise(points))
        if len(profile.levels) != len(profile.drops) or len(points) != 3 or points[0][1] != 0 or not rising:
            allowed = "two or three fill levels that rise, as many drop probabilities, the first 0"
            raise InputError(f"translate: found {name}'s {profile.levels} and {profile.drops}; allowed: {allowed}")
        abrupt, gentle = (_bend(points[0][0], *points[1], gentle=rises) for rises in (False, True))
        if points not in (abrupt, gentle) and points[1][1] != 100:
            allowed = f"{abrupt[2]} (abrupt) or {gentle[2]} (gentle)"
            raise InputError(
                f"translate: found the last point {points[2]} of drop profile `{name}`; allowed: {allowed}"
            )
        return points


JUNOS = Junos(
    name="junos",
    title="Juniper Junos (MX Series)",
    source="Juniper, 'Default Schedulers Overview': network control has 5 percent; "
    "'buffer-size (Schedulers)': drops begin above logical interface speed x temporal microseconds; "
    "'Managing Congestion on the Egress Interface by Configuring the Scheduler Buffer Size'; 'drop-profiles "
    "(Definition)': fill levels and drop probabilities in percent, interpolated; 'show class-of-service "
    "scheduler-map'",
    quirks=(
        "a scheduler map replaces the default one: what routers tell each other keeps 5 to 10 percent as "
        "`network-control`, which is queue 3 on MX Series",
        "the time counts at the shaping rate, so a port that is shaped otherwise needs its own value",
        "the longest buffer depends on the platform: 50,000 microseconds on IQ PICs of M320 and T Series, 100,000 on "
        "M7i and M10i, 200,000 on other M Series, 2,000,000 on SRX",
        "once the delay buffer is full, Junos drops from its head",
        "leave the shaping-rate line out where the port itself has the link's rate",
        "uncertain: whether a shaper counts preamble and gap, too, is the card's egress-shaping-overhead",
        "uncertain: a percentage is of the port's buffer, which differs by card, and is not translated",
    ),
    disciplines={
        "droptail": "buffer-size temporal",
        "red": "drop-profiles with interpolate",
        "step": "a drop profile with explicit-congestion-notification",
        "classes": "schedulers with priority and transmit-rate",
        "priority": "schedulers with priority",
    },
    nearest={**dict.fromkeys(("codel", "cobalt", "pie", "choke", "dynamic_threshold"), "red"), "dualpi2": "step"},
    levels=len(PRIORITIES),
    classes=7,
)
