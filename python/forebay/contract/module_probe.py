"""A probe inside of a WebAssembly module: functions around its methods that show a window below one packet.

The engine uses one packet if a window is smaller, and a module has no output but its window. The probe makes such a
window negative, so the run ends with an error that has the number.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["probed_module", "small_window"]

#: The methods whose window the engine takes.
METHODS = ("on_ack", "on_sample", "on_congestion_event", "on_timeout", "on_idle")
EXCHANGE = "forebay_exchange"
#: Numbers of sections, and the kind of an export that is a function (WebAssembly 2.0, section 5.5).
IMPORTS, FUNCTIONS, EXPORTS, CODE = 2, 3, 7, 10
IS_FUNCTION = 0
#: The text with which the core refuses a negative window.
REFUSAL = re.compile(r"left the window (-[0-9.e+-]+)")


def probed_module(table: Mapping[str, Any]) -> dict[str, Any]:
    """A controller's table with the probe around the methods of the module.

    Parameters
    ----------
    table : mapping
        `wasm`, `source` and the parameters. The core has accepted the module.
    """
    module = base64.b64decode(table["source"])
    return {**table, "source": base64.b64encode(_probed(module)).decode("ascii")}


def small_window(error: str) -> float | None:
    """The window below one packet that a probe showed in an error; None for another error.

    A window that was negative without a probe is the fault of the module, and another error.
    """
    found = REFUSAL.search(error)
    window = -1.0 if found is None else -1.0 - float(found[1])
    return window if 0 <= window < 1 else None


def _probed(module: bytes) -> bytes:
    sections = list(_sections(module))
    by_number = dict(sections)
    # The core allows no imports but functions.
    imports = _Reader(by_number.get(IMPORTS, b"\0")).number()
    types = _Reader(by_number[FUNCTIONS])
    type_of = [types.number() for _ in range(types.number())]
    exports = _exports(by_number[EXPORTS])
    exchange = next(index for name, kind, index in exports if (name, kind) == (EXCHANGE, IS_FUNCTION))
    wrapped = {
        name: index for name, kind, index in exports if kind == IS_FUNCTION and name in METHODS and index >= imports
    }
    new = {name: imports + len(type_of) + number for number, name in enumerate(wrapped)}
    changed = {
        FUNCTIONS: _more(by_number[FUNCTIONS], [_number(type_of[index - imports]) for index in wrapped.values()]),
        EXPORTS: _number(len(exports))
        + b"".join(_export(name, kind, new.get(name, index)) for name, kind, index in exports),
        CODE: _more(by_number[CODE], [_wrapper(index, exchange) for index in wrapped.values()]),
    }
    parts = ((number, changed.get(number, content)) for number, content in sections)
    return module[:8] + b"".join(bytes([number]) + _number(len(content)) + content for number, content in parts)


def _wrapper(method: int, exchange: int) -> bytes:
    """A function that calls a method; a window x from 0 to below 1 then becomes -1 - x."""
    zero, one, minus_one = (b"\x44" + struct.pack("<d", value) for value in (0.0, 1.0, -1.0))
    body = b"".join(
        (
            b"\x02\x01\x7f\x01\x7c",  # local 1: the address of the exchange; local 2: the window
            b"\x20\x00\x10" + _number(method),  # call the method with its argument
            b"\x10" + _number(exchange) + b"\x22\x01\x2b\x03\x00\x22\x02",  # load the window
            zero + b"\x66\x20\x02" + one + b"\x63\x71",  # 0 <= window and window < 1
            b"\x04\x40\x20\x01" + minus_one + b"\x20\x02\xa1\x39\x03\x00\x0b",  # store -1 - window
            b"\x0b",
        )
    )
    return _number(len(body)) + body


def _sections(module: bytes) -> Iterator[tuple[int, bytes]]:
    """The number and the content of each section."""
    reader = _Reader(module, 8)
    while reader.at < len(module):
        number = reader.bytes(1)[0]
        yield number, reader.bytes(reader.number())


def _exports(section: bytes) -> list[tuple[str, int, int]]:
    """The name, the kind and the index of each export."""
    reader = _Reader(section)
    return [
        (reader.bytes(reader.number()).decode(), reader.bytes(1)[0], reader.number()) for _ in range(reader.number())
    ]


def _export(name: str, kind: int, index: int) -> bytes:
    text = name.encode()
    return _number(len(text)) + text + bytes([kind]) + _number(index)


def _more(section: bytes, entries: list[bytes]) -> bytes:
    """A section with further entries at its end."""
    reader = _Reader(section)
    count = reader.number()
    return _number(count + len(entries)) + section[reader.at :] + b"".join(entries)


def _number(value: int) -> bytes:
    """A whole number in LEB128 without sign."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


class _Reader:
    """Reads a part of a module from left to right."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def bytes(self, count: int) -> bytes:
        """The next bytes."""
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self) -> int:
        """The next whole number in LEB128 without sign."""
        found, shift = 0, 0
        while True:
            byte = self.bytes(1)[0]
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return found
