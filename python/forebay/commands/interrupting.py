"""Ctrl-C while the command works and while it ends: tidied up, one line, its exit code, however often it comes."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from forebay.interruption import EXIT_CODE, leave, untouched

__all__ = ["while_working"]

#: For so long after the first Ctrl-C further ones are only impatience; after that they end the command at once.
PATIENCE_S = 2.0


@contextmanager
def while_working() -> Iterator[None]:
    """Let the first Ctrl-C raise `KeyboardInterrupt`, and those that follow while that is handled do nothing.

    A process that `while_starting` began ends here when it is interrupted; elsewhere what was before is restored.
    """
    before = signal.getsignal(signal.SIGINT)
    whole_process = before is leave
    if threading.current_thread() is not threading.main_thread() or not (whole_process or untouched()):
        yield
        return
    first: float | None = None

    def answer(_number: int, _frame: FrameType | None) -> None:
        nonlocal first
        if first is None:
            first = time.monotonic()
            raise KeyboardInterrupt
        if time.monotonic() - first > PATIENCE_S:
            os._exit(EXIT_CODE)

    signal.signal(signal.SIGINT, answer)
    try:
        if whole_process:
            sys.unraisablehook = _unraisable
        yield
    except SystemExit as done:
        if whole_process and done.code == EXIT_CODE:
            _end()
        raise
    finally:
        # Whoever has answered needs no signal any more; one that comes now would undo the answer.
        signal.signal(signal.SIGINT, signal.SIG_IGN if whole_process else before)


def _end() -> NoReturn:
    """End the process with the exit code of an interruption.

    Everything is tidied up by now. Python itself would send the process another SIGINT where the exception came through
    an `exec` (`exit_sigint` of CPython's main.c), and would wait for threads that still compute.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(EXIT_CODE)


def _unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """End also where Ctrl-C came while something was tidied up, which Python tells and forgets."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        leave(signal.SIGINT, None)
    sys.__unraisablehook__(unraisable)
