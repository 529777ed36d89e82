"""Reads data that may be damaged or forged: files, JSON texts and archives of forebay's own.

All data is bounded in size and depth before it is parsed, and every fault is one `DamagedError`. Its text says what was
found. Of the content, only short names with their control characters escaped reach a message.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from forebay.errors import InputError
from forebay.sanitize import sanitize

__all__ = ["DamagedError", "Unpacked", "clean", "content", "document", "lines", "regular", "unpack", "unpacked"]

#: Largest size of a file and of one line, in bytes, and most levels of a JSON text, unless a caller sets others.
MOST_BYTES = 64 * 2**20
MOST_BYTES_OF_LINE = 16 * 2**20
MOST_LEVELS = 64
#: Largest size of an archive and of all of its members, and of its list of members, in bytes.
MOST_BYTES_OF_ARCHIVE = 2**30
MOST_BYTES_OF_DIRECTORY = 2**16
#: Bytes that are read at once if nothing is stored.
CHUNK = 2**20


class DamagedError(InputError):
    """A file of forebay's own that was damaged or changed.

    Parameters
    ----------
    where : str
        The file.
    found : str
        Fault of the file.
    allowed : str
        Expected content.
    """

    def __init__(self, where: str, found: str, allowed: str) -> None:
        super().__init__(f"{where}: found {found}; allowed: {allowed}")
        self.where, self.found, self.allowed = where, found, allowed

    def __reduce__(self) -> tuple[type[DamagedError], tuple[str, str, str]]:
        return type(self), (self.where, self.found, self.allowed)


def clean(name: object) -> str:
    """A name from a file in a form for messages: short, and without control characters."""
    text = str(name)
    return f"`{sanitize(text if len(text) <= 60 else f'{text[:57]}...')}`"


# Files -------------------------------------------------------------------------------------------------------------


def regular(path: Path, allowed: str) -> BufferedReader:
    """Open a regular file; refuse devices, pipes and directories.

    Raises
    ------
    DamagedError
        If there is none, or if it cannot be read.
    """
    try:
        # Opening a pipe would wait for its other end.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise DamagedError(str(path), "no such file", allowed) from None
    except OSError as error:
        raise DamagedError(str(path), f"an unreadable file ({error.strerror})", allowed) from None
    except ValueError:  # a null character
        raise DamagedError(str(path), "an invalid file name", allowed) from None
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise DamagedError(str(path), "a directory" if stat.S_ISDIR(mode) else "not a regular file", allowed)
    return os.fdopen(handle, "rb")


def content(path: Path, allowed: str, most: int = MOST_BYTES) -> bytes:
    """All bytes of a regular file that is not too large."""
    with regular(path, allowed) as file:
        found = b""
        size = os.fstat(file.fileno()).st_size
        try:
            if size <= most:
                found = file.read(most + 1)  # it may grow, and some files have no size
        except OSError as error:
            raise DamagedError(str(path), f"an unreadable file ({error.strerror})", allowed) from None
    if max(size, len(found)) > most:
        raise DamagedError(str(path), f"more than {most} bytes", allowed)
    return found


# JSON --------------------------------------------------------------------------------------------------------------


def document(raw: bytes, where: str, allowed: str) -> Any:
    """Parse a JSON text that every reader would parse alike.

    It has bounded levels, finite numbers, no key twice, and UTF-8.
    """
    if not raw.strip():
        raise DamagedError(where, "an empty file" if not raw else "only white space", allowed)
    try:
        text = raw.decode("utf-8")
        _check_levels(text)
        return json.loads(text, object_pairs_hook=_once, parse_constant=_constant, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise DamagedError(where, f"a byte that is not UTF-8 at {error.start}", allowed) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise DamagedError(where, f"no JSON ({error.msg.removesuffix(' at').lower()} at {place})", allowed) from None
    except _Refused as refused:
        raise DamagedError(where, str(refused), allowed) from None
    except (ValueError, RecursionError):  # an integer of thousands of digits
        raise DamagedError(where, "invalid JSON", allowed) from None


def lines(raw: bytes, where: str, allowed: str) -> list[Any]:
    """Parse every line of JSON texts."""
    found = []
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if not line and number > raw.count(b"\n"):
            break  # after the last line's end
        if len(line) > MOST_BYTES_OF_LINE:
            raise DamagedError(f"{where}, line {number}", f"more than {MOST_BYTES_OF_LINE} bytes", allowed)
        found.append(document(line, f"{where}, line {number}", allowed))
    return found


class _Refused(Exception):  # noqa: N818 - never leaves this file
    """A JSON text that Python would parse and that is refused."""


#: Pattern of strings, also of one that does not end, and of brackets. No match is tried twice, so that the time is
#: linear.
_MARKS = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)


def _check_levels(text: str) -> None:
    """Refuse too many brackets within each other before anything recurses into them."""
    if text.count("[") + text.count("{") <= MOST_LEVELS:
        return
    level = 0
    for mark in _MARKS.finditer(text):
        first = text[mark.start()]
        level += (first in "[{") - (first in "]}")
        if level > MOST_LEVELS:
            raise _Refused(f"more than {MOST_LEVELS} levels of brackets")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _Refused(f"the key {clean(twice)} twice")
    return found


def _constant(name: str) -> float:
    raise _Refused(f"the number {name}")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _Refused(f"the number {clean(digits)}")
    return number


# Archives ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The content of an archive.

    Attributes
    ----------
    files : mapping
        Bytes of the requested members.
    digests : mapping
        SHA-256 of every member.
    """

    files: Mapping[str, bytes]
    digests: Mapping[str, str]


