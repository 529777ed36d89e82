"""Each count of `checks.prose` finds its fault in each language, ignores what is no prose, and only falls."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from checks import prose

LONG = "The sender " + " ".join(["waits and"] * 13) + " sends."


def kinds(path: str, text: str) -> Counter[str]:
    return Counter(each.kind for each in prose.findings(path, text))


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("a.rs", "/// What a sender may send.\nfn f() {}\n", "rust.openers"),
        ("a.rs", "//! Who sends.\n", "rust.openers"),
        ("a.rs", "fn f() {\n    // Nobody waits.\n}\n", "rust.words"),
        ("a.rs", "// " + "x" * 100 + "\n", "rust.wide_lines"),
        ("a.py", '"""Of a flow, its rate."""\n', "python.openers"),
        ("a.py", "#: So many packets.\nX = 1\n", "python.openers"),
        ("a.py", 'def f():\n    """Send so much."""\n', "python.words"),
        ("a.py", "X = 1  # Whoever waits.\n", "python.words"),
        ("a.ts", "/** What a run reports. */\n", "page.openers"),
        ("a.ts", "/**\n * A run.\n * Somebody waits.\n */\n", "page.words"),
        ("a.md", LONG + "\n", "manual.long_sentences"),
        ("a.md", "- A queue.\n- " + LONG + "\n", "manual.long_sentences"),
        ("a.md", "A queue waits. What waits is lost.\n", "manual.openers"),
        ("a.md", "Counting starts\nanew here.\n", "manual.words"),
        ("a.md", "A queue " + "waits " * 16 + "\n", "manual.wide_lines"),
        ("a.md", "The packets follow after the loss.\n", "manual.proselint"),
    ],
)
def test_a_fault_is_counted_once(path: str, text: str, kind: str) -> None:
    assert kinds(path, text)[kind] == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.rs", '/// The rate of a sender.\nfn f() { g("What nobody said"); }\n'),
        ("a.rs", "// What follows is plain text, which may open as it likes.\n"),
        ("a.py", '"""The rate."""\nX = "What nobody said"\n'),
        ("a.md", "# What is a queue\n\n| What | so many |\n|---|---|\n| nobody | anew |\n"),
        ("a.md", "Run:\n\n    nobody so many " + "x" * 50 + "\n\n```\nWhat nobody said\n```\n"),
        ("a.md", "What is a queue? A queue is a list.\n"),
        ("a.md", "<!-- What nobody said -->\n\nA queue is a list.\n"),
        ("a.md", "See [the page](https://example.org/" + "x" * 100 + ").\n"),
    ],
)
def test_code_tables_and_questions_are_not_counted(path: str, text: str) -> None:
    assert kinds(path, text) == Counter()


def test_words_of_a_sentence_are_those_with_a_letter_or_a_digit() -> None:
    assert prose.words("A queue - of 5 packets (7.5 kB) - waits.") == 8
    assert prose.sentences("One `a. B` waits. [Two links. Here](x.md) wait.") == [
        "One `x` waits.",
        "Two links.",
        "Here wait.",
    ]


@pytest.mark.parametrize("counted", [0, 1, 2, 5])
def test_a_ceiling_only_falls(counted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ceilings = tmp_path / "prose.toml"
    ceilings.write_text('[ceilings]\n"manual.openers" = 2\n', encoding="utf-8")
    (tmp_path / "a.md").write_text("What waits is lost.\n\n" * counted, encoding="utf-8")
    monkeypatch.setattr(prose, "CEILINGS", ceilings)
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    monkeypatch.setattr(prose, "files", lambda: ["a.md"])
    assert prose.main([]) == (2 if counted > 2 else 0)
    assert prose.main(["--write"]) == 0
    assert f'"manual.openers" = {min(counted, 2)}' in ceilings.read_text(encoding="utf-8")


def test_every_read_file_is_tracked_text() -> None:
    listed = prose.files()
    assert {"README.md", "docs/index.md", "checks/prose.py", "crates/packet/src/lib.rs", "lab/src/main.tsx"} <= set(
        listed
    )
    assert all((prose.ROOT / each).is_file() for each in listed)
