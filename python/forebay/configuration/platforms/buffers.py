"""Platforms of which only the buffer of a first-in-first-out queue is written so far."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from forebay.configuration.platforms.platform import Assumed, Fitted, Reading, whole_bytes
from forebay.configuration.port import Discipline, Limit, Port, Queue
from forebay.configuration.reading import Mistake, Word, Words, statements, whole
from forebay.errors import InputError

__all__ = ["EOS", "IOS_XE", "IOS_XR", "JUNOS", "SROS", "OneBuffer"]

#: Bytes that a unit stands for, from the value, bits per second and bytes of a packet.
Unit = Callable[[int, int, int], float]

_MILLISECONDS: Unit = lambda value, rate, _: value * rate / 8e3  # noqa: E731
_MICROSECONDS: Unit = lambda value, rate, _: value * rate / 8e6  # noqa: E731
_TIMED = {"ms": _MILLISECONDS, "milliseconds": _MILLISECONDS, "us": _MICROSECONDS, "microseconds": _MICROSECONDS}


def _bytes(factor: int) -> Unit:
    return lambda value, _rate, _packet: value * factor


@dataclass(frozen=True, slots=True)
class OneBuffer:
    """A platform that is told one buffer in one statement."""

    name: str
    title: str
    source: str
    quirks: tuple[str, ...]
    #: The words before the value, the unit where none is named, and every unit.
    words: tuple[str, ...]
    default: str
    units: Mapping[str, Unit]
    #: Lines with `{}` for the value, in bytes or microseconds.
    lines: tuple[str, ...]
    in_time: bool
    disciplines: Mapping[str, str] = dataclasses.field(default_factory=lambda: {"droptail": "tail drop"})
    nearest: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def fit(self, port: Port) -> Fitted:
        """Whole bytes, or whole microseconds at the link's rate."""
        assert isinstance(port.queue, Queue), "a fifo"
        limit = whole_bytes(port.queue.limit, port.packet)
        if self.in_time:
            microseconds = max(1, math.ceil(Fraction(int(limit.amount) * 8 * 10**6, port.bits_per_second)))
            limit = Limit(microseconds * port.bits_per_second // (8 * 10**6), "bytes")
        told = port.with_queue(Queue(limit, Discipline("droptail")))
        why = "the platform counts whole microseconds" if self.in_time else "the platform counts bytes"
        return Fitted(dataclasses.replace(told, layer="l3", memory=None), {"buffer": why})

    def write(self, port: Port) -> list[str]:
        """The statement and what it stands in."""
        assert isinstance(port.queue, Queue), "a fifo"
        value = int(port.queue.limit.amount)
        if self.in_time:
            value = math.ceil(Fraction(value * 8 * 10**6, port.bits_per_second))
        return [line.format(value) for line in self.lines]

    def read(self, text: str, assumed: Assumed) -> Reading:
        """The one statement, wherever it stands among the lines that it is written with."""
        around = [
            [word.text for word in line] for line in map(_split, self.lines) if "{}" not in [w.text for w in line]
        ]
        found = [line for line in statements(text, comment="") if [word.text for word in line] not in around]
        if not found:
            raise Mistake("nothing", f"{' '.join(self.words)} and a number").error()
        words = Words(found[0])
        start = next((n for n, word in enumerate(found[0]) if word.text == self.words[0]), 0)
        if [w.text for w in found[0][:start]] not in self._beginnings():
            start = 0
        words.at = start
        for word in self.words:
            words.keyword([word])
        value = words.value(lambda given: whole(given, least=1))
        unit = words.keyword(self.units) if words.more else self.default
        words.end()
        if len(found) > 1:
            Words(found[1]).fail("one statement")
        if self.units[unit] in (_MILLISECONDS, _MICROSECONDS) and assumed.rate is None:
            raise InputError(
                f"found none, but {self.name} counts {unit} at the link's rate; allowed: such as 10Gbps", "rate"
            )
        size = self.units[unit](value, assumed.rate or 0, assumed.packet)
        per_unit = self.units[unit](1, assumed.rate or 0, assumed.packet)
        how = f"1 {unit} = {per_unit:g} bytes" + (" at this rate" if unit in _TIMED else "")
        queue = Queue(Limit(int(size), "bytes"), Discipline("droptail"))
        return Reading(Port(assumed.rate, assumed.packet, queue), (how,))

    def _beginnings(self) -> list[list[str]]:
        found: list[list[str]] = [[]]
        for line in self.lines:
            if "{}" in line:
                words = [word.text for word in _split(line)]
                found.append(words[: words.index(self.words[0])])
        return found


def _split(line: str) -> list[Word]:
    return statements(line, comment="")[0]


IOS_XR = OneBuffer(
    "ios-xr",
    "Cisco IOS XR",
    "Cisco, 'Modular QoS Command Reference for Cisco NCS 5500 Series and NCS 540 Series Routers', queue-limit: "
    "'when the specified units is packets, packets are assumed to be 256 bytes in size'; CRS Release 4.0",
    (
        "a 'packet' is 256 bytes whatever the traffic's size; without a unit packets are meant",
        "a time counts at the guaranteed service rate of the class, not at the interface's rate",
    ),
    ("queue-limit",),
    "packets",
    {"packets": _bytes(256), "bytes": _bytes(1), "kbytes": _bytes(1000), "mbytes": _bytes(10**6), **_TIMED},
    ("policy-map FOREBAY", " class class-default", "  queue-limit {} bytes", " !", " end-policy-map"),
    in_time=False,
)
IOS_XE = OneBuffer(
    "ios-xe",
    "Cisco IOS XE (ASR 1000)",
    "Cisco, 'QoS: Congestion Management Configuration Guide, IOS XE', queue depth: 1 to 2,000,000 packets; "
    "default 50 ms of 1500-byte packets (25 ms on ESP40), at least 64",
    ("a packet counts as one whatever its size", "uncertain: whether bytes are accepted depends on the release"),
    ("queue-limit",),
    "packets",
    {"packets": lambda value, _rate, packet: value * packet, "bytes": _bytes(1), **_TIMED},
    ("policy-map FOREBAY", " class class-default", "  queue-limit {} bytes"),
    in_time=False,
)
JUNOS = OneBuffer(
    "junos",
    "Juniper Junos",
    "Juniper, 'buffer-size (Schedulers)': drops begin above logical interface speed x temporal microseconds",
    (
        "the time counts at the speed of the logical interface, so a shaped interface needs its own value",
        "the largest temporal value depends on the platform: 50,000 to 200,000 microseconds on M Series",
    ),
    ("buffer-size", "temporal"),
    "microseconds",
    {"microseconds": _MICROSECONDS},
    ("set class-of-service schedulers FOREBAY buffer-size temporal {}",),
    in_time=True,
)
EOS = OneBuffer(
    "eos",
    "Arista EOS (7280R, 7500R)",
    "Arista, TOI 'VOQ latency': 'this feature allows setting the desired maximum VOQ latency'",
    ("uncertain: the limit is on the virtual output queue of each ingress, enforced by drop probabilities",),
    ("latency", "maximum"),
    "microseconds",
    _TIMED,
    ("interface Ethernet1", "   tx-queue 0", "      latency maximum {} microseconds"),
    in_time=True,
)
SROS = OneBuffer(
    "sros",
    "Nokia SR OS",
    "Nokia 7705 SAR, 'Quality of Service Guide', mbs: size [bytes | kilobytes], kilobytes by default, "
    "1000 bytes each; converted to whole buffers of 2304 or 512 bytes by adapter card",
    ("the maximum burst size is the queue's largest depth; it is rounded to the card's buffers",),
    ("mbs",),
    "kilobytes",
    {"bytes": _bytes(1), "kilobytes": _bytes(1000)},
    ("configure qos sap-egress 100", "    queue 1", "        mbs {} bytes", "    exit"),
    in_time=False,
)
