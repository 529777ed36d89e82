"""Buffers in a platform's own words, disciplines and goals: each distinct text is read once."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from functools import lru_cache

from forebay import _core
from forebay.configuration.configuring import Translation, link_buffer, link_queue, translate
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.platforms.registry import ALIASES, PLATFORMS
from forebay.errors import ForebayError, InputError
from forebay.inputs.goals import split_goal
from forebay.storage.safe_io import clean

__all__ = [
    "MOST_DISTINCT",
    "Setting",
    "fault_of_goals",
    "fault_of_queue",
    "platform_name",
    "setting_of",
    "translated",
    "words",
]

#: Distinct settings that are read in words of platforms; the rest of a table is rejected.
MOST_DISTINCT = 20_000
#: The line that a bare buffer stands in, by platform.
_LINES = {
    **dict.fromkeys(("ios-xe", "ios-xr", "nx-os"), ("queue-limit {}",)),
    "junos": (
        "set class-of-service schedulers port buffer-size {}",
        "set class-of-service schedulers port buffer-size temporal {}",
    ),
    "eos": ("latency maximum {}",),
    "sonic": ('"static_th": "{}"',),
    "linux": ("bfifo limit {}",),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A buffer and a discipline as a scenario writes them.

    Attributes
    ----------
    buffer : str or None
        As `link.buffer` has it; None if the text leaves it to the device.
    bytes : int or None
        The same in bytes.
    queue : str or None
        As `link.queue` has it; None is drop-tail.
    rate : int or None
        Rate of a shaper of the text, in bits per second.
    """

    buffer: str | None
    bytes: int | None
    queue: str | None
    rate: int | None


def platform_name(text: str) -> str | None:
    """The registered name of a platform; None if there is none."""
    name = ALIASES.get(text.lower(), text.lower())
    return name if name in PLATFORMS else None


def setting_of(translation: Translation) -> Setting:
    """The columns that a translated configuration fills."""
    port = translation.port
    table = link_queue(port)
    queue = None if table == '{ kind = "droptail" }' else table
    if port.memory is not None and port.memory_alpha is not None and translation.bytes is not None:
        # One queue alone in a shared memory gets alpha / (1 + alpha) of it (Choudhury and Hahne, 1998).
        part = port.memory_alpha / (1 + port.memory_alpha)
        size = round(port.memory.in_bytes(port.packet) * part)
        return Setting(f"{size}B", size, queue, port.rate)
    whole = None if translation.bytes is None else round(translation.bytes)
    return Setting(link_buffer(port), whole, queue, port.rate)


def translated(platform: str, text: str, rate: int | None, packet: int) -> Setting | str:
    """The queue of lines of a platform, or the reason why they cannot be read."""
    try:
        return setting_of(translate(text, platform, Assumed(rate, packet)))
    except ForebayError as error:
        return str(error).removeprefix("translate: ")


def words(platform: str, text: str, rate: int | None, packet: int) -> Setting | str:
    """A buffer in the words of a platform, or the reason why it cannot be read."""
    reason = ""
    tries = [text] if text[:1].isalpha() or text[:1] in '{"' or platform not in _LINES else []
    for written in (*tries, *(line.format(text) for line in _LINES.get(platform, ()))):
        found = translated(platform, written, rate, packet)
        if isinstance(found, Setting):
            return found
        reason = reason or found
    return reason


@lru_cache(maxsize=MOST_DISTINCT)
def fault_of_queue(text: str) -> str:
    """The fault of a discipline as `link.queue` writes it, or as a bare name; empty if it is right."""
    value = text if text.startswith(("{", '"', "'")) else f'"{text}"'
    try:
        table = tomllib.loads(f"queue = {value}")["queue"]
        _core.Scenario.parse(
            f'[link]\nrate = "1Gbps"\nbuffer = "1000kB"\nqueue = {value}\n{_flows(table)}[run]\nmeasure = "1s"\n',
            "toml",
            "queue",
            [],
        )
    except (tomllib.TOMLDecodeError, ForebayError, RecursionError) as error:
        shown = clean(text) + (f" ({error})" if isinstance(error, ForebayError) else "")
        return f"found {shown}; allowed: a discipline such as fq_codel, or its table in braces"
    return ""


def _flows(table: object) -> str:
    """A flow for every group that the classes of a discipline name, and one for the rest."""
    classes = table.get("classes") if isinstance(table, dict) else None
    entries = [each for each in classes if isinstance(each, dict)] if isinstance(classes, list) else []
    named = [name for entry in entries for name in _texts(entry.get("groups"))]
    names = dict.fromkeys((*named, "rest"))
    return "".join(f'[[flows]]\nname = {json.dumps(name)}\nrtt = "10ms"\ncca = "cubic"\n' for name in names)


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


@lru_cache(maxsize=MOST_DISTINCT)
def fault_of_goals(text: str) -> str:
    """The fault of goals that are joined by semicolons; empty if they are right."""
    for goal in text.split(";"):
        if not goal.strip():
            continue
        try:
            split_goal(goal)
        except InputError as error:
            return error.text
    return ""
