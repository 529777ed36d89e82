"""A platform: it fits a port to what the device can express, writes the configuration, and reads it back.

Three laws hold for every platform, and tests check them: `read(write(fit(x)))` is `fit(x)`; a second fit changes
nothing; every change by `fit` is reported with both figures.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from forebay._core import disciplines
from forebay.configuration.port import Classes, Discipline, Limit, Port, Queue, TrafficClass
from forebay.errors import UnsupportedError

__all__ = ["Assumed", "Fitted", "Platform", "Reading", "bands", "refusal"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """The nearest port that a platform can express.

    Attributes
    ----------
    port : Port
        Port that the lines will describe.
    reasons : mapping
        Reasons for differences from the simulation, by the names that `forebay.configuration.port.differences` uses.
    notes : tuple of str
        Differences that no figure shows.
    """

    port: Port
    reasons: Mapping[str, str] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assumed:
    """The facts that a reader needs and that a configuration may lack.

    Attributes
    ----------
    rate : int or None
        Bits per second of the link, from `--link`.
    packet : int
        Bytes of a full packet, where something counts packets.
    direction : str or None
        The direction of an access line, where a configuration shapes both; None is the upload, or the only one.
    interface : str or None
        Name of the port, where a configuration has several; None is the first one.
    """

    rate: int | None = None
    packet: int = 1500
    direction: Literal["upload", "download"] | None = None
    interface: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The content of a configuration, and the derivation of its figures.

    Attributes
    ----------
    port : Port
        Port as a scenario describes it; a limit that the configuration does not state is `UNKNOWN`.
    how : tuple of str
        Derivation of the figures.
    skipped : tuple of str
        Lines that do not concern the port.
    unknown : tuple of str
        Settings that the text leaves to the device or the hardware.
    unsimulated : tuple of str
        Settings of the text that a scenario cannot express.
    """

    port: Port
    how: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unsimulated: tuple[str, ...] = ()


class Platform(Protocol):
    """One operating system.

    Attributes
    ----------
    name : str
        Name of the platform, as in `--for`.
    title : str
        Name of the system in full.
    source : str
        Documents that its lines follow.
    quirks : tuple of str
        Facts to know before typing the lines.
    disciplines : mapping
        Forebay's disciplines that the platform has, with the platform's names for them.
    nearest : mapping
        Replacement for each discipline that the platform lacks; by default the platform's first one.
    shapes : bool
        Whether the platform has token buckets like those of a link's `shaper`.
    accesses : bool
        Whether the platform can count the framing of an access line.
    pauses : mapping or None
        Levels of a lossless port that the platform has, each with the bytes of its steps; None without lines for PFC.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - see above
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def source(self) -> str: ...  # noqa: D102
    @property
    def quirks(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def disciplines(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def nearest(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def shapes(self) -> bool: ...  # noqa: D102
    @property
    def accesses(self) -> bool: ...  # noqa: D102
    @property
    def pauses(self) -> Mapping[str, int] | None: ...  # noqa: D102

    def fit(self, port: Port) -> Fitted:
        """The nearest port that the platform can express; raises `UnsupportedError` if there is none.

        It is called only for disciplines that the platform has.
        """
        ...

    def write(self, port: Port) -> list[str]:
        """The whole configuration of a fitted port."""
        ...

    def read(self, text: str, assumed: Assumed) -> Reading:
        """Read a configuration, a part of one, or a device's output; raises `InputError`."""
        ...


def refusal(platform: Platform, kind: str, where: str = "") -> UnsupportedError:
    """The error for a discipline that a platform lacks, or lacks within a class."""
    if where and kind in platform.disciplines:
        return UnsupportedError(f"{platform.name} does not support {kind} in {where}; allowed: it alone")
    nearest = platform.nearest.get(kind, next(iter(platform.disciplines)))
    there = platform.disciplines[nearest]
    called = nearest if there == nearest else f"{nearest} ({there})"
    known = [entry.name for entry in disciplines()]
    if kind != "classes" and kind not in known:
        return UnsupportedError(f"{platform.name} does not support {kind}")
    return UnsupportedError(f"{platform.name} has no {kind}; the closest is {called}")


def bands(name: str, port: Port, queue: Queue, *, most: int) -> tuple[Classes, tuple[str, ...]]:
    """The simulated `priority` as classes: one per band, of which the first is strictly before the others.

    The scenario's buffer is common to all bands; each class of a router has its own, of the same size.
    """
    count = round(queue.discipline.number("bands"))
    if not 2 <= count <= most:
        found = f"{count} band{'s' * (count != 1)}"
        raise UnsupportedError(f"{name} does not support priority with {found}; allowed: 2 to {most}")
    groups = [*port.groups, *[""] * count][: max(count, len(port.groups))]
    members = [tuple(name for name in groups[band : band + 1] if name) for band in range(count - 1)]
    members.append(tuple(name for name in groups[count - 1 :] if name))
    stated = Queue(queue.limit, Discipline("droptail"))
    classes = tuple(TrafficClass(f"band{band}", who, 1.0, stated) for band, who in enumerate(members))
    drops = "the last packet of the lowest band" if queue.discipline.word("drop") == "lowest" else "the arrival"
    note = (
        f"buffer: simulated {queue.limit} that {count} bands share, dropping {drops}, "
        f"configured {queue.limit} for each band"
    )
    return Classes("strict", classes), (note,)


#: Code points for classes to begin with: EF, AF41 to AF11, CS4 to CS1, and those between.
CODE_POINTS = (46, 34, 26, 18, 10, 32, 24, 16, 8, 36, 28, 20, 12, 38, 30)


def class_note(where: str, entry: TrafficClass, number: int, count: int) -> str:
    """A note on the traffic of a class; traffic without a filter goes into the last class."""
    who = ", ".join(entry.groups) or "what is left"
    if number == count - 1:
        return f"{where} ({entry.name}): {who}, every packet that no filter takes"
    return f"{where} ({entry.name}): {who}, by DSCP {CODE_POINTS[number]}, to be replaced by yours"


def round_up_to_packets(limit: Limit, packet: int) -> Limit:
    """A limit rounded up to whole packets, at least one."""
    return Limit(max(1, -int(-limit.in_packets(packet) // 1)), "packets")


def round_up_to_bytes(limit: Limit, packet: int, least: int = 1) -> Limit:
    """A limit rounded up to whole bytes."""
    return Limit(max(least, -int(-limit.in_bytes(packet) // 1)), "bytes")
