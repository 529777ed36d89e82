"""What verbs print with, and how they tell that a file cannot be written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["progress_bar", "show", "writing"]


def show(view: RenderableType) -> None:
    """Print a view without breaking numbers into colours."""
    console().print(view, highlight=False)


def console() -> Console:
    """Standard output; as wide as the tables where it is no terminal."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=int(os.environ.get("COLUMNS", "160")))


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn failures to write into one line."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename or target}: cannot be written: {error.strerror or error}") from None


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
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
        task = progress.add_task(what, total=None)

        def tell(done: int, expected: int) -> None:
            progress.update(task, completed=done, total=expected)

        yield tell
