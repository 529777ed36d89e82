"""The references that each controller and queue discipline is compared with, and the reference numbers that exist."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checks.reference import file_of
from checks.rows import Row, read_folder
from forebay import _core, explain
from tests.support.paths import ROOT

FOLDER = ROOT / "tests/reference"
PROGRAMS = {"ns2": "ns-2.35", "linux": "Linux 6.18", "tofino": "Linux 5.5", "ns3": "ns-3.48"}


def _kind(value: object) -> str:
    return str(value["kind"]) if isinstance(value, dict) else str(value)


def _compared(file: str) -> tuple[set[str], set[str]]:
    """Controllers and disciplines of the scenarios in one file of the reference folder."""
    controllers, disciplines = set(), set()
    for row in read_folder(FOLDER, file):
        assert isinstance(row, Row)
        links = row.tables.get("links") or [row.tables["link"]]
        disciplines.update(_kind(link.get("queue", "droptail")) for link in links)
        controllers.update(_kind(group["cca"]) for group in row.tables["flows"] if "cca" in group)
    return controllers, disciplines


@pytest.mark.parametrize("file", PROGRAMS)
def test_an_algorithm_listed_as_compared_is_in_the_rows_of_the_program(file: str) -> None:
    if not file_of(FOLDER, file).is_file():
        pytest.skip(f"no {file} rows")
    program = PROGRAMS[file]
    for registry, compared in zip((_core.controllers(), _core.disciplines()), _compared(file), strict=True):
        values = {known.name for known in registry if any(line.startswith(program) for line in known.checked)}
        assert values == compared


def test_explain_and_the_manual_say_it() -> None:
    page = Path("docs/reference/algorithms.md").read_text(encoding="utf-8")
    for known in [*_core.controllers(), *_core.disciplines()]:
        explanation = explain(known.name)
        if explanation.kind == "model":  # of the same name, and found first
            continue
        assert explanation.checked == tuple(known.checked)
        assert json.loads(explanation.to_json())["checked"] == known.checked
        assert "compared with:" in str(explanation)
        assert f"| `{known.name}` |" in page
        assert "; ".join(known.checked).replace("|", "\\|") in page
        programs = [line for line in known.checked if line.startswith(tuple(PROGRAMS.values()))]
        assert (known.checked[0] == "not checked against another program") == (not programs)
