"""Readings of counters: what was read of which port at which instant, whatever the file was."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from forebay.errors import InputError
from forebay.observation.counter_files.names import Quantity, quantity_of
from forebay.storage.safe_io import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Readings", "Shaper", "is_same_port"]

#: Largest number that a counter of 64 bits can hold.
MOST = 2**64
#: Ports and queues that a file may have.
MOST_PORTS = 10_000


@dataclass(frozen=True, slots=True)
class Shaper:
    """The shaper and the queue of a port, as a host reports them.

    Attributes
    ----------
    rate_bps : float or None
        Rate of the shaper, in bit/s.
    kind : str
        The discipline of the queue, as the kernel names it; empty if there are several.
    limit : float or None
        Limit of the queue, in packets or bytes.
    in_bytes : bool
        Whether the limit is in bytes.
    """

    rate_bps: float | None
    kind: str
    limit: float | None
    in_bytes: bool


@dataclass
class Readings:
    """All readings of a file.

    Attributes
    ----------
    ports : dict
        Instants in seconds and values, by port and name of the counter.
    ignored : int
        Count of numbers whose names do not concern a port.
    notes : list of str
        Remarks on the input, one sentence each.
    nominal : set of str
        Ports whose speed is that of their type; the actual speed may be lower.
    shapers : dict of Shaper
        Shapers by port.
    assumed : list of str
        Assumptions about the numbers that the file does not state, a clause each.
    """

    ports: dict[str, dict[str, list[tuple[float, float]]]] = field(default_factory=dict)
    ignored: int = 0
    notes: list[str] = field(default_factory=list)
    nominal: set[str] = field(default_factory=set)
    shapers: dict[str, Shaper] = field(default_factory=dict)
    assumed: list[str] = field(default_factory=list)
    _lines: dict[tuple[str, str], tuple[str, array[int]]] = field(default_factory=dict)

    def add(self, port: str, name: str, instant: float, value: float, place: str = "") -> None:
        """Keep a reading.

        Raises
        ------
        InputError
            Where the number is negative, infinite, not a number, or more than 64 bits hold.
        """
        if quantity_of(name) is None:
            self.ignored += 1
            return
        if not 0 <= value < MOST:
            where = f"{place}: " if place else ""
            raise InputError(f"{where}found {value} for {clean(name)}; allowed: numbers from 0 to 2^64 - 1")
        if port in self.ports or len(self.ports) < MOST_PORTS:
            self.ports.setdefault(port, {}).setdefault(name, []).append((instant, value))
            self._keep_place(port, name, place)

    def _keep_place(self, port: str, name: str, place: str) -> None:
        """Keep the number of the line; what stands before it is of the whole series."""
        before, _, number = (place.rpartition(", column ")[0] or place).rpartition(" ")
        lines = self._lines.setdefault((port, name), (before, array("L")))[1]
        lines.append(int(number) if number.isascii() and number.isdigit() and len(number) < 16 else 0)

    def place_of(self, port: str, kinds: Sequence[str], instant: float, where: str) -> str:
        """The line and the column of a reading at an instant, of the first counter of such a kind that has one."""
        found = [name for name in self.ports[port] if getattr(quantity_of(name), "kind", "") in kinds]
        found.sort(key=lambda name: not getattr(quantity_of(name), "leaving", False))
        for name in found:
            before, lines = self._lines.get((port, name), ("", array("L")))
            for (when, _), line in zip(self.ports[port][name], lines, strict=False):
                if line and abs(when - instant) < 1e-3:
                    return f"{before} {line}, {clean(name)}"
        return where

    def check_once(self, port: str, where: str) -> None:
        """Refuse two values of one counter at one instant, as of ports that no column tells apart.

        Raises
        ------
        InputError
            Names the counter.
        """
        for name, series in self.ports[port].items():
            seen: dict[float, float] = {}
            for instant, value in series:
                if seen.setdefault(instant, value) != value:
                    raise InputError(
                        f"{where}: found {seen[instant]} and {value} for {clean(name)} at one time; allowed: one "
                        "value, or a column such as ifName that tells ports apart"
                    )

    def say(self, note: str) -> None:
        """Keep a remark on the input, once."""
        if note not in self.notes:
            self.notes.append(note)

    def adopt(self, other: Readings) -> None:
        """Add another file's readings: of ports of the same name, and speeds of ports by the ends of their names."""
        for note in other.notes:
            self.say(note)
        self.ignored += other.ignored
        self.assumed += [each for each in other.assumed if each not in self.assumed]
        self.shapers |= other.shapers
        for port, counters in other.ports.items():
            targets = [port]
            if all(getattr(quantity_of(name), "kind", "") == "speed" for name in counters):
                targets = [known for known in self.ports if is_same_port(known, port)] or [port]
            for target in targets:
                for name, series in counters.items():
                    known = name in self.ports.get(target, {})
                    self.ports.setdefault(target, {}).setdefault(name, []).extend(series)
                    if known:
                        # The readings come from two files: neither file is the place of all.
                        self._lines.pop((target, name), None)
                    elif (port, name) in other._lines:
                        self._lines[target, name] = other._lines[port, name]
                if port in other.nominal:
                    self.nominal.add(target)

    def of(self, port: str) -> Iterator[tuple[str, Quantity, list[tuple[float, float]]]]:
        """Each counter of a port: its name, what it says, and its readings in order of time, one for an instant."""
        for name, readings in self.ports[port].items():
            quantity = quantity_of(name)
            assert quantity is not None, "only what is known is kept"
            yield name, quantity, sorted(dict(readings).items())


def is_same_port(one: str, other: str) -> bool:
    """Whether two names mean one port: with a device in front or not, `Gi0/1` or `GigabitEthernet0/1`."""
    if not one or one == other or one.endswith(f" {other}") or other.endswith(f" {one}"):
        return True
    first, second = (re.fullmatch(r"([a-z-]+?) ?(\d.*)", each.rpartition(" ")[2].lower()) for each in (one, other))
    if first is None or second is None or first[2] != second[2]:
        return False
    short, long = sorted((first[1], second[1]), key=len)
    return long.startswith(short)
