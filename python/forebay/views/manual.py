"""Manual pages in roff, the language of `man`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["ManualPage", "escaped", "roff"]


@dataclass(frozen=True, slots=True)
class ManualPage:
    """The content of one manual page.

    Attributes
    ----------
    name : str
        "forebay" or "forebay-run".
    command : str
        The command as it is typed: "forebay run".
    version : str
        Version of forebay.
    short : str
        Purpose of the command, on one line.
    usage : str
        Arguments after the command.
    paragraphs : sequence of str
        The description.
    options, verbs, exits, examples : sequences of (str, str)
        Each with its meaning.
    """

    name: str
    command: str
    version: str
    short: str
    usage: str
    paragraphs: Sequence[str]
    options: Sequence[tuple[str, str]]
    verbs: Sequence[tuple[str, str]]
    exits: Sequence[tuple[str, str]]
    examples: Sequence[tuple[str, str]]


def roff(page: ManualPage) -> str:
    """Return the source of a page of section 1."""
    lines = [
        f'.TH "{escaped(page.name.upper())}" "1" "" "forebay {escaped(page.version)}" "forebay"',
        *(".SH NAME", rf"{escaped(page.name)} \- {escaped(page.short)}"),
        *(".SH SYNOPSIS", f".B {escaped(page.command)}", escaped(page.usage)),
        ".SH DESCRIPTION",
        *(line for paragraph in page.paragraphs for line in (".PP", escaped(paragraph))),
        *_list("VERBS", ((f"{page.name}-{name}(1)", meaning) for name, meaning in page.verbs)),
        *_list("OPTIONS", page.options),
        *_examples(page.examples),
        *_list("EXIT STATUS", page.exits),
    ]
    if page.name != "forebay":
        lines += [".SH SEE ALSO", ".BR forebay (1)"]
    return "\n".join(lines) + "\n"


def _list(title: str, entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Terms with their meanings under a title, if there are some."""
    lines = [line for term, meaning in entries for line in (".TP", f".B {escaped(term)}", escaped(meaning))]
    if lines:
        yield f".SH {title}"
    yield from lines


def _examples(examples: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield ".SH EXAMPLES"
    for line, meaning in examples:
        yield from (".PP", escaped(meaning), ".PP", ".RS 4", ".EX", escaped(line), ".EE", ".RE")


def escaped(text: str) -> str:
    """A text that roff prints as it is: no escapes, no requests, hyphens and quotes that can be copied."""
    text = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha")
    )
    text = text.replace('"', "\\(dq").replace("~", "\\(ti")
    return re.sub(r"^\.", r"\\&.", text, flags=re.MULTILINE)
