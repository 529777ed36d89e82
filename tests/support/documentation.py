"""The code in the manual's pages: blocks, the commands and what they are shown to print, and commands within sentences.

A block is indented by four spaces or fenced: Python, TOML, a console (commands, then what they print), or text.
"""

from __future__ import annotations

import ast
import re
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

__all__ = ["Block", "Command", "Kind", "agrees", "blocks", "commands", "inline", "without_choices"]

#: The first words of console lines.
PROGRAMS = ("forebay", "make", "pip", "python", "cargo", "dask", "tc", "tcpdump", "git")
#: A row of a table that begins with a program's name has more than one space after it.
LINE = re.compile(rf"(\$ )?((?:{'|'.join(PROGRAMS)}) (?! ).*|[A-Z]+=\".*)")


class Kind(Enum):
    """The type of a block."""

    PYTHON = "Python"
    TOML = "TOML"
    CONSOLE = "console"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of code: its page, the line that it begins at, and its text without indentation."""

    page: str
    line: int
    text: str

    @property
    def kind(self) -> Kind:
        """The type: commands first, as `make x` is no Python, and TOML before Python, as a table's head is a list."""
        if LINE.fullmatch(self.text.splitlines()[0]):
            return Kind.CONSOLE
        try:
            tomllib.loads(self.text)
        except tomllib.TOMLDecodeError:
            pass
        else:
            return Kind.TOML
        try:
            tree = ast.parse(self.text)
        except SyntaxError:
            return Kind.TEXT
        words = all(isinstance(one, ast.Expr) and isinstance(one.value, ast.Name) for one in tree.body)
        return Kind.TEXT if words else Kind.PYTHON


@dataclass(frozen=True, slots=True)
class Command:
    """One command line of a page, without its remark, and what the page shows of its output."""

    page: str
    text: str
    shown: tuple[str, ...] = ()


def blocks(root: Path, page: str) -> list[Block]:
    """The code of a page, in its order."""
    found, lines = [], (root / page).read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        if lines[at].startswith("```"):
            end = next(number for number in range(at + 1, len(lines)) if lines[number].startswith("```"))
            found.append(Block(page, at + 1, "\n".join(lines[at + 1 : end])))
            at = end + 1
        elif lines[at].startswith("    ") and (
            at == 0 or not lines[at - 1].strip() or lines[at - 1].startswith("<!--")
        ):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            text = textwrap.dedent("\n".join(lines[at:end])).strip("\n")
            # Directives of the reference are no code.
            if not lines[at - 1].startswith(":::"):
                found.append(Block(page, at + 1, text))
            at = end
        else:
            at += 1
    return found


def commands(found: list[Block]) -> list[Command]:
    """The command lines of a page's consoles; what follows one in its block is its output."""
    found_commands: list[Command] = []
    for block in found:
        lines = block.text.splitlines()
        if block.kind is Kind.CONSOLE:
            found_commands += _console(block, lines)
    return found_commands


def _console(block: Block, lines: list[str]) -> Iterator[Command]:
    text, shown = "", []
    for line in lines:
        goes_on = text.endswith("\\") or (text and not shown and line.startswith("     "))
        if goes_on:
            text = f"{text.removesuffix(chr(92)).rstrip()} {line.strip()}"
        elif found := LINE.fullmatch(line):
            if text:
                yield Command(block.page, _bare(text), tuple(shown))
            text, shown = found[2], []
        else:
            shown.append(line)
    yield Command(block.page, _bare(text), tuple(shown))


def _bare(text: str) -> str:
    """Without the remark behind it."""
    return re.sub(r"\s{2,}#.*|\s+# .*", "", text).strip()


def inline(root: Path, page: str) -> list[str]:
    """The commands of forebay within sentences and tables."""
    text = (root / page).read_text(encoding="utf-8")
    return [one.strip() for one in re.findall(r"`(forebay [^`]+)`", text)]


def without_choices(text: str) -> str:
    """A command without what may be left out: `[--json]`, and `...` for more of the same."""
    while (shorter := re.sub(r"\s+\[[^\[\]]*\]", "", text)) != text:
        text = shorter
    return re.sub(r"\s\.\.\.", "", text)


def agrees(shown: tuple[str, ...], printed: str) -> list[str]:
    """The lines that a page shows and a command did not print, in their order; `...` stands for anything, lines too."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    at, free, missing = 0, False, []
    for line in shown:
        required = " ".join(line.split())
        if not required:
            continue
        if required in ("...", "[...]"):
            free = True
            continue
        pattern = re.compile(re.escape(required).replace(re.escape("..."), ".*"))
        places = [number for number in range(at, len(lines)) if pattern.fullmatch(lines[number])]
        # Empty lines and rulers between two lines do not count.
        first = next((number for number in range(at, len(lines)) if lines[number].strip("─ ")), len(lines))
        if not required.strip("─ "):
            continue
        if not places or (not free and places[0] != first):
            missing.append(line)
        else:
            at, free = places[0] + 1, False
    return missing
