"""The text output of the command: printable in every encoding, without control characters, and of bounded length."""

from __future__ import annotations

import codecs
import io
import os
import sys
import unicodedata

import click

from forebay.sanitize import sanitize, sanitize_lines

__all__ = ["open_streams", "print_note", "say", "say_json", "say_lines"]

#: Replacements for characters that an encoding lacks.
_SAID = {
    "≥": ">=", "≤": "<=", "±": "+-", "–": "-", "—": "-", "−": "-", "×": "x", "·": "*", "µ": "u", "μ": "u", "─": "-",
    "│": "|", "“": '"', "”": '"', "’": "'", "…": "...", "√": "sqrt", "→": "->", "━": "-", "\u00a0": " ", "\u202f": " ",
}  # fmt: skip


def say(line: str, *, err: bool = False) -> None:
    """Print a line on standard output, or on standard error."""
    click.echo(sanitize(line), err=err)


def say_lines(text: str) -> None:
    """Print whole lines on standard output; the last one may lack its line end."""
    click.echo(sanitize_lines(text.removesuffix("\n")))


def say_json(text: str) -> None:
    """Print a JSON text of ASCII characters on standard output."""
    click.echo(text.replace("\x7f", "\\u007f"))


def print_note(text: str) -> None:
    """Print a line on standard error."""
    click.echo(f"forebay: {sanitize(text)}", err=True)


def open_streams() -> None:
    """Let standard output and standard error replace characters that their encoding lacks, instead of failing."""
    # A closed stream discards its output.
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
    return "".join(map(_ascii_form, found)), error.end


def _ascii_form(character: str) -> str:
    if character in _SAID:
        return _SAID[character]
    bare = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return bare or "?"
