"""The laws of error messages, and the allowed types of errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from forebay.errors import ForebayError

#: Characters that a message may have: a name or two, what is allowed, and names that exist.
MOST_CHARACTERS = 2200
#: C0, C1, line breaks, and what turns text around.
ACTING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def check_sentence(text: str) -> None:
    """One line of bounded length that says something, in which no character does anything."""
    assert text.strip(), "an empty message"
    assert len(text) <= MOST_CHARACTERS, f"{len(text)} characters: {text[:200]}"
    assert not ACTING.search(text), repr(text)


@contextmanager
def refused() -> Iterator[None]:
    """Allow the block to refuse its input in one sentence; every other error is a finding."""
    try:
        yield
    except ForebayError as error:
        check_sentence(str(error))
