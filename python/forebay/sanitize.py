"""Texts of others as they may be shown: no character does anything, in a terminal, a picture, a page or a message."""

from __future__ import annotations

import re

__all__ = ["LONGEST", "control", "sanitize", "sanitize_lines"]

#: Longer lines are cut in the middle.
LONGEST = 2000

#: Characters that move the cursor, color, ring, break lines or turn the direction of what follows (C0, C1, Unicode's
#: separators and directional formatting), and those that XML has no place for: surrogates, U+FFFE, U+FFFF.
_CONTROLS = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff"
_IN_A_LINE = re.compile(f"[{_CONTROLS}]")
_IN_LINES = re.compile(f"(?![\t\n\u2028\u2029])[{_CONTROLS}]")


def sanitize(text: str) -> str:
    """One line of bounded length without active characters: control characters are written as their numbers."""
    return _shortened(_IN_A_LINE.sub(_escaped, _shortened(text)))


def sanitize_lines(text: str) -> str:
    """The same for a text of several lines, whatever its length: line ends and tabs stay."""
    return _IN_LINES.sub(_escaped, text.replace("\r\n", "\n"))


def control(line: str) -> str | None:
    """The first active character of a line, written as its number; None if there is none."""
    found = _IN_A_LINE.search(line)
    return found and _escaped(found)


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    half = (LONGEST - 40) // 2
    return f"{text[:half]} ... ({len(text) - 2 * half} characters) ... {text[-half:]}"


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
