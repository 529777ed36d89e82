"""Reading of router configurations: a cursor over words that names each word which it cannot read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

from forebay.errors import InputError
from forebay.sanitize import control
from forebay.storage.safe_io import DamagedError, document

__all__ = [
    "MOST_CHARACTERS",
    "Mistake",
    "Word",
    "Words",
    "check_text",
    "closest",
    "foreign",
    "integer",
    "json_text",
    "on_line",
    "signed",
    "skipped_line",
    "statements",
    "suffixed",
]

T = TypeVar("T")

#: Maximum length of a configuration in characters: tens of thousands of lines, more than any port needs.
MOST_CHARACTERS = 2**20
#: Maximum number of digits of a number: no counter of a device has more, and all arithmetic can hold it.
MOST_DIGITS = 18


class Mistake(Exception):  # noqa: N818 - as a reader of the text would call it
    """A word that cannot be read: the found word, the allowed words, and the likely intended one.

    The reader of a whole text adds the line and raises the error for the user.
    """

    def __init__(self, found: str, allowed: str, suggestion: str = "") -> None:
        super().__init__(found)
        self.found, self.allowed, self.suggestion = found, allowed, suggestion

    @classmethod
    def word(cls, text: str, allowed: str, suggestion: str = "") -> Mistake:
        """An error for a word that is not allowed, or for a missing word."""
        return cls(f"`{text}`" if text else "nothing", allowed, suggestion)

    def with_name(self, name: str) -> Mistake:
        """The same error with the name of the setting."""
        return Mistake(f"{self.found} as {name}", self.allowed, self.suggestion)

    def error(self, line: int | None = None) -> InputError:
        """The error for the user; it names the line if the text has several lines."""
        where = "" if line is None else f"line {line}: "
        hint = f"; did you mean `{self.suggestion}`?" if self.suggestion else ""
        return InputError(f"translate: {where}found {self.found}; allowed: {self.allowed}{hint}")


@contextmanager
def on_line(line: int | None) -> Iterator[None]:
    """Add the line of the text to each error, if the text has several lines."""
    try:
        yield
    except Mistake as mistake:
        raise mistake.error(line) from None


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text and the number of its line."""

    text: str
    line: int


def statements(text: str, *, comment: str = "#", separators: str = ";") -> list[list[Word]]:
    r"""Split a text into statements of words: one a line, or several between separators.

    A backslash at the end of a line joins the next line, as in a shell. Quotes group words and are dropped. The rest of
    a line after `comment` is ignored.
    """
    found: list[list[Word]] = []
    current: list[Word] = []
    for number, line in enumerate(text.splitlines(), 1):
        whole_line = line.strip()
        continues = whole_line.endswith("\\")
        for match in _WORD.finditer(whole_line.removesuffix("\\")):
            piece = match[0]
            if comment and piece.startswith(comment):
                break
            if piece in separators:
                found.append(current)
                current = []
                continue
            closed = piece.rstrip(separators) if separators and not piece.startswith('"') else piece
            current.append(Word(closed.replace('"', "").replace("'", ""), number))
            if closed != piece:
                found.append(current)
                current = []
        if not continues:
            found.append(current)
            current = []
    found.append(current)
    return [words for words in found if words]


_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|[^\s"'])+""")


@dataclass(slots=True)
class Words:
    """A cursor over the words of one statement.

    Attributes
    ----------
    words : sequence of Word
        The statement.
    at : int
        Index of the next word.
    """

    words: Sequence[Word]
    at: int = 0

    @property
    def more(self) -> bool:
        """Whether any word remains."""
        return self.at < len(self.words)

    @property
    def line(self) -> int:
        """The line of the next word, or of the last."""
        return self.words[min(self.at, len(self.words) - 1)].line

    def peek(self) -> str:
        """The next word; empty at the end."""
        return self.words[self.at].text if self.more else ""

    def take(self, allowed: str) -> str:
        """The next word; at the end of the line an error that lists the allowed words."""
        if not self.more:
            self.fail(allowed)
        self.at += 1
        return self.words[self.at - 1].text

    def skip(self, *texts: str) -> bool:
        """Take the next word if it is one of these; return whether it was."""
        if self.more and self.peek() in texts:
            self.at += 1
            return True
        return False

    def keyword(self, allowed: Collection[str]) -> str:
        """The next word, which must be one of these."""
        if self.peek() not in allowed:
            self.fail(", ".join(allowed), allowed)
        return self.take("")

    def value(self, reader: Callable[[str], T]) -> T:
        """The next word as a value; `reader` raises `Mistake` for an invalid one."""
        if not self.more:
            try:
                return reader("")
            except Mistake as mistake:
                self.fail(mistake.allowed)
        with on_line(self.line):
            found = reader(self.peek())
        self.at += 1
        return found

    def end(self, allowed: str = "the end of the line") -> None:
        """Refuse further words."""
        if self.more:
            self.fail(allowed)

    def fail(self, allowed: str, known: Iterable[str] = ()) -> NoReturn:
        """Refuse the next word."""
        if not self.more:
            last = self.words[-1].text if self.words else ""
            raise Mistake(f"nothing after `{last}`", allowed).error(self.line)
        text = self.peek()
        raise Mistake(f"`{text}`", allowed, closest(text, known)).error(self.line)


