"""The memory that an input may take: readers ask at every step, and an input that takes more is refused in one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from forebay import _core
from forebay.errors import InputError
from forebay.text.formatting import size

__all__ = ["DEFAULT_MEMORY", "check_memory", "limited_memory", "resident", "text_bytes"]

#: Bytes that reading may take where nothing else is said.
DEFAULT_MEMORY = 10**9
#: Bytes of memory that a byte of text takes at most while it is parsed as a whole.
_PER_TEXT = 8


@dataclass(frozen=True, slots=True)
class _Limit:
    """Bytes that the process may hold, and those of them that reading may take."""

    most: int
    allowed: int


_LIMIT: ContextVar[_Limit | None] = ContextVar("memory of an input", default=None)


@contextmanager
def limited_memory(allowed: int, held: int | None = None) -> Iterator[None]:
    """Limit the memory of the process, unless it has a lower limit already.

    Parameters
    ----------
    allowed : int
        Bytes.
    held : int, optional
        Bytes that do not count; by default what the process holds now.
    """
    limit, before = _Limit((resident() if held is None else held) + allowed, allowed), _LIMIT.get()
    token = _LIMIT.set(limit if before is None or limit.most < before.most else before)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def check_memory(where: str, done: int | None = None) -> None:
    """Refuse an input whose reading has taken more than it may.

    Parameters
    ----------
    where : str
        The input.
    done : int, optional
        Bytes of it that were read.

    Raises
    ------
    InputError
        Says what is allowed and what needs less.
    """
    limit = _LIMIT.get()
    if limit is None or resident() <= limit.most:
        return
    after = "" if done is None else f" after {size(done)} of it"
    raise InputError(
        f"{where}: reading it took more than {size(limit.allowed)} of memory{after}; allowed: {size(limit.allowed)} "
        f"({_core.MORE_MEMORY}; an input of less time or of fewer flows needs less)"
    )


def text_bytes(most: int) -> int:
    """The largest length of a text that is parsed as a whole: `most` bytes, or fewer if memory is limited."""
    limit = _LIMIT.get()
    return most if limit is None else min(most, max(limit.allowed // _PER_TEXT, 1))


def resident() -> int:
    """Bytes of memory that the process holds; where the system does not say, the most that it held."""
    try:
        with Path("/proc/self/statm").open("rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return _most_resident()


def _most_resident() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
