"""What `make mutants` is told of Python: which tests concern a module, and which mutants mean the same."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.paths import ROOT

BENCHES, SOURCES = ROOT / "benches", ROOT / "python" / "forebay"


def told() -> Mapping[str, tuple[str, ...]]:
    """The table of the driver, which only runs where its tool is installed."""
    tree = ast.parse((BENCHES / "mutants_python.py").read_text(encoding="utf-8"))
    (table,) = (
        node.value for node in tree.body if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "TESTS"
    )
    assert table is not None
    found: Mapping[str, tuple[str, ...]] = ast.literal_eval(table)
    return found


def equivalent() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = tomllib.loads((BENCHES / "mutants_equivalent.toml").read_text("utf-8"))[
        "equivalent"
    ]
    assert entries
    return entries


def test_every_module_that_judges_or_searches_has_tests() -> None:
    search = {f"search.{path.stem}" for path in (SOURCES / "search").glob("*.py") if path.stem != "__init__"}
    assert set(told()) == search | {"inputs.goals", "results.statistics"}
    for names in told().values():
        assert names
        for name in names:
            assert list((ROOT / "tests").glob(f"*/test_{name}.py")), name


@pytest.mark.parametrize("entry", equivalent(), ids=lambda entry: f"{entry['module']}: {entry['before'][:40]}")
def test_every_mutant_that_means_the_same_is_of_a_line_that_is_there(entry: dict[str, Any]) -> None:
    lines = [line.strip() for line in (SOURCES / f"{entry['module'].replace('.', '/')}.py").read_text().splitlines()]
    assert entry["module"] in told()
    places = [at for at, line in enumerate(lines) if line == entry["before"]]
    if "below" in entry:
        places = [at for at in places if lines[at - 1] == entry["below"]]
    assert len(places) == 1, "one line, so that no other mutant is passed over with it"
    afters = entry["after"] if isinstance(entry["after"], list) else [entry["after"]]
    assert afters
    assert entry["before"] not in afters
    assert len(entry["reason"].split()) > 4, "why, in a sentence"
