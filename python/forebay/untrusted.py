"""Reads back what somebody may have damaged or forged: files, JSON texts and archives of forebay's own come in here.

Whatever is read is bounded in size and depth before it is taken apart, and what is wrong is one `DamagedError`. It says
what was found; nothing of the content reaches a message but short names with their control characters escaped.
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
from forebay.legible import legible

__all__ = ["DamagedError", "Unpacked", "content", "document", "lines", "regular", "shown", "unpack", "unpacked"]

#: Bytes of a file and of one line, and levels of a JSON text, unless a caller says otherwise.
MOST_BYTES = 64 * 2**20
MOST_BYTES_OF_LINE = 16 * 2**20
MOST_LEVELS = 64
#: Bytes that an archive and all of its members may have, and its list of members.
MOST_BYTES_OF_ARCHIVE = 2**30
MOST_BYTES_OF_DIRECTORY = 2**16
#: Bytes that are read at once where nothing is kept.
CHUNK = 2**20


class DamagedError(InputError):
    """A file of forebay's own that is not as it was written.

    Parameters
    ----------
    where : str
        The file.
    found : str
        What is wrong with it.
    allowed : str
        What it should be.
    """

    def __init__(self, where: str, found: str, allowed: str) -> None:
        super().__init__(f"{where}: found {found}; allowed: {allowed}")
        self.where, self.found, self.allowed = where, found, allowed

    def __reduce__(self) -> tuple[type[DamagedError], tuple[str, str, str]]:
        return type(self), (self.where, self.found, self.allowed)


def shown(name: object) -> str:
    """A name out of a file as a message may show it: short, and without control characters."""
    text = str(name)
    return f"`{legible(text if len(text) <= 60 else f'{text[:57]}...')}`"


# Files -------------------------------------------------------------------------------------------------------------


def regular(path: Path, allowed: str) -> BufferedReader:
    """Open a regular file; devices, pipes and directories are none.

    Raises
    ------
    DamagedError
        Where there is none, or it cannot be read.
    """
    try:
        # Opening a pipe would wait for its other end.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise DamagedError(str(path), "no such file", allowed) from None
    except OSError as error:
        raise DamagedError(str(path), f"what cannot be read ({error.strerror})", allowed) from None
    except ValueError:  # a null character
        raise DamagedError(str(path), "what no file can be called", allowed) from None
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise DamagedError(str(path), "a directory" if stat.S_ISDIR(mode) else "no regular file", allowed)
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
            raise DamagedError(str(path), f"what cannot be read ({error.strerror})", allowed) from None
    if max(size, len(found)) > most:
        raise DamagedError(str(path), f"more than {most} bytes", allowed)
    return found


# JSON --------------------------------------------------------------------------------------------------------------


def document(raw: bytes, where: str, allowed: str) -> Any:
    """What a JSON text says, of which every reader would say the same.

    Bounded levels, finite numbers, no key twice, UTF-8.
    """
    if not raw.strip():
        raise DamagedError(where, "an empty file" if not raw else "nothing but white space", allowed)
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
        raise DamagedError(where, "no JSON that can be read", allowed) from None


def lines(raw: bytes, where: str, allowed: str) -> list[Any]:
    """What every line of JSON texts says."""
    found = []
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if not line and number > raw.count(b"\n"):
            break  # behind the last line's end
        if len(line) > MOST_BYTES_OF_LINE:
            raise DamagedError(f"{where}, line {number}", f"more than {MOST_BYTES_OF_LINE} bytes", allowed)
        found.append(document(line, f"{where}, line {number}", allowed))
    return found


class _Refused(Exception):  # noqa: N818 - never leaves this file
    """A JSON text that Python would read and that is refused."""


#: Strings, also one that does not end, and brackets. No way of matching is tried twice: the time is linear.
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
        raise _Refused(f"the key {shown(twice)} twice")
    return found


def _constant(name: str) -> float:
    raise _Refused(f"the number {name}")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _Refused(f"the number {shown(digits)}")
    return number


# Archives ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What an archive holds.

    Attributes
    ----------
    kept : mapping
        Bytes of the members that were asked for.
    digests : mapping
        SHA-256 of every member.
    """

    kept: Mapping[str, bytes]
    digests: Mapping[str, str]


def unpack(path: Path, members: Mapping[str, int], keep: frozenset[str], allowed: str) -> Unpacked:
    """Read a ZIP file that has only known members, stored or deflated, each within its size; nothing is extracted.

    Parameters
    ----------
    path : Path
        Of the file.
    members : mapping
        Most bytes of each member that there may be, by its name.
    keep : frozenset of str
        Members whose bytes are wanted; of the others only the digest is.
    allowed : str
        For errors.
    """
    where = str(path)
    with regular(path, allowed) as file:
        try:
            _check_end(file, where, allowed)
            with zipfile.ZipFile(file) as archive:
                entries = archive.infolist()
                _check_entries(entries, members, where, allowed)
                kept, digests = {}, {}
                for entry in entries:
                    data = _member(archive, entry, keep=entry.filename in keep)
                    digests[entry.filename] = data[0]
                    if entry.filename in keep:
                        kept[entry.filename] = data[1]
        except DamagedError:
            raise
        except (
            zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, ValueError, OverflowError,
            struct.error, zlib.error,
        ) as error:  # fmt: skip
            raise DamagedError(where, f"no bundle ({_reason(error)})", allowed) from None
    return Unpacked(kept, digests)


def unpacked(path: Path, member: str, target: Path, allowed: str) -> Path:
    """Write a member of an archive that `unpack` has read into a folder, in pieces; returns where it is."""
    found = target / Path(member).name
    try:
        with (
            regular(path, allowed) as file,
            zipfile.ZipFile(file) as archive,
            archive.open(member) as source,
            found.open("wb") as copy,
        ):
            shutil.copyfileobj(source, copy, CHUNK)
    except (zipfile.BadZipFile, EOFError, RuntimeError, KeyError, zlib.error) as error:  # somebody changed it meanwhile
        raise DamagedError(str(path), f"no bundle ({_reason(error)})", allowed) from None
    return found


def _check_end(file: BinaryIO, where: str, allowed: str) -> None:
    """Refuse what does not end as a small ZIP file does, before its list of members is read into memory."""
    size = file.seek(0, os.SEEK_END)
    if size > MOST_BYTES_OF_ARCHIVE:
        raise DamagedError(where, f"{size} bytes", f"{allowed}, of at most {MOST_BYTES_OF_ARCHIVE} bytes")
    file.seek(max(0, size - 42))
    tail = file.read(42)
    end = tail[-22:]
    # APPNOTE.TXT 4.3.16: signature, disks, entries, size and place of the list, length of a comment.
    if len(end) < 22 or end[:4] != b"PK\x05\x06" or end[-2:] != b"\0\0":
        raise DamagedError(where, "no bundle (it does not end as a ZIP file does)", allowed)
    if tail[:4] == b"PK\x06\x07" or int.from_bytes(end[12:16], "little") > MOST_BYTES_OF_DIRECTORY:
        raise DamagedError(where, "no bundle (too long a list of members)", allowed)
    file.seek(0)


def _check_entries(entries: list[zipfile.ZipInfo], members: Mapping[str, int], where: str, allowed: str) -> None:
    """Refuse members by what the archive's list says of them."""
    seen = set()
    for entry in entries:
        name = shown(entry.filename)
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
    """A member's digest, and its bytes where they are kept; never more than the archive's list says."""
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
