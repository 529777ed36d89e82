"""Change sets: for each device the lines that give its wrongly sized ports the recommended size.

The lines come from `forebay.configuration`, as those of `recommend --for`. The present lines stand beside them as
comments. Ports that are fine or undecided are left out; a port that gets no lines is listed with the reason.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from forebay.configuration.configuring import configure
from forebay.configuration.platforms.platform import Platform
from forebay.configuration.platforms.registry import PLATFORMS, platform
from forebay.configuration.port import Classes, Port
from forebay.errors import ForebayError
from forebay.fleets.answer import WRONG, FleetAnswer
from forebay.fleets.nokia_service import with_service
from forebay.fleets.questions import Question
from forebay.sanitize import sanitize
from forebay.scenario import Scenario
from forebay.storage.files import write_atomically
from forebay.text.formatting import duration, size
from forebay.text.formatting import value as value_text

__all__ = ["OWN", "ChangeSet", "PortChange", "change_sets", "check_platform", "named_port", "write_changes"]

#: In place of a platform: each port's own one.
OWN = "own"
#: The name of the interface in the lines of a platform; other platforms have the last one.
INTERFACES = {
    "ios-xr": "TenGigE0/0/0/0",
    "ios-xe": "GigabitEthernet0/0/0",
    "nx-os": "Ethernet1/1",
    "junos": "(?:fe|ge|xe|et)-0/0/0",
    "eos": "Ethernet1",
    "eos-trident": "Ethernet1",
    "sros": "1/1/1",
    "sonic": "Ethernet0",
    "routeros": "ether1",
    "openwrt": "eth0",
    "linux": "eth0",
}
#: Platforms on which each port has objects of its own, whose names must differ from those of another port.
OWN_OBJECTS = ("openwrt", "routeros")
#: A name that `_write` has made: the word, the sign, and the hash of the lines.
MADE_NAME = re.compile(r"(?i)(forebay[-_])([0-9a-f]{8})")
#: Lines that set the rate of the port itself. On software routers the shaper makes the queue, so its lines stay.
SHAPING = {
    "ios-xr": r"\s+shape average ",
    "ios-xe": r"\s+shape average ",
    "nx-os": r"\s+(?:speed|shape) ",
    "junos": r"set class-of-service interfaces \S+ shaping-rate ",
    "eos": r"\s+shape rate ",
    "eos-trident": r"\s+shape rate ",
    "sros": r".* queue \d+ rate pir ",  # the scheduler of several classes stays, because their queues name it
}
#: Words by which the present lines of a port show a shaper of its own.
SHAPED = re.compile(r"\bshap(?:e|ing)\b|\brate pir\b|\bpir\b", re.IGNORECASE)
#: Marks of comments: Cisco's and Arista's systems have `!`, others `#`.
MARKS = dict.fromkeys(("ios-xr", "ios-xe", "nx-os", "eos", "eos-trident"), "!")
#: A name of a port that may stand in a command. A shell or a router would act on other characters.
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9/_.:-]*(?: [0-9][0-9/.:]*)?")
#: The first words of each file, by which a later audit knows its own files.
HEAD = "forebay fleet: change set of "
#: Longest name of a file without its ending, and most present lines of a port that are shown.
MOST_NAME, MOST_PRESENT = 100, 60
#: Names that Windows reserves.
RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PortChange:
    """The change of one port.

    Attributes
    ----------
    port : str
        Name of the port, with its class if it has one.
    reason : str
        The verdict and its reason in one line.
    present : tuple of str
        The present lines of its configuration, or its present buffer as written.
    recommended_bytes : float or None
        The recommended size, in bytes; None if no size was shown to be enough.
    effects : tuple of str
        The delay and the loss now and with the recommended size.
    lines : tuple of str
        The new lines; empty if there are none.
    notes : tuple of str
        Differences of the lines from the simulation.
    refusal : str or None
        The reason why there are no lines.
    """

    port: str
    reason: str
    present: tuple[str, ...]
    recommended_bytes: float | None
    effects: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """The changes of one device.

    Attributes
    ----------
    device : str
        Name of the device as the inventory writes it.
    file : str
        Name of its file, which is safe on every system.
    platform : str or None
        The platform of the lines; None if it is not known.
    changes : tuple of PortChange
        Its wrongly sized ports, in the order of the inventory.
    """

    device: str
    file: str
    platform: str | None
    changes: tuple[PortChange, ...]

    @property
    def text(self) -> str:
        """The file: comments, and lines that `translate` reads back."""
        mark = MARKS.get(self.platform or "", "#")
        return "".join(f"{line}\n" for line in self._lines(f"{mark} "))

    def _lines(self, mark: str) -> Iterator[str]:
        yield f"{mark}{HEAD}{sanitize(self.device)}"
        system = None if self.platform is None else PLATFORMS[self.platform]
        if system is not None and any(change.lines for change in self.changes):
            yield f"{mark}platform: {system.name} ({system.title}); source: {system.source}"
            yield from (f"{mark}note: {quirk}" for quirk in _quirks(system))
        merged: dict[str, Any] = {}
        for change in self.changes:
            yield mark.rstrip()
            yield f"{mark}{sanitize(change.port)}: {sanitize(change.reason)}"
            yield f"{mark}present:"
            yield from (f"{mark}  {line}" for line in change.present)
            if change.recommended_bytes is not None:
                number = math.ceil(change.recommended_bytes)
                yield f"{mark}recommended: {size(change.recommended_bytes)} ({number:,} bytes)"
                yield from (f"{mark}{effect}" for effect in change.effects)
            if change.refusal is not None:
                yield f"{mark}no lines: {sanitize(change.refusal)}"
            yield from (f"{mark}note: {sanitize(note)}" for note in change.notes)
            if self.platform == "sonic" and change.lines:
                _merge(merged, json.loads("\n".join(change.lines)))
            else:
                yield from change.lines
        if merged:
            # One object for all ports, because `config load` reads one; it has no comments.
            yield mark.rstrip()
            yield f"{mark}to load it: grep -v '^{mark.strip()}' {self.file} > new.json; sudo config load new.json"
            yield from json.dumps(merged, indent=4).splitlines()


def _quirks(system: Platform) -> Iterator[str]:
    """The facts to know before typing the lines, without those on the shaper and on the name of the interface."""
    for quirk in system.quirks:
        if quirk.startswith(("omit the shap", "omit PORT_QOS_MAP")) or "omit the tbf" in quirk:
            continue
        rest = re.sub(rf"^replace (?:{INTERFACES[system.name]})\b[^;]*(?:; |$)", "", quirk)
        if rest:
            yield rest


def named_port(port: str, service_class: str | None) -> str:
    """The name of a port, with its class if it has one."""
    return port if service_class is None else f"{port}, class {service_class}"


def check_platform(name: str) -> str:
    """The registered name of a platform, or `OWN`; raises `InputError` for another name."""
    return OWN if name == OWN else platform(name).name


def change_sets(answer: FleetAnswer, platform: str = OWN) -> list[ChangeSet]:
    """The change sets of an audit, in the order of the inventory.

    Parameters
    ----------
    answer : FleetAnswer
        The verdicts.
    platform : str
        The platform of the lines; with "own" each port has that of the inventory.

    Returns
    -------
    list of ChangeSet
        One for each device and platform with a wrongly sized port. Names of devices that differ in case alone are one
        device, as in the inventory.

    Raises
    ------
    InputError
        If the platform is unknown.
    """
    import polars as pl

    wanted = check_platform(platform)
    wrong = answer.ports.filter(pl.col("verdict").is_in(WRONG))
    writer = _Writer(answer.questions)
    devices: dict[tuple[str, str | None], tuple[str, list[PortChange]]] = {}
    for row in wrong.iter_rows(named=True):
        system = row["platform"] if wanted == OWN else wanted
        _, changes = devices.setdefault((row["device"].casefold(), system), (row["device"], []))
        changes.append(writer.change(row, system))
    names = _file_names(devices)
    return [ChangeSet(device, names[key], key[1], tuple(changes)) for key, (device, changes) in devices.items()]


def write_changes(sets: Sequence[ChangeSet], folder: Path) -> None:
    """Write change sets as `folder/DEVICE.txt`, and remove those of an earlier audit."""
    stale = {path.name: path for path in folder.glob("*.txt")} if folder.is_dir() else {}
    if sets:
        folder.mkdir(parents=True, exist_ok=True)
    for each in sets:
        write_atomically(folder / each.file, each.text)
        stale.pop(each.file, None)
    for path in stale.values():
        if _is_ours(path):  # a file of the user stays
            path.unlink()
    with suppress(OSError):
        folder.rmdir()  # only if it is empty


def _is_ours(path: Path) -> bool:
    """Whether a file is a change set of an audit."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline(len(HEAD) + 2)[2:] == HEAD


