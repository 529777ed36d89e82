"""Junos text as statements: `set` lines, blocks in braces and output of `show`, with the grammar that reads them.

`junos` makes a port of the state that these statements leave.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from forebay.configuration.platforms.forms import Form, Grammar, ParsedLine, Reader
from forebay.configuration.platforms.modular_qos import amounts, identifier
from forebay.configuration.reading import Mistake, Word, foreign, integer, statements

__all__ = ["GRAMMAR", "STATEMENTS", "Scheduler", "State", "elsewhere", "paths"]


@dataclass(slots=True)
class Scheduler:
    """A scheduler as read so far."""

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
    """A drop profile as read so far."""

    levels: list[int] = field(default_factory=list)
    drops: list[int] = field(default_factory=list)


@dataclass(slots=True)
class State:
    """The state after the lines read so far."""

    schedulers: dict[str, Scheduler] = field(default_factory=dict)
    profiles: dict[str, _Profile] = field(default_factory=dict)
    maps: dict[str, list[str]] = field(default_factory=dict)
    attached: str = ""
    rate: int | None = None
    shown_scheduler: str = ""

    def scheduler(self, parsed: ParsedLine) -> Scheduler:
        """The scheduler that a line concerns; a part of a configuration concerns one without a name."""
        name = parsed.word("scheduler", self.shown_scheduler)
        return self.schedulers.setdefault(name, Scheduler(name, parsed.line))

    def profile(self, parsed: ParsedLine) -> _Profile:
        """The drop profile that a line concerns."""
        return self.profiles.setdefault(parsed.word("profile"), _Profile())


_Handler = Callable[[State, ParsedLine], None]


def _temporal(state: State, parsed: ParsedLine) -> None:
    state.scheduler(parsed).microseconds = parsed.number("microseconds")


def _share_of_buffer(state: State, parsed: ParsedLine) -> None:
    """A part of the port's buffer, whose size only the card knows."""
    state.scheduler(parsed).part = f"{parsed.number('percent')} %" if parsed.has("percent") else "the remainder"


def _bits_of_scheduler(state: State, parsed: ParsedLine) -> None:
    state.scheduler(parsed).bits = parsed.number("rate")


def _rate(state: State, parsed: ParsedLine) -> None:
    state.scheduler(parsed).share = parsed.number("percent") if parsed.has("percent") else None


def _priority(state: State, parsed: ParsedLine) -> None:
    state.scheduler(parsed).priority = parsed.word("priority")


def _profile_map(state: State, parsed: ParsedLine) -> None:
    state.scheduler(parsed).profiles.setdefault(parsed.word("profile"), parsed.line)


def _marks(state: State, parsed: ParsedLine) -> None:
    state.scheduler(parsed).ecn = True


def _levels(state: State, parsed: ParsedLine) -> None:
    state.profile(parsed).levels += _numbers(parsed)


def _drops(state: State, parsed: ParsedLine) -> None:
    state.profile(parsed).drops += _numbers(parsed)


def _numbers(parsed: ParsedLine) -> list[int]:
    listed = parsed.values["percents"]
    assert isinstance(listed, list)
    return listed


def _mapped(state: State, parsed: ParsedLine) -> None:
    scheduler = state.scheduler(parsed)
    scheduler.forwarding = parsed.word("word")
    state.maps.setdefault(parsed.word("map"), []).append(scheduler.name)


def _attach(state: State, parsed: ParsedLine) -> None:
    state.attached = parsed.word("map")


def _shape(state: State, parsed: ParsedLine) -> None:
    state.rate = parsed.number("rate")


def _parse_shown_map(state: State, parsed: ParsedLine) -> None:
    """`Scheduler map: NAME, Index: N` of a scheduler map or of an interface."""
    state.attached = parsed.word("map")


def _parse_shown_scheduler(state: State, parsed: ParsedLine) -> None:
    """`Scheduler: NAME, Forwarding class: NAME, Index: N`."""
    state.shown_scheduler = parsed.word("scheduler")
    scheduler = state.scheduler(parsed)
    scheduler.forwarding = parsed.word("word")
    state.maps.setdefault(state.attached, []).append(scheduler.name)


def _parse_shown_figures(state: State, parsed: ParsedLine) -> None:
    """`Transmit rate: 20 percent, Rate Limit: none, Buffer size: 5000 us, Buffer Limit: none, Priority: low`."""
    _rate(state, parsed)
    _parse_shown_buffer(state, parsed)


def _parse_shown_buffer(state: State, parsed: ParsedLine) -> None:
    if parsed.has("microseconds"):
        _temporal(state, parsed)
    if parsed.has("priority"):
        state.scheduler(parsed).priority = parsed.word("priority")


