"""The listener of a running search: it receives progress, notes, and the interval of the answer so far.

Every stage of the search takes one `Listener`; the keywords `progress`, `tell` and `known` of the package become one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from forebay.scenario import Progress

__all__ = ["SILENT", "Callbacks", "Labeled", "Listener", "Silent"]


class Listener(Protocol):
    """The interface of an object that follows a search."""

    def on_progress(self, done: int, expected: int) -> None:
        """The number of finished runs, and the number expected in all."""

    def on_note(self, line: str) -> None:
        """A line on cached runs that were found, or on the time that a run takes."""

    def on_range(self, words: str) -> None:
        """The interval of the answer so far, as in "between 40 and 90 packets"."""


class Silent(Listener):
    """A listener that does nothing: the base of those that follow a part."""

    def on_progress(self, done: int, expected: int) -> None:
        """Ignore the progress."""

    def on_note(self, line: str) -> None:
        """Ignore a note."""

    def on_range(self, words: str) -> None:
        """Ignore the interval."""


#: The listener of a search that nothing follows.
SILENT = Silent()


@dataclass(frozen=True, slots=True)
class Callbacks(Silent):
    """The callables that a caller gave as keywords.

    Attributes
    ----------
    progress, tell, known : callable, optional
        Called with the progress, with each note, and with what is known.
    """

    progress: Progress | None = None
    tell: Callable[[str], object] | None = None
    known: Callable[[str], object] | None = None

    def on_progress(self, done: int, expected: int) -> None:
        """Call `progress`."""
        if self.progress is not None:
            self.progress(done, expected)

    def on_note(self, line: str) -> None:
        """Call `tell`."""
        if self.tell is not None:
            self.tell(line)

    def on_range(self, words: str) -> None:
        """Call `known`."""
        if self.known is not None:
            self.known(words)


@dataclass(frozen=True, slots=True)
class Labeled(Silent):
    """A listener to one of several searches; the label of the search precedes its interval.

    Attributes
    ----------
    listener : Listener
        The listener to all searches.
    label : str
        The label of this one.
    """

    listener: Listener
    label: str

    def on_progress(self, done: int, expected: int) -> None:
        """Pass the progress on."""
        self.listener.on_progress(done, expected)

    def on_note(self, line: str) -> None:
        """Pass a note on."""
        self.listener.on_note(line)

    def on_range(self, words: str) -> None:
        """Pass on the interval, after the label."""
        self.listener.on_range(f"{self.label}: {words}")
