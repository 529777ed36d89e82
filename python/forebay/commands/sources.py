"""What a verb is about: a file, or standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.commands.streams import remark
from forebay.errors import InputError

if TYPE_CHECKING:
    from forebay import _core
    from forebay.scenario import Scenario

__all__ = ["Source", "source", "standard_input", "tell_assumed"]


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a scenario, and what it is called.

    Attributes
    ----------
    name : str
        In errors: the file, or "<stdin>".
    stem : str
        What the names of written files begin with.
    text : str
        As it was read.
    kind : str
        "toml" or "json".
    folder : Path
        Which files that it names are relative to.
    """

    name: str
    stem: str
    text: str
    kind: str
    folder: Path

    def scenario(self, overrides: Iterable[_core.Change] = ()) -> Scenario:
        """Parse the text and apply changes."""
        from forebay.scenario import Scenario

        return Scenario.parse(self.text, self.kind, overrides, self.name, self.folder)


def source(path: Path) -> Source:
    """Read a scenario's file; - stands for standard input, in TOML or JSON, and @NAME for one that forebay has.

    Raises
    ------
    InputError
        Where nothing can be read, or no text; where there is none of the name.
    """
    from forebay.inputs.bundled_scenarios import FOLDER, SIGN, shipped
    from forebay.scenario import read

    if str(path).startswith(SIGN):
        found = shipped(str(path))
        return Source(f"{SIGN}{found.name}", found.name, found.text, "toml", FOLDER)
    if str(path) != "-":
        return Source(str(path), path.stem, read(path), "json" if path.suffix == ".json" else "toml", path.parent)
    text = standard_input()
    # No TOML begins with a brace.
    return Source("<stdin>", "stdin", text, "json" if text.lstrip().startswith("{") else "toml", Path())


def standard_input() -> str:
    """Read a text from standard input, as long as one out of a file may be.

    Raises
    ------
    InputError
        Where it is closed, longer, or no text.
    """
    from forebay.scenario import bounded

    if sys.stdin is None:
        raise InputError("<stdin>: cannot be read: it is closed")
    try:
        return bounded(sys.stdin.buffer, "<stdin>")
    except OSError as error:
        raise InputError(f"<stdin>: cannot be read: {error.strerror or error}") from None


def tell_assumed(scenario: Scenario) -> None:
    """Say on standard error what a scenario assumes, a line each."""
    if not scenario.assumed:
        return
    from forebay.search.unmeasured import of_assumptions

    for each in of_assumptions(scenario.assumed):
        remark(f"warning: {each}")
