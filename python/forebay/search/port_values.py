"""The values of a lossless port that are sized together: headroom, xoff, K, alpha, buffers of classes, and the pool.

A port is lossless as a whole, or it has lossless and lossy classes. Each class then has values of its own. A search
names values by whole numbers of steps (`PortValue`). `SteppedVariable` varies one value while the others stay, and
`JointValues` numbers combinations of all of them. `port_steps` decides what is searched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from forebay import _core
from forebay.configuration.port import Port, Queue
from forebay.errors import InputError
from forebay.fabric.simulated_headroom import STEP, HeadroomNeed, headroom_need, is_lossless
from forebay.results.report import BufferSize
from forebay.scenario import TARGET, Scenario
from forebay.search.buffer_variable import BufferVariable
from forebay.search.port_classes import PortClass, PortClasses, port_classes
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
        "headroom", "xoff", "K", "alpha", "buffer" or "pool".
    key : str
        The key, as `--set` takes it.
    configured : float
        The value of the scenario, in bytes or packets, or the alpha.
    traffic_class : str
        The class that the value belongs to; empty for the values of the port.
    step : int
        Bytes of a step; 0 for values that are counted in packets, and for alpha.
    followers : tuple of (str, float)
        Keys that keep their proportion to this value: `xon` to `xoff`, RED's `max` to `min`.
    """

    name: str
    key: str
    configured: float
    traffic_class: str = ""
    step: int = STEP
    followers: tuple[tuple[str, float], ...] = ()

    @property
    def label(self) -> str:
        """The name among all values of the port, as in "storage.headroom"."""
        return f"{self.traffic_class}.{self.name}" if self.traffic_class else self.name

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
        The values, those of a class together, and the pool last.
    needs : mapping
        The closed form of the headroom of each lossless class; one with an empty name if the port is lossless as a
        whole.
    classes : PortClasses or None
        All classes, if the port has some.
    """

    scenario: Scenario
    every: tuple[PortValue, ...]
    needs: Mapping[str, HeadroomNeed]
    classes: PortClasses | None = None

    def __getitem__(self, label: str) -> PortValue:
        return next(each for each in self.every if each.label == label)

    def __contains__(self, label: str) -> bool:
        return any(each.label == label for each in self.every)

    def named(self, *names: str) -> Iterator[PortValue]:
        """The values of some names, of all classes."""
        return (each for each in self.every if each.name in names)

    def is_lossless(self, value: PortValue) -> bool:
        """Whether a value belongs to a lossless class."""
        return value.traffic_class in self.needs

    def applied(self, places: Mapping[str, int]) -> Scenario:
        """The scenario with the values of some places."""
        changes = [
            ("values", key, text)
            for each in self.every
            if each.label in places
            for key, text in each.settings(places[each.label])
        ]
        return self.scenario.with_core(self.scenario.core.with_overrides(changes))

    def demand(self, places: Mapping[str, int]) -> float | None:
        """Bytes that all senders together may fill; None if their number changes."""
        total = 0.0
        for value in self.named("headroom", "xoff"):
            senders = self.needs[value.traffic_class].senders
            if senders is None:
                return None
            total += senders * self.limit(value.label, places)
        return total

    def limit(self, label: str, places: Mapping[str, int]) -> float:
        """A value in a combination."""
        return self[label].number(places[label])

    def in_bytes(self, value: PortValue, number: float) -> float:
        """Bytes of a buffer or of the pool."""
        return number if value.step else number * self.packet_bytes(value)

    def packet_bytes(self, value: PortValue) -> float:
        """Bytes of a packet in a buffer; for the pool, of the largest packet of a lossless class."""
        if value.name == "buffer":
            size = self.scenario.core.buffer_of(value.key)
            return float(size["bytes"] / size["packets"]) if size["packets"] else 1.0
        return max(1.0, *(need.packet_bytes / 2 for need in self.needs.values()))


def port_values(scenario: Scenario) -> PortValues:
    """The values of the target link.

    Raises
    ------
    InputError
        If the target link has no `pfc`, and no class has it. Also for classes in a fabric, whose keys have no form of
        the target link.
    """
    resolved = scenario.resolved
    if not is_lossless(resolved):
        text = "found a link without `pfc`; allowed: a lossless port, with link.pfc or with `pfc` in a class"
        raise InputError(text, "link.pfc")
    link = next(each for each in resolved["links"] if each["target"])
    queue = Port.of(scenario).queue
    if isinstance(queue, Queue):
        found = [*_pausing(link["pfc"]), *_marking(queue), *_sharing(resolved, link)]
        return PortValues(scenario, tuple(found), {"": headroom_need(resolved)})
    if "fabric" in resolved:
        text = (
            "found lossless classes in the ports of a fabric; allowed: classes of a port of [[links]], `pfc` of all "
            "ports, or `forebay check` with --set fabric.port.queue.classes.NAME.pfc.xoff=SIZE"
        )
        raise InputError(text, "fabric.port.queue")
    classes = port_classes(scenario)
    parts, queues = {part["name"]: part for part in link["queue"]["classes"]}, dict(Port.of(scenario).queues())
    found, needs = [], {}
    for each in classes.every:
        prefix, part, own = f"link.queue.classes.{each.name}", parts[each.name], queues[each.name]
        if "pfc" in part:
            needs[each.name] = headroom_need(resolved, each.name)
            found += [*_pausing(part["pfc"], prefix, each.name), *_marking(own, prefix, each.name)]
        found += _limiting(part, each)
    return PortValues(scenario, (*found, *_sharing(resolved, link, classes)), needs, classes)


def _pausing(pfc: Mapping[str, str], prefix: str = "link", traffic_class: str = "") -> Iterator[PortValue]:
    """Headroom and xoff of a lossless queue."""
    levels = {name: _bytes(pfc[name]) for name in ("xoff", "xon", "headroom")}
    ratio = levels["xon"] / levels["xoff"] if levels["xoff"] else 0.0
    yield PortValue("headroom", f"{prefix}.pfc.headroom", levels["headroom"], traffic_class)
    followers = ((f"{prefix}.pfc.xon", ratio),)
    yield PortValue("xoff", f"{prefix}.pfc.xoff", levels["xoff"], traffic_class, followers=followers)


def _marking(queue: Queue, prefix: str = "link", traffic_class: str = "") -> Iterator[PortValue]:
    """The ECN threshold K of a queue that marks."""
    discipline = queue.discipline
    if not discipline.ecn:
        return
    followers: tuple[tuple[str, float], ...] = ()
    if discipline.kind == "step":
        level, key = discipline.level("threshold"), f"{prefix}.queue.threshold"
    elif discipline.kind == "red":
        level, key = discipline.level("min"), f"{prefix}.queue.min"
        followers = ((f"{prefix}.queue.max", discipline.level("max").amount / max(1, level.amount)),)
    else:
        return
    yield PortValue("K", key, level.amount, traffic_class, STEP if level.unit == "bytes" else 0, followers)


def _limiting(part: Mapping[str, Any], of: PortClass) -> Iterator[PortValue]:
    """The limit of a class: alpha, its own buffer, or none."""
    prefix = f"link.queue.classes.{of.name}"
    queue = part.get("queue", {})
    if "alpha" in part.get("pfc", ()):
        yield PortValue("alpha", f"{prefix}.pfc.alpha", float(part["pfc"]["alpha"]), of.name, 0)
    elif isinstance(queue, Mapping) and queue.get("kind") == "dynamic_threshold":
        yield PortValue("alpha", f"{prefix}.queue.alpha", float(queue["alpha"]), of.name, 0)
    elif of.key != TARGET:
        yield _size("buffer", of.key, str(part["buffer"]), of.name)


def _sharing(
    resolved: Mapping[str, Any], link: Mapping[str, Any], classes: PortClasses | None = None
) -> Iterator[PortValue]:
    """Alpha and the pool of a port that shares a memory; otherwise the port's own buffer, if a class waits in it."""
    name = link.get("memory")
    if name is None:
        if classes is not None and all(each.key != TARGET for each in classes.every):
            return
        if "BDP" in link["buffer"]:
            text = f"found `{link['buffer']}`; allowed at a lossless port: packets or bytes, as in 12MB"
            raise InputError(text, "link.buffer")
        yield _size("pool", TARGET, str(link["buffer"]))
        return
    if "memory_alpha" in link:
        yield PortValue("alpha", "link.memory_alpha", float(link["memory_alpha"]), step=0)
    elif link["queue"].get("kind") == "dynamic_threshold":
        yield PortValue("alpha", "link.queue.alpha", float(link["queue"]["alpha"]), step=0)
    memory = next(each for each in resolved["memories"] if each["name"] == name)
    yield _size("pool", f"memories.{name}.size", str(memory["size"]))


