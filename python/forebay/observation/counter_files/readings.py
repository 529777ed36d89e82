"""Readings of counters: what was read of which port at which instant, whatever the file was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from forebay.observation.counter_files.names import Quantity, quantity_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Readings"]

#: Largest number that a counter of 64 bits can hold.
MOST = 2**64
#: Ports and queues that a file may have.
MOST_PORTS = 10_000


@dataclass
class Readings:
    """All that was read.

    Attributes
    ----------
    ports : dict
        By port and name of the counter: instants in seconds and values.
    ignored : int
        Numbers with names that say nothing of a port.
    """

    ports: dict[str, dict[str, list[tuple[float, float]]]] = field(default_factory=dict)
    ignored: int = 0

    def add(self, port: str, name: str, instant: float, value: float) -> None:
        """Keep a reading; negative ones and those beyond 64 bits are of no counter."""
        if quantity_of(name) is None or not 0 <= value < MOST:
            self.ignored += 1
        elif port in self.ports or len(self.ports) < MOST_PORTS:
            self.ports.setdefault(port, {}).setdefault(name, []).append((instant, value))

    def of(self, port: str) -> Iterator[tuple[str, Quantity, list[tuple[float, float]]]]:
        """Each counter of a port: its name, what it says, and its readings in order of time, one for an instant."""
        for name, readings in self.ports[port].items():
            quantity = quantity_of(name)
            assert quantity is not None, "only what is known is kept"
            yield name, quantity, sorted(dict(readings).items())
