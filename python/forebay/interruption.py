"""Ctrl-C of the command before it works: one line and its exit code.

This is the first that the command loads, and needs nothing that Python does not have at hand: whatever is imported
before it cannot be interrupted politely. The library never does this: elsewhere Ctrl-C is what Python makes of it.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` itself imports much more
import _thread
import os

__all__ = ["EXIT_CODE", "LINE", "leave", "untouched", "while_starting"]

EXIT_CODE = 130
LINE = "interrupted"

#: Taken by whoever ends the process first.
_leaving = _thread.allocate_lock()


def while_starting() -> None:
    """Let Ctrl-C end the process: so far there is nothing to tidy up, and imports swallow exceptions."""
    if untouched():
        signal.signal(signal.SIGINT, leave)


def untouched() -> bool:
    """Whether nobody has asked for something else: a shell that starts us in the background ignores the signal."""
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


def leave(_number: int, _frame: object) -> None:
    """End the process with one line."""
    # Further signals find the lock taken; who has it does not come back.
    if _leaving.acquire(False):
        try:
            os.write(2, f"forebay: {LINE}\n".encode())
        finally:
            os._exit(EXIT_CODE)
