"""The common properties of routers: a shaper, tail drop, WRED with ECN, and classes by priority and share.

Each router has its granularities and ranges; this module fits a port to them.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from forebay.configuration.platforms.platform import Assumed, Fitted, Reading, bands, refusal
from forebay.configuration.port import FRAMING, Classes, Discipline, Limit, Port, Queue, TrafficClass, Value
from forebay.configuration.quantities import rate_text
from forebay.errors import UnsupportedError

__all__ = [
    "WRED",
    "Router",
    "in_time",
    "lowest_terms",
    "members",
    "microseconds",
    "of_hundred",
    "percents",
    "power_of_two",
    "prioritized",
    "rate_kbps",
    "ratios",
    "rounded_up",
    "settled",
    "wred",
]

#: Reasons for differences between WRED and the simulated RED.
WRED = {
    "gentle": "WRED drops all packets above max; simulate link.queue.gentle = false",
    "adaptive": "WRED keeps its probability; simulate link.queue.adaptive = false",
    "wait": "WRED has no setting for the spacing of drops",
    "weight": "the average is kept as a shift, so weights are powers of two",
    "share": "weights are whole numbers or whole percent",
    **dict.fromkeys(("memory", "memory_alpha", "memory_reserved"), "queue limits are per queue"),
    "schedule": "classes take turns by bytes",
    "ecn": "a step is for marking",
}


@dataclass(frozen=True)
class Router(ABC):
    """A router's operating system, with its granularities and ranges.

    Attributes
    ----------
    name, title, source, quirks, disciplines, nearest, shapes, accesses, pauses
        See `Platform`.
    levels : int
        Number of strict priorities; classes without one count as the last.
    classes : int
        Queues of one port.
    others : str
        Action on packets above a marking threshold that cannot be marked: "drop" or "queue".
    """

    name: str
    title: str
    source: str
    quirks: tuple[str, ...]
    disciplines: Mapping[str, str]
    nearest: Mapping[str, str]
    levels: int = 2
    classes: int = 8
    others: str = "drop"
    marks: bool = True
    shapes: bool = False
    accesses: bool = False
    pauses: Mapping[str, int] | None = None

    @property
    @abstractmethod
    def reasons(self) -> Mapping[str, str]:
        """Reasons for differences from the simulated port, by the name of the setting."""

    @abstractmethod
    def link(self, port: Port) -> tuple[int | None, str]:
        """The rate to configure, or None if it is out of range, and the layer whose bits it counts."""

    @abstractmethod
    def limit(self, limit: Limit, port: Port) -> Limit:
        """The nearest limit, never smaller; raises `UnsupportedError` if it is out of range."""

    def level(self, level: Limit, queue: Limit, port: Port) -> Limit:
        """The nearest threshold in a queue of this limit; by default in the limit's unit and granularity."""
        return rounded_up(level, queue.unit, port.packet)

    def distinct_thresholds(self, least: Limit, most: Limit, queue: Limit) -> tuple[Limit, Limit]:
        """Two distinct thresholds, so that a curve is not a step."""
        del queue
        return least, most if most.amount > least.amount else Limit(least.amount + 1, least.unit)

    def probability(self, probability: float) -> float:
        """The nearest probability; by default in whole percent, at least one."""
        return max(1, round(probability * 100)) / 100

    def weight(self, weight: float) -> float:
        """The nearest weight of an arrival in the average."""
        return power_of_two(weight, 0, 15)

    def alpha(self, alpha: float) -> float:
        """The nearest multiple of the free memory, for systems with dynamic thresholds."""
        raise NotImplementedError

    def notes_on(self, queue: Queue) -> Iterator[str]:
        """Differences between the simulated and the configured queue that no figure shows."""
        del queue
        yield from ()

    def shares(self, weights: Sequence[float]) -> list[float]:
        """The nearest weights, in lowest terms."""
        return of_hundred(weights)

    @abstractmethod
    def write(self, port: Port) -> list[str]:
        """See `Platform`."""

    @abstractmethod
    def read(self, text: str, assumed: Assumed) -> Reading:
        """See `Platform`."""

    def fit(self, port: Port) -> Fitted:
        """See `Platform`."""
        rate, layer = self.link(port)
        changed = dataclasses.replace(
            port, rate=rate, layer=layer, wire=None, memory=None, memory_alpha=None, memory_reserved=None
        )
        queue, notes = port.queue, list[str]()
        if isinstance(queue, Queue) and queue.discipline.kind == "dynamic_threshold" and port.memory is not None:
            queue = Queue(port.memory, queue.discipline)
        if isinstance(queue, Queue) and queue.discipline.kind == "priority":
            queue, more = bands(self.name, port, queue, most=min(self.levels, self.classes))
            notes.extend(more)
        fitted: Queue | Classes
        reasons = dict(self.reasons)
        if isinstance(queue, Queue):
            fitted = self.queue(queue, changed)
        else:
            fitted = self._classes(queue, changed, notes)
            named = {f"{entry.name}.{name}": why for entry in fitted.classes for name, why in reasons.items()}
            reasons.update(named)
        changed = changed.with_queue(fitted)
        notes += dict.fromkeys(note for _, each in changed.queues() for note in self.notes_on(each))
        return Fitted(changed, reasons, tuple(notes))

    def queue(self, queue: Queue, port: Port) -> Queue:
        """A queue with its limit and discipline fitted to the platform."""
        discipline = queue.discipline
        if discipline.kind not in self.disciplines:
            raise refusal(self, discipline.kind)
        limit = self.limit(queue.limit, port)
        if discipline.kind == "red":
            return Queue(limit, self.red(discipline, limit, port))
        if discipline.kind == "step":
            level = self.level(discipline.level("threshold"), limit, port)
            return Queue(limit, Discipline("step", {"threshold": level, "others": self.others}, ecn=True))
        if discipline.kind == "dynamic_threshold":
            return Queue(limit, Discipline("dynamic_threshold", {"alpha": self.alpha(discipline.number("alpha"))}))
        return Queue(limit, discipline)

    def red(self, requested: Discipline, limit: Limit, port: Port) -> Discipline:
        """RED as the system's WRED."""
        least, most = (self.level(requested.level(name), limit, port) for name in ("min", "max"))
        least, most = self.distinct_thresholds(least, most, limit)
        values: dict[str, Value] = {"min": least, "max": most}
        for name, nearest in (("max_p", self.probability), ("weight", self.weight)):
            if name in requested.parameters:
                values[name] = nearest(requested.number(name))
        return wred(values, ecn=requested.ecn and self.marks)

    def within(self, limit: Limit, most: int) -> Limit:
        """The limit; refused above the platform's maximum."""
        if limit.amount > most:
            unit = "bytes" if limit.unit == "bytes" else "packets"
            raise UnsupportedError(f"{self.name} does not support {limit}; allowed: up to {most:,} {unit}")
        return limit

    def lasting(self, limit: Limit, port: Port, most: int) -> Limit:
        """The limit in whole microseconds; refused above the platform's maximum."""
        count = microseconds(limit, port)
        if count > most:
            found = f"{limit}, {count:,} microseconds at the link's rate"
            raise UnsupportedError(f"{self.name} does not support {found}; allowed: up to {most:,}")
        return in_time(count, port.ip_rate)

    def shaped(self, port: Port, layer: str, most: int) -> tuple[int, str]:
        """The rate of a shaper that counts a layer's bits in whole kb/s; refused above the platform's maximum."""
        rate = rate_kbps(port, layer)
        if rate > most:
            raise UnsupportedError(f"{self.name} cannot shape to {rate_text(rate)}; allowed: up to {rate_text(most)}")
        return rate, layer

    def _classes(self, requested: Classes, port: Port, notes: list[str]) -> Classes:
        requested = settled(requested.schedule, requested.classes)
        self._count(requested)
        turns = [
            entry.weight for entry, level in members(requested) if requested.schedule != "strict" and level is None
        ]
        shares = iter(self.shares(turns))
        queues = self.same_unit([self.queue(entry.queue, port) for entry in requested.classes], port)
        traffic_classes = tuple(
            dataclasses.replace(entry, queue=queue, weight=next(shares, 1.0) if level is None else 1.0)
            for (entry, level), queue in zip(members(requested), queues, strict=True)
        )
        carried = "; ".join(f"{entry.name}: {', '.join(entry.groups)}" for entry in traffic_classes if entry.groups)
        if carried:
            notes.append(f"classes: packets have to be classified where they come in ({carried})")
        return Classes("strict" if requested.schedule == "strict" else "dwrr", traffic_classes)

    def _count(self, wanted_count: Classes) -> None:
        count = len(wanted_count.classes)
        if count > self.classes:
            raise UnsupportedError(f"{self.name} does not support {count} classes; allowed: up to {self.classes}")
        strict = 1 + sum(level is not None for _, level in members(wanted_count))
        if strict > self.levels:
            allowed = f"up to {self.levels}, with what comes last"
            raise UnsupportedError(f"{self.name} does not support {strict} strict priorities; allowed: {allowed}")

    def same_unit(self, queues: Sequence[Queue], port: Port) -> list[Queue]:
        """The queues of one policy; all in bytes if their units differ."""
        if len({queue.limit.unit for queue in queues}) == 1:
            return list(queues)
        return [self.queue(in_bytes(queue, port.packet), port) for queue in queues]


