"""Files of an inventory: which ones a folder has, and their content within bounds.

Links out of the folder and loops of links are not followed, archives are not opened, and no line is held that is
longer than a bound. A file that cannot be read is a `FileFault`, which becomes one rejected row.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from forebay.errors import InputError
from forebay.storage.safe_io import DamagedError, clean, content, document, regular

__all__ = ["ALLOWED", "MOST_BYTES", "FileFault", "SourceFile", "source_files"]

ALLOWED = "a file or a folder of inventories (CSV, Parquet, JSON, exports and configurations)"
#: Largest size of a table that is read line by line, and of any other file, in bytes.
MOST_BYTES_OF_TABLE = 2 * 2**30
MOST_BYTES = 128 * 2**20
#: Longest line of a table, in characters.
MOST_CHARACTERS = 16 * 2**20
#: Largest number of files, and most levels of folders.
MOST_FILES = 100_000
MOST_LEVELS = 32
#: Bytes from which the format is recognized.
HEAD = 2**18

#: Least number and share of bytes of zero or wrong characters by which a beginning is that of a binary file.
BINARY, BINARY_ZEROS, BINARY_CHARACTERS = 16, 0.01, 0.05

#: First bytes of formats that are never text, with their names.
_MAGIC = {
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"\x7fELF": "a program",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"SQLite format 3": "a database",
}


class FileFault(Exception):  # noqa: N818 - becomes a rejected row, not an error
    """A fault of a whole file, or of the file from a line on."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line


