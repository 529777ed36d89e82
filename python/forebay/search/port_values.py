"""The values of a lossless port that are sized together: headroom, xoff, K, alpha and the pool.

A search names values by whole numbers of steps (`PortValue`). `SteppedVariable` varies one value while the others stay,
and `JointValues` numbers combinations of all of them. `port_steps` decides what is searched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from forebay import _core
from forebay.configuration.port import Port, Queue
from forebay.errors import InputError
from forebay.fabric.simulated_headroom import STEP, HeadroomNeed, headroom_need
from forebay.results.report import BufferSize
from forebay.scenario import TARGET, Scenario
from forebay.search.buffer_variable import BufferVariable
from forebay.search.words import Words, listed

__all__ = [
    "REACH",
    "JointValueWords",
    "JointValues",
    "PortValue",
    "PortValues",
    "SteppedVariable",
    "SteppedWords",
    "port_values",
]

#: Place of alpha 1 among the powers of two from 1/128 to 128, as switches offer them.
ONE = 8
#: The largest alpha.
LARGEST = 128
#: Values that stay exactly as configured unless a goal needs another value.
SETTINGS = frozenset({"xoff", "K", "alpha"})
#: Places of joint combinations are this far apart.
FINE = 1024
#: A value is searched up to this multiple of its configured size.
REACH = 4


@dataclass(frozen=True, slots=True)
class PortValue:
    """One value of a port. Its places are whole numbers of steps, from 1.

    Attributes
    ----------
    name : str
        "headroom", "xoff", "K", "alpha" or "pool".
    key : str
        The key, as `--set` takes it.
    configured : float
        The value of the scenario, in bytes or packets, or the alpha.
    step : int
        Bytes of a step; 0 for values that are counted in packets, and for alpha.
    followers : tuple of (str, float)
        Keys that keep their proportion to this value: `xon` to `xoff`, RED's `max` to `min`.
    """

    name: str
    key: str
    configured: float
    step: int = STEP
    followers: tuple[tuple[str, float], ...] = ()

    @property
    def is_alpha(self) -> bool:
        """Whether places are powers of two."""
        return self.name == "alpha"

    def number(self, place: int) -> float:
        """The value of a place, in bytes or packets, or the alpha; the configured one has no step."""
        if self.name in SETTINGS and place == self.place(self.configured):
            return self.configured
        if self.is_alpha:
            return 2.0 ** (place - ONE)
        return place * max(1, self.step)

    def place(self, number: float) -> int:
        """The place of a value, rounded up."""
        if self.is_alpha:
            return max(1, math.ceil(math.log2(min(number, LARGEST)) - 1e-9) + ONE)
        return max(1, math.ceil(number / max(1, self.step) - 1e-9))

    def text(self, place: int) -> str:
        """The value of a place, as the key takes it."""
        return self._written(self.number(place))

    def settings(self, place: int) -> Iterator[tuple[str, str]]:
        """The keys of the value with their texts."""
        yield self.key, self.text(place)
        for key, ratio in self.followers:
            yield key, self._written(math.floor(ratio * self.number(place)))

    def _written(self, number: float) -> str:
        if self.is_alpha:
            return repr(number)
        return f"{number:.0f}{'B' if self.step else 'p'}"


@dataclass(frozen=True, slots=True)
class PortValues:
    """All values of a port.

    Attributes
    ----------
    scenario : Scenario
        The scenario with the configured values.
    every : tuple of PortValue
        The values in the order in which they are sized.
    need : HeadroomNeed
        The closed form of the headroom.
    """

    scenario: Scenario
    every: tuple[PortValue, ...]
    need: HeadroomNeed

    def __getitem__(self, name: str) -> PortValue:
        return next(each for each in self.every if each.name == name)

    def __contains__(self, name: str) -> bool:
        return any(each.name == name for each in self.every)

    def applied(self, places: Mapping[str, int]) -> Scenario:
        """The scenario with the values of some places."""
        changes = [
            ("values", key, text)
            for each in self.every
            if each.name in places
            for key, text in each.settings(places[each.name])
        ]
        return self.scenario.with_core(self.scenario.core.with_overrides(changes))

    def demand(self, places: Mapping[str, int]) -> float | None:
        """Bytes that all senders together may fill; None if their number changes."""
        if self.need.senders is None:
            return None
        return self.need.senders * (self.limit("xoff", places) + self.limit("headroom", places))

    def limit(self, name: str, places: Mapping[str, int]) -> float:
        """A value in a combination."""
        return self[name].number(places[name])


def port_values(scenario: Scenario) -> PortValues:
    """The values of the target link.

    Raises
    ------
    InputError
        If the target link has no `pfc`.
    """
    resolved = scenario.resolved
    link = next(each for each in resolved["links"] if each["target"])
    if "pfc" not in link:
        raise InputError("found a link without `pfc`; allowed: a lossless port, with link.pfc", "link.pfc")
    pfc = {name: _bytes(link["pfc"][name]) for name in ("xoff", "xon", "headroom")}
    ratio = pfc["xon"] / pfc["xoff"] if pfc["xoff"] else 0.0
    found = [
        PortValue("headroom", "link.pfc.headroom", pfc["headroom"]),
        PortValue("xoff", "link.pfc.xoff", pfc["xoff"], followers=(("link.pfc.xon", ratio),)),
        *_marking(scenario),
        *_sharing(resolved, link),
    ]
    return PortValues(scenario, tuple(found), headroom_need(resolved))


def _marking(scenario: Scenario) -> Iterator[PortValue]:
    """The ECN threshold K of a queue that marks."""
    queue = Port.of(scenario).queue
    if not isinstance(queue, Queue) or not queue.discipline.ecn:
        return
    discipline = queue.discipline
    followers: tuple[tuple[str, float], ...] = ()
    if discipline.kind == "step":
        level, key = discipline.level("threshold"), "link.queue.threshold"
    elif discipline.kind == "red":
        level, key = discipline.level("min"), "link.queue.min"
        followers = (("link.queue.max", discipline.level("max").amount / max(1, level.amount)),)
    else:
        return
    yield PortValue("K", key, level.amount, STEP if level.unit == "bytes" else 0, followers)


def _sharing(resolved: Mapping[str, Any], link: Mapping[str, Any]) -> Iterator[PortValue]:
    """Alpha and the pool of a port that shares a memory; otherwise the port's own buffer."""
    name = link.get("memory")
    if name is None:
        if "BDP" in link["buffer"]:
            text = f"found `{link['buffer']}`; allowed at a lossless port: packets or bytes, as in 12MB"
            raise InputError(text, "link.buffer")
        yield _pool(TARGET, str(link["buffer"]))
        return
    if "memory_alpha" in link:
        yield PortValue("alpha", "link.memory_alpha", float(link["memory_alpha"]), 0)
    elif link["queue"].get("kind") == "dynamic_threshold":
        yield PortValue("alpha", "link.queue.alpha", float(link["queue"]["alpha"]), 0)
    memory = next(each for each in resolved["memories"] if each["name"] == name)
    yield _pool(f"memories.{name}.size", str(memory["size"]))


