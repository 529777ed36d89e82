"""Ctrl-C of the command before it works: one line and its exit code.

The command loads this module first. The module imports only what Python has loaded already, because Ctrl-C during
earlier imports would not end the command with one line. The library never changes the handling of Ctrl-C.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` itself imports much more
import _thread
import os

__all__ = ["EXIT_CODE", "LINE", "leave", "untouched", "while_starting"]

EXIT_CODE = 130
LINE = "interrupted"

#: Lock for the end of the process; the first to take it ends the process.
_leaving = _thread.allocate_lock()


def while_starting() -> None:
    """Let Ctrl-C end the process: there is nothing to clean up yet, and imports swallow exceptions."""
    if untouched():
        signal.signal(signal.SIGINT, leave)


def untouched() -> bool:
    """Whether the signal still has Python's own handler. A shell that starts us in the background ignores it."""
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


def leave(_number: int, _frame: object) -> None:
    """End the process with one line."""
    # Further signals find the lock taken; its holder does not return.
    if _leaving.acquire(False):
        try:
            os.write(2, f"forebay: {LINE}\n".encode())
        finally:
            os._exit(EXIT_CODE)
