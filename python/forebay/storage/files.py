"""Files that exist completely or not at all, whatever happens during the writing."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from forebay.errors import InputError

__all__ = ["between", "check_file", "check_folder", "replacing", "sync", "within", "write_all", "write_atomically"]


def check_folder(path: Path, argument: str | None = None) -> None:
    """Refuse a directory that cannot be written into, or cannot be made, before any work is done for it.

    Raises
    ------
    InputError
        Names the obstacle; `argument` is the argument that gave the directory.
    """
    try:
        there = path
        while not os.path.lexists(there) and there != there.parent:
            there = there.parent
        if not there.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"`{there}` is not a directory")
        os.lstat(path) if there == path else _check_name(path, there)
        # Permissions, file systems and quotas refuse in many ways. This check writes, and leaves nothing.
        with tempfile.TemporaryFile(dir=there):
            pass
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(
            f"found `{path}` ({why}); allowed: a directory to write into, there or not yet", argument
        ) from None


def check_file(path: Path, argument: str | None = None) -> None:
    """Refuse a file that cannot be written, as `check_folder` does directories."""
    try:
        ordinary = not os.path.lexists(path) or path.is_file()
    except (OSError, ValueError):
        ordinary = True  # the check of the directory gives the reason
    if not ordinary:
        what = "a directory" if path.is_dir() else "not a regular file"
        raise InputError(f"found `{path}` ({what}); allowed: the name of a file to write", argument)
    check_folder(path.parent, argument)
    try:
        _check_name(path, path.parent)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"found `{path}` ({why}); allowed: the name of a file to write", argument) from None


def _check_name(path: Path, there: Path) -> None:
    """Let the system refuse names that are too long, or are none, below a directory that exists."""
    for part in path.relative_to(there).parts:
        # This name is as long as the one that is written first.
        with suppress(FileNotFoundError):
            os.lstat(there / f"{part}.{os.getpid()}.partial")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give another name to write to; at the end the file of that name is synced and replaces `path`.

    If nothing was written, nothing is replaced. If writing fails, nothing is left behind.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        if not partial.exists():
            return
        sync(partial)
        partial.replace(path)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(partial):
            error.filename = str(path)  # the name that the user gave
        raise
    sync(path.parent)


def write_atomically(path: Path, text: str | bytes) -> None:
    """Write a file; text as UTF-8."""
    with replacing(path) as partial:
        partial.write_bytes(text.encode() if isinstance(text, str) else text)


def write_all(files: Mapping[Path, str]) -> None:
    """Write several files and their folders, or none of them."""
    new: list[Path] = []  # in the order in which they are made
    try:
        with ExitStack() as stack:
            for path, text in files.items():
                folders = [path.parent, *path.parent.parents]
                new += [folder for folder in reversed(folders) if not os.path.lexists(folder)]
                path.parent.mkdir(parents=True, exist_ok=True)
                if not os.path.lexists(path):
                    new.append(path)
                stack.enter_context(replacing(path)).write_bytes(text.encode())
    except BaseException:
        for path in reversed(new):
            with suppress(OSError):
                path.unlink(missing_ok=True) if path.is_file() else path.rmdir()
        raise


def sync(path: Path) -> None:
    """Have a file, or the names in a directory, on the disk before going on."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def between(document: str, marks: tuple[str, str], found: str, where: str) -> str:
    """Return a document with `found` between two marks in place of the present text.

    Raises
    ------
    InputError
        If the document, called `where`, lacks a mark.
    """
    head, _, tail = _parted(document, marks, where)
    return f"{head}{marks[0]}\n\n{found}\n{marks[1]}{tail}"


def within(document: str, marks: tuple[str, str], where: str) -> str:
    """Return the text between two marks, as `between` put it there."""
    return _parted(document, marks, where)[1].removeprefix("\n\n").removesuffix("\n")


def _parted(document: str, marks: tuple[str, str], where: str) -> tuple[str, str, str]:
    """The parts before, between and after two marks."""
    begin, end = marks
    head, first, rest = document.partition(begin)
    found, last, tail = rest.partition(end)
    if not first or not last:
        raise InputError(f"{where}: found no `{begin}` and `{end}`; allowed: a document with both")
    return head, found, tail
