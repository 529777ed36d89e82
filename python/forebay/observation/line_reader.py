"""Opens input files: plain, gzip or zstd, streamed in blocks of whole lines with bounded size.

This module does not interpret the text. Every defect of the file itself raises an `InputError`.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, cast

from forebay import _core
from forebay.errors import InputError, UnreadableError
from forebay.extras import how_to_get
from forebay.observation.memory import check_memory, text_bytes
from forebay.storage.safe_io import regular
from forebay.text.formatting import size as size_of

__all__ = [
    "MOST_BYTES_OF_LINE",
    "Lines",
    "Progress",
    "open_input",
    "read_blocks",
    "read_text",
    "split_cells",
    "split_lines",
]

#: Called with the bytes read so far, and with the size of the input if it is known.
Progress = Callable[[int, int | None], object]

#: Bytes that are read at once, and that one line may have.
BLOCK = 8 * 2**20
MOST_BYTES_OF_LINE = 2**20
#: Bytes of a text that is held as a whole.
MOST_BYTES_OF_TEXT = 256 * 2**20

#: The most times by which an unpacked text may exceed its file, and the bytes below which this limit does not apply.
MOST_EXPANSION, FREE_EXPANSION = 400, 2**25

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Lines:
    """Whole lines of a file, one after another.

    Attributes
    ----------
    first : int
        Number of the first line, from 1.
    text : bytes
        The lines with their ends.
    cut : bool
        Whether the last of them has no end: the file may have been cut there.
    """

    first: int
    text: bytes
    cut: bool


@contextmanager
def open_input(path: Path, allowed: str) -> Iterator[BinaryIO]:
    """Open a regular file for reading, decompressed where its first bytes say gzip or zstd.

    Raises
    ------
    InputError
        Where there is none, it is empty, or what decompresses zstd is not installed.
    """
    with regular(path, allowed) as file:
        start = file.peek(4)[:4]
        if not start:
            raise InputError(f"{path}: found an empty file; allowed: {allowed}")
        if start.startswith(_GZIP):
            with gzip.open(file) as unpacked:
                yield cast("BinaryIO", _Bounded(cast("BinaryIO", unpacked), file, path))
        elif start == _ZSTD:
            with _zstd(file, path) as unpacked:
                yield cast("BinaryIO", _Bounded(unpacked, file, path))
        elif start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(f"{path}: found UTF-16; allowed: UTF-8, as `iconv -f utf-16 -t utf-8` writes it")
        else:
            yield file


class _Bounded:
    """The unpacked content of a packed file; reading raises an error if it is far longer than the file."""

    def __init__(self, unpacked: BinaryIO, packed: BinaryIO, path: Path) -> None:
        self._unpacked, self._packed, self._path, self._done = unpacked, packed, path, 0

    def read(self, size: int = -1) -> bytes:
        found = self._unpacked.read(size)
        self._done += len(found)
        if self._done > max(MOST_EXPANSION * self._packed.tell(), FREE_EXPANSION):
            raise InputError(
                f"{self._path}: found more than {size_of(self._done)} packed in {size_of(self._packed.tell())}; "
                f"allowed: {MOST_EXPANSION} times as much"
            )
        return found

    def fileno(self) -> int:
        """That of the packed file."""
        return self._packed.fileno()


def _zstd(file: BinaryIO, path: Path) -> BinaryIO:
    """Zstandard from the standard library (Python 3.14, PEP 784), or from its backport."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            module = import_module(name)
        except ImportError:
            continue
        return cast("BinaryIO", module.ZstdFile(file))
    raise UnreadableError(
        f"{path}: found zstd, which this Python cannot read; allowed: a file unpacked by `zstd -d`, "
        f"or `{how_to_get('zstd')}`"
    )


def read_blocks(file: BinaryIO, where: str, size: int = BLOCK) -> Iterator[bytes]:
    """The content of a file, in blocks of at most `size` bytes.

    Raises
    ------
    InputError
        If the compressed stream is damaged.
    """
    done = 0
    while True:
        try:
            block = file.read(size)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            # A damaged gzip is an `OSError` without a number.
            kind = InputError if getattr(error, "errno", None) is None else UnreadableError
            raise kind(f"{where}: {_damage(error, done)}; allowed: a whole file") from None
        except Exception as error:
            if type(error).__name__ != "ZstdError":  # derives from Exception alone, in a module that may be missing
                raise
            raise InputError(f"{where}: {_damage(error, done)}; allowed: a whole file") from None
        if not block:
            return
        done += len(block)
        check_memory(where, done)
        yield block


def _damage(error: Exception, done: int) -> str:
    reason = " ".join(str(error).split())[:80] or type(error).__name__
    return f"found unreadable data after its first {done} bytes ({reason})"


def split_lines(pieces: Iterator[bytes], where: str) -> Iterator[Lines]:
    """Blocks cut at ends of lines, without a mark of UTF-8 in front.

    Raises
    ------
    InputError
        Where a line is too long.
    """
    number, rest, fresh = 1, b"", True
    for piece in pieces:
        whole = rest + (piece.removeprefix(_MARK) if fresh else piece)
        fresh = False
        end = whole.rfind(b"\n") + 1
        rest = whole[end:]
        if len(rest) > MOST_BYTES_OF_LINE:
            line = number + whole.count(b"\n", 0, end)
            raise InputError(f"{where}, line {line}: found a line of more than {MOST_BYTES_OF_LINE} bytes; "
                             "allowed: a text in lines")  # fmt: skip
        if end:
            yield Lines(number, whole[:end], cut=False)
            number += whole.count(b"\n", 0, end)
    if rest:
        yield Lines(number, rest, cut=True)


def split_cells(line: str, separator: str) -> list[str]:
    """The fields of a line of a table; none where its quotes or ends make no sense."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []


def read_text(path: Path, allowed: str, most: int = MOST_BYTES_OF_TEXT) -> str:
    """A file's text as a whole; bytes that are no UTF-8 become replacement characters.

    Raises
    ------
    InputError
        Where it cannot be read or expands to more than `most` bytes.
    """
    parts, size, room = [], 0, text_bytes(most)
    remedy = f"; {_core.MORE_MEMORY}" if room < most else ""
    with open_input(path, allowed) as file:
        for block in read_blocks(file, str(path)):
            parts.append(block)
            size += len(block)
            if size > room:
                raise InputError(f"{path}: found more than {size_of(room)} of text; allowed: at most so much{remedy}")
    return b"".join(parts).removeprefix(_MARK).decode("utf-8", errors="replace")
