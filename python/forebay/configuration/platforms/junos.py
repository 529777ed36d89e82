"""Juniper Junos: schedulers with a buffer in time, drop profiles for RED with ECN, a scheduler map, a shaping rate."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from forebay.configuration.platforms.junos_text import (
    GRAMMAR,
    STATEMENTS,
    Scheduler,
    State,
    elsewhere,
    paths,
)
from forebay.configuration.platforms.modular_qos import router_name
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
from forebay.configuration.reading import closest, skipped_line
from forebay.errors import InputError
from forebay.text.formatting import bandwidth, exactly

__all__ = ["JUNOS"]

#: The longest buffer that the documents name, in microseconds: that of SRX Series.
MOST = 2_000_000
#: Bits per second that a shaping rate of any card takes (the CLI's own bound is higher).
FASTEST = 10**13
#: Longest buffers of some devices, in microseconds; a longer buffer gets a note.
LONGEST = {50_000: "IQ PICs of M320 and T Series", 100_000: "M7i and M10i", 200_000: "other M Series"}
#: Strict priorities, highest first; classes that take turns have `low`.
PRIORITIES = ("strict-high", "high", "medium-high", "medium-low", "low")
#: Priorities that are read: "priority (Schedulers)" puts `low-latency` of ACX7000 Series before all others.
_READ = ("low-latency", *PRIORITIES)
REST = "best-effort"
PREFIX = "FOREBAY"
#: The scheduler of control traffic between routers. A custom scheduler map replaces its defaults: "Default Schedulers
#: Overview" gives it 5 percent of rate and buffer at low priority. Its share of the buffer stays the same.
_CONTROL = f"{PREFIX}-NETWORK-CONTROL"
#: Smallest and largest share of the rate for network control, in percent, and its queue on MX Series.
_LEFT, _CONTROL_QUEUE = (5, 10), 3
#: The points of a drop profile: pairs of fill level and drop probability in percent, as `interpolate` takes them.
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
            "weight": "Junos has no setting for the average of the fill level",
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
        """Fit as `Platform` describes; add a note if some hardware does not support the buffer's length."""
        fitted = Router.fit(self, port)
        longest = max(microseconds(queue.limit, fitted.port) for _, queue in fitted.port.queues())
        short = [f"{where} ({most:,})" for most, where in LONGEST.items() if longest > most]
        note = f"buffer: {longest:,} microseconds are more than these take: {', '.join(short)}"
        return dataclasses.replace(fitted, notes=(*fitted.notes, *([note] if short else [])))

    def level(self, level: Limit, queue: Limit, port: Port) -> Limit:
        percent = round(100 * Fraction(level.in_bytes(port.packet)) / Fraction(queue.amount))
        return _part(min(99, max(1, percent)), queue)

    def red(self, requested: Discipline, limit: Limit, port: Port) -> Discipline:
        ends = [_percent(self.level(requested.level(name), limit, port), limit) for name in ("min", "max")]
        least = min(ends[0], 98)
        most = max(ends[1], least + 1)
        # With ECN a rise to all within one percent is a step.
        steep = 99 if requested.ecn and most == least + 1 else 100
        probability = min(steep, max(0, round(requested.number("max_p") * 100)))
        gentle = requested.switch("gentle") and probability < 100
        return _curve(_bend(least, most, probability, gentle=gentle), limit, ecn=requested.ecn)

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
        state, skipped = State(), list[str]()
        for words in paths(text):
            if elsewhere(words):
                skipped.append(skipped_line(words))
                continue
            then, parsed = GRAMMAR.read(words)
            then(state, parsed)
        port = _Resolved(state, assumed).port()
        return dataclasses.replace(port, skipped=tuple(skipped))


_COS = "set class-of-service"
#: Media types of interfaces by the fastest rate that each has ("Interface Naming Conventions for Rate Selectability").
_MEDIA = {"ge": 10**9, "xe": 10**10}


def _is_control(name: str) -> bool:
    """Whether a scheduler is that of `_CONTROL`; change sets put a mark of the content after the prefix."""
    return name.startswith(PREFIX) and name.endswith(_CONTROL.removeprefix(PREFIX))


def _interface(port: Port) -> str:
    """The media type of an interface with this rate; the last kb/s may be a shaper's rounding."""
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
    """A drop profile that rises from 0 to 100 percent within one percent."""
    return ((level - 1, 0), (level, 100), (level + 1, 100))


def _curve(points: Points, limit: Limit, *, ecn: bool) -> Discipline:
    """The discipline of three points: RED, or marking at a step."""
    (least, _), (most, probability), (end, last) = points
    if ecn and points == _step(most):
        return Discipline("step", {"threshold": _part(most, limit), "others": "drop"}, ecn=True)
    gentle = points == _bend(least, most, probability, gentle=True) and (end, last) != (most + 1, 100)
    values: dict[str, Value] = {"min": _part(least, limit), "max": _part(most, limit), "max_p": probability / 100}
    discipline = wred(values, ecn=ecn)
    return discipline.having(gentle=gentle)


