"""A port in the words of a router, and back: what `--for` and `translate` call."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from forebay.configuration.platforms.platform import Assumed, Platform, refusal
from forebay.configuration.platforms.registry import platform
from forebay.configuration.port import Classes, Limit, Port, Queue, Value, differences
from forebay.configuration.quantities import scenario_rate, scenario_size, scenario_time
from forebay.errors import ForebayError
from forebay.scenario import Scenario

__all__ = ["Configuration", "Translation", "check", "configure", "link_table", "translate"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A port as lines of a router's configuration.

    Attributes
    ----------
    system : str
        The platform, as in `--for`.
    lines : tuple of str
        What to type; empty where the platform cannot be told.
    source : str
        The documents that they follow.
    quirks : tuple of str
        What to know before typing them.
    notes : tuple of str
        What differs from what was simulated, a line each with both figures; without lines why there are none.
    title : str
        The platform's name in full.
    """

    system: str
    lines: tuple[str, ...]
    source: str
    quirks: tuple[str, ...]
    notes: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class Translation:
    """What a router's configuration says.

    Attributes
    ----------
    system : Platform
        Whose it is.
    port : Port
        As a scenario would have it.
    how : tuple of str
        How its figures come about.
    """

    system: Platform
    port: Port
    how: tuple[str, ...]

    @property
    def bytes(self) -> float:
        """All that may wait."""
        return self.port.limit_bytes()

    @property
    def seconds(self) -> float | None:
        """Time to send it; None where the rate is not known."""
        return None if self.port.rate is None else self.bytes * 8 / float(self.port.ip_rate)


def check(names: Iterable[str], scenario: Scenario) -> tuple[Platform, ...]:
    """Refuse platforms that lack the scenario's discipline, before anything is simulated."""
    port = Port.of(scenario)
    found = tuple(platform(name) for name in dict.fromkeys(names))
    for system in found:
        _held(system, port)
    return found


def configure(system: Platform, port: Port) -> Configuration:
    """The whole configuration of a port.

    Where a value is beyond what the platform can be told there are no lines, and the note says why.
    """
    quirks = system.quirks
    try:
        _held(system, port)
        fitted = system.fit(port)
        lines = tuple(system.write(fitted.port))
    except ForebayError as error:
        return Configuration(system.name, (), system.source, quirks, (str(error),), system.title)
    notes = (*_differences(port, fitted.port, fitted.reasons), *fitted.notes)
    return Configuration(system.name, lines, system.source, quirks, notes, system.title)


def translate(text: str, name: str, assumed: Assumed) -> Translation:
    """Read a configuration, a part of one, or what a device prints; an `InputError` names what is not understood."""
    system = platform(name)
    reading = system.read(text, assumed)
    port = reading.port if reading.port.rate is not None else dataclasses.replace(reading.port, rate=assumed.rate)
    return Translation(system, port, reading.how)


def _held(system: Platform, port: Port) -> None:
    if port.kind not in system.disciplines:
        raise refusal(system, port.kind)


def _differences(asked: Port, told: Port, reasons: Mapping[str, str]) -> Iterator[str]:
    if isinstance(asked.queue, Queue) and isinstance(told.queue, Classes):
        asked = dataclasses.replace(asked, queue=told.queue)  # said by a note of its own
    for name, simulated, configured in differences(asked, told):
        reason = reasons.get(name, "")
        yield f"{name}: simulated {simulated}, configured {configured}" + (f" ({reason})" if reason else "")


def link_table(port: Port) -> str:
    """The `[link]` table of a scenario with this port."""
    lines = ["[link]"]
    if port.rate is not None:
        lines.append(f'rate   = "{scenario_rate(port.rate)}"')
    if port.layer != "l3":
        lines.append(f'rate_layer = "{port.layer}"')
    if isinstance(port.queue, Queue):
        lines.append(f'buffer = "{_level(port.queue.limit)}"')
    lines.append(f"queue  = {_table(port.queue)}")
    return "\n".join(lines) + "\n"


def _table(queue: Queue | Classes) -> str:
    if isinstance(queue, Queue):
        told = queue.discipline
        pairs = [("kind", f'"{told.kind}"'), *((name, _value(value)) for name, value in told.parameters.items())]
        return "{ " + ", ".join(f"{name} = {value}" for name, value in pairs) + " }"
    classes = ", ".join(
        "{ "
        + f'name = "{entry.name}", groups = [{", ".join(f"{name!r}" for name in entry.groups)}], '
        + f"weight = {entry.weight:g}, {'priority = true, ' if entry.priority else ''}"
        + f'buffer = "{_level(entry.queue.limit)}", queue = {_table(entry.queue)}'
        + " }"
        for entry in queue.classes
    )
    return f'{{ kind = "classes", schedule = "{queue.schedule}", classes = [{classes}] }}'


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return f'"{scenario_time(value)}"'
    if isinstance(value, Limit):
        return f'"{_level(value)}"'
    return f'"{value}"' if isinstance(value, str) else repr(float(value)).removesuffix(".0")


def _level(limit: Limit) -> str:
    if limit.unit == "packets":
        return f"{limit.amount}p"
    return scenario_size(round(limit.amount))
