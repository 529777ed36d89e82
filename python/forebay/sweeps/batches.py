"""The finished cells of a sweep on a disk: lines of batches, each a file that is only appended to.

A file for each cell would cost more than a short cell: two syncs take 9 ms. A line is written as soon as its cell is
finished, so that a killed process loses none. Each process begins a new file, so that only the last line of a file can
be cut. If the machine itself stops, the loss is bounded, because a batch is synced about every second. A line is
accepted if its checksum is right and if it names the job. Of two lines of one job, the later one counts. A forger can
compute the checksum, so that `sweep --replay` of a bundle accepts no line.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, nullcontext, suppress
from io import FileIO
from pathlib import Path
from typing import Any

from forebay.storage import journal
from forebay.storage.files import sync, write_atomically
from forebay.storage.safe_io import DamagedError, content
from forebay.text.formatting import counted

__all__ = ["Batches", "refusal"]

#: Size at which a batch is closed, in bytes; that is some five thousand cells.
MOST_BYTES = 8 * 2**20
#: Time since the last sync after which a new line syncs the batch, in seconds.
SYNC_S = 1.0

#: Bits of a position in a file, in the place of a line.
PLACE_BITS = 32

ALLOWED = "cells as sweep wrote them"


def refusal(key: str, why: str) -> bytes:
    """The line of a job that an engine refused: no earlier line of its key counts."""
    return journal.line({"key": key, "refused": why})


class Batches:
    """The batches of a sweep's folder, NUMBER.jsonl each; a context that has written all to the disk when it ends.

    Parameters
    ----------
    folder : Path
        Existing folder of the batches.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: FileIO | None = None
        self._bytes = self._begun = 0
        #: Files by number: those that were read, and those that were written.
        self._files: list[Path] = []
        self._synced = 0.0

    def __enter__(self) -> Batches:
        return self

    def __exit__(self, _kind: object, error: object, _traceback: object) -> None:
        with nullcontext() if error is None else suppress(OSError):
            self.close()

    def read(self, accept: Callable[[Any, int], bool], tell: Callable[[Path, str], object]) -> None:
        """Read every line, in the order of writing.

        Parameters
        ----------
        accept : callable
            Called with the entry and the place of each line; returns whether the line is right.
        tell : callable
            Called with the path of each damaged file and with what was found in it; the damage is removed.
        """
        for path in self._paths():
            try:
                raw = content(path, ALLOWED)
                if not raw:
                    raise DamagedError(str(path), "an empty file", ALLOWED)
            except DamagedError as error:
                tell(path, error.found)
                _clear(path)
                continue
            believed: list[bytes] = []
            # Lines that are not accepted are removed, so that the next one takes their place.
            place = self._place_of(path)
            for line, entry in journal.entries(raw):
                if isinstance(entry, dict) and accept(entry, place):
                    believed.append(line)
                    place += len(line)
            wrong = raw.count(b"\n") + (not raw.endswith(b"\n")) - len(believed)
            if wrong:
                tell(path, f"{counted(wrong, 'line')} of {counted(wrong, 'cell')} not as written")
                write_atomically(path, b"".join(believed)) if believed else path.unlink()

    def texts(self, places: Iterable[int]) -> Iterator[bytes]:
        """The JSON texts of lines, given by their places; files are read from the disk again.

        Raises
        ------
        DamagedError
            If a line has changed since it was read or written.
        """
        with ExitStack() as stack:
            number, file = -1, None
            for place in places:
                if file is None or place >> PLACE_BITS != number:
                    stack.close()
                    number = place >> PLACE_BITS
                    file = stack.enter_context(self._files[number].open("rb"))
                file.seek(place & (1 << PLACE_BITS) - 1)
                text = journal.text(file.readline())
                if text is None:
                    raise DamagedError(str(self._files[number]), "a line that is not as written", ALLOWED)
                yield text

    def add(self, line: bytes) -> int:
        """Add a line; it is in the file when this returns. The result is the place of the line."""
        if self._file is None:
            self._begin()
        assert self._file is not None
        place = self._begun + self._bytes
        rest = memoryview(line)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._bytes += len(line)
        if self._bytes >= MOST_BYTES:
            self.close()
        elif time.monotonic() - self._synced >= SYNC_S:
            self._sync()
        return place

    def close(self) -> None:
        """Close the batch that is open; the next line begins another one."""
        if self._file is not None:
            with closing(self._file):
                self._sync()
            self._file = None

    def _begin(self) -> None:
        last = max((int(path.stem) for path in self._paths() if path.stem.isdecimal()), default=0)
        # Never one of before, which may end in half a line.
        path = self.folder / f"{last + 1:06d}.jsonl"
        self._file = FileIO(path, "x")
        self._begun = self._place_of(path)
        self._bytes, self._synced = 0, time.monotonic()
        sync(self.folder)

    def _sync(self) -> None:
        assert self._file is not None
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def _place_of(self, path: Path) -> int:
        """The place of the first line of a file: the number of the file, and the position in it."""
        self._files.append(path)
        return len(self._files) - 1 << PLACE_BITS

    def _paths(self) -> list[Path]:
        """The batches from the first to the last."""
        return sorted(self.folder.glob("*.jsonl"), key=lambda path: (len(path.name), path.name))


def _clear(path: Path) -> None:
    """Remove what has a batch's name and is no file; a directory with contents is renamed instead."""
    if path.is_symlink() or not path.is_dir():
        path.unlink()
        return
    with suppress(OSError):
        path.rmdir()
        return
    number = next(number for number in range(1, 10**6) if not path.with_name(f"{path.name}.{number}").exists())
    path.rename(path.with_name(f"{path.name}.{number}"))