def _parse_shown_profile(state: State, parsed: ParsedLine) -> None:
    """A row of drop profiles; only the name of Junos's own profile shows that it is tail drop."""
    if parsed.word("profile") != "<default-drop-profile>":
        state.scheduler(parsed).profiles.setdefault(parsed.word("profile"), parsed.line)


def _ignore(_: State, __: ParsedLine) -> None:
    """Ignore a line that does not concern queues."""


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
    Form("Scheduler map: <map> Index: <count>", _parse_shown_map),
    Form("Scheduler: <scheduler> Forwarding class: <word> Index: <count>", _parse_shown_scheduler),
    Form(
        "Transmit rate: [<percent> percent] [remainder|unconfigured] Rate Limit: <word> Buffer size: <microseconds> us "
        "[Buffer Limit: <word>] [Priority: priority=low-latency|strict-high|high|medium-high|medium-low|low]",
        _parse_shown_figures,
    ),
    Form(
        "Buffer Limit: <word> [Priority: priority=low-latency|strict-high|high|medium-high|medium-low|low]",
        _parse_shown_buffer,
    ),
    Form("Priority: priority=low-latency|strict-high|high|medium-high|medium-low|low", _parse_shown_buffer),
    Form("Shaping rate: <rate> bps", _shape),
    Form("Excess|Drop|Loss|Physical|Logical|Maximum|Queues|Exclude|Congestion-notification:|Object ...", _ignore),
    Form("Classifier|Rewrite|DSCP|Forwarding ...", _ignore),
    Form("Low|High any|TCP|non-TCP <count> [<profile>]", _parse_shown_profile),
    Form("Medium low|high any|TCP|non-TCP <count> [<profile>]", _parse_shown_profile),
)


def _bits(text: str) -> int:
    """A rate with the suffix k, m or g of thousands, or none: "16192k"."""
    digits, suffix = (text[:-1], text[-1:].lower()) if text[-1:].isalpha() else (text, "")
    factors = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
    if suffix not in factors:
        raise Mistake(f"`{text}`", "a rate such as 16192000, 16192k, 16m or 1g")
    return integer(digits, "a rate such as 16192000, 16192k, 16m or 1g", least=1) * factors[suffix]


def _time(text: str) -> int:
    """Microseconds with the suffix k of thousands, or none: "20k"."""
    what = "whole microseconds such as 20000 or 20k (thousands)"
    if text[-1:] in ("k", "K"):
        return integer(text[:-1], what, least=1, most=32_000) * 1000
    return integer(text, what, least=1, most=32_000_000)


def _listed(text: str) -> list[int]:
    """Percent in brackets, which the splitting into words has joined: "[20,60]", or one alone."""
    inside = text.removeprefix("[").removesuffix("]")
    return [integer(each, "whole percent", most=100) for each in inside.split(",")]


_READERS: Mapping[str, Reader] = {
    **amounts(percent=100),
    **dict.fromkeys(("word", "scheduler", "profile", "map"), identifier),
    "microseconds": _time,
    "percents": _listed,
    "rate": _bits,
    "count": lambda text: integer(text, "an index"),
}


_OPENING = "a line of class-of-service, such as `set class-of-service schedulers NAME buffer-size temporal 5000`"


GRAMMAR: Grammar[_Handler] = Grammar((*_FORMS, *_SHOWN), _READERS, _OPENING)


#: Contexts of class-of-service that have a name, and the number of words before their statements.
_NAMED = {"schedulers": 2, "drop-profiles": 2, "interfaces": 2}


#: The statements that each context allows.
STATEMENTS = {
    "schedulers": frozenset(("buffer-size", "transmit-rate", "priority", "drop-profile-map")),
    "drop-profiles": frozenset(("interpolate",)),
    "interfaces": frozenset(("scheduler-map", "shaping-rate", "classifiers", "rewrite-rules", "forwarding-class")),
}


def elsewhere(words: Sequence[Word]) -> bool:
    """Whether a statement belongs to another hierarchy, or does not concern queues."""
    texts = [word.text for word in words]
    if texts[0] == "class-of-service":
        texts = texts[1:]
    if not texts:
        return False
    if texts[0] in _NAMED:
        context, texts = texts[0], texts[_NAMED[texts[0]] :]
        if texts[:1] == ["unit"]:
            texts = texts[2:]
        return bool(texts) and foreign(texts[0], STATEMENTS[context] | GRAMMAR.first)
    return foreign(texts[0], GRAMMAR.first)


#: The first words of a display line, in which commas separate entries.
_DISPLAY = ("Scheduler", "Scheduler:", "Transmit", "Buffer", "Physical", "Logical", "Shaping", "Priority:")


def paths(text: str) -> Iterator[list[Word]]:
    """Every statement with its hierarchy: `set` lines, blocks in braces, and lines of displays."""
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
        begin, known = 3, STATEMENTS["schedulers"]
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
    """Whether a line is a typed command, as in `root@R8> show class-of-service interface`."""
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
