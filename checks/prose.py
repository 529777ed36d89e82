"""Count what makes prose hard to read, and hold each count to its ceiling.

``python -m checks.prose`` reads comments, docstrings and the manual, prints a table, and fails if a count is above its
ceiling in ``checks/prose.toml``. A ceiling only falls: ``--write`` lowers ceilings to the counts and never raises one.
``python -m checks.prose FILE...`` lists the findings in these files.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from checks.programs import exit_code
from forebay.errors import InputError
from forebay.storage.files import write_atomically

ROOT = Path(__file__).parents[1]
CEILINGS = Path(__file__).with_suffix(".toml")

#: First words of a doc comment that hide the kind of thing that is documented.
OPENERS = re.compile(r"(What|Who|Whose|Whoever|Whom|So many|So much|By what|Of|That which)\b")
#: Words that stand for a noun of the field.
BANNED = re.compile(
    r"\b(somebody|nobody|anybody|everybody|so many|so much|heeds?|whoever|anew|"
    r"asks for (?:room|little)|held against|under way)\b",
    re.IGNORECASE,
)
#: Words in a sentence of the manual, and columns of its lines.
LONGEST_SENTENCE, WIDEST_LINE = 25, 100
#: Words in a page of the manual without its generated tables.
LONGEST_PAGE = 3000

_COMMENT = re.compile(r"^\s*(///|//!|//|/\*\*|\*(?!/))\s?(.*?)(?:\*/)?\s*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_END = re.compile(r"(?<=[.!?:])[)\"'*]*\s+(?=[\"'(*`]*(?:[A-Z0-9`]|forebay\b))")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|et al|Fig|Eq|vs|cf|approx|Sec|No)\.")


@dataclass(frozen=True, slots=True)
class Finding:
    """One place that a reader stumbles over."""

    #: Kind of the finding: a key of the ceilings.
    kind: str
    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A comment, a docstring or a paragraph."""

    path: str
    #: Line of its first word, counted from one.
    line: int
    text: str
    #: Whether it documents an item, so that its first word names the kind of thing.
    documents: bool


def line_passages(path: str, text: str) -> Iterator[Passage]:
    """Comments of a Rust or TypeScript file: runs of lines with the same mark."""
    lines: list[str] = []
    begin, mark = 0, ""
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        found = _COMMENT.match(line)
        continues = found and (found[1] == mark or (found[1] == "*" and mark == "/**"))
        if lines and not continues:
            yield Passage(path, begin, "\n".join(lines), documents=mark in {"///", "//!", "/**"})
            lines = []
        if found:
            if not lines:
                begin, mark = number, found[1]
            lines.append(found[2])


def python_passages(path: str, text: str) -> Iterator[Passage]:
    """Docstrings and comments of a Python file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words = ast.get_docstring(node)
            if words:
                yield Passage(path, node.body[0].lineno, words, documents=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            words = token.string.lstrip("#")
            yield Passage(path, token.start[0], words.removeprefix(":").strip(), documents=words.startswith(":"))


def markdown_passages(path: str, text: str) -> Iterator[Passage]:
    """Paragraphs and list items of a page, without code, tables, headings and comments."""
    lines: list[str] = []
    begin, fenced, hidden = 0, False, False
    previous_blank = True
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        if _FENCE.match(line):
            fenced = not fenced
        if "<!--" in line:
            hidden = True
        skip = (
            fenced
            or hidden
            or _FENCE.match(line)
            or not line.strip()
            or line.lstrip().startswith(("|", "#", ":::", "![", "<"))
            or (line.startswith("    ") and previous_blank and not lines)
        )
        if "-->" in line:
            hidden = False
        item = re.match(r"^\s*([-*+]|\d+\.)\s+", line)
        if lines and (skip or item):
            yield Passage(path, begin, " ".join(lines), documents=False)
            lines = []
        if not skip:
            if not lines:
                begin = number
            lines.append(line[item.end() :] if item else line.strip())
        previous_blank = not line.strip() or (previous_blank and line.startswith("    "))


def sentences(text: str) -> list[str]:
    """Sentences of a paragraph, with links and code reduced to their words."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "`x`", text)
    text = _ABBREVIATION.sub(lambda found: found[1], text)
    return [each for each in _END.split(text.replace("\n", " ")) if each.strip()]


def words(sentence: str) -> int:
    """Count the words of a sentence: runs of characters that contain a letter or a digit."""
    return sum(any(letter.isalnum() for letter in each) for each in sentence.split())


#: Families of checks of proselint that do not suit Markdown: straight quotes and three dots are meant.
_UNSUITABLE = {"typography", "dates_times"}


@cache
def _proselint() -> dict[str, Any]:
    """The configuration of proselint, with its checks registered."""
    from proselint.checks import __register__
    from proselint.config import DEFAULT
    from proselint.registry import CheckRegistry

    CheckRegistry().register_many(__register__)
    return {**DEFAULT, "checks": {name: on and name not in _UNSUITABLE for name, on in DEFAULT["checks"].items()}}


