"""Configurations of Junos, as `set` lines or in braces: each physical interface is a port.

Sources: Juniper, 'Junos OS Class of Service User Guide': scheduler maps, shaping rates and traffic control profiles of
interfaces, and wildcards in their names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from forebay.configuration.platforms.junos_text import paths
from forebay.configuration.reading import Word
from forebay.errors import InputError
from forebay.fleets.files import FileFault, SourceFile
from forebay.fleets.importers.importer import Collector, Found, Importer
from forebay.fleets.importers.port_settings import ConfiguredPort, add_port

__all__ = ["JUNOS"]

_PHYSICAL = re.compile(r"(?:fe|ge|xe|et|mge|so|t1|t3|e1|e3)-[0-9]")
#: Lines that are no statements.
_IGNORED = re.compile(r"^[ \t]*(?:/\*.*\*/|version |## |delete ).*", re.MULTILINE)
#: A rate of a shaper; a part of the rate in percent is none.
_SHAPER = re.compile(r"shaping-rate ([0-9]+[kmg]?)(?: burst-size .*)?$")
_SPEED = re.compile(r"(?:speed )?([0-9]+)(m|g)(?:bps)?", re.IGNORECASE)


@dataclass(slots=True)
class _Interface:
    """An interface as read so far."""

    line: int
    speed: str | None = None
    mtu: str | None = None
    is_disabled: bool = False
    is_inactive: bool = False
    shown: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _State:
    """The statements that concern ports."""

    host: str = ""
    interfaces: dict[str, _Interface] = field(default_factory=dict)
    #: Statements of class-of-service that every port shares.
    shared: list[str] = field(default_factory=list)
    #: Statements of each interface of class-of-service, whose name may be a pattern.
    queues: dict[str, list[str]] = field(default_factory=dict)
    profiles: dict[str, list[str]] = field(default_factory=dict)


def _recognizes(file: SourceFile) -> bool:
    text = file.beginning
    if re.search(
        r"^set (?:system|interfaces|class-of-service|groups|version|protocols|routing-options|policy-options) ",
        text,
        re.MULTILINE,
    ):
        return True
    return re.search(r"^(?:system|interfaces|class-of-service|groups \S+|groups) \{", text, re.MULTILINE) is not None


def _read(file: SourceFile) -> Found:
    found, state = Collector(), _State()
    inactive: set[tuple[str, ...]] = set()
    try:
        statements = list(paths(_IGNORED.sub("", file.text)))
    except InputError as error:
        raise FileFault(str(error).removeprefix("translate: ")) from None
    for words in statements:
        if words[0].text == "deactivate":
            inactive.add(tuple(word.text for word in words[1:]))
    for words in statements:
        _take(words, inactive, state)
    for name, interface in state.interfaces.items():
        _port(name, interface, state, file, found)
    return found.found


def _take(words: Sequence[Word], inactive: Collection[tuple[str, ...]], state: _State) -> None:
    marked = [place for place, word in enumerate(words) if word.text == "inactive:"]
    words = [word for word in words if word.text != "inactive:"]
    texts = [word.text for word in words]
    if inactive:
        marked += [place for place in range(len(texts)) if tuple(texts[: place + 1]) in inactive]
    if marked:
        if texts[0] == "interfaces" and len(texts) > 1:
            interface = state.interfaces.setdefault(texts[1], _Interface(words[1].line))
            interface.is_inactive = interface.is_inactive or min(marked) < 2
        return
    if texts[:2] == ["system", "host-name"] and len(texts) > 2:
        state.host = texts[2]
    elif texts[0] == "interfaces" and len(texts) > 2:
        interface = state.interfaces.setdefault(texts[1], _Interface(words[1].line))
        rest = list(texts[2:])
        interface.shown.append(_set(texts))
        if rest == ["disable"]:
            interface.is_disabled = True
        elif rest[0] == "mtu" and len(rest) > 1:
            interface.mtu = rest[1]
        elif "speed" in rest[:3] and rest[0] in ("speed", "gigether-options", "ether-options", "link-mode"):
            match = _SPEED.fullmatch(rest[-1])
            interface.speed = f"{match[1]}{match[2].upper()}bps" if match is not None else interface.speed
    elif texts[0] == "class-of-service" and len(texts) > 1:
        if texts[1] == "interfaces" and len(texts) > 3:
            state.queues.setdefault(texts[2], []).append(_set(texts[3:], ""))
        elif texts[1] == "traffic-control-profiles" and len(texts) > 3:
            state.profiles.setdefault(texts[2], []).append(_set(texts[3:], ""))
        elif texts[1] in ("schedulers", "scheduler-maps", "drop-profiles"):
            state.shared.append(_set(texts))


def _set(texts: Sequence[str], first: str = "set ") -> str:
    """A statement as a `set` line; lists in brackets have spaces again."""
    return first + " ".join(
        f"[ {text[1:-1].replace(',', ' ')} ]" if text[:1] == "[" and text[-1:] == "]" else text for text in texts
    )


def _port(name: str, interface: _Interface, state: _State, file: SourceFile, found: Collector) -> None:
    host = state.host or file.path.stem
    where = f"{host} {name}"
    if not _PHYSICAL.match(name):
        found.reject(interface.line, f"{where}: the interface is virtual, a bundle or a group; allowed: ports")
        return
    if interface.is_disabled or interface.is_inactive:
        state_of = "inactive" if interface.is_inactive else "disabled"
        found.reject(interface.line, f"{where}: the interface is {state_of}; allowed: enabled ones")
        return
    statements = [each for pattern, entries in state.queues.items() if fnmatchcase(name, pattern) for each in entries]
    lines, shapers = [], []
    for statement in statements:
        bare = re.sub(r"^unit \S+ ", "", statement)
        profile = re.match(r"output-traffic-control-profile (\S+)", bare)
        inner = state.profiles.get(profile[1], []) if profile is not None else [bare]
        lines += [
            f"set class-of-service interfaces {name} {each}"
            for each in inner
            if re.match(r"scheduler-map |shaping-rate ", each)
        ]
        # The rate of one of several units is not that of the port.
        if re.match(r"unit (?!0 |\* )", statement) is None:
            shapers += [match[1] for match in map(_SHAPER.match, inner) if match is not None]
    lines = list(dict.fromkeys(line.split(" burst-size")[0] for line in lines))
    maps = any(" scheduler-map " in line for line in lines)
    text = "\n".join([*state.shared, *lines]) + "\n" if maps else ""
    if not maps and not shapers and lines:
        found.notes.append(f"{where}: `{lines[0]}` is not read, because it is no rate of the whole port")
    shaper = f"{shapers[0]}bps" if shapers and not maps else None
    shown = "\n".join([*interface.shown[:40], *lines])
    port = ConfiguredPort(
        host, name, "junos", interface.line, interface.speed, interface.mtu, text, shown[:4000], shaper
    )
    add_port(port, found)


JUNOS = Importer("configuration of Junos", "docs/reference/platforms.md", _recognizes, _read)