def _points(queue: Queue) -> Points:
    """The drop profile of a queue whose discipline has one."""
    discipline = queue.discipline
    if discipline.kind == "step":
        return _step(_percent(discipline.level("threshold"), queue.limit))
    ends = (_percent(discipline.level("min"), queue.limit), _percent(discipline.level("max"), queue.limit))
    return _bend(*ends, round(discipline.number("max_p") * 100), gentle=discipline.switch("gentle"))


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
        name = REST if at == len(found) - 1 else router_name(entry.name)
        if name in [known for _, known, *_ in entries]:
            name = f"{name}-{at}"
        priority = "low" if level is None else PRIORITIES[level - 1]
        rate = f"percent {next(shares)}" if level is None else ""
        entries.append((f"{PREFIX}-{name}", name, priority, rate, entry.queue))
    return entries


def _percents(weights: Sequence[float]) -> list[int]:
    """Whole percent of the rate for each weight.

    The rest for network control is chosen so that the proportions are closest.
    """
    if not weights:
        return [100 - _LEFT[0]]
    total = sum(weights)
    found = [percents(weights, 100 - left) for left in range(_LEFT[0], _LEFT[1] + 1)]

    def off(shares: Sequence[int]) -> float:
        required = [weight / total if total > 0 else 1 / len(weights) for weight in weights]
        return max(abs(share / sum(shares) - want) for share, want in zip(shares, required, strict=True))

    return min(found, key=lambda stated: round(off(stated), 9))


def _forwarding(entries: Sequence[_Entry]) -> Iterator[tuple[int, str]]:
    """The queue of each forwarding class: the last is queue 0, best effort's, which is there already.

    Network control has its own queue.
    """
    numbers = [number for number in range(1, 8) if number != _CONTROL_QUEUE][: len(entries) - 1]
    for (_, name, *_), number in zip(entries, reversed(numbers), strict=False):
        yield number, name
    yield _CONTROL_QUEUE, "network-control"


STATEMENTS["schedulers"] |= {"explicit-congestion-notification"}


@dataclass(slots=True)
class _Resolved:
    """The conversion of schedulers to a port."""

    state: State
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
        total_share = sum(entry.share or 0 for entry in schedulers)
        silent = sum(entry.share is None and entry.priority == "low" for entry in schedulers)
        left = max(1, (100 - total_share) // max(1, silent))
        found = []
        for entry in schedulers:
            level = None if entry.priority == "low" else _READ.index(entry.priority) + 1
            weight = float(entry.share if entry.share is not None else left)
            traffic_class = TrafficClass(entry.forwarding or entry.name, (), weight, self._queue(entry, counted))
            found.append((traffic_class, level))
        return Reading(bare.with_queue(prioritized(found)), tuple(self.how), unknown=tuple(self.unknown))

    def _schedulers(self) -> list[Scheduler]:
        state = self.state
        if state.attached and state.attached != "<default>":
            if state.attached not in state.maps:
                likely = closest(state.attached, state.maps)
                suggestion = f"; did you mean `{likely}`?" if likely else ""
                known = ", ".join(f"`{name}`" for name in state.maps) or "a text that has it"
                raise InputError(f"translate: found no scheduler map `{state.attached}`; allowed: {known}{suggestion}")
            return [state.schedulers[name] for name in state.maps[state.attached] if not _is_control(name)]
        if all(map(_is_control, state.schedulers)):
            raise InputError("translate: found no scheduler; allowed: one such as `buffer-size temporal 5000`")
        return [entry for entry in state.schedulers.values() if not _is_control(entry.name)]

    @staticmethod
    def _unlimited(entry: Scheduler) -> InputError:
        where = f"scheduler `{entry.name}`" if entry.name else "the scheduler"
        return InputError(
            f"translate: line {entry.line}: found no buffer-size temporal in {where}; allowed: one (a percentage "
            "is of the port's buffer, which differs by card)"
        )

    def _queue(self, entry: Scheduler, rate: Fraction | None) -> Queue:
        where = f"scheduler `{entry.name}`" if entry.name else "the scheduler"
        if entry.microseconds is None or rate is None:
            text = f", {entry.part} of the port's" if entry.part else ""
            self.unknown.append(f"{entry.name}: its buffer{text}, which differs by card; the device shows it")
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
        "the time refers to the shaping rate, so a port with another rate needs another value",
        "the longest buffer depends on the platform: 50,000 microseconds on IQ PICs of M320 and T Series, 100,000 on "
        "M7i and M10i, 200,000 on other M Series, 2,000,000 on SRX",
        "once the delay buffer is full, Junos drops from its head",
        "omit the shaping-rate line if the port has the link's rate",
        "uncertain: egress-shaping-overhead of the card decides whether a shaper also counts preamble and gap",
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