def wred(values: Mapping[str, Value], *, ecn: bool) -> Discipline:
    """RED with these parameters, as WRED has the others."""
    return Discipline("red", {**values, "gentle": False, "adaptive": False, "wait": False}, ecn=ecn)


def in_bytes(queue: Queue, packet: int) -> Queue:
    """The queue with its limit in bytes."""
    return Queue(Limit(queue.limit.in_bytes(packet), "bytes"), queue.discipline)


def rounded_up(limit: Limit, unit: str, packet: int) -> Limit:
    """A level as whole packets or bytes, at least one."""
    if unit == "packets":
        return Limit(max(1, round(limit.in_packets(packet))), "packets")
    return Limit(max(1, round(limit.in_bytes(packet))), "bytes")


def rate_kbps(port: Port, layer: str) -> int:
    """The rate in whole kb/s that carries the same full packets if another layer's bytes count."""
    exact = port.ip_rate * (port.packet + FRAMING[layer]) / port.packet
    return max(1000, round(exact / 1000) * 1000)


def microseconds(limit: Limit, port: Port) -> int:
    """Time in whole microseconds in which a limit of full packets is sent, rounded up after float noise is removed."""
    exact = Fraction(limit.in_bytes(port.packet)) * 8 * 10**6 / port.ip_rate
    return max(1, math.ceil(exact * (1 - Fraction(1, 10**15))))


