"""Functions for checks with a table in the manual: they select cases, and write or print the table.

A block of a page stands between two marks. A check finds the page of each of its blocks by the marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from checks.programs import is_chosen
from forebay.errors import InputError
from forebay.storage.files import between, within, write_atomically

__all__ = ["Marks", "block", "page_of", "print_or_write", "renewed", "selected", "write_pages"]

#: First and last line of a block.
Marks = tuple[str, str]


def selected(names: Iterable[str], only: str) -> list[str]:
    """The names that contain one of the comma-separated parts; all of them if there is no part."""
    return [name for name in names if is_chosen(name, only)]


def page_of(where: Path, marks: Marks) -> Path:
    """Return the page that has the marks: ``where`` itself, or the one page in the folder ``where`` that has them.

    Raises
    ------
    InputError
        If no page of the folder has the marks, or if several have them.
    """
    if not where.is_dir():
        return where
    pages = [page for page in sorted(where.glob("*.md")) if marks[0] in page.read_text(encoding="utf-8")]
    if len(pages) != 1:
        found = ", ".join(page.name for page in pages) or "no page"
        raise InputError(f"{where}: expected one page with `{marks[0]}`, found {found}")
    return pages[0]


def renewed(where: Path, blocks: Mapping[Marks, str]) -> dict[Path, str]:
    """Return the pages of some blocks with new texts between the marks.

    Parameters
    ----------
    where : Path
        A page, or a folder of pages.
    blocks : mapping from marks to str
        New text of each block.
    """
    pages: dict[Path, str] = {}
    for marks, text in blocks.items():
        page = page_of(where, marks)
        document = pages[page] if page in pages else page.read_text(encoding="utf-8")
        pages[page] = between(document, marks, text, str(page))
    return pages


def block(where: Path, marks: Marks) -> str:
    """Return the present text between the marks of a page, or of the page of a folder that has them."""
    page = page_of(where, marks)
    return within(page.read_text(encoding="utf-8"), marks, str(page))


def write_pages(pages: Mapping[Path, str]) -> None:
    """Write pages that `renewed` returned."""
    for page, text in pages.items():
        write_atomically(page, text)


def print_or_write(text: str, where: Path | None, marks: Marks) -> None:
    """Put a text between the marks of a page, or of the page of a folder that has them; print it without a page."""
    if where is None:
        print(text)
    else:
        write_pages(renewed(where, {marks: text}))
