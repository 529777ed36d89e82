"""The manual's pages can be found and read: links, entries of each level, lengths, code that fits."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from checks.prose import LONGEST_PAGE, WIDEST_LINE
from tests.support.paths import ROOT

#: Pages in the repository's root and in the manual.
PAGES = [
    each
    for each in subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    if each.startswith("docs/") or "/" not in each
]
MANUAL = [page for page in PAGES if page.startswith("docs/")]
#: Most entries of one level of the table of contents.
MOST_ENTRIES = 8
#: Generated tables.
_BLOCK = re.compile(r"<!-- ([\w ]+): begin -->.*?<!-- \1: end -->", re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


class _Settings(yaml.SafeLoader):
    """A reader of mkdocs.yml, whose tags name functions of Python."""


_Settings.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def prose_of(page: str) -> str:
    """The page without fenced code."""
    return re.sub(r"^```.*?^```", "", text_of(page), flags=re.DOTALL | re.MULTILINE)


def anchors(page: str) -> set[str]:
    """Anchors of the headings, as the toc extension of Markdown makes them, and those given by hand."""
    found = set(re.findall(r'id="([^"]+)"', text_of(page)))
    for heading in re.findall(r"^#+ (.*)$", prose_of(page), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\s-]", "", words).strip().lower()
        slug = re.sub(r"[\s-]+", "-", slug)
        number = 0
        while (name := f"{slug}_{number}" if number else slug) in found:
            number += 1
        found.add(name)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_each_link_leads_to_a_file_and_a_heading(page: str) -> None:
    for link in _LINK.findall(prose_of(page)):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = os.path.normpath(Path(page).parent / path) if path else page
        assert (ROOT / target).exists(), link
        assert not anchor or not target.endswith(".md") or anchor in anchors(target), link


def _levels(entries: list[Any]) -> Iterator[list[Any]]:
    yield entries
    for entry in entries:
        for inner in entry.values():
            if isinstance(inner, list):
                yield from _levels(inner)


def test_the_table_of_contents_has_each_page_once_and_few_entries_per_level() -> None:
    settings = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=_Settings)
    levels = list(_levels(settings["nav"]))
    assert all(len(level) <= MOST_ENTRIES for level in levels)
    pages = [inner for level in levels for entry in level for inner in entry.values() if isinstance(inner, str)]
    assert sorted(pages) == sorted(page.removeprefix("docs/") for page in MANUAL)
    for level in levels:
        for entry in level:
            ((title, inner),) = entry.items()
            assert isinstance(inner, list) or text_of(f"docs/{inner}").startswith("# "), title


@pytest.mark.parametrize("page", MANUAL)
def test_a_page_is_short_and_its_code_fits(page: str) -> None:
    by_hand = _BLOCK.sub("", text_of(page))
    assert len(by_hand.split()) <= LONGEST_PAGE
    code = [
        line for block in re.findall(r"^```.*?^```", by_hand, re.DOTALL | re.MULTILINE) for line in block.split("\n")
    ]
    code += re.findall(r"^    .*$", by_hand, re.MULTILINE)
    assert [line for line in code if len(line) > WIDEST_LINE] == []
