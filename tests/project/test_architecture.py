"""The pages for contributors are true: ARCHITECTURE.md is short, and what both pages name exists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

#: The largest number of words, tables included.
LONGEST = 1200

#: Files by these endings are paths, even without a folder.
ENDINGS = (".rs", ".py", ".md", ".toml", ".ts", ".j2")


def lines() -> list[str]:
    return (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()


def is_path(text: str) -> bool:
    return " " not in text and "::" not in text and ("/" in text or text.endswith(ENDINGS))


def missing(line: str, root: Path) -> list[str]:
    """The paths in backticks that do not exist, from the root or from a folder that the line names before them."""
    folders, wrong = [root], []
    for name in filter(is_path, re.findall(r"`([^`]+)`", line)):
        found = [folder / name for folder in folders if (folder / name).exists()]
        if not found:
            wrong.append(name)
        folders += [path if path.is_dir() else path.parent for path in found[:1]]
    return wrong


def paragraphs(text: list[str]) -> list[str]:
    """Items of lists and rows of tables, each in one line."""
    joined = "\n".join(text)
    return re.sub(r"\n +", " ", joined).splitlines()


def rows() -> list[list[str]]:
    """The rows of the table of additions."""
    text = lines()
    begin = text.index("## To add something")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text[begin:] if line.startswith("|")]
    return cells[2:]


def test_the_page_is_short() -> None:
    assert sum(len(line.split()) for line in lines()) <= LONGEST


def test_every_path_exists() -> None:
    text = paragraphs(lines())
    assert sum(len(re.findall(r"`[^`]*/[^`]*`", line)) for line in text) > 50
    assert [wrong for line in text for wrong in missing(line, ROOT)] == []


def test_the_table_has_the_additions_that_contributors_ask_for() -> None:
    required = {"controller", "discipline", "link behavior", "metric", "scenario key", "observe input", "chart", "verb"}
    assert required <= {row[0] for row in rows()}


def test_every_row_names_commits_of_this_repository() -> None:
    named = {row[0]: re.findall(r"\b[0-9a-f]{7}\b", row[2]) for row in rows()}
    assert [what for what, commits in named.items() if not commits] == []
    process = subprocess.run(
        ["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if process.stdout.strip() != "false":
        pytest.skip("not a whole clone: the commits cannot be looked up")
    requested = "".join(f"{commit}^{{commit}}\n" for commits in named.values() for commit in commits)
    done = subprocess.run(
        ["git", "cat-file", "--batch-check"], cwd=ROOT, input=requested, capture_output=True, text=True, check=True
    )
    assert [line for line in done.stdout.splitlines() if line.endswith("missing")] == []


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("`low/one.py` and `two.py`", []),
        ("`two.py` and `low/one.py`", ["two.py"]),
        ("`low/`: `one.py`, `three.py`", ["three.py"]),
        ("`low/three.py`, `Type::call`, `word`, `make check`", ["low/three.py"]),
    ],
)
def test_a_missing_path_is_found(line: str, wrong: list[str], tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    for name in ("one.py", "two.py"):
        (tmp_path / "low" / name).touch()
    assert missing(line, tmp_path) == wrong


def test_the_tests_that_contributing_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    commands = re.findall(r"^ +cargo test -p forebay-(\w+) (--lib|--test \w+) (\S+)$", text, re.MULTILINE)
    assert len(commands) == 3
    for crate, kind, name in commands:
        folder = ROOT / "crates" / crate / ("src" if kind == "--lib" else f"tests/{kind.split()[1]}")
        sources = {path.stem: path.read_text(encoding="utf-8") for path in folder.rglob("*.rs")}
        assert name.removesuffix("::") in sources or any(f"fn {name}()" in source for source in sources.values()), name
    (file, name) = re.findall(r"^ +python -m pytest (\S+?)::(\w+)$", text, re.MULTILINE)[0]
    assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_the_map_of_tests_has_folders_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## A map of tests")[2].partition("\n- ")[0]
    folders = re.findall(r"`((?:crates|fuzz|lab|tests)/[\w/*]*)`", text)
    assert len(folders) > 15
    assert [folder for folder in folders if not any(ROOT.glob(folder))] == []
