"""The buffers that `check` judges: the configured one exactly as it is, or the requested ones.

A search names buffers by whole numbers of packets. A configured buffer may be 100 kB, which is no whole number of
packets. Each checked buffer therefore has a place, which is a whole number in proportion to its size, and a scenario.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from forebay import _core
from forebay.errors import InputError, naming
from forebay.results.report import BufferSize
from forebay.scenario import TARGET, Scenario
from forebay.search.buffer_variable import BufferVariable
from forebay.search.words import Words, listed
from forebay.text.formatting import counted

__all__ = ["Checked", "CheckedBuffers", "checked_buffers", "place_of", "setting_words"]

#: Places per packet.
FINE = 1024
#: Letters of units.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Checked:
    """One buffer.

    Attributes
    ----------
    key : str
        The key of the buffer, or of the memory's size.
    setting : str or None
        The text that asked for it; None for the configured buffer.
    scenario : Scenario
        The scenario with this buffer.
    size : BufferSize
        The buffer in every unit.
    """

    key: str
    setting: str | None
    scenario: Scenario
    size: BufferSize

    @property
    def label(self) -> str:
        """The buffer as part of a sentence."""
        return "the configured buffer" if self.setting is None else setting_words(self.setting, self.size)


def place_of(packets: float) -> int:
    """The number by which a check names a buffer, given in packets."""
    return max(1, round(FINE * packets))


def setting_words(setting: str, size: BufferSize) -> str:
    """A requested buffer in words: "4.5 MB", "links.up.buffer = 100 packets"."""
    key, equals, text = (part.strip() for part in setting.rpartition("="))
    number = text.rstrip(LETTERS).strip()
    unit = text.removeprefix(number).strip()
    words = counted(round(size.packets), "packet") if unit == "p" else f"{number} {unit}"
    return f"{key} = {words}" if equals else words


@dataclass(frozen=True, slots=True)
class CheckedBuffers(BufferVariable):
    """All checked buffers by their places.

    Attributes
    ----------
    at : mapping
        Each buffer by its place.
    """

    at: Mapping[int, Checked] = field(default_factory=dict, compare=False)

    @property
    def identity(self) -> str:
        """The name of the runs among those of an interrupted check."""
        return "check"

    def apply(self, packets: int) -> Scenario:
        """The scenario with the buffer of a place."""
        return self.at[packets].scenario

    def sized(self, packets: int) -> BufferSize:
        """The buffer of a place in every unit."""
        return self.at[packets].size

    @property
    def words(self) -> Words:
        """Words for places."""
        return _Words(self.at)

    def by_key(self) -> list[list[int]]:
        """Places of buffers with one key, which tell of each other."""
        keys = dict.fromkeys(each.key for each in self.at.values())
        return [[place for place, each in self.at.items() if each.key == key] for key in keys]


class _Words(Words):
    """Words for the places of checked buffers."""

    def __init__(self, at: Mapping[int, Checked]) -> None:
        self._at = at

    def in_words(self, *buffers: int) -> str:
        """One or some of them as part of a sentence."""
        return listed(self._at[buffer].label for buffer in buffers)

    def counted(self, buffer: int) -> str:
        """One as progress shows it."""
        return self._at[buffer].label

    def value(self, buffer: int) -> float:
        """One in packets."""
        return self._at[buffer].size.packets


def checked_buffers(scenario: Scenario, settings: Iterable[str]) -> CheckedBuffers:
    """Read the buffers that are checked.

    Parameters
    ----------
    scenario : Scenario
        With the configured buffer.
    settings : iterable of str
        Buffers of the target link such as "9MB", or with a key as in "links.up.buffer=100p" or
        "memories.chip.size=16MB". The configured buffer if there are none.

    Raises
    ------
    InputError
        With a size that cannot be read, a key that is no buffer, or a buffer in which nothing waits.
    """
    requested = [_requested(scenario, text) for text in settings]
    found: dict[int, Checked] = {}
    known: set[str] = set()
    for each in requested or [Checked(TARGET, None, scenario, scenario.buffer)]:
        digest = each.scenario.core.sha256
        if digest in known:
            continue
        known.add(digest)
        place = place_of(each.size.packets)
        while place in found:
            place += 1
        found[place] = each
    return CheckedBuffers(scenario, TARGET, found)


def _requested(scenario: Scenario, text: str) -> Checked:
    """One requested buffer."""
    key, equals, size = (part.strip() for part in text.rpartition("="))
    memories = [f"memories.{memory['name']}.size" for memory in scenario.resolved.get("memories", ())]
    if key in memories:
        return Checked(key, text, scenario.changed(("buffers", key, size)), _of_memory(scenario, size))
    if equals and key != TARGET and key not in scenario.core.buffer_keys:
        raise InputError(_core.unknown("buffer", key, [*scenario.core.buffer_keys, *memories]), "buffers")
    with naming("buffers"):
        varied = BufferVariable(scenario).of_key(key if equals else TARGET)
    changed = scenario.changed(("buffers", varied.key, size))
    return Checked(varied.key, text, changed, replace(varied, scenario=changed).size)


def _of_memory(scenario: Scenario, size: str) -> BufferSize:
    """A memory's size in packets and in the time that the target link takes to send it."""
    return scenario.changed(("buffers", TARGET, size)).buffer
