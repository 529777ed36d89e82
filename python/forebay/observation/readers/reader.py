"""The readers of `observe`: each has a name, a test that recognizes an input, what it yields, and how it reads.

The registry asks its readers in order and takes the first that recognizes the beginning of a file.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from forebay.observation.counter_files.readings import Readings
    from forebay.observation.flow_records.record_table import Reading

__all__ = ["Head", "Kind", "Reader", "Source", "Yields"]

#: Characters of a text in which keys of JSON are looked for.
_LOOKED_AT = 8192


class Kind(Enum):
    """Kinds of inputs, as a message calls them."""

    CAPTURE = "a capture"
    RECORDS = "flow records"
    COUNTERS = "counters"
    SOCKETS = "sockets"


class Yields(Enum):
    """What an input can tell, as the manual's table calls it."""

    PACKETS = "packets"
    COUNTERS = "counters over time"
    RATES = "rates over time"
    FLOWS = "flow records"
    SOCKETS = "sockets"
    SPEED = "interface speed"
    DROPS = "drops"
    QUEUE = "queue and its limit"


@dataclass(frozen=True)
class Head:
    """The beginning of an input, unpacked.

    Attributes
    ----------
    data : bytes
        At most 64 KiB.
    """

    data: bytes

    @cached_property
    def text(self) -> str:
        """As UTF-8, with a replacement character for each byte that is none."""
        return self.data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace")

    @cached_property
    def is_json(self) -> bool:
        """Whether it begins as an object or an array of JSON."""
        return self.text.lstrip().startswith(("{", "["))

    @cached_property
    def is_binary(self) -> bool:
        """Whether more than one character of a hundred is none of a text."""
        return self.text.count("\x00") + self.text.count("\ufffd") > len(self.text) / 100

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Lines that are not empty, without their ends."""
        return tuple(line.rstrip("\r") for line in self.text.split("\n") if line.strip())

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Cells of the first line that is no comment; of JSON, the names of its first objects."""
        if self.is_json:
            return self.keys
        first = next((line for line in self.lines if not line.startswith("#")), "")
        separator = max(",;\t|", key=first.count)
        try:
            return tuple(each.strip() for each in next(csv.reader([first], delimiter=separator), []))
        except csv.Error:
            return ()

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Names of the first objects of JSON, wherever in the text it begins."""
        return tuple(re.findall(r'"([^"\\]{1,60})"\s*:', self.text[:_LOOKED_AT]))

    def has(self, *names: str) -> bool:
        """Whether all these are among its columns or keys, without case."""
        known = {each.lower() for each in self.columns}
        return all(name.lower() in known for name in names)


@dataclass(frozen=True)
class Source:
    """A file of flow records that is being read.

    Attributes
    ----------
    path : Path
        Of the file.
    pieces : iterator of bytes
        Of what it holds, unpacked.
    """

    path: Path
    pieces: Iterator[bytes]

    @property
    def where(self) -> str:
        """The file, for errors."""
        return str(self.path)


Records = Callable[[Source, "Reading"], "Iterator[pl.DataFrame]"]
Counters = Callable[[str, str], "Readings"]


@dataclass(frozen=True)
class Reader:
    """One kind of input.

    Attributes
    ----------
    name : str
        As messages and the manual call it, such as "Zeek's conn.log".
    recognizes : callable
        Whether a beginning is of this kind.
    kind : Kind or None
        What becomes of it; None where it is known and not read.
    yields : tuple of Yields
        What it can tell.
    counters : callable or None
        Of a reader of counters: from the text and the name of the file to readings.
    records : callable or None
        Of a reader of flow records: from the source to typed tables.
    instead : str
        Where it is not read: the export to use.
    """

    name: str
    recognizes: Callable[[Head], bool]
    kind: Kind | None = None
    yields: tuple[Yields, ...] = ()
    counters: Counters | None = None
    records: Records | None = None
    instead: str = ""
