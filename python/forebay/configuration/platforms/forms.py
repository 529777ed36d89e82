"""The grammar of command lines, written as command references write it: `queue-limit <amount> [unit=bytes|packets]`.

A form consists of words; `a|b` are alternatives, `name=a|b` alternatives that are stored, `<name>` a value, `[...]` is
optional, and `...` matches any rest. A line without a matching form is an error at the first word that no form accepts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from forebay.configuration.reading import Mistake, Word, closest

__all__ = ["Form", "Grammar", "ParsedLine", "Reader"]

#: A function that reads a word, or raises `Mistake`.
Reader = Callable[[str], object]
H = TypeVar("H")


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """The content of a line: the values of its form by name, and its line number."""

    values: Mapping[str, object]
    line: int

    def has(self, name: str) -> bool:
        """Whether the line has the value."""
        return name in self.values

    def word(self, name: str, default: str = "") -> str:
        """A word."""
        return str(self.values.get(name, default))

    def number(self, name: str, default: int = 0) -> int:
        """A whole number."""
        value = self.values.get(name, default)
        assert isinstance(value, int), name
        return value


@dataclass(frozen=True, slots=True)
class _Words:
    """One of several words, stored under a name if the form has one."""

    allowed: tuple[str, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class _Value:
    name: str


@dataclass(frozen=True, slots=True)
class _Optional:
    elements: tuple[_Element, ...]


@dataclass(frozen=True, slots=True)
class _Remainder:
    pass


_Element = _Words | _Value | _Optional | _Remainder
_TOKEN = re.compile(r"\[|\]|<[a-z_0-9]+>|\.\.\.(?= |$)|[^ \[\]]+")


def _elements(tokens: list[str]) -> Iterator[_Element]:
    """The elements up to the end or to a closing bracket."""
    while tokens:
        token = tokens.pop(0)
        if token == "]":
            return
        if token == "[":
            yield _Optional(tuple(_elements(tokens)))
        elif token == "...":
            yield _Remainder()
        elif token.startswith("<") and token.endswith(">"):
            yield _Value(token[1:-1])
        else:
            name, _, words = token.rpartition("=") if re.match(r"[a-z_]+=.", token) else ("", "", token)
            yield _Words(tuple(words.split("|")), name)


def _beginnings(elements: tuple[_Element, ...]) -> Iterator[str]:
    """The words that may come first."""
    for element in elements:
        if isinstance(element, _Words):
            yield from element.allowed
        elif isinstance(element, _Optional):
            yield from _beginnings(element.elements)
        if not isinstance(element, _Optional):
            return


@dataclass(frozen=True, slots=True)
class Form(Generic[H]):
    """One form of a line, and its handler."""

    text: str
    then: H


@dataclass(slots=True)
class _Furthest:
    """The farthest position that the forms reached, the words they accept there, and the error of a value's reader."""

    at: int = -1
    allowed: dict[str, None] = field(default_factory=dict)
    literal: list[str] = field(default_factory=list)
    mistake: Mistake | None = None

    def reach(self, at: int) -> bool:
        if at > self.at:
            self.at, self.allowed, self.literal, self.mistake = at, {}, [], None
        return at == self.at

    def words(self, at: int, words: Sequence[str]) -> None:
        if self.reach(at):
            self.allowed.update(dict.fromkeys(words))
            self.literal.extend(words)

    def value(self, at: int, mistake: Mistake) -> None:
        if self.reach(at):
            self.allowed[mistake.allowed] = None
            self.mistake = mistake if mistake.suggestion else self.mistake

    def error(self, words: Sequence[Word]) -> Mistake:
        allowed = ", ".join(self.allowed)
        if self.at >= len(words):
            return Mistake(f"nothing after `{words[-1].text}`", allowed)
        text = words[self.at].text
        suggestion = self.mistake.suggestion if self.mistake is not None else closest(text, self.literal)
        return Mistake(f"`{text}`", allowed, suggestion)


class Grammar(Generic[H]):
    """The forms of a system's lines.

    Parameters
    ----------
    forms : sequence of Form
        The forms; the first one that matches a whole line is used.
    readers : mapping
        Readers of the values, by the names of the values.
    opening : str
        Description of a line, for an error at its first word.
    """

    def __init__(self, forms: Sequence[Form[H]], readers: Mapping[str, Reader], opening: str) -> None:
        self._opening = opening
        self._first: frozenset[str] | None = None
        self._forms = [(form.then, tuple(_elements(_TOKEN.findall(form.text)))) for form in forms]
        self._readers = readers

    @property
    def first(self) -> frozenset[str]:
        """Words with which a line may begin."""
        if self._first is None:
            self._first = frozenset(word for _, elements in self._forms for word in _beginnings(elements))
        return self._first

    def read(self, words: Sequence[Word]) -> tuple[H, ParsedLine]:
        """The handler and the values of a line; raises `InputError` at the word that no form accepts."""
        furthest = _Furthest()
        for then, elements in self._forms:
            for values in self._match(elements, words, 0, furthest):
                return then, ParsedLine(values, words[0].line)
        line = words[min(furthest.at, len(words) - 1)].line
        if furthest.at == 0:
            furthest.allowed = {self._opening: None}
        raise furthest.error(words).error(line)

    def _match(
        self, elements: tuple[_Element, ...], words: Sequence[Word], at: int, furthest: _Furthest
    ) -> Iterator[dict[str, object]]:
        """Every way in which the words from `at` on are these elements."""
        if not elements:
            if at == len(words):
                yield {}
            else:
                furthest.words(at, ["the end of the line"])
            return
        first, rest = elements[0], elements[1:]
        if isinstance(first, _Optional):
            yield from self._match(first.elements + rest, words, at, furthest)
            yield from self._match(rest, words, at, furthest)
        elif isinstance(first, _Remainder):
            yield {}
        elif isinstance(first, _Words):
            if at < len(words) and words[at].text in first.allowed:
                values = {first.name: words[at].text} if first.name else {}
                yield from ({**values, **more} for more in self._match(rest, words, at + 1, furthest))
            else:
                furthest.words(at, first.allowed)
        else:
            yield from self._value(first.name, rest, (words, at), furthest)

    def _value(
        self, name: str, rest: tuple[_Element, ...], where: tuple[Sequence[Word], int], furthest: _Furthest
    ) -> Iterator[dict[str, object]]:
        words, at = where
        try:
            value = self._readers[name](words[at].text if at < len(words) else "")
        except Mistake as mistake:
            furthest.value(at, mistake)
            return
        yield from ({name: value, **more} for more in self._match(rest, words, at + 1, furthest))
