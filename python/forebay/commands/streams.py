"""What leaves the command as text: legible in every encoding, without control characters, and of bounded length."""

from __future__ import annotations

import codecs
import io
import os
import sys
import unicodedata

import click

from forebay.sanitize import legible, legible_lines

__all__ = ["open_streams", "remark", "say", "say_json", "say_lines"]

#: What stands for characters that an encoding lacks.
_SAID = {
    "≥": ">=", "≤": "<=", "±": "+-", "–": "-", "—": "-", "−": "-", "×": "x", "·": "*", "µ": "u", "μ": "u", "─": "-",
    "│": "|", "“": '"', "”": '"', "’": "'", "…": "...", "√": "sqrt", "→": "->", "━": "-", "\u00a0": " ", "\u202f": " ",
}  # fmt: skip


def say(line: str, *, err: bool = False) -> None:
    """Say a line on standard output, or on standard error."""
    click.echo(legible(line), err=err)


def say_lines(text: str) -> None:
    """Say whole lines, of which the last may lack its end, on standard output."""
    click.echo(legible_lines(text.removesuffix("\n")))


def say_json(text: str) -> None:
    """Say a JSON text of ASCII characters on standard output."""
    click.echo(text.replace("\x7f", "\\u007f"))


def remark(text: str) -> None:
    """Say a line on standard error."""
    click.echo(f"forebay: {legible(text)}", err=True)


def open_streams() -> None:
    """Let standard output and error say in their encoding what it lacks, instead of failing."""
    # Whoever closes a stream wants nothing of it.
    if sys.stdout is None or sys.stderr is None:
        nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - as long as the process
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
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
