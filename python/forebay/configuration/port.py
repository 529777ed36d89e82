"""The simulated target link as a router describes it: rate, packet, buffer and discipline with every parameter.

A threshold that the scenario states relative to the buffer, or leaves to the discipline, is a number of packets or
bytes here, so that a platform needs to know nothing else.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from forebay.configuration.access import Framing
from forebay.configuration.lossless import Lossless, lossless_differences
from forebay.configuration.quantities import bits, count_text, exact, rate_text, time_text
from forebay.scenario import Scenario

__all__ = [
    "FRAMING",
    "MARKING",
    "THRESHOLDS",
    "UNKNOWN",
    "Classes",
    "Discipline",
    "Limit",
    "Port",
    "Queue",
    "Shaper",
    "TrafficClass",
    "Value",
    "differences",
]

Unit = Literal["packets", "bytes"]
Direction = Literal["upload", "download"]

#: Disciplines that mark packets of flows that understand ECN.
MARKING = frozenset({"red", "choke", "pie", "fq_pie", "codel", "fq_codel", "cobalt", "cake", "dualpi2", "step"})
#: Parameters that are a level of the queue, in whatever unit the scenario states them.
THRESHOLDS = frozenset({"min", "max", "threshold"})
#: Bytes per packet that a rate counts beside those of IP, by the scenario's `rate_layer`: Ethernet's header and check
#: sequence; then also its preamble and gap (IEEE 802.3).
FRAMING = {"l3": 0, "l2": 18, "l1": 38}


@dataclass(frozen=True, slots=True)
class Limit:
    """A level of a queue: whole packets or bytes of IP, or, before a platform has rounded it, a fraction of one."""

    amount: int | float
    unit: Unit

    @property
    def known(self) -> bool:
        """Whether the limit is known; otherwise only the device knows it."""
        return self.amount >= 0

    def in_bytes(self, packet: int) -> float:
        """The limit in bytes, for packets of `packet` bytes."""
        return self.amount * packet if self.unit == "packets" else self.amount

    def in_packets(self, packet: int) -> float:
        """The limit in packets of `packet` bytes."""
        return self.amount if self.unit == "packets" else self.amount / packet

    def counted_in(self, unit: Unit, packet: int) -> Limit:
        """The same limit in packets or bytes."""
        return _as_integer(self.in_bytes(packet) if unit == "bytes" else self.in_packets(packet), unit)

    def __str__(self) -> str:
        if not self.known:
            return "unknown"
        return count_text(self.amount, {"packets": "packet", "bytes": "byte"}[self.unit])


#: The limit of a configuration that leaves it to the hardware.
UNKNOWN = Limit(-1, "bytes")
#: A time is a fraction of seconds, a level or a size a limit.
Value = Fraction | Limit | float | bool | str


@dataclass(frozen=True, slots=True)
class Discipline:
    """A queue discipline with all of its parameters resolved.

    Attributes
    ----------
    kind : str
        Name of the discipline in scenarios, such as "fq_codel".
    parameters : mapping
        By the scenario's names, in their order.
    ecn : bool
        Whether packets of flows that understand it are marked instead of dropped.
    """

    kind: str
    parameters: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    ecn: bool = False

    def time(self, name: str) -> Fraction:
        """A parameter that is a time, in seconds."""
        value = self.parameters[name]
        assert isinstance(value, Fraction), name
        return value

    def level(self, name: str) -> Limit:
        """A parameter that is a level or a size."""
        value = self.parameters[name]
        assert isinstance(value, Limit), name
        return value

    def number(self, name: str) -> float:
        """A parameter that is a number."""
        value = self.parameters[name]
        assert isinstance(value, int | float), name
        return value

    def word(self, name: str) -> str:
        """A parameter that is one of several words."""
        value = self.parameters[name]
        assert isinstance(value, str), name
        return value

    def switch(self, name: str) -> bool:
        """A parameter that is true or false."""
        value = self.parameters[name]
        assert isinstance(value, bool), name
        return value

    def having(self, **values: Value) -> Discipline:
        """The same with other values of some parameters."""
        return dataclasses.replace(self, parameters={**self.parameters, **values})


@dataclass(frozen=True, slots=True)
class Queue:
    """Packets that wait together: a limit and the discipline that decides below it."""

    limit: Limit
    discipline: Discipline


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """One class of traffic with a queue of its own.

    Attributes
    ----------
    name : str
        Name of the class in the scenario.
    groups : tuple of str
        Flow groups that the class carries; empty if the configuration does not name them.
    weight : float
        Weight of the class among the classes that take turns.
    queue : Queue
        Its buffer and discipline.
    priority : bool
        Whether the class is served before all classes that take turns.
    shared : bool
        Whether the class has no buffer of its own: its limit is the link's, common to all such classes.
    packet : int or None
        Bytes of its IP packets, where they differ from those of the link and are known.
    """

    name: str
    groups: tuple[str, ...]
    weight: float
    queue: Queue
    priority: bool = False
    shared: bool = False
    packet: int | None = None

    def counted_in(self, unit: Unit) -> TrafficClass:
        """The same with its limit and thresholds in another unit, by the size of its own packets."""
        if self.packet is None or self.queue.limit.unit == unit:
            return dataclasses.replace(self, packet=None)
        levels = {name: level for name, level in self.queue.discipline.parameters.items() if name in THRESHOLDS}
        values = {
            name: level.counted_in(unit, self.packet) for name, level in levels.items() if isinstance(level, Limit)
        }
        queue = Queue(self.queue.limit.counted_in(unit, self.packet), self.queue.discipline.having(**values))
        return dataclasses.replace(self, queue=queue, packet=None)


@dataclass(frozen=True, slots=True)
class Classes:
    """Classes and who goes first: "strict" priority in their order, or turns ("wrr" of packets, "dwrr" of bytes)."""

    schedule: Literal["strict", "wrr", "dwrr"]
    classes: tuple[TrafficClass, ...]


@dataclass(frozen=True, slots=True)
class Shaper:
    """Token buckets that empty the queue, in front of a line.

    Attributes
    ----------
    kind : str
        "tbf" or "htb".
    rate : int
        Rate of the tokens, in bits per second of the link's layer.
    burst : int
        Size of the token bucket, in bytes.
    line : int
        Bits per second of the line behind it.
    peak : int, optional
        The rate of a second bucket.
    peak_burst : int, optional
        Size of the second bucket in bytes; None if packet sizes vary, which means the largest packet.
    """

    kind: Literal["tbf", "htb"]
    rate: int
    burst: int
    line: int
    peak: int | None = None
    peak_burst: int | None = None


@dataclass(frozen=True, slots=True)
class Port:
    """The target link.

    Attributes
    ----------
    rate : int or None
        Rate in bits per second; None if a configuration has no shaper.
    layer : str
        Layer whose bits the rate counts: IP packets ("l3"), Ethernet frames ("l2") or the wire ("l1").
    packet : int
        Bytes of a full IP packet.
    queue : Queue or Classes
        The queue of the link, or its classes.
    memory : Limit, optional
        Memory that the port shares with other ports.
    memory_alpha : float, optional
        Multiple of the free memory that the port's queue may hold.
    memory_reserved : Limit, optional
        Part of the memory that only this port may use.
    memory_threshold : str
        Limit that the memory sets: "dynamic", or the name of a threshold that no platform has.
    groups : tuple of str
        Flow groups that cross it, in the order of the scenario.
    changing : bool
        Whether the rate changes; `rate` is then the average.
    medium : bool
        Whether a shared medium schedules the packets, so that they do not leave one after the other.
    policed : bool
        Whether a policer drops packets in front of the queue.
    shaper : Shaper, optional
        Shaper that empties the queue; `rate` is then the smaller rate, of the shaper or of the line.
    wire : Framing, optional
        Framing of an access line that the rate counts beside IP; `layer` is then "l3".
    direction : str
        The direction of an access line: "upload" or "download".
    other : int, optional
        Bits per second of a shaper in the other direction of an access line.
    lossless : Lossless, optional
        Levels of a queue that pauses its senders.
    lossless_classes : tuple
        Names of classes that pause their senders, each with its levels.
    """

    rate: int | None
    packet: int
    queue: Queue | Classes
    layer: str = "l3"
    memory: Limit | None = None
    groups: tuple[str, ...] = ()
    changing: bool = False
    medium: bool = False
    policed: bool = False
    shaper: Shaper | None = None
    wire: Framing | None = None
    direction: Direction = "upload"
    other: int | None = None
    memory_alpha: float | None = None
    memory_reserved: Limit | None = None
    memory_threshold: str = "dynamic"
    lossless: Lossless | None = None
    lossless_classes: tuple[tuple[str, Lossless], ...] = ()

    @classmethod
    def of(cls, scenario: Scenario) -> Port:
        """The target link of a scenario."""
        resolved = scenario.resolved
        link = next(link for link in resolved["links"] if link["target"])
        flows = [group for group in resolved["flows"] if link["name"] in group.get("path", [link["name"]])]
        packet = math.ceil(scenario.core.packet_bytes)
        changing = scenario.core.rate_changes
        varies = changing or "shaper" in link
        rate = round(scenario.core.rate_bps) if varies else bits(link["rate"])
        memory = next((entry for entry in resolved.get("memories", ()) if entry["name"] == link.get("memory")), None)
        setting = _Setting(
            rate=Fraction(rate * packet, packet + FRAMING[link["rate_layer"]]),
            delay=exact(_shortest(link["delay"]))[0],
            packet=packet,
            ecn=any(group.get("ecn", False) for group in flows),
            packets=_packets(scenario, packet),
        )
        return cls(
            rate=rate,
            packet=packet,
            queue=setting.queue(_limit(link["buffer"]), link["queue"]),
            layer=link["rate_layer"],
            memory=None if memory is None else _limit(memory["size"]),
            groups=tuple(group["name"] for group in flows),
            changing=changing,
            medium="medium" in link,
            policed="policer" in link,
            shaper=_shaper(link, flows) if "shaper" in link and not changing else None,
            memory_alpha=link.get("memory_alpha"),
            memory_reserved=_limit(link["memory_reserved"]) if "memory_reserved" in link else None,
            memory_threshold=(memory or {}).get("threshold", "dynamic"),
            lossless=Lossless.of(link),
            lossless_classes=tuple(
                (each["name"], levels)
                for each in (link["queue"].get("classes", ()) if isinstance(link["queue"], Mapping) else ())
                if (levels := Lossless.of(each)) is not None
            ),
        )

    @property
    def framing(self) -> int:
        """Bytes per packet that the rate counts beside those of IP."""
        return FRAMING[self.layer] if self.wire is None else self.wire.overhead

    @property
    def bits_per_second(self) -> int:
        """The rate, where there is one."""
        assert self.rate is not None, "a port to be configured has a rate"
        return self.rate

    @property
    def ip_rate(self) -> Fraction:
        """Bits of full IP packets per second."""
        counted = self.packet + self.framing if self.wire is None else self.wire.on_wire(self.packet)
        return Fraction(self.bits_per_second * self.packet, counted)

    @property
    def kind(self) -> str:
        """The discipline by its name, or "classes"."""
        return self.queue.discipline.kind if isinstance(self.queue, Queue) else "classes"

    def queues(self) -> Iterator[tuple[str, Queue]]:
        """Each queue with the name of its class, empty where there are no classes."""
        if isinstance(self.queue, Queue):
            yield "", self.queue
        else:
            yield from ((entry.name, entry.queue) for entry in self.queue.classes)

    def limit_bytes(self) -> float:
        """All that may wait, in bytes of full packets, as far as limits are known."""
        return sum(queue.limit.in_bytes(self.packet) for _, queue in self.queues() if queue.limit.known)

    @property
    def limited(self) -> bool:
        """Whether every limit is known."""
        return all(queue.limit.known for _, queue in self.queues())

    def with_queue(self, queue: Queue | Classes) -> Port:
        """The same link with another queue."""
        return dataclasses.replace(self, queue=queue)


def _shortest(delay: Any) -> str:
    """The delay of a link, the shortest where it changes."""
    return (
        delay if isinstance(delay, str) else min((each for _, each in delay["steps"]), key=lambda text: exact(text)[0])
    )


def _shaper(link: Mapping[str, Any], flows: Iterable[Mapping[str, Any]]) -> Shaper:
    """The shaper of a link at one rate that these flows cross."""
    table = link["shaper"]
    shaper = Shaper(table.get("kind", "tbf"), bits(table["rate"]), _bytes(table["burst"]), bits(link["rate"]))
    if "peak" not in table:
        return shaper
    if "peak_burst" in table:
        return dataclasses.replace(shaper, peak=bits(table["peak"]), peak_burst=_bytes(table["peak_burst"]))
    packets = [group["packet"] for group in flows]
    known = all(isinstance(packet, str) for packet in packets)
    largest = max(map(_bytes, packets), default=0) + FRAMING[link["rate_layer"]] if known else None
    return dataclasses.replace(shaper, peak=bits(table["peak"]), peak_burst=largest)


def _bytes(text: str) -> int:
    return math.ceil(exact(text)[0])


def _packets(scenario: Scenario, usual: int) -> dict[str, int]:
    """Bytes of a packet in each class whose packets are not those of the link."""
    found = {}
    for key in scenario.core.buffer_keys:
        if key.startswith("link.queue.classes."):
            size = scenario.core.buffer_of(key)
            packet = math.ceil(size["bytes"] / size["packets"] * (1 - 1e-12)) if size["packets"] else usual
            found[key.removeprefix("link.queue.classes.").removesuffix(".buffer")] = packet
    return {name: packet for name, packet in found.items() if packet != usual}


def _limit(text: str) -> Limit:
    amount, dimension = exact(text)
    assert dimension in ("packets", "bytes"), text
    whole = int(amount) if amount.denominator == 1 else float(amount)
    return Limit(whole, "packets" if dimension == "packets" else "bytes")


@dataclass(frozen=True, slots=True)
class _Setting:
    """The reference values of relative parameters (`Setting` of crates/discipline/src/port.rs)."""

    rate: Fraction
    delay: Fraction
    packet: int
    ecn: bool
    packets: Mapping[str, int]

    def queue(self, limit: Limit, table: Mapping[str, Any]) -> Queue | Classes:
        """The queue of a resolved table."""
        if table["kind"] == "classes":
            return Classes(table.get("schedule", "strict"), tuple(self._classes(table["classes"], limit)))
        kind = table["kind"]
        given = {name: self._value(name, value, limit) for name, value in table.items() if name != "kind"}
        values = {**given, **self._automatic(kind, given, limit)}
        return Queue(limit, Discipline(kind, values, ecn=self.ecn and kind in MARKING))

    def _classes(self, tables: Iterable[Mapping[str, Any]], limit: Limit) -> Iterator[TrafficClass]:
        for table in tables:
            own = _limit(table["buffer"]) if "buffer" in table else limit
            queue = self.queue(own, table.get("queue", {"kind": "droptail"}))
            assert isinstance(queue, Queue), "classes hold no classes"
            groups, weight = tuple(table.get("groups", ())), float(table.get("weight", 1))
            shared = "buffer" not in table
            priority, packet = table.get("priority", False), self.packets.get(table["name"])
            yield TrafficClass(table["name"], groups, weight, queue, priority, shared, packet)

    def _value(self, name: str, value: Any, limit: Limit) -> Value:
        if isinstance(value, bool):
            return value
        if name in THRESHOLDS:
            return self._level(value, limit)
        if isinstance(value, int | float):
            return float(value)
        try:
            amount, dimension = exact(value)
        except ValueError:
            return str(value)
        return amount if dimension == "time" else Limit(math.ceil(amount), "bytes")

    def _level(self, value: Any, limit: Limit) -> Limit:
        """A threshold in the limit's unit."""
        if isinstance(value, int | float):
            return _as_integer(value * limit.amount, limit.unit)
        amount, dimension = exact(value)
        if dimension == "share":
            return _as_integer(amount * Fraction(limit.amount), limit.unit)
        if dimension == "packets":
            return _as_integer(amount * (1 if limit.unit == "packets" else self.packet), limit.unit)
        size = amount * self.rate / 8 if dimension == "time" else amount
        return _as_integer(size / self.packet if limit.unit == "packets" else size, limit.unit)

    def _automatic(self, kind: str, given: Mapping[str, Value], limit: Limit) -> dict[str, Value]:
        """Parameters that the scenario leaves to the discipline (crates/discipline/src/red.rs, drr.rs, sfq.rs)."""
        found: dict[str, Value] = {}
        if kind in ("drr", "sfq") and "quantum" not in given:
            found["quantum"] = Limit(self.packet, "bytes")
        if kind not in ("red", "choke"):
            return found
        per_second = float(self.rate / 8 / self.packet)
        least = given.get("min", max(self._level("5p", limit), self._level("2500us", limit), key=lambda x: x.amount))
        assert isinstance(least, Limit), "a threshold"
        most = given.get("max", _as_integer(3 * least.amount, limit.unit))
        assert isinstance(most, Limit), "a threshold"
        found["min"], found["max"] = least, max(least, most, key=lambda level: level.amount)
        if "weight" not in given:
            longest = max(3 * (float(self.delay) + 1 / per_second), 0.1)
            found["weight"] = -math.expm1(-1 / (10 * longest * per_second))
        if "bottom" not in given:
            found["bottom"] = min(10 / per_second, 0.01)
        return found