def _pool(key: str, size: str) -> PortValue:
    if size.endswith("p"):
        return PortValue("pool", key, float(size[:-1]), 0)
    return PortValue("pool", key, _bytes(size))


def _bytes(text: str) -> float:
    return _core.parse_quantity(text, "bytes")


@dataclass(frozen=True, slots=True)
class SteppedVariable:
    """One value while the others stay.

    Attributes
    ----------
    values : PortValues
        All values of the port.
    value : PortValue
        The varied one.
    others : mapping
        Places of the others.
    step : str
        The name of the search, so that kept runs of two searches stay apart.
    """

    values: PortValues = field(repr=False, compare=False)
    value: PortValue
    others: Mapping[str, int] = field(compare=False)
    step: str = ""

    @property
    def scenario(self) -> Scenario:
        """The scenario that is varied, with the other values."""
        return self.values.applied(self.others)

    @property
    def identity(self) -> str:
        """The name of the runs among those of an interrupted sizing."""
        return f"{self.value.key}#{self.step}"

    def snapped(self, place: int) -> int:
        """Every place is a value of its own."""
        return place

    def apply(self, place: int) -> Scenario:
        """The scenario with the value of a place."""
        return self.values.applied({**self.others, self.value.name: place})


class SteppedWords(Words):
    """Words for the places of one value."""

    noun = "value"
    key = "setting"

    def __init__(self, value: PortValue) -> None:
        self._value = value

    def in_words(self, *places: int) -> str:
        """One or some of them as part of a sentence."""
        return f"{self._value.key} = {listed(map(self._value.text, places))}"

    def counted(self, place: int) -> str:
        """One as progress shows it."""
        return self._value.text(place)

    def between(self, one: int, other: int) -> str:
        """The range between two."""
        return f"between {self._value.text(one)} and {self._value.text(other)}"

    def value(self, place: int) -> float:
        """One as a number."""
        return self._value.number(place)


@dataclass(frozen=True, slots=True)
class JointValues(BufferVariable):
    """Combinations of all values, by their numbers.

    Attributes
    ----------
    values : PortValues
        The values.
    at : dict
        The place of each value, for each combination so far.
    """

    values: PortValues | None = field(default=None, repr=False, compare=False)
    at: dict[int, Mapping[str, int]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, values: PortValues) -> JointValues:
        """No combination so far."""
        return cls(values.scenario, "link.pfc", values)

    @property
    def every(self) -> PortValues:
        """The values."""
        assert self.values is not None, "made by `of`"
        return self.values

    @property
    def identity(self) -> str:
        """The name of the runs among those of an interrupted sizing."""
        return "port"

    def place_of(self, places: Mapping[str, int]) -> int:
        """The number of a combination, a new one for a new combination."""
        for number, known in self.at.items():
            if known == places:
                return number
        number = FINE * (1 + len(self.at))
        self.at[number] = dict(places)
        return number

    def apply(self, packets: int) -> Scenario:
        """The scenario with a combination."""
        return self.every.applied(self.at[packets])

    def sized(self, packets: int) -> BufferSize:
        """The pool of a combination in every unit."""
        pool = self.every["pool"]
        return self.scenario.changed(("values", TARGET, pool.text(self.at[packets][pool.name]))).buffer


class JointValueWords(Words):
    """Words for combinations of values."""

    noun = "combination of values"

    def __init__(self, joint: JointValues) -> None:
        self._joint = joint

    def in_words(self, *places: int) -> str:
        """One or some of them as part of a sentence."""
        return listed(map(self.counted, places))

    def counted(self, place: int) -> str:
        """One as progress shows it."""
        places = self._joint.at[place]
        return ", ".join(f"{each.name} {each.text(places[each.name])}" for each in self._joint.every.every)

    def value(self, place: int) -> float:
        """The pool of a combination."""
        return self._joint.every["pool"].number(self._joint.at[place]["pool"])