def in_time(count: int, rate: Fraction) -> Limit:
    """The amount of data that `rate` sends in `count` microseconds."""
    size = count * rate / (8 * 10**6)
    return Limit(int(size) if size.denominator == 1 else float(size), "bytes")


def power_of_two(weight: float, least: int, most: int) -> float:
    """The nearest power of two, from 2^-most to 2^-least."""
    return 2.0 ** -min(most, max(least, round(-math.log2(weight))))


def lowest_terms(weights: Sequence[int]) -> list[float]:
    """Weights over their greatest common divisor."""
    divisor = math.gcd(*weights) if weights else 1
    return [float(weight // max(1, divisor)) for weight in weights]


def ratios(weights: Sequence[float], most: int) -> list[float]:
    """Weights as whole numbers from one to `most`, in lowest terms."""
    exact = [Fraction(weight).limit_denominator(10**6) for weight in weights]
    scale = math.lcm(*(weight.denominator for weight in exact))
    rounded = [int(weight) for weight in lowest_terms([round(weight * scale) for weight in exact])]
    largest = max(rounded, default=1)
    if largest > most:
        rounded = [max(1, round(Fraction(weight * most, largest))) for weight in rounded]
    return lowest_terms(rounded)


def percents(weights: Sequence[float], whole: int = 100) -> list[int]:
    """Whole percent, at least one each, that sum to the whole: the largest remainders are rounded up.

    If all weights are 0, all shares are equal.
    """
    total = sum(weights)
    exact = [whole * weight / total if total > 0 else whole / len(weights) for weight in weights]
    rounded = [max(1, math.floor(share)) for share in exact]
    order = sorted(range(len(rounded)), key=lambda at: (rounded[at] - exact[at], at))
    while sum(rounded) < whole:
        rounded[order.pop(0)] += 1
    while sum(rounded) > whole:
        rounded[max(range(len(rounded)), key=lambda at: rounded[at])] -= 1
    return rounded


def of_hundred(weights: Sequence[float]) -> list[float]:
    """Weights as whole percent, in lowest terms."""
    return lowest_terms(percents(weights)) if weights else []


def settled(schedule: Literal["strict", "wrr", "dwrr"], classes: Sequence[TrafficClass]) -> Classes:
    """Classes in the canonical one of equivalent forms: priorities first, strict if at most one class takes turns."""
    turns = sum(not entry.priority for entry in classes)
    first = classes if schedule == "strict" else sorted(classes, key=lambda entry: not entry.priority)
    if schedule != "strict" and turns > 1:
        return Classes(schedule, tuple(first))
    return Classes("strict", tuple(dataclasses.replace(entry, weight=1.0, priority=False) for entry in first))


def members(classes: Classes) -> list[tuple[TrafficClass, int | None]]:
    """Each class with its strict priority from 1 on; None for classes that take turns and for the last strict one."""
    found: list[tuple[TrafficClass, int | None]] = []
    level = 0
    last = len(classes.classes) - 1
    for at, entry in enumerate(classes.classes):
        strict = at < last if classes.schedule == "strict" else entry.priority
        level += strict
        found.append((entry, level if strict else None))
    return found


def prioritized(found: Sequence[tuple[TrafficClass, int | None]]) -> Classes:
    """The classes of a configuration, each with its strict priority from 1 on, or None if it takes turns."""
    ordered = sorted(found, key=lambda each: (each[1] is None, each[1] or 0))
    weights = lowest_terms([round(entry.weight) for entry, level in ordered if level is None])
    turns = iter(weights)
    classes = [
        dataclasses.replace(entry, priority=level is not None, weight=1.0 if level is not None else next(turns))
        for entry, level in ordered
    ]
    return settled("dwrr", classes)