def unpack(path: Path, members: Mapping[str, int], keep: frozenset[str], allowed: str) -> Unpacked:
    """Read a ZIP file that has only known members, stored or deflated, each within its size; nothing is extracted.

    Parameters
    ----------
    path : Path
        Path of the file.
    members : mapping
        Largest size of each allowed member, in bytes, by its name.
    keep : frozenset of str
        Members whose bytes are returned; the others give only their digests.
    allowed : str
        Expected content, for errors.
    """
    where = str(path)
    with regular(path, allowed) as file:
        try:
            _check_end(file, where, allowed)
            with zipfile.ZipFile(file) as archive:
                entries = archive.infolist()
                _check_entries(entries, members, where, allowed)
                files, digests = {}, {}
                for entry in entries:
                    data = _member(archive, entry, keep=entry.filename in keep)
                    digests[entry.filename] = data[0]
                    if entry.filename in keep:
                        files[entry.filename] = data[1]
        except DamagedError:
            raise
        except (
            zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, ValueError, OverflowError,
            struct.error, zlib.error,
        ) as error:  # fmt: skip
            raise DamagedError(where, f"no bundle ({_reason(error)})", allowed) from None
    return Unpacked(files, digests)


def unpacked(path: Path, member: str, target: Path, allowed: str) -> Path:
    """Write a member of an archive that `unpack` has read into a folder, in pieces; return its path."""
    found = target / Path(member).name
    try:
        with (
            regular(path, allowed) as file,
            zipfile.ZipFile(file) as archive,
            archive.open(member) as source,
            found.open("wb") as copy,
        ):
            shutil.copyfileobj(source, copy, CHUNK)
    except (zipfile.BadZipFile, EOFError, RuntimeError, KeyError, zlib.error) as error:  # it was changed meanwhile
        raise DamagedError(str(path), f"no bundle ({_reason(error)})", allowed) from None
    return found


def _check_end(file: BinaryIO, where: str, allowed: str) -> None:
    """Refuse a file without the end of a small ZIP file, before its list of members is read into memory."""
    size = file.seek(0, os.SEEK_END)
    if size > MOST_BYTES_OF_ARCHIVE:
        raise DamagedError(where, f"{size} bytes", f"{allowed}, of at most {MOST_BYTES_OF_ARCHIVE} bytes")
    file.seek(max(0, size - 42))
    tail = file.read(42)
    end = tail[-22:]
    # APPNOTE.TXT 4.3.16: signature, disks, entries, size and place of the list, length of a comment.
    if len(end) < 22 or end[:4] != b"PK\x05\x06" or end[-2:] != b"\0\0":
        raise DamagedError(where, "no bundle (it has no end of a ZIP file)", allowed)
    if tail[:4] == b"PK\x06\x07" or int.from_bytes(end[12:16], "little") > MOST_BYTES_OF_DIRECTORY:
        raise DamagedError(where, "no bundle (too long a list of members)", allowed)
    file.seek(0)


def _check_entries(entries: list[zipfile.ZipInfo], members: Mapping[str, int], where: str, allowed: str) -> None:
    """Refuse members by the archive's list of them."""
    seen = set()
    for entry in entries:
        name = clean(entry.filename)
        if entry.filename not in members:
            raise DamagedError(where, f"a member {name}", f"{allowed}: {', '.join(members)}")
        if entry.filename in seen:
            raise DamagedError(where, f"two members {name}", allowed)
        seen.add(entry.filename)
        if entry.flag_bits & 0x41:
            raise DamagedError(where, f"an encrypted {name}", allowed)
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DamagedError(where, f"{name} compressed by method {entry.compress_type}", allowed)
        most = members[entry.filename]
        if entry.file_size > most:
            raise DamagedError(where, f"{entry.file_size} bytes of {name}", f"at most {most}")


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, *, keep: bool) -> tuple[str, bytes]:
    """A member's digest, and its bytes if `keep`; never more than the archive's list states."""
    digest, parts = hashlib.sha256(), []
    with archive.open(entry) as file:
        while part := file.read(CHUNK):
            digest.update(part)
            if keep:
                parts.append(part)
    return digest.hexdigest(), b"".join(parts)


def _reason(error: Exception) -> str:
    text = " ".join(ascii(str(error))[1:-1].split())
    return text[:120] or type(error).__name__
