"""The manual's table of the keys that each engine supports."""

from __future__ import annotations

from checks.engine_support import MARKS, table
from checks.pages import page_of
from forebay.storage.files import between
from tests.support.paths import ROOT


def test_the_table_of_the_manual_says_what_the_engines_do() -> None:
    page = page_of(ROOT / "docs/reference", MARKS)
    text = page.read_text(encoding="utf-8")
    assert between(text, MARKS, table(), str(page)) == text, "run python -m checks.engine_support docs/reference"


def test_the_packet_engine_supports_every_key() -> None:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table().splitlines()[2:]]
    assert len(rows) > 30
    assert {row[1] for row in rows} == {"all", "yes"}