def linted(path: str, passages: Sequence[Passage]) -> Iterator[Finding]:
    """Findings of proselint in the paragraphs of a page."""
    from proselint.tools import LintFile

    starts, content = [], ""
    for passage in passages:
        starts.append(len(content) + 1)  # The linter puts a line break before the text.
        content += " ".join(sentences(passage.text)) + "\n;\n"
    for found in LintFile(path, content).lint(_proselint()) if passages else ():
        check = found.check_result
        if check.check_path.split(".")[0] not in _UNSUITABLE:
            passage = passages[max(0, bisect_right(starts, check.span[0]) - 1)]
            yield Finding("manual.proselint", path, passage.line, f"{check.check_path}: {check.message}")


def findings(path: str, text: str) -> Iterator[Finding]:
    """Everything in one file that counts."""
    suffix = Path(path).suffix
    area = {".rs": "rust", ".py": "python", ".md": "manual"}.get(suffix, "page")
    reader = {".py": python_passages, ".md": markdown_passages}.get(suffix, line_passages)
    passages = list(reader(path, text))
    for passage in passages:
        if passage.documents and OPENERS.match(passage.text.lstrip()):
            yield Finding(f"{area}.openers", path, passage.line, passage.text.strip().split("\n")[0])
        for found in BANNED.finditer(passage.text):
            yield Finding(f"{area}.words", path, passage.line + passage.text[: found.start()].count("\n"), found[0])
        if area == "manual":
            for sentence in sentences(passage.text):
                if words(sentence) > LONGEST_SENTENCE:
                    yield Finding("manual.long_sentences", path, passage.line, f"{words(sentence)} words: {sentence}")
                if OPENERS.match(sentence) and not sentence.rstrip().endswith("?"):
                    yield Finding("manual.openers", path, passage.line, sentence)
    if area == "manual":
        yield from linted(path, passages)
    limit = WIDEST_LINE if area in {"manual", "rust"} else 120
    for number, line in enumerate(text.split("\n"), start=1):
        is_prose = not line.lstrip().startswith(("|", "![")) if area == "manual" else _is_comment(line)
        if len(line) > limit and is_prose and "://" not in line:
            yield Finding(f"{area}.wide_lines", path, number, f"{len(line)} columns")


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("//", "#", "*"))


def mean_words(text: str) -> float:
    """Mean length of the sentences of a page, in words."""
    lengths = [words(each) for passage in markdown_passages("", text) for each in sentences(passage.text)]
    return sum(lengths) / len(lengths) if lengths else 0.0


def files() -> list[str]:
    """The tracked files that are read, relative to the root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    folders = ("crates/", "python/", "checks/", "tests/", "lab/src/", "docs/")
    return [
        each
        for each in listed.split("\0")
        if (each.startswith(folders) and each.endswith((".rs", ".py", ".md", ".ts", ".tsx")))
        or ("/" not in each and each.endswith(".md"))
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts, and fail if one is above its ceiling."""
    parser = argparse.ArgumentParser(prog="python -m checks.prose", description=__doc__)
    parser.add_argument("files", nargs="*", help="list the findings in these files")
    parser.add_argument("--write", action="store_true", help="lower the ceilings to the counts")
    options = parser.parse_args(arguments)

    def work() -> int:
        return _list(options.files) if options.files else _hold(write=options.write)

    return exit_code("prose", work, "interrupted")


def _list(paths: Sequence[str]) -> int:
    for path in paths:
        text = Path(path).read_text(encoding="utf-8")
        for each in findings(path, text):
            print(f"{each.path}:{each.line}: {each.kind}: {each.text[:300]}")
        if path.endswith(".md"):
            print(f"{path}: {mean_words(text):.1f} words per sentence, {len(text.split())} words")
    return 0


def _hold(*, write: bool) -> int:
    counts: Counter[str] = Counter()
    for path in files():
        counts.update(each.kind for each in findings(path, (ROOT / path).read_text(encoding="utf-8")))
    ceilings: dict[str, int] = tomllib.loads(CEILINGS.read_text(encoding="utf-8"))["ceilings"]
    names = sorted({*counts, *ceilings})
    for name in names:
        print(f"{name:24} {counts[name]:6} of at most {ceilings.get(name, 0)}")
    above = [name for name in names if counts[name] > ceilings.get(name, 0)]
    if write:
        lines = [f'"{name}" = {min(counts[name], ceilings.get(name, counts[name]))}' for name in names]
        write_atomically(
            CEILINGS, "# Ceilings of `python -m checks.prose`. They only fall.\n[ceilings]\n" + "\n".join(lines) + "\n"
        )
    if above and not write:
        raise InputError(
            f"{', '.join(above)}: found more than checks/prose.toml allows; list them with FILE as argument"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
