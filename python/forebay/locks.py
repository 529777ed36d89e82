"""A folder that one process at a time works in, and what it says of who does.

The lock is one of the operating system on a file in the folder, and goes with the process however that ends; the file's
text only tells others whose it is.
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

__all__ = ["FILE", "alone_in"]

FILE = ".lock"
#: Of the text that is read of a lock's file.
MOST_BYTES = 200


@contextmanager
def alone_in(folder: Path, what: str) -> Iterator[None]:
    """Work alone in a folder that is there.

    Parameters
    ----------
    folder : Path
        Where the lock's file is made.
    what : str
        What works there, for others, as in "a sweep".

    Raises
    ------
    InputError
        Where another process works there: it says which.
    """
    path = folder / FILE
    handle = _taken(path, what)
    try:
        yield
    finally:
        if handle is not None:
            if sys.platform == "win32":  # no file is removed there that is open
                os.close(handle)
            with suppress(OSError):
                path.unlink(missing_ok=True)
            if sys.platform != "win32":
                os.close(handle)


def _taken(path: Path, what: str) -> int | None:
    """The open file of the lock; None where the file system has no locks: then whoever starts two is not told."""
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
        os.close(handle)  # whoever had it took it away between our opening and locking it
    os.ftruncate(handle, 0)
    # Behind the byte that Windows locks, which nobody else could read.
    os.pwrite(handle, _told(what), 0) if hasattr(os, "pwrite") else os.write(handle, b" " + _told(what))
    return handle


def _told(what: str) -> bytes:
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    return f"{what} (process {os.getpid()} on {socket.gethostname()}, since {since})\n".encode()


def _holder(handle: int) -> str:
    """Who has the lock, as its file says."""
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
