"""What leaves the command as text: legible in every encoding, without control characters, and of bounded length."""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata

import click

from forebay.errors import LONGEST, legible

__all__ = ["LONGEST", "legible", "open_streams", "remark"]

#: What stands for characters that an encoding lacks.
_SAID = {
    "≥": ">=", "≤": "<=", "±": "+-", "–": "-", "—": "-", "−": "-", "×": "x", "·": "*", "µ": "u", "μ": "u", "─": "-",
    "│": "|", "“": '"', "”": '"', "’": "'", "…": "...", "√": "sqrt", "→": "->", "━": "-", "\u00a0": " ", "\u202f": " ",
}  # fmt: skip


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
