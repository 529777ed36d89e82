"""An importer: it recognizes a format by its content and writes the columns of `forebay.fleets.columns.RAW`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forebay.fleets.columns import RAW, empty_raw, frame_of
from forebay.fleets.files import SourceFile

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Collector", "Found", "Importer", "Rejection", "virtual_type"]

#: Types of interfaces without a queue of their own: number and name of IANAifType-MIB, and the names of NetBox.
_VIRTUAL = (
    ("24", "softwareLoopback"),
    ("53", "propVirtual", "virtual"),
    ("131", "tunnel"),
    ("135", "l2vlan"),
    ("136", "l3ipvlan"),
    ("161", "ieee8023adLag", "lag", "Link Aggregation Group (LAG)"),
    ("209", "bridge"),
)
_NAMES = {each.lower(): names[1] for names in _VIRTUAL for each in names}


def virtual_type(text: str) -> str | None:
    """The name in IANAifType-MIB of a type without a queue of its own; None for any other type."""
    return _NAMES.get(text.strip().lower())


@dataclass(frozen=True, slots=True)
class Rejection:
    """A row that cannot be used: its line, if there is one, and the reason."""

    line: int | None
    reason: str


@dataclass(slots=True)
class Found:
    """The content of one file.

    Attributes
    ----------
    frame : DataFrame
        Ports, with the columns of `RAW` and `line`.
    rejected : list of Rejection
        Rows that are no ports.
    notes : list of str
        Facts about the whole file, such as columns that are not read.
    """

    frame: pl.DataFrame
    rejected: list[Rejection] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Importer:
    """One format.

    Attributes
    ----------
    name : str
        Name of the format for messages and the manual.
    source : str
        Documents that the format follows.
    recognizes : callable
        Whether a file has this format; it reads no more than the beginning of the file.
    read : callable
        Reads the file; raises `FileFault` if the whole file cannot be used.
    """

    name: str
    source: str
    recognizes: Callable[[SourceFile], bool]
    read: Callable[[SourceFile], Found]


class Collector:
    """Ports that an importer adds one by one."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in (*RAW, "line")}
        self.rejected: list[Rejection] = []
        self.notes: list[str] = []

    def add(self, line: int | None, **values: str | None) -> None:
        """Add a port with these texts."""
        for name in RAW:
            self._columns[name].append(values.get(name))
        self._columns["line"].append(line)

    def reject(self, line: int | None, reason: str) -> None:
        """Add a row that is no port."""
        self.rejected.append(Rejection(line, reason))

    @property
    def found(self) -> Found:
        """The content of the file."""
        frame = frame_of(self._columns) if self._columns["line"] else empty_raw()
        return Found(frame, self.rejected, self.notes)
