"""Files that are there completely or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.errors import InputError
from forebay.storage.files import between, replacing, write_atomically

MARKS = ("<!-- begin -->", "<!-- end -->")


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    write_atomically(path, "old")

    def interrupted() -> None:
        with replacing(path) as partial:
            partial.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_written_takes_the_place_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    for text in ("old", "new, µ"):
        write_atomically(path, text)
    assert path.read_bytes() == "new, µ".encode()
    with replacing(path):
        pass  # nothing written, nothing replaced
    assert path.read_bytes() == "new, µ".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_names_the_requested_file(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "table.json"
    with pytest.raises(FileNotFoundError) as error:
        write_atomically(path, "x")
    assert error.value.filename == str(path)


def test_a_text_takes_its_place_in_a_document() -> None:
    begin, end = MARKS
    document = f"before\n{begin}\nold\n{end}\nafter\n"
    once = between(document, MARKS, "new\n", "page.md")
    assert once == f"before\n{begin}\n\nnew\n\n{end}\nafter\n"
    assert between(once, MARKS, "new\n", "page.md") == once


@pytest.mark.parametrize("document", ["nothing here", MARKS[0], MARKS[1], f"{MARKS[1]} {MARKS[0]}"])
def test_a_document_without_marks_is_refused(document: str) -> None:
    with pytest.raises(InputError, match=r"page\.md: found no `<!-- begin -->`"):
        between(document, MARKS, "new", "page.md")