class _Writer:
    """Makes the lines of ports; those of equal questions are made once."""

    def __init__(self, questions: Mapping[str, Question]) -> None:
        self._questions = questions
        self._known: dict[tuple[str, str, float], _Written] = {}

    def change(self, row: Mapping[str, Any], system: str | None) -> PortChange:
        """The change of a port."""
        port = row["port"]
        named = named_port(port, row["service_class"])
        reason = f"{row['verdict']}: {row['reason']}"
        known = PortChange(named, reason, _present(row), row["recommended_bytes"], _effects(row))
        found = self._written(row, system)
        if isinstance(found, str):
            return replace(known, refusal=found)
        assert system is not None, "lines have a platform"
        is_shaped = SHAPED.search(row["config"] or "") is not None
        lines = found.lines if is_shaped else _without_shaper(system, found.lines)
        # Cisco and Arista write `TenGigE 0/0/0/0`; elsewhere a space ends a name.
        is_plain = PLAIN_NAME.fullmatch(port) is not None and (" " not in port or system in MARKS)
        if not is_plain or len(port) > MOST_NAME:
            refusal = "the name of the port has characters that lines of a configuration may not have"
            return replace(known, refusal=refusal)
        lines = _with_interface(system, lines, port)
        lines, unknown = with_service(lines, port, row["config"]) if system == "sros" else (lines, None)
        about = [each for each in found.notes if is_shaped or not each.startswith(("rate:", "rate_layer:", "access:"))]
        about += [] if unknown is None else [unknown]
        return replace(known, lines=lines, notes=tuple(about))

    def _written(self, row: Mapping[str, Any], system: str | None) -> _Written | str:
        """The lines with a placeholder for the interface, or the reason why there are none."""
        if row["recommended_bytes"] is None:
            return "no size was shown to be enough"
        if row["service_class"] is not None:
            return "a class has no lines of its own: set its limit in the policy of the port"
        if system is None:
            return "the inventory names no platform; fill in its column, or use --for PLATFORM"
        key = (system, row["question"], row["recommended_bytes"])
        if key not in self._known:
            self._known[key] = _write(system, self._questions[row["question"]], row["recommended_bytes"])
        found = self._known[key]
        return found if found.refusal is None else found.refusal


