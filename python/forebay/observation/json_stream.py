"""Streams of JSON objects with any separators: one object a line, or one array over many lines.

The text is never held as a whole; an object is bounded in size and in the depth of its brackets.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from forebay.errors import InputError

__all__ = ["read_objects"]

#: Characters that one object may have.
MOST_CHARACTERS = 2**20

_BETWEEN = re.compile(r"[\s,\[\]\x00]*")


def read_objects(pieces: Iterator[bytes], where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every object at the outermost level, with the number of the line where it begins.

    Parameters
    ----------
    pieces : iterator of bytes
        Content of the file, cut anywhere.
    where : str
        The file, for errors.

    Raises
    ------
    InputError
        If the file holds anything else. An object that is cut at the end of the file is neither returned nor an error.
    """
    decode = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    read = json.JSONDecoder(parse_constant=float).raw_decode
    rest, line, ended = "", 1, False
    while not ended:
        piece = next(pieces, b"")
        ended = not piece
        text = rest + decode.decode(piece, final=ended)
        at, counted = 0, 0
        while True:
            at = _next_start(text, at)
            line += text.count("\n", counted, at)
            counted = at
            if at == len(text):
                break
            if text[at] != "{":
                raise InputError(f"{where}, line {line}: found no JSON object; allowed: objects in lines or an array")
            try:
                found, end = read(text, at)
            except (ValueError, RecursionError) as error:
                if _may_go_on(error, len(text) - at, ended=ended):
                    break
                if ended and _is_cut(error, text):
                    return
                raise InputError(f"{where}, line {line}: found no JSON ({_reason(error)}); allowed: objects in lines "
                                 "or an array") from None  # fmt: skip
            yield line, found
            line += text.count("\n", at, end)
            at = counted = end
        rest = text[at:]


def _next_start(text: str, at: int) -> int:
    """The index at which the next object begins."""
    match = _BETWEEN.match(text, at)
    return at if match is None else match.end()


def _may_go_on(error: Exception, size: int, *, ended: bool) -> bool:
    """Whether what is no object yet may be one with what comes."""
    return not ended and size < MOST_CHARACTERS and not isinstance(error, RecursionError)


def _is_cut(error: Exception, text: str) -> bool:
    """Whether an object is wrong only because the text ends."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.pos >= len(text.rstrip()) - 1 or error.msg.startswith(("Unterminated string", "Invalid \\u"))


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at').lower()} at column {error.colno}"
    return "too many levels of brackets" if isinstance(error, RecursionError) else "a number that is too long"
