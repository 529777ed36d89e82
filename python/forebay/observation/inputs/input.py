"""One input of `observe`: how a file of it is recognized, read, and made a finding.

The registry lists all inputs. `recognition` takes the first one that accepts the beginning of a file.
"""

from __future__ import annotations

import csv
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from forebay.errors import InputError
from forebay.observation.busy_hour import BUSY_HOUR, Window
from forebay.observation.estimate import IntervalEstimate, Unknown
from forebay.observation.finding import Finding
from forebay.observation.line_reader import Progress
from forebay.observation.load import Load, LoadSeries

__all__ = ["File", "Head", "Input", "InputReading", "Kind", "Options", "RefusedInput", "Yields"]

#: Characters of a text in which keys of JSON are looked for.
_LOOKED_AT = 8192


class Kind(Enum):
    """Kinds of inputs, as a message calls them. Inputs of one kind may be observed together."""

    CAPTURE = "a capture"
    RECORDS = "flow records"
    COUNTERS = "counters"
    SOCKETS = "sockets"


class Yields(Enum):
    """The kinds of data that an input can have, by their names in the manual's table."""

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
class Options:
    """Options of the user for all inputs.

    Attributes
    ----------
    rate_bps : float or None
        Rate of the link in bits per second.
    port : str or None
        The port that is meant: its name in counters, the number of its interface in flow records.
    sampling : int
        The sampling interval N: one packet in N was seen, unless flow records state it themselves.
    window : Window
        The described part of counters or flow records.
    progress : callable or None
        Function that receives the number of bytes read and their total.
    """

    rate_bps: float | None = None
    port: str | None = None
    sampling: int = 1
    window: Window = BUSY_HOUR
    progress: Progress | None = None


@dataclass(frozen=True)
class File:
    """A file and the input that accepts it."""

    path: Path
    input: Input[Any]


@dataclass(frozen=True)
class InputReading:
    """The base of what an input has read.

    Attributes
    ----------
    rate : IntervalEstimate or Unknown
        Rate of the link, in bit/s.
    load_series : LoadSeries or None
        Bytes over time; None if the input has no load over time.
    """

    rate: IntervalEstimate | Unknown
    load_series: LoadSeries | None


R = TypeVar("R", bound=InputReading)


@dataclass(frozen=True)
class Input(ABC, Generic[R]):
    """One input.

    Attributes
    ----------
    name : str
        As messages and the manual call it, such as "Zeek's conn.log".
    accepts : callable
        Whether the beginning of a file is of this input.
    yields : tuple of Yields
        The kinds of data that it can have.
    """

    kind: ClassVar[Kind]
    #: Options, beside the rate, that its kind reads.
    options: ClassVar[frozenset[str]] = frozenset()

    name: str
    accepts: Callable[[Head], bool]
    yields: tuple[Yields, ...]

    @abstractmethod
    def read(self, files: Sequence[File], options: Options) -> R:
        """Read files of its kind together, up to the rate of the link and the bytes over time.

        Raises
        ------
        InputError
            Names the file, what was found and what is allowed.
        """

    @abstractmethod
    def finding(self, reading: R, load: Load | None) -> Finding:
        """Make a finding of a reading and the load of its series."""


@dataclass(frozen=True)
class RefusedInput(Input[InputReading]):
    """An input that is known and not read.

    Attributes
    ----------
    instead : str
        The export to use.
    """

    instead: str

    def refusal(self, path: Path) -> InputError:
        """The error for a file of this input."""
        return InputError(f"{path}: found {self.name}, which is not read; {self.instead}")

    def read(self, files: Sequence[File], options: Options) -> InputReading:  # noqa: ARG002 - as of all inputs
        """Refuse the first file."""
        raise self.refusal(files[0].path)

    def finding(self, reading: InputReading, load: Load | None) -> Finding:  # noqa: ARG002 - as of all inputs
        """Nothing is read, so that there is no finding."""
        raise AssertionError("a refused input has no reading")
