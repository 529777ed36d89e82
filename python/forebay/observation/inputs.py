"""The kind of an input, by its first bytes and not by its name. The registry of readers knows each kind.

`observing` asks it before a file is read.
"""

from __future__ import annotations

import zlib
from pathlib import Path

from forebay.errors import InputError
from forebay.observation.line_reader import open_input
from forebay.observation.readers.captured import MAGIC
from forebay.observation.readers.reader import Head, Kind, Reader
from forebay.observation.readers.registry import reader_of
from forebay.sanitize import legible
from forebay.storage.safe_io import regular

__all__ = ["Kind", "kind_of", "known_reader", "one_kind"]

#: Bytes that are looked at.
_HEAD = 64 * 1024
_ZSTD = b"\x28\xb5\x2f\xfd"
_ALLOWED = "a capture, flow records, counters or sockets"


def one_kind(paths: list[Path]) -> Kind:
    """The kind that all these inputs are of.

    Raises
    ------
    InputError
        Where one cannot be read or told, or is of another kind than the first.
    """
    kinds = [kind_of(path) for path in paths]
    for path, kind in zip(paths, kinds, strict=True):
        if kind is not kinds[0]:
            raise InputError(
                f"{path}: found {kind.value} beside {kinds[0].value} ({paths[0]}); allowed: inputs of one kind"
            )
    return kinds[0]


def kind_of(path: Path) -> Kind:
    """What a file is, by its first bytes.

    Raises
    ------
    InputError
        Where it cannot be read, is empty, is known and not read, or is nothing that is known.
    """
    kind = known_reader(path).kind
    assert kind is not None, "what is known and not read is refused"
    return kind


def known_reader(path: Path) -> Reader:
    """The reader of a file; errors as of `kind_of`."""
    head = Head(_head(path))
    if not head.data.strip():
        raise InputError(f"{path}: found nothing in it; allowed: {_ALLOWED}")
    reader = reader_of(head)
    if reader is not None and reader.kind is None:
        raise InputError(f"{path}: found {reader.name}, which is not read; {reader.instead}")
    if reader is not None:
        return reader
    if head.is_binary:
        raise InputError(
            f"{path}: found bytes that begin with {head.data[:4].hex()}; allowed: pcap, pcapng (also packed by gzip or "
            "zstd), nfcapd, csv, json or the output of `ss -tin`"
        )
    raise InputError(
        f"{path}: found text that begins with `{legible(head.text[:40].strip())}`; allowed: a capture, flow records, "
        "counters or the output of `ss -tin`"
    )


def _head(path: Path) -> bytes:
    """The first bytes of a file, unpacked; those of a capture where this Python cannot unpack them."""
    if path.is_dir():
        raise InputError(f"{path}: found a directory; allowed: files, as in {path}/*")
    with regular(path, _ALLOWED) as file:
        packed = file.peek(4)[:4] == _ZSTD
    try:
        with open_input(path, _ALLOWED) as file:
            return file.read(_HEAD)
    except InputError:
        if not packed:
            raise
        # The reader of captures brings its own zstd.
        return next(iter(MAGIC))
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{path}: found gzip that cannot be unpacked ({legible(str(error))})") from None
    except Exception as error:
        if type(error).__name__ != "ZstdError":  # derives from Exception alone, in a module that may be missing
            raise
        raise InputError(f"{path}: found zstd that cannot be unpacked ({legible(str(error))})") from None