def _size(name: str, key: str, size: str, traffic_class: str = "") -> PortValue:
    """A buffer or the pool, in packets or bytes."""
    if size.endswith("p"):
        return PortValue(name, key, float(size[:-1]), traffic_class, 0)
    return PortValue(name, key, _bytes(size), traffic_class)


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
        return self.values.applied({**self.others, self.value.label: place})


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
        """The memory of a combination in every unit."""
        values, at = self.every, self.at[packets]
        text = values["pool"].text(at["pool"]) if "pool" in values else f"{self.memory(packets):.0f}B"
        return self.scenario.changed(("values", TARGET, text)).buffer

    def memory(self, place: int) -> float:
        """The pool of a combination; without one, the buffers of all classes in bytes."""
        values, at = self.every, self.at[place]
        if "pool" in values:
            return values.limit("pool", at)
        return sum(values.in_bytes(each, values.limit(each.label, at)) for each in values.named("buffer"))


class JointValueWords(Words):
    """Words for combinations of values."""

    noun = "combination of values"

    def __init__(self, joint: JointValues) -> None:
        self._joint = joint

    def in_words(self, *places: int) -> str:
        """One or some of them as part of a sentence."""
        return listed(map(self.counted, places))

    def counted(self, place: int) -> str:
        """One by the values in which the combinations so far differ; all values of the first."""
        places, every = self._joint.at[place], self._joint.every.every
        differing = [each for each in every if len({at[each.label] for at in self._joint.at.values()}) > 1]
        return " + ".join(f"{each.label} {each.text(places[each.label])}" for each in differing or every)

    def value(self, place: int) -> float:
        """The memory of a combination."""
        return self._joint.memory(place)
