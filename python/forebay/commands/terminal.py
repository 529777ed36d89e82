"""What verbs print with, and how they tell that a file cannot be written."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.errors import InputError
from forebay.legible import legible_lines

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

__all__ = ["Bar", "afterwards", "progress_bar", "show", "width", "writing"]

#: Narrower than this nothing is legible.
NARROWEST = 40


def show(view: RenderableType) -> None:
    """Print a view without coloring its numbers."""
    from rich.console import Console
    from rich.segment import Segment, Segments

    class Piped(Console):
        """Rich would end the process with 1, which says that goals cannot be met."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    console = Piped(width=width())
    # Colors are set by now: what is left of a text is what it says.
    shown = (part if part.control else Segment(legible_lines(part.text), part.style) for part in console.render(view))
    console.print(Segments(shown), highlight=False, crop=False, end="")


def width() -> int:
    """How wide to print: as the terminal is; elsewhere as COLUMNS says, or 100."""
    if sys.stdout.isatty():
        return max(NARROWEST, shutil.get_terminal_size().columns)
    told = os.environ.get("COLUMNS", "")
    return max(NARROWEST, int(told)) if told.isdecimal() else 100


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn failures to write into one line."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename or target}: cannot be written: {error.strerror or error}") from None


@contextmanager
def afterwards(tell: Callable[[], object]) -> Iterator[None]:
    """Tell an answer after it was written; also where that fails, since it took long to find."""
    try:
        yield
    except InputError:
        tell()
        raise
    tell()


class Bar:
    """A bar that somebody watches: called with what is done and what is expected in all.

    Parameters
    ----------
    progress : Progress
        What draws it.
    what : str
        What is going on.
    """

    def __init__(self, progress: Progress, what: str) -> None:
        self._progress, self._task = progress, progress.add_task(what, total=None)

    def __call__(self, done: int, expected: int) -> None:
        """Move on."""
        self._progress.update(self._task, completed=done, total=expected)

    def say(self, what: str) -> None:
        """Say what is going on, or known by now."""
        self._progress.update(self._task, description=what)


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Bar | None]:
    """A bar on standard error with an estimate of what remains; nothing where nobody watches."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Bar(progress, what)