def check_text(text: str, most: int = MOST_CHARACTERS) -> None:
    """Refuse a text that is too long, or that has control characters, which could steer a terminal."""
    if len(text) > most:
        raise Mistake(f"{len(text)} characters", f"at most {most}, as of one port").error()
    for number, line in enumerate(re.split(r"\r?\n", text), 1):
        if character := control(line.replace("\t", " ")):
            raise Mistake.word(character, "text without control characters").error(number)


def json_text(text: str, allowed: str) -> Any:
    """The content of a JSON text on which all readers agree; errors name their line."""
    try:
        return document(text.encode(errors="replace"), "", allowed)
    except DamagedError as error:
        line = re.search(r" at line ([0-9]+), column [0-9]+\)$", error.found)
        raise Mistake(error.found, allowed).error(None if line is None else int(line[1])) from None


def closest(text: str, known: Iterable[str]) -> str:
    """The known word closest to a text; empty if none is similar."""
    return _closest(text, tuple(known))


@lru_cache(maxsize=4096)
def _closest(text: str, known: tuple[str, ...]) -> str:
    as_known = {word.lower(): word for word in known}
    found = difflib.get_close_matches(text.lower(), list(as_known), n=1, cutoff=0.6)
    return as_known[found[0]] if found else ""


#: Similarity from which a word counts as a misspelling of a known word.
_LIKE = 0.8


def foreign(text: str, known: frozenset[str]) -> bool:
    """Whether the first word of a line is neither known nor a misspelling of a known word."""
    return text not in known and len(text) < 40 and not _resembles(text, known)


@lru_cache(maxsize=4096)
def _resembles(text: str, known: frozenset[str]) -> bool:
    return bool(difflib.get_close_matches(text, known, n=1, cutoff=_LIKE))


def skipped_line(words: Sequence[Word]) -> str:
    """The text of a skipped line, for the list of skipped lines."""
    text = " ".join(word.text for word in words[:6])
    return f"line {words[0].line}: {text}{' ...' if len(words) > 6 else ''}"


def integer(text: str, what: str = "a whole number", *, least: int = 0, most: int | None = None) -> int:
    """Read a whole number that consists of digits only: "1,000" and "1.5" are errors."""
    limits = f"{what} of {least} to {most}" if most is not None else what
    if not re.fullmatch(r"[0-9]+", text):
        bare = text.replace(",", "").replace("_", "").replace("'", "")
        suggestion = bare if re.fullmatch(r"[0-9]+", bare) else ""
        raise Mistake.word(text, f"{what}, digits only", suggestion)
    digits = text.lstrip("0") or "0"
    if len(digits) > MOST_DIGITS:
        raise Mistake(f"`{text}`", limits if most is not None else f"{what} of at most {MOST_DIGITS} digits")
    number = int(digits)
    if number < least or (most is not None and number > most):
        raise Mistake(f"`{text}`", limits)
    return number


def signed(text: str, what: str = "a whole number", *, most: int | None = None) -> int:
    """Read a whole number that may be negative; `most` is its largest absolute value."""
    sign = -1 if text.startswith("-") else 1
    return sign * integer(text.removeprefix("-"), what, most=most)


def suffixed(text: str, units: Mapping[str, Fraction], what: str, bare: Fraction | None) -> Fraction:
    """Read a number with a unit after it, in any case; `bare` is the unit of a number without one.

    Parameters
    ----------
    text : str
        Number and unit, such as "200kb".
    units : mapping
        Each unit in lower case with its factor.
    what : str
        Description for the error, as in "a size such as 1514, 64k or 32Mb".
    bare : Fraction, optional
        Unit of a bare number; None if a unit is required.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([A-Za-z%]*)", text)
    if match is None:
        plain = text.replace(",", "")
        suggestion = plain if plain != text and re.fullmatch(r"[0-9.]+[A-Za-z]*", plain) else ""
        raise Mistake.word(text, what, suggestion)
    if len(match[1]) > 2 * MOST_DIGITS:
        raise Mistake(f"`{text}`", f"{what}, of at most {2 * MOST_DIGITS} digits")
    unit = match[2].lower()
    if not unit and bare is not None:
        return Fraction(match[1]) * bare
    if unit not in units:
        likely = closest(unit, units)
        raise Mistake(f"`{text}`", what, f"{match[1]}{likely}" if likely else "")
    return Fraction(match[1]) * units[unit]