@dataclass(frozen=True)
class SourceFile:
    """A file of an inventory.

    Attributes
    ----------
    path : Path
        Path of the file.
    name : str
        Its name in answers: relative to the folder, or as given.
    """

    path: Path
    name: str

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the file."""
        try:
            with regular(self.path, ALLOWED) as file:
                return file.read(HEAD)
        except DamagedError as error:
            raise FileFault(f"found {error.found}; allowed: a readable file") from None
        except OSError as error:
            raise FileFault(f"found an unreadable file ({error.strerror}); allowed: a readable file") from None

    @property
    def encoding(self) -> str:
        """The encoding by the mark at the beginning; UTF-8 without one."""
        return "utf-16" if self.head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"

    @property
    def is_parquet(self) -> bool:
        """Whether the file begins as a Parquet file."""
        return self.head[:4] == b"PAR1"

    @cached_property
    def beginning(self) -> str:
        """The beginning of a text, by which its format is recognized.

        Raises
        ------
        FileFault
            If the file is empty or no text.
        """
        head = self.head
        if not head.strip(b"\xef\xbb\xbf \t\r\n"):
            raise FileFault("found an empty file; allowed: an inventory")
        magic = next((name for first, name in _MAGIC.items() if head.startswith(first)), None)
        if magic is not None:
            raise FileFault(f"found {magic}; allowed: a text or a Parquet file, unpacked")
        # One byte of zero in a row of a table rejects this row alone.
        zeros, first = head.count(b"\0"), head.lstrip().partition(b"\n")[0]
        if self.encoding != "utf-16" and (zeros > max(BINARY, len(head) * BINARY_ZEROS) or b"\0" in first):
            raise FileFault("found a binary file; allowed: a text or a Parquet file")
        text = head.decode(self.encoding, errors="replace")
        if text.count("\ufffd") > max(BINARY, len(text) * BINARY_CHARACTERS):
            raise FileFault("found a binary file; allowed: a text in UTF-8 or a Parquet file")
        return text.replace("\r\n", "\n")

    @cached_property
    def text(self) -> str:
        """The whole text, with line ends as one character; bytes that are not UTF-8 become U+FFFD."""
        try:
            raw = content(self.path, ALLOWED, MOST_BYTES)
        except DamagedError as error:
            allowed = f"a readable file of at most {MOST_BYTES} bytes, or CSV or JSON with an object a line"
            raise FileFault(f"found {error.found}; allowed: {allowed}") from None
        return raw.decode(self.encoding, errors="replace").replace("\r\n", "\n").replace("\r", "\n")

    @property
    def document(self) -> Any:
        """The content of a JSON file."""
        try:
            return document(self.text.encode(), self.name, "a JSON text")
        except DamagedError as error:
            raise FileFault(f"found {error.found}; allowed: a JSON text") from None

    def release(self) -> None:
        """Drop the content of the file from memory."""
        for name in ("head", "beginning", "text"):
            vars(self).pop(name, None)

    def lines(self) -> Iterator[str]:
        """The lines of a table with their ends, never the whole text at once.

        Raises
        ------
        FileFault
            If the file or a line is too long.
        """
        size = self.path.stat().st_size
        if size > MOST_BYTES_OF_TABLE:
            raise FileFault(f"found {size} bytes; allowed: at most {MOST_BYTES_OF_TABLE} in one file")
        try:
            with self.path.open(encoding=self.encoding, errors="replace", newline="") as file:
                number = 0
                while line := file.readline(MOST_CHARACTERS):
                    number += 1
                    if len(line) >= MOST_CHARACTERS:
                        raise FileFault(f"found a line of {MOST_CHARACTERS} characters or more; allowed: less", number)
                    yield line
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "no text"
            raise FileFault(f"found an unreadable file ({reason}); allowed: a readable file") from None


def source_files(path: Path) -> tuple[list[SourceFile], list[tuple[str, str]]]:
    """The files of an inventory in order of their names, and the names that are not read with the reason.

    Raises
    ------
    InputError
        If the path is no file and no folder, or the folder has no files.
    """
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "an invalid name"
        raise InputError(f"{clean(path)}: found {reason}; allowed: {ALLOWED}", "inventory") from None
    if not exists:
        raise InputError(f"{clean(path)}: found no such file; allowed: {ALLOWED}", "inventory")
    if not is_folder:
        return [SourceFile(path, str(path))], []
    found: list[SourceFile] = []
    skipped: list[tuple[str, str]] = []
    _walk(path, path, 0, found, skipped)
    if not found and not skipped:
        raise InputError(f"{clean(path)}: found an empty folder; allowed: {ALLOWED}", "inventory")
    return found, skipped


def _is_audit(folder: Path) -> bool:
    """Whether a folder has the results of an audit: they are no inventory."""
    return (folder / "summary.json").is_file() and (folder / "measurements").is_dir()


def _walk(root: Path, folder: Path, level: int, found: list[SourceFile], skipped: list[tuple[str, str]]) -> None:
    """Add the files of a folder and of the folders within; hidden ones are passed over."""
    if level > MOST_LEVELS:
        skipped.append((str(folder.relative_to(root)), f"found more than {MOST_LEVELS} levels of folders"))
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        skipped.append((str(folder.relative_to(root)), f"found an unreadable folder ({error.strerror})"))
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        name = os.path.relpath(entry.path, root)
        if len(found) >= MOST_FILES:
            raise InputError(f"{clean(root)}: found more than {MOST_FILES} files; allowed: fewer", "inventory")
        try:
            if entry.is_symlink() and not _stays_inside(root, Path(entry.path)):
                skipped.append((name, "found a link out of the folder or to a folder; allowed: a file"))
            elif entry.is_dir(follow_symlinks=False):
                if _is_audit(Path(entry.path)):
                    continue
                _walk(root, Path(entry.path), level + 1, found, skipped)
            elif entry.is_file():
                found.append(SourceFile(Path(entry.path), name))
            else:
                skipped.append((name, "found no regular file; allowed: a file"))
        except OSError as error:
            skipped.append((name, f"found an unreadable file ({error.strerror})"))


def _stays_inside(root: Path, link: Path) -> bool:
    """Whether a link leads to a file in the same folder tree; a loop of links leads nowhere."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return False
    return target.is_file() and target.is_relative_to(root.resolve())
