"""Printing on the terminal: views, progress bars, and errors on files that cannot be written."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.commands.streams import say
from forebay.errors import InputError
from forebay.sanitize import sanitize, sanitize_lines

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

    from forebay.engines import Pace

__all__ = ["Bar", "afterwards", "live_line", "progress_bar", "show", "width", "writing"]

#: Smallest width in columns at which text is readable.
NARROWEST = 40


def show(view: RenderableType, *, err: bool = False) -> None:
    """Print a view without coloring its numbers, on standard output or on standard error."""
    from rich.console import Console
    from rich.segment import Segment, Segments

    class Piped(Console):
        """A console that raises an error; Rich itself would end with 1, which means that goals cannot be met."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    console = Piped(width=width(err=err), stderr=err)
    # The colors are already segments here, so control characters in the remaining text are content.
    shown = (part if part.control else Segment(sanitize_lines(part.text), part.style) for part in console.render(view))
    console.print(Segments(shown), highlight=False, crop=False, end="")


def width(*, err: bool = False) -> int:
    """Width of the output in columns: the terminal's; without a terminal COLUMNS, or 100."""
    if (sys.stderr if err else sys.stdout).isatty():
        return max(NARROWEST, shutil.get_terminal_size().columns)
    columns = os.environ.get("COLUMNS", "")
    return max(NARROWEST, int(columns)) if columns.isdecimal() else 100


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn an error while writing into an `InputError` of one line."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename or target}: cannot be written: {error.strerror or error}") from None


@contextmanager
def afterwards(tell: Callable[[], object]) -> Iterator[None]:
    """Print an answer after its files are written, also if writing fails, because the answer took long to find."""
    try:
        yield
    except InputError:
        tell()
        raise
    tell()


class Bar:
    """A progress bar: it is called with the number of finished and of expected steps.

    Parameters
    ----------
    progress : Progress
        Rich's progress display, which draws the bar.
    what : str
        Description of the work.
    """

    def __init__(self, progress: Progress, what: str) -> None:
        self._progress, self._task = progress, progress.add_task(what, total=None)

    def __call__(self, done: int, expected: int) -> None:
        """Update the bar."""
        self._progress.update(self._task, completed=done, total=expected)

    def begin(self, what: str) -> None:
        """Begin another step: its time and its estimate are its own."""
        self._progress.reset(self._task, total=None, description=what)

    def say(self, what: str) -> None:
        """Replace the description by the current step or result."""
        self._progress.update(self._task, description=what)


class ClockBar(Bar):
    """A progress bar of runs in real time, which advances with the clock."""

    def __init__(self, progress: Progress, what: str, pace: Pace) -> None:
        super().__init__(progress, what)
        self._pace = pace

    def __call__(self, done: int, expected: int) -> None:
        """Update the bar."""
        self._pace.note(done, expected)
        super().__call__(done, expected)


@contextmanager
def live_line() -> Iterator[Callable[[str], object]]:
    """A line on standard error that each call replaces; without a terminal each call prints a new line."""
    if not sys.stderr.isatty():
        yield lambda text: say(text, err=True)
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), auto_refresh=False) as live:
        yield lambda text: live.update(Text(sanitize(text), no_wrap=True, overflow="ellipsis"), refresh=True)


@contextmanager
def progress_bar(
    what: str, *, quiet: bool, each_s: float | None = None, expected: int | None = None
) -> Iterator[Bar | None]:
    """A progress bar on standard error with the estimated remaining time; None without a terminal.

    Parameters
    ----------
    what : str
        Description of the work.
    quiet : bool
        Whether to show no bar.
    each_s : float, optional
        Duration of each run in seconds, for runs in real time: the bar then advances with the clock.
    expected : int, optional
        Expected number of runs, if known beforehand.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    if each_s is not None:
        with _clock_bar(what, each_s) as bar:
            bar(0, expected or 0)
            yield bar
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


@contextmanager
def _clock_bar(what: str, each_s: float) -> Iterator[ClockBar]:
    """A progress bar of runs in real time: the elapsed part of the known duration, and the rest."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    from forebay.engines import Pace
    from forebay.text.formatting import clock_time

    pace = Pace(each_s)

    class Passed(ProgressColumn):
        def render(self, task: Task) -> ProgressBar:  # noqa: ARG002 - the clock says it
            return ProgressBar(total=1.0, completed=pace.share, width=40)

    class Known(ProgressColumn):
        def render(self, task: Task) -> Text:  # noqa: ARG002
            passed = clock_time(int(pace.elapsed_s))
            if not pace.known_s:
                return Text(passed)
            return Text(f"{passed} of {clock_time(pace.known_s)}, left: {clock_time(math.ceil(pace.remaining_s))}")

    columns = (TextColumn("{task.description}"), Passed(), MofNCompleteColumn(), Known())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield ClockBar(progress, what, pace)
