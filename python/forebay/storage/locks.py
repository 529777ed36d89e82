"""A folder in which one process at a time works, and the description of that process for others.

The lock is one of the operating system on a file in the folder, and ends with the process in every case. The file's
text only describes its holder.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from forebay.errors import InputError

__all__ = ["FILE", "exclusive_in"]

FILE = ".lock"
#: Largest number of bytes that are read of a lock's file.
MOST_BYTES = 200


@contextmanager
def exclusive_in(folder: Path, what: str) -> Iterator[None]:
    """Work alone in an existing folder.

    Parameters
    ----------
    folder : Path
        Folder in which the lock's file is made.
    what : str
        Description of the work for other processes, as in "a sweep".

    Raises
    ------
    InputError
        If another process works there; the text names it.
    """
    path = folder / FILE
    handle = _taken(path, what)
    try:
        yield
    finally:
        if handle is not None:
            if sys.platform == "win32":  # an open file cannot be removed there
                os.close(handle)
            with suppress(OSError):
                path.unlink(missing_ok=True)
            if sys.platform != "win32":
                os.close(handle)


def _taken(path: Path, what: str) -> int | None:
    """The open file of the lock; None without locks of the file system: two processes then do not notice each other."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        try:
            _lock(handle)
        except BlockingIOError:
            found = _holder(handle)
            os.close(handle)
            raise InputError(f"{path.parent}: found {found} at work in it; allowed: one at a time") from None
        except OSError:
            os.close(handle)
            return None
        if _same(handle, path):
            break
        os.close(handle)  # its holder removed it between our opening and locking it
    os.ftruncate(handle, 0)
    # The text begins after the byte that Windows locks, because other processes cannot read that byte.
    os.pwrite(handle, _owner_text(what), 0) if hasattr(os, "pwrite") else os.write(handle, b" " + _owner_text(what))
    return handle


def _owner_text(what: str) -> bytes:
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    return f"{what} (process {os.getpid()} on {socket.gethostname()}, since {since})\n".encode()


def _holder(handle: int) -> str:
    """The holder of the lock, from its file."""
    try:
        os.lseek(handle, 1 if sys.platform == "win32" else 0, os.SEEK_SET)
        text = os.read(handle, MOST_BYTES).decode("utf-8", errors="replace").strip()
    except OSError:
        text = ""
    return text if text and text.isprintable() else "another process"


def _same(handle: int, path: Path) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BlockingIOError from None
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