@dataclass(frozen=True, slots=True)
class _Written:
    """Lines and notes, or the reason why there are none."""

    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    refusal: str | None = None


def _write(system: str, question: Question, recommended: float) -> _Written:
    """The lines of a platform for a question with the recommended size, in the unit of the configured one."""
    try:
        chosen = question.with_bytes(recommended)
        if question.has_classes:
            factor = chosen.size.number / question.size.number
            return _Written(refusal=f"multiply the limit of each class by {factor:.4g}")
        port = Port.of(Scenario.parse(chosen.at(chosen.size), "json", name="profile"))
        if isinstance(port.queue, Classes) and not all(each.shared for each in port.queue.classes):
            return _Written(
                refusal="its classes have buffers of their own: size them with `forebay recommend --classes`"
            )
        found = configure(PLATFORMS[system], port)
    except ForebayError as error:
        return _Written(refusal=str(error))
    if not found.lines:
        return _Written(refusal="; ".join(found.notes))
    # A name belongs to one content, so that no change set changes the policy of another port.
    label = hashlib.sha256("\n".join(found.lines).encode()).hexdigest()[:8]
    sign = "_" if system in ("sonic", "openwrt") else "-"
    lines = (re.sub("(?i)forebay", lambda word: f"{word[0]}{sign}{label}", line) for line in found.lines)
    return _Written(tuple(lines), found.notes)


