"""Functions for checks with a table in the manual: they select cases, and write or print the table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from checks.programs import is_chosen
from forebay.storage.files import between, write_whole

__all__ = ["asked", "print_or_write"]


def asked(names: Iterable[str], only: str) -> list[str]:
    """The names that contain one of the comma-separated parts; all of them if there is no part."""
    return [name for name in names if is_chosen(name, only)]


def print_or_write(text: str, page: Path | None, marks: tuple[str, str]) -> None:
    """Put a text between the marks of a page, or print it if there is no page."""
    if page is None:
        print(text)
    else:
        write_whole(page, between(page.read_text(encoding="utf-8"), marks, text, str(page)))
