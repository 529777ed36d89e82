"""Damages to a file, and the rules for a message about them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forebay import InputError
from tests.support.scenarios import SMALL

#: The small link for two seconds, and a sweep of it.
QUICK = SMALL.replace('measure = "30s"', 'measure = "2s"').replace('warmup  = "5s"', 'warmup = "1s"')
OVER = ["link.buffer=5p,20p"]

Damage = Callable[[Path], object]


def becomes(data: bytes) -> Damage:
    return lambda path: path.write_bytes(data)


def changed(change: Callable[[bytes], bytes]) -> Damage:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def is_instead(make: Callable[[Path], object]) -> Damage:
    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


#: Damages of any file.
DAMAGES: Mapping[str, Damage] = {
    "empty": becomes(b""),
    "white": becomes(b"\n \n"),
    "zeros": becomes(bytes(4096)),
    "cut": changed(lambda data: data[: len(data) // 2]),
    "first byte only": changed(lambda data: data[:1]),
    "flipped": changed(flipped),
    "not UTF-8": changed(lambda data: data[:-9] + b"\xff" + data[-9:]),
    "null": becomes(b"null\n"),
    "list": becomes(b"[]\n"),
    "table": becomes(b"{}\n"),
    "text": becomes(b'"text"\n'),
    "number": becomes(b"17\n"),
    "NaN": becomes(b'{"a": NaN}\n'),
    "infinite": becomes(b'{"a": 1e999}\n'),
    "long number": becomes(b"1" * 100_000),
    "deep": becomes(b"[" * 1_000_000),
    "deep tables": becomes(b'{"a":' * 1_000_000),
    "no end": becomes(b'"' + b'\\"' * 500_000),
    "escapes": becomes(b'{"\x1b[31m": "\\u001b[31m"}'),
    "twice": becomes(b'{"key": 1, "key": 2}'),
    "10 GB": lambda path: os.truncate(path, 10**10),
    "directory": is_instead(Path.mkdir),
    "full directory": is_instead(lambda path: (path / "x").mkdir(parents=True)),
    "pipe": is_instead(os.mkfifo),
    "device": is_instead(lambda path: path.symlink_to("/dev/zero")),
    "dangling": is_instead(lambda path: path.symlink_to("nowhere")),
    "circle": is_instead(lambda path: path.symlink_to(path.name)),
}
damages = pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)


def in_one_line(text: str, path: Path) -> bool:
    """Whether a message is one that a terminal shows: it names the file and echoes nothing wild."""
    return path.name in text and text.isprintable() and len(text) < 400 + len(str(path))


def refused(action: Callable[[], object], path: Path) -> None:
    with pytest.raises(InputError) as error:
        action()
    assert in_one_line(str(error.value), path), str(error.value)


def batch(folder: Path) -> Path:
    """The one batch of a sweep's folder."""
    (path,) = (folder / "cells").iterdir()
    return path