def _present(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The present lines of a port, or its buffer as written."""
    if row["config"]:
        lines = row["config"].splitlines()
        more = len(lines) - MOST_PRESENT
        return (*(sanitize(line) for line in lines[:MOST_PRESENT]), *([f"({more} more lines)"] if more > 0 else []))
    if row["buffer"]:
        return (f"buffer {sanitize(row['buffer'])}",)
    return ("the default of the platform",)


def _effects(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The delay and the loss now and with the recommended size, if both are known."""
    found = []
    delays, losses = (row["delay_ms"], row["recommended_delay_ms"]), (row["loss"], row["recommended_loss"])
    if None not in delays:
        now, then = (duration(1e-3 * each) for each in delays)
        found.append(f"delay (99th percentile): {now} now, {then} then")
    if None not in losses:
        now, then = (value_text("loss_rate", each) for each in losses)
        found.append(f"loss: {now} now, {then} then")
    return tuple(found)


def _without_shaper(system: str, lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines without those that set the rate, because the port has this rate."""
    if system == "sonic":
        tables = json.loads("\n".join(lines))
        names = {entry.get("scheduler") for entry in tables["PORT_QOS_MAP"].values()}
        for entry in tables["PORT_QOS_MAP"].values():
            entry.pop("scheduler", None)
        for name in names:
            tables["SCHEDULER"].pop(name, None)
        for name in ("PORT_QOS_MAP", "SCHEDULER"):
            if not any(tables[name].values()):
                del tables[name]
        return tuple(json.dumps(tables, indent=4).splitlines())
    pattern = SHAPING.get(system)
    return lines if pattern is None else tuple(line for line in lines if re.match(pattern, line) is None)


def _with_interface(system: str, lines: tuple[str, ...], port: str) -> tuple[str, ...]:
    """The lines with the name of the port."""
    pattern = re.compile(rf"(?<![\w./-])(?:{INTERFACES[system]})(?![\w./-])")
    named = (pattern.sub(lambda _found: port, line) for line in lines)
    if system not in OWN_OBJECTS:
        return tuple(named)

    def own(found: re.Match[str]) -> str:
        return found[1] + hashlib.sha256(f"{found[2]} {port}".encode()).hexdigest()[:8]

    return tuple(MADE_NAME.sub(own, line) for line in named)


def _merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    """Add the tables of a fragment of config_db.json."""
    for name, value in other.items():
        if isinstance(value, dict):
            _merge(into.setdefault(name, {}), value)
        else:
            into[name] = value


def _file_names(keys: Iterable[tuple[str, str | None]]) -> dict[tuple[str, str | None], str]:
    """A file name for each device and platform: safe on every system, and no two equal whatever their case.

    A name that has to be changed, or that two of them share, ends with a part of the hash of what it stands for.
    """
    bare = {key: re.sub(r"[^a-z0-9._-]+", "_", key[0]).strip("._-")[:MOST_NAME] for key in keys}
    counts: dict[str, int] = {}
    for name in bare.values():
        counts[name] = counts.get(name, 0) + 1
    found = {}
    for key, name in bare.items():
        is_same = name == key[0] and counts[name] == 1 and RESERVED.fullmatch(name) is None
        digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:8]
        found[key] = f"{name}.txt" if is_same else f"{name or 'device'}-{digest}.txt"
    return found
