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
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext, suppress
from io import FileIO
from pathlib import Path
from typing import Any

from forebay.storage import journal
from forebay.storage.files import sync, write_atomically
from forebay.storage.safe_io import DamagedError, content
from forebay.sweeps.jobs import Job, Row
from forebay.text.formatting import counted

__all__ = ["Batches", "refusal"]

#: Size at which a batch is closed, in bytes; that is some five thousand cells.
MOST_BYTES = 8 * 2**20
#: Time since the last sync after which a new line syncs the batch, in seconds.
SYNC_S = 1.0

ALLOWED = "cells as sweep wrote them"


def refusal(job: Job, why: str) -> bytes:
    """The line of a job that an engine refused: no earlier one of it counts."""
    return journal.line({"key": job.key, "refused": why})


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
        self._bytes = 0
        self._synced = 0.0

    def __enter__(self) -> Batches:
        return self

    def __exit__(self, _kind: object, error: object, _traceback: object) -> None:
        with nullcontext() if error is None else suppress(OSError):
            self.close()

    def rows(self, jobs: Mapping[str, Job], tell: Callable[[Path, str], object]) -> dict[str, Row]:
        """The rows of jobs, by key.

        Parameters
        ----------
        jobs : mapping
            Jobs by key.
        tell : callable
            Called with the path of each damaged file and with what was found in it; the damage is removed.
        """
        found: dict[str, Row] = {}
        for path in self._paths():
            try:
                raw = content(path, ALLOWED)
                if not raw:
                    raise DamagedError(str(path), "an empty file", ALLOWED)
            except DamagedError as error:
                tell(path, error.found)
                _clear(path)
                continue
            believed = []
            for line, entry in journal.entries(raw):
                if isinstance(entry, dict) and _take(entry, jobs, found):
                    believed.append(line)
            wrong = raw.count(b"\n") + (not raw.endswith(b"\n")) - len(believed)
            if wrong:
                tell(path, f"{counted(wrong, 'line')} of {counted(wrong, 'cell')} not as written")
                write_atomically(path, b"".join(believed)) if believed else path.unlink()
        return found

    def add(self, line: bytes) -> None:
        """Add a line; it is in the file when this returns."""
        if self._file is None:
            self._begin()
        assert self._file is not None
        rest = memoryview(line)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._bytes += len(line)
        if self._bytes >= MOST_BYTES:
            self.close()
        elif time.monotonic() - self._synced >= SYNC_S:
            self._sync()

    def close(self) -> None:
        """Close the batch that is open; the next line begins another one."""
        if self._file is not None:
            with closing(self._file):
                self._sync()
            self._file = None

    def _begin(self) -> None:
        last = max((int(path.stem) for path in self._paths() if path.stem.isdecimal()), default=0)
        # Never one of before, which may end in half a line.
        self._file = FileIO(self.folder / f"{last + 1:06d}.jsonl", "x")
        self._bytes, self._synced = 0, time.monotonic()
        sync(self.folder)

    def _sync(self) -> None:
        assert self._file is not None
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def _paths(self) -> list[Path]:
        """The batches from the first to the last."""
        return sorted(self.folder.glob("*.jsonl"), key=lambda path: (len(path.name), path.name))


def _take(entry: Mapping[str, Any], jobs: Mapping[str, Job], found: dict[str, Row]) -> bool:
    """Record what a line reports of a job, if there is such a job; False if the line cannot be that job's."""
    job = jobs.get(str(entry.get("key")))
    if job is None:  # of a replication that this sweep does not have
        return True
    if "refused" in entry:
        found.pop(job.key, None)
        return True
    if job.is_of(entry):
        found[job.key] = entry
        return True
    return False


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