def _as_integer(amount: Fraction | float, unit: Unit) -> Limit:
    """A level; it is an integer if it differs from one only by floating-point rounding."""
    found = float(amount)
    nearest = round(found)
    return Limit(nearest if abs(found - nearest) <= 1e-9 * max(1, nearest) else found, unit)


def differences(requested: Port, fitted: Port) -> Iterator[tuple[str, str, str]]:
    """The differences between two ports: the name of each setting and both figures.

    Names of classes and of groups are not compared. Figures that agree in seven digits count as equal.
    """
    if requested.rate != fitted.rate:
        yield "rate", _rate(requested.rate), _rate(fitted.rate)
    if requested.layer != fitted.layer:
        yield "rate_layer", requested.layer, fitted.layer
    if requested.wire != fitted.wire:
        framed = [str(each.wire or f"{each.framing} bytes of framing a packet") for each in (requested, fitted)]
        yield "framing", framed[0], framed[1]
    if requested.memory != fitted.memory:
        yield "memory", str(requested.memory or "none"), str(fitted.memory or "none")
    if requested.memory_alpha != fitted.memory_alpha:
        yield "memory_alpha", value_text(requested.memory_alpha), value_text(fitted.memory_alpha)
    if requested.memory_reserved != fitted.memory_reserved:
        yield "memory_reserved", value_text(requested.memory_reserved), value_text(fitted.memory_reserved)
    yield from lossless_differences(requested.lossless, fitted.lossless)
    yield from _shaper_differences(requested.shaper, fitted.shaper)
    if isinstance(requested.queue, Classes) and isinstance(fitted.queue, Classes):
        if requested.queue.schedule != fitted.queue.schedule:
            yield "schedule", requested.queue.schedule, fitted.queue.schedule
        ordered = [_ordered(queue) for queue in (requested.queue, fitted.queue)]
        shares = [_shares(queue) for queue in ordered]
        for at, (one, other) in enumerate(zip(ordered[0].classes, ordered[1].classes, strict=True)):
            simulated, configured = (f"{100 * float(share[at]):.6g} %" for share in shares)
            if simulated != configured:
                yield f"{one.name}.share", simulated, configured
            yield from ((f"{one.name}.{name}", a, b) for name, a, b in _queue_differences(one.queue, other.queue))
    elif isinstance(requested.queue, Queue) and isinstance(fitted.queue, Queue):
        yield from _queue_differences(requested.queue, fitted.queue)
    else:
        yield "queue", requested.kind, fitted.kind


