"""The kind of an input, by its first bytes and not by its name. The registry has all inputs.

`observing` asks it before a file is read.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forebay.errors import InputError
from forebay.observation.inputs.capture import MAGIC
from forebay.observation.inputs.input import File, Head, Input, RefusedInput
from forebay.observation.inputs.registry import INPUTS
from forebay.observation.line_reader import open_input
from forebay.sanitize import sanitize
from forebay.storage.safe_io import regular

__all__ = ["find_input", "find_inputs"]

#: Bytes that are looked at.
_HEAD = 64 * 1024
_ZSTD = b"\x28\xb5\x2f\xfd"
_ALLOWED = "a capture, flow records, counters or sockets"


def find_inputs(paths: Sequence[Path]) -> list[File]:
    """Find the input of each file; all are of one kind.

    Raises
    ------
    InputError
        If a file cannot be read or recognized, or is of another kind than the first.
    """
    files = [File(path, find_input(path)) for path in paths]
    kind = files[0].input.kind
    for each in files:
        if each.input.kind is not kind:
            raise InputError(
                f"{each.path}: found {each.input.kind.value} and {kind.value} ({paths[0]}); allowed: inputs of one kind"
            )
    return files


def find_input(path: Path) -> Input[Any]:
    """Find the input that accepts a file, by its first bytes.

    Raises
    ------
    InputError
        If the file cannot be read, is empty, is known and not read, or is nothing that is known.
    """
    head = Head(_head(path))
    if not head.data.strip():
        raise InputError(f"{path}: found nothing in it; allowed: {_ALLOWED}")
    found = next((each for each in INPUTS if each.accepts(head)), None)
    if isinstance(found, RefusedInput):
        raise found.refusal(path)
    if found is not None:
        return found
    if head.is_binary:
        raise InputError(
            f"{path}: found bytes that begin with {head.data[:4].hex()}; allowed: pcap, pcapng (also packed by gzip or "
            "zstd), nfcapd, csv, json or the output of `ss -tin`"
        )
    raise InputError(
        f"{path}: found text that begins with `{sanitize(head.text[:40].strip())}`; allowed: a capture, flow records, "
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
        raise InputError(f"{path}: found gzip that cannot be unpacked ({sanitize(str(error))})") from None
    except Exception as error:
        if type(error).__name__ != "ZstdError":  # derives from Exception alone, in a module that may be missing
            raise
        raise InputError(f"{path}: found zstd that cannot be unpacked ({sanitize(str(error))})") from None
