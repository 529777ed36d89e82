"""The wording of a search for the numbers that it tries.

Searches take the words from their `Plan`, for notes and for the listener.
"""

from __future__ import annotations

from collections.abc import Iterable

from forebay.text.formatting import counted

__all__ = ["Words", "listed"]

#: Buffers that a sentence names at most.
NAMED = 6


def listed(words: Iterable[str]) -> str:
    """Some words, not too many of them."""
    every = list(words)
    return ", ".join(every[:NAMED]) + (", ..." if len(every) > NAMED else "")


class Words:
    """The wording of a search for the numbers that it tries: buffers in packets."""

    #: The noun for one of them.
    noun = "buffer"
    #: Its form in the values of a warning.
    key = "packets"

    def in_words(self, *buffers: int) -> str:
        """One or some of them as part of a sentence."""
        return f"{listed(map(str, buffers))} packet{'' if buffers == (1,) else 's'}"

    def counted(self, buffer: int) -> str:
        """One as progress shows it."""
        return counted(buffer, "packet")

    def between(self, one: int, other: int) -> str:
        """The range between two, in words."""
        return f"between {one:,} and {counted(other, 'packet')}"

    def value(self, buffer: int) -> float:
        """One as a number."""
        return buffer