def _shaper_differences(requested: Shaper | None, fitted: Shaper | None) -> Iterator[tuple[str, str, str]]:
    if requested is None or fitted is None:
        return
    for name in ("rate", "peak"):
        one, other = getattr(requested, name), getattr(fitted, name)
        if one != other:
            yield f"shaper.{name}", _rate(one), _rate(other)
    for name in ("burst", "peak_burst"):
        one, other = getattr(requested, name), getattr(fitted, name)
        if one != other:
            yield f"shaper.{name}", _size(one), _size(other)


def _ordered(queue: Classes) -> Classes:
    """The classes as they are served: those with priority before those that take turns."""
    if queue.schedule == "strict":
        return queue
    return Classes(queue.schedule, tuple(sorted(queue.classes, key=lambda entry: not entry.priority)))


def _shares(queue: Classes) -> list[Fraction]:
    """The share of each class in the traffic of the classes that take turns."""
    strict = queue.schedule == "strict"
    weights = [Fraction(0 if entry.priority or strict else entry.weight) for entry in queue.classes]
    alone = sum(weight > 0 for weight in weights) < 2
    return [Fraction(0) if alone else weight / sum(weights) for weight in weights]


def _queue_differences(requested: Queue, fitted: Queue) -> Iterator[tuple[str, str, str]]:
    if requested.limit != fitted.limit:
        yield "buffer", str(requested.limit), str(fitted.limit)
    one, other = requested.discipline, fitted.discipline
    if one.kind != other.kind:
        yield "queue", one.kind, other.kind
        return
    for name in dict.fromkeys([*one.parameters, *other.parameters]):
        if name in ("bottom", "top") and not other.parameters.get("adaptive", True):
            continue  # has no effect at a fixed probability
        a, b = one.parameters.get(name), other.parameters.get(name)
        if a != b and value_text(a) != value_text(b):
            yield name, value_text(a), value_text(b)
    if one.ecn != other.ecn:
        yield "ecn", _switch(one.ecn), _switch(other.ecn)


def value_text(value: Value | None) -> str:
    """The value of a parameter as text for a reader."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return _switch(value)
    if isinstance(value, Fraction):
        return time_text(value)
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def _switch(value: bool) -> str:
    return "on" if value else "off"


def _size(size: int | None) -> str:
    return "none" if size is None else count_text(size, "byte")


def _rate(rate: int | None) -> str:
    return "none" if rate is None else rate_text(rate)


def as_json(port: Port) -> dict[str, Any]:
    """The port as plain dictionaries."""
    data: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(port), default=float))
    for queue in [data["queue"], *(entry["queue"] for entry in data["queue"].get("classes", ()))]:
        if "limit" in queue and queue["limit"]["amount"] < 0:
            queue["limit"] = None
    return data
