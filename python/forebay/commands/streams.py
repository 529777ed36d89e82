"""What leaves the command as text: legible in every encoding, without control characters, and of bounded length."""

from __future__ import annotations

import codecs
import io
import re
import sys
import unicodedata

import click

__all__ = ["open_streams", "remark"]

#: Longer messages are cut in the middle.
LONGEST = 2000

#: Characters that move the cursor, color, ring, or turn the direction of what follows: C0, C1, bidi and line breaks.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")

#: What stands for characters that an encoding lacks.
_SAID = {
    "≥": ">=", "≤": "<=", "±": "+-", "–": "-", "—": "-", "−": "-", "×": "x", "·": "*", "µ": "u", "μ": "u", "─": "-",
    "│": "|", "“": '"', "”": '"', "’": "'", "…": "...", "√": "sqrt", "→": "->", "━": "-", "\u00a0": " ", "\u202f": " ",
}  # fmt: skip


def legible(text: str) -> str:
    """One line of bounded length in which no character does anything: controls are told by their numbers."""
    if len(text) > LONGEST:
        half = LONGEST // 2
        text = f"{text[:half]} ... ({len(text) - 2 * half} characters) ... {text[-half:]}"
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def remark(text: str) -> None:
    """Say a line on standard error."""
    click.echo(f"forebay: {legible(text)}", err=True)


def open_streams() -> None:
    """Let standard output and error say in their encoding what it lacks, instead of failing."""
    codecs.register_error("forebay", _say)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="forebay")


def _say(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(map(_plain, found)), error.end


def _plain(character: str) -> str:
    if character in _SAID:
        return _SAID[character]
    bare = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return bare or "?"
