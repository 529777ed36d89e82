"""Finished replications on disk, so that an interrupted search goes on where it stopped.

Each search of a scenario has a file with a line for each replication, added as soon as it is done: whatever ends the
process, what is complete stays. A line carries its own checksum; what is damaged, or not of this search or not of this
build of forebay, is ignored. The file goes away when the answer is there.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import time
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.errors import ForebayError, Interrupted, UntrustedError
from forebay.results.report import Report
from forebay.search.listener import SILENT, Listener
from forebay.storage import build, journal

__all__ = ["Resumption", "StoredReplications", "cache_directory"]

#: Limits of the stored replications of interrupted searches: bytes of one search and of all, and their age.
MOST_BYTES_OF_ONE = 256 * 2**20
MOST_BYTES = 2**30
MOST_SECONDS = 30 * 86_400.0

Pair = tuple[int, int]


def cache_directory() -> Path:
    """The cache directory of the user's platform."""
    home = os.environ.get("XDG_CACHE_HOME")
    if home and Path(home).is_absolute():  # a relative one is to be ignored, says the XDG specification
        return Path(home) / "forebay"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "forebay"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "forebay" / "Cache"
    return Path.home() / ".cache" / "forebay"


class Resumption:
    """The stored replications that one call of `recommend` continues from, and leaves if it is interrupted.

    A context: what is kept goes when the answer is there, or when there is none because the question is wrong.

    Parameters
    ----------
    directory : Path
        Where the files are; made when something is to be written.
    listener : Listener
        Called with a line about the stored replications.
    quick : bool
        Whether the call is a quick look. A quick look does not finish the search that was interrupted, so the
        replications that it finds stay for that search.
    """

    def __init__(self, directory: Path, listener: Listener = SILENT, *, quick: bool = False) -> None:
        self._directory, self._listener, self._quick = directory, listener, quick
        self._opened: list[StoredReplications] = []
        self._unfinished = False
        _tidy(directory)

    def of(self, scenario: _core.Scenario, engine: str, varied: str) -> StoredReplications:
        """The replications of a scenario with one buffer varied that an interrupted search left, and those to come."""
        stored = StoredReplications(self._directory, scenario, engine, varied)
        self._opened.append(stored)
        if stored.damaged:
            lines = "1 line" if stored.damaged == 1 else f"{stored.damaged} lines"
            self._listener.on_note(f"ignored {lines} of {stored.path} that cannot be read")
        if stored.count:
            done = "1 replication" if stored.count == 1 else f"{stored.count} replications"
            self._listener.on_note(f"resuming with {done} of an earlier command")
        return stored

    def unfinished(self) -> None:
        """Note that there is more to do, so that the stored replications stay for the next call."""
        self._unfinished = True

    def __enter__(self) -> Resumption:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        # A run in real time that is not believed says nothing of the question: it may be believed next time.
        on = isinstance(error, Interrupted | UntrustedError)
        over = error is None or (isinstance(error, ForebayError) and not on)
        for stored in self._opened:
            if over and not self._unfinished and not (self._quick and stored.count):
                stored.remove()
            else:
                stored.close()


class StoredReplications:
    """The cached replications of one search.

    Parameters
    ----------
    directory : Path
        Directory of its file.
    scenario : forebay._core.Scenario
        The simulated scenario. Its own buffer does not affect the cached replications, but is part of the name.
    engine : str
        The engine that simulates it.
    varied : str
        The key of the varied buffer.
    """

    def __init__(self, directory: Path, scenario: _core.Scenario, engine: str, varied: str) -> None:
        self._search = {
            "scenario_sha256": scenario.sha256,
            "engine": engine,
            "build": build.fingerprint(),
            "seed": scenario.seed,
            "varied": varied,
        }
        name = hashlib.sha256(json.dumps(self._search).encode()).hexdigest()
        self.path = directory / f"{name[:32]}.jsonl"
        self._texts: dict[Pair, str] = {}
        self.damaged = 0
        self._file: FileIO | None = None
        #: Whether another process is at it: then it is not interrupted, and its file is left alone.
        self._busy = False
        self._open(0)
        self._bytes = 0 if self._file is None else self._read(self._file)

    @property
    def count(self) -> int:
        """Replications that an interrupted search left."""
        return len(self._texts)

    def take(self, pair: Pair, scenario_sha256: str) -> Report | None:
        """A kept replication by buffer and number, if it is one of the scenario with this digest."""
        text = self._texts.get(pair)
        restored = None if text is None else _core.Report.from_cached(text)
        if restored is None:
            return None
        data = json.loads(restored.json())
        same = data["scenario_sha256"] == scenario_sha256 and data["engine"] == self._search["engine"]
        return Report(restored) if same else None

    def add(self, pair: Pair, report: Report) -> None:
        """Keep a replication. A disk that is full, or not to be written, costs the resumption and nothing else."""
        if self._bytes > MOST_BYTES_OF_ONE or self._busy:
            return
        lines: list[dict[str, Any]] = [] if self._bytes else [{"search": self._search}]
        lines.append({"buffer": pair[0], "replication": pair[1], "kept": report.core.to_cached()})
        text = b"".join(map(journal.line, lines))
        with suppress(OSError):
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._open(os.O_CREAT)
            if self._file is not None:
                self._bytes += self._file.write(text) or 0

    def close(self) -> None:
        """Leave the file for the next call."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        """Remove the file."""
        if self._file is not None:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
        self.close()

    def _open(self, flags: int) -> None:
        """Take the file, unless it is not there or another process has it."""
        try:
            flags |= getattr(os, "O_NOFOLLOW", 0)  # a damaged end is cut off, but never of a user's own file
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | flags, 0o600)
        except OSError:
            return
        file = FileIO(handle, "r+")
        self._busy = not _taken(file)
        if self._busy:
            file.close()
        else:
            self._file = file

    def _read(self, file: FileIO) -> int:
        """Read what is there; return the bytes of it that a new line may follow."""
        raw = _content(file)
        whole = journal.complete(raw)  # a line that was being written is none
        entries = [entry for _, entry in journal.entries(whole)]
        header = next((entry for entry in entries if isinstance(entry, dict)), None)
        if header != {"search": self._search}:
            self.damaged = len(entries)
            whole = b""
        else:
            for entry in entries:
                match entry:
                    case {"buffer": int(buffer), "replication": int(replication), "kept": str(text)}:
                        self._texts[buffer, replication] = text
                    case _:
                        self.damaged += entry is not header
        if len(whole) < os.fstat(file.fileno()).st_size:
            with suppress(OSError):
                file.truncate(len(whole))
        return len(whole)


def _taken(file: FileIO) -> bool:
    """Take a file for this process until it is closed or the process ends; False where another one has it."""
    try:
        import fcntl
    except ImportError:  # Windows: two searches at once only keep each replication twice
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _content(file: FileIO) -> bytes:
    """The content of a regular file that is no larger than this module writes; otherwise nothing."""
    state = os.fstat(file.fileno())
    if not stat.S_ISREG(state.st_mode) or state.st_size > 2 * MOST_BYTES_OF_ONE:
        return b""
    return file.readall() or b""


def _tidy(directory: Path) -> None:
    """Remove files that are too old, and the oldest where all together are too large."""
    found = []
    for path in directory.glob("*.jsonl"):
        with suppress(OSError):
            state = path.stat()
            found.append((state.st_mtime, state.st_size, path))
    left = 0
    for changed, size, path in sorted(found, key=lambda each: each[0], reverse=True):
        left += size
        if left > MOST_BYTES or time.time() - changed > MOST_SECONDS:
            with suppress(OSError):
                path.unlink(missing_ok=True)
