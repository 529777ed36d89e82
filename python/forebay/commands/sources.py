"""The source of a scenario's text: a file, standard input, or a scenario that comes with forebay."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.commands.streams import print_note
from forebay.errors import InputError

if TYPE_CHECKING:
    from forebay import _core
    from forebay.scenario import Scenario

__all__ = ["Source", "print_assumptions", "source", "standard_input"]


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a scenario, and its names.

    Attributes
    ----------
    name : str
        Name in error messages: the file, or "<stdin>".
    stem : str
        Beginning of the names of written files.
    text : str
        The text as read.
    kind : str
        Format of the text: "toml" or "json".
    folder : Path
        Folder to which the file names in the text are relative.
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
    """Read a scenario: from a file, from standard input (-), or by its name in forebay (@NAME).

    Raises
    ------
    InputError
        If nothing can be read, if the content is not text, or if forebay has no scenario of the name.
    """
    from forebay.inputs.bundled_scenarios import FOLDER, SIGN, bundled
    from forebay.scenario import read

    if str(path).startswith(SIGN):
        found = bundled(str(path))
        return Source(f"{SIGN}{found.name}", found.name, found.text, "toml", FOLDER)
    if str(path) != "-":
        return Source(str(path), path.stem, read(path), "json" if path.suffix == ".json" else "toml", path.parent)
    text = standard_input()
    # A TOML text never begins with a brace.
    return Source("<stdin>", "stdin", text, "json" if text.lstrip().startswith("{") else "toml", Path())


def standard_input() -> str:
    """Read a text from standard input, with the size limit of a file.

    Raises
    ------
    InputError
        If standard input is closed, exceeds the limit, or is not text.
    """
    from forebay.scenario import bounded

    if sys.stdin is None:
        raise InputError("<stdin>: cannot be read: it is closed")
    try:
        return bounded(sys.stdin.buffer, "<stdin>")
    except OSError as error:
        raise InputError(f"<stdin>: cannot be read: {error.strerror or error}") from None


def print_assumptions(scenario: Scenario) -> None:
    """Print the assumptions of a scenario on standard error, one per line."""
    if not scenario.assumed:
        return
    from forebay.search.unmeasured import of_assumptions

    for each in of_assumptions(scenario.assumed):
        print_note(f"warning: {each}")
