"""Handling of Ctrl-C: the command cleans up, prints one line and ends with its exit code, at every Ctrl-C."""

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

from forebay.errors import Interrupted
from forebay.interruption import EXIT_CODE, leave, untouched

__all__ = ["continued", "while_working"]

#: Time after the first Ctrl-C, in seconds, during which further ones are ignored. A later one ends the process at once.
PATIENCE_S = 2.0


@contextmanager
def while_working() -> Iterator[None]:
    """Let the first Ctrl-C raise `KeyboardInterrupt`, and ignore those that follow while it is handled.

    If `while_starting` began the process, an interruption ends the process here. Otherwise the old handler is restored.
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
        # The command has its answer. A later signal would discard it, so the process ignores the signal.
        signal.signal(signal.SIGINT, signal.SIG_IGN if whole_process else before)


@contextmanager
def continued(*, is_stored: bool) -> Iterator[None]:
    """Tell the user, when a command is interrupted, that the same command continues from the finished runs."""
    try:
        yield
    except KeyboardInterrupt:
        if not is_stored:
            raise
        raise Interrupted("interrupted; the same command continues from here") from None


def _end() -> NoReturn:
    """End the process with the exit code of an interruption.

    Everything is cleaned up by now. Python itself would send the process another SIGINT if the exception came through
    an `exec` (`exit_sigint` of CPython's main.c), and would wait for threads that still compute.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(EXIT_CODE)


def _unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """End the process also if Ctrl-C came during cleanup, where Python prints the exception and continues."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        leave(signal.SIGINT, None)
    sys.__unraisablehook__(unraisable)
